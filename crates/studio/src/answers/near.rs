//! Finds near misses: changes of a message that would make the rules choose another statement, such
//! as another route.

use super::decide::explain;
use super::find_entry;
use super::history::{RequestEntry, request_history};
use super::message::request_message;
use crate::api::{AskNear, Near, NearField, NearKind};
use crate::error::{Answer, RequestError, verbatim_message};
use crate::language::localized;
use crate::state::Studio;
use rulec::why_not::{Remedy, WhyNot};
use rulec_eval::trace::{Mark, TableTrace, TraceNode};
use rulec_sema::hir::{Program, TableId};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of statements for which a change of the message is searched.
const MAX_SEARCHED_ROUTES: usize = 12;
/// Maximum number of near misses (statements that were nearly chosen) in a response.
const MAX_RETURNED_NEAR_MISSES: usize = 6;
/// Time limit of the search, because a user waits for the result. Statements that the search has
/// not reached by then are left out.
const SEARCH_TIME_LIMIT: Duration = Duration::from_secs(2);

pub(crate) fn near_misses(studio: &Arc<Studio>, request: AskNear) -> Answer<Vec<Near>> {
    // While the user types, the page sends many requests, but shows only the newest result. So an
    // older search stops.
    let is_newest = studio.register_newest_request();
    let snapshot = studio.snapshot(request.version)?;
    let rules = snapshot.rules()?;
    let entry = find_entry(rules, &request.entry)?;
    let message = request_message(studio, rules, &request.entry, &request.message, request.row.as_ref())?
        .map_err(|mistake| RequestError::invalid(verbatim_message(mistake.message)))?;
    let of = RequestEntry { rules, entry_name: &request.entry, entry: Some(entry) };
    let history = request_history(studio, of, &request.history, &message)?;
    let entry = entry.with_history(&history.past);
    let to_visible =
        |why_not: WhyNot| to_near_miss(if studio.show_private { why_not } else { why_not.masked() });
    if let Some(route) = &request.route {
        // A test names a statement with its table, in back quotes if necessary. The search knows
        // defaults and quoted names only without them.
        let plain_name = route.rsplit('.').next().unwrap_or(route).trim_matches('`');
        let found = entry.why_not(route, &message).or_else(|_| entry.why_not(plain_name, &message));
        return Ok(vec![to_visible(found.map_err(|error| RequestError::missing(error.to_message()))?)]);
    }
    let started = Instant::now();
    let mut results: Vec<Near> = Vec::new();
    let trace = explain(&snapshot, rules, entry, &message, true).trace;
    for name in candidate_statement_names(&trace, rules.program(), entry.id()) {
        if started.elapsed() > SEARCH_TIME_LIMIT || !is_newest() {
            break;
        }
        let Ok(why_not) = entry.why_not(&name, &message) else { continue };
        let is_change = matches!(why_not.remedy, Remedy::Change { .. });
        if is_change && !results.iter().any(|other| other.route == why_not.route) {
            results.push(to_visible(why_not));
        }
    }
    results.sort_by_key(|near| near.fields.len());
    results.truncate(MAX_RETURNED_NEAR_MISSES);
    Ok(results)
}

/// Returns the names of the statements for which the near-miss search should try to change the
/// message. Statements with the fewest failed predicates come first. Statements that were not
/// evaluated come last.
fn candidate_statement_names(trace: &TableTrace, program: &Program, entry: TableId) -> Vec<String> {
    let mut failed = Vec::new();
    collect_failed_statements(trace, &mut failed);
    failed.sort_by_key(|(_, failed_predicates)| *failed_predicates);
    let mut names: Vec<String> = failed.into_iter().map(|(name, _)| name).collect();
    // Statements after the chosen one are missing in the trace, because they were not evaluated.
    let table = &program.tables[entry.index()];
    names.extend(table.evaluation_order.iter().map(|id| program.rules[id.index()].name.to_string()));
    names.extend(table.default.iter().map(|_| "default".to_owned()));
    let mut distinct_names = BTreeSet::new();
    names.retain(|name| distinct_names.insert(name.clone()));
    names.truncate(MAX_SEARCHED_ROUTES);
    names
}

/// Collects the statements that were evaluated and not chosen, in a table and in the tables to
/// which it jumped. Adds each statement to `failed` with the number of its predicates that are
/// false or unknown.
fn collect_failed_statements(table: &TableTrace, failed: &mut Vec<(String, usize)>) {
    for route in &table.routes {
        match (&route.table, route.chosen) {
            (Some(inner), _) => collect_failed_statements(inner, failed),
            (None, false) => failed.push((route.route.clone(), count_failed_predicates(&route.when))),
            (None, true) => {}
        }
    }
    if let Some(inner) = table.default.as_ref().and_then(|default| default.table.as_ref()) {
        collect_failed_statements(inner, failed);
    }
}

fn count_failed_predicates(node: &TraceNode) -> usize {
    match node.children.as_slice() {
        [] => usize::from(matches!(node.result, Mark::False | Mark::Unknown)),
        children => children.iter().map(count_failed_predicates).sum(),
    }
}

fn to_near_miss(why_not: WhyNot) -> Near {
    let (remedy, fields, message, is_smallest) = match why_not.remedy {
        Remedy::Chosen => (NearKind::Chosen, Vec::new(), Json::Null, true),
        Remedy::Change { fields, message, is_smallest } => (NearKind::Change, fields, message, is_smallest),
        Remedy::Never => (NearKind::Never, Vec::new(), Json::Null, true),
        _ => (NearKind::Unknown, Vec::new(), Json::Null, false),
    };
    let fields = fields.into_iter().map(|field| NearField {
        field: field.field,
        is: field.is,
        would_be: field.would_be,
        needs: field.needs.iter().map(localized).collect(),
        private: field.private,
    });
    Near { route: why_not.route, remedy, fields: fields.collect(), message, is_smallest }
}
