//! The engine as a service uses it: compile a rule set once, at start-up, and decide with it from
//! any thread.

mod decision;
mod files;
mod hosts;
mod strategy;

pub use decision::Decision;
pub use files::{DiskLoader, read_limited};
pub use hosts::{HostArgument, HostFunction, HostResult};
pub use strategy::Tier;

use crate::bytecode::{self, Bytecode, LowerError};
use crate::decision::{Choice, Chosen};
use crate::diag::{Code, Diagnostic, nearest};
use crate::eval::Evaluator;
use crate::explain::{self, Explanation};
use crate::host::{Host, HostCalls, HostFailure};
use crate::loader::{self, Loader, MemoryLoader};
use crate::schema::{self, Breach, Promises};
use crate::sema::check;
use crate::sema::hir::{Expect, Outcome, Program, ROUTES, RouteId, TableId};
use crate::sema::normal::{self, Normal};
use crate::source::SourceMap;
use crate::value::Value;
use crate::vm::{self, Scratch, Vm};
use bumpalo::Bump;
use decision::Extras;
use hosts::Registry;
use serde::Serialize;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

    /// The folder that imports may not leave; by default the folder of the compiled file.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Which engine decides.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
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
        let path = path.as_ref();
        let root = match &self.root {
            Some(root) => root.as_path(),
            None => path.parent().unwrap_or(Path::new("")),
        };
        let unreadable = |message: String| {
            let message = format!("`{}` cannot be read: {message}", path.display());
            CompileError {
                diagnostics: vec![Diagnostic::without_place(Code::FileUnreadable, message)],
                sources: SourceMap::new(),
            }
        };
        let disk = DiskLoader::new(root).map_err(|error| unreadable(error.to_string()))?;
        let name = match &self.root {
            None => path.file_name().map(PathBuf::from),
            Some(root) => within(root, path),
        };
        let Some(name) = name else {
            return Err(unreadable("it lies outside the root folder".to_owned()));
        };
        // Inside the engine a path's parts are joined by `/`, whatever the system writes.
        let name: Vec<String> = name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        self.compile_with(&disk, &name.join("/"))
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
        let mut loaded = loader::load(loader, path);
        let mut diagnostics = loaded.diagnostics.clone();
        let (program, found) = check::check(&loaded);
        diagnostics.extend(found);
        // The trees are large and no longer needed; what follows takes their room.
        let allows = check::Allows::of(&loaded);
        loaded.units = Vec::new();
        let fails = |diagnostics: &[Diagnostic]| diagnostics.iter().any(Diagnostic::is_error);
        let mut compiled = None;
        if !fails(&diagnostics) {
            let (normal, warnings) = normal::build(&program);
            diagnostics.extend(warnings);
            let hosts = if self.unlinked {
                Vec::new()
            } else {
                self.registry.link(&program.externs, &mut diagnostics)
            };
            match bytecode::lower(&program, &normal) {
                Ok(code) => match bytecode::verify(&code) {
                    Ok(()) => compiled = Some((normal, code, hosts)),
                    Err(error) => diagnostics.push(too_complex(&error)),
                },
                Err(error) => diagnostics.push(lowering_failed(&program, &error)),
            }
        }
        allows.silence(&mut diagnostics);
        diagnostics.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.file, span.start)));
        diagnostics.dedup();
        match compiled {
            Some((normal, bytecode, hosts)) if !fails(&diagnostics) => Ok(Rules {
                set: Arc::new(RuleSet {
                    promises: program.input.as_ref().map(Promises::of),
                    program,
                    normal,
                    bytecode,
                    hosts,
                    sources: loaded.sources,
                    warnings: diagnostics,
                    generation: GENERATION.fetch_add(1, Ordering::Relaxed),
                }),
                tier: self.tier,
            }),
            _ => Err(CompileError { diagnostics, sources: loaded.sources }),
        }
    }
}

static GENERATION: AtomicU64 = AtomicU64::new(1);

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
            program.patterns.iter().find(|((known, _), _)| known == pattern).map(|(_, place)| *place)
        }
        _ => None,
    };
    match place {
        Some(place) => Diagnostic::new(
            Code::RegexTooLarge,
            place,
            "this regular expression is too large when compiled",
        )
        .help("bound its repetitions, as in `{1,20}`, or use ASCII classes such as `[0-9]` instead of `\\d`"),
        None => too_complex(error),
    }
}

