//! A bitmap index: excludes many routes at once by the values of a message.
//!
//! An *attribute* is a value that conditions read, grouped into equivalence classes. For each
//! attribute that enough routes read, the index has one bit per route and class. The bit is set
//! unless the class excludes the route. Intersecting the bits of the message's classes leaves the
//! candidate routes, whose whole conditions must be evaluated.
//!
//! The contract: a route whose condition is true is never excluded. It is always correct not to
//! exclude a route.

use super::attribute::ClassId;
use super::ranges::{ClassRanges, ValueRanges};
use std::ops::Range;

/// A bitmap index of some routes, with a column for each attribute (a message value). A column
/// consists of rows, and each route has one bit in every row.
#[derive(Clone, Debug, Default)]
pub struct Bitmap {
    /// For each bit, the rank of its route (the position in the table). A route whose condition is
    /// split into alternatives has several bits.
    ///
    /// The ranks ascend if `block_first_ranks` is empty. Otherwise the routes are reordered within
    /// blocks of `ROUTES_PER_BLOCK` bits. All ranks of a block are less than the ranks of the next
    /// block.
    pub route_ranks: Vec<u32>,
    pub columns: Vec<Column>,
    /// For each block (a group of bits within which the routes are reordered), the lowest rank
    /// (position in the table) of its routes. Empty if the routes are in the order of their ranks.
    pub block_first_ranks: Vec<u32>,
}

/// The bits of one attribute (a message value). A column has several rows. Each row is for a range
/// of the value's equivalence classes. A row has a bit for each route, which is set if the route
/// may match these classes.
#[derive(Clone, Debug)]
pub struct Column {
    pub attribute_id: u32,
    /// For each row, the first class of its range of equivalence classes; 0 for the first row.
    row_starts: Vec<ClassId>,
    /// For each equivalence class of values, the number of the row for it. To limit the memory, the
    /// list may lack the highest classes; the rows of these classes are found by a search in
    /// `row_starts`.
    row_by_class: Box<[u8]>,
    /// The bits of all rows of the column, one row after another: one bit per route, 64 per word.
    all_row_bits: Vec<u64>,
    /// Summary of the rows, by which a lookup skips words without candidates. Each row has one
    /// summary word per block of `ROUTES_PER_BLOCK` routes. A bit of this word is set if any bit of
    /// the corresponding chunk (`WORDS_PER_CHUNK` words of the row) is set. Empty if there are no
    /// blocks.
    chunk_summaries: Vec<u64>,
}

/// Maximum number of rows of a column, so that a row number fits into a byte. A row has the bits
/// for a range of values. Surplus rows are merged with their neighbours. In measurements, more rows
/// ruled out no further route.
///
/// Measured in benches/notes/bitmap-residual.md, "A million routes".
const MAX_COLUMN_ROWS: usize = 256;
/// Minimum fraction of the routes that must read an attribute (a message value) to give it a column
/// (bits in the index): one in this number. Any other column would exclude too few routes.
/// Compared with other values in benches/notes/constants.md.
const MAX_ROUTES_PER_READER: usize = 50;
/// Maximum number of columns (bits for one message value each) of a bitmap index. More columns
/// would cost more time than they save.
/// Compared with other values in benches/notes/constants.md.
pub const MAX_COLUMNS: usize = 12;

/// Number of routes in a block, within which routes may be reordered. In the summary of a row, each
/// block has one 64-bit word, with one bit per chunk of [`WORDS_PER_CHUNK`] words.
///
/// Measured in benches/notes/bitmap-residual.md, "A million routes".
const ROUTES_PER_BLOCK: usize = 64 * WORDS_PER_CHUNK * 64;
/// Minimum number of routes for which a bitmap reorders routes, so that similar routes are
/// adjacent. With fewer routes, most chunks (groups of words) contain a candidate in any order.
///
/// Measured in benches/notes/bitmap-residual.md, "A million routes".
const MIN_SORTED_ROUTES: usize = ROUTES_PER_BLOCK / 2;
/// Minimum ratio of the number of rows in a column to the average number of these rows that include
/// one route. A row covers a range of values, and includes the routes that may match them. With a
/// lower ratio, routes are not sorted: in any order, many routes of a block would remain
/// candidates.
///
/// Measured in benches/notes/bitmap-residual.md, "A million routes".
const MIN_ROWS_PER_PASSING_ROW: usize = 8;

