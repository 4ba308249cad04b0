//! Executing a flow: one path for flows found by keyword and by intent.

use super::client::HttpClient;
use super::error::HttpError;
use super::request::Response;
use super::template::{FillError, Template, Values};
use serde_json::{Map, Value};
use thiserror::Error;

/// The argument that carries the flow's id.
const FLOW_ID: &str = "flow_id";

/// The configured request that executes flows.
#[derive(Clone, Debug)]
pub struct FlowExecutor {
    client: HttpClient,
    endpoint: Template,
}

/// A flow that was not executed, or whose execution failed. Displays the flow's id and the cause.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("flow `{flow}`: {cause}")]
pub struct FlowError {
    flow: String,
    cause: FlowFailure,
}

/// Why a flow failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum FlowFailure {
    /// The request could not be filled; nothing was sent.
    Fill(#[from] FillError),
    /// The call failed.
    Http(#[from] HttpError),
}

impl FlowError {
    /// The flow's id.
    pub fn flow(&self) -> &str {
        &self.flow
    }

    /// Why it failed.
    pub fn failure(&self) -> &FlowFailure {
        &self.cause
    }
}

impl FlowExecutor {
    /// An executor that calls `endpoint`.
    ///
    /// # Errors
    /// When the endpoint's host may not be called, so that this is known before the first message.
    pub fn new(client: HttpClient, endpoint: Template) -> Result<FlowExecutor, HttpError> {
        client.check(&endpoint.sample())?;
        Ok(FlowExecutor { client, endpoint })
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
        let failed = |cause| FlowError { flow: flow_id.to_owned(), cause };
        let values = Values { arguments: &arguments, context };
        let request = self.endpoint.fill(values).map_err(|error| failed(error.into()))?;
        self.client.send(&request).await.map_err(|error| failed(error.into()))
    }
}
