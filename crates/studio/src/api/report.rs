//! The report: what a page shows that needs no server.

use super::{DecisionTable, Map, ReplaySums, TestRun};
use serde::Serialize;
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Asks for a report.
#[derive(Clone, Debug, Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct AskReport {
    /// The rules.
    pub version: super::Version,
    /// The replay whose counts it has.
    #[serde(default)]
    pub replay: Option<usize>,
}

/// A report.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Report {
    /// The main file of the rules.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// `en` or `zh`, as whoever asked for it reads.
    pub language: String,
    /// The numbers that one looks at first.
    pub summary: ReportSummary,
    /// The map.
    pub map: Map,
    /// The tables as decision tables.
    pub tables: Vec<DecisionTable>,
    /// The routes and conditions, with what was seen of them.
    pub coverage: Vec<CoverageItem>,
    /// The number of decisions that coverage was counted over.
    pub covered_decisions: usize,
    /// True when those are tests, false when they are messages of a log or an input.
    pub covered_by_tests: bool,
    /// The counts, where a log or an input was given.
    pub replay: Option<ReplaySums>,
    /// The slowest statements.
    pub slowest: Vec<Slow>,
    /// The tests.
    pub tests: Vec<TestRun>,
    /// Decisions with their explanation.
    pub samples: Vec<Sample>,
}

/// The numbers of a report.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct ReportSummary {
    /// The files.
    pub files: usize,
    /// The tables.
    pub tables: usize,
    /// The statements.
    pub statements: usize,
    /// The tests.
    pub tests: usize,
    /// The tests that failed.
    pub failed: usize,
    /// The warnings and findings, in words.
    pub warnings: Vec<String>,
    /// The statements that never took a message; null where none were given.
    pub never: Option<usize>,
}

/// A route or condition, with what was seen of it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct CoverageItem {
    /// `route`, `branch`, `case`, `pattern`, `default`, `rule` or `condition`.
    pub what: String,
    /// Its name; of a condition the author's text.
    pub name: String,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The times it was tried.
    pub tried: usize,
    /// The times it held or was chosen.
    pub yes: usize,
    /// The times it did not.
    pub no: usize,
    /// The gap, in words.
    pub gap: Option<String>,
}

/// A statement that takes long.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Slow {
    /// Its key.
    pub key: String,
    /// Its name.
    pub name: String,
    /// The microseconds that its handler took, half of the times at most, by a log.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub median_us: Option<u64>,
    /// The longest.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub longest_us: Option<u64>,
    /// The worst-case steps of its condition.
    #[cfg_attr(test, ts(type = "number"))]
    pub steps: u64,
}

/// A decision with its explanation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Sample {
    /// The line of the file it is from.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub line: Option<u64>,
    /// The message, private values masked.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub message: Json,
    /// The key of the statement that takes it.
    pub key: String,
    /// The explanation in a few lines.
    pub summary: String,
    /// The way there, step by step.
    #[cfg_attr(test, ts(as = "super::Explanation"))]
    pub explanation: rulec::Explanation,
}
