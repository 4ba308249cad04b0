//! Helpers for `choice` statements, which select one of several branches. A [`Question`] is a
//! choice that a language model makes. [`tool()`] offers a choice to an agent, and [`reasons`]
//! explains a result in sentences for users.
//!
//! ```
//! use rulec::Rules;
//! use rulec::choice::{Question, reasons, tool};
//! use serde_json::json;
//!
//! let rules = Rules::from_text(
//!     r#"
//!     choice mood ask "how does the customer feel?" to_user {
//!       branch angry "furious, threatens to leave"
//!       default branch calm
//!     }
//!     choice size { default branch small  branch large { steps.read.total as number >= 100 } }
//!     "#,
//! )?;
//! let mood = Question::new(&rules, "mood")?;
//! assert!(mood.prompt().contains("how does the customer feel?"));
//! // The message contains the model's answer in `answers`, under the name of the choice.
//! let message = json!({"text": "Never again!", "answers": {"mood": "angry"}});
//! assert_eq!(mood.answer(&message), Ok("angry"));
//! assert_eq!(rules.entry("mood")?.decide(&message).branch(), Some("angry"));
//!
//! assert_eq!(tool(&rules, "size")?["function"]["name"], "size");
//! let why: Vec<_> = reasons(&rules, "size", &json!({"steps": {"read": {"total": 7}}}))?.collect();
//! assert_eq!(why[0], "`large` is not chosen: `steps.read.total as number >= 100` does not hold.");
//! assert_eq!(why[1], "`small` is chosen, because nothing else matches.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reason;
#[cfg(test)]
mod tests;
mod tool;

pub use reason::reasons;
pub use tool::tool;

use super::prompt::{ModelRequest, PickTool, branch_prompt_section, branch_tool, reason_description};
use crate::engine::{Entry, Rules};
use rulec_base::diag::{Message, comma_list, nearest};
use rulec_base::message;
use rulec_sema::hir::{self, ANSWERS_FIELD, TableKind};
use serde_json::{Map, Value as Json};

const TEXT_FIELD: &str = "text";

/// A `choice` statement whose branch a language model selects: `choice NAME ask "question" { … }`.
#[derive(Clone, Debug)]
pub struct Question {
    rules: Rules,
    question: hir::Question,
}

/// Error: the rules hold no `choice` statement with the requested name. [`Question::new`] also
/// returns it for a choice that selects its branch by conditions, because such a choice has no
/// question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct UnknownChoice {
    name: String,
    message: Message,
}

impl UnknownChoice {
    /// Returns the name for which no choice was found.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the problem and a suggested fix as a localized message.
    pub fn to_message(&self) -> Message {
        self.message.clone()
    }
}

/// The reason why a message has no usable answer to the question of a choice. A language model
/// should have given the answer. Without an answer, the default branch is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum NoAnswer {
    /// The message holds no answer to the question.
    Missing {
        /// The name of the choice that has no answer.
        choice: String,
    },
    /// The answer in the message is not a string.
    NoText {
        /// The answer that is not a string, as JSON text.
        found: String,
    },
    /// The answer in the message is not the id of a branch.
    NoBranch {
        /// The answer that is not the id of a branch.
        answer: String,
        /// The ids of all branches, as a list for the error message.
        known: String,
    },
}

impl NoAnswer {
    /// Returns this reason as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            NoAnswer::Missing { choice } => {
                message!(
                    "no model has answered: the message has no `{ANSWERS}.{choice}`",
                    ANSWERS = ANSWERS_FIELD
                )
            }
            NoAnswer::NoText { found } => {
                message!("the answer must be the id of a branch, but is {found}")
            }
            NoAnswer::NoBranch { answer, known } => {
                message!("the answer `{answer}` is not a branch; the branches are {known}")
            }
        }
    }
}

impl Question {
    /// Returns the question of the choice `name`.
    ///
    /// # Errors
    /// If the rules hold no such choice, or if the choice decides by conditions.
    pub fn new(rules: &Rules, name: &str) -> Result<Question, UnknownChoice> {
        let matching_question = rules.program().questions.iter().find(|question| &*question.name == name);
        match matching_question {
            Some(question) => Ok(Question { rules: rules.clone(), question: question.clone() }),
            None => {
                let message = message!(
                    "the rules contain no choice `{name}` that a model makes; {}",
                    unknown_question_hint(rules, name)
                );
                Err(UnknownChoice { name: name.to_owned(), message })
            }
        }
    }

    /// Returns the questions of all choices that a model makes, in source order.
    pub fn all(rules: &Rules) -> impl Iterator<Item = Question> {
        let questions = rules.program().questions.iter();
        questions.map(|question| Question { rules: rules.clone(), question: question.clone() })
    }

    /// Returns the name of the `choice` statement that asks this question.
    pub fn name(&self) -> &str {
        &self.question.name
    }

    /// Returns the text of the question, as the author of the rules wrote it.
    pub fn text(&self) -> &str {
        &self.question.text
    }

