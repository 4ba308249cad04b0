//! What a store keeps of messages, what decisions report about it, and rules that change while it
//! is used.

use crate::support::engines::COLUMNS;
use rulec::history::{Events, HashKey, HistoryGap, MemoryStore, RecordError, Store, StoreError};
use rulec::payload::Judge;
use rulec::{Compiler, LiveRules, Rules};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex, OnceLock};

fn rules(source: &str) -> Rules {
    Rules::from_text(source).unwrap_or_else(|error| panic!("{error}"))
}

fn at(second: u32, mut message: Json) -> Json {
    message["now"] = json!(format!("2026-01-31T12:{:02}:{:02}Z", second / 60, second % 60));
    message
}

const LIMITED: &str = "input { user?: string, n: int, now: datetime }
history by user keep 1h at most 2
route busy when (count p in history within 1m: p.n == n) >= 2 -> slow_down
default -> run";

#[test]
fn a_decision_reports_what_the_history_lacks() {
    for column in COLUMNS {
        let rules = column.compile(&rules(LIMITED));
        let mut session = rules.session().with_history(Arc::new(MemoryStore::default()));
        let mut gap = |message: &Json| {
            let decision = session.decide_and_record(message);
            decision.unwrap_or_else(|_| session.decide_with_history(message).expect("a store")).history_gap()
        };
        let of = |second: u32| at(second, json!({"user": "ann", "n": 1}));
        for second in 0..3 {
            assert_eq!(gap(&of(second)), None);
        }
        // The time window of the rule reaches the first message, which the store has removed.
        assert_eq!(gap(&of(4)), Some(HistoryGap::Dropped));
        // The time window no longer reaches the first two messages.
        assert_eq!(gap(&of(70)), None);
        assert_eq!(gap(&at(71, json!({"n": 1}))), Some(HistoryGap::NoKey));
        let decision = session.decide_with_history(&at(71, json!({"n": 1}))).expect("a store");
        assert_eq!(serde_json::to_value(&decision).expect("JSON")["history_gap"], "no_key");
        // `decide` reads no store, so it reports no gap.
        assert_eq!(session.decide(&at(71, json!({"n": 1}))).history_gap(), None);
    }
}

#[test]
fn rules_that_read_only_the_last_decision_report_a_missing_key() {
    let gap = |condition: &str| {
        let rules = rules(&format!(
            "input {{ user?: string, now: datetime }}
             history by user
             route after when {condition} -> ask
             default -> run"
        ));
        let mut session = rules.session().with_history(Arc::new(MemoryStore::default()));
        session.decide_with_history(&at(0, json!({}))).expect("a store").history_gap()
    };
    assert_eq!(gap("previous.decision.target == \"ask\""), Some(HistoryGap::NoKey));
    assert_eq!(gap("previous.at >= now - 1m"), Some(HistoryGap::NoKey));
    assert_eq!(gap("user == \"ann\""), None);
}

#[test]
fn only_what_rules_could_read_is_reported() {
    let gap = |condition: &str| {
        let rules = rules(&format!(
            "input {{ n: int, now: datetime }}
             history keep 1h at most 1
             let recent = history within 10s
             route a when {condition} -> a
             default -> b"
        ));
        let mut session = rules.session().with_history(Arc::new(MemoryStore::default()));
        for second in [0, 20, 40] {
            session.observe(&at(second, json!({"n": 1}))).expect("it is recorded");
        }
        session.decide_with_history(&at(45, json!({"n": 1}))).expect("a store").history_gap()
    };
    assert_eq!(gap("previous.n == n"), None);
    assert_eq!(gap("n == 1"), None);
    assert_eq!(gap("any p in recent: p.n == n"), None);
    assert_eq!(gap("any p in history within 24s: all q in history after p: q.n == 1"), None);
    let dropped = Some(HistoryGap::Dropped);
    assert_eq!(gap("any p in history within 25s: p.n == n"), dropped);
    assert_eq!(gap("any p in history within n * 1s: p.n == n"), dropped);
    assert_eq!(gap("len(history) > 5"), dropped);
    assert_eq!(gap("(last p in history: p.n == 2).n == 2"), dropped);
}

