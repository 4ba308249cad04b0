//! JSON values that know their path in the document, so that an error or a report can name the
//! path.

use super::Untranslatable;
use super::write::{is_name, quote_string};
use rulec::Message;
use rulec_base::message;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// Key of a marked object: an object that replaces a value of the document which is not JSON, such
/// as `NaN`. If a document with such values contains this key itself, the key counts as not JSON,
/// too: its object would otherwise look like a marked object.
pub(super) const UNREADABLE_KEY: &str = "\u{FFFF}";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathStep {
    Key(String),
    Index(usize),
}

pub(super) type ReadResult<T> = Result<T, Untranslatable>;

/// A JSON value in a document, with the path from the root to the value.
#[derive(Clone, Debug)]
pub(super) struct JsonNode<'j> {
    pub(super) value: &'j Json,
    pub(super) steps: Vec<PathStep>,
    /// Whether the document had values that are not JSON, which [marked objects](UNREADABLE_KEY)
    /// now replace. If false, an object with this key is an ordinary value of the document.
    pub(super) has_marked_objects: bool,
}

impl<'j> JsonNode<'j> {
    pub(super) fn root(value: &'j Json) -> Self {
        JsonNode { value, steps: Vec::new(), has_marked_objects: false }
    }

    pub(super) fn child(&self, step: PathStep, value: &'j Json) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        JsonNode { value, steps, has_marked_objects: self.has_marked_objects }
    }

    /// True if the value replaces a value of the document that is not JSON, such as `NaN`.
    pub(super) fn is_unreadable(&self) -> bool {
        self.has_marked_objects && is_unreadable(self.value)
    }

    /// True if the value, or a part of the value, replaces a value of the document that is not
    /// JSON.
    pub(super) fn has_unreadable(&self) -> bool {
        self.has_marked_objects && has_unreadable(self.value)
    }

    /// Returns the name of an item: the value of the first of the members `keys` that is a text.
    /// Empty if no such member is a text.
    pub(super) fn item_name(&self, keys: &[&str]) -> &'j str {
        keys.iter().find_map(|key| self.value.get(key)?.as_str()).unwrap_or_default()
    }

    pub(super) fn refuse<T>(&self, message: Message) -> ReadResult<T> {
        Err(Untranslatable { message, steps: self.steps.clone(), position: None, range: None })
    }

    /// Returns the Rust value that is in `value`, the result of converting the JSON value to the
    /// expected type. If `value` is `None`, returns the error that the JSON value has another type.
    /// `wanted` describes the expected type in the error, such as "a text".
    fn expect_kind<T>(&self, value: Option<T>, wanted: &Message) -> ReadResult<T> {
        match value {
            Some(value) => Ok(value),
            None => self.refuse(message!("expected {wanted}, found {}", kind_with_article(self.value))),
        }
    }

    /// Returns the value as an object; `wanted` describes the object in an error, such as "a
    /// route".
    pub(super) fn as_object(&self, wanted: &Message) -> ReadResult<ObjectReader<'j>> {
        if self.is_unreadable() {
            return self.refuse(message!("the value is no JSON"));
        }
        let map = self.expect_kind(self.value.as_object(), &message!("{wanted}, an object"))?;
        Ok(ObjectReader { node: self.clone(), map, already_read_keys: RefCell::default() })
    }

    pub(super) fn as_list(&self, wanted: &Message) -> ReadResult<Vec<JsonNode<'j>>> {
        let list = self.expect_kind(self.value.as_array(), &message!("a list of {wanted}"))?;
        Ok(list.iter().enumerate().map(|(index, value)| self.child(PathStep::Index(index), value)).collect())
    }

    pub(super) fn as_text(&self) -> ReadResult<&'j str> {
        self.expect_kind(self.value.as_str(), &message!("a text"))
    }

    pub(super) fn as_texts(&self) -> ReadResult<Vec<&'j str>> {
        self.as_list(&message!("texts"))?.iter().map(JsonNode::as_text).collect()
    }

    pub(super) fn as_bool(&self) -> ReadResult<bool> {
        self.expect_kind(self.value.as_bool(), &message!("true or false"))
    }

    /// Returns the value as an integer. A float without a fraction, such as `2.0`, is accepted;
    /// anything else is an error.
    pub(super) fn as_int(&self) -> ReadResult<i64> {
        let to_integer =
            |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
        self.expect_kind(
            self.value.as_i64().or_else(|| self.value.as_f64().and_then(to_integer)),
            &message!("a whole number"),
        )
    }

    pub(super) fn as_number(&self) -> ReadResult<&'j serde_json::Number> {
        self.expect_kind(self.value.as_number(), &message!("a number"))
    }
}

