//! A rule set's bytecode as plain data, so that it can be stored and run later. A *slot* is a
//! message field that the rules read. A *text mode* is a way to normalize texts before they are
//! compared, such as case folding.

use crate::bytecode::instr::{BlockId, BlockKind, Comparison, Instr, Pc, Reg};
use rulec_base::text::TextMode;
use rulec_lang::limits::{Limit, Limits};
use rulec_lang::operators::TestMode;
pub use rulec_lang::operators::{Anchor, Search};
use rulec_lang::ty::{Enumeration, KindSet};
use rulec_lang::value::Value;
use rulec_sema::hir::{Const, RuleId, SlotId};
use rulec_sema::normal::{QuantifierNesting, TestKind};
use std::sync::Arc;

/// The index that means "no such entry".
pub const NO_ENTRY: u32 = u32::MAX;

/// Bytecode of a rule set as plain data, which can be stored. Compiled regular expressions and
/// automata are built from the chunk when it is loaded.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// All instructions of the rule set; each block is a range of them.
    pub instrs: Vec<Instr>,
    /// Code blocks: ranges of `instrs` that each evaluate a condition, a value or a table. A block
    /// runs only blocks with smaller ids, so that no block can run itself.
    pub blocks: Vec<Block>,
    pub tables: Vec<TableCode>,
    /// Operands that are evaluated after a route is chosen: the arguments of handlers and the
    /// destinations of routers. Indexed by value id.
    pub outcome_operands: Vec<Operand>,
    /// Predicates (conditions on one or two operands), indexed by their id in the simplified
    /// program.
    pub preds: Vec<Pred>,
    /// Conditions that occur in several other conditions. Each is compiled only once, as a block of
    /// its own.
    pub shared_conditions: Vec<SharedCondition>,
    pub loops: Vec<Loop>,
    pub consts: Vec<Const>,
    /// Constant texts: keys of dicts, and texts that predicates compare with. A text for comparison
    /// is already normalized as its predicate requires, for example case-folded.
    pub strings: Vec<Arc<str>>,
    /// The constant lists of `in` predicates, in which values are looked up.
    pub member_lists: Vec<MemberList>,
    /// The keywords, patterns and regular expressions of text predicates.
    pub keywords: Vec<Keywords>,
    /// The constant texts with which calls of the function `similarity` compare their other
    /// argument.
    pub similarity_texts: Vec<Arc<str>>,
    /// For each slot (a field that rules read), how its value is found in the message.
    pub slots: Vec<SlotCode>,
    /// Objects in a message that contain several slots (fields that rules read). Each object is
    /// looked up once for all its slots.
    pub shared_objects: Vec<SharedObject>,
    /// Texts that are normalized once per decision. Each is given by the slot (field that rules
    /// read) that contains the text, and by the mode of the normalization.
    pub normalized_texts: Vec<(SlotId, TextMode)>,
    /// Maximum nesting depth of loops in the rule set.
    pub max_loop_depth: u32,
    /// Number of code blocks whose computed value is cached during a decision.
    pub cached_block_count: u32,
    /// Number of host functions that the program declares. Host functions are provided by the
    /// embedding application.
    pub extern_count: u32,
    /// Resource limits that each decision must respect.
    pub limits: Limits,
}

/// A code block: a range of instructions that evaluates one condition, value or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub kind: BlockKind,
    pub start: Pc,
    pub end: Pc,
    pub register_count: u16,
    /// The memory cell in which the block's value is cached; `None` if the value is not cached.
    pub cache_cell: Option<CacheCell>,
}

/// Identifies the memory cell in which the computed value of a code block is cached during a
/// decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheCell {
    pub cell_index: u32,
    /// Whether the block's value depends on the current elements of loops. If true, the cached
    /// value is valid only for these elements. If false, it is valid for the whole decision.
    pub depends_on_loops: bool,
}

/// The code of one table, an ordered list of routes of which a search chooses one. The code is one
/// block, divided into the code of each route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableCode {
    pub block: BlockId,
    /// Code of each route, in the order in which routes are tried. The code evaluates the route's
    /// condition and ends in `Choose` or `Goto`. If the condition is not true, the code jumps to
    /// [`RuleCode::end`].
    pub routes: Vec<RuleCode>,
}

/// The code of one route, a range within the code block of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCode {
    pub start: Pc,
    /// Address of the instruction after the route's code. The search continues there if the route's
    /// condition is not true.
    pub end: Pc,
}

