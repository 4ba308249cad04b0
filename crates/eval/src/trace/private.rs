//! Masks `@private` values wherever an explanation could show them: in operands, computed values,
//! records and lists, and error texts of host functions. Also truncates long values.

use super::Operand;
use rulec_base::text::truncate_chars;
use rulec_lang::ty::{InnerType, Kind, RecordType, Ty};
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, ExprKind, LetId, Outcome, Part, Program, Slot, Term, VarId};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The text that replaces a private value.
pub const MASK: &str = "•••";

/// Maximum length of a text inside a shown value, in characters.
pub(super) const MAX_TEXT_CHARS: usize = 1000;
/// Maximum number of shown elements of a list or keys of a dict.
const MAX_ITEMS: usize = 20;
/// Maximum nesting depth of a shown value.
const MAX_DEPTH: usize = 8;

pub(super) struct PrivacyMask<'a> {
    program: &'a Program,
    pub(super) show_private: bool,
    /// Whether each `let` reads a private value; `None` if not computed yet.
    lets: Vec<Option<bool>>,
    /// The quantifier variables in scope, each with two facts about its list: whether the list is
    /// private, and the type of the list's elements.
    vars: Vec<(VarId, bool, Ty)>,
}

impl<'a> PrivacyMask<'a> {
    pub(super) fn new(program: &'a Program, show_private: bool) -> Self {
        PrivacyMask { program, show_private, lets: vec![None; program.lets.len()], vars: Vec::new() }
    }

    /// True if the value of the expression is private and must be masked as a whole.
    pub(super) fn is_private(&mut self, expr: &Expr) -> bool {
        !self.show_private && self.reads_private(expr)
    }

    /// Adds a quantifier variable to the scope.
    pub(super) fn enter_quantifier(&mut self, var: VarId, list: &Expr) {
        let (private, ty) = (self.is_private(list), self.expr_type(list).element());
        self.vars.push((var, private, ty));
    }

    /// Removes the innermost quantifier variable. Returns whether the variable's list is private,
    /// and the type of the list's elements.
    pub(super) fn leave_quantifier(&mut self) -> (bool, Ty) {
        self.vars.pop().map_or((false, Ty::ANY), |(_, private, ty)| (private, ty))
    }

