//! Plan nodes of the type `PYTHON`, whose code runs in a separate process, without a shell. A plan
//! is a workflow that a language model writes.

use rulec_runtime::workflow::{Node, ProcessError, ProcessResult, Processor, from_fn};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// The Python script that the interpreter runs. The script reads the node's code and input, sets
/// the limits, and then runs the code.
const PYTHON_RUNNER_SCRIPT: &str = include_str!("python.py");

/// Maximum number of bytes of a process's error output that an error message quotes.
const MAX_QUOTED_ERROR_BYTES: u64 = 2000;

/// The config fields that a `PYTHON` node may have. Code in this file does not read `timeout`: the
/// engine that runs the plan enforces it.
const PYTHON_CONFIG_FIELDS: [&str; 3] = ["code", "inputs", "timeout"];

/// How Python code is run: the interpreter and the limits.
#[derive(Clone, Debug)]
pub struct Python {
    interpreter_path: PathBuf,
    max_memory_bytes: u64,
    max_output_bytes: u64,
    environment: Vec<(String, String)>,
}

impl Python {
    /// Creates the settings from the interpreter: a path, or the name of a program, which is
    /// searched once in `PATH`.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn new(program: impl AsRef<Path>) -> io::Result<Python> {
        let program = find_program(program.as_ref())?;
        let (max_memory_bytes, max_output_bytes) = (1 << 30, 16 << 20);
        Ok(Python { interpreter_path: program, max_memory_bytes, max_output_bytes, environment: Vec::new() })
    }

    /// Sets the maximum size of the address space of the Python process, in bytes. Default: 1 GiB.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Python {
        Python { max_memory_bytes: bytes, ..self }
    }

    /// Sets the maximum size of the code's output, in bytes of JSON. Default: 16 MiB.
    #[must_use]
    pub fn output(self, bytes: u64) -> Python {
        Python { max_output_bytes: bytes, ..self }
    }

    /// Sets an environment variable of the Python process. By default, the process has none.
    #[must_use]
    pub fn environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Python {
        self.environment.push((name.into(), value.into()));
        self
    }
}

/// Returns the path of a program: the name itself if it contains a folder, else the first file of
/// this name in `PATH`.
fn find_program(name: &Path) -> io::Result<PathBuf> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let found = match name.components().count() {
        1 => std::env::split_paths(&search_path).map(|folder| folder.join(name)).find(|path| path.is_file()),
        _ => std::path::absolute(name).ok().filter(|path| path.is_file()),
    };
    let missing =
        || io::Error::new(io::ErrorKind::NotFound, format!("there is no program `{}`", name.display()));
    found.ok_or_else(missing)
}

/// Returns the factory of `PYTHON` nodes, for `CoordinatorBuilder::node_kind`.
///
/// `config.code` is the body of a function. Its variables are the fields of the node's input and of
/// `config.inputs`; `inputs` holds all of them. The output is the value that the code returns.
/// Without a `return`, it is the value of the variable `result`. A value that is not an object
/// becomes the field `result` of the output.
///
/// Each call starts a process in an empty folder that is removed afterwards. When the call ends,
/// also at its time limit, the process and all processes of its group are killed.
/// ```no_run
/// use rulec_runtime::payload::{Coordinator, Judges};
/// use rulec_workers::{Python, python_node};
///
/// # let rules = rulec::Rules::from_text("payload p { a: int }")?;
/// let python = Python::new("python3")?.memory(256 << 20);
/// let builder = Coordinator::builder(Judges::new(&rules));
/// let builder = builder.node_kind("PYTHON", python_node(python));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn python_node(
    python: Python,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Clone + Send + Sync + 'static {
    let python = Arc::new(python);
    move |node| {
        let no_fields = Map::new();
        let config = node.config.as_object().unwrap_or(&no_fields);
        if let Some(name) = config.keys().find(|name| !PYTHON_CONFIG_FIELDS.contains(&&***name)) {
            return Err(format!("`config.{name}` is nothing that a PYTHON node reads; leave it out").into());
        }
        let code =
            config.get("code").and_then(Value::as_str).ok_or("`config.code` must be a text")?.to_owned();
        let own_inputs = match config.get("inputs") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(inputs)) => inputs.clone(),
            Some(_) => return Err("`config.inputs` must be an object".into()),
        };
        let python = python.clone();
        Ok(from_fn(move |input| {
            let (python, code, own_inputs) = (python.clone(), code.clone(), own_inputs.clone());
            async move {
                let mut inputs = match input {
                    Value::Object(fields) => fields,
                    Value::Null => Map::new(),
                    other => Map::from_iter([("input".to_owned(), other)]),
                };
                inputs.extend(own_inputs);
                python.run_code(&code, inputs).await
            }
        }))
    }
}

/// A running Python process, which is killed together with its process group when this value is
/// dropped.
struct RunningProcess {
    child: Child,
}

impl RunningProcess {
    fn kill_group(&mut self) {
        // The id of a process that has ended and was waited for may belong to another process.
        #[cfg(unix)]
        if let Some(group) =
            self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?))
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        self.kill_group();
    }
}

impl Python {
    async fn run_code(&self, code: &str, inputs: Map<String, Value>) -> ProcessResult {
        let folder = tempfile::tempdir()?;
        let mut errors = tempfile::tempfile()?;
        let mut running = RunningProcess { child: self.start_process(folder.path(), errors.try_clone()?)? };
        let job = json!({"code": code, "inputs": inputs, "memory": self.max_memory_bytes});
        if let Some(mut stdin) = running.child.stdin.take() {
            // If the process ended early, its status and error output say why.
            let _ = stdin.write_all(job.to_string().as_bytes()).await;
        }
        let mut answer = Vec::new();
        if let Some(stdout) = running.child.stdout.take() {
            stdout.take(self.max_output_bytes + 1).read_to_end(&mut answer).await?;
        }
        if answer.len() as u64 > self.max_output_bytes {
            return Err(format!(
                "the output is larger than {} bytes of JSON; return less",
                self.max_output_bytes
            )
            .into());
        }
        // Ends the processes that the code left running. Without an answer, the process is about to
        // end by itself, and its status says why.
        if !answer.is_empty() {
            running.kill_group();
        }
        let status = running.child.wait().await?;
        match serde_json::from_slice::<Map<String, Value>>(&answer) {
            Ok(mut fields) => match (fields.remove("output"), fields.remove("error")) {
                (Some(output), None) => Ok(match output {
                    Value::Object(fields) => Value::Object(fields),
                    other => json!({"result": other}),
                }),
                (_, error) => Err(error.as_ref().and_then(Value::as_str).unwrap_or("the code failed").into()),
            },
            Err(_) => {
                let last_output = read_last_bytes(&mut errors).unwrap_or_default();
                Err(format!(
                    "the code ended without an answer, {status}; its output ended with: {last_output}"
                )
                .into())
            }
        }
    }

    fn start_process(&self, folder: &Path, errors: File) -> io::Result<Child> {
        let mut command = Command::new(&self.interpreter_path);
        command
            // Isolated: no settings from the environment, and no modules from the current folder.
            .args(["-I", "-B", "-c", PYTHON_RUNNER_SCRIPT])
            .current_dir(folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command.spawn()
    }
}

/// Returns the last [`MAX_QUOTED_ERROR_BYTES`] bytes of a file as text, on one line.
fn read_last_bytes(file: &mut File) -> io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_QUOTED_ERROR_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
