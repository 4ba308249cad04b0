//! `rulec schema --from`: derives an `input` block from sample messages or from a JSON Schema.
//! Types that cannot be determined become `any`, which is checked at run time.

use super::stream;
use super::term::Term;
use super::{CliError, files, stdio};
use rulec_base::message;
use rulec_lang::value::parse_datetime;
use rulec_syntax::format::format;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum depth of nested references in a JSON Schema. Deeper or cyclic references become `any`.
const MAX_DEPTH: usize = 16;
/// An object type with more keys than this is a dict, if each key occurs in less than half of the
/// samples.
const MANY_KEYS: usize = 12;
/// Minimum number of sample objects for treating any key as rare. A JSON Schema counts as one
/// sample, because the schema names its properties.
const FEW_SEEN: usize = 3;
/// Maximum size of a JSON Schema in bytes.
const MAX_SCHEMA: usize = 64 << 20;

/// The type inferred from sample values or from a schema.
#[derive(Clone, Debug, Default, PartialEq)]
enum Ty {
    /// The type of a value that was null in every sample.
    #[default]
    Unknown,
    Plain(&'static str),
    List(Box<Ty>),
    Dict(Box<Ty>),
    Record(Record),
    Any,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Record {
    /// Number of sample objects from which the record type was inferred.
    times: usize,
    fields: BTreeMap<String, Field>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Field {
    ty: Ty,
    /// Number of sample objects in which the field was present and not null.
    times: usize,
    /// Whether the JSON Schema requires the field.
    required: bool,
}

/// Returns the `input` block for the messages of a file, and the number of lines that are not
/// messages.
pub fn input(path: &Path, term: &Term) -> Result<(String, usize), CliError> {
    let (bytes, name) = if path == Path::new("-") {
        (None, stdio::name())
    } else {
        (Some(files::read(path)), path.display().to_string())
    };
    // The file may be a single JSON value: one object over several lines, or a JSON Schema.
    let whole = match bytes {
        Some(Ok((bytes, _))) if bytes.len() < MAX_SCHEMA => serde_json::from_slice::<Json>(&bytes).ok(),
        Some(Err(error)) if !path.is_file() => return Err(error),
        _ => None,
    };
    let (ty, refused) = match whole {
        Some(schema) if is_schema(&schema) => (described(&schema, &schema, 0), 0),
        _ => {
            let mut all = Ty::Unknown;
            let refused = stream::objects(path, term, |_, message| {
                let seen = seen(&Json::Object(message));
                all = join(std::mem::take(&mut all), seen);
            })?;
            (all, refused)
        }
    };
    let Ty::Record(record) = ty else {
        return Err(CliError::error(message!(
            "`{name}` contains neither messages (JSON objects) nor a JSON Schema of a message"
        )));
    };
    let text = format!("input {}", record.shown());
    let text = format(&text).map(|formatted| formatted.text).unwrap_or(text + "\n");
    Ok((text, refused))
}

/// True for a JSON Schema. A schema has a type and properties whose values are schemas; a message
/// may have fields of the same names.
fn is_schema(json: &Json) -> bool {
    let described = |key: &str| json.get(key).is_some_and(Json::is_object);
    json.get("$schema").is_some_and(Json::is_string)
        || json.get("type").and_then(Json::as_str) == Some("object") && described("properties")
        || json.get("$ref").is_some_and(Json::is_string) && (described("$defs") || described("definitions"))
}

/// Returns the type of a sample value.
fn seen(value: &Json) -> Ty {
    match value {
        Json::Null => Ty::Unknown,
        Json::Bool(_) => Ty::Plain("bool"),
        Json::Number(number) if number.is_f64() => Ty::Plain("float"),
        Json::Number(_) => Ty::Plain("int"),
        Json::String(text) if parse_datetime(text).is_some() => Ty::Plain("datetime"),
        Json::String(_) => Ty::Plain("string"),
        Json::Array(items) => Ty::List(Box::new(items.iter().map(seen).fold(Ty::Unknown, join))),
        Json::Object(map) => {
            let field = |value: &Json| Field {
                ty: seen(value),
                times: usize::from(!value.is_null()),
                required: false,
            };
            let fields = map.iter().map(|(key, value)| (key.clone(), field(value))).collect();
            Ty::Record(Record { times: 1, fields })
        }
    }
}

/// Returns a type that covers the values of both types.
fn join(one: Ty, other: Ty) -> Ty {
    match (one, other) {
        (Ty::Unknown, ty) | (ty, Ty::Unknown) => ty,
        (one, other) if one == other && !matches!(one, Ty::Record(_)) => one,
        (Ty::Plain(one), Ty::Plain(other)) => {
            let numbers = |name| matches!(name, "int" | "float" | "number");
            let texts = |name| matches!(name, "string" | "datetime");
            match () {
                () if numbers(one) && numbers(other) => Ty::Plain("number"),
                () if texts(one) && texts(other) => Ty::Plain("string"),
                () => Ty::Any,
            }
        }
        (Ty::List(one), Ty::List(other)) => Ty::List(Box::new(join(*one, *other))),
        (Ty::Dict(one), Ty::Dict(other)) => Ty::Dict(Box::new(join(*one, *other))),
        (Ty::Record(mut one), Ty::Record(other)) => {
            one.times += other.times;
            for (key, field) in other.fields {
                let known = one.fields.entry(key).or_default();
                known.ty = join(std::mem::take(&mut known.ty), field.ty);
                known.times += field.times;
                known.required &= field.required;
            }
            Ty::Record(one)
        }
        _ => Ty::Any,
    }
}

/// Returns the type that a JSON Schema describes.
fn described(schema: &Json, root: &Json, depth: usize) -> Ty {
    if depth > MAX_DEPTH {
        return Ty::Any;
    }
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or(Ty::Any, |schema| described(schema, root, depth + 1));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Json::Array(schemas)) = schema.get(key) {
            let types = schemas.iter().map(|schema| described(schema, root, depth + 1));
            return types.fold(Ty::Unknown, join);
        }
    }
    for key in ["const", "enum"] {
        match schema.get(key) {
            Some(Json::Array(values)) if key == "enum" => {
                return values.iter().map(seen).fold(Ty::Unknown, join);
            }
            Some(value) if key == "const" => return seen(value),
            _ => {}
        }
    }
    let of = |name: &str| match name {
        "null" => Ty::Unknown,
        "boolean" => Ty::Plain("bool"),
        "integer" => Ty::Plain("int"),
        "number" => Ty::Plain("number"),
        "string" if schema.get("format").and_then(Json::as_str) == Some("date-time") => Ty::Plain("datetime"),
        "string" => Ty::Plain("string"),
        "array" => {
            Ty::List(Box::new(schema.get("items").map_or(Ty::Any, |items| described(items, root, depth + 1))))
        }
        "object" => object(schema, root, depth),
        _ => Ty::Any,
    };
    match schema.get("type") {
        Some(Json::String(name)) => of(name),
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).map(of).fold(Ty::Unknown, join),
        _ if schema.get("properties").is_some() => object(schema, root, depth),
        _ => Ty::Any,
    }
}

