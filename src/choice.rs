//! Choices beside their conditions: the question behind one that a language model makes, the tool that a choice is to
//! an agent, and the reason of an outcome in words for the user.
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
//! // An answer stands in the message, under the name of the choice.
//! let message = json!({"text": "Never again!", "answers": {"mood": "angry"}});
//! assert_eq!(mood.answer(&message), Ok("angry"));
//! assert_eq!(rules.entry("mood")?.decide(&message).branch(), Some("angry"));
//!
//! assert_eq!(tool(&rules, "size")?["function"]["name"], "size");
//! let why: Vec<_> = reasons(&rules, "size", &json!({"steps": {"read": {"total": 7}}}))?.collect();
//! assert_eq!(why[0], "`large` is not taken: `steps.read.total as number >= 100` does not hold.");
//! assert_eq!(why[1], "`small` is taken, since nothing else fits.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reason;
#[cfg(test)]
mod tests;
mod tool;

pub use reason::reasons;
pub use tool::tool;

use super::prompt::{PickTool, branch_prompt};
use crate::engine::{Entry, Rules};
use rulec_base::diag::{Message, listed, nearest};
use rulec_base::message;
use rulec_sema::hir::{self, ANSWERS, TableKind};
use serde_json::Value as Json;

const TEXT: &str = "text";

/// The question behind a choice that a language model makes: `choice NAME ask "question" { … }`.
#[derive(Clone, Debug)]
pub struct Question {
    rules: Rules,
    question: hir::Question,
}

/// There is no choice of that name, or none of the kind that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct UnknownChoice {
    name: String,
    words: Message,
}

impl UnknownChoice {
    /// The name that was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mistake and the remedy, which each language has its own words for.
    pub fn in_words(&self) -> &Message {
        &self.words
    }
}

/// Why a message holds no answer of use to a question; the default branch is taken then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
#[non_exhaustive]
pub enum NoAnswer {
    /// Nobody has answered.
    Missing {
        /// The choice.
        choice: String,
    },
    /// The answer is no text.
    NoText {
        /// The answer as JSON.
        found: String,
    },
    /// The answer is the id of no branch.
    NoBranch {
        /// The answer.
        answer: String,
        /// The ids.
        known: String,
    },
}

impl NoAnswer {
    /// The reason, which each language has its own words for.
    pub fn in_words(&self) -> Message {
        match self {
            NoAnswer::Missing { choice } => {
                message!("no model has answered: the message has no `{ANSWERS}.{choice}`")
            }
            NoAnswer::NoText { found } => {
                message!("the answer is {found}, where the id of a branch is wanted")
            }
            NoAnswer::NoBranch { answer, known } => {
                message!("the answer `{answer}` is no branch; the branches are {known}")
            }
        }
    }
}

impl Question {
    /// The question of the choice of that name.
    ///
    /// # Errors
    /// When the rules hold no such choice, or one that decides by conditions.
    pub fn new(rules: &Rules, name: &str) -> Result<Question, UnknownChoice> {
        let found = rules.program().questions.iter().find(|question| &*question.name == name);
        match found {
            Some(question) => Ok(Question { rules: rules.clone(), question: question.clone() }),
            None => {
                let words =
                    message!("the rules hold no choice `{name}` that a model makes; {}", hint(rules, name));
                Err(UnknownChoice { name: name.to_owned(), words })
            }
        }
    }

    /// The questions of all choices that a model makes, in the order of the rules.
    pub fn all(rules: &Rules) -> impl Iterator<Item = Question> {
        let questions = rules.program().questions.iter();
        questions.map(|question| Question { rules: rules.clone(), question: question.clone() })
    }

    /// The name of the choice.
    pub fn name(&self) -> &str {
        &self.question.name
    }

    /// The question, as the author wrote it.
    pub fn text(&self) -> &str {
        &self.question.text
    }

    /// The branch ids, in the order of the rules.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.question.branches.iter().map(|(id, _)| &**id)
    }

    /// The branch that is taken when no answer is of use.
    pub fn default_branch(&self) -> &str {
        &self.question.default
    }

    /// True when the user is to see the answer, and why.
    pub fn to_user(&self) -> bool {
        let program = self.rules.program();
        program.table_named(self.name()).is_some_and(|table| program.tables[table.index()].to_user)
    }

    /// The section of the prompt that asks it.
    pub fn prompt(&self) -> String {
        branch_prompt(self.text())
    }

    /// The tool by which a model answers; it asks for a reason where the user is to see one.
    pub fn tool(&self) -> PickTool {
        let branches = self.question.branches.iter().map(|(id, meaning)| (&**id, &**meaning));
        let tool = PickTool::choose_branch(self.text(), branches);
        if self.to_user() { tool.with_reason() } else { tool }
    }

    /// The message without its text and answers, as a model may read it: the values that the rules declare `@private`
    /// are masked. `None` when nothing else is in it.
    pub fn known(&self, message: &Json) -> Option<String> {
        let mut known = self.rules.masked_message(message);
        match &mut known {
            Json::Null => return None,
            Json::Object(fields) => {
                if message.get(TEXT).is_some_and(Json::is_string) {
                    fields.remove(TEXT);
                }
                fields.remove(ANSWERS);
                if fields.is_empty() {
                    return None;
                }
            }
            _ => {}
        }
        Some(known.to_string())
    }

    /// The answer that a message holds: the branch that its `answers.NAME` names.
    ///
    /// # Errors
    /// When there is none, or none of use.
    pub fn answer<'m>(&self, message: &'m Json) -> Result<&'m str, NoAnswer> {
        match message.get(ANSWERS).and_then(|answers| answers.get(self.name())) {
            None | Some(Json::Null) => Err(NoAnswer::Missing { choice: self.name().to_owned() }),
            Some(Json::String(answer)) if self.branches().any(|id| id == answer) => Ok(answer),
            Some(Json::String(answer)) => {
                let known: Vec<String> = self.branches().map(|id| format!("`{id}`")).collect();
                Err(NoAnswer::NoBranch { answer: answer.clone(), known: known.join(", ") })
            }
            Some(other) => Err(NoAnswer::NoText { found: other.to_string() }),
        }
    }
}

/// The entry of a choice of any kind.
fn choice<'r>(rules: &'r Rules, name: &str) -> Result<Entry<'r>, UnknownChoice> {
    rules.entry_of_kind(name, TableKind::Choice).map_err(|_| {
        let choices = rules.program().tables.iter().filter(|table| table.kind == TableKind::Choice);
        let names: Vec<&str> = choices.map(|table| &*table.name).collect();
        let hint = suggested(name, &names, message!("`choice NAME {{ default branch ID … }}` is one"));
        UnknownChoice { name: name.to_owned(), words: message!("the rules hold no choice `{name}`; {hint}") }
    })
}

/// Says what may have been meant by a name that no choice has which a model makes.
fn hint(rules: &Rules, name: &str) -> Message {
    if choice(rules, name).is_ok() {
        return message!("`{name}` decides by its conditions: ask `Rules::entry` for it");
    }
    let names: Vec<&str> = rules.program().questions.iter().map(|question| &*question.name).collect();
    suggested(name, &names, message!("`choice NAME ask \"question\" {{ … }}` is one"))
}

/// The name that is near, or all there are.
fn suggested(name: &str, names: &[&str], example: Message) -> Message {
    match nearest(name, names.iter().copied()) {
        Some(near) => message!("did you mean `{near}`?"),
        None if names.is_empty() => message!("there is none at all: {example}"),
        None => {
            let names = names.iter().map(|name| format!("`{name}`"));
            message!("there is {}", listed(names))
        }
    }
}
