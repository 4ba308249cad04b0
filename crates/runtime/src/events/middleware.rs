//! Middleware: it stands between publishing and delivering.

use std::fmt;
use std::time::Duration;

/// Whatever went wrong in a middleware: any error converts, and so does a text.
pub type MiddlewareError = Box<dyn std::error::Error + Send + Sync>;

/// The answer of a middleware about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow<E> {
    /// It goes on, as it came or changed.
    Pass(E),
    /// It goes no further, for this reason.
    Stop(String),
}

/// A type that a middleware can return: a [`Flow`], or a `Result` of one with an error of any type.
pub trait MiddlewareResult<E> {
    /// The flow, or what went wrong.
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

/// The middleware that stopped an event, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Its name.
    pub middleware: String,
    /// Why.
    pub reason: StopReason,
}

/// Why an event went no further.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The middleware said so, for this reason.
    Stopped(String),
    /// The middleware returned this error.
    Failed(String),
    /// The middleware took longer than this.
    TimedOut(Duration),
    /// The middleware panicked, saying this.
    Panicked(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.middleware;
        match &self.reason {
            StopReason::Stopped(why) => write!(f, "`{name}` stopped the event: {why}"),
            StopReason::Failed(error) => write!(f, "`{name}` failed: {error}"),
            StopReason::TimedOut(after) => write!(f, "`{name}` was stopped after {after:?}"),
            StopReason::Panicked(message) => write!(f, "`{name}` panicked: {message}"),
        }
    }
}
