//! Compiling: from a file or text, by way of every stage, to [`Rules`] or to all that is wrong.

use super::hosts::{HostFunction, Registry};
use super::set::{RuleSet, Shared};
use super::{How, Indexing, Rules, Tier};
use crate::files::DiskLoader;
use rulec_base::diag::{Argument, Code, Diagnostic};
use rulec_base::message;
use rulec_base::parallel::Threads;
use rulec_base::source::SourceMap;
use rulec_base::text;
use rulec_eval::host::Host;
use rulec_eval::trace::Source;
use rulec_lang::value::Value;
use rulec_sema::check;
use rulec_sema::hir::Program;
use rulec_sema::normal;
use rulec_syntax::loader::{self, LoadError, Loaded, Loader, MemoryLoader};
use rulec_vm::bytecode::{self, LowerError};
use rulec_vm::index::{self, Index};
use serde_json::Value as Json;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compiles rule files into [`Rules`].
///
/// ```
/// let rules = rulec::Compiler::new()
///     .function("score", |text: String| text.len() as i64)
///     .compile_text(
///         "extern fn score(text: string) -> int
///          route long when score(text) > 10 -> essay_handler",
///     )?;
/// assert_eq!(rules.decide(&serde_json::json!({"text": "a rather long text"})).chosen(), Some("long"));
/// # Ok::<(), rulec::CompileError>(())
/// ```
#[derive(Clone, Default)]
pub struct Compiler {
    root: Option<PathBuf>,
    registry: Registry,
    unlinked: bool,
    tier: Tier,
    indexing: Indexing,
    /// The keys of which one must have signed what is loaded; none when anything is taken.
    #[cfg(feature = "signatures")]
    pub(super) trusted: Vec<crate::artifact::signature::VerifyingKey>,
}

impl Compiler {
    /// A compiler without host functions.
    pub fn new() -> Self {
        Compiler::default()
    }

    /// Offers a function to the rules, which declare it with `extern fn`. A function that the rules
    /// declare and nobody offers, or offers with other types, is an error when they are compiled.
    #[must_use]
    pub fn function<Args>(mut self, name: &str, function: impl HostFunction<Args>) -> Self {
        self.registry.add(name, function);
        self
    }

    /// Offers a function that has no types of its own, as those of another language have none: it takes so many
    /// arguments, or any number, and what it returns counts as missing where it is not of the declared type.
    ///
    /// ```
    /// use serde_json::json;
    ///
    /// let rules = rulec::Compiler::new()
    ///     .untyped_function("score", Some(1), |args| Ok(json!(args[0].as_str().map_or(0, str::len))))
    ///     .compile_text("extern fn score(text: string) -> int\nroute long when score(text) > 10 -> essay_handler")?;
    /// assert_eq!(rules.decide(&json!({"text": "a rather long text"})).chosen(), Some("long"));
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    #[must_use]
    pub fn untyped_function(
        mut self,
        name: &str,
        arity: Option<usize>,
        function: impl Fn(&[Json]) -> Result<Json, String> + Send + Sync + 'static,
    ) -> Self {
        let erased = move |args: &[Value<'_>]| {
            function(&args.iter().map(|value| value.to_json()).collect::<Vec<Json>>())
        };
        self.registry.add_untyped(name, arity, Arc::new(erased));
        self
    }

    /// The folder that imports may not leave; by default the folder of the compiled file.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Chooses the engine.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// Chooses where decisions use the index.
    #[must_use]
    pub fn index(mut self, indexing: Indexing) -> Self {
        self.indexing = indexing;
        self
    }

    /// Lets host functions be missing, their results then counting as missing: for tools that look
    /// at rules without the program that embeds them.
    #[must_use]
    pub fn allow_missing_functions(mut self) -> Self {
        self.unlinked = true;
        self
    }

