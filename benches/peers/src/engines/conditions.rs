//! The baseline for a rule set that the generator did not create: closures built from rulec's
//! normal form, evaluated in order. It supports only tests of one text field, which is enough for
//! `clinc`.

use super::{Engine, Ready, Sample};
use crate::view::View;
use ::rulec::Rules;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem::Finder;
use rulec_base::text::{compile_regex, has_word_edges};
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_sema::hir::{Const, SlotId};
use rulec_sema::normal::{ExprId, NormalCond, NormalExpr, NormalForm, NormalPredicate, TestKind};
use serde_json::Value as Json;
use std::cell::Cell;
use std::rc::Rc;

/// The closure of a condition or a predicate. A condition that several routes share is built once,
/// but evaluated for each route.
type Cond = Rc<dyn Fn(&View<'_>) -> bool>;

/// The conditions of the main table's rules, each with the index of its rule.
pub struct Conditions {
    routes: Vec<(u32, Cond)>,
}

impl Conditions {
    /// Builds the conditions from compiled rules.
    ///
    /// # Errors
    /// If the rules use a construct that this baseline does not support.
    pub fn new(rules: &Rules) -> Result<Conditions, String> {
        let normal = rules.normal();
        let preds = normal.preds.iter().map(|pred| predicate(normal, pred));
        let preds: Vec<Cond> = preds.collect::<Result<_, _>>()?;
        let mut conds: Vec<Cond> = Vec::with_capacity(normal.conds.len());
        for cond in &normal.conds {
            let of = |ids: &[rulec_sema::normal::CondId]| -> Vec<Cond> {
                ids.iter().map(|id| conds[id.index()].clone()).collect()
            };
            let cond: Cond = match cond {
                NormalCond::Const(holds) => {
                    let holds = *holds;
                    Rc::new(move |_| holds)
                }
                NormalCond::Predicate { pred, want } => {
                    let (pred, want) = (preds[pred.index()].clone(), *want);
                    Rc::new(move |view| pred(view) == want)
                }
                NormalCond::And(parts) => {
                    let parts = of(parts);
                    Rc::new(move |view| parts.iter().all(|part| part(view)))
                }
                NormalCond::Or(parts) => {
                    let parts = of(parts);
                    Rc::new(move |view| parts.iter().any(|part| part(view)))
                }
                NormalCond::Not(part) => {
                    let part = conds[part.index()].clone();
                    Rc::new(move |view| !part(view))
                }
                NormalCond::Each { .. } => return Err(super::unsupported("conditions over lists")),
            };
            conds.push(cond);
        }
        let routes = normal.tables.get(rules.main().id().index()).map_or(&[][..], Vec::as_slice);
        if routes.iter().any(|route| route.goto.is_some()) {
            return Err(super::unsupported("jumps"));
        }
        let routes = routes.iter().map(|route| (route.rule.0, conds[route.cond.index()].clone())).collect();
        Ok(Conditions { routes })
    }
}

/// Returns the message's text, in lower case if `fold` is set.
fn text<'v>(view: &'v View<'_>, fold: bool) -> &'v [u8] {
    if fold { view.lower() } else { view.text() }
}

fn predicate(normal: &NormalForm, pred: &NormalPredicate) -> Result<Cond, String> {
    let NormalPredicate { test_kind: TestKind::Op(op), mode, left, right: Some(right) } = pred else {
        return Err(super::unsupported("a test that is not of a text"));
    };
    if *normal.expr(*left) != NormalExpr::Slot(SlotId(0)) || !mode.text.maps_single_chars() {
        return Err(super::unsupported("a text that is not the message's own"));
    }
    let TestMode { whole_word: word, quantity, text: prepare } = *mode;
    let fold = prepare.folds_case;
    let words = strings(normal, *right)?;
    if *op == Op::Matches {
        let [pattern] = words.as_slice() else { return Err(super::unsupported("several patterns")) };
        let regex = compile_regex(pattern, fold).map_err(|error| error.to_string())?;
        return Ok(Rc::new(move |view| regex.is_match(&view.message.text)));
    }
    let words: Vec<String> = words.iter().map(|word| prepare.prepare(word).into_owned()).collect();
    let all = quantity == Some(Quantity::All);
    match op {
        Op::Contains if words.len() > MAX_WORDS_SEARCHED_SINGLY && !all => {
            any_word_condition(&words, word, fold)
        }
        Op::Contains => {
            let finders: Vec<Finder<'static>> =
                words.iter().map(|word| Finder::new(word).into_owned()).collect();
            let has = move |text: &[u8], finder: &Finder<'static>| {
                let mut places = finder.find_iter(text);
                places.any(|at| !word || has_word_boundaries(text, at, at + finder.needle().len()))
            };
            Ok(Rc::new(move |view| {
                let text = text(view, fold);
                match all {
                    true => finders.iter().all(|finder| has(text, finder)),
                    false => finders.iter().any(|finder| has(text, finder)),
                }
            }))
        }
        Op::StartsWith | Op::EndsWith if !word && !all => {
            let starts = *op == Op::StartsWith;
            Ok(Rc::new(move |view| {
                let text = text(view, fold);
                words.iter().any(|word| match starts {
                    true => text.starts_with(word.as_bytes()),
                    false => text.ends_with(word.as_bytes()),
                })
            }))
        }
        _ => Err(super::unsupported("this test of a text")),
    }
}

