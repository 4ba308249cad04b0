//! Executing a flow: one path for flows found by keyword and by intent.

mod outcome;
mod runner;

pub use outcome::{FlowEnding, FlowOutcome, FoundBy};
pub use runner::FlowRunner;

use super::client::HttpClient;
use super::endpoint::{CallError, Endpoint};
use super::error::HttpError;
use super::request::Response;
use super::template::{Template, TemplateError, Values};
use rulec::flow::FlowMatcher;
use serde_json::{Map, Value};
use thiserror::Error;

const FLOW_ID: &str = "flow_id";

/// The configured request that executes flows.
#[derive(Clone, Debug)]
pub struct FlowExecutor {
    endpoint: Endpoint,
}

/// A flow that was not executed, or whose execution failed. Displays the flow's id and the cause.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("flow `{flow}`: {cause}")]
pub struct FlowError {
    flow: String,
    cause: CallError,
}

impl FlowError {
    /// The flow's id.
    pub fn flow(&self) -> &str {
        &self.flow
    }

    /// Why it failed.
    pub fn failure(&self) -> &CallError {
        &self.cause
    }
}

/// Why there is no executor by what the rules say.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// The rules name no endpoint.
    #[error(
        "the rules do not say what executes flows; add `flow tool flow_executor {{ endpoint: {{ url: \"https://…\" }} }}`"
    )]
    NoEndpoint,
    /// The endpoint of the rules cannot be called with any values.
    #[error("the endpoint of the flow tool: {0}")]
    Template(#[from] TemplateError),
    /// Its host may not be called.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl FlowExecutor {
    /// An executor that calls the endpoint of the rules: `flow tool NAME { endpoint: { url: …, … } }`.
    ///
    /// # Errors
    /// When the rules name none, it is no endpoint, or its host may not be called.
    pub fn of_rules(client: HttpClient, flows: &FlowMatcher) -> Result<FlowExecutor, ExecutorError> {
        let endpoint = flows.endpoint().ok_or(ExecutorError::NoEndpoint)?;
        Ok(FlowExecutor::new(client, Template::parse(endpoint)?)?)
    }

    /// An executor that calls `endpoint`.
    ///
    /// # Errors
    /// When the endpoint's host may not be called, so that this is known before the first message.
    pub fn new(client: HttpClient, endpoint: Template) -> Result<FlowExecutor, HttpError> {
        Ok(FlowExecutor { endpoint: Endpoint::new(client, endpoint)? })
    }

    /// Executes a flow: fills the request from `arguments` (among them the flow's id as `flow_id`, whatever
    /// else stands there) and the conversation's `context`, and sends it.
    ///
    /// # Errors
    /// A placeholder without a value (nothing is sent then), or a call that failed.
    pub async fn execute(
        &self,
        flow_id: &str,
        arguments: &Map<String, Value>,
        context: &Map<String, Value>,
    ) -> Result<Response, FlowError> {
        let mut arguments = arguments.clone();
        arguments.insert(FLOW_ID.to_owned(), flow_id.into());
        let called = self.endpoint.call(Values { arguments: &arguments, context }).await;
        called.map_err(|cause| FlowError { flow: flow_id.to_owned(), cause })
    }
}
