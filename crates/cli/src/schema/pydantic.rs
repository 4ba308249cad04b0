//! `rulec schema --pydantic`: Python source with a pydantic model for the messages, for each
//! payload kind and for the arguments of each handler. `rulec.models` of the Python package creates
//! the same models at run time. The source exists because type checkers and editors need it.

use rulec::{Rules, payload};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::fmt::Write;
use unicode_ident::{is_xid_continue, is_xid_start};

/// Names of attributes of pydantic's `BaseModel`, and names in type annotations. A field with such
/// a name would hide the attribute or the type, so the field gets another name.
const RESERVED_FIELD_NAMES: &[&str] = &[
    "Any",
    "AwareDatetime",
    "Decimal",
    "Field",
    "Literal",
    "bool",
    "construct",
    "copy",
    "dict",
    "float",
    "from_orm",
    "int",
    "json",
    "list",
    "parse_file",
    "parse_obj",
    "parse_raw",
    "schema",
    "schema_json",
    "str",
    "update_forward_refs",
    "validate",
];
/// The keywords of Python 3, which cannot be attribute names.
const PYTHON_KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
/// Names that the generated Python module imports, and constants of Python. No model may have such
/// a name.
const RESERVED_CLASS_NAMES: &[&str] = &[
    "Any",
    "AwareDatetime",
    "BaseModel",
    "ConfigDict",
    "Decimal",
    "False",
    "Field",
    "Literal",
    "None",
    "True",
];
/// The types of JSON Schema, in the order in which a generated union lists them. An integer is
/// listed before a number, because pydantic tries the types in this order.
const JSON_SCHEMA_TYPES: &[&str] = &["boolean", "integer", "number", "string", "array", "object", "null"];

/// Returns Python source with the models of a rule set. `file` names the rules in the docstring of
/// the module.
pub fn write_models(rules: &Rules, file: &str) -> String {
    let mut module = PythonModule::default();
    module.write_class("Message", &rules.input_schema());
    for kind in payload::kinds(rules) {
        if let Ok(schema) = payload::schema(rules, kind) {
            module.write_class(&to_class_name(kind), &schema);
        }
    }
    for handler in rules.targets() {
        if let Some(schema) = rules.args_schema(handler) {
            module.write_class(&format!("{}Arguments", to_class_name(handler)), &schema);
        }
    }
    module.into_source(file)
}

/// A generated Python module with model classes. A class comes after the classes that it uses.
#[derive(Default)]
struct PythonModule {
    class_definitions: String,
    class_names: BTreeSet<String>,
    /// Pairs of a module and a name to import from it. The modules are `decimal`, `typing` and
    /// `pydantic`.
    imported_names: BTreeSet<(&'static str, &'static str)>,
    /// Whether an optional field uses the Python function `_is_none`, which must then be defined.
    has_optional_fields: bool,
    /// The base classes of the written classes: `_Closed` for records that refuse undeclared
    /// fields, `_Open` for records that keep undeclared fields.
    base_class_names: BTreeSet<&'static str>,
}

