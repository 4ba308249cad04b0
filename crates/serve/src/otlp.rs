//! Sends metrics and traces to an OpenTelemetry collector, by OTLP over HTTP in its JSON encoding.
//! Also writes the lines of the decision log as log records.
//!
//! The encoding needs no library: the service already has an HTTP client and a JSON writer. The
//! OpenTelemetry crates would add a second registry of metrics, and Protobuf.
//!
//! A request is a span. Its trace comes from the header `traceparent` (W3C Trace Context). Spans
//! wait in a bounded queue, so a request never waits for the collector. Lost spans are counted.

mod encode;
mod exposition;
mod records;

use crate::events::Events;
use crate::metrics::{OtlpMetrics, OtlpSignal};
use crate::rules::{RuleSet, StartError};
use crate::trace::{TraceId, TraceParent};
use crate::web::{self, ENVOY_PATH_PREFIX};
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Version, header};
pub(crate) use encode::RequestDurations;
use encode::{DataPointTimes, OtlpAttribute, OtlpResource};
pub(crate) use records::LogRecords;
use rulec::Decision;
use rulec_base::message;
use rulec_http::{AllowedHosts, Body, HttpClient, Limits, Request as Call, Secret};
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

/// Maximum number of spans that wait for the collector. Further spans are lost.
const MAX_QUEUED_SPANS: usize = 2048;
/// Maximum number of spans that are sent to the collector in one HTTP request.
const MAX_SPANS_PER_REQUEST: usize = 512;
/// Maximum time that a span waits for further spans before it is sent.
const SPAN_SEND_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time to send one HTTP request to the collector, including retries.
const EXPORT_TIME_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time to send the last data to the collector when the service stops.
const CLOSE_TIME_LIMIT: Duration = Duration::from_secs(3);

/// The settings of the export to an OpenTelemetry collector.
#[derive(Clone, Debug)]
pub struct OtlpOptions {
    /// The base address of the collector, such as `http://127.0.0.1:4318`. The paths `/v1/traces`
    /// and `/v1/metrics` are added.
    pub url: String,
    /// The bearer token that the collector requires; `None` if it requires none.
    pub token: Option<Secret>,
    /// The time between two exports of metrics.
    pub interval: Duration,
    /// The value of the attribute `service.name`, which names the service in the collector.
    pub service_name: String,
}

/// The OpenTelemetry span of a request that was answered.
pub(crate) struct RequestSpan {
    trace: TraceId,
    span_id: String,
    parent_span_id: Option<String>,
    name: String,
    start: SystemTime,
    elapsed: Duration,
    attributes: Vec<OtlpAttribute>,
    is_error: bool,
}

/// The OpenTelemetry span of a request that is being answered.
pub(crate) struct OpenRequestSpan {
    pub trace: TraceId,
    parent_span_id: Option<String>,
    /// Whether the span is exported: the caller records its trace, according to the header
    /// `traceparent`. True without this header.
    is_sampled: bool,
    start: SystemTime,
    start_instant: Instant,
    method: &'static str,
    name: String,
    attributes: Vec<OtlpAttribute>,
}

/// The rule set, the decision and the route that a response contains, from which the request's span
/// gets its attributes.
#[derive(Clone)]
pub(crate) struct DecisionInfo(pub Arc<(Arc<RuleSet>, Decision, Option<String>)>);

enum OtlpExportTask {
    Span(Box<RequestSpan>),
    Close(oneshot::Sender<()>),
}

/// The export to an OpenTelemetry collector, as the request handlers use it: it queues spans, and
/// measures durations.
pub(crate) struct Otlp {
    task_sender: mpsc::Sender<OtlpExportTask>,
    durations: Mutex<RequestDurations>,
    metrics: OtlpMetrics,
    /// The scheme of the service's URLs: `http` or `https`.
    scheme: &'static str,
}

