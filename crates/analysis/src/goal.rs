//! The query and the answer of the solver, which searches for a message that satisfies goals. These
//! types have their own module because all parts of the solver use both.

use rulec_sema::normal::CondId;
use serde_json::Value as Json;

/// A requirement for the message that the solver must find. The bool is true if the condition must
/// be true, and false if the condition must not be true (it may be false or unknown).
pub(super) type SolverGoal = (CondId, bool);

/// The answer to the query whether a message can satisfy all goals (conditions with required
/// values).
#[derive(Clone, Debug)]
pub(super) enum SolverAnswer {
    /// A message that satisfies all goals.
    Yes(Json),
    /// It is proven that no message satisfies all goals. The numbers are the indexes of goals that
    /// contradict each other.
    Never(Vec<usize>),
    Unknown,
}

impl SolverAnswer {
    pub fn is_unsatisfiable(&self) -> bool {
        matches!(self, SolverAnswer::Never(_))
    }
}
