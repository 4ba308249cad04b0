//! One instruction. Three kinds of block use three vocabularies: *conditions* test and jump,
//! *tables* do that and choose, *values* compute into registers.
//!
//! Jumps go forward only, to a place in the same block, so a block ends after at most as many steps
//! as it has instructions; the one loop, [`Instr::Each`], [`Instr::Count`] and [`Instr::Quantifier`], runs other blocks
//! once for each element of a list. The table of instructions says all that must be known of each to check it:
//! a new one needs a row here, an arm in the dispatch loop of its vocabulary and one in the disassembler.

use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{RuleId, TableId};

pub use super::jump::{Cmp, CmpJump, On};

/// A register of a value block.
pub type Reg = u16;
/// A place in the code, as a number in [`super::Chunk::instrs`].
pub type Pc = u32;
/// A block, as a number in [`super::Chunk::blocks`].
pub type BlockId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Condition,
    /// A value: ends in `Yield`.
    Value,
    /// A table: ends in `Default`, `Continue` or `Nothing`.
    Table,
}

/// Registers that stand side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Registers {
    pub first: Reg,
    pub len: u16,
}

/// A thing that an operand of an instruction refers to.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    On(On),
    To(Pc),
    Slot(u32),
    String(u32),
    Pred(u32),
    Shared(u32),
    Loop(u32),
    Table(TableId),
    Const(u32),
    Level(u32),
    Similar(u32),
    Extern(u32),
    Condition(BlockId),
    Value(BlockId),
    Register(Reg),
    Registers(Registers),
    /// An operator that makes a value.
    Operator(Op),
}

const TEST: &[BlockKind] = &[BlockKind::Condition, BlockKind::Table];
const CONDITION: &[BlockKind] = &[BlockKind::Condition];
const TABLE: &[BlockKind] = &[BlockKind::Table];
const VALUE: &[BlockKind] = &[BlockKind::Value];
const ANY: &[BlockKind] = &[BlockKind::Condition, BlockKind::Table, BlockKind::Value];

/// Expands the table of instructions. A row says an instruction's name, the kinds of block it may stand in,
/// and its operands with what they refer to.
macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident in $kinds:ident
        $({ $($operand:ident: $type:ty $(=> $reference:ident)?),* $(,)? })?;)*) => {
        /// An instruction.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Instr {
            $($(#[$doc])* $name $({ $($operand: $type),* })?,)*
        }

        impl Instr {
            /// The kinds of block it may stand in.
            pub fn kinds(&self) -> &'static [BlockKind] {
                match self {
                    $(Instr::$name { .. } => $kinds,)*
                }
            }

            /// Calls with what each operand refers to, up to the first error.
            pub fn each_reference<E>(
                &self,
                mut visit: impl FnMut(Reference) -> Result<(), E>,
            ) -> Result<(), E> {
                match *self {
                    $(Instr::$name $({ $($operand),* })? => {
                        $($(let _ = $operand; $(visit(Reference::$reference($operand.into()))?;)?)*)?
                    })*
                }
                Ok(())
            }
        }
    };
}

instructions! {
    /// Compares a slot with an integer.
    Int in TEST { how: CmpJump, slot: u16 => Slot, to: Pc => To, value: i64 };
    /// Compares a slot with a float.
    Float in TEST { how: CmpJump, slot: u16 => Slot, to: Pc => To, value: f64 };
    /// Tests that a slot holds `true`.
    Truth in TEST { on: On => On, slot: u16 => Slot, to: Pc => To };
    /// Tests that a slot is missing.
    Missing in TEST { on: On => On, slot: u16 => Slot, to: Pc => To };
    /// Tests that a slot is a constant text.
    Text in TEST { on: On => On, slot: u16 => Slot, to: Pc => To, string: u32 => String };
    /// Any predicate.
    Test in TEST { on: On => On, to: Pc => To, pred: u32 => Pred };
    /// A predicate that more than one condition asks: answered once a decision.
    Memo in TEST { on: On => On, to: Pc => To, pred: u32 => Pred };
    /// A condition that has a block of its own; it is true or false.
    Shared in TEST { on: On => On, to: Pc => To, shared: u32 => Shared };
    /// A condition over the elements of a list; it is true or false.
    Each in TEST { on: On => On, to: Pc => To, each: u32 => Loop };
    /// Goes on elsewhere.
    Jump in ANY { to: Pc => To };
    /// Ends a condition block.
    Answer in CONDITION { holds: bool };

    /// The route holds: it is chosen.
    Choose in TABLE { route: RuleId };
    /// The route holds: the search goes on in another table, and behind this when that chooses nothing.
    Goto in TABLE { route: RuleId, table: TableId => Table };
    /// No route held; the table has a default.
    Default in TABLE { table: TableId => Table };
    /// No route held, and the default leads to another table.
    Continue in TABLE { table: TableId => Table };
    /// No route held, and there is no default.
    Nothing in TABLE;

    /// A field of the message.
    Slot in VALUE { dst: Reg => Register, slot: u32 => Slot };
    /// A constant.
    Const in VALUE { dst: Reg => Register, constant: u32 => Const };
    /// The element of the loop at a level.
    Var in VALUE { dst: Reg => Register, level: u32 => Level };
    /// The value of another block.
    Eval in VALUE { dst: Reg => Register, block: BlockId => Value };
    /// A field of a value.
    Field in VALUE { dst: Reg => Register, base: Reg => Register, key: u32 => String };
    /// `base[key]`
    Index in VALUE { dst: Reg => Register, base: Reg => Register, key: Reg => Register };
    /// A value read at certain kinds.
    Read in VALUE { dst: Reg => Register, src: Reg => Register, kinds: KindSet };
    /// A list.
    List in VALUE { dst: Reg => Register, items: Registers => Registers };
    /// An operator that makes a value of two.
    Binary in VALUE { op: Op => Operator, dst: Reg => Register, left: Reg => Register, right: Reg => Register };
    /// An operator that makes a value of one.
    Unary in VALUE { op: Op => Operator, dst: Reg => Register, src: Reg => Register };
    /// A function of the table.
    Call in VALUE { function: Function, dst: Reg => Register, args: Registers => Registers };
    /// `similarity` to a constant text.
    Similar in VALUE { dst: Reg => Register, src: Reg => Register, to: u32 => Similar };
    /// A function of the embedding program.
    Extern in VALUE { dst: Reg => Register, args: Registers => Registers, function: u32 => Extern };
    /// The number of elements of a list for which a condition holds.
    Count in VALUE { dst: Reg => Register, each: u32 => Loop };
    /// A condition over the elements of a list as a value: the loop's body says which satisfy it, `fails` which fail it.
    Quantifier in VALUE { dst: Reg => Register, each: u32 => Loop, fails: BlockId => Condition };
    /// A condition as a value: `true`, `false`, or missing when neither block holds.
    Cond in VALUE { dst: Reg => Register, holds: BlockId => Condition, fails: BlockId => Condition };
    /// Goes on elsewhere when a register holds a value.
    IfPresent in VALUE { src: Reg => Register, to: Pc => To };
    /// Goes on elsewhere when a condition does not hold.
    IfNot in VALUE { block: BlockId => Condition, to: Pc => To };
    /// Ends a value block.
    Yield in VALUE { src: Reg => Register };
}

impl Instr {
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
            | Instr::IfPresent { to, .. }
            | Instr::IfNot { to, .. } => to,
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
