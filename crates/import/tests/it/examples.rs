//! Tests of stored documents with an item that is bad or odd. Most are the documents in
//! `examples/documents`, with their messages.

use rulec::Rules;
use rulec_import::{ItemKind, Options, Outcome, System};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read_example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/documents").join(name);
    fs::read_to_string(path).expect("the example can be read")
}

/// Loads a document, and returns its answer to each message of the example. The second result lists
/// the kind and the name of each skipped item.
fn answers(system: System, document: &Json, messages: &[Json]) -> (Vec<Json>, Vec<(ItemKind, String)>) {
    let loaded = system.import(&document.to_string(), Options::default()).expect("it is loaded");
    let answer = |message: &Json| match system {
        System::Routes => json!(loaded.rules.decide(message).chosen()),
        System::Choice => {
            json!(loaded.rules.entry("after_scoring").expect("the choice").decide(message).branch())
        }
        System::Flows => {
            let decision = loaded.rules.entry("flows").expect("the flows").decide(message);
            json!(decision.flow().map(|flow| flow.id))
        }
        System::Context => {
            let judge = loaded.judge(message["action_type"].as_str().expect("a kind")).expect("a known kind");
            json!(judge.judge(message))
        }
    };
    let skipped = loaded.report.skipped().map(|item| (item.kind, item.name.clone())).collect();
    (messages.iter().map(answer).collect(), skipped)
}

/// Adds `item` to the list or object at the JSON pointer `place`: at the start of a list, or at its
/// end if `place` ends with `/-`, or under the key after the last `/` of `place`.
fn with_item(document: &Json, place: &str, item: &Json) -> Json {
    let mut document = document.clone();
    let (parent, key) = place.rsplit_once('/').expect("a pointer");
    match document.pointer_mut(parent).expect("the place exists") {
        Json::Array(list) if key == "-" => list.push(item.clone()),
        Json::Array(list) => list.insert(0, item.clone()),
        Json::Object(fields) => assert!(fields.insert(key.to_owned(), item.clone()).is_none()),
        other => panic!("{other} has no items"),
    }
    document
}

/// A bad item: the place in the document to which it is added, its JSON, and the kind and the name
/// under which the report must list it.
type BadItem = (&'static str, Json, ItemKind, &'static str);

/// Returns for each example its system, the files of the document and of the messages, and bad
/// items to add.
fn examples() -> [(System, &'static str, &'static str, Vec<BadItem>); 4] {
    let route =
        |condition: Json| json!({"name": "bad", "priority": 999, "handler": "h", "condition": condition});
    let number = |operate: &str| {
        json!({"left": {"step_id": "score", "type": "NUMBER", "name": "total"}, "operate": operate,
               "right": {"type": "NUMBER", "value": 0}})
    };
    let look_around = json!({
        "left": {"step_id": "form", "type": "STRING", "name": "phone"}, "operate": "REGEX_MATCH",
        "right": {"type": "STRING", "value": "0(?=1)"}});
    let branch = |logic: &str, conditions: Json| {
        json!({"branch_id": "bad", "is_default": false, "logic": logic,
               "conditions": conditions})
    };
    let flow = |patterns: Json, matching: &str| {
        json!({"flow_id": "bad", "type": "keyword", "trigger_patterns": patterns,
               "match_type": matching})
    };
    let parameter = json!({"query": {"type": "string", "required": "yes"}});
    [
        (
            System::Routes,
            "routing.json",
            "routing.jsonl",
            vec![
                (
                    "/routes/0",
                    route(json!({"type": "RegexCondition", "pattern": "a(?!b)"})),
                    ItemKind::Route,
                    "bad",
                ),
                ("/routes/0", route(json!({"type": "MoodCondition"})), ItemKind::Route, "bad"),
                (
                    "/routes/-",
                    route(json!({"type": "AndCondition", "conditions": 7})),
                    ItemKind::Route,
                    "bad",
                ),
                ("/routes/-", json!("text"), ItemKind::Route, ""),
            ],
        ),
        (
            System::Choice,
            "choice.json",
            "choice.jsonl",
            vec![
                ("/choices/-", branch("XOR", json!([number("GREATER_THAN")])), ItemKind::Branch, "bad"),
                ("/choices/-", branch("AND", json!([look_around])), ItemKind::Branch, "bad"),
                ("/choices/-", branch("AND", json!(7)), ItemKind::Branch, "bad"),
                ("/choices/1/conditions/-", number("LIKE"), ItemKind::Condition, "score/total LIKE 0"),
            ],
        ),
        (
            System::Flows,
            "flows.json",
            "flows.jsonl",
            vec![
                ("/flows/0/trigger_patterns/-", json!(" "), ItemKind::Pattern, " "),
                ("/flows/2/trigger_patterns/0", json!("a(?=b)"), ItemKind::Pattern, "a(?=b)"),
                ("/flows/0", flow(json!([" "]), "contains"), ItemKind::Flow, "bad"),
                ("/flows/0", flow(json!(["(?<=a)."]), "regex"), ItemKind::Flow, "bad"),
                ("/flows/0", flow(json!(["."]), "fuzzy"), ItemKind::Flow, "bad"),
            ],
        ),
        (
            System::Context,
            "context.json",
            "decisions.jsonl",
            vec![
                ("/workflows/bad", json!({"status": 7}), ItemKind::Workflow, "bad"),
                ("/workflows/sales/nodes/bad", json!({"type": ["HTTP"]}), ItemKind::Node, "bad"),
                ("/subagents/bad", parameter, ItemKind::Subagent, "bad"),
            ],
        ),
    ]
}

