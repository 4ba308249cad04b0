//! Handlers, the program's functions that a router calls: the requests that they receive and the
//! results that they may return.

use rulec_base::json::DecimalPaths;
use serde::Serialize;
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
    /// The message as the caller passed it, before hooks and the router changed it.
    pub original: Arc<Json>,
    /// The whole message that was decided and routed to this handler.
    pub message: Arc<Json>,
    /// The arguments of the handler call, as the route defines them. A required argument without a
    /// value is null.
    pub args: Arc<Map<String, Json>>,
    /// Paths of the numbers in `args` that are decimals. A conversion of `args` to values of
    /// another language, such as Python, must keep all digits of these numbers. Not part of the
    /// stable API.
    #[doc(hidden)]
    pub exact_args: DecimalPaths,
    /// The constants that the rules give after the route's target, such as `{ type: "listing" }`.
    pub metadata: Arc<Map<String, Json>>,
    /// Name of the selected route, or `default`.
    pub route: String,
    /// Name of the handler that is called.
    pub handler: String,
    /// Number of this call of the handler for the message, from 1; greater than 1 for a retry. The
    /// number is 0 in a request from `Request::default()`.
    pub attempt: u32,
    /// Generation (version number) of the rules that decided.
    pub generation: u64,
}

impl Request {
    /// Returns the field `text` of the message; empty if the message has no such text.
    pub fn text(&self) -> &str {
        self.message.get("text").and_then(Json::as_str).unwrap_or_default()
    }

    /// Returns the field `ctx` of the message; null if the message has no such field.
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

/// A type that a handler can return: `serde_json::Value`, a [`Reply`] of any `Serialize`, or a
/// `Result` of any `Serialize` with any error.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "not a reply",
    note = "return `Reply(value)` for a value that serializes, or a `Result<T, E>`, or a `serde_json::Value`"
)]
pub trait HandlerResult {
    /// Converts the handler's return value to a reply or an error.
    ///
    /// # Errors
    /// The handler's own error, or the error of a value that JSON cannot represent.
    fn into_result(self) -> Result<Json, HandlerError>;
}

/// The reply of a handler that cannot fail: any value that serializes. A handler that can fail
/// returns a `Result<T, E>` without this wrapper.
///
/// ```
/// use rulec_runtime::route::{Reply, Request};
///
/// #[derive(serde::Serialize)]
/// struct Listing {
///     files: Vec<String>,
/// }
///
/// async fn list_files(request: Request) -> Reply<Listing> {
///     Reply(Listing { files: vec![request.text().to_owned()] })
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply<T>(pub T);

impl HandlerResult for Json {
    fn into_result(self) -> Result<Json, HandlerError> {
        Ok(self)
    }
}

impl<T: Serialize> HandlerResult for Reply<T> {
    fn into_result(self) -> Result<Json, HandlerError> {
        Ok(serde_json::to_value(self.0)?)
    }
}

impl<T: Serialize, E: Into<HandlerError>> HandlerResult for Result<T, E> {
    fn into_result(self) -> Result<Json, HandlerError> {
        Ok(serde_json::to_value(self.map_err(Into::into)?)?)
    }
}
