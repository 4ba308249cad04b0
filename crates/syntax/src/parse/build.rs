//! Builds the syntax tree of one statement from the parse tree nodes ("pairs") of the grammar.

use super::context::{Built, Failed, StatementContext, child, children, first, must, unquote};
use super::types::{fields, type_expr};
use super::{Pair, Rule, decide, expr, operand, request};
use crate::ast::{
    Expectation, ExpectedThen, Expr, ExprKind, FlowTool, Ident, ListSource, Literal, Route, StatementKind,
    Target, Test,
};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::span::Spanned;
use rulec_base::{broken_invariant, message};

/// Builds a statement. All parts are read before the first failed part ends the function, so that
/// every part reports its errors.
pub(super) fn statement(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<StatementKind> {
    for sign in pair.into_inner() {
        match sign.as_rule() {
            Rule::arrow => cx.exact(&sign, "->", message!("the arrow")),
            Rule::equals => cx.exact(&sign, "=", message!("a definition")),
            _ => {}
        }
    }
    let name = |cx: &mut StatementContext<'_>| cx.one(&pair, Rule::name, StatementContext::declared);
    let string =
        |cx: &mut StatementContext<'_>| cx.one(&pair, Rule::string, StatementContext::spanned_string);
    let expression = |cx: &mut StatementContext<'_>| cx.one(&pair, Rule::expression, expr::expression);
    let params = |cx: &mut StatementContext<'_>| {
        cx.optional(&pair, Rule::params, fields).map(Option::unwrap_or_default)
    };
    let ty = |cx: &mut StatementContext<'_>| cx.one(&pair, Rule::type_expr, type_expr);
    let target = |cx: &mut StatementContext<'_>| cx.one(&pair, Rule::target, target);
    Ok(match pair.as_rule() {
        Rule::import_statement => StatementKind::Import { path: string(cx)? },
        Rule::input_statement => StatementKind::Input { fields: cx.one(&pair, Rule::fields, fields)? },
        Rule::handler_statement => {
            let strings = |cx: &mut StatementContext<'_>, pair| {
                cx.all(&pair, Rule::string, StatementContext::spanned_string)
            };
            let (name, params) = (name(cx), params(cx));
            let requires = cx.optional(&pair, Rule::needed, strings)?.unwrap_or_default();
            StatementKind::Handler { name: name?, params: params?, requires }
        }
        Rule::list_statement => {
            let name = name(cx);
            let source = match cx.optional(&pair, Rule::list_file, decide::string)? {
                Some(path) => ListSource::File(path),
                None => ListSource::Elements(expression(cx)?),
            };
            StatementKind::List { name: name?, source }
        }
        Rule::let_statement => {
            let (name, value) = (name(cx), expression(cx));
            StatementKind::Let { name: name?, value: value? }
        }
        Rule::def_statement => {
            let (name, params, body) = (name(cx), params(cx), expression(cx));
            StatementKind::Def { name: name?, params: params?, body: body? }
        }
        Rule::extern_statement => {
            let (name, params, result) = (name(cx), params(cx), ty(cx));
            StatementKind::Extern { name: name?, params: params?, result: result? }
        }
        Rule::settings_statement => {
            let entries: Vec<_> = children(&pair, Rule::setting).map(|pair| setting(cx, pair)).collect();
            StatementKind::Settings { entries: entries.into_iter().collect::<Built<_>>()? }
        }
        Rule::type_statement => {
            let (name, ty) = (name(cx), ty(cx));
            StatementKind::Type { name: name?, ty: ty? }
        }
        Rule::route_statement => {
            let (name, priority) = (name(cx), only_priority(cx, &pair));
            let disabled = children(&pair, Rule::kw_disabled).last().map(|word| cx.span(&word));
            let (condition, locals, target) = (expression(cx), decide::locals(cx, &pair), target(cx));
            let (condition, locals, target) = (condition?, locals?, target?);
            StatementKind::Route(Route {
                name: name?,
                priority: priority?,
                disabled,
                condition,
                locals,
                target,
            })
        }
        Rule::default_statement => StatementKind::Default { target: target(cx)? },
        Rule::table_statement => StatementKind::Table { name: name(cx)?, statements: Vec::new() },
        Rule::test_statement => StatementKind::Test(test(cx, &pair)?),
        Rule::choice_statement => StatementKind::Choice(decide::choice(cx, pair)?),
        Rule::flow_statement => StatementKind::Flow(decide::flow(cx, pair)?),
        Rule::flow_tool_statement => StatementKind::FlowTool(flow_tool(cx, &pair)?),
        Rule::router_statement => StatementKind::Router(decide::router(cx, pair)?),
        Rule::workflow_statement => StatementKind::Workflow(decide::workflow(cx, pair)?),
        Rule::intent_statement => StatementKind::Intent(request::intent(cx, pair)?),
        Rule::entity_statement => StatementKind::Entity(request::entity(cx, pair)?),
        Rule::lexicon_statement => StatementKind::Lexicon(request::lexicon(cx, pair)?),
        rule => {
            broken_invariant!("no statement is built from {rule:?}");
            return Err(Failed);
        }
    })
}

