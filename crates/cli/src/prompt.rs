//! `rulec prompt`: what a language model is told of the intent flows.

use super::files;
use super::term::{Out, Term};
use super::{CliError, Status};
use clap::ValueEnum;
use rulec::flow::FlowMatcher;
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Print what a language model is told of the intent flows: a prompt section and a tool
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec prompt chatbot.rules
  rulec prompt chatbot.rules --format json | jq .tool

The section goes into the system prompt, the tool into `tools` of a chat-completions request. Keyword
flows are found without a model, so they are in neither.")]
pub struct Args {
    /// The rules file
    rules: PathBuf,
    /// The format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// The folder that imports may not leave [default: the rules file's own]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// The format of section and tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The section, an empty line, the tool as JSON
    #[default]
    Text,
    /// One JSON object: {"prompt": …, "tool": …}
    Json,
}

/// Runs the verb.
pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let compiled = files::load(&args.rules, args.root.as_deref(), term)?;
    let Ok(rules) = &compiled.result else { return Err(CliError::shown(Status::Errors)) };
    let flows = FlowMatcher::new(rules).map_err(|error| CliError::usage(error.to_string()))?;
    if flows.intents().is_empty() {
        return Err(CliError::usage(
            "the rules hold no intent flow, only keyword flows, which are found without a language model",
        ));
    }
    let (prompt, tool) = (flows.prompt(), flows.tool().to_json());
    match args.format {
        Format::Text => {
            out.line(&prompt)?;
            out.line(&pretty(&tool)?)?;
        }
        Format::Json => out.line(&pretty(&json!({"prompt": prompt, "tool": tool}))?)?,
    }
    Ok(Status::Fine)
}

fn pretty(json: &Json) -> Result<String, CliError> {
    serde_json::to_string_pretty(json)
        .map_err(|error| CliError::error(format!("the tool cannot be written: {error}")))
}
