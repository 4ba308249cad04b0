//! Traces: every step of a decision as data, recorded while the reference evaluator decides.
//! Tracing does not change the decision. To explain missing values, the tracer evaluates further
//! expressions.
//!
//! - `trace/record.rs` observes the evaluator and assembles tables and routes.
//! - `trace/cond.rs` builds the nodes of conditions.
//! - `trace/bound.rs` quotes the bodies of `def`s.
//! - `trace/operand.rs` lists values and explains why a value is missing.
//! - `trace/private.rs` masks private values.
//! - `trace/truths.rs` counts results over many decisions.

mod bound;
mod cond;
mod data;
mod operand;
mod private;
mod quote;
mod record;
mod recorded;
mod request;
#[cfg(test)]
mod tests;
mod truths;
mod wording;

pub use data::{
    DefaultTrace, ElementTrace, Elements, HostFailed, Mark, NodeKind, Note, Operand, PastMessage, PastTrace,
    RouteTrace, SkippedCondition, TableTrace, TraceNode,
};
pub use private::{MASK, mask_args, mask_message};
pub use quote::{Location, SpanLookup};
pub use truths::{ConditionCoverage, ResultCounts};

use crate::decision::Choice;
use crate::evaluator::Evaluator;
use private::PrivacyMask;
use record::{TraceRecorder, TracedEvaluator};
use rulec_base::message;
use rulec_sema::hir::{BindingRoot, CondKind, RuleId, TableId};
use serde_json::{Map, Value as Json};

/// A reference evaluator that records every step of a decision, as the data of an explanation.
pub struct Tracer<'a, 's> {
    evaluator: TracedEvaluator<'a, 's>,
}

impl<'a, 's> Tracer<'a, 's> {
    /// Returns a tracer over this evaluator. `source` gives the texts of the rules that the trace
    /// quotes. Private values are masked unless `show_private`.
    pub fn new(eval: Evaluator<'a>, source: &'s dyn SpanLookup, show_private: bool) -> Self {
        let privacy = PrivacyMask::new(eval.program(), show_private);
        Tracer { evaluator: eval.observed_by(TraceRecorder::new(source, privacy)) }
    }

    /// Returns this tracer with all named values of payload rules masked. Changes nothing if
    /// private values are shown.
    #[must_use]
    pub fn hiding_bindings(mut self) -> Self {
        self.evaluator.observer.privacy.hide_bindings();
        self
    }

    /// Decides the message by the table `entry`. Returns the choice and the trace of the search.
    pub fn decide(&mut self, entry: TableId) -> (Choice, TableTrace) {
        let choice = self.evaluator.decide(entry);
        (choice, self.evaluator.observer.frame.table_trace.take().unwrap_or_default())
    }

    /// Returns the conditions of the choice `table` that are skipped for this message, because a
    /// value that they read is missing.
    pub fn skipped_conditions(&mut self, table: TableId) -> Vec<SkippedCondition> {
        let program = self.evaluator.program();
        let mut skipped = Vec::new();
        for rule in
            program.tables[table.index()].evaluation_order.iter().rev().map(|id| &program.rules[id.index()])
        {
            let CondKind::Branch { conditions, .. } = &rule.condition.kind else { continue };
            for condition in conditions {
                if !self.evaluator.reads_only_present_values(condition) {
                    let node = self.evaluator.build_left_out_node(condition);
                    skipped.push(SkippedCondition {
                        branch: rule.name.to_string(),
                        condition: node.text,
                        reason: node
                            .because
                            .iter()
                            .cloned()
                            .reduce(|all, one| message!("{all}; {one}"))
                            .unwrap_or_default(),
                    });
                }
            }
        }
        skipped
    }

    /// Evaluates only the condition of a rule, and returns the trace of the condition.
    pub fn trace_rule(&mut self, id: RuleId) -> TraceNode {
        let condition = &self.evaluator.program().rules[id.index()].condition;
        self.evaluator.eval_cond(condition);
        match self.evaluator.observer.frame.conds.pop() {
            Some((_, node)) => node,
            None => self.evaluator.build_skipped_node(condition),
        }
    }

    /// Returns the chosen handler's arguments with private values masked. Also returns the names of
    /// the required arguments that are missing.
    pub fn masked_arguments(&mut self, choice: &Choice) -> (Map<String, Json>, Vec<String>) {
        let program = self.evaluator.program();
        let Some(outcome) = choice.chosen.and_then(|chosen| chosen.outcome(program)) else {
            return Default::default();
        };
        let (args, missing) = self.evaluator.eval_arguments(outcome);
        let args = self.evaluator.observer.privacy.mask_arguments(outcome, &args);
        (args, missing.iter().map(ToString::to_string).collect())
    }

    /// Returns the message fields that the decision read, with their values, in the order of the
    /// first read.
    pub fn read_message_fields(&self) -> Vec<Operand> {
        let (program, recorder) = (self.evaluator.program(), &self.evaluator.observer);
        let mut fields: Vec<Operand> = Vec::new();
        for &id in &recorder.read_slots {
            let slot = &program.slots[id.index()];
            // The elements of the history that decide are shown with their quantifiers.
            let is_history = slot.root.as_ref().is_some_and(BindingRoot::is_history);
            if !is_history && !fields.iter().any(|field| field.text == slot.name()) {
                fields.push(recorder.privacy.raw_field_as_operand(slot, self.evaluator.raw_slot_value(id)));
            }
        }
        fields
    }

    /// Returns the host functions that failed. An error text that may contain a private value is
    /// masked.
    pub fn masked_host_failures(&self) -> Vec<HostFailed> {
        let failures = self.evaluator.host_calls.failures().iter().enumerate();
        failures
            .map(|(position, failure)| HostFailed {
                function: failure.function.to_string(),
                message: match self.evaluator.observer.failure_is_private.get(position) {
                    Some(false) => failure.message.clone(),
                    _ => MASK.to_owned(),
                },
            })
            .collect()
    }
}
