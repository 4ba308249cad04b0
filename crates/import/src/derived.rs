//! Statements that compute the length and the urgency of a message whose context lacks these
//! values. An import of message routes writes the statements, and an export recognizes them.

use super::write::{quote_string, write_list};

/// Words that make a message urgent. They are written into the rules file, where the author may
/// change them.
const URGENT_WORDS: [&str; 9] =
    ["urgent", "asap", "immediately", "emergency", "critical", "紧急", "马上", "立即", "尽快"];

/// The rules statement that defines `message_length`, the length of the message.
pub(super) const LENGTH_STATEMENT: &str = "let message_length = ctx.message_length ?? len(text)";

/// Returns the two rules statements that define `urgency`. The value is `ctx.urgency` if it is
/// present. Otherwise it is computed from the words of the message text.
pub(super) fn urgency_statements() -> [String; 2] {
    let words: Vec<String> = URGENT_WORDS.iter().map(|word| quote_string(word)).collect();
    let urgency = "let urgency = ctx.urgency\n  \
                   ?? [\"normal\", \"high\"][min(count term in urgent_words: text contains term ignoring case, 1)]";
    [format!("list urgent_words = {}", write_list(&words, 0)), urgency.to_owned()]
}
