//! Many routes at once: for each attribute that enough of them test, one bit a route and equivalence class of
//! values, set unless the class rules the route out. The bits of a message's classes, joined by
//! `and`, leave the routes that only their whole conditions can decide.
//!
//! The contract: a route whose condition holds is never ruled out. Letting one pass that does not
//! hold is always right.

use super::attribute::Class;
use super::ranges::{Ranges, ValueRanges};
use std::ops::Range;

/// Routes, a bit each.
#[derive(Clone, Debug, Default)]
pub struct Bitmap {
    /// Their ranks in the table; one with alternatives stands there for each of them. They ascend, and where there are
    /// blocks the ranks of each block lie below those of the next.
    pub ranks: Vec<u32>,
    pub columns: Vec<Column>,
    /// The lowest rank of each block; none where routes are not sorted.
    pub blocks: Vec<u32>,
}

/// The rows of one attribute, which say for each class which routes of a bitmap may hold.
#[derive(Clone, Debug)]
pub struct Column {
    pub attribute: u32,
    /// The first class of each row; the first row's is 0.
    starts: Vec<Class>,
    /// The row of each class, where they are few enough to be listed.
    row_of: Box<[u8]>,
    /// The rows one behind the other, one bit a route, 64 a word.
    bits: Vec<u64>,
    /// The rows once more, one bit a chunk and a word a block: set where the chunk has any.
    chunks: Vec<u64>,
}

/// More rows would cost more memory than their sharpness is worth; neighbours are joined.
const MAX_ROWS: usize = 256;
/// An attribute that fewer than one in so many routes of a bitmap test is left to the routes.
const MIN_SHARE: usize = 50;
/// More columns than these would cost more time than they save.
pub const MAX_COLUMNS: usize = 12;

/// The routes of a block: a word says which chunks of a row have any bit.
const BLOCK: usize = 64 * CHUNK * 64;
/// Fewer routes are not sorted: whatever their order, most chunks would have one that passes.
const SORTED_FROM: usize = BLOCK / 2;
/// Routes are sorted when their narrowest rows are one in so many, or fewer: of a block few pass then.
const NARROW: usize = 8;

impl Bitmap {
    /// Routes, in the order in which they are tried, with what the attributes say about each.
    pub fn new(routes: &[(u32, ValueRanges)]) -> Bitmap {
        let bitmap = Bitmap::in_order(routes);
        if routes.len() < SORTED_FROM {
            return bitmap;
        }
        // Routes that the same values rule out stand side by side, so that a message leaves few chunks over.
        let mut placed: Vec<_> = routes.iter().map(|route| (bitmap.place(&route.1), route)).collect();
        let rows: usize = placed.iter().map(|(place, _)| place.percent).sum();
        if rows * NARROW > 100 * routes.len() {
            return bitmap;
        }
        placed
            .chunks_mut(BLOCK)
            .for_each(|block| block.sort_by_key(|(place, _)| (place.column, place.first, place.last)));
        let sorted: Vec<(u32, ValueRanges)> = placed.into_iter().map(|(_, route)| route.clone()).collect();
        let mut sorted = Bitmap::in_order(&sorted);
        sorted.blocks = routes.iter().step_by(BLOCK).map(|(rank, _)| *rank).collect();
        let words = sorted.words();
        sorted.columns.iter_mut().for_each(|column| column.sum_up(words));
        sorted
    }

    /// The column of which fewest rows let a route pass, and these.
    fn place(&self, ranges: &ValueRanges) -> Place {
        let of = |(attribute, ranges): &(u32, Ranges)| {
            let number = self.columns.iter().position(|column| column.attribute == *attribute)?;
            let column = &self.columns[number];
            let rows = || ranges.iter().map(|(from, to)| rows(&column.starts, *from, *to));
            let percent = rows().map(|rows| rows.len()).sum::<usize>() * 100 / column.rows();
            let (first, last) = (rows().map(|rows| rows.start).min()?, rows().map(|rows| rows.end).max()?);
            Some(Place { percent, column: number, first, last })
        };
        let everywhere = Place { percent: 100, column: self.columns.len(), first: 0, last: 0 };
        ranges.iter().filter_map(of).min_by_key(|place| place.percent).unwrap_or(everywhere)
    }

    /// Routes, a bit each as they stand.
    fn in_order(routes: &[(u32, ValueRanges)]) -> Bitmap {
        let ranks: Vec<u32> = routes.iter().map(|(rank, _)| *rank).collect();
        let mut uses: Vec<(u32, usize)> = Vec::new();
        for (attribute, _) in routes.iter().flat_map(|(_, ranges)| ranges) {
            match uses.iter_mut().find(|(known, _)| known == attribute) {
                Some((_, count)) => *count += 1,
                None => uses.push((*attribute, 1)),
            }
        }
        uses.retain(|(_, count)| count * MIN_SHARE >= ranks.len());
        uses.sort_by_key(|(attribute, count)| (std::cmp::Reverse(*count), *attribute));
        uses.truncate(MAX_COLUMNS);
        let mut columns: Vec<Column> =
            uses.iter().map(|(attribute, _)| Column::new(*attribute, routes)).collect();
        // Those that rule out most come first, since what they leave may be few enough to be tried.
        columns.sort_by_key(|column| column.passing() / column.rows());
        Bitmap { ranks, columns, blocks: Vec::new() }
    }