    /// Compiles a file and what it imports.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn compile_path(&self, path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        let (disk, name) = self.on_disk(path.as_ref())?;
        self.compile_with(&disk, &name)
    }

    /// A loader for the files of a path's root, and the path as seen from there.
    #[doc(hidden)]
    pub fn on_disk(&self, path: &Path) -> Result<(DiskLoader, String), CompileError> {
        let root = match &self.root {
            Some(root) => root.as_path(),
            None => path.parent().unwrap_or(Path::new("")),
        };
        let unreadable = |message: &dyn Argument| CompileError::unreadable(path, message);
        let disk = DiskLoader::new(root).map_err(|error| match (&self.root, error) {
            (None, error) => unreadable(&error),
            (Some(root), LoadError::NotFound) => {
                unreadable(&message!("there is no root folder `{}`", root.display()))
            }
            (Some(root), error) => {
                unreadable(&message!("the root folder `{}` cannot be used: {error}", root.display()))
            }
        })?;
        let name = match &self.root {
            None => path.file_name().map(PathBuf::from),
            Some(root) => within(root, path),
        };
        let Some(name) = name else {
            return Err(unreadable(&"it lies outside the root folder"));
        };
        // Inside the engine a path's parts are joined by `/`, whatever the system writes.
        let name: Vec<String> = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        Ok((disk, name.join("/")))
    }

    /// Compiles a text that imports nothing.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn compile_text(&self, text: &str) -> Result<Rules, CompileError> {
        self.compile_with(&MemoryLoader::new().with("<text>", text), "<text>")
    }

    /// Compiles the file `path` of a loader.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn compile_with(&self, loader: &dyn Loader, path: &str) -> Result<Rules, CompileError> {
        text::keeping_parsed(|| self.compile_loaded(loader, path))
    }

    fn compile_loaded(&self, loader: &dyn Loader, path: &str) -> Result<Rules, CompileError> {
        let threads = Threads::All;
        let mut loaded = self.read(threads, loader, path)?;
        let (program, found) = check::check(&loaded);
        let mut allows = check::Allows::of(&loaded);
        // The trees are large and no longer needed.
        let (statements, trees) = (program.rules.len(), std::mem::take(&mut loaded.units));
        let finish = || self.finish(threads, loaded, program, found, &mut allows);
        threads.both(statements, || drop(trees), finish).1
    }

    /// Compiles the file `path` of a loader, and shows what was read and checked on the way: what an editor asks for
    /// and no engine needs. An editor's compiler trusts no keys.
    #[doc(hidden)]
    pub fn compile_seen<T>(
        &self,
        loader: &dyn Loader,
        path: &str,
        look: impl FnOnce(&Loaded, &Program) -> T,
    ) -> (Result<Rules, CompileError>, T) {
        text::keeping_parsed(|| {
            let mut loaded = loader::load(Threads::All, loader, path);
            let (program, found) = check::check(&loaded);
            let (seen, mut allows) = (look(&loaded, &program), check::Allows::of(&loaded));
            loaded.units.clear();
            (self.finish(Threads::All, loaded, program, found, &mut allows), seen)
        })
    }

    /// The host functions that a program declares.
    pub(super) fn link(&self, program: &Program, diagnostics: &mut Vec<Diagnostic>) -> Vec<Host> {
        self.registry.link(program, self.unlinked, diagnostics)
    }

    /// Compiles what has been checked.
    pub(super) fn finish(
        &self,
        threads: Threads,
        loaded: Loaded,
        program: Program,
        found: Vec<Diagnostic>,
        allows: &mut check::Allows,
    ) -> Result<Rules, CompileError> {
        let mut diagnostics = loaded.diagnostics;
        diagnostics.extend(found);
        let link = |program: &Program, found: &mut Vec<Diagnostic>| self.link(program, found);
        let compiled = lower(threads, program, Some(loaded.sources.len()), &mut diagnostics, link);
        allows.silence(&mut diagnostics);
        diagnostics.extend(allows.unused(false));
        diagnostics.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.file, span.start)));
        diagnostics.dedup();
        let sources = loaded.sources;
        match compiled {
            Some(set) => {
                Ok(self.compiled(RuleSet { allows: std::mem::take(allows), ..set }, sources, diagnostics))
            }
            None => Err(CompileError { diagnostics, sources }),
        }
    }

    /// Rules with their texts.
    pub(super) fn compiled(&self, set: RuleSet, sources: SourceMap, warnings: Vec<Diagnostic>) -> Rules {
        self.rules(RuleSet { sources, warnings, ..set })
    }

    /// Rules as the settings have them.
    pub(super) fn rules(&self, set: RuleSet) -> Rules {
        Rules { shared: Arc::new(Shared::new(set)), how: How { tier: self.tier, indexing: self.indexing } }
    }
}