/// The task that sends the queued spans and the metrics to the OpenTelemetry collector.
pub(crate) struct OtlpExporter {
    client: HttpClient,
    options: OtlpOptions,
    resource: OtlpResource,
    task_receiver: mpsc::Receiver<OtlpExportTask>,
    /// The scheme of the service's URLs: `http` or `https`.
    scheme: &'static str,
    export_metrics: OtlpMetrics,
    events: Events,
    /// For traces and metrics, whether the last request to the collector has failed. Of several
    /// failures in a row, only the first is reported as an event.
    has_failed_by_signal: [bool; 2],
    process_start: SystemTime,
}

impl Otlp {
    /// Prepares the export. The caller must then run the returned [`OtlpExporter`]. `scheme` is the
    /// scheme of the service's URLs, `metrics` counts the exported data, and `events` receives
    /// errors.
    ///
    /// # Errors
    /// If the collector's address or token cannot be used.
    pub fn new(
        options: &OtlpOptions,
        scheme: &'static str,
        metrics: OtlpMetrics,
        events: Events,
    ) -> Result<(Otlp, OtlpExporter), StartError> {
        let to_error = |why: rulec::Message| StartError::Options(message!("`--otlp`: {why}"));
        let hosts = AllowedHosts::of_url(&options.url).map_err(|error| to_error(error.to_message()))?;
        let limits = Limits { attempt: EXPORT_TIME_LIMIT, overall: EXPORT_TIME_LIMIT, ..Limits::default() };
        let client = HttpClient::new(hosts, limits).map_err(|error| to_error(error.to_message()))?;
        let tried = export_request(options, "/v1/traces", Vec::new()).map_err(to_error)?;
        client.check(&tried).map_err(|error| to_error(error.to_message()))?;
        let (tasks, received) = mpsc::channel(MAX_QUEUED_SPANS);
        let exporter = OtlpExporter {
            client,
            options: options.clone(),
            resource: OtlpResource::new(&options.service_name),
            task_receiver: received,
            scheme,
            export_metrics: metrics.clone(),
            events,
            has_failed_by_signal: [false; 2],
            process_start: SystemTime::now(),
        };
        Ok((Otlp { task_sender: tasks, durations: Mutex::default(), metrics, scheme }, exporter))
    }

    /// Begins the span of a request. `route` is the pattern of its path, such as
    /// `/v1/judge/{kind}`.
    pub fn begin_span(&self, request: &Request, route: &str) -> OpenRequestSpan {
        let parent = TraceParent::read(request.headers());
        let (trace, parent, is_sampled) = match parent {
            Some(parent) => (parent.trace_id, Some(parent.span_id), parent.is_sampled),
            None => (TraceId::random(), None, true),
        };
        let method = method_label(request.method());
        let (name, attributes) = describe_span(request, self.scheme, method, route);
        OpenRequestSpan {
            trace,
            parent_span_id: parent,
            is_sampled,
            start: SystemTime::now(),
            start_instant: Instant::now(),
            method,
            name,
            attributes,
        }
    }

    /// Ends the span of a request, counts its duration, and queues the span for the collector.
    /// `route` is the pattern of the request's path. `decided` is `None` if the response contains
    /// no decision.
    pub fn end_span(&self, open: OpenRequestSpan, route: &str, status: u16, decided: Option<&DecisionInfo>) {
        let elapsed = open.start_instant.elapsed();
        let mut durations = self.durations.lock().unwrap_or_else(PoisonError::into_inner);
        durations.add_duration(open.method, route, status, elapsed);
        drop(durations);
        if !open.is_sampled {
            return;
        }
        let OpenRequestSpan { trace, parent_span_id: parent, start, name, mut attributes, .. } = open;
        attributes.push(("http.response.status_code", i64::from(status).into()));
        let is_error = status >= 500;
        if is_error {
            attributes.push(("error.type", status.to_string().into()));
        }
        if let Some(DecisionInfo(decided)) = decided {
            let (set, decision, route) = &**decided;
            attributes.push(("rulec.rules", set.name().into()));
            attributes.push(("rulec.entry", decision.entry().into()));
            attributes.push(("rulec.generation", decision.generation().into()));
            if let Some(route) = route {
                attributes.push(("rulec.route", route.as_str().into()));
            }
        }
        let id = TraceId::random().as_str()[..16].to_owned();
        let span = RequestSpan {
            trace,
            span_id: id,
            parent_span_id: parent,
            name,
            start,
            elapsed,
            attributes,
            is_error,
        };
        if self.task_sender.try_send(OtlpExportTask::Span(Box::new(span))).is_err() {
            self.metrics.count_lost(OtlpSignal::traces, 1);
        }
    }

