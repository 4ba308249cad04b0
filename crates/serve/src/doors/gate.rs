//! Admission of requests. Checks the token, the limit of open requests and the deadline before a
//! handler gets the request.

use super::admitted::{Admitted, RequestPermit};
use super::app::{App, media_type};
use super::bodies::BodyError;
#[cfg(feature = "grpc")]
use super::grpc;
#[cfg(feature = "studio")]
use super::studio;
use super::{bodies, json, stream};
use crate::auth::RequestPermissions;
use crate::limits::{LimitName, RequestDeadline};
#[cfg(feature = "remote")]
use crate::otlp::{DecisionInfo, OpenRequestSpan};
use crate::problem::Problem;
use crate::trace::TraceId;
use crate::web::ENVOY_PATH_PREFIX;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Paths that need neither a token nor a permit (see [`RequestPermit`](super::admitted::Permit)).
/// So a health check succeeds even if the service is overloaded.
const PATHS_WITHOUT_TOKEN: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];

/// The HTTP status by which the metrics count a request whose client disconnected before it
/// received the response.
const CLIENT_GONE_STATUS: u16 = 499;

/// A request that is being answered. Its metrics are counted on drop. So the request is also
/// counted if its handler panicked or the client disconnected.
struct OpenRequest<'a> {
    app: &'a App,
    path: &'a str,
    status: Option<StatusCode>,
    /// The tracing span of the request; `None` if nothing is exported.
    #[cfg(feature = "remote")]
    span: Option<OpenRequestSpan>,
    #[cfg(feature = "remote")]
    decision_info: Option<DecisionInfo>,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        let status = match self.status {
            Some(status) => status.as_u16(),
            None if std::thread::panicking() => StatusCode::INTERNAL_SERVER_ERROR.as_u16(),
            None => CLIENT_GONE_STATUS,
        };
        let metrics = self.app.service().metrics();
        metrics.open_requests().dec();
        metrics.count_request(self.path, status);
        #[cfg(feature = "remote")]
        if let Some((otlp, span)) = self.app.otlp().zip(self.span.take()) {
            otlp.end_span(span, self.path, status, self.decision_info.as_ref());
        }
    }
}

pub(crate) async fn guard_request(
    State(app): State<Arc<App>>,
    #[cfg_attr(not(feature = "remote"), allow(unused_mut, reason = "only an export changes it"))] mut request: Request,
    next: Next,
) -> Response {
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let path = matched.as_ref().map_or("", MatchedPath::as_str).to_owned();
    app.service().metrics().open_requests().inc();
    #[cfg(feature = "remote")]
    let span = app.otlp().map(|otlp| otlp.begin_span(&request, &path));
    #[cfg(feature = "remote")]
    if let Some(span) = &span {
        request.extensions_mut().insert(span.trace);
    }
    let mut open = OpenRequest {
        app: &app,
        path: &path,
        status: None,
        #[cfg(feature = "remote")]
        span,
        #[cfg(feature = "remote")]
        decision_info: None,
    };
    let response =
        admit_request(&app, &path, request, next).await.unwrap_or_else(IntoResponse::into_response);
    let status = status_of(&response);
    open.status = Some(status);
    #[cfg(feature = "remote")]
    {
        open.decision_info = response.extensions().get::<DecisionInfo>().cloned();
    }
    if status == StatusCode::GATEWAY_TIMEOUT {
        app.service().metrics().count_limit(LimitName::deadline);
    }
    drop(open);
    response
}

/// Returns the trace id of a request: the id under which the request is exported to OpenTelemetry.
/// Without an export, it is the id that the caller has sent.
fn trace_id_of(request: &Request) -> Option<TraceId> {
    request.extensions().get::<TraceId>().copied().or_else(|| TraceId::read(request.headers()))
}

/// Returns the status under which a response is counted. For an error of gRPC, it is the matching
/// HTTP status.
fn status_of(response: &Response) -> StatusCode {
    #[cfg(feature = "grpc")]
    if let Some(status) = grpc::http_status(response) {
        return status;
    }
    response.status()
}

/// True for the paths that Envoy's authorization requests use. On them the checks against foreign
/// web pages are skipped, because Envoy forwards the host and origin of its own client.
fn is_envoy_path(path: &str) -> bool {
    #[cfg(feature = "grpc")]
    if grpc::is_envoy_path(path) {
        return true;
    }
    path.starts_with(ENVOY_PATH_PREFIX)
}

