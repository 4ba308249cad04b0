//! Tests of histories at a Redis server, through the program: `run`, `why`, `why-not`, `history`
//! and `serve`. The script `crates/history-store/test` installs the server.

#[path = "../../../history-store/tests/shared/server.rs"]
mod server;

use serde_json::{Value as Json, json};
use server::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

const RULES: &str = "input { tool: string, user: string, now: datetime }
history by user keep 1h
route spent when (count p in history within 10m: p.decision.target == \"pay\") >= 3 -> ask
default -> pay

payload call {
  tool: string
  require \"rate\" at tool: (count p in history within 10m: true) < 3 else \"too many calls\"
}
";

fn call(user: &str, second: u32) -> String {
    format!("{}\n", json!({"tool": "x", "user": user, "now": format!("2026-01-31T12:00:{second:02}Z")}))
}

/// A folder with the file `guard.rules`, and a Redis server.
struct Place {
    folder: TempDir,
    server: Server,
}

impl Place {
    fn new(options: &[&str]) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("guard.rules"), RULES).expect("it is written");
        Place { folder, server: Server::with(options) }
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.server.port)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("rulec"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_remove("RULEC_HISTORY_PASSWORD")
            .env("RULEC_LANG", "en");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program with text on standard input. Returns its output, after it has ended with
    /// this status.
    fn run(&self, args: &[&str], stdin: &str, status: i32) -> Ran {
        Ran::of(self.command(args), stdin, status)
    }
}

struct Ran {
    out: String,
    err: String,
}

impl Ran {
    fn of(mut command: Command, stdin: &str, status: i32) -> Ran {
        let mut child = command.spawn().expect("it starts");
        // A program that refuses its arguments reads nothing.
        let _ = child.stdin.take().expect("it is piped").write_all(stdin.as_bytes());
        let Output { status: found, stdout, stderr } = child.wait_with_output().expect("it ends");
        let ran = Ran {
            out: String::from_utf8(stdout).expect("text"),
            err: String::from_utf8(stderr).expect("text"),
        };
        assert_eq!(found.code(), Some(status), "{}{}", ran.out, ran.err);
        ran
    }

    fn targets(&self) -> Vec<String> {
        let lines = self.out.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
        lines.filter_map(|line| line["target"].as_str().map(str::to_owned)).collect()
    }
}

#[test]
fn programs_share_a_history() {
    let place = Place::new(&[]);
    let url = place.url();
    let run = ["run", "guard.rules", "--history", &url];
    assert_eq!(place.run(&run, &(call("ann", 0) + &call("ann", 1)), 0).targets(), ["pay", "pay"]);
    // The name of the file is the name of the history.
    let named = format!("{url}/0#guard");
    let run_named = ["run", "guard.rules", "--history", &named, "--explain"];
    assert_eq!(place.run(&run_named, &(call("ann", 2) + &call("ann", 3)), 0).targets(), ["pay", "ask"]);
    let shown = place.run(&["history", "show", &url, "--key", "ann"], "", 0);
    assert_eq!(shown.out.lines().count(), 4);
    assert!(shown.out.starts_with(r#"{"key":"ann","message":{"at":"2026-01-31T12:00:00Z""#), "{}", shown.out);
    let checked = place.run(&["history", "check", &named], "", 0);
    assert!(checked.err.contains("keys: 1; messages: 4; wrong: 0"), "{}", checked.err);
    let message = call("ann", 4);
    let why = place.run(&["why", "guard.rules", "--input", &message, "--history", &url], "", 0);
    assert!(why.out.contains("`spent` is chosen"), "{}", why.out);
    place.run(&["history", "compact", &url, "--before", "2026-01-31T12:00:02Z"], "", 0);
    assert_eq!(place.run(&["history", "show", &url], "", 0).out.lines().count(), 2);
    // Another name is another history.
    let other = format!("{url}#other");
    assert_eq!(
        place.run(&["run", "guard.rules", "--history", &other], &call("ann", 5), 0).targets(),
        ["pay"]
    );
    let several = place.run(&["history", "show", &url], "", 1);
    assert!(several.err.contains("guard, other"), "{}", several.err);
}

/// Cause: `run` read the history, decided, and recorded in three steps.
#[test]
fn programs_that_run_at_the_same_time_do_not_pass_a_budget() {
    let place = Place::new(&[]);
    let url = place.url();
    let lines: String = (0..40).map(|second| call(["ann", "bob"][second as usize % 2], second)).collect();
    let payloads: String = (0..20)
        .map(|second| {
            let mut line: Json = serde_json::from_str(&call("eve", second)).expect("JSON");
            line["payload"] = json!({"tool": "x"});
            format!("{line}\n")
        })
        .collect();
    let (mut paid, mut accepted) = (0, 0);
    let judged = ["run", "guard.rules", "--decision", "call", "--history", &url];
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| place.run(&["run", "guard.rules", "--history", &url], &lines, 0)))
            .collect();
        let judgements: Vec<_> = (0..2).map(|_| scope.spawn(|| place.run(&judged, &payloads, 0))).collect();
        for run in runs {
            paid += run.join().expect("it ends").targets().iter().filter(|target| *target == "pay").count();
        }
        for judged in judgements {
            accepted += judged.join().expect("it ends").out.matches("\"accept\"").count();
        }
    });
    assert_eq!((paid, accepted), (6, 3));
}

