//! Tests of permissions: the sender's permissions are checked before a handler is called.

use rulec::{Compiler, LiveRules, Rules};
use rulec_runtime::route::{
    DecisionLog, HandlerOutcome, Permissions, Policy, Request, Router, RouterBuilder,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const RULES: &str = r#"
    handler run() requires permission "execute", "write"
    handler chat()
    handler queue() requires permission "queue"
    route code when text starts_with "run" -> run
    default -> chat
"#;

async fn echo_text(request: Request) -> Json {
    json!(request.handler)
}

fn router_builder(rules: impl Into<LiveRules>) -> RouterBuilder {
    Router::builder(rules).handler("run", echo_text).handler("chat", echo_text).handler("queue", echo_text)
}

fn grant_permissions(permissions: &[&str]) -> Permissions {
    permissions.iter().copied().collect()
}

fn missing(ending: &HandlerOutcome) -> Vec<&str> {
    match ending {
        HandlerOutcome::Refused { route, missing } if route == "code" => {
            missing.iter().map(String::as_str).collect()
        }
        other => panic!("not refused: {other}"),
    }
}

#[tokio::test]
async fn a_handler_is_called_for_whom_has_all_it_requires() {
    let router = router_builder(Rules::from_text(RULES).unwrap()).build().unwrap();
    let (code, chat) = (json!({"text": "run it"}), json!({"text": "hello"}));

    // No permission function is set, so the sender has no permissions.
    let outcome = router.route(code.clone()).await;
    assert_eq!(missing(&outcome.result), ["execute", "write"]);
    assert_eq!((outcome.requires.len(), outcome.attempts), (2, 0));
    assert_eq!(
        outcome.result.to_string(),
        "the handler of `code` requires a permission that was not granted: `execute`, `write`"
    );
    assert_eq!(
        serde_json::to_value(&outcome).unwrap()["result"],
        json!({"refused": {"route": "code", "missing": ["execute", "write"]}})
    );
    assert_eq!(router.route(chat).await.reply(), Some(&json!("chat")));

    for (permissions, expected) in [
        (grant_permissions(&["write"]), vec!["execute"]),
        (grant_permissions(&["Execute", "write"]), vec!["execute"]),
        (Permissions::none(), vec!["execute", "write"]),
    ] {
        assert_eq!(missing(&router.route_as(code.clone(), &permissions).await.result), expected);
    }
    for permissions in [grant_permissions(&["write", "x", "execute"]), Permissions::all()] {
        assert_eq!(router.route_as(code.clone(), &permissions).await.reply(), Some(&json!("run")));
    }
    let stats = router.stats();
    assert_eq!((stats.messages.refused, stats.messages.handled), (4, 3));
    let run = stats.handlers.iter().find(|one| one.handler == "run").unwrap();
    assert_eq!((run.counts.refused, run.counts.handled), (4, 2));
}

#[tokio::test]
async fn the_program_says_what_a_sender_has() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let router = router_builder(Rules::from_text(RULES).unwrap())
        .permissions(move |message| {
            counted.fetch_add(1, Ordering::SeqCst);
            assert!(message["user"] != "broken", "no such user");
            message["permissions"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
        })
        .build()
        .unwrap();
    let code = json!({"text": "run", "permissions": ["execute", "write"]});
    assert_eq!(router.route(code.clone()).await.reply(), Some(&json!("run")));
    // The permissions of `route_as` take precedence.
    assert_eq!(missing(&router.route_as(code, &grant_permissions(&["write"])).await.result), ["execute"]);
    // The permission function is called only for a handler that requires permissions.
    router.route(json!({"text": "hello"})).await;
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // If the permission function panics, the sender has no permissions.
    let outcome = router.route(json!({"text": "run", "user": "broken"})).await;
    assert_eq!(missing(&outcome.result), ["execute", "write"]);
}

#[tokio::test]
async fn a_fallback_that_the_sender_may_not_use_is_left_out() {
    let router = |second: &'static str| {
        Router::builder(Rules::from_text(RULES).unwrap())
            .handler("run", echo_text)
            .handler("chat", |_| async { Err::<Json, _>("no") })
            .handler("queue", echo_text)
            .handler("last", echo_text)
            .policy("chat", Policy::new().fallback("queue").fallback(second))
            .build()
            .unwrap()
    };
    let outcome = router("last").route(json!({})).await;
    assert_eq!((outcome.reply(), outcome.fallback.as_deref()), (Some(&json!("last")), Some("last")));
    let tried: Vec<_> = outcome.tried.iter().map(|tried| (tried.handler.as_str(), tried.result)).collect();
    assert_eq!(tried, [("queue", "refused"), ("chat", "failed")]);
    let outcome = router("last").route_as(json!({}), &grant_permissions(&["queue"])).await;
    assert_eq!(outcome.fallback.as_deref(), Some("queue"));
    // If the sender may use no fallback, the handler's failure is the result.
    let outcome = router("run").route(json!({})).await;
    assert_eq!(outcome.result.error(), Some("no"));
    assert_eq!((outcome.fallback, outcome.tried.len()), (None, 2));
}

/// A refusal is logged like any other decision.
#[tokio::test]
async fn a_refusal_is_logged() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let log = DecisionLog::to_file(file.path()).unwrap();
    let live = LiveRules::from_text(Compiler::new(), RULES).unwrap();
    let router = router_builder(live.clone()).log(log.clone()).build().unwrap();
    router.route_as(json!({"text": "run"}), &grant_permissions(&["write"])).await;
    // An inserted route needs the permissions that its target's declaration requires.
    live.insert("route more priority 9 when text == \"run more\" -> run").unwrap();
    router.route(json!({"text": "run more"})).await;
    log.close().await;
    let text = std::fs::read_to_string(file.path()).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["result"], &lines[0]["handler"]), (&json!("refused"), &json!("run")));
    assert_eq!(lines[0]["requires"], json!(["execute", "write"]));
    assert_eq!(lines[0]["missing_permissions"], json!(["execute"]));
    assert_eq!((&lines[1]["route"], &lines[1]["result"]), (&json!("more"), &json!("refused")));
}
