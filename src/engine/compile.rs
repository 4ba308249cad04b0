//! The compiler: runs every stage from a file or a text to [`Rules`], or to the list of errors.

mod error;

pub use error::CompileError;

use super::awaiting::wrap_async;
use super::host_registry::{HostFunction, HostRegistry, HostResult};
use super::set::{RuleSet, SharedRuleSet};
use super::{Indexing, Rules, Tier};
use crate::files::DiskLoader;
use rulec_base::diag::{Argument, Code, Diagnostic};
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::source::SourceMap;
use rulec_base::span::Span;
use rulec_base::text;
use rulec_eval::host::RegisteredFunction;
use rulec_lang::value::Value;
use rulec_sema::check;
use rulec_sema::hir::Program;
use rulec_sema::normal;
use rulec_syntax::loader::{self, LoadError, LoadedFiles, Loader, MemoryLoader};
use rulec_vm::bytecode::{self, LowerError};
use rulec_vm::index::{self, Index};
use serde_json::Value as Json;
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
/// assert_eq!(rules.decide(&serde_json::json!({"text": "a rather long text"})).chosen(),
/// Some("long"));
/// # Ok::<(), rulec::CompileError>(())
/// ```
#[derive(Clone, Default)]
pub struct Compiler {
    /// Folder that must contain all imported files; `None` for the folder of the compiled file.
    root_folder: Option<PathBuf>,
    registry: HostRegistry,
    /// Whether the rules may declare host functions that the program did not register.
    allows_missing_functions: bool,
    tier: Tier,
    indexing: Indexing,
    pub(super) threads: ThreadLimit,
    /// Trusted keys. One of them must have signed each artifact (file of compiled rules) that is
    /// loaded. Empty means that signatures are not checked.
    #[cfg(feature = "signatures")]
    pub(super) trusted_keys: Vec<crate::artifact::signature::VerifyingKey>,
}

impl Compiler {
    /// Creates a compiler without host functions (functions of the embedding program) and with the
    /// default settings.
    pub fn new() -> Self {
        Compiler::default()
    }

    /// Registers a host function, which the rules declare with `extern fn`. Compilation fails if a
    /// declared function is not registered, or is registered with other types. [`HostArgument`] and
    /// [`HostResult`] list the types that it may take and return.
    ///
    /// [`HostArgument`]: super::HostArgument
    #[must_use]
    pub fn function<Args, F>(mut self, name: &str, function: F) -> Self
    where
        F: HostFunction<Args, Output: HostResult>,
    {
        self.registry.add_function(name, function);
        self
    }

    /// Registers an async host function. Make decisions that call it inside
    /// [`decide_async`](super::decide_async), which awaits the calls. `Router` of the crate
    /// `rulec-runtime` does this. In any other decision, each result counts as missing, and a
    /// failure is reported.
    #[must_use]
    pub fn async_function<Args, F, R>(mut self, name: &str, function: F) -> Self
    where
        F: HostFunction<Args, Output: Future<Output = R> + Send + 'static>,
        R: HostResult,
    {
        self.registry.add_async_function::<Args, F, R>(name, wrap_async(function));
        self
    }

