//! An HTTP server on loopback for tests: it records what arrives and answers as it is told, also in the
//! ways a broken server does.
//!
//! ```ignore
//! let server = Server::replies([Reply::status(503), Reply::json(200, json!({"ok": true}))]);
//! // … call server.url("/path") …
//! assert_eq!(server.requests()[0].json(), json!({"text": "hello"}));
//! ```
//!
//! Every answer closes its connection, so that one request is one connection.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A request that arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub method: String,
    /// Path and query, as they were sent.
    pub target: String,
    /// Names in lower case, in the order they were sent.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Seen {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A whole answer.
    Answer { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// The reply after a pause.
    After(Duration, Box<Reply>),
    /// The connection is closed without an answer.
    Drop,
    /// An answer that breaks off: it promises `promised` bytes and closes after those of `body`.
    Cut { status: u16, promised: usize, body: Vec<u8> },
    /// No answer, until the client goes.
    Silence,
    /// A head with this status and then a byte now and then, until the client goes.
    Drip(u16),
    /// A success without a length and without an end.
    Endless,
    /// These bytes, whatever they are.
    Raw(Vec<u8>),
}

impl Reply {
    /// An answer without a body.
    pub fn status(status: u16) -> Reply {
        Reply::Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    /// An answer of plain text.
    pub fn text(status: u16, body: &str) -> Reply {
        Reply::status(status).header("content-type", "text/plain").body(body)
    }

    /// An answer of JSON.
    pub fn json(status: u16, body: Value) -> Reply {
        Reply::status(status).header("content-type", "application/json").body(&body.to_string())
    }

    /// This answer with a header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        if let Reply::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// This answer with a body.
    pub fn body(mut self, text: &str) -> Reply {
        if let Reply::Answer { body, .. } = &mut self {
            *body = text.into();
        }
        self
    }

    /// This reply after a pause.
    pub fn after(self, pause: Duration) -> Reply {
        Reply::After(pause, Box::new(self))
    }
}

/// The server; it stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

type Answering = Box<dyn FnMut(&Seen) -> Reply + Send>;

struct State {
    seen: Mutex<Vec<Seen>>,
    answering: Mutex<Answering>,
    stopped: AtomicBool,
}

impl Server {
    /// Answers each request by a function.
    pub fn answering(answering: impl FnMut(&Seen) -> Reply + Send + 'static) -> Server {
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
                // What goes wrong with a connection shows in the client and in what was seen.
                thread::spawn(move || stream.and_then(|stream| shared.serve(stream)));
            }
        });
        Server { address, state, accepting: Some(accepting) }
    }

    /// Answers with these replies in turn; the last one is for all that follow.
    pub fn replies(replies: impl IntoIterator<Item = Reply>) -> Server {
        let mut replies = replies.into_iter().collect::<Vec<_>>().into_iter();
        let mut last = Reply::Drop;
        Server::answering(move |_| {
            if let Some(reply) = replies.next() {
                last = reply;
            }
            last.clone()
        })
    }

    /// `127.0.0.1:port`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The address of a path, which begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests that have arrived so far, in order.
    pub fn requests(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    /// The only request that arrived.
    #[track_caller]
    pub fn request(&self) -> Seen {
        match &self.requests()[..] {
            [request] => request.clone(),
            requests => panic!("{} requests instead of one: {requests:#?}", requests.len()),
        }
    }
}

/// `127.0.0.1:port` where nothing listens.
pub fn closed_host() -> String {
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
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let Some(seen) = read_request(&mut stream)? else { return Ok(()) };
        self.seen.lock().unwrap().push(seen.clone());
        let reply = (self.answering.lock().unwrap())(&seen);
        send(&mut stream, reply)
    }
}

fn send(stream: &mut TcpStream, reply: Reply) -> io::Result<()> {
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
            send(stream, *reply)
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

/// One request; `None` when the client went away before its end.
fn read_request(stream: &mut TcpStream) -> io::Result<Option<Seen>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 12];
    loop {
        if let Some(seen) = parse(&bytes)? {
            return Ok(Some(seen));
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            length => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

/// The request, once all of it is there.
fn parse(bytes: &[u8]) -> io::Result<Option<Seen>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = request.headers.iter().map(|header| (header.name.to_ascii_lowercase(), text(header.value)));
    let mut seen = Seen {
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