fn too_complex(error: &dyn std::error::Error) -> Diagnostic {
    Diagnostic::without_place(Code::TooComplex, format!("the rules are too complex: {error}"))
        .help("split the largest conditions over several routes")
}

/// Why rules did not compile, as data; the command line renders it with the author's text.
#[derive(Clone, Debug)]
pub struct CompileError {
    diagnostics: Vec<Diagnostic>,
    sources: SourceMap,
}

impl CompileError {
    /// Every error and warning, in the order of the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The texts the diagnostics point into.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let errors: Vec<&Diagnostic> =
            self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        for (at, diagnostic) in errors.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            if let Some(span) = diagnostic.span() {
                let position = self.sources.position(span);
                let name = &self.sources.file(span.file).name;
                write!(f, "{name}:{}:{}: ", position.line, position.column)?;
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

/// A compiled rule set: cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Rules {
    set: Arc<RuleSet>,
    tier: Tier,
}

struct RuleSet {
    program: Program,
    promises: Option<Promises>,
    normal: Normal,
    bytecode: Bytecode,
    hosts: Vec<Host>,
    sources: SourceMap,
    warnings: Vec<Diagnostic>,
    generation: u64,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rules({} routes, generation {})", self.set.program.routes.len(), self.set.generation)
    }
}

/// There is no entry of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no entry `{name}`; {hint}")]
pub struct UnknownEntry {
    name: String,
    hint: String,
}

impl Rules {
    /// Compiles a file and what it imports, without host functions; see [`Compiler`] for more.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        Compiler::new().compile_path(path)
    }

    /// Compiles a text that imports nothing, without host functions.
    ///
    /// # Errors
    /// Every error and warning found, when one is an error.
    pub fn from_text(text: &str) -> Result<Rules, CompileError> {
        Compiler::new().compile_text(text)
    }

    /// Decides by the routes outside any table. A message that breaks a promise of `input` is
    /// decided all the same; [`Decision::breaches`] names what was wrong.
    pub fn decide(&self, message: &Json) -> Decision<'_> {
        self.main().decide(message)
    }

    /// Decides for any value that serializes to an object.
    ///
    /// # Errors
    /// When the value cannot be represented as JSON.
    pub fn decide_value<T: Serialize>(&self, message: &T) -> Result<Decision<'_>, serde_json::Error> {
        Ok(self.main().decide(&serde_json::to_value(message)?))
    }

    /// Resolves every field the rules read, so that several decisions on one message share it.
    pub fn prepare<'m>(&self, message: &'m Json) -> Record<'m> {
        Record {
            slots: self.set.program.slots.iter().map(|slot| slot.load(message)).collect(),
            message,
            breaches: self.set.breaches(message),
            generation: self.set.generation,
        }
    }

    /// Explains the decision by the routes outside any table.
    pub fn explain(&self, message: &Json) -> Explanation {
        self.main().explain(message, false)
    }

    /// The entry that holds the routes outside any table.
    pub fn main(&self) -> Entry<'_> {
        self.table(TableId(0))
    }

    fn table(&self, table: TableId) -> Entry<'_> {
        Entry { rules: &self.set, tier: self.tier.chosen(), table }
    }

    /// The entry of that name: `routes`, or a table.
    ///
    /// # Errors
    /// When there is none.
    pub fn entry(&self, name: &str) -> Result<Entry<'_>, UnknownEntry> {
        match self.set.program.table_named(name) {
            Some(table) => Ok(self.table(table)),
            None => {
                let names: Vec<&str> = self.entries().collect();
                let hint = match nearest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("the entries are {}", names.join(", ")),
                };
                Err(UnknownEntry { name: name.to_owned(), hint })
            }
        }
    }

    /// The names of the entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.set.program.tables.iter().map(|table| &*table.name)
    }

    /// The names of all handlers a decision may lead to: what a registry must hold.
    pub fn targets(&self) -> BTreeSet<&str> {
        let program = &self.set.program;
        let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
        let routes = program.routes.iter().filter(|route| !route.disabled).map(|route| &route.outcome);
        routes
            .chain(defaults)
            .filter_map(|outcome| match outcome {
                Outcome::Handler { name, .. } => Some(&**name),
                Outcome::Goto(_) => None,
            })
            .collect()
    }

    /// The warnings found on compiling.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.set.warnings
    }

    /// The texts that warnings and explanations point into.
    pub fn sources(&self) -> &SourceMap {
        &self.set.sources
    }

    /// A number that no other rule set of this process has; greater for later ones.
    pub fn generation(&self) -> u64 {
        self.set.generation
    }

    /// The typed program, for tools.
    pub fn program(&self) -> &Program {
        &self.set.program
    }

    /// The normal form, for tools.
    pub fn normal(&self) -> &Normal {
        &self.set.normal
    }

    /// The bytecode, for tools.
    pub fn bytecode(&self) -> &Bytecode {
        &self.set.bytecode
    }

    /// The same rules decided by another engine.
    #[must_use]
    pub fn with_tier(&self, tier: Tier) -> Rules {
        Rules { set: self.set.clone(), tier }
    }

    /// Runs the `test` blocks.
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        self.set.program.tests.iter().map(|test| self.run_test(test)).collect()
    }

    fn run_test(&self, test: &crate::sema::hir::Test) -> TestOutcome {
        let entry = self.table(test.entry);
        let decision = entry.decide(&test.message);
        let program = &self.set.program;
        let expected = match test.expect {
            Expect::Route(id) => Some(Chosen::Route(id)),
            Expect::Default(table) => Some(Chosen::Default(table)),
            Expect::Nothing => None,
        };
        let name = |chosen: Option<Chosen>| match chosen {
            None => "none".to_owned(),
            Some(chosen) => match chosen.table(program) {
                TableId(0) => chosen.name(program).to_owned(),
                table => format!("{}.{}", program.tables[table.index()].name, chosen.name(program)),
            },
        };
        let actual = decision.choice().chosen;
        let passed = actual == expected;
        TestOutcome {
            name: test.name.to_string(),
            span: test.span,
            passed,
            expected: name(expected),
            actual: name(actual),
            explanation: (!passed).then(|| entry.explain(&test.message, true)),
        }
    }
}

