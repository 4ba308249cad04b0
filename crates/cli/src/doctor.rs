//! `rulec doctor`: uses a decision log to find routes and conditions that never matched in
//! production.

use super::compiled::CompileResult;
use super::coverage;
use super::files::{self, CompiledFile};
use super::language::singular_or_plural;
use super::stream;
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use rulec::flow::FlowMatcher;
use rulec::{AnalysisOptions, Message, TableKind};
use rulec_base::message;
use rulec_lang::privacy::Privacy;
use rulec_report::coverage::Coverage;
use rulec_report::log;
use rulec_report::replay::ReplayHistory;
use serde_json::{Map, Value as Json};
use std::path::PathBuf;

/// Report from a decision log which routes were never chosen, and which conditions were never true
/// or never false
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec doctor support.rules --log decisions.jsonl
  zcat decisions-*.gz | rulec doctor support.rules --log -

The log is the decision log that `rulec serve --log`, `rulec run --log` or a router in a program writes: one \
JSON object per line with `time`, `entry`, `path`, `route` and, unless switched off, `message`. If the log \
contains messages, the given rules decide them again, with the earlier lines as their history. The report then \
also shows how many decisions would be different now, and which conditions were never true or never false. Without \
messages, only routes are counted. \
The lines that `rulec run` prints are also read; they have no messages.")]
pub struct Args {
    /// The rules file
    #[arg(value_name = "RULES")]
    rules: PathBuf,
    /// The decision log, JSON lines; `-` reads standard input
    #[arg(long, value_name = "DECISIONS.jsonl")]
    log: PathBuf,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of the rules file]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Statistics about a decision log, apart from coverage.
#[derive(Default)]
struct LogSummary {
    decision_count: usize,
    /// Number of logged decisions whose message was not logged.
    without_message_count: usize,
    /// Number of log lines that are not decisions by an entry (table, choice or router) of these
    /// rules.
    foreign_line_count: usize,
    /// Number of log lines that are results of routers, printed by `rulec run`. These lines are not
    /// counted as decisions, because they do not name the chosen case.
    unnamed_case_count: usize,
    /// Number of logged decisions by routes or routers for which these rules now choose another
    /// route. Flows and choices are not compared, because a language model may have chosen.
    changed_decision_count: usize,
    /// Line number of the first logged decision for which these rules now choose another route;
    /// `None` without such a decision.
    first_changed_line: Option<u64>,
    /// Time of the earliest logged decision; `None` if the log contains no times.
    first_time: Option<String>,
    /// Time of the latest logged decision; `None` if the log contains no times.
    last_time: Option<String>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    if args.rules.is_dir() {
        let path = args.rules.display();
        return Err(CliError::usage_error(message!(
            "`{path}` is a folder; give the rules file that made the decisions"
        )));
    }
    let compiled_files = files::compile_files(std::slice::from_ref(&args.rules), args.root.as_deref())?;
    let [CompiledFile { compiled, .. }] = compiled_files.as_slice() else {
        return Err(CliError::usage_error(message!("name exactly one rules file")));
    };
    let Ok(rules) = &compiled.result else {
        files::show_errors(compiled, term);
        let status = if compiled.is_unreadable() { ExitStatus::Usage } else { ExitStatus::Errors };
        return Err(CliError { status, message: None });
    };
    files::note_missing_functions(rules, term);
    let (mut coverage, mut summary) = (Coverage::new(rules), LogSummary::default());
    let history = ReplayHistory::new(rules);
    let matcher = rules.program().has_intents().then(|| FlowMatcher::offline(rules).ok()).flatten();
    let rejected_lines = stream::read_json_objects(
        &args.log,
        term,
        |error| Privacy::Private(None).mask_error(error),
        |number, line| summary.add_log_line(number, line, (matcher.as_ref(), &history), &mut coverage),
    )?;
    if summary.decision_count == 0 && summary.unnamed_case_count > 0 {
        let log = args.log.display();
        return Err(CliError::input_error(message!(
            "`{log}` does not name the cases of routers; write a log with `rulec run --log`"
        )));
    }
    if summary.decision_count == 0 {
        let log = args.log.display();
        return Err(CliError::input_error(message!(
            "`{log}` contains no decision of these rules: a line of a decision log has a `route`, and an \
            `entry` that the rules declare"
        )));
    }
    summary.print_report(compiled, &coverage, out)?;
    Ok(if rejected_lines == 0 { ExitStatus::Success } else { ExitStatus::Errors })
}

