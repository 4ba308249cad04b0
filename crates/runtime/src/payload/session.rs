//! A conversation with an agent (the program's function that asks a language model). The session
//! executes accepted decisions one after another, the lowest rank first. The rules declare a rank
//! for each payload kind. The session stops when no decision is left, or when a decision waits for
//! the user's answer.

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

/// One conversation with an agent (the program's function that asks a language model), and the
/// decisions that wait for execution. [`Coordinator::session`] starts a session.
#[derive(Debug)]
pub struct Session {
    coordinator: Coordinator,
    /// Decisions that were accepted but not yet executed, in order of arrival.
    waiting_decisions: Vec<Validated>,
    /// The decision that waits for the user's answer; `None` if no decision does.
    unanswered_decision: Option<Validated>,
    proposal_sender: UnboundedSender<Proposal>,
    proposal_receiver: UnboundedReceiver<Proposal>,
}

/// Sender of decisions to a session that is executing other decisions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Inbox(UnboundedSender<Proposal>);

/// The results of one call of [`Session::offer`] or [`Session::answer`]. The call ends when no
/// decision is left to execute, or when a decision waits for the user.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Turn {
    /// The decisions that were executed, in the order of their execution.
    pub done: Vec<Done>,
    /// The decisions that the rules rejected, including decisions that the agent then replaced.
    pub rejected: Vec<Rejected>,
    /// The decisions that were dropped because another decision interrupted them, possibly during
    /// their execution.
    pub interrupted: Vec<Proposal>,
    /// The decision that waits for the user's answer; see [`Session::answer`]. `None` if no
    /// decision does.
    pub question: Option<Validated>,
    /// Number of accepted decisions that wait until the user has answered.
    pub waiting: usize,
}

/// A decision that a session executed, and its result.
#[derive(Debug)]
#[non_exhaustive]
pub struct Done {
    /// The decision that was accepted and executed.
    pub decision: Validated,
    /// The result of the execution; null if decisions of this kind are only published, not
    /// executed. The error is the reason why the execution failed.
    pub result: Result<Json, String>,
    /// The report of the workflow's run; `None` if the decision did not run a workflow.
    pub report: Option<RunReport>,
}

/// The error of [`Session::answer`] if no decision waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct NothingAsked;

impl NothingAsked {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        message!("nothing was asked that an answer could be given to")
    }
}

impl Inbox {
    /// Sends a decision to the session, which validates the decision. Returns false if the session
    /// was dropped. An accepted decision is queued. If its kind interrupts other decisions, the
    /// decision that is being executed is cancelled.
    pub fn send(&self, decision: Proposal) -> bool {
        self.0.send(decision).is_ok()
    }
}

impl Coordinator {
    /// Starts a session: a conversation in which decisions are validated and executed one after
    /// another.
    pub fn session(&self) -> Session {
        let (sender, inbox) = unbounded_channel();
        Session {
            coordinator: self.clone(),
            waiting_decisions: Vec::new(),
            unanswered_decision: None,
            proposal_sender: sender,
            proposal_receiver: inbox,
        }
    }
}

/// The next action of a session: to execute an accepted decision, or to wait.
enum NextStep {
    Execute(Validated),
    /// No decision can be executed now: there is none, or all decisions wait for the user's answer.
    Wait,
}

impl Session {
    /// Returns a sender for decisions. The sender can be used while the session executes other
    /// decisions.
    pub fn inbox(&self) -> Inbox {
        Inbox(self.proposal_sender.clone())
    }

    /// Validates decisions and executes those that can run. The decision of the lowest rank (a
    /// number that the rules declare for each payload kind) runs first. Decisions of one kind run
    /// in order of arrival.
    pub async fn offer(&mut self, decisions: impl IntoIterator<Item = Proposal>) -> Turn {
        let mut turn = Turn::default();
        for decision in decisions {
            self.validate_and_queue(decision, &mut turn).await;
        }
        self.run_waiting_decisions(turn).await
    }

    /// Completes the decision that asked the user a question: its result becomes an object with the
    /// field `answer`. Then executes the decisions that waited until the user answered.
    ///
    /// # Errors
    /// If the session waits for no answer.
    pub async fn answer(&mut self, answer: Json) -> Result<Turn, NothingAsked> {
        let decision = self.unanswered_decision.take().ok_or(NothingAsked)?;
        let mut turn = Turn::default();
        turn.done.push(Done { decision, result: Ok(json!({ "answer": answer })), report: None });
        Ok(self.run_waiting_decisions(turn).await)
    }

    /// Validates a decision. An accepted decision is added to the waiting decisions. For a rejected
    /// decision, the agent is called for replacements, up to the configured number of times.
    async fn validate_and_queue(&mut self, decision: Proposal, turn: &mut Turn) {
        let inner = self.coordinator.inner.clone();
        let mut pending = VecDeque::from([(decision, 0)]);
        while let Some((decision, requests)) = pending.pop_front() {
            let handled = self.coordinator.publish(decision).await;
            let judgements: Vec<Result<Validated, Rejected>> = handled
                .into_iter()
                .filter_map(|handled_event| self.judgement_of(handled_event.event?))
                .collect();
            let accepted = judgements.iter().any(Result::is_ok);
            for judgement in judgements {
                let rejected = match judgement {
                    Ok(validated) => {
                        self.waiting_decisions.push(validated);
                        continue;
                    }
                    Err(rejected) => rejected,
                };
                if let (false, true, Some(agent)) = (accepted, requests < inner.max_agent_calls, &inner.agent)
                {
                    let request = RetryRequest { rejected: rejected.clone(), attempt: requests + 1 };
                    let proposals = task::call_function(None, agent, request).await.unwrap_or_default();
                    pending.extend(proposals.into_iter().map(|proposal| (proposal, requests + 1)));
                }
                turn.rejected.push(rejected);
            }
        }
    }