#[test]
fn what_is_wrong_is_said_with_a_remedy() {
    let mut place = Place::new(&["--requirepass", "open sesame"]);
    let url = place.url();
    let refused = |url: &str, status: i32| {
        let run = place.run(&["run", "guard.rules", "--history", url], &call("ann", 0), status);
        assert_eq!(run.out, "");
        run.err
    };
    assert!(refused(&url, 1).contains("needs a password"), "{}", refused(&url, 1));
    let wrong = refused(&format!("redis://:barley@127.0.0.1:{}", place.server.port), 1);
    assert!(wrong.contains("refuses the user or the password") && !wrong.contains("barley"), "{wrong}");
    let scheme = refused("http://127.0.0.1/", 2);
    assert!(scheme.contains("is no address of a Redis server"), "{scheme}");
    assert!(refused("rediss://127.0.0.1/", 2).contains("TLS"));
    let mut command = place.command(&["run", "guard.rules", "--history", &url]);
    command.env("RULEC_HISTORY_PASSWORD", "open sesame");
    assert_eq!(Ran::of(command, &call("ann", 0), 0).targets(), ["pay"]);
    place.server.kill();
    let gone = place.run(&["history", "check", &url], "", 1);
    assert!(gone.err.contains("no server answers at this address"), "{}", gone.err);
    let served = place.run(&["serve", "guard.rules", "--listen", "127.0.0.1:0", "--history", &url], "", 2);
    assert!(served.err.contains("no server answers at this address"), "{}", served.err);
}

/// A process of `rulec serve` that is killed when this value is dropped.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(place: &Place, history: &str) -> Service {
        let mut command =
            place.command(&["serve", "guard.rules", "--listen", "127.0.0.1:0", "--history", history]);
        let mut child = command.stderr(Stdio::null()).spawn().expect("it starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut url).expect("an address");
        let address = url.trim().strip_prefix("http://").expect("an address").to_owned();
        Service { child, address }
    }

    /// Asks for a decision that is recorded. Returns the status, and the JSON of the answer.
    fn decide(&self, user: &str, second: u32) -> (u16, Json) {
        let message: Json = serde_json::from_str(&call(user, second)).expect("JSON");
        let body = json!({ "message": message, "record": true }).to_string();
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let head = format!(
            "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).expect("JSON"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn services_share_a_history_that_outlives_the_server() {
    let mut place = Place::new(&[]);
    let url = place.url();
    let services = [Service::start(&place, &url), Service::start(&place, &url)];
    for second in 0..3 {
        let (status, decision) = services[second as usize % 2].decide("ann", second);
        assert_eq!((status, &decision["target"]), (200, &json!("pay")));
    }
    assert_eq!(services[1].decide("ann", 3).1["target"], "ask");
    // Without the server, no decision is made, because none can be recorded.
    place.server.kill();
    let (status, problem) = services[0].decide("bob", 4);
    assert_eq!(status, 500, "{problem}");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(
        detail.contains("the history cannot be kept") && detail.contains("no server answers"),
        "{detail}"
    );
    place.server.restart();
    assert_eq!(services[0].decide("ann", 5).1["target"], "ask");
    assert_eq!(services[1].decide("bob", 5).1["target"], "pay");
    let shown = place.run(&["history", "show", &url, "--key", "ann"], "", 0);
    assert_eq!(shown.out.lines().count(), 5);
    let run = place.run(&["run", "guard.rules", "--history", &url], &call("ann", 6), 0);
    assert_eq!(run.targets(), ["ask"]);
}

#[test]
fn a_service_keeps_its_history_in_a_folder() {
    let place = Place::new(&[]);
    for (second, target) in ["pay", "pay", "pay", "ask"].into_iter().enumerate() {
        // Each service begins with what the one before it has acknowledged.
        let service = Service::start(&place, "past");
        assert_eq!(service.decide("ann", second as u32).1["target"], target);
    }
    assert_eq!(place.run(&["history", "show", "past/guard"], "", 0).out.lines().count(), 4);
}
