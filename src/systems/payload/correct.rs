//! Corrections: what mends violations is done to a copy of the payload.

use super::judgement::Applied;
use super::path::{Step, at_mut};
use super::run::{Found, Mend};
use serde_json::Value as Json;
use std::collections::HashSet;

/// Mends what can be mended, each place once, and says what was done.
pub(super) fn apply(payload: &mut Json, found: &[Found]) -> Vec<Applied> {
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
    // Elements go last and from the end, so that the places of the others stay what they are.
    elements.sort_by_key(|steps| match steps.last() {
        Some(Step::Index(index)) => std::cmp::Reverse((steps.len(), *index)),
        _ => std::cmp::Reverse((0, 0)),
    });
    for steps in elements {
        remove(payload, steps);
    }
    applied
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
