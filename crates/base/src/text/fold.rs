//! Simple Unicode case folding, so that `ignoring case` treats keywords as `(?i)` treats regular
//! expressions.
//!
//! Two characters are equal exactly if `(?i)` of the `regex` crate treats them as equal. The
//! equivalence is read from `regex-syntax` on first use and not copied, so an update of that crate
//! changes keywords and regular expressions together. Folding maps one character to one character:
//! `ß` and `ẞ` are equal, `ß` and `ss` are not.
//!
//! Each class of equal characters has one representative. The representative is the member that is
//! unchanged by upper-casing and then lower-casing: `k` for `k`, `K` and the Kelvin sign, `σ` for
//! `σ Σ ς`. If there is no such member, it is the member with the lowest code point. The lowest
//! code point alone would not do: `ι` would fold to the combining mark U+0345. If the folded text
//! is normalized afterwards, normalization would attach this mark to the preceding letter.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Number of characters per page of [`FoldTable`]. The size bounds memory and is not tuned. With
/// pages of this size, the table has about forty pages of 1 KB.
const PAGE_CHARS: usize = 256;

/// A two-level table that maps a character to its folded form. A page has the folded forms of 256
/// consecutive characters. `page_numbers[c / 256]` is 0 if no character of the page folds.
/// Otherwise it is the index of the page in `pages` plus one.
struct FoldTable {
    page_numbers: Vec<u8>,
    pages: Vec<[char; PAGE_CHARS]>,
}

static FOLD_TABLE: LazyLock<FoldTable> = LazyLock::new(FoldTable::build);

impl FoldTable {
    /// Builds the table from the equivalence of characters in `regex-syntax`. Only characters that
    /// some case mapping changes are looked up: every character that equals another one when case
    /// is ignored is among them. A test checks this for every character.
    fn build() -> FoldTable {
        let mut table = FoldTable { page_numbers: Vec::new(), pages: Vec::new() };
        for c in cased_chars() {
            let class = chars_equal_to(c);
            let representative = class_representative(&class);
            if representative != c {
                table.set_folded_form(c, representative);
            }
        }
        table
    }

    fn set_folded_form(&mut self, c: char, folded: char) {
        let (page, offset) = (c as usize / PAGE_CHARS, c as usize % PAGE_CHARS);
        if self.page_numbers.len() <= page {
            self.page_numbers.resize(page + 1, 0);
        }
        if self.page_numbers[page] == 0 {
            let first = (page * PAGE_CHARS) as u32;
            self.pages.push(std::array::from_fn(|i| char::from_u32(first + i as u32).unwrap_or_default()));
            // The characters that fold lie on about forty pages. A test counts the pages, so the
            // conversion never fails.
            self.page_numbers[page] = u8::try_from(self.pages.len()).unwrap_or(0);
        }
        if let Some(page) = self.pages.get_mut((self.page_numbers[page] as usize).wrapping_sub(1)) {
            page[offset] = folded;
        }
    }

    #[inline]
    fn folded(&self, c: char) -> char {
        match self.page_numbers.get(c as usize / PAGE_CHARS) {
            None | Some(0) => c,
            Some(&page) => self.pages.get(page as usize - 1).map_or(c, |page| page[c as usize % PAGE_CHARS]),
        }
    }
}

/// Returns every character that some Unicode case mapping (to upper, lower or title case) changes.
fn cased_chars() -> impl Iterator<Item = char> {
    let class = match regex_syntax::parse(r"[\p{Changes_When_Casemapped}]").map(|hir| hir.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // Does not happen while the Unicode property exists. Checking every character is slow but
        // correct.
        _ => ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]),
    };
    class.ranges().to_vec().into_iter().flat_map(|range| range.start()..=range.end())
}

/// Returns the characters that `(?i)` treats as equal to `c`, including `c`, in ascending order.
fn chars_equal_to(c: char) -> ClassUnicode {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    // Fails only if the case tables are compiled out. Then nothing folds, as in `regex` itself.
    let _ = class.try_case_fold_simple();
    class
}

fn class_representative(class: &ClassUnicode) -> char {
    let members = || class.ranges().iter().flat_map(|range| range.start()..=range.end());
    let round_trips =
        |c: &char| only_char(c.to_uppercase()).and_then(|up| only_char(up.to_lowercase())) == Some(*c);
    members().find(round_trips).or_else(|| members().next()).unwrap_or_default()
}

