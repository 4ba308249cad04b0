//! Tests of the validation of payloads, one feature at a time.

use crate::decisions;
use crate::support::engines;
use decisions::decisions;
use engines::COLUMNS;
use rulec::Rules;
use rulec::payload::{Judge, JudgeError, Judgement, Outcome};
use serde_json::{Value as Json, json};

/// Validates a payload on every engine, and checks the outcome and the violations, given as
/// `rule path`.
#[track_caller]
pub fn check(text: &str, payload: Json, violations: &[&str], outcome: Outcome) -> Judgement {
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
    check(rules, with("b", json!(2.0)), &[], Accept);
    check(rules, with("b", json!(2.5)), &["p.b.type $.b"], Reject);
    check(rules, with("b", json!(true)), &["p.b.type $.b"], Reject);
    let judgement = check(rules, with("b", json!(11)), &["p.b.range $.b"], AcceptCorrected);
    assert_eq!(judgement.corrected(), Some(&with("b", json!(10))));
    check(rules, with("c", json!(null)), &[], Accept);
    check(rules, with("c", json!(["a", "long"])), &["p.c.short $.c[1]"], Reject);
    // A field of the wrong type has no further violations.
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
    check(judge().options(json!({"sandbox": "yes"})), "`options.sandbox` must be bool, but is string");
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

/// Payloads come from untrusted sources, so the validation of long lists must not take quadratic
/// time.
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
    let limits = ["create_workflow_plan.limit", "limit.node_count", "limit.payload_size"];
    assert_eq!(rules, [&limits[..], &["plan_edge.target.exists"]].concat());
}

/// Checks the warnings for a payload on every engine, given as `rule path`.
#[track_caller]
fn check_warnings(text: &str, payload: &Json, expected: &[&str]) {
    let rules = Rules::from_text(text).unwrap_or_else(|error| panic!("{error}"));
    for column in COLUMNS {
        let judge = column.judging(&rules).judge("p").unwrap();
        let judgement = judge.judge(payload);
        let told = |found: &[rulec::payload::Violation]| {
            found.iter().map(|found| format!("{} {}", found.rule, found.path)).collect::<Vec<_>>()
        };
        assert!(judgement.is_valid(), "{column:?}: {judgement:?}");
        assert_eq!(told(judgement.warnings()), expected, "{column:?}");
        let strict = judge.strict().judge(payload);
        assert_eq!(told(strict.violations()), expected, "{column:?}");
        assert!(strict.warnings().is_empty());
    }
}

/// A rule with severity `warning` must not change the verdict, but must still be reported.
#[test]
fn warnings_stand_beside_the_verdict_and_count_when_strict() {
    let rules = r#"payload p {
      a?: string
      b?: int in 0..=3 clamp
      forbid "loud" at a when a == upper(a) else "do not shout" repair "write it small" warning
    }"#;
    check_warnings(rules, &json!({"a": "HI"}), &["loud $.a"]);
    check_warnings(rules, &json!({"a": "hi"}), &[]);
    let judge = Rules::from_text(rules).unwrap().judge("p").unwrap();
    let judgement = judge.judge(&json!({"a": "HI", "b": 9}));
    assert_eq!(judgement.outcome(), Outcome::AcceptCorrected);
    assert!(
        judgement
            .feedback()
            .contains("The following is allowed, but may be a mistake:\n- At $.a: do not shout")
    );
    let json = serde_json::to_value(&judgement).unwrap();
    assert_eq!(json["warnings"][0]["rule"], "loud");
    assert_eq!(json["violations"].as_array().unwrap().len(), 1);
}

