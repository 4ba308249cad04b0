//! A predicate with a constant right operand, prepared for tests of many left operands. The
//! constant may be a list with a hundred thousand elements. A hash set or an automaton finds an
//! element in a time that does not depend on the length of the list. Each result equals the result
//! of the reference evaluator.

use hashbrown::HashSet;
use rulec_base::text::automaton::LiteralAutomaton;
use rulec_base::text::version::parse_version;
use rulec_base::text::{TextMode, WordSearcher};
use rulec_lang::arena::Arena;
use rulec_lang::limits::Limits;
use rulec_lang::operators::budget::{PredicateContext, test_predicate};
use rulec_lang::operators::{Anchor, Op, Quantity, Search, TestMode, implementations};
use rulec_lang::ty::KindSet;
use rulec_lang::value::{Tri, Value, is_identical};
use rulec_sema::hir::Const;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;

/// Minimum number of elements of a constant list for which a hash set or automaton is built.
/// Shorter lists are searched linearly.
const MIN_PREPARED_ELEMENTS: usize = 16;
/// Estimated work of one search for a regular expression, in steps.
const STEPS_PER_REGEX_SEARCH: usize = 30;
/// Estimated work to compile a regular expression, in steps.
const REGEX_COMPILATION_STEPS: usize = 2_000;

/// A predicate with a constant right operand, prepared to be evaluated for many left operands.
pub(super) struct PreparedTest {
    op: Option<Op>,
    mode: TestMode,
    right_operand: Option<Const>,
    /// The kinds to which the left operand is converted, as by `x as number`.
    left_kinds: KindSet,
    limits: Limits,
    /// Whether the constant is a list of at least [`MIN_PREPARED_ELEMENTS`] elements.
    is_long_list: bool,
    lookup: OnceCell<Option<ListLookup>>,
    /// Number of steps of one linear search of the constant, for each unit of the left operand's
    /// size. A unit is 16 bytes of a text, or one list element.
    linear_search_steps: usize,
    /// Steps that are charged for the first evaluation only, for example to compile regular
    /// expressions. Zero after the first evaluation.
    first_evaluation_steps: Cell<usize>,
}

/// A data structure that searches for all elements of a long constant list at once.
enum ListLookup {
    /// For the operator `in`: the elements of the list.
    Members(MemberSet),
    /// For text operators with `any`: one of these texts must be found.
    Keywords { texts: HashSet<Box<str>>, search: KeywordSearch },
    /// For text operators with `all` on a list: the list must contain all of these texts.
    RequiredTexts(HashSet<Box<str>>),
}

/// The elements of the constant list in a test such as `x in [1, 2]`, grouped by their kind.
#[derive(Default)]
struct MemberSet {
    texts: HashSet<Box<str>>,
    ints: HashSet<i64>,
    /// Indexes of the elements that are neither texts nor ints.
    other_indexes: Vec<usize>,
}

/// A search for many keywords in one text, by the position that the operator requires.
enum KeywordSearch {
    Anywhere(LiteralAutomaton),
    Word(Box<WordSearcher<'static>>),
    /// The text must start with a keyword. Contains the lengths of the keywords, in bytes.
    Start(BTreeSet<usize>),
    /// The text must end with a keyword. Contains the lengths of the keywords, in bytes.
    End(BTreeSet<usize>),
}

impl PreparedTest {
    /// Prepares a predicate whose right operand is constant or absent. Without `op`, the predicate
    /// is a bool value. `mode` contains the modifiers of the operator, such as ignoring case.
    /// `left_kinds` are the kinds of value to which the left operand is converted.
    pub fn new(
        (op, mode): (Option<Op>, TestMode),
        right_operand: Option<&Const>,
        left_kinds: KindSet,
        limits: Limits,
    ) -> Self {
        let elements = right_operand.and_then(|right| right.value().list_len());
        let mut steps = elements.map_or(1, |elements| 1 + elements / 2);
        let search = op.and_then(|op| op.info().search);
        let patterns = elements.unwrap_or(1);
        let mut first_steps = if elements.is_some() { patterns } else { 0 };
        match search {
            Some(Search::Regex) => {
                steps = steps.saturating_mul(STEPS_PER_REGEX_SEARCH);
                first_steps = patterns.saturating_mul(REGEX_COMPILATION_STEPS);
            }
            Some(Search::Glob) => steps = steps.saturating_mul(STEPS_PER_REGEX_SEARCH),
            _ => {}
        }
        let first_steps = Cell::new(first_steps);
        let is_long = elements.is_some_and(|elements| elements >= MIN_PREPARED_ELEMENTS);
        PreparedTest {
            op,
            mode,
            right_operand: right_operand.cloned(),
            left_kinds,
            limits,
            is_long_list: is_long,
            lookup: OnceCell::new(),
            linear_search_steps: steps,
            first_evaluation_steps: first_steps,
        }
    }

