//! Writes the report, one HTML file that needs no server. The data of the report is embedded in a
//! template of the page.

use crate::answers::history::replayed_history;
use crate::answers::judge::{build_judge, payload_context};
use crate::answers::{decide, edit, map, replays, table};
use crate::api::{AskReport, CoverageItem, Report, ReportSummary, Sample, Slow, StartReplay, Version};
use crate::assets;
use crate::error::{Answer, RequestError, verbatim_message};
use crate::handle::run_blocking;
use crate::language::{current_language, language_tag, localized, run_with_language};
use crate::replay::{Replay, ReplayedMessage, split_payload_line};
use crate::snapshot::ProjectSnapshot;
use crate::state::{Options, Studio};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::header;
use axum::response::IntoResponse;
use rulec::history::Past;
use rulec::{Message, Rules, TableKind as Kind};
use rulec_base::message;
use rulec_report::coverage::{Coverage, CoveredItem};
use rulec_report::replay::ReplayHistory;
use rulec_sema::hir::TableKind;
use serde_json::Value;
use std::sync::Arc;

/// File name of the report's template among the files of the page.
pub(crate) const REPORT_TEMPLATE_FILE: &str = "report.html";
/// Placeholder text in the template, which the JSON of the report replaces.
const REPORT_PLACEHOLDER: &str = "\"REPORT\"";
/// Maximum number of replayed messages from which the coverage is counted. The number is limited
/// because every counted message is decided again. The counted messages are evenly spaced over the
/// replay.
const MAX_COVERED_MESSAGES: usize = 2_000;
/// Maximum number of sample decisions in a report.
const MAX_SAMPLE_DECISIONS: usize = 12;
/// Maximum number of slowest statements that a report lists.
const MAX_SLOWEST_STATEMENTS: usize = 10;

/// Options of a report: the rules, and optionally a log or messages.
pub type ReportOptions = Options;

/// The reason why the report cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct ReportError(Message);

impl ReportError {
    /// Returns the error as a localized message. If the error is about the content of a file, its
    /// text is already in the language of the options.
    pub fn to_message(&self) -> Message {
        self.0.clone()
    }
}

/// Returns the report on the first rule set, as the text of one HTML file without external parts.
/// If both a log and messages are given, only the log is replayed.
///
/// # Errors
///
/// Returns an error if the rules do not compile, if a file cannot be read, or if the program was
/// built without the page.
pub fn report(options: &ReportOptions) -> Result<String, ReportError> {
    run_with_language(options.language.unwrap_or_default(), || write_report(options))
}

fn write_report(options: &ReportOptions) -> Result<String, ReportError> {
    let studio = Arc::new(Studio::new(options).map_err(ReportError)?);
    let to_report_error = |error: RequestError| ReportError(Message::verbatim(error.body.message));
    let version = Version { rules: 0, draft: false };
    let replay = match studio.message_files().first() {
        Some(source) => {
            let request = StartReplay { version, source: source.description.id, entry: None, against: None };
            let replay = replays::run_replay(&studio, &request).map_err(to_report_error)?;
            if let Some(failure) = replay.sums().failure {
                return Err(ReportError(Message::verbatim(failure)));
            }
            Some(replay.id)
        }
        None => None,
    };
    let report = collect_report(&studio, AskReport { version, replay }).map_err(to_report_error)?;
    render_report_page(&report).map_err(to_report_error)
}

/// Responds to a request with a report as an HTML file.
pub(crate) async fn report_response(
    State(studio): State<Arc<Studio>>,
    body: Result<Json<AskReport>, JsonRejection>,
) -> Answer<impl IntoResponse> {
    let Json(request) = body.map_err(|error| RequestError::invalid(verbatim_message(error.body_text())))?;
    let page = run_blocking(move || render_report_page(&collect_report(&studio, request)?)).await?;
    let name = "attachment; filename=\"report.html\"";
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_DISPOSITION, name)], page))
}

fn render_report_page(report: &Report) -> Answer<String> {
    let template = assets::page_file(REPORT_TEMPLATE_FILE).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let Some((head, tail)) = template.and_then(|template| template.split_once(REPORT_PLACEHOLDER)) else {
        return Err(RequestError::broken(message!(
            "the program was built without the studio's page: run `studio/build`, which needs Node, then build it with `--features studio`"
        )));
    };
    let json =
        serde_json::to_string(report).map_err(|error| RequestError::broken(verbatim_message(error)))?;
    Ok([head, &escape_markup(&json), tail].concat())
}