    fn reads_private(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Slot(id) => self.is_slot_private(&self.program.slots[id.index()]),
            ExprKind::Var(id) => self
                .vars
                .iter()
                .any(|(other, has_private_field_named, _)| other == id && *has_private_field_named),
            ExprKind::Field(base, name) => {
                let has_private_field_named = |ty: &Ty| {
                    ty.fields().and_then(|fields| fields.get(name)).is_some_and(|field| field.private)
                };
                has_private_field_named(&self.expr_type(base)) || self.reads_private(base)
            }
            ExprKind::Index(base, index) => {
                let ty = self.expr_type(base);
                let may_index_private = ty.fields().is_some() && may_contain_private(&ty);
                may_index_private || self.reads_private(base) || self.part_reads_private(Part::Expr(index))
            }
            ExprKind::Read(inner, _) => self.reads_private(inner),
            _ => expr.parts().into_iter().any(|part| self.part_reads_private(part)),
        }
    }

    /// True if the condition or value reads a private value.
    fn part_reads_private(&mut self, part: Part<'_>) -> bool {
        match part {
            Part::Expr(expr) => may_contain_private(&self.expr_type(expr)) || self.reads_private(expr),
            Part::Cond(cond) => cond.parts().into_iter().any(|part| self.part_reads_private(part)),
            Part::Let(id) => self.let_reads_private(id),
        }
    }

    fn let_reads_private(&mut self, id: LetId) -> bool {
        if let Some(cached) = self.lets[id.index()] {
            return cached;
        }
        self.lets[id.index()] = Some(false);
        let private = match self.program.let_body(id).part() {
            Part::Expr(expr) => self.reads_private(expr),
            part => self.part_reads_private(part),
        };
        self.lets[id.index()] = Some(private);
        private
    }

    fn is_slot_private(&self, slot: &Slot) -> bool {
        slot.private || self.declared_type(slot).1
    }

    /// Returns the declared type of a slot, and whether the slot or an enclosing record is private.
    fn declared_type(&self, slot: &Slot) -> (Ty, bool) {
        fn type_at_path(ty: &Ty, path: &[Arc<str>], private: bool) -> (Ty, bool) {
            match (path.split_first(), &ty.inner) {
                (None, _) => (ty.clone(), private),
                (Some((key, rest)), InnerType::Fields(record)) => match record.get(key) {
                    Some(field) => type_at_path(&field.ty, rest, private || field.private),
                    None => (Ty::ANY, private),
                },
                (Some((_, rest)), InnerType::Element(element)) => type_at_path(element, rest, private),
                (Some(_), InnerType::Unknown) => (Ty::ANY, private),
            }
        }
        // A declared input describes only the message, not the bindings of payload rules.
        let input = self.program.input.as_ref().filter(|_| slot.root.is_none());
        let first = slot.path.split_first().zip(input);
        match first.and_then(|((key, rest), input)| Some((input.get(key)?, rest))) {
            Some((field, rest)) => type_at_path(&field.ty, rest, field.private),
            None => (Ty::ANY, false),
        }
    }

    /// Returns the type that decides which parts of an expression's value are masked. For a message
    /// field whose declared type contains private fields, the result is the declared type. For any
    /// other expression, the result is the type that the checker determined.
    pub(super) fn expr_type(&self, expr: &Expr) -> Ty {
        match &expr.kind {
            ExprKind::Var(id) => match self.vars.iter().rev().find(|(other, ..)| other == id) {
                Some((_, _, ty)) if may_contain_private(ty) => ty.clone(),
                _ => expr.ty.clone(),
            },
            ExprKind::Slot(id) => {
                let declared = self.declared_type(&self.program.slots[id.index()]).0;
                if may_contain_private(&declared) { declared } else { expr.ty.clone() }
            }
            ExprKind::Read(inner, _) => self.expr_type(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.expr_type(body),
                Term::Cond(_) => expr.ty.clone(),
            },
            _ => expr.ty.clone(),
        }
    }

    /// Converts the value of an expression to an operand, masked and truncated.
    pub(super) fn masked_operand(&mut self, text: String, value: Value<'_>, expr: &Expr) -> Operand {
        let private = self.is_private(expr);
        let ty = self.expr_type(expr);
        self.to_operand(text, value, private, &ty)
    }

    /// Masks the private parts of a handler's arguments. Nothing is truncated.
    pub(super) fn mask_arguments(
        &mut self,
        outcome: &Outcome,
        arg_values: &Map<String, Json>,
    ) -> Map<String, Json> {
        let Outcome::Handler { args, .. } = outcome else { return arg_values.clone() };
        let program = self.program;
        let masked = arg_values.iter().map(|(name, value)| {
            let argument = args.iter().find(|argument| *argument.name == **name);
            let masked = match argument.map(|argument| program.value(argument.value)) {
                Some(_) if self.show_private => value.clone(),
                Some(expr) if value.is_null() || !self.is_private(expr) => {
                    mask_value(value.clone(), &self.expr_type(expr))
                }
                // The argument is private, or no argument of this name exists.
                _ => Json::from(MASK),
            };
            (name.clone(), masked)
        });
        masked.collect()
    }

    /// Converts the value at a slot's path to an operand. The value may have another kind than the
    /// rules expect.
    pub(super) fn raw_field_operand(&self, slot: &Slot, value: Value<'_>) -> Operand {
        let (ty, private) = self.declared_type(slot);
        let private = !self.show_private && (private || slot.private);
        self.to_operand(slot.name(), value, private, &ty)
    }

    /// Converts a value of type `ty` to an operand, and truncates it. Masks the whole value if
    /// `private`, otherwise its private fields.
    pub(super) fn to_operand(&self, text: String, value: Value<'_>, private: bool, ty: &Ty) -> Operand {
        let mut operand = Operand { text, ..Operand::default() };
        if value.is_missing() {
            operand.missing = true;
            return operand;
        }
        if private {
            operand.masked = true;
            operand.value = Some(Json::from(MASK));
            return operand;
        }
        let (json, length) = truncate_to_json(value);
        operand.length = length;
        let masks_fields = !self.show_private && may_contain_private(ty);
        operand.value = Some(if masks_fields { mask_value(json, ty) } else { json });
        operand.masked = operand.value.as_ref() == Some(&Json::from(MASK)) && masks_fields;
        operand
    }
}

