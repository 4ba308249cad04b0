//! Python class for the coordinator of `rulec-runtime`. It checks the decisions that a language
//! model proposes, and recovers from failures. It also runs plans (workflows that the model
//! proposes) whose nodes are Python functions.

use super::bus::{Bus, Published, with_middleware};
use super::callback::{CallerLoop, to_typed_error};
use super::error::{library_error, message_error};
use super::events::{self, DecisionMade, DecisionRejected, NodeExecutionFailed, json_fields};
use super::message::{mapping_entries, python_to_json};
use super::policy::duration_from_seconds;
use super::repr::count_with_noun;
use super::rules::Rules;
use super::session::{AgentSession, RetryRequest};
use super::shutdown::{start_future, with_gil};
use super::worker::node_factory;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use pythonize::pythonize;
use rulec::payload::kinds;
use rulec_runtime::events::{Bus as RustBus, MiddlewareError};
use rulec_runtime::payload::{self, CoordinatorBuilder, DecisionEvent, Judges, Proposal};
use serde_json::Value as Json;
use std::sync::Arc;

/// A Python function of a coordinator, and the event loop on which it runs.
#[derive(Clone)]
struct PythonFunction {
    function: Arc<Py<PyAny>>,
    caller: CallerLoop,
}

impl PythonFunction {
    /// Calls the function with the object that `argument` builds, and converts the result by
    /// `convert`.
    async fn call<T>(
        self,
        argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
        convert: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, MiddlewareError> {
        let result = self.caller.call(&self.function, argument).await;
        with_gil(|py| {
            let result = result.and_then(|result| convert(result.bind(py)));
            result.map_err(|error| to_typed_error(py, &error).into())
        })
    }
}

/// Checks decisions by the payload rules, publishes the results on a bus, and executes accepted
/// decisions.
///
/// `context` and `options` are the values that the rules read under these names. `handlers` execute
/// decisions by kind, and `workers` the nodes of plans by type. `agent` proposes others for a
/// rejected decision, at most `tries` times. `recovery` returns the payload of kind `recovery_kind`
/// for a failed node. All of them may be async. `middleware` maps names to functions of the bus,
/// each call of which may take at most `middleware_limit` seconds.
///
/// >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
/// >>> coordinator.validate_decision(DecisionMade("refund", {"amount": 20})).is_valid
/// True
#[pyclass(frozen, module = "rulec")]
pub struct Coordinator {
    coordinator: payload::Coordinator,
    caller: CallerLoop,
    settings: JudgeSettings,
}

/// The settings from which a coordinator creates the checkers of its payloads.
struct JudgeSettings {
    options: Option<Json>,
    is_strict: bool,
}

impl JudgeSettings {
    fn create_judges(
        &self,
        rules: &Bound<'_, Rules>,
        context: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Judges> {
        let rules = rules.get();
        let mut judges = Judges::new(&rules.rules);
        let context = context.map(|context| python_to_json(context, "context")).transpose()?;
        if let Some(context) = context.as_ref().or(rules.loaded_context()) {
            judges = judges.context(context).map_err(library_error)?;
        }
        if let Some(options) = &self.options {
            judges = judges.options(options).map_err(library_error)?;
        }
        Ok(if self.is_strict { judges.strict() } else { judges })
    }
}

/// Converts the result of an agent function, which proposes decisions in place of rejected ones.
/// The result is a decision, a list of decisions, or None.
fn extract_proposals(result: &Bound<'_, PyAny>) -> PyResult<Vec<Proposal>> {
    if result.is_none() {
        return Ok(Vec::new());
    }
    if let Ok(made) = result.cast::<DecisionMade>() {
        return Ok(vec![made.get().0.clone()]);
    }
    let mut decisions = Vec::new();
    for decision in result.try_iter()? {
        let decision = decision?;
        let made = decision.cast::<DecisionMade>().map_err(|_| {
            message_error(format!("an agent returns `DecisionMade` objects, and not {}", decision.get_type()))
        })?;
        decisions.push(made.get().0.clone());
    }
    Ok(decisions)
}

/// Reads the keyword arguments of a coordinator, and applies them to its builder.
struct CoordinatorSettings<'a, 'py> {
    builder: CoordinatorBuilder,
    caller: &'a CallerLoop,
    given_settings: Option<&'a Bound<'py, PyDict>>,
    known_names: Vec<&'static str>,
}

impl<'a, 'py> CoordinatorSettings<'a, 'py> {
    /// Reads the keyword argument `name` by `read`, and passes the result to the builder by
    /// `apply`. Does nothing if the argument is absent or None.
    fn apply_setting<T>(
        mut self,
        name: &'static str,
        read: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<T>,
        apply: impl FnOnce(CoordinatorBuilder, T) -> CoordinatorBuilder,
    ) -> PyResult<CoordinatorSettings<'a, 'py>> {
        self.known_names.push(name);
        let value = self.given_settings.map(|given| given.get_item(name)).transpose()?.flatten();
        if let Some(value) = value.filter(|value| !value.is_none()) {
            self.builder = apply(self.builder, read(&value)?);
        }
        Ok(self)
    }

