//! Python classes for decisions and for their explanations.

use super::error::library_error;
use super::message::args_to_python;
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec::RenderOptions;
use serde::Serialize;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A decision. It stays valid after its rules are dropped or replaced.
#[pyclass(frozen, module = "rulec")]
pub struct Decision(pub rulec::Decision);

/// Serializes a value of the library as JSON text.
pub fn json_text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(library_error)
}

#[pymethods]
impl Decision {
    #[getter]
    fn entry(&self) -> &str {
        self.0.entry()
    }

    #[getter]
    fn chosen(&self) -> Option<&str> {
        self.0.chosen()
    }

    #[getter]
    fn target(&self) -> Option<&str> {
        self.0.target()
    }

    #[getter]
    fn is_default(&self) -> bool {
        self.0.is_default()
    }

    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        args_to_python(py, self.0.args(), &self.0.exact_args())
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.metadata())?)
    }

    #[getter]
    fn requires(&self) -> Vec<&str> {
        self.0.required_permissions().iter().map(|permission| &**permission).collect()
    }

    #[getter]
    fn path(&self) -> Vec<&str> {
        self.0.path()
    }

    #[getter]
    fn branch(&self) -> Option<&str> {
        self.0.branch()
    }

    #[getter]
    fn to_user(&self) -> bool {
        self.0.to_user()
    }

    /// The id of the flow whose pattern matched the message; None if no pattern matched.
    #[getter]
    fn flow(&self) -> Option<&str> {
        self.0.flow().map(|hit| hit.id)
    }

    /// The flow's pattern that matched the message; None if no pattern matched.
    #[getter]
    fn pattern(&self) -> Option<&str> {
        self.0.flow().map(|hit| hit.pattern)
    }

    /// The ids of the next nodes that a router selected; empty for other decisions.
    #[getter]
    fn next(&self) -> Vec<String> {
        self.0.next().map_or_else(Vec::new, |next| next.nodes.to_vec())
    }

    #[getter]
    fn loopback(&self) -> bool {
        self.0.next().is_some_and(|next| next.loopback)
    }

    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation()
    }

    #[getter]
    fn missing_args(&self) -> Vec<&str> {
        self.0.missing_args().collect()
    }

    #[getter]
    fn breaches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.breaches())?)
    }

    #[getter]
    fn exceeded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.exceeded())?)
    }

    /// Host functions that failed, as pairs of the function's name and the exception's text.
    #[getter]
    fn failures(&self) -> Vec<(String, String)> {
        self.0
            .failures()
            .iter()
            .map(|failure| (failure.function.to_string(), failure.message.clone()))
            .collect()
    }

    /// Returns the decision as the JSON text that `rulec run` prints.
    fn to_json(&self) -> PyResult<String> {
        json_text(&self.0)
    }

    /// Returns the decision as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Decision {}>", self.to_json()?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Decision>() {
            Ok(other) => Ok(self.to_json()? == other.get().to_json()?),
            Err(_) => Ok(false),
        }
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.to_json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

/// The explanation of a decision; its `str()` is the output of `rulec why`.
#[pyclass(frozen, module = "rulec")]
pub struct Explanation(pub rulec::Explanation);

#[pymethods]
impl Explanation {
    #[getter]
    fn chosen(&self) -> Option<&str> {
        self.0.chosen.as_deref()
    }

    #[getter]
    fn target(&self) -> Option<&str> {
        self.0.target.as_deref()
    }

    /// Returns a summary of a few sentences.
    fn summary(&self) -> String {
        self.0.summary()
    }

    fn to_json(&self) -> PyResult<String> {
        json_text(&self.0)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    fn __str__(&self) -> String {
        self.0.render(&RenderOptions::default())
    }

    fn __repr__(&self) -> String {
        format!("<Explanation of {}: {}>", self.0.entry, self.0.chosen.as_deref().unwrap_or("nothing chosen"))
    }
}
