//! Attributes: the values that conditions test, and their equivalence classes. An attribute is an
//! operand read in one text mode. All values of a class give the same result in every simple test.
//! So a message's value is looked up once, whatever the number of tests.

use crate::bytecode::chunk::{Check, Chunk, Operand};
use crate::bytecode::instr::Cmp;
use rulec_base::text::TextMode;
use rulec_base::text::texts::TextIds;
use rulec_lang::operators::Op;
use rulec_lang::value::{Tri, Value, compare};
use rulec_sema::normal::TestKind;
use std::cmp::Ordering;
use std::slice;

/// A number in a rule. Numbers in rules and messages have one common order.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub fn value(self) -> Value<'static> {
        match self {
            Number::Int(int) => Value::Int(int),
            Number::Float(float) => Value::Float(float),
        }
    }

    fn from_value(value: Value<'_>) -> Option<Number> {
        match value {
            Value::Int(int) => Some(Number::Int(int)),
            Value::Float(float) => Some(Number::Float(float)),
            _ => None,
        }
    }

    fn order(self, other: Value<'_>) -> Ordering {
        compare(self.value(), other).unwrap_or(Ordering::Equal)
    }
}

/// A simple test: its result depends only on the equivalence class of one value.
#[derive(Clone, Debug)]
pub enum Simple {
    Truth,
    Missing,
    Compare(Cmp, Number),
    Bool(bool),
    /// Test for equality with a text, which is normalized for the attribute's mode.
    Text(Box<str>),
    In(Members),
}

/// The elements of the constant list in an `in` test.
#[derive(Clone, Debug, Default)]
pub struct Members {
    pub texts: Vec<Box<str>>,
    pub numbers: Vec<Number>,
    /// Whether `false` and whether `true` is an element, in this order.
    pub bools: [bool; 2],
}

impl Simple {
    /// Converts a predicate to a simple test and its text mode; `None` if the predicate is not
    /// simple.
    pub fn from_pred(chunk: &Chunk, pred: u32) -> Option<(Simple, TextMode)> {
        let pred = chunk.preds.get(pred as usize)?;
        let constant = |id: u32| chunk.consts.get(id as usize).map(|constant| constant.value());
        let plain = |simple| Some((simple, TextMode::PLAIN));
        match pred.check {
            Check::Truth => plain(Simple::Truth),
            Check::Missing => plain(Simple::Missing),
            Check::Int(cmp, int) => plain(Simple::Compare(cmp, Number::Int(int))),
            Check::Float(cmp, float) => plain(Simple::Compare(cmp, Number::Float(float))),
            Check::Equals(text) => {
                Some((Simple::Text((&**chunk.strings.get(text as usize)?).into()), pred.mode.text))
            }
            Check::Members(id) => {
                let list = chunk.members.get(id as usize)?;
                let mut members = Members::default();
                for element in constant(list.constant)?.elements()? {
                    match element {
                        Value::Str(text) => members.texts.push((&*list.mode.prepare(text)).into()),
                        Value::Bool(value) => members.bools[usize::from(value)] = true,
                        other => members.numbers.extend(Number::from_value(other)),
                    }
                }
                Some((Simple::In(members), list.mode))
            }
            Check::Generic => match (pred.ask, pred.right, pred.mode.quantity) {
                (TestKind::Op(Op::Eq), Operand::Const(id), None) => match constant(id)? {
                    Value::Bool(value) => plain(Simple::Bool(value)),
                    _ => None,
                },
                _ => None,
            },
            Check::Length(..) | Check::HasKey(_) | Check::Keywords(_) => None,
        }
    }

    /// Returns the constant texts that the test compares with.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Simple::Text(text) => slice::from_ref(text),
            Simple::In(members) => &members.texts,
            _ => &[],
        };
        texts.iter().map(|text| &**text)
    }

    /// Returns the constant numbers that the test compares with.
    pub fn numbers(&self) -> impl Iterator<Item = Number> {
        let numbers = match self {
            Simple::Compare(_, number) => slice::from_ref(number),
            Simple::In(members) => &members.numbers,
            _ => &[],
        };
        numbers.iter().copied()
    }
}

/// Id of an equivalence class of an attribute's values. The fixed classes come first, then the
/// classes of texts, then the classes of numbers.
pub type Class = u32;

/// The class of a missing value.
pub const MISSING: Class = 0;
/// The class of `false`; the class of `true` follows.
const FALSE: Class = 1;
/// The class of times, lists and dicts, for which only the test itself gives the result.
pub const OTHER: Class = 3;
/// The class of all texts that no test names. The classes of the texts that tests name follow.
const TEXT: Class = 4;

