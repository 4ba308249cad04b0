//! Finds messages that no statement of a table matches. The *promise* of `input` is that messages
//! have the declared fields and types. A table can match all messages that keep the promise, or
//! even all messages. The two cases are reported separately, because messages may break the
//! promise.

use super::AnalysisSubject;
use super::conditions::ConditionFacts;
use super::decisions::{MAX_ROUTES_TOGETHER, selected_route, surely_chooses};
use super::goal::{SolverAnswer, SolverGoal};
use super::promise::InputRequirements;
use super::report::{AnalysisReport, format_message};
use super::solver::MessageSolver;
use hashbrown::HashMap;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::{broken_invariant, message};
use rulec_lang::value::Tri;
use rulec_sema::hir::{RuleId, TableId};
use rulec_sema::normal::CondId;
use serde_json::Value as Json;

/// The result of a search for a message that no statement matches.
pub(super) enum UnmatchedMessage {
    Message(Json),
    /// It is proven that every message matches a statement.
    None,
    Unknown,
}

impl UnmatchedMessage {
    pub fn into_message(self) -> Option<Json> {
        match self {
            UnmatchedMessage::Message(message) => Some(message),
            UnmatchedMessage::None | UnmatchedMessage::Unknown => None,
        }
    }
}

/// Reports messages that no route matches. Checks only the routes outside any `table` statement,
/// and only if they have no default. `facts` are the results of the analysis of each route's
/// condition.
pub(super) fn report_missing_default(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    subject: &AnalysisSubject<'_>,
    table: TableId,
    facts: &HashMap<RuleId, ConditionFacts>,
) {
    let declared_table = &subject.program.tables[table.index()];
    let order = &declared_table.evaluation_order;
    if table != TableId(0) || declared_table.default.is_some() || order.is_empty() {
        return;
    }
    let budget = solver.budget().clone();
    budget.begin_share();
    let is_true = |id: &RuleId, message: &Json| {
        report.evaluate(&subject.program.rules[id.index()].condition, message) == Tri::True
    };
    let decides = |id: &RuleId| surely_chooses(subject.program, &subject.program.rules[id.index()].outcome);
    let mut find = |promise: Option<&InputRequirements<'_>>| {
        let selected = |message: &Json| selected_route(&budget, subject, table, message);
        let condition_of = |id| facts.get(&id).map(|route_facts| route_facts.true_cond);
        match find_unmatched_message(solver, promise, selected, condition_of) {
            // The reference evaluator confirms that no route matches the message.
            UnmatchedMessage::Message(message)
                if order.iter().any(|id| is_true(id, &message) && decides(id)) =>
            {
                UnmatchedMessage::Unknown
            }
            gap => gap,
        }
    };
    let promise = InputRequirements::declared_by(subject.program);
    let promised = promise.as_ref().map(|promise| find(Some(promise)));
    let (message, covers_promised) = match promised {
        Some(UnmatchedMessage::Message(message)) => (Some(message), None),
        None => (find(None).into_message(), None),
        Some(other) => (find(None).into_message(), Some(matches!(other, UnmatchedMessage::None))),
    };
    // If the steps ran out, a route might match the message after all.
    if budget.is_share_exhausted() {
        return report.record_if_exhausted(order[0]);
    }
    let Some(message) = message else { return };
    let spans = order.iter().map(|id| subject.program.rules[id.index()].span);
    let Some(last) = spans.max_by_key(start_of_span) else {
        return broken_invariant!("a table without routes was left out");
    };
    let (code, text, help) = match covers_promised {
        Some(is_proven) => describe_violating_message(is_proven, &message),
        None => describe_unmatched_message(promise.is_some(), &message),
    };
    let diagnostic = Diagnostic::new(code, last, text).here(message!("the last route")).help(help);
    report.add_finding(diagnostic, Some(message));
}

/// Describes a message that no route matches. `is_promised` is true if the rules declare `input`
/// and the message has the declared fields and types. Returns the code, the text and the help of
/// the diagnostic.
fn describe_unmatched_message(is_promised: bool, message: &Json) -> (Code, Message, Message) {
    let text = match is_promised {
        true => {
            message!(
                "there is no `default`, and some messages that keep the promise of `input` match no route"
            )
        }
        false => message!("there is no `default`, and some messages match no route"),
    };
    let shown = format_message(message);
    let help = message!("write `default -> …` for the rest; for example, {} matches no route", shown);
    (Code::NoDefault, text, help)
}

/// Describes a message that no route matches and that lacks the fields or types that `input`
/// declares. `is_proven` is true if it is proven that every message with these fields and types
/// matches a route. Returns the code, the text and the help of the diagnostic.
fn describe_violating_message(is_proven: bool, message: &Json) -> (Code, Message, Message) {
    let text =
        message!("there is no `default`, and messages that break the promise of `input` match no route");
    let shown = format_message(message);
    let help = match is_proven {
        true => message!(
            "every message that keeps the promise matches a route; if other messages may come, write \
            `default -> …`: for example, {} matches no route",
            shown
        ),
        false => {
            message!(
                "if such messages may come, write `default -> …`: for example, {} matches no route",
                shown
            )
        }
    };
    (Code::NoDefaultUnpromised, text, help)
}

/// Finds a message that selects no statement. If `promise` is given, the message also has the
/// fields and types that `input` declares. `selected_rule` returns the statement that a message
/// selects, if any. If a found message selects a statement, the search is repeated for messages for
/// which the condition of this statement is not true. `condition_of` returns this condition; `None`
/// if it is not known.
pub(super) fn find_unmatched_message(
    solver: &mut MessageSolver<'_>,
    promise: Option<&InputRequirements<'_>>,
    selected_rule: impl Fn(&Json) -> Option<RuleId>,
    condition_of: impl Fn(RuleId) -> Option<CondId>,
) -> UnmatchedMessage {
    let mut goals: Vec<SolverGoal> = Vec::new();
    let mut routes = 0;
    loop {
        let message = match solver.solve(&goals) {
            SolverAnswer::Yes(message) => message,
            SolverAnswer::Never(_) => return UnmatchedMessage::None,
            SolverAnswer::Unknown => return UnmatchedMessage::Unknown,
        };
        let new_goals = match selected_rule(&message) {
            Some(id) => {
                routes += 1;
                condition_of(id).map(|cond| (cond, false)).into_iter().collect()
            }
            None => match promise.filter(|promise| !promise.is_satisfied_by(&message)) {
                None => return UnmatchedMessage::Message(message),
                Some(promise) => promise.violated_goals(solver, &message),
            },
        };
        let is_new = |goal: &SolverGoal| !goals.contains(goal);
        let new_goals: Vec<SolverGoal> = new_goals.into_iter().filter(is_new).collect();
        if new_goals.is_empty() || routes > MAX_ROUTES_TOGETHER {
            return UnmatchedMessage::Unknown;
        }
        goals.extend(new_goals);
    }
}

fn start_of_span(span: &Span) -> (u32, u32) {
    (span.file.0, span.start)
}
