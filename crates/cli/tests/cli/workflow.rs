//! `rulec workflow run` and `rulec graph`.

use super::{Folder, Ran, program};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

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

#[cfg(feature = "http")]
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
        ("workflow w { node a council { member: 1 } }", "`members`"),
    ] {
        refused(rules, input, 1, if cfg!(feature = "http") { what } else { "--features http" });
    }
    refused("workflow w { node a echo }", &["--input", "[1]"], 1, "E0602");
    refused("workflow w { node a echo } workflow v { node a echo }", input, 2, "`--name`");
    refused("workflow w { node a echo -> b }", input, 1, "E0530");
    refused("workflow w { node a echo }", &["--resume", "a.rules"], 1, "is not a saved run");
    refused("workflow w { node a echo }", &["--resume", "none.json"], 2, "none.json");
}

/// Reads one HTTP request and responds with `body`. Without a body, sends no response.
fn answer(stream: &TcpStream, body: Option<&str>) {
    let mut lines = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).expect("a request");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut rest = vec![0; length];
    lines.read_exact(&mut rest).expect("a body");
    if let Some(body) = body {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        (&*stream).write_all((head + body).as_bytes()).expect("an answer");
    }
}

/// The program is killed while a node waits for a server. After the run is resumed, completed nodes
/// do not run again.
#[cfg(feature = "http")]
#[test]
fn a_run_goes_on_after_the_program_was_killed() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let rules = format!(
        "workflow w {{\n  passthrough session\n  node first echo {{ kept: 1 }} -> ask\n  \
         node ask http {{ url: \"http://127.0.0.1:{port}/\", body: {{ session: \"{{session}}\" }} }} -> last\n  node last echo\n}}\n"
    );
    let folder = Folder::with(rules);
    let host = format!("127.0.0.1:{port}");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("rulec"))
        .current_dir(folder.dir.path())
        .args([
            "workflow",
            "run",
            "a.rules",
            "--input",
            "{\"session\": 7}",
            "--save",
            "run.json",
            "--allow",
            &host,
        ])
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let (silent, _) = server.accept().expect("a call");
    answer(&silent, None);
    child.kill().expect("the program runs");
    child.wait().expect("the program ends");
    drop(silent);

    let served = thread::spawn(move || {
        let (stream, _) = server.accept().expect("a call");
        answer(&stream, Some("{\"said\": \"yes\"}"));
    });
    let args = ["workflow", "run", "a.rules", "--resume", "run.json", "--format", "json", "--allow", &host];
    let ran = folder.rulec(&args).expect(0);
    served.join().expect("the server");
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(report["executed"], serde_json::json!(["first", "ask", "last"]));
    assert_eq!(report["outputs"]["last"], serde_json::json!({"said": "yes", "session": 7}));
}

/// If a node fails, the exit status is 1. With `--retry-failed`, the saved run continues with this
/// node only.
#[cfg(feature = "http")]
#[test]
fn a_node_that_failed_is_run_again_on_a_saved_run() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = format!("127.0.0.1:{}", server.local_addr().expect("an address").port());
    let rules = format!(
        "workflow w {{ node first echo -> ask  node ask http {{ url: \"http://{host}/\" }} within 2s }}\n"
    );
    let folder = Folder::with(rules);
    let allow: &[&str] = &["--allow", &host];
    let begin = ["workflow", "run", "a.rules", "--input", "{}", "--save", "run.json"];
    let served = thread::spawn(move || {
        let (stream, _) = server.accept().expect("a call");
        answer(&stream, Some("not JSON"));
        drop(stream);
        let (silent, _) = server.accept().expect("a call");
        answer(&silent, None);
        // The server sends nothing, so the time limit of the node ends the call.
        let _ = (&silent).read(&mut [0; 1]);
        let (stream, _) = server.accept().expect("a call");
        answer(&stream, Some("[1, 2]"));
    });
    let ran = folder.rulec(&[&begin[..], allow].concat()).expect(0);
    assert!(ran.out.contains("ask: {\"reply\":\"not JSON\"}"), "{}", ran.out);
    let ran = folder.rulec(&[&begin[..], allow].concat()).expect(1);
    assert!(ran.out.contains("`ask` failed: it took longer than its limit of 2000 ms"), "{}", ran.out);
    let again = ["workflow", "run", "a.rules", "--resume", "run.json", "--retry-failed"];
    let ran = folder.rulec(&[&again[..], allow].concat()).expect(0);
    assert!(ran.out.contains("ran first \u{2192} ask \u{2192} ask\n"), "{}", ran.out);
    assert!(ran.out.contains("ask: {\"reply\":[1,2]}"), "{}", ran.out);
    served.join().expect("the server");

    let other = Folder::with("workflow w { node first echo -> more  node more echo }");
    let other = other.file("run.json", std::fs::read(folder.path("run.json")).expect("the saved run"));
    let ran = other.rulec(&["workflow", "run", "a.rules", "--resume", "run.json"]).expect(1);
    assert!(ran.err.contains("another graph") && ran.err.contains("`ask` is gone"), "{}", ran.err);
}
