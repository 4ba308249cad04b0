//! Tests of edits of each kind of statement; `tests/it/live_statements.rs` makes random edits.

use super::{assert_refused, live_rules, target};
use crate::engine::live::background::SOLE_OWNER_DROP_COUNT;
use crate::engine::{Compiler, Edit, EditError, Guard, LiveRules};
use rulec_syntax::loader::MemoryLoader;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

#[test]
fn an_edit_says_what_is_wrong_and_changes_nothing() {
    let loader = MemoryLoader::new()
        .with("main.rules", "import \"words.rules\"\ninput { n: int }\nsettings { case: sensitive }\nlet a = n > 1\nroute r when a -> h\ntable t { default -> h }")
        .with("words.rules", "settings { case: insensitive }\nlist words = [\"x\"]");
    let rules = LiveRules::new(Compiler::new(), &loader, "main.rules").expect("it compiles");
    let (generation, texts) = (rules.generation(), rules.texts());
    let check = |edits: &[Edit], part: &str| {
        assert_refused(rules.edit(edits), part);
        assert_eq!((rules.generation(), rules.texts()), (generation, texts.clone()), "{edits:?}");
    };
    let remove = |name: &str| [Edit::remove(name)];
    check(&remove("list word"), "there is no list `word`; did you mean `words`?");
    check(&remove("let words"), "did you mean the list `words`?");
    check(&remove("a"), "there is no route `a`; did you mean the let `a`?");
    check(&remove("default"), "there is no `default`");
    check(&remove("settings"), "more than one `settings`, in `main.rules` and `words.rules`");
    check(&remove("let a"), "main.rules:5:");
    check(&[Edit::remove("settings").in_file("word.rules")], "the files are `main.rules`, `words.rules`");
    check(&[Edit::remove("list words").in_file("main.rules")], "there is no list `words`");
    check(&[Edit::insert("default -> h").in_table("t")], "already a `default`");
    check(&[Edit::insert("default -> h").in_table("tt")], "no entry `tt`; did you mean `t`?");
    check(&[Edit::insert("let a = n > 2")], "already a let `a`");
    check(&[Edit::insert("list words = [\"y\"]")], "declared twice");
    check(&[Edit::insert("let b = c(1)")], "main.rules");
    check(&[Edit::replace("list words = [1]"), Edit::insert("let b = n contains any words")], "E0");
    check(&[Edit::replace("let a = n > 2"), Edit::remove("let a")], "changes the let `a` as well");
    check(&[Edit::insert("let b = a"), Edit::insert("let b = a")], "already a let `b`");
    check(
        &[Edit::insert("route x when a -> h").in_table("t"), Edit::remove("table t")],
        "the table `t` as well",
    );
    check(
        &[Edit::remove("table t"), Edit::insert("route x when a -> h").in_table("t")],
        "the table `t` as well",
    );
    check(
        &[Edit::insert("table u { default -> h }"), Edit::insert("route x when a -> h").in_table("u")],
        "the table `u` as well",
    );
    check(
        &[Edit::replace("table t { route y when a -> h }"), Edit::remove("y").in_table("t")],
        "the table `t` as well",
    );
    check(&[Edit::insert("let b = a"), Edit::remove("let b")], "the let `b` as well");
    check(&[Edit::remove("r"), Edit::insert("let b =")], "<statement>:1:");
    check(&[Edit::insert("import \"more.rules\"")], "there is no file `more.rules`");
    check(
        &[Edit::insert("import \"more.rules\""), Edit::remove("list more")],
        "there is no list `more`; where `more.rules` brings it",
    );
    rules.edit(&[]).expect("there is nothing to be done");
    assert_eq!(rules.generation(), generation);
}

#[test]
fn edits_as_one_are_made_in_their_order() {
    let rules = live_rules(
        "list words = [\"x\"]\n## Why.\nroute r when text contains any words -> h\nroute s when text == \"z\" -> s",
    );
    let generation = rules.generation();
    rules
        .edit(&[
            Edit::remove("list words"),
            Edit::replace("## Anew.\nroute r when text contains any others -> i"),
            Edit::insert("list others = [\"y\"]"),
            Edit::insert("table t {\n  default -> j\n}"),
            Edit::insert("route u when text == \"z\" -> goto t"),
            // A removed statement may be inserted again.
            Edit::remove("s"),
            Edit::insert("route s when text == \"z\" -> s"),
        ])
        .expect("they are right together");
    assert!(rules.generation() > generation);
    assert_eq!(["x", "y", "z"].map(|text| target(&rules, &json!({"text": text}))), ["-", "i", "j"]);
    let [(_, text)] = rules.texts().try_into().expect("there is one file");
    assert!(!text.contains("Why") && text.contains("## Anew.\nroute r"), "{text}");
    assert!(text.find("route u") < text.find("route s"), "{text}");
    assert_eq!(rules.pending(), 0);
}

