//! The fields of a message by name: for whoever reads all of them at once, which rules over hundreds of fields do,
//! of which a message has a score. Asking the message for each field in turn would take longer than deciding.

use crate::bytecode::chunk::{Chunk, NONE};
use hashbrown::HashMap;
use std::sync::Arc;

/// Slots by the name of their field.
pub type ByName = HashMap<Arc<str>, Vec<u32>, foldhash::fast::FixedState>;

/// The slots of a rule set, by the object they lie in and their name.
#[derive(Debug, Default)]
pub struct Fields {
    /// For objects of [`Chunk::objects`], or [`NONE`] for the message itself, the slots that are fields of it.
    pub objects: Vec<(u32, ByName)>,
    /// The slots that lie further in.
    pub deeper: Vec<u32>,
}

impl Fields {
    pub fn of(chunk: &Chunk) -> Fields {
        let mut fields = Fields::default();
        for (slot, code) in (0..).zip(&chunk.slots) {
            let [name] = &code.rest[..] else {
                fields.deeper.push(slot);
                continue;
            };
            let object = fields.objects.iter().position(|(object, _)| *object == code.object);
            let object = object.unwrap_or_else(|| {
                fields.objects.push((code.object, ByName::default()));
                fields.objects.len() - 1
            });
            fields.objects[object].1.entry(name.clone()).or_default().push(slot);
        }
        // The message itself first, as it holds the others.
        fields.objects.sort_by_key(|(object, _)| if *object == NONE { 0 } else { *object + 1 });
        fields
    }
}
