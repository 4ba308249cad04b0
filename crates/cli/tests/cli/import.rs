//! Tests of `rulec import` and `rulec conformance`.

use super::Folder;

const FLOWS: &str =
    r#"[{"flow_id": "greet", "type": "keyword", "trigger_patterns": ["hi", "hi there"], "tags": ["x"]}]"#;
const RULES: &str = "\
# Keyword and intent flows, imported from their JSON.
# Keyword flows are tried in this order, their patterns in order; where none is found, the intent
# flows are asked.

# json: {\"tags\":[\"x\"]}
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
    assert!(text.ends_with("# There was no flow.\nflow tool flow_executor {}\n"), "{text}");
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
        let ran = folder.rulec(&["import", "--strict", system, "a.json", "-o", "a.rules"]).expect(1);
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

const BOT: &str = r#"{"flows": [
  {"flow_id": "greeting", "type": "keyword", "trigger_patterns": ["hello", " "], "match_type": "exact"},
  {"flow_id": "odd", "type": "keyword", "trigger_patterns": ["(?!x)"], "match_type": "regex"},
  {"flow_id": "status", "type": "keyword", "trigger_patterns": ["order", "my order"]}
]}"#;

#[test]
fn a_bad_item_is_left_out_and_reported() {
    let folder = Folder::new().file("bot.json", BOT);
    let ran = folder.rulec(&["import", "flows", "bot.json", "-o", "bot.rules"]).expect(0);
    for says in [
        "note: pattern ` ` was skipped: this pattern is blank; remove it, at `/flows/0/trigger_patterns/1` (line 2, column 76)",
        "note: flow `odd` was skipped: none of its patterns can be used: the pattern `(?!x)` cannot be translated",
    ] {
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
    }
    folder.rulec(&["check", "--deny", "warnings", "bot.rules"]).expect(0);
    let ran = folder.rulec(&["import", "flows", "bot.json", "--json"]).expect(0);
    let report: serde_json::Value = serde_json::from_str(&ran.err).expect("the report is JSON");
    let outcomes: Vec<&str> =
        report.as_array().into_iter().flatten().map(|item| item["outcome"].as_str().unwrap_or("")).collect();
    assert_eq!(outcomes, ["adapted", "skipped", "skipped", "loaded"]);
    assert_eq!(report[1]["line"], 2);
}

