//! Writes rules as JSON of another system, the opposite of an import. A rule that this JSON cannot
//! express is left out and reported.
//!
//! | module | contents |
//! |---|---|
//! | `flows`, `choice`, `routes` | the documents |
//! | `condition` | conditions of routes |
//! | `comparison` | conditions of branches |
//! | `pattern` | regular expressions in Python's syntax |

mod choice;
mod comparison;
mod condition;
mod flows;
mod pattern;
mod routes;

use super::located::PathStep;
use super::report::{ItemKind, ReportBuilder};
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
type Written<T> = Result<T, Message>;

impl System {
    /// Writes rules as a document of this system. Importing the document gives rules with the same
    /// decisions, apart from the rules that the report lists as skipped. Comments are not written.
    /// For [`System::Context`] the document is empty, because a payload context is data and not a
    /// part of rules.
    pub fn export(self, rules: &Rules) -> Exported {
        let mut report = ReportBuilder::default();
        let program = rules.program();
        let document = match self {
            System::Routes => routes::write_document(rules, &mut report),
            System::Choice => choice::write_document(rules, &mut report),
            System::Flows => flows::write_document(program, &mut report),
            System::Context => Json::Object(Map::new()),
        };
        Exported { document, report: report.finish(Vec::new()) }
    }
}

/// Adds the JSON of a rule to `items`, which is the list at the path `list` of the document. If the
/// JSON format cannot express the rule, reports the rule as skipped.
fn push_item(
    items: &mut Vec<Json>,
    (kind, name, list): (ItemKind, &str, &[PathStep]),
    written: Written<Json>,
    report: &mut ReportBuilder,
) {
    let mut steps = list.to_vec();
    match written {
        Ok(item) => {
            steps.push(PathStep::Index(items.len()));
            report.begin(kind, name, &steps);
            items.push(item);
        }
        Err(reason) => report.skip(kind, name, &steps, reason),
    }
}

fn key(name: &str) -> PathStep {
    PathStep::Key(name.to_owned())
}

/// Returns the error text for a condition that the other system's JSON cannot express.
fn unknown_condition() -> Message {
    message!("the document has no condition of this kind")
}

/// Returns the JSON value of a constant expression; `None` for any other expression.
fn constant(expr: &Expr) -> Option<&Json> {
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
/// case folding, because the JSON has no such mode.
fn ignores_case(mode: &TestMode) -> Option<bool> {
    let ignoring = TextMode { fold: true, ..TextMode::PLAIN };
    if mode.text == TextMode::PLAIN { Some(false) } else { (mode.text == ignoring).then_some(true) }
}
