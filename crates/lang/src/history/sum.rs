//! Exact sums of numbers.

use crate::value::Value;
use rulec_base::decimal::{Decimal, MAX_DIGITS};

/// A sum of numbers that stays exact until [`Sum::total`] rounds it once. So the result does not
/// depend on the order of the terms.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    int_sum: i128,
    /// The exact sum of the floats, as a list of floats whose bits do not overlap, smallest first.
    /// See Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997.
    float_parts: Vec<f64>,
    has_floats: bool,
    /// How many times 2^1024 must be added to `float_parts`. A partial sum beyond the range of a
    /// float is stored in this way, because later terms may bring the sum back into the range.
    float_overflows: i64,
    has_decimals: bool,
    /// The sum of the whole parts of the decimals.
    decimal_whole: i128,
    /// The sum of the fractions of the decimals, in units of 10^-28.
    decimal_fraction: i128,
    /// Whether a term was not a number, or the number of terms is too large.
    is_missing: bool,
}

/// Half of the smallest power of two that no float can represent: 2^1023.
const HALF_FLOAT_RANGE: f64 = 8.988_465_674_311_58e307;
/// The number of units of the field `decimal_fraction` of [`Sum`] in the number 1.
const FRACTION_UNITS: i128 = 10_i128.pow(MAX_DIGITS as u32);

impl Sum {
    /// Splits a decimal into its whole part and its fraction in units of 10^-28, both with the sign
    /// of the decimal. For running totals, which add the parts themselves.
    pub fn split_decimal(decimal: Decimal) -> (i128, i128) {
        let unit = 10_i128.pow(decimal.scale());
        (decimal.mantissa() / unit, decimal.mantissa() % unit * (FRACTION_UNITS / unit))
    }

    /// Returns the sum of decimals and ints whose parts were added; see [`Sum::split_decimal`].
    pub fn of_split_decimals(whole: i128, fraction: i128) -> Sum {
        Sum { has_decimals: true, decimal_whole: whole, decimal_fraction: fraction, ..Sum::default() }
    }

    /// Adds a value to the sum. A value that is not a number makes the sum missing.
    pub fn add(&mut self, term: Value<'_>) {
        match term {
            Value::Int(int) => self.add_int(int.into()),
            Value::Wide(int) => self.add_int(int.into()),
            Value::Float(float) => self.add_float(float),
            Value::Decimal(decimal) => self.add_decimal(decimal),
            _ => self.is_missing = true,
        }
    }

    fn add_decimal(&mut self, decimal: Decimal) {
        self.has_decimals = true;
        let (whole, fraction) = Sum::split_decimal(decimal);
        match (self.decimal_whole.checked_add(whole), self.decimal_fraction.checked_add(fraction)) {
            (Some(whole), Some(fraction)) => {
                (self.decimal_whole, self.decimal_fraction) = (whole, fraction);
            }
            _ => self.is_missing = true,
        }
    }

    fn add_int(&mut self, int: i128) {
        match self.int_sum.checked_add(int) {
            Some(sum) => self.int_sum = sum,
            None => self.is_missing = true,
        }
    }

    fn add_float(&mut self, float: f64) {
        self.has_floats = true;
        let (mut rest, mut kept) = (float, 0);
        for index in 0..self.float_parts.len() {
            let mut part = self.float_parts[index];
            if rest.abs() < part.abs() {
                std::mem::swap(&mut rest, &mut part);
            }
            if (rest + part).is_infinite() {
                // Both differences are exact, because `rest` is at least 2^1023.
                rest = rest - HALF_FLOAT_RANGE.copysign(rest) - HALF_FLOAT_RANGE.copysign(rest);
                self.float_overflows += if part > 0.0 { 1 } else { -1 };
                if rest.abs() < part.abs() {
                    std::mem::swap(&mut rest, &mut part);
                }
            }
            let high = rest + part;
            let low = part - (high - rest);
            if low != 0.0 {
                self.float_parts[kept] = low;
                kept += 1;
            }
            rest = high;
        }
        self.float_parts.truncate(kept);
        self.float_parts.push(rest);
    }

