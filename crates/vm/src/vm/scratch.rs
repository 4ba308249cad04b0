//! The working memory that a thread keeps from decision to decision, so that decisions allocate no
//! memory. Each decision has a number, its *epoch*. Cached values are stamped with the epoch, and a
//! value with an older stamp is invalid. So no memory needs clearing between decisions.

use super::past::Past;
use crate::index::lookup::LookupBuffers;
use crate::input::{self, InputBuffers, InputPlan, SlotFiller, SlotValues};
use rulec_base::text::PreparedTexts;
use rulec_base::text::similarity::SimilarityScratch as Similarities;
use rulec_lang::arena::Arena;
use rulec_lang::value::Value;
pub(super) use rulec_lang::value::{grow_to_len, recycle_vec};
use serde::Serialize;
use serde_json::Value as Json;
use std::cell::Cell;

/// The working memory for decisions. Each thread has its own, and uses it for any sequence of rule
/// sets and messages.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) epoch: u32,
    pub(super) memo_cells: Vec<u32>,
    pub(super) vm: VmBuffers,
    pub(super) json: JsonBuffers,
    pub(super) bindings: BindingBuffers,
    /// For each slot (field that rules read), a cell in which compiled code stores its value.
    pub(super) cells: ValueCells<'static>,
    /// The memory for reading messages into slots (fields that rules read). `None` before the first
    /// message, and while a decision uses this memory.
    input: Option<Box<InputBuffers>>,
}

/// The VM's working memory, except the memo cells (cells for results that are valid during one
/// decision).
#[derive(Debug, Default)]
pub struct VmBuffers {
    pub(super) arena: Arena,
    pub(super) texts: PreparedTexts,
    pub(super) cache_stamps: Vec<CacheStamp>,
    pub(super) similarity: Similarities,
    pub(super) working_values: Vec<Value<'static>>,
    pub(super) lookup: LookupBuffers,
    /// The recorded messages that rules read as `history`, oldest first.
    pub(super) history: Past,
}

/// Stamp of a cached value: the decision that computed the value, and the loop element if the value
/// depends on one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheStamp {
    pub epoch: u32,
    /// Id of the current element, counted over all loops of the decision. 0 outside loops, and for
    /// values that depend on no element.
    pub element_id: u64,
}

/// For each slot (field that rules read), a cell for its value. The cell is empty until the slot is
/// read.
pub type ValueCells<'a> = Vec<Cell<Option<Value<'a>>>>;

/// The memory of a [`super::JsonMessage`] (a message whose fields are looked up on demand) that is
/// kept between decisions.
#[derive(Debug, Default)]
pub(super) struct JsonBuffers {
    pub slot_stamps: Vec<EpochStamp>,
    pub object_stamps: Vec<EpochStamp>,
    pub slot_values: Vec<Value<'static>>,
    pub objects: Vec<Option<&'static Json>>,
}

/// The memory of [`super::BindingSlots`] (slots that are read from bindings) that is kept between
/// decisions.
#[derive(Debug, Default)]
pub(super) struct BindingBuffers {
    /// For each slot (field that rules read), the index of its value in `slot_values`. The second
    /// number is the version of the message or binding from which the value was read.
    pub slot_stamps: Vec<(usize, u64)>,
    /// For each binding (a name whose value changes during a decision), the version of its current
    /// value.
    pub binding_versions: Vec<u64>,
    /// The last version number that was assigned to a message, or to a value of a binding. Numbers
    /// are never reused, so they show whether the value of a slot is current.
    pub last_version: u64,
    pub slot_values: Vec<Value<'static>>,
    pub binding_values: Vec<Value<'static>>,
}

/// Index of a value or object that was read from a message, with the number of the decision that
/// read it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EpochStamp {
    pub epoch: u32,
    pub index: u32,
}

/// Working memory with the history for one decision. Dropping the guard restores the previous
/// history.
pub struct HistoryGuard<'s> {
    scratch: &'s mut Scratch,
    previous_history: Past,
}

impl std::ops::Deref for HistoryGuard<'_> {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        self.scratch
    }
}

impl std::ops::DerefMut for HistoryGuard<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        self.scratch
    }
}

impl Drop for HistoryGuard<'_> {
    fn drop(&mut self) {
        std::mem::swap(&mut self.scratch.vm.history, &mut self.previous_history);
    }
}

