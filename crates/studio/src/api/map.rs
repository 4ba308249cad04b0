//! The rules as a graph and as decision tables.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// The map of one version of the rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Map {
    /// Tables: routes, choices, routers, flows. Tables that no jump leads to come first.
    pub tables: Vec<MapTable>,
    /// Workflows.
    pub workflows: Vec<MapWorkflow>,
    /// Payload kinds, with their rules as routes.
    pub payloads: Vec<MapTable>,
}

/// A table of statements.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapTable {
    /// Name of the table; `routes` for the routes outside any table.
    pub name: String,
    /// Kind of the table.
    pub kind: super::EntryKind,
    /// Doc comment.
    pub docs: String,
    /// Whether a jump leads to the table.
    pub entered: bool,
    /// Whether the table has an index; false if its statements are tried one by one.
    pub indexed: bool,
    /// Statements in evaluation order, then the default, then disabled statements.
    pub routes: Vec<MapRoute>,
}

/// A statement of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapRoute {
    /// Key of the statement in counts, rows and decisions.
    pub key: String,
    /// Name of the statement.
    pub name: String,
    /// Whether the statement is the default.
    pub is_default: bool,
    /// Whether the statement is disabled.
    pub disabled: bool,
    /// Priority.
    #[cfg_attr(test, ts(type = "number"))]
    pub priority: i64,
    /// The condition, as its author wrote it.
    pub condition: String,
    /// Doc comment.
    pub docs: String,
    /// Handler, branch, flow or next nodes.
    pub to: String,
    /// Table that the statement jumps to.
    pub goto: Option<String>,
    /// Access path of the statement.
    pub found: Option<HowFound>,
    /// Worst-case number of evaluation steps of the condition.
    #[cfg_attr(test, ts(type = "number"))]
    pub steps: u64,
    /// Findings of the analysis about the statement.
    pub findings: Vec<MapFinding>,
    /// Source span.
    pub place: Option<SourceRange>,
}

/// Access path: how the index finds a statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct HowFound {
    /// Kind of access path: `key`, `bits` or `always`.
    pub by: String,
    /// The keys or bits, or the reason why the statement is always tried.
    pub what: String,
    /// Number of other statements that have the same keys.
    pub shared: usize,
}

/// A finding about a statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapFinding {
    /// Kind: `shadowed` if other statements hide this one, `unreachable` if it never matches, or
    /// `other`.
    pub kind: FindingKind,
    /// Diagnostic code.
    pub code: String,
    /// Message text.
    pub message: String,
    /// Suggested correction.
    pub help: Option<String>,
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Other statements take every message that this one matches.
    Shadowed,
    /// The condition is never true.
    Unreachable,
    /// Any other finding.
    Other,
}

/// A span in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct SourceRange {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Start offset, in UTF-16 units.
    pub from: usize,
    /// End offset, in UTF-16 units.
    pub to: usize,
}

/// A workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapWorkflow {
    /// Name of the workflow.
    pub name: String,
    /// Nodes; the first node is the start.
    pub nodes: Vec<MapNode>,
    /// Edges.
    pub edges: Vec<MapEdge>,
}

/// A node of a workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapNode {
    /// Id of the node.
    pub id: String,
    /// Kind of the node.
    pub kind: String,
    /// Whether the next nodes run in parallel.
    pub parallel: bool,
    /// Router that chooses the next nodes.
    pub router: Option<String>,
}

/// An edge of a workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapEdge {
    /// Index of the node where the edge starts.
    pub from: usize,
    /// Index of the node where the edge ends.
    pub to: usize,
    /// Condition of the router for this edge.
    pub label: String,
    /// Whether the edge leads back to an earlier node.
    pub loop_back: bool,
}

/// A table as a decision table: a row per route, a column per field.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DecisionTable {
    /// Name of the table.
    pub table: String,
    /// Columns; fields that the most rows test come first.
    pub columns: Vec<Column>,
    /// Rows in evaluation order, the default last.
    pub rows: Vec<TableRow>,
    /// Messages that no row matches.
    pub gaps: Vec<Gap>,
    /// Pairs of rows that can match the same message.
    pub overlaps: Vec<Overlap>,
    /// Whether some pairs of rows were not checked.
    pub more_overlaps: bool,
}

/// A column of a decision table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Column {
    /// Path of the field.
    pub field: String,
    /// Number of rows that test the field.
    pub rows: usize,
}

/// A row of a decision table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TableRow {
    /// Key of the statement.
    pub key: String,
    /// Name of the statement.
    pub name: String,
    /// One cell per column; null if the row does not test the field.
    pub cells: Vec<Option<String>>,
    /// Subconditions on several fields.
    pub others: Vec<String>,
    /// Target of the statement.
    pub to: String,
    /// Findings of the analysis about the statement.
    pub findings: Vec<MapFinding>,
}

/// A set of messages that no row matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Gap {
    /// Description of the gap.
    pub message: String,
    /// Example message, as JSON.
    pub example: Option<String>,
}

/// Two rows that can match the same message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Overlap {
    /// Key of the row that wins.
    pub first: String,
    /// Key of the other row.
    pub second: String,
    /// Example message that both rows match, as JSON.
    pub example: String,
    /// Whether the rows lead to different targets, so that the order matters.
    pub differs: bool,
}
