//! A textbook index prototype, generic over the literal scanner. Each route has one key, or several
//! keys of which every matching message must contain one. The posting list of a key has the ranks
//! (evaluation positions) of the routes with this key. The prototype gathers the routes of a
//! message's keys, sorts them by rank, and evaluates their closures up to the first that matches.
//!
//! With Hyperscan, the prototype shows what a fast text scan gains. With aho-corasick, the
//! prototype is also the oracle that sorts messages into mixes, because its time does not grow with
//! the number of routes.

use super::closures::{Cond, Order, Regexes, conjunction};
use super::{Engine, Ready, Sample};
use crate::view::View;
use crate::workload::route::{COUNTRY, PRODUCT};
use crate::workload::{Comparison, Message, Number, Term, Words, Workload};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use foldhash::HashMap;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Finds the literals that a text contains.
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

/// Working memory that the next decision reuses.
#[derive(Default)]
pub struct Buffers {
    lower: Cell<String>,
    /// Ranks of the routes that the message's keys select.
    selected: Cell<Ranks>,
}

/// The index over the routes: posting lists for each kind of key.
pub struct Keyed<'w, S> {
    /// The conditions of the routes by rank. Most of their regexes are never used.
    routes: Vec<Cond>,
    scan: Option<S>,
    /// True if a route ignores case: then texts are scanned in lower case.
    folds: bool,
    /// The posting list of literal `n` is the part of `literal_ranks` from `literal_starts[n]` to
    /// `literal_starts[n + 1]`.
    literal_starts: Vec<u32>,
    literal_ranks: Ranks,
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
    /// Number of routes selected by a comparison with a number, such as `x > 5`, plus the routes
    /// without a key.
    pub others: usize,
    /// Number of selected routes that match the message.
    pub hold: usize,
}

