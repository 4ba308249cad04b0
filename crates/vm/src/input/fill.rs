//! Collects the values of one message's slots (the fields that rules read), and checks whether the
//! message satisfies the input contract. The contract gives the declared or inferred types of the
//! fields.

use super::plan::{InputPlan, NO_PATH, PathId, PlanNode};
use bumpalo::Bump;
use hashbrown::HashSet;
use rulec_base::broken_invariant;
use rulec_lang::arena;
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::{Value, recycle_vec};
use smallvec::SmallVec;
use std::mem::take;

/// Maximum number of keys of an object for which duplicate keys are searched linearly. If an object
/// has more keys, a hash set is used.
/// Compared with other values in benches/notes/constants.md.
const MAX_LINEAR_KEYS: usize = 16;

/// Maximum number of predictions for the next key of an object. Each predicted key is compared with
/// the text. If none of them matches, the key is read and looked up.
/// Measured in benches/notes/json-reading.md, "Experiments".
const MAX_KEY_PREDICTIONS: usize = 4;

/// The values of a message's slots (the fields that rules read).
#[derive(Clone, Copy, Debug)]
pub struct SlotValues<'a> {
    /// The values in the order of the program's slots (fields that rules read). Slots beyond the
    /// end of the slice are missing.
    pub values: &'a [Value<'a>],
    /// The ids of the slots (fields that rules read) that have a value, in any order. `None` if the
    /// reader of the message did not record them.
    pub present_slot_ids: Option<&'a [u32]>,
}

impl<'a> From<&'a [Value<'a>]> for SlotValues<'a> {
    fn from(values: &'a [Value<'a>]) -> SlotValues<'a> {
        SlotValues { values, present_slot_ids: None }
    }
}

/// Receives the fields of one message from a source (the reader of a message format). Stores the
/// values of slots, and checks the input contract.
pub struct SlotFiller<'a> {
    pub(super) plan: &'a InputPlan,
    /// The arena for values that cannot be borrowed from the source.
    pub(super) bump: &'a Bump,
    pub(super) slot_values: Vec<Value<'a>>,
    satisfies_contract: bool,
    /// Keys of the objects that are currently being read, to find duplicate keys. Contains only
    /// keys that neither the rules nor the input contract refer to.
    unplanned_keys: SmallVec<[&'a str; 32]>,
    /// One bit for each path (sequence of keys) of the plan: whether the message already has a
    /// value at the path. A second value at the same path means a duplicate key.
    pub seen_path_bits: Vec<u64>,
    /// Predictions of the next key, from the order of the keys in the last message. There are two
    /// entries for each path. The first is the child of the path that came first in the last
    /// message, and the second is the sibling that followed the path.
    ///
    /// Most messages of a stream have their keys in the same order. A wrong prediction is harmless,
    /// even if it is from a message of another rule set: the key is then looked up.
    pub predicted_paths: Vec<u32>,
}

/// Memory of a [`SlotFiller`], reused from message to message.
#[derive(Debug, Default)]
pub(crate) struct InputBuffers {
    bump: Bump,
    slot_values: Vec<Value<'static>>,
    /// Memory for [`SlotFiller::seen_path_bits`] (which paths have a value), kept between messages.
    seen_path_bits: Vec<u64>,
    /// Memory for [`SlotFiller::predicted_paths`] (the key order of the last message), kept between
    /// messages.
    predicted_paths: Vec<u32>,
}

impl InputBuffers {
    /// Lets `source`, the reader of a message format, read `data` into slots (fields that rules
    /// read). Passes to `then` the values of the slots, and whether the message satisfies the input
    /// contract (the declared or inferred types). Returns `None` if one of the two functions
    /// returns `None`.
    pub fn fill_slots<D: ?Sized, T>(
        &mut self,
        plan: &InputPlan,
        data: &D,
        source: impl for<'f> FnOnce(&mut SlotFiller<'f>, &'f D) -> Option<()>,
        then: impl FnOnce(SlotValues<'_>, bool) -> Option<T>,
    ) -> Option<T> {
        arena::reset_bump(&mut self.bump);
        let (mut values, mut seen) =
            (recycle_vec(take(&mut self.slot_values)), take(&mut self.seen_path_bits));
        let mut order = take(&mut self.predicted_paths);
        values.resize(plan.slot_count(), Value::Missing);
        seen.clear();
        seen.resize(plan.path_count().div_ceil(64), 0);
        if order.len() < 2 * plan.path_count() {
            order.resize(2 * plan.path_count(), NO_PATH);
        }
        let keys = SmallVec::new();
        let mut filler = SlotFiller {
            plan,
            bump: &self.bump,
            slot_values: values,
            satisfies_contract: true,
            unplanned_keys: keys,
            seen_path_bits: seen,
            predicted_paths: order,
        };
        let result = source(&mut filler, data)
            .and_then(|()| then(filler.slot_values[..].into(), filler.satisfies_contract));
        let SlotFiller { slot_values: values, seen_path_bits: seen, predicted_paths: order, .. } = filler;
        (self.slot_values, self.seen_path_bits, self.predicted_paths) = (recycle_vec(values), seen, order);
        result
    }
}

impl<'a> SlotFiller<'a> {
    /// Returns the index in [`SlotFiller::predicted_paths`] of the prediction for the first key of
    /// the object at the path `node`. The prediction is the path of the key that was first in the
    /// last message.
    #[inline(always)]
    pub fn first_child_index(node: PathId) -> usize {
        (node as usize).wrapping_mul(2)
    }

