//! Runs the payload cases with the bundled rules on every engine.

use crate::decisions::{decisions, read_cases};
use crate::engines::COLUMNS;
use crate::shared;
use rulec_conformance::payload::run_case;
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_context(path: &Path) -> Json {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs all cases of a file on every engine.
fn assert_conforming(cases: &[Json], context: &Json) {
    let rules = decisions();
    for column in COLUMNS {
        let rules = column.judging(&rules);
        let failed: Vec<String> = cases
            .iter()
            .filter_map(|case| {
                run_case(&rules, case, context).err().map(|why| format!("{}: {why}", case["name"]))
            })
            .collect();
        assert!(
            failed.is_empty(),
            "{column:?}: {} of {} fail:\n{}",
            failed.len(),
            cases.len(),
            failed.join("\n")
        );
    }
}

#[test]
fn the_shared_cases_pass() {
    let Some(folder) = shared::shared("cases") else { return };
    let cases = read_cases(&folder.join("payload.jsonl"));
    assert!(cases.len() > 1000);
    assert_conforming(&cases, &read_context(&folder.join("payload_context.json")));
}

#[test]
fn the_own_cases_pass() {
    let folder = repository_root().join("tests/conformance/payload");
    assert_conforming(&read_cases(&folder.join("cases.jsonl")), &read_context(&folder.join("context.json")));
}
