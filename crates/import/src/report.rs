//! The report of an import: whether each item of the JSON document was loaded, changed or skipped,
//! and why. Authors read it to check an import.

use super::located::{self, PathStep};
use rulec::{Code, Message};
use rulec_base::message;
use serde::{Serialize, Serializer};
use std::ops::Range;

/// What an import did with each item (such as a route or a flow) of a JSON document, in the order
/// of the document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    pub(super) items: Vec<ReportItem>,
}

/// One item (such as a route or a flow) of a JSON document, and what the import did with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportItem {
    /// The kind of the item, such as a route or a flow.
    pub kind: ItemKind,
    /// The item's name or id in the document; for a pattern, its text. Empty if the item has no
    /// name.
    pub name: String,
    /// Whether the item (such as a route) was loaded, adapted or skipped.
    pub outcome: Outcome,
    /// If the item was adapted, its changes; if it was skipped, the reason. Parts of the item that
    /// were skipped have items of their own.
    pub notes: Vec<Message>,
    /// Warnings of the rule compiler and the analysis about the item. They do not change the
    /// outcome, because the original system decides in the same way.
    pub warnings: Vec<(Code, Message)>,
    /// JSON pointer (RFC 6901) of the item, such as `/flows/2`. For a skipped item, the pointer of
    /// the part that cannot be translated.
    pub pointer: String,
    /// Line and column of the item in the document's text, both from 1; the column counts
    /// characters. `None` if a JSON value was imported instead of a text.
    pub position: Option<(usize, usize)>,
    /// Range of the item in the document's text, in bytes. `None` if a JSON value was imported
    /// instead of a text.
    pub range: Option<Range<usize>>,
    pub(super) steps: Vec<PathStep>,
}

/// Kind of an item in a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ItemKind {
    /// The whole document.
    Document,
    /// A flow (a conversation that a message can start), found by keywords or by intent.
    Flow,
    /// A pattern of a keyword flow.
    Pattern,
    /// A tool of a language model, such as the tool that executes flows.
    Tool,
    /// A message route.
    Route,
    /// The default handler, which receives messages that no route matches.
    Default,
    /// A choice: a step of a workflow that selects one of several branches.
    Choice,
    /// A branch of a choice.
    Branch,
    /// A condition of a branch of a choice.
    Condition,
    /// A workflow in the `context` of payload rules.
    Workflow,
    /// A node of a workflow in the `context` of payload rules.
    Node,
    /// A subagent in the `context` of payload rules.
    Subagent,
    /// A single value, such as a name or a description.
    Field,
}

impl ItemKind {
    /// Returns the name of this kind as a localized message.
    pub fn to_message(self) -> Message {
        match self {
            ItemKind::Document => message!("document"),
            ItemKind::Flow => message!("flow"),
            ItemKind::Pattern => message!("pattern"),
            ItemKind::Tool => message!("tool"),
            ItemKind::Route => message!("route"),
            ItemKind::Default => message!("default"),
            ItemKind::Choice => message!("choice"),
            ItemKind::Branch => message!("branch"),
            ItemKind::Condition => message!("condition"),
            ItemKind::Workflow => message!("workflow"),
            ItemKind::Node => message!("node"),
            ItemKind::Subagent => message!("subagent"),
            ItemKind::Field => message!("field"),
        }
    }
}

/// What an import did with an item (such as a route) of a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The item (such as a route) has the same meaning in the rules.
    Loaded,
    /// The item (such as a route) was loaded with a change, or a part of it was skipped.
    Adapted,
    /// The item (such as a route) was left out of the rules.
    Skipped,
}

impl Report {
    /// Returns all items (such as routes) of the document, in the order of the document.
    pub fn items(&self) -> &[ReportItem] {
        &self.items
    }

    /// Returns the items (such as routes) that were left out of the rules.
    pub fn skipped(&self) -> impl Iterator<Item = &ReportItem> {
        self.items.iter().filter(|item| item.outcome == Outcome::Skipped)
    }

