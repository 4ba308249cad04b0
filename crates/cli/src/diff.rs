//! `rulec diff`: compares the decisions of two versions of rules.

use super::files::RulesArgs;
use super::language::{localized, singular_or_plural};
use super::lines::LineReader;
use super::run::select_entry;
use super::server::ServerArgs;
use super::stream::open_input;
use super::term::{Format, Out, Term, paint};
use super::{CliError, ExitStatus};
use rulec::diff::{Change, ChangeKind, Diff, EntryDiff, HistoryChange, Verdict, answer};
use rulec::history::MemoryStore;
use rulec::{Decision, Entry, Message, Rules};
use rulec_base::diag::comma_list;
use rulec_base::json::{self, DecimalPaths};
use rulec_base::message;
use rulec_base::text::{display_width, to_one_line, to_printable};
use rulec_report::log::{self, ParsedLine};
use rulec_report::replay::decide_and_record;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compare the meaning of two versions of rules: show what they answer differently, with example
/// messages
#[derive(clap::Args)]
#[command(mut_arg("server", |server| server.conflicts_with_all(["root", "system", "verify"])))]
#[command(after_help = "Examples:
  rulec diff deployed.rules support.rules
  rulec diff deployed.rulec support.rules --replay messages.jsonl
  rulec diff deployed.rules support.rules --replay decisions.log --entry billing
  rulec diff support support.rules --replay decisions.log --server http://127.0.0.1:8181   RULES is in force at a service
  rulec diff deployed.rules support.rules --format json | jq .entries[].changes[].route

Routes, choices, routers and flows are compared; tables are compared if a jump leads to them. Both versions \
have decided each example message. \"no difference in meaning\" is printed only if it is proven; otherwise the \
report says how much was searched. `--replay` decides real messages with both versions: a file with one \
message per line, or a decision log that contains messages.

Exit status: 0 no difference, 1 a difference was found or could not be ruled out, 2 wrong usage.")]
pub struct Args {
    #[command(flatten)]
    old: RulesArgs,
    /// The new version of the rules; RULES is the old version
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Also decide the messages of this file with both versions: one JSON object per line, or a
    /// decision log; `-` reads standard input
    #[arg(long, value_name = "FILE.jsonl")]
    replay: Option<PathBuf>,
    /// Where the decisions of `--replay` begin: the name of a table, choice or router [default: the
    /// routes outside any table; without them, the only choice, router or `flows`]
    #[arg(long, value_name = "NAME", requires = "replay")]
    entry: Option<String>,
    /// Print the values of `@private` fields in replayed messages [default: `•••` in their place]
    #[arg(long, requires = "replay")]
    show_private: bool,
    #[command(flatten)]
    server: ServerArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Maximum number of example messages shown for each kind of changed decision. A kind is a pair of
/// routes: one that the old version chose, and one that the new version chooses.
const MAX_EXAMPLES_PER_FLIP: usize = 3;

#[derive(Serialize)]
struct DiffReport<'a> {
    #[serde(flatten)]
    diff: &'a Diff,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplaySummary>,
}

/// The outcome of deciding the same messages with both versions of the rules.
#[derive(Default, Serialize)]
struct ReplaySummary {
    messages: usize,
    /// Messages that the two versions decide differently, grouped by the route of the old version
    /// and the route of the new version.
    flips: Vec<DecisionFlip>,
    /// Number of lines of the input that are not messages.
    refused: usize,
    /// Number of messages whose decision may differ because a decision log masked some of their
    /// values.
    masked: usize,
}

#[derive(Serialize)]
struct DecisionFlip {
    before: String,
    after: String,
    count: usize,
    examples: Vec<ExampleMessage>,
}

