//! A conversation with an agent. The session executes accepted decisions one after another, in the
//! order of the ranks that the rules give their kinds. It stops when no decision is left, or when a
//! decision waits for the user's answer.

use super::coordinator::{Coordinator, RetryRequest};
use super::execute::RunReport;
use super::execution::ExecutionResult;
use super::plan::PlanError;
use super::{DecisionEvent, Proposal, Rejected, Validated};
use crate::task;
use futures_util::future::{Either, select};
use rulec::payload::arbitrate;
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::pin::pin;
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// One conversation with an agent and its decisions; see [`Coordinator::session`].
#[derive(Debug)]
pub struct Session {
    coordinator: Coordinator,
    /// Accepted decisions that are not yet executed, in order of arrival.
    waiting: Vec<Validated>,
    /// The decision that waits for the user's answer.
    question: Option<Validated>,
    sender: UnboundedSender<Proposal>,
    inbox: UnboundedReceiver<Proposal>,
}

/// Sender of decisions to a session that is executing other decisions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Inbox(UnboundedSender<Proposal>);

/// The results of one call of [`Session::offer`] or [`Session::answer`]. The call ends when no
/// decision is left to execute, or when a decision waits for the user.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Turn {
    /// The decisions that were executed, in order.
    pub done: Vec<Done>,
    /// The rejected decisions, including those that the agent replaced.
    pub rejected: Vec<Rejected>,
    /// The decisions that were dropped because another decision interrupted them, possibly during
    /// their execution.
    pub interrupted: Vec<Proposal>,
    /// The decision that waits for the user's answer; see [`Session::answer`].
    pub question: Option<Validated>,
    /// Number of accepted decisions that are executed only after the user's answer.
    pub waiting: usize,
}

/// An executed decision.
#[derive(Debug)]
#[non_exhaustive]
pub struct Done {
    /// The decision that was accepted and executed.
    pub decision: Validated,
    /// The result of the execution; null if decisions of this kind are only published, not
    /// executed. The error is the reason why the execution failed.
    pub result: Result<Json, String>,
    /// The report of the plan's run, if the decision ran one.
    pub report: Option<RunReport>,
}

/// The error of [`Session::answer`] if the session waits for no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct NothingAsked;

impl NothingAsked {
    /// Returns the error as a localized message.
    pub fn to_message(&self) -> Message {
        message!("nothing was asked that an answer could be given to")
    }
}

impl Inbox {
    /// Sends a decision to the session, which validates it. Returns false if the session was
    /// dropped. An accepted decision is queued. If its kind interrupts others, the decision that is
    /// being executed is cancelled.
    pub fn send(&self, decision: Proposal) -> bool {
        self.0.send(decision).is_ok()
    }
}

impl Coordinator {
    /// Starts a conversation.
    pub fn session(&self) -> Session {
        let (sender, inbox) = unbounded_channel();
        Session { coordinator: self.clone(), waiting: Vec::new(), question: None, sender, inbox }
    }
}

/// The next step of a session.
enum NextStep {
    Act(Validated),
    /// No decision can be executed now: there is none, or all decisions wait for the user's answer.
    Rest,
}

impl Session {
    /// Returns a sender that can send decisions while the session executes others.
    pub fn inbox(&self) -> Inbox {
        Inbox(self.sender.clone())
    }

    /// Validates decisions and executes those that can run. The decision of the lowest rank runs
    /// first; decisions of one kind run in order of arrival.
    pub async fn offer(&mut self, decisions: impl IntoIterator<Item = Proposal>) -> Turn {
        let mut turn = Turn::default();
        for decision in decisions {
            self.admit_decision(decision, &mut turn).await;
        }
        self.run_waiting(turn).await
    }

    /// Passes the user's answer to the decision that waits for it, then executes the decisions that
    /// waited for this answer. The answer becomes the result of the decision that requested it.
    ///
    /// # Errors
    /// If the session waits for no answer.
    pub async fn answer(&mut self, answer: Json) -> Result<Turn, NothingAsked> {
        let decision = self.question.take().ok_or(NothingAsked)?;
        let mut turn = Turn::default();
        turn.done.push(Done { decision, result: Ok(json!({ "answer": answer })), report: None });
        Ok(self.run_waiting(turn).await)
    }

