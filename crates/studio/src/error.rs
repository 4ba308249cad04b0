//! The error type of the studio's request handlers. It holds the HTTP response to a refused
//! request.

use crate::api::Refusal;
use crate::language::localized;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rulec::Message;

/// The error of a refused request, with the HTTP status and body of the response.
#[derive(Debug)]
pub(crate) struct RequestError {
    pub status: StatusCode,
    pub body: Refusal,
}

/// Result of a request handler: a response, or the error of a refused request.
pub(crate) type Answer<T> = Result<T, RequestError>;

impl RequestError {
    pub fn new(status: StatusCode, kind: &str, message: impl Into<Message>) -> RequestError {
        RequestError { status, body: Refusal { kind: kind.to_owned(), message: localized(&message.into()) } }
    }

    /// Returns the error for a request that names something unknown, such as a file, table or
    /// replay that does not exist.
    pub fn missing(message: impl Into<Message>) -> RequestError {
        RequestError::new(StatusCode::NOT_FOUND, "missing", message)
    }

    /// Returns the error for a request that is invalid or impossible.
    pub fn invalid(message: impl Into<Message>) -> RequestError {
        RequestError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// Returns the error for a request about a file that has changed since the client or a replay
    /// read it.
    pub fn changed_file(message: impl Into<Message>) -> RequestError {
        RequestError::new(StatusCode::CONFLICT, "changed", message)
    }

    /// Returns the error for a request that needs rules which do not compile.
    pub fn rules_with_errors(message: impl Into<Message>) -> RequestError {
        RequestError::new(StatusCode::UNPROCESSABLE_ENTITY, "errors", message)
    }

    /// Returns the error for a request during which the studio or the operating system failed, or
    /// which was cancelled.
    pub fn broken(message: impl Into<Message>) -> RequestError {
        RequestError::new(StatusCode::INTERNAL_SERVER_ERROR, "broken", message)
    }
}

/// Converts an error to a message that is not translated.
pub(crate) fn verbatim_message(error: impl ToString) -> Message {
    Message::verbatim(error.to_string())
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}
