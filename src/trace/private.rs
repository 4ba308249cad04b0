//! What an explanation may show: `@private` values are masked wherever they could come through,
//! in operands, in values computed from them, inside records and lists, in the texts of failures.
//! Long values are cut here too.

use super::Operand;
use crate::sema::hir::{
    Cond, CondKind, Expr, ExprKind, LetId, Operand as HirOperand, Outcome, Program, Slot, Term, VarId,
};
use crate::ty::{Inner, Kind, Record, Ty};
use crate::value::Value;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// What stands in the place of a private value.
pub const MASK: &str = "•••";

/// The longest text kept of a value, in characters.
const TEXT_LIMIT: usize = 1000;
/// The most elements or keys kept of a value.
const ITEM_LIMIT: usize = 20;
/// The greatest depth to which a value is kept.
const DEPTH_LIMIT: usize = 8;

/// Knows which values of a program are private.
pub(super) struct Privacy<'a> {
    program: &'a Program,
    pub(super) show: bool,
    /// For each `let`, whether it reads a private value; `None` until asked.
    lets: Vec<Option<bool>>,
    /// The quantifier variables in scope: whether the list is private, and its elements' type.
    pub(super) vars: Vec<(VarId, bool, Ty)>,
}

impl<'a> Privacy<'a> {
    pub(super) fn new(program: &'a Program, show: bool) -> Self {
        Privacy { program, show, lets: vec![None; program.lets.len()], vars: Vec::new() }
    }

    /// Whether the value of the expression must not be shown at all.
    pub(super) fn is_private(&mut self, expr: &Expr) -> bool {
        !self.show && self.expr(expr)
    }

