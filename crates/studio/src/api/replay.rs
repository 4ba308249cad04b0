//! Requests and responses for replays: recorded messages decided again, with counts, times, changed
//! results and rows.

use super::{EarlierMessage, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
#[cfg(test)]
use ts_rs::TS;

/// Request to replay a file: to decide its messages, or its logged decisions, again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct StartReplay {
    /// Version of the rules that decides the messages.
    pub version: Version,
    /// Id of the file to replay.
    pub source: usize,
    /// Name of the entry (such as a table) that decides messages; null means the routes outside any
    /// table. A line of a decision log names its own entry.
    #[serde(default)]
    pub entry: Option<String>,
    /// Older version of the rules whose results are compared with the new results; null for no
    /// comparison.
    #[serde(default)]
    pub against: Option<Version>,
}

/// Response to [`StartReplay`]: the replay was started, and is running.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Started {
    /// Id of the started replay.
    pub id: usize,
}

/// State of a replay: running, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum ReplayState {
    /// The replay is still reading and deciding messages.
    Running,
    /// All messages of the file are decided.
    Done,
    /// The replay was cancelled; its results up to then are kept.
    Cancelled,
    /// The replay could not read the whole file.
    Failed,
}

/// Progress event of a replay. The last event of a replay has a state other than `running`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Progress {
    /// State of the replay.
    pub state: ReplayState,
    /// Number of bytes of the file that were read.
    #[cfg_attr(test, ts(type = "number"))]
    pub read: u64,
    /// Size of the replayed file in bytes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Number of messages decided so far.
    pub messages: usize,
    /// Number of messages whose result differs from the result of the older version or of the log.
    pub flipped: usize,
}

/// Counts of a replay, up to now.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct ReplaySums {
    /// Progress of the replay.
    pub progress: Progress,
    /// Name of the replayed file.
    pub source: String,
    /// Whether the replayed file is a decision log.
    pub is_log: bool,
    /// Reason why the replay failed; null if it did not fail.
    pub failure: Option<String>,
    /// Number of lines that were not decided because they contain no valid message.
    pub refused: usize,
    /// The first of the lines that contain no valid message, with their errors.
    pub refusals: Vec<LineMistake>,
    /// Number of log lines whose entry (such as a table) is missing, or is unknown to the rules of
    /// the replay.
    pub foreign: usize,
    /// Number of messages that were only recorded in the history, without a decision.
    pub observed: usize,
    /// Number of decided messages that were not recorded in the history, because they have no time
    /// or no key.
    pub unrecorded: usize,
    /// Number of log lines without a message. Their logged results are counted, but they cannot be
    /// decided again.
    pub bare: usize,
    /// Number of messages that contain values masked by the log.
    pub masked: usize,
    /// Number of logged decisions for which the rules of the replay choose another statement than
    /// the log.
    pub otherwise: usize,
    /// Counts per statement (such as a route), most often chosen first. Included are the statements
    /// of the entries that decided messages, and of the tables to which a `goto` leads from them.
    pub counts: Vec<StatementCount>,
    /// Counts per statement over time.
    pub timeline: Timeline,
    /// Changed results, grouped by the old and the new statement. The largest groups come first.
    pub flips: Vec<Flip>,
    /// Whether the replay compares its results with another version of the rules.
    pub compares: bool,
    /// Time that the replay has taken so far, in milliseconds.
    #[cfg_attr(test, ts(type = "number"))]
    pub elapsed_ms: u64,
}

/// A line of the replayed file that is not a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LineMistake {
    /// Number of the line in the replayed file, from 1.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
    /// Description of the line's error.
    pub message: String,
}

/// A statement (such as a route), with the number of replayed messages for which it was chosen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct StatementCount {
    /// Key of the statement, such as `routes/refunds`; the map uses the same keys.
    pub key: String,
    /// Name of the statement's table.
    pub table: String,
    /// Name of the statement; `default`, or `none` for messages for which no statement was chosen.
    pub name: String,
    /// Handler or other target of the statement.
    pub to: String,
    /// Number of messages for which the statement was chosen.
    pub count: usize,
    /// Number of messages for which the older version or the log chose the statement; null if the
    /// replay compares with neither.
    pub before: Option<usize>,
    /// Reason why the statement was chosen for no message; null if it was chosen.
    pub never: Option<String>,
    /// Median duration of the statement's handler according to the log, in microseconds; null if
    /// the log contains none.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub median_us: Option<u64>,
    /// Longest duration of the statement's handler according to the log, in microseconds; null if
    /// the log contains none.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub longest_us: Option<u64>,
}

