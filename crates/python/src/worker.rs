//! Lets Python functions run the nodes of workflows and plans (workflows that a language model
//! proposes).

use super::callback::{CallerLoop, to_typed_error};
use super::message::python_to_json;
use super::shutdown::with_gil;
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec_runtime::workflow::{BoxFuture, Call, Node, ProcessError, ProcessResult, Processor};
use serde_json::Value as Json;
use std::sync::{Arc, Mutex, PoisonError};

/// The argument of a worker of a plan or workflow: the node, its config and its input.
///
/// >>> import asyncio
/// >>> async def llm(call):
/// ...     return {"text": call.config["prompt"].upper()}
/// >>> async def main():
/// ...     rules = Rules.from_text("payload create_node rank 1 { node_type: string; node_name: string; config: dict }")
/// ...     payload = {"node_type": "LLM", "node_name": "greet", "config": {"prompt": "hello"}}
/// ...     return await Coordinator(rules, workers={"LLM": llm}).session().offer(DecisionMade("create_node", payload))
/// >>> asyncio.run(main()).done[0].report["outputs"]
/// {'greet': {'text': 'HELLO'}}
#[pyclass(frozen, module = "rulec")]
pub struct NodeCall {
    node: Arc<Node>,
    input: Json,
    /// The value that the node stores between its calls. The worker may replace this value.
    memory: Mutex<Json>,
}

#[pymethods]
impl NodeCall {
    /// The id of the node.
    #[getter]
    fn node(&self) -> &str {
        self.node.id.as_str()
    }

    /// The type of the node.
    #[getter]
    fn kind(&self) -> &str {
        &self.node.kind
    }

    /// The `config` of the node.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.node.config)?)
    }

    /// The input of the node, merged from the outputs of earlier nodes.
    #[getter]
    fn input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.input)?)
    }

    /// The value that the node stores between its calls in one run; None at first. Saved runs
    /// contain this value.
    #[getter]
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // The value is cloned, because the conversion may call finalizers in Python, which may lock
        // `memory` again.
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(pythonize(py, &memory)?)
    }

    #[setter]
    fn set_memory(&self, memory: &Bound<'_, PyAny>) -> PyResult<()> {
        let memory = python_to_json(memory, "the memory")?;
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = memory;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<NodeCall {} of kind {:?}>", self.node.id, self.node.kind)
    }
}

/// A processor (the code that runs one node) that calls a Python function on the caller's event
/// loop.
pub struct PythonProcessor {
    pub function: Arc<Py<PyAny>>,
    pub node: Arc<Node>,
    pub caller: CallerLoop,
}

impl PythonProcessor {
    /// Creates a processor for a node, which calls `function` with a [`NodeCall`] for each input.
    pub fn for_node(function: &Arc<Py<PyAny>>, node: &Node, caller: &CallerLoop) -> Arc<dyn Processor> {
        let (function, node) = (function.clone(), Arc::new(node.clone()));
        Arc::new(PythonProcessor { function, node, caller: caller.clone() })
    }

    async fn call(&self, call: &Call, input: Json) -> ProcessResult {
        let memory = Mutex::new(call.memory().clone());
        let node_call = NodeCall { node: self.node.clone(), input, memory };
        let node_call = with_gil(|py| Py::new(py, node_call)).map_err(|error| error.to_string())?;
        let argument = with_gil(|py| node_call.clone_ref(py));
        let result = self.caller.call(&self.function, |py| Ok(argument.into_bound(py).into_any())).await;
        *call.memory() = node_call.get().memory.lock().unwrap_or_else(PoisonError::into_inner).clone();
        with_gil(|py| {
            let output = result.and_then(|output| python_to_json(output.bind(py), "the output"));
            output.map_err(|error| to_typed_error(py, &error).into())
        })
    }
}

impl Processor for PythonProcessor {
    fn process<'a>(&'a self, call: &'a Call, input: Json) -> BoxFuture<'a, ProcessResult> {
        Box::pin(self.call(call, input))
    }
}

/// Calls a Python factory with a node, given as a dict. The factory returns the function that runs
/// this node.
pub fn call_factory(
    factory: &Py<PyAny>,
    node: &Node,
    caller: &CallerLoop,
) -> Result<Arc<dyn Processor>, ProcessError> {
    with_gil(|py| {
        let worker = pythonize(py, node).map_err(PyErr::from).and_then(|node| factory.call1(py, (node,)));
        match worker {
            Ok(worker) => Ok(PythonProcessor::for_node(&Arc::new(worker), node, caller)),
            Err(error) => Err(to_typed_error(py, &error).into()),
        }
    })
}

/// A function that creates the processor of a node, which is the code that runs the node.
type ProcessorFactory = dyn Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync;

/// A worker of the library for nodes of plans or workflows.
///
/// >>> workers = {"HTTP": HttpClient(allow=["api.example.com"]).node()}
#[pyclass(frozen, module = "rulec")]
pub struct NodeFactory(pub Arc<ProcessorFactory>);

/// Converts a worker to a factory of processors, which run nodes. The worker is a Python function,
/// or one that the library provides.
pub fn node_factory(
    worker: &Bound<'_, PyAny>,
    caller: &CallerLoop,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync + 'static + use<> {
    let factory = worker.cast::<NodeFactory>().ok().map(|factory| factory.get().0.clone());
    let (function, caller) = (Arc::new(worker.clone().unbind()), caller.clone());
    move |node| match &factory {
        Some(factory) => factory(node),
        None => Ok(PythonProcessor::for_node(&function, node, &caller)),
    }
}