    /// Returns the ids of the choice's branches, in source order.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.question.branch_descriptions.iter().map(|(id, _)| &**id)
    }

    /// Returns the id of the default branch, which is taken if the model gives no usable answer.
    pub fn default_branch(&self) -> &str {
        &self.question.default
    }

    /// True if the user should see the answer and its reason (`to_user` in the rules).
    pub fn to_user(&self) -> bool {
        let program = self.rules.program();
        program.table_named(self.name()).is_some_and(|table| program.tables[table.index()].is_shown_to_user)
    }

    /// Returns the section of a prompt that asks the model this question. The rules may set its
    /// wording (`settings { choice_prompt: … }`).
    pub fn prompt(&self) -> String {
        branch_prompt_section(&self.rules.program().prompts, self.text(), &self.branch_meanings())
    }

    /// Returns the tool that the model calls to answer. If the user should see the answer, the tool
    /// also requires a reason.
    pub fn tool(&self) -> PickTool {
        let prompts = &self.rules.program().prompts;
        let tool = branch_tool(prompts, self.text(), &self.branch_meanings());
        match self.to_user() {
            true => tool.with_reason_described(&reason_description(prompts, self.text())),
            false => tool,
        }
    }

    /// Returns the prompt and the tool that a model needs to answer the question for this message.
    pub fn request(&self, message: &Json) -> ModelRequest {
        let text = message.get(TEXT_FIELD).and_then(Json::as_str).unwrap_or_default();
        ModelRequest {
            name: self.name().to_owned(),
            system: self.prompt(),
            known: self.known(message),
            text: text.to_owned(),
            tool: self.tool(),
        }
    }

    /// Returns the branches of the choice as pairs of id and meaning, for prompts.
    fn branch_meanings(&self) -> Vec<(&str, &str)> {
        self.question.branch_descriptions.iter().map(|(id, meaning)| (&**id, &**meaning)).collect()
    }

    /// Returns the message as JSON for the model, without the field `answers`. The field `text` is
    /// also left out if it is a string, because the model receives it separately. Values that the
    /// rules declare `@private` are masked. `None` if no field remains, or the message is null.
    pub fn known(&self, message: &Json) -> Option<String> {
        let mut visible = self.rules.masked_message(message);
        match &mut visible {
            Json::Null => return None,
            Json::Object(fields) => {
                if message.get(TEXT_FIELD).is_some_and(Json::is_string) {
                    fields.remove(TEXT_FIELD);
                }
                fields.remove(ANSWERS_FIELD);
                if fields.is_empty() {
                    return None;
                }
            }
            _ => {}
        }
        Some(visible.to_string())
    }

    /// Adds an answer, the branch id `branch`, to a message, in the field from which
    /// [`Question::answer`] and the decision read it. Changes nothing if the message is not an
    /// object.
    pub fn add_answer(&self, message: &mut Json, branch: &str) {
        let Some(fields) = message.as_object_mut() else { return };
        let answers = fields.entry(ANSWERS_FIELD).or_insert(Json::Null);
        if !answers.is_object() {
            *answers = Json::Object(Map::new());
        }
        answers[self.name()] = branch.into();
    }

    /// Returns the answer in the message: the branch id in `answers.NAME`.
    ///
    /// # Errors
    /// If there is no answer, or the answer is not a branch id.
    pub fn answer<'m>(&self, message: &'m Json) -> Result<&'m str, NoAnswer> {
        match message.get(ANSWERS_FIELD).and_then(|answers| answers.get(self.name())) {
            None | Some(Json::Null) => Err(NoAnswer::Missing { choice: self.name().to_owned() }),
            Some(Json::String(answer)) if self.branches().any(|id| id == answer) => Ok(answer),
            Some(other) => {
                let privacy = self.rules.program().message_privacy().at_key(ANSWERS_FIELD).0;
                let masked = privacy.at_key(self.name()).0.mask(other.clone());
                Err(match (other, masked) {
                    (Json::String(_), Json::String(answer)) => {
                        let branch_ids: Vec<String> = self.branches().map(|id| format!("`{id}`")).collect();
                        NoAnswer::NoBranch { answer, known: branch_ids.join(", ") }
                    }
                    (_, masked) => NoAnswer::NoText { found: masked.to_string() },
                })
            }
        }
    }
}

/// Returns the choice `name` as an [`Entry`], which can decide. Finds choices that select a branch
/// by conditions, and choices that ask a language model.
fn find_choice<'r>(rules: &'r Rules, name: &str) -> Result<Entry<'r>, UnknownChoice> {
    rules.entry_of_kind(name, TableKind::Choice).map_err(|_| {
        let choices = rules.program().tables.iter().filter(|table| table.kind == TableKind::Choice);
        let names: Vec<&str> = choices.map(|table| &*table.name).collect();
        let hint =
            suggest_name(name, &names, message!("for example, `choice NAME {{ default branch ID … }}`"));
        UnknownChoice {
            name: name.to_owned(),
            message: message!("the rules contain no choice `{name}`; {hint}"),
        }
    })
}

/// Returns the help text for the error that `name` is not a choice that a language model makes.
fn unknown_question_hint(rules: &Rules, name: &str) -> Message {
    if find_choice(rules, name).is_ok() {
        return message!("`{name}` is decided by its conditions, not by a model: decide it as an `entry`");
    }
    let names: Vec<&str> = rules.program().questions.iter().map(|question| &*question.name).collect();
    suggest_name(name, &names, message!("for example, `choice NAME ask \"question\" {{ … }}`"))
}

/// Returns a help text that suggests the most similar of `names`, or else lists all of them. If
/// `names` is empty, the help text is `example`.
fn suggest_name(name: &str, names: &[&str], example: Message) -> Message {
    match nearest(name, names.iter().copied()) {
        Some(near) => message!("did you mean `{near}`?"),
        None if names.is_empty() => message!("no choice is declared: {example}"),
        None => {
            let names = names.iter().map(|name| format!("`{name}`"));
            message!("the known names are {}", comma_list(names))
        }
    }
}
