//! Accepts connections, and serves each in a task of its own.

use super::Listener;
use super::connection::Connection;
use super::slots::ConnectionSlots;
use super::tls::TlsFiles;
use crate::doors::app::App;
use crate::limits::LimitName;
use axum::Router;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;

/// Pause after an error while accepting a connection, for example because all file descriptors are
/// in use.
const PAUSE_AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(100);

/// Accepts connections. Each new [`Connection`] gets a copy of the router, the app and the stop
/// signal.
pub(super) struct ConnectionAcceptor {
    router: Router,
    app: Arc<App>,
    slots: Arc<ConnectionSlots>,
    stopping: watch::Receiver<bool>,
}

/// A stream of bytes to and from a client.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Turns off Nagle's algorithm, so that a small answer is sent at once.
fn without_delay(stream: TcpStream) -> TcpStream {
    // An error means that the client has disconnected, which the next read finds too.
    let _ = stream.set_nodelay(true);
    stream
}

impl ConnectionAcceptor {
    pub fn new(router: Router, app: Arc<App>, stopping: watch::Receiver<bool>) -> ConnectionAcceptor {
        // At least one slot, so that the service can answer at all.
        let slots = ConnectionSlots::new(app.service().limits().max_connections.max(1));
        ConnectionAcceptor { router, app, slots, stopping }
    }

    /// Accepts connections forever, and serves each in a new task.
    pub async fn accept_all(&self, listener: &Listener, tls: Option<&TlsFiles>) -> Infallible {
        loop {
            let accepted = match listener {
                Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
                Listener::Unix(listener, _) => {
                    listener.accept().await.map(|(stream, _)| Stream::Unix(stream))
                }
            };
            match accepted {
                Ok(stream) => {
                    let connection = self.open_connection().await;
                    drop(match (stream, tls) {
                        (Stream::Tcp(stream), Some(tls)) => {
                            tokio::spawn(connection.serve_tls(tls.accept(without_delay(stream))))
                        }
                        (Stream::Tcp(stream), None) => tokio::spawn(connection.serve(without_delay(stream))),
                        (Stream::Unix(stream), _) => tokio::spawn(connection.serve(stream)),
                    });
                }
                // The client has already disconnected.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => tokio::time::sleep(PAUSE_AFTER_ACCEPT_ERROR).await,
            }
        }
    }

    /// Returns the state of a new connection, as soon as it has a slot.
    async fn open_connection(&self) -> Connection {
        let metrics = self.app.service().metrics();
        Connection {
            router: self.router.clone(),
            app: self.app.clone(),
            stopping: self.stopping.clone(),
            slot: self.slots.take(|| metrics.count_limit(LimitName::connections)).await,
        }
    }
}
