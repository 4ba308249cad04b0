//! Parses the operator between two operands, and reports a missing or unknown operator.

use super::context::{BuildFailed, Built, unexpected_token};
use super::expr::{ExprElementKind, PrecedenceClimber};
use super::foreign::{self, foreign_operator, is_condition_operator, meant_operator};
use super::permissions::permission_of_route_error;
use super::{shapes, terminals, unknown};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::{self, Fixity, Negation, Op};

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the operator at the parser's position, and whether `not` precedes it. `word` is the
    /// word or symbol at this position. `left` is the span of the left operand. Consumes nothing.
    /// Reports an error and fails if there is no operator.
    pub(super) fn peek_infix(&mut self, word: &str, left: Span) -> Built<(Op, bool)> {
        if let Some(diagnostic) = self.split_operator_error() {
            return Err(self.report(diagnostic));
        }
        if word == "not"
            && let Some(diagnostic) = self.presence_test_in_words_error()
        {
            return Err(self.report(diagnostic));
        }
        if word == "not" {
            let next = self.word_ahead(1);
            let op = next.and_then(Op::from_spelling);
            return match op.map(|op| (op, op.info().negation)) {
                Some((op, Negation::NotBefore)) => Ok((op, true)),
                Some((op, Negation::Op(opposite))) => {
                    let span = self.element_span(self.position).to(self.element_span(self.position + 1));
                    let message = message!("`not {}` is not an operator", op.info().spelling);
                    Err(self.report(foreign::foreign_syntax_error(span, message, opposite.info().spelling)))
                }
                _ if next.is_some_and(|next| {
                    self.elements[self.position + 1].kind == ExprElementKind::Word
                        && !terminals::is_reserved(next)
                }) =>
                {
                    let next = next.unwrap_or_default().to_owned();
                    let span = self.element_span(self.position + 1);
                    Err(self.report_unknown_operator(&next, span))
                }
                _ => Err(self.report_missing_operator(Some(left))),
            };
        }
        if let Some(diagnostic) =
            self.joined_durations_error(word).or_else(|| self.history_bound_after_in_error(word, left))
        {
            return Err(self.report(diagnostic));
        }
        if let Some(diagnostic) = self.texts_joined_by_ampersand_error(word) {
            return Err(self.report(diagnostic));
        }
        if let Some(diagnostic) = self.foreign_text_operator_error(left) {
            return Err(self.report(diagnostic));
        }
        if let Some(op) = Op::from_spelling(word).filter(|op| op.info().fixity == Fixity::Infix) {
            return Ok((op, false));
        }
        let span = self.element_span(self.position);
        if let Some((op, _)) = foreign_operator(word) {
            return Ok((op, false));
        }
        if let Some(diagnostic) = self
            .window_after_condition_error()
            .or_else(|| self.function_in_words_error())
            .or_else(|| self.count_in_words_error())
            .or_else(|| self.list_after_type_error())
            .or_else(|| self.query_language_operator_error(left))
            .or_else(|| self.history_bound_in_other_words_error(left))
            .or_else(|| self.history_bound_after_other_value_error(word, left))
            .or_else(|| self.current_word_meant_as_where_error())
            .or_else(|| permission_of_route_error(self.cx, self.current_token()))
        {
            return Err(self.report(diagnostic));
        }
        if let Some(failed) = self.report_slip(Some(left)).or_else(|| self.report_foreign_prefix()) {
            return Err(failed);
        }
        let is_symbol = self.peek().is_some_and(|element| element.kind == ExprElementKind::Operator);
        let is_foreign = foreign::is_ignore_case(word) || foreign::operator_help(word).is_some();
        if is_symbol || is_foreign || self.is_operator_position() {
            return Err(self.report_unknown_operator(word, span));
        }
        Err(self.report_missing_operator(Some(left)))
    }

    /// Returns the diagnostic for a bound such as `within 1h` after a value that is not the
    /// history: `any p in histroy within 1h: …`. `word` is the word at the parser's position, and
    /// `left` the value before it. `None` without such a mistake.
    fn history_bound_after_other_value_error(&self, word: &str, left: Span) -> Option<Diagnostic> {
        let is_value = self.elements.get(self.position + 1).is_some_and(|next| {
            matches!(next.kind, ExprElementKind::Number | ExprElementKind::Word | ExprElementKind::String)
        });
        if !matches!(word, "within" | "after" | "before") || !is_value {
            return None;
        }
        let written = &self.cx.text[left.range()];
        let has_unit = self.elements[self.position + 1].kind == ExprElementKind::Number;
        if rulec_base::diag::nearest(&written.to_lowercase(), ["history"]).is_some() {
            let message = message!("`{name}` is not declared", name = written);
            return Some(
                Diagnostic::new(Code::UnknownName, left, message).did_you_mean(left, Some("history")),
            );
        }
        let span = self.element_span(self.position);
        let message = message!("`{word}` bounds only `history`, the earlier messages");
        let diagnostic = unexpected_token(span, message, message!("write `history {word} …`"));
        let is_name = written.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        (has_unit && is_name).then(|| diagnostic.likely_fix(left, "history"))
    }

    /// Returns the diagnostic for a word such as `with` that was meant as `where`. The parser is at
    /// this word. `None` without such a mistake.
    fn current_word_meant_as_where_error(&self) -> Option<Diagnostic> {
        shapes::word_meant_as_where_error(self.cx, self.cx.tokens.start..self.current_token() + 2)
    }

    /// Returns the index of the token at the parser's position, in the tokens of the file.
    fn current_token(&self) -> usize {
        let start = self.element_span(self.position).start;
        self.cx.significant.partition_point(|item| item.token.start < start)
    }

    /// True if the author probably meant the word at the parser's position as an operator: an
    /// operand follows, or the word resembles an operator.
    fn is_operator_position(&self) -> bool {
        let next_is_operand =
            self.elements.get(self.position + 1).is_some_and(|element| match element.kind {
                ExprElementKind::Operator | ExprElementKind::Cast | ExprElementKind::Member => false,
                ExprElementKind::Word => !matches!(self.element_text(*element), "and" | "or" | "is"),
                _ => true,
            });
        next_is_operand || self.word_ahead(0).is_some_and(|word| meant_operator(word).is_some())
    }

    fn report_unknown_operator(&mut self, word: &str, span: Span) -> BuildFailed {
        let diagnostic = Diagnostic::new(Code::UnknownOperator, span, message!("unknown operator `{word}`"));
        let number = self.elements.get(self.position + 1).copied();
        let number = number.filter(|element| element.kind == ExprElementKind::Number);
        if let Some(number) = number.filter(|_| matches!(word, "weight" | "salience" | "rank" | "prio")) {
            let number = self.element_text(number);
            let help = message!("move it before the condition: `route NAME priority {number} when …`");
            let message = message!("the order of routes is set with `priority`, not `{found}`", found = word);
            return self.report(unexpected_token(span, message, help));
        }
        if word.eq_ignore_ascii_case("as") {
            return self.report(foreign::foreign_syntax_error(
                span,
                message!("unknown operator `{word}`"),
                "as",
            ));
        }
        if matches!(word, "priority" | "disabled") {
            let help = message!("move `{word}` before the condition: `route NAME {word} … when …`");
            return self.report(unexpected_token(
                span,
                message!("`{word}` must be written before `when`"),
                help,
            ));
        }
        if foreign::is_ignore_case(word) {
            let second_word = self.word_ahead(1).filter(|next| foreign::is_ignore_case(next));
            let span = second_word.map_or(span, |_| span.to(self.element_span(self.position + 1)));
            let message = message!("`{}` is not the right spelling", &self.cx.text[span.range()]);
            return self.report(foreign::foreign_syntax_error(span, message, "ignoring case"));
        }
        if let Some(diagnostic) = self.end_word_of_conditional_error(word, span) {
            return self.report(diagnostic);
        }
        if let Some(help) = foreign::operator_help(word) {
            return self.report(diagnostic.help(help));
        }
        let candidate = meant_operator(word);
        let statement_words = terminals::statement_words();
        let token = self.cx.token_at(span.start);
        let index = self.cx.significant.partition_point(|item| item.token.start < span.start);
        let begins_line = self.cx.significant.get(index).is_some_and(|item| item.indent().is_some());
        let is_statement_word = match begins_line {
            true => rulec_base::diag::nearest(word, statement_words).is_some(),
            false => rulec_base::diag::has_one_near_candidate(word, statement_words),
        };
        if candidate.is_none() && is_statement_word {
            return self.report(unknown::unknown_statement_error(self.cx.file, self.cx.text, token));
        }
        let names = operators::TABLE.iter().filter(|row| {
            row.fixity == Fixity::Infix && row.op.is_spelled_as_word() && is_condition_operator(row.op)
        });
        let diagnostic = match candidate {
            // The fix can be applied safely: only the case differs, or the operator has the same
            // meaning in another language.
            Some(candidate) if foreign::means_one_operator(word) => diagnostic
                .help(message!("write `{replacement}`", replacement = candidate))
                .fix(span, candidate),
            Some(candidate) => {
                let is_certain = rulec_base::diag::has_one_near_candidate(word, [candidate]);
                diagnostic.did_you_mean(span, Some(candidate)).mark_fixes_certain_if(is_certain)
            }
            None if word.starts_with(|c: char| c.is_alphabetic()) => {
                let names: Vec<String> = names.map(|row| format!("`{}`", row.spelling)).collect();
                diagnostic.help(message!("the operators written as words are {}", names.join(" ")))
            }
            None => diagnostic,
        };
        self.report(diagnostic)
    }

    /// Returns the diagnostic for a word that ends a conditional in other languages, as in `if C
    /// then a else b end`. `None` for other words.
    fn end_word_of_conditional_error(&self, word: &str, span: Span) -> Option<Diagnostic> {
        let is_end = matches!(word.to_lowercase().as_str(), "end" | "endif" | "fi" | "end_if" | "结束");
        let is_conditional =
            self.cx.tokens.clone().any(|index| self.cx.significant[index].token.text(self.cx.text) == "then");
        if !is_end || !is_conditional {
            return None;
        }
        let written = &self.cx.text[span.range()];
        let message = message!("`if … then … else …` has no `{}`", written.to_owned());
        let start = self.cx.text[..span.start as usize].trim_end().len() as u32;
        let help = message!("remove `{written}`", written = written.to_owned());
        Some(unexpected_token(span, message, help).fix(Span { start, ..span }, ""))
    }

    /// Reports that an operator is missing between two operands. `left` is the span of the first
    /// operand, if known; a suggested fix may repeat its text.
    pub(super) fn report_missing_operator(&mut self, left: Option<Span>) -> BuildFailed {
        let span = self.element_span(self.position);
        let record = left.and_then(|left| {
            self.record_as_comparison_error(left).or_else(|| self.history_bound_without_within_error(left, 0))
        });
        let call = || {
            self.window_before_quantifier_error()
                .or_else(|| self.function_in_words_error())
                .or_else(|| self.list_after_type_error())
        };
        let block = || self.block_after_method_error(left?).or_else(|| self.list_in_other_brackets_error());
        let end = self.end_word_of_conditional_error(&self.cx.text[span.range()], span);
        if let Some(diagnostic) =
            end.or_else(|| self.method_call_error()).or(record).or_else(call).or_else(block)
        {
            return self.report(diagnostic);
        }
        if let Some(failed) = self.report_slip(left).or_else(|| self.report_foreign_prefix()) {
            return failed;
        }
        let (_, found) = self.cx.describe_token_at(span.start);
        let help = match (self.elements[self.position].kind, self.cx.innermost_open_bracket(span.start)) {
            (ExprElementKind::Group, _) => message!("only a name can be called: `name(argument)`"),
            (ExprElementKind::Member, _) => {
                message!(
                    "only a name or a field has fields; write an operator between its operands, as in `x contains \"a\"`"
                )
            }
            (ExprElementKind::Braces, _) => {
                message!("conditions in braces come after `all`, `any` or `none`")
            }
            // Here the separator is missing, not an operator.
            (_, Some(TokenKind::OpenBrace)) => message!("separate the conditions of a block with `;`"),
            (_, Some(TokenKind::OpenBracket)) => message!("separate the elements of a list with `,`"),
            _ => message!("write `and`, `or` or a comparison between two operands"),
        };
        self.report(unexpected_token(span, message!("expected an operator, found {found}"), help))
    }
}
