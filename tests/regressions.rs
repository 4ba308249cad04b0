//! Bugs that were found once, each as a named test with a line on its cause.

use rulec::payload::Judge;
use rulec::{Code, Compiler, LiveRules, Rules, Tier};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn codes(source: &str) -> Vec<Code> {
    match Rules::from_text(source) {
        Ok(_) => Vec::new(),
        Err(error) => error.diagnostics().iter().map(|diagnostic| diagnostic.code).collect(),
    }
}

/// Text made of a line for each number.
fn lines(head: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    (1..=count).fold(head.to_owned(), |mut text, at| {
        let _ = writeln!(text, "{}", line(at));
        text
    })
}

/// A type that holds another twice, forty times over, was walked as the tree it stands for.
#[test]
fn types_that_double_are_refused() {
    let types =
        lines("type t0 = { a: int }\n", 40, |at| format!("type t{at} = {{ a: t{0}, b: t{0} }}", at - 1));
    let source = format!("{types}input {{ x: t40 }}\nroute r when x.a is present -> h");
    assert!(codes(&source).contains(&Code::ExpansionTooLarge));
}

/// A field had the type that one statement left of it, and nobody was told when a message had another one.
#[test]
fn a_type_that_another_statement_decides_is_reported() {
    let text = "route a when c.tags in [\"y\"] -> h\nroute b when c.tags contains \"x\" -> h";
    let rules = Rules::from_text(text).expect("it compiles");
    let [warning] = rules.warnings() else { panic!("{:?}", rules.warnings()) };
    assert_eq!(warning.code, Code::NarrowedUse);
    let places: Vec<usize> =
        warning.labels.iter().map(|label| rules.sources().position(label.span).line).collect();
    assert_eq!(places, [2, 1], "both places are shown");
    let loaded = Rules::from_artifact(&rules.to_artifact(false)).expect("it loads");
    let message = json!({ "c": { "tags": ["x"] } });
    let line = message.to_string();
    for (tier, rules) in Tier::ALL.iter().flat_map(|tier| [(tier, &rules), (tier, &loaded)]) {
        let rules = rules.with_tier(*tier);
        for decision in [
            rules.decide(&message),
            rules.main().decide_record(&rules.prepare(&message)),
            rules.main().decide_line(line.as_bytes()).expect("it is JSON"),
        ] {
            let [breach] = decision.breaches() else { panic!("{tier:?}: {:?}", decision.breaches()) };
            assert_eq!((&*breach.path, &*breach.expected, &*breach.found), ("c.tags", "string", "list"));
            assert!(
                breach.hint.as_ref().is_some_and(|hint| hint.contains(":1 uses it as string")),
                "{breach:?}"
            );
        }
        for fine in [json!({ "c": { "tags": "x" } }), json!({ "c": { "tags": null } }), json!({ "c": 3 })] {
            assert_eq!(rules.decide(&fine).breaches(), [], "{fine}");
        }
    }
    // Where no statement decides for another one, nothing is reported.
    let alone = Rules::from_text("route b when c.tags contains \"x\" -> h").expect("it compiles");
    assert_eq!(
        (alone.warnings().len(), alone.decide(&json!({ "c": { "tags": 3 } })).breaches().len()),
        (0, 0)
    );
}

/// A misspelt key of a message was nothing but a missing field.
#[test]
fn a_misspelt_key_is_named_with_the_breach() {
    let rules =
        Rules::from_text("input { text: string, user: { role: string } }\nroute a when text == \"a\" -> h");
    let rules = rules.expect("it compiles");
    let hints = |message: Json| -> Vec<String> {
        rules.decide(&message).breaches().iter().filter_map(|breach| breach.hint.clone()).collect()
    };
    let misspelt = json!({ "txt": "a", "user": { "rol": "x" } });
    let wanted =
        ["the message has `txt`: did you mean `text`?", "the message has `user.rol`: did you mean `role`?"];
    assert_eq!(hints(misspelt), wanted);
    assert_eq!(hints(json!({ "body": "a", "te\u{1b}xt": 1, "user": { "role": 3 } })), [""; 0]);
}

/// A repair told a client to write the name of a field that only the rules know.
#[test]
fn a_repair_names_the_value() {
    let text = "input { options: { most: int } }\n\
                payload p { a: int default options.most; require \"few\" at a: a <= options.most clamp options.most }";
    let rules = Rules::from_text(text).expect("it compiles");
    let judge = Judge::new(&rules, "p").expect("it is there");
    let judge = judge.input("options", json!({ "most": 500 })).expect("it fits");
    let judgement = judge.judge(&json!({ "a": 900 }));
    assert_eq!(&*judgement.violations()[0].repair, "write 500");
    let constant =
        Rules::from_text("payload p { a: int; require \"few\" at a: a <= 5 clamp 5 }").expect("it compiles");
    let judgement = Judge::new(&constant, "p").expect("it is there").judge(&json!({ "a": 9 }));
    assert_eq!(&*judgement.violations()[0].repair, "write 5");
    // Without the value there is no correction either.
    let judge = Judge::new(&rules, "p").expect("it is there");
    let judgement = judge.judge(&json!({ "a": "x" }));
    assert!(
        judgement.violations().iter().all(|violation| !violation.repair.contains("options")),
        "{judgement:?}"
    );
}

