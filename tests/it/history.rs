//! Tests of rules over a history: the examples of the language page, and what a store keeps.

use crate::support::engines::REFERENCE;
use rulec::history::{MemoryStore, RecordError};
use rulec::{Compiler, Rules, Session};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The routes of the language page.
const GUARD: &str = r#"
input {
  tool: string, args?: string, amount?: number, now: datetime
  ctx: { session: string }
}
history by ctx.session keep 24h at most 10_000
route exfiltration when tool == "send_email"
  and any p in history within 1h: p.tool == "read_secret"              -> deny(reason: "a secret was read")
route too_fast when (count p in history within 1m: p.tool == tool) >= 5 -> deny(reason: "slow down")
route over_budget when (sum p.amount for p in history within 1d: p.tool == "pay") + amount > 1_000
                                                                        -> ask(whom: "owner")
route unconfirmed when tool == "delete"
  and not any c in history within 10m: c.tool == "confirm" and all q in history after c: q.tool != "edit"
                                                                        -> ask(whom: "user")
route again when previous.tool == tool and previous.args == args        -> deny(reason: "the same call twice")
route session_over when (last p in history: p.tool in ["login", "logout"]).tool == "logout"
                                                                        -> deny(reason: "logged out")
default -> run
"#;

fn session(source: &str) -> Session {
    let rules = Rules::from_text(source).unwrap_or_else(|error| panic!("{error}"));
    rules.session().with_history(Arc::new(MemoryStore::default()))
}

/// A call of a tool at a minute of a day.
fn call(minute: u32, tool: &str) -> Json {
    let now = format!("2026-01-31T{:02}:{:02}:00Z", minute / 60, minute % 60);
    json!({"tool": tool, "now": now, "ctx": {"session": "s"}})
}

fn with(mut message: Json, field: &str, value: Json) -> Json {
    message[field] = value;
    message
}

/// Decides and records each message, and compares the chosen routes.
fn check(source: &str, messages: &[(Json, &str)]) {
    let mut session = session(source);
    for (message, expected) in messages {
        let decision = session.decide_and_record(message).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(decision.chosen(), Some(*expected), "{message}");
    }
}

#[test]
fn a_secret_that_was_read_stops_mail_for_an_hour() {
    check(
        GUARD,
        &[
            (call(0, "send_email"), "default"),
            (call(1, "read_secret"), "default"),
            (call(2, "send_email"), "exfiltration"),
            (call(61, "send_email"), "exfiltration"),
            (call(62, "send_email"), "default"),
        ],
    );
}

#[test]
fn calls_and_amounts_are_counted_in_their_windows() {
    let search = |args: &str| with(call(0, "search"), "args", args.into());
    check(
        GUARD,
        &[
            (search("a"), "default"),
            (search("b"), "default"),
            (search("c"), "default"),
            (search("d"), "default"),
            (search("e"), "default"),
            (search("f"), "too_fast"),
            (with(call(2, "search"), "args", "f".into()), "again"),
        ],
    );
    let pay = |minute: u32, amount: f64| with(call(minute, "pay"), "amount", amount.into());
    check(
        GUARD,
        &[
            (pay(0, 600.0), "default"),
            (pay(1, 400.0), "default"),
            (pay(2, 0.5), "over_budget"),
            // The first payment is outside the time window, so only the other two count.
            (with(pay(0, 599.5), "now", "2026-02-01T00:00:30Z".into()), "default"),
        ],
    );
}

#[test]
fn a_confirmation_counts_until_the_next_edit() {
    check(
        GUARD,
        &[
            (call(0, "delete"), "unconfirmed"),
            (call(1, "confirm"), "default"),
            (call(2, "edit"), "default"),
            (call(3, "delete"), "unconfirmed"),
            (call(4, "confirm"), "default"),
            (call(5, "delete"), "default"),
            (call(15, "delete"), "unconfirmed"),
        ],
    );
}

#[test]
fn the_last_element_and_the_previous_one_are_read() {
    check(
        GUARD,
        &[
            (call(0, "login"), "default"),
            (call(1, "logout"), "default"),
            (call(2, "search"), "session_over"),
            (call(3, "login"), "session_over"),
            (call(4, "search"), "default"),
        ],
    );
}

