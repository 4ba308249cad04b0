//! Tests of the examples that are imported from five JSON documents. The imported rules must equal
//! the files in the repository, and the commands of the README must produce the documented output.

use super::{Folder, Ran, program};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a command as it is written in the README.
fn rulec(command: &str) -> Ran {
    let args = command.strip_prefix("rulec ").expect("a command of this program").split(' ');
    Ran::new(program(&root()).args(args).output().expect("the program starts"))
}

/// The commands of a table in the README. Each has a key of the output, and the values expected for
/// this key.
const COMMANDS: [(&str, &str, &[&str]); 5] = [
    (
        "rulec run examples/documents/routing.rules examples/documents/routing.jsonl",
        "chosen",
        &[
            "show_files",
            "execute_code",
            "urgent",
            "error_recovery",
            "default",
            "administration",
            "default",
            "default",
        ],
    ),
    (
        "rulec run examples/documents/choice.rules examples/documents/choice.jsonl",
        "branch",
        &["approve", "manual", "ask_again", "refuse", "approve"],
    ),
    (
        "rulec run examples/documents/flows.rules examples/documents/flows.jsonl",
        "flow",
        &[
            "greeting",
            "order_status",
            "leave_request",
            "product_recommendation",
            "complaint_handling",
            "none",
        ],
    ),
    (
        "rulec run rules/decisions.rules examples/documents/decisions.jsonl --decision-by action_type --context examples/documents/context.json",
        "outcome",
        &[
            "accept",
            "accept",
            "accept",
            "accept",
            "accept",
            "accept",
            "accept",
            "accept",
            "accept",
            "accept",
            "accept_corrected",
        ],
    ),
    (
        "rulec run rules/workflow.rules examples/documents/loop.jsonl --entry loop",
        "next",
        &["[\"debate\"]", "[\"report\"]", "[\"debate\"]"],
    ),
];

#[test]
fn the_commands_of_the_examples_answer_for_each_document() {
    for (command, member, expected) in COMMANDS {
        let answers = rulec(command).expect(0).json();
        let shown = |answer: &Json| match &answer[member] {
            Json::Null => "none".to_owned(),
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        let found: Vec<String> = answers.iter().map(shown).collect();
        assert_eq!(found, expected, "{command}");
    }
    let readme = std::fs::read_to_string(root().join("examples/README.md")).expect("it can be read");
    let listed: Vec<&str> = readme
        .lines()
        .filter_map(|line| {
            line.split('`').find(|part| part.starts_with("rulec ") && part.contains("examples/documents/"))
        })
        .collect();
    assert_eq!(listed, COMMANDS.map(|(command, ..)| command), "the README's table names other commands");
}

#[test]
fn the_imported_examples_are_what_the_importer_writes() {
    for (system, name) in [("routes", "routing"), ("choice", "choice"), ("flows", "flows")] {
        let path = |extension: &str| format!("examples/documents/{name}.{extension}");
        let ran = rulec(&format!("rulec import {system} {}", path("json"))).expect(0);
        let lies_there = std::fs::read_to_string(root().join(path("rules"))).expect("it can be read");
        assert_eq!(ran.out, lies_there, "{name}: import it anew");
        rulec(&format!("rulec check {} --deny warnings", path("rules"))).expect(0);
    }
}

/// Regression test: a stream with payloads of several kinds needed one run per kind.
#[test]
fn the_field_that_names_the_kind_chooses_the_judge() {
    let rules = "payload a { n: int }\npayload b { t: string }\n";
    let lines = "{\"kind\": \"a\", \"n\": 1}\n{\"kind\": \"b\", \"t\": 1}\n{\"kind\": \"c\"}\n{\"n\": 1}\n";
    let folder = Folder::with(rules).file("c.json", "{}");
    let ran = folder.fed(&["run", "a.rules", "--decision-by", "kind"], lines).expect(0);
    let answers = ran.json();
    assert_eq!((&answers[0]["decision"], &answers[0]["valid"]), (&Json::from("a"), &Json::from(true)));
    assert_eq!((&answers[1]["decision"], &answers[1]["valid"]), (&Json::from("b"), &Json::from(false)));
    // A payload without a known kind is rejected as any other.
    let said = |at: usize| {
        let violation = &answers[at]["violations"][0];
        let said = ["rule", "path", "message"].map(|key| violation[key].as_str().unwrap_or_default());
        (answers[at]["outcome"].as_str(), said)
    };
    let unknown = "`kind` is \"c\", which is not a payload kind";
    assert_eq!(said(2), (Some("reject"), ["kind.match", "$.kind", unknown]));
    let missing = "`kind` must name the kind of the payload";
    assert_eq!(said(3), (Some("reject"), ["kind.required", "$.kind", missing]));
    assert!(ran.err.ends_with("4 payloads: 1 accepted, 0 corrected, 3 rejected\n"), "{}", ran.err);
    // With `--strict`, warnings of all kinds count as violations.
    let warning = Folder::with("payload a { n: int; forbid \"odd\" when n == 3 warning }\n");
    for (strict, valid) in [(&[][..], true), (&["--strict"][..], false)] {
        let args = [&["run", "a.rules", "--decision-by", "kind"], strict].concat();
        let ran = warning.fed(&args, "{\"kind\": \"a\", \"n\": 3}\n").expect(0);
        assert_eq!(ran.json()[0]["valid"], valid, "{}", ran.out);
    }
    folder.fed(&["run", "a.rules", "--decision-by", "kind", "--entry", "a"], lines).expect(2);
    folder.fed(&["run", "a.rules", "--decision-by", "kind", "--decision", "a"], lines).expect(2);
    let ran = Folder::with("default -> h").fed(&["run", "a.rules", "--decision-by", "kind"], lines).expect(2);
    assert!(ran.err.starts_with("error: the rules declare no payload kind; "), "{}", ran.err);
}
