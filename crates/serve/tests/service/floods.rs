//! Floods of HTTP/2 frames from hostile clients. The service answers other clients during an
//! attack, and its memory stays bounded. It runs in a process of its own, whose memory the test
//! reads.

use super::{RULES, start};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The environment variable that makes the test run the service that it attacks.
const CHILD: &str = "RULEC_TEST_FLOODED";

/// Number of frames in a flood.
const FRAMES: u32 = 20_000;
/// Maximum number of bytes by which the memory of the service may grow.
const MAX_GROWTH: u64 = 96 << 20;

/// The bytes that an HTTP/2 client sends first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
// Flags of `HEADERS`.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// Returns the header block of a request to `path`, in HPACK (RFC 7541): entries of the static
/// table, and literals.
fn request(is_post: bool, path: &str) -> Vec<u8> {
    let mut block = vec![if is_post { 0x83 } else { 0x82 }, 0x86];
    for (name, value) in [(0x04, path), (0x01, "localhost")] {
        block.extend([name, u8::try_from(value.len()).expect("a short value")]);
        block.extend(value.as_bytes());
    }
    block
}

/// A kind of flood: returns the frames of the flood's part `number`, from 0.
type Flood = fn(number: u32) -> Vec<u8>;

const FLOODS: [(&str, Flood); 6] = [
    ("rapid reset", |number| {
        let stream = 2 * number + 1;
        let opened = frame(HEADERS, END_STREAM | END_HEADERS, stream, &request(false, "/v1/rules"));
        let cancel = 8_u32.to_be_bytes();
        [opened, frame(RST_STREAM, 0, stream, &cancel)].concat()
    }),
    ("settings", |_| frame(SETTINGS, 0, 0, &[])),
    ("ping", |number| frame(PING, 0, 0, &u64::from(number).to_be_bytes())),
    ("continuation", |number| match number {
        0 => frame(HEADERS, END_STREAM, 1, &request(false, "/v1/rules")),
        // A literal header `x: y…`, without indexing.
        _ => frame(CONTINUATION, 0, 1, &[&[0, 1, b'x', 100][..], &[b'y'; 100]].concat()),
    }),
    ("empty data", |number| match number {
        0 => frame(HEADERS, END_HEADERS, 1, &request(true, "/v1/decide")),
        _ => frame(DATA, 0, 1, &[]),
    }),
    ("open streams", |number| frame(HEADERS, END_HEADERS, 2 * number + 1, &request(true, "/v1/decide"))),
];

/// Sends a flood, until it ends or the service closes the connection. If `reads` is false, never
/// reads the answers, so the service cannot send them.
async fn attack(address: String, flood: Flood, reads: bool) {
    let stream = TcpStream::connect(&address).await.expect("a connection");
    let (mut input, mut output) = stream.into_split();
    let reader = tokio::spawn(async move {
        let mut bytes = vec![0; 16 << 10];
        while reads && input.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
        if !reads {
            std::future::pending::<()>().await;
        }
    });
    let start = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    let mut is_open = output.write_all(&start).await.is_ok();
    for first in (0..FRAMES).step_by(100) {
        let part: Vec<u8> = (first..first + 100).flat_map(flood).collect();
        is_open = is_open && output.write_all(&part).await.is_ok();
    }
    reader.abort();
}

/// A service in a process of its own, which is killed when this value is dropped.
struct Flooded {
    child: Child,
    address: String,
}

impl Flooded {
    fn start() -> Flooded {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(["--exact", "floods::floods_of_http_2_deny_nothing", "--nocapture"])
            .env(CHILD, "yes")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let address =
            output.lines().find_map(|line| line.ok()?.split("listens http://").nth(1).map(str::to_owned));
        Flooded { child, address: address.expect("it listens") }
    }

    /// Returns the largest number of bytes that the process has had in memory; `None` if the
    /// operating system does not report it.
    fn peak_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
    }
}

impl Drop for Flooded {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_http_2_deny_nothing() {
    if std::env::var_os(CHILD).is_some() {
        let service = start(RULES).await;
        println!("listens {}", service.url);
        return std::future::pending().await;
    }
    let service = Flooded::start();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let decide = || async {
        let request = client.post(format!("http://{}/v1/decide", service.address));
        let request = request.header("content-type", "application/json");
        let response = request.body(r#"{"message": {"text": "refund"}}"#).send().await.expect("an answer");
        assert_eq!(response.status().as_u16(), 200, "{:?}", response.text().await);
    };
    decide().await;
    let before = service.peak_bytes();
    for (name, flood) in FLOODS {
        let deaf = tokio::spawn(attack(service.address.clone(), flood, false));
        let attacks: Vec<_> =
            (0..4).map(|_| tokio::spawn(attack(service.address.clone(), flood, true))).collect();
        for _ in 0..20 {
            decide().await;
        }
        for attack in attacks {
            attack.await.expect("no attack panics");
        }
        decide().await;
        deaf.abort();
        if let (Some(before), Some(after)) = (before, service.peak_bytes()) {
            let growth = after.saturating_sub(before);
            assert!(growth < MAX_GROWTH, "{name}: the memory grew by {} MiB", growth >> 20);
        }
    }
}
