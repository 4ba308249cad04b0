//! The answer to one message as data: the decision, and the optional parts that a caller has
//! requested. `rulec run` prints the answer, and the decision service sends the answer.

use rulec::choice::{Question, reasons};
use rulec::flow::{FlowMatcher, FlowSelection, IntentHit};
use rulec::{
    Code, Decision, Entry, Exceeded, Explanation, InputViolation, JsonError, Language, Message,
    RequestAnalysis, Rules, SkippedCondition, TableKind,
};
use serde::Serialize;
use serde_json::Value as Json;
use std::borrow::Cow;

/// The answer to the message in one line of a JSON Lines input. The answer is serialized together
/// with the number of the line.
#[derive(Serialize)]
pub struct AnswerLine<'a, A> {
    /// The number of the input line that contains the message, from 1.
    pub line: u64,
    /// The answer. Its fields are written next to `line`, not inside an object of their own.
    #[serde(flatten)]
    pub answer: &'a A,
}

/// The output for an input line that contains no valid message.
#[derive(Serialize)]
pub struct RejectedLine<'a> {
    /// The number of the input line, from 1.
    pub line: u64,
    /// The reason why the input line has no answer.
    pub error: LineError<'a>,
}

/// The reason why an input line has no answer.
#[derive(Serialize)]
pub struct LineError<'a> {
    /// The diagnostic code of the error in the input line.
    pub code: Code,
    /// The error message about the input line, for the user.
    pub message: Cow<'a, str>,
    /// The column of the error in characters, from 1; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The path of the faulty value inside the message, such as `ctx.user`. Empty if the whole
    /// message is faulty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub path: &'a str,
    /// How to correct the message; `None` if no correction is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Cow<'a, str>>,
}

impl<'a> From<&'a JsonError> for LineError<'a> {
    fn from(error: &'a JsonError) -> LineError<'a> {
        LineError {
            code: error.kind().code(),
            message: error.message().into(),
            column: Some(error.column()),
            path: error.path(),
            help: error.help().map(Into::into),
        }
    }
}

/// The optional parts of an answer that a caller requests, and the language of its texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerOptions {
    /// Whether the answer lists all routes whose conditions hold.
    pub includes_matched: bool,
    /// Whether the answer contains an explanation of the decision.
    pub includes_explanation: bool,
    /// Whether the answer contains an analysis of the message's text.
    pub includes_analysis: bool,
    /// The language in which the answer states reasons and failures.
    pub language: Language,
}

/// The answer to a message: the decision, and the optional parts that the caller has requested.
#[derive(Serialize)]
pub struct Answer<'a> {
    #[serde(flatten)]
    decision: &'a Decision,
    /// The reason why the language model's answer could not be used; `None` if no model is asked or
    /// its answer is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The conditions of a choice that were skipped, because values that they read are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedCondition>,
    /// The reason for the decision, as text for the user. `None` unless the rules mark the choice
    /// with `to_user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Vec<&'a str>>,
    /// The explanation, if the caller has requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The analysis of the message's text, if the caller has requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<RequestAnalysis>,
}

impl<'a> Answer<'a> {
    /// Creates the answer to `message` from the `decision` that `entry` made, with the parts that
    /// `options` requests. `question` is the language model's question if `entry` is a choice that
    /// asks one.
    pub fn new(
        rules: &'a Rules,
        entry: Entry<'a>,
        question: Option<&Question>,
        decision: &'a Decision,
        message: &Json,
        options: AnswerOptions,
    ) -> Answer<'a> {
        let localized = |text: &Message| text.in_language(options.language);
        let mut skipped = entry.skipped(message);
        skipped.iter_mut().for_each(|skipped| skipped.reason = localized(&skipped.reason));
        let failure = question.and_then(|question| question.answer(message).err());
        let reason = decision.to_user().then(|| reasons(rules, entry.name(), message).ok()).flatten();
        let reason = reason.map(|sentences| {
            sentences.map(|sentence| localized(&sentence).to_string()).collect::<Vec<_>>().join(" ")
        });
        Answer {
            decision,
            failure: failure.map(|failure| localized(&failure.to_message()).to_string()),
            skipped,
            reason,
            matched: options.includes_matched.then(|| entry.matched(message)),
            explanation: options.includes_explanation.then(|| entry.explain(message, false)),
            analysis: options.includes_analysis.then(|| rules.analyze_message(message).ok()).flatten(),
        }
    }
}

