//! The data of a trace: what an explanation shows about each table, route and condition. The JSON
//! format is documented at [`crate::explain::Explanation`] and stable: fields are added but never
//! renamed.
//!
//! The TypeScript types in `explanation.ts` are generated from these types. A field with the serde
//! attribute `default` may be absent in TypeScript.

use super::quote::Location;
use rulec_base::diag::{Language, Message};
use rulec_lang::value::Tri;
use rulec_sema::hir::TableKind;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// The result of a step of the decision, such as the evaluation of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// The condition is true. For a table's default: the default was used, because no rule of the
    /// table was chosen.
    True,
    /// The condition is false.
    False,
    /// The condition is unknown: a value was missing or had the wrong type.
    Unknown,
    /// The condition was not evaluated. For a table's default: the default was not used.
    Skipped,
}

impl From<Tri> for Mark {
    fn from(result: Tri) -> Mark {
        match result {
            Tri::True => Mark::True,
            Tri::False => Mark::False,
            Tri::Unknown => Mark::Unknown,
        }
    }
}

/// Trace of the search through one table of routes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TableTrace {
    /// Name of the table in the rules, such as `routes`.
    pub table: String,
    /// The kind of the table: `choice`, `flows` or `router`; left out for a table of routes.
    /// Generated texts name the rules by this kind: routes, branches, patterns or cases.
    #[serde(default, with = "kind_name", skip_serializing_if = "is_table_of_routes")]
    #[cfg_attr(test, ts(as = "String"))]
    pub kind: TableKind,
    /// Whether the search of the table chose a rule or the table's default.
    pub chose: bool,
    /// Whether the table was already searched in this decision. Such a table chose nothing and is
    /// not searched again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub searched_before: bool,
    /// The routes whose conditions were evaluated, in evaluation order.
    pub routes: Vec<RouteTrace>,
    /// Number of enabled routes that were not tried, because an earlier route was chosen.
    pub not_tried: usize,
    /// The names of the routes that the author has disabled, which are never tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<String>,
    /// Trace of the table's default; `None` if the table has no default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub default: Option<DefaultTrace>,
}

fn is_table_of_routes(kind: &TableKind) -> bool {
    *kind == TableKind::Routes
}

/// Serializes the kind of a table as its name, and deserializes it.
mod kind_name {
    use super::TableKind;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    const TABLE_KIND_NAMES: [(TableKind, &str); 5] = [
        (TableKind::Routes, "routes"),
        (TableKind::Choice, "choice"),
        (TableKind::Flows, "flows"),
        (TableKind::Router, "router"),
        (TableKind::Requirements, "payload"),
    ];

    pub(super) fn serialize<S: Serializer>(kind: &TableKind, serializer: S) -> Result<S::Ok, S::Error> {
        let name = TABLE_KIND_NAMES.iter().find(|(known, _)| known == kind).map_or("", |(_, name)| name);
        serializer.serialize_str(name)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TableKind, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kind = TABLE_KIND_NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind);
        kind.ok_or_else(|| D::Error::custom(format!("`{name}` is no kind of table")))
    }
}

/// Deserializes a field that is present. Null becomes `Some(Json::Null)`, unlike an absent field,
/// which becomes `None`.
fn deserialize_present_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Trace of one route whose condition was evaluated.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct RouteTrace {
    /// Name of the route in the rules.
    pub route: String,
    /// The result of the route's condition: true, false or unknown.
    pub result: Mark,
    /// Whether the route was chosen, or its `goto` led to the chosen statement.
    pub chosen: bool,
    /// The priority that the rules give the route. Routes with a higher priority are tried first.
    #[cfg_attr(test, ts(type = "number"))]
    pub priority: i64,
    /// The route's target, such as a handler's name or `goto TABLE`; empty for a branch of a
    /// choice.
    pub to: String,
    /// The doc comment that the author wrote above the route in the rules; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub docs: String,
    /// The file, line and column at which the route begins in the rules; `None` if the source is
    /// not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub place: Option<Location>,
    /// Trace of the evaluation of the route's condition.
    pub when: TraceNode,
    /// Trace of the search in the target table, if the route is a `goto` and its condition was
    /// true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub table: Option<Box<TableTrace>>,
}