#[test]
fn a_json_document_stands_in_place_of_rules() {
    let folder = Folder::new().file("bot.json", BOT).file(
        "messages.jsonl",
        "{\"text\": \"hello\"}\n{\"text\": \"where is my order\"}\n{\"text\": \"y\"}\n",
    );
    let ran = folder.rulec(&["run", "bot.json", "messages.jsonl"]).expect(0);
    let flows: Vec<bool> = ["\"greeting\"", "\"status\"", "null"]
        .iter()
        .zip(ran.out.lines())
        .map(|(id, line)| line.contains(&format!("\"flow\":{id}")))
        .collect();
    assert_eq!(flows, [true; 3], "{}", ran.out);
    assert!(ran.err.contains("`bot.json` has 3 warnings; see `rulec check bot.json`"), "{}", ran.err);

    let ran = folder.rulec(&["check", "bot.json", "--format", "concise"]).expect(0);
    for says in ["bot.json:2:76", "W0223", "pattern ` ` was skipped", "flow `odd` was skipped", "W0404"] {
        assert!(ran.out.contains(says), "{says}: {}", ran.out);
    }
    folder.rulec(&["check", "bot.json", "--deny", "W0223"]).expect(1);
    folder.rulec(&["check", "bot.json", "--allow", "W0223,W0404", "--deny", "warnings"]).expect(0);
    let ran = folder.rulec(&["why", "bot.json", "hello"]).expect(0);
    assert!(ran.out.contains("greeting"), "{}", ran.out);

    // The kind is known by the shape, or named.
    let folder = folder.file("songs.json", r#"{"songs": []}"#).file("list.json", "[]");
    let ran = folder.rulec(&["check", "songs.json"]).expect(1);
    assert!(ran.out.contains("E0532") && ran.out.contains("--as KIND"), "{}", ran.out);
    let ran = folder.rulec(&["run", "songs.json", "messages.jsonl"]).expect(1);
    assert!(ran.err.contains("E0532"), "{}", ran.err);
    folder.rulec(&["check", "list.json"]).expect(1);
    folder.rulec(&["check", "list.json", "--as", "routes"]).expect(0);
    let ran = folder.rulec(&["check", "songs.json", "--as", "flows"]).expect(1);
    assert!(ran.out.contains("the document needs `flows`"), "{}", ran.out);
}

#[test]
fn documents_of_flows_are_loaded_literally() {
    let flows =
        r#"[{"flow_id": "us", "type": "keyword", "trigger_patterns": ["US"], "match_type": "exact"}]"#;
    let folder = Folder::with("default -> h").file("flows.json", flows).file("routes.json", "[]");
    let us = "{\"text\": \"us\"}\n";
    let chosen = |args: &[&str]| folder.fed(args, us).expect(0).json()[0]["flow"].clone();
    assert_eq!(chosen(&["run", "flows.json"]), "us");
    assert_eq!(chosen(&["run", "flows.json", "--literal"]), serde_json::Value::Null);
    assert_eq!(chosen(&["run", "flows.json", "--as", "flows", "--literal"]), serde_json::Value::Null);
    folder.rulec(&["check", "flows.json", "--literal"]).expect(0);
    let refusal = "only `flows` have patterns that `--literal` can compare";
    let ran = folder.rulec(&["check", "routes.json", "--as", "routes", "--literal"]).expect(1);
    assert!(ran.out.contains(refusal), "{}", ran.out);
    let ran = folder.rulec(&["run", "a.rules", "--literal"]).expect(2);
    assert!(ran.err.contains(refusal), "{}", ran.err);
}

#[test]
fn a_payload_context_stands_in_place_of_rules() {
    let context = r#"{"workflows": {"good": {"status": "READY", "inputs": {}, "nodes": {}},
                                    "bad": {"status": 7, "inputs": {}, "nodes": {}}}}"#;
    let payload =
        |id: &str| format!("{{\"action_type\": \"execute_workflow\", \"workflow_id\": \"{id}\"}}\n");
    let folder = Folder::new().file("context.json", context);
    let run = ["run", "context.json", "-", "--decision", "execute_workflow"];
    let ran = folder.fed(&run, payload("good")).expect(0);
    assert!(ran.out.contains("\"outcome\":\"accept\""), "{}", ran.out);
    let ran = folder.fed(&run, payload("bad"));
    assert!(
        ran.out.contains("\"outcome\":\"reject\"") && ran.err.contains("1 warning"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn rules_are_written_as_the_document_again() {
    let folder = Folder::new().file("bot.json", BOT);
    folder.rulec(&["import", "flows", "bot.json", "-o", "bot.rules"]).expect(0);
    folder.rulec(&["export", "flows", "bot.rules", "-o", "again.json"]).expect(0);
    // The items that the import skipped are in the document again, so a strict import refuses it.
    folder.rulec(&["import", "--strict", "flows", "again.json"]).expect(1);
    folder.rulec(&["import", "flows", "again.json", "-o", "again.rules"]).expect(0);
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).expect("the file is there");
    let rules = |name: &str| -> Vec<String> {
        read(name).lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    assert_eq!(rules("bot.rules"), rules("again.rules"));
    folder.rulec(&["export", "flows", "bot.rules", "-o", "again.json"]).expect(2);
    let folder = folder.file("sum.rules", "route a when n + 1 > 3 -> h\ndefault -> h");
    let ran = folder.rulec(&["export", "routes", "sum.rules"]).expect(1);
    assert!(
        ran.err.contains("route `a` was skipped: the document has no condition of this kind"),
        "{}",
        ran.err
    );
}

/// Nothing is left out silently: each item has a note with the reason, and the exit status is 1.
#[test]
fn what_an_export_leaves_out_is_reported() {
    let routes = "route on when ctx.vip -> h\nroute off disabled when ctx.vip -> h\ndefault -> h";
    let choice = "choice one { default branch x  branch y { steps.s.n as number > 1 } }\n\
                  choice two { default branch x  branch empty {}  branch bare }";
    let folder = Folder::new().file("a.rules", routes).file("b.rules", choice);
    let ran = folder.rulec(&["export", "routes", "a.rules"]).expect(1);
    assert!(ran.err.contains("route `off` was skipped: the route is disabled"), "{}", ran.err);
    assert!(ran.out.contains("\"on\"") && !ran.out.contains("\"off\""), "{}", ran.out);
    let ran = folder.rulec(&["export", "choice", "b.rules"]).expect(1);
    for branch in ["empty", "bare"] {
        let reason =
            format!("branch was skipped: the branch `{branch}` has no condition and is never chosen");
        assert!(ran.err.contains(&reason), "{branch}: {}", ran.err);
    }
    let ran = folder.rulec(&["export", "choice", "b.rules", "--json"]).expect(1);
    assert_eq!(ran.err.matches("\"pointer\":\"/1/choices\"").count(), 2, "{}", ran.err);
    let complete = Folder::with("choice one { default branch x  branch y { steps.s.n as number > 1 } }");
    assert_eq!(complete.rulec(&["export", "choice", "a.rules"]).expect(0).err, "");
}

/// `check` reports the changes of adapted items, as `import` does.
#[test]
fn a_check_reports_what_was_adapted() {
    let document = r#"{"flows": [
        {"flow_id": "refund", "type": "intent", "description": "gives money back", "trigger_patterns": ["refund"]},
        {"flow_id": "greet", "type": "keyword", "trigger_patterns": ["hello"], "colour": "red"}
    ]}"#;
    let folder = Folder::new().file("bot.json", document);
    let imported = folder.rulec(&["import", "flows", "bot.json"]).expect(0);
    let checked = folder.rulec(&["check", "bot.json", "--format", "concise"]).expect(0);
    for (place, change) in [
        ("bot.json:2:9", "the patterns of an intent flow are kept as keywords of the intent"),
        ("bot.json:3:9", "`colour` of the flow `greet` has no meaning here and is kept as a comment"),
    ] {
        assert!(imported.err.contains(change), "{}", imported.err);
        let line = checked.out.lines().find(|line| line.contains(change)).expect(&checked.out);
        assert!(line.starts_with(place) && line.contains("W0223"), "{line}");
    }
    folder.rulec(&["check", "bot.json", "--deny", "W0223"]).expect(1);
}

