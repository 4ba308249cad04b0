//! Places in a payload, from its top.

use serde_json::Value as Json;
use smallvec::SmallVec;

/// A step of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// A place, from the payload's top.
pub(super) type Path<'a> = SmallVec<[Step<'a>; 6]>;

/// A place as it is reported: `$.nodes[2]["x-y"]`.
pub(super) fn render(path: &[Step<'_>]) -> String {
    let mut text = String::from("$");
    for step in path {
        match step {
            Step::Key(key) if is_identifier(key) => {
                text.push('.');
                text.push_str(key);
            }
            Step::Key(key) => {
                text.push('[');
                text.push_str(&Json::from(*key).to_string());
                text.push(']');
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn is_identifier(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns what stands at a place.
pub(super) fn at<'j>(json: &'j Json, path: &[Step<'_>]) -> Option<&'j Json> {
    path.iter().try_fold(json, |json, step| match step {
        Step::Key(key) => json.get(*key),
        Step::Index(index) => json.get(*index),
    })
}

/// A step that owns its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnStep {
    Key(String),
    Index(usize),
}

pub(super) fn owned(path: &[Step<'_>]) -> Vec<OwnStep> {
    path.iter()
        .map(|step| match step {
            Step::Key(key) => OwnStep::Key((*key).to_owned()),
            Step::Index(index) => OwnStep::Index(*index),
        })
        .collect()
}

pub(super) fn at_mut<'j>(json: &'j mut Json, path: &[OwnStep]) -> Option<&'j mut Json> {
    path.iter().try_fold(json, |json, step| match step {
        OwnStep::Key(key) => json.get_mut(key),
        OwnStep::Index(index) => json.get_mut(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_with_dots_where_keys_are_identifiers() {
        let check = |path: &[Step<'_>], expected: &str| assert_eq!(render(path), expected);
        check(&[], "$");
        check(&[Step::Key("nodes"), Step::Index(3), Step::Key("node_id")], "$.nodes[3].node_id");
        check(&[Step::Key("x-y")], r#"$["x-y"]"#);
        check(&[Step::Key("日期")], r#"$["日期"]"#);
        check(&[Step::Key("a\"b"), Step::Key("")], r#"$["a\"b"][""]"#);
        check(&[Step::Key("9a"), Step::Key("_9")], r#"$["9a"]._9"#);
    }
}
