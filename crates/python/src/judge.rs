//! Python classes that check payloads by rules. A payload is a decision that a language model
//! proposes.

use super::decision::json_text;
use super::error::{library_error, message_error};
use super::history::extract_history_store;
use super::message::{mapping_entries, python_to_json};
use super::shutdown::without_gil;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use pythonize::pythonize;
use rulec::JsonError;
use rulec::history::{HistoryGap, Store, StoreError};
use rulec::payload;
use rulec_base::json;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::Arc;

/// The store whose recorded messages the payload rules read. Each check reads them again.
pub struct JudgeHistory {
    rules: rulec::Rules,
    store: Arc<dyn Store>,
    /// The inputs of the checker, which contain the history key (such as a user id) and the time.
    message: Json,
}

impl JudgeHistory {
    /// Creates the history of a checker with these inputs. `None` without a store `history`.
    pub fn new(
        rules: &rulec::Rules,
        inputs: Option<&Bound<'_, PyMapping>>,
        history: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<JudgeHistory>> {
        let Some(store) = history else { return Ok(None) };
        let store = extract_history_store(rules, store)?;
        let to_entry = |(name, value): (String, Bound<'_, PyAny>)| {
            let value = python_to_json(&value, &name)?;
            Ok((name, value))
        };
        let message = mapping_entries(inputs)?.into_iter().map(to_entry).collect::<PyResult<_>>()?;
        Ok(Some(JudgeHistory { rules: rules.clone(), store, message: Json::Object(message) }))
    }

    /// Returns the checker with the messages that are recorded now.
    fn apply<'j>(
        history: Option<&JudgeHistory>,
        judge: &'j payload::Judge,
    ) -> Result<Cow<'j, payload::Judge>, StoreError> {
        let Some(JudgeHistory { rules, store, message }) = history else { return Ok(Cow::Borrowed(judge)) };
        Ok(Cow::Owned(judge.clone().with_history(rules.past(&**store, message)?)))
    }
}

/// Converts a payload, given as JSON text or as a Python value. `mask` masks private keys in an
/// error about the text.
fn read_payload(payload: &Bound<'_, PyAny>, mask: impl Fn(JsonError) -> JsonError) -> PyResult<Json> {
    let Ok(text) = payload.cast::<PyString>() else { return python_to_json(payload, "the payload") };
    let object = json::parse_object(text.to_str()?);
    object.map(Json::Object).map_err(|error| message_error(mask(error).to_string()))
}

/// A checker of payloads of one kind.
///
/// >>> rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
/// >>> rules.judge("refund").judge({"amount": 20}).is_accepted
/// True
#[pyclass(frozen, module = "rulec")]
pub struct Judge {
    pub judge: payload::Judge,
    pub history: Option<JudgeHistory>,
}

#[pymethods]
impl Judge {
    /// The payload kind that this object checks.
    #[getter]
    fn kind(&self) -> &str {
        self.judge.kind()
    }

    /// Checks a payload, given as a dict, a dataclass, a pydantic model or JSON text.
    fn judge(&self, py: Python<'_>, payload: &Bound<'_, PyAny>) -> PyResult<Judgement> {
        let payload = read_payload(payload, |error| self.judge.masked_error(error))?;
        let judgement =
            without_gil(py, || Ok(JudgeHistory::apply(self.history.as_ref(), &self.judge)?.judge(&payload)));
        judgement.map(Judgement).map_err(|error: StoreError| library_error(error))
    }

    /// Explains each violated rule, with the values that its condition read. Errors come first,
    /// then warnings.
    fn why<'py>(&self, py: Python<'py>, payload: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let payload = python_to_json(payload, "the payload")?;
        let reasons =
            without_gil(py, || Ok(JudgeHistory::apply(self.history.as_ref(), &self.judge)?.why(&payload)));
        Ok(pythonize(py, &reasons.map_err(|error: StoreError| library_error(error))?)?)
    }

    /// Returns a payload for logs: the values of `@private` fields are masked.
    fn masked_payload<'py>(
        &self,
        py: Python<'py>,
        payload: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.judge.masked_payload(&python_to_json(payload, "the payload")?))?)
    }

    /// Returns the JSON Schema of the payloads that this object checks.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.judge.schema())?)
    }

    fn __repr__(&self) -> String {
        let history = if self.history.is_some() { " with a history" } else { "" };
        format!("<Judge of {}{history}>", self.kind())
    }
}

/// A checker of payloads of all kinds. A field of each payload names its kind.
///
/// >>> rules = Rules.from_text("payload refund { kind: any const decision; amount: number }")
/// >>> judges = rules.judge_by("kind")
/// >>> judges.judge({"kind": "refund", "amount": 20}).is_accepted
/// True
/// >>> judges.judge({"kind": "refunds", "amount": 20}).violations
/// [<Violation of refund.kind.match at $.kind: `kind` is "refunds", which is not a payload kind>]
#[pyclass(frozen, module = "rulec")]
pub struct JudgeByField {
    pub judge: payload::JudgeByField,
    pub history: Option<JudgeHistory>,
}

