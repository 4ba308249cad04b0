//! `rulec schema --from`: derives an `input` block from sample messages or from a JSON Schema.
//! Types that cannot be determined become `any`, which is checked at run time.

use super::stream;
use super::term::Term;
use super::{CliError, files, stdio};
use rulec_base::message;
use rulec_lang::ty::Ty;
use rulec_lang::value::parse_datetime;
use rulec_syntax::format::format;
use rulec_syntax::write::{self, quote_string};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Maximum number of nested schemas and references that are followed in a JSON Schema. A part that
/// is nested deeper, for example through a cyclic reference, becomes `any`.
const MAX_REFERENCE_DEPTH: usize = 16;
/// Number of keys up to which an object whose keys are valid names becomes a record type. An object
/// with more keys becomes a dict type, whose keys are data, if every key is rare. A key is rare if
/// less than half of the sample objects contain it.
const MAX_RECORD_KEYS: usize = 12;
/// Minimum number of sample objects for which a key can count as rare (see [`MAX_RECORD_KEYS`]). A
/// JSON Schema is one sample object, so its keys are never rare: a schema lists field names, not
/// data.
const MIN_SAMPLES_FOR_RARE_KEYS: usize = 3;
/// An enumeration is inferred for a text field with at most this number of distinct values in all
/// samples.
const MAX_ENUMERATION_VALUES: usize = 6;
/// Maximum number of values that a JSON Schema may list for an enumeration. The compiler accepts no
/// more.
const MAX_SCHEMA_ENUM_VALUES: usize = 1000;
/// Minimum number of samples for each value of an enumeration, on average.
const MIN_SAMPLES_PER_VALUE: usize = 4;
/// Minimum number of sample texts from which an enumeration is inferred.
const MIN_ENUMERATION_SAMPLES: usize = 10;
/// An enumeration is not inferred if a text contains white space or has more than this number of
/// characters.
const MAX_ENUMERATION_CHARACTERS: usize = 32;
/// Maximum size of a JSON Schema in bytes. A larger file is read as messages, one per line.
const MAX_SCHEMA_BYTES: usize = 64 << 20;

