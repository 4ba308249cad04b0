//! Calls the Python functions that a router uses to read a message. One function returns the
//! permissions of the message's sender. The other returns the scope of the message, in which
//! handler errors are counted.

use super::shutdown::with_gil;
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec_runtime::route::Permissions;
use serde_json::Value as Json;

fn call_with_message(py: Python<'_>, function: &Py<PyAny>, message: &Json) -> PyResult<Py<PyAny>> {
    function.call1(py, (pythonize(py, message)?,))
}

/// Returns the permissions that a Python function grants to a message's sender. If the function
/// raises, no permission is granted, and `sys.unraisablehook` receives the exception.
pub fn call_permission_function(function: &Py<PyAny>, message: &Json) -> Permissions {
    with_gil(|py| {
        let names = call_with_message(py, function, message).and_then(|names| {
            names.bind(py).try_iter()?.map(|name| name?.extract()).collect::<PyResult<Vec<String>>>()
        });
        match names {
            Ok(names) => names.into_iter().collect(),
            Err(error) => {
                error.write_unraisable(py, Some(function.bind(py)));
                Permissions::none()
            }
        }
    })
}

/// Returns the scope of a message, such as its conversation, in which handler errors are counted.
/// If the function raises, the scope is the empty text, and `sys.unraisablehook` receives the
/// exception.
pub fn call_scope_function(function: &Py<PyAny>, message: &Json) -> String {
    with_gil(|py| {
        let scope = call_with_message(py, function, message)
            .and_then(|scope| scope.bind(py).str().map(|text| text.to_string()));
        scope.unwrap_or_else(|error| {
            error.write_unraisable(py, Some(function.bind(py)));
            String::new()
        })
    })
}
