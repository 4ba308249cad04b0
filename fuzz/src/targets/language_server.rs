//! Fuzzes the language server with edits of a text and with requests about it. Each request gets a
//! response, and the server keeps running.

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value as Json, json};

const URI: &str = "file:///work/a.rules";
const METHODS: &[&str] = &[
    "hover",
    "completion",
    "definition",
    "references",
    "documentHighlight",
    "prepareRename",
    "rename",
    "documentSymbol",
    "semanticTokens/full",
    "foldingRange",
    "codeAction",
    "inlayHint",
    "codeLens",
    "formatting",
    "diagnostic",
];

/// Runs the target on one input.
pub fn run(input: (&str, Vec<(u8, u8, u8, &str)>)) {
    let (text, steps) = input;
    let (server, client) = Connection::memory();
    let server = std::thread::spawn(move || rulec_lsp::serve(&server, None).expect("it serves"));
    let tell = |method: &str, params: Json| {
        let message = Notification::new(method.to_owned(), params);
        client.sender.send(Message::Notification(message)).expect("the server is there");
    };
    let ask = |id: i32, method: &str, params: Json| {
        let id = RequestId::from(id);
        let request = Request::new(id.clone(), method.to_owned(), params);
        client.sender.send(Message::Request(request)).expect("the server is there");
        while !matches!(client.receiver.recv().expect("the server is there"), Message::Response(answer) if answer.id == id)
        {
        }
    };
    ask(0, "initialize", json!({ "capabilities": {} }));
    tell("initialized", json!({}));
    let document = json!({ "uri": URI, "languageId": "rules", "version": 0, "text": text });
    tell("textDocument/didOpen", json!({ "textDocument": document }));
    for (at, (method, line, character, new)) in steps.into_iter().take(16).enumerate() {
        let at = at as i32 + 1;
        let position = json!({ "line": line, "character": character });
        let range =
            json!({ "start": position, "end": { "line": line, "character": character.saturating_add(3) } });
        let document = json!({ "uri": URI, "version": at });
        match METHODS.get(usize::from(method)) {
            Some(method) => ask(
                at,
                &format!("textDocument/{method}"),
                json!({
                    "textDocument": document, "position": position, "range": range, "newName": new, "query": new,
                    "context": { "includeDeclaration": true, "triggerKind": 1, "diagnostics": [] },
                    "options": { "tabSize": 2, "insertSpaces": true },
                }),
            ),
            None => tell(
                "textDocument/didChange",
                json!({
                    "textDocument": document, "contentChanges": [{ "text": new, "range": range }],
                }),
            ),
        }
    }
    ask(1_000, "shutdown", Json::Null);
    tell("exit", Json::Null);
    server.join().expect("it ends well");
}
