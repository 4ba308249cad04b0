//! The index: finds the few candidate routes whose conditions may be true for a message, in the
//! order in which they are tried. The cost hardly depends on the number of routes.
//!
//! | module | contents |
//! |---|---|
//! | [`prefilter`] | the literals that a text must contain for a text predicate to be true |
//! | [`attribute`] | the equivalence classes of values that all tests treat alike |
//! | [`index_terms`] | what can be looked up in a message, and what a predicate requires of it |
//! | [`selectivity`] | the estimated share of messages that have a value |
//! | [`ranges`] | the ranges of values for which a condition may be true |
//! | `access` | the access path of each route: by a key, or by a bitmap index |
//! | [`bitmap`] | a bitmap index, which rules out many routes by the classes of values |
//! | [`build`](mod@build) | building the posting lists and bitmaps |
//! | [`cost`] | the cost model: whether the index is faster than trying the routes one by one |
//! | [`mod@plan`] | the access path of each route, for people to read |
//! | `literal_selection` | the selection of the literals to scan for |
//! | [`anchored_literals`] | finds which of many literals a text begins or ends with |
//! | [`scan`] | finds which of many literals occur in a text |
//! | [`lookup`] | finds the candidate routes of a message |
//! | `tombstones` | the routes that were removed since the index was built |
//!
//! The contract, checked by the differential test: a route whose condition is true is always among
//! the candidates. Skipping the other routes changes nothing, because conditions cannot fail (see
//! the language page). A candidate's condition may be false, so the VM tests the whole condition.
//!
//! Each route of a table has one access path. Most routes have *keys*: literals, values or list
//! elements of which a message must contain one. Each key has a *posting list* of its routes,
//! ordered by rank, the route's position in the table. A posting has *guards*, tests of other
//! values that rule most routes out before a condition is evaluated. Routes without keys are the
//! table's *residual*, a bitmap index that rules most of them out.

#![allow(missing_docs, reason = "nobody outside this repository uses it, and what needs no doc has none")]

mod access;
pub mod anchored_literals;
pub mod attribute;
pub mod bitmap;
pub mod build;
pub mod cost;
pub mod index_terms;
mod literal_selection;
pub mod lookup;
pub mod plan;
pub mod prefilter;
pub mod ranges;
pub mod scan;
pub mod selectivity;
pub mod tombstones;

use crate::bytecode::chunk::Operand;
use crate::bytecode::fields::FieldLookup;
use anchored_literals::EdgeLiterals;
use attribute::{ClassId, ValueClasses};
use bitmap::Bitmap;
use rulec_base::text::texts::TextIds;
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_sema::hir::TableId;
use rulec_sema::normal::{NRoute, Normal};
use scan::Scanner;
use smallvec::SmallVec;

pub use build::build_index;
pub use plan::{RoutePlan, TablePlan, plan_tables};

/// The index of a rule set, which finds the candidate routes of a message.
#[derive(Debug)]
pub struct Index {
    pub subjects: Vec<SubjectIndex>,
    pub attributes: Vec<AttributeIndex>,
    pub tables: Vec<TableIndex>,
    pub keys: Vec<IndexKey>,
    /// Lookup of slots by field name; `None` unless some table looks up many slots.
    pub fields: Option<FieldLookup>,
    /// For each literal id, the ids of the keys that the literal provides.
    pub literal_keys: PackedLists,
    /// Total number of literal ids. A literal for which two subjects are scanned has two ids.
    pub literal_count: u32,
    /// For each predicate, how the literals found in a text decide the predicate's result.
    pub answers: Vec<LiteralAnswer>,
    /// The literal ids to which [`LiteralAnswer`] refers, in groups, see
    /// [`Literals`](index_terms::Literals).
    pub numbers: Vec<u32>,
    /// Number of normalized texts that a decision caches: first the texts of `Chunk::texts`, then
    /// the texts that only the index needs.
    pub texts: u32,
}

