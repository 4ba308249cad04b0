//! Describes a syntax error of a JSON text in plain words, with a remedy. The messages of
//! `serde_json` only name what the parser expected.

use crate::diag::Message;
use crate::message;

/// Returns the message and the remedy for a syntax error at byte `offset`. `original` is the
/// message of `serde_json` without the position. If no remedy is known, the remedy is empty.
pub(super) fn describe_syntax_error(text: &str, offset: usize, original: &str) -> (Message, Message) {
    // `serde_json` may stop inside a character.
    let start = (0..=offset.min(text.len())).rev().find(|start| text.is_char_boundary(*start)).unwrap_or(0);
    let next_char = text[start..].chars().next();
    let word: String = text[start..]
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .take(20)
        .collect();
    let (message, help) = if text.trim().is_empty() {
        (message!("the text is empty, expected a JSON value"), Message::default())
    } else {
        describe_wrong_character(original, next_char, &word)
            .unwrap_or_else(|| explain_serde_message(original))
    };
    let message = match next_char {
        Some(c) if message.starts_with("expected") && !c.is_whitespace() && !c.is_control() => {
            message!("{message}, found `{c}`")
        }
        _ => message,
    };
    (message, help)
}

/// Returns the message and the remedy for a syntax error at a character that other languages allow,
/// such as `'` or `#`. `original` is the message of `serde_json`. `next_char` is the character at
/// which `serde_json` stopped, and `word` the word that begins there. `None` if the character
/// suggests no remedy.
fn describe_wrong_character(
    original: &str,
    next_char: Option<char>,
    word: &str,
) -> Option<(Message, Message)> {
    Some(match (original, next_char) {
        ("expected value", Some('\u{feff}')) => (
            message!("unexpected byte order mark"),
            message!("save or send the text without the byte order mark"),
        ),
        ("expected value" | "key must be a string", Some('\'')) => {
            (message!("unexpected single quote"), message!("JSON strings and keys take double quotes"))
        }
        (_, Some(quote)) if "“”„‟‘’«»「」＂".contains(quote) => (
            message!("`{quote}` is not a quote of JSON"),
            message!("write `\"`, the straight quote of the keyboard, on both sides"),
        ),
        (_, Some(mark)) if "，：｛｝［］".contains(mark) => (
            message!("`{mark}` is not a mark of JSON"),
            message!("write the narrow mark: `,`, `:`, `{{` or `[`"),
        ),
        ("key must be a string", Some(first)) if first.is_alphabetic() || first == '_' => {
            (message!("key is not a string"), message!("write keys in double quotes: `\"{word}\"`"))
        }
        ("expected value", Some('N' | 'I' | 'T' | 'F')) => (
            message!("expected a JSON value"),
            message!("the only words in JSON are `true`, `false` and `null`"),
        ),
        ("expected value" | "key must be a string", Some('/' | '#')) => {
            (message!("expected a JSON value"), message!("remove the comment; JSON has none"))
        }
        ("expected value", Some(first)) if first.is_alphabetic() => {
            (message!("expected a JSON value"), message!("write a text in double quotes: `\"{word}\"`"))
        }
        _ => return None,
    })
}

/// Returns the message and the remedy for a syntax error, given the message of `serde_json`. The
/// remedy is empty if none is known.
fn explain_serde_message(original: &str) -> (Message, Message) {
    match original {
        "expected value" | "expected ident" => (message!("expected a JSON value"), Message::default()),
        "EOF while parsing a list" => {
            (message!("the text ends inside a list"), message!("close it with `]`"))
        }
        "EOF while parsing an object" => {
            (message!("the text ends inside an object"), message!("close it with `}}`"))
        }
        "EOF while parsing a string" => {
            (message!("the text ends inside a string"), message!("close it with a double quote"))
        }
        "EOF while parsing a value" => {
            (message!("the text ends where a value is expected"), Message::default())
        }
        "trailing comma" => (message!("comma after the last element"), message!("remove the comma")),
        "trailing characters" => {
            (message!("more text after the JSON value"), message!("send one value at a time"))
        }
        "key must be a string" => (message!("key is not a string"), message!("write keys in double quotes")),
        "invalid escape" => {
            (message!("unknown escape in a string"), message!("write `\\\\` for a backslash"))
        }
        "invalid number" => (
            message!("number is not in JSON notation"),
            message!("write the number as in `0.5`, `-12` or `1e3`"),
        ),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => (
            message!("half of a surrogate pair in a string"),
            message!("write both halves, as in `\\ud83d\\ude00`, or the character"),
        ),
        control if control.starts_with("control character") => (
            message!("raw control character in a string"),
            message!("write `\\n` for a line break, `\\t` for a tab, else `\\u00XX`"),
        ),
        other => (Message::verbatim(other), Message::default()),
    }
}
