//! Handlers: their requests, and what they may return.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// Whatever went wrong in a handler: any error converts, and so does a text.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// The request to a handler: the message, and what the decision says beside the handler's name.
///
/// A test of a handler makes one by hand:
/// `Request { message: Arc::new(json!({"text": "hi"})), ..Request::default() }`.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The whole message.
    pub message: Arc<Json>,
    /// The arguments the route gives; a required one that was missing is null.
    pub args: Arc<Map<String, Json>>,
    /// The constants the route gives.
    pub metadata: Arc<Map<String, Json>>,
    /// The chosen route's name, or `default`.
    pub route: String,
    /// The handler's name.
    pub handler: String,
    /// The number of this call for the message, from 1: greater when the handler is retried. 0 in a request made by
    /// hand.
    pub attempt: u32,
    /// The generation of the rules that decided.
    pub generation: u64,
}

impl Request {
    /// The message's `text`; empty when there is none.
    pub fn text(&self) -> &str {
        self.message.get("text").and_then(Json::as_str).unwrap_or_default()
    }

    /// The message's `ctx`; null when there is none.
    pub fn context(&self) -> &Json {
        self.message.get("ctx").unwrap_or(&Json::Null)
    }

    /// The arguments as a type of the program's own.
    ///
    /// # Errors
    /// When they do not fit the type.
    pub fn args_as<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(Json::Object((*self.args).clone()))
    }
}

/// A type that a handler can return: a JSON value, or a `Result` of one with an error of any type.
pub trait HandlerResult {
    /// The reply, or what went wrong.
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
