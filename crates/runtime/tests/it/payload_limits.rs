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

/// Regression test: the rules rejected loops that the engine runs, and accepted loops that it does
/// not run.
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

/// Regression test: the rules did not know the bound of `loops`, so a loop with only a condition
/// was always rejected. The engine did not know a bound in the context.
#[tokio::test]
async fn the_smaller_bound_of_loops_applies() {
    let endless = json!({"condition": "true", "body": {"type": "START"}});
    for (given, rounds) in [(9, 5), (2, 2)] {
        let context = json!({"workflows": {}, "max_loop_iterations": given});
        let builder = Coordinator::builder(judges(&context)).loops(5);
        let failed = run_loop(builder, endless.clone()).await.unwrap_err();
        assert!(failed.contains(&format!("after {rounds} rounds")), "{failed}");
    }
    // New judges that replace the first ones get the bound too.
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

/// Regression test: the requests of a loop's body were not counted in advance. The engine also
/// validates a body as a node of its own, which must not count once more.
#[tokio::test]
async fn the_rules_count_each_round_of_a_loop_once() {
    let request = json!({"type": "HTTP", "config": {"url": "https://a.example/", "method": "GET"}});
    let config = json!({"items": [1, 2, 3], "body": request});
    let answer = |_: &Node| Ok(from_fn(|_: Json| async { Ok(json!({})) }));
    let run = async |max_calls: i64| {
        let judges = judges(&no_workflows()).options(&json!({"max_api_calls": max_calls})).unwrap();
        let builder = Coordinator::builder(judges).loops(100).node_kind("HTTP", answer);
        run_loop(builder, config.clone()).await
    };
    assert_eq!(run(3).await, Ok(json!(3)));
    let refused = run(2).await.unwrap_err();
    assert!(refused.contains("too many API calls"), "{refused}");
}

/// Runs a plan of the node `a`, which fails with the prompt `fail`, and the node `b`. The recovery
/// strategy returns `answers` one after another, and the last one again and again. Returns the
/// report, and the failures that the strategy was called with.
async fn recover(builder: CoordinatorBuilder, answers: Vec<Json>) -> (RunReport, Vec<NodeFailure>) {
    let factory = |node: &Node| {
        let fails = node.config["prompt"] == "fail";
        Ok(from_fn(move |_: Json| async move {
            if fails { Err("it does not work".into()) } else { Ok(json!({})) }
        }))
    };
    let failures: Arc<Mutex<Vec<NodeFailure>>> = Arc::default();
    let noted = failures.clone();
    let strategy = move |failure: NodeFailure| {
        let mut failures = noted.lock().unwrap();
        let mut answer = answers[failures.len().min(answers.len() - 1)].clone();
        answer["workflow_id"] = json!(failure.workflow_id);
        answer["execution_context"] = Json::Object(failure.execution_context.clone());
        if answer["action_type"] == "error_recovery" {
            answer["failed_node_id"] = json!(failure.node_id);
            answer["failure_reason"] = json!(failure.reason);
        }
        failures.push(failure);
        async move { if answer["fails"] == true { Err("gone") } else { Ok(answer) } }
    };
    let coordinator = builder.node_kind("LLM", factory).recovery("error_recovery", strategy).build();
    let node = |id, prompt| json!({"node_id": id, "type": "LLM", "name": id, "config": {"prompt": prompt}});
    let payload = json!({
        "name": "p", "description": "d", "nodes": [node("a", "fail"), node("b", "x")],
        "edges": [{"source": "a", "target": "b"}],
    });
    let turn = coordinator.session().offer([Proposal::new("create_workflow_plan", payload)]).await;
    let report = turn.done[0].report.clone().unwrap();
    (report, failures.lock().unwrap().clone())
}

fn at_most(recoveries: u64) -> CoordinatorBuilder {
    Coordinator::builder(judges(&no_workflows())).recoveries(recoveries)
}

fn replan(changes: &Json) -> Json {
    json!({"action_type": "replan_workflow", "reason": "r", "suggested_changes": changes})
}

/// Regression test: a recovery that the rules rejected ended the run at once. A recovery that only
/// made the changed plan invalid counted as another failure.
#[tokio::test]
async fn a_rejected_recovery_is_another_failure() {
    let edge = |source, target| json!({"source": source, "target": target});
    // The rules of the decision reject the first circle, and the rules of plans the second one.
    let own_circle = replan(&json!({"update_edges": [edge("a", "b"), edge("b", "a")]}));
    let circle_with_plan = replan(&json!({"update_edges": [edge("b", "a")]}));
    let skip = json!({"action_type": "error_recovery", "recovery_plan": {"action": "SKIP"}});
    let (report, failures) =
        recover(at_most(10), vec![own_circle.clone(), circle_with_plan.clone(), skip]).await;
    assert_eq!((report.status, report.failures["a"]), (RunStatus::Completed, 3), "{report:#?}");
    assert_eq!(failures[0].reason, "it does not work");
    for failure in &failures[1..] {
        assert!(failure.reason.contains("the edges go round in a circle"), "{}", failure.reason);
    }
    for circle in [own_circle, circle_with_plan] {
        let (report, failures) = recover(at_most(2), vec![circle]).await;
        let reason = report.reason.unwrap();
        assert!(reason.starts_with("`a` failed and 2 recoveries were not enough: "), "{reason}");
        assert_eq!((report.status, failures.len()), (RunStatus::Failed, 2), "{reason}");
    }
}

/// An accepted fallback continues the run, and a strategy that fails is not called again.
#[tokio::test]
async fn fallbacks_and_failed_strategies_are_no_rejected_recoveries() {
    let rejected = json!({"action_type": "error_recovery", "recovery_plan": {"action": "PANIC"}});
    let skip = json!({"action_type": "error_recovery", "recovery_plan": {"action": "SKIP"}});
    let (report, failures) = recover(at_most(10), vec![rejected, skip.clone()]).await;
    // The fallback replans without changes, so the node fails again.
    assert_eq!((report.status, report.failures["a"]), (RunStatus::Completed, 2), "{report:#?}");
    assert!(failures.iter().all(|failure| failure.reason == "it does not work"), "{failures:#?}");
    let without_fallback = at_most(10).fallback(|_| None);
    let (report, failures) = recover(without_fallback, vec![json!({"fails": true}), skip]).await;
    assert_eq!(report.reason.as_deref(), Some("`a` failed: it does not work"));
    assert_eq!((report.status, failures.len()), (RunStatus::Failed, 1));
}

/// No id exists by itself: an edge from `START` needs a node of this id, for rules and engine.
#[tokio::test]
async fn edges_join_only_nodes_that_the_plan_has() {
    let edges = json!([{"source": "START", "target": "b"}]);
    let start = json!({"type": "START", "name": "START"});
    let (report, _) = recover(at_most(1), vec![replan(&json!({"update_edges": edges}))]).await;
    assert!(report.reason.unwrap().contains("no node has this id"));
    let changes = json!({"add_nodes": [start], "update_edges": edges, "remove_nodes": ["a"]});
    let (report, _) = recover(at_most(1), vec![replan(&changes)]).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:#?}");
}
