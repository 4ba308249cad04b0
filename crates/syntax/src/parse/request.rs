//! Builds the syntax tree of the statements for the analysis of message texts: `intent`, `entity`
//! and `lexicon`.

use super::context::{BuildFailed, Built, StatementContext};
use super::{Pair, Rule, decide};
use crate::ast::{Entity, Expr, ExprKind, Intent, Lexicon, Literal, WeightedWord};
use rulec_base::broken_invariant;
use rulec_base::span::Spanned;

pub(super) fn build_intent(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Intent> {
    let name = cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
    let description = cx.build_optional_child(&pair, Rule::string, StatementContext::read_spanned_string)?;
    let keywords = cx.build_children(&pair, Rule::keywords, build_keywords_or_examples)?;
    let examples = cx.build_children(&pair, Rule::examples, build_keywords_or_examples)?;
    Ok(Intent { name, description, keywords, examples })
}

pub(super) fn build_entity(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Entity> {
    let name = cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
    let patterns =
        match cx.build_optional_child(&pair, Rule::string, StatementContext::read_spanned_string)? {
            Some(Spanned { node, span }) => {
                vec![Expr { kind: ExprKind::Literal(Literal::String(node)), span }]
            }
            None => cx.build_child(&pair, Rule::list_in_place, decide::build_expressions)?,
        };
    let case = cx.build_optional_child(&pair, Rule::case_mode, decide::build_case_mode)?;
    Ok(Entity { name, patterns, case })
}

pub(super) fn build_lexicon(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Lexicon> {
    let name = cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
    Ok(Lexicon { name, entries: cx.build_children(&pair, Rule::weight, build_weight)? })
}

fn build_weight(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<WeightedWord> {
    let word = cx.build_child(&pair, Rule::string, StatementContext::read_spanned_string)?;
    let Spanned { node, span } = cx.read_signed_number(&pair)?;
    let value = match node {
        Literal::Int(value) => value as f64,
        Literal::Wide(value) => value as f64,
        Literal::Float(value) => value,
        _ => {
            broken_invariant!("a number is an integer or a float");
            return Err(BuildFailed);
        }
    };
    Ok(WeightedWord { word, weight: Spanned::new(value, span) })
}

/// Builds an expression from the value after `keywords` or `examples`: a list literal, or the name
/// of a list.
pub(super) fn build_keywords_or_examples(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    cx.build_child(&pair, Rule::words, decide::build_word_list)
}
