//! Registers the code that runs the nodes of a plan, by node type. By default no node type is
//! allowed, because nodes can call hosts or run programs. Each type is allowed by an option of its
//! own.

use crate::CliError;
use rulec_base::message;
use rulec_runtime::payload::CoordinatorBuilder;
use rulec_workers::{Python, python_node};
use serde_json::Value as Json;
use std::path::PathBuf;

/// Options that allow the node types of plans.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct AllowedNodeTypes {
    /// Allow `LLM` nodes: the address of a chat-completions API, such as
    /// https://models.example.com/v1
    #[arg(long, value_name = "URL", requires = "model_name")]
    allow_llm: Option<String>,
    /// The name of the model for all `LLM` nodes; needed with `--allow-llm`
    #[arg(long, value_name = "NAME", requires = "allow_llm")]
    model_name: Option<String>,
    /// The name of the environment variable that holds the model's API key [default:
    /// RULEC_MODEL_KEY]
    #[arg(long, value_name = "NAME", requires = "allow_llm")]
    model_key: Option<String>,
    /// Allow `PYTHON` nodes: the interpreter that runs their code, without a sandbox [default
    /// PROGRAM: python3]
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true, default_missing_value = "python3")]
    allow_python: Option<PathBuf>,
    /// The maximum memory of one `PYTHON` node, in MiB [default: 1024]
    #[arg(long, value_name = "MIB", requires = "allow_python")]
    python_memory: Option<u64>,
    /// An environment variable that `PYTHON` nodes may read; may be repeated
    #[arg(long, value_name = "NAME", requires = "allow_python")]
    python_env: Vec<String>,
    /// Allow `DATABASE` nodes: a SQLite file that they may read, and with `:write` change. Nodes
    /// name it by NAME [default NAME: the file name without its extension]. May be repeated; needs
    /// a program with the feature `database`
    #[arg(long, value_name = "[NAME=]FILE[:write]")]
    allow_database: Vec<String>,
    /// Allow `CONDITION` nodes
    #[arg(long)]
    allow_condition: bool,
    /// Allow `LOOP` nodes, with at most this number of rounds each
    #[arg(long, value_name = "ROUNDS")]
    pub allow_loop: Option<u64>,
}

/// Registers the node types that the options allow. `allowed_hosts` are the hosts that `HTTP` nodes
/// may call; if there are none, this type is not allowed. Returns an error if `plan` has a node of
/// a type that needs an option and no option allows it.
pub fn register_allowed_types(
    builder: CoordinatorBuilder,
    plan: &Json,
    allowed: &AllowedNodeTypes,
    allowed_hosts: &[String],
) -> Result<CoordinatorBuilder, CliError> {
    check_types(plan, allowed, allowed_hosts)?;
    let mut builder = add_network_types(builder, allowed, allowed_hosts)?;
    builder = add_database_type(builder, &allowed.allow_database)?;
    if let Some(program) = &allowed.allow_python {
        let mut python = Python::new(program)
            .map_err(|error| CliError::usage_error(message!("`--allow-python`: {error}")))?;
        if let Some(memory) = allowed.python_memory {
            python = python.memory(memory.saturating_mul(1 << 20));
        }
        for name in &allowed.python_env {
            let missing =
                |_| CliError::usage_error(message!("`--python-env`: there is no variable `{name}`"));
            python = python.environment(name, std::env::var(name).map_err(missing)?);
        }
        builder = builder.node_kind("PYTHON", python_node(python));
    }
    if allowed.allow_condition {
        builder = builder.conditions();
    }
    if let Some(rounds) = allowed.allow_loop {
        builder = builder.loops(rounds);
    }
    Ok(builder)
}

