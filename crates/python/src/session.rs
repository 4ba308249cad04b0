//! Python classes for agent sessions. A session executes the decisions of one conversation one
//! after another.

use super::callback::CallerLoop;
use super::error::{library_error, message_error};
use super::events::{DecisionMade, DecisionRejected, DecisionValidated};
use super::message::python_to_json;
use super::shutdown::{start_future, with_gil};
use pyo3::prelude::*;
use pythonize::pythonize;
use rulec_runtime::payload::{self, Coordinator};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The argument of the agent function of a coordinator: a rejected decision.
///
/// >>> import asyncio
/// >>> def agent(request):
/// ...     return DecisionMade("refund", {"amount": 500}) if request.attempt == 1 else None
/// >>> async def main():
/// ...     rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
/// ...     session = Coordinator(rules, agent=agent).session()
/// ...     return await session.offer(DecisionMade("refund", {"amount": 900}))
/// >>> [done.decision.payload for done in asyncio.run(main()).done]
/// [{'amount': 500}]
#[pyclass(frozen, module = "rulec")]
pub struct RetryRequest(pub payload::RetryRequest);

#[pymethods]
impl RetryRequest {
    /// The rejected decision, with the reasons.
    #[getter]
    fn rejected(&self) -> DecisionRejected {
        DecisionRejected(self.0.rejected.clone())
    }

    /// How often the agent has been called to replace this decision, including this call.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.attempt
    }

    fn __repr__(&self) -> String {
        format!("<RetryRequest {} for {}>", self.0.attempt, self.0.rejected.decision.kind)
    }
}

/// One conversation with an agent: its decisions are executed one after another.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     rules = Rules.from_text("payload ask rank 1 suspends { question: string }")
/// ...     session = Coordinator(rules).session()
/// ...     await session.offer(DecisionMade("ask", {"question": "which?"}))
/// ...     return await session.answer("the first")
/// >>> asyncio.run(main()).done[0].result
/// {'answer': 'the first'}
#[pyclass(frozen, module = "rulec")]
pub struct AgentSession {
    session: Arc<Mutex<payload::Session>>,
    inbox: payload::Inbox,
    caller: CallerLoop,
}

impl AgentSession {
    pub fn new(coordinator: &Coordinator, caller: CallerLoop) -> AgentSession {
        let session = coordinator.session();
        AgentSession { inbox: session.inbox(), session: Arc::new(Mutex::new(session)), caller }
    }
}

#[pymethods]
impl AgentSession {
    /// Validates decisions and executes those that can run. The decision of the lowest rank (a
    /// number that the rules declare for each payload kind) runs first. Decisions of equal rank run
    /// in order of arrival.
    fn offer<'py>(&self, py: Python<'py>, decisions: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.caller.store_running_loop(py)?;
        let single = decisions.cast::<DecisionMade>().map(|made| vec![made.get().0.clone()]);
        let decisions = single.or_else(|_| {
            let made = decisions.try_iter()?.map(|decision| {
                let decision = decision?;
                let made = decision.cast::<DecisionMade>().map_err(|_| {
                    message_error(format!("a decision is a `DecisionMade`, and not {}", decision.get_type()))
                })?;
                Ok(made.get().0.clone())
            });
            made.collect::<PyResult<Vec<_>>>()
        })?;
        let session = self.session.clone();
        start_future(py, async move {
            let turn = session.lock().await.offer(decisions).await;
            with_gil(|py| Turn::new(py, turn))
        })
    }

    /// Completes the decision that asked the user a question: `answer` becomes its result. Then
    /// executes the decisions that waited until the user answered.
    fn answer<'py>(&self, py: Python<'py>, answer: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.caller.store_running_loop(py)?;
        let (session, answer) = (self.session.clone(), python_to_json(answer, "the answer")?);
        start_future(py, async move {
            let turn = session.lock().await.answer(answer).await.map_err(library_error)?;
            with_gil(|py| Turn::new(py, turn))
        })
    }

    /// Sends a decision while other decisions are being executed. If the kind of the new decision
    /// interrupts other decisions, the running execution is cancelled. Returns false if the session
    /// no longer exists.
    fn send(&self, decision: &Bound<'_, DecisionMade>) -> bool {
        self.inbox.send(decision.get().0.clone())
    }
}

/// The results of one call of `offer` or `answer`.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     rules = Rules.from_text("payload ask rank 1 suspends { question: string }")
/// ...     return await Coordinator(rules).session().offer(DecisionMade("ask", {"question": "which?"}))
/// >>> asyncio.run(main()).question.payload
/// {'question': 'which?'}
#[pyclass(frozen, get_all, module = "rulec")]
pub struct Turn {
    /// The decisions that were executed, in order.
    done: Vec<Py<Done>>,
    /// The rejected decisions, including those that the agent replaced.
    rejected: Vec<Py<DecisionRejected>>,
    /// The decisions that another decision interrupted.
    interrupted: Vec<Py<DecisionMade>>,
    /// The decision that waits for the user's answer; None if no decision does.
    question: Option<Py<DecisionValidated>>,
    /// The number of accepted decisions that wait until the question is answered.
    waiting: usize,
}

impl Turn {
    fn new(py: Python<'_>, turn: payload::Turn) -> PyResult<Turn> {
        let done = turn.done.into_iter().map(|done| Py::new(py, Done(done)));
        let rejected = turn.rejected.into_iter().map(|rejected| Py::new(py, DecisionRejected(rejected)));
        let interrupted = turn.interrupted.into_iter().map(|made| Py::new(py, DecisionMade(made)));
        let question = turn.question.map(|question| Py::new(py, DecisionValidated(question)));
        Ok(Turn {
            done: done.collect::<PyResult<_>>()?,
            rejected: rejected.collect::<PyResult<_>>()?,
            interrupted: interrupted.collect::<PyResult<_>>()?,
            question: question.transpose()?,
            waiting: turn.waiting,
        })
    }
}

#[pymethods]
impl Turn {
    fn __repr__(&self) -> String {
        let (done, rejected, waiting) = (self.done.len(), self.rejected.len(), self.waiting);
        format!("<Turn: {done} done, {rejected} rejected, {waiting} waiting>")
    }
}

/// A decision that was executed, and its result. `report` is set if it ran a plan.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     rules = Rules.from_text("payload refund rank 1 { amount: number in 0..=500 }")
/// ...     coordinator = Coordinator(rules, handlers={"refund": lambda decision: decision.payload["amount"]})
/// ...     return await coordinator.session().offer(DecisionMade("refund", {"amount": 20}))
/// >>> asyncio.run(main()).done[0].result
/// 20
#[pyclass(frozen, module = "rulec")]
pub struct Done(payload::Done);

#[pymethods]
impl Done {
    /// The decision that was executed.
    #[getter]
    fn decision(&self) -> DecisionValidated {
        DecisionValidated(self.0.decision.clone())
    }

    /// The result of the execution. None if the execution failed, or if there was nothing to
    /// execute.
    #[getter]
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.result.as_ref().ok().map(|result| pythonize(py, result)).transpose()?)
    }

    /// The reason why the execution failed; None if it did not.
    #[getter]
    fn error(&self) -> Option<&str> {
        self.0.result.as_ref().err().map(String::as_str)
    }

    /// The report of the workflow's run as a dict; None if the decision ran no workflow.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.report.as_ref().map(|report| pythonize(py, report)).transpose()?)
    }

    fn __repr__(&self) -> String {
        let kind = &self.0.decision.decision.kind;
        match &self.0.result {
            Ok(_) => format!("<Done {kind}>"),
            Err(error) => format!("<Done {kind}: {error}>"),
        }
    }
}
