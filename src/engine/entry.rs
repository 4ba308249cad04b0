//! The entries of a rule set: the tables, choices, routers and flow sets by which a message can be
//! decided.

use super::backend::Backend;
use super::decision::Decision;
use super::engine_choice::EngineChoice;
use super::input::{Input, PreparedMessage};
use super::session::Session;
use super::set::{RuleSetHandle, SharedRuleSet};
use super::strategy::{Indexing, Tier};
use super::workspace::ThreadWorkspace;
use crate::history::{Past, RecordError, Store, StoreError};
use rulec_base::diag::{Message, comma_list, nearest};
use rulec_base::json::{DecimalPaths, JsonError};
use rulec_base::message;
use rulec_eval::explain::{self, Explanation};
use rulec_eval::trace::{ConditionCoverage, SkippedCondition};
use rulec_lang::history::PastView;
use rulec_sema::hir::{NEXT_FIELD, OUTPUT_FIELD, Outcome, Program, TableId, TableKind};
use rulec_vm::vm::Scratch;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Error: the rules have no entry (table, choice, router or flow set) with the requested name, or
/// the entry has no statement with the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct UnknownEntry {
    message: Message,
}

impl UnknownEntry {
    pub(super) fn new(name: &str, known: &[&str]) -> UnknownEntry {
        let message = message!(
            "there is no entry `{name}`; {}",
            known_names_hint(name, known, message!("the entries are"))
        );
        UnknownEntry { message }
    }

    /// Creates the error for the name of a route, branch or case that does not exist in a table,
    /// choice or router. `known` has the existing names, from which the error suggests one.
    pub(super) fn unknown_statement(name: &str, known: &[&str]) -> UnknownEntry {
        let message =
            message!("there is no route `{name}`; {}", known_names_hint(name, known, message!("there are")));
        UnknownEntry { message }
    }

    /// Returns the problem and a suggested fix as a localized message.
    pub fn to_message(&self) -> Message {
        self.message.clone()
    }
}

/// Returns a help text that suggests the name in `known` that is most similar to `name`. If no name
/// is similar, the text lists at most twenty names of `known`, after the words `there_are`.
fn known_names_hint(name: &str, known: &[&str], there_are: Message) -> Message {
    match (nearest(name, known.iter().copied()), known) {
        (Some(near), _) => message!("did you mean `{near}`?"),
        (None, []) => message!("the rules declare none"),
        (None, known) if known.len() > 20 => message!("{there_are} {}, …", comma_list(&known[..20])),
        (None, known) => message!("{there_are} {}", comma_list(known)),
    }
}

/// A table, choice, router or flow set that can decide for messages, together with its rule set.
#[derive(Clone, Copy)]
pub struct Entry<'r> {
    pub(crate) rules: &'r SharedRuleSet,
    pub(super) tier: Tier,
    pub(super) indexing: Indexing,
    pub(super) table: TableId,
    /// The recorded messages that rules read as `history`, oldest first. `None` without a history.
    pub(super) history: Option<&'r Past>,
}

