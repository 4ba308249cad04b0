//! Python class for a message that a router has decided, and whose handler the caller awaits.

use super::callback::to_typed_error;
use super::outcome::{Outcome, Request};
use pyo3::prelude::*;
use rulec_runtime::route::StartedRoute;
use serde_json::Value as Json;
use std::sync::{Mutex, PoisonError};

/// A message whose handler the caller of `route` awaits; for the package itself.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"})
/// ...     started = router._begin({}, None)
/// ...     return started.finish(started.start()).reply
/// >>> asyncio.run(main())
/// 'hi'
#[pyclass(frozen, module = "rulec")]
pub struct Started {
    /// The state of the message in the router; `None` after `finish`, `fail` or `cancel`.
    started: Mutex<Option<StartedRoute>>,
    handler: Py<PyAny>,
    request: Py<Request>,
}

impl Started {
    /// Creates the object for a message that a router has decided, with the Python handler and its
    /// argument.
    pub fn new(started: StartedRoute, handler: Py<PyAny>, request: Py<Request>) -> Started {
        Started { started: Mutex::new(Some(started)), handler, request }
    }

    fn take_started(&self) -> Option<StartedRoute> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Started {
    /// Calls the handler. The result may be awaitable.
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.handler.bind(py).call1((&self.request,))
    }

    /// Returns the outcome of the message, with the handler's reply. None after an earlier call of
    /// `finish`, `fail` or `cancel`.
    fn finish(&self, reply: Py<PyAny>) -> Option<Outcome> {
        let outcome = self.take_started()?.finish(Ok(Json::Null));
        Some(Outcome::new(outcome, Some(reply), None))
    }

    /// Returns the outcome of the message, with the exception that the handler raised. None after
    /// an earlier call of `finish`, `fail` or `cancel`.
    fn fail(&self, exception: &Bound<'_, PyAny>) -> Option<Outcome> {
        let error = to_typed_error(exception.py(), &PyErr::from_value(exception.clone()));
        let outcome = self.take_started()?.finish(Err(error.into()));
        Some(Outcome::new(outcome, None, Some(exception.clone().unbind())))
    }

    /// Counts the message as cancelled, because the caller stopped waiting for the handler.
    fn cancel(&self) {
        drop(self.take_started());
    }
}