/// The same with constants: each list was copied into the next twice.
#[test]
fn lists_that_double_are_refused() {
    let lists =
        lines("list a0 = [[\"a\"], [\"b\"]]\n", 40, |at| format!("list a{at} = [a{0}, a{0}]", at - 1));
    let source = format!("{lists}route r when ctx.x in a40 -> h");
    assert!(codes(&source).contains(&Code::ExpansionTooLarge));
}

/// Definitions that use each other twice stand for 2^60 parts.
#[test]
fn definitions_that_double_are_refused() {
    let lets = lines("let a0 = text == \"a\"\n", 60, |at| format!("let a{at} = a{0} and not a{0}", at - 1));
    assert!(codes(&format!("{lets}route r when a60 -> h")).contains(&Code::ExpansionTooLarge));
    let defs = lines("def d0(x: string) = x == \"a\"\n", 60, |at| {
        format!("def d{at}(x: string) = d{0}(x) or d{0}(x)", at - 1)
    });
    assert!(codes(&format!("{defs}route r when d60(text) -> h")).contains(&Code::ExpansionTooLarge));
}

/// Every use of an undeclared name was held against every definition, and each link of a chain of
/// definitions that was too long was reported.
#[test]
fn a_long_chain_of_definitions_is_one_finding() {
    let lets = lines("let a0 = text == \"a\"\n", 3_000, |at| {
        format!("let a{at} = a{} and text contains \"{at}\"", at - 1)
    });
    assert_eq!(codes(&format!("{lets}route r when a3000 -> h")), [Code::ExpansionTooLarge]);
}

/// The reader of JSON knows `-0` only as a float, which an int field refused.
#[test]
fn minus_zero_is_an_integer() {
    let rules = Rules::from_text("input { n: int }\nroute r when n == 0 -> h").expect("it compiles");
    let decision = rules.decide(&serde_json::from_str("{\"n\":-0}").expect("it is JSON"));
    assert_eq!((decision.chosen(), decision.breaches().len()), (Some("r"), 0));
}

/// `[ ]` behind a white space was read as an index into the name before it.
#[test]
fn a_list_behind_a_name_is_no_index() {
    assert_eq!(codes("route r when text contains any of [\"a\"] -> h"), [Code::Unexpected]);
}

/// A host function that decides by the same rules found the thread's memory in use.
#[test]
fn a_host_function_may_decide_by_rules() {
    let inner = Rules::from_text("route yes when text contains \"a\" -> h").expect("it compiles");
    let outer = rulec::Compiler::new()
        .function("asks", move |text: String| inner.decide(&json!({ "text": text })).chosen() == Some("yes"))
        .compile_text("extern fn asks(t: string) -> bool\nroute r when asks(text) -> h")
        .expect("it compiles");
    assert_eq!(outer.decide(&json!({"text": "abc"})).chosen(), Some("r"));
}

/// A condition as a value was brought into normal form twice, for holding and for failing, and so was each within it.
#[test]
fn conditions_as_values_within_each_other_compile() {
    let nested = (0..60).fold("c.y > 1".to_owned(), |inner, _| format!("c.x in [{inner}]"));
    let rules = Rules::from_text(&format!("route a when {nested} -> h")).expect("it compiles");
    for (message, chosen) in
        [(json!({"c": {"x": true, "y": 2}}), Some("a")), (json!({"c": {"x": true}}), None)]
    {
        for tier in Tier::ALL {
            assert_eq!(rules.with_tier(tier).decide(&message).chosen(), chosen, "{tier:?}");
        }
    }
}

/// A host function is asked once for equal arguments and decision: arguments were evaluated after the
/// decision, by an evaluator that knew nothing of the calls made for conditions, and asked again.
#[test]
fn a_condition_and_an_argument_share_the_calls_of_host_functions() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let compiler = Compiler::new().function("score", move |text: String| {
        counted.fetch_add(1, Ordering::Relaxed);
        text.len() as i64
    });
    let route = "route a when score(text) > 2 -> h(score: score(text), twice: score(text) * 2)";
    let text = "extern fn score(t: string) -> int\nroute z when text == \"-\" -> z\n".to_owned();
    let rules = compiler.compile_text(&format!("{text}{route}")).expect("it compiles");
    let message = json!({ "text": "four" });
    let args = json!({ "score": 4, "twice": 8 });
    for tier in Tier::ALL {
        let rules = rules.with_tier(tier);
        let record = rules.prepare(&message);
        let line = message.to_string();
        let ways: [(&str, &dyn Fn() -> Json); 3] = [
            ("tree", &|| json!(rules.decide(&message).args())),
            ("record", &|| json!(rules.main().decide_record(&record).args())),
            ("line", &|| json!(rules.main().decide_line(line.as_bytes()).expect("it is JSON").args())),
        ];
        for (name, given) in ways {
            calls.store(0, Ordering::Relaxed);
            assert_eq!(given(), args, "{tier:?}, {name}");
            assert_eq!(calls.load(Ordering::Relaxed), 1, "{tier:?}, {name}");
        }
    }
    // The same of a route that came later.
    let live = LiveRules::from_text(compiler, &text).expect("it compiles").merge_after(usize::MAX);
    live.insert(route).expect("it fits");
    calls.store(0, Ordering::Relaxed);
    assert_eq!(json!(live.decide(&message).args()), args);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}