/// Trace of a table's default: whether the default was used, and its target.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DefaultTrace {
    /// `true` if the default was used, because no rule of the table was chosen; otherwise
    /// `skipped`.
    pub result: Mark,
    /// The default's target, such as a handler's name or `goto TABLE`.
    pub to: String,
    /// Trace of the search in the target table, if the default is a `goto` and was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub table: Option<Box<TableTrace>>,
}

/// The form of a condition, such as `and`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A constant condition: `true` or `false`.
    Constant,
    /// The negation of a condition, as in `not C`.
    Not,
    /// An exception after `unless`: true if the exception's condition is false or unknown.
    Unless,
    /// An `and`: true if every child node (operand) is true.
    And,
    /// An `or`: true if at least one child node (operand) is true.
    Or,
    /// A comparison, a text search or another predicate over values.
    Test,
    /// The quantifier `any x in L: C`: true if `C` is true for at least one element of `L`.
    Any,
    /// The quantifier `all x in L: C`: true if `C` is true for every element of `L`.
    All,
    /// A use of a `let`; the child nodes are the conditions in the `let`'s body.
    Let,
    /// A call of a `def`; the only child is the `def`'s body.
    Call,
    /// A branch of a choice for which all conditions must be true. A condition on a missing value
    /// is ignored.
    AllUsable,
    /// A branch of a choice for which at least one condition must be true. A condition on a missing
    /// value is ignored.
    AnyUsable,
}

/// The reason why the trace of a condition shows no inner conditions (child nodes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The node was not evaluated: an earlier operand of the same `and` or `or` decided the result.
    Decided,
    /// The node is a `let` whose inner conditions are shown earlier, under the same route.
    ShownAbove,
    /// The node is a condition of a choice's branch that was ignored, because a value that it reads
    /// is missing.
    LeftOut,
}

/// Trace of a condition, or of a condition inside it. Traces form a tree: the children of a node
/// are the conditions inside the node's condition.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct TraceNode {
    /// The form of the condition, such as `and` or `test`.
    pub kind: NodeKind,
    /// The condition as the rules write it, on one line and truncated if it is long.
    pub text: String,
    /// The result of the condition: true, false, unknown or skipped.
    pub result: Mark,
    /// Name of the `let` or `def` that the node uses; `None` for other nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub name: Option<String>,
    /// The file, line and column at which the condition begins in the rules; `None` if the source
    /// is not available.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub place: Option<Location>,
    /// The operands of a predicate with their values; for a quantifier, the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Operand>,
    /// The text that a text operator found: the matching keyword of a list, or the match of a
    /// regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub found: Option<String>,
    /// Sentences that explain why the condition is unknown, or why a false one nearly holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Vec<String>"))]
    pub because: Vec<Message>,
    /// The reason why the trace shows no inner conditions (child nodes) of this condition; `None`
    /// if there is no such reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub note: Option<Note>,
    /// Trace nodes of the conditions inside this condition, such as the operands of an `and`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TraceNode>,
    /// The list elements for which a quantifier evaluated its condition; `None` if this condition
    /// is no quantifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub elements: Option<Elements>,
    /// The earlier messages that decided the result of this condition; `None` if the condition
    /// reads no history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub past: Option<PastTrace>,
}

/// The earlier messages that decided the result of a condition on the history (the earlier messages
/// with the same key).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct PastTrace {
    /// The number of messages that a quantifier searched; `None` for other conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub searched: Option<usize>,
    /// The number of messages that decided the result of the condition, such as the counted ones.
    pub count: usize,
    /// The newest of the messages that decided the condition; `None` if no message decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub newest: Option<PastMessage>,
}

