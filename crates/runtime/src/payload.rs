//! Decisions of a language model as events. A decision is a payload: a JSON object of a kind that
//! the rules declare. A proposed decision is validated by the rules before subscribers receive it.
//!
//! ```text
//! Proposal ──middleware──▶ judged ──▶ Validated       (internal kinds: returned to the caller only)
//!                             └─▶ Rejected ──fallback──▶ Proposal (of the fallback kind)
//! NodeExecutionFailed ──recovery──▶ Proposal (such as error_recovery)
//! ```
//!
//! [`Judges`] are the validators of decisions. These validators can serve as middleware for any
//! [`Bus`](crate::events::Bus) of [`DecisionEvent`]s. A [`Coordinator`] owns such a bus and also
//! reacts to events. When a workflow node fails, the coordinator calls the program's recovery
//! strategy. When a payload is rejected, the coordinator proposes a payload of the fallback kind.
//!
//! A decision may contain a plan, which is a workflow written by the language model. The
//! coordinator executes plans if the program registers the node types that they use. A [`Session`]
//! executes the decisions of one conversation one after another. The session also asks the agent
//! (the program's function that asks the language model) to replace rejected decisions, and waits
//! for the user's answers.
//!
//! ```
//! use rulec::Rules;
//! use rulec_runtime::events::Policy;
//! use rulec_runtime::payload::{Coordinator, DecisionEvent, Judges, Proposal};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules::from_text("payload respond { response: string not blank }")?;
//! let coordinator = Coordinator::builder(Judges::new(&rules)).build();
//! let mut inbox = coordinator.bus().subscribe(16, Policy::Wait);
//!
//! coordinator.publish(Proposal::new("respond", json!({"response": "hello"}))).await;
//! assert!(matches!(inbox.recv().await?, DecisionEvent::Validated(_)));
//!
//! coordinator.publish(Proposal::new("respond", json!({"response": " "}))).await;
//! let DecisionEvent::Rejected(rejected) = inbox.recv().await? else { panic!("it is blank") };
//! assert!(rejected.feedback.contains("`response` must not be blank"));
//! # Ok(())
//! # }
//! ```

mod coordinator;
mod execute;
mod execution;
mod placeholders;
mod plan;
mod session;
mod usage;

pub use coordinator::{Coordinator, CoordinatorBuilder, Handled, RetryRequest};
pub use execute::{Attempt, RunReport, RunStatus};
pub use execution::UnknownWorkflow;
pub use plan::PlanError;
pub use session::{Done, Inbox, NothingAsked, Session, Turn};

use crate::events::Flow;
use rulec::Rules;
use rulec::payload::{Judge, JudgeError, Judgement, Violation, kinds, reject_unknown_kind};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use usage::Usage;

/// An event about a decision of a language model. Serializes to an object whose `event` field names
/// the event, such as `DecisionMadeEvent`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum DecisionEvent {
    /// A decision was proposed; the rules have not validated it yet.
    #[serde(rename = "DecisionMadeEvent")]
    Proposal(Proposal),
    /// The rules accepted a decision, so it may be executed.
    #[serde(rename = "DecisionValidatedEvent")]
    Validated(Validated),
    /// The rules rejected a decision, so it must not be executed.
    #[serde(rename = "DecisionRejectedEvent")]
    Rejected(Rejected),
    /// A node of a workflow failed.
    #[serde(rename = "NodeExecutionFailedEvent")]
    NodeExecutionFailed(NodeFailure),
}

impl From<Proposal> for DecisionEvent {
    fn from(proposal: Proposal) -> Self {
        DecisionEvent::Proposal(proposal)
    }
}

impl From<NodeFailure> for DecisionEvent {
    fn from(failure: NodeFailure) -> Self {
        DecisionEvent::NodeExecutionFailed(failure)
    }
}

