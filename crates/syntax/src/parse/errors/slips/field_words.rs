//! Diagnostics for words and marks of other languages around a declared field, such as `optional`
//! or `list`. They mark the field as required, optional or private, or as a list. Also reports a
//! statement among the fields.

use super::super::super::context::unexpected_token;
use super::super::super::terminals::{self, Terminal};
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

/// Maximum length in bytes of a statement that a help text repeats.
const MAX_STATEMENT_BYTES: usize = 100;

/// What a word of another language means next to a declared field or its type, as in `optional
/// level: int`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldWord {
    Required,
    Optional,
    Private,
    List,
    /// A word that begins a declaration in other languages, such as `var`.
    Needless,
}

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a statement between the fields of an `input` or a type, as in
    /// `input { list words = ["a"] }`. `None` without such a mistake.
    pub(super) fn statement_between_fields_error(&self) -> Option<Diagnostic> {
        let first = self.token_index.checked_sub(1)?;
        let has_braces = matches!(self.rule, Rule::input_statement | Rule::type_statement);
        let word = self.text_of_token(first);
        let starts_statement = terminals::find_word(word).is_some_and(Terminal::starts_statement);
        if !has_braces || !starts_statement || !self.expects_rule(Rule::colon) || !self.begins_field(first) {
            return None;
        }
        let is_name =
            self.is_word(self.token_index) || self.kind_of_token(self.token_index) == Some(TokenKind::Quoted);
        let next = self.text_of_token(self.token_index + 1);
        let is_head = match word {
            "default" => self.found_text == "->",
            "settings" => self.found_text == "{",
            "history" => matches!(self.found_text, "by" | "keep"),
            "import" | "test" => self.kind_of_token(self.token_index) == Some(TokenKind::String),
            "handler" => is_name && next != ":" && next != "?",
            "route" => is_name && matches!(next, "when" | "priority" | "disabled"),
            _ => is_name && matches!(next, "=" | ":=" | "(" | "{" | "matches"),
        };
        if !is_head {
            return None;
        }
        let (mut depth, mut end) = (0_usize, self.cx.tokens.end);
        for index in first..self.cx.tokens.end {
            let kind = self.cx.significant[index].token.kind;
            let begins_next = index > first && self.begins_line(index) && !kind.closes_bracket();
            if depth == 0 && (kind.closes_bracket() || begins_next) {
                end = index;
                break;
            }
            depth += usize::from(kind.opens_bracket());
            depth -= usize::from(kind.closes_bracket());
        }
        let written = self.source_of_tokens(first..end).trim_end_matches([',', ';']);
        let block = self.text_of_token(self.cx.tokens.start);
        let message = message!("`{word}` begins a statement, but the braces of `{block}` hold only fields");
        let help = match written.len() <= MAX_STATEMENT_BYTES && !written.contains(['\n', '#']) {
            true => message!("write `{written}` after the closing brace of `{block}`"),
            false => message!("move the statement after the closing brace of `{block}`"),
        };
        Some(unexpected_token(self.span_of_tokens(first..first + 1), message, help))
    }

    /// True if a declared field can begin at the token `index`.
    fn begins_field(&self, index: usize) -> bool {
        let before = index.checked_sub(1).map_or("", |before| self.text_of_token(before));
        matches!(before, "{" | "(" | "," | ";") || self.begins_line(index)
    }

    /// Returns the index of the colon in the field declaration whose type ends before the token
    /// `end`. `None` if no type of a field ends there.
    pub(super) fn colon_before(&self, end: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for index in (self.cx.tokens.start..end).rev() {
            let (kind, text) = (self.cx.significant[index].token.kind, self.text_of_token(index));
            let opens = kind.opens_bracket() || text == "<";
            if depth == 0 && (opens || matches!(kind, TokenKind::Comma | TokenKind::Semicolon)) {
                return None;
            }
            if depth == 0 && kind == TokenKind::Colon {
                return (index + 1 < end && index > self.cx.tokens.start).then_some(index);
            }
            depth += usize::from(kind.closes_bracket() || text == ">");
            depth -= usize::from(opens);
        }
        None
    }

    /// Returns the diagnostic for the mark of an optional field before its name or its type:
    /// `?level: int`, `level: ?int`. `None` without such a mistake.
    pub(super) fn optional_mark_before_type_error(&self) -> Option<Diagnostic> {
        let mark = self.token_index;
        let before = mark.checked_sub(1)?;
        if self.found_text != "?" {
            return None;
        }
        let touches = self.cx.significant[before].token.end == self.token.start;
        let (first, name, start) = if self.text_of_token(before) == ":" {
            (before.checked_sub(1)?, before.checked_sub(1)?, mark + 1)
        } else if self.text_of_token(mark + 2) == ":" && (self.begins_field(mark) || !touches) {
            (mark, mark + 1, mark + 3)
        } else {
            return None;
        };
        let end = self.type_end(start);
        if !self.is_word(name) || end <= start {
            return None;
        }
        let written = format!("{}?: {}", self.text_of_token(name), self.source_of_tokens(start..end));
        let message = message!("`?` must come after the field's name");
        let help = message!("write `{replacement}`", replacement = written.clone());
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(first..end), written))
    }

    /// Returns the diagnostic for a generic type that this language does not have, such as
    /// `Set<string>` or `Optional<string>`. The unexpected token is the `<`. `None` for other
    /// types.
    pub(in super::super) fn generic_type_error(&self) -> Option<Diagnostic> {
        let name = self.token_index.checked_sub(1)?;
        let close = self.closing_bracket_or_end(self.token_index);
        let inner = self.source_of_tokens(self.token_index + 1..close.min(self.cx.tokens.end));
        let ty =
            self.meant_type(self.token_index + 1).filter(|_| close == self.token_index + 2).unwrap_or(inner);
        if ty.is_empty() || ty.contains(',') || self.text_of_token(close) != ">" {
            return None;
        }
        let lower = self.text_of_token(name).to_lowercase();
        if is_list_word(&lower) || lower == "arraylist" || lower == "iterable" {
            let written = format!("list<{ty}>");
            let message = message!("a type of lists is written `list<…>`");
            let span = self.span_of_tokens(name..close + 1);
            return Some(unexpected_token(span, message, message!("write `{written}`")).fix(span, written));
        }
        let colon = name.checked_sub(1).filter(|colon| self.text_of_token(*colon) == ":" && *colon > 0)?;
        let field = self.text_of_token(colon - 1);
        if !matches!(lower.as_str(), "optional" | "maybe" | "option" | "nullable") || !self.is_word(colon - 1)
        {
            return None;
        }
        let written = format!("{field}?: {ty}");
        let message = message!("an optional field has `?` after its name");
        let span = self.span_of_tokens(name..close + 1);
        let whole = self.span_of_tokens(colon - 1..close + 1);
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(whole, written))
    }

    /// Returns the diagnostic for a word before a field or after its type: `optional level: int`,
    /// `level: int optional`, `tags: string list`. `None` without such a mistake.
    pub(super) fn word_around_field_error(&self) -> Option<Diagnostic> {
        let index = self.token_index.checked_sub(1)?;
        if matches!(self.text_of_token(index), "not" | "NOT") && matches!(self.found_text, "null" | "NULL") {
            let message = message!("a field is required unless `?` follows its name");
            return self.removal_diagnostic(index, index + 2, message);
        }
        let is_literal =
            matches!(self.kind_of_token(self.token_index), Some(TokenKind::Number | TokenKind::String));
        if self.text_of_token(index) == "default" && is_literal && self.colon_before(index).is_some() {
            let message = message!("a field cannot have a default here");
            let help = message!("give the default where the field is used: `x ?? \"value\"`");
            return self.unexpected_token(message, help);
        }
        if !self.expects_rule(Rule::colon) || !self.is_word(index) {
            return None;
        }
        match self.begins_field(index) {
            true => self.word_before_field_error(index),
            false => self.word_after_type_error(index),
        }
    }

    fn word_before_field_error(&self, index: usize) -> Option<Diagnostic> {
        let word = meaning_of_field_word(self.text_of_token(index))?;
        let name = index + 1;
        let (name, ty, end) = if self.is_word(name) && self.text_of_token(name + 1) == ":" {
            let end = self.type_end(name + 2);
            (name, self.source_of_tokens(name + 2..end), end)
        } else {
            // `optional string text`
            let ty = self.meant_type(name).filter(|_| self.is_word(name + 1))?;
            (name + 1, ty, name + 2)
        };
        if ty.is_empty() {
            return None;
        }
        let written = write_field_declaration(word, self.text_of_token(name), ty)?;
        let span = self.span_of_tokens(index..index + 1);
        let message = message!("a field begins with its name, not with `{}`", self.text_of_token(index));
        let help = message!("write `{written}`");
        Some(unexpected_token(span, message, help).fix(self.span_of_tokens(index..end), written))
    }

    fn word_after_type_error(&self, index: usize) -> Option<Diagnostic> {
        let colon = self.colon_before(index)?;
        let name = colon - 1 - usize::from(self.text_of_token(colon - 1) == "?");
        let head = self.source_of_tokens(name..colon + 1);
        let span = self.span_of_tokens(index..index + 1);
        let is_one_word = colon + 2 == index;
        // `tags: list string`
        let element =
            self.meant_type(index).filter(|_| is_one_word && is_list_word(self.text_of_token(colon + 1)));
        let ty = self.source_of_tokens(colon + 1..index);
        let written_list = |element: &str| {
            let written = format!("{head} list<{element}>");
            let message = message!("a type of lists is written `list<…>`");
            let help = message!("write `{written}`");
            Some(unexpected_token(span, message, help).fix(self.span_of_tokens(name..index + 1), written))
        };
        if let Some(element) = element {
            return written_list(element);
        }
        // `level: optional int`
        let early = meaning_of_field_word(self.text_of_token(colon + 1)).filter(|_| is_one_word);
        if let Some(word @ (FieldWord::Optional | FieldWord::Required)) = early {
            let ty = self.meant_type(index)?;
            let written = write_field_declaration(word, self.text_of_token(name), ty)?;
            let message = message!("`{}` is not part of a type", self.text_of_token(colon + 1));
            let help = message!("write `{written}`");
            let span = self.span_of_tokens(colon + 1..colon + 2);
            return Some(
                unexpected_token(span, message, help).fix(self.span_of_tokens(name..index + 1), written),
            );
        }
        match meaning_of_field_word(self.text_of_token(index))? {
            FieldWord::List => written_list(self.meant_type(colon + 1).filter(|_| is_one_word).unwrap_or(ty)),
            FieldWord::Required => self.removal_diagnostic(
                index,
                index + 1,
                message!("a field is required unless `?` follows its name"),
            ),
            FieldWord::Needless => None,
            word => {
                let written = write_field_declaration(word, self.text_of_token(name), ty)?;
                let message = match word {
                    FieldWord::Private => message!("a field is marked with `@private`"),
                    _ => message!("an optional field has `?` after its name"),
                };
                let help = message!("write `{written}`");
                Some(unexpected_token(span, message, help).fix(self.span_of_tokens(name..index + 1), written))
            }
        }
    }
}

