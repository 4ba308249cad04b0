//! Translatable reasons for invalid regular expressions. `regex-syntax` reports errors only in
//! English, so this module has messages for the likely errors. All other errors keep the library's
//! English text.

use rulec_base::diag::Message;
use rulec_base::message;

/// Returns the translatable message for an error text of `regex-syntax`. An unknown text is
/// returned verbatim.
pub(super) fn library_error_message(error_text: &str) -> Message {
    let known_messages = [
        message!("invalid escape sequence found in character class"),
        message!("invalid character class range, the start must be <= the end"),
        message!("invalid range boundary, must be a literal"),
        message!("unclosed character class"),
        message!("decimal literal empty"),
        message!("decimal literal invalid"),
        message!("hexadecimal literal empty"),
        message!("hexadecimal literal is not a Unicode scalar value"),
        message!("invalid hexadecimal digit"),
        message!("incomplete escape sequence, reached end of pattern prematurely"),
        message!("unrecognized escape sequence"),
        message!("dangling flag negation operator"),
        message!("duplicate flag"),
        message!("flag negation operator repeated"),
        message!("expected flag but got end of regex"),
        message!("unrecognized flag"),
        message!("duplicate capture group name"),
        message!("empty capture group name"),
        message!("invalid capture group character"),
        message!("unclosed capture group name"),
        message!("unclosed group"),
        message!("unopened group"),
        message!("invalid repetition count range, the start must be <= the end"),
        message!("repetition quantifier expects a valid decimal"),
        message!("unclosed counted repetition"),
        message!("repetition operator missing expression"),
        message!("Unicode not allowed here"),
        message!("Unicode property not found"),
        message!("Unicode property value not found"),
    ];
    known_messages
        .into_iter()
        .find(|known| *known == error_text)
        .unwrap_or_else(|| Message::verbatim(error_text))
}