#[derive(Serialize)]
struct ExampleMessage {
    line: u64,
    message: Json,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let old = load_old_version(args, term)?;
    let new = args.old.with_path(&args.new).load(term)?;
    let diff = old.diff(&new);
    let replay = match &args.replay {
        Some(path) => {
            let name = args.entry.as_deref();
            Some(replay_messages(
                [select_entry(&old, name)?, select_entry(&new, name)?],
                old.has_history() || new.has_history(),
                path,
                term,
                |message| {
                    if args.show_private {
                        message
                    } else {
                        new.masked_message(&old.masked_message(&message))
                    }
                },
            )?)
        }
        None => None,
    };
    let verdict = diff.verdict();
    let flipped = replay.as_ref().is_some_and(|replay| !replay.flips.is_empty());
    match args.format {
        Format::Json => out.write_json(&DiffReport { diff: &diff, verdict, replay })?,
        Format::Human => {
            write_diff(&diff, term.is_stdout_colored(), out)?;
            if let Some(replay) = &replay {
                write_replay_summary(replay, term.is_stdout_colored(), out)?;
            }
        }
    }
    Ok(if verdict == Verdict::Same && !flipped { ExitStatus::Success } else { ExitStatus::Errors })
}

/// Loads the old version: the rules in a file, or with `--server` those in force at the service.
fn load_old_version(args: &Args, term: &Term) -> Result<Rules, CliError> {
    #[cfg(feature = "http")]
    if let Some(server) = super::server::ServiceClient::open(&args.server)? {
        return rules_in_force(&server, &args.old.path);
    }
    #[cfg(not(feature = "http"))]
    args.server.reject()?;
    args.old.load(term)
}

/// Compiles the texts of the rules in force at a service.
#[cfg(feature = "http")]
fn rules_in_force(server: &super::server::ServiceClient, rules: &Path) -> Result<Rules, CliError> {
    use rulec::{Compiler, MemoryLoader};

    let name = super::server::rules_name(rules);
    let mut answer = server.describe_rules(&name).map_err(|failure| failure.into_error())?;
    let texts: BTreeMap<String, String> = server.deserialize_answer(answer["texts"].take())?;
    let main: Option<String> = server.deserialize_answer(answer["main"].take())?;
    let Some(main) = main else {
        return Err(CliError::usage_error(message!(
            "the service has no texts of `{name}`, because they were compiled before; give the file as RULES"
        )));
    };
    let loader = texts.into_iter().fold(MemoryLoader::new(), |loader, (path, text)| loader.with(path, text));
    Compiler::new().allow_missing_functions().compile_with(&loader, &main).map_err(|error| {
        let error = error.diagnostics().first().map(|found| found.message.clone()).unwrap_or_default();
        CliError::input_error(message!(
            "the texts of `{name}` at the service do not compile here ({error}); give the file as RULES"
        ))
    })
}

fn write_diff(diff: &Diff, color: bool, out: &mut Out) -> Result<(), CliError> {
    for entry in &diff.entries {
        let changes: Vec<&Change> = entry.changes.iter().collect();
        if changes.is_empty() {
            continue;
        }
        out.write_styled(&format!(
            "{}: {}",
            paint(color, "1", &to_one_line(&entry.entry)),
            change_counts_text(&changes)
        ))?;
        for change in changes {
            write_change(change, color, out)?;
        }
        out.write_line("")?;
    }
    for HistoryChange { before, after, .. } in &diff.history {
        out.write_message(&match (before, after) {
            (Some(before), Some(after)) => message!("history: `{before}` before, `{after}` after"),
            (Some(before), None) => message!("history: `{before}` before, removed after"),
            (None, after) => message!("history: `{}` added", after.as_deref().unwrap_or_default()),
        })?;
    }
    for note in &diff.notes {
        out.write_message(&message!("note: {note}"))?;
    }
    let sum = |count_of: fn(&EntryDiff) -> usize| diff.entries.iter().map(count_of).sum::<usize>();
    let (before, after) = (sum(|entry| entry.statements.0), sum(|entry| entry.statements.1));
    let compared = match before {
        1 => message!("1 statement before and {after} after"),
        _ => message!("{before} statements before and {after} after"),
    };
    out.write_message(&match diff.verdict() {
        Verdict::Same => message!("no difference in meaning: proven for every message ({compared})"),
        Verdict::Different if sum(|entry| entry.open) > 0 => message!(
            "some messages are answered differently, and {} of {} questions stayed open ({compared})",
            sum(|entry| entry.open),
            sum(|entry| entry.asked)
        ),
        Verdict::Different => message!("some messages are answered differently ({compared})"),
        Verdict::Undecided if sum(|entry| entry.open) == 0 => message!(
            "no message was found that the two versions answer differently, but such a message may exist, for \
            the reason above ({compared})"
        ),
        Verdict::Undecided => message!(
            "no message was found that the two versions answer differently, but such a message may exist: \
            {} of {} questions stayed open ({compared})",
            sum(|entry| entry.open),
            sum(|entry| entry.asked)
        ),
    })
}

