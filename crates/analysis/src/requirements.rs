//! Finds rules of payloads whose conditions have parts that never hold together.

use super::conditions::{conjuncts_of, contradicting_parts, contradiction_diagnostic};
use super::report::AnalysisReport;
use super::solver::MessageSolver;
use rulec_base::diag::Code;
use rulec_base::span::Span;
use rulec_sema::hir::{Cond, CondKind};

/// Reports rules of payloads with a condition whose parts never hold together, for example
/// `len(items) == 0 and any i in items: …`. Other constant conditions of payloads are not reported,
/// because the declared types of the fields may make a condition constant.
pub(super) fn report_contradictions(solver: &mut MessageSolver<'_>, report: &mut AnalysisReport<'_>) {
    let program = report.program;
    for requirement in &program.requirements {
        if requirement.is_from_field || requirement.must_compile {
            continue;
        }
        let rule = &program.rules[requirement.rule.index()];
        solver.budget().begin_share();
        let condition: &Cond = &rule.condition;
        let conds: Vec<&Cond> = match &condition.kind {
            CondKind::And(parts) => std::iter::once(condition).chain(parts).collect(),
            _ => vec![condition],
        };
        for cond in conds {
            // The condition of a `require` is negated.
            let written = match &cond.kind {
                CondKind::Not(inner) => inner,
                _ => cond,
            };
            if conjuncts_of(written).len() > 1 && report_contradiction(solver, report, written) {
                break;
            }
        }
    }
}

/// Reports the parts of a condition that never hold together. Returns whether there are any.
fn report_contradiction(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    cond: &Cond,
) -> bool {
    let goal = (solver.builder.build_cond(cond, true), true);
    if !solver.solve(&[goal]).is_unsatisfiable() {
        return false;
    }
    let parts = contradicting_parts(solver, cond);
    // The compiler adds tests of declared types as parts. Their spans lie within the parts that the
    // author wrote.
    let spans: Vec<Span> = parts.iter().map(|part| part.span).collect();
    let is_apart = |index: usize| {
        let others = spans.iter().enumerate().filter(|(other, _)| *other != index);
        others
            .map(|(_, other)| other)
            .all(|other| other.end <= spans[index].start || spans[index].end <= other.start)
    };
    let is_negated = |part: &&Cond| matches!(&part.kind, CondKind::Not(inner) if inner.span == part.span);
    if parts.len() < 2 || parts.iter().any(is_negated) || !(0..parts.len()).all(is_apart) {
        return false;
    }
    let diagnostic = contradiction_diagnostic(report, &parts);
    // A rule of a group is compiled again for each payload that includes the group, but is reported
    // only once.
    let is_reported = report.findings.iter().any(|finding| {
        finding.diagnostic.code == Code::Contradiction && finding.diagnostic.span() == diagnostic.span()
    });
    if !is_reported {
        report.add_finding(diagnostic, None);
    }
    true
}