impl Bitmap {
    /// Builds the bitmap. Each element of `routes` has the rank of a route (its position in the
    /// table), and the value ranges of an alternative of its condition. The routes are in the order
    /// of their ranks.
    pub fn new(routes: &[(u32, ValueRanges)]) -> Bitmap {
        let unsorted = Bitmap::build_unsorted(routes);
        if routes.len() < MIN_SORTED_ROUTES {
            return unsorted;
        }
        // Routes that the same values rule out are placed next to each other, so that few chunks
        // have a candidate for a message.
        let mut keyed_routes: Vec<_> =
            routes.iter().map(|route| (unsorted.sort_key_of_route(&route.1), route)).collect();
        let percent_sum: usize = keyed_routes.iter().map(|(place, _)| place.row_percent).sum();
        if percent_sum * MIN_ROWS_PER_PASSING_ROW > 100 * routes.len() {
            return unsorted;
        }
        keyed_routes.chunks_mut(ROUTES_PER_BLOCK).for_each(|block| {
            block.sort_by_key(|(place, _)| (place.column_index, place.first_row, place.last_row))
        });
        let sorted_routes: Vec<(u32, ValueRanges)> =
            keyed_routes.into_iter().map(|(_, route)| route.clone()).collect();
        let mut sorted_bitmap = Bitmap::build_unsorted(&sorted_routes);
        sorted_bitmap.block_first_ranks =
            routes.iter().step_by(ROUTES_PER_BLOCK).map(|(rank, _)| *rank).collect();
        let words = sorted_bitmap.words_per_row();
        sorted_bitmap.columns.iter_mut().for_each(|column| column.build_chunk_summary(words));
        sorted_bitmap
    }

    /// Returns the sort key of a route: the column in which the fewest rows include the route, and
    /// the first and last of these rows. A column has the bits of one attribute.
    fn sort_key_of_route(&self, ranges: &ValueRanges) -> SortKey {
        let attribute_sort_key = |(attribute, ranges): &(u32, ClassRanges)| {
            let column_index = self.columns.iter().position(|column| column.attribute_id == *attribute)?;
            let column = &self.columns[column_index];
            let row_ranges = || ranges.iter().map(|(from, to)| row_range(&column.row_starts, *from, *to));
            let row_percent = row_ranges().map(|rows| rows.len()).sum::<usize>() * 100 / column.row_count();
            let (first, last) =
                (row_ranges().map(|rows| rows.start).min()?, row_ranges().map(|rows| rows.end).max()?);
            Some(SortKey { row_percent, column_index, first_row: first, last_row: last })
        };
        let unlimited =
            SortKey { row_percent: 100, column_index: self.columns.len(), first_row: 0, last_row: 0 };
        ranges
            .iter()
            .filter_map(attribute_sort_key)
            .min_by_key(|place| place.row_percent)
            .unwrap_or(unlimited)
    }

    /// Builds the bitmap with the routes in the order of their ranks (positions in the table).
    fn build_unsorted(routes: &[(u32, ValueRanges)]) -> Bitmap {
        let ranks: Vec<u32> = routes.iter().map(|(rank, _)| *rank).collect();
        let mut route_counts: Vec<(u32, usize)> = Vec::new();
        for (attribute, _) in routes.iter().flat_map(|(_, ranges)| ranges) {
            match route_counts.iter_mut().find(|(known, _)| known == attribute) {
                Some((_, count)) => *count += 1,
                None => route_counts.push((*attribute, 1)),
            }
        }
        route_counts.retain(|(_, count)| count * MAX_ROUTES_PER_READER >= ranks.len());
        route_counts.sort_by_key(|(attribute, count)| (std::cmp::Reverse(*count), *attribute));
        route_counts.truncate(MAX_COLUMNS);
        let mut columns: Vec<Column> =
            route_counts.iter().map(|(attribute, _)| Column::new(*attribute, routes)).collect();
        // The most selective columns come first, since the routes they leave may be few enough to
        // evaluate.
        columns.sort_by_key(|column| column.count_set_bits() / column.row_count());
        Bitmap { route_ranks: ranks, columns, block_first_ranks: Vec::new() }
    }