    fn expr(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Param(_) => false,
            ExprKind::Slot(id) => self.slot(&self.program.slots[id.index()]),
            ExprKind::Var(id) => self.vars.iter().any(|(other, private, _)| other == id && *private),
            ExprKind::Field(base, name) => {
                let private = |ty: &Ty| {
                    ty.fields().and_then(|fields| fields.get(name)).is_some_and(|field| field.private)
                };
                private(&self.ty(base)) || self.expr(base)
            }
            ExprKind::Index(base, index) => {
                let ty = self.ty(base);
                let keyed = ty.fields().is_some() && holds_private(&ty);
                keyed || self.expr(base) || self.whole(index)
            }
            ExprKind::Read(inner, _) => self.expr(inner),
            ExprKind::Op(_, left, right) => {
                self.whole(left) || right.as_deref().is_some_and(|right| self.whole(right))
            }
            ExprKind::List(items) | ExprKind::Call(_, items) | ExprKind::Extern(_, items) => {
                items.iter().any(|item| self.whole(item))
            }
            ExprKind::Count { list, body, .. } => self.whole(list) || self.cond(body),
            ExprKind::Cond(cond) => self.cond(cond),
            ExprKind::Let(id) => self.let_body(*id),
        }
    }

    /// Whether the value is private or holds something private inside.
    fn whole(&mut self, expr: &Expr) -> bool {
        holds_private(&self.ty(expr)) || self.expr(expr)
    }

    fn cond(&mut self, cond: &Cond) -> bool {
        match &cond.kind {
            CondKind::Const(_) => false,
            CondKind::Not(inner) | CondKind::Call(_, inner) => self.cond(inner),
            CondKind::And(parts) | CondKind::Or(parts) => parts.iter().any(|part| self.cond(part)),
            CondKind::Test(predicate) => {
                self.whole(&predicate.left)
                    || match &predicate.right {
                        HirOperand::Nothing => false,
                        HirOperand::Value(right) => self.whole(right),
                        HirOperand::Range { start, end, .. } => self.whole(start) || self.whole(end),
                    }
            }
            CondKind::Quantifier { list, body, .. } => self.whole(list) || self.cond(body),
            CondKind::Branch { conditions, .. } => {
                conditions.iter().any(|condition| self.cond(&condition.cond))
            }
            CondKind::Let(id) => self.let_body(*id),
        }
    }

    fn let_body(&mut self, id: LetId) -> bool {
        if let Some(known) = self.lets[id.index()] {
            return known;
        }
        self.lets[id.index()] = Some(false);
        let private = match self.program.let_body(id) {
            Term::Cond(cond) => self.cond(cond),
            Term::Expr(expr) => self.expr(expr),
        };
        self.lets[id.index()] = Some(private);
        private
    }

    fn slot(&self, slot: &Slot) -> bool {
        slot.private || self.declared(slot).1
    }

    /// The declared type of a slot, and whether it or a record around it is private.
    fn declared(&self, slot: &Slot) -> (Ty, bool) {
        fn below(ty: &Ty, path: &[Arc<str>], private: bool) -> (Ty, bool) {
            match (path.split_first(), &ty.inner) {
                (None, _) => (ty.clone(), private),
                (Some((key, rest)), Inner::Fields(record)) => match record.get(key) {
                    Some(field) => below(&field.ty, rest, private || field.private),
                    None => (Ty::ANY, private),
                },
                (Some((_, rest)), Inner::Element(element)) => below(element, rest, private),
                (Some(_), Inner::Unknown) => (Ty::ANY, private),
            }
        }
        // A binding's fields are none of the declared input.
        let input = self.program.input.as_ref().filter(|_| slot.root.is_none());
        let first = slot.path.split_first().zip(input);
        match first.and_then(|((key, rest), input)| Some((input.get(key)?, rest))) {
            Some((field, rest)) => below(&field.ty, rest, field.private),
            None => (Ty::ANY, false),
        }
    }

    /// The type of an expression, as far as it tells what inside the value is private.
    pub(super) fn ty(&self, expr: &Expr) -> Ty {
        match &expr.kind {
            ExprKind::Var(id) => match self.vars.iter().rev().find(|(other, ..)| other == id) {
                Some((_, _, ty)) if holds_private(ty) => ty.clone(),
                _ => expr.ty.clone(),
            },
            ExprKind::Slot(id) => {
                let declared = self.declared(&self.program.slots[id.index()]).0;
                if holds_private(&declared) { declared } else { expr.ty.clone() }
            }
            ExprKind::Read(inner, _) => self.ty(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.ty(body),
                Term::Cond(_) => expr.ty.clone(),
            },
            _ => expr.ty.clone(),
        }
    }

    /// The value as it may be shown.
    pub(super) fn operand(&mut self, text: String, value: Value<'_>, expr: &Expr) -> Operand {
        let private = self.is_private(expr);
        let ty = self.ty(expr);
        self.shown(text, value, private, &ty)
    }

    /// An argument of the chosen handler as it may be shown, at its full length.
    pub(super) fn argument(&mut self, value: Value<'_>, expr: &Expr) -> Json {
        match value {
            Value::Missing => Json::Null,
            _ if self.is_private(expr) => Json::from(MASK),
            _ if self.show => value.to_json(),
            _ => masked(value.to_json(), &self.ty(expr)),
        }
    }

    /// A slot's value as it stands in the message, at whatever type.
    pub(super) fn raw_field(&self, slot: &Slot, message: &Json) -> Operand {
        let (ty, private) = self.declared(slot);
        let private = !self.show && (private || slot.private);
        self.shown(slot.name(), raw(slot, message), private, &ty)
    }

    /// A value of this type as it may be shown.
    pub(super) fn shown(&self, text: String, value: Value<'_>, private: bool, ty: &Ty) -> Operand {
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
        let (json, length) = cut(value);
        operand.length = length;
        let hide = !self.show && holds_private(ty);
        operand.value = Some(if hide { masked(json, ty) } else { json });
        operand.masked = operand.value.as_ref() == Some(&Json::from(MASK)) && hide;
        operand
    }
}

/// The slot's value in the message before the typed read.
pub(super) fn raw<'a>(slot: &Slot, message: &'a Json) -> Value<'a> {
    slot.path.iter().fold(Value::from_json(message), |value, key| value.field(key))
}

