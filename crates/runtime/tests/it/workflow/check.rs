//! Tests of the graph check: for each fault a small graph with the fault, and graphs without
//! faults.

use super::support::workflow;
use FindingKind::*;
use rulec_runtime::workflow::{
    FindingKind, FirstMatch, Node, ProcessError, Route, Severity, Target, Workflow, WorkflowBuilder, from_fn,
};
use serde_json::{Value, json};

/// Returns the findings of a workflow, and whether it was built.
fn build_findings(builder: WorkflowBuilder) -> (Vec<(FindingKind, Severity, String)>, bool) {
    let (findings, built) = match builder.build() {
        Ok(workflow) => (workflow.findings().to_vec(), true),
        Err(error) => (error.findings().to_vec(), false),
    };
    let text = findings
        .iter()
        .map(|finding| {
            let path: Vec<&str> = finding.path.iter().map(|id| id.as_str()).collect();
            (finding.kind, finding.severity, path.join(" "))
        })
        .collect();
    (text, built)
}

fn assert_findings(name: &str, builder: WorkflowBuilder, expected: &[(FindingKind, Severity, &str)]) {
    let (findings, built) = build_findings(builder);
    let expected: Vec<_> =
        expected.iter().map(|(kind, severity, path)| (*kind, *severity, (*path).to_owned())).collect();
    assert_eq!(findings, expected, "{name}");
    let errors = expected.iter().any(|(_, severity, _)| *severity == Severity::Error);
    assert_eq!(built, !errors, "{name}");
}

const ERROR: Severity = Severity::Error;
const WARNING: Severity = Severity::Warning;

#[test]
fn faults_in_the_lists_of_next_nodes() {
    for (text, expected) in [
        ("s > a ghost", vec![(UnknownNext, ERROR, "s ghost")]),
        ("s > a a", vec![(RepeatedNext, WARNING, "s a")]),
        ("s > p; p parallel > a q; q parallel > b c", vec![(NestedParallel, ERROR, "s p q")]),
        ("s > p; p parallel >", vec![(EmptyParallel, WARNING, "s p")]),
        ("s > a; x > y", vec![(Unreachable, WARNING, "x"), (Unreachable, WARNING, "y")]),
        ("s > a; x > y; y > a", {
            vec![(Unreachable, WARNING, "x"), (Unreachable, WARNING, "y"), (JoinNeverFills, ERROR, "s a")]
        }),
    ] {
        assert_findings(text, workflow(text), &expected);
    }
}

#[test]
fn faults_in_cycles_and_loops() {
    for (text, expected) in [
        ("s > a; a > b; b > a", vec![(CycleWithoutLoopBack, ERROR, "a b a")]),
        ("s > a; a > a", vec![(CycleWithoutLoopBack, ERROR, "a a")]),
        // The shorter of two cycles is reported.
        ("s > a; a > b c; b > a; c > d; d > a", vec![(CycleWithoutLoopBack, ERROR, "a b a")]),
        // Two separate cycles.
        ("s > a x; a > a; x > y; y > x", {
            vec![(CycleWithoutLoopBack, ERROR, "a a"), (CycleWithoutLoopBack, ERROR, "x y x")]
        }),
        // A router that closes a cycle must declare a loop-back.
        ("s > w; w > v; v vote > end w", vec![(CycleWithoutLoopBack, ERROR, "w v w")]),
        ("s > w; w > r; r pick > w end", vec![(CycleWithoutLoopBack, ERROR, "w r w")]),
        ("s > w; w > l; l loop > w", vec![(LoopWithoutExit, ERROR, "s w l")]),
        ("s > l; l loop > end", {
            vec![(LoopWithoutExit, ERROR, "s l"), (LoopBackOutsideLoop, WARNING, "s l")]
        }),
        ("s > l; l loop > a end", vec![(LoopBackOutsideLoop, WARNING, "s l")]),
        ("s > v; v vote > yes", vec![(MissingTarget, ERROR, "s v")]),
        ("s > v; v vote >", vec![(MissingTarget, ERROR, "s v")]),
    ] {
        assert_findings(text, workflow(text), &expected);
    }
}

#[test]
fn faults_in_joins() {
    for (text, expected) in [
        ("s > v; v vote > a b; a > j; b > j", vec![(ExclusiveJoin, ERROR, "s v a j")]),
        ("s > v; v vote > j b; b > j", vec![(ExclusiveJoin, ERROR, "s v j")]),
        // The branches split long before the join, and a third incoming edge does not help.
        ("s > v o; v vote > a b; a > c; c > j; b > d; d > j; o > j", {
            vec![(ExclusiveJoin, ERROR, "s o j")]
        }),
        // The choice is made by a child of a parallel node.
        ("s > p; p parallel > v x; v vote > a b; a > j; b > j; x > y", {
            vec![(ExclusiveJoin, ERROR, "s p v a j")]
        }),
        // In a loop, the two branches may deliver in different rounds.
        ("s > v; v vote > a b; a > j l; b > j; j > end; l loop > v out", {
            vec![(ExclusiveJoin, WARNING, "s v a j")]
        }),
        // The output may list both nodes as its targets.
        ("s > r; r pick > a b; a > j; b > j", vec![]),
        // With a router that reads its targets from the output, the finding is only a warning.
        ("s > r; r pick > a v; v vote > x y; x > j; y > j", vec![(ExclusiveJoin, WARNING, "s r v x j")]),
        ("s > o p; o > a; p parallel > a b", vec![(JoinNeverFills, ERROR, "s o a")]),
    ] {
        assert_findings(text, workflow(text), &expected);
    }
}

