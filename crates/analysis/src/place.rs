//! Builds a message from the values that the solver found for terms (operands that are compared).
//! The value of a term is converted to a value of the field from which the term is computed. The
//! fields are combined into a message that has, if possible, all required fields of `input`.

use super::atoms::{AtomLiteral, AtomTable};
use rulec_base::broken_invariant;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, RecordType, Ty};
use rulec_lang::value::{Value, format_datetime, parse_datetime};
use rulec_sema::hir::Program;
use rulec_sema::normal::{ExprId, NormalExpr, NormalForm};
use serde_json::{Map, Value as Json, json};
use time::Duration;

/// Returns a value of a message field for which the expression `term` on this field has the value
/// `value`. For example, for `x + 1` and 3 the result is 2. `None` if that is impossible.
pub(super) fn invert_term(normal: &NormalForm, term: ExprId, value: Json) -> Option<Json> {
    let constant = |id: ExprId| Some(normal.constant(id)?.value().to_json());
    match normal.expr(term) {
        NormalExpr::Slot(_) => Some(value),
        NormalExpr::Read(inner, _) | NormalExpr::Op(Op::Coalesce, inner, _) => {
            invert_term(normal, *inner, value)
        }
        NormalExpr::Field(base, name) => invert_term(normal, *base, json!({ &**name: value })),
        NormalExpr::Index(base, index) => match constant(*index)? {
            Json::String(key) => invert_term(normal, *base, json!({ key: value })),
            Json::Number(position) => {
                let position = usize::try_from(position.as_i64()?).ok().filter(|position| *position < 100)?;
                let mut list = vec![Json::Null; position];
                list.push(value);
                invert_term(normal, *base, Json::Array(list))
            }
            _ => None,
        },
        NormalExpr::Op(Op::Neg, inner, _) => {
            invert_term(normal, *inner, subtract_numbers(&json!(0), &value)?)
        }
        NormalExpr::Op(op, left, Some(right)) => match (constant(*left), constant(*right)) {
            (None, Some(other)) => invert_term(normal, *left, invert_operator(*op, value, &other)?),
            (Some(other), None) => invert_term(normal, *right, invert_operator(*op, value, &other)?),
            _ => None,
        },
        NormalExpr::Call(function, args) => {
            let inner = *args.first()?;
            let value = match (function, &value) {
                (_, Json::Null) => value,
                (Function::Len, length) => {
                    let length = usize::try_from(length.as_i64()?).ok().filter(|length| *length < 5_000)?;
                    // A list of this length takes much longer to build than a text.
                    return invert_term(normal, inner, json!("a".repeat(length)))
                        .or_else(|| invert_term(normal, inner, Json::Array(vec![json!("a"); length])));
                }
                (Function::First | Function::Last | Function::Join, _) => json!([value]),
                (Function::Number, _) => json!(value.to_string()),
                (Function::Date, Json::String(date)) => json!(format!("{date}T09:00:00Z")),
                (Function::Time, Json::String(time)) => json!(format!("2026-01-05T{time}Z")),
                (Function::FromEpochSeconds, Json::String(time)) => {
                    json!(parse_datetime(time)?.unix_timestamp())
                }
                (Function::FromEpochMillis, Json::String(time)) => {
                    json!(parse_datetime(time)?.unix_timestamp().checked_mul(1000)?)
                }
                _ => value,
            };
            invert_term(normal, inner, value)
        }
        _ => None,
    }
}

/// Inverts an operator whose other operand is the constant `other`. Returns the operand for which
/// the operator gives the result `value`; `None` if no such operand is found.
fn invert_operator(op: Op, value: Json, other: &Json) -> Option<Json> {
    if let (Some(datetime), Op::Add | Op::Sub, Some(seconds)) =
        (value.as_str().and_then(parse_datetime), op, other.as_f64())
    {
        let step = Duration::checked_seconds_f64(if op == Op::Add { -seconds } else { seconds })?;
        return Some(format_datetime(datetime.checked_add(step)?).into());
    }
    match op {
        Op::Add => subtract_numbers(&value, other),
        Op::Sub => subtract_numbers(&value, &subtract_numbers(&json!(0), other)?),
        Op::Mul => number_to_json(value.as_f64()? / other.as_f64()?),
        Op::Div => number_to_json(value.as_f64()? * other.as_f64()?),
        Op::Rem => Some(value),
        _ => None,
    }
}

fn subtract_numbers(left: &Json, right: &Json) -> Option<Json> {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.checked_sub(right).map(Json::from),
        _ => number_to_json(left.as_f64()? - right.as_f64()?),
    }
}

/// Converts a number to JSON, as an integer if it is whole. `None` if it is not finite.
pub(super) fn number_to_json(number: f64) -> Option<Json> {
    let is_integer = number.trunc() == number && number.abs() < 9e15;
    if is_integer {
        Some((number as i64).into())
    } else {
        Some(number.into()).filter(|json: &Json| json.is_number())
    }
}

