//! The connections to a Redis server. They are reused, and a request is sent again if its
//! connection breaks.

use redis::{Client, Connection, ConnectionLike, ErrorKind, RedisError, RedisResult, ServerErrorKind};
use rulec::history::StoreError;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The maximum time to connect, to send a request, and to wait for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time for which a request is sent again after its connection has failed.
const MAX_RESEND_TIME: Duration = Duration::from_secs(4);
/// The pause before a request is sent again. It doubles each time.
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of connections that stay open without a request.
const MAX_IDLE_CONNECTIONS: usize = 64;

/// A Redis server, and the open connections that wait for their next request.
pub(super) struct RedisServer {
    client: Client,
    idle_connections: Mutex<Vec<Connection>>,
    /// The address of the server without the password, for error messages.
    shown_address: String,
}

/// Why a request that changes data has failed, and whether the server may have carried it out.
pub(super) enum WriteFailure {
    /// The server has not carried out the request: it answered with an error, or the request did
    /// not reach it.
    NotDone(StoreError),
    /// The connection failed after the request was sent, so the server may have carried out the
    /// request.
    Unknown(StoreError),
}

impl From<WriteFailure> for StoreError {
    fn from(failure: WriteFailure) -> StoreError {
        match failure {
            WriteFailure::NotDone(error) | WriteFailure::Unknown(error) => error,
        }
    }
}

impl RedisServer {
    pub fn new(client: Client, place: String) -> RedisServer {
        RedisServer { client, idle_connections: Mutex::default(), shown_address: place }
    }

    /// Returns the address without the password.
    pub fn shown_address(&self) -> &str {
        &self.shown_address
    }

    /// Sends a request that may reach the server twice without harm, such as a read. If an idle
    /// connection has failed in the meantime, sends the request again over a new one. While the
    /// server is starting, waits and sends the request again.
    pub fn read_with_retry<T>(
        &self,
        request: impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let end = Instant::now() + MAX_RESEND_TIME;
        let mut pause = FIRST_RETRY_PAUSE;
        loop {
            let result = match self.take_idle_connection() {
                Some(idle) => self.send(idle, &request),
                None => Err(io::Error::from(io::ErrorKind::NotConnected).into()),
            };
            let result = match result {
                Err(error) if is_connection_lost(&error) => {
                    self.connect().and_then(|connection| self.send(connection, &request))
                }
                result => result,
            };
            match result {
                Err(error) if is_starting(&error) && Instant::now() + pause < end => {
                    std::thread::sleep(pause);
                    pause *= 2;
                }
                result => return result.map_err(|error| self.to_store_error(&error)),
            }
        }
    }

    /// Sends a request that the server carries out at most once, even if it receives the request
    /// several times. If the connection fails, sends the request again for some seconds. The bool
    /// that `request` receives is true if an earlier attempt may have reached the server.
    pub fn write_with_retry<T>(
        &self,
        request: impl Fn(&mut Connection, bool) -> RedisResult<T>,
    ) -> Result<T, WriteFailure> {
        let end = Instant::now() + MAX_RESEND_TIME;
        let mut was_sent = false;
        let mut pause = FIRST_RETRY_PAUSE;
        loop {
            let connection = match self.take_idle_connection() {
                Some(idle) => Ok(idle),
                None => self.connect(),
            };
            let error = match connection {
                Ok(connection) => {
                    let result = self.send(connection, &|connection: &mut _| request(connection, was_sent));
                    match result {
                        Ok(answer) => return Ok(answer),
                        Err(error) if !is_connection_lost(&error) && !is_starting(&error) && !was_sent => {
                            return Err(WriteFailure::NotDone(self.to_store_error(&error)));
                        }
                        Err(error) => {
                            was_sent |= is_connection_lost(&error);
                            error
                        }
                    }
                }
                Err(error) if !was_sent => return Err(WriteFailure::NotDone(self.to_store_error(&error))),
                Err(error) => error,
            };
            if Instant::now() + pause > end {
                let error = self.to_store_error(&error);
                return Err(if was_sent {
                    WriteFailure::Unknown(error)
                } else {
                    WriteFailure::NotDone(error)
                });
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
    }

    /// Sends a request over a connection. Keeps the connection open for later requests, unless it
    /// has failed.
    fn send<T>(
        &self,
        mut connection: Connection,
        request: &impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let result = request(&mut connection);
        if result.as_ref().is_err_and(is_connection_lost) {
            // The idle connections were probably lost for the same reason.
            self.idle_connections.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        if result.as_ref().err().is_none_or(|error| !is_connection_lost(error)) && connection.is_open() {
            let mut idle = self.idle_connections.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MAX_IDLE_CONNECTIONS {
                idle.push(connection);
            }
        }
        result
    }

    fn take_idle_connection(&self) -> Option<Connection> {
        self.idle_connections.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn connect(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(ANSWER_TIMEOUT)?;
        connection.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        connection.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(connection)
    }

    /// Converts an error of the Redis library to a message with the address of the server and, if
    /// one is known, a remedy.
    fn to_store_error(&self, error: &RedisError) -> StoreError {
        let place = &self.shown_address;
        StoreError(match error.code() {
            _ if error.is_connection_refusal() => {
                format!(
                    "{place}: no server answers at this address; start the server, or correct the address"
                )
            }
            _ if error.is_timeout() => {
                format!("{place}: the server has not answered within {} seconds", ANSWER_TIMEOUT.as_secs())
            }
            _ if error.kind() == ErrorKind::AuthenticationFailed => {
                format!("{place}: the server refuses the user or the password; correct them in the address")
            }
            Some("NOAUTH") => {
                format!("{place}: the server needs a password: write redis://:PASSWORD@HOST:PORT")
            }
            Some("MOVED" | "ASK" | "CLUSTERDOWN" | "CROSSSLOT") => {
                format!("{place}: the server is part of a cluster, which is not supported; use one server")
            }
            Some("READONLY") => {
                format!(
                    "{place}: the server is a replica, which cannot record; use the address of its primary"
                )
            }
            Some("OOM") => {
                format!(
                    "{place}: the server has no memory left; raise its `maxmemory`, or compact the history"
                )
            }
            _ => format!("{place}: {error}"),
        })
    }
}

/// True if a request has failed because its connection broke. The server may then have carried out
/// the request.
fn is_connection_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.kind() == ErrorKind::Parse
}

/// True if the server refuses requests because it has just started and still loads its data.
fn is_starting(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::BusyLoading)
}
