//! From a message to an executed flow: keyword flows, the classifier, a language model, and one way
//! of executing what was found.

use super::{ExecutorError, FlowEnding, FlowExecutor, FlowOutcome, FoundBy};
use crate::{ChatModel, HttpClient, ModelError, Prompt, Turn};
use rulec::Exceeded;
use rulec::flow::{FlowMatcher, Found, IntentHit};
use serde_json::{Map, Value as Json};
use std::time::Instant;

/// Finds the flow a message wants and executes it. Cheap to clone.
///
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

/// The flow that was found, by its id and name; the end where there is nothing to execute.
type Search = Result<(String, String, FoundBy), Box<FlowEnding>>;

/// The start of a search for a flow, and the findings on its way.
struct Seen {
    start: Instant,
    nearest: Vec<IntentHit>,
    exceeded: Vec<Exceeded>,
}

impl Seen {
    fn since(start: Instant) -> Seen {
        Seen { start, nearest: Vec::new(), exceeded: Vec::new() }
    }
}

impl FlowRunner {
    /// A runner without a language model.
    pub fn new(matcher: FlowMatcher, executor: FlowExecutor) -> FlowRunner {
        FlowRunner { matcher, model: None, executor }
    }

    /// A runner that executes flows by the endpoint of the rules, see [`FlowExecutor::of_rules`].
    ///
    /// # Errors
    /// Those of [`FlowExecutor::of_rules`].
    pub fn of_rules(matcher: FlowMatcher, client: HttpClient) -> Result<FlowRunner, ExecutorError> {
        let executor = FlowExecutor::of_rules(client, &matcher)?;
        Ok(FlowRunner::new(matcher, executor))
    }

    /// Asks this model where neither a keyword flow nor the classifier answers.
    pub fn with_model(mut self, model: ChatModel) -> FlowRunner {
        self.model = Some(model);
        self
    }

    /// The matcher that it finds flows with.
    pub fn matcher(&self) -> &FlowMatcher {
        &self.matcher
    }

    /// Finds the flow that `text` wants and executes it. A language model sees the text and the
    /// `history` before it, oldest first. The endpoint is filled from `arguments` and the conversation's
    /// `context`, which no model sees.
    pub async fn handle(
        &self,
        text: &str,
        history: &[Turn<'_>],
        arguments: &Map<String, Json>,
        context: &Map<String, Json>,
    ) -> FlowOutcome {
        let start = Instant::now();
        let (found, exceeded) = self.matcher.search(text);
        let mut seen = Seen { exceeded, ..Seen::since(start) };
        let search = match found {
            Found::Keyword(hit) => {
                let by = FoundBy::Keyword { pattern: hit.pattern.to_owned() };
                Ok((hit.id.to_owned(), hit.name.to_owned(), by))
            }
            Found::Intent(IntentHit { id, name, score, .. }) => Ok((id, name, FoundBy::Classifier { score })),
            Found::Nothing { nearest } => {
                seen.nearest = nearest;
                self.ask(text, history).await
            }
        };
        self.finish(search, seen, arguments, context).await
    }

    /// Executes the intent flow that the program's own agent named by calling the tool of
    /// [`FlowMatcher::tool`]. An id that is none of the intent flows' is refused, those of keyword flows
    /// included.
    pub async fn execute(
        &self,
        flow_id: &str,
        arguments: &Map<String, Json>,
        context: &Map<String, Json>,
    ) -> FlowOutcome {
        let search = self.picked(flow_id, Vec::new());
        self.finish(search, Seen::since(Instant::now()), arguments, context).await
    }

    /// Asks the model, where there is one and something to pick from.
    async fn ask(&self, text: &str, history: &[Turn<'_>]) -> Search {
        let Some(model) = self.model.as_ref().filter(|_| !self.matcher.intents().is_empty()) else {
            return Err(Box::new(FlowEnding::NoFlow { said: None }));
        };
        let prompt = Prompt { system: &self.matcher.prompt(), history, user: text };
        match model.choose(&prompt, &self.matcher.tool()).await {
            Ok(pick) => self.picked(&pick.id, pick.ignored),
            Err(ModelError::NoCall { text }) => Err(Box::new(FlowEnding::NoFlow { said: Some(text) })),
            Err(ModelError::UnknownId { id }) => Err(Box::new(FlowEnding::Refused { id })),
            Err(error) => Err(Box::new(FlowEnding::ModelFailed(error))),
        }
    }

    fn picked(&self, id: &str, ignored: Vec<String>) -> Search {
        let refused = || Box::new(FlowEnding::Refused { id: id.to_owned() });
        let flow = self.matcher.intent(id).ok_or_else(refused)?;
        Ok((flow.id.clone(), flow.name.clone(), FoundBy::Model { ignored }))
    }

    async fn finish(
        &self,
        search: Search,
        seen: Seen,
        arguments: &Map<String, Json>,
        context: &Map<String, Json>,
    ) -> FlowOutcome {
        let (result, found) = match search {
            Ok(found) => {
                let executed = self.executor.execute(&found.0, arguments, context).await;
                (executed.map_or_else(FlowEnding::Failed, FlowEnding::Executed), Some(found))
            }
            Err(ending) => (*ending, None),
        };
        let (flow, name, found_by) =
            found.map_or((None, None, None), |(id, name, by)| (Some(id), Some(name), Some(by)));
        let Seen { start, nearest, exceeded } = seen;
        let elapsed = start.elapsed();
        let outcome = FlowOutcome { flow, name, found_by, nearest, exceeded, result, elapsed };
        log(&outcome);
        outcome
    }
}

/// Neither texts nor arguments: both may hold what is private.
fn log(outcome: &FlowOutcome) {
    let (flow, found_by) = (outcome.flow.as_deref(), outcome.found_by.as_ref().map(FoundBy::kind));
    let (result, elapsed) = (outcome.result.kind(), outcome.elapsed);
    match outcome.result {
        FlowEnding::Executed(_) | FlowEnding::NoFlow { .. } => {
            tracing::info!(target: "rulec::flow", flow, found_by, result, ?elapsed);
        }
        _ => tracing::warn!(target: "rulec::flow", flow, found_by, result, ?elapsed),
    }
}
