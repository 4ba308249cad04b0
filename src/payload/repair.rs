//! Applies corrections to a copy of the payload.

use super::judgement::Applied;
use super::path::{Step, at_mut};
use super::run::{CorrectedViolation, Mend};
use rulec_base::broken_invariant;
use serde_json::Value as Json;
use std::collections::HashSet;

/// Applies the corrections of all violations, at most one per path, and returns the applied
/// corrections.
pub(super) fn apply(payload: &mut Json, found: &[CorrectedViolation]) -> Vec<Applied> {
    let mut applied: Vec<Applied> = Vec::new();
    let mut mended: HashSet<&str> = HashSet::new();
    let mut elements: Vec<&[Step<String>]> = Vec::new();
    for violation in found {
        let Some(mend) = &violation.mend else { continue };
        let path = &violation.violation.path;
        if mended.contains(path.as_str()) {
            continue;
        }
        let done = match (mend, violation.steps.last()) {
            (Mend::Remove, Some(Step::Index(_))) => {
                elements.push(&violation.steps);
                Some("remove")
            }
            (Mend::Remove, _) => remove(payload, &violation.steps).then_some("remove"),
            (Mend::Default(value), _) => put(payload, &violation.steps, value).then_some("default"),
            (Mend::Clamp(value), _) => put(payload, &violation.steps, value).then_some("clamp"),
        };
        if let Some(kind) = done {
            mended.insert(path);
            applied.push(Applied { kind, path: path.clone() });
        }
    }
    // Remove list elements last. Remove elements of inner lists first, so that the remaining
    // indexes stay valid.
    elements.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    for together in
        elements.chunk_by(|a, b| a.split_last().map(|(_, list)| list) == b.split_last().map(|(_, list)| list))
    {
        remove_elements(payload, together);
    }
    applied
}

/// Removes elements of one list in one pass. `places` are the paths of the elements, sorted by
/// index.
fn remove_elements(payload: &mut Json, places: &[&[Step<String>]]) {
    let Some((_, list)) = places.first().and_then(|steps| steps.split_last()) else {
        return broken_invariant!("an element to remove has a path that ends with its index");
    };
    let Some(Json::Array(items)) = at_mut(payload, list) else { return };
    let mut gone = places.iter().filter_map(|steps| match steps.last() {
        Some(Step::Index(index)) => Some(*index),
        _ => None,
    });
    let (mut at, mut next) = (0, gone.next());
    items.retain(|_| {
        let goes = next == Some(at);
        if goes {
            next = gone.next();
        }
        at += 1;
        !goes
    });
}

fn put(payload: &mut Json, steps: &[Step<String>], value: &Json) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    match (at_mut(payload, parents), last) {
        (Some(Json::Object(map)), Step::Key(key)) => {
            map.insert(key.clone(), value.clone());
            true
        }
        (Some(Json::Array(items)), Step::Index(index)) => {
            items.get_mut(*index).map(|item| *item = value.clone()).is_some()
        }
        _ => false,
    }
}

fn remove(payload: &mut Json, steps: &[Step<String>]) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    match (at_mut(payload, parents), last) {
        (Some(Json::Object(map)), Step::Key(key)) => map.remove(key).is_some(),
        (Some(Json::Array(items)), Step::Index(index)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}
