//! The protocol adapters (*doors*), one file for each protocol. A door reads a request, calls the
//! service, and writes the answer in the form of the protocol. The modules `app` and `gate` contain
//! the code that all doors share.

mod access;
mod admitted;
pub(crate) mod app;
pub(crate) mod bodies;
mod gate;
#[cfg(feature = "grpc")]
mod grpc;
mod json;
#[cfg(feature = "studio")]
pub(crate) mod logins;
pub(crate) mod mcp;
mod opa;
mod rules;
mod stream;
#[cfg(feature = "studio")]
pub(crate) mod studio;

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

/// Returns one router with the HTTP routes of all protocol adapters. `origins` are the websites
/// whose pages may send requests from a browser.
pub(crate) fn router(app: Arc<App>, origins: &[String]) -> Router {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let allows_origins = !origins.is_empty();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE]);
    let guarded = |routes: Router<Arc<App>>| {
        routes
            .layer(DefaultBodyLimit::max(app.service().limits().max_body_bytes))
            .layer(middleware::from_fn_with_state(app.clone(), gate::guard_request))
    };
    let doors = [json::routes(), rules::routes(), opa::routes(), access::routes(), mcp::routes()];
    let routes = doors.into_iter().fold(Router::new(), Router::merge);
    let routes = routes
        .fallback(|uri: Uri| async move { Problem::not_found(format!("there is no `{}`", uri.path())) })
        .method_not_allowed_fallback(|| async {
            Problem::wrong_method("the address does not take this method; see `/openapi.json`")
        });
    // The CORS layer answers every `OPTIONS` request without checking its token. So the layer
    // exists only if pages of other origins may send requests. Envoy's routes never get it: Envoy
    // would take the layer's answer as permission.
    let routes = if allows_origins { guarded(routes).layer(cors) } else { guarded(routes) };
    let routes = routes.merge(guarded(access::envoy_routes()));
    #[cfg(feature = "grpc")]
    let routes = routes.merge(guarded(grpc::routes(&app)));
    #[cfg(feature = "studio")]
    let routes = match app.studio() {
        Some(_) => routes.merge(guarded(studio::routes())),
        None => routes,
    };
    let routes = routes.layer(CatchPanicLayer::custom(|_: Box<dyn Any + Send>| {
        Problem::broken("rulec stopped because of an internal error").into_response()
    }));
    #[cfg(feature = "grpc")]
    let routes = routes.layer(middleware::from_fn(grpc::answer_with_status));
    routes.with_state(app)
}
