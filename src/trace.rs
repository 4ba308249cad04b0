//! Tracing a decision: the typed program is evaluated as the author wrote it, and every step is
//! kept as plain data: what was asked, what came out, the values it was asked of, what was missing.
//! This module walks tables and routes; `trace/cond.rs` conditions, `trace/operand.rs` values and
//! why they are missing, `trace/private.rs` what must not be shown.
//!
//! A trace always comes to the choice of [`crate::eval::Evaluator::decide`]; tests assert it.

mod cond;
mod data;
mod operand;
mod private;
mod quote;
mod request;
#[cfg(test)]
mod tests;

pub use data::{
    DefaultTrace, ElementTrace, Elements, HostFailed, Mark, NodeKind, Note, Operand, RouteTrace,
    SkippedCondition, TableTrace, TraceNode,
};
pub use private::{MASK, masked_args, masked_message};
pub use quote::{Place, Source};

use crate::decision::{Choice, Chosen};
use crate::eval::Evaluator;
use crate::sema::hir::{CondKind, LetId, Outcome, Program, RuleId, SlotId, TableId, VarId};
use crate::value::{Tri, Value};
use private::Privacy;
use serde_json::{Map, Value as Json};
use smallvec::SmallVec;

/// A decision with everything that led to it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was chosen.
    pub choice: Choice,
    /// The search of the entry's table.
    pub table: TableTrace,
    /// The chosen handler's arguments; private ones are masked.
    pub args: Map<String, Json>,
    /// The required arguments that are missing.
    pub missing_args: Vec<String>,
    /// The fields that were read, in the order they were first read.
    pub message: Vec<Operand>,
    /// The host functions that failed.
    pub host_failures: Vec<HostFailed>,
}

/// Traces decisions; wraps the evaluator whose answers it explains.
pub struct Tracer<'a, 's> {
    pub(crate) eval: Evaluator<'a>,
    source: &'s dyn Source,
    privacy: Privacy<'a>,
    /// The slots read so far, in order.
    slots: Vec<SlotId>,
    /// The elements in scope as they stand in the list, before the typed read.
    raw_vars: Vec<(VarId, Value<'a>)>,
    /// The `let`s whose parts have been shown under the route at hand.
    shown: Vec<LetId>,
    /// For each failed call so far, whether its text may hold a private value.
    private_failures: Vec<bool>,
}

impl<'a, 's> Tracer<'a, 's> {
    /// A tracer over this evaluator. Private values are masked unless `show_private`.
    pub fn new(eval: Evaluator<'a>, source: &'s dyn Source, show_private: bool) -> Self {
        let privacy = Privacy::new(eval.program(), show_private);
        Tracer {
            eval,
            source,
            privacy,
            slots: Vec::new(),
            raw_vars: Vec::new(),
            shown: Vec::new(),
            private_failures: Vec::new(),
        }
    }

    /// Decides by a table and tells how.
    pub fn decide(&mut self, entry: TableId) -> Trace {
        let mut path = SmallVec::new();
        let mut searched = vec![false; self.program().tables.len()];
        let (table, chosen) = self.table(entry, &mut path, &mut searched);
        let choice = match chosen {
            Some(_) => Choice { chosen, path },
            None => Choice::nothing(),
        };
        let (args, missing_args) = self.arguments(&choice);
        Trace {
            choice,
            table,
            args,
            missing_args,
            message: self.message(),
            host_failures: self.host_failures(),
        }
    }

    /// The conditions of a choice that cannot be used for this message.
    pub fn skipped(&mut self, table: TableId) -> Vec<SkippedCondition> {
        let program = self.program();
        let mut skipped = Vec::new();
        for rule in program.tables[table.index()].order.iter().rev().map(|id| &program.rules[id.index()]) {
            let CondKind::Branch { conditions, .. } = &rule.condition.kind else { continue };
            for condition in conditions {
                if !self.eval.cond(&condition.usable).holds() {
                    skipped.push(SkippedCondition {
                        branch: rule.name.to_string(),
                        condition: self.text(condition.cond.span),
                        reason: self.missing_reads(&condition.usable, &mut Vec::new()).join("; "),
                    });
                }
            }
        }
        skipped
    }

    /// A rule's condition, on its own.
    pub fn rule(&mut self, id: RuleId) -> TraceNode {
        self.shown.clear();
        self.cond(&self.program().rules[id.index()].condition).0
    }

    /// The chosen handler's arguments as they may be shown, and the required ones that are missing.
    fn arguments(&mut self, choice: &Choice) -> (Map<String, Json>, Vec<String>) {
        let (mut given, mut missing) = (Map::new(), Vec::new());
        let program = self.program();
        let outcome = choice.chosen.and_then(|chosen| chosen.outcome(program));
        if let Some(Outcome::Handler { args, .. }) = outcome {
            for argument in args {
                let expr = program.value(argument.value);
                let value = self.operand(expr, &mut Vec::new());
                if value.is_missing() {
                    if argument.optional {
                        continue;
                    }
                    missing.push(argument.name.to_string());
                }
                given.insert(argument.name.to_string(), self.privacy.argument(value, expr));
            }
        }
        (given, missing)
    }

