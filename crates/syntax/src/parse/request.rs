//! Builds the syntax tree of `intent`, `entity` and `lexicon` statements.

use super::context::{Built, Failed, StatementContext, children};
use super::{Pair, Rule, decide};
use crate::ast::{Entity, Expr, ExprKind, Intent, Lexicon, Literal, Weight};
use rulec_base::broken_invariant;
use rulec_base::span::Spanned;

pub(super) fn intent(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Intent> {
    let name = cx.one(&pair, Rule::name, StatementContext::declared)?;
    let description = cx.optional(&pair, Rule::string, StatementContext::spanned_string)?;
    let keywords = cx.all(&pair, Rule::keywords, words)?;
    let examples = cx.all(&pair, Rule::examples, words)?;
    Ok(Intent { name, description, keywords, examples })
}

pub(super) fn entity(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Entity> {
    let name = cx.one(&pair, Rule::name, StatementContext::declared)?;
    let patterns = match cx.optional(&pair, Rule::string, StatementContext::spanned_string)? {
        Some(Spanned { node, span }) => {
            vec![Expr { kind: ExprKind::Literal(Literal::String(node)), span }]
        }
        None => cx.one(&pair, Rule::list_in_place, decide::expressions)?,
    };
    let ignoring_case = children(&pair, Rule::ignoring_case).next().map(|words| cx.span(&words));
    Ok(Entity { name, patterns, ignoring_case })
}

pub(super) fn lexicon(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Lexicon> {
    let name = cx.one(&pair, Rule::name, StatementContext::declared)?;
    Ok(Lexicon { name, entries: cx.all(&pair, Rule::weight, weight)? })
}

fn weight(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Weight> {
    let word = cx.one(&pair, Rule::string, StatementContext::spanned_string)?;
    let Spanned { node, span } = cx.signed(&pair)?;
    let value = match node {
        Literal::Int(value) => value as f64,
        Literal::Float(value) => value,
        _ => {
            broken_invariant!("a number is an integer or a float");
            return Err(Failed);
        }
    };
    Ok(Weight { word, weight: Spanned::new(value, span) })
}

/// Reads the list after `keywords` or `examples`.
pub(super) fn words(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    cx.one(&pair, Rule::words, decide::words)
}
