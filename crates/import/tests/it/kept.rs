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

/// Regression test: an export wrote the names of the module in place of the document's own.
#[test]
fn a_choice_keeps_the_spelling_of_the_document() {
    let number = |value: Json| json!({"type": "NUMBER", "value": value});
    let condition = |operate: &str, left: Json, right: Json| json!({"id": "c1", "left": left, "operate": operate, "right": right});
    let step = json!({"step_id": "s", "type": "NUMBER", "name": "n"});
    let plain = json!({"step_id": "s", "type": "number", "value": "n"});
    let branch = |id: &str, logic: &str, conditions: &[Json]| json!({"branch_id": id, "logic": logic, "conditions": conditions, "is_default": false});
    let document = json!({"name": "c", "choices": [
        branch("a", "AND", &[condition("GREATER_THAN", step.clone(), number(json!(3)))]),
        branch("b", "Logic.OR", &[
            condition("LT", json!({"step_id": "s", "type": "number", "value": "n"}), number(json!(1))),
            json!({"id": "c2", "left": plain, "operate": "number_equal", "right": {"type": "number", "value": 2}}),
        ]),
        branch("c", "and", &[condition("number_less_than", json!({"step_id": "s", "type": "number", "name": "n"}), json!({"type": "number", "value": 5}))]),
        {"branch_id": "d", "logic": "OR", "conditions": [], "is_default": true},
    ]});
    assert_same_again(System::Choice, &document);
    // What the author has changed since is written as the rules say it.
    let changed = export_changed(System::Choice, &document, ("as number > 3", "as number > 4"));
    let right = &changed["choices"][0]["conditions"][0];
    assert_eq!((&right["operate"], &right["right"]["value"]), (&json!("GREATER_THAN"), &json!(4)));
    assert_eq!(changed["choices"][1], document["choices"][1]);
    let all = export_changed(System::Choice, &document, ("branch b any", "branch b"));
    assert_eq!(all["choices"][1]["logic"], "AND");
    // One line keeps the spelling of a whole choice.
    let first = json!({"name": "c", "choices": [document["choices"][0], document["choices"][3]]});
    let text = assert_same_again(System::Choice, &first).text;
    assert_eq!(text.matches("# json:").collect::<Vec<_>>().len(), 2, "{text}");
}

/// Regression test: a single condition came back as another one of the same meaning.
#[test]
fn a_condition_of_a_route_is_written_as_it_was() {
    let condition = |ty: &str, members: Json| {
        let mut condition = members;
        condition["type"] = json!(ty);
        condition
    };
    let file = condition("TextCondition", json!({"contains": ["file"]}));
    let vip = condition("ContextCondition", json!({"vip": true}));
    let and = |parts: Json| condition("AndCondition", json!({"conditions": parts}));
    let or = |parts: Json| condition("OrCondition", json!({"conditions": parts}));
    let conditions = [
        condition("ErrorCondition", json!({"last_error_type": "T"})),
        and(json!([file])),
        or(json!([vip])),
        and(json!([file, and(json!([vip, file]))])),
        or(json!([or(json!([vip, file])), file])),
        condition("RegexCondition", json!({"pattern": "a+"})),
        condition("RegexCondition", json!({"pattern": "a+", "case_sensitive": true})),
        condition("ContextCondition", json!({"a": null})),
        condition("ContextCondition", json!({})),
        condition("PermissionCondition", json!({})),
        condition("ErrorCondition", json!({})),
        condition("NotCondition", json!({"condition": condition("NotCondition", json!({"condition": vip}))})),
        condition("TextCondition", json!({"contains": "file"})),
        condition("TextCondition", json!({"contains": ["file"], "case_sensitive": false})),
        and(json!([])),
        or(json!([])),
        // The field is compared with values of two types, so the rules declare both.
        condition("ContextCondition", json!({"mixed": "x", "other": 1})),
        condition("ContextCondition", json!({"mixed": 7, "mixed__ne": 8})),
        condition("ContextCondition", json!({"n__eq": 3})),
        condition("ContextCondition", json!({"message_length__gt": 3, "urgency": "high"})),
    ];
    let routes = conditions.iter().enumerate().map(|(index, condition)| {
        json!({"name": format!("r{index}"), "priority": 0, "condition": condition, "handler": "h"})
    });
    let document = json!({"routes": routes.collect::<Vec<Json>>()});
    assert_same_again(System::Routes, &document);
    for condition in &conditions {
        let route = json!({"name": "r", "priority": 0, "condition": condition, "handler": "h"});
        assert_same_again(System::Routes, &json!({"routes": [route]}));
    }
    // A condition that the author has changed is written as the rules say it.
    let changed =
        export_changed(System::Routes, &document, ("last_error_type == \"T\"", "last_error_type == \"U\""));
    assert_eq!(
        changed["routes"][0]["condition"],
        json!({"type": "ContextCondition", "last_error_type": "U"})
    );
    // Only a condition that an export writes differently needs a comment.
    let plain = json!({"routes": [{"name": "r", "priority": 0, "condition": file, "handler": "h"}]});
    assert!(!assert_same_again(System::Routes, &plain).text.contains("# json:"));
}

