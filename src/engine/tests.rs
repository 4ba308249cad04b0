//! Tests of engine selection and of the switch to machine code.

use super::{Backend, Compiler, Decision, Indexing, LiveRules, Rules, Session, Tier};
use crate::history::Past;
use serde_json::json;

fn rules(text: &str) -> Rules {
    Rules::from_text(text).expect("the rules compile")
}

#[test]
fn a_record_of_other_rules_is_resolved_anew() {
    let first = rules("route a when x == 1 -> one\nroute b when y == 2 -> two\n");
    let second = rules("route c when y == 2 -> two\nroute d when x == 1 -> one\n");
    let message = json!({ "x": 1 });
    let record = first.prepare(&message);
    for tier in Tier::ALL {
        for (rules, wanted) in [(&first, "a"), (&second, "d")] {
            let rules = rules.with_tier(tier);
            let decision = rules.main().decide_prepared(&record);
            assert_eq!(decision.chosen(), Some(wanted), "{tier:?}");
            let choice = rules.session().choose(&record);
            assert_eq!(choice.chosen, decision.statement(), "{tier:?}");
        }
    }
}

/// Decides before, during and after compilation. The decisions never change, and a session that
/// started with the VM switches to machine code.
///
/// Former bug: if the compilation ended while a session selected its engine, the session kept the
/// VM.
#[cfg(feature = "jit")]
#[test]
fn rules_that_become_hot_are_compiled_and_answer_as_before() {
    let rules = rules(
        "route small when n < 10 and s starts_with \"a\" -> a\n\
         route even when n % 2 == 0 -> b\n\
         route long when len(s) > 3 or s in [\"x\", \"yy\"] -> c\n",
    );
    let mut reference = rules.with_tier(Tier::Reference).session();
    let texts = ["abc", "x", "long one", ""];
    let messages: Vec<_> = (0..40).map(|n| json!({ "n": n, "s": texts[n % 4] })).collect();
    let records: Vec<_> = messages.iter().map(|message| rules.prepare(message)).collect();
    let expected: Vec<_> = records.iter().map(|record| reference.choose(record)).collect();
    let mut session = rules.session();
    let code = || rules.rule_set().tier_up.machine_code();
    assert!(code().is_none());
    let mut rounds = 0;
    while rounds < 1_000 || code().is_none() {
        for (record, expected) in records.iter().zip(&expected) {
            assert_eq!(session.choose(record), *expected);
        }
        rounds += 1;
        assert!(rounds < 1_000_000, "nothing was compiled");
    }
    assert!(matches!(code(), Some(Ok(_))), "{:?}", code());
    for (record, expected) in records.iter().zip(&expected) {
        assert_eq!(session.choose(record), *expected);
        assert_eq!(rules.main().decide_prepared(record).statement(), expected.chosen);
    }
    assert_eq!(session.slots_backend(), Backend::Jit);
}

#[test]
fn each_engine_is_the_one_that_was_asked_for() {
    let rules = rules("route a when x == 1 -> one\nroute b when y == 2 -> two\n");
    let backend = |tier, indexing| rules.with_tier(tier).with_index(indexing).session().backend();
    assert_eq!(backend(Tier::Reference, Indexing::Auto), Backend::Reference);
    assert_eq!(backend(Tier::Vm, Indexing::Never), Backend::Vm);
    assert_eq!(backend(Tier::Vm, Indexing::Always), Backend::Index);
    #[cfg(feature = "jit")]
    assert_eq!(backend(Tier::Jit, Indexing::Never), Backend::Jit);
}

