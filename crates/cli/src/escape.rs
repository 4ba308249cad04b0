//! Escaping for XML and HTML: CI reports, drawings and coverage pages contain text from authors.

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

#[cfg(test)]
mod tests {
    use super::escape_xml;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escape_xml("a<b & \"c\"\n\u{1b}[2J"), "a&lt;b &amp; &quot;c&quot;&#10;\u{fffd}[2J");
    }
}
