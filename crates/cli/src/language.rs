//! The language that findings and pages are told in: as `--lang` says, else as `RULEC_LANG` does. It is the same for the
//! whole run, so it is kept in one place.

use clap::ValueEnum;
use rulec::{Diagnostic, Language, Message};
use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::OnceLock;

/// The language that somebody asked for.
static CHOSEN: OnceLock<Option<Language>> = OnceLock::new();

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lang {
    /// English
    En,
    /// 中文
    Zh,
}

/// Sets the language of this run. It is looked for before the arguments are read, since what is wrong with these is told in
/// it as well.
pub fn choose(args: &[OsString]) {
    let mut named = None;
    let mut args = args.iter().map(|arg| arg.to_string_lossy()).take_while(|arg| arg != "--");
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--lang") {
            Some("") => named = args.next().map(Cow::into_owned),
            Some(value) => named = value.strip_prefix('=').map(str::to_owned).or(named),
            None => {}
        }
    }
    let wanted = named.and_then(|name| Lang::from_str(&name, false).ok()).map(|lang| match lang {
        Lang::En => Language::English,
        Lang::Zh => Language::Chinese,
    });
    let of_environment = || {
        let value = std::env::var("RULEC_LANG").ok().filter(|value| !value.is_empty())?;
        Some(Language::of_locale(&value).unwrap_or_default())
    };
    let _ = CHOSEN.set(wanted.or_else(of_environment));
}

/// The language that was asked for, by `--lang` or the environment.
pub fn chosen() -> Option<Language> {
    CHOSEN.get().copied().flatten()
}

pub fn language() -> Language {
    chosen().unwrap_or_default()
}

/// A finding as it is told in the language of this run.
pub fn told(diagnostic: &Diagnostic) -> Cow<'_, Diagnostic> {
    match language() {
        Language::English => Cow::Borrowed(diagnostic),
        other => Cow::Owned(diagnostic.told_in(other)),
    }
}

/// A number of things: one of them, or more.
pub fn counted(count: usize, one: Message, more: Message) -> Message {
    if count == 1 { one } else { more }
}

/// A message in the language of this run.
pub fn tell(message: &Message) -> Cow<'_, str> {
    message.told_in(language())
}
