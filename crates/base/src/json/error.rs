//! Errors of the JSON reader. An error says where a message is wrong and how to correct it, for the
//! person or program that wrote the JSON text.

use crate::message;
use serde_json::Value;
use thiserror::Error;

use super::syntax_error::describe_syntax_error;
use super::{MAX_MESSAGE_BYTES, MAX_MESSAGE_OBJECTS, MAX_NESTING_DEPTH};
use crate::diag::{Code, Language, Message};

/// Number of characters of a key that an error message shows.
const MAX_KEY_CHARS: usize = 80;

/// What kind of mistake a JSON text has. Each kind has its own diagnostic code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The text does not follow the grammar of JSON.
    Syntax,
    /// The text has more than [`MAX_NESTING_DEPTH`] nested lists and objects.
    Depth,
    /// A key occurs twice in one object.
    DuplicateKey,
    /// A number is beyond the range of a 64-bit float.
    NumberRange,
    /// The text is valid JSON, but not an object where one is required.
    NotAnObject,
    /// The bytes of the message are not UTF-8.
    Utf8,
    /// The message has more than [`MAX_MESSAGE_BYTES`] bytes.
    TooLong,
    /// The message has more than [`MAX_MESSAGE_OBJECTS`] non-empty objects.
    TooManyObjects,
}

impl JsonErrorKind {
    /// Returns the diagnostic code for this kind of mistake, such as `E0601`, which users can look
    /// up.
    pub fn code(self) -> Code {
        match self {
            JsonErrorKind::Syntax => Code::MessageSyntax,
            JsonErrorKind::Depth => Code::MessageTooDeep,
            JsonErrorKind::DuplicateKey => Code::MessageDuplicateKey,
            JsonErrorKind::NumberRange => Code::MessageNumber,
            JsonErrorKind::NotAnObject => Code::MessageNotObject,
            JsonErrorKind::Utf8 => Code::MessageNotUtf8,
            JsonErrorKind::TooLong => Code::MessageTooLong,
            JsonErrorKind::TooManyObjects => Code::MessageObjects,
        }
    }
}

/// The reason why a text was rejected as a message. The `Display` form is one lower-case line: the
/// mistake, the position, and the remedy if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct JsonError {
    kind: JsonErrorKind,
    message: Message,
    /// How to correct the JSON text; empty if no remedy is known.
    help: Message,
    value_path: String,
    /// The keys from the JSON text that the error message and the error path quote, so that private
    /// keys can be masked later. `None` if the error names none.
    quoted_keys: Option<Box<QuotedKeys>>,
    line: usize,
    column: usize,
    offset: usize,
}

/// The keys from the JSON text that an error message quotes. These keys are stored apart from the
/// message, so that private keys can be masked later.
#[derive(Clone, Debug, PartialEq, Eq)]
struct QuotedKeys {
    /// The path to the faulty value in the message, outermost step first.
    steps: Vec<PathStep>,
    /// The key that occurs twice in one object; `None` for other mistakes.
    duplicate_key: Option<String>,
}

impl QuotedKeys {
    fn path(&self) -> String {
        format_path(&self.steps)
    }

    fn message(&self) -> Message {
        let path = self.path();
        match (&self.duplicate_key, path.is_empty()) {
            (Some(key), true) => message!("key `{}` appears twice", format_key(key)),
            (Some(key), false) => message!("key `{}` appears twice in `{path}`", format_key(key)),
            (None, true) => message!("number is out of range"),
            (None, false) => message!("number at `{path}` is out of range"),
        }
    }
}

impl JsonError {
    /// Adds another remedy to the help: after a semicolon if the error already has a remedy.
    pub fn with_further_help(self, further: Message) -> JsonError {
        let help = match self.help.is_empty() {
            true => further,
            false => message!("{}; {}", self.help, further),
        };
        JsonError { help, ..self }
    }

