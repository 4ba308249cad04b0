//! Fields that several requests have: the language of the answer, and the expected generation.

use crate::problem::Problem;
use crate::rules::{self, Version};
use rulec::Language;

/// Reads the name of a language.
///
/// # Errors
/// If the texts of rulec are not available in this language.
pub(super) fn read_language(name: Option<&str>) -> Result<Language, Problem> {
    let Some(name) = name else { return Ok(Language::default()) };
    Language::of_locale(name)
        .ok_or_else(|| Problem::invalid(format!("`{name}` is no language of rulec; write `en` or `zh`")))
}

/// Returns the generation of the rules in force, which must be the one that a request expects.
///
/// # Errors
/// If they have another generation.
pub(super) fn check_generation(version: &Version, expected: Option<u64>) -> Result<u64, Problem> {
    let generation = version.generation()?;
    rules::check_generation(generation, expected).map(|()| generation)
}