#[test]
fn sound_workflows_have_no_findings() {
    for text in [
        "s",
        "s > a b; a > j; b > j",
        "s > p; p parallel > a b; a > j; b > j; j > end",
        "s > w; w > l; l loop > w end",
        "s > l; l loop > l end",
        "s > v; v vote > yes no",
        // Each branch ends at its own node after the split, so there is no join.
        "s > v o; v vote > a b; a > x; b > y; o > z",
        // The exit of a loop meets a slow branch.
        "s > w o; o > j; w > l; l loop > w j; j > end",
        "s > m; m > p; p parallel > a n; a > j; n > j; j > l; l loop > m end",
        // Nested loops.
        "s > a; a > i; i loop > a o; o loop > a end",
        // Both results of the vote lead through the same two nodes.
        "s > v; v vote > a a2; a > b c; b > j; c > j; a2 > z",
    ] {
        assert_findings(text, workflow(text), &[]);
    }
}

#[test]
fn faults_of_routers_that_name_nodes() {
    let to = |name: &str| Route::to([Target::Node(name.into())]);
    let base = || workflow("s > a b; a > c");
    assert_findings(
        "unknown and unlisted",
        base().router("s", FirstMatch::new().when(|_| true, to("ghost")).when(|_| true, to("c"))),
        &[(UnlistedTarget, WARNING, "s"), (UnknownTarget, ERROR, "s")],
    );
    // No route leads to `b`, so `j` waits forever.
    assert_findings(
        "a branch nobody takes",
        workflow("s > a b; a > j; b > j").router("s", FirstMatch::new().otherwise(to("a"))),
        &[(Unreachable, WARNING, "b"), (JoinNeverFills, ERROR, "s a j")],
    );
    assert_findings(
        "an edge nobody takes",
        workflow("s > a j; a > j").router("s", FirstMatch::new().otherwise(to("a"))),
        &[(JoinNeverFills, ERROR, "s a j")],
    );
    assert_findings(
        "only loop-backs",
        workflow("s > l; l > a b; a > l2; l2 > l; b > l3; l3 > l")
            .router("l2", FirstMatch::new().otherwise(to("l").looping_back()))
            .router("l3", FirstMatch::new().when(|_| true, to("l").looping_back()).otherwise(to("end")))
            .node(Node::new("end", "work")),
        &[
            (LoopWithoutExit, ERROR, "s l a l2"),
            (LoopWithoutExit, ERROR, "s l b l3"),
            (UnlistedTarget, WARNING, "s l b l3"),
        ],
    );
    assert_findings(
        "an edge that is both",
        workflow("s > l; l > s2 end; s2 > l").router(
            "s2",
            FirstMatch::new()
                .when(|_| true, Route::to([Target::Next(0)]))
                .when(|_| true, to("end"))
                .otherwise(Route::to([Target::Next(0)]).looping_back()),
        ),
        &[(LoopWithoutExit, ERROR, "s l s2"), (UnlistedTarget, WARNING, "s l s2")],
    );
    assert_findings(
        "an edge that is both, with a way out",
        workflow("s > l; l > end s2; s2 > l x").router(
            "s2",
            FirstMatch::new()
                .when(|_| true, Route::to([Target::Next(0)]))
                .when(|_| true, Route::to([Target::Next(1)]))
                .otherwise(Route::to([Target::Next(0)]).looping_back()),
        ),
        &[(MixedLoopBack, WARNING, "s l s2")],
    );
    assert_findings(
        "a router nobody asks",
        workflow("s > p; p parallel > a b").router("p", FirstMatch::new()),
        &[(IdleRouter, WARNING, "s p")],
    );
}

#[test]
fn faults_that_leave_nothing_to_run_stop_even_the_unchecked_build() {
    let failing = |_: &Node| Err(ProcessError::from("no key"));
    let cases = [
        (workflow("s > a").node(Node::new("a", "work")), "there are two nodes `a`"),
        (
            workflow("s > a").node(Node::new("b", "other")),
            "`b` has no processor because its kind `other` is not registered",
        ),
        (
            workflow("s > a").node(Node::new("b", "bad")).kind("bad", failing),
            "the processor of `b` cannot be created: no key",
        ),
        (Workflow::builder("a"), "the workflow starts at `a`, which is not a node"),
        (workflow("s > a").router("z", FirstMatch::new()), "is given for `z`, which is not a node"),
        (
            workflow("s > a").processor("z", from_fn(|input: Value| async move { Ok(input) })),
            "is given for `z`, which is not a node",
        ),
    ];
    for (builder, expected) in cases {
        let error = builder.build_unchecked().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_message_names_the_fault_the_path_and_the_remedy() {
    let error =
        workflow("s > v; v vote > a b; a > j; b > j; p parallel > q; q parallel > j").build().unwrap_err();
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "error[nested-parallel]: the parallel node `q` is a direct child of the parallel node `p`; \
             path: p → q; list the inner children under the outer parallel node",
            "error[join-never-fills]: `j` waits for `q`, but can never receive output from there; \
             path: s → v → a → j; remove the edge, or let its source send a value along it",
        ]
    );
    let error = workflow("s > v; v vote > a b; a > j; b > j").build().unwrap_err().to_string();
    assert_eq!(
        error,
        "error[exclusive-join]: `j` waits for `a` and `b`, but no route of `v` leads to all of them; \
         path: s → v → a → j; let one of the branches end elsewhere, or give each branch its own node"
    );
}

#[tokio::test]
async fn an_unchecked_build_keeps_the_findings_and_runs() {
    let flow = workflow("s > v; v vote > yes").build_unchecked().unwrap();
    assert_eq!(flow.findings().len(), 1);
    assert_eq!(flow.run(json!({})).await.executed, ["s", "v", "yes"]);
}
