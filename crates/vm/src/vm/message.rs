//! The sources from which a decision gets the values of slots (the fields that rules read): values
//! that were read before, or a JSON message that is searched when a slot is first used.

use super::scratch::{EpochStamp, JsonBuffers, grow_to_len, recycle_vec};
use crate::bytecode::Chunk;
use crate::bytecode::chunk::NO_ENTRY;
use crate::bytecode::fields::{FieldLookup, SlotsByName};
use crate::input::SlotValues;
use rulec_lang::value::Value;
use serde_json::Value as Json;

/// A source of the values of slots (the fields that rules read).
pub trait SlotValueSource<'a> {
    /// Returns the value of a slot, which is read at its first use. The result is missing if the
    /// message has no such field, or if the slot does not accept the field's kind of value.
    fn slot_value(&mut self, slot: usize) -> &Value<'a>;

    /// Reads all slots, whose ids are less than `slots`. Appends the ids of slots that have a value
    /// to `into`, in any order. An implementation may use `fields` to iterate over the fields of
    /// the message instead of the slots.
    fn read_present_slots(&mut self, _fields: &FieldLookup, slots: u32, into: &mut Vec<u32>) {
        into.extend((0..slots).filter(|slot| !self.slot_value(*slot as usize).is_missing()));
    }
}

/// Slot values that were read from the message before the decision.
impl<'a> SlotValueSource<'a> for SlotValues<'a> {
    #[inline(always)]
    fn slot_value(&mut self, slot: usize) -> &Value<'a> {
        self.values.get(slot).unwrap_or(&Value::Missing)
    }

    fn read_present_slots(&mut self, _fields: &FieldLookup, slots: u32, into: &mut Vec<u32>) {
        if let Some(present) = self.present_slot_ids {
            into.extend_from_slice(present);
            return;
        }
        let values = self.values.get(..slots as usize).unwrap_or(self.values);
        let mut first_slot = 0;
        // Most values are missing, so eight are checked at once without a branch.
        let (eights, rest) = values.as_chunks::<8>();
        for eight in eights {
            if !eight.iter().fold(true, |all, value| all & value.is_missing()) {
                push_present_slots(eight, first_slot, into);
            }
            first_slot += 8;
        }
        push_present_slots(rest, first_slot, into);
    }
}

/// Appends the ids of slots that have a value to `into`. `values` are the values of consecutive
/// slots, and `first` is the id of the first of these slots.
#[inline(always)]
fn push_present_slots(values: &[Value<'_>], first: u32, into: &mut Vec<u32>) {
    for (value, slot) in values.iter().zip(first..) {
        if !value.is_missing() {
            into.push(slot);
        }
    }
}

/// A JSON message in which the value of each slot is looked up when the slot is first used.
pub struct JsonMessage<'a> {
    chunk: &'a Chunk,
    message: &'a Json,
    epoch: u32,
    slot_stamps: &'a mut [EpochStamp],
    object_stamps: &'a mut [EpochStamp],
    /// The values of the slots (fields that rules read) that were looked up so far.
    slot_values: Vec<Value<'a>>,
    /// The objects inside the message that contain several slots and were looked up so far. `None`
    /// for an object that the message lacks.
    objects: Vec<Option<&'a Json>>,
    /// Whether the values of all slots that the message has are in `slot_values`. If true, any
    /// other slot is missing, and need not be looked up.
    has_read_all_slots: bool,
    /// Where the memory of `slot_values` is put back after the decision, so that the next one
    /// reuses it.
    value_memory: &'a mut Vec<Value<'static>>,
    /// Where the memory of `objects` is put back after the decision, so that the next one reuses
    /// it.
    object_memory: &'a mut Vec<Option<&'static Json>>,
}

