//! Explains how the rules in force would decide a message. The decision is neither counted nor
//! logged, and the message is not recorded.

use super::Service;
use super::other::{parse_message, to_json_bytes};
use super::request::{check_generation, read_language};
use crate::problem::Problem;
use crate::rules::Version;
use rulec::choice::Question;
use rulec::history::HistoryGap;
use rulec::why_not::WhyNot;
use rulec::{Entry, Explanation, InputViolation, Message};
use rulec_report::answer::has_intent_flows;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// A request to explain how the rules decide a message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhyRequest<'m> {
    #[serde(default)]
    pub rules: Option<String>,
    #[serde(default)]
    pub entry: Option<String>,
    #[serde(borrow)]
    pub message: &'m RawValue,
    /// The language of the sentences in the explanation, such as `en` or `zh`.
    #[serde(default)]
    pub language: Option<String>,
    /// The generation (version number) that the rules in force must have; `None` accepts any.
    #[serde(default)]
    pub generation: Option<u64>,
    /// The name of a route. The answer then says which changes of the message would lead to it.
    #[serde(default)]
    pub why_not: Option<String>,
}

/// The answer to a [`WhyRequest`]: the explanation of a decision, and the other data that `rulec
/// why` prints.
#[derive(Serialize)]
struct WhyAnswer<'a> {
    generation: u64,
    explanation: Explanation,
    #[serde(skip_serializing_if = "<[InputViolation]>::is_empty")]
    breaches: &'a [InputViolation],
    /// Whether the rules have an `input` statement.
    declares_input: bool,
    /// The question for a language model; `None` if the decision needs no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'a str>,
    /// The reason why the language model's answer could not be used. `None` if it could, or if the
    /// decision needs no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// The reason why recorded messages may be missing: `no_key` if the message has no history key,
    /// `dropped` if the history had too many messages. `None` if the history is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    history_gap: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<WhyNot>,
}

impl Service {
    /// Explains how the rules in force decide a message, with the recorded messages if the rules
    /// read any. Values of `@private` fields are masked. Returns the answer as JSON text.
    ///
    /// # Errors
    /// If there are no such rules, entry or language, the rules have another generation, or the
    /// message is not a JSON object. Also if the store of recorded messages fails.
    pub(crate) fn why(&self, request: &WhyRequest<'_>) -> Result<Vec<u8>, Problem> {
        let language = read_language(request.language.as_deref())?;
        let set = self.rule_set(request.rules.as_deref())?;
        let version = set.active();
        let generation = check_generation(&version, request.generation)?;
        let rules = version.rules()?;
        let entry = rules.entry(version.entry_name(request.entry.as_deref())?)?;
        let message = parse_message(&set, rules, request.message)?;
        let past = rules.past(set.store(), &message);
        let past = past.map_err(|error| Problem::broken(error.to_string()))?;
        let entry = if version.has_history() { entry.with_history(&past) } else { entry };
        let why_not = request.why_not.as_deref().map(|route| entry.why_not(route, &message)).transpose()?;
        let mut explanation = explain_decision(&version, entry, &message)?;
        explanation.trace.localize(language);
        let decision = entry.decide(&message);
        let question = Question::new(rules, entry.name()).ok();
        let failure = question.as_ref().and_then(|question| question.answer(&message).err());
        let localized = |text: Message| text.in_language(language).to_string();
        to_json_bytes(&WhyAnswer {
            generation,
            explanation,
            breaches: decision.breaches(),
            declares_input: rules.program().input.is_some(),
            question: question.as_ref().map(Question::text),
            failure: failure.map(|failure| localized(failure.to_message())),
            history_gap: decision.history_gap().map(HistoryGap::as_str),
            why_not: why_not.map(|found| found.masked().localized(language)),
        })
    }
}

/// Explains the decision of an entry (such as a table) about a message. Among flows, the intent
/// classifier decides if no keyword pattern matches. Values of `@private` fields are masked.
///
/// # Errors
/// If edited rules do not compile, which would be a bug in the library.
pub(super) fn explain_decision(
    version: &Version,
    entry: Entry<'_>,
    message: &Json,
) -> Result<Explanation, Problem> {
    let rules = version.rules()?;
    let matcher = version.matcher()?.filter(|_| has_intent_flows(rules, entry));
    let explained = matcher.and_then(|matcher| matcher.explain(message, false));
    Ok(explained.unwrap_or_else(|| entry.explain(message, false)))
}
