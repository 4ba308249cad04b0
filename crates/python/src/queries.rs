//! Methods of the Python class `Rules` that examine rules, like the commands of `rulec`. They
//! analyse, measure and test rules, compare versions, and find the change of a message that leads
//! to a route.

use super::decision::Explanation;
use super::error::{Diagnostic, TextRange, library_error, unknown_name_error};
use super::prepared::message_to_json;
use super::rules::Rules;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec::why_not::WhyNot;
use rulec::{AnalysisOptions, TestOutcome, UnknownEntry, run_tests_with};
use rulec::{condition, payload};
use serde::Serialize;

/// A finding of the analysis, with a message that demonstrates it.
///
/// >>> rules = Rules.from_text("route a when n > 3 -> x\nroute b when n > 9 -> y\ndefault -> z")
/// >>> [finding.diagnostic.message for finding in rules.analyse()]
/// ['`b` can never be chosen: `a` matches every message that it matches']
#[pyclass(frozen, module = "rulec")]
pub struct Finding {
    /// The finding, as an error or warning about the text of the rules.
    #[pyo3(get)]
    diagnostic: Py<Diagnostic>,
    witness: Option<serde_json::Value>,
}

#[pymethods]
impl Finding {
    /// An example message that shows the problem. None if the problem concerns every message, or
    /// cannot be shown by a message.
    #[getter]
    fn witness<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.witness.as_ref().map(|witness| pythonize(py, witness)).transpose()?)
    }

    fn __str__(&self, py: Python<'_>) -> String {
        self.diagnostic.bind(py).get().rendered.clone()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Finding {}>", self.diagnostic.bind(py).get().__repr__())
    }
}

/// The outcome of a `test` block.
///
/// >>> rules = Rules.from_text('default -> chat\ntest "hello" { given text = "hello" expect default }')
/// >>> [(test.name, test.passed) for test in rules.run_tests()]
/// [('hello', True)]
#[pyclass(frozen, module = "rulec")]
pub struct TestResult {
    outcome: TestOutcome,
    range: Option<TextRange>,
}

#[pymethods]
impl TestResult {
    /// The name of the `test` block.
    #[getter]
    fn name(&self) -> &str {
        &self.outcome.name
    }

    /// True if the actual result is the expected one.
    #[getter]
    fn passed(&self) -> bool {
        self.outcome.passed
    }

    /// The expected result, as `rulec test` prints it.
    #[getter]
    fn expected(&self) -> &str {
        &self.outcome.expected
    }

    /// The actual result, in the format of `expected`.
    #[getter]
    fn actual(&self) -> String {
        self.outcome.actual.to_string()
    }

    /// The explanation of the decision; None if the test passed.
    #[getter]
    fn explanation(&self) -> Option<Explanation> {
        self.outcome.explanation.clone().map(Explanation)
    }

    /// The file of the test; None if the text of the rules is not available.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.range.as_ref().map(|range| &*range.file)
    }

    /// The line of the test's name, from 1; None if the text of the rules is not available.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.range.as_ref().map(|range| range.line)
    }

    fn __repr__(&self) -> String {
        let result = if self.outcome.passed { "passed" } else { "failed" };
        format!("<TestResult {:?} {result}>", self.outcome.name)
    }
}

/// Converts a report of the library to Python dicts and lists.
fn to_python<'py>(py: Python<'py>, report: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize(py, report)?)
}

/// Converts the answer why a route was not chosen. Masks the values of `@private` fields unless
/// `show_private` is true.
pub fn why_not_to_python(
    py: Python<'_>,
    result: Result<WhyNot, UnknownEntry>,
    show_private: bool,
) -> PyResult<Bound<'_, PyAny>> {
    let result = result.map_err(unknown_name_error)?;
    to_python(py, &if show_private { result } else { result.masked() })
}

#[pymethods]
impl Rules {
    /// Analyses the rules as `rulec check` does. Finds, for example, routes that can never match,
    /// and routes that can match the same message. With `strict_ties`, an overlap of routes with
    /// different targets is a finding even if no route sets a priority.
    #[pyo3(signature = (*, strict_ties = false))]
    fn analyse(&self, py: Python<'_>, strict_ties: bool) -> PyResult<Vec<Finding>> {
        let options = AnalysisOptions::default().strict_ties(strict_ties);
        let findings = without_gil(py, || self.rules.analyse_with(options));
        let sources = self.rules.sources();
        let to_finding = |finding: rulec::Finding| {
            let diagnostic = Py::new(py, Diagnostic::new(&finding.diagnostic, sources))?;
            Ok(Finding { diagnostic, witness: finding.witness })
        };
        findings.into_iter().map(to_finding).collect()
    }

    /// Prepares the execution engine now instead of at the first decision. With the tier `jit`,
    /// this compiles machine code. Raises `RulecError` if the engine cannot run on this machine.
    fn warm_up(&self, py: Python<'_>) -> PyResult<()> {
        without_gil(py, || self.rules.warm_up()).map_err(library_error)
    }

    /// The texts of the rule files, as pairs of the file's name and its text. A text is empty if
    /// the rules were loaded from an artifact without it.
    #[getter]
    fn texts(&self) -> Vec<(&str, &str)> {
        self.rules.sources().iter().map(|(_, file)| (&*file.name, &*file.text)).collect()
    }

