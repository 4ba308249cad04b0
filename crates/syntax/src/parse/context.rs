//! The context from which builders create the syntax tree of one statement: its tokens and their
//! spans, its source text, and the diagnostics.

use super::declared::DeclaredNames;
use super::stream::SignificantToken;
use super::{FileParser, Pair, Rule, foreign, literal, phrase, terminals};
use crate::ast::{Ident, Literal};
use crate::lex::{Token, TokenKind};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::{FileId, Span, Spanned};
use rulec_base::{broken_invariant, message};
use std::cell::OnceCell;
use std::fmt::Display;
use std::ops::Range;

/// The error of building the syntax tree of a statement. It has no data, because a diagnostic
/// already reports the error.
pub(super) struct BuildFailed;

pub(super) type Built<T> = Result<T, BuildFailed>;

pub(super) struct StatementContext<'a> {
    pub(super) file: FileId,
    pub(super) text: &'a str,
    /// The significant tokens of the file: all tokens except white space and comments.
    pub(super) significant: &'a [SignificantToken],
    /// The tokens of the statement, as indices into `significant`.
    pub(super) tokens: Range<usize>,
    /// The index in `significant` of the first token that was parsed together with the statement.
    /// Token positions in tree nodes are relative to this token.
    first_parsed_token: usize,
    /// The codes of the tokens, starting with the token `first_parsed_token`. A code is one ASCII
    /// character that identifies a keyword, a symbol or a kind of token.
    pub(super) token_codes: &'a [u8],
    pub(super) span: Span,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    declared: &'a OnceCell<DeclaredNames>,
}

impl<'a> StatementContext<'a> {
    /// Creates the context for a statement or item of at least one token. The tree nodes may come
    /// from a parse of several statements, which began at the token `base`. Positions in tree nodes
    /// are relative to this token.
    pub(super) fn new(reader: &'a mut FileParser<'_>, tokens: Range<usize>, base: usize) -> Self {
        let FileParser { file, text, significant, token_codes: codes, .. } = *reader;
        let codes = &codes.as_bytes()[base..];
        let start = significant[tokens.start].token.start;
        let end = significant[tokens.end.max(tokens.start + 1) - 1].token.end;
        let span = Span { file, start, end };
        StatementContext {
            file,
            text,
            significant,
            tokens,
            first_parsed_token: base,
            token_codes: codes,
            span,
            diagnostics: &mut reader.parsed.diagnostics,
            declared: &reader.declared,
        }
    }

    /// Returns the index of the bracket that closes the bracket at `open`, or the end of the
    /// statement. In contrast to types, `<` and `>` are comparisons here.
    pub(super) fn end_of_brackets(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        let closes = |index: &usize| {
            let kind = self.significant[*index].token.kind;
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            depth == 0
        };
        (open..self.tokens.end).find(closes).unwrap_or(self.tokens.end)
    }