/// What a `test` block came to.
#[derive(Clone, Debug)]
pub struct TestOutcome {
    /// What it shows.
    pub name: String,
    /// Where its name stands.
    pub span: crate::span::Span,
    /// Whether the expectation was met.
    pub passed: bool,
    /// The expected route, `default` or `none`; routes of a table as `TABLE.ROUTE`.
    pub expected: String,
    /// What was chosen, written alike.
    pub actual: String,
    /// How it was chosen, for a test that failed.
    pub explanation: Option<Explanation>,
}

/// A message whose fields have been resolved for one rule set, by [`Rules::prepare`].
#[derive(Clone, Debug)]
pub struct Record<'m> {
    slots: Vec<Value<'m>>,
    message: &'m Json,
    breaches: Vec<Breach>,
    generation: u64,
}

/// A table of a rule set, to decide by.
#[derive(Clone, Copy)]
pub struct Entry<'r> {
    rules: &'r RuleSet,
    tier: Tier,
    table: TableId,
}

impl<'r> Entry<'r> {
    /// Its name.
    pub fn name(&self) -> &'r str {
        &self.rules.program.tables[self.table.index()].name
    }

    /// Whether it holds anything that could be chosen.
    pub fn is_empty(&self) -> bool {
        let table = &self.rules.program.tables[self.table.index()];
        table.order.is_empty() && table.default.is_none()
    }

    /// Decides for a message.
    pub fn decide(&self, message: &Json) -> Decision<'r> {
        let (choice, calls) = self.rules.choose(self.tier, self.table, message, None);
        self.rules.decision(self.table, choice, calls, message, self.rules.breaches(message))
    }

    /// Decides for a message prepared by the same rules; one prepared by others is resolved anew.
    pub fn decide_record(&self, record: &Record<'_>) -> Decision<'r> {
        if record.generation != self.rules.generation {
            return self.decide(record.message);
        }
        let (choice, calls) = self.rules.choose(self.tier, self.table, record.message, Some(&record.slots));
        self.rules.decision(self.table, choice, calls, record.message, record.breaches.clone())
    }

    /// The names of all routes of the entry that hold, in the order they are tried. A jump counts
    /// by its own condition.
    pub fn matched(&self, message: &Json) -> Vec<&'r str> {
        let ids = self.rules.all_that_hold(self.tier, self.table, message);
        ids.into_iter().map(|id| &*self.rules.program.routes[id.index()].name).collect()
    }

    /// How the decision comes about. Fields marked `@private` are masked unless `show_private`.
    pub fn explain(&self, message: &Json, show_private: bool) -> Explanation {
        let bump = Bump::new();
        let rules = self.rules;
        let evaluator = Evaluator::new(&rules.program, message, &bump, HostCalls::new(&rules.hosts));
        explain::explain(evaluator, self.table, &rules.sources, show_private)
    }
}

