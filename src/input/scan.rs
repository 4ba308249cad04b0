//! Strings and numbers of JSON text. `None` is something that JSON does not allow, or this reader
//! leaves to the tree's.

use crate::value::Value;
use bumpalo::Bump;
use bumpalo::collections::String as BumpString;

pub(super) struct Cursor<'a> {
    text: &'a str,
    pub at: usize,
}

/// Each byte of a word set to this.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES * 0x80;

/// The bytes of a word that end a run of plain characters: a quote, a backslash, a control character.
/// Their highest bit is set in the answer; of those behind the first it may be set wrongly.
#[inline]
fn special(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control) & HIGHS
}

/// Strings of more bytes than this are read in blocks.
const LONG: usize = 16;
/// The bytes that compilers compare at once, by two registers or one.
const BLOCK: usize = 32;

/// True when no byte of a block ends a run of plain characters.
#[inline]
fn is_plain(block: &[u8; BLOCK]) -> bool {
    // Without a branch a byte, so that many are compared at once.
    let special = |byte: u8| u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < b' ');
    block.iter().fold(0, |found, byte| found | special(*byte)) == 0
}

/// Powers of ten that a float holds exactly, with the numbers of digits that [`Cursor::number`] reads.
const TENS: [f64; MOST_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// The digits of whole numbers that all are floats.
const MOST_DIGITS: usize = 15;

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The text from here on.
    #[inline(always)]
    pub fn ahead(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no white space.
    #[inline(always)]
    pub fn token(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                byte @ b'!'.. => return Some(byte),
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Steps over a byte that must be the next token.
    #[inline(always)]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        (self.token()? == byte).then(|| self.at += 1)
    }

    /// Steps over a word that must stand here.
    #[inline]
    pub fn word(&mut self, word: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        rest.starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Steps to the next quote, backslash or control character.
    #[inline]
    fn run(&mut self) -> Option<u8> {
        let start = self.at;
        while let Some(word) = self.ahead().first_chunk() {
            let word = u64::from_le_bytes(*word);
            let found = special(word);
            if found != 0 {
                let bits = found.trailing_zeros() & !7;
                self.at += bits as usize / 8;
                return Some((word >> bits) as u8);
            }
            self.at += 8;
            if self.at - start == LONG {
                self.plain_blocks();
            }
        }
        loop {
            match self.peek()? {
                byte @ (b'"' | b'\\' | 0..0x20) => return Some(byte),
                _ => self.at += 1,
            }
        }
    }

    /// Steps over blocks of plain characters alone, of which a long text has many.
    fn plain_blocks(&mut self) {
        while self.ahead().first_chunk().is_some_and(is_plain) {
            self.at += BLOCK;
        }
    }

    /// The string whose quote stands here: as it lies in the text, or decoded where it has escapes.
    #[inline]
    pub fn string(&mut self, bump: &'a Bump) -> Option<&'a str> {
        self.at += 1;
        let start = self.at;
        match self.run()? {
            b'"' => {
                self.at += 1;
                self.text.get(start..self.at - 1)
            }
            b'\\' => self.decoded(start, bump),
            _ => None,
        }
    }

    /// Steps over the string whose quote stands here.
    #[inline]
    pub fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.run()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => drop(self.escape()?),
                _ => return None,
            }
        }
    }

    fn decoded(&mut self, start: usize, bump: &'a Bump) -> Option<&'a str> {
        let mut text = BumpString::from_str_in(self.text.get(start..self.at)?, bump);
        loop {
            let from = self.at;
            let stop = self.run()?;
            text.push_str(self.text.get(from..self.at)?);
            match stop {
                b'"' => {
                    self.at += 1;
                    return Some(text.into_bump_str());
                }
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
        }
    }

    /// The character of the escape that begins here.
    fn escape(&mut self) -> Option<char> {
        let kind = *self.text.as_bytes().get(self.at + 1)?;
        self.at += 2;
        Some(match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex()?;
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit);
                }
                self.word("\\u")?;
                let low = self.hex()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x10000 + ((unit - 0xd800) << 10) + low);
            }
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// The number that begins here, as [`Value::from_json`] would have it, and whether that is all
    /// there is to it: `-0` and integers beyond 64 signed bits are told apart in a tree.
    #[inline]
    pub fn number(&mut self) -> Option<(Value<'a>, bool)> {
        let start = self.at;
        let negative = self.peek()? == b'-';
        self.at += usize::from(negative);
        let first = self.at;
        let mut sum = 0_i64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            // What wraps is read again below.
            sum = sum.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - first;
        if digits == 0 || (digits > 1 && self.text.as_bytes().get(first) == Some(&b'0')) {
            return None;
        }
        match self.peek() {
            Some(b'.') if digits < MOST_DIGITS => return self.decimal(start, digits, sum),
            Some(b'.' | b'e' | b'E') => return self.float(start),
            _ => {}
        }
        if digits > 18 {
            let text = self.text.get(start..self.at)?;
            return match text.parse() {
                Ok(int) => Some((Value::Int(int), true)),
                Err(_) => finite(text).map(|value| (value, false)),
            };
        }
        Some((Value::Int(if negative { -sum } else { sum }), !(negative && sum == 0)))
    }

    /// The number that begins at a place, of so many digits before the point that stands here, and of that value. With
    /// few behind it both the digits and the power of ten are floats, whose quotient is the nearest float.
    #[inline]
    fn decimal(&mut self, start: usize, before: usize, mut sum: i64) -> Option<(Value<'a>, bool)> {
        let point = self.at;
        self.at += 1;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            sum = sum.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        let behind = self.at - point - 1;
        if behind == 0 || behind > MOST_DIGITS - before || matches!(self.peek(), Some(b'e' | b'E')) {
            self.at = point;
            return self.float(start);
        }
        let float = sum as f64 / TENS.get(behind)?;
        let negative = self.text.as_bytes().get(start) == Some(&b'-');
        let value = Value::from_float(if negative { -float } else { float });
        Some((value, matches!(value, Value::Float(_))))
    }

    fn float(&mut self, start: usize) -> Option<(Value<'a>, bool)> {
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let value = finite(self.text.get(start..self.at)?)?;
        Some((value, matches!(value, Value::Float(_))))
    }
}

/// A float in range.
fn finite<'a>(text: &str) -> Option<Value<'a>> {
    text.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::from_float)
}
