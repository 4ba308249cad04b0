//! The tokens of a file that matter to the grammar, with the code of each: what statements are split and read from.

use super::terminals;
use crate::syntax::lex::{self, Token, TokenKind};

/// A token that is neither white space nor comment.
#[derive(Clone, Copy)]
pub(super) struct Sig {
    pub(super) token: Token,
    /// Bytes before it on its line, if it is the first token of the line; else [`Sig::INSIDE`].
    indent: u32,
}

impl Sig {
    const INSIDE: u32 = u32::MAX;

    /// Bytes before it on its line, if it is the first token of the line.
    pub(super) fn indent(&self) -> Option<u32> {
        (self.indent != Self::INSIDE).then_some(self.indent)
    }
}

/// The tokens of a text that matter to the grammar.
#[derive(Default)]
pub(super) struct Stream {
    pub(super) sigs: Vec<Sig>,
    /// The code of each.
    pub(super) codes: String,
}

/// Cuts a text into tokens and keeps those that matter to the grammar; `look` sees every one.
pub(super) fn stream<'a>(text: &'a str, mut look: impl FnMut(Token, &'a str)) -> Stream {
    let mut line_start = Some(0);
    // White space stands between most tokens, and few are shorter than two bytes.
    let room = text.len() / 5 + 1;
    let (mut sigs, mut codes) = (Vec::with_capacity(room), String::with_capacity(room));
    let mut before = None;
    for token in lex::tokens(text) {
        let slice = token.text(text);
        look(token, slice);
        match token.kind {
            TokenKind::Newline | TokenKind::Bom => line_start = Some(token.end),
            kind if kind.is_trivia() => {}
            _ => {
                let indent = line_start.take().map_or(Sig::INSIDE, |start| token.start - start);
                sigs.push(Sig { token, indent });
                codes.push(char::from(terminals::code_of(token, slice, before)));
            }
        }
        before = Some(token);
    }
    Stream { sigs, codes }
}
