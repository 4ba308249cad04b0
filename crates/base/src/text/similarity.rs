//! `similarity(a, b)`: how similar two texts are, from 0 (nothing in common) to 1 (equal).
//!
//! Both texts are lower-cased (`str::to_lowercase`), runs of white space become one space, and
//! white space at both ends is removed. Let *d* be the Levenshtein distance in characters and *m*
//! the length of the longer text. The result is (*m* - *d*) / *m*; two empty texts give 1.
//!
//! The distance is computed by Myers' bit-parallel algorithm in the variant of Hyyrö (2003). The
//! bits of machine words represent positions of the prepared text. Each character of the other text
//! updates 64 cells of the distance table at once. The cost is about one step for every 64 cells of
//! the table. Two texts of 10,000 characters have a hundred million cells, which takes about ten
//! milliseconds.

/// Number of bits in a block of the prepared text. Not tuned: a machine word has 64 bits.
const BLOCK_BITS: usize = 64;

/// Returns the similarity of `a` and `b`, from 0 to 1. If one text is constant, prepare a
/// [`SimilarityPattern`] of it instead.
pub fn similarity(a: &str, b: &str) -> f64 {
    SimilarityPattern::new(a).score(b, &mut SimilarityScratch::new())
}

/// Working memory of [`SimilarityPattern::score`], reused between calls. The memory has one pair of
/// bit masks for each block of 64 cells of the current table column. The first mask marks the cells
/// whose value is one more than the value of the cell above. The second mask marks the cells whose
/// value is one less.
pub type SimilarityScratch = Vec<(u64, u64)>;

/// A text prepared for similarity comparisons. The prepared text takes about 16 bytes per
/// character, plus 512 bytes.
#[derive(Clone, Debug)]
pub struct SimilarityPattern {
    /// Number of characters of the text before it was prepared.
    original_char_count: usize,
    /// Number of characters of the prepared text: lower-cased, with white space collapsed.
    prepared_char_count: usize,
    /// The distinct characters of the prepared text, sorted.
    distinct_chars: Vec<char>,
    /// Maps an ASCII code to the index of the character in `distinct_chars` plus one. 0 means that
    /// the text does not contain the character.
    ascii_indices: Box<[u32; 128]>,
    /// The offset in `block_masks` where the masks of `distinct_chars[i]` begin. One extra entry
    /// marks the end of the last character's masks.
    mask_starts: Vec<usize>,
    /// The positions of the distinct characters, as pairs of block index and bit mask: first all
    /// positions of `distinct_chars[0]`, and so on. The pairs of one character are ascending by
    /// block; blocks without the character are left out.
    block_masks: Vec<(usize, u64)>,
}

impl SimilarityPattern {
    /// Prepares `text` for comparisons. This takes time *m* log *m*, where *m* is the length of the
    /// text.
    pub fn new(text: &str) -> SimilarityPattern {
        let mut positions: Vec<(char, usize)> = Vec::new();
        for_each_normalized_char(text, |c| positions.push((c, positions.len())));
        let len = positions.len();
        positions.sort_unstable();
        let (mut chars, mut mask_starts, mut masks) = (Vec::new(), Vec::new(), Vec::<(usize, u64)>::new());
        for (c, position) in positions {
            let (block, bit) = (position / BLOCK_BITS, 1 << (position % BLOCK_BITS));
            match masks.last_mut() {
                Some((last, mask)) if chars.last() == Some(&c) && *last == block => *mask |= bit,
                _ => {
                    if chars.last() != Some(&c) {
                        chars.push(c);
                        mask_starts.push(masks.len());
                    }
                    masks.push((block, bit));
                }
            }
        }
        mask_starts.push(masks.len());
        let mut ascii_indices = Box::new([0; 128]);
        for (index_plus_one, &c) in (1..).zip(&chars) {
            if let Some(entry) = ascii_indices.get_mut(c as usize) {
                *entry = index_plus_one;
            }
        }
        SimilarityPattern {
            original_char_count: text.chars().count(),
            prepared_char_count: len,
            distinct_chars: chars,
            ascii_indices,
            mask_starts,
            block_masks: masks,
        }
    }

