//! A rules file and the result of compiling it, with file names as the user would write them.

use super::document::{DocumentArgs, ImportedDocument};
use super::{CliError, stdio, usage};
use rulec::artifact;
use rulec::artifact::MAX_ARTIFACT_BYTES;
use rulec::files::{open_regular, read_limited};
use rulec::{
    AnalysisOptions, Code, CompileError, Compiler, Diagnostic, DiskLoader, FileId, Finding, LoadError,
    Loader, Rules, SourceMap, VerifyingKey,
};
use rulec_base::message;
use rulec_import::is_json_name;
use rulec_syntax::loader::MAX_FILE_BYTES;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[derive(Clone, Debug)]
pub struct CompileTarget {
    /// The path of the rules file, as error messages show it.
    pub path: PathBuf,
    /// The root folder for imports. `None` means the folder of the rules file.
    pub root: Option<PathBuf>,
    /// How to load the file if it is another system's JSON document. Unless the user names the
    /// system, the system of a `.json` file is recognized by the shape of the document.
    pub document: DocumentArgs,
    /// Index of the command-line argument that names the folder in which the file was found. Only
    /// files found by the same argument are searched for imports of each other. `None` if the
    /// command line names the file itself.
    pub folder_argument_index: Option<usize>,
}

pub struct CompileResult {
    pub target: CompileTarget,
    pub result: Result<Rules, CompileError>,
    /// Whether the file is an artifact (compiled rules, the output of `rulec build`) and not source
    /// text.
    is_artifact: bool,
    /// The JSON document of another system from which the rules were loaded. `None` if they were
    /// loaded from a rules file.
    document: Option<ImportedDocument>,
    /// The files on disk that the compiler read, or found missing: rule files and word lists.
    pub requested_files: Vec<PathBuf>,
}

/// The path argument that means standard input.
const STDIN_ARG: &str = "-";
/// The name of standard input in error messages about rules that are read from it.
pub const STDIN_NAME: &str = "<stdin>";

/// Number of bytes at the start of a file that show whether the file is an artifact (compiled
/// rules).
const ARTIFACT_HEADER_BYTES: u64 = 64;

/// True if a file starts like compiled rules (an artifact). Also true for a file `*.rulec` that is
/// not text, so that a damaged header is reported as damage and not as a syntax error. False if the
/// file cannot be read; the code that loads the file then reports the error.
pub fn is_artifact(path: &Path) -> bool {
    let mut header = Vec::new();
    let is_read = open_regular(path)
        .is_ok_and(|(file, _)| file.take(ARTIFACT_HEADER_BYTES).read_to_end(&mut header).is_ok());
    let is_named_so = path.extension().is_some_and(|extension| extension == "rulec");
    is_read && (artifact::is_artifact(&header) || is_named_so && header.contains(&0))
}

/// Loader for rules from standard input. Imported files are loaded from disk.
struct StdinLoader {
    bytes: Vec<u8>,
    disk: DiskLoader,
}

impl Loader for StdinLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        match path {
            STDIN_NAME if self.bytes.len() as u64 > MAX_FILE_BYTES => {
                Err(LoadError::TooLarge(self.bytes.len() as u64))
            }
            STDIN_NAME => Ok(self.bytes.clone()),
            _ => self.disk.load(path),
        }
    }
}

/// Loader for files on disk that records the paths of all requested files.
struct RecordingLoader {
    disk: DiskLoader,
    requested_files: Mutex<Vec<PathBuf>>,
}

impl Loader for RecordingLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        self.requested_files.lock().unwrap_or_else(PoisonError::into_inner).push(self.disk.root().join(path));
        self.disk.load(path)
    }
}

/// Loads files from disk. For a file with edits that are not on disk yet, returns the edited text
/// instead.
struct EditedFilesLoader<'a> {
    disk: DiskLoader,
    edited_texts: &'a HashMap<PathBuf, String>,
}

impl Loader for EditedFilesLoader<'_> {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        // The file is loaded from disk even if its text was edited, because this rejects paths
        // outside the root.
        let bytes = self.disk.load(path)?;
        let canonical_path = self.disk.root().join(path).canonicalize().ok();
        Ok(canonical_path
            .and_then(|canonical_path| self.edited_texts.get(&canonical_path))
            .map_or(bytes, |text| text.clone().into_bytes()))
    }
}

