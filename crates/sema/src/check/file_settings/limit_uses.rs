//! Finds whether any statement can exceed a limit of a decision. If none can, the checker warns
//! about the setting of the limit. In doubt, a statement counts as able to exceed the limit.

use crate::hir::{CondKind, ExprKind, Operand, Part, Program};
use rulec_lang::builtins::Function;
use rulec_lang::limits::Limit;
use rulec_lang::operators::Op;

/// True if a statement of the program may exceed `limit`.
pub(super) fn may_exceed_limit(program: &Program, limit: Limit) -> bool {
    match limit {
        Limit::QuantifierElements => has_payload(program) || any_part(program, reads_each_element),
        Limit::SimilarityCharacters => any_part(program, |part| calls(part, Function::Similarity)),
        Limit::ValueBytes => has_payload(program) || any_part(program, builds_value),
        Limit::SearchWork => has_payload(program) || any_part(program, searches_for_message_value),
        Limit::RegexBytes | Limit::RegexWork => !program.regex_facts.is_empty(),
        Limit::RequestBytes | Limit::RequestWork => {
            program.externs.iter().any(|function| function.feature.is_some())
        }
        Limit::Violations => has_payload(program),
    }
}

/// True if the program has payloads. Their `each` blocks, defaults and rules may exceed most
/// limits.
fn has_payload(program: &Program) -> bool {
    !program.payloads.is_empty()
}

/// True if some condition or value of the program, or a part of it, is `wanted`.
fn any_part(program: &Program, wanted: impl Fn(Part<'_>) -> bool) -> bool {
    let conditions = program.rules.iter().map(|rule| Part::Cond(&rule.condition));
    let lets = program.lets.iter().map(|definition| definition.body.as_part());
    let mut pending: Vec<Part<'_>> =
        conditions.chain(lets).chain(program.values.iter().map(Part::Expr)).collect();
    while let Some(part) = pending.pop() {
        if wanted(part) {
            return true;
        }
        pending.extend(part.parts());
    }
    false
}

fn calls(part: Part<'_>, function: Function) -> bool {
    matches!(part, Part::Expr(expr) if matches!(&expr.kind, ExprKind::Call(called, _) if *called == function))
}

/// True for a quantifier, and for a value that is computed from the elements of a list.
fn reads_each_element(part: Part<'_>) -> bool {
    match part {
        Part::Cond(cond) => matches!(cond.kind, CondKind::Quantifier { .. }),
        Part::Expr(expr) => matches!(expr.kind, ExprKind::Fold { .. } | ExprKind::Window { .. }),
        Part::Let(_) => false,
    }
}

/// True for a value that a decision builds, and for a pattern of a message, whose size the same
/// limit bounds.
fn builds_value(part: Part<'_>) -> bool {
    match part {
        Part::Cond(cond) => {
            matches!(&cond.kind, CondKind::Predicate(test) if test.op == Some(Op::Like) && has_message_operand(&test.right))
        }
        Part::Expr(expr) => matches!(
            expr.kind,
            ExprKind::Call(..) | ExprKind::List(_) | ExprKind::Extern(..) | ExprKind::Window { .. }
        ),
        Part::Let(_) => false,
    }
}

/// True for a predicate whose right operand comes from the message, and for everything that may
/// repeat a predicate or search by itself.
fn searches_for_message_value(part: Part<'_>) -> bool {
    let is_search = match part {
        Part::Cond(cond) => matches!(
            &cond.kind,
            CondKind::Predicate(test) if test.op == Some(Op::InNetwork) || has_message_operand(&test.right)
        ),
        Part::Expr(_) | Part::Let(_) => false,
    };
    is_search || reads_each_element(part) || builds_value(part)
}

fn has_message_operand(operand: &Operand) -> bool {
    match operand {
        Operand::Nothing => false,
        Operand::Value(value) => value.as_const().is_none(),
        Operand::Range { start, end, .. } => start.as_const().is_none() || end.as_const().is_none(),
    }
}
