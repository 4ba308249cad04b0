//! The index: finds the few candidate routes of a message, the routes whose conditions may be true.
//! The cost hardly depends on the number of routes.
//!
//! | module | contents |
//! |---|---|
//! | [`prefilter`] | the literals that a text must contain for a text predicate to be true |
//! | [`attribute`] | the values that conditions read, and their equivalence classes |
//! | [`index_terms`] | the facts about a message that predicates require |
//! | [`selectivity`] | the estimated fraction of messages that have a value |
//! | [`ranges`] | the ranges of values outside which a condition cannot be true |
//! | `access` | the access path of each route: by a key, or by a bitmap index |
//! | [`bitmap`] | a bitmap index, which rules out many routes by the classes of values |
//! | [`build`](mod@build) | building the posting lists and bitmaps |
//! | [`cost`] | the cost model: estimates whether a decision is faster with the index |
//! | [`mod@plan`] | the access path of each route, as text for `rulec plan` |
//! | `literal_selection` | the selection of the literals to scan for |
//! | [`anchored_literals`] | finds which of many literals a text begins or ends with |
//! | [`scan`] | finds which of many literals occur in a text |
//! | [`lookup`] | finds the candidate routes of a message |
//! | `packed_lists` | many short lists of numbers, of which most have one item |
//! | `tombstones` | the routes that were removed since the index was built |
//!
//! The contract, checked by the differential test: a route whose condition is true is always among
//! the candidates. Skipping the other routes changes nothing, because conditions cannot fail (see
//! the language page). A candidate's condition may be false, so the VM evaluates the whole
//! condition.
//!
//! Each route of a table has one access path. Most routes have *keys*: literals, values or list
//! elements. A message that matches the route has at least one of its keys. Each key has a *posting
//! list* of its routes, ordered by rank (the route's position in the table). A posting has
//! *guards*: required ranges of other values, which exclude most routes before a condition is
//! evaluated. Routes without keys are the table's *residual*. A bitmap index excludes most of them.

#![allow(missing_docs, reason = "only this repository uses it, and items that need no doc have none")]

mod access;
pub mod anchored_literals;
pub mod attribute;
pub mod bitmap;
pub mod build;
pub mod cost;
pub mod index_terms;
mod literal_selection;
pub mod lookup;
mod packed_lists;
pub mod plan;
pub mod prefilter;
pub mod ranges;
pub mod scan;
pub mod selectivity;
pub mod tombstones;

use crate::bytecode::chunk::{Operand, RuleCode};
use crate::bytecode::fields::FieldLookup;
use anchored_literals::EdgeLiterals;
use attribute::{ClassId, ValueClasses};
use bitmap::Bitmap;
use rulec_base::text::TextMode;
use rulec_base::text::prepared::UNCACHED_SLOT;
use rulec_base::text::texts::TextIds;
use rulec_sema::hir::TableId;
use rulec_sema::normal::{NormalForm, NormalRule};
use scan::LiteralScanner;
use smallvec::SmallVec;

pub use build::build_index;
pub use packed_lists::{PackedItems, PackedList, PackedLists};
pub use plan::{RoutePlan, TablePlan, plan_tables};

/// The index of a rule set, which finds the candidate routes of a message.
#[derive(Debug)]
pub struct Index {
    pub subjects: Vec<ScannedTextIndex>,
    pub attributes: Vec<AttributeIndex>,
    pub tables: Vec<TableIndex>,
    /// Total number of key ids. The keys of a table have consecutive ids.
    pub key_count: u32,
    /// Lookup of slots (fields that rules read) by field name; `None` unless some table looks up
    /// many slots.
    pub fields: Option<FieldLookup>,
    /// For each literal id, the ids of the keys (facts that lead to routes) that a message has if
    /// its text contains the literal.
    pub literal_keys: PackedLists,
    /// Total number of literal ids. A literal that is searched in two texts of the message has two
    /// ids.
    pub literal_count: u32,
    /// For each predicate, how the literals found in a text decide whether the predicate is true.
    pub literal_verdicts: Vec<LiteralVerdict>,
    /// Literal ids to which the entries of `literal_verdicts` refer, in groups. If the predicate of
    /// an entry is true, the text contains at least one literal of each of its groups. The last id
    /// of a group has the flag [`LAST_IN_GROUP_FLAG`](index_terms::LAST_IN_GROUP_FLAG), except in
    /// the last group, so that a list of one id needs no memory.
    pub deciding_literal_ids: PackedItems,
    /// Number of normalized texts that a decision caches: the texts of `Chunk::normalized_texts`,
    /// followed by texts that only the index needs.
    pub cached_text_count: u32,
}

