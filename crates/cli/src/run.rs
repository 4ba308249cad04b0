//! `rulec run`: makes a decision for every message of a stream of JSON lines.

#[cfg(feature = "http")]
mod server;

#[cfg(feature = "columns")]
use super::columns::AnswerMode;
use super::columns::ColumnArgs;
use super::engine::EngineArgs;
use super::files::RulesArgs;
use super::judge::{self, JudgeArgs, StreamJudges};
use super::language::{language, localized};
use super::model::{ModelAnswer, ModelAnswerSource, ModelArgs, NoAnswer};
use super::run_history::RunHistory;
use super::server::ServerArgs;
use super::stream::{ChunkEnd, LineFailure, LineOutcome, LineWorker, LogFile, StreamArgs, write_json};
use super::summary::DecisionSummary;
use super::term::{Out, Term};
use super::{CliError, ExitStatus, meaning};
use rulec::choice::{self, Question};
use rulec::flow::FlowMatcher;
use rulec::history::Past;
use rulec::payload;
use rulec::{Code, Decision, Entry, Message, RequestAnalysis, Rules, Session};
#[cfg(feature = "columns")]
use rulec_arrow::AnswerColumns;
use rulec_base::diag::comma_list;
use rulec_base::json::JsonError;
use rulec_base::message;
use rulec_report::answer::{Answer, AnswerLine, AnswerOptions, IntentAnswer};
use rulec_report::log::without_observed_mark;
use rulec_runtime::route::{DecidedMessage, observed_log_line};
use rulec_sema::hir::TableKind;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::time::Instant;

/// Decide each message of a stream: JSON lines in, JSON lines out
#[derive(clap::Args)]
#[command(mut_arg("server", |server| server.conflicts_with_all([
    "judged", "log", "history", "model", "replay_answers", "root", "verify", "system", "output", "input_format",
    "output_format"
])))]
#[command(after_help = "Examples:
  rulec run support.rules messages.jsonl > decisions.jsonl
  echo '{\"text\": \"show my files\"}' | rulec run support.rules
  rulec run support.rules messages.jsonl --all | jq -c .matched
  rulec run support.rules messages.jsonl --entry billing
  rulec run decisions.rules payloads.jsonl --decision create_node --context context.json
  rulec run decisions.rules payloads.jsonl --decision-by action_type
  rulec run support.rules messages.parquet --output decisions.parquet
  rulec run support.rules messages.jsonl --log decisions.jsonl --analysis
  rulec run flows.json messages.jsonl         load the rules from another system's JSON
  rulec run bot.rules messages.jsonl --model https://models.example.com/v1 --model-name small --record answers.jsonl
  rulec run bot.rules messages.jsonl --replay-answers answers.jsonl
  rulec run guard.rules calls.jsonl --history   decide with the earlier messages, as `history`
  rulec run guard.rules calls.jsonl --history past/   keep them in a folder
  rulec run guard.rules calls.jsonl --history redis://127.0.0.1:6379   share them
  rulec run support messages.jsonl --server http://127.0.0.1:8181   rules of a service

