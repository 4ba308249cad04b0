//! Parses `payload` and `group` statements. The tokens between the braces are split into items, as
//! the tokens of a file are split into statements. An error in one item does not affect the others.

use super::context::{Built, StatementContext, children, expect_part, has_child, required_child};
use super::errors::part_shapes::{Part, shape_help};
use super::splitter::RawStatement;
use super::types::{build_fields, build_type_expr};
use super::{FileParser, Pair, Rule, build, expr, terminals};
use crate::ast::{
    AllowedValues, Correction, EachItem, Expr, FieldItem, Group, IncludeArg, IncludeItem, PathExpr, Payload,
    PayloadItem, PayloadItemKind, RuleItem, RuleTest, StatementKind, ViolationNotice,
};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use std::ops::Range;

impl FileParser<'_> {
    pub(super) fn parse_payload(&mut self, raw: &RawStatement, rule: Rule) -> Option<StatementKind> {
        let (head, body) = self.split_at_braces(raw.tokens.clone(), rule)?;
        let parsed_head = self.parse_alone(rule, head, |cx, pair| build_payload_statement(cx, pair, rule));
        let items = self.parse_items(body);
        let mut kind = parsed_head?;
        match &mut kind {
            StatementKind::Payload(payload) => payload.body = items,
            StatementKind::Group(group) => group.body = items,
            _ => {}
        }
        Some(kind)
    }

    /// Splits the tokens of a payload, group or `each` into the tokens before its braces and the
    /// tokens between its braces. `rule` is its grammar rule. If the braces are missing, reports an
    /// error with the shape of this statement, and returns `None`.
    fn split_at_braces(&mut self, tokens: Range<usize>, rule: Rule) -> Option<(Range<usize>, Range<usize>)> {
        // The last pair of braces belongs to the block. Earlier braces may enclose a record,
        // for example in the list of an `each`.
        let kind = |index: usize| self.significant[index].token.kind;
        let mut depth = 0_usize;
        let open = tokens.clone().rev().find(|index| {
            depth += usize::from(kind(*index).closes_bracket());
            depth -= usize::from(kind(*index).opens_bracket() && depth > 0);
            depth == 0
        });
        if let Some(open) = open.filter(|open| kind(*open) == TokenKind::OpenBrace) {
            return Some((tokens.start..open, open + 1..tokens.end - 1));
        }
        let last_span = self.significant[tokens.end - 1].token.span(self.file);
        let message = message!("expected `{{` and then rules in braces");
        let diagnostic = Diagnostic::new(Code::Unexpected, last_span, message);
        self.parsed.diagnostics.push(match shape_help(Part::Whole(rule)) {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
        None
    }

    fn parse_items(&mut self, body: Range<usize>) -> Vec<PayloadItem> {
        let mut items = Vec::new();
        let mut start = body.start;
        let mut depth = 0_usize;
        for index in body.clone() {
            let token = self.significant[index].token;
            let is_separator = depth == 0 && matches!(token.kind, TokenKind::Semicolon);
            let is_item_start = depth == 0
                && index > start
                && self.significant[index].indent().is_some()
                && self.begins_item(index);
            if is_separator || is_item_start {
                items.extend(self.parse_item(start..index));
                start = if is_separator { index + 1 } else { index };
            }
            if token.kind.opens_bracket() {
                depth += 1;
            } else if token.kind.closes_bracket() {
                depth = depth.saturating_sub(1);
            }
        }
        items.extend(self.parse_item(start..body.end));
        items
    }

    /// True if a token at the start of a line begins an item. Such a token is an item keyword or a
    /// field name.
    fn begins_item(&self, index: usize) -> bool {
        let token = self.significant[index].token;
        let text = |index: usize| self.significant.get(index).map_or("", |item| item.token.text(self.text));
        if !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
            return false;
        }
        let is_field = text(index + 1) == ":" || (text(index + 1) == "?" && text(index + 2) == ":")
            // For `name?: TYPE`, the lexer may read `?:` as one token.
            || text(index + 1) == "?:";
        is_field || terminals::terminal(self.token_codes.as_bytes()[index]).begins_item()
    }

    fn parse_item(&mut self, tokens: Range<usize>) -> Option<PayloadItem> {
        let head = self.significant.get(tokens.start).filter(|_| !tokens.is_empty())?.token;
        let end = self.significant[tokens.end - 1].token.end;
        let span = Span { file: self.file, start: head.start, end };
        let (docs, _) = self.leading_comments(tokens.start);
        let next = self.significant.get(tokens.start + 1).map(|next| next.token.kind);
        let word = if next == Some(TokenKind::Colon) { "" } else { head.text(self.text) };
        let kind = match word {
            "require" => self.parse_alone(Rule::require_item, tokens, |cx, pair| {
                let test = RuleTest::Require(build_condition(cx, &pair)?);
                build_rule(cx, pair, test)
            }),
            "forbid" => self.parse_alone(Rule::forbid_item, tokens, |cx, pair| {
                let test = RuleTest::Forbid(build_condition(cx, &pair)?);
                build_rule(cx, pair, test)
            }),
            "compiles" => self.parse_alone(Rule::compiles_item, tokens, |cx, pair| {
                build_rule(cx, pair, RuleTest::Compiles)
            }),
            "closed" => self.parse_alone(Rule::closed_item, tokens, build_closed),
            "include" => self.parse_alone(Rule::include_item, tokens, build_include),
            "let" => self.parse_alone(Rule::let_item, tokens, build_let_item),
            "each" => {
                let (head, body) = self.split_at_braces(tokens, Rule::each_item)?;
                let parsed_head = self.parse_alone(Rule::each_item, head, build_each);
                let body = self.parse_items(body);
                parsed_head.map(|each| PayloadItemKind::Each(EachItem { body, ..each }))
            }
            _ => self.parse_alone(Rule::field_item, tokens, build_field_item),
        }?;
        Some(PayloadItem { kind, span, docs })
    }
}

