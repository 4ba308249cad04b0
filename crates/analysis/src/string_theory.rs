//! Finds texts that are in some languages (sets of texts) and not in others. The search is
//! breadth-first over the product of the languages' automata, so it finds a shortest text. Beyond
//! the step limit the result is unknown.

use super::budget::StepBudget;
use hashbrown::{HashMap, HashSet};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Repetition};
use rulec_lang::arena::Arena;
use rulec_lang::builtins::Function;
use rulec_lang::value::Value;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Maximum number of automaton steps of one search.
const MAX_SEARCH_STEPS: usize = 300_000;
/// Number of bytes of an automaton's states that are charged as one step.
const BYTES_PER_STEP: usize = 4;
/// Steps that are charged for preparing an automaton for a search.
const STEPS_PER_AUTOMATON: usize = 50;
/// Maximum memory of the states of one automaton, in bytes.
const MAX_AUTOMATON_BYTES: usize = 16 << 20;
/// Maximum memory of the NFA from which one automaton builds its states, in bytes.
const MAX_NFA_BYTES: usize = 8 << 20;

/// A language: the set of texts that a regular expression matches from start to end. Two languages
/// count as equal only if they share one expression in memory. This comparison is cheap, and
/// suffices for the keys of a cache.
#[derive(Clone, Debug)]
pub(super) struct TextLanguage(pub Rc<Hir>);

impl PartialEq for TextLanguage {
    fn eq(&self, other: &TextLanguage) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TextLanguage {}

impl Hash for TextLanguage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Rc::as_ptr(&self.0).hash(state);
    }
}

/// The result of a search for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextSolution {
    Text(String),
    /// It is proven that no text is in all wanted languages (sets of texts) and in none of the
    /// excluded ones.
    Unsatisfiable,
    /// The search gave up before it found a text or a proof.
    Unknown,
}

/// A cache of the automata that were built for languages (sets of texts).
pub(super) struct AutomatonCache {
    automata: HashMap<TextLanguage, Option<Rc<DFA>>>,
    /// For each language (set of texts), the automaton states that earlier searches built.
    state_caches: HashMap<TextLanguage, Cache>,
    budget: StepBudget,
    /// The language (set of texts) that contains all texts.
    all_texts: TextLanguage,
}

/// Returns the language (set of texts) of a regular expression; `None` if the expression is
/// invalid.
pub(super) fn parse_language(pattern: &str) -> Option<TextLanguage> {
    regex_syntax::parse(pattern).ok().map(|hir| TextLanguage(Rc::new(hir)))
}

/// Returns a language (set of texts) that contains all results of a function. A few of its texts
/// may be no results, such as the 29th of February of some years for `date`. `None` if no such
/// language is known.
pub(super) fn result_language(function: Function) -> Option<TextLanguage> {
    match function {
        Function::Lower => Some(texts_unchanged_by(char::to_lowercase)),
        Function::Upper => Some(texts_unchanged_by(char::to_uppercase)),
        // A language that also contains the 29th of February of other years.
        Function::Date => parse_language(
            "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])\
            |(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9]))",
        ),
        Function::Time => parse_language("(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]|24:00:00"),
        Function::Trim => parse_language(r"(?s:\S(?:.*\S)?)?"),
        // The parser of URLs writes hosts and schemes in lower case, and paths with a slash.
        Function::UrlHost => parse_language(r"[^A-Z/@?#\s]+"),
        Function::UrlScheme => parse_language(r"[a-z][a-z0-9+.-]*"),
        Function::UrlPath => parse_language(r"(?s:/.*)?"),
        _ => None,
    }
}

/// True if a function on texts can return this text.
pub(super) fn is_result_of(function: Function, text: &str) -> bool {
    let is_host_char = |c: char| !c.is_ascii_uppercase() && !c.is_whitespace() && !"/@?#".contains(c);
    match function {
        Function::UrlHost => !text.is_empty() && text.chars().all(is_host_char),
        Function::UrlScheme => {
            let is_scheme_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+.-".contains(c);
            text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_scheme_char)
        }
        Function::UrlPath => text.starts_with('/'),
        // These functions are idempotent. So a text is a result exactly if the function leaves it
        // unchanged.
        _ => {
            let arena = Arena::default();
            matches!(function.call(&[Value::Str(text)], &arena), Value::Str(same) if same == text)
        }
    }
}

