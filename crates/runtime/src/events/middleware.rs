//! Middleware of an event bus: functions of the program that may change or stop an event after it
//! is published and before subscribers receive it.

use std::fmt;
use std::time::Duration;

/// The error of a middleware. Any error type or text converts to it.
pub type MiddlewareError = Box<dyn std::error::Error + Send + Sync>;

/// A middleware's decision about an event: pass the event on, or stop it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow<E> {
    /// Passes this event on. The middleware may have changed the event.
    Pass(E),
    /// Stops the event, so that no subscriber receives it; the text is the reason.
    Stop(String),
}

/// A type that a middleware can return: a [`Flow`], or a `Result` of a `Flow` with any error type.
pub trait MiddlewareResult<E> {
    /// Converts the middleware's return value to a [`Flow`] or an error.
    ///
    /// # Errors
    /// The middleware's own error.
    fn into_result(self) -> Result<Flow<E>, MiddlewareError>;
}

impl<E> MiddlewareResult<E> for Flow<E> {
    fn into_result(self) -> Result<Flow<E>, MiddlewareError> {
        Ok(self)
    }
}

impl<E, X: Into<MiddlewareError>> MiddlewareResult<E> for Result<Flow<E>, X> {
    fn into_result(self) -> Result<Flow<E>, MiddlewareError> {
        self.map_err(Into::into)
    }
}

/// Reports that a middleware stopped an event: the name of the middleware, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Name of the middleware that stopped the event.
    pub middleware: String,
    /// The reason why the event was stopped.
    pub reason: StopReason,
}

/// The reason why an event was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The middleware returned [`Flow::Stop`] with this reason.
    Stopped(String),
    /// The middleware returned this error.
    Failed(String),
    /// The middleware exceeded this time limit.
    TimedOut(Duration),
    /// The middleware panicked with this message.
    Panicked(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.middleware;
        match &self.reason {
            StopReason::Stopped(text) => write!(f, "`{name}` stopped the event: {text}"),
            StopReason::Failed(error) => write!(f, "`{name}` failed: {error}"),
            StopReason::TimedOut(limit) => write!(f, "`{name}` was stopped after {limit:?}"),
            StopReason::Panicked(message) => write!(f, "`{name}` panicked: {message}"),
        }
    }
}
