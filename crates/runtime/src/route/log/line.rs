//! Converts a decision to a line of the decision log. Private values are masked by the same code as
//! in explanations.

use super::super::difference::DecisionDifference;
use super::super::outcome::{Attempt, HandlerOutcome, Outcome};
use super::credentials::Credentials;
use rulec::Explanation;
use rulec::InputViolation;
use rulec::history::HistoryGap;
use rulec::{Decision, LiveRules, Rules};
use rulec_eval::trace::MASK;
use rulec_lang::value::format_datetime;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

/// Selects the optional parts of each log line; see [`super::DecisionLogBuilder`].
#[derive(Clone, Copy, Debug)]
pub(super) struct LogLineOptions {
    pub includes_message: bool,
    pub includes_explanation: bool,
    pub includes_analysis: bool,
}

/// The data from which a log line is written, except the outcome. The thread that writes the log
/// converts the data to JSON, so that a decision does not wait for this work.
pub(in crate::route) struct DecisionRecord {
    pub time: OffsetDateTime,
    pub rules: LiveRules,
    pub decision: Arc<Decision>,
    pub message: Arc<Json>,
    /// How the decision of the shadow rules (which decide for comparison only) differs from this
    /// decision. `None` if there is no difference or there are no shadow rules.
    pub shadow_difference: Option<DecisionDifference>,
}

/// A decision in the queue of the log, with the outcome of its message.
pub(super) struct QueuedDecision {
    record: DecisionRecord,
    /// The outcome of the message, without the handler's reply.
    outcome: Outcome,
    result_name: &'static str,
    error_text: Option<String>,
    missing_permissions: Vec<String>,
}

#[derive(Serialize)]
struct LogLine<'a> {
    time: String,
    generation: u64,
    entry: &'a str,
    route: Option<&'a str>,
    handler: Option<&'a str>,
    path: &'a [String],
    args: Map<String, Json>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing_args: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    breaches: &'a [InputViolation],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    host_failures: Vec<&'a str>,
    /// Why the history may have lacked messages that the rules read: `no_key` (the message has no
    /// history key) or `dropped` (the history's limit `at most` has removed messages).
    #[serde(skip_serializing_if = "Option::is_none")]
    history_gap: Option<&'static str>,
    elapsed_us: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    requires: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<&'a str>,
    attempts: u32,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tried: &'a [Attempt],
    result: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing_permissions: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<&'a DecisionDifference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<LoggedExplanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unexplained: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<Json>,
}

/// The explanation in a log line: complete, or as JSON in which credentials are masked.
#[derive(Serialize)]
#[serde(untagged)]
enum LoggedExplanation {
    Whole(Box<Explanation>),
    Masked(Json),
}

impl QueuedDecision {
    pub(super) fn new(record: DecisionRecord, outcome: &mut Outcome, result: &'static str) -> QueuedDecision {
        let error = outcome.result.error().map(str::to_owned);
        // Moves the reply out of the outcome while the outcome is cloned, because the reply may be
        // large.
        let handler_outcome = std::mem::take(&mut outcome.result);
        let outcome_without_reply = outcome.clone();
        outcome.result = handler_outcome;
        let missing_permissions = match &outcome.result {
            HandlerOutcome::Refused { missing, .. } => missing.clone(),
            _ => Vec::new(),
        };
        QueuedDecision {
            record,
            outcome: outcome_without_reply,
            result_name: result,
            error_text: error,
            missing_permissions,
        }
    }

    /// Returns the log line as JSON, including the line feed at its end. Returns an error if the
    /// message contains a number that is not valid JSON.
    pub(super) fn to_json_line(&self, options: LogLineOptions) -> Result<Vec<u8>, serde_json::Error> {
        let record = &self.record;
        let explanation = options
            .includes_explanation
            .then(|| record.rules.explain_decision(&record.decision, &record.message));
        let unexplained = match &explanation {
            Some(Ok(None)) => Some("the rules were edited since"),
            Some(Err(_)) => Some("the edited rules could not be merged"),
            _ => None,
        };
        LogLineParts {
            time: record.time,
            decision: &record.decision,
            message: &record.message,
            has_message: options.includes_message,
            outcome: &self.outcome,
            result: self.result_name,
            error: self.error_text.as_deref(),
            missing_permissions: &self.missing_permissions,
            shadow: record.shadow_difference.as_ref(),
            explanation: explanation.and_then(Result::ok).flatten(),
            missing_explanation_reason: unexplained,
            analysis: options.includes_analysis.then(|| record.analyze_message_text()).flatten(),
        }
        .into_json_line()
    }
}

