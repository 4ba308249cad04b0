//! Constant lists as sets. If a predicate is evaluated for many values, each value is looked up in
//! the set instead of being compared with each constant. The results equal the results of the
//! functions in [`super::implementations`].

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

use crate::operators::modifiers::{Quantity, TestMode};
use crate::operators::table::Op;
use crate::value::{Tri, Value, parse_datetime};
use hashbrown::HashSet;
use rulec_base::text::TextMode;
use rulec_base::text::network::NetworkSet;
use std::sync::OnceLock;

/// Minimum number of constants for which a set is built. The elements of a shorter list are
/// compared one by one.
pub const MIN_SET_ELEMENTS: usize = 16;

type FastSet<T> = HashSet<T, foldhash::fast::FixedState>;

/// The elements of a constant list, prepared for lookups. Texts are normalized and case-folded as
/// `text_mode` says.
#[derive(Debug, Default)]
pub struct ConstantSet {
    text_mode: TextMode,
    texts: FastSet<Box<str>>,
    /// The ints of the list, and its floats that equal an int: those without a fraction from −2^63
    /// to 2^64 − 1. `1` and `1.0` are equal.
    ints: FastSet<i128>,
    /// The floats of the list that are not in `ints`, as bits.
    floats: FastSet<u64>,
    /// The times that the texts of the list contain, in nanoseconds since 1970-01-01 UTC.
    times: FastSet<i128>,
    contained_bools: [bool; 2],
    /// Whether the list has elements (such as decimals, nulls or lists) that no other field
    /// contains. A value that is not found must then be compared with the elements.
    has_other_elements: bool,
    /// The elements of the list as IP networks, for the operator `in_network`; `None` if an element
    /// is not a valid network.
    networks: OnceLock<Option<NetworkSet>>,
}

/// The key by which a value is looked up in a [`ConstantSet`]. Equal texts have equal keys, and so
/// do equal floats and ints. A time is looked up among the times that the texts
/// contain.
enum LookupKey<'v> {
    Text(&'v str),
    Int(i128),
    Float(u64),
    Time(i128),
    Bool(bool),
    /// A decimal, which cannot be looked up: it may be equal to texts and numbers in several
    /// notations.
    Decimal,
    Other,
}

impl<'v> LookupKey<'v> {
    fn new(value: Value<'v>) -> LookupKey<'v> {
        match value {
            Value::Str(text) => LookupKey::Text(text),
            Value::Int(int) => LookupKey::Int(int.into()),
            Value::Wide(int) => LookupKey::Int(int.into()),
            Value::Bool(bool) => LookupKey::Bool(bool),
            Value::DateTime(time) => LookupKey::Time(time.unix_timestamp_nanos()),
            // The range excludes 2^64, which is no int.
            Value::Float(float) if float.fract() == 0.0 && (-TWO_POW_63..TWO_POW_64).contains(&float) => {
                LookupKey::Int(float as i128)
            }
            Value::Float(float) => LookupKey::Float(float.to_bits()),
            Value::Decimal(_) => LookupKey::Decimal,
            _ => LookupKey::Other,
        }
    }
}

const TWO_POW_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_POW_64: f64 = 2.0 * TWO_POW_63;

impl ConstantSet {
    /// Prepares a list for lookups. `None` if `list` is not a list, or is so short that lookups
    /// would not be faster.
    pub fn new(list: Value<'_>, mode: TextMode) -> Option<ConstantSet> {
        if list.list_len()? < MIN_SET_ELEMENTS {
            return None;
        }
        let mut set = ConstantSet { text_mode: mode, ..ConstantSet::default() };
        for element in list.elements()? {
            match LookupKey::new(element) {
                LookupKey::Text(text) => {
                    set.texts.insert((&*mode.prepare(text)).into());
                    set.times.extend(parse_datetime(text).map(|time| time.unix_timestamp_nanos()));
                }
                LookupKey::Int(int) => drop(set.ints.insert(int)),
                LookupKey::Float(bits) => drop(set.floats.insert(bits)),
                LookupKey::Bool(bool) => set.contained_bools[usize::from(bool)] = true,
                // A constant time may equal a text. Its key differs from the text's key, so the
                // elements must be compared.
                LookupKey::Time(_) | LookupKey::Decimal | LookupKey::Other => set.has_other_elements = true,
            }
        }
        Some(set)
    }

