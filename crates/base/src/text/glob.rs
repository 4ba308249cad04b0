//! `like`: a pattern for the whole text, with `*` for any number of characters and `?` for exactly
//! one.
//!
//! `\*`, `\?` and `\\` match the character itself. A backslash before any other character, or at
//! the end, is a literal backslash. Every text is a valid pattern. Characters are Unicode scalar
//! values, and both wildcards match line breaks too.
//!
//! The pattern is split at its stars. The section before the first star must match at the start of
//! the text, and the section after the last star at the end. Each section between two stars is
//! matched at its leftmost position after the preceding section. The leftmost match leaves the most
//! text for the remaining sections, so no backtracking is needed and no pattern takes exponential
//! time.

use memchr::memmem::Finder;

use super::normalize::TextMode;

#[derive(Clone, Debug)]
pub struct Glob {
    /// The pattern before the first star, which must match at the start of the text. If the pattern
    /// has no star, this is the whole pattern.
    first_piece: GlobPiece,
    /// The sections of the pattern (texts between stars) after the first star. `None` if the
    /// pattern has no star.
    rest: Option<StarredRest>,
}

#[derive(Clone, Debug)]
struct StarredRest {
    /// The non-empty sections of the pattern between two stars, in order.
    middle_pieces: Vec<GlobPiece>,
    /// The section of the pattern after the last star, which must match at the end of the text.
    last_piece: GlobPiece,
}

/// A section of a pattern without stars, as a sequence of literals and `?` wildcards. Literals are
/// never empty and never adjacent.
type GlobPiece = Vec<PiecePart>;

#[derive(Clone, Debug)]
enum PiecePart {
    /// A run of `?` wildcards with its length, at least 1.
    Any(usize),
    /// A literal text with a searcher for it.
    Literal(Box<Finder<'static>>, Box<str>),
}

/// A token of a `like` pattern: `*`, `?`, or a literal character.
#[derive(Clone, Copy)]
enum PatternToken {
    Star,
    AnyChar,
    Char(char),
}

fn tokenize_pattern(pattern: &str) -> impl Iterator<Item = PatternToken> {
    let mut chars = pattern.chars().peekable();
    std::iter::from_fn(move || {
        Some(match chars.next()? {
            '*' => PatternToken::Star,
            '?' => PatternToken::AnyChar,
            '\\' => PatternToken::Char(chars.next_if(|c| matches!(c, '*' | '?' | '\\')).unwrap_or('\\')),
            c => PatternToken::Char(c),
        })
    })
}

impl Glob {
    /// Compiles `pattern` to be matched against texts that are normalized and case-folded by
    /// `mode`. Each literal of the pattern is prepared separately in the same way, so that
    /// normalization neither creates nor removes wildcards. A full-width `＊` stays literal.
    pub fn with_mode(pattern: &str, mode: TextMode) -> Glob {
        let mut pieces = vec![PieceBuilder::default()];
        for token in tokenize_pattern(pattern) {
            match (token, pieces.last_mut()) {
                (PatternToken::Star, _) | (_, None) => pieces.push(PieceBuilder::default()),
                (PatternToken::AnyChar, Some(piece)) => piece.push_wildcard(mode),
                (PatternToken::Char(c), Some(piece)) => piece.literal.push(c),
            }
        }
        let mut pieces = pieces.into_iter().map(|piece| piece.finish(mode));
        let first = pieces.next().unwrap_or_default();
        let rest = pieces.next_back().map(|last| StarredRest {
            middle_pieces: pieces.filter(|piece| !piece.is_empty()).collect(),
            last_piece: last,
        });
        Glob { first_piece: first, rest }
    }

    /// Returns the only text that the pattern matches, if the pattern has no wildcards.
    pub fn as_literal(&self) -> Option<&str> {
        match (self.first_piece.as_slice(), &self.rest) {
            ([], None) => Some(""),
            ([PiecePart::Literal(_, text)], None) => Some(text),
            _ => None,
        }
    }

    /// Returns the literals that every matching text contains, normalized and case-folded like the
    /// texts.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        let rest = self.rest.iter().flat_map(|rest| rest.middle_pieces.iter().chain([&rest.last_piece]));
        [&self.first_piece].into_iter().chain(rest).flatten().filter_map(|part| match part {
            PiecePart::Literal(_, text) => Some(&**text),
            PiecePart::Any(_) => None,
        })
    }

