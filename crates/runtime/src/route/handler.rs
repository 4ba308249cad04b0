//! Handlers: the requests that they receive and the results that they may return.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The error of a handler. Any error type or text converts to it.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// The request to a handler: the message, and the decision's route, arguments and metadata.
///
/// A test of a handler can construct a request directly:
/// `Request { message: Arc::new(json!({"text": "hi"})), ..Request::default() }`.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The whole message.
    pub message: Arc<Json>,
    /// The arguments of the handler call, as the route defines them. A required argument without a
    /// value is null.
    pub args: Arc<Map<String, Json>>,
    /// The constant metadata from the route.
    pub metadata: Arc<Map<String, Json>>,
    /// Name of the selected route, or `default`.
    pub route: String,
    /// Name of the handler that is called.
    pub handler: String,
    /// Number of this call of the handler for the message, from 1; greater than 1 for a retry. The
    /// number is 0 in a request from `Request::default()`.
    pub attempt: u32,
    /// Generation of the rules that decided.
    pub generation: u64,
}

impl Request {
    /// Returns the message's `text`; empty if it has none.
    pub fn text(&self) -> &str {
        self.message.get("text").and_then(Json::as_str).unwrap_or_default()
    }

    /// Returns the message's `ctx`; null if it has none.
    pub fn context(&self) -> &Json {
        self.message.get("ctx").unwrap_or(&Json::Null)
    }

    /// Deserializes the arguments into the caller's type.
    ///
    /// # Errors
    /// If the arguments do not fit the type.
    pub fn args_as<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(Json::Object((*self.args).clone()))
    }
}

/// A type that a handler can return: a JSON value, or a `Result` of one with any error type.
pub trait HandlerResult {
    /// Converts the handler's return value to a reply or an error.
    ///
    /// # Errors
    /// The handler's own error.
    fn into_result(self) -> Result<Json, HandlerError>;
}

impl HandlerResult for Json {
    fn into_result(self) -> Result<Json, HandlerError> {
        Ok(self)
    }
}

impl<E: Into<HandlerError>> HandlerResult for Result<Json, E> {
    fn into_result(self) -> Result<Json, HandlerError> {
        self.map_err(Into::into)
    }
}
