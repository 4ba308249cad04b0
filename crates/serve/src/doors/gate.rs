//! Admission of requests. Checks the token, the limit of open requests and the deadline before a
//! handler gets the request.

use super::access;
use super::admitted::{Admitted, Permit};
use super::app::App;
#[cfg(feature = "grpc")]
use super::grpc;
#[cfg(feature = "studio")]
use super::studio;
use crate::auth::Grant;
use crate::limits::Deadline;
use crate::metrics::LimitName;
#[cfg(feature = "remote")]
use crate::otlp::{DecisionInfo, OpenSpan};
use crate::problem::Problem;
use crate::trace::TraceId;
use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Paths that need neither a token nor a permit (see [`Permit`](super::admitted::Permit)). So a
/// health check succeeds even if the service is overloaded.
const OPEN_PATHS: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];

/// The status under which a request is counted if its client disconnected before the response.
const CLIENT_GONE: u16 = 499;

/// A request that is being answered. Its metrics are counted on drop. So the request is also
/// counted if its handler panicked or the client disconnected.
struct OpenRequest<'a> {
    app: &'a App,
    path: &'a str,
    status: Option<StatusCode>,
    /// The tracing span of the request; `None` if nothing is exported.
    #[cfg(feature = "remote")]
    span: Option<OpenSpan>,
    #[cfg(feature = "remote")]
    decided: Option<DecisionInfo>,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        let status = match self.status {
            Some(status) => status.as_u16(),
            None if std::thread::panicking() => StatusCode::INTERNAL_SERVER_ERROR.as_u16(),
            None => CLIENT_GONE,
        };
        let metrics = self.app.service().metrics();
        metrics.open_requests().dec();
        metrics.count_request(self.path, status);
        #[cfg(feature = "remote")]
        if let Some((otlp, span)) = self.app.otlp().zip(self.span.take()) {
            otlp.end(span, self.path, status, self.decided.as_ref());
        }
    }
}

pub(crate) async fn guard(
    State(app): State<Arc<App>>,
    #[cfg_attr(not(feature = "remote"), allow(unused_mut, reason = "only an export changes it"))] mut request: Request,
    next: Next,
) -> Response {
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let path = matched.as_ref().map_or("", MatchedPath::as_str).to_owned();
    app.service().metrics().open_requests().inc();
    #[cfg(feature = "remote")]
    let span = app.otlp().map(|otlp| otlp.begin(&request, &path));
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
        decided: None,
    };
    let response = admit(&app, &path, request, next).await.unwrap_or_else(IntoResponse::into_response);
    let status = status_of(&response);
    open.status = Some(status);
    #[cfg(feature = "remote")]
    {
        open.decided = response.extensions().get::<DecisionInfo>().cloned();
    }
    if status == StatusCode::GATEWAY_TIMEOUT {
        app.service().metrics().count_limit(LimitName::deadline);
    }
    drop(open);
    response
}

/// Returns the trace id of a request. This is the id of the trace that the export has started, or
/// else the id that the caller has sent.
fn trace_of(request: &Request) -> Option<TraceId> {
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
fn is_envoy(path: &str) -> bool {
    #[cfg(feature = "grpc")]
    if grpc::is_envoy(path) {
        return true;
    }
    path.starts_with(access::ENVOY_PATH)
}

/// True for the paths that need neither a token nor a permit, such as health checks.
fn is_open(path: &str) -> bool {
    #[cfg(feature = "grpc")]
    if grpc::is_health(path) {
        return true;
    }
    OPEN_PATHS.contains(&path)
}

async fn admit(app: &Arc<App>, path: &str, request: Request, next: Next) -> Result<Response, Problem> {
    if is_open(path) {
        return Ok(next.run(request).await);
    }
    #[cfg(feature = "studio")]
    if studio::is_studio(path) {
        return match studio::admit(app, &request)? {
            Some(grant) => run(app, grant, request, next).await,
            // A request without a token takes no permit. So strangers cannot take all permits.
            None => run_until(Deadline::after(app.service().limits().deadline), request, next).await,
        };
    }
    if !is_envoy(path) {
        app.web().check(&request)?;
    }
    let grant = app.grant(request.headers())?;
    run(app, grant, request, next).await
}

/// Runs an authorized request. Refuses it if too many requests are open, and cancels it at its
/// deadline.
async fn run(app: &Arc<App>, grant: Grant, mut request: Request, next: Next) -> Result<Response, Problem> {
    let Ok(permit) = app.permits().clone().try_acquire_owned() else {
        app.service().metrics().count_limit(LimitName::concurrency);
        return Err(Problem::overloaded("too many requests are being answered; try again soon"));
    };
    let deadline = Deadline::after(app.service().limits().deadline);
    let (permit, trace) = (Permit::new(permit), trace_of(&request));
    request.extensions_mut().insert(Admitted { grant, permit, deadline, trace });
    run_until(deadline, request, next).await
}

async fn run_until(deadline: Deadline, request: Request, next: Next) -> Result<Response, Problem> {
    let answered = tokio::time::timeout_at(deadline.end().into(), next.run(request)).await;
    answered.map_err(|_| deadline.problem())
}
