//! A council as a workflow. Three debaters argue in parallel, and a judge scores the debate.
//! Further rounds follow until the score is good enough, and then the council votes.
//! `council.rules` defines the graph and the routing of each output.
//!
//! ```text
//! question → debate ┬ optimist ┬→ judge → rounds ─→ ballot ┬ optimist ┬→ vote ┬→ adopt
//!              ↑    ├ sceptic  ┤             │             ├ sceptic  ┤       ├→ minutes
//!              │    └ engineer ┘             │             └ engineer ┘       └→ shelve
//!              └────────── loopback ─────────┘
//! ```
//!
//! `cargo run --example council`

use rulec::Rules;
use rulec_runtime::workflow::processors::{Loop, Vote};
use rulec_runtime::workflow::{Node, ProcessError, Processor, Report, Workflow, from_fn};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

/// Creates a debater. A real debater would send the question and the previous arguments to a
/// language model; this debater has a prepared argument for each round.
fn debater(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
    let name = node.id.to_string();
    let arguments: Vec<String> = serde_json::from_value(node.config["says"].clone())?;
    Ok(from_fn(move |input: Json| {
        // The loop stores the number of the round in `iteration`, which is missing in the first
        // round.
        let round = input["iteration"].as_u64().unwrap_or(1).max(1) as usize;
        let argument = arguments.get(round - 1).or(arguments.last()).cloned().unwrap_or_default();
        // The outputs of the three debaters are merged later, so each output uses its own key.
        let answer = json!({ "question": input["question"], &name: argument });
        async move { Ok(answer) }
    }))
}

/// Judges the debate. A real council would ask a model; this judge counts the arguments with a
/// reason.
async fn judge(debate: Json) -> Result<Json, ProcessError> {
    let said = |name: &str| debate[name].as_str().unwrap_or_default().to_owned();
    let arguments = [said("optimist"), said("sceptic"), said("engineer")];
    let reasons = arguments.iter().filter(|argument| argument.contains("because")).count();
    println!("  the judge hears: {}", arguments.join(" / "));
    println!("  and gives {} points", reasons * 30);
    // Return only new fields. If the input were passed on, the data of all rounds would accumulate.
    Ok(json!({ "question": debate["question"], "score": reasons * 30 }))
}

/// Creates a voter, which outputs `YES` or `NO` under its own key.
fn voter(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
    let (name, wanted) = (node.id.to_string(), node.config["wants"].as_u64().unwrap_or(0));
    Ok(from_fn(move |input: Json| {
        let vote = if input["score"].as_u64().unwrap_or(0) >= wanted { "YES" } else { "NO" };
        let answer = json!({ &name: vote });
        async move { Ok(answer) }
    }))
}

fn council(rules: &Rules) -> Result<Workflow, Box<dyn std::error::Error>> {
    let workflow = Workflow::from_rules(rules, "council")?
        .kind("pass", |_| Ok(from_fn(|input: Json| async move { Ok(input) })))
        .kind("debater", debater)
        .kind("judge", |_| Ok(from_fn(judge)))
        .kind("voter", voter)
        .kind("loop", Loop::factory)
        .kind("vote", Vote::factory)
        .build()?;
    Ok(workflow)
}

fn print(report: &Report) {
    println!("\nwhat ran, in order");
    let names: Vec<&str> = report.executed.iter().map(|node| &**node).collect();
    println!("  {}", names.join(" → "));
    println!("\nthe ways back");
    for delivery in report.deliveries.iter().filter(|delivery| delivery.loop_back) {
        println!("  {} → {}", delivery.from, delivery.to);
    }
    println!("\nthe verdict");
    for (node, output) in &report.outputs {
        println!("  {node}: {} of {} in favour", output["yes_votes"], output["total_votes"]);
    }
    // Print nodes that failed or still wait for an input.
    for failure in &report.failures {
        println!("  {failure}");
    }
    for stall in &report.stalled {
        println!("  {stall}");
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/council.rules");
    let council = council(&Rules::from_path(path)?)?;
    // Print problems of the graph, which were found before the council ran.
    for finding in council.findings() {
        println!("{finding}");
    }

    let question = "shall we move to the new database?";
    println!("{question}\n\nthe debate");
    print(&council.run(json!({ "question": question })).await);
    Ok(())
}
