//! What every request passes first: the token, the limit of open requests and the deadline.

use super::app::App;
use crate::metrics::LimitName;
use crate::problem::Problem;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The permission to be answered. A stream keeps it until its end.
#[derive(Clone)]
pub(crate) struct Permit {
    /// Its drop ends the permission.
    _held: Arc<OwnedSemaphorePermit>,
}

/// The paths that need neither a token nor a permit, so that an overloaded service is known to
/// live.
const OPEN_PATHS: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];

pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let path = matched.as_ref().map_or("", MatchedPath::as_str).to_owned();
    let open_requests = app.service().metrics().open_requests();
    open_requests.inc();
    let response = admit(&app, &path, request, next).await.unwrap_or_else(IntoResponse::into_response);
    open_requests.dec();
    app.service().metrics().count_request(&path, response.status().as_u16());
    response
}

async fn admit(app: &Arc<App>, path: &str, mut request: Request, next: Next) -> Result<Response, Problem> {
    if OPEN_PATHS.contains(&path) {
        return Ok(next.run(request).await);
    }
    // A browser names the website of the page that sends the request. Only the pages that
    // `--cors-origin` names come this far with such a header and are allowed.
    if request.headers().contains_key(header::ORIGIN) && !app.allows_origin(request.headers()) {
        return Err(Problem::forbidden("pages of websites may not ask this service; see `--cors-origin`"));
    }
    let grant = app.grant(request.headers())?;
    let metrics = app.service().metrics();
    let Ok(permit) = app.permits().clone().try_acquire_owned() else {
        metrics.count_limit(LimitName::concurrency);
        return Err(Problem::overloaded("too many requests are being answered; try again soon"));
    };
    request.extensions_mut().insert(grant);
    request.extensions_mut().insert(Permit { _held: Arc::new(permit) });
    let deadline = app.service().limits().deadline;
    tokio::time::timeout(deadline, next.run(request)).await.map_err(|_| {
        metrics.count_limit(LimitName::deadline);
        Problem::too_slow(format!(
            "the answer took longer than {} ms; see `--deadline`",
            deadline.as_millis()
        ))
    })
}
