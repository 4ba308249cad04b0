//! The engine as a service uses it: compile a rule set once, at start-up, and decide with it from
//! any thread; with [`LiveRules`] routes come and go meanwhile.

mod artifact;
mod batch;
mod compile;
mod decision;
mod files;
mod hosts;
mod input;
mod live;
mod strategy;
mod tiers;

pub use compile::{CompileError, Compiler};
pub use decision::{Decision, FlowHit, NextNodes};
pub use files::{DiskLoader, read_limited};
pub use hosts::{HostArgument, HostFunction, HostResult};
pub use live::{EditError, LiveDecision, LiveRules, UnknownRoute};
pub use strategy::{Indexing, Tier, TierUnavailable};

use crate::bytecode::Bytecode;
use crate::decision::{Choice, Chosen};
use crate::diag::{Diagnostic, nearest};
use crate::eval::Evaluator;
use crate::explain::{self, Explanation};
use crate::host::{Host, HostCalls, HostFailure};
use crate::index::{self, Index, TablePlan};
use crate::input::Plan;
use crate::schema::{self, Breach, Promises};
use crate::sema::hir::{Expect, Outcome, Program, RuleId, Table, TableId, TableKind};
use crate::sema::normal::{self, Normal};
use crate::source::SourceMap;
use crate::trace::{self, SkippedCondition, Tracer};
use crate::value::{Tri, Value};
use crate::vm::{self, Scratch, Vm};
use bumpalo::Bump;
use decision::Extras;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};
#[cfg(feature = "jit")]
use tiers::Tiers;

/// A compiled rule set: cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Rules {
    set: Arc<RuleSet>,
    tier: Tier,
    indexing: Indexing,
}

struct RuleSet {
    program: Program,
    promises: Option<Promises>,
    /// Made when a tool asks for it.
    normal: OnceLock<Normal>,
    bytecode: Arc<Bytecode>,
    /// Built when rules are compiled, where it is of use to a table; else when it is asked for.
    index: OnceLock<Index>,
    /// How messages are read straight into slots, made when it is first asked for.
    plan: OnceLock<Option<Plan>>,
    #[cfg(feature = "jit")]
    tiers: Arc<Tiers>,
    hosts: Vec<Host>,
    sources: SourceMap,
    warnings: Vec<Diagnostic>,
    generation: u64,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rules({} routes, generation {})", self.set.program.rules.len(), self.set.generation)
    }
}

/// There is no entry of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no entry `{name}`; {hint}")]
pub struct UnknownEntry {
    name: String,
    hint: String,
}

