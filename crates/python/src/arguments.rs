//! Errors for keyword arguments that a function does not have. Python itself suggests the nearest
//! argument only for functions that are written in Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rulec_base::diag::nearest;

/// Fails if a call has unknown keyword arguments. `function` is the class or function that was
/// called; its signature has the known arguments.
pub fn refuse_unknown_arguments(
    function: &Bound<'_, PyAny>,
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let Some(name) = unknown.and_then(|unknown| unknown.keys().iter().next()) else { return Ok(()) };
    let name: String = name.extract()?;
    let signature: String = function.getattr("__text_signature__")?.extract()?;
    let known: Vec<&str> = signature
        .trim_matches(['(', ')'])
        .split(", ")
        .map(|argument| argument.split('=').next().unwrap_or_default())
        .filter(|argument| !matches!(*argument, "*" | "/"))
        .collect();
    let help = match nearest(&name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", known.join(", ")),
    };
    let function: String = function.getattr("__qualname__")?.extract()?;
    Err(PyTypeError::new_err(format!("`{function}` has no argument `{name}`; {help}")))
}
