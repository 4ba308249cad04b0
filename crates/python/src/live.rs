//! Python class for rules that the program edits while other threads decide with them.

use super::decide::{add_message_index, convert_text_decision};
use super::decision::{Decision, Explanation};
use super::error::{compile_error, library_error, unknown_name_error};
use super::loading::{NAME_OF_UNNAMED_TEXT, text_loader};
use super::message::text_bytes;
use super::names::Names;
use super::prepared::message_to_json;
use super::rules::{Rules, no_default_entry_error};
use super::settings::CompilerSettings;
use super::shutdown::without_gil;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use rulec::{Compiler, EditError, UnknownEntry};
use rulec_import::Imported;
use rulec_runtime::route;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The name with which a caller selects the routes outside any table to decide a message.
pub const ROUTES_ENTRY: &str = "routes";

/// Calls `work` with the name of the entry (such as a table) that decides. This is `name` or,
/// without a name, the default entry of the rules that `rules` returns.
pub fn with_entry<T>(
    rules: impl Fn() -> rulec::LiveRules,
    name: Option<&str>,
    mut work: impl FnMut(&str) -> Result<T, UnknownEntry>,
) -> PyResult<T> {
    if let Some(name) = name {
        return work(name).map_err(unknown_name_error);
    }
    let mut entry = default_entry_name(&rules())?;
    loop {
        let result = work(&entry);
        if result.is_err() {
            // Another thread may have replaced the rules since the name was read.
            let current = default_entry_name(&rules())?;
            if current != entry {
                entry = current;
                continue;
            }
        }
        return result.map_err(unknown_name_error);
    }
}

/// Returns the name of the entry (such as a table) that decides if the caller names none.
pub fn default_entry_name(rules: &rulec::LiveRules) -> PyResult<String> {
    match rules.default_entry() {
        Ok(name) => Ok(name),
        Err(names) if names.is_empty() => Ok(ROUTES_ENTRY.to_owned()),
        Err(names) => Err(no_default_entry_error(&names.join(", "))),
    }
}

/// Converts the reason why an edit failed to an exception. Statements that do not compile raise
/// `CompileError`.
pub fn edit_error(py: Python<'_>, error: &EditError) -> PyErr {
    match error {
        EditError::Compile(error) => compile_error(py, error),
        EditError::UnknownTable(_) | EditError::UnknownStatement(_) | EditError::UnknownFile(..) => {
            unknown_name_error(error)
        }
        _ => library_error(error),
    }
}

/// An edit of live rules; `LiveRules.edit` applies a list of edits at once.
///
/// >>> Edit.remove("money") == Edit.remove("money", table="routes")
/// True
#[pyclass(frozen, module = "rulec")]
pub struct Edit(
    pub rulec::Edit,
    // The text for `repr`.
    String,
);

impl Edit {
    /// Creates an edit. `call` is for `repr`: the Python method that creates it, and its first
    /// argument.
    fn new(edit: rulec::Edit, call: (&str, &str), table: Option<&str>, file: Option<&str>) -> Edit {
        let (method, argument) = call;
        let mut shown = format!("Edit.{method}({argument:?}");
        for (name, value) in [("table", table), ("file", file)] {
            shown += &value.map_or(String::new(), |value| format!(", {name}={value:?}"));
        }
        let edit = table.into_iter().fold(edit, rulec::Edit::in_table);
        Edit(file.into_iter().fold(edit, rulec::Edit::in_file), shown + ")")
    }
}

#[pymethods]
impl Edit {
    /// Inserts a statement, into `table` if given, otherwise at the top level. `file` is needed
    /// only to insert into a file other than the main file.
    #[staticmethod]
    #[pyo3(signature = (statement, *, table = None, file = None))]
    fn insert(statement: &str, table: Option<&str>, file: Option<&str>) -> Edit {
        Edit::new(rulec::Edit::insert(statement), ("insert", statement), table, file)
    }

