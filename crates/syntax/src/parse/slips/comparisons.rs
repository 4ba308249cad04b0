//! Diagnostics for operators of query languages, such as `_gte` and `~*`, and for a negation or a
//! quantifier on the wrong side of an operator.

use super::super::context::unexpected_token;
use super::super::expr::{ExprElementKind, PrecedenceClimber};
use super::super::foreign::{self, foreign_syntax_error};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::{self, Negation, Op};

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the source text and span of the elements from `first` up to the next `and`, `or` or
    /// `unless`. `None` if there are no such elements.
    fn find_rest_of_comparison(&self, first: usize) -> Option<(&str, Span)> {
        let end = self.comparison_end(first);
        let last = end.checked_sub(1).filter(|last| *last >= first && first < self.elements.len())?;
        let span = self.element_span(first).to(self.element_span(last));
        Some((self.span_text(span), span))
    }

    /// Returns the diagnostic for an unknown operator, which consists of the next `element_count`
    /// elements and means the operator `meant`. If the unknown operator ignores the case, the help
    /// and the fix contain the whole comparison with its left operand `left_operand`. `None` if no
    /// right operand follows.
    fn unknown_operator_error(
        &self,
        left_operand: Span,
        element_count: usize,
        (meant, ignores_case): (&str, bool),
    ) -> Option<Diagnostic> {
        let (right, right_span) = self.find_rest_of_comparison(self.position + element_count)?;
        let span = self.element_span(self.position).to(self.element_span(self.position + element_count - 1));
        let message = message!("unknown operator `{word}`", word = self.span_text(span));
        let diagnostic = Diagnostic::new(Code::UnknownOperator, span, message);
        if !ignores_case {
            return Some(
                diagnostic.help(message!("write `{replacement}`", replacement = meant)).fix(span, meant),
            );
        }
        let written = format!("{} {meant} {right} ignoring case", self.span_text(left_operand));
        let whole = left_operand.to(right_span);
        Some(diagnostic.help(message!("write `{replacement}`", replacement = written)).fix(whole, written))
    }

    /// Returns the diagnostic for a symbol of another language by which texts are compared, such as
    /// `~*` and `!~`. `left` is the left operand. `None` without such a symbol.
    pub(in super::super) fn foreign_text_operator_error(&self, left: Span) -> Option<Diagnostic> {
        if !self.touches_previous(self.position + 1) {
            return None;
        }
        let is_symbol = |index: &usize| {
            self.kind_at(*index) == Some(ExprElementKind::Operator)
                && (*index == self.position || self.touches_previous(*index))
        };
        let count = (self.position..self.elements.len()).take_while(is_symbol).count();
        if count == 0 || !self.text_at(self.position).starts_with(['~', '!', '=', '^', '*']) {
            return None;
        }
        let last = self.element_span(self.position + count - 1);
        let symbol = self.span_text(self.element_span(self.position).to(last));
        let meant = match symbol {
            "~*" | "=~*" => ("matches", true),
            "!~" => ("not matches", false),
            "!~*" => ("not matches", true),
            "~~" => ("like", false),
            "~~*" => ("like", true),
            "!~~" => ("not like", false),
            "!~~*" => ("not like", true),
            "^=" | "^~" => ("starts_with", false),
            "*=" => ("contains", false),
            "~=" => {
                let span = self.element_span(self.position).to(last);
                let message = message!("unknown operator `{word}`", word = symbol);
                let help = message!("write `!=`, or `matches` for a regular expression");
                return Some(Diagnostic::new(Code::UnknownOperator, span, message).help(help));
            }
            _ => return None,
        };
        self.unknown_operator_error(left, count, meant)
    }

    /// Returns the diagnostic for an operator of a query language: `_gte`, `nin`, `greaterThan` or
    /// `icontains`. `left` is the left operand. `None` for other words.
    pub(in super::super) fn query_language_operator_error(&self, left: Span) -> Option<Diagnostic> {
        let word = self.text_at(self.position);
        let name = word.trim_start_matches('_').to_lowercase();
        if self.kind_at(self.position) != Some(ExprElementKind::Word) || word.starts_with('`') {
            return None;
        }
        let next = self.text_at(self.position + 1);
        if matches!(name.as_str(), "is_null" | "isnull") && matches!(next, "true" | "false") {
            let meant = if next == "true" { "is missing" } else { "is present" };
            let span = self.element_span(self.position).to(self.element_span(self.position + 1));
            let message = message!("unknown operator `{word}`");
            let help = message!("write `{replacement}`", replacement = meant);
            return Some(Diagnostic::new(Code::UnknownOperator, span, message).help(help).fix(span, meant));
        }
        let without_case = |name: &str| {
            let name = name.strip_prefix('i')?;
            let name = if name == "exact" { "eq" } else { name };
            let meant = foreign::operator_for_query_name(name)?;
            let op = Op::from_spelling(&meant)?;
            (name.len() > 1 && op.info().accepted_modifiers.accepts_case && op != Op::In).then_some(meant)
        };
        if let Some(meant) = without_case(&name) {
            return self.unknown_operator_error(left, 1, (&meant, true));
        }
        if let Some(meant) = name.strip_prefix('n').and_then(without_case).filter(|meant| meant != "==") {
            return self.unknown_operator_error(left, 1, (&format!("not {meant}"), true));
        }
        let is_known = foreign::means_one_operator(word) || foreign::operator_help(word).is_some();
        let meant = foreign::operator_for_query_name(word).filter(|_| !is_known)?;
        self.unknown_operator_error(left, 1, (&meant, false))
    }

    /// Returns the diagnostic for a negation after its operator, as in `text contains not "a"`. The
    /// parser is after the operator `op`, and `left` is the left operand. `None` without such a
    /// mistake.
    pub(in super::super) fn negation_after_operator_error(&self, op: Op, left: Span) -> Option<Diagnostic> {
        let is_negation = matches!(self.word_ahead(0)?, "not" | "!");
        if !is_negation || op.info().negation != Negation::NotBefore {
            return None;
        }
        let (right, right_span) = self.find_rest_of_comparison(self.position + 1)?;
        let (left_text, spelling) = (self.span_text(left), op.info().spelling);
        let is_quantified =
            ["any", "all", "none"].into_iter().any(|word| self.text_at(self.position + 1) == word);
        let written = match is_quantified {
            true => format!("not ({left_text} {spelling} {right})"),
            false => format!("{left_text} not {spelling} {right}"),
        };
        let span = self.element_span(self.position);
        let message = message!("a negation is written before its operator");
        let diagnostic = unexpected_token(span, message, message!("write `{written}`"));
        Some(diagnostic.likely_fix(left.to(right_span), written))
    }

    /// Returns the diagnostic for a search in the word order of English: `any of words in text`,
    /// `all ["a", "b"] in text`. The parser is at `any` or `all`. `None` without such a mistake.
    pub(in super::super) fn quantity_before_list_error(&self) -> Option<Diagnostic> {
        let quantity = self.text_at(self.position);
        let mut first = self.position + 1;
        while matches!(self.text_at(first), "of" | "the" | "these") {
            first += 1;
        }
        let is_word = self.text_at(first) == "word";
        first += usize::from(is_word);
        let is_list = match self.kind_at(first)? {
            ExprElementKind::Brackets => true,
            ExprElementKind::Word => !operators::is_reserved_word(self.text_at(first)),
            _ => false,
        };
        let suffixes = (first + 1..self.elements.len())
            .take_while(|index| self.kind_at(*index) == Some(ExprElementKind::Member))
            .count();
        let joint = first + 1 + suffixes;
        if !is_list || self.text_at(joint) != "in" {
            return None;
        }
        let list = self.span_text(self.element_span(first).to(self.element_span(joint - 1)));
        let (text, text_span) = self.find_rest_of_comparison(joint + 1)?;
        let word = if is_word { "word " } else { "" };
        let written = format!("{text} contains {word}{quantity} {list}");
        let span = self.element_span(self.position).to(text_span);
        let message = message!("`{quantity}` follows the operator, and its list comes last");
        Some(foreign_syntax_error(span, message, &written))
    }

    /// Returns the diagnostic for two durations that are joined by `word`, which is `and` or `&`:
    /// `waited > 2h and 30min`. The parser is at this word. `None` without such a mistake, for
    /// example if the second duration begins another comparison.
    pub(in super::super) fn joined_durations_error(&self, word: &str) -> Option<Diagnostic> {
        let is_number = |index: usize| self.kind_at(index) == Some(ExprElementKind::Number);
        let is_joint = matches!(word, "and" | "&" | "&&" | "AND");
        let before = self.position.checked_sub(1)?;
        if !is_joint || !is_number(before) || !is_number(self.position + 1) {
            return None;
        }
        // `x > 2h and 3h < y` has two comparisons.
        let next = self.text_at(self.position + 2);
        let is_complete = next.is_empty() || matches!(next, "and" | "or" | "unless" | "&" | "&&" | "||");
        self.spaced_duration_error().filter(|_| is_complete)
    }
}
