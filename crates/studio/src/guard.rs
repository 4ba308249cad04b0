//! Access control for every request: only the user of this machine may use the studio. A page of
//! another website in the same browser may know the port. But it does not know the token, and the
//! browser sends another `Origin` header.
//!
//! In a DNS rebinding attack, the name of another website resolves to this machine. The browser
//! then sends that name as the `Host` header, so the request is refused.

use crate::error::RequestError;
use crate::language::with_language;
use crate::state::Studio;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rulec::{Language, Message};
use rulec_base::message;
use std::sync::Arc;

/// HTTP header in which the page sends the access token.
pub(crate) const TOKEN_HEADER: &str = "x-rulec-token";

/// Content security policy: the page may load its own scripts and styles, and send requests to this
/// server only.
const PAGE_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Decides which requests may use a studio: requests with the studio's token, host and origin.
#[derive(Clone)]
pub(crate) struct AccessGate {
    pub studio: Arc<Studio>,
    pub port: u16,
}

/// Middleware that passes on requests from the studio's own page and refuses all others. Sets
/// security headers on every response.
pub(crate) async fn guard_request(State(gate): State<AccessGate>, request: Request, next: Next) -> Response {
    let language = request_language(request.headers(), gate.studio.language);
    let response = with_language(language, async {
        match gate.find_refusal(&request) {
            Some(error) => error.into_response(),
            None => next.run(request).await,
        }
    });
    with_security_headers(response.await)
}

/// Middleware for the studio of a service, which has already checked that the client may send the
/// request. Sets the language and the security headers.
pub(crate) async fn prepare_request(request: Request, next: Next) -> Response {
    let language = request_language(request.headers(), None);
    with_security_headers(with_language(language, next.run(request)).await)
}

/// Adds the security headers, such as the content security policy, to a response.
fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, PAGE_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// Returns the language that the request asks for, otherwise `default`, otherwise English.
fn request_language(headers: &HeaderMap, default: Option<Language>) -> Language {
    let languages = header_values(headers, header::ACCEPT_LANGUAGE.as_str());
    languages.first().and_then(|languages| Language::of_locale(languages)).or(default).unwrap_or_default()
}

impl AccessGate {
    fn find_refusal(&self, request: &Request) -> Option<RequestError> {
        let headers = request.headers();
        let forbidden =
            |kind, message: Message| Some(RequestError::new(StatusCode::FORBIDDEN, kind, message));
        // Each header must occur exactly once. Of two values, another HTTP parser might read a
        // different one.
        let hosts: Vec<&str> = header_values(headers, header::HOST.as_str());
        // The target of a request may also contain a host name, which takes precedence over the
        // header.
        let target_host = request.uri().authority().map(Authority::as_str);
        if hosts.len() != 1 || !hosts.iter().copied().chain(target_host).all(|host| self.is_own_host(host)) {
            let message = message!("the studio answers at 127.0.0.1 only; open the address that it printed");
            return forbidden("host", message);
        }
        let origins = header_values(headers, header::ORIGIN.as_str());
        let is_own_origin =
            |origin: &&str| origin.strip_prefix("http://").is_some_and(|host| self.is_own_host(host));
        if !origins.iter().all(is_own_origin) {
            return forbidden("origin", message!("the studio answers only its own page"));
        }
        let sites = header_values(headers, "sec-fetch-site");
        let is_api = request.uri().path().starts_with("/api/");
        if is_api && !sites.iter().all(|site| matches!(*site, "same-origin" | "none")) {
            return forbidden("origin", message!("the studio answers only its own page"));
        }
        let tokens = header_values(headers, TOKEN_HEADER);
        if is_api
            && !(tokens.len() == 1
                && tokens.iter().all(|token| is_same_token(token, &self.studio.access_token)))
        {
            let message = message!("the token is missing or wrong; open the address that the studio printed");
            return Some(RequestError::new(StatusCode::UNAUTHORIZED, "token", message));
        }
        None
    }

    fn is_own_host(&self, host: &str) -> bool {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
        matches!(name, "127.0.0.1" | "localhost") && port.parse() == Ok(self.port)
    }
}

/// Returns all values of a header. A value that is not text is returned as `?`, which equals no
/// valid value.
fn header_values<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
}

/// True if both tokens are equal. The comparison takes constant time, because its duration must not
/// reveal the position of a difference.
fn is_same_token(sent: &str, expected: &str) -> bool {
    let difference = sent.bytes().zip(expected.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b));
    sent.len() == expected.len() && difference == 0
}