/// A proposed decision: a payload and its kind, not validated yet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Proposal {
    /// Id that the proposer gave the decision. Events that accept or reject the decision have the
    /// same id.
    pub id: String,
    /// The kind of the payload: the name of a `payload` statement in the rules.
    pub kind: String,
    /// The proposed JSON object.
    pub payload: Json,
    /// How sure the proposer is of the decision, from 0 to 1; `None` if unknown. The value is
    /// passed on unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Payload kinds of the decisions that were rejected before this proposal, the earliest first.
    /// This proposal replaces the last of these decisions. Empty if it replaces no decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instead_of: Vec<String>,
    /// The node failure from which this decision recovers; `None` if the decision is no recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<NodeFailure>>,
}

impl Proposal {
    /// Creates a proposal of this kind, without an id and without a confidence.
    #[must_use]
    pub fn new(kind: impl Into<String>, payload: Json) -> Proposal {
        Proposal {
            id: String::new(),
            kind: kind.into(),
            payload,
            confidence: None,
            instead_of: Vec::new(),
            failure: None,
        }
    }

    /// Sets the id that identifies the decision in later events.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Proposal {
        Proposal { id: id.into(), ..self }
    }

    /// Sets how sure the proposer is of the decision, from 0 to 1. Later events about the decision
    /// contain this number unchanged.
    #[must_use]
    pub fn confidence(self, confidence: f64) -> Proposal {
        Proposal { confidence: Some(confidence), ..self }
    }
}

/// A decision that was accepted, because its payload satisfies the rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Validated {
    /// The decision with its payload as it was proposed, before corrections by the rules.
    pub decision: Proposal,
    /// The result of validating the payload by the rules, including their corrections.
    pub judgement: Box<Judgement>,
}

impl Validated {
    /// Returns the payload to execute: the corrected payload if the rules corrected it, else the
    /// proposed one.
    pub fn payload(&self) -> &Json {
        self.judgement.corrected().unwrap_or(&self.decision.payload)
    }
}

/// A decision that was rejected, and the reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rejected {
    /// The decision with its payload as it was proposed.
    pub decision: Proposal,
    /// The result of validating the payload. `None` if the program's recovery function returned no
    /// payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Box<Judgement>>,
    /// The reasons for the rejection, as one text for a language model.
    pub feedback: String,
    /// The kind of payload to propose in place of the rejected one. `None` if the rules declare no
    /// `fallback` for the rejected kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

impl Rejected {
    /// Returns the rules that the payload violates, with the paths of the wrong values. Empty if
    /// the payload was not validated.
    pub fn violations(&self) -> &[Violation] {
        self.judgement.as_ref().map_or(&[], |judgement| judgement.violations())
    }
}

/// A failure of a workflow node, from which a recovery decision may recover.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NodeFailure {
    /// Id of the workflow that contains the failed node.
    pub workflow_id: String,
    /// Id of the failed node.
    pub node_id: String,
    /// The reason why the node failed, as text.
    pub reason: String,
    /// The error code of the failure; `None` if the node reported no code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Facts about the run before the failure, such as the outputs of earlier nodes.
    pub execution_context: Map<String, Json>,
}

impl NodeFailure {
    /// Creates a failure of the node `node_id`, without an error code and without facts about the
    /// run.
    #[must_use]
    pub fn new(
        workflow_id: impl Into<String>,
        node_id: impl Into<String>,
        reason: impl Into<String>,
    ) -> NodeFailure {
        NodeFailure {
            workflow_id: workflow_id.into(),
            node_id: node_id.into(),
            reason: reason.into(),
            ..NodeFailure::default()
        }
    }
}

/// The validators of payloads: one [`Judge`] for each `payload` statement of a rule set. Cheap to
/// clone.
#[derive(Clone, Debug)]
pub struct Judges {
    rules: Rules,
    judges_by_kind: Arc<HashMap<String, Judge>>,
    /// The value of the rules' input `context`, such as the workflows that payloads may refer to;
    /// `None` if it is not set. The validators of all payload kinds share this value.
    context: Option<Arc<Json>>,
    /// The number of HTTP requests and the sum of costs, over all plans (workflows that a language
    /// model writes) of the coordinator. Node outputs report the costs. Each validation adds these
    /// numbers to the rules' input `context`. `None` outside a coordinator.
    usage: Option<Arc<Usage>>,
    /// Maximum number of rounds of one loop in a plan. Each validation adds the number to the
    /// rules' input `context`. `None` if no maximum is set.
    max_loop_rounds: Option<u64>,
}

