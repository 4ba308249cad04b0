//! Requirements that depend on another field's value, as `if` and `then` in a schema. For example,
//! the config of a node depends on the node's type.
//!
//! The requirements are found by validating probe objects. A probe has one allowed value of a
//! field, and at most empty dicts in its other fields. Suppose that a probe violates a rule that
//! reads only this field and fields that the probe lacks. Then any object with this value violates
//! the rule, unless it has one of the lacking fields. So the schema requires at least one of them
//! for this value.

use super::super::reads::{FieldRead, FieldReads};
use super::super::run::{self, FoundViolation};
use super::super::{Judge, path::PathStep};
use crate::engine::Rules;
use rulec_base::broken_invariant;
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{
    AllowedValues, BindingId, Effect, FieldShape, ObjectSchema, Payload, PayloadField, RequirementBlock,
};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Adds requirements to the JSON Schema of a payload kind (one `payload` statement) and of its
/// nested objects. These requirements depend on the value of another field.
pub(super) fn add_variants(schema: &mut Json, rules: &Rules, payload: &Payload) {
    let Ok(judge) = Judge::new(rules, &payload.name) else {
        return broken_invariant!("a payload of the rules has a judge");
    };
    let reads = FieldReads::per_object(rules.program(), payload);
    let site = ObjectPosition {
        root_binding: BindingId(0),
        keys_from_root: Vec::new(),
        probe_path: Vec::new(),
        block: &payload.block,
    };
    VariantBuilder { judge: &judge, reads: &reads }.add_object_variants(schema, &payload.object, &site);
}

/// The position of an object in a payload, with the keys and rules that apply at this position.
struct ObjectPosition<'p> {
    /// The variable that contains the object or an object around it: the payload itself, or the
    /// element of an `each` block (rules for each element of a list).
    root_binding: BindingId,
    /// The keys that lead from the variable's value to the object.
    keys_from_root: Vec<Arc<str>>,
    /// The path from the root of a probe payload (a payload built to test the rules) to the object.
    probe_path: Vec<PathStep<String>>,
    /// The rules of the payload, or of the `each` block (rules for each element of a list), that
    /// contains the object.
    block: &'p RequirementBlock,
}

impl ObjectPosition<'_> {
    /// Builds a probe payload, which contains `object` at this position and no other values. Its
    /// violations show which fields the rules require.
    fn build_probe_payload(&self, object: Map<String, Json>) -> Json {
        self.probe_path.iter().rev().fold(Json::Object(object), |inner, step| match step {
            PathStep::Key(key) => json!({ key: inner }),
            PathStep::Index(_) => json!([inner]),
        })
    }
}

struct VariantBuilder<'w, 'p> {
    judge: &'w Judge,
    reads: &'w FieldReads<'p>,
}

