//! Writes choices of the rules as JSON of the other system. A single choice is the whole document;
//! several choices are a list.

use super::comparison::write_condition;
use super::{Written, push_item};
use crate::located::PathStep;
use crate::report::{ItemKind, ReportBuilder};
use rulec::{Code, Message, Rules, Span};
use rulec_base::message;
use rulec_sema::hir::{CondKind, Outcome, Program, Rule, Table, TableKind};
use serde_json::{Map, Value as Json, json};

pub(super) fn write_document(rules: &Rules, report: &mut ReportBuilder) -> Json {
    let program = rules.program();
    let choices: Vec<&Table> =
        program.tables.iter().filter(|table| table.kind == TableKind::Choice).collect();
    let is_only = choices.len() == 1;
    let mut written = Vec::new();
    for table in choices {
        if program.questions.iter().any(|question| question.name == table.name) {
            report.skip(
                ItemKind::Choice,
                &table.name,
                &[],
                message!("a choice that a language model makes has no conditions to write"),
            );
            continue;
        }
        let steps = if is_only { Vec::new() } else { vec![PathStep::Index(written.len())] };
        written.push(write_choice(rules, table, &steps, report));
    }
    if is_only && written.len() == 1 { written.remove(0) } else { Json::Array(written) }
}

fn write_choice(rules: &Rules, table: &Table, steps: &[PathStep], report: &mut ReportBuilder) -> Json {
    let program = rules.program();
    let choice = report.begin(ItemKind::Choice, &table.name, steps);
    let mut json = Map::new();
    json.insert("name".to_owned(), json!(table.name));
    if !table.docs.is_empty() {
        json.insert("description".to_owned(), json!(table.docs));
    }
    if table.to_user {
        json.insert("to_user".to_owned(), json!(true));
    }
    let steps = [steps, &[super::key("choices")]].concat();
    let mut branches = Vec::new();
    // The rules are in the order in which they are tried, the last branch first. The JSON has the
    // order of the source.
    for rule in table.order.iter().rev() {
        let rule = &program.rules[rule.index()];
        let item = (ItemKind::Branch, &*rule.name, &*steps);
        push_item(&mut branches, item, write_branch(program, rule), report);
        report.resume(Some(choice));
    }
    for reason in branches_without_condition(rules, table) {
        report.skip(ItemKind::Branch, "", &steps, reason);
    }
    json.insert("choices".to_owned(), Json::Array(branches));
    Json::Object(json)
}

/// Returns a sentence for each branch of a choice that has no condition, for the report. The
/// compiled rules contain no such branch, so the branch is found in the compiler's warnings.
fn branches_without_condition(rules: &Rules, table: &Table) -> Vec<Message> {
    let choices = rules.program().tables.iter().filter(|table| table.kind == TableKind::Choice);
    let name_spans: Vec<Span> = choices.filter_map(|table| table.span).collect();
    // A branch belongs to the last choice whose name precedes the branch in the same file.
    let choice_of = |branch: Span| {
        let before = name_spans.iter().filter(|name| name.file == branch.file && name.start < branch.start);
        before.max_by_key(|name| name.start)
    };
    let warnings = rules.warnings().iter().filter(|warning| warning.code == Code::BranchNeverChosen);
    let own = warnings.filter(|warning| warning.span().and_then(choice_of) == table.span.as_ref());
    own.map(|warning| warning.message.clone()).collect()
}

fn write_branch(program: &Program, rule: &Rule) -> Written<Json> {
    if let Outcome::Branch { default: true } = rule.outcome {
        return Ok(json!({
            "branch_id": rule.name, "logic": "and", "conditions": [], "is_default": true,
        }));
    }
    let (all, conditions) = match &rule.condition.kind {
        CondKind::Branch { all, conditions } => (*all, &**conditions),
        CondKind::Const(false) => (true, &[][..]),
        _ => return Err(super::unknown_condition()),
    };
    let conditions: Vec<Json> = conditions
        .iter()
        .enumerate()
        .map(|(index, guarded)| {
            let mut condition = write_condition(program, &guarded.cond)?;
            condition["id"] = json!(format!("c{}", index + 1));
            Ok(condition)
        })
        .collect::<Written<_>>()?;
    let logic = if all { "and" } else { "or" };
    Ok(json!({
        "branch_id": rule.name, "logic": logic, "conditions": conditions, "is_default": false,
    }))
}
