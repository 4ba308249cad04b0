//! The declared input as a contract that messages should satisfy. A message that violates the
//! contract is still decided, and each wrong value counts as missing. This module finds the
//! violations and describes them.

use crate::privacy::MASK;
use crate::ty::{Enumeration, KindSet, RecordType, Ty};
use crate::value::Value;
use rulec_base::diag::nearest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;

/// A violation of the input contract: a field of a message that differs from its declaration in
/// `input`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputViolation {
    /// Path of the field in the message, such as `ctx.user.role`.
    pub path: String,
    /// The type of the field in the `input` declaration, or the type that was inferred from the
    /// rules.
    pub expected: String,
    /// The type of the value that the message has at `path`. `missing` if the message has none, and
    /// `another text` for a text that the declared enumeration lacks.
    pub found: String,
    /// A likely cause of the violation; `None` if none is known. For a missing field, a key of the
    /// message with a similar spelling. For a field whose type was inferred, the statement that
    /// determined the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The declared input, compiled to check many messages. Its fields are sorted by name, like the
/// keys of a JSON object. So fields and keys are compared in one pass, without a lookup of each
/// field.
#[derive(Clone, Debug)]
pub struct InputContract(Vec<ContractField>);

#[derive(Clone, Debug)]
struct ContractField {
    name: Arc<str>,
    kinds: KindSet,
    is_optional: bool,
    allowed_values: Option<Enumeration>,
    nested_contract: Option<InputContract>,
}

impl InputContract {
    /// Compiles a declared input, or a record inside it, into a contract.
    pub fn new(record: &RecordType) -> InputContract {
        let mut contract_fields: Vec<ContractField> = record
            .fields
            .iter()
            .map(|field| ContractField {
                name: field.name.clone(),
                kinds: field.ty.kinds,
                is_optional: field.is_optional,
                allowed_values: field.ty.values().cloned(),
                nested_contract: field.ty.fields().map(InputContract::new),
            })
            .collect();
        contract_fields.sort_by(|a, b| a.name.cmp(&b.name));
        InputContract(contract_fields)
    }

    /// Checks a message fast, without finding the violations. True means that the message satisfies
    /// the contract. False means that it may violate the contract; then [`find_input_violations`]
    /// decides. Messages with many extra keys, or with unsorted keys, may give false although they
    /// satisfy the contract.
    pub fn is_certainly_satisfied(&self, message: &Json) -> bool {
        matches!(message, Json::Object(map) if self.is_satisfied_by(map))
    }

    fn is_satisfied_by(&self, map: &Map<String, Json>) -> bool {
        if map.len() > 4 * self.0.len() + 8 {
            return false;
        }
        let mut entries = map.iter();
        let mut next_entry = entries.next();
        self.0.iter().all(|contract_field| {
            let mut value = None;
            while let Some((key, json)) = next_entry {
                let order = key.as_str().cmp(&contract_field.name);
                if order == Ordering::Greater {
                    break;
                }
                next_entry = entries.next();
                if order == Ordering::Equal {
                    value = Some(json);
                    break;
                }
            }
            contract_field.is_satisfied_by(value)
        })
    }
}

impl ContractField {
    fn is_satisfied_by(&self, value: Option<&Json>) -> bool {
        match (value, &self.nested_contract) {
            (None | Some(Json::Null), _) => self.is_optional,
            (Some(Json::Object(map)), Some(fields)) => fields.is_satisfied_by(map),
            (Some(json), _) => {
                let value = Value::from_json(json).read_as(self.kinds);
                !value.read_one_of(self.allowed_values.as_ref()).is_missing()
            }
        }
    }
}

/// Checks a message against the declared input and returns the violations. Elements of lists and
/// dicts are not checked, and undeclared fields are allowed. Allocates only if there is a
/// violation.
pub fn find_input_violations(input: &RecordType, message: &Json) -> Vec<InputViolation> {
    let mut violations = Vec::new();
    match message {
        Json::Object(map) => find_record_violations(input, map, false, &mut SmallVec::new(), &mut violations),
        other => violations.push(InputViolation::not_an_object(other)),
    }
    violations
}

/// Checks an object that the embedding program passes, such as the context of payloads, and returns
/// its first violation. Unlike [`find_input_violations`], also checks the elements of lists and
/// dicts: a rule about a wrong element could not be evaluated. `record` declares the fields.
pub fn find_nested_violation(record: &RecordType, object: &Json) -> Option<InputViolation> {
    find_violation_in_fields(record, object, false, "")
}

