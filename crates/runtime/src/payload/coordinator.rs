//! The coordinator, which connects a language model's decisions with the rules: it validates
//! decisions, requests recovery decisions after failures of nodes, and proposes fallbacks for
//! rejected decisions.

use super::execute::{Attempt, CONDITION_KIND, LOOP_KIND, NodeWork, PlanRun, ProcessorFactory, RunSettings};
use super::{DecisionEvent, Judges, NodeFailure, Proposal, Rejected, Validated};
use crate::events::{Bus, BusBuilder, MiddlewareError, Published};
use crate::task::{self, UserFunction};
use crate::workflow::{DEFAULT_BYTE_LIMIT, DEFAULT_STEP_LIMIT, Node, ProcessError, Processor, from_fn};
use arc_swap::ArcSwap;
use rulec_sema::hir::Payload;
use serde_json::{Map, Value as Json, json};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The program's function that chooses how to recover from a node's failure, and the payload kind
/// of the recovery decisions that it proposes.
struct RecoveryStrategy {
    payload_kind: String,
    strategy: UserFunction<NodeFailure, Json>,
}

type FallbackFn = Arc<dyn Fn(&Rejected) -> Option<Json> + Send + Sync>;

/// Validates decisions by the rules for payloads, and publishes each result on an event bus. A
/// clone is cheap, because it shares the bus and the payload validators ([`Judges`]) with the
/// original.
#[derive(Clone)]
pub struct Coordinator {
    pub(super) inner: Arc<CoordinatorInner>,
}

pub(super) struct CoordinatorInner {
    bus: Bus<DecisionEvent>,
    pub(super) judges: ArcSwap<Judges>,
    recovery_strategy: Option<RecoveryStrategy>,
    recovery_time_limit: Option<Duration>,
    fallback_fn: Option<FallbackFn>,
    pub(super) agent: Option<UserFunction<RetryRequest, Vec<Proposal>>>,
    pub(super) max_agent_calls: u32,
    pub(super) handlers: HashMap<String, UserFunction<Validated, Json>>,
    pub(super) run_settings: Arc<RunSettings>,
    /// The workflows that were created from decisions of the language model, by workflow id.
    pub(super) workflows: Mutex<HashMap<String, Arc<PlanRun>>>,
}

/// A request to the agent to replace a rejected decision. The agent is the program's function that
/// asks the language model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RetryRequest {
    /// The rejected decision. Its `feedback` explains the rejection to a language model.
    pub rejected: Rejected,
    /// How often the agent has been called to replace this decision, including this call. The first
    /// call has 1.
    pub attempt: u32,
}

/// The settings from which a [`Coordinator`] is built: event bus, validators, agent, recovery and
/// handlers.
#[must_use]
pub struct CoordinatorBuilder {
    inner: CoordinatorInner,
}

/// The result of processing one event. The caller published the event, or the coordinator created
/// it in response to an earlier event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Handled {
    /// The event after middleware and validation; `None` if a middleware stopped it.
    pub event: Option<DecisionEvent>,
    /// How the event was delivered to subscribers. `None` for an event of an internal kind, which
    /// only the caller receives.
    pub published: Option<Published>,
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("bus", &self.inner.bus).finish_non_exhaustive()
    }
}

impl fmt::Debug for CoordinatorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoordinatorBuilder").field("bus", &self.inner.bus).finish_non_exhaustive()
    }
}

impl CoordinatorBuilder {
    /// Sets the coordinator's event bus, which may have middleware. The middleware receives
    /// decisions before the coordinator validates them.
    pub fn over(mut self, bus: BusBuilder<DecisionEvent>) -> Self {
        self.inner.bus = bus.build();
        self
    }

    /// Sets the recovery strategy: a function that is called for a failed node and returns the
    /// payload of a recovery decision. `kind` is the payload kind of the decision, such as
    /// `error_recovery`. If the payload's `action_type` names a payload kind, the decision has that
    /// kind instead.
    ///
    /// If the strategy fails or panics, the coordinator proposes the fallback that the rules
    /// declare for `kind`.
    pub fn recovery<F, Fut, E>(mut self, kind: impl Into<String>, strategy: F) -> Self
    where
        F: Fn(NodeFailure) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, E>> + Send + 'static,
        E: Into<MiddlewareError> + 'static,
    {
        let strategy = task::box_function(strategy, |answer| answer.map_err(Into::into));
        self.inner.recovery_strategy = Some(RecoveryStrategy { payload_kind: kind.into(), strategy });
        self
    }