    /// Returns an upper bound on the cost of a match, as the number of times that the text may be
    /// read. Only a section between two stars that mixes `?` and literals costs more than one pass
    /// over the text. Each failed attempt to match such a section may compare the whole section.
    pub fn match_cost(&self) -> u64 {
        let may_retry = |piece: &&GlobPiece| {
            let parts =
                if let Some((PiecePart::Any(_), parts)) = piece.split_first() { parts } else { piece };
            parts.len() > 1
        };
        let length = |part: &PiecePart| match part {
            PiecePart::Any(count) => *count as u64,
            PiecePart::Literal(_, text) => text.len() as u64,
        };
        let middle = self.rest.iter().flat_map(|rest| &rest.middle_pieces);
        middle.filter(may_retry).map(|piece| piece.iter().map(length).sum()).max().unwrap_or(1)
    }

    /// True if the whole `text` matches. Allocates nothing. The time is linear in the text, unless
    /// a section of the pattern between two stars mixes `?` and literals. Then the worst case is
    /// the product of the lengths of text and pattern.
    pub fn matches(&self, text: &str) -> bool {
        let Some(text) = strip_matched_start(&self.first_piece, text) else { return false };
        let Some(StarredRest { middle_pieces: middle, last_piece: last }) = &self.rest else {
            return text.is_empty();
        };
        let Some(mut text) = strip_matched_end(last, text) else { return false };
        middle.iter().all(|piece| skip_past_match(piece, text).map(|rest| text = rest).is_some())
    }
}

#[derive(Default)]
struct PieceBuilder {
    parts: Vec<PiecePart>,
    literal: String,
}

impl PieceBuilder {
    fn push_wildcard(&mut self, mode: TextMode) {
        self.end_literal(mode);
        match self.parts.last_mut() {
            Some(PiecePart::Any(count)) => *count += 1,
            _ => self.parts.push(PiecePart::Any(1)),
        }
    }

    fn end_literal(&mut self, mode: TextMode) {
        let text = mode.prepare(&self.literal);
        if !text.is_empty() {
            let finder = Box::new(Finder::new(text.as_bytes()).into_owned());
            self.parts.push(PiecePart::Literal(finder, text.into()));
        }
        self.literal.clear();
    }

    fn finish(mut self, mode: TextMode) -> GlobPiece {
        self.end_literal(mode);
        self.parts
    }
}

/// Matches the literals and `?` wildcards in `parts` at the start of `text`, and returns the text
/// after them; `None` if they do not match.
fn strip_matched_start<'t>(parts: &[PiecePart], text: &'t str) -> Option<&'t str> {
    parts.iter().try_fold(text, |text, part| match part {
        PiecePart::Literal(_, literal) => text.strip_prefix(&**literal),
        PiecePart::Any(count) => skip_chars(text, *count),
    })
}

/// Matches the literals and `?` wildcards in `parts` at the end of `text`, and returns the text
/// before them; `None` if they do not match.
fn strip_matched_end<'t>(parts: &[PiecePart], text: &'t str) -> Option<&'t str> {
    parts.iter().rev().try_fold(text, |text, part| match part {
        PiecePart::Literal(_, literal) => text.strip_suffix(&**literal),
        PiecePart::Any(count) => text.char_indices().nth_back(count - 1).and_then(|(at, _)| text.get(..at)),
    })
}

/// Finds the leftmost match in `text` of the literals and `?` wildcards in `parts`, and returns the
/// text after the match; `None` if there is no match.
fn skip_past_match<'t>(parts: &[PiecePart], text: &'t str) -> Option<&'t str> {
    // A star precedes this piece. A leading `?` therefore only requires that enough characters are
    // left to skip.
    let (mut text, parts) = match parts.split_first() {
        Some((PiecePart::Any(count), parts)) => (skip_chars(text, *count)?, parts),
        _ => (text, parts),
    };
    let Some((PiecePart::Literal(finder, literal), parts)) = parts.split_first() else { return Some(text) };
    let first_len = literal.chars().next().map_or(1, char::len_utf8);
    loop {
        let match_start = finder.find(text.as_bytes())?;
        if let Some(rest) = strip_matched_start(parts, text.get(match_start + literal.len()..)?) {
            return Some(rest);
        }
        text = text.get(match_start + first_len..)?;
    }
}

