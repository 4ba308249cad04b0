//! Tests that the engine interprets no field and no node kind: its source contains none of their
//! names.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that processors and applications may use, but not the engine. `loop` alone is omitted,
/// because the engine's graphs have loops.
const PROCESSOR_WORDS: [&str; 23] = [
    "should_exit",
    "shouldexit",
    "approved",
    "approve",
    "reject",
    "vote",
    "yes_",
    "\"yes\"",
    "iteration",
    "max_rounds",
    "exit_on",
    "exit_reason",
    "score",
    "threshold",
    "regression",
    "current_round",
    "agent",
    "council",
    "debate",
    "loop_decision",
    "processors::",
    "nodetype",
    "\"loop\"",
];

fn collect_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn words_in(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    PROCESSOR_WORDS.into_iter().filter(|word| text.contains(word)).collect()
}

#[test]
fn the_engine_has_no_business_names() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![src.join("workflow.rs")];
    collect_files(&src.join("workflow"), &mut files);
    // The processors may use these words.
    let is_processor = |file: &PathBuf| {
        file.ends_with("processors.rs") || file.parent().is_some_and(|folder| folder.ends_with("processors"))
    };
    let (processors, engine): (Vec<_>, Vec<_>) = files.into_iter().partition(is_processor);
    assert_eq!(processors.len(), 2, "{processors:?}");
    assert!(engine.len() > 8, "{engine:?}");
    for file in engine {
        let found = words_in(&fs::read_to_string(&file).unwrap());
        assert!(found.is_empty(), "{} names {found:?}", file.display());
    }
    // The processors contain the words, so the search works.
    for file in processors {
        assert!(!words_in(&fs::read_to_string(&file).unwrap()).is_empty(), "{}", file.display());
    }
}
