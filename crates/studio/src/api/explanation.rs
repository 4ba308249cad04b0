//! The JSON schema of an explanation. The library writes and documents this JSON; the server never
//! builds these types. The page's types are generated from them, and a test parses explanations
//! with them.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
#[cfg(test)]
use ts_rs::TS;

/// An explanation, as [`rulec::Explanation`] serializes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Name of the entry that decided.
    pub entry: String,
    /// Name of the chosen statement; null if nothing was chosen.
    pub chosen: Option<String>,
    /// Chosen handler.
    pub target: Option<String>,
    /// Arguments of the handler.
    pub args: Map<String, Json>,
    /// Metadata of the handler call.
    pub metadata: Map<String, Json>,
    /// Permissions that the chosen statement requires.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub requires: Vec<String>,
    /// Tables that were searched, in order.
    pub tables: Vec<String>,
    /// Routes whose jumps were taken.
    pub path: Vec<String>,
    /// Required arguments that are missing.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub missing_args: Vec<String>,
    /// Fields that were read.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Operand>>"))]
    #[serde(default)]
    pub message: Vec<Operand>,
    /// Host functions that failed.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<HostFailed>>"))]
    #[serde(default)]
    pub host_failures: Vec<HostFailed>,
    /// Trace of the search.
    pub trace: TableTrace,
    /// Result of the intent classifier, if the flows used it.
    #[cfg_attr(test, ts(optional))]
    pub intents: Option<IntentTrace>,
}

/// Result of an evaluation step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// True.
    True,
    /// False.
    False,
    /// Unknown: a value is missing or of another type.
    Unknown,
    /// Not evaluated.
    Skipped,
}

/// Trace of the search in a table.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct TableTrace {
    /// Name of the table.
    pub table: String,
    /// Whether the table chose a statement.
    pub chose: bool,
    /// Whether the table had already been searched.
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    #[serde(default)]
    pub searched_before: bool,
    /// Routes that were tried, in order.
    pub routes: Vec<RouteTrace>,
    /// Number of routes after the chosen one.
    pub not_tried: usize,
    /// Names of disabled routes.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub disabled: Vec<String>,
    /// Default of the table.
    #[cfg_attr(test, ts(optional))]
    pub default: Option<DefaultTrace>,
}

/// A route that was tried.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct RouteTrace {
    /// Name of the route.
    pub route: String,
    /// Result of the condition.
    pub result: Mark,
    /// Whether the route was chosen, or jumped to the table that chose.
    pub chosen: bool,
    /// Priority.
    #[cfg_attr(test, ts(type = "number"))]
    pub priority: i64,
    /// Handler, or `goto TABLE`.
    pub to: String,
    /// Doc comment.
    #[cfg_attr(test, ts(optional, as = "Option<String>"))]
    #[serde(default)]
    pub docs: String,
    /// Source position.
    #[cfg_attr(test, ts(optional))]
    pub place: Option<Location>,
    /// Trace of the condition.
    pub when: TraceNode,
    /// Trace of the table that the route jumped to.
    #[cfg_attr(test, ts(optional))]
    pub table: Option<Box<TableTrace>>,
}

/// Trace of a table's default.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct DefaultTrace {
    /// `true` if the default was reached.
    pub result: Mark,
    /// Handler, or `goto TABLE`.
    pub to: String,
    /// Trace of the table that the default jumped to.
    #[cfg_attr(test, ts(optional))]
    pub table: Option<Box<TableTrace>>,
}

/// Position in a source file.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

/// Kind of a condition node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// `true` or `false`.
    Constant,
    /// `not C`
    Not,
    /// The exception of `unless C`.
    Unless,
    /// All children must be true.
    And,
    /// One child must be true.
    Or,
    /// A predicate.
    Test,
    /// `any x in L: C`
    Any,
    /// `all x in L: C`
    All,
    /// A `let`.
    Let,
    /// A call of a `def`.
    Call,
    /// All conditions of a branch must be true; those that read missing values are left out.
    AllUsable,
    /// One condition of a branch must be true; those that read missing values are left out.
    AnyUsable,
}

/// Reason why a node has no further details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Another operand had already decided the result.
    Decided,
    /// The children are shown earlier in the trace.
    ShownAbove,
    /// A choice leaves the condition out, because a value that it reads is missing.
    LeftOut,
}

/// Trace of a condition or subcondition.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct TraceNode {
    /// Kind of the node.
    pub kind: NodeKind,
    /// Source text.
    pub text: String,
    /// Result.
    pub result: Mark,
    /// Name of the `let` or `def`.
    #[cfg_attr(test, ts(optional))]
    pub name: Option<String>,
    /// Source position.
    #[cfg_attr(test, ts(optional))]
    pub place: Option<Location>,
    /// Values of the operands.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Operand>>"))]
    #[serde(default)]
    pub operands: Vec<Operand>,
    /// Text that a text operator matched.
    #[cfg_attr(test, ts(optional))]
    pub found: Option<String>,
    /// Reasons why the result is unknown.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub because: Vec<String>,
    /// Reason why there are no further details.
    #[cfg_attr(test, ts(optional))]
    pub note: Option<Note>,
    /// Subconditions.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<TraceNode>>"))]
    #[serde(default)]
    pub children: Vec<TraceNode>,
    /// Elements of a quantifier.
    #[cfg_attr(test, ts(optional))]
    pub elements: Option<Elements>,
}

/// An operand of a predicate, with its value.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// Path of the field, or the source text of the expression.
    pub text: String,
    /// The value.
    #[cfg_attr(test, ts(optional, type = "JsonValue"))]
    pub value: Option<Json>,
    /// Whether the value is missing.
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    #[serde(default)]
    pub missing: bool,
    /// Whether the value is private and therefore not shown.
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    #[serde(default)]
    pub masked: bool,
    /// Full length of a truncated value.
    #[cfg_attr(test, ts(optional))]
    pub length: Option<usize>,
    /// Elements that were counted.
    #[cfg_attr(test, ts(optional))]
    pub elements: Option<Elements>,
}

/// Elements that a quantifier tested.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Elements {
    /// Elements that are shown.
    pub shown: Vec<ElementTrace>,
    /// Number of tested elements that are not shown.
    pub more: usize,
    /// Number of elements that were not tested.
    pub skipped: usize,
}

/// Trace of one element of a quantifier.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct ElementTrace {
    /// Index in the list.
    pub index: usize,
    /// The element.
    pub element: Operand,
    /// Trace of the condition on the element.
    pub when: TraceNode,
}

/// A host function that failed.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct HostFailed {
    /// Name of the function.
    pub function: String,
    /// Error message of the function.
    pub message: String,
}

/// Result of the built-in intent classifier.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct IntentTrace {
    /// Minimum score of a chosen flow.
    pub threshold: f64,
    /// Minimum lead over the second flow.
    pub margin: f64,
    /// Nearest flows, best first.
    pub ranked: Vec<RankedIntent>,
}

/// An intent flow with its score.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct RankedIntent {
    /// Name of the flow.
    pub name: String,
    /// Id of the flow.
    pub id: String,
    /// Score, from 0 to 1.
    pub score: f64,
    /// Whether the flow was chosen.
    pub chosen: bool,
}