const CARDS: &str =
    "input { user: string, card?: string @private, pin?: string @private, note?: string, now: datetime }
history by user keep 1d
route same when (count p in history: p.card == card) >= 1 -> same
route other when any p in history: p.card != card -> other
route twice when any p in history: any q in history after p: p.card == q.card -> twice
route pins when any p in history: p.pin starts_with \"12\" -> pins
route noted when any p in history: p.note == note -> noted
default -> run";

fn kept(rules: &Rules, store: &MemoryStore, message: &Json) -> String {
    let past = rules.past(store, message).expect("a store");
    Json::from(past.elements().to_vec()).to_string()
}

#[test]
fn private_texts_that_are_only_compared_are_kept_as_hashes() {
    let store = MemoryStore::default();
    let rules = rules(CARDS);
    let call =
        |second, card: &str| at(second, json!({"user": "ann", "card": card, "pin": "99", "note": "hi"}));
    rules.observe(&store, &call(0, "4111 1111")).expect("it is recorded");
    let elements = kept(&rules, &store, &call(1, ""));
    assert!(!elements.contains("4111") && elements.contains("hi") && elements.contains("99"), "{elements}");
    for column in COLUMNS {
        let rules = column.compile(&rules);
        let chosen = |card: &str| {
            let past = rules.past(&store, &call(1, card)).expect("a store");
            let decision = rules.main().with_history(&past).decide(&call(1, card));
            decision.chosen().map(str::to_owned)
        };
        assert_eq!(chosen("4111 1111").as_deref(), Some("same"));
        assert_eq!(chosen("4111 1112").as_deref(), Some("other"));
    }
    // Another store has another hash key, so it keeps other hashes.
    let other = MemoryStore::default();
    rules.observe(&other, &call(0, "4111 1111")).expect("it is recorded");
    assert_ne!(kept(&rules, &other, &call(1, "")), elements);
    let loaded = Compiler::new().load_artifact(&rules.to_artifact(false)).expect("it loads");
    let past = loaded.past(&store, &call(1, "4111 1111")).expect("a store");
    assert_eq!(loaded.main().with_history(&past).decide(&call(1, "4111 1111")).chosen(), Some("same"));
}

#[test]
fn texts_of_a_private_record_are_kept_as_hashes() {
    let rules = rules(
        "input { payer: { card: string, bank: { code: string } } @private, now: datetime }
         history
         route same when any p in history: p.payer.card == payer.card and p.payer.bank.code == payer.bank.code
           -> same
         default -> run",
    );
    let call = |code: &str| at(0, json!({"payer": {"card": "4111", "bank": {"code": code}}}));
    let store = MemoryStore::default();
    rules.observe(&store, &call("7777")).expect("it is recorded");
    let elements = kept(&rules, &store, &call("7777"));
    assert!(!elements.contains("4111") && !elements.contains("7777"), "{elements}");
    for column in COLUMNS {
        let rules = column.compile(&rules);
        let chosen = |code: &str| {
            let past = rules.past(&store, &call(code)).expect("a store");
            rules.main().with_history(&past).decide(&call(code)).chosen().map(str::to_owned)
        };
        assert_eq!(chosen("7777").as_deref(), Some("same"));
        assert_eq!(chosen("7778").as_deref(), Some("default"));
    }
}