/// Returns the language (set of texts) that contains each text whose characters are all unchanged
/// by the case conversion `case`.
fn texts_unchanged_by<C: Iterator<Item = char>>(case: fn(char) -> C) -> TextLanguage {
    let mut ranges: Vec<ClassUnicodeRange> = Vec::new();
    let mut current_range: Option<(char, char)> = None;
    for c in ('\0'..=char::MAX).filter(|c| case(*c).eq([*c])) {
        current_range = match current_range {
            Some((start, end)) if u32::from(end) + 1 == u32::from(c) => Some((start, c)),
            other => {
                ranges.extend(other.map(|(start, end)| ClassUnicodeRange::new(start, end)));
                Some((c, c))
            }
        };
    }
    ranges.extend(current_range.map(|(start, end)| ClassUnicodeRange::new(start, end)));
    let class = Box::new(Hir::class(Class::Unicode(ClassUnicode::new(ranges))));
    TextLanguage(Rc::new(Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: class })))
}

/// Returns a short text that the expression probably matches. Look-around assertions are ignored.
/// Of an alternation, the alternative with index `alternative` is used.
pub(super) fn sample_text(hir: &Hir, alternative: usize) -> String {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => String::new(),
        HirKind::Literal(literal) => String::from_utf8_lossy(&literal.0).into_owned(),
        HirKind::Class(Class::Unicode(class)) => {
            // Prefers lower-case letters, because `charge` is easier to read than `CHaRGE`.
            let preferred = ['a', '1', ' ', '-'].into_iter().chain('b'..='z').chain(['A']);
            let is_in_class = |c: &char| class.iter().any(|range| range.start() <= *c && *c <= range.end());
            let sample = preferred
                .clone()
                .find(is_in_class)
                .or_else(|| class.iter().next().map(|range| range.start()));
            sample.map_or_else(String::new, String::from)
        }
        HirKind::Class(Class::Bytes(_)) => "a".to_owned(),
        HirKind::Repetition(part) => sample_text(&part.sub, alternative).repeat(part.min.min(1_000) as usize),
        HirKind::Capture(part) => sample_text(&part.sub, alternative),
        HirKind::Concat(parts) => parts.iter().map(|part| sample_text(part, alternative)).collect(),
        HirKind::Alternation(parts) => sample_text(&parts[alternative % parts.len()], alternative),
    }
}

/// Returns all bytes in the order in which they are tried: the most readable first.
fn bytes_by_readability() -> impl Iterator<Item = u8> {
    let readable = (b'a'..=b'z').chain(b'0'..=b'9').chain([b' ', b'-', b'.', b'_']).chain(b'A'..=b'Z');
    let remaining = (0x21..=0x7e).chain(0x80..=0xff).chain(0..=0x20).chain([0x7f]);
    readable.chain(remaining)
}

/// A state of the product of several automata: one state of each automaton.
type ProductState = SmallVec<[LazyStateID; 6]>;

impl AutomatonCache {
    pub fn new(budget: StepBudget) -> AutomatonCache {
        let all_texts = parse_language("(?s:.*)").unwrap_or_else(|| TextLanguage(Rc::new(Hir::empty())));
        AutomatonCache { automata: HashMap::new(), state_caches: HashMap::new(), budget, all_texts }
    }

    /// Returns the automaton of a language (set of texts), and builds and caches it on first use.
    /// `None` if the automaton is too large, or if too few steps are left.
    fn cached_automaton(&mut self, language: &TextLanguage) -> Option<Rc<DFA>> {
        if !self.budget.charge(STEPS_PER_AUTOMATON) {
            return None;
        }
        if let Some(cached) = self.automata.get(language) {
            return cached.clone();
        }
        let built = build_automaton(&language.0).map(Rc::new);
        let bytes = built.as_ref().map_or(MAX_NFA_BYTES, |automaton| automaton.get_nfa().memory_usage());
        self.automata.insert(language.clone(), built.clone());
        if self.budget.charge(bytes / BYTES_PER_STEP) { built } else { None }
    }

    /// Finds a text that is in the languages (sets of texts) marked true and in none of the
    /// languages marked false.
    pub fn find_text(&mut self, languages: &[(TextLanguage, bool)]) -> TextSolution {
        let all_texts = (self.all_texts.clone(), true);
        let must_match: Vec<bool> =
            languages.iter().map(|(_, must_match)| *must_match).chain([true]).collect();
        let searched: Vec<&TextLanguage> =
            languages.iter().chain([&all_texts]).map(|(language, _)| language).collect();
        let automata = searched.iter().map(|language| self.cached_automaton(language));
        let Some(automata) = automata.collect::<Option<Vec<_>>>() else { return TextSolution::Unknown };
        let caches = searched.iter().zip(&automata).map(|(language, automaton)| {
            self.state_caches.remove(*language).unwrap_or_else(|| {
                let cache = automaton.create_cache();
                self.budget.charge(cache.memory_usage() / BYTES_PER_STEP);
                cache
            })
        });
        let caches = caches.collect();
        let mut search = ProductSearch::new(&automata, &must_match, caches, &self.budget);
        let solution = search.run().unwrap_or(TextSolution::Unknown);
        for (language, cache) in searched.into_iter().zip(search.caches) {
            if ensure_not_evicted(&cache).is_some() {
                self.state_caches.insert(language.clone(), cache);
            }
        }
        if self.budget.is_share_exhausted() { TextSolution::Unknown } else { solution }
    }
}

