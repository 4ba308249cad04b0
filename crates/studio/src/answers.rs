//! Functions that answer the page's API requests, one module for each kind of request.

pub(crate) mod decide;
pub(crate) mod edit;
pub(crate) mod form;
pub(crate) mod history;
pub(crate) mod judge;
pub(crate) mod map;
pub(crate) mod message;
pub(crate) mod near;
pub(crate) mod overview;
pub(crate) mod replays;
pub(crate) mod row_edit;
mod row_new;
mod row_text;
pub(crate) mod table;
pub(crate) mod test_block;
pub(crate) mod workflow;

use crate::api::EntryKind;
use crate::error::{Answer, RequestError};
use rulec::{Entry, Rules, TableKind};

/// Converts a table's kind in the compiled program to the kind that API responses use.
pub(crate) fn to_entry_kind(kind: TableKind) -> EntryKind {
    match kind {
        TableKind::Routes => EntryKind::Routes,
        TableKind::Choice => EntryKind::Choice,
        TableKind::Flows => EntryKind::Flows,
        TableKind::Router => EntryKind::Router,
        TableKind::Requirements => EntryKind::Payload,
    }
}

/// Looks up an entry (such as a table) by name. If the name is unknown, returns an error of kind
/// `missing`.
pub(crate) fn find_entry<'r>(rules: &'r Rules, name: &str) -> Answer<Entry<'r>> {
    rules.entry(name).map_err(|error| RequestError::missing(error.to_message()))
}
