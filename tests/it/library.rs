//! Tests of the library from outside: readable errors, refused messages, host functions and their
//! types, and schemas.

use rulec::{Compiler, Indexing, LiveRules, Rules, Tier, decide_async};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

fn compile_rules(text: &str) -> Rules {
    Rules::from_text(text).unwrap()
}

/// Runs a future that needs no runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

/// Returns pending at the first poll and ready at the second, like a future that calls a service.
async fn wait_once() {
    let mut waited = false;
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn a_compile_error_is_readable_when_main_returns_it() {
    let text = format!("{}route a when text > 1 and -> b\n", "# a comment\n".repeat(500));
    let error = Rules::from_text(&text).unwrap_err();
    let shown = format!("{error:?}");
    assert!(shown.contains("route a when text > 1 and -> b") && shown.contains("E01"), "{shown}");
    assert!(shown.len() < 1500 && !shown.contains("diagnostics:"), "{shown}");

    let many: String = (0..50).map(|n| format!("default -> a{n}\n")).collect();
    let error = Rules::from_text(&many).unwrap_err();
    assert!(error.diagnostics().len() > 20);
    let more = error.diagnostics().len() - 20;
    assert!(format!("{error:?}").ends_with(&format!("\nand {more} more")), "{error:?}");
}

/// Every function that decides refuses a message that is not an object. Not even the default is
/// chosen.
#[test]
fn a_message_that_is_no_object_is_refused() {
    let text = "route any_text when not (text is present) -> a\nroute n when n < 3 or true -> b\ndefault -> c
                choice pick { default branch one }";
    let other_messages = [json!([1]), json!("text"), json!(7), json!(1.5), json!(true), Json::Null];
    for text in [text.to_owned(), format!("input {{ text?: string, n?: int }}\n{text}")] {
        for tier in Tier::ALL {
            for indexing in [Indexing::Never, Indexing::Auto, Indexing::Always] {
                let rules = Compiler::new().tier(tier).index(indexing).compile_text(&text).unwrap();
                assert_eq!(rules.decide(&json!({})).chosen(), Some("any_text"));
                for message in &other_messages {
                    check_refused(&rules, message);
                }
            }
        }
    }
    let live = LiveRules::from_text(Compiler::new(), text).unwrap().merge_after(usize::MAX);
    live.insert("route more priority 9 when true -> d").unwrap();
    assert_eq!(live.decide(&json!({})).chosen(), Some("more"));
    for message in &other_messages {
        let decision = live.decide(message);
        assert_eq!((decision.chosen(), decision.refusal().is_some()), (None, true), "{message}");
        assert_eq!(live.matched(message), [""; 0]);
    }
}

fn check_refused(rules: &Rules, message: &Json) {
    let prepared = rules.prepare(message);
    let mut session = rules.session();
    let decisions = [
        rules.decide(message),
        rules.main().decide_prepared(&prepared),
        session.decide(message),
        session.decide_prepared(&prepared),
        rules.entry("pick").unwrap().decide(message),
    ];
    for decision in &decisions {
        let refusal = decision.refusal().map(|refusal| refusal.to_string()).unwrap_or_default();
        assert!(refusal.starts_with("a message must be an object"), "{message}: {refusal}");
        assert_eq!((decision.chosen(), decision.target(), decision.is_default()), (None, None, false));
        assert_eq!((decision.breaches().len(), decision.args().len()), (1, 0), "{message}");
    }
    assert_eq!(session.choose(&prepared).chosen, None);
    assert_eq!((rules.main().matched(message), session.matched(message)), (vec![], vec![]));
    assert!(rules.main().possible(message).is_empty());
    assert_eq!(rules.explain(message).chosen, None);
    assert!(rules.decide_value(message).unwrap_err().to_string().contains("must be an object"));
    assert!(session.decide_value(message).is_err());
    assert!(rules.decide_line(message.to_string().as_bytes()).is_err());
}

#[test]
fn null_in_a_private_field_is_shown_as_null() {
    let rules = compile_rules(
        "input { user?: { phone?: string @private, tags?: list<string> @private } }\ndefault -> chat",
    );
    let masked = rules.masked_message(&json!({"user": {"phone": null, "tags": [null, "x"]}}));
    assert_eq!(masked, json!({"user": {"phone": null, "tags": "•••"}}));
}

#[test]
fn host_functions_take_and_return_what_rust_programs_have() {
    fn first_word(text: &str) -> Option<String> {
        text.split(' ').next().map(str::to_owned)
    }
    let rules = Compiler::new()
        .function("first_word", first_word)
        .function("longest", |words: Vec<&str>| words.iter().map(|word| word.len()).max().unwrap_or(0))
        .function("small", |a: u8, b: i16| u32::from(a) + u32::from(b.unsigned_abs()))
        .function("total", |a: i8, b: u16, c: i32, d: u32, e: i64, f: u64| -> i64 {
            i64::from(a) + i64::from(b) + i64::from(c) + i64::from(d) + e + f as i64
        })
        .function("kind", |name: &str, share: f32| if share > 0.5 { "much" } else { Box::leak(name.into()) })
        .function("record", |name: &str| json!([name]))
        .compile_text(
            "extern fn first_word(text: string) -> string
             extern fn longest(words: list<string>) -> int
             extern fn small(a: int, b: int) -> int
             extern fn total(a: int, b: int, c: int, d: int, e: int, f: int) -> int
             extern fn kind(name: string, share: float) -> string
             extern fn record(name: string) -> list<string>
             input { text: string, words: list<string>, n: int }
             default -> show(
               word: first_word(text), longest: longest(words), small: small(n, 7),
               total: total(1, 2, 3, 4, 5, 6), kind: kind(text, 0.75), record: record(text))",
        )
        .unwrap();
    let decision = rules.decide(&json!({"text": "a b", "words": ["ab", "abc"], "n": 200}));
    let expected =
        json!({"word": "a", "longest": 3, "small": 207, "total": 21, "kind": "much", "record": ["a b"]});
    assert_eq!(Json::Object(decision.args().clone()), expected);
    assert!(decision.failures().is_empty());

    // A number outside the range of the Rust type is a reported failure.
    let decision = rules.decide(&json!({"text": "a b", "words": [], "n": 256}));
    assert_eq!(decision.args()["small"], Json::Null);
    let failures: Vec<_> = decision.failures().iter().map(|failure| &*failure.message).collect();
    assert_eq!(failures, ["argument 1 is outside the range of u8"]);

    // The registered types are compared with the declaration, also of an async function.
    async fn score(_: String) -> i64 {
        1
    }
    let wrong = Compiler::new()
        .async_function("score", score)
        .compile_text("extern fn score(n: int) -> int\ndefault -> a(n: score(3))");
    assert!(wrong.unwrap_err().to_string().contains("takes string"));
}

/// On every engine, a decision that awaits its functions equals one with the same sync functions.
#[test]
fn async_host_functions_decide_like_sync_ones() {
    const RULES: &str = "extern fn level(name: string) -> int
        extern fn grade(level: int) -> string
        input { names: list<string>, name: string }
        route graded when grade(level(name)) == \"high\" -> a(grade: grade(level(name)))
        route listed when any x in names: level(x) > 7 -> b
        route never when level(\"broken\") > 0 -> c
        default -> d";
    fn level(name: &str) -> Result<i64, String> {
        if name == "broken" { Err("no such name".to_owned()) } else { Ok(name.len() as i64) }
    }
    fn grade(level: i64) -> &'static str {
        if level > 4 { "high" } else { "low" }
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    for tier in Tier::ALL {
        for indexing in [Indexing::Never, Indexing::Always] {
            let compiler = Compiler::new().tier(tier).index(indexing);
            let sync = compiler.clone().function("level", level).function("grade", grade);
            let sync = sync.compile_text(RULES).unwrap();
            let counter = counter.clone();
            let awaiting = compiler
                .async_function("level", move |name: String| {
                    counter.fetch_add(1, Ordering::Relaxed);
                    async move {
                        wait_once().await;
                        level(&name)
                    }
                })
                .async_function("grade", async |level: i64| {
                    wait_once().await;
                    grade(level)
                })
                .compile_text(RULES)
                .unwrap();
            let live = LiveRules::from(awaiting.clone());
            for name in ["abc", "abcdef", "broken"] {
                // More names than calls that run at the same time.
                for long in [3, 9] {
                    let names: Vec<String> = (0..100).map(|n| format!("{n:0long$}")).collect();
                    let message = json!({"names": names, "name": name});
                    let expected = serde_json::to_value(sync.decide(&message)).unwrap();
                    calls.store(0, Ordering::Relaxed);
                    let decision = block_on(decide_async(|| awaiting.decide(&message)));
                    assert_eq!(serde_json::to_value(&decision).unwrap(), expected, "{tier:?} {message}");
                    // 100 names, `name` and `broken`, each at most once.
                    assert!(calls.load(Ordering::Relaxed) <= 102, "{}", calls.load(Ordering::Relaxed));
                    let decision = block_on(decide_async(|| live.decide(&message)));
                    assert_eq!(serde_json::to_value(&decision).unwrap(), expected, "{tier:?} {message}");
                    let why = block_on(decide_async(|| awaiting.explain(&message)));
                    assert_eq!(why.chosen, decision.chosen().map(str::to_owned));
                }
            }
        }
    }
}

#[test]
fn an_async_function_that_panics_or_is_not_awaited_is_a_failure() {
    async fn broken(text: String) -> i64 {
        wait_once().await;
        panic!("no {text}")
    }
    let rules = Compiler::new()
        .async_function("broken", broken)
        .compile_text(
            "extern fn broken(text: string) -> int\nroute a when broken(text) > 1 -> a\ndefault -> b",
        )
        .unwrap();
    let message = json!({"text": "luck"});
    let decision = block_on(decide_async(|| rules.decide(&message)));
    assert_eq!((decision.target(), &*decision.failures()[0].message), (Some("b"), "panicked: no luck"));
    let decision = rules.decide(&message);
    assert_eq!(decision.target(), Some("b"));
    assert_eq!(decision.failures()[0].message, "it is async; decide inside `rulec::decide_async`");
}

/// A host function may await another decision, and a decision may be made inside another one.
#[test]
fn async_decisions_may_be_nested() {
    let text = "extern fn twice(n: int) -> int\nroute big when twice(n) > 10 -> big\ndefault -> small";
    let inner = Compiler::new().async_function("twice", async |n: i64| 2 * n).compile_text(text).unwrap();
    let asked = inner.clone();
    let outer = Compiler::new()
        .async_function("twice", move |n: i64| {
            let inner = asked.clone();
            async move {
                let message = json!({"n": n});
                let decision = decide_async(|| inner.decide(&message)).await;
                if decision.target() == Some("big") { 100 } else { 0 }
            }
        })
        .compile_text(text)
        .unwrap();
    for (n, expected) in [(3, "small"), (7, "big")] {
        let message = json!({"n": n});
        let both = block_on(decide_async(|| (outer.decide(&message), inner.decide(&message))));
        assert_eq!((both.0.target(), both.1.target()), (Some(expected), Some(expected)));
    }
}

#[test]
fn the_input_schema_describes_the_messages_without_breaches() {
    let rules = compile_rules(
        "input { text: string, n?: int, share: number, at?: datetime, tags?: list<string>,
                 user?: { id: string, plan?: { name: string } }, extra: any }\ndefault -> chat",
    );
    let validator = jsonschema::draft202012::new(&rules.input_schema()).unwrap();
    let full = json!({"text": "a", "n": 1, "share": 0.5, "at": "2026-01-31T00:00:00Z", "tags": ["a"],
                      "user": {"id": "u", "plan": {"name": "gold"}}, "extra": [1], "other": true});
    let changes = [
        ("/text", json!(1)),
        ("/text", Json::Null),
        ("/n", Json::Null),
        ("/n", json!(2.5)),
        ("/share", json!(3)),
        ("/share", json!("3")),
        ("/tags", json!("a")),
        ("/user", Json::Null),
        ("/user", json!("u")),
        ("/user/id", json!(7)),
        ("/user/plan", Json::Null),
        ("/user/plan", json!({})),
        ("/user/plan/name", json!(["gold"])),
        ("/extra", Json::Null),
        ("/extra", json!("x")),
    ];
    let mut fitting = 0;
    for (path, value) in [("/text", json!("b"))].iter().chain(&changes) {
        let mut message = full.clone();
        *message.pointer_mut(path).unwrap() = value.clone();
        let fits = rules.decide(&message).breaches().is_empty();
        assert_eq!(validator.is_valid(&message), fits, "{message}");
        fitting += usize::from(fits);
    }
    assert_eq!(fitting, 6);
    assert!(!validator.is_valid(&json!([])));

    // Without `input`, the fields that the rules read are known.
    let schema = compile_rules("route a when ctx.n > 3 -> a").input_schema();
    assert_eq!(schema["properties"]["ctx"]["properties"]["n"]["type"], json!(["number", "null"]));
}

#[test]
fn the_schema_of_arguments_is_the_declaration_or_all_routes() {
    let rules = compile_rules(
        "handler list_files(limit: int, kind?: string)
         handler never(at: datetime)
         default -> list_files(limit: 3)",
    );
    let schema = rules.args_schema("list_files").unwrap();
    assert_eq!(schema["required"], json!(["limit"]));
    assert_eq!(schema["properties"]["kind"]["type"], "string");
    assert_eq!(rules.args_schema("never").unwrap()["properties"]["at"]["format"], "date-time");
    assert_eq!(rules.args_schema("chat"), None);

    let rules = compile_rules("route a when n > 1 -> show(n: 1, m: 2)\ndefault -> show(n: \"many\")");
    let schema = rules.args_schema("show").unwrap();
    assert_eq!(schema["required"], json!(["n"]));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for message in [json!({"n": 2}), json!({})] {
        let decision = rules.decide(&message);
        assert!(validator.is_valid(&Json::Object(decision.args().clone())), "{decision:?}");
    }
    assert!(!validator.is_valid(&json!({"n": 1, "m": 2, "o": 3})));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only deserialized")]
struct Listing {
    limit: u32,
    kind: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct Nested {
    mode: Mode,
    at: Wrapped,
    inner: Vec<f64>,
    #[serde(default)]
    flag: bool,
    #[serde(flatten)]
    rest: serde_json::Map<String, Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Fast,
    Slow,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct Wrapped(String);

/// A type whose own code refuses the sample value with which `check_args` checks the type.
struct Even;

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            even if even % 2 == 0 => Ok(Even),
            odd => Err(serde::de::Error::custom(format!("{odd} is odd"))),
        }
    }
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only deserialized")]
struct Checked {
    even: Even,
    name: String,
}

fn check_args<T: serde::de::DeserializeOwned>(text: &str, expected: &str) {
    let problem = compile_rules(text).check_args::<T>("h").err().map(|error| error.to_string());
    assert_eq!(problem.unwrap_or_default(), expected, "{text}");
}

#[test]
fn arguments_are_checked_against_types_before_the_first_message() {
    check_args::<Listing>("default -> h(limit: 20)", "");
    check_args::<Listing>("handler h(limit: int, kind?: string)\ndefault -> h(limit: 1)", "");
    check_args::<Json>("default -> h(limit: 20)", "");
    check_args::<std::collections::BTreeMap<String, Json>>("default -> h(limit: 20, a: text)", "");
    check_args::<Listing>(
        "default -> h(kind: \"x\")",
        "the rules give `h` no argument `limit`, which the program requires; add it to the rules, or make it an \
         `Option`",
    );
    check_args::<Listing>(
        "default -> h(limit: 1, more: 2)",
        "the rules give `h` the argument `more`, which the program does not take",
    );
    check_args::<Listing>(
        "route a when n > 1 -> h(limit: 1)\ndefault -> h(limit: [1])",
        "the rules give `h` the argument `limit` of type list<int>, but the program takes u32",
    );
    // An optional argument may be left out, so the type must allow that.
    check_args::<Listing>(
        "handler h(limit?: int)\ndefault -> h()",
        "the rules give `h` no argument `limit`, which the program requires; add it to the rules, or make it an \
         `Option`",
    );
    // A declared type must fit completely, an inferred one partly.
    check_args::<Listing>(
        "handler h(limit: number)\ndefault -> h(limit: 1)",
        "the rules give `h` the argument `limit` of type number, but the program takes u32",
    );
    check_args::<Listing>("default -> h(limit: n ?? 20)", "");
    // A decimal is a number or a text, so the type must take both.
    check_args::<std::collections::BTreeMap<String, Json>>("default -> h(limit: decimal(\"0.1\"))", "");
    check_args::<Listing>(
        "handler h(limit: decimal)\ndefault -> h(limit: 5)",
        "the rules give `h` the argument `limit` of type decimal, but the program takes u32",
    );
    check_args::<Listing>("default -> other", "no route leads to `h`");
    check_args::<Vec<String>>(
        "default -> h(limit: 1)",
        "the rules give `h` named arguments, but the program takes a sequence",
    );

    let nested = "handler h(mode: string, at: datetime, inner: list<int>, more?: any)\n";
    check_args::<Nested>(
        &format!("{nested}route a when x == 1 -> h(mode: \"fast\", at: at, inner: [1])"),
        "",
    );
    check_args::<Nested>(
        "handler h(mode: int, at: datetime, inner: list<int>)\ndefault -> h(mode: 1, at: at, inner: [1])",
        "the rules give `h` the argument `mode` of type int, but the program takes a variant of Mode",
    );
    check_args::<Nested>(
        "handler h(mode: string, at: datetime, inner: list<string>)\ndefault -> h(mode: \"a\", at: at, inner: [\"a\"])",
        "the rules give `h` the argument `inner` of type list<string>, but the program takes f64",
    );

    // What the type's own code refuses decides nothing, and the other arguments are still checked.
    check_args::<Checked>("default -> h(even: 1, name: \"a\")", "");
    check_args::<Checked>(
        "default -> h(even: 1, name: 5)",
        "the rules give `h` the argument `name` of type int, but the program takes a string",
    );
    check_args::<Checked>(
        "default -> h(even: \"a\", name: \"a\")",
        "the rules give `h` the argument `even` of type string, but the program takes u32",
    );
}

/// `check_args` never refuses a type if the arguments of the decisions deserialize into the type.
#[test]
fn arguments_that_a_type_takes_pass_the_check() {
    for (text, message) in [
        ("default -> h(limit: 20, kind: \"all\")", json!({})),
        ("default -> h(limit: len(text), kind: lower(text))", json!({"text": "A"})),
        ("handler h(limit: int, kind?: string)\ndefault -> h(limit: len(text))", json!({"text": "A"})),
    ] {
        let rules = compile_rules(text);
        rules.decide(&message).args_as::<Listing>().unwrap();
        assert!(rules.check_args::<Listing>("h").is_ok(), "{text}");
    }
}
