//! Measures the requests a second of engines over HTTP. Each engine is a handler of the same axum
//! server, next to a handler that only reads JSON and sends it back.

use crate::engines::cel::Cel;
use crate::engines::lines;
#[cfg(feature = "regorus")]
use crate::engines::regorus::Regorus;
use crate::engines::rulec::compile_text;
use crate::engines::zen::Zen;
use crate::report::{Section, thousands};
use crate::workload::route::CHANNEL;
use crate::workload::{Comparison, Message, Number, Route, Term, Words};
use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use client::{Throughput, request, throughput};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

#[path = "../../../crates/serve/benches/serve/client.rs"]
#[allow(dead_code, reason = "the benchmark of the service uses the rest")]
mod client;

const MESSAGES: usize = 512;
const MESSAGE_BYTES: usize = 1024;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);
/// Maximum time for checking the answers of one engine.
const MAX_CHECK_TIME: Duration = Duration::from_secs(2);

/// Answers a message, given as JSON text, with JSON text.
type Decide = Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Returns routes that test the text for a word, and compare a number.
fn routes(count: usize) -> Vec<Route> {
    let route = |number: usize| Route {
        rank: number as u32,
        priority: 0,
        terms: vec![
            Term::Contains { words: vec![format!("word{number}x")], joined: Words::All, fold: false },
            Term::Compare(Number::MessageCount, Comparison::AtLeast, (number % 7 + 1) as f64),
        ],
    };
    (0..count).map(route).collect()
}

/// Returns the JSON text of a message, and the rank of the route that matches it. About half of the
/// messages contain the word of a route.
fn message(number: usize, routes: usize) -> (String, Option<usize>) {
    let (word, count) = (number * 37 % (2 * routes), number % 11);
    let mut message = Message::of_text(format!("please look at word{word}x today"));
    message.numbers[Number::MessageCount as usize] = count as f64;
    message.strings[CHANNEL] = "web".to_owned();
    let mut json = message.json();
    let padding = MESSAGE_BYTES.saturating_sub(json.to_string().len() + ",\"padding\":\"\"".len());
    json["padding"] = "p".repeat(padding).into();
    (json.to_string(), (word < routes && count > word % 7).then_some(word))
}

/// Returns the answer of an engine that yields the rank of a route.
fn write_rank(rank: Option<u32>) -> Vec<u8> {
    match rank {
        Some(rank) => format!("{{\"chosen\":\"r{rank}\"}}").into_bytes(),
        None => b"{\"chosen\":null}".to_vec(),
    }
}

/// Returns the engines with their names. The first one does not decide, and only sends back the
/// message.
fn engines(routes: &[Route]) -> Result<Vec<(&'static str, Decide)>, String> {
    let echo = |message: &[u8]| {
        let json: serde_json::Value = serde_json::from_slice(message).unwrap_or_default();
        json.to_string().into_bytes()
    };
    let mut source: String = routes.iter().map(|route| format!("{route}\n")).collect();
    source.push_str("default -> nobody\n");
    let (rules, cel, zen) = (compile_text(&source)?, Cel::new(routes)?, Zen::new(routes)?);
    let decide_by_rules = move |message: &[u8]| {
        let mut answer = b"{".to_vec();
        if let Ok(decision) = rules.decide_line(message) {
            decision.write_json_fields(&mut answer);
        }
        answer.push(b'}');
        answer
    };
    let decide_by_cel =
        move |message: &[u8]| write_rank(lines::parse(message).and_then(|message| cel.decide(&message)));
    let decide_by_zen =
        move |message: &[u8]| write_rank(lines::parse(message).and_then(|message| zen.decide(&message)));
    let mut engines: Vec<(&'static str, Decide)> = vec![
        ("echo", Box::new(echo)),
        ("rulec", Box::new(decide_by_rules)),
        ("cel", Box::new(decide_by_cel)),
        ("zen", Box::new(decide_by_zen)),
    ];
    #[cfg(feature = "regorus")]
    {
        let regorus = Regorus::new(routes)?;
        engines.push(("regorus", Box::new(move |message: &[u8]| write_rank(regorus.decide(message)))));
    }
    Ok(engines)
}

/// Compares the answers of an engine with the expected ranks, as many as [`MAX_CHECK_TIME`] allows.
///
/// # Errors
/// If an answer names another route.
fn check(name: &str, decide: &Decide, messages: &[(String, Option<usize>)]) -> Result<(), String> {
    let start = Instant::now();
    for (message, rank) in messages {
        let answer = String::from_utf8_lossy(&decide(message.as_bytes())).into_owned();
        let is_right = match rank {
            Some(rank) => answer.contains(&format!("\"chosen\":\"r{rank}\"")),
            None => !answer.contains("\"chosen\":\"r"),
        };
        if !is_right {
            return Err(format!("`{name}` answers {answer} instead of {rank:?} for\n  {message}"));
        }
        if start.elapsed() > MAX_CHECK_TIME {
            break;
        }
    }
    Ok(())
}

/// Starts a server whose only handler answers with `decide`.
fn serve(runtime: &Runtime, decide: Decide) -> std::io::Result<SocketAddr> {
    let decide = Arc::new(decide);
    let handler = move |body: Bytes| {
        let decide = decide.clone();
        async move { ([(CONTENT_TYPE, "application/json")], decide(&body)).into_response() }
    };
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/", post(handler));
    runtime.spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// Returns the table of requests a second, with a row for each number of rules.
///
/// # Errors
/// If an engine cannot be built, or answers wrongly.
pub fn section(sizes: &[usize]) -> Result<Section, String> {
    let error = |error: std::io::Error| error.to_string();
    let mut section = Section::new("Over HTTP");
    for (at, &size) in sizes.iter().enumerate() {
        eprintln!("over HTTP, {size} rules");
        // One processor is left to the client.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = processors.saturating_sub(1).max(1);
        let runtime =
            Builder::new_multi_thread().worker_threads(workers).enable_all().build().map_err(error)?;
        let messages: Vec<_> = (0..MESSAGES).map(|number| message(number, size)).collect();
        let requests: Vec<_> = messages.iter().map(|(message, _)| request("/", message)).collect();
        let mut servers = Vec::new();
        for (name, decide) in engines(&routes(size))? {
            if name != "echo" {
                check(name, &decide, &messages)?;
            }
            servers.push((name, serve(&runtime, decide).map_err(error)?, Vec::new()));
        }
        for _ in 0..ROUNDS {
            for (_, address, rounds) in &mut servers {
                rounds.push(throughput(*address, &requests, ROUND).map_err(error)?);
            }
        }
        if at == 0 {
            let names: String = servers.iter().map(|(name, ..)| format!("{name} | ")).collect();
            section.line(format!("| rules | {names}\n|---|{}", "---|".repeat(servers.len())));
        }
        let cells: String = servers
            .iter()
            .map(|(_, _, rounds)| {
                let Throughput { per_second, server_us, .. } = Throughput::medians(rounds);
                format!("{} ({server_us:.1}) | ", thousands(per_second.round()))
            })
            .collect();
        section.line(format!("| {} | {cells}", thousands(size as f64)));
    }
    section.line(format!(
        "\nRequests a second (microseconds of processor time of the server for a request), medians of {ROUNDS} rounds \
         of {ROUND:?} in turn, 16 connections that are kept, messages of {MESSAGE_BYTES} bytes. A rule tests the text for \
         a word, and compares a number; half of the messages contain the word of a rule. `echo` only reads the JSON and \
         sends it back. The others have the same handler around the library; `rulec` is the library, not the service."
    ));
    Ok(section)
}
