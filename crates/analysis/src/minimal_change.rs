//! Finds the message nearest to a given one that selects a statement: the one with the fewest
//! changed fields. Each failed attempt yields a set of fields, at least one of which must change.
//! The next attempt changes the smallest set of fields that intersects all these sets (a minimum
//! hitting set). So no smaller change is possible.

use super::budget::StepBudget;
use super::sequence::Sequence;
use super::solver::{Solver, SolverAnswer, SolverGoal};
use super::theory::BaseMessage;
use serde_json::Value as Json;

/// The result of the search for the nearest message that selects a statement.
pub(super) enum NearestResult {
    TextSolution(NearestMessage),
    /// No message selects the statement.
    Never,
    /// No message was found, but there is no proof that none exists.
    Unknown,
}

/// A message that selects the statement, and how it differs from the given message.
pub(super) struct NearestMessage {
    pub message: Json,
    /// The changed paths, as indexes into `AtomTable::paths`.
    pub changed: Vec<usize>,
    /// Whether it is proven that changing fewer fields is not enough.
    pub smallest: bool,
    /// Indexes of the earlier statements whose conditions must become false, because they would
    /// match the message otherwise.
    pub beaten: Vec<usize>,
}

/// Maximum number of changed fields. `MAX_QUERIES` limits the number of attempts.
const MAX_CHANGED_FIELDS: usize = 6;
const MAX_QUERIES: usize = 300;

/// Searches for the message nearest to `from` that selects the statement with index `place`.
/// `decide` returns the index of the statement that a message selects.
pub(super) fn find_nearest_message(
    solver: &mut Solver<'_>,
    sequence: &Sequence,
    place: usize,
    from: &Json,
    decide: &dyn Fn(&Json) -> Option<usize>,
) -> NearestResult {
    let mut goals: Vec<SolverGoal> = vec![(sequence.leaves[place].cond, true)];
    let mut beaten = Vec::new();
    let mut cores: Vec<Vec<usize>> = Vec::new();
    let mut smallest = true;
    for _ in 0..MAX_QUERIES {
        let Some(free) = smallest_hitting_set(solver, &cores) else { return NearestResult::Unknown };
        let (answer, core) = solver.solve_near(&goals, &BaseMessage { message: from, free: &free });
        match answer {
            SolverAnswer::Never(_) if core.is_empty() => return NearestResult::Never,
            SolverAnswer::Never(_) => cores.push(core),
            SolverAnswer::Unknown => {
                // It is undecided whether these fields are enough, so more fields are allowed to
                // change.
                smallest = false;
                let atoms = &solver.theory.values.atoms;
                let touched = |path: &usize| free.iter().any(|free| atoms.paths_overlap(*free, *path));
                let others: Vec<usize> = (0..atoms.paths.len()).filter(|path| !touched(path)).collect();
                if others.is_empty() {
                    return NearestResult::Unknown;
                }
                cores.push(others);
            }
            SolverAnswer::Yes(message) => match decide(&message) {
                Some(winner) if winner == place => {
                    return NearestResult::TextSolution(NearestMessage {
                        message,
                        changed: free,
                        smallest,
                        beaten,
                    });
                }
                Some(winner) if winner < place && !beaten.contains(&winner) => {
                    goals.push((sequence.leaves[winner].cond, false));
                    beaten.push(winner);
                }
                _ => return NearestResult::Unknown,
            },
        }
    }
    NearestResult::Unknown
}

/// Returns the smallest set of paths that intersects each core. A core is a set of paths, at least
/// one of which must change. `None` if more than [`MAX_CHANGED_FIELDS`] paths are needed.
fn smallest_hitting_set(solver: &Solver<'_>, cores: &[Vec<usize>]) -> Option<Vec<usize>> {
    let atoms = &solver.theory.values.atoms;
    let hits = |chosen: &[usize], core: &[usize]| {
        core.iter().any(|path| chosen.iter().any(|free| atoms.paths_overlap(*free, *path)))
    };
    (0..=MAX_CHANGED_FIELDS).find_map(|most| {
        let mut chosen = Vec::new();
        extend_hitting_set(cores, most, &mut chosen, (&hits, solver.budget())).then_some(chosen)
    })
}

/// Adds at most `most` paths to `chosen`, so that `chosen` intersects each core (a set of paths).
/// Returns false if that is impossible, or if too few steps are left.
fn extend_hitting_set(
    cores: &[Vec<usize>],
    most: usize,
    chosen: &mut Vec<usize>,
    (hits, budget): (&dyn Fn(&[usize], &[usize]) -> bool, &StepBudget),
) -> bool {
    if !budget.charge(cores.len() * (1 + chosen.len())) {
        return false;
    }
    let Some(open) = cores.iter().find(|core| !hits(chosen, core)) else { return true };
    if most == 0 {
        return false;
    }
    for path in open {
        chosen.push(*path);
        if extend_hitting_set(cores, most - 1, chosen, (hits, budget)) {
            return true;
        }
        chosen.pop();
    }
    false
}
