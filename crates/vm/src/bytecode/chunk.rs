//! A rule set's bytecode as plain data: all that must be stored to run it later.

use crate::bytecode::instr::{BlockId, BlockKind, Cmp, Instr, Pc, Reg};
use rulec_base::text::TextMode;
use rulec_lang::limits::{Limit, Limits};
use rulec_lang::operators::TestMode;
pub use rulec_lang::operators::{Anchor, Search};
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{Const, RuleId, SlotId};
use rulec_sema::normal::{Ask, Nest};
use std::sync::Arc;

/// Sentinel index: there is none.
pub const NONE: u32 = u32::MAX;

/// Bytecode as plain data.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// All instructions; each block is a range of them.
    pub instrs: Vec<Instr>,
    /// The blocks. A block runs only blocks with smaller ids.
    pub blocks: Vec<Block>,
    pub tables: Vec<TableCode>,
    /// The values computed for arguments and destinations, not for conditions, by their id in the
    /// program.
    pub values: Vec<Operand>,
    /// The predicates, by their id in the normal form.
    pub preds: Vec<Pred>,
    /// The conditions with blocks of their own, because several conditions use them.
    pub shared: Vec<Shared>,
    pub loops: Vec<Loop>,
    pub consts: Vec<Const>,
    /// Texts to compare with, normalized for their predicate's text mode, and keys of dicts.
    pub strings: Vec<Arc<str>>,
    /// The constant lists of `in`.
    pub members: Vec<Members>,
    /// The keywords, patterns and regular expressions of text predicates.
    pub keywords: Vec<Keywords>,
    /// The constant texts of `similarity`.
    pub similar: Vec<Arc<str>>,
    /// The path at which each slot is read from a message.
    pub slots: Vec<SlotCode>,
    /// The objects of the message that contain several slots.
    pub objects: Vec<SharedObject>,
    /// The slots whose text is normalized once per decision, each for one text mode.
    pub texts: Vec<(SlotId, TextMode)>,
    /// The maximum nesting depth of loops.
    pub levels: u32,
    /// Number of value blocks whose value is cached during a decision.
    pub cached: u32,
    /// Number of host functions that the program declares.
    pub externs: u32,
    /// The resource limits of a decision.
    pub limits: Limits,
}

/// A range of instructions that runs as a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    pub start: Pc,
    pub end: Pc,
    pub registers: u16,
    /// The cell that caches the block's value, if any.
    pub kept: Option<Kept>,
}

/// The cell that caches a block's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub cell: u32,
    /// Whether the value depends on loop elements. Then the cached value is valid only for the
    /// current elements, else for the whole decision.
    pub varies: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCode {
    pub block: BlockId,
    /// The code of each route, in the order in which routes are tried. It ends in the route's
    /// `Choose` or `Goto`, or jumps to [`RuleCode::end`].
    pub routes: Vec<RuleCode>,
}

/// The part of a table's block that belongs to one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCode {
    pub start: Pc,
    /// Address at which the search continues if the route's condition is not true.
    pub end: Pc,
}

/// The source of an operand's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Missing,
    Slot(SlotId),
    Const(u32),
    /// The current element of the loop at this nesting level.
    Var(u32),
    Block(BlockId),
}

/// A test of one or two operands, with a result of true, false or unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Pred {
    pub check: Check,
    pub left: Operand,
    pub right: Operand,
    /// The test in normal form, for listings and for [`Check::Generic`].
    pub ask: Ask,
    pub mode: TestMode,
    /// Index in [`Chunk::texts`] of the left operand's normalized text, or [`NONE`].
    pub text: u32,
    /// Whether the result is memoized during the decision.
    pub memo: bool,
}

/// The method of evaluating a predicate. Every variant but [`Check::Generic`] is a faster method
/// with the same result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    Truth,
    Missing,
    Int(Cmp, i64),
    Float(Cmp, f64),
    /// Compares the left operand's length with an integer.
    Length(Cmp, i64),
    /// Compares for equality with a text of [`Chunk::strings`].
    Equals(u32),
    /// Tests whether a dict has a key of [`Chunk::strings`].
    HasKey(u32),
    /// Tests membership in a list of [`Chunk::members`].
    Members(u32),
    /// Evaluates a text predicate with [`Chunk::keywords`].
    Keywords(u32),
    /// Calls the operator's own function.
    Generic,
}

