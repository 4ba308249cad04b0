//! The virtual machine: runs verified bytecode over one message. A *slot* is a message field that
//! the rules read.
//!
//! After a few decisions with the same [`Scratch`], a decision allocates no memory. Registers, memo
//! cells (cells for results) and text buffers are reused. Cells and buffers are stamped with the
//! decision's number, so that none needs clearing. Computed values are in an arena that is reset
//! before the next decision. Two exceptions allocate: values returned by host functions, and texts
//! normalized for a predicate whose right side is not a constant.
//!
//! The VM is total. On bytecode that [`verify`](fn@crate::bytecode::verify) would refuse, it may
//! give wrong results or run long, but it neither panics nor accesses memory out of bounds.

#![allow(missing_docs, reason = "only this repository uses it, and items that need no doc have none")]

mod binding_slots;
pub mod compiled;
mod history;
mod memo;
mod message;
mod outcome;
mod past;
mod running_total;
mod scratch;
mod setup;
mod tables;
mod test;
mod value;

use crate::bytecode::chunk::{Loop, SharedCondition};
use crate::bytecode::instr::{BlockId, BlockKind, Instr};
use crate::bytecode::{Bytecode, Chunk, Pools};
use crate::index::lookup::{IndexLookup, LookupBuffers};
use crate::index::tombstones::Tombstones;
use memo::Memo;
use rulec_base::text::PreparedTexts;
use rulec_eval::host::{HostCalls, RegisteredFunction};
use rulec_lang::arena::Arena;
use rulec_lang::value::{Tri, Value, compare, compare_int_float};
use rulec_sema::hir::SlotId;
use rulec_sema::normal::PredId;
use scratch::{CacheStamp, VmBuffers, grow_to_len, recycle_vec};
use serde_json::Value as Json;
use std::cmp::Ordering;

pub use crate::input::SlotValues;
pub use binding_slots::BindingSlots;
pub use message::{JsonMessage, SlotValueSource};
pub use past::{HistoryMemo, Past};
pub use scratch::{HistoryGuard, Scratch};

/// The virtual machine during one decision. `M` is the source of the values of slots (fields that
/// rules read).
pub struct Vm<'a, M> {
    chunk: &'a Chunk,
    pools: &'a Pools,
    message: M,
    arena: &'a Arena,
    host_calls: HostCalls<'a>,
    memo: Memo<'a>,
    texts: &'a mut PreparedTexts,
    /// For each code block whose value is cached, the decision and loop element for which the value
    /// was computed. The value is valid only for this decision and element.
    cache_stamps: &'a mut [CacheStamp],
    /// Id of the current element of the innermost loop; 0 outside loops. All loops of the decision
    /// share one sequence of ids. `last_element_id` is the last assigned id.
    element_id: u64,
    last_element_id: u64,
    similarity: &'a mut rulec_base::text::similarity::SimilarityScratch,
    /// The current element of each loop, by the loop's nesting level. Then follow the cached values
    /// of blocks, and then registers.
    working_values: Vec<Value<'a>>,
    /// Where the memory of `working_values` is put back when the VM is dropped, so that the next
    /// decision reuses it.
    value_memory: &'a mut Vec<Value<'static>>,
    /// Working memory for index lookups; `None` after the field `lookup` has taken it.
    lookup_buffers: Option<&'a mut LookupBuffers>,
    lookup: Option<IndexLookup<'a>>,
    /// Whether the index is used for every table, even for tables where it is slower.
    always_uses_index: bool,
    /// Removed routes that the decision must not choose, and the version of the rule set that the
    /// decision uses. `None` if no routes were removed.
    tombstones_and_version: Option<(&'a Tombstones, u64)>,
    /// The recorded messages that rules read as `history`.
    history: &'a Past,
    /// The number of the bytecode, under which results of conditions on the history are cached.
    bytecode_number: u64,
}

impl<'a> Vm<'a, JsonMessage<'a>> {
    /// Prepares a decision over a JSON message. Each field is looked up when it is first used.
    /// `host_functions` are in the order of the program's host functions.
    pub fn over_json(
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        message: &'a Json,
        scratch: &'a mut Scratch,
    ) -> Vm<'a, JsonMessage<'a>> {
        let (memory, message) = scratch.start_json_decision(code, host_functions, message);
        Vm::new(code, host_functions, memory.memo, memory.vm, message)
    }
}

impl<'a> Vm<'a, SlotValues<'a>> {
    /// Prepares a decision over values that were read from a message before. `slots` has one value
    /// for each slot (field that the program reads). The value is missing, or of a kind that the
    /// slot accepts.
    #[inline(always)]
    pub fn over_slots(
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        slots: SlotValues<'a>,
        scratch: &'a mut Scratch,
    ) -> Vm<'a, SlotValues<'a>> {
        let memory = scratch.start_decision(code, host_functions, code.chunk().memo_cell_count());
        Vm::new(code, host_functions, memory.memo, memory.vm, slots)
    }
}