    /// Returns the number of characters of the text before it was prepared.
    pub fn original_char_count(&self) -> usize {
        self.original_char_count
    }

    /// Returns the positions of `c` in the prepared text, as pairs of block index and bit mask.
    fn char_masks(&self, c: char) -> &[(usize, u64)] {
        let char_index = match self.ascii_indices.get(c as usize) {
            Some(&char_index) => (char_index as usize).checked_sub(1),
            None => self.distinct_chars.binary_search(&c).ok(),
        };
        char_index
            .and_then(|char_index| {
                self.block_masks
                    .get(*self.mask_starts.get(char_index)?..*self.mask_starts.get(char_index + 1)?)
            })
            .unwrap_or_default()
    }

    /// Returns the similarity of `text` to the prepared text, from 0 to 1. Allocates nothing if
    /// `scratch` was used before with this prepared text or a longer one. The exception is a `text`
    /// with a capital sigma, whose lower case depends on its neighbours.
    pub fn score(&self, text: &str, scratch: &mut SimilarityScratch) -> f64 {
        let mut column = DistanceColumn::new(self, scratch);
        for_each_normalized_char(text, |c| column.advance_column(self.char_masks(c)));
        let longer_len = self.prepared_char_count.max(column.processed_char_count);
        if longer_len == 0 { 1.0 } else { (longer_len - column.distance) as f64 / longer_len as f64 }
    }
}

/// One column of the table of edit distances. A cell is the distance between a prefix of the
/// prepared text and the characters of the other text processed so far.
struct DistanceColumn<'a> {
    /// The column's values as pairs of bit masks, one pair for each block of 64 cells; see
    /// [`SimilarityScratch`].
    cell_differences: &'a mut [(u64, u64)],
    /// The bit mask of the column's last cell, within the last block of 64 cells.
    last_cell_bit: u64,
    /// The value of the column's last cell: the edit distance between the first text as a whole
    /// and those characters of the second text that were processed so far.
    distance: usize,
    /// Number of characters of the other text processed so far.
    processed_char_count: usize,
}

impl<'a> DistanceColumn<'a> {
    fn new(pattern: &SimilarityPattern, scratch: &'a mut SimilarityScratch) -> Self {
        scratch.clear();
        scratch.resize(pattern.prepared_char_count.div_ceil(BLOCK_BITS), (!0, 0));
        let last_cell_bit = 1 << (pattern.prepared_char_count.wrapping_sub(1) % BLOCK_BITS);
        DistanceColumn {
            cell_differences: scratch,
            last_cell_bit,
            distance: pattern.prepared_char_count,
            processed_char_count: 0,
        }
    }

    /// Processes one character of the other text; `masks` are its positions in the prepared text.
    fn advance_column(&mut self, masks: &[(usize, u64)]) {
        self.processed_char_count += 1;
        // Bit masks of the cells that are one more, and one less, than the cell to the left. The
        // values of the row above the table increase by one per character. If there are no blocks,
        // this row is the whole table.
        let (mut carry_up, mut carry_down) = (1, 0);
        let (mut up, mut down) = (self.last_cell_bit, 0);
        let mut masks = masks.iter();
        let mut next = masks.next();
        for (block, (more, less)) in self.cell_differences.iter_mut().enumerate() {
            let mask = match next {
                Some(&(at, mask)) if at == block => {
                    next = masks.next();
                    mask
                }
                _ => 0,
            };
            let x = mask | carry_down;
            let zero = ((x & *more).wrapping_add(*more) ^ *more) | x | *less;
            up = *less | !(zero | *more);
            down = zero & *more;
            let shifted_up = (up << 1) | carry_up;
            let shifted_down = (down << 1) | carry_down;
            (carry_up, carry_down) = (up >> (BLOCK_BITS - 1), down >> (BLOCK_BITS - 1));
            *more = shifted_down | !(zero | shifted_up);
            *less = zero & shifted_up;
        }
        self.distance += usize::from(up & self.last_cell_bit != 0);
        self.distance -= usize::from(down & self.last_cell_bit != 0);
    }
}

