//! Measures how long an editor waits after a keystroke, for its first answer and for diagnostics.
//! The file has 2,000 routes or another number of them:
//! `cargo run --release -p rulec-lsp --example keystroke -- 10000`.

use lsp_server::{Connection, Message, Notification, Request};
use serde_json::{Value as Json, json};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

const URI: &str = "file:///rules/a.rules";

fn main() {
    let mut text = String::from("let money = text contains any [\"refund\", \"money\"]\n");
    let routes: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2_000);
    for number in 0..routes {
        text += &format!(
            "route r{number} when money and ctx.a{} == {number} and text contains \"word{number}\" -> h{}\n",
            number % 40,
            number % 9
        );
    }
    let (server, client) = Connection::memory();
    std::thread::spawn(move || rulec_lsp::serve(&server, None));
    let notify = |method: &str, params: Json| {
        let message = Notification::new(method.to_owned(), params);
        client.sender.send(Message::Notification(message)).expect("the server is there");
    };
    let start = Request::new(0.into(), "initialize".to_owned(), json!({ "capabilities": {} }));
    client.sender.send(Message::Request(start)).expect("the server is there");
    client.receiver.recv().expect("the server is there");
    notify("initialized", json!({}));
    let document = json!({ "uri": URI, "languageId": "rules", "version": 0, "text": text });
    notify("textDocument/didOpen", json!({ "textDocument": document }));
    let wait = |version: i32| loop {
        if let Ok(Message::Notification(told)) = client.receiver.recv()
            && told.params["version"] == version
        {
            break;
        }
    };
    wait(0);
    let change = |version: i32| {
        let at = json!({ "line": routes / 2, "character": 20 });
        let change =
            json!({ "range": { "start": at, "end": at }, "text": if version % 2 == 1 { " " } else { "  " } });
        let document = json!({ "uri": URI, "version": version });
        notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
    };
    let answer = |id: i32, method: &str| {
        let at = json!({ "line": routes / 2, "character": 30 });
        let range = json!({ "start": at, "end": at });
        let context = json!({ "diagnostics": [], "triggerKind": 2 });
        let params =
            json!({ "textDocument": { "uri": URI }, "position": at, "range": range, "context": context });
        let request = Request::new(id.into(), method.to_owned(), params);
        client.sender.send(Message::Request(request)).expect("the server is there");
        while !matches!(client.receiver.recv(), Ok(Message::Response(response)) if response.id == id.into()) {
        }
    };
    let report = |what: &str, versions: RangeInclusive<i32>, until: &dyn Fn(i32)| {
        let mut waited: Vec<u128> = versions
            .map(|version| {
                let began = Instant::now();
                change(version);
                until(version);
                let waited = began.elapsed().as_millis();
                // The server also sends diagnostics, and frees the analysis of the earlier text.
                std::thread::sleep(Duration::from_millis(100));
                waited
            })
            .collect();
        waited.sort_unstable();
        let (median, longest) = (waited[waited.len() / 2], waited[waited.len() - 1]);
        println!("{what} after a keystroke, {routes} routes: median {median} ms, longest {longest} ms");
    };
    report("diagnostics", 1..=40, &wait);
    let methods = [
        "textDocument/hover",
        "textDocument/completion",
        "textDocument/semanticTokens/full",
        "textDocument/codeAction",
    ];
    for (number, method) in (1..).zip(methods) {
        report(method, number * 100..=number * 100 + 40, &|version| answer(version, method));
    }
}
