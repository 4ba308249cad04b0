//! Tests of the decision log: its modes, its hash chain, and the lines that a killed process
//! leaves.

use super::{RULES, Running, options, start_with, write_rules};
use rulec_report::chain::ChainVerifier;
use rulec_report::log_files::{find_full_files, find_logs, full_file_path};
use rulec_serve::{LogMode, LogOptions, LogSampling, LogTarget, Server, ServerSignal, StartError};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const KEY: &str = include_str!("../../../../tests/keys/only-for-tests.pem");

pub(super) fn log_options(path: PathBuf, mode: LogMode) -> LogOptions {
    let key = rulec::SigningKey::from_pem(KEY).ok();
    let (capacity, capacity_bytes, rotate_bytes) = (1000, 1 << 20, u64::MAX);
    LogOptions {
        target: LogTarget::File(path),
        mode,
        max_waiting_lines: capacity,
        max_waiting_bytes: capacity_bytes,
        max_spill_bytes: u64::MAX,
        rotate_bytes,
        key,
        checkpoint_interval: Duration::from_secs(3600),
        sampling: LogSampling::default(),
    }
}

async fn start_logging(change: impl FnOnce(&mut LogOptions)) -> Running {
    start_with(RULES, |options, folder| {
        let mut log = log_options(folder.join("log.jsonl"), LogMode::Sync);
        change(&mut log);
        options.log = Some(log);
    })
    .await
}

/// Verifies the hash chain of a log in these files, given in order. Returns the lines of the log.
#[track_caller]
fn read_log(paths: &[PathBuf]) -> Vec<Json> {
    let text: String = paths.iter().map(|path| std::fs::read_to_string(path).expect("a file")).collect();
    read_lines(&text)
}

/// Verifies the hash chain of the lines of a log. Returns the lines.
#[track_caller]
pub(super) fn read_lines(text: &str) -> Vec<Json> {
    let key = rulec::SigningKey::from_pem(KEY).expect("a key").verifying_key();
    let mut verifier = ChainVerifier::new(Some(key));
    let lines = text.lines().map(|line| {
        verifier.check_line(line.as_bytes()).unwrap_or_else(|fault| panic!("{fault:?}: {line}"));
        serde_json::from_str(line).expect("JSON")
    });
    lines.collect()
}

fn decisions(lines: &[Json]) -> Vec<&Json> {
    lines.iter().filter(|line| line["entry"].is_string()).collect()
}

impl Running {
    /// Ends the service and returns its folder.
    pub(super) async fn end(self) -> tempfile::TempDir {
        self.stop.send(ServerSignal::Drain).await.expect("it runs");
        self.ended.await.expect("it ends");
        self.folder
    }
}

