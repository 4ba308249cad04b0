//! Running totals: the sum of the terms of all elements up to a given one. The sum over a window of
//! the history is the difference of two running totals, so it takes no time for each element.

use rulec_lang::history::Sum;
use rulec_lang::value::Value;

/// An exact sum of ints, and of floats or decimals. Ints are added to `whole`. Floats are added to
/// `whole` and `fraction`, a number with 128 binary places. Decimals are added to both as well, but
/// `fraction` then counts units of 10^-28, and never carries into `whole`. Sums
/// with floats and decimals are missing, so the two meanings of `fraction` are not mixed in a
/// difference that is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningTotal {
    whole: i128,
    fraction: u128,
    float_term_count: u32,
    decimal_term_count: u32,
    /// The number of terms that are no numbers, and make a sum missing.
    missing_term_count: u32,
    /// The number of floats that this type cannot represent exactly, and that are not in the sum.
    inexact_term_count: u32,
}

/// Maximum magnitude of a float that is added exactly. With this bound, the sum of a million terms
/// is less than 2^127.
const MAX_EXACT_FLOAT: f64 = 1e31;
/// 2^64, by which a float is multiplied twice to move 128 binary places before the point.
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;

impl RunningTotal {
    #[must_use]
    pub(super) fn plus(self, term: Value<'_>) -> RunningTotal {
        match term {
            Value::Int(int) => RunningTotal { whole: self.whole.wrapping_add(int.into()), ..self },
            Value::Wide(int) => RunningTotal { whole: self.whole.wrapping_add(int.into()), ..self },
            Value::Float(float) => match split_float(float) {
                Some((whole, fraction)) => {
                    let (fraction, carries) = self.fraction.overflowing_add(fraction);
                    let whole = self.whole.wrapping_add(whole).wrapping_add(carries.into());
                    let float_term_count = self.float_term_count.wrapping_add(1);
                    RunningTotal { whole, fraction, float_term_count, ..self }
                }
                None => RunningTotal { inexact_term_count: self.inexact_term_count.wrapping_add(1), ..self },
            },
            Value::Decimal(decimal) => {
                let (whole, fraction) = Sum::split_decimal(decimal);
                RunningTotal {
                    whole: self.whole.wrapping_add(whole),
                    fraction: self.fraction.wrapping_add(fraction.cast_unsigned()),
                    decimal_term_count: self.decimal_term_count.wrapping_add(1),
                    ..self
                }
            }
            _ => RunningTotal { missing_term_count: self.missing_term_count.wrapping_add(1), ..self },
        }
    }

    /// Returns the sum of the terms that were added after `earlier`. `None` if one of these terms
    /// could not be represented, so that the caller must add the terms.
    pub(super) fn sum_since(self, earlier: RunningTotal) -> Option<Value<'static>> {
        let has_floats = self.float_term_count != earlier.float_term_count;
        let has_decimals = self.decimal_term_count != earlier.decimal_term_count;
        if self.missing_term_count != earlier.missing_term_count {
            return Some(Value::Missing);
        }
        if self.inexact_term_count != earlier.inexact_term_count {
            return None;
        }
        let whole = self.whole.wrapping_sub(earlier.whole);
        Some(match (has_floats, has_decimals) {
            (true, true) => Value::Missing,
            (false, false) => Value::from_integer(whole),
            (false, true) => {
                let fraction = self.fraction.wrapping_sub(earlier.fraction).cast_signed();
                Sum::of_split_decimals(whole, fraction).total()
            }
            (true, false) => {
                let (fraction, borrows) = self.fraction.overflowing_sub(earlier.fraction);
                Value::Float(round_to_float(whole.wrapping_sub(borrows.into()), fraction))
            }
        })
    }
}

/// Splits a float into the next lower whole number and a fraction in units of 2^-128. `None` if it
/// is too large, or if it has more binary places. Also `None` for negative zero, whose sign would
/// be lost.
fn split_float(float: f64) -> Option<(i128, u128)> {
    let is_negative_zero = float == 0.0 && float.is_sign_negative();
    if float.abs() > MAX_EXACT_FLOAT || is_negative_zero || !float.is_finite() {
        return None;
    }
    let magnitude = float.abs();
    // All steps are exact, because they multiply by powers of two, or split off the whole part.
    let shifted = magnitude.fract() * TWO_POW_64;
    let rest = shifted.fract() * TWO_POW_64;
    if rest.fract() != 0.0 {
        return None;
    }
    let whole = magnitude.trunc() as i128;
    let fraction = (u128::from(shifted.trunc() as u64) << 64) | u128::from(rest as u64);
    Some(if float < 0.0 { negated(whole, fraction) } else { (whole, fraction) })
}

