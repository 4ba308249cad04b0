//! A council: a processor that passes the same input to several members concurrently, such as the
//! voters before a [`Vote`](super::Vote).

use crate::workflow::node::Node;
use crate::workflow::processor::{BoxFuture, Call, ProcessError, ProcessResult, Processor, from_fn};
use futures_util::future::join_all;
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A processor that passes its input to several members concurrently. The output contains exactly
/// one field per member, with the member's answer. So a vote over this output counts no other
/// fields.
///
/// If one member fails, the node fails, because a vote without that member could differ.
pub struct Council(Vec<(String, Arc<dyn Processor>)>);

impl Council {
    /// Returns the factory of council nodes, for `WorkflowBuilder::kind`. A council passes its
    /// input to several members and collects their answers. In a node's `config`, the field
    /// `members` maps the name of each member to a JSON value:
    /// - A text is the constant answer of the member.
    /// - From any other value, such as an endpoint, the function `member` creates the member's
    ///   processor.
    pub fn factory(
        member: impl Fn(&Value) -> Result<Arc<dyn Processor>, Message> + Send + Sync,
    ) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync {
        move |node| {
            let expected_members =
                || message!("`config`: `members` is wanted, an endpoint or a text for each name");
            let fields = node.config.as_object().ok_or_else(expected_members)?;
            if let Some(other) = fields.keys().find(|key| *key != "members") {
                return Err(message!("`config` has no field `{other}`; it has `members`").into());
            }
            let members = fields.get("members").and_then(Value::as_object);
            let members = members.filter(|members| !members.is_empty()).ok_or_else(expected_members)?;
            let create = |(name, member_config): (&String, &Value)| -> Result<_, Message> {
                let member = match member_config {
                    Value::String(text) => constant_processor(text.clone()),
                    _ => member(member_config).map_err(|error| message!("the member `{name}`: {error}"))?,
                };
                Ok((name.clone(), member))
            };
            Ok(Arc::new(Council(members.iter().map(create).collect::<Result<_, Message>>()?)))
        }
    }
}

fn constant_processor(text: String) -> Arc<dyn Processor> {
    from_fn(move |_| std::future::ready(Ok(Value::String(text.clone()))))
}

impl Processor for Council {
    fn process<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
        Box::pin(async move {
            let calls = self.0.iter().map(|(_, member)| member.process(call, input.clone()));
            let answers = join_all(calls).await;
            let mut output = Map::new();
            for ((name, _), answer) in self.0.iter().zip(answers) {
                let answer =
                    answer.map_err(|error| format!("the member `{name}` did not answer: {error}"))?;
                output.insert(name.clone(), answer);
            }
            Ok(Value::Object(output))
        })
    }
}
