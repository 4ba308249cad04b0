//! Tests of `rulec workflow run` and `rulec graph`.

use super::{Folder, Ran, program};
use std::path::Path;

const LOOP: &str = r#"
router rounds(output) {
  when output.should_exit -> next[1]
  otherwise -> next[0] loopback
}
workflow repeat {
  node draft echo { text: "hello" } -> readers
  node readers parallel -> one, two
  node one echo -> check
  node two echo -> check
  node check loop { max_rounds: 2 } -> draft, done by rounds
  node done council { members: { a: "YES", b: "a \"quoted\" <text>" } }
}
"#;

#[test]
fn the_example_runs_with_its_input() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let input = std::fs::read(root.join("examples/review_input.json")).expect("the input is there");
    let run = |args: &[&str]| {
        let ran = program(&root).args(args).write_stdin(input.clone()).output();
        Ran::new(ran.expect("the program starts"))
    };
    run(&["check", "examples/review.rules", "--deny", "warnings"]).expect(0);
    let ran = run(&["workflow", "run", "examples/review.rules", "--input", "-"]).expect(0);
    insta::assert_snapshot!("review", ran.out);
    insta::assert_snapshot!("review_graph", run(&["graph", "examples/review.rules"]).expect(0).out);
}

#[test]
fn a_graph_is_drawn_for_mermaid_and_for_graphviz() {
    let folder = Folder::with(LOOP);
    insta::assert_snapshot!("mermaid", folder.rulec(&["graph", "a.rules"]).expect(0).out);
    insta::assert_snapshot!("dot", folder.rulec(&["graph", "a.rules", "--format", "dot"]).expect(0).out);
    let ran = Folder::with("let a = 1").rulec(&["graph", "a.rules"]).expect(2);
    assert!(ran.err.contains("contain no workflow, route"), "{}", ran.err);
    let ran = folder.rulec(&["graph", "a.rules", "--name", "repat"]).expect(2);
    assert!(ran.err.contains("`repat`") && ran.err.contains("`repeat`"), "{}", ran.err);
}

#[test]
fn a_workflow_runs_from_its_artifact_too_and_reports_as_data() {
    let folder = Folder::with(LOOP);
    folder.rulec(&["build", "a.rules", "--strip-source"]).expect(0);
    let ran = |file| {
        folder.rulec(&["workflow", "run", file, "--input", "{\"n\": 1}", "--format", "json"]).expect(0).out
    };
    assert_eq!(ran("a.rulec"), ran("a.rules"));
    let report: serde_json::Value = serde_json::from_str(&ran("a.rules")).expect("JSON");
    assert_eq!(report["executed"].as_array().map(Vec::len), Some(9));
    assert_eq!(report["outputs"]["done"]["a"], "YES");
}

#[test]
fn what_cannot_run_is_refused_with_the_remedy() {
    let refused = |rules: &str, args: &[&str], status, what: &str| {
        let ran = Folder::with(rules).rulec(&[&["workflow", "run", "a.rules"], args].concat()).expect(status);
        assert!(ran.err.contains(what), "{}", ran.err);
    };
    let input: &[&str] = &["--input", "{}"];
    refused("default -> h", input, 2, "declare no workflow");
    refused("workflow w { node a magic }", input, 1, "`a` has the kind `magic`");
    refused("workflow w { node a loop }", input, 1, "max_rounds");
    for (rules, what) in [
        ("workflow w { node a http { url: \"http://127.0.0.1:9/\" } }", "`--allow HOST`"),
        ("workflow w { node a http { ulr: \"x\" } }", "ulr"),
    ] {
        refused(rules, input, 1, if cfg!(feature = "http") { what } else { "--features http" });
    }
    refused("workflow w { node a council { member: 1 } }", input, 1, "`members`");
    let asks = "workflow w { node a council { members: { b: { url: \"http://127.0.0.1:9/\" } } } }";
    refused(asks, input, 1, if cfg!(feature = "http") { "`--allow HOST`" } else { "--features http" });
    refused("workflow w { node a echo }", &["--input", "[1]"], 1, "E0602");
    refused("workflow w { node a echo } workflow v { node a echo }", input, 2, "`--name`");
    refused("workflow w { node a echo -> b }", input, 1, "E0530");
    refused("workflow w { node a echo }", &["--resume", "a.rules"], 1, "is not a saved run");
    refused("workflow w { node a echo }", &["--resume", "none.json"], 2, "none.json");
}

#[test]
fn a_workflow_of_rules_has_a_limit_of_bytes() {
    let folder =
        Folder::with("workflow long {\n  node a echo { text: \"0123456789\" } -> b\n  node b echo\n}\n");
    let run =
        |bytes: &str| folder.rulec(&["workflow", "run", "a.rules", "--input", "{}", "--byte-limit", bytes]);
    run("100").expect(0);
    let ran = run("10").expect(1);
    assert!(ran.out.contains("the limit is 10"), "{}", ran.out);
}
