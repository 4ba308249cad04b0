//! A language model at an OpenAI-compatible chat-completions endpoint. The model picks one id from
//! a list: a flow that fits the meaning of a message, or the branch of a choice.

mod answer;
mod node;
mod stream;

pub use answer::ModelError;
pub use node::llm_node;

use super::client::HttpClient;
use super::error::HttpError;
use super::request::{HeaderError, Request};
use super::secret::Secret;
use rulec::prompt::{ModelRequest, PickTool};
use serde_json::{Value, json};
use std::time::Duration;

const DEFAULT_URL_PATH: &str = "chat/completions";

/// A language model that is called at an HTTP endpoint for chat completions.
#[derive(Clone, Debug)]
pub struct ChatModel {
    client: HttpClient,
    base_url: String,
    url_path: String,
    model_name: String,
    temperature: Option<f64>,
    api_key: Option<Secret>,
}

/// The messages of one request to a language model: the task, the conversation so far, and the
/// user's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Prompt<'a> {
    /// The system message, such as the text of [`intent_prompt`]; omitted if empty.
    ///
    /// [`intent_prompt`]: rulec::prompt::intent_prompt
    pub system: &'a str,
    /// The conversation before the user's message, oldest message first.
    pub history: &'a [Turn<'a>],
    /// The user's message, which the model should answer.
    pub user: &'a str,
}

/// One earlier message of the conversation with a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// Who wrote the message.
    pub role: Role,
    /// The text of the message.
    pub text: &'a str,
}

/// Who wrote a message: the user or the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person who talks to the model.
    User,
    /// The model.
    Assistant,
}

/// The result of a model's tool call: the id that the model picked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pick {
    /// The picked id, which is one of the ids that the tool lists.
    pub id: String,
    /// Why the model picked the id, if the tool asks for a reason.
    pub reason: Option<String>,
    /// Further tool calls in the same response, each as `name(arguments)`. Only the first tool call
    /// is used.
    pub ignored: Vec<String>,
    /// Number of attempts that the HTTP call to the model took.
    pub attempts: u32,
    /// Duration of the HTTP call to the model, with all attempts.
    pub elapsed: Duration,
}

impl ChatModel {
    /// Creates a model from its name and a base URL such as `https://api.example.com/v1`.
    ///
    /// # Errors
    /// If `base_url` is invalid, or its host is not one of the allowed hosts of `client`.
    pub fn new(client: HttpClient, base_url: &str, model_name: &str) -> Result<ChatModel, HttpError> {
        let (base_url, url_path) = (base_url.to_owned(), DEFAULT_URL_PATH.to_owned());
        let chat_model = ChatModel {
            client,
            base_url,
            url_path,
            model_name: model_name.to_owned(),
            temperature: None,
            api_key: None,
        };
        chat_model.client.check(&Request::get(chat_model.completions_url()))?;
        Ok(chat_model)
    }

    /// Sets the path of the chat-completions endpoint below the base URL. Default:
    /// `chat/completions`.
    pub fn path(mut self, path: &str) -> Self {
        self.url_path = path.to_owned();
        self
    }

    /// Sets the sampling temperature. If it is not set, requests contain no temperature, and the
    /// endpoint uses its own default.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the API key, which is sent as a bearer token and never printed.
    ///
    /// # Errors
    /// If the key contains a line break or another control character.
    pub fn key(mut self, key: Secret) -> Result<Self, HeaderError> {
        Request::get(self.completions_url()).bearer(&key)?;
        self.api_key = Some(key);
        Ok(self)
    }

    fn completions_url(&self) -> String {
        format!("{}/{}", self.base_url.trim_end_matches('/'), self.url_path.trim_start_matches('/'))
    }

    /// Lets the model pick one of the ids that the tool lists.
    ///
    /// # Errors
    /// If the call fails, the response has no call of the tool, or the picked id is not in the
    /// list.
    pub async fn choose(&self, prompt: &Prompt<'_>, tool: &PickTool) -> Result<Pick, ModelError> {
        let request = self.build_request(self.build_body(prompt, tool))?;
        let response = self.client.send(&request).await?;
        let (attempts, elapsed) = (response.attempts, response.elapsed);
        read_pick(&response.into_json()?, tool, &request, (attempts, elapsed))
    }

