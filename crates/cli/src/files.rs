//! Finds, reads and writes the files that the arguments of a subcommand name, and reports rule
//! files that do not compile.

use super::compiled::{CompileResult, CompileTarget, STDIN_NAME};
use super::document::DocumentArgs;
use super::keys::KeyLocation;
use super::language::singular_or_plural;
use super::report::{compile_diagnostics, format_human};
use super::term::{Out, Term};
use super::{CliError, ExitStatus, stdio};
use rulec::artifact;
use rulec::files::{open_regular, read_limited};
use rulec::{LoadError, Rules};
use rulec_base::diag::Argument;
use rulec_base::json::{self, DecimalPaths, JsonError};
use rulec_base::message;
use rulec_base::parallel;
use rulec_syntax::loader::MAX_FILE_BYTES;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A compiled file, and how it was found.
pub struct CompiledFile {
    pub compiled: CompileResult,
    /// Whether another file imports this file. Both were found below the same folder argument.
    pub is_imported: bool,
}

/// Compiles the files in `paths`, and all `*.rules` files below the folders in `paths`. Imports
/// must stay inside the folder `root`. If `root` is `None`, they must stay inside the folder in
/// `paths` below which the file was found. For a file that `paths` names, they must stay inside the
/// folder of this file.
pub fn compile_files(paths: &[PathBuf], root: Option<&Path>) -> Result<Vec<CompiledFile>, CliError> {
    compile_files_or_documents(paths, root, DocumentArgs::default())
}

/// Compiles files like [`compile_files`]. `document` says how to load the files in `paths` that are
/// another system's JSON documents. Files that are found in folders are always loaded as rules.
pub fn compile_files_or_documents(
    paths: &[PathBuf],
    root: Option<&Path>,
    document: DocumentArgs,
) -> Result<Vec<CompiledFile>, CliError> {
    let mut targets = collect_targets(paths, root)?;
    targets
        .iter_mut()
        .filter(|target| target.folder_argument_index.is_none())
        .for_each(|target| target.document = document);
    let jobs = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let parts = targets.chunks(targets.len().div_ceil(jobs).max(1));
    let compile =
        |part: &[CompileTarget]| part.iter().cloned().map(CompileTarget::compile).collect::<Vec<_>>();
    let compiled = parallel::map_in_parallel(parts, compile).into_iter().flatten();
    let compiled = compiled.collect::<Result<Vec<CompileResult>, CliError>>()?;
    let are_imported = are_imported(&compiled);
    let files = compiled.into_iter().zip(are_imported);
    Ok(files.map(|(compiled, is_imported)| CompiledFile { compiled, is_imported }).collect())
}

fn collect_targets(paths: &[PathBuf], root: Option<&Path>) -> Result<Vec<CompileTarget>, CliError> {
    let mut targets = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        if !path.is_dir() {
            targets.push(CompileTarget {
                path: path.clone(),
                root: root.map(Path::to_path_buf),
                document: DocumentArgs::default(),
                folder_argument_index: None,
            });
            continue;
        }
        let rules_files = files_below(path, "rules")?;
        if rules_files.is_empty() {
            return Err(CliError::usage_error(message!(
                "there is no `.rules` file below `{}`",
                path.display()
            )));
        }
        let root = root.unwrap_or(path).to_path_buf();
        targets.extend(rules_files.into_iter().map(|path| CompileTarget {
            path,
            root: Some(root.clone()),
            document: DocumentArgs::default(),
            folder_argument_index: Some(index),
        }));
    }
    Ok(targets)
}

