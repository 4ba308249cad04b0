//! Decides record batches with `rulec-arrow`. Python passes and receives the batches over Arrow's C
//! data interface.

use super::error::{RulecError, library_error, unknown_name_error};
use super::judge::Judge;
use super::names::Names;
use super::rules::Rules;
use super::shutdown::without_gil;
use arrow_array::ffi_stream::ArrowArrayStreamReader;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_pyarrow::PyArrowType;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rulec_arrow::{ColumnsError, Decider, Options, PayloadJudge, write_lines};
use std::sync::{Arc, Mutex, PoisonError};

create_exception!(
    rulec,
    ColumnsMismatch,
    RulecError,
    "A column that the rules read, and that is missing or has a type that they cannot read.

>>> import pyarrow
>>> from rulec import batch
>>> rules = Rules.from_text(\"route big when n > 9 -> many\")
>>> try:
...     batch.decide(rules, pyarrow.table({\"m\": [1]}))
... except ColumnsMismatch as error:
...     print(str(error).split(\";\")[0])
the rules read `n`, but there is no such column"
);

/// A worker: a function that decides or checks each row of a record batch, and returns the answers.
/// Only one thread at a time uses a worker.
type BatchWorker = Box<dyn FnMut(&RecordBatch) -> Result<RecordBatch, ColumnsError> + Send>;

/// Creates workers (functions that answer record batches), and reuses the workers that no thread
/// uses.
struct WorkerPool {
    create_worker: Box<dyn Fn() -> BatchWorker + Send + Sync>,
    /// Workers that no thread uses at the moment. A call takes one, or creates one if there is
    /// none.
    idle_workers: Mutex<Vec<BatchWorker>>,
}

impl WorkerPool {
    fn new(create_worker: impl Fn() -> BatchWorker + Send + Sync + 'static) -> WorkerPool {
        WorkerPool { create_worker: Box::new(create_worker), idle_workers: Mutex::default() }
    }

    fn answer(&self, batch: &RecordBatch) -> Result<RecordBatch, ColumnsError> {
        let idle_worker = self.idle_workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = idle_worker.unwrap_or_else(|| (self.create_worker)());
        let answers = worker(batch);
        self.idle_workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        answers
    }
}

/// Rules or a judge, bound to a schema. Schemas, batches and streams are PyArrow objects.
///
/// >>> import pyarrow
/// >>> batch = pyarrow.record_batch({"n": [3, 30]})
/// >>> columns = Columns.of_rules(Rules.from_text("route big when n > 9 -> many default -> few"), batch.schema)
/// >>> columns.answer(batch).column("target").to_pylist()
/// ['few', 'many']
#[pyclass(frozen, module = "rulec")]
pub struct Columns {
    workers: Arc<WorkerPool>,
    schema: SchemaRef,
}

fn columns_error(error: &ColumnsError) -> PyErr {
    match error {
        ColumnsError::Entry(error) => unknown_name_error(error),
        error => ColumnsMismatch::new_err(error.to_string()),
    }
}

fn column_options(json: Option<Names>, allow_missing: bool, matched: bool) -> Options {
    let options = json.into_iter().flat_map(|names| names.0).fold(Options::default(), Options::json_column);
    let options = if allow_missing { options.allow_missing() } else { options };
    if matched { options.matched_column() } else { options }
}

#[pymethods]
impl Columns {
    /// Binds the rules to the columns of a schema. `entry` names the table, choice or router that
    /// decides; `None` means the routes outside any table, or else the only choice, router or set
    /// of flows. `json` names the columns whose texts are read as JSON. If `allow_missing` is true,
    /// a field that the rules read may have no column, and is then missing in every row. If
    /// `matched` is true, each answer lists all matching routes.
    #[staticmethod]
    #[pyo3(signature = (rules, schema, *, entry = None, json = None, allow_missing = false, matched = false))]
    fn of_rules(
        rules: &Bound<'_, Rules>,
        schema: PyArrowType<Schema>,
        entry: Option<&str>,
        json: Option<Names>,
        allow_missing: bool,
        matched: bool,
    ) -> PyResult<Columns> {
        let options = column_options(json, allow_missing, matched);
        let decider = Decider::new(&rules.get().rules, entry, Arc::new(schema.0), &options);
        let decider = decider.map_err(|error| columns_error(&error))?;
        let (schema, template) = (decider.schema(), Mutex::new(decider));
        let create_worker = move || -> BatchWorker {
            let mut decider = template.lock().unwrap_or_else(PoisonError::into_inner).clone_for_thread();
            Box::new(move |batch| decider.decide(batch))
        };
        Ok(Columns { workers: Arc::new(WorkerPool::new(create_worker)), schema })
    }

    /// Binds a checker of payloads to the columns of a schema. `json` names the columns whose texts
    /// are read as JSON.
    #[staticmethod]
    #[pyo3(signature = (judge, schema, *, json = None))]
    fn of_judge(
        judge: &Bound<'_, Judge>,
        schema: PyArrowType<Schema>,
        json: Option<Names>,
    ) -> PyResult<Columns> {
        if judge.get().history.is_some() {
            return Err(library_error("rows have no history; check each payload with `judge.judge`"));
        }
        let (judge, columns, options) =
            (judge.get().judge.clone(), Arc::new(schema.0), column_options(json, true, false));
        let schema = PayloadJudge::new(judge.clone(), columns.clone(), &options).schema();
        let create_worker = move || -> BatchWorker {
            let mut payload_judge = PayloadJudge::new(judge.clone(), columns.clone(), &options);
            Box::new(move |batch| payload_judge.judge(batch))
        };
        Ok(Columns { workers: Arc::new(WorkerPool::new(create_worker)), schema })
    }

    /// The Arrow schema of the answers.
    #[getter]
    fn schema(&self) -> PyArrowType<Schema> {
        PyArrowType((*self.schema).clone())
    }

    /// Decides or checks each row of a record batch. Returns a batch with one answer per row, in
    /// the same order.
    fn answer(&self, py: Python<'_>, batch: PyArrowType<RecordBatch>) -> PyResult<PyArrowType<RecordBatch>> {
        let answers = without_gil(py, || self.workers.answer(&batch.0));
        answers.map(PyArrowType).map_err(|error| columns_error(&error))
    }

    /// Returns a stream of answers. Reads and answers a batch of `stream` only when its answers are
    /// requested.
    fn answer_stream(
        &self,
        stream: PyArrowType<ArrowArrayStreamReader>,
    ) -> PyArrowType<Box<dyn RecordBatchReader + Send>> {
        let workers = self.workers.clone();
        let answers = stream.0.map(move |batch| {
            workers.answer(&batch?).map_err(|error| ArrowError::ExternalError(Box::new(error)))
        });
        PyArrowType(Box::new(RecordBatchIterator::new(answers, self.schema.clone())))
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        format!("<Columns that answer {}>", names.join(", "))
    }
}

/// Converts a batch of answers to JSON lines, equal to the output of `rulec run` for the same
/// messages. `first` is the line number of the first answer.
#[pyfunction]
#[pyo3(signature = (answers, first = 1))]
pub fn json_lines<'py>(
    py: Python<'py>,
    answers: PyArrowType<RecordBatch>,
    first: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut lines = Vec::new();
    without_gil(py, || write_lines(&answers.0, first, &mut lines)).map_err(library_error)?;
    Ok(PyBytes::new(py, &lines))
}
