//! The arena: the memory for the values of one decision. All engines compute with an arena. Only
//! the arena compares values and work with the limits, so all engines apply the limits in the same
//! way.

use crate::limits::{COUNT, Exceeded, Limit, Limits, QUANTIFIER_VALUE_BYTES_FACTOR, TABLE};
use crate::value::Value;
use bumpalo::Bump;
use bumpalo::collections::String as BumpString;
use std::cell::Cell;

/// Maximum number of bytes that an arena keeps from one decision to the next. A larger arena is
/// freed, so that one large message does not take memory permanently.
const MAX_RETAINED_BYTES: usize = 1 << 20;

/// The memory for the values of one decision. Also holds the limits of the decision, and records
/// which limits were exceeded.
#[derive(Debug, Default)]
pub struct Arena {
    bump: Bump,
    limits: Limits,
    /// Upper bound for the number of times that the current expression is evaluated: the product of
    /// the list lengths of all enclosing quantifiers and `each` blocks (rules for each element of a
    /// list).
    repeats: Cell<RepeatCount>,
    /// The `each` blocks that enclose the current expression. The content of a block is evaluated
    /// for each element of the block's list.
    each_blocks: Cell<EachBlocks>,
    /// Whether the decision exceeded a limit.
    is_exceeded: Cell<bool>,
    /// For each limit, the greatest amount that exceeded the limit, and the allowed maximum. Both
    /// numbers are 0 if no amount exceeded the limit.
    exceeded_amounts: [Cell<(u64, u64)>; COUNT],
}

#[derive(Clone, Copy, Debug)]
struct RepeatCount(u64);

impl Default for RepeatCount {
    fn default() -> RepeatCount {
        RepeatCount(1)
    }
}

/// The `each` blocks (rules for each element of a list) of a payload that enclose an expression:
/// their number, and the product of their list lengths.
#[derive(Clone, Copy, Debug, Default)]
pub struct EachBlocks {
    block_count: u32,
    repeats: RepeatCount,
}

impl Arena {
    /// Creates an empty arena with the given limits.
    pub fn new(limits: &Limits) -> Arena {
        Arena { limits: *limits, ..Arena::default() }
    }

    /// Empties the arena for a new decision with the given limits.
    #[inline]
    pub fn begin_decision(&mut self, limits: &Limits) {
        reset_bump(&mut self.bump);
        self.limits = *limits;
        self.set_enclosing_blocks(EachBlocks::default());
        if self.is_exceeded.replace(false) {
            self.exceeded_amounts.iter().for_each(|cell| cell.set((0, 0)));
        }
    }

    /// Returns the underlying bump allocator, for values to which no limit applies.
    #[inline]
    pub fn bump(&self) -> &Bump {
        &self.bump
    }

    /// Returns the limits that apply to the decision.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// True if the decision exceeded a limit.
    #[inline]
    pub fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    /// Returns every limit that the decision exceeded, with the amount that was needed and the
    /// maximum that the limit allows.
    pub fn exceeded(&self) -> Vec<Exceeded> {
        let rows = TABLE.iter().zip(&self.exceeded_amounts);
        let amounts = rows.map(|(row, cell)| (row.limit, cell.get()));
        let exceeded = amounts.filter(|(_, (amount, _))| *amount > 0);
        exceeded.map(|(limit, (amount, maximum))| Exceeded { limit, amount, most: maximum }).collect()
    }

