//! The language of messages and pages: from `--lang`, otherwise from `RULEC_LANG`. The language is
//! a global value, because it is the same for the whole run.

use clap::ValueEnum;
use rulec::{Diagnostic, Language, Message};
use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::OnceLock;

/// The language that the user selected; `None` if the user selected none. Not set until
/// [`select_language`] is called.
static SELECTED_LANGUAGE: OnceLock<Option<Language>> = OnceLock::new();

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LanguageArg {
    /// English
    En,
    /// 中文
    Zh,
}

/// Sets the language of this run from `--lang` or the environment. Must be called before the
/// arguments are parsed, because errors in the arguments are localized too.
pub fn select_language(args: &[OsString]) {
    let mut lang_name = None;
    let mut args = args.iter().map(|arg| arg.to_string_lossy()).take_while(|arg| arg != "--");
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--lang") {
            Some("") => lang_name = args.next().map(Cow::into_owned),
            Some(value) => lang_name = value.strip_prefix('=').map(str::to_owned).or(lang_name),
            None => {}
        }
    }
    let selected =
        lang_name.and_then(|name| LanguageArg::from_str(&name, false).ok()).map(|lang| match lang {
            LanguageArg::En => Language::English,
            LanguageArg::Zh => Language::Chinese,
        });
    let environment_language = || {
        let value = std::env::var("RULEC_LANG").ok().filter(|value| !value.is_empty())?;
        Some(Language::of_locale(&value).unwrap_or_default())
    };
    let _ = SELECTED_LANGUAGE.set(selected.or_else(environment_language));
}

/// Moves `--lang` of `rulec help check --lang zh` to the front, because clap reads only names of
/// subcommands after `help`.
pub fn move_lang_before_help(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_none_or(|arg| arg != "help") {
        return args;
    }
    let is_lang = |arg: &OsString| arg.to_str().is_some_and(|arg| arg.starts_with("--lang"));
    let Some(at) = args.iter().position(is_lang) else { return args };
    let has_own_value = args[at].to_str().is_some_and(|arg| arg.contains('='));
    let end = if has_own_value { at + 1 } else { at + 2 };
    let option: Vec<OsString> = args.drain(at..end.min(args.len())).collect();
    args.splice(1..1, option);
    args
}

/// Returns the language from `--lang` or the environment, if one is given.
pub fn selected_language() -> Option<Language> {
    SELECTED_LANGUAGE.get().copied().flatten()
}

pub fn language() -> Language {
    selected_language().unwrap_or_default()
}

/// Translates a diagnostic to the language of this run.
pub fn localized_diagnostic(diagnostic: &Diagnostic) -> Cow<'_, Diagnostic> {
    match language() {
        Language::English => Cow::Borrowed(diagnostic),
        other => Cow::Owned(diagnostic.localized(other)),
    }
}

/// Returns the message `singular` if `count` is 1, otherwise the message `plural`.
pub fn singular_or_plural(count: usize, singular: Message, plural: Message) -> Message {
    if count == 1 { singular } else { plural }
}

/// Translates a message to the language of this run.
pub fn localized(message: &Message) -> Cow<'_, str> {
    message.localized(language())
}
