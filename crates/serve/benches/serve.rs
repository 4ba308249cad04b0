//! Measures the requests per second of the service, and of a bare axum server that reads JSON and
//! sends it back. Both run alternately in this process, with the same clients. If the variable
//! `RULEC` has the path of the program, also compares `rulec run` with one long request that has a
//! message a line.
//!
//! `RULEC=target/release/rulec cargo bench -p rulec-serve`

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use rulec_serve::{Address, Limits, Options, RuleSource, Server, ServerSignal};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

const ROUTES: usize = 1000;
const MESSAGE_BYTES: usize = 1024;
const CONNECTIONS: usize = 16;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(2);
const LINES: usize = 200_000;

fn rules() -> String {
    let mut text = String::new();
    for number in 0..ROUTES {
        let _ = writeln!(
            text,
            "route r{number} when text contains \"word{number}x\" and ctx.count > {} -> desk(id: ctx.id)",
            number % 7
        );
    }
    text + "default -> chat\n"
}

fn message(number: usize) -> String {
    let mut message = json!({
        "text": format!("please look at word{}x today", number * 37 % (2 * ROUTES)),
        "ctx": { "count": number % 11, "id": format!("id-{number}") },
        "padding": "",
    });
    let padding = MESSAGE_BYTES.saturating_sub(message.to_string().len());
    message["padding"] = "p".repeat(padding).into();
    message.to_string()
}

fn request(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Reads one response, and removes it from `buffer`, which keeps the bytes after it.
async fn read_response(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    let mut part = [0; 16 << 10];
    loop {
        let head_end = buffer.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(head_end) = head_end {
            let head = String::from_utf8_lossy(&buffer[..head_end]).to_ascii_lowercase();
            assert!(head.starts_with("http/1.1 200"), "{head}");
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            let length: usize = length.and_then(|length| length.parse().ok()).expect("a length");
            let end = head_end + 4 + length;
            if buffer.len() >= end {
                buffer.drain(..end);
                return Ok(());
            }
        }
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        buffer.extend_from_slice(&part[..count]);
    }
}

/// Sends requests for the time [`ROUND`], and returns the number of answers per second.
async fn measure(address: SocketAddr, requests: &Arc<Vec<Vec<u8>>>) -> f64 {
    let (answered, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let start = Instant::now();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|client| {
            let (requests, answered, is_over) = (requests.clone(), answered.clone(), is_over.clone());
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.expect("a connection");
                stream.set_nodelay(true).expect("it is open");
                let mut buffer = Vec::new();
                for number in (client..).step_by(CONNECTIONS) {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    stream.write_all(&requests[number % requests.len()]).await.expect("it is read");
                    read_response(&mut stream, &mut buffer).await.expect("an answer");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    tokio::time::sleep(ROUND).await;
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("a client");
    }
    answered.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

async fn echo(body: Bytes) -> Result<String, axum::http::StatusCode> {
    let json: Json = serde_json::from_slice(&body).map_err(|_| axum::http::StatusCode::BAD_REQUEST)?;
    Ok(json.to_string())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Sends `lines` to the service as one stream, and returns the number of answered lines per second.
async fn measure_stream(address: SocketAddr, lines: &str) -> f64 {
    let start = Instant::now();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "POST /v1/batch HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
        lines.len()
    );
    let (mut reader, mut writer) = stream.split();
    let mut answer = Vec::new();
    let write = async {
        writer.write_all(head.as_bytes()).await?;
        writer.write_all(lines.as_bytes()).await
    };
    let (written, read) = tokio::join!(write, reader.read_to_end(&mut answer));
    written.expect("it is read");
    read.expect("an answer");
    let count = answer.windows(8).filter(|window| window == b"{\"line\":").count();
    assert_eq!(count, LINES);
    LINES as f64 / start.elapsed().as_secs_f64()
}

/// Runs `rulec run` on the file `lines`, and returns the number of its lines per second.
fn measure_run(program: &str, rules: &std::path::Path, lines: &std::path::Path) -> f64 {
    let start = Instant::now();
    let status = Command::new(program)
        .arg("run")
        .args([rules, lines])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("the program runs").success());
    LINES as f64 / start.elapsed().as_secs_f64()
}

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bench.rules");
    std::fs::write(&path, rules()).expect("it can be written");
    let server = Server::bind(Options {
        rules: vec![RuleSource::from_file("bench", &path)],
        folders: None,
        trusted_keys: Vec::new(),
        address: Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        limits: Limits::default(),
        token_file: None,
        certificate_and_key_files: None,
        allowed_origins: Vec::new(),
        further_allowed_hosts: Vec::new(),
        allows_open_access: false,
        #[cfg(feature = "studio")]
        serves_studio: false,
        #[cfg(feature = "remote")]
        otlp: None,
        log: None,
        open_history: None,
        events: Arc::new(|_| {}),
    });
    let server = server.await.expect("it starts");
    let service = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port().expect("a port")));
    let (stop, signals) = mpsc::channel(1);
    let ended = tokio::spawn(server.run(signals));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let bare = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(echo))).await });

    let messages: Vec<String> = (0..4096).map(message).collect();
    let requests_to = |path: &str, wrap: fn(&str) -> String| {
        Arc::new(messages.iter().map(|message| request(path, &wrap(message))).collect::<Vec<_>>())
    };
    let decisions = requests_to("/v1/decide", |message| format!("{{\"message\":{message}}}"));
    let echoes = requests_to("/", str::to_owned);
    let (mut decided, mut echoed, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (one, other) = (measure(service, &decisions).await, measure(bare, &echoes).await);
        decided.push(one);
        echoed.push(other);
        ratios.push(one / other);
    }
    println!("decide: {:.0} requests a second ({ROUTES} routes, {MESSAGE_BYTES} bytes)", median(decided));
    println!("echo:   {:.0} requests a second", median(echoed));
    println!("ratio:  {:.2} (median of {ROUNDS} rounds)", median(ratios));

    let lines: String = (0..LINES).map(|number| message(number) + "\n").collect();
    let file = folder.path().join("messages.jsonl");
    std::fs::write(&file, &lines).expect("it can be written");
    let mut streamed = Vec::new();
    let mut run = Vec::new();
    let program = std::env::var("RULEC").ok();
    for _ in 0..3 {
        streamed.push(measure_stream(service, &lines).await);
        run.extend(program.as_deref().map(|program| measure_run(program, &path, &file)));
    }
    let streamed = median(streamed);
    println!("stream: {streamed:.0} lines a second");
    if !run.is_empty() {
        let run = median(run);
        println!("run:    {run:.0} lines a second; ratio {:.2}", streamed / run);
    }
    stop.send(ServerSignal::Drain).await.expect("it runs");
    ended.await.expect("it ends");
}
