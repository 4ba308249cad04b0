//! Decides one message: makes the decision, writes the answer, counts the decision, and adds it to
//! the decision log.

use super::Service;
use crate::limits::RequestDeadline;
use crate::log::{DecisionLog, DecisionRecord, MemoryReservation, SampleOutcome};
use crate::problem::Problem;
use crate::receipt::Receipt;
use crate::rules::{RuleSet, Version};
use crate::trace::TraceId;
use crate::traffic::MAX_SAMPLE_PAST_MESSAGES;
use bytes::Bytes;
use rulec::choice::Question;
use rulec::history::{Past, RecordError};
use rulec::why_not::WhyNot;
use rulec::{Decision, JsonError, TableKind, UnknownEntry};
use rulec_report::answer::{Answer, AnswerLine, AnswerOptions, IntentAnswer};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// A request to decide one message.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest<'m> {
    /// The name of the rule set; `None` selects the only rule set of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The entry (table, choice, router or flow set) that decides. `None` for the default entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The message to decide, as JSON text.
    #[serde(borrow)]
    pub message: &'m RawValue,
    /// Whether the answer contains an explanation of the decision.
    #[serde(default)]
    pub explain: bool,
    /// Whether the answer lists all routes whose conditions hold.
    #[serde(default)]
    pub matched: bool,
    /// Whether the answer contains an analysis of the message's text.
    #[serde(default)]
    pub analysis: bool,
    /// The name of a route. The answer then says which changes of the message would lead to this
    /// route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Whether to record the message in the history together with the decision. If false, the
    /// decision can read the recorded messages, and does not change them.
    #[serde(default)]
    pub record: bool,
}

impl<'m> DecideRequest<'m> {
    /// Creates a request to decide `message` with the default entry and without optional parts.
    pub fn new(message: &'m RawValue) -> DecideRequest<'m> {
        DecideRequest {
            rules: None,
            entry: None,
            message,
            explain: false,
            matched: false,
            analysis: false,
            why_not: None,
            record: false,
        }
    }

    /// True if the request asks for a part of the answer that shows how the rules decide. The token
    /// of such a request needs the scope `explain`.
    pub(crate) fn needs_explain_scope(&self) -> bool {
        self.explain || self.matched || self.why_not.is_some()
    }

    /// Returns the request as JSON text. The text of the message stays unchanged.
    ///
    /// # Errors
    /// If the request cannot be serialized, which would be a bug.
    pub(crate) fn to_body(&self) -> Result<Bytes, Problem> {
        super::other::to_json_bytes(self).map(Bytes::from)
    }
}

/// A decision, with the answer that contains it.
pub struct DecisionWithAnswer {
    /// The decision. If a classifier chose the flow, this is the decision of the keyword patterns,
    /// which chose no flow.
    pub decision: Decision,
    /// The name of the chosen statement, or of the flow that a classifier chose. `None` if nothing
    /// was chosen.
    pub route: Option<String>,
    /// The answer as JSON text: the decision, and the further parts that the request asks for.
    pub body: Vec<u8>,
    /// The rule set by which the message was decided.
    pub set: Arc<RuleSet>,
    /// The receipt, with which a request waits until the line of this decision is in the decision
    /// log.
    pub(crate) receipt: Receipt,
}

/// The reason why a message cannot be answered.
pub(super) enum AnswerError {
    Invalid(JsonError),
    Problem(Problem),
}

impl From<JsonError> for AnswerError {
    fn from(error: JsonError) -> AnswerError {
        AnswerError::Invalid(error)
    }
}

impl From<Problem> for AnswerError {
    fn from(problem: Problem) -> AnswerError {
        AnswerError::Problem(problem)
    }
}

impl From<RecordError> for AnswerError {
    fn from(error: RecordError) -> AnswerError {
        AnswerError::Problem(error.into())
    }
}

impl From<UnknownEntry> for AnswerError {
    fn from(error: UnknownEntry) -> AnswerError {
        AnswerError::Problem(error.into())
    }
}

impl From<AnswerError> for Problem {
    fn from(unanswered: AnswerError) -> Problem {
        match unanswered {
            AnswerError::Invalid(error) => error.into(),
            AnswerError::Problem(problem) => problem,
        }
    }
}

/// The context in which one message is decided: the rules, the entry (such as a table), the parts
/// that the answer must have, and the decision log.
#[derive(Clone, Copy)]
pub(super) struct MessageDecider<'a> {
    pub set: &'a RuleSet,
    pub version: &'a Version,
    pub entry_name: &'a str,
    pub options: AnswerOptions,
    /// The name of a route. The answer must explain why this route was not chosen.
    pub why_not_route: Option<&'a str>,
    pub log: Option<&'a DecisionLog>,
    pub deadline: RequestDeadline,
    /// Whether to record the message in the history.
    pub should_record: bool,
    /// The trace id that the caller has sent, for the decision log.
    pub trace: Option<TraceId>,
}

