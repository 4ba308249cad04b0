//! Tests of the language server over standard input and output. The client of the tests acts like
//! an editor.

use super::Folder;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A client that acts like an editor towards the language server.
pub struct Editor {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    asked: i64,
    pub notifications: Vec<Json>,
    pub capabilities: Json,
}

impl Editor {
    pub fn start(folder: &Path) -> Editor {
        Editor::with(folder, &["lsp", "--stdio"], json!({}))
    }

    /// Starts the program with these arguments, and initializes the server with these parameters.
    pub fn with(folder: &Path, args: &[&str], mut params: Json) -> Editor {
        let mut server = Command::new(assert_cmd::cargo::cargo_bin!("rulec"))
            .args(args)
            .env_remove("RULEC_LANG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let (to, from) = (server.stdin.take(), BufReader::new(server.stdout.take().expect("a pipe")));
        let mut editor =
            Editor { server, to, from, asked: 0, notifications: Vec::new(), capabilities: Json::Null };
        params["workspaceFolders"] = json!([{ "uri": uri(folder), "name": "folder" }]);
        if params["capabilities"].is_null() {
            params["capabilities"] = json!({});
        }
        let started = editor.ask("initialize", params).expect("it starts");
        assert_eq!(started["serverInfo"]["name"], "rulec");
        // Regression test: Visual Studio Code used both pushed and pulled diagnostics, and showed
        // each one twice.
        assert_eq!(started["capabilities"].get("diagnosticProvider"), None);
        editor.capabilities = started["capabilities"].clone();
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Json) {
        let text = message.to_string();
        let to = self.to.as_mut().expect("a pipe");
        write!(to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        to.flush().expect("the server reads");
    }

    pub fn tell(&mut self, method: &str, params: Json) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn read(&mut self) -> Json {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("the server writes");
            assert!(!line.is_empty(), "the server has gone");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", text)) => length = text.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.from.read_exact(&mut text).expect("the server writes");
        serde_json::from_slice(&text).expect("it is JSON")
    }

    /// Sends a request; returns the result or error of the response.
    pub fn ask(&mut self, method: &str, params: Json) -> Result<Json, Json> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.read();
            if message["id"] != id {
                self.notifications.push(message);
                continue;
            }
            return match message.get("error") {
                Some(error) => Err(error.clone()),
                None => Ok(message["result"].clone()),
            };
        }
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "rules", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub fn change(&mut self, uri: &str, version: i32, text: &str) {
        let document = json!({ "uri": uri, "version": version });
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
    }

    /// Returns the codes of the diagnostics that the server publishes for a version of a document.
    fn diagnostics(&mut self, uri: &str, version: i32) -> Vec<String> {
        codes(&self.published(uri, &json!(version)))
    }

    /// Returns the next diagnostics that the server publishes for a version of a document.
    fn published(&mut self, uri: &str, version: &Json) -> Json {
        loop {
            let message =
                if self.notifications.is_empty() { self.read() } else { self.notifications.remove(0) };
            let params = &message["params"];
            if message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri
                && params["version"] == *version
            {
                return params["diagnostics"].clone();
            }
        }
    }

    pub fn at(&mut self, method: &str, uri: &str, line: u32, character: u32) -> Json {
        let position = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": uri }, "position": position, "context": { "includeDeclaration": true, "triggerKind": 1 } });
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    pub fn request_for(&mut self, method: &str, uri: &str) -> Json {
        let everything =
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 999, "character": 0 } });
        let params = json!({ "textDocument": { "uri": uri }, "range": everything, "options": { "tabSize": 2, "insertSpaces": true }, "context": { "diagnostics": [] } });
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Shuts the server down as an editor does; returns its exit status.
    pub fn stop(mut self) -> Option<i32> {
        self.ask("shutdown", Json::Null).expect("it shuts down");
        self.tell("exit", Json::Null);
        self.ended()
    }