impl VariantBuilder<'_, '_> {
    fn add_object_variants(&self, schema: &mut Json, object: &ObjectSchema, site: &ObjectPosition<'_>) {
        for field in &object.fields {
            let add_inner = |items: bool,
                             schema: &mut Json,
                             inner: &ObjectSchema,
                             site: &ObjectPosition<'_>| {
                let property = &mut schema["properties"][&*field.name];
                self.add_object_variants(if items { &mut property["items"] } else { property }, inner, site);
            };
            let mut steps = site.probe_path.clone();
            steps.push(PathStep::Key(field.name.to_string()));
            let mut keys = site.keys_from_root.clone();
            keys.push(field.name.clone());
            match &field.shape {
                FieldShape::Plain(_) => {}
                FieldShape::Object(object) => {
                    add_inner(
                        false,
                        schema,
                        object,
                        &ObjectPosition {
                            root_binding: site.root_binding,
                            keys_from_root: keys,
                            probe_path: steps,
                            block: site.block,
                        },
                    );
                }
                FieldShape::Objects(object) => {
                    let each = site.block.each_blocks.iter().find(|each| {
                        each.place.as_ref().is_some_and(|place| {
                            let has_field_name = matches!(place.steps.last(), Some(rulec_sema::hir::ObjectStep::Key(key)) if *key == field.name);
                            place.root == site.root_binding && place.steps.len() == keys.len() && has_field_name
                        })
                    });
                    let Some(each) = each else { continue };
                    steps.push(PathStep::Index(0));
                    let site = ObjectPosition {
                        root_binding: each.element,
                        keys_from_root: Vec::new(),
                        probe_path: steps,
                        block: &each.block,
                    };
                    add_inner(true, schema, object, &site);
                }
            }
        }
        let variants: Vec<Json> =
            object.fields.iter().flat_map(|field| self.field_variants(object, field, site)).collect();
        if !variants.is_empty() {
            schema["allOf"] = Json::Array(variants);
        }
    }

    /// Returns schemas for those allowed values of `field` that make other fields of `object`
    /// required. `site` is the position of the object. Each schema has the value as `if`, and the
    /// required fields as `then`.
    fn field_variants(
        &self,
        object: &ObjectSchema,
        field: &PayloadField,
        site: &ObjectPosition<'_>,
    ) -> Vec<Json> {
        let Some(AllowedValues::OneOf(values)) = &field.allowed_values else { return Vec::new() };
        let is_dict = |field: &&PayloadField| matches!(&field.shape, FieldShape::Plain(ty) if ty.kinds == KindSet::DICT);
        let dicts: Vec<&PayloadField> = object.fields.iter().filter(is_dict).collect();
        let build_variant = |value: &Json| {
            let mut requirements = BTreeSet::new();
            // Validate one probe without the dicts, and one with empty dicts.
            for dicts in [&[][..], dicts.as_slice()] {
                let empty_dict = |dict: &&PayloadField| (dict.name.to_string(), json!({}));
                let mut probe: Map<String, Json> = dicts.iter().map(empty_dict).collect();
                probe.insert(field.name.to_string(), value.clone());
                let violations =
                    run::run_checks(self.judge, &site.build_probe_payload(probe), false, &[], None)
                        .violations;
                requirements.extend(
                    violations
                        .iter()
                        .filter_map(|violation| self.required_fields(violation, field, dicts, site)),
                );
            }
            let then = then_schema(requirements);
            (!then.is_empty()).then(|| {
                json!({
                    "if": {"properties": {&*field.name: {"const": value}}, "required": [&*field.name]},
                    "then": then,
                })
            })
        };
        values.iter().filter_map(build_variant).collect()
    }

    /// Returns the fields that would satisfy a rule that a probe object violates: at least one of
    /// them is required. `field` is the field whose value the probe sets, and `empty_dicts` are the
    /// empty dicts in the probe.
    ///
    /// The result is the name of the dict that must contain the fields, and the names of the
    /// fields. The first is `None` if the object itself must contain them. The result is `None` if
    /// the violation may depend on other fields.
    fn required_fields(
        &self,
        violation: &FoundViolation,
        field: &PayloadField,
        empty_dicts: &[&PayloadField],
        site: &ObjectPosition<'_>,
    ) -> Option<(Option<&str>, BTreeSet<&str>)> {
        let rule = violation.rule_id.filter(|_| violation.effect == Effect::Violation)?;
        let depth = site.keys_from_root.len();
        let mut reads_field = false;
        let mut required_places = BTreeSet::new();
        for FieldRead { slot, usage } in self.reads.read_by_rule(rule) {
            let mut keys = slot.path.iter().map(|key| &**key);
            let is_same_object = slot.root.as_ref()?.id == site.root_binding
                && keys.by_ref().take(depth).eq(site.keys_from_root.iter().map(|key| &**key));
            match (keys.next().filter(|_| is_same_object)?, keys.next()) {
                (name, None) if name == &*field.name => reads_field = true,
                (name, None)
                    if usage.only_tests_presence && empty_dicts.iter().any(|dict| *dict.name == *name) => {}
                (name, None) => drop(required_places.insert((None, name))),
                (name, Some(key)) => drop(required_places.insert((Some(name), key))),
            }
        }
        let dict = required_places.first()?.0;
        let is_one_dict = required_places.iter().all(|(name, _)| *name == dict);
        let is_known_dict = dict.is_none_or(|name| empty_dicts.iter().any(|dict| *dict.name == *name));
        (reads_field && is_one_dict && is_known_dict)
            .then(|| (dict, required_places.into_iter().map(|(_, key)| key).collect()))
    }
}

fn then_schema(requirements: BTreeSet<(Option<&str>, BTreeSet<&str>)>) -> Map<String, Json> {
    let mut then = Map::new();
    let mut dicts: BTreeMap<&str, Map<String, Json>> = BTreeMap::new();
    for (dict, keys) in requirements {
        let target = match dict {
            None => &mut then,
            Some(dict) => dicts.entry(dict).or_default(),
        };
        let mut add_requirement = |list: &str, value: Json| {
            if let Json::Array(items) = target.entry(list).or_insert_with(|| json!([])) {
                items.push(value);
            }
        };
        match keys.first() {
            Some(only) if keys.len() == 1 => add_requirement("required", json!(only)),
            _ => {
                let any_of: Vec<Json> = keys.iter().map(|key| json!({"required": [key]})).collect();
                add_requirement("allOf", json!({"anyOf": any_of}));
            }
        }
    }
    if !dicts.is_empty() {
        let dicts = dicts.into_iter().map(|(dict, inner)| (dict.to_owned(), Json::Object(inner)));
        then.insert("properties".to_owned(), Json::Object(dicts.collect()));
    }
    then
}
