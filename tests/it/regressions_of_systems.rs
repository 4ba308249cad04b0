//! Regression tests of single subsystems, such as artifacts and time zones, and of single
//! functions. Each test describes a former bug.

use crate::findings;
use crate::support::engines;
use engines::COLUMNS;
use findings::codes;
use rulec::{Code, Compiler, Indexing, LiveRules, Rules, Tier};
use serde_json::json;

/// Former bug: the permissions that a handler requires were part of the metadata of routes, so a
/// route could omit them.
#[test]
fn what_a_handler_requires_is_told_by_every_decision() {
    let text = "handler run(a?: int) requires permission \"execute\", \"write\"\nhandler chat()\n\
                route one when text == \"a\" -> run\ndefault -> goto t\ntable t { default -> run(a: 1) }";
    let check = |decision: rulec::Decision, requires: &[&str]| {
        let told: Vec<&str> = decision.required_permissions().iter().map(|one| &**one).collect();
        assert_eq!(told, requires);
        let json = serde_json::to_value(&decision).expect("a decision is JSON");
        assert_eq!(json.get("requires").is_some(), !requires.is_empty(), "{json}");
    };
    let (a, b) = (json!({"text": "a"}), json!({"text": "b"}));
    let rules = Rules::from_text(text).expect("it compiles");
    let loaded = Rules::from_artifact(&rules.to_artifact(true)).expect("it loads");
    for rules in [&rules, &loaded] {
        check(rules.decide(&a), &["execute", "write"]);
        check(rules.decide(&b), &["execute", "write"]);
        assert_eq!(rules.required_permissions("chat").len(), 0);
    }
    assert!(rules.explain(&a).to_string().contains("\n  requires  execute, write\n"));
    let live = LiveRules::from_text(Compiler::new(), text).expect("it compiles");
    live.insert("route two when text == \"b\" -> run").expect("it fits");
    live.insert("route three when text == \"c\" -> chat").expect("it fits");
    check(live.decide(&b), &["execute", "write"]);
    check(live.decide(&json!({"text": "c"})), &[]);
    live.merge().expect("it compiles");
    check(live.decide(&b), &["execute", "write"]);
}

/// Former bug: a choice that a model answers was not an entry, so it could not be decided,
/// explained or tested.
///
/// Now the model's answer is part of the message. Every engine compares the answer alike: in live
/// rules, in loaded artifacts, and with or without a declared input.
#[test]
fn asked_choices_are_decided_by_every_engine() {
    let choice = "choice mood ask \"how?\" { default branch calm  branch angry \"x\"  branch \"so so\" }\n";
    let declared = format!("input {{ text: string }}\n{choice}default -> h\n");
    for text in [choice, declared.as_str()] {
        let rules = Rules::from_text(text).expect("it compiles");
        let loaded = Rules::from_artifact(&rules.to_artifact(false)).expect("it loads");
        for (answer, expected) in [
            (json!({"mood": "angry"}), "angry"),
            (json!({"mood": "so so"}), "so so"),
            (json!({"mood": "calm"}), "calm"),
            (json!({"mood": "Angry"}), "calm"),
            (json!({"mood": ["angry"]}), "calm"),
            (json!({"mood": null}), "calm"),
            (json!("angry"), "calm"),
        ] {
            let message = json!({"text": "x", "answers": answer});
            for (tier, rules) in Tier::ALL.iter().flat_map(|tier| [(tier, &rules), (tier, &loaded)]) {
                for indexing in [Indexing::Never, Indexing::Always] {
                    let rules = rules.with_tier(*tier).with_index(indexing);
                    let entry = rules.entry("mood").expect("it is an entry");
                    let line = entry.decide_line(message.to_string().as_bytes()).expect("it is JSON");
                    for decision in [entry.decide(&message), line] {
                        assert_eq!(decision.branch(), Some(expected), "{tier:?} {message}");
                        assert_eq!(decision.is_default(), expected == "calm", "{tier:?} {message}");
                    }
                }
            }
            let live = LiveRules::from_text(Compiler::new(), text).expect("it compiles");
            let decision = live.decide_in("mood", &message).expect("it is an entry");
            assert_eq!(decision.branch(), Some(expected), "{message}");
        }
    }
}

