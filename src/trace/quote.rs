//! The author's own words: the text behind a span, made fit for one line.

use crate::source::SourceMap;
use crate::span::Span;
use serde::Serialize;
use std::fmt;

/// A location in a rules file, as people count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The author's texts. Any `Fn(Span) -> String` will do.
pub trait Source {
    /// The text of the range; empty when it is not at hand.
    fn text(&self, span: Span) -> String;

    /// The location at which the range begins.
    fn place(&self, span: Span) -> Option<Location> {
        let _ = span;
        None
    }
}

impl Source for SourceMap {
    fn text(&self, span: Span) -> String {
        let file = self.get(span.file);
        match file {
            // The text was left out of what was loaded: where it stood is the next best.
            Some(file) if file.is_stripped() => {
                let position = file.position(span.start);
                format!("{}:{}:{}", file.name, position.line, position.column)
            }
            file => file.and_then(|file| file.text.get(span.range())).unwrap_or_default().to_owned(),
        }
    }

    fn place(&self, span: Span) -> Option<Location> {
        let file = self.get(span.file)?;
        let position = file.position(span.start);
        Some(Location { file: file.name.clone(), line: position.line, column: position.column })
    }
}

impl<F: Fn(Span) -> String> Source for F {
    fn text(&self, span: Span) -> String {
        self(span)
    }
}

/// The longest text kept of a condition, in characters.
const TEXT_LIMIT: usize = 400;

/// Puts the author's text on one line: comments go, runs of white space outside string literals
/// become one space, and what is longer than 400 characters is cut.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(TEXT_LIMIT * 4));
    let mut rest = text.trim();
    let mut kept = 0;
    while let Some(c) = rest.chars().next() {
        if kept >= TEXT_LIMIT {
            line.push('…');
            break;
        }
        if c.is_whitespace() || c == '#' {
            rest = match c {
                '#' => rest.find('\n').map_or("", |end| &rest[end..]),
                _ => rest.trim_start(),
            };
            if !line.ends_with(' ') && !rest.is_empty() {
                line.push(' ');
                kept += 1;
            }
            continue;
        }
        let piece = &rest[..literal_len(rest, line.chars().next_back()).unwrap_or(c.len_utf8())];
        for c in piece.chars().take(TEXT_LIMIT - kept) {
            line.push(if c == '\n' || c == '\r' { '⏎' } else { c });
            kept += 1;
        }
        rest = &rest[piece.len()..];
    }
    line.truncate(line.trim_end().len());
    line
}

/// The length of the string literal at the beginning of the text, when there is one.
fn literal_len(text: &str, before: Option<char>) -> Option<usize> {
    if text.starts_with('"') {
        let mut escaped = false;
        for (at, c) in text.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Some(at + 1),
                _ => {}
            }
        }
        return Some(text.len());
    }
    let after_r = text.strip_prefix('r')?;
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let hashes = after_r.len() - after_r.trim_start_matches('#').len();
    after_r[hashes..].strip_prefix('"')?;
    let open = 1 + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(text[open..].find(&close).map_or(text.len(), |at| open + at + close.len()))
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn text_comes_on_one_line_without_comments() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text), expected);
        check("a ==\n   \"x  # y\"  # note\n  and b ", r#"a == "x  # y" and b"#);
        check("text matches r#\"a # \"b\"#", "text matches r#\"a # \"b\"#");
        check("x == \"open # ", "x == \"open #");
        check("char # c\n == \"\\\" # z\"", "char == \"\\\" # z\"");
        assert_eq!(one_line(&"长".repeat(500)).chars().count(), 401);
    }
}
