//! The router of `rulec-runtime` with Python handlers. If the handler has no policy, such as a time
//! limit, the caller itself awaits the handler. Otherwise the router runs on tokio, and the handler
//! runs on the event loop of the caller. An exception in a handler becomes an outcome. A handler is
//! cancelled when its caller stops waiting.

use super::arguments::refuse_unknown_arguments;
use super::callback::{
    call_on_loop, call_permission_function, call_scope_function, check_plain_function, to_typed_error,
};
use super::error::RouterError;
use super::held_function::{HeldFunction, HeldFunctions};
use super::live::extract_live_rules;
use super::log::extract_decision_log;
use super::message::{as_dict, mapping_entries, python_to_json, python_to_json_object};
use super::names::Names;
use super::outcome::{Finished, Outcome, Request};
use super::policy::Policy;
use super::repr::{count_with_noun, rule_counts_text};
use super::shutdown::{start_future, with_gil, without_gil};
use super::started::Started;
use super::stats::stats_to_python;
use super::watched::WatchedFile;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyMapping};
use pyo3_async_runtimes::TaskLocals;
use pythonize::pythonize;
use rulec_runtime::route::{self, HandlerError, Permissions};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub fn router_error(error: impl ToString) -> PyErr {
    RouterError::new_err(error.to_string())
}

/// The async function `rulec._call.route`, written in Python, which routes a message. It is
/// imported at its first use.
static ROUTE_FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A message that is being routed: the original Python object, and the event loop on which its
/// handlers run.
struct RoutedMessage {
    locals: TaskLocals,
    message: Py<PyAny>,
    last_result: Mutex<LastResult>,
}

/// The last reply that a Python handler or hook returned for a message, and the last exception that
/// one raised; `None` if there is none.
#[derive(Default)]
struct LastResult {
    reply: Option<Py<PyAny>>,
    raised_exception: Option<Py<PyAny>>,
}

impl RoutedMessage {
    fn lock_last_result(&self) -> MutexGuard<'_, LastResult> {
        self.last_result.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the reply of a handler, so that the router returns the same Python object. The
    /// returned JSON is always null: the Rust router needs no copy of the reply.
    fn keep_reply(&self, reply: &Bound<'_, PyAny>) -> PyResult<Json> {
        let former = self.lock_last_result().reply.replace(reply.clone().unbind());
        // Dropped without the lock, because a finalizer in Python may release the GIL.
        drop(former);
        Ok(Json::Null)
    }

    /// Stores the reply of a hook, which replaces the handler's reply, and returns true as JSON. If
    /// the hook replied `None`, keeps the handler's reply and returns null.
    fn replace_reply(&self, reply: &Bound<'_, PyAny>) -> PyResult<Json> {
        if reply.is_none() {
            return Ok(Json::Null);
        }
        self.keep_reply(reply)?;
        // Any JSON value except null reports to the router that the hook has replied.
        Ok(Json::Bool(true))
    }

    /// Adds the stored reply or exception to an outcome.
    fn with_last_result(&self, py: Python<'_>, outcome: route::Outcome) -> Outcome {
        let clone = |object: &Option<Py<PyAny>>| object.as_ref().map(|object| object.clone_ref(py));
        let (reply, raised) = {
            let last = self.lock_last_result();
            (clone(&last.reply), clone(&last.raised_exception))
        };
        Outcome::new(outcome, reply, raised)
    }

