//! Prepared messages: messages whose fields were read once for a rule set, so that several
//! decisions can use them.

use super::message::{as_dict, python_to_json_object};
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec::PreparedMessage;
use rulec_base::json::DecimalPaths;
use self_cell::self_cell;
use serde_json::Value as Json;

/// Converts a message to JSON. The message may be a prepared message or any other Python value.
/// Numbers at `decimal_paths` keep all their digits.
pub fn message_to_json(message: &Bound<'_, PyAny>, decimal_paths: &DecimalPaths) -> PyResult<Json> {
    match message.cast::<Prepared>() {
        Ok(prepared) => Ok(prepared.get().0.borrow_owner().clone()),
        Err(_) => python_to_json_object(&as_dict(message)?, decimal_paths),
    }
}

self_cell! {
    pub struct Resolved {
        owner: Json,
        #[covariant]
        dependent: PreparedMessage,
    }
}

/// A message that was read once, to decide it by several entries.
///
/// >>> rules = Rules.from_text("table size { route big when n > 9 -> many } default -> chat")
/// >>> prepared = rules.prepare({"n": 12})
/// >>> rules.decide(prepared).target, rules.decide(prepared, entry="size").target
/// ('chat', 'many')
#[pyclass(frozen, module = "rulec")]
pub struct Prepared(pub Resolved);

#[pymethods]
impl Prepared {
    /// Returns the message as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.borrow_owner())?)
    }

    fn __repr__(&self) -> String {
        format!("<Prepared {}>", self.0.borrow_owner())
    }
}