    /// Returns the names that the file declares.
    pub(super) fn declared(&self) -> &DeclaredNames {
        self.declared.get_or_init(|| DeclaredNames::collect_names(self.text, self.significant))
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> BuildFailed {
        self.diagnostics.push(diagnostic);
        BuildFailed
    }

    /// Returns the span of a pair (a tree node), from its first token to its last.
    pub(super) fn span(&self, pair: &Pair<'_>) -> Span {
        self.span_of(pair.tokens())
    }

    /// Returns the span from the first to the last of the tokens in a range, whose indices are
    /// relative to `first_parsed_token`. For an empty range, returns the span of the token at its
    /// start.
    pub(super) fn span_of(&self, tokens: Range<usize>) -> Span {
        let token =
            |index: usize| self.significant.get(self.first_parsed_token + index).map(|item| item.token);
        let start = token(tokens.start).map_or(self.span.end, |first| first.start);
        let end = token(tokens.end.max(tokens.start + 1) - 1).map_or(start, |last| last.end);
        Span { file: self.file, start, end }
    }

    pub(super) fn text(&self, pair: &Pair<'_>) -> &'a str {
        &self.text[self.span(pair).range()]
    }

    /// Returns the token at a byte offset, or the next token after the offset. After the last
    /// token, returns an empty stray token at the end of the text.
    pub(super) fn token_at(&self, offset: u32) -> Token {
        let end = self.text.len() as u32;
        let end_token = Token { kind: TokenKind::Stray, start: end, end };
        let index = self.significant.partition_point(|item| item.token.end <= offset);
        self.significant.get(index).map_or(end_token, |item| item.token)
    }

    /// Returns the text of the last token before a byte offset. `None` at the start of the
    /// statement.
    pub(super) fn token_before(&self, offset: u32) -> Option<&'a str> {
        let index = self.significant.partition_point(|item| item.token.end <= offset).checked_sub(1)?;
        (index >= self.tokens.start).then(|| self.significant[index].token.text(self.text))
    }

    /// Returns the span of the token at a byte offset, or of the next token, with its text in
    /// backquotes for a message. At the end of the statement, returns the span of the last token,
    /// and the phrase for the end of the statement.
    pub(super) fn describe_token_at(&self, offset: u32) -> (Span, Message) {
        let token = self.token_at(offset);
        if token.start < self.span.end {
            let span = token.span(self.file);
            return (span, message!("`{}`", self.shorten_source(span)));
        }
        let last_token = self.token_at(self.span.end.saturating_sub(1));
        (last_token.span(self.file), phrase::END_OF_STATEMENT)
    }

    /// Returns the kind of the innermost bracket that is open at a byte offset. Only brackets of
    /// the statement count. `None` if no bracket is open.
    pub(super) fn innermost_open_bracket(&self, offset: u32) -> Option<TokenKind> {
        let mut open_brackets = Vec::new();
        let tokens = self.significant[self.tokens.clone()].iter().map(|item| item.token);
        for token in tokens.take_while(|token| token.start < offset) {
            if token.kind.opens_bracket() {
                open_brackets.push(token.kind);
            } else if token.kind.closes_bracket() {
                open_brackets.pop();
            }
        }
        open_brackets.pop()
    }

    /// Returns the source text of a span, shortened to its first line and to at most 40 characters.
    pub(super) fn shorten_source(&self, span: Span) -> String {
        let text = &self.text[span.range()];
        let line = text.lines().next().unwrap_or("");
        match line.char_indices().nth(40) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None if line.len() < text.len() => format!("{line}…"),
            None => line.to_owned(),
        }
    }

    /// Converts a tree node for a name to an identifier without backquotes. Accepts every word,
    /// also a reserved one, because after a dot, for example, every word is a name.
    pub(super) fn read_ident(&self, pair: &Pair<'_>) -> Ident {
        Spanned::new(unquote(self.text(pair)).to_owned(), self.span(pair))
    }

    /// Returns the names of a path such as `ctx.user.role`, each with its span.
    pub(super) fn read_path(&self, pair: Pair<'_>) -> Vec<Ident> {
        children(&pair, Rule::key).map(|pair| self.read_ident(&pair)).collect()
    }

    /// Reads the name of a declaration, or of a reference to it. An operator word, such as
    /// `contains`, needs backquotes to be a name. Without them, reports an error and fails.
    pub(super) fn read_declared_name(&mut self, pair: Pair<'_>) -> Built<Ident> {
        let text = self.text(&pair);
        let span = self.span(&pair);
        // No backquotes make `none` the name of a route. The checker says so.
        let is_entry = matches!(self.token_before(span.start), Some("route" | "table" | "choice" | "router"));
        if rulec_lang::operators::is_reserved_word(text) && !(text == "none" && is_entry) {
            return Err(self.report_reserved_word(text, span, message!("a name")));
        }
        Ok(self.read_ident(&pair))
    }

    pub(super) fn report_reserved_word(&mut self, word: &str, span: Span, expected: Message) -> BuildFailed {
        let diagnostic = reserved_word_error(word, span, expected);
        self.report(diagnostic)
    }

