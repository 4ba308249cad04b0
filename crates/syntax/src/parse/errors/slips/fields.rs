//! Diagnostics for common mistakes in declared fields and parameters: a type before its name, a
//! name with a dot, or enumeration values without quotes.

use super::super::super::context::unexpected_token;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_lang::ty::Ty;
use std::ops::Range;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a common mistake in the declaration of a field. `None` without
    /// such a mistake.
    pub(super) fn field_declaration_error(&self) -> Option<Diagnostic> {
        if !self.statement_declares_fields() {
            return None;
        }
        self.statement_between_fields_error()
            .or_else(|| self.optional_mark_before_type_error())
            .or_else(|| self.word_around_field_error())
            .or_else(|| self.type_before_name_error())
            .or_else(|| self.dotted_fields_error())
            .or_else(|| self.unquoted_enum_values_error())
            .or_else(|| self.type_with_length_error())
            .or_else(|| self.bracketed_enum_values_error())
    }

    pub(super) fn meant_type(&self, index: usize) -> Option<&'static str> {
        Ty::builtin_for_type_name(self.text_of_token(index))
    }

    pub(super) fn is_word(&self, index: usize) -> bool {
        self.kind_of_token(index) == Some(TokenKind::Word)
    }

    /// Returns the diagnostic for a parameter in the syntax of another language: `string reason` or
    /// `reason string`. `None` without such a mistake.
    fn type_before_name_error(&self) -> Option<Diagnostic> {
        let first = self.token_index.checked_sub(1)?;
        if !self.expects_rule(Rule::colon) {
            return None;
        }
        let declared = |first: usize| {
            let is_pair = self.is_word(first) && self.is_word(first + 1);
            let is_builtin = |index: usize| Ty::BUILTIN_NAMES.contains(&self.text_of_token(index));
            // `text` is a type of other languages, but also a usual name.
            let first_type = self.meant_type(first).filter(|_| is_builtin(first) || !is_builtin(first + 1));
            let (name, ty) = match (first_type, self.meant_type(first + 1)) {
                (Some(ty), _) if is_pair => (self.text_of_token(first + 1), ty),
                (None, Some(ty)) if is_pair => (self.text_of_token(first), ty),
                _ => return None,
            };
            Some(format!("{name}: {ty}"))
        };
        // `tags: array of string`
        let is_list = matches!(
            first.checked_sub(1).map_or("", |before| self.text_of_token(before)).to_lowercase().as_str(),
            "array" | "list" | "set" | "sequence" | "vector"
        );
        if let Some(element) =
            self.meant_type(first + 1).filter(|_| is_list && self.text_of_token(first) == "of")
        {
            let written = format!("list<{element}>");
            let span = self.span_of_tokens(first - 1..first + 2);
            let message = message!("a type of lists is written `list<…>`");
            return Some(unexpected_token(span, message, message!("write `{written}`")).fix(span, written));
        }
        let mut fields = vec![declared(first)?];
        let mut end = first + 2;
        while let Some(field) = (self.text_of_token(end) == ",").then(|| declared(end + 1)).flatten() {
            fields.push(field);
            end += 3;
        }
        let replacement = fields.join(", ");
        let message = message!("the name comes first, then `:` and the type");
        let span = self.span_of_tokens(first..end);
        Some(unexpected_token(span, message, message!("write `{replacement}`")).fix(span, replacement))
    }

    /// Finds consecutive fields with dotted names that begin with the same word, such as `ctx.a`
    /// and `ctx.b`. The first begins at the token `first`. Returns their token range, and the text
    /// of each field without this word. `None` if one of them is not complete.
    fn find_fields_with_prefix(&self, first: usize) -> Option<(Range<usize>, Vec<String>)> {
        let root = self.text_of_token(first);
        let (mut at, mut end, mut fields) = (first, first, Vec::new());
        while self.text_of_token(at) == root && self.text_of_token(at + 1) == "." {
            let colon = (at..self.cx.tokens.end).find(|index| self.text_of_token(*index) == ":")?;
            end = self.type_end(colon + 1);
            let (name, ty) = (self.source_of_tokens(at + 2..colon), self.source_of_tokens(colon + 1..end));
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '?');
            if ty.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            let names: Vec<&str> = name.split('.').collect();
            let (last, parents) = names.split_last()?;
            let field = format!("{last}: {ty}");
            fields.push(parents.iter().rev().fold(field, |field, parent| format!("{parent}: {{ {field} }}")));
            at = end + usize::from(matches!(self.text_of_token(end), "," | ";"));
        }
        Some((first..end, fields))
    }

    /// Returns the index of the first token after the type that begins at the token `first`.
    pub(super) fn type_end(&self, first: usize) -> usize {
        let mut depth = 0_usize;
        for index in first..self.cx.tokens.end {
            let (kind, text) = (self.cx.significant[index].token.kind, self.text_of_token(index));
            let begins_line = index > first && self.cx.significant[index].indent().is_some();
            let ends = matches!(kind, TokenKind::Comma | TokenKind::Semicolon)
                || kind.closes_bracket()
                || begins_line && text != "|";
            if depth == 0 && ends {
                return index;
            }
            depth += usize::from(kind.opens_bracket() || text == "<");
            depth = depth.saturating_sub(usize::from(kind.closes_bracket() || text == ">"));
        }
        self.cx.tokens.end
    }

    /// Returns the diagnostic for declared fields with a dot in their names: `ctx.count: int`.
    /// `None` without such a mistake.
    fn dotted_fields_error(&self) -> Option<Diagnostic> {
        let first = self.token_index.checked_sub(1)?;
        if self.found_text != "." || !self.expects_rule(Rule::colon) || !self.is_word(first) {
            return None;
        }
        let (tokens, fields) = self.find_fields_with_prefix(first)?;
        let root = self.text_of_token(first);
        let replacement = format!("{root}: {{ {} }}", fields.join(", "));
        let message = message!("the name of a field cannot contain `.`");
        let help = message!("declare the fields of `{root}` in braces: write `{replacement}`");
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(tokens), replacement))
    }

    /// Returns the diagnostic for enumeration values without quotes: `lang: en | de`. `None`
    /// without such a mistake, or if the words are names of types.
    fn unquoted_enum_values_error(&self) -> Option<Diagnostic> {
        let is_separator = |index: usize| matches!(self.text_of_token(index), "|" | "or" | "OR" | "/");
        let is_value =
            |index: usize| self.is_word(index) || self.kind_of_token(index) == Some(TokenKind::String);
        let mut first = if is_separator(self.token_index) { self.token_index } else { self.token_index - 1 };
        if !is_separator(first) || first <= self.cx.tokens.start {
            return None;
        }
        first -= 1;
        while first > self.cx.tokens.start + 1 && is_separator(first - 1) && is_value(first - 2) {
            first -= 2;
        }
        let mut end = first + 1;
        while is_separator(end) && is_value(end + 1) {
            end += 2;
        }
        let values = || (first..end).step_by(2);
        let is_type = |index: usize| {
            self.meant_type(index).is_some()
                || matches!(self.text_of_token(index), "null" | "None" | "nil" | "none" | "undefined")
        };
        if end == first + 1 || !values().all(is_value) || values().any(is_type) {
            return None;
        }
        let quoted = |index: usize| match self.is_word(index) {
            true => format!("\"{}\"", self.text_of_token(index)),
            false => self.text_of_token(index).to_owned(),
        };
        let replacement = values().map(quoted).collect::<Vec<_>>().join(" | ");
        let message = message!("the values of an enumeration are written in quotes, with `|` between them");
        let span = self.span_of_tokens(first..end);
        Some(unexpected_token(span, message, message!("write `{replacement}`")).likely_fix(span, replacement))
    }

    /// Returns the diagnostic for enumeration values in brackets: `lang: ["en", "de"]`, or in
    /// parentheses. `None` without such a mistake.
    fn bracketed_enum_values_error(&self) -> Option<Diagnostic> {
        if !matches!(self.found_text, "[" | "(") || !self.is_preceded_by(":") {
            return None;
        }
        let close = self.closing_bracket_or_end(self.token_index);
        let is_text = |index: usize| self.kind_of_token(index) == Some(TokenKind::String);
        let elements = self.token_index + 1..close;
        let is_part = |index: usize| is_text(index) || matches!(self.text_of_token(index), "," | "|");
        let is_list = elements.clone().all(is_part);
        if !is_list || elements.is_empty() {
            return None;
        }
        let values: Vec<&str> =
            elements.filter(|index| is_text(*index)).map(|index| self.text_of_token(index)).collect();
        let written = values.join(" | ");
        let span = self.span_of_tokens(self.token_index..(close + 1).min(self.cx.tokens.end));
        let message = message!("the values of an enumeration are written in quotes, with `|` between them");
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(span, written))
    }

    /// Returns the diagnostic for a type with a length or with brackets: `decimal(10,2)`, `int[]`.
    /// `None` without such a mistake.
    pub(super) fn type_with_length_error(&self) -> Option<Diagnostic> {
        let name = self.token_index.checked_sub(1)?;
        let ty = self.meant_type(name).filter(|_| matches!(self.found_text, "(" | "["))?;
        let end = self.closing_bracket_or_end(self.token_index) + 1;
        let inside = self.token_index + 1..(end - 1).min(self.cx.tokens.end);
        let is_size = |index: usize| {
            self.kind_of_token(index) == Some(TokenKind::Number)
                || matches!(self.text_of_token(index), "," | "max" | "MAX")
        };
        let (message, replacement) = match self.found_text {
            "(" if inside.clone().all(is_size) => {
                (message!("a type has no length and no number of digits"), ty.to_owned())
            }
            "[" if inside.is_empty() => {
                (message!("a type of lists is written `list<…>`"), format!("list<{ty}>"))
            }
            _ => return None,
        };
        let span = self.span_of_tokens(name..end.min(self.cx.tokens.end));
        Some(unexpected_token(span, message, message!("write `{replacement}`")).fix(span, replacement))
    }
}
