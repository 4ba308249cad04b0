//! Tests of a router with HTTP services on loopback: failures, slowness, circuit breakers,
//! recovery, permissions, and rule files that change while the router serves.

use crate::server::{Reply, Server};
use rulec::{Compiler, Rules};
use rulec_http::{AllowedHosts, HandlerReply, HttpClient, Limits, Template};
use rulec_runtime::route::{CircuitState, HandlerOutcome, Permissions, Policy, Request, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// A time limit long enough for every expected response, even on a busy machine.
const LONG_LIMIT: Duration = Duration::from_secs(30);
/// How long a circuit stays open.
const OPEN_FOR: Duration = Duration::from_millis(200);

/// Creates a handler that calls a server, without retries.
fn endpoint_handler(server: &Server) -> impl Fn(Request) -> HandlerReply + Clone + Send + Sync + 'static {
    let hosts = AllowedHosts::new([server.host()]).unwrap();
    let client = HttpClient::new(hosts, Limits { retries: 0, ..Limits::default() }).unwrap();
    let endpoint = Template::parse(&json!({"url": server.url("/"), "body": {"text": "#text#"}})).unwrap();
    rulec_http::handler(client, endpoint).unwrap()
}

fn refund_message() -> Value {
    json!({"text": "x", "ctx": {"text": "x"}})
}

/// Builds a router with the services `main` and `spare` as handlers.
fn build_router(rules: &str, main: &Server, spare: &Server, policy: Policy) -> Router {
    Router::builder(Rules::from_text(rules).unwrap())
        .handler("main", endpoint_handler(main))
        .handler("spare", endpoint_handler(spare))
        .policy("main", policy)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_service_that_fails_is_tried_again() {
    let main = Server::replying_in_turn([Reply::status(500), Reply::Drop, Reply::json(200, json!("done"))]);
    let spare = Server::replying_in_turn([Reply::Drop]);
    let policy = Policy::new().retries(2, Duration::from_millis(1)).fallback("spare");
    let outcome = build_router("default -> main", &main, &spare, policy).route(refund_message()).await;
    assert_eq!((outcome.reply(), outcome.attempts), (Some(&json!("done")), 3));
    assert_eq!((main.requests().len(), spare.requests().len()), (3, 0));
}

#[tokio::test]
async fn another_service_takes_over_from_one_that_is_slow() {
    let main = Server::replying_in_turn([Reply::Silence]);
    let spare = Server::replying_in_turn([Reply::json(200, json!("spare"))]);
    let policy = Policy::new().time_limit(Duration::from_millis(150)).fallback("spare");
    let outcome = build_router("default -> main", &main, &spare, policy).route(refund_message()).await;
    assert_eq!((outcome.reply(), outcome.fallback.as_deref()), (Some(&json!("spare")), Some("spare")));
    assert_eq!((outcome.tried[0].handler.as_str(), outcome.tried[0].result), ("main", "timed_out"));
    assert_eq!(spare.only_request().json(), json!({"text": "x"}));
}

#[tokio::test]
async fn a_service_whose_circuit_is_open_is_left_alone_until_it_recovers() {
    // The response of the service changes during the test.
    let status = Arc::new(AtomicU8::new(0));
    let seen = status.clone();
    let main = Server::answering_with(move |_| match seen.load(Ordering::SeqCst) {
        0 => Reply::text(500, "down"),
        _ => Reply::json(200, json!("up")),
    });
    let spare = Server::replying_in_turn([Reply::json(200, json!("spare"))]);
    let policy = Policy::new().time_limit(LONG_LIMIT).circuit(2, OPEN_FOR).fallback("spare");
    let router = build_router("default -> main", &main, &spare, policy);
    let route = async || router.route(refund_message()).await;
    for (tried, requests) in [("failed", 1), ("failed", 2), ("circuit_open", 2), ("circuit_open", 2)] {
        let outcome = route().await;
        assert_eq!(outcome.reply(), Some(&json!("spare")));
        assert_eq!((outcome.tried[0].result, main.requests().len()), (tried, requests));
    }
    // The service is down at the first trial and up at the second.
    tokio::time::sleep(OPEN_FOR * 2).await;
    assert_eq!((route().await.tried[0].result, main.requests().len()), ("failed", 3));
    assert_eq!((route().await.tried[0].result, main.requests().len()), ("circuit_open", 3));
    status.store(1, Ordering::SeqCst);
    tokio::time::sleep(OPEN_FOR * 2).await;
    for _ in 0..2 {
        let outcome = route().await;
        assert_eq!((outcome.reply(), outcome.tried.len()), (Some(&json!("up")), 0));
    }
    let stats = router.stats();
    let [main, spare] = &stats.handlers[..] else { panic!("{stats:?}") };
    assert_eq!((main.counts.failed, main.counts.circuit_open, main.counts.handled), (3, 3, 2));
    assert_eq!((main.circuit, spare.counts.handled), (Some(CircuitState::Closed), 6));
    assert_eq!((stats.messages.handled, stats.routes[0].counts.total()), (8, 8));
    assert!(main.counts.latency.quantile(0.5).is_some());
}

#[tokio::test]
async fn a_sender_without_the_permission_reaches_no_service() {
    let main = Server::replying_in_turn([Reply::json(200, json!("done"))]);
    let spare = Server::replying_in_turn([Reply::json(200, json!("spare"))]);
    let rules = "handler main() requires permission \"tickets\"\nhandler spare()\ndefault -> main";
    let router = build_router(rules, &main, &spare, Policy::new().fallback("spare"));
    let outcome = router.route(refund_message()).await;
    let refused =
        HandlerOutcome::Refused { route: "default".to_owned(), missing: vec!["tickets".to_owned()] };
    assert_eq!(outcome.result, refused);
    assert_eq!((main.requests().len(), spare.requests().len()), (0, 0));
    let permissions: Permissions = ["tickets"].into_iter().collect();
    assert_eq!(router.route_as(refund_message(), &permissions).await.reply(), Some(&json!("done")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_of_the_rules_is_put_in_force_while_serving() {
    let main = Server::answering_with(|_| Reply::json(200, json!("main")));
    let spare = Server::answering_with(|_| Reply::json(200, json!("spare")));
    let router = build_router("default -> main", &main, &spare, Policy::new().time_limit(LONG_LIMIT));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("desk.rules");
    std::fs::write(&path, "default -> main").unwrap();
    let mut watch = router.watch(Compiler::new(), &path).await.unwrap();
    let first = watch.status().generation;
    let sender = {
        let router = router.clone();
        tokio::spawn(async move {
            let mut seen = Vec::new();
            while seen.last().is_none_or(|(_, reply)| *reply == "main") {
                let outcome = router.route(refund_message()).await;
                seen.push((outcome.generation, outcome.reply().cloned().expect("a reply")));
            }
            seen
        })
    };
    for text in ["default > main", "default -> nobody", "default -> spare"] {
        std::fs::write(&path, text).unwrap();
        tokio::time::timeout(LONG_LIMIT, watch.changed()).await.expect("the change is seen");
    }
    let status = watch.status();
    assert_eq!((status.loaded, status.refused, status.error), (2, 2, None));
    // Every message got a reply, by the version of the rules that decided it.
    let seen = tokio::time::timeout(LONG_LIMIT, sender).await.unwrap().unwrap();
    let expected = |generation| if generation == first { json!("main") } else { json!("spare") };
    assert!(seen.iter().all(|(generation, reply)| *reply == expected(*generation)), "{seen:?}");
    assert_eq!(seen.last().unwrap().0, status.generation);
}
