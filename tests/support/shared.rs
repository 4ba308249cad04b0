//! The cases and data that lie beside the project and are no part of it.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the path of what lies in the folder `shared` beside the project. Where it is not there the
/// caller leaves its test out, and a line says so that no test runner holds back.
///
/// # Panics
/// When the variable `CI` is set: continuous integration has the folder, and no test is left out.
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
    // The macros that print are caught by the test runner.
    let _ =
        writeln!(std::io::stderr(), "\n*** SKIPPED, `shared/{path}` is not beside the project: {caller} ***");
    None
}
