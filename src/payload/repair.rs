//! Applies corrections, such as default values, to a copy of a payload that violates rules. If the
//! corrected copy violates no rule, the payload need not be rejected.

use super::judgement::Applied;
use super::path::{PathStep, value_at_mut};
use super::run::{FoundViolation, ViolationRepair};
use rulec_base::broken_invariant;
use serde_json::Value as Json;
use std::collections::HashSet;

/// Applies the corrections of all violations to the payload, at most one per path. Returns the
/// corrections that were applied.
pub(super) fn apply_corrections<'f>(
    payload: &mut Json,
    found: impl Iterator<Item = &'f FoundViolation>,
) -> Vec<Applied> {
    let mut applied: Vec<Applied> = Vec::new();
    let mut repaired_paths: HashSet<&[PathStep<String>]> = HashSet::new();
    let mut removed_elements: Vec<&[PathStep<String>]> = Vec::new();
    for violation in found {
        let Some(auto_repair) = &violation.auto_repair else { continue };
        if repaired_paths.contains(&*violation.path_steps) {
            continue;
        }
        let applied_kind = match (auto_repair, violation.path_steps.last()) {
            (ViolationRepair::RemoveValue, Some(PathStep::Index(_))) => {
                removed_elements.push(&violation.path_steps);
                Some("remove")
            }
            (ViolationRepair::RemoveValue, _) => {
                remove_value(payload, &violation.path_steps).then_some("remove")
            }
            (ViolationRepair::SetDefault(value), _) => {
                put_value(payload, &violation.path_steps, value).then_some("default")
            }
            (ViolationRepair::ClampTo(value), _) => {
                put_value(payload, &violation.path_steps, value).then_some("clamp")
            }
        };
        if let Some(kind) = applied_kind {
            repaired_paths.insert(&violation.path_steps);
            applied.push(Applied { kind, path: violation.violation.path.clone() });
        }
    }
    // Remove list elements last, and elements of inner lists first. Otherwise a removal would shift
    // indexes in paths that are still needed.
    removed_elements.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    for together in removed_elements
        .chunk_by(|a, b| a.split_last().map(|(_, list)| list) == b.split_last().map(|(_, list)| list))
    {
        remove_elements(payload, together);
    }
    applied
}

/// Removes elements of one list in a single traversal. `paths` are the paths of the elements,
/// sorted by index.
fn remove_elements(payload: &mut Json, paths: &[&[PathStep<String>]]) {
    let Some((_, list)) = paths.first().and_then(|steps| steps.split_last()) else {
        return broken_invariant!("an element to remove has a path that ends with its index");
    };
    let Some(Json::Array(items)) = value_at_mut(payload, list) else { return };
    let mut removed_indexes = paths.iter().filter_map(|steps| match steps.last() {
        Some(PathStep::Index(index)) => Some(*index),
        _ => None,
    });
    let (mut at, mut next) = (0, removed_indexes.next());
    items.retain(|_| {
        let is_removed = next == Some(at);
        if is_removed {
            next = removed_indexes.next();
        }
        at += 1;
        !is_removed
    });
}

fn put_value(payload: &mut Json, steps: &[PathStep<String>], value: &Json) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    match (value_at_mut(payload, parents), last) {
        (Some(Json::Object(map)), PathStep::Key(key)) => {
            map.insert(key.clone(), value.clone());
            true
        }
        (Some(Json::Array(items)), PathStep::Index(index)) => {
            items.get_mut(*index).map(|item| *item = value.clone()).is_some()
        }
        _ => false,
    }
}

fn remove_value(payload: &mut Json, steps: &[PathStep<String>]) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    match (value_at_mut(payload, parents), last) {
        (Some(Json::Object(map)), PathStep::Key(key)) => map.remove(key).is_some(),
        (Some(Json::Array(items)), PathStep::Index(index)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}