    /// Replaces the statement that has the same keyword and name, in `table` if given. `file` is
    /// needed only if several files contain such a statement.
    #[staticmethod]
    #[pyo3(signature = (statement, *, table = None, file = None))]
    fn replace(statement: &str, table: Option<&str>, file: Option<&str>) -> Edit {
        Edit::new(rulec::Edit::replace(statement), ("replace", statement), table, file)
    }

    /// Removes a statement, given by its keyword and name, from `table` if given. A bare name means
    /// a route. `file` is needed only if several files contain such a statement.
    #[staticmethod]
    #[pyo3(signature = (name, *, table = None, file = None))]
    fn remove(name: &str, table: Option<&str>, file: Option<&str>) -> Edit {
        Edit::new(rulec::Edit::remove(name), ("remove", name), table, file)
    }

    fn __repr__(&self) -> String {
        self.1.clone()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Edit>().is_ok_and(|other| other.get().0 == self.0)
    }
}

/// Rules that can be edited while threads decide with them.
///
/// >>> rules = LiveRules.from_text("default -> chat")
/// >>> generation = rules.insert('route hello when text contains "hello" -> greeter')
/// >>> rules.decide({"text": "hello"}).target
/// 'greeter'
#[pyclass(frozen, module = "rulec")]
pub struct LiveRules {
    pub rules: rulec::LiveRules,
    /// The Python functions that the rules call, by name. `snapshot` passes them to its result.
    functions: Option<Py<PyMapping>>,
    /// The JSON document from which the rules were loaded; `None` for other rules. `snapshot`
    /// passes it to its result, whose payload checkers read its context.
    pub imported: Option<Arc<Imported>>,
}

impl LiveRules {
    /// Creates live rules. `functions` are the Python functions that the rules call, by name.
    pub fn new(rules: rulec::LiveRules, functions: Option<Py<PyMapping>>) -> LiveRules {
        LiveRules { rules, functions, imported: None }
    }

    /// Creates live rules from a version of a watched file.
    pub fn from_loaded(loaded: route::LoadedRules, functions: Option<Py<PyMapping>>) -> LiveRules {
        LiveRules { rules: loaded.rules, functions, imported: loaded.document }
    }

    /// Returns the rules with the JSON document from which they were loaded.
    pub fn loaded_rules(&self) -> route::LoadedRules {
        let mut loaded = route::LoadedRules::from(self.rules.clone());
        loaded.document.clone_from(&self.imported);
        loaded
    }

    fn compile(
        py: Python<'_>,
        functions: Option<Bound<'_, PyMapping>>,
        settings: CompilerSettings<'_>,
        compile: impl FnOnce(Compiler) -> Result<rulec::LiveRules, rulec::CompileError> + Send,
    ) -> PyResult<LiveRules> {
        let rules = settings.compile(py, functions.as_ref(), compile)?;
        Ok(LiveRules::new(rules, functions.map(Bound::unbind)))
    }

    /// Calls `work` with `name` or, without it, the name of the default entry (such as a table).
    pub fn with_entry<T>(
        &self,
        name: Option<&str>,
        work: impl FnMut(&str) -> Result<T, UnknownEntry>,
    ) -> PyResult<T> {
        with_entry(|| self.rules.clone(), name, work)
    }

    fn apply(&self, py: Python<'_>, edits: &[rulec::Edit]) -> PyResult<u64> {
        without_gil(py, || self.rules.edit(edits)).map_err(|error| edit_error(py, &error))?;
        Ok(self.rules.generation())
    }
}

#[pymethods]
impl LiveRules {
    /// Compiles a file and its imports. The parameters are as in `Rules.from_path`. An edit may
    /// import further files of the folder.
    #[staticmethod]
    #[pyo3(signature = (path, *, functions = None, root = None, tier = None, index = None))]
    fn from_path(
        py: Python<'_>,
        path: PathBuf,
        functions: Option<Bound<'_, PyMapping>>,
        root: Option<PathBuf>,
        tier: Option<&str>,
        index: Option<&str>,
    ) -> PyResult<Self> {
        let settings = CompilerSettings { tier, index, root, ..CompilerSettings::default() };
        LiveRules::compile(py, functions, settings, |compiler| rulec::LiveRules::from_path(compiler, path))
    }

