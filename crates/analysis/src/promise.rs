//! The promise of `input`: which fields a message has if it keeps the promise. A message that
//! breaks the promise is decided too, but authors ask first about messages that keep it.

use super::goal::SolverGoal;
use super::solver::Solver;
use rulec_lang::schema::find_input_violations;
use rulec_lang::ty::{RecordType, Ty};
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, ExprKind, Program, SlotId};
use rulec_sema::normal::{CondId, NormalBuilder};
use serde_json::Value as Json;
use std::sync::Arc;

/// The declared input, with the fields of it that the rules read.
pub(super) struct InputPromise<'p> {
    program: &'p Program,
    record: &'p RecordType,
    fields: Vec<PromisedField>,
}

/// A field that rules read, and that is present if the record that declares it is present.
struct PromisedField {
    slot: SlotId,
    /// The length of the path to the nearest optional record around the field. The field may be
    /// missing if this record is missing. Zero if there is no optional record around the field.
    optional_record: usize,
}

impl<'p> InputPromise<'p> {
    /// Returns the promise of a program; `None` if the program does not declare its input.
    pub fn of(program: &'p Program) -> Option<InputPromise<'p>> {
        let record = program.input.as_ref()?;
        let slots = program.slots.iter().enumerate().filter(|(_, slot)| slot.root.is_none());
        let promised = slots.filter_map(|(index, slot)| {
            let optional_record = optional_record_around(record, &slot.path)?;
            Some(PromisedField { slot: SlotId(index as u32), optional_record })
        });
        let fields = promised.collect();
        Some(InputPromise { program, record, fields })
    }

    /// True if a message keeps the promise.
    pub fn is_kept_by(&self, message: &Json) -> bool {
        find_input_violations(self.record, message).is_empty()
    }

    /// Returns goals that a message breaks, and that every message that keeps the promise
    /// satisfies.
    pub fn broken_goals(&self, solver: &mut Solver<'_>, message: &Json) -> Vec<SolverGoal> {
        if !solver.budget().charge(self.fields.len()) {
            return Vec::new();
        }
        let broken = self.fields.iter().filter(|field| !self.is_field_kept_by(field, message));
        broken.map(|field| (self.build_field_kept(&mut solver.builder, field), true)).collect()
    }

    fn is_field_kept_by(&self, field: &PromisedField, message: &Json) -> bool {
        let slot = &self.program.slots[field.slot.index()];
        let value_at =
            |path: &[Arc<str>]| path.iter().fold(Value::from_json(message), |value, key| value.field(key));
        let is_record_missing =
            field.optional_record > 0 && value_at(&slot.path[..field.optional_record]).is_missing();
        is_record_missing || !slot.read(value_at(&slot.path)).is_missing()
    }

    /// Builds the condition that a field is present, or that all fields of the optional record
    /// around it are missing.
    fn build_field_kept(&self, builder: &mut NormalBuilder<'_>, field: &PromisedField) -> CondId {
        let is_present = build_slot_present(builder, field.slot);
        let record = &self.program.slots[field.slot.index()].path[..field.optional_record];
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
    let value = builder.build_value(&Expr { kind: ExprKind::Slot(slot), ty: Ty::ANY, optional: true, span });
    builder.build_present(value)
}

/// Returns the length of the path to the nearest optional record around a field, or 0 if there is
/// none. `None` if the field is optional itself or not declared.
fn optional_record_around(mut record: &RecordType, path: &[Arc<str>]) -> Option<usize> {
    let mut optional_record = 0;
    for (index, name) in path.iter().enumerate() {
        let field = record.get(name)?;
        if index + 1 == path.len() {
            return (!field.optional).then_some(optional_record);
        }
        if field.optional {
            optional_record = index + 1;
        }
        record = field.ty.fields()?;
    }
    None
}
