//! Regression tests. Each test describes a former bug.

use crate::findings;
use findings::codes;
use rulec::payload::Judge;
use rulec::{Code, Compiler, LiveRules, Rules, Tier};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Builds a text from `head` and one line for each number.
fn numbered_lines(head: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    (1..=count).fold(head.to_owned(), |mut text, at| {
        let _ = writeln!(text, "{}", line(at));
        text
    })
}

/// Former bug: the compiler traversed types that contain another type twice as a full tree. Forty
/// such levels made the tree too large.
#[test]
fn types_that_double_are_refused() {
    let types = numbered_lines("type t0 = { a: int }\n", 40, |at| {
        format!("type t{at} = {{ a: t{0}, b: t{0} }}", at - 1)
    });
    let source = format!("{types}input {{ x: t40 }}\nroute r when x.a is present -> h");
    assert!(codes(&source).contains(&Code::ExpansionTooLarge));
}

/// Former bug: one statement fixed the inferred type of a field, and no diagnostic reported that
/// this changed another statement.
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
            rules.main().decide_prepared(&rules.prepare(&message)),
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
    // If no statement fixes a type for another one, nothing is reported.
    let alone = Rules::from_text("route b when c.tags contains \"x\" -> h").expect("it compiles");
    assert_eq!(
        (alone.warnings().len(), alone.decide(&json!({ "c": { "tags": 3 } })).breaches().len()),
        (0, 0)
    );
}

/// Former bug: a route inserted into live rules read a field by a type that other routes fixed, and
/// no message reported it.
#[test]
fn a_type_that_others_decide_for_a_live_route_is_reported() {
    let live =
        LiveRules::from_text(Compiler::new(), "route a when c.tags in [\"y\"] -> h").expect("it compiles");
    let message = json!({ "c": { "tags": ["x"] } });
    assert_eq!(live.decide(&message).breaches(), []);
    live.insert("route b when c.tags contains \"x\" -> h").expect("it is inserted");
    for merged in [false, true] {
        if merged {
            live.merge().expect("it compiles");
        }
        let decision = live.decide(&message);
        let [breach] = decision.breaches() else { panic!("{merged}: {:?}", decision.breaches()) };
        assert_eq!((&*breach.path, &*breach.expected, &*breach.found), ("c.tags", "string", "list"));
        let hint = breach.hint.as_deref().unwrap_or_default();
        assert!(
            hint.contains(if merged { ":1 uses it as string" } else { "another rule uses it as a string" }),
            "{hint}"
        );
        let fine = live.decide(&json!({ "c": { "tags": "x" } }));
        assert_eq!((fine.chosen(), fine.breaches().len()), (Some("b"), 0));
    }
}

/// Former bug: JSON given as rules produced a syntax error at its first bracket.
#[test]
fn json_given_as_rules_is_named_as_such() {
    for text in ["{\"text\": \"a\"}", " \n[1, 2]", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n", "\u{feff}{}"] {
        let error = Rules::from_text(text).expect_err("it is no rules");
        let [found] = error.diagnostics() else { panic!("{}", error.render()) };
        assert_eq!(found.code, Code::JsonFile, "{text}");
        assert!(error.render().contains("JSON") && error.render().contains("rulec import"), "{text}");
    }
    for text in ["{ route r when text == \"\" -> h }", "[x]"] {
        assert!(!codes(text).contains(&Code::JsonFile) && !codes(text).is_empty(), "{text}");
    }
}

