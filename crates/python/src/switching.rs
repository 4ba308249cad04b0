//! Methods of the Python class `Router` that change its rules while it serves: swaps, edits, shadow
//! rules and watched files.

use super::live::{Edit, LiveRules, edit_error, extract_live_rules};
use super::names::Names;
use super::router::{Router, router_error};
use super::settings::CompilerSettings;
use super::shutdown::{start_future, without_gil};
use super::status::{WatchStatus, await_status};
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use pythonize::pythonize;
use rulec_runtime::route;
use std::path::PathBuf;
use std::sync::Arc;

#[pymethods]
impl Router {
    /// Replaces the rules, and returns the generation (version number) of the new rules.
    fn swap(&self, py: Python<'_>, rules: &Bound<'_, PyAny>) -> PyResult<u64> {
        let rules = extract_live_rules(rules)?;
        let swapped = without_gil(py, || self.router.swap(rules)).map_err(router_error)?;
        Ok(swapped.generation)
    }

    /// Applies edits to the active rules as one change. Returns the new generation (version
    /// number).
    fn edit(&self, py: Python<'_>, edits: Vec<Bound<'_, Edit>>) -> PyResult<u64> {
        let edits = edits.iter().map(|edit| edit.get().0.clone()).collect::<Vec<_>>();
        without_gil(py, || self.router.edit(&edits)).map_err(|error| edit_error(py, &error))?;
        Ok(self.router.rules().generation())
    }

    /// Sets shadow rules: they decide every message too, only to compare the decisions. Returns the
    /// generation (version number) of the shadow rules, for `promote`.
    fn shadow(&self, py: Python<'_>, rules: &Bound<'_, PyAny>) -> PyResult<u64> {
        let rules = extract_live_rules(rules)?;
        let generation = rules.generation();
        without_gil(py, || self.router.shadow(rules)).map_err(router_error)?;
        Ok(generation)
    }

    /// Returns how often the shadow rules decide differently from the active rules; None if there
    /// are no shadow rules.
    fn shadow_stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.router.shadow_stats().map(|stats| pythonize(py, &stats)).transpose()?)
    }

    /// Removes the shadow rules. Returns how often they decided differently from the active rules;
    /// None if there were no shadow rules.
    fn end_shadow<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let stats = without_gil(py, || self.router.end_shadow());
        Ok(stats.map(|stats| pythonize(py, &stats)).transpose()?)
    }

    /// Makes the shadow rules with this generation (version number) active. Returns the generation.
    fn promote(&self, py: Python<'_>, generation: u64) -> PyResult<u64> {
        let swapped = without_gil(py, || self.router.promote(generation)).map_err(router_error)?;
        Ok(swapped.generation)
    }

    /// Makes the earlier rules with this generation (version number) active again. Returns the
    /// generation.
    fn roll_back(&self, py: Python<'_>, generation: u64) -> PyResult<u64> {
        let swapped = without_gil(py, || self.router.roll_back(generation)).map_err(router_error)?;
        Ok(swapped.generation)
    }

    /// Returns the generations (version numbers) of the active, shadow and earlier rules.
    fn generations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.router.generations())?)
    }

    /// Watches a rule file, an artifact (compiled rules) or a JSON document. The current version of
    /// the file becomes active at once, and each later version when it is written. A version that
    /// cannot be loaded is refused, and the last good version stays active. The watching ends when
    /// the router watches another file, or when the router or the returned `Watch` is closed.
    /// `functions` are the Python functions that the rules call, by name. `WatchedRules` describes
    /// the other parameters.
    #[pyo3(signature = (path, *, functions = None, system = None, strict = false, literal = false,
        trusted = None, root = None, tier = None, index = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn watch<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        functions: Option<&Bound<'_, PyMapping>>,
        system: Option<&str>,
        strict: bool,
        literal: bool,
        trusted: Option<Names>,
        root: Option<PathBuf>,
        tier: Option<&str>,
        index: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let settings = CompilerSettings { tier, index, root, trusted, ..Default::default() };
        let loader = settings.source_loader(functions, (system, strict, literal))?;
        let (router, watched) = (self.router.clone(), self.watched.clone());
        let close_count = watched.close_count();
        start_future(py, async move {
            let watch = Arc::new(router.watch(loader, path).await.map_err(router_error)?);
            match watched.store_watch(&watch, close_count) {
                true => Ok(Watch(watch)),
                false => Err(router_error("the router was closed before the file was loaded")),
            }
        })
    }

    /// The rules that are active now. After `swap`, this attribute returns the new rules.
    #[getter]
    fn rules(&self) -> LiveRules {
        LiveRules::new(self.router.rules(), None)
    }
}

/// A file whose versions a router takes while it serves; see `Router.watch`.
///
/// The router watches it until it watches another file, or until `close` of the watch or the
/// router. `changed` waits for the next change after the call, or after the status `since`.
///
/// >>> import asyncio
/// >>> import pathlib, tempfile
/// >>> path = pathlib.Path(tempfile.mkdtemp(), "support.rules")
/// >>> _ = path.write_text("default -> chat")
/// >>> async def main():
/// ...     router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"})
/// ...     return (await router.watch(path)).status.loaded
/// >>> asyncio.run(main())
/// 1
#[pyclass(frozen, module = "rulec")]
pub struct Watch(Arc<route::Watch>);

#[pymethods]
impl Watch {
    /// The current state of the watched file.
    #[getter]
    fn status(&self) -> WatchStatus {
        WatchStatus(self.0.status())
    }

    /// Waits until the status differs from `since` (default: the current status), because a version
    /// of the file became active or was refused. Several calls may wait at the same time.
    #[pyo3(signature = (*, since = None))]
    fn changed<'py>(
        &self,
        py: Python<'py>,
        since: Option<&Bound<'py, WatchStatus>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = since.map_or_else(|| self.0.status(), |since| since.get().0.clone());
        await_status(py, self.0.changed_since(known))
    }

    /// Requests a check whether the file has changed, and returns without waiting for its result.
    fn check(&self) {
        self.0.check();
    }

    /// Stops watching the file. The rules that are active now stay active.
    fn close(&self) {
        self.0.close();
    }

    fn __repr__(&self) -> String {
        format!("<Watch: {}>", self.status().__repr__())
    }
}