impl PythonModule {
    /// Writes the class of a record, after the classes of its inner records. Returns the name of
    /// the class, which is `wanted_name` unless another class has this name.
    fn write_class(&mut self, wanted_name: &str, schema: &Json) -> String {
        let mut name = wanted_name.to_owned();
        while RESERVED_CLASS_NAMES.contains(&&*name) || !self.class_names.insert(name.clone()) {
            name.push('_');
        }
        let is_closed = schema["additionalProperties"] == false;
        let base = if is_closed { "_Closed" } else { "_Open" };
        self.base_class_names.insert(base);
        let mut body = String::new();
        if let Some(text) = schema["description"].as_str() {
            let _ = writeln!(body, "    {}", to_python_expression(&Json::from(text)));
        }
        let empty = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&empty);
        let mut attributes = BTreeSet::new();
        for (field, inner) in fields {
            let mut attribute = to_attribute_name(field);
            while attributes.contains(&attribute) || (attribute != *field && fields.contains_key(&attribute))
            {
                attribute.push('_');
            }
            attributes.insert(attribute.clone());
            let required =
                schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == field));
            let line = self.field_declaration(&name, field, &attribute, inner, required);
            let _ = writeln!(body, "    {line}");
        }
        if body.is_empty() {
            body.push_str("    pass\n");
        }
        let _ = write!(self.class_definitions, "\n\nclass {name}({base}):\n{body}");
        name
    }

    /// Returns the Python declaration of a field: its attribute, type, limits and default. `class`
    /// is the name of the class that gets the field, `field` the name in the rules, and `attribute`
    /// the name in Python.
    fn field_declaration(
        &mut self,
        class: &str,
        field: &str,
        attribute: &str,
        schema: &Json,
        required: bool,
    ) -> String {
        let mut annotation = self.type_annotation(&format!("{class}{}", to_class_name(field)), schema);
        let mut options = Vec::new();
        if !required {
            let default = &schema["default"];
            let lists_none = annotation.starts_with("Literal[") && annotation.ends_with("None]");
            let takes_none = annotation == "Any" || annotation.ends_with("| None") || lists_none;
            if default.is_null() && !takes_none {
                annotation.push_str(" | None");
            }
            options.push(format!("default={}", to_python_expression(default)));
            options.push("exclude_if=_is_none".to_owned());
            self.has_optional_fields = true;
        }
        let has_open_end = !schema["exclusiveMaximum"].is_null();
        for (key, option) in [
            ("minimum", "ge"),
            ("maximum", "le"),
            ("exclusiveMaximum", "lt"),
            ("pattern", "pattern"),
            ("description", "description"),
        ] {
            if !(schema[key].is_null() || has_open_end && option == "le") {
                options.push(format!("{option}={}", to_python_expression(&schema[key])));
            }
        }
        if attribute != field {
            options.push(format!("alias={}", to_python_expression(&Json::from(field))));
        }
        if options.is_empty() {
            return format!("{attribute}: {annotation}");
        }
        self.imported_names.insert(("pydantic", "Field"));
        format!("{attribute}: {annotation} = Field({})", options.join(", "))
    }

    /// Returns the Python type annotation for a JSON Schema. `class` is the name for a new class if
    /// the schema describes a record.
    fn type_annotation(&mut self, class: &str, schema: &Json) -> String {
        let listed = match (&schema["const"], schema["enum"].as_array()) {
            (_, Some(values)) => values.clone(),
            (Json::Null, None) => Vec::new(),
            (value, None) => vec![value.clone()],
        };
        let fits_literal =
            |value: &Json| value.is_string() || value.is_boolean() || value.is_i64() || value.is_null();
        if !listed.is_empty() && listed.iter().all(fits_literal) {
            self.imported_names.insert(("typing", "Literal"));
            let values: Vec<String> = listed.iter().map(to_python_expression).collect();
            return format!("Literal[{}]", values.join(", "));
        }
        if let Some(alternatives) = schema["anyOf"].as_array() {
            let types: Vec<String> =
                alternatives.iter().map(|one| self.type_annotation(class, one)).collect();
            return types.join(" | ");
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Json::String(kind) => vec![kind],
            Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        if schema["format"] == "decimal" {
            self.imported_names.insert(("decimal", "Decimal"));
            return if kinds.contains(&"null") { "Decimal | None" } else { "Decimal" }.to_owned();
        }
        let types: Vec<String> = JSON_SCHEMA_TYPES
            .iter()
            .filter(|kind| kinds.contains(kind))
            .map(|kind| self.annotation_of_type(class, kind, schema))
            .collect();
        if types.is_empty() {
            self.imported_names.insert(("typing", "Any"));
            return "Any".to_owned();
        }
        types.join(" | ")
    }

    fn annotation_of_type(&mut self, class: &str, kind: &str, schema: &Json) -> String {
        match kind {
            "boolean" => "bool".to_owned(),
            "integer" => "int".to_owned(),
            "number" => "int | float".to_owned(),
            "string" if schema["format"] == "date-time" => {
                self.imported_names.insert(("pydantic", "AwareDatetime"));
                "AwareDatetime".to_owned()
            }
            "string" => "str".to_owned(),
            "array" => format!("list[{}]", self.type_annotation(class, &schema["items"])),
            "object" if schema["properties"].is_object() => self.write_class(class, schema),
            "object" => {
                format!("dict[str, {}]", self.type_annotation(class, &schema["additionalProperties"]))
            }
            _ => "None".to_owned(),
        }
    }

    fn into_source(mut self, file: &str) -> String {
        self.imported_names.extend([("pydantic", "BaseModel"), ("pydantic", "ConfigDict")]);
        let title = format!("Models of {file}, written by `rulec schema --pydantic`.");
        let mut text =
            format!("{}\n\nfrom __future__ import annotations\n\n", to_python_expression(&Json::from(title)));
        for (module, end) in [("decimal", "\n"), ("typing", "\n\n"), ("pydantic", "\n")] {
            let names: Vec<&str> = self
                .imported_names
                .iter()
                .filter(|(from, _)| *from == module)
                .map(|(_, name)| *name)
                .collect();
            if !names.is_empty() {
                let _ = write!(text, "from {module} import {}{end}", names.join(", "));
            } else if module == "typing" && text.contains("from decimal") {
                text.push('\n');
            }
        }
        if self.has_optional_fields {
            text.push_str("\n\ndef _is_none(value: object) -> bool:\n    return value is None\n");
        }
        for base in &self.base_class_names {
            let extra = if *base == "_Closed" { "forbid" } else { "allow" };
            let options = format!(
                "extra=\"{extra}\", populate_by_name=True, serialize_by_alias=True, protected_namespaces=()"
            );
            let _ = write!(text, "\n\nclass {base}(BaseModel):\n    model_config = ConfigDict({options})\n");
        }
        text + &self.class_definitions
    }
}

