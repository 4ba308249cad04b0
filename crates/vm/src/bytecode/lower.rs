//! Lowering: from the normal form to bytecode. The *normal form* is the program after
//! simplification: only predicates are negated, and equal parts are shared. A *part* is a
//! condition, predicate or value of the normal form.
//!
//! A condition becomes a sequence of predicates; an instruction jumps over predicates that can no
//! longer change the result. A condition or value with several users becomes a block of its own if
//! it costs more than a comparison. Such a block is evaluated once per decision. So code size and
//! run time grow in proportion to the normal form, even if `let`s and `def`s are used many times.
//!
//! Lowering traverses with explicit stacks, so deep nesting cannot overflow the stack here.
//! [`super::verify`](fn@super::verify) limits how deep blocks may run each other.

mod cond;
mod expr;
mod history;
mod pred;
mod slots;
mod uses;

use crate::bytecode::Bytecode;
use crate::bytecode::chunk::{
    Block, CacheCell, Chunk, Loop, MAX_ELEMENT_GROUPS, NO_ENTRY, RuleCode, SharedCondition, TableCode,
};
use crate::bytecode::instr::{BlockId, BlockKind, Instr, JumpOn, Pc};
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_sema::hir::{Outcome, Program, Slot, TableId};
use rulec_sema::normal::Part;
use rulec_sema::normal::{CondId, NormalCond, NormalForm};
pub use slots::MAX_SHARED_DEPTH;
use smallvec::SmallVec;
use std::sync::Arc;
use thiserror::Error;
use uses::UseAnalysis;

/// The reason why a program cannot be lowered. A program without compile errors fails only if it
/// exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum LowerError {
    /// A regular expression in the rules does not compile: the expression, and the reason.
    Regex(Arc<str>, String),
    /// The program has more items of one sort than the bytecode can index; the message names the
    /// sort.
    TooLarge(Message),
    /// The normal form refers to a condition or value that does not exist, or one of them contains
    /// itself. The text names the error, such as "unknown value".
    Malformed(&'static str),
}

impl LowerError {
    /// Returns the reason as a localized message. The detail of an internal error stays English.
    pub fn to_message(&self) -> Message {
        match self {
            LowerError::Regex(pattern, why) => message!("invalid regular expression `{pattern}`: {why}"),
            LowerError::TooLarge(what) => message!("too many {what}"),
            LowerError::Malformed(what) => message!("malformed normal form: {what}"),
        }
    }
}

/// Lowers a program from its normal (simplified) form to bytecode. For the errors, see
/// [`LowerError`].
pub fn lower(program: &Program, normal: &NormalForm) -> Result<Bytecode, LowerError> {
    let (chunk, _) = lower_to_chunk(program, normal)?;
    Bytecode::new(chunk, |pattern, fold| {
        program.regex_facts.get(&(pattern.clone(), fold)).is_some_and(|facts| facts.surely_compiles)
    })
}

/// Returns the loops over the history (the recorded messages) whose results are not cached between
/// decisions. Their work grows with the number of recorded messages.
pub fn growing_history_loops(program: &Program, normal: &NormalForm) -> Result<HashSet<Part>, LowerError> {
    lower_to_chunk(program, normal).map(|(_, growing)| growing)
}

fn lower_to_chunk(program: &Program, normal: &NormalForm) -> Result<(Chunk, HashSet<Part>), LowerError> {
    let uses = UseAnalysis::new(normal)?;
    let mut lowering = Lowering {
        normal,
        slots: &program.slots,
        uses: &uses,
        chunk: Chunk { limits: program.limits, ..Chunk::default() },
        is_pred_lowered: vec![false; normal.preds.len()],
        expr_blocks: HashMap::new(),
        cond_blocks: HashMap::new(),
        shared_cond_indexes: HashMap::new(),
        loop_indexes: HashMap::new(),
        history_memo_numbers: HashMap::new(),
        growing_loops: HashSet::new(),
        conjunction_blocks: HashMap::new(),
        const_indexes: HashMap::new(),
        string_indexes: HashMap::new(),
        text_indexes: HashMap::new(),
    };
    // Most predicates are evaluated once, by one instruction that jumps.
    lowering.chunk.instrs.reserve(normal.preds.len() + 2 * program.rules.len());
    slots::lower_slots(program, &mut lowering.chunk)?;
    lowering.chunk.extern_count = checked_index(program.externs.len(), message!("host functions"))?;
    lowering.reserve_preds();
    for part in &uses.topological_order {
        lowering.lower_part(*part)?;
    }
    for (table, routes) in normal.tables.iter().enumerate() {
        lowering.lower_table(program, TableId(checked_index(table, message!("tables"))?), routes)?;
    }
    lowering.lower_values()?;
    Ok((lowering.chunk, lowering.growing_loops))
}

