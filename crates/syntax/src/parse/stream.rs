//! The significant tokens of a file, each with its code. A code is one character that identifies a
//! keyword, a symbol or a kind of token. The grammar reads these codes, and so does the module
//! `splitter`, which splits the file into statements.
//!
//! A large file is divided into parts at line starts, and each thread tokenizes one part. Only raw
//! strings extend over line ends. So a part is tokenized again only if a raw string of the
//! preceding part extends into it; it then begins at the end of the string.

use super::terminals;
use crate::lex::{self, Token, TokenKind};
use rulec_base::parallel;

/// A token that is neither white space nor a comment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SignificantToken {
    pub(super) token: Token,
    /// Number of bytes before the token on its line if the token starts the line, otherwise
    /// [`SignificantToken::NOT_AT_LINE_START`].
    indent: u32,
}

impl SignificantToken {
    const NOT_AT_LINE_START: u32 = u32::MAX;

    /// Returns the number of bytes before the token on its line. `None` if the token does not start
    /// the line.
    pub(super) fn indent(&self) -> Option<u32> {
        (self.indent != Self::NOT_AT_LINE_START).then_some(self.indent)
    }
}

/// The significant tokens (neither white space nor comments) of a text, with their codes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TokenStream {
    pub(super) significant: Vec<SignificantToken>,
    pub(super) token_codes: String,
    /// The tokens whose characters need checks: tokens with non-ASCII characters, tokens that are
    /// not allowed in any statement, and `//` comments.
    pub(super) suspicious_tokens: Vec<Token>,
}

/// Rough size of a statement in bytes. The size of a file divided by it estimates the number of
/// statements.
pub(super) const MEAN_STATEMENT_BYTES: usize = 100;

/// Tokenizes a text in `parts` parts of similar length, each on its own thread.
pub(super) fn tokenize_in_parts(text: &str, parts: usize) -> TokenStream {
    let mut starts: Vec<usize> = (0..parts)
        .map(|part| text.len() / parts * part)
        .map(|offset| {
            memchr::memchr(b'\n', &text.as_bytes()[offset..]).map_or(text.len(), |line| offset + line + 1)
        })
        .collect();
    starts[0] = 0;
    starts.dedup();
    let part_end = |part: usize| starts.get(part + 1).copied().unwrap_or(text.len());
    let parts = parallel::map_in_parallel(0..starts.len(), |part| {
        TokenizedPart::tokenize(text, starts[part], part_end(part))
    });
    let mut parts = parts.into_iter().enumerate();
    let mut merged = parts.next().map(|(_, first)| first).unwrap_or_default();
    for (index, part) in parts {
        let is_aligned = merged.end_offset == starts[index];
        merged.append(if is_aligned {
            part
        } else {
            TokenizedPart::tokenize(text, merged.end_offset, part_end(index))
        });
    }
    // The codes are ASCII characters.
    let codes = String::from_utf8(merged.token_codes).unwrap_or_default();
    TokenStream {
        significant: merged.significant,
        token_codes: codes,
        suspicious_tokens: merged.suspicious_tokens,
    }
}

/// The tokens of one part of a text. Each part is tokenized by one thread.
#[derive(Default)]
struct TokenizedPart {
    significant: Vec<SignificantToken>,
    token_codes: Vec<u8>,
    suspicious_tokens: Vec<Token>,
    end_offset: usize,
}

impl TokenizedPart {
    /// Tokenizes one part of a text: all tokens that begin from `start_offset` up to `end_offset`,
    /// exclusive. A token must begin at `start_offset`.
    fn tokenize(text: &str, start_offset: usize, end_offset: usize) -> TokenizedPart {
        // White space separates most tokens, and few tokens are shorter than two bytes.
        let capacity = end_offset.saturating_sub(start_offset) / 5 + 1;
        let mut part = TokenizedPart {
            significant: Vec::with_capacity(capacity),
            token_codes: Vec::with_capacity(capacity),
            ..TokenizedPart::default()
        };
        part.end_offset = start_offset;
        let starts_line = start_offset == 0 || text.as_bytes()[start_offset - 1] == b'\n';
        let mut line_start = starts_line.then_some(start_offset as u32);
        let mut previous = None;
        let mut next_non_ascii = find_non_ascii(text, start_offset);
        for token in lex::tokenize(text, start_offset).take_while(|token| (token.start as usize) < end_offset)
        {
            let is_ascii = token.end as usize <= next_non_ascii;
            if !is_ascii {
                next_non_ascii = self::find_non_ascii(text, token.end as usize);
            }
            if !is_ascii || token.kind.is_unreadable() || token.kind == TokenKind::SlashComment {
                part.suspicious_tokens.push(token);
            }
            match token.kind {
                TokenKind::Newline | TokenKind::Bom => line_start = Some(token.end),
                kind if kind.is_trivia() => {}
                _ => {
                    let indent = line_start
                        .take()
                        .map_or(SignificantToken::NOT_AT_LINE_START, |start| token.start - start);
                    let code = terminals::token_code(token, token.text(text), previous);
                    part.mark_member_dot(code);
                    part.significant.push(SignificantToken { token, indent });
                    part.token_codes.push(code);
                }
            }
            previous = Some(token);
            part.end_offset = token.end as usize;
        }
        part
    }

    /// Changes the code of the last token from `DOT` to `MEMBER_DOT` if the next token is a name
    /// that is not reserved. The grammar then reads the dot and the name as one unit. `next` is the
    /// code of the next token.
    fn mark_member_dot(&mut self, next: u8) {
        if let Some(dot) = self.token_codes.last_mut().filter(|last| **last == terminals::DOT)
            && terminals::can_be_field_name(next)
        {
            *dot = terminals::MEMBER_DOT;
        }
    }

    /// Appends the tokens of the next part of the text, which another thread tokenized.
    fn append(&mut self, next: TokenizedPart) {
        if let Some(first) = next.token_codes.first() {
            self.mark_member_dot(*first);
        }
        self.significant.extend(next.significant);
        self.token_codes.extend(next.token_codes);
        self.suspicious_tokens.extend(next.suspicious_tokens);
        self.end_offset = self.end_offset.max(next.end_offset);
    }
}

/// Returns the offset of the first non-ASCII byte at or after `offset`; the length of the text if
/// there is none.
fn find_non_ascii(text: &str, offset: usize) -> usize {
    let rest = &text.as_bytes()[offset..];
    // Whole ASCII blocks are skipped quickly.
    let blocks = rest.chunks(64).take_while(|block| block.is_ascii()).count();
    let rest = rest.get(blocks * 64..).unwrap_or_default();
    rest.iter()
        .position(|byte| !byte.is_ascii())
        .map_or(text.len(), |position| offset + blocks * 64 + position)
}

/// True if every bracket is closed by a bracket of its kind, in the right order.
pub(super) fn has_balanced_brackets(kinds: impl IntoIterator<Item = TokenKind>) -> bool {
    let mut open_brackets = Vec::new();
    for kind in kinds {
        if kind.opens_bracket() {
            open_brackets.push(kind);
        } else if kind.closes_bracket() && open_brackets.pop().map(closing_kind) != Some(kind) {
            return false;
        }
    }
    open_brackets.is_empty()
}

/// Returns the kind of the bracket that closes an opening bracket.
pub(super) fn closing_kind(kind: TokenKind) -> TokenKind {
    match kind {
        TokenKind::OpenParen => TokenKind::CloseParen,
        TokenKind::OpenBracket => TokenKind::CloseBracket,
        _ => TokenKind::CloseBrace,
    }
}
