//! From the grammar's pairs to the syntax tree, one statement at a time.

use super::cut::{self, Sig};
use super::tree::Pair;
use super::{Reader, Rule, decide, expr, literal, operand, request, scan};
use crate::diag::{Code, Diagnostic};
use crate::span::{FileId, Span, Spanned};
use crate::syntax::ast::{
    Expr, ExprKind, Field, Ident, ListSource, Literal, Route, StatementKind, Target, Test, TypeExpr, TypeKind,
};
use crate::syntax::lex::{Token, TokenKind};
use std::ops::Range;

/// The statement has no meaning; why has been reported.
pub(super) struct Failed;

/// What comes of building.
pub(super) type Built<T> = Result<T, Failed>;

/// The statement being read.
pub(super) struct Cx<'a> {
    pub(super) file: FileId,
    /// The whole file.
    pub(super) text: &'a str,
    /// The file's tokens without white space and comments.
    pub(super) sigs: &'a [Sig],
    /// The statement's own tokens, as indices into `sigs`.
    pub(super) tokens: Range<usize>,
    /// Where the statement stands.
    pub(super) span: Span,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'a> Cx<'a> {
    /// What a reader's tokens, at least one, are read in.
    pub(super) fn new(reader: &'a mut Reader<'_>, tokens: Range<usize>) -> Self {
        let Reader { file, text, sigs, .. } = *reader;
        let start = sigs[tokens.start].token.start;
        let end = sigs[tokens.end.max(tokens.start + 1) - 1].token.end;
        let span = Span { file, start, end };
        Cx { file, text, sigs, tokens, span, diagnostics: &mut reader.parsed.diagnostics }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        self.diagnostics.push(diagnostic);
        Failed
    }

    /// Where a pair stands: from its first token to its last.
    pub(super) fn span(&self, pair: &Pair<'_>) -> Span {
        let token = |index: usize| self.sigs.get(self.tokens.start + index).map(|sig| sig.token);
        let start = token(pair.start()).map_or(self.span.end, |first| first.start);
        let end = token(pair.end().max(pair.start() + 1) - 1).map_or(start, |last| last.end);
        Span { file: self.file, start, end }
    }

    /// The author's text of a pair.
    pub(super) fn text(&self, pair: &Pair<'_>) -> &'a str {
        &self.text[self.span(pair).range()]
    }

    /// Where the token of that number within the statement starts; past the last one, where the next
    /// statement does.
    pub(super) fn offset_of(&self, index: usize) -> u32 {
        match self.tokens.clone().nth(index) {
            Some(index) => self.sigs[index].token.start,
            None => self.next_offset(self.span.end),
        }
    }

    fn sig_index(&self, offset: u32) -> usize {
        self.sigs.partition_point(|sig| sig.token.end <= offset)
    }

    /// The token at an offset or the next one after it.
    pub(super) fn token_at(&self, offset: u32) -> Token {
        let end = self.text.len() as u32;
        let none = Token { kind: TokenKind::Stray, start: end, end };
        self.sigs.get(self.sig_index(offset)).map_or(none, |sig| sig.token)
    }

    /// Where the first token at or after an offset starts.
    pub(super) fn next_offset(&self, offset: u32) -> u32 {
        self.token_at(offset).start
    }

    /// The place of the token at an offset; at the end of the statement, its last token.
    pub(super) fn place_at(&self, offset: u32) -> Span {
        if offset < self.span.end {
            return self.token_at(offset).span(self.file);
        }
        let last = self.sig_index(self.span.end.saturating_sub(1)).min(self.sigs.len().saturating_sub(1));
        self.sigs.get(last).map_or(self.span, |sig| sig.token.span(self.file))
    }

    /// What stands at an offset, in words.
    pub(super) fn found_at(&self, offset: u32) -> String {
        if offset >= self.span.end {
            return "the end of the statement".to_owned();
        }
        format!("`{}`", self.short(self.token_at(offset).span(self.file)))
    }

    /// The author's text, cut if it is long.
    pub(super) fn short(&self, span: Span) -> String {
        let text = &self.text[span.range()];
        let line = text.lines().next().unwrap_or("");
        match line.char_indices().nth(40) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None if line.len() < text.len() => format!("{line}…"),
            None => line.to_owned(),
        }
    }

    /// A name where every word will do.
    pub(super) fn ident(&self, pair: &Pair<'_>) -> Ident {
        Spanned::new(unquote(self.text(pair)).to_owned(), self.span(pair))
    }

    /// A name of a declaration or reference; the words of operators must be quoted.
    pub(super) fn declared(&mut self, pair: &Pair<'_>) -> Built<Ident> {
        let text = self.text(pair);
        if crate::ops::is_reserved_word(text) {
            let span = self.span(pair);
            return Err(self.reserved_word(text, span, "a name"));
        }
        Ok(self.ident(pair))
    }

    pub(super) fn reserved_word(&mut self, word: &str, span: Span, wanted: &str) -> Failed {
        let diagnostic = reserved_word(word, span, wanted);
        self.report(diagnostic)
    }

    fn literal<T>(&mut self, pair: &Pair<'_>, code: Code, value: Result<T, literal::BadLiteral>) -> Built<T> {
        value.map_err(|bad| {
            let start = self.span(pair).start as usize;
            let span = Span::new(self.file, start + bad.place.start, start + bad.place.end);
            self.report(Diagnostic::new(code, span, bad.message).help(bad.help))
        })
    }

    pub(super) fn string(&mut self, pair: &Pair<'_>) -> Built<String> {
        self.literal(pair, Code::BadEscape, literal::string(self.text(pair)))
    }

    pub(super) fn number(&mut self, pair: &Pair<'_>, negative: bool) -> Built<Literal> {
        self.literal(pair, Code::NumberOutOfRange, literal::number(self.text(pair), negative))
    }

    pub(super) fn spanned_string(&mut self, pair: &Pair<'_>) -> Built<Spanned<String>> {
        Ok(Spanned::new(self.string(pair)?, self.span(pair)))
    }

    /// Reports a token that was read as the one meant.
    pub(super) fn exact(&mut self, pair: &Pair<'_>, wanted: &str, what: &str) {
        if self.text(pair) != wanted {
            let span = self.span(pair);
            self.report(scan::slip(span, format!("{what} is written `{wanted}`"), wanted));
        }
    }
}