impl<'a, M: SlotValueSource<'a>> Vm<'a, M> {
    // Inlined, because moving a VM copies all of it.
    #[inline(always)]
    fn new(
        code: &'a Bytecode,
        host_functions: &'a [RegisteredFunction],
        memo: Memo<'a>,
        buffers: &'a mut VmBuffers,
        message: M,
    ) -> Vm<'a, M> {
        let chunk = code.chunk();
        let VmBuffers {
            arena,
            texts,
            cache_stamps: cached,
            similarity,
            working_values: value_memory,
            lookup: lookup_buffers,
            history,
        } = buffers;
        arena.begin_decision(&chunk.limits);
        texts.ensure_slot_count(chunk.normalized_texts.len());
        grow_to_len(cached, chunk.cached_block_count as usize);
        let mut values: Vec<Value<'a>> = recycle_vec(std::mem::take(value_memory));
        values.resize(chunk.max_loop_depth as usize + chunk.cached_block_count as usize, Value::Missing);
        Vm {
            chunk,
            pools: code.pools(),
            message,
            arena,
            host_calls: HostCalls::new(host_functions),
            memo,
            texts,
            cache_stamps: cached,
            element_id: 0,
            last_element_id: 0,
            similarity,
            working_values: values,
            value_memory,
            lookup_buffers: Some(lookup_buffers),
            lookup: None,
            always_uses_index: false,
            tombstones_and_version: None,
            history,
            bytecode_number: code.unique_number(),
        }
    }

    /// Evaluates a predicate. The result is memoized if the predicate is expensive and used by
    /// several conditions.
    pub fn test_pred(&mut self, pred: PredId) -> Tri {
        match self.chunk.preds.get(pred.index()) {
            Some(lowered) if lowered.is_memoized => self.eval_memoized(pred.index()),
            Some(_) => self.eval_pred(pred.index()),
            None => Tri::Unknown,
        }
    }

    /// Returns the host functions, with the failures and the duration of their calls in this
    /// decision.
    pub fn host_calls(&self) -> &HostCalls<'a> {
        &self.host_calls
    }

    /// Returns the arena of this decision, which also records the limits that were exceeded.
    pub fn arena(&self) -> &'a Arena {
        self.arena
    }

    pub fn slot(&mut self, slot: SlotId) -> Value<'a> {
        *self.message.slot_value(slot.index())
    }

    pub fn slot_value(&mut self, slot: usize) -> Value<'a> {
        *self.message.slot_value(slot)
    }

    fn eval_memoized(&mut self, pred: usize) -> Tri {
        if let Some(answer) = self.memo.memoized_result(pred) {
            return answer;
        }
        let answer = self.run_outside_loops(|vm| vm.eval_pred(pred));
        self.memo.store(pred, answer);
        answer
    }

    fn eval_shared_condition(&mut self, id: u32) -> Tri {
        let Some(SharedCondition { block, is_memoized: memo }) =
            self.chunk.shared_conditions.get(id as usize).copied()
        else {
            return Tri::False;
        };
        let cell = self.chunk.preds.len() + id as usize;
        if memo && let Some(answer) = self.memo.memoized_result(cell) {
            return answer;
        }
        if !memo {
            return self.eval_condition(block).into();
        }
        let answer = Tri::from(self.run_outside_loops(|vm| vm.eval_condition(block)));
        self.memo.store(cell, answer);
        answer
    }

    fn eval_condition(&mut self, block: BlockId) -> bool {
        match self.chunk.blocks.get(block as usize) {
            Some(block) if block.kind == BlockKind::Condition => {
                let end = self.run_blocks::<false>(block.start as usize, 0);
                matches!(end, Some((Instr::Answer { holds: true }, _)))
            }
            _ => false,
        }
    }

    /// Evaluates the condition of the loop with index `loop_index` over all elements of the loop's
    /// list. True if the condition is true for at least one element or, if the loop is an `all`,
    /// for every element. Otherwise false, also if the operand is no list or exceeds a limit.
    pub fn eval_loop(&mut self, loop_index: u32) -> Tri {
        let Some(each) = self.chunk.loops.get(loop_index as usize).copied() else { return Tri::False };
        let list = self.operand_value(each.list);
        let evaluate = |vm: &mut Self| {
            if let Some(hits) = vm.find_remembered_hits(&each, list, None) {
                return hits.hit_count == if each.requires_all { list.list_len().unwrap_or(0) } else { 0 };
            }
            let mut elements = list.elements().into_iter().flatten();
            elements.all(|element| vm.holds_for_element(&each, element) == each.requires_all)
        };
        self.run_loop(&each, list, evaluate).map_or(Tri::False, |result| (result == each.requires_all).into())
    }

    /// Evaluates a loop's condition for one element. Returns false if the condition is false or
    /// unknown.
    fn holds_for_element(&mut self, each: &Loop, element: Value<'a>) -> bool {
        self.is_body_true_for(each, each.body, element)
    }

    /// Sets the current element of a loop, and evaluates the condition `body` for it. Returns false
    /// if the condition is false or unknown.
    fn is_body_true_for(&mut self, each: &Loop, body: BlockId, element: Value<'a>) -> bool {
        if let Some(cell) = self.working_values.get_mut(each.level as usize) {
            *cell = element.read_as(each.kinds);
        }
        self.last_element_id += 1;
        self.element_id = self.last_element_id;
        self.eval_condition(body)
    }

    /// Runs `visit`, which processes all elements of `list` for the loop `each`. While it runs,
    /// work counts against the limits once for each element. `None`, without a call of `visit`, if
    /// `list` is no list, or exceeds a limit.
    fn run_loop<T>(&mut self, each: &Loop, list: Value<'a>, visit: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let loop_entry = self.arena.enter_quantifier(
            each.nesting.depth,
            each.nesting.read_levels.is_empty(),
            list.list_len()?,
        )?;
        let outer_element = self.element_id;
        let result = visit(self);
        self.element_id = outer_element;
        self.arena.leave_quantifier(loop_entry);
        Some(result)
    }

    /// Runs `compute` as if it were outside the enclosing loops, because the computed value does
    /// not depend on the loops. The work is counted once against the limits, not once for each
    /// element.
    #[inline]
    fn run_outside_loops<T>(&mut self, compute: impl FnOnce(&mut Self) -> T) -> T {
        let suspended = self.arena.suspend_quantifiers();
        let result = compute(self);
        self.arena.leave_quantifier(suspended);
        result
    }

    /// Runs code from address `start` on. Returns the instruction that ends the condition or the
    /// search of the table, with its address. With `BOUNDED`, only the code before address `stop`
    /// is run: the code of one route, or of several consecutive routes of a table. `None` if the
    /// run reaches `stop`, because none of these routes matches. Without `BOUNDED`, `stop` is
    /// ignored.
    fn run_blocks<const BOUNDED: bool>(&mut self, start: usize, stop: usize) -> Option<(&'a Instr, usize)> {
        let chunk = self.chunk;
        let instrs = &*chunk.instrs;
        let mut pc = start;
        loop {
            if BOUNDED && pc == stop {
                return None;
            }
            let instr = instrs.get(pc)?;
            pc += 1;
            let (jumps, to) = match *instr {
                Instr::Int { how, slot, to, value } => {
                    (how.jumps_for_order(compare_with_int(self.message.slot_value(slot.into()), value)), to)
                }
                Instr::Float { how, slot, to, value } => {
                    (how.jumps_for_order(compare_with_float(self.message.slot_value(slot.into()), value)), to)
                }
                Instr::Truth { on, slot, to } => {
                    let truth = match self.message.slot_value(slot.into()) {
                        Value::Bool(value) => Tri::from(*value),
                        _ => Tri::Unknown,
                    };
                    (on.jumps_on(truth), to)
                }
                Instr::Missing { on, slot, to } => {
                    (on.jumps_on(self.message.slot_value(slot.into()).is_missing().into()), to)
                }
                Instr::Text { on, slot, to, string } => {
                    let equal =
                        match (self.message.slot_value(slot.into()), chunk.strings.get(string as usize)) {
                            (Value::Str(text), Some(wanted)) => (*text == &**wanted).into(),
                            _ => Tri::Unknown,
                        };
                    (on.jumps_on(equal), to)
                }
                Instr::Test { on, to, pred } => (on.jumps_on(self.eval_pred(pred as usize)), to),
                Instr::Memo { on, to, pred } => (on.jumps_on(self.eval_memoized(pred as usize)), to),
                Instr::Shared { on, to, shared } => (on.jumps_on(self.eval_shared_condition(shared)), to),
                Instr::Each { on, to, each } => (on.jumps_on(self.eval_loop(each)), to),
                Instr::Jump { to } => (true, to),
                _ => return Some((instr, pc - 1)),
            };
            if jumps {
                pc = to as usize;
            }
        }
    }
}

impl<M> Drop for Vm<'_, M> {
    fn drop(&mut self) {
        *self.value_memory = recycle_vec(std::mem::take(&mut self.working_values));
    }
}

/// Returns the order of a value and the integer `int`, like the function [`compare`]; `None` if
/// they have no order.
#[inline(always)]
fn compare_with_int(value: &Value<'_>, int: i64) -> Option<Ordering> {
    match value {
        Value::Int(value) => Some(value.cmp(&int)),
        Value::Float(value) => Some(compare_int_float(int, *value).reverse()),
        Value::Wide(_) => Some(Ordering::Greater),
        Value::Decimal(_) => rulec_lang::value::compare(*value, Value::Int(int)),
        _ => None,
    }
}

/// Returns the order of a value and a float, like the function [`compare`]; `None` if they have no
/// order.
#[inline(always)]
fn compare_with_float(value: &Value<'_>, float: f64) -> Option<Ordering> {
    compare(*value, Value::Float(float))
}