    pub fn ended(mut self) -> Option<i32> {
        drop(self.to.take());
        let mut rest = Vec::new();
        let _ = self.from.read_to_end(&mut rest);
        self.server.wait().expect("it ends").code()
    }
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn codes(diagnostics: &Json) -> Vec<String> {
    let code = |one: &Json| one["code"].as_str().unwrap_or_default().to_owned();
    diagnostics.as_array().into_iter().flatten().map(code).collect()
}

const RULES: &str = "\
## Asks for money.
let money = text contains any [\"refund\", \"wörk 😀\"]
input { text: string, ctx: { n: int } }
route refund priority 2 when money -> billing
route first priority 9 when ctx.n > 3 and not money -> billing
table rest {
  route every when text is present -> billing
}
test \"money\" { given text = \"refund\" expect refund }
";

/// Sends each kind of request that the server advertises.
#[test]
fn every_request_of_an_editor_is_answered() {
    let folder = Folder::new();
    let path = folder.dir.path().canonicalize().expect("a folder").join("a.rules");
    let (uri, mut editor) = (uri(&path), Editor::start(path.parent().expect("a folder")));
    editor.open(&uri, RULES);
    assert!(editor.diagnostics(&uri, 1).iter().all(|code| code.starts_with('W')), "no errors");

    let hover = editor.at("textDocument/hover", &uri, 3, 30);
    assert!(
        hover["contents"]["value"].as_str().is_some_and(|text| text.contains("let money: bool")),
        "{hover}"
    );
    let definition = editor.at("textDocument/definition", &uri, 3, 30);
    assert_eq!(definition["range"]["start"], json!({ "line": 1, "character": 4 }));
    let references = editor.at("textDocument/references", &uri, 1, 5);
    assert_eq!(references.as_array().map(Vec::len), Some(3), "{references}");
    let highlights = editor.at("textDocument/documentHighlight", &uri, 1, 5);
    assert_eq!(highlights.as_array().map(Vec::len), Some(3), "{highlights}");
    let offers = editor.at("textDocument/completion", &uri, 3, 29);
    assert!(offers.as_array().into_iter().flatten().any(|one| one["label"] == "money"), "{offers}");

    let prepared = editor.at("textDocument/prepareRename", &uri, 3, 30);
    assert_eq!(prepared["placeholder"], "money");
    let position = json!({ "line": 3, "character": 30 });
    let rename =
        |name: &str| json!({ "textDocument": { "uri": &uri }, "position": &position, "newName": name });
    let renamed = editor.ask("textDocument/rename", rename("wants money")).expect("it can be");
    let edits = renamed["changes"][&uri].as_array().cloned().unwrap_or_default();
    assert!(edits.len() == 3 && edits.iter().all(|edit| edit["newText"] == "`wants money`"), "{renamed}");
    let refused = editor.ask("textDocument/rename", rename("a`b")).expect_err("it is not a name");
    assert!(
        refused["message"].as_str().is_some_and(|text| text.contains("is not a valid name")),
        "{refused}"
    );

    let symbols = editor.request_for("textDocument/documentSymbol", &uri);
    let names: Vec<&str> =
        symbols.as_array().into_iter().flatten().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["money", "input", "refund", "first", "rest", "money"]);
    assert_eq!(symbols[4]["children"][0]["name"], "every");
    let found = editor.ask("workspace/symbol", json!({ "query": "REF" })).expect("it answers");
    assert_eq!(found[0]["name"], "refund");

    let tokens = editor.request_for("textDocument/semanticTokens/full", &uri);
    assert_eq!(tokens["data"].as_array().map(|data| data.len() % 5), Some(0));
    let folds = editor.request_for("textDocument/foldingRange", &uri);
    assert_eq!((&folds[0]["startLine"], &folds[0]["endLine"]), (&json!(5), &json!(6)));
    let hints = editor.request_for("textDocument/inlayHint", &uri);
    let hints: Vec<&str> =
        hints.as_array().into_iter().flatten().filter_map(|one| one["label"].as_str()).collect();
    assert_eq!(hints, [": bool", " #2", " #1"]);
    let lenses = editor.request_for("textDocument/codeLens", &uri);
    let run =
        lenses.as_array().into_iter().flatten().find(|one| one["command"]["command"] == "rulec.runTest");
    let command = run.expect("a test can be run")["command"].clone();
    let ran = json!({ "command": command["command"], "arguments": command["arguments"] });
    let ran = editor.ask("workspace/executeCommand", ran).expect("it runs");
    assert_eq!((&ran["passed"], &ran["actual"]), (&json!(true), &json!("refund")));

    editor.change(&uri, 2, "route   a when x == 1 -> h\n");
    let edits = editor.request_for("textDocument/formatting", &uri);
    assert_eq!(
        (&edits[0]["range"]["start"], &edits[0]["newText"]),
        (&json!({ "line": 0, "character": 6 }), &json!(""))
    );
    // One edit covers everything from the first difference to the last, even between multi-byte
    // characters.
    editor.change(&uri, 3, "route  文 when x ==   \"é文\" -> 文\n");
    let edits = editor.request_for("textDocument/formatting", &uri);
    assert_eq!(
        (&edits[0]["range"], &edits[0]["newText"]),
        (
            &json!({ "start": { "line": 0, "character": 6 }, "end": { "line": 0, "character": 20 } }),
            &json!("文 when x ==")
        )
    );
    editor.change(&uri, 3, "route a when x == 1 -> h\n");
    assert_eq!(editor.request_for("textDocument/formatting", &uri), json!([]), "it is laid out");

    editor.change(&uri, 4, &RULES.replace("when money", "when mony"));
    assert_eq!(editor.diagnostics(&uri, 4), ["E0201"]);
    let pulled = editor.request_for("textDocument/diagnostic", &uri);
    assert_eq!(codes(&pulled["items"]), ["E0201"]);
    let actions = editor.request_for("textDocument/codeAction", &uri);
    assert_eq!(actions[0]["title"], "replace `mony` with `money`");
    assert_eq!(actions[0]["edit"]["changes"][&uri][0]["newText"], "money");
    assert_eq!(editor.stop(), Some(0));
}

/// Diagnostics and fixes are in the editor's language, unless `--lang` selects another language.
#[test]
fn findings_are_told_in_the_language_of_the_editor() {
    let folder = Folder::new();
    let cases: [(&str, &[&str], bool); 4] = [
        ("zh-cn", &[], true),
        ("en", &["--lang", "zh"], true),
        ("zh", &["--lang", "en"], false),
        ("fr", &[], false),
    ];
    for (locale, args, chinese) in cases {
        let args_of_lsp = [&["lsp", "--stdio"], args].concat();
        let mut editor = Editor::with(folder.dir.path(), &args_of_lsp, json!({ "locale": locale }));
        let file = uri(&folder.dir.path().join("a.rules"));
        editor.open(&file, "route a when text == 'x' -> h");
        let found = loop {
            let message =
                if editor.notifications.is_empty() { editor.read() } else { editor.notifications.remove(0) };
            if message["method"] == "textDocument/publishDiagnostics" {
                break message["params"]["diagnostics"][0].clone();
            }
        };
        let text = found["message"].as_str().expect("a text");
        let expected = match chinese {
            true => "字符串要用半角的直双引号\n帮助：请写 `\"x\"`",
            false => "strings need straight double quotes\nhelp: write `\"x\"`",
        };
        assert_eq!(text, expected, "{locale} {args:?}");
        let context = json!({ "diagnostics": [found] });
        let asked = json!({ "textDocument": { "uri": file }, "range": found["range"], "context": context });
        let fixes = editor.ask("textDocument/codeAction", asked).expect("an answer");
        let title = if chinese { "把 `'x'` 替换为 `\"x\"`" } else { "replace `'x'` with `\"x\"`" };
        assert_eq!(fixes[0]["title"], title, "{locale} {args:?}");
    }
}

/// A file that others import has no `input` of its own. It is analysed as part of the importing
/// files, with their unsaved changes.
#[test]
fn files_that_others_import_are_judged_with_them() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    std::fs::create_dir(root.join("shared")).expect("a folder");
    std::fs::write(
        root.join("main.rules"),
        "import \"shared/words.rules\"\ninput { text: string }\nroute a when money -> h\n",
    )
    .expect("written");
    let words = root.join("shared/words.rules");
    std::fs::write(&words, "let money = text == \"a\"\n").expect("written");
    let (main, words) = (uri(&root.join("main.rules")), uri(&words));
    let mut editor = Editor::start(&root);
    editor.open(&words, "let money = text == \"a\"\n");
    assert_eq!(editor.diagnostics(&words, 1), [] as [&str; 0]);
    let places = editor.at("textDocument/references", &words, 0, 5);
    let files: Vec<&str> =
        places.as_array().into_iter().flatten().filter_map(|one| one["uri"].as_str()).collect();
    assert_eq!(files, [&main, &words]);
    // A change that breaks an importer is reported for the importer, even if the importer is not
    // open.
    editor.change(&words, 2, "let mony = text == \"a\"\n");
    editor.diagnostics(&words, 2);
    let pulled = editor.request_for("textDocument/diagnostic", &main);
    assert_eq!(codes(&pulled["items"]), ["E0201"]);
    // An import counts as soon as it is typed, and no longer counts when it is removed.
    let other = uri(&root.join("other.rules"));
    editor.open(&other, "route b when mony -> h\n");
    assert_eq!(editor.at("textDocument/references", &words, 0, 5).as_array().map(Vec::len), Some(1));
    editor.change(&other, 2, "import \"shared/words.rules\"\nroute b when mony -> h\n");
    editor.open(&main, "route a when text == \"a\" -> h\n");
    editor.change(&main, 2, "default -> h\n");
    assert_eq!(editor.at("textDocument/references", &words, 0, 5).as_array().map(Vec::len), Some(2));
    editor.change(&other, 3, "route b when mony -> h\n");
    assert_eq!(editor.at("textDocument/references", &words, 0, 5).as_array().map(Vec::len), Some(1));
    assert_eq!(editor.stop(), Some(0));
}