const LITERAL: &str = r#"[
    {"flow_id": "us", "type": "keyword", "trigger_patterns": ["US", " U S "], "match_type": "exact"},
    {"flow_id": "call", "type": "keyword", "trigger_patterns": ["Call "]},
    {"flow_id": "leave", "type": "keyword", "trigger_patterns": ["Leave$"], "match_type": "regex"}
]"#;

/// With `--literal`, imported flows compare texts exactly as `==`, `in` and `re.search` of the
/// document do.
#[test]
fn flows_are_imported_literally() {
    let folder = Folder::new().file("flows.json", LITERAL);
    folder.rulec(&["import", "flows", "flows.json", "--literal", "-o", "literal.rules"]).expect(0);
    folder.rulec(&["import", "flows", "flows.json", "-o", "default.rules"]).expect(0);
    folder.rulec(&["check", "--deny", "warnings", "literal.rules"]).expect(0);
    let text = std::fs::read_to_string(folder.path("literal.rules")).expect("the file is there");
    assert!(text.contains("\nsettings { case: sensitive, white_space: kept }\n"), "{text}");
    for (message, literal, default) in [
        ("US", "us", "us"),
        ("us", "null", "us"),
        (" US", "null", "us"),
        (" U S ", "us", "us"),
        ("U S", "null", "us"),
        ("Call me", "call", "call"),
        ("Call", "null", "call"),
        ("my Leave", "leave", "leave"),
        ("my leave", "null", "leave"),
    ] {
        for (rules, flow) in [("literal.rules", literal), ("default.rules", default)] {
            let message = serde_json::json!({"text": message}).to_string();
            let ran = folder.fed(&["run", rules, "-", "--entry", "flows"], message.as_str()).expect(0);
            let decided: serde_json::Value = serde_json::from_str(&ran.out).expect(&ran.out);
            let found = decided["flow"].as_str().unwrap_or("null");
            assert_eq!(found, flow, "{rules}: {message}");
        }
    }
    // The same JSON is written again, with a note.
    let ran = folder.rulec(&["export", "flows", "literal.rules"]).expect(0);
    assert!(ran.out.contains("\" U S \"") && ran.err.contains("`--literal`"), "{}{}", ran.out, ran.err);
    let ran = folder.rulec(&["import", "routes", "flows.json", "--literal"]).expect(2);
    assert!(ran.err.contains("only `flows` have patterns"), "{}", ran.err);
}

const ROUTER: &str = r#"{"routes": [
  {"name": "files", "handler": "h",
   "condition": {"type": "TextCondition", "contains": ["file"]}},
  {"name": "run", "handler": "h", "condition": {"type": "TextCondition", "contains": ["run"]}}
], "default": "chat"}"#;

/// Regression test: explanations and `doctor` named lines of the generated rules.
#[test]
fn explanations_of_a_document_name_its_lines() {
    let folder = Folder::new().file("router.json", ROUTER).file("m.jsonl", "{\"text\": \"my file\"}\n");
    let why = ["why", "router.json", "--input", "m.jsonl", "--format", "json"];
    let explained =
        folder.fed(&["run", "router.json", "m.jsonl", "--explain", "--log", "log.jsonl"], "").expect(0);
    let why = folder.rulec(&[&why[..3], &[r#"{"text": "run"}"#], &why[4..]].concat()).expect(0).out;
    for shown in [&explained.out, &why] {
        assert!(shown.contains("router.json") && !shown.contains("<text>"), "{shown}");
    }
    let place = |line: usize| format!(r#""place":{{"file":"router.json","line":{line},"column":3}}"#);
    let compact: String = why.split_whitespace().collect();
    assert!(compact.contains(&place(2)) && compact.contains(&place(4)), "{compact}");
    let doctor = folder.rulec(&["doctor", "router.json", "--log", "log.jsonl"]);
    assert!(doctor.out.contains("router.json:4:3  route `run`: never chosen"), "{}", doctor.out);
}

/// An export writes what the rules cannot say as it was, and a bad item stays in the document.
#[test]
fn a_document_comes_back_with_what_rules_cannot_say() {
    let document = r#"{"flows":[{"flow_id":"a","type":"keyword","trigger_patterns":["hi"," "],"match_type":"exact","colour":"red"},
        {"flow_id":"b","type":"glob"},{"flow_id":"c","type":"intent","examples":["money back"]}],
        "settings":{"intent_threshold":0.5,"flow_prompt":"Flows:\n{flows}"},"version":7}"#;
    let folder = Folder::new().file("flows.json", document);
    folder.rulec(&["import", "flows", "flows.json", "-o", "bot.rules"]).expect(0);
    let exported = folder.rulec(&["export", "flows", "bot.rules"]).expect(0).out;
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
    assert_eq!(json(&exported), json(document));
}
