//! Paths from the root of a payload to a value, such as `$.nodes[2].url`.

use serde_json::Value as Json;
use smallvec::SmallVec;

/// A step of a path in a payload: a key of an object (borrowed or owned), or an index of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PathStep<K> {
    Key(K),
    Index(usize),
}

/// The path from the root of the payload to a value, with borrowed keys.
pub(super) type PayloadPath<'a> = SmallVec<[PathStep<&'a str>; 6]>;
/// A path with owned keys, which can outlive the payload.
pub(super) type OwnedPayloadPath = Vec<PathStep<String>>;

/// Formats a path for reports, as in `$.nodes[2]["x-y"]`.
pub(super) fn format_path(path: &[PathStep<&str>]) -> String {
    let mut text = String::from("$");
    for step in path {
        match step {
            PathStep::Key(key) if is_identifier(key) => {
                text.push('.');
                text.push_str(key);
            }
            PathStep::Key(key) => {
                text.push('[');
                text.push_str(&Json::from(*key).to_string());
                text.push(']');
            }
            PathStep::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn is_identifier(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the value at a path of the payload `json`; `None` if the path leads to no value.
pub(super) fn value_at<'j>(json: &'j Json, path: &[PathStep<&str>]) -> Option<&'j Json> {
    path.iter().try_fold(json, |json, step| match step {
        PathStep::Key(key) => json.get(*key),
        PathStep::Index(index) => json.get(*index),
    })
}

pub(super) fn to_owned_path(path: &[PathStep<&str>]) -> OwnedPayloadPath {
    let to_owned_step = |step: &PathStep<&str>| match step {
        PathStep::Key(key) => PathStep::Key((*key).to_owned()),
        PathStep::Index(index) => PathStep::Index(*index),
    };
    path.iter().map(to_owned_step).collect()
}

pub(super) fn value_at_mut<'j>(json: &'j mut Json, path: &[PathStep<String>]) -> Option<&'j mut Json> {
    path.iter().try_fold(json, |json, step| match step {
        PathStep::Key(key) => json.get_mut(key),
        PathStep::Index(index) => json.get_mut(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_use_dots_where_keys_are_identifiers() {
        let check = |path: &[PathStep<&str>], expected: &str| assert_eq!(format_path(path), expected);
        check(&[], "$");
        check(&[PathStep::Key("nodes"), PathStep::Index(3), PathStep::Key("node_id")], "$.nodes[3].node_id");
        check(&[PathStep::Key("x-y")], r#"$["x-y"]"#);
        check(&[PathStep::Key("日期")], r#"$["日期"]"#);
        check(&[PathStep::Key("a\"b"), PathStep::Key("")], r#"$["a\"b"][""]"#);
        check(&[PathStep::Key("9a"), PathStep::Key("_9")], r#"$["9a"]._9"#);
    }
}
