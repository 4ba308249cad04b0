//! `rulec run --decision`: a judgement for every payload of a stream of JSON lines.

use super::files;
use super::run::{self, Args};
use super::term::{Out, Term, plural};
use super::{Status, Stop};
use rulec::Rules;
use rulec::json;
use rulec::systems::payload::{Judge, Judgement, Outcome, kinds};
use serde::Serialize;
use serde_json::Value as Json;
use std::path::Path;

/// A judgement's line.
#[derive(Serialize)]
struct Judged<'a> {
    line: u64,
    #[serde(flatten)]
    judgement: &'a Judgement,
}

/// Judges every line.
pub fn run(args: &Args, kind: &str, rules: &Rules, term: &Term, out: &mut Out) -> Result<Status, Stop> {
    let judge = judge(rules, kind, args.context.as_deref(), args.options.as_deref())?;
    let input = run::open(args.input.as_deref(), term)?;
    let (mut accepted, mut corrected, mut rejected, mut unreadable) = (0, 0, 0, 0);
    run::answer_lines(input, out, |line, payload, answer| match payload {
        Some(payload) => {
            let judgement = judge.judge(payload);
            match judgement.outcome() {
                Outcome::Accept => accepted += 1,
                Outcome::AcceptCorrected => corrected += 1,
                Outcome::Reject => rejected += 1,
            }
            run::write_json(answer, &Judged { line, judgement: &judgement });
        }
        None => unreadable += 1,
    })?;
    if !out.is_closed() {
        let all = plural(accepted + corrected + rejected + unreadable, "payload");
        let mut text = format!("{all}: {accepted} accepted, {corrected} corrected, {rejected} rejected");
        if unreadable > 0 {
            text += &format!(", {unreadable} unreadable");
        }
        term.say(&text);
    }
    Ok(if unreadable > 0 { Status::Errors } else { Status::Fine })
}

/// The kind of payload that is meant: by `--decision`, or by `--entry` where it names one.
pub fn kind<'n>(rules: &Rules, decision: Option<&'n str>, entry: Option<&'n str>) -> Option<&'n str> {
    decision.or_else(|| entry.filter(|name| kinds(rules).any(|kind| kind == *name)))
}

/// A judge with the context and options of files.
pub fn judge(
    rules: &Rules,
    kind: &str,
    context: Option<&Path>,
    options: Option<&Path>,
) -> Result<Judge, Stop> {
    let refused = |error: rulec::systems::payload::JudgeError| Stop::usage(error.to_string());
    let mut judge = Judge::new(rules, kind).map_err(refused)?;
    if let Some(path) = context {
        judge = judge.context(read(path)?).map_err(refused)?;
    }
    if let Some(path) = options {
        judge = judge.options(read(path)?).map_err(refused)?;
    }
    Ok(judge)
}

fn read(path: &Path) -> Result<Json, Stop> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| files::unreadable(&name, &error))?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let object = json::parse_object_bytes(bytes).map_err(|error| {
        Stop::usage(format!("`{name}` is no JSON object: {error} ({})", error.kind().code()))
    })?;
    Ok(Json::Object(object))
}
