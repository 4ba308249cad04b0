//! Responses that describe the rules as a graph and as decision tables.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// The map of one version of the rules: all tables, workflows and payload kinds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Map {
    /// Whether the rules were analysed. Otherwise, some findings are not known yet.
    pub analysed: bool,
    /// Tables of the rules: routes, choices, routers and flows. Tables to which no `goto` leads
    /// come first.
    pub tables: Vec<MapTable>,
    /// Names of the targets of the rules, without duplicates; declared handlers come first. The
    /// page gives each of them a colour by its position.
    pub targets: Vec<String>,
    /// Workflows of the rules.
    pub workflows: Vec<MapWorkflow>,
    /// Payload kinds of the rules. The rules of each kind are listed like routes.
    pub payloads: Vec<MapTable>,
}

/// A table on the map, with its statements (routes, branches, cases or patterns).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapTable {
    /// Name of the table; `routes` for the routes outside any table.
    pub name: String,
    /// Kind of the table.
    pub kind: super::EntryKind,
    /// Doc comment of the table.
    pub docs: String,
    /// Whether a `goto` of another table leads to this table.
    pub entered: bool,
    /// Whether the table has an index. Without an index, its statements are tried one by one.
    pub indexed: bool,
    /// Statements of the table in evaluation order, then the default, then disabled statements.
    pub routes: Vec<MapRoute>,
}

/// A statement of a table: a route, branch, case, pattern or default.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapRoute {
    /// Key that identifies the statement in counts, rows and decisions, such as `routes/refunds`.
    pub key: String,
    /// Name of the statement.
    pub name: String,
    /// Whether the statement is the table's default.
    pub is_default: bool,
    /// Whether the author disabled the statement.
    pub disabled: bool,
    /// Priority of the statement.
    #[cfg_attr(test, ts(type = "number"))]
    pub priority: i64,
    /// Condition of the statement, as its author wrote it.
    pub condition: String,
    /// Doc comment of the statement.
    pub docs: String,
    /// Target of the statement: a handler, branch, flow or next nodes.
    pub to: String,
    /// Name of the table to which the statement leads by `goto`; null if the statement is no
    /// `goto`.
    pub goto: Option<String>,
    /// Access path: how the index finds the statement. Null if the statement has no access path,
    /// such as a default.
    pub found: Option<HowFound>,
    /// Worst-case number of steps for evaluating the statement's condition.
    #[cfg_attr(test, ts(type = "number"))]
    pub steps: u64,
    /// Findings of the analysis whose span lies in the statement.
    pub findings: Vec<MapFinding>,
    /// Source span of the statement; null if it is unknown.
    pub place: Option<SourceRange>,
}

/// Access path of a statement: how the index finds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct HowFound {
    /// Kind of the access path: `key` (an index key), `bits` (a bitmap index) or `always` (tried
    /// for every message).
    pub by: String,
    /// The keys or bits that find the statement, or the reason why the statement is always tried.
    pub what: String,
    /// Number of other statements that are found by the same keys.
    pub shared: usize,
}

/// A finding of the analysis about a statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapFinding {
    /// Kind of the finding: `shadowed` if other statements hide the statement, `unreachable` if it
    /// never matches, or `other`.
    pub kind: FindingKind,
    /// Diagnostic code of the finding.
    pub code: String,
    /// Message text of the finding.
    pub message: String,
    /// Suggested correction for the finding; null if there is none.
    pub help: Option<String>,
}

/// Kind of a finding about a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Other statements take every message that the statement matches.
    Shadowed,
    /// The statement's condition is never true.
    Unreachable,
    /// Any other finding about the statement.
    Other,
}

/// A span in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct SourceRange {
    /// Name of the source file.
    pub file: String,
    /// Line on which the span starts, from 1.
    pub line: usize,
    /// Start of the span in the file, in UTF-16 units.
    #[serde(rename = "from")]
    pub start_utf16: usize,
    /// End of the span in the file, in UTF-16 units.
    #[serde(rename = "to")]
    pub end_utf16: usize,
}

/// A workflow on the map.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapWorkflow {
    /// Name of the workflow.
    pub name: String,
    /// Nodes of the workflow; the first node is the start.
    pub nodes: Vec<MapNode>,
    /// Edges between the nodes of the workflow.
    pub edges: Vec<MapEdge>,
}

