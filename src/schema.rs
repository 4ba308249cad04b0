//! The declared input as a promise: what a message keeps of it. A message that breaks it is decided
//! all the same, the wrong value counting as missing; here the breach is found and named.

use crate::ty::{KindSet, Record, Ty};
use crate::value::Value;
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// A field of a message that is not what `input` declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// The field, such as `ctx.user.role`.
    pub path: String,
    /// Its declared type.
    pub expected: String,
    /// What the message holds there: a type, or `missing`.
    pub found: String,
}

/// Holds a message against the declared input. Lists and dicts are checked only for being one, and
/// fields that are not declared are let through. Allocates only when something is wrong.
pub fn breaches(input: &Record, message: &Json) -> Vec<Breach> {
    let mut found = Vec::new();
    match message {
        Json::Object(map) => fields(input, map, &mut Vec::new(), &mut found),
        other => found.push(Breach {
            path: String::new(),
            expected: "an object".to_owned(),
            found: found_kind(other),
        }),
    }
    found
}

fn fields<'a>(record: &'a Record, map: &Map<String, Json>, path: &mut Vec<&'a str>, found: &mut Vec<Breach>) {
    for field in &record.fields {
        path.push(&field.name);
        match map.get(&*field.name) {
            None | Some(Json::Null) if field.optional => {}
            None | Some(Json::Null) => found.push(breach(path, &field.ty, "missing".to_owned())),
            Some(json) if Value::from_json(json).read(field.ty.kinds).is_missing() => {
                found.push(breach(path, &field.ty, found_kind(json)));
            }
            Some(Json::Object(inner)) => {
                if let Some(record) = field.ty.fields() {
                    fields(record, inner, path, found);
                }
            }
            Some(_) => {}
        }
        path.pop();
    }
}

#[cold]
fn breach(path: &[&str], ty: &Ty, found: String) -> Breach {
    // A record's fields would only bury what is wrong.
    let expected = if ty.fields().is_some() { "record".to_owned() } else { ty.to_string() };
    Breach { path: path.join("."), expected, found }
}

fn found_kind(json: &Json) -> String {
    Value::from_json(json).kind().map_or_else(|| "missing".to_owned(), |kind| KindSet::of(kind).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ty::Field;
    use serde_json::json;

    fn field(name: &str, ty: Ty, optional: bool) -> Field {
        Field { name: name.into(), ty, optional, private: false }
    }

    #[test]
    fn breaches_name_the_field_and_both_types() {
        let user = Record { fields: vec![field("role", Ty::STRING, false)] };
        let input = Record {
            fields: vec![
                field("text", Ty::STRING, false),
                field("n", Ty::INT, true),
                field("tags", Ty::list(Ty::STRING), true),
                field("user", Ty::record(user), true),
            ],
        };
        let check = |message: Json, expected: &[(&str, &str, &str)]| {
            let found = breaches(&input, &message);
            let found: Vec<_> =
                found.iter().map(|b| (b.path.as_str(), b.expected.as_str(), b.found.as_str())).collect();
            assert_eq!(found, expected, "{message}");
        };
        check(json!({"text": "a", "extra": 1}), &[]);
        check(json!({"text": 1, "n": 2.5}), &[("text", "string", "int"), ("n", "int", "float")]);
        check(json!({"n": null}), &[("text", "string", "missing")]);
        check(json!({"text": "a", "tags": [1], "user": {}}), &[("user.role", "string", "missing")]);
        check(json!({"text": "a", "user": "x"}), &[("user", "record", "string")]);
        check(json!([]), &[("", "an object", "list")]);
    }
}
