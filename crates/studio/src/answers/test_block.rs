//! Writes a decision as a `test` block. Before the block is returned, it is compiled and run
//! together with the rules.

use super::decide::explain;
use super::find_entry;
use super::message::request_message;
use crate::api::{MadeTest, MakeTest};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::state::Studio;
use rulec::payload::Judge;
use rulec::{Entry, Explanation, Rules, run_tests};
use rulec_base::message;
use rulec_lang::ty::{KindSet, RecordType, Ty};
use rulec_lang::value::Value;
use rulec_sema::hir::{ROUTES_TABLE, TableKind};
use rulec_syntax::write;
use serde_json::{Map, Value as Json};
use std::fmt::Write;
use std::sync::Arc;

/// Maximum number of characters of the message's text that are used in the name of the test.
const MAX_NAME_CHARS: usize = 48;

pub(crate) fn make_test(studio: &Arc<Studio>, asked: MakeTest) -> Answer<MadeTest> {
    let project = studio.project(asked.version.rules)?;
    let known = project.snapshot(asked.version.draft);
    let rules = known.rules()?;
    let message = request_message(studio, rules, &asked.message, asked.row.as_ref())?
        .map_err(|mistake| RequestError::invalid(verbatim_message(mistake.message)))?;
    if !studio.show_private && rules.masked_message(&message) != message {
        return Err(RequestError::invalid(message!(
            "the message contains values of private fields, which a test would show; start the studio with \
            `--show-private`"
        )));
    }
    let file = project.main_file().to_owned();
    let before = known.analysis.text(
        known.analysis.file(&file).ok_or_else(|| RequestError::missing(message!("there is no main file")))?,
    );
    let mut tried: Option<MadeTest> = None;
    for (given, expected) in candidate_messages(&known, rules, &asked, &message)? {
        let name = unused_test_name(rules, asked.name.as_deref(), &message, &expected);
        let block = write_test_block(&name, &given, &expected);
        let text = format!("{}\n\n{block}", before.trim_end());
        let after = project.snapshot_with_text(&file, &text, asked.version.draft);
        let outcomes = after.analysis.rules.as_ref().map(run_tests).unwrap_or_default();
        let Some(outcome) = outcomes.iter().find(|outcome| outcome.name == name) else { continue };
        let made = MadeTest { block, file: file.clone(), text, passes: outcome.passed };
        if made.passes {
            return Ok(made);
        }
        tried.get_or_insert(made);
    }
    // A failing test is returned as well: the user may state an outcome that the rules should have.
    tried.ok_or_else(|| {
        RequestError::invalid(message!(
            "this message cannot be written as a `test` block: its values do not fit the `input` of the rules"
        ))
    })
}

/// Returns candidate messages for the test, the most complete one first. Each comes with the
/// outcome that the test should expect, in rule syntax.
fn candidate_messages(
    known: &crate::snapshot::ProjectSnapshot,
    rules: &Rules,
    asked: &MakeTest,
    message: &Json,
) -> Answer<Vec<(Json, String)>> {
    let program = rules.program();
    if program.payloads.iter().any(|payload| *payload.name == *asked.entry) {
        let judge =
            Judge::new(rules, &asked.entry).map_err(|error| RequestError::missing(error.to_message()))?;
        let judgement = judge.judge(message);
        let outcome = asked.expect.as_deref().unwrap_or(judgement.outcome().name());
        let mut expected = format!("{}.{outcome}", write::quote_name(&asked.entry));
        let mut broken: Vec<&str> = judgement.violations().iter().map(|one| &*one.rule).collect();
        broken.dedup();
        broken.iter().for_each(|rule| {
            let _ = write!(expected, " {}", write::quote_string(rule));
        });
        let given = Json::Object(Map::from_iter([("payload".to_owned(), message.clone())]));
        return Ok(vec![(given, expected)]);
    }
    let entry = find_entry(rules, &asked.entry)?;
    let explanation = explain(known, rules, entry, message, true);
    let expected = expected_statement(entry, &explanation, asked.expect.as_deref());
    // A router reads fields that `input` does not declare, so its message is not reduced to the
    // input.
    let fitting = match &program.input {
        Some(input) if entry.kind() != TableKind::Router => keep_fitting_values(message, input),
        _ => message.clone(),
    };
    // The second candidate drops fields that the rules never read, because the rules may reject
    // them.
    let read = Json::Object(
        fitting
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| reads_field(&explanation, name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    );
    Ok(vec![(fitting, expected.clone()), (read, expected)])
}

fn reads_field(explanation: &Explanation, name: &str) -> bool {
    explanation
        .message
        .iter()
        .any(|field| field.text == name || field.text.split(['.', '[']).next() == Some(name))
}

/// Returns the statement that the test expects, in rule syntax.
fn expected_statement(entry: Entry<'_>, explanation: &Explanation, wanted: Option<&str>) -> String {
    let intent = explanation.intents.iter().flat_map(|intents| &intents.ranked).find(|intent| intent.chosen);
    let chosen = explanation.chosen.as_deref().or(intent.map(|intent| &*intent.name));
    let table = match (wanted, explanation.tables.last()) {
        (None, Some(table)) => table.as_str(),
        _ => entry.name(),
    };
    let name = wanted.or(chosen).unwrap_or("none");
    // As the name of a statement, `default`, `none` and `otherwise` are keywords that must not be
    // quoted.
    let name = if matches!(name, "default" | "none" | "otherwise") {
        name.to_owned()
    } else {
        write::quote_name(name)
    };
    match (table, entry.kind()) {
        (ROUTES_TABLE, TableKind::Routes) => name,
        _ => format!("{}.{name}", write::quote_name(table)),
    }
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
    if matches!(Value::from_json(value).read_as(ty.kinds), Value::Missing) {
        return None;
    }
    match (value, ty.fields()) {
        (Json::Object(_), Some(inner)) => Some(keep_fitting_values(value, inner)),
        _ => Some(value.clone()),
    }
}

/// Returns a name for the test that no other test has.
fn unused_test_name(rules: &Rules, wanted: Option<&str>, message: &Json, expected: &str) -> String {
    let text = message.get("text").and_then(Json::as_str).unwrap_or_default();
    let short: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_NAME_CHARS).collect();
    let plain = expected.replace(['`', '"'], "");
    let wanted = match wanted.map(str::trim).filter(|name| !name.is_empty()) {
        Some(wanted) => wanted.to_owned(),
        None if short.is_empty() => format!("a message goes to {plain}"),
        None => format!("{short}: {plain}"),
    };
    let is_taken = |name: &str| rules.program().tests.iter().any(|test| *test.name == *name);
    let numbered = (2..).map(|number| format!("{wanted} ({number})"));
    std::iter::once(wanted.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(wanted)
}

fn write_test_block(name: &str, given: &Json, expected: &str) -> String {
    let mut block = format!("test {} {{\n", write::quote_string(name));
    for (name, value) in given.as_object().into_iter().flatten() {
        let _ = writeln!(block, "  given {} = {}", write::quote_name(name), write::format_value(value));
    }
    let _ = writeln!(block, "  expect {expected}\n}}");
    block
}
