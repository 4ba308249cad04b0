//! Python classes for the outcomes that a router returns, and for the values that it passes to
//! handlers and hooks. A hook is a function that is called before or after a handler.

use super::decision::json_text;
use super::message::{args_to_python, python_to_json};
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec_runtime::route::{self, HandlerOutcome};
use serde_json::{Map, Value as Json};

/// The argument of a handler: the message, and the decision about it.
///
/// >>> import asyncio
/// >>> def many(request):
/// ...     return request.route, request.args
/// >>> async def main():
/// ...     router = Router(Rules.from_text("route big when n > 9 -> many(n: n)"), {"many": many})
/// ...     return (await router.route({"n": 12})).reply
/// >>> asyncio.run(main())
/// ('big', {'n': 12})
#[pyclass(frozen, module = "rulec")]
pub struct Request {
    pub message: Py<PyAny>,
    pub request: route::Request,
}

#[pymethods]
impl Request {
    /// The Python object that the caller passed to the router, or a copy that a hook has changed.
    #[getter]
    fn message(&self, py: Python<'_>) -> Py<PyAny> {
        self.message.clone_ref(py)
    }

    fn __repr__(&self) -> String {
        let route::Request { route, handler, attempt, .. } = &self.request;
        format!("<Request of {route} for {handler}, attempt {attempt}>")
    }

    /// The field `text` of the message; empty if the message has no such text.
    #[getter]
    fn text(&self) -> &str {
        self.request.text()
    }

    /// The arguments that the rules give to the handler, by name.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        args_to_python(py, &self.request.args, &self.request.exact_args)
    }

    /// The metadata that the rules attach to the route.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::<Map<String, Json>>(py, &self.request.metadata)?)
    }

    /// The name of the chosen route.
    #[getter]
    fn route(&self) -> &str {
        &self.request.route
    }

    /// The name of the handler that is called: the target of the route, or a fallback.
    #[getter]
    fn handler(&self) -> &str {
        &self.request.handler
    }

    /// The number of this attempt to call the handler, from 1.
    #[getter]
    fn attempt(&self) -> u32 {
        self.request.attempt
    }

    /// The generation (version number) of the rules that decided.
    #[getter]
    fn generation(&self) -> u64 {
        self.request.generation
    }
}

/// The result of routing a message to a handler: the reply, or the error.
///
/// >>> import asyncio
/// >>> def many(request):
/// ...     raise ConnectionError("no line")
/// >>> async def main():
/// ...     return await Router(Rules.from_text("default -> many"), {"many": many}).route({})
/// >>> outcome = asyncio.run(main())
/// >>> outcome.reply, outcome.error
/// (None, 'the handler of `default` failed: ConnectionError: no line')
#[pyclass(frozen, module = "rulec")]
pub struct Outcome {
    outcome: route::Outcome,
    /// The object that the handler returned, or that a hook returned instead. The field `outcome`
    /// records only that there is a reply, not the object.
    python_reply: Option<Py<PyAny>>,
    raised_exception: Option<Py<PyAny>>,
}

impl Outcome {
    /// Creates an outcome. `reply` is the last object that a Python handler or hook returned for
    /// the message, and `raised` is the last exception that one raised. If the message was handled,
    /// the outcome stores `reply`, otherwise `raised`.
    pub fn new(outcome: route::Outcome, reply: Option<Py<PyAny>>, raised: Option<Py<PyAny>>) -> Outcome {
        let handled = outcome.reply().is_some();
        Outcome {
            outcome,
            python_reply: reply.filter(|_| handled),
            raised_exception: raised.filter(|_| !handled),
        }
    }

    /// Returns the outcome as a Rust value, with the reply converted to JSON. A reply that cannot
    /// be converted becomes the text of its `repr`.
    fn with_reply(&self, py: Python<'_>) -> PyResult<route::Outcome> {
        let mut outcome = self.outcome.clone();
        if let Some(reply) = &self.python_reply {
            let reply = reply.bind(py);
            let json = python_to_json(reply, "the reply")
                .or_else(|_| reply.repr().map(|text| text.to_string().into()));
            outcome.result = HandlerOutcome::Handled(json?);
        }
        Ok(outcome)
    }
}