/// The complaint about a word that must be quoted to be a name.
pub(super) fn reserved_word(word: &str, span: Span, wanted: &str) -> Diagnostic {
    let message = format!("expected {wanted}, found the reserved word `{word}`");
    let mut diagnostic = Diagnostic::new(Code::ReservedWord, span, message)
        .help(format!("if `{word}` is meant as a name, write `` `{word}` `` in backquotes"));
    diagnostic.fixes.push(crate::diag::Fix {
        span,
        replacement: format!("`{word}`"),
        applicability: crate::diag::Applicability::MaybeIncorrect,
    });
    diagnostic
}

/// A name without its backquotes.
pub(super) fn unquote(text: &str) -> &str {
    text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(text)
}

/// The child of that rule. The grammar always has one; a missing one fails the statement only.
pub(super) fn child(pair: Pair<'_>, rule: Rule) -> Built<Pair<'_>> {
    pair.into_inner().find(|child| child.as_rule() == rule).ok_or(Failed)
}

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
        Rule::name => parts.name = Some(cx.declared(&pair)?),
        Rule::string => parts.string = Some(cx.spanned_string(&pair)?),
        Rule::fields => parts.fields = Some(fields(cx, pair)?),
        Rule::params => parts.params = fields(cx, pair)?,
        Rule::expression => parts.expression = Some(expr::expression(cx, pair)?),
        Rule::list_file => {
            let path = child(pair, Rule::string)?;
            parts.file = Some(cx.spanned_string(&path)?);
        }
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
            let mut path = Vec::new();
            for pair in pair.into_inner() {
                match pair.as_rule() {
                    Rule::path => path = keys(cx, pair),
                    Rule::equals => cx.exact(&pair, "=", "what a test gives"),
                    Rule::expression => {
                        parts.given.push((std::mem::take(&mut path), expr::expression(cx, pair)?))
                    }
                    _ => {}
                }
            }
        }
        Rule::expect => {
            for pair in pair.into_inner() {
                match pair.as_rule() {
                    Rule::path => parts.expect = Some(keys(cx, pair)),
                    Rule::string => parts.breaks.push(cx.spanned_string(&pair)?),
                    _ => {}
                }
            }
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
    pair.into_inner().filter(|pair| pair.as_rule() == Rule::key).map(|pair| cx.ident(&pair)).collect()
}

/// The fields of `fields` or `params`.
pub(super) fn fields(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Vec<Field>> {
    pair.into_inner().filter(|pair| pair.as_rule() == Rule::field).map(|pair| field(cx, pair)).collect()
}

fn field(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Field> {
    let (mut name, mut ty, mut optional, mut private) = (None, None, false, false);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::key => name = Some(cx.ident(&pair)),
            Rule::optional_mark => optional = true,
            Rule::type_expr => ty = Some(type_expr(cx, pair)?),
            Rule::private => private = true,
            _ => {}
        }
    }
    let (name, ty) = name.zip(ty).ok_or(Failed)?;
    Ok(Field { name, optional, ty, private })
}

