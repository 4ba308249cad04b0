//! Tests of the `request` analysis in decisions. Each part is computed only when needed and once
//! per decision, and private values are not revealed.

use rulec::Rules;
use rulec_eval::evaluator::Evaluator;
use rulec_eval::host::{HostCalls, RegisteredFunction};
use rulec_eval::text_analysis::build_feature_function;
use rulec_sema::hir::TableId;
use rulec_vm::bytecode;
use rulec_vm::vm::{Scratch, Vm};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const RULES: &str = r#"
intent refund { keywords ["refund"] examples ["I want my money back"] }
entity order matches r"order (?<id>[0-9]+)(?: of (?<year>20[0-9]{2}))?"
lexicon anger { "furious": 0.8 }
route vip priority 10 when request.intent == "refund" and ctx.vip == true -> h
route dear when ctx.n > 3 and request.entities.order.id == "7" -> h
route old when ctx.n > 3 and request.entities.order.year == "2020" -> h
route sure when ctx.n > 5 and request.intent == "refund" and request.intent_score > 0.95 -> h
route angry when ctx.n > 7 and (request.anger > 0.5 or request.anger > 0.7 or request.urgency > 0) -> h
default -> d
"#;

/// Returns the analysis functions that a decision calls on each engine, with their counts.
fn count_calls(rules: &Rules, message: &Json) -> [BTreeMap<String, usize>; 2] {
    let counted = || {
        let counts: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let program = rules.program();
        let host_functions: Vec<RegisteredFunction> = program
            .externs
            .iter()
            .map(|declared| {
                let feature = declared.feature.expect("only the engine's own functions are used");
                let (inner, counts) = (
                    build_feature_function(&program.analysis, feature).expect("it was made before"),
                    counts.clone(),
                );
                let name = declared.name.clone();
                let count = {
                    let name = name.to_string();
                    move || *counts.lock().unwrap().entry(name.clone()).or_default() += 1
                };
                let function: rulec_eval::host::HostFn = Arc::new(move |args| {
                    count();
                    inner(args)
                });
                RegisteredFunction {
                    name,
                    result_kinds: declared.result.kinds,
                    function,
                    max_work_per_byte: None,
                }
            })
            .collect();
        (counts, host_functions)
    };
    let (reference, host_functions) = counted();
    let arena = rulec_lang::arena::Arena::default();
    let expected =
        Evaluator::new(rules.program(), message, &arena, HostCalls::new(&host_functions)).decide(TableId(0));
    let (fast, host_functions) = counted();
    let code = bytecode::lower(rules.program(), rules.normal()).expect("it was lowered before");
    let mut scratch = Scratch::new();
    let chosen = Vm::over_json(&code, &host_functions, message, &mut scratch).decide(TableId(0));
    assert_eq!(chosen.chosen, expected.chosen);
    [reference, fast].map(|counts| counts.lock().unwrap().clone())
}

#[test]
fn what_nobody_asks_for_is_not_computed_and_the_rest_once() {
    let rules = Rules::from_text(RULES).expect("the rules compile");
    let check = |message: Json, expected: &[&str]| {
        let expected: BTreeMap<String, usize> =
            expected.iter().map(|name| (format!("request.{name}"), 1)).collect();
        for counts in count_calls(&rules, &message) {
            assert_eq!(counts, expected, "{message}");
        }
        if expected.is_empty() {
            assert_eq!(rules.decide(&message).host_time(), std::time::Duration::ZERO);
        }
    };
    let text = "I am furious, it is urgent: where is order 8";
    check(json!({"text": text, "ctx": {"n": 1, "vip": false}}), &[]);
    check(json!({"text": text, "ctx": {"n": 1, "vip": true}}), &["intent"]);
    check(json!({"text": text, "ctx": {"n": 4, "vip": false}}), &["entities.order"]);
    check(json!({"text": text, "ctx": {"n": 6, "vip": true}}), &["entities.order", "intent"]);
    check(json!({"text": text, "ctx": {"n": 8, "vip": false}}), &["anger", "entities.order", "intent"]);
    // The VM stops at an unknown operand. The reference evaluator continues, because a later
    // operand may be false.
    assert_eq!(count_calls(&rules, &json!({"text": text}))[1], BTreeMap::new());
    // Without a text there is nothing to analyse.
    check(json!({"ctx": {"n": 9, "vip": true}}), &[]);
    check(json!({"text": 7, "ctx": {"n": 9, "vip": true}}), &[]);
}

