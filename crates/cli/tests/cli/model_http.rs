//! Tests of `rulec run --model`, where a server on this machine takes the place of the language
//! model.

#![cfg(feature = "http")]

use super::model::{RULES, lines};
use super::workflow_http::{read_request, respond};
use super::{Folder, Ran};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::thread;

const MOOD: [&str; 5] = ["run", "a.rules", "-", "--entry", "mood"];
const FLOWS: [&str; 5] = ["run", "a.rules", "-", "--entry", "flows"];

/// A response of a chat-completions endpoint that calls a tool.
fn call(tool: &str, arguments: &Value) -> String {
    let call = json!({"function": {"name": tool, "arguments": arguments.to_string()}});
    json!({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}).to_string()
}

fn branch(id: &str) -> String {
    call("choose_branch", &json!({"because": "they say so", "branch": id}))
}

/// Runs the program with a server as its model. The server accepts `count` requests. For each,
/// `reply` receives the last message of the request and returns the response. Without a response,
/// the request stays open. Also returns the bodies of the requests.
fn run_with_server(
    folder: &Folder,
    args: &[&str],
    messages: &str,
    count: usize,
    reply: impl Fn(&str) -> Option<String> + Send + 'static,
) -> (Ran, Vec<Value>) {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", server.local_addr().expect("an address"));
    let served = thread::spawn(move || {
        let mut open = Vec::new();
        let requests = (0..count).map(|_| {
            let (stream, _) = server.accept().expect("a call");
            let body: Value = serde_json::from_str(&read_request(&stream)).expect("JSON");
            let last = body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
            if let Some(reply) = reply(last["content"].as_str().unwrap_or_default()) {
                respond(&stream, &reply);
            }
            open.push(stream);
            body
        });
        requests.collect::<Vec<Value>>()
    });
    let model = ["--model", &address, "--model-name", "small"];
    let ran = folder.fed(&[args, &model].concat(), messages);
    (ran, served.join().expect("the server"))
}

#[test]
fn a_choice_asks_the_model_and_records_the_answers() {
    let folder = Folder::with(RULES);
    let messages = "{\"text\": \"never again\", \"vip\": true}\n{\"text\": \"thanks\"}\n\
                    {\"text\": \"x\", \"answers\": {\"mood\": \"angry\"}}\nno message\n{\"text\": \"thanks\"}\n";
    let reply = |text: &str| Some(branch(if text == "never again" { "angry" } else { "calm" }));
    // With one thread, the second message `thanks` finds the answer that was recorded for the
    // first.
    let args = [&MOOD[..], &["--record", "answers.jsonl", "--jobs", "1"]].concat();
    let (ran, requests) = run_with_server(&folder, &args, messages, 2, reply);
    let decided = lines(&ran.expect(1).out);
    let branches: Vec<&Value> = decided.iter().map(|line| &line["branch"]).collect();
    assert_eq!(branches, [&json!("angry"), &json!("calm"), &json!("angry"), &Value::Null, &json!("calm")]);
    assert_eq!(decided[0]["reason"], "they say so");
    assert_eq!(decided[3]["error"]["code"], "E0601");

    // The model receives the question, the other fields, and the text.
    let asked = requests.iter().find(|request| request.to_string().contains("never again")).expect("asked");
    assert_eq!(
        (&asked["model"], &asked["messages"][1]["content"]),
        (&json!("small"), &json!("{\"vip\":true}"))
    );
    assert!(
        asked["messages"][0]["content"].as_str().expect("a text").contains("how does the customer feel?")
    );

    // Each line has a key, the question and the answer, but no message.
    let recorded = std::fs::read_to_string(folder.path("answers.jsonl")).expect("it is recorded");
    let by_answer: BTreeMap<String, Value> =
        lines(&recorded).into_iter().map(|line| (line["answer"].to_string(), line)).collect();
    assert_eq!((by_answer.len(), &by_answer["\"angry\""]["question"]), (2, &json!("mood")));
    assert!(!recorded.contains("never again"), "{recorded}");

    // A replay of the recorded answers gives the same lines without the model. So does a second run
    // with the recorded file.
    let replayed = folder.fed(&[&MOOD[..], &["--replay-answers", "answers.jsonl"]].concat(), messages);
    assert_eq!(lines(&replayed.expect(1).out), decided);
    let (again, _) = run_with_server(&folder, &args, messages, 0, |_| None);
    assert_eq!(lines(&again.expect(1).out), decided);
}

