//! The tables of a rule set, to decide by one message at a time.

use super::How;
use super::backend::{Backend, Backends};
use super::decision::Decision;
use super::input::{Input, Record};
use super::session::{Call, Session};
use super::set::{Handle, Shared};
use super::workspace;
use rulec_base::diag::{Message, listed, nearest};
use rulec_base::json::JsonError;
use rulec_base::message;
use rulec_eval::explain::{self, Explanation};
use rulec_eval::trace::{SkippedCondition, Tracer, Truths};
use rulec_sema::hir::{Outcome, Program, TableId, TableKind};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// There is no entry of that name, or no statement of that name in an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct UnknownEntry {
    words: Message,
}

impl UnknownEntry {
    pub(super) fn new(name: &str, known: &[&str]) -> UnknownEntry {
        let words =
            message!("there is no entry `{name}`; {}", hint(name, known, message!("the entries are")));
        UnknownEntry { words }
    }

    /// That an entry has no statement of that name.
    pub(super) fn statement(name: &str, known: &[&str]) -> UnknownEntry {
        let words = message!("there is no route `{name}`; {}", hint(name, known, message!("there are")));
        UnknownEntry { words }
    }

    /// The mistake and the remedy, which each language has its own words for.
    pub fn in_words(&self) -> &Message {
        &self.words
    }
}

/// The name that is near, or those there are.
fn hint(name: &str, known: &[&str], there_are: Message) -> Message {
    match (nearest(name, known.iter().copied()), known) {
        (Some(near), _) => message!("did you mean `{near}`?"),
        (None, []) => message!("there are none of its kind"),
        (None, known) if known.len() > 20 => message!("{there_are} {}, …", listed(&known[..20])),
        (None, known) => message!("{there_are} {}", listed(known)),
    }
}

/// A table of a rule set, to decide by.
#[derive(Clone, Copy)]
pub struct Entry<'r> {
    pub(super) rules: &'r Shared,
    pub(super) how: How,
    pub(super) table: TableId,
}

