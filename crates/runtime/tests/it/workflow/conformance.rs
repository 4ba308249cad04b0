//! Runs the conformance cases of workflows. One file of cases came with the original specification;
//! the other file was written from its text.

use rulec_conformance::workflow::{CASE_KIND_NAMES, check_case, run_case};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs all cases of a file. Returns the number of cases by kind.
fn run_file(path: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        *counts.entry(case["kind"].as_str().unwrap().to_owned()).or_default() += 1;
        if let Err(difference) = check_case(&case, &super::support::router) {
            wrong.push(format!("{}: {difference}", case["name"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    counts
}

fn path_in_tests(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/workflow/cases").join(file)
}

#[test]
fn the_cases_that_came_with_the_task() {
    let counts = run_file(&path_in_tests("workflow.jsonl"));
    assert_eq!(CASE_KIND_NAMES.map(|kind| counts[kind]), [18, 8, 6]);
}

#[test]
fn cases_written_from_the_requirement() {
    let counts = run_file(&path_in_tests("workflow_more.jsonl"));
    assert_eq!(CASE_KIND_NAMES.map(|kind| counts[kind]), [36, 8, 5]);
}

#[test]
fn a_case_that_differs_says_where() {
    let case = json!({"kind": "vote_decision", "inputs": [{"a": "YES"}], "threshold": 1,
        "expected": [{"approved": true, "total_votes": 1.0, "yes_votes": 2}]});
    assert_eq!(check_case(&case, &super::support::router).unwrap_err(), "expected[0].yes_votes is 1, not 2");
    let mut more = case.clone();
    more["expected"] = json!([]);
    assert_eq!(check_case(&more, &super::support::router).unwrap_err(), "expected has 1 entries, not 0");
    more["expected"] = json!([{"approved": true, "total_votes": 1.0, "yes_votes": 1, "other": 1}]);
    assert_eq!(check_case(&more, &super::support::router).unwrap_err(), "expected[0].other is missing");
    more["expected"] = json!([{"approved": true, "total_votes": 1.0, "yes_votes": 1}]);
    assert_eq!(check_case(&more, &super::support::router), Ok(()));
}

#[test]
fn a_case_that_cannot_be_run_says_why() {
    let cases = [
        (json!({"kind": "flow"}), "is not one of the kinds workflow, loop_decision, vote_decision"),
        (json!({}), "is not one of the kinds"),
        (json!({"kind": "vote_decision", "inputs": []}), "missing field `threshold`"),
        (
            json!({"kind": "workflow", "start": "a", "nodes": {"a": {"type": "x", "rule": "other"}}}),
            "there is no entry `other`",
        ),
        (json!({"kind": "workflow", "start": "b", "nodes": {"a": {"type": "x"}}}), "starts at `b`"),
    ];
    for (case, expected) in cases {
        let error = run_case(&case, &super::support::router).unwrap_err();
        assert!(error.contains(expected), "{case}: {error}");
    }
}
