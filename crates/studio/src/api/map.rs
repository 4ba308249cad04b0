//! Rules as a graph, and as decision tables.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// The map of a version of rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Map {
    /// The tables: routes, choices, routers, flows. Those that no jump leads to come first.
    pub tables: Vec<MapTable>,
    /// The workflows.
    pub workflows: Vec<MapWorkflow>,
    /// The payload kinds, with their rules as routes.
    pub payloads: Vec<MapTable>,
}

/// A table of statements.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapTable {
    /// Its name; `routes` for those outside any table.
    pub name: String,
    /// Its kind.
    pub kind: super::EntryKind,
    /// Its doc comment.
    pub docs: String,
    /// True when a jump leads to it.
    pub entered: bool,
    /// True when an index finds its statements, false when they are tried one by one.
    pub indexed: bool,
    /// Its statements in the order they are tried; the default last, disabled ones behind it.
    pub routes: Vec<MapRoute>,
}

/// A statement of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapRoute {
    /// The key by which counts, rows and decisions name it.
    pub key: String,
    /// Its name.
    pub name: String,
    /// True for the default.
    pub is_default: bool,
    /// True when it is disabled.
    pub disabled: bool,
    /// Its priority.
    #[cfg_attr(test, ts(type = "number"))]
    pub priority: i64,
    /// Its condition, as its author wrote it.
    pub condition: String,
    /// Its doc comment.
    pub docs: String,
    /// Its handler, branch, flow or next nodes.
    pub to: String,
    /// The table that it jumps to.
    pub goto: Option<String>,
    /// The way it is found.
    pub found: Option<HowFound>,
    /// The worst-case steps of its condition.
    #[cfg_attr(test, ts(type = "number"))]
    pub steps: u64,
    /// The findings of the analysis about it.
    pub findings: Vec<MapFinding>,
    /// The place it is written at.
    pub place: Option<Place>,
}

/// The way a statement is found for a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct HowFound {
    /// `key`, `bits` or `always`.
    pub by: String,
    /// The keys or bits, or the reason why it is always tried.
    pub what: String,
    /// The number of other statements that the keys lead to.
    pub shared: usize,
}

/// A finding about a statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapFinding {
    /// `shadowed` for a statement that others hide, `unreachable` for one that never holds, `other`.
    pub kind: FindingKind,
    /// The code.
    pub code: String,
    /// The finding, in words.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Others take every message that it would.
    Shadowed,
    /// Its condition never holds.
    Unreachable,
    /// Something else.
    Other,
}

/// A place in a file of the rules, in UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The beginning.
    pub from: usize,
    /// The end.
    pub to: usize,
}

/// A workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapWorkflow {
    /// Its name.
    pub name: String,
    /// Its nodes; the first one begins.
    pub nodes: Vec<MapNode>,
    /// Its edges.
    pub edges: Vec<MapEdge>,
}

/// A node of a workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapNode {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// True when it runs its next nodes side by side.
    pub parallel: bool,
    /// The router that chooses what is next.
    pub router: Option<String>,
}

/// An edge of a workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapEdge {
    /// From which node, by its place in the list.
    pub from: usize,
    /// To which node.
    pub to: usize,
    /// The condition of a router that chooses it.
    pub label: String,
    /// True for a way back.
    pub loop_back: bool,
}

/// A table of routes as a decision table: a row a route, a column a field.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DecisionTable {
    /// The table's name.
    pub table: String,
    /// The fields, those that most rows name first.
    pub columns: Vec<Column>,
    /// The rows, in the order they are tried, the default last.
    pub rows: Vec<TableRow>,
    /// Messages that no row takes.
    pub gaps: Vec<Gap>,
    /// Rows that may hold together.
    pub overlaps: Vec<Overlap>,
    /// True when not every pair of rows could be looked at.
    pub more_overlaps: bool,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Column {
    /// The field.
    pub field: String,
    /// The rows that name it.
    pub rows: usize,
}

/// A row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TableRow {
    /// The statement's key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// A cell for each column; null where it does not ask about the field.
    pub cells: Vec<Option<String>>,
    /// The parts of the condition that are about several fields.
    pub others: Vec<String>,
    /// The place it leads to.
    pub to: String,
    /// The findings of the analysis about it.
    pub findings: Vec<MapFinding>,
}

/// Messages that no row takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Gap {
    /// In words.
    pub message: String,
    /// Such a message, as JSON.
    pub example: Option<String>,
}

/// Two rows that may hold together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Overlap {
    /// The key of the row that wins.
    pub first: String,
    /// The key of the other.
    pub second: String,
    /// A message that both hold for, as JSON.
    pub example: String,
    /// True when they lead elsewhere: the order decides.
    pub differs: bool,
}
