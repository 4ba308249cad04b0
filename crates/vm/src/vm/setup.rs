//! Starts decisions, for the VM and for compiled code. Each decision has a number, its
//! *epoch*, which marks the cached values that are valid. A *binding* is a name whose value changes
//! during a decision, such as the current element of a list.

use super::binding_slots::BindingSlots;
use super::memo::Memo;
use super::message::JsonMessage;
use super::scratch::{Scratch, ValueCells, VmBuffers, grow_to_len};
use crate::bytecode::Bytecode;
use rulec_eval::host::RegisteredFunction;
use rulec_sema::hir::Slot;
use serde_json::Value as Json;
use std::cell::Cell;

/// Everything that one decision uses: the code, the host functions, and the memory of a [`Scratch`]
/// with a new decision number.
pub struct DecisionMemory<'a> {
    pub code: &'a Bytecode,
    pub host_functions: &'a [RegisteredFunction],
    /// The memoized results of the decision. Compiled code also writes these.
    pub memo: Memo<'a>,
    pub vm: &'a mut VmBuffers,
    /// The memory for the cells in which compiled code stores slot values, kept between decisions.
    pub cells: &'a mut ValueCells<'static>,
}

impl Scratch {
    /// Starts a decision: gives it a new number, so that no result of earlier decisions is valid.
    /// `memo_len` is the number of memo cells (cells for results that are valid during one
    /// decision) that the code uses.
    #[inline(always)]
    pub fn start_decision<'a>(
        &'a mut self,
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        memo_len: usize,
    ) -> DecisionMemory<'a> {
        self.next_epoch(memo_len);
        let Scratch { epoch, memo_cells: memo, vm, cells, .. } = self;
        DecisionMemory { code, host_functions, memo: memo_cells(memo, *epoch), vm, cells }
    }

    /// Starts a decision over a JSON message. Each field is looked up when it is first used.
    #[inline(always)]
    pub fn start_json_decision<'a>(
        &'a mut self,
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        message: &'a Json,
    ) -> (DecisionMemory<'a>, JsonMessage<'a>) {
        self.next_epoch(code.chunk().memo_cell_count());
        let Scratch { epoch, memo_cells: memo, vm, cells, json, .. } = self;
        let memory = DecisionMemory { code, host_functions, memo: memo_cells(memo, *epoch), vm, cells };
        (memory, JsonMessage::new(code.chunk(), message, json, *epoch))
    }

    /// Starts a decision over a message and `binding_count` bindings (named values, which change
    /// during the decision). No binding has a value yet.
    pub fn start_bindings_decision<'a>(
        &'a mut self,
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        slots: &'a [Slot],
        message: &'a Json,
        binding_count: usize,
    ) -> (DecisionMemory<'a>, BindingSlots<'a>) {
        self.next_epoch(code.chunk().memo_cell_count());
        let Scratch { epoch, memo_cells: memo, vm, cells, json, bindings: buffers, .. } = self;
        let memory = DecisionMemory { code, host_functions, memo: memo_cells(memo, *epoch), vm, cells };
        (memory, BindingSlots::new(slots, message, binding_count, buffers, epoch, json))
    }

    /// Returns the slots of a message and of `binding_count` bindings (named values, which change
    /// during a decision). This is for the reference evaluator, which needs no other memory of the
    /// scratch.
    pub fn bind_slots<'a>(
        &'a mut self,
        slots: &'a [Slot],
        message: &'a Json,
        binding_count: usize,
    ) -> BindingSlots<'a> {
        BindingSlots::new(slots, message, binding_count, &mut self.bindings, &mut self.epoch, &mut self.json)
    }

    /// Begins the next epoch (decision number, a multiple of four). Makes room for `memo_len` memo
    /// cells (cells for results that are valid during one decision).
    #[inline(always)]
    fn next_epoch(&mut self, memo_len: usize) {
        self.epoch = match self.epoch.checked_add(4) {
            Some(epoch) => epoch,
            None => self.clear_all_stamps(),
        };
        grow_to_len(&mut self.memo_cells, memo_len);
    }
}

#[inline(always)]
fn memo_cells(cells: &mut Vec<u32>, epoch: u32) -> Memo<'_> {
    Memo { cells: Cell::from_mut(&mut **cells).as_slice_of_cells(), epoch }
}
