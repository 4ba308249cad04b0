//! Tests of conditions beyond single predicates: `unless`, `if … then … else …` and `where`. They
//! run on every engine, in explanations, payloads and live rules. `tests/conformance` holds the
//! truth tables.

use crate::support::engines;
use engines::COLUMNS;
use rulec::payload::Judge;
use rulec::{Code, Compiler, LiveRules, MemoryLoader, Rules};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn rules(text: &str) -> Rules {
    Rules::from_text(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn explain_message(text: &str, message: &Json) -> String {
    rules(text).explain(message).to_string()
}

/// An explanation shows an exception (`unless`) with its own result, so that a reader sees why a
/// filter did not reject a message.
#[test]
fn an_exception_is_shown_with_its_result() {
    let text = "route r when text contains \"login\" unless ctx.user == \"root\" -> h\n\
                route s when text contains \"login\" unless (ctx.a == 1 or ctx.b == 1) -> h";
    for (message, lines) in [
        (
            json!({ "text": "login" }),
            &[
                "✓ r  → h",
                "✓ text contains \"login\"",
                "✓ unless ctx.user == \"root\"",
                "ctx.user is missing",
            ][..],
        ),
        (
            json!({ "text": "login", "ctx": { "user": "root", "b": 1 } }),
            &[
                "✗ r",
                "✗ unless ctx.user == \"root\"",
                "ctx.user = \"root\"",
                "✗ s",
                "✗ unless",
                "✓ ctx.b == 1",
            ],
        ),
    ] {
        let shown = explain_message(text, &message);
        for line in lines {
            assert!(shown.contains(line), "{line}\n{shown}");
        }
    }
}

/// If neither branch of an `if` yields a value, the explanation shows the branch that was taken.
#[test]
fn the_way_that_was_taken_is_explained() {
    let text = "route r when (if ctx.n > 3 then ctx.a else ctx.b) == 1 -> h";
    let shown = explain_message(text, &json!({ "ctx": { "n": 5, "b": 1 } }));
    assert!(shown.contains("ctx.a is missing") && !shown.contains("ctx.b is missing"), "{shown}");
    let shown = explain_message(text, &json!({ "ctx": {} }));
    assert!(shown.contains("ctx.b is missing"), "{shown}");
}

/// An explanation shows a `where` name like a `let`, once per rule.
#[test]
fn the_names_of_a_rule_are_shown() {
    let text = "route r when (big or old) and not big where big = ctx.n > 3, old = ctx.age > 30 -> h";
    let shown = explain_message(text, &json!({ "ctx": { "n": 5, "age": 31 } }));
    assert!(shown.contains("✓ big") && shown.contains("ctx.n = 5"), "{shown}");
    assert_eq!(shown.matches("ctx.n > 3").count(), 1, "{shown}");
}

/// Of an `if`, only the needed branch is computed. An exception (`unless`) is evaluated after
/// cheaper operands.
#[test]
fn what_is_not_wanted_calls_no_host_function() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let compiler = Compiler::new().function("slow", move |n: i64| {
        counter.fetch_add(1, Ordering::Relaxed);
        n
    });
    let text = "extern fn slow(n: int) -> int\n\
                route way when (if ctx.fast then 1 else slow(ctx.n)) == 7 -> h\n\
                route excepted when ctx.n > 100 unless slow(ctx.n) == 0 -> h\n\
                route named when ctx.n > 100 and far where far = slow(ctx.n) > 9 -> h";
    let rules = compiler.compile_text(text).unwrap_or_else(|error| panic!("{error}"));
    for column in COLUMNS {
        let rules = column.compile(&rules);
        for (message, expected, called) in [
            (json!({ "ctx": { "fast": true, "n": 7 } }), None, 0),
            (json!({ "ctx": { "fast": false, "n": 7 } }), Some("way"), 1),
            (json!({ "ctx": { "n": 7 } }), Some("way"), 1),
            (json!({ "ctx": { "fast": true, "n": 101 } }), Some("excepted"), 1),
        ] {
            calls.store(0, Ordering::Relaxed);
            assert_eq!(rules.decide(&message).chosen(), expected, "{column:?} {message}");
            assert_eq!(calls.load(Ordering::Relaxed), called, "{column:?} {message}");
        }
    }
}

/// A payload rule may have an exception (`unless`), and a correction may have two branches (`if`).
#[test]
fn payloads_take_both() {
    let text = "payload p {\n  \
                  tier: string\n  \
                  size: int default if tier == \"big\" then 100 else 10\n  \
                  forbid \"small\" at size when size > 50 unless tier == \"big\" else \"too large\"\n}";
    let rules = rules(text);
    for column in COLUMNS {
        let rules = column.judging(&rules);
        let judge = Judge::new(&rules, "p").expect("it is there");
        for (payload, violations, size) in [
            (json!({ "tier": "big" }), 1, Some(100)),
            (json!({ "tier": "small" }), 1, Some(10)),
            (json!({ "tier": "small", "size": 60 }), 1, None),
            (json!({ "tier": "big", "size": 60 }), 0, Some(60)),
            (json!({ "tier": "small", "size": 5 }), 0, Some(5)),
        ] {
            let judgement = judge.judge(&payload);
            assert_eq!(judgement.violations().len(), violations, "{column:?} {payload} {judgement:?}");
            let sound = if judgement.is_valid() { Some(&payload) } else { judgement.corrected() };
            let found =
                sound.filter(|_| judgement.is_accepted()).and_then(|payload| payload["size"].as_i64());
            assert_eq!(found, size, "{column:?} {payload} {judgement:?}");
        }
    }
}

/// If a rule is removed from live rules, its `where` names are removed too. The names may use
/// declarations of the file.
#[test]
fn live_rules_take_rules_with_names() {
    let live =
        LiveRules::from_text(Compiler::new(), "let vip = ctx.tier == \"vip\"\nroute a when vip -> h\n")
            .expect("it compiles");
    live.insert(
        "route b when wanted unless vip where wanted = text contains wish, wish = ctx.word -> h(w: wish)",
    )
    .expect("it fits");
    let decide = |message: Json| {
        let decision = live.decide(&message);
        (decision.chosen().map(str::to_owned), decision.args().get("w").cloned())
    };
    assert_eq!(
        decide(json!({ "text": "x", "ctx": { "word": "x" } })),
        (Some("b".to_owned()), Some(json!("x")))
    );
    assert_eq!(decide(json!({ "text": "x", "ctx": { "word": "x", "tier": "vip" } })).0.as_deref(), Some("a"));
    live.replace("route b when wanted where wanted = text == \"y\" -> h").expect("it fits");
    assert_eq!(decide(json!({ "text": "y" })).0.as_deref(), Some("b"));
    assert_eq!(decide(json!({ "text": "x", "ctx": { "word": "x" } })).0, None);
    assert!(
        live.insert("route c when vip where vip = text == \"y\" -> h").is_err(),
        "it hides the definition"
    );
}

/// A private field stays private through both branches of an `if` and through a `where` name.
#[test]
fn private_values_stay_private() {
    let text = "input { ctx: { pin: string @private, n: int } }\n\
                route r when (if ctx.n > 3 then ctx.pin else \"x\") == secret where secret = ctx.pin -> h(p: secret)";
    let shown = explain_message(text, &json!({ "ctx": { "pin": "4711", "n": 5 } }));
    assert!(!shown.contains("4711"), "{shown}");
}

/// `if`, `then`, `else`, `unless` and `where` are field names after a dot, and names in backquotes.
#[test]
fn new_words_are_names_where_names_are() {
    let text = "route r when ctx.if == 1 and ctx.then == 1 and ctx.else == 1 and ctx.unless == 1 and ctx.where == 1 \
                and `where` == 1 and `if` == 1 -> h(if: 1, where: 2, unless: 3)";
    let one = json!({ "if": 1, "then": 1, "else": 1, "unless": 1, "where": 1 });
    let message = json!({ "ctx": one, "where": 1, "if": 1 });
    let decision = rules(text).decide(&message);
    assert_eq!(Json::from(decision.args().clone()), json!({ "if": 1, "where": 2, "unless": 3 }));
}

/// Former bug: the message for half of a conditional named a missing token other than the missing
/// half.
#[test]
fn halves_of_new_forms_are_told() {
    for (text, code, help) in [
        ("route r when if a then b -> h", Code::Unexpected, "`if C then a else b`"),
        ("route r when if == 1 -> h", Code::Unexpected, "in backquotes"),
        ("route r when (if a else b) -> h", Code::Unexpected, "`if C then a else b`"),
        ("route r when a unless -> h", Code::Unexpected, ""),
        ("route r when a except b -> h", Code::Unexpected, "`unless`"),
        ("route r when a where -> h", Code::Unexpected, ""),
        ("route r when a where a == b -> h", Code::Unexpected, "`=`"),
        ("route r when where == 1 -> h", Code::ReservedWord, "in backquotes"),
        ("route r when l contains [\"a\"] -> h", Code::ListWanted, "`x in list`"),
    ] {
        let error = Rules::from_text(text).expect_err(text);
        let found = &error.diagnostics()[0];
        assert_eq!(found.code, code, "{text}: {error}");
        assert!(error.to_string().contains(help), "{text}: {error}");
    }
}

/// Former bug: only definitions were compared, not tables that a `goto` reaches.
#[test]
fn a_jump_to_a_table_with_other_settings_is_a_warning() {
    let codes = |settings: &str, condition: &str| {
        let shared = format!("{settings}\ntable billing {{ route late when {condition} -> late }}");
        let main = "import \"shared.rules\"\nroute a when text contains \"x\" -> goto billing\ndefault -> d";
        let loader = MemoryLoader::new().with("main.rules", main).with("shared.rules", shared);
        let rules = Compiler::new().compile_with(&loader, "main.rules").expect("it compiles");
        rules.warnings().iter().map(|warning| warning.code).collect::<Vec<Code>>()
    };
    let settings = "settings { case: insensitive }";
    assert_eq!(codes(settings, "text contains \"late\""), [Code::SettingsDiffer]);
    assert_eq!(codes("settings { case: sensitive }", "text contains \"late\""), []);
    assert_eq!(codes("", "text contains \"late\""), []);
}

/// A text in a list of times is a time too, or an error.
#[test]
fn constant_texts_in_lists_of_times_are_times() {
    let input = "input { at: datetime, other?: datetime, ats: list<datetime> }\n";
    let at = "2026-01-31T03:00:00Z";
    let message = json!({ "at": "2026-01-31T04:00:00+01:00", "ats": [at] });
    for condition in [
        format!("at in [\"{at}\"]"),
        format!("at in [other, \"{at}\"]"),
        format!("at in [\"{at}\" as datetime, \"2026-02-01T00:00:00Z\"]"),
        format!("ats contains \"{at}\""),
        format!("ats contains any [\"2026-02-01T00:00:00Z\", \"{at}\"]"),
        format!("\"{at}\" in ats"),
    ] {
        let rules = rules(&format!("{input}route a when {condition} -> h\ndefault -> d"));
        let other = json!({ "at": "2020-01-01T00:00:00Z", "ats": [] });
        for column in COLUMNS {
            let engine = column.compile(&rules);
            assert_eq!(engine.decide(&message).target(), Some("h"), "{column:?}: {condition}");
            assert_eq!(engine.decide(&other).target(), Some("d"), "{column:?}: {condition}");
        }
    }
    for condition in
        ["at in [\"2026-01-31\"]", "at in [other, \"2026-01-31 03:00:00\"]", "ats contains \"today\""]
    {
        let error = Rules::from_text(&format!("{input}route a when {condition} -> h")).expect_err("an error");
        let codes: Vec<Code> = error.diagnostics().iter().map(|found| found.code).collect();
        assert_eq!(codes, [Code::BadDatetime], "{condition}");
    }
    let error = Rules::from_text(&format!("{input}route a when at == datetime(\"{at}\") -> h"));
    assert!(error.expect_err("an error").to_string().contains("as datetime"));
}