fn build_payload_statement(
    cx: &mut StatementContext<'_>,
    pair: Pair<'_>,
    rule: Rule,
) -> Built<StatementKind> {
    let name = cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
    if rule == Rule::group_statement {
        let params = cx.build_optional_child(&pair, Rule::params, build_fields)?.unwrap_or_default();
        return Ok(StatementKind::Group(Group { name, params, body: Vec::new() }));
    }
    let (mut rank, mut fallback) = (None, None);
    let (mut interrupts, mut suspends, mut internal, mut strict) = (false, false, false, false);
    for clause in children(&pair, Rule::payload_clause).filter_map(|clause| clause.into_inner().next()) {
        match clause.as_rule() {
            Rule::rank => rank = Some(build::build_priority(cx, clause)?),
            Rule::fallback => {
                fallback = Some(cx.build_child(&clause, Rule::name, StatementContext::read_declared_name)?)
            }
            Rule::kw_interrupts => interrupts = true,
            Rule::kw_suspends => suspends = true,
            Rule::kw_strict => strict = true,
            _ => internal = true,
        }
    }
    let body = Vec::new();
    Ok(StatementKind::Payload(Payload {
        name,
        rank,
        interrupts_others: interrupts,
        suspends_others: suspends,
        is_internal: internal,
        is_strict: strict,
        fallback_kind: fallback,
        body,
    }))
}

