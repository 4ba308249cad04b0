//! Writing what the language reads: names and literals. What imports other systems' rules, and what makes a `test` block of
//! a decision, write by it.

use super::parse::is_reserved;
use rulec_base::text::printable::{escape, steers};
use serde_json::Value as Json;

/// True when a text can stand as a name without backquotes after a dot or before a colon.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c))
        && chars.all(unicode_ident::is_xid_continue)
}

/// A name as a statement declares it: in backquotes where it must be.
pub fn name(name: &str) -> String {
    if is_name(name) && !is_reserved(name) { name.to_owned() } else { format!("`{name}`") }
}

/// A way into the message: `steps.parse["a b"]`.
pub fn path<'k>(root: &str, keys: impl IntoIterator<Item = &'k str>) -> String {
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

/// A text in quotes.
pub fn string(text: &str) -> String {
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
pub fn raw_string(text: &str) -> String {
    let hashes = (0..=8).map(|count| "#".repeat(count)).find(|hashes| !text.contains(&format!("\"{hashes}")));
    match hashes {
        Some(hashes) if !text.contains(steers) => format!("r{hashes}\"{text}\"{hashes}"),
        _ => string(text),
    }
}

/// A number literal: a whole number beyond 64 bits is the float next to it.
pub fn number(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => format!("{float:?}"),
        (None, None) => number.to_string(),
    }
}

/// A key of a dict.
pub fn key(key: &str) -> String {
    if is_name(key) { key.to_owned() } else { string(key) }
}

/// A JSON value as a literal.
pub fn value(json: &Json) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_escaped() {
        assert_eq!(string("a\"\\\n\u{202e}\u{1}"), r#""a\"\\\n\u{202e}\u{1}""#);
        assert_eq!(raw_string(r#"a"b\d"#), r##"r#"a"b\d"#"##);
        assert_eq!(raw_string("a\nb"), r#""a\nb""#);
        let json = serde_json::json!({"a b": [1, 2.0, null, true], "c": {}, "n": 18446744073709551615u64});
        assert_eq!(value(&json), r#"{ "a b": [1, 2.0, null, true], c: {}, n: 1.8446744073709552e19 }"#);
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
