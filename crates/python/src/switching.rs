//! How a router takes other rules while it serves: swaps, edits, shadow rules and watched files.

use super::host::register_functions;
use super::live::{Edit, LiveRules, WatchStatus, edit_error, live_rules};
use super::router::{Router, router_error};
use super::shutdown::{start_future, without_gil};
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use pythonize::pythonize;
use rulec::Compiler;
use rulec_runtime::route;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

#[pymethods]
impl Router {
    /// Replaces the rules, and returns the generation number of the new rules.
    fn swap(&self, py: Python<'_>, rules: &Bound<'_, PyAny>) -> PyResult<u64> {
        let rules = live_rules(rules)?;
        let swapped = without_gil(py, || self.router.swap(rules)).map_err(router_error)?;
        Ok(swapped.generation)
    }

    /// Applies edits to the active rules as one change. Returns the new generation.
    fn edit(&self, py: Python<'_>, edits: Vec<Bound<'_, Edit>>) -> PyResult<u64> {
        let edits = edits.iter().map(|edit| edit.get().0.clone()).collect::<Vec<_>>();
        without_gil(py, || self.router.edit(&edits)).map_err(|error| edit_error(py, &error))?;
        Ok(self.router.rules().generation())
    }

    /// Lets rules decide every message in addition, only to compare the decisions. Returns their
    /// generation, for `promote`.
    fn shadow(&self, py: Python<'_>, rules: &Bound<'_, PyAny>) -> PyResult<u64> {
        let rules = live_rules(rules)?;
        let generation = rules.generation();
        without_gil(py, || self.router.shadow(rules)).map_err(router_error)?;
        Ok(generation)
    }

    /// Returns what the shadow rules decided differently; None if there are none.
    fn shadow_stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.router.shadow_stats().map(|stats| pythonize(py, &stats)).transpose()?)
    }

    /// Removes the shadow rules, and returns what they decided differently.
    fn end_shadow<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let stats = without_gil(py, || self.router.end_shadow());
        Ok(stats.map(|stats| pythonize(py, &stats)).transpose()?)
    }

    /// Makes the shadow rules of this generation active. Returns the generation.
    fn promote(&self, py: Python<'_>, generation: u64) -> PyResult<u64> {
        let swapped = without_gil(py, || self.router.promote(generation)).map_err(router_error)?;
        Ok(swapped.generation)
    }

    /// Makes the earlier rules of this generation active again. Returns the generation.
    fn roll_back(&self, py: Python<'_>, generation: u64) -> PyResult<u64> {
        let swapped = without_gil(py, || self.router.roll_back(generation)).map_err(router_error)?;
        Ok(swapped.generation)
    }

    /// Returns the generations of the active, shadow and earlier rules.
    fn generations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.router.generations())?)
    }

    /// Takes the versions of a rule file or artifact as they are written, the first one at once. A
    /// version that cannot be loaded is refused, and the last good version stays active.
    #[pyo3(signature = (path, *, functions = None))]
    fn watch<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        functions: Option<&Bound<'_, PyMapping>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let compiler = register_functions(Compiler::new(), functions)?;
        let router = self.router.clone();
        start_future(py, async move {
            let watch = router.watch(compiler, path).await.map_err(router_error)?;
            Ok(Watch {
                status: Arc::new(std::sync::Mutex::new(watch.status())),
                watch: Arc::new(Mutex::new(watch)),
            })
        })
    }

    /// The active rules. After `swap`, they are others.
    #[getter]
    fn rules(&self) -> LiveRules {
        LiveRules::new(self.router.rules(), None)
    }
}

/// A file whose versions a router takes while it serves.
#[pyclass(frozen, module = "rulec")]
pub struct Watch {
    watch: Arc<Mutex<route::Watch>>,
    /// The latest status that was read.
    status: Arc<std::sync::Mutex<route::WatchStatus>>,
}

#[pymethods]
impl Watch {
    #[getter]
    fn status(&self) -> WatchStatus {
        let mut status = self.status.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // While `changed` waits, it holds the watch, and the status is the one that it waits on.
        if let Ok(watch) = self.watch.try_lock() {
            *status = watch.status();
        }
        status.clone().into()
    }

    /// Waits until a version of the file becomes active or is refused.
    fn changed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (watch, status) = (self.watch.clone(), self.status.clone());
        start_future(py, async move {
            let changed = watch.lock().await.changed().await;
            *status.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = changed.clone();
            Ok(WatchStatus::from(changed))
        })
    }

    fn __repr__(&self) -> String {
        format!("<Watch: {}>", self.status().__repr__())
    }
}
