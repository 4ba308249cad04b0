//! Writes names and literals in the syntax of the language. The importers of other systems' rules
//! use it, and so does the code that generates `test` blocks from decisions.

pub use super::lex::is_name;

use super::parse::is_reserved;
use rulec_base::text::printable::{escape_char, has_hidden_chars, hidden_chars};
use serde_json::Value as Json;

/// Returns a name as a statement declares it, with backquotes if necessary.
pub fn quote_name(name: &str) -> String {
    if is_name(name) && !is_reserved(name) { name.to_owned() } else { format!("`{name}`") }
}

/// Returns the path of a message field as it is written in rules, such as `steps.parse["a b"]`.
/// `root` is its first name; `keys` are the keys after it.
pub fn format_path<'k>(root: &str, keys: impl IntoIterator<Item = &'k str>) -> String {
    let mut path = root.to_owned();
    for key in keys {
        if is_name(key) {
            path.push('.');
            path.push_str(key);
        } else {
            path.push_str(&format!("[{}]", quote_string(key)));
        }
    }
    path
}

/// Returns a text as a quoted string literal of the rules language, with escapes.
pub fn quote_string(text: &str) -> String {
    let mut out = String::from("\"");
    for (c, hidden) in hidden_chars(text) {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if hidden => escape_char(c, &mut out),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns a text as a raw string literal, for regular expressions. Falls back to a quoted string
/// if the text cannot be written raw.
pub fn quote_raw_string(text: &str) -> String {
    let hashes = (0..=8).map(|count| "#".repeat(count)).find(|hashes| !text.contains(&format!("\"{hashes}")));
    match hashes {
        Some(hashes) if !has_hidden_chars(text) => format!("r{hashes}\"{text}\"{hashes}"),
        _ => quote_string(text),
    }
}

/// Returns a JSON number as a number literal of the rules language.
pub fn format_number(number: &serde_json::Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => format!("{float:?}"),
        None => number.to_string(),
    }
}

/// Returns a key of a dict as it is written in rules, in quotes if necessary.
pub fn format_key(key: &str) -> String {
    if is_name(key) { key.to_owned() } else { quote_string(key) }
}

/// Returns a number of milliseconds as a duration in the largest unit that gives a whole number, as
/// in `5m`.
pub fn format_duration(milliseconds: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    let is_whole = |(length, _): &(u64, &str)| milliseconds.is_multiple_of(*length) && milliseconds > 0;
    let (length, unit) = units.into_iter().find(is_whole).unwrap_or((1, "ms"));
    format!("{}{unit}", milliseconds / length)
}

/// Returns a JSON value as a literal of the rules language.
pub fn format_value(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(value) => format_number(value),
        Json::String(text) => quote_string(text),
        Json::Array(items) => format!("[{}]", items.iter().map(format_value).collect::<Vec<_>>().join(", ")),
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(name, json)| format!("{}: {}", format_key(name), format_value(json)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_escaped() {
        assert_eq!(quote_string("a\"\\\n\u{202e}\u{1}"), r#""a\"\\\n\u{202e}\u{1}""#);
        assert_eq!(quote_raw_string(r#"a"b\d"#), r##"r#"a"b\d"#"##);
        assert_eq!(quote_raw_string("a\nb"), r#""a\nb""#);
        let json = serde_json::json!({"a b": [1, 2.0, null, true], "c": {}, "n": 18446744073709551615u64});
        assert_eq!(format_value(&json), r#"{ "a b": [1, 2.0, null, true], c: {}, n: 18446744073709551615 }"#);
    }

    #[test]
    fn durations_have_the_largest_whole_unit() {
        let written = [0, 1500, 90_000, 300_000, 7_200_000, 172_800_000].map(format_duration);
        assert_eq!(written, ["0ms", "1500ms", "90s", "5m", "2h", "2d"]);
    }

    /// Regression test: words that became reserved later were written as plain names, and the file
    /// did not compile.
    #[test]
    fn reserved_words_are_names_in_backquotes() {
        for word in ["where", "if", "then", "else", "unless", "group", "when", "as", "contains"] {
            assert_eq!(quote_name(word), format!("`{word}`"));
        }
        assert_eq!(quote_name("order"), "order");
    }
}
