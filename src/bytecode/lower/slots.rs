//! How slots are read: paths that begin alike share the walk to where they part.

use super::{LowerError, index};
use crate::bytecode::chunk::{Chunk, NONE, PathNode, SlotCode};
use crate::sema::hir::Program;
use hashbrown::HashMap;
use std::sync::Arc;

/// Objects are shared down to this depth; what lies deeper is walked to by each slot.
pub(in crate::bytecode) const MAX_SHARED_DEPTH: usize = 32;

/// Lowers the slots of a program.
pub(super) fn lower(program: &Program, chunk: &mut Chunk) -> Result<(), LowerError> {
    // How many slots lie in or behind each object.
    let mut users: HashMap<&[Arc<str>], u32> = HashMap::new();
    for slot in program.slots.iter().filter(|slot| slot.root.is_none()) {
        for depth in 1..=slot.path.len().min(MAX_SHARED_DEPTH) {
            *users.entry(&slot.path[..depth]).or_default() += 1;
        }
    }
    let mut nodes: HashMap<&[Arc<str>], u32> = HashMap::new();
    for slot in &program.slots {
        let (mut node, mut shared) = (NONE, 0);
        // What is rooted in a binding is read from that, not from the message.
        let depths = if slot.root.is_none() { slot.path.len().min(MAX_SHARED_DEPTH) } else { 0 };
        for depth in 1..=depths {
            let path = &slot.path[..depth];
            if users.get(path).is_none_or(|users| *users < 2) {
                break;
            }
            node = match nodes.get(path) {
                Some(node) => *node,
                None => {
                    let id = index(chunk.nodes.len(), "fields")?;
                    chunk.nodes.push(PathNode { parent: node, key: slot.path[depth - 1].clone() });
                    nodes.insert(path, id);
                    id
                }
            };
            shared = depth;
        }
        chunk.slots.push(SlotCode {
            node,
            rest: slot.path[shared..].into(),
            kinds: slot.kinds,
            name: slot.name().into(),
        });
    }
    index(chunk.slots.len(), "fields").map(|_| ())
}
