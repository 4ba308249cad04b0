//! Diagnostics for numbers of elements in words, as in `at least 3 items have price > 100`, and for
//! lists as other languages write them.

use super::super::context::unexpected_token;
use super::super::expr::{ExprElementKind, PrecedenceClimber};
use super::super::foreign::is_condition_operator;
use super::super::{is_reserved, remedy};
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_lang::operators::Op;

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the diagnostic for a number of elements in words. The parser is at the second word,
    /// such as `least`. `None` without such words.
    pub(in super::super) fn count_in_words_error(&self) -> Option<Diagnostic> {
        let first = self.position.checked_sub(1)?;
        let lower = |index: usize| self.text_at(index).to_lowercase();
        let sign = match (lower(first).as_str(), lower(self.position).as_str()) {
            ("at", "least") => ">=",
            ("at", "most") => "<=",
            ("more", "than") => ">",
            ("less" | "fewer", "than") => "<",
            _ => return None,
        };
        let number = self.position + 1;
        let is_filler = |index: &usize| !matches!(lower(*index).as_str(), "of" | "the" | "all");
        let list = (number + 1..self.elements.len()).find(is_filler)?;
        let is_list = self.kind_at(list) == Some(ExprElementKind::Word) && !is_reserved(self.text_at(list));
        if self.kind_at(number) != Some(ExprElementKind::Number) || !is_list {
            return None;
        }
        let members = (list + 1..self.elements.len())
            .take_while(|index| self.kind_at(*index) == Some(ExprElementKind::Member))
            .count();
        let verb = list + members + 1;
        let is_verb = matches!(
            lower(verb).as_str(),
            "have" | "has" | "having" | "with" | "where" | "whose" | "that" | "of"
        );
        let path = self.span_text(self.element_span(list).to(self.element_span(list + members)));
        let name = path.rsplit('.').next().unwrap_or(path);
        let element = name.strip_suffix('s').filter(|element| !is_reserved(element) && element.len() > 1);
        let element = element.unwrap_or(if path == "x" { "y" } else { "x" });
        let end = self.comparison_end(verb);
        let start = verb + 1 + usize::from(matches!(lower(verb + 1).as_str(), "a" | "an" | "have" | "has"));
        let span = self.element_span(first).to(self.element_span(self.position));
        let message = message!("`{}` does not count elements", self.span_text(span));
        let shape = format!("(count {element} in {path}: CONDITION) {sign} {}", self.text_at(number));
        let condition = (is_verb && start < end)
            .then(|| self.span_text(self.element_span(start).to(self.element_span(end - 1))));
        // `are "x"` compares the elements, and `cost > 100` a field of them.
        let whole_end = self.comparison_end(list);
        let rest = (verb < whole_end)
            .then(|| self.span_text(self.element_span(verb).to(self.element_span(whole_end - 1))));
        let condition = match (condition, rest) {
            (Some(condition), _) => Some(format!("{element}.{condition}")),
            (None, Some(rest)) if matches!(lower(verb).as_str(), "are" | "is" | "equal") => {
                rest.split_once(' ').map(|(_, value)| format!("{element} == {value}"))
            }
            (None, Some(rest))
                if matches!(lower(verb).as_str(), "contain" | "match" | "contains" | "matches") =>
            {
                let (verb, value) = rest.split_once(' ').unwrap_or((rest, ""));
                let operator = if verb.starts_with("contain") { "contains" } else { "matches" };
                Some(format!("{element} {operator} {value}"))
            }
            (None, rest) => rest.map(|rest| format!("{element}.{rest}")),
        };
        let end = whole_end;
        let written = condition.map(|condition| {
            format!("(count {element} in {path}: {condition}) {sign} {}", self.text_at(number))
        });
        Some(match written.filter(|written| remedy::is_valid_expression(written)) {
            Some(written) => {
                let whole = self.element_span(first).to(self.element_span(end - 1));
                let help = message!("write `{written}`", written = written.clone());
                unexpected_token(span, message, help).likely_fix(whole, written)
            }
            None => unexpected_token(span, message, message!("write `{shape}`")),
        })
    }

    /// Returns the diagnostic for texts that are joined by `&`, as in `"order " & id`. The parser
    /// is at `&`, which is the current word. `None` if neither side is a text in quotes.
    pub(in super::super) fn texts_joined_by_ampersand_error(&self, word: &str) -> Option<Diagnostic> {
        let last = self.position.checked_sub(1)?;
        let is_text = |index: usize| self.kind_at(index) == Some(ExprElementKind::String);
        let start = self.operand_start(self.position)?;
        let compares = start
            .checked_sub(1)
            .is_some_and(|before| Op::from_spelling(self.text_at(before)).is_some_and(is_condition_operator));
        if word != "&" || compares || !is_text(last) && !is_text(self.position + 1) {
            return None;
        }
        let end = self.comparison_end_after(self.position);
        let parts: Vec<&str> = self
            .span_text(self.element_span(start).to(self.element_span(end - 1)))
            .split('&')
            .map(str::trim)
            .collect();
        let written = format!("join([{}], \"\")", parts.join(", "));
        let span = self.element_span(self.position);
        let whole = self.element_span(start).to(self.element_span(end - 1));
        if !remedy::is_valid_expression(&written) {
            return None;
        }
        let message = message!("texts are joined by `join`, not by `&`");
        // Metadata are in the braces after a target.
        let before = &self.cx.text[..whole.start as usize];
        let is_metadata = matches!(self.statement_word(), "route" | "default")
            && self.cx.innermost_open_bracket(whole.start) == Some(TokenKind::OpenBrace);
        let key = before.trim_end().strip_suffix(':').and_then(|head| {
            head.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|key| !key.is_empty())
        });
        if let Some(key) = key.filter(|_| is_metadata) {
            let help = message!(
                "metadata are constants: give it to the handler as an argument, `{key}: {written}`",
                key = key.to_owned()
            );
            return Some(unexpected_token(span, message, help));
        }
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).likely_fix(whole, written))
    }

    /// Returns the index of the first element after `start` that ends a chain of texts: `and`, `or`
    /// or a comparison; the number of elements if there is none.
    fn comparison_end_after(&self, start: usize) -> usize {
        let ends = |index: &usize| {
            let word = self.text_at(*index);
            matches!(word, "and" | "or" | "unless" | "&&" | "||")
                || Op::from_spelling(word).is_some_and(is_condition_operator)
        };
        (start + 1..self.elements.len()).find(ends).unwrap_or(self.elements.len())
    }

    /// Returns the diagnostic for a list with a type or a word before it, as in `[]string{"a"}` and
    /// `vec!["a"]`. The parser is after the first part. `None` for other values.
    pub(in super::super) fn list_after_type_error(&self) -> Option<Diagnostic> {
        let first = self.position.checked_sub(1)?;
        let head = self.text_at(first);
        let is_go = matches!(head, "[]" | "[...]" | "[…]")
            && self.kind_at(self.position) == Some(ExprElementKind::Word);
        let list = match (head, self.text_at(self.position)) {
            _ if is_go => self.position + 1,
            ("vec" | "Vec", "!") => self.position + 1,
            ("new", _) if self.kind_at(self.position) == Some(ExprElementKind::Word) => {
                self.position + 1 + usize::from(self.text_at(self.position + 1) == "[]")
            }
            ("set" | "Set" | "listOf" | "setOf" | "list" | "array" | "Array", _) => self.position,
            _ => return None,
        };
        let element = *self.elements.get(list)?;
        let is_bracket = matches!(
            element.kind,
            ExprElementKind::Braces | ExprElementKind::Brackets | ExprElementKind::Group
        );
        let elements = self.write_constant_elements(element).filter(|_| is_bracket)?;
        let written = format!("[{elements}]");
        let span = self.element_span(first).to(element.span);
        let message = message!("a list is written in brackets, without a type");
        let help = message!("write `{written}`", written = written.clone());
        Some(unexpected_token(span, message, help).fix(span, written))
    }
}
