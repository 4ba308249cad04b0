//! Answers requests about the entries of a rule set (its tables, declared `payload`s and
//! workflows), and about messages that the user saved under a name.

use super::form::{self, ComparedTexts};
use super::to_entry_kind;
use crate::api::{
    EntryInfo, EntryKind, KeepMessages, KeptMessage, KeptMessages, Overview, RuleSet, Session, UploadRules,
    Version,
};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::project::{RuleSetProject, lock_saving, text_fingerprint};
use crate::state::Studio;
use rulec::payload::Outcome;
use rulec::{TableId, TableKind};
use rulec_base::message;
use rulec_ide::test_block::expected_name;
use rulec_sema::hir::{self, Program, Table};
use rulec_syntax::write;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// An empty set of query parameters, for requests that accept none.
#[derive(Deserialize)]
pub(crate) struct NoParameters {}

pub(crate) fn session(studio: &Arc<Studio>, _: NoParameters) -> Answer<Session> {
    Ok(studio.session())
}

pub(crate) fn upload_rules(studio: &Arc<Studio>, request: UploadRules) -> Answer<RuleSet> {
    let name = if request.name.trim().is_empty() { "uploaded.rules".to_owned() } else { request.name };
    Ok(studio.upload_rules(name, request.text)?.describe())
}

pub(crate) fn overview(studio: &Arc<Studio>, version: Version) -> Answer<Overview> {
    let snapshot = studio.snapshot(version)?;
    let (errors, first_error) = (snapshot.error_count(), snapshot.first_error());
    let Some(rules) = snapshot.analysis.rules() else {
        let (entries, targets, example) = (Vec::new(), Vec::new(), serde_json::json!({}));
        return Ok(Overview { entries, errors, first_error, targets, example });
    };
    let program = rules.program();
    let compared_texts = ComparedTexts::new(program);
    let fields = form::record_fields(&program.known_fields(), "", &compared_texts);
    let example = form::example_message(program, &fields, studio.show_private);
    let mut entries: Vec<EntryInfo> = Vec::new();
    for (id, table) in program.tables.iter().enumerate() {
        let is_empty = table.evaluation_order.is_empty() && table.default.is_none();
        let only_intents = table.kind == TableKind::Flows && !program.flows.is_empty();
        if table.kind == TableKind::Requirements || (is_empty && !only_intents) {
            continue;
        }
        entries.push(EntryInfo {
            name: table.name.to_string(),
            kind: to_entry_kind(table.kind),
            docs: table.docs.to_string(),
            statements: statement_names(program, table),
            outcomes: outcome_names(program, table),
            // All tables get the same form fields, because a `goto` passes the message on from one
            // table to another.
            fields: fields.clone(),
            reads_history: reads_history(program, &[TableId(id as u32)]),
        });
    }
    entries.extend(program.payloads.iter().map(|payload| EntryInfo {
        name: payload.name.to_string(),
        kind: EntryKind::Payload,
        docs: payload.docs.to_string(),
        statements: payload.rule_names(program).into_iter().map(str::to_owned).collect(),
        outcomes: payload_outcomes(&payload.name),
        fields: form::payload_fields(payload),
        reads_history: reads_history(program, &payload.block.tables()),
    }));
    entries.extend(program.workflows.iter().map(|workflow| EntryInfo {
        name: workflow.name.to_string(),
        kind: EntryKind::Workflow,
        docs: workflow.docs.to_string(),
        statements: workflow.nodes.iter().map(|node| node.id.to_string()).collect(),
        outcomes: Vec::new(),
        fields: Vec::new(),
        reads_history: false,
    }));
    let targets = super::map::target_names(rules);
    Ok(Overview { entries, errors, first_error, targets, example })
}

/// True if a decision by one of these tables may read the earlier messages of a session.
fn reads_history(program: &Program, tables: &[TableId]) -> bool {
    program.history_slot().is_some_and(|history| {
        tables.iter().any(|table| program.fields_of_decision(*table).contains(&history))
    })
}

/// Returns the results that a test of a payload kind can expect, as written after `expect`.
fn payload_outcomes(name: &str) -> Vec<String> {
    let name = write::quote_name(name);
    [Outcome::Accept, Outcome::AcceptCorrected, Outcome::Reject]
        .map(|outcome| format!("{name}.{}", outcome.name()))
        .to_vec()
}

