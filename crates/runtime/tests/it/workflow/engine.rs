//! Tests of the engine: joins, rounds, failures, concurrency and limits.

use super::support::workflow;
use rulec_runtime::workflow::processors::{Loop, Vote};
use rulec_runtime::workflow::{
    Arrival, BoxFuture, Call, ConditionalRouter, FailureKind, FirstMatch, MergeStrategy, Node, NodeId,
    ProcessError, ProcessResult, Processor, Report, Route, Target, Workflow, WorkflowBuilder, from_fn,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Barrier, Notify};

/// Creates a processor that records its inputs and passes them on.
fn recording_processor(seen: &Arc<Mutex<Vec<Value>>>) -> Arc<dyn Processor> {
    let seen = seen.clone();
    from_fn(move |input: Value| {
        seen.lock().unwrap().push(input.clone());
        async move { Ok(input) }
    })
}

fn constant_processor(output: Value) -> Arc<dyn Processor> {
    from_fn(move |_| {
        let output = output.clone();
        async move { Ok(output) }
    })
}

fn failing_processor(message: &'static str) -> Arc<dyn Processor> {
    from_fn(move |_| async move { Err(ProcessError::from(message)) })
}

fn panicking_processor() -> Arc<dyn Processor> {
    from_fn(|_| async { panic!("boom") })
}

/// Returns the failures of a report: node, kind, message.
fn failure_list(report: &Report) -> Vec<(&str, FailureKind, &str)> {
    report.failures.iter().map(|failure| (&*failure.node, failure.kind, &*failure.message)).collect()
}

#[tokio::test]
async fn inputs_that_meet_are_merged_and_a_single_one_is_not() {
    let seen = Arc::default();
    let flow = workflow("s > a b; a > j; b > j")
        .processor("a", constant_processor(json!({"x": 1, "a": true})))
        .processor("b", constant_processor(json!({"x": 2, "b": true})))
        .processor("j", recording_processor(&seen));
    let report = flow.build().unwrap().run(json!({"begin": 1})).await;
    let merged = json!({"branch_0": {"x": 1, "a": true}, "branch_1": {"x": 2, "b": true}, "x": 1, "a": true, "b": true});
    assert_eq!(*seen.lock().unwrap(), std::slice::from_ref(&merged));
    assert_eq!(report.outputs, [("j".into(), merged)].into());

    let single = Arc::default();
    workflow("s > a").processor("a", recording_processor(&single)).build().unwrap().run(json!("text")).await;
    assert_eq!(*single.lock().unwrap(), [json!("text")]);
}

#[tokio::test]
async fn the_merge_is_a_strategy() {
    struct Sources;
    impl MergeStrategy for Sources {
        fn merge(&self, node: &NodeId, inputs: Vec<Arrival>) -> Value {
            json!({"at": node, "from": inputs.iter().map(|input| &input.from).collect::<Vec<_>>()})
        }
    }
    let flow = workflow("s > b a; a > j; b > j").merge(Sources).build().unwrap();
    let report = flow.run(json!({})).await;
    assert_eq!(report.outputs["j"], json!({"at": "j", "from": ["b", "a"]}));
}

#[tokio::test]
async fn a_stalled_run_names_who_waits_for_whom() {
    let flow =
        workflow("s > a b c; a > j; b > j; c > j k; x > k").processor("b", failing_processor("no network"));
    let report = flow.build_unchecked().unwrap().run(json!({})).await;
    let stalled: Vec<String> = report.stalled.iter().map(ToString::to_string).collect();
    assert_eq!(
        stalled,
        ["`j` waits for `b`; it has received `a` and `c`", "`k` waits for `x`; it has received `c`"]
    );
    assert_eq!(failure_list(&report), [("b", FailureKind::Error, "no network")]);
    assert_eq!(report.failures[0].to_string(), "`b` failed: no network");
    assert!(!report.is_complete());
}

#[tokio::test]
async fn a_failure_is_of_one_node_and_the_run_goes_on() {
    let slow = from_fn(|_| std::future::pending::<ProcessResult>());
    let below = |node: Node| node.time_limit(Duration::from_millis(1));
    for (kind, message, processor) in [
        (FailureKind::Error, "no network", failing_processor("no network")),
        (FailureKind::Panic, "panicked: boom", panicking_processor()),
        (FailureKind::TimeLimit, "it took longer than its limit of 1 ms", slow),
    ] {
        for text in ["s > p; p parallel > x ok; ok > after", "s > x ok; ok > after"] {
            let flow = super::support::adapted(text, |node| if node.id == "x" { below(node) } else { node });
            let report = flow.processor("x", processor.clone()).build().unwrap().run(json!({})).await;
            assert_eq!(failure_list(&report), [("x", kind, message)], "{text}");
            assert_eq!(report.executed, ["s", "x", "ok", "after"], "{text}");
            assert!(report.stalled.is_empty());
        }
    }
}

