//! The language server tells an editor what has changed, and nothing again that has not.

use super::Folder;
use super::lsp::{Editor, uri};
use serde_json::json;

/// Diagnostics that nothing changed were told again, after the analysis and after each save; code lenses were not asked for
/// anew when an edit of another file changed what hides a route.
#[test]
fn diagnostics_are_told_once_and_lenses_asked_for_anew() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let able = json!({ "capabilities": { "workspace": { "codeLens": { "refreshSupport": true } } } });
    let mut editor = Editor::with(&root, &["lsp", "--stdio"], able);
    let (main, words) = (uri(&root.join("main.rules")), uri(&root.join("words.rules")));
    let text =
        "import \"words.rules\"\nroute a when wanted -> h\nroute b when text == \"x\" -> h\ndefault -> h\n";
    // The times each file is told of until the analysis is through.
    let told = |editor: &mut Editor| {
        let mut times = [0, 0];
        loop {
            let message = if editor.told.is_empty() { editor.read() } else { editor.told.remove(0) };
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
    let lenses = |editor: &mut Editor| editor.of("textDocument/codeLens", &main).as_array().map(Vec::len);
    editor.open(&words, "let wanted = text == \"y\"\n");
    editor.open(&main, text);
    assert_eq!(told(&mut editor), [1, 1]);
    assert_eq!(lenses(&mut editor), Some(0));
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": main } }));
    assert_eq!(told(&mut editor), [0, 0], "nothing has changed");
    // By an edit of the other file the route is hidden: its warning comes with the analysis.
    editor.change(&words, 2, "let wanted = text == \"x\"\n");
    assert_eq!(told(&mut editor), [1, 1]);
    assert_eq!(lenses(&mut editor), Some(1));
    assert_eq!(editor.stop(), Some(0));
}
