//! The router of `rulec-runtime` with Python handlers. The router runs on tokio; a handler runs on
//! the caller's event loop. An exception in a handler becomes an outcome. A handler whose caller no
//! longer waits is cancelled.

use super::callback::{call_permission_function, call_scope_function};
use super::decision::json_text;
use super::error::{RulecError, exception_class, exception_text};
use super::message::{args_to_python, as_dict, mapping_entries, object, tree};
use super::rules::Rules;
use super::shutdown::{start_future, with_gil, without_gil};
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use pyo3_async_runtimes::TaskLocals;
use pythonize::pythonize;
use rulec_runtime::route::{self, DecisionLog, HandlerError, Permissions, TypedError};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

create_exception!(
    rulec,
    RouterError,
    RulecError,
    "A router that cannot be built, or rules that it cannot take."
);

fn router_error(error: impl ToString) -> PyErr {
    RouterError::new_err(error.to_string())
}

fn seconds(seconds: f64) -> PyResult<Duration> {
    let to_error = |error| router_error(format!("{seconds} is no number of seconds: {error}"));
    Duration::try_from_secs_f64(seconds).map_err(to_error)
}

/// The policy for a handler that is slow or fails. Times are in seconds.
#[pyclass(frozen, module = "rulec")]
pub struct Policy(route::Policy);

#[pymethods]
impl Policy {
    #[new]
    #[pyo3(signature = (*, time_limit = None, chain_limit = None, retries = None, circuit = None, fallbacks = None))]
    fn new(
        time_limit: Option<f64>,
        chain_limit: Option<f64>,
        retries: Option<(usize, f64)>,
        circuit: Option<(u32, f64)>,
        fallbacks: Option<Vec<String>>,
    ) -> PyResult<Policy> {
        let mut policy = route::Policy::new();
        if let Some(limit) = time_limit {
            policy = policy.time_limit(seconds(limit)?);
        }
        if let Some(limit) = chain_limit {
            policy = policy.chain_limit(seconds(limit)?);
        }
        if let Some((times, first_pause)) = retries {
            policy = policy.retries(times, seconds(first_pause)?);
        }
        if let Some((failures, open_for)) = circuit {
            policy = policy.circuit(failures, seconds(open_for)?);
        }
        Ok(Policy(fallbacks.into_iter().flatten().fold(policy, route::Policy::fallback)))
    }
}

/// A message that is being routed: the original Python object, and the event loop on which its
/// handlers run.
struct RoutedMessage {
    locals: TaskLocals,
    message: Py<PyAny>,
    /// The exception of the handler that raised most recently; `None` if no handler raised.
    raised: Mutex<Option<Py<PyAny>>>,
}

impl RoutedMessage {
    /// Returns the message as a Python object: the caller's own object, unless a hook or the router
    /// changed the message.
    fn message_object(
        &self,
        py: Python<'_>,
        original: &Arc<Json>,
        message: &Arc<Json>,
    ) -> PyResult<Py<PyAny>> {
        match Arc::ptr_eq(original, message) {
            true => Ok(self.message.clone_ref(py)),
            false => Ok(pythonize(py, message)?.unbind()),
        }
    }
}

/// The messages that are being routed. A message's key is the address of the parsed JSON message
/// that the router passes to handlers.
#[derive(Clone, Default)]
struct RoutedMessages(Arc<Mutex<HashMap<usize, Arc<RoutedMessage>>>>);

impl RoutedMessages {
    fn with_lock<T>(&self, work: impl FnOnce(&mut HashMap<usize, Arc<RoutedMessage>>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn find(&self, message: &Arc<Json>) -> Option<Arc<RoutedMessage>> {
        self.with_lock(|calls| calls.get(&address(message)).cloned())
    }
}

fn address(message: &Arc<Json>) -> usize {
    Arc::as_ptr(message) as usize
}

/// Removes a message from [`RoutedMessages`] when it is dropped, even if the caller has stopped
/// waiting.
struct RoutingGuard {
    calls: RoutedMessages,
    /// The parsed JSON message. Kept alive because its address is the key of the message.
    message: Arc<Json>,
}

impl Drop for RoutingGuard {
    fn drop(&mut self) {
        let call = self.calls.with_lock(|calls| calls.remove(&address(&self.message)));
        drop(call);
    }
}

/// Cancels a Python task when the future that awaits it is dropped.
struct CancelOnDrop {
    call: Option<Py<PyAny>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        // If the interpreter or the loop has ended, the task has ended too.
        Python::try_attach(|py| {
            if let Err(error) = call.call_method0(py, "cancel")
                && !error.is_instance_of::<pyo3::exceptions::PyRuntimeError>(py)
            {
                error.write_unraisable(py, Some(call.bind(py)));
            }
        });
    }
}

/// Calls a Python function on the event loop of the message's caller. `argument` builds the only
/// argument of the function. If the function raises, the class name of the exception becomes the
/// type of the error.
async fn call_python(
    function: Arc<Py<PyAny>>,
    call: Arc<RoutedMessage>,
    argument: impl for<'py> FnOnce(Python<'py>, &RoutedMessage) -> PyResult<Bound<'py, PyAny>>,
) -> Result<Json, HandlerError> {
    let started = with_gil(|py| -> PyResult<_> {
        let argument = argument(py, &call)?;
        let python_call = py.import("rulec._call")?.getattr("Call")?;
        let python_call = python_call.call1((call.locals.event_loop(py), function.bind(py), argument))?;
        let awaitable = python_call.call_method0("run")?;
        Ok((python_call.unbind(), pyo3_async_runtimes::into_future_with_locals(&call.locals, awaitable)?))
    });
    let result = match started {
        Ok((python_call, future)) => {
            let mut cancel = CancelOnDrop { call: Some(python_call) };
            let result = future.await;
            cancel.call = None;
            result
        }
        Err(error) => Err(error),
    };
    with_gil(|py| {
        let reply = result.and_then(|reply| tree(reply.bind(py), "the reply"));
        reply.map_err(|error| {
            let (text, class) = (exception_text(py, &error), exception_class(py, &error));
            *call.raised.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(error.into_value(py).into_any());
            TypedError::new(class, text).into()
        })
    })
}

