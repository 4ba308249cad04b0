//! From the grammar's pairs to the syntax tree, one statement at a time.

use super::context::{Built, Cx, Failed, child, children, unquote};
use super::types::{fields, type_expr};
use super::{Pair, Rule, decide, expr, operand, request};
use crate::diag::{Code, Diagnostic};
use crate::span::{Span, Spanned};
use crate::syntax::ast::{
    Expr, ExprKind, Field, Ident, ListSource, Literal, Route, StatementKind, Target, Test, TypeExpr,
};

/// The parts a statement may have; each kind takes its own.
#[derive(Default)]
struct Parts {
    name: Option<Ident>,
    string: Option<Spanned<String>>,
    fields: Option<Vec<Field>>,
    params: Vec<Field>,
    expression: Option<Expr>,
    file: Option<Spanned<String>>,
    ty: Option<TypeExpr>,
    settings: Vec<(Ident, Expr)>,
    priority: Option<Spanned<i64>>,
    disabled: Option<Span>,
    target: Option<Target>,
    given: Vec<(Vec<Ident>, Expr)>,
    expect: Option<Vec<Ident>>,
    breaks: Vec<Spanned<String>>,
}

/// Reads a statement. Goes on after a part that fails, so that each part's errors are reported.
pub(super) fn statement(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<StatementKind> {
    let rule = pair.as_rule();
    match rule {
        Rule::choice_statement => return decide::choice(cx, pair).map(StatementKind::Choice),
        Rule::flow_statement => return decide::flow(cx, pair).map(StatementKind::Flow),
        Rule::router_statement => return decide::router(cx, pair).map(StatementKind::Router),
        Rule::intent_statement => return request::intent(cx, pair).map(StatementKind::Intent),
        Rule::entity_statement => return request::entity(cx, pair).map(StatementKind::Entity),
        Rule::lexicon_statement => return request::lexicon(cx, pair).map(StatementKind::Lexicon),
        _ => {}
    }
    let mut parts = Parts::default();
    let mut failed = false;
    for pair in pair.into_inner() {
        failed |= part(cx, &mut parts, pair).is_err();
    }
    if failed { Err(Failed) } else { assemble(rule, parts).ok_or(Failed) }
}

fn part(cx: &mut Cx<'_>, parts: &mut Parts, pair: Pair<'_>) -> Built<()> {
    match pair.as_rule() {
        Rule::name => parts.name = Some(cx.declared(pair)?),
        Rule::string => parts.string = Some(cx.spanned_string(pair)?),
        Rule::fields => parts.fields = Some(fields(cx, pair)?),
        Rule::params => parts.params = fields(cx, pair)?,
        Rule::expression => parts.expression = Some(expr::expression(cx, pair)?),
        Rule::list_file => parts.file = Some(cx.one(&pair, Rule::string, Cx::spanned_string)?),
        Rule::type_expr => parts.ty = Some(type_expr(cx, pair)?),
        Rule::setting => parts.settings.push(setting(cx, pair)?),
        Rule::priority => {
            let span = cx.span(&pair);
            let value = priority(cx, pair)?;
            if let Some(first) = &parts.priority {
                let diagnostic = Diagnostic::new(Code::Unexpected, span, "a second priority")
                    .label(first.span, "the first")
                    .help("keep one of them");
                return Err(cx.report(diagnostic));
            }
            parts.priority = Some(value);
        }
        Rule::kw_disabled => parts.disabled = Some(cx.span(&pair)),
        Rule::target => parts.target = Some(target(cx, pair)?),
        Rule::given => {
            let path = keys(cx, child(&pair, Rule::path)?);
            cx.exact(&child(&pair, Rule::equals)?, "=", "what a test gives");
            parts.given.push((path, cx.one(&pair, Rule::expression, expr::expression)?));
        }
        Rule::expect => {
            parts.expect = Some(keys(cx, child(&pair, Rule::path)?));
            parts.breaks = cx.all(&pair, Rule::string, Cx::spanned_string)?;
        }
        Rule::arrow => cx.exact(&pair, "->", "the arrow"),
        Rule::equals => cx.exact(&pair, "=", "a definition"),
        _ => {}
    }
    Ok(())
}

fn assemble(rule: Rule, parts: Parts) -> Option<StatementKind> {
    Some(match rule {
        Rule::import_statement => StatementKind::Import { path: parts.string? },
        Rule::input_statement => StatementKind::Input { fields: parts.fields? },
        Rule::handler_statement => StatementKind::Handler { name: parts.name?, params: parts.params },
        Rule::list_statement => StatementKind::List {
            name: parts.name?,
            source: match parts.file {
                Some(path) => ListSource::File(path),
                None => ListSource::Elements(parts.expression?),
            },
        },
        Rule::let_statement => StatementKind::Let { name: parts.name?, value: parts.expression? },
        Rule::def_statement => {
            StatementKind::Def { name: parts.name?, params: parts.params, body: parts.expression? }
        }
        Rule::extern_statement => {
            StatementKind::Extern { name: parts.name?, params: parts.params, result: parts.ty? }
        }
        Rule::settings_statement => StatementKind::Settings { entries: parts.settings },
        Rule::type_statement => StatementKind::Type { name: parts.name?, ty: parts.ty? },
        Rule::route_statement => StatementKind::Route(Route {
            name: parts.name?,
            priority: parts.priority,
            disabled: parts.disabled,
            condition: parts.expression?,
            target: parts.target?,
        }),
        Rule::default_statement => StatementKind::Default { target: parts.target? },
        Rule::table_statement => StatementKind::Table { name: parts.name?, statements: Vec::new() },
        Rule::test_statement => {
            let (given, breaks) = (parts.given, parts.breaks);
            StatementKind::Test(Test { name: parts.string?, given, expect: parts.expect?, breaks })
        }
        _ => return None,
    })
}

fn keys(cx: &Cx<'_>, pair: Pair<'_>) -> Vec<Ident> {
    children(&pair, Rule::key).map(|pair| cx.ident(&pair)).collect()
}

fn setting(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<(Ident, Expr)> {
    let name = cx.ident(&child(&pair, Rule::key)?);
    let value = child(&pair, Rule::setting_value)?.into_inner().next().ok_or(Failed)?;
    Ok((name, setting_value(cx, value)?))
}

fn setting_value(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Expr> {
    let kind = match (pair.as_rule(), cx.text(&pair)) {
        (Rule::string, _) => ExprKind::Literal(Literal::String(cx.string(cx.span(&pair))?)),
        (Rule::number, _) => ExprKind::Literal(cx.number(cx.span(&pair), false)?),
        (_, word @ ("true" | "false")) => ExprKind::Literal(Literal::Bool(word == "true")),
        (_, word) => ExprKind::Name(unquote(word).to_owned()),
    };
    Ok(Expr { kind, span: cx.span(&pair) })
}

pub(super) fn priority(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Spanned<i64>> {
    let minus = children(&pair, Rule::minus).next().map(|minus| cx.span(&minus));
    let number = cx.span(&child(&pair, Rule::number)?);
    let span = minus.map_or(number, |minus| minus.to(number));
    match cx.number(number, minus.is_some())? {
        Literal::Int(value) => Ok(Spanned::new(value, span)),
        _ => Err(cx.report(
            Diagnostic::new(Code::NumberOutOfRange, span, "a priority is a whole number")
                .help("higher priorities are tried first; without one it is 0"),
        )),
    }
}

fn target(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Target> {
    let inner = pair.into_inner().next().ok_or(Failed)?;
    let span = cx.span(&inner);
    if inner.as_rule() == Rule::goto_target {
        return Ok(Target::Goto { table: cx.one(&inner, Rule::name, Cx::declared)?, span });
    }
    let (mut name, mut args, mut metadata) = (None, Vec::new(), Vec::new());
    for pair in inner.into_inner() {
        match pair.as_rule() {
            Rule::name => name = Some(cx.declared(pair)?),
            Rule::arguments => args = entries(cx, pair, Rule::argument)?,
            Rule::metadata => metadata = entries(cx, pair, Rule::entry)?,
            _ => {}
        }
    }
    Ok(Target::Handler { name: name.ok_or(Failed)?, args, metadata, span })
}

fn entries(cx: &mut Cx<'_>, pair: Pair<'_>, rule: Rule) -> Built<Vec<(Ident, Expr)>> {
    cx.all(&pair, rule, operand::entry)
}
