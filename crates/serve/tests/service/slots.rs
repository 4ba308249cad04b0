//! Tests of the limit on open connections. Clients that open many connections and send nothing do
//! not keep other clients from being served.

use super::safety::{connect, open_stream, read_to_end};
use super::tls::{ask, write_certificate};
use super::{RULES, Running, start_with};
use rulec_serve::Options;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sets the number of slots for connections. No connection is closed because of its time.
fn set_slots(options: &mut Options, slots: usize) {
    options.limits.max_connections = slots;
    options.limits.head_time = Duration::from_secs(3600);
    options.limits.idle_time = Duration::from_secs(3600);
}

/// Opens connections, and sends the same bytes on each.
async fn open_all(service: &Running, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = connect(service).await;
        // The service may already have closed the connection.
        let _ = stream.write_all(bytes).await;
        streams.push(stream);
    }
    streams
}

#[tokio::test]
async fn clients_that_send_no_request_give_up_their_slots() {
    let starts: [(&str, &[u8]); 3] = [
        ("nothing", b""),
        ("a part of a head", b"POST /v1/decide HTTP/1.1\r\nhost:"),
        ("HTTP/2 without a request", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"),
    ];
    for (name, bytes) in starts {
        let service = start_with(RULES, |options, _| set_slots(options, 3)).await;
        let silent = open_all(&service, 20, bytes).await;
        assert_eq!(service.get("/healthz").await.status, 200, "{name}");
        // The client of the test keeps its connection, which is the 21st, so 18 had no free slot.
        let metrics = service.get("/metrics").await.text();
        assert!(metrics.contains("rulec_limits_hit_total{limit=\"connections\"} 18"), "{name}: {metrics}");
        drop(silent);
    }
}

#[tokio::test]
async fn clients_that_do_not_complete_the_tls_handshake_give_up_their_slots() {
    let mut certificate = None;
    let service = start_with(RULES, |options, folder| {
        set_slots(options, 3);
        certificate = Some(write_certificate(folder));
        options.certificate_and_key_files = Some((folder.join("chain.pem"), folder.join("key.pem")));
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        let address = service.url.trim_start_matches("https://");
        silent.push(TcpStream::connect(address).await.expect("a connection"));
    }
    let answer = ask(&service, &certificate.expect("it was made")).await.expect("it is trusted");
    assert!(answer.contains(" 200 "), "{answer}");
}

#[tokio::test]
async fn idle_clients_give_up_their_slots_after_silent_ones() {
    let service = start_with(RULES, |options, _| set_slots(options, 2)).await;
    let health = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut idle = connect(&service).await;
    idle.write_all(health).await.expect("it is read");
    idle.read_exact(&mut [0; 15]).await.expect("an answer");
    let mut silent = connect(&service).await;
    assert_eq!(service.get("/healthz").await.status, 200);
    assert_eq!(read_to_end(&mut silent).await, "");
    let mut other = connect(&service).await;
    other.write_all(health).await.expect("it is read");
    other.read_exact(&mut [0; 15]).await.expect("an answer");
    // `idle` has been idle for the longest time.
    read_to_end(&mut idle).await;
}

#[tokio::test]
async fn a_connection_with_an_open_request_keeps_its_slot() {
    let service = start_with(RULES, |options, _| set_slots(options, 1)).await;
    let mut stream = open_stream(&service).await;
    let mut waiting = connect(&service).await;
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    waiting.write_all(request).await.expect("it is read");
    for _ in 0..100 {
        let line = "{\"text\":\"refund\"}\n";
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        stream.write_all(chunk.as_bytes()).await.expect("it is read");
        assert!(stream.read(&mut [0; 4096]).await.expect("an answer") > 0);
    }
    drop(stream);
    assert!(read_to_end(&mut waiting).await.contains(" 200 "));
}
