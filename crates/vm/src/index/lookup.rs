//! Finds the first matching route of a message with the index. First, all keys (facts such as a
//! literal in a text) of the message are looked up. Second, the conditions of the routes with these
//! keys are evaluated, except routes after the best match so far. Last, the candidates of the
//! residual bitmap (routes without keys) are evaluated.
//!
//! The lookup handles keys, postings and bitmaps. The caller implements [`IndexEngine`], which
//! provides the values of the message and evaluates conditions.

mod keys;
#[cfg(test)]
mod tests;
mod verdicts;

use super::bitmap::{Bitmap, MAX_COLUMNS, WORDS_PER_CHUNK};
use super::scan::ScanBuffers;
use super::{Index, Posting, PostingList, TableIndex};
use crate::bytecode::chunk::{Operand, RuleCode};
use crate::bytecode::fields::FieldLookup;
use rulec_base::broken_invariant;
use rulec_base::text::PreparedTexts;
use rulec_lang::value::{Value, grow_to_len};
use rulec_sema::hir::{SlotId, TableId};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::ops::Range;

/// The engine that uses the index: it provides the message's values and evaluates conditions.
pub trait IndexEngine<'a> {
    fn operand_value(&mut self, operand: Operand) -> Value<'a>;

    fn slot_ref(&mut self, slot: SlotId) -> &Value<'a>;

    /// Reads slots (fields that rules read) by iterating over the fields of the message. Appends
    /// the ids of slots that have a value to `into`.
    fn read_present_slots(&mut self, fields: &FieldLookup, into: &mut Vec<u32>);

    fn prepared_texts(&mut self) -> &mut PreparedTexts;

    /// True if the condition of the route at a rank (position) of a table is true.
    fn verify_route(&mut self, table: TableId, rank: u32) -> bool;

    /// Like `verify_route`, with the code of the route.
    fn verify_route_code(&mut self, table: TableId, rank: u32, code: RuleCode) -> bool;

    /// Evaluates the routes in a range of ranks (positions in the table) one after another. Returns
    /// the rank of the first route that matches; `None` if no route matches.
    fn first_match_in_order(&mut self, table: TableId, ranks: Range<u32>) -> Option<u32>;
}

/// Working memory for lookups, reused between decisions. Each cell contains the epoch (number) of
/// the decision that wrote it, so no cell needs clearing.
#[derive(Debug, Default)]
pub struct LookupBuffers {
    /// Numbers of literals, keys, subjects and attributes of the last index, for which the buffers
    /// have room.
    sizes: [usize; 4],
    /// For each literal id, the epoch (number) of the last decision that found the literal in its
    /// message.
    literal_epochs: Vec<Cell<u32>>,
    /// For each key, the epoch (number) of the last decision whose message had the key.
    key_epochs: Vec<Cell<u32>>,
    /// For each subject (text of the message), the epoch (number) of the last decision that scanned
    /// the text. The two lowest bits are flags about the scan.
    subject_epochs: Vec<Cell<u32>>,
    /// For each attribute (value of the message), the epoch (number) of the last decision that
    /// determined the value's class, and this class.
    attribute_classes: Vec<Cell<(u32, u32)>>,
    /// For each attribute (value of the message), the epoch (number) of the last decision that
    /// looked up the value's keys.
    attribute_epochs: Vec<Cell<u32>>,
    /// Ids of the keys (facts by which routes are found) that a decision found. The field
    /// `found_keys_epoch` has the number of this decision.
    found_key_ids: RefCell<Vec<u32>>,
    /// Working memory for the ids of slots that have a value in the message.
    present_slot_ids: RefCell<Vec<u32>>,
    scan_buffers: RefCell<ScanBuffers>,
    /// Epoch (number) of the decision whose keys are in `found_key_ids`.
    found_keys_epoch: Cell<u32>,
    /// Score of how often recent messages matched one of a table's first routes. A decision with
    /// such a match adds one, any other subtracts two. From [`MIN_FIRST_ROUTES_SCORE`] on, the
    /// first routes are tried before any lookup.
    first_routes_score: Cell<u8>,
}

/// Flag in an entry of [`LookupBuffers::subject_epochs`], for one scanned text: the scanned
/// (normalized) form equals the text in the message.
const UNCHANGED_TEXT_FLAG: u32 = 1;
/// Flag in an entry of [`LookupBuffers::subject_epochs`], for one scanned text: the text was
/// scanned in one normalized form only.
const SINGLE_FORM_FLAG: u32 = 2;