/// Returns the declaration of a field in this language, such as `n?: int` for the word `optional`,
/// the name `n` and the type `int`.
fn write_field_declaration(word: FieldWord, name: &str, ty: &str) -> Option<String> {
    Some(match word {
        FieldWord::Optional => format!("{name}?: {ty}"),
        FieldWord::Private => format!("{name}: {ty} @private"),
        FieldWord::List => format!("{name}: list<{ty}>"),
        FieldWord::Required | FieldWord::Needless => format!("{name}: {ty}"),
    })
}

pub(super) fn is_list_word(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "list" | "array" | "set" | "sequence" | "vector" | "seq")
}

/// Returns the meaning of a word that other languages write next to a field. `None` for other
/// words, which may be names of fields.
pub(super) fn meaning_of_field_word(word: &str) -> Option<FieldWord> {
    Some(match word.to_lowercase().replace('_', "").as_str() {
        "required" | "mandatory" | "notnull" | "nonnull" | "必填" | "必需" | "必须" | "必选" => {
            FieldWord::Required
        }
        "optional" | "nullable" | "null" | "maybe" | "可选" | "选填" | "可空" | "非必填" => {
            FieldWord::Optional
        }
        "private" | "secret" | "sensitive" | "私有" | "保密" => FieldWord::Private,
        "repeated" | "列表" | "数组" => FieldWord::List,
        word if is_list_word(word) => FieldWord::List,
        "var" | "let" | "const" | "val" | "public" | "readonly" | "final" | "static" | "field" | "param"
        | "mut" | "字段" => FieldWord::Needless,
        _ => return None,
    })
}
