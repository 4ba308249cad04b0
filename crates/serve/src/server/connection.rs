//! Serves one connection: HTTP/1 or HTTP/2, with limits, until it is closed.

use super::activity::Activity;
use crate::doors::app::App;
use crate::metrics::LimitName;
use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_rustls::Accept;

/// Maximum number of requests that may be open at the same time on one HTTP/2 connection.
const MAX_STREAMS: u32 = 128;
/// Maximum number of bytes of the request line and headers of a request.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// An accepted connection, and the state that its requests share.
pub(super) struct Connection {
    pub router: Router,
    pub app: Arc<App>,
    /// Becomes true when the service stops.
    pub stopping: watch::Receiver<bool>,
    pub _permit: OwnedSemaphorePermit,
}

impl Connection {
    /// Serves requests until the client disconnects or the service stops. Closes the connection of
    /// an idle client.
    pub async fn serve(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let limits = *self.app.service().limits();
        let builder = builder(limits.head_time);
        let activity = Activity::new();
        let (router, requests) = (TowerToHyperService::new(self.router), activity.clone());
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let open = requests.begin();
            let answer = router.call(request);
            async move { Ok::<_, Infallible>(answer.await?.map(|body| open.watch(body))) }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut is_closing = false;
        loop {
            let pause = match is_closing {
                true => limits.head_time,
                // While the service works on a request, the client cannot be idle. So its idle time
                // is checked again later.
                false => activity.time_left(&limits).unwrap_or(limits.write_time),
            };
            tokio::select! {
                // An error ends only this connection: its client has disconnected, or did not send
                // HTTP.
                _ = &mut connection => return,
                Ok(()) = self.stopping.changed() => connection.as_mut().graceful_shutdown(),
                () = tokio::time::sleep(pause) => {
                    let is_late = activity.time_left(&limits).is_some_and(|left| left.is_zero());
                    if is_closing {
                        return;
                    }
                    if is_late {
                        self.app.service().metrics().count_limit(LimitName::idle);
                        if activity.has_open() {
                            return;
                        }
                        // Closes the connection gracefully, because the client may be sending a
                        // request at this moment. That request is still answered.
                        connection.as_mut().graceful_shutdown();
                        is_closing = true;
                    }
                }
            }
        }
    }

    /// Completes the TLS handshake, at most for the limit `head_time`, and serves requests over
    /// TLS.
    pub async fn serve_tls(self, handshake: Accept<TcpStream>) {
        let limit = self.app.service().limits().head_time;
        if let Ok(Ok(stream)) = tokio::time::timeout(limit, handshake).await {
            self.serve(stream).await;
        }
    }
}

fn builder(head_time: Duration) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        // Some clients close their sending side after the request. They still get their answer.
        .half_close(true)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .keep_alive_interval(head_time)
        .keep_alive_timeout(head_time);
    builder
}
