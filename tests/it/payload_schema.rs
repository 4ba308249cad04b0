//! Tests of the JSON Schemas of payload kinds, and of the changes between two versions.

use crate::decisions;
use crate::support::shared;
use decisions::{decisions, read_cases};
use rulec::Rules;
use rulec::payload::{changes, kinds, schema};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

fn cases_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the shared test cases if the shared folder exists, or else the cases of this repository.
fn all_cases() -> Vec<Json> {
    let own = || cases_folder().join("tests/conformance/payload/cases.jsonl");
    read_cases(&shared::shared("cases/payload.jsonl").unwrap_or_else(own))
}

/// An accepted payload must match the schema. A payload with a missing field or a wrong type must
/// not.
#[test]
fn schemas_agree_with_the_judge() {
    let rules = decisions();
    let (mut fitting, mut failing) = (0, 0);
    for kind in kinds(&rules) {
        let schema = schema(&rules, kind).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for case in all_cases().iter().filter(|case| case["decision_type"] == kind && case["pad"].is_null()) {
            let violations = case["expected"]["violations"].as_array().unwrap();
            // The fields required in `config` depend on another field, the node type.
            let of_a_field = |violation: &Json| {
                let rule = violation["rule"].as_str().unwrap();
                (rule.ends_with(".required") || rule.ends_with(".type")) && !rule.starts_with("config.")
            };
            let fits = validator.is_valid(&case["payload"]);
            if violations.is_empty() {
                assert!(fits, "{}: {:?}", case["name"], validator.validate(&case["payload"]).err());
                fitting += 1;
            } else if violations.iter().any(of_a_field) {
                assert!(!fits, "{}", case["name"]);
                failing += 1;
            }
        }
    }
    assert!(fitting >= 5 && failing >= 5, "{fitting} and {failing} cases");
}

#[test]
fn schemas_tell_the_kind_and_what_a_config_needs_by_type() {
    let rules = decisions();
    let create = schema(&rules, "create_node").unwrap();
    assert_eq!(create["properties"]["action_type"]["const"], "create_node");
    assert_eq!(create["$comment"], "version 1.1");
    let variants = |schema: &Json| -> Vec<(Json, Json)> {
        let all = schema["allOf"].as_array().cloned().unwrap_or_default();
        let pair = |one: &Json| (one["if"]["properties"].clone(), one["then"].clone());
        all.iter().map(pair).collect()
    };
    let config = |wanted: Json| json!({"properties": {"config": wanted}});
    let expected = |field: &str| {
        vec![
            (
                json!({field: {"const": "LLM"}}),
                config(json!({"allOf": [{"anyOf": [{"required": ["messages"]}, {"required": ["prompt"]}]}]})),
            ),
            (json!({field: {"const": "HTTP"}}), config(json!({"required": ["method", "url"]}))),
            (json!({field: {"const": "PYTHON"}}), config(json!({"required": ["code"]}))),
            (json!({field: {"const": "DATABASE"}}), config(json!({"required": ["query"]}))),
        ]
    };
    assert_eq!(variants(&create), expected("node_type"));
    let plan = schema(&rules, "create_workflow_plan").unwrap();
    assert_eq!(variants(&plan["properties"]["nodes"]["items"]), expected("type"));
    let recovery = schema(&rules, "error_recovery").unwrap();
    assert_eq!(
        variants(&recovery["properties"]["recovery_plan"]),
        [
            (json!({"action": {"const": "RETRY"}}), json!({"required": ["max_attempts"]})),
            (json!({"action": {"const": "MODIFY"}}), json!({"required": ["modifications"]})),
        ]
    );
    // A rule that also reads another field adds nothing to the schema.
    let rules = r#"payload p {
      kind: string in ["a", "b"]
      config: dict<any>
      require "one" at config.x when kind == "a" and config.y is missing: config.x is present
      require "two" at config.z when kind == "b": config.z is present
    }"#;
    let schema = schema(&Rules::from_text(rules).unwrap(), "p").unwrap();
    assert_eq!(
        variants(&schema),
        [
            (
                json!({"kind": {"const": "a"}}),
                config(json!({"allOf": [{"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}]}))
            ),
            (json!({"kind": {"const": "b"}}), config(json!({"required": ["z"]}))),
        ]
    );
}

#[test]
fn breaking_changes_are_listed_and_others_are_not() {
    let old = r#"payload p { a: string | null
      b?: int in 0..=9
      c: string in ["x", "y"]
      d?: dict<any>
      closed
      require "old" at a: len(a) < 9 }
    payload gone { x: int }"#;
    let told = |new: &str| -> Vec<String> {
        let [old, new] =
            [old, new].map(|text| Rules::from_text(text).unwrap_or_else(|error| panic!("{error}")));
        changes(&old, &new).iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(old), [""; 0]);
    let wider = r#"payload p { a?: string | null
      b?: number in -1..=10
      c: string in ["x", "y", "z"]
      d?: dict<any>
      e?: bool
      closed
      forbid "new" at a when a == "no" warning }
    payload gone { x: number }
    payload more { y: int }"#;
    assert_eq!(told(wider), [""; 0]);
    let narrower = r#"payload p { a: string not blank
      b?: int in 1..=9
      c: string in ["x"]
      e: bool
      closed
      require "old" at a: len(a) < 9
      require "new" at a: len(a) > 1
      require "new.type" at a: len(a) > 2 }"#;
    assert_eq!(
        told(narrower),
        [
            "p at $.e: it is now required",
            "p at $.a: it may no longer be null",
            "p at $.a: it may no longer be blank",
            "p at $.b: its minimum is now 1",
            "p at $.c: it may no longer be \"y\"",
            "p at $.d: the field was removed, and undeclared fields are rejected",
            "p at $: the rule `new` is new",
            // Former bug: the last part of the name, which is a rule of fields too, hid the rule.
            "p at $: the rule `new.type` is new",
            "gone at $: this payload kind no longer exists",
        ]
    );
}