    /// The number of words of a row: of the last ones no bit is set.
    pub fn words(&self) -> usize {
        words_for(self.ranks.len())
    }
}

/// The place of a route among those of its block: by the rows that let it pass, first and last, of a column, and how many in
/// a hundred these are.
struct Place {
    percent: usize,
    column: usize,
    first: usize,
    last: usize,
}

/// The rows that a range of classes touches: from the one that holds the first class to the one that holds the last.
fn rows(starts: &[Class], from: Class, to: Class) -> Range<usize> {
    starts.partition_point(|start| *start <= from) - 1..starts.partition_point(|start| *start < to)
}

/// The words that are joined at once: in long rows so many that the processor takes them together.
pub const CHUNK: usize = 8;

/// The words of a row, a multiple of what is joined at once.
fn words_for(routes: usize) -> usize {
    let words = routes.div_ceil(64);
    if words > CHUNK / 2 { words.next_multiple_of(CHUNK) } else { words.next_power_of_two() }
}

impl Column {
    fn new(attribute: u32, routes: &[(u32, ValueRanges)]) -> Column {
        let words = words_for(routes.len());
        let ranges = || {
            let own =
                |(_, ranges): &'_ &'_ (u32, ValueRanges)| ranges.iter().any(|(other, _)| *other == attribute);
            routes.iter().filter(own).flat_map(|(_, ranges)| ranges).filter(|(other, _)| *other == attribute)
        };
        let mut starts: Vec<Class> = vec![0];
        starts.extend(ranges().flat_map(|(_, ranges)| ranges.iter().flat_map(|(from, to)| [*from, *to])));
        starts.sort_unstable();
        // The likeliest places to draw the lines are those that most routes draw.
        let mut counted: Vec<(Class, usize)> = Vec::new();
        for start in starts {
            match counted.last_mut() {
                Some((last, count)) if *last == start => *count += 1,
                _ => counted.push((start, 1)),
            }
        }
        if counted.len() > MAX_ROWS {
            // The fixed classes stay apart; the others are thinned evenly.
            let fixed = counted.iter().take_while(|(class, _)| *class <= super::attribute::OTHER + 1).count();
            let step = (counted.len() - fixed).div_ceil(MAX_ROWS - fixed);
            counted = counted
                .iter()
                .enumerate()
                .filter(|(at, _)| *at < fixed || (at - fixed) % step == 0)
                .map(|(_, start)| *start)
                .collect();
        }
        let starts: Vec<Class> = counted.into_iter().map(|(start, _)| start).collect();
        let mut bits = vec![0_u64; starts.len() * words];
        for (at, (_, ranges)) in routes.iter().enumerate() {
            let (word, bit) = (at / 64, 1_u64 << (at % 64));
            let mut set = |rows: Range<usize>| {
                for row in rows {
                    bits[row * words + word] |= bit;
                }
            };
            match ranges.iter().find(|(other, _)| *other == attribute) {
                None => set(0..starts.len()),
                Some((_, ranges)) => {
                    for (from, to) in ranges {
                        set(rows(&starts, *from, *to));
                    }
                }
            }
        }
        let row_of = row_of(&starts, words);
        Column { attribute, starts, row_of, bits, chunks: Vec::new() }
    }

    /// Notes which chunks of each row have a bit.
    fn sum_up(&mut self, words: usize) {
        let of_row = |row: &[u64]| -> Vec<u64> {
            let chunks: Vec<bool> =
                row.chunks(CHUNK).map(|chunk| chunk.iter().any(|word| *word != 0)).collect();
            let word = |block: &[bool]| block.iter().rev().fold(0, |word, any| word << 1 | u64::from(*any));
            chunks.chunks(64).map(word).collect()
        };
        self.chunks = self.bits.chunks(words).flat_map(of_row).collect();
    }

    /// The chunks that have a bit for a class, a word a block of so many.
    #[inline]
    pub fn chunks(&self, class: Class, blocks: usize) -> &[u64] {
        let row = self.row_of(class);
        self.chunks.get(row * blocks..(row + 1) * blocks).unwrap_or_default()
    }

    /// The number of the row of a class.
    #[inline]
    fn row_of(&self, class: Class) -> usize {
        match self.row_of.get(class as usize) {
            Some(row) => usize::from(*row),
            None => self.starts.partition_point(|start| *start <= class).saturating_sub(1),
        }
    }

