//! The values of one message's slots, and whether it keeps the promises of the declared input.

use super::Filled;
use super::plan::{NONE, Plan, PlanNode};
use bumpalo::Bump;
use hashbrown::HashSet;
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::{Value, recycle};
use smallvec::SmallVec;

/// Objects of more keys remember them in a set.
const FEW_KEYS: usize = 16;

/// The fields that may be missing in a row before a key is looked up.
const AHEAD: usize = 4;

/// The slots and promises that a source fills.
pub struct Fill<'a> {
    pub(super) plan: &'a Plan,
    /// The arena of values that do not lie in the source as they are.
    pub(super) bump: &'a Bump,
    pub(super) values: Vec<Value<'a>>,
    kept: bool,
    /// The keys of the objects at hand that are of no interest.
    keys: SmallVec<[&'a str; 32]>,
    /// A bit for each place that was come upon: there is one of each in a message.
    pub seen: Vec<u64>,
    /// For each place, what stood first in it and what stood behind it the last time: most messages of a stream have
    /// their keys in one order. Where that was learnt from other rules, or does not hold, the key is looked up.
    pub order: Vec<u32>,
}

/// The memory of the values, places and order of the last message.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub values: Vec<Value<'static>>,
    pub seen: Vec<u64>,
    pub order: Vec<u32>,
}

impl<'a> Fill<'a> {
    /// With the memory of the last message.
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

    /// The memory for the next message.
    pub(super) fn into_kept(self) -> Kept {
        Kept { values: recycle(self.values), seen: self.seen, order: self.order }
    }

    /// The place in `order` of what stands first in an object at a place.
    #[inline(always)]
    pub fn first_in(node: u32) -> usize {
        (node as usize).wrapping_mul(2)
    }

    /// The place in `order` of what stands behind a place.
    #[inline(always)]
    pub fn behind(node: u32) -> usize {
        (node as usize).wrapping_mul(2).wrapping_add(1)
    }

    /// Notes that there is something at a place; `None` when there was before.
    #[inline(always)]
    pub(super) fn come_upon(&mut self, place: u32) -> Option<()> {
        let (word, bit) = (self.seen.get_mut(place as usize / 64)?, 1 << (place % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new.then_some(())
    }

    /// The place whose key stands in the text ahead, in an object at a place, and the length of that key with its
    /// colon: the one that stood at this turn before, or where that is missing one that stood behind it.
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

    /// The arena of values that do not lie in the source as they are.
    pub fn bump(&self) -> &'a Bump {
        self.bump
    }

    /// The places that are filled.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    pub(super) fn filled(&self) -> Filled<'_, 'a> {
        Filled { values: &self.values, kept: self.kept }
    }

    /// A value at a place. How many of the fields that its object must have it is: none or one.
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

    /// The same where several slots read the value, or it is of another kind than the one.
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

    /// A list or object at a place where no slot reads one. The answer is that of [`Fill::put`].
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
            // What is missing is missed at the end of its object.
            _ => 0,
        }
    }

    /// The end of an object in which so many of the fields that it must have were.
    #[inline]
    pub fn end(&mut self, node: u32, given: u32) {
        self.kept &= self.plan.node(node).is_none_or(|node| node.required <= given);
    }

    /// A list or object that was built as a whole, and what slots read in it.
    pub fn spread(&mut self, node: u32, value: Value<'a>) -> u32 {
        let given = self.put(node, value);
        if let (Value::Entries(_), Some(info)) = (value, self.plan.node(node)) {
            let inner = info.children.iter().map(|(key, child)| self.spread(*child, value.field(key))).sum();
            self.end(node, inner);
        }
        given
    }
}

/// The keys of an object so far.
pub(super) struct Keys<'a> {
    start: usize,
    /// A bit for each key by its length and ends: where it is not set, the key is new.
    bits: u64,
    many: Option<Box<HashSet<&'a str, foldhash::fast::RandomState>>>,
}

impl<'a> Keys<'a> {
    /// None; [`Keys::end`] gives back the room.
    pub fn begin(fill: &Fill<'a>) -> Keys<'a> {
        Keys { start: fill.keys.len(), bits: 0, many: None }
    }

    /// Adds one that leads to a place, or to none; `None` when it was there before.
    #[inline]
    pub fn add(&mut self, fill: &mut Fill<'a>, key: &'a str, place: u32) -> Option<()> {
        if place == NONE { self.add_unknown(fill, key) } else { fill.come_upon(place) }
    }

    /// Adds one that leads to no place.
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