/// Returns the negative of `whole` plus `fraction` in units of 2^-128.
fn negated(whole: i128, fraction: u128) -> (i128, u128) {
    let (fraction, carries) = (!fraction).overflowing_add(1);
    ((!whole).wrapping_add(carries.into()), fraction)
}

/// Returns the float nearest to `whole` plus `fraction` in units of 2^-128. Of two floats that are
/// equally near, returns the one with an even last digit.
fn round_to_float(whole: i128, fraction: u128) -> f64 {
    let is_negative = whole < 0;
    let (high, low) = if is_negative { negated(whole, fraction) } else { (whole, fraction) };
    let high = high.cast_unsigned();
    // Moves the highest digits to the top, and joins all digits that do not fit into the last one.
    let (top, rest, exponent) = match (high, low) {
        (0, 0) => return 0.0,
        (0, low) => (low << low.leading_zeros(), 0, -(low.leading_zeros() as i32) - 128),
        (high, low) => match high.leading_zeros() {
            0 => (high, low, 0),
            zeros => (high << zeros | low >> (128 - zeros), low << zeros, -(zeros as i32)),
        },
    };
    let has_rest = rest != 0 || top << 64 != 0;
    let digits = (top >> 64) as u64 | u64::from(has_rest);
    // Only the conversion to a float rounds; the power of two is exact.
    let magnitude = digits as f64 * 2.0_f64.powi(exponent + 64);
    if is_negative { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_base::decimal::Decimal;

    /// Checks that the difference of running totals equals the sum of the terms, for each part of
    /// the list of terms.
    fn check(terms: &[Value<'static>]) {
        let mut totals = vec![RunningTotal::default()];
        totals.extend(terms.iter().scan(RunningTotal::default(), |total, term| {
            *total = total.plus(*term);
            Some(*total)
        }));
        for start in 0..terms.len() {
            for end in start + 1..=terms.len() {
                let mut sum = Sum::default();
                terms[start..end].iter().for_each(|term| sum.add(*term));
                let expected = sum.total();
                let found = totals[end].sum_since(totals[start]).expect("the terms are exact");
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{:?}", &terms[start..end]);
            }
        }
    }

    #[test]
    fn differences_of_running_totals_are_sums() {
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).expect("a decimal"));
        let float = Value::Float;
        check(&[Value::Int(3), float(0.1), float(-0.3), Value::Int(-5), float(2e-5), float(1e-22)]);
        check(&[
            float(2e-5),
            float(-2e-5),
            float(1e30),
            float(-1e30),
            float(0.0),
            float(-7.25),
            float(-2e-5),
        ]);
        check(&[Value::Int(i64::MAX), Value::Wide(u64::MAX), Value::Int(i64::MIN), float(0.5), float(1.5)]);
        check(&[float(9_007_199_254_740_992.0), float(1.0), float(2.0_f64.powi(-60)), Value::Int(1)]);
        check(&[decimal("0.1"), decimal("-0.3"), Value::Int(7), decimal("19.90"), decimal("1e-28")]);
        let most = decimal("9999999999999999999999999999");
        check(&[most, decimal("1"), decimal("-1"), decimal("-0.5"), most, decimal("1e-28"), Value::Int(-2)]);
        check(&[decimal("0.1"), float(0.2), Value::Int(1), float(0.5), decimal("0.7"), decimal("0.4")]);
        check(&[Value::Int(1), Value::Missing, Value::Int(2), Value::Str("x"), float(0.5), float(-0.1)]);
    }

    #[test]
    fn random_floats_are_summed_exactly() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        for _ in 0..200 {
            let term = |bits: u64| {
                let exponent = (bits % 120) as i32 - 60;
                let float = (bits >> 7) as f64 * 2.0_f64.powi(exponent - 14);
                Value::Float(if bits.is_multiple_of(3) { -float } else { float })
            };
            check(&(0..8).map(|_| term(next())).collect::<Vec<_>>());
        }
    }

    #[test]
    fn terms_without_an_exact_total_are_left_to_the_caller() {
        for term in [1e-30, 1e40, -0.0, -1e-30] {
            let total = RunningTotal::default().plus(Value::Float(term));
            assert!(total.sum_since(RunningTotal::default()).is_none(), "{term}");
        }
    }
}
