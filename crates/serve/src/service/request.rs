//! Reads fields that several kinds of requests have: the language of the answer, and the expected
//! generation (version number) of the rules.

use crate::problem::Problem;
use crate::rules::{self, Version};
use rulec::Language;

/// Converts the name of a language, such as `en`. `None` means English.
///
/// # Errors
/// If rulec has no translations into this language.
pub(super) fn read_language(name: Option<&str>) -> Result<Language, Problem> {
    let Some(name) = name else { return Ok(Language::default()) };
    Language::of_locale(name)
        .ok_or_else(|| Problem::invalid(format!("`{name}` is no language of rulec; write `en` or `zh`")))
}

/// Checks that the rules in force have the generation (version number) that a request expects;
/// `None` if the request accepts any. Returns the generation of the rules in force.
///
/// # Errors
/// If the rules in force have another generation.
pub(super) fn check_generation(version: &Version, expected: Option<u64>) -> Result<u64, Problem> {
    let generation = version.generation()?;
    rules::check_generation(generation, expected).map(|()| generation)
}
