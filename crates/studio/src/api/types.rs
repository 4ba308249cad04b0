//! Test that generates the page's TypeScript types; it fails if the generated file is stale.

use super::*;
use std::path::Path;
use ts_rs::{Config, TS};

const TYPES_FILE_HEAD: &str = "\
// Written by `INSTA_UPDATE=always cargo test -p rulec-studio --lib types` from crates/studio/src/api; not to be edited.
";

/// Concatenates the TypeScript declarations of several types.
macro_rules! declarations {
    ($config:expr, $($ty:ty)*) => { [$(declaration::<$ty>($config)),*].concat() };
}

fn declaration<T: TS>(config: &Config) -> String {
    let docs = T::docs().unwrap_or_default();
    format!("\n{docs}export {}\n", T::decl(config))
}

fn all_declarations() -> String {
    let config = Config::default();
    let declarations = declarations!(&config,
        Session RuleSet Version Source Overview EntryKind EntryInfo FormField Control KeptMessage KeptMessages KeepMessages
        UploadRules Refusal Decide MessageOf EarlierMessage EarlierDecision History HistoryItem Decided Decision InputViolation LeftOut Mistake AskNear Near NearKind NearField Judged Violation
        Unchecked Correction DiffLine DiffKind WorkflowRun WorkflowStep RouterDecision WorkflowDelivery NodeFailure MakeTest MadeTest
        StartReplay Started ReplayState Progress ReplaySums LineMistake StatementCount
        Timeline Series Flip AskRows RowSort Rows Row RowMessage Map MapTable MapRoute HowFound MapFinding FindingKind SourceRange
        MapWorkflow MapNode MapEdge DecisionTable Column TableRow Gap Overlap EditRow RowChange EditedRow FileText Check Checked Diagnostic
        DiagnosticLabel Fix TextEdit Fold Hint TestRun OutlineItem At Completions CompletionItem SnippetPart Hover Format Formatted Save
        Saved CodePage AskReport Report ReportSummary CoverageItem Slow Sample
    );
    let text = format!("{TYPES_FILE_HEAD}{declarations}\n{}", explanation_types());
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Returns the TypeScript types of an explanation, without the head comment of their file. The
/// crate `rulec-eval` generates that file.
fn explanation_types() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../eval/explanation.ts");
    let types = std::fs::read_to_string(path).expect("the file is in the repository");
    types.split_once("\n\n").map_or_else(String::new, |(_, types)| types.to_owned())
}

#[test]
fn the_types_of_the_page_are_those_of_the_server() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studio/src/api/types.ts");
    let types = all_declarations();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
        std::fs::write(&path, &types).expect("the file can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == types, "`{}` is stale; INSTA_UPDATE=always writes it again", path.display());
}
