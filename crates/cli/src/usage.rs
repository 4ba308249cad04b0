//! Usage errors in the language of this run. English uses clap's own text; other languages use the
//! details that clap provides.

use super::language::localized;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rulec::Message;
use rulec_base::diag::comma_list;
use rulec_base::message;
use std::error::Error as _;

/// Returns the text of a usage error in the language of this run, with suggestions and usage.
/// `None` if clap's own English text must be used.
pub fn localized_error(error: &clap::Error) -> Option<String> {
    let quoted = |kind| match error.get(kind)? {
        ContextValue::Strings(texts) => {
            let texts = comma_list(texts.iter().map(|text| format!("`{text}`")));
            Some(localized(&texts).into_owned())
        }
        _ => context_text(error, kind).map(|text| format!("`{text}`")),
    };
    let argument = || quoted(ContextKind::InvalidArg);
    let value = || quoted(ContextKind::InvalidValue);
    let mistake = match error.kind() {
        ErrorKind::InvalidValue => match value() {
            Some(value) if value != "``" => message!("{value} is not a valid value for {}", argument()?),
            _ => message!("{} needs a value", argument()?),
        },
        ErrorKind::ValueValidation => {
            let mistake = message!("{} is not a valid value for {}", value()?, argument()?);
            match error.source() {
                // If a number is out of range, clap gives the range only as a part of its text.
                Some(reason) => match reason.to_string().split_once(" is not in ") {
                    Some((_, range)) => message!("{mistake}: it must lie in {range}"),
                    None => message!("{mistake}: {}", reason.to_string()),
                },
                None => mistake,
            }
        }
        ErrorKind::UnknownArgument => message!("unknown argument {}", argument()?),
        ErrorKind::InvalidSubcommand => {
            message!("there is no command {}", quoted(ContextKind::InvalidSubcommand)?)
        }
        ErrorKind::MissingSubcommand => message!("a command is missing"),
        ErrorKind::MissingRequiredArgument => message!("required arguments are missing: {}", argument()?),
        ErrorKind::ArgumentConflict => match quoted(ContextKind::PriorArg) {
            Some(prior) if Some(&prior) != argument().as_ref() => {
                message!("{} cannot be used with {prior}", argument()?)
            }
            _ => message!("{} may be given only once", argument()?),
        },
        ErrorKind::TooManyValues => message!("{} has one value too many: {}", argument()?, value()?),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            message!("{} has the wrong number of values", argument()?)
        }
        ErrorKind::InvalidUtf8 => message!("an argument is not UTF-8"),
        _ => return None,
    };
    let mut lines = vec![message!("error: {mistake}")];
    let suggestion_kinds =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(near) = suggestion_kinds.into_iter().find_map(quoted) {
        lines.push(message!("  did you mean {near}?"));
    }
    if let Some(possible) = context_text(error, ContextKind::ValidValue).filter(|text| !text.is_empty()) {
        lines.push(message!("  possible values: {possible}"));
    }
    let usage = context_text(error, ContextKind::Usage).unwrap_or_default();
    if let Some(usage) = usage.trim().strip_prefix("Usage:") {
        lines.push(Message::default());
        lines.push(message!("usage: {}", usage.trim()));
    }
    lines.push(Message::default());
    lines.push(message!("run with `--help` for details"));
    let lines: Vec<_> = lines.iter().map(|line| localized(line)).collect();
    Some(lines.join("\n"))
}

/// Returns a detail of an error as text, such as the valid values. `None` if clap provides no such
/// detail.
fn context_text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    Some(match error.get(kind)? {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => localized(&comma_list(texts)).into_owned(),
        ContextValue::StyledStr(text) => text.to_string(),
        ContextValue::StyledStrs(texts) => {
            localized(&comma_list(texts.iter().map(ToString::to_string))).into_owned()
        }
        ContextValue::Number(number) => number.to_string(),
        _ => return None,
    })
}
