//! The verifier. It checks everything that must be true before bytecode may run, so that the VM can
//! be simple:
//!
//! - Every index is within its pool.
//! - Every jump goes forward and stays within its block.
//! - Every block ends in an instruction of its kind, and runs only earlier blocks.
//! - The nesting of blocks and the jumps between tables are bounded.
//!
//! Bytecode loaded from outside must be verified. Bytecode from our own lowering is verified too,
//! because the limits on nesting are checked only here.

use crate::bytecode::chunk::{Block, Check, Chunk, NONE, Operand, TableCode};
use crate::bytecode::instr::{BlockId, BlockKind, Instr, Pc, Reference, Registers};
use crate::bytecode::lower::MAX_SHARED_DEPTH;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::operators::Implementation;
use rulec_sema::resolve::topological_sort;
use thiserror::Error;

/// Maximum nesting depth of blocks that run other blocks: quantifiers, conditions as values, shared
/// conditions. Bound on recursion, not tuned: the VM calls itself for each level.
pub const MAX_NESTING: u32 = 128;
/// Maximum length of a chain of jumps from table to table. Bound on memory, not tuned: a search
/// keeps one frame for each jump of the chain.
pub const MAX_JUMPS: u32 = 256;

/// The reason why the verifier refuses bytecode.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// An index is beyond the end of the pool that it refers to; `what` names the items of the
    /// pool.
    #[error("{what} {index} does not exist (at {at})")]
    OutOfBounds { what: &'static str, index: u64, at: At },
    /// A jump does not go forward within its block.
    #[error("jump to {to} leaves its block or goes back (at {at})")]
    Jump { to: Pc, at: At },
    /// An instruction, block or constant is of a kind that its use does not allow; `what` describes
    /// the error.
    #[error("{what} (at {at})")]
    Kind { what: &'static str, at: At },
    /// Conditions and quantifiers nest deeper than [`MAX_NESTING`].
    #[error("{}", self.to_message())]
    TooDeep,
    /// Tables lead to each other in a cycle, or in a chain longer than [`MAX_JUMPS`].
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

/// A location in the bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum At {
    #[error("instruction {0}")]
    Instr(Pc),
    /// Location in a pool other than the instructions: the name of the pool's items, and an index.
    #[error("{0} {1}")]
    Entry(&'static str, usize),
}

/// Verifies a chunk.
pub fn verify(chunk: &Chunk) -> Result<(), VerifyError> {
    let verifier = Verifier { chunk };
    verifier.data()?;
    verifier.users()?;
    verifier.blocks()?;
    verifier.tables()
}

struct Verifier<'c> {
    chunk: &'c Chunk,
}

fn within(what: &'static str, index: usize, len: usize, at: At) -> Result<(), VerifyError> {
    if index < len { Ok(()) } else { Err(VerifyError::OutOfBounds { what, index: index as u64, at }) }
}

fn require(holds: bool, what: &'static str, at: At) -> Result<(), VerifyError> {
    if holds { Ok(()) } else { Err(VerifyError::Kind { what, at }) }
}

impl Verifier<'_> {
    /// Verifies the data for reading messages, and the pools of constants.
    fn data(&self) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        for (id, object) in chunk.objects.iter().enumerate() {
            require(
                object.parent == NONE || (object.parent as usize) < id,
                "a field lies in a later one",
                At::Entry("field", id),
            )?;
        }
        let mut depths: Vec<usize> = Vec::with_capacity(chunk.objects.len());
        for (id, object) in chunk.objects.iter().enumerate() {
            let depth = 1 + depths.get(object.parent as usize).copied().unwrap_or(0);
            require(depth <= MAX_SHARED_DEPTH, "fields nest too deep", At::Entry("field", id))?;
            depths.push(depth);
        }
        for (id, slot) in chunk.slots.iter().enumerate() {
            if slot.object != NONE {
                within("field", slot.object as usize, chunk.objects.len(), At::Entry("slot", id))?;
            }
        }
        for (id, (slot, mode)) in chunk.texts.iter().enumerate() {
            let at = At::Entry("text", id);
            within("slot", slot.index(), chunk.slots.len(), at)?;
            require(!mode.is_plain(), "a plain text needs no preparing", at)?;
        }
        for (id, members) in chunk.members.iter().enumerate() {
            let at = At::Entry("list", id);
            within("constant", members.constant as usize, chunk.consts.len(), at)?;
            let list = chunk.consts[members.constant as usize].value().list_len();
            require(list.is_some(), "the constant is no list", at)?;
        }
        for (id, keywords) in chunk.keywords.iter().enumerate() {
            require(!keywords.words.is_empty(), "there is no keyword", At::Entry("keywords", id))?;
        }
        Ok(())
    }

    /// Verifies the predicates, values, loops and shared conditions, which refer to operands and
    /// blocks.
    fn users(&self) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        for (id, pred) in chunk.preds.iter().enumerate() {
            let at = At::Entry("predicate", id);
            self.operand(pred.left, at)?;
            self.operand(pred.right, at)?;
            if pred.text != NONE {
                within("text", pred.text as usize, chunk.texts.len(), at)?;
                let (slot, mode) = chunk.texts[pred.text as usize];
                let same = pred.left == Operand::Slot(slot) && pred.mode.text == mode;
                require(same, "the text is of another slot or mode", at)?;
            }
            match pred.check {
                Check::Equals(string) | Check::HasKey(string) => {
                    within("string", string as usize, chunk.strings.len(), at)?;
                }
                Check::Members(id) => {
                    within("list", id as usize, chunk.members.len(), at)?;
                    let same = chunk.members[id as usize].mode == pred.mode.text;
                    require(same, "the list is of another mode", at)?;
                }
                Check::Keywords(id) => {
                    within("keywords", id as usize, chunk.keywords.len(), at)?;
                    let same = chunk.keywords[id as usize].mode == pred.mode.text;
                    require(same, "the keywords are of another mode", at)?;
                }
                Check::Truth
                | Check::Missing
                | Check::Int(..)
                | Check::Float(..)
                | Check::Length(..)
                | Check::Generic => {}
            }
        }
        for (id, value) in chunk.values.iter().enumerate() {
            self.operand(*value, At::Entry("value", id))?;
        }
        for (id, each) in chunk.loops.iter().enumerate() {
            let at = At::Entry("loop", id);
            self.operand(each.list, at)?;
            self.kind_of(each.body, BlockKind::Condition, at)?;
            within("level", each.level as usize, chunk.levels as usize, at)?;
        }
        for (id, shared) in chunk.shared.iter().enumerate() {
            self.kind_of(shared.block, BlockKind::Condition, At::Entry("shared condition", id))?;
        }
        Ok(())
    }

    fn kind_of(&self, block: BlockId, kind: BlockKind, at: At) -> Result<(), VerifyError> {
        within("block", block as usize, self.chunk.blocks.len(), at)?;
        require(self.chunk.blocks[block as usize].kind == kind, "the block is of another kind", at)
    }

    fn operand(&self, operand: Operand, at: At) -> Result<(), VerifyError> {
        match operand {
            Operand::Missing => Ok(()),
            Operand::Slot(slot) => within("slot", slot.index(), self.chunk.slots.len(), at),
            Operand::Const(id) => within("constant", id as usize, self.chunk.consts.len(), at),
            Operand::Var(level) => within("level", level as usize, self.chunk.levels as usize, at),
            Operand::Block(block) => self.kind_of(block, BlockKind::Value, at),
        }
    }

    /// Verifies the blocks: together they cover the code without a gap, and each runs only earlier
    /// blocks.
    fn blocks(&self) -> Result<(), VerifyError> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.chunk.blocks.len());
        let mut start = 0;
        for (id, block) in self.chunk.blocks.iter().enumerate() {
            let at = At::Entry("block", id);
            require(block.start == start && block.end > start, "blocks overlap or leave a gap", at)?;
            start = block.end;
            within("instruction", block.end as usize - 1, self.chunk.instrs.len(), at)?;
            if let Some(kept) = block.kept {
                within("cached value", kept.cell as usize, self.chunk.cached as usize, at)?;
            }
            let last = &self.chunk.instrs[block.end as usize - 1];
            require(last.is_end(), "the block does not end", At::Instr(block.end - 1))?;
            let mut depth = 0;
            for pc in block.start..block.end {
                let (instr, at) = (&self.chunk.instrs[pc as usize], At::Instr(pc));
                require(
                    instr.kinds().contains(&block.kind),
                    "the instruction may not stand in such a block",
                    at,
                )?;
                instr.each_reference(|reference| self.reference(reference, pc, block))?;
                instr.each_reference(|reference| {
                    self.each_block(reference, |inner| {
                        let Some(inner) = depths.get(inner as usize) else {
                            return require(false, "it runs a later block", at);
                        };
                        depth = depth.max(inner + 1);
                        if depth <= MAX_NESTING { Ok(()) } else { Err(VerifyError::TooDeep) }
                    })
                })?;
            }
            depths.push(depth);
        }
        require(start as usize == self.chunk.instrs.len(), "code outside blocks", At::Instr(start))
    }

    /// Calls `visit` with the blocks that run when an instruction uses this operand.
    fn each_block(
        &self,
        reference: Reference,
        visit: impl FnMut(BlockId) -> Result<(), VerifyError>,
    ) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        let (operands, block) = match reference {
            Reference::Pred(id) => {
                let pred = &chunk.preds[id as usize];
                ([pred.left, pred.right], None)
            }
            Reference::Loop(id) => {
                let each = chunk.loops[id as usize];
                ([each.list, Operand::Missing], Some(each.body))
            }
            Reference::Shared(id) => ([Operand::Missing; 2], Some(chunk.shared[id as usize].block)),
            Reference::Value(block) | Reference::Condition(block) => ([Operand::Missing; 2], Some(block)),
            _ => return Ok(()),
        };
        let of_operand = |operand| match operand {
            Operand::Block(block) => Some(block),
            _ => None,
        };
        operands.into_iter().filter_map(of_operand).chain(block).try_for_each(visit)
    }

    /// Verifies the item to which an operand of an instruction refers.
    fn reference(&self, reference: Reference, pc: Pc, block: &Block) -> Result<(), VerifyError> {
        let (chunk, at) = (self.chunk, At::Instr(pc));
        match reference {
            Reference::On(on) => require(on.spelling() != "?", "there is no such condition to jump on", at),
            Reference::To(to) if to > pc && to < block.end => Ok(()),
            Reference::To(to) => Err(VerifyError::Jump { to, at }),
            Reference::Slot(id) => within("slot", id as usize, chunk.slots.len(), at),
            Reference::String(id) => within("string", id as usize, chunk.strings.len(), at),
            Reference::Pred(id) => within("predicate", id as usize, chunk.preds.len(), at),
            Reference::Shared(id) => within("shared condition", id as usize, chunk.shared.len(), at),
            Reference::Loop(id) => within("loop", id as usize, chunk.loops.len(), at),
            Reference::Table(table) => within("table", table.index(), chunk.tables.len(), at),
            Reference::Const(id) => within("constant", id as usize, chunk.consts.len(), at),
            Reference::Level(level) => within("level", level as usize, chunk.levels as usize, at),
            Reference::Similar(id) => within("text", id as usize, chunk.similar.len(), at),
            Reference::Extern(id) => within("host function", id as usize, chunk.externs as usize, at),
            Reference::Condition(id) => self.kind_of(id, BlockKind::Condition, at),
            Reference::Value(id) => self.kind_of(id, BlockKind::Value, at),
            Reference::Register(register) => within("register", register.into(), block.frame(), at),
            Reference::Registers(Registers { first, len }) => {
                within("register", usize::from(first) + usize::from(len), block.frame() + 1, at)
            }
            Reference::Operator(op) => require(
                matches!(op.info().implementation, Implementation::Value(_)),
                "the operator makes no value",
                at,
            ),
        }
    }

    /// Verifies that the routes of each table follow each other in its block. Also verifies that
    /// jumps between tables have no cycle and no long chain.
    fn tables(&self) -> Result<(), VerifyError> {
        let chunk = self.chunk;
        for (id, table) in chunk.tables.iter().enumerate() {
            let at = At::Entry("table", id);
            self.kind_of(table.block, BlockKind::Table, at)?;
            let block = chunk.blocks[table.block as usize];
            let mut start = block.start;
            for route in &table.routes {
                let end = chunk.instrs.get((route.end as usize).wrapping_sub(1));
                let ends = matches!(end, Some(Instr::Choose { .. } | Instr::Goto { .. }));
                let placed = route.start == start && route.end > start && route.end < block.end;
                require(placed && ends, "a route does not lie in its table", at)?;
                start = route.end;
            }
        }
        let leads_to = |table: &TableCode| {
            let block = chunk.blocks[table.block as usize];
            let code = &chunk.instrs[block.start as usize..block.end as usize];
            let inner = code.iter().filter_map(|instr| match instr {
                Instr::Goto { table: inner, .. } | Instr::Continue { table: inner } => Some(inner.index()),
                _ => None,
            });
            inner.collect::<Vec<_>>()
        };
        let jumps: Vec<Vec<usize>> = chunk.tables.iter().map(leads_to).collect();
        let (order, circles) = topological_sort(&jumps);
        let mut depths = vec![0; jumps.len()];
        for table in order {
            depths[table] = jumps[table].iter().map(|inner| depths[*inner] + 1).max().unwrap_or(0);
        }
        let shallow = depths.iter().all(|depth| *depth <= MAX_JUMPS);
        if circles.is_empty() && shallow { Ok(()) } else { Err(VerifyError::Jumps) }
    }
}