    fn report_bad_literal<T>(
        &mut self,
        span: Span,
        code: Code,
        value: Result<T, literal::LiteralError>,
    ) -> Built<T> {
        value.map_err(|error| {
            let start = span.start as usize;
            let place = Span::new(self.file, start + error.error_range.start, start + error.error_range.end);
            let diagnostic = Diagnostic::new(code, place, error.message).help(error.help);
            self.report(match error.replacement {
                Some(replacement) => diagnostic.likely_fix(span, replacement),
                None => diagnostic,
            })
        })
    }

    pub(super) fn read_string(&mut self, span: Span) -> Built<String> {
        let written = &self.text[span.range()];
        let parsed = literal::parse_string(written);
        let is_regex = parsed.is_err() && literal::looks_like_regex(written);
        let failed = self.report_bad_literal(span, Code::BadEscape, parsed);
        if let (true, Some(last)) = (is_regex, self.diagnostics.last_mut()) {
            let raw = format!("r{written}");
            let help = message!("write a raw text, in which a backslash is a backslash: `{raw}`");
            *last = last.clone().help(help).fix(span, raw);
        }
        failed
    }

    pub(super) fn read_number(&mut self, span: Span, negative: bool) -> Built<Literal> {
        let written = &self.text[span.range()];
        let number = literal::parse_number(written, negative);
        if let Some(kept) = literal::inexact_number(written).filter(|_| number.is_ok()) {
            let message = message!("the number `{written}` is not kept exactly: it is read as {kept}");
            let help = message!("a float has 53 binary digits, about 16 decimal digits: write `{kept}`");
            let diagnostic = Diagnostic::new(Code::InexactNumber, span, message);
            self.diagnostics.push(diagnostic.help(help).fix(span, kept));
        }
        if let Some((decimal, octal)) = literal::decimal_and_octal_values(written).filter(|_| number.is_ok())
        {
            let message =
                message!("`{written}` is the decimal number {decimal}: zeros at the start have no meaning");
            let help = message!("write `{decimal}`, or `{octal}` if the digits are octal");
            let diagnostic = Diagnostic::new(Code::NumbersLikeOthers, span, message);
            self.diagnostics.push(diagnostic.help(help));
        }
        // `6M` after `keep` or `within` means months or minutes, not millions or megabytes.
        let before = self.text[..span.start as usize].trim_end();
        let is_duration = ["keep", "within"].into_iter().any(|word| before.ends_with(word));
        let months = written.strip_suffix('M').filter(|_| is_duration);
        let number = number.map_err(|error| match months {
            Some(count) => {
                let days =
                    literal::number_with_meant_unit(count, "month").unwrap_or_else(|| "30d".to_owned());
                let help = message!("for months write days, as in `{days}`; for minutes write `{count}m`");
                literal::LiteralError { help, replacement: Some(days), ..error }
            }
            None => error,
        });
        self.report_bad_literal(span, Code::NumberOutOfRange, number)
    }

    /// Converts a tree node for a number with an optional minus sign to a literal.
    pub(super) fn read_signed_number(&mut self, pair: &Pair<'_>) -> Built<Spanned<Literal>> {
        let minus = children(pair, Rule::minus).next().map(|minus| self.span(&minus));
        let number = self.span(&required_child(pair, Rule::number)?);
        let span = minus.map_or(number, |minus| minus.to(number));
        Ok(Spanned::new(self.read_number(number, minus.is_some())?, span))
    }

    pub(super) fn read_spanned_string(&mut self, pair: Pair<'_>) -> Built<Spanned<String>> {
        let span = self.span(&pair);
        Ok(Spanned::new(self.read_string(span)?, span))
    }

    /// Returns the result of `build` for the first child of `pair` that the grammar rule `rule`
    /// matched. The grammar always produces such a child; without it, fails.
    pub(super) fn build_child<'p, T>(
        &mut self,
        pair: &Pair<'p>,
        rule: Rule,
        build: impl FnOnce(&mut Self, Pair<'p>) -> Built<T>,
    ) -> Built<T> {
        build(self, required_child(pair, rule)?)
    }