/// Regression test: the editor showed warnings that `rulec.toml` allows. It did not show denied
/// warnings as errors.
#[test]
fn findings_are_as_severe_as_the_settings_say() {
    const HIDDEN: &str = "let unused = 1\nroute a when ctx.n > 3 -> h\nroute b when ctx.n > 5 -> h\n";
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let (rules, settings) = (uri(&root.join("a.rules")), uri(&root.join("rulec.toml")));
    let write = |text: &str| std::fs::write(root.join("rulec.toml"), text).expect("it is written");
    write("[severity]\nW0102 = \"allow\"\nW0213 = \"deny\"\n");
    let watching = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut editor = Editor::with(&root, &["lsp"], json!({ "capabilities": watching }));
    editor.open(&rules, HIDDEN);
    let severe = |items: &Json| -> Vec<(String, i64)> {
        let items = items.as_array().cloned().unwrap_or_default();
        let one = |item: &Json| {
            let code = item["code"].as_str().unwrap_or_default().to_owned();
            (code, item["severity"].as_i64().unwrap_or_default())
        };
        items.iter().map(one).filter(|(code, _)| ["W0102", "W0213"].contains(&code.as_str())).collect()
    };
    let pulled = editor.request_for("textDocument/diagnostic", &rules);
    assert_eq!(severe(&pulled["items"]), [("W0213".to_owned(), 1)]);
    // The server asks for notifications about files on disk, and reloads the settings after a
    // change.
    let asked = |message: &Json| message["method"] == "client/registerCapability";
    assert!(editor.notifications.iter().any(asked), "{:?}", editor.notifications);
    write("");
    editor.tell("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": settings, "type": 2 }] }));
    let pulled = editor.request_for("textDocument/diagnostic", &rules);
    let expected = [("W0102".to_owned(), 2), ("W0213".to_owned(), 2)];
    assert_eq!(severe(&pulled["items"]), expected);
    // An error in the settings is reported in the settings file, and the rules are still checked.
    write("\n[severity]\nW9999 = \"deny\"\n");
    editor.tell("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": settings, "type": 2 }] }));
    let fault = editor.published(&settings, &Json::Null);
    assert_eq!(fault[0]["range"]["start"], json!({ "line": 2, "character": 0 }));
    assert!(fault[0]["message"].as_str().is_some_and(|text| text.contains("no warning `W9999`")), "{fault}");
    let pulled = editor.request_for("textDocument/diagnostic", &rules);
    assert_eq!(severe(&pulled["items"]), expected);
    write("strict-ties = true\n");
    editor.tell("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": settings, "type": 2 }] }));
    assert_eq!(editor.published(&settings, &Json::Null), json!([]), "it is mended");
    assert_eq!(editor.stop(), Some(0));
}