impl UnknownEntry {
    fn new(name: &str, known: &[&str]) -> UnknownEntry {
        let hint = match (nearest(name, known.iter().copied()), known) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "there are none of its kind".to_owned(),
            (None, known) => format!("the entries are {}", known.join(", ")),
        };
        UnknownEntry { name: name.to_owned(), hint }
    }
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
        self.main().decide_value(message)
    }

    /// Resolves every field the rules read, so that several decisions on one message share it.
    pub fn prepare<'m>(&self, message: &'m Json) -> Record<'m> {
        self.set.prepare(message)
    }

    /// Explains the decision by the routes outside any table.
    pub fn explain(&self, message: &Json) -> Explanation {
        self.main().explain(message, false)
    }

    /// The entry that holds the routes outside any table.
    pub fn main(&self) -> Entry<'_> {
        self.table(TableId(0))
    }

    /// The entry of a table; unstable.
    #[doc(hidden)]
    pub fn table(&self, table: TableId) -> Entry<'_> {
        Entry { rules: &self.set, how: How { tier: self.tier, indexing: self.indexing }, table }
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
                Err(UnknownEntry::new(name, &names))
            }
        }
    }

    /// The entry of that name and kind.
    ///
    /// # Errors
    /// When there is none.
    #[doc(hidden)]
    pub fn entry_of_kind(&self, name: &str, kind: TableKind) -> Result<Entry<'_>, UnknownEntry> {
        let of_kind = |table: &&Table| table.kind == kind;
        match self.set.program.table_named(name) {
            Some(table) if self.set.program.tables[table.index()].kind == kind => Ok(self.table(table)),
            _ => {
                let tables = self.set.program.tables.iter().filter(of_kind);
                Err(UnknownEntry::new(name, &tables.map(|table| &*table.name).collect::<Vec<_>>()))
            }
        }
    }

    /// The names of the entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let tables = self.set.program.tables.iter();
        tables.filter(|table| table.kind != TableKind::Requirements).map(|table| &*table.name)
    }

    /// The names of all handlers a decision may lead to: what a registry must hold.
    pub fn targets(&self) -> BTreeSet<&str> {
        let program = &self.set.program;
        let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
        let chooses = |table: TableId| program.tables[table.index()].kind != TableKind::Requirements;
        let routes = program.rules.iter().filter(|route| !route.disabled && chooses(route.table));
        let routes = routes.map(|route| &route.outcome);
        routes
            .chain(defaults)
            .filter_map(|outcome| match outcome {
                Outcome::Handler { name, .. } => Some(&**name),
                _ => None,
            })
            .collect()
    }

    /// The message as a log may show it: the values of `@private` fields masked.
    pub fn masked_message(&self, message: &Json) -> Json {
        trace::masked_message(&self.set.program, message)
    }

    /// A chosen handler's arguments as a log may show them: what comes from `@private` fields masked.
    #[doc(hidden)]
    pub fn masked_args(&self, chosen: Option<Chosen>, given: &Map<String, Json>) -> Map<String, Json> {
        match chosen.and_then(|chosen| chosen.outcome(&self.set.program)) {
            Some(outcome) => trace::masked_args(&self.set.program, outcome, given),
            None => given.clone(),
        }
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
    #[doc(hidden)]
    pub fn program(&self) -> &Program {
        &self.set.program
    }

    /// The normal form, for tools.
    #[doc(hidden)]
    pub fn normal(&self) -> &Normal {
        self.set.normal()
    }

    /// The bytecode, for tools.
    #[doc(hidden)]
    pub fn bytecode(&self) -> &Bytecode {
        &self.set.bytecode
    }

    /// The host functions, in the order the program declares them.
    pub(crate) fn hosts(&self) -> &[Host] {
        &self.set.hosts
    }

    /// Which engine decides.
    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }

    /// How each rule is found, for tools.
    #[doc(hidden)]
    pub fn plan(&self) -> Vec<TablePlan> {
        index::plan(self.set.normal(), self.set.bytecode.chunk())
    }

    /// Lends this thread's working memory.
    pub(crate) fn with_scratch<T>(run: impl FnOnce(&mut Scratch) -> T) -> T {
        RuleSet::with_scratch(run)
    }

    /// The same rules decided by another engine. With [`Tier::Jit`] they are compiled on first use.
    #[must_use]
    pub fn with_tier(&self, tier: Tier) -> Rules {
        Rules { tier, ..self.clone() }
    }

    /// The same rules decided with or without the index.
    #[must_use]
    pub fn with_index(&self, indexing: Indexing) -> Rules {
        Rules { indexing, ..self.clone() }
    }

    /// The index, for tools.
    #[doc(hidden)]
    pub fn index(&self) -> &Index {
        self.set.index()
    }

    /// Runs the `test` blocks about decisions; those about payloads are judged by
    /// [`run_tests`](fn@crate::systems::payload::run_tests).
    pub fn run_tests(&self) -> Vec<TestOutcome> {
        self.set.program.tests.iter().filter_map(|test| self.run_test(test)).collect()
    }

    /// Runs a test of a decision.
    fn run_test(&self, test: &crate::sema::hir::Test) -> Option<TestOutcome> {
        let entry = self.table(test.entry);
        let decision = entry.decide(&test.message);
        let program = &self.set.program;
        let expected = match test.expect {
            Expect::Rule(id) => Some(Chosen::Rule(id)),
            Expect::Default(table) => Some(Chosen::Default(table)),
            Expect::Nothing => None,
            Expect::Judgement { .. } => return None,
        };
        let name = |chosen: Option<Chosen>| match chosen {
            None => "none".to_owned(),
            Some(chosen) => match chosen.table(program) {
                TableId(0) => chosen.name(program).to_owned(),
                table => format!("{}.{}", program.tables[table.index()].name, chosen.name(program)),
            },
        };
        let actual = decision.choice().chosen;
        // The patterns of a flow are rules of one name.
        let place =
            |chosen: Chosen| (chosen.table(program), chosen.name(program), matches!(chosen, Chosen::Rule(_)));
        let passed = actual.map(place) == expected.map(place);
        Some(TestOutcome {
            name: test.name.to_string(),
            span: test.span,
            passed,
            expected: name(expected),
            actual: name(actual),
            explanation: (!passed).then(|| entry.explain(&test.message, true)),
        })
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

/// How an entry decides.
#[derive(Clone, Copy)]
struct How {
    tier: Tier,
    indexing: Indexing,
}

/// A table of a rule set, to decide by.
#[derive(Clone, Copy)]
pub struct Entry<'r> {
    rules: &'r RuleSet,
    how: How,
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

    /// Its table's number, in [`Rules::program`].
    #[doc(hidden)]
    pub fn id(&self) -> TableId {
        self.table
    }

    /// The names of all handlers a decision by this entry may lead to, jumps followed.
    pub fn targets(&self) -> BTreeSet<&'r str> {
        let program = &self.rules.program;
        let (mut targets, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![self.table]);
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let table = &program.tables[id.index()];
            let routes = table.order.iter().map(|route| &program.rules[route.index()]);
            let outcomes = routes.filter(|route| !route.disabled).map(|route| &route.outcome);
            for outcome in outcomes.chain(&table.default) {
                match outcome {
                    Outcome::Handler { name, .. } => drop(targets.insert(&**name)),
                    Outcome::Goto(inner) => open.push(*inner),
                    _ => {}
                }
            }
        }
        targets
    }

    /// Decides for a message.
    pub fn decide(&self, message: &Json) -> Decision<'r> {
        let (choice, calls) = self.rules.choose(self.how, self.table, message, None);
        self.rules.decision(self.table, choice, calls, (message, None), self.rules.breaches(message))
    }

    /// Decides for a message prepared by the same rules; one prepared by others is resolved anew.
    pub fn decide_record(&self, record: &Record<'_>) -> Decision<'r> {
        if record.generation != self.rules.generation {
            return self.decide(record.message);
        }
        let (choice, calls) = self.rules.choose(self.how, self.table, record.message, Some(&record.slots));
        self.rules.decision(self.table, choice, calls, (record.message, None), record.breaches.clone())
    }

    /// The names of all routes of the entry that hold, in the order they are tried. A jump counts
    /// by its own condition.
    pub fn matched(&self, message: &Json) -> Vec<&'r str> {
        let ids = self.rules.all_that_hold(self.how, self.table, message);
        ids.into_iter().map(|id| &*self.rules.program.rules[id.index()].name).collect()
    }

    /// What kind of statement it is.
    pub fn kind(&self) -> TableKind {
        self.rules.program.tables[self.table.index()].kind
    }

    /// The conditions of a choice that cannot be used for this message and are left out, branch by
    /// branch in the order of the rules. Empty for what is no choice.
    pub fn skipped(&self, message: &Json) -> Vec<SkippedCondition> {
        if self.kind() != TableKind::Choice {
            return Vec::new();
        }
        let bump = Bump::new();
        let rules = self.rules;
        let evaluator = Evaluator::new(&rules.program, message, &bump, HostCalls::new(&rules.hosts));
        Tracer::new(evaluator, &rules.sources, false).skipped(self.table)
    }

    /// The targets a decision may still lead to, given what is known of the message: those of routes
    /// that hold or whose condition is unknown, up to the first that surely holds. A jump counts as
    /// all that its table may lead to. Sorted, each once.
    pub fn possible(&self, message: &Json) -> Vec<&'r str> {
        let bump = Bump::new();
        let rules = self.rules;
        let mut evaluator = Evaluator::new(&rules.program, message, &bump, HostCalls::new(&rules.hosts));
        let mut found = BTreeSet::new();
        let mut seen = vec![false; rules.program.tables.len()];
        rules.possible(&mut evaluator, self.table, &mut seen, &mut found);
        found.into_iter().collect()
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

