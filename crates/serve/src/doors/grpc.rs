//! The gRPC services: `rulec.v1`, Envoy's external authorization, health and reflection. They are
//! routes of the same router as the HTTP services, so that all limits apply to them too.

mod decide;
mod envoy;
mod health;
mod rules;
mod status;
mod stream;

pub(super) use status::http_status;

use super::admitted::Admitted;
use super::app::{App, media_type};
use crate::limits::LimitName;
use crate::problem::Problem;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post_service;
use futures_util::StreamExt;
use http_body_util::{BodyStream, StreamBody};
use prost::Message;
use prost_types::FileDescriptorSet;
use rulec_base::broken_invariant;
use std::convert::Infallible;
use std::sync::Arc;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic::{Code, Status};

/// The message types and the server code that the build script generates from the `.proto` files.
#[allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/server/all.rs"));
}

/// The encoded descriptors of the `.proto` files, for reflection and for the list of methods.
const PROTO_DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

type HealthServer = tonic_health::pb::health_server::HealthServer<health::HealthService>;
type EnvoyServer =
    pb::envoy::service::auth::v3::authorization_server::AuthorizationServer<envoy::EnvoyService>;
type RulesServer = pb::rulec::v1::rules_server::RulesServer<rules::RulesService>;

/// Returns the HTTP routes of all gRPC services: one route for each method.
pub(super) fn routes(app: &Arc<App>) -> Router<Arc<App>> {
    let limit = app.service().limits().max_body_bytes;
    let rules = RulesServer::new(rules::RulesService(app.clone())).max_decoding_message_size(limit);
    let envoy = EnvoyServer::new(envoy::EnvoyService(app.clone())).max_decoding_message_size(limit);
    let health = HealthServer::new(health::HealthService(app.clone())).max_decoding_message_size(limit);
    let routes = [
        service_routes(PROTO_DESCRIPTORS, &rules),
        service_routes(PROTO_DESCRIPTORS, &envoy),
        service_routes(tonic_health::pb::FILE_DESCRIPTOR_SET, &health),
        reflection_routes(limit),
    ];
    let routes = routes.into_iter().fold(Router::new(), Router::merge);
    routes.layer(middleware::from_fn_with_state(app.clone(), check_grpc_request))
}

/// Returns the HTTP routes of one gRPC service. `descriptors` are encoded file descriptors that
/// list the methods of the service.
fn service_routes<S>(descriptors: &[u8], service: &S) -> Router<Arc<App>>
where
    S: Service<Request, Response = http::Response<tonic::body::Body>, Error = Infallible>
        + NamedService
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send,
{
    // The descriptors are a part of the program.
    let descriptors = FileDescriptorSet::decode(descriptors).unwrap_or_default();
    let services = descriptors.file.iter().flat_map(|file| {
        file.service.iter().map(|service| (format!("{}.{}", file.package(), service.name()), service))
    });
    let methods = services.filter(|(name, _)| name == S::NAME).flat_map(|(_, found)| &found.method);
    methods.fold(Router::new(), |routes, method| {
        routes.route(&format!("/{}/{}", S::NAME, method.name()), post_service(service.clone()))
    })
}

