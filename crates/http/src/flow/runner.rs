//! Finds and executes the flow for a message. The search tries the keyword flows first, then the
//! classifier, and then a language model.

use super::{ExecutorError, FlowEnding, FlowExecutor, FlowOutcome, FoundBy};
use crate::{ChatModel, HttpClient, ModelError, Prompt, Turn};
use rulec::Exceeded;
use rulec::flow::{FlowMatcher, FlowSelection, IntentHit};
use serde_json::{Map, Value as Json};
use std::time::Instant;

/// Finds the flow for a message and executes the flow. Cheap to clone.
/// ```no_run
/// use rulec::Rules;
/// use rulec::classifier::Options;
/// use rulec::flow::FlowMatcher;
/// use rulec_http::{AllowedHosts, ChatModel, FlowExecutor, FlowRunner, HttpClient, Limits, Template};
/// use serde_json::{Map, json};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let rules = Rules::from_path("chatbot.rules")?;
/// let hosts = AllowedHosts::new(["flows.example.com", "models.example.com"])?;
/// let client = HttpClient::new(hosts, Limits::default())?;
/// let endpoint = Template::parse(&json!({
///     "url": "https://flows.example.com/trigger",
///     "body": {"flow": "{flow_id}", "conversation": "#conversation_id#"},
/// }))?;
/// let runner = FlowRunner::new(
///     FlowMatcher::new(&rules)?.with_classifier(Options::default())?,
///     FlowExecutor::new(client.clone(), endpoint)?,
/// )
/// .with_model(ChatModel::new(client, "https://models.example.com/v1", "small")?);
///
/// let context = Map::from_iter([("conversation_id".to_owned(), json!(7))]);
/// let outcome = runner.handle("I want my money back", &[], &Map::new(), &context).await;
/// println!("{outcome}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FlowRunner {
    matcher: FlowMatcher,
    model: Option<ChatModel>,
    executor: FlowExecutor,
}

/// The result of a search: id and name of the flow, and how the flow was found. The error is the
/// ending to report if the search found no flow to execute.
type FlowSearchResult = Result<(String, String, FoundBy), Box<FlowEnding>>;

/// Facts about a search for a flow that [`FlowOutcome`] reports whether or not a flow was found:
/// the start time, the similar flows, and the exceeded limits.
struct FlowSearchFacts {
    start: Instant,
    /// The intent flows (flows that are found by meaning) most similar to the message, best first.
    nearest: Vec<IntentHit>,
    /// The limits that the message exceeded in the search, each listed once.
    exceeded: Vec<Exceeded>,
}

impl FlowSearchFacts {
    fn starting_at(start: Instant) -> FlowSearchFacts {
        FlowSearchFacts { start, nearest: Vec::new(), exceeded: Vec::new() }
    }
}

impl FlowRunner {
    /// Creates a runner that finds flows with `matcher` and executes them with `executor`.
    /// [`FlowRunner::with_model`] adds a language model to the search.
    pub fn new(matcher: FlowMatcher, executor: FlowExecutor) -> FlowRunner {
        FlowRunner { matcher, model: None, executor }
    }

    /// Creates a runner that executes flows by calling the endpoint that the rules declare; see
    /// [`FlowExecutor::of_rules`].
    ///
    /// # Errors
    /// As [`FlowExecutor::of_rules`].
    pub fn of_rules(matcher: FlowMatcher, client: HttpClient) -> Result<FlowRunner, ExecutorError> {
        let executor = FlowExecutor::of_rules(client, &matcher)?;
        Ok(FlowRunner::new(matcher, executor))
    }

    /// Sets the language model that selects a flow if neither a keyword flow nor the classifier
    /// finds one.
    pub fn with_model(mut self, model: ChatModel) -> FlowRunner {
        self.model = Some(model);
        self
    }

    /// Returns the matcher that finds the flow of a message by keywords or by the classifier.
    pub fn matcher(&self) -> &FlowMatcher {
        &self.matcher
    }

