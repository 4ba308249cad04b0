//! The report: results that the page shows without a server.

use super::{DecisionTable, Map, ReplaySums, TestRun};
use serde::Serialize;
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Requests a report.
#[derive(Clone, Debug, Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct AskReport {
    /// Version of the rules.
    pub version: super::Version,
    /// Id of the replay whose counts to include.
    #[serde(default)]
    pub replay: Option<usize>,
}

/// A report.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Report {
    /// Main file of the rules.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Language of the report: `en` or `zh`.
    pub language: String,
    /// Summary numbers.
    pub summary: ReportSummary,
    /// The map.
    pub map: Map,
    /// The tables as decision tables.
    pub tables: Vec<DecisionTable>,
    /// Coverage of routes and conditions.
    pub coverage: Vec<CoverageItem>,
    /// Number of decisions that the coverage counts.
    pub covered_decisions: usize,
    /// Whether the coverage comes from tests; false if it comes from a log or an input.
    pub covered_by_tests: bool,
    /// Counts of the replay, if a log or an input was given.
    pub replay: Option<ReplaySums>,
    /// Slowest statements.
    pub slowest: Vec<Slow>,
    /// Test results.
    pub tests: Vec<TestRun>,
    /// Sample decisions with explanations.
    pub samples: Vec<Sample>,
}

/// Summary numbers of a report.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct ReportSummary {
    /// Number of files.
    pub files: usize,
    /// Number of tables.
    pub tables: usize,
    /// Number of statements.
    pub statements: usize,
    /// Number of tests.
    pub tests: usize,
    /// Number of failed tests.
    pub failed: usize,
    /// Warnings and findings, as text.
    pub warnings: Vec<String>,
    /// Number of statements that no message chose; null without a replay.
    pub never: Option<usize>,
}

/// Coverage of a route or condition.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct CoverageItem {
    /// Kind: `route`, `branch`, `case`, `pattern`, `default`, `rule` or `condition`.
    pub what: String,
    /// Name, or the source text of a condition.
    pub name: String,
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Number of evaluations.
    pub tried: usize,
    /// Number of times true or chosen.
    pub yes: usize,
    /// Number of times not true or not chosen.
    pub no: usize,
    /// Description of the coverage gap.
    pub gap: Option<String>,
}

/// A slow statement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Slow {
    /// Key of the statement.
    pub key: String,
    /// Name of the statement.
    pub name: String,
    /// Median time of the handler according to the log, in microseconds.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub median_us: Option<u64>,
    /// Longest time of the handler according to the log, in microseconds.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub longest_us: Option<u64>,
    /// Worst-case number of evaluation steps of the condition.
    #[cfg_attr(test, ts(type = "number"))]
    pub steps: u64,
}

/// A sample decision with its explanation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Sample {
    /// Line of the message in the replayed file; null for a test's message.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub line: Option<u64>,
    /// The message, with private values masked.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub message: Json,
    /// Key of the chosen statement.
    pub key: String,
    /// Summary of the explanation, in a few lines.
    pub summary: String,
    /// Explanation, step by step.
    #[cfg_attr(test, ts(type = "Explanation"))]
    pub explanation: rulec::Explanation,
}
