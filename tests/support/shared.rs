//! Access to shared test cases and data, which are outside the repository.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns a path in the folder `shared` next to the repository, or `None` if it does not exist.
///
/// If the file does not exist, the caller skips its test. A line on standard error reports the
/// skipped test, even if the test runner captures output.
///
/// # Panics
/// If the file is missing and the variable `CI` is set, because continuous integration must not
/// skip tests.
#[track_caller]
pub fn shared(path: &str) -> Option<PathBuf> {
    let member = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = member.ancestors().find(|folder| folder.join("ARCHITECTURE.md").exists()).unwrap_or(member);
    let found = root.join("../shared").join(path);
    if found.exists() {
        return Some(found);
    }
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(&*value, "" | "0" | "false"));
    assert!(!in_ci, "`shared/{path}` is not beside the project, and continuous integration needs it");
    let caller = std::panic::Location::caller();
    // The test runner would capture `eprintln!`.
    let _ =
        writeln!(std::io::stderr(), "\n*** SKIPPED, `shared/{path}` is not beside the project: {caller} ***");
    None
}
