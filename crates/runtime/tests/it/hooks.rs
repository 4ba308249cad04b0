//! Hooks before and after a decision, and failures of handlers that rules read.

use rulec::Rules;
use rulec_runtime::route::{Finished, HandlerError, HandlerOutcome, Request, Router, TypedError};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const RULES: &str = r#"
input {
  text: string
  ctx?: { conversation?: string, last_error_type?: string, last_error?: any, error_counts?: dict }
}
route recovery priority 9 when ctx.last_error_type == "Declined" and (ctx.error_counts["Declined"] ?? 0) > 1
  -> recover(error: ctx.last_error)
route slow priority 8 when ctx.last_error_type == "failed" -> recover(error: ctx.last_error)
default -> pay
"#;

fn failing_router() -> Router {
    let rules = Rules::from_text(RULES).expect("it compiles");
    Router::builder(rules)
        .handler("pay", |request: Request| async move {
            let result: Result<Json, HandlerError> = match request.text() {
                "fine" => Ok(json!("paid")),
                "plain" => Err("no reason".into()),
                _ => Err(TypedError::new("Declined", "the bank refused").into()),
            };
            result
        })
        .handler("recover", |request: Request| async move { request.args["error"].clone() })
        .error_scope(|message: &Json| message["ctx"]["conversation"].as_str().unwrap_or_default().to_owned())
        .build()
        .expect("it is sound")
}

#[tokio::test]
async fn a_router_knows_its_own_failures() {
    let router = failing_router();
    let route = async |conversation: &str, text: &str| {
        let message = json!({"text": text, "ctx": {"conversation": conversation}});
        router.route(message).await
    };
    for _ in 0..2 {
        let outcome = route("a", "no").await;
        assert_eq!(outcome.result.error(), Some("the bank refused"));
    }
    // The failures of conversation `a` do not appear in conversation `b`.
    assert_eq!(route("b", "fine").await.reply(), Some(&json!("paid")));
    let outcome = route("a", "fine").await;
    let error = json!({"type": "Declined", "handler": "pay", "route": "default", "count": 2});
    assert_eq!((outcome.route.as_deref(), outcome.reply()), (Some("recovery"), Some(&error)));
    // The reply removed the failures of the conversation.
    assert_eq!(route("a", "fine").await.route.as_deref(), Some("default"));
    // Without a `TypedError`, the type of an error is the kind of the outcome.
    route("a", "plain").await;
    assert_eq!(route("a", "fine").await.route.as_deref(), Some("slow"));
    // A field that the message already has is not replaced.
    route("a", "plain").await;
    let message = json!({"text": "fine", "ctx": {"conversation": "a", "last_error_type": "Other"}});
    assert_eq!(router.route(message).await.route.as_deref(), Some("default"));
}

#[tokio::test]
async fn hooks_change_the_message_and_the_reply() {
    let rules = Rules::from_text("route b when text == \"b\" -> h\nroute c when text == \"c\" -> fails")
        .expect("it compiles");
    let router = Router::builder(rules)
        .before(|message: Arc<Json>| async move {
            match message["text"].as_str() {
                Some("a") => Ok(json!({"text": "b"})),
                Some("refuse") => Err("not today"),
                _ => Ok(Json::Null),
            }
        })
        .before(|message: Arc<Json>| async move { json!({"text": message["text"], "second": true}) })
        .handler("h", |request: Request| async move {
            json!([request.original["text"], request.message["text"], request.message["second"]])
        })
        .handler("fails", |_| async { Err::<(), _>("broken") })
        .after(|finished: Finished| async move {
            match (&finished.outcome.result, finished.original["text"].as_str()) {
                (HandlerOutcome::Failed { error, .. }, _) => Ok(json!({ "sorry": error })),
                (_, Some("panic")) => panic!("in a hook"),
                (_, Some("leak")) => Err("the reply cannot be checked"),
                _ => Ok(Json::Null),
            }
        })
        .build()
        .expect("it is sound");
    let route = async |text: &str| router.route(json!({ "text": text })).await.result;
    assert_eq!(route("a").await, HandlerOutcome::Handled(json!(["a", "b", true])));
    assert_eq!(route("c").await, HandlerOutcome::Handled(json!({"sorry": "broken"})));
    assert_eq!(route("refuse").await, HandlerOutcome::Invalid { error: "not today".to_owned() });
    assert_eq!(route("other").await, HandlerOutcome::NoRoute);
    assert!(matches!(route("panic").await, HandlerOutcome::Panicked { .. }));
    assert!(
        matches!(route("leak").await, HandlerOutcome::Failed { error, .. } if error.contains("cannot be checked"))
    );
}
