//! Values of `@private` fields are printed nowhere: each value and each key of the messages
//! contains a token, and no output of any command contains the token.

use super::Folder;
use support::{BROKEN, CONTEXT, PAYLOADS, RULES, TOKEN, log, messages};

#[path = "../../../../tests/support/private.rs"]
mod support;

/// Returns a folder with the rules, messages and payloads.
fn folder() -> Folder {
    let lines = messages().into_iter().chain(BROKEN.map(str::to_owned)).collect::<Vec<_>>().join("\n");
    let other =
        RULES.replace("-> other(u: users)", "-> changed(u: users)").replace("-> h(u: text)", "-> g(u: text)");
    Folder::with(RULES)
        .file("b.rules", other)
        .file("m.jsonl", lines)
        .file("p.jsonl", PAYLOADS.join("\n"))
        .file("c.json", CONTEXT)
        .file("log.jsonl", log())
}

/// Removes from an output the arguments of handlers and the corrected payload. They are results for
/// the caller, so they may contain private values.
fn without_results(out: &str) -> String {
    let mut text = out.to_owned();
    while let (Some(start), Some(end)) = (text.find("\"args\":{"), text.find(",\"metadata\":{}")) {
        if end < start {
            break;
        }
        text.replace_range(start..end + ",\"metadata\":{}".len(), "");
    }
    while let Some(start) = text.find(",\"corrected\":{") {
        let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
        text.replace_range(start..end, "");
    }
    text
}

#[track_caller]
fn check(folder: &Folder, args: &[&str], stdin: &str) {
    let ran = folder.fed(args, stdin);
    for text in [&ran.out, &ran.err] {
        let text = without_results(text);
        let found: Vec<&str> = text.lines().filter(|line| line.contains(TOKEN)).take(3).collect();
        assert!(found.is_empty(), "{args:?} {stdin}: {found:#?}");
    }
}

#[test]
fn no_command_prints_a_private_value() {
    let folder = folder();
    folder.rulec(&["run", "a.rules", "m.jsonl"]).expect(1);
    for entry in ["routes", "tone", "mood", "flows"] {
        for more in [&[][..], &["--all"], &["--explain"]] {
            check(&folder, &[&["run", "a.rules", "m.jsonl", "--entry", entry], more].concat(), "");
        }
    }
    for args in [
        &["run", "a.rules", "p.jsonl", "--decision", "send", "--context", "c.json"][..],
        &["run", "a.rules", "p.jsonl", "--decision", "send", "--context", "c.json", "--strict"],
        &["run", "a.rules", "m.jsonl", "--format", "csv"],
        &["test"],
        &["test", "a.rules", "--format", "json"],
        &["test", "a.rules", "--format", "junit"],
        &["test", "a.rules", "--coverage"],
        &["diff", "a.rules", "b.rules", "--replay", "m.jsonl"],
        &["diff", "a.rules", "b.rules", "--replay", "m.jsonl", "--format", "json"],
        &["diff", "a.rules", "b.rules", "--replay", "log.jsonl"],
        &["doctor", "a.rules", "--log", "log.jsonl"],
        &["bench", "a.rules", "m.jsonl"],
        &["plan", "a.rules"],
        &["check", "a.rules"],
        &["check", "a.rules", "--format", "json"],
        &["schema", "a.rules"],
        &["prompt", "a.rules"],
        &["graph", "a.rules"],
    ] {
        check(&folder, args, "");
    }
    // The page shows the rules, but not the values in the tests.
    folder.rulec(&["test", "a.rules", "--coverage-html", "page.html"]).expect(1);
    let page = std::fs::read_to_string(folder.path("page.html")).expect("it is written");
    assert!(page.contains("test \u{2022}\u{2022}\u{2022}") && !page.contains(TOKEN), "{page}");
    let lines = messages().join("\n");
    check(&folder, &["repl", "a.rules"], &[&lines, "\n", &BROKEN.join("\n")].concat());
}

