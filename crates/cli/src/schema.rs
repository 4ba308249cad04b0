//! `rulec schema`: the JSON Schema of payload kinds.

use super::files;
use super::term::{Out, Term};
use super::{CliError, Status};
use rulec::payload;
use serde_json::{Map, Value as Json};
use std::path::PathBuf;

/// Print the JSON Schema of the payload kinds: for the tool definitions of a language model
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec schema decisions.rules --decision create_node
  rulec schema decisions.rules | jq .respond

Without --decision it is one object with the schema of each kind. The schema says what one field
may be; rules that look further are told by `rulec run --decision`.")]
pub struct Args {
    /// The rules file
    rules: PathBuf,
    /// The payload kind [default: all]
    #[arg(long, value_name = "KIND")]
    decision: Option<String>,
    /// The folder that imports may not leave [default: the rules file's own]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let compiled = files::load(&args.rules, args.root.as_deref(), term)?;
    let Ok(rules) = &compiled.result else { return Err(CliError::shown(Status::Errors)) };
    let schema =
        |kind: &str| payload::schema(rules, kind).map_err(|error| CliError::usage(error.to_string()));
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
    let text = serde_json::to_string_pretty(&json)
        .map_err(|error| CliError::error(format!("the schema cannot be written: {error}")))?;
    out.line(&text)?;
    Ok(Status::Fine)
}
