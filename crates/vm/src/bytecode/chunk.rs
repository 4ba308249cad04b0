//! A rule set's bytecode as plain data: everything that has to be stored to run it later.

use crate::bytecode::instr::{BlockId, BlockKind, Cmp, Instr, Pc, Reg};
use rulec_base::text::TextMode;
use rulec_lang::limits::{Limit, Limits};
use rulec_lang::operators::TestMode;
pub use rulec_lang::operators::{Anchor, Search};
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{Const, RuleId, SlotId};
use rulec_sema::normal::{Ask, Nest};
use std::sync::Arc;

/// In place of an index: there is none.
pub const NONE: u32 = u32::MAX;

/// The plain data.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// All instructions; each block is a range of them.
    pub instrs: Vec<Instr>,
    /// The blocks. Whatever a block runs stands before it.
    pub blocks: Vec<Block>,
    pub tables: Vec<TableCode>,
    /// The values computed beside conditions, under their numbers in the program.
    pub values: Vec<Operand>,
    /// The predicates, under the numbers they have in the normal form.
    pub preds: Vec<Pred>,
    /// The conditions with blocks of their own, which more than one condition asks.
    pub shared: Vec<Shared>,
    pub loops: Vec<Loop>,
    pub consts: Vec<Const>,
    /// Texts to compare with, prepared under their predicate's mode, and keys.
    pub strings: Vec<Arc<str>>,
    /// The lists of `in`.
    pub members: Vec<Members>,
    /// The keywords, patterns and expressions of text predicates.
    pub keywords: Vec<Keywords>,
    /// The texts of `similarity`.
    pub similar: Vec<Arc<str>>,
    /// The way each slot is read from a message.
    pub slots: Vec<SlotCode>,
    /// The objects of the message that more than one slot lies in.
    pub objects: Vec<SharedObject>,
    /// The slots whose text is needed prepared, each under one mode.
    pub texts: Vec<(SlotId, TextMode)>,
    /// The greatest number of loops that stand within each other.
    pub levels: u32,
    /// The number of value blocks that keep their value for the decision.
    pub cached: u32,
    /// The number of host functions that the program declares.
    pub externs: u32,
    /// The limits of a decision.
    pub limits: Limits,
}

/// A range of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    pub start: Pc,
    pub end: Pc,
    pub registers: u16,
    /// The place that keeps its value.
    pub kept: Option<Kept>,
}

/// The place that keeps a block's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub cell: u32,
    /// True when it depends on the elements of loops, and is kept for those at hand alone; else during the decision.
    pub varies: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCode {
    pub block: BlockId,
    /// The places where the routes' conditions begin, in the order they are tried. Each ends in the route's
    /// `Choose` or `Goto`, or jumps to the end.
    pub routes: Vec<RuleCode>,
}

/// A route's part of its table's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCode {
    pub start: Pc,
    /// The place where the search goes on when the condition does not hold.
    pub end: Pc,
}

/// The source of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Missing,
    Slot(SlotId),
    Const(u32),
    /// The element of the loop at a level.
    Var(u32),
    Block(BlockId),
}

/// A predicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Pred {
    pub check: Check,
    pub left: Operand,
    pub right: Operand,
    /// The question, for listings and for [`Check::Generic`].
    pub ask: Ask,
    pub mode: TestMode,
    /// The place of the left operand's prepared text in [`Chunk::texts`], or [`NONE`].
    pub text: u32,
    /// True when its answer is kept during the decision.
    pub memo: bool,
}

/// The way a predicate is tested. All but [`Check::Generic`] are faster ways to the same answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    Truth,
    Missing,
    Int(Cmp, i64),
    Float(Cmp, f64),
    /// Comparison of the left operand's length with an integer.
    Length(Cmp, i64),
    /// Equality with a text of [`Chunk::strings`].
    Equals(u32),
    /// Tests that a dict has a key of [`Chunk::strings`].
    HasKey(u32),
    /// Membership in a list of [`Chunk::members`].
    Members(u32),
    /// A text predicate with [`Chunk::keywords`].
    Keywords(u32),
    /// The operator's own function.
    Generic,
}

/// A condition with a block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    pub block: BlockId,
    /// True when its answer is kept during the decision; not so inside loops.
    pub memo: bool,
}

/// A loop over a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    pub list: Operand,
    pub kinds: KindSet,
    pub body: BlockId,
    /// The place of the element.
    pub level: u32,
    /// True when every element must do (for `Each`), else one.
    pub all: bool,
    pub nest: Nest,
}

/// A constant list that values are looked up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// The list, in [`Chunk::consts`].
    pub constant: u32,
    pub mode: TextMode,
}

/// Constant keywords, patterns or expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keywords {
    pub search: Search,
    /// Only whole words count.
    pub word: bool,
    /// True when all must do, else one.
    pub all: bool,
    pub mode: TextMode,
    /// As the author wrote them; at least one.
    pub words: Box<[Arc<str>]>,
    /// The cost of a search for each byte of the text: the states of the largest expression, or the passes of
    /// the worst pattern; 0 for keywords.
    pub weight: u64,
}

impl Keywords {
    /// The text that a list on the left must have among its elements, where these are compared as they
    /// are; `None` where it takes the operator itself.
    pub fn element(&self, mode: TestMode) -> Option<&Arc<str>> {
        match &*self.words {
            [wanted] if self.search.finds_elements() && self.mode.is_plain() && mode.quantity.is_none() => {
                Some(wanted)
            }
            _ => None,
        }
    }

    /// The longest text, in bytes, that is surely searched within what is left of the limits: outside quantifiers the limits
    /// themselves.
    pub fn most_bytes(&self, left: impl Fn(Limit) -> u64) -> u64 {
        let weight = self.weight.max(1);
        match self.search {
            Search::Literal(_) => u64::MAX,
            Search::Glob if weight == 1 => u64::MAX,
            Search::Glob => left(Limit::SearchWork) / weight,
            Search::Regex => (left(Limit::RegexWork) / weight).min(left(Limit::RegexBytes)),
        }
    }

    /// Returns true when a keyword that stands where it must is enough for a text; else it must also be a word, or fit a
    /// pattern.
    pub fn standing_is_enough(&self) -> bool {
        self.search.is_literal() && !self.word
    }
}

/// The way a slot is read: from an object, or the message itself, through the rest of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotCode {
    /// The innermost object shared with another slot, in [`Chunk::objects`], or [`NONE`].
    pub object: u32,
    pub rest: Box<[Arc<str>]>,
    pub kinds: KindSet,
    pub name: Arc<str>,
}

/// An object of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedObject {
    /// The object it lies in, an earlier one, or [`NONE`] for the message itself.
    pub parent: u32,
    pub key: Arc<str>,
}

impl Block {
    pub fn frame(&self) -> usize {
        Reg::into(self.registers)
    }
}

impl Chunk {
    /// Returns the number of memo cells a decision needs: one a predicate, shared condition and table.
    pub fn memo_len(&self) -> usize {
        self.preds.len() + self.shared.len() + self.tables.len()
    }

    /// The rules of a table that can hold, in the order they are tried.
    pub fn order(&self, table: usize) -> impl Iterator<Item = RuleId> {
        let routes = self.tables.get(table).map_or(&[][..], |table| table.routes.as_slice());
        // The verifier lets no rule end otherwise.
        routes.iter().filter_map(|code| match self.instrs.get((code.end as usize).checked_sub(1)?)? {
            Instr::Choose { route } | Instr::Goto { route, .. } => Some(*route),
            _ => None,
        })
    }
}
