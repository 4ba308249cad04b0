//! The memory that a decision's values are built in, and the one place that holds them against the limits: every
//! engine computes with it, so that all agree on what is too large.

use crate::limits::{COUNT, Exceeded, Limit, Limits, TABLE, VALUES_IN_QUANTIFIERS};
use crate::value::Value;
use bumpalo::Bump;
use bumpalo::collections::String as BumpString;
use std::cell::Cell;

/// The memory kept from one decision to the next, in bytes; what a decision took beyond it is given back.
const KEPT: usize = 1 << 20;

/// The arena of a decision.
#[derive(Debug, Default)]
pub struct Arena {
    bump: Bump,
    limits: Limits,
    /// The number of times that the value at hand is computed anew, at most: the product of the lengths of the
    /// lists that the quantifiers around it walk, and the `each` blocks of a payload.
    repeats: Cell<Repeats>,
    /// The `each` blocks around: everything in them is computed anew for each element.
    blocks: Cell<Blocks>,
    /// True when a limit was exceeded.
    is_exceeded: Cell<bool>,
    /// For each limit the greatest amount beyond it, and what was allowed; 0 when none was.
    exceeded: [Cell<(u64, u64)>; COUNT],
}

#[derive(Clone, Copy, Debug)]
struct Repeats(u64);

impl Default for Repeats {
    fn default() -> Repeats {
        Repeats(1)
    }
}

/// The `each` blocks of a payload around what is computed: how many, and the product of the lengths of their lists.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocks {
    depth: u32,
    repeats: Repeats,
}

impl Arena {
    /// An empty arena under these limits.
    pub fn new(limits: &Limits) -> Arena {
        Arena { limits: *limits, ..Arena::default() }
    }

    /// Empties the arena for a decision under these limits.
    #[inline]
    pub fn begin(&mut self, limits: &Limits) {
        empty(&mut self.bump);
        self.limits = *limits;
        self.stand_in(Blocks::default());
        if self.is_exceeded.replace(false) {
            self.exceeded.iter().for_each(|cell| cell.set((0, 0)));
        }
    }

