//! `rulec schema`: prints the JSON Schema of payload kinds, of the messages or of a handler's
//! arguments. Other options print pydantic models, or the breaking changes since an older version.
//! With `--from`, prints an `input` block that is derived from samples or from a JSON Schema.

mod pydantic;

use super::files::RulesArgs;
use super::term::{Out, Term};
use super::{CliError, ExitStatus, infer};
use rulec::{Rules, payload};
use rulec_base::message;
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// Print the JSON Schema of payloads, messages or handler arguments, or derive an `input` block
/// from messages
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec schema decisions.rules --decision create_node
  rulec schema decisions.rules | jq .respond
  rulec schema support.rules --input         what a message contains
  rulec schema support.rules --handler billing
  rulec schema support.rules --pydantic > models.py
  rulec schema decisions.rules --against released/decisions.rules
  rulec schema --from messages.jsonl         an `input` block that fits these messages
  rulec schema --from message.schema.json    the same from a JSON Schema

A `payload` statement describes a JSON object that a model or a program proposes. The `input` block describes \
the messages that rules decide. Without options, prints one object with the schema of each payload. A schema \
covers the rules about single fields; `rulec run --decision` checks all rules.

Exit status: 0 no errors, 1 errors in the rules or samples, or changes that --against prints, 2 wrong usage.")]
pub struct Args {
    /// The rules: a `.rules` file, or a `.rulec` file that `rulec build` wrote; `-` reads standard
    /// input
    #[arg(value_name = "RULES", required_unless_present = "from")]
    rules: Option<PathBuf>,
    /// Print an `input` block that fits this file: sample messages, one JSON object per line, or a
    /// JSON Schema; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rules", "decision", "against", "root", "input", "handler", "pydantic"])]
    from: Option<PathBuf>,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of the rules file]
    #[arg(long, value_name = "DIR", display_order = 900)]
    root: Option<PathBuf>,
    /// Print only the schema of the `payload` statement of this name [default: one object with the
    /// schema of each]
    #[arg(long, value_name = "KIND")]
    decision: Option<String>,
    /// Print the schema of the messages that the rules decide, from the `input` block, instead of
    /// payloads
    #[arg(long, conflicts_with_all = ["decision", "against"])]
    input: bool,
    /// Print the schema of the arguments that the rules pass to this handler, instead of payloads
    #[arg(long, value_name = "NAME", conflicts_with_all = ["decision", "against", "input"])]
    handler: Option<String>,
    /// Print Python source instead of a schema: pydantic models of the messages, the payloads and
    /// each handler's arguments
    #[arg(long, conflicts_with_all = ["decision", "against", "input", "handler"])]
    pydantic: bool,
    /// Instead of a schema, print the breaking changes since this older version: payloads that it
    /// accepts and RULES may refuse
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    if let Some(samples_path) = &args.from {
        let (input, rejected_lines) = infer::infer_input_block(samples_path, term)?;
        out.write_text(input.trim_end_matches('\n'))?;
        return Ok(if rejected_lines == 0 { ExitStatus::Success } else { ExitStatus::Errors });
    }
    let rules_args = RulesArgs::new(args.rules.clone().unwrap_or_default(), args.root.clone());
    let rules = &rules_args.load(term)?;
    if let Some(old) = &args.against {
        return print_breaking_changes(
            &rules_args.load_second_file(old, term)?,
            rules,
            args.decision.as_deref(),
            out,
        );
    }
    if args.pydantic {
        let path = args.rules.as_deref().unwrap_or_else(|| Path::new("-"));
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        out.write_text_for_programs(&pydantic::write_models(rules, &file))?;
        return Ok(ExitStatus::Success);
    }
    if args.input {
        out.write_json(&rules.input_schema())?;
        return Ok(ExitStatus::Success);
    }
    if let Some(handler) = &args.handler {
        let schema = rules.args_schema(handler).ok_or_else(|| unknown_handler_error(rules, handler))?;
        out.write_json(&schema)?;
        return Ok(ExitStatus::Success);
    }
    let schema =
        |kind: &str| payload::schema(rules, kind).map_err(|error| CliError::usage_error(error.to_message()));
    let json = match &args.decision {
        Some(kind) => schema(kind)?,
        None => {
            let mut schemas = Map::new();
            for kind in payload::kinds(rules) {
                schemas.insert(kind.to_owned(), schema(kind)?);
            }
            if schemas.is_empty() {
                return Err(CliError::usage_error(message!(
                    "the rules declare no payload kind; add one: `payload KIND {{ … }}`; a schema describes \
                    payloads, so for an `input` block from messages run `rulec schema --from FILE`"
                )));
            }
            Json::Object(schemas)
        }
    };
    out.write_json(&json)?;
    Ok(ExitStatus::Success)
}

fn unknown_handler_error(rules: &Rules, handler: &str) -> CliError {
    let handlers: Vec<&str> = rules.targets().into_iter().collect();
    match handlers.join("`, `") {
        known if known.is_empty() => CliError::usage_error(message!("the rules have no handler")),
        known => CliError::usage_error(message!(
            "the rules have no handler `{handler}`; their handlers: `{known}`"
        )),
    }
}

/// Prints the changes that may make the new rules reject a payload that the old rules accepted.
/// `kind` is the payload kind to compare; `None` compares all kinds. Returns the exit status for
/// errors if there is such a change.
fn print_breaking_changes(
    old: &Rules,
    new: &Rules,
    kind: Option<&str>,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    if let Some(kind) = kind {
        payload::schema(old, kind).map_err(|error| CliError::usage_error(error.to_message()))?;
    }
    let changes = payload::changes(old, new);
    let shown_changes: Vec<_> =
        changes.iter().filter(|change| kind.is_none_or(|kind| change.kind == kind)).collect();
    for change in &shown_changes {
        out.write_message(&change.to_message())?;
    }
    Ok(if shown_changes.is_empty() { ExitStatus::Success } else { ExitStatus::Errors })
}