/// The classes of an attribute. Each number in a test has a class, as has each interval between two
/// neighbouring numbers, before the first and after the last.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    texts: TextIds,
    numbers: Vec<Number>,
    /// The numbers as floats; `None` if floats cannot represent all of them exactly.
    floats: Option<Floats>,
}

/// Sorted floats in buckets of equal width, so that a number is searched in one bucket only.
#[derive(Clone, Debug, Default)]
struct Floats {
    values: Box<[f64]>,
    /// The smallest of `values`.
    first: f64,
    /// Number of buckets per 1.0 of the value range.
    scale: f64,
    /// Index of the last bucket, as a float.
    last: f64,
    /// For each bucket, the index in `values` of its first value. The last entry is the end of the
    /// last bucket.
    starts: Box<[u32]>,
}

/// Adding this number to a float rounds away its fraction, and puts the integer into the lowest
/// bits.
const WHOLE: f64 = (1_u64 << 52) as f64;

/// Maximum number of buckets; more would save hardly any comparison, but take more memory.
/// Measured in benches/notes/decision-cost.md, "Late hits and misses at 100 to 1,000 routes".
const MOST_BUCKETS: usize = 256;

impl Floats {
    fn new(values: Box<[f64]>) -> Floats {
        let (first, last) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
        let buckets = (2 * values.len()).clamp(1, MOST_BUCKETS);
        let scale = if first < last { buckets as f64 / (last - first) } else { 0.0 };
        let (last, starts) = ((buckets - 1) as f64, vec![0; buckets + 1].into());
        let mut floats = Floats { values, first, scale, last, starts };
        let mut starts = floats.starts.clone();
        for value in &floats.values {
            starts[floats.bucket(*value) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        floats.starts = starts;
        floats
    }

    /// Returns the bucket of a number. The function is monotonic even after rounding. So all values
    /// in earlier buckets are smaller, and all values in later buckets are greater.
    #[inline(always)]
    fn bucket(&self, float: f64) -> usize {
        let at = (float - self.first) * self.scale;
        let at = if at > 0.0 { at } else { 0.0 };
        let at = if at < self.last { at } else { self.last };
        // Rounds to an integer. A cast takes three times as long, because it handles values out of
        // range.
        (at + WHOLE).to_bits() as u32 as usize
    }

    /// Returns the number of `values` below a number, and whether the number is one of the values.
    #[inline(always)]
    fn place(&self, float: f64) -> (usize, bool) {
        let bucket = self.bucket(float);
        let from = self.starts.get(bucket).map_or(0, |start| *start as usize);
        let to = self.starts.get(bucket + 1).map_or(0, |start| *start as usize);
        let own = self.values.get(from..to).unwrap_or_default();
        let below = own.partition_point(|other| *other < float);
        (from + below, own.get(below) == Some(&float))
    }
}

/// Magnitude up to which floats represent all integers exactly.
const EXACT: i64 = 1 << 53;

/// Returns an integer as a float; `None` if the float might not be exact.
#[inline]
fn exact(int: i64) -> Option<f64> {
    (-EXACT..=EXACT).contains(&int).then_some(int as f64)
}

impl Classes {
    /// Builds the classes from the constants of tests.
    pub fn new<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        numbers: impl IntoIterator<Item = Number>,
    ) -> Classes {
        let mut classes = Classes::default();
        for text in texts {
            let next = TEXT + 1 + classes.texts.len() as Class;
            classes.texts.insert(text, next);
        }
        classes.numbers.extend(numbers);
        classes.numbers.sort_by(|a, b| a.order(b.value()));
        classes.numbers.dedup_by(|a, b| a.order(b.value()).is_eq());
        classes.floats = Classes::floats(&classes.numbers);
        classes
    }

    fn floats(numbers: &[Number]) -> Option<Floats> {
        let floats = numbers.iter().map(|number| match number {
            Number::Int(int) => exact(*int),
            Number::Float(float) => Some(*float),
        });
        floats.collect::<Option<_>>().map(Floats::new)
    }

    fn first_number(&self) -> Class {
        TEXT + 1 + self.texts.len() as Class
    }

    /// Returns the number of classes.
    pub fn end(&self) -> Class {
        self.first_number() + 2 * self.numbers.len() as Class + 1
    }

    /// Returns the number of distinct constants in the tests.
    pub fn named(&self) -> usize {
        self.texts.len() + self.numbers.len()
    }

    /// Returns the class of a value. A text must be normalized.
    #[inline(always)]
    pub fn class_of(&self, value: &Value<'_>) -> Class {
        match value {
            Value::Missing => MISSING,
            Value::Bool(value) => FALSE + Class::from(*value),
            Value::Str(text) => self.of_text(text.as_bytes()),
            Value::Int(_) | Value::Float(_) => self.first_number() + self.place(value),
            _ => OTHER,
        }
    }

    /// Returns the position of a number among the numbers of the tests: `2 * i + 1` for the `i`-th
    /// number, and even positions between them.
    #[inline(always)]
    fn place(&self, value: &Value<'_>) -> Class {
        let float = match value {
            Value::Float(float) => Some(*float),
            Value::Int(int) => exact(*int),
            _ => None,
        };
        match (&self.floats, float) {
            (Some(floats), Some(float)) => {
                let (below, equal) = floats.place(float);
                2 * below as Class + Class::from(equal)
            }
            _ => self.place_exactly(*value),
        }
    }

    /// Returns the same position as `place`, for numbers that floats may not represent exactly.
    #[inline(never)]
    fn place_exactly(&self, value: Value<'_>) -> Class {
        let below = self.numbers.partition_point(|number| number.order(value).is_lt());
        let equal = self.numbers.get(below).is_some_and(|number| number.order(value).is_eq());
        2 * below as Class + Class::from(equal)
    }

    /// Returns the class of a normalized text.
    // Not inlined, so that the lookup of a number does not pay for the code.
    #[inline(never)]
    pub fn of_text(&self, text: &[u8]) -> Class {
        self.texts.get(text).unwrap_or(TEXT)
    }

    /// Returns the class of a text that is a constant of a test; `None` for any other text.
    #[inline(always)]
    pub fn of_named(&self, text: &str) -> Option<Class> {
        self.texts.get(text.as_bytes())
    }

    /// Returns the result of a test for the values of a class; `None` if the result depends on the
    /// value.
    pub fn answer(&self, test: &Simple, class: Class) -> Option<Tri> {
        if class == OTHER {
            return match test {
                Simple::Missing => Some(Tri::False),
                _ => None,
            };
        }
        let bool = (FALSE..=FALSE + 1).contains(&class).then_some(class == FALSE + 1);
        let order = class.checked_sub(self.first_number());
        let text = class >= TEXT && order.is_none();
        // The position of a test's number, in the same scale as `order`.
        let place = |number: Number| self.place(&number.value());
        Some(match test {
            Simple::Missing => (class == MISSING).into(),
            Simple::Truth => bool.map_or(Tri::Unknown, Tri::from),
            Simple::Bool(wanted) => bool.map_or(Tri::Unknown, |value| (value == *wanted).into()),
            Simple::Compare(cmp, number) => {
                order.map_or(Tri::Unknown, |order| cmp.holds(order.cmp(&place(*number))).into())
            }
            Simple::Text(wanted) if text => (self.of_named(wanted) == Some(class)).into(),
            Simple::Text(_) => Tri::Unknown,
            Simple::In(_) if class == MISSING => Tri::Unknown,
            Simple::In(members) => match (bool, order) {
                (Some(value), _) => members.bools[usize::from(value)],
                (_, Some(order)) => members.numbers.iter().any(|number| place(*number) == order),
                _ => members.texts.iter().any(|wanted| self.of_named(wanted) == Some(class)),
            }
            .into(),
        })
    }

    /// Adds the classes at which the result of a test may change. All classes from one added class
    /// up to the next have the same result.
    pub fn changes(&self, test: &Simple, into: &mut Vec<Class>) {
        into.extend([MISSING, FALSE, FALSE + 1, OTHER, TEXT, self.first_number()]);
        for text in test.texts() {
            if let Some(class) = self.of_named(text) {
                into.extend([class, class + 1]);
            }
        }
        for number in test.numbers() {
            let class = self.class_of(&number.value());
            into.extend([class, class + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the expected result of a test, computed by the operators' own functions.
    fn expected(test: &Simple, value: Value<'_>) -> Tri {
        match test {
            Simple::Truth => rulec_lang::operators::implementations::truth(value),
            Simple::Missing => value.is_missing().into(),
            Simple::Bool(wanted) => rulec_lang::value::equal(value, Value::Bool(*wanted)),
            Simple::Text(wanted) => rulec_lang::value::equal(value, Value::Str(wanted)),
            Simple::Compare(cmp, number) => {
                compare(value, number.value()).map_or(Tri::Unknown, |order| cmp.holds(order).into())
            }
            Simple::In(_) if value.is_missing() => Tri::Unknown,
            Simple::In(members) => {
                let texts = members.texts.iter().map(|text| Value::Str(text));
                let bools = [false, true].into_iter().filter(|bool| members.bools[usize::from(*bool)]);
                let all =
                    texts.chain(members.numbers.iter().map(|n| n.value())).chain(bools.map(Value::Bool));
                Tri::from(all.into_iter().any(|element| rulec_lang::value::identical(value, element)))
            }
        }
    }

    /// Every value of a class has the result that the class predicts.
    #[test]
    fn a_class_answers_like_its_values() {
        let members = |texts: &[&str], numbers: &[Number], bools| {
            let texts = texts.iter().map(|text| (*text).into()).collect();
            Simple::In(Members { texts, numbers: numbers.to_vec(), bools })
        };
        let huge = i64::MAX - 1;
        let numbers = [Number::Int(3), Number::Float(3.5), Number::Int(-7), Number::Int(huge)];
        let mut tests = vec![
            Simple::Truth,
            Simple::Missing,
            Simple::Bool(true),
            Simple::Bool(false),
            Simple::Text("a".into()),
            Simple::Text("".into()),
            members(&["a", "long enough to be no short text"], &[], [false, false]),
            members(&[], &numbers[..2], [true, false]),
        ];
        for cmp in [Cmp::LT, Cmp::LE, Cmp::EQ, Cmp::NE, Cmp::GT, Cmp::GE] {
            tests.extend(numbers.map(|number| Simple::Compare(cmp, number)));
        }
        let values = [
            Value::Missing,
            Value::Bool(true),
            Value::Bool(false),
            Value::Str("a"),
            Value::Str("b"),
            Value::Str(""),
            Value::Str("long enough to be no short text"),
            Value::Int(3),
            Value::Float(3.0),
            Value::Float(3.25),
            Value::Float(3.5),
            Value::Int(-7),
            Value::Int(-8),
            Value::Int(huge),
            Value::Int(i64::MAX),
            Value::Float(huge as f64),
            Value::Float(-0.0),
        ];
        // With the large integer, numbers are compared exactly; without it, as floats.
        for tests in
            [&tests[..], &tests.iter().filter(|t| t.numbers().all(exact_number)).cloned().collect::<Vec<_>>()]
        {
            let texts = tests.iter().flat_map(Simple::texts);
            let classes = Classes::new(texts, tests.iter().flat_map(Simple::numbers));
            for test in tests {
                let mut changes = Vec::new();
                classes.changes(test, &mut changes);
                for value in values {
                    let class = classes.class_of(&value);
                    assert!(class < classes.end());
                    assert_eq!(
                        classes.answer(test, class),
                        Some(expected(test, value)),
                        "{test:?} {value:?}"
                    );
                    // From one change to the next the result is the same.
                    let start =
                        *changes.iter().filter(|change| **change <= class).max().expect("the first class");
                    assert_eq!(
                        classes.answer(test, start),
                        classes.answer(test, class),
                        "{test:?} {value:?}"
                    );
                }
                let list = classes.answer(test, classes.class_of(&Value::List(&[])));
                assert_eq!(list, matches!(test, Simple::Missing).then_some(Tri::False));
            }
        }
    }

    /// Compares bucket lookup with a plain search, for numbers near each other, far apart and in
    /// between.
    #[test]
    fn a_number_is_placed_as_by_comparing_with_all() {
        let spread = (0..500).map(|n| f64::from(n) * 0.7 - 100.0);
        let skewed = (0..60).map(|n| 1.5_f64.powi(n * 20) - 3.0);
        let huge = [f64::MIN, -1.0, -0.0, 5e-324, 1.0, f64::MAX];
        let sets: [Vec<f64>; 5] = [spread.collect(), skewed.collect(), huge.into(), vec![7.0], Vec::new()];
        for values in sets {
            let floats = Floats::new(values.clone().into());
            let near =
                values.iter().flat_map(|value| [*value, value.next_up(), value.next_down(), value * 1.01]);
            for float in near.chain([0.0, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300]) {
                let below = values.partition_point(|value| *value < float);
                assert_eq!(floats.place(float), (below, values.get(below) == Some(&float)), "{float}");
            }
        }
    }

    fn exact_number(number: Number) -> bool {
        !matches!(number, Number::Int(int) if exact(int).is_none())
    }
}