#[pymethods]
impl JudgeByField {
    /// Checks a payload, given as a dict, a dataclass, a pydantic model or JSON text. Rejects a
    /// payload whose field names no kind of the rules.
    fn judge(&self, py: Python<'_>, payload: &Bound<'_, PyAny>) -> PyResult<Judgement> {
        let payload = read_payload(payload, |error| self.judge.masked_error(error))?;
        let judgement = without_gil(py, || match self.judge.find(&payload) {
            Ok(judge) => Ok(JudgeHistory::apply(self.history.as_ref(), judge)?.judge(&payload)),
            Err(rejection) => Ok(*rejection),
        });
        judgement.map(Judgement).map_err(|error: StoreError| library_error(error))
    }
}

/// A violation of a payload rule.
///
/// >>> rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
/// >>> [violation] = rules.judge("refund").judge({"amount": 900}).violations
/// >>> violation.rule, violation.path
/// ('refund.amount.range', '$.amount')
#[pyclass(frozen, get_all, module = "rulec")]
pub struct Violation {
    /// The name of the violated rule.
    rule: String,
    /// The path of the value that violates the rule, such as `$.amount`.
    path: String,
    /// The message of the rule.
    message: String,
    /// An advice how to repair the value; empty if the rule has none.
    repair: String,
}

#[pymethods]
impl Violation {
    fn __repr__(&self) -> String {
        format!("<Violation of {} at {}: {}>", self.rule, self.path, self.message)
    }
}

impl Violation {
    pub fn new(violation: &payload::Violation) -> Violation {
        Violation {
            rule: violation.rule.to_string(),
            path: violation.path.clone(),
            message: violation.message.to_string(),
            repair: violation.repair.to_string(),
        }
    }
}

fn convert_violations(violations: &[payload::Violation]) -> Vec<Violation> {
    violations.iter().map(Violation::new).collect()
}

/// The result of checking a payload.
///
/// >>> rules = Rules.from_text('payload refund rank 1 { currency: string default "EUR" }')
/// >>> judgement = rules.judge("refund").judge({})
/// >>> judgement.outcome, judgement.corrected
/// ('accept_corrected', {'currency': 'EUR'})
#[pyclass(frozen, module = "rulec")]
pub struct Judgement(pub payload::Judgement);

#[pymethods]
impl Judgement {
    /// The payload kind by whose rules the payload was checked.
    #[getter]
    fn kind(&self) -> &str {
        self.0.kind()
    }

    /// The outcome of the check: `accept`, `accept_corrected` or `reject`.
    #[getter]
    fn outcome(&self) -> &str {
        self.0.outcome().name()
    }

    /// True if the payload violates no rule, even without corrections.
    #[getter]
    fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// True if the payload or its corrected copy may be used.
    #[getter]
    fn is_accepted(&self) -> bool {
        self.0.is_accepted()
    }

    /// The violated rules, sorted by the name of the rule and then by the path.
    #[getter]
    fn violations(&self) -> Vec<Violation> {
        convert_violations(self.0.violations())
    }

    /// The violations that remain after the corrections; empty if nothing was corrected.
    #[getter]
    fn remaining(&self) -> Vec<Violation> {
        convert_violations(self.0.remaining())
    }

    /// The violated rules that only warn. They do not affect the outcome.
    #[getter]
    fn warnings(&self) -> Vec<Violation> {
        convert_violations(self.0.warnings())
    }

    /// The applied corrections, as pairs of the correction's kind (`default`, `clamp` or `remove`)
    /// and the path of the corrected value.
    #[getter]
    fn corrections(&self) -> Vec<(&str, &str)> {
        self.0.corrections().iter().map(|applied| (applied.kind, &*applied.path)).collect()
    }

    /// The rules that could not be checked, as tuples of the rule's name, the path and the reason.
    #[getter]
    fn unchecked(&self) -> Vec<(String, String, String)> {
        let to_tuple = |unchecked: &payload::Unchecked| {
            (unchecked.rule.to_string(), unchecked.path.clone(), unchecked.message.to_string())
        };
        self.0.unchecked().iter().map(to_tuple).collect()
    }

    /// The corrected payload. None if the payload was rejected or needed no correction.
    #[getter]
    fn corrected<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.corrected().map(|corrected| pythonize(py, corrected)).transpose()?)
    }

    /// The corrected payload for logs: the values of `@private` fields are masked. None if there is
    /// no corrected payload.
    #[getter]
    fn masked_correction<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.masked_correction().map(|corrected| pythonize(py, corrected)).transpose()?)
    }

    /// The limits that the payload exceeded, as dicts. A value over a limit counts as missing.
    #[getter]
    fn exceeded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, self.0.exceeded())?)
    }

    /// The payload kind to propose instead of a rejected payload. None if the rules name none.
    #[getter]
    fn fallback(&self) -> Option<&str> {
        self.0.fallback()
    }

    /// Why the rules may have read fewer recorded messages than there were: `no_key` or `dropped`.
    /// None if the history was complete.
    #[getter]
    fn history_gap(&self) -> Option<&'static str> {
        self.0.history_gap().map(HistoryGap::as_str)
    }

    /// Returns the result of the check as text that a language model can act on.
    fn feedback(&self) -> String {
        self.0.feedback()
    }

    /// Returns the result of the check as JSON text, as `rulec run --decision` prints it.
    fn to_json(&self) -> PyResult<String> {
        json_text(&self.0)
    }

    /// Returns the result of the check as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    /// Returns the result of the check as HTML, for display in a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("rulec.notebook")?.call_method1("judgement_html", (slf,))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Judgement {}>", self.to_json()?))
    }
}