impl LogSummary {
    fn add_log_line(
        &mut self,
        number: u64,
        line: Map<String, Json>,
        (matcher, history): (Option<&FlowMatcher>, &ReplayHistory<'_>),
        coverage: &mut Coverage<'_>,
    ) {
        let rules = coverage.rules();
        if log::is_observed_line(&line) || log::is_service_line(&line) {
            if let Some(observed) = log::parse_line(line).into_message() {
                history.observe(&log::without_observed_mark(&observed).unwrap_or(observed));
            }
            return;
        }
        let is_router_output = log::is_router_output(&line);
        let Some(logged) = log::parse_decision_line(line) else {
            *if is_router_output { &mut self.unnamed_case_count } else { &mut self.foreign_line_count } += 1;
            return;
        };
        let program = rules.program();
        let Some(table) = program.table_named(&logged.entry_name).map(|id| &program.tables[id.index()])
        else {
            self.foreign_line_count += 1;
            return;
        };
        self.decision_count += 1;
        if let Some(time) = logged.time {
            let is_earliest = self.first_time.as_deref().is_none_or(|first| *time < *first);
            let is_latest = self.last_time.as_deref().is_none_or(|last| *time > *last);
            self.first_time = if is_earliest { Some(time.clone()) } else { self.first_time.take() };
            self.last_time = if is_latest { Some(time) } else { self.last_time.take() };
        }
        let path: Vec<&str> = logged.searched_tables.iter().map(String::as_str).collect();
        let Some(message) = logged.message else {
            self.without_message_count += 1;
            coverage.add_logged_outcome(&path, logged.route.as_deref(), logged.pattern.as_deref());
            return;
        };
        let Ok(entry) = rules.entry_of_kind(&table.name, table.kind) else { return };
        let past = history.decide_and_return_past(entry, &message);
        let entry = entry.with_history(&past);
        let matcher = matcher.filter(|_| table.kind == TableKind::Flows);
        let explanation = matcher.and_then(|matcher| matcher.explain(&message, true));
        let explanation = explanation.unwrap_or_else(|| entry.explain(&message, true));
        // Only routes and routers are compared with the log. Flows and choices may also be selected
        // by the intent classifier or by a language model.
        if matches!(table.kind, TableKind::Routes | TableKind::Router) && explanation.chosen != logged.route {
            self.changed_decision_count += 1;
            self.first_changed_line.get_or_insert(number);
        }
        // The classifier abstained, and a language model chose the flow.
        let is_model_choice = matcher.is_some() && explanation.chosen.is_none() && logged.route.is_some();
        match is_model_choice {
            true => coverage.add_logged_outcome(&path, logged.route.as_deref(), logged.pattern.as_deref()),
            false => coverage.add_decision(&explanation),
        }
        entry.count_conditions(&message, coverage.condition_coverage_mut());
    }

    fn print_report(
        &self,
        compiled: &CompileResult,
        coverage: &Coverage<'_>,
        out: &mut Out,
    ) -> Result<(), CliError> {
        let decisions = coverage::decision_count_text(self.decision_count);
        out.write_message(&match (&self.first_time, &self.last_time) {
            (Some(first), Some(last)) => message!("{decisions} from {first} to {last}"),
            _ => message!("{decisions}, at unknown times"),
        })?;
        if self.foreign_line_count > 0 {
            out.write_message(&message!(
                "{} left out: not decided by an entry of these rules",
                line_count_text(self.foreign_line_count)
            ))?;
        }
        if self.unnamed_case_count > 0 {
            out.write_message(&message!(
                "{} left out: `run` does not print the case of a router; `run --log` writes it",
                line_count_text(self.unnamed_case_count)
            ))?;
        }
        if let Some(line) = self.first_changed_line {
            let otherwise = coverage::decision_count_text(self.changed_decision_count);
            out.write_message(&match coverage.rules().has_history() {
                true => message!(
                    "{otherwise} would differ with these rules, the first at line {line}: the rules have \
                    changed since, a masked value decides, or the history had other messages than the log"
                ),
                false => message!(
                    "{otherwise} would differ with these rules, the first at line {line}: the rules have \
                    changed since, or a masked value decides"
                ),
            })?;
        }
        let findings = compiled.analyse(AnalysisOptions::default());
        if self.without_message_count == self.decision_count {
            out.write_message(&message!(
                "the log contains no messages, so the conditions cannot be evaluated"
            ))?;
            for item in coverage
                .route_items(&[])
                .iter()
                .filter(|item| item.yes_count == 0 && item.item_kind != "rule")
            {
                let (_, position) = coverage.rules().sources().name_and_position(item.span);
                let file = compiled.file_name(item.span.file);
                let (line, column, word) = (position.line, position.column, coverage::kind_label(item));
                out.write_message(&message!(
                    "  {file}:{line}:{column}  {word} `{}`: never chosen",
                    item.name
                ))?;
            }
            return Ok(());
        }
        if self.without_message_count > 0 {
            out.write_message(&message!(
                "{} without a message: counted for routes only",
                line_count_text(self.without_message_count)
            ))?;
        }
        out.write_text(coverage::format_text(compiled, coverage, &findings).trim_end_matches('\n'))
    }
}

/// Returns a localized count, such as `3 lines`.
fn line_count_text(count: usize) -> Message {
    singular_or_plural(count, message!("1 line"), message!("{count} lines"))
}
