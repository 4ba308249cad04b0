//! Asks a language model at an HTTP endpoint, which the command-line options name.

use super::{ModelAnswer, ModelArgs};
use crate::CliError;
use crate::variables::read_secret;
use rulec::Message;
use rulec::prompt::ModelRequest;
use rulec_base::message;
use rulec_http::{AllowedHosts, ChatModel, HttpClient, Limits, ModelError, Pick};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The environment variable with the API key of the model, if `--model-key` names no other
/// variable.
const MODEL_KEY_VARIABLE: &str = "RULEC_MODEL_KEY";

/// Creates the client of a language model, which may call only the host of `address`. `option` is
/// the command-line option that names the address, for error messages. `key_variable` is the value
/// of `--model-key`.
pub fn create_chat_model(
    option: &str,
    (address, name): (&str, &str),
    key_variable: Option<&str>,
    limits: Limits,
) -> Result<ChatModel, CliError> {
    let to_error = |error: Message| CliError::usage_error(message!("`{option}`: {error}"));
    let hosts = AllowedHosts::of_url(address).map_err(|error| to_error(error.to_message()))?;
    let client = HttpClient::new(hosts, limits).map_err(|error| to_error(error.to_message()))?;
    let model = ChatModel::new(client, address, name).map_err(|error| to_error(error.to_message()))?;
    match read_secret("--model-key", key_variable, Some(MODEL_KEY_VARIABLE))? {
        Some(key) => model.key(key).map_err(|error| to_error(error.to_message())),
        None => Ok(model),
    }
}

/// A language model at an HTTP endpoint, and the tokio runtime that runs the calls to it.
pub struct ModelEndpoint {
    model: ChatModel,
    runtime: Runtime,
}

impl ModelEndpoint {
    pub fn new(args: &ModelArgs, address: &str, name: &str) -> Result<ModelEndpoint, CliError> {
        let mut limits = Limits::default();
        if let Some(seconds) = args.model_timeout {
            limits.overall = Duration::from_secs(seconds);
        }
        // One attempt may use the whole time limit, because models can be slow.
        limits.attempt = limits.overall;
        limits.retries = args.model_retries.unwrap_or(limits.retries);
        let model = create_chat_model("--model", (address, name), args.model_key.as_deref(), limits)?;
        // One thread is enough: it keeps the connections open, and the calling threads run the
        // calls.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Ok(ModelEndpoint { model, runtime: runtime.map_err(CliError::from_io_error)? })
    }

    /// Asks the model, and waits for the answer. Returns an error if the call fails, or the answer
    /// cannot be read.
    pub fn ask(&self, request: &ModelRequest) -> Result<ModelAnswer, Message> {
        match self.runtime.block_on(self.model.answer(request, None)) {
            Ok(Pick { id, reason, .. }) => {
                Ok(ModelAnswer { selected_id: Some(id), reason, reply_text: None })
            }
            Err(ModelError::UnknownId { id }) => {
                Ok(ModelAnswer { selected_id: Some(id), reason: None, reply_text: None })
            }
            Err(ModelError::NoCall { text }) => Ok(ModelAnswer {
                selected_id: None,
                reason: None,
                reply_text: Some(text).filter(|text| !text.is_empty()),
            }),
            Err(error) => Err(error.to_message()),
        }
    }
}