/// Returns the only character of `chars`, if there is exactly one.
fn only_char(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

/// Returns the representative of the characters equal to `c` when case is ignored; `a` to `z` for
/// ASCII letters.
///
/// Idempotent. `fold_char(a) == fold_char(b)` exactly if `(?i)a` matches `b`.
#[inline]
pub fn fold_char(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { FOLD_TABLE.folded(c) }
}

/// Returns the full case folding of `c`, which has one to three characters: `ß` and `ẞ` become
/// `ss`, `İ` becomes `i` and a combining dot. Folding these characters again changes nothing.
///
/// Unicode's full folding differs from its simple folding exactly where a case mapping has several
/// characters. The standard library has these mappings.
pub fn full_fold(c: char) -> impl Iterator<Item = char> {
    let folded = fold_char(c);
    let mut chars = [Some(folded), None, None];
    if !folded.is_ascii() {
        let (lower, upper) = (folded.to_lowercase(), folded.to_uppercase());
        if lower.len() > 1 {
            chars.iter_mut().zip(lower).for_each(|(own, c)| *own = Some(c));
        } else if upper.len() > 1 {
            chars.iter_mut().zip(upper).for_each(|(own, c)| *own = Some(fold_char(c)));
        }
    }
    chars.into_iter().flatten()
}

/// Which characters equal a given character when case is ignored. The index uses the answer to
/// decide how it searches for a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseEquivalents {
    /// No other character equals the character when case is ignored.
    Itself,
    /// When case is ignored, exactly one other character equals the character: the same ASCII
    /// letter in the other case.
    AsciiCases,
    /// When case is ignored, several other characters equal the character, or one beyond ASCII
    /// does.
    More,
}

/// Returns which characters equal `c` when case is ignored.
pub fn case_equivalents(c: char) -> CaseEquivalents {
    let class = chars_equal_to(c);
    let mut members = class.ranges().iter().flat_map(|range| range.start()..=range.end());
    match (members.next(), members.next(), members.next()) {
        (Some(_), None, None) => CaseEquivalents::Itself,
        (Some(_), Some(other), None) if other.is_ascii() => CaseEquivalents::AsciiCases,
        _ => CaseEquivalents::More,
    }
}

/// The first UTF-8 bytes of the characters from U+3000 to U+9FFF, which are Chinese and Japanese.
/// Each of these characters takes three bytes, and none of them folds.
const UNFOLDED_LEAD_BYTES: std::ops::RangeInclusive<u8> = 0xE3..=0xE9;

/// True if the byte begins a multi-byte character that may fold. ASCII letters are handled
/// separately.
#[inline(always)]
fn may_fold(byte: u8) -> bool {
    (byte >= 0xC0)
        & (byte.wrapping_sub(*UNFOLDED_LEAD_BYTES.start())
            > UNFOLDED_LEAD_BYTES.end() - UNFOLDED_LEAD_BYTES.start())
}

/// Number of bytes that a vectorized loop processes at once: the width of a 256-bit register.
const CHUNK_BYTES: usize = 32;

/// True if [`may_fold`] is true for any byte. The loop has no early exit, so that the compiler
/// vectorizes it. The last chunk overlaps the previous one. A separate loop for the remaining bytes
/// would take longer than all chunks together.
fn any_may_fold(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<CHUNK_BYTES>() else {
        return bytes.iter().fold(0, |combined, byte| combined | u8::from(may_fold(*byte))) != 0;
    };
    let mut combined = [0; CHUNK_BYTES];
    for chunk in bytes.as_chunks().0.iter().chain([last]) {
        for (combined, byte) in combined.iter_mut().zip(chunk) {
            *combined |= u8::from(may_fold(*byte));
        }
    }
    combined != [0; CHUNK_BYTES]
}

/// True if all bytes are ASCII. Long texts are checked in vectorized chunks, short texts in machine
/// words.
#[inline]
fn all_ascii(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<CHUNK_BYTES>() {
        let mut combined = *last;
        for chunk in bytes.as_chunks::<CHUNK_BYTES>().0 {
            for (combined, byte) in combined.iter_mut().zip(chunk) {
                *combined |= byte;
            }
        }
        return combined.iter().fold(0, |combined, byte| combined | byte) < 0x80;
    }
    let to_word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let combined = match bytes.last_chunk() {
        Some(last) => {
            bytes.as_chunks().0.iter().fold(to_word(last), |combined, next| combined | to_word(next))
        }
        None => u64::from(bytes.iter().fold(0, |combined, byte| combined | byte)),
    };
    combined & 0x8080_8080_8080_8080 == 0
}