#[pymethods]
impl Outcome {
    /// The kind of the outcome: `handled`, `failed`, `timed_out`, `refused`, `circuit_open`,
    /// `invalid` or `no_route`.
    #[getter]
    fn kind(&self) -> &str {
        self.outcome.result.kind()
    }

    /// The name of the chosen route; None if no route was chosen.
    #[getter]
    fn route(&self) -> Option<&str> {
        self.outcome.route.as_deref()
    }

    /// The name of the handler; None if no route was chosen.
    #[getter]
    fn handler(&self) -> Option<&str> {
        self.outcome.handler.as_deref()
    }

    /// The object that the handler returned; None if the message was not handled.
    #[getter]
    fn reply(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.python_reply.as_ref().map(|reply| reply.clone_ref(py))
    }

    /// The failure as text; None if the message was handled.
    #[getter]
    fn error(&self) -> Option<String> {
        self.outcome.reply().is_none().then(|| self.outcome.result.to_string())
    }

    /// The exception that the handler raised; None if the message was handled or no handler raised.
    #[getter]
    fn exception(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.raised_exception.as_ref().map(|raised| raised.clone_ref(py))
    }

    /// The fields of the message that break the declared `input`, as dicts; see
    /// `Decision.breaches`. `hint` names a field that is probably misspelt.
    #[getter]
    fn breaches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.outcome.breaches)?)
    }

    /// The names of required arguments whose values were missing; these arguments are None.
    #[getter]
    fn missing_args(&self) -> &[String] {
        &self.outcome.missing_args
    }

    /// The handlers that did not reply before a fallback was called, as dicts with `handler`,
    /// `attempts`, `result` (as in `kind`) and `error`.
    #[getter]
    fn tried<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.outcome.tried)?)
    }

    /// The time from the arrival of the message until its last handler ended or was given up, in
    /// microseconds. If a handler blocks the event loop, the caller may get the outcome later.
    #[getter]
    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.outcome.elapsed.as_micros()).unwrap_or(u64::MAX)
    }

    /// The name of the fallback that replied in place of the handler; None if none did.
    #[getter]
    fn fallback(&self) -> Option<&str> {
        self.outcome.fallback.as_deref()
    }

    /// The number of calls of handlers, with retries and fallbacks.
    #[getter]
    fn attempts(&self) -> u32 {
        self.outcome.attempts
    }

    /// The generation (version number) of the rules that decided.
    #[getter]
    fn generation(&self) -> u64 {
        self.outcome.generation
    }

    /// Returns the outcome as JSON text. A reply that has no JSON form is written as its `repr`.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        json_text(&self.with_reply(py)?)
    }

    /// Returns the outcome as a dict. A reply that has no JSON form is written as its `repr`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.with_reply(py)?)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Outcome {}>", self.to_json(py)?))
    }
}

/// The argument of the hook `after` of a router: a message and its outcome.
///
/// >>> import asyncio
/// >>> seen = []
/// >>> def after(finished):
/// ...     seen.append((finished.message, finished.outcome.reply))
/// >>> async def main():
/// ...     await Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"}, after=after).route({"n": 1})
/// >>> asyncio.run(main())
/// >>> seen
/// [({'n': 1}, 'hi')]
#[pyclass(frozen, module = "rulec")]
pub struct Finished {
    /// The message, as the caller passed it or a hook changed it.
    #[pyo3(get)]
    pub message: Py<PyAny>,
    /// The outcome of the message.
    #[pyo3(get)]
    pub outcome: Py<Outcome>,
}

#[pymethods]
impl Finished {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Finished {}>", self.outcome.bind(py).repr()?))
    }
}
