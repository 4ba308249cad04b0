//! Requests that are not served, and what the page is told.

use crate::api::Refusal;
use crate::language::words;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rulec::Message;

/// A request that is not served.
#[derive(Debug)]
pub(crate) struct Refused {
    pub status: StatusCode,
    pub body: Refusal,
}

/// The answer of a request.
pub(crate) type Answer<T> = Result<T, Refused>;

impl Refused {
    pub fn new(status: StatusCode, kind: &str, message: impl Into<Message>) -> Refused {
        Refused { status, body: Refusal { kind: kind.to_owned(), message: words(&message.into()) } }
    }

    /// There is no such thing.
    pub fn missing(message: impl Into<Message>) -> Refused {
        Refused::new(StatusCode::NOT_FOUND, "missing", message)
    }

    /// The request asks for what cannot be.
    pub fn invalid(message: impl Into<Message>) -> Refused {
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// A file has changed since it was read.
    pub fn changed(message: impl Into<Message>) -> Refused {
        Refused::new(StatusCode::CONFLICT, "changed", message)
    }

    /// The rules do not compile.
    pub fn errors(message: impl Into<Message>) -> Refused {
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "errors", message)
    }

    /// A mistake of the studio itself, or of the machine.
    pub fn broken(message: impl Into<Message>) -> Refused {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "broken", message)
    }
}

/// An error in the words that it has, which are the same in every language.
pub(crate) fn as_it_is(error: impl ToString) -> Message {
    Message::verbatim(error.to_string())
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}