fn change_counts_text(changes: &[&Change]) -> String {
    let kinds =
        [ChangeKind::Changed, ChangeKind::Added, ChangeKind::Removed, ChangeKind::Moved, ChangeKind::Renamed];
    let count = |kind| changes.iter().filter(|change| change.kind == kind).count();
    let parts =
        kinds.iter().map(|kind| (count(*kind), change_kind_label(*kind))).filter(|(count, _)| *count > 0);
    localized(&comma_list(parts.map(|(count, word)| message!("{count} {word}")))).into_owned()
}

fn change_kind_label(kind: ChangeKind) -> Message {
    match kind {
        ChangeKind::Added => message!("added"),
        ChangeKind::Removed => message!("removed"),
        ChangeKind::Changed => message!("changed"),
        ChangeKind::Moved => message!("moved"),
        ChangeKind::Renamed => message!("renamed"),
    }
}

fn write_change(change: &Change, color: bool, out: &mut Out) -> Result<(), CliError> {
    let (sign, hue) = match change.kind {
        ChangeKind::Added => ("+", "32"),
        ChangeKind::Removed => ("-", "31"),
        _ => ("~", "33"),
    };
    let was = change.was.as_ref().map(|was| message!(" (was {})", to_one_line(was))).unwrap_or_default();
    let verdict = match (change.kind, change.verdict) {
        (ChangeKind::Renamed, _) | (_, Verdict::Different) => Message::default(),
        (_, Verdict::Same) => message!(": no message gets a different answer"),
        (_, Verdict::Undecided) => message!(": no message with a different answer was found"),
    };
    let label = change_kind_label(change.kind);
    let label = localized(&label);
    let padding = " ".repeat(8_usize.saturating_sub(display_width(&label)));
    out.write_styled(&format!(
        "  {} {label}{padding} {}{}{}",
        paint(color, hue, sign),
        paint(color, "1", &to_one_line(&change.route)),
        localized(&was),
        localized(&verdict)
    ))?;
    for example in &change.examples {
        out.write_line(&format!("      {}", example.message))?;
        out.write_message(&message!("        before  {}", format_decision(&example.before)))?;
        out.write_message(&message!("        after   {}", format_decision(&example.after)))?;
    }
    Ok(())
}

/// Formats a decision as one line: the chosen route, its target, its arguments and its metadata.
fn format_decision(decision: &Json) -> String {
    let text = |key: &str| decision.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
    let Some(chosen) = text("chosen").or(text("branch")).or(text("name")) else {
        return match decision.get("next") {
            Some(next) => {
                let back = if decision["loopback"] == true { " (loopback)" } else { "" };
                localized(&message!("to {next}{back}")).into_owned()
            }
            None => localized(&message!("nothing")).into_owned(),
        };
    };
    let mut summary = to_one_line(chosen).into_owned();
    if let Some(target) = text("target").or(text("flow")) {
        summary.push_str(&format!(" → {}", to_one_line(target)));
    }
    for (key, open, close) in [("args", "(", ")"), ("metadata", " { ", " }")] {
        let Some(Json::Object(map)) = decision.get(key) else { continue };
        if map.is_empty() {
            continue;
        }
        let parts: Vec<String> = map.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        summary.push_str(&format!("{open}{}{close}", parts.join(", ")));
    }
    to_printable(&summary).into_owned()
}

