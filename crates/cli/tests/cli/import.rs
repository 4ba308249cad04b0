//! `rulec import` and `rulec conformance`.

use super::Folder;

const FLOWS: &str =
    r#"[{"flow_id": "greet", "type": "keyword", "trigger_patterns": ["hi", "hi there"], "tags": ["x"]}]"#;
const RULES: &str = "\
# Keyword and intent flows, imported from their JSON.
# Keyword flows are tried as they stand here, their patterns in order; where none is found, the
# intent flows are asked.

# tags: [\"x\"]
# rulec: allow W0404 so it was in the original: an earlier pattern answers first
flow greet keyword contains [\"hi\", \"hi there\"] -> \"greet\"
";

#[test]
fn rules_are_printed_and_notes_stand_apart() {
    let folder = Folder::new().file("flows.json", FLOWS);
    let note = "note: `tags` of the flow `greet` has no meaning here and is kept as a comment\n";
    let ran = folder.rulec(&["import", "flows", "flows.json"]).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (RULES, note));
    let ran = folder.fed(&["import", "flows", "-"], FLOWS).expect(0);
    assert_eq!(ran.out, RULES);
}

#[test]
fn a_file_is_written_once_and_passes_the_check() {
    let folder = Folder::new().file("flows.json", FLOWS);
    let write = ["import", "flows", "flows.json", "-o", "flows.rules"];
    let ran = folder.rulec(&write).expect(0);
    assert!(ran.out.is_empty() && ran.err.starts_with("wrote `flows.rules`\n"), "{}", ran.err);
    folder.rulec(&["check", "--deny", "warnings", "flows.rules"]).expect(0);
    let ran = folder.rulec(&write).expect(2);
    assert_eq!(ran.err, "error: `flows.rules` already exists; `--force` overwrites it\n");
    let folder = folder.file("flows.json", "[]");
    folder.rulec(&["import", "flows", "flows.json", "-o", "flows.rules", "--force"]).expect(0);
    let text = std::fs::read_to_string(folder.path("flows.rules")).expect("the file is there");
    assert!(text.ends_with("# There was no flow.\ninput { text: string }\n"), "{text}");
    folder.rulec(&["check", "--deny", "warnings", "flows.rules"]).expect(0);
}

#[test]
fn the_samples_pass_the_check_with_warnings_denied() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/samples");
    for system in ["routes", "choice", "flows"] {
        let folder = Folder::new();
        let json = format!("{samples}/{system}.json");
        folder.rulec(&["import", system, &json, "-o", "it.rules"]).expect(0);
        folder.rulec(&["check", "--deny", "warnings", "it.rules"]).expect(0);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_nothing_is_written() {
    let look_around =
        r#"[{"name": "a", "handler": "h", "condition": {"type": "RegexCondition", "pattern": "(?!x)"}}]"#;
    for (system, json, says) in [
        ("routes", "[\n  {\"name\": \"a\",}\n]", "a.json: comma after the last element at line 2, column 16"),
        (
            "routes",
            look_around,
            "route `a`: the regular expression `(?!x)` cannot be translated: look-around",
        ),
        ("routes", "{\"routes\": [{\"name\": \"a\", \"name\": \"b\"}]}", "twice"),
        ("choice", "[{\"branch_id\": \"b\", \"logic\": \"nor\"}]", "`[0].logic` (line 1, column 30)"),
    ] {
        let folder = Folder::new().file("a.json", json);
        let ran = folder.rulec(&["import", system, "a.json", "-o", "a.rules"]).expect(1);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
        assert!(!folder.path("a.rules").exists());
    }
    let folder = Folder::new().file("a.json", b"[\"\xff\"]");
    let ran = folder.rulec(&["import", "routes", "a.json"]).expect(1);
    assert!(ran.err.contains("not UTF-8"), "{}", ran.err);
    folder.rulec(&["import", "routes", "missing.json"]).expect(2);
    folder.rulec(&["import", "routes", "."]).expect(2);
    folder.rulec(&["import", "songs", "a.json"]).expect(2);
    folder.rulec(&["import", "routes", "a.json", "-o", "no/such/folder/a.rules"]).expect(1);
}

#[test]
fn cases_are_counted_and_failures_listed_on_request() {
    let case = |name: &str, flow: &str| {
        format!(
            r#"{{"name": "{name}", "flows": {FLOWS}, "message": "hi", "expected": {{"flow": {flow}, "pattern": "hi"}}}}"#
        )
    };
    let text = format!("{}\n{}\n", case("good", "\"greet\""), case("bad", "null"));
    let folder = Folder::new().file("all.jsonl", &text).file("good.jsonl", case("good", "\"greet\""));
    let ran = folder.rulec(&["conformance", "flow", "good.jsonl"]).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("1 passed, 0 failed\n", ""));
    for engine in ["auto", "reference", "vm"] {
        let ran = folder.rulec(&["conformance", "flow", "all.jsonl", "--engine", engine]).expect(1);
        assert_eq!(ran.out, "1 passed, 1 failed\n");
    }
    let ran = folder.fed(&["conformance", "flow", "-", "--list-failures"], text).expect(1);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("line 2: bad: expected {\"flow\":null"), "{}", lines[0]);
    assert_eq!(lines[1..], ["1 passed, 1 failed"]);
    folder.rulec(&["conformance", "songs", "all.jsonl"]).expect(2);
    folder.rulec(&["conformance", "flow", "missing.jsonl"]).expect(2);
    folder.rulec(&["conformance", "flow", "all.jsonl", "--context", "missing.json"]).expect(2);
}
