//! Builds the syntax tree of `choice`, `flow`, `router` and `workflow` statements.

use super::context::{
    Built, StatementContext, children, expect_part, first_child, has_child, required_child, unexpected_token,
};
use super::{Pair, Rule, expr, operand};
use crate::ast::{
    Branch, Choice, Expr, ExprKind, Flow, Ident, Locals, Node, Router, RouterCase, Trigger, Workflow,
};
use rulec_base::message;
use rulec_base::span::Spanned;
use rulec_lang::operators::Case;

pub(super) fn build_choice(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Choice> {
    Ok(Choice {
        name: cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?,
        question: cx.build_optional_child(&pair, Rule::question, build_string)?,
        is_shown_to_user: has_child(&pair, Rule::kw_to_user),
        branches: cx.build_children(&pair, Rule::choice_branch, build_branch)?,
    })
}

fn build_branch(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Branch> {
    let body = children(&pair, Rule::branch_body).next();
    let any = body.as_ref().is_some_and(|body| has_child(body, Rule::kw_any));
    let conditions = |cx: &mut StatementContext<'_>, body| {
        cx.build_optional_child(&body, Rule::conditions, build_expressions)
    };
    Ok(Branch {
        id: cx.build_child(&pair, Rule::branch_id, build_text_or_name)?,
        default_span: children(&pair, Rule::kw_default).next().map(|word| cx.span(&word)),
        meaning: cx.build_optional_child(&pair, Rule::meaning, build_string)?,
        requires_any: any,
        conditions: body.map(|body| conditions(cx, body)).transpose()?.map(Option::unwrap_or_default),
        locals: build_locals(cx, &pair)?,
        span: cx.span(&pair),
    })
}

pub(super) fn build_flow(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Flow> {
    let name = cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
    let description = cx.build_optional_child(&pair, Rule::string, StatementContext::read_spanned_string)?;
    let trigger = match cx.build_optional_child(&pair, Rule::intent_flow, build_intent_trigger)? {
        Some(trigger) => trigger,
        None => cx.build_child(&pair, Rule::keyword_flow, build_keyword_trigger)?,
    };
    Ok(Flow { name, description, trigger, id: cx.build_child(&pair, Rule::flow_id, build_text_or_name)? })
}

fn build_keyword_trigger(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Trigger> {
    let matching = cx.read_ident(&required_child(&pair, Rule::key)?);
    let patterns = cx.build_child(&pair, Rule::words, build_word_list)?;
    let case = cx.build_optional_child(&pair, Rule::case_mode, build_case_mode)?;
    Ok(Trigger::Keyword { match_mode: matching, patterns, case })
}

/// Converts `ignoring case` or `matching case` at the end of a statement to a [`Case`].
pub(super) fn build_case_mode(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Case> {
    let word = required_child(&pair, Rule::key)?;
    match cx.text(&word) {
        "ignoring" => Ok(Case::Ignore),
        "matching" => Ok(Case::Match),
        other => {
            let message = message!("expected `ignoring case` or `matching case`, found `{other}`");
            let help = message!("write `ignoring case` or `matching case`");
            Err(cx.report(unexpected_token(cx.span(&word), message, help)))
        }
    }
}

fn build_intent_trigger(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Trigger> {
    let (mut examples, mut keywords) = (None, None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::words => examples = Some(build_word_list(cx, pair)?),
            Rule::examples => examples = Some(cx.build_child(&pair, Rule::words, build_word_list)?),
            Rule::keywords => keywords = Some(cx.build_child(&pair, Rule::words, build_word_list)?),
            _ => {}
        }
    }
    Ok(Trigger::Intent { examples, keywords })
}

pub(super) fn build_router(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Router> {
    let mut names = cx.build_children(&pair, Rule::name, StatementContext::read_declared_name)?.into_iter();
    let (name, param) = expect_part(names.next().zip(names.next()), "a router has a name and a parameter")?;
    let mut cases = cx.build_children(&pair, Rule::router_case, build_router_case)?;
    cases.extend(cx.build_optional_child(&pair, Rule::otherwise, build_router_case)?);
    Ok(Router { name, output_param: param, cases })
}

fn build_router_case(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<RouterCase> {
    let condition = cx.build_optional_child(&pair, Rule::expression, expr::build_expression)?;
    let locals = build_locals(cx, &pair)?;
    cx.check_spelling(&required_child(&pair, Rule::arrow)?, "->", message!("the arrow"));
    let destinations_pair = required_child(&pair, Rule::destinations)?;
    let destination =
        |cx: &mut StatementContext<'_>, pair| cx.build_child(&pair, Rule::expression, expr::build_expression);
    let destinations = cx.build_children(&destinations_pair, Rule::destination, destination)?;
    let loopback = children(&destinations_pair, Rule::kw_loopback).next().map(|word| cx.span(&word));
    Ok(RouterCase { condition, locals, destinations, loopback_span: loopback, span: cx.span(&pair) })
}

/// Builds the local names of `where NAME = EXPRESSION, …`. The list is empty without `where`.
pub(super) fn build_locals(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Locals> {
    let local = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.check_spelling(
            &required_child(&pair, Rule::equals)?,
            "=",
            message!("the definition of a name after `where`"),
        );
        let (name, value) = (
            cx.build_child(&pair, Rule::name, StatementContext::read_declared_name),
            cx.build_child(&pair, Rule::expression, expr::build_expression),
        );
        Ok((name?, value?))
    };
    let locals = |cx: &mut StatementContext<'_>, pair| cx.build_children(&pair, Rule::local, local);
    Ok(cx.build_optional_child(pair, Rule::locals, locals)?.unwrap_or_default())
}

pub(super) fn build_workflow(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Workflow> {
    let name = cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
    let keys =
        |cx: &mut StatementContext<'_>, pair| cx.build_children(&pair, Rule::node_id, build_text_or_name);
    let passthrough = cx.build_children(&pair, Rule::passthrough, keys)?.concat();
    Ok(Workflow {
        name,
        passthrough_fields: passthrough,
        nodes: cx.build_children(&pair, Rule::workflow_node, build_node)?,
    })
}

fn build_node(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Node> {
    let ids = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.check_spelling(&required_child(&pair, Rule::arrow)?, "->", message!("the arrow"));
        cx.build_children(&pair, Rule::node_id, build_text_or_name)
    };
    let entries =
        |cx: &mut StatementContext<'_>, pair| cx.build_children(&pair, Rule::entry, operand::build_entry);
    let number = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        let span = cx.span(&required_child(&pair, Rule::number)?);
        Ok(Spanned::new(cx.read_number(span, false)?, span))
    };
    let router = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)
    };
    let merge = |cx: &mut StatementContext<'_>, pair: Pair<'_>| match children(&pair, Rule::kw_node).next() {
        Some(node) => {
            let by = required_child(&pair, Rule::kw_by)?;
            Ok(Spanned::new("by node".to_owned(), cx.span(&by).to(cx.span(&node))))
        }
        None => cx.build_child(&pair, Rule::name, StatementContext::read_declared_name),
    };
    Ok(Node {
        id: cx.build_child(&pair, Rule::node_id, build_text_or_name)?,
        kind: cx.build_child(&pair, Rule::node_kind, build_text_or_name)?,
        config: cx.build_optional_child(&pair, Rule::metadata, entries)?.unwrap_or_default(),
        time_limit: cx.build_optional_child(&pair, Rule::within, number)?,
        merge_mode: cx.build_optional_child(&pair, Rule::merging, merge)?,
        next_nodes: cx.build_optional_child(&pair, Rule::next_nodes, ids)?.unwrap_or_default(),
        router: cx.build_optional_child(&pair, Rule::routed, router)?,
        span: cx.span(&pair),
    })
}

pub(super) fn build_string(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Spanned<String>> {
    cx.build_child(&pair, Rule::string, StatementContext::read_spanned_string)
}

/// Builds an identifier from a name or a string, as an id may be written either way.
pub(super) fn build_text_or_name(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Ident> {
    let inner = first_child(&pair)?;
    match inner.as_rule() {
        Rule::string => cx.read_spanned_string(inner),
        _ => cx.read_declared_name(inner),
    }
}

/// Builds an expression from a list literal or the name of a list.
pub(super) fn build_word_list(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    let inner = first_child(&pair)?;
    let span = cx.span(&inner);
    match inner.as_rule() {
        Rule::list_in_place => Ok(Expr { kind: ExprKind::List(build_expressions(cx, inner)?), span }),
        _ => {
            let Spanned { node, span } = cx.read_declared_name(inner)?;
            Ok(Expr { kind: ExprKind::Name(node), span })
        }
    }
}

pub(super) fn build_expressions(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<Expr>> {
    cx.build_children(&pair, Rule::expression, expr::build_expression)
}
