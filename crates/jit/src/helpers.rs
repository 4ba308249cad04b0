//! Helpers are the Rust functions in a [`HelperTable`] that compiled code calls for work that it
//! has no instructions for. This file also creates the [`Machine`], through which the code finds
//! them.
//!
//! A helper never unwinds into compiled code. A panic inside a helper is caught and stored. All
//! further helper calls of the decision return default results. The panic resumes after the
//! compiled code has returned.

use super::code::{HelperTable, JitCode, Machine, SlotCells};
use memchr::memmem::Finder;
use rulec_eval::host::RegisteredFunction;
use rulec_lang::value::{Tri, Value, compare_int_float, recycle_vec};
use rulec_vm::bytecode::chunk::Pred;
use rulec_vm::bytecode::pools::{KeywordMatcher, MemberSet};
use rulec_vm::vm::compiled::{DecisionMemory, LazyVm, Memo, ValueCells, list_has_text};
use rulec_vm::vm::{SlotValueSource, SlotValues, Vm};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl<'a> Machine<'a, SlotValues<'a>> {
    /// Creates a machine (the state of a decision by compiled code) over slot values that were
    /// already read from the message. Precondition: `slots` has a value for every slot.
    #[inline(always)]
    pub(super) fn with_slot_values(
        code: &'a JitCode,
        memory: DecisionMemory<'a>,
        slots: SlotValues<'a>,
    ) -> Machine<'a, SlotValues<'a>> {
        let vm = LazyVm::new(slots, memory.vm);
        Machine::new(code, memory.host_functions, memory.memo, vm, None, slots.values.as_ptr())
    }
}

impl<'a, M: SlotValueSource<'a> + 'a> Machine<'a, M> {
    /// Creates a machine (the state of a decision by compiled code) over slots that are read from
    /// the message at their first use.
    #[inline(never)]
    pub(super) fn with_slot_cells(
        code: &'a JitCode,
        memory: DecisionMemory<'a>,
        message: M,
    ) -> Machine<'a, M> {
        let DecisionMemory { host_functions, memo, vm, cells: storage, .. } = memory;
        let mut cells: ValueCells<'a> = recycle_vec(std::mem::take(storage));
        cells.resize_with(code.bytecode().chunk().slots.len(), Cell::default);
        let slots = cells.as_ptr().cast();
        Machine::new(
            code,
            host_functions,
            memo,
            LazyVm::new(message, vm),
            Some(SlotCells { cells, storage }),
            slots,
        )
    }

    // Inlined, because moving a machine, or a VM not yet created, copies all of it.
    #[inline(always)]
    fn new(
        code: &'a JitCode,
        host_functions: &'a [RegisteredFunction],
        memo: Memo<'a>,
        vm: LazyVm<'a, M>,
        cells: Option<SlotCells<'a>>,
        slots: *const Value<'a>,
    ) -> Machine<'a, M> {
        let (helpers, result) = (&Self::HELPER_TABLE, Value::Missing);
        Machine {
            slot_values: slots,
            memo,
            helpers,
            block_result: result,
            code,
            host_functions,
            vm,
            slot_cells: cells,
            caught_panic: None,
        }
    }

    /// Returns the VM, which evaluates the conditions and values that have no machine code. `None`
    /// if nothing in this decision has needed the VM so far.
    pub fn vm_if_created(&self) -> Option<&Vm<'a, M>> {
        self.vm.created_vm()
    }

    /// Returns the VM, which evaluates the conditions and values that have no machine code. Creates
    /// it on first use. `None` only if an earlier attempt to create it panicked.
    #[inline]
    pub(super) fn vm(&mut self) -> Option<&mut Vm<'a, M>> {
        self.vm.get_or_create(self.code.bytecode(), self.host_functions, self.memo)
    }

    /// True if dropping the machine at the end of the decision has an effect. Otherwise the drop
    /// can be skipped.
    #[inline]
    pub(super) fn must_release(&self) -> bool {
        self.vm_if_created().is_some() || self.slot_cells.is_some()
    }

    /// Runs the operation of a helper (a function that compiled code calls) and returns its result.
    /// Returns `default_result` if the operation returns `None` or panics. Does not call
    /// `operation` if an earlier helper panicked.
    #[inline]
    fn run_guarded<T>(&mut self, default_result: T, operation: impl FnOnce(&mut Self) -> Option<T>) -> T {
        if self.caught_panic.is_some() {
            return default_result;
        }
        match catch_unwind(AssertUnwindSafe(|| operation(self))) {
            Ok(result) => result.unwrap_or(default_result),
            Err(panic) => {
                self.caught_panic = Some(panic);
                default_result
            }
        }
    }
}