#[tokio::test]
async fn a_line_is_on_the_disk_before_the_answer() {
    let service = start_logging(|_| {}).await;
    let path = service.folder.path().join("log.jsonl");
    let body = r#"{"message": {"text": "refund", "n": 3, "phone": "555-0100"}}"#;
    for count in 1..=3 {
        service.post("/v1/decide", body).await.json();
        let lines = read_log(std::slice::from_ref(&path));
        assert_eq!(decisions(&lines).len(), count);
    }
    service.post("/v1/batch", r#"{"messages": [{"text": "a"}, 5, {"text": "b"}]}"#).await;
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(!text.contains("555-0100"), "private values are masked");
    let lines = read_log(std::slice::from_ref(&path));
    let found = decisions(&lines);
    assert_eq!(found.len(), 5);
    assert_eq!(
        (&found[0]["route"], &found[0]["rules"], &found[0]["result"]),
        (&json!("refund"), &json!("support"), &json!("decided"))
    );
    // The other tools can parse the logged line.
    let line = found[0].as_object().cloned().expect("an object");
    let logged = rulec_report::log::parse_decision_line(line).expect("a decision");
    assert_eq!(
        (logged.route.as_deref(), logged.message.expect("a message")["text"].clone()),
        (Some("refund"), json!("refund"))
    );
    let folder = service.end().await;
    let lines = read_log(&[folder.path().join("log.jsonl")]);
    assert!(lines.last().expect("a line")["checkpoint"].is_object());
}

/// A killed service leaves a log whose lines are confirmed, also if it decided only a few messages.
#[tokio::test]
async fn a_checkpoint_follows_a_line_after_some_time() {
    let service = start_logging(|log| log.checkpoint_interval = Duration::from_millis(1)).await;
    let path = service.folder.path().join("log.jsonl");
    for count in 1..=2 {
        service.post("/v1/decide", r#"{"message": {}}"#).await.json();
        let is_checkpoint = |line: &&Json| line["checkpoint"].is_object();
        let has_checkpoints = || {
            let lines = read_log(std::slice::from_ref(&path));
            lines.last().is_some_and(|last| is_checkpoint(&last))
                && lines.iter().filter(is_checkpoint).count() >= count
        };
        while !has_checkpoints() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_line_names_the_trace_of_the_caller() {
    let service = start_logging(|_| {}).await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let header = format!("00-{trace}-00f067aa0ba902b7-01");
    for (path, body) in [("/v1/decide", r#"{"message": {}}"#), ("/v1/batch", r#"{"messages": [{}]}"#)] {
        let request = service.post_request(path, body).header("traceparent", &header);
        assert_eq!(service.send(request).await.status, 200);
    }
    service.post("/v1/decide", r#"{"message": {}}"#).await;
    let lines = read_log(&[service.folder.path().join("log.jsonl")]);
    let traces: Vec<_> = decisions(&lines).iter().map(|line| line["trace_id"].as_str()).collect();
    assert_eq!(traces, [Some(trace), Some(trace), None]);
}

#[tokio::test]
async fn full_files_are_renamed_and_the_chain_goes_on() {
    let service = start_logging(|log| log.rotate_bytes = 2000).await;
    for _ in 0..30 {
        service.post("/v1/decide", r#"{"message": {"text": "refund"}}"#).await;
    }
    let folder = service.end().await;
    let mut paths = find_full_files(&folder.path().join("log.jsonl")).expect("a folder");
    for path in paths.iter().chain([&folder.path().join("log.jsonl")]) {
        let mode = std::fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "others may not read the messages: {}", path.display());
    }
    assert!(paths.len() > 2, "{paths:?}");
    read_log(&paths[1..2]);
    paths.push(folder.path().join("log.jsonl"));
    assert_eq!(decisions(&read_log(&paths)).len(), 30);
}

/// The limit of one byte makes each line fill its file. So each start of the service finds an empty
/// current file.
#[tokio::test]
async fn a_chain_goes_on_over_full_files_and_restarts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    for _ in 0..3 {
        let service = start_logging(|log| *log = LogOptions { rotate_bytes: 1, ..again(&path) }).await;
        for _ in 0..2 {
            service.post("/v1/decide", r#"{"message": {"text": "refund"}}"#).await.json();
        }
        // The log renames a full file only after the answer. So the test waits until the last line
        // is in a full file.
        let is_noted = |noted: &Json| {
            let last = find_full_files(&path).expect("a folder").pop().expect("a full file");
            let last = std::fs::read_to_string(last).expect("a file");
            let end = format!("\"seq\":{},\"chain\":{}}}\n", noted["log"]["lines"], noted["log"]["head"]);
            last.ends_with(&end)
        };
        service.wait_for("/v1/rules", is_noted).await;
        service.end().await;
    }
    assert_eq!(find_full_files(&path).expect("a folder").len(), 6);
    let logs = find_logs(folder.path()).expect("a folder");
    assert_eq!((logs.len(), decisions(&read_log(&logs[0])).len()), (1, 6));
}

/// Returns the settings with which a new service continues the log at `path`.
fn again(path: &Path) -> LogOptions {
    log_options(path.to_owned(), LogMode::Sync)
}

/// Tries to start a service with this log, and returns the error.
async fn refused(path: &Path) -> StartError {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = options(write_rules(folder.path(), RULES), std::sync::Arc::new(|_| {}));
    options.log = Some(again(path));
    Server::bind(options).await.err().expect("the log cannot be used")
}

#[tokio::test]
async fn a_file_that_is_no_log_is_refused_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes");
    for text in ["hello", "one line\n", "one line\nhalf a li", "\n", "{\"route\":\"a\"}\n{\"rou"] {
        std::fs::write(&path, text).expect("it can be written");
        let error = refused(&path).await;
        assert!(error.to_string().contains("no hash of a chain"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
    }
}

#[tokio::test]
async fn a_log_has_one_writer() {
    let service = start_logging(|_| {}).await;
    let path = service.folder.path().join("log.jsonl");
    let error = refused(&path).await;
    assert!(error.to_string().contains("another process writes this log"), "{error}");
    let folder = service.end().await;
    let service = start_logging(|log| *log = again(&path)).await;
    service.post("/v1/decide", r#"{"message": {}}"#).await.json();
    drop(folder);
}

#[tokio::test]
async fn a_new_file_that_cannot_be_begun_is_tried_again() {
    let service = start_logging(|log| log.rotate_bytes = 1).await;
    let path = service.folder.path().join("log.jsonl");
    // The names that the log tries first for its full files already exist.
    let taken: Vec<PathBuf> = (1..=5).map(|next| full_file_path(&path, next)).collect();
    taken.iter().for_each(|path| std::fs::write(path, "kept").expect("it can be written"));
    for _ in 0..6 {
        let answer = service.post("/v1/decide", r#"{"message": {"text": "refund"}}"#).await;
        assert_eq!(answer.status, 200, "the lines are not lost: {}", answer.text());
    }
    let events = service.events.clone();
    let folder = service.end().await;
    let failed = |event: &&Json| event["event"] == "log_failed";
    assert_eq!(events.lock().expect("no test panics here").iter().filter(failed).count(), 1);
    for path in &taken {
        assert_eq!(std::fs::read_to_string(path).expect("a file"), "kept");
    }
    let mut logs = find_logs(folder.path()).expect("a folder");
    // The verification finds files by their names. So `rulec log verify` does not overlook these
    // files.
    assert!(taken.iter().all(|path| logs[0].contains(path)), "{logs:?}");
    logs[0].retain(|path| !taken.contains(path));
    assert!(logs[0].len() > 1, "{logs:?}");
    assert_eq!(decisions(&read_log(&logs[0])).len(), 6);
}

#[tokio::test]
async fn a_restarted_service_continues_its_log() {
    let folder = start_logging(|_| {}).await.end().await;
    let path = folder.path().join("log.jsonl");
    let again = |text: &str| {
        let (path, text) = (path.clone(), text.to_owned());
        async move {
            let mut old = std::fs::read(&path).unwrap_or_default();
            old.extend_from_slice(text.as_bytes());
            std::fs::write(&path, old).expect("it can be written");
            let service =
                start_with(RULES, |options, _| options.log = Some(log_options(path.clone(), LogMode::Sync)))
                    .await;
            service.post("/v1/decide", r#"{"message": {"text": "refund"}}"#).await.json();
            service.end().await;
        }
    };
    again("").await;
    // A killed process may leave an incomplete last line.
    again("{\"half\":").await;
    assert_eq!(decisions(&read_log(&[path])).len(), 2);
}

#[tokio::test]
async fn lines_over_the_capacity_are_dropped_and_counted() {
    for (lines, bytes) in [(0, usize::MAX), (usize::MAX, 100)] {
        count_dropped(lines, bytes).await;
    }
}

async fn count_dropped(lines: usize, bytes: usize) {
    let service = start_logging(|log| {
        log.mode = LogMode::Drop;
        (log.max_waiting_lines, log.max_waiting_bytes) = (lines, bytes);
    })
    .await;
    for _ in 0..5 {
        service.post("/v1/decide", r#"{"message": {"text": "refund"}}"#).await;
    }
    assert!(service.get("/metrics").await.text().contains("rulec_log_dropped_total 5"));
    let folder = service.end().await;
    let lines = read_log(&[folder.path().join("log.jsonl")]);
    assert_eq!(decisions(&lines).len(), 0);
    assert!(lines.iter().any(|line| line["dropped"] == 5), "{lines:?}");
}

#[tokio::test]
async fn lines_over_the_capacity_spill_to_the_disk() {
    let service = start_logging(|log| (log.mode, log.max_waiting_lines) = (LogMode::Spill, 0)).await;
    for number in 0..50 {
        let body = json!({ "message": { "text": "refund", "n": number } });
        service.post("/v1/decide", &body.to_string()).await;
    }
    let folder = service.end().await;
    let lines = read_log(&[folder.path().join("log.jsonl")]);
    let numbers: Vec<_> = decisions(&lines).iter().map(|line| line["message"]["n"].as_u64()).collect();
    assert_eq!(numbers, (0..50).map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_log_that_cannot_be_written_refuses_answers() {
    let service = start_logging(|log| log.target = LogTarget::File(PathBuf::from("/dev/full"))).await;
    let response = service.post("/v1/decide", r#"{"message": {}}"#).await;
    assert_eq!(response.status, 503, "{}", response.text());
    assert!(service.get("/metrics").await.text().contains("rulec_log_failed_total 1"));
}

/// Checks that the status is not 503, after which a caller sends the request again. A repeated
/// request would change the rules, or record the message, twice.
#[tokio::test]
async fn a_log_that_cannot_be_written_does_not_deny_a_change_that_is_made() {
    let text = "input { now: datetime, session: string }\n\
        history by session keep 1h\n\
        route again when any p in history within 10m: p.session == session -> deny\n\
        default -> run";
    let service = start_with(text, |options, folder| {
        super::admin::with_tokens(options, folder);
        options.log = Some(log_options(PathBuf::from("/dev/full"), LogMode::Sync));
    })
    .await;
    let check = |response: &super::Response| {
        assert_eq!(response.status, 500, "{}", response.text());
        assert_eq!(response.json()["type"], "urn:rulec:not-logged");
        assert_eq!(response.header("retry-after"), "");
    };
    let edits = json!({ "edits": [{ "insert": "route b when session == \"b\" -> b" }] });
    let changed = service.change("POST", "/edits", None, &edits).await;
    check(&changed);
    let rules = service.client.get(format!("{}/v1/rules/support", service.url)).bearer_auth("secret");
    let rules = service.send(rules).await.json();
    assert_eq!(changed.json()["generation"], rules["generation"]);
    assert!(rules["generation"].as_u64() > Some(1), "{rules}");
    let refused = service.change("POST", "/edits", None, &edits).await;
    assert_eq!(refused.status, 409, "nothing has changed: {}", refused.text());
    let message = json!({ "now": "2026-01-31T12:00:00Z", "session": "a" });
    let decide = |record: bool| {
        let body = json!({ "message": message, "record": record }).to_string();
        service.send(service.post_request("/v1/decide", &body).bearer_auth("secret"))
    };
    check(&decide(true).await);
    let unrecorded = decide(false).await;
    assert_eq!((unrecorded.status, unrecorded.header("retry-after")), (503, "1"));
}

/// The environment variable that makes [`no_answered_decision_is_lost`] run the service that the
/// test kills. Its value is the path of the log.
const CHILD_LOG: &str = "RULEC_TEST_LOG";

/// Runs a service until its process is killed.
async fn serve_until_killed(path: OsString) {
    let service = start_with(RULES, |options, _| {
        options.log = Some(log_options(PathBuf::from(path), LogMode::Sync));
    })
    .await;
    println!("listens {}", service.url);
    std::future::pending::<()>().await;
}

/// Kills a service at a random point while clients ask it. Returns the numbers of the answered
/// messages.
async fn kill_while_asked(path: &Path, first: u64, answers: usize) -> BTreeSet<u64> {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args(["--exact", "log::no_answered_decision_is_lost", "--nocapture"])
        .env(CHILD_LOG, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let address = output.lines().find_map(|line| line.ok()?.split("listens ").nth(1).map(str::to_owned));
    let url = format!("{}/v1/decide", address.expect("it listens"));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let (answered, mut numbers) = tokio::sync::mpsc::unbounded_channel();
    for asker in 0..4 {
        let (client, url, answered) = (client.clone(), url.clone(), answered.clone());
        tokio::spawn(async move {
            for number in (first + asker..).step_by(4) {
                let body = format!(r#"{{"message": {{"text": "refund", "n": {number}}}}}"#);
                let request = client.post(&url).header("content-type", "application/json").body(body);
                match request.send().await {
                    Ok(response) if response.status() == 200 => drop(answered.send(number)),
                    _ => return,
                }
            }
        });
    }
    drop(answered);
    let mut seen = BTreeSet::new();
    while seen.len() < answers {
        seen.insert(numbers.recv().await.expect("the service answers"));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    while let Some(number) = numbers.recv().await {
        seen.insert(number);
    }
    seen
}

/// The test starts its own program again, as the service that it kills. `RULEC_TIMES=100` kills 200
/// processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answered_decision_is_lost() {
    if let Some(path) = std::env::var_os(CHILD_LOG) {
        return serve_until_killed(path).await;
    }
    let times: u64 = std::env::var("RULEC_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    let mut answered = BTreeSet::new();
    for trial in 0..2 * times {
        // The number of answers before the process is killed differs from trial to trial.
        let answers = (trial * 7919 % 97 + 1) as usize;
        answered.extend(kill_while_asked(&path, trial * 1_000_000, answers).await);
    }
    // The log removes an incomplete last line when it is opened again. The test removes it in the
    // same way.
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, &text[..text.rfind('\n').map_or(0, |at| at + 1)]).expect("it can be written");
    let lines = read_log(&[path]);
    let logged: BTreeSet<u64> =
        decisions(&lines).iter().filter_map(|line| line["message"]["n"].as_u64()).collect();
    let lost: Vec<_> = answered.difference(&logged).collect();
    assert!(lost.is_empty(), "of {} answered decisions, these are lost: {lost:?}", answered.len());
}

/// A replay of the log also needs the messages that were recorded without a decision.
#[tokio::test]
async fn an_observed_message_is_a_line_of_its_own_kind() {
    let rules = "input { tool: string, card?: string @private, now: datetime }\nhistory keep 1h\n\
        route leak when tool == \"mail\" and any p in history: p.tool == \"secret\" -> deny\n";
    let service = start_with(rules, |options, folder| {
        options.log = Some(log_options(folder.join("log.jsonl"), LogMode::Sync));
    })
    .await;
    let message = json!({"tool": "secret", "card": "4111 1111", "now": "2026-01-31T12:00:00Z"});
    let observed = service.post("/v1/observe", &json!({ "message": message }).to_string()).await;
    assert_eq!(observed.json(), json!({ "observed": true }));
    let lines = read_log(&[service.folder.path().join("log.jsonl")]);
    let line = lines.iter().find(|line| line["observed"] == true).expect("a line");
    assert_eq!((&line["rules"], &line["message"]["tool"]), (&json!("support"), &json!("secret")));
    assert!(!line.to_string().contains("4111"), "{line}");
    let line = rulec_report::log::parse_line(line.as_object().cloned().expect("an object"));
    assert!(matches!(line, rulec_report::log::ParsedLine::Observed(_)), "{line:?}");
}