impl CompileTarget {
    /// True if the rules are read from standard input.
    pub fn is_stdin(&self) -> bool {
        self.path == Path::new(STDIN_ARG)
    }

    /// Returns the name of the rules file for error messages: its path, or `<stdin>` for standard
    /// input.
    pub fn display_name(&self) -> String {
        if self.is_stdin() { STDIN_NAME.to_owned() } else { self.path.display().to_string() }
    }

    /// Compiles the rules file, or loads it if it is already compiled. Declared host functions
    /// (functions of an embedding program) may be missing, because this program provides none.
    pub fn compile(self) -> Result<CompileResult, CliError> {
        self.compile_verified(None)
    }

    /// Compiles or loads the rules file. If a key is given, accepts only compiled rules that are
    /// signed with this key.
    pub fn compile_verified(self, key: Option<VerifyingKey>) -> Result<CompileResult, CliError> {
        let mut compiler = Compiler::new().allow_missing_functions();
        if let Some(root) = &self.root {
            compiler = compiler.root(root);
        }
        let wants_signature = key.is_some();
        if !wants_signature && self.is_json_document() {
            return self.load_document();
        }
        self.document.check_literal_allowed(None).map_err(CliError::usage_error)?;
        if let Some(key) = key {
            compiler = compiler.trust(key);
        }
        let shown = self.display_name();
        if !self.is_stdin()
            && !self.path.exists()
            && let Some(remedy) = usage::rules_come_first_tip(&self.path)
        {
            return Err(CliError::usage_error(message!("`{shown}` is not a file of rules; {remedy}")));
        }
        let mut files = Vec::new();
        let (result, is_artifact) = if self.is_stdin() {
            self.compile_stdin(&compiler)?
        } else if is_artifact(&self.path) {
            (compiler.load_artifact_path(&self.path), true)
        } else {
            let result = compiler.on_disk(&self.path).and_then(|(disk, name)| {
                let loader = RecordingLoader { disk, requested_files: Mutex::default() };
                let result = compiler.compile_with(&loader, &name);
                files = loader.requested_files.into_inner().unwrap_or_else(PoisonError::into_inner);
                result
            });
            (result, false)
        };
        if wants_signature && !is_artifact {
            let message = message!(
                "`{shown}` is the text of rules and has no signature; `--verify` works on files that `rulec \
                build --sign` wrote"
            );
            return Err(CliError::usage_error(message));
        }
        Ok(CompileResult { target: self, result, is_artifact, document: None, requested_files: files })
    }

    /// True if the file is another system's JSON document instead of rules.
    fn is_json_document(&self) -> bool {
        let is_json = is_json_name(&self.path.to_string_lossy());
        self.document.system.is_some() || (is_json && !self.path.is_dir() && !is_artifact(&self.path))
    }

    /// Loads the rules of another system's JSON document.
    fn load_document(self) -> Result<CompileResult, CliError> {
        let name = self.display_name();
        let bytes = if self.is_stdin() {
            stdio::read_stdin(MAX_ARTIFACT_BYTES)?
        } else {
            let unreadable = |error: LoadError| {
                CliError::usage_error(message!("`{name}` cannot be read: {}", error.to_message()))
            };
            read_limited(&self.path).map_err(unreadable)?
        };
        let (result, document) = ImportedDocument::load(&bytes, name, self.document);
        let files = if self.is_stdin() { Vec::new() } else { vec![self.path.clone()] };
        Ok(CompileResult {
            target: self,
            result,
            is_artifact: false,
            document: Some(document),
            requested_files: files,
        })
    }

