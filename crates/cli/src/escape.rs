//! Escapes untrusted texts before they are printed. CI reports, drawings and coverage pages (XML
//! and HTML) contain texts from authors of rules. The terminal shows texts from HTTP services.

/// Escapes a text for use in XML and HTML elements and attributes. Replaces characters that XML
/// does not allow by U+FFFD.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes the control characters in all texts and keys of a JSON value.
#[cfg(feature = "http")]
pub fn escape_json_texts(value: &mut serde_json::Value) {
    use rulec_base::text::printable::to_printable;
    use serde_json::Value as Json;

    match value {
        Json::String(text) => *text = to_printable(text).into_owned(),
        Json::Array(items) => items.iter_mut().for_each(escape_json_texts),
        Json::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(key, mut value)| {
                    escape_json_texts(&mut value);
                    (to_printable(&key).into_owned(), value)
                })
                .collect();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::escape_xml;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escape_xml("a<b & \"c\"\n\u{1b}[2J"), "a&lt;b &amp; &quot;c&quot;&#10;\u{fffd}[2J");
    }
}
