//! Requests and responses about the earlier messages of a session, which rules read as `history`.

use super::MessageOf;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// An earlier message of a session, which the rules read as `history`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct EarlierMessage {
    /// The message as JSON text. Its field `now` is its time.
    pub message: String,
    /// Row of a replay whose message is used in place of `message`.
    #[serde(default)]
    pub row: Option<MessageOf>,
    /// Whether the message was only recorded, without a decision.
    #[serde(default)]
    pub observed: bool,
    /// The decision that was made when the message arrived. Null means that the requested version
    /// of the rules decides the message now, with the messages before it.
    #[serde(default)]
    pub decision: Option<EarlierDecision>,
}

/// A decision about an earlier message, as the rules read it in the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct EarlierDecision {
    /// Name of the chosen statement, such as a route; null if nothing was chosen.
    pub chosen: Option<String>,
    /// Name of the chosen handler; null if no handler was chosen.
    pub target: Option<String>,
}

/// The earlier messages that a request contained, and whether the decision read each of them.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct History {
    /// An item for each earlier message of the request, in the order of the request.
    pub messages: Vec<HistoryItem>,
    /// Reason why the history may lack messages that were recorded, as text; null if it is
    /// complete.
    pub gap: Option<String>,
}

/// An earlier message, as the timeline of a session shows it.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct HistoryItem {
    /// Time of the message in milliseconds since 1970; null if the message has none.
    pub time: Option<f64>,
    /// Start of the message's field `text`, with private values masked; empty if it has none.
    pub text: String,
    /// Start of the message's other fields as readable text, such as `tool search · cents 3`.
    pub fields: String,
    /// The decision about the message; null if the message was observed (recorded without a
    /// decision).
    pub decision: Option<EarlierDecision>,
    /// Position of the message among all recorded messages of the session, from 0. The explanation
    /// refers to the message by this position. Null if the rules do not read the message.
    pub position: Option<usize>,
    /// Reason why the rules do not read the message, as text; null if they read it.
    pub unread: Option<String>,
}