/// Appends `text` to `out` with each character folded. Allocates only if `out` has to grow.
pub fn fold_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    if all_ascii(bytes) || !any_may_fold(bytes) {
        return push_ascii_folded(text, out);
    }
    let (mut copied, mut at) = (0, 0);
    // Skips runs of text in which only ASCII letters fold. Only the characters between these runs
    // are looked up in the table.
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii() {
            let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_ne_bytes);
            at += if word.is_some_and(|word| word & 0x8080_8080_8080_8080 == 0) { 8 } else { 1 };
        } else if UNFOLDED_LEAD_BYTES.contains(&byte) {
            at += 3;
        } else {
            let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                crate::broken_invariant!("`at` is where a character of the text begins");
                break;
            };
            let folded = FOLD_TABLE.folded(c);
            if folded != c {
                push_ascii_folded(&text[copied..at], out);
                out.push(folded);
                copied = at + c.len_utf8();
            }
            at += c.len_utf8();
        }
    }
    push_ascii_folded(&text[copied..], out);
}

/// Spaces that are appended to a text before it is lower-cased in chunks of this length. Without
/// the padding, the bytes after the last whole chunk would be lower-cased one by one.
const CHUNK_PADDING: &str = "                                ";

/// Appends `run` in lower case to `out`, by whole machine words. Only ASCII letters may fold in
/// `run`.
fn push_ascii_folded(run: &str, out: &mut String) {
    let start = out.len();
    out.push_str(run);
    // The run is padded to whole chunks, because the bytes of a remainder would be processed one by
    // one. The padding has a constant length, because a copy of known size needs no function call.
    out.push_str(CHUNK_PADDING);
    out[start..start + run.len().next_multiple_of(CHUNK_PADDING.len())].make_ascii_lowercase();
    out.truncate(start + run.len());
}

/// Writes `text` into `buffer` with its ASCII letters folded. Returns false if the text is too long
/// for `buffer` or contains other characters that may fold. If the result is false, the contents of
/// `buffer` are not usable.
#[inline]
pub fn fold_into_slice(text: &[u8], buffer: &mut [u8]) -> bool {
    let Some(buffer) = buffer.get_mut(..text.len()) else { return false };
    let combined = match text.len() {
        16.. => lowercase_in_chunks::<16>(text, buffer),
        8..16 => lowercase_in_chunks::<8>(text, buffer),
        _ => lowercase_in_chunks::<1>(text, buffer),
    };
    combined.is_ascii() || !any_may_fold(text)
}

/// Lower-cases a chunk into `to`, and adds its bytes to `combined` by bitwise OR. This is a
/// function and no closure, because a closure cannot ask to be inlined. Calls would take 3 % of a
/// decision over many texts.
#[inline(always)]
fn lowercase_chunk<const N: usize>(from: &[u8; N], to: &mut [u8; N], combined: &mut [u8; N]) {
    for ((from, to), combined) in from.iter().zip(to).zip(combined) {
        *combined |= from;
        *to = from.to_ascii_lowercase();
    }
}

/// Lower-cases `text` in chunks of `N` bytes; the last chunk overlaps the previous one. Returns the
/// bitwise OR of all bytes, which shows whether the text is ASCII.
#[inline(always)]
fn lowercase_in_chunks<const N: usize>(text: &[u8], out: &mut [u8]) -> u8 {
    let mut combined = [0; N];
    for (from, to) in text.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        lowercase_chunk(from, to, &mut combined);
    }
    if let (Some(from), Some(to)) = (text.last_chunk(), out.last_chunk_mut()) {
        lowercase_chunk(from, to, &mut combined);
    }
    combined.iter().fold(0, |combined, byte| combined | byte)
}

pub fn fold_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

