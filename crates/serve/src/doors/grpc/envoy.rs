//! Envoy's external authorization over gRPC: `envoy.service.auth.v3.Authorization`. The rules get
//! the same message as for an authorization request over HTTP. Only a decision for the handler
//! `allow` lets a request pass.

use super::pb::envoy::config::core::v3::HeaderValue as RawHeader;
use super::pb::envoy::service::auth::v3 as pb;
use super::pb::envoy::r#type::v3::HttpStatus;
use super::pb::google::rpc;
use super::split_request;
use super::status::grpc_code;
use crate::doors::access;
use crate::doors::admitted::Admitted;
use crate::doors::app::App;
use crate::problem::Problem;
use crate::service::DecisionWithAnswer;
use crate::web::ENVOY_PATH_PREFIX;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use pb::attribute_context::HttpRequest;
use pb::check_response::HttpResponse;
use prost_types::value::Kind;
use prost_types::{Struct, Value};
use std::sync::Arc;
use tonic::{Code, Request, Response, Status};

pub(super) struct EnvoyService(pub Arc<App>);

/// Returns the headers of the request that Envoy asks about, without HTTP/2's pseudo-headers. So
/// the rules read the same headers as for a request over HTTP/1.
fn headers_of(http: &HttpRequest) -> Result<HeaderMap, Problem> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &[u8]| -> Result<(), Problem> {
        // These are the method, the path, the scheme and the host.
        if name.starts_with(':') {
            return Ok(());
        }
        let wrong = || Problem::invalid(format!("`{}` is not a header", name.escape_default()));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        headers.append(name, HeaderValue::from_bytes(value).map_err(|_| wrong())?);
        Ok(())
    };
    for (name, value) in &http.headers {
        add(name, value.as_bytes())?;
    }
    for RawHeader { key, value, raw_value } in http.header_map.iter().flat_map(|map| &map.headers) {
        add(key, if raw_value.is_empty() { value.as_bytes() } else { raw_value })?;
    }
    if !http.host.is_empty() && !headers.contains_key(header::HOST) {
        let host = HeaderValue::from_str(&http.host);
        headers.insert(header::HOST, host.map_err(|_| Problem::invalid("the host is not a name"))?);
    }
    Ok(headers)
}

/// Returns the URI at which Envoy would ask over HTTP about a request to `path`.
fn uri_of(path: &str) -> Result<Uri, Problem> {
    let is_path = path.is_empty() || path.starts_with(['/', '?']);
    let uri = Uri::try_from(format!("{ENVOY_PATH_PREFIX}{path}"));
    uri.ok().filter(|_| is_path).ok_or_else(|| Problem::invalid("the path of the request is not valid"))
}

async fn decide(
    app: &Arc<App>,
    admitted: &Admitted,
    request: pb::CheckRequest,
) -> Result<DecisionWithAnswer, Problem> {
    let http = request.attributes.and_then(|attributes| attributes.request);
    let http = http.and_then(|request| request.http).filter(|http| !http.method.is_empty());
    let http = http.ok_or_else(|| Problem::invalid("only requests over HTTP can be checked"))?;
    let (uri, headers) = (uri_of(&http.path)?, headers_of(&http)?);
    let check =
        access::CheckedRequest { method: &http.method, uri: &uri, host: &http.host, headers: &headers };
    check.decide(app, admitted).await
}

/// Returns the answer that Envoy gets for a decision. Its metadata names the chosen route and the
/// generation (version number) of the rules, for Envoy's log and for Envoy's other filters.
fn check_response(decided: &DecisionWithAnswer) -> pb::CheckResponse {
    let text = |text: &str| Value { kind: Some(Kind::StringValue(text.to_owned())) };
    let generation = decided.decision.generation().to_string();
    let route = decided.route.as_deref().map(|route| ("route".to_owned(), text(route)));
    let fields = route.into_iter().chain([("generation".to_owned(), text(&generation))]).collect();
    let answer = match access::is_permitted(decided) {
        true => pb::CheckResponse {
            status: Some(rpc::Status::default()),
            http_response: Some(HttpResponse::OkResponse(pb::OkHttpResponse {})),
            dynamic_metadata: None,
        },
        false => denied_response(Code::PermissionDenied, StatusCode::FORBIDDEN, ""),
    };
    pb::CheckResponse { dynamic_metadata: Some(Struct { fields }), ..answer }
}

/// Returns an answer that denies the request. Envoy's client gets the HTTP status `status` and an
/// empty body. Only Envoy sees the gRPC status `code` and the error message `words`.
fn denied_response(code: Code, status: StatusCode, words: &str) -> pb::CheckResponse {
    let status = HttpStatus { code: status.as_u16().into() };
    let denied = pb::DeniedHttpResponse { status: Some(status), body: String::new() };
    pb::CheckResponse {
        status: Some(rpc::Status { code: code.into(), message: words.to_owned() }),
        http_response: Some(HttpResponse::DeniedResponse(denied)),
        dynamic_metadata: None,
    }
}

#[tonic::async_trait]
impl pb::authorization_server::Authorization for EnvoyService {
    async fn check(&self, request: Request<pb::CheckRequest>) -> Result<Response<pb::CheckResponse>, Status> {
        let (admitted, request) = split_request(request)?;
        let answer = match decide(&self.0, &admitted, request).await {
            Ok(decided) => check_response(&decided),
            // An authorization request that cannot be decided is denied, as over HTTP. A failure of
            // the service itself is reported to Envoy as an error instead.
            Err(problem) if problem.status().is_client_error() => {
                denied_response(grpc_code(&problem), problem.status(), problem.detail())
            }
            Err(problem) => return Err(problem.into()),
        };
        Ok(Response::new(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http_request(headers: &[(&str, &str)]) -> HttpRequest {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        HttpRequest { host: "shop.example".to_owned(), headers: headers.collect(), ..HttpRequest::default() }
    }

    #[test]
    fn headers_are_read_as_over_http() {
        let mut request = http_request(&[(":path", "/a"), ("x-team", "a, b")]);
        let raw = RawHeader { key: "X-Raw".to_owned(), value: String::new(), raw_value: vec![b'a', 0xff] };
        request.header_map =
            Some(super::super::pb::envoy::config::core::v3::HeaderMap { headers: vec![raw] });
        let headers = headers_of(&request).expect("headers");
        assert_eq!(headers.len(), 3);
        assert_eq!(
            (headers["x-team"].as_bytes(), headers["host"].as_bytes()),
            (&b"a, b"[..], &b"shop.example"[..])
        );
        assert_eq!(headers["x-raw"].as_bytes(), b"a\xff");
        for wrong in [("a b", "c"), ("a", "b\r\nc: d"), ("", "x")] {
            assert!(headers_of(&http_request(&[wrong])).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_path_is_read_as_over_http() {
        let parts = |path: &str| {
            let uri = uri_of(path).expect("a path");
            (uri.path().to_owned(), uri.query().map(str::to_owned))
        };
        assert_eq!(parts("/a%20b?c=d?e"), ("/ext_authz/a%20b".to_owned(), Some("c=d?e".to_owned())));
        assert_eq!(parts(""), ("/ext_authz".to_owned(), None));
        for wrong in ["*", "a", "_/public", "/a b", "/a\n", "https://shop.example/"] {
            assert!(uri_of(wrong).is_err(), "{wrong}");
        }
    }
}
