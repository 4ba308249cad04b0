//! The outcome of a message that may want a flow: nothing is lost, whatever fails.

use super::FlowError;
use crate::{ModelError, Response};
use rulec::Exceeded;
use rulec::flow::IntentHit;
use std::fmt;
use std::time::Duration;

/// The outcome of a message. Displays as one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// The id of the flow that was found; `None` when none was.
    pub flow: Option<String>,
    /// Its name in the rules.
    pub name: Option<String>,
    /// The way it was found.
    pub found_by: Option<FoundBy>,
    /// The intent flows that came nearest when the classifier abstained, best first.
    pub nearest: Vec<IntentHit>,
    /// The limits that were exceeded while it was searched for, each once: what is larger is not looked through.
    pub exceeded: Vec<Exceeded>,
    /// The way it ended.
    pub result: FlowEnding,
    /// The time it all took, calls included.
    pub elapsed: Duration,
}

/// The way a flow was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FoundBy {
    /// By a pattern of a keyword flow.
    Keyword {
        /// The pattern, as the author wrote it.
        pattern: String,
    },
    /// By the built-in classifier.
    Classifier {
        /// Its score, from 0 to 1.
        score: f64,
    },
    /// By a language model's call of the tool.
    Model {
        /// Further calls in the same answer, each as `name(arguments)`; only the first counts.
        ignored: Vec<String>,
    },
}

/// The end of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlowEnding {
    /// The flow was executed, and this is the endpoint's answer.
    Executed(Response),
    /// The flow was found, and its execution failed.
    Failed(FlowError),
    /// The language model, or who speaks for it, named an id that is none of the intent flows'. Nothing
    /// was executed.
    Refused {
        /// The id.
        id: String,
    },
    /// The language model could not be asked, or gave no answer of use.
    ModelFailed(ModelError),
    /// No flow is what the message wants.
    NoFlow {
        /// The words of the language model when it did not call the tool, cut short after 2000 characters;
        /// `None` when none was asked.
        said: Option<String>,
    },
}

impl FlowOutcome {
    /// The answer of the endpoint that executed the flow.
    pub fn response(&self) -> Option<&Response> {
        match &self.result {
            FlowEnding::Executed(response) => Some(response),
            _ => None,
        }
    }
}

impl FoundBy {
    /// `keyword`, `classifier` or `model`.
    pub fn kind(&self) -> &'static str {
        match self {
            FoundBy::Keyword { .. } => "keyword",
            FoundBy::Classifier { .. } => "classifier",
            FoundBy::Model { .. } => "model",
        }
    }
}

impl FlowEnding {
    /// `executed`, `failed`, `refused`, `model_failed` or `no_flow`.
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