/// True if values of the type may contain a private field.
fn may_contain_private(ty: &Ty) -> bool {
    match &ty.inner {
        InnerType::Unknown => false,
        InnerType::Element(element) => may_contain_private(element),
        InnerType::Fields(record) => has_private_field(record),
    }
}

fn has_private_field(record: &RecordType) -> bool {
    record.fields.iter().any(|field| field.private || may_contain_private(&field.ty))
}

/// Masks the values of `@private` fields in a message. Nothing is truncated.
pub fn mask_message(program: &Program, message: &Json) -> Json {
    match (&program.input, message) {
        (Some(input), Json::Object(map)) if has_private_field(input) => mask_fields(map.clone(), input),
        // The message does not have the declared shape, so any part may be private.
        (Some(input), _) if has_private_field(input) => Json::from(MASK),
        _ => message.clone(),
    }
}

/// Masks the values from `@private` fields in a handler's arguments.
pub fn mask_args(program: &Program, outcome: &Outcome, arg_values: &Map<String, Json>) -> Map<String, Json> {
    PrivacyMask::new(program, false).mask_arguments(outcome, arg_values)
}

fn mask_fields(map: Map<String, Json>, record: &RecordType) -> Json {
    let fields = map.into_iter().map(|(key, value)| {
        let value = match record.get(&key) {
            Some(field) if field.private => Json::from(MASK),
            Some(field) => mask_value(value, &field.ty),
            None => value,
        };
        (key, value)
    });
    Json::Object(fields.collect())
}

/// Masks the private parts of a value. A value whose shape does not fit the type is masked
/// completely, because any part may be private.
fn mask_value(json: Json, ty: &Ty) -> Json {
    if !may_contain_private(ty) {
        return json;
    }
    match (json, &ty.inner) {
        (Json::Null, _) => Json::Null,
        (Json::Object(map), InnerType::Fields(record)) => mask_fields(map, record),
        (Json::Object(map), InnerType::Element(element)) => {
            Json::Object(map.into_iter().map(|(key, value)| (key, mask_value(value, element))).collect())
        }
        (Json::Array(items), InnerType::Element(element)) => {
            Json::Array(items.into_iter().map(|item| mask_value(item, element)).collect())
        }
        _ => Json::from(MASK),
    }
}

/// Converts a value to JSON and truncates long texts, lists and dicts. Also returns the full length
/// if the outermost value was truncated.
fn truncate_to_json(value: Value<'_>) -> (Json, Option<usize>) {
    let length = match value {
        Value::Str(text) => Some(text.chars().count()).filter(|&length| length > MAX_TEXT_CHARS),
        other => other.list_len().or(other.dict_len()).filter(|&length| length > MAX_ITEMS),
    };
    (truncate_value(value, MAX_DEPTH), length)
}

fn truncate_value(value: Value<'_>, depth: usize) -> Json {
    if depth == 0 && value.kind().is_some_and(|kind| matches!(kind, Kind::List | Kind::Dict)) {
        return Json::from("…");
    }
    match value {
        Value::Str(text) => Json::from(truncate_chars(text, MAX_TEXT_CHARS)),
        other => match (other.elements(), other.entries()) {
            (Some(elements), _) => Json::Array(
                elements.take(MAX_ITEMS).map(|element| truncate_value(element, depth - 1)).collect(),
            ),
            (None, Some(entries)) => Json::Object(
                entries
                    .take(MAX_ITEMS)
                    .map(|(key, value)| {
                        (truncate_chars(key, MAX_TEXT_CHARS), truncate_value(value, depth - 1))
                    })
                    .collect::<Map<String, Json>>(),
            ),
            (None, None) => other.to_json(),
        },
    }
}
