//! The virtual machine: runs verified bytecode over one message.
//!
//! Nothing is allocated for a decision once a [`Scratch`] has seen a few: registers, memo cells and
//! text buffers are kept between decisions, and stamped with the decision's number so that none
//! needs clearing; what values a decision makes lives in an arena that is reset for the next. (What
//! host functions return is allocated, and `like` with a pattern that is no constant compiles it.)
//!
//! The machine is total: on bytecode that [`verify`](fn@crate::bytecode::verify) would refuse it
//! gives wrong answers or runs long, but neither panics nor touches memory it should not.

mod bound;
#[cfg(feature = "jit")]
pub(crate) mod compiled;
mod follow;
mod message;
mod outcome;
mod probe;
mod removed;
mod rooted;
mod scratch;
mod test;
mod value;

#[cfg(test)]
pub(crate) mod tests;

use crate::bytecode::chunk::{BlockKind, Shared};
use crate::bytecode::instr::{BlockId, Instr};
use crate::bytecode::{Bytecode, Chunk, Pools};
use crate::decision::Choice;
use crate::host::{Host, HostCalls};
use crate::index::Index;
use crate::sema::hir::{RuleId, SlotId, TableId};
#[cfg(test)]
use crate::sema::normal::PredId;
use crate::value::{Tri, Value, compare, compare_int_float};
use bumpalo::Bump;
use scratch::{Parts, Prepared, Workspace, grow, recycle};
use serde_json::Value as Json;
use std::cell::Cell;
use std::cmp::Ordering;

pub use bound::BoundVm;
use follow::{Memo, follow};
pub use message::{JsonMessage, Message, Record};
pub use outcome::Computed;
pub(crate) use probe::Found;
pub(crate) use removed::Removed;
pub use rooted::{Rooted, RootedScratch};
pub use scratch::Scratch;

/// A decision in the making.
pub struct Vm<'a, M> {
    chunk: &'a Chunk,
    pools: &'a Pools,
    message: M,
    bump: &'a Bump,
    hosts: HostCalls<'a>,
    /// The decision's number, shifted past the answers that memo cells hold beside it.
    epoch: u32,
    /// Answers of predicates, then of shared conditions, then of tables that chose nothing.
    memo: &'a [Cell<u32>],
    texts: &'a mut [Prepared],
    cached: &'a mut [u32],
    buffer: &'a mut String,
    similarity: &'a mut crate::text::similarity::Scratch,
    /// The elements of the loops, the cached values, then registers.
    values: Vec<Value<'a>>,
    home: &'a mut Vec<Value<'static>>,
    index: Option<&'a Index>,
    always_index: bool,
    probe: &'a mut probe::Probe,
    /// The routes that the index finds no more, as of a version.
    removed: Option<(&'a Removed, u32)>,
}

/// The end of a condition or table block; `P` is a place in the code.
pub(crate) enum End<P> {
    Answer(bool),
    Choose(RuleId),
    Goto { route: RuleId, table: TableId, behind: P },
    Default(TableId),
    Continue(TableId),
    Nothing,
}

impl<P> End<P> {
    /// The same with another name for the place behind a jump.
    #[inline]
    fn map<Q>(self, place: impl FnOnce(P) -> Q) -> End<Q> {
        match self {
            End::Answer(holds) => End::Answer(holds),
            End::Choose(route) => End::Choose(route),
            End::Goto { route, table, behind } => End::Goto { route, table, behind: place(behind) },
            End::Default(table) => End::Default(table),
            End::Continue(table) => End::Continue(table),
            End::Nothing => End::Nothing,
        }
    }
}

impl<'a> Vm<'a, JsonMessage<'a>> {
    /// Readies a decision over a JSON message; each field is looked up when first asked for.
    /// `hosts` stand in the order of the program's host functions.
    pub fn json(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: &'a Json,
        scratch: &'a mut Scratch,
    ) -> Vm<'a, JsonMessage<'a>> {
        let chunk = code.chunk();
        let Parts { epoch, memo, workspace, slots, .. } = scratch.begin(chunk);
        let message = JsonMessage::new(chunk, message, slots, epoch);
        Vm::new(code, hosts, message, epoch, memo, workspace)
    }
}

impl<'a> Vm<'a, Record<'a>> {
    /// Readies a decision over a record with the value of each slot of the program, read at the
    /// slot's kinds.
    pub fn record(
        code: &'a Bytecode,
        hosts: &'a [Host],
        record: &'a [Value<'a>],
        scratch: &'a mut Scratch,
    ) -> Vm<'a, Record<'a>> {
        Vm::over(code, hosts, Record::new(record), scratch)
    }
}

