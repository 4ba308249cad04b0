//! Attributes: the values that conditions read, and their equivalence classes. An attribute is an
//! operand together with one text mode (a way to normalize texts, such as case folding). All values
//! of a class give the same result in every simple predicate. So a decision looks up the class of a
//! value once, whatever the number of predicates.

mod float_buckets;

use crate::bytecode::chunk::{Chunk, Operand, PredCheck};
use crate::bytecode::instr::Comparison;
use float_buckets::{FloatBuckets, to_exact_float};
use rulec_base::text::TextMode;
use rulec_base::text::texts::TextIds;
use rulec_lang::operators::Op;
use rulec_lang::value::{Tri, Value, compare};
use rulec_sema::normal::TestKind;
use std::cmp::Ordering;
use std::slice;

/// A number that is a constant in a rule. Integers and floats are ordered by their numeric values.
#[derive(Clone, Copy, Debug)]
pub enum RuleNumber {
    Int(i64),
    Float(f64),
    Wide(u64),
}

impl RuleNumber {
    pub fn to_value(self) -> Value<'static> {
        match self {
            RuleNumber::Int(int) => Value::Int(int),
            RuleNumber::Float(float) => Value::Float(float),
            RuleNumber::Wide(int) => Value::Wide(int),
        }
    }

    fn from_value(value: Value<'_>) -> Option<RuleNumber> {
        match value {
            Value::Int(int) => Some(RuleNumber::Int(int)),
            Value::Float(float) => Some(RuleNumber::Float(float)),
            Value::Wide(int) => Some(RuleNumber::Wide(int)),
            _ => None,
        }
    }

    fn compare_with(self, other: Value<'_>) -> Ordering {
        compare(self.to_value(), other).unwrap_or(Ordering::Equal)
    }
}

/// A predicate whose result depends only on the equivalence class of one value.
#[derive(Clone, Debug)]
pub enum ClassPredicate {
    Truth,
    Missing,
    Compare(Comparison, RuleNumber),
    Bool(bool),
    /// Equality with a constant text. The constant is already normalized, for example case-folded.
    Text(Box<str>),
    In(ListElements),
}

/// The elements of the constant list of an `in` predicate, by kind.
#[derive(Clone, Debug, Default)]
pub struct ListElements {
    pub texts: Vec<Box<str>>,
    pub numbers: Vec<RuleNumber>,
    /// Whether the list contains `false`, and whether it contains `true`, in this order.
    pub has_false_and_true: [bool; 2],
}

impl ClassPredicate {
    /// Returns the predicate with the index `pred` as a `ClassPredicate`, and its text mode. `None`
    /// if the predicate's result depends on more than the equivalence class of one value.
    pub fn from_pred(chunk: &Chunk, pred: u32) -> Option<(ClassPredicate, TextMode)> {
        let pred = chunk.preds.get(pred as usize)?;
        let constant = |id: u32| chunk.consts.get(id as usize).map(|constant| constant.value());
        let with_plain_mode = |simple| Some((simple, TextMode::PLAIN));
        match pred.check {
            PredCheck::Truth => with_plain_mode(ClassPredicate::Truth),
            PredCheck::Missing => with_plain_mode(ClassPredicate::Missing),
            PredCheck::Int(cmp, int) => with_plain_mode(ClassPredicate::Compare(cmp, RuleNumber::Int(int))),
            PredCheck::Float(cmp, float) => {
                with_plain_mode(ClassPredicate::Compare(cmp, RuleNumber::Float(float)))
            }
            PredCheck::Equals(text) => {
                Some((ClassPredicate::Text((&**chunk.strings.get(text as usize)?).into()), pred.mode.text))
            }
            PredCheck::Members(id) => {
                let list = chunk.member_lists.get(id as usize)?;
                let mut members = ListElements::default();
                for element in constant(list.constant_index)?.elements()? {
                    match element {
                        Value::Str(text) => members.texts.push((&*list.mode.prepare(text)).into()),
                        Value::Bool(value) => members.has_false_and_true[usize::from(value)] = true,
                        other => members.numbers.extend(RuleNumber::from_value(other)),
                    }
                }
                Some((ClassPredicate::In(members), list.mode))
            }
            PredCheck::Generic => match (pred.test_kind, pred.right, pred.mode.quantity) {
                (TestKind::Op(Op::Eq), Operand::Const(id), None) => match constant(id)? {
                    Value::Bool(value) => with_plain_mode(ClassPredicate::Bool(value)),
                    _ => None,
                },
                _ => None,
            },
            PredCheck::Length(..) | PredCheck::HasKey(_) | PredCheck::Keywords(_) => None,
        }
    }