    /// Evaluates a predicate whose right operand is the list `list` of this set. `None` if only the
    /// function that implements the operator can evaluate the predicate.
    pub fn test(&self, op: Op, left: Value<'_>, list: Value<'_>, mode: TestMode) -> Option<Tri> {
        if left.is_missing() {
            return Some(Tri::Unknown);
        }
        match (op, mode.quantity) {
            (Op::In, None) => self.contains(left).map(Tri::from),
            (Op::Contains, Some(quantity)) => self.test_elements(left, quantity),
            (Op::InNetwork, Some(quantity)) => {
                let texts = || list.elements().into_iter().flatten().map(|element| element.as_str());
                let networks = self.networks.get_or_init(|| NetworkSet::new(texts())).as_ref()?;
                let Some(found) = left.as_str().and_then(|address| networks.count_containing(address)) else {
                    return Some(Tri::Unknown);
                };
                let holds = match quantity {
                    Quantity::Any => found > 0,
                    Quantity::All => found == networks.len(),
                    Quantity::None => found == 0,
                };
                Some(holds.into())
            }
            _ => None,
        }
    }

    /// Reports whether a value is in the list; `None` if the value must be compared with the
    /// elements one by one.
    fn contains(&self, value: Value<'_>) -> Option<bool> {
        let found = match LookupKey::new(value) {
            LookupKey::Text(text) => self.texts.contains(&*self.text_mode.prepare(text)),
            LookupKey::Int(int) => self.ints.contains(&int),
            LookupKey::Float(bits) => self.floats.contains(&bits),
            LookupKey::Time(time) => self.times.contains(&time),
            LookupKey::Bool(bool) => self.contained_bools[usize::from(bool)],
            LookupKey::Decimal => return None,
            LookupKey::Other => false,
        };
        (found || !self.has_other_elements).then_some(found)
    }

    /// Evaluates `left contains any LIST` (or `all`, `none`) for a list on the left. `None` if the
    /// values must be compared one by one.
    fn test_elements(&self, left: Value<'_>, quantity: Quantity) -> Option<Tri> {
        let elements = left.elements()?;
        if self.has_other_elements {
            return None;
        }
        match quantity {
            Quantity::Any | Quantity::None => {
                let mut any = false;
                for element in elements {
                    any |= self.contains(element)?;
                    if any {
                        break;
                    }
                }
                Some((any == (quantity == Quantity::Any)).into())
            }
            Quantity::All => self.are_all_constants_in(elements),
        }
    }