/// A key of a route: a part that a message may contain.
enum Key<'w> {
    Literal(&'w str),
    String(usize, &'w str),
    Tag(&'w str),
    Text(&'w str),
    Threshold(Number, Comparison, f64),
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
        let routes = &workload.routes;
        let mut index = Keyed {
            routes: routes
                .iter()
                .map(|route| conjunction(route, Order::CheapFirst, Regexes::AtFirstUse))
                .collect(),
            scan: None,
            folds: routes.iter().flat_map(|route| &route.terms).any(folds),
            literal_starts: vec![0],
            literal_ranks: Vec::new(),
            by_string: Default::default(),
            by_tag: HashMap::default(),
            by_text: HashMap::default(),
            by_threshold: Default::default(),
            rest: Vec::new(),
        };
        let (mut numbers, mut words): (HashMap<String, usize>, Vec<String>) = Default::default();
        let mut by_literal: Vec<Ranks> = Vec::new();
        for route in routes {
            let rank = route.rank;
            let choices = route.terms.iter().filter_map(keys);
            let worth =
                |keys: &Vec<Key<'_>>| keys.iter().map(|key| messages_per_million(key, workload)).sum::<u64>();
            let Some(keys) = choices.min_by_key(worth) else {
                index.rest.push(rank);
                continue;
            };
            for key in keys {
                match key {
                    Key::Literal(word) => {
                        let word = if index.folds { word.to_ascii_lowercase() } else { word.to_owned() };
                        let number = *numbers.entry(word).or_insert_with_key(|word| {
                            words.push(word.clone());
                            by_literal.push(Vec::new());
                            words.len() - 1
                        });
                        by_literal[number].push(rank);
                    }
                    Key::String(field, value) => index.by_string[field].entry(value).or_default().push(rank),
                    Key::Tag(tag) => index.by_tag.entry(tag).or_default().push(rank),
                    Key::Text(text) => index.by_text.entry(text).or_default().push(rank),
                    Key::Threshold(field, comparison, value) => {
                        index.by_threshold[field as usize][comparison as usize].push((value, rank));
                    }
                }
            }
        }
        for ranks in by_literal {
            index.literal_ranks.extend(ranks);
            index.literal_starts.push(index.literal_ranks.len() as u32);
        }
        for [at_least, below] in &mut index.by_threshold {
            at_least.sort_by(|a, b| a.0.total_cmp(&b.0));
            below.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
        if !words.is_empty() {
            index.scan = Some(scanner(&words)?);
        }
        Ok(index)
    }

    /// Returns the rank of the first route that matches the message; `None` if none matches.
    pub fn first(&self, message: &Message, buffers: &Buffers) -> Option<u32> {
        let view = View::new(message, &buffers.lower);
        let mut selected = buffers.selected.take();
        selected.clear();
        self.select_by_literal(&view, &mut selected);
        self.select_by_value(&view, &mut selected);
        selected.sort_unstable();
        let matches = |rank: &u32| self.routes[*rank as usize](&view);
        let mut best = selected.iter().copied().find(matches).unwrap_or(u32::MAX);
        // Routes without a key, and those with a threshold only, may be many: they are not sorted.
        let rest = self.rest.iter().copied().take_while(|rank| *rank < best);
        best = rest.into_iter().find(matches).unwrap_or(best);
        self.select_by_threshold(&view, |rank| {
            if rank < best && matches(&rank) {
                best = rank;
            }
        });
        buffers.selected.set(selected);
        view.done();
        (best != u32::MAX).then_some(best)
    }

    /// Adds the ranks of the routes whose key is a literal that the text contains.
    fn select_by_literal(&self, view: &View<'_>, selected: &mut Ranks) {
        let Some(scan) = &self.scan else { return };
        let text = if self.folds { view.lower() } else { view.text() };
        scan.scan(text, &mut |literal| {
            let [start, end] = [literal, literal + 1].map(|at| self.literal_starts[at] as usize);
            selected.extend_from_slice(&self.literal_ranks[start..end]);
        });
    }

    /// Adds the ranks of the routes whose key equals a string field, a tag or the whole text of the
    /// message.
    fn select_by_value(&self, view: &View<'_>, selected: &mut Ranks) {
        for (field, lists) in self.by_string.iter().enumerate() {
            selected.extend(lists.get(view.string(field)).into_iter().flatten());
        }
        for tag in &view.message.tags {
            selected.extend(self.by_tag.get(tag.as_str()).into_iter().flatten());
        }
        selected.extend(self.by_text.get(view.message.text.as_str()).into_iter().flatten());
    }

    /// Calls `select` with the rank of each route whose key is a threshold that the message
    /// satisfies.
    fn select_by_threshold(&self, view: &View<'_>, mut select: impl FnMut(u32)) {
        for (field, [at_least, below]) in self.by_threshold.iter().enumerate() {
            let value = view.number(field);
            let reached = at_least.iter().take_while(|(threshold, _)| value >= *threshold);
            let under = below.iter().take_while(|(threshold, _)| value < *threshold);
            reached.chain(under).for_each(|(_, rank)| select(*rank));
        }
    }

    /// Counts the routes that the keys in the message select, without stopping at the first match.
    pub fn candidates(&self, message: &Message, buffers: &Buffers) -> Candidates {
        let view = View::new(message, &buffers.lower);
        let mut selected = Vec::new();
        let count = |selected: &Ranks| selected.iter().collect::<BTreeSet<_>>().len();
        self.select_by_literal(&view, &mut selected);
        let by_literal = count(&selected);
        self.select_by_value(&view, &mut selected);
        let by_value = count(&selected) - by_literal;
        self.select_by_threshold(&view, |rank| selected.push(rank));
        selected.extend(&self.rest);
        let found: BTreeSet<u32> = selected.into_iter().collect();
        let others = found.len() - by_literal - by_value;
        let hold = found.iter().filter(|rank| self.routes[**rank as usize](&view)).count();
        view.done();
        Candidates { by_literal, by_value, others, hold }
    }
}

/// True if the term ignores case.
fn folds(term: &Term) -> bool {
    match term {
        Term::Contains { fold, .. } | Term::StartsWith { fold, .. } | Term::Matches { fold, .. } => *fold,
        Term::Either(left, right) => folds(left) || folds(right),
        _ => false,
    }
}

/// Returns the keys of a term: a message contains one of the keys if the term is true for the
/// message. `None` if there are no such keys.
fn keys(term: &Term) -> Option<Vec<Key<'_>>> {
    fn literals(words: &[String]) -> Vec<Key<'_>> {
        words.iter().map(|word| Key::Literal(word)).collect()
    }
    Some(match term {
        Term::Contains { words, joined: Words::All, .. } => {
            vec![Key::Literal(words.iter().max_by_key(|word| word.len())?)]
        }
        Term::Contains { words, .. } => literals(words),
        Term::StartsWith { word, .. } => vec![Key::Literal(word)],
        Term::Matches { literals: words, .. } => literals(words),
        Term::Is(field, value) => vec![Key::String(*field, value)],
        Term::OneOf(field, values) => values.iter().map(|value| Key::String(*field, value)).collect(),
        Term::Tagged(tag) => vec![Key::Tag(tag)],
        Term::Compare(field, comparison, value) => vec![Key::Threshold(*field, *comparison, *value)],
        Term::TextIs(text) => vec![Key::Text(text)],
        Term::Either(left, right) => {
            let mut keys = self::keys(left)?;
            keys.extend(self::keys(right)?);
            keys
        }
        Term::Lacks(_) | Term::IsNot(..) | Term::IsNew => return None,
    })
}

/// Estimates how many of a million messages contain the key. The rarest key of a route is used.
fn messages_per_million(key: &Key<'_>, workload: &Workload) -> u64 {
    let words = &workload.vocabulary;
    match key {
        // Two consecutive words are rare; the frequency of one word depends on the vocabulary size.
        Key::Literal(word) if word.contains(' ') || word.len() > 9 => 10,
        Key::Literal(_) => {
            let found = 500_000.0 * workload.shape.density.words_in_text();
            found as u64 / words.words.len() as u64
        }
        Key::String(PRODUCT, _) => 1_000_000 / words.products.len() as u64,
        Key::String(COUNTRY, _) => 25_000,
        Key::String(..) => 100_000,
        Key::Tag(_) => 2_000_000 / words.tags.len() as u64,
        Key::Text(_) => 0,
        Key::Threshold(field, Comparison::AtLeast, value) => ((1.0 - value / field.limit()) * 1e6) as u64,
        Key::Threshold(field, Comparison::Below, value) => (value / field.limit() * 1e6) as u64,
    }
}

impl<S: LiteralScan> Engine for Keyed<'_, S> {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(Probe { index: self, samples, buffers: Buffers::default() })
    }
}

struct Probe<'e, 'w, S> {
    index: &'e Keyed<'w, S>,
    samples: &'e [Sample],
    buffers: Buffers,
}

impl<S: LiteralScan> Ready for Probe<'_, '_, S> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        self.index.first(&self.samples[at].message, &self.buffers)
    }
}
