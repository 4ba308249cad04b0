//! Slots of a message and of bindings that change while it is looked at, such as the elements of a
//! list: what was read of the others stays known.

use super::Message;
use super::scratch::{Stamp64, recycle};
use crate::sema::hir::{BindingId, Root, Slot};
use crate::value::Value;
use hashbrown::HashMap;
use serde_json::Value as Json;
use std::sync::Arc;

/// The ways that slots are read by, for a program's slots. What lies at the same place is looked up
/// once, however many slots read it or go through it.
#[derive(Debug, Default)]
pub struct Ways {
    places: Vec<Place>,
    /// The place each slot reads.
    slots: Vec<Option<u32>>,
}

/// A place within a root.
#[derive(Debug)]
struct Place {
    /// The place it is found from; the root itself when there is none. It stands before this one.
    from: Option<u32>,
    /// The way from there, of one key but at the greatest depth.
    keys: Vec<Arc<str>>,
}

/// How many keys a way has that are shared with other ways; what is deeper is walked each time.
const SHARED_DEPTH: usize = 16;

impl Ways {
    /// The ways of these slots.
    pub fn new(slots: &[Slot]) -> Ways {
        let mut ways = Ways::default();
        let mut known: HashMap<(Option<BindingId>, &[Arc<str>]), u32> = HashMap::new();
        for slot in slots {
            let root = slot.root.as_ref().map(|Root { id, .. }| *id);
            let mut from = None;
            for depth in 1..=slot.path.len() {
                let end = if depth == SHARED_DEPTH { slot.path.len() } else { depth };
                let next = ways.places.len() as u32;
                let place = *known.entry((root, &slot.path[..end])).or_insert(next);
                if place == next {
                    ways.places.push(Place { from, keys: slot.path[depth - 1..end].to_vec() });
                }
                from = Some(place);
                if end == slot.path.len() {
                    break;
                }
            }
            ways.slots.push(from);
        }
        ways
    }
}

/// Room that is kept from one [`Rooted`] to the next.
#[derive(Debug, Default)]
pub struct RootedScratch {
    /// Where the value of each slot is kept, and in which version of its root it was read.
    stamps: Vec<Stamp64>,
    /// The same for each place.
    places: Vec<Stamp64>,
    versions: Vec<u64>,
    version: u64,
    values: Vec<Value<'static>>,
    roots: Vec<Value<'static>>,
}

/// The values of slots, looked up when first asked for.
pub struct Rooted<'a> {
    slots: &'a [Slot],
    ways: &'a Ways,
    message: Value<'a>,
    scratch: &'a mut RootedScratch,
    roots: Vec<Value<'a>>,
    values: Vec<Value<'a>>,
    /// The message's own version.
    start: u64,
}

impl<'a> Rooted<'a> {
    /// With so many bindings, none of which has a value yet. The ways are those of the slots.
    pub fn new(
        slots: &'a [Slot],
        ways: &'a Ways,
        message: &'a Json,
        bindings: usize,
        scratch: &'a mut RootedScratch,
    ) -> Rooted<'a> {
        let mut roots: Vec<Value<'a>> = recycle(std::mem::take(&mut scratch.roots));
        roots.resize(bindings, Value::Missing);
        let values = recycle(std::mem::take(&mut scratch.values));
        for (stamps, count) in [(&mut scratch.stamps, slots.len()), (&mut scratch.places, ways.places.len())]
        {
            if stamps.len() < count {
                stamps.resize(count, Stamp64::default());
            }
        }
        scratch.version += 1;
        let start = scratch.version;
        scratch.versions.clear();
        scratch.versions.resize(bindings, start);
        Rooted { slots, ways, message: Value::from_json(message), scratch, roots, values, start }
    }

    /// Gives a binding its value; what was read of an earlier one is forgotten.
    pub fn bind(&mut self, binding: BindingId, value: Value<'a>) {
        self.scratch.version += 1;
        if let (Some(root), Some(version)) =
            (self.roots.get_mut(binding.index()), self.scratch.versions.get_mut(binding.index()))
        {
            (*root, *version) = (value, self.scratch.version);
        }
    }

    /// The values of the bindings.
    pub fn roots(&self) -> &[Value<'a>] {
        &self.roots
    }

    /// The value of a slot.
    #[inline]
    pub fn get(&mut self, slot: usize) -> &Value<'a> {
        let Some(info) = self.slots.get(slot) else { return &Value::Missing };
        let version = match &info.root {
            None => self.start,
            Some(root) => self.scratch.versions.get(root.id.index()).copied().unwrap_or(0),
        };
        let at = match self.scratch.stamps.get(slot) {
            Some(stamp) if stamp.version == version => stamp.at as usize,
            _ => self.load(slot, info, version),
        };
        self.values.get(at).unwrap_or(&Value::Missing)
    }

    #[inline(never)]
    fn load(&mut self, slot: usize, info: &Slot, version: u64) -> usize {
        let root = match &info.root {
            None => self.message,
            Some(root) => self.roots.get(root.id.index()).copied().unwrap_or(Value::Missing),
        };
        let value = match self.ways.slots.get(slot).copied().flatten() {
            Some(place) => self.place(place, root, version),
            None => root,
        };
        let kept = self.scratch.stamps.get(slot).copied().unwrap_or_default();
        let stamp = self.keep(kept, value.read(info.kinds), version);
        if let Some(cell) = self.scratch.stamps.get_mut(slot) {
            *cell = stamp;
        }
        stamp.at as usize
    }

    /// What lies at a place of that root, of any kind. Recurs to the depth that is shared.
    fn place(&mut self, place: u32, root: Value<'a>, version: u64) -> Value<'a> {
        let kept = self.scratch.places.get(place as usize).copied().unwrap_or_default();
        if kept.version == version {
            return self.values.get(kept.at as usize).copied().unwrap_or(Value::Missing);
        }
        let ways = self.ways;
        let Some(info) = ways.places.get(place as usize) else { return Value::Missing };
        let mut value = match info.from.filter(|from| *from < place) {
            Some(from) => self.place(from, root, version),
            None => root,
        };
        for key in &info.keys {
            value = value.field(key);
        }
        let stamp = self.keep(kept, value, version);
        if let Some(cell) = self.scratch.places.get_mut(place as usize) {
            *cell = stamp;
        }
        value
    }

    /// Keeps a value: where one of an earlier element was kept, or else in a new place.
    fn keep(&mut self, kept: Stamp64, value: Value<'a>, version: u64) -> Stamp64 {
        let at = kept.at as usize;
        if kept.version > self.start
            && let Some(cell) = self.values.get_mut(at)
        {
            *cell = value;
            return Stamp64 { version, ..kept };
        }
        self.values.push(value);
        Stamp64 { version, at: (self.values.len() - 1) as u32 }
    }
}

impl<'a, 'r> Message<'a> for &'a mut Rooted<'r> {
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
