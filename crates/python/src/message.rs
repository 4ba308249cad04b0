//! Converts Python values to messages. Dicts, lists and scalars are read directly into the engine's
//! slots (its variables for message fields). This needs no JSON tree, and runs no Python code.
//! Other values, such as models, dataclasses, times and enumeration members, are converted to JSON
//! first.

use super::error::{is_message_error, message_error};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use pythonize::pythonize;
use rulec_base::decimal::Decimal;
use rulec_base::json::{DecimalPaths, MAX_NESTING_DEPTH};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Number, Value as Json};
use std::fmt::Display;

/// A Python dict, list or scalar that the engine reads directly, without a conversion to JSON.
pub struct DirectValue<'a, 'py> {
    value: &'a Bound<'py, PyAny>,
    depth: usize,
}

impl<'a, 'py> DirectValue<'a, 'py> {
    /// Wraps the outermost value of a message, whose nesting depth is 0.
    pub fn new(value: &'a Bound<'py, PyAny>) -> Self {
        DirectValue { value, depth: 0 }
    }
}

/// Returns the error for a value that cannot be read directly. The caller ignores the error and
/// converts the value to JSON. That conversion reports the error if the value is invalid.
fn not_direct_error<E: Error>() -> E {
    E::custom("not plain")
}

impl Serialize for DirectValue<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.value;
        if let Ok(text) = value.cast::<PyString>() {
            return serializer.serialize_str(text.to_str().map_err(|_| not_direct_error())?);
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let depth = self.inner_depth()?;
            let mut map = serializer.serialize_map(None)?;
            for (key, value) in dict {
                let key = key.cast::<PyString>().map_err(|_| not_direct_error())?;
                map.serialize_key(key.to_str().map_err(|_| not_direct_error())?)?;
                map.serialize_value(&DirectValue { value: &value, depth })?;
            }
            return map.end();
        }
        if let Ok(value) = value.cast::<PyBool>() {
            return serializer.serialize_bool(value.is_true());
        }
        if let Ok(int) = value.cast::<PyInt>() {
            if let Ok(int) = int.extract::<i64>() {
                return serializer.serialize_i64(int);
            }
            return match int.extract::<u64>() {
                Ok(int) => serializer.serialize_u64(int),
                // A larger integer becomes a float, as in the JSON reader.
                Err(_) => serializer.serialize_f64(int.extract::<f64>().map_err(|_| not_direct_error())?),
            };
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            if !float.value().is_finite() {
                return Err(not_direct_error());
            }
            return serializer.serialize_f64(float.value());
        }
        if value.is_none() {
            return serializer.serialize_unit();
        }
        if let Ok(list) = value.cast::<PyList>() {
            let depth = self.inner_depth()?;
            let mut seq = serializer.serialize_seq(Some(list.len()))?;
            for value in list {
                seq.serialize_element(&DirectValue { value: &value, depth })?;
            }
            return seq.end();
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            let depth = self.inner_depth()?;
            let mut seq = serializer.serialize_seq(Some(tuple.len()))?;
            for value in tuple {
                seq.serialize_element(&DirectValue { value: &value, depth })?;
            }
            return seq.end();
        }
        Err(not_direct_error())
    }
}

impl DirectValue<'_, '_> {
    /// Returns the nesting depth inside this list or dict. Fails if the depth exceeds the limit.
    fn inner_depth<E: Error>(&self) -> Result<usize, E> {
        if self.depth >= MAX_NESTING_DEPTH { Err(not_direct_error()) } else { Ok(self.depth + 1) }
    }
}

/// Converts a pydantic model to a dict, like `dump_model`. Returns a dict unchanged, without a
/// search for the method of a model, because that search would cost time for every message.
pub fn as_dict<'py>(message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if message.cast::<PyDict>().is_ok() { Ok(message.clone()) } else { dump_model(message) }
}

/// Converts a pydantic model to a dict of JSON types; other values are returned unchanged.
fn dump_model<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let name = intern!(value.py(), "model_dump");
    // The class of a model has the method `model_dump` too, but is not a model itself.
    match value.getattr_opt(name)? {
        Some(model_dump) if value.cast::<pyo3::types::PyType>().is_err() => {
            let options = PyDict::new(value.py());
            options.set_item(intern!(value.py(), "mode"), intern!(value.py(), "json"))?;
            model_dump.call((), Some(&options))
        }
        _ => Ok(value.clone()),
    }
}

