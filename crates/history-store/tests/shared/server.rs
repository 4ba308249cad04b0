//! A Redis server for tests, which each test starts for itself. Tests of the program use this file
//! too.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A Redis server on a port of its own, which keeps each acknowledged change on disk.
pub struct Server {
    process: Child,
    folder: TempDir,
    pub port: u16,
    options: Vec<String>,
}

impl Server {
    /// Starts a server with `options` as additional options of `redis-server`.
    pub fn with(options: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let process = launch(folder.path(), port, &options);
        Server { process, folder, port, options }
    }

    /// Kills the server, so that it cannot write its data before it ends.
    pub fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// Starts the server again, with the files that it has left.
    pub fn restart(&mut self) {
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
