//! Python class for decision logs: one line of JSON per decision, in a file or passed to a Python
//! function.

use super::shutdown::{start_future, with_gil};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec_runtime::route;
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;

/// A decision log: one line of JSON per decision, in a file or passed to a function. Values of
/// `@private` fields are masked.
///
/// `target` is the path of a file to append to, or a function. The function receives each line as
/// text, on a separate thread. `message`, `explanation` and `analysis` select what a line contains.
/// At most `capacity` lines wait; further lines are dropped and counted.
///
/// >>> import asyncio
/// >>> lines = []
/// >>> async def main():
/// ...     log = DecisionLog(lines.append, message=False)
/// ...     router = Router(Rules.from_text("default -> chat"), {"chat": lambda request: "hi"}, log=log)
/// ...     await router.route({"text": "hello"})
/// ...     return await log.close()
/// >>> asyncio.run(main())["written"], '"handler":"chat"' in lines[0]
/// (1, True)
#[pyclass(frozen, module = "rulec")]
pub struct DecisionLog(route::DecisionLog);

#[pymethods]
impl DecisionLog {
    #[new]
    #[pyo3(signature = (target, *, message = true, explanation = false, analysis = false, capacity = 1024))]
    fn new(
        target: &Bound<'_, PyAny>,
        message: bool,
        explanation: bool,
        analysis: bool,
        capacity: usize,
    ) -> PyResult<DecisionLog> {
        let builder = route::DecisionLog::builder().message(message).explanation(explanation);
        let builder = builder.analysis(analysis).capacity(capacity);
        if target.is_callable() {
            let writer = FunctionWriter { function: target.clone().unbind() };
            return Ok(DecisionLog(builder.to_writer(writer)?));
        }
        let path = target.extract::<PathBuf>()?;
        let log = builder.to_file(&path).map_err(|error| match error.raw_os_error() {
            // Python chooses the class by the number, and shows the path.
            Some(number) => PyOSError::new_err((number, system_error_text(target.py(), number), path)),
            None => error.into(),
        })?;
        Ok(DecisionLog(log))
    }

    /// Returns the numbers of lines that were written, were dropped, and could not be written, and
    /// the last error.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        stats_to_python(py, &self.0.stats())
    }

    /// Waits until the lines of all earlier decisions are written. Returns the same as `stats()`.
    fn flush<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let log = self.0.clone();
        start_future(py, async move {
            let stats = log.flush().await;
            with_gil(|py| Ok(stats_to_python(py, &stats)?.unbind()))
        })
    }

    /// Waits like `flush`, then closes the log. Later decisions are counted as dropped.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let log = self.0.clone();
        start_future(py, async move {
            let stats = log.close().await;
            with_gil(|py| Ok(stats_to_python(py, &stats)?.unbind()))
        })
    }

    fn __repr__(&self) -> String {
        let stats = self.0.stats();
        format!(
            "<DecisionLog: {} written, {} dropped, {} failed>",
            stats.written, stats.dropped, stats.failed
        )
    }
}

/// Returns the text of the operating system for an error number, as Python shows it.
fn system_error_text(py: Python<'_>, number: i32) -> Option<String> {
    py.import("os").and_then(|os| os.call_method1("strerror", (number,))?.extract()).ok()
}

fn stats_to_python<'py>(py: Python<'py>, stats: &route::LogStats) -> PyResult<Bound<'py, PyAny>> {
    let route::LogStats { written, dropped, failed, last_error } = stats;
    let stats = json!({
        "written": written, "dropped": dropped, "failed": failed, "last_error": last_error,
    });
    Ok(pythonize(py, &stats)?)
}

/// Converts the Python argument `log` to a decision log. The argument is a `DecisionLog`, or the
/// target of a new log. `analysis` selects whether the lines of a new log contain the analysis of
/// each message's text.
pub fn extract_decision_log(log: &Bound<'_, PyAny>, analysis: bool) -> PyResult<route::DecisionLog> {
    match log.cast::<DecisionLog>() {
        Ok(log) => Ok(log.get().0.clone()),
        Err(_) => Ok(DecisionLog::new(log, true, false, analysis, 1024)?.0),
    }
}

/// A writer that passes each line of a log to a Python function.
struct FunctionWriter {
    function: Py<PyAny>,
}

impl Write for FunctionWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        with_gil(|py| match self.function.call1(py, (text.trim_end(),)) {
            Ok(_) => Ok(line.len()),
            Err(error) => Err(io::Error::other(error)),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
