//! Python class for rules that are reloaded from a watched file.

use super::arguments::refuse_unknown_arguments;
use super::decision::{Decision, Explanation};
use super::error::library_error;
use super::live::{LiveRules, with_entry};
use super::log::extract_decision_log;
use super::names::Names;
use super::prepared::message_to_json;
use super::settings::CompilerSettings;
use super::shutdown::{wait_for, without_gil};
use super::stats::stats_to_python;
use super::status::{WatchStatus, await_status};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use rulec_runtime::route;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rules that follow a file: a rule file with its imports, an artifact (compiled rules), or a JSON
/// document of another system. A version that cannot be loaded is refused, and the last good
/// version stays active.
///
/// `functions` maps names to functions that the rules may call. `log` is a `DecisionLog`, the path
/// of a log file, or a function that receives each line. `trusted` are public keys as PEM texts. If
/// given, only artifacts that one of them signed are loaded, and neither texts nor documents.
/// `Rules.from_path` describes `root`, `tier` and `index`.
///
/// `system` names the system of a JSON document; a `.json` file needs no name if its shape shows
/// the system. An item that cannot be used is skipped, and `status.report` names it; with `strict`,
/// it makes the version fail. With `literal`, patterns of flows match literally.
///
/// >>> import pathlib, tempfile
/// >>> path = pathlib.Path(tempfile.mkdtemp(), "support.rules")
/// >>> _ = path.write_text("default -> chat")
/// >>> WatchedRules(path).decide({"text": "hello"}).target
/// 'chat'
#[pyclass(frozen, module = "rulec")]
pub struct WatchedRules {
    pub rules: route::WatchedRules,
    /// Whether a warning was given that the rules read earlier messages, but there is no store.
    warned: AtomicBool,
    /// The Python functions that the rules call, by name.
    functions: Option<Py<PyMapping>>,
}

#[pymethods]
impl WatchedRules {
    #[new]
    #[pyo3(signature = (path, *, functions = None, log = None, system = None, strict = false, literal = false,
        trusted = None, root = None, tier = None, index = None, **unknown),
        text_signature = "(path, *, functions=None, log=None, system=None, strict=False, literal=False, trusted=None, \
            root=None, tier=None, index=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        functions: Option<Bound<'_, PyMapping>>,
        log: Option<&Bound<'_, PyAny>>,
        system: Option<&str>,
        strict: bool,
        literal: bool,
        trusted: Option<Names>,
        root: Option<PathBuf>,
        tier: Option<&str>,
        index: Option<&str>,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<WatchedRules> {
        refuse_unknown_arguments(&py.get_type::<WatchedRules>(), unknown)?;
        let settings = CompilerSettings { tier, index, root, trusted, ..Default::default() };
        let loader = settings.source_loader(functions.as_ref(), (system, strict, literal))?;
        let mut builder = route::WatchedRules::builder(loader, path);
        if let Some(log) = log {
            builder = builder.log(extract_decision_log(log, false)?);
        }
        let rules = wait_for(py, builder.open()).map_err(library_error)?;
        let functions = functions.map(Bound::unbind);
        Ok(WatchedRules { rules, warned: AtomicBool::new(false), functions })
    }

    /// Decides a message by the active version of the file. Counts and logs the decision. `entry`
    /// names the table, choice or router that decides.
    #[pyo3(signature = (message, *, entry = None))]
    fn decide(&self, py: Python<'_>, message: &Bound<'_, PyAny>, entry: Option<&str>) -> PyResult<Decision> {
        let rules = self.rules.rules();
        if rules.has_history() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(target: "rulec::history", "{}", route::Warning::NoHistory);
        }
        let message = message_to_json(message, &rules.decimal_paths())?;
        let decision = with_entry(
            || self.rules.rules(),
            entry,
            |entry| without_gil(py, || self.rules.decide_in(entry, &message)),
        )?;
        Decision::with_json_message(decision, message)
    }

    /// Explains how the active version decides a message. Neither counts nor logs the decision.
    #[pyo3(signature = (message, *, entry = None, show_private = false))]
    fn explain(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyAny>,
        entry: Option<&str>,
        show_private: bool,
    ) -> PyResult<Explanation> {
        self.rules(py).explain(py, message, entry, show_private, None)
    }

    /// The active version of the rules. Its decisions are neither counted nor logged.
    #[getter]
    fn rules(&self, py: Python<'_>) -> LiveRules {
        let functions = self.functions.as_ref().map(|functions| functions.clone_ref(py));
        let loaded = self.rules.loaded_rules();
        LiveRules::from_loaded(loaded, functions)
    }

    /// The current state of the watched file.
    #[getter]
    fn status(&self) -> WatchStatus {
        WatchStatus(self.rules.status())
    }

    /// Waits until the status differs from `since` (default: the current status), because a version
    /// of the file became active or was refused. Several calls may wait at the same time.
    #[pyo3(signature = (*, since = None))]
    fn changed<'py>(
        &self,
        py: Python<'py>,
        since: Option<&Bound<'py, WatchStatus>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = since.map_or_else(|| self.rules.status(), |since| since.get().0.clone());
        await_status(py, self.rules.changed_since(known))
    }

    /// Returns counts and latencies by route, like `Router.stats`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        stats_to_python(py, &self.rules.stats())
    }

    /// Requests a check whether the file has changed, and returns without waiting for its result.
    fn check(&self) {
        self.rules.check();
    }

    fn __repr__(&self) -> String {
        format!("<WatchedRules: {}>", self.status().__repr__())
    }
}