/// The decision about a message whose answer was written.
pub(super) struct AnsweredMessage {
    pub decision: Decision,
    pub route: Option<String>,
    /// Whether an intent classifier chose the route, because no keyword pattern matched.
    pub is_from_classifier: bool,
    pub receipt: Receipt,
}

/// An answer, with the explanation `why_not` if the request asks why a route was not chosen.
#[derive(Serialize)]
struct WithWhyNot<'a, A> {
    #[serde(flatten)]
    answer: &'a A,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WhyNot>,
}

impl Service {
    /// Decides one message, counts the decision, and adds it to the decision log.
    ///
    /// # Errors
    /// If the service has no such rules, entry or route, or the message is not a JSON object. Also
    /// if the limit `request_time_limit` is exceeded, the decision log has no memory left, or the
    /// message cannot be recorded.
    pub fn decide(&self, request: &DecideRequest<'_>) -> Result<DecisionWithAnswer, Problem> {
        self.decide_before_deadline(request, RequestDeadline::after(self.limits().request_time_limit), None)
    }

    /// True if answering may take longer than some microseconds. The answer must then be computed
    /// on a thread that may block.
    ///
    /// # Errors
    /// If the service has no such rule set.
    pub(crate) fn is_slow(&self, request: &DecideRequest<'_>) -> Result<bool, Problem> {
        let set = self.rule_set(request.rules.as_deref())?;
        let version = set.active();
        let waits = version.has_history() && set.is_store_blocking();
        Ok(request.needs_explain_scope() || request.analysis || waits || version.must_compute_derived_data())
    }

    /// Decides one message before the deadline, counts the decision, and adds it to the decision
    /// log. `trace` is the trace id that the caller has sent.
    ///
    /// # Errors
    /// As [`Service::decide`].
    pub(crate) fn decide_before_deadline(
        &self,
        request: &DecideRequest<'_>,
        deadline: RequestDeadline,
        trace: Option<TraceId>,
    ) -> Result<DecisionWithAnswer, Problem> {
        deadline.check_not_passed()?;
        let set = self.rule_set(request.rules.as_deref())?;
        let version = set.active();
        let DecideRequest { matched, explain: explanation, analysis, .. } = *request;
        let decider = MessageDecider {
            set: &set,
            version: &version,
            entry_name: version.entry_name(request.entry.as_deref())?,
            options: AnswerOptions {
                includes_matched: matched,
                includes_explanation: explanation,
                includes_analysis: analysis,
                ..AnswerOptions::default()
            },
            why_not_route: request.why_not.as_deref(),
            log: self.log(),
            deadline,
            should_record: request.record,
            trace,
        };
        let text = request.message.get().as_bytes();
        let reservation =
            self.log().map(|log| log.try_reserve_memory(text.len())).transpose()?.unwrap_or_default();
        let mut body = Vec::with_capacity(256);
        let answered = decider.answer_message(text, None, reservation, &mut body)?;
        let AnsweredMessage { decision, route, receipt, .. } = answered;
        Ok(DecisionWithAnswer { decision, route, body, set, receipt })
    }
}