    /// Returns a sentence for each note on an item, in the order of the document.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        self.items.iter().flat_map(ReportItem::messages)
    }

    /// Sets the line, the column and the byte range of each item. `text` is the document's text.
    /// `locate` returns the byte range of the value at each path.
    pub(super) fn set_item_positions(
        &mut self,
        text: &str,
        locate: impl FnOnce(&[&[PathStep]]) -> Vec<Option<Range<usize>>>,
    ) {
        let paths: Vec<&[PathStep]> = self.items.iter().map(|item| &*item.steps).collect();
        let ranges = locate(&paths);
        let mut lines = located::LineCounter::new(text);
        for (item, range) in self.items.iter_mut().zip(ranges) {
            item.position = range.as_ref().map(|range| lines.line_and_column(range.start));
            item.range = range;
        }
    }

    pub(super) fn remove_positions(&mut self) {
        for item in &mut self.items {
            (item.position, item.range) = (None, None);
        }
    }
}

impl ReportItem {
    /// Returns each note on this item as a sentence. The sentence for a skipped item includes its
    /// position in the document.
    pub fn messages(&self) -> Vec<Message> {
        match self.outcome {
            Outcome::Skipped => self.notes.iter().map(|reason| self.skip_message(reason)).collect(),
            _ => self.notes.clone(),
        }
    }

    /// Returns the sentence that says that this item was skipped, and why. The sentence does not
    /// contain the position of the item.
    pub fn describe_skip(&self, reason: &Message) -> Message {
        let kind = self.kind.to_message();
        let name = super::write::quote_for_comment(&self.name);
        let what = if self.name.is_empty() { kind } else { message!("{kind} {name}") };
        message!("{what} was skipped: {reason}")
    }

    fn skip_message(&self, reason: &Message) -> Message {
        let (sentence, pointer) = (self.describe_skip(reason), &self.pointer);
        match self.position {
            Some((line, column)) => {
                message!("{sentence}, at `{pointer}` (line {line}, column {column})")
            }
            None => message!("{sentence}, at `{pointer}`"),
        }
    }
}

/// An item of the report, such as a route, in the form in which it is serialized to JSON. Notes are
/// English texts.
#[derive(Serialize)]
struct SerializedItem<'i> {
    kind: ItemKind,
    name: &'i str,
    outcome: Outcome,
    pointer: &'i str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<SerializedWarning>,
}

#[derive(Serialize)]
struct SerializedWarning {
    code: String,
    message: String,
}

impl Serialize for ReportItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let to_warning = |(code, message): &(Code, Message)| SerializedWarning {
            code: code.to_string(),
            message: message.to_string(),
        };
        SerializedItem {
            kind: self.kind,
            name: &self.name,
            outcome: self.outcome,
            pointer: &self.pointer,
            line: self.position.map(|(line, _)| line),
            column: self.position.map(|(_, column)| column),
            notes: self.notes.iter().map(ToString::to_string).collect(),
            warnings: self.warnings.iter().map(to_warning).collect(),
        }
        .serialize(serializer)
    }
}

/// Builds the report of an import. Adds an entry for each item (such as a route) that the importer
/// reads.
#[derive(Default)]
pub(super) struct ReportBuilder {
    items: Vec<ReportItem>,
    /// Index of the item (such as a route) that the importer is reading; `None` between items.
    current_index: Option<usize>,
    /// Notes that concern the imported document as a whole, not one item.
    document_notes: Vec<Message>,
}

impl ReportBuilder {
    /// Adds an item of the document (such as a route) to the report, and makes it the item that is
    /// being read. `steps` is the path of the item in the document. Returns the index of the item
    /// in the report.
    pub(super) fn begin_item(&mut self, kind: ItemKind, name: &str, steps: &[PathStep]) -> usize {
        self.current_index = Some(self.items.len());
        self.push_item(kind, name, steps, Outcome::Loaded, Vec::new())
    }