    /// Compiles the rules file again after edits. `texts` maps canonical paths to edited texts,
    /// which replace the texts on disk.
    pub fn compile_edited(&self, texts: &HashMap<PathBuf, String>) -> CompileResult {
        // Only rules are edited, never a JSON document, so a document is loaded again unchanged.
        if self.is_json_document()
            && let Ok(compiled) = self.clone().load_document()
        {
            return compiled;
        }
        let mut compiler = Compiler::new().allow_missing_functions();
        if let Some(root) = &self.root {
            compiler = compiler.root(root);
        }
        if is_artifact(&self.path) {
            let result = compiler.load_artifact_path(&self.path);
            return CompileResult {
                target: self.clone(),
                result,
                is_artifact: true,
                document: None,
                requested_files: Vec::new(),
            };
        }
        let loader_and_name = compiler.on_disk(&self.path);
        let result = loader_and_name.and_then(|(disk, name)| {
            compiler.compile_with(&EditedFilesLoader { disk, edited_texts: texts }, &name)
        });
        CompileResult {
            target: self.clone(),
            result,
            is_artifact: false,
            document: None,
            requested_files: Vec::new(),
        }
    }

    /// Compiles the rules from standard input as if they were a file in the root folder. Without a
    /// root folder, the current folder is the root. The returned bool is true if the input was an
    /// artifact (compiled rules).
    fn compile_stdin(&self, compiler: &Compiler) -> Result<(Result<Rules, CompileError>, bool), CliError> {
        let bytes = stdio::read_stdin(MAX_ARTIFACT_BYTES)?;
        if artifact::is_artifact(&bytes) {
            return Ok((compiler.load_artifact(&bytes), true));
        }
        let root = self.root.as_deref().unwrap_or(Path::new("."));
        let files = DiskLoader::new(root).map_err(|error| {
            CliError::usage_error(message!("the root folder `{}` cannot be used: {error}", root.display()))
        })?;
        Ok((compiler.compile_with(&StdinLoader { bytes, disk: files }, STDIN_NAME), false))
    }
}

impl CompileResult {
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match (&self.document, &self.result) {
            (Some(document), _) => document.diagnostics(),
            (None, Ok(rules)) => rules.warnings(),
            (None, Err(error)) => error.diagnostics(),
        }
    }

    /// Returns the JSON document from which the rules were loaded, if any.
    pub fn document(&self) -> Option<&ImportedDocument> {
        self.document.as_ref()
    }

    /// Analyses how the rules interact. Returns no findings if the rules did not compile. Also
    /// returns none for an artifact, because it lacks the comments that suppress findings.
    pub fn analyse(&self, options: AnalysisOptions) -> Vec<Finding> {
        match &self.result {
            // Rules from a JSON document are not analysed here; the warnings about the document's
            // items are already among its diagnostics.
            Ok(rules) if !self.is_artifact && self.document.is_none() => rules.analyse_with(options),
            _ => Vec::new(),
        }
    }

    /// True if the file contained an artifact (compiled rules), not source text.
    #[cfg(feature = "studio")]
    pub fn is_artifact(&self) -> bool {
        self.is_artifact
    }

    pub fn sources(&self) -> &SourceMap {
        match (&self.document, &self.result) {
            (Some(document), _) => document.sources(),
            (None, Ok(rules)) => rules.sources(),
            (None, Err(error)) => error.sources(),
        }
    }

    pub fn is_unreadable(&self) -> bool {
        are_rules_unreadable(self.sources(), self.diagnostics())
    }

    /// Returns the name of a source file for error messages: its path, as it would be written on
    /// the command line. The source map stores names relative to the root folder.
    pub fn file_name(&self, file: FileId) -> String {
        let folder = match &self.target.root {
            Some(root) => root.as_path(),
            None => self.target.path.parent().unwrap_or(Path::new("")),
        };
        let name = self.sources().get(file).map_or("", |file| file.name.as_str());
        if name == STDIN_NAME || self.document.is_some() {
            return name.to_owned();
        }
        let folder = if folder == Path::new(".") { Path::new("") } else { folder };
        folder.join(name).display().to_string()
    }
}

/// True if no source text could be read at all. Either the file is missing, or it is an artifact
/// (compiled rules) that cannot be used: damaged, of another version, or not signed by a trusted
/// key.
pub fn are_rules_unreadable(sources: &SourceMap, diagnostics: &[Diagnostic]) -> bool {
    sources.iter().next().is_none()
        && diagnostics.iter().any(|diagnostic| {
            matches!(
                diagnostic.code,
                Code::FileUnreadable
                    | Code::NoArtifact
                    | Code::ArtifactVersion
                    | Code::ArtifactDamaged
                    | Code::ArtifactUntrusted
            )
        })
}
