//! `payload` and `group` statements. The tokens of the body are split into items, as a file is
//! split into statements. An error in one item does not affect the others.

use super::context::{Built, StatementContext, child, children, has, must, unexpected};
use super::splitter::RawStatement;
use super::types::{fields, type_expr};
use super::{FileParser, Pair, Rule, build, expr, terminals};
use crate::ast::{
    Correction, EachItem, Expr, FieldItem, Group, IncludeArg, IncludeItem, Item, ItemKind, Limits, Notice,
    PathExpr, Payload, RuleItem, RuleTest, StatementKind,
};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use std::ops::Range;

impl FileParser<'_> {
    pub(super) fn payload(&mut self, raw: &RawStatement, rule: Rule) -> Option<StatementKind> {
        let (head, body) = self.split(raw.tokens.clone(), rule)?;
        let read = self.alone(rule, head, |cx, pair| statement(cx, pair, rule));
        let items = self.items(body);
        let mut kind = read?;
        match &mut kind {
            StatementKind::Payload(payload) => payload.body = items,
            StatementKind::Group(group) => group.body = items,
            _ => {}
        }
        Some(kind)
    }

    /// Splits the tokens of a block into those before its braces and those between its braces.
    fn split(&mut self, tokens: Range<usize>, rule: Rule) -> Option<(Range<usize>, Range<usize>)> {
        // The block is the last pair of braces. A record may precede it, for example in the list of
        // an `each`.
        let kind = |index: usize| self.sigs[index].token.kind;
        let mut depth = 0_usize;
        let open = tokens.clone().rev().find(|index| {
            depth += usize::from(kind(*index).closes());
            depth -= usize::from(kind(*index).opens() && depth > 0);
            depth == 0
        });
        if let Some(open) = open.filter(|open| kind(*open) == TokenKind::OpenBrace) {
            return Some((tokens.start..open, open + 1..tokens.end - 1));
        }
        let place = self.sigs[tokens.end - 1].token.span(self.file);
        let example = match rule {
            Rule::each_item => "`each node in nodes { require … }`",
            Rule::group_statement => "`group general { action_type: string }`",
            _ => "`payload respond rank 9 { response: string not blank }`",
        };
        let help = message!("for example: {example}");
        self.parsed.diagnostics.push(unexpected(
            place,
            message!("expected `{{` and then rules in braces"),
            help,
        ));
        None
    }

    fn items(&mut self, body: Range<usize>) -> Vec<Item> {
        let mut items = Vec::new();
        let mut start = body.start;
        let mut depth = 0_usize;
        for index in body.clone() {
            let token = self.sigs[index].token;
            let separates = depth == 0 && matches!(token.kind, TokenKind::Semicolon);
            let begins =
                depth == 0 && index > start && self.sigs[index].indent().is_some() && self.begins_item(index);
            if separates || begins {
                items.extend(self.item(start..index));
                start = if separates { index + 1 } else { index };
            }
            if token.kind.opens() {
                depth += 1;
            } else if token.kind.closes() {
                depth = depth.saturating_sub(1);
            }
        }
        items.extend(self.item(start..body.end));
        items
    }

    /// True if a token that starts a line begins an item: an item keyword of the table of
    /// terminals, or a field name.
    fn begins_item(&self, index: usize) -> bool {
        let token = self.sigs[index].token;
        let text = |index: usize| self.sigs.get(index).map_or("", |sig| sig.token.text(self.text));
        if !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
            return false;
        }
        let is_field = text(index + 1) == ":" || (text(index + 1) == "?" && text(index + 2) == ":")
            // The lexer may read `?:` as one token.
            || text(index + 1) == "?:";
        is_field || terminals::terminal(self.codes.as_bytes()[index]).begins_item()
    }

    fn item(&mut self, tokens: Range<usize>) -> Option<Item> {
        let head = self.sigs.get(tokens.start).filter(|_| !tokens.is_empty())?.token;
        let end = self.sigs[tokens.end - 1].token.end;
        let span = Span { file: self.file, start: head.start, end };
        let (docs, _) = self.before(tokens.start);
        let next = self.sigs.get(tokens.start + 1).map(|next| next.token.kind);
        let word = if next == Some(TokenKind::Colon) { "" } else { head.text(self.text) };
        let kind = match word {
            "require" => self.alone(Rule::require_item, tokens, |cx, pair| {
                let test = RuleTest::Require(condition(cx, &pair)?);
                rule(cx, pair, test)
            }),
            "forbid" => self.alone(Rule::forbid_item, tokens, |cx, pair| {
                let test = RuleTest::Forbid(condition(cx, &pair)?);
                rule(cx, pair, test)
            }),
            "compiles" => {
                self.alone(Rule::compiles_item, tokens, |cx, pair| rule(cx, pair, RuleTest::Compiles))
            }
            "closed" => self.alone(Rule::closed_item, tokens, closed),
            "include" => self.alone(Rule::include_item, tokens, include),
            "let" => self.alone(Rule::let_item, tokens, local),
            "each" => {
                let (head, body) = self.split(tokens, Rule::each_item)?;
                let read = self.alone(Rule::each_item, head, each);
                let body = self.items(body);
                read.map(|each| ItemKind::Each(EachItem { body, ..each }))
            }
            _ => self.alone(Rule::field_item, tokens, field),
        }?;
        Some(Item { kind, span, docs })
    }
}