#[test]
fn a_decision_outlives_its_rules_and_its_thread() {
    fn is_free<T: Send + Sync + 'static>(_: &T) {}
    let decided = std::thread::spawn(|| {
        let rules = rules("route a when n > 1 -> one(n: n) { team: \"x\" }\n");
        let mut session = rules.session();
        drop(rules);
        let by_session = session.decide(&json!({"n": 2}));
        let moved = std::thread::spawn(move || session.decide_line(b"{\"n\": 3}").expect("it is JSON"));
        [by_session, moved.join().expect("it decides")]
    });
    let decided: [Decision; 2] = decided.join().expect("it decides");
    is_free(&decided);
    for (decision, n) in decided.iter().zip([2, 3]) {
        assert_eq!(decision.target(), Some("one"));
        assert_eq!(decision.metadata()["team"], "x");
        assert_eq!(decision.args()["n"], n);
    }
}

#[test]
fn more_threads_than_owners_decide() {
    let rules = rules("route a when n > 1 -> one\n");
    let decided: Vec<Decision> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..80)
            .map(|n| {
                scope.spawn({
                    let rules = &rules;
                    move || rules.decide(&json!({"n": n}))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it decides")).collect()
    });
    let hits: Vec<bool> = decided.iter().map(|decision| decision.target().is_some()).collect();
    assert_eq!(hits, (0..80).map(|n| n > 1).collect::<Vec<_>>());
}

#[test]
fn a_host_function_may_decide_while_the_thread_or_a_session_does() {
    let inner = rules("route yes when len(text) > 2 -> yes\n");
    let asks = move |text: String| inner.decide(&json!({ "text": text })).chosen() == Some("yes");
    let text = "extern fn asks(text: string) -> bool\nroute r when asks(text) -> h\n";
    let outer = Compiler::new().function("asks", asks).compile_text(text).expect("the rules compile");
    let mut session: Session = outer.session();
    for (text, wanted) in [("abc", Some("r")), ("a", None)] {
        let message = json!({ "text": text });
        assert_eq!(outer.decide(&message).chosen(), wanted);
        assert_eq!(session.decide(&message).chosen(), wanted);
        let line = message.to_string();
        assert_eq!(outer.decide_line(line.as_bytes()).expect("it is JSON").chosen(), wanted);
        assert_eq!(session.decide_line(line.as_bytes()).expect("it is JSON").chosen(), wanted);
    }
}

#[test]
fn arguments_become_a_type_of_the_programs_own() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Listing<'a> {
        limit: u8,
        #[serde(borrow)]
        name: Option<&'a str>,
    }
    let rules = rules(
        "handler files(limit: int, name?: string)\n\
         route a when n > 1 -> files(limit: n, name: name)\n",
    );
    let decision = rules.decide(&json!({"n": 5, "name": "x"}));
    assert_eq!(decision.args_as::<Listing<'_>>().expect("it fits"), Listing { limit: 5, name: Some("x") });
    let decision = rules.decide(&json!({"n": 5000}));
    assert!(decision.args_as::<Listing<'_>>().is_err());
    // Without a chosen handler there are no arguments.
    assert!(rules.decide(&json!({})).args_as::<Listing<'_>>().is_err());
    assert!(rules.decide(&json!({})).metadata().is_empty());
}

/// Rule file for a test: some decisions can be cached as JSON, and other decisions depend on the
/// message.
const ANSWERS: &str = r#"
input { text: string, n?: int }
handler h(n?: int) requires permission "execute"
route fixed priority 3 when text == "fixed" -> h { kind: "a \"quoted\" one", list: [1, 2] }
route counted priority 2 when text == "counted" -> h(n: n)
route inner priority 1 when text == "inner" -> goto inside
table inside {
  route deep when n == 1 -> h
  default -> h
}
choice pick { branch one { text == "one" } default branch two }
router next(text) { when text == "one" -> first loopback otherwise -> second }
flow tool "what it does" keyword exact ["tool"] -> "tool id"
"#;

/// A decision that depends only on its statement is cached; other decisions are not.
#[test]
fn a_written_decision_is_the_serialized_one() {
    let rules = rules(ANSWERS);
    let live = LiveRules::from_text(Compiler::new(), ANSWERS).expect("they compile");
    live.insert("route young priority 9 when text == \"young\" -> h").expect("it fits");
    let mut distinct = std::collections::BTreeSet::new();
    let mut check = |decision: Decision| {
        let mut line = b"before ".to_vec();
        decision.write_json(&mut line);
        let line = String::from_utf8(line).expect("it is text");
        let expected = serde_json::to_string(&decision).expect("it is JSON");
        assert_eq!(line.strip_prefix("before "), Some(expected.as_str()));
        distinct.insert(expected);
    };
    let texts = ["fixed", "counted", "inner", "one", "tool", "young", "other"];
    for _ in 0..2 {
        for (text, n) in texts.iter().flat_map(|text| [json!(null), json!(1), json!("x")].map(|n| (text, n)))
        {
            let message = json!({ "text": text, "n": n });
            for entry in rules.entries() {
                check(rules.entry(entry).expect("it is there").decide(&message));
                check(live.decide_in(entry, &message).expect("it is there"));
            }
        }
    }
    assert!(distinct.len() > 20, "{distinct:#?}");
}

/// Regression test: rules without top-level routes chose nothing, though one choice could decide.
#[test]
fn the_only_entry_decides_where_there_are_no_routes() {
    let choice = "choice plan { default branch paid; branch free { free } }";
    let flow = "flow hello keyword contains [\"hi\"] -> \"hello\"";
    let ask = "choice mood ask \"how?\" { branch good \"well\"; default branch bad }";
    let message = json!({"free": true, "text": "hi"});
    for (text, entry, chosen) in [
        (choice.to_owned(), "plan", Some("free")),
        (flow.to_owned(), "flows", Some("hello")),
        (format!("{choice}\n{ask}"), "plan", Some("free")),
        (format!("{choice}\nroute a when free -> h"), "routes", Some("a")),
        (format!("{choice}\n{flow}"), "routes", None),
    ] {
        let rules = rules(&text);
        let decision = rules.decide(&message);
        assert_eq!((decision.entry(), decision.chosen()), (entry, chosen), "{text}");
        assert_eq!(rules.session().decide(&message).chosen(), chosen, "{text}");
        assert_eq!(rules.explain(&message).entry, entry, "{text}");
    }
    let both = rules(&format!("{choice}\n{flow}"));
    assert_eq!(both.default_entry().map(|entry| entry.name()), Err(vec!["plan", "flows"]));
    let live = LiveRules::from(both);
    assert_eq!(live.default_entry(), Err(vec!["plan".to_owned(), "flows".to_owned()]));
    let live = LiveRules::from_text(Compiler::new(), choice).expect("it compiles").merge_after(usize::MAX);
    assert_eq!(live.default_entry().as_deref(), Ok("plan"));
    live.insert("route a when free -> h").expect("it fits");
    assert_eq!((live.default_entry().as_deref(), live.pending()), (Ok("routes"), 1));
    live.merge().expect("it compiles");
    assert_eq!(live.default_entry().as_deref(), Ok("routes"));
}

/// Regression test: a decision that had read the history named the condition that had chosen.
#[test]
fn a_decision_with_a_history_names_no_skipped_conditions() {
    let text = "input { n: number, now: datetime }
        history keep 1d
        choice plan { default branch paid  branch again any { previous.n > 5; n > 100 } }";
    let message = json!({"n": 9, "now": "2026-01-31T12:00:00Z"});
    let past = Past::from_elements(vec![json!({"n": 9, "at": "2026-01-31T11:00:00Z", "#": 0})]);
    let (rules, live) = (rules(text), LiveRules::from_text(Compiler::new(), text).expect("it compiles"));
    let plan = rules.entry("plan").expect("it is there");
    let alone = plan.decide(&message);
    assert_eq!((alone.chosen(), alone.skipped(&message).len()), (Some("paid"), 1));
    for decision in [
        plan.with_history(&past).decide(&message),
        live.decide_with_history("plan", &message, &past).expect("it is there"),
    ] {
        assert_eq!((decision.chosen(), decision.skipped(&message).len()), (Some("again"), 0));
    }
    assert!(plan.with_history(&past).skipped(&message).is_empty());
}