    /// Returns the data structure for searching a long list; `None` if there is none for the
    /// predicate. The first call builds it.
    fn list_lookup(&self) -> Option<&ListLookup> {
        let (op, right) = self.op.zip(self.right_operand.as_ref()).filter(|_| self.is_long_list)?;
        self.lookup.get_or_init(|| ListLookup::new(op, self.mode, right)).as_ref()
    }

    /// Returns the number of steps (units of the work limit) of one evaluation for this left
    /// operand. The first call adds the steps that only the first evaluation takes.
    pub fn evaluation_steps(&self, left: Value<'_>) -> usize {
        let size = match left {
            Value::Str(text) => 1 + text.len() / 16,
            _ => 1 + left.list_len().unwrap_or(0),
        };
        let own = match self.list_lookup() {
            Some(ListLookup::Keywords {
                search: KeywordSearch::Start(lengths) | KeywordSearch::End(lengths),
                ..
            }) => size + lengths.len().min(size * 16) / 2,
            Some(ListLookup::RequiredTexts(texts)) => size + texts.len(),
            Some(_) => size,
            None => self.linear_search_steps.saturating_mul(size),
        };
        own.saturating_add(self.first_evaluation_steps.take())
    }

    /// Tests a value, with the same result as the reference evaluator. If the predicate compares
    /// versions, `left` is the text of a version.
    pub fn test(&self, left: Value<'_>) -> Tri {
        let version = match left {
            Value::Str(text) if self.left_kinds == KindSet::VERSION => parse_version(text),
            _ => None,
        };
        let version = version.map(|version| version.to_string());
        let left = version.as_deref().map_or(left, Value::Version).read_as(self.left_kinds);
        let right = self.right_operand.as_ref().map_or(Value::Missing, Const::value);
        let Some(op) = self.op else { return implementations::value_to_tri(left) };
        if let Some(truth) = self.list_lookup().and_then(|lookup| lookup.test(op, left, right, self.mode)) {
            return truth;
        }
        let arena = Arena::new(&self.limits);
        test_predicate(
            op,
            left,
            right,
            self.mode,
            PredicateContext { arena: &arena, is_right_constant: true },
        )
    }
}

impl ListLookup {
    fn new(op: Op, mode: TestMode, right: &Const) -> Option<ListLookup> {
        let prepared = |text: &str| Box::<str>::from(&*mode.text.prepare(text));
        if op == Op::In && mode.quantity.is_none() {
            let mut members = MemberSet::default();
            for (index, element) in right.value().elements()?.enumerate() {
                match element {
                    Value::Str(text) => drop(members.texts.insert(prepared(text))),
                    Value::Int(int) => drop(members.ints.insert(int)),
                    _ => members.other_indexes.push(index),
                }
            }
            return Some(ListLookup::Members(members));
        }
        let Some(Search::Literal(anchor)) = op.info().search else { return None };
        let texts: Option<HashSet<Box<str>>> =
            right.value().elements()?.map(|element| Some(prepared(element.as_str()?))).collect();
        let texts = texts?;
        match mode.quantity {
            Some(Quantity::Any) => {}
            Some(Quantity::All) => return Some(ListLookup::RequiredTexts(texts)),
            _ => return None,
        }
        let bytes = || {
            let mut all: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
            all.sort_unstable();
            all
        };
        let lengths = || texts.iter().map(|text| text.len()).collect();
        let search = match (anchor, mode.whole_word) {
            (Anchor::Anywhere, true) => {
                KeywordSearch::Word(Box::new(WordSearcher::for_keywords(bytes()).ok()?))
            }
            (Anchor::Anywhere, false) => {
                KeywordSearch::Anywhere(LiteralAutomaton::for_any_match(bytes()).ok()?)
            }
            (Anchor::Start, false) => KeywordSearch::Start(lengths()),
            (Anchor::End, false) => KeywordSearch::End(lengths()),
            (_, true) => return None,
        };
        Some(ListLookup::Keywords { texts, search })
    }