/// Factor that separates near from far ranks. If none of a table's first `n` routes matches, the
/// routes below rank `NEAR_RANK_FACTOR * n` are looked up next, and then the routes after them.
/// Measured in benches/notes/access-paths.md, "First routes".
const NEAR_RANK_FACTOR: u32 = 8;
/// Score ([`LookupBuffers::first_routes_score`]) from which a table's first routes are tried before
/// any lookup.
/// Measured in benches/notes/access-paths.md, "First routes".
const MIN_FIRST_ROUTES_SCORE: u8 = 8;
/// Maximum of the score [`LookupBuffers::first_routes_score`]. From the maximum, three decisions
/// that match other routes lower the score below [`MIN_FIRST_ROUTES_SCORE`]. Measured in
/// benches/notes/access-paths.md, "First routes".
const MAX_FIRST_ROUTES_SCORE: u8 = 12;

impl LookupBuffers {
    /// Starts the lookups of a decision. `epoch` is the decision's number. It is a multiple of
    /// four, because the buffers store it with flags in its two lowest bits.
    #[inline]
    pub fn begin_decision<'a>(&'a mut self, index: &'a Index, epoch: u32) -> IndexLookup<'a> {
        let sizes = [
            index.literal_count as usize,
            index.key_count as usize,
            index.subjects.len(),
            index.attributes.len(),
        ];
        if self.sizes != sizes {
            self.grow(sizes);
        }
        IndexLookup { index, buffers: self, epoch }
    }

    /// Makes room for an index with these numbers of literals, keys, subjects and attributes.
    #[cold]
    fn grow(&mut self, sizes: [usize; 4]) {
        let [literals, keys, subjects, attributes] = sizes;
        grow_to_len(&mut self.literal_epochs, literals);
        grow_to_len(&mut self.key_epochs, keys);
        grow_to_len(&mut self.subject_epochs, subjects);
        grow_to_len(&mut self.attribute_classes, attributes);
        grow_to_len(&mut self.attribute_epochs, attributes);
        self.sizes = sizes;
    }

    /// Clears the decision numbers (epochs) in all entries of the buffers, so that no entry counts
    /// as written by a decision.
    pub fn clear_epochs(&mut self) {
        for stamps in [
            &mut self.literal_epochs,
            &mut self.key_epochs,
            &mut self.subject_epochs,
            &mut self.attribute_epochs,
        ] {
            stamps.iter_mut().for_each(|stamp| stamp.set(0));
        }
        self.attribute_classes.iter_mut().for_each(|cell| cell.set((0, 0)));
        self.found_keys_epoch.set(0);
    }
}

/// The index of a rule set together with the working memory of one decision, which looks up the
/// routes that may match.
#[derive(Clone, Copy, Debug)]
pub struct IndexLookup<'a> {
    index: &'a Index,
    buffers: &'a LookupBuffers,
    epoch: u32,
}

impl<'a> IndexLookup<'a> {
    /// True if decisions by this table use the index; see [`Index::is_used_for_table`].
    #[inline]
    pub fn is_used_for_table(&self, table: TableId, always: bool) -> bool {
        self.index.is_used_for_table(table, always)
    }

