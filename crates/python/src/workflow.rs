//! Python classes for workflows whose nodes are Python functions. The rules can select the next
//! nodes of a node.

use super::callback::CallerLoop;
use super::error::{RulecError, library_error, unknown_name_error};
use super::message::{mapping_entries, python_to_json};
use super::names::Names;
use super::rules::Rules;
use super::shutdown::{start_future, with_gil};
use super::worker::{PythonProcessor, call_factory, node_factory};
use pyo3::create_exception;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use pythonize::{depythonize, pythonize};
use rulec_runtime::workflow::processors::{Loop, Vote, echo};
use rulec_runtime::workflow::{
    self, AppendValues, Arrival, ByNode, FirstValues, LatestValues, MergeStrategy, Node, NodeId, RulesRouter,
    SavedRun, WorkflowBuilder,
};
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use tokio::sync::Mutex;

create_exception!(
    rulec,
    WorkflowError,
    RulecError,
    "A workflow that cannot be built, or a run that cannot be resumed.

>>> try:
...     Workflow(\"a\", [{\"id\": \"a\", \"type\": \"write\", \"next\": [\"b\"]}], workers={\"write\": print})
... except WorkflowError as error:
...     print(\"`b`\" in str(error))
True"
);

fn workflow_error(error: impl ToString) -> PyErr {
    WorkflowError::new_err(error.to_string())
}

/// A merge strategy, which combines the inputs of a node: it calls a Python function with the node
/// and the inputs. Each input is a pair: the id of the node that sent the value, and the value.
struct PythonMerge(Py<PyAny>);

impl MergeStrategy for PythonMerge {
    fn merge(&self, node: &NodeId, inputs: Vec<Arrival>) -> Json {
        with_gil(|py| {
            let inputs: Vec<(&str, &Json)> =
                inputs.iter().map(|input| (input.from.as_str(), &input.value)).collect();
            let merged = pythonize(py, &inputs).map_err(PyErr::from);
            let merged = merged.and_then(|inputs| self.0.bind(py).call1((node.as_str(), inputs)));
            let merged = merged.and_then(|merged| python_to_json(&merged, "the merged input"));
            merged.unwrap_or_else(|error| {
                error.write_unraisable(py, Some(self.0.bind(py)));
                Json::Null
            })
        })
    }
}

/// The merge strategy that Python passes as an argument: the name of a built-in strategy, or a
/// function. A strategy combines the inputs of a node.
enum MergeSetting {
    First,
    Latest,
    Append,
    ByNode,
    Function(PythonMerge),
}

impl MergeSetting {
    fn new(merge: &Bound<'_, PyAny>) -> PyResult<MergeSetting> {
        let Ok(word) = merge.cast::<PyString>() else {
            return Ok(MergeSetting::Function(PythonMerge(merge.clone().unbind())));
        };
        match word.to_str()? {
            "first" => Ok(MergeSetting::First),
            "latest" => Ok(MergeSetting::Latest),
            "append" => Ok(MergeSetting::Append),
            "by_node" => Ok(MergeSetting::ByNode),
            other => {
                let help = "write `first`, `latest`, `append` or `by_node`, or give a function";
                Err(workflow_error(format!("`{other}` is no merge strategy; {help}")))
            }
        }
    }

    /// Sets the merge strategy of one node, or of all nodes if `node` is `None`.
    fn apply_to(self, builder: WorkflowBuilder, node: Option<&str>) -> WorkflowBuilder {
        fn set_strategy(
            builder: WorkflowBuilder,
            node: Option<&str>,
            strategy: impl MergeStrategy + 'static,
        ) -> WorkflowBuilder {
            match node {
                Some(node) => builder.merge_at(node, strategy),
                None => builder.merge(strategy),
            }
        }
        match self {
            MergeSetting::First => set_strategy(builder, node, FirstValues),
            MergeSetting::Latest => set_strategy(builder, node, LatestValues),
            MergeSetting::Append => set_strategy(builder, node, AppendValues),
            MergeSetting::ByNode => set_strategy(builder, node, ByNode),
            MergeSetting::Function(function) => set_strategy(builder, node, function),
        }
    }
}

/// A graph of nodes that runs. A `router` of the rules may choose where an output goes.
///
/// `nodes` are dicts with `id`, `type`, `next`, `config`, `parallel` and `time_limit_ms`. `routers`
/// maps ids of nodes to names of `router` statements of `rules`. `workers` do the work of nodes by
/// type: a function of a `NodeCall`, or `"loop"`, `"vote"` or `"echo"`. `factories` make a worker
/// for each node, and `processors` are the workers of single nodes. `merge` and `merges` (by node)
/// make one input of several: `"first"`, `"latest"`, `"append"`, `"by_node"`, or a function of the
/// node and its inputs.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     workflow = Workflow("a", [{"id": "a", "type": "add", "next": ["b"]}, {"id": "b", "type": "add"}],
/// ...                         workers={"add": lambda call: call.input + 1})
/// ...     return await workflow.run(1)
/// >>> asyncio.run(main())["outputs"]
/// {'b': 3}
#[pyclass(frozen, module = "rulec")]
pub struct Workflow {
    workflow: workflow::Workflow,
    caller: CallerLoop,
}

/// The parts of a workflow that the program passes as keyword arguments.
#[derive(Default)]
struct WorkflowParts<'py> {
    workers_by_kind: Option<Bound<'py, PyMapping>>,
    factories_by_kind: Option<Bound<'py, PyMapping>>,
    functions_by_node: Option<Bound<'py, PyMapping>>,
    default_merge: Option<Bound<'py, PyAny>>,
    merges_by_node: Option<Bound<'py, PyMapping>>,
    passthrough_nodes: Option<Names>,
    step_limit: Option<usize>,
    byte_limit: Option<usize>,
}

impl<'py> WorkflowParts<'py> {
    /// Reads the keyword arguments of a workflow. Fails if a name is unknown.
    fn new(given: Option<&Bound<'py, PyDict>>) -> PyResult<WorkflowParts<'py>> {
        let mut parts = WorkflowParts::default();
        for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
            if value.is_none() {
                continue;
            }
            match &*name.extract::<String>()? {
                "workers" => parts.workers_by_kind = Some(value.cast_into()?),
                "factories" => parts.factories_by_kind = Some(value.cast_into()?),
                "processors" => parts.functions_by_node = Some(value.cast_into()?),
                "merge" => parts.default_merge = Some(value),
                "merges" => parts.merges_by_node = Some(value.cast_into()?),
                "passthrough" => parts.passthrough_nodes = Some(value.extract()?),
                "step_limit" => parts.step_limit = Some(value.extract()?),
                "byte_limit" => parts.byte_limit = Some(value.extract()?),
                other => {
                    return Err(PyTypeError::new_err(format!("a workflow has no argument `{other}`")));
                }
            }
        }
        Ok(parts)
    }

    fn build(self, mut builder: WorkflowBuilder) -> PyResult<Workflow> {
        let caller = CallerLoop::default();
        for (kind, worker) in mapping_entries(self.workers_by_kind.as_ref())? {
            builder = with_worker(builder, kind, &worker, &caller)?;
        }
        for (kind, factory) in mapping_entries(self.factories_by_kind.as_ref())? {
            let (factory, caller) = (factory.unbind(), caller.clone());
            builder = builder.kind(kind, move |node| call_factory(&factory, node, &caller));
        }
        for (node, function) in mapping_entries(self.functions_by_node.as_ref())? {
            let described = Node::new(node.as_str(), "");
            let processor = PythonProcessor::for_node(&Arc::new(function.unbind()), &described, &caller);
            builder = builder.processor(node.as_str(), processor);
        }
        if let Some(merge) = &self.default_merge {
            builder = MergeSetting::new(merge)?.apply_to(builder, None);
        }
        for (node, merge) in mapping_entries(self.merges_by_node.as_ref())? {
            builder = MergeSetting::new(&merge)?.apply_to(builder, Some(&node));
        }
        builder = builder.passthrough(self.passthrough_nodes.into_iter().flat_map(|names| names.0));
        if let Some(steps) = self.step_limit {
            builder = builder.step_limit(steps);
        }
        if let Some(bytes) = self.byte_limit {
            builder = builder.byte_limit(bytes);
        }
        Ok(Workflow { workflow: builder.build().map_err(workflow_error)?, caller })
    }
}

/// Registers the worker for nodes of a kind: a Python function, or a worker that the library
/// provides.
fn with_worker(
    builder: WorkflowBuilder,
    kind: String,
    worker: &Bound<'_, PyAny>,
    caller: &CallerLoop,
) -> PyResult<WorkflowBuilder> {
    let Ok(name) = worker.cast::<PyString>() else {
        return Ok(builder.kind(kind, node_factory(worker, caller)));
    };
    match name.to_str()? {
        "loop" => Ok(builder.kind(kind, Loop::factory)),
        "vote" => Ok(builder.kind(kind, Vote::factory)),
        "echo" => Ok(builder.kind(kind, echo)),
        other => {
            let help = "write `loop`, `vote` or `echo`, or give a function";
            Err(workflow_error(format!("`{other}` is no built-in processor; {help}")))
        }
    }
}

#[pymethods]
impl Workflow {
    #[new]
    #[pyo3(signature = (start, nodes, *, rules = None, routers = None, **parts))]
    fn new(
        start: &str,
        nodes: Vec<Bound<'_, PyAny>>,
        rules: Option<&Bound<'_, Rules>>,
        routers: Option<&Bound<'_, PyMapping>>,
        parts: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Workflow> {
        let mut builder = workflow::Workflow::builder(start);
        for node in &nodes {
            let node: Node =
                serde_json::from_value(python_to_json(node, "the node")?).map_err(workflow_error)?;
            builder = builder.node(node);
        }
        for (node, router) in mapping_entries(routers)? {
            let needs_rules = || workflow_error("`routers` names routers of rules; give `rules`, too");
            let rules = &rules.ok_or_else(needs_rules)?.get().rules;
            let router = RulesRouter::new(rules, router.extract()?).map_err(unknown_name_error)?;
            builder = builder.router(node.as_str(), router);
        }
        WorkflowParts::new(parts)?.build(builder)
    }

    /// Builds the workflow that the `workflow` statement `name` of the rules describes. `parts` are
    /// the keyword arguments that `Workflow(...)` has too.
    #[staticmethod]
    #[pyo3(signature = (rules, name, **parts))]
    fn from_rules(
        rules: &Bound<'_, Rules>,
        name: &str,
        parts: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Workflow> {
        let builder = workflow::Workflow::from_rules(&rules.get().rules, name).map_err(unknown_name_error)?;
        WorkflowParts::new(parts)?.build(builder)
    }

    /// Likely mistakes in the graph, as texts.
    #[getter]
    fn findings(&self) -> Vec<String> {
        self.workflow.findings().iter().map(|finding| finding.to_message().to_string()).collect()
    }

    /// Runs the workflow on an input, and returns the report.
    fn run<'py>(&self, py: Python<'py>, input: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.caller.store_running_loop(py)?;
        let (workflow, input) = (self.workflow.clone(), python_to_json(input, "the input")?);
        start_future(py, async move {
            let report = workflow.run(input).await;
            with_gil(|py| Ok(report_to_python(py, &report)?.unbind()))
        })
    }

    /// Starts a run that the program advances node by node.
    fn begin(&self, input: &Bound<'_, PyAny>) -> PyResult<WorkflowRun> {
        Ok(WorkflowRun::new(self.workflow.begin(python_to_json(input, "the input")?), &self.caller))
    }

    /// Resumes a saved run.
    fn resume(&self, saved: &Bound<'_, PyAny>) -> PyResult<WorkflowRun> {
        let saved: SavedRun = depythonize(saved).map_err(workflow_error)?;
        Ok(WorkflowRun::new(self.workflow.resume(saved).map_err(workflow_error)?, &self.caller))
    }

    fn __repr__(&self) -> String {
        format!("<Workflow {:?}>", self.workflow)
    }
}

fn report_to_python<'py>(py: Python<'py>, report: &workflow::Report) -> PyResult<Bound<'py, PyAny>> {
    let mut fields = match serde_json::to_value(report).map_err(library_error)? {
        Json::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.insert("complete".to_owned(), json!(report.is_complete()));
    Ok(pythonize(py, &fields)?)
}

/// One run of a workflow, which proceeds node by node and may be saved in between.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     workflow = Workflow("a", [{"id": "a", "type": "add", "next": ["b"]}, {"id": "b", "type": "add"}],
/// ...                         workers={"add": lambda call: call.input + 1})
/// ...     run = workflow.begin(1)
/// ...     await run.step()
/// ...     return await workflow.resume(run.save()).to_end()
/// >>> asyncio.run(main())["outputs"]
/// {'b': 3}
#[pyclass(frozen, module = "rulec")]
pub struct WorkflowRun {
    /// The run; `None` once it is gone: `to_end` consumes it, and a step drops it if its caller
    /// stops waiting.
    run: Arc<Mutex<Option<workflow::Run>>>,
    caller: CallerLoop,
}

impl WorkflowRun {
    fn new(run: workflow::Run, caller: &CallerLoop) -> WorkflowRun {
        WorkflowRun { run: Arc::new(Mutex::new(Some(run))), caller: caller.clone() }
    }

    fn with_run<T>(&self, work: impl FnOnce(&mut workflow::Run) -> T) -> PyResult<T> {
        let mut run = self.run.try_lock().map_err(|_| workflow_error("a step of the run is not done yet"))?;
        run.as_mut().map(work).ok_or_else(run_ended_error)
    }
}

fn run_ended_error() -> PyErr {
    workflow_error("the run has ended, or a step was cancelled; resume it from a saved run")
}

#[pymethods]
impl WorkflowRun {
    /// Runs the next node, or the children of a parallel node. False if no node was left to run.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.caller.store_running_loop(py)?;
        let run = self.run.clone();
        start_future(py, async move {
            let mut slot = run.lock().await;
            let mut run = slot.take().ok_or_else(run_ended_error)?;
            let stepped = run.step().await;
            *slot = Some(run);
            Ok(stepped)
        })
    }

    /// Runs all remaining nodes and returns the report.
    fn to_end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.caller.store_running_loop(py)?;
        let run = self.run.clone();
        start_future(py, async move {
            let run = run.lock().await.take().ok_or_else(run_ended_error)?;
            let report = run.to_end().await;
            with_gil(|py| Ok(report_to_python(py, &report)?.unbind()))
        })
    }

    /// The report of the run up to its current state.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = self.with_run(|run| run.report().clone())?;
        report_to_python(py, &report)
    }

    /// The node that runs next; None if no node is left to run.
    #[getter]
    fn next_node(&self) -> PyResult<Option<String>> {
        self.with_run(|run| run.next_node().map(ToString::to_string))
    }

    /// Schedules the failed nodes to run again, and returns their number.
    fn retry_failed(&self) -> PyResult<usize> {
        self.with_run(workflow::Run::retry_failed)
    }

    /// Returns the state of the run, for `Workflow.resume`. The state contains inputs and outputs
    /// of nodes.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.with_run(|run| run.save())?)?)
    }
}
