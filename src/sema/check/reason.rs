//! The reasons for which `regex-syntax` refuses an expression. It words them in English alone, so each that an author is
//! likely to meet is a message here; whatever is not listed stays in its words.

use crate::diag::Message;

/// The reason that the library words so.
pub(super) fn of(words: &str) -> Message {
    let known = [
        said!("invalid escape sequence found in character class"),
        said!("invalid character class range, the start must be <= the end"),
        said!("invalid range boundary, must be a literal"),
        said!("unclosed character class"),
        said!("decimal literal empty"),
        said!("decimal literal invalid"),
        said!("hexadecimal literal empty"),
        said!("hexadecimal literal is not a Unicode scalar value"),
        said!("invalid hexadecimal digit"),
        said!("incomplete escape sequence, reached end of pattern prematurely"),
        said!("unrecognized escape sequence"),
        said!("dangling flag negation operator"),
        said!("duplicate flag"),
        said!("flag negation operator repeated"),
        said!("expected flag but got end of regex"),
        said!("unrecognized flag"),
        said!("duplicate capture group name"),
        said!("empty capture group name"),
        said!("invalid capture group character"),
        said!("unclosed capture group name"),
        said!("unclosed group"),
        said!("unopened group"),
        said!("invalid repetition count range, the start must be <= the end"),
        said!("repetition quantifier expects a valid decimal"),
        said!("unclosed counted repetition"),
        said!("repetition operator missing expression"),
        said!("Unicode not allowed here"),
        said!("Unicode property not found"),
        said!("Unicode property value not found"),
    ];
    known.into_iter().find(|known| *known == words).unwrap_or_else(|| Message::verbatim(words))
}
