//! Paths from the top of a payload to a value.

use serde_json::Value as Json;
use smallvec::SmallVec;

/// A step of a path: a key (borrowed or owned), or a list index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step<K> {
    Key(K),
    Index(usize),
}

/// The path from the top of the payload to a value.
pub(super) type Path<'a> = SmallVec<[Step<&'a str>; 6]>;
/// A path with owned keys, which outlives the pass over the payload.
pub(super) type OwnedPath = Vec<Step<String>>;

/// Formats a path for reports, as in `$.nodes[2]["x-y"]`.
pub(super) fn render(path: &[Step<&str>]) -> String {
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

/// Returns the value at a path, if there is one.
pub(super) fn at<'j>(json: &'j Json, path: &[Step<&str>]) -> Option<&'j Json> {
    path.iter().try_fold(json, |json, step| match step {
        Step::Key(key) => json.get(*key),
        Step::Index(index) => json.get(*index),
    })
}

pub(super) fn owned(path: &[Step<&str>]) -> OwnedPath {
    let own = |step: &Step<&str>| match step {
        Step::Key(key) => Step::Key((*key).to_owned()),
        Step::Index(index) => Step::Index(*index),
    };
    path.iter().map(own).collect()
}

pub(super) fn at_mut<'j>(json: &'j mut Json, path: &[Step<String>]) -> Option<&'j mut Json> {
    path.iter().try_fold(json, |json, step| match step {
        Step::Key(key) => json.get_mut(key),
        Step::Index(index) => json.get_mut(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_with_dots_where_keys_are_identifiers() {
        let check = |path: &[Step<&str>], expected: &str| assert_eq!(render(path), expected);
        check(&[], "$");
        check(&[Step::Key("nodes"), Step::Index(3), Step::Key("node_id")], "$.nodes[3].node_id");
        check(&[Step::Key("x-y")], r#"$["x-y"]"#);
        check(&[Step::Key("日期")], r#"$["日期"]"#);
        check(&[Step::Key("a\"b"), Step::Key("")], r#"$["a\"b"][""]"#);
        check(&[Step::Key("9a"), Step::Key("_9")], r#"$["9a"]._9"#);
    }
}
