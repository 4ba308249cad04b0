//! The consequences of an event: judging, recovery, and turning to a fallback.

use super::execute::{Crew, Factory, Run};
use super::{DecisionEvent, Judges, Made, NodeFailure, Rejected, Validated};
use crate::events::{Bus, BusBuilder, MiddlewareError, Published};
use crate::task::{self, Function};
use crate::workflow::{Node, ProcessError, Processor, from_fn};
use arc_swap::ArcSwap;
use rulec_sema::hir::Payload;
use serde_json::{Map, Value as Json, json};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The recovery of a program: its answer to a failed node, and the kind of that decision.
struct Recovery {
    kind: String,
    strategy: Function<NodeFailure, Json>,
}

type Fallback = Arc<dyn Fn(&Rejected) -> Option<Json> + Send + Sync>;

/// Judges decisions and publishes the answers. Cheap to clone; clones share the bus and the judges.
#[derive(Clone)]
pub struct Coordinator {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    bus: Bus<DecisionEvent>,
    pub(super) judges: ArcSwap<Judges>,
    recovery: Option<Recovery>,
    limit: Option<Duration>,
    fallback: Option<Fallback>,
    pub(super) agent: Option<Function<Again, Vec<Made>>>,
    pub(super) tries: u32,
    pub(super) handlers: HashMap<String, Function<Validated, Json>>,
    pub(super) crew: Arc<Crew>,
    /// The workflows that plans became, by their ids.
    pub(super) workflows: Mutex<HashMap<String, Arc<Run>>>,
}

/// A decision that was rejected, for the agent that made it to make a better one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Again {
    /// The rejected decision; its `feedback` is the text for a language model.
    pub rejected: Rejected,
    /// Counts the times that the agent has been asked about it, from 1.
    pub attempt: u32,
}

/// Puts a [`Coordinator`] together.
#[must_use]
pub struct CoordinatorBuilder {
    inner: Inner,
}