/// A condition with a block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    pub block: BlockId,
    /// Whether the result is memoized during the decision; never if it depends on loop elements.
    pub memo: bool,
}

/// A loop over the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    pub list: Operand,
    pub kinds: KindSet,
    pub body: BlockId,
    /// Nesting level under which the body finds the current element.
    pub level: u32,
    /// For `Each`: whether the body must be true for every element, not just for one.
    pub all: bool,
    pub nest: Nest,
}

/// A constant list in which values are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    /// Index of the list in [`Chunk::consts`].
    pub constant: u32,
    pub mode: TextMode,
}

/// The constant keywords, patterns or regular expressions of a text predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keywords {
    pub search: Search,
    /// Whether only whole words match.
    pub word: bool,
    /// Whether all words must match, not just one.
    pub all: bool,
    pub mode: TextMode,
    /// The texts as the author wrote them; at least one.
    pub words: Box<[Arc<str>]>,
    /// Cost of the search per byte of text: the states of the largest regular expression, or the
    /// passes of the most expensive pattern; 0 for keywords.
    pub weight: u64,
}

impl Keywords {
    /// Returns the text that a list on the left must have among its elements.
    ///
    /// `None` if elements are not compared as they are. Then the operator's own function evaluates
    /// the list.
    pub fn element(&self, mode: TestMode) -> Option<&Arc<str>> {
        match &*self.words {
            [wanted] if self.search.finds_elements() && self.mode.is_plain() && mode.quantity.is_none() => {
                Some(wanted)
            }
            _ => None,
        }
    }

    /// Returns the length in bytes up to which any text is searched without exceeding a limit.
    ///
    /// `left` returns what remains of a limit; outside quantifiers, this is the limit itself.
    pub fn most_bytes(&self, left: impl Fn(Limit) -> u64) -> u64 {
        let weight = self.weight.max(1);
        match self.search {
            Search::Literal(_) => u64::MAX,
            Search::Glob if weight == 1 => u64::MAX,
            Search::Glob => left(Limit::SearchWork) / weight,
            Search::Regex => (left(Limit::RegexWork) / weight).min(left(Limit::RegexBytes)),
        }
    }

    /// Returns true if a text matches wherever a keyword occurs at the required position. Otherwise
    /// the occurrence must also be a word, or match a pattern.
    pub fn standing_is_enough(&self) -> bool {
        self.search.is_literal() && !self.word
    }
}

/// The source of a slot's value: an object, or the message itself, and the rest of the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotCode {
    /// Index in [`Chunk::objects`] of the innermost object shared with another slot, or [`NONE`].
    pub object: u32,
    pub rest: Box<[Arc<str>]>,
    pub kinds: KindSet,
    pub name: Arc<str>,
}

/// An object in the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedObject {
    /// Index of the enclosing object, always smaller than its own, or [`NONE`] for the message
    /// itself.
    pub parent: u32,
    pub key: Arc<str>,
}

impl Block {
    pub fn frame(&self) -> usize {
        Reg::into(self.registers)
    }
}

impl Chunk {
    /// Returns the number of memo cells of a decision: one for each predicate, shared condition and
    /// table.
    pub fn memo_len(&self) -> usize {
        self.preds.len() + self.shared.len() + self.tables.len()
    }

    /// Returns the reachable rules of a table, in the order in which they are tried.
    pub fn order(&self, table: usize) -> impl Iterator<Item = RuleId> {
        let routes = self.tables.get(table).map_or(&[][..], |table| table.routes.as_slice());
        // The verifier guarantees that each rule ends in `Choose` or `Goto`.
        routes.iter().filter_map(|code| match self.instrs.get((code.end as usize).checked_sub(1)?)? {
            Instr::Choose { route } | Instr::Goto { route, .. } => Some(*route),
            _ => None,
        })
    }
}
