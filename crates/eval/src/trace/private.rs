//! Masks `@private` values wherever an explanation could show them: in operands, computed values,
//! records and lists, and error texts of host functions. Also truncates long values.

use super::Operand;
use rulec_base::text::truncate_chars;
use rulec_lang::history::{AT_FIELD, POSITION_FIELD};
pub use rulec_lang::privacy::MASK;
use rulec_lang::privacy::Privacy;
use rulec_lang::ty::{Kind, Ty};
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, Outcome, Part, PrivateReads, Program, Slot, VarId};
use serde_json::{Map, Value as Json};

/// Maximum length of a text inside a shown value, in characters.
pub(super) const MAX_KEPT_TEXT_CHARS: usize = 1000;
/// Maximum number of shown elements of a list or keys of a dict.
const MAX_KEPT_ITEMS: usize = 20;
/// Maximum nesting depth of lists and dicts inside a shown value. Deeper lists and dicts are
/// replaced by `…`.
const MAX_KEPT_DEPTH: usize = 8;

pub(super) struct PrivacyMask<'a> {
    program: &'a Program,
    pub(super) show_private: bool,
    private_reads: PrivateReads<'a>,
    /// Whether all named values of payload rules (bindings) count as private.
    bindings_are_private: bool,
}

impl<'a> PrivacyMask<'a> {
    pub(super) fn new(program: &'a Program, show_private: bool) -> Self {
        PrivacyMask {
            program,
            show_private,
            private_reads: program.private_reads(),
            bindings_are_private: false,
        }
    }

    /// From now on, treats all named values of payload rules (bindings) as private.
    pub(super) fn hide_bindings(&mut self) {
        self.bindings_are_private = true;
    }

    /// True if the value of the expression is private and must be masked as a whole.
    pub(super) fn is_private(&mut self, expr: &Expr) -> bool {
        !self.show_private
            && (self.private_reads.is_private(expr) || self.reads_hidden_binding(Part::Expr(expr)))
    }

    /// True if the value of the expression is private, or may contain a private value. The trace
    /// then shows no text that was found in the value. Always false if private values are shown.
    pub(super) fn reads_private(&mut self, expr: &Expr) -> bool {
        !self.show_private
            && (self.private_reads.reads_private(expr) || self.reads_hidden_binding(Part::Expr(expr)))
    }

    fn reads_hidden_binding(&self, part: Part<'_>) -> bool {
        self.bindings_are_private
            && self
                .program
                .field_reads(part)
                .iter()
                .any(|(slot, _)| self.program.slots[slot.index()].root.is_some())
    }

    /// Adds a quantifier variable to the scope. The list decides whether the variable's elements
    /// are private.
    pub(super) fn enter_quantifier(&mut self, var: VarId, list: &Expr) {
        self.private_reads.enter_quantifier(var, list);
    }

    /// Removes the innermost quantifier variable. Returns whether each element must be masked as a
    /// whole, and the type of the elements.
    pub(super) fn leave_quantifier(&mut self) -> (bool, Ty) {
        let (private, ty) = self.private_reads.leave_quantifier();
        (!self.show_private && (private || self.bindings_are_private), ty)
    }

    /// Returns the declared type of an expression. Fields that this type declares as private are
    /// masked in the expression's value.
    pub(super) fn expr_type(&self, expr: &Expr) -> Ty {
        self.private_reads.expr_type(expr)
    }

    /// Converts the value of an expression to an operand of the trace, masked and truncated. `text`
    /// is the name that the trace shows with the value.
    pub(super) fn build_masked_operand(&mut self, text: String, value: Value<'_>, expr: &Expr) -> Operand {
        let private = self.is_private(expr);
        let ty = self.expr_type(expr);
        self.to_operand(text, value, private, &ty)
    }

