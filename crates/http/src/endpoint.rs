//! A configured HTTP call: a request template and the client that sends it. Flows, handlers and
//! workflow nodes share this code to call services.

use super::client::HttpClient;
use super::error::HttpError;
use super::request::Response;
use super::template::{FillError, Template, Values};
use rulec_base::diag::Message;
use thiserror::Error;

/// A request template and the client that sends the filled request. The host of the template was
/// checked against the allowed hosts.
#[derive(Clone, Debug)]
pub(super) struct RequestEndpoint {
    client: HttpClient,
    template: Template,
}

/// Why a call that is configured as a request template failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum CallError {
    /// A placeholder of the request template could not be filled; no request was sent.
    Fill(#[from] FillError),
    /// The HTTP call failed.
    Http(#[from] HttpError),
}

impl CallError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            CallError::Fill(error) => error.to_message(),
            CallError::Http(error) => error.to_message(),
        }
    }
}

impl RequestEndpoint {
    /// Creates an endpoint. Fails if the URL of `template` is invalid, or its host is not one of
    /// the allowed hosts of `client`. So a wrong setting is found at start-up and not at the first
    /// message.
    pub(super) fn new(client: HttpClient, template: Template) -> Result<RequestEndpoint, HttpError> {
        client.check(&template.sample_request())?;
        Ok(RequestEndpoint { client, template })
    }

    pub(super) async fn call(&self, values: Values<'_>) -> Result<Response, CallError> {
        Ok(self.client.send(&self.template.fill(values)?).await?)
    }
}
