//! Python class that finds and executes flows in one call, and a function that lets a model make a
//! choice.

use super::error::{library_error, unknown_name_error};
use super::flows::FlowHit;
use super::http::{ChatModel, HttpClient, ModelRequest, Response, call_values_to_json, http_error};
use super::in_force::DerivedFromRules;
use super::message::python_to_json_object;
use super::rules::Rules;
use super::shutdown::start_future;
use pyo3::prelude::*;
use rulec::flow::{FlowMatcher, FlowSelection};
use rulec_http::{FlowEnding, FoundBy, Role};

/// Finds flows by keyword, by the built-in classifier or by a model, and executes them. `FlowChat`
/// of `rulec.flows` also takes a function as the model.
///
/// `rules` declare the endpoint that executes a flow: `flow tool … { endpoint: … }`. If they are
/// live rules, a watched file or a router, their active version is used. `client` calls the
/// endpoint. `model` selects a flow if nothing else finds one.
///
/// >>> import asyncio
/// >>> rules = Rules.from_text('''
/// ...     flow tool flow_executor { endpoint: { url: "http://localhost:9/run", method: "POST", body: { flow: "{flow_id}" } } }
/// ...     flow greeting keyword exact ["hello"] -> "greet"
/// ... ''')
/// >>> async def main():
/// ...     return await FlowRunner(rules, HttpClient(allow=["localhost:9"], retries=0)).handle("hello")
/// >>> asyncio.run(main()).kind
/// 'failed'
#[pyclass(frozen, module = "rulec")]
pub struct FlowRunner(DerivedFromRules<rulec_http::FlowRunner>);

#[pymethods]
impl FlowRunner {
    #[new]
    #[pyo3(signature = (rules, client, *, model = None))]
    fn new(
        rules: &Bound<'_, PyAny>,
        client: &Bound<'_, HttpClient>,
        model: Option<&Bound<'_, ChatModel>>,
    ) -> PyResult<FlowRunner> {
        let (client, model) = (client.get().0.clone(), model.map(|model| model.get().0.clone()));
        let runner = DerivedFromRules::new(rules, move |rules| {
            let matcher = FlowMatcher::offline(rules).map_err(library_error)?;
            let runner = rulec_http::FlowRunner::of_rules(matcher, client.clone()).map_err(http_error)?;
            Ok(match &model {
                Some(model) => runner.with_model(model.clone()),
                None => runner,
            })
        });
        Ok(FlowRunner(runner?))
    }

    /// Finds the flow for a text and executes it. `history` are the earlier messages of the
    /// conversation, as pairs of the role (`user` or `assistant`) and the text. Placeholders in the
    /// endpoint are filled from `arguments` and from `context`, the context of the conversation.
    #[pyo3(signature = (text, context = None, *, history = None, arguments = None))]
    fn handle<'py>(
        &self,
        py: Python<'py>,
        text: String,
        context: Option<&Bound<'_, PyAny>>,
        history: Option<Vec<(String, String)>>,
        arguments: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (arguments, context) = call_values_to_json(arguments, context)?;
        let history = history.unwrap_or_default();
        if let Some((role, _)) = history.iter().find(|(role, _)| role != "user" && role != "assistant") {
            let help = "write `user` or `assistant`";
            return Err(library_error(format!("`{role}` is no role of a message; {help}")));
        }
        let runner = self.0.get(py)?;
        start_future(py, async move {
            let turns: Vec<rulec_http::Turn<'_>> = history
                .iter()
                .map(|(role, text)| {
                    let role = if role == "user" { Role::User } else { Role::Assistant };
                    rulec_http::Turn { role, text }
                })
                .collect();
            Ok(FlowOutcome(runner.handle(&text, &turns, &arguments, &context).await))
        })
    }

    /// Executes an intent flow (a flow found by meaning) that a model has chosen. `flow` is its id.
    /// Placeholders in the endpoint are filled from `arguments` and `context`.
    #[pyo3(signature = (flow, context = None, *, arguments = None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        flow: String,
        context: Option<&Bound<'_, PyAny>>,
        arguments: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (arguments, context) = call_values_to_json(arguments, context)?;
        let runner = self.0.get(py)?;
        start_future(py, async move { Ok(FlowOutcome(runner.execute(&flow, &arguments, &context).await)) })
    }

    /// Returns the prompt and the tool with which a model chooses an intent flow for a text. None
    /// if a pattern or the classifier finds a flow, or if there are no intent flows.
    fn question(&self, py: Python<'_>, text: &str) -> PyResult<Option<ModelRequest>> {
        let runner = self.0.get(py)?;
        let matcher = runner.matcher();
        let open = matches!(matcher.find(text), FlowSelection::Nothing { .. });
        Ok((open && !matcher.intents().is_empty()).then(|| ModelRequest(matcher.request(text))))
    }
}