    /// Returns the index in [`SlotFiller::predicted_paths`] of the prediction for the key after the
    /// path `node` in the same object. The prediction is the path of the key that came next in the
    /// last message.
    #[inline(always)]
    pub fn next_sibling_index(node: PathId) -> usize {
        (node as usize).wrapping_mul(2).wrapping_add(1)
    }

    /// Records that the message has a value at a path (sequence of keys). Returns `None` if the
    /// message already had one, which means a duplicate key.
    #[inline(always)]
    pub(super) fn mark_seen(&mut self, path: u32) -> Option<()> {
        let (word, bit) = (self.seen_path_bits.get_mut(path as usize / 64)?, 1 << (path % 64));
        let is_first = *word & bit == 0;
        *word |= bit;
        is_first.then_some(())
    }

    /// Predicts the next key of the object `node`, and compares the predicted key with `ahead`, the
    /// unread JSON text. Returns the key's path and the length of the key with its colon; `None` if
    /// no prediction is right.
    ///
    /// `turn` is the index in [`SlotFiller::predicted_paths`] of the first prediction. If the
    /// message lacks that key, the keys that followed it in the last message are tried.
    #[inline(always)]
    pub(super) fn predict_child(&self, node: PathId, turn: usize, ahead: &[u8]) -> Option<(u32, usize)> {
        let mut turn = turn;
        for _ in 0..MAX_KEY_PREDICTIONS {
            let child = *self.predicted_paths.get(turn)?;
            if let Some(length) = self.plan.matching_key_len(node, child, ahead) {
                return Some((child, length));
            }
            turn = SlotFiller::next_sibling_index(child);
        }
        None
    }

    /// Returns the arena for values that cannot be borrowed from the source.
    pub fn bump(&self) -> &'a Bump {
        self.bump
    }

