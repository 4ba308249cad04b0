//! The values that a test gives to fields: whether a value has the declared type, and how it is
//! written into the message of the test.

use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::ty::{Kind, KindSet, Ty};
use rulec_lang::value::{Value, parse_datetime};
use rulec_syntax::ast::{self, ExprKind, Ident, Literal};
use serde_json::{Map, Value as Json};

/// Writes a value at a path; returns false if the path already has a value or is not an object.
pub(super) fn insert_at_path(message: &mut Map<String, Json>, path: &[Ident], value: Json) -> bool {
    match path {
        [] => false,
        [last] => message.insert(last.node.clone(), value).is_none(),
        [first, rest @ ..] => {
            let inner = message.entry(first.node.clone()).or_insert_with(|| Json::Object(Map::new()));
            match inner {
                Json::Object(inner) => insert_at_path(inner, rest, value),
                _ => false,
            }
        }
    }
}

/// True if a value can be read as one of these kinds. A text can be read as a date-time if it is
/// one in RFC 3339 notation.
pub(super) fn is_readable_as_kinds(value: Value<'_>, kinds: KindSet) -> bool {
    match value {
        Value::Missing => true,
        Value::Str(text) => {
            kinds.has(Kind::String) || kinds.has(Kind::DateTime) && parse_datetime(text).is_some()
        }
        other => !other.read_as(kinds).is_missing(),
    }
}

/// Compares a value with the declared type. Returns the message about the first value, at any
/// depth, that does not have its type. Accepts null for every type, because tests use null for a
/// missing field.
pub(super) fn value_mismatch_message(json: &Json, ty: &Ty, path: &str) -> Option<Message> {
    let value = Value::from_json(json);
    let mismatch = |found: Message| Some(message!("`{path}` is declared as {ty}, but this is {found}"));
    if value.read_one_of(ty.values()).is_missing() && !value.is_missing() {
        return mismatch(message!("another text"));
    }
    if !is_readable_as_kinds(value, ty.kinds) {
        let kind = value.kind();
        return mismatch(
            kind.map_or(Message::verbatim("null"), |kind| {
                Ty::from_kinds(KindSet::single(kind)).with_article()
            }),
        );
    }
    match (json, ty.fields()) {
        (Json::Object(map), Some(record)) => map.iter().find_map(|(key, value)| match record.get(key) {
            Some(field) => value_mismatch_message(value, &field.ty, &format!("{path}.{key}")),
            None => mismatch(message!("a record with a field `{key}`")),
        }),
        (Json::Array(items), None) if ty.kinds == KindSet::LIST => {
            items.iter().enumerate().find_map(|(index, item)| {
                value_mismatch_message(item, &ty.element(), &format!("{path}[{index}]"))
            })
        }
        (Json::Object(map), None) if ty.kinds == KindSet::DICT => map
            .iter()
            .find_map(|(key, value)| value_mismatch_message(value, &ty.element(), &format!("{path}.{key}"))),
        _ => None,
    }
}

/// Finds the first literal inside a test's value that does not have its declared type, and returns
/// it with this type. If there is none, returns the whole value and its type.
pub(super) fn find_mistyped_literal<'e>(value: &'e ast::Expr, ty: &Ty) -> (&'e ast::Expr, Ty) {
    fn find<'e>(value: &'e ast::Expr, ty: &Ty) -> Option<(&'e ast::Expr, Ty)> {
        let literal = match &value.kind {
            ExprKind::Literal(Literal::String(text)) => Value::Str(text),
            ExprKind::Literal(Literal::Int(number)) => Value::Int(*number),
            ExprKind::Literal(Literal::Bool(truth)) => Value::Bool(*truth),
            ExprKind::Record(entries) => {
                let record = ty.fields()?;
                return entries
                    .iter()
                    .find_map(|(key, value)| find(value, &record.get(key.node.as_str())?.ty));
            }
            ExprKind::List(items) => return items.iter().find_map(|item| find(item, &ty.element())),
            _ => return None,
        };
        (!is_readable_as_kinds(literal, ty.kinds)).then(|| (value, ty.clone()))
    }
    find(value, ty).unwrap_or_else(|| (value, ty.clone()))
}

/// Returns the number that a test's value has in quotes, such as `5` for `"5"`, if the declared
/// type is a number. `None` for other values.
pub(super) fn number_in_quotes<'e>(value: &'e ast::Expr, ty: &Ty) -> Option<&'e str> {
    let ExprKind::Literal(Literal::String(text)) = &value.kind else { return None };
    let is_number = text.parse::<f64>().is_ok() && text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    (is_number && ty.kinds.is_subset_of(KindSet::NUMBER)).then_some(text)
}