/// A message, or null and the values of its slots.
type Read<'m> = (&'m Json, Option<&'m [Value<'m>]>);

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
    fn prepare<'m>(&self, message: &'m Json) -> Record<'m> {
        Record {
            slots: self.program.slots.iter().map(|slot| slot.load(message)).collect(),
            message,
            breaches: self.breaches(message),
            generation: self.generation,
        }
    }

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
        how: How,
        table: TableId,
        message: &Json,
        slots: Option<&[Value<'_>]>,
    ) -> (Choice, Option<Calls>) {
        #[cfg(feature = "jit")]
        if let Some(code) = self.code(how, table, slots.is_none()) {
            return self.choose_by(code, table, message, slots);
        }
        match how.tier {
            Tier::Reference => {
                let bump = Bump::new();
                let hosts = HostCalls::new(&self.hosts);
                let mut evaluator = Evaluator::new(&self.program, message, &bump, hosts);
                let choice = evaluator.decide(table);
                (choice, Calls::of(&evaluator.into_calls()))
            }
            Tier::Vm | Tier::Auto | Tier::Jit => Self::with_scratch(|scratch| match slots {
                Some(slots) => {
                    let mut machine = Vm::record(&self.bytecode, &self.hosts, slots, scratch);
                    self.lend_index(&mut machine, how);
                    finish(&mut machine, table)
                }
                None => {
                    let mut machine = Vm::json(&self.bytecode, &self.hosts, message, scratch);
                    self.lend_index(&mut machine, how);
                    finish(&mut machine, table)
                }
            }),
        }
    }

    /// Collects the targets a table may lead to, and tells whether it surely leads to one.
    fn possible<'e, 'r: 'e>(
        &'r self,
        evaluator: &mut Evaluator<'e>,
        table: TableId,
        seen: &mut [bool],
        found: &mut BTreeSet<&'r str>,
    ) -> bool {
        // What a table may lead to does not depend on the way to it.
        if std::mem::replace(&mut seen[table.index()], true) {
            return false;
        }
        let info = &self.program.tables[table.index()];
        let mut follow =
            |evaluator: &mut Evaluator<'e>, outcome: &'r Outcome, seen: &mut [bool]| match outcome {
                Outcome::Handler { name, .. } => {
                    found.insert(name);
                    true
                }
                Outcome::Goto(table) => self.possible(evaluator, *table, seen, found),
                _ => true,
            };
        for id in &info.order {
            let rule = &self.program.rules[id.index()];
            let truth = evaluator.cond(&rule.condition);
            if truth != Tri::False && follow(evaluator, &rule.outcome, seen) && truth.holds() {
                return true;
            }
        }
        info.default.as_ref().is_some_and(|outcome| follow(evaluator, outcome, seen))
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| index::build(self.normal(), self.bytecode.chunk()))
    }

    fn normal(&self) -> &Normal {
        self.normal.get_or_init(|| normal::build(&self.program).0)
    }

    /// Lends a machine the index, when it may use it.
    #[inline]
    fn lend_index<'a, M: vm::Message<'a>>(&'a self, machine: &mut Vm<'a, M>, how: How) {
        match how.indexing {
            Indexing::Never => {}
            Indexing::Auto => {
                if let Some(index) = self.index.get() {
                    machine.use_index(index, false);
                }
            }
            Indexing::Always => machine.use_index(self.index(), true),
        }
    }

    fn all_that_hold(&self, how: How, table: TableId, message: &Json) -> Vec<RuleId> {
        match how.tier {
            Tier::Reference => {
                let bump = Bump::new();
                Evaluator::new(&self.program, message, &bump, HostCalls::new(&self.hosts)).matched(table)
            }
            Tier::Vm | Tier::Auto | Tier::Jit => Self::with_scratch(|scratch| {
                #[cfg(feature = "jit")]
                if let Some(code) = self.code(how, table, true) {
                    return code.json(&self.hosts, message, scratch).matched(table);
                }
                let mut machine = Vm::json(&self.bytecode, &self.hosts, message, scratch);
                self.lend_index(&mut machine, how);
                machine.matched(table)
            }),
        }
    }

    fn decision(
        &self,
        entry: TableId,
        choice: Choice,
        calls: Option<Calls>,
        message: Read<'_>,
        breaches: Vec<Breach>,
    ) -> Decision<'_> {
        let outcome = choice.chosen.and_then(|chosen| chosen.outcome(&self.program));
        let with_args =
            outcome.filter(|outcome| outcome.has_args() || matches!(outcome, Outcome::Next { .. }));
        let extras = self.extras(with_args, calls, message, breaches);
        Decision { program: &self.program, generation: self.generation, entry, choice, extras }
    }

    fn extras(
        &self,
        with_args: Option<&Outcome>,
        calls: Option<Calls>,
        read: Read<'_>,
        breaches: Vec<Breach>,
    ) -> Option<Box<Extras>> {
        (with_args.is_some() || calls.is_some() || !breaches.is_empty())
            .then(|| Box::new(Extras::of(&self.program, &self.hosts, with_args, calls, read, breaches)))
    }
}

impl Extras {
    /// Arguments are evaluated after choosing.
    #[inline(never)]
    fn of(
        program: &Program,
        hosts: &[Host],
        with_args: Option<&Outcome>,
        calls: Option<Calls>,
        (message, slots): Read<'_>,
        breaches: Vec<Breach>,
    ) -> Extras {
        let mut extras = Extras { breaches, ..Extras::default() };
        if let Some(calls) = calls {
            (extras.failures, extras.host_time) = (calls.failures, calls.elapsed);
        }
        if let Some(outcome) = with_args {
            let bump = Bump::new();
            let mut evaluator = Evaluator::new(program, message, &bump, HostCalls::new(hosts));
            if let Some(slots) = slots {
                evaluator = evaluator.with_slots(slots);
            }
            (extras.args, extras.missing_args) = evaluator.arguments(outcome);
            extras.next = evaluator.next_nodes(outcome);
            let made = evaluator.into_calls();
            extras.failures.extend(made.failures);
            extras.host_time += made.elapsed;
        }
        extras
    }
}
