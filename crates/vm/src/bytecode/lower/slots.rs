//! Lowering of slots, the fields that rules read. Slots whose paths begin with the same keys share
//! the lookup of these keys.

use super::{LowerError, checked_index};
use crate::bytecode::chunk::{Chunk, NO_ENTRY, SharedObject, SlotCode};
use hashbrown::HashMap;
use rulec_base::{broken_invariant, message};
use rulec_sema::hir::{Program, Slot};

/// Maximum nesting depth of an object whose lookup is shared between slots. Deeper fields are
/// looked up separately for each slot. The limit is not tuned; it bounds the recursion, because the
/// lookup of an object begins with the lookup of its parent.
pub const MAX_SHARED_DEPTH: usize = 32;

/// An object of the message that contains slots (fields that rules read), directly or in nested
/// objects.
struct ObjectUse {
    /// Number of slots (fields that rules read) in the object.
    slot_count: u32,
    /// Index of the object in the chunk; `NO_ENTRY` until the object is added to the chunk.
    chunk_index: u32,
}

/// Adds the slots (fields that rules read) to the chunk. Also adds the objects of the message that
/// are looked up once for several slots.
pub(super) fn lower_slots(program: &Program, chunk: &mut Chunk) -> Result<(), LowerError> {
    let mut objects: Vec<ObjectUse> = Vec::with_capacity(2 * program.slots.len());
    // Finds an object by its enclosing object and its key in that object.
    let mut by_name: HashMap<(u32, &str), u32> = HashMap::with_capacity(2 * program.slots.len());
    // Only slots of the message share objects. A slot with a root is read from a binding, such as
    // the current element of a list.
    let shared_depth =
        |slot: &Slot| if slot.root.is_none() { slot.path.len().min(MAX_SHARED_DEPTH) } else { 0 };
    for slot in &program.slots {
        let mut current = NO_ENTRY;
        for name in &slot.path[..shared_depth(slot)] {
            current = *by_name.entry((current, &**name)).or_insert_with(|| {
                objects.push(ObjectUse { slot_count: 0, chunk_index: NO_ENTRY });
                objects.len() as u32 - 1
            });
            objects[current as usize].slot_count += 1;
        }
    }
    chunk.slots.reserve(program.slots.len());
    for slot in &program.slots {
        let (mut enclosing_object, mut current, mut depth) = (NO_ENTRY, NO_ENTRY, 0);
        for name in &slot.path[..shared_depth(slot)] {
            let Some(child) = by_name.get(&(current, &**name)) else {
                broken_invariant!("the objects of every slot were counted");
                break;
            };
            let object = &mut objects[*child as usize];
            if object.slot_count < 2 {
                break;
            }
            if object.chunk_index == NO_ENTRY {
                object.chunk_index = checked_index(chunk.shared_objects.len(), message!("fields"))?;
                chunk.shared_objects.push(SharedObject { parent_index: enclosing_object, key: name.clone() });
            }
            (enclosing_object, current, depth) = (object.chunk_index, *child, depth + 1);
        }
        chunk.slots.push(SlotCode {
            object_index: enclosing_object,
            remaining_keys: slot.path[depth..].into(),
            kinds: slot.kinds,
            allowed_texts: slot.values.clone(),
            name: slot.name().into(),
        });
    }
    checked_index(chunk.slots.len(), message!("fields")).map(|_| ())
}
