//! The working memory that a thread keeps from decision to decision.

use super::memo::Memo;
use crate::arena::Arena;
use crate::bytecode::Chunk;
use crate::index::lookup::Workspace;
use crate::text::PreparedTexts;
use crate::text::similarity::Scratch as Similarities;
use crate::value::Value;
pub(super) use crate::value::{grow, recycle};
use serde_json::Value as Json;
use std::cell::Cell;

/// The memory to decide in: one a thread, for any rule sets and messages in turn.
#[derive(Debug, Default)]
pub struct Scratch {
    epoch: u32,
    memo: Vec<u32>,
    memory: Memory,
    slots: SlotCells,
    #[cfg(feature = "jit")]
    cells: Cells<'static>,
}

/// The machine's working memory beside the memo cells.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(super) arena: Arena,
    pub(super) texts: PreparedTexts,
    pub(super) cached: Vec<Moment>,
    pub(super) similarity: Similarities,
    pub(super) values: Vec<Value<'static>>,
    pub(super) workspace: Workspace,
}

/// The time that a kept value belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub epoch: u32,
    /// The number of the element at hand, of all that the decision's loops went over; 0 outside loops, and for what
    /// depends on none.
    pub element: u64,
}

/// A place for the value of each slot, empty until it is read.
#[cfg(feature = "jit")]
pub(crate) type Cells<'a> = Vec<Cell<Option<Value<'a>>>>;

/// The parts that a [`super::JsonMessage`] borrows: what was read of the message.
#[derive(Debug, Default)]
pub(super) struct SlotCells {
    pub slots: Vec<Stamp>,
    pub nodes: Vec<Stamp>,
    pub values: Vec<Value<'static>>,
    pub objects: Vec<Option<&'static Json>>,
}

/// The place of something that was read in the decision of that number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    pub epoch: u32,
    pub at: u32,
}

pub(super) struct Parts<'a> {
    /// Shared with compiled code, which writes answers as well.
    pub memo: Memo<'a>,
    /// The number of the last epoch, for who begins further ones.
    pub last: &'a mut u32,
    pub memory: &'a mut Memory,
    pub slots: &'a mut SlotCells,
    /// For compiled code: a place for each slot, empty until it is read.
    #[cfg(feature = "jit")]
    pub cells: &'a mut Cells<'static>,
}

impl Scratch {
    /// Empty; it grows to what the rule sets and messages need.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Begins a decision under a new number, a multiple of four.
    #[inline]
    pub(super) fn begin(&mut self, chunk: &Chunk) -> Parts<'_> {
        self.epoch = match self.epoch.checked_add(4) {
            Some(epoch) => epoch,
            None => self.forget(),
        };
        grow(&mut self.memo, chunk.memo_len());
        Parts {
            memo: Memo { cells: Cell::from_mut(&mut *self.memo).as_slice_of_cells(), epoch: self.epoch },
            last: &mut self.epoch,
            memory: &mut self.memory,
            slots: &mut self.slots,
            #[cfg(feature = "jit")]
            cells: &mut self.cells,
        }
    }

    /// After a billion decisions the numbers begin anew, so old stamps must go.
    #[cold]
    fn forget(&mut self) -> u32 {
        self.slots.forget();
        let Memory { cached, texts, workspace, .. } = &mut self.memory;
        forget(Cell::from_mut(&mut *self.memo).as_slice_of_cells(), cached, texts, Some(workspace))
    }

    /// Sets the decisions' number, to test what happens when it overflows.
    #[cfg(test)]
    pub(super) fn set_epoch(&mut self, epoch: u32) {
        self.epoch = epoch & !3;
    }

    /// The address of the registers, and the number there is room for.
    #[cfg(test)]
    pub(super) fn registers(&self) -> (usize, usize) {
        (self.memory.values.as_ptr() as usize, self.memory.values.capacity())
    }
}

/// Takes the stamps away when the numbers of epochs begin anew, and returns the first.
#[cold]
pub(super) fn forget(
    memo: &[Cell<u32>],
    cached: &mut [Moment],
    texts: &mut PreparedTexts,
    workspace: Option<&mut Workspace>,
) -> u32 {
    memo.iter().for_each(|cell| cell.set(0));
    cached.fill(Moment::default());
    texts.forget();
    if let Some(workspace) = workspace {
        workspace.forget();
    }
    4
}

impl SlotCells {
    /// Takes the stamps away.
    pub fn forget(&mut self) {
        self.slots.fill(Stamp::default());
        self.nodes.fill(Stamp::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recycling_keeps_the_room() {
        let text = String::from("x");
        let mut values: Vec<Value<'_>> = vec![Value::Str(&text); 100];
        values.reserve(28);
        let (at, capacity) = (values.as_ptr() as usize, values.capacity());
        let values: Vec<Value<'static>> = recycle(values);
        assert_eq!((values.as_ptr() as usize, values.capacity(), values.len()), (at, capacity, 0));
        let json = Json::Null;
        let objects = vec![Some(&json); 100];
        let (at, capacity) = (objects.as_ptr() as usize, objects.capacity());
        let objects: Vec<Option<&'static Json>> = recycle(objects);
        assert_eq!((objects.as_ptr() as usize, objects.capacity()), (at, capacity));
    }

    #[test]
    fn a_scratch_moves_between_threads() {
        fn check<T: Send>() {}
        check::<Scratch>();
    }
}