#[test]
fn statements_of_imported_files_are_edited_and_a_file_comes_again_with_its_import() {
    let loader = MemoryLoader::new()
        .with(
            "main.rules",
            "input { text: string }\nimport \"words.rules\"\nroute r when text contains any words -> h",
        )
        .with("words.rules", "list words = from \"words.txt\"\n")
        .with("words.txt", "one\ntwo\n");
    let rules = LiveRules::new(Compiler::new(), &loader, "main.rules").expect("it compiles");
    rules.edit(&[Edit::insert("let long = len(text) > 9").in_file("words.rules")]).expect("it fits");
    rules.insert("route s when long -> s").expect("it sees what is imported");
    rules.replace("list words = [\"three\"]").expect("the file is found by its name");
    let check = |expected: [&str; 3]| {
        let texts = ["two", "three", "something longer"];
        assert_eq!(texts.map(|text| target(&rules, &json!({"text": text}))), expected);
    };
    check(["-", "h", "s"]);
    assert_refused(rules.remove("import \"words.rules\""), "`words`");
    rules
        .edit(&[
            Edit::remove("import \"words.rules\""),
            Edit::remove("r"),
            Edit::remove("s"),
            Edit::insert("default -> d"),
        ])
        .expect("nobody needs it");
    check(["d", "d", "d"]);
    assert_eq!(rules.texts().len(), 1);
    rules
        .edit(&[
            Edit::insert("import \"words.rules\""),
            Edit::insert("route r when long or text contains any words -> h"),
        ])
        .expect("the file was kept");
    check(["d", "h", "h"]);
    rules.replace("list words = from \"words.txt\"").expect("so was the list");
    check(["h", "d", "h"]);
}

/// A file that an edit imports for the first time is read from the rules' folder.
#[test]
fn files_that_come_later_are_read_from_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it can be written");
    write("main.rules", "default -> d");
    let rules = LiveRules::from_path(Compiler::new(), folder.path().join("main.rules")).expect("it compiles");
    assert_refused(rules.insert("list words = from \"words.txt\""), "words.txt");
    write("words.txt", "one\n");
    write("more.rules", "let long = len(text) > 9");
    let edits = [
        Edit::insert("import \"more.rules\""),
        Edit::insert("list words = from \"words.txt\""),
        Edit::insert("route r when long or text contains any words -> h"),
    ];
    rules.edit(&edits).expect("the files are there");
    // Once read, the files are kept in memory.
    std::fs::remove_file(folder.path().join("more.rules")).expect("it can be removed");
    write("words.txt", "two\n");
    rules.replace("default -> e").expect("it fits");
    rules.merge().expect("it compiles");
    let texts = ["one", "two", "something longer"];
    assert_eq!(texts.map(|text| target(&rules, &json!({"text": text}))), ["h", "e", "h"]);
    assert_refused(rules.insert("import \"../more.rules\""), "root");
}

/// Routes that other threads edit during a recompilation are kept. The guard runs before the
/// recompiled rules are installed, so the test edits routes in the guard.
#[test]
fn routes_that_are_edited_meanwhile_are_kept_in_order() {
    let rules = live_rules("let hot = n > 3\nroute a when hot -> a\nroute b when n == 1 -> b\nroute c when n == 2 -> c\ntable t { default -> t }")
        .merge_after(10);
    let (inner, asked) = (rules.clone(), AtomicUsize::new(0));
    let guard: Arc<Guard> = Arc::new(move |_| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            for at in 0..40 {
                inner.insert(&format!("route new{at} when hot -> new{at}")).expect("it fits");
            }
            inner.remove("b").expect("it is there");
            inner.replace("route c when n == 2 -> other").expect("it is there");
            inner.insert_into("t", "route x when n == 9 -> x").expect("it fits");
        }
        Ok(())
    });
    rules.guard(&guard);
    let generation = rules.generation();
    let edits = [Edit::replace("let hot = n > 5"), Edit::insert("route z when hot -> z")];
    rules.edit(&edits).expect("it fits");
    assert!(rules.generation() > generation + 43);
    for _ in 0..2 {
        let matched = rules.matched(&json!({"n": 6}));
        let expected: Vec<String> = (0..40).map(|at| format!("new{at}")).collect();
        assert_eq!(matched[..2], ["a", "z"], "as `edit` says, they stand behind what it brings");
        assert_eq!(matched[2..], expected);
        assert_eq!([4, 1, 2].map(|n| target(&rules, &json!({"n": n}))), ["-", "-", "other"]);
        assert_eq!(rules.decide_in("t", &json!({"n": 9})).expect("it is there").target(), Some("x"));
        rules.merge().expect("it compiles");
    }
}