/// The result of handling a message that may start a flow.
///
/// >>> import asyncio
/// >>> rules = Rules.from_text('''
/// ...     flow tool flow_executor { endpoint: { url: "http://localhost:9/run", method: "POST", body: { flow: "{flow_id}" } } }
/// ...     flow greeting keyword exact ["hello"] -> "greet"
/// ... ''')
/// >>> async def main():
/// ...     return await FlowRunner(rules, HttpClient(allow=["localhost:9"])).handle("good bye")
/// >>> outcome = asyncio.run(main())
/// >>> outcome.kind, outcome.flow
/// ('no_flow', None)
#[pyclass(frozen, module = "rulec")]
pub struct FlowOutcome(rulec_http::FlowOutcome);

#[pymethods]
impl FlowOutcome {
    /// The kind of the result: `executed`, `failed`, `refused`, `model_failed` or `no_flow`.
    #[getter]
    fn kind(&self) -> &str {
        self.0.result.kind()
    }

    /// The id of the flow; None if no flow was found.
    #[getter]
    fn flow(&self) -> Option<&str> {
        self.0.flow.as_deref()
    }

    /// The name of the flow; None if no flow was found.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The method that found the flow: `keyword`, `classifier` or `model`.
    #[getter]
    fn found_by(&self) -> Option<&str> {
        self.0.found_by.as_ref().map(FoundBy::kind)
    }

    /// The pattern that matched; None if no pattern found the flow.
    #[getter]
    fn pattern(&self) -> Option<&str> {
        match &self.0.found_by {
            Some(FoundBy::Keyword { pattern }) => Some(pattern),
            _ => None,
        }
    }

    /// The flows that are most similar to the text, if no flow was found.
    #[getter]
    fn nearest(&self) -> Vec<FlowHit> {
        self.0.nearest.iter().cloned().map(FlowHit::from).collect()
    }

    /// The response of the endpoint; None if the flow was not executed.
    #[getter]
    fn response(&self) -> Option<Response> {
        self.0.response().cloned().map(Response)
    }

    /// The text that the model replied when it chose no flow. None if the model was not asked, or
    /// chose a flow.
    #[getter]
    fn reply(&self) -> Option<&str> {
        match &self.0.result {
            FlowEnding::NoFlow { reply } => reply.as_deref(),
            _ => None,
        }
    }

    /// The reason why no flow was executed. None if a flow was executed, or if no flow fits the
    /// text.
    #[getter]
    fn error(&self) -> Option<String> {
        match &self.0.result {
            FlowEnding::Executed(_) | FlowEnding::NoFlow { .. } => None,
            other => Some(other.to_string()),
        }
    }

    /// The duration of finding and executing the flow, in seconds.
    #[getter]
    fn elapsed(&self) -> f64 {
        self.0.elapsed.as_secs_f64()
    }

    fn __repr__(&self) -> String {
        format!("<FlowOutcome: {}>", self.0)
    }
}

/// The answer of a model to a choice, with the fields of the Python class `ChoiceAnswer`: the
/// branch, `to_user`, the reason, the failure, and the tool calls that were ignored.
type ChoiceAnswer = (String, bool, Option<String>, Option<String>, Vec<String>);

/// Asks a model at an endpoint to make a choice. After any failure, takes the default branch.
#[pyfunction]
pub fn ask_choice<'py>(
    py: Python<'py>,
    rules: &Bound<'py, Rules>,
    name: &str,
    model: &Bound<'py, ChatModel>,
    message: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let rules = &rules.get().rules;
    let choice =
        rulec_http::AskedChoice::new(rules, name, model.get().0.clone()).map_err(unknown_name_error)?;
    let message = python_to_json_object(message, rules.decimal_paths())?;
    start_future(py, async move {
        let answer = choice.decide(&message).await;
        let failure = answer.failure.map(|failure| failure.to_string());
        let answer: ChoiceAnswer = (answer.branch, answer.to_user, answer.reason, failure, answer.ignored);
        Ok(answer)
    })
}