    /// Returns a message as a Python object. This is the caller's own object, unless a hook or the
    /// router has changed the message.
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

/// The messages that are being routed. The key of a message is the address of its parsed
/// JSON, which the router passes to handlers.
#[derive(Clone, Default)]
struct RoutedMessages(Arc<Mutex<HashMap<usize, Arc<RoutedMessage>>>>);

impl RoutedMessages {
    fn with_lock<T>(&self, work: impl FnOnce(&mut HashMap<usize, Arc<RoutedMessage>>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// True if no message is being routed. During a garbage collection, the answer changes at most
    /// from false to true: a message is added only by a thread that holds the GIL.
    fn is_idle(&self) -> bool {
        self.0.try_lock().is_ok_and(|calls| calls.is_empty())
    }

    fn find(&self, message: &Arc<Json>) -> Option<Arc<RoutedMessage>> {
        self.with_lock(|calls| calls.get(&message_address(message)).cloned())
    }
}

fn message_address(message: &Arc<Json>) -> usize {
    Arc::as_ptr(message) as usize
}

/// Removes a message from [`RoutedMessages`] when the routing ends, even if the caller has stopped
/// waiting.
struct RoutingGuard {
    routed_messages: RoutedMessages,
    /// The parsed JSON message. Kept alive, because its address is the key.
    message: Arc<Json>,
}

impl Drop for RoutingGuard {
    fn drop(&mut self) {
        let call = self.routed_messages.with_lock(|calls| calls.remove(&message_address(&self.message)));
        drop(call);
    }
}

/// Calls a Python handler or hook on the event loop of the message's caller. `build_argument`
/// builds the only argument of the function. `to_json` stores the returned object if it is a reply,
/// and converts it to JSON. An exception is stored for the outcome, and returned as an error.
async fn call_python(
    function: HeldFunction,
    routed_message: Arc<RoutedMessage>,
    build_argument: impl for<'py> FnOnce(Python<'py>, &RoutedMessage) -> PyResult<Bound<'py, PyAny>>,
    to_json: fn(&RoutedMessage, &Bound<'_, PyAny>) -> PyResult<Json>,
) -> Result<Json, HandlerError> {
    let function = with_gil(|py| function.get(py)).map_err(|error| error.to_string())?;
    let result =
        call_on_loop(&routed_message.locals, &function, |py| build_argument(py, &routed_message)).await;
    with_gil(|py| {
        let json = result.and_then(|reply| to_json(&routed_message, reply.bind(py)));
        json.map_err(|error| {
            let typed = to_typed_error(py, &error);
            let raised = error.into_value(py).into_any();
            let former = routed_message.lock_last_result().raised_exception.replace(raised);
            drop(former);
            typed.into()
        })
    })
}

/// The future that completes with the reply of a Python handler.
type ReplyFuture = Pin<Box<dyn Future<Output = Result<Json, HandlerError>> + Send>>;

/// Returns a handler of the router that calls a Python function.
fn to_handler(
    function: HeldFunction,
    routed_messages: &RoutedMessages,
) -> impl Fn(route::Request) -> ReplyFuture + use<> {
    let calls = routed_messages.clone();
    move |request| Box::pin(call_handler(function.clone(), calls.clone(), request))
}

/// Calls a Python handler with its request, and returns its reply.
async fn call_handler(
    function: HeldFunction,
    routed_messages: RoutedMessages,
    request: route::Request,
) -> Result<Json, HandlerError> {
    let call = routed_messages.find(&request.original).ok_or("the message has gone")?;
    call_python(
        function,
        call,
        |py, call| {
            let message = call.message_object(py, &request.original, &request.message)?;
            Ok(Bound::new(py, Request { message, request })?.into_any())
        },
        RoutedMessage::keep_reply,
    )
    .await
}

/// Calls a Python hook with a message before the message is decided, and returns the hook's result.
async fn call_before_hook(
    function: HeldFunction,
    routed_messages: RoutedMessages,
    message: Arc<Json>,
) -> Result<Json, HandlerError> {
    let call = routed_messages.find(&message).ok_or("the message has gone")?;
    let to_json = |_: &RoutedMessage, changed: &Bound<'_, PyAny>| python_to_json(changed, "the message");
    call_python(function, call, |py, call| Ok(call.message.clone_ref(py).into_bound(py)), to_json).await
}

/// Calls a Python hook with the message and its outcome, and returns the hook's result.
async fn call_after_hook(
    function: HeldFunction,
    routed_messages: RoutedMessages,
    finished: route::Finished,
) -> Result<Json, HandlerError> {
    let call = routed_messages.find(&finished.original).ok_or("the message has gone")?;
    call_python(
        function,
        call,
        |py, call| {
            let message = call.message_object(py, &finished.original, &finished.message)?;
            let outcome = finished.outcome.as_ref().clone();
            let outcome = call.with_last_result(py, outcome);
            let python_finished = Finished { message, outcome: Py::new(py, outcome)? };
            Ok(Bound::new(py, python_finished)?.into_any())
        },
        RoutedMessage::replace_reply,
    )
    .await
}

/// Decides messages, and awaits their handlers on the event loop of the caller.
///
/// `handlers` maps each target of the rules to a function or an async function of a `Request`.
/// `otherwise` handles the targets that have no handler of their own. `entry` names the table,
/// choice or router that decides. `policies` maps names of handlers to policies.
///
/// `permissions` returns the permissions of a message's sender. `log` is a `DecisionLog`, the path
/// of a log file, or a function that receives each line. With `log_analysis`, the lines contain the
/// analysis of each text. `before` may replace a message before it is decided, and `after` the
/// reply. `error_scope` names the group of messages in which failures of handlers are counted.
/// `keep` is the number of earlier rule sets to which `roll_back` can return.
///
/// >>> import asyncio
/// >>> async def chat(request):
/// ...     return f"you wrote {request.text}"
/// >>> async def main():
/// ...     return await Router(Rules.from_text("default -> chat"), {"chat": chat}).route({"text": "hello"})
/// >>> asyncio.run(main()).reply
/// 'you wrote hello'
#[pyclass(frozen, module = "rulec")]
pub struct Router {
    pub router: route::Router,
    routed_messages: RoutedMessages,
    handlers: HashMap<String, HeldFunction>,
    /// The handler of all targets that have no handler of their own.
    otherwise: Option<HeldFunction>,
    /// The handlers and all other functions of the router, such as hooks.
    functions: HeldFunctions,
    pub watched: WatchedFile,
}

impl Router {
    /// Routes a message on the tokio runtime. `run` decides the message and runs its handler.
    fn route_on_tokio<'py, F>(
        &self,
        message: &Bound<'py, PyAny>,
        message_json: Arc<Json>,
        run: impl FnOnce(Arc<Json>) -> F,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        F: Future<Output = route::Outcome> + Send + 'static,
    {
        let py = message.py();
        let locals = TaskLocals::with_running_loop(py)?.copy_context(py)?;
        let call = Arc::new(RoutedMessage {
            locals,
            message: message.clone().unbind(),
            last_result: Mutex::default(),
        });
        self.routed_messages.with_lock(|calls| calls.insert(message_address(&message_json), call.clone()));
        let guard =
            RoutingGuard { routed_messages: self.routed_messages.clone(), message: message_json.clone() };
        let outcome = run(message_json);
        start_future(py, async move {
            let _guard = guard;
            let outcome = outcome.await;
            Ok(with_gil(|py| call.with_last_result(py, outcome)))
        })
    }
}

#[pymethods]
impl Router {
    #[new]
    #[pyo3(signature = (rules, handlers, *, otherwise = None, entry = None, policies = None, permissions = None, log = None,
        log_analysis = false, before = None, after = None, error_scope = None, keep = 1, **unknown),
        text_signature = "(rules, handlers, *, otherwise=None, entry=None, policies=None, permissions=None, log=None, \
            log_analysis=False, before=None, after=None, error_scope=None, keep=1)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        rules: &Bound<'_, PyAny>,
        handlers: &Bound<'_, PyMapping>,
        otherwise: Option<&Bound<'_, PyAny>>,
        entry: Option<String>,
        policies: Option<&Bound<'_, PyMapping>>,
        permissions: Option<&Bound<'_, PyAny>>,
        log: Option<&Bound<'_, PyAny>>,
        log_analysis: bool,
        before: Option<Py<PyAny>>,
        after: Option<Py<PyAny>>,
        error_scope: Option<&Bound<'_, PyAny>>,
        keep: usize,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Router> {
        refuse_unknown_arguments(&rules.py().get_type::<Router>(), unknown)?;
        check_plain_function("permissions", permissions)?;
        check_plain_function("error_scope", error_scope)?;
        let calls = RoutedMessages::default();
        let mut builder = route::Router::builder(extract_live_rules(rules)?).keep(keep);
        let (mut functions, mut handler_functions) = (HeldFunctions::default(), HashMap::new());
        for (name, function) in mapping_entries(Some(handlers))? {
            if !function.is_callable() {
                let found = function.get_type();
                return Err(router_error(format!("the handler `{name}` is no function, but a {found}")));
            }
            let function = functions.hold(function.unbind());
            handler_functions.insert(name.clone(), function.clone());
            builder = builder.handler(name, to_handler(function, &calls));
        }
        let otherwise_function = otherwise.map(|function| functions.hold(function.clone().unbind()));
        if let (Some(function), Some(held)) = (otherwise, &otherwise_function) {
            if !function.is_callable() {
                let found = function.get_type();
                return Err(router_error(format!("`otherwise` is no function, but a {found}")));
            }
            builder = builder.otherwise(to_handler(held.clone(), &calls));
        }
        for (name, policy) in mapping_entries(policies)? {
            let Ok(policy) = policy.cast::<Policy>() else {
                let found = policy.get_type();
                return Err(router_error(format!("the policy of `{name}` is no `Policy`, but a {found}")));
            };
            builder = builder.policy(name, policy.get().0.clone());
        }
        if let Some(entry) = entry {
            builder = builder.entry(entry);
        }
        if let Some(function) = permissions.map(|function| functions.hold(function.clone().unbind())) {
            builder = builder.permissions(move |message| call_permission_function(&function, message));
        }
        if let Some(log) = log {
            builder = builder.log(extract_decision_log(log, log_analysis)?);
        }
        if let Some(function) = before.map(|function| functions.hold(function)) {
            let calls = calls.clone();
            builder =
                builder.before(move |message| call_before_hook(function.clone(), calls.clone(), message));
        }
        if let Some(function) = after.map(|function| functions.hold(function)) {
            let calls = calls.clone();
            builder =
                builder.after(move |finished| call_after_hook(function.clone(), calls.clone(), finished));
        }
        if let Some(function) = error_scope.map(|function| functions.hold(function.clone().unbind())) {
            builder = builder.error_scope(move |message| call_scope_function(&function, message));
        }
        let router = without_gil(rules.py(), || builder.build()).map_err(router_error)?;
        Ok(Router {
            router,
            routed_messages: calls,
            handlers: handler_functions,
            otherwise: otherwise_function,
            functions,
            watched: WatchedFile::default(),
        })
    }

    /// Decides a message and awaits the chosen handler; `permissions` are the sender's permissions.
    #[pyo3(signature = (message, *, permissions = None))]
    fn route<'py>(
        slf: &Bound<'py, Self>,
        message: &Bound<'py, PyAny>,
        permissions: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        ROUTE_FUNCTION.import(slf.py(), "rulec._call", "route")?.call1((slf, message, permissions))
    }

