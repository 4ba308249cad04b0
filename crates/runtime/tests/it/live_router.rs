//! Tests of a router that serves live rules: edits while messages are in flight, and edits that are
//! refused.

use rulec::{Compiler, Edit, EditError, LiveRules, Rules};
use rulec_runtime::route::{DecisionLog, HandlerOutcome, Request, Router};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

async fn echo_text(request: Request) -> Json {
    json!([request.handler, request.generation, *request.args])
}

fn live_rules(text: &str) -> LiveRules {
    LiveRules::from_text(Compiler::new(), text).unwrap()
}

#[tokio::test]
async fn edits_are_in_force_at_once_and_have_a_generation_each() {
    let router = Router::builder(live_rules("default -> a"))
        .handler("a", echo_text)
        .handler("b", echo_text)
        .build()
        .unwrap();
    let route = async |text: &str| {
        let outcome = router.route(json!({ "text": text })).await;
        (outcome.handler.unwrap(), outcome.generation)
    };
    let rules = router.rules();
    let (handler, first) = route("x").await;
    assert_eq!((handler.as_str(), first), ("a", rules.generation()));
    rules.insert("route x when text == \"x\" -> b").unwrap();
    let (handler, second) = route("x").await;
    assert!(handler == "b" && second > first && second == rules.generation());
    // A merge changes no decision and keeps the generation.
    rules.merge().unwrap();
    assert_eq!(route("x").await, ("b".to_owned(), second));
    rules.remove("x").unwrap();
    let (handler, third) = route("x").await;
    assert!(handler == "a" && third > second);

    // Swaps other rules in, then swaps the edited rules back.
    let swapped = router.swap(Rules::from_text("default -> b").unwrap()).unwrap();
    assert_eq!(route("x").await, ("b".to_owned(), swapped.generation));
    router.swap(swapped.previous).unwrap();
    assert_eq!(route("x").await, ("a".to_owned(), third));
}

#[tokio::test]
async fn an_edit_that_leads_to_no_handler_is_refused() {
    let rules = live_rules("default -> a\ntable t { route y when n > 1 -> nobody }");
    let router = Router::builder(rules.clone()).handler("a", echo_text).build().unwrap();
    let generation = rules.generation();
    let refused = |edit: Result<(), EditError>| match edit {
        Err(EditError::Refused(why)) => why,
        other => panic!("not refused: {other:?}"),
    };
    let why = "the rules lead to `aa`, which has no handler; did you mean `a`, which is registered?";
    assert_eq!(refused(rules.insert("route x when n > 1 -> aa")), why);
    // A `goto`, or a route in another table, is refused too.
    assert!(refused(rules.insert("route x when n > 1 -> goto t")).contains("`nobody`"));
    assert_eq!(refused(rules.replace_in("t", "route y when n > 1 -> aa")), why);
    assert_eq!(rules.generation(), generation);
    rules.insert("route x when n > 1 -> a").unwrap();
    // Without a router, the rules may target any handler.
    drop(router);
    rules.insert("route z when n > 1 -> aa").unwrap();
    // A new router checks all earlier edits.
    let error = Router::builder(rules).handler("a", echo_text).build().unwrap_err();
    assert_eq!(error.to_string(), why);
}

#[tokio::test]
async fn statements_of_every_kind_are_edited_through_the_router() {
    let rules = live_rules(
        "list words = [\"x\"]\nroute x when text contains any words -> b\ndefault -> goto t\ntable t { default -> a }",
    );
    let router =
        Router::builder(rules).entry("t").handler("a", echo_text).handler("b", echo_text).build().unwrap();
    let main =
        Router::builder(router.rules()).handler("a", echo_text).handler("b", echo_text).build().unwrap();
    let handler = async |text: &str| main.route(json!({ "text": text })).await.handler.unwrap();
    assert_eq!(handler("y").await, "a");
    let generation = router.rules().generation();
    router.edit(&[Edit::replace("list words = [\"y\"]"), Edit::replace("default -> a")]).unwrap();
    assert!(main.route(json!({ "text": "x" })).await.generation > generation);
    assert_eq!([handler("y").await, handler("x").await], ["b", "a"]);
    // Edits in a table, and edits reached by a `goto`, may not target an unregistered handler
    // either.
    for edit in [
        Edit::replace("default -> c"),
        Edit::replace("table t { route z when n > 1 -> c }"),
        Edit::insert("table u { default -> c }"),
    ] {
        let refused = router.edit(&[edit]).unwrap_err();
        assert!(refused.to_string().contains("the rules lead to `c`"), "{refused}");
    }
    // If the entry table was removed, the message ends with an error that says so.
    router.edit(&[Edit::remove("table t")]).unwrap();
    let outcome = router.route(json!({ "text": "y" })).await;
    assert!(
        matches!(&outcome.result, HandlerOutcome::Failed { error, .. } if error.contains("no entry `t`"))
    );
    assert_eq!(handler("y").await, "b");
}

