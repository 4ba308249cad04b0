//! Tests of shadow rules: they decide every message, no handler runs, and every difference is
//! counted.

use rulec::{Compiler, LiveRules, Rules};
use rulec_runtime::route::{
    DecisionLog, Differences, Generations, Request, RoutePosition, Router, SwitchError,
};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const OLD_RULES: &str = "route refund when text contains \"refund\" -> billing(n: n)\ndefault -> chat";
const NEW_RULES: &str = "route refund when text contains \"refund\" and n < 10 -> billing(n: n + 0)
route large when text contains \"refund\" -> person
default -> chat { mood: \"kind\" }";

fn compile_rules(text: &str) -> Rules {
    Rules::from_text(text).unwrap()
}

fn position_of_route(route: &str) -> RoutePosition {
    RoutePosition { table: "routes".to_owned(), route: Some(route.to_owned()) }
}

/// Builds a router whose handlers count their calls.
fn counting_router(calls: &Arc<AtomicU64>) -> rulec_runtime::route::RouterBuilder {
    let mut builder = Router::builder(compile_rules(OLD_RULES));
    for name in ["billing", "chat", "person"] {
        let calls = calls.clone();
        builder = builder.handler(name, move |request: Request| {
            calls.fetch_add(1, Ordering::Relaxed);
            async move { json!(request.handler) }
        });
    }
    builder
}

#[tokio::test]
async fn differences_are_counted_by_route_and_nobody_acts_on_them() {
    let calls = Arc::new(AtomicU64::new(0));
    let router = counting_router(&calls).build().unwrap();
    assert_eq!(router.shadow_stats(), None);
    let before = router.rules().generation();
    router.shadow(compile_rules(NEW_RULES)).unwrap();
    for (text, n) in [("refund", 1), ("refund", 12), ("refund", 20), ("hello", 1)] {
        let outcome = router.route(json!({ "text": text, "n": n })).await;
        let handler = if text == "refund" { "billing" } else { "chat" };
        assert_eq!((outcome.reply(), outcome.generation), (Some(&json!(handler)), before));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    let stats = router.shadow_stats().unwrap();
    assert_eq!((stats.messages, stats.different), (4, 3));
    let pairs: Vec<_> = stats.pairs.iter().map(|pair| (&pair.from, &pair.to, pair.differences)).collect();
    let twice = Differences { messages: 2, handler: 2, args: 2, metadata: 0 };
    let once = Differences { messages: 1, handler: 0, args: 0, metadata: 1 };
    assert_eq!(
        pairs,
        [
            (&position_of_route("refund"), &position_of_route("large"), twice),
            (&position_of_route("default"), &position_of_route("default"), once)
        ]
    );
    assert_eq!(router.end_shadow(), Some(stats));
    router.route(json!({ "text": "refund" })).await;
    assert_eq!(router.shadow_stats(), None);
}

#[tokio::test]
async fn generations_are_promoted_and_rolled_back_by_their_number() {
    let calls = Arc::default();
    let router = counting_router(&calls).keep(2).build().unwrap();
    let first = router.rules().generation();
    assert_eq!(router.promote(first).unwrap_err(), SwitchError::NoShadow);
    assert_eq!(
        router.roll_back(first).unwrap_err().to_string(),
        format!("generation {first} is not kept; no rules were replaced yet, or the router keeps none")
    );
    router.shadow(compile_rules(NEW_RULES)).unwrap();
    let second = router.generations().shadow.unwrap();
    assert_eq!(router.promote(first).unwrap_err(), SwitchError::OtherShadow { asked: first, is: second });
    assert_eq!(router.promote(second).unwrap().generation, second);
    assert_eq!(router.generations(), Generations { in_force: second, shadow: None, previous: vec![first] });
    let handler =
        async |router: &Router| router.route(json!({ "text": "refund", "n": 12 })).await.handler.unwrap();
    assert_eq!(handler(&router).await, "person");
    router.roll_back(first).unwrap();
    assert_eq!(handler(&router).await, "billing");
    // Each switch keeps the replaced rule set, but at most two of them in total.
    assert_eq!(router.generations(), Generations { in_force: first, shadow: None, previous: vec![second] });
    let third = router.swap(compile_rules("default -> chat")).unwrap().generation;
    let fourth = router.swap(compile_rules("default -> person")).unwrap().generation;
    assert_eq!(
        router.generations(),
        Generations { in_force: fourth, shadow: None, previous: vec![third, first] }
    );
    assert_eq!(
        router.roll_back(second).unwrap_err(),
        SwitchError::NotKept { asked: second, kept: vec![third, first] }
    );
}

#[tokio::test]
async fn rules_that_fit_no_more_stay_in_the_shadow() {
    let calls = Arc::default();
    let router = counting_router(&calls).entry("t").build().unwrap_err();
    assert!(router.to_string().contains('t'), "{router}");
    let live = LiveRules::from_text(Compiler::new(), "table t { default -> chat }\ndefault -> chat").unwrap();
    let router = counting_router(&calls).build().unwrap();
    assert!(router.shadow(compile_rules("default -> nobody")).unwrap_err().to_string().contains("`nobody`"));
    assert_eq!(router.shadow_stats(), None);
    router.shadow(live.clone()).unwrap();
    // Shadow rules can be edited like any live rules. An edit makes a new generation and may only
    // target registered handlers.
    let before = live.generation();
    live.insert("route x when text == \"x\" -> nobody").unwrap_err();
    live.insert("route x when text == \"x\" -> person").unwrap();
    assert!(matches!(router.promote(before).unwrap_err(), SwitchError::OtherShadow { .. }));
    router.route(json!({ "text": "x" })).await;
    assert_eq!(router.shadow_stats().unwrap().pairs[0].to, position_of_route("x"));
    router.promote(live.generation()).unwrap();
    assert_eq!(router.route(json!({ "text": "x" })).await.handler.unwrap(), "person");
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_tells_where_the_shadow_differs() {
    let (calls, lines) = (Arc::default(), SharedBuffer::default());
    let log = DecisionLog::builder().to_writer(lines.clone()).unwrap();
    let router = counting_router(&calls).log(log.clone()).build().unwrap();
    router.shadow(compile_rules(NEW_RULES)).unwrap();
    let shadow = router.generations().shadow.unwrap();
    router.route(json!({ "text": "refund", "n": 1 })).await;
    router.route(json!({ "text": "refund", "n": 12 })).await;
    log.close().await;
    let lines: Vec<Json> =
        lines.0.lock().unwrap().split(|byte| *byte == b'\n').flat_map(serde_json::from_slice).collect();
    assert_eq!((lines.len(), lines[0].get("shadow")), (2, None));
    let expected = json!({ "generation": shadow, "table": "routes", "route": "large", "handler": "person", "differs": ["route", "handler", "args"] });
    assert_eq!(lines[1]["shadow"], expected);
    assert_eq!(lines[1]["route"], "refund");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_compared_with_one_shadow_while_shadows_come_and_go() {
    let calls = Arc::default();
    let router = counting_router(&calls).build().unwrap();
    let routing = {
        let router = router.clone();
        tokio::spawn(async move {
            for n in 0..2_000 {
                let outcome = router.route(json!({ "text": "refund", "n": n % 20 })).await;
                assert!(matches!(outcome.handler.as_deref(), Some("billing" | "person")));
            }
        })
    };
    let mut compared = 0;
    while !routing.is_finished() {
        router.shadow(compile_rules(NEW_RULES)).unwrap();
        tokio::task::yield_now().await;
        let promoted = router.generations().shadow.unwrap();
        if promoted.is_multiple_of(3) {
            let old = router.rules().generation();
            router.promote(promoted).unwrap();
            router.roll_back(old).unwrap();
        } else {
            let stats = router.end_shadow().unwrap();
            assert!(stats.different <= stats.messages);
            assert_eq!(
                stats.pairs.iter().map(|pair| pair.differences.messages).sum::<u64>(),
                stats.different
            );
            compared += stats.messages;
        }
    }
    routing.await.unwrap();
    assert!(compared <= 2_000 && calls.load(Ordering::Relaxed) == 2_000);
}
