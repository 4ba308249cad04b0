//! The index: from a message to the few routes whose conditions may hold, in the order they are
//! tried, at a cost that hardly depends on how many routes there are.
//!
//! | module | the question it answers |
//! |---|---|
//! | [`prefilter`] | which literals must a text hold for a text predicate to be true? |
//! | [`attribute`] | which values do all tests answer alike? |
//! | [`atom`] | what can be looked up in a message, and what does a predicate need of it? |
//! | [`share`] | which share of messages has such a value? |
//! | [`ranges`] | for which values may a condition hold? |
//! | `access` | by which key is each route found, or by which bits? |
//! | [`bitmap`] | which of many routes do single values rule out? |
//! | [`build`](mod@build) | which posting lists and bits come of that? |
//! | [`cost`] | is that faster than trying the routes one by one? |
//! | [`mod@plan`] | how is each route found, for people to read? |
//! | `told` | which literals are looked for? |
//! | [`edges`] | which of many literals does a text begin or end with? |
//! | [`scan`] | which of many literals occur in a text? |
//! | [`lookup`] | which routes may hold for a message? |
//! | `tombstones` | which routes were removed since the index was built? |
//!
//! The contract, held by the differential test: a route whose condition holds is always among those
//! found. It rests on conditions that cannot fail (see the language page): what is skipped would have
//! changed nothing. What is found may still not hold; the machine tests the whole condition.
//!
//! Each route of a table has one way to be found. Most have *keys*: literals, values or list elements
//! of which a message must hold one. Each key has a *posting list*: the ranks of its routes, in order,
//! with *guards* that rule most of them out by their other values before a condition is run. The other
//! routes are the table's *residual*, a bitmap in which bits rule most of them out.

#![allow(missing_docs, reason = "nobody outside this repository uses it, and what needs no doc has none")]

mod access;
pub mod atom;
pub mod attribute;
pub mod bitmap;
pub mod build;
pub mod cost;
pub mod edges;
pub mod lookup;
pub mod plan;
pub mod prefilter;
pub mod ranges;
pub mod scan;
pub mod share;
mod told;
pub mod tombstones;

use crate::bytecode::chunk::Operand;
use crate::bytecode::fields::Fields;
use attribute::{Class, Classes};
use bitmap::Bitmap;
use edges::Edges;
use rulec_base::text::texts::Texts;
use rulec_base::text::{Form, TextMode};
use rulec_sema::hir::TableId;
use rulec_sema::normal::{NRoute, Normal};
use scan::Scanner;
use smallvec::SmallVec;

pub use build::build;
pub use plan::{RoutePlan, TablePlan, plan};

/// The index of a rule set.
#[derive(Debug)]
pub struct Index {
    pub subjects: Vec<SubjectIndex>,
    pub attributes: Vec<AttributeIndex>,
    pub tables: Vec<TableIndex>,
    pub keys: Vec<Key>,
    /// The slots by name, where some table asks for many.
    pub fields: Option<Fields>,
    /// The keys of each literal of each subject, by number.
    pub literal_keys: Lists,
    /// The number of literals of all subjects: what two look for has two numbers.
    pub literal_count: u32,
    /// For each predicate the way the literals tell its answer once its subject has been scanned.
    pub answers: Vec<LiteralAnswer>,
    /// The literals of these, in groups, see [`Literals`](atom::Literals).
    pub numbers: Vec<u32>,
    /// The number of texts a decision keeps prepared: those of `Chunk::texts`, then the index's own.
    pub texts: u32,
}

impl Index {
    /// True when an index could be of use to some table, and is worth building.
    pub fn is_worthwhile(normal: &Normal) -> bool {
        let costs = |routes: &Vec<NRoute>| cost::linear(normal, routes.iter().map(|route| route.cond));
        normal.tables.iter().any(|routes| costs(routes) > cost::LOOKUP + cost::VALUE)
    }

    /// True when deciding by a table is faster with the index than without.
    pub fn serves(&self, table: TableId) -> bool {
        self.tables.get(table.index()).is_some_and(|table| table.indexed < table.linear)
    }
}

/// A text that is scanned. What is read of it for every text lies together, what it has none of is an empty place there.
#[derive(Debug)]
#[repr(C)]
pub struct SubjectIndex {
    /// The source of the text.
    pub operand: Operand,
    /// The number of the scanner's first literal; the others follow.
    pub first: u32,
    /// The attribute of the text in its one form, whose class is told once it is folded where it is scanned;
    /// [`SubjectIndex::NONE`] for none.
    pub attribute: u32,
    /// The forms in which it is scanned, where they differ.
    pub forms: SmallVec<[TextForm; 1]>,
    /// True when some literal answers a predicate only where it was found in the text as it came.
    pub asks_own: bool,
    /// True when its one form folds the case and does nothing else: it is folded where it is scanned, and not kept.
    pub folds_in_place: bool,
    /// The literals that must stand at an edge.
    pub starts: Option<Box<Edges>>,
    pub ends: Option<Box<Edges>>,
    /// Finds the others.
    pub scanner: Scanner,
}

