//! Decisions by the meaning of a text instead of by conditions. The built-in classifier finds
//! intent flows, which are flows without keyword patterns. A language model may decide a `choice`
//! statement; the model's answer is a field of the message.

use super::language::localized;
use super::model::{Model, ModelAnswer, NoAnswer};
use super::stream::LineFailure;
use super::term::Term;
use rulec::choice::Question;
use rulec::flow::{FlowMatcher, FlowSelection, IntentHit};
use rulec::{Decision, Entry, Exceeded, Explanation, InputViolation, Message};
use rulec::{RequestAnalysis, Rules, TableKind};
use rulec_base::message;
use serde::Serialize;
use serde_json::Value as Json;
use std::path::Path;

/// Output line for a message that no keyword pattern of a flow matches.
#[derive(Serialize)]
pub struct IntentLine<'a> {
    line: u64,
    entry: &'a str,
    flow: Option<String>,
    name: Option<String>,
    pattern: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// `model` if a language model selected the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
    /// Why the answer of the language model could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// If no flow was chosen: the intent flows (flows chosen by meaning) that are most similar to
    /// the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nearest: Vec<IntentHit>,
    #[serde(skip_serializing_if = "<[InputViolation]>::is_empty")]
    breaches: &'a [InputViolation],
    #[serde(skip_serializing_if = "<[Exceeded]>::is_empty")]
    exceeded: Vec<Exceeded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<RequestAnalysis>,
}

impl IntentLine<'_> {
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Lets a language model select the flow. If the model selects none, the line stays without a
    /// flow; `failure` is set if the answer could not be used.
    pub fn ask_model(
        &mut self,
        matcher: &FlowMatcher,
        model: &Model,
        message: &Json,
    ) -> Result<(), LineFailure> {
        let failure = match model.answer(&matcher.request(message_text(message))) {
            // No flow fits the message.
            Ok(ModelAnswer { id: None, .. }) => return Ok(()),
            Ok(ModelAnswer { id: Some(id), .. }) => match matcher.intent(&id) {
                Some(flow) => {
                    (self.flow, self.name) = (Some(id), Some(flow.name.clone()));
                    (self.found_by, self.nearest) = (Some("model"), Vec::new());
                    return Ok(());
                }
                None => message!("the model picked `{id}`, which is not one of the ids it may pick from"),
            },
            Err(NoAnswer::Failed(failure)) => failure,
            Err(NoAnswer::Unavailable { message, help }) => {
                return Err(LineFailure::NoModelAnswer { message, help });
            }
        };
        self.failure = Some(localized(&failure).into_owned());
        Ok(())
    }
}

/// True if the messages are decided by flows, and some of them are intent flows (flows chosen by
/// meaning).
pub fn has_intent_flows(rules: &Rules, entry: Entry<'_>) -> bool {
    entry.kind() == TableKind::Flows && rules.program().has_intents()
}

/// Returns the matcher of intent flows (flows chosen by meaning), which is used if no keyword
/// pattern matches. `None` if there are no intent flows, or if the classifier cannot be trained and
/// no language model is asked.
pub fn intent_matcher(rules: &Rules, entry: Entry<'_>, asks_model: bool, term: &Term) -> Option<FlowMatcher> {
    if !has_intent_flows(rules, entry) {
        return None;
    }
    match FlowMatcher::offline(rules) {
        Ok(matcher) => Some(matcher),
        Err(_) if asks_model => FlowMatcher::new(rules).ok(),
        Err(error) => {
            term.print_note(&message!(
                "only patterns are searched, because the intent flows cannot be used: {}",
                error.to_message()
            ));
            None
        }
    }
}

/// Asks the classifier for the intent flow (a flow chosen by meaning) that fits a message. Called
/// if no keyword pattern matches. `line` is the line number of the message, and `decision` is the
/// result of the keyword patterns.
pub fn find_intent<'a>(
    matcher: &FlowMatcher,
    line: u64,
    message: &Json,
    decision: &'a Decision,
) -> IntentLine<'a> {
    let (selection, classifier_exceeded) = matcher.search_intent(message_text(message));
    // The decision lists the limits that the keyword patterns exceeded. The classifier's own limits
    // are added.
    let mut exceeded = decision.exceeded().to_vec();
    exceeded.extend(classifier_exceeded);
    let (intent, nearest) = match selection {
        FlowSelection::Intent(intent) => (Some(intent), Vec::new()),
        FlowSelection::Nothing { nearest } => (None, nearest),
        FlowSelection::Keyword(_) => (None, Vec::new()),
    };
    let score = intent.as_ref().map(|intent| intent.score);
    let (flow, name) = intent.map(|intent| (intent.id, intent.name)).unzip();
    IntentLine {
        line,
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

fn message_text(message: &Json) -> &str {
    message.get("text").and_then(Json::as_str).unwrap_or_default()
}

/// Returns the failure of a model that answered with a text instead of a branch.
pub fn no_call_message(text: Option<&str>) -> Message {
    let quoted = text.map(|text| Message::verbatim(format!(": `{text}`"))).unwrap_or_default();
    message!("the model called no tool{}", quoted)
}

/// Returns a note that names the message field from which the language model's answer is read. The
/// note is needed because the command line names no language model.
pub fn model_question_note(question: &Question, rules: &Path) -> Message {
    let (name, rules) = (question.name(), rules.display());
    message!(
        "`{name}` asks a language model, but no model is called: the answer is read from `answers.{name}` of the \
        message; `rulec prompt {rules} --entry {name}` prints the prompt"
    )
}