    /// Registers a host function without static types, such as a function of a scripting language.
    /// `arity` is the number of arguments; `None` accepts any number. A result that is not of the
    /// declared type counts as missing.
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
        let json_function = move |args: &[Value<'_>]| {
            function(&args.iter().map(|value| value.to_json()).collect::<Vec<Json>>())
        };
        self.registry.add_untyped_function(name, arity, Arc::new(json_function));
        self
    }

    /// Sets the folder that must contain all imported files. Default: the folder of the compiled
    /// file.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root_folder = Some(root.into());
        self
    }

    /// Sets the engine that decides with the compiled rules.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// Sets which tables use the index. By default, a table uses the index if decisions are faster
    /// with it.
    #[must_use]
    pub fn index(mut self, indexing: Indexing) -> Self {
        self.indexing = indexing;
        self
    }

    /// Allows rules to declare host functions that are not registered; the results of these
    /// functions count as missing. This is for tools that inspect rules without the embedding
    /// program.
    #[must_use]
    pub fn allow_missing_functions(mut self) -> Self {
        self.allows_missing_functions = true;
        self
    }

    /// Compiles on the calling thread only, so that the other processors stay free for decisions.
    /// Large rules then take longer to compile. Watched rules are compiled again in this way. By
    /// default, large rules are compiled on all processors, at most 16.
    #[must_use]
    pub fn single_threaded(self) -> Self {
        Compiler { threads: ThreadLimit::One, ..self }
    }

    /// Compiles a file and its imports.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn compile_path(&self, path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        let (disk, name) = self.on_disk(path.as_ref())?;
        self.compile_with(&disk, &name)
    }

    /// Returns a loader for files below the root folder, and `path` relative to this folder.
    ///
    /// # Errors
    /// If the root folder cannot be used, or if `path` is outside the root folder.
    #[doc(hidden)]
    pub fn on_disk(&self, path: &Path) -> Result<(DiskLoader, String), CompileError> {
        let root = match &self.root_folder {
            Some(root) => root.as_path(),
            None => path.parent().unwrap_or(Path::new("")),
        };
        let unreadable = |message: &dyn Argument| CompileError::unreadable_file(path, message);
        let disk = DiskLoader::new(root).map_err(|error| match (&self.root_folder, error) {
            (None, error) => unreadable(&error),
            (Some(root), LoadError::NotFound) => {
                unreadable(&message!("there is no root folder `{}`", root.display()))
            }
            (Some(root), error) => {
                unreadable(&message!("the root folder `{}` cannot be used: {error}", root.display()))
            }
        })?;
        let name = match &self.root_folder {
            None => path.file_name().map(PathBuf::from),
            Some(root) => relative_to_root(root, path),
        };
        let Some(name) = name else {
            return Err(unreadable(&message!("it is outside the root folder")));
        };
        // Loaders expect `/` as the path separator on all operating systems.
        let name: Vec<String> = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        Ok((disk, name.join("/")))
    }

    /// Compiles a text without imports.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn compile_text(&self, text: &str) -> Result<Rules, CompileError> {
        self.compile_with(&MemoryLoader::new().with("<text>", text), "<text>")
    }

    /// Compiles the file `path`, which `loader` reads, and its imports.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn compile_with(&self, loader: &dyn Loader, path: &str) -> Result<Rules, CompileError> {
        text::with_parse_cache(|| self.load_and_compile(loader, path))
    }

    fn load_and_compile(&self, loader: &dyn Loader, path: &str) -> Result<Rules, CompileError> {
        let threads = self.threads;
        let mut loaded = self.read_sources(threads, loader, path)?;
        let (program, found) = check::check(&loaded);
        let mut allows = check::Suppressions::new(&loaded);
        // The syntax trees are no longer needed. They are large, so another thread frees them.
        let (statements, trees) = (program.rules.len(), std::mem::take(&mut loaded.files));
        let finish = || self.compile_checked_program(threads, loaded, program, found, &mut allows);
        threads.run_both(statements, || drop(trees), finish).1
    }

    /// Parses and checks the file `path`, which `loader` reads, and its imports. Calls `look` with
    /// the parsed files and the checked program, even if they have errors, because editors need
    /// this data. The result can be compiled later, on another thread. Accepts the rules also if
    /// the compiler has trusted keys.
    #[doc(hidden)]
    pub fn inspect<T>(
        &self,
        loader: &dyn Loader,
        path: &str,
        look: impl FnOnce(&LoadedFiles, &Program) -> T,
    ) -> (CheckedRules, T) {
        text::with_parse_cache(|| {
            let mut loaded = loader::load(self.threads, loader, path);
            let (program, found) = check::check(&loaded);
            let (seen, allows) = (look(&loaded, &program), check::Suppressions::new(&loaded));
            loaded.files.clear();
            (
                CheckedRules {
                    compiler: self.clone(),
                    loaded_files: loaded,
                    program,
                    diagnostics: found,
                    suppressions: allows,
                },
                seen,
            )
        })
    }

    /// Finds the registered function for each host function that a program declares. Adds a
    /// diagnostic for each function that is missing or has other types.
    pub(super) fn link_host_functions(
        &self,
        program: &Program,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<RegisteredFunction> {
        self.registry.link_host_functions(program, self.allows_missing_functions, diagnostics)
    }

    /// Compiles a checked program. `found` are the diagnostics of the checker. They are reported
    /// together with the diagnostics of this compilation: as warnings of the rules, or in the
    /// error.
    pub(super) fn compile_checked_program(
        &self,
        threads: ThreadLimit,
        loaded: LoadedFiles,
        program: Program,
        checker_diagnostics: Vec<Diagnostic>,
        suppressions: &mut check::Suppressions,
    ) -> Result<Rules, CompileError> {
        let mut diagnostics = loaded.diagnostics;
        diagnostics.extend(checker_diagnostics);
        let link = |program: &Program, found: &mut Vec<Diagnostic>| self.link_host_functions(program, found);
        let compiled = compile_rule_set(threads, program, Some(loaded.sources.len()), &mut diagnostics, link);
        suppressions.remove_suppressed(&mut diagnostics);
        diagnostics.extend(suppressions.unused_suppressions(false));
        diagnostics.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.file, span.start)));
        diagnostics.dedup();
        let sources = loaded.sources;
        match compiled {
            Some(set) => Ok(self.with_sources(
                RuleSet { suppressions: std::mem::take(suppressions), ..set },
                sources,
                diagnostics,
            )),
            None => Err(CompileError::new(diagnostics, sources)),
        }
    }

    /// Adds source texts and warnings to a rule set, and wraps it as [`Rules`].
    pub(super) fn with_sources(&self, set: RuleSet, sources: SourceMap, warnings: Vec<Diagnostic>) -> Rules {
        self.wrap_rule_set(RuleSet { sources, warnings, ..set })
    }

    /// Wraps a rule set as [`Rules`] with the engine settings of this compiler.
    pub(super) fn wrap_rule_set(&self, set: RuleSet) -> Rules {
        Rules { shared: Arc::new(SharedRuleSet::new(set)), tier: self.tier, indexing: self.indexing }
    }
}

