//! Unit tests of live rules; `tests/it/live.rs` compares them with the reference evaluator.

mod background;
mod statements;

use super::{EditError, LiveRules};
use crate::engine::Compiler;
use rulec_base::diag::Code;
use rulec_syntax::loader::MemoryLoader;
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

fn live_rules(text: &str) -> LiveRules {
    LiveRules::from_text(Compiler::new(), text).expect("it compiles").merge_after(usize::MAX)
}

/// Returns the target of the route that a decision chooses, or `-`.
fn target(rules: &LiveRules, message: &Json) -> String {
    rules.decide(message).target().unwrap_or("-").to_owned()
}

fn assert_refused(result: Result<(), EditError>, part: &str) {
    let error = result.expect_err("it is refused").to_string();
    assert!(error.contains(part), "{error:?} does not say {part:?}");
}

/// Checks the evaluation order of routes that all hold, before and after a merge.
fn assert_order(rules: &LiveRules, expected: &[&str]) {
    let matched = rules.matched(&json!({}));
    assert_eq!(matched, expected);
    assert_eq!(rules.decide(&json!({})).chosen(), expected.first().copied());
    rules.merge().expect("it compiles");
    assert_eq!(rules.matched(&json!({})), expected, "after a merge");
    assert_eq!(rules.pending(), 0);
}

const MISSING_FIELD_ROUTE: &str = "when ctx.x is missing -> h";

#[test]
fn inserted_routes_stand_behind_those_of_their_priority() {
    let rules = live_rules(&format!(
        "route a priority 2 {MISSING_FIELD_ROUTE}\nroute b priority 2 {MISSING_FIELD_ROUTE}\nroute c {MISSING_FIELD_ROUTE}"
    ));
    for (name, priority) in [("d", 2), ("e", 2), ("f", 3), ("g", 0), ("h", -1), ("i", 1)] {
        rules.insert(&format!("route {name} priority {priority} {MISSING_FIELD_ROUTE}")).expect("it fits");
    }
    assert_order(&rules, &["f", "a", "b", "d", "e", "i", "c", "g", "h"]);
}

#[test]
fn a_replacement_keeps_the_place() {
    let rules = live_rules(&format!(
        "route a {MISSING_FIELD_ROUTE}\nroute b {MISSING_FIELD_ROUTE}\nroute c {MISSING_FIELD_ROUTE}"
    ));
    rules.insert(&format!("route d {MISSING_FIELD_ROUTE}")).expect("it fits");
    rules.insert(&format!("route e {MISSING_FIELD_ROUTE}")).expect("it fits");
    for name in ["b", "b", "d"] {
        rules.replace(&format!("route {name} when ctx.x is missing -> other")).expect("it is there");
    }
    rules.replace(&format!("route c priority 1 {MISSING_FIELD_ROUTE}")).expect("it is there");
    assert_eq!(rules.decide(&json!({})).chosen(), Some("c"));
    rules.replace(&format!("route c {MISSING_FIELD_ROUTE}")).expect("it is there");
    assert_order(&rules, &["a", "b", "c", "d", "e"]);
    rules.remove("a").expect("it is there");
    assert_eq!(target(&rules, &json!({})), "other");
}

#[test]
fn what_was_removed_can_come_again() {
    let rules = live_rules(&format!("route a {MISSING_FIELD_ROUTE}\nroute b {MISSING_FIELD_ROUTE}"));
    rules.remove("a").expect("it is there");
    assert_refused(rules.remove("a"), "there is no route `a`");
    rules.insert(&format!("route a {MISSING_FIELD_ROUTE}")).expect("the name is free");
    rules.remove("a").expect("it is there");
    rules.insert(&format!("route a {MISSING_FIELD_ROUTE}")).expect("the name is free");
    rules.insert(&format!("route c disabled {MISSING_FIELD_ROUTE}")).expect("it fits");
    assert_refused(rules.insert(&format!("route c {MISSING_FIELD_ROUTE}")), "already a route `c`");
    assert_order(&rules, &["b", "a"]);
    rules.remove("c").expect("a disabled route is one too");
    rules.remove("b").expect("it is there");
    assert_order(&rules, &["a"]);
}

#[test]
fn rules_may_begin_and_end_empty() {
    for text in ["", "# nothing yet\n", "table t {\n}\n"] {
        let rules = live_rules(text);
        assert_eq!(rules.decide(&json!({})).chosen(), None);
        rules.insert(&format!("route a {MISSING_FIELD_ROUTE}")).expect("it fits");
        assert_order(&rules, &["a"]);
        rules.remove("a").expect("it is there");
        assert_order(&rules, &[]);
    }
}

