//! Answers the page's requests to decide one message and to explain the decision.

use super::history::{RequestEntry, request_history};
use super::message::request_message;
use super::{find_entry, judge, workflow};
use crate::api::{Decide, Decided, Decision, History, InputViolation, LeftOut};
use crate::error::Answer;
use crate::language::{current_language, localized};
use crate::replay::split_payload_line;
use crate::snapshot::ProjectSnapshot;
use crate::state::Studio;
use rulec::choice::Question;
use rulec::{Entry, Rules, TableKind};
use rulec_eval::trace::MASK;
use serde_json::Value as Json;
use std::sync::Arc;

pub(crate) fn decide(studio: &Arc<Studio>, request: Decide) -> Answer<Decided> {
    let snapshot = studio.snapshot(request.version)?;
    let Some(rules) = snapshot.analysis.rules() else {
        let error = snapshot.first_error().unwrap_or_default();
        return Ok(Decided::Broken { error, errors: snapshot.error_count() });
    };
    let message =
        match request_message(studio, rules, &request.entry, &request.message, request.row.as_ref())? {
            Ok(message) => message,
            Err(mistake) => return Ok(Decided::Refused(mistake)),
        };
    let program = rules.program();
    if program.payloads.iter().any(|payload| *payload.name == *request.entry) {
        let (payload, context) = match request.row {
            Some(_) => split_payload_line(&snapshot, &request.entry, message),
            None => (message, None),
        };
        return judge::judge(studio, rules, &request, &payload, context);
    }
    if program.workflow_named(&request.entry).is_some() {
        let run = workflow::run_workflow(rules, &request.entry, message, studio.show_private)?;
        return Ok(Decided::Workflow(run));
    }
    let entry = find_entry(rules, &request.entry)?;
    let of = RequestEntry { rules, entry_name: &request.entry, entry: Some(entry) };
    let history = request_history(studio, of, &request.history, &message)?;
    let entry = entry.with_history(&history.past);
    let decision = build_decision(&snapshot, rules, entry, &message, studio.show_private);
    Ok(Decided::Decision(Decision { history: history.shown_history, ..decision }))
}

/// Explains the decision of an entry (such as a table) about a message. For the entry `flows`,
/// which combines all flows of the rules, the intent classifier may choose the flow. Values of
/// `@private` fields are masked, unless `show_private` is true.
pub(crate) fn explain(
    snapshot: &ProjectSnapshot,
    rules: &Rules,
    entry: Entry<'_>,
    message: &Json,
    show_private: bool,
) -> rulec::Explanation {
    let matcher = snapshot.intent_matcher(rules).filter(|_| entry.kind() == TableKind::Flows);
    let explanation = matcher.and_then(|matcher| matcher.explain(message, show_private));
    explanation.unwrap_or_else(|| entry.explain(message, show_private)).localized(current_language())
}

/// Returns the key, such as `routes/refunds`, of the statement that a decision chose, according to
/// its explanation. `None` if nothing was chosen.
pub(crate) fn chosen_statement_key(
    snapshot: &ProjectSnapshot,
    rules: &Rules,
    explanation: &rulec::Explanation,
) -> Option<String> {
    let intent = explanation.intents.iter().flat_map(|intents| &intents.ranked).find(|intent| intent.chosen);
    let name = explanation.chosen.as_deref().or(intent.map(|intent| &*intent.name))?;
    let table = explanation.tables.last().unwrap_or(&explanation.entry);
    snapshot
        .keys(rules)
        .find_by_key(&crate::keys::statement_key(table, name))
        .map(|statement| statement.key.clone())
}

fn build_decision(
    snapshot: &ProjectSnapshot,
    rules: &Rules,
    entry: Entry<'_>,
    message: &Json,
    show_private: bool,
) -> Decision {
    let explanation = explain(snapshot, rules, entry, message, show_private);
    let result = entry.decide(message);
    let mut decision_json = serde_json::to_value(&result).unwrap_or_default();
    if !show_private {
        if let Some(args) = decision_json.get_mut("args") {
            *args = Json::Object(result.masked_args());
        }
        let has_private = result.masked_message(message) != *message;
        for failure in decision_json.get_mut("failures").and_then(Json::as_array_mut).into_iter().flatten() {
            if has_private {
                failure["message"] = MASK.into();
            }
        }
    }
    let question = Question::new(rules, entry.name()).ok();
    let failure = question.as_ref().and_then(|question| question.answer(message).err());
    let breaches = result.breaches().iter().map(|breach| InputViolation {
        path: breach.path.clone(),
        expected: breach.expected.clone(),
        found: breach.found.clone(),
        hint: breach.hint.clone(),
    });
    let skipped_conditions = entry.skipped(message).into_iter().map(|skipped| LeftOut {
        branch: skipped.branch,
        condition: skipped.condition,
        reason: localized(&skipped.reason),
    });
    let host_functions = rules.program().externs.iter().filter(|function| function.feature.is_none());
    Decision {
        decision: decision_json,
        key: chosen_statement_key(snapshot, rules, &explanation),
        summary: explanation.summary_in(current_language()),
        because: explanation.deciding_conditions().into_iter().cloned().collect(),
        breaches: breaches.collect(),
        left_out: skipped_conditions.collect(),
        question: question.as_ref().map(|question| question.text().to_owned()),
        question_failure: failure.map(|failure| localized(&failure.to_message())),
        missing_functions: host_functions.map(|function| function.name.to_string()).collect(),
        explanation,
        history: History::default(),
    }
}
