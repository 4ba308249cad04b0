//! Runs the engine on messages that the analysis found, and counts the estimated work against the
//! step limit of the analysis.

use super::AnalysisSubject;
use super::budget::StepBudget;
use rulec_sema::hir::{Outcome, Program, RuleId, TableId};
use serde_json::Value as Json;

/// Maximum number of routes that one solver query combines, for example the routes that together
/// hide another route.
pub(super) const MAX_ROUTES_TOGETHER: usize = 40;
/// Number of steps that are charged for any decision, in addition to the steps for its rules and
/// fields.
const STEPS_PER_DECISION: usize = 50;
/// Number of rules in a table that are charged as one step. The number is high because the index
/// excludes most rules.
const RULES_PER_STEP: usize = 64;

/// Number of message fields that are charged as one step.
const FIELDS_PER_STEP: usize = 64;
/// Assumed time of a step, with which the estimated cost of a decision is converted from
/// nanoseconds to steps.
const NANOSECONDS_PER_STEP: f64 = 20.0;

/// Returns the route of a table that a message selects. `None` if the message selects no route, or
/// if too few steps are left. If the route is a `goto`, the final decision may come from another
/// table.
pub(super) fn selected_route(
    budget: &StepBudget,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    message: &Json,
) -> Option<RuleId> {
    if !budget.charge(steps_per_decision(subject, table)) {
        return None;
    }
    let choice = (subject.decide)(table, message);
    let first = choice.path.first().copied();
    first.or(match choice.chosen {
        Some(rulec_eval::decision::Chosen::Rule(id)) => Some(id),
        _ => None,
    })
}

/// Returns the number of steps that are charged for a decision by a table.
pub(super) fn steps_per_decision(subject: &AnalysisSubject<'_>, table: TableId) -> usize {
    let program = subject.program;
    let rules = program.tables[table.index()].evaluation_order.len();
    let evaluation = (subject.decision_cost)(table) / NANOSECONDS_PER_STEP;
    let fields = program.slots.len() / FIELDS_PER_STEP;
    STEPS_PER_DECISION + rules / RULES_PER_STEP + fields + evaluation as usize
}

/// True if a message that matches a statement with this outcome always gets a decision from this
/// statement. False for a `goto` to a table without a default: if nothing in that table matches,
/// the statements after the `goto` are tried.
pub(super) fn surely_chooses(program: &Program, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Goto(table) => program.tables[table.index()]
            .default
            .as_ref()
            .is_some_and(|outcome| surely_chooses(program, outcome)),
        _ => true,
    }
}