/// Former bug: a regex taken from a message, or computed, compiled outside a choice too.
#[test]
fn an_expression_of_matches_is_constant_outside_a_choice() {
    let wrong = [Code::RegexNotConstant];
    for condition in [
        "text matches ctx.p",
        "text not matches ctx.p",
        "text matches any ctx.ps",
        "text matches any [\"a\", ctx.p]",
        "any p in [\"a\", \"b\"]: text matches p",
        "fits(ctx.p)",
        "outer(ctx.p)",
    ] {
        let defs = "def fits(p: string) = text matches p\ndef outer(p: string) = fits(p)\n";
        assert_eq!(codes(&format!("{defs}route r when {condition} -> h")), wrong, "{condition}");
    }
    assert_eq!(codes("let x = text matches ctx.p\nroute r when x -> h"), wrong);
    assert_eq!(codes("router n(output) {\n when output.a matches output.b -> a\n otherwise -> b\n}"), wrong);
    assert_eq!(codes("payload p { a: string\n b: string\n require \"r\": a matches b }"), wrong);
    let fine = "list ps = [\"a\", \"b\"]\nlet p = \"a+\"\ndef fits(p: string) = text matches p\ndef outer(p: string) = fits(p)
        route r when text matches any ps or text matches p or outer(\"x\") -> h
        choice c { branch d { (ctx.t as string) matches (ctx.p as string) } branch e { fits(ctx.p) } }";
    assert_eq!(codes(fine), []);
}

/// Former bug: a misspelt key of a message was reported only as a missing field.
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

/// Former bug: the repair text named a field that only the rules know, instead of the value of that
/// field.
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
    // If the limit is missing, there is no correction either.
    let judge = Judge::new(&rules, "p").expect("it is there");
    let judgement = judge.judge(&json!({ "a": "x" }));
    assert!(
        judgement.violations().iter().all(|violation| !violation.repair.contains("options")),
        "{judgement:?}"
    );
}

/// Former bug: constant lists that use another list twice were copied in full, so the size doubled
/// at each level.
#[test]
fn lists_that_double_are_refused() {
    let lists = numbered_lines("list a0 = [[\"a\"], [\"b\"]]\n", 40, |at| {
        format!("list a{at} = [a{0}, a{0}]", at - 1)
    });
    let source = format!("{lists}route r when ctx.x in a40 -> h");
    assert!(codes(&source).contains(&Code::ExpansionTooLarge));
}

/// Definitions that use each other twice expand to 2^60 parts, so the compiler must refuse them.
#[test]
fn definitions_that_double_are_refused() {
    let lets =
        numbered_lines("let a0 = text == \"a\"\n", 60, |at| format!("let a{at} = a{0} and not a{0}", at - 1));
    assert!(codes(&format!("{lets}route r when a60 -> h")).contains(&Code::ExpansionTooLarge));
    let defs = numbered_lines("def d0(x: string) = x == \"a\"\n", 60, |at| {
        format!("def d{at}(x: string) = d{0}(x) or d{0}(x)", at - 1)
    });
    assert!(codes(&format!("{defs}route r when d60(text) -> h")).contains(&Code::ExpansionTooLarge));
}

/// Former bug: every use of an undeclared name was compared with every definition. In an overlong
/// chain of definitions, each definition was reported.
#[test]
fn a_long_chain_of_definitions_is_one_finding() {
    let lets = numbered_lines("let a0 = text == \"a\"\n", 3_000, |at| {
        format!("let a{at} = a{} and text contains \"{at}\"", at - 1)
    });
    assert_eq!(codes(&format!("{lets}route r when a3000 -> h")), [Code::ExpansionTooLarge]);
}

/// Former bug: the JSON parser read `-0` as a float, which an int field rejected.
#[test]
fn minus_zero_is_an_integer() {
    let rules = Rules::from_text("input { n: int }\nroute r when n == 0 -> h").expect("it compiles");
    let decision = rules.decide(&serde_json::from_str("{\"n\":-0}").expect("it is JSON"));
    assert_eq!((decision.chosen(), decision.breaches().len()), (Some("r"), 0));
}

/// Former bug: `[ ]` after white space was parsed as an index into the preceding name.
#[test]
fn a_list_behind_a_name_is_no_index() {
    assert_eq!(codes("route r when text contains any of [\"a\"] -> h"), [Code::Unexpected]);
}

/// Former bug: a host function that decides by rules failed, because the thread-local memory was
/// already in use.
#[test]
fn a_host_function_may_decide_by_rules() {
    let inner = Rules::from_text("route yes when text contains \"a\" -> h").expect("it compiles");
    let outer = rulec::Compiler::new()
        .function("asks", move |text: String| inner.decide(&json!({ "text": text })).chosen() == Some("yes"))
        .compile_text("extern fn asks(t: string) -> bool\nroute r when asks(text) -> h")
        .expect("it compiles");
    assert_eq!(outer.decide(&json!({"text": "abc"})).chosen(), Some("r"));
}

/// Former bug: a condition used as a value was normalised twice, for true and for false. Nested
/// conditions doubled the work at each level.
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

