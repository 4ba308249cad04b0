//! Finds negated conditions on optional fields. If the field is missing, neither the condition nor
//! its negation is true, which surprises authors who expect two-valued logic.

use super::conditions::{CondReplacements, ConditionFacts, build_with_replacements};
use super::goal::SolverAnswer;
use super::report::{AnalysisReport, format_message};
use super::solver::MessageSolver;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, RecordType, Ty};
use rulec_lang::value::Tri;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, Part, Predicate, Program, Rule, SlotId};

/// Reports the rule if a negated condition reads an optional field, and some message without this
/// field fails to match for that reason only.
pub(super) fn report_missing_in_negations(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    rule: &Rule,
    facts: &ConditionFacts,
) {
    let Some(record) = &report.program.input else { return };
    if facts.is_never_true || facts.is_always_true {
        return;
    }
    let mut negations: Vec<&Cond> = Vec::new();
    collect_negated(&rule.condition, true, &mut negations);
    for negation in negations {
        let reads = report.program.field_reads(cond_part(negation));
        if !solver.budget().charge(reads.len()) {
            return;
        }
        for (slot, read_span) in reads {
            let field = &report.program.slots[slot.index()];
            if field.root.is_none()
                && is_optional_field(record, &field.path)
                && report_missing_field(solver, report, rule, facts, (negation, slot, read_span))
            {
                return;
            }
        }
    }
}

/// Reports a branch of a `choice` if some message selects the branch although one of its conditions
/// was skipped. A condition is skipped if a field that the condition reads is missing.
pub(super) fn report_skipped_conditions(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    rule: &Rule,
    facts: &ConditionFacts,
) {
    let Some(record) = &report.program.input else { return };
    let CondKind::Branch { requires_all: true, conditions } = &rule.condition.kind else { return };
    if facts.is_never_true || facts.is_always_true || conditions.len() < 2 {
        return;
    }
    for part in conditions {
        let slots = fields_read(report.program, &part.presence_condition);
        let may_be_missing = |slot: &&SlotId| {
            let slot = &report.program.slots[slot.index()];
            is_optional_field(record, &slot.path) || is_read_as_other_type(record, &slot.path, slot.kinds)
        };
        let Some(slot) = slots.iter().find(may_be_missing) else { continue };
        let usable = solver.builder.build_cond(&part.presence_condition, true);
        let SolverAnswer::Yes(message) = solver.solve(&[(facts.true_cond, true), (usable, false)]) else {
            continue;
        };
        if report.evaluate(&rule.condition, &message) != Tri::True
            || report.evaluate(&part.presence_condition, &message) == Tri::True
        {
            continue;
        }
        let slot = &report.program.slots[slot.index()];
        let (name, quoted) = (slot.name(), report.quote_source(part.cond.span));
        // `x as number` is missing for a text, although `x` is present.
        let name = match is_read_as_other_type(record, &slot.path, slot.kinds) {
            true => format!("{name} as {}", Ty::from_kinds(slot.kinds)),
            false => name,
        };
        let diagnostic = Diagnostic::new(
            Code::WinsWithout,
            part.cond.span,
            message!("`{}` is chosen without `{quoted}` if `{name}` is missing", rule.name),
        )
        .here(message!("left out in that case"))
        .help(message!(
            "{} is an example: add `{name} is present` to require the field",
            format_message(&message)
        ));
        return report.add_finding(diagnostic, Some(message));
    }
}

/// Reports the rule if some message fails to match only because the field `slot` is missing.
/// `negation` is the negated part of the rule's condition that reads the field, at `read_span`.
/// Returns true if the rule was reported.
fn report_missing_field(
    solver: &mut MessageSolver<'_>,
    report: &mut AnalysisReport<'_>,
    rule: &Rule,
    facts: &ConditionFacts,
    (negation, slot, read_span): (&Cond, SlotId, rulec_base::span::Span),
) -> bool {
    let field = Expr { kind: ExprKind::Slot(slot), ty: Ty::ANY, may_be_missing: true, span: read_span };
    let missing = Predicate::without_modifiers(Op::IsMissing, field, Operand::Nothing).into_cond(read_span);
    let field_missing = solver.builder.build_cond(&missing, true);
    // If the negation were true, the rule would match: only the missing field prevents that.
    let matches_otherwise = build_with_replacements(
        solver,
        &rule.condition,
        true,
        &mut CondReplacements::of_part(negation, true),
    );
    let SolverAnswer::Yes(message) =
        solver.solve(&[(field_missing, true), (facts.true_cond, false), (matches_otherwise, true)])
    else {
        return false;
    };
    let truth = |cond: &Cond| report.evaluate(cond, &message);
    if truth(&rule.condition) == Tri::True || truth(negation) != Tri::Unknown || truth(&missing) != Tri::True
    {
        return false;
    }
    let name = report.program.slots[slot.index()].name();
    let quoted = report.quote_source(negation.span);
    let diagnostic = Diagnostic::new(
        Code::NegationFallsThrough,
        negation.span,
        message!("`{quoted}` does not hold if `{name}` is missing, so `{}` is skipped", rule.name),
    )
    .here(message!("neither true nor false without `{name}`"))
    .help(message!(
        "{} falls through: to match it, write `({name} is missing or {quoted})`; to exclude it on purpose, \
        write `{name} is present and …`",
        format_message(&message)
    ));
    report.add_finding(diagnostic, Some(message));
    true
}

/// Collects the outermost negated parts of a condition. Parts inside a `NotTrue` (written `unless`)
/// are skipped: a missing field makes such a condition true, so the rule can still match. Collects
/// nothing if `plain` is false.
fn collect_negated<'a>(cond: &'a Cond, plain: bool, negated_parts: &mut Vec<&'a Cond>) {
    match &cond.kind {
        CondKind::Not(_) if plain => negated_parts.push(cond),
        CondKind::And(parts) | CondKind::Or(parts) => {
            parts.iter().for_each(|part| collect_negated(part, plain, negated_parts))
        }
        CondKind::Predicate(test)
            if plain && !is_presence_test(test) && (test.is_negated || test.op == Some(Op::Ne)) =>
        {
            negated_parts.push(cond);
        }
        _ => {}
    }
}

fn is_presence_test(test: &Predicate) -> bool {
    matches!(test.op, Some(Op::IsMissing | Op::IsPresent))
}

fn cond_part(cond: &Cond) -> Part<'_> {
    Part::Cond(cond)
}

/// Returns the message fields that a condition reads.
pub(super) fn fields_read(program: &Program, cond: &Cond) -> Vec<SlotId> {
    program.field_reads(cond_part(cond)).into_iter().map(|(slot, _)| slot).collect()
}

/// True if a field is read as a type that the declared type does not ensure, as in `x as number`
/// for a field of type `any`. The read value may then be missing although the field is present.
fn is_read_as_other_type(record: &RecordType, path: &[std::sync::Arc<str>], kinds: KindSet) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let Some(field) = record.get(first) else { return false };
    match (rest, field.ty.fields()) {
        ([], _) => !field.ty.kinds.is_subset_of(kinds.with_comparable_kinds()),
        (_, Some(inner)) => is_read_as_other_type(inner, rest, kinds),
        (_, None) => true,
    }
}

/// True if the input declares the field at `path`, or a record that contains this field, as
/// optional.
pub(super) fn is_optional_field(record: &RecordType, path: &[std::sync::Arc<str>]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let Some(field) = record.get(first) else { return false };
    field.is_optional || field.ty.fields().is_some_and(|inner| is_optional_field(inner, rest))
}
