//! The decision: the chosen statement and the data that a caller needs to act on it.

mod serialize;

use super::set::RuleSetHandle;
use rulec_base::diag::Message;
use rulec_base::json::DecimalPaths;
use rulec_base::message;
use rulec_eval::decision::{Chosen, DecisionDetails, TableTrail};
use rulec_eval::host::HostFailure;
use rulec_eval::trace::{self, SkippedCondition};
use rulec_lang::history::{HistoryGap, PastView};
use rulec_lang::limits::Exceeded;
use rulec_lang::schema::InputViolation;
use rulec_sema::hir::{Outcome, Program, TableId, TableKind};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A decision. It shares ownership of the rules, so it stays valid when the rules are dropped or
/// replaced.
///
/// Serializes to the JSON object that `rulec run` prints:
/// `{"entry":…,"chosen":…,"target":…,"args":{…},"metadata":{…}}`. The key `requires` lists the
/// permissions of the handler, and `path` the tables through which jumps (`goto`) led. The keys
/// `breaches`, `missing_args`, `exceeded` and `failures` appear if they are not empty.
/// `history_gap` is `no_key` or `dropped` if [`Decision::history_gap`] returns a gap.
///
/// If the entry is not a table of routes, other keys replace the keys from `chosen` to `metadata`:
/// - A choice has `branch` (empty if no branch was chosen), `default` (true if the default branch
///   was chosen), and `to_user` if the rules declare it.
/// - Flows have `flow`, `name` and `pattern` (null if no pattern matches).
/// - A router has `next` and `loopback`.
#[derive(Clone)]
pub struct Decision {
    pub(super) rules: Arc<RuleSetHandle>,
    pub(super) entry: TableId,
    /// The separately compiled rules that contain the chosen statement. Set only for a route that
    /// an edit inserted into live rules (which are edited while they serve), until a full
    /// recompilation includes it. Otherwise `None`.
    pub(super) segment: Option<Arc<RuleSetHandle>>,
    /// The chosen statement. Its id is an id of the program in the field `segment`, or of the
    /// program in the field `rules` if `segment` is `None`.
    pub(super) chosen: Option<Chosen>,
    pub(super) table_trail: TableTrail,
    /// Version number (generation) of the rules that decided; for live rules, the generation of the
    /// last edit.
    pub(super) generation: u64,
    /// Whether earlier messages were available to the decision as `history`.
    pub(super) has_past: bool,
    /// Data that most decisions do not have, such as arguments, violations and failed host
    /// functions. `None` if all of it is empty.
    pub(super) details: Option<Box<DecisionDetails>>,
}

/// A keyword flow (a conversation that the caller starts) whose pattern matched the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHit<'r> {
    /// The id that the caller gets if this flow is selected: the text after the arrow of the `flow`
    /// statement.
    pub id: &'r str,
    /// The name of the flow in the rules.
    pub name: &'r str,
    /// The pattern that matched, as written in the rules.
    pub pattern: &'r str,
}

/// The nodes to which a router sends the output of a workflow node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextNodes<'d> {
    /// The ids of the nodes. A target such as `next[0]` in the rules is replaced by the first
    /// element of the list `next` in the message. Without that list, the text `next[0]` stays in
    /// place of an id.
    pub nodes: &'d [String],
    /// Whether the rules mark this result of the router with `loopback`: the workflow returns to an
    /// earlier node.
    pub loopback: bool,
}