impl SubjectIndex {
    /// No attribute.
    pub const NONE: u32 = u32::MAX;

    /// True when a text is known to be prepared in a form as it came; not asked where nothing depends on it.
    #[inline]
    pub fn is_own(&self, form: &TextForm, prepared: &[u8], text: &str) -> bool {
        self.asks_own && form.mode.form == Form::None && prepared == text.as_bytes()
    }
}

/// The way the literals found in a text tell the answer of a predicate.
#[derive(Clone, Copy, Debug)]
pub struct LiteralAnswer {
    /// The subject; [`LiteralAnswer::NONE`] has one that there is not.
    pub subject: u32,
    /// The literals needed, in [`Index::numbers`].
    pub start: u32,
    pub end: u32,
    /// True when what is needed is also enough.
    pub exact: bool,
    /// True when it must be found in the text as it came for that.
    pub plain: bool,
}

impl LiteralAnswer {
    /// The literals tell nothing.
    pub const NONE: LiteralAnswer =
        LiteralAnswer { subject: u32::MAX, start: 0, end: 0, exact: false, plain: false };
}

/// A form in which a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextForm {
    /// The mode in which it is prepared.
    pub mode: TextMode,
    /// The number under which the decision keeps it prepared; [`UNKEPT`](rulec_base::text::prepared::UNKEPT) for a text read as it is.
    pub text: u32,
}

/// A value that is looked up.
#[derive(Debug)]
pub struct AttributeIndex {
    /// The source of the value.
    pub operand: Operand,
    /// The form in which its texts are prepared.
    pub form: TextForm,
    pub classes: Classes,
    /// The keys of each class.
    pub keys: Lists,
    /// The texts among a list's elements that are keys, numbered.
    pub elements: Texts,
    /// The keys of each of them.
    pub element_keys: Lists,
}

/// Something that a message holds or not, and which routes it may lead to.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub table: u32,
    /// The routes, in [`TableIndex::lists`].
    pub posting: u32,
}

#[derive(Debug, Default)]
pub struct TableIndex {
    /// The routes that have keys, by key.
    pub lists: Vec<PostingList>,
    /// The postings of the short lists, one behind the other.
    pub postings: Vec<Posting>,
    /// The routes without keys.
    pub residual: Bitmap,
    /// The subjects in which its keys are looked for.
    pub subjects: Vec<u32>,
    /// The attributes through which its keys are looked for.
    pub attributes: Vec<u32>,
    /// Both by the slot whose value they read, in place of those above, where they are so many that most messages lack most.
    pub by_slot: Option<(Lists, Lists)>,
    /// The cost of a decision that tries the routes one by one: a guess in nanoseconds.
    pub linear: f64,
    /// The cost of a decision with the index.
    pub indexed: f64,
    /// The number of its first routes: where most messages are for one of them, these are tried before anything is looked up.
    pub first: u32,
}

impl TableIndex {
    /// The postings of a short list.
    #[inline]
    pub fn postings(&self, start: u32, end: u32) -> &[Posting] {
        self.postings.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// The routes of a key.
#[derive(Debug)]
pub enum PostingList {
    /// Some of [`TableIndex::postings`], their ranks ascending.
    Range { start: u32, end: u32 },
    /// Many, which bits narrow down.
    Bitmap(Box<Bitmap>),
}

/// A route under a key. One with alternatives stands there for each of them.
#[derive(Clone, Copy, Debug)]
pub struct Posting {
    pub rank: u32,
    /// The guards that rule it out without its condition being tried.
    pub guards: [Guard; 2],
}

/// A route holds only for messages whose value has a class from `from` to below `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// The attribute through which the value is looked at; [`Guard::NONE`] has an attribute that there is not.
    pub attribute: u32,
    pub from: Class,
    pub to: Class,
}

impl Guard {
    /// Rules nothing out.
    pub const NONE: Guard = Guard { attribute: u32::MAX, from: 0, to: u32::MAX };
}

/// Short lists one behind the other, numbered.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// That many lists, of the items given with their list's number.
    pub fn new(count: usize, mut items: Vec<(u32, u32)>) -> Lists {
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
        Lists { ends, items: items.into_iter().map(|(_, item)| item).collect() }
    }

    /// The list of that number.
    #[inline]
    pub fn get(&self, list: u32) -> &[u32] {
        let list = list as usize;
        let start = if list == 0 { 0 } else { self.ends.get(list - 1).copied().unwrap_or(0) };
        let end = self.ends.get(list).copied().unwrap_or(start);
        self.items.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The items of all lists.
    pub fn all(&self) -> &[u32] {
        &self.items
    }

    /// True when all lists are empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