/// Escapes the characters of a JSON text that a browser could read as markup.
fn escape_markup(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Collects the data of a report about one version of a rule set: its map, tables, coverage, tests
/// and sample decisions.
pub(crate) fn collect_report(studio: &Arc<Studio>, request: AskReport) -> Answer<Report> {
    let project = studio.project(request.version.rules)?;
    let snapshot = project.snapshot(request.version.draft);
    let rules = snapshot.rules()?;
    // The replay's counts explain unused statements by the analysis findings, which the map has
    // computed.
    let map = map::build_map(&snapshot, true)?;
    let replay = request.replay.map(|id| studio.replay(id)).transpose()?;
    let sums = replay.as_ref().map(|replay| replay.sums());
    let (coverage, covered_by_tests) =
        match replay.as_deref().filter(|replay| replay.sums().progress.messages > 0) {
            Some(replay) => (coverage_of_replay(&snapshot, rules, replay)?, false),
            None => (Coverage::from_tests(rules, |_| true), true),
        };
    let covered_decisions = coverage.decision_count();
    let routes = coverage.route_items(snapshot.findings());
    let coverage = routes
        .into_iter()
        .chain(coverage.condition_items())
        .map(|item| coverage_item(&snapshot, item))
        .collect();
    let tests = edit::test_runs(&snapshot, rules);
    let tables = map
        .tables
        .iter()
        .filter(|table| !table.routes.is_empty())
        .map(|one| table::build_table(&snapshot, &one.name, true));
    let mut slowest: Vec<Slow> = map
        .tables
        .iter()
        .flat_map(|table| &table.routes)
        .map(|route| {
            let replay_count = sums.iter().flat_map(|sums| &sums.counts).find(|count| count.key == route.key);
            Slow {
                key: route.key.clone(),
                name: route.name.clone(),
                median_us: replay_count.and_then(|count| count.median_us),
                longest_us: replay_count.and_then(|count| count.longest_us),
                steps: route.steps,
            }
        })
        .collect();
    slowest.sort_by_key(|slow| std::cmp::Reverse((slow.median_us, slow.longest_us, slow.steps)));
    slowest.truncate(MAX_SLOWEST_STATEMENTS);
    Ok(Report {
        name: project.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        language: language_tag(current_language()),
        summary: ReportSummary {
            files: snapshot.file_names().len(),
            tables: map.tables.len() + map.payloads.len(),
            statements: map.tables.iter().chain(&map.payloads).map(|table| table.routes.len()).sum(),
            tests: tests.len(),
            failed: tests.iter().filter(|test| !test.passed).count(),
            warnings: edit::all_diagnostics(&snapshot, true)
                .into_iter()
                .map(|diagnostic| {
                    format!(
                        "{}:{}: {} ({})",
                        diagnostic.file, diagnostic.line, diagnostic.message, diagnostic.code
                    )
                })
                .collect(),
            never: sums.as_ref().map(|sums| sums.counts.iter().filter(|count| count.never.is_some()).count()),
        },
        tables: tables.collect::<Answer<_>>()?,
        map,
        coverage,
        covered_decisions,
        covered_by_tests,
        slowest,
        samples: sample_decisions(studio, &snapshot, rules, replay.as_deref())?,
        replay: sums,
        tests,
    })
}

fn coverage_item(snapshot: &ProjectSnapshot, item: CoveredItem) -> CoverageItem {
    let range = snapshot.source_range(item.span);
    CoverageItem {
        what: item.item_kind.to_owned(),
        name: item.name,
        line: range.as_ref().map_or(1, |range| range.line),
        file: range.map_or_else(String::new, |range| range.file),
        tried: item.tried_count,
        yes: item.yes_count,
        no: item.no_count,
        gap: item.gap.as_ref().map(localized),
    }
}

/// Decides the messages of a replay again, with their history. Returns the coverage of at most
/// [`MAX_COVERED_MESSAGES`] of them: how often each statement and condition was true.
fn coverage_of_replay<'r>(
    snapshot: &ProjectSnapshot,
    rules: &'r Rules,
    replay: &Replay,
) -> Answer<Coverage<'r>> {
    let mut coverage = Coverage::new(rules);
    let counted_lines = replay.evenly_spaced_lines(MAX_COVERED_MESSAGES);
    let is_counted = |line: u64| counted_lines.binary_search(&line).is_ok();
    let history = ReplayHistory::new(rules);
    // Later decisions read all messages of a history.
    let is_needed = |line: u64| rules.has_history() || is_counted(line);
    replay.visit_messages(is_needed, |ReplayedMessage { line_number, entry_name, message }| {
        let Some(entry_name) = entry_name else { return history.observe(&message) };
        match rules.entry(&entry_name) {
            Ok(entry) if entry.kind() != Kind::Requirements => {
                if !is_counted(line_number) {
                    return history.decide(entry, &message);
                }
                let past = history.decide_and_return_past(entry, &message);
                let entry = entry.with_history(&past);
                coverage.add_decision(&entry.explain(&message, true));
                entry.count_conditions(&message, coverage.condition_coverage_mut());
            }
            _ => {
                let (payload, inputs) = split_payload_line(snapshot, &entry_name, message);
                let Ok(context) = payload_context(rules, None, inputs.clone()) else { return };
                // A message whose inputs have wrong types is not recorded.
                let Ok(judge) = build_judge(rules, &entry_name, context, Past::default()) else { return };
                let past = inputs.map(|inputs| history.observe_and_return_past(&Value::Object(inputs)));
                if is_counted(line_number) {
                    let judge = judge.with_history(past.unwrap_or_default());
                    coverage.add_judgement(&entry_name, &judge.judge(&payload));
                    judge.count_conditions(&payload, coverage.condition_coverage_mut());
                }
            }
        }
    })?;
    Ok(coverage)
}

