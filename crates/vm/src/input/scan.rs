//! Reads strings and numbers in JSON text. The functions return `None` if the text is not valid
//! JSON, or if the message must be read into a JSON tree instead.

use super::block::{LARGE_BLOCK_BYTES, is_large_block_plain, leading_digits, plain_prefix_len};
use bumpalo::Bump;
use bumpalo::collections::String as BumpString;
use rulec_base::decimal::Decimal;
use rulec_base::json::DecimalPaths;
use rulec_lang::value::Value;

/// A position in JSON text from which strings and numbers are read.
pub(super) struct JsonCursor<'a> {
    text: &'a str,
    /// Offset in bytes of the next byte to read.
    pub offset: usize,
}

/// Powers of ten that a float represents exactly, for numbers with up to [`MAX_EXACT_DIGITS`]
/// digits.
const FLOAT_POWERS_OF_TEN: [f64; MAX_EXACT_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// Powers of ten as integers, indexed by the number of digits that are read at once (up to eight).
const INT_POWERS_OF_TEN: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
/// Maximum number of decimal digits for which a float represents every integer exactly.
const MAX_EXACT_DIGITS: usize = 15;

impl<'a> JsonCursor<'a> {
    pub fn new(text: &'a str) -> JsonCursor<'a> {
        JsonCursor { text, offset: 0 }
    }

    #[inline(always)]
    pub fn peek_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    /// Returns the bytes from the cursor to the end of the text.
    #[inline(always)]
    pub fn remaining_bytes(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.offset..).unwrap_or_default()
    }

    /// Skips white space and returns the next byte, without consuming the byte; `None` at the end
    /// of the text.
    #[inline(always)]
    pub fn peek_token(&mut self) -> Option<u8> {
        loop {
            match self.peek_byte()? {
                byte @ b'!'.. => return Some(byte),
                b' ' | b'\n' | b'\t' | b'\r' => self.offset += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Skips white space and then the given byte; `None` if another byte comes next.
    #[inline(always)]
    pub fn expect_byte(&mut self, byte: u8) -> Option<()> {
        (self.peek_token()? == byte).then(|| self.offset += 1)
    }

    /// Skips the given word; `None` if the text at the cursor does not start with it.
    #[inline]
    pub fn expect_word(&mut self, word: &str) -> Option<()> {
        let remaining = self.text.as_bytes().get(self.offset..)?;
        remaining.starts_with(word.as_bytes()).then(|| self.offset += word.len())
    }

    /// Skips plain characters up to the next quote, backslash or control character, and returns
    /// this byte; `None` at the end of the text.
    #[inline(always)]
    fn skip_plain_run(&mut self) -> Option<u8> {
        let Some(block) = self.remaining_bytes().first_chunk() else { return self.skip_last_run() };
        let plain_len = plain_prefix_len(block);
        self.offset += plain_len;
        if let Some(stop) = block.get(plain_len) { Some(*stop) } else { self.skip_long_run() }
    }

    /// Continues [`JsonCursor::skip_plain_run`] after a first block that has only plain characters.
    /// Returns the byte at which the plain characters end.
    #[inline(never)]
    fn skip_long_run(&mut self) -> Option<u8> {
        while self.remaining_bytes().first_chunk().is_some_and(is_large_block_plain) {
            self.offset += LARGE_BLOCK_BYTES;
        }
        while let Some(block) = self.remaining_bytes().first_chunk() {
            let plain_len = plain_prefix_len(block);
            self.offset += plain_len;
            if let Some(stop) = block.get(plain_len) {
                return Some(*stop);
            }
        }
        self.skip_last_run()
    }

    /// Continues [`JsonCursor::skip_plain_run`] at the end of the text, where less than one block
    /// remains. Returns the byte at which the plain characters end.
    #[inline(never)]
    fn skip_last_run(&mut self) -> Option<u8> {
        loop {
            match self.peek_byte()? {
                byte @ (b'"' | b'\\' | 0..0x20) => return Some(byte),
                _ => self.offset += 1,
            }
        }
    }

    /// Reads the string whose opening quote is at the cursor; `None` if it is not valid JSON. The
    /// result is borrowed from the text if the string has no escapes; otherwise it is in the arena
    /// `bump`.
    #[inline]
    pub fn read_string(&mut self, bump: &'a Bump) -> Option<&'a str> {
        self.offset += 1;
        let start = self.offset;
        match self.skip_plain_run()? {
            b'"' => {
                self.offset += 1;
                self.text.get(start..self.offset - 1)
            }
            b'\\' => self.decode_string(start, bump),
            _ => None,
        }
    }

    /// Skips the string whose opening quote is at the cursor; `None` if it is not valid JSON.
    #[inline]
    pub fn skip_string(&mut self) -> Option<()> {
        self.offset += 1;
        loop {
            match self.skip_plain_run()? {
                b'"' => {
                    self.offset += 1;
                    return Some(());
                }
                b'\\' => drop(self.decode_escape()?),
                _ => return None,
            }
        }
    }

    fn decode_string(&mut self, start: usize, bump: &'a Bump) -> Option<&'a str> {
        let mut text = BumpString::from_str_in(self.text.get(start..self.offset)?, bump);
        loop {
            let run_start = self.offset;
            let stop = self.skip_plain_run()?;
            text.push_str(self.text.get(run_start..self.offset)?);
            match stop {
                b'"' => {
                    self.offset += 1;
                    return Some(text.into_bump_str());
                }
                b'\\' => text.push(self.decode_escape()?),
                _ => return None,
            }
        }
    }

    /// Decodes the escape sequence at the cursor; `None` if it is invalid.
    fn decode_escape(&mut self) -> Option<char> {
        let escape = *self.text.as_bytes().get(self.offset + 1)?;
        self.offset += 2;
        Some(match escape {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.read_four_hex_digits()?;
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit);
                }
                self.expect_word("\\u")?;
                let low = self.read_four_hex_digits()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x10000 + ((unit - 0xd800) << 10) + low);
            }
            _ => return None,
        })
    }

    /// Reads four hexadecimal digits as a number; `None` if there are fewer.
    fn read_four_hex_digits(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.offset..self.offset + 4)?;
        self.offset += 4;
        digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    }

    /// Reads digits and appends them to the decimal number `sum`. Returns the resulting number,
    /// which wraps on overflow.
    #[inline(always)]
    fn read_digits(&mut self, mut sum: u64) -> u64 {
        if let Some(bytes) = self.remaining_bytes().first_chunk() {
            let (count, value) = leading_digits(bytes);
            self.offset += count;
            if count < 8 {
                return if count == 0 {
                    sum
                } else {
                    sum.wrapping_mul(INT_POWERS_OF_TEN[count]).wrapping_add(value)
                };
            }
            sum = sum.wrapping_mul(INT_POWERS_OF_TEN[8]).wrapping_add(value);
        }
        self.read_remaining_digits(sum)
    }

    #[inline(never)]
    fn read_remaining_digits(&mut self, mut sum: u64) -> u64 {
        while let Some(digit @ b'0'..=b'9') = self.peek_byte() {
            sum = sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.offset += 1;
        }
        sum
    }

    /// Skips one or more digits; `None` if there is none.
    fn skip_required_digits(&mut self) -> Option<()> {
        let start = self.offset;
        self.read_remaining_digits(0);
        (self.offset > start).then_some(())
    }

    /// Returns the number that begins at `start` and ends at the cursor; `float` is the float
    /// nearest to this number. Usually the result is `float`. But if `float` loses digits and rules
    /// read the number as a decimal, the result is the text of the number. `paths` says whether
    /// rules read a decimal here.
    #[cold]
    pub fn exact_number(&self, start: usize, float: f64, paths: &DecimalPaths) -> Value<'a> {
        let number = self.text.get(start..self.offset).unwrap_or_default();
        match paths.keeps_digits() && !Decimal::is_kept_by_float(number, float) {
            true => Value::Str(number),
            false => Value::Float(float),
        }
    }

    /// Reads the number at the cursor, with the same result as [`Value::from_json`]; `None` if the
    /// number is invalid or out of range.
    #[inline]
    pub fn read_number(&mut self) -> Option<Value<'a>> {
        let start = self.offset;
        let negative = self.peek_byte()? == b'-';
        self.offset += usize::from(negative);
        let first_digit = self.offset;
        // A sum that wrapped is parsed again below.
        let sum = self.read_digits(0);
        let digit_count = self.offset - first_digit;
        if digit_count == 0 || (digit_count > 1 && self.text.as_bytes().get(first_digit) == Some(&b'0')) {
            return None;
        }
        match self.peek_byte() {
            Some(b'.') if digit_count < MAX_EXACT_DIGITS => {
                return self.read_decimal(start, digit_count, sum);
            }
            Some(b'.' | b'e' | b'E') => return self.parse_float(start),
            _ => {}
        }
        if digit_count > 18 {
            let text = self.text.get(start..self.offset)?;
            return match (text.parse(), text.parse()) {
                (Ok(int), _) => Some(Value::Int(int)),
                (_, Ok(int)) => Some(Value::Wide(int)),
                _ => parse_finite_float(text),
            };
        }
        let sum = sum as i64;
        Some(Value::Int(if negative { -sum } else { sum }))
    }

    /// Reads the digits after the decimal point, and the exponent, of a number that begins at
    /// `start`. The cursor is at the decimal point, after `integer_digits` digits with the value
    /// `sum`. `None` if the number is invalid or out of range.
    ///
    /// If the number has few digits and no exponent, its digits as an integer and the power of ten
    /// are exact floats. So their division gives the nearest float.
    #[inline]
    fn read_decimal(&mut self, start: usize, integer_digits: usize, sum: u64) -> Option<Value<'a>> {
        let point = self.offset;
        self.offset += 1;
        let sum = self.read_digits(sum);
        let decimals = self.offset - point - 1;
        if decimals == 0
            || decimals > MAX_EXACT_DIGITS - integer_digits
            || matches!(self.peek_byte(), Some(b'e' | b'E'))
        {
            self.offset = point;
            return self.parse_float(start);
        }
        let float = sum as i64 as f64 / FLOAT_POWERS_OF_TEN.get(decimals)?;
        let negative = self.text.as_bytes().get(start) == Some(&b'-');
        Some(Value::Float(if negative { -float } else { float }))
    }

    fn parse_float(&mut self, start: usize) -> Option<Value<'a>> {
        if self.peek_byte() == Some(b'.') {
            self.offset += 1;
            self.skip_required_digits()?;
        }
        if matches!(self.peek_byte(), Some(b'e' | b'E')) {
            self.offset += 1;
            self.offset += usize::from(matches!(self.peek_byte(), Some(b'+' | b'-')));
            self.skip_required_digits()?;
        }
        parse_finite_float(self.text.get(start..self.offset)?)
    }
}

/// Parses a float; `None` if the float is out of range.
fn parse_finite_float<'a>(text: &str) -> Option<Value<'a>> {
    text.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float)
}
