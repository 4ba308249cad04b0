//! Compares one long request to `/v1/batch` with `rulec run` on a file that has the same lines.

use crate::client::{Elapsed, Stopwatch, Throughput, median, thread_time};
use crate::servers::{Servers, message};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const LINES: usize = 200_000;
const ROUNDS: usize = 5;

/// Prints the lines a second of both. `program` is the path of the program `rulec`; without it,
/// only the service is measured.
pub fn compare(servers: &Servers, folder: &Path, program: Option<&str>) {
    let lines: String = (0..LINES).map(|number| message(number) + "\n").collect();
    let file = folder.join("messages.jsonl");
    std::fs::write(&file, &lines).expect("it can be written");
    let (mut streamed, mut ran, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let stream = send_stream(servers.service, &lines);
        streamed.push(stream);
        if let Some(program) = program {
            let run = run_program(program, &servers.rules_path, &file);
            ratios.push(stream.per_second / run.per_second);
            ran.push(run);
        }
    }
    let Throughput { per_second, server_us, client_us } = Throughput::medians(&streamed);
    println!(
        "stream: {per_second:.0} lines a second; processor: {server_us:.2} us a line, client {client_us:.2}"
    );
    if !ran.is_empty() {
        let run = Throughput::medians(&ran);
        println!("run:    {:.0} lines a second; processor: {:.2} us a line", run.per_second, run.server_us);
        let ratios: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        println!(
            "ratio:  {:.2} (rounds: {})",
            median(ratios.iter().filter_map(|ratio| ratio.parse().ok()).collect()),
            ratios.join(", ")
        );
    }
}

/// Sends `lines` to the service in one request, and returns its speed.
fn send_stream(address: SocketAddr, lines: &str) -> Throughput {
    let mut reader = TcpStream::connect(address).expect("a connection");
    let mut writer = reader.try_clone().expect("a second handle");
    let head = format!(
        "POST /v1/batch HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
        lines.len()
    );
    let mut answer = Vec::with_capacity(lines.len());
    let stopwatch = Stopwatch::start();
    let writer_time = std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            writer.write_all(head.as_bytes()).expect("it is read");
            writer.write_all(lines.as_bytes()).expect("it is read");
            thread_time()
        });
        reader.read_to_end(&mut answer).expect("an answer");
        writing.join().expect("it ends")
    });
    let Elapsed { wall, servers, client } = stopwatch.elapsed();
    let elapsed =
        Elapsed { wall, servers: servers.saturating_sub(writer_time), client: client + writer_time };
    let count = answer.windows(8).filter(|window| window == b"{\"line\":").count();
    assert_eq!(count, LINES);
    Throughput::new(LINES, elapsed)
}

/// Runs `rulec run` on the file `lines`, and returns its speed with the time of its start.
fn run_program(program: &str, rules: &Path, lines: &Path) -> Throughput {
    let (stopwatch, before) = (Stopwatch::start(), child_time());
    let status = Command::new(program)
        .arg("run")
        .args([rules, lines])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("the program runs").success());
    let elapsed = Elapsed { servers: child_time().saturating_sub(before), ..stopwatch.elapsed() };
    Throughput::new(LINES, elapsed)
}

/// Returns the processor time of the processes that this process has started and that have ended.
/// Zero on a system other than Linux.
fn child_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces. After it, the numbers 14 and 15
    // are the times of the children, in hundredths of a second.
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}
