//! Random workflows: compares the engine with a second, simpler implementation of the same
//! specification. Also checks that a join never runs if the graph check reports that it cannot get
//! all its inputs.

use super::support::router;
use rulec_conformance::workflow::run_case;
use rulec_runtime::workflow::{FindingKind, Node, NodeId, Severity, Workflow, from_fn};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A small random generator with a seed, so that failures can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[self.below(from.len())].to_owned()
    }
}

/// Returns a random conformance case of the kind `workflow`, without its expected result.
fn random_case(seed: u64) -> Value {
    let mut random = Random(seed);
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let count = 2 + random.below(ids.len() - 1);
    let ids = &ids[..count];
    let mut nodes = BTreeMap::new();
    let mut outputs = BTreeMap::new();
    for (number, id) in ids.iter().enumerate() {
        // Mostly forward edges, so that runs get far.
        let ahead = &ids[(number + 1).min(count - 1)..];
        let mut next: Vec<String> = (0..random.below(4)).map(|_| random.pick(ahead)).collect();
        if random.below(3) > 0 {
            next.dedup();
        }
        if random.below(12) == 0 {
            next.push(random.pick(ids));
        }
        if random.below(25) == 0 {
            next.push("ghost".to_owned());
        }
        let kind = match random.below(10) {
            0 | 1 => "parallel",
            2 | 3 => "vote",
            4 | 5 => "loop",
            6 => "pick",
            _ => "agent",
        };
        if kind == "loop" && random.below(4) > 0 {
            next.insert(0, random.pick(&ids[..=number]));
        }
        let mut node = json!({"type": kind, "next": next, "fail": random.below(15) == 0});
        if matches!(kind, "vote" | "loop" | "pick") {
            node["rule"] = kind.into();
        }
        nodes.insert(*id, node);
        let mut given = Vec::new();
        for _ in 0..1 + random.below(3) {
            let picks: Vec<String> = (0..random.below(3)).map(|_| random.pick(ids)).collect();
            given.push(
                json!({"approved": random.below(2) == 0, "should_exit": random.below(3) > 0, "next": picks}),
            );
        }
        // A node that has used all its outputs repeats the last one. So the last output must end
        // every loop.
        given.push(json!({"approved": random.below(2) == 0, "should_exit": true, "next": []}));
        outputs.insert(*id, given);
    }
    json!({"kind": "workflow", "start": "a", "nodes": nodes, "outputs": outputs})
}

/// A direct recursive implementation of workflow runs, with which the engine is compared.
struct ReferenceRun<'c> {
    case: &'c Value,
    runs: BTreeMap<String, usize>,
    waiting: BTreeMap<String, usize>,
    executed: Vec<String>,
    deliveries: Vec<(String, String, bool, bool)>,
}

/// Number of steps after which a random case is discarded.
const MAX_STEPS: usize = 300;

impl<'c> ReferenceRun<'c> {
    /// Runs a case, at most for about the number of steps after which a case is discarded. Returns
    /// the state at the end of the run.
    fn read(case: &'c Value) -> Self {
        let mut plain = ReferenceRun {
            case,
            runs: BTreeMap::new(),
            waiting: BTreeMap::new(),
            executed: Vec::new(),
            deliveries: Vec::new(),
        };
        plain.run("a");
        plain
    }

    fn kind(&self, id: &str) -> &str {
        self.case["nodes"][id]["type"].as_str().unwrap_or("ghost")
    }

