//! Tests that the rules and the engine agree on plans: on loops, and on recovery decisions that the
//! rules reject.

use rulec::Rules;
use rulec_runtime::payload::{
    Coordinator, CoordinatorBuilder, Judges, NodeFailure, Proposal, RunReport, RunStatus,
};
use rulec_runtime::workflow::{Node, from_fn};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};

fn judges(context: &Json) -> Judges {
    let rules = Rules::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/decisions.rules"));
    Judges::new(&rules.unwrap()).context(context).unwrap()
}

fn no_workflows() -> Json {
    json!({"workflows": {}})
}

/// Runs a plan of a node that outputs `{"n": 3}`, and a loop with this config after it. Returns the
/// rounds of the loop, or the reason why the plan was rejected or failed.
async fn run_loop(builder: CoordinatorBuilder, config: Json) -> Result<Json, String> {
    let factory = |_: &Node| Ok(from_fn(|_: Json| async { Ok(json!({"n": 3})) }));
    let coordinator = builder.node_kind("LLM", factory).build();
    let nodes = json!([
        {"node_id": "a", "type": "LLM", "name": "a", "config": {"prompt": "x"}},
        {"node_id": "l", "type": "LOOP", "name": "l", "config": config},
    ]);
    let edges = json!([{"source": "a", "target": "l"}]);
    let payload = json!({"name": "p", "description": "d", "nodes": nodes, "edges": edges});
    let turn = coordinator.session().offer([Proposal::new("create_workflow_plan", payload)]).await;
    match turn.rejected.first() {
        Some(rejected) => Err(rejected.feedback.clone()),
        None => turn.done[0].result.clone().map(|report| report["outputs"]["l"]["rounds"].clone()),
    }
}

/// Cause: the rules rejected loops that the engine runs, and accepted loops that it does not.
#[tokio::test]
async fn the_rules_accept_the_loops_that_the_engine_runs() {
    let body = json!({"type": "START"});
    let condition = "last.index < 3";
    for (config, rounds) in [
        (json!({"max_iterations": "${a.output.n}", "body": body}), 3),
        (json!({"iterations": 4.0, "body": body}), 4),
        (json!({"iterations": 4, "max_iterations": "${a.output.n}", "body": body}), 3),
        (json!({"condition": condition, "body": body}), 4),
        (json!({"items": [1, 2], "collection": "x", "body": body}), 2),
        (json!({"collection": [1], "body": body}), 1),
    ] {
        let builder = Coordinator::builder(judges(&no_workflows())).loops(5);
        assert_eq!(run_loop(builder, config.clone()).await, Ok(json!(rounds)), "{config}");
    }
    for config in [
        json!({"max_iterations": 0.5, "body": body}),
        json!({"iterations": 2, "max_iterations": 0.5, "body": body}),
        json!({"iterations": 2, "max_iterations": null, "body": body}),
        json!({"items": "${ a.output.n }x", "collection": [1], "body": body}),
        json!({"items": null, "collection": [1], "body": body}),
        json!({"body": body}),
    ] {
        let builder = Coordinator::builder(judges(&no_workflows())).loops(5);
        let refused = run_loop(builder, config.clone()).await.unwrap_err();
        assert!(refused.contains("what should end it"), "{config}: {refused}");
    }
}

/// Cause: the bound of `loops` did not reach the rules, so a loop with only a condition was always
/// rejected. A bound in the context did not reach the engine.
#[tokio::test]
async fn the_smaller_bound_of_loops_applies() {
    let endless = json!({"condition": "true", "body": {"type": "START"}});
    for (given, rounds) in [(9, 5), (2, 2)] {
        let context = json!({"workflows": {}, "max_loop_iterations": given});
        let builder = Coordinator::builder(judges(&context)).loops(5);
        let failed = run_loop(builder, endless.clone()).await.unwrap_err();
        assert!(failed.contains(&format!("after {rounds} rounds")), "{failed}");
    }
    // Replaced judges get the bound, too.
    let coordinator = Coordinator::builder(judges(&no_workflows())).loops(5).build();
    coordinator.replace(judges(&no_workflows()));
    let payload = json!({"node_type": "LOOP", "node_name": "l", "config": endless});
    let turn = coordinator.session().offer([Proposal::new("create_node", payload)]).await;
    assert!(turn.rejected.is_empty(), "{turn:#?}");
    // A context that allows no rounds allows no loop that only its condition ends.
    let context = json!({"workflows": {}, "max_loop_iterations": 0});
    let refused = run_loop(Coordinator::builder(judges(&context)).loops(5), endless).await.unwrap_err();
    assert!(refused.contains("what should end it"), "{refused}");
}
