//! One instruction. Three kinds of block use three vocabularies: *conditions* test and jump,
//! *tables* do that and choose, *values* compute into registers.
//!
//! Jumps go forward only, to a place in the same block, so a block ends after at most as many steps
//! as it has instructions; the one loop, [`Instr::Each`] and [`Instr::Count`], runs another block
//! once for each element of a list.

use crate::builtins::Function;
use crate::codec::impl_codec;
use crate::ops::Op;
use crate::sema::hir::{RuleId, TableId};
use crate::ty::KindSet;

pub use super::jump::{Cmp, CmpJump, On};

/// A register of a value block.
pub type Reg = u16;
/// A place in the code, as a number in [`super::Chunk::instrs`].
pub type Pc = u32;
/// A block, as a number in [`super::Chunk::blocks`].
pub type BlockId = u32;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instr {
    // Tests, in condition and table blocks.
    /// Compares a slot with an integer.
    Int {
        /// The comparison, and when to jump.
        how: CmpJump,
        /// The slot.
        slot: u16,
        /// The target.
        to: Pc,
        /// The integer.
        value: i64,
    },
    /// Compares a slot with a float.
    Float {
        /// The comparison, and when to jump.
        how: CmpJump,
        /// The slot.
        slot: u16,
        /// The target.
        to: Pc,
        /// The float.
        value: f64,
    },
    /// Tests that a slot holds `true`.
    Truth {
        /// When to jump.
        on: On,
        /// The slot.
        slot: u16,
        /// The target.
        to: Pc,
    },
    /// Tests that a slot is missing.
    Missing {
        /// When to jump.
        on: On,
        /// The slot.
        slot: u16,
        /// The target.
        to: Pc,
    },
    /// Tests that a slot is a constant text.
    Text {
        /// When to jump.
        on: On,
        /// The slot.
        slot: u16,
        /// The target.
        to: Pc,
        /// The text, in [`super::Chunk::strings`].
        string: u32,
    },
    /// Any predicate.
    Test {
        /// When to jump.
        on: On,
        /// The target.
        to: Pc,
        /// The predicate, in [`super::Chunk::preds`].
        pred: u32,
    },
    /// A predicate that more than one condition asks: answered once a decision.
    Memo {
        /// When to jump.
        on: On,
        /// The target.
        to: Pc,
        /// The predicate, in [`super::Chunk::preds`].
        pred: u32,
    },
    /// A condition that has a block of its own.
    Shared {
        /// When to jump; it is true or false.
        on: On,
        /// The target.
        to: Pc,
        /// The condition, in [`super::Chunk::shared`].
        shared: u32,
    },
    /// A condition over the elements of a list.
    Each {
        /// When to jump; it is true or false.
        on: On,
        /// The target.
        to: Pc,
        /// The loop, in [`super::Chunk::loops`].
        each: u32,
    },
    /// Goes on elsewhere.
    Jump {
        /// The target.
        to: Pc,
    },
    /// Ends a condition block.
    Answer {
        /// True when the condition holds.
        holds: bool,
    },

    // Ends, in table blocks.
    /// The route holds: it is chosen.
    Choose {
        /// The route.
        route: RuleId,
    },
    /// The route holds: the search goes on in another table, and behind this when that chooses
    /// nothing.
    Goto {
        /// The route.
        route: RuleId,
        /// The table.
        table: TableId,
    },
    /// No route held; the table has a default.
    Default {
        /// The table.
        table: TableId,
    },
    /// No route held, and the default leads to another table.
    Continue {
        /// The other table.
        table: TableId,
    },
    /// No route held, and there is no default.
    Nothing,

    // Values, in value blocks.
    /// A field of the message.
    Slot {
        /// The register that the value goes to.
        dst: Reg,
        /// The slot.
        slot: u32,
    },
    /// A constant.
    Const {
        /// The register that the value goes to.
        dst: Reg,
        /// The constant, in [`super::Chunk::consts`].
        constant: u32,
    },
    /// The element of the loop at a level.
    Var {
        /// The register that the value goes to.
        dst: Reg,
        /// The level.
        level: u32,
    },
    /// The value of another block.
    Eval {
        /// The register that the value goes to.
        dst: Reg,
        /// The block.
        block: BlockId,
    },
    /// A field of a value.
    Field {
        /// The register that the value goes to.
        dst: Reg,
        /// The value.
        base: Reg,
        /// The field's name, in [`super::Chunk::strings`].
        key: u32,
    },
    /// `base[key]`
    Index {
        /// The register that the value goes to.
        dst: Reg,
        /// The list or dict.
        base: Reg,
        /// The position or key.
        key: Reg,
    },
    /// A typed read.
    Read {
        /// The register that the value goes to.
        dst: Reg,
        /// The value.
        src: Reg,
        /// The kinds it is read at.
        kinds: KindSet,
    },
    /// A list of registers that stand side by side.
    List {
        /// The register that the value goes to.
        dst: Reg,
        /// The first.
        first: Reg,
        /// Their number.
        len: u16,
    },
    /// An operator of the table that makes a value of two.
    Binary {
        /// The operator.
        op: Op,
        /// The register that the value goes to.
        dst: Reg,
        /// The left operand.
        left: Reg,
        /// The right operand.
        right: Reg,
    },
    /// An operator of the table that makes a value of one.
    Unary {
        /// The operator.
        op: Op,
        /// The register that the value goes to.
        dst: Reg,
        /// The operand.
        src: Reg,
    },
    /// A function of the table.
    Call {
        /// The function.
        function: Function,
        /// The register that the value goes to.
        dst: Reg,
        /// The first argument.
        first: Reg,
        /// Their number.
        len: u16,
    },
    /// `similarity` to a constant.
    Similar {
        /// The register that the value goes to.
        dst: Reg,
        /// The text.
        src: Reg,
        /// The constant text, in [`super::Chunk::similar`].
        to: u32,
    },
    /// A function of the embedding program.
    Extern {
        /// The register that the value goes to.
        dst: Reg,
        /// The first argument.
        first: Reg,
        /// Their number.
        len: u16,
        /// The function.
        function: u32,
    },
    /// For how many elements of a list a condition holds.
    Count {
        /// The register that the value goes to.
        dst: Reg,
        /// The loop, in [`super::Chunk::loops`].
        each: u32,
    },
    /// A condition as a value: `true`, `false`, or missing when neither block holds.
    Cond {
        /// The register that the value goes to.
        dst: Reg,
        /// The block of the condition.
        holds: BlockId,
        /// The block of its negation.
        fails: BlockId,
    },
    /// Goes on elsewhere when a register holds a value.
    IfPresent {
        /// The register.
        src: Reg,
        /// The target.
        to: Pc,
    },
    /// Ends a value block.
    Yield {
        /// The register that holds its value.
        src: Reg,
    },
}

