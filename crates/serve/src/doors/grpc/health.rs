//! The gRPC service `grpc.health.v1.Health`, which load balancers ask whether the service is ready.
//! It is the gRPC counterpart of `/readyz`.

use super::{EnvoyServer, RulesServer};
use crate::doors::app::App;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use std::sync::Arc;
use tokio::sync::watch;
use tonic::server::NamedService;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_server};

pub(super) struct HealthService(pub Arc<App>);

/// True if `service` is the name of a gRPC service whose health a client may ask for. The empty
/// name means all services.
fn is_known_service(service: &str) -> bool {
    ["", RulesServer::NAME, EnvoyServer::NAME].contains(&service)
}

fn health_response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

/// Returns a stream with the current health of a service; if `is_known` is false, the health is
/// "unknown service". When the server stops, a healthy service is reported as not serving, and the
/// stream ends. So no open stream delays the shutdown.
fn stream_health_states(
    is_known: bool,
    stopping: watch::Receiver<bool>,
) -> BoxStream<'static, HealthCheckResponse> {
    let now = match (is_known, *stopping.borrow()) {
        (false, _) => ServingStatus::ServiceUnknown,
        (true, false) => ServingStatus::Serving,
        (true, true) => ServingStatus::NotServing,
    };
    let end = stream::once(async move {
        let mut stopping = stopping;
        // An error means that the sender is dropped: the server has stopped.
        let _ = stopping.wait_for(|is_stopping| *is_stopping).await;
        (now == ServingStatus::Serving).then_some(ServingStatus::NotServing)
    });
    let end = end.filter_map(std::future::ready);
    stream::iter([now]).chain(end).map(health_response).boxed()
}

#[tonic::async_trait]
impl health_server::Health for HealthService {
    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        match (is_known_service(&service), self.0.service().is_ready()) {
            (false, _) => Err(Status::not_found(format!("there is no service `{service}`"))),
            (true, true) => Ok(Response::new(health_response(ServingStatus::Serving))),
            (true, false) => Ok(Response::new(health_response(ServingStatus::NotServing))),
        }
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let is_known = is_known_service(&request.into_inner().service);
        let states = stream_health_states(is_known, self.0.service().stopping());
        Ok(Response::new(states.map(Ok).boxed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all_states(is_known: bool, stopping: watch::Receiver<bool>) -> Vec<ServingStatus> {
        stream_health_states(is_known, stopping).map(|state| state.status()).collect().await
    }

    #[tokio::test]
    async fn a_watch_ends_with_the_service() {
        let stop = watch::Sender::new(false);
        let watched = all_states(true, stop.subscribe());
        let (watched, ()) = tokio::join!(watched, async { stop.send(true).expect("it is watched") });
        assert_eq!(watched, [ServingStatus::Serving, ServingStatus::NotServing]);
        assert_eq!(all_states(true, stop.subscribe()).await, [ServingStatus::NotServing]);
        assert_eq!(all_states(false, stop.subscribe()).await, [ServingStatus::ServiceUnknown]);
    }
}