/// The source of a value that a predicate, a loop or a function call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Missing,
    Slot(SlotId),
    Const(u32),
    /// The list of recorded messages, which rules read as `history`.
    History,
    /// The current element of a loop, given by the loop's nesting level.
    Var(u32),
    Block(BlockId),
}

/// A predicate: a condition on one or two operands, with a result of true, false or unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Pred {
    pub check: PredCheck,
    pub left: Operand,
    pub right: Operand,
    /// The operation of the predicate: an operator, or the check whether a value is true.
    /// [`PredCheck::Generic`] evaluates this operation, and the disassembler prints it.
    pub test_kind: TestKind,
    pub mode: TestMode,
    /// Index in [`Chunk::normalized_texts`] of the left operand's normalized text; [`NO_ENTRY`] if
    /// the predicate needs no normalized text.
    pub text_index: u32,
    /// Whether the predicate's result is memoized for the rest of the decision.
    pub is_memoized: bool,
}

/// The method by which a predicate is evaluated. [`PredCheck::Generic`] works for every predicate.
/// The other variants are faster for some predicates and give the same result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PredCheck {
    Truth,
    Missing,
    Int(Comparison, i64),
    Float(Comparison, f64),
    /// Compares the length of the left operand with an integer.
    Length(Comparison, i64),
    /// Tests whether the left operand equals a text, given by its index in [`Chunk::strings`].
    Equals(u32),
    /// Tests whether the left operand is a dict with a certain key, given by the key's index in
    /// [`Chunk::strings`].
    HasKey(u32),
    /// Tests whether the left operand is in a constant list, given by its index in
    /// [`Chunk::member_lists`].
    Members(u32),
    /// Searches the text of the left operand for keywords, given by their index in
    /// [`Chunk::keywords`].
    Keywords(u32),
    /// Calls the function that implements the operator, which works for all operands.
    Generic,
}

/// A condition that occurs in several other conditions, compiled only once, as a block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedCondition {
    pub block: BlockId,
    /// Whether the condition's result is memoized for the rest of the decision. False if the result
    /// depends on the current element of a loop.
    pub is_memoized: bool,
}

/// A loop over the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    pub list: Operand,
    pub kinds: KindSet,
    pub body: BlockId,
    /// Nesting level of the loop. The body refers to the current element by this level.
    pub level: u32,
    /// For the instructions `Each` and `Quantifier`: whether the body must be true for every
    /// element of the list. If false, one element suffices.
    pub requires_all: bool,
    pub nesting: QuantifierNesting,
    /// How the results for recorded messages are cached between decisions; `None` if they are not
    /// cached, or if the loop is not over the history.
    pub history: Option<HistoryLoop>,
}

/// Maximum length in bytes of a text with which a loop with cached results, a [`HistoryLoop`], may
/// compare elements. A comparison with such a text never reaches the limit on its work, however
/// many elements the loop has.
pub const MAX_COMPARED_BYTES: u64 = 200;

/// A loop over the history (the recorded messages) whose results can be cached between decisions.
/// Its condition has two parts. `body` reads only the recorded message, so it has the same result
/// for a message in every decision. `groups` are comparisons of the message with other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLoop {
    /// The block that evaluates the loop's condition on an element, without the comparisons in
    /// `groups`.
    pub body: BlockId,
    /// The comparisons of the element with constants or values of the current message. All of them
    /// must hold. Elements whose keys are equal form a group. `None` follows the last comparison.
    pub groups: [Option<KeyComparison>; MAX_ELEMENT_GROUPS],
    /// The number under which the results of the loop are cached. Loops with the same condition and
    /// group keys share a number.
    pub memo_number: u32,
}

/// Maximum number of comparisons in [`HistoryLoop::groups`], of an element with a constant or with
/// a value of the current message.
pub const MAX_ELEMENT_GROUPS: usize = 4;

impl HistoryLoop {
    /// Returns the comparisons in `groups`: of the element with constants or with values of the
    /// current message.
    pub fn comparisons(&self) -> impl Iterator<Item = &KeyComparison> {
        self.groups.iter().flatten()
    }
}

/// A comparison `KEY == OTHER` in a loop's condition, in which only `KEY` depends on the loop's
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyComparison {
    /// The block that computes the key of an element: the value that is compared with
    /// `other_operand`.
    pub key_block: BlockId,
    /// The value with which the keys of the elements are compared: a constant, or a value of the
    /// current message.
    pub other_operand: Operand,
}

/// The constant list of an `in` predicate, in which values are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberList {
    /// Index of the list in [`Chunk::consts`].
    pub constant_index: u32,
    pub mode: TextMode,
}

