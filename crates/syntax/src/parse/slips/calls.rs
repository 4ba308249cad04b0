//! Diagnostics for parts of an expression in the order or the words of other languages: a window
//! apart from its history, a function's name in two words, a regular expression in slashes, and a
//! type before its value.

use super::super::context::unexpected_token;
use super::super::expr::{ExprElementKind, PrecedenceClimber};
use super::super::foreign::{self, foreign_syntax_error};
use super::super::{is_reserved, shapes};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::Ty;

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the diagnostic for a window before its quantifier, as in `within 1h any p in
    /// history: …`. The parser is after the word `within`. `None` without such a mistake.
    pub(in super::super) fn window_before_quantifier_error(&self) -> Option<Diagnostic> {
        let word = self.position.checked_sub(1)?;
        if self.text_at(word) != "within" || self.kind_at(self.position) != Some(ExprElementKind::Number) {
            return None;
        }
        let window = self.element_span(word).to(self.element_span(self.position));
        let message = message!("the window of a quantifier follows `history`");
        let next = self.position + 1 + usize::from(matches!(self.text_at(self.position + 1), ":" | ","));
        let element = self
            .elements
            .get(next)
            .filter(|element| matches!(element.kind, ExprElementKind::Quantified | ExprElementKind::Group));
        let quantified = element.map_or("", |element| self.element_text(*element));
        let Some((head, rest)) = quantified.split_once(" in history").filter(|(head, _)| !head.contains(':'))
        else {
            let written = format!("any p in history {}: CONDITION", self.span_text(window));
            return Some(unexpected_token(window, message, message!("write `{written}`")));
        };
        let shown = format!("{} in history {}: …", head.trim_start_matches('('), self.span_text(window));
        let written = format!("{head} in history {}{rest}", self.span_text(window));
        let whole = window.to(self.element_span(next));
        Some(unexpected_token(window, message, message!("write `{shown}`")).likely_fix(whole, written))
    }

    /// Returns the diagnostic for a window after the condition of a quantifier, as in `any p in
    /// history: p.tool == "x" within 1h`. The parser is at the word `within`. `None` without such a
    /// mistake.
    pub(in super::super) fn window_after_condition_error(&self) -> Option<Diagnostic> {
        let word = self.element_span(self.position);
        let bound =
            self.elements.get(self.position + 1).filter(|bound| bound.kind == ExprElementKind::Number)?;
        if self.text_at(self.position) != "within" {
            return None;
        }
        let token = |index: usize| self.cx.significant[index].token.text(self.cx.text);
        let before = self.cx.significant.partition_point(|item| item.token.start < word.start);
        let history = (self.cx.tokens.start + 3..before).rev().find(|index| token(*index) == "history")?;
        if token(history - 1) != "in" || token(history + 1) != ":" {
            return None;
        }
        let first = history - 3;
        let head = shapes::span_of(self.cx, first..history + 1);
        let window = word.to(bound.span);
        let condition = &self.cx.text[head.end as usize..word.start as usize];
        let written = format!("{} {}{}", self.span_text(head), self.span_text(window), condition.trim_end());
        let message = message!("the window of a quantifier follows `history`");
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(window, message, help).likely_fix(head.to(window), written))
    }

    /// Returns the diagnostic for a function's name in two words, as in `url host == "a"`. The
    /// parser is at the second word. `None` without such a mistake.
    pub(in super::super) fn function_in_words_error(&self) -> Option<Diagnostic> {
        let first = self.position.checked_sub(1)?;
        let is_word = |index| self.kind_at(index) == Some(ExprElementKind::Word);
        if !is_word(first) || !is_word(self.position) {
            return None;
        }
        let (head, mut end) = (self.text_at(first), self.position + 1);
        let mut name = format!("{head}_{}", self.text_at(self.position)).to_lowercase();
        if Function::from_name(&name).is_none() && is_word(end) {
            name = format!("{name}_{}", self.text_at(end)).to_lowercase();
            end += 1;
        }
        let function = Function::from_name(&name)?.info().name;
        let message = message!("the name of the function is `{function}`, in one word");
        let span = self.element_span(first).to(self.element_span(end - 1));
        if self.kind_at(end) == Some(ExprElementKind::Group) {
            return Some(foreign_syntax_error(span, message, function));
        }
        // `url host of link`
        let is_filler = |index: usize| matches!(self.text_at(index), "of" | "from" | "for" | "in");
        let value = end + usize::from(is_filler(end));
        let is_operand = is_word(value) && !is_reserved(self.text_at(value)) && {
            value > end || Op::from_spelling(self.text_at(value)).is_none()
        };
        let members = (value + 1..self.elements.len())
            .take_while(|index| self.kind_at(*index) == Some(ExprElementKind::Member))
            .count();
        let (argument, last) = match is_operand {
            true => {
                let last = value + members;
                (self.span_text(self.element_span(value).to(self.element_span(last))), last)
            }
            false => (head, end - 1),
        };
        let written = format!("{function}({argument})");
        let whole = span.to(self.element_span(last));
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(whole, written))
    }

    /// Returns the diagnostic for a regular expression between slashes where a value is expected,
    /// as in `/refund/i.test(text)`. `None` without one.
    pub(in super::super) fn regex_between_slashes_error(&self) -> Option<Diagnostic> {
        if !self.text_at(self.position).starts_with('/') {
            return None;
        }
        let before = self.position.checked_sub(1).map(|before| self.element_span(before));
        foreign::regex_between_slashes_error(self.cx.text, self.element_span(self.position), before)
    }

    /// Returns the diagnostic for a type in parentheses before a value, as in `(int)ctx.n`. The
    /// parser is at the value. `None` without such a type.
    pub(super) fn type_before_value_error(&self) -> Option<Diagnostic> {
        use ExprElementKind::{Brackets, Group, Member, Word};
        let group = self.position.checked_sub(1)?;
        let name = self.text_at(group).strip_prefix('(')?.strip_suffix(')')?.trim();
        // `text` is also a usual name of a field.
        let ty = Ty::builtin_for_type_name(name).filter(|_| name != "text")?;
        let first = self.text_at(self.position);
        let is_value = matches!(self.kind_at(self.position), Some(Word | Group))
            && Op::from_spelling(first).is_none()
            && !is_reserved(first);
        if !is_value || self.kind_at(group) != Some(Group) {
            return None;
        }
        let is_suffix = |index: &usize| matches!(self.kind_at(*index), Some(Member | Brackets | Group));
        let last = (self.position + 1..self.elements.len()).take_while(is_suffix).last();
        let last = last.unwrap_or(self.position);
        let value = self.span_text(self.element_span(self.position).to(self.element_span(last)));
        let whole = self.element_span(group).to(self.element_span(last));
        let written = format!("({value} as {ty})");
        let message = message!("the type of a value follows `as`, and is not written before the value");
        let help = match ty {
            "int" => message!("write `{written}`; to round a number down, write `floor({value})`"),
            "float" | "number" | "decimal" => {
                message!("write `{written}`; for a number in a text, write `number({value})`")
            }
            _ => message!("write `{written}`", written = written.clone()),
        };
        Some(unexpected_token(whole, message, help).likely_fix(whole, written))
    }
}
