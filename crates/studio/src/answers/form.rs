//! Builds the fields of an input form, from the declared input or from the fields that rules read.
//! Also builds an example message.

use crate::api::{Control, FormField};
use rulec_eval::trace::mask_message;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, RecordType, Ty};
use rulec_sema::hir::{
    AllowedValues, Const, Expr, ExprKind, FieldShape, ObjectSchema, Operand, Part, Payload, Predicate,
    Program, Term,
};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeSet, HashMap};

/// Maximum number of suggested values per form field.
const MAX_FIELD_SUGGESTIONS: usize = 40;

/// The texts that the rules compare with each message field, by the path of the field. The input
/// form for a message suggests them as values of the field.
pub(crate) struct ComparedTexts(HashMap<String, BTreeSet<String>>);

impl ComparedTexts {
    pub fn new(program: &Program) -> ComparedTexts {
        let mut compared = ComparedTexts(HashMap::new());
        let bodies = program.lets.iter().map(|binding| match &binding.body {
            Term::Cond(cond) => Part::Cond(cond),
            Term::Expr(expr) => Part::Expr(expr),
        });
        let conditions = program.rules.iter().map(|rule| Part::Cond(&rule.condition));
        let mut pending: Vec<Part<'_>> = bodies.chain(conditions).collect();
        while let Some(part) = pending.pop() {
            if let Part::Cond(cond) = part
                && let rulec_sema::hir::CondKind::Predicate(test) = &cond.kind
            {
                compared.add_predicate(program, test);
            }
            pending.extend(part.parts());
        }
        compared
    }

    fn add_predicate(&mut self, program: &Program, test: &Predicate) {
        let (ExprKind::Slot(slot), Some(Op::Eq | Op::Ne | Op::In)) = (&test.left.kind, test.op) else {
            return;
        };
        let Operand::Value(Expr { kind: ExprKind::Const(value), .. }) = &test.right else { return };
        let Const::Json(value) = value else { return };
        let values = match &**value {
            Json::Array(values) => values.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            Json::String(value) => vec![value.clone()],
            _ => Vec::new(),
        };
        let texts = self.0.entry(program.slots[slot.index()].name()).or_default();
        texts.extend(values);
        while texts.len() > MAX_FIELD_SUGGESTIONS {
            texts.pop_last();
        }
    }

    fn suggestions(&self, path: &str) -> Vec<String> {
        self.0.get(path).into_iter().flatten().cloned().collect()
    }
}

/// Returns the form fields for a record type. `parent_path` is the path of the record in the
/// message; empty for the message itself. `compared` contains the texts that the form suggests as
/// values.
pub(crate) fn record_fields(
    record: &RecordType,
    parent_path: &str,
    compared: &ComparedTexts,
) -> Vec<FormField> {
    let field = |field: &rulec_lang::ty::Field| {
        let path = if parent_path.is_empty() {
            field.name.to_string()
        } else {
            format!("{parent_path}.{}", field.name)
        };
        FormField {
            name: field.name.to_string(),
            ty: field.ty.to_string(),
            control: control_for_type(&field.ty),
            optional: field.is_optional,
            private: field.is_private,
            fields: field.ty.fields().map(|inner| record_fields(inner, &path, compared)).unwrap_or_default(),
            suggestions: compared.suggestions(&path),
        }
    };
    record.fields.iter().map(field).collect()
}

/// Returns the form fields for a payload, as its `payload` statement declares them.
pub(crate) fn payload_fields(payload: &Payload) -> Vec<FormField> {
    object_fields(&payload.object)
}

fn object_fields(object: &ObjectSchema) -> Vec<FormField> {
    let field = |field: &rulec_sema::hir::PayloadField| {
        let (ty, control, fields) = match &field.shape {
            FieldShape::Plain(ty) => (ty.to_string(), control_for_type(ty), Vec::new()),
            FieldShape::Object(inner) => ("{ … }".to_owned(), Control::Record, object_fields(inner)),
            FieldShape::Objects(_) => ("list<{ … }>".to_owned(), Control::Json, Vec::new()),
        };
        let suggestions = match &field.allowed_values {
            Some(AllowedValues::OneOf(values)) => {
                values.iter().filter_map(Json::as_str).map(str::to_owned).collect()
            }
            _ => field.only_value.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        };
        let name = field.name.to_string();
        FormField { name, ty, control, optional: field.is_optional, private: false, fields, suggestions }
    };
    object.fields.iter().map(field).collect()
}

fn control_for_type(ty: &Ty) -> Control {
    match ty.kinds {
        KindSet::STRING => Control::Text,
        KindSet::INT => Control::Int,
        KindSet::FLOAT | KindSet::NUMBER => Control::Number,
        KindSet::BOOL => Control::Bool,
        KindSet::DATETIME => Control::Datetime,
        KindSet::LIST if ty.element().kinds == KindSet::STRING => Control::Texts,
        _ if ty.fields().is_some() => Control::Record,
        _ => Control::Json,
    }
}

/// Returns the example message that fills a new form: the message of the first test of the routes
/// outside any table. Without such a test, each field gets a default value. A message with private
/// values is used only if `show_private` is true.
pub(crate) fn example_message(program: &Program, fields: &[FormField], show_private: bool) -> Json {
    let is_shown = |message: &Json| show_private || mask_message(program, message) == *message;
    let is_example = |test: &&rulec_sema::hir::Test| test.entry_table.0 == 0 && is_shown(&test.message);
    match program.tests.iter().find(is_example) {
        Some(test) => test.message.clone(),
        None => default_values(fields),
    }
}

fn default_values(fields: &[FormField]) -> Json {
    let value = |field: &FormField| match field.control {
        Control::Text => field.suggestions.first().map_or("", String::as_str).into(),
        Control::Int | Control::Number => 0.into(),
        Control::Bool => false.into(),
        Control::Datetime => "2026-01-31T12:00:00Z".into(),
        Control::Texts => Json::Array(Vec::new()),
        Control::Record => default_values(&field.fields),
        Control::Json => Json::Null,
    };
    let editable_fields = fields.iter().filter(|field| field.control != Control::Json);
    Json::Object(editable_fields.map(|field| (field.name.clone(), value(field))).collect::<Map<_, _>>())
}