impl<'r> Entry<'r> {
    /// Its name.
    pub fn name(&self) -> &'r str {
        &self.program().tables[self.table.index()].name
    }

    /// Returns true when it holds nothing that could be chosen.
    pub fn is_empty(&self) -> bool {
        let table = &self.program().tables[self.table.index()];
        table.order.is_empty() && table.default.is_none()
    }

    /// Its table's number, in [`Rules::program`](super::Rules::program).
    pub fn id(&self) -> TableId {
        self.table
    }

    /// The names of all handlers a decision by this entry may lead to, jumps followed.
    pub fn targets(&self) -> BTreeSet<&'r str> {
        targets(self.program(), vec![self.table])
    }

    /// Opens a session, which decides without looking anything up but the message.
    pub fn session(&self) -> Session {
        Session::new(Handle::new(&self.rules.set), Backends::new(self.how, self.table))
    }

    /// Has work done with this thread's workspace.
    fn call<T>(&self, work: impl FnOnce(Call<'_>) -> T) -> T {
        workspace::with_thread(|workspace, thread| {
            let backends = &mut Backends::new(self.how, self.table);
            work(Call { rules: self.rules.owner(thread), backends, workspace })
        })
    }

    /// The engine that decides by this entry now: for a record when `prepared`, else for a message; unstable.
    #[doc(hidden)]
    pub fn backend(&self, prepared: bool) -> Backend {
        self.rules.set.backend(self.how, self.table, !prepared)
    }

    /// Decides for a message.
    pub fn decide(&self, message: &Json) -> Decision {
        self.call(|call| call.decide(Input::Tree(message)))
    }

    /// Decides for a message as JSON text: what [`Entry::decide`] decides for the object that
    /// [`json::parse_object_bytes`](rulec_base::json::parse_object_bytes) reads, without building it where
    /// that can be.
    ///
    /// # Errors
    /// Those of `parse_object_bytes`, for fields that no rule reads as well.
    pub fn decide_line(&self, text: &[u8]) -> Result<Decision, JsonError> {
        self.call(|call| call.decide_line(text))
    }

    /// Decides for any value that serializes to an object: what [`Entry::decide`] decides for
    /// `serde_json::to_value` of it, without building that where it can be. The value may be
    /// serialized twice.
    ///
    /// # Errors
    /// When the value cannot be represented as JSON.
    pub fn decide_value<T: Serialize>(&self, message: &T) -> Result<Decision, serde_json::Error> {
        self.call(|call| call.decide_value(message, |decide| decide()))
    }

    /// The same for an embedding whose values can be read only under a lock: `apart` is given the rest of the work once
    /// the value has been read, and runs it without the lock. Unstable.
    #[doc(hidden)]
    pub fn decide_value_apart<T: Serialize>(
        &self,
        message: &T,
        apart: impl Fn(&mut (dyn FnMut() + Send)),
    ) -> Result<Decision, serde_json::Error> {
        self.call(|call| call.decide_value(message, apart))
    }

    /// Decides for a message prepared by the same rules; one prepared by others is resolved anew.
    pub fn decide_record(&self, record: &Record<'_>) -> Decision {
        self.call(|call| call.decide_record(record))
    }

    /// The names of all routes of the entry that hold, in the order they are tried. A jump counts
    /// by its own condition.
    pub fn matched(&self, message: &Json) -> Vec<&'r str> {
        let ids = self.call(|call| call.matched(message));
        ids.into_iter().map(|id| &*self.program().rules[id.index()].name).collect()
    }

    fn program(&self) -> &'r Program {
        &self.rules.set.program
    }

    /// The kind of statement it is.
    pub fn kind(&self) -> TableKind {
        self.program().tables[self.table.index()].kind
    }

    /// The conditions of a choice that cannot be used for this message and are left out, branch by
    /// branch in the order of the rules. Empty for what is no choice. Each is also a warning of `tracing`, under the
    /// target `rulec::choice`.
    pub fn skipped(&self, message: &Json) -> Vec<SkippedCondition> {
        if self.kind() != TableKind::Choice {
            return Vec::new();
        }
        let set = &self.rules.set;
        let skipped =
            set.refer(message, |evaluator| Tracer::new(evaluator, &set.sources, false).skipped(self.table));
        for SkippedCondition { branch, condition, reason, .. } in &skipped {
            tracing::warn!(target: "rulec::choice", choice = self.name(), branch, condition, reason = reason.as_str(), "skipped");
        }
        skipped
    }

    /// The targets a decision may still lead to, given what is known of the message: those of routes
    /// that hold or whose condition is unknown, up to the first that surely holds. A jump counts as
    /// all that its table may lead to. Sorted, each once.
    pub fn possible(&self, message: &Json) -> Vec<&'r str> {
        let possible = self.rules.set.refer(message, |mut evaluator| evaluator.possible(self.table));
        let names = possible.into_iter().filter_map(|chosen| match chosen.outcome(self.program()) {
            Some(Outcome::Handler { name, .. }) => Some(&**name),
            _ => None,
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Explains how the decision comes about. Fields marked `@private` are masked unless `show_private`.
    pub fn explain(&self, message: &Json, show_private: bool) -> Explanation {
        let set = &self.rules.set;
        set.refer(message, |evaluator| explain::explain(evaluator, self.table, &set.sources, show_private))
    }

    /// Adds the results of all conditions that the decision asks, and of those in what it computes.
    #[doc(hidden)]
    pub fn count(&self, message: &Json, truths: &mut Truths) {
        self.rules.set.refer(message, |evaluator| truths.see_decision(evaluator, self.table));
    }
}

/// The names of all handlers that some tables may lead to, jumps followed.
pub(super) fn targets(program: &Program, mut open: Vec<TableId>) -> BTreeSet<&str> {
    let (mut targets, mut seen) = (BTreeSet::new(), BTreeSet::new());
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