/// Returns the statements that a test of a table can expect, as written after `expect`. Replaces a
/// jump by the statements of the table that it leads to. Includes `none` if a message can match no
/// statement.
fn outcome_names(program: &Program, table: &Table) -> Vec<String> {
    let mut names = Vec::new();
    let mut searched = BTreeSet::new();
    collect_outcomes(program, table, &mut names, &mut searched);
    let always_holds = |rule: &hir::Rule| {
        matches!(rule.outcome, hir::Outcome::Branch { default: true })
            || matches!(rule.condition.kind, hir::CondKind::Const(true))
    };
    let mut rules = table.evaluation_order.iter().map(|id| &program.rules[id.index()]);
    if table.default.is_none() && !rules.any(always_holds) {
        names.push(expected_name(table, "none"));
    }
    let mut distinct = BTreeSet::new();
    names.retain(|name| distinct.insert(name.clone()));
    names
}

fn collect_outcomes<'p>(
    program: &'p Program,
    table: &'p Table,
    names: &mut Vec<String>,
    searched: &mut BTreeSet<&'p str>,
) {
    if !searched.insert(&table.name) {
        return;
    }
    let rules =
        table.evaluation_order.iter().map(|id| &program.rules[id.index()]).filter(|rule| !rule.is_disabled);
    let rules = rules.map(|rule| (&*rule.name, &rule.outcome));
    for (name, outcome) in rules.chain(table.default.iter().map(|outcome| ("default", outcome))) {
        match outcome {
            hir::Outcome::Goto(inner) => {
                collect_outcomes(program, &program.tables[inner.index()], names, searched);
            }
            _ => names.push(expected_name(table, name)),
        }
    }
    if table.kind == TableKind::Flows {
        names.extend(program.flows.iter().map(|flow| expected_name(table, &flow.name)));
    }
}

fn statement_names(program: &Program, table: &Table) -> Vec<String> {
    let mut names: Vec<String> =
        table.evaluation_order.iter().map(|id| program.rules[id.index()].name.to_string()).collect();
    names.dedup();
    if table.kind == TableKind::Flows {
        let intents = program.flows.iter().map(|flow| flow.name.to_string());
        names.extend(intents.filter(|name| !names.contains(name)).collect::<Vec<_>>());
    }
    names.extend(table.default.iter().map(|_| "default".to_owned()));
    names
}

#[derive(Deserialize)]
pub(crate) struct RulesQuery {
    rules: usize,
}

/// Returns the path of the file that stores the saved messages: `support.messages.json` next to
/// `support.rules`. `None` if the rules are not on disk.
fn saved_messages_path(project: &RuleSetProject) -> Option<PathBuf> {
    project.file_path(project.main_file_name()).map(|path| path.with_extension("messages.json"))
}

fn read_saved_messages_file(project: &RuleSetProject) -> Answer<(Option<PathBuf>, String)> {
    let Some(path) = saved_messages_path(project) else { return Ok((None, String::new())) };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((Some(path), text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((Some(path), String::new())),
        Err(error) => Err(RequestError::invalid(message!("`{}` cannot be read: {error}", path.display()))),
    }
}

pub(crate) fn saved_messages(studio: &Arc<Studio>, request: RulesQuery) -> Answer<KeptMessages> {
    let project = studio.project(request.rules)?;
    let (path, text) = read_saved_messages_file(&project)?;
    let messages: Vec<KeptMessage> = if text.trim().is_empty() {
        Vec::new()
    } else {
        let name = path.as_ref().map_or_else(String::new, |path| path.display().to_string());
        serde_json::from_str(&text).map_err(|error| {
            RequestError::invalid(message!(
                "`{name}` does not contain saved messages: {error}; move the file away, or correct it"
            ))
        })?
    };
    Ok(KeptMessages {
        file: path.map(|path| crate::state::file_name(&path)),
        stamp: text_fingerprint(&text),
        messages,
    })
}

pub(crate) fn save_messages(studio: &Arc<Studio>, request: KeepMessages) -> Answer<KeptMessages> {
    let project = studio.project(request.rules)?;
    let _saving = lock_saving();
    let (path, text) = read_saved_messages_file(&project)?;
    let Some(path) = path else {
        return Err(RequestError::invalid(message!("uploaded rules have no folder to save messages in")));
    };
    if text_fingerprint(&text) != request.stamp {
        let name = crate::state::file_name(&path);
        return Err(RequestError::changed_file(message!(
            "`{name}` has changed since it was read; read it again"
        )));
    }
    let mut text = serde_json::to_string_pretty(&request.messages)
        .map_err(|error| RequestError::broken(verbatim_message(error)))?;
    text.push('\n');
    rulec_report::files::replace_file(&path, text.as_bytes()).map_err(|error| {
        RequestError::invalid(message!("`{}` cannot be written: {error}", path.display()))
    })?;
    Ok(KeptMessages {
        file: Some(crate::state::file_name(&path)),
        stamp: text_fingerprint(&text),
        messages: request.messages,
    })
}