/// Returns all files below a folder whose names end in `.` and `extension`, sorted. Hidden folders
/// are skipped. Links to folders are not followed, because links may form a cycle.
pub fn files_below(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, CliError> {
    let mut files = Vec::new();
    collect_files(folder, extension, &mut files)?;
    files.sort();
    Ok(files)
}

/// Adds the files of [`files_below`] to `files`.
fn collect_files(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let read_error =
        |error: io::Error| CliError::usage_error(message!("`{}` cannot be read: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(read_error)? {
        let entry = entry.map_err(read_error)?;
        let name = entry.file_name();
        let path = if folder == Path::new(".") { PathBuf::from(&name) } else { entry.path() };
        if entry.file_type().map_err(read_error)?.is_dir() {
            if !name.as_encoded_bytes().starts_with(b".") {
                collect_files(&path, extension, files)?;
            }
        } else if path.extension().is_some_and(|found| found == extension) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// For each file, returns whether another file found below the same folder argument imports it. An
/// imported file is checked together with its importers, because they may declare its `input`.
fn are_imported(results: &[CompileResult]) -> Vec<bool> {
    let mut indexes = HashMap::new();
    for (index, compiled) in results.iter().enumerate() {
        if let (Some(folder), Some((_, main))) =
            (compiled.target.folder_argument_index, compiled.sources().iter().next())
        {
            indexes.insert((folder, main.name.as_str()), index);
        }
    }
    let imports: Vec<BTreeSet<usize>> = results
        .iter()
        .map(|compiled| {
            let Some(folder) = compiled.target.folder_argument_index else { return BTreeSet::new() };
            let imported_files = compiled.sources().iter().skip(1);
            imported_files
                .filter_map(|(_, file)| indexes.get(&(folder, file.name.as_str())).copied())
                .collect()
        })
        .collect();
    let mut is_imported = vec![false; results.len()];
    for (importer, imported) in imports.iter().enumerate() {
        for &file in imported {
            // If files import each other, none would be a main file. So the first file of such a
            // cycle counts as not imported.
            let represents_cycle = imports[file].contains(&importer) && file < importer;
            is_imported[file] |= !represents_cycle && file != importer;
        }
    }
    is_imported
}

/// Returns the error for the file `name`, which cannot be read.
pub fn unreadable_error(name: &str, error: &impl Argument) -> CliError {
    CliError::usage_error(message!("`{name}` cannot be read: {error}"))
}

/// Returns the error for a file that contains compiled rules although JSON is expected.
pub fn unexpected_artifact_error(name: &str) -> CliError {
    CliError::usage_error(message!("`{name}` contains compiled rules, but JSON is expected"))
}

/// Returns the error for a file that cannot be written.
pub fn unwritable_error(path: &Path, error: &io::Error) -> CliError {
    let shown = path.display();
    CliError::usage_error(match error.kind() {
        _ if path.is_dir() => message!("`{shown}` is a folder; give a file"),
        io::ErrorKind::NotFound => message!("`{shown}` cannot be written: its folder does not exist"),
        io::ErrorKind::NotADirectory => {
            message!("`{shown}` cannot be written: a part of this path is a file, and not a folder")
        }
        io::ErrorKind::PermissionDenied => {
            message!("`{shown}` cannot be written: you have no permission to write there")
        }
        io::ErrorKind::AlreadyExists => message!("`{shown}` already exists; `--force` overwrites it"),
        _ => message!("`{shown}` cannot be written: {error}"),
    })
}

/// Replaces a file atomically: a reader sees either the old content or all of `bytes`.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    match rulec_report::files::replace_file(path, bytes) {
        // The path is a pipe whose reader has closed it early, which is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| unwritable_error(path, &error)),
    }
}

/// Adds bytes to the end of a file, and waits until the disk has them. If the program is killed
/// while it writes, a part of the bytes may be missing. Returns false if the file does not exist;
/// it is not created.
pub fn append_to_file(path: &Path, bytes: &[u8]) -> Result<bool, CliError> {
    let append = || {
        let mut file = std::fs::OpenOptions::new().append(true).open(path)?;
        file.write_all(bytes)?;
        match file.sync_data() {
            // A pipe has no data on a disk.
            Err(_) if !path.is_file() => Ok(()),
            synced => synced,
        }
    };
    match append() {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        // The path is a pipe whose reader has closed it early, which is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(unwritable_error(path, &error)),
    }
}

/// Writes a text to the file `path`, or to standard output if `path` is `None`. Without `force`,
/// returns an error if the file already exists.
pub fn write_output(
    path: Option<&Path>,
    force: bool,
    text: &str,
    term: &Term,
    out: &mut Out,
) -> Result<(), CliError> {
    let Some(path) = path else {
        out.write(text.as_bytes())?;
        return out.flush();
    };
    let write = if force { rulec_report::files::replace_file } else { rulec_report::files::create_file };
    write(path, text.as_bytes()).map_err(|error| unwritable_error(path, &error))?;
    term.print(&message!("wrote `{}`", path.display()));
    out.flush()
}

/// Returns the files in `paths`, and all `*.rules` files below the folders in `paths`.
pub fn list_rules_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    Ok(collect_targets(paths, None)?.into_iter().map(|target| target.path).collect())
}

/// Reads the text of a rules file or of standard input.
pub fn read_rules_text(path: &Path) -> Result<String, CliError> {
    let (bytes, name) = if path == Path::new("-") {
        (stdio::read_stdin(MAX_FILE_BYTES)?, STDIN_NAME.to_owned())
    } else {
        let name = path.display().to_string();
        (read_limited(path).map_err(|error| load_error(&name, &error))?, name)
    };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(unreadable_error(&name, &LoadError::TooLarge(bytes.len() as u64).to_message()));
    }
    if artifact::is_artifact(&bytes) {
        return Err(CliError::usage_error(message!(
            "`{name}` contains compiled rules, but the text of the rules is expected"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        CliError::usage_error(message!(
            "`{name}` is not UTF-8: the byte at offset {at} (line {line}) is invalid; save the file as UTF-8"
        ))
    })
}

fn load_error(name: &str, error: &LoadError) -> CliError {
    CliError::usage_error(match error {
        LoadError::Folder => message!("`{name}` is a folder; give a file"),
        LoadError::NotRegular => {
            message!("`{name}` cannot be read: {}; `-` reads standard input", error.to_message())
        }
        _ => message!("`{name}` cannot be read: {}", error.to_message()),
    })
}

/// Opens a regular file that the user named. Returns the file and its size in bytes.
fn open_file(path: &Path) -> Result<(File, u64), CliError> {
    open_regular(path).map_err(|error| load_error(&path.display().to_string(), &error))
}

/// Reads a whole file of JSON, or all of standard input for `-`. Returns the bytes, and the name of
/// the file for error messages. A file with compiled rules is an error.
pub fn read_json_bytes(path: &Path) -> Result<(Vec<u8>, String), CliError> {
    // One byte over the limit is read too, so that the JSON parser rejects the text as too long.
    let limit = json::MAX_MESSAGE_BYTES as u64;
    if path == Path::new("-") {
        return Ok((stdio::read_stdin(limit)?, stdio::stdin_name()));
    }
    let (name, mut bytes) = (path.display().to_string(), Vec::new());
    let result = open_file(path)?.0.take(limit + 1).read_to_end(&mut bytes);
    result.map_err(|error| unreadable_error(&name, &error))?;
    if artifact::is_artifact(&bytes) {
        return Err(unexpected_artifact_error(&name));
    }
    Ok((bytes, name))
}

/// Reads a JSON object from a file, or from standard input for `-`. A byte order mark is allowed.
/// `decimal_paths` are the paths of the fields that the rules read as decimals, where numbers keep
/// all their digits. `to_error` converts the name of the input and a JSON error to an error of the
/// program.
pub fn read_json_object(
    path: &Path,
    decimal_paths: &DecimalPaths,
    to_error: impl FnOnce(&str, &JsonError) -> CliError,
) -> Result<Map<String, Json>, CliError> {
    let (bytes, name) = read_json_bytes(path)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    json::parse_object_bytes_exact(bytes, decimal_paths).map_err(|error| to_error(&name, &error))
}

/// Parses the JSON object given with `--input`; `-` reads standard input. `decimal_paths` are the
/// paths of the fields that the rules read as decimals, where numbers keep all their digits.
/// `to_error` converts the name of the input and a JSON error to an error of the program.
pub fn parse_input_object(
    text: &str,
    decimal_paths: &DecimalPaths,
    to_error: impl FnOnce(&str, &JsonError) -> CliError,
) -> Result<Map<String, Json>, CliError> {
    match text {
        "-" => read_json_object(Path::new("-"), decimal_paths, to_error),
        text => json::parse_object_exact(text, decimal_paths)
            .map_err(|error| to_error("`--input`", &with_shell_help(text, error))),
    }
}

/// If `text`, a JSON text from the command line, has no double quotes, adds the likely cause to its
/// error: the shell removed them.
pub fn with_shell_help(text: &str, error: JsonError) -> JsonError {
    match text.starts_with('{') && !text.contains('"') && error.help().is_some() {
        true => error.with_further_help(message!(
            "a shell removes double quotes unless the JSON is in single quotes, as in '{{\"text\": …}}'"
        )),
        false => error,
    }
}

/// Returns `paths`, or the current folder if `paths` is empty.
pub fn paths_or_current_folder(paths: &[PathBuf]) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from(".")] } else { paths.to_vec() }
}

