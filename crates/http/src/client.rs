//! The HTTP client, which applies the list of allowed hosts, the limits and the retries to every
//! call.

use super::document::Document;
use super::error::{HttpError, HttpFailure, truncate_for_error};
use super::hosts::AllowedHosts;
use super::limits::{Limits, with_jitter};
use super::request::{Body, Request, Response, is_json_type};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use reqwest::redirect::Policy;
use reqwest::retry;
use rulec_base::diag::Message;
use rulec_base::message;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use thiserror::Error as ThisError;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

/// Maximum number of bytes that are read from the body of an error response. The error stores only
/// the first part of them, with secrets masked. The other bytes are read so that a secret that
/// crosses the end of the stored part is complete and can be masked.
const MAX_ERROR_BODY_BYTES: usize = 16 << 10;

/// A callback that receives the parts of a response body as they arrive.
pub(super) type BodySink<'s> = dyn FnMut(&[u8]) + Send + 's;

/// Why one attempt of a call failed, and whether the server may have received the request.
struct AttemptFailure {
    failure: HttpFailure,
    /// Whether a part of the request was sent before the failure, so that the server may have acted
    /// on it.
    was_sent: bool,
}

impl From<HttpFailure> for AttemptFailure {
    fn from(failure: HttpFailure) -> AttemptFailure {
        AttemptFailure { failure, was_sent: true }
    }
}

/// Makes calls to [`AllowedHosts`] within [`Limits`]. Cloning is cheap and shares the connections.
///
/// Certificates are checked against the operating system's trusted certificates, which are read
/// when the first client is created. Calls need a tokio runtime with time and I/O enabled.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: reqwest::Client,
    hosts: AllowedHosts,
    limits: Limits,
}

/// The error of [`HttpClient::new`]: TLS cannot be set up on this platform.
#[derive(Debug, ThisError)]
#[error("{}", self.to_message())]
pub struct SetupError {
    cause: String,
}