/// Regression test: a member named `spelling` was lost, or changed how all names were written.
#[test]
fn a_choice_may_have_a_member_named_spelling() {
    let condition = |operate: &str, ty: &str| json!({"id": "c1", "left": {"type": ty, "value": 1}, "operate": operate, "right": {"type": ty, "value": 2}});
    for (operate, ty, logic) in [("GREATER_THAN", "NUMBER", "AND"), ("number_greater_than", "number", "and")]
    {
        let branches = json!([
            {"branch_id": "a", "logic": logic, "conditions": [condition(operate, ty)], "is_default": false},
            {"branch_id": "b", "logic": logic, "conditions": [], "is_default": true},
        ]);
        for spelling in [json!("capitals"), json!("module"), json!({"of": "names"}), json!(null)] {
            assert_same_again(
                System::Choice,
                &json!({"name": "c", "spelling": spelling, "choices": branches}),
            );
        }
    }
}

/// Regression test: one condition of the document came back as several.
#[test]
fn a_condition_of_several_parts_is_one_condition_again() {
    let text = json!({"type": "TextCondition", "contains": ["file"], "keywords": ["open", "read"]});
    let user = json!({"type": "PermissionCondition", "required_permissions": ["read", "write"]});
    let error = json!({"type": "ErrorCondition", "last_error_type": "Timeout", "occurrence_count__gte": 2});
    let context = json!({"type": "ContextCondition", "n__gt": 1, "vip": true, "n__lt": 9});
    let both =
        json!({"type": "AndCondition", "conditions": [text, {"type": "NotCondition", "condition": user}]});
    let long = json!({"type": "OrCondition", "conditions": [text, user, error, context, both]});
    let conditions = [text, user, error, context, both, long];
    let routes = conditions.iter().enumerate().map(|(index, condition)| {
        json!({"name": format!("r{index}"), "priority": 0, "condition": condition, "handler": "h"})
    });
    let document = json!({"routes": routes.collect::<Vec<Json>>()});
    assert_same_again(System::Routes, &document);
    let changed = export_changed(System::Routes, &document, ("-> h", "-> k"));
    assert_eq!(changed["routes"][0]["condition"], document["routes"][0]["condition"]);
    let changed =
        export_changed(System::Routes, &document, ("text contains \"file\"", "text contains \"disk\""));
    assert_eq!(changed["routes"][0]["condition"]["type"], "AndCondition");
    // An error of a hand-written route is one condition, too.
    let rules =
        "route r when ctx.last_error_type == \"Timeout\" and (ctx.error_counts[\"Timeout\"] ?? 0) >= 2 -> h";
    let exported = System::Routes.export(&Rules::from_text(rules).expect("it compiles")).document;
    assert_eq!(exported["routes"][0]["condition"], document["routes"][2]["condition"]);
}

#[test]
fn an_operator_of_other_types_is_named_with_its_types() {
    let condition = json!({
        "left": {"step_id": "s", "type": "NUMBER", "name": "n"}, "operate": "CONTAINS",
        "right": {"type": "NUMBER", "value": 3},
    });
    let branch = json!({"branch_id": "a", "conditions": [condition], "is_default": false});
    let imported = load(System::Choice, &json!([branch]));
    let skipped: Vec<String> = imported.report.messages().map(|note| note.to_string()).collect();
    let reason = "the operator `CONTAINS` does not take a number on its left side, only string, list";
    assert!(skipped.iter().any(|note| note.contains(reason)), "{skipped:?}");
}
