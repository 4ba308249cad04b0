//! The answers of a language model, which `rulec run` takes from an endpoint or from a file of
//! recorded answers.

#[cfg(feature = "http")]
pub mod endpoint;
mod recorded;

use super::CliError;
use recorded::AnswerFile;
use rulec::Message;
use rulec::prompt::ModelRequest;
use rulec_base::message;
use std::path::PathBuf;

/// Options that name a language model, and the files of its answers.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct ModelArgs {
    /// Let a language model answer where a choice (`ask`) or a flow (`intent`) needs one: the
    /// address of its chat-completions API, such as https://models.example.com/v1. Needs a program
    /// with the feature `http`
    #[arg(long, value_name = "URL", requires = "model_name", conflicts_with = "replay_answers")]
    model: Option<String>,
    /// The name of the model, as its API knows it; needed with `--model`
    #[arg(long, value_name = "NAME", requires = "model")]
    model_name: Option<String>,
    /// The name of the environment variable that holds the model's API key [default:
    /// RULEC_MODEL_KEY]
    #[arg(long, value_name = "NAME", requires = "model")]
    model_key: Option<String>,
    /// The time limit of one question to the model, with its retries, in seconds [default: 60]
    #[arg(long, value_name = "SECONDS", requires = "model", value_parser = clap::value_parser!(u64).range(1..))]
    model_timeout: Option<u64>,
    /// How often a question is asked again after a failed connection or the HTTP status 502, 503 or
    /// 504 [default: 2]
    #[arg(long, value_name = "N", requires = "model")]
    model_retries: Option<u32>,
    /// Append the model's answers to this file; a question that it already answers is not asked
    #[arg(long, value_name = "FILE", requires = "model")]
    record: Option<PathBuf>,
    /// Take the answers from this file of `--record`; no model is asked, and a message without a
    /// recorded answer is an error
    #[arg(long, value_name = "FILE")]
    replay_answers: Option<PathBuf>,
}

/// The answer of a language model to a request to select one of several ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The id that the model selected, which may be unknown. `None` if the model called no tool.
    pub selected_id: Option<String>,
    /// The reason why the model selected the id, which the model wrote for the user. `None` if it
    /// wrote none.
    pub reason: Option<String>,
    /// The text that the model replied instead of calling the tool. `None` if it replied no text.
    pub reply_text: Option<String>,
}

/// The reason why a request to a language model has no answer.
pub enum NoAnswer {
    /// The model could not be reached, or its answer cannot be used.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only a call can fail"))]
    Failed(Message),
    /// The answer is missing in the file of recorded answers, or cannot be written to it. In both
    /// cases, no decision is made for the message that needs the answer.
    Unavailable { message: Message, help: Message },
}

/// The source of a language model's answers: an endpoint, a file of recorded answers, or both. All
/// worker threads share it.
pub struct ModelAnswerSource {
    #[cfg(feature = "http")]
    endpoint: Option<endpoint::ModelEndpoint>,
    /// The file to which answers are recorded (`--record`), or from which recorded answers are read
    /// (`--replay-answers`).
    file: Option<AnswerFile>,
}

impl ModelArgs {
    /// True if the options name a model or recorded answers.
    pub fn selects_answer_source(&self) -> bool {
        self.model.is_some() || self.replay_answers.is_some()
    }

    /// Returns the name of the command-line option that selects the source of answers.
    pub fn option_name(&self) -> &'static str {
        if self.model.is_some() { "--model" } else { "--replay-answers" }
    }

    /// Opens the source of a language model's answers that the options select. `None` if they
    /// select none.
    pub fn open(&self) -> Result<Option<ModelAnswerSource>, CliError> {
        if let Some(path) = &self.replay_answers {
            let file = Some(AnswerFile::read(path)?);
            return Ok(Some(ModelAnswerSource {
                #[cfg(feature = "http")]
                endpoint: None,
                file,
            }));
        }
        match (&self.model, &self.model_name) {
            (Some(address), Some(name)) => self.connect(address, name).map(Some),
            _ => Ok(None),
        }
    }

    #[cfg(feature = "http")]
    fn connect(&self, address: &str, name: &str) -> Result<ModelAnswerSource, CliError> {
        let endpoint = endpoint::ModelEndpoint::new(self, address, name)?;
        let file = self.record.as_deref().map(AnswerFile::open_for_append).transpose()?;
        Ok(ModelAnswerSource { endpoint: Some(endpoint), file })
    }

    #[cfg(not(feature = "http"))]
    fn connect(&self, _: &str, _: &str) -> Result<ModelAnswerSource, CliError> {
        Err(CliError::usage_error(message!("`--model` has no effect: {}", no_http_message())))
    }
}

impl ModelAnswerSource {
    /// Returns a language model's answer to a request: the recorded answer if there is one,
    /// otherwise the answer of the endpoint.
    pub fn answer(&self, request: &ModelRequest) -> Result<ModelAnswer, NoAnswer> {
        if let Some(answer) = self.file.as_ref().and_then(|file| file.find(request)) {
            return Ok(answer);
        }
        #[cfg(feature = "http")]
        if let Some(endpoint) = &self.endpoint {
            let answer = endpoint.ask(request).map_err(NoAnswer::Failed)?;
            return match &self.file {
                Some(file) => file.add(request, answer),
                None => Ok(answer),
            };
        }
        Err(recorded::missing_answer(request))
    }
}

/// Returns the error message of a program that was built without an HTTP client.
pub fn no_http_message() -> Message {
    message!(
        "this program was built without HTTP calls: build it with `cargo build --release -p rulec-cli --features http`"
    )
}