#[test]
fn jumps_go_both_ways() {
    let rules = live_rules(
        "route into when go == true -> goto t
         route later when true -> main_later
         table t { route x when n == 1 -> tx }
         table u { default -> from_u }",
    );
    let message = |n: i64| json!({"go": true, "n": n});
    assert_eq!(target(&rules, &message(2)), "main_later");
    rules.insert_into("t", "route y when n == 2 -> ty").expect("it fits");
    let decision = rules.decide(&message(2));
    assert_eq!((decision.target(), decision.path()), (Some("ty"), vec!["routes", "t"]));
    rules.insert("route first priority 9 when n >= 3 -> goto t").expect("it fits");
    assert_eq!(target(&rules, &message(3)), "main_later", "the search goes on behind jumps in vain");
    rules.insert_into("t", "route z when n == 4 -> goto u").expect("it fits");
    assert_eq!(rules.decide(&message(4)).path(), ["routes", "t", "u"]);
    assert_refused(rules.insert_into("u", "route back when n == 4 -> goto t"), "form a cycle");
    rules.remove_from("t", "z").expect("it is there");
    rules.insert_into("u", "route back when n == 4 -> goto t").expect("there is no circle any more");
    assert_refused(rules.insert_into("v", "route r when n == 4 -> h"), "no entry `v`");
    rules.merge().expect("it compiles");
    assert_eq!(target(&rules, &message(2)), "ty");
    assert_eq!(rules.decide_in("u", &message(2)).expect("it is there").target(), Some("from_u"));
    assert_eq!(rules.decide_in("u", &message(4)).expect("it is there").target(), Some("from_u"));
    rules.insert_into("t", "route w when n == 4 -> tw").expect("it fits");
    assert_eq!(rules.decide_in("u", &message(4)).expect("it is there").target(), Some("tw"));
}

#[test]
fn added_segments_are_compacted_and_stay_editable() {
    let rules = live_rules("route base when n == 1 -> b\ntable t {\n  default -> dt\n}");
    for n in 0..60 {
        rules.insert(&format!("route r{n} priority {} when n == {n} -> h{n}", n % 3)).expect("it fits");
        rules.insert_into("t", &format!("route s{n} when n == {n} -> s{n}")).expect("it fits");
    }
    rules.wait_for_merge();
    assert!(rules.shared.snapshot.load().segments.len() <= 4, "the base and few others");
    let check = |seven: &str, eight: &str| {
        for n in 0..60 {
            let expected = match n {
                7 => seven.to_owned(),
                8 => eight.to_owned(),
                n => format!("h{n}"),
            };
            let message = json!({"n": n});
            assert_eq!(target(&rules, &message), expected);
            let inside = rules.decide_in("t", &message).expect("the table is there");
            assert_eq!((inside.target(), inside.path()), (Some(&*format!("s{n}")), vec!["t"]));
        }
    };
    check("h7", "h8");
    rules.remove("r7").expect("it is there");
    rules.replace("route r8 when n == 8 -> other").expect("it is there");
    check("-", "other");
    for n in 60..70 {
        rules.insert(&format!("route r{n} when n == {n} -> h{n}")).expect("it fits");
    }
    rules.wait_for_merge();
    check("-", "other");
    rules.merge().expect("it compiles");
    assert_eq!((rules.pending(), rules.shared.snapshot.load().segments.len()), (0, 1));
    check("-", "other");
}

