//! Python classes for flows that a message may start, and for choices that a language model makes.
//! Both provide a prompt section and a tool definition for the model.

use super::error::{library_error, unknown_name_error};
use super::http::{HttpClient, ModelRequest, Response, call_values_to_json, http_error};
use super::in_force::DerivedFromRules;
use super::message::python_to_json_object;
use super::repr::count_with_noun;
use super::rules::Rules;
use super::shutdown::{start_future, without_gil};
use super::watched_rules::WatchedRules;
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec::choice;
use rulec::flow::{FlowMatcher, FlowSelection, IntentFlow, IntentHit, MatcherError};
use rulec_base::json::DecimalPaths;
use rulec_http::FlowExecutor;

/// A finder of flows, by keywords and then by the built-in classifier of intents.
///
/// It follows live rules, watched rules or the rules of a router. With a `client`, it also executes
/// flows.
///
/// >>> flows = Rules.from_text('flow hello keyword exact ["hello"] -> "greeting"').flows()
/// >>> flows.find("good bye") is None
/// True
#[pyclass(frozen, module = "rulec")]
pub struct Flows(DerivedFromRules<FlowParts>);

/// The parts of [`Flows`] that depend on the active rules.
struct FlowParts {
    /// The matcher that finds the flow for a text; `None` if the rules have no flow.
    matcher: Option<FlowMatcher>,
    /// The executor that runs flows by HTTP; `None` if no HTTP client was given.
    executor: Option<FlowExecutor>,
}

impl FlowParts {
    fn new(rules: &rulec::Rules, client: Option<&rulec_http::HttpClient>) -> PyResult<FlowParts> {
        let matcher = match FlowMatcher::offline(rules) {
            Err(MatcherError::NoFlow) => return Ok(FlowParts { matcher: None, executor: None }),
            matcher => matcher.map_err(library_error)?,
        };
        let executor = client.map(|client| FlowExecutor::of_rules(client.clone(), &matcher));
        Ok(FlowParts { executor: executor.transpose().map_err(http_error)?, matcher: Some(matcher) })
    }

    fn intents(&self) -> &[IntentFlow] {
        self.matcher.as_ref().map_or(&[], FlowMatcher::intents)
    }

    /// Returns the matcher, which finds the flow for a text. Fails if the rules have no flow.
    fn matcher(&self) -> PyResult<&FlowMatcher> {
        self.matcher.as_ref().ok_or_else(|| library_error(MatcherError::NoFlow))
    }
}

/// A flow that was found for a text. `pattern` is the keyword that matched; `score` is the
/// classifier's.
///
/// >>> rules = Rules.from_text('flow hello keyword exact ["hello"] -> "greeting"')
/// >>> hit = rules.flows().find("Hello")
/// >>> hit.id, hit.pattern, hit.score
/// ('greeting', 'hello', None)
#[pyclass(frozen, get_all, module = "rulec")]
pub struct FlowHit {
    /// The id of the flow.
    id: String,
    /// The name of the flow.
    name: String,
    /// The pattern that matched; None if the classifier found the flow.
    pattern: Option<String>,
    /// The classifier's score; None if a pattern matched.
    score: Option<f64>,
}

#[pymethods]
impl FlowHit {
    fn __repr__(&self) -> String {
        format!("<FlowHit {} ({})>", self.id, self.name)
    }
}

impl From<IntentHit> for FlowHit {
    fn from(hit: IntentHit) -> FlowHit {
        FlowHit { id: hit.id, name: hit.name, pattern: None, score: Some(hit.score) }
    }
}

#[pymethods]
impl Flows {
    #[new]
    #[pyo3(signature = (rules, *, client = None))]
    pub fn new(rules: &Bound<'_, PyAny>, client: Option<&Bound<'_, HttpClient>>) -> PyResult<Flows> {
        let client = client.map(|client| client.get().0.clone());
        let parts = DerivedFromRules::new(rules, move |rules| FlowParts::new(rules, client.as_ref()))?;
        parts.get(rules.py())?.matcher()?;
        Ok(Flows(parts))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Flows: {}>", count_with_noun(self.0.get(py)?.intents().len(), "intent")))
    }

    /// Returns the flow for a text; None if no flow fits the text.
    fn find(&self, py: Python<'_>, text: &str) -> PyResult<Option<FlowHit>> {
        let parts = self.0.get(py)?;
        let Some(matcher) = &parts.matcher else { return Ok(None) };
        Ok(without_gil(py, || match matcher.find(text) {
            FlowSelection::Keyword(hit) => Some(FlowHit {
                id: hit.id.to_owned(),
                name: hit.name.to_owned(),
                pattern: Some(hit.pattern.to_owned()),
                score: None,
            }),
            FlowSelection::Intent(hit) => Some(hit.into()),
            FlowSelection::Nothing { .. } => None,
        }))
    }

    /// Returns the intent flows (flows found by the meaning of a text) that are most similar to a
    /// text, best first. Empty if `find` returns a flow for the text.
    fn nearest(&self, py: Python<'_>, text: &str) -> PyResult<Vec<FlowHit>> {
        let parts = self.0.get(py)?;
        let Some(matcher) = &parts.matcher else { return Ok(Vec::new()) };
        Ok(without_gil(py, || match matcher.find(text) {
            FlowSelection::Nothing { nearest } => nearest.into_iter().map(FlowHit::from).collect(),
            _ => Vec::new(),
        }))
    }

