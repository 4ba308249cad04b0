//! Diagnostics for common mistakes with words in an expression: an operator in two words, a range
//! with `to`, a time with `ago`, or a text without quotes after `is`.

use super::super::context::unexpected_token;
use super::super::expr::{ExprElement, ExprElementKind, PrecedenceClimber};
use super::super::foreign::{self, foreign_syntax_error, is_condition_operator};
use super::super::{is_reserved, literal, shapes};
use crate::lex::{TokenKind, tokenize};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::Ty;

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the diagnostic for a misused or misspelt word. The parser is directly after a
    /// complete operand. `None` if no such mistake is recognized.
    pub(super) fn misused_word_error(&self) -> Option<Diagnostic> {
        let token = self
            .cx
            .significant
            .partition_point(|item| item.token.end <= self.element_span(self.position).start);
        shapes::priority_before_route_error(self.cx, token)
            .or_else(|| shapes::pasted_line_number_error(self.cx, token))
            .or_else(|| self.in_network_as_two_words_error())
            .or_else(|| self.range_in_words_error())
            .or_else(|| self.time_before_ago_error())
            .or_else(|| self.misspelt_loopback_error())
    }

    /// Returns the operand that replaces `words[*]`, which means every element of the list `base`.
    /// It is `any words` after an operator such as `contains`, and `words` after `in`. `None`
    /// without an operator before it.
    pub(super) fn every_element_after_operator(&self, base: Span) -> Option<String> {
        let first = (0..self.position).find(|index| self.element_span(*index).start == base.start)?;
        let op = Op::from_spelling(self.text_at(first.checked_sub(1)?))?;
        let list = self.span_text(base);
        match op {
            Op::In => Some(list.to_owned()),
            op => op.info().accepted_modifiers.accepts_quantity.then(|| format!("any {list}")),
        }
    }

    /// Returns the diagnostic for a word after `ignoring case`, as in `ignoring case full`. The
    /// parser is at the word. `None` for other elements.
    pub(in super::super) fn word_after_case_error(&self) -> Option<Diagnostic> {
        let modifier = self.text_at(self.position.checked_sub(2)?);
        let follows_case = self.text_at(self.position - 1) == "case";
        if !follows_case || !matches!(modifier, "ignoring" | "matching") {
            return None;
        }
        let word = self.text_at(self.position);
        let message = message!("`{word}` cannot follow `{modifier} case`");
        let help = match word {
            "full" | "fully" | "unicode" | "folding" => message!(
                "remove `{word}`; full case folding is a setting of the file: write `settings {{ case: full }}`"
            ),
            _ => message!("remove `{word}`"),
        };
        let is_word = self.kind_at(self.position) == Some(ExprElementKind::Word);
        is_word.then(|| unexpected_token(self.element_span(self.position), message, help))
    }

    /// True if an operator in letters, such as `contains`, follows the operand at the parser's
    /// position. `!` before the operand then negates the whole condition.
    pub(in super::super) fn is_before_word_operator(&self) -> bool {
        use ExprElementKind::{Brackets, Group, Member};
        let is_suffix = |index: &usize| matches!(self.kind_at(*index), Some(Member | Brackets | Group));
        let next = (self.position + 1..self.elements.len()).find(|index| !is_suffix(index));
        let word = next.map_or("", |next| self.text_at(next));
        word == "is"
            || Op::from_spelling(word).is_some_and(|op| op.is_spelled_as_word() && is_condition_operator(op))
    }

    /// Returns the diagnostic for `in network "10.0.0.0/8"`, where `in_network` must be one word.
    /// The parser is at the text of the network. `None` without such a mistake.
    pub(in super::super) fn in_network_as_two_words_error(&self) -> Option<Diagnostic> {
        let word = self.position.checked_sub(1)?;
        let first = word.checked_sub(1)?;
        let is_network = matches!(
            self.text_at(word).to_lowercase().as_str(),
            "network" | "networks" | "subnet" | "subnets" | "cidr" | "net" | "range"
        );
        let is_value = matches!(
            self.kind_at(self.position),
            Some(ExprElementKind::String | ExprElementKind::Brackets | ExprElementKind::Word)
        );
        if !is_network || !is_value || self.text_at(first) != "in" {
            return None;
        }
        let is_list = self.kind_at(self.position) == Some(ExprElementKind::Brackets);
        let replacement = if is_list { "in_network any" } else { "in_network" };
        let span = self.element_span(first).to(self.element_span(word));
        let message = message!("`{}` is not an operator", self.span_text(span));
        Some(foreign_syntax_error(span, message, replacement))
    }

    /// Returns the diagnostic for a range that is written with a word: `in 18 to 65`. The parser is
    /// at the word, here `to`. `None` without such a mistake.
    fn range_in_words_error(&self) -> Option<Diagnostic> {
        let low = self.position.checked_sub(1)?;
        let is_joint = matches!(
            self.text_at(self.position).to_lowercase().as_str(),
            "to" | "until" | "till" | "through" | "thru" | "upto" | "bis" | "至" | "到"
        );
        let is_bound =
            |index| matches!(self.kind_at(index), Some(ExprElementKind::Number | ExprElementKind::String));
        let minus = usize::from(low > 0 && self.text_at(low - 1) == "-");
        let follows_in = low > minus && self.text_at(low - minus - 1) == "in";
        if !is_joint || !is_bound(low) || !is_bound(self.position + 1) || !follows_in {
            return None;
        }
        let replacement = format!("{}..={}", self.text_at(low), self.text_at(self.position + 1));
        let span = self.element_span(low).to(self.element_span(self.position + 1));
        let message = message!("a range is written with `..` or `..=`");
        Some(foreign_syntax_error(span, message, &replacement))
    }

    /// Returns the diagnostic for a time such as `52w ago` in `joined > 52w ago`. The parser is at
    /// `ago`, or at a unit before it. `None` without such a mistake.
    fn time_before_ago_error(&self) -> Option<Diagnostic> {
        let number = self.position.checked_sub(1)?;
        let is_ago =
            |index| matches!(self.text_at(index), "ago" | "earlier" | "back" | "前" | "之前" | "以前");
        let (ago, duration) = if is_ago(self.position) {
            (self.position, self.text_at(number).to_owned())
        } else if is_ago(self.position + 1) {
            (
                self.position + 1,
                literal::number_with_meant_unit(self.text_at(number), self.text_at(self.position))?,
            )
        } else {
            return None;
        };
        if self.kind_at(number) != Some(ExprElementKind::Number) {
            return None;
        }
        let span = self.element_span(number).to(self.element_span(ago));
        let message = message!("`{}` is not a value", self.span_text(span));
        let is_comparison =
            number > 0 && matches!(self.text_at(number - 1), "<" | ">" | "<=" | ">=" | "==" | "=");
        let Some(left) = self.last_left_operand.filter(|_| is_comparison).map(|left| self.span_text(left))
        else {
            let replacement = format!("now - {duration}");
            return Some(foreign_syntax_error(span, message, &replacement));
        };
        let help = message!(
            "write `{left} < now - {duration}` for longer ago, or `{left} > now - {duration}` for more recently"
        );
        Some(unexpected_token(span, message, help))
    }

    /// Returns the diagnostic for a misspelt `loopback` in a router. `None` without such a mistake.
    fn misspelt_loopback_error(&self) -> Option<Diagnostic> {
        let mut end = self.position + 1;
        while matches!(self.text_at(end), "-" | "back") && end < self.position + 3 {
            end += 1;
        }
        let span = self.element_span(self.position).to(self.element_span(end - 1));
        let written = self.span_text(span);
        let letters: String = written.chars().filter(|c| c.is_alphanumeric()).collect();
        let is_loopback =
            matches!(letters.to_lowercase().as_str(), "loopback" | "loop" | "back" | "loopsback");
        if self.statement_word() != "router" || !is_loopback {
            return None;
        }
        Some(foreign_syntax_error(span, message!("`{written}` is not the right spelling"), "loopback"))
    }

    /// Returns the diagnostic for a comparison with `is` instead of `==` or `!=`: `intent is
    /// refund` or `n is not 3`. The parser is at the word `is`. `None` without such a mistake.
    pub(in super::super) fn equality_with_is_error(&self) -> Option<Diagnostic> {
        if let Some(diagnostic) = self.type_after_is_error().or_else(|| self.presence_test_after_is_error()) {
            return Some(diagnostic);
        }
        let is_negated = self.text_at(self.position + 1) == "not";
        let value = self.position + 1 + usize::from(is_negated);
        let sign = if is_negated { "!=" } else { "==" };
        let ends = value + 1 == self.comparison_end(value);
        let text = self.text_at(value);
        let span = self.element_span(self.position).to(self.element_span(value.min(self.elements.len() - 1)));
        let message = message!("values are compared with `{sign}`, not with `is`");
        match self.kind_at(value)? {
            ExprElementKind::String | ExprElementKind::Number if ends => {
                Some(foreign_syntax_error(span, message, &format!("{sign} {text}")))
            }
            ExprElementKind::Word if ends && !is_reserved(text) => {
                let replacement = format!("{sign} \"{text}\"");
                let help = message!("write `{replacement}` for a text, or `{sign} {text}` for a field");
                Some(unexpected_token(span, message, help).likely_fix(span, replacement))
            }
            _ => None,
        }
    }

    /// Returns the diagnostic for a type test with `is`: `x is string`, `x is not a number`. The
    /// parser is at the word `is`. `None` without such a mistake.
    fn type_after_is_error(&self) -> Option<Diagnostic> {
        let mut index = self.position + 1;
        let is_negated = self.text_at(index) == "not";
        index += usize::from(is_negated);
        index += usize::from(matches!(self.text_at(index), "a" | "an"));
        let ty = Ty::builtin_for_type_name(self.text_at(index))
            .filter(|_| index + 1 == self.comparison_end(index))?;
        let first = self.position.checked_sub(1)?;
        // The value before `is` is the operand of a comparison, which may have several elements.
        let start =
            (0..first).rev().take_while(|before| self.kind_at(before + 1) == Some(ExprElementKind::Member));
        let start = start.last().unwrap_or(first);
        let value = self.span_text(self.element_span(start).to(self.element_span(first)));
        let span = self.element_span(self.position).to(self.element_span(index));
        let word = if is_negated { "missing" } else { "present" };
        let written = format!("({value} as {ty}) is {word}");
        let message = message!("`{}` is not a test of a type", self.span_text(span));
        let help = message!("write `{written}`: a value of another type counts as missing");
        let whole = self.element_span(start).to(span);
        Some(unexpected_token(span, message, help).likely_fix(whole, written))
    }

    /// Adds a help text and a fix to the diagnostic for a method call. The fix replaces the span
    /// `call` by `written`, a function call or a condition. `value` is the text before the method,
    /// and `args` are its arguments. The parser is at the parentheses of the call.
    pub(in super::super) fn suggest_call_replacement(
        &self,
        diagnostic: Diagnostic,
        (value, args): (&str, &str),
        (call, written): (Span, String),
    ) -> Diagnostic {
        if let Some((whole, written)) = self.translate_chained_calls(call, &written) {
            return diagnostic
                .help(message!("write `{written}`", written = written.clone()))
                .likely_fix(whole, written);
        }
        let has_operator = |index: Option<usize>| {
            index.is_some_and(|index| {
                let word = self.text_at(index);
                let is_comparison = || Op::from_spelling(word).is_some_and(is_condition_operator);
                match self.kind_at(index) {
                    Some(ExprElementKind::Operator) => !matches!(word, "!" | "&&" | "||" | "&" | "|"),
                    Some(ExprElementKind::Word) => word == "is" || word != "not" && is_comparison(),
                    _ => false,
                }
            })
        };
        let is_operand =
            has_operator(self.operand_start(self.position).and_then(|first| first.checked_sub(1)));
        let next = self.position + 1;
        let is_position = written.starts_with(&format!("index_of({value}, "));
        let is_search = is_position || written.starts_with(&format!("{value} matches "));
        let is_condition = written.starts_with(&format!("{value} "));
        // In other languages, `find` may return an element instead of a position.
        let is_element = is_position
            && matches!(self.kind_at(next), Some(ExprElementKind::Member | ExprElementKind::Brackets));
        if is_element {
            return diagnostic.help(message!("write `{written}`", written = format!("any x in {value}: …")));
        }
        // If the searched part is missing, there is no position to compare. So the comparison after
        // the call is replaced too.
        let position = foreign::read_comparison_of_search_position(&self.cx.text[call.end as usize..]);
        if let Some((is_found, length)) = position.filter(|_| is_search && !is_operand) {
            let operator = if is_position { "contains" } else { "matches" };
            let not = if is_found { "" } else { "not " };
            let written = format!("{value} {not}{operator} {args}");
            let whole = Span { end: call.end + length as u32, ..call };
            return diagnostic.help(message!("write `{written}`")).likely_fix(whole, written);
        }
        let diagnostic = diagnostic.help(message!("write `{written}`"));
        match () {
            () if is_position => diagnostic.likely_fix(call, written),
            () if is_condition && (is_operand || has_operator(Some(next))) => diagnostic,
            () => diagnostic.fix(call, written),
        }
    }

    /// Returns the diagnostic for `=` between the keys and values of a record: `{ a = 3 }`. `None`
    /// without such a mistake.
    pub(in super::super) fn equals_in_record_error(&self, record: ExprElement) -> Option<Diagnostic> {
        let written = self.element_text(record);
        let (mut replacement, mut depth, mut first_sign) = (String::new(), 0_usize, None);
        // The number of tokens since the last comma.
        let mut count = 0;
        for token in tokenize(written, 0) {
            let text = token.text(written);
            depth += usize::from(token.kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(token.kind.closes_bracket()));
            if depth == 1 && count == 1 && text == "=" {
                replacement.truncate(replacement.trim_end().len());
                replacement.push(':');
                first_sign = first_sign.or(Some(token.start));
            } else {
                replacement.push_str(text);
            }
            count = match token.kind {
                TokenKind::Comma | TokenKind::OpenBrace if depth == 1 => 0,
                kind if kind.is_trivia() => count,
                _ => count + 1,
            };
        }
        let start = record.span.start + first_sign?;
        let sign = Span { start, end: start + 1, ..record.span };
        let message = message!("a key and its value are separated by `:`, not by `=`");
        let diagnostic = unexpected_token(sign, message, message!("write `{replacement}`"));
        Some(diagnostic.fix(record.span, replacement))
    }
}