/// A node of a workflow on the map.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapNode {
    /// Id of the node in its workflow.
    pub id: String,
    /// Kind of the node, such as `echo` or `http`.
    pub kind: String,
    /// Whether the next nodes of this node run in parallel.
    pub parallel: bool,
    /// Name of the router that chooses the next nodes; null if the node has no router.
    pub router: Option<String>,
}

/// An edge of a workflow on the map.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MapEdge {
    /// Index of the node at which the edge starts.
    #[serde(rename = "from")]
    pub start_index: usize,
    /// Index of the node at which the edge ends.
    #[serde(rename = "to")]
    pub end_index: usize,
    /// Condition under which the router takes this edge; empty if no router chooses among the
    /// edges.
    pub label: String,
    /// Whether the edge leads back to an earlier node.
    pub loop_back: bool,
}

/// A table of routes or other statements as a decision table: one row per statement, one column per
/// field.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DecisionTable {
    /// Name of the table.
    pub table: String,
    /// Columns of the decision table. Fields that the most rows have a condition on come first.
    pub columns: Vec<Column>,
    /// Rows of the decision table: enabled statements in evaluation order, then disabled
    /// statements, then the default.
    pub rows: Vec<TableRow>,
    /// Messages that no row matches.
    pub gaps: Vec<Gap>,
    /// Pairs of rows that can match the same message.
    pub overlaps: Vec<Overlap>,
    /// Whether there may be further overlaps, because not all pairs of rows were checked.
    pub more_overlaps: bool,
    /// Whether the rules were analysed. Otherwise, overlaps and gaps are not known yet.
    pub analysed: bool,
}

/// A column of a decision table: one message field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Column {
    /// Path of the field in the message.
    pub field: String,
    /// Number of rows whose condition reads the field.
    pub rows: usize,
}

/// A row of a decision table: one route or other statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TableRow {
    /// Key of the row's statement, such as `routes/refunds`.
    pub key: String,
    /// Name of the row's statement.
    pub name: String,
    /// One entry for each column: the row's condition on the column's field, or null if the row has
    /// no condition on this field.
    pub cells: Vec<Option<String>>,
    /// Conditions of the row that fit no single column.
    pub others: Vec<String>,
    /// Target of the row's statement.
    pub to: String,
    /// Whether the row's statement is disabled. Disabled rows follow all enabled rows except the
    /// default.
    pub disabled: bool,
    /// Whether the row can be changed in the table: true for routes, false for other statements and
    /// for the default.
    pub editable: bool,
    /// Findings of the analysis about the row's statement.
    pub findings: Vec<MapFinding>,
}

/// A gap of a decision table: messages that no row matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Gap {
    /// Description of the gap, as text.
    pub message: String,
    /// Example message in the gap, as JSON text; null if none was found.
    pub example: Option<String>,
}

/// Two rows of a decision table that can match the same message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Overlap {
    /// Key of the row that is chosen for a message that both rows match.
    pub first: String,
    /// Key of the row that is not chosen for a message that both rows match.
    pub second: String,
    /// Example message that both rows match, as JSON text.
    pub example: String,
    /// Whether the rows lead to different targets, so that the order matters.
    pub differs: bool,
}

/// Request to change a row of a decision table in the editor's text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct EditRow {
    /// Id of the rule set.
    pub rules: usize,
    /// Key of the row's statement, such as `routes/refunds`; for a new row, the key that its
    /// statement gets.
    pub key: String,
    /// The change to make in the row.
    pub change: RowChange,
}

/// A change of a row of a decision table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RowChange {
    /// Replaces the row's conditions on one field.
    Cell {
        /// Path of the field whose column contains the cell.
        field: String,
        /// The new conditions, written with or without the name of the field; an empty text removes
        /// the conditions.
        text: String,
    },
    /// Replaces the target of the row's route.
    Target {
        /// The new target: a handler, optionally with arguments, or `goto TABLE`.
        text: String,
    },
    /// Disables or enables the row.
    Disable {
        /// Whether the row should be disabled.
        disabled: bool,
    },
    /// Adds a disabled copy of the row below the row.
    Add {},
    /// Adds a disabled row without conditions, whose statement gets the key of the request.
    New {},
    /// Moves the row in front of another row.
    Move {
        /// Key of the statement in front of whose row this row is moved. Both are in one table.
        before: String,
    },
}

/// Response to [`EditRow`]: the editor's text of the changed file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct EditedRow {
    /// Name of the changed file.
    pub file: String,
    /// Text of the file before the change, so that the page can undo the change.
    pub before: String,
    /// Text of the file after the change.
    pub text: String,
}