/// Converts a number to a 32-bit index of the bytecode. If the number is too large, the returned
/// error says that there are too many `items`.
fn checked_index(number: usize, items: Message) -> Result<u32, LowerError> {
    u32::try_from(number).ok().filter(|index| *index != NO_ENTRY).ok_or(LowerError::TooLarge(items))
}

/// A jump target whose address is not known yet. The label lists the jumps to patch once the
/// address is known.
#[derive(Clone, Debug, Default)]
struct Label {
    jump_addresses: SmallVec<[Pc; 6]>,
}

/// What the cached results of a loop over the history depend on: the block of the loop's condition,
/// the blocks that compute the values by which elements are grouped, and the id of the summed
/// value. Loops that agree in all three share their results.
type HistoryLoopKey = (BlockId, SmallVec<[BlockId; MAX_ELEMENT_GROUPS]>, Option<u32>);

/// The state of the lowering of one program: the chunk built so far, and maps from items of the
/// program to their indexes in the chunk.
struct Lowering<'n> {
    normal: &'n NormalForm,
    /// The fields that the program reads.
    slots: &'n [Slot],
    uses: &'n UseAnalysis,
    chunk: Chunk,
    is_pred_lowered: Vec<bool>,
    expr_blocks: HashMap<u32, BlockId>,
    cond_blocks: HashMap<u32, BlockId>,
    /// The index in [`Chunk::shared_conditions`] of each condition that has its own block, by the
    /// condition's id.
    shared_cond_indexes: HashMap<u32, u32>,
    loop_indexes: HashMap<Part, u32>,
    /// The numbers under which the results of loops over the history are cached.
    history_memo_numbers: HashMap<HistoryLoopKey, u32>,
    /// The loops over the history (recorded messages) whose results are not cached, so that their
    /// work grows with the history.
    growing_loops: HashSet<Part>,
    /// For the ids of several conditions, the block that yields true if all of these conditions are
    /// true.
    conjunction_blocks: HashMap<SmallVec<[u32; 4]>, BlockId>,
    const_indexes: HashMap<rulec_sema::normal::NormalConst, u32>,
    string_indexes: HashMap<Arc<str>, u32>,
    text_indexes: HashMap<(rulec_sema::hir::SlotId, rulec_base::text::TextMode), u32>,
}