#[test]
fn explanations_show_what_was_found() {
    let rules = Rules::from_text(RULES).expect("the rules compile");
    let why = |text: &str| rules.explain(&json!({"text": text, "ctx": {"n": 6, "vip": false}})).to_string();
    let found = why("furious about order 8, refund");
    for part in [
        "request.intent = \"refund\"",
        "request.entities.order.id = \"8\"",
        "request.entities.order.year is missing",
        "request.intent_score = 0.",
    ] {
        assert!(found.contains(part), "{part} in\n{found}");
    }
    let nothing = why("the weather is fine");
    for part in [
        "there is no order in the text",
        "no intent is clear enough; the nearest is refund with the score 0.",
    ] {
        assert!(nothing.contains(part), "{part} in\n{nothing}");
    }
    assert!(why("文").contains("no word of the text points to an intent"), "{}", why("文"));
}

#[test]
fn what_comes_of_a_private_text_is_private() {
    let rules = format!(
        "input {{ text: string @private, ctx: {{ n: int, vip?: bool }} }}\n{}",
        RULES.replace("-> d", "-> d(id: request.entities.order.id, all: request.entities.order, words: request.keywords, how: request.intent ?? \"none\")")
    );
    let rules = Rules::from_text(&rules).expect("the rules compile");
    let message = json!({"text": "furious order 4711 of 2026 refund secret", "ctx": {"n": 9, "vip": false}});
    let explained = rules.explain(&message);
    let (shown, data) = (explained.to_string(), serde_json::to_string(&explained).expect("JSON"));
    for secret in ["furious o", "4711", "2026", "secret", "request.intent = \"refund\""] {
        assert!(!shown.contains(secret), "{secret} in\n{shown}");
        assert!(!data.contains(secret), "{secret} in\n{data}");
    }
    assert!(shown.contains("request.entities.order.id = •••"), "{shown}");
    // The same explanation, but with permission to show private values.
    let open = rules.main().explain(&message, true).to_string();
    assert!(open.contains("4711"), "{open}");
    // The reason why no intent was found must not reveal the text either.
    let other = json!({"text": "money of the world and other stories that nobody tells", "ctx": {"n": 9, "vip": true}});
    let shown = rules.explain(&other).to_string();
    assert!(shown.contains("no intent is clear enough") && !shown.contains("nearest"), "{shown}");
}

#[test]
fn decisions_carry_what_handlers_ask_for() {
    let rules = Rules::from_text(
        r#"entity order matches r"order (?<id>[0-9]+)"
        route order when request.entities.order is present -> h(order: request.entities.order, id: request.entities.order.id)"#,
    )
    .expect("the rules compile");
    let message = json!({"text": "order 12"});
    let decision = rules.decide(&message);
    assert_eq!(decision.args()["order"], json!({"id": "12"}));
    assert_eq!(decision.args()["id"], json!("12"));
    assert!(decision.failures().is_empty());
}

#[test]
fn tools_without_the_embedding_program_analyse_all_the_same() {
    let rules = rulec::Compiler::new()
        .allow_missing_functions()
        .compile_text(
            "extern fn known(t: string) -> bool\n\
             route a when known(text) -> h\n\
             route b when request.urgency > 0.5 -> h",
        )
        .expect("the rules compile");
    assert_eq!(rules.decide(&json!({"text": "urgent"})).chosen(), Some("b"));
    assert_eq!(rules.decide(&json!({"text": "later"})).chosen(), None);
}
