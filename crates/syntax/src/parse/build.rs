//! Builds the syntax tree of one statement from the parse tree nodes ("pairs") of the grammar.

use super::context::{
    BuildFailed, Built, StatementContext, children, expect_part, first_child, required_child, unquote,
};
use super::types::{build_fields, build_type_expr};
use super::{Pair, Rule, decide, expr, history, operand, request, shapes};
use crate::ast::{
    Expectation, ExpectedTarget, Expr, ExprKind, FlowTool, Ident, ListSource, Literal, Route, StatementKind,
    Target, Test,
};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::span::Spanned;
use rulec_base::{broken_invariant, message};

/// Builds the syntax tree of a statement. If one part fails, the other parts are still built, so
/// that the errors of every part are reported.
pub(super) fn build_statement(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<StatementKind> {
    for sign in pair.into_inner() {
        match sign.as_rule() {
            Rule::arrow => cx.check_spelling(&sign, "->", message!("the arrow")),
            Rule::equals => cx.check_spelling(&sign, "=", message!("a definition")),
            _ => {}
        }
    }
    let name = |cx: &mut StatementContext<'_>| {
        cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)
    };
    let string = |cx: &mut StatementContext<'_>| {
        cx.build_child(&pair, Rule::string, StatementContext::read_spanned_string)
    };
    let expression =
        |cx: &mut StatementContext<'_>| cx.build_child(&pair, Rule::expression, expr::build_expression);
    let params = |cx: &mut StatementContext<'_>| {
        cx.build_optional_child(&pair, Rule::params, build_fields).map(Option::unwrap_or_default)
    };
    let ty = |cx: &mut StatementContext<'_>| cx.build_child(&pair, Rule::type_expr, build_type_expr);
    let target = |cx: &mut StatementContext<'_>| cx.build_child(&pair, Rule::target, build_target);
    Ok(match pair.as_rule() {
        Rule::import_statement => StatementKind::Import { path: string(cx)? },
        Rule::input_statement => {
            StatementKind::Input { fields: cx.build_child(&pair, Rule::fields, build_fields)? }
        }
        Rule::handler_statement => {
            let strings = |cx: &mut StatementContext<'_>, pair| {
                cx.build_children(&pair, Rule::string, StatementContext::read_spanned_string)
            };
            let (name, params) = (name(cx), params(cx));
            let requires = cx.build_optional_child(&pair, Rule::needed, strings)?.unwrap_or_default();
            StatementKind::Handler { name: name?, params: params?, requires }
        }
        Rule::list_statement => build_list(cx, &pair)?,
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
            let entries: Vec<_> =
                children(&pair, Rule::setting).map(|pair| build_setting(cx, pair)).collect();
            StatementKind::Settings { entries: entries.into_iter().collect::<Built<_>>()? }
        }
        Rule::type_statement => {
            let (name, ty) = (name(cx), ty(cx));
            StatementKind::Type { name: name?, ty: ty? }
        }
        Rule::route_statement => StatementKind::Route(build_route(cx, &pair)?),
        Rule::default_statement => StatementKind::Default { target: target(cx)? },
        Rule::table_statement => StatementKind::Table { name: name(cx)?, statements: Vec::new() },
        Rule::test_statement => StatementKind::Test(build_test(cx, &pair)?),
        Rule::choice_statement => StatementKind::Choice(decide::build_choice(cx, pair)?),
        Rule::flow_statement => StatementKind::Flow(decide::build_flow(cx, pair)?),
        Rule::flow_tool_statement => StatementKind::FlowTool(build_flow_tool(cx, &pair)?),
        Rule::router_statement => StatementKind::Router(decide::build_router(cx, pair)?),
        Rule::workflow_statement => StatementKind::Workflow(decide::build_workflow(cx, pair)?),
        Rule::history_statement => StatementKind::History(history::build_history(cx, &pair)?),
        Rule::intent_statement => StatementKind::Intent(request::build_intent(cx, pair)?),
        Rule::entity_statement => StatementKind::Entity(request::build_entity(cx, pair)?),
        Rule::lexicon_statement => StatementKind::Lexicon(request::build_lexicon(cx, pair)?),
        rule => {
            broken_invariant!("no statement is built from {rule:?}");
            return Err(BuildFailed);
        }
    })
}

