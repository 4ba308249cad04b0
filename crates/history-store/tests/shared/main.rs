//! Tests of the shared store against a Redis server, which each test starts for itself. The script
//! `test` of this package installs the server.

mod partition;
mod server;
mod store;

use server::Server;

impl Server {
    fn start() -> Server {
        Server::with(&[])
    }

    /// Returns the address of the history `shop` at this server.
    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0#shop", self.port)
    }
}