/// Name of the field in the rules' input `context` that limits the number of rounds of one loop.
const MAX_ROUNDS_FIELD: &str = "max_loop_iterations";

impl Judges {
    /// Creates a validator for each `payload` statement of the rules. The rules' inputs `context`
    /// and `options` have no value yet.
    #[must_use]
    pub fn new(rules: &Rules) -> Judges {
        let kind_and_judge = |kind: &str| Some((kind.to_owned(), Judge::new(rules, kind).ok()?));
        let judges = Arc::new(kinds(rules).filter_map(kind_and_judge).collect());
        Judges {
            rules: rules.clone(),
            judges_by_kind: judges,
            context: None,
            usage: None,
            max_loop_rounds: None,
        }
    }

    /// Sets the value of the rules' input `context` for the judges (validators) of all payload
    /// kinds; see [`Judge::context`].
    ///
    /// # Errors
    /// As [`Judge::context`].
    pub fn context(self, context: &Json) -> Result<Judges, JudgeError> {
        let judges = self.map_judges(|judge| judge.context(context.clone()))?;
        Ok(Judges { context: Some(Arc::new(context.clone())), ..judges })
    }

    /// Sets the maximum number of rounds of one loop in a plan (a workflow that a language model
    /// writes). The rules read the number as `context.max_loop_iterations`. If their `context`
    /// contains a smaller number, or an earlier call set one, the smaller number applies.
    #[must_use]
    pub fn loops(self, max_rounds: u64) -> Judges {
        let max_rounds = self.max_loop_rounds.map_or(max_rounds, |earlier| earlier.min(max_rounds));
        Judges { max_loop_rounds: Some(max_rounds), ..self }
    }

    /// Returns the maximum number of rounds of one loop in a plan: the number in the rules' input
    /// `context`, or a smaller one that [`Judges::loops`] set. `None` if neither is set.
    fn max_loop_rounds(&self) -> Option<u64> {
        let context_rounds = self.context.as_ref().and_then(|context| context[MAX_ROUNDS_FIELD].as_i64());
        let context_rounds = context_rounds.map(|rounds| u64::try_from(rounds).unwrap_or(0));
        context_rounds.into_iter().chain(self.max_loop_rounds).min()
    }

    /// Returns the rules whose `payload` statements validate the payloads.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns validators whose input `context` also contains this workflow, in the field
    /// `workflows`. Returns the validators unchanged if the rules declare no `workflows` in
    /// `context`.
    pub(super) fn with_workflow_in_context(&self, id: &str, workflow: Json) -> Judges {
        let mut context = self
            .context
            .as_ref()
            .map_or_else(|| Json::Object(Map::new()), |old_context| (**old_context).clone());
        let Json::Object(fields) = &mut context else { return self.clone() };
        let workflows = fields.entry("workflows").or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(workflows) = workflows {
            workflows.insert(id.to_owned(), workflow);
        }
        self.clone().context(&context).unwrap_or_else(|_| self.clone())
    }

    /// Makes the judges (validators) of all payload kinds strict. A strict judge also rejects a
    /// payload that violates a warning rule, or that could not be checked completely. See
    /// [`Judge::strict`].
    #[must_use]
    pub fn strict(self) -> Judges {
        let make_strict = |(kind, judge): (&String, &Judge)| (kind.clone(), judge.clone().strict());
        Judges { judges_by_kind: Arc::new(self.judges_by_kind.iter().map(make_strict).collect()), ..self }
    }

    /// Sets the value of the rules' input `options` for the judges (validators) of all payload
    /// kinds; see [`Judge::options`].
    ///
    /// # Errors
    /// As [`Judge::options`].
    pub fn options(self, options: &Json) -> Result<Judges, JudgeError> {
        self.map_judges(|judge| judge.options(options.clone()))
    }

    fn map_judges(self, change: impl Fn(Judge) -> Result<Judge, JudgeError>) -> Result<Judges, JudgeError> {
        let changed_judge = |(kind, judge): (&String, &Judge)| Ok((kind.clone(), change(judge.clone())?));
        let judges = self.judges_by_kind.iter().map(changed_judge).collect::<Result<_, _>>()?;
        Ok(Judges { judges_by_kind: Arc::new(judges), ..self })
    }

