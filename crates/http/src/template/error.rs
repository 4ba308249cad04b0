//! The errors of parsing a request template and of filling its placeholders. They name fields and
//! placeholders, so that an author finds the wrong field or placeholder.

use super::text::{Placeholder, Source};
use rulec_base::diag::{Message, comma_list};
use rulec_base::message;
use thiserror::Error;

/// Why an endpoint (a JSON object that describes a request) is not a valid template. Each error
/// message names the field of the endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum TemplateError {
    /// A field of the endpoint is missing or has the wrong type.
    Type {
        /// The path of the field, such as `headers.X-Token`.
        place: String,
        /// The type that the endpoint's field must have.
        wanted: Message,
    },
    /// The endpoint has an unknown field.
    UnknownField {
        /// Name of the unknown field.
        name: String,
    },
    /// The HTTP method is unknown or not supported.
    Method {
        /// The HTTP method as it is written in the endpoint.
        method: String,
    },
    /// The URL is invalid, whatever the values of its placeholders are.
    Url {
        /// Why the URL is invalid.
        why: Message,
    },
    /// The scheme, host or port of the URL contains a placeholder.
    PlaceholderInHost {
        /// The placeholder in the scheme, host or port, which is not allowed there.
        placeholder: Placeholder,
    },
    /// A header of the endpoint cannot be sent.
    Header {
        /// The path of the header, such as `headers.X-Token`.
        place: String,
        /// Why the header cannot be sent.
        why: Message,
    },
}

impl TemplateError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            TemplateError::Type { place, wanted } => message!("`{place}` of the endpoint must be {wanted}"),
            TemplateError::UnknownField { name } => {
                message!("an endpoint has no field `{name}`; it has `url`, `method`, `headers` and `body`")
            }
            TemplateError::Method { method } => message!(
                "`method` of the endpoint is `{method}`; write `GET`, `POST`, `PUT`, `PATCH` or `DELETE`"
            ),
            TemplateError::Url { why } => message!("`url` of the endpoint: {why}"),
            TemplateError::PlaceholderInHost { placeholder } => message!(
                "`url` of the endpoint has `{}` before its path; write scheme, host and port out",
                placeholder.to_string()
            ),
            TemplateError::Header { place, why } => {
                message!("`{place}` of the endpoint cannot be sent: {why}")
            }
        }
    }
}

/// Why a template could not be filled; no request was sent. Contains names, never values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct FillError {
    pub(super) place: String,
    pub(super) placeholder: Placeholder,
    pub(super) reason: FillReason,
}

impl FillError {
    /// Returns the field, the placeholder and the reason as a localized message.
    pub fn to_message(&self) -> Message {
        let FillError { place, placeholder, reason } = self;
        let placeholder = placeholder.to_string();
        message!("`{placeholder}` at `{place}` of the endpoint: {}", reason.to_message())
    }

    /// Returns the path of the field that contains the placeholder, such as
    /// `body.customer.tags[0]`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the placeholder that could not be filled.
    pub fn placeholder(&self) -> &Placeholder {
        &self.placeholder
    }

    /// Returns why the placeholder could not be filled.
    pub fn reason(&self) -> &FillReason {
        &self.reason
    }
}

/// Why a placeholder could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum FillReason {
    /// The source of the placeholder (the arguments or the context) has no value with the
    /// placeholder's name.
    Unfilled {
        /// The source that has no such value: the arguments of the call, or the context of the
        /// conversation.
        wanted_from: Source,
        /// The names of all values in the source `wanted_from`, to suggest a correction.
        known: Vec<String>,
    },
    /// The value is null, which can only fill a string of the body that consists of this
    /// placeholder alone.
    Null,
    /// The value contains a character that a header must not contain.
    HeaderValue,
    /// The value would make a segment of the URL's path empty, `.` or `..`.
    PathSegment,
}

impl FillReason {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            FillReason::Unfilled { wanted_from, known } => {
                let nothing = match wanted_from {
                    Source::Argument => message!("the call has no argument of that name"),
                    Source::Context => message!("the context has nothing of that name"),
                };
                match &known[..] {
                    [] => message!("{nothing}; there is none at all"),
                    known => {
                        message!(
                            "{nothing}; there is {}",
                            comma_list(known.iter().map(|name| format!("`{name}`")))
                        )
                    }
                }
            }
            FillReason::Null => message!(
                "its value is null, which has no text; give it a value or let the placeholder be the whole string of the body"
            ),
            FillReason::HeaderValue => {
                message!(
                    "its value holds a line break or another control character, which no header can hold"
                )
            }
            FillReason::PathSegment => {
                message!("its value would change the path: the segment would be empty, `.` or `..`")
            }
        }
    }
}
