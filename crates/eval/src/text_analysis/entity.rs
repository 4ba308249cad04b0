//! Finds the entities of a text, such as an order number, by their regular expressions.

use rulec_base::text::LazyRegex;
use rulec_sema::request::{Entity, WHOLE_MATCH_FIELD};
use serde_json::{Map, Value as Json};

#[derive(Debug)]
pub struct EntityFinder {
    patterns: Vec<LazyRegex>,
}

impl EntityFinder {
    /// Prepares the regular expressions of an entity. The checker verified that they compile; an
    /// invalid expression would match nothing.
    pub fn new(entity: &Entity) -> EntityFinder {
        let to_regex = |pattern| LazyRegex::from_checked(pattern, entity.ignore_case);
        EntityFinder { patterns: entity.patterns.iter().map(to_regex).collect() }
    }

    /// Returns the named groups of the first match of the first expression that matches. Groups
    /// that did not match are omitted. If the expression has no named groups, returns the whole
    /// match as [`WHOLE_MATCH_FIELD`]. `None` if no expression matches.
    pub fn find_first(&self, text: &str) -> Option<Map<String, Json>> {
        let mut patterns = self.patterns.iter().filter_map(LazyRegex::compiled);
        let (pattern, captures) = patterns.find_map(|pattern| Some((pattern, pattern.captures(text)?)))?;
        let mut groups = Map::new();
        for name in pattern.capture_names().flatten() {
            if let Some(group) = captures.name(name) {
                groups.insert(name.to_owned(), group.as_str().into());
            }
        }
        if pattern.capture_names().flatten().next().is_none() {
            groups.insert(WHOLE_MATCH_FIELD.to_owned(), captures[0].into());
        }
        Some(groups)
    }
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
                ignore_case,
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
        // The order of the expressions decides, not the order of the matches.
        check(&[r"订单(?<id>\d+)", r"#(?<id>\d+)"], false, "#1 是订单2", json!({"id": "2"}));
        check(&[r"订单(?<id>\d+)", r"#(?<id>\d+)"], false, "see #1", json!({"id": "1"}));
        check(&[], false, "x", json!(null));
    }
}