impl Scratch {
    /// Creates empty working memory, which grows as needed.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Sets the recorded messages that rules read as `history`, until the returned guard is
    /// dropped. A panic drops the guard too, so that later decisions do not read these messages.
    pub fn with_history(&mut self, history: Past) -> HistoryGuard<'_> {
        let before = std::mem::replace(&mut self.vm.history, history);
        HistoryGuard { scratch: self, previous_history: before }
    }

    /// Returns the recorded messages that rules read as `history`.
    pub fn history(&self) -> &Past {
        &self.vm.history
    }

    /// Reads JSON text into slots (fields that rules read), and calls `then` as
    /// [`Scratch::fill_slots`] does. `None` if `then` returns `None`, or if the text is invalid or
    /// must be read into a JSON tree.
    pub fn read_json_text<T>(
        &mut self,
        plan: &InputPlan,
        text: &[u8],
        then: impl FnOnce(SlotValues<'_>, bool, &mut Scratch) -> Option<T>,
    ) -> Option<T> {
        self.fill_slots(plan, text, input::read_text, then)
    }

    /// Reads a `Serialize` value into slots (fields that rules read), and calls `then` as
    /// [`Scratch::fill_slots`] does. `None` if `then` returns `None`, or if the value does not
    /// serialize to an object or must be read into a JSON tree.
    pub fn read_value<T>(
        &mut self,
        plan: &InputPlan,
        message: &impl Serialize,
        then: impl FnOnce(SlotValues<'_>, bool, &mut Scratch) -> Option<T>,
    ) -> Option<T> {
        self.fill_slots(plan, message, |fill, message| input::read_value(fill, message), then)
    }

    /// Lets `source`, the reader of a message format, read a message from `data` into slots (fields
    /// that rules read). Calls `then` with the values of the slots, with whether the message
    /// satisfies the input contract (the declared or inferred types), and with this scratch. `None`
    /// if one of the two functions returns `None`.
    pub fn fill_slots<D: ?Sized, T>(
        &mut self,
        plan: &InputPlan,
        data: &D,
        source: impl for<'f> FnOnce(&mut SlotFiller<'f>, &'f D) -> Option<()>,
        then: impl FnOnce(SlotValues<'_>, bool, &mut Scratch) -> Option<T>,
    ) -> Option<T> {
        // `input` is taken out of this memory, because `then` needs the rest while it reads the
        // slots.
        let mut input = self.input.take().unwrap_or_default();
        let result = input.fill_slots(plan, data, source, |slots, fits| then(slots, fits, self));
        self.input = Some(input);
        result
    }

    /// Clears the stamps (decision numbers) of all cached values, and returns the number of the
    /// first decision after this. The caller calls this function when the numbers overflow, after a
    /// billion decisions.
    #[cold]
    pub(super) fn clear_all_stamps(&mut self) -> u32 {
        self.json.clear_stamps();
        let VmBuffers { cache_stamps: cached, texts, lookup, .. } = &mut self.vm;
        clear_vm_stamps(
            Cell::from_mut(&mut *self.memo_cells).as_slice_of_cells(),
            cached,
            texts,
            Some(lookup),
        )
    }

    /// Sets the number of the last decision, so that tests can make the numbers overflow.
    #[doc(hidden)]
    pub fn set_epoch(&mut self, epoch: u32) {
        self.epoch = epoch & !3;
    }

    /// Returns the epoch: the number of the last decision.
    #[doc(hidden)]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the address and the capacity (number of values) of the memory for registers. A test
    /// checks with them that decisions reuse the memory.
    #[doc(hidden)]
    pub fn register_memory(&self) -> (usize, usize) {
        (self.vm.working_values.as_ptr() as usize, self.vm.working_values.capacity())
    }
}

/// Clears the stamps (decision numbers) in the VM's memory, so that no cached value counts as
/// valid. Returns the number of the first decision after this. The caller calls this function when
/// the decision numbers overflow.
#[cold]
pub(super) fn clear_vm_stamps(
    memo: &[Cell<u32>],
    cached: &mut [CacheStamp],
    texts: &mut PreparedTexts,
    lookup: Option<&mut LookupBuffers>,
) -> u32 {
    memo.iter().for_each(|cell| cell.set(0));
    cached.fill(CacheStamp::default());
    texts.invalidate_all();
    if let Some(lookup) = lookup {
        lookup.clear_epochs();
    }
    4
}

impl JsonBuffers {
    pub fn clear_stamps(&mut self) {
        self.slot_stamps.fill(EpochStamp::default());
        self.object_stamps.fill(EpochStamp::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_memory_keeps_its_capacity() {
        let text = String::from("x");
        let mut values: Vec<Value<'_>> = vec![Value::Str(&text); 100];
        values.reserve(28);
        let (at, capacity) = (values.as_ptr() as usize, values.capacity());
        let values: Vec<Value<'static>> = recycle_vec(values);
        assert_eq!((values.as_ptr() as usize, values.capacity(), values.len()), (at, capacity, 0));
        let json = Json::Null;
        let objects = vec![Some(&json); 100];
        let (at, capacity) = (objects.as_ptr() as usize, objects.capacity());
        let objects: Vec<Option<&'static Json>> = recycle_vec(objects);
        assert_eq!((objects.as_ptr() as usize, objects.capacity()), (at, capacity));
    }

    #[test]
    fn a_scratch_moves_between_threads() {
        fn assert_send<T: Send>() {}
        assert_send::<Scratch>();
    }
}
