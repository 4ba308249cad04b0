//! The virtual machine: runs verified bytecode over one message.
//!
//! Nothing is allocated for a decision once a [`Scratch`] has seen a few: registers, memo cells and
//! text buffers are kept between decisions, and stamped with the decision's number so that none
//! needs clearing; what values a decision makes lives in an arena that is reset for the next. (What
//! host functions return is allocated, and `like` with a pattern that is no constant compiles it.)
//!
//! The machine is total: on bytecode that [`verify`](fn@crate::bytecode::verify) would refuse it
//! gives wrong answers or runs long, but neither panics nor touches memory it should not.

mod message;
mod probe;
mod removed;
mod rooted;
mod scratch;
mod test;
mod value;

#[cfg(test)]
mod tests;

use crate::bytecode::chunk::{BlockKind, Shared};
use crate::bytecode::instr::{BlockId, Instr};
use crate::bytecode::{Bytecode, Chunk, Pools};
use crate::decision::{Choice, Chosen};
use crate::host::{Host, HostCalls};
use crate::index::Index;
use crate::sema::hir::{RuleId, SlotId, TableId};
use crate::sema::normal::PredId;
use crate::value::{Tri, Value, compare, compare_int_float};
use bumpalo::Bump;
use scratch::{Prepared, recycle};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::cmp::Ordering;

pub use message::{JsonMessage, Message, Record};
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
    memo: &'a mut [u32],
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

/// How a condition or table block ended.
enum End {
    Answer(bool),
    Choose(RuleId),
    Goto { route: RuleId, table: TableId, behind: usize },
    Default(TableId),
    Continue(TableId),
    Nothing,
}

/// A table that a `goto` led into.
struct Frame {
    /// The table that the jump stands in.
    outer: TableId,
    /// The table.
    table: TableId,
    /// Where to go on when it chooses nothing: a place in the code, or a rank with an index.
    behind: usize,
}

/// The bits of a memo cell that hold the answer.
const ANSWER: u32 = 3;

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
        let (epoch, parts) = scratch.begin(chunk);
        let message = JsonMessage::new(chunk, message, parts.slots, epoch);
        Vm::new(code, hosts, message, epoch, parts.machine)
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
        let (epoch, parts) = scratch.begin(code.chunk());
        Vm::new(code, hosts, Record::new(record), epoch, parts.machine)
    }
}