/// True for the paths that need neither a token nor a permit, such as health checks.
fn is_path_without_token(path: &str) -> bool {
    #[cfg(feature = "grpc")]
    if grpc::is_health_path(path) {
        return true;
    }
    PATHS_WITHOUT_TOKEN.contains(&path)
}

async fn admit_request(
    app: &Arc<App>,
    path: &str,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if is_path_without_token(path) {
        return Ok(next.run(request).await);
    }
    #[cfg(feature = "studio")]
    if studio::is_studio_path(path) {
        return match studio::admit_studio_request(app, &request)? {
            Some(grant) => run_request(app, grant, request, path, next).await,
            // A request without a token takes no permit. So strangers cannot take all permits.
            None => {
                run_until(RequestDeadline::after(app.service().limits().request_time_limit), request, next)
                    .await
            }
        };
    }
    if !is_envoy_path(path) {
        app.web_guard().check_origin_and_host(&request)?;
    }
    let grant = app.grant(request.headers())?;
    run_request(app, grant, request, path, next).await
}

/// How the body of a request is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    /// The whole body is read before the request takes a permit, which counts against the limit of
    /// open requests. The number is the maximum number of bytes that the protocol adds to a body.
    Whole(usize),
    /// The handler reads the body while it answers. The request takes a permit for open streams,
    /// and each part of its body takes a permit for open requests.
    Stream,
    /// The handler does not read the body, or reads it with limits of its own.
    Other,
}

fn body_kind(path: &str, headers: &HeaderMap) -> BodyKind {
    #[cfg(feature = "grpc")]
    if let Some(is_stream) = grpc::is_client_stream(path) {
        return if is_stream { BodyKind::Stream } else { BodyKind::Whole(grpc::FRAME_HEAD_BYTES) };
    }
    #[cfg(feature = "studio")]
    if studio::is_studio_path(path) {
        return BodyKind::Other;
    }
    match path {
        json::BATCH_PATH if media_type(headers) == stream::LINES_MEDIA_TYPE => BodyKind::Stream,
        _ if is_envoy_path(path) => BodyKind::Other,
        _ => BodyKind::Whole(0),
    }
}

fn body_problem(app: &App, error: BodyError) -> Problem {
    match error {
        BodyError::TooLarge => app.body_too_large_problem(),
        BodyError::GivenUp => {
            app.service().metrics().count_limit(LimitName::bodies);
            let why = "too many requests are being received, and this one was slow; try again soon";
            Problem::overloaded(why)
        }
        BodyError::Unreadable(why) => Problem::invalid(format!("the body cannot be read: {why}")),
    }
}

/// Runs an authorized request. Refuses the request if too many requests are open, and cancels it at
/// its deadline. The time until the deadline includes the time in which the body is read.
async fn run_request(
    app: &Arc<App>,
    grant: RequestPermissions,
    mut request: Request,
    path: &str,
    next: Next,
) -> Result<Response, Problem> {
    let deadline = RequestDeadline::after(app.service().limits().request_time_limit);
    let kind = body_kind(path, request.headers());
    if let BodyKind::Whole(added) = kind {
        let (parts, body) = request.into_parts();
        let limit = app.service().limits().max_body_bytes.saturating_add(added);
        let read = bodies::read_body(app.incomplete_bodies(), body, limit);
        let read = tokio::time::timeout_at(deadline.end().into(), read).await;
        let body = read.map_err(|_| deadline.timeout_problem())?.map_err(|error| body_problem(app, error))?;
        request = Request::from_parts(parts, Body::from(body));
    }
    // The answer to an array of messages is sent in parts, and the client may read them slowly.
    let is_stream = kind == BodyKind::Stream || path == json::BATCH_PATH;
    let permits = if is_stream { app.stream_permits() } else { app.request_permits() };
    let Ok(permit) = permits.clone().try_acquire_owned() else {
        app.service().metrics().count_limit(LimitName::concurrency);
        return Err(Problem::overloaded("too many requests are being answered; try again soon"));
    };
    let (permit, trace) = (RequestPermit::new(permit), trace_id_of(&request));
    request.extensions_mut().insert(Admitted { grant, permit, deadline, trace });
    run_until(deadline, request, next).await
}

async fn run_until(deadline: RequestDeadline, request: Request, next: Next) -> Result<Response, Problem> {
    let answered = tokio::time::timeout_at(deadline.end().into(), next.run(request)).await;
    answered.map_err(|_| deadline.timeout_problem())
}
