//! Files that tests write and hold against what is made today. `INSTA_UPDATE=always` writes them
//! anew, as it does snapshots.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::Path;

/// True when files are to be written anew.
pub fn refreshes() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| matches!(&*update, "always" | "force"))
}

/// Holds a file against what it should be, or writes it anew.
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