/// Returns the first violation in the fields of an object. In the violation's path, `path_prefix`
/// precedes the name of the field. If `is_private` is true, the path shows no keys of dicts.
fn find_violation_in_fields(
    record: &RecordType,
    object: &Json,
    is_private: bool,
    path_prefix: &str,
) -> Option<InputViolation> {
    record.fields.iter().find_map(|field| {
        let json = object.get(&*field.name).unwrap_or(&Json::Null);
        if json.is_null() && field.is_optional {
            return None;
        }
        find_violation_in_value(
            &field.ty,
            json,
            is_private || field.is_private,
            format!("{path_prefix}{}", field.name),
        )
    })
}

/// Returns the first violation in a value of the type `ty`; `path` is the path of the value. If
/// `is_private` is true, the violation's path shows no keys of dicts.
fn find_violation_in_value(ty: &Ty, json: &Json, is_private: bool, path: String) -> Option<InputViolation> {
    if Value::from_json(json).read_as(ty.kinds).is_missing() {
        let expected = ty.fields().map_or_else(|| ty.to_string(), |_| "record".to_owned());
        return Some(InputViolation { path, expected, found: json_kind_name(json), hint: None });
    }
    if let Some(record) = ty.fields() {
        return find_violation_in_fields(record, json, is_private, &format!("{path}."));
    }
    let element = ty.element();
    match json {
        Json::String(text) if ty.values().is_some_and(|values| !values.contains(text)) => {
            let (expected, found) = (ty.to_string(), FOUND_OTHER_TEXT.to_owned());
            Some(InputViolation { path, expected, found, hint: None })
        }
        // Elements of any type cannot be wrong.
        _ if element == Ty::ANY => None,
        Json::Object(map) => map.iter().find_map(|(key, json)| {
            let key = if is_private { MASK } else { key };
            find_violation_in_value(&element, json, is_private, format!("{path}.{key}"))
        }),
        Json::Array(items) => items.iter().enumerate().find_map(|(index, json)| {
            find_violation_in_value(&element, json, is_private, format!("{path}[{index}]"))
        }),
        _ => None,
    }
}

impl InputViolation {
    /// Creates the violation of a message that is not an object. Only this violation has an empty
    /// path.
    #[doc(hidden)]
    pub fn not_an_object(message: &Json) -> InputViolation {
        InputViolation {
            path: String::new(),
            expected: "an object".to_owned(),
            found: if message.is_null() { "null".to_owned() } else { json_kind_name(message) },
            hint: None,
        }
    }
}

/// Adds to `violations` the violations in `map`, which should have the type `record_type`; `path`
/// is the path of this record in the message. If `is_private` is true, no hint shows a key of the
/// record.
fn find_record_violations<'r>(
    record_type: &'r RecordType,
    map: &Map<String, Json>,
    is_private: bool,
    path: &mut SmallVec<[&'r str; 8]>,
    violations: &mut Vec<InputViolation>,
) {
    for field in &record_type.fields {
        path.push(&field.name);
        let mut add_violation = |kind: String| {
            // For a record, only `record` is shown: a list of its fields would hide the actual
            // mistake.
            let expected = field.ty.fields().map_or_else(|| field.ty.to_string(), |_| "record".to_owned());
            let hint = (kind == MISSING_KIND && !is_private)
                .then(|| suggest_misspelt_key(record_type, map, path))
                .flatten();
            violations.push(InputViolation { path: path.join("."), expected, found: kind, hint });
        };
        match map.get(&*field.name) {
            None | Some(Json::Null) if field.is_optional => {}
            None | Some(Json::Null) => add_violation(MISSING_KIND.to_owned()),
            Some(json) if Value::from_json(json).read_as(field.ty.kinds).is_missing() => {
                add_violation(json_kind_name(json))
            }
            Some(Json::String(text)) if field.ty.values().is_some_and(|values| !values.contains(text)) => {
                add_violation(FOUND_OTHER_TEXT.to_owned())
            }
            Some(Json::Object(inner)) => {
                if let Some(record_type) = field.ty.fields() {
                    find_record_violations(
                        record_type,
                        inner,
                        is_private || field.is_private,
                        path,
                        violations,
                    );
                }
            }
            Some(_) => {}
        }
        path.pop();
    }
}

const MISSING_KIND: &str = "missing";
/// The text that a violation shows as `found` if a text of the message is not in the declared
/// enumeration. The actual text is not shown, because it may be private.
const FOUND_OTHER_TEXT: &str = "another text";
/// Maximum number of undeclared keys of an object that are compared with a missing field, to bound
/// the time for objects with very many keys.
const MAX_SUGGESTION_KEYS: usize = 64;