/// Maximum number of words that are searched one by one; more words are searched by an automaton.
const MAX_WORDS_SEARCHED_SINGLY: usize = 3;

/// Returns a condition that searches a text for any of many words with one automaton, as a careful
/// programmer would. With `word`, only matches with word boundaries count. With `fold`, the text is
/// searched in lower case.
fn any_word_condition(words: &[String], word: bool, fold: bool) -> Result<Cond, String> {
    // A DFA would be faster, but thousands of DFAs do not fit into memory.
    let kind = Some(AhoCorasickKind::ContiguousNFA);
    let automaton = AhoCorasick::builder().kind(kind).build(words).map_err(|error| error.to_string())?;
    Ok(Rc::new(move |view| {
        let text = text(view, fold);
        let mut found = automaton.find_overlapping_iter(text);
        found.any(|found| !word || has_word_boundaries(text, found.start(), found.end()))
    }))
}

/// True if the match from the byte `start` to the byte `end` has word boundaries at both ends.
fn has_word_boundaries(text: &[u8], start: usize, end: usize) -> bool {
    let ascii = |at: usize| text.get(at).is_none_or(u8::is_ascii);
    let is_word = |at: usize| text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = start.wrapping_sub(1);
    if ascii(before) && ascii(start) && ascii(end - 1) && ascii(end) {
        let inside_a_word = is_word(before) && is_word(start) || is_word(end - 1) && is_word(end);
        return !inside_a_word;
    }
    std::str::from_utf8(text).is_ok_and(|text| has_word_edges(text, start, end))
}

/// Returns the constant strings that a predicate compares with.
fn strings(normal: &NormalForm, expr: ExprId) -> Result<Vec<String>, String> {
    match (normal.expr(expr), normal.constant(expr)) {
        (NormalExpr::List(items), _) => {
            let items = items.iter().map(|item| strings(normal, *item));
            Ok(items.collect::<Result<Vec<_>, _>>()?.concat())
        }
        (_, Some(Const::Json(json))) => match &**json {
            Json::String(text) => Ok(vec![text.clone()]),
            Json::Array(items) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts
                    .collect::<Option<_>>()
                    .ok_or_else(|| super::unsupported("a list of other things than texts"))
            }
            _ => Err(super::unsupported("a constant that is no text")),
        },
        _ => Err(super::unsupported("a text that is not constant")),
    }
}

impl Engine for Conditions {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(Scan { conditions: self, samples, buffer: Cell::default() })
    }
}

struct Scan<'e> {
    conditions: &'e Conditions,
    samples: &'e [Sample],
    buffer: Cell<String>,
}

impl Ready for Scan<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        let view = View::new(&self.samples[at].message, &self.buffer);
        let found = self.conditions.routes.iter().find(|(_, cond)| cond(&view));
        let rule = found.map(|(rule, _)| *rule);
        view.done();
        rule
    }
}