impl Index {
    /// True if an index could speed up some table, so that building the index is worthwhile.
    pub fn is_worthwhile(normal: &Normal) -> bool {
        let costs =
            |routes: &Vec<NRoute>| cost::linear_search_cost(normal, routes.iter().map(|route| route.cond));
        normal.tables.iter().any(|routes| costs(routes) > cost::INDEX_LOOKUP_NS + cost::VALUE_LOOKUP_NS)
    }

    /// True if a decision by this table is faster with the index than without.
    pub fn is_faster_for(&self, table: TableId) -> bool {
        self.tables.get(table.index()).is_some_and(|table| table.indexed < table.linear)
    }
}

/// A subject: a text of the message that is scanned for literals. The fields read for every text
/// come first; absent searches take no memory beyond a null pointer.
#[derive(Debug)]
#[repr(C)]
pub struct SubjectIndex {
    /// Operand whose value is the text, usually a slot.
    pub operand: Operand,
    /// Id of the first literal in `scanner`; the ids of the scanner's other literals follow.
    pub first: u32,
    /// Attribute that reads the same folded text, or [`SubjectIndex::NONE`]. The attribute's class
    /// is determined during the scan, because the scan folds the text.
    pub attribute: u32,
    /// The distinct normalized forms in which the text is scanned.
    pub forms: SmallVec<[TextForm; 1]>,
    /// Whether some literal decides a predicate only if the scanned text equals the text in the
    /// message.
    pub asks_own: bool,
    /// Whether the text is scanned in one form only, which folds case and does nothing else. Such a
    /// text is folded in the scan buffer and not cached.
    pub folds_in_place: bool,
    /// Literals that must be at the start of the text; `ends` has the literals for its end.
    pub starts: Option<Box<EdgeLiterals>>,
    pub ends: Option<Box<EdgeLiterals>>,
    /// Search for the literals that may be anywhere in the text.
    pub scanner: Scanner,
}

impl SubjectIndex {
    /// Value of `attribute` if no attribute reads the text.
    pub const NO_ATTRIBUTE: u32 = u32::MAX;

    /// True if the normalized text equals the text in the message. Always false if no predicate
    /// depends on the equality.
    #[inline]
    pub fn is_message_text(&self, form: &TextForm, prepared: &[u8], text: &str) -> bool {
        self.asks_own && form.mode.form == NormalizationForm::None && prepared == text.as_bytes()
    }
}

/// How the literals found in a text decide the result of a predicate.
#[derive(Clone, Copy, Debug)]
pub struct LiteralAnswer {
    /// Id of the text's subject; an invalid id in [`LiteralAnswer::NONE`].
    pub subject: u32,
    /// Start of the range in [`Index::numbers`] that lists the required literals; `end` is its end.
    pub start: u32,
    pub end: u32,
    /// Whether the required literals are also sufficient for the predicate to be true.
    pub exact: bool,
    /// Whether the literals are sufficient only if the scanned text equals the text in the message.
    pub plain: bool,
}

impl LiteralAnswer {
    /// Value for predicates that no literals decide.
    pub const UNDECIDED: LiteralAnswer =
        LiteralAnswer { subject: u32::MAX, start: 0, end: 0, exact: false, plain: false };
}

/// A normalized form in which a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextForm {
    /// The mode in which the text is normalized.
    pub mode: TextMode,
    /// Id under which the decision caches the normalized text;
    /// [`UNKEPT_SLOT`](rulec_base::text::prepared::UNKEPT_SLOT) if the text is read unchanged.
    pub text: u32,
}

/// An attribute: a value of the message that is looked up to find keys.
#[derive(Debug)]
pub struct AttributeIndex {
    /// Operand that yields the value, usually a slot.
    pub operand: Operand,
    /// Form to which the value is normalized if it is a text.
    pub form: TextForm,
    pub classes: ValueClasses,
    /// For each equivalence class, the ids of the keys that a value of the class provides.
    pub keys: PackedLists,
    /// Ids of the texts that are keys if the value is a list that contains them.
    pub elements: TextIds,
    /// For each id in `elements`, the ids of the keys that the text provides.
    pub element_keys: PackedLists,
}

