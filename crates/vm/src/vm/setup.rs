//! A decision that has begun: the common start of the VM and compiled code.

use super::memo::Memo;
use super::message::JsonMessage;
use super::scratch::Cells;
use super::scratch::{Memory, Scratch, SlotCells, grow};
use crate::bytecode::Bytecode;
use rulec_eval::host::Host;
use serde_json::Value as Json;
use std::cell::Cell;

/// A decision begun under a new epoch.
pub struct Begun<'a, M> {
    pub basis: Basis<'a>,
    pub message: M,
    pub memory: &'a mut Memory,
    /// The memory that keeps the slot cells of compiled code between decisions.
    pub home: &'a mut Cells<'static>,
}

#[derive(Clone, Copy)]
pub struct Basis<'a> {
    pub code: &'a Bytecode,
    pub hosts: &'a [Host],
    /// The memoized results of the decision, which compiled code writes too.
    pub memo: Memo<'a>,
}

/// The epoch counter, for a machine that begins several epochs.
pub struct Epochs<'a> {
    pub(super) last: &'a mut u32,
    pub(super) slots: &'a mut SlotCells,
}

impl<'a> Begun<'a, JsonMessage<'a>> {
    /// Begins a decision over a JSON message. Each field is looked up when first used.
    #[inline(always)]
    pub fn json(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: &'a Json,
        scratch: &'a mut Scratch,
    ) -> Begun<'a, JsonMessage<'a>> {
        let (begun, Epochs { slots, .. }) = Begun::with_epochs(code, hosts, (), scratch);
        let message = JsonMessage::new(code.chunk(), message, slots, begun.basis.memo.epoch);
        Begun { basis: begun.basis, message, memory: begun.memory, home: begun.home }
    }
}

impl<'a, M> Begun<'a, M> {
    /// Begins a decision over any source of slot values.
    #[inline(always)]
    pub fn over(code: &'a Bytecode, hosts: &'a [Host], message: M, scratch: &'a mut Scratch) -> Begun<'a, M> {
        Begun::with_epochs(code, hosts, message, scratch).0
    }

    /// Begins a decision, with a known number of memo cells.
    #[inline(always)]
    pub fn keeping(
        answers: usize,
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: M,
        scratch: &'a mut Scratch,
    ) -> Begun<'a, M> {
        Begun::begin(answers, code, hosts, message, scratch).0
    }

    /// Begins a decision, and returns the epoch counter for further epochs. Each epoch is a
    /// multiple of four.
    #[inline(always)]
    pub fn with_epochs(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: M,
        scratch: &'a mut Scratch,
    ) -> (Begun<'a, M>, Epochs<'a>) {
        Begun::begin(code.chunk().memo_len(), code, hosts, message, scratch)
    }

    #[inline(always)]
    fn begin(
        answers: usize,
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: M,
        scratch: &'a mut Scratch,
    ) -> (Begun<'a, M>, Epochs<'a>) {
        scratch.epoch = match scratch.epoch.checked_add(4) {
            Some(epoch) => epoch,
            None => scratch.forget(),
        };
        grow(&mut scratch.memo, answers);
        let memo =
            Memo { cells: Cell::from_mut(&mut *scratch.memo).as_slice_of_cells(), epoch: scratch.epoch };
        let begun = Begun {
            basis: Basis { code, hosts, memo },
            message,
            memory: &mut scratch.memory,
            home: &mut scratch.cells,
        };
        (begun, Epochs { last: &mut scratch.epoch, slots: &mut scratch.slots })
    }
}