/// Checks that the type of each node, and of the body of each loop, is allowed. `HTTP` nodes are
/// allowed if there are `allowed_hosts` to call. The error names the node and the option that
/// allows it.
fn check_types(plan: &Json, allowed: &AllowedNodeTypes, allowed_hosts: &[String]) -> Result<(), CliError> {
    for node in plan["nodes"].as_array().into_iter().flatten() {
        for kind in [&node["type"], &node["config"]["body"]["type"]] {
            let (is_allowed, option) = match kind.as_str().unwrap_or_default() {
                "LLM" => (allowed.allow_llm.is_some(), "--allow-llm URL --model-name NAME"),
                "HTTP" => (!allowed_hosts.is_empty(), "--allow-http HOST"),
                "PYTHON" => (allowed.allow_python.is_some(), "--allow-python"),
                "DATABASE" => (!allowed.allow_database.is_empty(), "--allow-database FILE"),
                "CONDITION" => (allowed.allow_condition, "--allow-condition"),
                "LOOP" => (allowed.allow_loop.is_some(), "--allow-loop ROUNDS"),
                _ => (true, ""),
            };
            if !is_allowed {
                let id = node["node_id"].as_str().unwrap_or_default();
                let kind = kind.as_str().unwrap_or_default();
                return Err(CliError::input_error(message!(
                    "`{id}` needs a {kind} node, which is not allowed; `{option}` allows it"
                )));
            }
        }
    }
    Ok(())
}

#[cfg(feature = "http")]
fn add_network_types(
    mut builder: CoordinatorBuilder,
    allowed: &AllowedNodeTypes,
    allowed_hosts: &[String],
) -> Result<CoordinatorBuilder, CliError> {
    use crate::model::endpoint::create_chat_model;
    use rulec_http::{Limits, llm_node, node};
    use std::time::Duration;
    if !allowed_hosts.is_empty() {
        builder = builder.node_kind("HTTP", node(super::create_http_client(allowed_hosts)?));
    }
    let (Some(address), Some(name)) = (&allowed.allow_llm, &allowed.model_name) else { return Ok(builder) };
    // A model takes longer than other services. The node's own time limit ends the call earlier.
    let time = Duration::from_secs(3600);
    let limits = Limits { attempt: time, overall: time, ..Limits::default() };
    let model = create_chat_model("--allow-llm", (address, name), allowed.model_key.as_deref(), limits)?;
    Ok(builder.node_kind("LLM", llm_node(model)))
}

#[cfg(not(feature = "http"))]
fn add_network_types(
    builder: CoordinatorBuilder,
    allowed: &AllowedNodeTypes,
    allowed_hosts: &[String],
) -> Result<CoordinatorBuilder, CliError> {
    match (&allowed.allow_llm, allowed_hosts) {
        (None, []) => Ok(builder),
        (Some(_), _) => Err(CliError::usage_error(message!(
            "`--allow-llm` has no effect: {}",
            crate::model::no_http_message()
        ))),
        (None, _) => Err(CliError::usage_error(message!(
            "`--allow` has no effect: {}",
            crate::model::no_http_message()
        ))),
    }
}

#[cfg(feature = "database")]
fn add_database_type(
    builder: CoordinatorBuilder,
    database_options: &[String],
) -> Result<CoordinatorBuilder, CliError> {
    use rulec_workers::{Access, Database, database_node};
    use std::collections::BTreeMap;
    use std::path::Path;
    if database_options.is_empty() {
        return Ok(builder);
    }
    let mut databases = BTreeMap::new();
    for text in database_options {
        let (text, access) = match text.strip_suffix(":write") {
            Some(text) => (text, Access::Write),
            None => (text.as_str(), Access::Read),
        };
        let stem = || Path::new(text).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (name, path) =
            text.split_once('=').map_or_else(|| (stem(), text), |(name, path)| (name.to_owned(), path));
        let database = Database::new(path, access).map_err(|error| {
            let error = error.to_string();
            CliError::usage_error(message!("`--allow-database`: `{path}`: {error}"))
        })?;
        if databases.insert(name.clone(), database).is_some() {
            return Err(CliError::usage_error(message!(
                "`--allow-database`: two files are called `{name}`; write `NAME=FILE`"
            )));
        }
    }
    Ok(builder.node_kind("DATABASE", database_node(databases)))
}

#[cfg(not(feature = "database"))]
fn add_database_type(
    builder: CoordinatorBuilder,
    database_options: &[String],
) -> Result<CoordinatorBuilder, CliError> {
    let missing: rulec_base::diag::Message = message!(
        "this program was built without SQLite: build it with `cargo build --release -p rulec-cli --features database`"
    );
    match database_options.is_empty() {
        true => Ok(builder),
        false => Err(CliError::usage_error(message!("`--allow-database` has no effect: {missing}"))),
    }
}
