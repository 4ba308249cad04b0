//! A studio on loopback, and a plain HTTP client that sends exactly the given bytes.
#![allow(dead_code, reason = "each test uses a part")]

use rulec_studio::{Options, RulesFile, Server};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Rules with a statement of every kind.
pub const DESK: &str = r#"input {
  text: string
  ctx?: { amount?: float, user?: { role: string, phone?: string @private } }
  steps?: { score: int }
}

## Money back.
route refunds priority 10 when text contains word "refund" and ctx.amount > 5 -> refund_handler(amount: ctx.amount ?? 0.0)
route to_billing when text contains "invoice" -> goto billing
route admins when ctx.user.role == "admin" and ctx.user.phone is present -> admin_handler
route hidden when text contains word "refund" and ctx.amount > 50 -> never_handler
default -> answer

table billing {
  route late when text contains "late" -> late_handler
  default -> billing_handler
}

choice tone {
  default branch neutral
  branch calm any { steps.score >= 5; text contains "thanks" }
}

flow refund_flow "Money back" keyword contains ["refund"] -> "F1"
flow opening_flow "Opening hours" intent ["when do you open", "what are your opening hours", "are you open today"] -> "F2"

payload respond rank 1 {
  response: string not blank
  confidence: number default 1.0 in 0..=1 clamp
  closed remove
}

router rounds(output) {
  when output.n >= 2 -> next[1]
  otherwise -> next[0] loopback
}

workflow review {
  node first echo { n: 2 } -> second, last by rounds
  node second echo -> first
  node last echo
}

test "a refund" {
  given text = "a refund"
  given ctx = { amount: 12.5 }
  expect refunds
}
"#;

/// A running studio with files in a temporary folder.
pub struct Open {
    pub folder: TempDir,
    pub port: u16,
    pub token: String,
    _runtime: Runtime,
}

/// An HTTP response of the studio.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Open {
    /// Opens a studio with these files; the first is the main file. The studio also opens
    /// `log.jsonl` and `input.jsonl` if they are given.
    pub fn new(files: &[(&str, &str)]) -> Open {
        Open::with(files, |_| {})
    }

    pub fn with(files: &[(&str, &str)], change: impl FnOnce(&mut Options)) -> Open {
        let folder = TempDir::new().expect("there is a place for files");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("files can be written");
        }
        let of = |name: &str| Some(folder.path().join(name)).filter(|path| path.exists());
        let main = files.first().map_or("", |(name, _)| name);
        let rules = vec![RulesFile { path: folder.path().join(main), import_root: None }];
        let mut options =
            Options { rules, log: of("log.jsonl"), message_file: of("input.jsonl"), ..Options::default() };
        change(&mut options);
        let runtime = Runtime::new().expect("there is a runtime");
        let server = runtime.block_on(Server::bind(&options)).expect("a studio opens");
        let address = server.url();
        let rest = address.strip_prefix("http://127.0.0.1:").expect("it is on loopback");
        let (port, token) = rest.split_once("/#token=").expect("the address has a token");
        let (port, token) = (port.parse().expect("the port is a number"), token.to_owned());
        runtime.spawn(server.run(std::future::pending()));
        Open { folder, port, token, _runtime: runtime }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Sends raw bytes, and returns the response to them.
    pub fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the studio listens");
        stream.write_all(request).expect("a request can be sent");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer comes");
        let text = String::from_utf8(bytes).expect("answers are texts");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { unchunked(body) } else { body.to_owned() };
        Answer { status, head: head.to_owned(), body }
    }

    /// Sends a request with these headers and the length of the body.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw([request.as_str(), "\r\n", body].concat().as_bytes())
    }

    /// Sends a request with the same headers as the page.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Json>) -> Answer {
        let (host, origin) = (format!("127.0.0.1:{}", self.port), format!("http://127.0.0.1:{}", self.port));
        let headers = [
            ("host", host.as_str()),
            ("origin", &origin),
            ("x-rulec-token", &self.token),
            ("content-type", "application/json"),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send(method, path, &headers, &body.map(Json::to_string).unwrap_or_default())
    }

    pub fn get(&self, path: &str) -> Json {
        let answer = self.ask("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    pub fn post(&self, path: &str, body: Json) -> Json {
        let answer = self.ask("POST", path, Some(&body));
        assert_eq!(answer.status, 200, "{path} {body}: {answer:?}");
        answer.json()
    }

    /// Sends a request that must be refused; returns its status and body.
    pub fn refused(&self, method: &str, path: &str, body: Json) -> (u16, Json) {
        let answer = self.ask(method, path, Some(&body));
        assert!(answer.status >= 400, "{path} {body}: {answer:?}");
        (answer.status, answer.json())
    }

    pub fn decide(&self, entry: &str, message: &Json) -> Json {
        self.post(
            "/api/decide",
            json!({"version": {"rules": 0}, "entry": entry, "message": message.to_string()}),
        )
    }

    /// Runs a replay to its end; returns its id and its counts.
    pub fn replay(&self, asked: Json) -> (u64, Json) {
        let id = self.post("/api/replays", asked)["id"].as_u64().expect("a replay has a number");
        // The event stream ends when the replay ends.
        let events = self.ask("GET", &format!("/api/replays/{id}/events"), None);
        assert_eq!(events.status, 200, "{events:?}");
        (id, self.get(&format!("/api/replays/{id}")))
    }
}

/// Decodes an HTTP body with chunked transfer encoding.
fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, behind)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk tells its size");
        if size == 0 {
            break;
        }
        body.push_str(&behind[..size]);
        rest = behind[size..].strip_prefix("\r\n").expect("a chunk ends with its line");
    }
    body
}
