//! The language that findings and pages are told in: as `--lang` says, else as `RULEC_LANG` does. It is the same for the
//! whole run, so it is kept in one place.

use clap::ValueEnum;
use rulec::internals::diag::said;
use rulec::{Diagnostic, Language, Message};
use std::borrow::Cow;
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

/// Sets the language of this run.
pub fn choose(wanted: Option<Lang>) {
    let wanted = wanted.map(|lang| match lang {
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

/// A number of things, by the word for one and for more.
pub fn counted(count: usize, one: Message, more: Message) -> Message {
    said!("{count} {}", if count == 1 { one } else { more })
}

/// A message in the language of this run.
pub fn tell(message: &Message) -> Cow<'_, str> {
    message.told_in(language())
}