impl<'a, M: Message<'a>> Vm<'a, M> {
    /// Readies a decision over whatever gives the slots their values.
    pub fn over(code: &'a Bytecode, hosts: &'a [Host], message: M, scratch: &'a mut Scratch) -> Vm<'a, M> {
        let Parts { epoch, memo, workspace, .. } = scratch.begin(code.chunk());
        Vm::new(code, hosts, message, epoch, memo, workspace)
    }

    #[inline]
    fn new(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: M,
        epoch: u32,
        memo: &'a [Cell<u32>],
        workspace: &'a mut Workspace,
    ) -> Vm<'a, M> {
        let chunk = code.chunk();
        let Workspace { bump, texts, cached, buffer, similarity, values: home, probe } = workspace;
        bump.reset();
        grow(texts, chunk.texts.len());
        grow(cached, chunk.cached as usize);
        let mut values: Vec<Value<'a>> = recycle(std::mem::take(home));
        values.resize(chunk.levels as usize + chunk.cached as usize, Value::Missing);
        Vm {
            chunk,
            pools: code.pools(),
            message,
            bump,
            hosts: HostCalls::new(hosts),
            epoch,
            memo,
            texts,
            cached,
            buffer,
            similarity,
            values,
            home,
            index: None,
            always_index: false,
            probe,
            removed: None,
        }
    }

    /// Decides with the help of an index over the same rules, where that is faster, or `always`.
    #[inline]
    pub fn use_index(&mut self, index: &'a Index, always: bool) {
        self.probe.grow(index);
        (self.index, self.always_index) = (Some(index), always);
    }

    /// Leaves out the routes removed up to a version, where it decides with the index.
    pub(crate) fn leave_out(&mut self, removed: &'a Removed, version: u32) {
        self.removed = Some((removed, version));
    }

    /// The first route of a table at or behind a rank that holds, found by the index.
    pub(crate) fn first_from(&mut self, table: TableId, rank: u32) -> Option<Found> {
        self.find(self.index?, table, rank as usize)
    }

    /// The index, where a table is decided with it.
    pub(crate) fn index_of(&self, table: TableId) -> Option<&'a Index> {
        self.index.filter(|index| self.always_index || index.serves(table))
    }

    /// Decides: the first route of the table that holds, or its default.
    pub fn decide(&mut self, entry: TableId) -> Choice {
        let (chunk, memo) = (self.chunk, self.memo());
        let start = |vm: &Self, table| (table, vm.table_start(table));
        let run = |vm: &mut Self, (table, at)| {
            let end = match vm.index_of(table) {
                Some(index) => vm.search(index, table, at),
                None => vm.run::<false>(at, 0),
            };
            end.map(|at| (table, at))
        };
        let place = start(self, entry);
        let end = run(self, place);
        follow(self, chunk, &memo, end, start, run)
    }

    /// Every route of the table whose condition holds, in the order they are tried.
    pub fn matched(&mut self, entry: TableId) -> Vec<RuleId> {
        if let Some(index) = self.index_of(entry) {
            return self.search_all(index, entry);
        }
        let routes = self.chunk.tables.get(entry.index()).map_or(0, |table| table.routes.len());
        (0..routes).filter_map(|position| Some(self.route(entry, position)?.0)).collect()
    }

    /// Tells whether the condition of the route at a position of a table's order holds.
    pub fn run_route(&mut self, table: TableId, position: usize) -> bool {
        self.route(table, position).is_some()
    }

    /// The route at a position of a table's order, and the table it jumps to, when it holds.
    fn route(&mut self, table: TableId, position: usize) -> Option<(RuleId, Option<TableId>)> {
        let code = self.chunk.tables.get(table.index())?.routes.get(position)?;
        match self.run::<true>(code.start as usize, code.end as usize) {
            End::Choose(route) => Some((route, None)),
            End::Goto { route, table, .. } => Some((route, Some(table))),
            _ => None,
        }
    }

    /// Answers one predicate; at most once a decision when it costs more than a comparison and more
    /// than one condition asks for it.
    #[cfg(test)]
    pub(crate) fn test_pred(&mut self, pred: PredId) -> Tri {
        match self.chunk.preds.get(pred.index()) {
            Some(lowered) if lowered.memo => self.memoised(pred.index()),
            Some(_) => self.test(pred.index()),
            None => Tri::Unknown,
        }
    }

    /// The host functions' record of this decision: failures and time.
    pub fn hosts(&self) -> &HostCalls<'a> {
        &self.hosts
    }

    /// The value of a slot.
    pub fn slot(&mut self, slot: SlotId) -> Value<'a> {
        *self.message.slot(slot.index())
    }

    /// The value of the slot of that number.
    #[cfg(feature = "jit")]
    pub(crate) fn slot_value(&mut self, slot: usize) -> Value<'a> {
        *self.message.slot(slot)
    }

    /// Returns where the search through a table begins: a place in the code, or a rank with an index.
    fn table_start(&self, table: TableId) -> usize {
        if self.index_of(table).is_some() {
            return 0;
        }
        let block = self.chunk.tables.get(table.index()).map(|table| table.block);
        // Past the end is `Nothing`.
        block.and_then(|block| self.chunk.blocks.get(block as usize)).map_or(usize::MAX, |b| b.start as usize)
    }

    /// The answers kept during this decision.
    #[inline]
    fn memo(&self) -> Memo<'a> {
        Memo { cells: self.memo, epoch: self.epoch }
    }

    fn memoised(&mut self, pred: usize) -> Tri {
        if let Some(answer) = self.memo().recall(pred) {
            return answer;
        }
        let answer = self.test(pred);
        self.memo().keep(pred, answer);
        answer
    }

    fn shared(&mut self, id: u32) -> Tri {
        let Some(Shared { block, memo }) = self.chunk.shared.get(id as usize).copied() else {
            return Tri::False;
        };
        let cell = self.chunk.preds.len() + id as usize;
        if memo && let Some(answer) = self.memo().recall(cell) {
            return answer;
        }
        let answer = Tri::from(self.condition(block));
        if memo {
            self.memo().keep(cell, answer);
        }
        answer
    }

    /// Runs a condition block.
    fn condition(&mut self, block: BlockId) -> bool {
        match self.chunk.blocks.get(block as usize) {
            Some(block) if block.kind == BlockKind::Condition => {
                matches!(self.run::<false>(block.start as usize, 0), End::Answer(true))
            }
            _ => false,
        }
    }

    /// Tells whether one element of a list, or every one, satisfies a loop's condition; not without list.
    pub(crate) fn each(&mut self, each: u32) -> Tri {
        let Some(each) = self.chunk.loops.get(each as usize).copied() else { return Tri::False };
        let Some(elements) = self.operand(each.list).elements() else { return Tri::False };
        for element in elements {
            if let Some(cell) = self.values.get_mut(each.level as usize) {
                *cell = element.read(each.kinds);
            }
            if self.condition(each.body) != each.all {
                return (!each.all).into();
            }
        }
        each.all.into()
    }

    /// The dispatch loop of condition and table blocks. With `ONE` it stops at `stop`, where a
    /// single route's code ends.
    fn run<const ONE: bool>(&mut self, start: usize, stop: usize) -> End<usize> {
        let chunk = self.chunk;
        let instrs = &*chunk.instrs;
        let mut pc = start;
        loop {
            if ONE && pc == stop {
                return End::Nothing;
            }
            let Some(instr) = instrs.get(pc) else { return End::Nothing };
            pc += 1;
            let (jumps, to) = match *instr {
                Instr::Int { how, slot, to, value } => {
                    (how.takes(order_int(self.message.slot(slot.into()), value)), to)
                }
                Instr::Float { how, slot, to, value } => {
                    (how.takes(order_float(self.message.slot(slot.into()), value)), to)
                }
                Instr::Truth { on, slot, to } => {
                    let truth = match self.message.slot(slot.into()) {
                        Value::Bool(value) => Tri::from(*value),
                        _ => Tri::Unknown,
                    };
                    (on.takes(truth), to)
                }
                Instr::Missing { on, slot, to } => {
                    (on.takes(self.message.slot(slot.into()).is_missing().into()), to)
                }
                Instr::Text { on, slot, to, string } => {
                    let equal = match (self.message.slot(slot.into()), chunk.strings.get(string as usize)) {
                        (Value::Str(text), Some(wanted)) => (*text == &**wanted).into(),
                        _ => Tri::Unknown,
                    };
                    (on.takes(equal), to)
                }
                Instr::Test { on, to, pred } => (on.takes(self.test(pred as usize)), to),
                Instr::Memo { on, to, pred } => (on.takes(self.memoised(pred as usize)), to),
                Instr::Shared { on, to, shared } => (on.takes(self.shared(shared)), to),
                Instr::Each { on, to, each } => (on.takes(self.each(each)), to),
                Instr::Jump { to } => (true, to),
                Instr::Answer { holds } => return End::Answer(holds),
                Instr::Choose { route } => return End::Choose(route),
                Instr::Goto { route, table } => return End::Goto { route, table, behind: pc },
                Instr::Default { table } => return End::Default(table),
                Instr::Continue { table } => return End::Continue(table),
                _ => return End::Nothing,
            };
            if jumps {
                pc = to as usize;
            }
        }
    }
}

impl<M> Drop for Vm<'_, M> {
    fn drop(&mut self) {
        *self.home = recycle(std::mem::take(&mut self.values));
    }
}

/// The order of a value and an integer, as [`compare`] gives it.
#[inline(always)]
fn order_int(value: &Value<'_>, int: i64) -> Option<Ordering> {
    match value {
        Value::Int(value) => Some(value.cmp(&int)),
        Value::Float(value) => Some(compare_int_float(int, *value).reverse()),
        _ => None,
    }
}

/// The order of a value and a float, as [`compare`] gives it.
#[inline(always)]
fn order_float(value: &Value<'_>, float: f64) -> Option<Ordering> {
    compare(*value, Value::Float(float))
}