/// Reads the members of a JSON object, and records which keys were read. The keys that were not
/// read can then be reported.
pub(super) struct ObjectReader<'j> {
    pub(super) node: JsonNode<'j>,
    map: &'j Map<String, Json>,
    already_read_keys: RefCell<BTreeSet<String>>,
}

impl<'j> ObjectReader<'j> {
    /// Returns the member `key`; `None` if it is absent or null.
    pub(super) fn get(&self, key: &str) -> Option<JsonNode<'j>> {
        self.get_with_null(key).filter(|node| !node.value.is_null())
    }

    /// Returns the member `key`, which may be null; `None` if it is absent.
    pub(super) fn get_with_null(&self, key: &str) -> Option<JsonNode<'j>> {
        self.already_read_keys.borrow_mut().insert(key.to_owned());
        let value = self.map.get(key)?;
        Some(self.node.child(PathStep::Key(key.to_owned()), value))
    }

    pub(super) fn get_required(&self, key: &str, of: &Message) -> ReadResult<JsonNode<'j>> {
        match self.get(key) {
            Some(node) => Ok(node),
            None => self.node.refuse(message!("{of} needs `{key}`")),
        }
    }

    pub(super) fn get_text(&self, key: &str) -> ReadResult<Option<&'j str>> {
        self.get(key).map(|node| node.as_text()).transpose()
    }

    pub(super) fn get_bool(&self, key: &str, default: bool) -> ReadResult<bool> {
        self.get(key).map_or(Ok(default), |node| node.as_bool())
    }

    /// Returns the elements of the list in the member `key`; empty if the member is absent.
    /// `wanted` describes the list in an error.
    pub(super) fn get_list(&self, key: &str, wanted: &Message) -> ReadResult<Vec<JsonNode<'j>>> {
        self.get(key).map_or(Ok(Vec::new()), |node| node.as_list(wanted))
    }

    pub(super) fn members(&self) -> Vec<(&'j str, JsonNode<'j>)> {
        self.map
            .iter()
            .map(|(key, value)| (key.as_str(), self.node.child(PathStep::Key(key.clone()), value)))
            .collect()
    }

    /// Returns the members of the JSON object that the importer has not read so far.
    pub(super) fn unread_members(&self) -> Vec<(&'j str, JsonNode<'j>)> {
        let read_keys = self.already_read_keys.borrow();
        self.members().into_iter().filter(|(key, _)| !read_keys.contains(*key)).collect()
    }

    /// Returns an error if the object has members that were not read. Used where ignoring such
    /// members would change decisions. `of` names the object in the error.
    pub(super) fn refuse_unread_members(&self, of: &Message) -> ReadResult<()> {
        match self.unread_members().first() {
            Some((key, node)) => node.refuse(message!("{of} has no `{key}`")),
            None => Ok(()),
        }
    }
}

/// Describes a value's JSON type with an article, such as "an object", for the error that another
/// type was expected.
pub fn kind_with_article(value: &Json) -> Message {
    match value {
        Json::Null => message!("null"),
        Json::Bool(_) => message!("a boolean"),
        Json::Number(_) => message!("a number"),
        Json::String(_) => message!("a text"),
        Json::Array(_) => message!("a list"),
        Json::Object(_) => message!("an object"),
    }
}

/// True for a marked object, which replaces a value of the document that is not JSON, such as
/// `NaN`.
pub(super) fn is_unreadable(value: &Json) -> bool {
    value.as_object().is_some_and(has_unreadable_key)
}

fn has_unreadable_key(members: &Map<String, Json>) -> bool {
    members.contains_key(UNREADABLE_KEY)
}

/// True if the value, or a part of it at any depth, is a marked object. Such an object replaces a
/// value of the document that is not JSON.
pub(super) fn has_unreadable(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(has_unreadable),
        Json::Object(members) => has_unreadable_key(members) || members.values().any(has_unreadable),
        _ => false,
    }
}

/// Formats a path for messages, such as `routes[2].condition["odd key"]`.
pub(super) fn format_path(steps: &[PathStep]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            PathStep::Index(index) => path.push_str(&format!("[{index}]")),
            PathStep::Key(key) if is_name(key) => {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(key);
            }
            PathStep::Key(key) => path.push_str(&format!("[{}]", quote_string(key))),
        }
    }
    path
}

/// Formats a path as a JSON pointer (RFC 6901), such as `/routes/2/condition`.
pub(super) fn format_json_pointer(steps: &[PathStep]) -> String {
    let mut pointer = String::new();
    for step in steps {
        pointer.push('/');
        match step {
            PathStep::Index(index) => pointer.push_str(&index.to_string()),
            PathStep::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
        }
    }
    pointer
}