    /// Finds the flow for `text` and executes it. A language model receives only the text and the
    /// `history` before it, oldest first. The endpoint's placeholders are filled from `arguments`
    /// and from `context`, the context of the conversation.
    pub async fn handle(
        &self,
        text: &str,
        history: &[Turn<'_>],
        arguments: &Map<String, Json>,
        context: &Map<String, Json>,
    ) -> FlowOutcome {
        let start = Instant::now();
        let (selection, exceeded) = self.matcher.search(text);
        let mut facts = FlowSearchFacts { exceeded, ..FlowSearchFacts::starting_at(start) };
        let search = match selection {
            FlowSelection::Keyword(hit) => {
                let found_by = FoundBy::Keyword { pattern: hit.pattern.to_owned() };
                Ok((hit.id.to_owned(), hit.name.to_owned(), found_by))
            }
            FlowSelection::Intent(IntentHit { id, name, score, .. }) => {
                Ok((id, name, FoundBy::Classifier { score }))
            }
            FlowSelection::Nothing { nearest } => {
                facts.nearest = nearest;
                self.ask_model(text, history).await
            }
        };
        self.execute_found(search, facts, arguments, context).await
    }

    /// Executes an intent flow (a flow that is selected by meaning). `flow_id` comes from an agent
    /// of the calling program, which picked it with the tool of [`FlowMatcher::tool`]. An id that
    /// belongs to no intent flow is refused, even if it is the id of a keyword flow.
    pub async fn execute(
        &self,
        flow_id: &str,
        arguments: &Map<String, Json>,
        context: &Map<String, Json>,
    ) -> FlowOutcome {
        let search = self.check_picked_flow(flow_id, Vec::new());
        self.execute_found(search, FlowSearchFacts::starting_at(Instant::now()), arguments, context).await
    }

    /// Calls the language model to select an intent flow (a flow that is found by meaning). The
    /// model receives the user's `text`, and the conversation `history` before it. Without a model
    /// or without intent flows, the result is the error [`FlowEnding::NoFlow`].
    async fn ask_model(&self, text: &str, history: &[Turn<'_>]) -> FlowSearchResult {
        let Some(model) = self.model.as_ref().filter(|_| !self.matcher.intents().is_empty()) else {
            return Err(Box::new(FlowEnding::NoFlow { reply: None }));
        };
        let prompt = Prompt { system: &self.matcher.prompt(), history, user: text };
        match model.choose(&prompt, &self.matcher.tool()).await {
            Ok(pick) => self.check_picked_flow(&pick.id, pick.ignored),
            Err(ModelError::NoCall { text }) => Err(Box::new(FlowEnding::NoFlow { reply: Some(text) })),
            Err(ModelError::UnknownId { id }) => Err(Box::new(FlowEnding::Refused { id })),
            Err(error) => Err(Box::new(FlowEnding::ModelFailed(error))),
        }
    }

    fn check_picked_flow(&self, id: &str, ignored: Vec<String>) -> FlowSearchResult {
        let refusal = || Box::new(FlowEnding::Refused { id: id.to_owned() });
        let flow = self.matcher.intent(id).ok_or_else(refusal)?;
        Ok((flow.id.clone(), flow.name.clone(), FoundBy::Model { ignored }))
    }

    async fn execute_found(
        &self,
        search_result: FlowSearchResult,
        facts: FlowSearchFacts,
        arguments: &Map<String, Json>,
        context: &Map<String, Json>,
    ) -> FlowOutcome {
        let (result, found_flow) = match search_result {
            Ok(found_flow) => {
                let executed = self.executor.execute(&found_flow.0, arguments, context).await;
                (executed.map_or_else(FlowEnding::Failed, FlowEnding::Executed), Some(found_flow))
            }
            Err(ending) => (*ending, None),
        };
        let (flow, name, found_by) =
            found_flow.map_or((None, None, None), |(id, name, by)| (Some(id), Some(name), Some(by)));
        let FlowSearchFacts { start, nearest, exceeded } = facts;
        let elapsed = start.elapsed();
        let outcome = FlowOutcome { flow, name, found_by, nearest, exceeded, result, elapsed };
        log_outcome(&outcome);
        outcome
    }
}

/// Logs an outcome without texts and arguments, because both may contain private data.
fn log_outcome(outcome: &FlowOutcome) {
    let (flow, found_by) = (outcome.flow.as_deref(), outcome.found_by.as_ref().map(FoundBy::kind));
    let (result, elapsed) = (outcome.result.kind(), outcome.elapsed);
    match outcome.result {
        FlowEnding::Executed(_) | FlowEnding::NoFlow { .. } => {
            tracing::info!(target: "rulec::flow", flow, found_by, result, ?elapsed);
        }
        _ => tracing::warn!(target: "rulec::flow", flow, found_by, result, ?elapsed),
    }
}