#[test]
fn texts_that_should_be_conditions_are_compiled() {
    let rules = r#"
      group edge { condition?: string | null
                   compiles "edge.condition" at condition else "this is no condition" warning }
      payload p { edges: list<edge> }"#;
    let edges = |texts: &[&str]| json!({"edges": texts.iter().map(|text| json!({"condition": text})).collect::<Vec<_>>()});
    check_warnings(rules, &edges(&["x > 1", "${a.output.n} == 3 and a.output.n > 1"]), &[]);
    check_warnings(rules, &json!({"edges": [{}, {"condition": null}]}), &[]);
    let bad = ["x >", "x > 3 and x starts_with \"a\"", "", "true"];
    check_warnings(
        rules,
        &edges(&bad),
        &[
            "edge.condition $.edges[0].condition",
            "edge.condition $.edges[1].condition",
            "edge.condition $.edges[2].condition",
        ],
    );
    let judge = Rules::from_text(rules).unwrap().judge("p").unwrap();
    let judgement = judge.judge(&edges(&bad));
    assert!(
        judgement.warnings()[1].message.starts_with("this is no condition: "),
        "{:?}",
        judgement.warnings()
    );
    // A plan with many conditions must not take a long time.
    let many: Vec<String> = (0..2_000).map(|at| format!("x > {at} and")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let judgement = judge.judge(&edges(&many));
    assert_eq!((judgement.warnings().len(), judgement.unchecked().len()), (256, 1_744));
}

/// Former bug: if no context was given, a check that a workflow exists passed silently.
#[test]
fn what_could_not_be_checked_is_noted() {
    let rules = decisions();
    let payload = json!({"action_type": "execute_workflow", "workflow_id": "w", "input_params": {"a": 1}});
    for column in COLUMNS {
        let judge = column.judging(&rules).judge("execute_workflow").unwrap();
        let judgement = judge.judge(&payload);
        // Every kind of these rules is strict.
        assert_eq!((judgement.outcome(), judgement.unchecked().len()), (Outcome::Reject, 0));
        let notes: Vec<String> =
            judgement.violations().iter().map(|note| format!("{} {}", note.rule, note.path)).collect();
        assert_eq!(
            notes,
            [
                "execute_workflow.input_params.missing $",
                "execute_workflow.input_params.type_of $.input_params.a",
                "execute_workflow.input_params.unknown $.input_params.a",
                "execute_workflow.workflow_id.exists $.workflow_id",
                "execute_workflow.workflow_id.status $.workflow_id",
            ],
            "{column:?}"
        );
        assert_eq!(
            judgement.violations()[3].message,
            "this could not be checked because `context.workflows` was not given"
        );
        let informed = judge.context(json!({"workflows": {}})).unwrap().judge(&payload);
        assert!(informed.unchecked().is_empty() && !informed.is_valid(), "{informed:?}");
    }
    let told = |kind: &str, payload: Json| {
        let judgement = rules.judge(kind).unwrap().judge(&payload);
        let unchecked =
            judgement.violations().iter().filter(|note| note.message.contains("could not be checked"));
        unchecked.map(|note| note.rule.to_string()).collect::<Vec<_>>()
    };
    let unknown = told("modify_node", json!({"node_id": "n", "updates": {"name": "x"}}));
    assert!(unknown.iter().any(|rule| rule == "modify_node.node_id.exists"), "{unknown:?}");
    assert_eq!(told("spawn_subagent", json!({"subagent_type": "s", "task_payload": {}})).len(), 2);
    // An option that is not given counts as off.
    let plain = json!({"action_type": "create_node", "node_type": "HTTP", "node_name": "n", "config": {"url": "http://h/", "method": "GET"}});
    assert_eq!(told("create_node", plain), [""; 0]);
}

#[test]
fn a_field_may_have_one_value_alone() {
    let rules = "payload p { kind: any const decision default decision\n n?: number const 3 }";
    check(rules, json!({"kind": "p", "n": 3.0}), &[], Outcome::Accept);
    check(rules, json!({"kind": "q"}), &["p.kind.match $.kind"], Outcome::Reject);
    check(rules, json!({"kind": 7}), &["p.kind.match $.kind"], Outcome::Reject);
    check(rules, json!({"kind": "p", "n": 4}), &["p.n.match $.n"], Outcome::Reject);
    check(rules, json!({"kind": "p", "n": "3"}), &["p.n.type $.n"], Outcome::Reject);
    let judgement = check(rules, json!({}), &["p.kind.required $.kind"], Outcome::AcceptCorrected);
    assert_eq!(judgement.corrected(), Some(&json!({"kind": "p"})));
    assert!(Rules::from_text("payload p { n: int const \"x\" }").is_err());
}

/// Former bug: the check for dangerous code missed `from os import environ`, calls of other
/// programs, strings run as code, and network connections.
#[test]
fn code_that_looks_dangerous_is_warned_of() {
    let rules = decisions();
    let judge = rules.judge("create_node").unwrap();
    let warned = |code: &str| {
        let payload = json!({"action_type": "create_node", "node_type": "PYTHON", "node_name": "n", "config": {"code": code}});
        let judgement = judge.judge(&payload);
        assert!(judgement.is_valid(), "{code}: {judgement:?}");
        judgement.warnings().iter().map(|found| found.rule.to_string()).collect::<Vec<_>>()
    };
    for (code, rule) in [
        ("from os import environ\nreturn environ['KEY']", "code.environment"),
        ("from os import path, environ as e", "code.environment"),
        ("import os as o", "code.environment"),
        ("__import__('o' + 's')", "code.dynamic"),
        ("import importlib", "code.dynamic"),
        ("x = eval('1 + 1')", "code.dynamic"),
        ("exec (text)", "code.dynamic"),
        ("import subprocess", "code.programs"),
        ("os.system('ls')", "code.programs"),
        ("os.execvp('ls', [])", "code.programs"),
        ("require('child_process')", "code.programs"),
        ("import socket", "code.network"),
        ("from requests import get", "code.network"),
        ("urllib.request.urlopen(u)", "code.network"),
    ] {
        assert_eq!(warned(code), [rule], "{code}");
    }
    for code in [
        "import pandas as pd\ndf = pd.DataFrame(input_data)\nreturn df.to_dict()",
        "trend = df.groupby('month')['amount'].sum()",
        "return df.eval('a + b')",
        "evaluate(x); executed = 1; websockets = 2",
        "return {'requests': 3}",
    ] {
        assert_eq!(warned(code), [""; 0], "{code}");
    }
}

/// A guard whose context was forgotten must not let a payload pass: a kind that says `strict`
/// rejects it.
#[test]
fn a_strict_kind_rejects_what_it_cannot_check() {
    use Outcome::{Accept, Reject};
    let body = r#"{
      id: string
      require "p.id.known" at id: id in context.ids else "unknown id"
      require "p.id.listed" at id: id in context.seen else "not seen" warning
    }"#;
    let input = "input { context?: { ids?: list<string>, seen?: list<string> } }";
    let payload = json!({"id": "a"});
    let lax = check(&format!("{input}\npayload p {body}"), payload.clone(), &[], Accept);
    assert_eq!(lax.unchecked().len(), 2);
    let strict_text = format!("{input}\npayload p strict {body}");
    let strict = check(&strict_text, payload.clone(), &["p.id.known $.id"], Reject);
    assert!(strict.feedback().contains("`context.ids` was not given"), "{}", strict.feedback());
    // Each rule is listed once: as a violation or, if it only warns, as a warning.
    let listed: Vec<&str> = strict.warnings().iter().map(|warning| &*warning.rule).collect();
    assert_eq!((listed, strict.unchecked()), (vec!["p.id.listed"], &[][..]));
    // The judge of the caller can be strict, too. Then warnings that cannot be checked count as
    // well.
    let judge = Rules::from_text(&format!("{input}\npayload p {body}")).unwrap().judge("p").unwrap().strict();
    assert_eq!(judge.judge(&payload).violations().len(), 2);
    let context = json!({"ids": ["a"], "seen": ["a"]});
    let informed = Rules::from_text(&strict_text).unwrap().judge("p").unwrap().context(context).unwrap();
    assert_eq!(informed.judge(&payload).outcome(), Accept);
}