fn build_automaton(hir: &Hir) -> Option<DFA> {
    let config =
        thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(MAX_NFA_BYTES));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).ok()?;
    let config = DFA::config()
        .match_kind(MatchKind::All)
        // An automaton cannot test word boundaries next to non-ASCII characters. It quits there.
        .unicode_word_boundary(true)
        .cache_capacity(MAX_AUTOMATON_BYTES)
        .skip_cache_capacity_check(true);
    DFA::builder().syntax(syntax::Config::new()).configure(config).build_from_nfa(nfa).ok()
}

/// Checks that an automaton has evicted no states, because the search still uses the states.
/// Returns `None` if the automaton exceeded its memory limit and evicted states.
fn ensure_not_evicted(cache: &Cache) -> Option<()> {
    (cache.clear_count() == 0).then_some(())
}

/// One search through the product of several automata.
struct ProductSearch<'a> {
    automata: &'a [Rc<DFA>],
    must_match: &'a [bool],
    caches: Vec<Cache>,
    /// For each state, the index of the previous state and the byte that leads from the previous
    /// state to this state.
    predecessors: Vec<(usize, u8)>,
    states: Vec<ProductState>,
    visited: HashSet<ProductState>,
    /// The number of automaton steps that this search has taken so far.
    steps_taken: usize,
    budget: &'a StepBudget,
    /// The memory of the automata's states when steps were last charged for them, in bytes.
    charged_bytes: usize,
    /// Whether an automaton could not handle some byte and quit, so that the search is incomplete.
    has_given_up: bool,
}

