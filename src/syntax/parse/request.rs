//! From the grammar's pairs to the syntax tree: the statements of request analysis.

use super::context::{Built, Cx, Failed, child};
use super::{Pair, Rule, decide};
use crate::span::Spanned;
use crate::syntax::ast::{Entity, Expr, ExprKind, Intent, Lexicon, Literal, Weight};

/// Reads an `intent_statement`.
pub(super) fn intent(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Intent> {
    let (mut name, mut description, mut keywords, mut examples) = (None, None, Vec::new(), Vec::new());
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::name => name = Some(cx.declared(&pair)?),
            Rule::string => description = Some(cx.spanned_string(&pair)?),
            Rule::keywords => keywords.push(words(cx, pair)?),
            Rule::examples => examples.push(words(cx, pair)?),
            _ => {}
        }
    }
    Ok(Intent { name: name.ok_or(Failed)?, description, keywords, examples })
}

/// Reads an `entity_statement`.
pub(super) fn entity(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Entity> {
    let (mut name, mut patterns, mut ignoring_case) = (None, Vec::new(), None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::name => name = Some(cx.declared(&pair)?),
            Rule::string => {
                let Spanned { node, span } = cx.spanned_string(&pair)?;
                patterns.push(Expr { kind: ExprKind::Literal(Literal::String(node)), span });
            }
            Rule::list_in_place => patterns = decide::expressions(cx, pair)?,
            Rule::ignoring_case => ignoring_case = Some(cx.span(&pair)),
            _ => {}
        }
    }
    Ok(Entity { name: name.ok_or(Failed)?, patterns, ignoring_case })
}

/// Reads a `lexicon_statement`.
pub(super) fn lexicon(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Lexicon> {
    let (mut name, mut entries) = (None, Vec::new());
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::name => name = Some(cx.declared(&pair)?),
            Rule::weight => entries.push(weight(cx, pair)?),
            _ => {}
        }
    }
    Ok(Lexicon { name: name.ok_or(Failed)?, entries })
}

fn weight(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Weight> {
    let (mut word, mut weight, mut minus) = (None, None, None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::string => word = Some(cx.spanned_string(&pair)?),
            Rule::minus => minus = Some(cx.span(&pair)),
            Rule::number => {
                let span = minus.map_or(cx.span(&pair), |minus| minus.to(cx.span(&pair)));
                let value = match cx.number(cx.span(&pair), minus.is_some())? {
                    Literal::Int(value) => value as f64,
                    Literal::Float(value) => value,
                    _ => return Err(Failed),
                };
                weight = Some(Spanned::new(value, span));
            }
            _ => {}
        }
    }
    let (word, weight) = word.zip(weight).ok_or(Failed)?;
    Ok(Weight { word, weight })
}

/// The list after `keywords` or `examples`.
fn words(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Expr> {
    decide::words(cx, child(pair, Rule::words)?)
}
