//! The gap between two tokens: the author's line breaks and comments, and the correct spacing.

use crate::lex::{self, Token, TokenKind};
use crate::parse::is_operator_or_connective;
use unicode_width::UnicodeWidthStr;

/// The position of a possible line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakKind {
    /// A line break after an opening bracket.
    First,
    /// A line break between statements, items or elements, where the author may leave a blank line.
    Between,
    /// A line break before a closing bracket. Comments before the bracket are indented one level
    /// further than the bracket.
    Last,
    /// A line break within a statement, where blank lines are removed.
    Inner,
    /// The line break at the end of the file.
    End,
}

/// The tokens of a file and the gaps between them. Gap `i` is the text before token `i`. The gap
/// after the last token has the number of tokens as its index.
pub(super) struct Gaps<'a> {
    pub(super) text: &'a str,
    tokens: &'a [Token],
    /// For each gap, the number of line breaks (at most two are counted) and whether it contains a
    /// comment.
    lines: Vec<(u8, bool)>,
    /// For each token, whether it is a `<` or `>` of a type.
    angles: Vec<bool>,
}

impl<'a> Gaps<'a> {
    pub(super) fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        let mut gaps = Gaps { text, tokens, lines: Vec::new(), angles: vec![false; tokens.len()] };
        gaps.lines = (0..=tokens.len()).map(|next| summarize_gap(gaps.gap_text(next))).collect();
        gaps.mark_angles();
        gaps
    }

    fn mark_angles(&mut self) {
        let mut open = Vec::new();
        for at in 0..self.tokens.len() {
            match self.token_text(at) {
                "<" if at > 1
                    && matches!(self.token_text(at - 1), "list" | "dict")
                    && matches!(self.token_text(at - 2), ":" | "as" | "=" | "->" | "<") =>
                {
                    open.push(at);
                }
                ">" => {
                    if let Some(start) = open.pop() {
                        (self.angles[start], self.angles[at]) = (true, true);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the text between a token and the token before it.
    pub(super) fn gap_text(&self, next: usize) -> &'a str {
        let start = next.checked_sub(1).map_or(bom_len(self.text), |before| self.tokens[before].end as usize);
        let end = self.tokens.get(next).map_or(self.text.len(), |token| token.start as usize);
        self.text.get(start..end).unwrap_or("")
    }

    /// Returns the number of bytes before a token on its line. `None` if the token does not begin a
    /// line.
    pub(super) fn start_column(&self, next: usize) -> Option<usize> {
        let begins = next == 0 || self.line_breaks_before(next) > 0;
        begins.then(|| self.gap_text(next).rsplit(['\n', '\u{feff}']).next().map_or(0, str::len))
    }

    /// Returns the comments between a token and the previous token. The flag of a comment is true
    /// if the comment is on the same line as the previous token.
    pub(super) fn comments_before(&self, next: usize) -> Vec<(bool, &'a str)> {
        if !self.has_comment_before(next) {
            return Vec::new();
        }
        let (gap, mut behind, mut found) = (self.gap_text(next), next > 0, Vec::new());
        for token in lex::tokenize(gap, 0) {
            match token.kind {
                TokenKind::Newline => behind = false,
                TokenKind::White | TokenKind::Bom => {}
                _ => found.push((behind, token.text(gap).trim_end())),
            }
        }
        found
    }

    /// Returns the number of line breaks before a token, at most two.
    pub(super) fn line_breaks_before(&self, next: usize) -> u8 {
        self.lines[next].0
    }

    pub(super) fn has_comment_before(&self, next: usize) -> bool {
        self.lines[next].1
    }

    pub(super) fn token_kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Returns the text of a token. Empty past the last token.
    pub(super) fn token_text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text(self.text))
    }

    /// Returns the width of a token's first line in columns. For a token of several lines, also
    /// returns the width of its last line.
    pub(super) fn token_width(&self, at: usize) -> (usize, Option<usize>) {
        let text = self.token_text(at);
        match (text.find('\n'), text.rfind('\n')) {
            (Some(first), Some(last)) => (text[..first].width(), Some(text[last + 1..].width())),
            _ => (text.width(), None),
        }
    }

    /// True if a word is used as a keyword: it is not a field after a dot and not a key before a
    /// colon.
    pub(super) fn is_plain_word(&self, at: usize) -> bool {
        self.token_kind(at) == Some(TokenKind::Word)
            && (at == 0 || self.token_kind(at - 1) != Some(TokenKind::Dot))
            && !self.is_key(at)
    }

    /// True for the name of a field, entry or argument that is followed by a colon.
    pub(super) fn is_key(&self, at: usize) -> bool {
        let named =
            matches!(self.token_kind(at), Some(TokenKind::Word | TokenKind::Quoted | TokenKind::String));
        let behind = if self.token_text(at + 1) == "?" { at + 2 } else { at + 1 };
        named && self.token_kind(behind) == Some(TokenKind::Colon)
    }

    /// True if a value may end with this token.
    fn ends_value(&self, at: usize) -> bool {
        let Some(kind) = self.token_kind(at) else { return false };
        kind.ends_operand() && !(self.is_plain_word(at) && is_operator_or_connective(self.token_text(at)))
            || self.angles[at]
    }

    /// Returns the precedence of a joining operator: `unless`, `or`, `and`, `??`, or a binary `+`
    /// or `-`. `None` for other tokens.
    pub(super) fn joining_precedence(&self, at: usize) -> Option<u8> {
        match self.token_text(at) {
            "unless" if self.is_plain_word(at) => Some(0),
            "or" if self.is_plain_word(at) => Some(1),
            "and" if self.is_plain_word(at) => Some(2),
            "??" => Some(3),
            "+" | "-" if at > 0 && self.ends_value(at - 1) && !self.is_signed(at) => Some(4),
            _ => None,
        }
    }

    /// True if the `+` or `-` at `at` is the sign of a number, as in `priority -5` or `rank -1`,
    /// and not a binary operator.
    fn is_signed(&self, at: usize) -> bool {
        matches!(self.token_text(at - 1), "priority" | "rank") && self.is_plain_word(at - 1)
    }

    /// True if there should be a space between a token and the token before it. `lists` is true in
    /// statements where a bracket always begins a list, never an index.
    pub(super) fn has_space(&self, at: usize, lists: bool) -> bool {
        use TokenKind::{
            At, CloseBrace, CloseBracket, CloseParen, Colon, Comma, Dot, OpenBrace, OpenBracket, OpenParen,
            Semicolon,
        };
        let (Some(before), Some(this)) =
            (at.checked_sub(1).and_then(|before| self.token_kind(before)), self.token_kind(at))
        else {
            return false;
        };
        let (first, second) = (self.token_text(at - 1), self.token_text(at));
        match (before, this) {
            (OpenParen | OpenBracket | Dot | At, _) | (OpenBrace, CloseBrace) => false,
            (_, CloseParen | CloseBracket | Comma | Semicolon | Colon | Dot) => false,
            _ if second == "?" || matches!(first, ".." | "..=") || matches!(second, ".." | "..=") => false,
            _ if self.angles[at] || self.angles[at - 1] && first == "<" => false,
            _ if matches!(first, "-" | "+") => self.joining_precedence(at - 1).is_some(),
            (_, OpenParen) => !self.is_name(at - 1),
            // There is no space between an indexed value and its index.
            (_, OpenBracket) => lists || !before.ends_operand() || !self.is_indexed(at - 1),
            _ => true,
        }
    }

    /// True if there should be no space between this token and the `[` after it. The author wrote
    /// no space there, and the token is a value that may be indexed, or `clamp` or `const`.
    fn is_indexed(&self, at: usize) -> bool {
        let is_value = !self.is_plain_word(at) || !is_operator_or_connective(self.token_text(at));
        self.gap_text(at + 1).is_empty() && (is_value || matches!(self.token_text(at), "clamp" | "const"))
    }

    /// True if the token is a name that parentheses with arguments may follow.
    fn is_name(&self, at: usize) -> bool {
        match self.token_kind(at) {
            Some(TokenKind::Quoted) => true,
            Some(TokenKind::Word) => {
                !self.is_plain_word(at) || !is_operator_or_connective(self.token_text(at))
            }
            _ => false,
        }
    }
}

/// Returns the number of bytes of the byte order mark at the start of a file, or 0.
pub(super) fn bom_len(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

fn summarize_gap(gap: &str) -> (u8, bool) {
    let lines = memchr::memchr_iter(b'\n', gap.as_bytes()).take(2).count();
    (lines as u8, gap.contains(['#', '/']))
}