    /// Returns the number of 64-bit words in a row, with the padding words at the end, which are
    /// zero.
    #[inline]
    pub fn words_per_row(&self) -> usize {
        row_word_count(self.route_ranks.len())
    }
}

/// Sort key of a route, so that routes with similar conditions become adjacent. The key has a
/// column, and the percentage of the column's rows that include the route. It also has the first
/// and last of these rows.
struct SortKey {
    row_percent: usize,
    column_index: usize,
    first_row: usize,
    last_row: usize,
}

/// Returns the numbers of the rows that overlap the classes from `from` up to `to`, exclusive.
/// `row_starts` has the first class of each row.
fn row_range(row_starts: &[ClassId], from: ClassId, to: ClassId) -> Range<usize> {
    row_starts.partition_point(|start| *start <= from) - 1..row_starts.partition_point(|start| *start < to)
}

/// Number of 64-bit words that are intersected at once, so that the processor can use vector
/// instructions.
/// Compared with other values in benches/notes/constants.md.
pub const WORDS_PER_CHUNK: usize = 8;

/// Returns the number of 64-bit words in a row of a bitmap of `routes` routes, one bit per route. A
/// short row has 1, 2 or 4 words. A longer row is padded to a multiple of [`WORDS_PER_CHUNK`].
#[inline]
fn row_word_count(routes: usize) -> usize {
    let words = routes.div_ceil(64);
    if words > WORDS_PER_CHUNK / 2 {
        words.next_multiple_of(WORDS_PER_CHUNK)
    } else {
        words.next_power_of_two()
    }
}

impl Column {
    fn new(attribute: u32, routes: &[(u32, ValueRanges)]) -> Column {
        let words = row_word_count(routes.len());
        let class_ranges = || {
            let tests_attribute = |(_, class_ranges): &'_ &'_ (u32, ValueRanges)| {
                class_ranges.iter().any(|(other, _)| *other == attribute)
            };
            routes
                .iter()
                .filter(tests_attribute)
                .flat_map(|(_, class_ranges)| class_ranges)
                .filter(|(other, _)| *other == attribute)
        };
        let mut row_starts: Vec<ClassId> = vec![0];
        row_starts.extend(
            class_ranges()
                .flat_map(|(_, class_ranges)| class_ranges.iter().flat_map(|(from, to)| [*from, *to])),
        );
        row_starts.sort_unstable();
        // Row boundaries are the range bounds that occur in routes, each with the number of its
        // occurrences.
        let mut counted_starts: Vec<(ClassId, usize)> = Vec::new();
        for start in row_starts {
            match counted_starts.last_mut() {
                Some((last, count)) if *last == start => *count += 1,
                _ => counted_starts.push((start, 1)),
            }
        }
        if counted_starts.len() > MAX_COLUMN_ROWS {
            // The fixed classes keep their own rows; the other boundaries are thinned evenly.
            let fixed_count = counted_starts
                .iter()
                .take_while(|(class, _)| *class <= super::attribute::OTHER_KINDS_CLASS + 1)
                .count();
            let step = (counted_starts.len() - fixed_count).div_ceil(MAX_COLUMN_ROWS - fixed_count);
            counted_starts = counted_starts
                .iter()
                .enumerate()
                .filter(|(at, _)| *at < fixed_count || (at - fixed_count) % step == 0)
                .map(|(_, start)| *start)
                .collect();
        }
        let row_starts: Vec<ClassId> = counted_starts.into_iter().map(|(start, _)| start).collect();
        let mut bits = vec![0_u64; row_starts.len() * words];
        for (at, (_, class_ranges)) in routes.iter().enumerate() {
            let (word, bit) = (at / 64, 1_u64 << (at % 64));
            let mut set_bits = |rows: Range<usize>| {
                for row in rows {
                    bits[row * words + word] |= bit;
                }
            };
            match class_ranges.iter().find(|(other, _)| *other == attribute) {
                None => set_bits(0..row_starts.len()),
                Some((_, class_ranges)) => {
                    for (from, to) in class_ranges {
                        set_bits(row_range(&row_starts, *from, *to));
                    }
                }
            }
        }
        let row_by_class = row_of_each_class(&row_starts, words);
        Column {
            attribute_id: attribute,
            row_starts,
            row_by_class,
            all_row_bits: bits,
            chunk_summaries: Vec::new(),
        }
    }

