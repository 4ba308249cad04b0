//! Tests of what bounds the data of a run: merges in loops, the byte limit, and the voters of a
//! vote.

use super::support::workflow;
use rulec_runtime::workflow::processors::{Loop, Vote, vote_of};
use rulec_runtime::workflow::{
    AppendValues, ByNode, FailureKind, Node, Processor, SavedRun, WorkflowBuilder, from_fn,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Builds a loop in which two debaters run at once. Each returns its whole input and a speech.
/// `largest` receives the greatest size of the merged inputs, in bytes of JSON.
fn council(rounds: i64, largest: &Arc<Mutex<usize>>) -> WorkflowBuilder {
    let debater = |name: &'static str| -> Arc<dyn Processor> {
        from_fn(move |mut input: Value| {
            input[name] = json!("a speech of some length ".repeat(40));
            async move { Ok(input) }
        })
    };
    let largest = largest.clone();
    let note_size = from_fn(move |input: Value| {
        let size = input.to_string().len();
        let mut largest = largest.lock().unwrap();
        *largest = size.max(*largest);
        async move { Ok(input) }
    });
    let settings = Node::new("l", "loop").config(json!({"max_rounds": rounds}));
    workflow("s > d; d parallel > a b; a > j; b > j; j > l; l loop > d end")
        .processor("a", debater("a"))
        .processor("b", debater("b"))
        .processor("j", note_size)
        .processor("l", Loop::factory(&settings).unwrap())
}

/// Regression test: each round doubled the merged input, so 17 rounds took 106 MB.
#[tokio::test]
async fn a_council_of_fifty_rounds_stays_small() {
    let mut sizes = Vec::new();
    for rounds in [5, 50] {
        let largest = Arc::default();
        let report = council(rounds, &largest).build().unwrap().run(json!({"topic": "tea"})).await;
        assert!(report.is_complete(), "{report:?}");
        assert_eq!(report.outputs["end"]["current_round"], json!(rounds));
        sizes.push(*largest.lock().unwrap());
    }
    assert!(sizes[1] < 10_000 && sizes[1] <= sizes[0] + 10, "{sizes:?}");
}

/// Regression test: debaters that returned their whole input under a key, as an HTTP echo does,
/// took 6 KB in 3 rounds and 7.5 MB in 9.
#[tokio::test]
async fn a_council_that_nests_its_input_grows_at_most_linearly() {
    let run = async |rounds| {
        let largest = Arc::default();
        let nest = |input: Value| async move { Ok(json!({"echo": input})) };
        let flow = council(rounds, &largest).processor("a", from_fn(nest)).processor("b", from_fn(nest));
        let flow = flow.build().unwrap();
        // A run that is saved and resumed grows as little.
        let mut run = flow.begin(json!({"topic": "tea ".repeat(100)}));
        while run.step().await {
            let saved = serde_json::to_string(&run.save()).unwrap();
            run = flow.resume(serde_json::from_str::<SavedRun>(&saved).unwrap()).unwrap();
        }
        let report = run.finish();
        assert!(report.is_complete(), "{report:?}");
        *largest.lock().unwrap()
    };
    let (small, large) = (run(10).await, run(20).await);
    assert!(large <= small * 2 && large < 20_000, "{small} {large}");
}

/// Regression test: nodes that return all their input doubled the data in each round, also if the
/// inputs are merged by node or into lists.
#[tokio::test]
async fn every_merge_grows_at_most_linearly() {
    let run = async |rounds, is_by_node| {
        let largest = Arc::default();
        let builder = council(rounds, &largest);
        let builder = if is_by_node { builder.merge(ByNode) } else { builder.merge(AppendValues) };
        let flow = builder.build().unwrap();
        // A run that is saved and resumed grows as little.
        let mut run = flow.begin(json!({"topic": "tea"}));
        while run.step().await {
            let saved = serde_json::to_string(&run.save()).unwrap();
            run = flow.resume(serde_json::from_str::<SavedRun>(&saved).unwrap()).unwrap();
        }
        let report = run.finish();
        assert!(report.is_complete(), "{report:?}");
        let size = *largest.lock().unwrap();
        (size, report.outputs["end"].clone())
    };
    let (size, output) = run(40, true).await;
    assert!(size < 10_000, "{size}");
    assert_eq!(output["a"]["topic"], Value::Null);
    let (small, _) = run(10, false).await;
    let (large, output) = run(40, false).await;
    assert!(large < small * 5, "{small} {large}");
    assert!(output["topic"].as_array().is_some_and(|topics| topics.len() == 2), "{output}");
}

/// Regression test: each saved run contained the merged inputs of all joins.
#[tokio::test]
async fn a_merged_input_is_saved_only_inside_a_loop() {
    let saved = async |builder: WorkflowBuilder| {
        let flow = builder.merge(ByNode).build().unwrap();
        let mut run = flow.begin(json!({"topic": "tea"}));
        while run.step().await {}
        json!(run.save())["state"]["merged"].clone()
    };
    assert!(saved(council(3, &Arc::default())).await["j"].is_object());
    assert_eq!(saved(workflow("s > a b; a > j; b > j; j > k l; k > m; l > m")).await, Value::Null);
}

