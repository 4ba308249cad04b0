//! Several decisions at once: which runs, and what happens to the others.

use super::{JudgeError, unknown_kind};
use crate::engine::Rules;
use serde::Serialize;

/// The fate of several decisions at once, each by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Arbitration {
    /// All, by rank; those of one kind as they came.
    pub order: Vec<String>,
    /// The one that runs.
    pub run_now: Option<String>,
    /// Those that are dropped, since the first interrupts.
    pub interrupted: Vec<String>,
    /// Those that wait for an answer from outside, since the first suspends.
    pub suspended: Vec<String>,
    /// Those that wait for their turn.
    pub blocked: Vec<String>,
    /// True when the first is told outside.
    pub published: bool,
}

/// Arbitrates between decisions, given as id and kind in the order they came, by the `rank`,
/// `interrupts`, `suspends` and `internal` of the rules' payload kinds.
///
/// # Errors
/// When the rules have no payload kind of a decision's name.
pub fn arbitrate<I: AsRef<str>, K: AsRef<str>>(
    rules: &Rules,
    decisions: &[(I, K)],
) -> Result<Arbitration, JudgeError> {
    let program = rules.program();
    let mut sorted = Vec::with_capacity(decisions.len());
    for (id, kind) in decisions {
        let kind = kind.as_ref();
        let payload = program.payload_named(kind).ok_or_else(|| unknown_kind(program, kind))?;
        sorted.push((id.as_ref(), payload));
    }
    sorted.sort_by_key(|(_, payload)| payload.rank.unwrap_or(i64::MAX));
    let mut result = Arbitration {
        order: sorted.iter().map(|(id, _)| (*id).to_owned()).collect(),
        run_now: sorted.first().map(|(id, _)| (*id).to_owned()),
        interrupted: Vec::new(),
        suspended: Vec::new(),
        blocked: Vec::new(),
        published: sorted.first().is_some_and(|(_, first)| !first.internal),
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
