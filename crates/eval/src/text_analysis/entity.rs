//! Finds entities, such as order numbers, in a text. The author of the rules declares an entity by
//! regular expressions.

use regex::{Captures, Regex};
use rulec_base::text::LazyRegex;
use rulec_sema::request::{Entity, WHOLE_MATCH_FIELD};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of matches that one regular expression of an entity gives for a text. The limit
/// bounds the time and is not tuned: each search may read the whole text.
pub const MAX_ENTITY_MATCHES: usize = 1000;

#[derive(Debug)]
pub struct EntityFinder {
    patterns: Vec<LazyRegex>,
}

/// An occurrence of an entity, such as an order number, in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityMatch {
    /// The byte range of the entity in the text.
    pub range: Range<usize>,
    /// The named groups of the regular expression that matched, with their texts.
    pub fields: Map<String, Json>,
}

impl EntityFinder {
    /// Prepares the regular expressions of an entity. The checker verified that they compile; an
    /// invalid expression would match nothing.
    pub fn new(entity: &Entity) -> EntityFinder {
        let to_regex = |pattern| LazyRegex::from_checked(pattern, entity.ignores_case);
        EntityFinder { patterns: entity.patterns.iter().map(to_regex).collect() }
    }

    /// Prepares the regular expressions of a built-in entity, which ignore case.
    pub fn built_in(patterns: &[&str]) -> EntityFinder {
        let to_regex = |pattern: &&str| LazyRegex::from_checked(&(*pattern).into(), true);
        EntityFinder { patterns: patterns.iter().map(to_regex).collect() }
    }

    /// Returns the named groups of the first match of the first expression that matches. Groups
    /// that did not match are omitted. If the expression has no named groups, returns the whole
    /// match as [`WHOLE_MATCH_FIELD`]. `None` if no expression matches.
    pub fn find_first(&self, text: &str) -> Option<Map<String, Json>> {
        let mut patterns = self.patterns.iter().filter_map(LazyRegex::compiled);
        let (pattern, captures) = patterns.find_map(|pattern| Some((pattern, pattern.captures(text)?)))?;
        let mut groups = named_groups(pattern, &captures);
        if pattern.capture_names().flatten().next().is_none() {
            groups.insert(WHOLE_MATCH_FIELD.to_owned(), captures[0].into());
        }
        Some(groups)
    }

    /// Returns all matches in the order of the text. If matches of two expressions overlap, only
    /// the match of the expression that is declared first is returned. Each expression gives at
    /// most [`MAX_ENTITY_MATCHES`].
    pub fn find_all(&self, text: &str) -> Vec<EntityMatch> {
        let mut matches: BTreeMap<usize, EntityMatch> = BTreeMap::new();
        for pattern in self.patterns.iter().filter_map(LazyRegex::compiled) {
            for captures in pattern.captures_iter(text).take(MAX_ENTITY_MATCHES) {
                let range = captures.get_match().range();
                // The known matches do not overlap each other. So only the last one that begins
                // before this match ends can overlap it.
                let before = matches.range(..range.end).next_back();
                if !range.is_empty() && before.is_none_or(|(_, other)| other.range.end <= range.start) {
                    let fields = named_groups(pattern, &captures);
                    matches.insert(range.start, EntityMatch { range, fields });
                }
            }
        }
        matches.into_values().collect()
    }
}

fn named_groups(pattern: &Regex, captures: &Captures<'_>) -> Map<String, Json> {
    let names = pattern.capture_names().flatten();
    names.filter_map(|name| Some((name.to_owned(), captures.name(name)?.as_str().into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_base::span::{FileId, Span};
    use serde_json::json;

    #[test]
    fn groups_become_fields() {
        let check = |patterns: &[&str], ignore_case, text: &str, expected: Json| {
            let entity = Entity {
                name: "e".into(),
                patterns: patterns.iter().map(|pattern| (*pattern).into()).collect(),
                fields: Vec::new(),
                ignores_case: ignore_case,
                span: Span::new(FileId(0), 0, 0),
            };
            let groups = EntityFinder::new(&entity).find_first(text).map_or(Json::Null, Json::Object);
            assert_eq!(groups, expected, "{patterns:?} in {text}");
        };
        let order = r"order (?<id>[0-9]+)(?: of (?<year>20\d\d))?";
        check(&[order], false, "order 7 of 2026, order 8", json!({"id": "7", "year": "2026"}));
        check(&[order], false, "my order 7", json!({"id": "7"}));
        check(&[order], false, "my ORDER 7", json!(null));
        check(&[order], true, "my ORDER 7", json!({"id": "7"}));
        check(&[r"[\w.]+@[\w.]+"], false, "to a@b.c or d@e.f", json!({"match": "a@b.c"}));
        check(&["(a)(b)"], false, "ab", json!({"match": "ab"}));
        // The first expression is tried first, although the second one matches earlier in the text.
        check(&[r"订单(?<id>\d+)", r"#(?<id>\d+)"], false, "#1 是订单2", json!({"id": "2"}));
        check(&[r"订单(?<id>\d+)", r"#(?<id>\d+)"], false, "see #1", json!({"id": "1"}));
        check(&[], false, "x", json!(null));
    }

    #[test]
    fn every_match_is_found_once_in_the_order_of_the_text() {
        let check = |patterns: &[&str], text: &str, expected: &[(&str, Json)]| {
            let matches = EntityFinder::built_in(patterns).find_all(text);
            let found: Vec<_> = matches
                .into_iter()
                .map(|EntityMatch { range, fields }| (&text[range], Json::Object(fields)))
                .collect();
            assert_eq!(found, expected, "{patterns:?} in {text}");
        };
        let id = |id: &str| json!({ "id": id });
        check(&["order (?<id>[0-9]+)"], "order 7, Order 8", &[("order 7", id("7")), ("Order 8", id("8"))]);
        let patterns = [r"订单(?<id>\d+)", r"(?<id>\d+)"];
        check(&patterns, "1, 订单2, 3", &[("1", id("1")), ("订单2", id("2")), ("3", id("3"))]);
        check(&["a*"], "baab", &[("aa", json!({}))]);
        let many = "x ".repeat(MAX_ENTITY_MATCHES + 5);
        assert_eq!(EntityFinder::built_in(&["x"]).find_all(&many).len(), MAX_ENTITY_MATCHES);
    }
}
