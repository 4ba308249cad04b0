//! Exact decimal numbers of up to [`MAX_DIGITS`] digits, for amounts of money.
//!
//! `rust_decimal` holds the digits. Its operators round a result that has too many digits. The
//! operators of this module return `None` instead; only a division rounds.

use crate::codec::{Codec, DecodeError, Reader, Writer};
use rust_decimal::{Decimal as Digits, RoundingStrategy};
use std::fmt;

/// Maximum number of digits of a decimal, and of its digits after the decimal point.
pub const MAX_DIGITS: usize = 28;

/// 10^[`MAX_DIGITS`]: the digits of a decimal, read as an integer, are always less than this
/// number.
const MANTISSA_END: u128 = 10_u128.pow(MAX_DIGITS as u32);

/// An exact decimal number. Its digits do not end with zeros after the decimal point, so equal
/// numbers have equal digits. Zero has no sign.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(Digits);

impl Decimal {
    /// The decimal number 0.
    pub const ZERO: Decimal = Decimal(Digits::ZERO);

    /// Returns `mantissa` / 10^`scale`; `None` if the number has too many digits.
    pub fn from_parts(mantissa: i128, scale: i64) -> Option<Decimal> {
        let (mut digits, mut scale) = (mantissa.unsigned_abs(), scale);
        if digits == 0 {
            return Some(Decimal::ZERO);
        }
        while scale > 0 && digits % 10 == 0 {
            (digits, scale) = (digits / 10, scale - 1);
        }
        while scale < 0 && digits < MANTISSA_END {
            (digits, scale) = (digits * 10, scale + 1);
        }
        if digits >= MANTISSA_END {
            return None;
        }
        let digits = i128::try_from(digits).ok()?;
        let signed = if mantissa < 0 { -digits } else { digits };
        Digits::try_from_i128_with_scale(signed, u32::try_from(scale).ok()?).ok().map(Decimal)
    }

    /// Returns an integer as a decimal; `None` if the integer has more than [`MAX_DIGITS`] digits.
    pub fn from_integer(int: i128) -> Option<Decimal> {
        Decimal::from_parts(int, 0)
    }

    /// Returns the decimal with the digits of the float's shortest spelling: 0.1 for the float
    /// nearest to 0.1. `None` if the float is not finite, or if the decimal has too many digits.
    pub fn from_float(float: f64) -> Option<Decimal> {
        Decimal::parse(&format!("{float:e}"))
    }

