//! The fuzz targets, and the code that they share with tests: generators, a check that engines
//! agree, and changed artifacts.

#![allow(clippy::should_implement_trait, reason = "the support of tests is not an interface")]
#![allow(missing_docs, reason = "the support of tests, which is not published")]

#[path = "../../crates/arrow/tests/convert/mod.rs"]
pub mod convert;
#[path = "../../tests/support/forge.rs"]
pub mod forge;
#[path = "../../crates/studio/tests/it/support/mod.rs"]
pub mod studio;
#[path = "../../tests/support/mod.rs"]
pub mod support;
pub mod targets;

pub use forge::READING;
use rulec::{Compiler, Rules};
use serde_json::{Value as Json, json};

/// Returns a compiler that has the host functions used by generated programs.
pub fn fuzz_compiler() -> Compiler {
    Compiler::new()
        .function(
            "is_long",
            |text: String| if text.contains('文') { Err("no opinion") } else { Ok(text.len() > 6) },
        )
        .function("score", |text: String, n: i64| (text.len() as f64) / 3.0 + (n % 100) as f64)
        .allow_missing_functions()
}

/// Returns messages to decide with arbitrary rules.
pub fn sample_messages() -> [Json; 4] {
    [
        json!({}),
        json!({"text": "show my files", "n": 7, "ok": true, "ctx": {"n": 3, "s": "ab", "tags": ["a"]}, "user": {"name": "Ann", "age": 4}}),
        json!({"text": "文件", "n": -1.5, "ok": "yes", "ctx": {"n": "3", "s": null, "tags": [1]}, "user": [], "next": ["x"], "output": {"ok": true}}),
        json!({"text": 5, "n": i64::MAX, "f": 1e300, "at": "2026-01-05T01:30:00Z", "l": [["a"], {}], "x": {"t": "aaaa"}}),
    ]
}

/// Returns source texts of rules that together contain every kind of statement.
pub fn sample_rules() -> Vec<String> {
    let mut samples = vec![READING.to_owned(), studio::DESK.to_owned()];
    samples.extend((0..6).map(|seed| {
        let mut random = support::random::Random::new(seed);
        support::generate::Generator::program(&mut random).source
    }));
    samples.extend((0..2).map(|seed| {
        let mut random = support::random::Random::new(seed);
        support::generate::payload::Payloads::rules(&mut random).source
    }));
    samples
}

/// Checks that every engine gives the same result as the reference evaluator.
pub fn assert_engines_agree(rules: &Rules, message: &Json) {
    forge::assert_agree(rules, std::slice::from_ref(message), true);
}
