//! Formats values and texts for a terminal: short, on one line, and with control characters
//! escaped.

use crate::trace::Operand;
use rulec_base::diag::{Language, Message};
use rulec_base::message;
use rulec_base::text::invisible::is_default_ignorable;
use rulec_base::text::printable::{escape_char, is_display_control};
use rulec_lang::history::AT_FIELD;
use rulec_sema::hir::BindingRoot;
use serde_json::Value as Json;
use std::fmt::Write;

/// Maximum number of characters of a printed text. The rest is left out, so that the text fits on
/// one line.
const MAX_SHOWN_TEXT_CHARS: usize = 60;
/// Maximum number of printed elements of a list or keys of a dict. The rest is only counted.
const MAX_SHOWN_ITEMS: usize = 5;

/// Formats an operand, such as `ctx.n = 3` or `ctx.n is missing`.
pub(super) fn format_operand(operand: &Operand, language: Language) -> String {
    let name = shorten_name(&operand.text);
    match &operand.value {
        None => message!("{name} is missing").localized(language).into_owned(),
        Some(Json::Array(messages)) if has_recorded_messages(operand, messages) => {
            let count = format_message_count(operand.length.unwrap_or(messages.len()));
            format!("{name} = {}", count.localized(language))
        }
        Some(value) => {
            let mut printer = ValuePrinter { text: String::new(), language };
            printer.print_value(value, operand.length, operand.masked && value.is_string(), 0);
            format!("{name} = {}", printer.text)
        }
    }
}

/// True if the value of an operand is a list of recorded messages: the history or a part of it.
/// Whole messages would hide the values that decided.
fn has_recorded_messages(operand: &Operand, elements: &[Json]) -> bool {
    let is_history = !operand.recorded.is_empty() || *operand.text == *BindingRoot::history().name;
    is_history && elements.iter().all(|element| element.get(AT_FIELD).is_some())
}

/// Formats a number of recorded messages in words.
pub(super) fn format_message_count(count: usize) -> Message {
    match count {
        1 => message!("1 earlier message"),
        count => message!("{} earlier messages", format_thousands(count)),
    }
}

/// Maximum number of characters of the name of an operand, which may be an expression.
const MAX_OPERAND_NAME_CHARS: usize = 50;
/// Number of characters at the end of a long name that are shown. If only the start were shown, an
/// expression could look like another one: `(sum … )` for `(sum …) + n`.
const SHOWN_NAME_END_CHARS: usize = 20;

/// Escapes control characters in the name of an operand, and leaves out the middle of a long name.
fn shorten_name(name: &str) -> String {
    let count = name.chars().count();
    if count <= MAX_OPERAND_NAME_CHARS {
        return escape_and_truncate(name, MAX_OPERAND_NAME_CHARS);
    }
    let end: String = name.chars().skip(count - SHOWN_NAME_END_CHARS).collect();
    escape_and_truncate(name, MAX_OPERAND_NAME_CHARS - SHOWN_NAME_END_CHARS)
        + &escape_and_truncate(&end, SHOWN_NAME_END_CHARS)
}

pub(super) fn format_value(json: &Json, language: Language) -> String {
    let mut printer = ValuePrinter { text: String::new(), language };
    printer.print_value(json, None, false, 0);
    printer.text
}

/// A printer that writes a value as short text for a terminal. Words such as `missing` are in
/// `language`.
struct ValuePrinter {
    text: String,
    language: Language,
}

impl ValuePrinter {
    fn push_message(&mut self, message: &Message) {
        self.text.push_str(&message.localized(self.language));
    }

    fn print_value(&mut self, json: &Json, length: Option<usize>, masked: bool, depth: usize) {
        match json {
            Json::String(text) if masked => self.text.push_str(text),
            Json::String(text) => {
                let _ = write!(self.text, "\"{}\"", escape_and_truncate(text, MAX_SHOWN_TEXT_CHARS));
                let length = length.unwrap_or_else(|| text.chars().count());
                if length > MAX_SHOWN_TEXT_CHARS {
                    self.push_message(&message!(" ({} characters)", format_thousands(length)));
                }
            }
            Json::Array(items) => {
                self.text.push('[');
                let length = length.unwrap_or(items.len());
                if depth > 2 && !items.is_empty() {
                    self.text.push('…');
                } else {
                    for (position, item) in items.iter().take(MAX_SHOWN_ITEMS).enumerate() {
                        self.text.push_str(if position > 0 { ", " } else { "" });
                        self.print_value(item, None, false, depth + 1);
                    }
                    if length > MAX_SHOWN_ITEMS {
                        self.push_message(&message!(", … {} in total", format_thousands(length)));
                    }
                }
                self.text.push(']');
            }
            Json::Object(map) => {
                let length = length.unwrap_or(map.len());
                if map.is_empty() || depth > 2 {
                    return self.text.push_str(if map.is_empty() { "{}" } else { "{…}" });
                }
                self.text.push_str("{ ");
                for (position, (key, item)) in map.iter().take(MAX_SHOWN_ITEMS).enumerate() {
                    self.text.push_str(if position > 0 { ", " } else { "" });
                    let _ = write!(self.text, "{}: ", escape_and_truncate(key, MAX_SHOWN_TEXT_CHARS));
                    self.print_value(item, None, false, depth + 1);
                }
                if length > MAX_SHOWN_ITEMS {
                    self.push_message(&message!(", … {} keys in total", format_thousands(length)));
                }
                self.text.push_str(" }");
            }
            other => {
                let _ = write!(self.text, "{other}");
            }
        }
    }
}

/// Escapes control and invisible characters in a text, and truncates it to `limit` characters.
pub(super) fn escape_and_truncate(text: &str, limit: usize) -> String {
    let mut escaped = String::with_capacity(text.len().min(limit * 4));
    for (position, c) in text.chars().enumerate() {
        if position == limit {
            escaped.push('…');
            break;
        }
        if is_display_control(c) || is_default_ignorable(c) {
            escape_char(c, &mut escaped);
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Formats a number with thousands separators: `1,234`.
pub(super) fn format_thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut formatted = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            formatted.push(',');
        }
        formatted.push(digit);
    }
    formatted
}
