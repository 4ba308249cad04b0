//! The decision as a value: what was chosen, and everything a caller needs to act on it.

mod serialize;

use super::backend::Calls;
use super::set::Handle;
use rulec_eval::decision::{Chosen, Trail};
use rulec_eval::host::HostFailure;
use rulec_eval::trace;
use rulec_lang::limits::Exceeded;
use rulec_lang::schema::Breach;
use rulec_sema::hir::{Outcome, Program, TableId, TableKind};
use rulec_vm::vm::Computed;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A decision. It holds alive what it names, whatever becomes of the rules.
///
/// Serializes to the JSON object that `rulec run` prints:
/// `{"entry":…,"chosen":…,"target":…,"args":{…},"metadata":{…}}`, with `requires` when the handler requires
/// permissions, `path` when tables were jumped through, and `breaches`, `missing_args`, `exceeded` and `failures` when there are any. In place of
/// `chosen` to `metadata` a choice has `branch` (empty when none holds), `default`, and `to_user` where the rules say so; flows have
/// `flow`, `name` and `pattern` (null when none is found); a router has `next` and `loopback`.
#[derive(Clone)]
pub struct Decision {
    pub(super) rules: Arc<Handle>,
    pub(super) entry: TableId,
    /// The segment of live rules that the statement is of; `None` for the base, and for rules that stay.
    pub(super) segment: Option<Arc<Handle>>,
    /// The statement, by its number there.
    pub(super) chosen: Option<Chosen>,
    pub(super) tables: Trail,
    /// That of the rules, or of the edit of live rules that it came after.
    pub(super) generation: u64,
    /// Most decisions have none.
    pub(super) extras: Option<Box<Extras>>,
}

/// The parts of a decision that most have none of.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    computed: Computed,
    breaches: Vec<Breach>,
    calls: Calls,
}

impl Extras {
    /// `None` when there is none of them.
    #[inline]
    pub fn of(
        computed: Option<Computed>,
        calls: Option<Calls>,
        breaches: Vec<Breach>,
    ) -> Option<Box<Extras>> {
        if computed.is_none() && calls.is_none() && breaches.is_empty() {
            return None;
        }
        let (computed, calls) = (computed.unwrap_or_default(), calls.unwrap_or_default());
        Some(Box::new(Extras { computed, breaches, calls }))
    }
}

/// A flow that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHit<'r> {
    /// The id the flow answers with.
    pub id: &'r str,
    /// Its name in the rules.
    pub name: &'r str,
    /// The pattern that was found, as the author wrote it.
    pub pattern: &'r str,
}

/// The nodes that a router sends a node's output to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextNodes<'d> {
    /// Their ids. Where the message names no next nodes, `next` and `next[0]` stand as written.
    pub nodes: &'d [String],
    /// True when the way there leads back.
    pub loopback: bool,
}

static EMPTY: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);

impl std::fmt::Debug for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decision")
            .field("entry", &self.entry())
            .field("chosen", &self.chosen())
            .field("target", &self.target())
            .field("args", self.args())
            .finish_non_exhaustive()
    }
}

impl Decision {
    /// The chosen statement and the program it stands in.
    fn picked(&self) -> Option<(&Program, Chosen)> {
        let rules = self.segment.as_ref().unwrap_or(&self.rules);
        self.chosen.map(|chosen| (&rules.program, chosen))
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.picked().and_then(|(program, chosen)| chosen.outcome(program))
    }

    fn extra<T>(&self, list: impl Fn(&Extras) -> &[T]) -> &[T] {
        self.extras.as_deref().map_or(&[], list)
    }

    /// The entry decided by.
    pub fn entry(&self) -> &str {
        &self.rules.program.tables[self.entry.index()].name
    }

    /// The name of the chosen route, `default`, or `None` when nothing was chosen.
    pub fn chosen(&self) -> Option<&str> {
        self.picked().map(|(program, chosen)| chosen.name(program))
    }

    /// The statement that was chosen, as a number in [`Rules::program`](super::Rules::program). A route
    /// that was inserted into live rules has none before it is merged.
    #[doc(hidden)]
    pub fn statement(&self) -> Option<Chosen> {
        self.chosen.filter(|_| self.segment.is_none())
    }

    /// Returns true when a default answered.
    pub fn is_default(&self) -> bool {
        matches!(self.picked(), Some((_, Chosen::Default(_))))
            || matches!(self.outcome(), Some(Outcome::Branch { default: true }))
    }

