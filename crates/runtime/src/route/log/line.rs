//! Converts a decision to a line of the log. Private values are masked by the same code as in
//! explanations.

use super::super::difference::Difference;
use super::super::outcome::{Attempt, HandlerOutcome, Outcome};
use rulec::Explanation;
use rulec::InputViolation;
use rulec::{Decision, LiveRules};
use rulec_eval::trace::MASK;
use rulec_lang::value::format_datetime;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::sync::Arc;
use time::OffsetDateTime;

/// Whether a log line contains the message, and whether it contains the explanation.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineOptions {
    pub message: bool,
    pub explanation: bool,
}

/// The data from which a log line is made, except the outcome. The thread that writes the log
/// converts the data to JSON, so that a decision does not wait for this work.
pub(in crate::route) struct DecisionRecord {
    pub time: OffsetDateTime,
    pub rules: LiveRules,
    pub decision: Arc<Decision>,
    pub message: Arc<Json>,
    /// How the decision of the shadow rules (which decide for comparison only) differs from this
    /// decision. `None` if there is no difference or there are no shadow rules.
    pub shadow_difference: Option<Difference>,
}

pub(super) struct QueuedEntry {
    record: DecisionRecord,
    /// The outcome of the message, without the handler's reply.
    outcome: Outcome,
    result: &'static str,
    error: Option<String>,
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
    shadow: Option<&'a Difference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unexplained: Option<&'a str>,
}

impl QueuedEntry {
    pub(super) fn new(record: DecisionRecord, outcome: &mut Outcome, result: &'static str) -> QueuedEntry {
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
        QueuedEntry { record, outcome: outcome_without_reply, result, error, missing_permissions }
    }

    /// Returns the log line as JSON, including the line feed.
    pub(super) fn to_line(&self, options: LineOptions) -> Result<Vec<u8>, serde_json::Error> {
        let QueuedEntry {
            record: DecisionRecord { time, rules, decision, message: full_message, shadow_difference },
            outcome,
            result,
            ..
        } = self;
        let message = decision.masked_message(full_message);
        let has_private_values = message != **full_message;
        let error = self.error.as_deref().map(|error| if has_private_values { MASK } else { error });
        let mask_error = |tried: &Attempt| Attempt { error: Some(MASK.to_owned()), ..tried.clone() };
        let mut tried = Cow::from(&outcome.tried);
        if has_private_values {
            let attempts_with_error = tried.to_mut().iter_mut().filter(|tried| tried.error.is_some());
            attempts_with_error.for_each(|tried| *tried = mask_error(tried));
        }
        let explanation = options.explanation.then(|| rules.explain_decision(decision, full_message));
        let unexplained = match &explanation {
            Some(Ok(None)) => Some("the rules were edited since"),
            Some(Err(_)) => Some("the edited rules could not be merged"),
            _ => None,
        };
        let line = LogLine {
            time: format_datetime(*time),
            generation: outcome.generation,
            entry: &outcome.entry,
            route: outcome.route.as_deref(),
            handler: outcome.handler.as_deref(),
            path: &outcome.path,
            args: decision.masked_args(),
            missing_args: &outcome.missing_args,
            breaches: &outcome.breaches,
            // Contains only the names of the functions, because the failure messages may contain
            // private data.
            host_failures: decision.failures().iter().map(|failure| &*failure.function).collect(),
            elapsed_us: outcome.elapsed_us(),
            requires: &outcome.requires,
            fallback: outcome.fallback.as_deref(),
            attempts: outcome.attempts,
            tried: &tried,
            result,
            missing_permissions: &self.missing_permissions,
            error,
            shadow: shadow_difference.as_ref(),
            message: options.message.then_some(message),
            explanation: explanation.and_then(Result::ok).flatten(),
            unexplained,
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