impl DecisionRecord {
    /// Returns the analysis of the message's text. `None` if the classifier cannot be trained on
    /// the examples of the rules' intents.
    fn analyze_message_text(&self) -> Option<Json> {
        let rules = self.rules.rules();
        let analysis = rules.analyze_message(&self.message).ok()?;
        Some(rules.masked_analysis(&analysis))
    }
}

/// A decision that no router made, for a program that writes the decision log itself.
///
/// ```
/// use rulec_runtime::route::DecidedMessage;
/// use serde_json::json;
///
/// let rules = rulec::Rules::from_text("route hi when text == \"hi\" -> greeter")?;
/// let message = json!({"text": "hi"});
/// let decision = rules.decide(&message);
/// let line = DecidedMessage::new(&decision, &message).to_log_line()?;
/// let line: serde_json::Value = serde_json::from_slice(&line)?;
/// assert_eq!((&line["route"], &line["result"]), (&json!("hi"), &json!("decided")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DecidedMessage<'a> {
    decision: &'a Decision,
    message: &'a Json,
    /// Name of the flow that a classifier or a language model chose. `None` if the rules chose a
    /// statement, such as a route.
    flow_name: Option<&'a str>,
    elapsed: Duration,
    explanation: Option<Explanation>,
    analysis: Option<Json>,
}

impl<'a> DecidedMessage<'a> {
    /// Creates the record of `decision` about `message`, without duration, explanation and
    /// analysis.
    pub fn new(decision: &'a Decision, message: &'a Json) -> Self {
        DecidedMessage {
            decision,
            message,
            flow_name: None,
            elapsed: Duration::ZERO,
            explanation: None,
            analysis: None,
        }
    }

    /// Sets the name of the flow that a classifier or a language model chose. `None` means that the
    /// rules chose a statement, such as a route.
    #[must_use]
    pub fn flow(self, name: Option<&'a str>) -> Self {
        DecidedMessage { flow_name: name, ..self }
    }

    /// Sets the duration of the decision, for the field `elapsed_us` of the line.
    #[must_use]
    pub fn elapsed(self, elapsed: Duration) -> Self {
        DecidedMessage { elapsed, ..self }
    }

    /// Sets the explanation of the decision, which the line then contains.
    #[must_use]
    pub fn explanation(self, explanation: Option<Explanation>) -> Self {
        DecidedMessage { explanation, ..self }
    }

    /// Sets the analysis of the message's text, which the line then contains. Use an analysis that
    /// [`rulec::Rules::masked_analysis`] returned, because this method masks nothing.
    #[must_use]
    pub fn analysis(self, analysis: Option<Json>) -> Self {
        DecidedMessage { analysis, ..self }
    }

    /// Returns the line of the decision log, including the line feed. Its time is the current time.
    /// Values of `@private` fields are masked.
    ///
    /// # Errors
    /// If the message contains a number that is not valid JSON.
    pub fn to_log_line(self) -> Result<Vec<u8>, serde_json::Error> {
        let mut outcome = Outcome { elapsed: self.elapsed, ..Outcome::from_decision(self.decision) };
        if let Some(flow) = self.flow_name {
            outcome.route = Some(flow.to_owned());
        }
        LogLineParts {
            time: OffsetDateTime::now_utc(),
            decision: self.decision,
            message: self.message,
            has_message: true,
            result: decided_result_name(&outcome, self.decision),
            outcome: &outcome,
            error: None,
            missing_permissions: &[],
            shadow: None,
            explanation: self.explanation,
            missing_explanation_reason: None,
            analysis: self.analysis,
        }
        .into_json_line()
    }
}