/// Returns the bytes of a JSON text that a Python program passed as `str` or `bytes`.
pub fn text_bytes<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    match (text.cast::<PyString>(), text.cast::<PyBytes>()) {
        (Ok(text), _) => Ok(text.to_str()?.as_bytes()),
        (_, Ok(bytes)) => Ok(bytes.as_bytes()),
        _ => {
            let (found, help) = (type_name(text), "give a dict, a dataclass or a pydantic model to `decide`");
            Err(PyTypeError::new_err(format!(
                "JSON text is `str` or `bytes`, and this is a `{found}`; {help}"
            )))
        }
    }
}

/// Converts a Python value to JSON. `value_name` is the name of the value in error messages.
pub fn python_to_json(value: &Bound<'_, PyAny>, value_name: &str) -> PyResult<Json> {
    let decimal_paths = DecimalPaths::none();
    JsonConverter { value_name, value_path: Vec::new(), decimal_paths, accepted_values: AcceptedValues::Json }
        .convert_value(value)
}

/// True if the only invalid parts of a value are numbers such as `nan`, and texts with half a
/// surrogate pair. All other parts can be converted to JSON.
pub fn is_valid_except_unreadable(value: &Bound<'_, PyAny>) -> bool {
    let decimal_paths = DecimalPaths::none();
    JsonConverter {
        value_name: "",
        value_path: Vec::new(),
        decimal_paths,
        accepted_values: AcceptedValues::Unreadable,
    }
    .convert_value(value)
    .is_ok()
}

/// Converts a message to JSON after the decision about it. Values that JSON cannot represent become
/// null, because the program may have put them into the message since the decision.
pub fn python_to_json_object_lossy(value: &Bound<'_, PyAny>, decimal_paths: &DecimalPaths) -> PyResult<Json> {
    JsonConverter {
        value_name: "the message",
        value_path: Vec::new(),
        decimal_paths,
        accepted_values: AcceptedValues::Any,
    }
    .convert_value(value)
}

/// Converts a message to JSON. Fails if the message is not an object. A `decimal.Decimal` at one of
/// `decimal_paths` keeps all its digits. At other paths, it becomes the nearest float.
pub fn python_to_json_object(value: &Bound<'_, PyAny>, decimal_paths: &DecimalPaths) -> PyResult<Json> {
    let mut converter = JsonConverter {
        value_name: "the message",
        value_path: Vec::new(),
        decimal_paths,
        accepted_values: AcceptedValues::Json,
    };
    match converter.convert_value(value)? {
        Json::Object(map) => Ok(Json::Object(map)),
        _ => {
            let found = type_name(value);
            let help = "give a dict, a dataclass or a pydantic model; JSON text goes to `decide_json`";
            Err(message_error(format!("a message has fields, and this is a value of type `{found}`; {help}")))
        }
    }
}

/// Converts the arguments of a handler to a Python dict. At `decimal_paths`, numbers and texts that
/// contain numbers become `decimal.Decimal`.
pub fn args_to_python<'py>(
    py: Python<'py>,
    args: &Map<String, Json>,
    decimal_paths: &DecimalPaths,
) -> PyResult<Bound<'py, PyAny>> {
    if decimal_paths.is_empty() {
        return Ok(pythonize(py, args)?);
    }
    let dict = PyDict::new(py);
    for (name, value) in args {
        let decimal_paths = decimal_paths.field(name).unwrap_or(DecimalPaths::none());
        dict.set_item(name, exact_to_python(py, value, decimal_paths)?)?;
    }
    Ok(dict.into_any())
}

fn exact_to_python<'py>(
    py: Python<'py>,
    value: &Json,
    decimal_paths: &DecimalPaths,
) -> PyResult<Bound<'py, PyAny>> {
    let decimal = match value {
        Json::Object(fields) => return args_to_python(py, fields, decimal_paths),
        Json::Array(items) if !decimal_paths.is_empty() => {
            let decimal_paths = decimal_paths.elements().unwrap_or(DecimalPaths::none());
            let items = items.iter().map(|item| exact_to_python(py, item, decimal_paths));
            return Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any());
        }
        Json::Number(number) if decimal_paths.keeps_digits() => Decimal::parse(&number.to_string()),
        Json::String(text) if decimal_paths.keeps_digits() => Decimal::parse(text),
        _ => None,
    };
    match decimal {
        Some(decimal) => {
            py.import(intern!(py, "decimal"))?.call_method1(intern!(py, "Decimal"), (decimal.to_string(),))
        }
        None => Ok(pythonize(py, value)?),
    }
}

