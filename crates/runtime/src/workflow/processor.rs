//! Processors: the functions that convert a node's input to its output.

use super::node::NodeId;
use super::router::ConditionalRouter;
use serde_json::Value;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A boxed future that may borrow and be sent between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The error of a processor. A text converts with `into()`, and so does a localized
/// [`Message`](rulec::Message).
pub type ProcessError = Box<dyn Error + Send + Sync>;

/// A processor's output, usually a JSON object, or its error.
pub type ProcessResult = Result<Value, ProcessError>;

/// Does the work of a node. One processor is created per node and serves all runs, possibly
/// concurrently. So a processor must store the state of one run in the [`Call`]'s memory.
pub trait Processor: Send + Sync {
    /// Converts an input to an output. An error, a panic or an exceeded time limit fails only this
    /// call: the node delivers no output, and the workflow continues.
    fn process<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult>;

    /// Returns the router that selects the receivers of the node's outputs; `None` if the processor
    /// provides no router. A router that was set in the builder takes precedence. If there is no
    /// router, every next node receives the outputs.
    fn router(&self) -> Option<&dyn ConditionalRouter> {
        None
    }

    /// Returns the name of the input field that contains the round number of a loop; `None` if the
    /// processor counts no rounds. The engine increments the number when the node's output leads
    /// back to an earlier node. The number restarts at 1 after the loop has ended.
    fn round_field(&self) -> Option<&str> {
        None
    }
}

/// One call of a processor: the node, and the node's memory in this run.
#[derive(Debug)]
pub struct Call {
    pub(super) node: NodeId,
    pub(super) memory: Arc<Mutex<Value>>,
}

impl Call {
    /// Creates a call outside a workflow run, with empty memory.
    pub(crate) fn new(node: NodeId) -> Call {
        Call { node, memory: Arc::default() }
    }

    /// Returns the id of the node for which the processor is called.
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    /// Locks the node's memory: a value that all calls of this node within one run share. Initially
    /// null.
    pub fn memory(&self) -> MutexGuard<'_, Value> {
        // A panic while the lock was held has failed only that call; the value remains usable.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a processor from an async function from input to output.
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