    /// Reads a number as JSON writes it, such as `19.90` or `-1e-1`. The number may begin with `+`
    /// or with zeros. `None` if the text is no number, or if the number has too many digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if whole.len() + fraction.len() == 0 || !digits().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let Some(first) = digits().position(|byte| byte != b'0') else { return Some(Decimal::ZERO) };
        let last = whole.len() + fraction.len() - 1 - digits().rev().position(|byte| byte != b'0')?;
        if last - first >= MAX_DIGITS {
            return None;
        }
        let mantissa = digits()
            .skip(first)
            .take(last + 1 - first)
            .fold(0_i128, |sum, byte| 10 * sum + i128::from(byte - b'0'));
        // The number of digits after the point, without the zeros at the end.
        let scale = last as i64 + 1 - whole.len() as i64;
        let signed = if number.starts_with('-') { -mantissa } else { mantissa };
        Decimal::from_parts(signed, scale.checked_sub(exponent)?)
    }

    /// True if no digit of the decimal number `text` is lost in `float`, the float nearest to it:
    /// the float's shortest spelling is the same number. Also true if both have too many digits for
    /// a [`Decimal`].
    pub fn is_kept_by_float(text: &str, float: f64) -> bool {
        Decimal::parse(text) == Decimal::from_float(float)
    }

    /// Returns the digits of the number as an integer with the sign of the number: 199 for 19.9.
    pub fn mantissa(self) -> i128 {
        self.0.mantissa()
    }

    /// Returns the number of digits after the decimal point, without zeros at the end: 1 for 19.90.
    pub fn scale(self) -> u32 {
        self.0.scale()
    }

    /// Returns the number as an integer; `None` if it has a fraction.
    pub fn to_integer(self) -> Option<i128> {
        (self.scale() == 0).then(|| self.mantissa())
    }

    /// Returns the 64-bit float that is nearest to the number.
    pub fn to_float(self) -> f64 {
        self.to_string().parse().unwrap_or_default()
    }

    /// Returns the exact sum of two numbers; `None` if the sum has more than [`MAX_DIGITS`] digits.
    pub fn checked_add(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale().max(other.scale());
        // `rust_decimal` returns fewer digits after the point if it rounded the sum, or if the sum
        // has too many digits before the point.
        let sum = self.0.checked_add(other.0).filter(|sum| sum.scale() == scale || sum.is_zero())?;
        Decimal::from_parts(sum.mantissa(), sum.scale().into())
    }

    /// Returns the exact difference `self` - `other`; `None` if it has more than [`MAX_DIGITS`]
    /// digits.
    pub fn checked_sub(self, other: Decimal) -> Option<Decimal> {
        self.checked_add(other.negated())
    }

    /// Returns the exact product of two numbers; `None` if it has more than [`MAX_DIGITS`] digits.
    pub fn checked_mul(self, other: Decimal) -> Option<Decimal> {
        let scale = i64::from(self.scale() + other.scale());
        if let Some(product) = self.mantissa().checked_mul(other.mantissa()) {
            return Decimal::from_parts(product, scale);
        }
        // The product of the digits exceeds an `i128`. The result fits only if this product ends
        // with zeros, so factors of ten are removed before the multiplication.
        let ([a, b], zeros) = divide_out_tens([self.mantissa(), other.mantissa()]);
        Decimal::from_parts(a.checked_mul(b)?, scale - zeros)
    }

    /// Returns the quotient `self` / `other`, rounded to [`MAX_DIGITS`] digits. A half is rounded
    /// to the even digit. `None` if the divisor is 0, or if the quotient is too large.
    pub fn checked_div(self, other: Decimal) -> Option<Decimal> {
        let divisor = other.mantissa().unsigned_abs();
        if divisor == 0 {
            return None;
        }
        let dividend = self.mantissa().unsigned_abs();
        let mut scale = i64::from(self.scale()) - i64::from(other.scale());
        let (mut quotient, mut remainder) = (dividend / divisor, dividend % divisor);
        // Long division: each step adds a digit.
        while (remainder != 0 || scale < 0) && 10 * quotient < MANTISSA_END && scale < MAX_DIGITS as i64 {
            remainder *= 10;
            quotient = 10 * quotient + remainder / divisor;
            remainder %= divisor;
            scale += 1;
        }
        let is_above_half = 2 * remainder > divisor || (2 * remainder == divisor && quotient % 2 == 1);
        let digits = i128::try_from(quotient + u128::from(is_above_half)).ok()?;
        let is_negative = (self.mantissa() < 0) != (other.mantissa() < 0);
        Decimal::from_parts(if is_negative { -digits } else { digits }, scale)
    }

    /// Returns the remainder of dividing `self` by `other`, with the sign of `self`; `None` if the
    /// divisor is 0.
    pub fn checked_rem(self, other: Decimal) -> Option<Decimal> {
        let (mut dividend, mut divisor) = (self.mantissa(), other.mantissa());
        if divisor == 0 {
            return None;
        }
        let scale = self.scale().max(other.scale());
        for _ in other.scale()..scale {
            // A divisor beyond the range of integers is greater than the dividend, so the dividend
            // is the remainder.
            let Some(scaled) = divisor.checked_mul(10) else { return Some(self) };
            divisor = scaled;
        }
        dividend %= divisor;
        for _ in self.scale()..scale {
            dividend = dividend * 10 % divisor;
        }
        Decimal::from_parts(dividend, scale.into())
    }

    /// Returns the decimal number with the opposite sign.
    #[must_use]
    pub fn negated(self) -> Decimal {
        if self.0.is_zero() { self } else { Decimal(-self.0) }
    }

    /// Returns the absolute value of the decimal number.
    #[must_use]
    pub fn abs(self) -> Decimal {
        Decimal(self.0.abs())
    }

    /// Returns the greatest integer that is not above the number.
    #[must_use]
    pub fn floor(self) -> Decimal {
        Decimal(self.0.floor().normalize())
    }

    /// Returns the smallest integer that is not below the number.
    #[must_use]
    pub fn ceil(self) -> Decimal {
        // `rust_decimal` may return a zero with a sign.
        self.negated().floor().negated()
    }

    /// Returns the number rounded to `places` digits after the decimal point. A half is rounded
    /// away from zero. `None` if the result has too many digits.
    pub fn round(self, places: u32) -> Option<Decimal> {
        let rounded = self.0.round_dp_with_strategy(places, RoundingStrategy::MidpointAwayFromZero);
        Decimal::from_parts(rounded.mantissa(), rounded.scale().into())
    }
}

/// Parses the exponent of a number; `None` if the text is no integer. An exponent beyond ±(2^31 -
/// 1) is replaced by this limit.
fn parse_exponent(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = unsigned.parse().unwrap_or(i64::from(i32::MAX)).min(i64::from(i32::MAX));
    Some(if text.starts_with('-') { -exponent } else { exponent })
}

/// Divides two integers by factors 2 and 5 until their product does not end with a zero. One factor
/// 2 and one factor 5, each from either integer, remove one zero from the product. Returns the
/// divided integers, and the number of removed zeros.
fn divide_out_tens(numbers: [i128; 2]) -> ([i128; 2], i64) {
    let count = |mut number: i128, factor: i128| {
        let mut count = 0;
        while number % factor == 0 {
            (number, count) = (number / factor, count + 1);
        }
        count
    };
    let total = |factor| numbers.iter().map(|number| count(*number, factor)).sum::<i64>();
    let tens = total(2).min(total(5));
    let mut numbers = numbers;
    for factor in [2, 5] {
        let mut rest = tens;
        for number in &mut numbers {
            while rest > 0 && *number % factor == 0 {
                (*number, rest) = (*number / factor, rest - 1);
            }
        }
    }
    (numbers, tens)
}

impl fmt::Display for Decimal {
    /// Writes the number in decimal digits, without an exponent, and without zeros at the end of a
    /// fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Codec for Decimal {
    fn write(&self, writer: &mut Writer) {
        self.to_string().write(writer);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Decimal, DecodeError> {
        let text = String::read(reader)?;
        Decimal::parse(&text).ok_or(DecodeError("a decimal has too many digits"))
    }
}

#[cfg(test)]
mod tests;