/// The answer to a message that no keyword pattern of a flow matches. A classifier or a language
/// model selects a flow by the meaning of the message.
#[derive(Serialize)]
pub struct IntentAnswer<'a> {
    entry: &'a str,
    /// The id of the flow; `None` if no flow was chosen.
    pub flow: Option<String>,
    /// The name of the flow in the rules; `None` if no flow was chosen.
    pub name: Option<String>,
    pattern: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// `model` if a language model selected the flow; `None` if the classifier did, or if no flow
    /// was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<&'static str>,
    /// The reason why the language model's answer could not be used; `None` if there was no such
    /// failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// If no flow was chosen: the intent flows (flows chosen by meaning) that are most similar to
    /// the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<IntentHit>,
    #[serde(skip_serializing_if = "<[InputViolation]>::is_empty")]
    breaches: &'a [InputViolation],
    #[serde(skip_serializing_if = "<[Exceeded]>::is_empty")]
    exceeded: Vec<Exceeded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Vec<&'a str>>,
    /// The explanation, if the caller has requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The analysis of the message's text, if the caller has requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<RequestAnalysis>,
}

impl<'a> IntentAnswer<'a> {
    /// Lets the classifier choose the intent flow (a flow chosen by meaning) for a message.
    /// `decision` is the result of the keyword patterns, which chose no flow.
    pub fn from_classifier(
        matcher: &FlowMatcher,
        message: &Json,
        decision: &'a Decision,
    ) -> IntentAnswer<'a> {
        let (selection, classifier_exceeded) = matcher.search_intent(message_text(message));
        // The decision lists the limits that the keyword patterns exceeded. The classifier's own
        // limits are added.
        let mut exceeded = decision.exceeded().to_vec();
        exceeded.extend(classifier_exceeded);
        let (intent, nearest) = match selection {
            FlowSelection::Intent(intent) => (Some(intent), Vec::new()),
            FlowSelection::Nothing { nearest } => (None, nearest),
            FlowSelection::Keyword(_) => (None, Vec::new()),
        };
        let score = intent.as_ref().map(|intent| intent.score);
        let (flow, name) = intent.map(|intent| (intent.id, intent.name)).unzip();
        IntentAnswer {
            entry: decision.entry(),
            flow,
            name,
            pattern: None,
            score,
            found_by: None,
            failure: None,
            nearest,
            breaches: decision.breaches(),
            exceeded,
            matched: None,
            explanation: None,
            analysis: None,
        }
    }

    /// Adds the parts that `options` requests: the explanation, the analysis of the text of
    /// `message`, and the list of matching routes. The list is empty, because no keyword pattern
    /// matched.
    pub fn add_parts(&mut self, matcher: &FlowMatcher, message: &Json, options: AnswerOptions) {
        self.matched = options.includes_matched.then(Vec::new);
        self.explanation = options.includes_explanation.then(|| matcher.explain(message, false)).flatten();
        let analyze = || matcher.rules().analyze_message(message).ok();
        self.analysis = options.includes_analysis.then(analyze).flatten();
    }
}

/// Returns the field `text` of a message; empty if the message has no such text.
pub fn message_text(message: &Json) -> &str {
    message.get("text").and_then(Json::as_str).unwrap_or_default()
}

/// True if `entry` decides by flows, and some of these flows are intent flows (chosen by the
/// meaning of a text).
pub fn has_intent_flows(rules: &Rules, entry: Entry<'_>) -> bool {
    entry.kind() == TableKind::Flows && rules.program().has_intents()
}