    /// Returns the durations of all requests so far, for the exported metrics.
    pub fn durations(&self) -> RequestDurations {
        self.durations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends the waiting spans and the last metrics to the collector, and ends the export.
    pub async fn close(&self) {
        let (closed, done) = oneshot::channel();
        let closing = async {
            if self.task_sender.send(OtlpExportTask::Close(closed)).await.is_ok() {
                let _ = done.await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_TIME_LIMIT, closing).await;
    }
}

impl OtlpExporter {
    /// Sends spans and metrics until the export is closed. `measure` returns the service's metrics
    /// in the text format of Prometheus, and the durations of requests. It returns `None` after the
    /// service has ended.
    pub async fn run(
        mut self,
        measure: impl Fn() -> Option<(String, RequestDurations)> + Send + Sync + 'static,
    ) {
        let measure = Arc::new(measure);
        // Reading the metrics explains decisions, which takes some time. A panic ends one reading.
        let measure_on_thread = async || {
            let measure = measure.clone();
            tokio::task::spawn_blocking(move || measure()).await.ok().flatten()
        };
        let mut spans: Vec<RequestSpan> = Vec::new();
        let mut flush = tokio::time::interval(SPAN_SEND_INTERVAL);
        let mut ticks = tokio::time::interval(self.options.interval);
        ticks.reset();
        // Ticks that are missed during a long export are dropped.
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                task = self.task_receiver.recv() => match task {
                    Some(OtlpExportTask::Span(span)) => {
                        spans.push(*span);
                        if spans.len() < MAX_SPANS_PER_REQUEST {
                            continue;
                        }
                        self.send_spans(&mut spans).await;
                    }
                    Some(OtlpExportTask::Close(closed)) => {
                        self.send_spans(&mut spans).await;
                        self.send_metrics(measure_on_thread().await).await;
                        let _ = closed.send(());
                        return;
                    }
                    None => return,
                },
                _ = flush.tick() => self.send_spans(&mut spans).await,
                _ = ticks.tick() => self.send_metrics(measure_on_thread().await).await,
            }
        }
    }

    async fn send_spans(&mut self, spans: &mut Vec<RequestSpan>) {
        if spans.is_empty() {
            return;
        }
        let body = encode::spans_request(&self.resource, spans);
        let count = spans.len() as u64;
        spans.clear();
        self.send(OtlpSignal::traces, &body, count).await;
    }

    async fn send_metrics(&mut self, measured: Option<(String, RequestDurations)>) {
        let Some((text, durations)) = measured else { return };
        let times = DataPointTimes::new(self.process_start, SystemTime::now());
        let mut metrics = exposition::to_otlp_metrics(&text, times);
        metrics.extend(durations.to_metric(times, self.scheme));
        let count = metrics.len() as u64;
        let body = encode::metrics_request(&self.resource, metrics);
        self.send(OtlpSignal::metrics, &body, count).await;
    }