    /// Returns the kind of mistake in the JSON text, one of a fixed list.
    pub fn kind(&self) -> JsonErrorKind {
        self.kind
    }

    /// Returns the English message about the mistake in the JSON text, without the position and the
    /// remedy.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns how to correct the JSON text, in English; `None` if no remedy is known.
    pub fn help(&self) -> Option<&str> {
        Some(self.help.as_str()).filter(|help| !help.is_empty())
    }

    /// Returns a localized message with the mistake, its line and column, and the remedy, if one is
    /// known.
    pub fn to_message(&self) -> Message {
        let JsonError { message, help, line, column, .. } = self;
        match help.is_empty() {
            true => message!("{message} at line {line}, column {column}"),
            false => message!("{message} at line {line}, column {column}; {help}"),
        }
    }

    /// Returns the same error with its message and remedy in `language`.
    #[must_use]
    pub fn localized(&self, language: Language) -> JsonError {
        let (message, help) = (self.message.in_language(language), self.help.in_language(language));
        JsonError { message, help, ..self.clone() }
    }

    /// Returns the path of the faulty value, such as `ctx.items[2]`; empty for the outermost value.
    /// For a duplicate key, the path leads to the object that contains the key twice. Keys
    /// longer than 80 characters are truncated.
    pub fn path(&self) -> &str {
        &self.value_path
    }

    /// Returns the error with the step `key` added at the front of its path. Used if the JSON text
    /// was the value of the field `key` of a message.
    #[must_use]
    pub fn with_keys_added(self, key: &str) -> JsonError {
        let key = PathStep::Key(key.to_owned());
        let mut error = self;
        if let Some(keys) = &mut error.quoted_keys {
            keys.steps.insert(0, key);
        }
        error.with_keys_changed(|_, _| {})
    }

    /// Returns the error with the keys that it quotes changed, to mask private keys. `change`
    /// receives the path of the faulty value, outermost step first, and the key that occurs twice,
    /// if the error is about such a key. `change` modifies both in place.
    #[must_use]
    #[doc(hidden)]
    pub fn with_keys_changed(self, change: impl FnOnce(&mut [PathStep], Option<&mut String>)) -> JsonError {
        let Some(mut keys) = self.quoted_keys else { return self };
        change(&mut keys.steps, keys.duplicate_key.as_mut());
        let message = match self.kind {
            JsonErrorKind::DuplicateKey | JsonErrorKind::NumberRange => keys.message(),
            _ => self.message,
        };
        JsonError { message, value_path: keys.path(), quoted_keys: Some(keys), ..self }
    }

    /// Returns the line of the mistake in the JSON text, counted from 1. Lines end with a line
    /// feed.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the column of the mistake in its line, in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Returns the byte offset of the mistake in the JSON text, counted from 0. If the text ends
    /// too early, the offset is the length of the text.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Creates the error for a text longer than [`MAX_MESSAGE_BYTES`]. The text need not have been
    /// read.
    pub fn too_long() -> JsonError {
        JsonError {
            kind: JsonErrorKind::TooLong,
            message: message!("the message is longer than {} MiB", MAX_MESSAGE_BYTES >> 20),
            help: message!("write one message per line, or split this message"),
            value_path: String::new(),
            quoted_keys: None,
            line: 1,
            column: 1,
            offset: MAX_MESSAGE_BYTES,
        }
    }