#[tokio::test]
async fn a_router_or_merge_that_panics_fails_its_node() {
    struct Broken;
    impl ConditionalRouter for Broken {
        fn route(&self, _: &Value, _: &[NodeId]) -> Route {
            panic!("lost the way")
        }
        fn routes(&self, _: &[NodeId]) -> Vec<Route> {
            vec![Route::to([Target::Every])]
        }
    }
    impl MergeStrategy for Broken {
        fn merge(&self, _: &NodeId, _: Vec<Arrival>) -> Value {
            panic!("{}", "cannot merge")
        }
    }
    let flow = workflow("s > r a b; r > z; a > j; b > j").router("r", Broken).merge(Broken).build().unwrap();
    let report = flow.run(json!({})).await;
    assert_eq!(
        failure_list(&report),
        [
            ("r", FailureKind::Panic, "panicked: lost the way"),
            ("j", FailureKind::Panic, "panicked: cannot merge")
        ]
    );
    assert_eq!(report.executed, ["s", "r", "a", "b"]);
}

#[tokio::test]
async fn causes_of_an_error_are_told() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot ask the model")]
    struct Outer(#[source] std::fmt::Error);
    let flow = workflow("s").processor("s", from_fn(|_| async { Err(Outer(std::fmt::Error).into()) }));
    let report = flow.build().unwrap().run(json!({})).await;
    let cause = std::fmt::Error.to_string();
    assert_eq!(report.failures[0].message, format!("cannot ask the model: {cause}"));
}

/// Runs children that wait for each other, so they end only if they run concurrently.
async fn run_children_that_meet() {
    let barrier = Arc::new(Barrier::new(3));
    let meeting = from_fn(move |_| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok(json!({}))
        }
    });
    let mut flow = workflow("s > p; p parallel > a b c; a > j; b > j; c > j");
    for child in ["a", "b", "c"] {
        flow = flow.processor(child, meeting.clone());
    }
    let report = flow.build().unwrap().run(json!({})).await;
    assert_eq!(report.executed, ["s", "a", "b", "c", "j"]);
    assert!(report.is_complete());
}