#[test]
fn flows_ask_the_model_if_nothing_else_finds_one() {
    let folder = Folder::with(RULES);
    let messages = "{\"text\": \"hello\"}\n{\"text\": \"zzz\"}\n{\"text\": \"qqq\"}\n{\"text\": \"vvv\"}\n";
    let reply = |text: &str| {
        Some(match text {
            "zzz" => call("flow_executor", &json!({"flow_id": "status"})),
            "qqq" => call("flow_executor", &json!({"flow_id": "greeting"})),
            _ => json!({"choices": [{"message": {"content": "nothing fits"}}]}).to_string(),
        })
    };
    let (ran, requests) = run_with_server(&folder, &FLOWS, messages, 3, reply);
    let decided = lines(&ran.expect(0).out);
    let flows: Vec<&Value> = decided.iter().map(|line| &line["flow"]).collect();
    assert_eq!(flows, [&json!("greeting"), &json!("status"), &Value::Null, &Value::Null]);
    assert_eq!((&decided[1]["name"], &decided[1]["found_by"]), (&json!("status"), &json!("model")));
    assert!(
        decided[2]["failure"].as_str().expect("a failure").contains("picked `greeting`"),
        "{}",
        decided[2]
    );
    assert!(decided[3]["failure"].is_null(), "{}", decided[3]);
    assert_eq!(requests[0]["tools"][0]["function"]["name"], "flow_executor");
}

/// If the model fails, the output line reports the failure and has the default branch. The run
/// continues.
#[test]
fn a_failure_of_the_model_ends_no_run() {
    let folder = Folder::with(RULES);
    let messages = "{\"text\": \"one\"}\n{\"text\": \"two\"}\n{\"text\": \"three\"}\n";
    let reply = |text: &str| match text {
        "one" => None,
        "two" => Some("{\"error\": \"overloaded\"}".to_owned()),
        _ => Some(branch("angry")),
    };
    let args = [&MOOD[..], &["--model-timeout", "1", "--model-retries", "0", "--jobs", "1"]].concat();
    let (ran, _) = run_with_server(&folder, &args, messages, 3, reply);
    let decided = lines(&ran.expect(0).out);
    for (line, failure) in [(0, "no complete answer within 1s"), (1, "none of a chat-completions endpoint")] {
        assert_eq!((&decided[line]["branch"], &decided[line]["default"]), (&json!("calm"), &json!(true)));
        assert!(decided[line]["failure"].as_str().expect("a failure").contains(failure), "{}", decided[line]);
    }
    assert_eq!((&decided[2]["branch"], &decided[2]["failure"]), (&json!("angry"), &Value::Null));
    // No server listens at this address, so the first attempt and the retry fail.
    let closed = ["--model", "http://127.0.0.1:1/v1", "--model-name", "small", "--model-retries", "1"];
    let ran = folder.fed(&[&FLOWS[..], &closed].concat(), "{\"text\": \"zzz\"}\n").expect(0);
    let line = &lines(&ran.out)[0];
    assert!(line["flow"].is_null(), "{line}");
    assert!(line["failure"].as_str().expect("a failure").contains("after 2 attempts"), "{line}");
    // A failure is not an answer, so it is not recorded.
    let recorded = [&MOOD[..], &["--record", "answers.jsonl"], &closed[..]].concat();
    folder.fed(&recorded, "{\"text\": \"zzz\"}\n").expect(0);
    assert_eq!(std::fs::read_to_string(folder.path("answers.jsonl")).expect("a file"), "");
}

/// Several threads ask the model at the same time. The output lines keep the order of the messages.
#[test]
fn threads_ask_at_once() {
    let folder = Folder::with(RULES);
    let messages: String = (0..12).map(|at| format!("{{\"text\": \"{at}\"}}\n")).collect();
    let reply = |text: &str| {
        let is_even = text.parse::<u32>().expect("a number").is_multiple_of(2);
        Some(branch(if is_even { "angry" } else { "calm" }))
    };
    let args = [&MOOD[..], &["--jobs", "4"]].concat();
    let (ran, requests) = run_with_server(&folder, &args, &messages, 12, reply);
    assert_eq!(requests.len(), 12);
    for (at, line) in lines(&ran.expect(0).out).iter().enumerate() {
        let expected = if at % 2 == 0 { "angry" } else { "calm" };
        assert_eq!((&line["line"], &line["branch"]), (&json!(at + 1), &json!(expected)));
    }
}