impl Index {
    /// True if the index may be faster than trying the routes one by one, for at least one table.
    pub fn is_worthwhile(normal: &NormalForm) -> bool {
        let linear_cost = |routes: &Vec<NormalRule>| {
            cost::linear_search_cost_ns(normal, routes.iter().map(|route| route.cond))
        };
        normal.tables.iter().any(|routes| linear_cost(routes) > cost::INDEX_LOOKUP_NS + cost::VALUE_LOOKUP_NS)
    }

    /// True if decisions by this table use the index: if `always` is true, or if a decision with
    /// the index is estimated to be faster than trying the table's routes one by one.
    pub fn is_used_for_table(&self, table: TableId, always: bool) -> bool {
        always
            || self.tables.get(table.index()).is_some_and(|table| table.index_cost_ns < table.linear_cost_ns)
    }
}

/// The index of one subject: a text of the message that is searched for literals. `repr(C)` keeps
/// the order of the fields, so that the fields for every scan come first in memory. Literals at the
/// start or end have their own allocations, so that a subject without them takes little memory.
#[derive(Debug)]
#[repr(C)]
pub struct ScannedTextIndex {
    /// Operand whose value is the text that is searched, usually a slot (a field that rules read).
    pub operand: Operand,
    /// Id of the first literal in `scanner`. The other literals in `scanner` have consecutive ids
    /// after it.
    pub first_literal_id: u32,
    /// Id of the attribute (a value that conditions compare) whose value is this text, case-folded.
    /// The scan folds the text anyway, so it also finds the constant that equals the attribute's
    /// value. [`ScannedTextIndex::NO_ATTRIBUTE`] if the scan serves no attribute.
    pub attribute_id: u32,
    /// The distinct normalized forms of the text in which literals are searched.
    pub forms: SmallVec<[TextForm; 1]>,
    /// Whether there is a predicate that the found literals decide only if normalization left the
    /// text of the message unchanged.
    pub needs_unchanged_text: bool,
    /// Whether the text is scanned in one normalized form only, and this form only folds case. Such
    /// a text is folded in the scan buffer and not cached.
    pub folds_in_place: bool,
    /// Literals that must be at the start of the text; `None` if there are none. The field
    /// `end_literals` has the literals that must be at the end.
    pub start_literals: Option<Box<EdgeLiterals>>,
    pub end_literals: Option<Box<EdgeLiterals>>,
    /// Searcher that finds the literals that may occur anywhere in the text.
    pub scanner: LiteralScanner,
}

impl ScannedTextIndex {
    /// Value of the field `attribute_id` that means "none": the scan of the text serves no
    /// attribute.
    pub const NO_ATTRIBUTE: u32 = u32::MAX;

    /// True if `prepared`, the normalized form `form` of the message text `text`, equals `text`.
    /// Always false if `needs_unchanged_text` is false, because no predicate needs the result then.
    /// The result is also false if the normalization may replace one character by several.
    #[inline]
    pub fn is_message_text(&self, form: &TextForm, prepared: &[u8], text: &str) -> bool {
        self.needs_unchanged_text && form.mode.maps_single_chars() && prepared == text.as_bytes()
    }
}