#[test]
fn a_hash_is_no_value_for_rules_with_another_type() {
    let source = "input { pin: string @private, now: datetime }
         history
         route same when previous.pin == pin -> same
         default -> run";
    let store = MemoryStore::default();
    let text = at(0, json!({"pin": "1234"}));
    let old = rules(source);
    old.observe(&store, &text).expect("it is recorded");
    for column in COLUMNS {
        for (ty, read) in
            [("int", "previous.pin <= 0 or previous.pin > 0"), ("string", "previous.pin starts_with \"\"")]
        {
            let new = source.replace("pin: string", &format!("pin: {ty}"));
            let new = column.compile(&rules(&new.replace("previous.pin == pin", read)));
            let past = new.past(&store, &text).expect("a store");
            assert_eq!(new.main().with_history(&past).decide(&text).chosen(), Some("default"), "{ty}");
        }
    }
}

#[test]
fn explanations_and_tests_know_hashed_texts() {
    let source = format!(
        "{CARDS}
test \"the same card\" {{
  given user = \"ann\"
  given card = \"4111\"
  given now = \"2026-01-31T12:00:00Z\"
  given history = [{{ card: \"4111\", ago: 5m }}]
  expect same
}}"
    );
    let rules = rules(&source);
    let outcomes = rules.run_tests();
    assert!(outcomes.iter().all(|outcome| outcome.passed), "{outcomes:?}");
    let store = MemoryStore::default();
    let call = at(0, json!({"user": "ann", "card": "4111"}));
    rules.observe(&store, &call).expect("it is recorded");
    let past = rules.past(&store, &call).expect("a store");
    let explanation = rules.main().with_history(&past).explain(&call, false);
    let shown = serde_json::to_string(&explanation).expect("JSON");
    assert!(!shown.contains("4111"), "{shown}");
}

fn guarded(panics: &'static str) -> Rules {
    let compiler = Compiler::new().function("check", move |tool: String| {
        assert_ne!(tool, panics, "the function fails");
        true
    });
    let source = "input { tool: string, now: datetime }
history
extern fn check(tool: string) -> bool
route again when (count p in history: true) >= 1 and check(tool) -> again
default -> run";
    compiler.compile_text(source).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_message_is_recorded_although_a_function_panics() {
    let (rules, store) = (guarded("bad"), Arc::new(MemoryStore::default()));
    let mut session = rules.session().with_history(store.clone());
    let call = |second, tool: &str| at(second, json!({"tool": tool}));
    session.observe(&call(0, "good")).expect("it is recorded");
    let decision = session.decide_and_record(&call(1, "bad")).expect("it is recorded");
    assert_eq!((decision.chosen(), decision.failures().len()), (Some("default"), 1));
    let past = rules.past(&*store, &call(2, "good")).expect("a store");
    assert_eq!(past.elements().len(), 2);
    assert_eq!(past.elements()[1]["decision"], json!({"chosen": "default", "target": "run"}));
    // `decide` reads no store, also after a decision with the history.
    assert_eq!(session.decide(&call(2, "good")).chosen(), Some("default"));
    assert_eq!(session.decide_and_record(&call(2, "good")).expect("a store").chosen(), Some("again"));
}

/// The store and the rules that a function of the embedding program uses.
static OWN: OnceLock<(Rules, Arc<MemoryStore>)> = OnceLock::new();
/// The results of that function's attempts to record a message.
static RECORDED: Mutex<Vec<Result<(), RecordError>>> = Mutex::new(Vec::new());

#[test]
fn a_function_that_records_during_a_decision_is_refused() {
    let compiler = Compiler::new().function("note", |user: String| {
        let (rules, store) = OWN.get().expect("it is set");
        let message = at(0, json!({"user": user}));
        let results = [rules.observe(&**store, &message), rules.observe(&MemoryStore::default(), &message)];
        // Recording in another store, or for another key, is refused too. Otherwise, two decisions
        // could wait for each other's keys.
        RECORDED.lock().expect("no panic").extend(results);
        true
    });
    let source = "input { user: string, now: datetime }
history by user
extern fn note(user: string) -> bool
route noted when note(user) and note(\"other\") -> noted
default -> run";
    let rules = compiler.compile_text(source).unwrap_or_else(|error| panic!("{error}"));
    let store = Arc::new(MemoryStore::default());
    assert!(OWN.set((rules.clone(), store.clone())).is_ok());
    let mut session = rules.session().with_history(store.clone());
    let call = at(1, json!({"user": "ann"}));
    assert_eq!(session.decide_and_record(&call).expect("it is recorded").target(), Some("noted"));
    let recorded = RECORDED.lock().expect("no panic");
    let refused = |result: &Result<(), RecordError>| match result {
        Err(RecordError::Store(StoreError(why))) => why.contains("record the message after the decision"),
        _ => false,
    };
    assert!(recorded.len() == 4 && recorded.iter().all(refused), "{recorded:?}");
    assert_eq!(rules.past(&*store, &call).expect("a store").elements().len(), 1);
    // After the decision, the thread can record again.
    let other = at(2, json!({"user": "other"}));
    assert_eq!(rules.observe(&*store, &other), Ok(()));
    assert_eq!(rules.past(&*store, &other).expect("a store").elements().len(), 1);
}

#[test]
fn edits_of_live_rules_keep_the_history() {
    let source = "input { tool: string, user: string, card?: string @private, now: datetime }
history by user keep 1h
default -> run";
    let rules = LiveRules::from_text(Compiler::new(), source).unwrap_or_else(|error| panic!("{error}"));
    let rules = rules.merge_after(usize::MAX);
    let store = MemoryStore::default();
    let call = |second, tool: &str| at(second, json!({"tool": tool, "user": "ann", "card": "4111"}));
    let chosen = |second, tool: &str| {
        let decision = rules.decide_and_record(&store, &call(second, tool)).expect("it is recorded");
        decision.chosen().expect("a default").to_owned()
    };
    assert_eq!(chosen(0, "a"), "default");
    rules.insert("route busy when (count p in history within 1m: true) >= 2 -> busy").expect("it compiles");
    assert_eq!(chosen(1, "a"), "default");
    assert_eq!(chosen(2, "a"), "busy");
    // From now on, the history also keeps tools and cards. Messages that were recorded before lack
    // them.
    rules.insert("route again priority 1 when previous.tool == tool -> again").expect("it compiles");
    rules.insert("route card priority 2 when (count p in history: p.card == card) >= 2 -> card").expect("it");
    assert_eq!(chosen(3, "b"), "busy");
    assert_eq!(chosen(4, "b"), "again");
    assert_eq!(chosen(5, "b"), "card");
    // A route that reads only kept fields is compiled alone, and sees the same history.
    let pending = rules.pending();
    rules
        .insert("route both priority 3 when previous.tool == tool and previous.card == card -> both")
        .expect("it");
    assert_eq!(rules.pending(), pending + 1);
    assert_eq!(chosen(6, "b"), "both");
    let past = rules.past(&store, &call(7, "b")).expect("a store");
    assert_eq!(
        rules.decide_with_history("routes", &call(7, "b"), &past).expect("an entry").chosen(),
        Some("both")
    );
    assert!(!Json::from(past.elements().to_vec()).to_string().contains("4111"));
    // A condition that reads the text of a private field makes the history keep the text, not a
    // hash. This changes the history for all rules.
    rules.insert("route odd priority 9 when any p in history: p.card starts_with \"9\" -> odd").expect("it");
    rules.remove("both").expect("it is there");
    rules.merge().expect("it compiles");
    assert_eq!(chosen(8, "c"), "busy");
    assert_eq!(chosen(9, "d"), "busy");
    assert_eq!(chosen(10, "e"), "card");
}

#[test]
fn payloads_are_judged_with_the_history() {
    let source = "input { user: string, now: datetime, tool?: string }
history by user keep 1h
payload action {
  name: string
  require \"action.rate\" at name: (count p in history within 1m: p.tool == name) < 2 else \"too many calls\"
}
test \"the third call\" {
  given user = \"ann\"
  given now = \"2026-01-31T12:00:00Z\"
  given history = [{ tool: \"x\", ago: 5s }, { tool: \"x\", ago: 4s }]
  given payload = { name: \"x\" }
  expect action.reject \"action.rate\"
}";
    for column in COLUMNS {
        let rules = column.judging(&rules(source));
        let store = MemoryStore::default();
        let input = at(5, json!({"user": "ann"}));
        for second in 0..2 {
            rules.observe(&store, &at(second, json!({"user": "ann", "tool": "x"}))).expect("it is recorded");
        }
        let judge = |past| {
            let judge = Judge::new(&rules, "action").expect("a kind");
            let judge = judge.input("user", input["user"].clone()).expect("an input");
            judge.input("now", input["now"].clone()).expect("an input").with_history(past)
        };
        let past = rules.past(&store, &input).expect("a store");
        assert!(!judge(past.clone()).judge(&json!({"name": "x"})).is_accepted());
        assert!(judge(past).judge(&json!({"name": "y"})).is_accepted());
        assert!(judge(Default::default()).judge(&json!({"name": "x"})).is_accepted());
        let outcomes = rulec::payload::run_tests(&rules);
        assert!(!outcomes.is_empty() && outcomes.iter().all(|outcome| outcome.passed), "{outcomes:?}");
    }
}

/// A store of the embedding program, which keeps elements as JSON text.
#[derive(Default)]
pub struct TextStore(Mutex<std::collections::HashMap<String, (String, Option<String>)>>);

impl Store for TextStore {
    fn with_key(&self, key: &str, work: &mut dyn FnMut(&mut Events)) -> Result<(), StoreError> {
        let mut kept = self.0.lock().map_err(|error| StoreError(error.to_string()))?;
        let (text, dropped) = kept.get(key).cloned().unwrap_or(("[]".to_owned(), None));
        let elements = serde_json::from_str(&text).map_err(|error| StoreError(error.to_string()))?;
        let events = Events::from_elements(elements, HashKey::from_bytes([7; 16]));
        let mut events = events.with_dropped(dropped.as_deref()).with_changes();
        work(&mut events);
        let changes = events.take_changes();
        assert!(changes.inserted.len() <= 1);
        let text = Json::from(events.elements().to_vec()).to_string();
        kept.insert(key.to_owned(), (text, events.dropped()));
        Ok(())
    }
}

#[test]
fn a_store_of_the_program_answers_like_the_one_in_memory() {
    let rules = rules(LIMITED);
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::default()), Arc::new(TextStore::default())];
    let mut sessions = stores.map(|store| rules.session().with_history(store));
    for step in 0..60_u32 {
        let message = at(step * 7 % 100, json!({"user": format!("u{}", step % 3), "n": step % 2}));
        let [first, second] = sessions.each_mut().map(|session| {
            let decision = session.decide_and_record(&message).expect("it is recorded");
            (decision.chosen().map(str::to_owned), decision.history_gap())
        });
        assert_eq!(first, second, "{message}");
    }
}

#[test]
fn packed_messages_decide_like_others() {
    let rules = rules(LIMITED);
    let stores = [MemoryStore::default(), MemoryStore::default().unpacked(0)];
    let mut sessions = stores.map(|store| rules.session().with_history(Arc::new(store)));
    for step in 0..600_u32 {
        let user = format!("u{}", step * step % 97);
        let message = at(step / 3, json!({"user": user, "n": step % 2}));
        let [first, second] = sessions.each_mut().map(|session| {
            let decision = session.decide_and_record(&message).expect("it is recorded");
            (decision.chosen().map(str::to_owned), decision.history_gap())
        });
        assert_eq!(first, second, "{message}");
    }
}

/// Returns the findings about the past in rules with this condition, as codes and underlined texts.
fn findings(condition: &str) -> Vec<String> {
    let rules = rules(&format!(
        "input {{
             tool: string, amount: number, cost: number, now: datetime,
             order: {{ decision: {{ target: string }} }}, orders: list<{{ decision: {{ target: string }} }}>,
         }}
         history keep 1d
         let latest = last p in history: p.tool == \"x\"
         let spent = sum p.amount for p in history within 1d: p.tool == tool
         route stop when tool == \"x\" and {condition} -> deny
         default -> run"
    ));
    let found = rules.analyse().into_iter().map(|finding| finding.diagnostic);
    let found = found.filter(|found| ["W0112", "W0115", "W0226"].contains(&found.code.as_str()));
    found.map(|found| format!("{} {}", found.code.as_str(), found.message)).collect()
}

#[test]
fn conditions_on_the_past_that_cannot_do_their_work_are_found() {
    let short = "any p in history within 1m: p.tool == \"a\"";
    let long = "any p in history within 1h: p.tool == \"a\"";
    let other = "any p in history within 1h: p.tool == \"b\"";
    assert!(findings(&format!("({short}) and ({other})")).is_empty());
    let both = findings(&format!("({short}) and ({long})"));
    assert!(both.len() == 1 && both[0].contains("within 1h") && both[0].starts_with("W0112"), "{both:?}");
    let either = findings(&format!("(({short}) or ({long}))"));
    assert!(either.len() == 1 && either[0].contains("window contains the other"), "{either:?}");
    assert!(findings("previous.decision.target == \"deny\"").is_empty());
    assert!(findings("previous.decision.chosen in [\"nothing\", \"stop\"]").is_empty());
    let target = findings("previous.decision.target == \"denied\"");
    assert_eq!(target, ["W0115 no decision of these rules has the target `denied`"]);
    let chosen = findings("(count p in history: p.decision.chosen == \"stopp\") > 2");
    assert_eq!(chosen, ["W0115 no decision of these rules chooses `stopp`"]);
    let named = findings("latest.decision.target == \"denied\"");
    assert_eq!(named, ["W0115 no decision of these rules has the target `denied`"]);
    // Fields of the message that have the name of the decision.
    assert!(findings("previous.order.decision.target == \"denied\"").is_empty());
    assert!(findings("any o in orders: o.decision.target == \"denied\"").is_empty());
    assert!(findings("any p in history: any o in p.orders: o.decision.target == \"denied\"").is_empty());
    let budget = findings("(sum p.amount for p in history: true) > 1_000");
    let expected = "W0226 a message with any `amount` passes `stop`, because the sum does not contain it";
    assert_eq!(budget, [expected]);
    let same_tool = findings("(sum p.amount for p in history: p.tool == \"x\" and p.amount > 2) > 1_000");
    assert_eq!(same_tool, [expected]);
    // The rule does not decide the messages that the sum contains.
    assert!(findings("(sum p.cost for p in history: p.tool == \"result\") > 1_000").is_empty());
    assert!(findings("(sum p.amount for p in history: true) + amount > 1_000").is_empty());
    assert!(findings("(sum p.amount for p in history: true) > 1_000 and amount < 10").is_empty());
}

/// An explanation that reads the history again could see messages that were recorded in between.
#[test]
fn a_recorded_decision_hands_out_the_history_that_it_has_read() {
    let rules = rules(LIMITED);
    let store = MemoryStore::default();
    let message = |second: u32| at(second, json!({"user": "ann", "n": 1}));
    // `at most 2` bounds what a decision can read.
    for (second, read) in [(0, 0), (1, 1), (2, 2), (3, 2)] {
        let (decision, past) =
            rules.main().decide_record_and_keep(&store, &message(second), 2).expect("it is recorded");
        let past = past.expect("it has two messages at most");
        assert_eq!(past.view().elements.len(), read);
        let again = rules.main().with_history(&past).decide(&message(second));
        assert_eq!((decision.chosen(), read >= 2), (again.chosen(), decision.chosen() == Some("busy")));
    }
    let (_, past) = rules.main().decide_record_and_keep(&store, &message(4), 1).expect("it is recorded");
    assert!(past.is_none(), "a longer history is not kept");
    assert!(rules.main().decide_record_and_keep(&store, &json!({"user": "ann"}), 2).is_err());
}