/// `workflow run` and `run --analysis` print results for the caller, which contain the values; the
/// decision log masks them. `history show` prints hashes of texts that rules only compare.
#[test]
fn results_of_runs_contain_private_values_and_the_log_does_not() {
    let folder = folder();
    let input = r#"{"text": "TOKEN", "output": {"phone": "TOKEN"}}"#;
    for format in ["human", "json"] {
        let args = ["workflow", "run", "a.rules", "--input", input, "--format", format, "--step-limit", "1"];
        let ran = folder.rulec(&args);
        let shown = without_entry(&ran.out, "outputs");
        assert!(!shown.contains(TOKEN) && !ran.err.contains(TOKEN), "{shown} {}", ran.err);
    }
    let lines = messages().join("\n");
    let ran = folder.fed(&["run", "a.rules", "--analysis", "--log", "analysed.jsonl"], lines);
    assert!(ran.out.contains("\"analysis\"") && !ran.err.contains(TOKEN), "{}", ran.err);
    let log = std::fs::read_to_string(folder.path("analysed.jsonl")).expect("it is written");
    assert!(log.contains("\"analysis\"") && !log.contains(TOKEN), "{log}");
    for (command, text) in [
        (&["run", "--help"][..], "Values of `@private` fields are shown"),
        (&["analyze", "--help"], "Values of `@private` fields are shown"),
    ] {
        let help = folder.rulec(command).expect(0).out;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(text), "{help}");
    }
}

#[cfg(feature = "history")]
#[test]
fn the_history_shows_only_the_private_values_that_it_keeps() {
    let rules = "input { session: string, tool: string, now: datetime, phone?: string @private, note?: string @private }\n\
        history by session keep 1h\n\
        route again when any p in history: p.phone == phone and p.note starts_with \"secret\" -> h\n\
        default -> d\n";
    let message = r#"{"session": "s", "tool": "t", "now": "2026-01-31T12:00:00Z", "phone": "TOKEN 1", "note": "secret TOKEN 2"}"#;
    let folder = Folder::with(rules);
    let ran = folder.fed(&["run", "a.rules", "--history", "past"], message).expect(0);
    assert!(
        !without_results(&ran.out).contains(TOKEN) && !ran.err.contains(TOKEN),
        "{} {}",
        ran.out,
        ran.err
    );
    for args in [&["history", "check", "past"][..], &["history", "compact", "past"]] {
        check(&folder, args, "");
    }
    let shown = folder.rulec(&["history", "show", "past"]).expect(0).out;
    assert!(!shown.contains("TOKEN 1") && shown.contains("secret TOKEN 2"), "{shown}");
    let help = folder.rulec(&["history", "--help"]).expect(0).out;
    assert!(help.contains("other private values are shown"), "{help}");
}

/// Removes the value of the first entry with this key from a text with JSON. Human-readable output
/// has the key at the start of a line; then the lines up to the next key are removed.
fn without_entry(out: &str, key: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(out) {
        Ok(serde_json::Value::Object(mut entries)) => {
            entries.remove(key);
            serde_json::Value::Object(entries).to_string()
        }
        _ => out.to_owned(),
    }
}

