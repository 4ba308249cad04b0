//! Plan nodes of the type `LLM`, which send a prompt to a language model. A plan is a workflow that
//! a language model writes.

use super::answer::ModelError;
use super::{ChatModel, HttpError, Request};
use rulec_runtime::workflow::{Node, ProcessError, Processor, from_fn};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Config fields of an `LLM` node whose values are copied unchanged into the request to the model.
const COPIED_CONFIG_FIELDS: [&str; 7] = [
    "temperature",
    "max_tokens",
    "top_p",
    "stop",
    "frequency_penalty",
    "presence_penalty",
    "response_format",
];
/// The config fields of an `LLM` node other than [`COPIED_CONFIG_FIELDS`]; any further field is an
/// error. `timeout` is accepted here, but the engine that runs the workflow enforces it.
const UNCOPIED_CONFIG_FIELDS: [&str; 5] = ["model", "prompt", "messages", "system_prompt", "timeout"];

/// Returns the factory of `LLM` nodes, for `CoordinatorBuilder::node_kind`. A node sends its
/// `system_prompt`, its `messages` and its `prompt`, in this order. Every node asks the given
/// `model`; the field `model` of a node's config is ignored. The output has the answer as `text`,
/// the `model`, the `finish_reason` and the `usage`.
/// ```no_run
/// use rulec_http::{AllowedHosts, ChatModel, HttpClient, Limits, llm_node};
/// use rulec_runtime::payload::{Coordinator, Judges};
///
/// # let rules = rulec::Rules::from_text("payload p { a: int }")?;
/// let client = HttpClient::new(AllowedHosts::new(["models.example.com"])?, Limits::default())?;
/// let model = ChatModel::new(client, "https://models.example.com/v1", "small")?;
/// let builder = Coordinator::builder(Judges::new(&rules)).node_kind("LLM", llm_node(model));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn llm_node(
    model: ChatModel,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Clone + Send + Sync + 'static {
    move |node| {
        let question = Arc::new(model.build_completion(&node.config)?);
        let model = model.clone();
        Ok(from_fn(move |_| {
            let (model, question) = (model.clone(), question.clone());
            async move { Ok(model.ask_for_text(&question).await?) }
        }))
    }
}

impl ChatModel {
    fn build_completion(&self, config: &Value) -> Result<Value, ProcessError> {
        let no_fields = Map::new();
        let fields = config.as_object().unwrap_or(&no_fields);
        let is_known =
            |name: &str| COPIED_CONFIG_FIELDS.contains(&name) || UNCOPIED_CONFIG_FIELDS.contains(&name);
        if let Some(name) = fields.keys().find(|name| !is_known(name)) {
            return Err(format!("`config.{name}` is nothing that an LLM node sends; leave it out").into());
        }
        let text = |name: &str| match &config[name] {
            Value::Null => Ok(None),
            Value::String(text) if text.trim().is_empty() => Ok(None),
            Value::String(text) => Ok(Some(text.as_str())),
            _ => Err(format!("`config.{name}` must be a text")),
        };
        let mut messages = Vec::new();
        messages.extend(text("system_prompt")?.map(|text| json!({"role": "system", "content": text})));
        match &config["messages"] {
            Value::Null => {}
            Value::Array(given) if given.iter().all(Value::is_object) => messages.extend(given.clone()),
            _ => return Err("`config.messages` must be a list of objects".into()),
        }
        messages.extend(text("prompt")?.map(|text| json!({"role": "user", "content": text})));
        if messages.is_empty() {
            return Err("`config` has neither a `prompt` nor `messages`".into());
        }
        let mut question = json!({"model": self.model_name, "messages": messages});
        if let Some(temperature) = self.temperature {
            question["temperature"] = temperature.into();
        }
        for name in COPIED_CONFIG_FIELDS {
            if let Some(value) = fields.get(name).filter(|value| !value.is_null()) {
                question[name] = value.clone();
            }
        }
        Ok(question)
    }

    async fn ask_for_text(&self, question: &Value) -> Result<Value, ModelError> {
        let request: Request = self.build_request(question.clone())?;
        let answer: Result<Value, HttpError> = self.client.send(&request).await?.into_json();
        let answer = answer?;
        let choice = &answer["choices"][0];
        let Some(text) = choice["message"]["content"].as_str() else {
            let text = request.mask_and_truncate(&answer.to_string());
            return Err(ModelError::Malformed { missing: "text choices[0].message.content", text });
        };
        Ok(json!({
            "text": text,
            "model": answer["model"],
            "finish_reason": choice["finish_reason"],
            "usage": answer["usage"],
        }))
    }
}
