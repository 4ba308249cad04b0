//! Tests of TLS with a certificate from files that the service can read again.

use super::{Running, start_with};
use rulec_serve::ServerSignal;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Writes a new certificate and its key, and returns the certificate.
pub(super) fn write_certificate(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).expect("it can be written");
    std::fs::write(folder.join("chain.pem"), made.cert.pem()).expect("it can be written");
    made.cert.der().clone()
}

/// Connects over TLS. `None` if the client does not trust the certificate.
pub(super) async fn connect(
    service: &Running,
    trusted: &CertificateDer<'static>,
    protocols: &[&[u8]],
) -> Option<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let stream = TcpStream::connect(service.url.trim_start_matches("https://")).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()
}

/// Asks over TLS. `None` if the client does not trust the certificate.
pub(super) async fn ask(service: &Running, trusted: &CertificateDer<'static>) -> Option<String> {
    let mut stream = connect(service, trusted, &[]).await?;
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.expect("it is read");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    Some(answer)
}

#[tokio::test]
async fn a_certificate_is_served_and_replaced() {
    let mut first = None;
    let service = start_with("default -> chat", |options, folder| {
        first = Some(write_certificate(folder));
        options.certificate_and_key_files = Some((folder.join("chain.pem"), folder.join("key.pem")));
    })
    .await;
    let first = first.expect("it was made");
    assert!(service.url.starts_with("https://"));
    assert!(ask(&service, &first).await.expect("it is trusted").contains(" 200 "));
    // A connection without TLS is refused, and other connections are still served.
    let mut plain =
        TcpStream::connect(service.url.trim_start_matches("https://")).await.expect("a connection");
    plain.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").await.expect("it is read");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"));
    let second = write_certificate(service.folder.path());
    service.stop.send(ServerSignal::Reload).await.expect("it runs");
    while ask(&service, &second).await.is_none() {
        tokio::task::yield_now().await;
    }
    assert!(ask(&service, &first).await.is_none());
    std::fs::write(service.folder.path().join("chain.pem"), "no certificate").expect("it can be written");
    service.stop.send(ServerSignal::Reload).await.expect("it runs");
    let has_failed = || {
        service.events.lock().expect("no test panics here").iter().any(|event| event["event"] == "failure")
    };
    while !has_failed() {
        tokio::task::yield_now().await;
    }
    assert!(ask(&service, &second).await.is_some(), "the old certificate is kept");
}
