//! Run-time data that a chunk does not store: compiled regular expressions, searchers, automata,
//! and sets. The data is built when the rules are loaded, and no search in the data allocates
//! memory. Loading only checks that a regular expression is valid; the expression is compiled at
//! its first use, see [`LazyRegex`].

use crate::bytecode::chunk::{Anchor, Chunk, Keywords, Operand, Search};
use crate::bytecode::lower::LowerError;
use aho_corasick::MatchKind;
use hashbrown::{HashMap, HashSet};
use memchr::memmem::Finder;
use rulec_base::message;
use rulec_base::text::automaton::LiteralAutomaton;
use rulec_base::text::{self, Glob, LazyRegex, SimilarityPattern, TextMode, WordSearcher};
use rulec_lang::operators::sets::ConstantSet;
use rulec_lang::value::Value;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// Minimum number of keywords for which one automaton is faster than a separate searcher for each
/// keyword.
/// Compared with other values in benches/notes/constants.md.
pub const MIN_AUTOMATON_KEYWORDS: usize = 5;

type FastSet<T> = HashSet<T, foldhash::fast::FixedState>;

/// The set of a constant list, built at its first use; the inner `None` if it would be slower.
type LazySet = OnceLock<Option<Box<ConstantSet>>>;

/// The run-time data of a [`Chunk`]: compiled regexes, searchers, automata and sets. Each vector
/// has one entry for each entry of the chunk's vector of the same name.
#[derive(Debug)]
pub struct Pools {
    pub keywords: Vec<KeywordMatcher>,
    pub members: Vec<MemberSet>,
    pub similar: Vec<SimilarityPattern>,
    /// For each predicate with a constant list, by the predicate's index, the list's elements as a
    /// set. Few predicates have a list.
    sets: HashMap<usize, LazySet, foldhash::fast::FixedState>,
}

impl Pools {
    /// Builds the run-time data of a chunk. `surely_compiles` returns true for a regular expression
    /// that needs no check, because it certainly compiles. Its `bool` argument is the flag for case
    /// folding.
    ///
    /// # Errors
    /// If a regular expression is invalid, or an automaton exceeds its size limits.
    pub fn build(
        chunk: &Chunk,
        surely_compiles: impl Fn(&Arc<str>, bool) -> bool,
    ) -> Result<Pools, LowerError> {
        let member_set = |members: &crate::bytecode::chunk::MemberList| {
            let list =
                chunk.consts.get(members.constant_index as usize).map_or(Value::Missing, |c| c.value());
            MemberSet::new(list, members.mode)
        };
        Ok(Pools {
            keywords: chunk
                .keywords
                .iter()
                .map(|words| {
                    KeywordMatcher::new(
                        words,
                        words.max_searchable_bytes(|limit| chunk.limits.get(limit)),
                        &surely_compiles,
                    )
                })
                .collect::<Result<_, _>>()?,
            members: chunk.member_lists.iter().map(member_set).collect(),
            similar: chunk.similarity_texts.iter().map(|text| SimilarityPattern::new(text)).collect(),
            sets: predicates_with_lists(chunk).map(|pred| (pred, OnceLock::new())).collect(),
        })
    }

    /// Returns a set for fast lookups in `list`, the constant list of the predicate with the index
    /// `pred`. Texts in the set are normalized as `mode` requires. The first call builds the set.
    /// `None` if the list is too short to benefit.
    pub fn constant_set(&self, pred: usize, list: Value<'_>, mode: TextMode) -> Option<&ConstantSet> {
        let set = self.sets.get(&pred)?;
        set.get_or_init(|| ConstantSet::new(list, mode).map(Box::new)).as_deref()
    }
}

/// Returns the indexes of the predicates whose right operand is a constant list.
fn predicates_with_lists(chunk: &Chunk) -> impl Iterator<Item = usize> {
    let constant = |operand: Operand| match operand {
        Operand::Const(constant) => chunk.consts.get(constant as usize),
        _ => None,
    };
    let has_list = move |right| constant(right).is_some_and(|list| list.value().list_len().is_some());
    chunk.preds.iter().enumerate().filter(move |(_, pred)| has_list(pred.right)).map(|(index, _)| index)
}

/// A compiled text predicate, which checks whether a text matches keywords or patterns.
#[derive(Debug)]
pub struct KeywordMatcher {
    /// Whether a text must match all keywords or patterns, not just one.
    requires_all: bool,
    /// Maximum length in bytes of a text that can be searched without exceeding a resource limit.
    /// Applies outside quantifiers (`any`, `all`), where a search runs once.
    pub max_text_bytes: u64,
    search: CompiledKeywords,
}

