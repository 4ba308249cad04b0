//! The outcome of finding and executing the flow of a message. A failure is a kind of outcome and
//! not a separate error, so that every message has exactly one outcome to log.

use super::FlowError;
use crate::{ModelError, Response};
use rulec::Exceeded;
use rulec::flow::IntentHit;
use std::fmt;
use std::time::Duration;

/// The outcome of finding and executing the flow (a conversation) that a message starts. Displays
/// as one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// Id of the flow that was found; `None` if no flow was found.
    pub flow: Option<String>,
    /// The name that the rules give to the flow that was found; `None` if no flow was found.
    pub name: Option<String>,
    /// How the flow was found; `None` if no flow was found.
    pub found_by: Option<FoundBy>,
    /// The intent flows (flows that are found by the meaning of a text) most similar to the
    /// message, best first. Empty if a flow was found, if no flow is similar, or if the classifier
    /// did not run.
    pub nearest: Vec<IntentHit>,
    /// The limits that the message exceeded in the search, each listed once. A pattern that exceeds
    /// a limit does not match. The classifier selects no flow for a text over a limit.
    pub exceeded: Vec<Exceeded>,
    /// How the search ended, or how the execution of the found flow ended.
    pub result: FlowEnding,
    /// Duration of finding and executing the flow, including calls.
    pub elapsed: Duration,
}

/// How a flow was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FoundBy {
    /// A pattern of a keyword flow matched the message.
    Keyword {
        /// The pattern that matched, as written in the rules.
        pattern: String,
    },
    /// The built-in classifier selected the flow by the meaning of the message.
    Classifier {
        /// The classifier's score, from 0 to 1.
        score: f64,
    },
    /// A language model selected the flow by calling a tool.
    Model {
        /// Further tool calls in the same response, each as `name(arguments)`. Only the first tool
        /// call is used.
        ignored: Vec<String>,
    },
}

/// How the search for a message's flow (a conversation) ended, or how the execution of that flow
/// ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlowEnding {
    /// The flow was executed; contains the response of the endpoint.
    Executed(Response),
    /// The flow was found, but its execution failed.
    Failed(FlowError),
    /// The language model, or the caller of [`FlowRunner::execute`](super::FlowRunner::execute),
    /// named an id that belongs to no intent flow (a flow that is selected by meaning). No flow was
    /// executed.
    Refused {
        /// The flow id that the model or the caller named, which belongs to no intent flow.
        id: String,
    },
    /// The call of the language model failed, or its response was not usable.
    ModelFailed(ModelError),
    /// The search ended without an error, but no flow fits the message.
    NoFlow {
        /// The model's text if it called no tool, truncated after 2000 characters. `None` if no
        /// model was called.
        reply: Option<String>,
    },
}

impl FlowOutcome {
    /// Returns the response of the endpoint; `None` if no flow was executed or its execution
    /// failed.
    pub fn response(&self) -> Option<&Response> {
        match &self.result {
            FlowEnding::Executed(response) => Some(response),
            _ => None,
        }
    }
}

impl FoundBy {
    /// Returns the name of this variant for logs: `keyword`, `classifier` or `model`.
    pub fn kind(&self) -> &'static str {
        match self {
            FoundBy::Keyword { .. } => "keyword",
            FoundBy::Classifier { .. } => "classifier",
            FoundBy::Model { .. } => "model",
        }
    }
}

impl FlowEnding {
    /// Returns the name of this variant for logs: `executed`, `failed`, `refused`, `model_failed`
    /// or `no_flow`.
    pub fn kind(&self) -> &'static str {
        match self {
            FlowEnding::Executed(_) => "executed",
            FlowEnding::Failed(_) => "failed",
            FlowEnding::Refused { .. } => "refused",
            FlowEnding::ModelFailed(_) => "model_failed",
            FlowEnding::NoFlow { .. } => "no_flow",
        }
    }
}

impl fmt::Display for FlowOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.flow, &self.found_by) {
            (Some(flow), Some(by)) => write!(f, "flow `{flow}`, found by {by}: {}", self.result),
            _ => self.result.fmt(f),
        }
    }
}

impl fmt::Display for FoundBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundBy::Keyword { pattern } => write!(f, "the pattern `{pattern}`"),
            FoundBy::Classifier { score } => write!(f, "the classifier with {score}"),
            FoundBy::Model { .. } => f.write_str("the language model"),
        }
    }
}

impl fmt::Display for FlowEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowEnding::Executed(response) => write!(f, "executed, answered {}", response.status),
            FlowEnding::Failed(error) => write!(f, "failed: {}", error.failure()),
            FlowEnding::Refused { id } => {
                write!(f, "`{id}` is the id of no intent flow; nothing was executed")
            }
            FlowEnding::ModelFailed(error) => write!(f, "the language model was of no help: {error}"),
            FlowEnding::NoFlow { .. } => f.write_str("no flow is what the message wants"),
        }
    }
}
