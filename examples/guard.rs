//! A guard that checks the decisions of an agent. A language model proposes decisions as JSON. The
//! rules of `rules/decisions.rules` accept them, correct them, or reject them with feedback for the
//! model. If several decisions are proposed at once, the rules select the one that runs.
//!
//! `cargo run --example guard`

use rulec::Rules;
use rulec::payload::{Judgement, Outcome, arbitrate};
use serde_json::{Value as Json, json};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/decisions.rules");
    let rules = Rules::from_path(path)?;

    // The data outside the payloads: the options of this installation, and the objects that the
    // decisions are about.
    let options = json!({
        "node_type_whitelist": ["LLM", "HTTP"],
        "allowed_domains": ["api.example.com"],
        "max_llm_tokens": 2000,
    });
    let context = json!({
        "workflows": {
            "weather": { "status": "READY", "inputs": { "city": { "type": "string", "required": true } }, "nodes": {} },
        },
    });

    // In an agent, the model would produce the payloads.
    let proposed = [
        (
            "respond",
            json!({ "action_type": "respond", "response": "Hello!", "intent": "greeting", "confidence": 0.9 }),
        ),
        (
            "respond",
            json!({ "response": "It is 12 degrees.", "intent": "simple_query", "confidence": 97, "mood": "good" }),
        ),
        (
            "create_node",
            json!({
                "action_type": "create_node",
                "node_type": "LLM",
                "node_name": "summarise",
                "config": { "model": "small", "prompt": "Summarise this.", "max_tokens": 9000 },
            }),
        ),
        (
            "create_node",
            json!({
                "action_type": "create_node",
                "node_type": "HTTP",
                "node_name": "fetch",
                "config": { "url": "https://api.example.com.evil.example/", "method": "GET" },
            }),
        ),
        (
            "execute_workflow",
            json!({ "action_type": "execute_workflow", "workflow_id": "weather", "input_params": { "town": "Leipzig" } }),
        ),
    ];
    for (kind, payload) in &proposed {
        // A judge (payload validator) can be kept and shared. This example creates one per payload,
        // to stay short.
        let judge = rules.judge(kind)?.options(options.clone())?.context(context.clone())?;
        show(payload, &judge.judge(payload));
    }

    println!("--- a second attempt, after the feedback\n");
    let judge = rules.judge("execute_workflow")?.options(options)?.context(context)?;
    let repaired = json!({ "action_type": "execute_workflow", "workflow_id": "weather", "input_params": { "city": "Leipzig" } });
    show(&repaired, &judge.judge(&repaired));

    println!("--- several decisions at once: the rank of their kinds says which one runs\n");
    for decisions in [
        &[("d1", "respond"), ("d2", "create_node"), ("d3", "create_node")][..],
        &[("d1", "respond"), ("d2", "request_clarification")],
        &[("d1", "create_workflow_plan"), ("d2", "error_recovery")],
    ] {
        let answer = arbitrate(&rules, decisions)?;
        let proposed: Vec<String> = decisions.iter().map(|(id, kind)| format!("{id} {kind}")).collect();
        println!("{}", proposed.join(", "));
        println!("  runs now   {}", answer.run_now.as_deref().unwrap_or("nothing"));
        for (title, ids) in
            [("waits", &answer.blocked), ("suspended", &answer.suspended), ("dropped", &answer.interrupted)]
        {
            if !ids.is_empty() {
                println!("  {title:<10} {}", ids.join(", "));
            }
        }
        println!();
    }
    Ok(())
}

fn show(payload: &Json, judgement: &Judgement) {
    println!("{} {payload}", judgement.kind());
    match judgement.outcome() {
        Outcome::Accept => println!("  accepted as it is"),
        Outcome::AcceptCorrected => {
            println!("  accepted after corrections, as");
            println!("  {}", judgement.corrected().unwrap_or(payload));
        }
        Outcome::Reject => println!("  rejected"),
    }
    // The feedback goes to the model as the next message of the conversation or as a tool result.
    for line in judgement.feedback().lines() {
        println!("    | {line}");
    }
    println!();
}
