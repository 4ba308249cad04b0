//! A textbook index prototype, generic over the literal scanner. Each route has one key that every
//! matching message must contain. The posting list of a key has the ranks (evaluation positions) of
//! the routes with this key. The prototype reads the posting lists of a message's keys, up to the
//! best rank found so far, and evaluates each of these routes.
//!
//! With Hyperscan, the prototype shows what a fast text scan gains. With aho-corasick, the
//! prototype is also the oracle that sorts messages into mixes, because its time does not grow with
//! the number of routes.

use super::{Engine, Ready, Sample};
use crate::view::View;
use crate::workload::{Comparison, Message, Number, Route, Term, Words, Workload};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use foldhash::HashMap;
use regex::Regex;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeSet;

/// Finds the literals that a text contains. The literals and the text are in lower case.
pub trait LiteralScan {
    /// Calls `hit` with the index of each literal found, possibly more than once.
    fn scan(&self, text: &[u8], hit: &mut dyn FnMut(usize));
}

impl LiteralScan for AhoCorasick {
    fn scan(&self, text: &[u8], hit: &mut dyn FnMut(usize)) {
        self.find_overlapping_iter(text).for_each(|found| hit(found.pattern().as_usize()));
    }
}

/// Ranks of routes, in ascending order.
type Ranks = Vec<u32>;

/// The index over the routes: posting lists for each kind of key.
pub struct Keyed<'w, S> {
    routes: &'w [Route],
    /// Regexes, compiled at their first use; most are never used.
    regexes: Vec<OnceCell<Regex>>,
    scan: Option<S>,
    by_literal: Vec<Ranks>,
    by_string: [HashMap<&'w str, Ranks>; 5],
    by_tag: HashMap<&'w str, Ranks>,
    by_text: HashMap<&'w str, Ranks>,
    /// Thresholds with the ranks of their routes, by field and comparison. Thresholds that more
    /// values satisfy come first, so a search can end at the first threshold that is not satisfied.
    by_threshold: [[Vec<(f64, u32)>; 2]; 5],
    /// Routes without a key, which are candidates for every message.
    rest: Ranks,
}

/// Numbers of routes that the keys of one message select as candidates.
pub struct Candidates {
    pub by_literal: usize,
    /// Number of routes selected by a string or a tag.
    pub by_value: usize,
    /// Number of routes selected by a threshold, plus the routes without a key.
    pub others: usize,
    /// Number of selected routes that match the message.
    pub hold: usize,
}