/// Finds the byte range of the value at each path in `text`, which is valid JSON. The range is
/// `None` for a path that leads to no value. Only the values on one of the paths are read.
pub(super) fn find_value_ranges(text: &str, paths: &[&[PathStep]]) -> Vec<Option<Range<usize>>> {
    let mut ranges = vec![None; paths.len()];
    if let Ok(root) = serde_json::from_str::<&RawValue>(text) {
        find_value_ranges_below(
            text,
            root.get(),
            (paths, 0),
            &(0..paths.len()).collect::<Vec<_>>(),
            &mut ranges,
        );
    }
    ranges
}

/// Finds the byte ranges of the values at some of the `paths` in `text`. Each range is stored in
/// `ranges` at the index of its path. `selected` contains the indices of these paths. The first
/// `depth` steps of these paths are equal, and lead to the value `raw`, which is a part of `text`.
fn find_value_ranges_below(
    text: &str,
    raw: &str,
    (paths, depth): (&[&[PathStep]], usize),
    selected: &[usize],
    ranges: &mut [Option<Range<usize>>],
) {
    // `raw` is a slice of `text`, so the difference of the addresses is its offset.
    let start = raw.as_ptr().addr() - text.as_ptr().addr();
    let mut by_step: BTreeMap<&PathStep, Vec<usize>> = BTreeMap::new();
    for &index in selected {
        match paths[index].get(depth) {
            None => ranges[index] = Some(start..start + raw.len()),
            Some(step) => by_step.entry(step).or_default().push(index),
        }
    }
    if by_step.is_empty() {
        return;
    }
    let (list, map) = match raw.starts_with('[') {
        true => (serde_json::from_str::<Vec<&RawValue>>(raw).unwrap_or_default(), HashMap::new()),
        false => (Vec::new(), serde_json::from_str::<HashMap<String, &RawValue>>(raw).unwrap_or_default()),
    };
    for (step, selected) in by_step {
        let inner = match step {
            PathStep::Index(index) => list.get(*index),
            PathStep::Key(key) => map.get(key),
        };
        if let Some(inner) = inner {
            find_value_ranges_below(text, inner.get(), (paths, depth + 1), &selected, ranges);
        }
    }
}

/// Converts byte offsets of a text to lines and columns. If the offsets come in increasing order,
/// the text is scanned only once.
pub(super) struct LineCounter<'t> {
    text: &'t str,
    /// The offset that was converted last, the number of line breaks before this offset, and the
    /// offset at which its line starts.
    last_offset_breaks_line_start: (usize, usize, usize),
}

impl<'t> LineCounter<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        LineCounter { text, last_offset_breaks_line_start: (0, 0, 0) }
    }

    /// Returns the line and column of a byte offset, both from 1. The column counts characters.
    pub(super) fn line_and_column(&mut self, offset: usize) -> (usize, usize) {
        let (mut counted, mut breaks, mut line_start) = self.last_offset_breaks_line_start;
        if offset < counted {
            (counted, breaks, line_start) = (0, 0, 0);
        }
        let between = self.text.get(counted..offset).unwrap_or_default();
        breaks += between.matches('\n').count();
        line_start = between.rfind('\n').map_or(line_start, |at| counted + at + 1);
        self.last_offset_breaks_line_start = (offset, breaks, line_start);
        (breaks + 1, self.text.get(line_start..offset).unwrap_or_default().chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_their_path() {
        let text = "{\"a\": [1, {\"b \\\" c\": [\n  \"x,]\", {}, 3\n]}],\n \"d\": null}";
        let value: Json = serde_json::from_str(text).unwrap();
        let root = JsonNode::root(&value);
        let object = root.as_object(&message!("an object")).unwrap();
        let inner = object.get("a").unwrap().as_list(&message!("texts")).unwrap()[1]
            .as_object(&message!("an object"))
            .unwrap();
        let list = inner.get("b \" c").unwrap().as_list(&message!("texts")).unwrap();
        let place = |node: &JsonNode| {
            let range = find_value_ranges(text, &[&node.steps]).remove(0).unwrap();
            (format_path(&node.steps), LineCounter::new(text).line_and_column(range.start))
        };
        assert_eq!(place(&list[2]), (r#"a[1]["b \" c"][2]"#.to_owned(), (2, 14)));
        assert_eq!(place(&object.get_with_null("d").unwrap()), ("d".to_owned(), (4, 7)));
        assert_eq!(place(&root), (String::new(), (1, 1)));
    }
}