/// Suggests a key of the message that is spelled like the missing field, whose name is the last
/// element of `path`. `None` if there is no such key.
fn suggest_misspelt_key(record: &RecordType, map: &Map<String, Json>, path: &[&str]) -> Option<String> {
    let (name, parent_path) = path.split_last()?;
    let is_undeclared = |key: &&str| {
        key.len().abs_diff(name.len()) <= 4 && record.get(key).is_none() && !key.chars().any(char::is_control)
    };
    // Skip null: it is not a value, and columnar data cannot distinguish it from an absent key.
    let keys = map.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.as_str());
    let similar_key = nearest(name, keys.filter(is_undeclared).take(MAX_SUGGESTION_KEYS))?;
    let key: String = parent_path.iter().flat_map(|part| [*part, "."]).chain([similar_key]).collect();
    Some(format!("the message has `{key}`: did you mean `{name}`?"))
}

fn json_kind_name(json: &Json) -> String {
    Value::from_json(json)
        .kind()
        .map_or_else(|| MISSING_KIND.to_owned(), |kind| KindSet::single(kind).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ty::Field;
    use serde_json::json;

    fn new_field(name: &str, ty: Ty, optional: bool) -> Field {
        Field { name: name.into(), ty, is_optional: optional, is_private: false }
    }

    #[test]
    fn violations_name_field_and_types() {
        let user = RecordType::from_iter([new_field("role", Ty::STRING, false)]);
        let input = RecordType::from_iter([
            new_field("text", Ty::STRING, false),
            new_field("n", Ty::INT, true),
            new_field("tags", Ty::list(Ty::STRING), true),
            new_field("user", Ty::record(user), true),
        ]);
        let check = |message: Json, expected: &[(&str, &str, &str)]| {
            let violations = find_input_violations(&input, &message);
            let violations: Vec<_> =
                violations.iter().map(|b| (b.path.as_str(), b.expected.as_str(), b.found.as_str())).collect();
            assert_eq!(violations, expected, "{message}");
            assert_eq!(
                InputContract::new(&input).is_certainly_satisfied(&message),
                expected.is_empty(),
                "{message}"
            );
        };
        check(json!({"text": "a", "extra": 1}), &[]);
        check(json!({"text": 1, "n": 2.5}), &[("text", "string", "int"), ("n", "int", "float")]);
        check(json!({"n": null}), &[("text", "string", "missing")]);
        check(json!({"text": "a", "tags": [1], "user": {}}), &[("user.role", "string", "missing")]);
        check(json!({"text": "a", "user": "x"}), &[("user", "record", "string")]);
        check(json!([]), &[("", "an object", "list")]);
    }

    #[test]
    fn nested_violations_are_found_in_lists_and_dicts() {
        let node =
            RecordType::from_iter([new_field("type", Ty::STRING, false), new_field("n", Ty::INT, true)]);
        let secret = Field { is_private: true, ..new_field("keys", Ty::dict(Ty::INT), true) };
        let record = RecordType::from_iter([
            new_field("nodes", Ty::dict(Ty::record(node)), true),
            new_field("tags", Ty::list(Ty::list(Ty::STRING)), true),
            new_field("any", Ty::dict(Ty::ANY), true),
            secret,
        ]);
        let check = |value: Json, expected: Option<(&str, &str, &str)>| {
            let found = find_nested_violation(&record, &value);
            let found = found.as_ref().map(|v| (v.path.as_str(), v.expected.as_str(), v.found.as_str()));
            assert_eq!(found, expected, "{value}");
        };
        check(json!({"nodes": {"a": {"type": "x", "n": null, "more": 1}}, "any": {"a": null}}), None);
        check(json!({"nodes": {"a": {"type": "x"}, "b": {}}}), Some(("nodes.b.type", "string", "missing")));
        check(json!({"nodes": {"a": null}}), Some(("nodes.a", "record", "missing")));
        check(json!({"nodes": {"a": {"type": "x", "n": "1"}}}), Some(("nodes.a.n", "int", "string")));
        check(json!({"tags": [["a"], ["b", 2]]}), Some(("tags[1][1]", "string", "int")));
        check(json!({"tags": {}}), Some(("tags", "list<list<string>>", "dict")));
        check(json!({"keys": {"S": "x"}}), Some(("keys.\u{2022}\u{2022}\u{2022}", "int", "string")));
    }
}