/// The compiled keywords, patterns or regular expressions of a text predicate.
#[derive(Debug)]
enum CompiledKeywords {
    /// Operator `contains`: a searcher for each keyword.
    Texts(Box<[LazyFinder]>),
    /// Operator `contains any` with many keywords: one automaton for all of them.
    Automaton(Box<LiteralAutomaton>),
    /// Operator `contains word`: searchers for whole words. There is one searcher for each keyword,
    /// or a single one if there are many keywords.
    Words(Box<[WordSearcher<'static>]>),
    /// Operator `starts_with`: the prefixes with which a text is compared.
    Prefixes(Box<[Box<str>]>),
    /// Operator `ends_with`; also the operator `starts_with` if it requires a whole word. Contains
    /// the keywords, and a function that reports whether a text starts or ends with a keyword.
    Affixes(Box<[Box<str>]>, fn(&str, &str) -> bool),
    /// Operator `like`: the wildcard patterns.
    Globs(Box<[Glob]>),
    /// Operator `like any` with many patterns.
    AnyGlob(Box<AnyGlob>),
    /// Operator `matches`: the regular expressions.
    Regexes(Box<[LazyRegex]>),
}

/// The patterns of an operator `like any`.
#[derive(Debug)]
struct AnyGlob {
    /// The patterns without a wildcard.
    texts: FastSet<Box<str>>,
    globs: Box<[Glob]>,
}

/// A searcher for one keyword, which is built at its first use. With an index, most keywords are
/// never searched one by one, and a searcher takes five times the memory of a keyword.
#[derive(Debug)]
struct LazyFinder {
    keyword: Arc<str>,
    finder: OnceLock<Box<Finder<'static>>>,
}

impl LazyFinder {
    /// `mode` is the text mode in which `keyword` must be normalized.
    fn new(keyword: &Arc<str>, mode: TextMode) -> LazyFinder {
        let keyword = match mode.prepare(keyword) {
            Cow::Borrowed(_) => keyword.clone(),
            Cow::Owned(prepared) => prepared.into(),
        };
        LazyFinder { keyword, finder: OnceLock::new() }
    }

    #[inline]
    fn get(&self) -> &Finder<'static> {
        self.finder.get_or_init(|| Box::new(Finder::new(&*self.keyword).into_owned()))
    }
}

impl KeywordMatcher {
    fn new(
        keywords: &Keywords,
        max_bytes: u64,
        surely_compiles: impl Fn(&Arc<str>, bool) -> bool,
    ) -> Result<KeywordMatcher, LowerError> {
        let Keywords { search, whole_word: word, requires_all: all, mode, words, .. } = keywords;
        let normalized = || words.iter().map(|word| mode.prepare(word));
        let boxed = || normalized().map(|word| Box::from(&*word)).collect();
        let use_automaton = !all && words.len() >= MIN_AUTOMATON_KEYWORDS;
        let too_large = |_| LowerError::TooLarge(message!("keywords in one list"));
        let compile = |pattern: &Arc<str>| {
            if surely_compiles(pattern, mode.folds_case) {
                return Ok(LazyRegex::from_checked(pattern, mode.folds_case));
            }
            LazyRegex::new(pattern, mode.folds_case)
                .map_err(|error| LowerError::Regex(pattern.clone(), error.to_string()))
        };
        let search = match (search, word) {
            (Search::Literal(Anchor::Anywhere), true) if use_automaton => {
                let searcher =
                    WordSearcher::for_keywords(normalized().map(Cow::into_owned)).map_err(too_large)?;
                CompiledKeywords::Words([searcher].into())
            }
            (Search::Literal(Anchor::Anywhere), true) => CompiledKeywords::Words(
                normalized().map(|word| WordSearcher::for_keyword(&word).into_owned()).collect(),
            ),
            (Search::Literal(Anchor::Anywhere), false) if use_automaton => {
                let words = normalized().map(Cow::into_owned);
                let automaton = LiteralAutomaton::new(MatchKind::LeftmostFirst, words).map_err(too_large)?;
                CompiledKeywords::Automaton(Box::new(automaton))
            }
            (Search::Literal(Anchor::Anywhere), false) => {
                CompiledKeywords::Texts(words.iter().map(|word| LazyFinder::new(word, *mode)).collect())
            }
            (Search::Literal(Anchor::Start), true) => {
                CompiledKeywords::Affixes(boxed(), text::starts_with_word)
            }
            (Search::Literal(Anchor::Start), false) => CompiledKeywords::Prefixes(boxed()),
            (Search::Literal(Anchor::End), true) => CompiledKeywords::Affixes(boxed(), text::ends_with_word),
            (Search::Literal(Anchor::End), false) => {
                CompiledKeywords::Affixes(boxed(), |text, word| text.ends_with(word))
            }
            (Search::Glob, _) => {
                let globs = words.iter().map(|word| Glob::with_mode(word, *mode));
                if *all || words.len() < MIN_AUTOMATON_KEYWORDS {
                    CompiledKeywords::Globs(globs.collect())
                } else {
                    let (texts, globs): (Vec<_>, Vec<_>) =
                        globs.partition(|glob| glob.as_literal().is_some());
                    let texts = texts.iter().filter_map(Glob::as_literal).map(Box::from);
                    CompiledKeywords::AnyGlob(Box::new(AnyGlob {
                        texts: texts.collect(),
                        globs: globs.into(),
                    }))
                }
            }
            (Search::Regex, _) => {
                CompiledKeywords::Regexes(words.iter().map(compile).collect::<Result<_, _>>()?)
            }
        };
        Ok(KeywordMatcher { requires_all: *all, max_text_bytes: max_bytes, search })
    }

