//! Matches the statements of a new version of rules with the statements of the old version. First,
//! statements with equal meaning and equal name match. Then statements with equal meaning match, if
//! the name of each exists in its own version only. The remaining statements match by name.

use super::sequence::SequenceLeaf;
use super::solver::LimitedSolver;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;

/// For each new statement, its counterpart in the old version. Each vector has one element for each
/// new statement, in order.
pub(super) struct StatementPairs {
    /// Index of the old statement with equal meaning, or else with equal name; `None` if there is
    /// neither.
    pub old_index_of_new: Vec<Option<usize>>,
    /// Whether the new statement and its old counterpart have equal meanings.
    pub has_same_meaning: Vec<bool>,
    /// Whether the position of the new statement relative to other statements is unchanged. The
    /// value is true for the members of a longest sequence of statements that have equal meanings
    /// and the same order in both versions.
    pub has_kept_order: Vec<bool>,
}

/// Finds the old counterpart of each new statement. First compares both meaning and name. Then
/// compares only the meaning, for statements whose name the other version lacks. Last compares only
/// the name.
pub(super) fn pair_statements(
    old: &[SequenceLeaf],
    new: &[SequenceLeaf],
    limited_solver: &mut LimitedSolver<'_, '_>,
) -> StatementPairs {
    let mut old_of_new: Vec<Option<usize>> = vec![None; new.len()];
    let mut is_paired = vec![false; old.len()];
    let by_name: HashMap<&str, usize> =
        old.iter().enumerate().rev().map(|(index, leaf)| (&*leaf.name, index)).collect();
    let meaning = |leaf: &SequenceLeaf| (leaf.cond, leaf.answer_id);
    for (index, leaf) in new.iter().enumerate() {
        let old_index = by_name.get(&*leaf.name).copied();
        if let Some(old_index) =
            old_index.filter(|old_index| !is_paired[*old_index] && meaning(&old[*old_index]) == meaning(leaf))
        {
            (old_of_new[index], is_paired[old_index]) = (Some(old_index), true);
        }
    }
    let names: HashSet<&str> = new.iter().map(|leaf| &*leaf.name).collect();
    let mut by_meaning: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (index, leaf) in old.iter().enumerate().filter(|(index, _)| !is_paired[*index]) {
        by_meaning.entry(meaning(leaf)).or_default().push_back(index);
    }
    // The names of a router's cases contain their index, so a moved case has another name.
    let numbered = |name: &str| name.starts_with("when ");
    for (index, leaf) in new.iter().enumerate() {
        let is_new = numbered(&leaf.name) || !by_name.contains_key(&*leaf.name);
        let candidates = by_meaning.get_mut(&meaning(leaf)).filter(|_| old_of_new[index].is_none() && is_new);
        let Some(candidates) = candidates else { continue };
        let is_removed =
            |old_index: &usize| numbered(&old[*old_index].name) || !names.contains(&*old[*old_index].name);
        if let Some(old_index) =
            candidates.iter().position(is_removed).and_then(|position| candidates.remove(position))
        {
            (old_of_new[index], is_paired[old_index]) = (Some(old_index), true);
        }
    }
    let mut same_meaning: Vec<bool> = old_of_new.iter().map(Option::is_some).collect();
    for (index, leaf) in new.iter().enumerate().filter(|(index, _)| !same_meaning[*index]).collect::<Vec<_>>()
    {
        let Some(old_index) = by_name.get(&*leaf.name).copied().filter(|old_index| !is_paired[*old_index])
        else {
            continue;
        };
        (old_of_new[index], is_paired[old_index]) = (Some(old_index), true);
        let (old_cond, new_cond) = (old[old_index].cond, leaf.cond);
        same_meaning[index] = old[old_index].answer_id == leaf.answer_id
            && limited_solver.is_unsatisfiable(&[(old_cond, true), (new_cond, false)])
            && limited_solver.is_unsatisfiable(&[(old_cond, false), (new_cond, true)]);
    }
    let old_positions: Vec<Option<usize>> = old_of_new
        .iter()
        .zip(&same_meaning)
        .map(|(old, same_meaning)| old.filter(|_| *same_meaning))
        .collect();
    StatementPairs {
        has_kept_order: mark_longest_increasing(&old_positions),
        old_index_of_new: old_of_new,
        has_same_meaning: same_meaning,
    }
}

/// Chooses a longest increasing subsequence of the elements that are not `None`. Returns for each
/// element whether it was chosen. A statement that was not chosen has moved.
fn mark_longest_increasing(positions: &[Option<usize>]) -> Vec<bool> {
    // For each length, the index of the smallest last element of an increasing subsequence of that
    // length.
    let mut ends: Vec<usize> = Vec::new();
    let mut predecessors: Vec<Option<usize>> = vec![None; positions.len()];
    for (index, position) in positions.iter().enumerate() {
        let Some(position) = position else { continue };
        let length = ends.partition_point(|end| positions[*end].is_some_and(|end| end < *position));
        predecessors[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut in_subsequence = vec![false; positions.len()];
    let mut index = ends.last().copied();
    while let Some(position) = index {
        in_subsequence[position] = true;
        index = predecessors[position];
    }
    in_subsequence
}
