//! Language of a response. The page sends its language with each request, so that messages are in
//! the page's language.

use rulec::{Diagnostic, Language, Message};
use std::future::Future;

tokio::task_local! {
    static REQUEST_LANGUAGE: Language;
}

/// Returns the language of the current request; English outside a request.
pub(crate) fn current_language() -> Language {
    REQUEST_LANGUAGE.try_with(|language| *language).unwrap_or_default()
}

/// Returns the short name of a language, such as `en`, for the page.
pub(crate) fn language_tag(language: Language) -> String {
    match language {
        Language::Chinese => "zh",
        _ => "en",
    }
    .to_owned()
}

/// Translates a diagnostic to the language of the current request.
pub(crate) fn localized_diagnostic(diagnostic: &Diagnostic) -> Diagnostic {
    diagnostic.localized(current_language())
}

/// Translates a message to the language of the current request.
pub(crate) fn localized(message: &Message) -> String {
    message.localized(current_language()).into_owned()
}

/// Runs an asynchronous handler. During the run, the function [`current_language`] returns the
/// given language.
pub(crate) async fn with_language<T>(language: Language, answer: impl Future<Output = T>) -> T {
    REQUEST_LANGUAGE.scope(language, answer).await
}

/// Runs a function on the current thread. During the run, the function [`current_language`] returns
/// the given language.
pub(crate) fn run_with_language<T>(language: Language, work: impl FnOnce() -> T) -> T {
    REQUEST_LANGUAGE.sync_scope(language, work)
}
