//! Texts in XML and HTML: reports for CI, drawings and pages of coverage hold what authors wrote.

/// A text as XML and HTML have it, in elements and attributes; what XML cannot hold at all becomes the sign for that.
pub fn escaped(text: &str) -> String {
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
    use super::escaped;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a<b & \"c\"\n\u{1b}[2J"), "a&lt;b &amp; &quot;c&quot;&#10;\u{fffd}[2J");
    }
}
