//! The tokens of a text as pest reads them: one ASCII character each, so that the grammar works on some
//! thirty characters where a route has two hundred, and has no white space to skip. What a character
//! stands for is listed here and in `grammar/tokens.pest`; a test holds the two together.

use super::cut::{CLAUSES, STATEMENTS, StatementWord};
use crate::syntax::lex::{Token, TokenKind};

/// Of a word without a meaning of its own.
pub(super) const WORD: u8 = b'w';
/// Of a name in backquotes.
const QUOTED: u8 = b'q';
/// Of `private` right behind `@`.
const PRIVATE: u8 = b'p';
/// Of every symbol that has no character of its own.
const SYMBOL: u8 = b'+';
/// Of what the grammar cannot read and has been reported: stray characters, unclosed strings.
pub(super) const UNREADABLE: u8 = b'$';

/// The codes of [`STATEMENTS`] begin with this one, in the order of the table; those of [`CLAUSES`]
/// follow. So the reserved words are a range.
const FIRST_RESERVED: u8 = 1;

/// The words with a meaning at some places, which are names everywhere else, and their codes.
pub(super) static CONTEXTUAL: &[(&str, u8)] = &[
    ("as", b'A'),
    ("any", b'B'),
    ("all", b'C'),
    ("count", b'D'),
    ("ask", b'E'),
    ("at", b'F'),
    ("blank", b'G'),
    ("case", b'H'),
    ("clamp", b'I'),
    ("closed", b'J'),
    ("dict", b'K'),
    ("disabled", b'L'),
    ("dotted", b'M'),
    ("each", b'N'),
    ("examples", b'O'),
    ("fallback", b'P'),
    ("fn", b'Q'),
    ("forbid", b'R'),
    ("from", b'S'),
    ("goto", b'T'),
    ("ignoring", b'U'),
    ("in", b'V'),
    ("include", b'W'),
    ("internal", b'X'),
    ("interrupts", b'Y'),
    ("keyword", b'Z'),
    ("keywords", b'a'),
    ("matches", b'b'),
    ("not", b'c'),
    ("null", b'd'),
    ("priority", b'e'),
    ("rank", b'f'),
    ("remove", b'g'),
    ("repair", b'h'),
    ("require", b'i'),
    ("suspends", b'j'),
];

/// The row of [`STATEMENTS`] that a code stands for.
pub(super) fn statement(code: u8) -> Option<&'static StatementWord> {
    STATEMENTS.get(usize::from(code.wrapping_sub(FIRST_RESERVED)))
}

/// The code of a word; [`WORD`] for one without a meaning of its own.
pub(super) fn word(text: &str) -> u8 {
    let mut slot = hash(text.as_bytes());
    loop {
        match &INDEX[slot] {
            None => return WORD,
            Some((known, code)) if *known == text => return *code,
            Some(_) => slot = (slot + 1) % SLOTS,
        }
    }
}

/// Places in the index of words, some three for each word.
const SLOTS: usize = 256;

/// By length, first, second and last letter, which tell nearly all words apart.
const fn hash(text: &[u8]) -> usize {
    let length = text.len();
    if length == 0 {
        return 0;
    }
    let second = text[if length > 1 { 1 } else { 0 }] as usize;
    (length * 31 + text[0] as usize * 7 + second * 3 + text[length - 1] as usize) % SLOTS
}

/// Every word with a code, each at the place of its hash or the next free one.
static INDEX: [Option<(&str, u8)>; SLOTS] = index();

const fn index() -> [Option<(&'static str, u8)>; SLOTS] {
    let mut index: [Option<(&'static str, u8)>; SLOTS] = [None; SLOTS];
    let mut at = 0;
    while at < STATEMENTS.len() {
        index = with(index, STATEMENTS[at].word, FIRST_RESERVED + at as u8);
        at += 1;
    }
    let mut at = 0;
    while at < CLAUSES.len() {
        index = with(index, CLAUSES[at], FIRST_RESERVED + (STATEMENTS.len() + at) as u8);
        at += 1;
    }
    let mut at = 0;
    while at < CONTEXTUAL.len() {
        index = with(index, CONTEXTUAL[at].0, CONTEXTUAL[at].1);
        at += 1;
    }
    index
}

const fn with(
    mut index: [Option<(&'static str, u8)>; SLOTS],
    word: &'static str,
    code: u8,
) -> [Option<(&'static str, u8)>; SLOTS] {
    let mut slot = hash(word.as_bytes());
    while index[slot].is_some() {
        slot = (slot + 1) % SLOTS;
    }
    index[slot] = Some((word, code));
    index
}

/// The code of a token with its text. `before` is the token before it, whatever it is.
pub(super) fn of(token: Token, text: &str, before: Option<Token>) -> u8 {
    match token.kind {
        TokenKind::Word => {
            let marked = before.is_some_and(|at| at.kind == TokenKind::At && at.end == token.start);
            if marked && text == "private" { PRIVATE } else { word(text) }
        }
        TokenKind::Quoted => QUOTED,
        TokenKind::Number => b'0',
        TokenKind::String | TokenKind::RawString => b'"',
        TokenKind::Arrow => b'/',
        TokenKind::Operator => match text {
            "=" | "==" | ":=" | "===" => b'=',
            "<" | ">" | "?" | "-" | "|" => text.as_bytes()[0],
            _ => SYMBOL,
        },
        TokenKind::OpenParen => b'(',
        TokenKind::CloseParen => b')',
        TokenKind::OpenBracket => b'[',
        TokenKind::CloseBracket => b']',
        TokenKind::OpenBrace => b'{',
        TokenKind::CloseBrace => b'}',
        TokenKind::Comma => b',',
        TokenKind::Semicolon => b';',
        TokenKind::Colon => b':',
        TokenKind::Dot => b'.',
        TokenKind::At => b'@',
        // Stray characters and broken strings; white space and comments have no code.
        _ => UNREADABLE,
    }
}
