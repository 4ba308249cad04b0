//! Usage errors of the command line, in the language of this run. clap writes English text only.
//! For other languages, this module builds the text from the details that clap provides.

mod foreign;
mod rules_wanted;

pub use foreign::{rules_come_first_tip, why_command_tip};
pub use rules_wanted::messages_as_rules_tip;

use super::help::localized_command;
use super::language::{language, localized};
use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rulec::{Language, Message};
use rulec_base::diag::{comma_list, sort_by_spelling};
use rulec_base::{broken_invariant, message};
use std::error::Error as _;
use std::ffi::OsString;

/// Maximum number of options that an error lists.
const MAX_LISTED_OPTIONS: usize = 10;

/// Adds remedies to a usage error for mistakes that clap does not recognize. Examples are commands
/// of other programs, and long options with one dash. `command` is the definition of the command
/// line, and `args` are the arguments of this run.
pub fn add_remedies(error: &mut clap::Error, command: &Command, args: &[OsString]) {
    if language() != Language::English {
        error.remove(ContextKind::Suggested);
    }
    let texts: Vec<_> = args.iter().skip(1).map(|arg| arg.to_string_lossy()).collect();
    let words: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let mut verb = command;
    let mut path = Vec::new();
    for text in &texts {
        if let Some(found) = verb.find_subcommand(&**text) {
            verb = found;
            path.push(&**text);
        }
    }
    if !path.is_empty() && error.get(ContextKind::Usage).is_some() {
        show_usage(error, command, &path);
    }
    let has_long = |name: &str| {
        matches!(name, "version" | "help") || verb.get_arguments().any(|arg| arg.get_long() == Some(name))
    };
    let invalid = usage_error_detail(error, ContextKind::InvalidArg).unwrap_or_default();
    sort_suggestions(error);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let is_meant = |text: &&str| {
                let name = text.strip_prefix('-').filter(|name| name.len() > 1 && !name.starts_with('-'));
                name.is_some_and(|name| has_long(name.split('=').next().unwrap_or(name)))
            };
            if let Some(written) = texts.iter().map(|text| &**text).find(is_meant) {
                error.remove(ContextKind::Suggested);
                error.insert(ContextKind::InvalidArg, ContextValue::String(written.to_owned()));
                error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("-{written}")));
            } else if let Some(tip) = foreign::why_command_tip(&path, &words) {
                error.remove(ContextKind::SuggestedArg);
                set_usage_tips(error, vec![tip]);
            } else if invalid.starts_with('-') {
                add_option_remedy(error, verb, &path, (&words, &invalid));
            } else {
                if let Some(tip) = foreign::surplus_argument_tip(verb, &path, &words, &invalid) {
                    set_usage_tips(error, vec![tip]);
                }
            }
        }
        ErrorKind::InvalidValue => {
            let value = usage_error_detail(error, ContextKind::InvalidValue).unwrap_or_default();
            let tip = foreign::swapped_arguments_tip(verb, &path, &words)
                .or_else(|| foreign::missing_document_kind_tip(verb, &path, &words, &value));
            if let Some(tip) = tip {
                error.remove(ContextKind::SuggestedValue);
                set_usage_tips(error, vec![tip]);
            }
        }
        ErrorKind::InvalidSubcommand => {
            let written = usage_error_detail(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let ordered = foreign::command_after_arguments_tip(command, &words, &written);
            if let Some(tip) = ordered.filter(|_| foreign::looks_like_argument(&written)) {
                error.remove(ContextKind::SuggestedSubcommand);
                set_usage_tips(error, vec![tip]);
            } else if let Some(meant) = find_meant_command(&written) {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::String(meant.to_owned()));
            }
        }
        ErrorKind::MissingRequiredArgument => describe_missing_arguments(error, verb, &words),
        _ => {}
    }
}

/// Sorts the similar commands or values that clap found, the nearest first. clap compares the words
/// by the letters that they share, so `schema` came before `check` for `chek`.
fn sort_suggestions(error: &mut clap::Error) {
    for (written, suggested) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ] {
        let Some(ContextValue::Strings(similar)) = error.get(suggested) else { continue };
        let mut similar = similar.clone();
        sort_by_spelling(&usage_error_detail(error, written).unwrap_or_default(), &mut similar);
        error.insert(suggested, ContextValue::Strings(similar));
    }
}

/// Adds remedies to the error that arguments of the subcommand `verb` are missing: the meaning of
/// each argument, and how to read the message from standard input. `words` are the arguments of
/// this run after the program's name.
fn describe_missing_arguments(error: &mut clap::Error, verb: &Command, words: &[&str]) {
    let verb = localized_command(verb.clone());
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return };
    let describe = |shown: &String| {
        let name = shown.trim_matches(['<', '>']);
        let is_meant = |arg: &&clap::Arg| {
            arg.is_positional() && arg.get_value_names().is_some_and(|names| names.iter().any(|n| n == name))
        };
        let help = verb.get_arguments().find(is_meant)?.get_help()?.to_string();
        Some(message!("{shown} is: {help}", shown = shown.clone()))
    };
    let mut tips: Vec<Message> = missing.iter().filter_map(describe).collect();
    if let [shown] = missing.as_slice()
        && shown.contains("--input ")
    {
        let given: Vec<String> = words.iter().map(|text| foreign::quote_for_shell(text)).collect();
        let written = format!("rulec {} --input -", given.join(" "));
        tips.push(message!("to read the message from standard input, write `{written}`"));
    }
    if !tips.is_empty() {
        set_usage_tips(error, tips);
    }
}

