//! Tests of plans (workflows that a language model writes) with concurrent nodes, also when some of
//! them fail. The clock is paused and advances only for sleeping nodes, so the order of completion
//! is deterministic.

use rulec::Rules;
use rulec_runtime::payload::{
    Coordinator, CoordinatorBuilder, Judges, NodeFailure, Proposal, RunReport, RunStatus,
};
use rulec_runtime::workflow::{Node, from_fn};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Barrier;

/// The prompts of started nodes, in order.
type PromptLog = Arc<Mutex<Vec<String>>>;

/// Returns the builder of a coordinator whose `LLM` nodes act on their prompt, and the log of the
/// prompts. The prompt `meet` waits until two such nodes run; `meet and fail` then fails; `fail`
/// fails; `sleep` takes a second. A node with any other prompt ends at once.
fn coordinator_builder() -> (CoordinatorBuilder, PromptLog) {
    let rules =
        Rules::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/decisions.rules")).unwrap();
    let (log, meeting) = (PromptLog::default(), Arc::new(Barrier::new(2)));
    let noted = log.clone();
    let factory = move |node: &Node| {
        let prompt = node.config["prompt"].as_str().unwrap_or_default().to_owned();
        noted.lock().unwrap().push(prompt.clone());
        let meeting = meeting.clone();
        Ok(from_fn(move |_| {
            let (prompt, meeting) = (prompt.clone(), meeting.clone());
            async move {
                if prompt.starts_with("meet") {
                    meeting.wait().await;
                }
                match &*prompt {
                    "sleep" => tokio::time::sleep(Duration::from_secs(1)).await,
                    "fail" | "meet and fail" => return Err("it does not work".into()),
                    _ => {}
                }
                Ok(json!({"text": prompt}))
            }
        }))
    };
    (Coordinator::builder(Judges::new(&rules)).node_kind("LLM", factory), log)
}

/// Runs a plan with these nodes, as pairs of id and prompt, and these edges, as pairs of source and
/// target. A target may include the condition of its edge.
async fn run_plan(coordinator: &Coordinator, nodes: &[(&str, &str)], edges: &[(&str, &str)]) -> RunReport {
    let node = |(id, prompt): &(&str, &str)| json!({"node_id": id, "type": "LLM", "name": id, "config": {"prompt": prompt}});
    // A target with the condition of its edge: `end if slow.output.text == "sleep"`.
    let edge = |(from, to): &(&str, &str)| match to.split_once(" if ") {
        None => json!({"source": from, "target": to}),
        Some((to, condition)) => json!({"source": from, "target": to, "condition": condition}),
    };
    let payload = json!({
        "name": "p", "description": "d",
        "nodes": nodes.iter().map(node).collect::<Vec<_>>(), "edges": edges.iter().map(edge).collect::<Vec<_>>(),
    });
    let turn = coordinator.session().offer([Proposal::new("create_workflow_plan", payload)]).await;
    let [done] = &turn.done[..] else { panic!("{turn:#?}") };
    done.report.clone().unwrap_or_else(|| panic!("{turn:#?}"))
}

fn recovery_answer(failure: &NodeFailure, action: &str) -> Json {
    json!({
        "workflow_id": failure.workflow_id, "failed_node_id": failure.node_id, "failure_reason": failure.reason,
        "recovery_plan": {"action": action}, "execution_context": failure.execution_context
    })
}

/// In a sequential run, the first `meet` node would wait forever for the second one.
#[tokio::test(start_paused = true)]
async fn branches_that_do_not_wait_for_each_other_run_side_by_side() {
    let (builder, _) = coordinator_builder();
    let nodes = [("a", "go"), ("b", "meet"), ("c", "go on"), ("d", "meet"), ("e", "end")];
    // `d` is a start node; `b` is the second node of the other branch.
    let edges = [("a", "b"), ("b", "c"), ("c", "e"), ("d", "e")];
    let report = run_plan(&builder.build(), &nodes, &edges).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:#?}");
    assert_eq!(report.outputs.len(), 5);
}