static EMPTY_ARGS: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);

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
    /// Returns the chosen statement and the program that contains the statement. `None` if no
    /// statement was chosen.
    fn chosen_statement(&self) -> Option<(&Program, Chosen)> {
        let rules = self.segment.as_ref().unwrap_or(&self.rules);
        self.chosen.map(|chosen| (&rules.program, chosen))
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.chosen_statement().and_then(|(program, chosen)| chosen.outcome(program))
    }

    fn details_list<T>(&self, list: impl Fn(&DecisionDetails) -> &[T]) -> &[T] {
        self.details.as_deref().map_or(&[], list)
    }

    /// Returns the name of the entry (table, choice, router or flow set) that decided.
    pub fn entry(&self) -> &str {
        &self.rules.program.tables[self.entry.index()].name
    }

    /// Returns the name of the chosen statement, such as a route or a branch; `default` if the
    /// default of a table was chosen. `None` if no statement was chosen.
    pub fn chosen(&self) -> Option<&str> {
        self.chosen_statement().map(|(program, chosen)| chosen.name(program))
    }

    /// Returns the id of the chosen statement in [`Rules::program`](super::Rules::program). `None`
    /// if nothing was chosen. Also `None` for a route that an edit inserted into live rules, until
    /// the rules are recompiled in full.
    #[doc(hidden)]
    pub fn statement(&self) -> Option<Chosen> {
        self.chosen.filter(|_| self.segment.is_none())
    }

    /// True if the default of a table, or the default branch of a choice, was chosen.
    pub fn is_default(&self) -> bool {
        matches!(self.chosen_statement(), Some((_, Chosen::Default(_))))
            || matches!(self.outcome(), Some(Outcome::Branch { default: true }))
    }

    /// Returns the name of the chosen handler; `None` if the decision selects no handler.
    pub fn target(&self) -> Option<&str> {
        match self.outcome()? {
            Outcome::Handler { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns all permissions that the handler requires, as in
    /// `handler run() requires permission "execute"`. The caller that runs the handler must enforce
    /// them; this crate does not.
    pub fn required_permissions(&self) -> &[Arc<str>] {
        self.target().map_or(&[], |handler| self.permissions_required_by(handler))
    }

    /// Returns the permissions that the rules of this decision require for `handler`, which need
    /// not be the chosen handler.
    pub fn permissions_required_by(&self, handler: &str) -> &[Arc<str>] {
        self.rules.program.required_permissions(handler)
    }

    /// Returns the arguments for the chosen handler; empty if there are none.
    pub fn args(&self) -> &Map<String, Json> {
        self.details.as_deref().map_or(&*EMPTY_ARGS, |details| &details.args)
    }

    /// Returns the paths of those values in the arguments that are exact decimals. Not part of the
    /// stable API.
    #[doc(hidden)]
    pub fn exact_args(&self) -> DecimalPaths {
        let mut places = DecimalPaths::default();
        if let Some((program, chosen)) = self.chosen_statement()
            && let Some(Outcome::Handler { args, .. }) = chosen.outcome(program)
        {
            for argument in args {
                places.add_field(&argument.name, program.value(argument.value).ty.decimal_paths());
            }
        }
        places
    }

    /// Deserializes the handler's arguments into a type of the program.
    ///
    /// # Errors
    /// If the arguments do not fit the type.
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

    /// Returns the constants that the rules give after the target, as in `-> files { type:
    /// "listing" }`. Empty if there are none.
    pub fn metadata(&self) -> &Map<String, Json> {
        match self.outcome() {
            Some(Outcome::Handler { metadata, .. }) => metadata,
            _ => &EMPTY_ARGS,
        }
    }

    /// Returns the kind of the entry that decided, such as a table of routes or a choice.
    pub fn kind(&self) -> TableKind {
        self.rules.program.tables[self.entry.index()].kind
    }

    /// Returns the id of the chosen branch of a choice; `None` if no choice decided, or no branch
    /// was chosen.
    pub fn branch(&self) -> Option<&str> {
        self.chosen().filter(|_| matches!(self.outcome(), Some(Outcome::Branch { .. })))
    }

    /// True if the rules declare that the user should see the result of a choice and its reason.
    pub fn to_user(&self) -> bool {
        self.rules.program.tables[self.entry.index()].is_shown_to_user
    }

    /// Returns the flow whose pattern matched; `None` if no flow was chosen.
    pub fn flow(&self) -> Option<FlowHit<'_>> {
        let (program, chosen) = self.chosen_statement()?;
        FlowHit::from_choice(program, chosen)
    }

    /// Returns the next nodes that a router chose; `None` if no router decided, or no case matched.
    pub fn next(&self) -> Option<NextNodes<'_>> {
        match self.outcome()? {
            Outcome::Next { leads_back: loopback, .. } => Some(NextNodes {
                nodes: self.details_list(|details| &details.next_nodes),
                loopback: *loopback,
            }),
            _ => None,
        }
    }

    /// Returns the names of the tables that jumps (`goto`) led through. The first is the table in
    /// which the decision started, and the last is the table of the chosen route.
    pub fn path(&self) -> Vec<&str> {
        self.table_trail.iter().map(|table| &*self.rules.program.tables[table.index()].name).collect()
    }

    /// Returns the generation (version number) of the rules that decided; for live rules, the
    /// generation of the last edit before the decision. See
    /// [`LiveRules::generation`](super::LiveRules::generation).
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the decision with another generation (version number of the rules). Used if a merged
    /// copy of live rules decides in their place, because the decision must have the generation of
    /// the live rules.
    #[doc(hidden)]
    #[must_use]
    pub fn with_generation(self, generation: u64) -> Decision {
        Decision { generation, ..self }
    }

    /// Returns the handler's arguments for logs: values that come from `@private` fields are
    /// masked.
    pub fn masked_args(&self) -> Map<String, Json> {
        match self.chosen_statement().and_then(|(program, chosen)| Some((program, chosen.outcome(program)?)))
        {
            Some((program, outcome)) => trace::mask_args(program, outcome, self.args()),
            None => Map::new(),
        }
    }

    /// Returns `message` for logs: the values of `@private` fields are masked.
    pub fn masked_message(&self, message: &Json) -> Json {
        trace::mask_message(&self.rules.program, message)
    }

    /// Returns the conditions of the choice that were ignored for the decided message, without
    /// logging them; see [`Entry::skipped`](super::Entry::skipped). Empty if earlier messages were
    /// available to the decision as `history`, because a decision does not store them. For such a
    /// decision, call `Entry::skipped` of an entry with the same history.
    pub fn skipped(&self, message: &Json) -> Vec<SkippedCondition> {
        if self.has_past {
            return Vec::new();
        }
        self.rules.skipped_conditions(self.entry, message, PastView::default())
    }

    /// Returns the paths of the message fields whose numbers the rules read as exact decimals. Not
    /// part of the stable API.
    #[doc(hidden)]
    pub fn decimal_paths(&self) -> &DecimalPaths {
        &self.rules.decimal_paths
    }

    /// Returns the violations of the `input` declaration in the message.
    pub fn breaches(&self) -> &[InputViolation] {
        self.details_list(|details| &details.breaches)
    }

    /// Returns an error text if the message is not an object, because then nothing was decided.
    /// Otherwise `None`.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("default -> chat")?;
    /// let decision = rules.decide(&serde_json::json!(["hello"]));
    /// assert_eq!((decision.target(), decision.is_default()), (None, false));
    /// let reason = "a message must be an object, but this is of type list";
    /// assert_eq!(decision.refusal().unwrap(), reason);
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn refusal(&self) -> Option<Message> {
        let violation = self.breaches().iter().find(|violation| violation.path.is_empty())?;
        Some(message!("a message must be an object, but this is of type {}", violation.found))
    }

    /// Returns the names of required handler arguments whose values were missing; these arguments
    /// are null.
    pub fn missing_args(&self) -> impl Iterator<Item = &str> {
        self.details_list(|details| &details.missing_args).iter().map(|name| &**name)
    }

    /// Returns the host functions that failed; their results counted as missing.
    pub fn failures(&self) -> &[HostFailure] {
        self.details_list(|details| &details.failures)
    }

    /// Returns the limits that were exceeded during the decision, without duplicates. A value over
    /// a limit counted as missing.
    pub fn exceeded(&self) -> &[Exceeded] {
        self.details_list(|details| &details.exceeded)
    }

    /// Returns the reason why the history may lack messages that the rules read. Either the message
    /// has no history key, or such messages were removed before they were too old, for example by
    /// the bound `at most`. `None` if the history lacks none, or if the rules read no history.
    pub fn history_gap(&self) -> Option<HistoryGap> {
        self.details.as_deref().and_then(|details| details.history_gap)
    }

    /// Returns the time that this decision spent in functions of the embedding program.
    pub fn host_time(&self) -> Duration {
        self.details.as_deref().map_or(Duration::ZERO, |details| details.host_time)
    }
}

impl<'r> FlowHit<'r> {
    /// Returns the flow of a chosen statement; `None` if the statement is not a flow pattern.
    #[doc(hidden)]
    pub fn from_choice(program: &'r Program, chosen: Chosen) -> Option<FlowHit<'r>> {
        match chosen.outcome(program)? {
            Outcome::Flow { flow, pattern } => {
                let flow = program.flows.get(flow.index())?;
                Some(FlowHit { id: &flow.id, name: &flow.name, pattern })
            }
            _ => None,
        }
    }
}