#[test]
fn sessions_do_not_see_each_other() {
    let mut session = session(GUARD);
    let secret = call(0, "read_secret");
    session.decide_and_record(&secret).expect("it is recorded");
    let other = with(call(1, "send_email"), "ctx", json!({"session": "other"}));
    assert_eq!(session.decide_with_history(&other).expect("a store").chosen(), Some("default"));
    let same = call(1, "send_email");
    assert_eq!(session.decide_with_history(&same).expect("a store").chosen(), Some("exfiltration"));
    // `decide` reads no store, so it decides as if nothing happened before.
    assert_eq!(session.decide(&same).chosen(), Some("default"));
}

#[test]
fn late_messages_are_placed_by_their_time() {
    let rules = "input { n: int, now: datetime } history
        route rising when all p in history: all q in history after p: p.n < q.n -> up
        default -> other";
    let mut session = session(rules);
    let at = |second: u32, n: i64| json!({"n": n, "now": format!("2026-01-31T00:00:{second:02}Z")});
    for message in [at(5, 50), at(1, 10), at(3, 30), at(4, 40), at(2, 20)] {
        session.observe(&message).expect("it is recorded");
    }
    assert_eq!(session.decide_with_history(&at(9, 0)).expect("a store").target(), Some("up"));
    // Elements with the same time keep the order of their arrival.
    session.observe(&at(5, 51)).expect("it is recorded");
    assert_eq!(session.decide_with_history(&at(9, 0)).expect("a store").target(), Some("up"));
    session.observe(&at(5, 49)).expect("it is recorded");
    assert_eq!(session.decide_with_history(&at(9, 0)).expect("a store").target(), Some("other"));
}

#[test]
fn decisions_are_part_of_the_history() {
    let rules = "input { n: int, now: datetime } history keep 1h
        route after_refusal when previous.decision.target == \"refuse\" -> ask
        route negative when n < 0 -> refuse
        route observed when previous is present and previous.decision is missing -> note
        default -> run";
    let at = |second: u32, n: i64| json!({"n": n, "now": format!("2026-01-31T00:00:{second:02}Z")});
    let mut session = session(rules);
    let mut target = |message: &Json| {
        let decision = session.decide_and_record(message).expect("it is recorded");
        decision.target().map(str::to_owned)
    };
    assert_eq!(target(&at(0, 1)).as_deref(), Some("run"));
    assert_eq!(target(&at(1, -1)).as_deref(), Some("refuse"));
    assert_eq!(target(&at(2, 1)).as_deref(), Some("ask"));
    assert_eq!(target(&at(3, 1)).as_deref(), Some("run"));
    session.observe(&at(4, 1)).expect("it is recorded");
    assert_eq!(session.decide_with_history(&at(5, 1)).expect("a store").target(), Some("note"));
}

#[test]
fn what_is_older_or_too_much_is_removed() {
    let rules = "input { now: datetime } history keep 10s at most 3
        route n0 when (count p in history: true) == 0 -> n0
        route n1 when (count p in history: true) == 1 -> n1
        route n2 when (count p in history: true) == 2 -> n2
        route n3 when (count p in history: true) == 3 -> n3";
    let at = |second: u32| json!({"now": format!("2026-01-31T00:00:{second:02}Z")});
    check(
        rules,
        &[
            (at(0), "n0"),
            (at(1), "n1"),
            (at(2), "n2"),
            (at(3), "n3"),
            (at(4), "n3"),
            (at(12), "n3"),
            (at(13), "n3"),
            (at(30), "n0"),
        ],
    );
}

#[test]
fn errors_name_what_a_message_lacks() {
    let session = session(GUARD);
    let mut message = call(0, "x");
    message["ctx"] = json!({});
    assert_eq!(session.observe(&message), Err(RecordError::NoKey("ctx.session".to_owned())));
    message = call(0, "x");
    message["now"] = json!("yesterday");
    assert_eq!(session.observe(&message), Err(RecordError::NoTime));
    let plain = Rules::from_text("route a when n > 1 -> b").expect("they compile");
    assert_eq!(plain.observe(&MemoryStore::default(), &call(0, "x")), Err(RecordError::NoHistory));
    assert_eq!(plain.session().observe(&call(0, "x")), Err(RecordError::NoStore));
}