/// Returns field values for a call of a function such as `hour`, which gives the same result for
/// many arguments. If the function has few possible results, each result is the result for at least
/// one of the values.
pub(super) fn sample_field_values(normal: &NormalForm, term: ExprId) -> Vec<Json> {
    let NormalExpr::Call(function, args) = normal.expr(term) else { return Vec::new() };
    let datetime =
        |day: u8, hour: u8, minute: u8| json!(format!("2026-01-{day:02}T{hour:02}:{minute:02}:00Z"));
    let values: Vec<Json> = match function {
        Function::Hour | Function::Weekday | Function::Day => {
            (1..=31).flat_map(|day| (0..24).map(move |hour| datetime(day, hour, 0))).collect()
        }
        Function::Time => (0..24)
            .flat_map(|hour| [0, 30].map(|minute| datetime(5, hour, minute)))
            .chain([json!("2026-01-05T23:59:59Z")])
            .collect(),
        Function::Minute => (0..60).map(|minute| datetime(5, 9, minute)).collect(),
        Function::Month => (1..=12).map(|month| json!(format!("2026-{month:02}-05T09:00:00Z"))).collect(),
        Function::Bucket => (0..400).map(|user| json!(format!("u{user}"))).collect(),
        _ => Vec::new(),
    };
    let Some(inner) = args.first() else {
        broken_invariant!("a call of a function has an argument");
        return Vec::new();
    };
    values.into_iter().filter_map(|value| invert_term(normal, *inner, value)).collect()
}

/// Builds messages from field values. Completes them with sample values of the required fields of
/// `input`.
pub(super) struct MessageBuilder {
    required_fields: Json,
    /// The number of values in the JSON tree of the required fields, including nested values. This
    /// number of steps is charged each time the required fields are added to a message.
    required_value_count: usize,
}

impl MessageBuilder {
    pub fn new(program: &Program) -> MessageBuilder {
        let required = program.input.as_ref().map_or_else(|| json!({}), sample_record);
        MessageBuilder { required_value_count: count_values(&required), required_fields: required }
    }

    /// Writes values into a message. Each value comes with the index of its path (a sequence of
    /// keys). Shorter paths are written first, so that they do not overwrite the values inside
    /// them.
    pub fn write_values_at_paths<'v>(
        &self,
        atoms: &AtomTable,
        mut message: Json,
        values: impl Iterator<Item = (usize, &'v Json)>,
    ) -> Json {
        let mut values: Vec<(usize, &Json)> = values.collect();
        values.sort_by_key(|(path, _)| atoms.paths[*path].keys.len());
        for (path, value) in values {
            let keys: Vec<&str> = atoms.paths[path].keys.iter().map(|key| &**key).collect();
            set_field_at_path(&mut message, &keys, value);
        }
        message
    }

    /// Adds the missing required fields to a message. If the added fields would violate a literal
    /// (a required truth value), returns the message without them.
    pub fn add_required_fields(&self, atoms: &AtomTable, message: Json, literals: &[AtomLiteral]) -> Json {
        if !atoms.budget.charge(self.required_value_count) {
            return message;
        }
        let mut completed = message.clone();
        add_missing_fields(&mut completed, &self.required_fields);
        if completed == message {
            return message;
        }
        if literals.iter().all(|literal| atoms.message_satisfies(*literal, &completed)) {
            completed
        } else {
            message
        }
    }
}

fn set_field_at_path(message: &mut Json, keys: &[&str], value: &Json) {
    let Some((first, rest)) = keys.split_first() else {
        *message = value.clone();
        return;
    };
    if !message.is_object() {
        // A value that is not a record was written for a shorter path. It is kept, and the field
        // inside it is left out.
        if value.is_null() || !message.is_null() {
            return;
        }
        *message = json!({});
    }
    let Some(map) = message.as_object_mut() else {
        return broken_invariant!("anything but an object was replaced by one");
    };
    if rest.is_empty() && value.is_null() {
        map.remove(*first);
    } else if !value.is_null() || map.contains_key(*first) {
        set_field_at_path(map.entry((*first).to_owned()).or_insert(Json::Null), rest, value);
    }
}

fn add_missing_fields(message: &mut Json, required: &Json) {
    if let (Json::Object(message), Json::Object(required)) = (message, required) {
        for (key, value) in required {
            add_missing_fields(message.entry(key.clone()).or_insert_with(|| value.clone()), value);
        }
    }
}

fn count_values(json: &Json) -> usize {
    match json {
        Json::Object(map) => 1 + map.values().map(count_values).sum::<usize>(),
        _ => 1,
    }
}

fn sample_record(record: &RecordType) -> Json {
    let required = record.fields.iter().filter(|field| !field.is_optional);
    let fields: Map<String, Json> =
        required.map(|field| (field.name.to_string(), sample_value(&field.ty))).collect();
    Json::Object(fields)
}

/// Returns a simple value of a type, such as an empty text, for a required field of a message.
fn sample_value(ty: &Ty) -> Json {
    let has = |kinds: KindSet| ty.kinds.overlaps(kinds);
    match ty.fields() {
        Some(record) => sample_record(record),
        None if has(KindSet::STRING) => {
            json!(ty.values().and_then(|values| values.values().first()).map_or("", |value| &**value))
        }
        None if has(KindSet::NUMBER.union(KindSet::DECIMAL)) => json!(0),
        None if has(KindSet::BOOL) => json!(false),
        None if has(KindSet::DATETIME) => json!("2026-01-05T09:00:00Z"),
        None if has(KindSet::LIST) => json!([]),
        None => Value::Missing.to_json(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_whole_floats_become_integers() {
        assert_eq!(number_to_json(3.0), Some(json!(3)));
        assert_eq!(number_to_json(2.5), Some(json!(2.5)));
        assert_eq!(number_to_json(1e16), Some(json!(1e16)));
        assert_eq!(number_to_json(f64::NAN), None);
    }
}
