//! Lowering of slots, the fields that rules read. Slots whose paths begin with the same keys share
//! the lookup of these keys.

use super::{LowerError, checked_index};
use crate::bytecode::chunk::{Chunk, NO_ENTRY, SharedObject, SlotCode};
use hashbrown::HashMap;
use rulec_base::{broken_invariant, message};
use rulec_sema::hir::{Program, Slot};

/// Maximum nesting depth of an object whose lookup is shared between slots. Deeper fields are
/// looked up separately for each slot. Bound on recursion, not tuned: the lookup of an object
/// begins with the lookup of its parent.
pub const MAX_SHARED_DEPTH: usize = 32;

/// Usage of an object of the message that contains slots, directly or in nested objects.
struct ObjectUse {
    /// Number of slots in the object.
    users: u32,
    /// Index of the object in the chunk; `NO_ENTRY` until the object is added to the chunk.
    node: u32,
}

/// Lowers the slots of a program.
pub(super) fn lower_slots(program: &Program, chunk: &mut Chunk) -> Result<(), LowerError> {
    let mut objects: Vec<ObjectUse> = Vec::with_capacity(2 * program.slots.len());
    // Finds an object by its enclosing object and its key in that object.
    let mut by_name: HashMap<(u32, &str), u32> = HashMap::with_capacity(2 * program.slots.len());
    // A slot rooted in a binding is read from the binding, not from the message.
    let shared = |slot: &Slot| if slot.root.is_none() { slot.path.len().min(MAX_SHARED_DEPTH) } else { 0 };
    for slot in &program.slots {
        let mut at = NO_ENTRY;
        for name in &slot.path[..shared(slot)] {
            at = *by_name.entry((at, &**name)).or_insert_with(|| {
                objects.push(ObjectUse { users: 0, node: NO_ENTRY });
                objects.len() as u32 - 1
            });
            objects[at as usize].users += 1;
        }
    }
    chunk.slots.reserve(program.slots.len());
    for slot in &program.slots {
        let (mut node, mut at, mut depth) = (NO_ENTRY, NO_ENTRY, 0);
        for name in &slot.path[..shared(slot)] {
            let Some(inside) = by_name.get(&(at, &**name)) else {
                broken_invariant!("the objects of every slot were counted");
                break;
            };
            let object = &mut objects[*inside as usize];
            if object.users < 2 {
                break;
            }
            if object.node == NO_ENTRY {
                object.node = checked_index(chunk.objects.len(), message!("fields"))?;
                chunk.objects.push(SharedObject { parent: node, key: name.clone() });
            }
            (node, at, depth) = (object.node, *inside, depth + 1);
        }
        chunk.slots.push(SlotCode {
            object: node,
            rest: slot.path[depth..].into(),
            kinds: slot.kinds,
            name: slot.name().into(),
        });
    }
    checked_index(chunk.slots.len(), message!("fields")).map(|_| ())
}
