//! Tests of `rulec workflow run` with nodes that call a server.

#![cfg(feature = "http")]

use super::Folder;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

/// Reads one HTTP request and responds with `body`. Without a body, sends no response.
fn answer(stream: &TcpStream, body: Option<&str>) {
    read_request(stream);
    if let Some(body) = body {
        respond(stream, body);
    }
}

/// Reads one HTTP request, and returns its body.
pub fn read_request(stream: &TcpStream) -> String {
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
    String::from_utf8(rest).expect("a text")
}

/// Sends a JSON response with this body.
pub fn respond(stream: &TcpStream, body: &str) {
    respond_with(stream, "application/json", body);
}

/// Sends a response with this content type and body.
fn respond_with(mut stream: &TcpStream, content_type: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).expect("an answer");
}

/// The program is killed while a node waits for a server. After the run is resumed, completed nodes
/// do not run again.
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
        read_request(&stream);
        respond_with(&stream, "text/plain", "not JSON");
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

/// A plan asks a model and sends its answer on. Both hosts are allowed by options of their own.
#[test]
fn a_plan_asks_a_model_and_calls_a_service() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = format!("127.0.0.1:{}", server.local_addr().expect("an address").port());
    let url = format!("http://{host}/texts");
    let plan = serde_json::json!({
        "action_type": "create_workflow_plan", "name": "p", "description": "d",
        "nodes": [
            {"node_id": "write", "type": "LLM", "name": "write", "config": {"prompt": "about ${topic}"}},
            {"node_id": "send", "type": "HTTP", "name": "send",
             "config": {"url": url, "method": "POST", "body": {"text": "${write.output.text}"}}}
        ],
        "edges": [{"source": "write", "target": "send"}]
    });
    let folder = Folder::with("").file("plan.json", plan.to_string());
    let served = thread::spawn(move || {
        let replies = ["{\"choices\": [{\"message\": {\"content\": \"a poem\"}}]}", "{\"id\": 7}"];
        for reply in replies {
            let (stream, _) = server.accept().expect("a call");
            answer(&stream, Some(reply));
        }
    });
    let model = format!("http://{host}/v1");
    let args = ["workflow", "run", "plan.json", "--input", "{\"topic\": \"tea\"}", "--format", "json"];
    let allowed = ["--allow-http", &host, "--allow-llm", &model, "--model-name", "small"];
    let ran = folder.rulec(&[&args[..], &allowed].concat()).expect(0);
    served.join().expect("the server");
    let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(report["outputs"]["write"]["text"], "a poem");
    assert_eq!(report["outputs"]["send"], serde_json::json!({"status": 200, "data": {"id": 7}}));
    let other = ["--allow-http", "127.0.0.1:1", "--allow-llm", &model, "--model-name", "small"];
    let ran = folder.rulec(&[&args[..2], &["plan.json"], &other].concat()).expect(1);
    assert!(ran.out.contains("FAILED"), "{}", ran.out);
}
