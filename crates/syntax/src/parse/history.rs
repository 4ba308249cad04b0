//! Builds the syntax tree of the `history` statement, and of selections of recorded messages in
//! expressions, such as `history within 1h`.

use super::context::{Built, StatementContext, children, required_child, unexpected_token};
use super::expr::{ExprElementKind, ExprNode, PrecedenceClimber};
use super::{Pair, Rule, literal};
use crate::ast::{ExprKind, History, HistoryPart};
use rulec_base::diag::{Code, Diagnostic, nearest};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::Op;

/// The words that bound the selected messages, as in `history within 1h`, in their required order.
const HISTORY_BOUND_WORDS: [&str; 3] = ["within", "after", "before"];

/// Maximum number of words between `history` and a duration, as in `history in the last 1h`.
const MAX_WORDS_BEFORE_DURATION: usize = 4;

/// Builds the syntax tree of a `history` statement, such as `history by ctx.session keep 24h at
/// most 10_000`.
pub(super) fn build_history(cx: &mut StatementContext<'_>, pair: &Pair<'_>) -> Built<History> {
    let key = children(pair, Rule::path).next().map(|path| cx.read_path(path)).unwrap_or_default();
    let mut history = History { key_path: key, max_age: None, max_messages: None };
    for clause in children(pair, Rule::kept) {
        let word = cx.read_ident(&required_child(&clause, Rule::key)?);
        let number = cx.span(&required_child(&clause, Rule::number)?);
        let has_at = children(&clause, Rule::kw_at).next().is_some();
        let slot = match (has_at, word.node.as_str()) {
            (false, "keep") => &mut history.max_age,
            (true, "most") => &mut history.max_messages,
            _ => {
                let message = message!("a history has no `{}`", cx.text(&clause));
                let (clauses, replacement) = correct_history_clauses(cx, pair)?;
                let help = message!("write `{replacement}`");
                let diagnostic = Diagnostic::new(Code::Unexpected, word.span, message).help(help);
                return Err(cx.report(diagnostic.likely_fix(clauses, replacement)));
            }
        };
        let value = Spanned::new(cx.read_number(number, false)?, number);
        if let Some(first) = slot.replace(value) {
            let message = message!("a second `{}`", word.node);
            let diagnostic = Diagnostic::new(Code::Unexpected, cx.span(&clause), message);
            let diagnostic = diagnostic.label(first.span, message!("the first"));
            return Err(cx.report(diagnostic.help(message!("keep one of them"))));
        }
    }
    Ok(history)
}

/// Returns the span of all clauses of a `history` statement, and their corrected source text. A
/// number with a unit becomes the duration after `keep`, and a number without a unit the count
/// after `at most`.
fn correct_history_clauses(cx: &StatementContext<'_>, pair: &Pair<'_>) -> Built<(Span, String)> {
    let (mut clauses, mut written): (Option<Span>, Vec<String>) = (None, Vec::new());
    for clause in children(pair, Rule::kept) {
        let number = cx.text(&required_child(&clause, Rule::number)?);
        let has_unit = number.contains(|c: char| !c.is_ascii_digit() && c != '_');
        written.push(format!("{} {number}", if has_unit { "keep" } else { "at most" }));
        clauses = Some(clauses.map_or(cx.span(&clause), |before| before.to(cx.span(&clause))));
    }
    // The clause `keep` comes before `at most`.
    written.sort_by_key(|clause| clause.starts_with("at"));
    Ok((clauses.unwrap_or(cx.span(pair)), written.join(" ")))
}

impl<'cx> PrecedenceClimber<'_, 'cx, '_> {
    /// Parses the bounds after the word `history`, as in `history within 1h after p`. Returns
    /// `None` if no bound follows.
    pub(super) fn parse_history_part(&mut self, word: Span) -> Built<Option<ExprNode>> {
        let mut part =
            HistoryPart { keyword_span: word, max_age: None, after_message: None, before_message: None };
        let (mut span, mut height, mut next_bound) = (word, 0, 0);
        while let Some(found) = self.word_ahead(0)
            && let Some(bound) = HISTORY_BOUND_WORDS.iter().position(|bound| *bound == found)
        {
            if bound < next_bound {
                let message = message!("`{found}` comes too late in the bounds of the history");
                let help =
                    message!("write the bounds once each, in this order: `within 1h after p before q`");
                let diagnostic = Diagnostic::new(Code::Unexpected, self.element_span(self.position), message);
                return Err(self.report(diagnostic.help(help)));
            }
            self.position += 1;
            let outer = std::mem::replace(&mut self.in_history_bound, true);
            let operand = self.parse_at_precedence(Op::In.info().precedence + 1);
            self.in_history_bound = outer;
            let operand = operand?;
            span = span.to(operand.expr.span);
            height = height.max(operand.height);
            next_bound = bound + 1;
            let slot = match bound {
                0 => &mut part.max_age,
                1 => &mut part.after_message,
                _ => &mut part.before_message,
            };
            *slot = Some(operand.expr);
        }
        match next_bound {
            0 => Ok(None),
            _ => self.make_node(ExprKind::HistoryPart(Box::new(part)), span, height + 1).map(Some),
        }
    }