/// Returns the routes of gRPC server reflection, by which clients list the services. `limit` is the
/// maximum size of a request message in bytes. A reflection stream ends at its deadline, because it
/// counts against the limit of open streams.
fn reflection_routes(limit: usize) -> Router<Arc<App>> {
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(PROTO_DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    // Many clients still use the older version only.
    let (Ok(v1), Ok(v1alpha)) = (builder().build_v1(), builder().build_v1alpha()) else {
        return Router::new();
    };
    let v1 = v1.max_decoding_message_size(limit);
    let v1alpha = v1alpha.max_decoding_message_size(limit);
    service_routes(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET, &v1)
        .merge(service_routes(tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET, &v1alpha))
        .layer(middleware::from_fn(end_at_deadline))
}

async fn end_at_deadline(request: Request, next: Next) -> Response {
    let admitted = request.extensions().get::<Admitted>().cloned();
    let response = next.run(request).await;
    let Some(admitted) = admitted else {
        broken_invariant!("the gate admits each request for reflection");
        return response;
    };
    response.map(|body| {
        let end = tokio::time::sleep_until(admitted.deadline.end().into());
        // The stream keeps the permit.
        let frames = BodyStream::new(body).take_until(end).map(move |frame| {
            let _ = &admitted.permit;
            frame
        });
        Body::new(StreamBody::new(frames))
    })
}

/// True for the path of the gRPC method by which Envoy asks for authorization.
pub(super) fn is_envoy_path(path: &str) -> bool {
    is_method_of(path, EnvoyServer::NAME)
}

/// True for the paths of the gRPC health service.
pub(super) fn is_health_path(path: &str) -> bool {
    is_method_of(path, HealthServer::NAME)
}

/// Number of bytes that gRPC puts before each message.
pub(super) const FRAME_HEAD_BYTES: usize = 5;

/// Returns whether the client sends a stream of messages to the gRPC method at `path`. `None` if
/// `path` is not the path of a gRPC method.
pub(super) fn is_client_stream(path: &str) -> Option<bool> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    let is_rules = service == RulesServer::NAME;
    let is_reflection = service.starts_with(REFLECTION_PACKAGE);
    let is_known = is_rules || is_reflection || is_envoy_path(path) || is_health_path(path);
    is_known.then_some(is_reflection || (is_rules && method == DECIDE_STREAM_METHOD))
}

/// The prefix of the names of the reflection services. All their methods take streams.
const REFLECTION_PACKAGE: &str = "grpc.reflection.";
/// The only method of `rulec.v1` that takes a stream.
const DECIDE_STREAM_METHOD: &str = "DecideStream";

fn is_method_of(path: &str, service: &str) -> bool {
    let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(service));
    rest.is_some_and(|rest| rest.starts_with('/'))
}

fn is_grpc_request(headers: &HeaderMap) -> bool {
    matches!(media_type(headers).as_str(), "application/grpc" | "application/grpc+proto")
}

/// Converts the error of a gRPC request to a gRPC status. Errors of other requests stay HTTP
/// responses.
pub(super) async fn answer_with_status(request: Request, next: Next) -> Response {
    let is_grpc = is_grpc_request(request.headers());
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) if is_grpc => Status::from(problem).into_http(),
        _ => response,
    }
}

/// Refuses requests that are not gRPC. If a message was too large, replaces the library's error
/// with an error that names the limit.
async fn check_grpc_request(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if !is_grpc_request(request.headers()) {
        return Problem::wrong_type("send `Content-Type: application/grpc`").into_response();
    }
    let response = next.run(request).await;
    match Status::from_header_map(response.headers()) {
        Some(status) if status.code() == Code::OutOfRange => message_too_large_problem(&app).into_response(),
        _ => response,
    }
}

/// Returns the error for a message that exceeds the size limit, and counts it in the metrics. The
/// gRPC library reports only such messages as `OutOfRange`.
fn message_too_large_problem(app: &App) -> Problem {
    app.service().metrics().count_limit(LimitName::body);
    let limit = app.service().limits().max_body_bytes;
    Problem::too_large(format!("the message is over the limit of {limit} bytes; see `--max-body`"))
}

/// Splits a gRPC request into its admission data (such as its permissions) and its message.
fn split_request<T>(request: tonic::Request<T>) -> Result<(Admitted, T), Problem> {
    let admitted = request.extensions().get::<Admitted>().cloned();
    let admitted = admitted.ok_or_else(|| Problem::broken("the request was not admitted"))?;
    Ok((admitted, request.into_inner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_methods_that_take_streams_are_known() {
        for descriptors in [
            PROTO_DESCRIPTORS,
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ] {
            let descriptors = FileDescriptorSet::decode(descriptors).expect("descriptors");
            for file in &descriptors.file {
                for service in &file.service {
                    for method in &service.method {
                        let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                        assert_eq!(is_client_stream(&path), Some(method.client_streaming()), "{path}");
                    }
                }
            }
        }
        assert_eq!(is_client_stream("/v1/decide"), None);
    }

    #[test]
    fn paths_match_whole_service_names() {
        assert!(is_envoy_path("/envoy.service.auth.v3.Authorization/Check"));
        assert!(is_health_path("/grpc.health.v1.Health/Watch"));
        for other in ["/grpc.health.v1.Healthy/Check", "/grpc.health.v1.Health", "/v1/decide", ""] {
            assert!(!is_health_path(other) && !is_envoy_path(other), "{other}");
        }
    }
}