#[test]
fn rules_without_their_texts_cannot_be_edited() {
    let rules = LiveRules::from(Rules::from_text("default -> a").unwrap());
    let error = rules.insert("route x when n > 1 -> a").unwrap_err();
    assert!(error.to_string().contains("their texts are not kept; load them as `LiveRules`"), "{error}");
    assert_eq!(rules.decide(&json!({})).target(), Some("a"));
    assert_eq!(rules.texts()[0].1, "default -> a");
    rules.merge().unwrap();
    assert!(rules.explain(&json!({})).is_ok());
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl SharedBuffer {
    fn lines(&self) -> Vec<Json> {
        let bytes = self.0.lock().unwrap();
        std::str::from_utf8(&bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Regression test: the arguments of an inserted route were logged unmasked, and its explanation
/// came from the rules without the route.
#[tokio::test]
async fn what_is_private_is_masked_for_inserted_routes() {
    let kept = SharedBuffer::default();
    let log = DecisionLog::builder().explanation(true).to_writer(kept.clone()).unwrap();
    let rules = live_rules("input { text: string, phone?: string @private }\ndefault -> a");
    let router = Router::builder(rules.clone()).handler("a", echo_text).log(log.clone()).build().unwrap();
    rules.insert("route x when text == \"x\" -> a(phone: phone ?? \"none\", n: 1)").unwrap();
    let message = json!({"text": "x", "phone": "555-0100"});
    let (first, _) = (router.route(message.clone()).await, log.flush().await);
    rules.replace("route x when text == \"x\" -> a(phone: phone ?? \"none\", n: 2)").unwrap();
    let (second, _) = (router.route(message).await, log.close().await);
    let lines = kept.lines();
    for (line, outcome, n) in [(&lines[0], &first, 1), (&lines[1], &second, 2)] {
        assert_eq!(line["args"], json!({"phone": "•••", "n": n}));
        assert_eq!(line["message"]["phone"], "•••");
        assert_eq!((&line["generation"], &line["route"]), (&json!(outcome.generation), &json!("x")));
        assert_eq!((&line["explanation"]["chosen"], line.get("unexplained")), (&json!("x"), None));
    }
    assert!(second.generation > first.generation);
    assert!(!String::from_utf8_lossy(&kept.0.lock().unwrap()).contains("555-0100"));
}

/// If the log is late, it must not explain a decision by later rules.
#[tokio::test]
async fn a_decision_is_not_explained_by_later_rules() {
    #[derive(Clone)]
    struct SlowWriter(SharedBuffer, Arc<Mutex<()>>);
    impl std::io::Write for SlowWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            drop(self.1.lock().unwrap());
            self.0.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let slow = SlowWriter(SharedBuffer::default(), Arc::default());
    let log = DecisionLog::builder().explanation(true).to_writer(slow.clone()).unwrap();
    let rules = live_rules("default -> a");
    let router = Router::builder(rules.clone()).handler("a", echo_text).log(log.clone()).build().unwrap();
    {
        let lock = slow.1.clone();
        let held = lock.lock().unwrap();
        // The first message blocks in the writer; the second waits in the queue.
        for _ in 0..2 {
            let router = router.clone();
            std::thread::spawn(move || {
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
                    router.route(json!({"text": "x"})).await;
                });
            })
            .join()
            .unwrap();
        }
        rules.insert("route x when text == \"x\" -> a").unwrap();
        drop(held);
    }
    log.close().await;
    let lines = slow.0.lines();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[1]["route"], &lines[1]["explanation"]), (&json!("default"), &Json::Null));
    assert_eq!(lines[1]["unexplained"], "the rules were edited since");
}

/// Two threads send messages while routes are inserted, replaced and removed. Each reply must match
/// the version of the rules that decided the message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_message_is_answered_by_its_generations_rules() {
    const EDITS: u64 = 300;
    let rules = live_rules("default -> a(n: 0)");
    let router = Router::builder(rules.clone()).handler("a", echo_text).build().unwrap();
    // The expected reply of each generation.
    let answers = Arc::new(Mutex::new(HashMap::from([(rules.generation(), 0)])));
    let done = Arc::new(AtomicBool::new(false));
    let sender = || {
        let (router, done) = (router.clone(), done.clone());
        tokio::spawn(async move {
            let mut seen = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let outcome = router.route(json!({"text": "x"})).await;
                let reply = outcome.reply().unwrap().clone();
                assert_eq!(reply[1], outcome.generation);
                seen.push((outcome.generation, reply[2]["n"].as_u64().unwrap()));
            }
            seen
        })
    };
    let senders = [sender(), sender()];
    let known = answers.clone();
    tokio::task::spawn_blocking(move || {
        for n in 1..=EDITS {
            let text = format!("route x when text == \"x\" -> a(n: {n})");
            let answer = match n % 3 {
                1 => rules.insert(&text).map(|()| n),
                2 => rules.replace(&text).map(|()| n),
                _ => rules.remove("x").map(|()| 0),
            };
            known.lock().unwrap().insert(rules.generation(), answer.unwrap());
            if n % 50 == 0 {
                rules.merge().unwrap();
            }
        }
    })
    .await
    .unwrap();
    done.store(true, Ordering::Relaxed);
    let answers = answers.lock().unwrap().clone();
    assert_eq!(answers.len() as u64, EDITS + 1);
    for sender in senders {
        let seen = sender.await.unwrap();
        assert!(!seen.is_empty());
        assert!(seen.iter().all(|(generation, n)| answers[generation] == *n));
        assert!(seen.is_sorted_by_key(|(generation, _)| *generation));
    }
}
