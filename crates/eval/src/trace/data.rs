//! The shapes of a trace. Their JSON is documented at [`crate::explain::Explanation`] and stable:
//! fields are added, never renamed.

use super::quote::Location;
use rulec_base::diag::{Language, Message};
use rulec_lang::value::Tri;
use rulec_sema::hir::TableKind;
use serde::Serialize;
use serde_json::Value as Json;

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// A value was missing or of another type.
    Unknown,
    /// It was not evaluated.
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

/// The search of a table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TableTrace {
    /// Its name.
    pub table: String,
    /// The statement it comes from: what its routes are called.
    #[serde(skip)]
    pub kind: TableKind,
    /// True when it chose something.
    pub chose: bool,
    /// It was searched earlier in this decision and chose nothing, so it was not searched again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub searched_before: bool,
    /// The routes tried, in the order they were tried.
    pub routes: Vec<RouteTrace>,
    /// The number of routes behind the chosen one.
    pub not_tried: usize,
    /// The names of disabled routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<String>,
    /// The default, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<DefaultTrace>,
}

/// A route that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct RouteTrace {
    /// Its name.
    pub route: String,
    /// True when its condition holds.
    pub result: Mark,
    /// True when it was chosen, or led to the choice by its jump.
    pub chosen: bool,
    /// Its priority.
    pub priority: i64,
    /// Its handler, or `goto TABLE`.
    pub to: String,
    /// Its doc comment.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub docs: String,
    /// The place it is written at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Location>,
    /// Its condition.
    pub when: TraceNode,
    /// The search of the table it jumped to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Box<TableTrace>>,
}

/// A table's default.
#[derive(Clone, Debug, Serialize)]
pub struct DefaultTrace {
    /// `true` when it was reached, else `skipped`.
    pub result: Mark,
    /// Its handler, or `goto TABLE`.
    pub to: String,
    /// The search of the table it jumped to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Box<TableTrace>>,
}

/// The form of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// `true` or `false`.
    Constant,
    /// `not C`
    Not,
    /// The exception behind `unless`: its child must not hold, and may be unknown.
    Unless,
    /// Every child must hold.
    And,
    /// One child must hold.
    Or,
    /// A predicate over values.
    Test,
    /// `any x in L: C`
    Any,
    /// `all x in L: C`
    All,
    /// A `let`; its parts are the children.
    Let,
    /// A call of a `def`; its body is the child.
    Call,
    /// The conditions of a choice's branch, of which every one that can be used must hold.
    AllUsable,
    /// The conditions of a choice's branch, of which one that can be used must hold.
    AnyUsable,
}

/// The reason why a node has no more to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Not evaluated: another operand of the same `and` or `or` had decided.
    Decided,
    /// The parts of this `let` are shown above, under the same route.
    ShownAbove,
    /// A condition of a branch that was left out, since a value it reads is missing.
    LeftOut,
}

/// A condition, or a part of one.
#[derive(Clone, Debug, Serialize)]
pub struct TraceNode {
    /// The form.
    pub kind: NodeKind,
    /// The author's own text, on one line.
    pub text: String,
    /// The result.
    pub result: Mark,
    /// The name of the `let` or `def`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place it is written at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Location>,
    /// The values a predicate was asked of; the list of a quantifier.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Operand>,
    /// The text that an operator found: the keyword of the list, or what the expression matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The reasons why a predicate is unknown, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Message>,
    /// The reason why there is no more to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    /// Its parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TraceNode>,
    /// The elements of a quantifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<Elements>,
}

/// A value that a predicate was asked of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Operand {
    /// The field's path, or the author's text of the value.
    pub text: String,
    /// The value; none when missing. Long ones are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// True when it is missing, or counts as missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// True when the value is private and not shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// The full length (characters, elements or keys) of a value that was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// The elements counted by `count x in L: C`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<Elements>,
}

/// The elements that a quantifier or `count` asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Elements {
    /// The elements asked, the first twenty (five inside another quantifier) and the deciding one.
    pub shown: Vec<ElementTrace>,
    /// The number of others that were asked.
    pub more: usize,
    /// The number of those not asked, because an earlier one decided.
    pub skipped: usize,
}

impl TableTrace {
    /// Puts its sentences into a language.
    pub fn tell_in(&mut self, language: Language) {
        let default = self.default.iter_mut().filter_map(|default| default.table.as_mut());
        let mut inner: Vec<&mut TableTrace> = default.map(|table| &mut **table).collect();
        for route in &mut self.routes {
            route.when.tell_in(language);
            inner.extend(route.table.as_deref_mut());
        }
        inner.into_iter().for_each(|table| table.tell_in(language));
    }
}

impl TraceNode {
    fn tell_in(&mut self, language: Language) {
        self.because.iter_mut().for_each(|sentence| *sentence = sentence.in_language(language));
        self.children.iter_mut().for_each(|child| child.tell_in(language));
        let counted = self.operands.iter_mut().filter_map(|operand| operand.elements.as_mut());
        for elements in self.elements.iter_mut().chain(counted) {
            elements.shown.iter_mut().for_each(|element| element.when.tell_in(language));
        }
    }
}

impl Elements {
    /// The number of elements that were asked.
    pub(super) fn asked(&self) -> usize {
        self.shown.len() + self.more
    }

    /// Adds an element that was asked and is shown.
    pub(super) fn push(&mut self, element: Operand, when: TraceNode) {
        self.shown.push(ElementTrace { index: self.asked(), element, when });
    }
}

/// One element of a quantifier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElementTrace {
    /// Its place in the list, from 0.
    pub index: usize,
    /// The element, named as the quantifier names it.
    pub element: Operand,
    /// The condition, evaluated on it.
    pub when: TraceNode,
}

/// A condition of a choice's branch that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedCondition {
    /// The branch.
    pub branch: String,
    /// The author's own text, on one line.
    pub condition: String,
    /// The reason, in a sentence: the values that are missing.
    pub reason: Message,
}

/// A host function that failed; its result counted as missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostFailed {
    /// Its name in the rules.
    pub function: String,
    /// Its own message; masked when it was called with a private value.
    pub message: String,
}

impl PartialEq for TraceNode {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.result, &self.text) == (other.kind, other.result, &other.text)
            && self.children == other.children
    }
}