fn flow_tool(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<FlowTool> {
    let name = cx.one(pair, Rule::name, StatementContext::declared);
    let description = cx.optional(pair, Rule::string, StatementContext::spanned_string);
    let entries = cx.one(pair, Rule::metadata, metadata);
    Ok(FlowTool { name: name?, description: description?, entries: entries? })
}

fn test(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Test> {
    let name = cx.one(pair, Rule::string, StatementContext::spanned_string);
    let given: Vec<_> = children(pair, Rule::given).map(|pair| given(cx, pair)).collect();
    let columns = children(pair, Rule::columns).flat_map(|pair| pair.into_inner());
    let columns = columns.filter(|pair| pair.as_rule() == Rule::path).map(|pair| keys(cx, pair)).collect();
    let expects: Vec<_> = children(pair, Rule::expect).map(|pair| expectation(cx, &pair)).collect();
    let given = given.into_iter().collect::<Built<_>>()?;
    Ok(Test { name: name?, given, columns, expects: expects.into_iter().collect::<Built<_>>()? })
}

fn expectation(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Expectation> {
    let broken = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        let mut texts = cx.all(&pair, Rule::string, StatementContext::spanned_string)?.into_iter();
        Ok((must(texts.next(), "a violation has a rule's name")?, texts.next()))
    };
    let score = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        let number = cx.span(&child(&pair, Rule::number)?);
        let sign = child(&pair, Rule::score_sign)?;
        let sign = Spanned::new(cx.text(&sign).to_owned(), cx.span(&sign));
        Ok((sign, Spanned::new(cx.number(number, false)?, number)))
    };
    let path = children(pair, Rule::path).next().map(|path| keys(cx, path)).unwrap_or_default();
    let (breaks, then) = (cx.all(pair, Rule::broken, broken), cx.optional(pair, Rule::expected, expected));
    let score = cx.optional(pair, Rule::score, score);
    let values =
        cx.optional(pair, Rule::case_values, |cx, pair| cx.all(&pair, Rule::expression, expr::expression));
    let (values, span) = (values?.unwrap_or_default(), cx.span(pair));
    Ok(Expectation { path, breaks: breaks?, then: then?, score: score?, values, span })
}

fn expected(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ExpectedThen> {
    cx.exact(&child(&pair, Rule::arrow)?, "->", message!("the arrow"));
    let names = cx.all(&pair, Rule::node_id, decide::text_or_name);
    let args = cx.optional(&pair, Rule::arguments, arguments);
    let metadata = cx.optional(&pair, Rule::metadata, metadata);
    let loopback = children(&pair, Rule::kw_loopback).next().map(|word| cx.span(&word));
    let (args, metadata) = (args?.unwrap_or_default(), metadata?.unwrap_or_default());
    Ok(ExpectedThen { names: names?, args, metadata, loopback })
}

fn arguments(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<(Ident, Expr)>> {
    cx.all(&pair, Rule::argument, operand::entry)
}

fn given(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Vec<Ident>, Expr)> {
    cx.exact(&child(&pair, Rule::equals)?, "=", message!("the assignment in `given`"));
    Ok((keys(cx, child(&pair, Rule::path)?), cx.one(&pair, Rule::expression, expr::expression)?))
}

fn only_priority(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Option<Spanned<i64>>> {
    let mut priorities = children(pair, Rule::priority);
    let Some(first) = priorities.next() else { return Ok(None) };
    if let Some(second) = priorities.next() {
        let diagnostic = Diagnostic::new(Code::Unexpected, cx.span(&second), message!("a second priority"))
            .label(cx.span(&first), message!("the first"))
            .help(message!("keep one of them"));
        return Err(cx.report(diagnostic));
    }
    priority(cx, first).map(Some)
}

fn keys(cx: &StatementContext<'_>, pair: Pair<'_>) -> Vec<Ident> {
    children(&pair, Rule::key).map(|pair| cx.ident(&pair)).collect()
}

fn setting(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Ident, Expr)> {
    let name = cx.ident(&child(&pair, Rule::key)?);
    let pair = first(&child(&pair, Rule::setting_value)?)?;
    let kind = match (pair.as_rule(), cx.text(&pair)) {
        (Rule::string, _) => ExprKind::Literal(Literal::String(cx.string(cx.span(&pair))?)),
        (Rule::number, _) => ExprKind::Literal(cx.number(cx.span(&pair), false)?),
        (_, word @ ("true" | "false")) => ExprKind::Literal(Literal::Bool(word == "true")),
        (_, word) => ExprKind::Name(unquote(word).to_owned()),
    };
    Ok((name, Expr { kind, span: cx.span(&pair) }))
}

pub(super) fn priority(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Spanned<i64>> {
    match cx.signed(&pair)? {
        Spanned { node: Literal::Int(value), span } => Ok(Spanned::new(value, span)),
        Spanned { span, .. } => Err(cx.report(
            Diagnostic::new(Code::NumberOutOfRange, span, message!("a priority must be a whole number"))
                .help(message!("higher priorities are tried first; the priority is 0 if it is not written")),
        )),
    }
}

/// Reads the metadata of a target: constants in braces.
fn metadata(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<(Ident, Expr)>> {
    cx.all(&pair, Rule::entry, operand::entry)
}

fn target(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Target> {
    let inner = first(&pair)?;
    let span = cx.span(&inner);
    if inner.as_rule() == Rule::goto_target {
        return Ok(Target::Goto { table: cx.one(&inner, Rule::name, StatementContext::declared)?, span });
    }
    let name = cx.one(&inner, Rule::name, StatementContext::declared)?;
    let args = cx.optional(&inner, Rule::arguments, arguments)?.unwrap_or_default();
    let metadata = cx.optional(&inner, Rule::metadata, metadata)?.unwrap_or_default();
    Ok(Target::Handler { name, args, metadata, span })
}
