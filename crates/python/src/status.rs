//! The state of watched rule files, and waiting for a change of the state.

use super::document::{ReportItem, report_items};
use super::error::library_error;
use super::shutdown::start_future;
use pyo3::prelude::*;
use rulec_runtime::route::WatchStatus as Status;

/// The state of a watched file.
///
/// >>> import pathlib, tempfile
/// >>> path = pathlib.Path(tempfile.mkdtemp(), "support.rules")
/// >>> _ = path.write_text("default -> chat")
/// >>> status = WatchedRules(path).status
/// >>> status.loaded, status.refused, status.error
/// (1, 0, None)
#[pyclass(frozen, eq, module = "rulec")]
#[derive(PartialEq)]
pub struct WatchStatus(pub Status);

#[pymethods]
impl WatchStatus {
    /// The generation (version number) of the rules that became active most recently.
    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation
    }

    /// The number of versions of the files that became active, including the first.
    #[getter]
    fn loaded(&self) -> u64 {
        self.0.loaded
    }

    /// The number of versions of the files that were refused because they could not be loaded.
    #[getter]
    fn refused(&self) -> u64 {
        self.0.refused
    }

    /// The reason why the current version of the files is not active; None if it is active.
    #[getter]
    fn error(&self) -> Option<String> {
        self.0.error.as_ref().map(ToString::to_string)
    }

    /// The result of loading each item of the JSON document whose rules became active most
    /// recently. Empty if the file is no such document.
    #[getter]
    fn report(&self) -> Vec<ReportItem> {
        report_items(self.0.report.as_deref())
    }

    pub fn __repr__(&self) -> String {
        let error = self.error().map_or(String::new(), |error| format!(", error {error:?}"));
        let Status { generation, loaded, refused, .. } = &self.0;
        format!("<WatchStatus of generation {generation}: {loaded} loaded, {refused} refused{error}>")
    }
}

/// Converts the future of a new status to the awaitable that `changed` returns.
pub fn await_status<'py>(
    py: Python<'py>,
    status: impl Future<Output = Option<Status>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    start_future(py, async move {
        let ended = || library_error("the file is no longer watched, because the watch was closed");
        status.await.map(WatchStatus).ok_or_else(ended)
    })
}
