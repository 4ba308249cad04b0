//! Diagnostics for the values that a declared field may have, in the syntax of other languages: a
//! list of allowed texts, such as `tier: "free", "gold"`, and bounds, such as `age: int >= 18`.

use super::super::super::context::unexpected_token;
use super::super::super::remedy;
use super::super::ParseFailure;
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a list of allowed values in a type: `x: enum["a", "b"]`, `x:
    /// string in ["a", "b"]`. `None` without such a mistake.
    pub(super) fn allowed_values_in_type_error(&self) -> Option<Diagnostic> {
        if !self.statement_declares_fields() {
            return None;
        }
        if let Some(diagnostic) = self.listed_values_in_type_error() {
            return Some(diagnostic);
        }
        let before = self.token_before().map_or("", |token| self.token_text(token));
        let is_enum = matches!(self.found_text, "[" | "(" | "{" | "<")
            && matches!(before.to_lowercase().as_str(), "enum" | "literal" | "oneof" | "one_of" | "choice");
        // The indices of the type name (or of a word such as `enum` in its position) and of the
        // opening bracket.
        let (name, open) = match self.found_text {
            "in" => (self.token_index - 1, self.token_index + 1),
            "[" if before == "in" && self.token_index >= 2 => (self.token_index - 2, self.token_index),
            _ if is_enum => (self.token_index - 1, self.token_index),
            _ => return None,
        };
        let message = message!("the allowed values of a field are its type, with `|` between them");
        let end = self.closing_bracket_or_end(open);
        let elements = open + 1..end;
        let is_value = |index: usize| self.kind_of_token(index) == Some(TokenKind::String);
        let values: Vec<&str> = elements
            .clone()
            .filter(|index| is_value(*index))
            .map(|index| self.text_of_token(index))
            .collect();
        let is_enumeration = !values.is_empty()
            && elements.clone().all(|index| is_value(index) || self.text_of_token(index) == ",");
        if !is_enumeration {
            let help = message!("declare the type only, and test the values in a rule: `x in [1, 2]`");
            return self.unexpected_token(message, help);
        }
        let written = values.join(" | ");
        let span = self.span_of_tokens(name..(end + 1).min(self.cx.tokens.end));
        let help = message!("write `{written}`");
        Some(unexpected_token(span, message, help).fix(span, written))
    }

    /// Returns the diagnostic for allowed texts with commas or words between them: `tier: "free",
    /// "gold"`, `tier: one of "free", "gold"`. `None` without such a mistake.
    fn listed_values_in_type_error(&self) -> Option<Diagnostic> {
        let is_text = |index: usize| self.kind_of_token(index) == Some(TokenKind::String);
        let is_joint = |index: usize| matches!(self.text_of_token(index), "," | "|" | "or" | "/" | ";");
        if !is_text(self.token_index) {
            return None;
        }
        let mut first = self.token_index;
        while let Some(before) = first.checked_sub(1) {
            first = match before.checked_sub(1) {
                _ if is_text(before) => before,
                Some(text) if is_joint(before) && is_text(text) => text,
                _ => break,
            };
        }
        let mut end = self.token_index + 1;
        while is_text(end) || is_joint(end) && is_text(end + 1) {
            end += 1 + usize::from(!is_text(end));
        }
        let values: Vec<&str> =
            (first..end).filter(|index| is_text(*index)).map(|index| self.text_of_token(index)).collect();
        let in_braces = self.text_of_token(first.checked_sub(1)?) == "{" && self.text_of_token(end) == "}";
        let (mut type_start, type_end) = if in_braces { (first - 1, end + 1) } else { (first, end) };
        while self.is_word_before_values(type_start.checked_sub(1)?) {
            type_start -= 1;
        }
        let is_value = type_start < first || values.len() > 1;
        // A text before a colon is the name of the next field.
        if self.text_of_token(type_start.checked_sub(1)?) != ":"
            || !is_value
            || self.text_of_token(end) == ":"
        {
            return None;
        }
        let written = values.join(" | ");
        let span = self.span_of_tokens(type_start..type_end);
        let message = message!("the allowed values of a field are its type, with `|` between them");
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(span, written))
    }

    /// True for a word that authors write before the allowed values of a field.
    fn is_word_before_values(&self, index: usize) -> bool {
        matches!(
            self.text_of_token(index).to_lowercase().as_str(),
            "one"
                | "of"
                | "oneof"
                | "one_of"
                | "any"
                | "enum"
                | "in"
                | "either"
                | "string"
                | "literal"
                | "values"
        )
    }

    /// Returns the diagnostic for the bounds of a field's values in its type, as in `age: int >=
    /// 18`, `age: 18..65` and `name: string max 20`. `None` without such a mistake.
    pub(super) fn bound_in_type_error(&self) -> Option<Diagnostic> {
        if !self.statement_declares_fields() {
            return None;
        }
        // The parser takes a word after the type for the name of the next field. So it fails after
        // this word.
        let word = self.token_index.checked_sub(1)?;
        let bound = if self.begins_bound(word) && !self.is_number(word) { word } else { self.token_index };
        let colon = self.colon_before(bound).or_else(|| bound.checked_sub(1))?;
        if !self.begins_bound(bound)
            || self.text_of_token(colon) != ":"
            || bound > colon + 2
            || colon <= self.cx.tokens.start + 1
        {
            return None;
        }
        let name = match self.text_of_token(colon - 1) {
            "?" => colon.checked_sub(2)?,
            _ => colon - 1,
        };
        let (head, name) = (self.source_of_tokens(name..colon), self.text_of_token(name));
        let end = self.type_end(bound);
        let bounds = self.source_of_tokens(bound..end);
        let ty =
            match self.meant_type(colon + 1) {
                Some(ty) if bound == colon + 2 => ty,
                None if bound == colon + 1 && self.is_number(bound) => {
                    if bounds.replace("..", "").contains('.') { "number" } else { "int" }
                }
                _ => return None,
            };
        let condition = self.condition_of_bounds(bound, end, name, ty)?;
        if condition.contains(['\n', '#']) || !remedy::is_valid_expression(&condition) {
            return None;
        }
        let message = message!("a declaration gives the type of a field, and no bounds of its values");
        let help = message!("write `{head}: {ty}`, and test the value in a rule: `{condition}`");
        Some(unexpected_token(self.span_of_tokens(bound..end), message, help))
    }

    fn is_number(&self, index: usize) -> bool {
        self.kind_of_token(index) == Some(TokenKind::Number)
    }

    /// True if bounds of a field's values can begin at the token `index`.
    fn begins_bound(&self, index: usize) -> bool {
        self.is_number(index)
            || matches!(
                self.text_of_token(index),
                ">=" | "<="
                    | ">"
                    | "<"
                    | "min"
                    | "max"
                    | "minimum"
                    | "maximum"
                    | "between"
                    | "range"
                    | "matches"
            )
            || self.text_of_token(index) == "in" && self.is_number(index + 1)
            || self.text_of_token(index) == "("
                && self.is_number(index + 1)
                && matches!(self.text_of_token(index + 2), ".." | "..=" | "-")
    }

    /// Returns the condition that the bounds of a declared field mean: `age >= 18 and age <= 65`
    /// for `>= 18, <= 65`. The bounds are the tokens from `bound` up to `end`, and `ty` is the type
    /// of the field. `None` for other tokens.
    fn condition_of_bounds(&self, bound: usize, end: usize, name: &str, ty: &str) -> Option<String> {
        let bounds = self.source_of_tokens(bound..end);
        let measured = if ty == "string" { format!("len({name})") } else { name.to_owned() };
        if self.text_of_token(bound) == "matches" {
            return Some(format!("{name} {bounds}"));
        }
        if self.is_number(bound) && bounds.contains('|') {
            return Some(format!("{name} in [{}]", bounds.replace(" |", ",").replace('|', ",")));
        }
        let range = |text: &str| {
            let text = text.trim_matches(['(', ')', ' ']);
            let text =
                [" and ", " to ", ", ", " - ", "-"].into_iter().fold(text.to_owned(), |text, joint| {
                    if text.contains("..") { text } else { text.replacen(joint, "..=", 1) }
                });
            text.contains("..").then(|| format!("{measured} in {text}"))
        };
        match self.text_of_token(bound) {
            "in" | "between" | "range" => return range(self.source_of_tokens(bound + 1..end)),
            "(" => return range(bounds),
            _ if self.is_number(bound) => return range(bounds),
            _ => {}
        }
        let (mut parts, mut index) = (Vec::new(), bound);
        while index < end {
            let sign = match self.text_of_token(index) {
                "min" | "minimum" => ">=",
                "max" | "maximum" => "<=",
                sign @ (">=" | "<=" | ">" | "<") => sign,
                _ => return None,
            };
            index += 1 + usize::from(matches!(self.text_of_token(index + 1), "=" | ":"));
            parts.push(format!("{measured} {sign} {}", self.text_of_token(index)));
            index += 1;
            index += usize::from(matches!(self.text_of_token(index), "and" | "&&" | ",") && index < end);
        }
        Some(parts.join(" and "))
    }
}