    /// Returns the constant texts with which the predicate compares the value that it reads.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            ClassPredicate::Text(text) => slice::from_ref(text),
            ClassPredicate::In(members) => &members.texts,
            _ => &[],
        };
        texts.iter().map(|text| &**text)
    }

    /// Returns the constant numbers with which the predicate compares the value that it reads.
    pub fn numbers(&self) -> impl Iterator<Item = RuleNumber> {
        let numbers = match self {
            ClassPredicate::Compare(_, number) => slice::from_ref(number),
            ClassPredicate::In(members) => &members.numbers,
            _ => &[],
        };
        numbers.iter().copied()
    }
}

/// Id of an equivalence class: a group of an attribute's values that no predicate distinguishes.
/// The fixed classes below have the lowest ids, followed by the classes of texts, then of numbers.
pub type ClassId = u32;

/// The equivalence class that consists of the missing value only.
pub const MISSING_CLASS: ClassId = 0;
/// The class id of `false`, which is a class of its own; the id of `true` is one higher.
const FALSE_CLASS: ClassId = 1;
/// The class of all other values: times, versions, lists and dicts. Unlike the values of other
/// classes, they may give different results, so predicates on them must be evaluated.
pub const OTHER_KINDS_CLASS: ClassId = 3;
/// The class of all texts that are no constant of a predicate. Each text that is such a constant
/// has a class of its own, with a higher id.
const NON_CONSTANT_TEXT_CLASS: ClassId = 4;

/// The equivalence classes of an attribute's values. Each constant text or number of a predicate is
/// a class. Other texts form one class, and other numbers one class for each interval between,
/// below or above the constants.
#[derive(Clone, Debug)]
pub struct ValueClasses {
    /// The class of numbers below all constants. The classes of greater numbers follow.
    first_number_class: ClassId,
    constant_text_ids: TextIds,
    constant_numbers: Vec<RuleNumber>,
    /// The constant numbers of the predicates, if each is exact as a float; else `None`.
    floats: Option<FloatBuckets>,
}