/// How the literals that were found in a text decide the result of one predicate.
#[derive(Clone, Copy, Debug)]
pub struct LiteralVerdict {
    /// Id of the subject (the scanned text); an invalid id in [`LiteralVerdict::UNDECIDED`].
    pub subject_id: u32,
    /// The required literals: a list in [`Index::deciding_literal_ids`].
    pub literal_ids: PackedList,
    /// Whether the predicate is always true if the text contains the required literals.
    pub are_literals_sufficient: bool,
    /// Whether `are_literals_sufficient` applies only if normalization left the text of the message
    /// unchanged.
    pub requires_unchanged_text: bool,
    /// Whether the predicate's own search is cheap for a text of any length, so that no limit
    /// applies to the search. The literals then decide the predicate before it is even read.
    pub is_search_unlimited: bool,
}

impl LiteralVerdict {
    /// The value for a predicate whose result does not follow from the literals in a text. Such a
    /// predicate must be evaluated.
    pub const UNDECIDED: LiteralVerdict = LiteralVerdict {
        subject_id: u32::MAX,
        literal_ids: PackedList::EMPTY,
        are_literals_sufficient: false,
        requires_unchanged_text: false,
        is_search_unlimited: false,
    };
}

/// A normalized form of a text: the mode of the normalization, and the id under which a decision
/// caches the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextForm {
    /// How the text is normalized: Unicode form and case folding.
    pub mode: TextMode,
    /// Id under which the decision caches the normalized text.
    /// [`UNCACHED_SLOT`] if the mode leaves the text unchanged.
    pub cache_id: u32,
}

impl TextForm {
    /// Returns true if the form is the text itself.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.cache_id == UNCACHED_SLOT
    }
}

/// The index of one attribute (a value of the message that conditions read). Maps the value to its
/// keys, the facts by which candidate routes are found.
#[derive(Debug)]
pub struct AttributeIndex {
    /// Operand whose value is looked up, usually a slot (a field that rules read).
    pub operand: Operand,
    /// The normalization of the value before the lookup, if the value is a text.
    pub form: TextForm,
    pub classes: ValueClasses,
    /// For each equivalence class (values that no predicate distinguishes), the ids of the keys
    /// that a value of the class provides.
    pub keys_by_class: PackedLists,
    /// Texts with ids, among which the elements of the value are looked up if the value is a list.
    /// If an element equals such a text, the list provides keys, by which candidate routes are
    /// found.
    pub element_ids: TextIds,
    /// For each id in `element_ids`, the ids of the keys (facts by which routes are found) that a
    /// list with this text provides.
    pub element_keys: PackedLists,
}

/// The index of one table: posting lists of keys, a bitmap of the other routes, and the estimated
/// costs of a decision with and without the index.
#[derive(Debug, Default)]
pub struct TableIndex {
    /// Id of the table's first key (a fact about a message, such as a literal in a text). The other
    /// keys of the table have consecutive ids after it.
    pub first_key_id: u32,
    /// Posting lists of the table's keys, in the order of the keys' ids. A message can match the
    /// routes of a list only if it has the key.
    pub lists: Vec<PostingList>,
    /// The posting lists that are bitmaps; see [`PostingList::Bitmap`].
    pub bitmaps: Vec<Bitmap>,
    /// Postings (entries for one route each) of all posting lists that are not bitmaps,
    /// concatenated; see [`PostingList::Range`].
    pub postings: Vec<Posting>,
    /// Bitmap index of the routes that have no keys (facts by which a lookup could find them).
    pub residual: Bitmap,
    /// Ids of this table's subjects: the texts of the message that are searched for the literals of
    /// keys.
    pub subject_ids: Vec<u32>,
    /// Ids of this table's attributes: the values of the message whose lookup finds keys.
    pub attribute_ids: Vec<u32>,
    /// For a table with many scanned texts and looked-up values: for each message field, the ids of
    /// its subjects (first list) and of its attributes (second list). `subject_ids` and
    /// `attribute_ids` then lack these ids. A message has values for few fields, so a lookup reads
    /// the lists of these fields only. `None` for other tables.
    pub lookups_by_slot: Option<(PackedLists, PackedLists)>,
    /// Estimated cost in nanoseconds of a decision that tries the routes one by one.
    pub linear_cost_ns: f64,
    /// Estimated cost in nanoseconds of a decision with the index.
    pub index_cost_ns: f64,
    /// Number of routes at the start of the table that may be tried before any lookup. The routes
    /// are tried first while most of the recent messages matched one of them.
    pub first_route_count: u32,
}