A message is an object whose keys are the input fields: {\"text\": \"…\", \"ctx\": {…}}. Each message gives one line:
  {\"line\":1,\"entry\":\"routes\",\"chosen\":\"show_files\",\"target\":\"file_handler\",\"args\":{…},\"metadata\":{…}}
`chosen` is the name of the chosen route, or null if no route holds and there is no default. `target` is its \
handler. A line that is not a valid message gives an error, and the exit status is then 1; the other lines are still \
decided:
  {\"line\":2,\"error\":{\"code\":\"E0601\",\"message\":\"…\",\"column\":3}}
Blank lines are skipped. A summary of the decisions is printed on standard error.

Flows are found by their patterns, then by the built-in classifier (`score`). A choice that asks a language model \
reads its answer from the message, {\"answers\": {\"NAME\": \"BRANCH\"}}; without an answer, the default is chosen, \
and `failure` says so. With `--model URL --model-name NAME`, choices and flows ask the model itself. The answer to a \
payload has `valid`, its `violations`, and `outcome`.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    stream: StreamArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    /// Where the decision begins: the name of a table, choice, router or payload kind, or `flows`
    /// [default: the routes outside any table; without them, the only choice, router or `flows`]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Do not decide: judge each line by the `payload` statement of this name, which describes JSON
    /// that a model or program proposes
    #[arg(long, value_name = "KIND", group = "judged", conflicts_with_all = ["entry", "all", "explain"])]
    decision: Option<String>,
    /// Judge payloads of several kinds: the field of each line that names its `payload` statement,
    /// such as `action_type`
    #[arg(long, value_name = "FIELD", group = "judged", conflicts_with_all = ["entry", "all", "explain"])]
    decision_by: Option<String>,
    #[command(flatten)]
    judge: JudgeArgs,
    /// Add `matched` to each answer: the names of all routes whose condition holds, in the order in
    /// which they are tried
    #[arg(long)]
    all: bool,
    /// Add `explanation` to each answer: the result of each condition, as `rulec why --format json`
    /// prints it
    #[arg(long)]
    explain: bool,
    /// Add `analysis` to each answer: intent, entities, keywords and urgency of the message's text,
    /// as `rulec analyze` prints them. Values of `@private` fields are shown; in a log they are
    /// masked
    #[arg(long, conflicts_with = "judged")]
    analysis: bool,
    /// Append each decision with its message to this file, a decision log for `rulec doctor`,
    /// `report`, `studio` and `diff --replay`. Not for payloads, which are judged: no route
    /// decides, and each answer has the line of its payload
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// For rules with a `history` statement: record each message that has a time `now` and the key,
    /// so that later decisions of this key read it. A message with `"observe": true` is only
    /// recorded. DIR is a folder (feature `history`) or `redis://HOST:PORT/DATABASE#NAME` (feature
    /// `shared`) [default DIR: in memory]
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    history: Option<Option<PathBuf>>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

impl Args {
    fn answer_options(&self) -> AnswerOptions {
        let Args { all: matched, explain: explanation, analysis, .. } = *self;
        AnswerOptions {
            includes_matched: matched,
            includes_explanation: explanation,
            includes_analysis: analysis,
            language: language(),
        }
    }
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    #[cfg(feature = "http")]
    if let Some(server) = super::server::ServiceClient::open(&args.server)? {
        return server::run(&server, args, term, out);
    }
    #[cfg(not(feature = "http"))]
    args.server.reject()?;
    let (rules, context) = args.rules.load_with_context(term)?;
    let rules = args.engine.apply_to(rules);
    let selected_kind = judge::selected_payload_kind(&rules, args.decision.as_deref(), args.entry.as_deref());
    if args.model.selects_answer_source() && (selected_kind.is_some() || args.decision_by.is_some()) {
        return Err(no_question_error(args));
    }
    let judges = match (&args.decision_by, selected_kind) {
        (Some(field), _) => {
            Some(StreamJudges::new_by_field(field, &rules, &args.judge, context.as_ref(), term)?)
        }
        (None, Some(kind)) => {
            Some(StreamJudges::One(args.judge.build_judge(&rules, kind, context.as_ref(), term)?))
        }
        (None, None) => None,
    };
    if let Some(judges) = judges {
        judge::reject_decision_options([args.log.is_some(), args.all, args.explain, args.analysis])?;
        let history = RunHistory::open((&rules, &args.rules.path), args.history.as_ref(), term)?;
        let history = history.as_ref().map(|history| (&rules, history));
        return judge::run(&judges, history, &args.stream, &args.columns, term, out);
    }
    let entry = select_entry(&rules, args.entry.as_deref())?;
    let question = Question::new(&rules, entry.name()).ok();
    let asks_model = question.is_some() || meaning::has_intent_flows(&rules, entry);
    if args.model.selects_answer_source() && !asks_model {
        return Err(no_question_error(args));
    }
    let model = args.model.open()?;
    let matcher = meaning::intent_matcher(&rules, entry, model.is_some(), term);
    if args.analysis {
        // If the classifier of intents cannot be trained, reports this before any message is read.
        rules.analyze_text("", &Json::Null).map_err(|error| CliError::input_error(error.to_message()))?;
    }
    if let Some(question) = question.as_ref().filter(|_| model.is_none()) {
        term.print_note(&meaning::model_question_note(question, &args.rules.path));
    }
    let history = RunHistory::open((&rules, &args.rules.path), args.history.as_ref(), term)?;
    let worker = || DecidingWorker {
        rules: &rules,
        history: history.as_ref(),
        entry,
        session: entry.session(),
        matcher: matcher.as_ref(),
        question: question.as_ref(),
        model: model.as_ref(),
        args,
        summary: DecisionSummary::default(),
        log_lines: Vec::new(),
    };
    let outcome = if args.columns.needs_batches(&args.stream) {
        let lines_only =
            args.log.is_some().then_some("--log").or(args.history.is_some().then_some("--history"));
        if let Some(option) = lines_only.or(model.is_some().then(|| args.model.option_name())) {
            return Err(CliError::usage_error(message!(
                "`{option}` needs messages and answers as JSON lines, and answers on standard output"
            )));
        }
        decide_columns(args, (&rules, entry), worker, term, out)
    } else {
        let log = args.log.as_deref().map(LogFile::open).transpose()?;
        let (deciders, errors) = args.stream.answer_stream(term, (&mut *out, log), worker)?;
        Ok((deciders, DecisionSummary::default(), errors))
    };
    let (deciders, mut summary, errors) = outcome?;
    deciders.into_iter().for_each(|decider| summary.merge(decider.summary));
    if !out.is_closed() {
        term.print(&summary.render(&rules, errors));
        history.iter().for_each(|history| history.report_unrecorded(term));
    }
    Ok(if errors > 0 { ExitStatus::Errors } else { ExitStatus::Success })
}

/// Returns the usage error for options that name a language model, although no decision asks a
/// model.
fn no_question_error(args: &Args) -> CliError {
    let option = args.model.option_name();
    CliError::usage_error(message!(
        "`{option}` has no effect: a model answers only a choice that asks (`choice NAME ask …`) and flows with an \
        `intent`; `--entry` selects one"
    ))
}

/// Decides all messages of `rulec run` if its input or output is columnar (a Parquet, Arrow or CSV
/// file). Decisions that need neither an explanation nor a language model are made directly on the
/// columns, without conversion to JSON. Returns the state of each worker thread, the summary, and
/// the number of rejected messages.
#[cfg(feature = "columns")]
fn decide_columns<W: LineWorker>(
    args: &Args,
    (rules, entry): (&Rules, Entry<'_>),
    worker: impl Fn() -> W,
    term: &Term,
    out: &mut Out,
) -> Result<(Vec<W>, DecisionSummary, usize), CliError> {
    let columns = || AnswerColumns::for_entry(rules, entry, args.all, args.explain);
    let is_plain =
        !args.explain && !args.analysis && matches!(entry.kind(), TableKind::Routes | TableKind::Router);
    let mut mode = AnswerMode::new(&columns);
    if is_plain {
        mode = mode.with_plain_decisions(rules, entry, args.all);
    }
    args.columns.answer_columns(&args.stream, term, out, &mode, worker)
}

#[cfg(not(feature = "columns"))]
fn decide_columns<W: LineWorker>(
    _: &Args,
    _: (&Rules, Entry<'_>),
    _: impl Fn() -> W,
    _: &Term,
    _: &mut Out,
) -> Result<(Vec<W>, DecisionSummary, usize), CliError> {
    Err(super::columns::unsupported_error())
}

struct DecidingWorker<'a> {
    rules: &'a Rules,
    /// The store of recorded messages; `None` without `--history`.
    history: Option<&'a RunHistory>,
    entry: Entry<'a>,
    session: Session,
    /// The classifier that finds an intent flow (a flow chosen by meaning) if no keyword pattern
    /// matches. `None` if the rules have no intent flows.
    matcher: Option<&'a FlowMatcher>,
    /// The question for a language model; `None` if the decision needs no model.
    question: Option<&'a Question>,
    /// The source of the model's answers; `None` if each message already contains its answers.
    model: Option<&'a ModelAnswerSource>,
    args: &'a Args,
    summary: DecisionSummary,
    /// Lines for the decision log that the worker has added since the last call of
    /// `take_log_lines`.
    log_lines: Vec<u8>,
}

impl DecidingWorker<'_> {
    fn parse_message(&self, text: &[u8]) -> Result<Json, JsonError> {
        self.rules.parse_message(text).map(Json::Object)
    }

    /// True if a message must be parsed to JSON before it is decided. There are three reasons: the
    /// output or the log needs more than the decision, messages are recorded, or a choice or a
    /// classifier decides. If false, the message is decided directly from its text, which is
    /// faster.
    fn needs_parsed_message(&self) -> bool {
        let Args { all, explain, analysis, log, .. } = self.args;
        *all || *explain
            || *analysis
            || log.is_some()
            || self.history.is_some()
            || self.matcher.is_some()
            || self.entry.kind() == TableKind::Choice
    }

    /// Adds the message and its decision to the lines for the decision log, if the user asked for a
    /// log.
    fn log_decision(&mut self, decided: DecidedMessage<'_>, analysis: Option<&RequestAnalysis>) {
        if self.args.log.is_some() {
            let analysis = analysis.map(|analysis| self.rules.masked_analysis(analysis));
            let decided = decided.analysis(analysis);
            // Serializing cannot fail, because the message was parsed from JSON.
            self.log_lines.extend(decided.to_log_line().unwrap_or_default());
        }
    }

    /// If the user asked for a log, adds an observed message (one that is recorded but not decided)
    /// to the lines for the decision log. A replay of the log then has the same earlier messages.
    fn log_observed_message(&mut self, message: &Json) {
        if let (Some(_), Some(message)) = (&self.args.log, without_observed_mark(message)) {
            self.log_lines.extend(observed_log_line(self.rules, &message).unwrap_or_default());
        }
    }
}

/// The data that a language model contributed to the decision of a choice.
#[derive(Default)]
struct ModelContribution {
    /// The reason why the model chose the branch, in words that the model wrote for the user.
    reason: Option<String>,
    /// The reason why the model's answer is missing; the default branch is then taken. `None` if
    /// there is an answer, or if the model was not asked.
    failure: Option<Message>,
}

impl DecidingWorker<'_> {
    /// Asks the language model the question of the choice, and adds the answer to the message. Does
    /// nothing if the message already contains an answer.
    fn answer_question(&self, message: &mut Json) -> Result<ModelContribution, LineFailure> {
        let (Some(question), Some(model)) = (self.question, self.model) else {
            return Ok(ModelContribution::default());
        };
        if !matches!(question.answer(message), Err(choice::NoAnswer::Missing { .. })) {
            return Ok(ModelContribution::default());
        }
        Ok(match model.answer(&question.request(message)) {
            Ok(ModelAnswer { selected_id: Some(id), reason, .. }) => {
                question.add_answer(message, &id);
                ModelContribution { reason, failure: None }
            }
            Ok(ModelAnswer { reply_text: text, .. }) => ModelContribution {
                reason: None,
                failure: Some(meaning::no_tool_call_message(text.as_deref())),
            },
            Err(NoAnswer::Failed(failure)) => ModelContribution { reason: None, failure: Some(failure) },
            Err(NoAnswer::Unavailable { message, help }) => {
                return Err(LineFailure::NoAnswer { code: Code::NoModelAnswer, message, help });
            }
        })
    }

    /// Answers a message for which the keyword patterns chose no flow. The classifier chooses a
    /// flow by the meaning of the text; if it chooses none, a language model may choose. `decision`
    /// is the decision by keyword patterns, and `start` the time at which it began.
    fn answer_by_meaning(
        &mut self,
        matcher: &FlowMatcher,
        line: u64,
        (message, decision): (&Json, &Decision),
        start: Instant,
        out: &mut Vec<u8>,
    ) -> Result<LineOutcome, LineFailure> {
        let mut answer = IntentAnswer::from_classifier(matcher, message, decision);
        if let (Some(model), None) = (self.model, &answer.name) {
            meaning::ask_model(&mut answer, matcher, model, message)?;
        }
        self.summary.count_intent(answer.name.as_deref());
        answer.add_parts(matcher, message, self.args.answer_options());
        write_json(out, &AnswerLine { line, answer: &answer });
        let decided = DecidedMessage::new(decision, message).elapsed(start.elapsed());
        let explanation = answer.explanation.take();
        let decided = decided.flow(answer.name.as_deref()).explanation(explanation);
        self.log_decision(decided, answer.analysis.as_ref());
        Ok(LineOutcome::Answered)
    }
}

impl LineWorker for DecidingWorker<'_> {
    fn waits_for_program(&self) -> bool {
        self.model.is_some()
    }

    fn keeps_order(&self) -> bool {
        self.history.is_some()
    }

    fn has_failed(&self) -> bool {
        self.history.is_some_and(RunHistory::has_failed)
    }

    fn end_chunk(&mut self) -> Result<ChunkEnd, CliError> {
        self.history.map_or_else(|| Ok(ChunkEnd::default()), RunHistory::flush)
    }

    fn answer(&mut self, line: u64, message: &[u8], out: &mut Vec<u8>) -> Result<LineOutcome, LineFailure> {
        let (entry, args, start) = (self.entry, self.args, Instant::now());
        if !self.needs_parsed_message() {
            let decision = self.session.decide_line(message)?;
            self.summary.count_decision(&decision);
            write_decision(out, line, &decision);
            return Ok(LineOutcome::Answered);
        }
        let mut message = self.parse_message(message)?;
        let rules = self.rules;
        if self.history.is_some_and(|history| history.record_if_observe_only(rules, line, &message, out)) {
            self.log_observed_message(&message);
            return Ok(LineOutcome::Answered);
        }
        let ModelContribution { reason: model_reason, failure: model_failure } =
            self.answer_question(&mut message)?;
        let keeps_past = args.all || args.explain;
        let (decision, past) = match self.history {
            Some(history) => history.decide_and_record((rules, entry), &message, keeps_past),
            None => (entry.decide(&message), Past::default()),
        };
        if self.has_failed() {
            // The stream ends before this line, so nothing is written for it.
            return Ok(LineOutcome::Rejected);
        }
        if let Some(matcher) = self.matcher.filter(|_| decision.statement().is_none()) {
            return self.answer_by_meaning(matcher, line, (&message, &decision), start, out);
        }
        let entry = if self.history.is_some() { entry.with_history(&past) } else { entry };
        let elapsed = start.elapsed();
        self.summary.count_decision(&decision);
        let mut answer =
            Answer::new(self.rules, entry, self.question, &decision, &message, args.answer_options());
        if let Some(failure) = model_failure {
            answer.failure = Some(localized(&failure).into_owned());
        }
        answer.reason = model_reason.or(answer.reason);
        write_json(out, &AnswerLine { line, answer: &answer });
        let Answer { explanation, analysis, .. } = answer;
        let decided = DecidedMessage::new(&decision, &message).elapsed(elapsed).explanation(explanation);
        self.log_decision(decided, analysis.as_ref());
        Ok(LineOutcome::Answered)
    }

    fn take_log_lines(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.log_lines)
    }
}

/// Writes the output line of a plain decision (without explanation or intent flow). The line is the
/// same as a serialized [`AnswerLine`], but is written faster.
fn write_decision(out: &mut Vec<u8>, line: u64, decision: &Decision) {
    out.extend_from_slice(b"{\"line\":");
    out.extend_from_slice(itoa::Buffer::new().format(line).as_bytes());
    out.push(b',');
    decision.write_json_fields(out);
    out.extend_from_slice(b"}\n");
}

/// Returns the entry (table, choice or router) named `name`, which decides the messages. Without a
/// name, returns the routes outside all tables. If there are no such routes, returns the only
/// choice, router or set of flows. Returns an error if there is none, or if there are several.
pub fn select_entry<'r>(rules: &'r Rules, name: Option<&str>) -> Result<Entry<'r>, CliError> {
    match name {
        Some(name) => rules.entry(name).map_err(|error| {
            let kinds: Vec<&str> = payload::kinds(rules).collect();
            CliError::usage_error(match kinds.is_empty() {
                true => error.to_message(),
                false => message!(
                    "{}; a payload kind is chosen with `--decision`: {}",
                    error.to_message(),
                    comma_list(kinds)
                ),
            })
        }),
        None => rules.default_entry().map_err(|entries| match entries.is_empty() {
            true => no_entries_error(rules),
            false => ambiguous_entry_error(rules, &entries),
        }),
    }
}

fn no_entries_error(rules: &Rules) -> CliError {
    let kinds: Vec<&str> = payload::kinds(rules).collect();
    CliError::usage_error(match kinds.is_empty() {
        true => message!("the rules contain no route, choice, router or flow to decide with"),
        false => {
            message!(
                "the rules judge payloads; choose a payload kind with `--decision`: {}",
                comma_list(kinds)
            )
        }
    })
}

fn ambiguous_entry_error(rules: &Rules, entries: &[&str]) -> CliError {
    let tables = entries.iter().all(|name| rules.entry_of_kind(name, TableKind::Routes).is_ok());
    let reason = match tables {
        true => message!("every route is in a table"),
        false => message!("the rules contain several entries"),
    };
    CliError::usage_error(message!("{why}; choose one with `--entry`: {}", comma_list(entries), why = reason))
}
