//! Matches the statements of a new version of rules with the statements of the old version.
//! Statements of equal meaning match first, whatever their names and positions; the others match by
//! name.

use super::sequence::SequenceLeaf;
use super::solver::LimitedSolver;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;

/// For each new statement, its counterpart in the old version. Each vector is indexed by new
/// statement.
pub(super) struct StatementPairs {
    /// Index of the old statement with equal meaning, or else with equal name; `None` if there is
    /// neither.
    pub of_new: Vec<Option<usize>>,
    /// Whether the new statement and its old counterpart have equal meanings.
    pub same: Vec<bool>,
    /// Whether the statement kept its order. Such statements form a longest subsequence with equal
    /// meanings and the same order in both versions.
    pub kept: Vec<bool>,
}

/// Finds the old counterpart of each new statement. First compares both meaning and name, then only
/// the meaning, then only the name.
pub(super) fn pair_statements(
    old: &[SequenceLeaf],
    new: &[SequenceLeaf],
    questions: &mut LimitedSolver<'_, '_>,
) -> StatementPairs {
    let mut of_new: Vec<Option<usize>> = vec![None; new.len()];
    let mut taken = vec![false; old.len()];
    let by_name: HashMap<&str, usize> =
        old.iter().enumerate().rev().map(|(at, leaf)| (&*leaf.name, at)).collect();
    let meaning = |leaf: &SequenceLeaf| (leaf.cond, leaf.answer);
    for (at, leaf) in new.iter().enumerate() {
        let other = by_name.get(&*leaf.name).copied();
        if let Some(other) = other.filter(|other| !taken[*other] && meaning(&old[*other]) == meaning(leaf)) {
            (of_new[at], taken[other]) = (Some(other), true);
        }
    }
    let names: HashSet<&str> = new.iter().map(|leaf| &*leaf.name).collect();
    let mut by_meaning: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (at, leaf) in old.iter().enumerate().filter(|(at, _)| !taken[*at]) {
        by_meaning.entry(meaning(leaf)).or_default().push_back(at);
    }
    // The names of a router's cases contain their index, so a moved case has another name.
    let numbered = |name: &str| name.starts_with("when ");
    for (at, leaf) in new.iter().enumerate() {
        let is_new = numbered(&leaf.name) || !by_name.contains_key(&*leaf.name);
        let others = by_meaning.get_mut(&meaning(leaf)).filter(|_| of_new[at].is_none() && is_new);
        let Some(others) = others else { continue };
        let is_gone = |other: &usize| numbered(&old[*other].name) || !names.contains(&*old[*other].name);
        if let Some(other) = others.iter().position(is_gone).and_then(|place| others.remove(place)) {
            (of_new[at], taken[other]) = (Some(other), true);
        }
    }
    let mut same: Vec<bool> = of_new.iter().map(Option::is_some).collect();
    for (at, leaf) in new.iter().enumerate().filter(|(at, _)| !same[*at]).collect::<Vec<_>>() {
        let Some(other) = by_name.get(&*leaf.name).copied().filter(|other| !taken[*other]) else { continue };
        (of_new[at], taken[other]) = (Some(other), true);
        let (before, after) = (old[other].cond, leaf.cond);
        same[at] = old[other].answer == leaf.answer
            && questions.is_unsatisfiable(&[(before, true), (after, false)])
            && questions.is_unsatisfiable(&[(before, false), (after, true)]);
    }
    let places: Vec<Option<usize>> =
        of_new.iter().zip(&same).map(|(old, same)| old.filter(|_| *same)).collect();
    StatementPairs { kept: longest_increasing(&places), of_new, same }
}

/// Returns which elements form a longest increasing subsequence. `None` elements are never part of
/// it.
fn longest_increasing(places: &[Option<usize>]) -> Vec<bool> {
    // For each length, the index of the smallest last element of an increasing subsequence of that
    // length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; places.len()];
    for (at, place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let length = ends.partition_point(|end| places[*end].is_some_and(|end| end < *place));
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut marked = vec![false; places.len()];
    let mut at = ends.last().copied();
    while let Some(place) = at {
        marked[place] = true;
        at = before[place];
    }
    marked
}
