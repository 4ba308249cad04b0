//! Workflow nodes that call HTTP services: one endpoint, or several endpoints concurrently, such as
//! the voting members of a council.

use super::client::HttpClient;
use super::endpoint::Endpoint;
use super::request::Response;
use super::template::{Template, Values};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_runtime::workflow::{BoxFuture, Call, Node, ProcessError, ProcessResult, Processor};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Returns the factory of nodes that call one endpoint, for `WorkflowBuilder::kind`. A node's
/// `config` is the endpoint in the format of [`Template::parse`]; placeholders are filled from the
/// node's input. If the reply is a JSON object, it is the output. Any other reply becomes the
/// output's field `reply`.
pub fn endpoint_node(
    client: HttpClient,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync {
    move |node| Ok(Arc::new(EndpointNode(endpoint(&client, &node.config)?)))
}

/// Returns the factory of council nodes, which call several services concurrently. In a node's
/// `config`, the field `members` maps the name of each member to an endpoint or to a constant text.
///
/// The output contains exactly one field per member, with the member's reply. So a later vote
/// counts no other fields. If one member cannot be called, the node fails, because a vote without
/// that member could differ.
pub fn council_node(
    client: HttpClient,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync {
    move |node| {
        let wanted = || message!("`config`: `members` is wanted, an endpoint or a text for each name");
        let fields = node.config.as_object().ok_or_else(wanted)?;
        if let Some(other) = fields.keys().find(|key| *key != "members") {
            return Err(message!("`config` has no field `{other}`; it has `members`").into());
        }
        let members = fields.get("members").and_then(Value::as_object).filter(|members| !members.is_empty());
        let member = |(name, written): (&String, &Value)| -> Result<(String, Member), Message> {
            let member = match written {
                Value::String(text) => Member::Says(text.clone()),
                _ => {
                    let read = endpoint(&client, written);
                    Member::Asked(read.map_err(|error| message!("the member `{name}`: {error}"))?)
                }
            };
            Ok((name.clone(), member))
        };
        let members = members.ok_or_else(wanted)?.iter().map(member).collect::<Result<_, Message>>()?;
        Ok(Arc::new(Council(members)))
    }
}

fn endpoint(client: &HttpClient, written: &Value) -> Result<Arc<Endpoint>, Message> {
    let template = Template::parse(written).map_err(|error| error.to_message())?;
    let endpoint = Endpoint::new(client.clone(), template).map_err(|error| error.to_message())?;
    Ok(Arc::new(endpoint))
}

struct EndpointNode(Arc<Endpoint>);

impl Processor for EndpointNode {
    fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move {
            Ok(match ask(&self.0, &input).await? {
                Value::Object(fields) => Value::Object(fields),
                other => Value::Object(Map::from_iter([("reply".to_owned(), other)])),
            })
        })
    }
}

struct Council(Vec<(String, Member)>);

#[derive(Clone)]
enum Member {
    Asked(Arc<Endpoint>),
    Says(String),
}

impl Processor for Council {
    fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move {
            let input = Arc::new(input);
            // Dropping the set, together with the node's future, aborts the running calls.
            let mut asked = JoinSet::new();
            for (place, (name, member)) in self.0.iter().enumerate() {
                let (name, member, input) = (name.clone(), member.clone(), input.clone());
                asked.spawn(async move {
                    let said = match member {
                        Member::Says(text) => Ok(Value::String(text)),
                        Member::Asked(endpoint) => ask(&endpoint, &input).await,
                    };
                    let said = said.map_err(|error| format!("the member `{name}` did not answer: {error}"));
                    (place, name, said)
                });
            }
            let mut answers = asked.join_all().await;
            answers.sort_by_key(|(place, ..)| *place);
            let mut output = Map::new();
            for (_, name, said) in answers {
                output.insert(name, said?);
            }
            Ok(Value::Object(output))
        })
    }
}

async fn ask(endpoint: &Endpoint, input: &Value) -> ProcessResult {
    let nothing = Map::new();
    let fields = input.as_object().unwrap_or(&nothing);
    let Response { body, .. } = endpoint.call(Values { arguments: fields, context: fields }).await?;
    Ok(body.into_value())
}