    /// Returns the arguments with which `outcome` calls a handler, with private values masked.
    /// Nothing is truncated.
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
                    Privacy::of_type(&self.expr_type(expr)).mask(value.clone())
                }
                // A private argument is masked, and so is an argument that the outcome does not
                // declare.
                _ => Json::from(MASK),
            };
            (name.clone(), masked)
        });
        masked.collect()
    }

    /// Converts the value of a message field to an operand of the trace, masked and truncated. The
    /// value may have another kind than the rules expect.
    pub(super) fn raw_field_as_operand(&self, slot: &Slot, value: Value<'_>) -> Operand {
        let (ty, private) = self.private_reads.declared_type(slot);
        let private = !self.show_private
            && (private || slot.is_private || self.bindings_are_private && slot.root.is_some());
        self.to_operand(slot.name(), value, private, &ty)
    }

    /// Converts a value of type `ty` to an operand of the trace, and truncates it. `text` is the
    /// name that the trace shows with the value. Masks the whole value if `private`, otherwise its
    /// private fields.
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
        operand.recorded.extend(recorded_position(value));
        let (json, length) = truncate_to_json_and_full_length(value);
        operand.length = length;
        let privacy = if self.show_private { Privacy::Public } else { Privacy::of_type(ty) };
        operand.masked = !privacy.is_public();
        operand.value = Some(privacy.mask(json));
        operand.masked &= operand.value.as_ref() == Some(&Json::from(MASK));
        operand
    }
}

/// Masks the values of `@private` fields in a message. Nothing is truncated.
pub fn mask_message(program: &Program, message: &Json) -> Json {
    program.message_privacy().mask(message.clone())
}

/// Masks the values from `@private` fields in the arguments with which `outcome` calls a handler.
pub fn mask_args(program: &Program, outcome: &Outcome, arg_values: &Map<String, Json>) -> Map<String, Json> {
    PrivacyMask::new(program, false).mask_arguments(outcome, arg_values)
}

/// Converts a value to JSON and truncates long texts, lists and dicts. Also returns the full length
/// if the outermost value was truncated.
fn truncate_to_json_and_full_length(value: Value<'_>) -> (Json, Option<usize>) {
    let length = match value {
        Value::Str(text) => Some(text.chars().count()).filter(|&length| length > MAX_KEPT_TEXT_CHARS),
        other => {
            let shown = other.dict_len().map(|length| length - usize::from(is_recorded_message(other)));
            other.list_len().or(shown).filter(|&length| length > MAX_KEPT_ITEMS)
        }
    };
    (truncate_value(value, MAX_KEPT_DEPTH), length)
}

/// Returns the position of a recorded message in its history. A recorded message is a dict that has
/// a position and a time. `None` for any other value.
pub(super) fn recorded_position(value: Value<'_>) -> Option<usize> {
    match (value.field(POSITION_FIELD), value.field(AT_FIELD)) {
        (Value::Int(position), Value::Str(_)) => usize::try_from(position).ok(),
        _ => None,
    }
}

fn is_recorded_message(value: Value<'_>) -> bool {
    recorded_position(value).is_some()
}

fn truncate_value(value: Value<'_>, depth: usize) -> Json {
    if depth == 0 && value.kind().is_some_and(|kind| matches!(kind, Kind::List | Kind::Dict)) {
        return Json::from("…");
    }
    match value {
        Value::Str(text) => Json::from(truncate_chars(text, MAX_KEPT_TEXT_CHARS)),
        other => match (other.elements(), other.entries()) {
            (Some(elements), _) => Json::Array(
                elements.take(MAX_KEPT_ITEMS).map(|element| truncate_value(element, depth - 1)).collect(),
            ),
            (None, Some(entries)) => Json::Object(
                entries
                    .filter(|(key, _)| *key != POSITION_FIELD || !is_recorded_message(other))
                    .take(MAX_KEPT_ITEMS)
                    .map(|(key, value)| {
                        (truncate_chars(key, MAX_KEPT_TEXT_CHARS), truncate_value(value, depth - 1))
                    })
                    .collect::<Map<String, Json>>(),
            ),
            (None, None) => other.to_json(),
        },
    }
}