/// An earlier message that decided the result of a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct PastMessage {
    /// The time of the message, as RFC 3339 text.
    pub at: String,
    /// The number of seconds from the earlier message to the message that is decided now. Negative
    /// if the recorded message has a later time. `None` if the message that is decided now has no
    /// time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional, type = "number"))]
    pub age: Option<i64>,
}

/// A value that a predicate tested, as an explanation shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Operand {
    /// The name of the value: the path of a field, or the source text of an expression.
    pub text: String,
    /// The value, truncated if it is long; `None` if missing.
    #[serde(
        default,
        deserialize_with = "deserialize_present_value",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(test, ts(optional, type = "JsonValue"))]
    pub value: Option<Json>,
    /// Whether the value is missing, or counts as missing because its kind is wrong or it exceeds a
    /// limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Whether the value is private, so that a mask is shown instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// The full length of a truncated value, in characters, elements or keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub length: Option<usize>,
    /// The elements that were evaluated, if the operand is `count x in L: C`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub elements: Option<Elements>,
    /// The positions, in the history, of the recorded messages from which the value was computed,
    /// such as the counted ones. At most a thousand; empty for other values. A masked value has
    /// none, because they would reveal it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<usize>,
}

/// The elements that a quantifier or `count` evaluated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Elements {
    /// The first evaluated elements (at most twenty, or five in a nested quantifier), and the
    /// element that decided the result.
    pub shown: Vec<ElementTrace>,
    /// Number of list elements that were evaluated but are not in `shown`, to keep the trace short.
    pub more: usize,
    /// The number of list elements that were not evaluated, because an earlier element decided the
    /// result.
    pub skipped: usize,
}

impl TableTrace {
    /// Translates the generated sentences in this trace of a search, and in the traces of searches
    /// that a `goto` started from it.
    pub fn localize(&mut self, language: Language) {
        let default = self.default.iter_mut().filter_map(|default| default.table.as_mut());
        let mut inner: Vec<&mut TableTrace> = default.map(|table| &mut **table).collect();
        for route in &mut self.routes {
            route.when.localize(language);
            inner.extend(route.table.as_deref_mut());
        }
        inner.into_iter().for_each(|table| table.localize(language));
    }
}

impl TraceNode {
    fn localize(&mut self, language: Language) {
        self.because.iter_mut().for_each(|sentence| *sentence = sentence.in_language(language));
        self.children.iter_mut().for_each(|child| child.localize(language));
        let element_lists = self.operands.iter_mut().filter_map(|operand| operand.elements.as_mut());
        for elements in self.elements.iter_mut().chain(element_lists) {
            elements.shown.iter_mut().for_each(|element| element.when.localize(language));
        }
    }
}

impl Elements {
    /// Returns the number of list elements that were evaluated, shown or not.
    pub(super) fn evaluated_count(&self) -> usize {
        self.shown.len() + self.more
    }

    /// Adds an evaluated element to `shown`. The element's index is the number of elements that
    /// were evaluated earlier.
    pub(super) fn push_element(&mut self, element: Operand, when: TraceNode) {
        self.shown.push(ElementTrace { index: self.evaluated_count(), element, when });
    }
}

/// Trace of the condition of a quantifier or `count` for one element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct ElementTrace {
    /// Index of the element in the list, from 0.
    pub index: usize,
    /// Value of the list element. The operand's name is the variable of the quantifier.
    pub element: Operand,
    /// Trace of the quantifier's condition for this element.
    pub when: TraceNode,
}

/// A condition of a choice's branch that was ignored, because a value that it reads is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedCondition {
    /// The id of the branch that contains the condition.
    pub branch: String,
    /// The condition as the rules write it, on one line.
    pub condition: String,
    /// A sentence that names the missing values because of which the condition was ignored.
    pub reason: Message,
}

/// A host function that failed; its result counts as missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct HostFailed {
    /// The name with which rules call the function.
    pub function: String,
    /// The function's error message; masked if an argument was private.
    pub message: String,
}

impl PartialEq for TraceNode {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.result, &self.text) == (other.kind, other.result, &other.text)
            && self.children == other.children
    }
}