impl MessageDecider<'_> {
    /// Decides the message `message_text`, counts the decision, and appends the answer to `out`. If
    /// `line_number`, the number of the message's line, is not `None`, the answer contains it.
    /// `reservation` is the memory that is reserved for this message in the decision log.
    pub fn answer_message(
        &self,
        message_text: &[u8],
        line_number: Option<u64>,
        reservation: MemoryReservation,
        out: &mut Vec<u8>,
    ) -> Result<AnsweredMessage, AnswerError> {
        if self.should_record && !self.version.has_history() {
            return Err(RecordError::NoHistory.into());
        }
        let start = Instant::now();
        let is_sample = self.set.metrics().traffic().claim_sample(message_text.len(), start);
        let (answered, elapsed) = match self.version.has_history() {
            true => (self.write_full_answer(message_text, line_number, is_sample, out), start.elapsed()),
            false => {
                let decision = self.version.live().decide_line_in(self.entry_name, message_text)?;
                let decision =
                    decision.inspect_err(|error| self.set.metrics().count_invalid_message(error))?;
                let elapsed = start.elapsed();
                self.set.compare_with_shadow(self.entry_name, message_text, &decision);
                let needs_rules = self.wants_optional_parts()
                    || decision.kind() == TableKind::Choice
                    || self.asks_classifier(&decision);
                match needs_rules {
                    true => (self.write_full_answer(message_text, line_number, is_sample, out), elapsed),
                    false => {
                        (Ok((write_plain_answer(decision, line_number, out), Some(Past::default()))), elapsed)
                    }
                }
            }
        };
        let (answered, past) = answered.inspect_err(|error| {
            if let AnswerError::Invalid(error) = error {
                self.set.metrics().count_invalid_message(error);
            }
        })?;
        let AnsweredMessage { decision, route, .. } = &answered;
        self.set.metrics().count_decision(decision, route.as_deref(), (start, elapsed));
        if let Some(past) = past.filter(|_| is_sample) {
            self.set.metrics().traffic().store_sample(decision, route.as_deref(), message_text, &past);
        }
        let Some(log) = self.log else { return Ok(answered) };
        let request = (self.trace.as_ref(), message_text);
        // A replay needs each message that later decisions read.
        let outcome = match self.should_record {
            true => SampleOutcome::Kept,
            false => log.sample_decision(self.set.name(), decision, route.as_deref(), request),
        };
        let sample_share = match outcome {
            SampleOutcome::Kept => None,
            SampleOutcome::Chosen(share) => Some(share),
            SampleOutcome::LeftOut => return Ok(answered),
        };
        let receipt = log.record(DecisionRecord {
            rules_name: self.set.name().to_owned(),
            rules: self.version.live().clone(),
            decision: answered.decision.clone(),
            message_json: message_text.to_vec(),
            flow_name: answered.route.clone().filter(|_| answered.is_from_classifier),
            elapsed,
            trace: self.trace,
            sample_share,
            _reservation: reservation,
        });
        Ok(AnsweredMessage { receipt, ..answered })
    }

    fn wants_optional_parts(&self) -> bool {
        let AnswerOptions {
            includes_matched: matched,
            includes_explanation: explanation,
            includes_analysis: analysis,
            ..
        } = self.options;
        matched || explanation || analysis || self.why_not_route.is_some()
    }

    /// True if an intent classifier must choose the flow, because the keyword patterns chose none.
    fn asks_classifier(&self, decision: &Decision) -> bool {
        let is_undecided = decision.chosen().is_none() && decision.refusal().is_none();
        self.version.has_intents() && decision.kind() == TableKind::Flows && is_undecided
    }

    /// Decides with the rules into which all edits are compiled, and with the history if the rules
    /// read one. Appends the answer, with all parts that the request asks for, to `out`.
    ///
    /// Also returns the earlier messages that the decision has read. `None` if neither the answer
    /// nor the live traffic (`is_sample`) needs them, or if there are too many.
    fn write_full_answer(
        &self,
        text: &[u8],
        line_number: Option<u64>,
        is_sample: bool,
        out: &mut Vec<u8>,
    ) -> Result<(AnsweredMessage, Option<Past>), AnswerError> {
        let rules = self.version.rules()?;
        let store = self.set.store();
        let message = Json::Object(rules.parse_message(text)?);
        let alone = rules.entry(self.entry_name)?;
        // The history is read once, so that all parts of the answer come from the same messages.
        // Only parts and live traffic need them after the decision. Keeping them costs a copy.
        let max_kept = match (self.wants_optional_parts(), is_sample) {
            (true, _) => Some(usize::MAX),
            (false, true) => Some(MAX_SAMPLE_PAST_MESSAGES),
            (false, false) => None,
        };
        let (decided, past) = match (self.should_record, max_kept) {
            (true, None) => (Some(alone.decide_and_record(store, &message)?), None),
            (true, Some(max_kept)) => {
                let (decision, past) = alone.decide_record_and_keep(store, &message, max_kept)?;
                (Some(decision), past)
            }
            (false, _) => {
                let past = rules.past(store, &message);
                (None, Some(past.map_err(|error| Problem::broken(error.to_string()))?))
            }
        };
        let entry = past.as_ref().map_or(alone, |past| alone.with_history(past));
        let decision = decided.unwrap_or_else(|| entry.decide(&message));
        let decision = decision.with_generation(self.version.generation()?);
        let why_not = self.why_not_route.map(|route| entry.why_not(route, &message)).transpose()?;
        let why_not = why_not.map(WhyNot::masked);
        // `why_not` takes most of the time, so the deadline is checked after it.
        if why_not.is_some() {
            self.deadline.check_not_passed()?;
        }
        if let Some(matcher) = self.version.matcher()?.filter(|_| self.asks_classifier(&decision)) {
            let mut answer = IntentAnswer::from_classifier(matcher, &message, &decision);
            answer.add_parts(matcher, &message, self.options);
            let route = answer.name.clone();
            write_json(line_number, &WithWhyNot { answer: &answer, why_not }, out)?;
            return Ok((
                AnsweredMessage { decision, route, is_from_classifier: true, receipt: Receipt::NONE },
                past,
            ));
        }
        let question = Question::new(rules, entry.name()).ok();
        let answer = Answer::new(rules, entry, question.as_ref(), &decision, &message, self.options);
        write_json(line_number, &WithWhyNot { answer: &answer, why_not }, out)?;
        let route = decision.chosen().map(str::to_owned);
        Ok((AnsweredMessage { decision, route, is_from_classifier: false, receipt: Receipt::NONE }, past))
    }
}

/// Appends an answer that contains only the decision to `out`. `line` is the number of the
/// message's line.
fn write_plain_answer(decision: Decision, line: Option<u64>, out: &mut Vec<u8>) -> AnsweredMessage {
    out.push(b'{');
    if let Some(line) = line {
        // Writing to memory cannot fail.
        let _ = write!(out, "\"line\":{line},");
    }
    decision.write_json_fields(out);
    out.push(b'}');
    let route = decision.chosen().map(str::to_owned);
    AnsweredMessage { decision, route, is_from_classifier: false, receipt: Receipt::NONE }
}

fn write_json<A: Serialize>(line: Option<u64>, answer: &A, out: &mut Vec<u8>) -> Result<(), Problem> {
    let written = match line {
        Some(line) => serde_json::to_writer(out, &AnswerLine { line, answer }),
        None => serde_json::to_writer(out, answer),
    };
    written.map_err(|error| Problem::broken(format!("the answer cannot be written: {error}")))
}
