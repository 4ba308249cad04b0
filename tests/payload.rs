//! Payloads: the shipped rules against the cases, and the parts they are made of.

#[path = "support/decisions.rs"]
mod decisions;
#[path = "support/engines.rs"]
mod engines;
#[path = "support/shared.rs"]
mod shared;

use decisions::{decisions, read_cases};
use engines::COLUMNS;
use rulec::Rules;
use rulec::payload::{Judge, JudgeError, Judgement, Outcome, kinds, schema};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All cases there are: the shared ones, or else the own.
fn all_cases() -> Vec<Json> {
    let own = || root().join("tests/conformance/payload/cases.jsonl");
    read_cases(&shared::shared("cases/payload.jsonl").unwrap_or_else(own))
}

/// A payload that is accepted as it is fits the schema; one that lacks a field, or has one of the wrong type, does not.
#[test]
fn schemas_agree_with_the_judge() {
    let rules = decisions();
    let (mut fitting, mut failing) = (0, 0);
    for kind in kinds(&rules) {
        let schema = schema(&rules, kind).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for case in all_cases().iter().filter(|case| case["decision_type"] == kind && case["pad"].is_null()) {
            let violations = case["expected"]["violations"].as_array().unwrap();
            // What a config must hold depends on the node's type, which is another field.
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

/// The violations of a payload under small rules, as `rule path`, and its outcome.
#[track_caller]
fn check(text: &str, payload: Json, violations: &[&str], outcome: Outcome) -> Judgement {
    let rules = Rules::from_text(text).unwrap_or_else(|error| panic!("{error}"));
    let mut answers = Vec::new();
    for column in COLUMNS {
        let judge = column.judging(&rules).judge("p").unwrap();
        let judgement = judge.judge(&payload);
        let found: Vec<String> =
            judgement.violations().iter().map(|found| format!("{} {}", found.rule, found.path)).collect();
        assert_eq!(found, violations, "{column:?}");
        assert_eq!(judgement.outcome(), outcome, "{column:?}");
        answers.push(judgement);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    answers.remove(0)
}

#[test]
fn fields_are_held_against_their_declarations() {
    use Outcome::{Accept, AcceptCorrected, Reject};
    let rules = r#"payload p {
      a: string not blank
      b?: int in 0..=10 clamp
      c?: list<string> | null
      d?: bool
      e: string in ["x", "y"] default "x"
      each one in c { require "p.c.short" at one: len(one) < 3 }
    }"#;
    let ok = json!({"a": "t", "e": "y"});
    let with = |key: &str, value: Json| {
        let mut payload = ok.clone();
        payload[key] = value;
        payload
    };
    check(rules, ok.clone(), &[], Accept);
    check(rules, json!({"e": "y"}), &["p.a.required $.a"], Reject);
    check(rules, with("a", json!(null)), &["p.a.required $.a"], Reject);
    check(rules, with("a", json!(7)), &["p.a.type $.a"], Reject);
    check(rules, with("a", json!(" \n")), &["p.a.empty $.a"], Reject);
    check(rules, with("b", json!(null)), &["p.b.type $.b"], Reject);
    check(rules, with("b", json!(2.0)), &["p.b.type $.b"], Reject);
    check(rules, with("b", json!(true)), &["p.b.type $.b"], Reject);
    let judgement = check(rules, with("b", json!(11)), &["p.b.range $.b"], AcceptCorrected);
    assert_eq!(judgement.corrected(), Some(&with("b", json!(10))));
    check(rules, with("c", json!(null)), &[], Accept);
    check(rules, with("c", json!(["a", "long"])), &["p.c.short $.c[1]"], Reject);
    // Of a field of the wrong type nothing else is said.
    check(rules, with("c", json!(["long", null])), &["p.c.type $.c"], Reject);
    check(rules, with("d", json!(0)), &["p.d.type $.d"], Reject);
    check(rules, with("e", json!("z")), &["p.e.enum $.e"], Reject);
    let judgement = check(rules, json!({"a": "t"}), &["p.e.required $.e"], AcceptCorrected);
    assert_eq!(judgement.corrected(), Some(&with("e", json!("x"))));
    check(rules, json!("text"), &["p.type $"], Reject);
}

#[test]
fn groups_are_types_of_objects_and_of_elements() {
    use Outcome::{AcceptCorrected, Reject};
    let rules = r#"
      group leaf { name: string not blank
                   closed remove }
      group limb { leaves: list<leaf> }
      payload p { top: leaf
                  branches: list<limb> }"#;
    check(
        rules,
        json!({"top": {"name": ""}, "branches": [{"leaves": [{"name": "a"}, 3, {}]}, {"leaves": 1}, []]}),
        &[
            "leaf.name.empty $.top.name",
            "leaf.name.required $.branches[0].leaves[2].name",
            "leaf.type $.branches[0].leaves[1]",
            "limb.leaves.type $.branches[1].leaves",
            "limb.type $.branches[2]",
        ],
        Reject,
    );
    let judgement = check(
        rules,
        json!({"top": {"name": "t", "x": 1}, "branches": [{"leaves": [{"name": "a", "b c": 1}]}]}),
        &["leaf.unsupported $.branches[0].leaves[0][\"b c\"]", "leaf.unsupported $.top.x"],
        AcceptCorrected,
    );
    let mended = json!({"top": {"name": "t"}, "branches": [{"leaves": [{"name": "a"}]}]});
    assert_eq!(judgement.corrected(), Some(&mended));
}

#[test]
fn dotted_places_name_the_key_that_counts() {
    let rules = r#"
      group limited(config: dict) {
        require "limit" at config.a.b: (config.a.b as number) <= 3 clamp 3
      }
      payload p {
        updates: dict
        let changed = updated({ config: { a: { b: 9 } } }, updates)
        include limited(config: changed["config"] at dotted updates.config)
      }"#;
    use Outcome::{AcceptCorrected, Reject};
    let one = |updates: Json, path: &str, outcome| {
        check(rules, json!({ "updates": updates }), &[&format!("limit {path}")], outcome);
    };
    one(json!({}), "$.updates", Reject);
    one(json!({"config.a.b": 4}), "$.updates[\"config.a.b\"]", AcceptCorrected);
    one(json!({"config.a": {"b": 5}}), "$.updates[\"config.a\"].b", AcceptCorrected);
    one(json!({"config": {"a": {"b": 5}}}), "$.updates.config.a.b", AcceptCorrected);
    one(json!({"config.a.b": 6, "config": {"a": {"b": 1}}}), "$.updates[\"config.a.b\"]", AcceptCorrected);
}

#[test]
fn judges_say_what_they_cannot_take() {
    let rules = decisions();
    let judge = || rules.judge("create_node").unwrap();
    let check = |error: Result<Judge, JudgeError>, words: &str| {
        let message = error.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    };
    check(rules.judge("create_nod"), "did you mean `create_node`?");
    check(judge().options(json!({"sandbx": true})), "did you mean `sandbox`?");
    check(judge().options(json!({"sandbox": "yes"})), "`options.sandbox` must be bool, and is string");
    check(judge().context(json!({"workflows": 3})), "`context.workflows`");
    check(judge().input("contxt", json!({})), "did you mean `context`?");
    assert!(judge().options(json!({"sandbox": null})).is_ok());
    assert!(judge().judge_text("{\"a\": 1, \"a\": 2}").is_err());
    assert!(judge().judge_text("[]").is_err());
}

#[test]
fn bad_payloads_are_answered_and_bad_texts_refused() {
    let rules = decisions();
    let judge = rules.judge("respond").unwrap();
    let large = json!({"response": "r".repeat(1 << 20), "confidence": 1, "intent": "greeting"});
    let judgement = judge.judge(&large);
    let size = judgement.violations().iter().find(|found| &*found.rule == "limit.payload_size").unwrap();
    assert_eq!((size.path.as_str(), judgement.outcome()), ("$", Outcome::Reject));

    for other in [json!(null), json!([]), json!("text"), json!(3)] {
        let judgement = judge.judge(&other);
        let found: Vec<_> = judgement.violations().iter().map(|found| (&*found.rule, &*found.path)).collect();
        assert_eq!((found, judgement.outcome()), (vec![("respond.type", "$")], Outcome::Reject), "{other}");
    }

    let deep = |levels: usize| format!("{{\"a\": {}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert_eq!(judge.judge_text(&deep(128)).unwrap().outcome(), Outcome::Reject);
    let error = judge.judge_text(&deep(129)).unwrap_err();
    assert_eq!(error.kind().code().to_string(), "E0603");
    for (text, code) in [("{\"a\": 1, \"a\": 1}", "E0604"), ("[]", "E0602"), ("{", "E0601"), ("", "E0601")] {
        let error = judge.judge_text(text).unwrap_err();
        assert_eq!(error.kind().code().to_string(), code, "{text}");
    }
}

#[test]
fn what_is_read_at_two_types_is_shown_once() {
    let rules = r#"payload p {
      x: any
      forbid "p.odd" at x when (x as any) is present and ((x as int) is missing or (x as int) > 3) else "odd"
    }"#;
    let judge = Rules::from_text(rules).unwrap().judge("p").unwrap();
    let why = judge.why(&json!({"x": "7"}));
    let operands: Vec<_> =
        why[0].operands().iter().map(|operand| (operand.text.clone(), operand.value.clone())).collect();
    assert_eq!(operands, [("payload.x".to_owned(), Some(json!("7")))], "{}", why[0]);
}

#[test]
fn feedback_says_what_to_do() {
    let rules = decisions();
    let judgement =
        rules.judge("respond").unwrap().judge(&json!({"response": 3, "confidence": 2, "intent": "x"}));
    let text = judgement.feedback();
    for words in [
        "$.response",
        "must be a text, and is 3",
        "one of \"greeting\", \"simple_query\"",
        "$.confidence was out of range",
    ] {
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
}

/// Payloads come from strangers: long lists must not take the square of their length.
#[test]
fn long_plans_are_judged_in_linear_time() {
    let rules = decisions();
    let node = |at: usize| json!({"node_id": format!("n{at}"), "type": "LLM", "name": "n", "config": {"prompt": "p"}});
    let edge = |at: usize| json!({"source": format!("n{at}"), "target": format!("n{}", at + 1)});
    let count = 20_000;
    let payload = json!({
        "action_type": "create_workflow_plan", "name": "n", "description": "d",
        "nodes": (0..count).map(node).collect::<Vec<_>>(),
        "edges": (0..count).map(edge).collect::<Vec<_>>(),
    });
    let judgement = rules.judge("create_workflow_plan").unwrap().judge(&payload);
    let rules: Vec<&str> = judgement.violations().iter().map(|violation| &*violation.rule).collect();
    assert_eq!(rules, ["limit.node_count", "limit.payload_size", "plan_edge.target.exists"]);
}