impl ValueClasses {
    /// Builds the classes of an attribute's values. `texts` and `numbers` are constants of rules.
    pub fn new<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        numbers: impl IntoIterator<Item = RuleNumber>,
    ) -> ValueClasses {
        let mut constant_text_ids = TextIds::default();
        let next_class = |ids: &TextIds| NON_CONSTANT_TEXT_CLASS + 1 + ids.len() as ClassId;
        for text in texts {
            constant_text_ids.insert(text, next_class(&constant_text_ids));
        }
        let mut constant_numbers: Vec<RuleNumber> = numbers.into_iter().collect();
        constant_numbers.sort_by(|a, b| a.compare_with(b.to_value()));
        constant_numbers.dedup_by(|a, b| a.compare_with(b.to_value()).is_eq());
        ValueClasses {
            first_number_class: next_class(&constant_text_ids),
            floats: ValueClasses::float_buckets(&constant_numbers),
            constant_text_ids,
            constant_numbers,
        }
    }

    fn float_buckets(numbers: &[RuleNumber]) -> Option<FloatBuckets> {
        let floats = numbers.iter().map(|number| match number {
            RuleNumber::Int(int) => to_exact_float(*int),
            RuleNumber::Float(float) => Some(*float),
            RuleNumber::Wide(_) => None,
        });
        floats.collect::<Option<_>>().map(FloatBuckets::new)
    }

    /// Returns the number of equivalence classes of the attribute's values.
    pub fn class_count(&self) -> ClassId {
        self.first_number_class + 2 * self.constant_numbers.len() as ClassId + 1
    }

    /// Returns the number of distinct constants with which predicates compare the attribute.
    pub fn constant_count(&self) -> usize {
        self.constant_text_ids.len() + self.constant_numbers.len()
    }

    /// Returns the equivalence class of a value. Precondition: a text is normalized in the text
    /// mode of the attribute.
    #[inline(always)]
    pub fn class_of(&self, value: &Value<'_>) -> ClassId {
        match value {
            Value::Missing => MISSING_CLASS,
            Value::Bool(value) => FALSE_CLASS + ClassId::from(*value),
            Value::Str(text) => self.class_of_text(text.as_bytes()),
            Value::Int(_) | Value::Float(_) | Value::Wide(_) => {
                self.first_number_class + self.number_position(value)
            }
            _ => OTHER_KINDS_CLASS,
        }
    }

    /// Returns a number's position among the sorted constants of predicates: `2 * i + 1` if it
    /// equals the constant with index `i`; otherwise twice the number of smaller constants.
    #[inline(always)]
    fn number_position(&self, value: &Value<'_>) -> ClassId {
        let float = match value {
            Value::Float(float) => Some(*float),
            Value::Int(int) => to_exact_float(*int),
            _ => None,
        };
        match (&self.floats, float) {
            (Some(floats), Some(float)) => {
                let (below, equal) = floats.search_value(float);
                2 * below as ClassId + ClassId::from(equal)
            }
            _ => self.exact_number_position(*value),
        }
    }

    /// Implements `number_position` for numbers of any kind, including numbers that floats cannot
    /// represent exactly.
    #[inline(never)]
    fn exact_number_position(&self, value: Value<'_>) -> ClassId {
        let below = self.constant_numbers.partition_point(|number| number.compare_with(value).is_lt());
        let equal = self.constant_numbers.get(below).is_some_and(|number| number.compare_with(value).is_eq());
        2 * below as ClassId + ClassId::from(equal)
    }

    /// Returns the equivalence class of a normalized text.
    // Not inlined, so that the lookup of a number does not pay for the code.
    #[inline(never)]
    pub fn class_of_text(&self, text: &[u8]) -> ClassId {
        self.constant_text_ids.get(text).unwrap_or(NON_CONSTANT_TEXT_CLASS)
    }

    /// Returns the class of a text that is a constant of a predicate; `None` for any other text.
    #[inline(always)]
    pub fn class_of_constant_text(&self, text: &str) -> Option<ClassId> {
        self.constant_text_ids.get(text.as_bytes())
    }

    /// Returns the results of the predicate `test` for all classes, as pairs of a class and a
    /// result. A result holds from its class up to the class of the next pair. It is `None` if
    /// values of one class may give different results.
    pub fn results_by_class(&self, test: &ClassPredicate) -> Vec<(ClassId, Option<Tri>)> {
        let mut bounds = self.class_bounds(test);
        bounds.sort_unstable();
        bounds.dedup();
        let listed = self.listed_classes(test);
        bounds.into_iter().map(|class| (class, self.result_for_class(test, &listed, class))).collect()
    }

    /// Returns the classes of the texts and numbers of an `in` predicate, in ascending order. Empty
    /// for other predicates.
    fn listed_classes(&self, test: &ClassPredicate) -> Vec<ClassId> {
        let ClassPredicate::In(_) = test else { return Vec::new() };
        let texts = test.texts().filter_map(|text| self.class_of_constant_text(text));
        let numbers = test.numbers().map(|number| self.class_of(&number.to_value()));
        let mut classes: Vec<ClassId> = texts.chain(numbers).collect();
        classes.sort_unstable();
        classes
    }

    /// Returns the result of the predicate `test` for all values of a class; `None` if different
    /// values of the class may give different results. `listed` are the classes of the elements of
    /// an `in` predicate.
    fn result_for_class(&self, test: &ClassPredicate, listed: &[ClassId], class: ClassId) -> Option<Tri> {
        if class == OTHER_KINDS_CLASS {
            return match test {
                ClassPredicate::Missing => Some(Tri::False),
                _ => None,
            };
        }
        let bool_value = (FALSE_CLASS..=FALSE_CLASS + 1).contains(&class).then_some(class == FALSE_CLASS + 1);
        let number_order = class.checked_sub(self.first_number_class);
        let is_text = class >= NON_CONSTANT_TEXT_CLASS && number_order.is_none();
        // The position of the predicate's number, comparable with the position `number_order` of
        // the class.
        let position = |number: RuleNumber| self.number_position(&number.to_value());
        Some(match test {
            ClassPredicate::Missing => (class == MISSING_CLASS).into(),
            ClassPredicate::Truth => bool_value.map_or(Tri::Unknown, Tri::from),
            ClassPredicate::Bool(wanted) => {
                bool_value.map_or(Tri::Unknown, |value| (value == *wanted).into())
            }
            ClassPredicate::Compare(cmp, number) => number_order
                .map_or(Tri::Unknown, |order| cmp.is_satisfied_by(order.cmp(&position(*number))).into()),
            ClassPredicate::Text(wanted) if is_text => {
                (self.class_of_constant_text(wanted) == Some(class)).into()
            }
            ClassPredicate::Text(_) => Tri::Unknown,
            ClassPredicate::In(_) if class == MISSING_CLASS => Tri::Unknown,
            ClassPredicate::In(members) => match bool_value {
                Some(value) => members.has_false_and_true[usize::from(value)],
                None => listed.binary_search(&class).is_ok(),
            }
            .into(),
        })
    }

    /// Splits the class ids into ranges, so that the predicate `test` has the same result for all
    /// classes of a range. Returns the first id of each range, in no order and with repetitions.
    fn class_bounds(&self, test: &ClassPredicate) -> Vec<ClassId> {
        let fixed = [
            MISSING_CLASS,
            FALSE_CLASS,
            FALSE_CLASS + 1,
            OTHER_KINDS_CLASS,
            NON_CONSTANT_TEXT_CLASS,
            self.first_number_class,
        ];
        let texts = test.texts().filter_map(|text| self.class_of_constant_text(text));
        let numbers = test.numbers().map(|number| self.class_of(&number.to_value()));
        let constants = texts.chain(numbers).flat_map(|class| [class, class + 1]);
        fixed.into_iter().chain(constants).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of the predicate `test` by the functions that implement the operators.
    fn expected_result(test: &ClassPredicate, value: Value<'_>) -> Tri {
        match test {
            ClassPredicate::Truth => rulec_lang::operators::implementations::value_to_tri(value),
            ClassPredicate::Missing => value.is_missing().into(),
            ClassPredicate::Bool(wanted) => rulec_lang::value::equal(value, Value::Bool(*wanted)),
            ClassPredicate::Text(wanted) => rulec_lang::value::equal(value, Value::Str(wanted)),
            ClassPredicate::Compare(cmp, number) => compare(value, number.to_value())
                .map_or(Tri::Unknown, |order| cmp.is_satisfied_by(order).into()),
            ClassPredicate::In(_) if value.is_missing() => Tri::Unknown,
            ClassPredicate::In(members) => {
                let texts = members.texts.iter().map(|text| Value::Str(text));
                let bools =
                    [false, true].into_iter().filter(|bool| members.has_false_and_true[usize::from(*bool)]);
                let all =
                    texts.chain(members.numbers.iter().map(|n| n.to_value())).chain(bools.map(Value::Bool));
                Tri::from(all.into_iter().any(|element| rulec_lang::value::is_identical(value, element)))
            }
        }
    }

    /// Every value of a class gives the result that `result_for_class` returns for the class.
    #[test]
    fn all_values_of_a_class_give_one_result() {
        let members = |texts: &[&str], numbers: &[RuleNumber], bools| {
            let texts = texts.iter().map(|text| (*text).into()).collect();
            ClassPredicate::In(ListElements { texts, numbers: numbers.to_vec(), has_false_and_true: bools })
        };
        let huge = i64::MAX - 1;
        let [three, seven, big] = [3, -7, huge].map(RuleNumber::Int);
        let numbers = [three, RuleNumber::Float(3.5), seven, big, RuleNumber::Wide(u64::MAX - 1)];
        let mut tests = vec![
            ClassPredicate::Truth,
            ClassPredicate::Missing,
            ClassPredicate::Bool(true),
            ClassPredicate::Bool(false),
            ClassPredicate::Text("a".into()),
            ClassPredicate::Text("".into()),
            members(&["a", "long enough to be no short text"], &[], [false, false]),
            members(&[], &numbers[..2], [true, false]),
        ];
        for cmp in
            [Comparison::LT, Comparison::LE, Comparison::EQ, Comparison::NE, Comparison::GT, Comparison::GE]
        {
            tests.extend(numbers.map(|number| ClassPredicate::Compare(cmp, number)));
        }
        let texts = ["a", "b", "", "long enough to be no short text"].map(Value::Str);
        let ints = [3, -7, -8, huge, i64::MAX].map(Value::Int);
        let floats = [3.0, 3.25, 3.5, huge as f64, -0.0].map(Value::Float);
        let wides = [1 << 63, u64::MAX - 1, u64::MAX].map(Value::Wide);
        let others = [Value::Missing, Value::Bool(true), Value::Bool(false)];
        let values: Vec<Value<'_>> = [&texts[..], &ints, &floats, &wides, &others].concat();
        // With the large integer, numbers are compared exactly; without it, as floats.
        for tests in [
            &tests[..],
            &tests.iter().filter(|t| t.numbers().all(is_exact_number)).cloned().collect::<Vec<_>>(),
        ] {
            let texts = tests.iter().flat_map(ClassPredicate::texts);
            let classes = ValueClasses::new(texts, tests.iter().flat_map(ClassPredicate::numbers));
            for test in tests {
                let (changes, listed) = (classes.class_bounds(test), classes.listed_classes(test));
                let result_for_class = |class| classes.result_for_class(test, &listed, class);
                for value in values.iter().copied() {
                    let class = classes.class_of(&value);
                    assert!(class < classes.class_count());
                    assert_eq!(
                        result_for_class(class),
                        Some(expected_result(test, value)),
                        "{test:?} {value:?}"
                    );
                    // All classes between two neighbouring bounds must give the same result.
                    let start =
                        *changes.iter().filter(|change| **change <= class).max().expect("the first class");
                    assert_eq!(result_for_class(start), result_for_class(class), "{test:?} {value:?}");
                }
                let list = result_for_class(classes.class_of(&Value::List(&[])));
                assert_eq!(list, matches!(test, ClassPredicate::Missing).then_some(Tri::False));
            }
        }
    }

    fn is_exact_number(number: RuleNumber) -> bool {
        match number {
            RuleNumber::Int(int) => to_exact_float(int).is_some(),
            RuleNumber::Float(_) => true,
            RuleNumber::Wide(_) => false,
        }
    }
}
