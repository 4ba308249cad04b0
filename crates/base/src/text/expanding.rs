//! Characters whose NFKC form is long, such as `㍿`, which becomes `株式会社`. Each expansion is
//! computed once per process. A 16 MB message full of `ﷺ` would otherwise take seconds, because
//! each `ﷺ` expands to eighteen letters.

use std::sync::LazyLock;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::fold::fold_char;

/// The Unicode blocks of all characters with a long expansion (NFKC form). A test over all
/// characters checks that no block is missing.
const EXPANDING_BLOCKS: [std::ops::RangeInclusive<char>; 3] =
    ['\u{2000}'..='\u{33ff}', '\u{fb50}'..='\u{fdff}', '\u{1f100}'..='\u{1f2ff}'];
/// Minimum number of characters of an expansion (the NFKC form of a character) that counts as long.
const MIN_EXPANSION_CHARS: usize = 4;

/// A character whose NFKC form (its expansion) is long, at least [`MIN_EXPANSION_CHARS`]. The
/// expansion is divided into a head and an end. In each array, entry 0 is the NFKC form of a part,
/// and entry 1 is that form case-folded.
pub(super) struct ExpandingChar {
    character: char,
    /// The head: the characters of the expansion before `end_text`. Entry 0 is not case-folded,
    /// entry 1 is.
    pub head_forms: [String; 2],
    /// The end of the expansion: its characters may compose with the text that follows the
    /// expansion, so the end is normalized together with this text. The end begins at the last
    /// character of the expansion that does not compose with preceding characters.
    pub end_text: String,
    /// The NFKC form of the end alone, used if no text follows that could compose with the end.
    /// Entry 0 is not case-folded, entry 1 is.
    pub end_forms: [String; 2],
}

static EXPANDING_CHARS: LazyLock<Vec<ExpandingChar>> =
    LazyLock::new(|| EXPANDING_BLOCKS.into_iter().flatten().filter_map(ExpandingChar::from_char).collect());

/// Returns the expansion (NFKC form) of a character, or `None` if the expansion has fewer than
/// [`MIN_EXPANSION_CHARS`] characters.
#[inline]
pub(super) fn find_expanding_char(c: char) -> Option<&'static ExpandingChar> {
    if !EXPANDING_BLOCKS.iter().any(|block| block.contains(&c)) {
        return None;
    }
    let index = EXPANDING_CHARS.binary_search_by_key(&c, |entry| entry.character).ok()?;
    EXPANDING_CHARS.get(index)
}

impl ExpandingChar {
    fn from_char(character: char) -> Option<ExpandingChar> {
        let mut part_count = 0;
        decompose_compatible(character, |_| part_count += 1);
        let text: String = if part_count < MIN_EXPANSION_CHARS {
            return None;
        } else {
            std::iter::once(character).nfkc().collect()
        };
        let (end, _) = text.char_indices().rfind(|(_, c)| is_normalization_boundary(*c))?;
        if end == 0 || !text.chars().next().is_some_and(is_normalization_boundary) {
            return None;
        }
        let (head, end) = text.split_at(end);
        let unfolded_and_folded =
            |text: &str| [text.to_owned(), text.chars().map(fold_char).nfkc().collect()];
        Some(ExpandingChar {
            character,
            head_forms: unfolded_and_folded(head),
            end_text: end.to_owned(),
            end_forms: unfolded_and_folded(end),
        })
    }
}

/// True if normalization neither composes the character with preceding characters nor moves the
/// character before them.
fn is_normalization_boundary(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_long_expansions_are_known() {
        for c in '\0'..=char::MAX {
            let long = std::iter::once(c).nfkc().count() >= MIN_EXPANSION_CHARS;
            assert!(!long || find_expanding_char(c).is_some(), "{c:?}");
            let Some(row) = find_expanding_char(c) else { continue };
            let whole: String = std::iter::once(c).nfkc().collect();
            assert_eq!(row.head_forms[0].clone() + &row.end_text, whole);
            // Folding must not create a letter that composes with the preceding one.
            for c in whole.chars().filter(|c| is_normalization_boundary(*c)) {
                assert!(is_normalization_boundary(fold_char(c)), "{c:?}");
            }
        }
    }
}
