//! Writes spans and metrics in the JSON encoding of OTLP, which differs from plain JSON: ids are
//! hexadecimal, 64-bit integers are texts, and enumerations are numbers.

use super::RequestSpan;
use crate::trace::TraceId;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// OTLP's number for the span kind "server": a span that answers a request.
const SPAN_KIND_SERVER: u8 = 2;
/// OTLP's number for the span status "error".
const STATUS_CODE_ERROR: u8 = 2;
/// OTLP's number for metrics that count since the start of the process, not since the last export.
const TEMPORALITY_CUMULATIVE: u8 = 2;
/// Upper bounds of the buckets for request durations, in seconds, as OpenTelemetry's conventions
/// recommend.
const DURATION_BOUNDS_SECONDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
/// Maximum number of histograms, one for each method, route and status. Requests with further
/// combinations are not measured.
const MAX_DURATION_HISTOGRAMS: usize = 1000;

/// An attribute of a span or data point: its key and its value.
pub(super) type OtlpAttribute = (&'static str, OtlpAttributeValue);

/// The value of an attribute of a span or data point.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OtlpAttributeValue {
    Text(String),
    Int(i64),
}

impl From<&str> for OtlpAttributeValue {
    fn from(text: &str) -> OtlpAttributeValue {
        OtlpAttributeValue::Text(text.to_owned())
    }
}

impl From<String> for OtlpAttributeValue {
    fn from(text: String) -> OtlpAttributeValue {
        OtlpAttributeValue::Text(text)
    }
}

impl From<i64> for OtlpAttributeValue {
    fn from(number: i64) -> OtlpAttributeValue {
        OtlpAttributeValue::Int(number)
    }
}