impl Lowering<'_> {
    /// Adds a part (a condition, predicate or value) to the chunk as a code block, a predicate or a
    /// loop. Code that uses the part then refers to this block, predicate or loop.
    fn lower_part(&mut self, part: Part) -> Result<(), LowerError> {
        match part {
            Part::Expr(expr) => self.prepare_expr(expr),
            Part::Pred(pred) => self.lower_pred(pred),
            Part::Cond(cond) => self.prepare_cond(cond),
        }
    }

    fn current_address(&self) -> Result<Pc, LowerError> {
        checked_index(self.chunk.instrs.len(), message!("instructions"))
    }

    fn emit(&mut self, instr: Instr) -> Result<(), LowerError> {
        self.current_address()?;
        self.chunk.instrs.push(instr);
        Ok(())
    }

    fn emit_jump(&mut self, instr: Instr, label: &mut Label) -> Result<(), LowerError> {
        label.jump_addresses.push(self.current_address()?);
        self.emit(instr)
    }

    /// Makes the current address the target of all jumps to a label. Returns an error if an address
    /// is too large.
    fn bind_label(&mut self, label: Label) -> Result<(), LowerError> {
        let address = self.current_address()?;
        for jump in label.jump_addresses {
            if let Some(to) = self.chunk.instrs.get_mut(jump as usize).and_then(Instr::jump_target_mut) {
                *to = address;
            }
        }
        Ok(())
    }

    /// Ends the block whose first instruction is at the address `start`: adds the block to the
    /// chunk, and returns its id. `registers` is the number of registers that its code uses.
    /// `cache_cell` is the memory cell in which its value is cached, if any.
    fn close_block(
        &mut self,
        kind: BlockKind,
        start: Pc,
        registers: u16,
        cache_cell: Option<CacheCell>,
    ) -> Result<BlockId, LowerError> {
        let id = checked_index(self.chunk.blocks.len(), message!("blocks"))?;
        let end = self.current_address()?;
        self.chunk.blocks.push(Block { kind, start, end, register_count: registers, cache_cell });
        Ok(id)
    }

    fn lower_table(
        &mut self,
        program: &Program,
        table: TableId,
        routes: &[rulec_sema::normal::NormalRule],
    ) -> Result<(), LowerError> {
        let start = self.current_address()?;
        let mut codes = Vec::with_capacity(routes.len());
        for route in routes {
            let start = self.current_address()?;
            let fails = self.emit_cond(route.cond)?;
            self.emit(match route.goto {
                Some(table) => Instr::Goto { route: route.rule, table },
                None => Instr::Choose { route: route.rule },
            })?;
            self.bind_label(fails)?;
            codes.push(RuleCode { start, end: self.current_address()? });
        }
        let default = program.tables.get(table.index()).and_then(|table| table.default.as_ref());
        self.emit(match default {
            Some(Outcome::Goto(table)) => Instr::Continue { table: *table },
            Some(_) => Instr::Default { table },
            None => Instr::Nothing,
        })?;
        let block = self.close_block(BlockKind::Table, start, 0, None)?;
        self.chunk.tables.push(TableCode { block, routes: codes });
        Ok(())
    }

    /// Lowers the values that are computed after a route is chosen: handler arguments and router
    /// destinations.
    fn lower_values(&mut self) -> Result<(), LowerError> {
        let values = &self.normal.values;
        self.chunk.outcome_operands =
            values.iter().map(|value| self.lower_operand(*value)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Returns the block that evaluates a condition, and emits this block if it does not exist yet.
    fn block_for_cond(&mut self, cond: CondId) -> Result<BlockId, LowerError> {
        if let Some(block) = self.cond_blocks.get(&cond.0) {
            return Ok(*block);
        }
        let start = self.current_address()?;
        let fails = match self.shared_cond_indexes.get(&cond.0).copied() {
            Some(shared) => {
                let mut fails = Label::default();
                self.emit_jump(Instr::Shared { on: JumpOn::NOT_TRUE, to: 0, shared }, &mut fails)?;
                fails
            }
            None => self.emit_cond(cond)?,
        };
        self.emit(Instr::Answer { holds: true })?;
        if !fails.jump_addresses.is_empty() {
            self.bind_label(fails)?;
            self.emit(Instr::Answer { holds: false })?;
        }
        let block = self.close_block(BlockKind::Condition, start, 0, None)?;
        self.cond_blocks.insert(cond.0, block);
        Ok(block)
    }

    /// Prepares a condition, whose id is `cond`, before the code that uses it is emitted. If the
    /// condition is a quantifier, adds its loop to the chunk. If several parts of the program use
    /// the condition, emits a block for it.
    fn prepare_cond(&mut self, cond: u32) -> Result<(), LowerError> {
        let id = CondId(cond);
        if let NormalCond::Each { is_all: all, list, kinds, body, level, nest } = *find_cond(self.normal, id)?
        {
            let history = self.history_loop(Part::Cond(cond), list, body, None, level)?;
            let (list, body) = (self.lower_operand(list)?, self.block_for_cond(body)?);
            self.add_loop(
                Part::Cond(cond),
                Loop { list, kinds, body, level, requires_all: all, nesting: nest, history },
            )?;
        }
        if self.uses.has_own_block(Part::Cond(cond)) {
            let block = self.block_for_cond(id)?;
            let shared = checked_index(self.chunk.shared_conditions.len(), message!("conditions"))?;
            let memo = self.uses.use_info(Part::Cond(cond)).is_loop_invariant();
            self.chunk.shared_conditions.push(SharedCondition { block, is_memoized: memo });
            self.shared_cond_indexes.insert(cond, shared);
            if memo {
                // Remove the block from the map, so that loops and values use the memoized result
                // instead of running the block again.
                self.cond_blocks.remove(&cond);
            }
        }
        Ok(())
    }
}

fn find_cond(normal: &NormalForm, id: CondId) -> Result<&NormalCond, LowerError> {
    normal.conds.get(id.index()).ok_or(LowerError::Malformed("unknown condition"))
}