    /// Runs `evaluate` and returns its result. Also returns the first limit in the table of limits
    /// that `evaluate` exceeded, or `None` if it exceeded no limit.
    pub fn catch_exceeded<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Option<Exceeded>) {
        let earlier_amounts: Vec<(u64, u64)> =
            self.exceeded_amounts.iter().map(|cell| cell.replace((0, 0))).collect();
        let result = evaluate();
        let exceeded_limit = self.exceeded().into_iter().next();
        for (cell, earlier) in self.exceeded_amounts.iter().zip(earlier_amounts) {
            cell.set(cell.get().max(earlier));
        }
        (result, exceeded_limit)
    }

    /// True if the current expression is evaluated for each element of a list, because a quantifier
    /// or an `each` block encloses it.
    #[inline]
    pub fn is_repeated(&self) -> bool {
        self.repeats.get().0 != 1
    }

    /// Enters a quantifier over a list of `element_count` elements. `depth` is the length of the
    /// longest chain of nested quantifiers that contains this one; in a chain, each quantifier
    /// depends on the one around it. The longer the chain, the fewer elements are allowed.
    /// `is_independent` means that this quantifier reads no element of an enclosing quantifier. Its
    /// work is then not multiplied by the lengths of the enclosing lists. Pass the result to
    /// [`Arena::leave_quantifier`]. `None` if there are too many elements for this depth.
    #[inline]
    pub fn enter_quantifier(
        &self,
        depth: u32,
        is_independent: bool,
        element_count: usize,
    ) -> Option<SavedRepeats> {
        let (element_count, blocks, outer) =
            (element_count as u64, self.each_blocks.get(), self.repeats.get());
        self.check_quantifier_elements(depth.saturating_add(blocks.block_count), element_count)?;
        let outer_repeats = if is_independent { blocks.repeats.0 } else { outer.0 };
        self.repeats.set(RepeatCount(outer_repeats.saturating_mul(element_count)));
        Some(SavedRepeats(outer))
    }

    /// Returns the `each` blocks that enclose the content of a new `each` block: the current blocks
    /// and the new one. `element_count` is the length of the new block's list. `nesting` counts the
    /// nested `each` blocks and quantifiers from the new block inwards; it is 1 if the new block
    /// contains neither. `None` if there are too many elements.
    pub fn blocks_inside_each(&self, nesting: u32, element_count: usize) -> Option<EachBlocks> {
        let (element_count, EachBlocks { block_count, repeats }) =
            (element_count as u64, self.each_blocks.get());
        self.check_quantifier_elements(nesting.saturating_add(block_count), element_count)?;
        let repeats = RepeatCount(repeats.0.saturating_mul(element_count));
        Some(EachBlocks { block_count: block_count.saturating_add(1), repeats })
    }

    /// Returns the `each` blocks (rules for each element of a list) of a payload around the
    /// expression that is evaluated now: their number, and the product of their list lengths.
    pub fn enclosing_blocks(&self) -> EachBlocks {
        self.each_blocks.get()
    }

    /// Sets the `each` blocks (rules for each element of a list) of a payload around the
    /// expressions that are evaluated next. Limits then count the work of these expressions once
    /// for each repetition.
    pub fn set_enclosing_blocks(&self, blocks: EachBlocks) {
        self.each_blocks.set(blocks);
        self.repeats.set(blocks.repeats);
    }

    /// Checks the length of the list of a quantifier. `nesting` is the number of nested
    /// quantifiers: the length to the power of `nesting` must be within the limit. If the list is
    /// too long, records the exceeded limit and returns `None`.
    #[inline]
    fn check_quantifier_elements(&self, nesting: u32, element_count: u64) -> Option<()> {
        let product = element_count.checked_pow(nesting);
        if product.is_some_and(|product| product <= self.limits.get(Limit::QuantifierElements)) {
            return Some(());
        }
        self.record_exceeded(
            Limit::QuantifierElements,
            element_count,
            self.limits.max_elements_per_quantifier(nesting),
        );
        None
    }

    /// Leaves a quantifier. Restores the number of evaluations of the current expression, which
    /// [`Arena::enter_quantifier`] or [`Arena::suspend_quantifiers`] saved.
    #[inline]
    pub fn leave_quantifier(&self, saved: SavedRepeats) {
        self.repeats.set(saved.0);
    }

    /// Enters an expression that depends on no element of a quantifier. The expression is evaluated
    /// only once per element of the enclosing `each` blocks. Pass the result to
    /// [`Arena::leave_quantifier`].
    #[inline]
    pub fn suspend_quantifiers(&self) -> SavedRepeats {
        SavedRepeats(self.repeats.replace(self.each_blocks.get().repeats))
    }

    /// True if an amount is within a limit; otherwise records the limit as exceeded.
    #[inline]
    pub fn allows(&self, limit: Limit, amount: u64) -> bool {
        let maximum = self.limits.get(limit);
        if amount > maximum {
            self.record_exceeded(limit, amount, maximum);
        }
        amount <= maximum
    }

    /// True if this amount of work, repeated for each element of the enclosing quantifiers, is
    /// within a limit. Otherwise records the limit as exceeded.
    #[inline]
    pub fn is_within_budget(&self, limit: Limit, work: u64) -> bool {
        self.allows(limit, work.saturating_mul(self.repeats.get().0))
    }

    /// True if the analysis of a text, such as finding its intent and its urgency, is within the
    /// limits. `work` is the amount of work per byte of the text.
    pub fn allows_text_analysis(&self, text: &str, work: u64) -> bool {
        let bytes = text.len() as u64;
        self.allows(Limit::RequestBytes, bytes) && self.allows(Limit::RequestWork, bytes.saturating_mul(work))
    }

    /// Returns the share of a limit that one evaluation of the current expression may use: the
    /// limit divided by the number of evaluations.
    pub fn limit_per_repetition(&self, limit: Limit) -> u64 {
        self.limits.get(limit) / self.repeats.get().0.max(1)
    }

    /// True if a value of this number of bytes may be built; otherwise records the limit as
    /// exceeded.
    pub fn allows_value_bytes(&self, bytes: u64) -> bool {
        let maximum = self.max_value_bytes();
        if bytes > maximum {
            self.record_exceeded(Limit::ValueBytes, bytes, maximum);
        }
        bytes <= maximum
    }

    /// Returns the limit for the size in bytes of one value, such as a joined text. The limit is
    /// lower inside loops, where a value is built for each element.
    fn max_value_bytes(&self) -> u64 {
        let maximum = self.limits.get(Limit::ValueBytes);
        maximum.min(maximum.saturating_mul(QUANTIFIER_VALUE_BYTES_FACTOR) / self.repeats.get().0.max(1))
    }

    /// Builds a text of `bytes` bytes in the arena; `build` writes its content. Returns
    /// [`Value::Missing`], without a call of `build`, if the text is too long.
    pub fn build_text<'a>(&'a self, bytes: usize, build: impl FnOnce(&mut BumpString<'a>)) -> Value<'a> {
        if !self.allows_value_bytes(bytes as u64) {
            return Value::Missing;
        }
        let mut text = BumpString::with_capacity_in(bytes, &self.bump);
        build(&mut text);
        Value::Str(text.into_bump_str())
    }

    /// Collects characters into a text; returns [`Value::Missing`] if the text is too long.
    /// `estimated_bytes` is the estimated length in bytes.
    pub fn collect_text(&self, estimated_bytes: usize, chars: impl Iterator<Item = char>) -> Value<'_> {
        let maximum = self.max_value_bytes();
        let mut text = BumpString::with_capacity_in(estimated_bytes.min(maximum as usize), &self.bump);
        let mut bytes = 0;
        for c in chars {
            bytes += c.len_utf8() as u64;
            if bytes <= maximum {
                text.push(c);
            }
        }
        if self.allows_value_bytes(bytes) { Value::Str(text.into_bump_str()) } else { Value::Missing }
    }

    /// Builds a list; returns [`Value::Missing`] if it is too large.
    pub fn build_list<'a>(&'a self, items: impl IntoIterator<Item = Value<'a>>) -> Value<'a> {
        match self.collect_slice(items, |item| item.as_str().map_or(0, str::len)) {
            Some(list) => Value::List(list),
            None => Value::Missing,
        }
    }

    /// Collects items into a slice; returns `None` if they are too large in total. `content_bytes`
    /// returns the size of an item's content; 8 bytes are added for each item.
    pub fn collect_slice<T: Copy>(
        &self,
        items: impl IntoIterator<Item = T>,
        content_bytes: impl Fn(&T) -> usize,
    ) -> Option<&[T]> {
        let maximum = self.max_value_bytes();
        let (mut list, mut size) = (bumpalo::collections::Vec::new_in(&self.bump), 0);
        for item in items {
            size += 8 + content_bytes(&item) as u64;
            if size > maximum {
                self.record_exceeded(Limit::ValueBytes, size, maximum);
                return None;
            }
            list.push(item);
        }
        Some(list.into_bump_slice())
    }

    #[cold]
    fn record_exceeded(&self, limit: Limit, amount: u64, maximum: u64) {
        self.is_exceeded.set(true);
        let cell = &self.exceeded_amounts[limit as usize];
        if amount > cell.get().0 {
            cell.set((amount, maximum));
        }
    }
}

/// The number of times that the expression around a quantifier is evaluated. Saved when the
/// quantifier begins; [`Arena::leave_quantifier`] restores the number.
#[must_use]
pub struct SavedRepeats(RepeatCount);

/// Empties the memory of an arena. Frees the memory if it is larger than `MAX_RETAINED_BYTES`.
#[inline]
pub fn reset_bump(bump: &mut Bump) {
    if bump.allocated_bytes() > MAX_RETAINED_BYTES { *bump = Bump::new() } else { bump.reset() }
}
