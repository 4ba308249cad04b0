//! Localized messages: a template and the values of its argument placeholders, so that a message
//! can be rendered in several languages. The template, written in the `message!` macro, is the
//! English text. As in gettext, a catalogue maps each English template to its translation.

use super::Language;
use crate::codec::{Codec, DecodeError, Reader, Writer, impl_codec};
use crate::message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A sentence or phrase for people. Dereferences to its English text; [`Message::localized`]
/// returns the text in another language.
#[derive(Clone)]
pub struct Message(MessageForm);

/// The two representations of a message. A value of this type is small in memory, because many
/// error types contain messages.
#[derive(Clone)]
enum MessageForm {
    /// A message without placeholders or braces. The template is also the English text.
    Fixed(&'static str),
    Template(Box<TemplateMessage>),
}

#[derive(Clone)]
struct TemplateMessage {
    template: Cow<'static, str>,
    /// The value of each placeholder in the template, in the order in which the placeholders occur.
    args: Vec<Arg>,
    /// The English text: the template with its placeholders filled.
    english_text: String,
}

/// The value that fills a placeholder of a message template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// Text that is the same in every language: source text, a name or a number.
    Text(String),
    /// A nested message, which is translated together with the message that contains it.
    Message(Message),
    /// Several values, joined with the list separator of the language.
    List(Vec<Arg>),
}

impl Arg {
    fn localized(&self, language: Language) -> Cow<'_, str> {
        match self {
            Arg::Text(text) => Cow::Borrowed(text),
            Arg::Message(message) => message.localized(language),
            Arg::List(items) => {
                let separator = LIST_SEPARATOR;
                let comma = separator.localized(language);
                let mut out = String::new();
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push_str(&comma);
                    }
                    push_fn_for(language)(&mut out, &item.localized(language));
                }
                Cow::Owned(out)
            }
        }
    }
}

/// The separator between the items of a list, as a message that is translated.
const LIST_SEPARATOR: Message = message!(", ");

/// Returns a function that appends its second argument, a text, to its first. The function for
/// Chinese also inserts the spaces that Chinese text needs around code and numbers.
fn push_fn_for(language: Language) -> fn(&mut String, &str) {
    match language {
        Language::English => String::push_str,
        Language::Chinese => push_with_chinese_spacing,
    }
}

/// A value that can fill an argument placeholder of a message.
pub trait Argument {
    /// Converts this value to the type in which a message stores the values of its placeholders.
    fn to_arg(&self) -> Arg;
}

/// The Chinese catalogue: maps English message templates to Chinese templates.
static CHINESE_TEMPLATES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    // A test parses the same file, so the fallback does not occur.
    serde_json::from_str(include_str!("../../docs/zh/messages.json")).unwrap_or_default()
});

impl Message {
    /// Creates a message from a template and the values of its placeholders. `message!` expands to
    /// a call of this function if the template has placeholders or braces.
    #[doc(hidden)]
    pub fn new(template: &'static str, args: Vec<Arg>) -> Message {
        let english = fill_placeholders(template, template, push_fn_for(Language::English), |index| {
            localized_arg(&args, index, Language::English)
        });
        Message(MessageForm::Template(Box::new(TemplateMessage {
            template: Cow::Borrowed(template),
            args,
            english_text: english,
        })))
    }

    /// Creates a message without placeholders or braces. `message!` expands to a call of this
    /// function for such a template.
    pub const fn fixed(template: &'static str) -> Message {
        Message(MessageForm::Fixed(template))
    }

    /// Creates a message that is the same in every language, such as a name or an operating system
    /// error.
    pub fn verbatim(text: impl Into<String>) -> Message {
        Message::new("{}", vec![Arg::Text(text.into())])
    }

