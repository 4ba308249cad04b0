//! Line diff of two texts, which the page shows, for example, if a file has changed before it is
//! saved.

use crate::api::{DiffKind, DiffLine};
use similar::{ChangeTag, TextDiff};

/// Returns the line diff of two texts, unchanged lines included.
pub(crate) fn diff_lines(before: &str, after: &str) -> Vec<DiffLine> {
    let lines = TextDiff::from_lines(before, after);
    let line = |change: similar::Change<&str>| DiffLine {
        kind: match change.tag() {
            ChangeTag::Equal => DiffKind::Same,
            ChangeTag::Delete => DiffKind::Removed,
            ChangeTag::Insert => DiffKind::Added,
        },
        text: change.value().trim_end_matches(['\n', '\r']).to_owned(),
    };
    lines.iter_all_changes().map(line).collect()
}
