//! Text with placeholders, as request templates contain it: parsing, and conversion of values to
//! text.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// Where the value of a placeholder in a request template comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The value is an argument of the call; the placeholder is written `{name}`.
    Argument,
    /// The value is from the context of the conversation; the placeholder is written `#name#`.
    Context,
}

/// A placeholder of a template. Displays as it is written in the template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placeholder {
    pub(super) source: Source,
    pub(super) name: String,
}

impl Placeholder {
    /// Returns where the placeholder's value comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns the placeholder's name, without the delimiters.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Source::Argument => write!(f, "{{{}}}", self.name),
            Source::Context => write!(f, "#{}#", self.name),
        }
    }
}

/// The values with which the placeholders of a request template are filled.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// The arguments of the call, which fill the placeholders `{name}`.
    pub arguments: &'a Map<String, Value>,
    /// The context of the conversation, which fills the placeholders `#name#`.
    pub context: &'a Map<String, Value>,
}

impl<'a> Values<'a> {
    pub(super) fn values_of(&self, source: Source) -> &'a Map<String, Value> {
        match source {
            Source::Argument => self.arguments,
            Source::Context => self.context,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplatePiece {
    Literal(String),
    Placeholder(Placeholder),
}

/// A text that is split into literals and placeholders. Between two placeholders there is at most
/// one literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TemplateText {
    pub(super) pieces: Vec<TemplatePiece>,
}

impl TemplateText {
    /// Splits a text at its placeholders `{name}` and `#name#`. A brace or `#` that does not
    /// enclose a name is literal text.
    pub(super) fn parse(text: &str) -> TemplateText {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(offset) = rest.find(['{', '#']) {
            literal.push_str(&rest[..offset]);
            rest = &rest[offset..];
            if let Some(length) = escape_length(rest) {
                literal.push_str(&rest[1..length - 1]);
                rest = &rest[length..];
            } else if let Some((placeholder, length)) = parse_placeholder(rest) {
                if !literal.is_empty() {
                    pieces.push(TemplatePiece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(TemplatePiece::Placeholder(placeholder));
                rest = &rest[length..];
            } else {
                literal.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(TemplatePiece::Literal(literal));
        }
        TemplateText { pieces }
    }

    pub(super) fn as_single_placeholder(&self) -> Option<&Placeholder> {
        match &self.pieces[..] {
            [TemplatePiece::Placeholder(placeholder)] => Some(placeholder),
            _ => None,
        }
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Placeholder(placeholder) => Some(placeholder),
            TemplatePiece::Literal(_) => None,
        })
    }
}

/// Returns the length of an escape at the start of the text; `None` if there is no escape. The
/// escapes are `{{name}}` for the literal text `{name}`, and `##name##` for `#name#`.
fn escape_length(text: &str) -> Option<usize> {
    let (_, length) =
        parse_enclosed_name(text, "{{", "}}").or_else(|| parse_enclosed_name(text, "##", "##"))?;
    Some(length)
}

fn parse_placeholder(text: &str) -> Option<(Placeholder, usize)> {
    let argument =
        parse_enclosed_name(text, "{", "}").map(|name_and_length| (Source::Argument, name_and_length));
    let (source, (name, length)) = argument.or_else(|| {
        parse_enclosed_name(text, "#", "#").map(|name_and_length| (Source::Context, name_and_length))
    })?;
    Some((Placeholder { source, name: name.to_owned() }, length))
}

/// Returns the name between two delimiters at the start of the text, and the length including the
/// delimiters. `None` if the text does not start with such a name. A name starts with a letter or
/// `_`, followed by letters, digits and `_`. So `{2}` in a regex and `#1#` in a ticket number are
/// not placeholders.
fn parse_enclosed_name<'a>(text: &'a str, opening: &str, closing: &str) -> Option<(&'a str, usize)> {
    let inner = text.strip_prefix(opening)?;
    let end = inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len());
    let (name, after_name) = inner.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && after_name.starts_with(closing)).then_some((name, opening.len() + end + closing.len()))
}

/// Converts the value of a placeholder to text. Strings are unchanged, numbers and bools are as in
/// JSON, and lists and dicts are compact JSON. Returns `None` for null.
pub(super) fn value_to_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// Percent-encodes a text except letters, digits and `-._~`, so that it cannot end its path segment
/// or query parameter.
pub(super) fn percent_encode(text: &str) -> String {
    const ENCODED_CHARS: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, &ENCODED_CHARS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Shows a parsed text: literals unchanged, placeholders in angle brackets.
    fn show_pieces(text: &str) -> String {
        let show = |piece: &TemplatePiece| match piece {
            TemplatePiece::Literal(literal) => literal.clone(),
            TemplatePiece::Placeholder(placeholder) => format!("<{placeholder}>"),
        };
        TemplateText::parse(text).pieces.iter().map(show).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn placeholders_are_found() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("{a}", "<{a}>"),
            ("#a#", "<#a#>"),
            ("{客户_id}#电话#", "<{客户_id}>|<#电话#>"),
            ("a{b}c#d#e", "a|<{b}>|c|<#d#>|e"),
            ("{a}{a}", "<{a}>|<{a}>"),
            ("#a#b#", "<#a#>|b#"),
            ("{_}{_1}{a1}", "<{_}>|<{_1}>|<{a1}>"),
            // No placeholders.
            ("{\"a\":1}", "{\"a\":1}"),
            ("{}{ a }{a b}{a.b}{a", "{}{ a }{a b}{a.b}{a"),
            ("a}", "a}"),
            (r"\d{3}#1#", r"\d{3}#1#"),
            ("##", "##"),
            ("# a# #b", "# a# #b"),
            ("page#part", "page#part"),
            // Escapes, and texts similar to escapes.
            ("{{a}}", "{a}"),
            ("##a##", "#a#"),
            ("x{{a}}y{b}", "x{a}y|<{b}>"),
            ("{{a}", "{|<{a}>"),
            ("{a}}", "<{a}>|}"),
            ("{{a}}}", "{a}}"),
            ("{{{a}}}", "{{a}}"),
            ("##a#", "#|<#a#>"),
            ("{{}}{{ a }}", "{{}}{{ a }}"),
            ("{\"a\":{b}}", "{\"a\":|<{b}>|}"),
        ] {
            assert_eq!(show_pieces(text), expected, "{text}");
        }
    }

    #[test]
    fn values_are_converted_to_text() {
        for (value, expected) in [
            (json!("a \"b\""), Some("a \"b\"")),
            (json!(12), Some("12")),
            (json!(1.5), Some("1.5")),
            (json!(true), Some("true")),
            (json!([1, "a"]), Some("[1,\"a\"]")),
            (json!({"a": null}), Some("{\"a\":null}")),
            (json!(null), None),
        ] {
            assert_eq!(value_to_text(&value).as_deref(), expected);
        }
        assert_eq!(percent_encode("aZ0-._~ /?&=%#文"), "aZ0-._~%20%2F%3F%26%3D%25%23%E6%96%87");
    }
}