pub(super) fn fails(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// Compiles a checked program, and links its host functions; `None` when it has errors. The conditions of one that is
/// of so many files are kept as bytes from then on.
pub(super) fn lower(
    threads: Threads,
    mut program: Program,
    files: Option<usize>,
    diagnostics: &mut Vec<Diagnostic>,
    link: impl FnOnce(&Program, &mut Vec<Diagnostic>) -> Vec<Host>,
) -> Option<RuleSet> {
    if fails(diagnostics) {
        return None;
    }
    let statements = program.rules.len();
    let hosts = link(&program, diagnostics);
    let (normal, warnings) = normal::build(&program);
    diagnostics.extend(warnings);
    let bytecode = match bytecode::lower(&program, &normal) {
        Ok(code) => match bytecode::verify(code.chunk()) {
            Ok(()) => Some(code),
            Err(error) => {
                diagnostics.push(too_complex(&error.to_string()));
                None
            }
        },
        Err(error) => {
            diagnostics.push(lowering_failed(&program, &error));
            None
        }
    };
    let bytecode = bytecode.filter(|_| !fails(diagnostics))?;
    // What remains is what deciding needs; the rest, trees and the normal form, is there again when it is asked for.
    let pack = || files.map(|files| program.pack(files));
    let index = || Index::is_worthwhile(&normal).then(|| index::build(&normal, bytecode.chunk()));
    let (_, index) = threads.both(statements, pack, index);
    drop(normal);
    Some(RuleSet::new(program, bytecode, hosts, index))
}

/// `path` as seen from `root`, when it lies there.
fn within(root: &Path, path: &Path) -> Option<PathBuf> {
    let here =
        |path: &Path| if path.as_os_str().is_empty() { Path::new(".") } else { path }.canonicalize().ok();
    // The file itself may be missing, which is for the loader to say.
    let folder = here(path.parent().unwrap_or(Path::new("")))?;
    Some(folder.strip_prefix(here(root)?).ok()?.join(path.file_name()?))
}

fn lowering_failed(program: &Program, error: &LowerError) -> Diagnostic {
    let place = match error {
        LowerError::Regex(pattern, _) => {
            program.patterns.iter().find(|((known, _), _)| known == pattern).map(|(_, known)| known.place)
        }
        _ => None,
    };
    match place {
        Some(place) => check::regex_too_large(place),
        None => too_complex(&error.to_string()),
    }
}

fn too_complex(error: &dyn Argument) -> Diagnostic {
    Diagnostic::without_place(Code::TooComplex, message!("the rules are too complex: {error}"))
        .help(message!("split the largest conditions over several routes"))
}

/// Why rules did not compile, as data; the command line renders it with the author's text.
#[derive(Clone, Debug)]
pub struct CompileError {
    diagnostics: Vec<Diagnostic>,
    sources: SourceMap,
}

impl CompileError {
    pub(super) fn new(diagnostics: Vec<Diagnostic>, sources: SourceMap) -> CompileError {
        CompileError { diagnostics, sources }
    }

    /// That a file cannot be read.
    pub(super) fn unreadable(path: &Path, message: &dyn Argument) -> CompileError {
        let message = message!("`{}` cannot be read: {message}", path.display());
        Diagnostic::without_place(Code::FileUnreadable, message).into()
    }

    /// Says of which file it is that an artifact was expected.
    pub(super) fn name_artifact(&mut self, name: &str) {
        for diagnostic in self.diagnostics.iter_mut().filter(|diagnostic| diagnostic.labels.is_empty()) {
            diagnostic.message = message!("`{name}`: {}", diagnostic.message);
        }
    }

    /// Every error and warning, in the order of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The texts the diagnostics point into.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Renders every error and warning as text, with the author's lines underlined.
    ///
    /// ```
    /// let error = rulec::Rules::from_text("let a = 1\nlet a = 2").unwrap_err();
    /// assert!(error.render().contains("2 │ let a = 2\n   ·     ┬\n   ·     ╰── declared again\n"));
    /// ```
    pub fn render(&self) -> String {
        let rendered: Vec<String> =
            self.diagnostics.iter().map(|diagnostic| diagnostic.render(&self.sources)).collect();
        rendered.join("\n")
    }
}

/// One error, which is about no text.
impl From<Diagnostic> for CompileError {
    fn from(diagnostic: Diagnostic) -> CompileError {
        CompileError { diagnostics: vec![diagnostic], sources: SourceMap::new() }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors: Vec<&Diagnostic> =
            self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        for (at, diagnostic) in errors.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            if let Some(place) = diagnostic.span().and_then(|span| self.sources.place(span)) {
                write!(f, "{place}: ")?;
            }
            write!(f, "{}: {}", diagnostic.code, diagnostic.message)?;
            if let Some(help) = &diagnostic.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}