    /// The memory itself, for values that no limit holds for.
    #[inline]
    pub fn bump(&self) -> &Bump {
        &self.bump
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// True when a limit was exceeded.
    #[inline]
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    /// The limits that were exceeded.
    pub fn exceeded(&self) -> Vec<Exceeded> {
        let rows = TABLE.iter().zip(&self.exceeded);
        let all = rows.map(|(row, cell)| (row.limit, cell.get()));
        let beyond = all.filter(|(_, (amount, _))| *amount > 0);
        beyond.map(|(limit, (amount, most))| Exceeded { limit, amount, most }).collect()
    }

    /// Does work, and returns a limit that it exceeds.
    pub fn listening<T>(&self, work: impl FnOnce() -> T) -> (T, Option<Exceeded>) {
        let before: Vec<(u64, u64)> = self.exceeded.iter().map(|cell| cell.replace((0, 0))).collect();
        let made = work();
        let beyond = self.exceeded().into_iter().next();
        for (cell, before) in self.exceeded.iter().zip(before) {
            cell.set(cell.get().max(before));
        }
        (made, beyond)
    }

    /// True when something is computed anew for each element of a list.
    #[inline]
    pub fn is_repeated(&self) -> bool {
        self.repeats.get().0 != 1
    }

    /// Goes over so many elements in a quantifier of a nest of that depth, unless they are too many. Returns
    /// what [`Arena::leave`] wants back. A quantifier that is `alone` does not depend on those around it.
    #[inline]
    pub fn enter(&self, nest: u32, alone: bool, elements: usize) -> Option<Walk> {
        let (elements, blocks, outer) = (elements as u64, self.blocks.get(), self.repeats.get());
        self.walks(nest.saturating_add(blocks.depth), elements)?;
        let around = if alone { blocks.repeats.0 } else { outer.0 };
        self.repeats.set(Repeats(around.saturating_mul(elements)));
        Some(Walk(outer))
    }

    /// The blocks around each of so many elements of an `each`, in which others nest so deep, itself counted;
    /// `None` when they are too many.
    pub fn inside_each(&self, nest: u32, elements: usize) -> Option<Blocks> {
        let (elements, Blocks { depth, repeats }) = (elements as u64, self.blocks.get());
        self.walks(nest.saturating_add(depth), elements)?;
        let repeats = Repeats(repeats.0.saturating_mul(elements));
        Some(Blocks { depth: depth.saturating_add(1), repeats })
    }

    /// The `each` blocks around.
    pub fn blocks(&self) -> Blocks {
        self.blocks.get()
    }

    /// Goes on inside these blocks.
    pub fn stand_in(&self, blocks: Blocks) {
        self.blocks.set(blocks);
        self.repeats.set(blocks.repeats);
    }

    /// Something when a list in a nest of that depth may have so many elements.
    #[inline]
    fn walks(&self, nest: u32, elements: u64) -> Option<()> {
        let product = elements.checked_pow(nest);
        if product.is_some_and(|product| product <= self.limits.of(Limit::QuantifierElements)) {
            return Some(());
        }
        self.exceed(Limit::QuantifierElements, elements, self.limits.elements(nest));
        None
    }

    /// Ends a walk over elements.
    #[inline]
    pub fn leave(&self, walk: Walk) {
        self.repeats.set(walk.0);
    }

    /// Begins to compute what depends on no element, and is computed once.
    #[inline]
    pub fn step_out(&self) -> Walk {
        Walk(self.repeats.replace(self.blocks.get().repeats))
    }

    /// True when an amount is within a limit; else it is reported.
    #[inline]
    pub fn allows(&self, limit: Limit, amount: u64) -> bool {
        let most = self.limits.of(limit);
        if amount > most {
            self.exceed(limit, amount, most);
        }
        amount <= most
    }

    /// True when work of this size, done for each element of the quantifiers around, is within a limit.
    #[inline]
    pub fn affords(&self, limit: Limit, work: u64) -> bool {
        self.allows(limit, work.saturating_mul(self.repeats.get().0))
    }

    /// True when a text may be analysed by what takes so much work for each of its bytes.
    pub fn analyses(&self, text: &str, work: u64) -> bool {
        let bytes = text.len() as u64;
        self.allows(Limit::RequestBytes, bytes) && self.allows(Limit::RequestWork, bytes.saturating_mul(work))
    }

    /// The most work of a kind that each time what is computed here may do.
    pub fn left(&self, limit: Limit) -> u64 {
        self.limits.of(limit) / self.repeats.get().0.max(1)
    }

    /// True when a value of so many bytes may be built here.
    pub fn builds(&self, bytes: u64) -> bool {
        let most = self.most_bytes();
        if bytes > most {
            self.exceed(Limit::ValueBytes, bytes, most);
        }
        bytes <= most
    }

    /// The most bytes that a value which is built here may have.
    fn most_bytes(&self) -> u64 {
        let most = self.limits.of(Limit::ValueBytes);
        most.min(most.saturating_mul(VALUES_IN_QUANTIFIERS) / self.repeats.get().0.max(1))
    }

    /// Builds a text of so many bytes; it is missing when they are too many.
    pub fn text<'a>(&'a self, bytes: usize, build: impl FnOnce(&mut BumpString<'a>)) -> Value<'a> {
        if !self.builds(bytes as u64) {
            return Value::Missing;
        }
        let mut made = BumpString::with_capacity_in(bytes, &self.bump);
        build(&mut made);
        Value::Str(made.into_bump_str())
    }

    /// Collects characters into a text of about so many bytes; it is missing when it has too many.
    pub fn collect_text(&self, about: usize, chars: impl Iterator<Item = char>) -> Value<'_> {
        let most = self.most_bytes();
        let mut made = BumpString::with_capacity_in(about.min(most as usize), &self.bump);
        let mut bytes = 0;
        for c in chars {
            bytes += c.len_utf8() as u64;
            if bytes <= most {
                made.push(c);
            }
        }
        if self.builds(bytes) { Value::Str(made.into_bump_str()) } else { Value::Missing }
    }

    /// Builds a list; it is missing when it is too large.
    pub fn list<'a>(&'a self, items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
        match self.collect(items, |item| item.as_str().map_or(0, str::len)) {
            Some(list) => Value::List(list),
            None => Value::Missing,
        }
    }

    /// Collects items, each of so many bytes beside the 8 for itself; `None` when they are too large.
    pub fn collect<T: Copy>(
        &self,
        items: impl IntoIterator<Item = T>,
        bytes: impl Fn(&T) -> usize,
    ) -> Option<&[T]> {
        let most = self.most_bytes();
        let (mut list, mut size) = (bumpalo::collections::Vec::new_in(&self.bump), 0);
        for item in items {
            size += 8 + bytes(&item) as u64;
            if size > most {
                self.exceed(Limit::ValueBytes, size, most);
                return None;
            }
            list.push(item);
        }
        Some(list.into_bump_slice())
    }

    #[cold]
    fn exceed(&self, limit: Limit, amount: u64, most: u64) {
        self.is_exceeded.set(true);
        let cell = &self.exceeded[limit as usize];
        if amount > cell.get().0 {
            cell.set((amount, most));
        }
    }
}

/// The state around a walk over elements.
#[must_use]
pub struct Walk(Repeats);

/// Empties an arena, and gives back what is much.
pub fn empty(bump: &mut Bump) {
    if bump.allocated_bytes() > KEPT { *bump = Bump::new() } else { bump.reset() }
}
