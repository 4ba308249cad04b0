//! From the grammar's pairs to the syntax tree: the statements beside routes that decide.

use super::context::{Built, Cx, Failed, child};
use super::{Pair, Rule, expr};
use crate::span::Spanned;
use crate::syntax::ast::{Branch, Choice, Expr, ExprKind, Flow, Ident, Router, RouterCase, Trigger};

/// Reads a `choice_statement`.
pub(super) fn choice(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Choice> {
    let (mut name, mut question, mut branches) = (None, None, Vec::new());
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::name => name = Some(cx.declared(&pair)?),
            Rule::question => question = Some(cx.spanned_string(&child(pair, Rule::string)?)?),
            Rule::choice_branch => branches.push(branch(cx, pair)?),
            _ => {}
        }
    }
    Ok(Choice { name: name.ok_or(Failed)?, question, branches })
}

fn branch(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Branch> {
    let span = cx.span(&pair);
    let (mut id, mut default, mut meaning, mut any, mut conditions) = (None, None, None, false, None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::kw_default => default = Some(cx.span(&pair)),
            Rule::branch_id => id = Some(text_or_name(cx, pair)?),
            Rule::meaning => meaning = Some(cx.spanned_string(&child(pair, Rule::string)?)?),
            Rule::branch_body => {
                let mut list = Vec::new();
                for pair in pair.into_inner() {
                    match pair.as_rule() {
                        Rule::kw_any => any = true,
                        Rule::conditions => list = expressions(cx, pair)?,
                        _ => {}
                    }
                }
                conditions = Some(list);
            }
            _ => {}
        }
    }
    Ok(Branch { id: id.ok_or(Failed)?, default, meaning, any, conditions, span })
}

/// Reads a `flow_statement`.
pub(super) fn flow(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Flow> {
    let (mut name, mut description, mut trigger, mut id) = (None, None, None, None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::name => name = Some(cx.declared(&pair)?),
            Rule::string => description = Some(cx.spanned_string(&pair)?),
            Rule::keyword_flow => {
                let (mut matching, mut patterns) = (None, None);
                for pair in pair.into_inner() {
                    match pair.as_rule() {
                        Rule::key => matching = Some(cx.ident(&pair)),
                        Rule::words => patterns = Some(words(cx, pair)?),
                        _ => {}
                    }
                }
                let (matching, patterns) = matching.zip(patterns).ok_or(Failed)?;
                trigger = Some(Trigger::Keyword { matching, patterns });
            }
            Rule::intent_flow => {
                let (mut examples, mut keywords) = (None, None);
                for pair in pair.into_inner() {
                    match pair.as_rule() {
                        Rule::words => examples = Some(words(cx, pair)?),
                        Rule::examples => examples = Some(words(cx, child(pair, Rule::words)?)?),
                        Rule::keywords => keywords = Some(words(cx, child(pair, Rule::words)?)?),
                        _ => {}
                    }
                }
                trigger = Some(Trigger::Intent { examples, keywords });
            }
            Rule::arrow => cx.exact(&pair, "->", "the arrow"),
            Rule::flow_id => id = Some(text_or_name(cx, pair)?),
            _ => {}
        }
    }
    let ((name, trigger), id) = name.zip(trigger).zip(id).ok_or(Failed)?;
    Ok(Flow { name, description, trigger, id })
}

/// Reads a `router_statement`.
pub(super) fn router(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Router> {
    let (mut names, mut cases) = (Vec::new(), Vec::new());
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::name => names.push(cx.declared(&pair)?),
            Rule::router_case | Rule::otherwise => cases.push(router_case(cx, pair)?),
            _ => {}
        }
    }
    let mut names = names.into_iter();
    let (name, param) = names.next().zip(names.next()).ok_or(Failed)?;
    Ok(Router { name, param, cases })
}

fn router_case(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<RouterCase> {
    let span = cx.span(&pair);
    let (mut condition, mut destinations, mut loopback) = (None, Vec::new(), None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::expression => condition = Some(expr::expression(cx, pair)?),
            Rule::arrow => cx.exact(&pair, "->", "the arrow"),
            Rule::destinations => {
                for pair in pair.into_inner() {
                    match pair.as_rule() {
                        Rule::destination => {
                            destinations.push(expr::expression(cx, child(pair, Rule::expression)?)?);
                        }
                        Rule::kw_loopback => loopback = Some(cx.span(&pair)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(RouterCase { condition, destinations, loopback, span })
}

/// A name, or a string in its place.
fn text_or_name(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Ident> {
    let inner = pair.into_inner().next().ok_or(Failed)?;
    match inner.as_rule() {
        Rule::string => cx.spanned_string(&inner),
        _ => cx.declared(&inner),
    }
}

/// A list in place, or the name of one.
pub(super) fn words(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Expr> {
    let inner = pair.into_inner().next().ok_or(Failed)?;
    let span = cx.span(&inner);
    match inner.as_rule() {
        Rule::list_in_place => Ok(Expr { kind: ExprKind::List(expressions(cx, inner)?), span }),
        _ => {
            let Spanned { node, span } = cx.declared(&inner)?;
            Ok(Expr { kind: ExprKind::Name(node), span })
        }
    }
}

pub(super) fn expressions(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Vec<Expr>> {
    pair.into_inner()
        .filter(|pair| pair.as_rule() == Rule::expression)
        .map(|pair| expr::expression(cx, pair))
        .collect()
}