pub fn is_folded(text: &str) -> bool {
    if text.is_ascii() {
        return !text.bytes().any(|b| b.is_ascii_uppercase());
    }
    text.chars().all(|c| fold_char(c) == c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn folds_examples() {
        for (text, expected) in [
            ("", ""),
            ("Show FILES 42", "show files 42"),
            ("CAFÉ café", "café café"),
            ("ΣΊΣΥΦΟΣ σίσυφος", "σίσυφοσ σίσυφοσ"),
            ("\u{212a}elvin \u{17f}t", "kelvin st"),
            ("STRASSE Straße STRAẞE", "strasse straße straße"),
            ("İstanbul ISTANBUL ıstanbul", "İstanbul istanbul ıstanbul"),
            ("\u{345}Ιι\u{1fbe}", "ιιιι"),
            ("文件 ПРИВЕТ 文A件", "文件 привет 文a件"),
            ("\u{10400}\u{10428}", "\u{10428}\u{10428}"),
        ] {
            assert_eq!(fold_text(text), expected, "{text}");
            let mut out = String::from("kept ");
            fold_into(text, &mut out);
            assert_eq!(out, format!("kept {expected}"), "appending {text}");
            assert_eq!(is_folded(text), text == expected, "is_folded {text}");
        }
    }

    /// Covers texts of whole chunks, of overlapping chunks and of a few bytes. A non-ASCII
    /// character that folds is rejected at every position.
    #[test]
    fn folds_into_fixed_buffers() {
        let mut room = [b'#'; 64];
        for length in 0..70 {
            let text: String = ('@'..='{').cycle().skip(length).take(length).collect();
            assert_eq!(fold_into_slice(text.as_bytes(), &mut room), length <= 64, "{length}");
            if length <= 64 {
                assert_eq!(room[..length], *fold_text(&text).as_bytes());
            }
            for at in 0..length {
                for (odd, folds) in [("文", false), ("é", true), ("\u{212a}", true), ("Ａ", true)] {
                    let text = format!("{}{odd}{}", &text[..at], &text[at..]);
                    let within = fold_into_slice(text.as_bytes(), &mut room);
                    assert_eq!(within, text.len() <= 64 && !folds, "{text:?}");
                    if within {
                        assert_eq!(room[..text.len()], *fold_text(&text).as_bytes());
                    }
                }
            }
        }
    }

    /// Covers texts whose length is not a multiple of the chunk size. Their last chunk overlaps the
    /// previous one.
    #[test]
    fn folding_characters_are_found_at_every_offset() {
        for length in (0..50).chain(250..280) {
            for at in 0..=length {
                let text = |c: char| format!("{}{c}{}", "a".repeat(at), "b".repeat(length - at));
                assert_eq!(fold_text(&text('É')), text('é'));
            }
        }
    }

    /// Checks every character: two characters have the same representative exactly if
    /// `regex-syntax` puts them in one class.
    #[test]
    fn folding_agrees_with_regex() {
        let mut by_representative: HashMap<char, Vec<char>> = HashMap::new();
        for c in '\0'..=char::MAX {
            let to = fold_char(c);
            assert_eq!(fold_char(to), to, "{c:?} is not folded in one step");
            assert!(!to.is_ascii_uppercase(), "{c:?}");
            by_representative.entry(to).or_default().push(c);
        }
        for (to, members) in by_representative {
            let class = chars_equal_to(to);
            let expected: Vec<char> = class.ranges().iter().flat_map(|r| r.start()..=r.end()).collect();
            assert_eq!(members, expected, "the class of {to:?}");
        }
    }

    #[test]
    fn skipped_characters_do_not_fold() {
        for c in '\u{3000}'..='\u{9fff}' {
            assert!(UNFOLDED_LEAD_BYTES.contains(&c.to_string().as_bytes()[0]) && fold_char(c) == c, "{c:?}");
        }
        assert!(
            !UNFOLDED_LEAD_BYTES.contains(&"\u{2fff}".as_bytes()[0])
                && !UNFOLDED_LEAD_BYTES.contains(&"\u{a000}".as_bytes()[0])
        );
    }

    #[test]
    fn equal_characters_are_counted() {
        for (of, expected) in [
            ("0-_ {查件", CaseEquivalents::Itself),
            ("abcXYZ", CaseEquivalents::AsciiCases),
            ("kKsS\u{212a}\u{17f}éÉßσ", CaseEquivalents::More),
        ] {
            of.chars().for_each(|c| assert_eq!(case_equivalents(c), expected, "{c:?}"));
        }
    }

    /// Compares full folding with the `caseless` crate. Both implementations follow Unicode, but
    /// they choose different representatives of equal characters. So the test folds the result of
    /// that crate once more before it compares.
    #[test]
    fn folds_fully_as_another_implementation_does() {
        let mut several = 0;
        for c in '\0'..=char::MAX {
            let folded: String = full_fold(c).collect();
            let expected = fold_text(&caseless::default_case_fold_str(&c.to_string())).to_string();
            assert_eq!(folded, expected, "{c:?}");
            assert_eq!(folded.chars().flat_map(full_fold).collect::<String>(), folded, "{c:?}: twice");
            several += usize::from(folded.chars().count() > 1);
        }
        assert!(several > 100, "{several}");
    }

    #[test]
    fn fold_table_stays_small() {
        let table = FoldTable::build();
        assert!(table.pages.len() < 100, "{} pages", table.pages.len());
    }
}