impl Instr {
    /// Returns the target of a jump.
    pub fn target(&self) -> Option<Pc> {
        let mut copy = *self;
        copy.target_mut().map(|to| *to)
    }

    /// The place of the jump's target, to be patched.
    pub fn target_mut(&mut self) -> Option<&mut Pc> {
        Some(match self {
            Instr::Int { to, .. }
            | Instr::Float { to, .. }
            | Instr::Truth { to, .. }
            | Instr::Missing { to, .. }
            | Instr::Text { to, .. }
            | Instr::Test { to, .. }
            | Instr::Memo { to, .. }
            | Instr::Shared { to, .. }
            | Instr::Each { to, .. }
            | Instr::Jump { to }
            | Instr::IfPresent { to, .. } => to,
            _ => return None,
        })
    }

    /// Returns true when what stands behind it is reached only by jumps.
    pub fn is_end(&self) -> bool {
        matches!(
            self,
            Instr::Jump { .. }
                | Instr::Answer { .. }
                | Instr::Choose { .. }
                | Instr::Default { .. }
                | Instr::Continue { .. }
                | Instr::Nothing
                | Instr::Yield { .. }
        )
    }
}

const _: () = assert!(size_of::<Instr>() <= 16);

impl_codec!(enum Instr {
    0 Int { how, slot, to, value },
    1 Float { how, slot, to, value },
    2 Truth { on, slot, to },
    3 Missing { on, slot, to },
    4 Text { on, slot, to, string },
    5 Test { on, to, pred },
    6 Memo { on, to, pred },
    7 Shared { on, to, shared },
    8 Each { on, to, each },
    9 Jump { to },
    10 Answer { holds },
    11 Choose { route },
    12 Goto { route, table },
    13 Default { table },
    14 Continue { table },
    15 Nothing,
    16 Slot { dst, slot },
    17 Const { dst, constant },
    18 Var { dst, level },
    19 Eval { dst, block },
    20 Field { dst, base, key },
    21 Index { dst, base, key },
    22 Read { dst, src, kinds },
    23 List { dst, first, len },
    24 Binary { op, dst, left, right },
    25 Unary { op, dst, src },
    26 Call { function, dst, first, len },
    27 Similar { dst, src, to },
    28 Extern { dst, first, len, function },
    29 Count { dst, each },
    30 Cond { dst, holds, fails },
    31 IfPresent { src, to },
    32 Yield { src },
});
