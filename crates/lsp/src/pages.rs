//! The pages of diagnostic codes. The program contains them, so no file or server has to. An editor
//! that accepts documents of a server shows a page as a document. Any other editor shows the page
//! as a message.

use ls_types::{MessageType, ShowMessageParams, Uri, notification, request};
use lsp_server::{Message, Notification, Request};
use notification::Notification as _;
use request::Request as _;
use rulec::{Code, Language};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The command that shows the page of a code. Its argument is the code.
pub const EXPLAIN: &str = "rulec.explain";

/// The scheme of the URIs of the server's documents.
const SCHEME: &str = "rulec";
/// The start of the URI of a page.
const PAGE_PREFIX: &str = "rulec:/codes/";

/// The request for the text of a document of the server. The protocol has it since version 3.18.
pub enum TextDocumentContent {}

#[derive(Deserialize, Serialize)]
pub struct ContentParams {
    uri: String,
}

#[derive(Deserialize, Serialize)]
pub struct Content {
    text: String,
}

impl request::Request for TextDocumentContent {
    type Params = ContentParams;
    type Result = Option<Content>;
    const METHOD: &'static str = "workspace/textDocumentContent";
}

/// The ways in which the editor can show a page, as its capabilities say.
#[derive(Clone, Copy, Default)]
pub struct PageSupport {
    /// Whether the editor accepts documents of a server.
    pub has_documents: bool,
    /// Whether the server can ask the editor to open a document.
    can_open: bool,
}

impl PageSupport {
    /// Reads the capabilities from the parameters of `initialize`.
    pub fn of_editor(params: &Json) -> PageSupport {
        let editor = &params["capabilities"];
        PageSupport {
            has_documents: editor["workspace"]["textDocumentContent"].is_object(),
            can_open: editor["window"]["showDocument"]["support"] == true,
        }
    }
}

/// Adds the capability to give documents to the result of `initialize`.
pub fn offer_documents(result: &mut Json) {
    result["capabilities"]["workspace"]["textDocumentContent"] = json!({ "schemes": [SCHEME] });
}

/// Returns the URI of the document with the page of a code.
pub fn page_uri(code: Code) -> Option<Uri> {
    format!("{PAGE_PREFIX}{code}.md").parse().ok()
}

/// Returns the page of a code as Markdown.
pub fn page(code: Code, language: Language) -> String {
    // HTML comments in a page mark generated tables.
    let page = code.page_in(language);
    let lines = page.lines().filter(|line| !line.starts_with("<!--"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the text of a document of the server. `None` if there is no such document.
pub fn content(params: &ContentParams, language: Language) -> Option<Content> {
    let name = params.uri.strip_prefix(PAGE_PREFIX).and_then(|name| name.strip_suffix(".md"));
    name.and_then(Code::parse).map(|code| Content { text: page(code, language) })
}

/// Returns the message by which the editor shows the page of a code. `id` is the id of the message
/// if it is a request.
pub fn showing(code: Code, support: PageSupport, language: Language, id: &str) -> Message {
    match page_uri(code).filter(|_| support.has_documents && support.can_open) {
        Some(uri) => {
            let params = json!({ "uri": uri, "takeFocus": true });
            Message::Request(Request::new(
                id.to_owned().into(),
                request::ShowDocument::METHOD.to_owned(),
                params,
            ))
        }
        None => {
            let params = ShowMessageParams { typ: MessageType::INFO, message: page(code, language) };
            Message::Notification(Notification::new(notification::ShowMessage::METHOD.to_owned(), params))
        }
    }
}