/// The type inferred from sample values or from a schema.
#[derive(Clone, Debug, Default, PartialEq)]
enum InferredType {
    /// The type of a value that was null in every sample.
    #[default]
    Unknown,
    Plain(&'static str),
    Texts(InferredTexts),
    List(Box<InferredType>),
    Dict(Box<InferredType>),
    Record(InferredRecord),
    Any,
}

/// The distinct texts of a field in the samples. If they are few, the field may be an enumeration.
#[derive(Clone, Debug, PartialEq)]
struct InferredTexts {
    distinct_texts: BTreeSet<String>,
    /// Number of sample texts, including repeated texts.
    sample_count: usize,
    /// Whether the values come from a JSON Schema, which lists all possible values.
    is_from_schema: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct InferredRecord {
    /// Number of sample objects from which the record type was inferred.
    sample_count: usize,
    fields: BTreeMap<String, InferredField>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct InferredField {
    ty: InferredType,
    /// Number of sample objects in which the field was present and not null.
    present_count: usize,
    /// Whether the JSON Schema requires the field.
    is_required: bool,
}

/// Returns the `input` block for the messages of a file. Also returns the number of lines that were
/// skipped, because they are not JSON objects; it is 0 for a JSON Schema.
pub fn infer_input_block(path: &Path, term: &Term) -> Result<(String, usize), CliError> {
    let (bytes, name) = if path == Path::new("-") {
        (None, stdio::stdin_name())
    } else {
        (Some(files::read_json_bytes(path)), path.display().to_string())
    };
    // If the lines are no messages, the file may be a single JSON value: an object over several
    // lines, or a JSON Schema.
    let single_value = match bytes {
        Some(Ok((bytes, _))) if bytes.len() < MAX_SCHEMA_BYTES => serde_json::from_slice::<Json>(&bytes).ok(),
        Some(Err(error)) if !path.is_file() => return Err(error),
        _ => None,
    };
    let (ty, rejected_lines) = match single_value {
        Some(schema) if is_json_schema(&schema) => (type_of_schema(&schema, &schema, 0), 0),
        _ => {
            let mut joined = InferredType::Unknown;
            let rejected_lines = stream::read_json_objects(
                path,
                term,
                |error| error,
                |_, message| {
                    let sample_type = type_of_sample(&Json::Object(message));
                    joined = join_types(std::mem::take(&mut joined), sample_type);
                },
            )?;
            (joined, rejected_lines)
        }
    };
    let InferredType::Record(record) = ty else {
        return Err(CliError::input_error(message!(
            "`{name}` contains neither messages (JSON objects) nor a JSON Schema of a message"
        )));
    };
    let text = format!("input {}", record.to_source());
    let text = format(&text).map(|formatted| formatted.text).unwrap_or(text + "\n");
    Ok((text, rejected_lines))
}

/// True if a JSON value looks like a JSON Schema and not like a message. It has the key `$schema`,
/// the type `object` with `properties`, or a reference to its own definitions.
fn is_json_schema(json: &Json) -> bool {
    let has_object = |key: &str| json.get(key).is_some_and(Json::is_object);
    json.get("$schema").is_some_and(Json::is_string)
        || json.get("type").and_then(Json::as_str) == Some("object") && has_object("properties")
        || json.get("$ref").is_some_and(Json::is_string) && (has_object("$defs") || has_object("definitions"))
}

/// Returns the type of a sample value.
fn type_of_sample(value: &Json) -> InferredType {
    match value {
        Json::Null => InferredType::Unknown,
        Json::Bool(_) => InferredType::Plain("bool"),
        Json::Number(number) if number.is_f64() => InferredType::Plain("float"),
        Json::Number(_) => InferredType::Plain("int"),
        Json::String(text) if parse_datetime(text).is_some() => InferredType::Plain("datetime"),
        Json::String(text) => InferredTexts::from_sample(text),
        Json::Array(items) => InferredType::List(Box::new(
            items.iter().map(type_of_sample).fold(InferredType::Unknown, join_types),
        )),
        Json::Object(map) => {
            let field = |value: &Json| InferredField {
                ty: type_of_sample(value),
                present_count: usize::from(!value.is_null()),
                is_required: false,
            };
            let fields = map.iter().map(|(key, value)| (key.clone(), field(value))).collect();
            InferredType::Record(InferredRecord { sample_count: 1, fields })
        }
    }
}

/// Returns a type that includes all values of both types, such as `number` for `int` and `float`;
/// `any` for types of different kinds, such as `int` and a list.
fn join_types(left: InferredType, right: InferredType) -> InferredType {
    match (left, right) {
        (InferredType::Unknown, ty) | (ty, InferredType::Unknown) => ty,
        (InferredType::Texts(left), InferredType::Texts(right)) => left.join(right),
        (InferredType::Texts(_), other) => join_types(InferredType::Plain("string"), other),
        (other, InferredType::Texts(_)) => join_types(other, InferredType::Plain("string")),
        (left, right) if left == right && !matches!(left, InferredType::Record(_)) => left,
        (InferredType::Plain(left), InferredType::Plain(right)) => {
            let is_number = |name| matches!(name, "int" | "float" | "number");
            let is_text = |name| matches!(name, "string" | "datetime");
            match () {
                () if is_number(left) && is_number(right) => InferredType::Plain("number"),
                () if is_text(left) && is_text(right) => InferredType::Plain("string"),
                () => InferredType::Any,
            }
        }
        (InferredType::List(left), InferredType::List(right)) => {
            InferredType::List(Box::new(join_types(*left, *right)))
        }
        (InferredType::Dict(left), InferredType::Dict(right)) => {
            InferredType::Dict(Box::new(join_types(*left, *right)))
        }
        (InferredType::Record(mut left), InferredType::Record(right)) => {
            left.sample_count += right.sample_count;
            for (key, field) in right.fields {
                let joined_field = left.fields.entry(key).or_default();
                joined_field.ty = join_types(std::mem::take(&mut joined_field.ty), field.ty);
                joined_field.present_count += field.present_count;
                joined_field.is_required &= field.is_required;
            }
            InferredType::Record(left)
        }
        _ => InferredType::Any,
    }
}

/// Returns the type that a JSON Schema describes. `root` is the whole schema, to which references
/// refer. `depth` is the number of schemas and references in which `schema` is nested.
fn type_of_schema(schema: &Json, root: &Json, depth: usize) -> InferredType {
    if depth > MAX_REFERENCE_DEPTH {
        return InferredType::Any;
    }
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(InferredType::Any, |schema| type_of_schema(schema, root, depth + 1));
    }
    if is_decimal_schema(schema) {
        return InferredType::Plain("decimal");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Json::Array(schemas)) = schema.get(key) {
            let types = schemas.iter().map(|schema| type_of_schema(schema, root, depth + 1));
            return types.fold(InferredType::Unknown, join_types);
        }
    }
    for key in ["const", "enum"] {
        match schema.get(key) {
            Some(Json::Array(values)) if key == "enum" => {
                return values.iter().map(type_of_constant).fold(InferredType::Unknown, join_types);
            }
            Some(value) if key == "const" => return type_of_constant(value),
            _ => {}
        }
    }
    let named_type = |name: &str| match name {
        "null" => InferredType::Unknown,
        "boolean" => InferredType::Plain("bool"),
        "integer" => InferredType::Plain("int"),
        "number" => InferredType::Plain("number"),
        "string" if schema.get("format").and_then(Json::as_str) == Some("date-time") => {
            InferredType::Plain("datetime")
        }
        "string" => InferredType::Plain("string"),
        "array" => InferredType::List(Box::new(
            schema.get("items").map_or(InferredType::Any, |items| type_of_schema(items, root, depth + 1)),
        )),
        "object" => type_of_object_schema(schema, root, depth),
        _ => InferredType::Any,
    };
    match schema.get("type") {
        Some(Json::String(name)) => named_type(name),
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).map(named_type).fold(InferredType::Unknown, join_types)
        }
        _ if schema.get("properties").is_some() => type_of_object_schema(schema, root, depth),
        _ => InferredType::Any,
    }
}

