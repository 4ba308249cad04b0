//! The language that findings and pages are told in: as `--lang` says, else as `RULEC_LANG` does. It is the same for the
//! whole run, so it is kept in one place.

use clap::ValueEnum;
use rulec::{Diagnostic, Language};
use std::borrow::Cow;
use std::sync::OnceLock;

static CHOSEN: OnceLock<Language> = OnceLock::new();

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
        let value = std::env::var("RULEC_LANG").unwrap_or_default().to_ascii_lowercase();
        if value.starts_with("zh") { Lang::Zh } else { Lang::En }
    };
    let language = match wanted.unwrap_or_else(of_environment) {
        Lang::En => Language::English,
        Lang::Zh => Language::Chinese,
    };
    let _ = CHOSEN.set(language);
}

pub fn language() -> Language {
    CHOSEN.get().copied().unwrap_or_default()
}

/// The message of a finding; in another language than English the title of its code stands before it.
pub fn message(diagnostic: &Diagnostic) -> Cow<'_, str> {
    match language() {
        Language::English => diagnostic.message.as_str().into(),
        language => format!("{}\u{ff1a}{}", diagnostic.code.title_in(language), diagnostic.message).into(),
    }
}