thread_local! {
    /// Each thread's working memory. Taken out while a decision runs, so that a host function may
    /// decide as well.
    static SCRATCH: RefCell<Option<Box<Scratch>>> = const { RefCell::new(None) };
}

/// What host functions did during a decision.
struct Calls {
    failures: Vec<HostFailure>,
    elapsed: std::time::Duration,
}

impl Calls {
    /// `None` when there is nothing to tell.
    fn of(calls: &HostCalls<'_>) -> Option<Calls> {
        (!calls.failures.is_empty() || !calls.elapsed.is_zero())
            .then(|| Calls { failures: calls.failures.clone(), elapsed: calls.elapsed })
    }
}

fn finish<'a, M: vm::Message<'a>>(machine: &mut Vm<'a, M>, table: TableId) -> (Choice, Option<Calls>) {
    (machine.decide(table), Calls::of(machine.hosts()))
}

impl RuleSet {
    fn breaches(&self, message: &Json) -> Vec<Breach> {
        match (&self.promises, &self.program.input) {
            (Some(promises), Some(input)) if !promises.surely_kept(message) => {
                schema::breaches(input, message)
            }
            _ => Vec::new(),
        }
    }

    fn with_scratch<T>(run: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = SCRATCH.with(RefCell::take).unwrap_or_default();
        let result = run(&mut scratch);
        SCRATCH.with(|home| home.replace(Some(scratch)));
        result
    }

    fn choose(
        &self,
        tier: Tier,
        table: TableId,
        message: &Json,
        slots: Option<&[Value<'_>]>,
    ) -> (Choice, Option<Calls>) {
        match tier {
            Tier::Reference => {
                let bump = Bump::new();
                let hosts = HostCalls::new(&self.hosts);
                let mut evaluator = Evaluator::new(&self.program, message, &bump, hosts);
                let choice = evaluator.decide(table);
                (choice, Calls::of(&evaluator.into_calls()))
            }
            Tier::Vm | Tier::Auto => Self::with_scratch(|scratch| match slots {
                Some(slots) => finish(&mut Vm::record(&self.bytecode, &self.hosts, slots, scratch), table),
                None => finish(&mut Vm::json(&self.bytecode, &self.hosts, message, scratch), table),
            }),
        }
    }

    fn all_that_hold(&self, tier: Tier, table: TableId, message: &Json) -> Vec<RouteId> {
        match tier {
            Tier::Reference => {
                let bump = Bump::new();
                Evaluator::new(&self.program, message, &bump, HostCalls::new(&self.hosts)).matched(table)
            }
            Tier::Vm | Tier::Auto => Self::with_scratch(|scratch| {
                Vm::json(&self.bytecode, &self.hosts, message, scratch).matched(table)
            }),
        }
    }

    fn decision(
        &self,
        entry: TableId,
        choice: Choice,
        calls: Option<Calls>,
        message: &Json,
        breaches: Vec<Breach>,
    ) -> Decision<'_> {
        let outcome = choice.chosen.and_then(|chosen| chosen.outcome(&self.program));
        let with_args = outcome.filter(|outcome| outcome.has_args());
        let extras = (with_args.is_some() || calls.is_some() || !breaches.is_empty())
            .then(|| Box::new(self.extras(with_args, calls, message, breaches)));
        Decision { program: &self.program, generation: self.generation, entry, choice, extras }
    }

    /// Arguments are evaluated after choosing.
    #[inline(never)]
    fn extras(
        &self,
        with_args: Option<&Outcome>,
        calls: Option<Calls>,
        message: &Json,
        breaches: Vec<Breach>,
    ) -> Extras {
        let mut extras = Extras { breaches, ..Extras::default() };
        if let Some(calls) = calls {
            (extras.failures, extras.host_time) = (calls.failures, calls.elapsed);
        }
        if let Some(outcome) = with_args {
            let bump = Bump::new();
            let mut evaluator = Evaluator::new(&self.program, message, &bump, HostCalls::new(&self.hosts));
            (extras.args, extras.missing_args) = evaluator.arguments(outcome);
            let made = evaluator.into_calls();
            extras.failures.extend(made.failures);
            extras.host_time += made.elapsed;
        }
        extras
    }
}

/// The name of the entry that holds the routes outside any table.
pub const MAIN_ENTRY: &str = ROUTES;
