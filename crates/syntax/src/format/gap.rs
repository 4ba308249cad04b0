//! The gaps between tokens: white space and comments. This module finds the author's line breaks
//! and comments in a gap, and decides whether the formatter writes a space there.

use crate::lex::{self, Token, TokenKind};
use crate::parse::is_operator_or_connective;
use rulec_base::broken_invariant;
use unicode_width::UnicodeWidthStr;

/// The position of a line break. It determines whether a blank line is kept, and how comments
/// before the break are indented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakKind {
    /// A line break after an opening bracket.
    AfterOpening,
    /// A line break between statements, items or elements, where the author may leave a blank line.
    BetweenItems,
    /// A line break before a closing bracket. Comments before the bracket are indented one level
    /// further than the bracket.
    BeforeClosing,
    /// A line break within a statement, where blank lines are removed.
    WithinStatement,
    /// The line break at the end of the file.
    EndOfFile,
}

/// The tokens of a file and the gaps between them. Gap `i` is the text before token `i`. The gap
/// after the last token has the number of tokens as its index.
pub(super) struct TokenGaps<'a> {
    pub(super) text: &'a str,
    tokens: &'a [Token],
    /// For each gap: the number of line breaks, where 2 means two or more, and whether the gap
    /// contains a comment.
    gap_summaries: Vec<(u8, bool)>,
    /// For each token, whether it is a `<` or `>` of a type.
    is_type_angle: Vec<bool>,
}

