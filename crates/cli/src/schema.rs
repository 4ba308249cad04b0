//! `rulec schema`: the JSON Schema of payload kinds, and what a new version of them breaks.

use super::files::RulesArgs;
use super::term::{Out, Term};
use super::{CliError, Status};
use rulec::{Rules, payload};
use serde_json::{Map, Value as Json};
use std::path::PathBuf;

/// Print the JSON Schema of the payload kinds: for the tool definitions of a language model
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec schema decisions.rules --decision create_node
  rulec schema decisions.rules | jq .respond
  rulec schema decisions.rules --against released/decisions.rules

Without --decision it is one object with the schema of each kind. The schema says what one field
may be; rules that look further are told by `rulec run --decision`. With --against it says instead
what the old rules accepted and these may refuse, and ends with status 1 if there is anything.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// The payload kind [default: all]
    #[arg(long, value_name = "KIND")]
    decision: Option<String>,
    /// List the breaking changes since an older version of the rules
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let rules = &args.rules.load(term)?;
    if let Some(old) = &args.against {
        return compare(&args.rules.load_other(old, term)?, rules, args.decision.as_deref(), out);
    }
    let schema = |kind: &str| payload::schema(rules, kind).map_err(CliError::usage);
    let json = match &args.decision {
        Some(kind) => schema(kind)?,
        None => {
            let mut all = Map::new();
            for kind in payload::kinds(rules) {
                all.insert(kind.to_owned(), schema(kind)?);
            }
            if all.is_empty() {
                return Err(CliError::usage("the rules hold no payload kind"));
            }
            Json::Object(all)
        }
    };
    out.json(&json, "schema")?;
    Ok(Status::Fine)
}

/// Tells what the new rules may refuse that the old ones accepted.
fn compare(old: &Rules, new: &Rules, kind: Option<&str>, out: &mut Out) -> Result<Status, CliError> {
    if let Some(kind) = kind {
        payload::schema(old, kind).map_err(CliError::usage)?;
    }
    let changes = payload::changes(old, new);
    let told: Vec<_> = changes.iter().filter(|change| kind.is_none_or(|kind| change.kind == kind)).collect();
    for change in &told {
        out.line(&change.to_string())?;
    }
    Ok(if told.is_empty() { Status::Fine } else { Status::Errors })
}
