//! Protects the service from requests of foreign websites. A page of a website can make a browser
//! send requests from the user's machine. That machine may reach services that the website cannot
//! reach.

use crate::problem::Problem;
use axum::extract::Request;
use axum::http::header::{HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue};
use std::net::IpAddr;

/// The prefix of the paths at which Envoy asks for authorization.
pub(crate) const ENVOY_PATH_PREFIX: &str = "/ext_authz";

/// In this header, a browser says whether a page of the same site or of another site sends the
/// request.
const FETCH_SITE_HEADER: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Decides which web pages may send requests to the service.
pub(crate) struct WebGuard {
    /// The websites whose pages may send requests, such as `https://example.com`.
    allowed_origins: Vec<String>,
    /// The host names of the service that requests may use; `None` if requests may use any name.
    allowed_hosts: Option<Vec<String>>,
}

impl WebGuard {
    /// Creates a guard. `origins` are the websites whose pages may send requests. If `hosts` is
    /// given, each request must name one of these hosts, an IP address or `localhost`.
    pub fn new(origins: Vec<String>, hosts: Option<Vec<String>>) -> WebGuard {
        WebGuard { allowed_origins: origins, allowed_hosts: hosts }
    }

    /// Checks the website whose page sends the request, if a page sends it. Also checks the host
    /// name to which the request is addressed.
    ///
    /// # Errors
    /// If the page comes from a website that is not allowed, or the host name is not allowed.
    pub fn check_origin_and_host(&self, request: &Request) -> Result<(), Problem> {
        let headers = request.headers();
        // A page can send some requests without the header `Origin`. The page cannot read their
        // answers.
        let site = fetch_site_header(headers);
        let is_foreign = headers.contains_key(ORIGIN)
            || site.is_some_and(|site| !matches!(site, b"none" | b"same-origin"));
        if is_foreign && !self.allows_origin(headers) {
            return Err(Problem::forbidden(
                "pages of websites may not ask this service; see `--cors-origin`",
            ));
        }
        self.check_host(request)
    }

    /// Checks the host name to which the request is addressed.
    ///
    /// # Errors
    /// If the host name is not allowed.
    pub fn check_host(&self, request: &Request) -> Result<(), Problem> {
        // With DNS rebinding, a page's own host name has the address of this service. The browser
        // then reports the same origin, but the request carries the page's host name.
        match request_host(request).filter(|host| !self.allows_host(host)) {
            None => Ok(()),
            Some(host) => {
                let why = format!("`{host}` is not a name of this service; see `--host`");
                Err(Problem::forbidden(why))
            }
        }
    }

    fn allows_origin(&self, headers: &HeaderMap) -> bool {
        let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
        self.allowed_origins.iter().any(|known| Some(known.as_bytes()) == origin)
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(known) = &self.allowed_hosts else { return true };
        let name = Authority::try_from(host).map(|authority| authority.host().to_ascii_lowercase());
        let name = name.unwrap_or_else(|_| host.to_ascii_lowercase());
        let address = name.trim_start_matches('[').trim_end_matches(']');
        address.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || known.iter().any(|known| known.eq_ignore_ascii_case(&name))
    }
}

/// Returns the header in which a browser says from where the request comes, such as `same-origin`.
/// `None` if the request lacks it.
pub(crate) fn fetch_site_header(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(FETCH_SITE_HEADER).map(HeaderValue::as_bytes)
}

/// Returns the host name and port to which a request is addressed. HTTP/1 sends them in the header
/// `Host`, HTTP/2 in the URI of the request.
pub(crate) fn request_host(request: &Request) -> Option<&str> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    host.or(request.uri().authority().map(Authority::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn is_allowed(headers: &[(HeaderName, &str)]) -> bool {
        let guard =
            WebGuard::new(vec!["https://good.example".to_owned()], Some(vec!["rules.example".to_owned()]));
        let mut request = Request::new(Body::empty());
        for (name, value) in headers {
            request.headers_mut().insert(name, HeaderValue::from_str(value).expect("a value"));
        }
        guard.check_origin_and_host(&request).is_ok()
    }

    #[test]
    fn own_addresses_and_given_hosts_are_allowed() {
        for good in
            ["127.0.0.1:8181", "[::1]:8181", "localhost", "LocalHost:1", "10.1.2.3", "rules.example:443"]
        {
            assert!(is_allowed(&[(HOST, good)]), "{good}");
        }
        for bad in
            ["evil.example", "evil.example:8181", "127.0.0.1.evil.example", "localhost.evil.example", ""]
        {
            assert!(!is_allowed(&[(HOST, bad)]), "{bad}");
        }
        assert!(is_allowed(&[]), "a program may leave the name out");
    }

    #[test]
    fn only_allowed_origins_may_send_requests() {
        assert!(
            is_allowed(&[(FETCH_SITE_HEADER, "none")]) && is_allowed(&[(FETCH_SITE_HEADER, "same-origin")])
        );
        assert!(
            !is_allowed(&[(FETCH_SITE_HEADER, "cross-site")])
                && !is_allowed(&[(FETCH_SITE_HEADER, "same-site")])
        );
        assert!(is_allowed(&[(FETCH_SITE_HEADER, "cross-site"), (ORIGIN, "https://good.example")]));
        assert!(!is_allowed(&[(ORIGIN, "https://evil.example")]) && !is_allowed(&[(ORIGIN, "null")]));
    }
}
