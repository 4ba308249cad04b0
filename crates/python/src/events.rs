//! Python classes for the events about the decisions of a language model: proposed, accepted or
//! rejected decisions, and failed nodes of workflows.

use super::error::message_error;
use super::judge::{Judgement, Violation};
use super::message::python_to_json;
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec_runtime::payload;
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// A decision that was proposed: a payload and its kind.
///
/// `kind` names a `payload` statement of the rules; a decision without a kind is rejected. `id`
/// identifies the decision in later events.
///
/// >>> DecisionMade("respond", {"response": "hello"}, confidence=0.9).payload
/// {'response': 'hello'}
#[pyclass(frozen, module = "rulec")]
pub struct DecisionMade(pub payload::Proposal);

#[pymethods]
impl DecisionMade {
    #[new]
    #[pyo3(signature = (kind, payload, *, id = "", confidence = None))]
    fn new(
        kind: Option<&str>,
        payload: &Bound<'_, PyAny>,
        id: &str,
        confidence: Option<f64>,
    ) -> PyResult<Self> {
        let proposal =
            payload::Proposal::new(kind.unwrap_or_default(), python_to_json(payload, "the payload")?).id(id);
        Ok(DecisionMade(match confidence {
            Some(confidence) => proposal.confidence(confidence),
            None => proposal,
        }))
    }

    /// The id of the decision; empty if none was given.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    /// The payload kind; empty if none was given.
    #[getter]
    fn kind(&self) -> &str {
        &self.0.kind
    }

    /// The proposed payload.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.payload)?)
    }

    /// The confidence of the model; None if none was given.
    #[getter]
    fn confidence(&self) -> Option<f64> {
        self.0.confidence
    }

    /// The kinds of the earlier decisions that were rejected and that this decision replaces.
    #[getter]
    fn instead_of(&self) -> Vec<String> {
        self.0.instead_of.clone()
    }

    /// The failure of a node from which this decision recovers; None for other decisions.
    #[getter]
    fn failure(&self) -> Option<NodeExecutionFailed> {
        self.0.failure.as_deref().cloned().map(NodeExecutionFailed)
    }

    /// Returns the event as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        event_to_python(py, payload::DecisionEvent::Proposal(self.0.clone()))
    }

    fn __repr__(&self) -> String {
        format!("<DecisionMade {} {}>", self.0.kind, self.0.id)
    }
}

/// A decision that was accepted. `payload` has the corrections of the rules.
///
/// >>> coordinator = Coordinator(Rules.from_text('payload refund rank 1 { currency: string default "EUR" }'))
/// >>> coordinator.validate_decision(DecisionMade("refund", {})).payload
/// {'currency': 'EUR'}
#[pyclass(frozen, module = "rulec")]
pub struct DecisionValidated(pub payload::Validated);

#[pymethods]
impl DecisionValidated {
    /// The decision as it was proposed.
    #[getter]
    fn decision(&self) -> DecisionMade {
        DecisionMade(self.0.decision.clone())
    }

    /// The payload kind of the decision.
    #[getter]
    fn kind(&self) -> &str {
        &self.0.decision.kind
    }

    /// The payload to execute: with the corrections of the rules, if there are any.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.payload())?)
    }

    /// The result of the check.
    #[getter]
    fn judgement(&self) -> Judgement {
        Judgement((*self.0.judgement).clone())
    }

    /// Always true. The class `DecisionRejected` has the same attribute, which is always false.
    #[getter]
    fn is_valid(&self) -> bool {
        true
    }

    /// Always empty. The class `DecisionRejected` has the same attribute, which contains the
    /// messages of the violations.
    #[getter]
    fn errors(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the event as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        event_to_python(py, payload::DecisionEvent::Validated(self.0.clone()))
    }

    fn __repr__(&self) -> String {
        format!("<DecisionValidated {} {}>", self.0.decision.kind, self.0.decision.id)
    }
}

/// A decision that was rejected, with the reasons.
///
/// >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
/// >>> coordinator.validate_decision(DecisionMade("refund", {"amount": 900})).errors
/// ['$.amount: `amount` must be a number from 0 to 500, and is 900']
#[pyclass(frozen, module = "rulec")]
pub struct DecisionRejected(pub payload::Rejected);

#[pymethods]
impl DecisionRejected {
    /// The decision as it was proposed.
    #[getter]
    fn decision(&self) -> DecisionMade {
        DecisionMade(self.0.decision.clone())
    }

    /// The payload kind of the decision.
    #[getter]
    fn kind(&self) -> &str {
        &self.0.decision.kind
    }