    /// Returns the English text of the message.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            MessageForm::Fixed(template) => template,
            MessageForm::Template(templated) => &templated.english_text,
        }
    }

    /// Returns the text of the message in `language`, or in English if the catalogue has no
    /// translation.
    pub fn localized(&self, language: Language) -> Cow<'_, str> {
        match language {
            Language::English => Cow::Borrowed(self.as_str()),
            Language::Chinese => {
                let (original, args) = self.template_and_args();
                match (&self.0, CHINESE_TEMPLATES.get(original)) {
                    // Braces in a fixed text are not placeholders.
                    (MessageForm::Fixed(text), None) => Cow::Borrowed(*text),
                    (_, translation) => {
                        let template = translation.map_or(original, String::as_str);
                        Cow::Owned(fill_placeholders(original, template, push_fn_for(language), |index| {
                            localized_arg(args, index, language)
                        }))
                    }
                }
            }
        }
    }

    /// Returns a message whose text is this message in `language`, and which is not translated
    /// again. If `language` is English, returns the message itself, which can still be translated.
    #[must_use]
    pub fn in_language(&self, language: Language) -> Message {
        match language {
            Language::English => self.clone(),
            _ => Message::verbatim(self.localized(language)),
        }
    }

    /// Returns the English template of the message, and the values of its placeholders.
    fn template_and_args(&self) -> (&str, &[Arg]) {
        match &self.0 {
            MessageForm::Fixed(template) => (template, &[]),
            MessageForm::Template(templated) => (&templated.template, &templated.args),
        }
    }

    /// True for the empty message, which means that there is no text.
    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

fn localized_arg(args: &[Arg], index: usize, language: Language) -> Cow<'_, str> {
    args.get(index).map_or(Cow::Borrowed(""), |arg| arg.localized(language))
}

/// Returns a message that joins the elements with commas, or with the separator of the language in
/// which it is shown.
pub fn comma_list<A: Argument>(elements: impl IntoIterator<Item = A>) -> Message {
    let items: Vec<Arg> = elements.into_iter().map(|element| element.to_arg()).collect();
    match items.is_empty() {
        true => Message::default(),
        false => Message::new("{}", vec![Arg::List(items)]),
    }
}

/// Returns a message that lists alternatives: `a`, `a or b` or `a, b or c`.
pub fn list_alternatives<A: Argument>(alternatives: impl IntoIterator<Item = A>) -> Message {
    let mut alternatives: Vec<A> = alternatives.into_iter().collect();
    match (alternatives.pop(), alternatives.is_empty()) {
        (None, _) => message!("something else"),
        (Some(last), true) => comma_list([last]),
        (Some(last), false) => message!("{} or {last}", comma_list(alternatives)),
    }
}

/// Returns a message that consists of the given messages, one per line.
pub fn join_lines(messages: &[Message]) -> Message {
    match messages {
        [] => Message::default(),
        [only] => only.clone(),
        // The list is split into halves, so that the nesting depth of the result is logarithmic.
        several => {
            let (first, second) = several.split_at(several.len() / 2);
            message!("{}\n{}", join_lines(first), join_lines(second))
        }
    }
}