impl<'a, M: Message<'a>> Vm<'a, M> {
    /// Readies a decision over whatever gives the slots their values.
    pub fn over(code: &'a Bytecode, hosts: &'a [Host], message: M, scratch: &'a mut Scratch) -> Vm<'a, M> {
        let (epoch, parts) = scratch.begin(code.chunk());
        Vm::new(code, hosts, message, epoch, parts.machine)
    }

    #[inline]
    fn new(
        code: &'a Bytecode,
        hosts: &'a [Host],
        message: M,
        epoch: u32,
        parts: scratch::Machine<'a>,
    ) -> Vm<'a, M> {
        let chunk = code.chunk();
        let scratch::Machine { bump, memo, texts, cached, buffer, similarity, home, probe } = parts;
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
    #[must_use]
    #[inline]
    pub fn with_index(mut self, index: &'a Index, always: bool) -> Vm<'a, M> {
        self.probe.grow(index);
        (self.index, self.always_index) = (Some(index), always);
        self
    }

    /// Leaves out the routes removed up to a version, where it decides with the index.
    #[must_use]
    pub(crate) fn without(mut self, removed: &'a Removed, version: u32) -> Vm<'a, M> {
        self.removed = Some((removed, version));
        self
    }

    /// The first route of a table at or behind a rank that holds, found by the index.
    pub(crate) fn first_from(&mut self, table: TableId, rank: u32) -> Option<Found> {
        self.find(self.index?, table, rank as usize)
    }

    /// The index, where a table is decided with it.
    fn index_of(&self, table: TableId) -> Option<&'a Index> {
        self.index.filter(|index| self.always_index || index.serves(table))
    }

    /// Decides: the first route of the table that holds, or its default.
    pub fn decide(&mut self, entry: TableId) -> Choice {
        let mut path = SmallVec::<[RuleId; 4]>::new();
        let mut frames = SmallVec::<[Frame; 8]>::new();
        let (mut table, mut at) = (entry, self.table_start(entry));
        loop {
            let end = match self.index_of(table) {
                Some(index) => self.search(index, table, at),
                None => self.run::<false>(at, 0),
            };
            let next = match end {
                End::Choose(route) => return Choice { chosen: Some(Chosen::Rule(route)), path },
                End::Default(table) => return Choice { chosen: Some(Chosen::Default(table)), path },
                End::Goto { route, table: inner, behind } => {
                    path.push(route);
                    frames.push(Frame { outer: table, table: inner, behind });
                    Some(inner)
                }
                End::Continue(table) => Some(table),
                End::Nothing | End::Answer(_) => None,
            };
            // A table that chose nothing once in a decision will choose nothing again.
            match next {
                Some(next) if self.recall(self.table_cell(next)).is_none() => {
                    (table, at) = (next, self.table_start(next));
                }
                _ => {
                    let Some(frame) = frames.pop() else { return Choice::nothing() };
                    self.keep(self.table_cell(frame.table), Tri::False);
                    path.pop();
                    (table, at) = (frame.outer, frame.behind);
                }
            }
        }
    }

    /// Every route of the table whose condition holds, in the order they are tried.
    pub fn matched(&mut self, entry: TableId) -> Vec<RuleId> {
        if let Some(index) = self.index_of(entry) {
            return self.search_all(index, entry);
        }
        let routes = self.chunk.tables.get(entry.index()).map_or(0, |table| table.routes.len());
        (0..routes).filter_map(|position| Some(self.route(entry, position)?.0)).collect()
    }

    /// Whether the condition of the route at a position of a table's order holds.
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
    #[cfg_attr(not(test), expect(dead_code, reason = "for the index and the compiled code to come"))]
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

    /// Where the search through a table begins: a place in the code, or a rank with an index.
    fn table_start(&self, table: TableId) -> usize {
        if self.index_of(table).is_some() {
            return 0;
        }
        let block = self.chunk.tables.get(table.index()).map(|table| table.block);
        // Past the end is `Nothing`.
        block.and_then(|block| self.chunk.blocks.get(block as usize)).map_or(usize::MAX, |b| b.start as usize)
    }

    fn table_cell(&self, table: TableId) -> usize {
        self.chunk.preds.len() + self.chunk.shared.len() + table.index()
    }

    #[inline]
    fn recall(&self, cell: usize) -> Option<Tri> {
        let stamp = *self.memo.get(cell)?;
        if stamp & !ANSWER != self.epoch {
            return None;
        }
        Some(match stamp & ANSWER {
            0 => Tri::True,
            1 => Tri::False,
            _ => Tri::Unknown,
        })
    }

    #[inline]
    fn keep(&mut self, cell: usize, answer: Tri) {
        if let Some(stamp) = self.memo.get_mut(cell) {
            *stamp = self.epoch | answer as u32;
        }
    }

    fn memoised(&mut self, pred: usize) -> Tri {
        if let Some(answer) = self.recall(pred) {
            return answer;
        }
        let answer = self.test(pred);
        self.keep(pred, answer);
        answer
    }

    fn shared(&mut self, id: u32) -> Tri {
        let Some(Shared { block, memo }) = self.chunk.shared.get(id as usize).copied() else {
            return Tri::False;
        };
        let cell = self.chunk.preds.len() + id as usize;
        if memo && let Some(answer) = self.recall(cell) {
            return answer;
        }
        let answer = Tri::from(self.condition(block));
        if memo {
            self.keep(cell, answer);
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

    /// Whether one element of a list, or every one, satisfies a loop's condition; not without list.
    fn each(&mut self, each: u32) -> Tri {
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
    fn run<const ONE: bool>(&mut self, start: usize, stop: usize) -> End {
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