    /// Returns true if a text matches the keywords or patterns. Precondition: the text is
    /// normalized in the text mode of the predicate or, for the operator `matches`, unchanged.
    #[inline]
    pub fn is_match(&self, text: &str) -> bool {
        match &self.search {
            CompiledKeywords::Texts(finders) => {
                self.any_or_all(finders, |finder| finder.get().find(text.as_bytes()).is_some())
            }
            CompiledKeywords::Automaton(automaton) => automaton.is_match(text),
            CompiledKeywords::Words(words) => self.any_or_all(words, |searcher| searcher.is_match(text)),
            CompiledKeywords::Prefixes(words) => self.any_or_all(words, |word| text.starts_with(&**word)),
            CompiledKeywords::Affixes(words, matches_edge) => {
                self.any_or_all(words, |word| matches_edge(text, word))
            }
            CompiledKeywords::Globs(globs) => self.any_or_all(globs, |glob| glob.matches(text)),
            CompiledKeywords::AnyGlob(patterns) => {
                patterns.texts.contains(text) || patterns.globs.iter().any(|glob| glob.matches(text))
            }
            CompiledKeywords::Regexes(regexes) => self.any_or_all(regexes, |regex| regex.is_match(text)),
        }
    }

    /// Returns the prefixes of a `starts_with` predicate that is true if one prefix matches; `None`
    /// for other predicates.
    pub fn alternative_prefixes(&self) -> Option<&[Box<str>]> {
        match &self.search {
            CompiledKeywords::Prefixes(words) if !self.requires_all || words.len() == 1 => Some(words),
            _ => None,
        }
    }

    /// Returns the keywords of a `contains` predicate, and whether a text must contain all of them.
    /// `None` for other predicates, and if one automaton searches for all keywords.
    pub fn contained_texts(&self) -> Option<(impl Iterator<Item = &[u8]>, bool)> {
        match &self.search {
            CompiledKeywords::Texts(finders) => {
                Some((finders.iter().map(|finder| finder.keyword.as_bytes()), self.requires_all))
            }
            _ => None,
        }
    }

    /// Returns the searcher of a `contains` predicate with a single keyword; `None` for other
    /// predicates.
    pub fn single_text_finder(&self) -> Option<&Finder<'static>> {
        match &self.search {
            CompiledKeywords::Texts(finders) if finders.len() == 1 => finders.first().map(LazyFinder::get),
            _ => None,
        }
    }

    /// Returns true if `holds` is true for all items. If the field `requires_all` is false, one
    /// item suffices.
    #[inline]
    fn any_or_all<T>(&self, items: &[T], holds: impl FnMut(&T) -> bool) -> bool {
        if self.requires_all { items.iter().all(holds) } else { items.iter().any(holds) }
    }
}

/// The texts and integers in the constant list of an `in` predicate, as sets. Values of other kinds
/// must be looked up in the list itself.
#[derive(Debug, Default)]
pub struct MemberSet {
    texts: FastSet<Box<str>>,
    ints: FastSet<i64>,
    /// Whether the list contains a float. A float may equal an integer that is looked up.
    has_floats: bool,
}

impl MemberSet {
    fn new(list: Value<'_>, mode: TextMode) -> MemberSet {
        let mut set = MemberSet::default();
        for element in list.elements().into_iter().flatten() {
            match element {
                Value::Str(text) => drop(set.texts.insert((&*mode.prepare(text)).into())),
                Value::Int(int) => drop(set.ints.insert(int)),
                Value::Float(_) => set.has_floats = true,
                _ => {}
            }
        }
        set
    }

    #[inline]
    pub fn has_text(&self, text: &str) -> bool {
        self.texts.contains(text)
    }

    /// Returns whether an integer is in the list. `None` if the list itself must be searched,
    /// because it contains floats, one of which may equal the integer.
    #[inline]
    pub fn has_int(&self, int: i64) -> Option<bool> {
        let has_int = self.ints.contains(&int);
        (has_int || !self.has_floats).then_some(has_int)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A keyword that occurs inside a longer word may overlap its occurrence as a whole word. The
    /// search must find the whole word.
    #[test]
    fn overlapping_words_are_found() {
        for extra in [0, MIN_AUTOMATON_KEYWORDS] {
            let mut words: Vec<Arc<str>> = vec!["a a".into()];
            words.extend((0..extra).map(|n| format!("other{n}").into()));
            let keywords = Keywords {
                search: Search::Literal(Anchor::Anywhere),
                whole_word: true,
                requires_all: false,
                mode: TextMode::PLAIN,
                words: words.into(),
                cost_per_byte: 0,
            };
            let matcher = KeywordMatcher::new(&keywords, u64::MAX, |_, _| false).unwrap();
            assert!(matcher.is_match("xa a a") && !matcher.is_match("xa ax"), "{matcher:?}");
        }
    }
}