    /// Returns the result of `build` for the first child of `pair` that the grammar rule `rule`
    /// matched. `None` if there is no such child.
    pub(super) fn build_optional_child<'p, T>(
        &mut self,
        pair: &Pair<'p>,
        rule: Rule,
        build: impl FnOnce(&mut Self, Pair<'p>) -> Built<T>,
    ) -> Built<Option<T>> {
        children(pair, rule).next().map(|child| build(self, child)).transpose()
    }

    /// Returns the results of `build` for all children of `pair` that the grammar rule `rule`
    /// matched.
    pub(super) fn build_children<'p, T>(
        &mut self,
        pair: &Pair<'p>,
        rule: Rule,
        mut build: impl FnMut(&mut Self, Pair<'p>) -> Built<T>,
    ) -> Built<Vec<T>> {
        children(pair, rule).map(|child| build(self, child)).collect()
    }

    /// Reports a token that the grammar accepts although it is not the correct spelling `wanted`,
    /// such as `=>` for `->`. `what` names the meaning of the token in the message.
    pub(super) fn check_spelling(&mut self, pair: &Pair<'_>, wanted: &str, what: Message) {
        if self.text(pair) != wanted {
            let span = self.span(pair);
            self.report(foreign::foreign_syntax_error(
                span,
                message!("{what} is written `{wanted}`"),
                wanted,
            ));
        }
    }
}

/// Creates the diagnostic for a token that the grammar does not allow at its position.
pub(super) fn unexpected_token(
    span: Span,
    message: impl Into<Message>,
    help: impl Into<Message>,
) -> Diagnostic {
    Diagnostic::new(Code::Unexpected, span, message).help(help)
}

/// Creates the diagnostic for a word that must be in backquotes to be a name. `wanted` describes
/// what the grammar expects instead of the word, such as "a name".
pub(super) fn reserved_word_error(word: &str, span: Span, wanted: Message) -> Diagnostic {
    let message = message!("expected {wanted}, found the reserved word `{word}`");
    Diagnostic::new(Code::ReservedWord, span, message)
        .help(message!("if `{word}` is meant as a name, write `` `{word}` `` in backquotes"))
        .likely_fix(span, format!("`{word}`"))
}

/// Creates the diagnostic for a reserved word where a value is expected. The author may have meant
/// a name or a text.
pub(super) fn reserved_value_error(word: &str, span: Span) -> Diagnostic {
    reserved_word_error(word, span, message!("a value")).help(message!(
        "if `{word}` is meant as a name, write `` `{word}` `` in backquotes; write a text in quotes: \
        \"{word}\""
    ))
}

/// Removes the backquotes from a name. A name without backquotes stays as it is.
pub(super) fn unquote(text: &str) -> &str {
    text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(text)
}

/// Unwraps a part of a parse tree that the grammar always produces. `invariant` says why the part
/// must exist. If it is missing, debug builds panic, and release builds fail only for this
/// statement.
pub(super) fn expect_part<T>(part: Option<T>, invariant: impl Display) -> Built<T> {
    part.ok_or_else(|| {
        broken_invariant!("{invariant}");
        BuildFailed
    })
}

/// Returns the first child of `pair` that the grammar rule `rule` matched. The grammar always
/// produces such a child; without it, fails.
pub(super) fn required_child<'p>(pair: &Pair<'p>, rule: Rule) -> Built<Pair<'p>> {
    expect_part(children(pair, rule).next(), format_args!("{:?} has a {rule:?}", pair.as_rule()))
}

/// Returns the first child of a tree node. The grammar always produces one.
pub(super) fn first_child<'p>(pair: &Pair<'p>) -> Built<Pair<'p>> {
    expect_part(pair.into_inner().next(), format_args!("{:?} has a child", pair.as_rule()))
}

