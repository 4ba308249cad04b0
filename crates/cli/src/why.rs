//! `rulec why`: explains to a user why the rules decide one message as they do.

#[cfg(feature = "http")]
pub mod server;

use super::files::{self, RulesArgs, with_shell_help};
use super::judge::{self, JudgeArgs};
use super::language::{language, localized};
use super::run::select_entry;
use super::run_history::RunHistory;
use super::server::{GenerationArgs, ServerArgs};
use super::term::{Format, Out, Term};
use super::{CliError, ExitStatus, meaning};
use clap::ArgGroup;
use rulec::choice::Question;
use rulec::history::{HistoryGap, Past};
use rulec::payload::{Judge, Unchecked};
use rulec::{Explanation, InputViolation};
use rulec::{Message, RenderOptions};
use rulec_base::json::{self, DecimalPaths, JsonError};
use rulec_base::message;
use rulec_report::log;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Explain why a message takes its route
#[derive(clap::Args)]
#[command(mut_arg("server", |server| server.conflicts_with_all([
    "judged", "history", "root", "show_private", "system", "verify"
])))]
#[command(override_usage = "rulec why [OPTIONS] <RULES> <TEXT|--text <TEXT>|--ctx <JSON>|--input <JSON>>")]
#[command(after_help = "Examples:
  rulec why support.rules 'show my files'
  rulec why support.rules --text 'show my files' --ctx '{\"message_count\": 4}'
  rulec why support.rules --input '{\"text\": \"hello\", \"now\": \"2026-01-31T12:00:00Z\"}'
  head -1 messages.jsonl | rulec why support.rules --input -
  rulec why support.rules --text hello --format json | jq .trace
  rulec why decisions.rules --decision respond --input '{\"response\": 3}'
  rulec why guard.rules --input '{\"tool\": \"search\", \"now\": \"2026-01-31T12:00:00Z\"}' --history past/
  rulec why support --text 'show my files' --server http://127.0.0.1:8181   rules of a service
  rulec why chatbot.rules --entry mood --input '{\"text\": \"thanks\", \"answers\": {\"mood\": \"calm\"}}'

Prints the chosen route and the reason, and the routes that nearly matched. Use --full if the summary does not \
show why a route was not chosen: it prints the conditions of each route as a tree, with their values.
  ✓ holds   ✗ does not hold   – was not evaluated
  ? is unknown, because a value is missing or has another type
For a payload, these signs mean:
  ✗ a violated rule   ! a warning   ? a rule that could not be checked
Values of `@private` fields are masked, unless --show-private is given.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    message: MessageArgs,
    /// Print each route that was tried, with the result and values of each condition, instead of a
    /// summary
    #[arg(long)]
    full: bool,
    /// Where the decision begins: the name of a table, choice or router, or `flows` [default: the
    /// routes outside any table; without them, the only choice, router or `flows`]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Do not decide: judge `--input` by the `payload` statement of this name, and explain the
    /// result
    #[arg(long, value_name = "KIND", group = "judged", requires = "input", conflicts_with = "entry")]
    decision: Option<String>,
    #[command(flatten)]
    judge: JudgeArgs,
    /// Decide with the earlier messages that `rulec run --history` recorded in this folder or at
    /// this Redis address. Nothing is recorded
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    generation: GenerationArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print the values of fields that the rules declare `@private` [default: `•••` in their place]
    #[arg(long)]
    show_private: bool,
}

/// Arguments that give one message on the command line.
#[derive(clap::Args)]
#[command(group(ArgGroup::new("message").required(true).multiple(true).args(["words", "text", "ctx", "input"])))]
pub struct MessageArgs {
    /// The message's `text`
    #[arg(value_name = "TEXT", conflicts_with = "text")]
    words: Option<String>,
    /// The message's `text`
    #[arg(long, allow_hyphen_values = true)]
    text: Option<String>,
    /// The message's `ctx` as JSON, such as `{"message_count": 4}`
    #[arg(long, value_name = "JSON")]
    ctx: Option<String>,
    /// The whole message as a JSON object, instead of `--text` and `--ctx`; `-` reads standard
    /// input
    #[arg(long, value_name = "JSON", conflicts_with_all = ["words", "text", "ctx"], allow_hyphen_values = true)]
    input: Option<String>,
}

/// The data that `rulec why` prints about a decision.
struct WhyReport<'a> {
    explanation: &'a Explanation,
    breaches: &'a [InputViolation],
    /// Whether the rules declare their input with an `input` statement.
    declares_input: bool,
    /// The question for a language model; `None` if the decision needs no model.
    model_question: Option<&'a str>,
    /// The reason why the language model's answer could not be used; `None` if it was used or no
    /// model is asked.
    model_failure: Option<String>,
    /// A note for the user if the language model's answer is missing.
    missing_answer_note: Option<Message>,
    history_gap: Option<HistoryGap>,
}

