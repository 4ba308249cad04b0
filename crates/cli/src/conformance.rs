//! `rulec conformance`: runs test cases with expected results against an engine.

use super::term::Out;
use super::{CliError, ExitStatus, engine, files};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rulec::Tier;
use rulec_base::json;
use rulec_base::message;
use rulec_conformance::{CASE_KINDS, CaseKind, RunSetting, find_case_kind};
use std::path::PathBuf;

/// Compare the results of the engine with the expected results of cases
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec conformance route cases/route.jsonl
  rulec conformance choice cases/choice.jsonl --engine reference --list-failures
  rulec conformance payload cases/payload.jsonl --context cases/payload_context.json

Prints `N passed, N failed`; the exit status is 1 when a case failed.")]
pub struct Args {
    /// The kind of the cases
    #[arg(value_parser = case_kind_parser())]
    kind: &'static CaseKind,
    /// The cases, one JSON object per line; `-` reads standard input
    cases: PathBuf,
    /// A JSON file with the data that all cases share, for kinds that need one
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Also list the failed cases and their differences
    #[arg(long)]
    list_failures: bool,
    /// How conditions are evaluated: `reference` walks their tree, `vm` interprets bytecode, `jit`
    /// runs machine code. Only the speed differs; `auto` selects the fastest
    #[arg(long, default_value = Tier::Auto.name(), value_parser = engine::tier_parser(), value_name = "ENGINE")]
    engine: Tier,
}

fn case_kind_parser() -> impl TypedValueParser<Value = &'static CaseKind> {
    PossibleValuesParser::new(CASE_KINDS.iter().map(|kind| kind.name))
        .try_map(|name| find_case_kind(&name).ok_or("there is no such kind"))
}

pub fn run(args: &Args, out: &mut Out) -> Result<ExitStatus, CliError> {
    let context = match &args.context {
        None => None,
        Some(path) => {
            let (bytes, name) = files::read_json_bytes(path)?;
            Some(
                json::parse_bytes(&bytes)
                    .map_err(|error| CliError::usage_error(message!("{name}: {}", error.to_message())))?,
            )
        }
    };
    let (bytes, name) = files::read_json_bytes(&args.cases)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::usage_error(message!(
            "`{name}` is not UTF-8: the byte at offset {at} is invalid; save the file as UTF-8"
        ))
    })?;
    let report = args.kind.run(&text, &RunSetting { tiers: vec![args.engine], context });
    if args.list_failures {
        for failure in &report.failures {
            let (line, message) = (failure.line, &failure.message);
            out.write_message(&match failure.name.as_str() {
                "" => message!("line {line}: {message}"),
                name => message!("line {line}: {name}: {message}"),
            })?;
        }
    }
    out.write_message(&message!("{} passed, {} failed", report.passed_count, report.failures.len()))?;
    Ok(if report.failures.is_empty() { ExitStatus::Success } else { ExitStatus::Errors })
}