/// Returns the entries of a Python mapping, as pairs of name and value. Empty if there is no
/// mapping.
pub fn mapping_entries<'py>(
    mapping: Option<&Bound<'py, PyMapping>>,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    match mapping {
        Some(mapping) => mapping.items()?.iter().map(|item| item.extract()).collect(),
        None => Ok(Vec::new()),
    }
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().qualname().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// Converts Python values to JSON. Tracks the path of the current value, for error messages.
struct JsonConverter<'w> {
    value_name: &'w str,
    value_path: Vec<String>,
    /// The paths, at or inside the current value, at which rules read decimals. Numbers at these
    /// paths keep all their digits.
    decimal_paths: &'w DecimalPaths,
    accepted_values: AcceptedValues,
}

/// Selects which of the values that JSON cannot represent are converted to null. All other such
/// values are errors.
#[derive(Clone, Copy, PartialEq)]
enum AcceptedValues {
    /// No value is converted to null: every value that JSON cannot represent is an error.
    Json,
    /// Numbers such as `nan`, and texts with half a surrogate pair, are converted to null.
    Unreadable,
    /// All values that JSON cannot represent are converted to null.
    Any,
}

impl JsonConverter<'_> {
    fn convert_value(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Json> {
        match self.convert_strict_value(value) {
            Err(error)
                if self.accepted_values == AcceptedValues::Any && is_message_error(value.py(), &error) =>
            {
                Ok(Json::Null)
            }
            result => result,
        }
    }

    fn convert_strict_value(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Json> {
        if value.is_none() {
            return Ok(Json::Null);
        }
        if let Ok(text) = value.cast::<PyString>() {
            return match text.to_str() {
                Ok(text) => Ok(text.into()),
                Err(_) if self.accepted_values == AcceptedValues::Unreadable => Ok(Json::Null),
                Err(_) => {
                    Err(self.error_at_path("is a text with half a surrogate pair, which UTF-8 cannot hold"))
                }
            };
        }
        if let Ok(value) = value.cast::<PyBool>() {
            return Ok(value.is_true().into());
        }
        if let Ok(int) = value.cast::<PyInt>() {
            if let Ok(int) = int.extract::<i64>() {
                return Ok(int.into());
            }
            return match int.extract::<u64>() {
                Ok(int) => Ok(int.into()),
                Err(_) => match int.extract::<f64>() {
                    Ok(float) => Ok(float.into()),
                    Err(_) => Err(self.error_at_path("is a number beyond the range of a 64-bit float")),
                },
            };
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            if self.accepted_values == AcceptedValues::Unreadable && !float.value().is_finite() {
                return Ok(Json::Null);
            }
            let not_finite = || {
                let text = format!(
                    "is {}, which JSON has no form for; give None for a missing value",
                    float.value()
                );
                self.error_at_path(text)
            };
            return Number::from_f64(float.value()).map(Json::Number).ok_or_else(not_finite);
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.convert_nested(|tree| tree.convert_dict(&dict.items()));
        }
        if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
            return self.convert_nested(|tree| tree.convert_list(value));
        }
        self.convert_nested(|tree| tree.convert_other_type(value))
    }

    /// Calls `convert`, which converts a value inside the current value. Returns an error if the
    /// nesting is too deep.
    fn convert_nested(&mut self, convert: impl FnOnce(&mut Self) -> PyResult<Json>) -> PyResult<Json> {
        if self.value_path.len() >= MAX_NESTING_DEPTH {
            return Err(self.error_at_path(format!(
                "lies deeper than {MAX_NESTING_DEPTH} lists and dicts; does it hold itself?"
            )));
        }
        convert(self)
    }

    fn convert_dict(&mut self, items: &Bound<'_, PyAny>) -> PyResult<Json> {
        let mut map = Map::new();
        for item in items.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
            let Ok(key) = key.extract::<String>() else {
                return Err(
                    self.error_at_path(format!("has a key of type `{}`; keys are texts", type_name(&key)))
                );
            };
            self.value_path.push(format!(".{key}"));
            let decimal_paths = self.decimal_paths;
            self.decimal_paths = decimal_paths.field(&key).unwrap_or(DecimalPaths::none());
            map.insert(key, self.convert_value(&value)?);
            self.decimal_paths = decimal_paths;
            self.value_path.pop();
        }
        Ok(Json::Object(map))
    }

    fn convert_list(&mut self, items: &Bound<'_, PyAny>) -> PyResult<Json> {
        let mut list = Vec::new();
        let decimal_paths = self.decimal_paths;
        self.decimal_paths = decimal_paths.elements().unwrap_or(DecimalPaths::none());
        for (index, item) in items.try_iter()?.enumerate() {
            self.value_path.push(format!("[{index}]"));
            list.push(self.convert_value(&item?)?);
            self.value_path.pop();
        }
        self.decimal_paths = decimal_paths;
        Ok(Json::Array(list))
    }

    /// Converts a value of a Python type that JSON lacks, such as a time or a dataclass.
    fn convert_other_type(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Json> {
        let py = value.py();
        let dumped = dump_model(value)?;
        if !dumped.is(value) {
            return self.convert_value(&dumped);
        }
        let class = value.get_type();
        if let Some(fields) = class.getattr_opt(intern!(py, "__dataclass_fields__"))? {
            let fields = fields.call_method0(intern!(py, "keys"))?.try_iter()?;
            let items = fields.map(|name| {
                name.and_then(|name| Ok((name.clone(), value.getattr(name.cast::<PyString>()?)?)))
            });
            return self.convert_dict(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.as_any());
        }
        match conversion_of(value)? {
            Some(JsonConversion::EnumMember) => self.convert_value(&value.getattr(intern!(py, "value"))?),
            Some(JsonConversion::DateTime) => {
                let zone = value.call_method0(intern!(py, "utcoffset"))?;
                if zone.is_none() {
                    let help = "give it one: `.replace(tzinfo=timezone.utc)`";
                    return Err(self.error_at_path(format!("is a time without a time zone; {help}")));
                }
                self.convert_value(&value.call_method0(intern!(py, "isoformat"))?)
            }
            Some(JsonConversion::Date) => self.convert_value(&value.call_method0(intern!(py, "isoformat"))?),
            Some(JsonConversion::Text) => self.convert_value(value.str()?.as_any()),
            Some(JsonConversion::Decimal) if self.decimal_paths.keeps_digits() => {
                self.convert_value(value.str()?.as_any())
            }
            Some(JsonConversion::Number | JsonConversion::Decimal) => {
                self.convert_value(&value.call_method0(intern!(py, "__float__"))?)
            }
            Some(JsonConversion::Scalar) => self.convert_value(&value.call_method0(intern!(py, "item"))?),
            Some(JsonConversion::Mapping) => self.convert_dict(&value.call_method0(intern!(py, "items"))?),
            Some(JsonConversion::List) => self.convert_list(value),
            None => Err(self.error_at_path(format!(
                "is a value of type `{}`, which JSON has no form for; give text, a number, a list or a dict",
                type_name(value)
            ))),
        }
    }

    /// Returns an error about the value at the current path.
    fn error_at_path(&self, problem: impl Display) -> PyErr {
        let path = self.value_path.concat();
        let location = if path.is_empty() {
            self.value_name.to_owned()
        } else {
            format!("`{}`", path.trim_start_matches('.'))
        };
        message_error(format!("{location} {problem}"))
    }
}