/// Another version of the time zone data may give another hour. Artifacts that use time zones are
/// therefore refused if the versions differ. Other artifacts do not depend on the data.
#[test]
fn artifacts_with_zones_are_refused_under_other_data() {
    use rulec::artifact;
    let check = |condition: &str, zoned: bool| {
        let text = format!("input {{ at: datetime, z: string }}\nroute a when {condition} -> h");
        let bytes = Rules::from_text(&text).expect("it compiles").to_artifact(false);
        assert!(Rules::from_artifact(&bytes).is_ok(), "{condition}");
        let mut contents = artifact::decode_artifact(&bytes).expect("it can be read");
        contents.program.time_zone_version = contents.program.time_zone_version.map(|_| "1999a".into());
        let other = artifact::encode_artifact(
            &contents.program,
            &contents.sources,
            &contents.warnings,
            false,
            |_| None,
        );
        match Rules::from_artifact(&other) {
            Ok(_) => assert!(!zoned, "{condition}"),
            Err(error) => {
                assert!(
                    zoned && error.diagnostics()[0].code == Code::ArtifactVersion,
                    "{condition}: {error}"
                );
            }
        }
    };
    check("hour(at) == 3", false);
    check("hour(at, \"UTC\") == 3", true);
    check("date(at, z) == \"2026-01-01\"", true);
}

/// Former bug: a route inserted into live rules did not use the time zone of its file.
#[test]
fn a_live_route_reads_the_clock_in_the_zone_of_its_file() {
    let text = "settings { zone: \"Asia/Shanghai\" }\ninput { at: datetime }\ndefault -> no";
    let rules = LiveRules::from_text(Compiler::new(), text).expect("it compiles");
    rules.insert("route a when hour(at) == 9 -> h").expect("it fits");
    for _ in 0..2 {
        assert_eq!(rules.decide(&json!({ "at": "2026-01-05T01:30:00Z" })).target(), Some("h"));
        rules.merge().expect("it compiles");
    }
}

/// Former bug: the compiler assumed that a function always has a result, although it may find
/// nothing.
#[test]
fn what_a_function_may_not_find_needs_a_default() {
    let check = |value: &str, optional: bool| {
        let input = "input { text: string, at: datetime, z: string, l: list<int> }\nhandler h(v: int)";
        let text = format!("{input}\nroute a when text == \"x\" -> h(v: {value})");
        let expected = if optional { vec![Code::MaybeMissing] } else { vec![] };
        assert_eq!(codes(&text), expected, "{value}");
    };
    check("index_of(text, \"a\")", true);
    check("first(l)", true);
    check("sum(l)", true);
    check("hour(at, z)", true);
    check("hour(at, \"UTC\")", false);
    check("first(l) ?? 0", false);
    check("bucket(text, \"seed\")", false);
}

/// Former bug: the result of `replace` was built in full, although its size is the product of two
/// message values.
#[test]
fn a_replacement_beyond_the_limit_is_missing() {
    let rules =
        Rules::from_text("route a when replace(text, \"a\", c.s) is missing -> h").expect("it compiles");
    for tier in Tier::ALL {
        let message = json!({ "text": "a".repeat(2_000), "c": { "s": "b".repeat(1_000) } });
        let decision = rules.with_tier(tier).decide(&message);
        let limits: Vec<&str> = decision.exceeded().iter().map(|one| one.limit()).collect();
        assert_eq!((decision.chosen(), &*limits), (Some("a"), &["value_bytes"][..]), "{tier:?}");
    }
}