#[tokio::test]
async fn children_run_side_by_side_on_one_thread() {
    run_children_that_meet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_run_side_by_side_on_two_threads() {
    run_children_that_meet().await;
}

#[tokio::test]
async fn children_that_end_in_another_order_deliver_in_listed_order() {
    // `a` waits until `b` has ended.
    let ended = Arc::new(Notify::new());
    let waiting = ended.clone();
    let late = from_fn(move |_| {
        let waiting = waiting.clone();
        async move {
            waiting.notified().await;
            Ok(json!({"who": "a"}))
        }
    });
    let early = from_fn(move |_| {
        ended.notify_one();
        async { Ok(json!({"who": "b"})) }
    });
    let flow = workflow("s > p; p parallel > a b; a > j; b > j").processor("a", late).processor("b", early);
    let report = flow.build().unwrap().run(json!({})).await;
    assert_eq!(report.outputs["j"]["branch_0"], json!({"who": "a"}));
    assert_eq!(report.outputs["j"]["branch_1"], json!({"who": "b"}));
}

#[tokio::test]
async fn dropping_a_run_ends_what_was_running() {
    struct Guard(Arc<Notify>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (started, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, end) = (started.clone(), dropped.clone());
    let endless = from_fn(move |_| {
        let (guard, begin) = (Guard(end.clone()), begin.clone());
        async move {
            let _guard = guard;
            begin.notify_one();
            std::future::pending().await
        }
    });
    let flow = workflow("s > p; p parallel > a").processor("a", endless).build().unwrap();
    let run = tokio::spawn({
        let flow = flow.clone();
        async move { flow.run(json!({})).await }
    });
    started.notified().await;
    run.abort();
    dropped.notified().await;
    assert!(run.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_processor_is_made_once_per_node() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let mut rounds = 0;
    let flow = Workflow::builder("w")
        .node(Node::new("w", "counted").next(["l"]))
        .node(Node::new("l", "loop").next(["w", "end"]).config(json!({"max_rounds": 3})))
        .node(Node::new("end", "counted"))
        .kind("loop", Loop::factory)
        .kind("counted", move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(from_fn(|input: Value| async move { Ok(input) }))
        })
        .shared_router("l", super::support::router("loop", "").unwrap())
        .build()
        .unwrap();
    for _ in 0..3 {
        let report = flow.run(json!({})).await;
        rounds += report.executed.iter().filter(|id| **id == "w").count();
    }
    assert_eq!((made.load(Ordering::Relaxed), rounds), (2, 9));
}

#[tokio::test]
async fn rounds_are_counted_by_the_engine_and_memory_belongs_to_a_run() {
    let seen = Arc::default();
    // The node in between drops every field; the round count does not depend on it.
    let forgetful = {
        let recorder = recording_processor(&seen);
        struct Forget(Arc<dyn Processor>);
        impl Processor for Forget {
            fn process<'a>(&'a self, call: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
                Box::pin(async move {
                    self.0.process(call, input).await?;
                    Ok(json!({"score": 50}))
                })
            }
        }
        Arc::new(Forget(recorder))
    };
    let flow = Workflow::builder("w")
        .node(Node::new("w", "").next(["l"]))
        .node(Node::new("l", "loop").next(["w", "end"]).config(json!({"max_rounds": 3, "exit_on_score": 90})))
        .node(Node::new("end", ""))
        .processor("w", forgetful)
        .kind("loop", Loop::factory)
        .kind("", |_| Ok(from_fn(|input: Value| async move { Ok(input) })))
        .shared_router("l", super::support::router("loop", "").unwrap())
        .build()
        .unwrap();
    let (one, two) = tokio::join!(flow.run(json!({"score": 99})), flow.run(json!({})));
    for report in [&one, &two] {
        assert_eq!(
            report.outputs["end"],
            json!({"score": 50, "iteration": 3, "current_round": 3, "should_exit": true, "exit_reason": "max_rounds_reached"})
        );
    }
    let rounds: Vec<Value> = seen.lock().unwrap().iter().map(|input| input["iteration"].clone()).collect();
    assert_eq!(rounds.len(), 6);
    for round in [json!(null), json!(2), json!(3)] {
        assert_eq!(rounds.iter().filter(|seen| **seen == round).count(), 2);
    }
}

#[tokio::test]
async fn a_vote_takes_its_input_along() {
    let flow = Workflow::builder("v")
        .node(Node::new("v", "vote").next(["yes", "no"]).config(json!({"threshold": 0.5})))
        .node(Node::new("yes", ""))
        .node(Node::new("no", ""))
        .kind("vote", Vote::factory)
        .kind("", |_| Ok(from_fn(|input: Value| async move { Ok(input) })))
        .shared_router("v", super::support::router("vote", "").unwrap())
        .build()
        .unwrap();
    let report = flow.run(json!({"a": "YES", "b": "NO", "n": 1})).await;
    let expected = json!({"a": "YES", "b": "NO", "n": 1, "approved": true, "total_votes": 2, "yes_votes": 1});
    assert_eq!(report.outputs, [("yes".into(), expected)].into());
}

#[test]
fn settings_out_of_range_are_refused() {
    let cases = [
        (Loop::factory as fn(&Node) -> _, json!({}), "missing field `max_rounds`"),
        (Loop::factory, json!({"max_rounds": 0}), "at least 1 round"),
        (Loop::factory, json!({"max_rounds": 2, "exit_on_score": -1}), "0 turns it off"),
        (Loop::factory, json!({"max_rounds": 2, "rounds": 1}), "unknown field `rounds`"),
        (Vote::factory, Value::Null, "`config`: "),
        (Vote::factory, json!({"threshold": 1.5}), "a share from 0 to 1"),
    ];
    for (factory, config, expected) in cases {
        let error = factory(&Node::new("n", "").config(config)).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_processor_may_be_its_own_router_and_a_given_one_comes_first() {
    struct Chooser(FirstMatch);
    impl Processor for Chooser {
        fn process<'a>(&'a self, _: &'a Call, input: Value) -> BoxFuture<'a, ProcessResult> {
            Box::pin(async move { Ok(input) })
        }
        fn router(&self) -> Option<&dyn ConditionalRouter> {
            Some(&self.0)
        }
    }
    let to = |slot| FirstMatch::new().otherwise(Route::to([Target::Next(slot)]));
    let flow = || workflow("c > a b").processor("c", Arc::new(Chooser(to(1))));
    assert_eq!(flow().build().unwrap().run(json!({})).await.executed, ["c", "b"]);
    assert_eq!(flow().router("c", to(0)).build().unwrap().run(json!({})).await.executed, ["c", "a"]);
}

#[tokio::test]
async fn the_step_limit_ends_a_run() {
    let endless = || workflow("w > l; l loop > w end");
    for (limit, steps) in [(0, 0), (1, 1), (7, 7)] {
        let report = endless().step_limit(limit).build().unwrap().run(json!({})).await;
        assert_eq!((report.executed.len(), report.limit_hit), (steps, true));
    }
    let report = endless().build().unwrap().run(json!({})).await;
    assert_eq!((report.executed.len(), report.limit_hit), (10_000, true));
    // A limit of exactly the needed steps suffices. Children of a parallel node count as steps, and
    // either all or none run.
    let parallel = || workflow("s > p; p parallel > a b");
    let report = parallel().step_limit(3).build().unwrap().run(json!({})).await;
    assert!(report.is_complete());
    let report = parallel().step_limit(2).build().unwrap().run(json!({})).await;
    assert_eq!((report.executed.len(), report.limit_hit), (1, true));
}

#[tokio::test]
async fn a_hundred_thousand_steps_need_no_deep_stack() {
    const STEPS: usize = 100_000;
    let looping = workflow("w > l; l loop > w end").step_limit(STEPS).build().unwrap();
    let report = looping.run(json!({})).await;
    assert_eq!((report.executed.len(), report.limit_hit), (STEPS, true));

    let chain = chain(STEPS, |_| None).step_limit(STEPS + 1).build().unwrap();
    let report = chain.run(json!({})).await;
    assert!(report.is_complete());
    assert_eq!(report.executed.len(), STEPS + 1);
}

#[tokio::test]
async fn deliveries_that_wait_for_the_consequences_of_others_are_made_last_first() {
    const STEPS: usize = 5_000;
    // Every node of the chain also delivers to its own extra node, after the chain.
    let chain = chain(STEPS, |number| Some(format!("m{number}"))).step_limit(2 * STEPS + 1).build().unwrap();
    let report = chain.run(json!({})).await;
    assert!(report.is_complete());
    let asides: Vec<String> = (0..STEPS).rev().map(|number| format!("m{number}")).collect();
    assert!(report.executed[STEPS + 1..].iter().map(|id| id.as_str()).eq(asides.iter().map(String::as_str)));
}

/// Builds a chain of nodes `n0 > n1 > …`, up to the number `length`. `aside` receives a node's
/// number and returns the id of an extra next node of this node, if it has one.
fn chain(length: usize, aside: impl Fn(usize) -> Option<String>) -> WorkflowBuilder {
    let mut flow =
        Workflow::builder("n0").kind("work", |_| Ok(from_fn(|input: Value| async move { Ok(input) })));
    for number in 0..length {
        let aside = aside(number);
        let next = [Some(format!("n{}", number + 1)), aside.clone()];
        flow = flow.node(Node::new(format!("n{number}"), "work").next(next.into_iter().flatten()));
        flow = flow.nodes(aside.map(|id| Node::new(id, "work")));
    }
    flow.node(Node::new(format!("n{length}"), "work"))
}

#[tokio::test]
async fn a_report_is_plain_data() {
    let flow = workflow("s > p; p parallel > a ghost; a > j; x > j").build_unchecked().unwrap();
    let report = flow.run(json!({"n": 1})).await;
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json,
        json!({
            "executed": ["s", "a"],
            "deliveries": [["s", "p", true, false], ["a", "j", false, false]],
            "stalled": [{"node": "j", "received": ["a"], "waiting_for": ["x"]}],
            "limit_hit": false,
            "failures": [{"node": "ghost", "kind": "unknown_node", "message": "the parallel node `p` has no such child"}],
            "outputs": {},
        })
    );
    assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
}

#[test]
fn nodes_are_plain_data() {
    let text = json!({"id": "a", "type": "work", "next": ["b"], "config": {"x": 1}, "time_limit_ms": 5});
    let node: Node = serde_json::from_value(text).unwrap();
    assert_eq!(
        node,
        Node::new("a", "work").next(["b"]).config(json!({"x": 1})).time_limit(Duration::from_millis(5))
    );
    let error = serde_json::from_value::<Node>(json!({"id": "a", "nxt": []})).unwrap_err();
    assert!(error.to_string().contains("unknown field `nxt`"));
}
