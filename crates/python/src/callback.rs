//! Calls of Python functions from tokio tasks. An async function runs on the event loop of the
//! caller that waits for its result. Two kinds of functions only read a message, and run on the
//! calling thread. One kind returns the permissions of the message's sender. The other kind returns
//! the scope of the message, in which handler errors are counted.

use super::error::{RouterError, exception_class, exception_text};
use super::held_function::HeldFunction;
use super::names::Names;
use super::shutdown::with_gil;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3_async_runtimes::TaskLocals;
use pythonize::pythonize;
use rulec_runtime::route::{Permissions, TypedError};
use serde_json::Value as Json;
use std::sync::{Arc, Mutex, PoisonError};

/// Cancels a Python task when the future that awaits it is dropped.
struct CancelOnDrop {
    pending_call: Option<Py<PyAny>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(call) = self.pending_call.take() else { return };
        // The call can fail only if the interpreter or the event loop has ended. The task has then
        // ended too.
        Python::try_attach(|py| {
            if let Err(error) = call.call_method0(py, "cancel")
                && !error.is_instance_of::<PyRuntimeError>(py)
            {
                error.write_unraisable(py, Some(call.bind(py)));
            }
        });
    }
}

/// Calls a Python function on an event loop, and awaits the result if it is awaitable. `argument`
/// builds the only argument of the function. If the future is dropped, the call is cancelled.
pub async fn call_on_loop(
    locals: &TaskLocals,
    function: &Py<PyAny>,
    argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (call, future) = with_gil(|py| -> PyResult<_> {
        let argument = argument(py)?;
        let call = py.import("rulec._call")?.getattr("Call")?;
        let call = call.call1((locals.event_loop(py), function.bind(py), argument))?;
        let awaitable = call.call_method0("run")?;
        Ok((call.unbind(), pyo3_async_runtimes::into_future_with_locals(locals, awaitable)?))
    })?;
    let mut cancel = CancelOnDrop { pending_call: Some(call) };
    let result = future.await;
    cancel.pending_call = None;
    result
}

/// Converts an exception of a Python function to an error of the runtime. The name of the
/// exception's class becomes the type of the error.
pub fn to_typed_error(py: Python<'_>, error: &PyErr) -> TypedError {
    TypedError::new(exception_class(py, error), exception_text(py, error))
}

/// The event loop of the last caller of a long-lived object, such as a coordinator. The Python
/// functions of the object run on this loop.
#[derive(Clone, Default)]
pub struct CallerLoop(Arc<Mutex<Option<TaskLocals>>>);

impl CallerLoop {
    /// Stores the running event loop of the calling thread.
    pub fn store_running_loop(&self, py: Python<'_>) -> PyResult<()> {
        let locals = TaskLocals::with_running_loop(py)?.copy_context(py)?;
        let former = self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(locals);
        // Dropped without the lock, because a finalizer in Python may release the GIL.
        drop(former);
        Ok(())
    }

    /// Calls a Python function on the stored event loop; see [`call_on_loop`].
    pub async fn call(
        &self,
        function: &Py<PyAny>,
        argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let locals = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let locals = locals.ok_or_else(|| PyRuntimeError::new_err("no running event loop"))?;
        call_on_loop(&locals, function, argument).await
    }
}

/// True if a call of the function must be awaited: an `async def`, or an object with an `async def`
/// `__call__`.
pub fn is_async_function(function: &Bound<'_, PyAny>) -> PyResult<bool> {
    let inspect = function.py().import(intern!(function.py(), "inspect"))?;
    let is_async = |function: &Bound<'_, PyAny>| {
        inspect.call_method1(intern!(function.py(), "iscoroutinefunction"), (function,))?.is_truthy()
    };
    Ok(is_async(function)? || is_async(&function.getattr(intern!(function.py(), "__call__"))?)?)
}

/// Fails if a function that the router calls while it decides is no function, or must be awaited.
pub fn check_plain_function(argument: &str, function: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(function) = function else { return Ok(()) };
    if !function.is_callable() {
        let found = function.get_type();
        return Err(RouterError::new_err(format!("`{argument}` is no function, but a {found}")));
    }
    if is_async_function(function)? {
        let help = "the router calls it while it decides, and awaits nothing: give a plain function";
        return Err(RouterError::new_err(format!("`{argument}` is an async function; {help}")));
    }
    Ok(())
}

fn call_with_message(py: Python<'_>, function: &HeldFunction, message: &Json) -> PyResult<Py<PyAny>> {
    function.get(py)?.call1(py, (pythonize(py, message)?,))
}

/// Returns the permissions that a Python function grants to a message's sender. If the function
/// raises, no permission is granted, and `sys.unraisablehook` receives the exception.
pub fn call_permission_function(function: &HeldFunction, message: &Json) -> Permissions {
    with_gil(|py| {
        let names = call_with_message(py, function, message);
        match names.and_then(|names| names.extract::<Names>(py)) {
            Ok(names) => names.0.into_iter().collect(),
            Err(error) => {
                function.write_unraisable(py, error);
                Permissions::none()
            }
        }
    })
}

/// Returns the scope of a message, for example its conversation. Handler errors are counted by
/// scope. If the function raises, the scope is the empty text, and `sys.unraisablehook` receives
/// the exception.
pub fn call_scope_function(function: &HeldFunction, message: &Json) -> String {
    with_gil(|py| {
        let scope = call_with_message(py, function, message)
            .and_then(|scope| scope.bind(py).str().map(|text| text.to_string()));
        scope.unwrap_or_else(|error| {
            function.write_unraisable(py, error);
            String::new()
        })
    })
}
