//! Choices that a language model makes: `choice NAME ask "question" { … }`. The branch ids are what
//! it may answer with; whatever goes wrong, the default branch is taken and the reason told.

use crate::{ChatModel, ModelError, Prompt, Role, Turn};
use rulec::Rules;
use rulec::internals::diag::nearest;
use rulec::internals::sema::hir::{Question, TableKind};
use rulec::prompt::{PickTool, branch_prompt};
use serde_json::Value as Json;

const TEXT: &str = "text";

/// A choice and the model that makes it. Cheap to clone.
///
/// ```no_run
/// use rulec::Rules;
/// use rulec_http::AskedChoice;
/// use rulec_http::{AllowedHosts, ChatModel, HttpClient, Limits};
/// use serde_json::json;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let rules = Rules::from_text(
///     r#"choice tone ask "how does the customer feel?" {
///          branch angry "furious, threatens to leave"
///          default branch calm "anything else"
///        }"#,
/// )?;
/// let client = HttpClient::new(AllowedHosts::new(["models.example.com"])?, Limits::default())?;
/// let model = ChatModel::new(client, "https://models.example.com/v1", "small")?;
/// let answer = AskedChoice::new(&rules, "tone", model)?.decide(&json!({"text": "Never again!"})).await;
/// if let Some(failure) = &answer.failure {
///     eprintln!("took `{}`: {failure}", answer.branch);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AskedChoice {
    rules: Rules,
    question: Question,
    model: ChatModel,
}

/// There is no choice of that name that a model makes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules hold no choice `{name}` that a model makes; {hint}")]
pub struct UnknownChoice {
    name: String,
    hint: String,
}

impl UnknownChoice {
    /// The name that was asked for.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The outcome of a choice.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChoiceAnswer {
    /// The id of the branch to take.
    pub branch: String,
    /// Why the default branch was taken in place of an answer: no answer of use, one that is no branch,
    /// or a call that failed. `None` when the model answered, which may be with the default branch.
    pub failure: Option<ModelError>,
    /// Further calls in the model's answer, each as `name(arguments)`; only the first counts.
    pub ignored: Vec<String>,
}

impl AskedChoice {
    /// The choice of that name, made by this model.
    ///
    /// # Errors
    /// When the rules hold no such choice, or one that decides by conditions.
    pub fn new(rules: &Rules, name: &str, model: ChatModel) -> Result<AskedChoice, UnknownChoice> {
        let questions = &rules.program().questions;
        match questions.iter().find(|question| &*question.name == name) {
            Some(question) => Ok(AskedChoice { rules: rules.clone(), question: question.clone(), model }),
            None => Err(UnknownChoice { name: name.to_owned(), hint: hint(rules, name) }),
        }
    }

    /// The branch ids, in the order of the rules.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.question.branches.iter().map(|(id, _)| &**id)
    }

    /// The branch that is taken when no answer is of use.
    pub fn default_branch(&self) -> &str {
        &self.question.default
    }

    /// The tool by which the model answers; [`PickTool::to_json`] gives its JSON.
    pub fn tool(&self) -> PickTool {
        let branches = self.question.branches.iter().map(|(id, meaning)| (&**id, &**meaning));
        PickTool::choose_branch(&self.question.text, branches)
    }

    /// Lets the model decide. It reads the message's `text` as what the user says, after the message's other
    /// fields as JSON; of those, the values that the rules declare `@private` are masked.
    pub async fn decide(&self, message: &Json) -> ChoiceAnswer {
        let text = message.get(TEXT).and_then(Json::as_str).unwrap_or_default();
        let known = self.known(message);
        let known: Vec<Turn<'_>> = known.iter().map(|text| Turn { role: Role::User, text }).collect();
        let system = branch_prompt(&self.question.text);
        let prompt = Prompt { system: &system, history: &known, user: text };
        match self.model.choose(&prompt, &self.tool()).await {
            Ok(pick) => {
                let (branch, ignored) = (pick.id, pick.ignored);
                ChoiceAnswer { branch, failure: None, ignored }
            }
            Err(failure) => {
                let choice = &*self.question.name;
                tracing::warn!(target: "rulec::choice", choice, "no answer of use: the default branch is taken");
                let branch = self.question.default.to_string();
                ChoiceAnswer { branch, failure: Some(failure), ignored: Vec::new() }
            }
        }
    }

    /// The message without its text, as a model may read it; `None` when nothing else is in it.
    fn known(&self, message: &Json) -> Option<String> {
        let mut known = self.rules.masked_message(message);
        match &mut known {
            Json::Null => return None,
            Json::Object(fields) => {
                if message.get(TEXT).is_some_and(Json::is_string) {
                    fields.remove(TEXT);
                }
                if fields.is_empty() {
                    return None;
                }
            }
            _ => {}
        }
        Some(known.to_string())
    }
}

fn hint(rules: &Rules, name: &str) -> String {
    if rules.entry_of_kind(name, TableKind::Choice).is_ok() {
        return format!("`{name}` decides by its conditions: ask `Rules::entry` for it");
    }
    let names: Vec<&str> = rules.program().questions.iter().map(|question| &*question.name).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => {
            "there is none at all: `choice NAME ask \"question\" { … }` is one".to_owned()
        }
        None => format!(
            "there is {}",
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}
