//! Checks the rules of the house for the sources of every package, as far as a program can check
//! them.
//!
//! A file is short and opens with a comment that says why it exists. [`prose`]: comments, strings
//! and pages are plain English; [`texts`] finds them. [`circles`]: modules do not import each
//! other in a circle. [`guards`]: the compiler of `rust-version` knows the syntax. [`oracle`]:
//! which files may use the reference evaluator. [`targets`]: reports name their part of the
//! library. Clippy checks the length of functions (`clippy.toml`).

mod circles;
mod guards;
mod oracle;
mod prose;
mod targets;
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_LINES: usize = 500;

fn project_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the folders with this name in the root package and in the member packages under
/// `crates/`.
fn folders(name: &str) -> Vec<PathBuf> {
    let mut folders = vec![project_root().join(name)];
    if let Ok(members) = fs::read_dir(project_root().join("crates")) {
        folders.extend(members.map(|member| member.expect("an entry").path().join(name)));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

fn relative_name(path: &Path) -> String {
    let inner = path.strip_prefix(project_root()).expect("it lies in the repository");
    inner.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| matches!(part.to_str(), Some("tests" | "tests.rs" | "fixture.rs")))
}

/// Finds files that are too long or have no opening comment. Maps the broken rule and the file's
/// name to a description.
fn breaches() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut breach = |rule: &str, file: &str, why: String| drop(found.insert(format!("{rule} {file}"), why));
    for folder in folders("src").into_iter().chain(folders("tests")) {
        let mut files = Vec::new();
        rust_files(&folder, &mut files);
        assert!(!files.is_empty(), "{} holds no source", folder.display());
        for path in files {
            let (name, text) = (relative_name(&path), fs::read_to_string(&path).expect("a text"));
            let lines = text.lines().count();
            if lines > MAX_LINES {
                breach("length", &name, format!("{lines} lines"));
            }
            if !text.starts_with("//!") {
                breach("opening", &name, "it does not open with `//!`".to_owned());
            }
        }
    }
    found
}

#[test]
fn the_sources_keep_the_rules_of_the_house() {
    let breaches = breaches();
    let broken: String = breaches.iter().map(|(breach, why)| format!("{breach}: {why}\n")).collect();
    assert!(broken.is_empty(), "rules of the house are broken:\n{broken}");
}
