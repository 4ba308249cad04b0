//! The slot values of one message, and whether the message satisfies the declared input contract.

use super::Filled;
use super::plan::{NONE, Plan, PlanNode};
use bumpalo::Bump;
use hashbrown::HashSet;
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::{Value, recycle};
use smallvec::SmallVec;

/// Maximum number of keys in an object that are searched linearly; more keys go into a set.
const FEW_KEYS: usize = 16;

/// Maximum number of expected fields that may be absent in a row before a key is looked up.
const AHEAD: usize = 4;

/// The slots that a source fills, and the contract checks along the way.
pub struct Fill<'a> {
    pub(super) plan: &'a Plan,
    /// The arena for values that cannot be borrowed from the source.
    pub(super) bump: &'a Bump,
    pub(super) values: Vec<Value<'a>>,
    kept: bool,
    /// The keys of the open objects that match no path of the plan.
    keys: SmallVec<[&'a str; 32]>,
    /// One bit for each path of the plan: whether the message has had a value there, to find
    /// duplicates.
    pub seen: Vec<u64>,
    /// For each path, the child found first in it, and the sibling found after it, in the last
    /// message.
    ///
    /// Most messages of a stream have their keys in the same order. If the prediction fails, or was
    /// learned from other rules, the key is looked up.
    pub order: Vec<u32>,
}

/// The allocations of the last message, for reuse.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub values: Vec<Value<'static>>,
    pub seen: Vec<u64>,
    pub order: Vec<u32>,
}

impl<'a> Fill<'a> {
    /// Starts a message, reusing the allocations of the last one.
    pub(super) fn new(plan: &'a Plan, bump: &'a Bump, kept: Kept) -> Fill<'a> {
        let (mut values, mut seen, mut order) = (recycle(kept.values), kept.seen, kept.order);
        values.resize(plan.slots(), Value::Missing);
        seen.clear();
        seen.resize(plan.places().div_ceil(64), 0);
        if order.len() < 2 * plan.places() {
            order.resize(2 * plan.places(), NONE);
        }
        Fill { plan, bump, values, kept: true, keys: SmallVec::new(), seen, order }
    }

    /// Returns the allocations for the next message.
    pub(super) fn into_kept(self) -> Kept {
        Kept { values: recycle(self.values), seen: self.seen, order: self.order }
    }

    /// Returns the index in `order` of the first child of an object.
    #[inline(always)]
    pub fn first_in(node: u32) -> usize {
        (node as usize).wrapping_mul(2)
    }

    /// Returns the index in `order` of the sibling after a path.
    #[inline(always)]
    pub fn behind(node: u32) -> usize {
        (node as usize).wrapping_mul(2).wrapping_add(1)
    }

    /// Marks a path as seen; `None` if it was seen before.
    #[inline(always)]
    pub(super) fn come_upon(&mut self, place: u32) -> Option<()> {
        let (word, bit) = (self.seen.get_mut(place as usize / 64)?, 1 << (place % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new.then_some(())
    }

    /// Predicts the next key of an object, and compares it with the text ahead. Returns the child's
    /// path and the length of the key with its colon.
    ///
    /// The prediction is the child that came at this point (`turn`) before. If that child is
    /// absent, the siblings that came after it are tried.
    #[inline(always)]
    pub(super) fn place_ahead(&self, node: u32, turn: usize, ahead: &[u8]) -> Option<(u32, usize)> {
        let mut turn = turn;
        for _ in 0..AHEAD {
            let child = *self.order.get(turn)?;
            if let Some(length) = self.plan.length_ahead(node, child, ahead) {
                return Some((child, length));
            }
            turn = Fill::behind(child);
        }
        None
    }

    /// Returns the arena for values that cannot be borrowed from the source.
    pub fn bump(&self) -> &'a Bump {
        self.bump
    }

    /// Returns the plan that is filled.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    pub(super) fn filled(&self) -> Filled<'_, 'a> {
        Filled { values: &self.values, kept: self.kept }
    }

    /// Stores a value at a path. Returns 1 if the value is a required field of its object, else 0.
    #[inline(always)]
    pub fn put(&mut self, node: u32, value: Value<'a>) -> u32 {
        let Some(spot) = self.plan.spot(node) else { return 0 };
        if value.kind().is_some_and(|kind| spot.plain.has(kind))
            && let Some(cell) = self.values.get_mut(spot.slot as usize)
        {
            *cell = value;
            return spot.given.into();
        }
        self.put_converted(node, value)
    }

    /// Stores a value at a path. This is the slow path of [`Fill::put`]: several slots read the
    /// value, or the value has an unexpected kind.
    #[inline(never)]
    fn put_converted(&mut self, node: u32, value: Value<'a>) -> u32 {
        let Some(node) = self.plan.node(node) else { return 0 };
        for &(slot, kinds) in std::iter::once(&node.slot).chain(&node.further) {
            if let Some(cell) = self.values.get_mut(slot as usize) {
                *cell = value.read(kinds);
            }
        }
        self.promised(node, |kinds| !value.read(kinds).is_missing(), value.is_missing())
    }

    /// Records a list or object that no slot reads. Returns 1 if it is a required field of its
    /// object, else 0.
    #[inline]
    pub fn pass(&mut self, node: u32, kind: Kind) -> u32 {
        let Some(node) = self.plan.node(node) else { return 0 };
        self.promised(node, |kinds| kinds.has(kind), false)
    }

    fn promised(&mut self, node: &PlanNode, fits: impl Fn(KindSet) -> bool, missing: bool) -> u32 {
        match node.promise {
            Some(promise) if !missing => {
                self.kept &= fits(promise.kinds);
                u32::from(!promise.optional)
            }
            // The end of the object finds missing fields, by their count.
            _ => 0,
        }
    }

    /// Ends an object, in which the message has `given` of the required fields.
    #[inline]
    pub fn end(&mut self, node: u32, given: u32) {
        self.kept &= self.plan.node(node).is_none_or(|node| node.required <= given);
    }

    /// Stores a list or object that was built as a whole, and the fields that slots read in it.
    /// Returns 1 if the value is a required field of its object, else 0.
    pub fn spread(&mut self, node: u32, value: Value<'a>) -> u32 {
        let given = self.put(node, value);
        if let (Value::Entries(_), Some(info)) = (value, self.plan.node(node)) {
            let inner = info.children.iter().map(|(key, child)| self.spread(*child, value.field(key))).sum();
            self.end(node, inner);
        }
        given
    }
}

