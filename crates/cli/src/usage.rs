//! Wrong usage, told in the language of this run: in English in clap's own words, else by what clap knows of the mistake.
//!
//! The pages of `--help` are English: clap writes a part of their words itself (values, defaults, headings), and offers no
//! way to say these otherwise, so that pages of ours would be half in one language and half in another.

use super::language::tell;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rulec::Message;
use rulec::internals::diag::{listed, said};
use std::error::Error as _;

/// The mistake, what may have been meant, and how the verb is used; `None` where clap's words must do.
pub fn told(error: &clap::Error) -> Option<String> {
    let quoted = |kind| match error.get(kind)? {
        ContextValue::Strings(texts) => {
            let texts = listed(texts.iter().map(|text| format!("`{text}`")));
            Some(tell(&texts).into_owned())
        }
        _ => text(error, kind).map(|text| format!("`{text}`")),
    };
    let argument = || quoted(ContextKind::InvalidArg);
    let value = || quoted(ContextKind::InvalidValue);
    let mistake = match error.kind() {
        ErrorKind::InvalidValue => match value() {
            Some(value) if value != "``" => said!("{value} is no value of {}", argument()?),
            _ => said!("{} lacks its value", argument()?),
        },
        ErrorKind::ValueValidation => {
            let mistake = said!("{} is no value of {}", value()?, argument()?);
            match error.source() {
                // A range is told by clap itself.
                Some(why) => match why.to_string().split_once(" is not in ") {
                    Some((_, range)) => said!("{mistake}: it must lie in {range}"),
                    None => said!("{mistake}: {}", why.to_string()),
                },
                None => mistake,
            }
        }
        ErrorKind::UnknownArgument => said!("there is no argument {}", argument()?),
        ErrorKind::InvalidSubcommand => {
            said!("there is no verb {}", quoted(ContextKind::InvalidSubcommand)?)
        }
        ErrorKind::MissingSubcommand => said!("a verb is missing"),
        ErrorKind::MissingRequiredArgument => said!("these arguments are missing: {}", argument()?),
        ErrorKind::ArgumentConflict => match quoted(ContextKind::PriorArg) {
            Some(prior) if Some(&prior) != argument().as_ref() => {
                said!("{} cannot stand beside {prior}", argument()?)
            }
            _ => said!("{} may be given once", argument()?),
        },
        ErrorKind::TooManyValues => said!("{} has a value too many: {}", argument()?, value()?),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            said!("{} has another number of values", argument()?)
        }
        ErrorKind::InvalidUtf8 => said!("an argument is not UTF-8"),
        _ => return None,
    };
    let mut lines = vec![said!("error: {mistake}")];
    let near = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(near) = near.into_iter().find_map(quoted) {
        lines.push(said!("  did you mean {near}?"));
    }
    if let Some(possible) = text(error, ContextKind::ValidValue).filter(|text| !text.is_empty()) {
        lines.push(said!("  possible are {possible}"));
    }
    let usage = text(error, ContextKind::Usage).unwrap_or_default();
    if let Some(usage) = usage.trim().strip_prefix("Usage:") {
        lines.push(Message::default());
        lines.push(said!("usage: {}", usage.trim()));
    }
    lines.push(Message::default());
    lines.push(said!("`--help` says more"));
    let lines: Vec<_> = lines.iter().map(|line| tell(line)).collect();
    Some(lines.join("\n"))
}

/// A fact that clap knows of a mistake, as text.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    Some(match error.get(kind)? {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => tell(&listed(texts)).into_owned(),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(texts) => tell(&listed(texts.iter().map(ToString::to_string))).into_owned(),
        ContextValue::Number(number) => number.to_string(),
        _ => return None,
    })
}