    /// Reports whether each constant of the set equals one of the elements; `None` if the values
    /// must be compared one by one.
    fn are_all_constants_in<'v>(&self, elements: impl Iterator<Item = Value<'v>>) -> Option<Tri> {
        let mut texts: FastSet<&str> = FastSet::default();
        let (mut ints, mut floats): (FastSet<i128>, FastSet<u64>) = Default::default();
        let mut bools = [false; 2];
        for element in elements {
            match LookupKey::new(element) {
                LookupKey::Text(text) => {
                    texts.extend(self.texts.get(&*self.text_mode.prepare(text)).map(|text| &**text))
                }
                LookupKey::Int(int) if self.ints.contains(&int) => drop(ints.insert(int)),
                LookupKey::Float(bits) if self.floats.contains(&bits) => drop(floats.insert(bits)),
                LookupKey::Bool(bool) => bools[usize::from(bool)] = true,
                LookupKey::Decimal => return None,
                // A time may equal several constant texts.
                LookupKey::Time(_) if !self.times.is_empty() => return None,
                _ => {}
            }
        }
        let all = texts.len() == self.texts.len()
            && ints.len() == self.ints.len()
            && floats.len() == self.floats.len()
            && self.contained_bools.iter().zip(bools).all(|(wanted, found)| !wanted || found);
        Some(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;
    use crate::operators::budget::{PredicateContext, test_predicate};
    use serde_json::{Value as Json, json};

    /// Checks that lookups in sets give the same results as the functions that implement the
    /// operators.
    #[test]
    fn sets_and_lists_give_equal_results() {
        let filler = |count: usize| (0..count).map(move |n| json!(format!("filler {n}")));
        let lists: Vec<Json> = [
            json!(["Ab", "STRASSE", "2026-01-31T09:00:00Z", "2026-01-31T10:00:00+01:00"]),
            json!([1, 2.5, 3.0, -0.0, 9_007_199_254_740_993_i64, 9.3e18, true]),
            json!([
                10_000_000_000_000_000_000_u64,
                u64::MAX,
                i64::MIN,
                1.2e19,
                18_446_744_073_709_551_616.0,
                1
            ]),
            json!([null, "ab"]),
            json!([[1], {"a": 1}, "ab"]),
            json!(["10.0.0.0/8", "10.1.0.0/16", "::ffff:0:0/96", "2001:db8::/32", "0.0.0.0/0", "::/0"]),
        ]
        .into_iter()
        .flat_map(|list| {
            let items = list.as_array().cloned().unwrap_or_default();
            let repeated = items.iter().cloned().cycle().take(MIN_SET_ELEMENTS + 3).collect();
            [Json::Array(repeated), Json::Array(items.into_iter().chain(filler(MIN_SET_ELEMENTS)).collect())]
        })
        .collect();
        let values = json!([
            "ab", "AB", "strasse", "straße", "2026-01-31T09:00:00Z", "filler 3", 1, 1.0, 2.5, 3, 0, 0.0,
            9_007_199_254_740_992_i64, 9.3e18, true, false, null, [1], [1.0], {"a": 1}, {}, "10.1.2.3",
            10_000_000_000_000_000_000_u64, 1e19, 12_000_000_000_000_000_000_u64, 1.2e19, u64::MAX, i64::MIN,
            9_300_000_000_000_000_000_u64, 18_446_744_073_709_551_616.0, -9_223_372_036_854_775_808.0,
            [10_000_000_000_000_000_000_u64, 1.2e19, u64::MAX, i64::MIN, 18_446_744_073_709_551_616.0, 1],
            " 10.1.2.3\n", "11.0.0.1 ", "11.0.0.1", "::ffff:10.1.2.3", "2001:db8::1", "::1", "localhost", ["ab", 1], ["AB", "strasse"],
            [1, 2.5, 3, 0, 9_007_199_254_740_993_i64, 9.3e18, true], []
        ]);
        let time = Value::DateTime(parse_datetime("2026-01-31T09:00:00Z").expect("it is a time"));
        let values: Vec<Value<'_>> =
            Value::from_json(&values).elements().expect("a list").chain([time]).collect();
        let folded = TextMode { folds_case: true, ..TextMode::PLAIN };
        let quantities = [None, Some(Quantity::Any), Some(Quantity::All), Some(Quantity::None)];
        let mut answered = 0;
        for list in &lists {
            let whole: Vec<Value<'_>> = Value::from_json(list).elements().expect("a list").collect();
            for left in values.iter().copied().chain([Value::List(&whole)]) {
                for (op, text, quantity) in [Op::In, Op::Contains, Op::InNetwork]
                    .into_iter()
                    .flat_map(|op| [TextMode::PLAIN, folded].map(move |text| (op, text)))
                    .flat_map(|(op, text)| quantities.map(move |quantity| (op, text, quantity)))
                {
                    let mode = TestMode { quantity, text, ..TestMode::default() };
                    let right = Value::from_json(list);
                    let set = ConstantSet::new(right, text).expect("the list is long enough");
                    let Some(found) = set.test(op, left, right, mode) else { continue };
                    let context = PredicateContext { arena: &Arena::default(), is_right_constant: true };
                    let expected = test_predicate(op, left, right, mode, context);
                    assert_eq!(found, expected, "{op:?} {mode:?} {left:?} {list}");
                    answered += 1;
                }
            }
        }
        assert!(answered > 1000, "{answered}");
    }
}
