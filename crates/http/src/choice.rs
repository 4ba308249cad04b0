//! Choices made by a language model: `choice NAME ask "question" { … }`. The model picks one of the
//! branch ids. On any failure the default branch is taken and the failure is reported.

use crate::{ChatModel, ModelError};
use rulec::Rules;
use rulec::choice::{Question, UnknownChoice};
use serde_json::Value as Json;

/// A choice of the rules, and the language model that picks its branch. Cheap to clone.
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
    question: Question,
    model: ChatModel,
}

/// The picked branch of a choice, with the model's reason or failure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChoiceAnswer {
    /// Id of the branch that the model picked, or of the default branch after a failure.
    pub branch: String,
    /// Whether the choice is declared `to_user` in the rules, so that the user sees the model's
    /// reason.
    pub to_user: bool,
    /// Why the model picked the branch, in words that the user sees. `None` if `to_user` is not
    /// set, or after a failure.
    pub reason: Option<String>,
    /// Why the model picked no branch, so that the default branch was taken: the call failed, or
    /// the response has no valid branch. `None` if the model picked a branch, even the default
    /// branch.
    pub failure: Option<ModelError>,
    /// Further tool calls in the model's response, each as `name(arguments)`. Only the first tool
    /// call is used.
    pub ignored: Vec<String>,
}

impl AskedChoice {
    /// Creates a choice whose branch `model` picks.
    ///
    /// # Errors
    /// If the rules have no choice with this name, or if conditions decide the choice instead of a
    /// model.
    pub fn new(rules: &Rules, name: &str, model: ChatModel) -> Result<AskedChoice, UnknownChoice> {
        Ok(AskedChoice { question: Question::new(rules, name)?, model })
    }

    /// Returns the question that the model receives: the branches, the system prompt, and the tool
    /// that the model calls to pick a branch.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Lets the model pick a branch. The model receives the field `text` of the message as the
    /// user's message. Before it, the model receives all other fields as JSON, with the values of
    /// `@private` fields masked.
    pub async fn decide(&self, message: &Json) -> ChoiceAnswer {
        self.ask_model(message, None).await
    }

    /// Like [`AskedChoice::decide`], but `on_reason` receives the pieces of the model's reason as
    /// they arrive, to show them to the user. The model gives a reason only if the rules declare
    /// the choice `to_user`: `choice NAME ask "…" to_user { … }`.
    /// ```no_run
    /// # async fn run(mood: rulec_http::AskedChoice, message: serde_json::Value) {
    /// let answer = mood.decide_telling(&message, &mut |piece| print!("{piece}")).await;
    /// println!(" -> {}", answer.branch);
    /// # }
    /// ```
    pub async fn decide_telling(
        &self,
        message: &Json,
        on_reason: &mut (dyn FnMut(&str) + Send),
    ) -> ChoiceAnswer {
        self.ask_model(message, Some(on_reason)).await
    }

    async fn ask_model(
        &self,
        message: &Json,
        on_reason: Option<&mut (dyn FnMut(&str) + Send)>,
    ) -> ChoiceAnswer {
        let question = &self.question;
        let result = self.model.answer(&question.request(message), on_reason).await;
        let to_user = question.to_user();
        match result {
            Ok(pick) => {
                let crate::Pick { id: branch, reason, ignored, .. } = pick;
                ChoiceAnswer { branch, to_user, reason, failure: None, ignored }
            }
            Err(failure) => {
                let choice = question.name();
                tracing::warn!(target: "rulec::choice", choice, "no answer of use: the default branch is taken");
                let branch = question.default_branch().to_owned();
                ChoiceAnswer { branch, to_user, reason: None, failure: Some(failure), ignored: Vec::new() }
            }
        }
    }
}