    /// Returns a message for logs: the values of `@private` fields are masked.
    fn masked_message<'py>(&self, message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let message_json = message_to_json(message, self.rules.decimal_paths())?;
        to_python(message.py(), &self.rules.masked_message(&message_json))
    }

    /// Returns the estimated cost of each table's routes, as `rulec check --cost` prints it.
    fn cost<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let costs = without_gil(py, || self.rules.cost());
        to_python(py, &costs)
    }

    /// Returns the pairs of routes of a table that can match the same message.
    #[pyo3(signature = (table = "routes"))]
    fn overlaps<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyAny>> {
        let overlaps = without_gil(py, || self.rules.overlaps(table)).map_err(unknown_name_error)?;
        to_python(py, &overlaps)
    }

    /// Runs the `test` blocks. The results show the values of `@private` fields only if
    /// `show_private` is true.
    #[pyo3(signature = (*, show_private = false))]
    fn run_tests(&self, py: Python<'_>, show_private: bool) -> Vec<TestResult> {
        let outcomes = without_gil(py, || run_tests_with(&self.rules, show_private));
        let to_result = |outcome: TestOutcome| TestResult {
            range: TextRange::from_span(outcome.span, self.rules.sources()),
            outcome,
        };
        outcomes.into_iter().map(to_result).collect()
    }

    /// Compares these rules with a newer version, as `rulec diff` does. Returns a dict with the
    /// messages that the versions decide differently. Its key `verdict` is `same`, `different` or
    /// `unknown`.
    fn diff<'py>(&self, py: Python<'py>, new: &Bound<'py, Rules>) -> PyResult<Bound<'py, PyAny>> {
        let new = &new.get().rules;
        let diff = without_gil(py, || self.rules.diff(new));
        let report = to_python(py, &diff)?;
        report.set_item("verdict", to_python(py, &diff.verdict())?)?;
        Ok(report)
    }

    /// Finds the smallest change of `message` after which `entry` would choose `route`. Without
    /// `entry`, the default entry (such as a table) decides. The result shows the values of
    /// `@private` fields only if `show_private` is true. The rules read the recorded messages in
    /// the store `history`.
    #[pyo3(signature = (message, route, *, entry = None, show_private = false, history = None))]
    fn why_not<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        route: &str,
        entry: Option<&str>,
        show_private: bool,
        history: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = message.py();
        let result = self.ask(py, entry, message, history, |entry, message| entry.why_not(route, message))?;
        why_not_to_python(py, result, show_private)
    }

    /// Returns the conditions of a choice that were skipped, because a value that they read is
    /// missing. The rules read the recorded messages in the store `history`.
    #[pyo3(signature = (choice, message, *, history = None))]
    fn skipped<'py>(
        &self,
        py: Python<'py>,
        choice: &str,
        message: &Bound<'py, PyAny>,
        history: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let skipped =
            self.ask(py, Some(choice), message, history, |entry, message| entry.skipped(message))?;
        to_python(py, &skipped)
    }

    /// Orders proposed decisions by the ranks that the rules declare: which one runs first, which
    /// wait, and which are dropped. `decisions` are pairs of an id and a payload kind, in order of
    /// arrival.
    fn arbitrate<'py>(
        &self,
        py: Python<'py>,
        decisions: Vec<(String, String)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &payload::arbitrate(&self.rules, &decisions).map_err(unknown_name_error)?)
    }

    /// Draws a workflow, table, choice or router, as `rulec graph` does. Without a name, draws all
    /// of them. `format` is `mermaid`, `dot` or `svg`.
    #[pyo3(signature = (name = None, *, format = "mermaid"))]
    fn draw(&self, py: Python<'_>, name: Option<&str>, format: &str) -> PyResult<String> {
        without_gil(py, || rulec_cli::draw(&self.rules, name, format)).map_err(library_error)
    }

    /// Returns the JSON Schema of messages, as `input` declares it.
    fn input_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.rules.input_schema())
    }

    /// Returns the JSON Schema of a handler's arguments.
    fn args_schema<'py>(&self, py: Python<'py>, handler: &str) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.rules.args_schema(handler);
        let unknown = || unknown_name_error(format!("the rules have no handler `{handler}`"));
        to_python(py, &schema.ok_or_else(unknown)?)
    }
}

/// A condition that is given as text at run time.
///
/// >>> condition = Condition.compile('rows > 10 and ${fetch.status} == "ok"')
/// >>> condition.holds({"rows": 12, "fetch": {"status": "ok"}})
/// True
#[pyclass(frozen, module = "rulec")]
pub struct Condition {
    text: String,
    condition: condition::Condition,
}

#[pymethods]
impl Condition {
    /// Compiles a condition. A name in the condition is a field of the values that `holds`
    /// receives. `${a.b}` is the path `a.b`.
    #[staticmethod]
    fn compile(text: String) -> PyResult<Condition> {
        let condition = condition::Condition::compile(&text).map_err(|error| match &error.help {
            Some(help) => library_error(format!("{error}; {help}")),
            None => library_error(error),
        })?;
        Ok(Condition { text, condition })
    }

    /// True if the condition holds. A comparison with a missing value never holds.
    fn holds(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<bool> {
        let values = message_to_json(values, rulec_base::json::DecimalPaths::none())?;
        Ok(without_gil(py, || self.condition.holds(&values)))
    }

    fn __repr__(&self) -> String {
        format!("<Condition {:?}>", self.text)
    }
}