/// Decides every message of a file with two versions of the rules, and collects the differences.
/// `entries` are the table, choice or router that decides in the old version, and the one in the
/// new version. If `has_history` is true, messages that are marked with `observe` are recorded
/// without a decision. `mask_private` masks the private values of an example message.
fn replay_messages(
    entries: [Entry<'_>; 2],
    has_history: bool,
    path: &Path,
    term: &Term,
    mask_private: impl Fn(Json) -> Json,
) -> Result<ReplaySummary, CliError> {
    let (input, name, _) = open_input(Some(path), term)?;
    let mut lines = LineReader::new(name, input);
    // A line is either a message, or a logged decision that contains the message.
    let (mut decimal_paths, message) = (DecimalPaths::default(), "message".into());
    for entry in &entries {
        decimal_paths.add_field(&message, entry.decimal_paths().clone());
        decimal_paths.merge(entry.decimal_paths().clone());
    }
    // Each version has its own history, with the decisions that this version made.
    let mut sessions = entries.map(|entry| entry.session().with_history(Arc::new(MemoryStore::default())));
    let mut replay = ReplaySummary::default();
    let mut flips: BTreeMap<(String, String), DecisionFlip> = BTreeMap::new();
    while let Some(chunk) = lines.next_chunk()? {
        for (line, text) in chunk.lines() {
            let text = text.unwrap_or(b"!");
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let Ok(message) = json::parse_object_bytes_exact(text, &decimal_paths) else {
                replay.refused += 1;
                continue;
            };
            let parsed = log::parse_line(message);
            if parsed == ParsedLine::ServiceLine
                || (matches!(parsed, ParsedLine::Observed(_)) && !has_history)
            {
                continue;
            }
            let Some(message) = parsed.into_message() else {
                replay.refused += 1;
                continue;
            };
            if has_history && let Some(observed) = log::without_observed_mark(&message) {
                for session in &sessions {
                    // A message without a time or a key cannot be recorded, and is ignored.
                    let _ = session.observe(&observed);
                }
                continue;
            }
            replay.messages += 1;
            replay.masked += usize::from(message.to_string().contains(rulec_eval::trace::MASK));
            let [before, after] = sessions.each_mut().map(|session| decide_and_record(session, &message));
            if comparable_answer(&before) == comparable_answer(&after) {
                continue;
            }
            let names = [&before, &after].map(|decision| decision.chosen().unwrap_or("nothing").to_owned());
            let [before, after] = names;
            let flip = flips.entry((before.clone(), after.clone())).or_insert_with(|| DecisionFlip {
                before,
                after,
                count: 0,
                examples: Vec::new(),
            });
            flip.count += 1;
            if flip.examples.len() < MAX_EXAMPLES_PER_FLIP {
                flip.examples.push(ExampleMessage { line, message: mask_private(message) });
            }
        }
    }
    replay.flips = flips.into_values().collect();
    replay.flips.sort_by_key(|flip| std::cmp::Reverse(flip.count));
    Ok(replay)
}

/// Returns the parts of a decision that a service acts on, such as target and arguments. Two
/// decisions count as equal if these parts are equal.
fn comparable_answer(decision: &Decision) -> Json {
    answer(&serde_json::to_value(decision).unwrap_or_default())
}

fn write_replay_summary(replay: &ReplaySummary, color: bool, out: &mut Out) -> Result<(), CliError> {
    let flipped: usize = replay.flips.iter().map(|flip| flip.count).sum();
    out.write_line("")?;
    out.write_message(&message!(
        "{} replayed: {} answered differently",
        message_count_text(replay.messages),
        if flipped == 0 { message!("none") } else { Message::verbatim(flipped.to_string()) }
    ))?;
    for flip in &replay.flips {
        let names = format!("{} → {}", to_one_line(&flip.before), to_one_line(&flip.after));
        out.write_styled(&format!("  {:>6}  {}", flip.count, paint(color, "1", &names)))?;
        for example in &flip.examples {
            out.write_message(&message!("          line {}: {}", example.line, example.message))?;
        }
    }
    if replay.refused > 0 {
        let refused = replay.refused;
        let lines = singular_or_plural(refused, message!("1 line"), message!("{refused} lines"));
        out.write_message(&message!("  {lines} skipped: not a message"))?;
    }
    if replay.masked > 0 {
        let masked = message_count_text(replay.masked);
        out.write_message(&message!("  {masked} decided with masked values of private fields"))?;
    }
    Ok(())
}

/// Returns a localized count, such as `3 messages`.
fn message_count_text(count: usize) -> Message {
    singular_or_plural(count, message!("1 message"), message!("{count} messages"))
}
