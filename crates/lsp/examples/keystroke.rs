//! Measures how long an editor waits for diagnostics after a keystroke in a file of 2,000 routes:
//! `cargo run --release -p rulec-lsp --example keystroke`.

use lsp_server::{Connection, Message, Notification, Request};
use serde_json::{Value as Json, json};
use std::time::Instant;

const URI: &str = "file:///work/a.rules";

fn main() {
    let mut text = String::from("let money = text contains any [\"refund\", \"money\"]\n");
    for number in 0..2_000 {
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
    let mut waited: Vec<u128> = (1..=40)
        .map(|version| {
            let began = Instant::now();
            let at = json!({ "line": 1_000, "character": 20 });
            let change = json!({ "range": { "start": at, "end": at }, "text": if version % 2 == 1 { " " } else { "  " } });
            let document = json!({ "uri": URI, "version": version });
            notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
            wait(version);
            began.elapsed().as_millis()
        })
        .collect();
    waited.sort_unstable();
    println!(
        "diagnostics after a keystroke, {} lines: median {} ms, longest {} ms",
        2_001, waited[20], waited[39]
    );
}
