//! Diagnostics for small mistakes inside an expression, such as a missing quote. They are
//! recognized by the tokens around the parser's position. The suggested fix contains the author's
//! own operands, so that it can be applied unchanged.

mod brackets;
mod calls;
mod comparisons;
mod element_patterns;
mod methods;
mod quantities;
mod records;
mod values;
mod words;

use super::context::{BuildFailed, unexpected_token};
use super::expr::{ExprElementKind, PrecedenceClimber};
use super::foreign::{self, foreign_syntax_error};
use super::literal;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::{self, Op};

impl<'cx> PrecedenceClimber<'_, 'cx, '_> {
    fn span_text(&self, span: Span) -> &'cx str {
        &self.cx.text[span.range()]
    }

    fn kind_at(&self, index: usize) -> Option<ExprElementKind> {
        self.elements.get(index).map(|element| element.kind)
    }

    /// Returns the source text of the element at an index. Empty past the last element.
    fn text_at(&self, index: usize) -> &'cx str {
        self.elements.get(index).map_or("", |element| self.element_text(*element))
    }

    /// True if no white space lies between the expression's element (a token or bracketed group) at
    /// an index and the element before it.
    fn touches_previous(&self, index: usize) -> bool {
        index > 0
            && index < self.elements.len()
            && self.element_span(index - 1).end == self.element_span(index).start
    }

    /// Returns the end of the comparison that contains the expression's element at index `start`.
    /// This is the index of the next `and`, `or` or `unless`, or the number of elements.
    fn comparison_end(&self, start: usize) -> usize {
        let is_logic = |index: &usize| {
            matches!(self.text_at(*index).to_lowercase().as_str(), "and" | "or" | "unless" | "&&" | "||")
        };
        (start..self.elements.len()).find(is_logic).unwrap_or(self.elements.len())
    }

    /// Reports a small mistake at the parser's position, which follows a complete operand. `left`
    /// is the span of this operand; if it is `None`, a mistake whose fix repeats the operand is not
    /// recognized. Returns `None` if no mistake is recognized.
    pub(super) fn report_slip(&mut self, left: Option<Span>) -> Option<BuildFailed> {
        let diagnostic = self
            .split_operator_error()
            .or_else(|| self.misused_word_error())
            .or_else(|| self.quotes_in_string_error())
            .or_else(|| self.string_prefix_error())
            .or_else(|| self.unquoted_file_error())
            .or_else(|| self.wrong_words_before_file_error())
            .or_else(|| self.word_in_capitals_error())
            .or_else(|| self.optional_chain_error())
            .or_else(|| self.worded_operator_error())
            .or_else(|| self.spaced_duration_error())
            .or_else(|| self.spaced_unit_error())
            .or_else(|| self.unknown_unit_after_number_error())
            .or_else(|| self.foreign_value_error())
            .or_else(|| self.worded_comparison_without_left_error())
            .or_else(|| self.foreign_between_error(left?))?;
        Some(self.report(diagnostic))
    }

    /// Returns the diagnostic for an operator that is split by a space or in the wrong order: `=<`,
    /// `= >`, `! =`. `None` without such a mistake.
    pub(super) fn split_operator_error(&self) -> Option<Diagnostic> {
        let is_operator = |index| self.kind_at(index) == Some(ExprElementKind::Operator);
        if !is_operator(self.position) || !is_operator(self.position + 1) {
            return None;
        }
        let wanted = foreign::split_comparison(self.text_at(self.position), self.text_at(self.position + 1))?;
        let span = self.element_span(self.position).to(self.element_span(self.position + 1));
        let message = message!("`{}` is not an operator", self.span_text(span));
        Some(foreign_syntax_error(span, message, wanted))
    }

    /// Returns the diagnostic for quotes inside a string without backslashes: `"say "hi""`. `None`
    /// without such a mistake.
    fn quotes_in_string_error(&self) -> Option<Diagnostic> {
        let is_string = |index| self.kind_at(index) == Some(ExprElementKind::String);
        let first = self.position.checked_sub(1)?;
        let is_word = self.kind_at(self.position) == Some(ExprElementKind::Word);
        // Spreadsheets and SQL double a quote inside a text: `"say ""hi"""`.
        let is_part = is_word || is_string(self.position);
        if !is_string(first) || !is_part || !self.touches_previous(self.position) {
            return None;
        }
        let is_in_text = |index: &usize| {
            matches!(self.kind_at(*index), Some(ExprElementKind::Word | ExprElementKind::String))
        };
        let last =
            (self.position..self.elements.len()).take_while(is_in_text).filter(|i| is_string(*i)).last()?;
        let span = self.element_span(first).to(self.element_span(last));
        let written = self.span_text(span);
        if written.starts_with('r') || written.contains(['\n', '\\']) {
            return None;
        }
        let inner = written[1..written.len() - 1].replace("\"\"", "\"").replace('"', "\\\"");
        let replacement = format!("\"{inner}\"");
        let message = message!("a quote inside a text needs a backslash");
        Some(unexpected_token(span, message, message!("write `{replacement}`")).fix(span, replacement))
    }

    /// Returns the diagnostic for a string with a prefix of another language: `f"hi {user.id}"`.
    /// `None` without such a mistake.
    fn string_prefix_error(&self) -> Option<Diagnostic> {
        let before = self.position.checked_sub(1)?;
        if self.kind_at(self.position) != Some(ExprElementKind::String)
            || !self.touches_previous(self.position)
        {
            return None;
        }
        let (prefix, text) = (self.text_at(before), self.text_at(self.position));
        let replacement = foreign::string_without_prefix(prefix, text)?;
        let span = self.element_span(before).to(self.element_span(self.position));
        let message = message!("a text has no prefix `{prefix}`");
        Some(unexpected_token(span, message, message!("write `{replacement}`")).fix(span, replacement))
    }

    /// Returns the diagnostic for a file name without quotes: `list words = from words.txt`. `None`
    /// without such a mistake.
    fn unquoted_file_error(&self) -> Option<Diagnostic> {
        if self.position != 1 || self.text_at(0) != "from" || self.statement_word() != "list" {
            return None;
        }
        let span = Span { end: self.end_offset, ..self.element_span(1) };
        let replacement = format!("\"{}\"", self.span_text(span).trim());
        let message = message!("the name of a file is written in quotes");
        Some(unexpected_token(span, message, message!("write `from {replacement}`")).fix(span, replacement))
    }

    /// Returns the diagnostic for a wrong phrase before the file name of a list: `list words =
    /// select * from "words.txt"`. Only `from` may precede the file name. `None` without such a
    /// mistake.
    fn wrong_words_before_file_error(&self) -> Option<Diagnostic> {
        let last = self.elements.len().checked_sub(1)?;
        let is_phrase = (0..last).all(|index| {
            self.kind_at(index) == Some(ExprElementKind::Word)
                || matches!(self.text_at(index), "*" | ":" | "<")
        });
        let word = self.text_at(last.checked_sub(1)?).to_lowercase();
        let is_file = matches!(
            word.as_str(),
            "from"
                | "file"
                | "read"
                | "load"
                | "open"
                | "include"
                | "import"
                | "path"
                | "in"
                | "of"
                | "csv"
                | "<"
        );
        let is_text = self.kind_at(last) == Some(ExprElementKind::String);
        if self.statement_word() != "list" || !is_text || !is_phrase || !is_file {
            return None;
        }
        let replacement = format!("from {}", self.text_at(last));
        let span = self.element_span(0).to(self.element_span(last));
        let message = message!("a list that is read from a file is written with `from`");
        Some(foreign_syntax_error(span, message, &replacement))
    }

    /// Returns the diagnostic for a word of the language in capitals: `NOT x`, `x IS NULL`. `None`
    /// without such a mistake.
    fn word_in_capitals_error(&self) -> Option<Diagnostic> {
        let lower_at = |index| self.text_at(index).to_lowercase();
        let is_capital = |index: usize| {
            let (text, lower) = (self.text_at(index), lower_at(index));
            self.kind_at(index) == Some(ExprElementKind::Word)
                && text != lower
                && (operators::is_reserved_word(&lower) || lower == "is")
        };
        let first = [self.position.checked_sub(1), Some(self.position)].into_iter().flatten();
        let first = first.into_iter().find(|index| is_capital(*index))?;
        let mut last = first;
        let replacement = match (lower_at(first).as_str(), lower_at(first + 1).as_str()) {
            ("is", "null") => "is missing".to_owned(),
            ("is", "not") if lower_at(first + 2) == "null" => {
                last += 1;
                "is present".to_owned()
            }
            ("is", _) => return None,
            ("not", next) if Op::from_spelling(next).is_some() => format!("not {next}"),
            (lower, _) if first == self.position && Op::from_spelling(lower).is_some() => return None,
            (lower, _) => {
                let message = message!("the words of the language are written in lower case");
                return Some(foreign_syntax_error(self.element_span(first), message, lower));
            }
        };
        let span = self.element_span(first).to(self.element_span(last + 1));
        let message = message!("`{}` is not an operator", self.span_text(span));
        Some(foreign_syntax_error(span, message, &replacement))
    }

    /// Returns the diagnostic for a unit after a space: `30 seconds`, `1 year`. `None` without such
    /// a mistake.
    fn spaced_unit_error(&self) -> Option<Diagnostic> {
        let before = self.position.checked_sub(1)?;
        let is_unit = self.kind_at(self.position) == Some(ExprElementKind::Word)
            && self.kind_at(self.position + 1) != Some(ExprElementKind::Member);
        if self.kind_at(before) != Some(ExprElementKind::Number) || !is_unit {
            return None;
        }
        let word = self.text_at(self.position);
        let replacement = literal::number_with_meant_unit(self.text_at(before), word)?;
        let unit = self.element_span(self.position);
        let message = message!("a unit follows its number without a space");
        let diagnostic = unexpected_token(unit, message, message!("write `{replacement}`"));
        let diagnostic = diagnostic.likely_fix(self.element_span(before).to(unit), replacement);
        Some(diagnostic.mark_fixes_certain_if(literal::meant_unit(word).is_some()))
    }

    /// Returns the diagnostic for the symbol `?.`, which other languages write for a field of a
    /// value that may be missing: `ctx.user?.role`. `None` without such a mistake.
    fn optional_chain_error(&self) -> Option<Diagnostic> {
        let is_chain = self.text_at(self.position) == "?"
            && self.kind_at(self.position + 1) == Some(ExprElementKind::Member);
        is_chain.then(|| {
            let span = self.element_span(self.position);
            let message = message!("a field of a missing value is missing, so `?` is not needed");
            unexpected_token(span, message, message!("remove the `?`")).fix(span, "")
        })
    }

    /// Returns the diagnostic for an operator in several English words: `starts with`, `does not
    /// contain`, `less than`. `None` without such a mistake.
    fn worded_operator_error(&self) -> Option<Diagnostic> {
        let lower_at = |index| self.text_at(index).to_lowercase();
        let (word, next) = (lower_at(self.position), lower_at(self.position + 1));
        let (replacement, count) = match (word.as_str(), next.as_str()) {
            ("starts" | "begins", "with") => ("starts_with".to_owned(), 2),
            ("ends", "with") => ("ends_with".to_owned(), 2),
            ("has" | "contains" | "includes", "key" | "field") => ("has_key".to_owned(), 2),
            ("mod" | "modulo", _) => ("%".to_owned(), 1),
            ("but", "not") | ("except", "when" | "if") => ("unless".to_owned(), 2),
            ("except", _) => ("unless".to_owned(), 1),
            ("does" | "do", "not") => {
                let verb = lower_at(self.position + 2);
                (format!("not {}", foreign::meant_infix_operator(&verb)?), 3)
            }
            _ => {
                let (sign, count) = foreign::worded_comparison(&word, &next, &lower_at(self.position + 2))?;
                (sign.to_owned(), count)
            }
        };
        let span = self.element_span(self.position).to(self.element_span(self.position + count - 1));
        let message = message!("`{}` is not an operator", self.span_text(span));
        Some(foreign_syntax_error(span, message, &replacement))
    }

    /// Returns the diagnostic for a comparison in English words without a left operand, as in `and
    /// less than 10`. The parser is at the word `than`. `None` without such a mistake.
    pub(super) fn worded_comparison_without_left_error(&self) -> Option<Diagnostic> {
        let first = self.position.checked_sub(1)?;
        let lower_at = |index| self.text_at(index).to_lowercase();
        let (sign, count) = foreign::worded_comparison(&lower_at(first), &lower_at(self.position), "")?;
        let left = self.span_text(self.last_left_operand?);
        let end = self.comparison_end(first);
        if first + count >= end {
            return None;
        }
        let right = self.span_text(self.element_span(first + count).to(self.element_span(end - 1)));
        let span = self.element_span(first).to(self.element_span(end - 1));
        let message = message!("the comparison `{word}` has no left side", word = self.text_at(first));
        Some(foreign_syntax_error(span, message, &format!("{left} {sign} {right}")))
    }

    /// Returns the diagnostic for a quantifier that lacks a name for its element: `any
    /// ctx.items.price > 3`. The parser is at `any` or `all`. `None` without such a mistake.
    pub(super) fn quantifier_without_element_name_error(&self) -> Option<Diagnostic> {
        let first = self.position + 1;
        let members = (first + 1..self.elements.len())
            .take_while(|index| self.kind_at(*index) == Some(ExprElementKind::Member))
            .count();
        let end = self.comparison_end(first);
        if self.kind_at(first) != Some(ExprElementKind::Word) || members == 0 || first + members + 1 >= end {
            return None;
        }
        let last = first + members;
        let list = self.span_text(self.element_span(first).to(self.element_span(last - 1)));
        let rest = self.span_text(self.element_span(last).to(self.element_span(end - 1)));
        let word = self.text_at(self.position);
        let replacement = format!("{word} x in {list}: x{rest}");
        let span = self.element_span(self.position).to(self.element_span(end - 1));
        let message = message!("`{word}` needs a name for each element");
        let help = message!("write `{replacement}`");
        Some(unexpected_token(self.element_span(self.position), message, help).likely_fix(span, replacement))
    }

    /// Returns the diagnostic for a word after a number that is not a unit: `100 USD`. `None`
    /// without such a mistake.
    fn unknown_unit_after_number_error(&self) -> Option<Diagnostic> {
        let before = self.position.checked_sub(1)?;
        let word = self.text_at(self.position);
        let is_code = (2..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase());
        if self.kind_at(before) != Some(ExprElementKind::Number)
            || !is_code
            || operators::is_reserved_word(&word.to_lowercase())
        {
            return None;
        }
        let message = message!("`{unit}` is not a unit", unit = word);
        let help = message!(
            "write the number alone, `{}`, and compare the unit by its own field",
            self.text_at(before)
        );
        Some(unexpected_token(self.element_span(self.position), message, help))
    }

    /// Returns the diagnostic for `x between 3 and 5`. `left` is the span of `x`, which the fix
    /// repeats. `None` without such a mistake.
    fn foreign_between_error(&self, left: Span) -> Option<Diagnostic> {
        if self.text_at(self.position).to_lowercase() != "between" {
            return None;
        }
        let joint =
            (self.position..self.elements.len()).find(|i| self.text_at(*i).eq_ignore_ascii_case("and"))?;
        let end = self.comparison_end(joint + 1);
        if joint == self.position + 1 || end == joint + 1 {
            return None;
        }
        let text = |first: usize, end: usize| {
            self.span_text(self.element_span(first).to(self.element_span(end - 1)))
        };
        let (low, high) = (text(self.position + 1, joint), text(joint + 1, end));
        let replacement = foreign::translate_between(self.span_text(left), low, high);
        let word = self.element_span(self.position);
        let between = self.text_at(self.position);
        let message = message!("unknown operator `{word}`", word = between);
        let diagnostic = Diagnostic::new(Code::UnknownOperator, word, message);
        let fixed = left.to(self.element_span(end - 1));
        Some(diagnostic.help(message!("write `{replacement}`")).likely_fix(fixed, replacement))
    }

    /// Reports a list in braces or parentheses instead of brackets, as in `contains any {"a", "b"}`
    /// and `in ("a", "b")`. The list follows the operator `op`, or its modifier `any`, `all` or
    /// `none` if `has_quantity`. Returns `None` without this mistake.
    pub(super) fn report_foreign_list(&mut self, op: Op, has_quantity: bool) -> Option<BuildFailed> {
        let has_word = matches!(self.word_ahead(0), Some("any" | "all" | "none"));
        let element = *self.elements.get(self.position + usize::from(has_word))?;
        let takes_list =
            op == Op::In || has_quantity || has_word && op.info().accepted_modifiers.accepts_quantity;
        if let Some(diagnostic) = self.range_in_brackets_error(op, element) {
            return Some(self.report(diagnostic));
        }
        if !matches!(element.kind, ExprElementKind::Braces | ExprElementKind::Group) || !takes_list {
            return None;
        }
        let inner = self.write_constant_elements(element)?;
        let is_text = inner.starts_with(['"', 'r']) || inner.contains(',');
        if element.kind == ExprElementKind::Group && !is_text {
            return None;
        }
        Some(self.report(self.list_error(element, &inner)))
    }

    /// Reports `[*]` in a comparison of all elements, as in JSONPath: `list[*].x == 3`. The parser
    /// is at the brackets after the value `base`. Returns `None` without this mistake.
    pub(super) fn report_wildcard_index(&mut self, base: Span) -> Option<BuildFailed> {
        let brackets = self.text_at(self.position);
        if !matches!(brackets.replace(' ', "").as_str(), "[*]" | "[]" | "[#]") {
            return None;
        }
        let span = self.element_span(self.position);
        let end = self.element_span(self.comparison_end(self.position) - 1).end;
        let list = self.span_text(base);
        // `new[] { "a" }`
        let braces = self.elements.get(self.position + 1).copied();
        let elements = braces.filter(|element| list == "new" && element.kind == ExprElementKind::Braces);
        if let Some((braces, elements)) =
            elements.and_then(|braces| Some((braces, self.write_constant_elements(braces)?)))
        {
            let written = format!("[{elements}]");
            let message = message!("a list is written in brackets, without a type");
            let diagnostic = unexpected_token(span, message, message!("write `{written}`"));
            return Some(self.report(diagnostic.fix(base.to(braces.span), written)));
        }
        if let Some(written) = self.every_element_after_operator(base) {
            let message = message!("`{brackets}` is not an index");
            let diagnostic = unexpected_token(span, message, message!("write `{written}`"));
            return Some(self.report(diagnostic.likely_fix(base.to(span), written)));
        }
        let element = if list == "x" { "y" } else { "x" };
        let replacement =
            format!("any {element} in {list}: {element}{}", &self.cx.text[span.end as usize..end as usize]);
        let message = message!("`{brackets}` is not an index");
        let diagnostic = unexpected_token(span, message, message!("write `{replacement}`"));
        Some(self.report(diagnostic.likely_fix(Span { end, ..base }, replacement)))
    }

    /// Returns the diagnostic for a comparison without a left operand, as in `and not contains "x"`
    /// and `or < 5`. The fix repeats the left operand of the previous comparison. `None` without
    /// such a mistake.
    pub(super) fn missing_left_operand_error(&self) -> Option<Diagnostic> {
        let mut first = self.position;
        let word = self.word_ahead(0)?;
        let is_comparison =
            Op::from_spelling(word).is_some_and(foreign::is_condition_operator) || word == "is";
        if !is_comparison {
            return None;
        }
        if self.text_at(first.checked_sub(1)?) == "not" {
            first -= 1;
        }
        let message = message!("the comparison `{word}` has no left side");
        let follows_logic = first > 0 && matches!(self.text_at(first - 1), "and" | "or" | "unless");
        let Some(left) = self.last_left_operand.filter(|_| follows_logic).map(|left| self.span_text(left))
        else {
            let comparison = self.span_text(self.element_span(first).to(self.element_span(self.position)));
            let help = message!("write a value before it: `x {comparison} …`");
            return (first == 0 || follows_logic)
                .then(|| unexpected_token(self.element_span(self.position), message, help));
        };
        let (start, end) = (self.element_span(first), self.comparison_end(self.position));
        let comparison = self.span_text(start.to(self.element_span(end - 1)));
        let help = message!("repeat the value: write `{left} {comparison}`");
        let diagnostic = unexpected_token(self.element_span(self.position), message, help);
        Some(diagnostic.fix(Span { end: start.start, ..start }, format!("{left} ")))
    }

    /// Returns the diagnostic for a percent sign after a number: `x > 10%`. `None` without such a
    /// mistake.
    pub(super) fn percent_sign_error(&self) -> Option<Diagnostic> {
        let sign = self.position.checked_sub(1)?;
        let is_percent = self.text_at(sign) == "%"
            && self.touches_previous(sign)
            && self.kind_at(sign - 1) == Some(ExprElementKind::Number);
        if !is_percent {
            return None;
        }
        let number = self.text_at(sign - 1);
        let help = match number.parse::<f64>() {
            Ok(value) => message!("write `{number}`, or `{}` if the value is a share of 1", value / 100.0),
            Err(_) => message!("write `{replacement}`", replacement = number),
        };
        Some(unexpected_token(self.element_span(sign), message!("a number has no sign `%`"), help))
    }

    /// Returns the diagnostic for a date without quotes, which would be parsed as arithmetic:
    /// `2026-01-31`, `31/01/2026`. The parser is at the first number of the date. `None` without
    /// such a mistake.
    pub(super) fn unquoted_date_error(&self) -> Option<Diagnostic> {
        let operator = self.text_at(self.position + 1);
        let is_date = matches!(operator, "-" | "/")
            && self.text_at(self.position + 3) == operator
            && self.kind_at(self.position + 4) == Some(ExprElementKind::Number)
            && (self.position + 1..=self.position + 4).all(|index| self.touches_previous(index));
        if !is_date {
            return None;
        }
        let span = self.element_span(self.position).to(self.element_span(self.position + 4));
        foreign::bare_literal_error(span, self.span_text(span))
    }

    /// Returns the diagnostic for a list with `-` before each element, as in YAML. The parser is at
    /// the first `-`. `None` without such a mistake.
    pub(super) fn dashed_list_error(&self) -> Option<Diagnostic> {
        let minus = self.element_span(self.position);
        // Applies only if the dash directly follows `list NAME =`; a dash in a list with brackets
        // is a minus sign.
        let value = self.cx.significant.get(self.cx.tokens.start + 3);
        let is_list_statement =
            self.statement_word() == "list" && value.is_some_and(|item| item.token.start == minus.start);
        let all = Span { end: self.end_offset, ..minus };
        let elements = foreign::dashed_lines_to_list(self.span_text(all)).filter(|_| is_list_statement);
        if let Some(list) = elements {
            let message = message!("the elements of a list are written in brackets");
            return Some(foreign_syntax_error(all, message, &list));
        }
        let is_text = self.kind_at(self.position + 1) == Some(ExprElementKind::String);
        let text = self.text_at(self.position + 1);
        is_text.then(|| {
            let message = message!("a text has no sign `-`");
            foreign_syntax_error(minus.to(self.element_span(self.position + 1)), message, text)
        })
    }

    /// Returns the first word of the statement that contains the expression.
    fn statement_word(&self) -> &'cx str {
        self.cx.significant[self.cx.tokens.start].token.text(self.cx.text)
    }
}