/// Arguments that name the rules file of a subcommand, and say how to load the file.
#[derive(Clone, clap::Args)]
pub struct RulesArgs {
    /// The rules: a `.rules` file, a `.rulec` file that `rulec build` wrote, or another system's
    /// JSON (see `--as`); `-` reads standard input
    #[arg(value_name = "RULES")]
    pub path: PathBuf,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of the rules file]
    #[arg(long, value_name = "DIR", display_order = 900)]
    root: Option<PathBuf>,
    /// Accept only compiled rules (`.rulec`) that this Ed25519 key signed: a PEM file with the
    /// public key, or `env:NAME` for an environment variable that holds it
    #[arg(long, value_name = "KEY", display_order = 901, allow_hyphen_values = true)]
    verify: Option<KeyLocation>,
    #[command(flatten)]
    document: DocumentArgs,
}

impl RulesArgs {
    pub fn new(path: PathBuf, root: Option<PathBuf>) -> RulesArgs {
        RulesArgs { path, root, verify: None, document: DocumentArgs::default() }
    }

    fn to_target(&self) -> CompileTarget {
        CompileTarget {
            path: self.path.clone(),
            root: self.root.clone(),
            document: self.document,
            folder_argument_index: None,
        }
    }

    /// Compiles a second rules file, such as an older version. If the file has errors, the program
    /// ends with the exit status for wrong usage.
    pub fn load_second_file(&self, path: &Path, term: &Term) -> Result<Rules, CliError> {
        let other_args = RulesArgs::new(path.to_path_buf(), None);
        other_args.load(term).map_err(|error| CliError { status: ExitStatus::Usage, ..error })
    }

