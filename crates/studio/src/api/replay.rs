//! Many messages decided again: counts, times, flips, and the rows of a table.

use super::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Asks that a file of messages or decisions be replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct StartReplay {
    /// The rules.
    pub version: Version,
    /// The file.
    pub source: usize,
    /// The name of what decides messages; null for the routes outside any table. Lines of a log say themselves what decided them.
    #[serde(default)]
    pub entry: Option<String>,
    /// The version to compare with: the one before.
    #[serde(default)]
    pub against: Option<Version>,
}

/// The replay that was begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Started {
    /// Its number.
    pub id: usize,
}

/// The state of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum ReplayState {
    /// It goes on.
    Running,
    /// It came to the end.
    Done,
    /// It was cancelled; what was counted until then stays.
    Cancelled,
    /// The file could not be read to its end.
    Failed,
}

/// The progress of a replay: an event of the stream. The last one has another state than `running`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Progress {
    /// The state.
    pub state: ReplayState,
    /// The bytes that were read.
    #[cfg_attr(test, ts(type = "number"))]
    pub read: u64,
    /// The bytes of the file.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// The messages that were decided.
    pub messages: usize,
    /// The messages that are answered otherwise than by the version before.
    pub flipped: usize,
}

/// The sums of a replay, as far as it has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct ReplaySums {
    /// The progress so far.
    pub progress: Progress,
    /// The file's name.
    pub source: String,
    /// True when the file is a decision log.
    pub is_log: bool,
    /// The reason why it failed.
    pub failure: Option<String>,
    /// The lines that are no message; the first of them are told.
    pub refused: usize,
    /// The first lines that were refused, in words.
    pub refusals: Vec<LineMistake>,
    /// Lines of a log that are of another entry than the rules have.
    pub foreign: usize,
    /// Lines of a log without a message: counted, not decided.
    pub bare: usize,
    /// Messages with values that a log has masked.
    pub masked: usize,
    /// Decisions of a log that these rules make otherwise.
    pub otherwise: usize,
    /// Every statement with its count, most often chosen first; those that never are last.
    pub counts: Vec<StatementCount>,
    /// The counts over time.
    pub timeline: Timeline,
    /// Messages that are answered otherwise, by where they went before and after, most first.
    pub flips: Vec<Flip>,
    /// True when it compares with another version.
    pub compares: bool,
    /// The milliseconds that it took so far.
    #[cfg_attr(test, ts(type = "number"))]
    pub elapsed_ms: u64,
}

/// A line that is no message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LineMistake {
    /// Its number, from 1.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
    /// The mistake.
    pub message: String,
}

/// A statement with the number of messages that it took.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct StatementCount {
    /// Its key, as the map has it.
    pub key: String,
    /// Its table.
    pub table: String,
    /// Its name; `default`, or `none` where nothing was chosen.
    pub name: String,
    /// Its handler, or where it leads.
    pub to: String,
    /// The messages.
    pub count: usize,
    /// The messages by the version before.
    pub before: Option<usize>,
    /// The reason why it never takes any, where it does not.
    pub never: Option<String>,
    /// The microseconds that its handler took, half of the times at most, by a log.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub median_us: Option<u64>,
    /// The longest.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub longest_us: Option<u64>,
}

/// Counts over time, or over the lines of a file that knows no time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Timeline {
    /// True when the buckets are times, false when they are lines.
    pub by_time: bool,
    /// The beginning of each bucket: milliseconds since 1970, or a line number.
    pub starts: Vec<f64>,
    /// The end of the last bucket.
    pub end: f64,
    /// The statements that took most, and the counts of each in the buckets; the others are summed under the key `*`.
    pub series: Vec<Series>,
}

/// The counts of a statement over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Series {
    /// The statement's key; `*` for all others.
    pub key: String,
    /// A count for each bucket.
    pub counts: Vec<usize>,
}

/// Messages that are answered otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Flip {
    /// The key of the statement before.
    pub before: String,
    /// The key of the statement after; the same where only arguments or targets differ.
    pub after: String,
    /// The messages.
    pub count: usize,
}

/// Asks for rows of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(default)]
pub struct AskRows {
    /// Only messages that this statement takes, by its key.
    pub key: Option<String>,
    /// Only messages that this statement took before, by its key.
    pub before: Option<String>,
    /// Only messages that are answered otherwise.
    pub flipped: bool,
    /// Only lines that hold this text, in any case.
    pub text: Option<String>,
    /// Only messages of this time or line on, as the timeline counts.
    pub since: Option<f64>,
    /// Only messages before this time or line.
    pub until: Option<f64>,
    /// The order.
    pub sort: RowSort,
    /// True for the last ones first.
    pub descending: bool,
    /// The first row that is wanted, from 0.
    pub offset: usize,
    /// The most rows that are wanted; 200 at most.
    pub limit: usize,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum RowSort {
    /// As they stand in the file.
    #[default]
    Line,
    /// By time.
    Time,
    /// By the statement that takes them.
    Route,
    /// By the statement that took them before.
    Before,
    /// By the microseconds that the handler took.
    Elapsed,
}

/// Rows of a replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Rows {
    /// The rows that the filter leaves, all in all.
    pub total: usize,
    /// The rows that were asked for.
    pub rows: Vec<Row>,
}

/// A message of a replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Row {
    /// The number of its line, from 1; it also names the row.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
    /// Its time, in milliseconds since 1970.
    pub time: Option<f64>,
    /// The entry that decided.
    pub entry: String,
    /// The statement that takes it, by its key.
    pub key: String,
    /// The statement that took it before: by the version before, or else by the log.
    pub before: Option<String>,
    /// True when it is answered otherwise.
    pub flipped: bool,
    /// The microseconds that the handler took, by a log.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub elapsed_us: Option<u64>,
    /// The beginning of the message, private values masked, to show in a table.
    pub preview: String,
}

/// The message of a row, to open it as a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct RowMessage {
    /// The entry that decided.
    pub entry: String,
    /// The message as JSON, laid out; private values masked. Null for a line of a log that holds none.
    pub message: Option<String>,
    /// The line as the log has it, where it is one.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub logged: Json,
}
