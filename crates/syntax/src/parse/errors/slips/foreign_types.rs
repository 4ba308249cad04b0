//! Diagnostics for the type of a field as other languages write it: `note: optional(string)`,
//! `note: string!`, `note = string`, and `note: string !blank`.

use super::super::super::context::unexpected_token;
use super::super::super::remedy;
use super::super::{ParseFailure, Rule, is_payload_item};
use super::field_words::{FieldWord, is_list_word, meaning_of_field_word};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::Ty;

/// Words before the name of a type in other languages: modules such as `z` in `z.string()`, and
/// words such as `of` in `list of string`.
const FOREIGN_TYPE_PREFIXES: [&str; 14] =
    ["z", "zod", "t", "v", "s", "type", "types", "schema", "joi", "yup", "typing", "yield", "of", "is"];

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a type in the syntax of another language. `None` without such a
    /// type.
    pub(super) fn foreign_type_form_error(&self) -> Option<Diagnostic> {
        self.word_before_type_of_item_error()
            .or_else(|| self.foreign_not_blank_error())
            .or_else(|| self.foreign_sign_before_type_error())
            .or_else(|| self.type_in_wrapper_error())
            .or_else(|| self.type_with_length_error().filter(|_| self.rule == Rule::field_item))
    }

    /// Returns the diagnostic for a word such as `required` before the type of a payload's field:
    /// `amount: required int`. `None` for other words.
    fn word_before_type_of_item_error(&self) -> Option<Diagnostic> {
        let (word, colon) = (self.token_index.checked_sub(1)?, self.token_index.checked_sub(2)?);
        let ty = self.meant_type(self.token_index)?;
        if self.rule != Rule::field_item || self.text_of_token(colon) != ":" || colon <= self.cx.tokens.start
        {
            return None;
        }
        let name = self.text_of_token(self.cx.tokens.start);
        let written = match meaning_of_field_word(self.text_of_token(word))? {
            FieldWord::Required => format!("{name}: {ty}"),
            FieldWord::Optional => format!("{name}?: {ty}"),
            _ => return None,
        };
        let message = message!("a field is required unless `?` follows its name");
        let span = self.span_of_tokens(word..word + 1);
        let whole = self.span_of_tokens(self.cx.tokens.start..self.token_index + 1);
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(whole, written))
    }

    /// Returns the index of the colon in the field in which parsing fails. `None` if parsing does
    /// not fail in the type of a field.
    fn colon_of_field(&self) -> Option<usize> {
        if is_payload_item(self.rule) {
            let first = self.cx.tokens.start;
            return (first + 1..(first + 3).min(self.cx.tokens.end))
                .find(|index| self.text_of_token(*index) == ":");
        }
        let is_colon = |index: &usize| self.text_of_token(*index) == ":";
        let colon = (self.cx.tokens.start..=self.token_index).rev().find(is_colon)?;
        (self.type_end(colon + 1) > self.token_index.min(self.cx.tokens.end - 1)).then_some(colon)
    }

    /// Returns the diagnostic for a type that is wrapped in words or marks: `optional(string)`,
    /// `string!`, `z.string().optional()`, `list(string)`. `None` for other types.
    fn type_in_wrapper_error(&self) -> Option<Diagnostic> {
        let is_payload_field = self.rule == Rule::field_item;
        let is_mark = matches!(self.found_text, "(" | "[" | "." | "<" | "?" | "!")
            || is_payload_field && matches!(self.found_text, "undefined" | "None" | "nil" | "none");
        // Other diagnostics explain these marks of declared fields.
        let is_explained =
            self.found_text == "?" || self.found_text == "<" && self.generic_type_error().is_some();
        if !is_mark || !is_payload_field && (!self.statement_declares_fields() || is_explained) {
            return None;
        }
        let colon = self.colon_of_field()?;
        let has_mark = self.text_of_token(colon - 1) == "?";
        let name = colon.checked_sub(1 + usize::from(has_mark))?;
        let end = self.type_end(colon + 1);
        let (mut elements, mut default) = (Vec::new(), None);
        let (mut is_list, mut is_dict, mut is_optional, mut is_null) = (false, false, has_mark, false);
        for index in colon + 1..end {
            let (text, kind) = (self.text_of_token(index), self.kind_of_token(index)?);
            let lower = text.to_lowercase();
            match kind {
                TokenKind::Word => match lower.as_str() {
                    "map" | "dict" | "dictionary" | "hashmap" | "record" => is_dict = true,
                    "arraylist" | "iterable" => is_list = true,
                    word if is_list_word(word) => is_list = true,
                    "nullable" | "null" | "none" | "nil" if is_payload_field => is_null = true,
                    "option" | "undefined" | "none" | "nil" | "nullish" => is_optional = true,
                    word => match (meaning_of_field_word(text), self.meant_type(index)) {
                        // The elements of a list are not marked.
                        (Some(FieldWord::Optional), _) => is_optional |= !is_list,
                        (Some(FieldWord::Required), _) => {}
                        (_, Some(ty)) => elements.push(ty),
                        _ if FOREIGN_TYPE_PREFIXES.contains(&word) => {}
                        _ => return None,
                    },
                },
                TokenKind::String | TokenKind::Number
                    if self.text_of_token(index - 1) == "," && default.is_none() =>
                {
                    default = Some(text);
                }
                _ if text == "?" => is_optional = true,
                _ if text == "[" && (index == colon + 1 || self.text_of_token(index + 1) == "]") => {
                    is_list = true
                }
                _ if kind.opens_bracket() || kind.closes_bracket() => {}
                _ if matches!(text, "." | "!" | "<" | ">" | "|" | ",") => {}
                _ => return None,
            }
        }
        let element = *elements.last()?;
        // A type with brackets is longer than its name. Only a dict has a type for its keys.
        if end == colon + 2 || elements.len() > 1 + usize::from(is_dict) || is_list && is_dict {
            return None;
        }
        let ty = match (is_list, is_dict) {
            (true, _) => format!("list<{element}>"),
            (_, true) => format!("dict<{element}>"),
            _ => element.to_owned(),
        };
        let mark = if is_optional { "?" } else { "" };
        let name_text = self.text_of_token(name);
        let field = format!("{name_text}{mark}: {ty}");
        if !remedy::is_valid_short_statement(&format!("input {{ {field} }}")) {
            return None;
        }
        let written = match default.filter(|_| is_payload_field) {
            Some(value) => format!("{name_text}: {ty} default {value}"),
            None if is_null => format!("{field} | null"),
            None => field,
        };
        let span = self.span_of_tokens(colon + 1..end);
        let message = message!("`{}` is not a type", self.cx.shorten_source(span));
        let whole = self.span_of_tokens(name..end);
        Some(unexpected_token(span, message, message!("write `{written}`")).likely_fix(whole, written))
    }

    /// Returns the diagnostic for a sign of another language between a name and its type: `note =
    /// string`. `None` without such a sign.
    fn foreign_sign_before_type_error(&self) -> Option<Diagnostic> {
        let is_sign =
            matches!(self.found_text, "=" | ":=" | "->" | "=>" | "as" | "is" | "::" | ";" | "-" | "~");
        let is_place = self.statement_declares_fields() || self.rule == Rule::field_item;
        let name = self.token_index.checked_sub(1)?;
        let name = name - usize::from(self.text_of_token(name) == "?");
        let ty = self.token_index + 1;
        let begins_type =
            matches!(self.text_of_token(ty), "list" | "dict" | "{") || self.meant_type(ty).is_some();
        let is_field = name > self.cx.tokens.start || self.rule == Rule::field_item;
        if !is_sign || !is_place || !is_field || !begins_type || !self.is_word(name) {
            return None;
        }
        let end = self.type_end(ty);
        let meant = Ty::builtin_for_type_name(self.source_of_tokens(ty..end))
            .unwrap_or(self.source_of_tokens(ty..end));
        let written = format!("{}: {meant}", self.source_of_tokens(name..self.token_index));
        if !remedy::is_valid_short_statement(&format!("input {{ {written} }}")) {
            return None;
        }
        let message = message!("a name and its type are separated by `:`, not `{}`", self.found_text);
        let whole = self.span_of_tokens(name..end);
        Some(unexpected_token(self.span, message, message!("write `{written}`")).fix(whole, written))
    }

    /// Returns the diagnostic for `not blank` in other words: `string !blank`, `string nonblank`.
    /// `None` for other words.
    fn foreign_not_blank_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::field_item {
            return None;
        }
        let first = self.token_index;
        let rest =
            (first..self.cx.tokens.end).take_while(|index| *index == first || !self.begins_line(*index));
        let tokens: Vec<usize> =
            rest.take_while(|index| !matches!(self.text_of_token(*index), ";" | "}" | ",")).collect();
        // The words before `else` and a message belong to the condition.
        let count = tokens.iter().take_while(|index| self.text_of_token(**index) != "else").count();
        let tokens = &tokens[..count];
        let words: String = tokens.iter().map(|index| self.text_of_token(*index)).collect();
        let words = words.to_lowercase().replace(['_', '-'], "");
        let meant = matches!(
            words.as_str(),
            "!blank"
                | "nonblank"
                | "notblank"
                | "isnotblank"
                | "!empty"
                | "nonempty"
                | "notempty"
                | "isnotempty"
                | "!=\"\""
                | "blank=false"
                | "@notblank"
                | "@nonempty"
                | "@notempty"
                | "noblank"
                | "nonnullblank"
        );
        let last = *tokens.last()?;
        let name = self.text_of_token(self.cx.tokens.start);
        if matches!(words.as_str(), "!null" | "!undefined" | "nonnull" | "!none") {
            let message = message!("a field is required unless `?` follows its name");
            return self.removal_diagnostic(first, last + 1, message);
        }
        let is_string = self.text_of_token(first - 1) == "string";
        if !meant || !is_string {
            return None;
        }
        let span = self.span_of_tokens(first..last + 1);
        let message = message!("`{}` is not part of a field declaration", self.cx.shorten_source(span));
        let help = message!("write `{written}`", written = format!("{name}: string not blank"));
        let start = Span { start: self.cx.significant[first - 1].token.end, ..span };
        Some(unexpected_token(span, message, help).fix(start, " not blank"))
    }
}
