//! The documentation pages of diagnostic codes, such as `E0101`. The program contains the pages, so
//! an editor needs no file and no network. Some editors can show a page as a document that the
//! server supplies. Other editors show the page as a message.

use ls_types::{MessageType, ShowMessageParams, Uri, notification, request};
use lsp_server::{Message, Notification, Request};
use notification::Notification as _;
use request::Request as _;
use rulec::{Code, Language};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The command that shows the documentation page of a diagnostic code. Its argument is the code.
pub const EXPLAIN_COMMAND: &str = "rulec.explain";

/// The URI scheme of the documents that the server supplies.
const URI_SCHEME: &str = "rulec";
/// The start of the URI of a documentation page.
const PAGE_URI_PREFIX: &str = "rulec:/codes/";

/// The editor's request for the text of a document that the server supplies. The Language Server
/// Protocol has this request since version 3.18.
pub enum TextDocumentContent {}

/// The parameters of the request [`TextDocumentContent`]: the URI of the document.
#[derive(Deserialize, Serialize)]
pub struct DocumentContentParams {
    uri: String,
}

/// The result of the request [`TextDocumentContent`]: the text of the document.
#[derive(Deserialize, Serialize)]
pub struct DocumentContent {
    text: String,
}

impl request::Request for TextDocumentContent {
    type Params = DocumentContentParams;
    type Result = Option<DocumentContent>;
    const METHOD: &'static str = "workspace/textDocumentContent";
}

/// How the editor can show a documentation page, according to the editor's capabilities.
#[derive(Clone, Copy, Default)]
pub struct PageSupport {
    /// Whether the editor can show documents that the server supplies.
    pub can_show_documents: bool,
    /// Whether the server can ask the editor to open a document.
    can_open_documents: bool,
}

impl PageSupport {
    /// Reads the capabilities of the editor from the parameters of its `initialize` request.
    pub fn from_initialize_params(params: &Json) -> PageSupport {
        let editor = &params["capabilities"];
        PageSupport {
            can_show_documents: editor["workspace"]["textDocumentContent"].is_object(),
            can_open_documents: editor["window"]["showDocument"]["support"] == true,
        }
    }
}

/// Adds to the result of `initialize` the capability that the server supplies documents.
pub fn add_document_capability(result: &mut Json) {
    result["capabilities"]["workspace"]["textDocumentContent"] = json!({ "schemes": [URI_SCHEME] });
}

/// Returns the URI of the document that contains the documentation page of a code.
pub fn documentation_page_uri(code: Code) -> Option<Uri> {
    format!("{PAGE_URI_PREFIX}{code}.md").parse().ok()
}

/// Returns the documentation page of a diagnostic code as Markdown.
pub fn documentation_page_markdown(code: Code, language: Language) -> String {
    // HTML comments in a page mark generated tables.
    let page = code.page_in(language);
    let lines = page.lines().filter(|line| !line.starts_with("<!--"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the text of a document that the server supplies. `None` if no such document exists.
pub fn document_content(params: &DocumentContentParams, language: Language) -> Option<DocumentContent> {
    let name = params.uri.strip_prefix(PAGE_URI_PREFIX).and_then(|name| name.strip_suffix(".md"));
    name.and_then(Code::parse)
        .map(|code| DocumentContent { text: documentation_page_markdown(code, language) })
}

/// Returns the message that makes the editor show the documentation page of a code. If this message
/// is a request, `id` is its id.
pub fn show_page_message(code: Code, support: PageSupport, language: Language, id: &str) -> Message {
    match documentation_page_uri(code).filter(|_| support.can_show_documents && support.can_open_documents) {
        Some(uri) => {
            let params = json!({ "uri": uri, "takeFocus": true });
            Message::Request(Request::new(
                id.to_owned().into(),
                request::ShowDocument::METHOD.to_owned(),
                params,
            ))
        }
        None => {
            let params = ShowMessageParams {
                typ: MessageType::INFO,
                message: documentation_page_markdown(code, language),
            };
            Message::Notification(Notification::new(notification::ShowMessage::METHOD.to_owned(), params))
        }
    }
}
