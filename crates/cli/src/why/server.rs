//! Implements `rulec why --server`: lets a running service explain a decision of its rules, and
//! prints the explanation.

use super::{Args, MessageArgs, WhyReport, invalid_message_error, print_report};
use crate::escape::escape_json_texts;
use crate::files;
use crate::server::{ServiceClient, language_name, rules_name};
use crate::term::{Format, Out, Term};
use crate::{CliError, ExitStatus};
use rulec::history::HistoryGap;
use rulec::{Explanation, InputViolation};
use rulec_base::json::{self, DecimalPaths};
use rulec_base::message;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::path::Path;

/// The body of a request to the service's path `/v1/why`.
#[derive(Serialize)]
pub struct WhyRequest<'a> {
    #[serde(rename = "rules")]
    pub rules_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<&'a str>,
    /// The JSON text of the message, so that decimals keep all their digits.
    pub message: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The route for which the answer names the changes of the message that would lead to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<&'a str>,
}

impl WhyRequest<'_> {
    /// Sends this request for an explanation to the service. Returns the service's answer.
    pub fn ask(&self, server: &ServiceClient, message: &MessageArgs) -> Result<Json, CliError> {
        server.ask("/v1/why", self).map_err(|failure| match &failure.message_error {
            Some((detail, code)) => {
                let what = message.input_name();
                CliError::input_error(message!("{what} is not a valid message: {} ({})", detail, code))
            }
            None => failure.into_error(),
        })
    }
}

#[derive(Deserialize)]
struct WhyAnswer {
    explanation: Explanation,
    #[serde(default)]
    breaches: Vec<InputViolation>,
    declares_input: bool,
    #[serde(default)]
    question: Option<String>,
    #[serde(default)]
    failure: Option<String>,
    #[serde(default)]
    history_gap: Option<String>,
}

/// Requests the explanation of a decision from the service. Prints it as `rulec why` does for a
/// rules file.
pub(super) fn run(
    server: &ServiceClient,
    args: &Args,
    term: &Term,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    let request = WhyRequest {
        rules_name: &rules_name(&args.rules.path),
        entry: args.entry.as_deref(),
        message: args.message.to_message_json(term)?,
        language: language_name(),
        generation: args.generation.generation,
        why_not: None,
    };
    let mut answer = request.ask(server, &args.message)?;
    // A terminal obeys control characters, and the service may be a foreign one.
    if args.format == Format::Human {
        escape_json_texts(&mut answer);
    }
    let answer: WhyAnswer = server.deserialize_answer(answer)?;
    let gap = [HistoryGap::NoKey, HistoryGap::Dropped]
        .into_iter()
        .find(|gap| answer.history_gap.as_deref() == Some(gap.as_str()));
    let report = WhyReport {
        explanation: &answer.explanation,
        breaches: &answer.breaches,
        declares_input: answer.declares_input,
        model_question: answer.question.as_deref(),
        model_failure: answer.failure,
        missing_answer_note: None,
        history_gap: gap,
    };
    print_report(args, &report, term, out)
}

impl MessageArgs {
    /// Returns the message as JSON text, with its numbers written as the user wrote them.
    pub fn to_message_json(&self, term: &Term) -> Result<Box<RawValue>, CliError> {
        let (text, name) = match self.input.as_deref() {
            Some("-") => {
                let (bytes, name) = files::read_json_bytes(Path::new("-"))?;
                let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
                let checked = json::parse_object_bytes(bytes);
                checked.map_err(|error| invalid_message_error(&name, &error))?;
                (String::from_utf8_lossy(bytes).into_owned(), name)
            }
            _ => (self.arguments_to_json(term)?, self.input_name().to_owned()),
        };
        RawValue::from_string(text.trim().to_owned()).map_err(|error| {
            let error = error.to_string();
            CliError::input_error(message!("{name} is not a valid message: {error}"))
        })
    }

    fn arguments_to_json(&self, term: &Term) -> Result<String, CliError> {
        let message = self.read_message(term, DecimalPaths::none(), |error| error)?;
        Ok(match (&self.input, &self.ctx, message.get("text")) {
            (Some(input), ..) => input.clone(),
            (None, None, _) => message.to_string(),
            (None, Some(ctx), None) => format!("{{\"ctx\":{ctx}}}"),
            (None, Some(ctx), Some(text)) => format!("{{\"text\":{text},\"ctx\":{ctx}}}"),
        })
    }

    fn input_name(&self) -> &'static str {
        match self.input.as_deref() {
            Some("-") => "<stdin>",
            Some(_) => "`--input`",
            None => "`--ctx`",
        }
    }
}