    /// The payload as it was proposed.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.decision.payload)?)
    }

    /// The result of the check. None if the recovery function failed, because there was then no
    /// payload to check.
    #[getter]
    fn judgement(&self) -> Option<Judgement> {
        self.0.judgement.as_deref().cloned().map(Judgement)
    }

    /// The violated rules, sorted by the name of the rule and then by the path.
    #[getter]
    fn violations(&self) -> Vec<Violation> {
        self.0.violations().iter().map(Violation::new).collect()
    }

    /// The reasons for the rejection as text that a language model can act on.
    #[getter]
    fn feedback(&self) -> &str {
        &self.0.feedback
    }

    /// The kind of payload to propose instead of the rejected one; None if the rules name none.
    #[getter]
    fn fallback(&self) -> Option<&str> {
        self.0.fallback.as_deref()
    }

    /// Always false. The class `DecisionValidated` has the same attribute, which is always true.
    #[getter]
    fn is_valid(&self) -> bool {
        false
    }

    /// The path and the message of each violation, as one text, in the order of `violations`. If
    /// there is no violation, because the payload was not checked, the only text is the feedback.
    #[getter]
    fn errors(&self) -> Vec<String> {
        match self.0.violations() {
            [] => vec![self.0.feedback.clone()],
            violations => violations
                .iter()
                .map(|violation| format!("{}: {}", violation.path, violation.message))
                .collect(),
        }
    }

    /// Returns the event as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        event_to_python(py, payload::DecisionEvent::Rejected(self.0.clone()))
    }

    fn __repr__(&self) -> String {
        let count = self.0.violations().len();
        format!("<DecisionRejected {} {}: {count} violations>", self.0.decision.kind, self.0.decision.id)
    }
}

/// The failure of a workflow's node.
///
/// >>> NodeExecutionFailed("w", "fetch", "no line").reason
/// 'no line'
#[pyclass(frozen, module = "rulec")]
pub struct NodeExecutionFailed(pub payload::NodeFailure);

#[pymethods]
impl NodeExecutionFailed {
    #[new]
    #[pyo3(signature = (workflow_id, node_id, reason, *, error_code = None, execution_context = None))]
    fn new(
        workflow_id: &str,
        node_id: &str,
        reason: &str,
        error_code: Option<String>,
        execution_context: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut failure = payload::NodeFailure::new(workflow_id, node_id, reason);
        failure.error_code = error_code;
        failure.execution_context = json_fields(execution_context, "execution_context")?;
        Ok(NodeExecutionFailed(failure))
    }

    /// The id of the workflow.
    #[getter]
    fn workflow_id(&self) -> &str {
        &self.0.workflow_id
    }

    /// The id of the node that failed.
    #[getter]
    fn node_id(&self) -> &str {
        &self.0.node_id
    }

    /// The reason for the failure, as text.
    #[getter]
    fn reason(&self) -> &str {
        &self.0.reason
    }

    /// A code of the failure, which the program chooses; None if there is none.
    #[getter]
    fn error_code(&self) -> Option<&str> {
        self.0.error_code.as_deref()
    }

    /// Data about the run before the failure, such as the outputs of earlier nodes.
    #[getter]
    fn execution_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.execution_context)?)
    }

    /// Returns the event as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        event_to_python(py, payload::DecisionEvent::NodeExecutionFailed(self.0.clone()))
    }

    fn __repr__(&self) -> String {
        format!("<NodeExecutionFailed {} of {}: {}>", self.0.node_id, self.0.workflow_id, self.0.reason)
    }
}

fn event_to_python(py: Python<'_>, event: impl Serialize) -> PyResult<Bound<'_, PyAny>> {
    Ok(pythonize(py, &event)?)
}

/// Converts a Python mapping to a JSON object; `None` becomes an empty object. `name` is the name
/// of the argument in error messages.
pub fn json_fields(value: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Map<String, Json>> {
    match value.map(|value| python_to_json(value, name)).transpose()? {
        None | Some(Json::Null) => Ok(Map::new()),
        Some(Json::Object(fields)) => Ok(fields),
        Some(_) => Err(message_error(format!("{name} must be a dict"))),
    }
}

/// Converts an event to an object of its Python class.
pub fn to_python(py: Python<'_>, event: payload::DecisionEvent) -> PyResult<Py<PyAny>> {
    Ok(match event {
        payload::DecisionEvent::Proposal(decision) => Py::new(py, DecisionMade(decision))?.into_any(),
        payload::DecisionEvent::Validated(decision) => Py::new(py, DecisionValidated(decision))?.into_any(),
        payload::DecisionEvent::Rejected(decision) => Py::new(py, DecisionRejected(decision))?.into_any(),
        payload::DecisionEvent::NodeExecutionFailed(failure) => {
            Py::new(py, NodeExecutionFailed(failure))?.into_any()
        }
        other => pythonize(py, &other)?.unbind(),
    })
}

/// Converts a Python object to the event that it holds; `None` if the object is not an event.
pub fn from_python(event: &Bound<'_, PyAny>) -> Option<payload::DecisionEvent> {
    if let Ok(made) = event.cast::<DecisionMade>() {
        return Some(made.get().0.clone().into());
    }
    if let Ok(failed) = event.cast::<NodeExecutionFailed>() {
        return Some(failed.get().0.clone().into());
    }
    if let Ok(validated) = event.cast::<DecisionValidated>() {
        return Some(payload::DecisionEvent::Validated(validated.get().0.clone()));
    }
    let rejected = event.cast::<DecisionRejected>().ok()?;
    Some(payload::DecisionEvent::Rejected(rejected.get().0.clone()))
}
