//! Events of the service, such as rules that came into force, for the log of its operator.

use rulec_lang::value::format_datetime;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use time::OffsetDateTime;

/// Receives each event as a JSON object with its `time` and the kind of the `event`.
pub type EventSink = Arc<dyn Fn(&Json) + Send + Sync>;

/// Reports events to a sink. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Events(EventSink);

impl Events {
    pub fn new(sink: EventSink) -> Events {
        Events(sink)
    }

    /// Reports an event of this kind. `fields` is an object.
    pub fn report(&self, kind: &str, fields: Json) {
        let mut event = json!({ "time": format_datetime(OffsetDateTime::now_utc()), "event": kind });
        if let (Json::Object(event), Json::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        (self.0)(&event);
    }
}
