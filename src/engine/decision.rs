//! The decision as a value: what was chosen, and everything a caller needs to act on it.

use crate::decision::{Choice, Chosen};
use crate::host::HostFailure;
use crate::schema::Breach;
use crate::sema::hir::{Outcome, Program, TableId, TableKind};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A decision. Serializes to the JSON object that `rulec run` prints:
/// `{"entry":…,"chosen":…,"target":…,"args":{…},"metadata":{…}}`, with `path` when tables were
/// jumped through, and `breaches`, `missing_args` and `failures` when there are any. In place of
/// `chosen` to `metadata` a choice has `branch` (empty when none holds) and `default`; flows have
/// `flow`, `name` and `pattern` (null when none is found); a router has `next` and `loopback`.
#[derive(Clone, Debug)]
pub struct Decision<'r> {
    pub(super) program: &'r Program,
    pub(super) generation: u64,
    pub(super) entry: TableId,
    pub(super) choice: Choice,
    /// Most decisions have none.
    pub(super) extras: Option<Box<Extras>>,
}

/// What a decision says beside the choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    pub args: Map<String, Json>,
    pub missing_args: Vec<Arc<str>>,
    pub breaches: Vec<Breach>,
    pub failures: Vec<HostFailure>,
    pub host_time: Duration,
    pub next: Vec<String>,
}

/// A flow that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHit<'r> {
    /// What the flow answers with.
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
    /// Whether the way there leads back.
    pub loopback: bool,
}

static NO_ARGS: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);

impl<'r> Decision<'r> {
    /// A list of the extras.
    fn extra<T>(&self, list: impl Fn(&Extras) -> &[T]) -> &[T] {
        self.extras.as_deref().map_or(&[], list)
    }

    fn outcome(&self) -> Option<&'r Outcome> {
        self.choice.chosen.and_then(|chosen| chosen.outcome(self.program))
    }

    /// The entry decided by.
    pub fn entry(&self) -> &'r str {
        &self.program.tables[self.entry.index()].name
    }

    /// The name of the chosen route, `default`, or `None` when nothing was chosen.
    pub fn chosen(&self) -> Option<&'r str> {
        self.choice.chosen.map(|chosen| chosen.name(self.program))
    }

    /// The statement that was chosen, as a number in [`Rules::program`](super::Rules::program).
    #[doc(hidden)]
    pub fn statement(&self) -> Option<Chosen> {
        self.choice.chosen
    }

    /// Whether a default answered.
    pub fn is_default(&self) -> bool {
        matches!(self.choice.chosen, Some(Chosen::Default(_)))
            || matches!(self.outcome(), Some(Outcome::Branch { default: true }))
    }

    /// The handler.
    pub fn target(&self) -> Option<&'r str> {
        target(self.outcome()?)
    }

    /// The handler's arguments.
    pub fn args(&self) -> &Map<String, Json> {
        args(self.extras.as_deref())
    }

    /// The constants given with the target.
    pub fn metadata(&self) -> Option<&'r Map<String, Json>> {
        metadata(self.outcome()?)
    }

    /// What kind of statement decided.
    pub fn kind(&self) -> TableKind {
        self.program.tables[self.entry.index()].kind
    }

    /// The chosen branch of a choice.
    pub fn branch(&self) -> Option<&'r str> {
        self.chosen().filter(|_| matches!(self.outcome(), Some(Outcome::Branch { .. })))
    }

    /// The flow whose pattern was found.
    pub fn flow(&self) -> Option<FlowHit<'r>> {
        flow(self.program, self.outcome()?)
    }

    /// The next nodes that a router chose.
    pub fn next(&self) -> Option<NextNodes<'_>> {
        next(self.outcome()?, self.extras.as_deref())
    }

    /// The tables from the entry to the one of the chosen route, both included.
    pub fn path(&self) -> Vec<&'r str> {
        let tables = self.choice.tables(self.program, self.entry);
        tables.into_iter().map(|table| &*self.program.tables[table.index()].name).collect()
    }

    /// The rule set's generation.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Promises of `input` that the message broke.
    pub fn breaches(&self) -> &[Breach] {
        self.extra(|extras| &extras.breaches)
    }

    /// Required arguments that were missing and are null.
    pub fn missing_args(&self) -> impl Iterator<Item = &str> {
        self.extra(|extras| &extras.missing_args).iter().map(|name| &**name)
    }

    /// Host functions that failed; their results counted as missing.
    pub fn failures(&self) -> &[HostFailure] {
        self.extra(|extras| &extras.failures)
    }

    /// The time spent in host functions.
    pub fn host_time(&self) -> Duration {
        self.extras.as_deref().map_or(Duration::ZERO, |extras| extras.host_time)
    }

    pub(crate) fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl Serialize for Decision<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Told {
            program: self.program,
            entry: self.entry,
            chosen: self.chosen(),
            outcome: self.outcome(),
            path: self.path(),
            extras: self.extras.as_deref(),
        }
        .serialize(serializer)
    }
}