impl Drop for SlotCells<'_> {
    fn drop(&mut self) {
        *self.storage = recycle_vec(std::mem::take(&mut self.cells));
    }
}

const UNKNOWN_RESULT: u64 = Tri::Unknown as u64;

/// The helpers: functions that compiled code calls. The fields of [`HelperTable`] document them.
impl<'a, M: SlotValueSource<'a> + 'a> Machine<'a, M> {
    const HELPER_TABLE: HelperTable<'a, M> = HelperTable {
        read_slot: Self::read_slot,
        eval_pred: Self::eval_pred,
        eval_loop: Self::eval_loop,
        eval_block: Self::eval_block,
        matches_text: Self::matches_text,
        matches_prepared_text: Self::matches_prepared_text,
        finds_keyword: Self::finds_keyword,
        is_text_in_list: Self::is_text_in_list,
        is_text_in_set: Self::is_text_in_set,
        equals_text: Self::equals_text,
        order_int_float,
        remainder,
    };

    extern "C" fn read_slot(&mut self, slot: usize) -> u64 {
        let value = self.run_guarded(Value::Missing, |machine| Some(machine.vm()?.slot_value(slot)));
        // The cell is filled in any case, because compiled code reads it again.
        if let Some(cell) = self.slot_cells.as_ref().and_then(|slots| slots.cells.get(slot)) {
            cell.set(Some(value));
        }
        0
    }

    extern "C" fn eval_pred(&mut self, pred: usize) -> u64 {
        self.run_guarded(UNKNOWN_RESULT, |machine| Some(machine.vm()?.eval_pred(pred) as u64))
    }

    extern "C" fn eval_loop(&mut self, loop_id: usize) -> u64 {
        self.run_guarded(0, |machine| Some(machine.vm()?.eval_loop(loop_id as u32).holds().into()))
    }

    extern "C" fn eval_block(&mut self, block: usize) -> *const Value<'a> {
        self.block_result =
            self.run_guarded(Value::Missing, |machine| Some(machine.vm()?.eval_block(block as u32)));
        &raw const self.block_result
    }

    extern "C" fn matches_text(&mut self, matcher: &KeywordMatcher, value: &Value<'a>) -> u64 {
        self.run_guarded(0, |_| Some(matcher.is_match(value.as_str()?).into()))
    }

    extern "C" fn matches_prepared_text(
        &mut self,
        pred: &Pred,
        matcher: &KeywordMatcher,
        value: &Value<'a>,
    ) -> u64 {
        self.run_guarded(0, |machine| {
            let (code, epoch) = (machine.code.bytecode(), machine.memo.epoch);
            let text = machine.vm.prepared_text(code, epoch, pred, value.as_str()?)?;
            Some(matcher.is_match(text).into())
        })
    }

    extern "C" fn finds_keyword(&mut self, finder: &Finder<'static>, value: &Value<'a>) -> u64 {
        value.as_str().is_some_and(|text| finder.find(text.as_bytes()).is_some()).into()
    }

    extern "C" fn is_text_in_list(&mut self, text: &Arc<str>, list: &Value<'a>) -> u64 {
        self.run_guarded(UNKNOWN_RESULT, |_| Some(list_has_text(*list, text) as u64))
    }

    extern "C" fn is_text_in_set(&mut self, set: &MemberSet, value: &Value<'a>) -> u64 {
        self.run_guarded(0, |_| Some(set.has_text(value.as_str()?).into()))
    }

    extern "C" fn equals_text(&mut self, text: &Arc<str>, value: &Value<'a>) -> u64 {
        (value.as_str() == Some(&**text)).into()
    }
}

extern "C" fn order_int_float(int: i64, float: f64) -> i64 {
    compare_int_float(int, float) as i64
}

extern "C" fn remainder(left: f64, right: f64) -> f64 {
    left % right
}