fn build_list(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<StatementKind> {
    let name = cx.build_child(pair, Rule::name, StatementContext::read_declared_name);
    let source = match cx.build_optional_child(pair, Rule::list_file, decide::build_string)? {
        Some(path) => ListSource::File(path),
        None => match shapes::unquoted_file_name_error(cx) {
            Some(diagnostic) => return Err(cx.report(diagnostic)),
            None => ListSource::Elements(cx.build_child(pair, Rule::expression, expr::build_expression)?),
        },
    };
    Ok(StatementKind::List { name: name?, source })
}

fn build_route(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Route> {
    let name = cx.build_child(pair, Rule::name, StatementContext::read_declared_name);
    let priority = build_optional_priority(cx, pair);
    let disabled = children(pair, Rule::kw_disabled).last().map(|word| cx.span(&word));
    let condition = cx.build_child(pair, Rule::expression, expr::build_expression);
    let locals = decide::build_locals(cx, pair);
    let target = cx.build_child(pair, Rule::target, build_target);
    let (condition, locals, target) = (condition?, locals?, target?);
    Ok(Route { name: name?, priority: priority?, disabled_span: disabled, condition, locals, target })
}

fn build_flow_tool(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<FlowTool> {
    let name = cx.build_child(pair, Rule::name, StatementContext::read_declared_name);
    let description = cx.build_optional_child(pair, Rule::string, StatementContext::read_spanned_string);
    let entries = cx.build_child(pair, Rule::metadata, build_metadata);
    Ok(FlowTool { name: name?, description: description?, entries: entries? })
}

fn build_test(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Test> {
    let name = cx.build_child(pair, Rule::string, StatementContext::read_spanned_string);
    let given: Vec<_> = children(pair, Rule::given).map(|pair| build_given(cx, pair)).collect();
    let columns = children(pair, Rule::columns).flat_map(|pair| pair.into_inner());
    let columns =
        columns.filter(|pair| pair.as_rule() == Rule::path).map(|pair| cx.read_path(pair)).collect();
    let expects: Vec<_> = children(pair, Rule::expect).map(|pair| build_expectation(cx, &pair)).collect();
    let given = given.into_iter().collect::<Built<_>>()?;
    Ok(Test {
        name: name?,
        given_values: given,
        case_field_paths: columns,
        expectations: expects.into_iter().collect::<Built<_>>()?,
    })
}

fn build_expectation(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Expectation> {
    let build_violation = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        let mut texts =
            cx.build_children(&pair, Rule::string, StatementContext::read_spanned_string)?.into_iter();
        Ok((expect_part(texts.next(), "a violation has a rule's name")?, texts.next()))
    };
    let build_score = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        let number = cx.span(&required_child(&pair, Rule::number)?);
        let sign = required_child(&pair, Rule::score_sign)?;
        let sign = Spanned::new(cx.text(&sign).to_owned(), cx.span(&sign));
        Ok((sign, Spanned::new(cx.read_number(number, false)?, number)))
    };
    let path = children(pair, Rule::path).next().map(|path| cx.read_path(path)).unwrap_or_default();
    let (breaks, then) = (
        cx.build_children(pair, Rule::broken, build_violation),
        cx.build_optional_child(pair, Rule::expected, build_expected_target),
    );
    let score = cx.build_optional_child(pair, Rule::score, build_score);
    let values = cx.build_optional_child(pair, Rule::case_values, |cx, pair| {
        cx.build_children(&pair, Rule::expression, expr::build_expression)
    });
    let (values, span) = (values?.unwrap_or_default(), cx.span(pair));
    Ok(Expectation {
        outcome_path: path,
        expected_violations: breaks?,
        target: then?,
        score: score?,
        case_values: values,
        span,
    })
}

fn build_expected_target(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ExpectedTarget> {
    cx.check_spelling(&required_child(&pair, Rule::arrow)?, "->", message!("the arrow"));
    let names = cx.build_children(&pair, Rule::node_id, decide::build_text_or_name);
    let args = cx.build_optional_child(&pair, Rule::arguments, build_named_arguments);
    let metadata = cx.build_optional_child(&pair, Rule::metadata, build_metadata);
    let loopback = children(&pair, Rule::kw_loopback).next().map(|word| cx.span(&word));
    let (args, metadata) = (args?.unwrap_or_default(), metadata?.unwrap_or_default());
    Ok(ExpectedTarget { target_names: names?, args, metadata, loopback_span: loopback })
}

fn build_named_arguments(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<(Ident, Expr)>> {
    cx.build_children(&pair, Rule::argument, operand::build_entry)
}

fn build_given(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Vec<Ident>, Expr)> {
    cx.check_spelling(&required_child(&pair, Rule::equals)?, "=", message!("the assignment in `given`"));
    Ok((
        cx.read_path(required_child(&pair, Rule::path)?),
        cx.build_child(&pair, Rule::expression, expr::build_expression)?,
    ))
}

fn build_optional_priority(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Option<Spanned<i64>>> {
    let mut priorities = children(pair, Rule::priority);
    let Some(first) = priorities.next() else { return Ok(None) };
    if let Some(second) = priorities.next() {
        let diagnostic = Diagnostic::new(Code::Unexpected, cx.span(&second), message!("a second priority"))
            .label(cx.span(&first), message!("the first"))
            .help(message!("keep one of them"));
        return Err(cx.report(diagnostic));
    }
    build_priority(cx, first).map(Some)
}

fn build_setting(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Ident, Expr)> {
    let name = cx.read_ident(&required_child(&pair, Rule::key)?);
    let pair = first_child(&required_child(&pair, Rule::setting_value)?)?;
    let kind = match (pair.as_rule(), cx.text(&pair)) {
        (Rule::string, _) => ExprKind::Literal(Literal::String(cx.read_string(cx.span(&pair))?)),
        (Rule::number, _) => ExprKind::Literal(cx.read_number(cx.span(&pair), false)?),
        (_, word @ ("true" | "false")) => ExprKind::Literal(Literal::Bool(word == "true")),
        (_, word) => ExprKind::Name(unquote(word).to_owned()),
    };
    Ok((name, Expr { kind, span: cx.span(&pair) }))
}

pub(super) fn build_priority(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Spanned<i64>> {
    match cx.read_signed_number(&pair)? {
        Spanned { node: Literal::Int(value), span } => Ok(Spanned::new(value, span)),
        Spanned { span, .. } => Err(cx.report(
            Diagnostic::new(Code::NumberOutOfRange, span, message!("a priority must be a whole number"))
                .help(message!("higher priorities are tried first; the priority is 0 if it is not written")),
        )),
    }
}

/// Builds the metadata of a handler call (constants in braces). Errors are reported to `cx`.
fn build_metadata(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Vec<(Ident, Expr)>> {
    cx.build_children(&pair, Rule::entry, operand::build_entry)
}

fn build_target(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Target> {
    let inner = first_child(&pair)?;
    let span = cx.span(&inner);
    if inner.as_rule() == Rule::goto_target {
        return Ok(Target::Goto {
            table: cx.build_child(&inner, Rule::name, StatementContext::read_declared_name)?,
            span,
        });
    }
    let name = cx.build_child(&inner, Rule::name, StatementContext::read_declared_name)?;
    let args = cx.build_optional_child(&inner, Rule::arguments, build_named_arguments)?.unwrap_or_default();
    let metadata = cx.build_optional_child(&inner, Rule::metadata, build_metadata)?.unwrap_or_default();
    Ok(Target::Handler { name, args, metadata, span })
}