impl<'a> JsonMessage<'a> {
    pub(super) fn new(
        chunk: &'a Chunk,
        message: &'a Json,
        buffers: &'a mut JsonBuffers,
        epoch: u32,
    ) -> JsonMessage<'a> {
        let JsonBuffers { slot_stamps, object_stamps, slot_values: value_memory, objects: object_memory } =
            buffers;
        grow_to_len(slot_stamps, chunk.slots.len());
        grow_to_len(object_stamps, chunk.shared_objects.len());
        let values = recycle_vec(std::mem::take(value_memory));
        let objects = recycle_vec(std::mem::take(object_memory));
        JsonMessage {
            chunk,
            message,
            epoch,
            slot_stamps,
            object_stamps,
            slot_values: values,
            objects,
            has_read_all_slots: false,
            value_memory,
            object_memory,
        }
    }

    /// Looks up the value of a slot (field that rules read) in the message, and returns the index
    /// of this value in `slot_values`.
    #[inline(never)]
    fn load_slot(&mut self, slot: usize) -> usize {
        let chunk = self.chunk;
        let Some(code) = chunk.slots.get(slot).filter(|_| !self.has_read_all_slots) else {
            return usize::MAX;
        };
        let mut json = self.find_shared_object(code.object_index);
        for key in &code.remaining_keys {
            json = object_field(json, key);
        }
        let index = self.slot_values.len();
        self.slot_values.push(code.to_declared_type(json.map_or(Value::Missing, Value::from_json)));
        if let Some(stamp) = self.slot_stamps.get_mut(slot) {
            *stamp = EpochStamp { epoch: self.epoch, index: index as u32 };
        }
        index
    }

    /// Reads the slots that are direct fields of an object. `object` is the index of the object in
    /// `Chunk::shared_objects`, or `NO_ENTRY` for the message itself. `by_name` finds these slots
    /// by the name of the field. Appends the ids of the slots that have a value to `into`.
    fn read_object(&mut self, object: u32, by_name: &SlotsByName, into: &mut Vec<u32>) {
        let Some(Json::Object(map)) = self.find_shared_object(object) else { return };
        if map.len() > 2 * by_name.names.len() {
            by_name.slot_ids.iter().for_each(|slot| self.read_slot(*slot, into));
            return;
        }
        for (name, value) in map {
            for slot in by_name.slots_named(name) {
                let (Some(code), Some(stamp)) =
                    (self.chunk.slots.get(*slot as usize), self.slot_stamps.get_mut(*slot as usize))
                else {
                    continue;
                };
                if stamp.epoch != self.epoch {
                    *stamp = EpochStamp { epoch: self.epoch, index: self.slot_values.len() as u32 };
                    self.slot_values.push(code.to_declared_type(Value::from_json(value)));
                }
                if !self.slot_value(*slot as usize).is_missing() {
                    into.push(*slot);
                }
            }
        }
    }

    fn read_slot(&mut self, slot: u32, into: &mut Vec<u32>) {
        if !self.slot_value(slot as usize).is_missing() {
            into.push(slot);
        }
    }

    /// Returns the index in `slot_values` of a slot's value. Reads the slot if it was not read
    /// before.
    #[inline]
    fn loaded_slot_index(&mut self, slot: usize) -> usize {
        match self.slot_stamps.get(slot) {
            Some(stamp) if stamp.epoch == self.epoch => stamp.index as usize,
            _ => self.load_slot(slot),
        }
    }

    /// Looks up an object that several slots share, which is at index `node` of
    /// `Chunk::shared_objects`. Returns `None` if the message lacks it. The recursion is bounded,
    /// because lowering limits the nesting depth of shared objects.
    fn find_shared_object(&mut self, node: u32) -> Option<&'a Json> {
        if node == NO_ENTRY {
            return Some(self.message);
        }
        let index = node as usize;
        match self.object_stamps.get(index) {
            Some(stamp) if stamp.epoch == self.epoch => {
                return self.objects.get(stamp.index as usize).copied().flatten();
            }
            _ => {}
        }
        let chunk = self.chunk;
        let code = chunk
            .shared_objects
            .get(index)
            .filter(|code| code.parent_index == NO_ENTRY || code.parent_index < node)?;
        let object = object_field(self.find_shared_object(code.parent_index), &code.key);
        if let Some(stamp) = self.object_stamps.get_mut(index) {
            *stamp = EpochStamp { epoch: self.epoch, index: self.objects.len() as u32 };
            self.objects.push(object);
        }
        object
    }
}

#[inline]
fn object_field<'a>(json: Option<&'a Json>, key: &str) -> Option<&'a Json> {
    match json {
        Some(Json::Object(map)) => map.get(key),
        _ => None,
    }
}

impl<'a> SlotValueSource<'a> for JsonMessage<'a> {
    #[inline]
    fn slot_value(&mut self, slot: usize) -> &Value<'a> {
        let index = self.loaded_slot_index(slot);
        self.slot_values.get(index).unwrap_or(&Value::Missing)
    }

    fn read_present_slots(&mut self, fields: &FieldLookup, _slots: u32, into: &mut Vec<u32>) {
        for (object, by_name) in &fields.slots_by_object {
            self.read_object(*object, by_name, into);
        }
        for slot in &fields.indirect_slot_ids {
            self.read_slot(*slot, into);
        }
        self.has_read_all_slots = true;
    }
}

impl Drop for JsonMessage<'_> {
    fn drop(&mut self) {
        *self.value_memory = recycle_vec(std::mem::take(&mut self.slot_values));
        *self.object_memory = recycle_vec(std::mem::take(&mut self.objects));
    }
}