/// Two joins in one loop: the merged input of each contains the outputs of the other.
#[tokio::test]
async fn two_merges_by_node_in_a_loop_stay_small() {
    let largest: Arc<Mutex<usize>> = Arc::default();
    let all = |name: &'static str| -> Arc<dyn Processor> {
        from_fn(move |mut input: Value| {
            input["said"] = json!(name);
            async move { Ok(input) }
        })
    };
    let sizes = largest.clone();
    let note = from_fn(move |input: Value| {
        let mut largest = sizes.lock().unwrap();
        *largest = input.to_string().len().max(*largest);
        async move { Ok(input) }
    });
    let settings = Node::new("l", "loop").config(json!({"max_rounds": 30}));
    let flow = workflow(
        "s > d; d parallel > a b; a > j; b > j; j > e; e parallel > f g; f > k; g > k; k > l; l loop > d end",
    );
    let flow = flow.processor("a", all("a")).processor("b", all("b")).processor("f", all("f"));
    let flow = flow.processor("g", all("g")).processor("j", note).merge(ByNode);
    let flow = flow.processor("l", Loop::factory(&settings).unwrap()).build().unwrap();
    assert!(flow.run(json!({"topic": "tea"})).await.is_complete());
    let size = *largest.lock().unwrap();
    assert!(size < 20_000, "{size}");
}

#[tokio::test]
async fn a_node_beyond_the_byte_limit_fails_with_the_remedy() {
    let large = from_fn(|_| async { Ok(json!("x".repeat(998))) });
    let flow =
        |limit| workflow("s > a; a > b").processor("a", large.clone()).byte_limit(limit).build().unwrap();
    assert!(flow(1_000).run(json!({})).await.is_complete());
    let report = flow(999).run(json!({})).await;
    let [failure] = &report.failures[..] else { panic!("{report:?}") };
    assert_eq!((&*failure.node, failure.kind), ("a", FailureKind::SizeLimit));
    let message =
        "its output has 1000 bytes, and the limit is 999; let nodes return less, or merge in another way";
    assert_eq!(failure.message, message);
    // The byte limit also applies to the merged input of a join.
    let large = from_fn(|_| async { Ok(json!({"x": "x".repeat(500)})) });
    let join = workflow("s > a b; a > j; b > j").processor("a", large.clone()).processor("b", large);
    let report = join.byte_limit(900).build().unwrap().run(json!({})).await;
    assert_eq!((&*report.failures[0].node, report.failures[0].kind), ("j", FailureKind::SizeLimit));
}

#[tokio::test]
async fn only_the_named_voters_vote() {
    let vote = |config: Value| Vote::factory(&Node::new("v", "vote").config(config)).unwrap();
    let run = async |config: Value, input: Value| {
        let report = workflow("v").processor("v", vote(config)).build().unwrap().run(input).await;
        let output = &report.outputs["v"];
        (output["approved"].clone(), output["yes_votes"].clone(), output["total_votes"].clone())
    };
    let input = json!({"a": "YES", "b": "NO", "topic": "YES", "exit_reason": "max_rounds_reached"});
    let named = json!({"threshold": 0.5, "voters": ["a", "b", "c"]});
    assert_eq!(run(named, input.clone()).await, (json!(false), json!(1), json!(3)));
    assert_eq!(run(json!({"threshold": 0.5}), input).await, (json!(true), json!(2), json!(3)));
    // A voter that is named twice is refused, and so is an empty list.
    for (voters, says) in [(json!(["a", "a"]), "names `a` twice"), (json!([]), "`voters` is empty")] {
        let node = Node::new("v", "vote").config(json!({"threshold": 0.5, "voters": voters}));
        let Err(error) = Vote::factory(&node) else { panic!("{voters}") };
        assert!(error.to_string().contains(says), "{error}");
    }
    let voters = ["a".to_owned(), "a".to_owned(), "b".to_owned()];
    let counted = vote_of(&voters, &json!({"a": "YES", "b": "NO"}), 0.6);
    assert_eq!((counted.approved, counted.total_votes), (false, 2));
    // The voters may be nodes; each vote is then the field `vote` of a node's output.
    let said = |vote: &'static str| from_fn(move |_| async move { Ok(json!({"vote": vote, "text": "YES"})) });
    let flow = workflow("s > a b; a > v; b > v").processor("a", said("YES")).processor("b", said("NO"));
    let config = json!({"threshold": 0.6, "voters": ["a", "b"]});
    let report = flow.processor("v", vote(config)).merge(ByNode).build().unwrap().run(json!({})).await;
    assert_eq!(report.outputs["v"]["approved"], json!(false));
}
