//! Tests that the client sends nothing to a server with a wrong certificate. Such a certificate
//! belongs to another host, has expired, or is not trusted by the platform.

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rulec_http::{AllowedHosts, HttpClient, HttpFailure, Limits, Request};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The variable with the file that the platform's trusted certificates are read from.
const TRUSTED_FILE: &str = "SSL_CERT_FILE";
/// A variable that is set only in the child process that trusts the certificates of the test.
const TRUSTS_THE_TEST: &str = "RULEC_TEST_TRUSTS_ITS_CERTIFICATES";

/// A certificate that signs itself, and its key.
struct Certificate {
    params: CertificateParams,
    key: KeyPair,
}

impl Certificate {
    fn new(host: &str, last_year: i32) -> Certificate {
        let mut params = CertificateParams::new([host.to_owned()]).expect("a name");
        params.not_after = date_time_ymd(last_year, 1, 1);
        Certificate { params, key: KeyPair::generate().expect("a key") }
    }

    fn signed(&self) -> rcgen::Certificate {
        self.params.clone().self_signed(&self.key).expect("a certificate")
    }
}

/// Serves one connection over TLS on loopback. Returns the address, and the request that the server
/// receives; `None` if the client gives up before it sends one.
fn serve_once(certificate: &Certificate) -> (String, JoinHandle<Option<String>>) {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certificate.key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.signed().der().clone()], key)
        .expect("the key belongs to the certificate");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let host = listener.local_addr().expect("an address").to_string();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        let mut connection = ServerConnection::new(Arc::new(config)).expect("the settings fit");
        let mut stream = rustls::Stream::new(&mut connection, &mut socket);
        let (mut request, mut byte) = (Vec::new(), [0]);
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => request.push(byte[0]),
                _ => return None,
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").expect("it is read");
        Some(String::from_utf8_lossy(&request).into_owned())
    });
    (host, server)
}

/// In a usual process, the platform does not trust the certificates of the test. The child process
/// of the next test trusts them, so the first one must be accepted there.
#[test]
fn a_wrong_certificate_is_refused() {
    let certificates = [
        ("right", Certificate::new("127.0.0.1", 2999)),
        ("of another host", Certificate::new("elsewhere.example", 2999)),
        ("expired", Certificate::new("127.0.0.1", 2001)),
    ];
    let is_trusted = std::env::var_os(TRUSTS_THE_TEST).is_some();
    if is_trusted {
        let all: String = certificates.iter().map(|(_, certificate)| certificate.signed().pem()).collect();
        let file = PathBuf::from(std::env::var_os(TRUSTED_FILE).expect("the other test sets it"));
        std::fs::write(file, all).expect("it can be written");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for (name, certificate) in &certificates {
        let (host, server) = serve_once(certificate);
        let hosts = AllowedHosts::new([&host]).expect("a host");
        let client = HttpClient::new(hosts, Limits { retries: 0, ..Limits::default() }).expect("a client");
        let request = Request::get(format!("https://{host}/private?key=SECRET"));
        let result = runtime.block_on(client.send(&request));
        let received = server.join().expect("the server does not panic");
        if is_trusted && *name == "right" {
            assert_eq!(result.expect("it is answered").status, 200);
            assert!(received.expect("a request").starts_with("GET /private?key=SECRET "));
            continue;
        }
        let error = result.expect_err(name);
        assert!(matches!(error.failure(), HttpFailure::Connection { .. }), "{name}: {error}");
        assert!(error.to_string().contains("certificate"), "{name}: {error}");
        assert_eq!(received, None, "{name}");
    }
}

/// The environment is shared by the whole process, and the trusted certificates are read once. So a
/// child process trusts the certificates of the test.
#[test]
fn a_trusted_certificate_is_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "certificates::a_wrong_certificate_is_refused"])
        .env(TRUSTED_FILE, folder.path().join("trusted.pem"))
        .env_remove("SSL_CERT_DIR")
        .env(TRUSTS_THE_TEST, "1")
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && text.contains("1 passed"), "{text}");
}
