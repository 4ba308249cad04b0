//! The HTTP routes of the studio, a web page for people who work on the rules. The page is under
//! `/studio`, and shows the active rules and the live traffic.
//!
//! A browser sends no bearer token when it opens a page. So the user enters the token once, on a
//! login page, and a cookie then names the login. Browsers send the cookie only with requests from
//! this service's own pages (`SameSite=Strict`). Scripts cannot read it (`HttpOnly`). No URL
//! contains the token.

use super::admitted::Admitted;
use super::app::{App, accepted_language, json_response};
use super::logins::{LOGIN_COOKIE, STUDIO_PATH, StudioDoor};
use crate::auth::{RequestPermissions, Scope, hash_of};
use crate::problem::Problem;
use crate::web;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::uri::{Authority, PathAndQuery, Uri};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Router};
use percent_encoding::percent_decode;
use rulec_studio::answer_holding;
use std::sync::Arc;
use tower_service::Service as _;

/// The HTML of the login page, on which the user enters the token.
const LOGIN_PAGE: &str = include_str!("studio/login.html");
/// The Content-Security-Policy of the login page: it may send a form to this service, and nothing
/// else.
const LOGIN_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";
/// Maximum number of bytes of the form that contains the token.
const MAX_FORM_BYTES: usize = 4 << 10;

/// Returns the HTTP routes of the studio.
pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route(STUDIO_PATH, any(answer_studio_request))
        .route("/studio/", any(answer_studio_request))
        .route("/studio/{*path}", any(answer_studio_request))
}

/// True for the paths of the studio. `path` is the path pattern of an HTTP route.
pub(super) fn is_studio_path(path: &str) -> bool {
    path.strip_prefix(STUDIO_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Checks that the request comes from the studio's own page, and that its token or login permits
/// it. Returns the permissions, which include the scope `admin`. `None` if the request opens the
/// page or logs in, without a token and without a valid login.
///
/// # Errors
/// If another website's page sends the request, or if its token is unknown or lacks the scope
/// `admin`. Also if a request for data has neither a token nor a valid login.
pub(super) fn admit_studio_request(
    app: &App,
    request: &Request,
) -> Result<Option<RequestPermissions>, Problem> {
    let is_page = request.method() == Method::GET && !request.uri().path().starts_with("/studio/api/");
    require_own_page(app, request, is_page)?;
    let headers = request.headers();
    let grant: Option<RequestPermissions> = match headers.contains_key(header::AUTHORIZATION) {
        true => Some(app.grant(headers)?),
        false => login_id(headers)
            .zip(app.studio())
            .and_then(|(id, door)| door.logins.token_hash(id))
            .and_then(|token| app.grant_of_hash(&token)),
    };
    match grant {
        Some(grant) => grant.require_scope(Scope::Admin).map(|()| Some(grant)),
        None if is_page || request.uri().path() == "/studio/login" => Ok(None),
        None => {
            Err(Problem::unauthorized("log in at `/studio/`, or give a token: `Authorization: Bearer TOKEN`"))
        }
    }
}

/// Checks that the studio's own page sends a request. If `is_page` is true, the request opens the
/// page, and a link on another website may send it.
fn require_own_page(app: &App, request: &Request, is_page: bool) -> Result<(), Problem> {
    app.web_guard().check_host(request)?;
    let foreign = || Problem::forbidden("the studio answers only its own page");
    let headers = request.headers();
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
        let origin = origin.as_ref().and_then(Uri::authority).map(Authority::as_str);
        if origin.is_none() || origin != web::request_host(request) {
            return Err(foreign());
        }
    }
    match web::fetch_site_header(headers) {
        None | Some(b"none" | b"same-origin") => Ok(()),
        Some(_) if is_page => Ok(()),
        Some(_) => Err(foreign()),
    }
}

/// Returns the id of the login, from the cookie of a request. `None` if the request has no such
/// cookie.
fn login_id(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == LOGIN_COOKIE).map(|(_, id)| id.trim())
}