    /// Removes the item `index` and all later items from the report, because reading the item
    /// failed.
    pub(super) fn discard_items_from(&mut self, index: usize) {
        self.items.truncate(index);
    }

    /// Returns the index of the item that is being read. `None` between items; notes then refer to
    /// the whole document.
    pub(super) fn current_item_index(&self) -> Option<usize> {
        self.current_index
    }

    /// Ends the current item, after the importer has read it. `outer` is the enclosing item, which
    /// becomes the current item again.
    pub(super) fn end_item(&mut self, outer: Option<usize>) {
        self.current_index = outer;
    }

    /// Returns the innermost item that contains the value at the path `steps` and that satisfies
    /// `is_wanted`. `None` if there is no such item.
    pub(super) fn item_around(
        &self,
        steps: &[PathStep],
        is_wanted: impl Fn(&ReportItem) -> bool,
    ) -> Option<&ReportItem> {
        let around = self.items.iter().filter(|item| steps.starts_with(&item.steps) && is_wanted(item));
        around.max_by_key(|item| item.steps.len())
    }

    /// Replaces the reason for which the value at the path `steps` was skipped.
    pub(super) fn set_skip_reason(&mut self, steps: &[PathStep], reason: &Message) {
        let skipped = self.items.iter_mut().filter(|item| item.outcome == Outcome::Skipped);
        for item in skipped.filter(|item| item.steps == steps) {
            item.notes = vec![reason.clone()];
        }
    }

    /// Adds a note about a change to the item that is being read. If no item is being read, the
    /// note is about the document.
    pub(super) fn add_note(&mut self, note: Message) {
        match self.current_index.and_then(|index| self.items.get_mut(index)) {
            Some(item) => {
                item.outcome = item.outcome.max(Outcome::Adapted);
                item.notes.push(note);
            }
            None => self.add_document_note(note),
        }
    }

    /// Adds a note about a change to the imported document as a whole.
    pub(super) fn add_document_note(&mut self, note: Message) {
        self.document_notes.push(note);
    }

    /// Adds a skipped item to the report; `steps` is its path in the document. If an enclosing item
    /// is being read, that item counts as adapted, because a part of it is missing.
    pub(super) fn add_skipped_item(
        &mut self,
        kind: ItemKind,
        name: &str,
        steps: &[PathStep],
        reason: Message,
    ) {
        if let Some(item) = self.current_index.and_then(|index| self.items.get_mut(index)) {
            item.outcome = item.outcome.max(Outcome::Adapted);
        }
        self.push_item(kind, name, steps, Outcome::Skipped, vec![reason]);
    }

    fn push_item(
        &mut self,
        kind: ItemKind,
        name: &str,
        steps: &[PathStep],
        outcome: Outcome,
        notes: Vec<Message>,
    ) -> usize {
        let pointer = located::format_json_pointer(steps);
        let (name, steps) = (name.to_owned(), steps.to_vec());
        let (position, range, warnings) = (None, None, Vec::new());
        self.items.push(ReportItem { kind, name, outcome, notes, warnings, pointer, position, range, steps });
        self.items.len() - 1
    }

    /// Finishes the report, and adds the `warnings`. Each warning is paired with the index of the
    /// item that it is about. If there are notes on the document as a whole, an item for them is
    /// inserted before all others. Also returns the number of inserted items, 0 or 1.
    pub(super) fn finish_report(mut self, warnings: Vec<(usize, Code, Message)>) -> (Report, usize) {
        for (index, code, message) in warnings {
            if let Some(item) = self.items.get_mut(index) {
                item.warnings.push((code, message));
            }
        }
        let first_item = usize::from(!self.document_notes.is_empty());
        if first_item > 0 {
            self.current_index = None;
            let notes = std::mem::take(&mut self.document_notes);
            let index = self.push_item(ItemKind::Document, "", &[], Outcome::Adapted, notes);
            self.items[..=index].rotate_right(1);
        }
        (Report { items: self.items }, first_item)
    }
}