/// Calls a Python handler with its request, and returns its reply.
async fn call_handler(
    function: Arc<Py<PyAny>>,
    calls: RoutedMessages,
    request: route::Request,
) -> Result<Json, HandlerError> {
    let call = calls.find(&request.original).ok_or("the message has gone")?;
    call_python(function, call, |py, call| {
        let message = call.message_object(py, &request.original, &request.message)?;
        Ok(Bound::new(py, Request { message, request })?.into_any())
    })
    .await
}

/// Calls a Python hook with a message before the message is decided, and returns the hook's result.
async fn call_before(
    function: Arc<Py<PyAny>>,
    calls: RoutedMessages,
    message: Arc<Json>,
) -> Result<Json, HandlerError> {
    let call = calls.find(&message).ok_or("the message has gone")?;
    call_python(function, call, |py, call| Ok(call.message.clone_ref(py).into_bound(py))).await
}

/// Calls a Python hook with the message and its outcome, and returns the hook's result.
async fn call_after(
    function: Arc<Py<PyAny>>,
    calls: RoutedMessages,
    finished: route::Finished,
) -> Result<Json, HandlerError> {
    let call = calls.find(&finished.original).ok_or("the message has gone")?;
    call_python(function, call, |py, call| {
        let message = call.message_object(py, &finished.original, &finished.message)?;
        let raised = call.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let raised = raised.as_ref().map(|raised| raised.clone_ref(py));
        let outcome = finished.outcome.as_ref().clone();
        let raised = raised.filter(|_| outcome.reply().is_none());
        let python_finished = Finished { message, outcome: Py::new(py, Outcome { outcome, raised })? };
        Ok(Bound::new(py, python_finished)?.into_any())
    })
    .await
}

/// The request that a handler receives.
#[pyclass(frozen, module = "rulec")]
pub struct Request {
    message: Py<PyAny>,
    request: route::Request,
}

#[pymethods]
impl Request {
    /// The Python object that the caller passed to the router, or a changed copy.
    #[getter]
    fn message(&self, py: Python<'_>) -> Py<PyAny> {
        self.message.clone_ref(py)
    }

    /// The message's `text`; empty if there is none.
    #[getter]
    fn text(&self) -> &str {
        self.request.text()
    }

    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        args_to_python(py, &self.request.args, &self.request.exact_args)
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize::<Map<String, Json>>(py, &self.request.metadata)?)
    }

    #[getter]
    fn route(&self) -> &str {
        &self.request.route
    }

    #[getter]
    fn handler(&self) -> &str {
        &self.request.handler
    }

    #[getter]
    fn attempt(&self) -> u32 {
        self.request.attempt
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.request.generation
    }
}

/// The result of routing a message to a handler.
#[pyclass(frozen, module = "rulec")]
pub struct Outcome {
    outcome: route::Outcome,
    raised: Option<Py<PyAny>>,
}

#[pymethods]
impl Outcome {
    /// How the message ended: `handled`, `failed`, `timed_out`, `refused`, `circuit_open`,
    /// `invalid` or `no_route`.
    #[getter]
    fn kind(&self) -> &str {
        self.outcome.result.kind()
    }

    #[getter]
    fn route(&self) -> Option<&str> {
        self.outcome.route.as_deref()
    }

    #[getter]
    fn handler(&self) -> Option<&str> {
        self.outcome.handler.as_deref()
    }