impl<'a> TokenGaps<'a> {
    pub(super) fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        let mut gaps =
            TokenGaps { text, tokens, gap_summaries: Vec::new(), is_type_angle: vec![false; tokens.len()] };
        gaps.gap_summaries = (0..=tokens.len()).map(|next| summarize_gap(gaps.gap_text(next))).collect();
        gaps.mark_angles();
        gaps
    }

    fn mark_angles(&mut self) {
        let mut open_angles = Vec::new();
        for index in 0..self.tokens.len() {
            match self.token_text(index) {
                "<" if index > 1
                    && matches!(self.token_text(index - 1), "list" | "dict")
                    && matches!(self.token_text(index - 2), ":" | "as" | "=" | "->" | "<") =>
                {
                    open_angles.push(index);
                }
                ">" => {
                    if let Some(start) = open_angles.pop() {
                        (self.is_type_angle[start], self.is_type_angle[index]) = (true, true);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the text between the token with the index `next` and the token before it.
    pub(super) fn gap_text(&self, next: usize) -> &'a str {
        let start =
            next.checked_sub(1).map_or(bom_len(self.text), |previous| self.tokens[previous].end as usize);
        let end = self.tokens.get(next).map_or(self.text.len(), |token| token.start as usize);
        self.text.get(start..end).unwrap_or("")
    }

    /// Returns the number of bytes before the token `next` on its line. `None` if the token does
    /// not begin a line.
    pub(super) fn start_column(&self, next: usize) -> Option<usize> {
        let begins_line = next == 0 || self.line_breaks_before(next) > 0;
        begins_line.then(|| self.gap_text(next).rsplit(['\n', '\u{feff}']).next().map_or(0, str::len))
    }

    /// Returns the comments between the previous token and the token `next`. The bool of a comment
    /// is true if the comment is on the line of the previous token.
    pub(super) fn comments_before(&self, next: usize) -> Vec<(bool, &'a str)> {
        if !self.has_comment_before(next) {
            return Vec::new();
        }
        let (gap, mut on_same_line, mut comments) = (self.gap_text(next), next > 0, Vec::new());
        for token in lex::tokenize(gap, 0) {
            match token.kind {
                TokenKind::Newline => on_same_line = false,
                TokenKind::White | TokenKind::Bom => {}
                _ => comments.push((on_same_line, token.text(gap).trim_end())),
            }
        }
        comments
    }

    /// Returns the number of line breaks between the token `next` and the token before it. Two
    /// means two or more.
    pub(super) fn line_breaks_before(&self, next: usize) -> u8 {
        self.gap_summaries[next].0
    }

    pub(super) fn has_comment_before(&self, next: usize) -> bool {
        self.gap_summaries[next].1
    }

    pub(super) fn token_kind(&self, index: usize) -> Option<TokenKind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    /// Returns the text of the token with this index. Empty past the last token.
    pub(super) fn token_text(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| token.text(self.text))
    }

    /// Returns the width in columns of the first line of a token, and the width of its last line.
    /// The second width is `None` for a token on one line.
    pub(super) fn first_and_last_line_width(&self, index: usize) -> (usize, Option<usize>) {
        let text = self.token_text(index);
        match (text.find('\n'), text.rfind('\n')) {
            (Some(first), Some(last)) => (text[..first].width(), Some(text[last + 1..].width())),
            _ => (text.width(), None),
        }
    }

    /// True if the token at `index` is a word that can be a keyword at its position: it is not a
    /// field after a dot, and not a key before a colon.
    pub(super) fn is_plain_word(&self, index: usize) -> bool {
        self.token_kind(index) == Some(TokenKind::Word)
            && (index == 0 || self.token_kind(index - 1) != Some(TokenKind::Dot))
            && !self.is_key(index)
    }

    /// True if the token at `index` is the name of a field, entry or argument before a colon.
    pub(super) fn is_key(&self, index: usize) -> bool {
        let can_be_key =
            matches!(self.token_kind(index), Some(TokenKind::Word | TokenKind::Quoted | TokenKind::String));
        let after_name = if self.token_text(index + 1) == "?" { index + 2 } else { index + 1 };
        can_be_key && self.token_kind(after_name) == Some(TokenKind::Colon)
    }

    /// True if the token at `index` can be the last token of a value, such as a name or a closing
    /// bracket. A `+` or `-` after it is then usually a binary operator.
    fn ends_value(&self, index: usize) -> bool {
        let Some(kind) = self.token_kind(index) else {
            broken_invariant!("the token before another token exists");
            return false;
        };
        kind.ends_operand()
            && !(self.is_plain_word(index) && is_operator_or_connective(self.token_text(index)))
            || self.is_type_angle[index]
    }

    /// Returns the precedence of a joining operator: `unless`, `or`, `and`, `??`, or a binary `+`
    /// or `-`. An operator with a greater number binds more tightly. `None` for other tokens.
    pub(super) fn precedence_of_joining_operator(&self, index: usize) -> Option<u8> {
        match self.token_text(index) {
            "unless" if self.is_plain_word(index) => Some(0),
            "or" if self.is_plain_word(index) => Some(1),
            "and" if self.is_plain_word(index) => Some(2),
            "??" => Some(3),
            // A hyphen has no spaces, so a line cannot break there.
            "-" if self.is_hyphen(index) => None,
            "+" | "-" if index > 0 && self.ends_value(index - 1) && !self.is_number_sign(index) => Some(4),
            _ => None,
        }
    }

    /// True if the `+` or `-` at `index` is the sign of a number, as in `priority -5` or `rank -1`,
    /// and not a binary operator.
    fn is_number_sign(&self, index: usize) -> bool {
        matches!(self.token_text(index - 1), "priority" | "rank") && self.is_plain_word(index - 1)
    }

    /// True for a `-` between two names without spaces, as in `ctx.a-b`. The checker warns that it
    /// subtracts, and a layout with spaces would hide the mistake.
    fn is_hyphen(&self, index: usize) -> bool {
        let is_word = |index: usize| self.token_kind(index) == Some(TokenKind::Word);
        self.token_text(index) == "-"
            && index > 0
            && is_word(index - 1)
            && is_word(index + 1)
            && self.ends_value(index - 1)
            && self.gap_text(index).is_empty()
            && self.gap_text(index + 1).is_empty()
    }

    /// True if the formatter writes a space before the token. `brackets_are_lists` is true in
    /// statements where a bracket always begins a list, never an index.
    pub(super) fn has_space_before(&self, index: usize, brackets_are_lists: bool) -> bool {
        use TokenKind::{
            At, CloseBrace, CloseBracket, CloseParen, Colon, Comma, Dot, OpenBrace, OpenBracket, OpenParen,
            Semicolon,
        };
        let (Some(previous), Some(current)) =
            (index.checked_sub(1).and_then(|previous| self.token_kind(previous)), self.token_kind(index))
        else {
            return false;
        };
        let (previous_text, text) = (self.token_text(index - 1), self.token_text(index));
        match (previous, current) {
            (OpenParen | OpenBracket | Dot | At, _) | (OpenBrace, CloseBrace) => false,
            (_, CloseParen | CloseBracket | Comma | Semicolon | Colon | Dot) => false,
            _ if text == "?" || matches!(previous_text, ".." | "..=") || matches!(text, ".." | "..=") => {
                false
            }
            _ if self.is_type_angle[index] || self.is_type_angle[index - 1] && previous_text == "<" => false,
            _ if self.is_hyphen(index) || self.is_hyphen(index - 1) => false,
            _ if matches!(previous_text, "-" | "+") => {
                self.precedence_of_joining_operator(index - 1).is_some()
            }
            (_, OpenParen) => !self.is_called_name(index - 1),
            // A value and its index have no space between them.
            (_, OpenBracket) => {
                brackets_are_lists || !previous.ends_operand() || !self.is_followed_by_index(index - 1)
            }
            _ => true,
        }
    }

    /// True if the formatter writes no space between the token at `index` and the `[` after it, as
    /// in `list[0]`. This needs a value before the `[`, and no space in the author's text. The
    /// words `clamp` and `const` also count as values, because a field may have such a name.
    fn is_followed_by_index(&self, index: usize) -> bool {
        let is_value = !self.is_plain_word(index) || !is_operator_or_connective(self.token_text(index));
        self.gap_text(index + 1).is_empty()
            && (is_value || matches!(self.token_text(index), "clamp" | "const"))
    }

    /// True if the token at `index` is a name, so that parentheses after it contain arguments. The
    /// formatter then writes no space before the parentheses.
    fn is_called_name(&self, index: usize) -> bool {
        match self.token_kind(index) {
            Some(TokenKind::Quoted) => true,
            Some(TokenKind::Word) => {
                !self.is_plain_word(index) || !is_operator_or_connective(self.token_text(index))
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
