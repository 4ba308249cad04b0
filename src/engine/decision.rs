//! The decision as a value: what was chosen, and everything a caller needs to act on it.

use crate::decision::{Choice, Chosen};
use crate::host::HostFailure;
use crate::schema::Breach;
use crate::sema::hir::{Outcome, Program, TableId};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A decision. Serializes to the JSON object that `rulec run` prints:
/// `{"entry":…,"chosen":…,"target":…,"args":{…},"metadata":{…}}`, with `path` when tables were
/// jumped through, and `breaches`, `missing_args` and `failures` when there are any.
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

    /// Whether a default answered.
    pub fn is_default(&self) -> bool {
        matches!(self.choice.chosen, Some(Chosen::Default(_)))
    }

    /// The handler.
    pub fn target(&self) -> Option<&'r str> {
        match self.outcome()? {
            Outcome::Handler { name, .. } => Some(name),
            Outcome::Goto(_) => None,
        }
    }

    /// The handler's arguments.
    pub fn args(&self) -> &Map<String, Json> {
        self.extras.as_deref().map_or(&*NO_ARGS, |extras| &extras.args)
    }

    /// The constants given with the target.
    pub fn metadata(&self) -> Option<&'r Map<String, Json>> {
        match self.outcome()? {
            Outcome::Handler { metadata, .. } => Some(metadata),
            Outcome::Goto(_) => None,
        }
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
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("entry", self.entry())?;
        map.serialize_entry("chosen", &self.chosen())?;
        map.serialize_entry("target", &self.target())?;
        map.serialize_entry("args", self.args())?;
        match self.metadata() {
            Some(metadata) => map.serialize_entry("metadata", metadata)?,
            None => map.serialize_entry("metadata", &*NO_ARGS)?,
        }
        let path = self.path();
        if path.len() > 1 {
            map.serialize_entry("path", &path)?;
        }
        let Some(extras) = self.extras.as_deref() else { return map.end() };
        if !extras.missing_args.is_empty() {
            map.serialize_entry("missing_args", &self.missing_args().collect::<Vec<_>>())?;
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