/// Reads a type.
pub(super) fn type_expr(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<TypeExpr> {
    let span = cx.span(&pair);
    let inner = pair.into_inner().next().ok_or(Failed)?;
    let kind = match inner.as_rule() {
        Rule::list_type => TypeKind::List(element(cx, inner)?),
        Rule::dict_type => TypeKind::Dict(element(cx, inner)?),
        Rule::record_type => TypeKind::Record(fields(cx, child(inner, Rule::fields)?)?),
        _ => TypeKind::Name(unquote(cx.text(&inner)).to_owned()),
    };
    Ok(TypeExpr { kind, span })
}

fn element(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Option<Box<TypeExpr>>> {
    match child(pair, Rule::type_expr) {
        Ok(pair) => Ok(Some(Box::new(type_expr(cx, pair)?))),
        Err(Failed) => Ok(None),
    }
}

fn setting(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<(Ident, Expr)> {
    let (mut name, mut value) = (None, None);
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::key => name = Some(cx.ident(&pair)),
            Rule::setting_value => value = Some(setting_value(cx, pair.into_inner().next().ok_or(Failed)?)?),
            _ => {}
        }
    }
    name.zip(value).ok_or(Failed)
}

fn setting_value(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Expr> {
    let kind = match (pair.as_rule(), cx.text(&pair)) {
        (Rule::string, _) => ExprKind::Literal(Literal::String(cx.string(&pair)?)),
        (Rule::number, _) => ExprKind::Literal(cx.number(&pair, false)?),
        (_, word @ ("true" | "false")) => ExprKind::Literal(Literal::Bool(word == "true")),
        (_, word) => ExprKind::Name(unquote(word).to_owned()),
    };
    Ok(Expr { kind, span: cx.span(&pair) })
}

pub(super) fn priority(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Spanned<i64>> {
    let mut negative = None;
    for pair in pair.into_inner() {
        match pair.as_rule() {
            Rule::minus => negative = Some(cx.span(&pair)),
            Rule::number => {
                let span = negative.unwrap_or(cx.span(&pair)).to(cx.span(&pair));
                return match cx.number(&pair, negative.is_some())? {
                    Literal::Int(value) => Ok(Spanned::new(value, span)),
                    _ => Err(cx.report(
                        Diagnostic::new(Code::NumberOutOfRange, span, "a priority is a whole number")
                            .help("higher priorities are tried first; without one it is 0"),
                    )),
                };
            }
            _ => {}
        }
    }
    Err(Failed)
}

fn target(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Target> {
    let inner = pair.into_inner().next().ok_or(Failed)?;
    let span = cx.span(&inner);
    if inner.as_rule() == Rule::goto_target {
        let name = child(inner, Rule::name)?;
        return Ok(Target::Goto { table: cx.declared(&name)?, span });
    }
    let (mut name, mut args, mut metadata) = (None, Vec::new(), Vec::new());
    for pair in inner.into_inner() {
        match pair.as_rule() {
            Rule::name => name = Some(cx.declared(&pair)?),
            Rule::arguments => args = entries(cx, pair, Rule::argument)?,
            Rule::metadata => metadata = entries(cx, pair, Rule::entry)?,
            _ => {}
        }
    }
    Ok(Target::Handler { name: name.ok_or(Failed)?, args, metadata, span })
}

fn entries(cx: &mut Cx<'_>, pair: Pair<'_>, rule: Rule) -> Built<Vec<(Ident, Expr)>> {
    pair.into_inner().filter(|pair| pair.as_rule() == rule).map(|pair| operand::entry(cx, pair)).collect()
}

/// The name that a statement's tokens would have declared if it could have been read.
pub(super) fn declared_name(file: FileId, text: &str, sigs: &[Sig]) -> Option<Ident> {
    let word = |index: usize| sigs.get(index).map(|sig| sig.token);
    let at = match word(0)?.text(text) {
        "handler" | "list" | "let" | "def" | "type" | "route" | "table" | "choice" | "flow" | "router"
        | "intent" | "entity" | "lexicon" | "payload" | "group" => 1,
        "extern" => 2,
        _ => return None,
    };
    let token = word(at)?;
    let name = token.text(text);
    let is_name =
        token.kind == TokenKind::Quoted || (token.kind == TokenKind::Word && !cut::is_reserved(name));
    is_name.then(|| Spanned::new(unquote(name).to_owned(), token.span(file)))
}
