//! Instructions of the bytecode. There are three kinds of code block, each with its own set of
//! instructions. *Conditions* evaluate predicates and jump. *Tables* do the same and also choose a
//! route. *Values* compute into registers. A *slot* is a message field that the rules read.
//!
//! Jumps go forward only, within their block. So a block ends after at most as many steps as it has
//! instructions. The only loops are [`Instr::Each`], [`Instr::Quantifier`] and the instructions
//! that compute a value from the elements of a list, such as [`Instr::Count`]. These run another
//! block once for each element of a list.
//!
//! The call of the macro `instructions!` below lists everything that the verifier must know about
//! an instruction. A new instruction needs a row in this list, and an arm in the dispatch loop and
//! in the disassembler.

use rulec_lang::builtins::Function;
use rulec_lang::history::WindowBound;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{RuleId, TableId};

pub use super::jump::{CmpJump, Comparison, JumpOn};

/// Number of a register. Registers contain the intermediate values of a block that computes a
/// value.
pub type Reg = u16;
/// Address of an instruction: its index in [`super::Chunk::instrs`].
pub type Pc = u32;
/// Index of a block in [`super::Chunk::blocks`].
pub type BlockId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Condition,
    /// A block that computes a value. It ends in the instruction `Yield`.
    Value,
    /// A block that searches a table. It ends in the instruction `Default`, `Continue` or
    /// `Nothing`.
    Table,
}

/// A range of consecutive registers: the operands of a call, or the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegisterRange {
    pub first: Reg,
    pub len: u16,
}

/// The item to which an operand of an instruction refers, such as a slot or a block. The verifier
/// checks each reference.
#[derive(Clone, Copy, Debug)]
pub enum OperandReference {
    On(JumpOn),
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
    Registers(RegisterRange),
    /// Operator of an instruction that computes a value. The verifier refuses operators whose
    /// result is a truth value (true, false or unknown) instead of a value in a register.
    Operator(Op),
}

const TEST_BLOCKS: &[BlockKind] = &[BlockKind::Condition, BlockKind::Table];
const CONDITION_BLOCKS: &[BlockKind] = &[BlockKind::Condition];
const TABLE_BLOCKS: &[BlockKind] = &[BlockKind::Table];
const VALUE_BLOCKS: &[BlockKind] = &[BlockKind::Value];
const ANY_BLOCK: &[BlockKind] = &[BlockKind::Condition, BlockKind::Table, BlockKind::Value];

/// Generates the instructions from a list. Each row has an instruction's name, the kinds of block
/// that may contain the instruction, and its operands. Each operand is followed by the kind of item
/// to which the operand refers.
macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident in $kinds:ident
        $({ $($operand:ident: $type:ty $(=> $reference:ident)?),* $(,)? })?;)*) => {
        /// An instruction of the virtual machine.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Instr {
            $($(#[$doc])* $name $({ $($operand: $type),* })?,)*
        }

        impl Instr {
            /// Returns the kinds of block that may contain the instruction.
            pub fn kinds(&self) -> &'static [BlockKind] {
                match self {
                    $(Instr::$name { .. } => $kinds,)*
                }
            }

            /// Calls `visit` with the item (such as a slot or block) to which each operand refers,
            /// and stops at the first error that `visit` returns.
            pub fn each_reference<E>(
                &self,
                mut visit: impl FnMut(OperandReference) -> Result<(), E>,
            ) -> Result<(), E> {
                match *self {
                    $(Instr::$name $({ $($operand),* })? => {
                        $($(let _ = $operand; $(visit(OperandReference::$reference($operand.into()))?;)?)*)?
                    })*
                }
                Ok(())
            }
        }
    };
}

