//! The message nearest to another that leads to a statement: like it but in the fewest places. Each set of places that keeps
//! the statement from being chosen must be changed somewhere; the smallest set of places that meets all of those
//! is tried, until a message is found. So nothing smaller can do.

use super::sequence::Sequence;
use super::solver::{Answer, Goal, Solver};
use super::theory::Base;
use serde_json::Value as Json;

/// The nearest message.
pub(super) enum Nearest {
    Found(Near),
    /// No message leads there.
    Never,
    /// None was found.
    Unknown,
}

/// A message and how it differs.
pub(super) struct Near {
    pub message: Json,
    /// The paths that differ, which solver's atoms number.
    pub changed: Vec<usize>,
    /// True when nothing smaller does.
    pub smallest: bool,
    /// The places of the statements that must not take it.
    pub beaten: Vec<usize>,
}

/// The places that are changed at most, and the questions asked.
const MOST: usize = 6;
const QUESTIONS: usize = 300;

/// Looks for the message nearest to `from` that is decided by the statement at a place. `decide` says which takes a message.
pub(super) fn nearest(
    solver: &mut Solver<'_>,
    sequence: &Sequence,
    place: usize,
    from: &Json,
    decide: &dyn Fn(&Json) -> Option<usize>,
) -> Nearest {
    let mut goals: Vec<Goal> = vec![(sequence.leaves[place].cond, true)];
    let mut beaten = Vec::new();
    let mut cores: Vec<Vec<usize>> = Vec::new();
    let mut smallest = true;
    for _ in 0..QUESTIONS {
        let Some(free) = fewest(solver, &cores) else { return Nearest::Unknown };
        let (answer, core) = solver.ask_near(&goals, &Base { message: from, free: &free });
        match answer {
            Answer::Never(_) if core.is_empty() => return Nearest::Never,
            Answer::Never(_) => cores.push(core),
            Answer::Unknown => {
                // Where it cannot be told whether these do, more are tried.
                smallest = false;
                let atoms = &solver.theory.values.atoms;
                let touched = |path: &usize| free.iter().any(|free| atoms.touch(*free, *path));
                let others: Vec<usize> = (0..atoms.paths.len()).filter(|path| !touched(path)).collect();
                if others.is_empty() {
                    return Nearest::Unknown;
                }
                cores.push(others);
            }
            Answer::Yes(message) => match decide(&message) {
                Some(winner) if winner == place => {
                    return Nearest::Found(Near { message, changed: free, smallest, beaten });
                }
                Some(winner) if winner < place && !beaten.contains(&winner) => {
                    goals.push((sequence.leaves[winner].cond, false));
                    beaten.push(winner);
                }
                _ => return Nearest::Unknown,
            },
        }
    }
    Nearest::Unknown
}

/// The fewest paths of which one at least touches each set.
fn fewest(solver: &Solver<'_>, cores: &[Vec<usize>]) -> Option<Vec<usize>> {
    let atoms = &solver.theory.values.atoms;
    let hits = |chosen: &[usize], core: &[usize]| {
        core.iter().any(|path| chosen.iter().any(|free| atoms.touch(*free, *path)))
    };
    (0..=MOST).find_map(|most| {
        let mut chosen = Vec::new();
        choose(cores, most, &mut chosen, &hits).then_some(chosen)
    })
}

/// Chooses at most so many more paths.
fn choose(
    cores: &[Vec<usize>],
    most: usize,
    chosen: &mut Vec<usize>,
    hits: &dyn Fn(&[usize], &[usize]) -> bool,
) -> bool {
    let Some(open) = cores.iter().find(|core| !hits(chosen, core)) else { return true };
    if most == 0 {
        return false;
    }
    for path in open {
        chosen.push(*path);
        if choose(cores, most - 1, chosen, hits) {
            return true;
        }
        chosen.pop();
    }
    false
}