fn statement(cx: &mut StatementContext<'_>, pair: Pair<'_>, rule: Rule) -> Built<StatementKind> {
    let name = cx.one(&pair, Rule::name, StatementContext::declared)?;
    if rule == Rule::group_statement {
        let params = cx.optional(&pair, Rule::params, fields)?.unwrap_or_default();
        return Ok(StatementKind::Group(Group { name, params, body: Vec::new() }));
    }
    let (mut rank, mut fallback) = (None, None);
    let (mut interrupts, mut suspends, mut internal) = (false, false, false);
    for clause in children(&pair, Rule::payload_clause).filter_map(|clause| clause.into_inner().next()) {
        match clause.as_rule() {
            Rule::rank => rank = Some(build::priority(cx, clause)?),
            Rule::fallback => fallback = Some(cx.one(&clause, Rule::name, StatementContext::declared)?),
            Rule::kw_interrupts => interrupts = true,
            Rule::kw_suspends => suspends = true,
            _ => internal = true,
        }
    }
    let body = Vec::new();
    Ok(StatementKind::Payload(Payload { name, rank, interrupts, suspends, internal, fallback, body }))
}

fn field(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ItemKind> {
    let mut field = FieldItem {
        name: cx.ident(&child(&pair, Rule::key)?),
        optional: has(&pair, Rule::optional_mark),
        ty: cx.one(&pair, Rule::type_expr, type_expr)?,
        nullable: has(&pair, Rule::nullable),
        not_blank: None,
        limits: None,
        exactly: None,
        notice: Notice::default(),
    };
    for clause in children(&pair, Rule::field_clause).filter_map(|clause| clause.into_inner().next()) {
        match clause.as_rule() {
            Rule::not_blank => field.not_blank = Some(cx.span(&clause)),
            Rule::one_of => field.limits = Some(one_of(cx, clause)?),
            Rule::exactly => field.exactly = Some(value(cx, clause)?),
            _ => outcome(cx, clause, &mut field.notice)?,
        }
    }
    Ok(ItemKind::Field(field))
}

fn one_of(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Limits> {
    let values = cx.one(&pair, Rule::clause, expr::range_or_expression)?;
    Ok(Limits { values, clamp: has(&pair, Rule::kw_clamp) })
}

/// Reads a clause about a violation: `else`, `repair`, `default`, `clamp`, `remove` or `warning`.
fn outcome(cx: &mut StatementContext<'_>, clause: Pair<'_>, notice: &mut Notice) -> Built<()> {
    let span = cx.span(&clause);
    let correction = match clause.as_rule() {
        Rule::message => {
            let mut texts = cx.all(&clause, Rule::string, StatementContext::spanned_string)?.into_iter();
            notice.message = texts.next().or(notice.message.take());
            notice.repair = texts.next().or(notice.repair.take());
            return Ok(());
        }
        Rule::kw_warning => {
            notice.warning = true;
            return Ok(());
        }
        Rule::fallback_value | Rule::field_default => Correction::Default(value(cx, clause)?),
        Rule::clamp_to => Correction::Clamp(value(cx, clause)?),
        _ => Correction::Remove,
    };
    if let Some(first) = &notice.correction {
        let diagnostic = Diagnostic::new(Code::Unexpected, span, message!("a second correction"))
            .label(first.span, message!("the first"))
            .help(message!("keep one of them"));
        return Err(cx.report(diagnostic));
    }
    notice.correction = Some(Spanned::new(correction, span));
    Ok(())
}

/// Reads the message, correction and severity of an item.
fn notice(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Notice> {
    let mut notice = Notice::default();
    for clause in children(pair, Rule::outcome_clause).filter_map(|clause| clause.into_inner().next()) {
        outcome(cx, clause, &mut notice)?;
    }
    Ok(notice)
}

/// Reads the expression of a clause.
fn value(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    let is_value = |pair: &Pair<'_>| matches!(pair.as_rule(), Rule::clause | Rule::field_value);
    expr::expression(cx, must(pair.into_inner().find(is_value), "a clause has a value")?)
}

fn place(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<PathExpr> {
    let dotted = has(&pair, Rule::kw_dotted);
    Ok(PathExpr { path: value(cx, pair)?, dotted })
}

fn condition(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<Expr> {
    cx.one(pair, Rule::clause, expr::expression)
}

fn rule(cx: &mut StatementContext<'_>, pair: Pair<'_>, test: RuleTest) -> Built<ItemKind> {
    Ok(ItemKind::Rule(RuleItem {
        id: cx.one(&pair, Rule::string, StatementContext::spanned_string)?,
        place: cx.optional(&pair, Rule::place, place)?,
        guard: cx.optional(&pair, Rule::guard, value)?,
        test,
        notice: notice(cx, &pair)?,
    }))
}

fn closed(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ItemKind> {
    let id = cx.optional(&pair, Rule::string, StatementContext::spanned_string)?;
    Ok(ItemKind::Closed { id, notice: notice(cx, &pair)? })
}

fn local(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ItemKind> {
    let name = cx.one(&pair, Rule::name, StatementContext::declared)?;
    Ok(ItemKind::Let { name, value: cx.one(&pair, Rule::clause, expr::expression)? })
}

fn include(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ItemKind> {
    let include_args =
        |cx: &mut StatementContext<'_>, pair: Pair<'_>| cx.all(&pair, Rule::include_arg, include_arg);
    let renamed = |cx: &mut StatementContext<'_>, pair: Pair<'_>| {
        cx.one(&pair, Rule::string, StatementContext::spanned_string)
    };
    Ok(ItemKind::Include(IncludeItem {
        group: cx.one(&pair, Rule::name, StatementContext::declared)?,
        args: cx.optional(&pair, Rule::include_args, include_args)?.unwrap_or_default(),
        renamed: cx.optional(&pair, Rule::renamed, renamed)?,
        guard: cx.optional(&pair, Rule::guard, value)?,
    }))
}

fn include_arg(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<IncludeArg> {
    let name = cx.ident(&child(&pair, Rule::key)?);
    let value = cx.one(&pair, Rule::clause, expr::expression)?;
    Ok(IncludeArg { name, value, place: cx.optional(&pair, Rule::place, place)? })
}

fn each(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<EachItem> {
    let mut names = cx.all(&pair, Rule::name, StatementContext::declared)?.into_iter();
    Ok(EachItem {
        names: (must(names.next(), "an `each` names its element")?, names.next()),
        list: cx.one(&pair, Rule::clause, expr::expression)?,
        guard: cx.optional(&pair, Rule::guard, value)?,
        body: Vec::new(),
    })
}