/// Counts per statement over time, or over the messages in their order if they have no time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Timeline {
    /// Whether the buckets are intervals of time; false if they are intervals of message numbers.
    pub by_time: bool,
    /// Start of each bucket: milliseconds since 1970, or the number of a message, from 1.
    pub starts: Vec<f64>,
    /// End of the last bucket, in the same unit as `starts`. No message is at the end.
    pub end: f64,
    /// Position of the last message, in the same unit as `starts`.
    pub last: f64,
    /// One series for each of the most frequent statements; the key `*` sums the others.
    pub series: Vec<Series>,
}

/// Counts of one statement over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Series {
    /// Key of the statement; `*` for all statements without a series of their own.
    pub key: String,
    /// Number of messages in each bucket of the timeline.
    pub counts: Vec<usize>,
}

/// A group of messages whose result changed in the same way.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Flip {
    /// Key of the statement chosen by the older version or the log.
    pub before: String,
    /// Key of the statement that the replay chose; equals `before` if only arguments or targets
    /// differ.
    pub after: String,
    /// Number of messages in the group.
    pub count: usize,
}

/// Request for some rows (one per message) of a replay, with filters and a sort order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(default)]
pub struct AskRows {
    /// Filter: only messages for which the replay chose the statement with this key, such as
    /// `routes/refunds`.
    pub key: Option<String>,
    /// Filter: only messages for which the older version or the log chose the statement with this
    /// key.
    pub before: Option<String>,
    /// Filter: only messages with a changed result.
    pub flipped: bool,
    /// Filter: only lines that contain this text, ignoring case.
    pub text: Option<String>,
    /// Filter: only messages from this time or message number on, in the unit of the timeline.
    pub since: Option<f64>,
    /// Filter: only messages before this time or message number, in the unit of the timeline.
    pub until: Option<f64>,
    /// Sort order of the rows.
    pub sort: RowSort,
    /// Whether the sort order is descending.
    pub descending: bool,
    /// Index, from 0, of the first row to return among all matching rows.
    pub offset: usize,
    /// Maximum number of rows to return; at most 200.
    pub limit: usize,
}

/// Sort order of the rows of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub enum RowSort {
    /// Sorts rows by line number in the replayed file.
    #[default]
    Line,
    /// Sorts rows by the time of the message.
    Time,
    /// Sorts rows by the key of the statement that the replay chose.
    Route,
    /// Sorts rows by the key of the statement that the older version or the log chose.
    Before,
    /// Sorts rows by the duration of the handler according to the log.
    Elapsed,
}

/// Response to [`AskRows`]: the requested rows, and the number of all matching rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Rows {
    /// Number of all rows that match the filters.
    pub total: usize,
    /// The requested part of the matching rows.
    pub rows: Vec<Row>,
}

/// A row of a replay: one message with its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Row {
    /// Line number of the message in the file, from 1; also identifies the row.
    #[cfg_attr(test, ts(type = "number"))]
    pub line: u64,
    /// Time of the message, in milliseconds since 1970; null if it is unknown.
    pub time: Option<f64>,
    /// Name of the entry (such as a table) that decided.
    pub entry: String,
    /// Key of the statement that the replay chose.
    pub key: String,
    /// Key of the statement chosen by the older version of the rules or, without an older version,
    /// by the log.
    pub before: Option<String>,
    /// Whether the result differs from the result of the older version or of the log.
    pub flipped: bool,
    /// Duration of the handler according to the log, in microseconds; null if it is unknown.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub elapsed_us: Option<u64>,
    /// Start of the message's field `text`, with private values masked; empty if it has none.
    pub text: String,
    /// Start of the message's other fields as readable text, such as `ctx.count 3 · ctx.vip true`.
    pub fields: String,
}

/// The message of a replay row, for opening the row as a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct RowMessage {
    /// Name of the entry (such as a table) that decided the message.
    pub entry: String,
    /// The message as formatted JSON, with private values masked; null for a log line without a
    /// message.
    pub message: Option<String>,
    /// The fields of the line other than the payload, as formatted JSON. They are the message that
    /// belongs to the payload and selects the history that rules read. Null if the line contains no
    /// such fields.
    pub context: Option<String>,
    /// The whole logged decision; null if the line is a plain message.
    #[cfg_attr(test, ts(type = "JsonValue"))]
    pub logged: Json,
    /// The earlier messages of the message's session that the history still contains, oldest first.
    pub history: Vec<EarlierMessage>,
    /// Number of older messages of the session that the history still contains, but that are
    /// omitted here because there are too many.
    pub older: usize,
    /// Reason why the history may lack messages that were recorded, as text; null if it is
    /// complete.
    pub gap: Option<String>,
}
