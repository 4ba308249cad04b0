//! Decisions by the meaning of a text instead of by conditions. The built-in classifier finds
//! intent flows, which are flows without keyword patterns. A language model may decide a `choice`
//! statement; the model's answer is then added to the message as a field.

use super::language::localized;
use super::model::{ModelAnswer, ModelAnswerSource, NoAnswer};
use super::stream::LineFailure;
use super::term::Term;
use rulec::choice::Question;
use rulec::flow::FlowMatcher;
use rulec::{Code, Entry, Message, Rules};
use rulec_base::diag::comma_list;
use rulec_base::message;
pub use rulec_report::answer::has_intent_flows;
use rulec_report::answer::{IntentAnswer, message_text};
use serde_json::Value as Json;
use std::path::Path;

/// Lets a language model select the flow for `message`, and stores the flow in `answer`. If the
/// model selects no flow, `answer` is not changed. If the model's answer cannot be used,
/// `answer.failure` holds the reason.
///
/// # Errors
/// If the answer is missing in the file of recorded answers, or cannot be written to it.
pub fn ask_model(
    answer: &mut IntentAnswer<'_>,
    matcher: &FlowMatcher,
    model: &ModelAnswerSource,
    message: &Json,
) -> Result<(), LineFailure> {
    let failure = match model.answer(&matcher.request(message_text(message))) {
        // The model decided that no flow fits the message.
        Ok(ModelAnswer { selected_id: None, .. }) => return Ok(()),
        Ok(ModelAnswer { selected_id: Some(id), .. }) => match matcher.intent(&id) {
            Some(flow) => {
                (answer.flow, answer.name) = (Some(id), Some(flow.name.clone()));
                (answer.found_by, answer.nearest) = (Some("model"), Vec::new());
                return Ok(());
            }
            None => message!("the model picked `{id}`, which is not one of the ids it may pick from"),
        },
        Err(NoAnswer::Failed(failure)) => failure,
        Err(NoAnswer::Unavailable { message, help }) => {
            return Err(LineFailure::NoAnswer { code: Code::NoModelAnswer, message, help });
        }
    };
    answer.failure = Some(localized(&failure).into_owned());
    Ok(())
}

/// Returns the matcher that selects an intent flow (a flow chosen by meaning) if no keyword pattern
/// matches. `None` if there are no intent flows. Also `None` if the classifier cannot be trained
/// and no language model is asked.
pub fn intent_matcher(rules: &Rules, entry: Entry<'_>, asks_model: bool, term: &Term) -> Option<FlowMatcher> {
    if !has_intent_flows(rules, entry) {
        return None;
    }
    match FlowMatcher::offline(rules) {
        Ok(matcher) => {
            if !matcher.unlearned().is_empty() && !asks_model {
                term.print_note(&message!(
                    "the classifier never chooses {}: without a description, examples or keywords, there is nothing to learn from",
                    comma_list(matcher.unlearned().iter().map(|id| format!("`{id}`")))
                ));
            }
            Some(matcher)
        }
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

/// Returns the failure message for a language model that answered with `text` instead of choosing a
/// branch.
pub fn no_tool_call_message(text: Option<&str>) -> Message {
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
