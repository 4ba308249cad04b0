//! A small service around a router. It reloads a rules file when the file changes, checks
//! permissions before it calls a handler, retries, falls back to other handlers, and counts calls.
//!
//! `cargo run --example service`

use rulec::{Compiler, Rules};
use rulec_runtime::route::{Outcome, Permissions, Policy, Request, Router};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const RULES: &str = r#"
# A handler declares what it requires, so that no route to it can forget it.
handler run_code() requires permission "execute"
handler open_ticket(text: string)
handler write_down(text: string)
handler chat()

route run priority 90 when text starts_with "run" -> run_code
route broken when text contains any ["broken", "error"] -> open_ticket(text: text)
default -> chat
"#;

/// Opens a ticket. The ticket service is down for the first calls.
async fn open_ticket(called: Arc<AtomicU32>, request: Request) -> Result<Json, String> {
    match called.fetch_add(1, Ordering::Relaxed) {
        0..4 => Err("503 from the tickets' service".to_owned()),
        _ => Ok(json!({ "ticket": request.args["text"] })),
    }
}

fn print(text: &str, outcome: &Outcome) {
    let handler = outcome.fallback.as_ref().or(outcome.handler.as_ref());
    let handler = handler.map_or("nobody", String::as_str);
    println!("[{}] {text:<24} {handler}: {}", outcome.generation, outcome.result);
    for tried in &outcome.tried {
        println!("    before: {} {} after {} calls", tried.handler, tried.result, tried.attempts);
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("service.rules");
    std::fs::write(&path, RULES)?;

    let called = Arc::new(AtomicU32::new(0));
    let router = Router::builder(Rules::from_text(RULES)?)
        .handler("run_code", |_| async { json!("done") })
        .handler("open_ticket", move |request| open_ticket(called.clone(), request))
        .handler("write_down", |request| async move { json!({ "for later": request.args["text"] }) })
        .handler("chat", |_| async { json!("hello to you") })
        // Each call may take two seconds and is retried once. After four consecutive failures, the
        // circuit breaker opens for a moment. Messages then go to the fallback handler
        // `write_down`.
        .policy(
            "open_ticket",
            Policy::new()
                .time_limit(Duration::from_secs(2))
                .retries(1, Duration::from_millis(10))
                .circuit(4, Duration::from_millis(200))
                .fallback("write_down"),
        )
        .build()?;
    let mut watch = router.watch(Compiler::new(), &path).await?;
    let route = async |text: &'static str| print(text, &router.route(json!({ "text": text })).await);

    println!("--- who sends a message is granted what the program knows of them, and nothing else\n");
    route("run my script").await;
    let admin: Permissions = ["execute"].into_iter().collect();
    print("run my script", &router.route_as(json!({"text": "run my script"}), &admin).await);

    println!("\n--- a service that is down: tried again, taken over from, left alone, and back\n");
    for _ in 0..3 {
        route("the door is broken").await;
    }
    tokio::time::sleep(Duration::from_millis(400)).await;
    route("the door is broken").await;

    println!("\n--- the file changes while the service runs; a broken version is refused\n");
    std::fs::write(&path, RULES.replace("default -> chat", "default -> chatter"))?;
    let status = watch.changed().await;
    println!("refused: {}", status.error.unwrap_or_default().lines().next().unwrap_or_default());
    route("hello").await;
    std::fs::write(
        &path,
        format!("{RULES}\nroute late when text contains \"late\" -> open_ticket(text: text)"),
    )?;
    println!("in force: version {}", watch.changed().await.loaded);
    route("my parcel is late").await;

    println!("\n--- a route is inserted by hand, which has a generation of its own\n");
    router.rules().insert("route hello priority 99 when text == \"hello\" -> write_down(text: text)")?;
    route("hello").await;

    println!("\n--- the counts\n");
    let stats = router.stats();
    println!("{} messages, {} refused", stats.messages.total(), stats.messages.refused);
    for handler in stats.handlers {
        let (name, counts) = (handler.handler, handler.counts);
        println!(
            "{name:<12} {} handled, {} failed, {} while its circuit was open",
            counts.handled, counts.failed, counts.circuit_open
        );
    }
    Ok(())
}
