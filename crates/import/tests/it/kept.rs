//! What rules cannot express is kept in comments, and an export writes it again. These are cases
//! that were once lost or changed.

use rulec::Rules;
use rulec_import::{Imported, Options, Outcome, System};
use serde_json::{Value as Json, json};

fn load(system: System, document: &Json) -> Imported {
    system.import_value(document, Options::default()).expect("it is imported")
}

fn assert_same_again(system: System, document: &Json) -> Imported {
    let imported = load(system, document);
    assert_eq!(&system.export(&imported.rules).document, document, "{}", imported.text);
    imported
}

/// Returns the export of the imported rules after `old` was replaced by `new` in their text.
fn export_changed(system: System, document: &Json, (old, new): (&str, &str)) -> Json {
    let text = load(system, document).text;
    assert!(text.contains(old), "{text}");
    system.export(&Rules::from_text(&text.replace(old, new)).expect("it compiles")).document
}

#[test]
fn a_tool_without_flows_is_written_again() {
    let described = json!({"name": "flow_executor", "parameters": {
        "type": "object", "required": ["flow_id"],
        "properties": {"flow_id": {"type": "string", "description": "the id"}},
    }});
    for tool in
        [json!({"name": "flow_executor"}), json!({"name": "flow_executor", "x": {"auth": 1}}), described]
    {
        assert_same_again(System::Flows, &json!({"flows": [], "tools": [tool]}));
    }
    // The tool that an import writes for a document without flows is no part of the document.
    assert!(assert_same_again(System::Flows, &json!({"flows": []})).text.contains("flow tool"));
}

#[test]
fn a_value_that_is_no_json_is_not_kept() {
    let text = r#"{"flows": [{"flow_id": "a"}], "settings": NaN, "x": 1}"#;
    let imported = System::Flows.import(text, Options::default()).expect("it is imported");
    assert!(!imported.text.contains(['\u{FFFF}', '\u{FFFD}']), "{}", imported.text);
    assert!(imported.report.skipped().any(|item| item.pointer == "/settings"));
    assert_eq!(
        System::Flows.export(&imported.rules).document,
        json!({"flows": [{"flow_id": "a", "type": "intent"}], "x": 1})
    );
    let text = r#"{"flows": [{"flow_id": "a"}], "settings": {"intent_margin": NaN, "y": 2}}"#;
    let imported = System::Flows.import(text, Options::default()).expect("it is imported");
    assert_eq!(System::Flows.export(&imported.rules).document["settings"], json!({"y": 2}));
}

#[test]
fn the_key_that_marks_values_may_be_a_key_of_the_document() {
    let mark = json!({"\u{FFFF}": 1});
    let flow = json!({"flow_id": "a", "type": "intent", "x": mark});
    let document =
        json!({"flows": [flow], "x": mark, "tools": [{"name": "other", "x": mark}], "settings": mark});
    let imported = assert_same_again(System::Flows, &document);
    let notes: Vec<String> = imported.report.messages().map(|note| note.to_string()).collect();
    assert!(notes.iter().any(|note| note.starts_with("`x` of the document ")), "{notes:?}");
    // In a document with a value that is no JSON, the key is reported too.
    let text = r#"{"flows": [{"flow_id": "a"}], "x": {"\uFFFF": 1}, "y": NaN}"#;
    let imported = System::Flows.import(text, Options::default()).expect("it is imported");
    let skipped: Vec<&str> = imported.report.skipped().map(|item| &*item.pointer).collect();
    assert_eq!(skipped, ["/x", "/y"]);
}

#[test]
fn a_renamed_branch_without_condition_has_its_new_name() {
    let branch =
        |id: &str| json!({"branch_id": id, "logic": "and", "conditions": [], "is_default": false, "x": 1});
    let document = json!({"name": "c", "choices": [branch("a"), branch("b c"), branch("a")]});
    assert_same_again(System::Choice, &document);
    for (change, index, id) in [
        (("branch a_2 {", "branch \"the \\\"last\\\"\" {"), 2, "the \"last\""),
        (("branch \"b c\" {", "branch b {"), 1, "b"),
        (("branch a_2 {", "branch second {"), 2, "second"),
    ] {
        let mut expected = document.clone();
        expected["choices"][index]["branch_id"] = json!(id);
        assert_eq!(export_changed(System::Choice, &document, change), expected);
    }
    // A branch that is not written takes no name away.
    let rules = Rules::from_text(
        "choice c {\n  branch a { }\n  # json: {\"branch_id\":\"a\"}\n  branch a_2 { steps.s.x as bool }\n  \
         default branch d\n}\n",
    );
    let exported = System::Choice.export(&rules.expect("it compiles")).document;
    assert_eq!(exported["choices"][0]["branch_id"], "a_2", "{exported}");
}

#[test]
fn a_second_list_of_branches_is_kept() {
    let branch = json!({"branch_id": "a", "logic": "and", "conditions": [], "is_default": true});
    let document = json!({"name": "c", "choices": [branch], "branches": [{"branch_id": "b"}]});
    let imported = assert_same_again(System::Choice, &document);
    assert_eq!(imported.report.items()[0].outcome, Outcome::Adapted);
    let notes: Vec<String> = imported.report.messages().map(|note| note.to_string()).collect();
    assert_eq!(notes, ["`branches` of the document has no meaning here and is kept as a comment"]);
}

#[test]
fn a_blank_name_of_a_flow_is_kept() {
    let flow = |id: &str, name: &str| json!({"flow_id": id, "name": name, "type": "intent"});
    let document = json!({"flows": [
        flow("a", " "), flow("b", ""), {"flow_id": "\t", "type": "intent"}, flow("d", "flow"), flow(" ", " "),
    ]});
    let imported = assert_same_again(System::Flows, &document);
    assert_eq!(imported.report.items()[0].outcome, Outcome::Adapted);
    let renamed = export_changed(System::Flows, &document, ("flow flow_2 ", "flow other "));
    assert_eq!(renamed["flows"][1]["name"], "other");
}