    /// The bits of a class, one a route.
    #[inline]
    pub fn row(&self, class: Class, words: usize) -> &[u64] {
        let row = self.row_of(class);
        self.bits.get(row * words..(row + 1) * words).unwrap_or_default()
    }

    /// Leaves the bits that a class has too, where a row is no longer than these.
    #[inline]
    pub fn keep<const N: usize>(&self, class: Class, bits: &mut [u64; N]) {
        let row = self.bits.as_chunks().0.get(self.row_of(class));
        bits.iter_mut().zip(row.unwrap_or(&[0; N])).for_each(|(bits, row)| *bits &= row);
    }

    fn passing(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn rows(&self) -> usize {
        self.starts.len()
    }
}

/// The row of each class below the last row's, or as many as may be listed beside rows of so many words.
fn row_of(starts: &[Class], words: usize) -> Box<[u8]> {
    let last = starts.last().copied().unwrap_or(0) as usize;
    let listed = (last + 1).min(starts.len() * (words + 4) * 8);
    let mut rows = Vec::with_capacity(listed);
    for (row, start) in starts.iter().enumerate() {
        let end = starts.get(row + 1).map_or(listed, |next| *next as usize).min(listed);
        rows.resize(end.max(*start as usize).min(listed), row as u8);
    }
    rows.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looking a class's row up is a step while the list is short beside the rows.
    #[test]
    fn the_row_of_each_class_is_listed_while_they_are_few() {
        assert_eq!(*row_of(&[0, 3, 9], 1), [0, 0, 0, 1, 1, 1, 1, 1, 1, 2]);
        assert_eq!(row_of(&[0, 3, 1_000], 1).len(), 3 * 5 * 8);
        assert_eq!(row_of(&[0, 3, 1_000], 60).len(), 1_001);
    }

    /// Tens of thousands of routes are sorted within blocks, in which few chunks are left over for a message.
    #[test]
    fn routes_that_the_same_values_rule_out_stand_side_by_side() {
        let below = |seed: u32, limit: u32| (seed.wrapping_mul(2_654_435_761) >> 8) % limit;
        let routes: Vec<(u32, ValueRanges)> = (0..BLOCK as u32 + 5_000)
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
        assert_eq!(bitmap.blocks, [0, 2 * BLOCK as u32]);
        let mut ranks = bitmap.ranks.clone();
        ranks[..BLOCK].sort_unstable();
        ranks[BLOCK..].sort_unstable();
        assert!(ranks.iter().enumerate().all(|(at, rank)| *rank == at as u32 * 2), "each once, in its block");
        let (words, blocks) = (bitmap.words(), bitmap.blocks.len());
        let mut open = 0;
        for class in 0..210 {
            let mut left = vec![u64::MAX; blocks];
            for column in &bitmap.columns {
                let (row, chunks) = (column.row(class, words), column.chunks(class, blocks));
                left.iter_mut().zip(chunks).for_each(|(left, chunks)| *left &= chunks);
                for (at, rank) in bitmap.ranks.iter().enumerate() {
                    let passes = row[at / 64] & (1 << (at % 64)) != 0;
                    let limit =
                        routes[*rank as usize / 2].1.iter().find(|(other, _)| *other == column.attribute);
                    let may = limit.is_none_or(|(_, ranges)| {
                        ranges.iter().any(|(from, to)| (*from..*to).contains(&class))
                    });
                    assert_eq!(passes, may, "route {rank} class {class}");
                    let chunk = at / 64 / CHUNK;
                    assert!(!passes || chunks[chunk / 64] & (1 << (chunk % 64)) != 0, "chunk {chunk}");
                }
            }
            open += left.iter().map(|chunks| chunks.count_ones()).sum::<u32>();
        }
        // Of 74 chunks.
        assert!(open > 0 && open < 210 * 15, "{open} in all");
    }

    /// Their order is what helps where a value rules few routes out.
    #[test]
    fn routes_that_most_messages_pass_are_tried_in_order() {
        let routes: Vec<(u32, ValueRanges)> =
            (0..SORTED_FROM as u32).map(|n| (n, vec![(7, vec![(n % 20, 100)])])).collect();
        let bitmap = Bitmap::new(&routes);
        assert!(bitmap.blocks.is_empty() && bitmap.ranks.is_sorted());
    }

    #[test]
    fn a_route_passes_where_its_ranges_say() {
        // 200 routes, each limited to a range of its own through one attribute, every third through two.
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
            let words = block.words();
            assert_eq!(block.columns.len(), 2);
            let sharp = routes.len() * 4 < MAX_ROWS;
            for class in 0..260 {
                for column in &block.columns {
                    let row = column.row(class, words);
                    for (at, (_, ranges)) in routes.iter().enumerate() {
                        let passes = row[at / 64] & (1 << (at % 64)) != 0;
                        let limit = ranges.iter().find(|(attribute, _)| *attribute == column.attribute);
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
