//! Converts a decision to a `test` block of the rules. Before the block is returned, it is compiled
//! and run together with the rules.

use super::decide::explain;
use super::history::{RecordedMessage, RequestEntry, request_history};
use super::message::request_message;
use super::{find_entry, judge};
use crate::api::{EarlierDecision, MadeTest, MakeTest};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::replay::split_payload_line;
use crate::state::Studio;
use rulec::history::Past;
use rulec::payload::Judge;
use rulec::{Entry, Explanation, Rules, run_tests};
use rulec_base::message;
use rulec_ide::test_block::{GivenMessage, expected_name, unused_test_name, write_test_block};
use rulec_lang::history::{AT_FIELD, DECISION_FIELD};
use rulec_lang::ty::{KindSet, RecordType, Ty};
use rulec_lang::value::{Value, format_datetime, parse_datetime};
use rulec_sema::hir::{Program, TableKind};
use rulec_syntax::write;
use serde_json::{Map, Value as Json};
use std::fmt::Write;
use std::sync::Arc;
use time::Duration;

pub(crate) fn make_test(studio: &Arc<Studio>, request: MakeTest) -> Answer<MadeTest> {
    let project = studio.project(request.version.rules)?;
    let snapshot = project.snapshot(request.version.draft);
    let rules = snapshot.rules()?;
    let message = request_message(studio, rules, &request.entry, &request.message, request.row.as_ref())?
        .map_err(|mistake| RequestError::invalid(verbatim_message(mistake.message)))?;
    let is_payload = rules.program().payloads.iter().any(|payload| *payload.name == *request.entry);
    let (message, row_context) = match request.row {
        Some(_) => split_payload_line(&snapshot, &request.entry, message),
        None => (message, None),
    };
    let context_text = request.context.as_deref().filter(|_| is_payload);
    let context = match judge::payload_context(rules, context_text, row_context) {
        Ok(context) => context,
        Err(mistake) => return Err(RequestError::invalid(verbatim_message(mistake.message))),
    };
    let inputs = Json::Object(context.clone());
    let entry = (!is_payload).then(|| find_entry(rules, &request.entry)).transpose()?;
    let of = RequestEntry { rules, entry_name: &request.entry, entry };
    let subject = if is_payload { &inputs } else { &message };
    let history = request_history(studio, of, &request.history, subject)?;
    let is_masked = |message: &Json| rules.masked_message(message) != *message;
    let is_private = match Judge::new(rules, &request.entry) {
        Ok(judge) if is_payload => judge.masked_payload(&message) != message || is_masked(&inputs),
        _ => is_masked(&message),
    };
    let is_private = is_private || history.recorded.iter().any(|one| is_masked(&one.message));
    if !studio.show_private && is_private {
        return Err(RequestError::invalid(message!(
            "the message contains values of private fields, which a test would show; start the studio with \
            `--show-private`"
        )));
    }
    let file = project.main_file_name().to_owned();
    let main_text = snapshot.analysis.text(
        snapshot
            .analysis
            .file_id(&file)
            .ok_or_else(|| RequestError::missing(message!("there is no main file")))?,
    );
    let mut first_attempt: Option<MadeTest> = None;
    let given = given_messages(rules, &history.recorded, subject);
    let tested = TestedMessage { message: &message, context, past: history.past };
    for (test_message, expected) in candidate_messages(&snapshot, rules, &request, tested)? {
        let name = unused_test_name(rules, request.name.as_deref(), &message, &expected);
        let block = write_test_block(&name, &test_message, &given, &expected);
        let text = format!("{}\n\n{block}", main_text.trim_end());
        let changed_snapshot = project.snapshot_with_text(&file, &text, request.version.draft);
        let outcomes = changed_snapshot.analysis.rules().map(run_tests).unwrap_or_default();
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

/// The message that a generated test checks, with its context and its history.
struct TestedMessage<'m> {
    message: &'m Json,
    /// Values for the inputs of the rules, if the message is a payload; otherwise empty.
    context: Map<String, Json>,
    past: Past,
}

/// Converts the earlier messages of a decision to the earlier messages of a `test` block. Each has
/// the fields that the rules read in the history, and its age relative to the tested message. A
/// message without an exact age in milliseconds gets its absolute time instead.
fn given_messages(rules: &Rules, recorded: &[RecordedMessage], message: &Json) -> Vec<GivenMessage> {
    let program = rules.program();
    let kept = program.history_reads().kept;
    let is_kept = |name: &str| kept.iter().any(|path| path.first().is_none_or(|first| **first == *name));
    let now = message.get("now").and_then(Json::as_str).and_then(parse_datetime);
    let given = |one: &RecordedMessage| {
        let fields = match &program.input {
            Some(input) => keep_fitting_values(&one.message, input),
            None => one.message.clone(),
        };
        let fields = fields.as_object().into_iter().flatten().filter(|(name, _)| is_kept(name));
        let mut fields: Map<String, Json> =
            fields.map(|(name, value)| (name.clone(), value.clone())).collect();
        if let Some(EarlierDecision { chosen, target }) = &one.decision {
            let names = [("chosen", chosen), ("target", target)].into_iter();
            let names = names.filter_map(|(key, name)| Some((key.to_owned(), name.clone()?.into())));
            fields.insert(DECISION_FIELD.to_owned(), names.collect::<Map<_, _>>().into());
        }
        let age = now.map(|now| now - one.recorded_at);
        let is_exact = |age: &Duration| age.subsec_nanoseconds() % 1_000_000 == 0;
        let ago = age.filter(is_exact).and_then(|age| u64::try_from(age.whole_milliseconds()).ok());
        if ago.is_none() {
            fields.insert(AT_FIELD.to_owned(), format_datetime(one.recorded_at).into());
        }
        GivenMessage { fields, ago_ms: ago }
    };
    recorded.iter().map(given).collect()
}

/// Returns candidate messages for a generated test; messages with the most fields come first. Each
/// message comes with the expected statement in rule syntax. The caller takes the first candidate
/// with which the test passes.
fn candidate_messages(
    snapshot: &crate::snapshot::ProjectSnapshot,
    rules: &Rules,
    request: &MakeTest,
    tested: TestedMessage<'_>,
) -> Answer<Vec<(Json, String)>> {
    let program = rules.program();
    let TestedMessage { message, context, past } = tested;
    if program.payloads.iter().any(|payload| *payload.name == *request.entry) {
        let judge = judge::build_judge(rules, &request.entry, context.clone(), past)?;
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
        let mut test_message = context;
        test_message.insert("payload".to_owned(), message.clone());
        return Ok(vec![(Json::Object(test_message), expected)]);
    }
    let entry = find_entry(rules, &request.entry)?.with_history(&past);
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
    if ty.kinds == KindSet::MESSAGE_KINDS {
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
