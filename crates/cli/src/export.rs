//! `rulec export`: writes rules as another system's JSON.

use super::files::{self, RulesArgs};
use super::term::{Out, Term};
use super::{CliError, ExitStatus, import};
use rulec::Message;
use rulec_import::System;
use std::path::PathBuf;

/// Write rules as another system's JSON, the reverse of `import`
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec export flows bot.rules -o flows.json
  rulec export choice next_step.rules | jq .choices
  rulec export routes support.rules --json

A rule that the JSON cannot express is left out, and a note on standard error gives the reason; the exit \
status is then 1. Comments are not written, except for the lines `# json: {…}`, in which `rulec import` keeps \
parts of the JSON that rules cannot express.")]
pub struct Args {
    /// The kind of JSON: the routes of a router, a choice, or flows
    #[arg(value_parser = import::rules_system_parser())]
    kind: System,
    #[command(flatten)]
    rules: RulesArgs,
    /// The file to write the JSON to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the `--output` file if it exists [default: an error]
    #[arg(long, requires = "output")]
    force: bool,
    /// Print the report as JSON on standard error, with the outcome of each rule
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let rules = args.rules.load(term)?;
    let exported = args.kind.export(&rules);
    // Serializing JSON values and texts cannot fail.
    let mut text = serde_json::to_string_pretty(&exported.document).unwrap_or_default();
    text.push('\n');
    files::write_output(args.output.as_deref(), args.force, &text, term, out)?;
    if args.json {
        term.print(&Message::verbatim(serde_json::to_string(&exported.report).unwrap_or_default()));
    } else {
        exported.report.messages().for_each(|note| term.print_note(&note));
    }
    let is_complete = exported.report.skipped().next().is_none();
    Ok(if is_complete { ExitStatus::Success } else { ExitStatus::Errors })
}