impl HttpClient {
    /// Creates a client that calls only `hosts` and keeps every call within `limits`.
    ///
    /// # Errors
    /// If TLS cannot be set up on this platform.
    pub fn new(hosts: AllowedHosts, limits: Limits) -> Result<HttpClient, SetupError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(TLS_CONFIG.clone().map_err(SetupError::new)?)
            .user_agent(concat!("rulec/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .retry(retry::never())
            .build()
            .map_err(SetupError::new)?;
        Ok(HttpClient { client, hosts, limits })
    }

    /// Returns a copy of the client with other limits. Both clients share their connections.
    pub fn with_limits(&self, limits: Limits) -> HttpClient {
        HttpClient { limits, ..self.clone() }
    }

    /// Checks that a request's address may be called, without calling it. Useful when a
    /// configuration is loaded.
    ///
    /// # Errors
    /// [`HttpFailure::BadUrl`] and [`HttpFailure::HostNotAllowed`].
    pub fn check(&self, request: &Request) -> Result<(), HttpError> {
        self.check_url(request).map(|_| ())
    }

    fn check_url(&self, request: &Request) -> Result<Url, HttpError> {
        let refusal = |failure| HttpError::new(request.label(), 0, Duration::ZERO, failure);
        self.hosts.parse_allowed_url(&request.url).map_err(refusal)
    }

    /// Makes a call, with retries for failures that a retry may fix.
    ///
    /// # Errors
    /// Every [`HttpFailure`]. A body that is not JSON is an error only if its content type is JSON.
    pub async fn send(&self, request: &Request) -> Result<Response, HttpError> {
        self.send_with_sink(request, None).await?.require_valid_json()
    }

    /// Like [`HttpClient::send`], but if `sink` is given, it receives the pieces of a successful
    /// response's body as they arrive. After the first piece, a failed call is not retried, because
    /// `sink` would receive pieces twice.
    pub(super) async fn send_with_sink(
        &self,
        request: &Request,
        mut sink: Option<&mut BodySink<'_>>,
    ) -> Result<Response, HttpError> {
        let piece_delivered = AtomicBool::new(false);
        let mut sink = |piece: &[u8]| {
            if let Some(sink) = &mut sink {
                piece_delivered.store(true, Ordering::Relaxed);
                sink(piece);
            }
        };
        let url = self.check_url(request)?;
        let started = Instant::now();
        let mut attempts = 0;
        loop {
            let (time, overall) = self.limits.time_for_attempt(started.elapsed());
            attempts += 1;
            let timeout_failure = HttpFailure::Timeout { limit: self.limits.applied_limit(overall), overall };
            let AttemptFailure { failure, was_sent } = match self
                .send_once(request, &url, Instant::now() + time, timeout_failure, &mut sink)
                .await
            {
                Ok((status, is_json, body)) => {
                    let (call, secrets) = (request.label(), request.secrets());
                    let elapsed = started.elapsed();
                    return Ok(Response { call, status, body, attempts, elapsed, is_json, secrets });
                }
                Err(failure) => failure,
            };
            // With status 503, the server says that it has not processed the request.
            let is_unprocessed = !was_sent || matches!(failure, HttpFailure::Status { status: 503, .. });
            match self.limits.pause_before_retry(attempts, started.elapsed()) {
                Some(pause)
                    if failure.is_retryable()
                        && (request.is_repeatable || is_unprocessed)
                        && !piece_delivered.load(Ordering::Relaxed) =>
                {
                    sleep(with_jitter(pause)).await
                }
                _ => return Err(HttpError::new(request.label(), attempts, started.elapsed(), failure)),
            }
        }
    }

    /// Makes one attempt of a call. Returns the status, whether the content type is JSON, and the
    /// body. If the attempt is not complete at the deadline, it fails with `timeout_failure`.
    /// `sink` receives the pieces of a successful response's body as they arrive.
    async fn send_once(
        &self,
        request: &Request,
        url: &Url,
        deadline: Instant,
        timeout_failure: HttpFailure,
        sink: &mut BodySink<'_>,
    ) -> Result<(u16, bool, Body), AttemptFailure> {
        let mut call =
            self.client.request(request.method.clone(), url.clone()).headers(request.headers.clone());
        if let Some(body) = &request.body {
            call = call.body(body.clone());
        }
        let (response, bytes) = self.receive_response(request, call, deadline, timeout_failure, sink).await?;
        let content_type: Option<&HeaderValue> = response.headers().get(CONTENT_TYPE);
        let is_json = !request.wants_text && content_type.is_some_and(is_json_type);
        let body = match request.wants_text {
            true => Body::Text(String::from_utf8_lossy(&bytes).into_owned()),
            false => Body::parse_body(content_type, &bytes),
        };
        Ok((response.status().as_u16(), is_json, body))
    }

    /// Sends a call, and receives a successful response with its body. If the response is not
    /// complete at `deadline`, fails with `timeout_failure`. `sink` receives the pieces of the body
    /// as they arrive.
    async fn receive_response(
        &self,
        request: &Request,
        call: reqwest::RequestBuilder,
        deadline: Instant,
        timeout_failure: HttpFailure,
        sink: &mut BodySink<'_>,
    ) -> Result<(reqwest::Response, Vec<u8>), AttemptFailure> {
        let Ok(response) = timeout_at(deadline, call.send()).await else {
            return Err(timeout_failure.into());
        };
        let mut response = response.map_err(|error| {
            let was_sent = !error.is_connect();
            AttemptFailure { failure: to_failure(error), was_sent }
        })?;
        let status = response.status();
        let mut bytes = Vec::new();
        if !status.is_success() {
            // Ignore a failed read: the status is reported even without a body.
            let _ =
                timeout_at(deadline, read_body(&mut response, MAX_ERROR_BODY_BYTES, &mut bytes, &mut |_| {}))
                    .await;
            let text = request.mask_and_truncate(&String::from_utf8_lossy(&bytes));
            return Err(HttpFailure::Status { status: status.as_u16(), text }.into());
        }
        let limit = self.limits.body;
        let read_result = timeout_at(deadline, read_body(&mut response, limit, &mut bytes, sink)).await;
        if !read_result.map_err(|_| timeout_failure)?.map_err(to_failure)? {
            return Err(HttpFailure::BodyTooLarge { limit }.into());
        }
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING).filter(|value| *value != "identity")
        {
            let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
            return Err(HttpFailure::UnknownEncoding { encoding: truncate_for_error(&encoding) }.into());
        }
        Ok((response, bytes))
    }

