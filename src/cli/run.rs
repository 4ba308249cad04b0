//! `rulec run`: a decision for every message of a stream of JSON lines.

use super::files;
use super::judge;
use super::lines::{Line, Lines};
use super::progress::Progress;
use super::summary::Summary;
use super::term::{Out, Term};
use super::{Status, Stop};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rulec::diag::Code;
use rulec::json::{self, JsonError};
use rulec::sema::hir::TableKind;
use rulec::systems::payload;
use rulec::{Decision, Entry, Explanation, Indexing, Rules, SkippedCondition, Tier};
use serde::Serialize;
use serde_json::Value as Json;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Decide for each message of a stream: JSON lines in, JSON lines out
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec run support.rules messages.jsonl > decisions.jsonl
  echo '{\"text\": \"show my files\"}' | rulec run support.rules
  rulec run support.rules messages.jsonl --all | jq -c .matched
  rulec run support.rules messages.jsonl --entry billing
  rulec run decisions.rules payloads.jsonl --decision create_node --context context.json

A message is an object whose keys are the inputs: {\"text\": \"…\", \"ctx\": {…}}. Each gives one line:
  {\"line\":1,\"entry\":\"routes\",\"chosen\":\"show_files\",\"target\":\"file_handler\",\"args\":{…},\"metadata\":{…}}
`chosen` is null when no route holds and there is no default. A line that is no message gives
  {\"line\":2,\"error\":{\"code\":\"E0601\",\"message\":\"…\",\"column\":3}}
and the exit status 1; the rest goes on. Blank lines are skipped.")]
pub struct Args {
    /// The rules file
    rules: PathBuf,
    /// The messages, one JSON object a line; `-` or nothing reads standard input
    pub input: Option<PathBuf>,
    /// The table, choice, router or payload kind to decide by, or `flows` [default: the routes outside any table]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Judge each line as a payload of this kind instead of deciding
    #[arg(long, value_name = "KIND", conflicts_with_all = ["entry", "all", "explain"])]
    pub decision: Option<String>,
    /// With --decision: the rules' `context`, a file with a JSON object
    #[arg(long, value_name = "FILE", requires = "decision")]
    pub context: Option<PathBuf>,
    /// With --decision: the rules' `options`, a file with a JSON object
    #[arg(long, value_name = "FILE", requires = "decision")]
    pub options: Option<PathBuf>,
    /// Also list every route that holds, in order, as `matched`
    #[arg(long)]
    all: bool,
    /// Also say how the decision came about, as `explanation`
    #[arg(long)]
    explain: bool,
    /// The engine that decides; all answer alike
    #[arg(long, default_value = Tier::Auto.name(), value_parser = tier(), value_name = "ENGINE")]
    engine: Tier,
    /// Try the rules one by one, without the index: to compare, and to find out what is wrong
    #[arg(long)]
    no_index: bool,
    /// The folder that imports may not leave [default: the rules file's own]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Reads an engine's name.
pub fn tier() -> impl TypedValueParser<Value = Tier> {
    PossibleValuesParser::new(Tier::ALL.map(Tier::name)).try_map(|name| name.parse::<Tier>())
}

/// A decision's line.
#[derive(Serialize)]
struct Decided<'a, 'r> {
    line: u64,
    #[serde(flatten)]
    decision: &'a Decision<'r>,
    /// The conditions of a choice that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedCondition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<Vec<&'r str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

/// The line of what is no message.
#[derive(Serialize)]
pub struct Refused<'a> {
    pub line: u64,
    pub error: BadMessage<'a>,
}

/// What is wrong with a message.
#[derive(Serialize)]
pub struct BadMessage<'a> {
    code: Code,
    message: &'a str,
    /// The character of the line, from 1.
    column: usize,
    /// The field it is in.
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'static str>,
}

/// Runs the verb.
pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, Stop> {
    let compiled = files::load(&args.rules, args.root.as_deref(), term)?;
    let Ok(rules) = &compiled.result else { return Err(Stop::shown(Status::Errors)) };
    let indexing = if args.no_index { Indexing::Never } else { Indexing::Auto };
    let rules = rules.with_tier(args.engine).with_index(indexing);
    if let Some(kind) = judge::kind(&rules, args.decision.as_deref(), args.entry.as_deref()) {
        return judge::run(args, kind, &rules, term, out);
    }
    let input = open(args.input.as_deref(), term)?;
    let entry = entry(&rules, args.entry.as_deref())?;

    let mut summary = Summary::default();
    answer_lines(input, out, |line, message, answer| match message {
        Some(message) => {
            let decision = entry.decide(message);
            summary.decided(&decision);
            let matched = args.all.then(|| entry.matched(message));
            let explanation = args.explain.then(|| entry.explain(message, false));
            let skipped = entry.skipped(message);
            write_json(answer, &Decided { line, decision: &decision, skipped, matched, explanation });
        }
        None => summary.error(),
    })?;
    if !out.is_closed() {
        term.say(&summary.render(&rules));
    }
    Ok(if summary.has_errors() { Status::Errors } else { Status::Fine })
}

/// Answers every message of a stream with a line of its own, until the stream or the output ends.
/// `answer` writes that line; it is told of what is no message (`None`), whose line is written here.
pub fn answer_lines(
    (input, name, size): Input,
    out: &mut Out,
    mut answer: impl FnMut(u64, Option<&Json>, &mut Vec<u8>),
) -> Result<(), Stop> {
    let mut lines = Lines::new(name, input);
    let mut progress = Progress::new(size);
    let mut bytes = Vec::new();
    loop {
        let number = lines.number() + 1;
        let Some(line) = lines.next(|| out.flush())? else { break };
        let message = match line {
            Line::Bytes(line) if line.trim_ascii().is_empty() => continue,
            Line::Bytes(line) => json::parse_object_bytes(line),
            Line::TooLong => Err(JsonError::too_long()),
        };
        bytes.clear();
        match message {
            Ok(message) => answer(number, Some(&Json::Object(message)), &mut bytes),
            Err(error) => {
                answer(number, None, &mut bytes);
                write_json(&mut bytes, &Refused { line: number, error: bad_message(&error) });
            }
        }
        out.write(&bytes)?;
        if out.is_closed() {
            break;
        }
        progress.at(lines.bytes());
    }
    progress.finish();
    out.flush()
}

/// The entry to decide by. Rules without a route outside their tables are no mistake, but deciding
/// by nothing is. A choice, a router or the flows need no name where nothing else could be meant.
pub fn entry<'r>(rules: &'r Rules, name: Option<&str>) -> Result<Entry<'r>, Stop> {
    match name {
        Some(name) => rules.entry(name).map_err(|error| Stop::usage(error.to_string())),
        None if rules.main().is_empty() => {
            let entries: Vec<&str> = rules.entries().skip(1).collect();
            let no_entry = || no_entry(rules, &entries);
            match entries.as_slice() {
                [] => Err(nothing(rules)),
                [only] => rules
                    .entry(only)
                    .ok()
                    .filter(|entry| entry.kind() != TableKind::Routes)
                    .ok_or_else(no_entry),
                _ => Err(no_entry()),
            }
        }
        None => Ok(rules.main()),
    }
}

/// Why there is nothing to decide by.
fn nothing(rules: &Rules) -> Stop {
    let kinds: Vec<&str> = payload::kinds(rules).collect();
    Stop::usage(match kinds.is_empty() {
        true => "the rules hold nothing to decide by".to_owned(),
        false => format!("the rules judge payloads; name their kind with `--decision`: {}", kinds.join(", ")),
    })
}

fn no_entry(rules: &Rules, entries: &[&str]) -> Stop {
    let tables = entries.iter().all(|name| rules.entry_of_kind(name, TableKind::Routes).is_ok());
    let why = if tables {
        "no route stands outside the tables"
    } else {
        "the rules hold several things to decide by"
    };
    Stop::usage(format!("{why}; choose one with `--entry`: {}", entries.join(", ")))
}

pub type Input = (Box<dyn Read>, String, Option<u64>);

/// Opens the messages: the reader, its name, and its size when known.
pub fn open(path: Option<&Path>, term: &Term) -> Result<Input, Stop> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        if io::stdin().is_terminal() {
            term.note("reading messages from standard input, one JSON object a line");
        }
        return Ok((Box::new(io::stdin().lock()), "standard input".to_owned(), None));
    };
    let name = path.display().to_string();
    let refused = |error: io::Error| files::unreadable(&name, &error);
    let file = File::open(path).map_err(refused)?;
    let metadata = file.metadata().map_err(refused)?;
    if metadata.is_dir() {
        return Err(Stop::usage(format!("`{name}` is a folder; name a file of messages")));
    }
    Ok((Box::new(file), name, metadata.is_file().then_some(metadata.len())))
}

/// A value as one line of JSON.
pub fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing to memory cannot fail, and the values have text keys only.
    let _ = serde_json::to_writer(&mut *out, value);
    out.push(b'\n');
}

pub fn bad_message(error: &JsonError) -> BadMessage<'_> {
    BadMessage {
        code: error.kind().code(),
        message: error.message(),
        column: error.column(),
        path: error.path(),
        help: error.help(),
    }
}