/// Adds the remedy for an unknown option. The remedy names the option that the user probably meant,
/// says that the option is not needed, or says where the options are listed. `texts` are the
/// arguments of this run, and `invalid` is the unknown option.
fn add_option_remedy(
    error: &mut clap::Error,
    verb: &Command,
    path: &[&str],
    (texts, invalid): (&[&str], &str),
) {
    if let Some(tip) = foreign::option_to_argument_tip(verb, path, texts, invalid) {
        error.remove(ContextKind::SuggestedArg);
        set_usage_tips(error, vec![tip]);
    } else if let Some(meant) = foreign::meant_option(verb, invalid) {
        error.remove(ContextKind::Suggested);
        error.insert(ContextKind::SuggestedArg, ContextValue::String(meant));
    } else if let Some(tip) = foreign::needless_option_tip(verb, path, texts, invalid) {
        error.remove(ContextKind::SuggestedArg);
        set_usage_tips(error, vec![tip]);
    } else if error.get(ContextKind::SuggestedArg).is_none() {
        // An option is not meant as a value, so clap's advice `-- -v` misleads.
        let tip = match path.is_empty() {
            true => message!("`rulec --help` lists the options"),
            false => {
                let options = own_option_names(verb);
                match options.len() {
                    1..=MAX_LISTED_OPTIONS => {
                        let options = comma_list(options);
                        message!("`rulec {} --help` lists the options: {options}", path.join(" "))
                    }
                    _ => message!("`rulec {} --help` lists the options", path.join(" ")),
                }
            }
        };
        set_usage_tips(error, vec![tip]);
    }
}

/// Returns the names of the long options of the subcommand `verb`, without the options that every
/// subcommand has.
fn own_option_names(verb: &Command) -> Vec<String> {
    let is_own = |arg: &&clap::Arg| !arg.is_global_set() && !arg.is_hide_set();
    let longs = verb.get_arguments().filter(is_own).filter_map(clap::Arg::get_long);
    longs.filter(|long| !matches!(*long, "help" | "version")).map(|long| format!("`--{long}`")).collect()
}

/// Replaces clap's usage line in an error by the complete usage of the command. clap's line shows
/// only the arguments of this run.
fn show_usage(error: &mut clap::Error, command: &Command, path: &[&str]) {
    let mut command = localized_command(command.clone());
    command.build();
    let mut verb = &mut command;
    for name in path {
        let Some(found) = verb.find_subcommand_mut(name) else {
            return broken_invariant!("the path names subcommands");
        };
        verb = found;
    }
    error.insert(ContextKind::Usage, ContextValue::StyledStr(verb.render_usage()));
}

fn set_usage_tips(error: &mut clap::Error, tips: Vec<Message>) {
    let tips = tips.iter().map(|tip| StyledStr::from(localized(tip).into_owned())).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

/// Returns the subcommand of `rulec` that a user of another program probably means by `word`.
/// `None` for other words.
fn find_meant_command(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().as_str() {
        "watch" => "test --watch",
        "lint" | "validate" | "verify" | "typecheck" => "check",
        "format" | "prettier" => "fmt",
        "compile" | "make" => "build",
        "eval" | "evaluate" | "exec" | "execute" | "decide" | "apply" | "match" | "classify" => "run",
        "compare" | "delta" | "changes" | "changelog" | "cmp" => "diff",
        "analyse" | "analysis" | "inspect" | "stats" | "audit" => "analyze",
        "whynot" | "why_not" => "why-not",
        "tests" | "spec" | "verify-tests" => "test",
        "shell" | "console" | "interactive" | "playground" => "repl",
        "daemon" | "api" | "rest" => "serve",
        "simulate" | "dry-run" | "preview" | "backtest" => "plan",
        "types" | "jsonschema" | "json-schema" | "typegen" => "schema",
        "guess" | "discover" => "infer",
        "autofix" | "repair" => "check --fix",
        "doc" | "docs" | "code" => "explain",
        "new" | "create" | "scaffold" => "init",
        "trace" | "debug" => "why",
        "convert" => "import",
        "dot" | "viz" | "draw" | "diagram" => "graph",
        "server" | "start" | "listen" => "serve",
        "ui" | "dev" | "gui" => "studio",
        "benchmark" | "perf" => "bench",
        "version" => "--version",
        _ => return None,
    })
}

/// Returns the text of a usage error in the language of this run, with suggestions and usage.
/// `None` if clap's own English text must be used.
pub fn localized_error(error: &clap::Error) -> Option<String> {
    let quoted = |kind| match error.get(kind)? {
        ContextValue::Strings(texts) => {
            let texts = comma_list(texts.iter().map(|text| format!("`{text}`")));
            Some(localized(&texts).into_owned())
        }
        _ => usage_error_detail(error, kind).map(|text| format!("`{text}`")),
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
    if let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested) {
        lines.extend(tips.iter().map(|tip| message!("  tip: {tip}", tip = tip.to_string())));
    }
    if let Some(possible) = usage_error_detail(error, ContextKind::ValidValue).filter(|text| !text.is_empty())
    {
        lines.push(message!("  possible values: {possible}"));
    }
    let usage = usage_error_detail(error, ContextKind::Usage).unwrap_or_default();
    if let Some(usage) = usage.trim().strip_prefix("Usage:") {
        lines.push(Message::default());
        lines.push(message!("usage: {}", usage.trim()));
    }
    lines.push(Message::default());
    lines.push(message!("run with `--help` for details"));
    let lines: Vec<_> = lines.iter().map(|line| localized(line)).collect();
    Some(lines.join("\n"))
}

/// Returns the detail `kind` of a usage error as text, such as the valid values. `None` if clap
/// provides no such detail.
fn usage_error_detail(error: &clap::Error, kind: ContextKind) -> Option<String> {
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
