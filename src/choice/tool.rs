//! Offers a choice to an agent as a callable tool. The message fields that the choice reads become
//! the tool's parameters.

use super::{Question, UnknownChoice, find_choice};
use crate::engine::Rules;
use crate::prompt::tool_definition;
use crate::schema::type_schema;
use rulec_lang::ty::{KindSet, Ty};
use rulec_sema::hir::{ExprKind, Part, Program, Table};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Returns the tool definition of a choice, in the format of the chat-completions API.
///
/// For a choice with conditions, the description is its `##` documentation, and the parameters are
/// the fields that the conditions read. No parameter is required, because a condition on a missing
/// field is ignored. For a choice that a model makes, the result is the tool that the model calls
/// to answer.
///
/// # Errors
/// If the rules contain no choice with this name.
pub fn tool(rules: &Rules, name: &str) -> Result<Json, UnknownChoice> {
    if let Ok(question) = Question::new(rules, name) {
        return Ok(question.tool().to_json());
    }
    let program = rules.program();
    let table = &program.tables[find_choice(rules, name)?.id().index()];
    let mut ids: Vec<&str> =
        table.evaluation_order.iter().map(|rule| &*program.rules[rule.index()].name).collect();
    // The branches of a choice are tried from the last to the first, and `evaluation_order` lists
    // them in this order. The description lists them in source order.
    ids.reverse();
    let ids: Vec<String> = ids.into_iter().map(|id| format!("`{id}`")).collect();
    let answer_sentence = format!("Answers with the branch to take: {}.", ids.join(", "));
    let description = match table.docs.trim() {
        "" => answer_sentence,
        docs => format!("{docs} {answer_sentence}"),
    };
    Ok(tool_definition(name, &description, Json::Object(properties_of_read_fields(program, table)), &[]))
}

/// Returns the message fields that the conditions of a table read, as the properties of a JSON
/// Schema object.
fn properties_of_read_fields(program: &Program, table: &Table) -> Map<String, Json> {
    let mut root = ReadField::default();
    let mut visited_lets = HashSet::new();
    let rules = table.evaluation_order.iter().map(|rule| &program.rules[rule.index()]);
    let mut pending: Vec<Part<'_>> = rules.map(|rule| Part::Cond(&rule.condition)).collect();
    while let Some(part) = pending.pop() {
        match part {
            Part::Let(id) if visited_lets.insert(id.index()) => pending.push(program.let_body(id).as_part()),
            Part::Expr(expr) => {
                if let ExprKind::Slot(slot) = &expr.kind {
                    let slot = &program.slots[slot.index()];
                    if slot.root.is_none() {
                        root.add_path(&slot.path, slot.kinds);
                    }
                }
            }
            _ => {}
        }
        pending.extend(part.parts());
    }
    root.to_schema_properties()
}

/// A message field that conditions read, with the kinds of value that the conditions expect, and
/// the nested fields that they read.
#[derive(Default)]
struct ReadField {
    kinds: Option<KindSet>,
    fields: BTreeMap<Arc<str>, ReadField>,
}

impl ReadField {
    fn add_path(&mut self, path: &[Arc<str>], kinds: KindSet) {
        match path {
            [] => self.kinds = Some(self.kinds.map_or(kinds, |known| known.union(kinds))),
            [first, rest @ ..] => self.fields.entry(first.clone()).or_default().add_path(rest, kinds),
        }
    }

    fn to_schema_properties(&self) -> Map<String, Json> {
        self.fields.iter().map(|(name, field)| (name.to_string(), field.to_json_schema())).collect()
    }

    fn to_json_schema(&self) -> Json {
        match (self.fields.is_empty(), self.kinds) {
            (true, Some(kinds)) => type_schema(&Ty::from_kinds(kinds)),
            (true, None) => json!({}),
            // The conditions read the field both as a dict and as another kind, so any value is
            // allowed.
            (false, Some(kinds)) if kinds != KindSet::DICT => json!({}),
            (false, _) => json!({"type": "object", "properties": self.to_schema_properties()}),
        }
    }
}
