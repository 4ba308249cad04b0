//! A client that acts like an editor towards a server in the same process.

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value as Json, json};
use std::thread::JoinHandle;

/// The address of the open document.
pub const URI: &str = "file:///work/a.rules";

/// A client of a server that runs on another thread.
pub struct Client {
    connection: Connection,
    server: JoinHandle<()>,
    asked: i32,
}

impl Client {
    /// Starts a server, and opens a document with this text.
    pub fn start(text: &str) -> Client {
        Client::with_capabilities(text, json!({}))
    }

    /// Starts a server for an editor with these capabilities.
    pub fn with_capabilities(text: &str, capabilities: Json) -> Client {
        let (server, connection) = Connection::memory();
        let server = std::thread::spawn(move || rulec_lsp::serve(&server, None).expect("it serves"));
        let mut client = Client { connection, server, asked: 0 };
        client.request("initialize", json!({ "capabilities": capabilities }));
        client.notify("initialized", json!({}));
        let document = json!({ "uri": URI, "languageId": "rules", "version": 0, "text": text });
        client.notify("textDocument/didOpen", json!({ "textDocument": document }));
        client
    }

    pub fn notify(&self, method: &str, params: Json) {
        let message = Notification::new(method.to_owned(), params);
        self.connection.sender.send(Message::Notification(message)).expect("the server is there");
    }

    /// Sends a request, and returns the whole response.
    pub fn request(&mut self, method: &str, params: Json) -> Json {
        let id = self.send(method, params);
        self.response_to(id)
    }

    /// Sends a request without waiting for the response. Returns the id of the request.
    pub fn send(&mut self, method: &str, params: Json) -> i32 {
        self.asked += 1;
        let request = Request::new(RequestId::from(self.asked), method.to_owned(), params);
        self.connection.sender.send(Message::Request(request)).expect("the server is there");
        self.asked
    }

    /// Waits for the response to a request. Other messages are dropped.
    pub fn response_to(&mut self, id: i32) -> Json {
        loop {
            match self.connection.receiver.recv().expect("the server is there") {
                Message::Response(response) if response.id == RequestId::from(id) => {
                    return serde_json::to_value(&response).expect("it is JSON");
                }
                _ => {}
            }
        }
    }

    /// Replaces the whole text of the document.
    pub fn change(&self, version: i32, text: &str) {
        let document = json!({ "uri": URI, "version": version });
        let change = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        self.notify("textDocument/didChange", change);
    }

    pub fn stop(mut self) {
        self.request("shutdown", Json::Null);
        self.notify("exit", Json::Null);
        self.server.join().expect("it ends well");
    }
}