    /// Sets the time limit of one call of the recovery strategy, which
    /// [`CoordinatorBuilder::recovery`] sets. A strategy that exceeds the limit has failed.
    /// Default: no limit.
    pub fn recovery_limit(mut self, limit: Duration) -> Self {
        self.inner.recovery_time_limit = Some(limit);
        self
    }

    /// Sets the function that makes the payload of a fallback decision, which is proposed in place
    /// of a rejected one. If the function returns `None`, no fallback is proposed.
    ///
    /// By default, the payload has the fields of the rejected payload. If the rejected decision was
    /// a recovery from a node's failure, fields that describe the failure are added. Fields that
    /// the rules do not declare for the fallback's kind are left out. The field `reason` defaults
    /// to a text that names the rejected kind.
    pub fn fallback(
        mut self,
        make_payload: impl Fn(&Rejected) -> Option<Json> + Send + Sync + 'static,
    ) -> Self {
        self.inner.fallback_fn = Some(Arc::new(make_payload));
        self
    }

    /// Sets the agent: a function that is called when a [`Session`](super::Session) rejects a
    /// decision. The agent returns decisions to propose instead, or an empty list to give up. An
    /// error of the agent counts as an empty list.
    pub fn agent<F, Fut, E>(mut self, agent: F) -> Self
    where
        F: Fn(RetryRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Proposal>, E>> + Send + 'static,
        E: Into<MiddlewareError> + 'static,
    {
        self.inner.agent = Some(task::box_function(agent, |proposals| proposals.map_err(Into::into)));
        self
    }

    /// Sets how often the agent (the program's function that asks the language model) may be called
    /// to replace one decision. Default: 3.
    pub fn tries(mut self, tries: u32) -> Self {
        self.inner.max_agent_calls = tries;
        self
    }

    /// Sets the handler that executes accepted decisions of the payload kind `kind`. The handler
    /// replaces the built-in execution of that kind, if there is one.
    pub fn on<F, Fut, E>(mut self, kind: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Validated) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, E>> + Send + 'static,
        E: Into<MiddlewareError> + 'static,
    {
        self.inner
            .handlers
            .insert(kind.into(), task::box_function(handler, |answer| answer.map_err(Into::into)));
        self
    }

    /// Registers a node type that plans (workflows written by a language model) may use. `factory`
    /// creates the processor, which runs a node. `factory` is called for every attempt to run the
    /// node, after the placeholders in the node's config are filled. The types `START` and `END`
    /// are built in: they output their input.
    pub fn node_kind(
        mut self,
        kind: impl Into<String>,
        factory: impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync + 'static,
    ) -> Self {
        self.run_settings_mut().work_by_node_kind.insert(kind.into(), NodeWork::Processor(Arc::new(factory)));
        self
    }

    /// Allows plans to contain `CONDITION` nodes. The output of such a node has the fields of the
    /// node's input, and the field `result`: whether the node's condition is true.
    pub fn conditions(mut self) -> Self {
        self.run_settings_mut().work_by_node_kind.insert(CONDITION_KIND.to_owned(), NodeWork::Condition);
        self
    }

    /// Allows plans to contain `LOOP` nodes, each with at most this number of rounds. A loop runs
    /// the node in its config field `body` once per round. The rules validate this inner node like
    /// any other node of the plan, and the inner node's type must be registered.
    ///
    /// The rules read the number as `context.max_loop_iterations`, as [`Judges::loops`] describes.
    /// If the input `context` of the validators contains a smaller number, loops have at most that
    /// smaller number of rounds.
    pub fn loops(mut self, max_rounds: u64) -> Self {
        self.run_settings_mut().work_by_node_kind.insert(LOOP_KIND.to_owned(), NodeWork::Loop { max_rounds });
        self
    }

    /// Sets a value that plans (workflows that a language model writes) may use in a placeholder,
    /// such as `${API_KEY}`. A plan can pass the value to any node, so a secret can be sent
    /// wherever a node can send data.
    pub fn value(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.run_settings_mut().placeholder_values.insert(name.into(), value.into());
        self
    }

    /// Sets the time limit of one attempt to run a node whose config has no `timeout`. Default: 60
    /// seconds.
    pub fn node_limit(mut self, limit: Duration) -> Self {
        self.run_settings_mut().node_time_limit = limit;
        self
    }

    /// Sets the time limit of one run of a plan (a workflow that a language model writes). A plan
    /// can only shorten this limit. Default: no limit.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.run_settings_mut().run_time_limit = Some(limit);
        self
    }

    /// Sets how many times one run of a plan (a workflow that a language model writes) may run
    /// nodes in total. Retries and rounds of loops count, too. Default: 10,000.
    pub fn step_limit(mut self, steps: u64) -> Self {
        self.run_settings_mut().max_steps = steps;
        self
    }