#[derive(Serialize)]
struct ExplanationOutput<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "<[InputViolation]>::is_empty")]
    breaches: &'a [InputViolation],
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_gap: Option<&'static str>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    #[cfg(feature = "http")]
    if let Some(server) = super::server::ServiceClient::open(&args.server)? {
        return server::run(&server, args, term, out);
    }
    #[cfg(not(feature = "http"))]
    args.server.reject()?;
    let (rules, context) = &args.rules.load_with_context(term)?;
    let context = context.as_ref();
    let history = args
        .history
        .as_deref()
        .map(|place| RunHistory::open_existing((rules, &args.rules.path), place))
        .transpose()?;
    let past_of = |message: &Json| history.as_ref().map(|history| history.past(rules, message)).transpose();
    if let Some(kind) = judge::selected_payload_kind(rules, args.decision.as_deref(), args.entry.as_deref()) {
        let judge = args.judge.build_judge(rules, kind, context, term)?;
        return print_payload_report(args, judge, past_of, term, out);
    }
    let entry = select_entry(rules, args.entry.as_deref())?;
    let message =
        args.message.read_message(term, rules.decimal_paths(), |error| rules.masked_error(error))?;
    if history.is_none() && rules.has_history() {
        term.print_note(&message!(
            "the rules read a history, which is empty here; `--history DIR` reads what `rulec run --history DIR` recorded"
        ));
    }
    let past = past_of(&message)?;
    let entry = past.as_ref().map_or(entry, |past| entry.with_history(past));
    let matcher = meaning::intent_matcher(rules, entry, false, term);
    let explanation = matcher.and_then(|matcher| matcher.explain(&message, args.show_private));
    let explanation = explanation.unwrap_or_else(|| entry.explain(&message, args.show_private));
    let decision = entry.decide(&message);
    let question = Question::new(rules, entry.name()).ok();
    let failure = question.as_ref().and_then(|question| question.answer(&message).err());
    let failure = failure.map(|failure| localized(&failure.to_message()).into_owned());
    let note = question.as_ref().map(|question| meaning::model_question_note(question, &args.rules.path));
    let report = WhyReport {
        explanation: &explanation,
        breaches: decision.breaches(),
        declares_input: rules.program().input.is_some(),
        model_question: question.as_ref().map(Question::text),
        model_failure: failure,
        missing_answer_note: note,
        history_gap: decision.history_gap(),
    };
    print_report(args, &report, term, out)
}

fn print_report(
    args: &Args,
    report: &WhyReport<'_>,
    term: &Term,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    let WhyReport { explanation, breaches, model_question: question, history_gap: gap, .. } = *report;
    let failure = report.model_failure.as_deref();
    match args.format {
        Format::Json => {
            let history_gap = gap.map(HistoryGap::as_str);
            out.write_json(&ExplanationOutput { explanation, breaches, question, failure, history_gap })?;
        }
        Format::Human => {
            match args.full {
                true => out.write_styled(explanation.render(&render_options(term)).trim_end_matches('\n'))?,
                false => out.write_text(explanation.summary_in(language()).trim_end_matches('\n'))?,
            }
            if let Some(question) = question {
                out.write_line("")?;
                out.write_message(&message!("a language model is asked: {}", question))?;
                if let Some(failure) = failure {
                    out.write_message(&message!("  ! {failure}"))?;
                    report.missing_answer_note.iter().for_each(|note| term.print_note(note));
                }
            }
            if let Some(gap) = gap {
                out.write_line("")?;
                out.write_message(&match gap {
                    HistoryGap::NoKey => message!("  ! the message has no key, so its history is empty"),
                    HistoryGap::Dropped => {
                        message!("  ! messages within a window of the rules were removed from the history")
                    }
                })?;
            }
            if !breaches.is_empty() {
                out.write_line("")?;
                out.write_message(&match report.declares_input {
                    true => message!("the message violates what `input` declares:"),
                    false => message!("the message violates what the rules expect of it:"),
                })?;
            }
            for InputViolation { path, expected, found, hint, .. } in breaches {
                let found = if found == "missing" { message!("missing") } else { Message::verbatim(found) };
                let breach = message!("  {path}: expected {expected}, found {found}");
                out.write_message(&match hint {
                    Some(hint) => message!("{breach}; {hint}"),
                    None => breach,
                })?;
            }
        }
    }
    Ok(ExitStatus::Success)
}

