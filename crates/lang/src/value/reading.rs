//! Converts a value to the kinds that a field accepts, and rejects a text that the field's
//! enumeration lacks.

use super::{Value, parse_datetime};
use crate::ty::{Enumeration, Kind, KindSet};

impl<'a> Value<'a> {
    /// Returns the value if it has one of these kinds, converted if necessary; otherwise missing.
    /// An int or decimal becomes a float if the kinds include floats but not the value's own kind.
    /// A float or decimal without a fraction becomes an int if the kinds include ints but not
    /// floats: 200.0 is an integer in JSON Schema too. RFC 3339 text becomes a time if the kinds
    /// include times but not texts. A number, or a text that contains one, becomes a decimal if the
    /// kinds include decimals but not the value's own kind.
    #[must_use]
    #[inline]
    pub fn read_as(self, kinds: KindSet) -> Value<'a> {
        match self.kind() {
            Some(kind) if kinds.has(kind) => self,
            Some(_) => self.read_as_near_kind(kinds),
            None => self,
        }
    }

    #[cold]
    fn read_as_near_kind(self, kinds: KindSet) -> Value<'a> {
        match self {
            Value::Decimal(decimal) if kinds.has(Kind::Float) => Value::Float(decimal.to_float()),
            Value::Decimal(decimal) if kinds.has(Kind::Int) => {
                decimal.to_integer().map_or(Value::Missing, Value::from_integer)
            }
            _ if kinds.has(Kind::Decimal) => {
                let decimal = self.to_decimal().map_or(Value::Missing, Value::Decimal);
                if decimal.is_missing() { self.read_as(kinds.without(KindSet::DECIMAL)) } else { decimal }
            }
            Value::Int(int) if kinds.has(Kind::Float) => Value::Float(int as f64),
            Value::Wide(int) if kinds.has(Kind::Float) => Value::Float(int as f64),
            Value::Float(float) if kinds.has(Kind::Int) => Value::from_whole_float(float),
            Value::Str(text) if kinds.has(Kind::DateTime) => {
                parse_datetime(text).map_or(Value::Missing, Value::DateTime)
            }
            _ => Value::Missing,
        }
    }

    /// Returns missing for a text that is not in the enumeration; otherwise returns the value.
    /// Without an enumeration, every value is returned.
    #[must_use]
    #[inline]
    pub fn read_one_of(self, values: Option<&Enumeration>) -> Value<'a> {
        match (values, self) {
            (Some(values), Value::Str(text)) if !values.contains(text) => Value::Missing,
            _ => self,
        }
    }
}
