//! Diagnostics for values in the syntax of another language. Examples: a text without quotes, a
//! duration in two parts, and a range with one end.

use super::super::context::unexpected_token;
use super::super::expr::{ExprElement, ExprElementKind, PrecedenceClimber};
use super::super::foreign::{self, foreign_syntax_error};
use super::super::{is_reserved, literal};
use crate::lex::{TokenKind, tokenize};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::{self, Op};

/// Words by which other languages mean a missing value, or test whether a value is missing.
const WORDS_FOR_MISSING: &[&str] = &[
    "unset",
    "undefined",
    "null",
    "none",
    "nil",
    "absent",
    "void",
    "nothing",
    "unknown",
    "nan",
    "na",
    "undef",
    "unspecified",
    "unavailable",
    "isnull",
    "~",
    "缺失",
    "空值",
];
/// Words by which other languages mean that a value is present.
const WORDS_FOR_PRESENT: &[&str] = &[
    "set",
    "defined",
    "given",
    "available",
    "there",
    "existing",
    "exists",
    "exist",
    "provided",
    "filled",
    "specified",
    "known",
    "found",
    "存在",
];

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the diagnostic for a value in the syntax of another language. The parser is directly
    /// after a complete operand. `None` if no such mistake is recognized.
    pub(super) fn foreign_value_error(&self) -> Option<Diagnostic> {
        self.type_before_value_error()
            .or_else(|| self.spaces_between_digits_error())
            .or_else(|| self.shell_comparison_error())
            .or_else(|| self.presence_test_in_words_error())
            .or_else(|| self.text_without_quotes_error())
            .or_else(|| self.word_after_number_error())
    }

    /// True if the element at `index` is a plain word: no operator, and not similar to an operator
    /// of another language.
    fn is_plain_word(&self, index: usize) -> bool {
        let text = self.text_at(index);
        let lower = text.to_lowercase();
        self.kind_at(index) == Some(ExprElementKind::Word)
            && !text.starts_with('`')
            && !is_reserved(text)
            && !operators::is_reserved_word(&lower)
            && !matches!(lower.as_str(), "priority" | "disabled" | "true" | "false" | "is" | "do" | "for")
            && foreign::meant_operator(text).is_none()
            && foreign::operator_help(text).is_none()
            && foreign::prefix_help(text).is_none()
            && !foreign::is_ignore_case(text)
            && foreign::worded_comparison(&lower, &self.text_at(index + 1).to_lowercase(), "").is_none()
    }

    /// Returns the index of the first element of the operand that ends before the element `end`.
    /// `None` if no operand ends there.
    pub(super) fn operand_start(&self, end: usize) -> Option<usize> {
        let is_suffix = |index: &usize| {
            matches!(self.kind_at(*index), Some(ExprElementKind::Member | ExprElementKind::Brackets))
        };
        let last = end.checked_sub(1)?;
        let first = (0..=last).rev().find(|index| !is_suffix(index))?;
        let is_call = first > 0
            && self.kind_at(first) == Some(ExprElementKind::Group)
            && self.kind_at(first - 1) == Some(ExprElementKind::Word)
            && !operators::is_reserved_word(self.text_at(first - 1));
        Some(first - usize::from(is_call))
    }

    /// Returns the source text of the expression's elements from `first` up to `end`, exclusive.
    fn elements_text(&self, first: usize, end: usize) -> &str {
        self.span_text(self.element_span(first).to(self.element_span(end - 1)))
    }

    /// Returns the diagnostic for a duration of several parts with spaces, as in `2 min 30 sec` or
    /// `1 hour and 30 minutes`. `None` without such a mistake.
    pub(super) fn spaced_duration_error(&self) -> Option<Diagnostic> {
        let first = self.position.checked_sub(1)?;
        let (mut parts, mut next, mut end) = (Vec::new(), first, first);
        while self.kind_at(next) == Some(ExprElementKind::Number) {
            let (number, word) = (self.text_at(next), self.text_at(next + 1));
            let is_word = self.kind_at(next + 1) == Some(ExprElementKind::Word);
            let spaced = is_word.then(|| literal::number_with_meant_unit(number, word)).flatten();
            end = next + 1 + usize::from(spaced.is_some());
            parts.push(spaced.unwrap_or_else(|| number.to_owned()));
            next = end + usize::from(matches!(self.text_at(end), "and" | "&" | "&&" | "AND"));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let sum = literal::write_sum_of_durations(&parts).filter(|_| parts.len() > 1)?;
        let span = self.element_span(first).to(self.element_span(end - 1));
        Some(foreign_syntax_error(span, message!("a duration has one number and one unit"), &sum))
    }

    /// Returns the diagnostic for spaces between groups of digits, as in `10 000`. `None` without
    /// such a mistake.
    fn spaces_between_digits_error(&self) -> Option<Diagnostic> {
        let first = self.position.checked_sub(1)?;
        let is_digits = |index: usize| {
            self.kind_at(index) == Some(ExprElementKind::Number)
                && self.text_at(index).bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_group = |index: &usize| is_digits(*index) && self.text_at(*index).len() == 3;
        let last = (self.position..self.elements.len()).take_while(is_group).last()?;
        if !is_digits(first) || self.text_at(first).len() > 3 {
            return None;
        }
        let span = self.element_span(first).to(self.element_span(last));
        let groups: Vec<&str> = self.span_text(span).split_whitespace().collect();
        let message = message!("a number contains no space");
        if self.cx.innermost_open_bracket(span.start) == Some(TokenKind::OpenBracket) {
            let help = message!(
                "write `{}` for several elements, or `{}` for one number",
                groups.join(", "),
                groups.join("_")
            );
            return Some(unexpected_token(span, message, help));
        }
        Some(foreign_syntax_error(span, message, &groups.join("_")))
    }

    /// Returns the diagnostic for a comparison in shell syntax, as in `count -gt 5`. The parser is
    /// at the right operand. `None` without such a mistake.
    fn shell_comparison_error(&self) -> Option<Diagnostic> {
        let word = self.position.checked_sub(1)?;
        let dash = word.checked_sub(1)?;
        let sign = match self.text_at(word) {
            "gt" => ">",
            "ge" => ">=",
            "lt" => "<",
            "le" => "<=",
            "eq" => "==",
            "ne" => "!=",
            _ => return None,
        };
        if self.text_at(dash) != "-" || !self.touches_previous(word) {
            return None;
        }
        let span = self.element_span(dash).to(self.element_span(word));
        let message = message!("`{}` is not an operator", self.span_text(span));
        Some(foreign_syntax_error(span, message, sign))
    }

    /// Returns the diagnostic for a presence test in English words after a complete operand: `x
    /// does not exist`, `x exists`, `x not set`. `None` without such a mistake.
    pub(in super::super) fn presence_test_in_words_error(&self) -> Option<Diagnostic> {
        let lower = |ahead: usize| self.text_at(self.position + ahead).to_lowercase();
        let (mut count, mut is_negated) = (0, false);
        if matches!(lower(0).as_str(), "does" | "do" | "did" | "has" | "was") {
            count += 1;
        }
        if matches!(lower(count).as_str(), "not" | "no") {
            (count, is_negated) = (count + 1, true);
        }
        let word = lower(count);
        let exists =
            matches!(word.as_str(), "exist" | "exists" | "defined" | "existed" | "isdefined" | "存在");
        let is_null = matches!(word.as_str(), "isnull" | "isnone" | "undefined" | "absent" | "isempty");
        let is_end = self.position + count + 1 == self.comparison_end(self.position);
        let is_present = match () {
            () if !is_end => return None,
            () if exists => !is_negated,
            () if is_null => is_negated,
            () if count > 0
                && (WORDS_FOR_PRESENT.contains(&word.as_str()) || matches!(word.as_str(), "value")) =>
            {
                !is_negated
            }
            () if count == 0 && matches!(word.as_str(), "missing" | "present") => word == "present",
            () => return None,
        };
        let start = self.operand_start(self.position)?;
        let span = self.element_span(self.position).to(self.element_span(self.position + count));
        let test = if is_present { "is present" } else { "is missing" };
        let written = format!("{} {test}", self.elements_text(start, self.position));
        let message = message!("unknown operator `{word}`", word = self.span_text(span));
        let diagnostic = Diagnostic::new(Code::UnknownOperator, span, message);
        Some(diagnostic.help(message!("write `{written}`")).fix(span, test))
    }

    /// Returns the diagnostic for a word after `is` that means `is missing`, `is present`, or a
    /// property of the value: `x is unset`, `x is not empty`. The parser is at the word `is`.
    /// `None` without such a mistake.
    pub(in super::super) fn presence_test_after_is_error(&self) -> Option<Diagnostic> {
        let lower = |ahead: usize| self.text_at(self.position + ahead).to_lowercase();
        let mut count = 1;
        let mut is_negated = false;
        while matches!(lower(count).as_str(), "not" | "a" | "an" | "equal" | "to") {
            is_negated ^= lower(count) == "not";
            count += 1;
        }
        let word = lower(count);
        if word.is_empty() || self.position + count + 1 != self.comparison_end(self.position) {
            return None;
        }
        let start = self.operand_start(self.position)?;
        let value = self.elements_text(start, self.position);
        let span = self.element_span(self.position).to(self.element_span(self.position + count));
        let written = self.span_text(span);
        let is_one_of = |words: &[&str]| words.contains(&word.as_str());
        let message = message!("`{written}` is not a test");
        if is_one_of(WORDS_FOR_MISSING) || is_one_of(WORDS_FOR_PRESENT) {
            let test = if is_one_of(WORDS_FOR_MISSING) == is_negated { "is present" } else { "is missing" };
            let help = message!("write `{value} {test}`");
            return Some(unexpected_token(span, message, help).fix(span, test));
        }
        if is_one_of(&["empty", "blank", "nonempty", "空"]) {
            let (sign, length) =
                if is_negated != (word == "nonempty") { ("!=", "> 0") } else { ("==", "== 0") };
            let missing = if sign == "==" { "is missing" } else { "is present" };
            let help = message!(
                "for a field that may be missing write `{value} {missing}`, for a text \
                `{value} {sign} \"\"`, for a list `len({value}) {length}`"
            );
            return Some(unexpected_token(span, message, help));
        }
        if is_one_of(&["true", "false"]) {
            let whole = self.element_span(start).to(span);
            let meant =
                if (word == "true") == is_negated { format!("not {value}") } else { value.to_owned() };
            let message = message!("a bool is a condition itself");
            return Some(foreign_syntax_error(whole, message, &meant));
        }
        None
    }

    /// Returns the diagnostic for a symbol by which other languages write a missing value, as in
    /// `referrer != ~`. The parser is at the symbol. `None` for other symbols.
    pub(in super::super) fn symbol_for_missing_value_error(&self) -> Option<Diagnostic> {
        let mark = self.text_at(self.position);
        let sign = self.position.checked_sub(1);
        let ends_here = self.position + 1 == self.comparison_end(self.position);
        if !matches!(mark, "~" | "?") || !ends_here {
            return None;
        }
        let span = self.element_span(self.position);
        let message = message!("`{mark}` is not a value");
        let Some(sign) = sign else {
            return Some(unexpected_token(span, message, message!("write `null` for a value that is null")));
        };
        let test = match self.text_at(sign) {
            "==" | "=" | "===" => "is missing",
            "!=" | "!==" | "<>" => "is present",
            _ => return None,
        };
        let start = self.operand_start(sign)?;
        let written = format!("{} {test}", self.elements_text(start, sign));
        let replaced = self.element_span(sign).to(span);
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(replaced, test))
    }

    /// Returns the diagnostic for a text of several words without quotes: `contains show me`, or `{
    /// team: billing department }`. The parser is at the second of two adjacent words. `None`
    /// without such a mistake.
    fn text_without_quotes_error(&self) -> Option<Diagnostic> {
        let is_part = |index: usize| self.is_plain_word(index);
        let last = self.position.checked_sub(1)?;
        if !is_part(last) || !is_part(self.position) {
            return None;
        }
        let first = (0..last).rev().take_while(|index| is_part(*index)).last().unwrap_or(last);
        let end = (self.position..self.elements.len()).find(|index| !is_part(*index));
        let end = end.unwrap_or(self.elements.len());
        let ends_here = end == self.comparison_end(self.position);
        let before = first.checked_sub(1).map(|index| self.text_at(index));
        let is_value = match before {
            Some("any" | "all" | "none" | "word") => true,
            Some(word) => Op::from_spelling(word).is_some_and(foreign::is_condition_operator),
            // The value of a key or of a named argument.
            None => {
                let start = self.element_span(first).start;
                let index = self.cx.significant.partition_point(|item| item.token.end <= start);
                index.checked_sub(1).is_some_and(|colon| {
                    matches!(self.cx.significant[colon].token.kind, TokenKind::Colon | TokenKind::OpenBracket)
                        || self.cx.significant[colon].token.kind == TokenKind::Comma
                            && self.cx.innermost_open_bracket(start) == Some(TokenKind::OpenBracket)
                }) && self.cx.innermost_open_bracket(start).is_some()
            }
        };
        if !is_value || !ends_here {
            return None;
        }
        let span = self.element_span(first).to(self.element_span(end - 1));
        let written =
            format!("\"{}\"", self.span_text(span).split_whitespace().collect::<Vec<_>>().join(" "));
        Some(foreign_syntax_error(span, message!("a text is written in quotes"), &written))
    }

    /// Returns the diagnostic for a word after a number that is no unit, as in `500 dollars`.
    /// `None` without such a mistake.
    fn word_after_number_error(&self) -> Option<Diagnostic> {
        let before = self.position.checked_sub(1)?;
        let word = self.text_at(self.position);
        let is_end = self.position + 1 == self.comparison_end(self.position);
        if self.kind_at(before) != Some(ExprElementKind::Number)
            || !is_end
            || !self.is_plain_word(self.position)
        {
            return None;
        }
        let number = self.text_at(before);
        let unit = self.element_span(self.position);
        let message = message!("`{unit}` is not a unit", unit = word);
        let diagnostic = match literal::number_times_power_of_ten(number, word) {
            Some(value) => {
                let help = message!("write `{value}`");
                unexpected_token(unit, message, help).likely_fix(self.element_span(before).to(unit), value)
            }
            None => {
                let help = message!("write the number alone: `{number}`");
                let removed = Span { start: self.element_span(before).end, ..unit };
                unexpected_token(unit, message, help).likely_fix(removed, "")
            }
        };
        Some(diagnostic)
    }

    /// Returns the diagnostic for a range with only one end: `port in 8000..` or `port in ..10`.
    /// The parser is where the missing end belongs. `None` without such a mistake.
    pub(in super::super) fn range_with_one_end_error(&self) -> Option<Diagnostic> {
        let is_dots = |index: usize| matches!(self.text_at(index), ".." | "..=" | "...");
        let (membership, comparison, span) = if is_dots(self.position) {
            let membership = self.position.checked_sub(1)?;
            let end = self.comparison_end(self.position);
            let bound = self.position + 1;
            if bound >= end {
                return None;
            }
            let sign = if self.text_at(self.position) == "..=" { "<=" } else { "<" };
            let span = self.element_span(self.position).to(self.element_span(end - 1));
            (membership, format!("{sign} {}", self.elements_text(bound, end)), span)
        } else {
            let dots = self.position.checked_sub(1).filter(|dots| is_dots(*dots))?;
            let bound = dots.checked_sub(1)?;
            let first = self.operand_start(dots)?;
            let minus = usize::from(first > 0 && self.text_at(first - 1) == "-");
            let membership = (first - minus).checked_sub(1)?;
            let span = self.element_span(bound).to(self.element_span(dots));
            (membership, format!(">= {}", self.elements_text(first - minus, dots)), span)
        };
        let is_negated = membership > 0 && self.text_at(membership - 1) == "not";
        if self.text_at(membership) != "in" {
            return None;
        }
        let end = membership - usize::from(is_negated);
        let left = self.elements_text(self.operand_start(end)?, end);
        let written = match is_negated {
            true => format!("not ({left} {comparison})"),
            false => format!("{left} {comparison}"),
        };
        let message = message!("a range has two ends");
        Some(unexpected_token(span, message, message!("with one end it is a comparison: write `{written}`")))
    }

    /// Returns the diagnostic for `=` at the start of a value, as in a spreadsheet: `when
    /// =len(text) > 5`. The parser is at the `=`. `None` without such a mistake.
    pub(in super::super) fn leading_equals_error(&self) -> Option<Diagnostic> {
        let is_leading =
            self.position == 0 && matches!(self.text_at(0), "=" | "==") && self.elements.len() > 1;
        is_leading.then(|| {
            let span = self.element_span(0);
            let message = message!("a value does not begin with `{}`", self.text_at(0));
            unexpected_token(span, message, message!("remove the `{}`", self.text_at(0))).fix(span, "")
        })
    }

    /// Returns the diagnostic for a range in brackets, as in `n in [5..10]`. `None` without such a
    /// mistake.
    pub(super) fn range_in_brackets_error(&self, op: Op, element: ExprElement) -> Option<Diagnostic> {
        let is_bracket = matches!(element.kind, ExprElementKind::Brackets | ExprElementKind::Group);
        if op != Op::In || !is_bracket {
            return None;
        }
        let written = self.element_text(element);
        let inner = written[1..written.len() - 1].trim();
        let (low, high) = inner.split_once("..")?;
        let is_bound = |text: &str| {
            !text.is_empty()
                && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '"' | ':'))
        };
        (is_bound(low.trim()) && is_bound(high.trim_start_matches('=').trim())).then(|| {
            foreign_syntax_error(element.span, message!("a range is written without brackets"), inner)
        })
    }

    /// Returns the constants in braces or parentheses, written as the elements of a list: `"a",
    /// "b"`. `None` if the brackets contain anything else.
    pub(in super::super) fn write_constant_elements(&self, element: ExprElement) -> Option<String> {
        use TokenKind::{Comma, Number, RawString, Semicolon, String};
        let written = self.element_text(element);
        let inner = written.strip_prefix(['{', '(', '['])?;
        let inner = inner.strip_suffix(['}', ')', ']'])?;
        let (mut elements, mut start) = (Vec::new(), 0);
        for token in tokenize(inner, 0) {
            let end = token.end as usize;
            match token.kind {
                Number | RawString | String => elements.push(&inner[start..end]),
                kind if kind.is_trivia() || matches!(kind, Comma | Semicolon) => {}
                _ => return None,
            }
            start = end;
        }
        (!elements.is_empty()).then(|| elements.join(", "))
    }

    /// Returns the diagnostic for a list of constants in braces, as in `{ "a", "b" }`. `None` if
    /// the braces contain anything else.
    pub(in super::super) fn list_in_braces_error(&self, braces: ExprElement) -> Option<Diagnostic> {
        let elements = self.write_constant_elements(braces)?;
        Some(self.list_error(braces, &elements))
    }

    /// Returns the diagnostic for a list of constants that is not in `[` and `]`. `elements` is the
    /// source text of the constants. The fix keeps comments and line breaks between the constants.
    pub(super) fn list_error(&self, list: ExprElement, elements: &str) -> Diagnostic {
        let written = self.element_text(list);
        let message = message!("a list is written in brackets");
        let help = message!("write `{written}`", written = format!("[{elements}]"));
        let replacement = match written.contains('\n') {
            true => format!("[{}]", with_commas(&written[1..written.len() - 1])),
            false => format!("[{elements}]"),
        };
        unexpected_token(list.span, message, help).fix(list.span, replacement)
    }
}

/// Returns the source text of constants with exactly one comma between two neighbours. White space
/// and comments between the constants stay.
fn with_commas(source: &str) -> String {
    let mut written = String::with_capacity(source.len());
    // The end of the last constant, if no comma follows it yet.
    let mut open_end = None;
    for token in tokenize(source, 0) {
        let text = token.text(source);
        match token.kind {
            TokenKind::Comma | TokenKind::Semicolon => {
                if open_end.take().is_some() {
                    written.push(',');
                }
            }
            kind if kind.is_trivia() => written.push_str(text),
            _ => {
                if let Some(end) = open_end {
                    written.insert(end, ',');
                }
                written.push_str(text);
                open_end = Some(written.len());
            }
        }
    }
    written
}
