//! Characters that normalisation to NFKC writes out at length, such as `㍿` as `株式会社`: each is written out once a
//! process. Normalising anew the eighteen letters of each `ﷺ` that a message of 16 MB is full of would take seconds.

use std::sync::LazyLock;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::fold::fold_char;

/// The blocks that they lie in: a test looks through all characters.
const BLOCKS: [std::ops::RangeInclusive<char>; 3] =
    ['\u{2000}'..='\u{33ff}', '\u{fb50}'..='\u{fdff}', '\u{1f100}'..='\u{1f2ff}'];
/// The least number of characters that are at length.
const LONG: usize = 4;

/// A character that is written out at length. What is prepared stands there in NFKC, and then folded and normalised
/// again.
pub(super) struct Expanding {
    from: char,
    /// All but the end, prepared.
    pub head: [String; 2],
    /// The last character in NFKC that composes with none before it, and what is behind it: what follows in the text
    /// may compose with that.
    pub end: String,
    /// The end, prepared as it is when nothing composes with it.
    pub plain_end: [String; 2],
}

static TABLE: LazyLock<Vec<Expanding>> =
    LazyLock::new(|| BLOCKS.into_iter().flatten().filter_map(Expanding::of).collect());

/// A character's row; `None` when it is not written out at length.
#[inline]
pub(super) fn expanding(c: char) -> Option<&'static Expanding> {
    if !BLOCKS.iter().any(|block| block.contains(&c)) {
        return None;
    }
    let at = TABLE.binary_search_by_key(&c, |row| row.from).ok()?;
    TABLE.get(at)
}

impl Expanding {
    fn of(from: char) -> Option<Expanding> {
        let mut parts = 0;
        decompose_compatible(from, |_| parts += 1);
        let text: String = if parts < LONG { return None } else { std::iter::once(from).nfkc().collect() };
        let (end, _) = text.char_indices().rfind(|(_, c)| stands_alone(*c))?;
        if end == 0 || !text.chars().next().is_some_and(stands_alone) {
            return None;
        }
        let (head, end) = text.split_at(end);
        let prepared = |text: &str| [text.to_owned(), text.chars().map(fold_char).nfkc().collect()];
        Some(Expanding { from, head: prepared(head), end: end.to_owned(), plain_end: prepared(end) })
    }
}

/// True when a character composes with none before it, and keeps its place among them.
fn stands_alone(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_long_expansions_are_known() {
        for c in '\0'..=char::MAX {
            let long = std::iter::once(c).nfkc().count() >= LONG;
            assert!(!long || expanding(c).is_some(), "{c:?}");
            let Some(row) = expanding(c) else { continue };
            let whole: String = std::iter::once(c).nfkc().collect();
            assert_eq!(row.head[0].clone() + &row.end, whole);
            // Folding lets no letter compose with what is before it.
            for c in whole.chars().filter(|c| stands_alone(*c)) {
                assert!(stands_alone(fold_char(c)), "{c:?}");
            }
        }
    }
}
