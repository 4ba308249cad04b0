//! Accepts connections, at most the limit `connections` at the same time. If all slots are in use, a
//! new client gets the slot of a client that has no open request. So clients that open connections
//! and send nothing do not keep others from being served.

use super::Listener;
use super::activity::ConnectionActivity;
use super::connection::Connection;
use super::tls::TlsFiles;
use crate::doors::app::App;
use crate::limits::LimitName;
use axum::Router;
use rulec_base::broken_invariant;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Pause after an error while accepting a connection, for example because all file descriptors are
/// in use.
const PAUSE_AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(100);
/// Time between two searches for a connection that can be closed, while every connection has an
/// open request.
const PAUSE_BETWEEN_SEARCHES: Duration = Duration::from_millis(20);

/// Accepts connections. Each new [`Connection`] gets a copy of the router, the app and the stop
/// signal.
pub(super) struct ConnectionAcceptor {
    router: Router,
    app: Arc<App>,
    open: Arc<OpenConnections>,
    stopping: watch::Receiver<bool>,
}

/// The open connections of the service, and the slots for further ones.
struct OpenConnections {
    free_slots: Arc<Semaphore>,
    by_number: Mutex<HashMap<u64, Arc<ConnectionActivity>>>,
}

/// The slot of an open connection. Another connection may use the slot after this value is dropped.
pub(super) struct ConnectionSlot {
    open: Arc<OpenConnections>,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.lock().remove(&self.number);
    }
}

impl OpenConnections {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<ConnectionActivity>>> {
        self.by_number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection that [`ConnectionActivity::closing_order`] puts first. Does nothing if
    /// every connection has an open request.
    fn close_one(&self) {
        let connections = self.lock();
        let ordered = connections.values().filter_map(|activity| Some((activity.closing_order()?, activity)));
        if let Some((_, first)) = ordered.min_by_key(|(order, _)| *order) {
            first.request_close();
        }
    }

    /// Waits for a slot. While no slot is free, closes connections without an open request.
    async fn wait_for_slot(&self) -> OwnedSemaphorePermit {
        loop {
            self.close_one();
            let permit = self.free_slots.clone().acquire_owned();
            match tokio::time::timeout(PAUSE_BETWEEN_SEARCHES, permit).await {
                Ok(Ok(permit)) => return permit,
                Ok(Err(_)) => broken_invariant!("the semaphore of connections is never closed"),
                Err(_) => {}
            }
        }
    }
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
        let slots = app.service().limits().max_connections.clamp(1, Semaphore::MAX_PERMITS);
        let open =
            OpenConnections { free_slots: Arc::new(Semaphore::new(slots)), by_number: Mutex::default() };
        ConnectionAcceptor { router, app, open: Arc::new(open), stopping }
    }

    /// Accepts connections forever, and serves each in a new task.
    pub async fn accept_all(&self, listener: &Listener, tls: Option<&TlsFiles>) -> Infallible {
        let mut number = 0;
        loop {
            let accepted = match listener {
                Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
                Listener::Unix(listener, _) => {
                    listener.accept().await.map(|(stream, _)| Stream::Unix(stream))
                }
            };
            match accepted {
                Ok(stream) => {
                    number += 1;
                    let connection = self.open_connection(number).await;
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

    /// Returns the state of the connection with this number, as soon as it has a slot.
    async fn open_connection(&self, number: u64) -> Connection {
        let permit = match self.open.free_slots.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                self.app.service().metrics().count_limit(LimitName::connections);
                self.open.wait_for_slot().await
            }
        };
        let activity = ConnectionActivity::new();
        self.open.lock().insert(number, activity.clone());
        Connection {
            router: self.router.clone(),
            app: self.app.clone(),
            stopping: self.stopping.clone(),
            activity,
            _slot: ConnectionSlot { open: self.open.clone(), number, _permit: permit },
        }
    }
}