/// The keys of an object so far, to find duplicates.
pub(super) struct Keys<'a> {
    start: usize,
    /// A bit for each key, from a hash of its length and end characters. A key whose bit is unset
    /// is new.
    bits: u64,
    many: Option<Box<HashSet<&'a str, foldhash::fast::RandomState>>>,
}

impl<'a> Keys<'a> {
    /// Starts an object without keys. [`Keys::end`] must follow, to release the memory.
    pub fn begin(fill: &Fill<'a>) -> Keys<'a> {
        Keys { start: fill.keys.len(), bits: 0, many: None }
    }

    /// Adds a key at a path of the plan, or `NONE`. Returns `None` if the object has the key
    /// already.
    #[inline]
    pub fn add(&mut self, fill: &mut Fill<'a>, key: &'a str, place: u32) -> Option<()> {
        if place == NONE { self.add_unknown(fill, key) } else { fill.come_upon(place) }
    }

    /// Adds a key that matches no path of the plan.
    #[inline(never)]
    fn add_unknown(&mut self, fill: &mut Fill<'a>, key: &'a str) -> Option<()> {
        if let Some(many) = &mut self.many {
            return many.insert(key).then_some(());
        }
        let (first, last) = (key.as_bytes().first().unwrap_or(&0), key.as_bytes().last().unwrap_or(&0));
        let bit = 1 << ((usize::from(*first) ^ usize::from(*last) << 1 ^ key.len() << 2) & 63);
        let before = fill.keys.get(self.start..).unwrap_or_default();
        if self.bits & bit != 0 && before.contains(&key) {
            return None;
        }
        self.bits |= bit;
        fill.keys.push(key);
        if fill.keys.len() - self.start > FEW_KEYS {
            self.many = Some(Box::new(fill.keys.drain(self.start..).collect()));
        }
        Some(())
    }

    pub fn end(self, fill: &mut Fill<'a>) {
        fill.keys.truncate(self.start);
    }
}
