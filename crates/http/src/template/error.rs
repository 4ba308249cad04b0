//! The errors of parsing and of filling a template.

use super::text::{Placeholder, Source};
use thiserror::Error;

/// Why an endpoint is not a valid template. Each message names the field of the endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A field is missing or has the wrong type.
    #[error("`{place}` of the endpoint must be {wanted}")]
    Type {
        /// The field, such as `headers.X-Token`.
        place: String,
        /// The required type.
        wanted: &'static str,
    },
    /// A field that endpoints do not have.
    #[error("an endpoint has no field `{name}`; it has `url`, `method`, `headers` and `body`")]
    UnknownField {
        /// The name of the field.
        name: String,
    },
    /// The method is unknown or not supported.
    #[error("`method` of the endpoint is `{method}`; write `GET`, `POST`, `PUT`, `PATCH` or `DELETE`")]
    Method {
        /// The method as written.
        method: String,
    },
    /// The URL cannot be called.
    #[error("`url` of the endpoint: {why}")]
    Url {
        /// Why the URL is invalid.
        why: String,
    },
    /// A placeholder in the scheme, host or port.
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
        /// Why the header is invalid.
        why: String,
    },
}

/// Why a template could not be filled; no request was sent. Contains names, never values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{placeholder}` at `{place}` of the endpoint: {reason}")]
pub struct FillError {
    pub(super) place: String,
    pub(super) placeholder: Placeholder,
    pub(super) reason: FillReason,
}

impl FillError {
    /// Returns the field of the endpoint, such as `body.customer.tags[0]`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the placeholder.
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
#[non_exhaustive]
pub enum FillReason {
    /// There is no value with this name.
    #[error("{} of that name; {}", nothing(*.wanted_from), there_is(.known))]
    Unfilled {
        /// The source that was searched.
        wanted_from: Source,
        /// The names that have a value.
        known: Vec<String>,
    },
    /// The value is null inside a longer text.
    #[error(
        "its value is null, which has no text; give it a value or let the placeholder be the whole string of the body"
    )]
    Null,
    /// The value cannot be part of a header.
    #[error("its value holds a line break or another control character, which no header can hold")]
    HeaderValue,
    /// The value would make a path segment empty, `.` or `..`.
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
        "no names are known".to_owned()
    } else {
        format!(
            "the known names are {}",
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        )
    }
}