    /// Compiles a text. The parameters are as in `Rules.from_text`.
    #[staticmethod]
    #[pyo3(signature = (text, *, functions = None, imports = None, tier = None, index = None))]
    fn from_text(
        py: Python<'_>,
        text: &str,
        functions: Option<Bound<'_, PyMapping>>,
        imports: Option<HashMap<String, String>>,
        tier: Option<&str>,
        index: Option<&str>,
    ) -> PyResult<Self> {
        let (loader, settings) =
            (text_loader(text, imports)?, CompilerSettings { tier, index, ..Default::default() });
        LiveRules::compile(py, functions, settings, |compiler| {
            rulec::LiveRules::new(compiler, &loader, NAME_OF_UNNAMED_TEXT)
        })
    }

    /// Loads an artifact (compiled rules), from bytes or a file; see `Rules.from_artifact`. Its
    /// rules cannot be edited.
    #[staticmethod]
    #[pyo3(signature = (artifact, *, functions = None, trusted = None, tier = None, index = None))]
    fn from_artifact(
        py: Python<'_>,
        artifact: &Bound<'_, PyAny>,
        functions: Option<Bound<'_, PyMapping>>,
        trusted: Option<Names>,
        tier: Option<&str>,
        index: Option<&str>,
    ) -> PyResult<Self> {
        let kept = functions.as_ref().map(|functions| functions.clone().unbind());
        let rules = Rules::from_artifact(py, artifact, functions, trusted, tier, index, false)?;
        Ok(LiveRules::new(rules.rules.into(), kept))
    }

    /// Decides a message by the current rules. The parameters are as in `Rules.decide`.
    #[pyo3(signature = (message, *, entry = None))]
    fn decide(&self, py: Python<'_>, message: &Bound<'_, PyAny>, entry: Option<&str>) -> PyResult<Decision> {
        let message = message_to_json(message, &self.rules.decimal_paths())?;
        let decision =
            self.with_entry(entry, |entry| without_gil(py, || self.rules.decide_in(entry, &message)))?;
        Decision::with_json_message(decision, message)
    }

