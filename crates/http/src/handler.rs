//! A handler for the router of `rulec-runtime` that calls an external HTTP service.

use super::client::HttpClient;
use super::endpoint::{CallError, RequestEndpoint};
use super::error::HttpError;
use super::template::{Template, Values};
use rulec_runtime::route;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;

/// The future of a [`handler`]: the service's reply or the error.
pub type HandlerReply = Pin<Box<dyn Future<Output = Result<Value, CallError>> + Send>>;

/// Creates a handler for [`RouterBuilder::handler`] that calls a service. In the endpoint, `{name}`
/// is replaced by an argument of the route, and `#name#` by a field of the message's `ctx`. The
/// reply is the response body: JSON if it is valid JSON, null if it is empty, otherwise a string.
/// ```no_run
/// use rulec::Rules;
/// use rulec_http::{AllowedHosts, HttpClient, Limits, Template};
/// use rulec_runtime::route::Router;
/// use serde_json::json;
///
/// let rules = Rules::from_text("default -> open_ticket(text: text, urgent: text contains \"!\")")?;
/// let client = HttpClient::new(AllowedHosts::new(["tickets.example.com"])?, Limits::default())?;
/// let endpoint = Template::parse(&json!({
///     "url": "https://tickets.example.com/new",
///     "body": {"text": "{text}", "urgent": "{urgent}", "customer": "#customer_id#"},
/// }))?;
/// let router = Router::builder(rules).handler("open_ticket", rulec_http::handler(client, endpoint)?).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the URL of `endpoint` is invalid, or its host is not one of the allowed hosts of `client`. So
/// a wrong setting is found at start-up and not at the first message.
///
/// [`RouterBuilder::handler`]: rulec_runtime::route::RouterBuilder::handler
pub fn handler(
    client: HttpClient,
    endpoint: Template,
) -> Result<impl Fn(route::Request) -> HandlerReply + Clone + Send + Sync + 'static, HttpError> {
    let endpoint = Arc::new(RequestEndpoint::new(client, endpoint)?);
    Ok(move |request: route::Request| -> HandlerReply {
        let endpoint = endpoint.clone();
        Box::pin(async move {
            let empty_context = Map::new();
            let context = request.context().as_object().unwrap_or(&empty_context);
            Ok(endpoint.call(Values { arguments: &request.args, context }).await?.body.into_value())
        })
    })
}
