//! Tests of `rulec workflow run` with plans, and of `rulec workflow next`.

use super::{Folder, Ran, program};
use serde_json::{Value, json};
use std::path::Path;

/// A plan of these nodes, each with an edge from the node before it.
fn chain(nodes: &[(&str, &str, Value)]) -> String {
    let written = |(id, kind, config): &(&str, &str, Value)| json!({"node_id": id, "type": kind, "name": id, "config": config});
    let edges = nodes.windows(2).map(|pair| json!({"source": pair[0].0, "target": pair[1].0}));
    let plan = json!({
        "action_type": "create_workflow_plan", "name": "p", "description": "d",
        "nodes": nodes.iter().map(written).collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(),
    });
    plan.to_string()
}

fn run(plan: &str, args: &[&str]) -> Ran {
    let folder = Folder::with("default -> h").file("plan.json", plan);
    folder.rulec(&[&["workflow", "run", "plan.json"], args].concat())
}

fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.err))
}

#[cfg(unix)]
#[test]
fn the_example_runs_both_ways() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = |amounts: [i64; 2]| {
        let sales = json!({"sales": [{"seller": "Ann", "amount": amounts[0]}, {"seller": "Bo", "amount": amounts[1]}]});
        let args = ["workflow", "run", "examples/sales_plan.json", "--input", &sales.to_string()];
        let allowed = ["--allow-python", "--allow-condition", "--allow-loop", "10", "--format", "json"];
        let ran = program(&root).args(args).args(allowed).output();
        report(&Ran::new(ran.expect("the program starts")).expect(0))
    };
    let reached = run([60, 50]);
    assert_eq!(reached["status"], "COMPLETED");
    assert_eq!(reached["outputs"]["praise"], json!({"text": "The goal is reached: 110"}));
    assert_eq!(reached["unreached"], json!(["remind"]));
    let nodes: Vec<&Value> = reached["steps"].as_array().unwrap().iter().map(|step| &step["node"]).collect();
    assert_eq!(nodes, ["sum", "goal", "praise"]);
    let missed = run([60, 30]);
    let texts = json!([{"result": "Ann, we need more than 60"}, {"result": "Bo, we need more than 30"}]);
    assert_eq!(missed["outputs"]["remind"]["results"], texts);
    assert_eq!(missed["outputs"]["remind"]["rounds"], 2);
}

