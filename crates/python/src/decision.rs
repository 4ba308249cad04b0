//! Python classes for decisions and for their explanations.

use super::error::{library_error, message_error};
use super::message::{args_to_python, python_to_json_object_lossy, text_bytes};
use super::prepared::Prepared;
use super::shutdown::without_gil;
use pyo3::IntoPyObjectExt;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pythonize::pythonize;
use rulec::history::HistoryGap;
use rulec::{RenderOptions, SkippedCondition, TableKind};
use rulec_base::json::{self, DecimalPaths};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A decision about one message. It stays valid after its rules are replaced.
///
/// >>> decision = Rules.from_text("route big when n > 9 -> many(n: n)").decide({"n": 12})
/// >>> decision.chosen, decision.target, decision.args
/// ('big', 'many', {'n': 12})
#[pyclass(frozen, module = "rulec")]
pub struct Decision(DecisionSource);

/// The source of a decision's attributes: the library, or a pickle.
enum DecisionSource {
    /// A decision that the library made. For a choice also the message, from which the attribute
    /// `skipped` is computed when a program reads this attribute.
    Made(rulec::Decision, Option<Message>),
    /// A dict with the values of all attributes by name, which was restored from a pickle.
    Pickled(Py<PyDict>),
}

/// The message of a decision. It is converted to JSON only when a program reads the attribute
/// `skipped` of the decision.
pub enum Message {
    /// The message as JSON.
    Tree(Box<Json>),
    /// A shallow copy of a dict, a JSON text, or a `Prepared`.
    Python(Py<PyAny>),
}

impl Message {
    /// Stores a shallow copy of a dict, because the caller may later set or delete keys of the
    /// dict.
    pub fn from_dict(dict: &Bound<'_, PyDict>) -> PyResult<Message> {
        Ok(Message::Python(dict.copy()?.into_any().unbind()))
    }

    /// Stores a JSON text or a `Prepared`. Neither is copied, because they never change.
    pub fn from_immutable(message: &Bound<'_, PyAny>) -> PyResult<Message> {
        Ok(Message::Python(message.clone().unbind()))
    }

    /// Returns the conditions that the decision ignored because a value that they read is missing
    /// in this message.
    fn skipped(&self, py: Python<'_>, decision: &rulec::Decision) -> PyResult<Vec<SkippedCondition>> {
        let converted;
        let tree = match self {
            Message::Tree(tree) => &**tree,
            Message::Python(message) => {
                converted = message_tree(message.bind(py), decision.decimal_paths())?;
                &converted
            }
        };
        Ok(without_gil(py, || decision.skipped(tree)))
    }
}

fn message_tree(message: &Bound<'_, PyAny>, decimal_paths: &DecimalPaths) -> PyResult<Json> {
    if let Ok(prepared) = message.cast::<Prepared>() {
        return Ok(prepared.get().0.borrow_owner().clone());
    }
    if message.cast::<PyDict>().is_ok() {
        return python_to_json_object_lossy(message, decimal_paths);
    }
    let tree = json::parse_object_bytes_exact(text_bytes(message)?, decimal_paths);
    tree.map(Json::Object).map_err(|error| message_error(error.to_string()))
}

/// The attributes that pickling stores. The JSON text of the decision is stored as `to_json`.
const DECISION_ATTRIBUTES: [&str; 24] = [
    "entry",
    "chosen",
    "target",
    "is_default",
    "args",
    "masked_args",
    "metadata",
    "requires",
    "path",
    "branch",
    "to_user",
    "flow",
    "pattern",
    "next",
    "loopback",
    "generation",
    "missing_args",
    "breaches",
    "exceeded",
    "failures",
    "host_time",
    "history_gap",
    "skipped",
    TO_JSON_METHOD,
];
const TO_JSON_METHOD: &str = "to_json";

type AttributeResult<'py> = PyResult<Bound<'py, PyAny>>;

impl Decision {
    /// Creates the Python object for a decision. `message` returns the decided message.
    pub fn new(decision: rulec::Decision, message: impl FnOnce() -> PyResult<Message>) -> PyResult<Decision> {
        let message = match decision.kind() {
            TableKind::Choice => Some(message()?),
            _ => None,
        };
        Ok(Decision(DecisionSource::Made(decision, message)))
    }

    /// Creates the Python object for a decision about a message that was converted to JSON.
    pub fn with_json_message(decision: rulec::Decision, message: Json) -> PyResult<Decision> {
        Decision::new(decision, || Ok(Message::Tree(Box::new(message))))
    }

    /// Returns the library's decision. Fails for a decision that was restored from a pickle.
    pub fn library_decision(&self) -> PyResult<&rulec::Decision> {
        match &self.0 {
            DecisionSource::Made(decision, _) => Ok(decision),
            DecisionSource::Pickled(_) => {
                Err(library_error("a pickled decision cannot be recorded; record it where it was made"))
            }
        }
    }

