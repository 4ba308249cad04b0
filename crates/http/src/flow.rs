//! Executes flows. A flow is a conversation that a message starts; the rules find it by a keyword
//! or by an intent. It is executed by sending a configured HTTP request.

mod outcome;
mod runner;

pub use outcome::{FlowEnding, FlowOutcome, FoundBy};
pub use runner::FlowRunner;

use super::client::HttpClient;
use super::endpoint::{CallError, RequestEndpoint};
use super::error::HttpError;
use super::request::Response;
use super::template::{Template, TemplateError, Values};
use rulec::flow::FlowMatcher;
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::{Map, Value};
use thiserror::Error;

const FLOW_ID_ARGUMENT: &str = "flow_id";

/// Executes flows (conversations that a message starts) by sending a configured HTTP request.
#[derive(Clone, Debug)]
pub struct FlowExecutor {
    endpoint: RequestEndpoint,
}

/// The error for a flow (a conversation that a message starts) that could not be executed: its
/// request was not sent, or failed. Displays the flow's id and the cause.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct FlowError {
    flow_id: String,
    cause: CallError,
}

impl FlowError {
    /// Returns the id of the flow that could not be executed.
    pub fn flow(&self) -> &str {
        &self.flow_id
    }

    /// Returns the flow's id and the cause as a localized message.
    pub fn to_message(&self) -> Message {
        message!("flow `{}`: {}", self.flow_id, self.cause.to_message())
    }

    /// Returns the reason why the request of the flow was not sent or failed.
    pub fn failure(&self) -> &CallError {
        &self.cause
    }
}

/// Why no [`FlowExecutor`] can be created from the rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ExecutorError {
    /// The rules declare no endpoint that executes flows.
    NoEndpoint,
    /// The endpoint that the rules declare is invalid, whatever the values of its placeholders are.
    Template(#[from] TemplateError),
    /// The host of the endpoint in the rules is not one of the client's allowed hosts.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl ExecutorError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            ExecutorError::NoEndpoint => message!(
                "the rules do not say what executes flows; add `flow tool flow_executor {{ endpoint: {{ url: \"https://…\" }} }}`"
            ),
            ExecutorError::Template(error) => {
                message!("the endpoint of the flow tool: {}", error.to_message())
            }
            ExecutorError::Http(error) => error.to_message(),
        }
    }
}

impl FlowExecutor {
    /// Creates an executor that calls the endpoint in the rules:
    /// `flow tool NAME { endpoint: { url: …, … } }`.
    ///
    /// # Errors
    /// If the rules declare no endpoint, the endpoint is invalid, or its host is not one of the
    /// allowed hosts of `client`.
    pub fn of_rules(client: HttpClient, flows: &FlowMatcher) -> Result<FlowExecutor, ExecutorError> {
        let endpoint = flows.endpoint().ok_or(ExecutorError::NoEndpoint)?;
        Ok(FlowExecutor::new(client, Template::parse(endpoint)?)?)
    }

    /// Creates an executor that calls `endpoint`.
    ///
    /// # Errors
    /// If the URL of `endpoint` is invalid, or its host is not one of the allowed hosts of
    /// `client`. So a wrong setting is found at start-up and not at the first message.
    pub fn new(client: HttpClient, endpoint: Template) -> Result<FlowExecutor, HttpError> {
        Ok(FlowExecutor { endpoint: RequestEndpoint::new(client, endpoint)? })
    }

    /// Executes a flow: fills the request's placeholders from `arguments` and from the
    /// conversation's `context`, and sends the request. The flow's id is set as the argument
    /// `flow_id`, which replaces any other value.
    ///
    /// # Errors
    /// If a placeholder has no value (then no request is sent), or if the call fails.
    pub async fn execute(
        &self,
        flow_id: &str,
        arguments: &Map<String, Value>,
        context: &Map<String, Value>,
    ) -> Result<Response, FlowError> {
        let mut arguments = arguments.clone();
        arguments.insert(FLOW_ID_ARGUMENT.to_owned(), flow_id.into());
        let result = self.endpoint.call(Values { arguments: &arguments, context }).await;
        result.map_err(|cause| FlowError { flow_id: flow_id.to_owned(), cause })
    }
}
