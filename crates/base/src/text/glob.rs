//! `like`: a pattern for the whole text, with `*` for any run of characters and `?` for exactly one.
//!
//! `\*`, `\?` and `\\` stand for the character itself; a backslash before anything else, or at the end, is a backslash.
//! Every text is a valid pattern. Characters are Unicode scalar values, and both wildcards take line breaks too.
//!
//! The pattern is cut at its stars. The piece before the first star must open the text, the piece after the last must
//! close it, and each piece between is taken at its leftmost place after the one before: taking the leftmost leaves the
//! most text to the rest, so there is nothing to go back to and no pattern takes exponential time.

use memchr::memmem::Finder;

use super::normalize::TextMode;

#[derive(Clone, Debug)]
pub struct Glob {
    /// The piece that the text opens with; the whole of the pattern when it has no star.
    first: Piece,
    /// The pieces behind the first star, if there is one.
    rest: Option<Rest>,
}

#[derive(Clone, Debug)]
struct Rest {
    /// The pieces between two stars, in order; none is empty.
    middle: Vec<Piece>,
    /// The piece that the text closes with.
    last: Piece,
}

/// A stretch of pattern without stars. Literals are never empty, and never adjoin.
type Piece = Vec<Part>;

#[derive(Clone, Debug)]
enum Part {
    /// `?`, so many times, at least once.
    Any(usize),
    /// Literal text, with its searcher.
    Literal(Box<Finder<'static>>, Box<str>),
}

/// One element of a pattern as it is written.
#[derive(Clone, Copy)]
enum Token {
    Star,
    One,
    Char(char),
}

fn tokens(pattern: &str) -> impl Iterator<Item = Token> {
    let mut chars = pattern.chars().peekable();
    std::iter::from_fn(move || {
        Some(match chars.next()? {
            '*' => Token::Star,
            '?' => Token::One,
            '\\' => Token::Char(chars.next_if(|c| matches!(c, '*' | '?' | '\\')).unwrap_or('\\')),
            c => Token::Char(c),
        })
    })
}

impl Glob {
    /// Compiles `pattern`, to be matched against texts prepared in `mode`. Each literal stretch is prepared by itself,
    /// so that normalising neither makes wildcards (full-width `＊` stays literal) nor unmakes them.
    pub fn with_mode(pattern: &str, mode: TextMode) -> Glob {
        let mut pieces = vec![Builder::default()];
        for token in tokens(pattern) {
            match (token, pieces.last_mut()) {
                (Token::Star, _) | (_, None) => pieces.push(Builder::default()),
                (Token::One, Some(piece)) => piece.one(mode),
                (Token::Char(c), Some(piece)) => piece.literal.push(c),
            }
        }
        let mut pieces = pieces.into_iter().map(|piece| piece.finish(mode));
        let first = pieces.next().unwrap_or_default();
        let rest = pieces
            .next_back()
            .map(|last| Rest { middle: pieces.filter(|piece| !piece.is_empty()).collect(), last });
        Glob { first, rest }
    }

    /// The text that alone fits, of a pattern without wildcards.
    pub fn as_literal(&self) -> Option<&str> {
        match (self.first.as_slice(), &self.rest) {
            ([], None) => Some(""),
            ([Part::Literal(_, text)], None) => Some(text),
            _ => None,
        }
    }

    /// Stretches of text that every fitting text holds, prepared as the pattern was.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        let rest = self.rest.iter().flat_map(|rest| rest.middle.iter().chain([&rest.last]));
        [&self.first].into_iter().chain(rest).flatten().filter_map(|part| match part {
            Part::Literal(_, text) => Some(&**text),
            Part::Any(_) => None,
        })
    }

    /// The number of passes over a text that a search may take: more than one where a piece between two stars mixes
    /// `?` and text, for then a place that does not fit is left after as much as the piece.
    pub fn weight(&self) -> u64 {
        let goes_back = |piece: &&Piece| {
            let parts = if let Some((Part::Any(_), parts)) = piece.split_first() { parts } else { piece };
            parts.len() > 1
        };
        let length = |part: &Part| match part {
            Part::Any(count) => *count as u64,
            Part::Literal(_, text) => text.len() as u64,
        };
        let middle = self.rest.iter().flat_map(|rest| &rest.middle);
        middle.filter(goes_back).map(|piece| piece.iter().map(length).sum()).max().unwrap_or(1)
    }

