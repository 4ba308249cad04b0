//! Breaking changes between two versions of payload rules: changes that may reject a payload that
//! was accepted before. A *payload kind* is declared by one `payload` statement.

use super::{kinds, schema};
use crate::engine::Rules;
use rulec_base::diag::{Message, list_alternatives};
use rulec_base::message;
use rulec_sema::hir::{Effect, Payload, Program};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A change that may reject a payload that was accepted before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The payload kind (name of a `payload` statement) whose rules changed.
    pub kind: String,
    /// The path of the change in a payload, such as `$.nodes[].config`.
    pub path: String,
    /// A description of the difference between the two versions of the rules.
    pub message: Message,
}

impl Change {
    /// Returns the change with its kind and path as a localized message.
    pub fn to_message(&self) -> Message {
        message!("{} at {}: {}", self.kind, self.path, self.message)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_message())
    }
}

/// Finds all breaking changes from `old` to `new`. For each payload kind (one `payload` statement),
/// it compares the JSON Schemas, and lists new rules that a schema cannot express. A rule with the
/// same name in both versions counts as unchanged.
pub fn changes(old: &Rules, new: &Rules) -> Vec<Change> {
    let mut all_changes = Vec::new();
    for kind in kinds(old) {
        let mut collector = ChangeCollector { kind, changes: &mut all_changes };
        let (Ok(before), Ok(after)) = (schema(old, kind), schema(new, kind)) else {
            collector.add_change("$", message!("this payload kind no longer exists"));
            continue;
        };
        collector.compare_schemas("$", &before, &after);
        let (before, after) = (rejecting_rules(old.program(), kind), rejecting_rules(new.program(), kind));
        for (rule, _) in
            after.iter().filter(|(rule, is_in_schema)| !**is_in_schema && !before.contains_key(*rule))
        {
            collector.add_change("$", message!("the rule `{rule}` is new"));
        }
    }
    all_changes
}

/// Returns the names of the rules of a `payload` statement whose violation rejects the payload.
/// Rules that only warn or complete the payload are left out. Each name is mapped to true if the
/// comparison of schemas already reports changes of the rule.
fn rejecting_rules<'p>(program: &'p Program, kind: &str) -> BTreeMap<&'p str, bool> {
    let tables =
        program.payload_named(kind).map(|payload: &Payload| payload.block.tables()).unwrap_or_default();
    let mut names = BTreeMap::new();
    for requirement in program.requirements.iter().filter(|one| one.effect == Effect::Violation) {
        let rule = &program.rules[requirement.rule.index()];
        if tables.contains(&rule.table) {
            let is_in_schema = requirement.is_from_field && is_field_rule(&rule.name);
            *names.entry(&*rule.name).or_insert(true) &= is_in_schema;
        }
    }
    names
}

/// True if the name of a rule is one that the compiler gives to rules of field declarations.
fn is_field_rule(rule: &str) -> bool {
    const FIELD_RULES: [&str; 7] = ["required", "type", "enum", "empty", "range", "match", "unsupported"];
    rule.rsplit('.').next().is_some_and(|last| FIELD_RULES.contains(&last))
}

struct ChangeCollector<'c> {
    kind: &'c str,
    changes: &'c mut Vec<Change>,
}

impl ChangeCollector<'_> {
    fn add_change(&mut self, path: &str, message: Message) {
        let (kind, path) = (self.kind.to_owned(), path.to_owned());
        self.changes.push(Change { kind, path, message });
    }

    /// Compares two schemas. Adds a change wherever the new schema may reject values that the old
    /// schema allows.
    fn compare_schemas(&mut self, path: &str, old: &Json, new: &Json) {
        let removed_types: Vec<String> =
            allowed_types(old).difference(&allowed_types(new)).cloned().collect();
        if !removed_types.is_empty() {
            self.add_change(path, message!("it may no longer be {}", list_alternatives(removed_types)));
        }
        self.compare_allowed_values(path, old, new);
        self.compare_ranges(path, old, new);
        if !new["pattern"].is_null() && old["pattern"] != new["pattern"] {
            self.add_change(path, message!("it may no longer be blank"));
        }
        let required_fields = |schema: &Json| texts_of_json_list(&schema["required"]);
        for name in required_fields(new).difference(&required_fields(old)) {
            self.add_change(&format!("{path}.{name}"), message!("it is now required"));
        }
        let is_closed = |schema: &Json| schema["additionalProperties"] == false;
        if is_closed(new) && !is_closed(old) {
            self.add_change(path, message!("undeclared fields are now rejected"));
        }
        let empty_map = serde_json::Map::new();
        let properties_of =
            |schema: &Json| schema["properties"].as_object().cloned().unwrap_or_else(|| empty_map.clone());
        let new_properties = properties_of(new);
        for (name, before) in properties_of(old) {
            let field_path = format!("{path}.{name}");
            match new_properties.get(&name) {
                Some(after) => self.compare_schemas(&field_path, &before, after),
                None if is_closed(new) => self.add_change(
                    &field_path,
                    message!("the field was removed, and undeclared fields are rejected"),
                ),
                None => {}
            }
        }
        if !new["items"].is_null() {
            self.compare_schemas(&format!("{path}[]"), &old["items"], &new["items"]);
        }
        let variants_of = |schema: &Json| schema["allOf"].as_array().cloned().unwrap_or_default();
        let old_variants = variants_of(old);
        for variant in variants_of(new).into_iter().filter(|variant| !old_variants.contains(variant)) {
            let when = variant["if"]["properties"].to_string();
            let known = old_variants
                .iter()
                .find(|other| other["if"] == variant["if"])
                .map_or(Json::Null, |other| other["then"].clone());
            self.add_change(
                path,
                message!(
                    "if it has {when}, it must have {}; before, it had to have {known}",
                    variant["then"]
                ),
            );
        }
    }

    fn compare_allowed_values(&mut self, path: &str, old: &Json, new: &Json) {
        if !new["const"].is_null() && old["const"] != new["const"] {
            self.add_change(path, message!("it must now be {}", new["const"]));
        }
        let Some(allowed) = new["enum"].as_array() else { return };
        match old["enum"].as_array() {
            None => self.add_change(path, message!("it must now be one of {}", new["enum"])),
            Some(before) => {
                let removed_values: Vec<String> =
                    before.iter().filter(|value| !allowed.contains(value)).map(Json::to_string).collect();
                if !removed_values.is_empty() {
                    self.add_change(
                        path,
                        message!("it may no longer be {}", list_alternatives(removed_values)),
                    );
                }
            }
        }
    }

    fn compare_ranges(&mut self, path: &str, old: &Json, new: &Json) {
        for (bound, narrower) in [("minimum", 1.0), ("maximum", -1.0), ("exclusiveMaximum", -1.0)] {
            let Some(after) = new[bound].as_f64() else { continue };
            if old[bound].as_f64().is_none_or(|before| (after - before) * narrower > 0.0) {
                self.add_change(path, message!("its {bound} is now {}", new[bound]));
            }
        }
    }
}

/// Returns the type names that a schema allows. A schema without `type` allows all types except the
/// type in its `not`.
fn allowed_types(schema: &Json) -> BTreeSet<String> {
    let all_types = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let mut types = match &schema["type"] {
        Json::String(one) => BTreeSet::from([one.clone()]),
        Json::Array(_) => texts_of_json_list(&schema["type"]),
        _ => {
            all_types.iter().filter(|name| schema["not"]["type"] != **name).map(ToString::to_string).collect()
        }
    };
    if types.contains("number") {
        types.insert("integer".to_owned());
    }
    types
}

fn texts_of_json_list(list: &Json) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}
