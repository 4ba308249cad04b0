//! A ready-made handler for the router: an external service behind an HTTP endpoint.

use super::client::HttpClient;
use super::endpoint::{CallError, Endpoint};
use super::error::HttpError;
use super::template::{Template, Values};
use rulec_runtime::route;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;

/// The future that a handler of [`handler`] returns: the service's reply, or why there is none.
pub type HandlerReply = Pin<Box<dyn Future<Output = Result<Value, CallError>> + Send>>;

/// A handler for [`RouterBuilder::handler`] that calls a service. `{name}` in the endpoint is filled from
/// the arguments that the route gives, `#name#` from the message's `ctx`. The reply is the body: as JSON
/// where it is JSON, else as a string; null when it is empty.
///
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
/// When the endpoint's host may not be called, so that this is known before the first message.
///
/// [`RouterBuilder::handler`]: rulec_runtime::route::RouterBuilder::handler
pub fn handler(
    client: HttpClient,
    endpoint: Template,
) -> Result<impl Fn(route::Request) -> HandlerReply + Clone + Send + Sync + 'static, HttpError> {
    let endpoint = Arc::new(Endpoint::new(client, endpoint)?);
    Ok(move |request: route::Request| -> HandlerReply {
        let endpoint = endpoint.clone();
        Box::pin(async move {
            let nothing = Map::new();
            let context = request.context().as_object().unwrap_or(&nothing);
            Ok(endpoint.call(Values { arguments: &request.args, context }).await?.body.into_value())
        })
    })
}