    /// Like [`ChatModel::choose`], but streams the response: `on_reason` receives the pieces of the
    /// model's reason as they arrive.
    ///
    /// # Errors
    /// As [`ChatModel::choose`]; `on_reason` may have received pieces before the error.
    pub async fn choose_telling(
        &self,
        prompt: &Prompt<'_>,
        tool: &PickTool,
        on_reason: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Pick, ModelError> {
        let mut body = self.build_body(prompt, tool);
        body["stream"] = true.into();
        let request = self.build_request(body)?;
        let mut streamed = stream::StreamedResponse::new(request.secrets());
        let response = self
            .client
            .send_with_sink(&request, Some(&mut |piece| streamed.add_piece(piece, on_reason)))
            .await?;
        streamed.pass_end_of_reason(on_reason);
        let (attempts, elapsed) = (response.attempts, response.elapsed);
        let response_json = match streamed.combined_response() {
            Some(response_json) => response_json,
            // The endpoint does not stream: it sent one complete response.
            None => response.into_json()?,
        };
        let pick = read_pick(&response_json, tool, &request, (attempts, elapsed))?;
        if let Some(reason) = pick.reason.as_deref().filter(|_| !streamed.has_passed_reason()) {
            on_reason(reason);
        }
        Ok(pick)
    }

    /// Sends a request to the model, and returns the id that the model picked. With `on_reason`,
    /// streams the response as [`ChatModel::choose_telling`] does.
    ///
    /// # Errors
    /// As [`ChatModel::choose`].
    pub async fn answer(
        &self,
        request: &ModelRequest,
        on_reason: Option<&mut (dyn FnMut(&str) + Send)>,
    ) -> Result<Pick, ModelError> {
        let known: Vec<Turn<'_>> = request.known.iter().map(|text| Turn { role: Role::User, text }).collect();
        let prompt = Prompt { system: &request.system, history: &known, user: &request.text };
        match on_reason {
            Some(on_reason) => self.choose_telling(&prompt, &request.tool, on_reason).await,
            None => self.choose(&prompt, &request.tool).await,
        }
    }

    fn build_request(&self, body: Value) -> Result<Request, HeaderError> {
        // A model only answers, so asking it twice changes nothing.
        let request = Request::post(self.completions_url(), &body).repeatable();
        match &self.api_key {
            Some(key) => request.bearer(key),
            None => Ok(request),
        }
    }

    fn build_body(&self, prompt: &Prompt<'_>, tool: &PickTool) -> Value {
        let message = |role: &str, text: &str| json!({"role": role, "content": text});
        let mut messages = Vec::with_capacity(prompt.history.len() + 2);
        if !prompt.system.is_empty() {
            messages.push(message("system", prompt.system));
        }
        messages.extend(prompt.history.iter().map(|turn| match turn.role {
            Role::User => message("user", turn.text),
            Role::Assistant => message("assistant", turn.text),
        }));
        messages.push(message("user", prompt.user));
        let mut body = json!({
            "model": self.model_name,
            "messages": messages,
            "tools": [tool.to_json()],
            "tool_choice": tool.choice(),
        });
        if let Some(temperature) = self.temperature {
            body["temperature"] = temperature.into();
        }
        body
    }
}

/// Reads the picked id from `response_json`, a model's response. `attempts` and `elapsed` describe
/// the HTTP call and are copied to the result.
fn read_pick(
    response_json: &Value,
    tool: &PickTool,
    request: &Request,
    (attempts, elapsed): (u32, Duration),
) -> Result<Pick, ModelError> {
    let quote = |text: &str| request.mask_and_truncate(text);
    let (id, ignored) =
        answer::read_pick(response_json, tool).map_err(|error| error.map_model_texts(quote))?;
    let reason = tool.wants_reason().then(|| answer::picked_reason(response_json)).flatten();
    let ignored = ignored.iter().map(|call| quote(call)).collect();
    Ok(Pick { id, reason: reason.map(|reason| quote(&reason)), ignored, attempts, elapsed })
}
