//! Requests that are not served, and what the page is told.

use crate::api::Refusal;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// A request that is not served.
#[derive(Debug)]
pub(crate) struct Refused {
    pub status: StatusCode,
    pub body: Refusal,
}

/// The answer of a request.
pub(crate) type Answer<T> = Result<T, Refused>;

impl Refused {
    pub fn new(status: StatusCode, kind: &str, message: impl ToString) -> Refused {
        Refused { status, body: Refusal { kind: kind.to_owned(), message: message.to_string() } }
    }

    /// There is no such thing.
    pub fn missing(message: impl ToString) -> Refused {
        Refused::new(StatusCode::NOT_FOUND, "missing", message)
    }

    /// The request asks for what cannot be.
    pub fn invalid(message: impl ToString) -> Refused {
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// A file has changed since it was read.
    pub fn changed(message: impl ToString) -> Refused {
        Refused::new(StatusCode::CONFLICT, "changed", message)
    }

    /// The rules do not compile.
    pub fn errors(message: impl ToString) -> Refused {
        Refused::new(StatusCode::UNPROCESSABLE_ENTITY, "errors", message)
    }

    /// A mistake of the studio itself, or of the machine.
    pub fn broken(message: impl ToString) -> Refused {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "broken", message)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}
