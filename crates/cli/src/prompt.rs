//! `rulec prompt`: prints prompt sections and tool definitions for a language model. The sections
//! and definitions describe the choices and the intent flows (flows that are chosen by the meaning
//! of a text).

use super::files::RulesArgs;
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use clap::ValueEnum;
use rulec::Rules;
use rulec::choice::{Question, tool};
use rulec::flow::{FlowMatcher, MatcherError};
use rulec_base::message;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Print what a language model needs to select a flow or a choice's branch: a prompt section and a
/// tool definition
#[derive(clap::Args)]
#[command(after_help = "Examples:
  rulec prompt chatbot.rules
  rulec prompt chatbot.rules --entry mood             one choice
  rulec prompt chatbot.rules --format json | jq .tool

The section goes into the system prompt, the tool into `tools` of a chat-completions request. Keyword flows \
need no model, so they are in neither. A choice that decides by conditions is printed only with `--entry`, as \
a tool that an agent may call.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// Print only this choice, or only `flows` [default: the flows with `intent`, and all choices
    /// that `ask` a model]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: PromptFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PromptFormat {
    /// Each section, an empty line, the tool as JSON
    #[default]
    Text,
    /// One JSON object: {"prompt": …, "tool": …, "choices": […]}; with --entry, only the flows or
    /// the choice
    Json,
}

/// The prompt section and the tool definition by which a language model chooses a flow, or a branch
/// of one choice.
#[derive(Serialize)]
struct ModelPrompt {
    /// Name of the choice; `None` if the model chooses a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The prompt section; empty if the tool definition is sufficient.
    #[serde(skip_serializing_if = "String::is_empty")]
    prompt: String,
    tool: Json,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let rules = &args.rules.load(term)?;
    let (flows, mut choices) = match args.entry.as_deref() {
        Some("flows") => (
            Some(flow_prompt(rules).map_err(|error| CliError::usage_error(error.to_message()))??),
            Vec::new(),
        ),
        Some(name) => (None, vec![choice_prompt(rules, name)?]),
        None => {
            let choices: Vec<ModelPrompt> =
                Question::all(rules).map(|question| question_prompt(&question)).collect();
            let flows = match (flow_prompt(rules), choices.is_empty()) {
                (Ok(flows), true) => Some(flows?),
                (Ok(flows), false) => flows.ok(),
                (Err(no_flows), true) => return Err(no_prompt_error(rules, &no_flows)),
                (Err(_), false) => None,
            };
            (flows, choices)
        }
    };
    match args.format {
        PromptFormat::Text => {
            for (index, output) in flows.iter().chain(&choices).enumerate() {
                if index > 0 {
                    out.write_line("")?;
                }
                if !output.prompt.is_empty() {
                    out.write_text(&output.prompt)?;
                }
                out.write_json(&output.tool)?;
            }
        }
        PromptFormat::Json => {
            let output = match (flows, args.entry.is_some()) {
                (None, true) => json!(choices.pop()),
                (flows, _) => combine_prompts(flows, &choices),
            };
            out.write_json(&output)?;
        }
    }
    Ok(ExitStatus::Success)
}

/// Combines the texts about the intent flows and about the choices into one JSON object. `flows` is
/// `None` if there are no intent flows.
fn combine_prompts(flows: Option<ModelPrompt>, choices: &[ModelPrompt]) -> Json {
    let mut combined = match flows {
        Some(ModelPrompt { prompt, tool, .. }) => json!({"prompt": prompt, "tool": tool}),
        None => json!({}),
    };
    if !choices.is_empty() {
        combined["choices"] = json!(choices);
    }
    combined
}

/// Returns the prompt section and the tool definition for the intent flows. The outer error means
/// that there is no flow, or that the classifier cannot be trained. The inner error means that all
/// flows have keyword patterns.
fn flow_prompt(rules: &Rules) -> Result<Result<ModelPrompt, CliError>, MatcherError> {
    let flows = FlowMatcher::new(rules)?;
    Ok(match flows.intents().is_empty() {
        true => Err(CliError::usage_error(message!(
            "the rules contain no intent flow, only keyword flows, which need no language model"
        ))),
        false => Ok(ModelPrompt { name: None, prompt: flows.prompt(), tool: flows.tool().to_json() }),
    })
}

/// Returns the error for rules with no flow and no choice that asks a language model. If
/// there are other choices, the error lists them, because `--entry` prints each as a tool.
/// Otherwise the error is `no_flows`, the reason why there is no prompt for flows.
fn no_prompt_error(rules: &Rules, no_flows: &MatcherError) -> CliError {
    let choices: Vec<&str> = rules.entries().filter(|name| tool(rules, name).is_ok()).collect();
    CliError::usage_error(match choices.as_slice() {
        [] => no_flows.to_message(),
        names => message!(
            "the rules contain no flow and no choice that asks a model; `--entry` prints a choice as a \
            tool: {}",
            names.join(", ")
        ),
    })
}

fn choice_prompt(rules: &Rules, name: &str) -> Result<ModelPrompt, CliError> {
    match Question::new(rules, name) {
        Ok(question) => Ok(question_prompt(&question)),
        Err(_) => {
            let tool = tool(rules, name).map_err(|error| CliError::usage_error(error.to_message()))?;
            Ok(ModelPrompt { name: Some(name.to_owned()), prompt: String::new(), tool })
        }
    }
}

fn question_prompt(question: &Question) -> ModelPrompt {
    let name = Some(question.name().to_owned());
    ModelPrompt { name, prompt: question.prompt(), tool: question.tool().to_json() }
}