    /// Returns an attribute of the decision: the result of `read`, or the value from the pickle.
    fn read_attribute<'d, 'py, T: IntoPyObject<'py>>(
        &'d self,
        py: Python<'py>,
        name: &str,
        read: impl FnOnce(&'d rulec::Decision) -> T,
    ) -> AttributeResult<'py> {
        self.read_python_attribute(py, name, |decision| read(decision).into_bound_py_any(py))
    }

    fn read_python_attribute<'d, 'py>(
        &'d self,
        py: Python<'py>,
        name: &str,
        read: impl FnOnce(&'d rulec::Decision) -> AttributeResult<'py>,
    ) -> AttributeResult<'py> {
        match &self.0 {
            DecisionSource::Made(decision, _) => read(decision),
            DecisionSource::Pickled(attributes) => {
                let missing = || library_error(format!("the pickled decision has no `{name}`"));
                attributes.bind(py).get_item(name)?.ok_or_else(missing)
            }
        }
    }

    fn decision_json(&self, py: Python<'_>) -> PyResult<String> {
        match &self.0 {
            DecisionSource::Made(decision, _) => json_text(decision),
            DecisionSource::Pickled(_) => self.read_attribute(py, TO_JSON_METHOD, |_| ())?.extract(),
        }
    }
}

/// Serializes a value of the library as JSON text.
pub fn json_text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(library_error)
}

#[pymethods]
impl Decision {
    /// The name of the entry that decided: a table, choice or router, or `flows`. The routes
    /// outside tables are the entry `routes`.
    #[getter]
    fn entry<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "entry", |decision| decision.entry())
    }

    /// The name of the chosen statement, such as a route or a branch; `default` for the default of
    /// a table. None if nothing was chosen.
    #[getter]
    fn chosen<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "chosen", |decision| decision.chosen())
    }

    /// The handler to call. None if nothing was chosen, or if the entry chooses no handler.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "target", |decision| decision.target())
    }

    /// True if the default of a table, or the default branch of a choice, was chosen.
    #[getter]
    fn is_default<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "is_default", |decision| decision.is_default())
    }

    /// The arguments for the handler, by name. An argument of the type `decimal` is a
    /// `decimal.Decimal`.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_python_attribute(py, "args", |decision| {
            args_to_python(py, decision.args(), &decision.exact_args())
        })
    }

    /// The arguments for logs: values that come from `@private` fields are masked.
    #[getter]
    fn masked_args<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_python_attribute(py, "masked_args", |decision| Ok(pythonize(py, &decision.masked_args())?))
    }

    /// The constants that the rules give after the target, as in `-> files { type: "listing" }`.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_python_attribute(py, "metadata", |decision| Ok(pythonize(py, decision.metadata())?))
    }

    /// The permissions that the chosen handler requires. The program that calls the handler must
    /// enforce them.
    #[getter]
    fn requires<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "requires", |decision| {
            decision.required_permissions().iter().map(|permission| &**permission).collect::<Vec<_>>()
        })
    }

    /// The tables that decided, in order: the first one, and each table to which `goto` led.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "path", |decision| decision.path())
    }

    /// The id of the branch that a choice took; None for other decisions.
    #[getter]
    fn branch<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "branch", |decision| decision.branch())
    }

    /// True if the rules declare that the user should see the result of a choice and its reason.
    #[getter]
    fn to_user<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "to_user", |decision| decision.to_user())
    }

    /// The id of the flow whose pattern matched the message; None if no pattern matched.
    #[getter]
    fn flow<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "flow", |decision| decision.flow().map(|hit| hit.id))
    }

    /// The flow's pattern that matched the message; None if no pattern matched.
    #[getter]
    fn pattern<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "pattern", |decision| decision.flow().map(|hit| hit.pattern))
    }

    /// The ids of the next nodes that a router selected; empty for other decisions.
    #[getter]
    fn next<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "next", |decision| {
            decision.next().map_or_else(Vec::new, |next| next.nodes.to_vec())
        })
    }

    /// True if a router sent the output back to an earlier node.
    #[getter]
    fn loopback<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "loopback", |decision| decision.next().is_some_and(|next| next.loopback))
    }

    /// The generation (version number) of the rules that decided.
    #[getter]
    fn generation<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "generation", |decision| decision.generation())
    }

    /// The names of required arguments whose values were missing; these arguments are None.
    #[getter]
    fn missing_args<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "missing_args", |decision| decision.missing_args().collect::<Vec<_>>())
    }

    /// The fields of the message that break the declared `input`, as dicts. A field of a wrong type
    /// counts as missing.
    #[getter]
    fn breaches<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_python_attribute(py, "breaches", |decision| Ok(pythonize(py, decision.breaches())?))
    }

    /// The limits that the message exceeded, as dicts. A value over a limit counts as missing.
    #[getter]
    fn exceeded<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_python_attribute(py, "exceeded", |decision| Ok(pythonize(py, decision.exceeded())?))
    }

    /// The host functions (functions of the program, which rules call) that failed, as pairs of the
    /// function's name and the exception's text.
    #[getter]
    fn failures<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "failures", |decision| {
            decision
                .failures()
                .iter()
                .map(|failure| (failure.function.to_string(), failure.message.clone()))
                .collect::<Vec<_>>()
        })
    }

    /// The time that the decision spent in functions of the program, in seconds.
    #[getter]
    fn host_time<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "host_time", |decision| decision.host_time().as_secs_f64())
    }

    /// Why the rules may have read fewer recorded messages than there were: `no_key` or `dropped`.
    /// None if the history was complete.
    #[getter]
    fn history_gap<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        self.read_attribute(py, "history_gap", |decision| decision.history_gap().map(HistoryGap::as_str))
    }

    /// The conditions of a choice that were left out, because a value that they read is missing or
    /// of another type. Each is a dict, as `Rules.skipped` returns. Empty if the decision has read
    /// earlier messages. The lists and dicts of the message are read only when a program uses this
    /// attribute, so changes since the decision may have an effect.
    #[getter]
    fn skipped<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        let message = match &self.0 {
            DecisionSource::Made(_, message) => message.as_ref(),
            DecisionSource::Pickled(_) => None,
        };
        self.read_python_attribute(py, "skipped", |decision| match message {
            Some(message) => Ok(pythonize(py, &message.skipped(py, decision)?)?),
            None => Ok(PyList::empty(py).into_any()),
        })
    }

    /// Reports the message to the garbage collector, because the message may contain this decision.
    /// A dict is part of such a cycle, and Python breaks the cycle by clearing the dict. So this
    /// class needs no `__clear__`.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.0 {
            DecisionSource::Made(_, Some(Message::Python(message))) => visit.call(message),
            DecisionSource::Made(..) => Ok(()),
            DecisionSource::Pickled(attributes) => visit.call(attributes),
        }
    }

    /// Returns the decision as the JSON text that `rulec run` prints.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.decision_json(py)
    }

    /// Returns the decision as a dict: the fields of `to_json`, and `skipped` if it is not empty.
    fn to_dict<'py>(&self, py: Python<'py>) -> AttributeResult<'py> {
        let dict = match &self.0 {
            DecisionSource::Made(decision, _) => pythonize(py, decision)?,
            DecisionSource::Pickled(_) => {
                let value: Json = serde_json::from_str(&self.decision_json(py)?).map_err(library_error)?;
                pythonize(py, &value)?
            }
        };
        let skipped = self.skipped(py)?;
        if skipped.is_truthy()? {
            dict.set_item("skipped", skipped)?;
        }
        Ok(dict)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let (py, attributes) = (slf.py(), PyDict::new(slf.py()));
        for name in DECISION_ATTRIBUTES {
            let value = slf.getattr(name)?;
            attributes.set_item(name, if name == TO_JSON_METHOD { value.call0()? } else { value })?;
        }
        Ok((py.import("rulec._rulec")?.getattr("unpickled_decision")?, (attributes,)))
    }

    /// Returns the decision as HTML, for display in a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("rulec.notebook")?.call_method1("decision_html", (slf,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Decision {}>", self.decision_json(py)?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Decision>() {
            Ok(decision) => Ok(self.decision_json(other.py())? == decision.get().decision_json(other.py())?),
            Err(_) => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.decision_json(py)?.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

