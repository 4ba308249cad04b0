//! Quotes source text of rules in explanations, reduced to one line, and reports its file, line and
//! column.

use rulec_base::source::SourceMap;
use rulec_base::span::Span;
use rulec_syntax::lex::{self, TokenKind};
use serde::{Deserialize, Serialize};
use std::fmt;
#[cfg(test)]
use ts_rs::TS;

/// A position in a rules file, as shown to users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Location {
    /// Name of the rule file.
    pub file: String,
    /// Line number in the file, from 1.
    pub line: usize,
    /// Column number in the line, counted in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Access to the source text of rules, for explanations. Any `Fn(Span) -> String` implements this
/// trait.
pub trait SpanLookup {
    /// Returns the text of the span; empty if it is not available.
    fn text(&self, span: Span) -> String;

    /// Returns the location where the span begins; `None` if it is not available.
    fn place(&self, span: Span) -> Option<Location> {
        let _ = span;
        None
    }
}

impl SpanLookup for SourceMap {
    fn text(&self, span: Span) -> String {
        let file = self.get(span.file);
        match file {
            // The artifact was built without source texts, so the location is returned instead.
            Some(file) if file.is_stripped() => SpanLookup::place(self, span).unwrap_or_default().to_string(),
            file => file.and_then(|file| file.text.get(span.range())).unwrap_or_default().to_owned(),
        }
    }

    fn place(&self, span: Span) -> Option<Location> {
        self.get(span.file)?;
        let (file, position) = SourceMap::name_and_position(self, span);
        Some(Location { file: file.to_owned(), line: position.line, column: position.column })
    }
}

impl<F: Fn(Span) -> String> SpanLookup for F {
    fn text(&self, span: Span) -> String {
        self(span)
    }
}

/// Maximum number of characters of quoted source text. The rest of a longer text is left out.
const MAX_QUOTE_CHARS: usize = 400;

/// Reduces source text to one line: removes comments, replaces white space outside string literals
/// by one space, and truncates to 400 characters.
pub(super) fn quote_on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MAX_QUOTE_CHARS * 4));
    let mut remaining_chars = MAX_QUOTE_CHARS;
    let mut pending_space = false;
    let text = text.trim();
    for token in lex::tokenize(text, 0) {
        // Rules never contain `//`. If the source text is not available, `text` is a location,
        // whose file name may contain `//`.
        if token.kind.is_trivia() && token.kind != TokenKind::SlashComment {
            pending_space = !line.is_empty();
            continue;
        }
        let space = std::mem::take(&mut pending_space).then_some(' ');
        for c in space.into_iter().chain(token.text(text).chars()) {
            if remaining_chars == 0 {
                line.push('…');
                return line;
            }
            remaining_chars -= 1;
            line.push(if c == '\n' || c == '\r' { '⏎' } else { c });
        }
    }
    line
}

/// Replaces names in source text by other texts. `replacement` returns the text for a name; `None`
/// leaves the name. A replacement that is an operation gets parentheses. Names after a dot and
/// names of arguments are no values, so they stay.
pub(super) fn substitute_names(text: &str, replacement: &dyn Fn(&str) -> Option<String>) -> String {
    let tokens: Vec<_> = lex::tokenize(text, 0).collect();
    let mut result = String::with_capacity(text.len());
    let mut previous = "";
    for (index, token) in tokens.iter().enumerate() {
        let word = token.text(text);
        if token.kind.is_trivia() {
            result.push_str(word);
            continue;
        }
        let next = tokens[index + 1..].iter().find(|token| !token.kind.is_trivia());
        let next = next.map_or("", |token| token.text(text));
        let names_argument = matches!(previous, "(" | ",") && next == ":";
        let is_value = matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
            && previous != "."
            && next != "("
            && !names_argument;
        match is_value.then(|| replacement(word.trim_matches('`'))).flatten() {
            // The whole text needs no parentheses.
            Some(other) if tokens.len() > 1 && is_operation(&other) => {
                result.extend(["(", other.as_str(), ")"]);
            }
            Some(other) => result.push_str(&other),
            None => result.push_str(word),
        }
        previous = word;
    }
    result
}

/// True if a text is an operation, such as `a + 1`: a text with white space outside brackets. Such
/// a text needs parentheses inside another operation.
fn is_operation(text: &str) -> bool {
    let mut depth = 0_usize;
    lex::tokenize(text, 0).any(|token| {
        match token.text(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.kind.is_trivia()
    })
}

#[cfg(test)]
mod tests {
    use super::{quote_on_one_line, substitute_names};

    #[test]
    fn names_are_replaced_where_they_are_values() {
        let check = |text: &str, expected: &str| {
            let arguments = |name: &str| {
                let arguments = [("words", "verbs"), ("limit", "n + 1"), ("list", "[1, 2]")];
                arguments.iter().find(|(own, _)| *own == name).map(|(_, other)| (*other).to_owned())
            };
            assert_eq!(substitute_names(text, &arguments), expected);
        };
        check("text contains any words", "text contains any verbs");
        check("len(text) > limit * 2", "len(text) > (n + 1) * 2");
        check("limit", "n + 1");
        check("any x in list: x == `words`", "any x in [1, 2]: x == verbs");
        check("any x in words: x == 1", "any x in verbs: x == 1");
        check("ctx.words == \"words\"", "ctx.words == \"words\"");
        check("f(words: words, limit)", "f(words: verbs, (n + 1))");
        check("words(1)", "words(1)");
    }

    #[test]
    fn text_is_quoted_on_one_line_without_comments() {
        let check = |text: &str, expected: &str| assert_eq!(quote_on_one_line(text), expected);
        check("a ==\n   \"x  # y\"  # note\n  and b ", r#"a == "x  # y" and b"#);
        check("text matches r#\"a # \"b\"#", "text matches r#\"a # \"b\"#");
        check("x == \"open # ", "x == \"open #");
        check("char # c\n == \"\\\" # z\"", "char == \"\\\" # z\"");
        assert_eq!(quote_on_one_line(&"长".repeat(500)).chars().count(), 401);
    }
}
