//! The verifier. It checks every property of bytecode that the VM relies on, so that the VM itself
//! needs no such checks:
//!
//! - Every index is within its pool.
//! - Every jump goes forward and stays within its block.
//! - Every block ends in an instruction that its kind of block requires, and runs only blocks with
//!   smaller ids.
//! - The nesting of blocks and the jumps between tables are bounded.
//!
//! Bytecode must be verified if anything but our own lowering created it. Bytecode from our own
//! lowering is verified too, because the limits on nesting are checked only here.

use crate::bytecode::chunk::{Block, Chunk, HistoryLoop, NO_ENTRY, Operand, PredCheck, TableCode};
use crate::bytecode::instr::{BlockId, BlockKind, Instr, OperandReference, Pc, RegisterRange};
use crate::bytecode::lower::MAX_SHARED_DEPTH;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::operators::Implementation;
use rulec_sema::hir::MAX_JUMPS;
use rulec_sema::resolve::topological_sort;
use thiserror::Error;

/// Maximum nesting depth of blocks that run other blocks: quantifiers, conditions as values, shared
/// conditions. The limit bounds the recursion and is not tuned: the VM calls itself for each level.
pub const MAX_NESTING: u32 = 128;

/// The reason why the verifier refuses bytecode.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// An index is beyond the end of the pool (a vector of the chunk) that it refers to; `what`
    /// names the items of the pool.
    #[error("{what} {index} does not exist (at {at})")]
    OutOfBounds { what: &'static str, index: u64, at: BytecodeLocation },
    /// A jump leads backwards, or out of its block.
    #[error("jump to {to} leaves its block or goes back (at {at})")]
    Jump { to: Pc, at: BytecodeLocation },
    /// An instruction, block or constant is of a kind that is not allowed where it is used; `what`
    /// describes the error.
    #[error("{what} (at {at})")]
    Kind { what: &'static str, at: BytecodeLocation },
    /// Conditions and quantifiers nest deeper than [`MAX_NESTING`].
    #[error("{}", self.to_message())]
    TooDeep,
    /// Tables lead to each other in a cycle, or in a chain of more than [`MAX_JUMPS`] jumps.
    #[error("{}", self.to_message())]
    Jumps,
}

impl VerifyError {
    /// Returns the reason as a message. Messages about exceeded limits are localized; the other
    /// errors are internal and stay English.
    pub fn to_message(&self) -> Message {
        match self {
            VerifyError::TooDeep => message!("conditions nest more than {MAX_NESTING} deep"),
            VerifyError::Jumps => {
                message!("tables lead to each other in a circle, or more than {MAX_JUMPS} deep")
            }
            internal => Message::verbatim(internal.to_string()),
        }
    }
}

/// A location in the bytecode, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BytecodeLocation {
    #[error("instruction {0}")]
    Instr(Pc),
    /// Location in a pool (a vector of the chunk) other than the instructions: the name of the
    /// pool's items, and the index of one item.
    #[error("{0} {1}")]
    Entry(&'static str, usize),
}

/// Checks every property of a chunk (the bytecode of a program) that the VM relies on. The error
/// names the first violation.
pub fn verify(chunk: &Chunk) -> Result<(), VerifyError> {
    let verifier = ChunkVerifier { chunk };
    verifier.verify_slots_and_constants()?;
    verifier.verify_operand_users()?;
    verifier.verify_blocks()?;
    verifier.verify_tables()
}

struct ChunkVerifier<'c> {
    chunk: &'c Chunk,
}

fn check_index(
    items: &'static str,
    index: usize,
    len: usize,
    location: BytecodeLocation,
) -> Result<(), VerifyError> {
    if index < len {
        Ok(())
    } else {
        Err(VerifyError::OutOfBounds { what: items, index: index as u64, at: location })
    }
}

fn check_requirement(
    is_valid: bool,
    problem: &'static str,
    location: BytecodeLocation,
) -> Result<(), VerifyError> {
    if is_valid { Ok(()) } else { Err(VerifyError::Kind { what: problem, at: location }) }
}