    /// Sets the maximum size of one node's output, in bytes of JSON. A node with a larger output
    /// fails. Default: 16 MiB.
    pub fn byte_limit(mut self, bytes: usize) -> Self {
        self.run_settings_mut().max_output_bytes = bytes;
        self
    }

    /// Sets how many recovery decisions one run of a plan may request. A plan is a workflow that a
    /// language model writes. A recovery decision selects how to continue after a node's failure.
    /// Default: 10.
    pub fn recoveries(mut self, max_requests: u64) -> Self {
        self.run_settings_mut().max_recovery_requests = max_requests;
        self
    }

    /// Registers a callback that runs after each node of a plan (a workflow that a language model
    /// writes) that succeeded. The callback receives the state of the run as the JSON value that
    /// [`Coordinator::restore`] takes. The run waits for the callback, so the callback must be
    /// quick.
    pub fn saving(mut self, save: impl Fn(&Json) + Send + Sync + 'static) -> Self {
        self.run_settings_mut().save_callback = Some(Arc::new(save));
        self
    }

    /// Registers a callback that runs after each attempt to run a node of a plan, for example to
    /// log it. The run waits for the callback, so the callback must be quick.
    pub fn on_attempt(mut self, callback: impl Fn(&Attempt) + Send + Sync + 'static) -> Self {
        self.run_settings_mut().attempt_callback = Some(Arc::new(callback));
        self
    }

    fn run_settings_mut(&mut self) -> &mut RunSettings {
        Arc::make_mut(&mut self.inner.run_settings)
    }

    /// Builds the coordinator; its bus has no subscribers yet.
    pub fn build(mut self) -> Coordinator {
        let judges = Judges::clone(&self.inner.judges.load());
        self.inner.judges = ArcSwap::from_pointee(self.inner.run_settings.apply_to_judges(judges));
        Coordinator { inner: Arc::new(self.inner) }
    }
}

impl Coordinator {
    /// Starts building a coordinator, which validates decisions by `judges` and publishes them.
    pub fn builder(judges: Judges) -> CoordinatorBuilder {
        let pass_through: ProcessorFactory = Arc::new(|_| Ok(from_fn(|input| async move { Ok(input) })));
        let pass_through = NodeWork::Processor(pass_through);
        let run_settings = RunSettings {
            work_by_node_kind: HashMap::from(
                ["START", "END"].map(|kind| (kind.to_owned(), pass_through.clone())),
            ),
            placeholder_values: Map::new(),
            node_time_limit: Duration::from_secs(60),
            run_time_limit: None,
            max_steps: DEFAULT_STEP_LIMIT as u64,
            max_output_bytes: DEFAULT_BYTE_LIMIT,
            max_recovery_requests: 10,
            usage: Arc::default(),
            save_callback: None,
            attempt_callback: None,
        };
        let inner = CoordinatorInner {
            bus: Bus::builder().build(),
            judges: ArcSwap::from_pointee(judges),
            recovery_strategy: None,
            recovery_time_limit: None,
            fallback_fn: None,
            agent: None,
            max_agent_calls: 3,
            handlers: HashMap::new(),
            run_settings: Arc::new(run_settings),
            workflows: Mutex::default(),
        };
        CoordinatorBuilder { inner }
    }

    /// Returns the event bus, so that the caller can subscribe. Events published directly on the
    /// bus are not validated.
    pub fn bus(&self) -> &Bus<DecisionEvent> {
        &self.inner.bus
    }

    /// Returns the payload validators that this coordinator uses now; [`Coordinator::replace`]
    /// changes them.
    pub fn judges(&self) -> Arc<Judges> {
        self.inner.judges.load_full()
    }

    /// Replaces the payload validators, for example because their input `context` has changed. The
    /// coordinator's workflows are added to the `context` of the new validators.
    pub fn replace(&self, judges: Judges) {
        let judges = self.inner.run_settings.apply_to_judges(judges);
        self.inner.judges.store(Arc::new(self.with_all_workflows(judges)));
    }

