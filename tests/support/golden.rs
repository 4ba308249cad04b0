//! Golden files with expected output. They are compared with the actual output, or rewritten with
//! `INSTA_UPDATE=always`, like snapshots.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::Path;

/// True if golden files should be rewritten.
pub fn refreshes() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| matches!(&*update, "always" | "force"))
}

/// Compares a golden file with the actual output `made`, or rewrites the file.
#[track_caller]
pub fn assert_file(path: &Path, made: &str) {
    if refreshes() {
        std::fs::write(path, made).expect("the file can be written");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == made,
        "{} differs; `INSTA_UPDATE=always cargo test` writes it anew:\n{made}",
        path.display()
    );
}