    #[getter]
    fn reply<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.outcome.reply().map(|reply| pythonize(py, reply)).transpose()?)
    }

    /// The failure as text; None if the message was handled.
    #[getter]
    fn error(&self) -> Option<String> {
        self.outcome.reply().is_none().then(|| self.outcome.result.to_string())
    }

    /// The exception that the handler raised; None if the message was handled or no handler raised.
    #[getter]
    fn exception(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.raised.as_ref().map(|raised| raised.clone_ref(py))
    }

    #[getter]
    fn fallback(&self) -> Option<&str> {
        self.outcome.fallback.as_deref()
    }

    #[getter]
    fn attempts(&self) -> u32 {
        self.outcome.attempts
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.outcome.generation
    }

    fn to_json(&self) -> PyResult<String> {
        json_text(&self.outcome)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.outcome)?)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Outcome {}>", self.to_json()?))
    }
}

/// A message with its outcome, which a hook after the handler receives.
#[pyclass(frozen, module = "rulec")]
pub struct Finished {
    #[pyo3(get)]
    message: Py<PyAny>,
    #[pyo3(get)]
    outcome: Py<Outcome>,
}

/// Router that decides messages and awaits their handlers.
#[pyclass(frozen, module = "rulec")]
pub struct Router {
    router: route::Router,
    calls: RoutedMessages,
}

#[pymethods]
impl Router {
    #[new]
    #[pyo3(signature = (rules, handlers, *, entry = None, policies = None, permissions = None, log = None,
        log_analysis = false, before = None, after = None, error_scope = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        rules: &Bound<'_, Rules>,
        handlers: &Bound<'_, PyMapping>,
        entry: Option<String>,
        policies: Option<&Bound<'_, PyMapping>>,
        permissions: Option<Py<PyAny>>,
        log: Option<PathBuf>,
        log_analysis: bool,
        before: Option<Py<PyAny>>,
        after: Option<Py<PyAny>>,
        error_scope: Option<Py<PyAny>>,
    ) -> PyResult<Router> {
        let calls = RoutedMessages::default();
        let mut builder = route::Router::builder(rules.get().rules.clone());
        for (name, function) in mapping_entries(Some(handlers))? {
            let (function, calls) = (Arc::new(function.unbind()), calls.clone());
            let handler = move |request| call_handler(function.clone(), calls.clone(), request);
            builder = builder.handler(name, handler);
        }
        for (name, policy) in mapping_entries(policies)? {
            builder = builder.policy(name, policy.cast::<Policy>()?.get().0.clone());
        }
        if let Some(entry) = entry {
            builder = builder.entry(entry);
        }
        if let Some(function) = permissions {
            builder = builder.permissions(move |message| call_permission_function(&function, message));
        }
        if let Some(path) = log {
            builder = builder.log(DecisionLog::builder().analysis(log_analysis).to_file(path)?);
        }
        if let Some(function) = before.map(Arc::new) {
            let calls = calls.clone();
            builder = builder.before(move |message| call_before(function.clone(), calls.clone(), message));
        }
        if let Some(function) = after.map(Arc::new) {
            let calls = calls.clone();
            builder = builder.after(move |finished| call_after(function.clone(), calls.clone(), finished));
        }
        if let Some(function) = error_scope {
            builder = builder.error_scope(move |message| call_scope_function(&function, message));
        }
        let router = without_gil(rules.py(), || builder.build()).map_err(router_error)?;
        Ok(Router { router, calls })
    }

    /// Decides a message and awaits the chosen handler; `permissions` are the sender's permissions.
    #[pyo3(signature = (message, *, permissions = None))]
    fn route<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        permissions: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = message.py();
        let locals = TaskLocals::with_running_loop(py)?.copy_context(py)?;
        let message_json = Arc::new(object(&as_dict(message)?, &self.router.rules().decimal_paths())?);
        let call =
            Arc::new(RoutedMessage { locals, message: message.clone().unbind(), raised: Mutex::default() });
        self.calls.with_lock(|calls| calls.insert(address(&message_json), call.clone()));
        let guard = RoutingGuard { calls: self.calls.clone(), message: message_json.clone() };
        let (router, permissions) = (self.router.clone(), permissions.map(Permissions::from_iter));
        start_future(py, async move {
            let _guard = guard;
            let outcome = match &permissions {
                Some(permissions) => router.route_as(message_json, permissions).await,
                None => router.route(message_json).await,
            };
            let exception = call.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(Outcome { raised: exception.filter(|_| outcome.reply().is_none()), outcome })
        })
    }

    /// Replaces the rules, and returns the generation number of the new rules.
    fn swap(&self, py: Python<'_>, rules: &Bound<'_, Rules>) -> PyResult<u64> {
        let rules = rules.get().rules.clone();
        let swapped = without_gil(py, || self.router.swap(rules)).map_err(router_error)?;
        Ok(swapped.generation)
    }

    /// Warnings about the current rules.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.router.warnings().iter().map(ToString::to_string).collect()
    }

    /// Returns counts and latencies of routes and handlers.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.router.stats())?)
    }

    /// Waits until all lines of the decision log are written, then closes the log.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let router = self.router.clone();
        start_future(py, async move {
            if let Some(log) = router.log() {
                log.close().await;
            }
            Ok(())
        })
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.router)
    }
}