    /// Fetches a document by one attempt, without retries. `tag` is the entity tag of the version
    /// that the caller has. Returns `None` if the document still has this tag.
    ///
    /// # Errors
    /// As [`HttpClient::send`]. Redirects are not followed, so a redirect is reported as
    /// [`HttpFailure::Status`].
    pub async fn fetch(&self, request: &Request, tag: Option<&str>) -> Result<Option<Document>, HttpError> {
        let (url, started) = (self.check_url(request)?, Instant::now());
        let (time, overall) = self.limits.time_for_attempt(Duration::ZERO);
        let timeout_failure = HttpFailure::Timeout { limit: self.limits.applied_limit(overall), overall };
        let mut call = self.client.get(url).headers(request.headers.clone());
        if let Some(tag) = tag {
            call = call.header(IF_NONE_MATCH, tag);
        }
        match self.receive_response(request, call, started + time, timeout_failure, &mut |_| {}).await {
            Ok((response, bytes)) => {
                let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
                Ok(Some(Document { bytes, tag }))
            }
            Err(AttemptFailure { failure: HttpFailure::Status { status, .. }, .. })
                if tag.is_some() && status == StatusCode::NOT_MODIFIED.as_u16() =>
            {
                Ok(None)
            }
            Err(AttemptFailure { failure, .. }) => {
                Err(HttpError::new(request.label(), 1, started.elapsed(), failure))
            }
        }
    }
}

/// Reads a response's body into `bytes`, up to `max_bytes` bytes, and passes each piece to `sink`.
/// Returns false if the body is longer than the limit.
async fn read_body(
    response: &mut reqwest::Response,
    max_bytes: usize,
    bytes: &mut Vec<u8>,
    sink: &mut BodySink<'_>,
) -> reqwest::Result<bool> {
    while let Some(chunk) = response.chunk().await? {
        let remaining = max_bytes - bytes.len();
        let piece = &chunk[..chunk.len().min(remaining)];
        bytes.extend_from_slice(piece);
        sink(piece);
        if chunk.len() > remaining {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Converts an error of the HTTP library `reqwest` to a failure. The text of the failure is the
/// innermost cause, because the outer errors only name the layer that failed.
fn to_failure(error: reqwest::Error) -> HttpFailure {
    let mut innermost: &dyn Error = &error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    if error.is_builder() {
        HttpFailure::BadUrl { why: Message::verbatim(text) }
    } else {
        HttpFailure::Connection { why: text }
    }
}

impl SetupError {
    fn new(error: impl Error) -> SetupError {
        SetupError { cause: error.to_string() }
    }

    /// Returns the reason why TLS cannot be set up. It quotes the TLS library, whose texts are only
    /// in English.
    pub fn to_message(&self) -> Message {
        message!("the HTTP client could not be set up: {}", self.cause)
    }
}

/// The TLS configuration. Reading the operating system's certificates is slow, so the first client
/// of the process reads them, and all clients share them.
static TLS_CONFIG: LazyLock<Result<ClientConfig, rustls::Error>> = LazyLock::new(tls_config);

/// Creates the TLS configuration. On a machine without certificates, such as a bare container, http
/// calls still work, and https calls fail.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let config =
        || ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let with_verifier = match config()?.with_platform_verifier() {
        Ok(with_verifier) => with_verifier,
        Err(_) => config()?.with_root_certificates(RootCertStore::empty()),
    };
    Ok(with_verifier.with_no_client_auth())
}