    /// Returns the validator of payloads of this kind. `None` if the rules have no `payload`
    /// statement of this name.
    pub fn get(&self, kind: &str) -> Option<&Judge> {
        self.judges_by_kind.get(kind)
    }

    /// True if the rules declare payloads of this kind as `internal`: events about them are never
    /// published on the bus.
    pub fn is_internal(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(|judge| judge.payload().is_internal)
    }

    /// Validates a proposed decision. Returns [`DecisionEvent::Validated`] or
    /// [`DecisionEvent::Rejected`].
    pub fn judge(&self, decision: Proposal) -> DecisionEvent {
        let judgement = Box::new(match self.get(&decision.kind) {
            Some(judge) => self.with_counts_in_context(judge).judge(&decision.payload),
            None => reject_unknown_kind(&self.rules, &decision.kind, &decision.payload),
        });
        if judgement.is_accepted() {
            return DecisionEvent::Validated(Validated { decision, judgement });
        }
        let (feedback, fallback) = (judgement.feedback(), judgement.fallback().map(str::to_owned));
        DecisionEvent::Rejected(Rejected { decision, judgement: Some(judgement), feedback, fallback })
    }

    /// Returns `judge` with more numbers in its input `context`: the HTTP requests and the costs of
    /// plans so far, and the maximum number of rounds of a loop. Returns `judge` unchanged if there
    /// are no such numbers, or if the rules do not declare them in `context`.
    fn with_counts_in_context<'j>(&self, judge: &'j Judge) -> Cow<'j, Judge> {
        let own_context = self.context.as_deref();
        let counted = self.usage.as_ref().and_then(|usage| usage.context_with_counts(own_context));
        let rounds = self.max_loop_rounds().filter(|_| self.max_loop_rounds.is_some());
        let context = match rounds {
            None => counted,
            Some(rounds) => {
                let context =
                    counted.or_else(|| own_context.cloned()).unwrap_or_else(|| Json::Object(Map::new()));
                Some(with_field(context, MAX_ROUNDS_FIELD, rounds.min(i64::MAX as u64).into()))
            }
        };
        let changed = context.and_then(|context| judge.clone().context(context).ok());
        changed.map_or(Cow::Borrowed(judge), Cow::Owned)
    }

    /// Processes an event as a middleware of a bus. Validates a proposed decision, and passes on
    /// the result. Stops a decision whose payload kind is internal. Passes on all other events.
    /// ```
    /// # use rulec::Rules;
    /// # use rulec_runtime::{events::Bus, payload::{DecisionEvent, Judges}};
    /// # let rules = Rules::from_text("payload p { a: int }")?;
    /// let judges = Judges::new(&rules);
    /// let bus: Bus<DecisionEvent> = Bus::builder()
    ///     .middleware("judge", move |event| {
    ///         let flow = judges.flow(event);
    ///         async { flow }
    ///     })
    ///     .build();
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn flow(&self, event: DecisionEvent) -> Flow<DecisionEvent> {
        match event {
            DecisionEvent::Proposal(decision) => {
                let event = self.judge(decision);
                match event.decision().filter(|decision| self.is_internal(&decision.kind)) {
                    Some(decision) => Flow::Stop(format!("`{}` is never published", decision.kind)),
                    None => Flow::Pass(event),
                }
            }
            other => Flow::Pass(other),
        }
    }
}

/// Returns `object` with a field added or replaced. Returns any other value unchanged.
fn with_field(mut object: Json, name: &str, value: Json) -> Json {
    if let Json::Object(fields) = &mut object {
        fields.insert(name.to_owned(), value);
    }
    object
}

impl DecisionEvent {
    /// Returns the decision that the event is about; `None` if a workflow node failed.
    pub fn decision(&self) -> Option<&Proposal> {
        match self {
            DecisionEvent::Proposal(decision)
            | DecisionEvent::Validated(Validated { decision, .. })
            | DecisionEvent::Rejected(Rejected { decision, .. }) => Some(decision),
            DecisionEvent::NodeExecutionFailed(_) => None,
        }
    }
}