/// The constant keywords, patterns or regular expressions of a text predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keywords {
    pub search: Search,
    /// Whether a keyword matches only as a whole word.
    pub whole_word: bool,
    /// Whether a text must match all of the `words`. If false, one of them suffices.
    pub requires_all: bool,
    pub mode: TextMode,
    /// The keywords, patterns or regular expressions as the author wrote them; at least one.
    pub words: Box<[Arc<str>]>,
    /// Cost of the search per byte of text, for comparison with the limits. For regular
    /// expressions, the number of automaton states; for wildcard patterns, the maximum number of
    /// passes over the text; 0 for keywords.
    pub cost_per_byte: u64,
}

impl Keywords {
    /// For a predicate whose left operand is a list, returns the text that the list must contain so
    /// that the predicate is true. `mode` is the predicate's [`TestMode`]. A search for this one
    /// element is faster than the function that implements the operator.
    ///
    /// `None` if the predicate requires more than a search for one equal element. The function of
    /// the operator must then evaluate the list.
    pub fn required_element(&self, mode: TestMode) -> Option<&Arc<str>> {
        match &*self.words {
            [text] if self.search.finds_elements() && self.mode.is_plain() && mode.quantity.is_none() => {
                Some(text)
            }
            _ => None,
        }
    }

    /// Returns the maximum length in bytes of a text that this search may read without exceeding a
    /// resource limit. For a given limit, `remaining` must return the amount of work that one
    /// search may use. Outside quantifiers (`any`, `all`) this is the whole limit. Inside, the
    /// repetitions share the limit.
    pub fn max_searchable_bytes(&self, remaining: impl Fn(Limit) -> u64) -> u64 {
        let weight = self.cost_per_byte.max(1);
        match self.search {
            Search::Literal(_) => u64::MAX,
            Search::Glob if weight == 1 => u64::MAX,
            Search::Glob => remaining(Limit::SearchWork) / weight,
            Search::Regex => (remaining(Limit::RegexWork) / weight).min(remaining(Limit::RegexBytes)),
        }
    }

    /// True if a text matches as soon as it contains a keyword at the required position (start, end
    /// or anywhere). False for whole words, patterns and regular expressions, which need further
    /// checks.
    pub fn occurrence_is_enough(&self) -> bool {
        self.search.is_literal() && !self.whole_word
    }
}

/// How the value of a slot (a field that rules read) is found in a message: look up the enclosing
/// object that other slots share, then follow the remaining keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotCode {
    /// Index in [`Chunk::shared_objects`] of the innermost object on the slot's path that several
    /// slots share; it may be the slot's own value. [`NO_ENTRY`] if this is the message itself.
    pub object_index: u32,
    /// The keys that lead from the shared object to the slot's value.
    pub remaining_keys: Box<[Arc<str>]>,
    pub kinds: KindSet,
    /// The only texts that the field may have; another text counts as missing. `None` if any text
    /// is allowed.
    pub allowed_texts: Option<Enumeration>,
    pub name: Arc<str>,
}

impl SlotCode {
    /// Converts a value from the message to the declared type of the field. Returns the missing
    /// value if the value has another type, or is a text that the field may not have.
    #[inline]
    pub fn to_declared_type<'a>(&self, value: Value<'a>) -> Value<'a> {
        value.read_as(self.kinds).read_one_of(self.allowed_texts.as_ref())
    }
}

/// An object in a message that contains several slots (fields that rules read), and so is looked up
/// once for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedObject {
    /// Index of the enclosing object, always smaller than the object's own index. [`NO_ENTRY`] if
    /// the message itself encloses the object.
    pub parent_index: u32,
    pub key: Arc<str>,
}

impl Block {
    pub fn frame_len(&self) -> usize {
        Reg::into(self.register_count)
    }
}

impl Chunk {
    /// Returns the number of memo cells (cached results) that a decision needs: one for each
    /// predicate, shared condition and table.
    pub fn memo_cell_count(&self) -> usize {
        self.preds.len() + self.shared_conditions.len() + self.tables.len()
    }

    /// Returns the routes of a table in the order in which they are tried. Omits routes whose
    /// condition is always false, because they have no code.
    pub fn route_order(&self, table: usize) -> impl Iterator<Item = RuleId> {
        let routes = self.tables.get(table).map_or(&[][..], |table| table.routes.as_slice());
        // The verifier guarantees that each rule ends in `Choose` or `Goto`.
        routes.iter().filter_map(|code| match self.instrs.get((code.end as usize).checked_sub(1)?)? {
            Instr::Choose { route } | Instr::Goto { route, .. } => Some(*route),
            _ => None,
        })
    }
}