    /// Returns the builder. Fails if a keyword argument is given that no call of `apply_setting`
    /// has named.
    fn finish(self) -> PyResult<CoordinatorBuilder> {
        for name in self.given_settings.into_iter().flat_map(|given| given.keys()) {
            let name: String = name.extract()?;
            if !self.known_names.contains(&&*name) {
                let known = self.known_names.join(", ");
                let text = format!("Coordinator() has no setting `{name}`; the settings are {known}");
                return Err(pyo3::exceptions::PyTypeError::new_err(text));
            }
        }
        Ok(self.builder)
    }

    fn function_reader(&self) -> impl FnOnce(&Bound<'py, PyAny>) -> PyResult<PythonFunction> + use<'py> {
        let caller = self.caller.clone();
        move |function| Ok(PythonFunction { function: Arc::new(function.clone().unbind()), caller })
    }

    fn function_map_reader(
        &self,
    ) -> impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Vec<(String, PythonFunction)>> + use<'py> {
        let caller = self.caller.clone();
        move |functions| {
            let entries = mapping_entries(Some(functions.cast::<PyMapping>()?))?;
            let to_function = |(name, function): (String, Bound<'py, PyAny>)| {
                (name, PythonFunction { function: Arc::new(function.unbind()), caller: caller.clone() })
            };
            Ok(entries.into_iter().map(to_function).collect())
        }
    }
}

fn extract<'a, 'py, T>(value: &'a Bound<'py, PyAny>) -> PyResult<T>
where
    T: FromPyObject<'a, 'py, Error = PyErr>,
{
    value.extract()
}

fn extract_duration<'py>(value: &Bound<'py, PyAny>) -> PyResult<std::time::Duration> {
    duration_from_seconds(value.extract()?)
}

/// Sets the functions that the program provides: agent, recovery, handlers and workers.
fn with_functions<'a, 'py>(
    settings: CoordinatorSettings<'a, 'py>,
    recovery_kind: String,
) -> PyResult<CoordinatorSettings<'a, 'py>> {
    let (one, many) = (settings.function_reader(), settings.function_map_reader());
    let settings = settings.apply_setting("agent", one, |builder, agent| {
        builder.agent(move |request| {
            let agent = agent.clone();
            agent.call(move |py| Ok(Bound::new(py, RetryRequest(request))?.into_any()), extract_proposals)
        })
    })?;
    let one = settings.function_reader();
    let settings = settings.apply_setting("recovery", one, |builder, recovery| {
        builder.recovery(recovery_kind, move |failure| {
            let recovery = recovery.clone();
            let argument = move |py: Python<'_>| Py::new(py, NodeExecutionFailed(failure));
            recovery.call(
                move |py| Ok(argument(py)?.into_bound(py).into_any()),
                |payload| python_to_json(payload, "the payload"),
            )
        })
    })?;
    let settings = settings.apply_setting("handlers", many, |builder, handlers| {
        handlers.into_iter().fold(builder, |builder, (kind, handler)| {
            builder.on(kind, move |decision| {
                let handler = handler.clone();
                handler.call(
                    move |py| Ok(events::to_python(py, DecisionEvent::Validated(decision))?.into_bound(py)),
                    |result| python_to_json(result, "the result"),
                )
            })
        })
    })?;
    let many = settings.function_map_reader();
    settings.apply_setting("workers", many, |builder, workers| {
        workers.into_iter().fold(builder, |builder, (kind, PythonFunction { function, caller })| {
            builder.node_kind(kind, with_gil(|py| node_factory(function.bind(py), &caller)))
        })
    })
}

/// Sets the Python functions of the settings `fallback`, `saving` and `on_attempt`, which are
/// called synchronously. `fallback` proposes a payload in place of a rejected one. `saving`
/// receives the state of a plan's run after each node, and `on_attempt` each attempt to run a node.
fn with_observers<'a, 'py>(settings: CoordinatorSettings<'a, 'py>) -> PyResult<CoordinatorSettings<'a, 'py>> {
    let object = |function: &Bound<'py, PyAny>| Ok(function.clone().unbind());
    let settings = settings.apply_setting("fallback", object, |builder, function| {
        builder.fallback(move |rejected| {
            with_gil(|py| {
                let rejected = Py::new(py, DecisionRejected(rejected.clone())).ok()?;
                let payload = function.call1(py, (rejected,));
                let payload = payload.and_then(|payload| python_to_json(payload.bind(py), "the payload"));
                payload.map_err(|error| error.write_unraisable(py, None)).ok().filter(|json| !json.is_null())
            })
        })
    })?;
    let settings = settings.apply_setting("saving", object, |builder, function| {
        builder.saving(move |saved| call_observer(&function, |py| Ok(pythonize(py, saved)?)))
    })?;
    settings.apply_setting("on_attempt", object, |builder, function| {
        builder.on_attempt(move |attempt| call_observer(&function, |py| Ok(pythonize(py, attempt)?)))
    })
}

fn call_observer(
    function: &Py<PyAny>,
    argument: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
) {
    with_gil(|py| {
        if let Err(error) = argument(py).and_then(|argument| function.bind(py).call1((argument,))) {
            error.write_unraisable(py, Some(function.bind(py)));
        }
    });
}

fn with_limits<'a, 'py>(settings: CoordinatorSettings<'a, 'py>) -> PyResult<CoordinatorSettings<'a, 'py>> {
    settings
        .apply_setting("tries", |tries| extract::<u32>(tries), CoordinatorBuilder::tries)?
        .apply_setting("recovery_limit", extract_duration, CoordinatorBuilder::recovery_limit)?
        .apply_setting("recoveries", |most| extract::<u64>(most), CoordinatorBuilder::recoveries)?
        .apply_setting(
            "conditions",
            |allowed| extract::<bool>(allowed),
            |builder, allowed| if allowed { builder.conditions() } else { builder },
        )?
        .apply_setting("loops", |rounds| extract::<u64>(rounds), CoordinatorBuilder::loops)?
        .apply_setting(
            "values",
            |values| json_fields(Some(values), "values"),
            |builder, values| {
                values.into_iter().fold(builder, |builder, (name, value)| builder.value(name, value))
            },
        )?
        .apply_setting("node_limit", extract_duration, CoordinatorBuilder::node_limit)?
        .apply_setting("run_limit", extract_duration, CoordinatorBuilder::run_limit)?
        .apply_setting("step_limit", |steps| extract::<u64>(steps), CoordinatorBuilder::step_limit)?
        .apply_setting("byte_limit", |bytes| extract::<usize>(bytes), CoordinatorBuilder::byte_limit)
}

#[pymethods]
impl Coordinator {
    #[new]
    #[pyo3(signature = (rules, *, context = None, options = None, strict = false, middleware = None,
        middleware_limit = None, recovery_kind = "error_recovery", **settings))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        rules: &Bound<'_, Rules>,
        context: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyAny>>,
        strict: bool,
        middleware: Option<&Bound<'_, PyMapping>>,
        middleware_limit: Option<f64>,
        recovery_kind: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Coordinator> {
        let caller = CallerLoop::default();
        let options = options.map(|options| python_to_json(options, "options")).transpose()?;
        let judge_settings = JudgeSettings { options, is_strict: strict };
        let judges = judge_settings.create_judges(rules, context)?;
        let bus = with_middleware(RustBus::builder(), middleware, middleware_limit, &caller)?;
        let builder = payload::Coordinator::builder(judges).over(bus);
        let known = vec!["context", "options", "strict", "middleware", "middleware_limit", "recovery_kind"];
        let settings =
            CoordinatorSettings { builder, caller: &caller, given_settings: settings, known_names: known };
        let settings = with_functions(settings, recovery_kind.to_owned())?;
        let coordinator = with_limits(with_observers(settings)?)?.finish()?.build();
        Ok(Coordinator { coordinator, caller, settings: judge_settings })
    }

    /// The bus on which the coordinator publishes its results.
    #[getter]
    fn bus(&self) -> Bus {
        Bus::of_decisions(self.coordinator.bus().clone(), self.caller.clone())
    }

    /// Checks a decision without publishing it. Returns a `DecisionValidated` or a
    /// `DecisionRejected`.
    fn validate_decision(&self, decision: &Bound<'_, DecisionMade>) -> PyResult<Py<PyAny>> {
        let event = self.coordinator.judges().judge(decision.get().0.clone());
        events::to_python(decision.py(), event)
    }

    /// Returns a middleware for any `Bus`. The middleware replaces each `DecisionMade` by the
    /// result of checking the decision. It stops decisions whose kind the rules declare `internal`,
    /// and passes on other events unchanged.
    fn as_middleware(&self) -> Middleware {
        Middleware(self.coordinator.clone())
    }

    /// Publishes an event. A `DecisionMade` is checked first. The failure of a plan's node is
    /// passed to the recovery function, and a rejected decision is followed by its fallback.
    /// Returns a list of all events, each with a `Published`, which describes its delivery.
    fn publish<'py>(&self, event: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = event.py();
        self.caller.store_running_loop(py)?;
        let unknown = || message_error(format!("{} is no event of a decision", event.get_type()));
        let event = events::from_python(event).ok_or_else(unknown)?;
        let coordinator = self.coordinator.clone();
        start_future(py, async move {
            let handled = coordinator.publish(event).await;
            with_gil(|py| {
                handled.into_iter().map(|handled| Handled::new(py, handled)).collect::<PyResult<Vec<_>>>()
            })
        })
    }

    /// Starts a session, which executes the decisions of one conversation one after another.
    fn session(&self) -> AgentSession {
        AgentSession::new(&self.coordinator, self.caller.clone())
    }

    /// Replaces the rules, and the value of their input `context`. Without `context`, this value is
    /// the context with which the rules were loaded, if any.
    #[pyo3(signature = (rules, *, context = None))]
    fn replace(&self, rules: &Bound<'_, Rules>, context: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.coordinator.replace(self.settings.create_judges(rules, context)?);
        Ok(())
    }

    /// Returns a workflow with the progress of its run, as a value that `restore` takes. None if
    /// the id is unknown.
    fn saved<'py>(&self, py: Python<'py>, workflow: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.coordinator.saved(workflow).map(|saved| pythonize(py, &saved)).transpose()?)
    }

    /// Restores a workflow from a result of `saved`. Returns its id.
    fn restore(&self, saved: &Bound<'_, PyAny>) -> PyResult<String> {
        self.coordinator.restore(&python_to_json(saved, "the saved workflow")?).map_err(library_error)
    }

    /// Continues a workflow at the point where its last run stopped. Returns the report of the run.
    fn resume<'py>(&self, py: Python<'py>, workflow: String) -> PyResult<Bound<'py, PyAny>> {
        self.caller.store_running_loop(py)?;
        let coordinator = self.coordinator.clone();
        start_future(py, async move {
            let report = coordinator.resume(&workflow).await.map_err(library_error)?;
            with_gil(|py| Ok(pythonize(py, &report)?.unbind()))
        })
    }

    fn __repr__(&self) -> String {
        let kinds = kinds(self.coordinator.judges().rules()).count();
        let subscribers = self.coordinator.bus().subscribers();
        format!(
            "<Coordinator: {}, {}>",
            count_with_noun(kinds, "payload kind"),
            count_with_noun(subscribers, "subscriber")
        )
    }
}