    /// Decides a message given as JSON text.
    #[pyo3(signature = (text, *, entry = None))]
    fn decide_json(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Decision> {
        let bytes = text_bytes(text)?;
        let decision =
            self.with_entry(entry, |entry| without_gil(py, || self.rules.decide_line_in(entry, bytes)))?;
        convert_text_decision(decision, text)
    }

    /// Decides a sequence of messages, each by the rules that are active when it is decided. The
    /// error for an invalid message contains the index of the message.
    #[pyo3(signature = (messages, *, entry = None))]
    fn decide_many(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Vec<Decision>> {
        let decide = |(index, message): (usize, PyResult<Bound<'_, PyAny>>)| {
            self.decide(py, &message?, entry).map_err(|error| add_message_index(py, index, error))
        };
        messages.try_iter()?.enumerate().map(decide).collect()
    }

    /// Returns the names of all matching routes of `entry`, in evaluation order.
    #[pyo3(signature = (message, *, entry = None))]
    fn matched(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        entry: Option<&str>,
    ) -> PyResult<Vec<String>> {
        let message = message_to_json(message, &self.rules.decimal_paths())?;
        self.with_entry(entry, |entry| without_gil(py, || self.rules.matched_in(entry, &message)))
    }

    /// Explains how the current rules decide a message. Pending edits are compiled first. The rules
    /// read the recorded messages in the store `history`.
    #[pyo3(signature = (message, *, entry = None, show_private = false, history = None))]
    pub fn explain(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        entry: Option<&str>,
        show_private: bool,
        history: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Explanation> {
        self.snapshot(py)?.explain(py, message, entry, show_private, history)
    }

    /// Inserts a statement, into `table` if given. Returns the new generation: the version number
    /// of the rules, which every edit increases.
    #[pyo3(signature = (statement, *, table = None, file = None))]
    fn insert(
        &self,
        py: Python<'_>,
        statement: &str,
        table: Option<&str>,
        file: Option<&str>,
    ) -> PyResult<u64> {
        self.apply(py, &[Edit::insert(statement, table, file).0])
    }

    /// Replaces the statement that has the same keyword and name. Returns the new generation
    /// (version number of the rules).
    #[pyo3(signature = (statement, *, table = None, file = None))]
    fn replace(
        &self,
        py: Python<'_>,
        statement: &str,
        table: Option<&str>,
        file: Option<&str>,
    ) -> PyResult<u64> {
        self.apply(py, &[Edit::replace(statement, table, file).0])
    }

    /// Removes a statement, given by its keyword and name. A bare name means a route. Returns the
    /// new generation (version number of the rules).
    #[pyo3(signature = (name, *, table = None, file = None))]
    fn remove(&self, py: Python<'_>, name: &str, table: Option<&str>, file: Option<&str>) -> PyResult<u64> {
        self.apply(py, &[Edit::remove(name, table, file).0])
    }

    /// Applies a list of edits as one change: a decision sees all of the edits or none. Returns the
    /// new generation (version number of the rules).
    fn edit(&self, py: Python<'_>, edits: Vec<Bound<'_, Edit>>) -> PyResult<u64> {
        self.apply(py, &edits.iter().map(|edit| edit.get().0.clone()).collect::<Vec<_>>())
    }

    /// True if the table `table` has a route named `route`.
    #[pyo3(signature = (route, *, table = "routes"))]
    fn contains(&self, py: Python<'_>, route: &str, table: &str) -> PyResult<bool> {
        without_gil(py, || self.rules.contains(table, route)).map_err(|error| edit_error(py, &error))
    }

    /// Compiles the pending edits into the rule set now. Without this call, a background thread
    /// compiles them later.
    fn merge(&self, py: Python<'_>) -> PyResult<()> {
        without_gil(py, || self.rules.merge()).map_err(|error| compile_error(py, &error))
    }

    /// Returns an unchanging copy of the rules, with all edits.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Rules> {
        self.merge(py)?;
        let functions = self.functions.as_ref().map(|functions| functions.clone_ref(py));
        let mut rules = Rules::from_compiled(self.rules.rules(), functions);
        rules.imported.clone_from(&self.imported);
        Ok(rules)
    }

    /// The number of edits that are not yet compiled into the rule set.
    #[getter]
    fn pending(&self) -> usize {
        self.rules.pending()
    }

    /// The generation: the version number of the rules, which every edit increases.
    #[getter]
    fn generation(&self) -> u64 {
        self.rules.generation()
    }

    /// The texts of the rule files with all edits, as pairs of the file's name and its text.
    #[getter]
    fn texts(&self, py: Python<'_>) -> Vec<(String, String)> {
        without_gil(py, || self.rules.texts())
    }

    fn __repr__(&self) -> String {
        format!("<LiveRules of generation {}>", self.rules.generation())
    }
}

/// Converts a Python argument, which is a `Rules` or a `LiveRules` object, to live rules.
pub fn extract_live_rules(rules: &Bound<'_, PyAny>) -> PyResult<rulec::LiveRules> {
    match rules.cast::<LiveRules>() {
        Ok(live) => Ok(live.get().rules.clone()),
        Err(_) => match rules.cast::<Rules>() {
            Ok(rules) => Ok(rules.get().rules.clone().into()),
            Err(_) => {
                let (found, help) = (rules.get_type(), "`Rules.from_path` reads a file");
                Err(PyTypeError::new_err(format!(
                    "`Rules` or `LiveRules` are wanted, and not a {found}; {help}"
                )))
            }
        },
    }
}