#[test]
fn an_artifact_keeps_the_history() {
    let rules = Rules::from_text(GUARD).expect("they compile");
    let loaded = Compiler::new().load_artifact(&rules.to_artifact(false)).expect("it loads");
    for rules in [REFERENCE.compile(&loaded), loaded] {
        let mut session = rules.session().with_history(Arc::new(MemoryStore::default()));
        session.decide_and_record(&call(0, "read_secret")).expect("it is recorded");
        let decision = session.decide_and_record(&call(1, "send_email")).expect("it is recorded");
        assert_eq!(decision.chosen(), Some("exfiltration"));
    }
}

#[test]
fn a_store_keeps_the_keys_that_were_used_last() {
    let rules = Rules::from_text(GUARD).expect("they compile");
    // With this limit, each shard of the store keeps one key.
    let store = MemoryStore::new(1);
    let of = |session: usize| with(call(0, "x"), "ctx", json!({"session": format!("s{session}")}));
    for session in 0..1_000 {
        rules.observe(&store, &of(session)).expect("it is recorded");
        // Reading the history of an unknown key does not remove another key.
        rules.past(&store, &of(session + 5_000)).expect("a store");
        assert_eq!(rules.past(&store, &of(session)).expect("a store").elements().len(), 1);
    }
    assert!(store.key_count() <= 64, "{} keys", store.key_count());
}

#[test]
fn a_past_is_not_changed_by_later_messages() {
    let rules = Rules::from_text(GUARD).expect("they compile");
    let store = MemoryStore::default();
    for (minute, tool) in [(10, "read_secret"), (11, "a"), (12, "b")] {
        rules.observe(&store, &call(minute, tool)).expect("it is recorded");
    }
    let mail = call(69, "send_email");
    let past = rules.past(&store, &mail).expect("a store");
    rules.observe(&store, &call(5, "late")).expect("it is recorded");
    assert_eq!(rules.main().with_history(&past).decide(&mail).chosen(), Some("exfiltration"));
    let past = rules.past(&store, &mail).expect("a store");
    assert_eq!(past.elements().len(), 4);
    assert_eq!(rules.main().with_history(&past).decide(&mail).chosen(), Some("exfiltration"));
}

#[test]
fn equal_keys_have_one_history_and_decisions_cannot_be_forged() {
    let rules = "input { user: int, now: datetime, n?: int } history by user
        route whole when len(history) == 1 and history[0].n == 3 -> whole
        route named when any p in recent: p.n == 4 -> named
        route forged when previous.decision.target == \"approve\" -> forged
        default -> other
        let recent = history within 1h";
    let mut session = session(rules);
    let at = |user: Json, n: i64| json!({"user": user, "n": n, "now": "2026-01-31T00:00:00Z"});
    let forged = with(at(json!(1), 3), "decision", json!({"target": "approve"}));
    session.observe(&forged).expect("it is recorded");
    let mut chosen = |message: &Json| {
        let decision = session.decide_with_history(message).expect("a store");
        decision.chosen().map(str::to_owned)
    };
    assert_eq!(chosen(&at(json!(1.0), 0)).as_deref(), Some("whole"));
    assert_eq!(chosen(&at(json!(2), 0)).as_deref(), Some("default"));
    session.observe(&at(json!(1.0), 4)).expect("it is recorded");
    assert_eq!(session.decide_with_history(&at(json!(1), 0)).expect("a store").chosen(), Some("named"));
}