#[test]
fn findings_are_told_in_the_language_of_the_editor_or_of_the_command_line() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let message = |args: &[&str], params: Json| {
        let (uri, mut editor) = (uri(&root.join("a.rules")), Editor::with(&root, args, params));
        editor.open(&uri, "route a when mony -> h\ninput { text: string }\n");
        let pulled = editor.request_for("textDocument/diagnostic", &uri);
        assert_eq!(editor.stop(), Some(0));
        pulled["items"][0]["message"].as_str().unwrap_or_default().to_owned()
    };
    let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    let english = message(&["lsp"], json!({ "locale": "en" }));
    assert!(english.contains("`mony`") && !is_chinese(&english), "{english}");
    for (args, locale) in [(&["lsp"][..], "zh-cn"), (&["lsp", "--lang", "zh"][..], "en")] {
        let text = message(args, json!({ "locale": locale }));
        assert!(text.contains("`mony`") && is_chinese(&text), "{text}");
    }
    assert!(!is_chinese(&message(&["lsp", "--lang", "en"], json!({ "locale": "zh" }))));
}

/// If a folder is added while the server runs, files of this folder may import an open file.
#[test]
fn folders_may_come_and_go() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    for name in ["one", "two"] {
        std::fs::create_dir(root.join(name)).expect("a folder");
    }
    std::fs::write(
        root.join("two/main.rules"),
        "import \"words.rules\"\ninput { text: string }\nroute a when money -> h\n",
    )
    .expect("written");
    let words = root.join("two/words.rules");
    std::fs::write(&words, "let money = text == \"a\"\n").expect("written");
    let (words, mut editor) = (uri(&words), Editor::start(&root.join("one")));
    editor.open(&words, "let money = text == \"a\"\n");
    let places = |editor: &mut Editor| editor.at("textDocument/references", &words, 0, 5);
    assert_eq!(places(&mut editor).as_array().map(Vec::len), Some(1));
    let two = json!({ "uri": uri(&root.join("two")), "name": "two" });
    editor
        .tell("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": [&two], "removed": [] } }));
    assert_eq!(places(&mut editor).as_array().map(Vec::len), Some(2));
    editor.tell("workspace/didChangeWorkspaceFolders", json!({ "event": { "added": [], "removed": [two] } }));
    assert_eq!(places(&mut editor).as_array().map(Vec::len), Some(1));
    assert_eq!(editor.stop(), Some(0));
}