/// True for the JSON Schema of an exact decimal. Such a schema has the format `decimal`. Or it
/// allows both numbers and texts with a pattern, as pydantic writes a `Decimal`.
fn is_decimal_schema(schema: &Json) -> bool {
    let has_type = |part: &Json, names: &[&str]| {
        part.get("type").and_then(Json::as_str).is_some_and(|name| names.contains(&name))
    };
    let Some(parts) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array()) else {
        return schema.get("format").and_then(Json::as_str) == Some("decimal");
    };
    let has_number = parts.iter().any(|part| has_type(part, &["number", "integer"]));
    let has_pattern = parts.iter().any(|part| has_type(part, &["string"]) && part.get("pattern").is_some());
    has_number
        && has_pattern
        && parts.iter().all(|part| has_type(part, &["number", "integer", "string", "null"]))
}

fn type_of_object_schema(schema: &Json, root: &Json, depth: usize) -> InferredType {
    let no_properties = Map::new();
    let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&no_properties);
    if let (true, Some(values)) = (properties.is_empty(), schema.get("additionalProperties")) {
        return match values.is_object() {
            true => InferredType::Dict(Box::new(type_of_schema(values, root, depth + 1))),
            false => InferredType::Dict(Box::new(InferredType::Any)),
        };
    }
    if properties.is_empty() {
        return InferredType::Dict(Box::new(InferredType::Any));
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let field = |(name, property): (&String, &Json)| {
        let may_be_null = property
            .get("type")
            .and_then(Json::as_array)
            .is_some_and(|types| types.iter().any(|ty| ty == "null"));
        let required = required.contains(&name.as_str()) && !may_be_null;
        (
            name.clone(),
            InferredField {
                ty: type_of_schema(property, root, depth + 1),
                present_count: usize::from(required),
                is_required: required,
            },
        )
    };
    InferredType::Record(InferredRecord { sample_count: 1, fields: properties.iter().map(field).collect() })
}

