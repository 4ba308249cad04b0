//! The promise of `input`: messages have the fields and types that the rules declare in `input`.
//! The rules also decide messages that break this promise. But findings about messages that keep
//! the promise matter more to authors, so the analysis looks for such messages first.

use super::goal::SolverGoal;
use super::solver::MessageSolver;
use rulec_lang::schema::find_input_violations;
use rulec_lang::ty::{RecordType, Ty};
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, ExprKind, Program, SlotId};
use rulec_sema::normal::{CondId, NormalBuilder};
use serde_json::Value as Json;
use std::sync::Arc;

/// What a program's `input` declares about messages: the fields and types. Also lists the required
/// fields that rules read.
pub(super) struct InputRequirements<'p> {
    program: &'p Program,
    declared_record: &'p RecordType,
    fields: Vec<RequiredField>,
}

/// A field that rules read and that `input` declares as required. If the record that contains the
/// field is present, the field must be present.
struct RequiredField {
    slot: SlotId,
    /// The length of the path to the nearest optional record around the field. The field may be
    /// missing if this record is missing. Zero if there is no optional record around the field.
    optional_record_len: usize,
}

impl<'p> InputRequirements<'p> {
    /// Returns the declared fields and types of messages; `None` if the program does not declare
    /// its input.
    pub fn declared_by(program: &'p Program) -> Option<InputRequirements<'p>> {
        let record = program.input.as_ref()?;
        let slots = program.slots.iter().enumerate().filter(|(_, slot)| slot.root.is_none());
        let promised = slots.filter_map(|(index, slot)| {
            let optional_record_len = enclosing_optional_record_len(record, &slot.path)?;
            Some(RequiredField { slot: SlotId(index as u32), optional_record_len })
        });
        let fields = promised.collect();
        Some(InputRequirements { program, declared_record: record, fields })
    }

    /// True if a message has the fields and types that `input` declares.
    pub fn is_satisfied_by(&self, message: &Json) -> bool {
        find_input_violations(self.declared_record, message).is_empty()
    }

    /// Returns conditions that are true for all messages with the declared fields and types, but
    /// not for this message. The conditions are goals for the solver.
    pub fn violated_goals(&self, solver: &mut MessageSolver<'_>, message: &Json) -> Vec<SolverGoal> {
        if !solver.budget().charge(self.fields.len()) {
            return Vec::new();
        }
        let broken = self.fields.iter().filter(|field| !self.is_field_satisfied_by(field, message));
        broken.map(|field| (self.build_field_requirement(&mut solver.builder, field), true)).collect()
    }

    fn is_field_satisfied_by(&self, field: &RequiredField, message: &Json) -> bool {
        let slot = &self.program.slots[field.slot.index()];
        let value_at =
            |path: &[Arc<str>]| path.iter().fold(Value::from_json(message), |value, key| value.field(key));
        let is_record_missing =
            field.optional_record_len > 0 && value_at(&slot.path[..field.optional_record_len]).is_missing();
        is_record_missing || !slot.convert_value(value_at(&slot.path)).is_missing()
    }

    /// Builds the condition that a required field is present. If an optional record contains the
    /// field, the condition is also true if all fields of this record are missing.
    fn build_field_requirement(&self, builder: &mut NormalBuilder<'_>, field: &RequiredField) -> CondId {
        let is_present = build_slot_present(builder, field.slot);
        let record = &self.program.slots[field.slot.index()].path[..field.optional_record_len];
        if record.is_empty() {
            return is_present;
        }
        let slots = self.program.slots.iter().enumerate();
        let inner = slots.filter(|(_, slot)| slot.root.is_none() && slot.path.starts_with(record));
        let missing = inner.map(|(index, _)| {
            let is_present = build_slot_present(builder, SlotId(index as u32));
            builder.build_complement(is_present)
        });
        let missing: Vec<CondId> = missing.collect();
        let all_missing = builder.join_conds(missing, true);
        builder.join_conds([is_present, all_missing], false)
    }
}

fn build_slot_present(builder: &mut NormalBuilder<'_>, slot: SlotId) -> CondId {
    let span = rulec_base::span::Span { file: rulec_base::span::FileId(0), start: 0, end: 0 };
    let value =
        builder.build_value(&Expr { kind: ExprKind::Slot(slot), ty: Ty::ANY, may_be_missing: true, span });
    builder.build_is_present(value)
}

/// Returns the length of the path to the nearest optional record around a field, or 0 if there is
/// none. `None` if the field is optional itself or not declared.
fn enclosing_optional_record_len(mut record: &RecordType, path: &[Arc<str>]) -> Option<usize> {
    let mut optional_record_len = 0;
    for (index, name) in path.iter().enumerate() {
        let field = record.get(name)?;
        if index + 1 == path.len() {
            return (!field.is_optional).then_some(optional_record_len);
        }
        if field.is_optional {
            optional_record_len = index + 1;
        }
        record = field.ty.fields()?;
    }
    None
}
