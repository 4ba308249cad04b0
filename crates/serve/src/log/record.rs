//! A decision that waits for its line in the log, and the text of the line.

use super::MemoryReservation;
use crate::trace::TraceId;
use rulec::{Decision, LiveRules};
use rulec_runtime::route::DecidedMessage;
use serde_json::Value as Json;
use std::time::Duration;

/// A decision to write to the log, with everything that its line needs.
pub(crate) struct DecisionRecord {
    pub rules_name: String,
    pub rules: LiveRules,
    pub decision: Decision,
    /// The decided message as JSON text.
    pub message_json: Vec<u8>,
    /// The name of the chosen flow, if a classifier chose it.
    pub flow_name: Option<String>,
    pub elapsed: Duration,
    /// The trace id that the caller has sent, or that the OpenTelemetry export has created. `None`
    /// if there is neither.
    pub trace: Option<TraceId>,
    /// The share of such decisions that the log keeps. `None` if the log keeps all of them.
    pub sample_share: Option<f64>,
    /// Reserved memory for this decision. It is released on drop, after the line is formatted.
    pub _reservation: MemoryReservation,
}

impl DecisionRecord {
    /// Returns the decision log's line as JSON text, without its number and hash in the hash chain.
    /// Values of `@private` fields are masked.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let message =
            self.rules.rules().parse_message(&self.message_json).map(Json::Object).unwrap_or_default();
        let decided = DecidedMessage::new(&self.decision, &message).elapsed(self.elapsed);
        // Writing cannot fail: the message was read as JSON.
        let mut line = decided.flow(self.flow_name.as_deref()).to_log_line().unwrap_or_default();
        line.pop_if(|last| *last == b'\n');
        line.pop_if(|last| *last == b'}');
        line.extend_from_slice(b",\"rules\":");
        let _ = serde_json::to_writer(&mut line, &self.rules_name);
        if let Some(trace) = &self.trace {
            line.extend_from_slice(format!(",\"trace_id\":\"{}\"", trace.as_str()).as_bytes());
        }
        if let Some(share) = self.sample_share {
            line.extend_from_slice(format!(",\"sample_share\":{share}").as_bytes());
        }
        line.push(b'}');
        line
    }
}