/// A section of a message template: literal text or a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplatePiece<'t> {
    Text(&'t str),
    /// The name inside the braces of a placeholder, which may be empty.
    Placeholder(&'t str),
}

/// Splits a message template into literal texts and placeholders. `{{` and `}}` are literal braces.
fn split_template(template: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(brace) = rest.find(['{', '}']) {
        if rest[brace..].starts_with("{{") || rest[brace..].starts_with("}}") {
            pieces.push(TemplatePiece::Text(&rest[..=brace]));
            rest = &rest[brace + 2..];
        } else {
            let end = rest[brace..].find('}').map_or(rest.len(), |end| brace + end);
            pieces.push(TemplatePiece::Text(&rest[..brace]));
            pieces.push(TemplatePiece::Placeholder(rest.get(brace + 1..end).unwrap_or_default()));
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }
    pieces.push(TemplatePiece::Text(rest));
    pieces
}

/// Returns the names of a template's placeholders, in order. A placeholder without a name is named
/// by its index among the placeholders without a name.
pub fn placeholder_names(template: &str) -> Vec<String> {
    let mut unnamed = 0..;
    let name = |piece| match piece {
        TemplatePiece::Placeholder("") => unnamed.next().map(|number| number.to_string()),
        TemplatePiece::Placeholder(name) => Some(name.to_owned()),
        TemplatePiece::Text(_) => None,
    };
    split_template(template).into_iter().filter_map(name).collect()
}

/// Fills the placeholders of `template`, which may be a translation of `original_template`. A
/// placeholder is filled with the value that the placeholder of the same name has in
/// `original_template`. `value_at` returns a value by the index of its placeholder in
/// `original_template`. `push_piece` appends a text to the result.
fn fill_placeholders<'t>(
    original_template: &str,
    template: &str,
    push_piece: fn(&mut String, &str),
    value_at: impl Fn(usize) -> Cow<'t, str>,
) -> String {
    // Each value is inserted only once. Otherwise nested messages that were decoded from damaged
    // bytes could grow without bound.
    let mut names: Vec<Option<String>> = placeholder_names(original_template).into_iter().map(Some).collect();
    let mut placeholders = placeholder_names(template).into_iter();
    let mut out = String::new();
    for piece in split_template(template) {
        match piece {
            TemplatePiece::Text(text) => push_piece(&mut out, text),
            TemplatePiece::Placeholder(_) => {
                let name = placeholders.next();
                if let Some(index) =
                    names.iter().position(|candidate| candidate.is_some() && *candidate == name)
                {
                    names[index] = None;
                    push_piece(&mut out, &value_at(index));
                }
            }
        }
    }
    out
}

/// Appends `piece`, a text, to `out` with Chinese spacing: a space between Chinese characters and
/// code or numbers, and no space between two Chinese characters. Inside backquotes, nothing
/// changes.
fn push_with_chinese_spacing(out: &mut String, piece: &str) {
    if out.bytes().filter(|byte| *byte == b'`').count() % 2 == 1 {
        return out.push_str(piece);
    }
    let is_han = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let is_code = |c: char| c.is_ascii_alphanumeric() || c == '`';
    let is_text = |text: &str| text.starts_with(is_han);
    if is_text(piece) && out.strip_suffix(' ').is_some_and(|preceding| preceding.ends_with(is_han)) {
        out.pop();
    }
    let following = piece.strip_prefix(' ').filter(|following| out.ends_with(is_han) && is_text(following));
    let piece = following.unwrap_or(piece);
    if let (Some(preceding), Some(following)) = (out.chars().next_back(), piece.chars().next())
        && (is_han(preceding) && is_code(following) || is_code(preceding) && is_han(following))
    {
        out.push(' ');
    }
    out.push_str(piece);
}

impl Default for Message {
    fn default() -> Message {
        Message::fixed("")
    }
}

/// Messages are equal if their templates and values are equal. Equal messages also have equal
/// English texts.
impl PartialEq for Message {
    fn eq(&self, other: &Message) -> bool {
        self.template_and_args() == other.template_and_args()
    }
}

impl Eq for Message {}

impl Hash for Message {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.template_and_args().hash(state);
    }
}

impl Deref for Message {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Message {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message can be the error of a function that returns `Box<dyn Error>`. The caller can downcast
/// the error to a message and localize it.
impl std::error::Error for Message {}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq<str> for Message {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// Reads a text as a message that is the same in every language, because a stored sentence no
/// longer has its template.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        String::deserialize(deserializer).map(Message::verbatim)
    }
}

impl From<Message> for String {
    fn from(message: Message) -> String {
        message.as_str().to_owned()
    }
}

impl Argument for Message {
    fn to_arg(&self) -> Arg {
        Arg::Message(self.clone())
    }
}

impl<A: Argument + ?Sized> Argument for &A {
    fn to_arg(&self) -> Arg {
        (**self).to_arg()
    }
}

macro_rules! impl_argument_as_text {
    ($($kind:ty)*) => {
        $(impl Argument for $kind {
            fn to_arg(&self) -> Arg {
                Arg::Text(self.to_string())
            }
        })*
    };
}

impl_argument_as_text! {
    str String Box<str> Arc<str> Cow<'_, str> char u8 u16 u32 u64 u128 usize i32 i64 f64 bool super::Code
    std::io::Error serde_json::Error serde_json::Value serde_json::Number std::path::Display<'_>
}

/// A duration fills a placeholder of a message as a number with its unit, such as `1.5s`.
impl Argument for Duration {
    fn to_arg(&self) -> Arg {
        Arg::Text(format!("{self:?}"))
    }
}

impl Codec for Message {
    fn write(&self, writer: &mut Writer) {
        let (template, args) = self.template_and_args();
        writer.write_text(template);
        args.to_vec().write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (template, args) = (reader.read_text()?.to_string(), Vec::<Arg>::read(reader)?);
        if self::placeholder_names(&template).len() != args.len() {
            return Err(DecodeError("a message has other placeholders than its template"));
        }
        let english = fill_placeholders(&template, &template, push_fn_for(Language::English), |index| {
            localized_arg(&args, index, Language::English)
        });
        Ok(Message(MessageForm::Template(Box::new(TemplateMessage {
            template: Cow::Owned(template),
            args,
            english_text: english,
        }))))
    }
}

impl_codec!(enum Arg { 0 Text(text), 1 Message(message), 2 List(items) });
