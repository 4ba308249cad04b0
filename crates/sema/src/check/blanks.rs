//! Warns about a constant text with white space at its start or end that is compared as a whole, as
//! in `role == "admin "`. Such texts are rarely equal to a value of a message.

use super::Checker;
use super::wildcard::element_span;
use crate::hir::{Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text::to_one_line;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_syntax::ast;
use rulec_syntax::write::quote_string;

impl Checker<'_> {
    /// Warns about white space around a constant text that must equal a value, or that must be a
    /// whole word of it.
    pub(super) fn warn_blanks_around_text(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        let compares_whole = match binary.op.node {
            Op::Eq | Op::Ne | Op::In => true,
            Op::Contains => binary.modifiers.whole_word,
            _ => false,
        };
        // The analysis reports a text that `trim` never returns.
        let is_trimmed = |value: &Expr| matches!(value.kind, ExprKind::Call(Function::Trim, _));
        let searches = matches!(binary.op.node, Op::Contains | Op::StartsWith | Op::EndsWith);
        if !(compares_whole || searches) || !self.is_in_choice && (is_trimmed(left) || is_trimmed(right)) {
            return;
        }
        let (constant, written) = match (left.as_const(), right.as_const()) {
            (None, Some(constant)) => (constant.value(), &binary.right),
            (Some(constant), None) if !searches => (constant.value(), &binary.left),
            _ => return,
        };
        let whole = if left.as_const().is_none() { right.span } else { left.span };
        let is_single = constant.as_str().is_some();
        let elements = constant.elements().into_iter().flatten().enumerate();
        let elements = elements.filter_map(|(index, element)| Some((index, element.as_str()?)));
        let texts = constant.as_str().map(|text| (0, text)).into_iter().chain(elements);
        // An enumeration with this text has the white space, too.
        let is_declared = |text: &str| {
            let values = [left, right].into_iter().find_map(|value| value.ty.values_or_element_values());
            values.is_some_and(|values| values.contains(text))
        };
        // A search finds a space around a word on purpose, but hardly one that looks like others.
        let has_blanks = |text: &str| match compares_whole {
            true => has_blanks_around(text),
            false => has_unusual_blanks_around(text),
        };
        let is_doubtful = |text: &str| has_blanks(text) && !is_declared(text);
        let Some((index, text)) = texts.into_iter().find(|(_, text)| is_doubtful(text)) else { return };
        let place = if is_single { None } else { element_span(self.resolve_list_name(written), index) };
        let span = place.unwrap_or(whole);
        if self.diagnostics.iter().any(|found| found.code == Code::BlankAround && found.span() == Some(span))
        {
            return;
        }
        let shown = to_one_line(text);
        let message = match (text.starts_with(is_blank), text.ends_with(is_blank)) {
            (true, true) => message!("the text \"{shown}\" begins and ends with white space"),
            (true, false) => message!("the text \"{shown}\" begins with white space"),
            _ => message!("the text \"{shown}\" ends with white space"),
        };
        let meant = quote_string(text.trim_matches(is_blank));
        let help = match binary.op.node {
            _ if !compares_whole => message!(
                "the text is found only with this white space (U+{}): write {meant}",
                format!("{:04X}", u32::from(last_non_ascii_blank(text)))
            ),
            Op::Contains => message!("with `word` no space is needed: write {meant}"),
            _ => message!("the whole text must be equal, with the white space: write {meant}"),
        };
        let diagnostic = Diagnostic::new(Code::BlankAround, span, message).help(help);
        let is_name = matches!(written.kind, ast::ExprKind::Name(..));
        self.diagnostics.push(match is_single && !is_name || place.is_some() {
            true => diagnostic.likely_fix(span, meant),
            false => diagnostic,
        });
    }
}

