//! Tests of workflows from rules files, passthrough fields, and saved and resumed runs.

use super::support::workflow;
use rulec::{Compiler, Rules};
use rulec_runtime::workflow::processors::{Loop, Vote};
use rulec_runtime::workflow::{
    ConditionalRouter, FailureKind, Node, ProcessError, Processor, Report, RulesRouter, Run, SavedRun,
    Workflow, WorkflowBuilder, from_fn,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const REVIEW: &str = r#"
router rounds(output) { when output.should_exit -> next[1]  otherwise -> next[0] loopback }
router verdict(output) { when output.approved -> next[0]  otherwise -> next[1] }
workflow review {
  passthrough session
  node draft work -> readers
  node readers parallel -> one, two
  node one says { one: "YES" } -> ballot
  node two says { two: "NO" } -> ballot
  node ballot vote { threshold: 0.6 } -> adopted, again by verdict
  node again loop { max_rounds: 3 } -> draft, shelved by rounds
  node adopted work
  node shelved work
}
"#;

fn says(node: &Node) -> Result<Arc<dyn Processor>, ProcessError> {
    let config = node.config.clone();
    Ok(from_fn(move |_| {
        let config = config.clone();
        async move { Ok(config) }
    }))
}

fn kinds(builder: WorkflowBuilder) -> WorkflowBuilder {
    builder
        .kind("work", |_| Ok(from_fn(|input: Value| async move { Ok(input) })))
        .kind("says", says)
        .kind("loop", Loop::factory)
        .kind("vote", Vote::factory)
}

fn review(rules: &Rules) -> Workflow {
    kinds(Workflow::from_rules(rules, "review").unwrap()).build().unwrap()
}

/// Returns the run as another process would read it.
fn save_and_read(run: &Run) -> SavedRun {
    serde_json::from_str(&serde_json::to_string(&run.save()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_workflow_of_a_rules_file_runs_and_so_does_that_of_its_artifact() {
    let rules = Rules::from_text(REVIEW).unwrap();
    let report = review(&rules).run(json!({"session": {"id": 7}})).await;
    assert!(report.is_complete(), "{report:?}");
    let round = ["draft", "one", "two", "ballot", "again"];
    let expected: Vec<&str> = round.iter().cycle().take(15).copied().chain(["shelved"]).collect();
    assert_eq!(report.executed, expected);
    let loaded = Compiler::new().load_artifact(&rules.to_artifact(true)).unwrap();
    assert_eq!(review(&loaded).run(json!({"session": {"id": 7}})).await, report);
    let error = Workflow::from_rules(&rules, "reviev").err().unwrap();
    assert_eq!(error.to_string(), "there is no workflow `reviev`; the workflows are `review`");
}

/// The processor `says` returns only its configuration. So its output contains the session's fields
/// only because the engine passes them through.
#[tokio::test]
async fn session_values_pass_through_whatever_processors_answer() {
    let report = review(&Rules::from_text(REVIEW).unwrap()).run(json!({"session": {"id": 7}})).await;
    assert_eq!(report.outputs["shelved"]["session"], json!({"id": 7}));

    let flow = workflow("a > b")
        .passthrough(["s", "t"])
        .processor("a", from_fn(|_| async { Ok(json!({"t": "own"})) }))
        .processor("b", from_fn(|_| async { Ok(json!("a text carries nothing")) }));
    let report = flow.build().unwrap().run(json!({"s": null, "t": 1, "u": 2})).await;
    assert_eq!(report.outputs["b"], "a text carries nothing");
    let flow = workflow("a > b")
        .passthrough(["s", "t"])
        .processor("a", from_fn(|_| async { Ok(json!({"t": "own"})) }));
    let report = flow.build().unwrap().run(json!({"s": null, "t": 1, "u": 2})).await;
    assert_eq!(report.outputs["b"], json!({"s": null, "t": "own"}));
}

#[tokio::test]
async fn a_join_merges_as_its_rules_say() {
    let merged_by = async |clause: &str| {
        let text = format!(
            "workflow w {{ node a work -> b, c  node b says {{ x: 1, y: [1] }} -> d \
             node c says {{ x: 2 }} -> d  node d work {clause} }}"
        );
        let rules = Rules::from_text(&text).unwrap();
        let report = kinds(Workflow::from_rules(&rules, "w").unwrap()).build().unwrap().run(json!({})).await;
        report.outputs["d"].clone()
    };
    let (b, c) = (json!({"x": 1, "y": [1]}), json!({"x": 2}));
    assert_eq!(merged_by("merge latest").await, json!({"x": 2, "y": [1]}));
    assert_eq!(merged_by("merge append").await, json!({"x": [1, 2], "y": [1]}));
    assert_eq!(merged_by("merge by node").await, json!({"b": b, "c": c}));
    let first = json!({"branch_0": b, "branch_1": c, "x": 1, "y": [1]});
    assert_eq!(merged_by("merge first").await, first);
    assert_eq!(merged_by("").await, first);
}

/// The rule set and the router object select the same next nodes for an output.
#[test]
fn next_nodes_are_those_of_the_route() {
    let rules = Rules::from_text(REVIEW).unwrap();
    let router = RulesRouter::new(&rules, "rounds").unwrap();
    for (output, expected) in [(json!({"should_exit": true}), "b"), (json!({}), "a"), (json!(3), "a")] {
        assert_eq!(rules.next_nodes("rounds", &output, &["a", "b"]).unwrap(), [expected]);
        assert_eq!(router.next_nodes(&output, &["a".into(), "b".into()]), [expected]);
    }
    assert_eq!(rules.next_nodes("rounds", &json!({"should_exit": true}), &["a"]).unwrap(), ["a"]);
    let error = rules.next_nodes("round", &json!({}), &["a"]).unwrap_err();
    assert!(error.to_string().contains("`rounds`"), "{error}");
    let partial = Rules::from_text("router r(output) { when output.ok -> next[0] }").unwrap();
    assert_eq!(partial.next_nodes("r", &json!({}), &["a", "b"]).unwrap(), ["a", "b"]);
}

/// A saved run contains rounds, inputs that wait at a join, and the processors' memory.
#[tokio::test]
async fn a_run_resumed_after_any_node_ends_as_one_that_was_not_interrupted() {
    let rules = Rules::from_text(REVIEW).unwrap();
    let input = json!({"session": {"id": 7}, "score": 50});
    let whole = review(&rules).run(input.clone()).await;
    for stop in 0..14 {
        let flow = review(&rules);
        let mut run = flow.begin(input.clone());
        for _ in 0..stop {
            assert!(run.step().await);
        }
        let saved = save_and_read(&run);
        drop(run);
        let report = review(&rules).resume(saved).unwrap().to_end().await;
        assert_eq!(report, whole, "stopped after {stop}");
    }
}

#[tokio::test]
async fn changes_are_added_only_if_none_is_missing() {
    let flow = workflow("a > b; b > c").build().unwrap();
    let mut run = flow.begin(json!({}));
    let (mut saved, first) = (run.save(), run.save_point());
    assert!(run.step().await);
    let (changes, second) = (run.save_changes(first), run.save_point());
    assert!(run.step().await);
    let later = run.save_changes(second);
    let error = saved.clone().apply(later.clone()).unwrap_err().to_string();
    assert!(error.contains("earlier changes of the run are missing"), "{error}");
    for changes in [changes, later] {
        saved.apply(changes).unwrap();
    }
    assert_eq!(json!(saved), json!(run.save()));
}

#[tokio::test]
async fn a_saved_run_of_another_graph_is_refused_with_the_difference() {
    let build = |text: &str| workflow(text).build().unwrap();
    let saved = save_and_read(&build("a > b").begin(json!({})));
    let refused = |flow: Workflow| flow.resume(saved.clone()).err().unwrap().to_string();
    assert!(refused(build("a > b c")).contains("the node `a` is of another kind or leads elsewhere"));
    assert!(refused(build("a > b; b > c")).contains("the node `b` is of another kind or leads elsewhere"));
    assert!(refused(build("a")).contains("the node `a` is of another kind"));
    assert!(build("a > b").resume(saved.clone()).is_ok());
    // A router with other routes makes another graph; conditions may change.
    let saved = |text: &str| save_and_read(&review(&Rules::from_text(text).unwrap()).begin(json!({})));
    let rules = Rules::from_text(REVIEW).unwrap();
    let turned = REVIEW.replace("approved -> next[0]", "approved -> next");
    assert!(review(&rules).resume(saved(&turned)).is_err());
    let repaired = REVIEW.replace("when output.approved", "when output.yes_votes > 1");
    assert!(review(&rules).resume(saved(&repaired)).is_ok());
    let mut old = serde_json::to_value(saved(REVIEW)).unwrap();
    old["format"] = json!(0);
    let error = review(&rules).resume(serde_json::from_value(old).unwrap()).err().unwrap().to_string();
    assert!(error.contains("format 0"), "{error}");
}

/// Builds a workflow whose node `b` fails while `broken` is set. `runs` counts the calls of `b`.
fn fragile(broken: &Arc<AtomicBool>, runs: &Arc<AtomicUsize>) -> Workflow {
    let (broken, runs) = (broken.clone(), runs.clone());
    let b = from_fn(move |input: Value| {
        let broken = broken.load(Ordering::Relaxed);
        runs.fetch_add(1, Ordering::Relaxed);
        async move { if broken { Err("no connection".into()) } else { Ok(input) } }
    });
    workflow("s parallel > a b; a > j; b > j").processor("b", b).build().unwrap()
}

#[tokio::test]
async fn a_node_that_failed_is_run_again_when_asked_for_and_the_others_are_not() {
    let (broken, runs) = (Arc::new(AtomicBool::new(true)), Arc::default());
    let flow = fragile(&broken, &runs);
    let mut run = flow.begin(json!({"n": 1}));
    while run.step().await {}
    let saved = save_and_read(&run);
    let report: Report = run.finish();
    assert_eq!((report.failures.len(), report.failures[0].kind), (1, FailureKind::Error));
    assert_eq!(report.stalled.len(), 1);

    // Resumed without `retry_failed`, the run keeps its failure.
    let report = flow.resume(saved.clone()).unwrap().to_end().await;
    assert_eq!((report.failures.len(), report.stalled.len()), (1, 1));
    // The node fails again, and the report contains the failure once.
    let mut again = flow.resume(saved.clone()).unwrap();
    assert_eq!(again.retry_failed(), 1);
    assert_eq!(again.to_end().await.failures.len(), 1);
    broken.store(false, Ordering::Relaxed);
    let mut again = flow.resume(saved).unwrap();
    assert_eq!(again.retry_failed(), 1);
    assert_eq!(again.next_node().map(|node| node.to_string()), Some("b".to_owned()));
    let report = again.to_end().await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(report.executed, ["a", "b", "b", "j"]);
    assert_eq!(runs.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_run_that_hit_its_limit_goes_on_with_a_higher_one() {
    let flow = |limit| workflow("a > b; b > c").step_limit(limit).build().unwrap();
    let mut run = flow(2).begin(json!({}));
    while run.step().await {}
    let saved = save_and_read(&run);
    assert!(run.finish().limit_hit);
    let report = flow(3).resume(saved.clone()).unwrap().to_end().await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(report.executed, ["a", "b", "c"]);
    assert!(flow(2).resume(saved).unwrap().to_end().await.limit_hit);
}
