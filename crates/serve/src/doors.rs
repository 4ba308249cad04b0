//! The doors: one file for each protocol. A door reads a request, asks the core, and writes the
//! answer. What all doors share is in `app` and `gate`.

mod access;
pub(crate) mod app;
mod gate;
mod json;
pub(crate) mod mcp;
mod opa;
mod rules;
mod stream;

use crate::problem::Problem;
use app::App;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Method, Uri, header};
use axum::middleware;
use axum::response::IntoResponse;
use std::any::Any;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Returns the doors over HTTP, as one router.
pub(crate) fn router(app: Arc<App>, origins: &[String]) -> Router {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE]);
    let doors = [json::routes(), rules::routes(), opa::routes(), access::routes(), mcp::routes()];
    let routes = doors.into_iter().fold(Router::new(), Router::merge);
    routes
        .fallback(|uri: Uri| async move { Problem::not_found(format!("there is no `{}`", uri.path())) })
        .method_not_allowed_fallback(|| async {
            Problem::wrong_method("the address does not take this method; see `/openapi.json`")
        })
        .layer(DefaultBodyLimit::max(app.service().limits().body))
        .layer(middleware::from_fn_with_state(app.clone(), gate::guard))
        .layer(cors)
        .layer(CatchPanicLayer::custom(|_: Box<dyn Any + Send>| {
            Problem::broken("rulec stopped because of an internal error").into_response()
        }))
        .with_state(app)
}
