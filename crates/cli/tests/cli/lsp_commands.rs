//! Tests of what the language server asks of an editor: to show the page of a code, and to add a
//! test. Also tests formatting while an author types.

use super::Folder;
use super::lsp::{Editor, uri};
use serde_json::{Value as Json, json};

/// Opens the rules, and returns the editor and the URI of the rules.
fn open(folder: &Folder, capabilities: &Json, rules: &str) -> (Editor, String) {
    let root = folder.dir.path().canonicalize().expect("a folder");
    let params = json!({ "capabilities": capabilities });
    let (mut editor, uri) = (Editor::with(&root, &["lsp"], params), uri(&root.join("a.rules")));
    editor.open(&uri, rules);
    (editor, uri)
}

/// Returns the action with this title at a position.
fn action(editor: &mut Editor, uri: &str, (line, character): (u32, u32), title: &str) -> Json {
    let at = json!({ "line": line, "character": character });
    let range = json!({ "start": at, "end": at });
    let params = json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } });
    let actions = editor.ask("textDocument/codeAction", params).expect("it answers");
    let found = actions.as_array().into_iter().flatten().find(|one| one["title"] == title);
    found.unwrap_or_else(|| panic!("no `{title}`: {actions}")).clone()
}

/// Executes the command of an action. Returns its result, and the message that the server sent.
fn execute(editor: &mut Editor, action: &Json, method: &str) -> (Json, Json) {
    editor.notifications.clear();
    let command = &action["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    let result = editor.ask("workspace/executeCommand", params).expect("it runs");
    let sent = editor.notifications.iter().find(|message| message["method"] == method);
    let sent = sent.unwrap_or_else(|| panic!("no {method}: {:?}", editor.notifications));
    (result, sent["params"].clone())
}

const WRONG: &str = "route a when text + 1 > 2 -> h\n";

#[test]
fn an_editor_with_documents_of_the_server_shows_the_page_of_a_code() {
    let folder = Folder::new();
    let capabilities = json!({ "workspace": { "textDocumentContent": {} }, "window": { "showDocument": { "support": true } } });
    let (mut editor, uri) = open(&folder, &capabilities, WRONG);
    let schemes = &editor.capabilities["workspace"]["textDocumentContent"]["schemes"];
    assert_eq!(schemes, &json!(["rulec"]));
    let found = editor.request_for("textDocument/diagnostic", &uri);
    let (code, href) = (&found["items"][0]["code"], &found["items"][0]["codeDescription"]["href"]);
    assert_eq!((code, href), (&json!("E0301"), &json!("rulec:/codes/E0301.md")));
    let page = editor.ask("workspace/textDocumentContent", json!({ "uri": href })).expect("a page");
    let text = page["text"].as_str().expect("a text");
    assert!(text.starts_with("# E0301: ") && text.contains("## Right"), "{text}");
    let other = json!({ "uri": "rulec:/codes/E9999.md" });
    assert_eq!(editor.ask("workspace/textDocumentContent", other), Ok(Json::Null));

    let explain = action(&mut editor, &uri, (0, 18), "explain E0301");
    let (result, shown) = execute(&mut editor, &explain, "window/showDocument");
    assert_eq!((&result, &shown["uri"]), (&page["text"], href));
    assert_eq!(editor.stop(), Some(0));
}

#[test]
fn another_editor_shows_the_page_of_a_code_as_a_message() {
    let folder = Folder::new();
    let (mut editor, uri) = open(&folder, &json!({}), WRONG);
    let found = editor.request_for("textDocument/diagnostic", &uri);
    assert_eq!(found["items"][0].get("codeDescription"), None, "{found}");
    let explain = action(&mut editor, &uri, (0, 18), "explain E0301");
    let (result, shown) = execute(&mut editor, &explain, "window/showMessage");
    assert_eq!((&shown["message"], &shown["type"]), (&result, &json!(3)));

    editor.change(&uri, 2, "# rulec: allow W0201\nroute a when text == \"a\" -> h\n");
    let hover = editor.at("textDocument/hover", &uri, 0, 17);
    let page = hover["contents"]["value"].as_str().expect("a page");
    assert!(page.starts_with("# W0201: "), "{page}");
    assert_eq!(editor.stop(), Some(0));
}

#[test]
fn the_language_of_the_page_and_of_words_is_that_of_the_editor() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let mut editor = Editor::with(&root, &["lsp"], json!({ "locale": "zh-cn" }));
    let uri = uri(&root.join("a.rules"));
    editor.open(&uri, WRONG);
    let hover = editor.at("textDocument/hover", &uri, 0, 2);
    assert!(hover.to_string().contains("哪个处理器接收消息"), "{hover}");
    let explain = action(&mut editor, &uri, (0, 18), "解释 E0301");
    let (page, _) = execute(&mut editor, &explain, "window/showMessage");
    assert!(page.as_str().is_some_and(|page| page.contains("## 错误")), "{page}");
}

/// The message of the added test is found by the analysis.
#[test]
fn a_test_is_added_for_a_route() {
    let folder = Folder::new();
    let rules = "import \"words.rules\"\nroute a when money and ctx.n > 3 -> h\nroute b when money and not money -> h\n";
    std::fs::write(folder.dir.path().join("words.rules"), "let money = text contains \"refund\"\n")
        .expect("it can be written");
    let (mut editor, uri) = open(&folder, &json!({}), rules);
    let add = action(&mut editor, &uri, (1, 8), "add a test for `a`");
    let (_, applied) = execute(&mut editor, &add, "workspace/applyEdit");
    let edit = &applied["edit"]["changes"][&uri][0];
    let block = "\ntest \"refund: a\" {\n  given ctx = { n: 4 }\n  given text = \"refund\"\n  expect a\n}\n";
    assert_eq!(edit["newText"], block);
    assert_eq!(edit["range"]["start"], json!({ "line": 3, "character": 0 }));

    let refused = action(&mut editor, &uri, (2, 8), "add a test for `b`");
    let command = &refused["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    let error = editor.ask("workspace/executeCommand", params).expect_err("no message reaches it");
    assert_eq!(error["message"], "no message can reach `b`");
    assert_eq!(editor.stop(), Some(0));
}

#[test]
fn lines_are_formatted_while_they_are_typed() {
    let folder = Folder::new();
    let (mut editor, uri) = open(&folder, &json!({}), "table t {\nroute a when x->h\n}\n");
    let mut typed = |character: &str, line: u32, column: u32| {
        let params = json!({
            "textDocument": { "uri": uri }, "position": { "line": line, "character": column },
            "ch": character, "options": { "tabSize": 2, "insertSpaces": true },
        });
        editor.ask("textDocument/onTypeFormatting", params).expect("it answers")
    };
    let edits = typed("\n", 1, 0);
    assert_eq!(edits[0]["newText"], "  ");
    let edits = typed("}", 2, 1);
    assert_eq!(edits[0]["newText"], "table t {\n  route a when x -> h\n}");
    assert_eq!(typed("x", 1, 5), json!([]));
}
