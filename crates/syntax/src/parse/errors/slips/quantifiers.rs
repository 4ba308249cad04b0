//! Diagnostics for quantifiers: a misspelt quantifier, a missing condition, a number of elements,
//! and a list without a name for its elements.

use super::super::super::context::unexpected_token;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use crate::parse::is_reserved;
use rulec_base::diag::{Diagnostic, has_one_near_candidate, nearest};
use rulec_base::message;
use rulec_lang::operators::Op;

/// The words that begin a quantifier.
const QUANTIFIERS: [&str; 5] = ["any", "all", "count", "first", "last"];

/// English words for numbers. The index of a word is its number.
const NUMBER_WORDS: [&str; 11] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a wrong or missing word before `x in LIST:`, as in `nay one in
    /// items: one.n > 3`. Only a quantifier has this syntax. The unexpected token is the colon.
    /// `None` without such a mistake.
    pub(super) fn misspelt_quantifier_error(&self) -> Option<Diagnostic> {
        let has_other_colons =
            matches!(self.rule, Rule::each_item | Rule::choice_statement | Rule::router_statement);
        if self.found_text != ":" || self.statement_declares_fields() || has_other_colons {
            return None;
        }
        let joint = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| self.text_of_token(*index) == "in")?;
        let (name, word) = (joint.checked_sub(1)?, joint.checked_sub(2)?);
        let ends_list =
            |index: usize| matches!(self.text_of_token(index), "and" | "or" | "unless" | "->" | ":" | ",");
        if joint + 1 == self.token_index
            || (joint + 1..self.token_index).any(ends_list)
            || self.kind_of_token(name) != Some(TokenKind::Word)
            || self.kind_of_token(joint + 1) == Some(TokenKind::Number)
            || is_reserved(self.text_of_token(name))
            || matches!(self.text_of_token(name), "not" | "is")
        {
            return None;
        }
        // The condition of a quantifier reads the element. Other words after the colon are a
        // target.
        let element = self.text_of_token(name);
        if !(self.token_index + 1..self.cx.tokens.end).any(|index| self.text_of_token(index) == element) {
            return None;
        }
        let elements = self.source_of_tokens(name..self.token_index);
        let written = self.text_of_token(word);
        let lower = written.to_lowercase();
        let span = self.span_of_tokens(word..word + 1);
        // Without an arrow after it, the colon was meant as the arrow.
        let has_arrow =
            (self.token_index + 2..self.cx.tokens.end).any(|index| self.text_of_token(index) == "->");
        if self.rule == Rule::route_statement && !has_arrow {
            return None;
        }
        if matches!(written, "when" | "and" | "or" | "unless" | "(" | "=" | "{" | ";") {
            if matches!(self.rule, Rule::require_item | Rule::forbid_item) {
                return None;
            }
            let span = self.span_of_tokens(name..self.token_index);
            let message = message!("`{}` has no quantifier", elements);
            let help = message!("write `any {elements}: …` or `all {elements}: …`");
            return Some(unexpected_token(span, message, help));
        }
        if self.kind_of_token(word) != Some(TokenKind::Word)
            || QUANTIFIERS.contains(&written)
            || Op::from_spelling(written).is_some() && written != "not"
            || is_reserved(written) && !matches!(lower.as_str(), "not" | "none" | "for" | "sum")
        {
            return None;
        }
        let message = message!("`{written}` is not a quantifier");
        let meant = match lower.as_str() {
            "none" | "no" | "not" => "not any",
            "some" | "exists" | "exist" | "each" | "every" | "forall" | "for" => {
                let message = message!("`{}` must be written as `any` or `all`", written);
                let help = message!("write `any x in list: condition` or `all x in list: condition`");
                return Some(unexpected_token(span, message, help));
            }
            "sum" => {
                let help = message!("write `sum VALUE for {elements}: CONDITION`");
                return Some(unexpected_token(span, message, help));
            }
            _ => match QUANTIFIERS.into_iter().find(|word| *word == lower).or(nearest(&lower, QUANTIFIERS)) {
                Some(meant) => {
                    let is_certain = meant == lower || has_one_near_candidate(&lower, QUANTIFIERS);
                    let diagnostic = Diagnostic::new(rulec_base::diag::Code::Unexpected, span, message);
                    return Some(
                        diagnostic.did_you_mean(span, Some(meant)).mark_fixes_certain_if(is_certain),
                    );
                }
                None => {
                    let help = message!("write `any {elements}: …` or `all {elements}: …`");
                    return Some(unexpected_token(span, message, help));
                }
            },
        };
        Some(
            unexpected_token(span, message, message!("write `{meant} {elements}: …`"))
                .likely_fix(span, meant),
        )
    }

    /// Returns the diagnostic for a quantifier with its list before the name of the element: `any
    /// ctx.items x: x.price > 3`, `any items as x: …`. The unexpected token is the colon. `None`
    /// without such a mistake.
    pub(super) fn element_after_list_error(&self) -> Option<Diagnostic> {
        let name = self.token_index.checked_sub(1)?;
        if !self.begins_condition_on(name) {
            return self.missing_in_error();
        }
        let before = name.checked_sub(1)?;
        let list_end = if matches!(self.text_of_token(before), "as" | "with") { before } else { name };
        let list_start = self.path_start(list_end)?;
        let mut word = list_start.checked_sub(1)?;
        if matches!(self.text_of_token(word), "of" | "in" | "the") {
            word = word.checked_sub(1)?;
        }
        let quantifier = match self.text_of_token(word) {
            "some" | "exists" | "each" | "foreach" => "any",
            "every" | "forall" => "all",
            word => QUANTIFIERS.into_iter().find(|quantifier| *quantifier == word)?,
        };
        let (element, list) = (self.text_of_token(name), self.source_of_tokens(list_start..list_end));
        let written = format!("{quantifier} {element} in {list}");
        let span = self.span_of_tokens(word..self.token_index);
        let message = message!("the name of an element comes before its list");
        let help = message!("write `{written}: …`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(span, written))
    }

    /// Returns the diagnostic for a quantifier without `in` before its list: `any x tags: x > 3`.
    /// The unexpected token is the colon. `None` without such a mistake.
    fn missing_in_error(&self) -> Option<Diagnostic> {
        let list = self.path_start(self.token_index)?;
        let (name, word) = (list.checked_sub(1)?, list.checked_sub(2)?);
        let quantifier = self.text_of_token(word);
        if !QUANTIFIERS.contains(&quantifier) || !self.begins_condition_on(name) {
            return None;
        }
        let (element, list) = (self.text_of_token(name), self.source_of_tokens(list..self.token_index));
        let written = format!("{quantifier} {element} in {list}");
        let span = self.span_of_tokens(word..self.token_index);
        let message = message!("`in` is missing between the element and its list");
        let help = message!("write `{written}: …`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(span, written))
    }

    /// Returns the diagnostic for a quantifier with a number, as in `exactly 2 x in items: x.n > 3`
    /// and `at least one x in items: …`. The unexpected token is the colon. `None` without such a
    /// mistake.
    pub(super) fn quantifier_with_number_error(&self) -> Option<Diagnostic> {
        let is_in = |index: &usize| self.text_of_token(*index) == "in";
        let joint = (self.cx.tokens.start + 3..self.token_index).rev().find(is_in)?;
        let (name, number) = (joint - 1, joint - 2);
        if !self.begins_condition_on(name) {
            return None;
        }
        let least = match self.text_of_token(number) {
            text if self.kind_of_token(number) == Some(TokenKind::Number) => text.parse::<u32>().ok()?,
            text => NUMBER_WORDS.iter().position(|word| *word == text)? as u32,
        };
        let word = |count: usize| {
            let index = number.checked_sub(count).filter(|index| *index > self.cx.tokens.start);
            index.map_or("", |index| self.text_of_token(index))
        };
        let (operator, count) = match (word(3), word(2), word(1)) {
            ("no", "more", "than") => ("<=", 3),
            ("no" | "not", "less" | "fewer", "than") => (">=", 3),
            (_, "more" | "greater", "than") => (">", 2),
            (_, "less" | "fewer", "than") => ("<", 2),
            (_, "at", "least") => (">=", 2),
            (_, "at", "most") => ("<=", 2),
            (_, "count" | "any", sign @ (">=" | "<=" | ">" | "<" | "==" | "!=")) => (sign, 2),
            (_, _, sign @ (">=" | "<=" | ">" | "<" | "==" | "!=")) => (sign, 1),
            (_, _, "exactly" | "precisely" | "just" | "only") => ("==", 1),
            (_, _, "over" | "above") => (">", 1),
            (_, _, "under" | "below") => ("<", 1),
            (_, _, "any" | "min" | "minimum" | "count") => (">=", 1),
            (_, _, "max" | "maximum") => ("<=", 1),
            (_, _, "when" | "and" | "or" | "not" | "(" | "=") => (">=", 0),
            _ => return None,
        };
        let first = number - count;
        let end = self.expression_end(self.token_index + 1);
        let quantified = self.source_of_tokens(name..end);
        let written = match (operator, least) {
            (">=", 1) | (">", 0) => format!("any {quantified}"),
            ("==", 0) | ("<", 1) | ("<=", 0) => format!("not any {quantified}"),
            _ => format!("(count {quantified}) {operator} {least}"),
        };
        let span = self.span_of_tokens(first..number + 1);
        let message = message!("a quantifier has no number: `count` gives the number of elements");
        if written.contains(['\n', '#']) {
            let help = message!("write `(count x in LIST: CONDITION) {operator} {least}`");
            return Some(unexpected_token(span, message, help));
        }
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(self.span_of_tokens(first..end), written))
    }

    /// True if the unexpected token is the colon of a quantifier, whose condition reads the element
    /// with the name at the token `name`.
    fn begins_condition_on(&self, name: usize) -> bool {
        let has_other_colons =
            matches!(self.rule, Rule::each_item | Rule::choice_statement | Rule::router_statement);
        let element = self.text_of_token(name);
        self.found_text == ":"
            && !self.statement_declares_fields()
            && !has_other_colons
            && self.kind_of_token(name) == Some(TokenKind::Word)
            && !is_reserved(element)
            && (self.token_index + 1..self.expression_end(self.token_index + 1))
                .any(|index| self.text_of_token(index) == element)
    }

    /// Returns the diagnostic for a window between the name and the list of a quantifier, as in
    /// `any p within 1h in history: …`. `None` without such a window.
    pub(super) fn window_before_list_error(&self) -> Option<Diagnostic> {
        let window = (self.cx.tokens.start + 2..self.token_index + 1).find(|index| {
            self.text_of_token(*index) == "within"
                && QUANTIFIERS.contains(&self.text_of_token(index - 2))
                && self.kind_of_token(index + 1) == Some(TokenKind::Number)
                && self.text_of_token(index + 2) == "in"
                && self.kind_of_token(index + 3).is_some()
        })?;
        let end = window + 4;
        let list = self.text_of_token(window + 3);
        let head = self.source_of_tokens(window - 2..window);
        let bound = self.source_of_tokens(window..window + 2);
        let written = format!("{head} in {list} {bound}");
        let message = message!("the window of a quantifier follows `history`");
        let span = self.span_of_tokens(window..window + 2);
        let help = message!("write `{written}: …`", written = written.clone());
        let whole = self.span_of_tokens(window - 2..end);
        Some(unexpected_token(span, message, help).likely_fix(whole, written))
    }

    /// Returns the diagnostic for a loop in place of a quantifier: `for x in items; do x > 3;
    /// done`, `each x in items { x > 3 }`. `None` for other words.
    pub(super) fn loop_as_quantifier_error(&self) -> Option<Diagnostic> {
        if !self.expects_rule(Rule::colon) || self.statement_declares_fields() {
            return None;
        }
        let start = (self.cx.tokens.start..self.token_index).rev().find(|index| {
            let word = self.text_of_token(*index).to_lowercase();
            matches!(word.as_str(), "for" | "foreach" | "each" | "every" | "some")
                && self.kind_of_token(index + 1) == Some(TokenKind::Word)
                && matches!(self.text_of_token(index + 2), "in" | "of")
        })?;
        let (word, name) = (self.text_of_token(start), self.text_of_token(start + 1));
        let list_end = self.list_end(start + 3);
        let next = self.text_of_token(list_end);
        let begins = matches!(next, "" | ";" | "do" | "{" | "then" | "," | "if" | "->" | "=>");
        if !begins || list_end <= start + 3 {
            return None;
        }
        let list = self.source_of_tokens(start + 3..list_end);
        let is_opening =
            |index: &usize| matches!(self.text_of_token(*index), ";" | "do" | "{" | "then" | "," | "if");
        let first = (list_end..self.cx.tokens.end).find(|index| !is_opening(index)).unwrap_or(list_end);
        let is_end = |index: &usize| {
            matches!(self.text_of_token(*index), ";" | "done" | "end" | "}" | "->" | "=>" | "then" | "return")
        };
        let end = (first..self.cx.tokens.end).find(is_end).unwrap_or(self.cx.tokens.end);
        let quantifier = if matches!(word, "every") { "all" } else { "any" };
        let message = message!("there are no loops, and `{word}` begins no condition");
        let span = self.span_of_tokens(start..start + 1);
        let condition = if first < end { self.source_of_tokens(first..end) } else { "" };
        if condition.is_empty() || condition.contains(['\n', '#']) {
            let help = message!("write `{quantifier} {name} in {list}: CONDITION`");
            return Some(unexpected_token(span, message, help));
        }
        let written = format!("{quantifier} {name} in {list}: {condition}");
        let is_closing = |index: &usize| matches!(self.text_of_token(*index), ";" | "done" | "end" | "}");
        let last = (end..self.cx.tokens.end).find(|index| !is_closing(index)).unwrap_or(self.cx.tokens.end);
        let help = message!("write `{written}`");
        Some(unexpected_token(span, message, help).likely_fix(self.span_of_tokens(start..last), written))
    }

    /// Returns the index of the token after the list of a quantifier. The list begins at the token
    /// `start`. It is a path, or a selection of the history such as `history within 1h`.
    fn list_end(&self, start: usize) -> usize {
        let mut end = self.path_end(start);
        while self.text_of_token(start) == "history"
            && matches!(self.text_of_token(end), "within" | "after" | "before")
        {
            end = self.path_end(end + 1);
        }
        end.min(self.token_index)
    }

    /// Returns the diagnostic for a quantifier whose `:` is missing before its condition, as in
    /// `any t in tags matches r"a" -> h`. `None` without such a mistake.
    pub(super) fn quantifier_without_condition_error(&self) -> Option<Diagnostic> {
        if !self.expects_rule(Rule::colon) {
            return None;
        }
        let start = (self.cx.tokens.start..self.token_index).rev().find(|index| {
            QUANTIFIERS.contains(&self.text_of_token(*index))
                && self.kind_of_token(index + 1) == Some(TokenKind::Word)
                && self.text_of_token(index + 2) == "in"
                && self.kind_of_token(index + 3) == Some(TokenKind::Word)
        })?;
        let (word, name) = (self.text_of_token(start), self.text_of_token(start + 1));
        let list_end = self.list_end(start + 3);
        let (quantifier, list) =
            (self.source_of_tokens(start..list_end), self.source_of_tokens(start + 3..list_end));
        let span = self.span_of_tokens(start..list_end);
        let element = if list == "x" { "y" } else { "x" };
        let searched = match word {
            "any" | "all" => Some(format!("{list} contains {word} {name}")),
            "count" => Some(format!("count {element} in {name}: {list} contains {element}")),
            _ => None,
        };
        if let Some(written) = searched.filter(|_| self.is_declared("list", name)) {
            let message = message!("a quantifier names each element, but `{name}` is a list");
            let help = message!("write `{written}`");
            return Some(unexpected_token(span, message, help).likely_fix(span, written));
        }
        if let Some(diagnostic) = self.condition_after_separator_error(quantifier, name, list_end) {
            return Some(diagnostic);
        }
        let message = message!("the quantifier `{quantifier}` has no condition");
        let first = self.text_of_token(list_end);
        let is_logic = matches!(first, "and" | "or" | "unless");
        let is_operator = !is_logic
            && (rulec_lang::operators::Op::from_spelling(first).is_some()
                || matches!(first, "is" | "not" | "=" | "=~"));
        let replaced = || self.span_of_tokens(start..self.token_index);
        let repeats_name = first == name && list_end < self.token_index;
        if repeats_name {
            let written = format!("{quantifier}: {}", self.source_of_tokens(list_end..self.token_index));
            let help = message!("write `{written}`");
            return Some(unexpected_token(span, message, help).likely_fix(replaced(), written));
        }
        if list_end >= self.token_index || !is_operator {
            let length = if word == "count" { format!("len({list})") } else { format!("len({list}) > 0") };
            let help = match word {
                "any" | "count" => message!(
                    "write `{length}` if every element counts, or the condition on each one after `:`, as in \
                    `{quantifier}: CONDITION`"
                ),
                _ => message!("write it after `:`, as in `{quantifier}: CONDITION`"),
            };
            return Some(unexpected_token(span, message, help));
        }
        let condition = self.source_of_tokens(list_end..self.token_index);
        let written = format!("{quantifier}: {name} {condition}");
        let help = message!("write `{written}`");
        Some(unexpected_token(span, message, help).likely_fix(replaced(), written))
    }
}