    /// Returns the arguments for another version of the rules file, at `path`, with the same
    /// options.
    pub fn with_path(&self, path: &Path) -> RulesArgs {
        RulesArgs { path: path.to_path_buf(), ..self.clone() }
    }

    /// True if the rules are read from standard input.
    pub fn is_stdin(&self) -> bool {
        self.to_target().is_stdin()
    }

    /// Compiles the rules file. Errors are printed on standard error, because standard output is
    /// only for results.
    pub fn load(&self, term: &Term) -> Result<Rules, CliError> {
        Ok(self.load_with_context(term)?.0)
    }

    /// Compiles the file like [`RulesArgs::load`]. If the file contains data for the bundled
    /// payload rules instead of rules, also returns this data, which the rules read as `context`.
    pub fn load_with_context(&self, term: &Term) -> Result<(Rules, Option<Json>), CliError> {
        let target = self.to_target();
        let path = target.display_name();
        if self.path.is_dir() {
            return Err(CliError::usage_error(message!("`{path}` is a folder; give one rules file")));
        }
        let key = self.verify.as_ref().map(KeyLocation::read_verifying_key).transpose()?;
        let compiled = target.compile_verified(key)?;
        let Ok(rules) = &compiled.result else {
            show_errors(&compiled, term);
            let status = if compiled.is_unreadable() { ExitStatus::Usage } else { ExitStatus::Errors };
            return Err(CliError { status, message: None });
        };
        let warnings = compiled.diagnostics().len();
        if warnings > 0 {
            let path = &self.path.display();
            let count = singular_or_plural(warnings, message!("1 warning"), message!("{warnings} warnings"));
            term.print_note(&message!("`{path}` has {count}; see `rulec check {path}`"));
        }
        note_missing_functions(rules, term);
        let context = compiled.document().and_then(|document| document.context.clone());
        Ok((rules.clone(), context))
    }
}

pub fn show_errors(compiled: &CompileResult, term: &Term) {
    for finding in compile_diagnostics(compiled).filter(|finding| finding.diagnostic.is_error()) {
        term.print_styled(&format_human(&finding, term.is_stderr_colored()));
    }
}

/// Prints a note if the rules use host functions (functions of an embedding program). This program
/// provides none, so their results count as missing.
pub fn note_missing_functions(rules: &Rules, term: &Term) {
    // Functions with a `feature`, such as `request.…`, are part of the engine and never missing.
    let host_functions = rules.program().externs.iter().filter(|function| function.feature.is_none());
    let names: Vec<String> = host_functions.map(|function| format!("`{}`", function.name)).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        term.print_note(&message!(
            "{names} can run only in an embedding program; here the results count as missing"
        ));
    }
}