    /// Returns the accepted (`Ok`) or rejected (`Err`) decision of an event; `None` for any other
    /// event. A valid plan that cannot run is returned as rejected, so that the agent can correct
    /// the plan.
    fn judgement_of(&self, event: DecisionEvent) -> Option<Result<Validated, Rejected>> {
        match event {
            DecisionEvent::Validated(validated) => Some(match self.coordinator.check_runnable(&validated) {
                Ok(()) => Ok(validated),
                Err(PlanError(error)) => {
                    let feedback = error.to_string();
                    let Validated { decision, judgement } = validated;
                    Err(Rejected { decision, judgement: Some(judgement), feedback, fallback: None })
                }
            }),
            DecisionEvent::Rejected(rejected) => Some(Err(rejected)),
            _ => None,
        }
    }

    async fn run_waiting_decisions(&mut self, mut turn: Turn) -> Turn {
        loop {
            while let Ok(more) = self.proposal_receiver.try_recv() {
                self.validate_and_queue(more, &mut turn).await;
            }
            match self.select_next_step(&mut turn) {
                NextStep::Execute(decision) => self.execute_decision(decision, &mut turn).await,
                NextStep::Wait => break,
            }
        }
        turn.question = self.unanswered_decision.clone();
        turn.waiting = self.waiting_decisions.len();
        turn
    }

    /// Selects the accepted decision to execute next, by the ranks that the rules declare. The
    /// decision that waits for the user's answer is ranked too. If it comes first, no decision is
    /// executed now. Decisions that the selected decision interrupts are removed and added to
    /// `turn`.
    fn select_next_step(&mut self, turn: &mut Turn) -> NextStep {
        let waiting_count = self.waiting_decisions.len();
        let candidates = self.waiting_decisions.iter().chain(&self.unanswered_decision);
        let kinds: Vec<(String, &str)> = candidates
            .enumerate()
            .map(|(index, candidate)| (index.to_string(), &*candidate.decision.kind))
            .collect();
        let judges = self.coordinator.judges();
        let Ok(arbitration) = arbitrate(judges.rules(), &kinds) else { return NextStep::Wait };
        let to_index = |id: &String| id.parse::<usize>().unwrap_or(usize::MAX);
        let Some(selected_index) = arbitration
            .run_now
            .as_ref()
            .map(to_index)
            .filter(|selected_index| *selected_index < waiting_count)
        else {
            return NextStep::Wait;
        };
        let interrupted_indices: Vec<usize> = arbitration.interrupted.iter().map(to_index).collect();
        if interrupted_indices.contains(&waiting_count) {
            turn.interrupted.extend(self.unanswered_decision.take().map(|question| question.decision));
        }
        let mut selected = None;
        let mut remaining = Vec::new();
        for (index, decision) in std::mem::take(&mut self.waiting_decisions).into_iter().enumerate() {
            match index {
                index if index == selected_index => selected = Some(decision),
                index if interrupted_indices.contains(&index) => turn.interrupted.push(decision.decision),
                _ => remaining.push(decision),
            }
        }
        self.waiting_decisions = remaining;
        selected.map_or(NextStep::Wait, NextStep::Execute)
    }

    /// Executes a decision. The execution is cancelled if another decision is accepted whose kind
    /// interrupts other decisions.
    async fn execute_decision(&mut self, decision: Validated, turn: &mut Turn) {
        let kind = decision.decision.kind.clone();
        let coordinator = self.coordinator.clone();
        let payload_of = |kind: &str| coordinator.judges().get(kind).map(|judge| judge.payload().clone());
        let suspends = payload_of(&kind).is_some_and(|payload| payload.suspends);
        let mut execution = pin!(coordinator.clone().execute(decision.clone()));
        let execution_result = loop {
            let received = {
                let receiving = pin!(self.proposal_receiver.recv());
                match select(&mut execution, receiving).await {
                    Either::Left((execution_result, _)) => break execution_result,
                    Either::Right((received, _)) => received,
                }
            };
            let Some(received) = received else { continue };
            let waiting_before = self.waiting_decisions.len();
            // The execution pauses while the new decision is validated. Validation is quick. Only a
            // call of the agent takes long, and its replacement of a rejected decision is worth the
            // wait.
            self.validate_and_queue(received, turn).await;
            let interrupts_execution = |accepted: &Validated| {
                let accepted_kind = &accepted.decision.kind;
                *accepted_kind != kind && payload_of(accepted_kind).is_some_and(|payload| payload.interrupts)
            };
            if self.waiting_decisions[waiting_before..].iter().any(interrupts_execution) {
                turn.interrupted.push(decision.decision);
                return;
            }
        };
        if suspends && !matches!(execution_result.result, Some(Err(_))) {
            self.unanswered_decision = Some(decision);
            return;
        }
        let ExecutionResult { result, report } = execution_result;
        turn.done.push(Done { decision, result: result.unwrap_or(Ok(Json::Null)), report });
    }
}
