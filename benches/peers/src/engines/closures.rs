//! The baseline without code generation: every route is a tree of boxed closures, evaluated in
//! order. Searchers and regexes are built once, and a decision allocates nothing.

use super::{Engine, Ready, Sample};
use crate::view::View;
use crate::workload::{Comparison, Route, Term, Words, Workload};
use memchr::memmem::Finder;
use regex::Regex;
use std::cell::{Cell, OnceCell};

/// A condition on a message, as a closure.
pub type Cond = Box<dyn Fn(&View<'_>) -> bool>;

/// The routes as conditions, in evaluation order.
pub struct Closures {
    routes: Vec<Cond>,
}

/// When the regexes of a condition are compiled.
#[derive(Clone, Copy, PartialEq)]
pub enum Regexes {
    AtOnce,
    /// At the first message that needs the regex. An index never needs most of its regexes.
    AtFirstUse,
}

/// The order in which the terms of a route are evaluated.
#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    /// The terms in the order in which the author wrote them.
    Written,
    /// Terms on fields first, then terms on the text, then regexes. A careful programmer would use
    /// this order.
    CheapFirst,
}

pub fn build_as_written(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(Closures::new(&workload.routes, Order::Written)))
}

pub fn build_cheap_first(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(Closures::new(&workload.routes, Order::CheapFirst)))
}

impl Closures {
    pub fn new(routes: &[Route], order: Order) -> Closures {
        Closures { routes: routes.iter().map(|route| conjunction(route, order, Regexes::AtOnce)).collect() }
    }
}

/// Returns the closure of a route's condition.
pub fn conjunction(route: &Route, order: Order, regexes: Regexes) -> Cond {
    let mut terms: Vec<&Term> = route.terms.iter().collect();
    if order == Order::CheapFirst {
        terms.sort_by_key(|term| term.cost());
    }
    let mut conds: Vec<Cond> = terms.into_iter().map(|term| condition(term, regexes)).collect();
    // Separate closures for two and three terms avoid a loop; most routes fail at the first term.
    match conds.len() {
        2 => {
            let (b, a) = (pop(&mut conds), pop(&mut conds));
            Box::new(move |view| a(view) && b(view))
        }
        3 => {
            let (c, b, a) = (pop(&mut conds), pop(&mut conds), pop(&mut conds));
            Box::new(move |view| a(view) && b(view) && c(view))
        }
        _ => {
            let conds = conds.into_boxed_slice();
            Box::new(move |view| conds.iter().all(|cond| cond(view)))
        }
    }
}

fn pop(conds: &mut Vec<Cond>) -> Cond {
    conds.pop().unwrap_or_else(|| Box::new(|_| true))
}

fn finder(word: &str) -> Finder<'static> {
    Finder::new(word.as_bytes()).into_owned()
}

fn condition(term: &Term, regexes: Regexes) -> Cond {
    match term {
        Term::Contains { words, joined, fold } => {
            let mut finders: Vec<Finder<'static>> = words.iter().map(|word| finder(word)).collect();
            match (finders.len(), joined, fold) {
                (1, _, fold) => {
                    let finder = finders.remove(0);
                    if *fold {
                        Box::new(move |view| finder.find(view.lower()).is_some())
                    } else {
                        Box::new(move |view| finder.find(view.text()).is_some())
                    }
                }
                (_, Words::Any, true) => {
                    Box::new(move |view| finders.iter().any(|finder| finder.find(view.lower()).is_some()))
                }
                (_, Words::Any, false) => {
                    Box::new(move |view| finders.iter().any(|finder| finder.find(view.text()).is_some()))
                }
                (_, Words::All, true) => {
                    Box::new(move |view| finders.iter().all(|finder| finder.find(view.lower()).is_some()))
                }
                (_, Words::All, false) => {
                    Box::new(move |view| finders.iter().all(|finder| finder.find(view.text()).is_some()))
                }
            }
        }
        Term::Lacks(word) => {
            let finder = finder(word);
            Box::new(move |view| finder.find(view.text()).is_none())
        }
        Term::StartsWith { word, fold } => {
            let word: Box<[u8]> = word.as_bytes().into();
            if *fold {
                Box::new(move |view| {
                    let text = view.text();
                    text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(&word)
                })
            } else {
                Box::new(move |view| view.text().starts_with(&word))
            }
        }
        Term::TextIs(wanted) => {
            let wanted = wanted.clone().into_boxed_str();
            Box::new(move |view| *view.message.text == *wanted)
        }
        Term::Matches { pattern, .. } => {
            let compile = |pattern: &str| Regex::new(pattern).unwrap_or_else(|error| panic!("{error}"));
            if regexes == Regexes::AtOnce {
                let regex = compile(pattern);
                return Box::new(move |view| regex.is_match(&view.message.text));
            }
            let (pattern, regex) = (pattern.clone().into_boxed_str(), OnceCell::new());
            Box::new(move |view| regex.get_or_init(|| compile(&pattern)).is_match(&view.message.text))
        }
        Term::Is(field, value) => {
            let (field, value) = (*field, value.clone().into_boxed_str());
            Box::new(move |view| *view.string(field) == *value)
        }
        Term::IsNot(field, value) => {
            let (field, value) = (*field, value.clone().into_boxed_str());
            Box::new(move |view| !view.string(field).is_empty() && *view.string(field) != *value)
        }
        Term::OneOf(field, values) => {
            let (field, values) = (*field, values.clone().into_boxed_slice());
            Box::new(move |view| values.iter().any(|value| value == view.string(field)))
        }
        Term::Compare(field, Comparison::AtLeast, threshold) => {
            let (field, threshold) = (*field as usize, *threshold);
            Box::new(move |view| view.number(field) >= threshold)
        }
        Term::Compare(field, Comparison::Below, threshold) => {
            let (field, threshold) = (*field as usize, *threshold);
            Box::new(move |view| view.number(field) < threshold)
        }
        Term::Tagged(tag) => {
            let tag = tag.clone().into_boxed_str();
            Box::new(move |view| view.tagged(&tag))
        }
        Term::IsNew => Box::new(|view| view.is_new()),
        Term::Either(left, right) => {
            let (left, right) = (condition(left, regexes), condition(right, regexes));
            Box::new(move |view| left(view) || right(view))
        }
    }
}

impl Engine for Closures {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(Scan { routes: &self.routes, samples, buffer: Cell::default() })
    }
}

struct Scan<'e> {
    routes: &'e [Cond],
    samples: &'e [Sample],
    buffer: Cell<String>,
}

impl Ready for Scan<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        let view = View::new(&self.samples[at].message, &self.buffer);
        let rank = self.routes.iter().position(|route| route(&view));
        view.done();
        rank.map(|rank| rank as u32)
    }
}