/// If a route inserted during a recompilation does not compile with the new rules, the edit that
/// recompiles fails and the route stays.
#[test]
fn a_route_that_came_meanwhile_may_refuse_an_edit() {
    let rules = live_rules("input { n: int }\nlet hot = n > 3\nroute a when n == 0 -> a");
    let home = Arc::new(OnceLock::<LiveRules>::new());
    let inner = Arc::clone(&home);
    let guard: Arc<Guard> = Arc::new(move |handler| {
        if handler == "first" {
            inner.get().expect("it is set").insert("route b when hot -> b").expect("it fits");
        }
        Ok(())
    });
    home.set(rules.clone()).expect("it is set once");
    rules.guard(&guard);
    let result = rules.edit(&[Edit::remove("let hot"), Edit::insert("route c when n == 1 -> first")]);
    assert!(
        matches!(&result, Err(EditError::Compile(error)) if error.to_string().contains("`hot`")),
        "{result:?}"
    );
    assert_eq!([0, 1, 4].map(|n| target(&rules, &json!({"n": n}))), ["a", "-", "b"]);
    assert_eq!(rules.texts()[0].1.matches("route").count(), 2);
    // The failed edit leaves no state for the next edit.
    rules.replace("let hot = n > 4").expect("it fits");
    assert_eq!(target(&rules, &json!({"n": 4})), "-");
}

#[test]
fn a_test_is_checked_when_it_comes() {
    let rules = live_rules("route a when text == \"a\" -> a");
    assert_refused(rules.insert("test \"b\" { given text = \"b\" expect b }"), "`b`");
    rules.insert("test \"a\" { given text = \"a\" expect a }").expect("there is such a route");
    rules.remove("a").expect("a test about it was checked when it came");
    rules.insert("let later = text == \"b\"").expect("the old test is none of its business");
    assert!(rules.texts()[0].1.contains("test \"a\""));
    rules.remove("test \"a\"").expect("it is there");
    assert!(!rules.texts()[0].1.contains("test"));
}

/// Regression test: the condition of a removed route must not run, although its segment still
/// exists. If it ran, the route's exceeded limits would be reported and its host functions called.
#[test]
fn a_route_that_is_gone_is_not_run() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let compiler = Compiler::new().function("ask", move |_: i64| {
        counted.fetch_add(1, Ordering::SeqCst);
        false
    });
    let text = "settings { value_bytes: 10 }\ninput { text: string, n: int }\nextern fn ask(n: int) -> bool\nroute base when ask(n) -> x";
    let rules = LiveRules::from_text(compiler, text).expect("it compiles").merge_after(usize::MAX);
    rules.insert("route long when lower(text) != \"a\" and ask(n + 1) -> long").expect("it fits");
    for at in 0..9 {
        rules.insert(&format!("route r{at} when n == {at} -> r{at}")).expect("it fits");
    }
    rules.wait_for_merge();
    let message = json!({"text": "MORE THAN TEN BYTES", "n": 100});
    let decide = || {
        let before = calls.load(Ordering::SeqCst);
        let exceeded = rules.decide(&message).exceeded().len();
        (exceeded, calls.load(Ordering::SeqCst) - before)
    };
    assert_eq!(decide(), (1, 1));
    rules.remove("long").expect("it is there");
    rules.remove("base").expect("it is there");
    assert!(
        rules
            .shared
            .snapshot
            .load()
            .segments
            .iter()
            .any(|segment| segment.routes.iter().any(|route| &*route.name == "long"))
    );
    assert_eq!(decide(), (0, 0));
}

/// Regression test: an edit waited a tenth of a second for a reference that the edit itself held.
#[test]
fn an_edit_waits_for_nobody_when_nobody_decides() {
    let rules = live_rules("let limit = 3\nroute r when n > limit -> h\ndefault -> d");
    let alone = SOLE_OWNER_DROP_COUNT.get();
    rules.replace("let limit = 4").expect("it is there");
    assert_eq!(SOLE_OWNER_DROP_COUNT.get(), alone + 1, "an edit of all");
    rules.insert("route s when n > 7 -> h").expect("it fits");
    rules.merge().expect("it compiles");
    assert_eq!(SOLE_OWNER_DROP_COUNT.get(), alone + 2, "a merge");
    rules.insert("route t when n > 8 -> h").expect("it fits");
    let message = json!({"n": 5});
    let decision = rules.decide(&message);
    let explained =
        rules.explain_decision(&decision, &message).expect("it compiles").expect("by these rules");
    assert_eq!(explained.target.as_deref(), Some("h"));
    assert_eq!(SOLE_OWNER_DROP_COUNT.get(), alone + 3, "an explanation that asks for a merge");
}
