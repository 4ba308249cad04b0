//! `rulec workflow next`: prints the nodes that a router selects for an output, to try a router
//! without running its workflow.

use crate::files::{self, RulesArgs};
use crate::term::{Format, Out, Term};
use crate::{CliError, ExitStatus};
use rulec_base::message;

/// Print which next nodes a router selects for an output, without running a workflow
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec workflow next review.rules --router rounds --output '{\"should_exit\": true}' --next debate,ballot

Prints one node per line; with `--format json`, a list.")]
pub struct NextArgs {
    #[command(flatten)]
    rules: RulesArgs,
    /// The name of the router
    #[arg(long, value_name = "NAME")]
    router: String,
    /// The output of the node as JSON; `-` reads standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    output: String,
    /// The node's next nodes, in order: separated by commas, or a JSON list
    #[arg(long, value_name = "NODE,…")]
    next: String,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &NextArgs, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let rules = args.rules.load(term)?;
    let (text, name) = match args.output.as_str() {
        "-" => files::read_json_bytes("-".as_ref())?,
        text => (text.as_bytes().to_vec(), "`--output`".to_owned()),
    };
    let output = serde_json::from_slice(&text)
        .map_err(|error| CliError::usage_error(message!("{name} is not JSON: {error}")))?;
    let all_next_ids = parse_node_ids(&args.next)?;
    let all_next_ids: Vec<&str> = all_next_ids.iter().map(String::as_str).collect();
    let next_nodes = rules
        .next_nodes(&args.router, &output, &all_next_ids)
        .map_err(|error| CliError::usage_error(error.to_message()))?;
    match args.format {
        Format::Json => out.write_json(&next_nodes)?,
        Format::Human => next_nodes.iter().try_for_each(|node| out.write_line(node))?,
    }
    Ok(ExitStatus::Success)
}

/// Parses a list of node ids, which are separated by commas or written as a JSON list.
fn parse_node_ids(text: &str) -> Result<Vec<String>, CliError> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(|error| {
            CliError::usage_error(message!(
                "`--next` is not a list of ids: {error}; write for example `--next a,b`"
            ))
        });
    }
    Ok(text.split(',').map(|id| id.trim().to_owned()).collect())
}