impl<'a> ProductSearch<'a> {
    fn new(
        automata: &'a [Rc<DFA>],
        must_match: &'a [bool],
        caches: Vec<Cache>,
        budget: &'a StepBudget,
    ) -> ProductSearch<'a> {
        let charged_bytes = caches.iter().map(Cache::memory_usage).sum();
        let (steps, states, visited) = (Vec::new(), Vec::new(), HashSet::new());
        ProductSearch {
            automata,
            must_match,
            caches,
            predecessors: steps,
            states,
            visited,
            steps_taken: 0,
            budget,
            charged_bytes,
            has_given_up: false,
        }
    }

    /// Charges steps for the states that the automata built since the last call. Returns false if
    /// too few steps are left.
    fn charge_new_states(&mut self) -> bool {
        let bytes = self.caches.iter().map(Cache::memory_usage).sum::<usize>();
        let new_bytes = bytes.saturating_sub(self.charged_bytes);
        self.charged_bytes = bytes;
        self.budget.charge(self.automata.len() + new_bytes / BYTES_PER_STEP)
    }

    /// Returns one byte of each equivalence class. No automaton distinguishes the bytes of a class.
    fn byte_representatives(&self) -> Vec<u8> {
        let mut seen_groups: HashSet<SmallVec<[u8; 8]>> = HashSet::new();
        let group =
            |byte: u8| self.automata.iter().map(|automaton| automaton.byte_classes().get(byte)).collect();
        bytes_by_readability().filter(|byte| seen_groups.insert(group(*byte))).collect()
    }

    fn run(&mut self) -> Option<TextSolution> {
        let input = Input::new("").anchored(Anchored::Yes);
        let automata = self.automata.iter().zip(&mut self.caches);
        let start = automata.map(|(automaton, cache)| automaton.start_state_forward(cache, &input).ok());
        let start = start.collect::<Option<ProductState>>()?;
        self.push_state(start, 0, 0);
        let alphabet = self.byte_representatives();
        let mut index = 0;
        while index < self.states.len() {
            if !self.charge_new_states() {
                return None;
            }
            if self.is_accepting(index)? {
                return Some(self.text_to_state(index).map_or(TextSolution::Unknown, TextSolution::Text));
            }
            for &byte in &alphabet {
                if let Some(next) = self.next_state(index, byte)? {
                    self.push_state(next, index, byte);
                }
                if self.steps_taken >= MAX_SEARCH_STEPS || !self.budget.charge(self.automata.len()) {
                    return Some(TextSolution::Unknown);
                }
            }
            index += 1;
        }
        Some(if self.has_given_up { TextSolution::Unknown } else { TextSolution::Unsatisfiable })
    }

    fn push_state(&mut self, state: ProductState, previous: usize, byte: u8) {
        if self.visited.insert(state.clone()) {
            self.states.push(state);
            self.predecessors.push((previous, byte));
        }
    }

    /// Computes the state that follows the state at `index` after a byte. `None` if an automaton
    /// ran out of memory, so that the search must end. `Some(None)` if no text with these first
    /// bytes can be a result of the search, or if an automaton does not support the byte.
    fn next_state(&mut self, index: usize, byte: u8) -> Option<Option<ProductState>> {
        let mut next = ProductState::new();
        self.steps_taken += self.automata.len();
        for (automaton_index, automaton) in self.automata.iter().enumerate() {
            let state = self.states[index][automaton_index];
            let state = automaton.next_state(&mut self.caches[automaton_index], state, byte).ok()?;
            ensure_not_evicted(&self.caches[automaton_index])?;
            if state.is_quit() {
                self.has_given_up = true;
                return Some(None);
            }
            if state.is_dead() && self.must_match[automaton_index] {
                return Some(None);
            }
            next.push(state);
        }
        Some(Some(next))
    }

    fn is_accepting(&mut self, index: usize) -> Option<bool> {
        for (automaton_index, automaton) in self.automata.iter().enumerate() {
            let end = automaton
                .next_eoi_state(&mut self.caches[automaton_index], self.states[index][automaton_index])
                .ok()?;
            ensure_not_evicted(&self.caches[automaton_index])?;
            if end.is_match() != self.must_match[automaton_index] {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Returns the text that leads from the start state to the state at `index`. `None` if its
    /// bytes are not UTF-8.
    fn text_to_state(&self, mut index: usize) -> Option<String> {
        let mut bytes = Vec::new();
        while index != 0 {
            let (previous, byte) = self.predecessors[index];
            bytes.push(byte);
            index = previous;
        }
        bytes.reverse();
        String::from_utf8(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: states that an automaton evicted were used again, which panicked.
    #[test]
    fn an_automaton_that_outgrows_its_memory_is_unknown() {
        let large = parse_language(r"(?s:.*)a(?s:.{14})(?s:.*)").expect("it parses");
        let other = parse_language(r"(?s:.*)b(?s:.{14})").expect("it parses");
        let none = parse_language("[^a]*").expect("it parses");
        let found = AutomatonCache::new(StepBudget::default()).find_text(&[
            (large, true),
            (other, true),
            (none, true),
        ]);
        assert!(found != TextSolution::Text(String::new()));
    }

    #[test]
    fn a_sample_prefers_small_letters() {
        let sample = |pattern: &str| sample_text(&parse_language(pattern).expect("it parses").0, 0);
        assert_eq!(sample("(?i)charge[ds]?"), "charge");
        assert_eq!(sample("[0-9]{2}-[A-Z]"), "11-A");
    }

    #[test]
    fn find_text_gives_exact_results() {
        let check = |wanted: &[(&str, bool)], expected: TextSolution| {
            let languages: Vec<_> = wanted
                .iter()
                .map(|(pattern, wanted)| (parse_language(pattern).expect("it parses"), *wanted))
                .collect();
            assert_eq!(
                AutomatonCache::new(StepBudget::default()).find_text(&languages),
                expected,
                "{wanted:?}"
            );
        };
        let text = |text: &str| TextSolution::Text(text.to_owned());
        check(&[("(?s:.*)ab(?s:.*)", true), ("(?s:.*)b(?s:.*)", false)], TextSolution::Unsatisfiable);
        check(&[("(?s:.*)ab(?s:.*)", true), ("a(?s:.*)", false)], text("bab"));
        check(&[("(?i:ab)", true), ("ab", false)], text("aB"));
        check(&[("[0-9]{3}", true), ("(?s:.*)7(?s:.*)", true)], text("007"));
        check(&[("(?s:.*)é(?s:.*)", true), ("é(?s:.*)", false)], text("aé"));
        check(&[("", false), ("(?s:.)+", false)], TextSolution::Unsatisfiable);
        check(&[(r"(?s:.*)\bfoo\b(?s:.*)", true), ("(?s:.*)foo(?s:.*)", false)], TextSolution::Unknown);
        check(&[(r"(?s:.*)\bfoo\b(?s:.*)", true), ("foo", false)], text("foo "));
    }
}