    /// Creates the error from `refusal` if this reader stopped the parse, otherwise from
    /// `serde_json`'s error. `steps` are the path to the faulty value, innermost step first.
    pub(super) fn new(
        text: &str,
        error: &serde_json::Error,
        refusal: Option<ParseRefusal>,
        mut steps: Vec<PathStep>,
    ) -> JsonError {
        steps.reverse();
        let mut keys = QuotedKeys { steps, duplicate_key: None };
        let (kind, message, help, offset) = match refusal {
            Some(ParseRefusal::Depth) => (
                JsonErrorKind::Depth,
                message!("lists and objects are nested more than {MAX_NESTING_DEPTH} deep"),
                message!("nest the lists and objects of the message less deeply"),
                find_offset(text, |depth, _| depth > MAX_NESTING_DEPTH),
            ),
            Some(ParseRefusal::DuplicateKey { key, nth }) => (
                JsonErrorKind::DuplicateKey,
                {
                    keys.duplicate_key = Some(key);
                    keys.message()
                },
                message!("keep one of the two"),
                find_offset(text, |_, keys| keys == nth),
            ),
            Some(ParseRefusal::Objects { nth }) => (
                JsonErrorKind::TooManyObjects,
                message!("the message has more than {MAX_MESSAGE_OBJECTS} objects"),
                message!(
                    "send it as several messages, or use lists of values instead of lists of small objects"
                ),
                find_offset(text, |_, keys| keys == nth),
            ),
            None => {
                let offset = offset_of_serde_error(text, error);
                let full_text = error.to_string();
                let message = full_text.rsplit_once(" at line ").map_or(&*full_text, |(message, _)| message);
                if message == "number out of range" {
                    (
                        JsonErrorKind::NumberRange,
                        keys.message(),
                        message!(
                            "the largest number is about 1.8e308 (64-bit float); send an identifier as a \
                            string"
                        ),
                        start_of_number_before(text, offset),
                    )
                } else {
                    let (message, help) = describe_syntax_error(text, offset, message);
                    (JsonErrorKind::Syntax, message, help, offset)
                }
            }
        };
        let path = keys.path();
        let named_keys = (keys.duplicate_key.is_some() || !path.is_empty()).then(|| Box::new(keys));
        JsonError {
            value_path: path,
            quoted_keys: named_keys,
            ..JsonError::new_at_offset(text, offset, kind, message, help)
        }
    }

    pub(super) fn not_an_object(text: &str, value: &Value) -> JsonError {
        let what = match value {
            Value::Null => Message::verbatim("null"),
            Value::Bool(_) => message!("a boolean"),
            Value::Number(_) => message!("a number"),
            Value::String(_) => message!("a string"),
            Value::Array(_) => message!("a list"),
            Value::Object(_) => message!("an object"),
        };
        let offset = text.len() - text.trim_start().len();
        let message = message!("expected an object, found {what}");
        let help = message!("a message is an object, as in `{{ \"text\": \"show my files\" }}`");
        JsonError::new_at_offset(text, offset, JsonErrorKind::NotAnObject, message, help)
    }

    pub(super) fn invalid_utf8(bytes: &[u8], error: std::str::Utf8Error) -> JsonError {
        let offset = error.valid_up_to();
        let valid_text = bytes
            .get(..offset)
            .and_then(|valid_text| std::str::from_utf8(valid_text).ok())
            .unwrap_or_default();
        let message = match bytes.get(offset) {
            Some(byte) if error.error_len().is_some() => {
                message!("the text is not UTF-8: found byte {}", format!("0x{byte:02x}"))
            }
            _ => message!("the text is not UTF-8: it ends inside a character"),
        };
        JsonError::new_at_offset(
            valid_text,
            offset,
            JsonErrorKind::Utf8,
            message,
            message!("save or send it as UTF-8"),
        )
    }

    fn new_at_offset(
        text: &str,
        offset: usize,
        kind: JsonErrorKind,
        message: Message,
        help: Message,
    ) -> JsonError {
        let offset =
            (0..=offset.min(text.len())).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0);
        let preceding = &text[..offset];
        let line = 1 + preceding.bytes().filter(|&b| b == b'\n').count();
        let column = 1 + preceding.chars().rev().take_while(|&c| c != '\n').count();
        JsonError { kind, message, help, value_path: String::new(), quoted_keys: None, line, column, offset }
    }
}

