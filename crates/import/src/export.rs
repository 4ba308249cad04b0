//! Writes rules as JSON of another system, the opposite of an import. A rule that this JSON cannot
//! express is left out and reported.
//!
//! | module | contents |
//! |---|---|
//! | `flows`, `choice`, `routes` | the three kinds of documents |
//! | `condition` | conditions of routes |
//! | `comparison` | conditions of branches |
//! | `pattern` | regular expressions in Python's syntax |

mod choice;
mod comparison;
mod condition;
mod flows;
mod pattern;
mod routes;

pub(super) use routes::export_route_conditions;

use super::kept;
use super::located::PathStep;
use super::report::{ItemKind, ReportBuilder};
use super::write::NameAllocator;
use super::{Report, System};
use rulec::{Message, Rules};
use rulec_base::message;
use rulec_base::text::TextMode;
use rulec_lang::operators::TestMode;
use rulec_sema::hir::{Const, Expr, ExprKind, Program, SlotId};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// A JSON document of another system, written from rules.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exported {
    /// The routes, choices or flows, in the JSON format of the other system.
    pub document: Json,
    /// The rules that were written, and the rules that the JSON cannot express, with the reasons.
    /// The JSON pointers in the report refer to `document`.
    pub report: Report,
}

/// Result of writing an element of the rules, such as a condition, as JSON. The error is the reason
/// why the JSON format cannot express this element.
type WriteResult<T> = Result<T, Message>;

impl System {
    /// Writes rules as a JSON document in the format of this system. Importing the document gives
    /// rules with the same decisions, apart from the rules that the report lists as skipped.
    /// Comments are not written, with one exception: an import keeps the JSON that rules cannot
    /// express in comments `# json: {…}`, and this JSON is written back.
    ///
    /// For [`System::Context`], the document is empty, because a payload context is data, not a
    /// part of the rules.
    pub fn export(self, rules: &Rules) -> Exported {
        let mut report = ReportBuilder::default();
        let document = match self {
            System::Routes => routes::write_document(rules, &mut report),
            System::Choice => choice::write_document(rules, &mut report),
            System::Flows => flows::write_document(rules, &mut report),
            System::Context => Json::Object(Map::new()),
        };
        Exported { document, report: report.finish_report(Vec::new()).0 }
    }
}

/// A list, such as the routes, in the JSON document that an export writes.
struct ItemList {
    items: Vec<Json>,
    /// Elements that an import skipped and stored in a comment, with their positions in the list.
    /// The positions are in decreasing order.
    kept_items: Vec<(usize, Json)>,
    /// The path of the list in the document.
    list_path: Vec<PathStep>,
}

impl ItemList {
    /// Creates an empty list at the path `path`. `kept` are the elements that an import skipped and
    /// stored in a comment, with their positions in increasing order.
    fn new(path: Vec<PathStep>, mut kept: Vec<(usize, Json)>) -> Self {
        kept.reverse();
        ItemList { items: Vec::new(), kept_items: kept, list_path: path }
    }

    /// Adds the elements that a comment stores and whose turn has come: the next element is added
    /// while its position is at most the current length of the list.
    fn add_kept_items(&mut self) {
        while let Some((_, item)) = self.kept_items.pop_if(|(position, _)| *position <= self.items.len()) {
            self.items.push(item);
        }
    }

    /// Adds the JSON of a rule. If the JSON format cannot express the rule, reports the rule as
    /// skipped.
    fn push_or_report(
        &mut self,
        kind: ItemKind,
        name: &str,
        written: WriteResult<Json>,
        report: &mut ReportBuilder,
    ) {
        self.add_kept_items();
        let mut steps = self.list_path.clone();
        match written {
            Ok(item) => {
                steps.push(PathStep::Index(self.items.len()));
                report.begin_item(kind, name, &steps);
                self.items.push(item);
            }
            Err(reason) => report.add_skipped_item(kind, name, &steps, reason),
        }
    }

    fn into_items(mut self) -> Vec<Json> {
        self.items.extend(self.kept_items.into_iter().rev().map(|(_, item)| item));
        self.items
    }
}

/// Returns the name of an item, such as a route, to write to the JSON document. `name` is the name
/// in the rules. `kept` is the original name, if an import changed it: it is returned unless the
/// author has renamed the item since the import.
fn exported_name(kept: Option<Json>, name: &str, names: &mut NameAllocator) -> String {
    let kept = kept.as_ref().and_then(Json::as_str).unwrap_or(name);
    let original = if names.is_imported_as_name(kept, name) { kept } else { name };
    original.to_owned()
}

fn key_step(name: &str) -> PathStep {
    PathStep::Key(name.to_owned())
}

/// Returns the error text for a condition that the JSON format of the export cannot express.
fn inexpressible_condition_message() -> Message {
    message!("the document has no condition of this kind")
}

/// Returns the JSON value of a constant expression; `None` for any other expression.
fn as_constant(expr: &Expr) -> Option<&Json> {
    match &expr.kind {
        ExprKind::Const(Const::Json(json)) => Some(json),
        _ => None,
    }
}

/// Returns the path of a message field, such as `["ctx", "n"]`. `slot` is the number under which
/// compiled rules read a value. `None` if the slot does not hold a field of the message.
fn message_path(program: &Program, slot: SlotId) -> Option<&[Arc<str>]> {
    let slot = &program.slots[slot.index()];
    slot.root.is_none().then_some(&*slot.path)
}

/// Returns whether a comparison ignores case. `None` for a comparison mode other than exact and
/// case folding, because the JSON format of the export has no such mode.
fn ignores_case(mode: &TestMode) -> Option<bool> {
    let ignoring = TextMode { folds_case: true, ..TextMode::PLAIN };
    if mode.text == TextMode::PLAIN { Some(false) } else { (mode.text == ignoring).then_some(true) }
}