    /// Tests a value of the left operand with this data structure; `None` if the elements of the
    /// constant list must be tried one after another.
    fn test(&self, op: Op, left: Value<'_>, right: Value<'_>, mode: TestMode) -> Option<Tri> {
        if left.is_missing() {
            return Some(Tri::Unknown);
        }
        // If the left operand of `contains` is a list, its texts.
        let listed =
            || left.elements().filter(|_| op == Op::Contains).map(|all| all.filter_map(Value::as_str));
        match (self, left) {
            (ListLookup::Members(members), _) => members.contains_value(left, right, mode.text),
            (ListLookup::Keywords { texts, search }, Value::Str(text)) => {
                Some(search.finds_keyword_in(&mode.text.prepare(text), texts).into())
            }
            (ListLookup::RequiredTexts(_), Value::Str(_)) => None,
            (ListLookup::Keywords { texts, .. }, _) => Some(listed().map_or(Tri::Unknown, |mut elements| {
                elements.any(|text| texts.contains(&*mode.text.prepare(text))).into()
            })),
            (ListLookup::RequiredTexts(texts), _) => Some(listed().map_or(Tri::Unknown, |elements| {
                let seen: HashSet<Box<str>> =
                    elements.map(|text| (&*mode.text.prepare(text)).into()).collect();
                texts.is_subset(&seen).into()
            })),
        }
    }
}

impl MemberSet {
    /// Returns whether a value is in the list; `None` if a linear search must decide.
    fn contains_value(&self, wanted: Value<'_>, list: Value<'_>, mode: TextMode) -> Option<Tri> {
        let others = || {
            let mut elements = self.other_indexes.iter().map(|index| list.index(Value::Int(*index as i64)));
            elements.any(|element| is_identical(element, wanted))
        };
        let is_there = match wanted {
            Value::Str(text) => self.texts.contains(&*mode.prepare(text)) || others(),
            Value::Int(int) => self.ints.contains(&int) || others(),
            Value::Float(float) => {
                // The int with the value of the float, if there is one.
                let int = float as i64;
                (self.ints.contains(&int) && is_identical(Value::Int(int), wanted)) || others()
            }
            Value::DateTime(_) | Value::Decimal(_) => return None,
            _ => others(),
        };
        Some(is_there.into())
    }
}

impl KeywordSearch {
    fn finds_keyword_in(&self, text: &str, texts: &HashSet<Box<str>>) -> bool {
        match self {
            KeywordSearch::Anywhere(automaton) => automaton.is_match(text),
            KeywordSearch::Word(searcher) => searcher.is_match(text),
            KeywordSearch::Start(lengths) => lengths
                .range(..=text.len())
                .any(|length| text.get(..*length).is_some_and(|start| texts.contains(start))),
            KeywordSearch::End(lengths) => lengths
                .range(..=text.len())
                .any(|length| text.get(text.len() - length..).is_some_and(|end| texts.contains(end))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};
    use std::sync::Arc;

    /// A prepared lookup gives the same result as a linear search of the list.
    #[test]
    fn a_lookup_equals_a_linear_search() {
        let fill = (0..MIN_PREPARED_ELEMENTS).map(|at| json!(format!("filler{at}")));
        let texts: Vec<Json> = fill.clone().chain([json!("Ab"), json!("straße"), json!("b c")]).collect();
        let mixed =
            [json!(1), json!(2.5), json!(9_007_199_254_740_993_i64), json!(null), json!([1]), json!(true)];
        let mixed: Vec<Json> = texts.iter().cloned().chain(mixed).collect();
        let lefts = [
            json!(null),
            json!("Ab"),
            json!("ab"),
            json!("xAbx"),
            json!("Ab x"),
            json!("x Ab"),
            json!("STRASSE"),
            json!("a b c d"),
            json!(""),
            json!(1),
            json!(1.0),
            json!(2.5),
            json!(3),
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_992.0),
            json!(true),
            json!([1]),
            json!(["Ab", 1]),
            json!(["xAb"]),
            json!([]),
            json!({"Ab": 1}),
            json!(texts),
        ];
        let mut looked_up = 0;
        for op in [Op::In, Op::Contains, Op::StartsWith, Op::EndsWith] {
            for (fold, word) in [(false, false), (true, false), (false, true), (true, true)] {
                for quantity in [None, Some(Quantity::Any), Some(Quantity::All), Some(Quantity::None)] {
                    let text = TextMode { folds_case: fold, ..TextMode::PLAIN };
                    let mode = TestMode { whole_word: word, quantity, text };
                    for list in [&texts, &mixed] {
                        let right = Const::Json(Arc::new(json!(list)));
                        let kinds = KindSet::EVERY_KIND;
                        let test =
                            PreparedTest::new((Some(op), mode), Some(&right), kinds, Limits::default());
                        looked_up += usize::from(test.list_lookup().is_some());
                        for left in &lefts {
                            let left = Value::from_json(left);
                            let arena = Arena::default();
                            let context = PredicateContext { arena: &arena, is_right_constant: true };
                            let expected = test_predicate(op, left, right.value(), mode, context);
                            assert_eq!(test.test(left), expected, "{left:?} {op:?} {mode:?}");
                        }
                    }
                }
            }
        }
        assert!(looked_up > 20, "{looked_up}");
    }
}
