//! Finds the one definition that the author of two definitions with the same name means. In other
//! languages, several definitions of a name are alternatives.

use super::Definition;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_base::span::Span;
use rulec_lang::operators::{Op, OperatorResult};
use rulec_syntax::ast::{Expr, ExprKind, Ident, ListSource, QuantifierKind};

/// Maximum length in bytes of a definition that a help text shows.
const MAX_DEFINITION_LENGTH: usize = 160;

/// Returns the help text for two definitions with the same name: the definition that joins both.
/// `None` if they cannot be joined, as two numbers cannot.
pub(super) fn joined_definition_help(
    sources: &SourceMap,
    (first_name, first): (&Ident, Definition<'_>),
    second: Definition<'_>,
) -> Option<Message> {
    let slice = |span: Span| sources.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
    let head = |value: &Expr| slice(Span { end: value.span.start, ..first_name.span });
    let keyword = first.keyword();
    let (head, value) = match (first, second) {
        (Definition::Let { value: one }, Definition::Let { value: other }) => {
            (head(one), join_conditions_by_or(one, other, &slice)?)
        }
        (Definition::Def { params, body: one }, Definition::Def { params: others, body: other }) => {
            let is_same = params.len() == others.len()
                && params.iter().zip(others).all(|(one, other)| one.name.node == other.name.node);
            (head(one), join_conditions_by_or(one, other, &slice).filter(|_| is_same)?)
        }
        (
            Definition::List { source: ListSource::Elements(one) },
            Definition::List { source: ListSource::Elements(other) },
        ) => {
            let (ExprKind::List(elements), ExprKind::List(others)) = (&one.kind, &other.kind) else {
                return None;
            };
            let mut written: Vec<String> = Vec::new();
            for element in elements.iter().chain(others).map(|element| slice(element.span)) {
                if !written.contains(&element) {
                    written.push(element);
                }
            }
            (head(one), format!("[{}]", written.join(", ")))
        }
        _ => return None,
    };
    let definition = format!("{keyword} {head} {value}");
    let is_short = definition.len() <= MAX_DEFINITION_LENGTH;
    is_short.then(|| message!("a name has one definition: write `{definition}`, or rename one of them"))
}

/// Returns the condition that holds if one of two conditions holds. `None` if one of them is no
/// condition.
fn join_conditions_by_or(one: &Expr, other: &Expr, slice: &impl Fn(Span) -> String) -> Option<String> {
    if !is_condition(one) || !is_condition(other) {
        return None;
    }
    let operand = |expr: &Expr| {
        let text = slice(expr.span);
        // The rest of the line would belong to these.
        let extends = matches!(
            expr.kind,
            ExprKind::Quantifier { .. } | ExprKind::If(_) | ExprKind::Logic(Op::Unless, _)
        );
        if extends { format!("({text})") } else { text }
    };
    let (one, other) = (operand(one), operand(other));
    Some(if one == other { one } else { format!("{one} or {other}") })
}

/// True for an expression that is certainly a condition by its form, such as a comparison.
fn is_condition(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Logic(..) | ExprKind::Presence { .. } => true,
        ExprKind::Unary(op, _) => op.node == Op::Not,
        ExprKind::Binary(binary) => {
            binary.op.node.info().forms.iter().all(|form| form.result == OperatorResult::Condition)
        }
        ExprKind::Quantifier { kind, .. } => matches!(kind, QuantifierKind::Any | QuantifierKind::All),
        _ => false,
    }
}
