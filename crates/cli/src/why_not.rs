//! `rulec why-not`: shows what would have to change for a message to reach a route.

use super::files::RulesArgs;
use super::run::select_entry;
use super::run_history::RunHistory;
use super::server::{GenerationArgs, ServerArgs};
use super::term::{Format, Out, Term};
use super::why::MessageArgs;
use super::{CliError, ExitStatus};
use rulec::Message;
use rulec::why_not::{FieldChange, Remedy, WhyNot};
use rulec_base::message;
use rulec_base::text::to_one_line;
use serde_json::Value as Json;
use std::path::PathBuf;

/// Show what would have to change for a message to reach a route
#[derive(clap::Args)]
#[command(mut_arg("server", |server| server.conflicts_with_all(["history", "root", "show_private", "system", "verify"])))]
#[command(
    override_usage = "rulec why-not [OPTIONS] <RULES> <ROUTE> <TEXT|--text <TEXT>|--ctx <JSON>|--input <JSON>>"
)]
#[command(after_help = "Examples:
  rulec why-not support.rules show_files --text 'show my files' --ctx '{\"message_count\": 2}'
  rulec why-not support.rules refund --entry billing --input '{\"text\": \"money\"}'
  head -1 messages.jsonl | rulec why-not support.rules show_files --input -
  rulec why-not support show_files --text 'show my files' --server http://127.0.0.1:8181   rules of a service

The smallest change, with the fewest fields, is shown. The rules have decided the changed message to confirm \
it. ROUTE may also be a branch of a choice, a case of a router, `default`, or a route that jumps to a table; \
such a route includes everything that it leads to.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    /// The name of the route that the message should reach
    #[arg(value_name = "ROUTE")]
    route: String,
    #[command(flatten)]
    message: MessageArgs,
    /// Where the decision begins: the name of a table, choice or router [default: the routes
    /// outside any table; without them, the only choice, router or `flows`]
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Decide with the earlier messages that `rulec run --history` recorded in this folder or at
    /// this Redis address. Nothing is recorded
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    generation: GenerationArgs,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Print the values of fields that the rules declare `@private` [default: `•••` in their place]
    #[arg(long)]
    show_private: bool,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    #[cfg(feature = "http")]
    if let Some(server) = super::server::ServiceClient::open(&args.server)? {
        return print_result(&ask_service(&server, args, term)?, args, out);
    }
    #[cfg(not(feature = "http"))]
    args.server.reject()?;
    let rules = &args.rules.load(term)?;
    let entry = select_entry(rules, args.entry.as_deref())?;
    let message =
        args.message.read_message(term, rules.decimal_paths(), |error| rules.masked_error(error))?;
    let history = args.history.as_deref();
    let history =
        history.map(|place| RunHistory::open_existing((rules, &args.rules.path), place)).transpose()?;
    let past = history.as_ref().map(|history| history.past(rules, &message)).transpose()?;
    let entry = past.as_ref().map_or(entry, |past| entry.with_history(past));
    let result =
        entry.why_not(&args.route, &message).map_err(|error| CliError::usage_error(error.to_message()))?;
    let result = if args.show_private { result } else { result.masked() };
    print_result(&result, args, out)
}

/// Lets a running service find the change by its rules in force and its history.
#[cfg(feature = "http")]
fn ask_service(server: &super::server::ServiceClient, args: &Args, term: &Term) -> Result<WhyNot, CliError> {
    let request = super::why::server::WhyRequest {
        rules_name: &super::server::rules_name(&args.rules.path),
        entry: args.entry.as_deref(),
        message: args.message.to_message_json(term)?,
        language: super::server::language_name(),
        generation: args.generation.generation,
        why_not: Some(&args.route),
    };
    let mut answer = request.ask(server, &args.message)?;
    // A terminal obeys control characters, and the service may be a foreign one.
    if args.format == Format::Human {
        super::escape::escape_json_texts(&mut answer);
    }
    server.deserialize_answer(answer["why_not"].take())
}

fn print_result(result: &WhyNot, args: &Args, out: &mut Out) -> Result<ExitStatus, CliError> {
    match args.format {
        Format::Json => out.write_json(result)?,
        Format::Human => result_lines(result).iter().try_for_each(|line| out.write_message(line))?,
    }
    Ok(ExitStatus::Success)
}

/// Formats the result as lines: the route that the message takes, and the change of the message
/// that would lead to the wanted route.
fn result_lines(result: &WhyNot) -> Vec<Message> {
    let route = to_one_line(&result.route);
    let taken = match &result.taken_by {
        Some(taken) => message!("`{}` takes the message", to_one_line(taken)),
        None => message!("no route takes the message"),
    };
    match &result.remedy {
        Remedy::Chosen => vec![message!("`{route}` already takes the message; `rulec why` explains why")],
        Remedy::Never => {
            vec![message!("no message can reach `{route}`; `rulec check` may show why. {taken}")]
        }
        Remedy::Unknown => vec![message!(
            "{taken}. No change was found that leads to `{route}`, but one may exist. `rulec why --full` \
            shows the condition of the route"
        )],
        Remedy::Change { fields, is_smallest, .. } => {
            let mut lines = vec![message!("{taken}; with this change the message would go to `{route}`:")];
            lines.extend(fields.iter().map(describe_change));
            lines.push(match is_smallest {
                true => message!("no change of fewer fields is enough"),
                false => message!("whether a change of fewer fields is enough is not known"),
            });
            lines
        }
        _ => vec![taken],
    }
}

fn describe_change(field: &FieldChange) -> Message {
    let value = |value: &Json| to_one_line(&value.to_string()).into_owned();
    let name = to_one_line(&field.field);
    let is = match &field.is {
        Json::Null => message!("{name} is missing"),
        is => message!("{name} is {}", value(is)),
    };
    let needs = field.needs.iter().cloned().reduce(|one, other| message!("{one} and {other}"));
    let is = match needs {
        None => is,
        Some(needs) => message!("{is}, needs {needs}"),
    };
    match &field.would_be {
        Json::Null => message!("  {is} (remove this field)"),
        would_be => message!("  {is} (for instance {})", value(would_be)),
    }
}