#[test]
fn routes_use_what_is_declared() {
    let rules = LiveRules::from_text(
        Compiler::new().function("long", |text: String| text.len() > 3),
        "settings { case: insensitive }
         input { text: string  n?: int }
         type Id = int
         list words = [\"show\", \"list\"]
         let many = n > 3
         let wanted = many and text contains any words
         def over(limit: int) = n > limit
         extern fn long(text: string) -> bool
         handler files(n?: Id)
         handler chat()
         default -> chat",
    )
    .expect("it compiles");
    rules.insert("route a when wanted and over(4) and long(text) -> files(n: n)").expect("it fits");
    let decision = rules.decide(&json!({"text": "SHOW", "n": 5}));
    assert_eq!(serde_json::to_value(&decision).expect("it is JSON")["args"], json!({"n": 5}));
    assert_eq!(target(&rules, &json!({"text": "SHOW", "n": 4})), "chat");
    assert_refused(rules.insert("route b when wantd -> files"), "did you mean `wanted`?");
    assert_refused(rules.insert("route b when wanted -> file"), "did you mean `files`?");
    assert_refused(rules.insert("route b when m > 3 -> files"), "`m` is not declared");
    assert_refused(rules.insert("route `default` when many -> files"), "cannot be named");
    assert_refused(rules.replace("route aa when many -> files"), "there is no route `aa`");
    let why = rules.explain(&json!({"text": "list", "n": 5})).expect("it compiles");
    assert_eq!(why.chosen.as_deref(), Some("a"));
}

#[test]
fn one_statement_is_wanted() {
    let rules = live_rules("default -> h\nchoice c { branch b { n == 1 } }");
    for (text, part) in [
        ("", "no statement"),
        ("default -> x", "already a `default`"),
        ("route a when x == 1 -> h\nroute b when x == 1 -> h", "more than one"),
        ("route a when x == -> h", "<statement>:1:"),
        ("rout a when x == 1 -> h", "<statement>:1:1"),
    ] {
        assert_refused(rules.insert(text), part);
    }
    assert_refused(rules.insert_into("c", "route a when x == 1 -> h"), "holds no routes");
}

#[test]
fn an_insert_does_not_change_what_others_mean() {
    let rules = live_rules(
        "route a when ctx.x is present -> some\nroute b when ctx.s == \"x\" -> text\nlet n = ctx.n > 1",
    );
    assert_refused(rules.insert("route c when ctx.x > 3 -> h"), "declare `ctx.x` in an `input` block");
    assert_refused(rules.insert("route c when ctx.s.inner == 1 -> h"), "`ctx.s`");
    assert_refused(rules.insert("route c when ctx.n == \"x\" -> h"), "`ctx.n`");
    assert_refused(rules.insert("route c when ctx == 1 -> h"), "`ctx`");
    rules.insert("route c priority 1 when ctx.y > 3 -> number").expect("nobody else reads it");
    assert_refused(rules.insert("route d when ctx.y contains \"x\" -> h"), "`ctx.y`");
    rules
        .insert("route d when ctx.y is present and ctx.s is present -> d")
        .expect("it reads them as they are");
    rules.insert("route e when ctx.x as int > 3 -> e").expect("a read at a type is its own");
    for _ in 0..2 {
        assert_eq!(target(&rules, &json!({"ctx": {"x": "text"}})), "some");
        assert_eq!(target(&rules, &json!({"ctx": {"y": "text", "s": "y"}})), "-", "`y` is read as a number");
        assert_eq!(target(&rules, &json!({"ctx": {"y": 4}})), "number");
        rules.merge().expect("it compiles");
    }
    // After the routes that fixed its type are removed, a field may have another type.
    rules.remove("c").expect("it is there");
    rules.remove("d").expect("it is there");
    rules.insert("route d when ctx.y contains \"x\" -> h").expect("nobody else reads it now");
}

#[test]
fn a_removal_reads_fields_as_what_is_left_does() {
    for merged in [false, true] {
        let rules = live_rules("route a when ctx.x is present -> some\nroute b when ctx.y == 1 -> b");
        let text = "route n priority 1 when ctx.x > 3 -> number";
        assert_refused(rules.insert(text), "`ctx.x`");
        let rules = live_rules(&format!(
            "{text}\nroute a when ctx.x is present -> some\nroute b when ctx.y == 1 -> b"
        ));
        if merged {
            rules.insert("route c when ctx.z == 1 -> c").expect("it fits");
        }
        assert_eq!(target(&rules, &json!({"ctx": {"x": "text"}})), "-");
        rules.remove("n").expect("it is there");
        assert_eq!(target(&rules, &json!({"ctx": {"x": "text"}})), "some");
        assert_eq!(rules.pending(), 0, "everything was compiled anew");
        rules.replace("route a when ctx.x contains \"e\" -> part").expect("it is there");
        assert_eq!(target(&rules, &json!({"ctx": {"x": "text"}})), "part");
        assert_eq!(target(&rules, &json!({"ctx": {"z": 1}})), if merged { "c" } else { "-" });
    }
}

#[test]
fn files_keep_their_own_routes_and_settings() {
    let loader = MemoryLoader::new()
        .with("main.rules", "import \"shared/t.rules\"\nroute go when text contains \"go\" -> goto t\n")
        .with(
            "shared/t.rules",
            "settings { case: insensitive }\nlist words = from \"words.txt\"\n## A table.\ntable t {\n  ## First.\n  route a when text contains any words -> a\n}\n",
        )
        .with("shared/words.txt", "one\ntwo\n");
    let rules = LiveRules::new(Compiler::new(), &loader, "main.rules").expect("it compiles");
    rules.insert_into("t", "## Second.\nroute b when text contains \"B\" -> b # note").expect("it fits");
    rules.insert("route c when text contains \"C\" -> c").expect("it fits");
    for _ in 0..2 {
        assert_eq!(target(&rules, &json!({"text": "go b"})), "b", "the table's file ignores case");
        assert_eq!(target(&rules, &json!({"text": "go ONE"})), "a");
        assert_eq!(target(&rules, &json!({"text": "c"})), "-", "the main file does not");
        rules.merge().expect("it compiles");
    }
    rules.remove_from("t", "a").expect("it is there");
    let texts: Vec<(String, String)> = rules.texts();
    let shared = texts.iter().find(|(name, _)| name == "shared/t.rules").expect("the file is there");
    assert!(!shared.1.contains("First") && shared.1.contains("Second"), "{}", shared.1);
    let loader = texts.into_iter().fold(MemoryLoader::new(), |loader, (name, text)| loader.with(name, text));
    let loader = loader.with("shared/words.txt", "one\n");
    let again = LiveRules::new(Compiler::new(), &loader, "main.rules").expect("the texts are whole");
    assert_eq!(target(&again, &json!({"text": "go B"})), "b");
}

#[test]
fn tests_and_analysis_do_not_stand_in_the_way() {
    let rules = live_rules(
        "intent refund { keywords [\"refund\"] }\nlexicon heat { \"hot\": 0.5 }\nroute a when text == \"a\" -> a\ntest \"a\" { given text = \"a\" expect a }",
    );
    rules.insert("route b when request.heat > 0.1 -> b").unwrap_or_else(|error| panic!("{error}"));
    rules.insert("route c when request.intent == \"refund\" -> c").unwrap_or_else(|error| panic!("{error}"));
    rules.remove("a").expect("a test about it was checked when it was loaded");
    for _ in 0..2 {
        assert_eq!(target(&rules, &json!({"text": "it is hot"})), "b");
        assert_eq!(target(&rules, &json!({"text": "refund"})), "c");
        rules.merge().expect("it compiles");
    }
}

/// A host function may decide and edit, even with the rules that call it.
#[test]
fn functions_may_decide_and_edit() {
    let (home, calls) = (Arc::new(OnceLock::<LiveRules>::new()), Arc::new(AtomicUsize::new(0)));
    let (inner, counted) = (Arc::clone(&home), Arc::clone(&calls));
    let compiler = Compiler::new().function("ask", move |n: i64| {
        let Some(rules) = inner.get() else { return false };
        let call = counted.fetch_add(1, Ordering::Relaxed);
        if n > 0 {
            rules.insert(&format!("route made_{call} priority -1 when n == -7 -> made")).expect("it fits");
            rules.decide(&json!({"n": n - 1})).target() == Some("zero")
        } else {
            false
        }
    });
    let rules = LiveRules::from_text(
        compiler,
        "input { n: int }\nextern fn ask(n: int) -> bool\nroute zero when n == 0 -> zero",
    )
    .expect("it compiles");
    rules.insert("route asks when ask(n) -> asked").expect("it fits");
    home.set(rules.clone()).expect("it is set once");
    assert_eq!(target(&rules, &json!({"n": 1})), "asked");
    assert_eq!(target(&rules, &json!({"n": -7})), "made");
}

#[test]
fn decisions_outlive_the_rules() {
    let rules = live_rules("route a when n == 1 -> a(n: n) { kind: \"x\" }");
    rules.insert("route b when n == 2 -> b(n: n) { kind: \"y\" }").expect("it fits");
    let (a, b) = (rules.decide(&json!({"n": 1})), rules.decide(&json!({"n": 2})));
    rules.remove("a").expect("it is there");
    rules.merge().expect("it compiles");
    drop(rules);
    assert_eq!((a.target(), a.args()["n"].clone()), (Some("a"), json!(1)));
    let expected =
        json!({"entry": "routes", "chosen": "b", "target": "b", "args": {"n": 2}, "metadata": {"kind": "y"}});
    assert_eq!(serde_json::to_value(&b).expect("it is JSON"), expected);
}

/// Edits made during a merge are applied to the merged rules.
#[test]
fn edits_during_a_merge_are_kept() {
    let merging = Arc::new(AtomicUsize::new(0));
    let base: String = (0..300).map(|at| format!("route b{at} when n == {at} -> b{at}\n")).collect();
    let rules = live_rules(&base);
    for round in 0..6 {
        rules.insert(&format!("route old{round} when n == {} -> old", 1000 + round)).expect("it fits");
        rules.insert(&format!("route gone{round} when n == {} -> gone", 2000 + round)).expect("it fits");
        let (other, done) = (rules.clone(), Arc::clone(&merging));
        let merge = std::thread::spawn(move || {
            other.merge().expect("it compiles");
            done.fetch_add(1, Ordering::SeqCst);
        });
        rules.insert(&format!("route new{round} when n == {} -> new", 3000 + round)).expect("it fits");
        rules.remove(&format!("gone{round}")).expect("it is there");
        rules.replace(&format!("route old{round} when n == {} -> older", 1000 + round)).expect("it is there");
        rules.remove(&format!("b{round}")).expect("it is there");
        rules
            .replace(&format!("route b{} when n == {} -> changed", 100 + round, 100 + round))
            .expect("it is there");
        merge.join().expect("it does not panic");
        for message in 0..=round {
            let check = |n: i64, expected: &str| {
                assert_eq!(target(&rules, &json!({"n": n + message})), expected, "round {round}, {message}");
            };
            check(1000, "older");
            check(2000, "-");
            check(3000, "new");
            check(0, "-");
            check(100, "changed");
        }
    }
    assert_eq!(merging.load(Ordering::SeqCst), 6);
    rules.merge().expect("it compiles");
    let [(_, text)] = rules.texts().try_into().expect("there is one file");
    assert_eq!(text.matches("route ").count(), 300 - 6 + 6 + 6, "{text}");
}

#[test]
fn merges_start_by_themselves() {
    let rules = live_rules("default -> h").merge_after(10);
    for at in 0..200 {
        rules.insert(&format!("route r{at} when n == {at} -> r")).expect("it fits");
    }
    rules.wait_for_merge();
    assert!(rules.merge_error().is_none());
    assert!(rules.rules().program().rules.len() > 100, "{rules:?}");
    assert!((0..200).all(|n| target(&rules, &json!({"n": n})) == "r"));
}

/// An accepted edit always compiles. This test therefore makes the merge fail by renaming the main
/// file.
#[test]
fn a_merge_that_fails_leaves_everything_as_it_was() {
    fn name_main(rules: &mut LiveRules, name: &str) {
        let shared = Arc::get_mut(&mut rules.shared).expect("nobody else has the rules");
        shared.snapshot.store(live_rules("").shared.snapshot.load_full());
        let mut writer = shared.lock_writer();
        writer.base_mut().expect("no decision is made").files.main_file_name = name.to_owned();
        shared.snapshot.store(writer.snapshot());
    }
    let mut rules = live_rules("route a when n > 1 -> a\ndefault -> h");
    name_main(&mut rules, "gone.rules");
    rules.insert("route b priority 1 when n > 2 -> b").expect("it fits");
    let error = rules.merge().expect_err("there is no main file");
    assert_eq!(error.diagnostics()[0].code, Code::FileUnreadable);
    assert_eq!(rules.merge_error().map(|error| error.to_string()), Some(error.to_string()));
    let check = |rules: &LiveRules, expected: [&str; 3]| {
        assert_eq!([1, 2, 3].map(|n| target(rules, &json!({"n": n}))), expected);
    };
    check(&rules, ["h", "a", "b"]);
    assert_eq!(rules.pending(), 1);
    rules.remove("a").expect("it is there");
    rules.replace("route b when n > 2 -> c").expect("it is there");
    check(&rules, ["h", "h", "c"]);
    rules.insert("route a when n > 1 -> d").expect("its name is free");
    check(&rules, ["h", "d", "c"]);
    // The background merge retries only after the number of edits has doubled.
    let mut rules = rules.merge_after(1);
    for at in 0..4 {
        rules.insert(&format!("route x{at} when n > {} -> x", 10 + at)).expect("it fits");
        rules.wait_for_merge();
        assert_eq!((rules.pending(), rules.merge_error().is_some()), (5 + at, true));
    }
    check(&rules, ["h", "d", "c"]);
    while Arc::strong_count(&rules.shared) > 1 {
        std::thread::yield_now();
    }
    name_main(&mut rules, "<text>");
    rules.merge().expect("the main file is there again");
    check(&rules, ["h", "d", "c"]);
    assert_eq!((rules.pending(), rules.merge_error().is_none()), (0, true));
}