    fn next(&self, id: &str) -> Vec<String> {
        let next = self.case["nodes"][id]["next"].as_array().unwrap();
        next.iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Returns the number of incoming edges, without the loop-backs (edges to an earlier node) that
    /// a loop declares.
    fn incoming(&self, id: &str) -> usize {
        let nodes = self.case["nodes"].as_object().unwrap();
        let edges = nodes.keys().flat_map(|from| {
            let next = self.next(from);
            let back = (self.kind(from) == "loop").then(|| next.first().cloned()).flatten();
            next.into_iter().filter(move |to| Some(to) != back.as_ref())
        });
        edges.filter(|to| to == id).count()
    }

    fn process(&mut self, id: &str) -> Option<Value> {
        self.executed.push(id.to_owned());
        let run = self.runs.entry(id.to_owned()).or_default();
        *run += 1;
        let outputs = self.case["outputs"][id].as_array().unwrap();
        let output = outputs.get(*run - 1).or(outputs.last()).unwrap();
        (self.case["nodes"][id]["fail"] != true).then(|| output.clone())
    }

    fn run(&mut self, id: &str) {
        if self.executed.len() > MAX_STEPS {
            return;
        }
        if self.kind(id) == "parallel" {
            let children = self.next(id);
            let runnable = children.iter().filter(|child| !["parallel", "ghost"].contains(&self.kind(child)));
            let runnable: Vec<String> = runnable.cloned().collect();
            let outputs: Vec<_> = runnable.iter().map(|child| self.process(child)).collect();
            for (child, output) in runnable.iter().zip(outputs) {
                self.deliver_output(child, output);
            }
        } else {
            let output = self.process(id);
            self.deliver_output(id, output);
        }
    }

    fn deliver_output(&mut self, from: &str, output: Option<Value>) {
        let Some(output) = output else { return };
        let next = self.next(from);
        let slot = |slot: usize| next.get(slot).map_or(next.clone(), |id| vec![id.clone()]);
        let (targets, back) = match self.kind(from) {
            "loop" if output["should_exit"] == true => (slot(1), false),
            "loop" => (slot(0), true),
            "vote" => (slot(if output["approved"] == true { 0 } else { 1 }), false),
            "pick" => {
                let listed = output["next"].as_array().unwrap();
                (listed.iter().map(|id| id.as_str().unwrap().to_owned()).collect(), false)
            }
            _ => (next, false),
        };
        for to in targets {
            if self.executed.len() > MAX_STEPS {
                return;
            }
            let known = self.kind(&to) != "ghost";
            let ready = if back || !known {
                self.waiting.remove(&to);
                true
            } else {
                let received = self.waiting.get(&to).unwrap_or(&0) + 1;
                if received >= self.incoming(&to) {
                    self.waiting.remove(&to);
                    true
                } else {
                    self.waiting.insert(to.clone(), received);
                    false
                }
            };
            self.deliveries.push((from.to_owned(), to.clone(), ready, back));
            if ready && known {
                self.run(&to);
            }
        }
    }
}

#[test]
fn the_engine_does_what_a_plain_reading_does() {
    let (mut compared, mut joins, mut backs, mut stalls) = (0, 0, 0, 0);
    for seed in 0..1_500 {
        let case = random_case(seed);
        let plain = ReferenceRun::read(&case);
        if plain.executed.len() > MAX_STEPS {
            continue;
        }
        compared += 1;
        let stalled: Vec<&String> = plain.waiting.keys().collect();
        joins += plain.deliveries.iter().any(|delivery| !delivery.2) as usize;
        backs += plain.deliveries.iter().any(|delivery| delivery.3) as usize;
        stalls += !stalled.is_empty() as usize;
        let expected = json!({"executed": plain.executed, "deliveries": plain.deliveries, "stalled": stalled, "limit_hit": false});
        assert_eq!(run_case(&case, &router).unwrap(), expected, "seed {seed}: {case}");
    }
    // Checks that the generator makes enough relevant cases.
    assert!(
        compared > 1_200 && joins > 500 && backs > 80 && stalls > 500,
        "compared {compared}: {joins} with joins, {backs} with loop-backs, {stalls} stalled"
    );
}

/// Returns the nodes that, according to the check, can never receive all their inputs.
fn unfillable_joins(workflow: &Workflow) -> Vec<NodeId> {
    let errors = workflow.findings().iter().filter(|finding| finding.severity == Severity::Error);
    errors
        .filter(|finding| matches!(finding.kind, FindingKind::ExclusiveJoin | FindingKind::JoinNeverFills))
        .filter_map(|finding| finding.path.last().cloned())
        .collect()
}

#[test]
fn what_the_check_calls_impossible_does_not_happen() {
    let (mut checked, mut sound) = (0, 0);
    for seed in 0..3_000 {
        let case = random_case(seed);
        let mut builder =
            Workflow::builder("a").kind("any", |_| Ok(from_fn(|input: Value| async move { Ok(input) })));
        for (id, node) in case["nodes"].as_object().unwrap() {
            let next = node["next"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned());
            let mut plain = Node::new(id.as_str(), "any").next(next);
            plain.parallel = node["type"] == "parallel";
            if let Some(rule) = node["rule"].as_str().filter(|_| !plain.parallel) {
                builder = builder.shared_router(id.as_str(), router(rule, "").unwrap());
            }
            builder = builder.node(plain);
        }
        let workflow = builder.build_unchecked().unwrap();
        let never = unfillable_joins(&workflow);
        checked += never.len();
        sound += workflow.findings().is_empty() as usize;
        for (_, to, ready, back) in &ReferenceRun::read(&case).deliveries {
            let filled = *ready && !*back && never.iter().any(|id| **id == **to);
            assert!(!filled, "seed {seed}: `{to}` was filled in {case}");
        }
    }
    assert!(checked > 100 && sound > 8, "{checked} errors, {sound} without a finding");
}