    /// Sends an event through the middleware, validates it if it is a decision, and publishes the
    /// result. Then processes the events that follow: the recovery of a failed node, or the
    /// fallback of a rejected decision. Returns all results in that order. A kind that was already
    /// rejected is not proposed again, so the number of fallbacks is limited.
    ///
    /// Waits for middleware, recovery, and room in full queues; see [`Bus::publish`].
    pub async fn publish(&self, event: impl Into<DecisionEvent>) -> Vec<Handled> {
        let mut pending_events = VecDeque::from([event.into()]);
        let mut handled = Vec::new();
        while let Some(event) = pending_events.pop_front() {
            let judges = self.judges();
            let event = match event {
                // The recovery strategy failed, so there is no payload to validate: the decision is
                // rejected.
                DecisionEvent::Rejected(_) => Ok(event),
                event => self.inner.bus.pass_middleware(event).await,
            };
            let event = match event {
                Ok(DecisionEvent::Proposal(decision)) => judges.judge(decision),
                Ok(event) => event,
                Err(stopped) => {
                    let published = Published { stopped_by: Some(stopped), ..Published::default() };
                    handled.push(Handled { event: None, published: Some(published) });
                    continue;
                }
            };
            let internal = event.decision().is_some_and(|decision| judges.is_internal(&decision.kind));
            let published = if internal { None } else { Some(self.inner.bus.deliver(event.clone()).await) };
            match &event {
                DecisionEvent::NodeExecutionFailed(failure) => {
                    pending_events.extend(self.request_recovery(failure, &judges).await);
                }
                DecisionEvent::Rejected(rejected) => {
                    pending_events.extend(self.fallback_decision(rejected, &judges))
                }
                _ => {}
            }
            handled.push(Handled { event: Some(event), published });
        }
        handled
    }

    async fn request_recovery(&self, failure: &NodeFailure, judges: &Judges) -> Option<DecisionEvent> {
        let RecoveryStrategy { payload_kind: kind, strategy } = self.inner.recovery_strategy.as_ref()?;
        let mut decision = Proposal::new(kind, Json::Null);
        decision.failure = Some(Box::new(failure.clone()));
        let reason = match task::call_function(self.inner.recovery_time_limit, strategy, failure.clone())
            .await
        {
            Ok(payload) => {
                if let Some(payload_kind) =
                    payload["action_type"].as_str().filter(|payload_kind| judges.get(payload_kind).is_some())
                {
                    payload_kind.clone_into(&mut decision.kind);
                }
                decision.payload = payload;
                return Some(DecisionEvent::Proposal(decision));
            }
            Err(failure_reason) => failure_reason,
        };
        let feedback = format!("the recovery strategy failed: {reason}");
        let fallback = judges
            .get(&decision.kind)
            .and_then(|judge| judge.payload().fallback_payload.as_deref().map(str::to_owned));
        Some(DecisionEvent::Rejected(Rejected { decision, judgement: None, feedback, fallback }))
    }

    /// Returns the fallback decision to propose in place of a rejected decision. `None` if the
    /// rules declare no fallback for the rejected kind, or if a decision of the fallback's kind was
    /// already rejected. Also `None` if the program's fallback function returns no payload.
    fn fallback_decision(&self, rejected: &Rejected, judges: &Judges) -> Option<DecisionEvent> {
        let kind = rejected.fallback.as_ref()?;
        let mut instead_of = rejected.decision.instead_of.clone();
        instead_of.push(rejected.decision.kind.clone());
        if instead_of.contains(kind) {
            return None;
        }
        let payload = match &self.inner.fallback_fn {
            Some(make_payload) => make_payload(rejected)?,
            None => fallback_payload(rejected, judges.get(kind)?.payload()),
        };
        Some(DecisionEvent::Proposal(Proposal {
            kind: kind.clone(),
            payload,
            instead_of,
            ..rejected.decision.clone()
        }))
    }
}

/// Builds the payload of the fallback that is proposed in place of a rejected decision. It has the
/// fields of the rejected payload. If that decision was a recovery from a node's failure, fields
/// that describe the failure are added. Fields that the payload kind `kind` does not declare are
/// left out.
fn fallback_payload(rejected: &Rejected, kind: &Payload) -> Json {
    let mut fields = Map::new();
    fields.insert("reason".to_owned(), json!(format!("{} was rejected", rejected.decision.kind)));
    if let Json::Object(payload) = &rejected.decision.payload {
        fields.extend(payload.clone());
    }
    if let Some(failure) = &rejected.decision.failure {
        let mut context = failure.execution_context.clone();
        context.entry("failed_node_id").or_insert_with(|| json!(failure.node_id));
        context.entry("error").or_insert_with(|| json!(failure.reason));
        fields.insert("workflow_id".to_owned(), json!(failure.workflow_id));
        fields.insert("reason".to_owned(), json!(failure.reason));
        fields.insert("execution_context".to_owned(), Json::Object(context));
    }
    let is_declared = |name: &String| kind.object.fields.iter().any(|field| *field.name == **name);
    fields.retain(|name, _| is_declared(name));
    // The field `action_type` contains the kind of the rejected decision, so its value would be
    // wrong for the fallback.
    fields.remove("action_type");
    Json::Object(fields)
}