/// Former bug: the result of a host function had no size limit.
#[test]
fn a_result_of_a_host_function_has_so_many_bytes() {
    let compiler = Compiler::new()
        .function("letters", |count: i64| "a".repeat(count as usize))
        .function("words", |count: i64| vec!["ab".to_owned(); count as usize]);
    let check = |settings: &str, condition: &str, count: i64, expected: Result<(), &str>| {
        let head = "extern fn letters(n: int) -> string\nextern fn words(n: int) -> list<string>";
        let text = format!("settings {{ {settings} }}\n{head}\nroute r when {condition} -> h");
        let rules = compiler.compile_text(&text).unwrap_or_else(|error| panic!("{}", error.render()));
        for column in COLUMNS {
            let decision = column.compile(&rules).decide(&json!({ "n": count, "l": vec![count; 100] }));
            let exceeded: Vec<&str> = decision.exceeded().iter().map(|one| one.limit()).collect();
            let wanted = (expected.is_ok().then_some("r"), expected.err().into_iter().collect());
            assert_eq!((decision.chosen(), exceeded), wanted, "{condition}, {count}: {column:?}");
        }
    };
    for (condition, count, bytes) in [
        ("len(letters(n)) == n", 20, 20),
        ("len(words(n)) == n", 2, 20),
        ("len(letters(n)) == n and trim(letters(n)) != \"b\"", 20, 20),
    ] {
        check(&format!("value_bytes: {bytes}"), condition, count, Ok(()));
        check(&format!("value_bytes: {}", bytes - 1), condition, count, Err("value_bytes"));
    }
    check("", "len(letters(n)) == n", 1 << 20, Ok(()));
    check("", "len(letters(n)) == n", (1 << 20) + 1, Err("value_bytes"));
    // Inside a quantifier, the limit applies to the sum of the results. The same call outside the
    // quantifier must not matter, because engines evaluate in different orders.
    let each = "all x in l: len(letters(x)) == x";
    check("value_bytes: 100", each, 64, Ok(()));
    check("value_bytes: 100", each, 65, Err("value_bytes"));
    check("value_bytes: 100", &format!("len(letters(n)) == n and ({each})"), 65, Err("value_bytes"));
    // Exceeding the limit in the quantifier must not affect the same call after the quantifier.
    let text = format!(
        "settings {{ value_bytes: 100 }}\nextern fn letters(n: int) -> string\nroute r when ({each}) or len(letters(n)) == n -> h"
    );
    let rules = compiler.compile_text(&text).unwrap_or_else(|error| panic!("{}", error.render()));
    for column in COLUMNS {
        let decision = column.compile(&rules).decide(&json!({ "n": 65, "l": vec![65; 100] }));
        assert_eq!(decision.chosen(), Some("r"), "{column:?}");
    }
}

/// Former bug: an int above 2^63 became a float in a field of its own, but stayed exact inside an
/// argument. A zero with a minus sign was an int, however it was written.
#[test]
fn numbers_are_read_alike_in_every_form() {
    let text = "input { id: int, other: int, n: number, whole: { id: int }, more: { id: int } }\n\
                route same when id == other or whole == more -> h(n: n, whole: whole)\n\
                default -> h(n: n, whole: whole, id: id)";
    let rules = Rules::from_text(text).expect("it compiles");
    let line = |id: &str, other: &str, n: &str| {
        format!(r#"{{"id":{id},"other":{other},"n":{n},"whole":{{"id":{id}}},"more":{{"id":{other}}}}}"#)
    };
    let (max, near) = ("18446744073709551615", "18446744073709551614");
    for (id, other, n, chosen, shown) in [
        (max, near, "0", "default", "0"),
        (max, max, "-0", "same", "0"),
        (near, max, "-0.0", "default", "-0.0"),
        ("-9223372036854775808", "-9223372036854775807", "-0e3", "default", "-0.0"),
        ("9223372036854775808", "9223372036854775808", "0.0", "same", "0.0"),
        ("200.0", "2e2", "1e20", "same", "1e+20"),
    ] {
        let line = line(id, other, n);
        let message = rulec_base::json::parse(&line).expect("it is JSON");
        for column in COLUMNS {
            let rules = column.compile(&rules);
            let entry = rules.main();
            for decision in [
                entry.decide(&message),
                entry.decide_prepared(&rules.prepare(&message)),
                entry.decide_line(line.as_bytes()).expect("it is JSON"),
                entry.decide_value(&message).expect("it is JSON"),
            ] {
                assert_eq!(decision.chosen(), Some(chosen), "{column:?} {line}");
                let args = json!(decision.args());
                assert_eq!(args["n"].to_string(), shown, "{column:?} {line}");
                assert_eq!(args["whole"], message["whole"], "{column:?} {line}");
                assert_eq!(decision.breaches(), [], "{column:?} {line}");
            }
        }
    }
    // An integer that no int can be is missing and reported.
    let line = line("18446744073709551616", "18446744073709551616", "1");
    let decision = rules.main().decide_line(line.as_bytes()).expect("it is JSON");
    let breaches: Vec<_> = decision.breaches().iter().map(|breach| breach.path.as_str()).collect();
    assert_eq!(breaches, ["id", "other", "whole.id", "more.id"]);
}

/// Former bug: a keyword of only invisible characters was no warning, although it is empty in the
/// comparison and every text contains the keyword.
#[test]
fn keywords_that_normalization_empties_are_reported() {
    for (form, expected) in [("nfkc", true), ("visible", true), ("none", false)] {
        let text =
            format!("settings {{ normalize: {form} }}\nroute a when text contains \"\\u{{200b}}\" -> h");
        let rules = Rules::from_text(&text).expect("it compiles");
        let found = rules.warnings().iter().any(|warning| warning.code == Code::EmptyText);
        assert_eq!(found, expected, "{form}");
    }
}