/// Converts a name in the rules to the name of a Python class: `create_node` to `CreateNode`.
fn to_class_name(name: &str) -> String {
    let name = to_identifier(name);
    let capitalize = |part: &str| {
        let mut chars = part.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect::<String>())
    };
    name.split('_').map(capitalize).collect()
}

/// Returns the Python attribute for a field. This is the field's name, unless the name is no
/// identifier or is reserved by Python or pydantic.
fn to_attribute_name(field: &str) -> String {
    let name = to_identifier(field);
    let is_reserved = PYTHON_KEYWORDS.contains(&&*name)
        || RESERVED_FIELD_NAMES.contains(&&*name)
        || name.starts_with("model_");
    match name.strip_prefix('_') {
        Some(rest) => to_identifier(&format!("{}_", rest.trim_start_matches('_'))),
        None if is_reserved => format!("{name}_"),
        None => name,
    }
}

/// Converts a name in the rules, which may be any text in backquotes, to a Python identifier.
fn to_identifier(name: &str) -> String {
    let name: String = name.chars().map(|c| if is_xid_continue(c) { c } else { '_' }).collect();
    match name.chars().find(|c| *c != '_') {
        Some(first) if is_xid_start(first) => name,
        _ => format!("field_{}", name.trim_start_matches('_')),
    }
}

/// Writes a JSON value as a Python expression.
fn to_python_expression(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Array(values) => {
            format!("[{}]", values.iter().map(to_python_expression).collect::<Vec<_>>().join(", "))
        }
        Json::Object(fields) => {
            let entry = |(key, value): (&String, &Json)| {
                format!("{}: {}", Json::from(&**key), to_python_expression(value))
            };
            format!("{{{}}}", fields.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        // The escapes of JSON mean the same in Python.
        Json::String(_) | Json::Number(_) => value.to_string(),
    }
}
