//! Tests of the shared store against a Redis server, which each test starts for itself. The script
//! `test` of this package installs the server.

mod partition;
mod store;

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A Redis server on a port of its own, which keeps each acknowledged change on disk.
struct Server {
    process: Child,
    folder: TempDir,
    port: u16,
    options: Vec<String>,
}

impl Server {
    fn start() -> Server {
        Server::with(&[])
    }

    /// Starts a server with more options of `redis-server`.
    fn with(options: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let process = launch(folder.path(), port, &options);
        Server { process, folder, port, options }
    }

    /// Returns the address of the history `shop` at this server.
    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0#shop", self.port)
    }

    /// Kills the server without a chance to write anything.
    fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// Starts the server again, with the files that it has left.
    fn restart(&mut self) {
        self.process = launch(self.folder.path(), self.port, &self.options);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn launch(folder: &Path, port: u16, options: &[String]) -> Child {
    let process = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
        .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
        .arg(folder)
        .args(options)
        .stdout(Stdio::null())
        .spawn()
        .expect("`redis-server` starts; crates/history-store/test installs it");
    let end = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "the server does not listen");
        std::thread::sleep(Duration::from_millis(10));
    }
    process
}
