//! Python class for compiled rule sets, which answers questions about them.

use super::decision::Explanation;
use super::document::{ReportItem, export_document, report_items};
use super::error::{Diagnostic, library_error, unknown_name_error};
use super::history::{extract_history_store, with_history};
use super::judge::{Judge, JudgeByField, JudgeHistory};
use super::message::{mapping_entries, python_to_json};
use super::names::Names;
use super::pace::GilPolicy;
use super::prepared::message_to_json;
use super::repr::rule_counts_text;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};
use pythonize::pythonize;
use rulec::{Entry, SigningKey, choice, payload};
use rulec_import::Imported;
use serde_json::Value as Json;
use std::sync::{Arc, OnceLock};

/// Compiled rules. Threads may share them, and pickling stores them as their artifact (compiled
/// form).
///
/// >>> rules = Rules.from_text("route big when n > 9 -> many default -> few")
/// >>> rules.decide({"n": 12}).target, rules.decide({}).target
/// ('many', 'few')
/// >>> rules.entries, rules.targets
/// (['routes'], ['few', 'many'])
#[pyclass(frozen, module = "rulec")]
pub struct Rules {
    pub rules: rulec::Rules,
    /// The Python functions that the rules call, by name. `None` if the program passed none.
    /// Pickling stores the functions with the rules.
    pub functions: Option<Py<PyMapping>>,
    /// The JSON document from which the rules were loaded, with the report on its items. `None` if
    /// the rules were not loaded from such a document.
    pub imported: Option<Arc<Imported>>,
    /// The findings of the analysis. The analysis runs when `warnings` is first read.
    findings: OnceLock<Vec<rulec::Finding>>,
    /// Selects whether decisions of these rules release the GIL.
    pub pace: GilPolicy,
}

/// The result of `__reduce__`: a function that loads rules, and its arguments. The arguments are
/// the compiled rules as bytes, the Python functions that the rules call, and the payload context
/// as JSON text.
type PickledRules<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, Option<Py<PyMapping>>, Option<String>));

impl Rules {
    /// Creates rules from compiled rules. `functions` are the Python functions that the rules call,
    /// by name.
    pub fn from_compiled(rules: rulec::Rules, functions: Option<Py<PyMapping>>) -> Rules {
        Rules { rules, functions, imported: None, findings: OnceLock::new(), pace: GilPolicy::default() }
    }

    /// Returns the payload context (the object that payload rules read as `context`) that was
    /// loaded with the rules; `None` for other rules.
    pub fn loaded_context(&self) -> Option<&Json> {
        self.imported.as_ref().and_then(|imported| imported.context.as_ref())
    }

    /// Configures a checker of payloads: sets its inputs and its input `options`, and makes it
    /// strict if `strict` is true. The context that was loaded with the rules applies unless
    /// `inputs` contains another `context`.
    fn configure_judge(
        &self,
        mut judge: payload::Judge,
        inputs: Option<&Bound<'_, PyMapping>>,
        options: Option<&Bound<'_, PyAny>>,
        strict: bool,
    ) -> PyResult<payload::Judge> {
        if let Some(context) = self.loaded_context() {
            judge = judge.context(context.clone()).map_err(library_error)?;
        }
        for (name, value) in mapping_entries(inputs)? {
            judge = judge.input(&name, python_to_json(&value, &name)?).map_err(library_error)?;
        }
        if let Some(options) = options {
            judge = judge.options(python_to_json(options, "options")?).map_err(library_error)?;
        }
        Ok(if strict { judge.strict() } else { judge })
    }

    /// Returns the entry (such as a table) of this name. Without a name, returns the default entry.
    pub fn entry(&self, name: Option<&str>) -> PyResult<Entry<'_>> {
        match name {
            Some(name) => self.rules.entry(name).map_err(unknown_name_error),
            None => self.rules.default_entry().or_else(|names| match *names {
                [] => Ok(self.rules.main()),
                _ => Err(no_default_entry_error(&names.join(", "))),
            }),
        }
    }

    /// Calls `ask` with the entry (such as a table) named `entry` and a message. The entry reads
    /// the recorded messages in the store `history`. Releases the GIL.
    pub fn ask<T: Send>(
        &self,
        py: Python<'_>,
        entry: Option<&str>,
        message: &Bound<'_, PyAny>,
        history: Option<&Bound<'_, PyAny>>,
        ask: impl FnOnce(Entry<'_>, &Json) -> T + Send,
    ) -> PyResult<T> {
        let (entry, message) = (self.entry(entry)?, message_to_json(message, self.rules.decimal_paths())?);
        let store = history.map(|store| extract_history_store(&self.rules, store)).transpose()?;
        with_history(py, &self.rules, entry, &message, store.as_ref(), |entry| ask(entry, &message))
    }
}

