//! `rulec run --decision`: a judgement for every payload of a stream of JSON lines.

use super::files;
use super::stream::{StreamArgs, Worker, write_json};
use super::term::{Out, Term, plural};
use super::{CliError, Status};
use rulec::Rules;
use rulec::internals::json::{self, JsonError};
use rulec::payload::{Judge, Judgement, Outcome, kinds};
use serde::Serialize;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct JudgeArgs {
    /// With --decision: the rules' `context`, a file with a JSON object
    #[arg(long, value_name = "FILE", requires = "decision")]
    context: Option<PathBuf>,
    /// With --decision: the rules' `options`, a file with a JSON object
    #[arg(long, value_name = "FILE", requires = "decision")]
    options: Option<PathBuf>,
}

impl JudgeArgs {
    /// A judge of payloads of a kind, with the context and options of the files.
    pub fn judge(&self, rules: &Rules, kind: &str) -> Result<Judge, CliError> {
        let mut judge = Judge::new(rules, kind).map_err(CliError::usage)?;
        if let Some(path) = &self.context {
            judge = judge.context(read(path)?).map_err(CliError::usage)?;
        }
        if let Some(path) = &self.options {
            judge = judge.options(read(path)?).map_err(CliError::usage)?;
        }
        Ok(judge)
    }
}

#[derive(Serialize)]
struct Judged<'a> {
    line: u64,
    #[serde(flatten)]
    judgement: &'a Judgement,
}

pub fn run(judge: &Judge, stream: &StreamArgs, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let (workers, unreadable) =
        stream.answer(term, out, || Counting { judge, counts: [0; 3], exceeded: 0 })?;
    let (mut counts, mut exceeded) = ([0; 3], 0);
    for worker in workers {
        counts.iter_mut().zip(worker.counts).for_each(|(sum, count)| *sum += count);
        exceeded += worker.exceeded;
    }
    let [accepted, corrected, rejected] = counts;
    if !out.is_closed() {
        let all = plural(accepted + corrected + rejected + unreadable, "payload");
        let mut text = format!("{all}: {accepted} accepted, {corrected} corrected, {rejected} rejected");
        if unreadable > 0 {
            text += &format!(", {unreadable} unreadable");
        }
        if exceeded > 0 {
            text += &format!(" · {exceeded} beyond a limit");
        }
        term.say(&text);
    }
    Ok(if unreadable > 0 { Status::Errors } else { Status::Fine })
}

struct Counting<'j> {
    judge: &'j Judge,
    /// Accepted, corrected, rejected.
    counts: [usize; 3],
    /// Those that went beyond a limit.
    exceeded: usize,
}

impl Worker for Counting<'_> {
    fn answer(&mut self, line: u64, payload: &[u8], out: &mut Vec<u8>) -> Result<(), JsonError> {
        let payload = Json::Object(json::parse_object_bytes(payload)?);
        let judgement = self.judge.judge(&payload);
        let count = match judgement.outcome() {
            Outcome::Accept => 0,
            Outcome::AcceptCorrected => 1,
            Outcome::Reject => 2,
        };
        self.counts[count] += 1;
        self.exceeded += usize::from(!judgement.exceeded().is_empty());
        write_json(out, &Judged { line, judgement: &judgement });
        Ok(())
    }
}

/// The kind of payload that is meant: by `--decision`, or by `--entry` where it names one.
pub fn kind<'n>(rules: &Rules, decision: Option<&'n str>, entry: Option<&'n str>) -> Option<&'n str> {
    decision.or_else(|| entry.filter(|name| kinds(rules).any(|kind| kind == *name)))
}

fn read(path: &Path) -> Result<Json, CliError> {
    let object = files::read_object(path, |name, error| {
        CliError::usage(format!("`{name}` is no JSON object: {error} ({})", error.kind().code()))
    })?;
    Ok(Json::Object(object))
}
