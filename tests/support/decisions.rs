//! The bundled payload rules, and test cases for them.

#![allow(dead_code, reason = "each test program uses a part of it")]

use rulec::{Rules, bundled};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

pub fn decisions() -> Rules {
    match Rules::from_text(bundled::DECISIONS) {
        Ok(rules) => {
            let warnings: Vec<_> = rules.warnings().iter().map(|warning| &warning.message).collect();
            assert!(warnings.is_empty(), "{warnings:?}");
            rules
        }
        Err(error) => panic!("{error}"),
    }
}

/// Reads the cases of a file with one JSON case per line.
pub fn read_cases(path: &Path) -> Vec<Json> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
