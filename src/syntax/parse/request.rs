//! From the grammar's pairs to the syntax tree: the statements of request analysis.

use super::context::{Built, Cx, Failed, child, children};
use super::{Pair, Rule, decide};
use crate::span::Spanned;
use crate::syntax::ast::{Entity, Expr, ExprKind, Intent, Lexicon, Literal, Weight};

/// Reads an `intent_statement`.
pub(super) fn intent(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Intent> {
    let name = cx.one(&pair, Rule::name, Cx::declared)?;
    let description = cx.optional(&pair, Rule::string, Cx::spanned_string)?;
    let (mut keywords, mut examples) = (Vec::new(), Vec::new());
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::keywords => keywords.push(words(cx, pair)?),
            Rule::examples => examples.push(words(cx, pair)?),
            _ => {}
        }
    }
    Ok(Intent { name, description, keywords, examples })
}

/// Reads an `entity_statement`.
pub(super) fn entity(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Entity> {
    let name = cx.one(&pair, Rule::name, Cx::declared)?;
    let patterns = match cx.optional(&pair, Rule::string, Cx::spanned_string)? {
        Some(Spanned { node, span }) => {
            vec![Expr { kind: ExprKind::Literal(Literal::String(node)), span }]
        }
        None => cx.one(&pair, Rule::list_in_place, decide::expressions)?,
    };
    let ignoring_case = children(&pair, Rule::ignoring_case).next().map(|words| cx.span(&words));
    Ok(Entity { name, patterns, ignoring_case })
}

/// Reads a `lexicon_statement`.
pub(super) fn lexicon(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Lexicon> {
    let name = cx.one(&pair, Rule::name, Cx::declared)?;
    Ok(Lexicon { name, entries: cx.all(&pair, Rule::weight, weight)? })
}

fn weight(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Weight> {
    let word = cx.one(&pair, Rule::string, Cx::spanned_string)?;
    let minus = children(&pair, Rule::minus).next().map(|minus| cx.span(&minus));
    let number = cx.span(&child(&pair, Rule::number)?);
    let value = match cx.number(number, minus.is_some())? {
        Literal::Int(value) => value as f64,
        Literal::Float(value) => value,
        _ => return Err(Failed),
    };
    Ok(Weight { word, weight: Spanned::new(value, minus.map_or(number, |minus| minus.to(number))) })
}

/// The list after `keywords` or `examples`.
fn words(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Expr> {
    cx.one(&pair, Rule::words, decide::words)
}
