//! Events of the service for its operator, for example that a version of the rules came into force.

use crate::receipt::Receipt;
use rulec_lang::value::format_datetime;
use serde_json::{Value as Json, json};
use std::sync::{Arc, OnceLock};
use time::OffsetDateTime;

/// A function that receives each event of the service: a JSON object with the keys `time` and
/// `event` (the kind of event), and further fields.
pub type EventSink = Arc<dyn Fn(&Json) + Send + Sync>;

/// Reports events to a sink. Events that change how messages are decided also go to the decision
/// log. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Events(Arc<EventsInner>);

type AddLogLine = Box<dyn Fn(&Json) -> Receipt + Send + Sync>;

struct EventsInner {
    sink: EventSink,
    /// The function that adds a line to the decision log. Empty if the service writes no decision
    /// log.
    add_log_line: OnceLock<AddLogLine>,
}

impl Events {
    pub fn new(sink: EventSink) -> Events {
        Events(Arc::new(EventsInner { sink, add_log_line: OnceLock::new() }))
    }

    /// Sets the function that adds a line to the decision log.
    pub fn set_decision_log(&self, add_line: AddLogLine) {
        // The service calls this once, when it starts.
        let _ = self.0.add_log_line.set(add_line);
    }

    /// Reports an event of this kind to the sink. `fields` is a JSON object with the further keys
    /// of the event.
    pub fn report(&self, kind: &str, fields: Json) {
        self.report_at(&current_time_text(), kind, fields);
    }

    fn report_at(&self, time: &str, kind: &str, fields: Json) {
        let mut event = json!({ "time": time, "event": kind });
        if let (Json::Object(event), Json::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        (self.0.sink)(&event);
    }

    /// Reports an event of this kind to the sink, and adds it as a line to the decision log.
    /// `fields` is a JSON object with the event's other fields. If the log has the mode `sync`, the
    /// receipt reports when the line is on the disk.
    pub fn audit(&self, kind: &str, fields: Json) -> Receipt {
        let time = current_time_text();
        let receipt =
            self.0.add_log_line.get().map(|add_line| add_line(&json!({ "time": time, kind: fields })));
        self.report_at(&time, kind, fields);
        receipt.unwrap_or(Receipt::NONE)
    }
}

/// Returns the current time as text, in the format of the decision log's lines.
fn current_time_text() -> String {
    format_datetime(OffsetDateTime::now_utc())
}
