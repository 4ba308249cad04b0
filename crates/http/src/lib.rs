//! HTTP calls to external services, made by flows, routes and language models. They share one
//! client, so that one list of allowed hosts and one set of limits holds for all of them.
//!
//! A call reaches only hosts that the program allows: redirects are not followed, and proxy
//! settings of the environment are ignored. So a URL in a rules file cannot reach any other host.
//! ```no_run
//! use rulec_http::{AllowedHosts, FlowExecutor, HttpClient, Limits, Template};
//! use serde_json::{Map, json};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = HttpClient::new(AllowedHosts::new(["flows.example.com"])?, Limits::default())?;
//! let endpoint = Template::parse(&json!({
//!     "url": "https://flows.example.com/trigger",
//!     "method": "POST",
//!     "body": {"flow": "{flow_id}", "conversation": "#conversation_id#"},
//! }))?;
//! let flows = FlowExecutor::new(client, endpoint)?;
//! let context = Map::from_iter([("conversation_id".to_owned(), json!(7))]);
//! let answer = flows.execute("refund", &Map::new(), &context).await?;
//! println!("{} after {} attempts", answer.status, answer.attempts);
//! # Ok(())
//! # }
//! ```

mod choice;
mod client;
mod document;
mod endpoint;
mod error;
mod flow;
mod handler;
mod hosts;
mod limits;
mod model;
mod node;
mod request;
mod secret;
mod template;
mod workflow;

pub use choice::{AskedChoice, ChoiceAnswer};
pub use client::{HttpClient, SetupError};
pub use document::Document;
pub use endpoint::CallError;
pub use error::{HttpError, HttpFailure};
pub use flow::{ExecutorError, FlowEnding, FlowError, FlowExecutor, FlowOutcome, FlowRunner, FoundBy};
pub use handler::{HandlerReply, handler};
pub use hosts::{AllowedHosts, HostError};
pub use limits::{Limits, with_jitter};
pub use model::{ChatModel, ModelError, Pick, Prompt, Role, Turn, llm_node};
pub use node::node;
pub use request::{Body, HeaderError, Request, Response};
pub use secret::Secret;
pub use template::{FillError, FillReason, Placeholder, Source, Template, TemplateError, Values};
pub use workflow::{council_node, endpoint_node};