    /// Returns the diagnostic for a selection of recorded messages with another word than `within`,
    /// as in `history last 60s`. `left` is the value before the word. `None` without such a
    /// mistake.
    pub(super) fn history_bound_in_other_words_error(&self, left: Span) -> Option<Diagnostic> {
        if &self.cx.text[left.range()] != "history" {
            return None;
        }
        let first = self.word_ahead(0)?;
        let word = self.element_span(self.position);
        if let Some(bound) = nearest(&first.to_lowercase(), HISTORY_BOUND_WORDS) {
            let message = message!("unknown operator `{word}`", word = first);
            return Some(
                Diagnostic::new(Code::UnknownOperator, word, message).did_you_mean(word, Some(bound)),
            );
        }
        let words = self.elements[self.position..].iter().take(MAX_WORDS_BEFORE_DURATION);
        let count = words.take_while(|element| element.kind == ExprElementKind::Word).count();
        self.history_bound_without_within_error(left, count)
    }

    /// Returns the diagnostic for `in` after `history`, as in `history in the last 1h`. `word` is
    /// the word after the value `left`. `None` without such a mistake.
    pub(super) fn history_bound_after_in_error(&self, word: &str, left: Span) -> Option<Diagnostic> {
        let is_bound = word == "in" && &self.cx.text[left.range()] == "history";
        if !is_bound {
            return None;
        }
        self.history_bound_in_other_words_error(left)
    }

    /// Returns the diagnostic for `history last 60s`: a duration that follows `history`, with
    /// `count` words between the two. `left` is the span of the value before these words. `None`
    /// if this value is not `history`, or if no number follows the words.
    pub(super) fn history_bound_without_within_error(&self, left: Span, count: usize) -> Option<Diagnostic> {
        let element = *self.elements.get(self.position + count)?;
        if element.kind != ExprElementKind::Number || &self.cx.text[left.range()] != "history" {
            return None;
        }
        let number = self.element_text(element);
        let has_unit = number.ends_with(char::is_alphabetic);
        let words = self.elements[self.position..self.position + count].iter();
        let unit =
            words.filter_map(|word| literal::number_with_meant_unit(number, self.element_text(*word))).next();
        let duration = if has_unit { Some(number.to_owned()) } else { unit };
        let first = self.element_span(self.position);
        let span =
            if count == 0 { element.span } else { first.to(self.element_span(self.position + count - 1)) };
        let message = message!("a part of the history follows `within`");
        let Some(duration) = duration else {
            let help = message!("write a duration after it, as in `history within 1h`");
            return Some(unexpected_token(span, message, help));
        };
        let written = format!("history within {duration}");
        let diagnostic = unexpected_token(span, message, message!("write `{written}`"));
        Some(diagnostic.likely_fix(left.to(element.span), written))
    }

    /// Returns the diagnostic for a duration in brackets after `history`, as in `history(1h)`. The
    /// parser is at the brackets. `None` without such a mistake.
    pub(super) fn history_bound_in_brackets_error(&self, name: &str, left: Span) -> Option<Diagnostic> {
        let brackets = self.peek().filter(|_| name == "history")?;
        let inner = self.element_text(brackets).trim_matches(['(', ')', '[', ']']).trim();
        let digits = inner.trim_end_matches(char::is_alphabetic);
        let is_duration = digits.len() < inner.len()
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
        if !is_duration {
            return None;
        }
        let written = format!("history within {inner}");
        let message = message!("a part of the history follows `within`");
        let diagnostic = unexpected_token(brackets.span, message, message!("write `{written}`"));
        Some(diagnostic.likely_fix(left.to(brackets.span), written))
    }
}
