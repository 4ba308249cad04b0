//! A running help desk. The rules of `helpdesk.rules` decide which handler gets a message, and
//! async handlers do the work. One handler fails, one takes too long, and the rules are replaced at
//! run time.
//!
//! `cargo run --example router`

use rulec::Rules;
use rulec_runtime::route::{DecisionLog, HandlerError, Outcome, Permissions, Request, Router};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;

/// A handler is an async function. It receives the message and the route's arguments, here
/// `kind: "list", limit: 20` of `file_handler`.
async fn list_files(request: Request) -> Json {
    json!({ "files": ["report.txt", "budget.ods"], "limit": request.args["limit"] })
}

/// A handler may fail with any error. The outcome reports the error and its source.
async fn refund(request: Request) -> Result<Json, HandlerError> {
    let Some(invoice) = request.context()["invoice"].as_u64() else {
        return Err("the message names no invoice".into());
    };
    Ok(json!({ "refunded": invoice }))
}

/// A handler may be slow, up to the time limit set for it.
async fn wake_somebody(_: Request) -> Json {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    json!("awake")
}

/// Does the work of all other handlers of this example.
async fn pass_on(request: Request) -> Json {
    json!(format!("passed on: {}", request.text()))
}

fn print(text: &str, outcome: &Outcome) {
    let route = outcome.route.as_deref().unwrap_or("none");
    println!("[rules {}] {text}", outcome.generation);
    println!("          {} → {route} → {}", outcome.path.join(" → "), outcome.result);
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/helpdesk.rules");
    let rules = Rules::from_path(path)?;

    // Every decision becomes a JSON line, which a separate thread writes to a file. The rules mark
    // the phone number `@private`, so the log masks it. A service would append to a permanent file:
    // `DecisionLog::to_file("decisions.jsonl")`.
    let log_file = tempfile::NamedTempFile::new()?;
    let log = DecisionLog::to_file(log_file.path())?;

    // Every target of the rules needs a handler. If a handler is missing, this is an error here
    // with its name, not when the first message needs the handler.
    let mut builder = Router::builder(rules)
        .handler("file_handler", list_files)
        .handler("refund_handler", refund)
        .handler("on_call_handler", wake_somebody)
        // A closure can be a handler too.
        .handler("smalltalk_handler", |_| async { json!("hello to you") })
        .time_limit(Duration::from_secs(5))
        .handler_time_limit("on_call_handler", Duration::from_millis(100))
        .log(log.clone());
    for name in [
        "beta_handler",
        "billing_handler",
        "code_handler",
        "default_handler",
        "error_recovery_handler",
        "invoice_handler",
        "upload_handler",
    ] {
        builder = builder.handler(name, pass_on);
    }
    let router = builder.build()?;

    println!("--- four messages: one handler fails, one takes too long\n");
    let user = json!({ "id": "u-17", "role": "guest", "permissions": [], "phone": "555-0100" });
    for (text, now) in [
        ("please show my files", "2026-01-30T10:00:00Z"),
        ("I want my money back", "2026-01-30T10:00:00Z"),
        ("the whole production system has been down for an hour now", "2026-01-31T03:00:00Z"),
        ("how is the weather today", "2026-01-30T10:00:00Z"),
    ] {
        let ctx = json!({ "message_count": 1, "user": user, "labels": { "queue": "support" } });
        let message = json!({ "text": text, "now": now, "ctx": ctx });
        print(text, &router.route(message).await);
    }

    println!("\n--- the sender of a message must have the permissions that a handler requires\n");
    let text = "run the monthly report";
    let admin = json!({ "id": "u-1", "role": "admin", "permissions": [] });
    let message = json!({ "text": text, "ctx": { "message_count": 1, "user": admin } });
    print(text, &router.route(message.clone()).await);
    // The permissions come from the program, not from the message.
    let granted: Permissions = ["execute"].into_iter().collect();
    print(text, &router.route_as(message, &granted).await);

    println!("\n--- other rules are swapped in; a message under way ends with the old ones\n");
    let swapped = router.swap(Rules::from_text(
        r#"
        route weather when text contains "weather" -> smalltalk_handler
        default -> default_handler
        "#,
    )?)?;
    println!("rules {} follow rules {}", swapped.generation, swapped.previous.generation());
    println!("{} handlers have nothing to do now", swapped.warnings.len());
    let text = "how is the weather today";
    print(text, &router.route(json!({ "text": text })).await);

    println!("\n--- rules that lead to a handler there is not are refused\n");
    match router.swap(Rules::from_text("default -> smaltalk_handler")?) {
        Ok(_) => println!("swapped"),
        Err(error) => println!("refused: {error}"),
    }

    println!("\n--- the first line of the decision log\n");
    // Closing the log writes the queued lines, and returns how many could not be written.
    let stats = log.close().await;
    let lines = std::fs::read_to_string(log_file.path())?;
    println!("{}", lines.lines().next().unwrap_or_default());
    println!("{} lines written, {} dropped, {} failed", stats.written, stats.dropped, stats.failed);
    Ok(())
}