    /// Returns the rank (position) of the first matching route of a table within a range of ranks;
    /// `None` if no route in the range matches.
    pub fn first_matching_rank<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        table: TableId,
        mut ranks: Range<u32>,
    ) -> Option<u32> {
        let table_index = self.index.tables.get(table.index())?;
        let first_routes_score = self.buffers.first_routes_score.get();
        let mut hit = None;
        if ranks.start == 0 && first_routes_score >= MIN_FIRST_ROUTES_SCORE {
            ranks.start = table_index.first_route_count.min(ranks.end);
            hit = engine.first_match_in_order(table, 0..ranks.start);
            // Keys may lead to hundreds of routes of which one of the first tens matches. So near
            // ranks are looked up before far ones.
            let near_ranks = ranks.start..ranks.start.saturating_mul(NEAR_RANK_FACTOR).min(ranks.end);
            ranks.start = near_ranks.end;
            hit = hit.or_else(|| self.first_match_in_table(engine, table_index, table, near_ranks));
        }
        if hit.is_none() {
            hit = self.first_match_in_table(engine, table_index, table, ranks);
        }
        self.buffers.first_routes_score.set(match hit {
            Some(rank) if rank < table_index.first_route_count => {
                (first_routes_score + 1).min(MAX_FIRST_ROUTES_SCORE)
            }
            _ => first_routes_score.saturating_sub(2),
        });
        hit
    }

    fn first_match_in_table<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        table_index: &'a TableIndex,
        table: TableId,
        mut ranks: Range<u32>,
    ) -> Option<u32> {
        let keys = self.look_up_keys(engine, table_index);
        let mut best_hit = None;
        for list in table_index.posting_lists(&keys) {
            let hit = match *list {
                PostingList::Range { start, end } => {
                    let postings = table_index.postings(start, end);
                    self.first_match_in_postings(engine, table, postings, ranks.clone())
                }
                PostingList::Bitmap(bitmap) => {
                    let bitmap = table_index.bitmaps.get(bitmap as usize);
                    bitmap.and_then(|bitmap| self.first_match_in_bitmap(engine, table, bitmap, ranks.clone()))
                }
            };
            if let Some(rank) = hit {
                ranks.end = rank;
                best_hit = Some(rank);
            }
        }
        self.buffers.found_key_ids.replace(keys);
        if table_index.residual.route_ranks.is_empty() {
            return best_hit;
        }
        self.first_match_in_bitmap(engine, table, &table_index.residual, ranks).or(best_hit)
    }

    fn first_match_in_postings<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        table: TableId,
        postings: &[Posting],
        ranks: Range<u32>,
    ) -> Option<u32> {
        let first_posting = match ranks.start {
            0 => 0,
            start => postings.partition_point(|posting| posting.rank < start),
        };
        for posting in &postings[first_posting..] {
            if posting.rank >= ranks.end {
                return None;
            }
            if self.passes_guards(engine, posting)
                && engine.verify_route_code(table, posting.rank, posting.code)
            {
                return Some(posting.rank);
            }
        }
        None
    }

    /// True if the message passes all guards of a posting, an entry for a route in the list of a
    /// key. A guard requires that a value's equivalence class is within a range. If a guard fails,
    /// the route cannot match.
    #[inline]
    fn passes_guards<E: IndexEngine<'a>>(&self, engine: &mut E, posting: &Posting) -> bool {
        posting.guards().all(|guard| {
            (guard.first_class..guard.end_class).contains(&self.attribute_class(engine, guard.attribute_id))
        })
    }

    fn first_match_in_bitmap<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        table: TableId,
        bitmap: &'a Bitmap,
        ranks: Range<u32>,
    ) -> Option<u32> {
        let mut hit = None;
        self.visit_bitmap_candidates(engine, bitmap, ranks, |engine, rank| {
            let matches = engine.verify_route(table, rank);
            if matches {
                hit = Some(rank);
            }
            matches
        });
        hit
    }

    /// Calls `stop` with the rank (position in the table) of each route in the range that the
    /// bitmap does not exclude, in ascending order. When `stop` returns true, no further routes are
    /// visited.
    #[inline]
    fn visit_bitmap_candidates<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        bitmap: &'a Bitmap,
        ranks: Range<u32>,
        stop: impl FnMut(&mut E, u32) -> bool,
    ) {
        if !bitmap.block_first_ranks.is_empty() {
            return self.visit_block_candidates(engine, bitmap, ranks, stop);
        }
        if bitmap.route_ranks.first().is_none_or(|first| *first >= ranks.end) {
            return;
        }
        match bitmap.words_per_row() {
            1 => self.visit_chunk_candidates::<1, E>(engine, bitmap, ranks, stop),
            2 => self.visit_chunk_candidates::<2, E>(engine, bitmap, ranks, stop),
            4 => self.visit_chunk_candidates::<4, E>(engine, bitmap, ranks, stop),
            _ => self.visit_chunk_candidates::<WORDS_PER_CHUNK, E>(engine, bitmap, ranks, stop),
        }
    }

    /// Implements `visit_bitmap_candidates` for a bitmap whose routes are in the order of their
    /// ranks (positions in the table). The number of words in a row is a multiple of `N`.
    #[inline]
    fn visit_chunk_candidates<const N: usize, E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        bitmap: &'a Bitmap,
        Range { start: from, end: bound }: Range<u32>,
        mut stop: impl FnMut(&mut E, u32) -> bool,
    ) {
        let (ranks, words) = (&bitmap.route_ranks[..], bitmap.words_per_row());
        let mut visit_chunk = |engine: &mut E, start: usize, first_bit: usize, bits: [u64; N]| {
            for (word, mut bits) in bits.into_iter().enumerate() {
                while bits != 0 {
                    let bit_index = start + word * 64 + bits.trailing_zeros() as usize;
                    // Bits after the last route may be set if there is no column.
                    let Some(rank) = ranks.get(bit_index) else { return true };
                    if *rank >= bound || (bit_index >= first_bit && stop(engine, *rank)) {
                        return true;
                    }
                    bits &= bits - 1;
                }
            }
            false
        };
        let first_bit = if from == 0 { 0 } else { ranks.partition_point(|rank| *rank < from) };
        if words == N {
            let mut bits = [!0_u64; N];
            for column in &bitmap.columns {
                if bits == [0; N] {
                    return;
                }
                column.intersect_with_row(self.attribute_class(engine, column.attribute_id), &mut bits);
            }
            visit_chunk(engine, 0, first_bit, bits);
            return;
        }
        let mut rows = SmallVec::<[&[[u64; N]]; MAX_COLUMNS]>::new();
        for chunk in first_bit / (64 * N)..words / N {
            let start = chunk * 64 * N;
            match ranks.get(start) {
                Some(rank) if *rank < bound => {}
                _ => return,
            }
            let mut bits = [!0_u64; N];
            for row in &rows {
                intersect_chunk(&mut bits, row, chunk);
            }
            // A column is read only while there is a route left for it to rule out.
            while let Some(column) = bitmap.columns.get(rows.len())
                && bits != [0; N]
            {
                let row =
                    column.row_bits(self.attribute_class(engine, column.attribute_id), words).as_chunks().0;
                intersect_chunk(&mut bits, row, chunk);
                rows.push(row);
            }
            if visit_chunk(engine, start, first_bit, bits) {
                return;
            }
        }
    }

    /// Implements `visit_bitmap_candidates` for a bitmap whose routes are reordered within blocks
    /// (groups of routes). The candidates of a block are sorted by rank before they are visited.
    #[inline(never)]
    fn visit_block_candidates<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        bitmap: &'a Bitmap,
        ranks: Range<u32>,
        mut stop: impl FnMut(&mut E, u32) -> bool,
    ) {
        let (words, blocks) = (bitmap.words_per_row(), bitmap.block_first_ranks.len());
        let mut candidate_ranks = SmallVec::<[u32; 64]>::new();
        for (block, least) in bitmap.block_first_ranks.iter().enumerate() {
            if *least >= ranks.end {
                return;
            }
            let mut chunks = u64::MAX;
            for column in &bitmap.columns {
                let class = self.attribute_class(engine, column.attribute_id);
                chunks &= column.chunk_summary(class, blocks).get(block).copied().unwrap_or_default();
            }
            while chunks != 0 {
                let chunk = block * 64 + chunks.trailing_zeros() as usize;
                chunks &= chunks - 1;
                let mut bits = [!0_u64; WORDS_PER_CHUNK];
                for column in &bitmap.columns {
                    let row = column
                        .row_bits(self.attribute_class(engine, column.attribute_id), words)
                        .as_chunks()
                        .0;
                    intersect_chunk(&mut bits, row, chunk);
                }
                for (word, mut bits) in bits.into_iter().enumerate() {
                    while bits != 0 {
                        let bit_index =
                            (chunk * WORDS_PER_CHUNK + word) * 64 + bits.trailing_zeros() as usize;
                        candidate_ranks.extend(
                            bitmap.route_ranks.get(bit_index).copied().filter(|rank| ranks.contains(rank)),
                        );
                        bits &= bits - 1;
                    }
                }
            }
            candidate_ranks.sort_unstable();
            candidate_ranks.dedup();
            if candidate_ranks.drain(..).any(|rank| stop(engine, rank)) {
                return;
            }
        }
    }

    /// Returns the ranks (positions in the table) of all matching routes of a table, in ascending
    /// order.
    pub fn all_matching_ranks<E: IndexEngine<'a>>(&self, engine: &mut E, table: TableId) -> Vec<u32> {
        let Some(table_index) = self.index.tables.get(table.index()) else {
            broken_invariant!("the index covers every table");
            return Vec::new();
        };
        let keys = self.look_up_keys(engine, table_index);
        let mut candidates = Vec::new();
        for list in table_index.posting_lists(&keys) {
            match *list {
                PostingList::Range { start, end } => {
                    let passing_postings = table_index.postings(start, end).iter();
                    let passing_postings =
                        passing_postings.filter(|posting| self.passes_guards(engine, posting));
                    candidates.extend(passing_postings.map(|posting| posting.rank));
                }
                PostingList::Bitmap(bitmap) => {
                    if let Some(bitmap) = table_index.bitmaps.get(bitmap as usize) {
                        self.collect_bitmap_candidates(engine, bitmap, &mut candidates);
                    }
                }
            }
        }
        self.buffers.found_key_ids.replace(keys);
        self.collect_bitmap_candidates(engine, &table_index.residual, &mut candidates);
        candidates.sort_unstable();
        candidates.dedup();
        candidates.retain(|rank| engine.verify_route(table, *rank));
        candidates
    }

    fn collect_bitmap_candidates<E: IndexEngine<'a>>(
        &self,
        engine: &mut E,
        bitmap: &'a Bitmap,
        into: &mut Vec<u32>,
    ) {
        self.visit_bitmap_candidates(engine, bitmap, 0..u32::MAX, |_, rank| {
            into.push(rank);
            false
        });
    }
}

/// Clears the bits of `bits` that are not set in a chunk (`N` words) of a row. `chunk` is the
/// number of this chunk.
#[inline(always)]
fn intersect_chunk<const N: usize>(bits: &mut [u64; N], row: &[[u64; N]], chunk: usize) {
    match row.get(chunk) {
        Some(row) => bits.iter_mut().zip(row).for_each(|(bits, row)| *bits &= row),
        None => *bits = [0; N],
    }
}
