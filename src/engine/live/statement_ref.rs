//! How edits of live rules identify a statement: by its keyword and name, such as `list words`.

use rulec_syntax::ast::StatementKind;
use rulec_syntax::parse::starts_statement;
use std::fmt;

/// The keyword and the name that identify a statement; the name is empty if the statement has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatementHead<'n> {
    pub keyword: &'n str,
    pub name: &'n str,
}

impl<'n> StatementHead<'n> {
    pub fn new(kind: &'n StatementKind) -> StatementHead<'n> {
        let (keyword, name) = kind.keyword_and_name();
        StatementHead { keyword, name }
    }

    /// Parses a reference to a statement, such as `list words`. A name without a keyword means a
    /// route.
    pub fn parse(text: &'n str) -> StatementHead<'n> {
        let text = text.trim();
        let unquoted_name = |name: &'n str| {
            let name = name.trim();
            let strip_quotes = |mark: char| name.strip_prefix(mark)?.strip_suffix(mark);
            strip_quotes('"').or_else(|| strip_quotes('`')).unwrap_or(name)
        };
        if matches!(text, "input" | "settings" | "default") {
            return StatementHead { keyword: text, name: "" };
        }
        let first_split = text.split_once(char::is_whitespace);
        let Some((keyword, rest)) = first_split.filter(|(word, _)| starts_statement(word)) else {
            return StatementHead { keyword: "route", name: unquoted_name(text) };
        };
        let second_split = rest.trim_start().split_once(char::is_whitespace);
        match (keyword, second_split) {
            ("extern", Some(("fn", name))) => {
                StatementHead { keyword: "extern fn", name: unquoted_name(name) }
            }
            ("extern", _) => StatementHead { keyword: "extern fn", name: unquoted_name(rest) },
            ("flow", Some(("tool", name))) => {
                StatementHead { keyword: "flow tool", name: unquoted_name(name) }
            }
            _ => StatementHead { keyword, name: unquoted_name(rest) },
        }
    }
}

impl fmt::Display for StatementHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            "" => write!(f, "`{}`", self.keyword),
            name => write!(f, "{} `{name}`", self.keyword),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_identified_by_keyword_and_name() {
        for (text, keyword, name) in [
            ("refund", "route", "refund"),
            (" `input` ", "route", "input"),
            ("route refund", "route", "refund"),
            ("input", "input", ""),
            ("default", "default", ""),
            ("list  words", "list", "words"),
            ("list", "route", "list"),
            ("extern fn score", "extern fn", "score"),
            ("extern score", "extern fn", "score"),
            ("flow tool", "flow", "tool"),
            ("flow tool runner", "flow tool", "runner"),
            ("import \"a b.rules\"", "import", "a b.rules"),
            ("test \"files are shown\"", "test", "files are shown"),
            ("group node", "group", "node"),
        ] {
            assert_eq!(StatementHead::parse(text), StatementHead { keyword, name }, "{text}");
        }
    }
}