#[test]
fn wrong_requests_are_refused_and_cost_nothing_else() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let mut editor = Editor::start(&root);
    let refused =
        editor.ask("textDocument/hover", json!({ "position": 3 })).expect_err("the parameters are wrong");
    assert_eq!(refused["code"], -32602);
    let refused = editor.ask("textDocument/unheard", json!({})).expect_err("there is no such request");
    assert_eq!(refused["code"], -32601);
    let command = json!({ "command": "rulec.runTest", "arguments": ["nowhere", "x"] });
    assert!(editor.ask("workspace/executeCommand", command).is_err());
    // These requests name a missing document, a URI that is not a file, and a position past the
    // end.
    let missing = uri(&root.join("missing.rules"));
    assert_eq!(editor.at("textDocument/hover", &missing, 0, 0), Json::Null);
    editor.open("untitled:Untitled-1", "route a when x -> h\n");
    assert!(editor.at("textDocument/hover", "untitled:Untitled-1", 0, 13)["contents"].is_object());
    assert_eq!(editor.at("textDocument/hover", "untitled:Untitled-1", 99, 99), Json::Null);
    editor.tell("textDocument/didChange", json!({ "textDocument": {} }));
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": missing } }));
    editor.open(&missing, "\u{feff}route a when ((((((((((((((\r\n\u{0}'“");
    assert!(!editor.diagnostics(&missing, 1).is_empty());
    assert_eq!(editor.stop(), Some(0));
}

/// A closed connection ends the server without a message, also in the middle of a message.
#[test]
fn an_editor_that_goes_away_ends_the_server() {
    let folder = Folder::new();
    let editor = Editor::start(folder.dir.path());
    assert_eq!(editor.ended(), Some(0));
    let mut editor = Editor::start(folder.dir.path());
    editor
        .to
        .as_mut()
        .expect("a pipe")
        .write_all(b"Content-Length: x\r\n\r\nroute")
        .expect("the server reads");
    assert_eq!(editor.ended(), Some(0));
}

/// Regression test: the first length made the server panic, and the second made it reserve seven
/// gigabytes.
#[test]
fn a_length_that_no_message_has_is_an_error_and_the_server_goes_on() {
    let folder = Folder::new();
    let mut editor = Editor::start(folder.dir.path());
    for length in ["18446744073709551615", "7000000000", "x"] {
        let to = editor.to.as_mut().expect("a pipe");
        write!(to, "Content-Length: {length}\r\n\r\n{{}}").expect("the server reads");
        let file = uri(&folder.path("missing.rules"));
        assert_eq!(editor.at("textDocument/hover", &file, 0, 0), Json::Null);
        let report = editor.notifications.pop().expect("the error is reported");
        assert_eq!((&report["method"], &report["params"]["type"]), (&json!("window/logMessage"), &json!(1)));
    }
    assert_eq!(editor.stop(), Some(0));
}
