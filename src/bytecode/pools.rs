//! The part of a rule set that a chunk does not store and running needs: compiled expressions, searchers, automata,
//! sets. Built when the rules are loaded; searching in any of them allocates nothing. (Expressions are
//! checked then and compiled when first asked, see [`LazyRegex`].)

use crate::bytecode::chunk::{Anchor, Chunk, Keywords, Search};
use crate::bytecode::lower::LowerError;
use crate::text::{self, Glob, LazyRegex, Similarity, TextMode, WordSearcher};
use crate::value::Value;
use aho_corasick::{AhoCorasick, MatchKind};
use hashbrown::HashSet;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::Arc;

/// One automaton is faster than a searcher for each from this number of keywords on.
const AUTOMATON_FROM: usize = 5;
/// A set is faster than comparing with each from this number of members on.
const SET_FROM: usize = 9;

type Set<T> = HashSet<T, foldhash::fast::FixedState>;

/// The run-time side of a [`Chunk`]; each vector runs beside the chunk's of the same name.
#[derive(Debug)]
pub struct Pools {
    /// For [`Chunk::keywords`].
    pub keywords: Vec<Matcher>,
    /// For [`Chunk::members`].
    pub members: Vec<MemberSet>,
    /// For [`Chunk::similar`].
    pub similar: Vec<Similarity>,
}

impl Pools {
    /// Builds them; regular expressions are checked unless they, with whether they ignore case, are `known`
    /// to compile.
    ///
    /// # Errors
    /// An invalid regular expression, or an automaton over its limits.
    pub fn build(chunk: &Chunk, known: impl Fn(&Arc<str>, bool) -> bool) -> Result<Pools, LowerError> {
        let member_set = |members: &crate::bytecode::chunk::Members| {
            let list = chunk.consts.get(members.constant as usize).map_or(Value::Missing, |c| c.value());
            MemberSet::new(list, members.mode)
        };
        Ok(Pools {
            keywords: chunk
                .keywords
                .iter()
                .map(|words| Matcher::new(words, &known))
                .collect::<Result<_, _>>()?,
            members: chunk.members.iter().map(member_set).collect(),
            similar: chunk.similar.iter().map(|text| Similarity::new(text)).collect(),
        })
    }
}

