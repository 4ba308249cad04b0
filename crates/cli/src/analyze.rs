//! `rulec analyze`: the intent, entities, keywords and urgency of one message.

use super::files::RulesArgs;
use super::term::{Out, Term};
use super::why::MessageArgs;
use super::{CliError, ExitStatus};

/// Analyse the text of a message: its intent, entities, keywords and urgency
#[derive(clap::Args)]
#[command(
    override_usage = "rulec analyze [OPTIONS] <RULES> <TEXT|--text <TEXT>|--ctx <JSON>|--input <JSON>>"
)]
#[command(after_help = "Examples:
  rulec analyze support.rules 'I want my money back for order 7, asap'
  rulec analyze support.rules --text 'refund 20 USD' --ctx '{\"message_count\": 4}'
  head -1 messages.jsonl | rulec analyze support.rules --input - | jq .entities

Prints a JSON object with `intent`, `score`, `best`, `entities`, `keywords`, `urgency` and `context_score`. \
`intent` is null if no intent is clear enough; `best` then names the nearest. Intents, entities, lexicons and \
`let context_score` come from the rules. These entities are built in: url, email, date, time, money, phone, \
number. `start` and `end` count characters, from 0. Values of `@private` fields are shown. `rulec run \
--analysis` analyses each message of a stream.")]
pub struct Args {
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    message: MessageArgs,
}

pub fn run(args: &Args, term: &Term, out: &mut Out) -> Result<ExitStatus, CliError> {
    let rules = args.rules.load(term)?;
    let message =
        args.message.read_message(term, rules.decimal_paths(), |error| rules.masked_error(error))?;
    let analysis =
        rules.analyze_message(&message).map_err(|error| CliError::input_error(error.to_message()))?;
    out.write_json(&analysis)?;
    Ok(ExitStatus::Success)
}
