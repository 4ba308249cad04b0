//! The changes to a file, as a patch that `patch -p0` and reviewers read.

use super::CliError;
use super::term::Out;
use similar::TextDiff;

/// Writes the lines that differ between two texts of a file, with three lines around them.
pub fn write(name: &str, old: &str, new: &str, out: &mut Out) -> Result<(), CliError> {
    let diff = TextDiff::from_lines(old, new);
    out.source(&diff.unified_diff().context_radius(3).header(name, name).to_string())
}