    /// Validates a decision. If it is accepted, adds it to the waiting decisions. If it is
    /// rejected, calls the agent for replacements, up to the configured number of times.
    async fn admit_decision(&mut self, decision: Proposal, turn: &mut Turn) {
        let inner = self.coordinator.inner.clone();
        let mut open = VecDeque::from([(decision, 0)]);
        while let Some((decision, asked)) = open.pop_front() {
            let handled = self.coordinator.publish(decision).await;
            let answers: Vec<Result<Validated, Rejected>> =
                handled.into_iter().filter_map(|one| self.judgement_of(one.event?)).collect();
            let accepted = answers.iter().any(Result::is_ok);
            for answer in answers {
                let rejected = match answer {
                    Ok(validated) => {
                        self.waiting.push(validated);
                        continue;
                    }
                    Err(rejected) => rejected,
                };
                if let (false, true, Some(agent)) = (accepted, asked < inner.tries, &inner.agent) {
                    let again = RetryRequest { rejected: rejected.clone(), attempt: asked + 1 };
                    let made = task::call_function(None, agent, again).await.unwrap_or_default();
                    open.extend(made.into_iter().map(|made| (made, asked + 1)));
                }
                turn.rejected.push(rejected);
            }
        }
    }

    /// Returns the decision that an event accepts or rejects; `None` for any other event. A valid
    /// plan that cannot run is rejected too, so that the agent can correct it.
    fn judgement_of(&self, event: DecisionEvent) -> Option<Result<Validated, Rejected>> {
        match event {
            DecisionEvent::Validated(validated) => Some(match self.coordinator.can_run(&validated) {
                Ok(()) => Ok(validated),
                Err(PlanError(why)) => {
                    let feedback = why.to_string();
                    let Validated { decision, judgement } = validated;
                    Err(Rejected { decision, judgement: Some(judgement), feedback, fallback: None })
                }
            }),
            DecisionEvent::Rejected(rejected) => Some(Err(rejected)),
            _ => None,
        }
    }

    async fn run_waiting(&mut self, mut turn: Turn) -> Turn {
        loop {
            while let Ok(more) = self.inbox.try_recv() {
                self.admit_decision(more, &mut turn).await;
            }
            match self.select_next(&mut turn) {
                NextStep::Act(decision) => self.execute_decision(decision, &mut turn).await,
                NextStep::Rest => break,
            }
        }
        turn.question = self.question.clone();
        turn.waiting = self.waiting.len();
        turn
    }

    /// Selects the decision to execute next among all waiting decisions and the one that waits for
    /// the user. Drops the decisions that the selected one interrupts.
    fn select_next(&mut self, turn: &mut Turn) -> NextStep {
        let asked = self.waiting.len();
        let all = self.waiting.iter().chain(&self.question);
        let kinds: Vec<(String, &str)> =
            all.enumerate().map(|(at, one)| (at.to_string(), &*one.decision.kind)).collect();
        let judges = self.coordinator.judges();
        let Ok(arbitration) = arbitrate(judges.rules(), &kinds) else { return NextStep::Rest };
        let number = |id: &String| id.parse::<usize>().unwrap_or(usize::MAX);
        let Some(first) = arbitration.run_now.as_ref().map(number).filter(|first| *first < asked) else {
            return NextStep::Rest;
        };
        let dropped: Vec<usize> = arbitration.interrupted.iter().map(number).collect();
        if dropped.contains(&asked) {
            turn.interrupted.extend(self.question.take().map(|question| question.decision));
        }
        let mut chosen = None;
        let mut kept = Vec::new();
        for (at, decision) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            match at {
                at if at == first => chosen = Some(decision),
                at if dropped.contains(&at) => turn.interrupted.push(decision.decision),
                _ => kept.push(decision),
            }
        }
        self.waiting = kept;
        chosen.map_or(NextStep::Rest, NextStep::Act)
    }

    /// Executes a decision. The execution is cancelled if a decision arrives whose kind interrupts
    /// others.
    async fn execute_decision(&mut self, decision: Validated, turn: &mut Turn) {
        let kind = decision.decision.kind.clone();
        let coordinator = self.coordinator.clone();
        let payload_of = |kind: &str| coordinator.judges().get(kind).map(|judge| judge.payload().clone());
        let suspends = payload_of(&kind).is_some_and(|payload| payload.suspends);
        let mut acting = pin!(coordinator.clone().execute(decision.clone()));
        let acted = loop {
            let more = {
                let receiving = pin!(self.inbox.recv());
                match select(&mut acting, receiving).await {
                    Either::Left((acted, _)) => break acted,
                    Either::Right((more, _)) => more,
                }
            };
            let Some(more) = more else { continue };
            let before = self.waiting.len();
            // The execution pauses while the new decision is validated. Validation is quick, and an
            // answer of the agent is worth the wait.
            self.admit_decision(more, turn).await;
            let interrupts = |one: &Validated| {
                let other = &one.decision.kind;
                *other != kind && payload_of(other).is_some_and(|payload| payload.interrupts)
            };
            if self.waiting[before..].iter().any(interrupts) {
                turn.interrupted.push(decision.decision);
                return;
            }
        };
        if suspends && !matches!(acted.result, Some(Err(_))) {
            self.question = Some(decision);
            return;
        }
        let ExecutionResult { result, report } = acted;
        turn.done.push(Done { decision, result: result.unwrap_or(Ok(Json::Null)), report });
    }
}