/// Prints the rules that a payload violates, or reports that there are none. The exit status is
/// success in both cases.
fn print_payload_report(
    args: &Args,
    judge: Judge,
    past_of_message: impl Fn(&Json) -> Result<Option<Past>, CliError>,
    term: &Term,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    let payload = args.message.read_message(term, DecimalPaths::none(), |error| judge.masked_error(error))?;
    // With a history, the values of inputs may be next to the payload, as for `rulec run`.
    let split = args.history.as_ref().and_then(|_| log::split_payload(&payload));
    let (payload, past, judge) = match split {
        Some((payload, message)) => {
            let judge = judge.message(&message).map_err(|error| CliError::input_error(error.to_message()))?;
            (payload, past_of_message(&Json::Object(message))?, judge)
        }
        None => {
            let past = past_of_message(&payload)?;
            (payload, past, judge)
        }
    };
    let judge = match past {
        Some(past) => judge.with_history(past),
        None => judge,
    };
    let violations = judge.why(&payload);
    match args.format {
        Format::Json => out.write_json(&violations)?,
        Format::Human => {
            for violation in &violations {
                violation.lines().iter().try_for_each(|line| out.write_message(line))?;
            }
            let judgement = judge.judge(&payload);
            for Unchecked { rule, path, message, .. } in judgement.unchecked() {
                out.write_message(&message!("? {rule} at {path}: {message}"))?;
            }
            match judgement.is_valid() {
                true => out.write_message(&message!("\u{2713} no rule is broken"))?,
                false => out.write_message(&message!(
                    "the outcome for the payload is {}",
                    judgement.outcome().name()
                ))?,
            }
            for exceeded in judgement.exceeded() {
                out.write_message(&message!("treated as missing: {}", exceeded.to_message()))?;
            }
        }
    }
    Ok(ExitStatus::Success)
}

/// Returns the options for rendering an explanation on standard output.
pub fn render_options(term: &Term) -> RenderOptions {
    let mut options =
        RenderOptions { color: term.is_stdout_colored(), language: language(), ..RenderOptions::default() };
    if let Some(width) = term.width(io::stdout().is_terminal()) {
        options.width = width;
    }
    options
}

impl MessageArgs {
    /// Builds the message from the options. `decimal_paths` are the paths of the fields that the
    /// rules read as decimals, where numbers keep all their digits. `mask_error` masks the names of
    /// private fields that an error message quotes. Prints a note if the text of the message is
    /// itself a JSON object.
    pub fn read_message(
        &self,
        term: &Term,
        decimal_paths: &DecimalPaths,
        mask_error: impl Fn(JsonError) -> JsonError,
    ) -> Result<Json, CliError> {
        if let Some(text) = self.input.as_deref() {
            let refused = |what: &str, error: &JsonError| {
                if !text.trim_start().starts_with('{') && Path::new(text).is_file() {
                    return CliError::usage_error(message!(
                        "`--input` takes JSON, and `{text}` is a file: write `--input - < {text}`, for a file \
                        of one message"
                    ));
                }
                invalid_message_error(what, &mask_error(error.clone()))
            };
            return files::parse_input_object(text, decimal_paths, refused).map(Json::Object);
        }
        let mut map = Map::new();
        if let Some(text) = self.text.as_ref().or(self.words.as_ref()) {
            if serde_json::from_str::<Map<String, Json>>(text).is_ok() {
                term.print_note(&message!(
                    "the text is a JSON object; if it is the whole message, write `--input` before it"
                ));
            }
            if self.words.is_some() && Path::new(text).is_file() {
                term.print_note(&message!(
                    "`{text}` is taken as the text of the message; for the message in this file, write \
                    `--input - < {text}`"
                ));
            }
            map.insert("text".to_owned(), text.as_str().into());
        }
        if let Some(ctx) = &self.ctx {
            let decimal_paths = decimal_paths.field("ctx").unwrap_or(DecimalPaths::none());
            let ctx = json::parse_exact(ctx, decimal_paths).map_err(|error| {
                let error = with_shell_help(ctx, error);
                // The error's path starts inside `ctx`, so `ctx` is added as the first key.
                let error = error.with_keys_added("ctx");
                let error = mask_error(error);
                CliError::input_error(message!(
                    "`--ctx` is not JSON: {} ({})",
                    error.to_message(),
                    error.kind().code()
                ))
            })?;
            map.insert("ctx".to_owned(), ctx);
        }
        Ok(Json::Object(map))
    }
}

fn invalid_message_error(input_name: &str, error: &JsonError) -> CliError {
    CliError::input_error(message!(
        "{what} is not a valid message: {} ({})",
        error.to_message(),
        error.kind().code(),
        what = input_name
    ))
}
