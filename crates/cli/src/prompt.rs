//! `rulec prompt`: what a language model is told of the intent flows.

use super::files::RulesArgs;
use super::term::{Out, Term};
use super::{CliError, Status};
use clap::ValueEnum;
use rulec::flow::FlowMatcher;
use serde_json::json;

/// Print what a language model is told of the intent flows: a prompt section and a tool
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec prompt chatbot.rules
  rulec prompt chatbot.rules --format json | jq .tool

The section goes into the system prompt, the tool into `tools` of a chat-completions request. Keyword
flows are found without a model, so they are in neither.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// The format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The section, an empty line, the tool as JSON
    #[default]
    Text,
    /// One JSON object: {"prompt": …, "tool": …}
    Json,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<Status, CliError> {
    let rules = &args.rules.load(term)?;
    let flows = FlowMatcher::new(rules).map_err(CliError::usage)?;
    if flows.intents().is_empty() {
        return Err(CliError::usage(
            "the rules hold no intent flow, only keyword flows, which are found without a language model",
        ));
    }
    let (prompt, tool) = (flows.prompt(), flows.tool().to_json());
    match args.format {
        Format::Text => {
            out.text(&prompt)?;
            out.json(&tool, "tool")?;
        }
        Format::Json => out.json(&json!({"prompt": prompt, "tool": tool}), "tool")?,
    }
    Ok(Status::Fine)
}