/// A compiled text predicate.
#[derive(Debug)]
pub enum Matcher {
    /// `contains` of one keyword.
    One(Box<Finder<'static>>),
    /// `contains` of several keywords.
    Few(Box<[Finder<'static>]>, bool),
    /// `contains any` of many.
    Many(Box<AhoCorasick>),
    /// `contains word`: a searcher for each, or one for any of many.
    Words(Box<[WordSearcher<'static>]>, bool),
    /// `starts_with`.
    Starts(Box<[Box<str>]>, bool),
    /// `starts_with word`.
    StartWords(Box<[Box<str>]>, bool),
    /// `ends_with`.
    Ends(Box<[Box<str>]>, bool),
    /// `ends_with word`.
    EndWords(Box<[Box<str>]>, bool),
    /// `like`.
    Globs(Box<[Glob]>, bool),
    /// `matches` of one expression.
    Regex(Box<LazyRegex>),
    /// `matches` of several.
    Regexes(Box<[LazyRegex]>, bool),
}

/// `all` or `any` of the items.
#[inline]
fn quantify<T>(items: &[T], all: bool, holds: impl FnMut(&T) -> bool) -> bool {
    if all { items.iter().all(holds) } else { items.iter().any(holds) }
}

impl Matcher {
    fn new(keywords: &Keywords, known: impl Fn(&Arc<str>, bool) -> bool) -> Result<Matcher, LowerError> {
        let Keywords { search, word, all, mode, words } = keywords;
        let prepared = || words.iter().map(|word| mode.prepare(word));
        let boxed = || prepared().map(|word| Box::from(&*word)).collect();
        let finder = |word: &str| Finder::new(word).into_owned();
        let many = !all && words.len() >= AUTOMATON_FROM;
        let too_large = |_| LowerError::TooLarge("keywords in one list");
        Ok(match search {
            Search::Literal(Anchor::Anywhere) if *word => {
                let searchers = if many {
                    let any = WordSearcher::many(prepared().map(Cow::into_owned)).map_err(too_large)?;
                    [any].into()
                } else {
                    prepared().map(|word| WordSearcher::one(&word).into_owned()).collect()
                };
                Matcher::Words(searchers, *all)
            }
            Search::Literal(Anchor::Anywhere) if many => {
                let automaton = AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostFirst)
                    .build(prepared().map(Cow::into_owned))
                    .map_err(too_large)?;
                Matcher::Many(Box::new(automaton))
            }
            Search::Literal(Anchor::Anywhere) => match &**words {
                [word] => Matcher::One(Box::new(finder(&mode.prepare(word)))),
                _ => Matcher::Few(prepared().map(|word| finder(&word)).collect(), *all),
            },
            Search::Literal(Anchor::Start) if *word => Matcher::StartWords(boxed(), *all),
            Search::Literal(Anchor::Start) => Matcher::Starts(boxed(), *all),
            Search::Literal(Anchor::End) if *word => Matcher::EndWords(boxed(), *all),
            Search::Literal(Anchor::End) => Matcher::Ends(boxed(), *all),
            Search::Glob => {
                Matcher::Globs(words.iter().map(|word| Glob::with_mode(word, *mode)).collect(), *all)
            }
            Search::Regex => {
                let compile = |pattern: &Arc<str>| {
                    if known(pattern, mode.fold) {
                        return Ok(LazyRegex::known(pattern, mode.fold));
                    }
                    LazyRegex::new(pattern, mode.fold)
                        .map_err(|error| LowerError::Regex(pattern.clone(), error.to_string()))
                };
                match &**words {
                    [pattern] => Matcher::Regex(Box::new(compile(pattern)?)),
                    _ => Matcher::Regexes(words.iter().map(compile).collect::<Result<_, _>>()?, *all),
                }
            }
        })
    }

    /// Returns true when a text, prepared under the keywords' mode (for `matches`: as it is), does.
    #[inline]
    pub fn holds(&self, text: &str) -> bool {
        match self {
            Matcher::One(finder) => finder.find(text.as_bytes()).is_some(),
            Matcher::Few(finders, all) => {
                quantify(finders, *all, |finder| finder.find(text.as_bytes()).is_some())
            }
            Matcher::Many(automaton) => automaton.is_match(text),
            Matcher::Words(words, all) => quantify(words, *all, |searcher| searcher.is_in(text)),
            Matcher::Starts(words, all) => quantify(words, *all, |word| text.starts_with(&**word)),
            Matcher::StartWords(words, all) => {
                quantify(words, *all, |word| text::starts_with_word(text, word))
            }
            Matcher::Ends(words, all) => quantify(words, *all, |word| text.ends_with(&**word)),
            Matcher::EndWords(words, all) => quantify(words, *all, |word| text::ends_with_word(text, word)),
            Matcher::Globs(globs, all) => quantify(globs, *all, |glob| glob.matches(text)),
            Matcher::Regex(regex) => regex.is_match(text),
            Matcher::Regexes(regexes, all) => quantify(regexes, *all, |regex| regex.is_match(text)),
        }
    }
}

/// A constant list to look values up in. Texts and integers are the fast cases; for the rest the
/// list is walked.
#[derive(Debug)]
pub struct MemberSet {
    strings: Lookup<Box<str>>,
    ints: Lookup<i64>,
    /// True when an element is a float, which may equal an integer.
    floats: bool,
}

#[derive(Debug)]
enum Lookup<T> {
    Few(Box<[T]>),
    Many(Set<T>),
}

impl<T: Eq + std::hash::Hash> Lookup<T> {
    fn new(items: Vec<T>) -> Lookup<T> {
        if items.len() < SET_FROM {
            Lookup::Few(items.into())
        } else {
            Lookup::Many(items.into_iter().collect())
        }
    }

    #[inline]
    fn has<Q: Eq + std::hash::Hash + ?Sized>(&self, item: &Q) -> bool
    where
        T: std::borrow::Borrow<Q>,
    {
        match self {
            Lookup::Few(items) => items.iter().any(|other| other.borrow() == item),
            Lookup::Many(set) => set.contains(item),
        }
    }
}

impl MemberSet {
    fn new(list: Value<'_>, mode: TextMode) -> MemberSet {
        let (mut strings, mut ints, mut floats) = (Vec::new(), Vec::new(), false);
        for element in list.elements().into_iter().flatten() {
            match element {
                Value::Str(text) => strings.push(Box::from(&*mode.prepare(text))),
                Value::Int(int) => ints.push(int),
                Value::Float(_) => floats = true,
                _ => {}
            }
        }
        MemberSet { strings: Lookup::new(strings), ints: Lookup::new(ints), floats }
    }

    /// Returns true when a prepared text is an element.
    #[inline]
    pub fn has_text(&self, text: &str) -> bool {
        self.strings.has(text)
    }

    /// Tells whether an integer is an element; `None` when only walking the list can tell.
    #[inline]
    pub fn has_int(&self, int: i64) -> Option<bool> {
        if self.ints.has(&int) {
            Some(true)
        } else if self.floats {
            None
        } else {
            Some(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An occurrence that is no word may overlap one that is.
    #[test]
    fn overlapping_words_are_found() {
        for extra in [0, AUTOMATON_FROM] {
            let mut words: Vec<Arc<str>> = vec!["a a".into()];
            words.extend((0..extra).map(|n| format!("other{n}").into()));
            let keywords = Keywords {
                search: Search::Literal(Anchor::Anywhere),
                word: true,
                all: false,
                mode: TextMode::PLAIN,
                words: words.into(),
            };
            let matcher = Matcher::new(&keywords, |_, _| false).unwrap();
            assert!(matcher.holds("xa a a") && !matcher.holds("xa ax"), "{matcher:?}");
        }
    }
}