/// The check of a coordinator as a middleware for any bus.
///
/// >>> coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
/// >>> coordinator.as_middleware()(DecisionMade("refund", {"amount": 20}))
/// <DecisionValidated refund >
#[pyclass(frozen, module = "rulec")]
pub struct Middleware(payload::Coordinator);

#[pymethods]
impl Middleware {
    #[classattr]
    fn __name__() -> &'static str {
        "coordinator"
    }

    /// Checks a `DecisionMade`, and returns the result of the check. Returns other events
    /// unchanged.
    fn __call__<'py>(&self, event: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = event.py();
        let Ok(made) = event.cast::<DecisionMade>() else { return Ok(event.clone()) };
        match self.0.judges().flow(made.get().0.clone().into()) {
            rulec_runtime::events::Flow::Pass(event) => Ok(events::to_python(py, event)?.into_bound(py)),
            rulec_runtime::events::Flow::Stop(reason) => {
                Ok(Bound::new(py, super::bus::Stop { reason })?.into_any())
            }
        }
    }
}

/// An event that a coordinator has processed, and how it was delivered.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     coordinator = Coordinator(Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }"))
/// ...     return await coordinator.publish(DecisionMade("refund", {"amount": 900}))
/// >>> [handled] = asyncio.run(main())
/// >>> handled.event.is_valid, handled.published.delivered
/// (False, 0)
#[pyclass(frozen, get_all, module = "rulec")]
pub struct Handled {
    /// The event as published; None if a middleware stopped it.
    event: Option<Py<PyAny>>,
    /// How the event was delivered; None for a decision whose kind the rules declare `internal`,
    /// which is never published.
    published: Option<Py<Published>>,
}

impl Handled {
    fn new(py: Python<'_>, handled: payload::Handled) -> PyResult<Handled> {
        let published = handled.published.map(|published| Py::new(py, Published::from(published)));
        let event = handled.event.map(|event| events::to_python(py, event));
        Ok(Handled { event: event.transpose()?, published: published.transpose()? })
    }
}

#[pymethods]
impl Handled {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        match &self.event {
            Some(event) => Ok(format!("<Handled {}>", event.bind(py).repr()?)),
            None => Ok("<Handled: stopped>".to_owned()),
        }
    }
}
