//! Converts a decision to a `test` block of the rules. Before the block is returned, it is compiled
//! and run together with the rules.

use super::decide::explain;
use super::find_entry;
use super::message::request_message;
use crate::api::{MadeTest, MakeTest};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::state::Studio;
use rulec::payload::Judge;
use rulec::{Entry, Explanation, Rules, run_tests};
use rulec_base::message;
use rulec_ide::test_block::{expected_name, unused_test_name, write_test_block};
use rulec_lang::ty::{KindSet, RecordType, Ty};
use rulec_lang::value::Value;
use rulec_sema::hir::{Program, TableKind};
use rulec_syntax::write;
use serde_json::{Map, Value as Json};
use std::fmt::Write;
use std::sync::Arc;

pub(crate) fn make_test(studio: &Arc<Studio>, request: MakeTest) -> Answer<MadeTest> {
    let project = studio.project(request.version.rules)?;
    let snapshot = project.snapshot(request.version.draft);
    let rules = snapshot.rules()?;
    let message = request_message(studio, rules, &request.entry, &request.message, request.row.as_ref())?
        .map_err(|mistake| RequestError::invalid(verbatim_message(mistake.message)))?;
    let masked = match Judge::new(rules, &request.entry) {
        Ok(judge) => judge.masked_payload(&message),
        Err(_) => rules.masked_message(&message),
    };
    if !studio.show_private && masked != message {
        return Err(RequestError::invalid(message!(
            "the message contains values of private fields, which a test would show; start the studio with \
            `--show-private`"
        )));
    }
    let file = project.main_file().to_owned();
    let main_text = snapshot.analysis.text(
        snapshot
            .analysis
            .file(&file)
            .ok_or_else(|| RequestError::missing(message!("there is no main file")))?,
    );
    let mut first_attempt: Option<MadeTest> = None;
    for (test_message, expected) in candidate_messages(&snapshot, rules, &request, &message)? {
        let name = unused_test_name(rules, request.name.as_deref(), &message, &expected);
        let block = write_test_block(&name, &test_message, &expected);
        let text = format!("{}\n\n{block}", main_text.trim_end());
        let changed_snapshot = project.snapshot_with_text(&file, &text, request.version.draft);
        let outcomes = changed_snapshot.analysis.rules.as_ref().map(run_tests).unwrap_or_default();
        let Some(outcome) = outcomes.iter().find(|outcome| outcome.name == name) else { continue };
        let line = text[..text.len() - block.len()].matches('\n').count() + 1;
        let made_test = MadeTest { block, file: file.clone(), text, line, passes: outcome.passed };
        if made_test.passes {
            return Ok(made_test);
        }
        first_attempt.get_or_insert(made_test);
    }
    // If no candidate gives a passing test, the first failing one is returned, because the user may
    // state an outcome that the rules should have.
    first_attempt.ok_or_else(|| {
        RequestError::invalid(message!(
            "this message cannot be written as a `test` block: its values do not fit the `input` of the rules"
        ))
    })
}

/// Returns candidate messages for a generated test; messages with the most fields come first. Each
/// message comes with the expected statement in rule syntax. The caller takes the first candidate
/// with which the test passes.
fn candidate_messages(
    snapshot: &crate::snapshot::ProjectSnapshot,
    rules: &Rules,
    request: &MakeTest,
    message: &Json,
) -> Answer<Vec<(Json, String)>> {
    let program = rules.program();
    if program.payloads.iter().any(|payload| *payload.name == *request.entry) {
        let judge =
            Judge::new(rules, &request.entry).map_err(|error| RequestError::missing(error.to_message()))?;
        let judgement = judge.judge(message);
        let actual = format!("{}.{}", write::quote_name(&request.entry), judgement.outcome().name());
        let mut expected = request.expect.clone().unwrap_or_else(|| actual.clone());
        if expected == actual {
            let mut violated_rules: Vec<&str> =
                judgement.violations().iter().map(|violation| &*violation.rule).collect();
            violated_rules.dedup();
            violated_rules.iter().for_each(|rule| {
                let _ = write!(expected, " {}", write::quote_string(rule));
            });
        }
        let test_message = Json::Object(Map::from_iter([("payload".to_owned(), message.clone())]));
        return Ok(vec![(test_message, expected)]);
    }
    let entry = find_entry(rules, &request.entry)?;
    let explanation = explain(snapshot, rules, entry, message, true);
    let expected = request.expect.clone().unwrap_or_else(|| decided_statement(program, entry, &explanation));
    // A router reads fields that `input` does not declare, so its message is not reduced to the
    // input.
    let fitting = match &program.input {
        Some(input) if entry.kind() != TableKind::Router => keep_fitting_values(message, input),
        _ => message.clone(),
    };
    // The second candidate drops fields that no rule reads, because a declared input may reject
    // them.
    let read_fields = Json::Object(
        fitting
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| reads_field(&explanation, name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    );
    Ok(vec![(fitting, expected.clone()), (read_fields, expected)])
}

fn reads_field(explanation: &Explanation, name: &str) -> bool {
    explanation
        .message
        .iter()
        .any(|field| field.text == name || field.text.split(['.', '[']).next() == Some(name))
}

/// Returns the statement that a decision chose, as a test writes it after `expect`.
fn decided_statement(program: &Program, entry: Entry<'_>, explanation: &Explanation) -> String {
    let intent = explanation.intents.iter().flat_map(|intents| &intents.ranked).find(|intent| intent.chosen);
    let name = explanation.chosen.as_deref().or(intent.map(|intent| &*intent.name)).unwrap_or("none");
    let table = explanation.tables.last().and_then(|table| program.table_named(table));
    expected_name(&program.tables[table.unwrap_or(entry.id()).index()], name)
}

/// Keeps only the values of a message that fit the declared type. Values that do not fit count as
/// missing anyway, so the decision does not change.
fn keep_fitting_values(message: &Json, record: &RecordType) -> Json {
    let field = |(name, value): (&String, &Json)| {
        let field = record.get(name)?;
        fit_to_type(value, &field.ty).map(|value| (name.clone(), value))
    };
    Json::Object(message.as_object().into_iter().flatten().filter_map(field).collect())
}

fn fit_to_type(value: &Json, ty: &Ty) -> Option<Json> {
    if ty.kinds == KindSet::ALL {
        return Some(value.clone());
    }
    if Value::from_json(value).read_as(ty.kinds).read_one_of(ty.values()).is_missing() {
        return None;
    }
    match (value, ty.fields()) {
        (Json::Object(_), Some(inner)) => Some(keep_fitting_values(value, inner)),
        _ => Some(value.clone()),
    }
}