/// Branches do not wait for each other, but a join waits for all its predecessors.
#[tokio::test(start_paused = true)]
async fn a_slow_branch_holds_up_no_other() {
    let (builder, log) = coordinator_builder();
    let nodes = [("slow", "sleep"), ("after", "after"), ("a", "a"), ("b", "b"), ("end", "end")];
    let edges = [("slow", "after"), ("after", "end"), ("a", "b"), ("b", "end")];
    let report = run_plan(&builder.build(), &nodes, &edges).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:#?}");
    assert_eq!(*log.lock().unwrap(), ["sleep", "a", "b", "after", "end"]);
}

/// Regression test: whether an edge was taken depended on which of two branches was faster.
#[tokio::test(start_paused = true)]
async fn an_edge_is_taken_by_what_comes_before_it_alone() {
    let (builder, _) = coordinator_builder();
    let coordinator = builder.build();
    let nodes = [("elsewhere", "go"), ("other", "go"), ("slow", "sleep"), ("next", "go"), ("end", "end")];
    let to_end = ("next", "end if elsewhere.output.text == \"go\"");
    let edges = [("elsewhere", "other"), ("slow", "next"), to_end];
    let report = run_plan(&coordinator, &nodes, &edges).await;
    assert_eq!(report.outputs.keys().collect::<Vec<_>>(), ["elsewhere", "next", "other", "slow"]);
    let edges = [("elsewhere", "other"), ("elsewhere", "slow"), ("slow", "next"), to_end];
    let report = run_plan(&coordinator, &nodes, &edges).await;
    assert_eq!(report.outputs.len(), 5, "{report:#?}");
}

#[tokio::test(start_paused = true)]
async fn failures_at_the_same_time_are_asked_about_one_by_one() {
    let (asking, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let (builder, _) = coordinator_builder();
    let coordinator = builder
        .recovery("error_recovery", move |failure: NodeFailure| {
            let (asking, most) = (asking.clone(), most.clone());
            async move {
                most.fetch_max(asking.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                asking.fetch_sub(1, Ordering::SeqCst);
                Ok::<Json, String>(recovery_answer(&failure, "SKIP"))
            }
        })
        .build();
    let nodes = [("b", "meet and fail"), ("a", "meet and fail"), ("end", "end")];
    let report = run_plan(&coordinator, &nodes, &[("a", "end"), ("b", "end")]).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:#?}");
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    assert_eq!(report.skipped, ["b", "a"], "in the order of the plan");
}

#[tokio::test(start_paused = true)]
async fn what_runs_while_the_run_is_ended_comes_to_its_end_and_is_kept() {
    let (builder, log) = coordinator_builder();
    let abort = |failure: NodeFailure| async move { Ok::<Json, String>(recovery_answer(&failure, "ABORT")) };
    let coordinator = builder.recovery("error_recovery", abort).build();
    let nodes = [("bad", "fail"), ("slow", "sleep"), ("then", "then"), ("end", "end")];
    let report = run_plan(&coordinator, &nodes, &[("slow", "then"), ("then", "end"), ("bad", "end")]).await;
    assert_eq!(report.status, RunStatus::Aborted, "{report:#?}");
    assert_eq!(report.outputs.keys().collect::<Vec<_>>(), ["slow"]);
    assert_eq!(*log.lock().unwrap(), ["fail", "sleep"]);
}

/// A node that runs while its plan is replaced must run again: its output belongs to the old plan.
#[tokio::test(start_paused = true)]
async fn what_runs_while_the_plan_is_made_anew_runs_again_under_the_new_one() {
    let (builder, log) = coordinator_builder();
    let replan = |failure: NodeFailure| async move {
        Ok::<Json, String>(json!({
            "action_type": "replan_workflow", "workflow_id": failure.workflow_id, "reason": "it does not work",
            "execution_context": {"failed_node_id": failure.node_id, "error": failure.reason},
            "suggested_changes": {"remove_nodes": ["bad"]}
        }))
    };
    let coordinator = builder.recovery("error_recovery", replan).build();
    let nodes = [("bad", "fail"), ("slow", "sleep"), ("quick", "quick"), ("end", "end")];
    let report = run_plan(&coordinator, &nodes, &[("bad", "end"), ("slow", "end"), ("quick", "end")]).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:#?}");
    assert_eq!(report.outputs.keys().collect::<Vec<_>>(), ["end", "quick", "slow"]);
    assert_eq!(*log.lock().unwrap(), ["fail", "sleep", "quick", "sleep", "end"]);
}
