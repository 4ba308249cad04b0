//! Arbitration between several decisions that were proposed at the same time: which of them runs,
//! and what happens to the others. Each decision is a payload, whose kind is declared by a
//! `payload` statement.

use super::{JudgeError, unknown_kind_error};
use crate::engine::Rules;
use serde::Serialize;

/// The result of arbitration: which of several proposed decisions runs, and what happens to the
/// others. Each list contains ids of decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Arbitration {
    /// The ids of all decisions, by ascending rank. Decisions without a rank come last. Decisions
    /// of equal rank keep their order.
    pub order: Vec<String>,
    /// The id of the decision that runs now; `None` if there are no decisions.
    pub run_now: Option<String>,
    /// The ids of the decisions that are dropped, because the payload kind of the first decision
    /// interrupts all other kinds.
    pub interrupted: Vec<String>,
    /// The ids of the decisions that wait until the caller continues them, because the first
    /// decision waits for an answer from outside.
    pub suspended: Vec<String>,
    /// The ids of the decisions that wait until the first decision is done.
    pub blocked: Vec<String>,
    /// Whether events about the first decision are published; false if the rules declare the
    /// payload kind of this decision `internal`.
    pub published: bool,
}

/// Selects which of several proposed decisions runs first, and which of the others wait or are
/// dropped. The decisions are pairs of id and payload kind, in order of arrival. The `payload`
/// statements define `rank`, `interrupts`, `suspends` and `internal` for each kind.
///
/// # Errors
/// If the rules do not declare the payload kind of a decision.
pub fn arbitrate<I: AsRef<str>, K: AsRef<str>>(
    rules: &Rules,
    decisions: &[(I, K)],
) -> Result<Arbitration, JudgeError> {
    let program = rules.program();
    let mut sorted = Vec::with_capacity(decisions.len());
    for (id, kind) in decisions {
        let kind = kind.as_ref();
        let payload = program.payload_named(kind).ok_or_else(|| unknown_kind_error(program, kind))?;
        sorted.push((id.as_ref(), payload));
    }
    sorted.sort_by_key(|(_, payload)| payload.execution_rank.unwrap_or(i64::MAX));
    let mut result = Arbitration {
        order: sorted.iter().map(|(id, _)| (*id).to_owned()).collect(),
        run_now: sorted.first().map(|(id, _)| (*id).to_owned()),
        interrupted: Vec::new(),
        suspended: Vec::new(),
        blocked: Vec::new(),
        published: sorted.first().is_some_and(|(_, first)| !first.is_internal),
    };
    let Some(((_, first), others)) = sorted.split_first() else { return Ok(result) };
    for (id, payload) in others {
        let list = if first.interrupts && payload.name != first.name {
            &mut result.interrupted
        } else if first.suspends {
            &mut result.suspended
        } else {
            &mut result.blocked
        };
        list.push((*id).to_owned());
    }
    Ok(result)
}