    /// The section of a language model's prompt that lists the intent flows (flows found by
    /// meaning); empty if there are none.
    #[getter]
    fn prompt(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.0.get(py)?.matcher.as_ref().map(FlowMatcher::prompt).unwrap_or_default())
    }

    /// The definition of the tool that a language model calls to select an intent flow (a flow
    /// found by meaning).
    #[getter]
    fn tool<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.get(py)?.matcher()?.tool().to_json())?)
    }

    /// The HTTP request that executes a flow, as the rules declare it. None if the rules declare
    /// none.
    #[getter]
    fn endpoint<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let parts = self.0.get(py)?;
        let endpoint = parts.matcher.as_ref().and_then(FlowMatcher::endpoint);
        Ok(endpoint.map(|endpoint| pythonize(py, endpoint)).transpose()?)
    }

    /// Executes a flow by sending the request of `endpoint`. `flow` is a `FlowHit` or the id of a
    /// flow. In the request, `{name}` is replaced by one of the `arguments`, and `#name#` by a
    /// field of the `context`.
    #[pyo3(signature = (flow, context = None, *, arguments = None))]
    fn execute<'py>(
        &self,
        flow: &Bound<'py, PyAny>,
        context: Option<&Bound<'_, PyAny>>,
        arguments: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = match flow.cast::<FlowHit>() {
            Ok(hit) => hit.get().id.clone(),
            Err(_) => flow.extract()?,
        };
        let no_client =
            || http_error("nothing calls the endpoint; make the flows by `rules.flows(client=…)`");
        let executor = self.0.get(flow.py())?.executor.clone().ok_or_else(no_client)?;
        let (arguments, context) = call_values_to_json(arguments, context)?;
        start_future(flow.py(), async move {
            executor.execute(&id, &arguments, &context).await.map(Response).map_err(http_error)
        })
    }

    /// The ids of the intent flows, which are found by the meaning of a text.
    #[getter]
    fn intents(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.0.get(py)?.intents().iter().map(|flow| flow.id.clone()).collect())
    }
}

/// The question that a language model must answer to make a choice.
///
/// >>> question = Rules.from_text(
/// ...     'choice mood ask "how does the customer feel?" { branch angry "furious"  default branch calm }'
/// ... ).question("mood")
/// >>> question.text, question.branches
/// ('how does the customer feel?', ['angry', 'calm'])
#[pyclass(frozen, module = "rulec")]
pub struct Question(pub choice::Question);

#[pymethods]
impl Question {
    /// The name of the choice.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    fn __repr__(&self) -> String {
        format!("<Question {}: {:?}>", self.0.name(), self.0.text())
    }

    /// The question, as the rules state it.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// The ids of the branches, from which the model chooses.
    #[getter]
    fn branches(&self) -> Vec<&str> {
        self.0.branches().collect()
    }

    /// The id of the branch that is taken if the model does not answer.
    #[getter]
    fn default_branch(&self) -> &str {
        self.0.default_branch()
    }

    /// True if the rules declare that the user should see the answer and its reason.
    #[getter]
    fn to_user(&self) -> bool {
        self.0.to_user()
    }

    /// The section of the model's prompt that contains the question.
    #[getter]
    fn prompt(&self) -> String {
        self.0.prompt()
    }

    /// The definition of the tool that the model calls to answer.
    #[getter]
    fn tool<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.tool().to_json())?)
    }

    /// Returns the prompt and the tool that a model needs to answer the question for a message.
    fn request(&self, message: &Bound<'_, PyAny>) -> PyResult<ModelRequest> {
        Ok(ModelRequest(self.0.request(&python_to_json_object(message, DecimalPaths::none())?)))
    }

    /// Returns the fields of a message as JSON text for the model. The fields `text` and `answers`
    /// are left out, and private values are masked. None if no other fields exist.
    fn known(&self, message: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        Ok(self.0.known(&python_to_json_object(message, DecimalPaths::none())?))
    }
}

#[pymethods]
impl Rules {
    /// Creates a finder of flows. The finder finds keyword flows by patterns, and intent flows by
    /// the built-in classifier. With a `client`, the finder also executes flows.
    #[pyo3(signature = (*, client = None))]
    fn flows(slf: &Bound<'_, Self>, client: Option<&Bound<'_, HttpClient>>) -> PyResult<Flows> {
        Flows::new(slf.as_any(), client)
    }

    /// Returns the question that a language model answers to make the choice `name`.
    fn question(&self, name: &str) -> PyResult<Question> {
        choice::Question::new(&self.rules, name).map(Question).map_err(unknown_name_error)
    }

    /// The questions of all choices that a language model makes.
    #[getter]
    fn questions(&self) -> Vec<Question> {
        choice::Question::all(&self.rules).map(Question).collect()
    }
}

#[pymethods]
impl WatchedRules {
    /// Creates a finder of flows, which always uses the active version of the file. With a
    /// `client`, the finder also executes flows.
    #[pyo3(signature = (*, client = None))]
    fn flows(slf: &Bound<'_, Self>, client: Option<&Bound<'_, HttpClient>>) -> PyResult<Flows> {
        Flows::new(slf.as_any(), client)
    }
}