impl From<u64> for OtlpAttributeValue {
    fn from(number: u64) -> OtlpAttributeValue {
        OtlpAttributeValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// The start of the process and the time of a measurement, in nanoseconds since 1970. Each data
/// point contains both.
#[derive(Clone, Copy)]
pub(super) struct DataPointTimes {
    process_start_ns: u64,
    measured_at_ns: u64,
}

impl DataPointTimes {
    pub fn new(start: SystemTime, now: SystemTime) -> DataPointTimes {
        DataPointTimes {
            process_start_ns: to_unix_nanoseconds(start),
            measured_at_ns: to_unix_nanoseconds(now),
        }
    }

    /// Returns a data point with the two times added: the start of the process, and the time of the
    /// measurement.
    pub fn add_times(self, mut point: Json) -> Json {
        point["startTimeUnixNano"] = self.process_start_ns.to_string().into();
        point["timeUnixNano"] = self.measured_at_ns.to_string().into();
        point
    }
}

pub(super) fn to_unix_nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns an attribute in OTLP's JSON encoding.
pub(super) fn attribute_json(key: &str, value: &OtlpAttributeValue) -> Json {
    let value = match value {
        OtlpAttributeValue::Text(text) => json!({ "stringValue": text }),
        OtlpAttributeValue::Int(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": key, "value": value })
}

/// The description of this process as the sender of OpenTelemetry data: the service's name, version
/// and instance id.
pub(super) struct OtlpResource(Json);

impl OtlpResource {
    /// Describes this process. All descriptions have the same instance id, so that its spans,
    /// metrics and log records belong together.
    pub fn new(service_name: &str) -> OtlpResource {
        static PROCESS_INSTANCE_ID: LazyLock<TraceId> = LazyLock::new(TraceId::random);
        let id = *PROCESS_INSTANCE_ID;
        let attributes: [OtlpAttribute; 3] = [
            ("service.name", service_name.into()),
            ("service.version", env!("CARGO_PKG_VERSION").into()),
            ("service.instance.id", id.as_str().into()),
        ];
        let attributes: Vec<Json> =
            attributes.iter().map(|(key, value)| attribute_json(key, value)).collect();
        OtlpResource(json!({ "attributes": attributes }))
    }
}

fn instrumentation_scope() -> Json {
    json!({ "name": "rulec", "version": env!("CARGO_PKG_VERSION") })
}

/// Returns the body of an OTLP request that sends spans.
pub(super) fn spans_request(resource: &OtlpResource, spans: &[RequestSpan]) -> Json {
    let spans: Vec<Json> = spans.iter().map(span_json).collect();
    json!({ "resourceSpans": [{
        "resource": resource.0, "scopeSpans": [{ "scope": instrumentation_scope(), "spans": spans }]
    }] })
}

fn span_json(span: &RequestSpan) -> Json {
    let attributes: Vec<Json> =
        span.attributes.iter().map(|(key, value)| attribute_json(key, value)).collect();
    let mut json = json!({
        "traceId": span.trace.as_str(),
        "spanId": span.span_id,
        "name": span.name,
        "kind": SPAN_KIND_SERVER,
        "startTimeUnixNano": to_unix_nanoseconds(span.start).to_string(),
        "endTimeUnixNano": to_unix_nanoseconds(span.start + span.elapsed).to_string(),
        "attributes": attributes,
    });
    if let Some(parent) = &span.parent_span_id {
        json["parentSpanId"] = parent.as_str().into();
    }
    if span.is_error {
        json["status"] = json!({ "code": STATUS_CODE_ERROR });
    }
    json
}

/// Returns the body of an OTLP request that sends metrics.
pub(super) fn metrics_request(resource: &OtlpResource, metrics: Vec<Json>) -> Json {
    json!({ "resourceMetrics": [{
        "resource": resource.0, "scopeMetrics": [{ "scope": instrumentation_scope(), "metrics": metrics }]
    }] })
}

/// Returns the body of an OTLP request that sends log records.
pub(super) fn logs_request(resource: &OtlpResource, records: Vec<Json>) -> Json {
    json!({ "resourceLogs": [{
        "resource": resource.0, "scopeLogs": [{ "scope": instrumentation_scope(), "logRecords": records }]
    }] })
}

/// Returns an OTLP sum: a metric that counts since the start of the process. `help` describes the
/// metric, and `points` are its data points.
pub(super) fn sum_metric(name: &str, unit: &str, help: &str, points: Vec<Json>) -> Json {
    let sum = json!({ "aggregationTemporality": TEMPORALITY_CUMULATIVE, "isMonotonic": true, "dataPoints": points });
    json!({ "name": name, "unit": unit, "description": help, "sum": sum })
}

/// Returns an OTLP gauge: a metric that shows a current value. `help` describes the metric, and
/// `points` are its data points.
pub(super) fn gauge_metric(name: &str, unit: &str, help: &str, points: Vec<Json>) -> Json {
    json!({ "name": name, "unit": unit, "description": help, "gauge": { "dataPoints": points } })
}

/// Returns an OTLP histogram metric. `help` describes the metric, and `points` are its data points.
pub(super) fn histogram_metric(name: &str, unit: &str, help: &str, points: Vec<Json>) -> Json {
    let histogram = json!({ "aggregationTemporality": TEMPORALITY_CUMULATIVE, "dataPoints": points });
    json!({ "name": name, "unit": unit, "description": help, "histogram": histogram })
}

/// Returns the number of spans, data points or log records that the collector reports as rejected
/// in its answer.
pub(super) fn rejected_count(answer: &Json) -> u64 {
    let partial = &answer["partialSuccess"];
    ["rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"]
        .iter()
        .map(|name| &partial[name])
        .filter_map(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok()))
        .sum()
}

/// The histograms of request durations, by HTTP method, route and status.
#[derive(Clone, Default)]
pub(crate) struct RequestDurations(BTreeMap<(&'static str, String, u16), DurationHistogram>);

#[derive(Clone, Default)]
struct DurationHistogram {
    /// The number of requests in each bucket. Bucket `i` counts durations up to bound `i` that
    /// exceed the bound before it. The last bucket counts all longer durations.
    counts: [u64; DURATION_BOUNDS_SECONDS.len() + 1],
    /// Sum of the durations of all requests in this histogram, in seconds.
    sum_seconds: f64,
}

impl RequestDurations {
    pub fn add_duration(&mut self, method: &'static str, route: &str, status: u16, elapsed: Duration) {
        let is_full = self.0.len() >= MAX_DURATION_HISTOGRAMS;
        let key = (method, route.to_owned(), status);
        if is_full && !self.0.contains_key(&key) {
            return;
        }
        let histogram = self.0.entry(key).or_default();
        let seconds = elapsed.as_secs_f64();
        histogram.counts[DURATION_BOUNDS_SECONDS.iter().take_while(|bound| seconds > **bound).count()] += 1;
        histogram.sum_seconds += seconds;
    }

    /// Returns the durations of all requests as the metric that OpenTelemetry's conventions define;
    /// `None` if there was no request. `scheme` is the scheme of the service's URLs, `http` or
    /// `https`.
    pub(super) fn to_metric(&self, times: DataPointTimes, scheme: &'static str) -> Option<Json> {
        let points = self.0.iter().map(|((method, route, status), histogram)| {
            let attributes = [
                attribute_json("http.request.method", &(*method).into()),
                attribute_json("http.route", &route.as_str().into()),
                attribute_json("http.response.status_code", &i64::from(*status).into()),
                attribute_json("url.scheme", &scheme.into()),
            ];
            let counts: Vec<String> = histogram.counts.iter().map(u64::to_string).collect();
            times.add_times(json!({
                "attributes": attributes, "explicitBounds": DURATION_BOUNDS_SECONDS, "bucketCounts": counts,
                "count": histogram.counts.iter().sum::<u64>().to_string(), "sum": histogram.sum_seconds,
            }))
        });
        let points: Vec<Json> = points.collect();
        let help = "Duration of HTTP server requests.";
        (!points.is_empty())
            .then(|| self::histogram_metric("http.server.request.duration", "s", help, points))
    }
}
