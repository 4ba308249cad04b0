//! Determines which fields of a message the deciding entry (a table, choice or router) needs.
//! Columns of fields that only other entries read may be missing.

use crate::cell::TextFormat;
use crate::kinds::possible_kinds;
use arrow_schema::Field;
use rulec::Session;
use rulec_sema::hir::SlotId;
use rulec_vm::input::{InputPlan, PathId};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// The fields that the entry of a session needs. The entry is the table, choice or router that
/// decides.
pub(crate) struct NeededFields<'s> {
    session: &'s Session,
    plan: &'s InputPlan,
    /// The slots (fields that rules read) of the entry. Computed only if some column is missing or
    /// unusable, because the computation decodes the conditions of all rules of the entry.
    read_slots: OnceCell<BTreeSet<SlotId>>,
}

impl<'s> NeededFields<'s> {
    pub fn new(session: &'s Session, plan: &'s InputPlan) -> NeededFields<'s> {
        NeededFields { session, plan, read_slots: OnceCell::new() }
    }

    /// True if the entry reads the field or a field inside it. Also true for every field if the
    /// rules declare their `input`, because each message must then satisfy the declaration.
    pub fn contains(&self, path_id: PathId) -> bool {
        let read_slots = || self.read_slots.get_or_init(|| self.session.read_slots());
        self.plan.is_declared()
            || self.plan.slots_at(path_id).any(|(slot, _)| read_slots().contains(&SlotId(slot)))
            || self.plan.child_paths(path_id).any(|(_, child)| self.contains(child))
    }

    /// True if the column of a message field need not be read: the entry does not need the field,
    /// and rules can read no value of the column's Arrow type.
    pub fn can_skip_column(&self, path_id: PathId, field: &Field, text_format: TextFormat) -> bool {
        possible_kinds(field, text_format).is_empty() && !self.contains(path_id)
    }
}
