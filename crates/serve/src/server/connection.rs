//! Serves one connection: HTTP/1 or HTTP/2, with limits, until it is closed.

use super::slots::ConnectionSlot;
use crate::doors::app::App;
use crate::limits::{LimitName, MAX_HEAD_BYTES, MAX_STREAMS_PER_CONNECTION};
use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::Accept;

/// An accepted connection, and the state that its requests share.
pub(super) struct Connection {
    pub router: Router,
    pub app: Arc<App>,
    /// The receiver of a value that becomes true when the service stops.
    pub stopping: watch::Receiver<bool>,
    pub slot: ConnectionSlot,
}

impl Connection {
    /// Serves requests until the client disconnects or the service stops. Closes the connection of
    /// an idle client.
    pub async fn serve(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let limits = *self.app.service().limits();
        let builder = connection_builder(limits.head_time);
        let activity = self.slot.activity().clone();
        let (router, requests) = (TowerToHyperService::new(self.router), activity.clone());
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let open = requests.begin_request();
            let answer = router.call(request);
            async move { Ok::<_, Infallible>(answer.await?.map(|body| open.watch_body(body))) }
        });
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut is_closing = false;
        loop {
            let pause = match is_closing {
                true => limits.head_time,
                // While the service works on a request, the client cannot be idle. So its idle time
                // is checked again later.
                false => activity.limit_and_time_left(&limits).map_or(limits.write_time, |(_, left)| left),
            };
            tokio::select! {
                // An error ends only this connection: its client has disconnected, or did not send
                // HTTP.
                ended = &mut connection => {
                    if let Some(limit) = ended.err().and_then(|error| exceeded_limit(&*error)) {
                        self.app.service().metrics().count_limit(limit);
                    }
                    return;
                }
                () = activity.wait_for_close_request() => return,
                Ok(()) = self.stopping.changed() => connection.as_mut().graceful_shutdown(),
                () = tokio::time::sleep(pause) => {
                    if is_closing {
                        return;
                    }
                    if let Some((limit, left)) = activity.limit_and_time_left(&limits)
                        && left.is_zero()
                    {
                        self.app.service().metrics().count_limit(limit);
                        if activity.has_open_request() {
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
        let activity = self.slot.activity().clone();
        let handshake = tokio::select! {
            handshake = tokio::time::timeout(limit, handshake) => handshake,
            () = activity.wait_for_close_request() => return,
        };
        match handshake {
            Ok(Ok(stream)) => self.serve(stream).await,
            // The client does not speak TLS, or does not trust the certificate.
            Ok(Err(_)) => {}
            Err(_) => self.app.service().metrics().count_limit(LimitName::head_time),
        }
    }
}

/// Returns the limit that the client exceeded, so that the HTTP library ended the connection.
/// `None` if the error has another cause.
fn exceeded_limit(error: &(dyn Error + Send + Sync + 'static)) -> Option<LimitName> {
    let error = error.downcast_ref::<hyper::Error>()?;
    match () {
        () if error.is_parse_too_large() => Some(LimitName::head),
        () if error.is_timeout() => Some(LimitName::head_time),
        () => None,
    }
}

fn connection_builder(head_time: Duration) -> auto::Builder<TokioExecutor> {
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
        .max_concurrent_streams(MAX_STREAMS_PER_CONNECTION)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .keep_alive_interval(head_time)
        .keep_alive_timeout(head_time);
    builder
}
