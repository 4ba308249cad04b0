//! The mistakes in a template when it is loaded, and when it is filled.

use super::text::{Placeholder, Source};
use thiserror::Error;

/// An endpoint that is no template. Each message names the place inside the endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A part of another type, or one that is missing.
    #[error("`{place}` of the endpoint must be {wanted}")]
    Type {
        /// The part, such as `headers.X-Token`.
        place: String,
        /// The kind that it must be.
        wanted: &'static str,
    },
    /// A field that endpoints do not have.
    #[error("an endpoint has no field `{name}`; it has `url`, `method`, `headers` and `body`")]
    UnknownField {
        /// The field.
        name: String,
    },
    /// A method that is none.
    #[error("`method` of the endpoint is `{method}`; write `GET`, `POST`, `PUT`, `PATCH` or `DELETE`")]
    Method {
        /// The method as written.
        method: String,
    },
    /// An address that cannot be called.
    #[error("`url` of the endpoint: {why}")]
    Url {
        /// The reason why it is wrong.
        why: String,
    },
    /// A placeholder that would choose the host.
    #[error("`url` of the endpoint has `{placeholder}` before its path; write scheme, host and port out")]
    PlaceholderInHost {
        /// The placeholder.
        placeholder: Placeholder,
    },
    /// A header that cannot be sent.
    #[error("`{place}` of the endpoint cannot be sent: {why}")]
    Header {
        /// The header, as in `headers.X-Token`.
        place: String,
        /// The reason why it is wrong.
        why: String,
    },
}

/// A template that could not be filled; nothing was sent. Shows names, never values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{placeholder}` at `{place}` of the endpoint: {reason}")]
pub struct FillError {
    pub(super) place: String,
    pub(super) placeholder: Placeholder,
    pub(super) reason: FillReason,
}

impl FillError {
    /// The place in the endpoint, such as `body.customer.tags[0]`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The placeholder.
    pub fn placeholder(&self) -> &Placeholder {
        &self.placeholder
    }

    /// Why it could not be filled.
    pub fn reason(&self) -> &FillReason {
        &self.reason
    }
}

/// Why a placeholder could not be filled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FillReason {
    /// There is no value of that name.
    #[error("{} of that name; {}", nothing(*.wanted_from), there_is(.known))]
    Unfilled {
        /// The source in which it was looked for.
        wanted_from: Source,
        /// The names there are.
        known: Vec<String>,
    },
    /// Null inside a longer text.
    #[error(
        "its value is null, which has no text; give it a value or let the placeholder be the whole string of the body"
    )]
    Null,
    /// A value that a header cannot hold.
    #[error("its value holds a line break or another control character, which no header can hold")]
    HeaderValue,
    /// A value that would make a segment of the path empty, `.` or `..`.
    #[error("its value would change the path: the segment would be empty, `.` or `..`")]
    PathSegment,
}

fn nothing(source: Source) -> &'static str {
    match source {
        Source::Argument => "the call has no argument",
        Source::Context => "the context has nothing",
    }
}

fn there_is(known: &[String]) -> String {
    if known.is_empty() {
        "there is none at all".to_owned()
    } else {
        format!("there is {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
    }
}