/// The key of a route: a part that each matching message must contain.
enum Key<'w> {
    Literals(Vec<&'w str>),
    Strings(usize, Vec<&'w str>),
    Tag(&'w str),
    Text(&'w str),
    Threshold(Number, Comparison, f64),
    None,
}

/// Builds the index with aho-corasick as the scanner.
pub fn build(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(oracle(workload)?))
}

/// Builds the index that sorts messages into mixes.
pub fn oracle(workload: &Workload) -> Result<Keyed<'_, AhoCorasick>, String> {
    Keyed::new(workload, automaton)
}

/// Builds an automaton as a careful user would: the fastest kind that still fits into a cache.
pub fn automaton(literals: &[String]) -> Result<AhoCorasick, String> {
    let kind = if literals.len() > 2000 { AhoCorasickKind::ContiguousNFA } else { AhoCorasickKind::DFA };
    AhoCorasick::builder().kind(Some(kind)).build(literals).map_err(|error| error.to_string())
}

impl<'w, S: LiteralScan> Keyed<'w, S> {
    pub fn new(
        workload: &'w Workload,
        scanner: impl FnOnce(&[String]) -> Result<S, String>,
    ) -> Result<Self, String> {
        let mut index = Keyed {
            routes: &workload.routes,
            regexes: workload.routes.iter().map(|_| OnceCell::new()).collect(),
            scan: None,
            by_literal: Vec::new(),
            by_string: Default::default(),
            by_tag: HashMap::default(),
            by_text: HashMap::default(),
            by_threshold: Default::default(),
            rest: Vec::new(),
        };
        let mut literals: HashMap<String, usize> = HashMap::default();
        let mut hang = |index: &mut Self, word: &str, rank| {
            let next = literals.len();
            let at = *literals.entry(word.to_ascii_lowercase()).or_insert(next);
            if at == next {
                index.by_literal.push(Vec::new());
            }
            index.by_literal[at].push(rank);
        };
        for route in &workload.routes {
            let rank = route.rank;
            let keys = route.terms.iter().map(key);
            match keys.min_by_key(|key| worth(key, workload)).unwrap_or(Key::None) {
                Key::Literals(words) => words.iter().for_each(|word| hang(&mut index, word, rank)),
                Key::Strings(field, values) => {
                    values
                        .iter()
                        .for_each(|value| index.by_string[field].entry(value).or_default().push(rank));
                }
                Key::Tag(tag) => index.by_tag.entry(tag).or_default().push(rank),
                Key::Text(text) => index.by_text.entry(text).or_default().push(rank),
                Key::Threshold(field, comparison, value) => {
                    index.by_threshold[field as usize][comparison as usize].push((value, rank));
                }
                Key::None => index.rest.push(rank),
            }
        }
        for [at_least, below] in &mut index.by_threshold {
            at_least.sort_by(|a, b| a.0.total_cmp(&b.0));
            below.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
        if !literals.is_empty() {
            let mut words = vec![String::new(); literals.len()];
            literals.into_iter().for_each(|(word, at)| words[at] = word);
            index.scan = Some(scanner(&words)?);
        }
        Ok(index)
    }

    /// Returns the rank of the first route that matches the message; `None` if none matches.
    pub fn first(&self, message: &Message, buffer: &Cell<String>) -> Option<u32> {
        let view = View::new(message, buffer);
        let mut best = u32::MAX;
        let walk = |ranks: &[u32], best: &mut u32| {
            for &rank in ranks {
                if rank >= *best {
                    break;
                }
                if self.holds(rank, &view) {
                    *best = rank;
                }
            }
        };
        for (field, lists) in self.by_string.iter().enumerate() {
            if let Some(ranks) = lists.get(view.string(field)) {
                walk(ranks, &mut best);
            }
        }
        for tag in &message.tags {
            if let Some(ranks) = self.by_tag.get(tag.as_str()) {
                walk(ranks, &mut best);
            }
        }
        if let Some(ranks) = self.by_text.get(message.text.as_str()) {
            walk(ranks, &mut best);
        }
        walk(&self.rest, &mut best);
        for (field, [at_least, below]) in self.by_threshold.iter().enumerate() {
            let value = view.number(field);
            let reached = at_least.iter().take_while(|(threshold, _)| value >= *threshold);
            let under = below.iter().take_while(|(threshold, _)| value < *threshold);
            for &(_, rank) in reached.chain(under) {
                if rank < best && self.holds(rank, &view) {
                    best = rank;
                }
            }
        }
        if let Some(scan) = &self.scan {
            scan.scan(view.lower(), &mut |literal| walk(&self.by_literal[literal], &mut best));
        }
        view.done();
        (best != u32::MAX).then_some(best)
    }

    /// Counts the routes that the keys in the message select, without stopping at the first match.
    pub fn candidates(&self, message: &Message, buffer: &Cell<String>) -> Candidates {
        let view = View::new(message, buffer);
        let mut found = BTreeSet::new();
        if let Some(scan) = &self.scan {
            scan.scan(view.lower(), &mut |literal| found.extend(&self.by_literal[literal]));
        }
        let by_literal = found.len();
        for (field, lists) in self.by_string.iter().enumerate() {
            found.extend(lists.get(view.string(field)).into_iter().flatten());
        }
        for tag in &message.tags {
            found.extend(self.by_tag.get(tag.as_str()).into_iter().flatten());
        }
        found.extend(self.by_text.get(message.text.as_str()).into_iter().flatten());
        let by_value = found.len() - by_literal;
        for (field, [at_least, below]) in self.by_threshold.iter().enumerate() {
            let value = view.number(field);
            found.extend(at_least.iter().filter(|(threshold, _)| value >= *threshold).map(|(_, rank)| rank));
            found.extend(below.iter().filter(|(threshold, _)| value < *threshold).map(|(_, rank)| rank));
        }
        found.extend(&self.rest);
        let others = found.len() - by_literal - by_value;
        let hold = found.iter().filter(|rank| self.holds(**rank, &view)).count();
        view.done();
        Candidates { by_literal, by_value, others, hold }
    }

    fn holds(&self, rank: u32, view: &View<'_>) -> bool {
        let (terms, regex) = (&self.routes[rank as usize].terms, &self.regexes[rank as usize]);
        let (fields, texts) = (|term: &&Term| term.cost() < 10, |term: &&Term| term.cost() >= 10);
        terms.iter().filter(fields).all(|term| holds(term, view, regex))
            && terms.iter().filter(texts).all(|term| holds(term, view, regex))
    }
}

/// Returns the key of a term: a message contains the key if the term is true for the message.
fn key(term: &Term) -> Key<'_> {
    match term {
        Term::Contains { words, joined: Words::All, .. } => Key::Literals(
            words.iter().max_by_key(|word| word.len()).map(String::as_str).into_iter().collect(),
        ),
        Term::Contains { words, .. } => Key::Literals(words.iter().map(String::as_str).collect()),
        Term::StartsWith { word, .. } => Key::Literals(vec![word]),
        Term::Matches { literals, .. } => Key::Literals(literals.iter().map(String::as_str).collect()),
        Term::Is(field, value) => Key::Strings(*field, vec![value]),
        Term::OneOf(field, values) => Key::Strings(*field, values.iter().map(String::as_str).collect()),
        Term::Tagged(tag) => Key::Tag(tag),
        Term::Compare(field, comparison, value) => Key::Threshold(*field, *comparison, *value),
        Term::TextIs(text) => Key::Text(text),
        Term::Either(left, right) => match (key(left), key(right)) {
            (Key::Literals(mut left), Key::Literals(right)) => {
                left.extend(right);
                Key::Literals(left)
            }
            _ => Key::None,
        },
        Term::Lacks(_) | Term::IsNot(..) | Term::IsNew => Key::None,
    }
}

/// Estimates how many of a million messages contain the key. The rarest key of a route is used.
fn worth(key: &Key<'_>, workload: &Workload) -> u64 {
    let words = &workload.vocabulary;
    match key {
        // Two consecutive words are rare; the frequency of one word depends on the vocabulary size.
        Key::Literals(found) => {
            let rare = |word: &str| {
                let found = 500_000.0 * workload.shape.density.words_in_text();
                if word.contains(' ') || word.len() > 9 {
                    10
                } else {
                    found as u64 / words.words.len() as u64
                }
            };
            found.iter().map(|word| rare(word)).sum()
        }
        Key::Strings(crate::workload::route::PRODUCT, values) => {
            values.len() as u64 * 1_000_000 / words.products.len() as u64
        }
        Key::Strings(crate::workload::route::COUNTRY, values) => values.len() as u64 * 25_000,
        Key::Strings(_, values) => values.len() as u64 * 100_000,
        Key::Tag(_) => 2_000_000 / words.tags.len() as u64,
        Key::Text(_) => 0,
        Key::Threshold(field, Comparison::AtLeast, value) => ((1.0 - value / field.limit()) * 1e6) as u64,
        Key::Threshold(field, Comparison::Below, value) => (value / field.limit() * 1e6) as u64,
        Key::None => u64::MAX,
    }
}

/// True if the term matches the message. At large sizes, this plain definition is the oracle for
/// all engines.
fn holds(term: &Term, view: &View<'_>, regex: &OnceCell<Regex>) -> bool {
    let text = view.message.text.as_str();
    let has = |word: &String, fold: bool| {
        memchr::memmem::find(if fold { view.lower() } else { view.text() }, word.as_bytes()).is_some()
    };
    match term {
        Term::Contains { words, joined: Words::Any, fold } => words.iter().any(|word| has(word, *fold)),
        Term::Contains { words, joined: Words::All, fold } => words.iter().all(|word| has(word, *fold)),
        Term::Lacks(word) => !has(word, false),
        Term::StartsWith { word, fold: false } => text.starts_with(word),
        Term::StartsWith { word, fold: true } => view.lower().starts_with(word.as_bytes()),
        Term::TextIs(wanted) => text == wanted,
        Term::Matches { pattern, .. } => {
            regex.get_or_init(|| Regex::new(pattern).unwrap_or_else(|error| panic!("{error}"))).is_match(text)
        }
        Term::Is(field, value) => view.string(*field) == value,
        Term::IsNot(field, value) => !view.string(*field).is_empty() && view.string(*field) != value,
        Term::OneOf(field, values) => values.iter().any(|value| value == view.string(*field)),
        Term::Compare(field, Comparison::AtLeast, value) => view.number(*field as usize) >= *value,
        Term::Compare(field, Comparison::Below, value) => view.number(*field as usize) < *value,
        Term::Tagged(tag) => view.tagged(tag),
        Term::IsNew => view.is_new(),
        Term::Either(left, right) => holds(left, view, regex) || holds(right, view, regex),
    }
}

impl<S: LiteralScan> Engine for Keyed<'_, S> {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(Probe { index: self, samples, buffer: Cell::default() })
    }
}

struct Probe<'e, 'w, S> {
    index: &'e Keyed<'w, S>,
    samples: &'e [Sample],
    buffer: Cell<String>,
}

impl<S: LiteralScan> Ready for Probe<'_, '_, S> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        self.index.first(&self.samples[at].message, &self.buffer)
    }
}