/// Restores a decision from the attributes that pickling has stored.
#[pyfunction]
pub fn unpickled_decision(attributes: Bound<'_, PyDict>) -> Decision {
    Decision(DecisionSource::Pickled(attributes.unbind()))
}

/// The explanation of a decision. Its `str()` is the output of `rulec why --full`.
///
/// >>> rules = Rules.from_text("route big when n > 9 -> many default -> few")
/// >>> print(rules.explain({}).summary().splitlines()[0])
/// `default` is chosen → few, because nothing before it holds
#[pyclass(frozen, module = "rulec")]
pub struct Explanation(pub rulec::Explanation);

#[pymethods]
impl Explanation {
    /// The name of the chosen route or branch; None if nothing was chosen.
    #[getter]
    fn chosen(&self) -> Option<&str> {
        self.0.chosen.as_deref()
    }

    /// The handler to call; None if nothing was chosen.
    #[getter]
    fn target(&self) -> Option<&str> {
        self.0.target.as_deref()
    }

    /// Returns a summary of a few sentences.
    fn summary(&self) -> String {
        self.0.summary()
    }

    /// Returns the explanation as the JSON text that `rulec why --format json` prints.
    fn to_json(&self) -> PyResult<String> {
        json_text(&self.0)
    }

    /// Returns the explanation as a dict, with the fields of `to_json`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    fn __str__(&self) -> String {
        self.0.render(&RenderOptions::default())
    }

    /// Returns the explanation as HTML, for display in a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("rulec.notebook")?.call_method1("explanation_html", (slf,))
    }

    fn __repr__(&self) -> String {
        format!("<Explanation of {}: {}>", self.0.entry, self.0.chosen.as_deref().unwrap_or("nothing chosen"))
    }
}