impl TableIndex {
    /// Returns the posting lists of the given keys, leaving out keys of other tables. A posting
    /// list has the routes that have one key in common.
    #[inline]
    pub fn posting_lists(&self, keys: &[u32]) -> impl Iterator<Item = &PostingList> {
        keys.iter().filter_map(|key| self.lists.get(key.wrapping_sub(self.first_key_id) as usize))
    }

    /// Returns the entries of a posting list, given the bounds `start` and `end` of a
    /// [`PostingList::Range`].
    #[inline]
    pub fn postings(&self, start: u32, end: u32) -> &[Posting] {
        self.postings.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// The routes that have an index key in common. Only messages with this key (a fact such as a
/// literal in a text) can match these routes.
#[derive(Clone, Copy, Debug)]
pub enum PostingList {
    /// Posting list (the routes of one key) stored as a range of [`TableIndex::postings`], in the
    /// order in which the routes are tried.
    Range { start: u32, end: u32 },
    /// Posting list with many routes, stored as a bitmap index, which excludes most of the routes
    /// by the values of the message. The number is the position in [`TableIndex::bitmaps`].
    Bitmap(u32),
}

/// Entry of a posting list: one route. A route whose condition is split into alternatives has one
/// posting for each alternative.
///
/// All that a decision reads to find the route's code is in one line of the processor's cache.
/// Measured in benches/notes/plain.md, "Layout of the index".
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Posting {
    pub rank: u32,
    pub code: RuleCode,
    guard_attribute_ids: [u16; 2],
    guard_ranges: [(ClassId, ClassId); 2],
}

const _: () = assert!(size_of::<Posting>() == 32);

impl Posting {
    /// Id of an attribute (message value) that means "no guard".
    const NO_ATTRIBUTE: u16 = u16::MAX;

    /// `guards` are required ranges of at most two values of the message; `None` in place of a
    /// range that is not required.
    pub fn new(rank: u32, code: RuleCode, guards: [Option<Guard>; 2]) -> Posting {
        // A guard on an attribute without a short id is left out, which excludes fewer messages.
        let short_id = |guard: Guard| u16::try_from(guard.attribute_id).ok();
        let range = |guard: Guard| (guard.first_class, guard.end_class);
        Posting {
            rank,
            code,
            guard_attribute_ids: guards.map(|guard| guard.and_then(short_id).unwrap_or(Self::NO_ATTRIBUTE)),
            guard_ranges: guards.map(|guard| guard.map_or((0, 0), range)),
        }
    }

    /// Returns the guards: required ranges of at most two values of the message. If a value is
    /// outside its range, the route is excluded without evaluating its condition.
    #[inline(always)]
    pub fn guards(&self) -> impl Iterator<Item = Guard> {
        let guards = self.guard_attribute_ids.iter().zip(&self.guard_ranges);
        guards.filter(|(attribute, _)| **attribute != Self::NO_ATTRIBUTE).map(
            |(attribute, (first_class, end_class))| Guard {
                attribute_id: (*attribute).into(),
                first_class: *first_class,
                end_class: *end_class,
            },
        )
    }
}

/// A necessary condition of a route: a value of the message must be within a range. All values that
/// no rule distinguishes share a class id, and the ids of numbers ascend with the numbers. The
/// value's class id must be at least `first_class` and less than `end_class`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// Id of the attribute whose class is compared.
    pub attribute_id: u32,
    pub first_class: ClassId,
    pub end_class: ClassId,
}
