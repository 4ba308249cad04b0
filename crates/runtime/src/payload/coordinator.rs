//! The consequences of an event: judging, recovery, and turning to a fallback.

use super::{DecisionEvent, Judges, Made, NodeFailure, Rejected};
use crate::events::{Bus, BusBuilder, MiddlewareError, Published};
use crate::task::{self, Broken, Function};
use arc_swap::ArcSwap;
use rulec::internals::sema::hir::Payload;
use serde_json::{Map, Value as Json, json};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
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
    inner: Arc<Inner>,
}

struct Inner {
    bus: Bus<DecisionEvent>,
    judges: ArcSwap<Judges>,
    recovery: Option<Recovery>,
    limit: Option<Duration>,
    fallback: Option<Fallback>,
}

/// Puts a [`Coordinator`] together.
#[must_use]
pub struct CoordinatorBuilder {
    judges: Judges,
    bus: Option<BusBuilder<DecisionEvent>>,
    recovery: Option<Recovery>,
    limit: Option<Duration>,
    fallback: Option<Fallback>,
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
        f.debug_struct("CoordinatorBuilder").field("bus", &self.bus).finish_non_exhaustive()
    }
}

impl CoordinatorBuilder {
    /// A bus with middleware of its own. It sees decisions before they are judged.
    pub fn over(self, bus: BusBuilder<DecisionEvent>) -> Self {
        CoordinatorBuilder { bus: Some(bus), ..self }
    }

    /// The strategy that answers the failure of a node with the payload of a decision of this kind,
    /// such as `error_recovery`. Where it fails or panics the kind's fallback takes its place.
    pub fn recovery<F, Fut, E>(self, kind: impl Into<String>, strategy: F) -> Self
    where
        F: Fn(NodeFailure) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, E>> + Send + 'static,
        E: Into<MiddlewareError> + 'static,
    {
        let strategy = task::boxed(strategy, |answer| answer.map_err(Into::into));
        CoordinatorBuilder { recovery: Some(Recovery { kind: kind.into(), strategy }), ..self }
    }

    /// Sets how long the recovery strategy may take; without limit when not set.
    pub fn recovery_limit(self, limit: Duration) -> Self {
        CoordinatorBuilder { limit: Some(limit), ..self }
    }

    /// Makes the payload of the kind that a rejected one falls back to, or none to leave it at the
    /// rejection. When not set, the payload gets those of its fields that are known: what the node's
    /// failure says, what the rejected payload has under the same name, and as `reason` why it was
    /// rejected.
    pub fn fallback(self, make: impl Fn(&Rejected) -> Option<Json> + Send + Sync + 'static) -> Self {
        CoordinatorBuilder { fallback: Some(Arc::new(make)), ..self }
    }

    /// The coordinator, nobody yet subscribed to its bus.
    pub fn build(self) -> Coordinator {
        let CoordinatorBuilder { judges, bus, recovery, limit, fallback } = self;
        let bus = bus.unwrap_or_else(Bus::builder).build();
        let judges = ArcSwap::from_pointee(judges);
        Coordinator { inner: Arc::new(Inner { bus, judges, recovery, limit, fallback }) }
    }
}

impl Coordinator {
    /// Begins a coordinator.
    pub fn builder(judges: Judges) -> CoordinatorBuilder {
        CoordinatorBuilder { judges, bus: None, recovery: None, limit: None, fallback: None }
    }

    /// The bus, to subscribe to. What is published there directly is not judged.
    pub fn bus(&self) -> &Bus<DecisionEvent> {
        &self.inner.bus
    }

    /// The judges at work.
    pub fn judges(&self) -> Arc<Judges> {
        self.inner.judges.load_full()
    }

    /// Puts other judges to work, such as after the context has changed.
    pub fn replace(&self, judges: Judges) {
        self.inner.judges.store(Arc::new(judges));
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
                decision.payload = payload;
                return Some(DecisionEvent::Made(decision));
            }
            Err(Broken::Failed(error)) => error,
            Err(Broken::TimedOut(after)) => format!("it took longer than {after:?}"),
            Err(Broken::Panicked(message)) => format!("it panicked: {message}"),
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
