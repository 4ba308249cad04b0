//! Runs the cases of public bug reports in `tests/conformance/reports`. Every engine must choose
//! the expected rule, whatever the form of the message.
//!
//! Each folder has `rules.rules`, `messages.jsonl` and `expected.json`: the name of the chosen rule
//! for each line, or null where no rule is chosen. A file `entry` names the entry, if it is not
//! `routes`.

use crate::support::engines::COLUMNS;
use rulec::{Compiler, Decision, Entry, LiveRules, Rules};
use rulec_base::json;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

fn folders() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/reports");
    let folders = fs::read_dir(root).expect("a folder").map(|folder| folder.expect("an entry").path());
    let mut folders: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
    folders.sort();
    folders
}

/// A report: its rules, its messages as written, and the expected rule of each message.
struct Report {
    rules: String,
    lines: Vec<String>,
    expected: Vec<Option<String>>,
    entry: String,
}

impl Report {
    fn read(folder: &str) -> Report {
        let read = |name: &str| fs::read_to_string(Path::new(folder).join(name));
        let lines = read("messages.jsonl").expect("it has messages");
        let entry = read("entry").map_or_else(|_| "routes".to_owned(), |entry| entry.trim().to_owned());
        Report {
            rules: read("rules.rules").expect("it has rules"),
            lines: lines.lines().map(str::to_owned).collect(),
            expected: serde_json::from_str(&read("expected.json").expect("it has expected rules"))
                .expect("names and nulls"),
            entry,
        }
    }

    /// Compares the decisions of one configuration with the expected rules.
    fn check(&self, name: &str, rules: &Rules, failures: &mut Vec<String>) {
        for column in COLUMNS {
            let rules = column.compile(rules);
            let entry = rules.entry(&self.entry).expect("the entry exists");
            for (line, expected) in self.lines.iter().zip(&self.expected) {
                for (form, decision) in decide_all_forms(&rules, &entry, line) {
                    let found = chosen_name(&decision);
                    if found != *expected {
                        failures.push(format!(
                            "{name} {column:?}, {form}: {line}\n    {found:?}, not {expected:?}"
                        ));
                    }
                }
            }
        }
    }
}

/// Returns the id of the chosen flow, or the name of the chosen rule.
fn chosen_name(decision: &Decision) -> Option<String> {
    let flow = decision.flow().map(|flow| flow.id);
    flow.or(decision.chosen()).map(str::to_owned)
}

/// Decides one message in each form that the library reads.
fn decide_all_forms(rules: &Rules, entry: &Entry<'_>, line: &str) -> [(&'static str, Decision); 4] {
    let message = Json::Object(json::parse_object(line).expect("the message is an object"));
    [
        ("a tree", entry.decide(&message)),
        ("a prepared message", entry.decide_prepared(&rules.prepare(&message))),
        ("JSON text", entry.decide_line(line.as_bytes()).expect("it is JSON")),
        ("a serialized value", entry.decide_value(&message).expect("it is JSON")),
    ]
}

#[test]
fn every_engine_chooses_as_the_reports_expect() {
    let (mut count, mut failures) = (0, Vec::new());
    for folder in folders() {
        let report = Report::read(&folder);
        let name = Path::new(&folder).file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!(report.lines.len(), report.expected.len(), "{name}");
        count += report.lines.len();
        let rules = match Rules::from_text(&report.rules) {
            Ok(rules) => rules,
            Err(error) => {
                failures.push(format!("{name} does not compile: {error}"));
                continue;
            }
        };
        report.check(&name, &rules, &mut failures);
        let loaded = Rules::from_artifact(&rules.to_artifact(true)).expect("the artifact loads");
        report.check(&format!("{name} from an artifact,"), &loaded, &mut failures);
        let live = LiveRules::from_text(Compiler::new(), &report.rules).expect("it compiles");
        for (line, expected) in report.lines.iter().zip(&report.expected) {
            let message = Json::Object(json::parse_object(line).expect("the message is an object"));
            let decision = live.decide_in(&report.entry, &message).expect("the entry exists");
            let found = chosen_name(&decision);
            if found != *expected {
                failures.push(format!("{name} live: {line}\n    {found:?}, not {expected:?}"));
            }
        }
    }
    assert!(count >= 110, "only {count} messages");
    assert!(failures.is_empty(), "{} of {count} messages:\n{}", failures.len(), failures.join("\n"));
}