fn build_field_item(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<PayloadItemKind> {
    let mut field = FieldItem {
        name: cx.read_ident(&required_child(&pair, Rule::key)?),
        optional: has_child(&pair, Rule::optional_mark),
        ty: cx.build_child(&pair, Rule::type_expr, build_type_expr)?,
        nullable: has_child(&pair, Rule::nullable),
        not_blank_span: None,
        allowed_values: None,
        const_value: None,
        notice: ViolationNotice::default(),
    };
    for clause in children(&pair, Rule::field_clause).filter_map(|clause| clause.into_inner().next()) {
        match clause.as_rule() {
            Rule::not_blank => field.not_blank_span = Some(cx.span(&clause)),
            Rule::one_of => field.allowed_values = Some(build_limits(cx, clause)?),
            Rule::exactly => field.const_value = Some(build_clause_value(cx, clause)?),
            _ => build_notice_clause(cx, clause, &mut field.notice)?,
        }
    }
    Ok(PayloadItemKind::Field(field))
}

fn build_limits(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<AllowedValues> {
    let values = cx.build_child(&pair, Rule::clause, expr::build_range_or_expression)?;
    Ok(AllowedValues { values, should_clamp: has_child(&pair, Rule::kw_clamp) })
}

/// Stores a clause of a payload item, such as `else`, `repair`, `default` or `warning`, in
/// `notice`. The notice describes how a violation is reported and corrected.
fn build_notice_clause(
    cx: &mut StatementContext<'_>,
    clause: Pair<'_>,
    notice: &mut ViolationNotice,
) -> Built<()> {
    let span = cx.span(&clause);
    match clause.as_rule() {
        Rule::message => {
            let mut texts =
                cx.build_children(&clause, Rule::string, StatementContext::read_spanned_string)?.into_iter();
            notice.message = texts.next().or(notice.message.take());
            notice.remedy = texts.next().or(notice.remedy.take());
            return Ok(());
        }
        Rule::kw_warning => {
            notice.is_warning = true;
            return Ok(());
        }
        _ => {}
    }
    if let Some(first) = &notice.correction {
        let line_start = cx.text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
        let begins_line =
            cx.text[line_start..span.start as usize].trim().is_empty() && span.start > first.span.end;
        if begins_line {
            let written = cx.shorten_source(span);
            let diagnostic = Diagnostic::new(Code::Unexpected, span, message!("`{written}` is no rule of a payload"))
                .help(message!(
                    "a payload or group has fields `name: type`, `require`, `forbid`, `closed`, `let`, `each` and \
                    `include`: remove this line"
                ));
            return Err(cx.report(diagnostic));
        }
        let diagnostic = Diagnostic::new(Code::Unexpected, span, message!("a second correction"))
            .label(first.span, message!("the first"))
            .help(message!("keep one of them"));
        return Err(cx.report(diagnostic));
    }
    let correction = match clause.as_rule() {
        Rule::fallback_value | Rule::field_default => Correction::Default(build_clause_value(cx, clause)?),
        Rule::clamp_to => Correction::Clamp(build_clause_value(cx, clause)?),
        _ => Correction::Remove,
    };
    notice.correction = Some(Spanned::new(correction, span));
    Ok(())
}

/// Builds the notice of a payload item from its clauses: the message, severity and correction of a
/// violation.
fn build_notice(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<ViolationNotice> {
    let mut notice = ViolationNotice::default();
    for clause in children(pair, Rule::outcome_clause).filter_map(|clause| clause.into_inner().next()) {
        build_notice_clause(cx, clause, &mut notice)?;
    }
    Ok(notice)
}

/// Builds the expression that a clause of a payload item contains, such as `VALUE` in `default
/// VALUE`.
fn build_clause_value(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    let is_value = |pair: &Pair<'_>| matches!(pair.as_rule(), Rule::clause | Rule::field_value);
    expr::build_expression(cx, expect_part(pair.into_inner().find(is_value), "a clause has a value")?)
}

fn build_path(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<PathExpr> {
    let dotted = has_child(&pair, Rule::kw_dotted);
    Ok(PathExpr { path: build_clause_value(cx, pair)?, has_dotted_keys: dotted })
}

fn build_condition(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Expr> {
    cx.build_child(pair, Rule::clause, expr::build_expression)
}

fn build_rule(cx: &mut StatementContext<'_>, pair: Pair<'_>, test: RuleTest) -> Built<PayloadItemKind> {
    Ok(PayloadItemKind::Rule(RuleItem {
        id: cx.build_child(&pair, Rule::string, StatementContext::read_spanned_string)?,
        violation_path: cx.build_optional_child(&pair, Rule::place, build_path)?,
        guard: cx.build_optional_child(&pair, Rule::guard, build_clause_value)?,
        test,
        notice: build_notice(cx, &pair)?,
    }))
}

fn build_closed(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<PayloadItemKind> {
    let id = cx.build_optional_child(&pair, Rule::string, StatementContext::read_spanned_string)?;
    Ok(PayloadItemKind::Closed { id, notice: build_notice(cx, &pair)? })
}

fn build_let_item(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<PayloadItemKind> {
    let name = cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
    Ok(PayloadItemKind::Let { name, value: cx.build_child(&pair, Rule::clause, expr::build_expression)? })
}

fn build_include(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<PayloadItemKind> {
    let include_args = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.build_children(&pair, Rule::include_arg, build_include_arg)
    };
    let build_name = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.build_child(&pair, Rule::string, StatementContext::read_spanned_string)
    };
    Ok(PayloadItemKind::Include(IncludeItem {
        group: cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?,
        args: cx.build_optional_child(&pair, Rule::include_args, include_args)?.unwrap_or_default(),
        rule_id: cx.build_optional_child(&pair, Rule::renamed, build_name)?,
        guard: cx.build_optional_child(&pair, Rule::guard, build_clause_value)?,
    }))
}

fn build_include_arg(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<IncludeArg> {
    let name = cx.read_ident(&required_child(&pair, Rule::key)?);
    let value = cx.build_child(&pair, Rule::clause, expr::build_expression)?;
    Ok(IncludeArg { name, value, violation_path: cx.build_optional_child(&pair, Rule::place, build_path)? })
}

fn build_each(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<EachItem> {
    let mut names = cx.build_children(&pair, Rule::name, StatementContext::read_declared_name)?.into_iter();
    Ok(EachItem {
        loop_variables: (expect_part(names.next(), "an `each` names its element")?, names.next()),
        list: cx.build_child(&pair, Rule::clause, expr::build_expression)?,
        guard: cx.build_optional_child(&pair, Rule::guard, build_clause_value)?,
        body: Vec::new(),
    })
}