/// Former bug: `why-not` printed the changed message with the private values of fields that do not
/// change.
#[test]
fn why_not_prints_no_private_value_of_an_unchanged_field() {
    let folder = Folder::with(
        "input { text: string, user: { role: string, phone: string @private } }\n\
         route a when text contains \"x\" and user.role == \"admin\" -> h\ndefault -> d\n",
    );
    let message = r#"{"text": "x", "user": {"role": "u", "phone": "TOKEN"}}"#;
    let args = ["why-not", "a.rules", "a", "--format", "json", "--input", message];
    let shown = folder.rulec(&args).expect(0).out;
    assert!(shown.contains(r#""message": null"#) && !shown.contains("TOKEN"), "{shown}");
    let shown = folder.rulec(&[&args[..], &["--show-private"]].concat()).expect(0).out;
    assert!(shown.contains(r#""phone": "TOKEN""#), "{shown}");
}

#[test]
fn no_explanation_prints_a_private_value() {
    let folder = folder();
    // One message of each shape for each field; the shapes of one field follow each other.
    let kept = messages().into_iter().enumerate().filter(|(at, _)| at % 3 == 0 || *at > 120);
    for (_, message) in kept {
        check(&folder, &["why", "a.rules", "--full", "--input", &message], "");
        check(&folder, &["why", "a.rules", "--format", "json", "--input", &message], "");
    }
    for message in messages().iter().step_by(17) {
        for entry in ["tone", "mood", "flows"] {
            check(&folder, &["why", "a.rules", "--full", "--entry", entry, "--input", message], "");
        }
        for route in ["phones", "cards", "codes", "default"] {
            check(&folder, &["why-not", "a.rules", route, "--input", message], "");
            check(&folder, &["why-not", "a.rules", route, "--format", "json", "--input", message], "");
        }
    }
    for text in BROKEN {
        check(&folder, &["why", "a.rules", "--input", text], "");
        check(&folder, &["why", "a.rules", "--input", "-"], text);
    }
    for payload in PAYLOADS {
        for format in ["human", "json"] {
            let args = ["why", "a.rules", "--decision", "send", "--context", "c.json", "--format", format];
            check(&folder, &[&args[..], &["--input", payload]].concat(), "");
        }
    }
}

/// With `--show-private`, the outputs contain the private values. So the tests above do not pass
/// merely because the outputs lack these values.
#[test]
fn show_private_shows_them() {
    let folder = folder();
    let message = &messages()[2];
    for args in [
        &["test", "a.rules", "--show-private"][..],
        &["why", "a.rules", "--full", "--show-private", "--input", message],
        &["diff", "a.rules", "b.rules", "--replay", "m.jsonl", "--show-private"],
    ] {
        let ran = folder.rulec(args);
        assert!(without_results(&ran.out).contains(TOKEN), "{args:?}: {}", ran.out);
    }
    folder.rulec(&["test", "a.rules", "--coverage-html", "page.html", "--show-private"]).expect(1);
    let page = std::fs::read_to_string(folder.path("page.html")).expect("it is written");
    assert!(page.contains(TOKEN), "{page}");
}

/// The page of a report contains all data of the report, so the test searches the text of the page.
#[cfg(feature = "studio")]
#[test]
fn no_report_shows_a_private_value() {
    let folder = folder();
    for more in [&[][..], &["--input", "m.jsonl"], &["--log", "log.jsonl"]] {
        folder.rulec(&[&["report", "a.rules", "-o", "report.html"], more].concat()).expect(0);
        let page = std::fs::read_to_string(folder.path("report.html")).expect("it was written");
        let found = page.find(TOKEN).map(|at| page[..at].chars().rev().take(200).collect::<String>());
        assert_eq!(found.map(|found| found.chars().rev().collect::<String>()), None, "{more:?}");
    }
}

/// The requests about a position, about a document and about the workspace, each with the
/// capability by which a server offers it.
#[cfg(feature = "lsp")]
const EDITOR_REQUESTS: [(&str, &str); 21] = [
    ("hoverProvider", "textDocument/hover"),
    ("completionProvider", "textDocument/completion"),
    ("definitionProvider", "textDocument/definition"),
    ("referencesProvider", "textDocument/references"),
    ("documentHighlightProvider", "textDocument/documentHighlight"),
    ("renameProvider", "textDocument/prepareRename"),
    ("typeDefinitionProvider", "textDocument/typeDefinition"),
    ("signatureHelpProvider", "textDocument/signatureHelp"),
    ("selectionRangeProvider", "textDocument/selectionRange"),
    ("documentLinkProvider", "textDocument/documentLink"),
    ("documentSymbolProvider", "textDocument/documentSymbol"),
    ("foldingRangeProvider", "textDocument/foldingRange"),
    ("codeActionProvider", "textDocument/codeAction"),
    ("inlayHintProvider", "textDocument/inlayHint"),
    ("codeLensProvider", "textDocument/codeLens"),
    ("semanticTokensProvider", "textDocument/semanticTokens/full"),
    ("workspaceSymbolProvider", "workspace/symbol"),
    // The answers to these requests contain the author's own text. So the test does not send them.
    ("documentFormattingProvider", ""),
    ("documentRangeFormattingProvider", ""),
    ("documentOnTypeFormattingProvider", ""),
    ("executeCommandProvider", "workspace/executeCommand"),
];

/// The test fails if the server offers a capability that is not in the list.
#[cfg(feature = "lsp")]
#[test]
fn no_answer_to_an_editor_shows_a_private_value() {
    use super::lsp::{Editor, uri};
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let (uri, mut editor) = (uri(&root.join("a.rules")), Editor::start(&root));
    let offered = editor.capabilities.as_object().cloned().unwrap_or_default();
    for (capability, _) in offered.iter().filter(|(name, _)| name.ends_with("Provider")) {
        let known = EDITOR_REQUESTS.iter().any(|(name, _)| name == capability);
        assert!(known, "`{capability}` is in the list of requests");
    }
    let broken = RULES.replace("given codes = {", "given codess = {");
    let mut answers = Vec::new();
    for (text, version) in [(RULES, 1), (&broken, 2)] {
        match version {
            1 => editor.open(&uri, text),
            _ => editor.change(&uri, version, text),
        }
        for (line, shown) in (0..).zip(text.lines()) {
            for column in (0..shown.len() as u32).step_by(5) {
                for (_, method) in &EDITOR_REQUESTS[..9] {
                    answers.push((*method, at_place(&mut editor, method, &uri, (line, column))));
                }
            }
        }
        for (_, method) in &EDITOR_REQUESTS[9..16] {
            answers.push((method, editor.request_for(method, &uri)));
        }
        answers.push(("textDocument/diagnostic", editor.request_for("textDocument/diagnostic", &uri)));
        for test in ["fails", "payload"] {
            let run = serde_json::json!({ "command": "rulec.runTest", "arguments": [uri, test] });
            let ran = editor.ask("workspace/executeCommand", run);
            assert_eq!(ran.is_ok(), version == 1, "{ran:?}");
            answers.push(("workspace/executeCommand", ran.unwrap_or_else(|refused| refused)));
        }
        // The message of an added test is invented, so that it holds no value of a message.
        for line in 0..text.lines().count() {
            let position = serde_json::json!({ "line": line, "character": 8 });
            let add = serde_json::json!({ "command": "rulec.addTest", "arguments": [uri, position] });
            answers.push((
                "rulec.addTest",
                editor.ask("workspace/executeCommand", add).unwrap_or_else(|refused| refused),
            ));
        }
        let symbols = editor.ask("workspace/symbol", serde_json::json!({ "query": "" }));
        answers.push(("workspace/symbol", symbols.expect("it answers")));
    }
    answers.extend(editor.notifications.drain(..).map(|message| ("notification", message)));
    for (method, answer) in answers {
        assert!(!answer.to_string().contains(TOKEN), "{method}: {answer}");
    }
    assert_eq!(editor.stop(), Some(0));
}

/// Sends a request about a position. Returns the answer, or the error if the server refuses the
/// request.
#[cfg(feature = "lsp")]
fn at_place(
    editor: &mut super::lsp::Editor,
    method: &str,
    uri: &str,
    (line, character): (u32, u32),
) -> serde_json::Value {
    let position = serde_json::json!({ "line": line, "character": character });
    let params = serde_json::json!({
        "textDocument": { "uri": uri }, "position": position, "positions": [position],
        "context": { "includeDeclaration": true, "triggerKind": 1, "isRetrigger": false },
    });
    editor.ask(method, params).unwrap_or_else(|refused| refused)
}