/// Returns the type of a value in the keyword `enum` or `const` of a JSON Schema.
fn type_of_constant(value: &Json) -> InferredType {
    match value {
        Json::String(text) => InferredType::Texts(InferredTexts {
            distinct_texts: BTreeSet::from([text.clone()]),
            sample_count: 1,
            is_from_schema: true,
        }),
        other => type_of_sample(other),
    }
}

impl InferredTexts {
    fn from_sample(text: &str) -> InferredType {
        let is_value = !text.is_empty()
            && text.chars().count() <= MAX_ENUMERATION_CHARACTERS
            && !text.contains(char::is_whitespace);
        match is_value {
            true => InferredType::Texts(InferredTexts {
                distinct_texts: BTreeSet::from([text.to_owned()]),
                sample_count: 1,
                is_from_schema: false,
            }),
            false => InferredType::Plain("string"),
        }
    }

    fn join(mut self, other: InferredTexts) -> InferredType {
        self.distinct_texts.extend(other.distinct_texts);
        self.sample_count += other.sample_count;
        self.is_from_schema &= other.is_from_schema;
        match self.is_from_schema || self.distinct_texts.len() <= MAX_ENUMERATION_VALUES {
            true => InferredType::Texts(self),
            false => InferredType::Plain("string"),
        }
    }

    fn to_source(&self) -> String {
        let count = self.distinct_texts.len();
        let is_enumeration = match self.is_from_schema {
            // An enumeration value that is the name of a type, such as `"string"`, is rejected by
            // the compiler.
            true => {
                count <= MAX_SCHEMA_ENUM_VALUES
                    && !self.distinct_texts.iter().any(|value| Ty::from_builtin_name(value).is_some())
            }
            false => {
                count > 1 && self.sample_count >= MIN_ENUMERATION_SAMPLES.max(MIN_SAMPLES_PER_VALUE * count)
            }
        };
        match is_enumeration {
            true => {
                self.distinct_texts.iter().map(|value| quote_string(value)).collect::<Vec<_>>().join(" | ")
            }
            false => "string".to_owned(),
        }
    }
}

impl InferredType {
    fn to_source(&self) -> String {
        match self {
            InferredType::Texts(texts) => texts.to_source(),
            InferredType::Unknown | InferredType::Any => "any".to_owned(),
            InferredType::Plain(name) => (*name).to_owned(),
            InferredType::List(element) => format!("list<{}>", element.to_source()),
            InferredType::Dict(value) => format!("dict<{}>", value.to_source()),
            InferredType::Record(record) => record.to_dict_source().unwrap_or_else(|| record.to_source()),
        }
    }
}

impl InferredRecord {
    fn to_source(&self) -> String {
        let fields = self.fields.iter().map(|(name, field)| {
            let optional_mark = if field.present_count < self.sample_count { "?" } else { "" };
            format!("{}{optional_mark}: {}", quote_field_name(name), field.ty.to_source())
        });
        let fields = fields.collect::<Vec<_>>().join("\n");
        if fields.is_empty() { "dict<any>".to_owned() } else { format!("{{\n{fields}\n}}") }
    }

    /// Returns the source text of a dict type if the keys are data instead of field names,
    /// otherwise `None`. The keys are data if there are none, or if one is not a valid name. They
    /// are also data if there are more than [`MAX_RECORD_KEYS`], and each occurs in less than half
    /// of the samples. This needs at least [`MIN_SAMPLES_FOR_RARE_KEYS`] samples.
    fn to_dict_source(&self) -> Option<String> {
        let all_rare = self.fields.len() > MAX_RECORD_KEYS
            && self.sample_count >= MIN_SAMPLES_FOR_RARE_KEYS
            && self.fields.values().all(|field| field.present_count * 2 < self.sample_count);
        let is_data =
            self.fields.is_empty() || self.fields.keys().any(|key| !write::is_name(key)) || all_rare;
        let value =
            || self.fields.values().map(|field| field.ty.clone()).fold(InferredType::Unknown, join_types);
        is_data.then(|| format!("dict<{}>", value().to_source()))
    }
}

/// Returns a field name, in backquotes if it is not a valid name. Reserved words need no
/// backquotes, because a colon follows the field name.
fn quote_field_name(name: &str) -> String {
    if write::is_name(name) { name.to_owned() } else { format!("`{name}`") }
}