/// How to convert a value of a Python type that JSON lacks.
#[derive(Clone, Copy)]
enum JsonConversion {
    /// A member of a Python enumeration, which is converted as the member's value.
    EnumMember,
    DateTime,
    Date,
    Text,
    Number,
    /// A decimal number, which is converted to text at paths where rules read decimals, and
    /// elsewhere to the nearest float.
    Decimal,
    /// A NumPy scalar, converted as the equal Python scalar.
    Scalar,
    Mapping,
    List,
}

/// The classes whose instances can be converted to JSON, as tuples of module, class name and
/// conversion. The first entry that matches a value applies.
const CONVERTED_CLASSES: [(&str, &str, JsonConversion); 12] = [
    ("enum", "Enum", JsonConversion::EnumMember),
    ("datetime", "datetime", JsonConversion::DateTime),
    ("datetime", "date", JsonConversion::Date),
    ("datetime", "time", JsonConversion::Date),
    ("decimal", "Decimal", JsonConversion::Decimal),
    ("fractions", "Fraction", JsonConversion::Number),
    ("uuid", "UUID", JsonConversion::Text),
    ("pathlib", "PurePath", JsonConversion::Text),
    ("collections.abc", "Mapping", JsonConversion::Mapping),
    ("collections.abc", "Set", JsonConversion::List),
    ("collections.abc", "Sequence", JsonConversion::List),
    ("numpy", "generic", JsonConversion::Scalar),
];

fn conversion_of(value: &Bound<'_, PyAny>) -> PyResult<Option<JsonConversion>> {
    if value.cast::<PyBytes>().is_ok() {
        return Ok(None);
    }
    let py = value.py();
    let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
    for (module, class, like) in CONVERTED_CLASSES {
        // If the module is not imported, the value cannot be an instance of its class.
        let Ok(module) = modules.get_item(module) else { continue };
        if value.is_instance(&module.getattr(class)?)? {
            return Ok(Some(like));
        }
    }
    Ok(None)
}
