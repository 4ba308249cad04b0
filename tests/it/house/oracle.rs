//! Checks which files use the reference evaluator, and which files read the time of day.
//!
//! The reference evaluator is the oracle with which every engine is compared. It decides if
//! `Tier::Reference` is configured. It also produces explanations, coverage, and the messages that
//! an analysis reports. No engine may call it.

use super::{folders, is_test, relative_name, rust_files};
use std::fs;

/// Returns the source files, without tests, whose code contains one of the given texts.
fn files_with(parts: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    folders("src").iter().for_each(|folder| rust_files(folder, &mut files));
    let mut found: Vec<String> = files
        .iter()
        .filter(|file| {
            let text = fs::read_to_string(file).expect("a text");
            let text = text.split("#[cfg(test)]\nmod tests {").next().expect("a first part");
            let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            code.any(|line| parts.iter().any(|part| line.contains(part)))
        })
        .map(|file| relative_name(file))
        .collect();
    found.retain(|file| !is_test(file.as_ref()));
    found.sort();
    found
}

#[test]
fn only_explanations_and_the_reference_tier_use_the_oracle() {
    let mut found = files_with(&["crate::evaluator", "rulec_eval::evaluator"]);
    found.retain(|file| !file.starts_with("crates/eval/src/evaluator"));
    let allowed = [
        "crates/analysis/src/atoms.rs",
        "crates/analysis/src/conditions.rs",
        "crates/analysis/src/past_terms.rs",
        "crates/analysis/src/report.rs",
        "crates/eval/src/explain.rs",
        "crates/eval/src/trace.rs",
        "crates/eval/src/trace/cond.rs",
        "crates/eval/src/trace/record.rs",
        "crates/eval/src/trace/truths.rs",
        "src/engine/backend.rs",
        "src/engine/set.rs",
        "src/payload/engine.rs",
    ];
    assert_eq!(found, allowed);
}

/// Clocks of the time of day can jump, so durations come from a monotonic clock (`Instant`). Only
/// logs, events and versions of the service contain the time of day.
#[test]
fn only_logs_read_the_time_of_day() {
    let reads = ["now_utc(", "now_local(", "SystemTime::now", "Timestamp::now", "Zoned::now"];
    let logs = [
        "crates/runtime/src/route.rs",
        "crates/runtime/src/route/log/line.rs",
        "crates/runtime/src/route/started_route.rs",
        "crates/runtime/src/route/watched.rs",
        "crates/serve/src/events.rs",
        "crates/serve/src/otlp.rs",
        "crates/serve/src/otlp/records.rs",
        "crates/serve/src/rules/version.rs",
        "crates/serve/src/service/traffic.rs",
        "crates/serve/src/traffic.rs",
    ];
    assert_eq!(files_with(&reads), logs);
}
