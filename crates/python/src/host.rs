//! Python functions that rules call through `extern fn`. An exception is handled like any failure
//! of a host function: the result is missing, and the decision reports the failure.

use super::callback::is_async_function;
use super::error::{exception_text, library_error};
use super::message::{mapping_entries, python_to_json};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};
use pythonize::pythonize;
use rulec::Compiler;
use serde_json::Value as Json;

/// Registers Python functions with the compiler as host functions, which rules can call.
/// `functions` maps the names that rules use to the functions.
pub fn register_functions(
    mut compiler: Compiler,
    functions: Option<&Bound<'_, PyMapping>>,
) -> PyResult<Compiler> {
    for (name, function) in mapping_entries(functions)? {
        if !function.is_callable() {
            return Err(library_error(format!("`{name}` is no function, but a {}", function.get_type())));
        }
        if is_async_function(&function)? {
            let help = "rules await nothing; give a function that is no `async def`, or put its result into the message";
            return Err(library_error(format!("`{name}` is an async function; {help}")));
        }
        let arity = parameter_count(&function);
        let function = function.unbind();
        let call = move |args: &[Json]| {
            Python::attach(|py| {
                call_function(py, &function, args).map_err(|error| exception_text(py, &error))
            })
        };
        compiler = compiler.untyped_function(&name, arity, call);
    }
    Ok(compiler)
}

fn call_function(py: Python<'_>, function: &Py<PyAny>, args: &[Json]) -> PyResult<Json> {
    let args = args.iter().map(|arg| pythonize(py, arg)).collect::<Result<Vec<_>, _>>()?;
    python_to_json(&function.bind(py).call1(PyTuple::new(py, args)?)?, "the result")
}

/// Returns the number of arguments that a function takes; `None` if the number is not fixed.
fn parameter_count(function: &Bound<'_, PyAny>) -> Option<usize> {
    let py = function.py();
    let inspect = py.import(intern!(py, "inspect")).ok()?;
    let signature = inspect.call_method1(intern!(py, "signature"), (function,)).ok()?;
    let class = inspect.getattr(intern!(py, "Parameter")).ok()?;
    let (no_default, mut count) = (class.getattr(intern!(py, "empty")).ok()?, 0);
    for parameter in signature.getattr("parameters").ok()?.call_method0("values").ok()?.try_iter().ok()? {
        let parameter = parameter.ok()?;
        match parameter.getattr("kind").ok()?.extract::<u8>().ok()? {
            // Positional parameters (kinds 0 and 1) without a default value.
            0 | 1 if parameter.getattr("default").ok()?.is(&no_default) => count += 1,
            // A keyword-only parameter does not affect the arity.
            3 => {}
            _ => return None,
        }
    }
    Some(count)
}

/// Checks that the rules declare each function that the program has passed.
pub fn check_functions_declared(
    rules: &rulec::Rules,
    functions: Option<&Bound<'_, PyMapping>>,
) -> PyResult<()> {
    let externs = &rules.program().externs;
    let declared: Vec<&str> = externs
        .iter()
        .filter(|function| function.feature.is_none())
        .map(|function| &*function.name)
        .collect();
    for (name, _) in mapping_entries(functions)? {
        if !declared.contains(&&*name) {
            let known = match &declared[..] {
                [] => "they declare none".to_owned(),
                declared => format!("they declare {}", declared.join(", ")),
            };
            let help = format!("declare it: `extern fn {name}(…) -> …`, or leave it out");
            return Err(library_error(format!(
                "no `extern fn` of the rules names `{name}` ({known}); {help}"
            )));
        }
    }
    Ok(())
}
