//! Slots of a message and of bindings whose values change, such as the elements of a list. When one
//! binding changes, the slots of the others remain read.

use super::Message;
use super::scratch::{grow, recycle};
use rulec_lang::value::Value;
use rulec_sema::hir::{BindingId, Slot};
use serde_json::Value as Json;

/// Memory reused from one [`Rooted`] to the next.
#[derive(Debug, Default)]
pub struct RootedScratch {
    /// For each slot, the index of its value, and the version of its root when it was read.
    stamps: Vec<(usize, u64)>,
    versions: Vec<u64>,
    version: u64,
    values: Vec<Value<'static>>,
    roots: Vec<Value<'static>>,
}

/// The values of slots, looked up when first used.
pub struct Rooted<'a> {
    slots: &'a [Slot],
    message: &'a Json,
    scratch: &'a mut RootedScratch,
    roots: Vec<Value<'a>>,
    values: Vec<Value<'a>>,
    /// The version of the message itself.
    start: u64,
}

impl<'a> Rooted<'a> {
    /// Creates slots with a number of bindings, none of which has a value yet.
    pub fn new(
        slots: &'a [Slot],
        message: &'a Json,
        bindings: usize,
        scratch: &'a mut RootedScratch,
    ) -> Rooted<'a> {
        let mut roots: Vec<Value<'a>> = recycle(std::mem::take(&mut scratch.roots));
        roots.resize(bindings, Value::Missing);
        let values = recycle(std::mem::take(&mut scratch.values));
        grow(&mut scratch.stamps, slots.len());
        scratch.version += 1;
        let start = scratch.version;
        scratch.versions.clear();
        scratch.versions.resize(bindings, start);
        Rooted { slots, message, scratch, roots, values, start }
    }

    /// Sets the value of a binding, and invalidates the slots read from its earlier value.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        self.scratch.version += 1;
        if let (Some(root), Some(version)) =
            (self.roots.get_mut(binding.index()), self.scratch.versions.get_mut(binding.index()))
        {
            (*root, *version) = (value, self.scratch.version);
        }
    }

    pub fn roots(&self) -> &[Value<'a>] {
        &self.roots
    }

    #[inline]
    pub fn get(&mut self, slot: usize) -> &Value<'a> {
        let Some(info) = self.slots.get(slot) else { return &Value::Missing };
        let version = match &info.root {
            None => self.start,
            Some(root) => self.scratch.versions.get(root.id.index()).copied().unwrap_or(0),
        };
        let at = match self.scratch.stamps.get(slot) {
            Some((at, read_in)) if *read_in == version => *at,
            _ => self.load(slot, info, version),
        };
        self.values.get(at).unwrap_or(&Value::Missing)
    }

    #[inline(never)]
    fn load(&mut self, slot: usize, info: &Slot, version: u64) -> usize {
        let value = match &info.root {
            None => info.load(self.message),
            Some(root) => {
                self.roots.get(root.id.index()).map_or(Value::Missing, |root| info.load_from(*root))
            }
        };
        // Reuses the cell of the slot's earlier value, if that was read from this message.
        let Some((at, read_in)) = self.scratch.stamps.get_mut(slot) else { return usize::MAX };
        match self.values.get_mut(*at).filter(|_| *read_in > self.start) {
            Some(kept) => *kept = value,
            None => {
                *at = self.values.len();
                self.values.push(value);
            }
        }
        *read_in = version;
        *at
    }
}

impl<'a> Message<'a> for Rooted<'a> {
    #[inline]
    fn slot(&mut self, slot: usize) -> &Value<'a> {
        self.get(slot)
    }
}

impl Drop for Rooted<'_> {
    fn drop(&mut self) {
        self.scratch.values = recycle(std::mem::take(&mut self.values));
        self.scratch.roots = recycle(std::mem::take(&mut self.roots));
    }
}