/// A JSON file that is no plan is refused with the place that is wrong, also if it is a document of
/// rules.
#[test]
fn a_file_without_a_list_of_nodes_is_no_plan() {
    for (plan, found) in [
        (r#"{"action_type": "create_workflow_plan", "nodes": {"a": {}}}"#, "found an object"),
        (r#"{"nodes": "a, b"}"#, "found a text"),
        (r#"{"flows": []}"#, "found no such field"),
    ] {
        let ran = run(plan, &[]).expect(2);
        for words in ["`plan.json` is not a plan", "at `/nodes`", "`node_id`, `type` and `config`", found] {
            assert!(ran.err.contains(words), "{words}: {}", ran.err);
        }
        assert!(!ran.err.contains("E0532"), "{}", ran.err);
    }
    let ran = run("[]", &[]).expect(2);
    assert!(ran.err.contains("is not a JSON object"), "{}", ran.err);
}

/// Each type of node is refused without its option, and nothing runs.
#[test]
fn every_type_needs_its_option() {
    let condition = json!({"condition": "x > 1"});
    for (kind, config, option) in [
        ("LLM", json!({"prompt": "hello"}), "`--allow-llm URL --model-name NAME`"),
        ("HTTP", json!({"url": "http://localhost/", "method": "GET"}), "`--allow-http HOST`"),
        ("PYTHON", json!({"code": "return 1"}), "`--allow-python`"),
        ("DATABASE", json!({"query": "SELECT 1"}), "`--allow-database FILE`"),
        ("CONDITION", condition.clone(), "`--allow-condition`"),
        ("LOOP", json!({"iterations": 1, "body": {"type": "START"}}), "`--allow-loop ROUNDS`"),
    ] {
        let ran = run(&chain(&[("a", kind, config)]), &[]).expect(1);
        assert!(ran.err.contains("`a`") && ran.err.contains(option), "{}", ran.err);
    }
    // The body of a loop needs its own permission.
    let body = json!({"iterations": 1, "body": {"type": "PYTHON", "config": {"code": "return 1"}}});
    let ran = run(&chain(&[("a", "LOOP", body)]), &["--allow-loop", "3"]).expect(1);
    assert!(ran.err.contains("`--allow-python`"), "{}", ran.err);
}

#[test]
fn plans_that_break_the_rules_do_not_run() {
    for (plan, what) in [
        (chain(&[("a", "MAGIC", json!({}))]), "type"),
        (
            chain(&[("a", "START", json!({})), ("b", "END", json!({})), ("a", "END", json!({}))]),
            "same `node_id`",
        ),
        (
            json!({"name": "p", "description": "d", "nodes": [
                {"node_id": "a", "type": "START", "name": "a", "config": {}},
                {"node_id": "b", "type": "END", "name": "b", "config": {}}],
                "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "a"}]})
            .to_string(),
            "circle",
        ),
        (json!({"nodes": [], "edges": []}).to_string(), "at least one node"),
    ] {
        let ran = run(&plan, &[]).expect(1);
        assert!(ran.out.contains("rejected") && ran.out.contains(what), "{}", ran.out);
    }
    // The rules judge the body of a loop like any node.
    let code = json!({"code": "import os\nreturn os.getenv('HOME')"});
    let plan = chain(&[("a", "LOOP", json!({"iterations": 1, "body": {"type": "PYTHON", "config": code}}))]);
    let ran = run(&plan, &["--allow-loop", "3", "--allow-python"]).expect(1);
    assert!(ran.out.contains("$.nodes[0].config.body.config.code"), "{}", ran.out);
    assert!(ran.out.contains("environment variables"), "{}", ran.out);
    // The rules judge the input, too.
    let ran = run(&chain(&[("a", "START", json!({}))]), &["--input", "{\"x\": 1}"]).expect(1);
    assert!(ran.out.contains("no such parameter"), "{}", ran.out);
    let ran = run(&chain(&[("a", "START", json!({}))]), &["--rules", "a.rules"]).expect(2);
    assert!(ran.err.contains("judge no plans"), "{}", ran.err);
}

/// A run counts from 0, so limits need no counters in a context. A bad item of the context is
/// skipped.
#[test]
fn limits_of_the_rules_count_from_zero() {
    let start = ("start", "START", json!({}));
    let request = json!({"type": "HTTP", "config": {"url": "https://a.example/", "method": "GET"}});
    let repeated = ("loop", "LOOP", json!({"items": [1, 2], "body": request}));
    let folder = Folder::with("default -> h")
        .file("small.json", chain(std::slice::from_ref(&start)))
        .file("large.json", chain(&[start, repeated]))
        .file("options.json", r#"{"max_api_calls": 1, "max_cost": 1}"#)
        .file("context.json", r#"{"workflows": {"bad": {"status": 7}}}"#);
    let run = |plan: &str| {
        let files = ["--options", "options.json", "--context", "context.json"];
        folder.rulec(&[&["workflow", "run", plan][..], &files, &["--allow-loop", "5"]].concat())
    };
    let ran = run("small.json").expect(0);
    assert!(ran.err.contains("workflow `bad` was skipped"), "{}", ran.err);
    let refused = run("large.json").expect(1);
    assert!(refused.out.contains("too many API calls"), "{} {}", refused.out, refused.err);
}

#[test]
fn wrong_configs_of_conditions_and_loops_are_refused() {
    let body = json!({"type": "START"});
    for (kind, config, what) in [
        ("CONDITION", json!({"condition": "x >"}), "is not valid"),
        ("CONDITION", json!({}), "no `config.condition`"),
        ("CONDITION", json!({"condition": "true", "branches": []}), "no `config.branches`"),
        ("LOOP", json!({"iterations": 2}), "`config.body`"),
        ("LOOP", json!({"iterations": 2, "body": {"type": "LOOP"}}), "cannot be repeated"),
        ("LOOP", json!({"iterations": 2, "body": {"type": "START", "x": 1}}), "is not a node"),
        ("LOOP", json!({"items": "three", "body": body}), "what should end it"),
        ("LOOP", json!({"items": 3, "body": body}), "what should end it"),
        ("LOOP", json!({"iterations": 50, "body": body}), "at most 10 are allowed"),
        ("LOOP", json!({"max_iterations": 50, "condition": "index >= 0", "body": body}), "after 10 rounds"),
    ] {
        let ran = run(&chain(&[("a", kind, config)]), &["--allow-condition", "--allow-loop", "10"]).expect(1);
        assert!(ran.out.contains(what), "{what}: {} {}", ran.out, ran.err);
    }
}

#[test]
fn loops_end_by_their_condition_and_hand_on_the_last_result() {
    let config = json!({"max_iterations": 9, "condition": "last.index < 3", "body": {"type": "START"}});
    let ran = run(&chain(&[("a", "LOOP", config)]), &["--allow-loop", "10", "--format", "json"]).expect(0);
    assert_eq!(report(&ran)["outputs"]["a"]["rounds"], 4);
    // The option is a bound, so the condition may be the only end that the plan names.
    let config = json!({"condition": "last.index < 3", "body": {"type": "START"}});
    let plan = chain(&[("a", "LOOP", config)]);
    let ran = run(&plan, &["--allow-loop", "10", "--format", "json"]).expect(0);
    assert_eq!(report(&ran)["outputs"]["a"]["rounds"], 4);
    let folder = Folder::with("default -> h").file("plan.json", &plan);
    let folder = folder.file("context.json", r#"{"workflows": {}, "max_loop_iterations": 2}"#);
    let args = ["workflow", "run", "plan.json", "--allow-loop", "10", "--context", "context.json"];
    let ran = folder.rulec(&args).expect(1);
    assert!(ran.out.contains("after 2 rounds"), "{}", ran.out);
    let limited = json!({"iterations": 9, "body": {"type": "START"}});
    let args = ["--allow-loop", "10", "--step-limit", "5"];
    let ran = run(&chain(&[("a", "LOOP", limited)]), &args).expect(1);
    assert!(ran.out.contains("5 steps"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn limits_and_traces_of_python_nodes() {
    let python = |code: &str| chain(&[("a", "PYTHON", json!({"code": code}))]);
    let ran = run(&python("return 'x' * 5000"), &["--allow-python", "--byte-limit", "1000"]).expect(1);
    assert!(ran.out.contains("the limit is 1000"), "{}", ran.out);
    let ran = run(&python("while True: pass"), &["--allow-python", "--time-limit", "1"]).expect(1);
    assert!(ran.out.contains("longer than"), "{}", ran.out);
    let ran = run(&python("return 1 / 0"), &["--allow-python", "--trace"]).expect(1);
    assert!(ran.err.contains("ZeroDivisionError") && ran.out.contains("FAILED"), "{} {}", ran.err, ran.out);
    let ran = run(&python("return 1"), &["--allow-python=no-such-python"]).expect(2);
    assert!(ran.err.contains("no-such-python"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_saved_run_goes_on_where_it_failed() {
    let plan = |code: &str| {
        chain(&[
            ("a", "PYTHON", json!({"code": "import time\nreturn time.time_ns()"})),
            ("b", "PYTHON", json!({"code": code})),
        ])
    };
    let folder = Folder::with("")
        .file("plan.json", plan("return 1 / 0"))
        .file("other.json", chain(&[("a", "START", json!({}))]));
    let command = ["workflow", "run", "plan.json", "--allow-python", "--format", "json"];
    let failed = folder.rulec(&[&command[..], &["--save", "run.json"]].concat()).expect(1);
    let folder = folder.file("plan.json", plan("return result"));
    let resumed = folder.rulec(&[&command[..], &["--resume", "run.json"]].concat()).expect(0);
    assert_eq!(report(&resumed)["outputs"]["a"], report(&failed)["outputs"]["a"]);
    let other = folder.rulec(&["workflow", "run", "other.json", "--resume", "run.json"]).expect(1);
    assert!(other.err.contains("not a saved run of this plan"), "{}", other.err);
}

#[test]
fn the_next_nodes_are_those_of_the_router() {
    let folder =
        Folder::with("router r(output) { when output.done -> next[1]  otherwise -> next[0] loopback }");
    let next_of = |output: &str, router: &str, ids: &str| {
        folder.rulec(&["workflow", "next", "a.rules", "--router", router, "--output", output, "--next", ids])
    };
    let next = |output: &str, router: &str| next_of(output, router, "a,b");
    assert_eq!(next_of("7", "r", "[\"a\", \"b\"]").expect(0).out, "a\n");
    assert!(next_of("7", "r", "[a, b]").expect(2).err.contains("write for example `--next a,b`"));
    assert_eq!(next("{\"done\": true}", "r").expect(0).out, "b\n");
    assert_eq!(next("7", "r").expect(0).out, "a\n");
    assert!(next("{}", "q").expect(2).err.contains("the entries are r"));
    assert!(next("{", "r").expect(2).err.contains("not JSON"));
}