#[test]
fn one_bad_item_of_an_example_changes_no_other_answer() {
    for (system, document, messages, bad_items) in examples() {
        let document: Json = serde_json::from_str(&read_example(document)).expect("the document is JSON");
        let messages: Vec<Json> = read_example(messages)
            .lines()
            .map(|line| serde_json::from_str(line).expect("the message is JSON"))
            .collect();
        let (expected, skipped) = answers(system, &document, &messages);
        assert_eq!(skipped, []);
        let different = expected.iter().map(Json::to_string).collect::<BTreeSet<_>>().len();
        assert!(different > 2, "the messages hardly distinguish documents: {expected:?}");
        for (place, item, kind, name) in bad_items {
            let document = with_item(&document, place, &item);
            let (found, skipped) = answers(system, &document, &messages);
            assert_eq!(found, expected, "{item}");
            let named = skipped.iter().any(|(found, text)| *found == kind && text == name);
            assert!(named, "{item}: {skipped:?}");
        }
    }
}

/// A strict import refuses a document for what rules cannot express. It does not refuse the
/// conditions that the original system skips itself, such as one with an unknown operator.
#[test]
fn a_strict_import_skips_what_the_original_skips() {
    let document: Json = serde_json::from_str(&read_example("choice.json")).expect("the document is JSON");
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for (system, _, _, bad_items) in examples() {
        for (place, item, kind, name) in bad_items.into_iter().filter(|_| system == System::Choice) {
            let document = with_item(&document, place, &item);
            match System::Choice.import_value(&document, Options::default().strict()) {
                Ok(loaded) => {
                    accepted.push(name);
                    assert_eq!(loaded.report.skipped().map(|item| item.kind).collect::<Vec<_>>(), [kind]);
                }
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    assert_eq!((accepted, refused.len()), (vec!["score/total LIKE 0"], 3), "{refused:?}");
}

/// Regression test: the export of a keyword flow without patterns wrote `contains`, whatever the
/// document contained. Such a flow is loaded, and matches nothing.
#[test]
fn a_keyword_flow_without_patterns_keeps_its_match_type() {
    for match_type in ["exact", "contains", "regex"] {
        let flow =
            json!({"flow_id": "f", "type": "keyword", "trigger_patterns": [], "match_type": match_type});
        let document = json!({ "flows": [flow] });
        let loaded =
            System::Flows.import_value(&document, Options::default().strict()).expect("it is loaded");
        let [item] = loaded.report.items() else { panic!("{:?}", loaded.report) };
        let warnings: Vec<&str> = item.warnings.iter().map(|(code, _)| code.as_str()).collect();
        assert_eq!((item.outcome, warnings), (Outcome::Loaded, vec!["W0203"]));
        assert_eq!(System::Flows.export(&loaded.rules).document, document);
    }
    // The rules do not say how no pattern is compared, so neither does the document.
    let own = Rules::from_text("flow f keyword regex [] -> \"f\"").expect("it compiles");
    let flow = json!({"flow_id": "f", "type": "keyword", "trigger_patterns": []});
    assert_eq!(System::Flows.export(&own).document, json!({ "flows": [flow] }));
}