impl<'r> Entry<'r> {
    /// Returns the name of this table, choice, router or flow set.
    pub fn name(&self) -> &'r str {
        &self.program().tables[self.table.index()].name
    }

    /// Returns the message fields whose numbers are read as exact decimals, not as floats. Not part
    /// of the stable API.
    #[doc(hidden)]
    pub fn decimal_paths(&self) -> &'r DecimalPaths {
        &self.rules.rule_set.decimal_paths
    }

    /// True if this entry (such as a table) has neither routes nor a default.
    pub fn is_empty(&self) -> bool {
        let table = &self.program().tables[self.table.index()];
        table.evaluation_order.is_empty() && table.default.is_none()
    }

    /// Returns the id of this entry in [`Rules::program`](super::Rules::program), where every entry
    /// is a table.
    #[doc(hidden)]
    pub fn id(&self) -> TableId {
        self.table
    }

    /// Returns this entry (such as a table) with the recorded messages that the rules read as
    /// `history`.
    #[must_use]
    pub fn with_history<'h>(self, history: &'h Past) -> Entry<'h>
    where
        'r: 'h,
    {
        Entry { history: Some(history), ..self }
    }

    fn earlier_messages(&self) -> PastView<'r> {
        self.history.map(Past::view).unwrap_or_default()
    }

    /// Decides a message with its history, and records the message. No other message with the same
    /// key is recorded between the decision and the recording.
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    pub fn decide_and_record(&self, store: &dyn Store, message: &Json) -> Result<Decision, RecordError> {
        let decide = |past: Past| Some(self.with_history(&past).decide(message));
        let decision = self.rules.rule_set.decide_and_insert(store, message, decide)?;
        decision.ok_or_else(|| StoreError::work_not_called_error().into())
    }

    /// Decides and records like [`Entry::decide_and_record`]. Also returns a copy of the history
    /// that the decision has read, so that an explanation can read the same history. The copy is
    /// `None` if the history has more than `max_kept` messages. Not part of the stable API.
    ///
    /// # Errors
    /// The errors of [`Rules::record`](crate::Rules::record).
    #[doc(hidden)]
    pub fn decide_record_and_keep(
        &self,
        store: &dyn Store,
        message: &Json,
        max_kept: usize,
    ) -> Result<(Decision, Option<Past>), RecordError> {
        let mut kept = None;
        let decide = |past: Past| {
            let decision = self.with_history(&past).decide(message);
            kept = (past.elements().len() <= max_kept).then(|| past.to_owned_view());
            Some(decision)
        };
        let decision = self.rules.rule_set.decide_and_insert(store, message, decide)?;
        Ok((decision.ok_or_else(StoreError::work_not_called_error)?, kept))
    }

    /// Returns the names of all handlers that this entry (such as a table) can select, also through
    /// jumps (`goto`) to other tables.
    pub fn targets(&self) -> BTreeSet<&'r str> {
        reachable_handlers(self.program(), vec![self.table])
    }

    /// Opens a session for this entry (such as a table). A session selects the engine once and
    /// keeps its own working memory, so it is the fastest way to make many decisions.
    pub fn session(&self) -> Session {
        Session::new(RuleSetHandle::new(&self.rules.rule_set), self.new_engine_choice())
    }

    /// Makes `session` decide by this entry (such as a table). Precondition: the session belongs to
    /// the same rules. The session keeps its working memory, because allocating it again would be
    /// slow.
    pub(super) fn reuse_session(&self, session: &mut Session) {
        session.set_engine_choice(self.new_engine_choice());
    }

    fn new_engine_choice(&self) -> EngineChoice {
        EngineChoice::new(self.tier, self.indexing, self.table)
    }

    /// Calls `work` with the engine for this entry (such as a table), the rules, and the working
    /// memory of the current thread. Returns the result of `work`. Used for decisions without a
    /// session.
    fn with_thread_workspace<T>(
        &self,
        work: impl FnOnce(EngineChoice, &Arc<RuleSetHandle>, &mut Scratch) -> T,
    ) -> T {
        ThreadWorkspace::with_current(|ThreadWorkspace { thread_number: thread, scratch, .. }| {
            let rules = self.rules.thread_handle(*thread);
            let Some(history) = self.history else { return work(self.new_engine_choice(), rules, scratch) };
            let mut scratch = scratch.with_history(history.clone());
            work(self.new_engine_choice(), rules, &mut scratch)
        })
    }

    /// Returns the engine that currently decides messages by this entry. `prepared` is true for
    /// messages from [`Rules::prepare`](super::Rules::prepare), false for JSON trees. Not part of
    /// the stable API.
    #[doc(hidden)]
    pub fn backend(&self, prepared: bool) -> Backend {
        self.rules.rule_set.backend(self.tier, self.indexing, self.table, !prepared)
    }

    /// Evaluates the entry (such as a table) for a message and returns the decision. A message that
    /// is not an object is refused: nothing is chosen, not even a default, and
    /// [`Decision::refusal`] says why.
    pub fn decide(&self, message: &Json) -> Decision {
        self.with_thread_workspace(|mut choice, rules, scratch| {
            choice.decide(rules, scratch, Input::Tree(message))
        })
    }

    /// Decides for a message given as JSON text. The result equals parsing with
    /// [`json::parse_object_bytes`](rulec_base::json::parse_object_bytes) and calling
    /// [`Entry::decide`]. Where possible, no JSON tree is built.
    ///
    /// # Errors
    /// The errors of `parse_object_bytes`, also for fields that no rule reads.
    pub fn decide_line(&self, text: &[u8]) -> Result<Decision, JsonError> {
        self.with_thread_workspace(|mut choice, rules, scratch| choice.decide_line(rules, scratch, text))
    }

    /// Decides for any value that serializes to a JSON object. The result equals
    /// `serde_json::to_value` followed by [`Entry::decide`]. Where possible, no JSON tree is built.
    /// If a JSON tree is needed after all, the value is serialized a second time.
    ///
    /// # Errors
    /// If the value cannot be represented as JSON, or is not an object.
    pub fn decide_value<T: Serialize>(&self, message: &T) -> Result<Decision, serde_json::Error> {
        self.decide_value_without_lock(message, |decide| decide())
    }

    /// Like [`Entry::decide_value`], for a caller that must hold a lock while the value is read.
    /// After the value is read, `without_lock` receives a closure that decides. `without_lock` must
    /// release the lock and run the closure. Not part of the stable API.
    #[doc(hidden)]
    pub fn decide_value_without_lock<T: Serialize>(
        &self,
        message: &T,
        without_lock: impl Fn(&mut (dyn FnMut() + Send)),
    ) -> Result<Decision, serde_json::Error> {
        self.with_thread_workspace(|mut choice, rules, scratch| {
            choice.decide_value(rules, scratch, message, without_lock)
        })
    }

    /// Decides for a message that [`Rules::prepare`](super::Rules::prepare) has read. If other
    /// rules prepared the message, the message is read again.
    pub fn decide_prepared(&self, message: &PreparedMessage<'_>) -> Decision {
        self.with_thread_workspace(|mut choice, rules, scratch| {
            choice.decide_prepared(rules, scratch, message)
        })
    }

    /// Uses this entry, a router, to decide which nodes receive the output of a workflow node.
    /// `next` lists the ids of the node's next nodes.
    pub fn decide_output(&self, output: &Json, next: &[&str]) -> Decision {
        self.decide(&json!({ OUTPUT_FIELD: output, NEXT_FIELD: next }))
    }

    /// Returns the names of all routes of the entry (such as a table) whose conditions hold, in
    /// evaluation order. A jump (`goto`) is listed if its own condition holds; the routes of its
    /// target are not listed.
    pub fn matched(&self, message: &Json) -> Vec<&'r str> {
        let ids = self.with_thread_workspace(|mut choice, rules, scratch| {
            choice.matching_rules(rules, scratch, Input::Tree(message))
        });
        ids.into_iter().map(|id| &*self.program().rules[id.index()].name).collect()
    }

    fn program(&self) -> &'r Program {
        &self.rules.rule_set.program
    }

    /// Returns whether the entry is a table of routes, a choice, a router or a flow set.
    pub fn kind(&self) -> TableKind {
        self.program().tables[self.table.index()].kind
    }

    /// Returns the conditions of a choice that are ignored for this message, because a value that
    /// they need is missing or of another type. The order is branch by branch, as in the source.
    /// Empty if the entry is not a choice. Each condition is also logged as a `tracing` warning
    /// with the target `rulec::choice`.
    pub fn skipped(&self, message: &Json) -> Vec<SkippedCondition> {
        let skipped = self.rules.rule_set.skipped_conditions(self.table, message, self.earlier_messages());
        for SkippedCondition { branch, condition, reason, .. } in &skipped {
            tracing::warn!(target: "rulec::choice", choice = self.name(), branch, condition, reason = reason.as_str(), "skipped");
        }
        skipped
    }

    /// Returns the handlers that a decision could select if the caller added fields that the
    /// message lacks. These are the handlers of routes whose condition is true or unknown, up to
    /// the first route whose condition is true. A jump (`goto`) counts as all handlers of the table
    /// to which it leads. The names are sorted, without duplicates.
    pub fn possible(&self, message: &Json) -> Vec<&'r str> {
        if !message.is_object() {
            return Vec::new();
        }
        let possible_choices =
            self.rules.rule_set.with_evaluator(message, self.earlier_messages(), |mut evaluator| {
                evaluator.possible_choices(self.table)
            });
        let handlers =
            possible_choices.into_iter().filter_map(|chosen| match chosen.outcome(self.program()) {
                Some(Outcome::Handler { name, .. }) => Some(&**name),
                _ => None,
            });
        handlers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Explains the decision for a message. Fields marked `@private` are masked unless
    /// `show_private`.
    pub fn explain(&self, message: &Json, show_private: bool) -> Explanation {
        let set = &self.rules.rule_set;
        self.rules.rule_set.with_evaluator(message, self.earlier_messages(), |evaluator| {
            explain::explain(evaluator, self.table, &set.sources, show_private)
        })
    }

    /// Decides for a message with the reference evaluator, only to measure coverage: adds the
    /// result of every evaluated condition to `coverage`. This includes conditions inside computed
    /// arguments.
    #[doc(hidden)]
    pub fn count_conditions(&self, message: &Json, coverage: &mut ConditionCoverage) {
        self.rules.rule_set.with_evaluator(message, self.earlier_messages(), |evaluator| {
            coverage.count_decision(evaluator, self.table)
        });
    }
}

/// Returns the names of all handlers that decisions by the tables in `pending` can select. These
/// include the handlers of tables that are reached through jumps (`goto`).
pub(super) fn reachable_handlers(program: &Program, mut pending: Vec<TableId>) -> BTreeSet<&str> {
    let (mut targets, mut seen) = (BTreeSet::new(), BTreeSet::new());
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let table = &program.tables[id.index()];
        let routes = table.evaluation_order.iter().map(|route| &program.rules[route.index()]);
        let outcomes = routes.filter(|route| !route.is_disabled).map(|route| &route.outcome);
        for outcome in outcomes.chain(&table.default) {
            match outcome {
                Outcome::Handler { name, .. } => drop(targets.insert(&**name)),
                Outcome::Goto(inner) => pending.push(*inner),
                _ => {}
            }
        }
    }
    targets
}
