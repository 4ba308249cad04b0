//! `rulec schema`: the JSON Schema of payload kinds.

use super::files::RulesArgs;
use super::term::{Out, Term};
use super::{CliError, Status};
use rulec::payload;
use serde_json::{Map, Value as Json};

/// Print the JSON Schema of the payload kinds: for the tool definitions of a language model
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec schema decisions.rules --decision create_node
  rulec schema decisions.rules | jq .respond

Without --decision it is one object with the schema of each kind. The schema says what one field
may be; rules that look further are told by `rulec run --decision`.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// The payload kind [default: all]
    #[arg(long, value_name = "KIND")]
    decision: Option<String>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let rules = &args.rules.load(term)?;
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
