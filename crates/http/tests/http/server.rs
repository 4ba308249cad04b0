//! An HTTP server on loopback for tests. It records requests and sends scripted replies, some of
//! them as a broken server would.
//! ```ignore
//! let replies = [Reply::status(503), Reply::json(200, json!({"ok": true}))];
//! let server = Server::replying_in_turn(replies);
//! // … call server.url("/path") …
//! assert_eq!(server.requests()[0].json(), json!({"text": "hello"}));
//! ```
//!
//! Every reply closes its connection, so each connection has exactly one request.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A request that the server has received.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenRequest {
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl SeenRequest {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Parses the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }
}

/// The reply to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A complete response.
    Answer { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// Sends the inner reply after a pause.
    After(Duration, Box<Reply>),
    /// Closes the connection without a response.
    Drop,
    /// A truncated response: it announces `promised` bytes, but the server sends only `body` and
    /// closes the connection.
    Cut { status: u16, promised: usize, body: Vec<u8> },
    /// Sends no response until the client closes the connection.
    Silence,
    /// A response head with this status, then single bytes slowly until the client closes the
    /// connection.
    Drip(u16),
    /// A successful response without a declared length and without an end.
    Endless,
    /// Sends these raw bytes.
    Raw(Vec<u8>),
}

impl Reply {
    /// Returns a response without a body.
    pub fn status(status: u16) -> Reply {
        Reply::Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    /// Returns a plain text response.
    pub fn text(status: u16, body: &str) -> Reply {
        Reply::status(status).header("content-type", "text/plain").body(body)
    }

    /// Returns a JSON response.
    pub fn json(status: u16, body: Value) -> Reply {
        Reply::status(status).header("content-type", "application/json").body(&body.to_string())
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        if let Reply::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Sets the body.
    pub fn body(mut self, text: &str) -> Reply {
        if let Reply::Answer { body, .. } = &mut self {
            *body = text.into();
        }
        self
    }

    /// Delays the reply.
    pub fn delayed_by(self, pause: Duration) -> Reply {
        Reply::After(pause, Box::new(self))
    }
}

/// The server; it stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

type AnswerFn = Box<dyn FnMut(&SeenRequest) -> Reply + Send>;

struct State {
    seen: Mutex<Vec<SeenRequest>>,
    answering: Mutex<AnswerFn>,
    stopped: AtomicBool,
}

impl Server {
    /// Starts a server that answers each request with the reply that `answering` returns.
    pub fn answering_with(answering: impl FnMut(&SeenRequest) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            seen: Mutex::default(),
            answering: Mutex::new(Box::new(answering)),
            stopped: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                // Connection errors are visible in the client and in the recorded requests.
                thread::spawn(move || stream.and_then(|stream| shared.serve_connection(stream)));
            }
        });
        Server { address, state, accepting: Some(accepting) }
    }

    /// Starts a server that sends these replies one after another, and repeats the last one.
    pub fn replying_in_turn(replies: impl IntoIterator<Item = Reply>) -> Server {
        let mut replies = replies.into_iter().collect::<Vec<_>>().into_iter();
        let mut last = Reply::Drop;
        Server::answering_with(move |_| {
            if let Some(reply) = replies.next() {
                last = reply;
            }
            last.clone()
        })
    }

    /// Returns the address of the server, as `127.0.0.1:port`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Returns the URL of a path, which starts with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests received so far, in order.
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Returns the only request received. Panics if the server received none or several.
    #[track_caller]
    pub fn only_request(&self) -> SeenRequest {
        match &self.requests()[..] {
            [request] => request.clone(),
            requests => panic!("{} requests instead of one: {requests:#?}", requests.len()),
        }
    }
}

/// Returns a `127.0.0.1:port` on which no server listens.
pub fn unused_host() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().to_string()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl State {
    fn serve_connection(&self, mut stream: TcpStream) -> io::Result<()> {
        let Some(seen) = read_request(&mut stream)? else { return Ok(()) };
        self.seen.lock().unwrap().push(seen.clone());
        let reply = (self.answering.lock().unwrap())(&seen);
        send_reply(&mut stream, reply)
    }
}

fn send_reply(stream: &mut TcpStream, reply: Reply) -> io::Result<()> {
    match reply {
        Reply::Answer { status, headers, body } => {
            let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let head = format!(
                "HTTP/1.1 {status} -\r\n{lines}content-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(&[head.as_bytes(), &body].concat())
        }
        Reply::After(pause, reply) => {
            thread::sleep(pause);
            send_reply(stream, *reply)
        }
        Reply::Drop => Ok(()),
        Reply::Cut { status, promised, body } => {
            let head = format!("HTTP/1.1 {status} -\r\ncontent-length: {promised}\r\n\r\n");
            stream.write_all(&[head.as_bytes(), &body].concat())
        }
        Reply::Silence => stream.read(&mut [0]).map(|_| ()),
        Reply::Drip(status) => {
            write!(stream, "HTTP/1.1 {status} -\r\n\r\n")?;
            loop {
                stream.write_all(b"x")?;
                thread::sleep(Duration::from_millis(10));
            }
        }
        Reply::Endless => {
            stream.write_all(b"HTTP/1.1 200 -\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 1 << 14])?;
            }
        }
        Reply::Raw(bytes) => stream.write_all(&bytes),
    }
}

/// Reads one request; `None` if the client disconnects before its end.
fn read_request(stream: &mut TcpStream) -> io::Result<Option<SeenRequest>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 12];
    loop {
        if let Some(seen) = parse_request(&bytes)? {
            return Ok(Some(seen));
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            length => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

/// Parses a request; `None` if it is not complete yet.
fn parse_request(bytes: &[u8]) -> io::Result<Option<SeenRequest>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = request.headers.iter().map(|header| (header.name.to_ascii_lowercase(), text(header.value)));
    let mut seen = SeenRequest {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: String::new(),
    };
    let length = seen.header("content-length").map_or(Ok(0), str::parse).map_err(io::Error::other)?;
    let Some(body) = bytes.get(head..head + length) else { return Ok(None) };
    seen.body = text(body);
    Ok(Some(seen))
}