    /// Returns the sum as an int, as a float if a term was a float, or as a decimal if a term was a
    /// decimal. Missing if a term was not a number, or if floats and decimals were mixed. Also
    /// missing if the sum is out of the range of its type.
    pub fn total(self) -> Value<'static> {
        match (self.has_floats, self.has_decimals) {
            _ if self.is_missing => Value::Missing,
            (true, true) => Value::Missing,
            (true, false) => self.float_total(),
            (false, true) => self.decimal_total().map_or(Value::Missing, Value::Decimal),
            (false, false) => Value::from_integer(self.int_sum),
        }
    }

    fn decimal_total(&self) -> Option<Decimal> {
        let carried = self.decimal_fraction / FRACTION_UNITS;
        let mut whole = self.decimal_whole.checked_add(self.int_sum)?.checked_add(carried)?;
        let mut fraction = self.decimal_fraction % FRACTION_UNITS;
        // With different signs, the whole part alone could have too many digits.
        if whole > 0 && fraction < 0 {
            (whole, fraction) = (whole - 1, fraction + FRACTION_UNITS);
        } else if whole < 0 && fraction > 0 {
            (whole, fraction) = (whole + 1, fraction - FRACTION_UNITS);
        }
        Decimal::from_integer(whole)?.checked_add(Decimal::from_parts(fraction, MAX_DIGITS as i64)?)
    }

    fn float_total(mut self) -> Value<'static> {
        // A 128-bit int is the exact sum of at most three floats, so each float is added
        // separately.
        let mut rest = self.int_sum;
        while rest != 0 {
            let high = rest as f64;
            self.add_float(high);
            rest -= high as i128;
        }
        let overflow = match std::mem::take(&mut self.float_overflows) {
            0 => 0.0,
            1 => HALF_FLOAT_RANGE,
            -1 => -HALF_FLOAT_RANGE,
            _ => return Value::Missing,
        };
        self.add_float(overflow);
        self.add_float(overflow);
        let total = round_expansion(&self.float_parts);
        if self.float_overflows == 0 && total.is_finite() { Value::Float(total) } else { Value::Missing }
    }
}

/// Returns the sum of `parts`, floats whose bits do not overlap, in ascending order of magnitude.
/// The sum is rounded once, to the nearest float.
fn round_expansion(parts: &[f64]) -> f64 {
    let Some((last, rest)) = parts.split_last() else { return 0.0 };
    let (mut high, mut rest) = (*last, rest);
    let mut low = 0.0;
    while let Some((part, smaller)) = rest.split_last() {
        let sum = high + part;
        low = part - (sum - high);
        (high, rest) = (sum, smaller);
        if low != 0.0 {
            break;
        }
    }
    // If the sum lies half-way between two floats, the sign of the next part decides the direction.
    if let Some(next) = rest.last()
        && ((low < 0.0 && *next < 0.0) || (low > 0.0 && *next > 0.0))
    {
        let doubled = low * 2.0;
        let sum = high + doubled;
        if doubled == sum - high {
            high = sum;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sums_are_exact_in_every_order() {
        let sum = |terms: &[Value<'static>]| {
            let mut sum = Sum::default();
            terms.iter().for_each(|term| sum.add(*term));
            sum.total().to_json()
        };
        assert_eq!(sum(&[]), json!(0));
        assert_eq!(sum(&[Value::Int(i64::MAX), Value::Int(5), Value::Int(-6)]), json!(i64::MAX - 1));
        assert_eq!(sum(&[Value::Float(0.1); 10]), json!(1.0));
        let mixed = [Value::Float(1e100), Value::Int(1), Value::Float(-1e100)];
        assert_eq!(sum(&mixed), json!(1.0));
        assert_eq!(
            sum(&[Value::Int(9_007_199_254_740_993), Value::Float(0.5)]),
            json!(9_007_199_254_740_994.0)
        );
        assert_eq!(sum(&[Value::Float(f64::MAX), Value::Float(f64::MAX)]), json!(null));
        // Partial sums may be out of the range of floats and decimals.
        let [most, least, some] = [f64::MAX, f64::MIN, 1.5].map(Value::Float);
        for terms in [[most, most, least, some], [most, some, most, least], [least, most, some, most]] {
            assert_eq!(sum(&terms), json!(f64::MAX));
        }
        assert_eq!(sum(&[most, most, some, least, least]), json!(1.5));
        assert_eq!(sum(&[least, least, most, Value::Int(-3), most]), json!(-3.0));
        assert_eq!(sum(&[most, most, most, least]), json!(null));
        assert_eq!(sum(&[Value::Int(1), Value::Str("x")]), json!(null));
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text).expect("a decimal"));
        assert_eq!(sum(&[decimal("0.1"), decimal("0.2"), Value::Int(1)]), json!(1.3));
        assert_eq!(sum(&[decimal("0.1"), Value::Float(0.2)]), json!(null));
        let largest = decimal("9999999999999999999999999999");
        for terms in [[largest, decimal("1"), decimal("-1")], [decimal("-1"), largest, decimal("1")]] {
            assert_eq!(sum(&terms), largest.to_json());
        }
        let tenth = decimal("0.1");
        assert_eq!(sum(&[largest, tenth, decimal("-0.1")]), largest.to_json());
        assert_eq!(sum(&[largest, tenth, decimal("-1"), Value::Int(1), decimal("-0.1")]), largest.to_json());
        assert_eq!(sum(&[largest, tenth]), json!(null));
        assert_eq!(sum(&[decimal("-0.3"), decimal("1"), decimal("-0.7")]), json!(0));
        let smallest = decimal("0.0000000000000000000000000001");
        assert_eq!(sum(&[smallest, decimal("2"), decimal("-2")]), smallest.to_json());
        assert_eq!(sum(&[smallest, decimal("2"), decimal("-1")]), json!(null));
    }
}
