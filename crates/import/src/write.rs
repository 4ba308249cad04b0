//! Writing rules: names, literals and comments.

use rulec::internals::syntax::parse::is_reserved;
use rulec::internals::text::printable::{escape, steers};
use serde_json::Value as Json;
use std::collections::HashSet;

/// The widest line that is written where it can be helped.
const WIDTH: usize = 100;

/// True when a text can stand as a name without backquotes after a dot or before a colon.
pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c))
        && chars.all(unicode_ident::is_xid_continue)
}

/// A declared name: as it is, in backquotes where it must be, or changed where even these do not
/// help. No two names of one kind are alike; what had to change is kept for the caller.
#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Names that cannot be given.
    pub(super) fn reserving(words: &[&str]) -> Self {
        Names { taken: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    /// The name to declare for `wanted`, without backquotes.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let clean: String = wanted.chars().map(|c| if c == '`' || steers(c) { '_' } else { c }).collect();
        self.take_as_is(if clean.is_empty() { "unnamed" } else { &clean })
    }

    /// The same where any text can stand, in quotes.
    pub(super) fn take_as_is(&mut self, clean: &str) -> String {
        let clean = clean.to_owned();
        let numbered = (2..).map(|number| format!("{clean}_{number}"));
        let free = std::iter::once(clean.clone()).chain(numbered).find(|name| !self.taken.contains(name));
        let name = free.unwrap_or(clean);
        self.taken.insert(name.clone());
        name
    }
}

pub(super) fn name(name: &str) -> String {
    if is_name(name) && !is_reserved(name) { name.to_owned() } else { format!("`{name}`") }
}

/// A way into the message: `steps.parse["a b"]`.
pub(super) fn path<'k>(root: &str, keys: impl IntoIterator<Item = &'k str>) -> String {
    let mut path = root.to_owned();
    for key in keys {
        if is_name(key) {
            path.push('.');
            path.push_str(key);
        } else {
            path.push_str(&format!("[{}]", string(key)));
        }
    }
    path
}

pub(super) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if steers(c) => escape(c, &mut out),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A raw string literal where the text has what would be escaped: for regular expressions.
pub(super) fn raw_string(text: &str) -> String {
    let hashes = (0..=8).map(|count| "#".repeat(count)).find(|hashes| !text.contains(&format!("\"{hashes}")));
    match hashes {
        Some(hashes) if !text.contains(steers) => format!("r{hashes}\"{text}\"{hashes}"),
        _ => string(text),
    }
}

/// A number literal: a whole number beyond 64 bits is the float next to it.
pub(super) fn number(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => format!("{float:?}"),
        (None, None) => number.to_string(),
    }
}

/// A key of a dict.
pub(super) fn key(key: &str) -> String {
    if is_name(key) { key.to_owned() } else { string(key) }
}

/// A JSON value as a literal.
pub(super) fn value(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(value) => number(value),
        Json::String(text) => string(text),
        Json::Array(items) => format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", ")),
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(name, json)| format!("{}: {}", key(name), value(json))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Literals in brackets, over several lines where one is too long for them; `indent` is that of the
/// statement.
pub(super) fn list(literals: &[String], indent: usize) -> String {
    let line = format!("[{}]", literals.join(", "));
    if indent + line.chars().count() <= WIDTH * 3 / 4 {
        return line;
    }
    let inner = " ".repeat(indent + 2);
    let mut out = String::from("[");
    let mut column = WIDTH;
    for literal in literals {
        let width = literal.chars().count() + 2;
        if column + width > WIDTH {
            out.push('\n');
            out.push_str(&inner);
            column = inner.len();
        } else {
            out.push(' ');
        }
        out.push_str(literal);
        out.push(',');
        column += width;
    }
    out.push_str(&format!("\n{}]", " ".repeat(indent)));
    out
}

/// A text inside a comment or a message: on one line, not too long, in backquotes.
pub(super) fn shown(text: &str) -> String {
    format!("`{}`", plain(text, 60).replace('`', "'"))
}

fn plain(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == longest {
            out.push('…');
            break;
        }
        if steers(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Lines of a comment, broken between words.
pub(super) fn comment(marker: &str, text: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut out = String::new();
    for paragraph in text.split('\n') {
        // The lines of an item stand under its first word.
        let hanging = if paragraph.starts_with("- ") { "  " } else { "" };
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let word = plain(word, usize::MAX);
            if !line.is_empty()
                && indent + marker.len() + line.chars().count() + word.chars().count() + 2 > WIDTH
            {
                out.push_str(&format!("{pad}{marker} {line}\n"));
                line.clear();
                line.push_str(hanging);
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        let line = format!("{pad}{marker} {line}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_quoted_or_changed() {
        let mut names = Names::reserving(&["default"]);
        let taken: Vec<String> = ["a", "a", "查订单", "two words", "when", "default", "", "x`\ny"]
            .iter()
            .map(|wanted| name(&names.take(wanted)))
            .collect();
        assert_eq!(taken, ["a", "a_2", "查订单", "`two words`", "`when`", "default_2", "unnamed", "x__y"]);
    }

    #[test]
    fn literals_are_escaped() {
        assert_eq!(string("a\"\\\n\u{202e}\u{1}"), r#""a\"\\\n\u{202e}\u{1}""#);
        assert_eq!(raw_string(r#"a"b\d"#), r##"r#"a"b\d"#"##);
        assert_eq!(raw_string("a\nb"), r#""a\nb""#);
        let json = serde_json::json!({"a b": [1, 2.0, null, true], "c": {}, "n": 18446744073709551615u64});
        assert_eq!(value(&json), r#"{ "a b": [1, 2.0, null, true], c: {}, n: 1.8446744073709552e19 }"#);
    }

    #[test]
    fn long_lists_and_comments_are_broken() {
        let literals: Vec<String> = (0..40).map(|n| format!("\"word {n}\"")).collect();
        assert!(list(&literals, 2).lines().all(|line| line.len() <= WIDTH));
        let text = comment("#", &"many words ".repeat(30), 2);
        assert!(text.lines().all(|line| line.len() <= WIDTH && line.starts_with("  # ")));
    }

    /// Words that the language took later were written as names, and the file did not compile.
    #[test]
    fn reserved_words_are_names_in_backquotes() {
        for word in ["where", "if", "then", "else", "unless", "group", "when", "as", "contains"] {
            assert_eq!(name(word), format!("`{word}`"));
        }
        assert_eq!(name("order"), "order");
    }
}
