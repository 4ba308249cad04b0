//! The forms of an explanation's JSON, which the library writes and documents. Nothing here is ever made by the server: they
//! tell the page's types, and a test reads explanations by them.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
#[cfg(test)]
use ts_rs::TS;

/// An explanation, as [`rulec::Explanation`] serializes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The entry.
    pub entry: String,
    /// The chosen statement; null where nothing was chosen.
    pub chosen: Option<String>,
    /// The chosen handler.
    pub target: Option<String>,
    /// Its arguments.
    pub args: Map<String, Json>,
    /// Its metadata.
    pub metadata: Map<String, Json>,
    /// The permissions that it requires.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub requires: Vec<String>,
    /// The tables walked through.
    pub tables: Vec<String>,
    /// The routes whose jumps were taken.
    pub path: Vec<String>,
    /// Required arguments that are missing.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub missing_args: Vec<String>,
    /// The fields that were read.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Operand>>"))]
    #[serde(default)]
    pub message: Vec<Operand>,
    /// Host functions that failed.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<HostFailed>>"))]
    #[serde(default)]
    pub host_failures: Vec<HostFailed>,
    /// The search.
    pub trace: TableTrace,
    /// The intent flows that were asked.
    #[cfg_attr(test, ts(optional))]
    pub intents: Option<IntentTrace>,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// A value is missing or of another type.
    Unknown,
    /// It was not asked.
    Skipped,
}

/// The search of a table.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct TableTrace {
    /// Its name.
    pub table: String,
    /// True when it chose something.
    pub chose: bool,
    /// True when it was searched before.
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    #[serde(default)]
    pub searched_before: bool,
    /// The routes tried, in that order.
    pub routes: Vec<RouteTrace>,
    /// The number of routes behind the chosen one.
    pub not_tried: usize,
    /// The names of disabled routes.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub disabled: Vec<String>,
    /// The default.
    #[cfg_attr(test, ts(optional))]
    pub default: Option<DefaultTrace>,
}

/// A route that was tried.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct RouteTrace {
    /// Its name.
    pub route: String,
    /// The result of its condition.
    pub result: Mark,
    /// True when it was chosen, or led to the choice.
    pub chosen: bool,
    /// Its priority.
    #[cfg_attr(test, ts(type = "number"))]
    pub priority: i64,
    /// Its handler, or `goto TABLE`.
    pub to: String,
    /// Its doc comment.
    #[cfg_attr(test, ts(optional, as = "Option<String>"))]
    #[serde(default)]
    pub docs: String,
    /// The place it is written at.
    #[cfg_attr(test, ts(optional))]
    pub place: Option<Location>,
    /// Its condition.
    pub when: TraceNode,
    /// The search of the table it jumped to.
    #[cfg_attr(test, ts(optional))]
    pub table: Option<Box<TableTrace>>,
}

/// A table's default.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct DefaultTrace {
    /// `true` when it was reached.
    pub result: Mark,
    /// Its handler, or `goto TABLE`.
    pub to: String,
    /// The search of the table it jumped to.
    #[cfg_attr(test, ts(optional))]
    pub table: Option<Box<TableTrace>>,
}

/// A place in a file: line and column from 1.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// The file.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// The form of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// `true` or `false`.
    Constant,
    /// `not C`
    Not,
    /// The exception behind `unless`.
    Unless,
    /// Every child must hold.
    And,
    /// One child must hold.
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
    /// Every usable condition of a branch must hold.
    AllUsable,
    /// One usable condition of a branch must hold.
    AnyUsable,
}

/// The reason why a node has no more to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Another operand had decided.
    Decided,
    /// Its parts are shown above.
    ShownAbove,
    /// A value it reads is missing, so the choice leaves it out.
    LeftOut,
}

/// A condition, or a part of one.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct TraceNode {
    /// The form.
    pub kind: NodeKind,
    /// The author's own text.
    pub text: String,
    /// The result.
    pub result: Mark,
    /// The name of the `let` or `def`.
    #[cfg_attr(test, ts(optional))]
    pub name: Option<String>,
    /// The place it is written at.
    #[cfg_attr(test, ts(optional))]
    pub place: Option<Location>,
    /// The values it was asked of.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Operand>>"))]
    #[serde(default)]
    pub operands: Vec<Operand>,
    /// The text that an operator found.
    #[cfg_attr(test, ts(optional))]
    pub found: Option<String>,
    /// The reasons why it is unknown.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[serde(default)]
    pub because: Vec<String>,
    /// The reason why there is no more to show.
    #[cfg_attr(test, ts(optional))]
    pub note: Option<Note>,
    /// Its parts.
    #[cfg_attr(test, ts(optional, as = "Option<Vec<TraceNode>>"))]
    #[serde(default)]
    pub children: Vec<TraceNode>,
    /// The elements of a quantifier.
    #[cfg_attr(test, ts(optional))]
    pub elements: Option<Elements>,
}

/// A value that a predicate was asked of.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Operand {
    /// The field, or the author's text of the value.
    pub text: String,
    /// The value.
    #[cfg_attr(test, ts(optional, type = "JsonValue"))]
    pub value: Option<Json>,
    /// True when it is missing.
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    #[serde(default)]
    pub missing: bool,
    /// True when it is private and not shown.
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    #[serde(default)]
    pub masked: bool,
    /// The full length of a value that was cut.
    #[cfg_attr(test, ts(optional))]
    pub length: Option<usize>,
    /// The elements counted.
    #[cfg_attr(test, ts(optional))]
    pub elements: Option<Elements>,
}

/// The elements that a quantifier asked.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct Elements {
    /// Those that are shown.
    pub shown: Vec<ElementTrace>,
    /// The number of others.
    pub more: usize,
    /// The number of those not asked.
    pub skipped: usize,
}

/// One element of a quantifier.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct ElementTrace {
    /// Its place in the list.
    pub index: usize,
    /// The element.
    pub element: Operand,
    /// The condition on it.
    pub when: TraceNode,
}

/// A host function that failed.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct HostFailed {
    /// Its name.
    pub function: String,
    /// Its own message.
    pub message: String,
}

/// The answer of the built-in classifier.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct IntentTrace {
    /// The least score that is chosen.
    pub threshold: f64,
    /// The least lead over the second.
    pub margin: f64,
    /// The flows that came nearest, best first.
    pub ranked: Vec<RankedIntent>,
}

/// An intent flow with its score.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct RankedIntent {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// From 0 to 1.
    pub score: f64,
    /// True when it was chosen.
    pub chosen: bool,
}