/// Passes each character of `text`, lower-cased and with white space collapsed and trimmed, to
/// `on_char`.
fn for_each_normalized_char(text: &str, mut on_char: impl FnMut(char)) {
    if text.contains('Σ') {
        // A capital sigma becomes ς at the end of a word and σ elsewhere, so the whole text is
        // needed.
        return for_each_collapsed_char(&text.to_lowercase(), on_char);
    }
    for_each_collapsed_char(text, |c| {
        if c.is_ascii() {
            on_char(c.to_ascii_lowercase());
        } else {
            c.to_lowercase().for_each(&mut on_char);
        }
    });
}

fn for_each_collapsed_char(text: &str, mut on_char: impl FnMut(char)) {
    let mut pending_space = false;
    for c in text.trim_start().chars() {
        if c.is_whitespace() {
            pending_space = true;
        } else {
            if std::mem::take(&mut pending_space) {
                on_char(' ');
            }
            on_char(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the similarity by the plain table of Levenshtein distances, without bit
    /// parallelism.
    fn reference_similarity(a: &str, b: &str) -> f64 {
        let prepare = |text: &str| -> Vec<char> {
            text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ").chars().collect()
        };
        let (a, b) = (prepare(a), prepare(b));
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, ca) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, cb) in b.iter().enumerate() {
                let here = (diagonal + usize::from(ca != cb)).min(row[j] + 1).min(row[j + 1] + 1);
                diagonal = std::mem::replace(&mut row[j + 1], here);
            }
        }
        let longer = a.len().max(b.len());
        if longer == 0 { 1.0 } else { (longer - row[b.len()]) as f64 / longer as f64 }
    }

    #[test]
    fn scores_examples() {
        for (a, b, expected) in [
            ("", "", 1.0),
            (" \t\n", "", 1.0),
            ("abc", "", 0.0),
            ("abc", "ABC", 1.0),
            ("kitten", "sitting", 4.0 / 7.0),
            ("  Refund \u{3000}\n my   Order ", "refund my order", 1.0),
            ("文件", "文书", 0.5),
            ("ΟΔΟΣ", "οδος", 1.0),
            ("ΟΔΟΣ ΣΑ", "οδος σα", 1.0),
            ("İ", "i\u{307}", 1.0),
            ("abcd", "wxyz", 0.0),
        ] {
            assert_eq!(similarity(a, b), expected, "{a:?} {b:?}");
            assert_eq!(similarity(b, a), expected, "{b:?} {a:?}");
            assert_eq!(reference_similarity(a, b), expected, "the definition: {a:?} {b:?}");
        }
    }

    /// Compares the result with a plain computation of the Levenshtein distance, for texts of few
    /// different letters and up to five blocks of 64 characters. All calls share one working
    /// memory.
    #[test]
    fn scores_match_plain_algorithm() {
        let mut state = 7_u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let alphabet = ['a', 'B', 'b', 'é', '文', '件', ' ', '\t', 'z', 'İ', 'Σ'];
        let mut scratch = SimilarityScratch::new();
        for round in 0..600 {
            let letters = 2 + random(alphabet.len() - 1);
            let mut text = |longest: usize| -> String {
                (0..random(longest + 1)).map(|_| alphabet[random(letters)]).collect()
            };
            let (a, b) = (text([5, 70, 140, 300][round % 4]), text([5, 140, 70, 300][round / 4 % 4]));
            let score = SimilarityPattern::new(&a).score(&b, &mut scratch);
            assert_eq!(score, reference_similarity(&a, &b), "{a:?} {b:?}");
        }
    }
}
