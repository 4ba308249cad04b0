//! Runs the conformance cases of the language. Every line of `tests/conformance/*.jsonl` is a case,
//! written from the language description only. Every engine must give the expected answer.
//!
//! A case has a `name`, a `message`, and one of:
//!
//! - `"when"` and `"is"` (`true`, `false` or `unknown`): the routes `when COND` and
//!   `when not (COND)` match accordingly. `"prelude"` holds statements that come first.
//! - `"rules"` or `"files"` (the first is `main.rules`) with the expected outcome. Its keys are any
//!   of `chosen`, `target`, `args`, `metadata`, `path`, `matched`, `tests` (passed or not, in
//!   order) and `warnings` (codes). `"entry"` selects the entry. Only the given keys are compared.
//! - `"rules"` or `"files"` with `"error"` or `"warning"`: a code that must be among the codes
//!   found.
//!
//! `"host": true` registers the host functions of [`compiler`].

use crate::support::engines;
use engines::{COLUMNS, Column};
use rulec::{Compiler, Decision, Entry, MemoryLoader, Rules};
use serde_json::{Map, Value as Json, json};
use std::path::Path;

fn compiler(case: &Json) -> Compiler {
    let compiler = Compiler::new();
    if case["host"] != json!(true) {
        return compiler;
    }
    compiler
        .function("vip", |name: String| name == "v")
        .function("fails", |_: String| -> Result<bool, String> { Err("as it should".to_owned()) })
        .function("boom", |_: String| -> bool { std::panic::resume_unwind(Box::new("as it should")) })
        .function("size", |name: String| name.len() as i64)
}

/// An engine configuration and whether the message is prepared first.
#[derive(Clone, Copy, Debug)]
struct EngineWay {
    column: Column,
    prepared: bool,
}

fn engine_ways() -> impl Iterator<Item = EngineWay> {
    COLUMNS.iter().flat_map(|&column| [false, true].map(|prepared| EngineWay { column, prepared }))
}

impl EngineWay {
    fn decide(&self, rules: &Rules, entry: &Entry<'_>, message: &Json) -> Decision {
        if self.prepared { entry.decide_prepared(&rules.prepare(message)) } else { entry.decide(message) }
    }
}

fn compile(case: &Json) -> Result<Rules, rulec::CompileError> {
    let compiler = compiler(case);
    match case["files"].as_object() {
        None => compiler.compile_text(case["rules"].as_str().expect("`rules` is a text")),
        Some(files) => {
            let loader = files.iter().fold(MemoryLoader::new(), |loader, (path, text)| {
                loader.with(path.as_str(), text.as_str().expect("a file is a text"))
            });
            compiler.compile_with(&loader, "main.rules")
        }
    }
}

/// Checks a `when` case: the condition and its negation, on every engine.
fn check_condition(case: &Json, failures: &mut Vec<String>) {
    let condition = case["when"].as_str().expect("`when` is a text");
    let prelude = case["prelude"].as_str().unwrap_or_default();
    let hits = |condition: String| -> Result<Vec<bool>, String> {
        let text = format!("{prelude}\nroute hit when {condition} -> h\n");
        let rules = compiler(case).compile_text(&text).map_err(|error| error.to_string())?;
        let hit = |way: EngineWay| {
            let rules = way.column.compile(&rules);
            way.decide(&rules, &rules.main(), &case["message"]).chosen() == Some("hit")
        };
        Ok(engine_ways().map(hit).collect())
    };
    let (positive, negative) = match (hits(format!("({condition})")), hits(format!("not ({condition})"))) {
        (Ok(positive), Ok(negative)) => (positive, negative),
        (Err(error), _) | (_, Err(error)) => {
            failures.push(format!("does not compile: {error}"));
            return;
        }
    };
    for (way, (positive, negative)) in engine_ways().zip(positive.into_iter().zip(negative)) {
        let is = match (positive, negative) {
            (true, false) => "true",
            (false, true) => "false",
            (false, false) => "unknown",
            (true, true) => "true and false",
        };
        if case["is"] != is {
            failures.push(format!("{condition} by {way:?}: expected {}, is {is}", case["is"]));
        }
    }
}