instructions! {
    /// Compares a message field with the integer `value` by the comparison in `how`. Jumps to `to`
    /// if the comparison has the result that `how` requires.
    Int in TEST_BLOCKS { how: CmpJump, slot: u16 => Slot, to: Pc => To, value: i64 };
    /// Compares a message field with the float `value` by the comparison in `how`. Jumps to `to` if
    /// the comparison has the result that `how` requires.
    Float in TEST_BLOCKS { how: CmpJump, slot: u16 => Slot, to: Pc => To, value: f64 };
    /// Checks whether a message field is `true`, and jumps to `to` if the set `on` contains the
    /// result.
    Truth in TEST_BLOCKS { on: JumpOn => On, slot: u16 => Slot, to: Pc => To };
    /// Checks whether a message field is missing, and jumps to `to` if the set `on` contains the
    /// result.
    Missing in TEST_BLOCKS { on: JumpOn => On, slot: u16 => Slot, to: Pc => To };
    /// Checks whether a message field equals a constant text, and jumps to `to` if the set `on`
    /// contains the result.
    Text in TEST_BLOCKS { on: JumpOn => On, slot: u16 => Slot, to: Pc => To, string: u32 => String };
    /// Evaluates any predicate, and jumps to `to` if the set `on` contains the result.
    Test in TEST_BLOCKS { on: JumpOn => On, to: Pc => To, pred: u32 => Pred };
    /// Evaluates a predicate that several conditions use, at most once per decision. Jumps to `to`
    /// if the set `on` contains the result.
    Memo in TEST_BLOCKS { on: JumpOn => On, to: Pc => To, pred: u32 => Pred };
    /// Evaluates a condition that several conditions share and that has its own block. Jumps to
    /// `to` if the set `on` contains the result, which is true or false, never unknown.
    Shared in TEST_BLOCKS { on: JumpOn => On, to: Pc => To, shared: u32 => Shared };
    /// Evaluates a condition for the elements of a list: whether it is true for any or, depending
    /// on the loop, for all of them. Jumps to `to` if the set `on` contains the result, which is
    /// true or false, never unknown.
    Each in TEST_BLOCKS { on: JumpOn => On, to: Pc => To, each: u32 => Loop };
    /// Jumps to the address `to` unconditionally.
    Jump in ANY_BLOCK { to: Pc => To };
    /// Ends a block that evaluates a condition; `holds` is the result.
    Answer in CONDITION_BLOCKS { holds: bool };

    /// Chooses the route as the result of the table, because the route's condition is true.
    Choose in TABLE_BLOCKS { route: RuleId };
    /// Continues the search in `table`, because the condition of a `goto` route is true. If `table`
    /// selects nothing, the search resumes at the next instruction.
    Goto in TABLE_BLOCKS { route: RuleId, table: TableId => Table };
    /// Chooses the table's default, because no route's condition is true.
    Default in TABLE_BLOCKS { table: TableId => Table };
    /// Continues the search in another table, because no route's condition is true and the default
    /// leads to `table`.
    Continue in TABLE_BLOCKS { table: TableId => Table };
    /// Ends the search of a table without a default: no route's condition is true.
    Nothing in TABLE_BLOCKS;

    /// Loads a field of the message into the register `dst`.
    Slot in VALUE_BLOCKS { dst: Reg => Register, slot: u32 => Slot };
    /// Loads a constant into the register `dst`.
    Const in VALUE_BLOCKS { dst: Reg => Register, constant: u32 => Const };
    /// Loads the current element of the enclosing loop with the nesting level `level` into the
    /// register `dst`.
    Var in VALUE_BLOCKS { dst: Reg => Register, level: u32 => Level };
    /// Runs another block, unless its value is cached, and stores the value of the block in the
    /// register `dst`.
    Eval in VALUE_BLOCKS { dst: Reg => Register, block: BlockId => Value };
    /// Computes `base.key`: loads a field of a dict.
    Field in VALUE_BLOCKS { dst: Reg => Register, base: Reg => Register, key: u32 => String };
    /// Computes `base[key]`: an element of a list by its index, or a value of a dict by its key.
    Index in VALUE_BLOCKS { dst: Reg => Register, base: Reg => Register, key: Reg => Register };
    /// Converts a value to one of the given kinds. The result is missing if the value has another
    /// kind and cannot be converted.
    Read in VALUE_BLOCKS { dst: Reg => Register, src: Reg => Register, kinds: KindSet };
    /// Builds a list from consecutive registers, and stores it in the register `dst`.
    List in VALUE_BLOCKS { dst: Reg => Register, items: RegisterRange => Registers };
    /// Applies a binary operator to two registers, and stores the result in the register `dst`.
    Binary in VALUE_BLOCKS { op: Op => Operator, dst: Reg => Register, left: Reg => Register, right: Reg => Register };
    /// Applies a unary operator to the register `src`, and stores the result in the register `dst`.
    Unary in VALUE_BLOCKS { op: Op => Operator, dst: Reg => Register, src: Reg => Register };
    /// Calls a built-in function with the values of consecutive registers, and stores its result in
    /// the register `dst`.
    Call in VALUE_BLOCKS { function: Function, dst: Reg => Register, args: RegisterRange => Registers };
    /// Computes the function `similarity` of a text and a constant text, which was prepared when
    /// the rules were loaded.
    Similar in VALUE_BLOCKS { dst: Reg => Register, src: Reg => Register, to: u32 => Similar };
    /// Calls a host function, provided by the embedding program.
    Extern in VALUE_BLOCKS { dst: Reg => Register, args: RegisterRange => Registers, function: u32 => Extern };
    /// Counts the elements of a list for which a condition is true. Stores the count in the
    /// register `dst`.
    Count in VALUE_BLOCKS { dst: Reg => Register, each: u32 => Loop };
    /// Runs the block `value` for each element of a list for which a condition is true. Stores the
    /// sum of the results in the register `dst`.
    Sum in VALUE_BLOCKS { dst: Reg => Register, each: u32 => Loop, value: BlockId => Value };
    /// Loads the first (or, if `last` is true, the last) element of a list for which a condition is
    /// true into the register `dst`.
    Find in VALUE_BLOCKS { dst: Reg => Register, each: u32 => Loop, last: bool };
    /// Loads the list of recorded messages, which rules read as `history`, into the register `dst`.
    History in VALUE_BLOCKS { dst: Reg => Register };
    /// Selects some of the recorded messages in `list`, such as the messages of the last hour.
    /// `bound` and `operand` define the selection. With the bound `Hashed`, the instruction selects
    /// nothing, and computes the hash of the operand instead.
    Window in VALUE_BLOCKS { bound: WindowBound, dst: Reg => Register, list: Reg => Register, operand: Reg => Register };
    /// Evaluates the quantifier `any` or `all` over a list to a bool; missing if the result is
    /// unknown. The loop's body yields true if the condition is true for an element. The block
    /// `fails` yields true if the condition is false for the element.
    Quantifier in VALUE_BLOCKS { dst: Reg => Register, each: u32 => Loop, fails: BlockId => Condition };
    /// Computes a condition as a value: `true` if the block `holds` yields true, `false` if the
    /// block `fails` yields true, otherwise missing.
    Cond in VALUE_BLOCKS { dst: Reg => Register, holds: BlockId => Condition, fails: BlockId => Condition };
    /// Jumps to the address `to` if a register holds a value that is not missing.
    IfPresent in VALUE_BLOCKS { src: Reg => Register, to: Pc => To };
    /// Jumps to the address `to` if a condition block does not yield true.
    IfNot in VALUE_BLOCKS { block: BlockId => Condition, to: Pc => To };
    /// Ends a value block; the register `src` holds the value of the block.
    Yield in VALUE_BLOCKS { src: Reg => Register };
}

impl Instr {
    pub fn jump_target(&self) -> Option<Pc> {
        let mut copy = *self;
        copy.jump_target_mut().map(|to| *to)
    }

    /// Returns the jump's target, which lowering fills in once the address is known; `None` if the
    /// instruction does not jump.
    pub fn jump_target_mut(&mut self) -> Option<&mut Pc> {
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

    /// Returns true if execution never continues at the instruction after this one, except by a
    /// jump from elsewhere.
    pub fn ends_control_flow(&self) -> bool {
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
