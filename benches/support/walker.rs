//! The baseline for benchmarks: an engine as a developer would write it in an afternoon. It is a
//! tree of boxed conditions over `serde_json::Value`.
//!
//! Each predicate looks up its path, and each case-insensitive test lower-cases the text. Regexes
//! are compiled once, and priorities are sorted once.

use super::rules::{Route, Term};
use regex::Regex;
use serde_json::Value as Json;

/// The routes as condition trees, sorted by priority.
pub struct Walker {
    routes: Vec<(String, Cond)>,
}

enum Cond {
    And(Vec<Cond>),
    Or(Vec<Cond>),
    Contains { path: Path, word: String },
    ContainsIgnoringCase { path: Path, word: String },
    StartsWithIgnoringCase { path: Path, word: String },
    Matches { path: Path, regex: Regex },
    Equal { path: Path, word: String },
    NotEqual { path: Path, word: String },
    OneOf { path: Path, words: Vec<String> },
    Compare { path: Path, op: Op, number: f64 },
    Has { path: Path, word: String },
    IsTrue { path: Path },
}

type Path = Vec<String>;

enum Op {
    Less,
    AtMost,
    More,
    AtLeast,
}

fn path(path: &str) -> Path {
    path.split('.').map(str::to_owned).collect()
}

fn get<'a>(message: &'a Json, path: &Path) -> Option<&'a Json> {
    path.iter().try_fold(message, |value, key| value.get(key))
}

fn text<'a>(message: &'a Json, path: &Path) -> Option<&'a str> {
    get(message, path)?.as_str()
}

impl Walker {
    /// Builds the condition trees of the routes.
    pub fn new(routes: &[Route]) -> Walker {
        let mut sorted: Vec<&Route> = routes.iter().collect();
        sorted.sort_by_key(|route| std::cmp::Reverse(route.priority.unwrap_or(0)));
        Walker { routes: sorted.into_iter().map(|route| (route.name.clone(), route_cond(route))).collect() }
    }

    /// Returns the name of the first matching route.
    pub fn decide(&self, message: &Json) -> Option<&str> {
        self.routes.iter().find(|(_, cond)| cond.holds(message)).map(|(name, _)| name.as_str())
    }

    /// Returns the number of routes that are evaluated before the route with this name.
    pub fn rank(&self, name: &str) -> Option<usize> {
        self.routes.iter().position(|(other, _)| other == name)
    }
}

fn route_cond(route: &Route) -> Cond {
    let mut terms: Vec<Cond> = route.terms.iter().map(term_cond).collect();
    let last = if route.or_last { terms.pop() } else { None };
    let first = Cond::And(terms);
    match last {
        Some(last) => Cond::Or(vec![first, last]),
        None => first,
    }
}

fn term_cond(term: &Term) -> Cond {
    let on_text = || path("text");
    match term {
        Term::Contains { words, all, word, ignore_case } => {
            let one = |keyword: &String| match (*word, *ignore_case) {
                (true, _) => {
                    let pattern = format!("(?i)\\b{}\\b", regex::escape(keyword));
                    Cond::Matches { path: on_text(), regex: Regex::new(&pattern).expect("it is valid") }
                }
                (false, true) => Cond::ContainsIgnoringCase { path: on_text(), word: keyword.to_lowercase() },
                (false, false) => Cond::Contains { path: on_text(), word: keyword.clone() },
            };
            let parts = words.iter().map(one).collect();
            if *all { Cond::And(parts) } else { Cond::Or(parts) }
        }
        Term::StartsWith(word) => Cond::StartsWithIgnoringCase { path: on_text(), word: word.to_lowercase() },
        Term::Matches(pattern) => {
            Cond::Matches { path: on_text(), regex: Regex::new(pattern).expect("it is valid") }
        }
        Term::Equal(field, word) => Cond::Equal { path: path(field), word: word.clone() },
        Term::NotEqual(field, word) => Cond::NotEqual { path: path(field), word: word.clone() },
        Term::OneOf(field, words) => Cond::OneOf { path: path(field), words: words.clone() },
        Term::Compare(field, op, number) => {
            let op = match *op {
                "<" => Op::Less,
                "<=" => Op::AtMost,
                ">" => Op::More,
                _ => Op::AtLeast,
            };
            Cond::Compare { path: path(field), op, number: *number }
        }
        Term::Has(field, word) => Cond::Has { path: path(field), word: word.clone() },
        Term::IsTrue(field) => Cond::IsTrue { path: path(field) },
    }
}

impl Cond {
    fn holds(&self, message: &Json) -> bool {
        match self {
            Cond::And(parts) => parts.iter().all(|part| part.holds(message)),
            Cond::Or(parts) => parts.iter().any(|part| part.holds(message)),
            Cond::Contains { path, word } => {
                text(message, path).is_some_and(|text| text.contains(word.as_str()))
            }
            Cond::ContainsIgnoringCase { path, word } => {
                text(message, path).is_some_and(|text| text.to_lowercase().contains(word.as_str()))
            }
            Cond::StartsWithIgnoringCase { path, word } => {
                text(message, path).is_some_and(|text| text.to_lowercase().starts_with(word.as_str()))
            }
            Cond::Matches { path, regex } => text(message, path).is_some_and(|text| regex.is_match(text)),
            Cond::Equal { path, word } => text(message, path).is_some_and(|text| text == word),
            Cond::NotEqual { path, word } => text(message, path).is_some_and(|text| text != word),
            Cond::OneOf { path, words } => {
                text(message, path).is_some_and(|text| words.iter().any(|word| word == text))
            }
            Cond::Compare { path, op, number } => {
                let value = get(message, path).and_then(Json::as_f64);
                value.is_some_and(|value| match op {
                    Op::Less => value < *number,
                    Op::AtMost => value <= *number,
                    Op::More => value > *number,
                    Op::AtLeast => value >= *number,
                })
            }
            Cond::Has { path, word } => get(message, path)
                .and_then(Json::as_array)
                .is_some_and(|items| items.iter().any(|item| item.as_str() == Some(word))),
            Cond::IsTrue { path } => get(message, path).and_then(Json::as_bool) == Some(true),
        }
    }
}
