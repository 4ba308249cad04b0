//! `rulec report`: writes a summary, map, coverage and decisions of rules to one HTML file that
//! needs no server.

use super::term::Term;
use super::{CliError, ExitStatus};
use std::path::PathBuf;

/// Write a report on rules and their decisions as a single HTML file
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec report support.rules -o report.html
  rulec report support.rules --log decisions.jsonl -o report.html
  rulec report support.rules --input messages.jsonl -o report.html

The file needs no other files. It contains a summary, a map, decision tables, coverage, counts, the slowest \
and the never-used routes, and sample decisions with explanations. Without a log or messages, the tests of the \
rules give the coverage. Values of `@private` fields are masked, unless --show-private is given.")]
pub struct Args {
    /// The rules file
    #[arg(value_name = "RULES")]
    rules: PathBuf,
    /// A decision log for the counts and sample decisions, JSON lines
    #[arg(long, value_name = "DECISIONS.jsonl", conflicts_with = "input")]
    log: Option<PathBuf>,
    /// Messages to decide for the counts and sample decisions, one JSON object per line
    #[arg(long, value_name = "MESSAGES.jsonl")]
    input: Option<PathBuf>,
    /// The HTML file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print the values of fields that the rules declare `@private` [default: `•••` in their place]
    #[arg(long)]
    show_private: bool,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of the rules file]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[cfg(not(feature = "studio"))]
pub fn run(_: &Args, _: &Term) -> Result<ExitStatus, CliError> {
    Err(super::studio::unsupported_error())
}

#[cfg(feature = "studio")]
pub fn run(args: &Args, term: &Term) -> Result<ExitStatus, CliError> {
    use super::{files, studio};
    use rulec_base::message;
    use rulec_studio::{Options, report};
    if args.rules.is_dir() {
        let path = args.rules.display();
        return Err(CliError::usage_error(message!("`{path}` is a folder; give one rules file")));
    }
    let options = Options {
        log: args.log.clone(),
        message_file: args.input.clone(),
        show_private: args.show_private,
        ..studio::studio_options(std::slice::from_ref(&args.rules), args.root.as_deref())?
    };
    let page = report(&options).map_err(|error| CliError::input_error(error.to_message()))?;
    files::replace_file(&args.output, page.as_bytes())?;
    term.print(&message!("wrote {}", args.output.display()));
    Ok(ExitStatus::Success)
}
