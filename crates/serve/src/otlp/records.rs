//! Writes the lines of the decision log as log records of OpenTelemetry. The body of a record is
//! the text of the line, so that the hash chain can still be verified.

use super::encode::{self, OtlpAttribute, OtlpResource, attribute_json, to_unix_nanoseconds};
use serde_json::{Value as Json, json};
use std::time::SystemTime;

/// OTLP's number for the severity "info".
const SEVERITY_NUMBER_INFO: u8 = 9;
/// The fields of a decision log line that become attributes, each with the attribute's name, which
/// spans use too.
const TEXT_ATTRIBUTES: [(&str, &str); 3] =
    [("rules", "rulec.rules"), ("entry", "rulec.entry"), ("route", "rulec.route")];

/// Converts lines of the decision log to OpenTelemetry log records, which contain a description of
/// this process.
pub(crate) struct LogRecords {
    resource: OtlpResource,
}

impl LogRecords {
    pub fn new(service_name: &str) -> LogRecords {
        LogRecords { resource: OtlpResource::new(service_name) }
    }

    /// Returns the body of an OpenTelemetry request with one log record for each of these lines.
    pub fn to_request(&self, lines: &[u8]) -> Json {
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let now = to_unix_nanoseconds(SystemTime::now()).to_string();
        encode::logs_request(&self.resource, lines.map(|line| to_log_record(line, &now)).collect())
    }

    /// Returns the number of records that the collector reports as rejected in its answer.
    pub fn rejected_count(answer: &Json) -> u64 {
        encode::rejected_count(answer)
    }
}

fn to_log_record(line: &[u8], now: &str) -> Json {
    // A line that is nested too deep to be read again gets a record without attributes.
    let fields: Json = serde_json::from_slice(line).unwrap_or_default();
    let event = match (&fields["entry"], &fields["observed"]) {
        (Json::String(_), _) => "rulec.decision",
        (_, Json::Bool(true)) => "rulec.observed",
        _ => "rulec.log",
    };
    let mut attributes: Vec<OtlpAttribute> = TEXT_ATTRIBUTES
        .iter()
        .filter_map(|(field, name)| Some((*name, fields[field].as_str()?.into())))
        .collect();
    if let Some(generation) = fields["generation"].as_u64() {
        attributes.push(("rulec.generation", generation.into()));
    }
    let attributes: Vec<Json> = attributes.iter().map(|(key, value)| attribute_json(key, value)).collect();
    let mut record = json!({
        "observedTimeUnixNano": now,
        "severityNumber": SEVERITY_NUMBER_INFO,
        "severityText": "INFO",
        "eventName": event,
        "body": { "stringValue": String::from_utf8_lossy(line) },
        "attributes": attributes,
    });
    if let Some(trace) = fields["trace_id"].as_str() {
        record["traceId"] = trace.into();
    }
    record
}