/// Returns the earlier messages that the rules read as history when they decide the message on the
/// line `line` of the replayed file.
fn past_of_line(studio: &Studio, replay: &Replay, line: u64) -> Answer<Past> {
    let (session, _) = replay.earlier_messages_of_line(line)?;
    Ok(replayed_history(studio, replay, line, &session)?.past)
}

/// A message for a sample decision: its line in the replayed file, the name of the entry that
/// decides it, the message itself, and its history. The line is `None` for the message of a test.
type SampleMessage = (Option<u64>, String, Value, Past);

/// Returns sample decisions with explanations, one for each of the statements that a replay chose
/// most often. Without a replay, the messages come from tests.
fn sample_decisions(
    studio: &Studio,
    snapshot: &ProjectSnapshot,
    rules: &Rules,
    replay: Option<&Replay>,
) -> Answer<Vec<Sample>> {
    let mut messages: Vec<SampleMessage> = Vec::new();
    match replay {
        Some(replay) => {
            for line in replay.one_line_per_statement(MAX_SAMPLE_DECISIONS) {
                if let Ok(message) = replay.message_of_line(line) {
                    let past = past_of_line(studio, replay, line)?;
                    messages.push((Some(line), replay.entry_of_line(line)?, message, past));
                }
            }
        }
        None => {
            let program = rules.program();
            let tests = program.tests.iter().map(|test| (&program.tables[test.entry_table.index()], test));
            let decision_tests = tests.filter(|(table, _)| table.kind != TableKind::Requirements);
            messages.extend(decision_tests.take(MAX_SAMPLE_DECISIONS).map(|(table, test)| {
                (None, table.name.to_string(), test.message.clone(), rules.past_of_test(test))
            }));
        }
    }
    let sample = |(line, entry, message, past): SampleMessage| {
        let entry = rules.entry(&entry).ok().filter(|entry| entry.kind() != TableKind::Requirements)?;
        let entry = entry.with_history(&past);
        let explanation = decide::explain(snapshot, rules, entry, &message, studio.show_private);
        let key = decide::chosen_statement_key(snapshot, rules, &explanation);
        Some(Sample {
            line,
            message: if studio.show_private { message } else { rules.masked_message(&message) },
            key: key.unwrap_or_else(|| crate::keys::statement_key(entry.name(), crate::keys::NO_STATEMENT)),
            summary: explanation.summary_in(current_language()),
            because: explanation.deciding_conditions().into_iter().cloned().collect(),
            explanation,
        })
    };
    Ok(messages.into_iter().filter_map(sample).collect())
}

#[cfg(test)]
mod tests {
    use super::escape_markup;

    #[test]
    fn embedded_json_is_escaped() {
        let json = serde_json::to_string("</script><!-- & \u{2028}").expect("a text is JSON");
        let shown = escape_markup(&json);
        assert!(!shown.contains(['<', '>', '&', '\u{2028}']), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).ok().as_deref(), Some("</script><!-- & \u{2028}"));
    }
}
