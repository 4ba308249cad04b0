//! Diagnostics for words of other languages at the token where parsing fails. Examples: a
//! quantifier in another word order, a keyword that marks a field as private, and edges of a graph.

use super::super::super::context::unexpected_token;
use super::super::super::terminals::is_reserved;
use super::super::super::{foreign, shapes};
use super::super::{ParseFailure, Rule, is_payload_item};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a word that is misused as in another language. `None` without
    /// such a mistake.
    pub(super) fn misused_word_error(&self) -> Option<Diagnostic> {
        self.words_after_import_error()
            .or_else(|| self.misordered_quantifier_error())
            .or_else(|| self.wrong_quantifier_separator_error())
            .or_else(|| self.misspelt_quantifier_error())
            .or_else(|| self.quantifier_without_condition_error())
            .or_else(|| self.foreign_word_after_type_error())
            .or_else(|| self.foreign_payload_line_error())
            .or_else(|| self.word_before_choice_name_error())
            .or_else(|| self.comma_between_entries_error())
            .or_else(|| self.missing_comma_error())
            .or_else(|| self.foreign_block_entry_error())
            .or_else(|| self.edges_in_other_words_error())
            .or_else(|| self.fields_with_dashes_error())
            .or_else(|| self.line_without_keyword_error())
    }

    pub(super) fn begins_line(&self, index: usize) -> bool {
        self.cx.significant.get(index).is_some_and(|item| item.indent().is_some())
    }

    /// True if a value can end at this token: it is a closing bracket, or a name after a dot.
    fn ends_value(&self, index: usize) -> bool {
        self.kind_of_token(index).is_some_and(TokenKind::closes_bracket)
            || index > self.cx.tokens.start && self.text_of_token(index - 1) == "."
    }

    /// Returns the index of the first token of the path `a.b.c` that ends before the token `end`.
    /// `None` if no path ends there, or if something other than a name precedes a dot, as in
    /// `items[0].name`.
    pub(in super::super) fn path_start(&self, end: usize) -> Option<usize> {
        let is_name =
            |index: &usize| matches!(self.kind_of_token(*index), Some(TokenKind::Word | TokenKind::Quoted));
        let mut start = end.checked_sub(1).filter(is_name)?;
        while start > self.cx.tokens.start && self.text_of_token(start - 1) == "." {
            start = start.checked_sub(2).filter(|index| *index >= self.cx.tokens.start).filter(is_name)?;
        }
        Some(start)
    }

    /// Returns the diagnostic for a slice of a text, as in `text[0:5]`. The unexpected token is the
    /// colon. `None` if the value is no path or a bound is no number.
    pub(in super::super) fn text_slice_error(&self) -> Option<Diagnostic> {
        let is_open = |index: &usize| self.kind_of_token(*index) == Some(TokenKind::OpenBracket);
        let open = (self.cx.tokens.start..self.token_index).rfind(is_open)?;
        let (start, close) = (self.path_start(open)?, self.closing_bracket_or_end(open));
        let base = self.source_of_tokens(start..open);
        let bound = |text: &str| match text.is_empty() {
            true => Some(None),
            false => text.replace(' ', "").parse::<i64>().ok().map(Some),
        };
        let low = bound(self.source_of_tokens(open + 1..self.token_index))?;
        let high = bound(self.source_of_tokens(self.token_index + 1..close))?;
        let from = low.unwrap_or(0);
        let written = match high {
            None => format!("substring({base}, {from})"),
            Some(high) if high > from && (from >= 0) == (high >= 0) => {
                format!("substring({base}, {from}, {})", high.checked_sub(from)?)
            }
            Some(high) if high < 0 && from == 0 => {
                format!("substring({base}, 0, len({base}) - {})", high.checked_neg()?)
            }
            Some(_) => return None,
        };
        let span = self.span_of_tokens(start..(close + 1).min(self.cx.tokens.end));
        let message = message!("a part of a text is not read by `[` and `]`");
        let help = message!("write `{written}`; a list has no such parts");
        Some(unexpected_token(self.span, message, help).likely_fix(span, written))
    }

    /// Returns the index of the token after the path `a.b.c` that begins at the token `start`.
    pub(super) fn path_end(&self, start: usize) -> usize {
        let mut end = start + 1;
        while self.text_of_token(end) == "." {
            end += 2;
        }
        end
    }

    /// Returns the diagnostic for a quantifier in another word order, or with another word for
    /// `in`: `attachments any a: …`, `any a of attachments: …`.
    ///
    /// The unexpected token is the colon, or the wrong word. `None` without such a mistake.
    fn misordered_quantifier_error(&self) -> Option<Diagnostic> {
        let word = |text: &str| match text {
            "any" | "some" | "exists" | "exist" | "for" | "each" | "foreach" | "with" | "where" => {
                Some("any")
            }
            "all" | "every" | "forall" => Some("all"),
            "count" => Some("count"),
            _ => None,
        };
        let message = |written: &str| message!("`{written}` is not a quantifier");
        let proposed = |span: Span, written: &str, replacement: String| {
            let help = message!("write `{replacement}`");
            Some(unexpected_token(span, message(written), help).likely_fix(span, replacement))
        };
        // `attachments any a: …`
        if self.found_text == ":"
            && let Some(name) = self.token_index.checked_sub(1)
            && self.kind_of_token(name) == Some(TokenKind::Word)
            && let Some(quantifier) = name.checked_sub(1).and_then(|index| word(self.text_of_token(index)))
            && let Some(start) = self.path_start(name - 1)
            && start > self.cx.tokens.start
            && !is_reserved(self.text_of_token(start))
            && !rulec_lang::operators::is_reserved_word(self.text_of_token(start))
        {
            let (list, element) = (self.source_of_tokens(start..name - 1), self.text_of_token(name));
            let span = self.span_of_tokens(start..self.token_index + 1);
            return proposed(
                span,
                self.source_of_tokens(start..self.token_index),
                format!("{quantifier} {element} in {list}:"),
            );
        }
        // `any tags: …`
        if self.found_text == ":"
            && self.rule != Rule::each_item
            && let Some(start) = self.path_start(self.token_index)
            && let Some(quantifier) = start.checked_sub(1).and_then(|index| word(self.text_of_token(index)))
        {
            if start.checked_sub(2).is_some_and(|before| self.ends_value(before)) {
                let span = self.span_of_tokens(start - 1..self.token_index);
                let written = self.source_of_tokens(start - 1..self.token_index);
                let help =
                    message!("write it before the list: `{word} x in LIST: CONDITION`", word = quantifier);
                return Some(unexpected_token(span, message(written), help));
            }
            let list = self.source_of_tokens(start..self.token_index);
            let message = message!("`{quantifier}` needs a name for each element");
            let span = self.span_of_tokens(start - 1..self.token_index + 1);
            let written = format!("{quantifier} x in {list}:");
            let help = message!("write `{written}`, and `x` for the element in the condition");
            return Some(unexpected_token(span, message, help).likely_fix(span, written));
        }
        // `any(a in attachments: …)`
        let open = self.path_start(self.token_index).and_then(|start| start.checked_sub(3));
        if self.found_text == ":"
            && let Some(open) = open
            && self.text_of_token(open) == "("
            && self.text_of_token(open + 2) == "in"
            && let Some(quantifier) = open.checked_sub(1).and_then(|index| word(self.text_of_token(index)))
        {
            let written = format!("({quantifier} {}:", self.source_of_tokens(open + 1..self.token_index));
            let span = self.span_of_tokens(open - 1..self.token_index + 1);
            return proposed(span, self.source_of_tokens(open - 1..self.token_index), written);
        }
        // `any a of attachments: …`
        let joint = (self.cx.tokens.start + 2..=self.token_index).rev().find(|index| {
            matches!(self.text_of_token(*index), "of" | "from" | "on" | "inside" | "within" | "among" | "->")
                && word(self.text_of_token(index - 2)).is_some()
                && self.kind_of_token(index - 1) == Some(TokenKind::Word)
                && self.kind_of_token(index + 1) == Some(TokenKind::Word)
        })?;
        let end = self.path_end(joint + 1);
        if self.text_of_token(end) != ":" {
            return None;
        }
        let quantifier = word(self.text_of_token(joint - 2))?;
        let written = format!(
            "{quantifier} {} in {}:",
            self.text_of_token(joint - 1),
            self.source_of_tokens(joint + 1..end)
        );
        proposed(self.span_of_tokens(joint - 2..end + 1), self.source_of_tokens(joint - 2..end), written)
    }

    /// Returns the diagnostic for a word of another language after the type of a field, as in
    /// `phone: string private`. The grammar reads this word as the name of the next field, and may
    /// fail only at the token after it. `None` without such a mistake.
    fn foreign_word_after_type_error(&self) -> Option<Diagnostic> {
        if !self.statement_declares_fields() {
            return None;
        }
        let is_mark = |index: &usize| {
            let follows_type = index.checked_sub(1).is_some_and(|before| {
                matches!(self.kind_of_token(before), Some(TokenKind::Word | TokenKind::String))
                    || matches!(self.text_of_token(before), ">" | "}")
            });
            // In `private secret: string`, the second word is the name of the field.
            let is_name = self.text_of_token(index + 1) == ":";
            *index > self.cx.tokens.start + 1 && follows_type && !is_name && !self.begins_line(*index)
        };
        let is_word = |index: &usize| self.kind_of_token(*index) == Some(TokenKind::Word);
        let index = [self.token_index, self.token_index - 1].into_iter().find(|index| {
            is_mark(index) && is_word(index) && (*index == self.token_index || self.expects_rule(Rule::colon))
        })?;
        let word = self.text_of_token(index);
        let span = self.span_of_tokens(index..index + 1);
        match word.to_lowercase().as_str() {
            "private" | "secret" | "sensitive" | "hidden" | "confidential" | "pii" | "redacted"
            | "masked" => {
                let message = message!("the mark of a private field is `@private`, not `{word}`");
                Some(foreign::foreign_syntax_error(span, message, "@private"))
            }
            "required" | "mandatory" | "notnull" => {
                let removed = Span { start: self.cx.significant[index - 1].token.end, ..span };
                let message = message!("a field is required unless `?` follows its name");
                Some(unexpected_token(span, message, message!("remove `{word}`")).fix(removed, ""))
            }
            "optional" | "nullable" => {
                let message = message!("an optional field has `?` after its name, not `{word}`");
                let colon =
                    (self.cx.tokens.start..index).rev().find(|colon| self.text_of_token(*colon) == ":")?;
                let (name, ty) =
                    (self.source_of_tokens(colon - 1..colon), self.source_of_tokens(colon + 1..index));
                let written = format!("{name}?: {ty}");
                let whole = self.span_of_tokens(colon - 1..index + 1);
                Some(unexpected_token(span, message, message!("write `{written}`")).fix(whole, written))
            }
            _ => None,
        }
    }

    /// Returns the diagnostic for a list of fields with dashes, as in YAML:
    /// `items: - name: string`. `None` without such a mistake.
    fn fields_with_dashes_error(&self) -> Option<Diagnostic> {
        if self.found_text != "-"
            || !self.is_preceded_by(":")
            || !self.expects_rule(Rule::type_expr) && !self.statement_declares_fields()
        {
            return None;
        }
        let name = self.text_of_token(self.token_index.checked_sub(2)?);
        // The fields of the first element, as `name: type`.
        let (mut fields, mut index) = (Vec::new(), self.token_index + 1);
        while self.text_of_token(index + 1) == ":" && self.kind_of_token(index + 2) == Some(TokenKind::Word) {
            fields.push(format!("{}: {}", self.text_of_token(index), self.text_of_token(index + 2)));
            index += 3 + usize::from(self.text_of_token(index + 3) == ",");
        }
        let element = match fields.is_empty() {
            true => "string".to_owned(),
            false => format!("{{ {} }}", fields.join(", ")),
        };
        let message = message!("a list is declared by the type of its elements, without `-`");
        Some(unexpected_token(self.span, message, message!("write `{name}: list<{element}>`")))
    }

    /// Returns the diagnostic for a line that begins no statement, such as `if (a > b) {`. The
    /// parser therefore treats the line as a part of the statement before it. `None` without such a
    /// mistake.
    fn line_without_keyword_error(&self) -> Option<Diagnostic> {
        let item = self.cx.significant.get(self.token_index)?;
        let margin = self.cx.significant[self.cx.tokens.start].indent();
        let is_line = item.indent().is_some() && item.indent() <= margin;
        if !is_line || !self.expects_rule(Rule::EOI) || is_payload_item(self.rule) || self.is_at_end() {
            return None;
        }
        if !matches!(self.token.kind, TokenKind::Word | TokenKind::String | TokenKind::Number) {
            return None;
        }
        shapes::line_without_keyword_error(self.cx, self.token_index)
    }
}