    /// True when the whole of `text` fits. Allocates nothing. One pass, unless a piece mixes `?` and text between two
    /// stars; then at worst the product of both lengths.
    pub fn matches(&self, text: &str) -> bool {
        let Some(text) = strip_start(&self.first, text) else { return false };
        let Some(Rest { middle, last }) = &self.rest else { return text.is_empty() };
        let Some(mut text) = strip_end(last, text) else { return false };
        middle.iter().all(|piece| skip_past(piece, text).map(|rest| text = rest).is_some())
    }
}

#[derive(Default)]
struct Builder {
    parts: Vec<Part>,
    literal: String,
}

impl Builder {
    fn one(&mut self, mode: TextMode) {
        self.end_literal(mode);
        match self.parts.last_mut() {
            Some(Part::Any(count)) => *count += 1,
            _ => self.parts.push(Part::Any(1)),
        }
    }

    fn end_literal(&mut self, mode: TextMode) {
        let text = mode.prepare(&self.literal);
        if !text.is_empty() {
            let finder = Box::new(Finder::new(text.as_bytes()).into_owned());
            self.parts.push(Part::Literal(finder, text.into()));
        }
        self.literal.clear();
    }

    fn finish(mut self, mode: TextMode) -> Piece {
        self.end_literal(mode);
        self.parts
    }
}

/// The rest of `text` after the parts at its start.
fn strip_start<'t>(parts: &[Part], text: &'t str) -> Option<&'t str> {
    parts.iter().try_fold(text, |text, part| match part {
        Part::Literal(_, literal) => text.strip_prefix(&**literal),
        Part::Any(count) => skip_chars(text, *count),
    })
}

/// The rest of `text` before the parts at its end.
fn strip_end<'t>(parts: &[Part], text: &'t str) -> Option<&'t str> {
    parts.iter().rev().try_fold(text, |text, part| match part {
        Part::Literal(_, literal) => text.strip_suffix(&**literal),
        Part::Any(count) => text.char_indices().nth_back(count - 1).and_then(|(at, _)| text.get(..at)),
    })
}

/// The rest of `text` after the leftmost place of the parts in it.
fn skip_past<'t>(parts: &[Part], text: &'t str) -> Option<&'t str> {
    // After a star, a leading `?` only says that as many characters must be there to skip.
    let (mut text, parts) = match parts.split_first() {
        Some((Part::Any(count), parts)) => (skip_chars(text, *count)?, parts),
        _ => (text, parts),
    };
    let Some((Part::Literal(finder, literal), parts)) = parts.split_first() else { return Some(text) };
    let first_len = literal.chars().next().map_or(1, char::len_utf8);
    loop {
        let at = finder.find(text.as_bytes())?;
        if let Some(rest) = strip_start(parts, text.get(at + literal.len()..)?) {
            return Some(rest);
        }
        text = text.get(at + first_len..)?;
    }
}

/// `text` without its first `count` characters, if it has that many; `count` is at least 1.
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
    fn modes() {
        use super::super::Form;
        let mode = TextMode { fold: true, form: Form::Nfkc };
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

    /// SplitMix64: small, seeded, the same on every machine.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) % n as u64) as usize
        }

        fn text(&mut self, alphabet: &[char], longest: usize) -> String {
            (0..self.below(longest + 1)).map(|_| alphabet[self.below(alphabet.len())]).collect()
        }
    }

    /// The regular expression that matches the same texts as `pattern`.
    fn to_regex(pattern: &str) -> String {
        let mut out = String::from("(?s)^");
        for token in tokens(pattern) {
            match token {
                Token::Star => out.push_str(".*"),
                Token::One => out.push('.'),
                Token::Char(c) => out.push_str(&regex_syntax::escape(c.encode_utf8(&mut [0; 4]))),
            }
        }
        out.push('$');
        out
    }

    #[test]
    fn agrees_with_its_regex() {
        let mut random = Random(42);
        let mut matched = 0;
        for _ in 0..3_000 {
            let pattern = random.text(&['a', 'b', '文', '*', '*', '?', '\\', '\n'], 8);
            let glob = Glob::with_mode(&pattern, TextMode::PLAIN);
            let regex = regex::Regex::new(&to_regex(&pattern)).expect("always valid");
            for _ in 0..20 {
                let text = random.text(&['a', 'a', 'b', '文', '\n', '*', '\\'], 10);
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