    /// Computes the summary of each row, by which a lookup skips chunks (groups of words) without a
    /// set bit. `words` is the number of words in a row.
    fn build_chunk_summary(&mut self, words: usize) {
        let row_summary = |row: &[u64]| -> Vec<u64> {
            let chunks: Vec<bool> =
                row.chunks(WORDS_PER_CHUNK).map(|chunk| chunk.iter().any(|word| *word != 0)).collect();
            let summary_word =
                |block: &[bool]| block.iter().rev().fold(0, |word, any| word << 1 | u64::from(*any));
            chunks.chunks(64).map(summary_word).collect()
        };
        self.chunk_summaries = self.all_row_bits.chunks(words).flat_map(row_summary).collect();
    }

    /// Returns the summary of the row whose range contains the equivalence class `class` of values.
    /// The summary has one word for each block (group of `ROUTES_PER_BLOCK` routes). Each set bit
    /// of a word marks a chunk of the row's words in which some bit is set. `blocks` is the number
    /// of blocks of the bitmap.
    #[inline]
    pub fn chunk_summary(&self, class: ClassId, blocks: usize) -> &[u64] {
        let row = self.row_of_class(class);
        self.chunk_summaries.get(row * blocks..(row + 1) * blocks).unwrap_or_default()
    }

    /// Returns the number of the row whose range contains the equivalence class `class` of values.
    #[inline]
    fn row_of_class(&self, class: ClassId) -> usize {
        match self.row_by_class.get(class as usize) {
            Some(row) => usize::from(*row),
            None => self.row_starts.partition_point(|start| *start <= class).saturating_sub(1),
        }
    }

    /// Returns the bits of the row whose range contains the equivalence class `class` of values,
    /// one bit per route. `words` is the number of words in each row.
    #[inline]
    pub fn row_bits(&self, class: ClassId, words: usize) -> &[u64] {
        let row = self.row_of_class(class);
        self.all_row_bits.get(row * words..(row + 1) * words).unwrap_or_default()
    }

    /// Clears the bits of `bits` that are not set in the row whose range contains the equivalence
    /// class `class` of values. Precondition: rows have exactly `N` words.
    #[inline]
    pub fn intersect_with_row<const N: usize>(&self, class: ClassId, bits: &mut [u64; N]) {
        let row = self.all_row_bits.as_chunks().0.get(self.row_of_class(class));
        bits.iter_mut().zip(row.unwrap_or(&[0; N])).for_each(|(bits, row)| *bits &= row);
    }