    /// Returns the plan for reading messages, which has the slots (fields that rules read) of each
    /// path.
    pub fn plan(&self) -> &'a InputPlan {
        self.plan
    }

    /// Stores a value at the path `node` of the message. Returns 1 if the input contract requires
    /// this field in its object, else 0. The caller adds up these numbers for
    /// [`SlotFiller::end_object`].
    #[inline(always)]
    pub fn put_value(&mut self, node: PathId, value: Value<'a>) -> u32 {
        let Some(hot) = self.plan.hot_node(node) else { return 0 };
        if value.kind().is_some_and(|kind| hot.unchecked_kinds.has(kind))
            && let Some(cell) = self.slot_values.get_mut(hot.slot_id as usize)
        {
            *cell = value;
            return hot.required_count.into();
        }
        self.put_converted_value(node, value)
    }

    /// Stores a value at a path, for the cases that [`SlotFiller::put_value`] does not handle:
    /// several slots read the path, or the value must be converted or checked first. Returns 1 if
    /// the input contract requires the field and the value is not missing, else 0.
    #[inline(never)]
    fn put_converted_value(&mut self, node: PathId, value: Value<'a>) -> u32 {
        let Some(node) = self.plan.node_at(node) else {
            broken_invariant!("a path with hot data is in the plan");
            return 0;
        };
        for &(slot, kinds) in std::iter::once(&node.first_slot).chain(&node.further_slots) {
            if let Some(cell) = self.slot_values.get_mut(slot as usize) {
                *cell = value.read_as(kinds).read_one_of(node.allowed_texts.as_ref());
            }
        }
        let fits = |kinds| !value.read_as(kinds).read_one_of(node.allowed_texts.as_ref()).is_missing();
        self.check_contract(node, fits, value.is_missing())
    }

    /// Checks the input contract for a list or object (`kind`) at the path `node`, which no slot
    /// reads. Returns 1 if the contract requires this field in its object, else 0.
    #[inline]
    pub fn check_unread_value(&mut self, node: PathId, kind: Kind) -> u32 {
        let Some(node) = self.plan.node_at(node) else { return 0 };
        self.check_contract(node, |kinds| kinds.has(kind), false)
    }

    /// Checks a value against the input contract of its path, and records a violation. `fits`
    /// reports whether the value has one of the kinds in its argument; it is called with the kinds
    /// that the contract allows. `missing` is true for a missing value. Returns 1 if the contract
    /// requires this field and the value is not missing, else 0.
    fn check_contract(&mut self, node: &PlanNode, fits: impl Fn(KindSet) -> bool, missing: bool) -> u32 {
        match node.contract {
            Some(contract) if !missing => {
                self.satisfies_contract &= fits(contract.kinds);
                u32::from(!contract.is_optional)
            }
            // Missing fields are found at the end of the object, by the number of required fields.
            _ => 0,
        }
    }

    /// Checks at the end of an object that the object has all fields that the input contract
    /// requires. `node` is the path of the object, and `given_count` is the number of required
    /// fields that it has.
    #[inline]
    pub fn end_object(&mut self, node: PathId, given_count: u32) {
        self.satisfies_contract &=
            self.plan.node_at(node).is_none_or(|node| node.required_field_count <= given_count);
    }

    /// Stores a list or object, whose path is `node`, after all its elements or fields have been
    /// read. Also stores the values of slots that read fields inside it. Returns 1 if the input
    /// contract requires this field, else 0.
    pub fn put_built_value(&mut self, node: PathId, value: Value<'a>) -> u32 {
        let required = self.put_value(node, value);
        if let (Value::Entries(_), Some(info)) = (value, self.plan.node_at(node)) {
            let inner_required = info
                .child_paths
                .iter()
                .map(|(key, child)| self.put_built_value(*child, value.field(key)))
                .sum();
            self.end_object(node, inner_required);
        }
        required
    }
}

/// The keys that were read so far in one object, for finding duplicate keys.
pub(super) struct ObjectKeys<'a> {
    first_key_index: usize,
    /// One bit for each key, chosen by a hash of the key's length and its first and last bytes. A
    /// key whose bit is unset is not a duplicate.
    key_hash_bits: u64,
    key_set: Option<Box<HashSet<&'a str, foldhash::fast::RandomState>>>,
}

impl<'a> ObjectKeys<'a> {
    /// Begins an object, without any keys. The caller must call [`ObjectKeys::release_keys`] at the
    /// end of the object, to release the memory.
    pub fn begin_object(filler: &SlotFiller<'a>) -> ObjectKeys<'a> {
        ObjectKeys { first_key_index: filler.unplanned_keys.len(), key_hash_bits: 0, key_set: None }
    }

    /// Adds a key. `path` is the key's path in the plan, or `NO_PATH` if the plan has no such path.
    /// Returns `None` if the object already has the key.
    #[inline]
    pub fn add_key(&mut self, filler: &mut SlotFiller<'a>, key: &'a str, path: u32) -> Option<()> {
        if path == NO_PATH { self.add_unplanned_key(filler, key) } else { filler.mark_seen(path) }
    }

    /// Adds a key to which neither the rules nor the input contract refer. Returns `None` if the
    /// object already has the key.
    #[inline(never)]
    fn add_unplanned_key(&mut self, filler: &mut SlotFiller<'a>, key: &'a str) -> Option<()> {
        if let Some(key_set) = &mut self.key_set {
            return key_set.insert(key).then_some(());
        }
        let (first, last) = (key.as_bytes().first().unwrap_or(&0), key.as_bytes().last().unwrap_or(&0));
        let bit = 1 << ((usize::from(*first) ^ usize::from(*last) << 1 ^ key.len() << 2) & 63);
        let earlier_keys = filler.unplanned_keys.get(self.first_key_index..).unwrap_or_default();
        if self.key_hash_bits & bit != 0 && earlier_keys.contains(&key) {
            return None;
        }
        self.key_hash_bits |= bit;
        filler.unplanned_keys.push(key);
        if filler.unplanned_keys.len() - self.first_key_index > MAX_LINEAR_KEYS {
            self.key_set = Some(Box::new(filler.unplanned_keys.drain(self.first_key_index..).collect()));
        }
        Some(())
    }

    #[inline]
    pub fn release_keys(self, filler: &mut SlotFiller<'a>) {
        filler.unplanned_keys.truncate(self.first_key_index);
    }
}
