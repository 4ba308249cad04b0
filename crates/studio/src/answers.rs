//! Each kind of request, answered from what is known of the rules.

pub(crate) mod decide;
pub(crate) mod edit;
pub(crate) mod form;
pub(crate) mod judge;
pub(crate) mod map;
pub(crate) mod near;
pub(crate) mod overview;
pub(crate) mod table;
pub(crate) mod test_block;
pub(crate) mod workflow;

use crate::api::{DiffKind, DiffLine, EntryKind};
use crate::refusal::{Answer, Refused};
use rulec::{Entry, Rules, TableKind};
use similar::{ChangeTag, TextDiff};

/// The lines that differ between two texts, with those that do not.
pub(crate) fn difference(before: &str, after: &str) -> Vec<DiffLine> {
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

/// The kind of a table.
pub(crate) fn kind(kind: TableKind) -> EntryKind {
    match kind {
        TableKind::Routes => EntryKind::Routes,
        TableKind::Choice => EntryKind::Choice,
        TableKind::Flows => EntryKind::Flows,
        TableKind::Router => EntryKind::Router,
        TableKind::Requirements => EntryKind::Payload,
    }
}

/// The entry of a name.
pub(crate) fn entry<'r>(rules: &'r Rules, name: &str) -> Answer<Entry<'r>> {
    rules.entry(name).map_err(Refused::missing)
}
