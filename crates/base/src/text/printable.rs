//! Makes texts of authors and messages safe for a terminal. Characters that would move the cursor,
//! change colours or reverse the writing direction are replaced by visible ones. Characters that a
//! reader would not see are escaped. All output for people passes through this module.

use super::invisible::is_misplaced_invisible;
use std::borrow::Cow;
use std::fmt::Write;

/// True for a character that controls the display: a control character, a mark that changes the
/// writing direction, or a line or paragraph separator.
pub fn is_display_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// True for a character of a text that a reader would not see, or that controls the display.
/// `previous` is the preceding character.
fn is_hidden(previous: Option<char>, c: char) -> bool {
    is_display_control(c) || is_misplaced_invisible(previous, c)
}

/// True if a text has a character that [`to_one_line`] escapes.
pub fn has_hidden_chars(text: &str) -> bool {
    hidden_chars(text).any(|(_, hidden)| hidden)
}

/// Yields each character of a text, and whether the character must be escaped to be seen.
pub fn hidden_chars(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut previous = None;
    text.chars().map(move |c| (c, is_hidden(previous.replace(c), c)))
}

/// Makes a text of several lines printable. Each control character is replaced by one visible
/// character, so that columns stay aligned. Invisible characters are escaped.
pub fn to_printable(text: &str) -> Cow<'_, str> {
    let picture = |c| match c {
        '\t' | '\n' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '␡',
        c if is_display_control(c) => '\u{fffd}',
        c => c,
    };
    if !has_hidden_chars(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (c, hidden) in hidden_chars(text) {
        if hidden && !is_display_control(c) {
            escape_char(c, &mut out);
        } else {
            out.push(picture(c));
        }
    }
    Cow::Owned(out)
}

/// Makes a text printable on one line. Control characters, including line breaks and tabs, and
/// invisible characters are escaped as in a string literal of the rules.
pub fn to_one_line(text: &str) -> Cow<'_, str> {
    if !has_hidden_chars(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (c, hidden) in hidden_chars(text) {
        if hidden {
            escape_char(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Truncates a text to `max_chars` characters, and appends `…` if the text was longer.
pub fn truncate_chars(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Appends a character as an escape sequence of a string literal in the rules.
pub fn escape_char(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => {
            // Writing to memory cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_become_visible() {
        let hostile = "a\u{1b}[31m\r\n\tb\u{7f}\u{9b}2J\u{202e}c\u{2028}";
        assert_eq!(to_printable(hostile), "a␛[31m␍\n\tb␡\u{fffd}2J\u{fffd}c\u{fffd}");
        let escaped = "a\\u{1b}[31m\\r\\n\\tb\\u{7f}\\u{9b}2J\\u{202e}c\\u{2028}";
        assert_eq!(to_one_line(hostile), escaped);
        for c in (0..=0x1f_ffff).filter_map(char::from_u32) {
            let text = c.to_string();
            assert!(!to_one_line(&text).contains(is_display_control), "{c:?}");
            assert!(
                !to_printable(&text).contains(|c| is_display_control(c) && !matches!(c, '\n' | '\t')),
                "{c:?}"
            );
        }
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for (text, shown) in [
            ("ur\u{ad}gent", "ur\\u{ad}gent"),
            ("HELLO\u{200b}", "HELLO\\u{200b}"),
            ("❤\u{fe0f}", "❤\\u{fe0f}"),
            ("a\u{200d}b", "a\\u{200d}b"),
        ] {
            assert_eq!((&*to_one_line(text), &*to_printable(text)), (shown, shown));
        }
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in ["查订单 „x“ naïve", "👩\u{200d}💻", "می\u{200c}خواهم", ""] {
            assert!(matches!(to_printable(text), Cow::Borrowed(_)), "{text}");
            assert!(matches!(to_one_line(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