    /// The handler.
    pub fn target(&self) -> Option<&str> {
        match self.outcome()? {
            Outcome::Handler { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The permissions that the handler requires, every one of them: `handler run() requires permission "execute"`.
    /// Whoever runs the handler sees to it; nothing here does.
    pub fn required_permissions(&self) -> &[Arc<str>] {
        self.target().map_or(&[], |handler| self.permissions_required_by(handler))
    }

    /// The permissions that another handler requires, by the rules that decided.
    pub fn permissions_required_by(&self, handler: &str) -> &[Arc<str>] {
        self.rules.program.required(handler)
    }

    /// The handler's arguments; empty when there are none.
    pub fn args(&self) -> &Map<String, Json> {
        self.extras.as_deref().map_or(&*EMPTY, |extras| &extras.computed.args)
    }

    /// The handler's arguments as a type of the program's own.
    ///
    /// # Errors
    /// When the type does not accept them.
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Listing {
    ///     limit: u32,
    /// }
    ///
    /// let rules = rulec::Rules::from_text("default -> files(limit: n ?? 20)")?;
    /// let listing: Listing = rules.decide(&serde_json::json!({"n": 5})).args_as()?;
    /// assert_eq!(listing.limit, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn args_as<'d, T: Deserialize<'d>>(&'d self) -> Result<T, serde_json::Error> {
        T::deserialize(self.args())
    }

    /// The constants given with the target; empty when there are none.
    pub fn metadata(&self) -> &Map<String, Json> {
        match self.outcome() {
            Some(Outcome::Handler { metadata, .. }) => metadata,
            _ => &EMPTY,
        }
    }

    /// The kind of the statement that decided.
    pub fn kind(&self) -> TableKind {
        self.rules.program.tables[self.entry.index()].kind
    }

    /// The chosen branch of a choice.
    pub fn branch(&self) -> Option<&str> {
        self.chosen().filter(|_| matches!(self.outcome(), Some(Outcome::Branch { .. })))
    }

    /// True when the rules say that the user is to see what a choice came to, and why.
    pub fn to_user(&self) -> bool {
        self.rules.program.tables[self.entry.index()].to_user
    }

    /// The flow whose pattern was found.
    pub fn flow(&self) -> Option<FlowHit<'_>> {
        let (program, chosen) = self.picked()?;
        FlowHit::of(program, chosen)
    }

    /// The next nodes that a router chose.
    pub fn next(&self) -> Option<NextNodes<'_>> {
        match self.outcome()? {
            Outcome::Next { loopback, .. } => {
                Some(NextNodes { nodes: self.extra(|extras| &extras.computed.next), loopback: *loopback })
            }
            _ => None,
        }
    }

    /// The tables from the entry to the one of the chosen route, both included.
    pub fn path(&self) -> Vec<&str> {
        self.tables.iter().map(|table| &*self.rules.program.tables[table.index()].name).collect()
    }

    /// The generation of the rules that decided; for live rules that of the last edit before, see
    /// [`LiveRules::generation`](super::LiveRules::generation).
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The handler's arguments as a log may show them: what comes from `@private` fields masked.
    pub fn masked_args(&self) -> Map<String, Json> {
        match self.picked().and_then(|(program, chosen)| Some((program, chosen.outcome(program)?))) {
            Some((program, outcome)) => trace::masked_args(program, outcome, self.args()),
            None => Map::new(),
        }
    }

    /// The message that was decided for as a log may show it: the values of `@private` fields masked.
    pub fn masked_message(&self, message: &Json) -> Json {
        trace::masked_message(&self.rules.program, message)
    }

    /// Promises of `input` that the message broke.
    pub fn breaches(&self) -> &[Breach] {
        self.extra(|extras| &extras.breaches)
    }

    /// Required arguments that were missing and are null.
    pub fn missing_args(&self) -> impl Iterator<Item = &str> {
        self.extra(|extras| &extras.computed.missing_args).iter().map(|name| &**name)
    }

    /// Host functions that failed; their results counted as missing.
    pub fn failures(&self) -> &[HostFailure] {
        self.extra(|extras| &extras.calls.failures)
    }

    /// The limits that were exceeded on the way to the decision, each once; what was larger counted as missing.
    pub fn exceeded(&self) -> &[Exceeded] {
        self.extra(|extras| &extras.calls.exceeded)
    }

    /// The time spent in host functions.
    pub fn host_time(&self) -> Duration {
        self.extras.as_deref().map_or(Duration::ZERO, |extras| extras.calls.elapsed)
    }
}

impl<'r> FlowHit<'r> {
    /// The flow that a chosen statement of a program names.
    pub fn of(program: &'r Program, chosen: Chosen) -> Option<FlowHit<'r>> {
        match chosen.outcome(program)? {
            Outcome::Flow { flow, pattern } => {
                let flow = program.flows.get(flow.index())?;
                Some(FlowHit { id: &flow.id, name: &flow.name, pattern })
            }
            _ => None,
        }
    }
}
