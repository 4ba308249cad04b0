//! Requests and data of the report, a page that needs no server.

use super::{DecisionTable, Map, ReplaySums, TestRun};
use serde::Serialize;
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Request for a report about one version of the rules.
#[derive(Clone, Debug, Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct AskReport {
    /// Version of the rules to report on.
    pub version: super::Version,
    /// Id of a replay whose counts the report should include; null for a report without a replay.
    #[serde(default)]
    pub replay: Option<usize>,
}

/// All data of a report, which are embedded in its HTML file.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Report {
    /// Name of the main file of the rules.
    pub name: String,
    /// Version of the `rulec` program.
    pub version: String,
    /// Language of the report: `en` or `zh`.
    pub language: String,
    /// Summary numbers of the rules, tests and replay.
    pub summary: ReportSummary,
    /// The map of the rules.
    pub map: Map,
    /// The tables of the rules as decision tables.
    pub tables: Vec<DecisionTable>,
    /// Coverage of each route and condition.
    pub coverage: Vec<CoverageItem>,
    /// Number of decisions from which the coverage was counted.
    pub covered_decisions: usize,
    /// Whether the coverage comes from the tests of the rules; false if it comes from a log or an
    /// input file.
    pub covered_by_tests: bool,
    /// Counts of the replay, if a log or an input file was given.
    pub replay: Option<ReplaySums>,
    /// The slowest statements (such as routes).
    pub slowest: Vec<Slow>,
    /// Results of the tests of the rules.
    pub tests: Vec<TestRun>,
    /// Sample decisions with explanations.
    pub samples: Vec<Sample>,
}

/// Summary numbers of a report about rules.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct ReportSummary {
    /// Number of rules files.
    pub files: usize,
    /// Number of tables, including payload kinds.
    pub tables: usize,
    /// Number of statements (such as routes) in all tables.
    pub statements: usize,
    /// Number of `test` blocks.
    pub tests: usize,
    /// Number of failed tests.
    pub failed: usize,
    /// Warnings and analysis findings, as text.
    pub warnings: Vec<String>,
    /// Number of statements that were chosen for no message of the replay; null without a replay.
    pub never: Option<usize>,
}

/// Coverage of one route or other statement, or of one condition.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct CoverageItem {
    /// Kind of the covered item: `route`, `branch`, `case`, `pattern`, `flow`, `default`, `rule` or
    /// `condition`.
    pub what: String,
    /// Name of the statement, or the source text of the condition.
    pub name: String,
    /// Name of the file that contains the statement or condition.
    pub file: String,
    /// Line of the statement or condition in its file, from 1.
    pub line: usize,
    /// Number of times that the statement or condition was evaluated.
    pub tried: usize,
    /// For a statement, how often it was chosen. For a condition, how often it was true. For a
    /// payload rule, how often it was violated.
    pub yes: usize,
    /// For a statement, how often it was tried but not chosen. For a condition, how often it was
    /// false, and not unknown. For a payload rule, how often it was not violated.
    pub no: usize,
    /// Description of the missing coverage; null if fully covered.
    pub gap: Option<String>,
}

/// One of the slowest statements of the rules.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Slow {
    /// Key of the statement, such as `routes/refunds`.
    pub key: String,
    /// Name of the slow statement.
    pub name: String,
    /// Median duration of the statement's handler according to the log, in microseconds.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub median_us: Option<u64>,
    /// Longest duration of the statement's handler according to the log, in microseconds.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub longest_us: Option<u64>,
    /// Worst-case number of steps for evaluating the statement's condition.
    #[cfg_attr(test, ts(type = "number"))]
    pub steps: u64,
}

/// A sample decision of the report, with its explanation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Sample {
    /// Line of the message in the replayed file; null if the message comes from a test.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub line: Option<u64>,
    /// The decided message, with private values masked.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub message: Json,
    /// Key of the chosen statement, such as `routes/refunds`.
    pub key: String,
    /// Summary of the explanation, in a few lines of text.
    pub summary: String,
    /// The true conditions that led to the chosen statement, in the order of their evaluation.
    #[cfg_attr(test, ts(type = "Array<TraceNode>"))]
    pub because: Vec<rulec_eval::trace::TraceNode>,
    /// Step-by-step explanation of the decision.
    #[cfg_attr(test, ts(type = "Explanation"))]
    pub explanation: rulec::Explanation,
}