/// What a decision tells, wherever the chosen statement stands.
pub(super) struct Told<'d> {
    /// The rules of the entry.
    pub program: &'d Program,
    pub entry: TableId,
    pub chosen: Option<&'d str>,
    pub outcome: Option<&'d Outcome>,
    pub path: Vec<&'d str>,
    pub extras: Option<&'d Extras>,
}

/// The handler that an outcome names.
pub(super) fn target(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Handler { name, .. } => Some(name),
        _ => None,
    }
}

/// The constants given with it.
pub(super) fn metadata(outcome: &Outcome) -> Option<&Map<String, Json>> {
    match outcome {
        Outcome::Handler { metadata, .. } => Some(metadata),
        _ => None,
    }
}

/// The flow whose pattern was found.
pub(super) fn flow<'r>(program: &'r Program, outcome: &'r Outcome) -> Option<FlowHit<'r>> {
    match outcome {
        Outcome::Flow { flow, pattern } => {
            let flow = program.flows.get(flow.index())?;
            Some(FlowHit { id: &flow.id, name: &flow.name, pattern })
        }
        _ => None,
    }
}

/// The next nodes that a router chose.
pub(super) fn next<'d>(outcome: &Outcome, extras: Option<&'d Extras>) -> Option<NextNodes<'d>> {
    match outcome {
        Outcome::Next { loopback, .. } => {
            let nodes = extras.map_or(&[][..], |extras| &extras.next);
            Some(NextNodes { nodes, loopback: *loopback })
        }
        _ => None,
    }
}

/// The arguments of the handler.
pub(super) fn args(extras: Option<&Extras>) -> &Map<String, Json> {
    extras.map_or(&*NO_ARGS, |extras| &extras.args)
}

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let entry = &self.program.tables[self.entry.index()];
        map.serialize_entry("entry", &*entry.name)?;
        match entry.kind {
            TableKind::Routes | TableKind::Requirements => {
                map.serialize_entry("chosen", &self.chosen)?;
                map.serialize_entry("target", &self.outcome.and_then(target))?;
                map.serialize_entry("args", args(self.extras))?;
                map.serialize_entry("metadata", self.outcome.and_then(metadata).unwrap_or(&*NO_ARGS))?;
            }
            TableKind::Choice => {
                let branch = self.outcome.and(self.chosen).unwrap_or("");
                map.serialize_entry("branch", branch)?;
                let default = matches!(self.outcome, Some(Outcome::Branch { default: true }));
                map.serialize_entry("default", &default)?;
            }
            TableKind::Flows => {
                let hit = self.outcome.and_then(|outcome| flow(self.program, outcome));
                map.serialize_entry("flow", &hit.map(|hit| hit.id))?;
                map.serialize_entry("name", &hit.map(|hit| hit.name))?;
                map.serialize_entry("pattern", &hit.map(|hit| hit.pattern))?;
            }
            TableKind::Router => {
                let next = self.outcome.and_then(|outcome| next(outcome, self.extras));
                let next = next.unwrap_or(NextNodes { nodes: &[], loopback: false });
                map.serialize_entry("next", next.nodes)?;
                map.serialize_entry("loopback", &next.loopback)?;
            }
        }
        if self.path.len() > 1 {
            map.serialize_entry("path", &self.path)?;
        }
        let Some(extras) = self.extras else { return map.end() };
        if !extras.missing_args.is_empty() {
            let missing: Vec<&str> = extras.missing_args.iter().map(|name| &**name).collect();
            map.serialize_entry("missing_args", &missing)?;
        }
        if !extras.breaches.is_empty() {
            map.serialize_entry("breaches", &extras.breaches)?;
        }
        if !extras.failures.is_empty() {
            let failures: Vec<Json> = extras
                .failures
                .iter()
                .map(
                    |failure| serde_json::json!({"function": &*failure.function, "message": failure.message}),
                )
                .collect();
            map.serialize_entry("failures", &failures)?;
        }
        map.end()
    }
}