/// A limit that a payload exceeds leaves rules unevaluated, so a strict kind rejects the payload.
#[test]
fn a_strict_kind_rejects_what_exceeds_a_limit() {
    let rules = |strict: &str| {
        format!(
            "settings {{ quantifier_elements: 10 }}\npayload p {strict} {{\n  xs: list\n  forbid \"p.bad\" at xs when any x in xs: (x as string) == \"bad\" else \"bad\"\n}}"
        )
    };
    let Ok(lax) = Rules::from_text(&rules("")) else { panic!("{:?}", Rules::from_text(&rules(""))) };
    let mut items = vec![json!("ok"); 20];
    items.push(json!("bad"));
    let payload = json!({"xs": items});
    let judgement = lax.judge("p").unwrap().judge(&payload);
    assert!(!judgement.exceeded().is_empty(), "{judgement:?}");
    let strict = Rules::from_text(&rules("strict")).unwrap().judge("p").unwrap().judge(&payload);
    assert_eq!(strict.outcome(), Outcome::Reject);
    assert!(strict.violations().iter().any(|violation| &*violation.rule == "p.limit"), "{strict:?}");
}

/// Regression test: a key that no part of the engine reads passed in silence, such as
/// `modifications.code` in place of `modifications["config.code"]`.
#[test]
fn unknown_keys_of_nested_proposals_are_warnings() {
    let node = json!({"type": "PYTHON", "config": {"code": "1"}});
    let context = json!({"workflows": {"w": {"status": "FAILED", "inputs": {}, "nodes": {"n": node}}}});
    let warnings = |kind: &str, payload: Json| {
        let judge = decisions().judge(kind).unwrap().context(context.clone()).unwrap();
        let judgement = judge.judge(&payload);
        assert_eq!(judgement.outcome(), Outcome::Accept, "{judgement:?}");
        let name = |found: &rulec::payload::Violation| format!("{} {}", found.rule, found.path);
        judgement.warnings().iter().map(name).collect::<Vec<_>>()
    };
    let changes = json!({"code": "os.environ", "type": "PYTHON", "config.code": "2", "config.url": "x"});
    let recovery = json!({
        "action_type": "error_recovery", "workflow_id": "w", "failed_node_id": "n", "failure_reason": "f",
        "recovery_plan": {"action": "MODIFY", "modifications": changes}, "execution_context": {},
    });
    let rule = "recovery_plan.modifications.field $.recovery_plan.modifications";
    let expected = [format!("{rule}.code"), format!("{rule}[\"config.url\"]")];
    assert_eq!(warnings("error_recovery", recovery), expected);
    let body = json!({"type": "START", "code": "x"});
    let added = json!({"type": "LOOP", "name": "l", "code": "x", "config": {"iterations": 1, "body": body}});
    let replan = json!({
        "action_type": "replan_workflow", "workflow_id": "w", "reason": "f",
        "execution_context": {"error": "e"},
        "suggested_changes": {"modify_nodes": [{"node_id": "n"}], "add_nodes": [added],
                              "update_edges": [{"source": "n", "target": "l", "when": "x"}]},
    });
    let rule = "replan_workflow.suggested_changes.field $.suggested_changes";
    let expected = [
        "config.LOOP.body.field $.suggested_changes.add_nodes[0].config.body.code".to_owned(),
        format!("{rule}.add_nodes[0].code"),
        format!("{rule}.modify_nodes"),
        format!("{rule}.update_edges[0].when"),
    ];
    assert_eq!(warnings("replan_workflow", replan), expected);
}
