//! Builds the syntax tree of `choice`, `flow`, `router` and `workflow` statements.

use super::context::{Built, StatementContext, child, children, first, has, must};
use super::{Pair, Rule, expr, operand};
use crate::ast::{
    Branch, Choice, Expr, ExprKind, Flow, Ident, Locals, Node, Router, RouterCase, Trigger, Workflow,
};
use rulec_base::message;
use rulec_base::span::Spanned;

pub(super) fn choice(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Choice> {
    Ok(Choice {
        name: cx.one(&pair, Rule::name, StatementContext::declared)?,
        question: cx.optional(&pair, Rule::question, string)?,
        to_user: has(&pair, Rule::kw_to_user),
        branches: cx.all(&pair, Rule::choice_branch, branch)?,
    })
}

fn branch(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Branch> {
    let body = children(&pair, Rule::branch_body).next();
    let any = body.as_ref().is_some_and(|body| has(body, Rule::kw_any));
    let conditions = |cx: &mut StatementContext<'_>, body| cx.optional(&body, Rule::conditions, expressions);
    Ok(Branch {
        id: cx.one(&pair, Rule::branch_id, text_or_name)?,
        default: children(&pair, Rule::kw_default).next().map(|word| cx.span(&word)),
        meaning: cx.optional(&pair, Rule::meaning, string)?,
        any,
        conditions: body.map(|body| conditions(cx, body)).transpose()?.map(Option::unwrap_or_default),
        locals: locals(cx, &pair)?,
        span: cx.span(&pair),
    })
}

pub(super) fn flow(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Flow> {
    let name = cx.one(&pair, Rule::name, StatementContext::declared)?;
    let description = cx.optional(&pair, Rule::string, StatementContext::spanned_string)?;
    let trigger = match cx.optional(&pair, Rule::intent_flow, intent_trigger)? {
        Some(trigger) => trigger,
        None => cx.one(&pair, Rule::keyword_flow, keyword_trigger)?,
    };
    Ok(Flow { name, description, trigger, id: cx.one(&pair, Rule::flow_id, text_or_name)? })
}

fn keyword_trigger(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Trigger> {
    let matching = cx.ident(&child(&pair, Rule::key)?);
    Ok(Trigger::Keyword { matching, patterns: cx.one(&pair, Rule::words, words)? })
}

fn intent_trigger(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Trigger> {
    let (mut examples, mut keywords) = (None, None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::words => examples = Some(words(cx, pair)?),
            Rule::examples => examples = Some(cx.one(&pair, Rule::words, words)?),
            Rule::keywords => keywords = Some(cx.one(&pair, Rule::words, words)?),
            _ => {}
        }
    }
    Ok(Trigger::Intent { examples, keywords })
}

pub(super) fn router(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Router> {
    let mut names = cx.all(&pair, Rule::name, StatementContext::declared)?.into_iter();
    let (name, param) = must(names.next().zip(names.next()), "a router has a name and a parameter")?;
    let mut cases = cx.all(&pair, Rule::router_case, router_case)?;
    cases.extend(cx.optional(&pair, Rule::otherwise, router_case)?);
    Ok(Router { name, param, cases })
}

fn router_case(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<RouterCase> {
    let condition = cx.optional(&pair, Rule::expression, expr::expression)?;
    let locals = locals(cx, &pair)?;
    cx.exact(&child(&pair, Rule::arrow)?, "->", message!("the arrow"));
    let behind = child(&pair, Rule::destinations)?;
    let destination = |cx: &mut StatementContext<'_>, pair| cx.one(&pair, Rule::expression, expr::expression);
    let destinations = cx.all(&behind, Rule::destination, destination)?;
    let loopback = children(&behind, Rule::kw_loopback).next().map(|word| cx.span(&word));
    Ok(RouterCase { condition, locals, destinations, loopback, span: cx.span(&pair) })
}

/// Reads `where NAME = EXPRESSION, …`, if present.
pub(super) fn locals(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Locals> {
    let local = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.exact(&child(&pair, Rule::equals)?, "=", message!("the definition of a name after `where`"));
        let (name, value) = (
            cx.one(&pair, Rule::name, StatementContext::declared),
            cx.one(&pair, Rule::expression, expr::expression),
        );
        Ok((name?, value?))
    };
    let locals = |cx: &mut StatementContext<'_>, pair| cx.all(&pair, Rule::local, local);
    Ok(cx.optional(pair, Rule::locals, locals)?.unwrap_or_default())
}

pub(super) fn workflow(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Workflow> {
    let name = cx.one(&pair, Rule::name, StatementContext::declared)?;
    let keys = |cx: &mut StatementContext<'_>, pair| cx.all(&pair, Rule::node_id, text_or_name);
    let passthrough = cx.all(&pair, Rule::passthrough, keys)?.concat();
    Ok(Workflow { name, passthrough, nodes: cx.all(&pair, Rule::workflow_node, node)? })
}

fn node(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Node> {
    let ids = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.exact(&child(&pair, Rule::arrow)?, "->", message!("the arrow"));
        cx.all(&pair, Rule::node_id, text_or_name)
    };
    let entries = |cx: &mut StatementContext<'_>, pair| cx.all(&pair, Rule::entry, operand::entry);
    let number = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        let span = cx.span(&child(&pair, Rule::number)?);
        Ok(Spanned::new(cx.number(span, false)?, span))
    };
    let router =
        |cx: &mut StatementContext<'_>, pair: Pair<'_>| cx.one(&pair, Rule::name, StatementContext::declared);
    Ok(Node {
        id: cx.one(&pair, Rule::node_id, text_or_name)?,
        kind: cx.one(&pair, Rule::node_kind, text_or_name)?,
        config: cx.optional(&pair, Rule::metadata, entries)?.unwrap_or_default(),
        within: cx.optional(&pair, Rule::within, number)?,
        next: cx.optional(&pair, Rule::next_nodes, ids)?.unwrap_or_default(),
        router: cx.optional(&pair, Rule::routed, router)?,
        span: cx.span(&pair),
    })
}

pub(super) fn string(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Spanned<String>> {
    cx.one(&pair, Rule::string, StatementContext::spanned_string)
}

/// Reads a name or a string.
pub(super) fn text_or_name(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Ident> {
    let inner = first(&pair)?;
    match inner.as_rule() {
        Rule::string => cx.spanned_string(inner),
        _ => cx.declared(inner),
    }
}

/// Reads a list literal or the name of a list.
pub(super) fn words(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    let inner = first(&pair)?;
    let span = cx.span(&inner);
    match inner.as_rule() {
        Rule::list_in_place => Ok(Expr { kind: ExprKind::List(expressions(cx, inner)?), span }),
        _ => {
            let Spanned { node, span } = cx.declared(inner)?;
            Ok(Expr { kind: ExprKind::Name(node), span })
        }
    }
}

pub(super) fn expressions(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<Expr>> {
    cx.all(&pair, Rule::expression, expr::expression)
}