/// Returns the line of the decision log about a message that was recorded in a history, but not
/// decided. A program that writes the log itself needs such lines. Includes the line feed. Values
/// of `@private` fields of `rules` and credentials are masked.
///
/// # Errors
/// If the message contains a number that is not valid JSON.
pub fn observed_log_line(rules: &Rules, message: &Json) -> Result<Vec<u8>, serde_json::Error> {
    let mut message = rules.masked_message(message);
    Credentials::mask_in_message(&mut message);
    let line = ObservedLine {
        time: format_datetime(OffsetDateTime::now_utc()),
        generation: rules.generation(),
        observed: true,
        message,
    };
    let mut bytes = serde_json::to_vec(&line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The line of a message that was recorded, but not decided.
#[derive(Serialize)]
struct ObservedLine {
    time: String,
    generation: u64,
    observed: bool,
    message: Json,
}

/// Returns the value of the log field `result` for a decision without a handler: `decided`,
/// `no_route` or `invalid`.
pub(in crate::route) fn decided_result_name(outcome: &Outcome, decision: &Decision) -> &'static str {
    match (&outcome.route, decision.refusal()) {
        (_, Some(_)) => "invalid",
        (None, None) => "no_route",
        (Some(_), None) => "decided",
    }
}

/// The data of a log line before private values are masked.
struct LogLineParts<'a> {
    time: OffsetDateTime,
    decision: &'a Decision,
    message: &'a Json,
    /// Whether the log line contains the message.
    has_message: bool,
    outcome: &'a Outcome,
    result: &'a str,
    error: Option<&'a str>,
    missing_permissions: &'a [String],
    shadow: Option<&'a DecisionDifference>,
    explanation: Option<Explanation>,
    missing_explanation_reason: Option<&'a str>,
    analysis: Option<Json>,
}

impl LogLineParts<'_> {
    fn into_json_line(self) -> Result<Vec<u8>, serde_json::Error> {
        let LogLineParts { decision, outcome, .. } = self;
        let mut message = decision.masked_message(self.message);
        let credentials = Credentials::mask_in_message(&mut message);
        let mut args = decision.masked_args();
        let mut analysis = self.analysis;
        let mut explanation = self.explanation.map(|whole| LoggedExplanation::Whole(Box::new(whole)));
        if !credentials.is_empty() {
            credentials.mask_copies_in(&mut args);
            analysis.iter_mut().for_each(|analysis| credentials.mask_copies(analysis));
            if let Some(whole) = &explanation {
                let mut json = serde_json::to_value(whole)?;
                credentials.mask_copies(&mut json);
                explanation = Some(LoggedExplanation::Masked(json));
            }
        }
        let has_private_values = message != *self.message;
        let error = self.error.map(|error| if has_private_values { MASK } else { error });
        let mask_error = |tried: &Attempt| Attempt { error: Some(MASK.to_owned()), ..tried.clone() };
        let mut tried = Cow::from(&outcome.tried);
        if has_private_values {
            let attempts_with_error = tried.to_mut().iter_mut().filter(|tried| tried.error.is_some());
            attempts_with_error.for_each(|tried| *tried = mask_error(tried));
        }
        let line = LogLine {
            time: format_datetime(self.time),
            generation: outcome.generation,
            entry: &outcome.entry,
            route: outcome.route.as_deref(),
            handler: outcome.handler.as_deref(),
            path: &outcome.path,
            args,
            missing_args: &outcome.missing_args,
            breaches: &outcome.breaches,
            // Contains only the names of the functions, because the failure messages may contain
            // private data.
            host_failures: decision.failures().iter().map(|failure| &*failure.function).collect(),
            history_gap: decision.history_gap().map(HistoryGap::as_str),
            elapsed_us: outcome.elapsed_us(),
            requires: &outcome.requires,
            fallback: outcome.fallback.as_deref(),
            attempts: outcome.attempts,
            tried: &tried,
            result: self.result,
            missing_permissions: self.missing_permissions,
            error,
            shadow: self.shadow,
            message: self.has_message.then_some(message),
            explanation,
            unexplained: self.missing_explanation_reason,
            analysis,
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
