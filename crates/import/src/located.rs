//! JSON values with their path, so that errors can name the path.

use super::Untranslatable;
use super::write::{is_name, quote_string};
use rulec::Message;
use rulec_base::message;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

pub(super) type Read<T> = Result<T, Untranslatable>;

/// A JSON value with its path.
#[derive(Clone, Debug)]
pub(super) struct JsonNode<'j> {
    pub(super) value: &'j Json,
    steps: Vec<Step>,
}

impl<'j> JsonNode<'j> {
    pub(super) fn root(value: &'j Json) -> Self {
        JsonNode { value, steps: Vec::new() }
    }

    fn child(&self, step: Step, value: &'j Json) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        JsonNode { value, steps }
    }

    pub(super) fn refuse<T>(&self, message: Message) -> Read<T> {
        Err(Untranslatable { message, steps: self.steps.clone(), position: None })
    }

    /// Returns the value if present. Otherwise returns an error that describes the expected kind by
    /// `wanted`.
    fn wanted<T>(&self, value: Option<T>, wanted: &Message) -> Read<T> {
        match value {
            Some(value) => Ok(value),
            None => self.refuse(message!("expected {wanted}, found {}", kind(self.value))),
        }
    }

    /// Returns the value as an object; `wanted` describes the object in an error, such as "a
    /// route".
    pub(super) fn object(&self, wanted: &Message) -> Read<Object<'j>> {
        let map = self.wanted(self.value.as_object(), &message!("{wanted}, an object"))?;
        Ok(Object { node: self.clone(), map, used: RefCell::default() })
    }

    pub(super) fn list(&self, wanted: &Message) -> Read<Vec<JsonNode<'j>>> {
        let list = self.wanted(self.value.as_array(), &message!("a list of {wanted}"))?;
        Ok(list.iter().enumerate().map(|(at, value)| self.child(Step::Index(at), value)).collect())
    }

    pub(super) fn text(&self) -> Read<&'j str> {
        self.wanted(self.value.as_str(), &message!("a text"))
    }

    pub(super) fn texts(&self) -> Read<Vec<&'j str>> {
        self.list(&message!("texts"))?.iter().map(JsonNode::text).collect()
    }

    pub(super) fn bool(&self) -> Read<bool> {
        self.wanted(self.value.as_bool(), &message!("true or false"))
    }

    /// Returns the value as an integer; `2.0` is accepted.
    pub(super) fn int(&self) -> Read<i64> {
        let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
        self.wanted(
            self.value.as_i64().or_else(|| self.value.as_f64().and_then(whole)),
            &message!("a whole number"),
        )
    }

    pub(super) fn number(&self) -> Read<&'j serde_json::Number> {
        self.wanted(self.value.as_number(), &message!("a number"))
    }
}

/// A JSON object that records which of its keys were read.
pub(super) struct Object<'j> {
    pub(super) node: JsonNode<'j>,
    map: &'j Map<String, Json>,
    used: RefCell<BTreeSet<String>>,
}

impl<'j> Object<'j> {
    /// Returns a member; null counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<JsonNode<'j>> {
        self.raw(key).filter(|node| !node.value.is_null())
    }

    /// Returns a member, which may be null.
    pub(super) fn raw(&self, key: &str) -> Option<JsonNode<'j>> {
        self.used.borrow_mut().insert(key.to_owned());
        let value = self.map.get(key)?;
        Some(self.node.child(Step::Key(key.to_owned()), value))
    }

    pub(super) fn need(&self, key: &str, of: &Message) -> Read<JsonNode<'j>> {
        match self.get(key) {
            Some(node) => Ok(node),
            None => self.node.refuse(message!("{of} needs `{key}`")),
        }
    }

    pub(super) fn text(&self, key: &str) -> Read<Option<&'j str>> {
        self.get(key).map(|node| node.text()).transpose()
    }

    pub(super) fn bool(&self, key: &str, otherwise: bool) -> Read<bool> {
        self.get(key).map_or(Ok(otherwise), |node| node.bool())
    }

    /// Returns the elements of a list member; empty if the member is absent.
    pub(super) fn list(&self, key: &str, wanted: &Message) -> Read<Vec<JsonNode<'j>>> {
        self.get(key).map_or(Ok(Vec::new()), |node| node.list(wanted))
    }

    pub(super) fn members(&self) -> Vec<(&'j str, JsonNode<'j>)> {
        self.map
            .iter()
            .map(|(key, value)| (key.as_str(), self.node.child(Step::Key(key.clone()), value)))
            .collect()
    }

    /// Returns the members that were not read.
    pub(super) fn rest(&self) -> Vec<(&'j str, JsonNode<'j>)> {
        let used = self.used.borrow();
        self.members().into_iter().filter(|(key, _)| !used.contains(*key)).collect()
    }

    /// Refuses unread members, where ignoring them would change decisions.
    pub(super) fn nothing_else(&self, of: &Message) -> Read<()> {
        match self.rest().first() {
            Some((key, node)) => node.refuse(message!("{of} has no `{key}`")),
            None => Ok(()),
        }
    }
}

/// Describes a value's kind, with an article.
pub(super) fn kind(value: &Json) -> Message {
    match value {
        Json::Null => message!("null"),
        Json::Bool(_) => message!("a boolean"),
        Json::Number(_) => message!("a number"),
        Json::String(_) => message!("a text"),
        Json::Array(_) => message!("a list"),
        Json::Object(_) => message!("an object"),
    }
}

/// Formats a path: `routes[2].condition["odd key"]`.
pub(super) fn dotted(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Index(at) => path.push_str(&format!("[{at}]")),
            Step::Key(key) if is_name(key) => {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(key);
            }
            Step::Key(key) => path.push_str(&format!("[{}]", quote_string(key))),
        }
    }
    path
}

/// Returns the line and column, from 1, of the value at a path in valid JSON text.
pub(super) fn locate(text: &str, steps: &[Step]) -> Option<(usize, usize)> {
    let mut found = serde_json::from_str::<&RawValue>(text).ok()?.get();
    for step in steps {
        let inner = match step {
            Step::Index(index) => serde_json::from_str::<Vec<&RawValue>>(found).ok()?.get(*index).copied(),
            Step::Key(key) => serde_json::from_str::<HashMap<String, &RawValue>>(found).ok()?.remove(key),
        };
        found = inner?.get();
    }
    // The found text is a slice of `text`.
    let before = text.get(..found.as_ptr().addr() - text.as_ptr().addr())?;
    let line = 1 + before.matches('\n').count();
    Some((line, 1 + before.chars().rev().take_while(|c| *c != '\n').count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_their_path() {
        let text = "{\"a\": [1, {\"b \\\" c\": [\n  \"x,]\", {}, 3\n]}],\n \"d\": null}";
        let value: Json = serde_json::from_str(text).unwrap();
        let root = JsonNode::root(&value);
        let object = root.object(&message!("an object")).unwrap();
        let inner = object.get("a").unwrap().list(&message!("texts")).unwrap()[1]
            .object(&message!("an object"))
            .unwrap();
        let list = inner.get("b \" c").unwrap().list(&message!("texts")).unwrap();
        let place = |node: &JsonNode| (dotted(&node.steps), locate(text, &node.steps).unwrap());
        assert_eq!(place(&list[2]), (r#"a[1]["b \" c"][2]"#.to_owned(), (2, 14)));
        assert_eq!(place(&object.raw("d").unwrap()), ("d".to_owned(), (4, 7)));
        assert_eq!(place(&root), (String::new(), (1, 1)));
    }
}
