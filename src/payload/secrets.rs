//! Finds the private values and keys of a payload, which must not appear in reports. A value is
//! private if its field is declared `@private`, or if a correction copied it from a private field
//! of the context. A key is private if a rule reads it from a private value.

use super::path::{self, OwnedPayloadPath, PathStep, PayloadPath};
use rulec_lang::privacy::{MASK, Privacy};
use rulec_lang::ty::RecordType;
use rulec_sema::hir::{Payload, Program, ValueId};
use serde_json::Value as Json;
use std::collections::HashSet;
use std::sync::Arc;

pub(super) struct PrivateValues<'a> {
    program: &'a Program,
    /// The declared fields of the payload; `None` if no field is declared `@private`.
    declared_fields: Option<Arc<RecordType>>,
    /// The paths at which corrections wrote private values into the payload.
    corrected_paths: &'a [OwnedPayloadPath],
    /// The keys that rules read from private values. Paths that contain such a key are shown with a
    /// mask in its place.
    private_keys: HashSet<&'a str>,
    /// Whether any field of the payload or of the rules' input is declared `@private`.
    has_private_declaration: bool,
}

impl<'a> PrivateValues<'a> {
    pub fn new(program: &'a Program, kind: &Payload, corrected: &'a [OwnedPayloadPath]) -> PrivateValues<'a> {
        let fields = kind.private_fields();
        let any_declared = fields.is_some() || !program.message_privacy().is_public();
        PrivateValues {
            program,
            declared_fields: fields,
            corrected_paths: corrected,
            private_keys: HashSet::new(),
            has_private_declaration: any_declared,
        }
    }

    /// True if `value` is computed from fields that are declared `@private`, so that reports must
    /// not show it.
    pub fn is_private_value(&self, value: ValueId) -> bool {
        self.has_private_declaration && self.program.private_reads().reads_private(self.program.value(value))
    }

    /// True if corrections wrote private values into the payload, so that reports must hide values
    /// that are read from it.
    pub fn has_private_corrections(&self) -> bool {
        !self.corrected_paths.is_empty()
    }

    /// Records that a path uses `key`, which was read from `value`. If `value` is private, reports
    /// mask the key.
    pub fn add_key(&mut self, key: &'a str, value: ValueId) {
        if self.is_private_value(value) {
            self.private_keys.insert(key);
        }
    }

    /// True if the value at the path is private, contains a private value, or is part of one.
    /// Reports must not show such a value.
    pub fn is_private_path(&self, path: &PayloadPath<'_>) -> bool {
        let privacy =
            path.iter().fold(payload_privacy(self.declared_fields.as_deref()), |privacy, step| match step {
                PathStep::Key(key) => privacy.at_key(key).0,
                PathStep::Index(_) => privacy.at_index(),
            });
        // Corrections may have moved list elements, so do not compare their indexes.
        let same = |one: &PathStep<String>, other: &PathStep<&str>| match (one, other) {
            (PathStep::Key(one), PathStep::Key(other)) => one == other,
            (PathStep::Index(_), PathStep::Index(_)) => true,
            _ => false,
        };
        let overlaps = |steps: &OwnedPayloadPath| steps.iter().zip(path).all(|(one, other)| same(one, other));
        !privacy.is_public() || self.corrected_paths.iter().any(overlaps)
    }

    /// Formats a path in the payload for reports, with its private keys masked.
    pub fn format_path(&self, path: &PayloadPath<'_>) -> String {
        if !self.has_private_declaration {
            return path::format_path(path);
        }
        let mut privacy = payload_privacy(self.declared_fields.as_deref());
        let mut shown: PayloadPath<'_> = path.clone();
        for step in &mut shown {
            match step {
                PathStep::Index(_) => privacy = privacy.at_index(),
                PathStep::Key(key) => {
                    let (inner, hidden) = privacy.at_key(key);
                    privacy = inner;
                    if hidden || self.private_keys.contains(key) {
                        *key = MASK;
                    }
                }
            }
        }
        path::format_path(&shown)
    }
}

/// Returns which values of a payload are private, according to the declared fields `fields`. If
/// `fields` is `None`, no value is private.
pub(super) fn payload_privacy(fields: Option<&RecordType>) -> Privacy<'_> {
    fields.map_or(Privacy::Public, Privacy::of_message)
}

/// Masks the values that corrections wrote into the payload at the paths `corrected`, because they
/// are private.
pub(super) fn mask_corrected(payload: &mut Json, corrected: &[OwnedPayloadPath]) {
    fn mask_value_at(value: &mut Json, steps: &[PathStep<String>]) {
        match (steps.split_first(), value) {
            (None, value) => *value = Json::from(MASK),
            (Some((PathStep::Key(key), rest)), Json::Object(map)) => {
                map.get_mut(key).into_iter().for_each(|value| mask_value_at(value, rest));
            }
            // Corrections may have moved list elements, so mask all of them.
            (Some((PathStep::Index(_), rest)), Json::Array(items)) => {
                items.iter_mut().for_each(|item| mask_value_at(item, rest));
            }
            _ => {}
        }
    }
    corrected.iter().for_each(|steps| mask_value_at(payload, steps));
}