/// Returns `text` without its first `count` characters, or `None` if it is shorter. `count` is at
/// least 1.
fn skip_chars(text: &str, count: usize) -> Option<&str> {
    let mut chars = text.chars();
    chars.nth(count - 1).map(|_| chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_examples() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "any\nthing", true),
            ("?", "", false),
            ("?", "文", true),
            ("?", "ab", false),
            ("file", "file", true),
            ("file", "a file", false),
            ("*.rs", "main.rs", true),
            ("*.rs", "main.rs.bak", false),
            ("file*", "file_handler", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("*ab?d*", "abab-d!", true),
            ("*a??", "aab", true),
            ("*a??", "aa", false),
            ("*?*?*", "x", false),
            ("*?*?*", "文件", true),
            ("**", "", true),
            ("*文?*", "打开文件吧", true),
            ("*a?b*", "aab", true),
            (r"\*", "*", true),
            (r"\*", "x", false),
            (r"\?\\", r"?\", true),
            (r"C:\dir\\*", r"C:\dir\file", true),
            (r"end\", r"end\", true),
            ("a.c", "abc", false),
            ("(a|b)+", "(a|b)+", true),
            ("A", "a", false),
        ] {
            assert_eq!(
                Glob::with_mode(pattern, TextMode::PLAIN).matches(text),
                expected,
                "{text:?} like {pattern:?}"
            );
        }
    }

    #[test]
    fn text_modes_change_what_matches() {
        use super::super::NormalizationForm;
        let mode = TextMode { folds_case: true, folds_fully: false, form: NormalizationForm::Nfkc };
        for (pattern, text, expected) in [
            ("SHOW *.RS", "Show main.rs", true),
            ("ＣＡＦＥ\u{301}?", "cafés", true),
            ("a＊c", "abc", false),
            ("a＊c", "A*C", true),
        ] {
            let matched = Glob::with_mode(pattern, mode).matches(&mode.prepare(text));
            assert_eq!(matched, expected, "{text:?} like {pattern:?}");
        }
    }

    /// SplitMix64: a small seeded generator with the same output on every machine.
    struct Random(u64);

    impl Random {
        fn number_below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) % n as u64) as usize
        }

        fn random_text(&mut self, alphabet: &[char], max_chars: usize) -> String {
            (0..self.number_below(max_chars + 1))
                .map(|_| alphabet[self.number_below(alphabet.len())])
                .collect()
        }
    }

    /// Returns a regular expression that matches the same texts as the `like` pattern.
    fn pattern_to_regex(pattern: &str) -> String {
        let mut out = String::from("(?s)^");
        for token in tokenize_pattern(pattern) {
            match token {
                PatternToken::Star => out.push_str(".*"),
                PatternToken::AnyChar => out.push('.'),
                PatternToken::Char(c) => out.push_str(&regex_syntax::escape(c.encode_utf8(&mut [0; 4]))),
            }
        }
        out.push('$');
        out
    }

    #[test]
    fn globs_agree_with_regexes() {
        let mut random = Random(42);
        let mut matched = 0;
        for _ in 0..3_000 {
            let pattern = random.random_text(&['a', 'b', '文', '*', '*', '?', '\\', '\n'], 8);
            let glob = Glob::with_mode(&pattern, TextMode::PLAIN);
            let regex = regex::Regex::new(&pattern_to_regex(&pattern)).expect("always valid");
            for _ in 0..20 {
                let text = random.random_text(&['a', 'a', 'b', '文', '\n', '*', '\\'], 10);
                let expected = regex.is_match(&text);
                matched += u32::from(expected);
                assert_eq!(glob.matches(&text), expected, "{text:?} like {pattern:?}");
            }
        }
        assert!(matched > 3_000, "the sample says little: {matched} matches");
    }

    #[test]
    fn hard_patterns_are_quick() {
        let text = "a".repeat(20_000);
        for pattern in [format!("{}b", "a*".repeat(500)), format!("{}b", "*a?".repeat(500)), "*a?b*".into()] {
            assert!(!Glob::with_mode(&pattern, TextMode::PLAIN).matches(&text), "{pattern}");
        }
    }
}