/// The fate of an event, or of one that followed from it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Handled {
    /// The event as it was published; none when a middleware stopped it.
    pub event: Option<DecisionEvent>,
    /// The record of its publication; none when it is internal, for the caller alone.
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
    /// A bus with middleware of its own. It sees decisions before they are judged.
    pub fn over(mut self, bus: BusBuilder<DecisionEvent>) -> Self {
        self.inner.bus = bus.build();
        self
    }

    /// The strategy that answers the failure of a node with the payload of a decision of this kind,
    /// such as `error_recovery`, or of the kind that the payload's `action_type` names. Where it fails or panics the kind's fallback takes its place.
    pub fn recovery<F, Fut, E>(mut self, kind: impl Into<String>, strategy: F) -> Self
    where
        F: Fn(NodeFailure) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, E>> + Send + 'static,
        E: Into<MiddlewareError> + 'static,
    {
        let strategy = task::boxed(strategy, |answer| answer.map_err(Into::into));
        self.inner.recovery = Some(Recovery { kind: kind.into(), strategy });
        self
    }

    /// Sets how long the recovery strategy may take; without limit when not set.
    pub fn recovery_limit(mut self, limit: Duration) -> Self {
        self.inner.limit = Some(limit);
        self
    }

    /// Makes the payload of the kind that a rejected one falls back to, or none to leave it at the
    /// rejection. When not set, the payload gets those of its fields that are known: what the node's
    /// failure says, what the rejected payload has under the same name, and as `reason` why it was
    /// rejected.
    pub fn fallback(mut self, make: impl Fn(&Rejected) -> Option<Json> + Send + Sync + 'static) -> Self {
        self.inner.fallback = Some(Arc::new(make));
        self
    }

    /// The agent that is asked again when a [`Session`](super::Session) is offered a decision of its that is rejected. It answers
    /// with other decisions, or with none to give up. Its own failure counts as none.
    pub fn agent<F, Fut, E>(mut self, agent: F) -> Self
    where
        F: Fn(Again) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Made>, E>> + Send + 'static,
        E: Into<MiddlewareError> + 'static,
    {
        self.inner.agent = Some(task::boxed(agent, |made| made.map_err(Into::into)));
        self
    }

    /// Sets how often the agent is asked again about one decision; 3 times when not set.
    pub fn tries(mut self, tries: u32) -> Self {
        self.inner.tries = tries;
        self
    }

    /// The handler that carries out accepted decisions of a kind, in the place of what is built in.
    pub fn on<F, Fut, E>(mut self, kind: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Validated) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, E>> + Send + 'static,
        E: Into<MiddlewareError> + 'static,
    {
        self.inner.handlers.insert(kind.into(), task::boxed(handler, |answer| answer.map_err(Into::into)));
        self
    }

    /// Says how nodes of a type are worked on. The factory is asked for every attempt, with the placeholders of
    /// the node's config filled. `START` and `END` are there from the beginning: they hand on what they get.
    pub fn node_kind(
        mut self,
        kind: impl Into<String>,
        factory: impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Send + Sync + 'static,
    ) -> Self {
        self.crew().kinds.insert(kind.into(), Arc::new(factory));
        self
    }

    /// A value that plans may name in a placeholder, such as `${API_KEY}`. Whoever writes plans can have it sent
    /// wherever a node may send.
    pub fn value(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.crew().values.insert(name.into(), value.into());
        self
    }

    /// Sets how long an attempt at a node may take whose config has no `timeout`; 60 seconds when not set.
    pub fn node_limit(mut self, limit: Duration) -> Self {
        self.crew().node_limit = limit;
        self
    }

    /// Sets how many failures of nodes may be asked about in one run; 10 when not set.
    pub fn recoveries(mut self, most: u64) -> Self {
        self.crew().recoveries = most;
        self
    }

    /// Told of a run after each of its nodes, in the form that [`Coordinator::restore`] takes. Called from within
    /// the run, so that it must be quick.
    pub fn saving(mut self, save: impl Fn(&Json) + Send + Sync + 'static) -> Self {
        self.crew().saving = Some(Arc::new(save));
        self
    }

    fn crew(&mut self) -> &mut Crew {
        Arc::make_mut(&mut self.inner.crew)
    }

    /// The coordinator, nobody yet subscribed to its bus.
    pub fn build(self) -> Coordinator {
        Coordinator { inner: Arc::new(self.inner) }
    }
}

impl Coordinator {
    /// Begins a coordinator.
    pub fn builder(judges: Judges) -> CoordinatorBuilder {
        let passes: Factory = Arc::new(|_| Ok(from_fn(|input| async move { Ok(input) })));
        let crew = Crew {
            kinds: HashMap::from(["START", "END"].map(|kind| (kind.to_owned(), passes.clone()))),
            values: Map::new(),
            node_limit: Duration::from_secs(60),
            recoveries: 10,
            saving: None,
        };
        let inner = Inner {
            bus: Bus::builder().build(),
            judges: ArcSwap::from_pointee(judges),
            recovery: None,
            limit: None,
            fallback: None,
            agent: None,
            tries: 3,
            handlers: HashMap::new(),
            crew: Arc::new(crew),
            workflows: Mutex::default(),
        };
        CoordinatorBuilder { inner }
    }

    /// The bus, to subscribe to. What is published there directly is not judged.
    pub fn bus(&self) -> &Bus<DecisionEvent> {
        &self.inner.bus
    }

    /// The judges at work.
    pub fn judges(&self) -> Arc<Judges> {
        self.inner.judges.load_full()
    }

    /// Puts other judges to work, such as after the context has changed. The workflows that were made here are added
    /// to their context.
    pub fn replace(&self, judges: Judges) {
        self.inner.judges.store(Arc::new(self.knowing_all(judges)));
    }