impl ChunkVerifier<'_> {
    /// Verifies the slots and objects that are read from messages, and the pools of constants.
    fn verify_slots_and_constants(&self) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        for (id, object) in chunk.shared_objects.iter().enumerate() {
            check_requirement(
                object.parent_index == NO_ENTRY || (object.parent_index as usize) < id,
                "a field lies in a later one",
                BytecodeLocation::Entry("field", id),
            )?;
        }
        let mut depths: Vec<usize> = Vec::with_capacity(chunk.shared_objects.len());
        for (id, object) in chunk.shared_objects.iter().enumerate() {
            let depth = 1 + depths.get(object.parent_index as usize).copied().unwrap_or(0);
            check_requirement(
                depth <= MAX_SHARED_DEPTH,
                "fields nest too deep",
                BytecodeLocation::Entry("field", id),
            )?;
            depths.push(depth);
        }
        for (id, slot) in chunk.slots.iter().enumerate() {
            if slot.object_index != NO_ENTRY {
                check_index(
                    "field",
                    slot.object_index as usize,
                    chunk.shared_objects.len(),
                    BytecodeLocation::Entry("slot", id),
                )?;
            }
        }
        for (id, (slot, mode)) in chunk.normalized_texts.iter().enumerate() {
            let location = BytecodeLocation::Entry("text", id);
            check_index("slot", slot.index(), chunk.slots.len(), location)?;
            check_requirement(!mode.is_plain(), "a plain text needs no preparing", location)?;
        }
        for (id, members) in chunk.member_lists.iter().enumerate() {
            let location = BytecodeLocation::Entry("list", id);
            check_index("constant", members.constant_index as usize, chunk.consts.len(), location)?;
            let list = chunk.consts[members.constant_index as usize].value().list_len();
            check_requirement(list.is_some(), "the constant is no list", location)?;
        }
        for (id, keywords) in chunk.keywords.iter().enumerate() {
            check_requirement(
                !keywords.words.is_empty(),
                "there is no keyword",
                BytecodeLocation::Entry("keywords", id),
            )?;
        }
        Ok(())
    }

    /// Verifies the entries of the chunk that refer to operands and blocks: predicates, values,
    /// loops and shared conditions.
    fn verify_operand_users(&self) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        for (id, pred) in chunk.preds.iter().enumerate() {
            let location = BytecodeLocation::Entry("predicate", id);
            self.verify_operand(pred.left, location)?;
            self.verify_operand(pred.right, location)?;
            if pred.text_index != NO_ENTRY {
                check_index("text", pred.text_index as usize, chunk.normalized_texts.len(), location)?;
                let (slot, mode) = chunk.normalized_texts[pred.text_index as usize];
                let is_consistent = pred.left == Operand::Slot(slot) && pred.mode.text == mode;
                check_requirement(is_consistent, "the text is of another slot or mode", location)?;
            }
            match pred.check {
                PredCheck::Equals(string) | PredCheck::HasKey(string) => {
                    check_index("string", string as usize, chunk.strings.len(), location)?;
                }
                PredCheck::Members(id) => {
                    check_index("list", id as usize, chunk.member_lists.len(), location)?;
                    let is_consistent = chunk.member_lists[id as usize].mode == pred.mode.text;
                    check_requirement(is_consistent, "the list is of another mode", location)?;
                }
                PredCheck::Keywords(id) => {
                    check_index("keywords", id as usize, chunk.keywords.len(), location)?;
                    let is_consistent = chunk.keywords[id as usize].mode == pred.mode.text;
                    check_requirement(is_consistent, "the keywords are of another mode", location)?;
                }
                PredCheck::Truth
                | PredCheck::Missing
                | PredCheck::Int(..)
                | PredCheck::Float(..)
                | PredCheck::Length(..)
                | PredCheck::Generic => {}
            }
        }
        for (id, value) in chunk.outcome_operands.iter().enumerate() {
            self.verify_operand(*value, BytecodeLocation::Entry("value", id))?;
        }
        for (id, each) in chunk.loops.iter().enumerate() {
            let location = BytecodeLocation::Entry("loop", id);
            self.verify_operand(each.list, location)?;
            self.check_block_kind(each.body, BlockKind::Condition, location)?;
            check_index("level", each.level as usize, chunk.max_loop_depth as usize, location)?;
            if let Some(history) = each.history {
                self.check_block_kind(history.body, BlockKind::Condition, location)?;
                for groups in history.comparisons() {
                    self.check_block_kind(groups.key_block, BlockKind::Value, location)?;
                    self.verify_operand(groups.other_operand, location)?;
                }
            }
        }
        for (id, shared) in chunk.shared_conditions.iter().enumerate() {
            self.check_block_kind(
                shared.block,
                BlockKind::Condition,
                BytecodeLocation::Entry("shared condition", id),
            )?;
        }
        Ok(())
    }

    fn check_block_kind(
        &self,
        block: BlockId,
        kind: BlockKind,
        location: BytecodeLocation,
    ) -> Result<(), VerifyError> {
        check_index("block", block as usize, self.chunk.blocks.len(), location)?;
        check_requirement(
            self.chunk.blocks[block as usize].kind == kind,
            "the block is of another kind",
            location,
        )
    }

    fn verify_operand(&self, operand: Operand, location: BytecodeLocation) -> Result<(), VerifyError> {
        match operand {
            Operand::Missing | Operand::History => Ok(()),
            Operand::Slot(slot) => check_index("slot", slot.index(), self.chunk.slots.len(), location),
            Operand::Const(id) => check_index("constant", id as usize, self.chunk.consts.len(), location),
            Operand::Var(level) => {
                check_index("level", level as usize, self.chunk.max_loop_depth as usize, location)
            }
            Operand::Block(block) => self.check_block_kind(block, BlockKind::Value, location),
        }
    }

    /// Verifies the blocks: together they cover all instructions without a gap, and each runs only
    /// blocks with smaller ids.
    fn verify_blocks(&self) -> Result<(), VerifyError> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.chunk.blocks.len());
        let mut start = 0;
        for (id, block) in self.chunk.blocks.iter().enumerate() {
            let location = BytecodeLocation::Entry("block", id);
            check_requirement(
                block.start == start && block.end > start,
                "blocks overlap or leave a gap",
                location,
            )?;
            start = block.end;
            check_index("instruction", block.end as usize - 1, self.chunk.instrs.len(), location)?;
            if let Some(cache_cell) = block.cache_cell {
                check_index(
                    "cached value",
                    cache_cell.cell_index as usize,
                    self.chunk.cached_block_count as usize,
                    location,
                )?;
            }
            let last_instr = &self.chunk.instrs[block.end as usize - 1];
            check_requirement(
                last_instr.ends_control_flow(),
                "the block does not end",
                BytecodeLocation::Instr(block.end - 1),
            )?;
            let mut depth = 0;
            for pc in block.start..block.end {
                let (instr, location) = (&self.chunk.instrs[pc as usize], BytecodeLocation::Instr(pc));
                check_requirement(
                    instr.kinds().contains(&block.kind),
                    "the instruction is not allowed in such a block",
                    location,
                )?;
                instr.each_reference(|reference| self.verify_operand_reference(reference, pc, block))?;
                instr.each_reference(|reference| {
                    self.visit_run_blocks(reference, |inner| {
                        let Some(inner) = depths.get(inner as usize) else {
                            return check_requirement(false, "it runs a later block", location);
                        };
                        depth = depth.max(inner + 1);
                        if depth <= MAX_NESTING { Ok(()) } else { Err(VerifyError::TooDeep) }
                    })
                })?;
            }
            depths.push(depth);
        }
        check_requirement(
            start as usize == self.chunk.instrs.len(),
            "code outside blocks",
            BytecodeLocation::Instr(start),
        )
    }

    /// Calls `visit` with each block that the VM runs for an operand of an instruction, such as the
    /// body of a loop. Precondition: the item to which `reference` refers exists.
    fn visit_run_blocks(
        &self,
        reference: OperandReference,
        mut visit: impl FnMut(BlockId) -> Result<(), VerifyError>,
    ) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        let (operands, blocks) = match reference {
            OperandReference::Pred(id) => {
                let pred = &chunk.preds[id as usize];
                ([pred.left, pred.right], [None; 3])
            }
            OperandReference::Loop(id) => {
                let each = &chunk.loops[id as usize];
                let groups = each.history.iter().flat_map(HistoryLoop::comparisons);
                for groups in groups {
                    visit(groups.key_block)?;
                    if let Operand::Block(block) = groups.other_operand {
                        visit(block)?;
                    }
                }
                let blocks = [Some(each.body), each.history.map(|history| history.body), None];
                ([each.list, Operand::Missing], blocks)
            }
            OperandReference::Shared(id) => {
                ([Operand::Missing; 2], [Some(chunk.shared_conditions[id as usize].block), None, None])
            }
            OperandReference::Value(block) | OperandReference::Condition(block) => {
                ([Operand::Missing; 2], [Some(block), None, None])
            }
            _ => return Ok(()),
        };
        let operand_block = |operand| match operand {
            Operand::Block(block) => Some(block),
            _ => None,
        };
        operands.into_iter().filter_map(operand_block).chain(blocks.into_iter().flatten()).try_for_each(visit)
    }

    /// Verifies that the item to which an operand of the instruction at `pc` refers exists and has
    /// the right kind. `block` contains the instruction; a jump must stay in this block.
    fn verify_operand_reference(
        &self,
        reference: OperandReference,
        pc: Pc,
        block: &Block,
    ) -> Result<(), VerifyError> {
        let (chunk, location) = (self.chunk, BytecodeLocation::Instr(pc));
        match reference {
            OperandReference::On(on) => {
                check_requirement(on.spelling() != "?", "there is no such condition to jump on", location)
            }
            OperandReference::To(to) if to > pc && to < block.end => Ok(()),
            OperandReference::To(to) => Err(VerifyError::Jump { to, at: location }),
            OperandReference::Slot(id) => check_index("slot", id as usize, chunk.slots.len(), location),
            OperandReference::String(id) => check_index("string", id as usize, chunk.strings.len(), location),
            OperandReference::Pred(id) => check_index("predicate", id as usize, chunk.preds.len(), location),
            OperandReference::Shared(id) => {
                check_index("shared condition", id as usize, chunk.shared_conditions.len(), location)
            }
            OperandReference::Loop(id) => check_index("loop", id as usize, chunk.loops.len(), location),
            OperandReference::Table(table) => {
                check_index("table", table.index(), chunk.tables.len(), location)
            }
            OperandReference::Const(id) => check_index("constant", id as usize, chunk.consts.len(), location),
            OperandReference::Level(level) => {
                check_index("level", level as usize, chunk.max_loop_depth as usize, location)
            }
            OperandReference::Similar(id) => {
                check_index("text", id as usize, chunk.similarity_texts.len(), location)
            }
            OperandReference::Extern(id) => {
                check_index("host function", id as usize, chunk.extern_count as usize, location)
            }
            OperandReference::Condition(id) => self.check_block_kind(id, BlockKind::Condition, location),
            OperandReference::Value(id) => self.check_block_kind(id, BlockKind::Value, location),
            OperandReference::Register(register) => {
                check_index("register", register.into(), block.frame_len(), location)
            }
            OperandReference::Registers(RegisterRange { first, len }) => check_index(
                "register",
                usize::from(first) + usize::from(len),
                block.frame_len() + 1,
                location,
            ),
            OperandReference::Operator(op) => check_requirement(
                matches!(op.info().implementation, Implementation::Value(_)),
                "the operator makes no value",
                location,
            ),
        }
    }

    /// Verifies that the code of each table's routes lies in the table's block without gaps. Also
    /// verifies that jumps between tables have no cycle and no long chain.
    fn verify_tables(&self) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        for (id, table) in chunk.tables.iter().enumerate() {
            let location = BytecodeLocation::Entry("table", id);
            self.check_block_kind(table.block, BlockKind::Table, location)?;
            let block = chunk.blocks[table.block as usize];
            let mut start = block.start;
            for route in &table.routes {
                let last_instr = chunk.instrs.get((route.end as usize).wrapping_sub(1));
                let ends_in_choice = matches!(last_instr, Some(Instr::Choose { .. } | Instr::Goto { .. }));
                let is_contiguous = route.start == start && route.end > start && route.end < block.end;
                check_requirement(
                    is_contiguous && ends_in_choice,
                    "a route does not lie in its table",
                    location,
                )?;
                start = route.end;
            }
        }
        let jump_targets = |table: &TableCode| {
            let block = chunk.blocks[table.block as usize];
            let code = &chunk.instrs[block.start as usize..block.end as usize];
            let inner = code.iter().filter_map(|instr| match instr {
                Instr::Goto { table: inner, .. } | Instr::Continue { table: inner } => Some(inner.index()),
                _ => None,
            });
            inner.collect::<Vec<_>>()
        };
        let jumps: Vec<Vec<usize>> = chunk.tables.iter().map(jump_targets).collect();
        let (order, cycles) = topological_sort(&jumps);
        let mut depths = vec![0; jumps.len()];
        for table in order {
            depths[table] = jumps[table].iter().map(|inner| depths[*inner] + 1).max().unwrap_or(0);
        }
        let within_limit = depths.iter().all(|depth| *depth <= MAX_JUMPS);
        if cycles.is_empty() && within_limit { Ok(()) } else { Err(VerifyError::Jumps) }
    }
}
