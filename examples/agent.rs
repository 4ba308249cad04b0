//! Runs an agent's plan from a payload to a finished workflow. The plan is validated, repaired, and
//! run against a service that fails at first. Then the failed step is retried, and the plan is
//! completed.
//!
//! A function plays the agent in place of a language model. The service listens on this machine
//! only.
//!
//! ```text
//! plan ─judge─▶ rejected ─agent─▶ plan ─judge─▶ accepted ─▶ fetch ─✗─ recovery: RETRY ─▶ fetch ─▶ report
//! ```
//!
//! `cargo run --example agent`

use rulec::{Rules, bundled};
use rulec_http::{AllowedHosts, HttpClient, Limits, node};
use rulec_runtime::payload::{Coordinator, Judges, NodeFailure, Proposal, RetryRequest, Turn};
use serde_json::{Value as Json, json};
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// Starts a service that is busy at the first request, and then answers. It reads one small request
/// per connection.
fn service() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let host = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or(0);
            let line =
                String::from_utf8_lossy(&request[..length]).lines().next().unwrap_or_default().to_owned();
            let (status, body) = match number {
                0 => ("500 Busy", "come back later"),
                1 => ("200 OK", r#"{"rows": [3, 1, 4]}"#),
                _ => ("201 Created", r#"{"id": 7}"#),
            };
            println!("  the service is asked: {line}, and answers {status}");
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            // The client may have closed the connection.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    Ok(host)
}

/// Returns the plan as a payload. Unless `repaired`, the address for the report is missing.
fn plan(host: &str, repaired: bool) -> Json {
    let mut report = json!({"method": "POST", "body": {"rows": "${fetch.output.data.rows}"}});
    if repaired {
        report["url"] = json!(format!("http://{host}/report"));
    }
    json!({
        "action_type": "create_workflow_plan", "name": "report", "description": "fetches the rows and reports them",
        "nodes": [
            {"node_id": "fetch", "type": "HTTP", "name": "fetch",
             "config": {"url": format!("http://{host}/rows"), "method": "GET", "timeout": 5}},
            {"node_id": "report", "type": "HTTP", "name": "report", "config": report}
        ],
        "edges": [{"source": "fetch", "target": "report", "condition": "status == 200 and data.rows is present"}]
    })
}

/// Repairs the rejected plan. A language model would read the feedback; this function knows the
/// missing field.
async fn agent(again: RetryRequest, host: String) -> Result<Vec<Proposal>, String> {
    println!("the agent reads:\n{}", again.rejected.feedback);
    Ok(vec![Proposal::new("create_workflow_plan", plan(&host, true))])
}

/// Returns the recovery plan for a failed node: retry it, at most twice.
async fn recovery(failure: NodeFailure) -> Result<Json, String> {
    println!("`{}` failed: {}", failure.node_id, failure.reason);
    Ok(json!({
        "workflow_id": failure.workflow_id, "failed_node_id": failure.node_id, "failure_reason": failure.reason,
        "recovery_plan": {"action": "RETRY", "max_attempts": 2, "delay": 0.1},
        "execution_context": failure.execution_context
    }))
}

fn print(turn: &Turn) {
    for done in &turn.done {
        let Some(report) = &done.report else { continue };
        println!("{} is {}", report.workflow_id, report.status.name());
        for (node, output) in &report.outputs {
            println!("  {node}: {output}");
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let rules = Rules::from_text(bundled::DECISIONS)?;
    let host = service()?;
    // Only this service may be called, whatever hosts a plan names.
    let client = HttpClient::new(AllowedHosts::new([&host])?, Limits { retries: 0, ..Limits::default() })?;
    let told = host.clone();
    let coordinator = Coordinator::builder(Judges::new(&rules))
        .agent(move |again| agent(again, told.clone()))
        .recovery("error_recovery", recovery)
        .recovery_limit(Duration::from_secs(5))
        .node_kind("HTTP", node(client))
        .build();
    let turn = coordinator.session().offer([Proposal::new("create_workflow_plan", plan(&host, false))]).await;
    print(&turn);
    Ok(())
}