    /// Sends an event through the middleware, judges it when it is a decision, publishes the answer,
    /// and goes on with what follows: the recovery of a failed node, the fallback of a rejected
    /// kind. Tells all of it, in that order; it ends, since no kind stands in for itself.
    ///
    /// Waits for middleware, recovery, and room in full queues; see [`Bus::publish`].
    pub async fn publish(&self, event: impl Into<DecisionEvent>) -> Vec<Handled> {
        let mut waiting = VecDeque::from([event.into()]);
        let mut handled = Vec::new();
        while let Some(event) = waiting.pop_front() {
            let judges = self.judges();
            let event = match event {
                // It has been judged: a strategy that failed has no payload to show.
                DecisionEvent::Rejected(_) => Ok(event),
                event => self.inner.bus.prepare(event).await,
            };
            let event = match event {
                Ok(DecisionEvent::Made(decision)) => judges.judge(decision),
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
                    waiting.extend(self.recover(failure, &judges).await);
                }
                DecisionEvent::Rejected(rejected) => waiting.extend(self.turn(rejected, &judges)),
                _ => {}
            }
            handled.push(Handled { event: Some(event), published });
        }
        handled
    }

    async fn recover(&self, failure: &NodeFailure, judges: &Judges) -> Option<DecisionEvent> {
        let Recovery { kind, strategy } = self.inner.recovery.as_ref()?;
        let mut decision = Made::new(kind, Json::Null);
        decision.failure = Some(Box::new(failure.clone()));
        let problem = match task::call(self.inner.limit, strategy, failure.clone()).await {
            Ok(payload) => {
                if let Some(named) =
                    payload["action_type"].as_str().filter(|named| judges.get(named).is_some())
                {
                    named.clone_into(&mut decision.kind);
                }
                decision.payload = payload;
                return Some(DecisionEvent::Made(decision));
            }
            Err(broken) => broken,
        };
        let feedback = format!("the recovery strategy failed: {problem}");
        let fallback = judges
            .get(&decision.kind)
            .and_then(|judge| judge.payload().fallback.as_deref().map(str::to_owned));
        Some(DecisionEvent::Rejected(Rejected { decision, judgement: None, feedback, fallback }))
    }

    /// The decision that takes a rejected one's place.
    fn turn(&self, rejected: &Rejected, judges: &Judges) -> Option<DecisionEvent> {
        let kind = rejected.fallback.as_ref()?;
        let mut instead_of = rejected.decision.instead_of.clone();
        instead_of.push(rejected.decision.kind.clone());
        if instead_of.contains(kind) {
            return None;
        }
        let payload = match &self.inner.fallback {
            Some(make) => make(rejected)?,
            None => carried_over(rejected, judges.get(kind)?.payload()),
        };
        Some(DecisionEvent::Made(Made {
            kind: kind.clone(),
            payload,
            instead_of,
            ..rejected.decision.clone()
        }))
    }
}

/// The fields of a fallback that are known from what it stands in for.
fn carried_over(rejected: &Rejected, kind: &Payload) -> Json {
    let mut known = Map::new();
    known.insert("reason".to_owned(), json!(format!("{} was rejected", rejected.decision.kind)));
    if let Json::Object(payload) = &rejected.decision.payload {
        known.extend(payload.clone());
    }
    if let Some(failure) = &rejected.decision.failure {
        let mut context = failure.execution_context.clone();
        context.entry("failed_node_id").or_insert_with(|| json!(failure.node_id));
        context.entry("error").or_insert_with(|| json!(failure.reason));
        known.insert("workflow_id".to_owned(), json!(failure.workflow_id));
        known.insert("reason".to_owned(), json!(failure.reason));
        known.insert("execution_context".to_owned(), Json::Object(context));
    }
    let declared = |name: &String| kind.object.fields.iter().any(|field| *field.name == **name);
    known.retain(|name, _| declared(name));
    // The rejected decision's own name is not the fallback's.
    known.remove("action_type");
    Json::Object(known)
}