/// Returns the error of a call that names no entry (such as a table) although the rules have
/// several. `names` lists the entries.
pub fn no_default_entry_error(names: &str) -> PyErr {
    unknown_name_error(format!("no route lies outside tables, so name the `entry` that decides: {names}"))
}

#[pymethods]
impl Rules {
    /// The result of loading each item of the JSON document. Empty if the rules were not loaded
    /// from a document.
    #[getter]
    fn report(&self) -> Vec<ReportItem> {
        report_items(self.imported.as_ref().map(|imported| &imported.report))
    }

    /// Writes the rules as a document of another system: `routes`, `choice` or `flows`. Returns the
    /// document, and a report on the rules that the document cannot express.
    fn export<'py>(&self, py: Python<'py>, system: &str) -> PyResult<(Bound<'py, PyAny>, Vec<ReportItem>)> {
        export_document(py, &self.rules, system)
    }

    /// Returns the name that a route or branch has in the JSON document, given the name in these
    /// rules. Loading may have changed the name.
    fn original<'n>(&'n self, name: &'n str) -> &'n str {
        self.imported.as_ref().map_or(name, |imported| imported.original(name))
    }

    /// Returns the compiled rules as an artifact, which `from_artifact` loads. `strip_source`
    /// leaves out the text of the rules. `sign` is a private key as PEM text.
    #[pyo3(signature = (*, strip_source = false, sign = None))]
    fn to_artifact<'py>(
        &self,
        py: Python<'py>,
        strip_source: bool,
        sign: Option<&str>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let key = sign.map(SigningKey::from_pem).transpose().map_err(library_error)?;
        let artifact = without_gil(py, || match &key {
            Some(key) => self.rules.to_signed_artifact(strip_source, key),
            None => self.rules.to_artifact(strip_source),
        });
        Ok(PyBytes::new(py, &artifact))
    }

    /// Returns the names of all matching routes of `entry` (by default, of the routes outside any
    /// table), in evaluation order. The rules read the recorded messages in the store `history`.
    #[pyo3(signature = (message, *, entry = None, history = None))]
    fn matched(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        entry: Option<&str>,
        history: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        self.ask(py, entry, message, history, |entry, message| {
            entry.matched(message).into_iter().map(str::to_owned).collect()
        })
    }

    /// Explains the decision about a message. The rules read the recorded messages in the store
    /// `history`.
    #[pyo3(signature = (message, *, entry = None, show_private = false, history = None))]
    pub fn explain(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        entry: Option<&str>,
        show_private: bool,
        history: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Explanation> {
        let explain = |entry: Entry<'_>, message: &Json| entry.explain(message, show_private);
        self.ask(py, entry, message, history, explain).map(Explanation)
    }

    /// Analyses a text: its intent, entities, keywords and urgency. If the rules define a context
    /// score by `let context_score`, also computes this score for the object `ctx`.
    #[pyo3(signature = (text, ctx = None))]
    fn analyze<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        ctx: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ctx = ctx.map_or(Ok(Json::Null), |ctx| python_to_json(ctx, "ctx"))?;
        let analysis = without_gil(py, || self.rules.analyze_text(text, &ctx)).map_err(library_error)?;
        Ok(pythonize(py, &analysis)?)
    }

    /// The names of the tables, choices and routers that can decide, of `flows`, and of the routes
    /// outside tables: `routes`.
    #[getter]
    fn entries(&self) -> Vec<&str> {
        self.rules.entries().collect()
    }

    /// The names of all handlers that a decision may select.
    #[getter]
    fn targets(&self) -> Vec<&str> {
        self.rules.targets().into_iter().collect()
    }

    /// The warnings that `rulec check` prints: warnings of the compiler, and findings of the
    /// analysis. The analysis runs when this attribute is first read.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> Vec<Diagnostic> {
        let findings = without_gil(py, || self.findings.get_or_init(|| self.rules.analyse()));
        let found = findings.iter().map(|finding| &finding.diagnostic);
        let sources = self.rules.sources();
        self.rules.warnings().iter().chain(found).map(|warning| Diagnostic::new(warning, sources)).collect()
    }

    /// True if the rules have a `history` statement.
    #[getter]
    fn has_history(&self) -> bool {
        self.rules.has_history()
    }

    /// The generation: a number that is unique in this process, and greater for later rule sets.
    #[getter]
    fn generation(&self) -> u64 {
        self.rules.generation()
    }

    /// Returns the permissions that a handler requires.
    fn required_permissions(&self, handler: &str) -> Vec<&str> {
        self.rules.required_permissions(handler).iter().map(|permission| &**permission).collect()
    }

    /// Returns the ids of the nodes that receive the output of a workflow node. The router `router`
    /// selects them. `all_next_ids` lists all next nodes of the node, in order.
    fn next_nodes(
        &self,
        router: &str,
        output: &Bound<'_, PyAny>,
        all_next_ids: Names,
    ) -> PyResult<Vec<String>> {
        let all_next_ids: Vec<&str> = all_next_ids.0.iter().map(String::as_str).collect();
        self.rules
            .next_nodes(router, &python_to_json(output, "the output")?, &all_next_ids)
            .map_err(unknown_name_error)
    }

    /// The names of the payload kinds.
    #[getter]
    fn kinds(&self) -> Vec<&str> {
        payload::kinds(&self.rules).collect()
    }

    /// Creates a checker for payloads of one kind. `inputs` maps names of the rules' inputs to
    /// values. `options` is the value of the input `options`. With `strict`, a payload that
    /// violates a warning rule is rejected too. The rules read the recorded messages in the store
    /// `history` whose history key (such as a user id) is in `inputs`.
    #[pyo3(signature = (kind, *, inputs = None, options = None, strict = false, history = None))]
    fn judge(
        &self,
        kind: &str,
        inputs: Option<&Bound<'_, PyMapping>>,
        options: Option<&Bound<'_, PyAny>>,
        strict: bool,
        history: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Judge> {
        let judge = payload::Judge::new(&self.rules, kind).map_err(unknown_name_error)?;
        let judge = self.configure_judge(judge, inputs, options, strict)?;
        Ok(Judge { judge, history: JudgeHistory::new(&self.rules, inputs, history)? })
    }

    /// Creates a checker of payloads of all kinds. The field `field` of a payload names its kind. A
    /// payload without a known kind is rejected. `judge` describes the other parameters.
    #[pyo3(signature = (field, *, inputs = None, options = None, strict = false, history = None))]
    fn judge_by(
        &self,
        field: &str,
        inputs: Option<&Bound<'_, PyMapping>>,
        options: Option<&Bound<'_, PyAny>>,
        strict: bool,
        history: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<JudgeByField> {
        let configure = |judge| self.configure_judge(judge, inputs, options, strict);
        let judge = payload::JudgeByField::new(&self.rules, field, configure)?;
        Ok(JudgeByField { judge, history: JudgeHistory::new(&self.rules, inputs, history)? })
    }

    /// Returns pydantic model classes for the message, the payloads and the handlers' arguments.
    fn models<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("rulec.models")?.call_method1("of", (slf,))
    }

    /// Returns the JSON Schema of a payload kind.
    fn schema<'py>(&self, py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &payload::schema(&self.rules, kind).map_err(unknown_name_error)?)?)
    }

    /// The names of the choices.
    #[getter]
    fn choices(&self) -> Vec<&str> {
        self.rules.entries().filter(|name| choice::tool(&self.rules, name).is_ok()).collect()
    }

    /// Returns the definition of a choice as a tool that a language model may call.
    fn choice_tool<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &choice::tool(&self.rules, name).map_err(unknown_name_error)?)?)
    }

    /// Explains the outcome of a choice as text for the user, one sentence per reason.
    fn reasons(&self, name: &str, message: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let message = message_to_json(message, self.rules.decimal_paths())?;
        Ok(choice::reasons(&self.rules, name, &message)
            .map_err(unknown_name_error)?
            .map(Into::into)
            .collect())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<PickledRules<'py>> {
        let (py, rules) = (slf.py(), slf.get());
        let load = py.import("rulec._load")?.getattr("load")?;
        Ok((
            load,
            (
                rules.to_artifact(py, false, None)?,
                rules.functions.as_ref().map(|functions| functions.clone_ref(py)),
                rules.loaded_context().map(ToString::to_string),
            ),
        ))
    }

    /// Returns the rule set as HTML, for display in a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("rulec.notebook")?.call_method1("rules_html", (slf,))
    }

    fn __repr__(&self) -> String {
        format!("<Rules: {}, generation {}>", rule_counts_text(&self.rules), self.rules.generation())
    }
}