fn object(schema: &Json, root: &Json, depth: usize) -> Ty {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
    if let (true, Some(values)) = (properties.is_empty(), schema.get("additionalProperties")) {
        return match values.is_object() {
            true => Ty::Dict(Box::new(described(values, root, depth + 1))),
            false => Ty::Dict(Box::new(Ty::Any)),
        };
    }
    if properties.is_empty() {
        return Ty::Dict(Box::new(Ty::Any));
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
            Field { ty: described(property, root, depth + 1), times: usize::from(required), required },
        )
    };
    Ty::Record(Record { times: 1, fields: properties.iter().map(field).collect() })
}

impl Ty {
    fn shown(&self) -> String {
        match self {
            Ty::Unknown | Ty::Any => "any".to_owned(),
            Ty::Plain(name) => (*name).to_owned(),
            Ty::List(element) => format!("list<{}>", element.shown()),
            Ty::Dict(value) => format!("dict<{}>", value.shown()),
            Ty::Record(record) => record.as_dict().unwrap_or_else(|| record.shown()),
        }
    }
}

impl Record {
    fn shown(&self) -> String {
        let fields = self.fields.iter().map(|(name, field)| {
            let mark = if field.times < self.times { "?" } else { "" };
            format!("{}{mark}: {}", quoted(name), field.ty.shown())
        });
        let fields = fields.collect::<Vec<_>>().join("\n");
        if fields.is_empty() { "dict<any>".to_owned() } else { format!("{{\n{fields}\n}}") }
    }

    /// Returns the dict type if the keys are data instead of field names. The keys are data if one
    /// of them is not a valid name, or if there are many keys and each is rare.
    fn as_dict(&self) -> Option<String> {
        let rare = self.fields.len() > MANY_KEYS
            && self.times >= FEW_SEEN
            && self.fields.values().all(|field| field.times * 2 < self.times);
        let is_data = self.fields.is_empty() || self.fields.keys().any(|key| !is_name(key)) || rare;
        let value = || self.fields.values().map(|field| field.ty.clone()).fold(Ty::Unknown, join);
        is_data.then(|| format!("dict<{}>", value().shown()))
    }
}

fn is_name(key: &str) -> bool {
    let mut letters = key.chars();
    letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns a field name, in backquotes if it is not a valid name. Before a colon, reserved words
/// need no backquotes.
fn quoted(name: &str) -> String {
    if is_name(name) { name.to_owned() } else { format!("`{name}`") }
}
