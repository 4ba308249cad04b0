//! The language that findings and pages are told in: as `--lang` says, else as `RULEC_LANG` does. It is the same for the
//! whole run, so it is kept in one place.

use clap::ValueEnum;
use rulec::{Diagnostic, Language};
use std::borrow::Cow;
use std::sync::OnceLock;

/// The language that somebody asked for.
static CHOSEN: OnceLock<Option<Language>> = OnceLock::new();

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lang {
    /// English
    En,
    /// 中文: the titles and pages of codes
    Zh,
}

/// Sets the language of this run.
pub fn choose(wanted: Option<Lang>) {
    let of_environment = || {
        let value = std::env::var("RULEC_LANG").ok().filter(|value| !value.is_empty())?;
        Some(if value.to_ascii_lowercase().starts_with("zh") { Lang::Zh } else { Lang::En })
    };
    let chosen = wanted.or_else(of_environment).map(|lang| match lang {
        Lang::En => Language::English,
        Lang::Zh => Language::Chinese,
    });
    let _ = CHOSEN.set(chosen);
}

/// The language that was asked for, by `--lang` or the environment.
pub fn chosen() -> Option<Language> {
    CHOSEN.get().copied().flatten()
}

pub fn language() -> Language {
    chosen().unwrap_or_default()
}

/// The message of a finding; in another language than English the title of its code stands before it.
pub fn message(diagnostic: &Diagnostic) -> Cow<'_, str> {
    match language() {
        Language::English => diagnostic.message.as_str().into(),
        language => format!("{}\u{ff1a}{}", diagnostic.code.title_in(language), diagnostic.message).into(),
    }
}