impl Checker<'_> {
    /// Warns about white space around a text that a program compares as a whole: metadata, the id
    /// of a flow, a permission, or an argument. `value` is the text, or a list or record of texts.
    /// `key` is the name of the argument or entry. If it suggests a text for people, such as
    /// `title`, there is no warning.
    pub(super) fn warn_blanks_in_identifier(&mut self, key: Option<&str>, value: &ast::Expr) {
        match &value.kind {
            ast::ExprKind::Literal(ast::Literal::String(text)) => {
                self.warn_blanks_in_text(key, text, value.span);
            }
            ast::ExprKind::List(items) => {
                items.iter().for_each(|item| self.warn_blanks_in_identifier(key, item));
            }
            ast::ExprKind::Record(entries) => {
                entries
                    .iter()
                    .for_each(|(key, value)| self.warn_blanks_in_identifier(Some(&key.node), value));
            }
            _ => {}
        }
    }

    pub(super) fn warn_blanks_in_text(&mut self, key: Option<&str>, text: &str, span: Span) {
        let trimmed = text.trim_matches(is_blank);
        let is_piece = key.is_some_and(|key| {
            let key = key.to_lowercase();
            FREE_TEXT_NAME_PARTS.iter().any(|word| key.contains(word))
        });
        let is_both = text.starts_with(is_blank) && text.ends_with(is_blank);
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@');
        let is_identifier = trimmed.chars().all(is_word) && !trimmed.contains(char::is_uppercase);
        if !has_blanks_around(text) || is_piece || is_both || !is_identifier {
            return;
        }
        if self.is_reported_at(Code::BlankAround, span) {
            return;
        }
        let shown = to_one_line(text);
        let message = match text.starts_with(is_blank) {
            true => message!("the text \"{shown}\" begins with white space"),
            false => message!("the text \"{shown}\" ends with white space"),
        };
        let meant = quote_string(trimmed);
        let help = message!("a program compares the whole text, with the white space: write {meant}");
        let diagnostic = Diagnostic::new(Code::BlankAround, span, message).help(help);
        self.diagnostics.push(diagnostic.likely_fix(span, meant));
    }
}

/// Parts of names of arguments, such as `title`, whose texts are joined to other texts or shown to
/// people. White space around such a text is probably intended.
const FREE_TEXT_NAME_PARTS: [&str; 24] = [
    "prefix", "suffix", "sep", "delim", "join", "glue", "before", "after", "pad", "indent", "text",
    "message", "msg", "title", "label", "prompt", "greet", "body", "note", "reply", "template", "start",
    "end", "stop",
];

/// True for a white-space character that is probably a mistake at the start or end of a text. A
/// line break, as in `"stop\n"`, is probably intended.
fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\r')
}

/// True if a text has white space before a word at its start, or after a word at its end. White
/// space alone, and white space next to punctuation, are usually intended.
fn has_blanks_around(text: &str) -> bool {
    let (from_start, to_end) = (text.trim_start_matches(is_blank), text.trim_end_matches(is_blank));
    let begins = text.len() > from_start.len() && from_start.starts_with(char::is_alphanumeric);
    let ends = text.len() > to_end.len() && to_end.ends_with(char::is_alphanumeric);
    begins || ends
}

/// True if unusual white space precedes the first word of a text or follows the last one. Unusual
/// is all white space that is not ASCII, such as a full-width space.
fn has_unusual_blanks_around(text: &str) -> bool {
    let is_unusual = |blank: Option<char>, word: Option<char>| {
        let (Some(blank), Some(word)) = (blank, word) else { return false };
        is_blank(blank) && word.is_alphanumeric() && !blank.is_ascii()
    };
    let trimmed = text.trim_matches(is_blank);
    is_unusual(text.chars().next(), trimmed.chars().next())
        || is_unusual(text.chars().next_back(), trimmed.chars().next_back())
}

/// Returns the last white-space character of a text that is not an ASCII character. A plain space
/// if there is none.
fn last_non_ascii_blank(text: &str) -> char {
    let is_unusual = |c: &char| is_blank(*c) && !c.is_ascii();
    text.chars().rev().find(is_unusual).unwrap_or(' ')
}