async fn answer_studio_request(
    State(app): State<Arc<App>>,
    admitted: Option<Extension<Admitted>>,
    request: Request,
) -> Result<Response, Problem> {
    let Some(door) = app.studio() else { return Err(Problem::not_found("the service has no studio")) };
    let path = request.uri().path().strip_prefix(STUDIO_PATH).unwrap_or_default().to_owned();
    match path.as_str() {
        "/login" => return log_in(&app, door, request).await,
        "/logout" if request.method() == Method::POST => {
            login_id(request.headers()).inspect(|id| door.logins.remove(id));
            return Ok(redirect_with_cookie(&door.cookie_header_value("")));
        }
        _ => {}
    }
    let Some(Extension(admitted)) = admitted else { return Ok(login_page(StatusCode::UNAUTHORIZED, "")) };
    match path.as_str() {
        // The page names its files relative to its folder.
        "" => return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, "/studio/")]).into_response()),
        "/api/traffic" if request.method() == Method::GET => {
            let language = accepted_language(request.headers());
            let traffic = app.run_blocking(&admitted, move |service| service.traffic(language)).await?;
            return Ok(json_response(traffic));
        }
        _ => {}
    }
    let mut studio = door.studio_router();
    let response = studio.call(strip_studio_prefix(request, &path)?);
    // The work of the studio holds the permit until it ends, even if the request is cancelled.
    let response = answer_holding(Arc::new(admitted.permit), response).await;
    Ok(response.unwrap_or_else(|never| match never {}))
}

/// Removes the prefix `/studio` from the path of a request, because the studio's router knows only
/// the shorter paths.
fn strip_studio_prefix(mut request: Request, path: &str) -> Result<Request, Problem> {
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let rest: Result<PathAndQuery, _> = format!("{path}{query}").parse();
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(rest.map_err(|_| Problem::invalid("this is no path of the studio"))?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|error| Problem::invalid(error.to_string()))?;
    // The studio matches the path again.
    request.extensions_mut().clear();
    Ok(request)
}

/// Handles the form of the login page. If the token has the scope `admin`, a login begins.
async fn log_in(app: &Arc<App>, door: &StudioDoor, request: Request) -> Result<Response, Problem> {
    if request.method() != Method::POST {
        return Ok(login_page(StatusCode::OK, ""));
    }
    let form = to_bytes(request.into_body(), MAX_FORM_BYTES).await;
    let form = form.map_err(|_| Problem::too_large("the form holds more than a token"))?;
    let token = form.strip_prefix(b"token=").unwrap_or_default();
    let token: Vec<u8> = percent_decode(
        &token.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect::<Vec<u8>>(),
    )
    .collect();
    let hash = hash_of(token.trim_ascii());
    let Some(grant) = app.grant_of_hash(&hash) else {
        return Ok(login_page(StatusCode::UNAUTHORIZED, "This token is not known."));
    };
    match grant.require_scope(Scope::Admin) {
        Ok(()) => Ok(redirect_with_cookie(&door.cookie_header_value(&door.logins.add(hash)?))),
        Err(_) => Ok(login_page(StatusCode::FORBIDDEN, "This token has not the scope <code>admin</code>.")),
    }
}

/// Returns the login page as a response. `message` is HTML that explains why a token was refused,
/// or is empty.
fn login_page(status: StatusCode, message: &str) -> Response {
    let page = LOGIN_PAGE.replace("<!-- message -->", message);
    let mut response = (status, Body::from(page)).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, LOGIN_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, a browser would send the form with the origin `null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns a response that sets a cookie and redirects the browser to the studio's page.
fn redirect_with_cookie(cookie: &str) -> Response {
    let location = (header::LOCATION, HeaderValue::from_static("/studio/"));
    let mut response = (StatusCode::SEE_OTHER, [location]).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
