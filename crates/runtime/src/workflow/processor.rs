//! Processors do a node's work: input in, output out.

use super::node::NodeId;
use super::router::ConditionalRouter;
use serde_json::Value;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why a processor failed; text converts into it by `into()`.
pub type ProcessError = Box<dyn Error + Send + Sync>;

/// A processor's output, usually a JSON object, or why there is none.
pub type ProcessResult = Result<Value, ProcessError>;

/// Does the work of a node. It is made once for its node and serves all runs, at the same time if
/// need be; what belongs to one run is kept in the [`Call`]'s memory.
pub trait Processor: Send + Sync {
    /// Turns an input into an output. An error, a panic or a broken time limit makes this one run
    /// of the node fail: it delivers nothing, and the workflow goes on.
    fn process<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult>;

    /// The router of outputs, when the processor itself decides. A router given for the node in the
    /// builder comes first; without either, outputs go to every next node.
    fn router(&self) -> Option<&dyn ConditionalRouter> {
        None
    }

    /// The field in which the processor reads the number of its round. The engine counts it up each
    /// time the node's output is a loop-back, and starts anew when the loop has been left.
    fn round_field(&self) -> Option<&str> {
        None
    }
}

/// One call of a processor: which node, and what it remembers.
#[derive(Debug)]
pub struct Call {
    pub(super) node: NodeId,
    pub(super) memory: Arc<Mutex<Value>>,
}

impl Call {
    /// A call outside of a run of a workflow, without a memory of earlier ones.
    pub(crate) fn new(node: NodeId) -> Call {
        Call { node, memory: Arc::default() }
    }

    /// The node that is run.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// The value that earlier calls for this node in this run of the workflow have kept; null at first.
    pub fn memory(&self) -> MutexGuard<'_, Value> {
        // A panic while it was held failed that call alone; the value is still a value.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A processor made of an async function.
pub fn from_fn<F, T>(function: F) -> Arc<dyn Processor>
where
    F: Fn(Value) -> T + Send + Sync + 'static,
    T: Future<Output = ProcessResult> + Send + 'static,
{
    Arc::new(FromFn(function))
}

struct FromFn<F>(F);

impl<F, T> Processor for FromFn<F>
where
    F: Fn(Value) -> T + Send + Sync,
    T: Future<Output = ProcessResult> + Send + 'static,
{
    fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        Box::pin((self.0)(input))
    }
}