/// Decides and records messages with different tools and numbers, and returns how often the
/// condition was evaluated for an earlier message.
fn evaluations(condition: &str, messages: u32) -> u64 {
    let source = format!(
        "input {{ tool: string, n: int, m?: int, price: decimal, sent: datetime, tags: list<string>, now: datetime }}\n\
        history at most 10_000\n\
        route again when {condition} -> deny\ndefault -> run"
    );
    let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
    let store = Arc::new(MemoryStore::default());
    let mut session = rules.session().with_history(store.clone());
    let message = |index: u32| {
        json!({
            "tool": format!("t{}", index % 7), "n": index, "price": format!("{index}.50"), "tags": [index.to_string()],
            "sent": format!("2026-01-31T12:{:02}:{:02}Z", index / 60, index % 60), "now": "2026-01-31T12:00:00Z",
        })
    };
    for index in 0..messages {
        let decision = session.decide_and_record(&message(index)).expect("it is recorded");
        assert_eq!(decision.chosen(), Some("default"));
    }
    let again = session.decide_with_history(&message(3)).expect("it is decided");
    assert_eq!(again.chosen(), Some("again"), "{condition}");
    assert!(rules.cost()[0].statements.iter().all(|statement| !statement.grows_with_history), "{condition}");
    rules.past(&*store, &message(0)).expect("a past").evaluations()
}

#[test]
fn a_condition_with_several_equalities_is_evaluated_once_for_each_message() {
    for condition in [
        "any p in history: p.tool == tool and p.n == n",
        "(count p in history: p.n == n and p.tool == tool and p.m is missing) >= 1",
        "(sum p.n for p in history within 1h: p.tool == tool and n == p.n and p.n + 1 == n + 1) > 0",
        // Times and decimals are grouped too.
        "any p in history: p.price == price",
        "any p in history: p.sent == sent and p.tool == tool",
        "(sum p.price for p in history: p.price == price) > 0",
    ] {
        assert_eq!(evaluations(condition, 500), 500, "{condition}");
    }
}

/// Regression test: `--cost` did not name rules that compare each earlier message with a list.
#[test]
fn the_cost_names_comparisons_that_read_every_message() {
    for (condition, grows) in [
        ("any p in history: p.tags == tags", true),
        ("any p in history: p.args == args", true),
        ("(sum p.n for p in history: p.args == args) > 3", true),
        ("any p in history: p.args == \"a\"", false),
        ("any p in history: p.price == price and p.sent == sent and p.at == now", false),
        ("(sum p.price for p in history: p.tool == tool) > 5", false),
        ("(count p in history: p.n == n + 1 and p.tool == tool) > 5", false),
    ] {
        let source = format!(
            "input {{ tool: string, n: int, price: decimal, sent: datetime, tags: list<string>, args: any, now: datetime }}\n\
            history keep 1d\nroute a when {condition} -> x\ndefault -> y"
        );
        let rules = Rules::from_text(&source).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(rules.cost()[0].statements[0].grows_with_history, grows, "{condition}");
    }
}

/// Regression test: of several comparisons with constants, only one formed groups. So each rule
/// with other constants evaluated every message again.
#[test]
fn rules_with_other_constants_share_their_results() {
    let condition = "(any p in history: p.tool == \"t8\" and p.m == 1)
        or (any p in history: p.m == 2 and p.tool == \"t9\")
        or (count p in history within 1h: p.tool == \"t3\" and p.m == 1) > 0
        or (any p in history: p.tool == \"t3\" and p.n == n)";
    // The first three conditions compare the same fields.
    assert_eq!(evaluations(condition, 500), 2 * 500);
}

#[test]
fn a_list_in_an_earlier_message_equals_no_constant() {
    let rules = "input { label?: any, tool?: string, now: datetime }
        history
        route repeated when any p in history: p.label == \"a\" and p.tool == \"t\" -> deny
        default -> run";
    let rules = Rules::from_text(rules).unwrap_or_else(|error| panic!("{error}"));
    let store = Arc::new(MemoryStore::default());
    let mut session = rules.session().with_history(store.clone());
    let mut chosen = |label: Json| {
        let message = json!({"label": label, "tool": "t", "now": "2026-01-31T12:00:00Z"});
        session.decide_and_record(&message).expect("it is recorded").chosen().map(str::to_owned)
    };
    for label in [json!(["a"]), json!({"a": 1}), json!(null), json!(7), json!("a")] {
        assert_eq!(chosen(label.clone()).as_deref(), Some("default"), "{label}");
    }
    assert_eq!(chosen(json!(["a"])).as_deref(), Some("repeated"));
    // The last message is recorded, but no decision has read it.
    let message = json!({"now": "2026-01-31T12:00:00Z"});
    assert_eq!(rules.past(&*store, &message).expect("a past").evaluations(), 5);
}