    async fn send(&mut self, signal: OtlpSignal, body: &Json, count: u64) {
        let path = format!("/v1/{}", signal.name());
        let sent = match export_request(&self.options, &path, body.to_string().into_bytes()) {
            Ok(call) => self.client.send(&call).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let failure = match sent {
            Ok(response) => {
                let rejected = encode::rejected_count(match &response.body {
                    Body::Json(json) => json,
                    Body::Text(_) => &Json::Null,
                });
                self.export_metrics.count_sent(signal, count.saturating_sub(rejected));
                self.export_metrics.count_lost(signal, rejected.min(count));
                None
            }
            Err(error) => {
                self.export_metrics.count_lost(signal, count);
                Some(error)
            }
        };
        let was_failing =
            std::mem::replace(&mut self.has_failed_by_signal[signal as usize], failure.is_some());
        if let (Some(error), false) = (failure, was_failing) {
            self.events.report("otlp_failed", json!({ "signal": signal.name(), "error": error }));
        }
    }
}

/// Returns the HTTP request that sends `body` to the collector. Because a collector may count a
/// repeated request twice, the client repeats it only if the collector has refused it.
fn export_request(options: &OtlpOptions, path: &str, body: Vec<u8>) -> Result<Call, rulec::Message> {
    let url = format!("{}{path}", options.url.trim_end_matches('/'));
    bearer_request(Call::post_bytes(url, "application/json", body), options.token.as_ref())
}

/// Adds a bearer token, if there is one, to an HTTP request of the service.
pub(crate) fn bearer_request(call: Call, token: Option<&Secret>) -> Result<Call, rulec::Message> {
    match token {
        Some(token) => call.bearer(token).map_err(|error| error.to_message()),
        None => Ok(call),
    }
}

/// Returns the name of an HTTP method for metrics. All methods that HTTP does not define share one
/// name, so that the number of time series is bounded.
fn method_label(method: &Method) -> &'static str {
    const KNOWN_HTTP_METHODS: [&str; 9] =
        ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "CONNECT", "TRACE"];
    KNOWN_HTTP_METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("_OTHER")
}

/// Returns the name and the attributes of a span, by OpenTelemetry's conventions. No attribute
/// contains a part of a message. So the path is given as the pattern of its route: for Envoy, the
/// path itself is part of the message.
fn describe_span(
    request: &Request,
    scheme: &'static str,
    method: &'static str,
    route: &str,
) -> (String, Vec<OtlpAttribute>) {
    let version = match request.version() {
        Version::HTTP_10 => "1.0",
        Version::HTTP_11 => "1.1",
        Version::HTTP_2 => "2",
        _ => "",
    };
    let mut attributes: Vec<OtlpAttribute> = vec![
        ("http.request.method", method.into()),
        ("http.route", route.into()),
        ("network.protocol.version", version.into()),
        ("url.scheme", scheme.into()),
    ];
    // Envoy forwards the host of its own client, which is a part of the message.
    let host = web::request_host(request).filter(|_| !route.starts_with(ENVOY_PATH_PREFIX));
    if let Some(host) = host.and_then(|host| Authority::try_from(host).ok()) {
        attributes.push(("server.address", host.host().trim_matches(['[', ']']).into()));
        if let Some(port) = host.port_u16() {
            attributes.push(("server.port", i64::from(port).into()));
        }
    }
    if let Some(agent) = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()) {
        attributes.push(("user_agent.original", agent.into()));
    }
    match grpc_method(request.headers(), request.uri().path()).filter(|_| !route.is_empty()) {
        None => (format!("{method} {route}").trim_end().to_owned(), attributes),
        Some((service, name)) => {
            attributes.push(("rpc.system", "grpc".into()));
            attributes.push(("rpc.service", service.into()));
            attributes.push(("rpc.method", name.into()));
            (format!("{service}/{name}"), attributes)
        }
    }
}

/// Returns the names of the service and of the method that a gRPC request calls. `None` if the
/// request is not gRPC.
fn grpc_method<'p>(headers: &HeaderMap, path: &'p str) -> Option<(&'p str, &'p str)> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let is_grpc = kind.starts_with("application/grpc");
    path.strip_prefix('/')?.split_once('/').filter(|_| is_grpc)
}
