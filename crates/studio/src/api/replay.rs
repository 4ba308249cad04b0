//! Replays: recorded messages decided again, with counts, times, changed results and rows.

use super::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Requests a replay of a file of messages or logged decisions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct StartReplay {
    /// Version of the rules that decides.
    pub version: Version,
    /// Id of the file.
    pub source: usize,
    /// Name of the entry that decides messages; null means the routes outside any table. A line of
    /// a log names its own entry.
    #[serde(default)]
    pub entry: Option<String>,
    /// Older version to compare with.
    #[serde(default)]
    pub against: Option<Version>,
}

/// A replay that was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Started {
    /// Id of the replay.
    pub id: usize,
}

/// The state of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum ReplayState {
    /// The replay is running.
    Running,
    /// All messages are decided.
    Done,
    /// The replay was cancelled; its results so far are kept.
    Cancelled,
    /// The replay could not read the whole file.
    Failed,
}

/// Progress event of a replay. The last event has a state other than `running`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Progress {
    /// State of the replay.
    pub state: ReplayState,
    /// Number of bytes read.
    #[cfg_attr(test, ts(type = "number"))]
    pub read: u64,
    /// Size of the file in bytes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Number of messages decided.
    pub messages: usize,
    /// Number of messages with a changed result, compared with the older version or the log.
    pub flipped: usize,
}

/// Counts of a replay so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct ReplaySums {
    /// Progress so far.
    pub progress: Progress,
    /// Name of the file.
    pub source: String,
    /// Whether the file is a decision log.
    pub is_log: bool,
    /// Reason why the replay failed.
    pub failure: Option<String>,
    /// Number of lines that are not a message.
    pub refused: usize,
    /// The first refused lines, with their errors.
    pub refusals: Vec<LineMistake>,
    /// Number of log lines whose entry the rules do not have.
    pub foreign: usize,
    /// Number of log lines without a message; they are counted but not decided.
    pub bare: usize,
    /// Number of messages with values that the log masked.
    pub masked: usize,
    /// Number of logged decisions for which these rules choose another statement.
    pub otherwise: usize,
    /// Counts of the statements in tables that messages reach, most often chosen first.
    pub counts: Vec<StatementCount>,
    /// Counts over time.
    pub timeline: Timeline,
    /// Changed results, by the statements before and after, most frequent first.
    pub flips: Vec<Flip>,
    /// Whether the replay compares with the log or another version.
    pub compares: bool,
    /// Time that the replay has taken so far, in milliseconds.
    #[cfg_attr(test, ts(type = "number"))]
    pub elapsed_ms: u64,
}

/// A line that is not a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LineMistake {
    /// Line number, from 1.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
    /// Description of the error.
    pub message: String,
}

/// A statement with the number of messages that chose it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct StatementCount {
    /// Key of the statement, as in the map.
    pub key: String,
    /// Name of the table.
    pub table: String,
    /// Name of the statement; `default`, or `none` if nothing was chosen.
    pub name: String,
    /// Handler or other target.
    pub to: String,
    /// Number of messages.
    pub count: usize,
    /// Number of messages according to the older version or the log.
    pub before: Option<usize>,
    /// Reason why no message chose the statement; null if some did.
    pub never: Option<String>,
    /// Median time of the handler according to the log, in microseconds.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub median_us: Option<u64>,
    /// Longest time of the handler according to the log, in microseconds.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub longest_us: Option<u64>,
}

/// Counts over time, or over line numbers if the messages have no time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Timeline {
    /// Whether the buckets are times; false if they are line numbers.
    pub by_time: bool,
    /// Start of each bucket: milliseconds since 1970, or a line number.
    pub starts: Vec<f64>,
    /// End of the last bucket.
    pub end: f64,
    /// One series for each of the most frequent statements; the key `*` sums the others.
    pub series: Vec<Series>,
}

/// Counts of a statement over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Series {
    /// Key of the statement; `*` for all others.
    pub key: String,
    /// One count per bucket.
    pub counts: Vec<usize>,
}

/// A group of messages with a changed result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Flip {
    /// Key of the statement before.
    pub before: String,
    /// Key of the statement after; equals `before` if only arguments or targets differ.
    pub after: String,
    /// Number of messages.
    pub count: usize,
}

/// Requests rows of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(default)]
pub struct AskRows {
    /// Only messages that choose this statement, by key.
    pub key: Option<String>,
    /// Only messages that chose this statement before, by key.
    pub before: Option<String>,
    /// Only messages with a changed result.
    pub flipped: bool,
    /// Only lines that contain this text, ignoring case.
    pub text: Option<String>,
    /// Only messages from this time or line on, in the units of the timeline.
    pub since: Option<f64>,
    /// Only messages before this time or line.
    pub until: Option<f64>,
    /// Sort order.
    pub sort: RowSort,
    /// Whether the order is descending.
    pub descending: bool,
    /// Index of the first row to return, from 0.
    pub offset: usize,
    /// Maximum number of rows to return; at most 200.
    pub limit: usize,
}

/// Sort order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum RowSort {
    /// By line number in the file.
    #[default]
    Line,
    /// By time.
    Time,
    /// By the chosen statement.
    Route,
    /// By the statement chosen before.
    Before,
    /// By the time of the handler.
    Elapsed,
}

/// Rows of a replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Rows {
    /// Number of rows that match the filter.
    pub total: usize,
    /// The requested rows.
    pub rows: Vec<Row>,
}

/// A row of a replay: one message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Row {
    /// Line number, from 1; also identifies the row.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
    /// Time of the message, in milliseconds since 1970.
    pub time: Option<f64>,
    /// Name of the entry that decided.
    pub entry: String,
    /// Key of the chosen statement.
    pub key: String,
    /// Key of the statement chosen before: by the older version if given, otherwise by the log.
    pub before: Option<String>,
    /// Whether the result has changed.
    pub flipped: bool,
    /// Time of the handler according to the log, in microseconds.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub elapsed_us: Option<u64>,
    /// Start of the message as text, with private values masked.
    pub preview: String,
}

/// The message of a row, to open as a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct RowMessage {
    /// Name of the entry that decided.
    pub entry: String,
    /// The message as formatted JSON, with private values masked; null for a log line without a
    /// message.
    pub message: Option<String>,
    /// The logged decision; null if the line is a message.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub logged: Json,
}