/// A key: a fact about a message, such as a literal in a text, which some routes of a table
/// require.
#[derive(Clone, Copy, Debug)]
pub struct IndexKey {
    pub table: u32,
    /// Index in [`TableIndex::lists`] of the posting list with the routes that require the key.
    pub posting: u32,
}

#[derive(Debug, Default)]
pub struct TableIndex {
    /// Posting lists of the table's keys.
    pub lists: Vec<PostingList>,
    /// Postings of all lists without a bitmap, concatenated; see [`PostingList::Range`].
    pub postings: Vec<Posting>,
    /// Bitmap index of the routes without keys.
    pub residual: Bitmap,
    /// Ids of the subjects that are scanned for this table's keys.
    pub subjects: Vec<u32>,
    /// Ids of the attributes that are looked up for this table's keys.
    pub attributes: Vec<u32>,
    /// Subjects and attributes grouped by the slot that they read, instead of in the two lists
    /// above. Used if a table has many of them, of which a message has only a few.
    pub by_slot: Option<(PackedLists, PackedLists)>,
    /// Estimated cost in nanoseconds of a decision that tries the routes one by one.
    pub linear: f64,
    /// Estimated cost in nanoseconds of a decision with the index.
    pub indexed: f64,
    /// Number of routes at the start of the table that may be tried before any lookup. This is done
    /// while most messages match one of these routes.
    pub first: u32,
}

impl TableIndex {
    /// Returns the postings of a [`PostingList::Range`].
    #[inline]
    pub fn postings(&self, start: u32, end: u32) -> &[Posting] {
        self.postings.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// Posting list: the routes that require a key.
#[derive(Debug)]
pub enum PostingList {
    /// Posting list as a range of [`TableIndex::postings`], with ascending ranks.
    Range { start: u32, end: u32 },
    /// Posting list with many routes, which a bitmap index narrows down.
    Bitmap(Box<Bitmap>),
}

/// Entry of a posting list: one route. A route whose condition has alternatives has a posting for
/// each alternative.
#[derive(Clone, Copy, Debug)]
pub struct Posting {
    pub rank: u32,
    /// Guards that can rule the route out without evaluating its condition.
    pub guards: [Guard; 2],
}

/// A necessary condition of a route: the class of an attribute's value is at least `from` and below
/// `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// Id of the attribute that reads the value; an invalid id in [`Guard::NONE`].
    pub attribute: u32,
    pub from: ClassId,
    pub to: ClassId,
}

impl Guard {
    /// A guard that rules nothing out.
    pub const ALWAYS: Guard = Guard { attribute: u32::MAX, from: 0, to: u32::MAX };
}

/// Many short lists of numbers in one allocation, accessed by index.
#[derive(Clone, Debug, Default)]
pub struct PackedLists {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl PackedLists {
    /// Builds `count` lists from pairs of list index and item.
    pub fn new(count: usize, mut items: Vec<(u32, u32)>) -> PackedLists {
        items.sort_unstable();
        let mut ends = vec![0; count];
        for (list, _) in &items {
            if let Some(end) = ends.get_mut(*list as usize) {
                *end += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        PackedLists { ends, items: items.into_iter().map(|(_, item)| item).collect() }
    }

    /// Returns the list at an index.
    #[inline]
    pub fn list(&self, list: u32) -> &[u32] {
        let list = list as usize;
        let start = if list == 0 { 0 } else { self.ends.get(list - 1).copied().unwrap_or(0) };
        let end = self.ends.get(list).copied().unwrap_or(start);
        self.items.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the items of all lists.
    pub fn all_items(&self) -> &[u32] {
        &self.items
    }

    /// True if all lists are empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