/// Whether a value of the type has something private inside.
fn holds_private(ty: &Ty) -> bool {
    match &ty.inner {
        Inner::Unknown => false,
        Inner::Element(element) => holds_private(element),
        Inner::Fields(record) => any_private(record),
    }
}

fn any_private(record: &Record) -> bool {
    record.fields.iter().any(|field| field.private || holds_private(&field.ty))
}

/// A message with the values of its `@private` fields masked, at its full length.
pub fn masked_message(program: &Program, message: &Json) -> Json {
    match (&program.input, message) {
        (Some(input), Json::Object(map)) if any_private(input) => masked_fields(map.clone(), input),
        // No message of the declared shape: nobody knows what lies in it.
        (Some(input), _) if any_private(input) => Json::from(MASK),
        _ => message.clone(),
    }
}

/// The arguments that a handler was given, with what comes from `@private` fields masked.
pub fn masked_args(program: &Program, outcome: &Outcome, given: &Map<String, Json>) -> Map<String, Json> {
    let Outcome::Handler { args, .. } = outcome else { return given.clone() };
    let mut privacy = Privacy::new(program, false);
    given
        .iter()
        .map(|(name, value)| {
            let shown = match args.iter().find(|argument| *argument.name == **name) {
                Some(argument) => privacy.argument(Value::from_json(value), program.value(argument.value)),
                // Nobody knows where it comes from.
                None => Json::from(MASK),
            };
            (name.clone(), shown)
        })
        .collect()
}

fn masked_fields(map: Map<String, Json>, record: &Record) -> Json {
    let fields = map.into_iter().map(|(key, value)| {
        let value = match record.get(&key) {
            Some(field) if field.private => Json::from(MASK),
            Some(field) => masked(value, &field.ty),
            None => value,
        };
        (key, value)
    });
    Json::Object(fields.collect())
}

/// Masks what the type says is private. A value of another shape than the type's is masked whole:
/// nobody knows what lies in it.
fn masked(json: Json, ty: &Ty) -> Json {
    if !holds_private(ty) {
        return json;
    }
    match (json, &ty.inner) {
        (Json::Null, _) => Json::Null,
        (Json::Object(map), Inner::Fields(record)) => masked_fields(map, record),
        (Json::Object(map), Inner::Element(element)) => {
            Json::Object(map.into_iter().map(|(key, value)| (key, masked(value, element))).collect())
        }
        (Json::Array(items), Inner::Element(element)) => {
            Json::Array(items.into_iter().map(|item| masked(item, element)).collect())
        }
        _ => Json::from(MASK),
    }
}

/// The value as JSON with long texts, lists and dicts cut, and its full length when it was.
fn cut(value: Value<'_>) -> (Json, Option<usize>) {
    let length = match value {
        Value::Str(text) => Some(text.chars().count()).filter(|&length| length > TEXT_LIMIT),
        other => other.list_len().or(other.dict_len()).filter(|&length| length > ITEM_LIMIT),
    };
    (cut_value(value, DEPTH_LIMIT), length)
}

fn cut_value(value: Value<'_>, depth: usize) -> Json {
    if depth == 0 && value.kind().is_some_and(|kind| matches!(kind, Kind::List | Kind::Dict)) {
        return Json::from("…");
    }
    match value {
        Value::Str(text) => Json::from(cut_text(text)),
        other => match (other.elements(), other.entries()) {
            (Some(elements), _) => {
                Json::Array(elements.take(ITEM_LIMIT).map(|element| cut_value(element, depth - 1)).collect())
            }
            (None, Some(entries)) => Json::Object(
                entries
                    .take(ITEM_LIMIT)
                    .map(|(key, value)| (cut_text(key), cut_value(value, depth - 1)))
                    .collect::<Map<String, Json>>(),
            ),
            (None, None) => other.to_json(),
        },
    }
}

pub(super) fn cut_text(text: &str) -> String {
    match text.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
