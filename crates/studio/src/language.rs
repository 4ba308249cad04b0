//! The language that a request is answered in: the page says it with each, so that findings are told as the page is.

use rulec::{Diagnostic, Language, Message};
use std::future::Future;

tokio::task_local! {
    static CHOSEN: Language;
}

/// The language of the request at hand; English where none is.
pub(crate) fn language() -> Language {
    CHOSEN.try_with(|language| *language).unwrap_or_default()
}

/// The short name of a language, as the page has it.
pub(crate) fn tag(language: Language) -> String {
    match language {
        Language::Chinese => "zh",
        _ => "en",
    }
    .to_owned()
}

/// A finding as it is told to whoever asks.
pub(crate) fn told(found: &Diagnostic) -> Diagnostic {
    found.told_in(language())
}

/// A message as it is told to whoever asks.
pub(crate) fn words(message: &Message) -> String {
    message.told_in(language()).into_owned()
}

/// Answers a request in a language.
pub(crate) async fn answered<T>(language: Language, answer: impl Future<Output = T>) -> T {
    CHOSEN.scope(language, answer).await
}

/// Works in a language, on this thread.
pub(crate) fn worked<T>(language: Language, work: impl FnOnce() -> T) -> T {
    CHOSEN.sync_scope(language, work)
}