    fn count_set_bits(&self) -> usize {
        self.all_row_bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn row_count(&self) -> usize {
        self.row_starts.len()
    }
}

/// Returns for each equivalence class of values the number of the row whose range contains the
/// class. `row_starts` has the first class of each row. Higher classes than the last row's first
/// class are left out. The list is cut earlier if it would need too much memory compared with the
/// rows of `words` words.
fn row_of_each_class(row_starts: &[ClassId], words: usize) -> Box<[u8]> {
    let last_start = row_starts.last().copied().unwrap_or(0) as usize;
    let listed_classes = (last_start + 1).min(row_starts.len() * (words + 4) * 8);
    let mut rows = Vec::with_capacity(listed_classes);
    for (row, start) in row_starts.iter().enumerate() {
        let end = row_starts.get(row + 1).map_or(listed_classes, |next| *next as usize).min(listed_classes);
        rows.resize(end.max(*start as usize).min(listed_classes), row as u8);
    }
    rows.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list that maps classes to rows goes up to the first class of the last row. The list is
    /// cut only if it would take much memory compared with the rows.
    #[test]
    fn row_numbers_are_listed_for_few_classes() {
        assert_eq!(*row_of_each_class(&[0, 3, 9], 1), [0, 0, 0, 1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(row_of_each_class(&[0, 3, 1_000], 1).len(), 3 * 5 * 8);
        assert_eq!(row_of_each_class(&[0, 3, 1_000], 60).len(), 1_001);
    }

    /// A bitmap of tens of thousands of routes places similar routes next to each other. So the
    /// candidates of a message lie in few chunks (groups of words), and a lookup skips the others.
    #[test]
    fn sorted_routes_leave_few_candidate_chunks() {
        let below = |seed: u32, limit: u32| (seed.wrapping_mul(2_654_435_761) >> 8) % limit;
        let routes: Vec<(u32, ValueRanges)> = (0..ROUTES_PER_BLOCK as u32 + 5_000)
            .map(|n| {
                let (attribute, from) = (7 + n % 3, below(n, 200));
                let mut ranges = vec![(attribute, vec![(from, from + 1 + below(n + 1, 5))])];
                if n % 4 == 0 {
                    ranges.push((10, vec![(below(n + 2, 3), 4)]));
                }
                (n * 2, ranges)
            })
            .collect();
        let bitmap = Bitmap::new(&routes);
        assert_eq!(bitmap.block_first_ranks, [0, 2 * ROUTES_PER_BLOCK as u32]);
        let mut ranks = bitmap.route_ranks.clone();
        ranks[..ROUTES_PER_BLOCK].sort_unstable();
        ranks[ROUTES_PER_BLOCK..].sort_unstable();
        assert!(ranks.iter().enumerate().all(|(at, rank)| *rank == at as u32 * 2), "each once, in its block");
        let (words, blocks) = (bitmap.words_per_row(), bitmap.block_first_ranks.len());
        let mut open = 0;
        for class in 0..210 {
            let mut left = vec![u64::MAX; blocks];
            for column in &bitmap.columns {
                let (row, chunks) = (column.row_bits(class, words), column.chunk_summary(class, blocks));
                left.iter_mut().zip(chunks).for_each(|(left, chunks)| *left &= chunks);
                for (at, rank) in bitmap.route_ranks.iter().enumerate() {
                    let passes = row[at / 64] & (1 << (at % 64)) != 0;
                    let limit =
                        routes[*rank as usize / 2].1.iter().find(|(other, _)| *other == column.attribute_id);
                    let may = limit.is_none_or(|(_, ranges)| {
                        ranges.iter().any(|(from, to)| (*from..*to).contains(&class))
                    });
                    assert_eq!(passes, may, "route {rank} class {class}");
                    let chunk = at / 64 / WORDS_PER_CHUNK;
                    assert!(!passes || chunks[chunk / 64] & (1 << (chunk % 64)) != 0, "chunk {chunk}");
                }
            }
            open += left.iter().map(|chunks| chunks.count_ones()).sum::<u32>();
        }
        // On average, at most 15 of the 74 chunks of a row remain for each of 210 messages.
        assert!(open > 0 && open < 210 * 15, "{open} in all");
    }

    /// Routes are not sorted if the values of a message exclude few of them.
    #[test]
    fn unselective_routes_are_not_sorted() {
        let routes: Vec<(u32, ValueRanges)> =
            (0..MIN_SORTED_ROUTES as u32).map(|n| (n, vec![(7, vec![(n % 20, 100)])])).collect();
        let bitmap = Bitmap::new(&routes);
        assert!(bitmap.block_first_ranks.is_empty() && bitmap.route_ranks.is_sorted());
    }

    #[test]
    fn a_route_is_a_candidate_exactly_in_its_ranges() {
        // 200 routes, each limited to a range of one attribute, every third also by a second
        // attribute.
        let routes: Vec<(u32, ValueRanges)> = (0..200_u32)
            .map(|n| {
                let mut ranges = vec![(7, vec![(n, n + 5), (n + 9, n + 10)])];
                if n % 3 == 0 {
                    ranges.push((8, vec![(0, 1)]));
                }
                (n * 2, ranges)
            })
            .collect();
        for routes in [&routes[..], &routes[..5], &routes[..64]] {
            let block = Bitmap::new(routes);
            let words = block.words_per_row();
            assert_eq!(block.columns.len(), 2);
            let sharp = routes.len() * 4 < MAX_COLUMN_ROWS;
            for class in 0..260 {
                for column in &block.columns {
                    let row = column.row_bits(class, words);
                    for (at, (_, ranges)) in routes.iter().enumerate() {
                        let passes = row[at / 64] & (1 << (at % 64)) != 0;
                        let limit = ranges.iter().find(|(attribute, _)| *attribute == column.attribute_id);
                        let may = limit.is_none_or(|(_, ranges)| {
                            ranges.iter().any(|(from, to)| (*from..*to).contains(&class))
                        });
                        assert!(passes || !may, "route {at} class {class}");
                        assert!(!sharp || passes == may, "route {at} class {class} of {}", routes.len());
                    }
                }
            }
        }
    }
}