pub(super) fn children<'p>(pair: &Pair<'p>, rule: Rule) -> impl Iterator<Item = Pair<'p>> {
    pair.into_inner().filter(move |child| child.as_rule() == rule)
}

pub(super) fn has_child(pair: &Pair<'_>, rule: Rule) -> bool {
    children(pair, rule).next().is_some()
}

/// Returns the names that a statement with errors would have declared. `significant` has the
/// tokens of the statement. Empty if its keyword declares no name, or if no valid name follows the
/// keyword.
///
/// Three statements declare words of the language: `history` declares `history` and `previous`,
/// `input` declares `input`, and `settings` declares `settings`. The first word is the name in a
/// statement without its keyword (`late = a > 3`) or with the keyword after it (`words list =
/// [..]`).
pub(super) fn declared_names(file: FileId, text: &str, significant: &[SignificantToken]) -> Vec<Ident> {
    let Some(head) = significant.first().map(|item| item.token) else {
        broken_invariant!("a statement has a token");
        return Vec::new();
    };
    let is_definition = matches!(significant.get(1).map(|item| item.token.text(text)), Some("=" | ":="));
    if is_definition && head.kind == TokenKind::Word {
        return vec![Spanned::new(head.text(text).to_owned(), head.span(file))];
    }
    // `words list = [..]`
    let follows_name = significant.get(1).and_then(|item| terminals::find_word(item.token.text(text)));
    let is_keyword = terminals::find_word(head.text(text)).is_some();
    if follows_name.is_some_and(terminals::Terminal::declares_name)
        && head.kind == TokenKind::Word
        && !is_keyword
    {
        return vec![Spanned::new(head.text(text).to_owned(), head.span(file))];
    }
    let Some(word) = terminals::find_word(head.text(text)) else {
        // `lists words = [..]` and `defn big(n) = …` have a misspelt keyword.
        let is_declaration =
            matches!(significant.get(2).map(|item| item.token.text(text)), Some("=" | ":=" | "(" | "{"));
        let name = significant.get(1).map(|item| item.token).filter(|name| {
            is_declaration && name.kind == TokenKind::Word && !terminals::is_reserved(name.text(text))
        });
        return name
            .map(|name| Spanned::new(name.text(text).to_owned(), name.span(file)))
            .into_iter()
            .collect();
    };
    let fixed: &[&str] = match word.statement_rule {
        Some(Rule::history_statement) => &["history", "previous"],
        Some(Rule::input_statement) => &["input"],
        Some(Rule::settings_statement) => &["settings"],
        _ => &[],
    };
    if !word.declares_name() {
        return fixed.iter().map(|name| Spanned::new((*name).to_owned(), head.span(file))).collect();
    }
    // `extern fn NAME`
    let index = if word.statement_rule == Some(Rule::extern_statement) { 2 } else { 1 };
    let Some(token) = significant.get(index).map(|item| item.token) else { return Vec::new() };
    let name = token.text(text);
    let is_name =
        token.kind == TokenKind::Quoted || (token.kind == TokenKind::Word && !terminals::is_reserved(name));
    let names = is_name.then(|| Spanned::new(unquote(name).to_owned(), token.span(file))).into_iter();
    names.chain(name_after_value(file, text, significant)).collect()
}

/// Returns the name that was written at the end of a definition, after its value, as in `let a > 3
/// = late`. `None` for other statements.
fn name_after_value(file: FileId, text: &str, significant: &[SignificantToken]) -> Option<Ident> {
    let [head, .., sign, name] = significant else { return None };
    let is_definition = matches!(head.token.text(text), "let" | "list" | "def");
    let follows_sign = matches!(sign.token.text(text), "=" | ":=") && significant.len() > 4;
    let written = name.token.text(text);
    let is_name = name.token.kind == TokenKind::Word && !terminals::is_reserved(written);
    (is_definition && follows_sign && is_name)
        .then(|| Spanned::new(written.to_owned(), name.token.span(file)))
}
