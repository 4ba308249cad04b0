//! Finds conditions in the arguments of a handler that are never true for a message that selects
//! the route, as in `when count < 10 -> file_handler(many: count > 100)`.

use super::conditions::{ConditionFacts, conjuncts_of, report_never_true};
use super::goal::SolverAnswer;
use super::report::AnalysisReport;
use super::solver::MessageSolver;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::operators::Op;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Outcome, Rule};

/// Reports conditions in the arguments of a rule's handler, such as `many: count > 100`, that are
/// never true when the rule's condition holds. Reports nothing if `facts`, the results for the
/// rule's condition, say that it is never true.
pub(super) fn report_conditions_of_arguments(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    rule: &Rule,
    facts: &ConditionFacts,
) {
    let Outcome::Handler { args, .. } = &rule.outcome else { return };
    if facts.is_never_true {
        return;
    }
    let mut conditions = Vec::new();
    for argument in args {
        let value = report.program.value(argument.value);
        let start = conditions.len();
        collect_conditions(value, &mut conditions);
        // Other routes may call the same `def` with other values, so its conditions are no mistake.
        let is_written_here = |(condition, _): &(&Cond, bool)| {
            let (outer, inner) = (rule.span, condition.span);
            outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
        };
        let written_here = conditions.split_off(start).into_iter().filter(is_written_here);
        conditions.extend(written_here);
    }
    let parts = conjuncts_of(&rule.condition);
    for (condition, is_argument) in conditions {
        let goals = parts.iter().chain([&condition]);
        let goals: Vec<_> = goals.map(|part| (solver.builder.build_cond(part, true), true)).collect();
        let SolverAnswer::Never(core) = solver.solve(&goals) else { continue };
        let mut causes = core.iter().filter_map(|index| parts.get(*index)).peekable();
        if causes.peek().is_none() {
            report_never_true(solver, report, condition, None);
            continue;
        }
        let (part, route) = (report.quote_source(condition.span), &rule.name);
        let message = message!("`{part}` never holds where `{route}` is chosen");
        let diagnostic = Diagnostic::new(Code::Contradiction, condition.span, message);
        let diagnostic = causes.fold(diagnostic, |diagnostic, cause| {
            diagnostic.label(cause.span, message!("the route requires this"))
        });
        // If a field that the condition reads is missing, the condition is unknown, not false, and
        // the argument is missing.
        let is_false = solver.builder.build_cond(condition, false);
        let route = solver.builder.build_cond(&rule.condition, true);
        let mut is_never =
            |wanted: bool| solver.solve(&[(route, true), (is_false, wanted)]).is_unsatisfiable();
        let help = match is_argument {
            true if is_never(false) => {
                message!("correct one of the conditions, or write `false`: the argument is always false")
            }
            true if is_never(true) => {
                message!("correct one of the conditions, or remove the argument: it is always missing")
            }
            true => message!("correct one of the conditions"),
            false => message!("correct one of the conditions, or remove this case of the `if`"),
        };
        report.add_finding(diagnostic.help(help), None);
    }
}

/// Adds the conditions in the value of an argument to `conditions`. The bool is true for a
/// condition whose truth value is the value of the argument, and false for the condition of an
/// `if`.
fn collect_conditions<'p>(value: &'p Expr, conditions: &mut Vec<(&'p Cond, bool)>) {
    match &value.kind {
        ExprKind::Cond(condition) if has_comparison(condition) => conditions.push((condition, true)),
        ExprKind::If { cond, then_value: then, else_value: other } => {
            conditions.push((cond, false));
            collect_conditions(then, conditions);
            collect_conditions(other, conditions);
        }
        ExprKind::Op(Op::Coalesce, left, _) => collect_conditions(left, conditions),
        ExprKind::Read(inner, _) => collect_conditions(inner, conditions),
        _ => {}
    }
}

/// True for a condition with a comparison. Other conditions are not reported, even if the route's
/// condition makes them constant: a handler may need the value of a field, of a presence test or of
/// a named condition.
fn has_comparison(condition: &Cond) -> bool {
    match &condition.kind {
        CondKind::Not(inner) => has_comparison(inner),
        CondKind::And(parts) | CondKind::Or(parts) => parts.iter().any(has_comparison),
        CondKind::Predicate(test) => test.op.is_some_and(|op| !matches!(op, Op::IsMissing | Op::IsPresent)),
        CondKind::Quantifier { .. } => true,
        _ => false,
    }
}
