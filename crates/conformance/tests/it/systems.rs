//! Runs the cases of routes, choices and flows on every engine. The definitions are imported from
//! another system's JSON, compiled and decided. A few dozen cases per kind are in this repository.
//! The full collection also runs if its folder is available.

use crate::shared;
use rulec::Tier;
use rulec_conformance::{CASE_KINDS, CaseKind, RunReport, RunSetting, find_case_kind};
use std::fs;
use std::path::Path;

/// Kinds whose cases need neither a shared context nor other files.
const SYSTEM_KINDS: [&str; 3] = ["route", "choice", "flow"];

fn test_setting() -> RunSetting {
    RunSetting { tiers: Tier::ALL.to_vec(), context: None }
}

/// Runs the cases of one kind in a folder.
fn run_kind(folder: &Path, name: &str) -> RunReport {
    let text = fs::read_to_string(folder.join(format!("{name}.jsonl"))).expect("the cases lie there");
    let kind: &CaseKind = find_case_kind(name).expect("the kind is known");
    kind.run(&text, &test_setting())
}

#[track_caller]
fn assert_all_hold(name: &str, report: &RunReport) {
    assert!(report.passed_count > 0, "{name}: there is no case");
    assert!(report.failures.is_empty(), "{name}: {:#?}", &report.failures[..report.failures.len().min(5)]);
}

#[test]
fn the_cases_that_lie_here_hold_on_every_engine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/systems");
    for name in SYSTEM_KINDS {
        assert_all_hold(name, &run_kind(&folder, name));
    }
}

#[test]
fn all_cases_hold_on_every_engine() {
    let Some(folder) = shared::shared("cases") else { return };
    for name in SYSTEM_KINDS {
        assert_all_hold(name, &run_kind(&folder, name));
    }
}

/// The cases of workflows are stored with the workflow tests of `runtime`. The cases of payloads
/// run in `payload.rs`.
#[test]
fn workflow_cases_hold_on_every_engine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/tests/it/workflow/cases");
    let kind = find_case_kind("workflow").expect("the kind is known");
    for name in ["workflow.jsonl", "workflow_more.jsonl"] {
        let text = fs::read_to_string(folder.join(name)).expect("the cases lie here");
        assert_all_hold(name, &kind.run(&text, &test_setting()));
    }
}

#[test]
fn what_does_not_hold_is_reported_with_its_line_and_name() {
    let case = |expected: &str| {
        format!(
            r#"{{"name": "one", "flows": [{{"flow_id": "a", "type": "keyword", "trigger_patterns": ["hi"]}}], "message": "hi", "expected": {expected}}}"#
        )
    };
    let flow = find_case_kind("flow").expect("flows are a kind");
    let right = case(r#"{"flow": "a", "pattern": "hi"}"#);
    let wrong = case(r#"{"flow": null, "pattern": null}"#);
    let refuses = case(r#"{"load_error": true}"#);
    let text = format!("{right}\n\n{wrong}\n{refuses}\nnonsense\n{{\"name\": \"bare\"}}\n");
    let report = flow.run(&text, &test_setting());
    let found: Vec<(usize, &str)> =
        report.failures.iter().map(|failure| (failure.line, failure.message.as_str())).collect();
    assert_eq!(report.passed_count, 1);
    assert_eq!(found[0].0, 3);
    assert!(found[0].1.starts_with("expected {\"flow\":null"), "{}", found[0].1);
    assert_eq!(found[1], (4, "expected an error while loading, but loading succeeded"));
    assert!(found[2].0 == 5 && found[2].1.contains("expected a JSON value"), "{}", found[2].1);
    assert_eq!(found[3], (6, "the case has no `message`"));
    assert_eq!(report.failures[3].name, "bare");
}

#[test]
fn kinds_have_names_of_their_own() {
    for (at, one) in CASE_KINDS.iter().enumerate() {
        assert!(CASE_KINDS[at + 1..].iter().all(|other| other.name != one.name));
        assert_eq!(find_case_kind(one.name).map(|kind| kind.name), Some(one.name));
    }
    assert!(find_case_kind("nothing").is_none());
}