    /// Notes for the calls that failed since the last time whether they may have seen a private value.
    fn mark_failures(&mut self, private: bool) {
        self.private_failures.resize(self.eval.hosts.failures.len(), private && !self.privacy.show);
    }

    pub(crate) fn program(&self) -> &'a Program {
        self.eval.program()
    }

    fn table(
        &mut self,
        id: TableId,
        path: &mut SmallVec<[RuleId; 4]>,
        searched: &mut [bool],
    ) -> (TableTrace, Option<Chosen>) {
        let program = self.program();
        let table = &program.tables[id.index()];
        let mut trace =
            TableTrace { table: table.name.to_string(), kind: table.kind, ..TableTrace::default() };
        if std::mem::replace(&mut searched[id.index()], true) {
            trace.searched_before = true;
            return (trace, None);
        }
        trace.disabled = program
            .rules
            .iter()
            .filter(|route| route.disabled && route.table == id)
            .map(|route| route.name.to_string())
            .collect();
        let mut chosen = None;
        for &route in table.order.iter().filter(|route| !program.rules[route.index()].disabled) {
            if chosen.is_some() {
                trace.not_tried += 1;
                continue;
            }
            let (tried, found) = self.route(route, path, searched);
            trace.routes.push(tried);
            chosen = found;
        }
        if let Some(outcome) = &table.default {
            let mut default =
                DefaultTrace { result: Mark::Skipped, to: target(program, outcome), table: None };
            if chosen.is_none() {
                default.result = Mark::True;
                match outcome {
                    Outcome::Goto(inner) => {
                        let (inner, found) = self.table(*inner, path, searched);
                        default.table = Some(Box::new(inner));
                        chosen = found;
                    }
                    _ => chosen = Some(Chosen::Default(id)),
                }
            }
            trace.default = Some(default);
        }
        trace.chose = chosen.is_some();
        (trace, chosen)
    }

    fn route(
        &mut self,
        id: RuleId,
        path: &mut SmallVec<[RuleId; 4]>,
        searched: &mut [bool],
    ) -> (RouteTrace, Option<Chosen>) {
        let program = self.program();
        let route = &program.rules[id.index()];
        self.shown.clear();
        let (when, result) = self.cond(&route.condition);
        let mut trace = RouteTrace {
            route: route.name.to_string(),
            result: result.into(),
            chosen: false,
            priority: route.priority,
            docs: route.docs.to_string(),
            place: self.source.place(route.span),
            to: target(program, &route.outcome),
            when,
            table: None,
        };
        let mut chosen = None;
        if result == Tri::True {
            match route.outcome {
                Outcome::Goto(inner) => {
                    path.push(id);
                    let (inner, found) = self.table(inner, path, searched);
                    if found.is_none() {
                        path.pop();
                    }
                    trace.table = Some(Box::new(inner));
                    chosen = found;
                }
                _ => chosen = Some(Chosen::Rule(id)),
            }
        }
        trace.chosen = chosen.is_some();
        (trace, chosen)
    }

    /// The fields read, as they stand in the message.
    fn message(&self) -> Vec<Operand> {
        let program = self.program();
        let mut fields: Vec<Operand> = Vec::new();
        for slot in self.slots.iter().map(|id| &program.slots[id.index()]) {
            let name = slot.name();
            if fields.iter().any(|field| field.text == name) {
                continue;
            }
            fields.push(self.privacy.raw_field(slot, self.eval.message()));
        }
        fields
    }

    /// The failed calls; a text that may hold a private value is masked.
    fn host_failures(&self) -> Vec<HostFailed> {
        let failures = self.eval.hosts.failures.iter().enumerate();
        failures
            .map(|(position, failure)| HostFailed {
                function: failure.function.to_string(),
                message: match self.private_failures.get(position) {
                    Some(false) => failure.message.clone(),
                    _ => MASK.to_owned(),
                },
            })
            .collect()
    }
}

/// `file_handler`, `goto billing`
fn target(program: &Program, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Handler { name, .. } => name.to_string(),
        Outcome::Goto(id) => format!("goto {}", program.tables[id.index()].name),
        Outcome::Branch { .. } => String::new(),
        Outcome::Flow { flow, pattern } => format!("{} ({pattern:?})", program.flows[flow.index()].id),
        Outcome::Next { destinations, loopback, .. } => {
            let to: Vec<String> = destinations.iter().map(ToString::to_string).collect();
            format!("{}{}", to.join(", "), if *loopback { " loopback" } else { "" })
        }
    }
}
