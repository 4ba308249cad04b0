//! Given a message, finds the nearest message that selects a statement: the one with the fewest
//! changed fields. Each failed attempt yields a set of fields, at least one of which must change.
//! The next attempt changes the smallest set of fields that intersects all these sets (a minimum
//! hitting set). So no smaller change is possible.

use super::budget::StepBudget;
use super::goal::{SolverAnswer, SolverGoal};
use super::sequence::LeafSequence;
use super::solver::MessageSolver;
use super::theory::BaseMessage;
use serde_json::Value as Json;

/// The result of the search for the nearest message that selects a statement.
pub(super) enum NearestResult {
    Message(NearestMessage),
    /// It is proven that no message at all selects the statement.
    Never,
    /// No message was found, but there is no proof that none exists.
    Unknown,
}

/// A message that selects the statement, and its differences from the given message.
pub(super) struct NearestMessage {
    pub message: Json,
    /// The message fields that changed, as indexes into `AtomTable::paths`.
    pub changed_paths: Vec<usize>,
    /// Whether it is proven that changing fewer fields is not enough.
    pub is_smallest: bool,
    /// Indexes of earlier statements of the table that the search had to exclude. Some messages
    /// that it tried selected one of these statements instead of the requested one. Later messages
    /// therefore must not match them.
    pub excluded_statements: Vec<usize>,
}

/// Maximum number of message fields that a suggested change may change. If more are needed, the
/// search gives up.
const MAX_CHANGED_FIELDS: usize = 6;
/// Maximum number of solver queries of one search. After that number, the search gives up.
const MAX_SOLVER_QUERIES: usize = 300;

/// Searches for the message nearest to `base_message` that selects the leaf `target_leaf` of
/// `sequence`. `sequence` is the flattened table: its statements with the `goto`s that lead to
/// them. `decide` returns the index of the leaf that a message selects; `None` if no leaf is
/// selected.
pub(super) fn find_nearest_message(
    solver: &mut MessageSolver<'_>,
    sequence: &LeafSequence,
    target_leaf: usize,
    base_message: &Json,
    decide: &dyn Fn(&Json) -> Option<usize>,
) -> NearestResult {
    let mut goals: Vec<SolverGoal> = vec![(sequence.leaves[target_leaf].cond, true)];
    let mut excluded_earlier = Vec::new();
    let mut cores: Vec<Vec<usize>> = Vec::new();
    let mut is_smallest = true;
    for _ in 0..MAX_SOLVER_QUERIES {
        let Some(free) = smallest_hitting_set(solver, &cores) else { return NearestResult::Unknown };
        let (answer, core) =
            solver.solve_near(&goals, &BaseMessage { message: base_message, free_paths: &free });
        match answer {
            SolverAnswer::Never(_) if core.is_empty() => return NearestResult::Never,
            SolverAnswer::Never(_) => cores.push(core),
            SolverAnswer::Unknown => {
                // It is undecided whether these fields are enough, so more fields are allowed to
                // change.
                is_smallest = false;
                let atoms = &solver.theory.value_search.atoms;
                let touched = |path: &usize| free.iter().any(|free| atoms.paths_overlap(*free, *path));
                let untouched: Vec<usize> = (0..atoms.paths.len()).filter(|path| !touched(path)).collect();
                if untouched.is_empty() {
                    return NearestResult::Unknown;
                }
                cores.push(untouched);
            }
            SolverAnswer::Yes(message) => match decide(&message) {
                Some(winner) if winner == target_leaf => {
                    return NearestResult::Message(NearestMessage {
                        message,
                        changed_paths: free,
                        is_smallest,
                        excluded_statements: excluded_earlier,
                    });
                }
                Some(winner) if winner < target_leaf && !excluded_earlier.contains(&winner) => {
                    goals.push((sequence.leaves[winner].cond, false));
                    excluded_earlier.push(winner);
                }
                _ => return NearestResult::Unknown,
            },
        }
    }
    NearestResult::Unknown
}

/// Returns the smallest set of paths that intersects each core. A core is a set of paths, at least
/// one of which must change. `None` if more than [`MAX_CHANGED_FIELDS`] paths are needed.
fn smallest_hitting_set(solver: &MessageSolver<'_>, cores: &[Vec<usize>]) -> Option<Vec<usize>> {
    let atoms = &solver.theory.value_search.atoms;
    let intersects = |chosen: &[usize], core: &[usize]| {
        core.iter().any(|path| chosen.iter().any(|free| atoms.paths_overlap(*free, *path)))
    };
    (0..=MAX_CHANGED_FIELDS).find_map(|max_paths| {
        let mut chosen = Vec::new();
        extend_hitting_set(cores, max_paths, &mut chosen, (&intersects, solver.budget())).then_some(chosen)
    })
}

/// Function that reports whether a path in one set overlaps a path in another set: the paths are
/// equal, or one is a prefix of the other.
type PathsIntersect<'a> = &'a dyn Fn(&[usize], &[usize]) -> bool;

/// Adds at most `max_paths` paths to `chosen_paths`, so that `chosen_paths` intersects each core (a
/// set of paths). Returns false if that is impossible, or if too few steps are left.
fn extend_hitting_set(
    cores: &[Vec<usize>],
    max_paths: usize,
    chosen_paths: &mut Vec<usize>,
    (intersects, budget): (PathsIntersect<'_>, &StepBudget),
) -> bool {
    if !budget.charge(cores.len() * (1 + chosen_paths.len())) {
        return false;
    }
    let Some(unhit_core) = cores.iter().find(|core| !intersects(chosen_paths, core)) else { return true };
    if max_paths == 0 {
        return false;
    }
    for path in unhit_core {
        chosen_paths.push(*path);
        if extend_hitting_set(cores, max_paths - 1, chosen_paths, (intersects, budget)) {
            return true;
        }
        chosen_paths.pop();
    }
    false
}