/// A host function is called once per decision for equal arguments. Former bug: the arguments of
/// the chosen route were evaluated without the cache of host calls, which repeated the calls.
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
            ("record", &|| json!(rules.main().decide_prepared(&record).args())),
            ("line", &|| json!(rules.main().decide_line(line.as_bytes()).expect("it is JSON").args())),
        ];
        for (name, given) in ways {
            calls.store(0, Ordering::Relaxed);
            assert_eq!(given(), args, "{tier:?}, {name}");
            assert_eq!(calls.load(Ordering::Relaxed), 1, "{tier:?}, {name}");
        }
    }
    // The same check for a route that was inserted later.
    let live = LiveRules::from_text(compiler, &text).expect("it compiles").merge_after(usize::MAX);
    live.insert(route).expect("it fits");
    calls.store(0, Ordering::Relaxed);
    assert_eq!(json!(live.decide(&message).args()), args);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

/// Runs `work` on a thread with the default stack size.
fn run_on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread starts");
    thread.join().expect("the stack is large enough")
}

/// Returns the codes for a source of the given nesting depth, compiled on a small stack.
fn codes_of_deep(source: fn(usize) -> String, depth: usize) -> Vec<Code> {
    run_on_small_stack(move || codes(&source(depth)))
}

/// The name of a construct, and a function that builds a source of the given nesting depth.
type Nested = (&'static str, fn(usize) -> String);

/// Every construct that can be nested or chained.
const NESTED: &[Nested] = &[
    ("includes", |n| {
        let groups = numbered_lines("group g0 { a?: int }\n", n, |at| {
            format!("group g{at} {{ include g{} }}", at - 1)
        });
        format!("{groups}payload p {{ include g{n} }}")
    }),
    ("groups alone", |n| {
        numbered_lines("group g0 { a?: int }\n", n, |at| format!("group g{at} {{ include g{} }}", at - 1))
    }),
    ("group types", |n| {
        let groups =
            numbered_lines("group g0 { a?: int }\n", n, |at| format!("group g{at} {{ f?: g{} }}", at - 1));
        format!("{groups}payload p {{ f?: g{n} }}")
    }),
    ("lists of groups", |n| {
        let groups = numbered_lines("group g0 { a?: int }\n", n, |at| {
            format!("group g{at} {{ f?: list<g{}> }}", at - 1)
        });
        format!("{groups}payload p {{ f?: list<g{n}> }}")
    }),
    ("each", |n| {
        let open = numbered_lines("", n, |at| format!("  each x{at} in a {{"));
        format!("payload p {{ a: list<any>\n{open} require \"r\": true\n{} }}", "  }\n".repeat(n))
    }),
    ("lists", |n| {
        let lists = numbered_lines("list l0 = [1]\n", n, |at| format!("list l{at} = [l{}]", at - 1));
        format!("{lists}route r when ctx.x in l{n} -> h")
    }),
    ("records", |n| {
        let lets = numbered_lines("let l0 = { a: 1 }\n", n, |at| format!("let l{at} = {{ a: l{} }}", at - 1));
        format!("{lets}route r when ctx.x == l{n} -> h")
    }),
    ("types", |n| {
        let types =
            numbered_lines("type t0 = { a: int }\n", n, |at| format!("type t{at} = {{ a: t{} }}", at - 1));
        format!("{types}input {{ x: t{n} }}\nroute r when x.a is present -> h")
    }),
    ("list types", |n| {
        let types = numbered_lines("type t0 = int\n", n, |at| format!("type t{at} = list<t{}>", at - 1));
        format!("{types}input {{ x: t{n} }}\nroute r when len(x) > 1 -> h")
    }),
    ("lets", |n| {
        let lets = numbered_lines("let l0 = ctx.n\n", n, |at| format!("let l{at} = l{} + 1", at - 1));
        format!("{lets}route r when l{n} > 1 -> h")
    }),
    ("conditions", |n| {
        let lets = numbered_lines("let l0 = text == \"a\"\n", n, |at| format!("let l{at} = not l{}", at - 1));
        format!("{lets}route r when l{n} -> h")
    }),
    ("defs", |n| {
        let defs = numbered_lines("def d0(x: int) = x + 1\n", n, |at| {
            format!("def d{at}(x: int) = d{}(x) + 1", at - 1)
        });
        format!("{defs}route r when d{n}(ctx.n) > 1 -> h")
    }),
    ("calls", |n| format!("route r when {}ctx.n{} > 1 -> h", "abs(".repeat(n), ")".repeat(n))),
    ("gotos", |n| {
        let tables = numbered_lines("table t0 { default -> h }\n", n, |at| {
            format!("table t{at} {{ route r when text == \"{at}\" -> goto t{} }}", at - 1)
        });
        format!("{tables}route r when text == \"\" -> goto t{n}")
    }),
    ("parentheses", |n| format!("route r when {}text == \"a\"{} -> h", "(".repeat(n), ")".repeat(n))),
    ("brackets", |n| format!("route r when ctx.x in {}1{} -> h", "[".repeat(n), "]".repeat(n))),
    ("braces", |n| format!("route r when {}text == \"\"{} -> h", "all { ".repeat(n), " }".repeat(n))),
    ("not", |n| format!("route r when {} text == \"a\" -> h", "not ".repeat(n))),
    ("minus", |n| format!("route r when {} ctx.n > 1 -> h", "- ".repeat(n))),
    ("??", |n| format!("route r when ({} 1) > 1 -> h", "ctx.n ?? ".repeat(n))),
    ("+", |n| format!("route r when {} 1 > 1 -> h", "ctx.n + ".repeat(n))),
    ("and", |n| format!("route r when {} ctx.a -> h", "ctx.a and ".repeat(n))),
    ("or and", |n| format!("route r when {} ctx.a -> h", "ctx.a or ctx.b and ".repeat(n))),
    ("unless", |n| format!("route r when {} ctx.a -> h", "ctx.a unless ".repeat(n))),
    ("if", |n| format!("route r when ({} 1) > 1 -> h", "if ctx.a then 2 else ".repeat(n))),
    ("names of a route", |n| {
        let names = numbered_lines("n0 = ctx.n", n, |at| format!(", n{at} = n{} + 1", at - 1));
        format!("route r when n{n} > 1 where {names} -> h")
    }),
    ("members", |n| format!("route r when ctx{} == 1 -> h", ".a".repeat(n))),
    ("indexes", |n| format!("route r when ctx{} == 1 -> h", "[0]".repeat(n))),
    ("quantifiers", |n| format!("route r when {} true -> h", "any x in ctx.l: ".repeat(n))),
    ("type brackets", |n| {
        format!("input {{ x: {}int{} }}\nroute r when true -> h", "list<".repeat(n), ">".repeat(n))
    }),
    ("type braces", |n| {
        format!("input {{ x: {}int{} }}\nroute r when true -> h", "{ a: ".repeat(n), " }".repeat(n))
    }),
    ("expressions", |n| format!("route r when text matches r\"{}a{}\" -> h", "(".repeat(n), ")".repeat(n))),
    ("metadata", |n| format!("route r when true -> h {{ a: {}1{} }}", "[".repeat(n), "]".repeat(n))),
];

/// Every nested construct must be handled in a loop, or be refused before a small stack overflows.
/// Former bug: `include`s of groups overflowed the stack at depth 500. Chains of lists and types
/// did too.
#[test]
fn whatever_nests_is_held_on_a_small_stack() {
    for (name, source) in NESTED {
        for depth in [40, 100, 127, 250, 500, 4_000] {
            let found = codes_of_deep(*source, depth);
            let limits = [
                Code::ExpansionTooLarge,
                Code::TooDeep,
                Code::JumpsTooDeep,
                Code::BadRegex,
                Code::TooComplex,
            ];
            let known = found.iter().all(|code| limits.contains(code) || !code.as_str().starts_with('E'));
            // A construct that has no depth limit, or no valid type at this depth, gives ordinary
            // errors.
            assert!(known || depth > 127 || found.len() < 4, "{name}, {depth} deep: {found:?}");
        }
    }
}

/// The compiler reports the nesting limit of groups once, and suggests a fix.
#[test]
fn groups_that_nest_or_double_are_refused_once() {
    let chain =
        numbered_lines("group g0 { a?: int }\n", 100, |at| format!("group g{at} {{ include g{} }}", at - 1));
    assert_eq!(codes(&format!("{chain}payload p {{ include g100 }}")), [Code::ExpansionTooLarge]);
    let short =
        numbered_lines("group g0 { a?: int }\n", 50, |at| format!("group g{at} {{ include g{} }}", at - 1));
    assert_eq!(codes(&format!("{short}payload p {{ include g50 }}")), []);
    let twice = numbered_lines("group g0 { a?: int }\n", 40, |at| {
        format!("group g{at} {{ include g{0}\n include g{0} }}", at - 1)
    });
    assert_eq!(codes(&format!("{twice}payload p {{ include g40 }}")), [Code::ExpansionTooLarge]);
    let types = numbered_lines("group g0 { a?: int }\n", 40, |at| {
        format!("group g{at} {{ a?: g{0}\n b?: list<g{0}> }}", at - 1)
    });
    assert_eq!(codes(&format!("{types}payload p {{ f?: g40 }}")), [Code::ExpansionTooLarge]);
}

/// Former bug: 250 regexes of 10 MiB each were compiled one after another, which took 22 s and 2.5
/// GB.
#[test]
fn expressions_that_are_too_large_together_are_refused_without_compiling_them() {
    let routes = |count| {
        numbered_lines("", count, |at| {
            format!("route r{at} when text matches r\"x{at}\\p{{L}}{{200}}\" -> h")
        })
    };
    assert_eq!(codes(&routes(250)), [Code::RegexTooLarge]);
    let error = Rules::from_text(&routes(250)).expect_err("they are too large").to_string();
    assert!(error.contains("the limit of 256 MiB") && error.contains("regex_memory"), "{error}");
    let entities = numbered_lines("", 250, |at| format!("entity e{at} matches r\"x{at}\\p{{L}}{{200}}\""));
    let asks = "route r when request.entities.e1 is present -> h";
    assert_eq!(codes(&format!("{entities}{asks}")), [Code::RegexTooLarge]);
    // Regexes that people write are far below the limit.
    let common = numbered_lines("", 2_000, |at| {
        format!("route r{at} when text matches r\"(?i)\\b\\w+{at}\\s\\d{{1,5}}\" -> h")
    });
    assert_eq!(codes(&common), []);
    let small = "settings { regex_memory: 1KiB }\nroute r when text matches r\"\\w{20}\" -> h";
    assert_eq!(codes(small), [Code::RegexTooLarge]);
    assert_eq!(codes("settings { regex_memory: 512MiB }\nroute r when text matches r\"\\w{20}\" -> h"), []);
    assert_eq!(
        codes("settings { regex_memory: all }\nroute r when text == \"\" -> h"),
        [Code::UnknownSetting]
    );
}

/// Former bug: every diagnostic compared the misspelt name with all declared names: 2,000 misspelt
/// names took twenty seconds.
#[test]
fn suggestions_end_where_slips_are_many() {
    let source = numbered_lines("", 1_500, |at| {
        format!("table table{at} {{ default -> h }}\nroute r{at} when text == \"\" -> goto tabel{at}")
    });
    let error = Rules::from_text(&source).expect_err("no table has these names");
    let helps = error.diagnostics().iter().filter_map(|found| found.help.as_deref());
    let (meant, others): (Vec<_>, Vec<_>) = helps.partition(|help| help.starts_with("did you mean"));
    assert!(meant.len() > 20 && others.len() > 500, "{} and {}", meant.len(), others.len());
}

/// Former bug: the compiler took a name after the type of a list for brackets, and panicked for a
/// name of one letter.
#[test]
fn a_type_of_lists_before_a_name_is_an_error_of_the_author() {
    for condition in ["set y", "n in set y", "n in list 数", "n == array y"] {
        assert_ne!(codes(&format!("route a when {condition} -> h")), [], "{condition}");
    }
}

/// Former bug: without an `input`, the help took the network for a text in which to search.
#[test]
fn an_address_in_a_network_gets_the_operator_for_networks() {
    let error = Rules::from_text("route r when ctx.ip in \"10.0.0.0/8\" -> h").expect_err("not a list");
    let help = error.diagnostics()[0].help.as_deref();
    assert_eq!(help, Some("write `ctx.ip in_network \"10.0.0.0/8\"`"));
}