/// Checks an `error` or `warning` case: the code must be among the codes found.
fn check_code(case: &Json, failures: &mut Vec<String>) {
    let compiled = compile(case);
    let found: Vec<&str> = match &compiled {
        Ok(rules) => rules.warnings().iter().map(|found| found.code.as_str()).collect(),
        Err(error) => error.diagnostics().iter().map(|found| found.code.as_str()).collect(),
    };
    let wanted = case["error"].as_str().or(case["warning"].as_str()).expect("a code is a text");
    if !found.contains(&wanted) || compiled.is_ok() != case["error"].is_null() {
        let errors = compiled.as_ref().err().map(ToString::to_string).unwrap_or_default();
        failures.push(format!("expected {wanted}, found {found:?} {errors}"));
    }
}

/// Computes the outcome values that the case names, in one configuration.
fn outcome(rules: &Rules, way: EngineWay, case: &Map<String, Json>) -> Result<Map<String, Json>, String> {
    let entry = case.get("entry").and_then(Json::as_str).unwrap_or("routes");
    let entry = rules.entry(entry).map_err(|error| error.to_string())?;
    let decision = way.decide(rules, &entry, &case["message"]);
    let made = case.keys().filter_map(|key| {
        let value = match key.as_str() {
            "chosen" => json!(decision.chosen()),
            "target" => json!(decision.target()),
            "args" => json!(decision.args()),
            "metadata" => json!(decision.metadata()),
            "path" => json!(decision.path()),
            "matched" => json!(entry.matched(&case["message"])),
            "tests" => rules.run_tests().iter().map(|test| test.passed).collect(),
            "warnings" => rules.warnings().iter().map(|found| found.code.as_str()).collect(),
            "name" | "rules" | "files" | "message" | "entry" | "host" => return None,
            other => panic!("{}: nothing is known of the key `{other}`", case["name"]),
        };
        Some((key.clone(), value))
    });
    Ok(made.collect())
}

fn check_rules(case: &Json, failures: &mut Vec<String>) {
    let rules = match compile(case) {
        Ok(rules) => rules,
        Err(error) => {
            failures.push(format!("does not compile: {error}"));
            return;
        }
    };
    let case = case.as_object().expect("a case is an object");
    for way in engine_ways() {
        match outcome(&way.column.compile(&rules), way, case) {
            Err(error) => failures.push(error),
            Ok(made) => {
                assert!(!made.is_empty(), "{}: nothing is compared", case["name"]);
                for (key, value) in made {
                    if case[&key] != value {
                        failures.push(format!("{key} by {way:?}: expected {}, is {value}", case[&key]));
                    }
                }
            }
        }
    }
}

#[test]
fn every_engine_answers_every_case_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let (mut count, mut report) = (0, Vec::new());
    for file in &files {
        for (line, text) in (1..).zip(std::fs::read_to_string(file).unwrap().lines()) {
            let at = format!("{}:{line}", file.file_name().unwrap().display());
            let case: Json = serde_json::from_str(text).unwrap_or_else(|error| panic!("{at}: {error}"));
            let mut failures = Vec::new();
            if case["when"].is_string() {
                check_condition(&case, &mut failures);
            } else if case["error"].is_string() || case["warning"].is_string() {
                check_code(&case, &mut failures);
            } else {
                check_rules(&case, &mut failures);
            }
            count += 1;
            failures.dedup();
            if !failures.is_empty() {
                let name = case["name"].as_str().expect("a case has a name");
                report.push(format!("{at} {name}\n    {}", failures.join("\n    ")));
            }
        }
    }
    assert!(count >= 350, "only {count} cases in {}", folder.display());
    println!("{count} cases, {} ways, {} fail", engine_ways().count(), report.len());
    assert!(report.is_empty(), "{} of {count} cases fail:\n{}", report.len(), report.join("\n"));
}