    /// Decides a message. Returns its outcome if there is no handler to call. Otherwise returns a
    /// `Started`, whose handler the caller awaits. If the router must call the handler on tokio,
    /// for example because of a time limit, returns a future of the outcome.
    #[pyo3(name = "_begin")]
    fn begin<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        permissions: Option<Names>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, router) = (message.py(), self.router.clone());
        let permissions = permissions.map(|names| Permissions::from_iter(names.0));
        let message_json =
            Arc::new(python_to_json_object(&as_dict(message)?, &router.rules().decimal_paths())?);
        let started = without_gil(py, || {
            let mut started = router.begin_route(message_json.clone())?;
            let own_call = started.own_call(permissions.as_ref());
            Some((started, own_call))
        });
        let Some((started, own_call)) = started else {
            return self.route_on_tokio(message, message_json, |message| async move {
                match &permissions {
                    Some(permissions) => router.route_as(message, permissions).await,
                    None => router.route(message).await,
                }
            });
        };
        if started.request().is_none() {
            let outcome = started.finish(Ok(Json::Null));
            return Ok(Bound::new(py, Outcome::new(outcome, None, None))?.into_any());
        }
        let handler = own_call.and_then(|request| {
            let own = self.handlers.get(&request.handler);
            Some((own.or(self.otherwise.as_ref())?, request))
        });
        let Some((handler, request)) = handler else {
            return self.route_on_tokio(message, message_json, |_| started.run(permissions));
        };
        let shown = match Arc::ptr_eq(&message_json, &request.message) {
            true => message.clone().unbind(),
            false => pythonize(py, &request.message)?.unbind(),
        };
        let request = Py::new(py, Request { message: shown, request })?;
        let handler = handler.get(py)?;
        Ok(Bound::new(py, Started::new(started, handler, request))?.into_any())
    }

    /// Warnings about the current rules.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.router.warnings().iter().map(ToString::to_string).collect()
    }

    /// Returns counts and latencies of routes and handlers. `latency_bounds_us` has the upper
    /// bounds of the buckets of each latency, in microseconds; the last bucket has none.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        stats_to_python(py, &self.router.stats())
    }

    /// Stops watching the rule file, if the router watches one. Returns a future that waits until
    /// all lines of the decision log are written, and closes the log: `await router.close()`.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let router = self.router.clone();
        self.watched.close();
        start_future(py, async move {
            if let Some(log) = router.log() {
                log.close().await;
            }
            Ok(())
        })
    }

    /// Shows the router's functions to the garbage collector, unless a message is being routed: the
    /// message needs them, even if nothing else refers to the router.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if self.routed_messages.is_idle() { self.functions.traverse(&visit) } else { Ok(()) }
    }

    fn __clear__(&self) {
        self.functions.clear();
    }

    fn __repr__(&self) -> String {
        let (rules, handlers) = (self.router.rules(), count_with_noun(self.handlers.len(), "handler"));
        format!(
            "<Router: {}, generation {}, {handlers}>",
            rule_counts_text(&rules.rules()),
            rules.generation()
        )
    }
}