/// The reason why this reader stopped at a mistake in a JSON text that `serde_json` accepts.
pub(super) enum ParseRefusal {
    /// The text exceeds the limit on nested lists and objects.
    Depth,
    /// The text has more than [`MAX_MESSAGE_OBJECTS`] non-empty objects. `nth` is the number of the
    /// first key of the first object over the limit, counted from 1 over all keys of the text.
    Objects { nth: usize },
    /// `key` occurs twice in one object. `nth` is the number of the second occurrence, counted from
    /// 1 over all keys of the text.
    DuplicateKey { key: String, nth: usize },
}

/// A step of a path: from a list or object to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A step into an object: the key of the value.
    Key(String),
    /// A step into a list: the index of the element, from 0.
    Index(usize),
}

/// Formats the steps of a path, outermost first: `ctx.items[2]["other key"]`.
fn format_path(steps: &[PathStep]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            PathStep::Index(i) => path.push_str(&format!("[{i}]")),
            PathStep::Key(key)
                if key.is_empty() || key.contains(|c: char| !c.is_alphanumeric() && c != '_') =>
            {
                path.push_str(&format!("[\"{}\"]", format_key(key)));
            }
            PathStep::Key(key) => {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(&format_key(key));
            }
        }
    }
    path
}

/// Formats `key` on one line: escapes control characters, quotes and backslashes, and truncates
/// long keys.
fn format_key(key: &str) -> String {
    let mut out = String::new();
    for c in key.chars().take(MAX_KEY_CHARS) {
        if c.is_control() || c == '"' || c == '\\' { out.extend(c.escape_default()) } else { out.push(c) }
    }
    if key.chars().nth(MAX_KEY_CHARS).is_some() {
        out.push('…');
    }
    out
}

/// True if the text has more than `max_depth` nested lists and objects before its first syntax
/// error.
pub(super) fn exceeds_depth(text: &str, max_depth: usize) -> bool {
    find_offset(text, |depth, _| depth > max_depth) < text.len()
}

/// Returns the offset of the first byte for which `is_target` returns true, or the length of the
/// text if there is none. `is_target` receives the number of open brackets and the number of keys
/// up to this byte. The text must be valid JSON up to this byte; `serde_json` has already checked
/// that part before it reports an error.
fn find_offset(text: &str, is_target: impl Fn(usize, usize) -> bool) -> usize {
    let bytes = text.as_bytes();
    let mut open_brackets = Vec::new();
    let (mut index, mut keys, mut previous) = (0, 0, 0);
    while let Some(&byte) = bytes.get(index) {
        let start = index;
        index += 1;
        match byte {
            b'[' | b'{' => open_brackets.push(byte),
            b']' | b'}' => drop(open_brackets.pop()),
            b'"' => {
                keys += usize::from(open_brackets.last() == Some(&b'{') && matches!(previous, b'{' | b','));
                while let Some(&byte) = bytes.get(index).filter(|&&byte| byte != b'"') {
                    index += if byte == b'\\' { 2 } else { 1 };
                }
                index += 1;
            }
            _ => {}
        }
        if is_target(open_brackets.len(), keys) {
            return start;
        }
        if !byte.is_ascii_whitespace() {
            previous = byte;
        }
    }
    text.len()
}

/// Returns the byte offset at which `serde_json` stopped. It is computed from the line number and
/// the number of bytes read in this line, which are all that `serde_json` reports.
fn offset_of_serde_error(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.len();
    }
    let line_start = match error.line().checked_sub(2) {
        None => 0,
        Some(nth) => {
            memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth).map_or(text.len(), |line_feed| line_feed + 1)
        }
    };
    (line_start + error.column()).saturating_sub(1).min(text.len())
}

/// Returns the start of the number whose last digit is at or just before `offset`.
fn start_of_number_before(text: &str, offset: usize) -> usize {
    let prefix = text.as_bytes().get(..offset).unwrap_or_default();
    let is_number_byte = |b: &&u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
    offset - prefix.iter().rev().take_while(is_number_byte).count()
}
