//! Diagnostics for texts in the quotes of other languages, for quotes that do not match, and for
//! comments without `#`.

use super::super::{literal, terminals};
use crate::lex::{MAX_RAW_STRING_HASHES, Token, TokenKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;

/// Returns the diagnostic for a line of prose, which is neither a statement nor a comment. `span`
/// is the span of a character in this line, and `text` is the text of the file.
pub(super) fn prose_line_error(span: Span, text: &str) -> Diagnostic {
    let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default().trim_end();
    let whole = Span::new(span.file, start, start + line.len());
    let shown: String = line.chars().take(40).collect();
    let message = message!("`{shown}` is no statement");
    Diagnostic::new(Code::StrayCharacter, whole, message)
        .help(message!("a comment begins with `#`: write `# {shown}`"))
        .likely_fix(Span { end: whole.start, ..whole }, "# ")
}

/// Returns the diagnostic for a text that begins with `"` and ends with `'` on the line of an
/// unclosed string, as in `["root', "backup"]`. `None` without such a text.
fn mixed_quotes_error(span: Span, text: &str) -> Option<Diagnostic> {
    let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[start..(span.start as usize).max(start)];
    // The texts between the quotes of the line before the unclosed string.
    let mut open = None;
    for (index, _) in line.char_indices().filter(|(_, c)| *c == '"') {
        let Some(from) = open.take() else {
            open = Some(index);
            continue;
        };
        let inner = &line[from + 1..index];
        let Some(end) = inner.find(['\'', '’', '`']) else { continue };
        let quote = inner[end..].chars().next()?;
        let follows = inner[end + quote.len_utf8()..].trim_start();
        if follows.starts_with([',', ')', ']', '}']) || follows.is_empty() {
            let written = &line[from..from + 1 + end + quote.len_utf8()];
            let meant = format!("\"{}\"", &inner[..end]);
            let place = Span::new(span.file, start + from, start + from + written.len());
            let message = message!("the text `{written}` ends with another quote than it begins with");
            let diagnostic = Diagnostic::new(Code::UnclosedString, place, message);
            return Some(diagnostic.help(message!("write `{meant}`")).likely_fix(place, meant));
        }
    }
    None
}

/// Returns the diagnostic for a text in three quotes, as other languages write it: `"""text"""`.
/// `None` without such a text.
fn triple_quotes_error(span: Span, text: &str) -> Option<Diagnostic> {
    let start = span.start as usize;
    if !text[..start].ends_with("\"\"") {
        return None;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let span = Span { start: span.start - 2, end: span.start + 1, ..span };
    let message = message!("three quotes begin no text");
    let help = match text[line_start..start - 2].trim().is_empty() {
        true => message!("begin each line of documentation with `##`, and each line of a comment with `#`"),
        false => message!(
            "write a text in one quote on each side, with `\\n` for a line break; a text of several lines is \
            written r\"…\""
        ),
    };
    Some(Diagnostic::new(Code::UnclosedString, span, message).help(help))
}

pub(super) fn unclosed_string_error(token: Token, span: Span, slice: &str, text: &str) -> Diagnostic {
    if let Some(diagnostic) = triple_quotes_error(span, text).or_else(|| mixed_quotes_error(span, text)) {
        return diagnostic;
    }
    if token.kind == TokenKind::UnclosedRaw {
        let count = slice.find('"').unwrap_or(1) - 1;
        if count > MAX_RAW_STRING_HASHES {
            let message = message!("a raw string has at most {MAX_RAW_STRING_HASHES} `#` at each end");
            return Diagnostic::new(Code::UnclosedString, span, message).help(message!("use fewer `#`"));
        }
        let hashes = "#".repeat(count);
        return Diagnostic::new(Code::UnclosedString, span, message!("this raw string is not closed"))
            .help(message!("a raw string may span lines and ends with `\"{hashes}`"));
    }
    let help = if slice.ends_with("\\\"") {
        message!(
            "the backslash before the quote makes the quote part of the string; write `\\\\` for a backslash"
        )
    } else {
        message!("close it with `\"` on the same line; for a line break inside it write `\\n`")
    };
    Diagnostic::new(Code::UnclosedString, span, message!("this string is not closed")).help(help)
}

/// If the word `interval` directly precedes a token, as in SQL, returns the span of both together.
/// `span` is the span of the token. `None` for any other word.
fn span_with_interval_before(text: &str, span: Span) -> Option<Span> {
    let before = text[..span.start as usize].trim_end();
    let start = before.len().checked_sub("interval".len())?;
    let is_interval = before.get(start..)?.eq_ignore_ascii_case("interval");
    is_interval.then_some(Span { start: start as u32, ..span })
}

/// Returns the diagnostic for a text in quotes of another language, such as `'refund'`. Where a
/// name is expected, after `<` or `>`, or after the word `interval` of SQL, it suggests the name,
/// number or duration without quotes; elsewhere, straight double quotes. `slice` is the quoted text
/// with its quotes, and `text` the text of the file. `is_in_flow` is true within a `flow`
/// statement.
pub(super) fn wrong_quotes_error(span: Span, slice: &str, text: &str, is_in_flow: bool) -> Diagnostic {
    // The word with which SQL writes a duration.
    let interval = span_with_interval_before(text, span);
    let before = text[..span.start as usize].trim_end();
    let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let mut inner = slice.chars();
    inner.next();
    inner.next_back();
    let inner = inner.as_str();
    let diagnostic = Diagnostic::new(Code::Unexpected, span, message!("strings need straight double quotes"));
    if inner.contains(['"', '\\']) {
        return diagnostic.help(message!("write `\"…\"`"));
    }
    let interval = interval.zip(inner.split_once(' '));
    if let Some((interval, duration)) = interval.and_then(|(interval, (digits, unit))| {
        Some((interval, literal::number_with_meant_unit(digits, unit)?))
    }) {
        let help = message!("a duration has no quotes: write `{duration}`");
        return diagnostic.help(help).likely_fix(interval.to(span), duration);
    }
    let takes_name = terminals::find_word(word).is_some_and(terminals::Terminal::wants_name)
        || matches!(word, "include" | "goto" | "by" | "node" | "branch")
        || before.ends_with("->") && !is_in_flow;
    let is_name = inner.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && inner.chars().all(|c| c.is_alphanumeric() || c == '_');
    if takes_name && is_name && !matches!(word, "test" | "import" | "from") {
        let message = message!("a name is written without quotes");
        let diagnostic = Diagnostic::new(Code::Unexpected, span, message);
        return diagnostic.help(message!("write `{replacement}`", replacement = inner)).fix(span, inner);
    }
    let is_ordered = before.trim_end_matches('=').ends_with(['<', '>']) && !before.ends_with("->");
    let is_number = inner.strip_prefix('-').unwrap_or(inner).starts_with(|c: char| c.is_ascii_digit())
        && inner.ends_with(|c: char| c.is_ascii_digit());
    if is_ordered && is_number && inner.parse::<f64>().is_ok() {
        let message = message!("a number is written without quotes");
        let diagnostic = Diagnostic::new(Code::Unexpected, span, message);
        return diagnostic
            .help(message!("write `{replacement}`", replacement = inner))
            .likely_fix(span, inner);
    }
    let replacement = format!("\"{inner}\"");
    let is_short = inner.chars().count() <= 40;
    let help = if is_short { message!("write `{replacement}`") } else { message!("write `\"…\"`") };
    diagnostic.help(help).fix(span, replacement)
}

/// Finds out whether a token is within a `flow` statement. It must be called with tokens in file
/// order, because the tracker continues to read where the last call ended. So it reads the file
/// only once.
#[derive(Default)]
pub(super) struct FlowTracker {
    /// The byte offset up to which the file was read.
    read_end: usize,
    is_in_flow: bool,
}

impl FlowTracker {
    /// True if the token at `offset` is within a `flow` statement, where a quoted text may be the
    /// id of the flow. `text` is the text of the file. Offsets must not decrease from call to call.
    pub(super) fn is_in_flow(&mut self, text: &str, offset: usize) -> bool {
        let read_end = self.read_end;
        let breaks = memchr::memchr_iter(b'\n', &text.as_bytes()[read_end..offset]);
        let first = (read_end == 0).then_some(0);
        for start in first.into_iter().chain(breaks.map(|at| read_end + at + 1)) {
            // A word without indentation begins a statement.
            if text[start..].starts_with(char::is_alphabetic) {
                self.is_in_flow = text[start..].starts_with("flow ");
            }
        }
        self.read_end = offset;
        self.is_in_flow
    }
}
