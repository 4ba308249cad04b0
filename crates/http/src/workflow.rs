//! Workflow nodes that call HTTP services. A node calls one endpoint, or it is a council: it passes
//! its input to several members and collects their answers. A member can be an endpoint.

use super::client::HttpClient;
use super::endpoint::RequestEndpoint;
use super::request::Response;
use super::template::{Template, Values};
use rulec_base::diag::Message;
use rulec_runtime::workflow::processors::Council;
use rulec_runtime::workflow::{BoxFuture, Call, Node, ProcessError, ProcessResult, Processor};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Returns the factory of nodes that call one endpoint, for `WorkflowBuilder::kind`. A node's
/// `config` is the endpoint in the format of [`Template::parse`]; placeholders are filled from the
/// node's input. If the reply is a JSON object, it is the output. Any other reply becomes the
/// output's field `reply`.
pub fn endpoint_node(
    client: HttpClient,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync {
    move |node| Ok(Arc::new(EndpointNode(parse_endpoint(&client, &node.config)?)))
}

/// Returns the factory of council nodes. A council passes its input to several members and collects
/// their answers; see [`Council::factory`]. Here, a member is a constant text or an endpoint.
pub fn council_node(
    client: HttpClient,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync {
    Council::factory(move |member_config| {
        Ok(Arc::new(CouncilMember(parse_endpoint(&client, member_config)?)))
    })
}

fn parse_endpoint(client: &HttpClient, config: &Value) -> Result<Arc<RequestEndpoint>, Message> {
    let template = Template::parse(config).map_err(|error| error.to_message())?;
    let endpoint = RequestEndpoint::new(client.clone(), template).map_err(|error| error.to_message())?;
    Ok(Arc::new(endpoint))
}

struct EndpointNode(Arc<RequestEndpoint>);

impl Processor for EndpointNode {
    fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move {
            Ok(match ask_endpoint(&self.0, &input).await? {
                Value::Object(fields) => Value::Object(fields),
                other => Value::Object(Map::from_iter([("reply".to_owned(), other)])),
            })
        })
    }
}

/// A member of a council (a node that passes its input to several members and collects their
/// answers). This member is an endpoint, and its answer is the reply of the endpoint.
struct CouncilMember(Arc<RequestEndpoint>);

impl Processor for CouncilMember {
    fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move { ask_endpoint(&self.0, &input).await })
    }
}

async fn ask_endpoint(endpoint: &RequestEndpoint, input: &Value) -> ProcessResult {
    let no_fields = Map::new();
    let fields = input.as_object().unwrap_or(&no_fields);
    let Response { body, .. } = endpoint.call(Values { arguments: fields, context: fields }).await?;
    Ok(body.into_value())
}
