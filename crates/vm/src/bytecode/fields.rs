//! Lookup of slots (fields that rules read) by field name, for reading all fields of a message in
//! one pass.
//!
//! A rule set may read hundreds of fields of which a message has only a few. Looking up each of
//! these fields in the message would take longer than the decision.

use crate::bytecode::chunk::{Chunk, NO_ENTRY};
use rulec_base::text::texts::TextIds;

/// Finds, by field name, the slots (fields that rules read) of one object of the message.
#[derive(Debug, Default)]
pub struct SlotsByName {
    /// Maps each distinct field name to its name index, a position in `range_ends`.
    pub names: TextIds,
    /// For each name index, the end of the range of slots with this name in
    /// [`slot_ids`](Self::slot_ids).
    range_ends: Vec<u32>,
    /// The ids of the slots (fields that rules read), grouped by field name.
    pub slot_ids: Vec<u32>,
}

impl SlotsByName {
    /// Builds the lookup from pairs of a field name and the id of a slot that reads this field.
    fn new(mut slots_with_names: Vec<(&str, u32)>) -> SlotsByName {
        slots_with_names.sort_unstable();
        let mut by_name = SlotsByName::default();
        for (name, slot) in slots_with_names {
            by_name.slot_ids.push(slot);
            let end = by_name.slot_ids.len() as u32;
            match by_name.names.get(name.as_bytes()) {
                Some(index) => by_name.range_ends[index as usize] = end,
                None => {
                    by_name.names.insert(name, by_name.range_ends.len() as u32);
                    by_name.range_ends.push(end);
                }
            }
        }
        by_name
    }

    /// Returns the ids of the slots whose field has this name.
    #[inline]
    pub fn slots_named(&self, name: &str) -> &[u32] {
        let Some(index) = self.names.get(name.as_bytes()).map(|index| index as usize) else { return &[] };
        let start = if index == 0 { 0 } else { self.range_ends.get(index - 1).copied().unwrap_or(0) };
        let end = self.range_ends.get(index).copied().unwrap_or(start);
        self.slot_ids.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// The slots (fields that rules read) of a rule set, grouped by the object that contains them, then
/// by field name.
#[derive(Debug, Default)]
pub struct FieldLookup {
    /// For each object, the lookup of the slots that are its direct fields. The object is given by
    /// its index in [`Chunk::shared_objects`], or `NO_ENTRY` for the message itself.
    pub slots_by_object: Vec<(u32, SlotsByName)>,
    /// Ids of the other slots. Such a slot is an object that is looked up once for several slots,
    /// or lies more than one key below such an object.
    pub indirect_slot_ids: Vec<u32>,
}

impl FieldLookup {
    pub fn new(chunk: &Chunk) -> FieldLookup {
        let mut fields = FieldLookup::default();
        let mut objects: Vec<(u32, Vec<(&str, u32)>)> = Vec::new();
        for (slot, code) in (0..).zip(&chunk.slots) {
            let [name] = &code.remaining_keys[..] else {
                fields.indirect_slot_ids.push(slot);
                continue;
            };
            let object = objects.iter().position(|(object, _)| *object == code.object_index);
            let object = object.unwrap_or_else(|| {
                objects.push((code.object_index, Vec::new()));
                objects.len() - 1
            });
            objects[object].1.push((name, slot));
        }
        // The message itself comes first, because it contains the objects.
        objects.sort_by_key(|(object, _)| if *object == NO_ENTRY { 0 } else { *object + 1 });
        fields.slots_by_object = objects
            .into_iter()
            .map(|(object, slots_with_names)| (object, SlotsByName::new(slots_with_names)))
            .collect();
        fields
    }
}
