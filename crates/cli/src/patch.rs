//! Formats the changes to a file as a unified diff, for `patch -p0` and for reviewers.

use super::CliError;
use super::term::Out;
use similar::TextDiff;

/// Writes the changes from `old` to `new`, two versions of the file `name`, as a unified diff with
/// three lines of context.
pub fn write_patch(name: &str, old: &str, new: &str, out: &mut Out) -> Result<(), CliError> {
    let diff = TextDiff::from_lines(old, new);
    out.write_text_for_programs(&diff.unified_diff().context_radius(3).header(name, name).to_string())
}
