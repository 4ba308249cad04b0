//! What every request passes first: the token, the limit of open requests and the deadline.

use super::access;
use super::admitted::{Admitted, Permit};
use super::app::App;
#[cfg(feature = "grpc")]
use super::grpc;
use crate::limits::Deadline;
use crate::metrics::LimitName;
use crate::problem::Problem;
use crate::trace::TraceId;
use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// The paths that need neither a token nor a permit, so that an overloaded service is known to
/// live.
const OPEN_PATHS: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];

/// The status that counts for a request whose client has gone before the answer.
const CLIENT_GONE: u16 = 499;

/// A request that is being answered. Its drop counts it, also after a panic and if its client has
/// gone.
struct OpenRequest<'a> {
    app: &'a App,
    path: &'a str,
    status: Option<StatusCode>,
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
    }
}

pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let path = matched.as_ref().map_or("", MatchedPath::as_str).to_owned();
    app.service().metrics().open_requests().inc();
    let mut open = OpenRequest { app: &app, path: &path, status: None };
    let response = admit(&app, &path, request, next).await.unwrap_or_else(IntoResponse::into_response);
    let status = status_of(&response);
    open.status = Some(status);
    if status == StatusCode::GATEWAY_TIMEOUT {
        app.service().metrics().count_limit(LimitName::deadline);
    }
    drop(open);
    response
}

/// Returns the status that counts for an answer.
fn status_of(response: &Response) -> StatusCode {
    #[cfg(feature = "grpc")]
    if let Some(status) = grpc::http_status(response) {
        return status;
    }
    response.status()
}

/// True for the paths that Envoy asks. It sends the name and the origin that its own client has
/// used.
fn is_envoy(path: &str) -> bool {
    #[cfg(feature = "grpc")]
    if grpc::is_envoy(path) {
        return true;
    }
    path.starts_with(access::ENVOY_PATH)
}

/// True for the paths that need neither a token nor a permit.
fn is_open(path: &str) -> bool {
    #[cfg(feature = "grpc")]
    if grpc::is_health(path) {
        return true;
    }
    OPEN_PATHS.contains(&path)
}

async fn admit(app: &Arc<App>, path: &str, mut request: Request, next: Next) -> Result<Response, Problem> {
    if is_open(path) {
        return Ok(next.run(request).await);
    }
    if !is_envoy(path) {
        app.web().check(&request)?;
    }
    let grant = app.grant(request.headers())?;
    let Ok(permit) = app.permits().clone().try_acquire_owned() else {
        app.service().metrics().count_limit(LimitName::concurrency);
        return Err(Problem::overloaded("too many requests are being answered; try again soon"));
    };
    let deadline = Deadline::after(app.service().limits().deadline);
    let (permit, trace) = (Permit::new(permit), TraceId::read(request.headers()));
    request.extensions_mut().insert(Admitted { grant, permit, deadline, trace });
    let answered = tokio::time::timeout_at(deadline.end().into(), next.run(request)).await;
    answered.map_err(|_| deadline.problem())
}