/// Rules that are parsed and checked but not compiled yet. They may have errors.
#[doc(hidden)]
pub struct CheckedRules {
    compiler: Compiler,
    loaded_files: LoadedFiles,
    program: Program,
    /// The errors and warnings that the check of the rules found.
    diagnostics: Vec<Diagnostic>,
    suppressions: check::Suppressions,
}

impl CheckedRules {
    /// Returns the source texts of the rules.
    pub fn sources(&self) -> &SourceMap {
        &self.loaded_files.sources
    }

    /// Compiles the rules.
    ///
    /// # Errors
    /// If the rules have an error. [`CompileError`] then contains every error and warning.
    pub fn compile(self) -> Result<Rules, CompileError> {
        let CheckedRules {
            compiler,
            loaded_files: loaded,
            program,
            diagnostics: found,
            suppressions: mut allows,
        } = self;
        text::with_parse_cache(|| {
            compiler.compile_checked_program(compiler.threads, loaded, program, found, &mut allows)
        })
    }
}

pub(super) fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// Compiles a checked program with up to `threads` threads, and links its host functions by calling
/// `link_host_functions`. Returns `None` if there are errors, which are then in `diagnostics`.
///
/// As the last step, encodes the program's conditions as bytes to save memory. Decisions do not
/// need the conditions, and tools decode them on demand. The encoding needs `files`, the number of
/// source files. If `files` is `None`, the conditions are not encoded.
pub(super) fn compile_rule_set(
    threads: ThreadLimit,
    mut program: Program,
    file_count: Option<usize>,
    diagnostics: &mut Vec<Diagnostic>,
    link_host_functions: impl FnOnce(&Program, &mut Vec<Diagnostic>) -> Vec<RegisteredFunction>,
) -> Option<RuleSet> {
    if has_errors(diagnostics) {
        return None;
    }
    let statements = program.rules.len();
    let host_functions = link_host_functions(&program, diagnostics);
    let (normal, warnings) = normal::build_normal_form(&program);
    // A name in quotes is the reason why a condition is constant. The fix removes the quotes.
    let is_name = |found: &Diagnostic| {
        found.code == Code::ConstantKey && found.fixes.iter().any(|fix| Some(fix.span) == found.span())
    };
    let constants: Vec<Span> =
        diagnostics.iter().filter(|found| is_name(found)).filter_map(Diagnostic::span).collect();
    let is_explained = |warning: &Diagnostic| {
        matches!(warning.code, Code::NeverMatches | Code::AlwaysMatches)
            && warning.span().is_some_and(|span| constants.iter().any(|inner| span.contains(*inner)))
    };
    diagnostics.extend(warnings.into_iter().filter(|warning| !is_explained(warning)));
    let bytecode = match bytecode::lower(&program, &normal) {
        Ok(code) => match bytecode::verify(code.chunk()) {
            Ok(()) => Some(code),
            Err(error) => {
                diagnostics.push(complexity_diagnostic(&error.to_message()));
                None
            }
        },
        Err(error) => {
            diagnostics.push(lowering_diagnostic(&program, &error));
            None
        }
    };
    let bytecode = bytecode.filter(|_| !has_errors(diagnostics))?;
    // Decisions need only the bytecode and the index. So the conditions are stored as bytes and
    // decoded on demand, and the normal form is built again on demand.
    let pack = || file_count.map(|files| program.pack_conditions(files));
    let index = || Index::is_worthwhile(&normal).then(|| index::build_index(&normal, bytecode.chunk()));
    let (_, index) = threads.run_both(statements, pack, index);
    drop(normal);
    Some(RuleSet::new(program, bytecode, host_functions, index))
}

/// Returns `path` relative to `root`; `None` if it is outside the root.
fn relative_to_root(root: &Path, path: &Path) -> Option<PathBuf> {
    let canonical_path =
        |path: &Path| if path.as_os_str().is_empty() { Path::new(".") } else { path }.canonicalize().ok();
    // The file itself may be missing; the loader reports that error.
    let folder = canonical_path(path.parent().unwrap_or(Path::new("")))?;
    Some(folder.strip_prefix(canonical_path(root)?).ok()?.join(path.file_name()?))
}

fn lowering_diagnostic(program: &Program, error: &LowerError) -> Diagnostic {
    let pattern_place = match error {
        LowerError::Regex(pattern, _) => {
            program.regex_facts.iter().find(|((known, _), _)| known == pattern).map(|(_, known)| known.place)
        }
        _ => None,
    };
    match pattern_place {
        Some(pattern_place) => check::regex_too_large(pattern_place),
        None => complexity_diagnostic(&error.to_message()),
    }
}

fn complexity_diagnostic(error: &dyn Argument) -> Diagnostic {
    Diagnostic::without_place(Code::TooComplex, message!("the rules are too complex: {error}"))
        .help(message!("split the largest conditions over several routes"))
}
