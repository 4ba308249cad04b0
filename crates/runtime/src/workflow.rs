//! Workflow routing. A workflow is a graph of nodes; the output of each node is delivered to the
//! node's next nodes.
//!
//! The engine interprets neither fields nor node kinds. A [`ConditionalRouter`] selects which of
//! the next nodes receive an output; without one, all of them do. A node runs when it has received
//! one input per incoming edge. Loop-backs (edges that a router declares to lead back to an earlier
//! node) are not counted.
//!
//! The children of a parallel node run concurrently. All other nodes run in a deterministic order:
//! one after another, depth first.
//! ```
//! use serde_json::{Value, json};
//! use rulec_runtime::workflow::{FirstMatch, Node, Route, Target, Workflow, from_fn};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let flow = Workflow::builder("draft")
//!     .node(Node::new("draft", "write").next(["check"]))
//!     .node(Node::new("check", "count").next(["draft", "done"]))
//!     .node(Node::new("done", "write"))
//!     .kind("write", |_| Ok(from_fn(|input: Value| async move { Ok(input) })))
//!     .kind("count", |_| Ok(from_fn(|mut input: Value| async move {
//!         input["seen"] = json!(input["seen"].as_u64().unwrap_or(0) + 1);
//!         Ok(input)
//!     })))
//!     .router(
//!         "check",
//!         FirstMatch::new()
//!             .when(|output| output["seen"] == 2, Route::to([Target::Next(1)]))
//!             .otherwise(Route::to([Target::Next(0)]).looping_back()),
//!     )
//!     .build()?;
//! let report = flow.run(json!({})).await;
//! assert_eq!(report.executed, ["draft", "check", "draft", "check", "done"]);
//! assert_eq!(report.outputs["done"], json!({"seen": 2}));
//! # Ok::<(), rulec_runtime::workflow::BuildError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod checkpoint;
mod merge;
mod node;
mod plan;
mod processor;
pub mod processors;
mod report;
mod rounds;
mod router;
mod rules;
mod run;

pub use build::{BuildError, Workflow, WorkflowBuilder};
pub(crate) use build::{DEFAULT_BYTE_LIMIT, DEFAULT_STEP_LIMIT};
pub use checkpoint::{ResumeError, SavePoint, SavedChanges, SavedRun};
pub use merge::{AppendValues, Arrival, ByNode, FirstValues, LatestValues, MergeStrategy};
pub use node::{Node, NodeId};
pub(crate) use plan::json_size;
pub use processor::{BoxFuture, Call, ProcessError, ProcessResult, Processor, from_fn};
pub use report::{Delivery, Failure, FailureKind, Report, Stall};
pub use router::{ConditionalRouter, FirstMatch};
pub use rulec_lang::graph::{Finding, FindingKind, Route, Severity, Target};
pub use rules::{RulesRouter, UnknownWorkflow};
pub use run::Run;
