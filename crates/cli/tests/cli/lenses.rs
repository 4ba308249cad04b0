//! Tests that the language server sends diagnostics only if they have changed.

use super::Folder;
use super::lsp::{Editor, uri};
use serde_json::{Value as Json, json};

/// Regression test: unchanged diagnostics were sent again after the analysis and after each save.
/// Code lenses were not refreshed when an edit of another file changed which routes are hidden.
#[test]
fn diagnostics_are_told_once_and_lenses_asked_for_anew() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let able = json!({ "capabilities": { "workspace": { "codeLens": { "refreshSupport": true } } } });
    let mut editor = Editor::with(&root, &["lsp", "--stdio"], able);
    let (main, words) = (uri(&root.join("main.rules")), uri(&root.join("words.rules")));
    let text =
        "import \"words.rules\"\nroute a when wanted -> h\nroute b when text == \"x\" -> h\ndefault -> h\n";
    // Reads messages until the analysis is complete. Counts how often the diagnostics of each file
    // were published.
    let told = |editor: &mut Editor| {
        let mut times = [0, 0];
        loop {
            let message =
                if editor.notifications.is_empty() { editor.read() } else { editor.notifications.remove(0) };
            match message["method"].as_str() {
                Some("workspace/codeLens/refresh") => return times,
                Some("textDocument/publishDiagnostics") => {
                    let of = |uri: &str| usize::from(message["params"]["uri"] == uri);
                    times = [times[0] + of(&main), times[1] + of(&words)];
                }
                _ => {}
            }
        }
    };
    let lenses =
        |editor: &mut Editor| editor.request_for("textDocument/codeLens", &main).as_array().map(Vec::len);
    editor.open(&words, "let wanted = text == \"y\"\n");
    editor.open(&main, text);
    assert_eq!(told(&mut editor), [1, 1]);
    assert_eq!(lenses(&mut editor), Some(0));
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": main } }));
    assert_eq!(told(&mut editor), [0, 0], "nothing has changed");
    // The edit of the other file makes one route hide another, which the analysis reports.
    editor.change(&words, 2, "let wanted = text == \"x\"\n");
    assert_eq!(told(&mut editor), [1, 1]);
    assert_eq!(lenses(&mut editor), Some(1));
    assert_eq!(editor.stop(), Some(0));
}

/// Regression test: after a save or an edit, analysis findings disappeared until the next analysis
/// was complete.
#[test]
fn findings_of_an_analysis_stay_until_the_next_one_is_through() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let able = json!({ "capabilities": { "workspace": { "codeLens": { "refreshSupport": true } } } });
    let mut editor = Editor::with(&root, &["lsp", "--stdio"], able);
    let (main, words) = (uri(&root.join("main.rules")), uri(&root.join("words.rules")));
    // Reads messages until the analysis is complete. Collects, for each publication, the lines that
    // are reported as hidden routes.
    let told = |editor: &mut Editor| {
        let mut times: Vec<Vec<u64>> = Vec::new();
        loop {
            let message =
                if editor.notifications.is_empty() { editor.read() } else { editor.notifications.remove(0) };
            let params = &message["params"];
            match message["method"].as_str() {
                Some("workspace/codeLens/refresh") => return times,
                Some("textDocument/publishDiagnostics") if params["uri"] == main => {
                    let all = params["diagnostics"].as_array().into_iter().flatten();
                    let hidden = all.filter(|found| found["code"] == "W0213");
                    times.push(hidden.filter_map(|found| found["range"]["start"]["line"].as_u64()).collect());
                }
                _ => {}
            }
        }
    };
    let routes = "route a when n < 1 -> h\nroute b when n < 0 -> h\ndefault -> h\n";
    editor.open(&words, "let m = 1\n");
    editor.open(&main, &format!("import \"words.rules\"\n{routes}"));
    // The analysis of the first file may be complete before the second file is opened.
    while told(&mut editor).last() != Some(&vec![2]) {}
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": main } }));
    assert!(told(&mut editor).is_empty(), "nothing has changed");
    // The finding moves with its line, and is published once.
    editor.change(&main, 2, &format!("import \"words.rules\"\n\n\n{routes}"));
    assert_eq!(told(&mut editor), [[4]]);
    // An edit of another file does not affect the finding.
    editor.change(&words, 2, "let m = 2\n");
    assert!(told(&mut editor).is_empty());
    // The route that hides the other route is edited, so the finding is withdrawn.
    editor.change(&main, 3, &format!("import \"words.rules\"\n\n\n{}", routes.replace("< 1", "< -1")));
    assert_eq!(told(&mut editor), [Vec::<u64>::new()]);
    assert_eq!(editor.stop(), Some(0));
}

#[test]
fn an_exit_without_a_shutdown_is_an_error_and_no_request_follows_a_shutdown() {
    let folder = Folder::new();
    let mut editor = Editor::start(folder.dir.path());
    editor.tell("exit", Json::Null);
    assert_eq!(editor.ended(), Some(1));
    let mut editor = Editor::start(folder.dir.path());
    editor.ask("shutdown", Json::Null).expect("it shuts down");
    let refused = editor.ask("workspace/symbol", json!({ "query": "" })).expect_err("it is shut down");
    assert_eq!(refused["code"], -32600, "{refused}");
    editor.tell("exit", Json::Null);
    assert_eq!(editor.ended(), Some(0));
}
