//! Envoy's external authorization over gRPC, compared with the same request over HTTP.

use super::grpc::pb::envoy::config::core::v3::{HeaderMap, HeaderValue};
use super::grpc::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Request};
use super::grpc::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use super::grpc::pb::envoy::service::auth::v3::check_response::HttpResponse;
use super::grpc::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest, CheckResponse};
use super::grpc::{Transport, transport};
use super::{Running, start, start_with};
use tonic::{Code, Status};

const ACCESS: &str = r#"
route get when method == "GET" and path starts_with "/public/" and headers["x-team"] == "a" -> allow
route search when path == "/search" and query contains "q=1" -> allow
route root when path == "/" and host starts_with "127.0.0.1" and headers.host == host -> allow
route joined when headers["x-team"] == "a, b" -> allow
route open when headers["authorization"] starts_with "Bearer" -> allow
route refused when path == "/refused" -> deny
"#;

fn client(service: &Running) -> AuthorizationClient<Transport> {
    let (transport, address) = transport(service);
    AuthorizationClient::with_origin(transport, address)
}

fn to_check(http: Option<HttpRequest>) -> CheckRequest {
    let request = Request { http };
    let attributes = AttributeContext { request: Some(request), ..AttributeContext::default() };
    CheckRequest { attributes: Some(attributes) }
}

/// Returns the status that Envoy's client gets, and the route.
#[track_caller]
fn read(answer: CheckResponse) -> (u16, Option<String>) {
    let is_ok = answer.status.expect("a status").code == 0;
    let status = match answer.http_response.expect("an answer") {
        HttpResponse::OkResponse(_) => 200,
        HttpResponse::DeniedResponse(denied) => denied.status.expect("a status").code,
    };
    assert_eq!(is_ok, status == 200);
    let route = answer.dynamic_metadata.and_then(|mut data| data.fields.remove("route"));
    let route = route.and_then(|route| route.kind).map(|kind| match kind {
        prost_types::value::Kind::StringValue(route) => route,
        other => panic!("{other:?}"),
    });
    (u16::try_from(status).expect("a status"), route)
}

/// Both doors read the same message, so they decide alike.
#[tokio::test]
async fn both_doors_decide_alike() {
    let service = start(ACCESS).await;
    let mut client = client(&service);
    let host = service.url.trim_start_matches("http://").to_owned();
    type Headers = [(&'static str, &'static str)];
    let requests: [(&str, &str, &Headers); 13] = [
        ("GET", "/public/a?b=c", &[("x-team", "a")]),
        ("POST", "/public/a", &[("x-team", "a")]),
        ("GET", "/private", &[("x-team", "a")]),
        ("GET", "/public/a", &[("x-team", "b")]),
        ("GET", "/search?q=1", &[]),
        ("GET", "/search?q=2", &[]),
        ("GET", "/search", &[]),
        ("GET", "/", &[]),
        ("GET", "", &[]),
        ("GET", "?q=1", &[]),
        ("DELETE", "/x", &[("x-team", "a, b")]),
        ("GET", "/x", &[("authorization", "Bearer of-the-client")]),
        ("GET", "/refused", &[]),
    ];
    let mut routes = Vec::new();
    for (method, path, headers) in requests {
        let address = format!("{}/ext_authz{path}", service.url);
        let request = service.client.request(method.parse().expect("a method"), address);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let over_http = service.send(request).await;
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let http = HttpRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            host: host.clone(),
            scheme: "http".to_owned(),
            protocol: "HTTP/1.1".to_owned(),
            // Envoy adds these to the headers of the request.
            headers: headers.chain([(":path".to_owned(), path.to_owned())]).collect(),
            ..HttpRequest::default()
        };
        let answer = client.check(to_check(Some(http))).await.expect("an answer").into_inner();
        let (status, route) = read(answer);
        assert_eq!(status, over_http.status, "{method} {path}");
        assert_eq!(route.as_deref().unwrap_or_default(), over_http.header("x-rulec-route"));
        routes.extend(route);
    }
    assert_eq!(routes, ["get", "search", "root", "root", "root", "joined", "refused"]);
}

#[tokio::test]
async fn raw_headers_are_read() {
    let service = start(ACCESS).await;
    let header = |value: &[u8]| HeaderValue {
        key: "x-team".to_owned(),
        value: String::new(),
        raw_value: value.to_vec(),
    };
    let http = HttpRequest {
        method: "GET".to_owned(),
        path: "/x".to_owned(),
        header_map: Some(HeaderMap { headers: vec![header(b"a"), header(b"b")] }),
        ..HttpRequest::default()
    };
    let answer = client(&service).check(to_check(Some(http))).await.expect("an answer").into_inner();
    assert_eq!(read(answer), (200, Some("joined".to_owned())));
}

/// A request that cannot be decided is never allowed.
#[tokio::test]
async fn doubt_is_a_denial() {
    let service = start_with("default -> allow", |options, _| options.limits.max_body_bytes = 1000).await;
    let mut client = client(&service);
    let http = |path: &str| HttpRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        ..HttpRequest::default()
    };
    let allowed = client.check(to_check(Some(http("/")))).await.expect("an answer").into_inner();
    assert_eq!(read(allowed), (200, Some("default".to_owned())));
    let mut wrong = vec![
        CheckRequest::default(),
        to_check(None),
        to_check(Some(HttpRequest::default())),
        to_check(Some(http("*"))),
        to_check(Some(http("/a b"))),
    ];
    let mut header = http("/");
    header.headers.insert("a b".to_owned(), "c".to_owned());
    wrong.push(to_check(Some(header)));
    for request in wrong {
        let denied = client.check(request.clone()).await.expect("an answer").into_inner();
        assert_eq!(read(denied), (400, None), "{request:?}");
    }
    let long = client.check(to_check(Some(http(&format!("/{}", "x".repeat(2000)))))).await;
    assert_eq!(long.expect_err("it is over the limit").code(), Code::ResourceExhausted);
}

/// Without a token, Envoy gets an error. With a token that may not decide, the request is denied.
#[tokio::test]
async fn errors_of_the_service_are_denials_or_errors() {
    let service = start_with("default -> allow", |options, folder| {
        let mut other = options.rules[0].clone();
        other.rule_set_name = "other".to_owned();
        options.rules.push(other);
        options.token_file = Some(folder.join("tokens"));
        let hash = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
        std::fs::write(folder.join("tokens"), format!("reader explain {hash}\n")).expect("it can be written");
    })
    .await;
    let http = HttpRequest { method: "GET".to_owned(), path: "/".to_owned(), ..HttpRequest::default() };
    let mut client = client(&service);
    let without = client.check(to_check(Some(http.clone()))).await;
    assert_eq!(without.map(drop).map_err(|status: Status| status.code()), Err(Code::Unauthenticated));
    let mut request = tonic::Request::new(to_check(Some(http)));
    request.metadata_mut().insert("authorization", "Bearer reader".parse().expect("ASCII"));
    let denied = client.check(request).await.expect("an answer").into_inner();
    assert_eq!(read(denied), (403, None), "the token may not decide");
}
