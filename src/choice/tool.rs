//! A choice as a tool that an agent may call: what it reads of a message are the tool's parameters.

use super::{Question, UnknownChoice, choice};
use crate::engine::Rules;
use crate::payload::type_schema;
use crate::prompt::function;
use rulec_lang::ty::{KindSet, Ty};
use rulec_sema::hir::{ExprKind, Part, Program, Table};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The definition of a choice as a tool, the way the chat-completions interface takes it. One that decides by
/// conditions has its own name, its `##` documentation as description, and as parameters what its conditions read;
/// whatever is missing is left out of the decision, so none is required. One that a model makes is the tool by which
/// the model answers.
///
/// # Errors
/// When the rules hold no choice of that name.
pub fn tool(rules: &Rules, name: &str) -> Result<Json, UnknownChoice> {
    if let Ok(question) = Question::new(rules, name) {
        return Ok(question.tool().to_json());
    }
    let program = rules.program();
    let table = &program.tables[choice(rules, name)?.id().index()];
    let mut ids: Vec<&str> = table.order.iter().map(|rule| &*program.rules[rule.index()].name).collect();
    // The rules are tried from the last branch to the first.
    ids.reverse();
    let ids: Vec<String> = ids.into_iter().map(|id| format!("`{id}`")).collect();
    let answers = format!("Answers with the branch to take: {}.", ids.join(", "));
    let description = match table.docs.trim() {
        "" => answers,
        docs => format!("{docs} {answers}"),
    };
    Ok(function(name, &description, Json::Object(properties(program, table)), &[]))
}

/// The fields of a message that a table reads, as the properties of an object.
fn properties(program: &Program, table: &Table) -> Map<String, Json> {
    let mut tree = Field::default();
    let mut lets = HashSet::new();
    let rules = table.order.iter().map(|rule| &program.rules[rule.index()]);
    let mut open: Vec<Part<'_>> = rules.map(|rule| Part::Cond(&rule.condition)).collect();
    while let Some(part) = open.pop() {
        match part {
            Part::Let(id) if lets.insert(id.index()) => open.push(program.let_body(id).part()),
            Part::Expr(expr) => {
                if let ExprKind::Slot(slot) = &expr.kind {
                    let slot = &program.slots[slot.index()];
                    if slot.root.is_none() {
                        tree.add(&slot.path, slot.kinds);
                    }
                }
            }
            _ => {}
        }
        open.extend(part.parts());
    }
    tree.properties()
}

/// A field of the message: the kinds it is read at, and the fields that are read of it.
#[derive(Default)]
struct Field {
    kinds: Option<KindSet>,
    fields: BTreeMap<Arc<str>, Field>,
}

impl Field {
    fn add(&mut self, path: &[Arc<str>], kinds: KindSet) {
        match path {
            [] => self.kinds = Some(self.kinds.map_or(kinds, |known| known.union(kinds))),
            [first, rest @ ..] => self.fields.entry(first.clone()).or_default().add(rest, kinds),
        }
    }

    fn properties(&self) -> Map<String, Json> {
        self.fields.iter().map(|(name, field)| (name.to_string(), field.schema())).collect()
    }

    fn schema(&self) -> Json {
        match (self.fields.is_empty(), self.kinds) {
            (true, Some(kinds)) => type_schema(&Ty::plain(kinds)),
            (true, None) => json!({}),
            // What is also read as something else may be anything.
            (false, Some(kinds)) if kinds != KindSet::DICT => json!({}),
            (false, _) => json!({"type": "object", "properties": self.properties()}),
        }
    }
}
