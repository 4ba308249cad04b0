//! Sends the lines of the decision log to a server: as lines of JSON over HTTP, or as log records
//! to an OpenTelemetry collector.
//!
//! A request that fails may have arrived all the same. So the same lines are sent again, with the
//! same numbers and hashes, and a receiver can recognise them.

use crate::otlp::{LogRecords, bearer_request};
use crate::rules::StartError;
use rulec_base::message;
use rulec_http::{AllowedHosts, Body, HttpClient, HttpError, HttpFailure, Limits, Request, Secret};
use serde_json::Value as Json;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Statuses of the class 4xx after which the same lines are sent again. The operator may mend the
/// address or the token, and a busy server has time later.
const RETRYABLE_STATUSES: [u16; 6] = [401, 403, 404, 408, 425, 429];

/// How the lines of the decision log are encoded in the body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogProtocol {
    /// The lines as they are in a log file, as `application/x-ndjson`.
    Lines,
    /// Log records of OpenTelemetry, in the JSON encoding of OTLP. The path `/v1/logs` is added to
    /// the address.
    Otlp {
        /// The name of the service, which is the value of the OpenTelemetry attribute
        /// `service.name`.
        service_name: String,
    },
}

/// A server that receives the lines of the decision log.
#[derive(Clone, Debug)]
pub struct RemoteLog {
    /// The address to which the lines are posted; for [`LogProtocol::Otlp`], the base address of
    /// the collector.
    pub url: String,
    /// The bearer token that the server requires; `None` if it requires none.
    pub token: Option<Secret>,
    /// How the lines of the decision log are encoded in the body of a request.
    pub protocol: LogProtocol,
    /// The path whose name, with the ending `.spill`, is the name of the file that keeps the lines
    /// in the mode `spill`.
    pub spill_path: Option<PathBuf>,
    /// Maximum time of a request; in the mode `sync`, of a request with its retries.
    pub send_time: Duration,
    /// The pause before the first retry, and the longest pause. Each pause is twice the previous
    /// one.
    pub retry_pauses: (Duration, Duration),
}

/// The reason why a server did not accept lines of the decision log.
pub(super) enum LogSendError {
    /// The server does not accept these lines, and would not accept them later.
    Refused(io::Error),
    /// The server cannot be reached, or cannot accept the lines now.
    Unreached(io::Error),
}

/// The connection to the server that receives the lines of the decision log.
pub(super) struct RemoteSink {
    target: RemoteLog,
    client: HttpClient,
    /// Converts lines to OpenTelemetry log records; `None` if the lines are sent as they are.
    records: Option<LogRecords>,
    /// Runs the HTTP client on the thread of the log. Created by the first request, because a
    /// runtime may not be dropped on a thread of another runtime.
    runtime: Option<Runtime>,
}

impl RemoteSink {
    /// Prepares the connection to the server of the decision log. Sends nothing. `retries` says
    /// whether the client repeats a request that fails, within [`RemoteLog::send_time`]. Otherwise,
    /// the caller repeats it.
    ///
    /// # Errors
    /// If the address or the token cannot be used.
    pub fn open(target: RemoteLog, retries: bool) -> Result<RemoteSink, StartError> {
        let to_error = |why: rulec::Message| StartError::Options(message!("`--log`: {why}"));
        let hosts = AllowedHosts::of_url(&target.url).map_err(|error| to_error(error.to_message()))?;
        let (retries, attempt) = match retries {
            true => (u32::MAX, target.send_time / 2),
            false => (0, target.send_time),
        };
        let pauses = target.retry_pauses;
        let limits = Limits { attempt, overall: target.send_time, retries, pauses, ..Limits::default() };
        let client = HttpClient::new(hosts, limits).map_err(|error| to_error(error.to_message()))?;
        let records = match &target.protocol {
            LogProtocol::Lines => None,
            LogProtocol::Otlp { service_name } => Some(LogRecords::new(service_name)),
        };
        let sink = RemoteSink { target, client, records, runtime: None };
        let tried = sink.request(b"").map_err(to_error)?;
        sink.client.check(&tried).map_err(|error| to_error(error.to_message()))?;
        Ok(sink)
    }

    /// Returns the HTTP request that sends these lines of the decision log. The client may repeat
    /// the request.
    fn request(&self, lines: &[u8]) -> Result<Request, rulec::Message> {
        let RemoteLog { url, token, .. } = &self.target;
        let (url, media_type, body) = match &self.records {
            None => (url.clone(), "application/x-ndjson", lines.to_vec()),
            Some(records) => {
                let url = format!("{}/v1/logs", url.trim_end_matches('/'));
                (url, "application/json", records.to_request(lines).to_string().into_bytes())
            }
        };
        bearer_request(Request::post_bytes(url, media_type, body).repeatable(), token.as_ref())
    }

    /// Sends lines of the decision log, and waits until the server has answered. Returns the number
    /// of lines that the server reports as rejected.
    ///
    /// # Errors
    /// If the server did not accept the lines.
    pub fn send(&mut self, lines: &[u8]) -> Result<u64, LogSendError> {
        let failure = |why: String| LogSendError::Unreached(io::Error::other(why));
        let request = self.request(lines).map_err(|why| failure(why.to_string()))?;
        let runtime = match &mut self.runtime {
            Some(runtime) => runtime,
            None => {
                let runtime = Builder::new_current_thread().enable_all().build();
                self.runtime.insert(runtime.map_err(LogSendError::Unreached)?)
            }
        };
        match runtime.block_on(self.client.send(&request)) {
            Ok(response) => Ok(self.records.as_ref().map_or(0, |_| {
                LogRecords::rejected_count(match &response.body {
                    Body::Json(json) => json,
                    Body::Text(_) => &Json::Null,
                })
            })),
            Err(error) if is_refusal(&error) => {
                Err(LogSendError::Refused(io::Error::other(error.to_string())))
            }
            Err(error) => Err(failure(error.to_string())),
        }
    }
}

/// True if the server refuses the lines, so that sending them again would be useless.
fn is_refusal(error: &HttpError) -> bool {
    match error.failure() {
        HttpFailure::Status { status, .. } => {
            (400..500).contains(status) && !RETRYABLE_STATUSES.contains(status)
        }
        _ => false,
    }
}
