//! Tests of the decision log: the content of lines, private data, and write failures.

use rulec::Rules;
use rulec_runtime::route::{DecisionLog, HandlerError, Request, Router};
use serde_json::{Value as Json, json};
use std::io::{self, Write};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const PHONE: &str = "+44 20 7946 0000";

const RULES_WITH_PRIVATE_FIELD: &str = r#"
input {
  text: string
  ctx: { n?: int, user?: { id: string, phone: string @private } }
}
route ring when text == "ring" -> ring(phone: ctx.user.phone, id: ctx.user.id, longer: len(ctx.user.phone) > 3)
route call when text == "call" and ctx.user.phone starts_with "+" -> call
route jump when text == "jump" -> goto inner
route wait when text == "wait" -> wait
table inner { default -> ok }
"#;

/// A writer that collects the output for the test.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SharedBuffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Parses all lines; each must be JSON.
    fn lines(&self) -> Vec<Json> {
        let text = self.text();
        assert!(text.is_empty() || text.ends_with('\n'), "the last line is cut: {text:?}");
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }
}

/// A writer that follows a script: each step says how one `write` call ends. The last step repeats.
struct ScriptedWriter {
    kept: SharedBuffer,
    script: Vec<WriteStep>,
}

#[derive(Clone, Copy)]
enum WriteStep {
    Take,
    TakePart(usize),
    TakeNothing,
    Interrupt,
    Fail,
    Panic,
}

impl Write for ScriptedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = if self.script.len() > 1 { self.script.remove(0) } else { self.script[0] };
        match step {
            WriteStep::Take => self.kept.write(bytes),
            WriteStep::TakePart(n) => self.kept.write(&bytes[..n.min(bytes.len())]),
            WriteStep::TakeNothing => Ok(0),
            WriteStep::Interrupt => Err(io::ErrorKind::Interrupted.into()),
            WriteStep::Fail => Err(io::ErrorKind::StorageFull.into()),
            WriteStep::Panic => panic!("the writer broke"),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Builds a router over `RULES_WITH_PRIVATE_FIELD` that writes to this log.
fn build_router(log: DecisionLog) -> Router {
    Router::builder(Rules::from_text(RULES_WITH_PRIVATE_FIELD).unwrap())
        .handler("ring", |request: Request| async move {
            assert_eq!(request.args["phone"], PHONE, "a handler gets what is private");
            json!("rung")
        })
        .handler("call", |request: Request| async move {
            // Handlers should not quote private data, but some do.
            Err::<Json, HandlerError>(format!("cannot call {}", request.context()["user"]["phone"]).into())
        })
        .handler("ok", |request: Request| async move {
            match request.context()["n"].as_i64() {
                Some(n) => Ok(json!(n)),
                None => Err("there is no n"),
            }
        })
        .handler("wait", |_| std::future::pending::<Json>())
        .log(log)
        .build()
        .unwrap()
}

fn jump_message(n: i64) -> Json {
    json!({"text": "jump", "ctx": {"n": n}})
}

fn message_with_phone(text: &str) -> Json {
    json!({"text": text, "ctx": {"user": {"id": "u1", "phone": PHONE}}})
}

#[tokio::test]
async fn every_decision_is_a_line() {
    let kept = SharedBuffer::default();
    let log = DecisionLog::builder().to_writer(kept.clone()).unwrap();
    let router = build_router(log.clone());
    for message in
        [jump_message(1), json!({"text": "jump", "ctx": {}}), json!({"text": "nothing", "ctx": "none"})]
    {
        router.route(message).await;
    }
    let stats = log.close().await;
    assert_eq!((stats.written, stats.dropped, stats.failed, stats.last_error), (3, 0, 0, None));

    let lines = kept.lines();
    assert_eq!(lines.len(), 3);
    let generation = router.rules().generation();
    for line in &lines {
        assert!(OffsetDateTime::parse(line["time"].as_str().unwrap(), &Rfc3339).is_ok(), "{line}");
        assert!(line["elapsed_us"].is_u64());
        assert_eq!((&line["generation"], &line["entry"]), (&json!(generation), &json!("routes")));
        assert_eq!(line.get("explanation"), None);
    }
    let facts =
        |line: &Json| json!([line["route"], line["handler"], line["path"], line["result"], line["error"]]);
    assert_eq!(facts(&lines[0]), json!(["default", "ok", ["routes", "inner"], "handled", null]));
    assert_eq!(lines[0]["message"], jump_message(1));
    assert_eq!(facts(&lines[1]), json!(["default", "ok", ["routes", "inner"], "failed", "there is no n"]));
    assert_eq!(facts(&lines[2]), json!([null, null, ["routes"], "no_route", null]));
    assert_eq!(lines[2]["breaches"][0]["path"], "ctx");

    // Decisions after the close are counted as dropped, and a second `flush` or `close` does not
    // wait.
    router.route(jump_message(1)).await;
    assert_eq!(log.flush().await.dropped, 1);
    assert_eq!(log.close().await.written, 3);
}

#[tokio::test]
async fn what_is_private_is_in_no_line() {
    let kept = SharedBuffer::default();
    let log = DecisionLog::builder().explanation(true).to_writer(kept.clone()).unwrap();
    let router = build_router(log.clone());
    for text in ["ring", "call", "none of them"] {
        router.route(message_with_phone(text)).await;
    }
    // These messages do not have the declared shape, so any part of them may be private.
    router.route(json!({"text": "ring", "ctx": [PHONE]})).await;
    router.route(json!([PHONE])).await;
    assert_eq!(log.close().await.written, 5);
    assert!(!kept.text().contains("7946 0000"), "{}", kept.text());

    let lines = kept.lines();
    assert_eq!(lines[0]["args"], json!({"phone": "•••", "id": "u1", "longer": "•••"}));
    assert_eq!(lines[0]["message"], json!({"text": "ring", "ctx": {"user": {"id": "u1", "phone": "•••"}}}));
    assert_eq!(lines[0]["explanation"]["chosen"], "ring");
    assert_eq!((&lines[1]["result"], &lines[1]["error"]), (&json!("failed"), &json!("•••")));
    assert_eq!(lines[3]["message"], json!({"text": "ring", "ctx": "•••"}));
    assert_eq!(lines[4]["message"], json!("•••"));
}

#[tokio::test]
async fn messages_can_be_left_out() {
    let kept = SharedBuffer::default();
    let log = DecisionLog::builder().message(false).to_writer(kept.clone()).unwrap();
    build_router(log.clone()).route(jump_message(1)).await;
    log.close().await;
    assert_eq!(kept.lines()[0].get("message"), None);
}

#[tokio::test]
async fn a_decision_whose_caller_gave_up_is_recorded() {
    let kept = SharedBuffer::default();
    let log = DecisionLog::builder().to_writer(kept.clone()).unwrap();
    let router = build_router(log.clone());
    let mut waiting = Box::pin(router.route(json!({"text": "wait", "ctx": {}})));
    let polled = std::future::poll_fn(|context| std::task::Poll::Ready(waiting.as_mut().poll(context))).await;
    assert!(polled.is_pending());
    drop(waiting);
    assert_eq!(log.close().await.written, 1);
    assert_eq!(
        (&kept.lines()[0]["route"], &kept.lines()[0]["result"]),
        (&json!("wait"), &json!("cancelled"))
    );
}

#[tokio::test]
async fn a_writer_that_fails_costs_no_decision_and_every_line_is_accounted_for() {
    use WriteStep::*;
    // One case: the script of the writer, and the expected results for five lines. These are the
    // number of written lines, the number of failed lines, the last error, and `n` of each complete
    // line.
    type Case = (&'static [WriteStep], u64, u64, Option<&'static str>, &'static [i64]);
    let cases: &[Case] = &[
        (&[Take], 5, 0, None, &[0, 1, 2, 3, 4]),
        (&[Fail], 0, 5, Some("no storage space"), &[]),
        (&[TakeNothing], 0, 5, Some("write zero"), &[]),
        (&[Panic], 0, 5, Some("panicked: the writer broke"), &[]),
        (&[Interrupt, Interrupt, Take], 5, 0, None, &[0, 1, 2, 3, 4]),
        (&[TakePart(1)], 5, 0, None, &[0, 1, 2, 3, 4]),
        // The disk is full, and later has space again.
        (&[Take, Fail, Fail, Take], 3, 2, Some("no storage space"), &[0, 3, 4]),
        // The partly written line is completed before the next one.
        (&[Take, TakePart(10), Fail, Take], 5, 0, Some("no storage space"), &[0, 1, 2, 3, 4]),
    ];
    for (case, (script, written, failed, error, there)) in cases.iter().enumerate() {
        let kept = SharedBuffer::default();
        let writer = ScriptedWriter { kept: kept.clone(), script: script.to_vec() };
        let log = DecisionLog::builder().to_writer(writer).unwrap();
        let router = build_router(log.clone());
        for n in 0..5 {
            assert_eq!(router.route(jump_message(n)).await.reply(), Some(&json!(n)), "case {case}");
        }
        let stats = log.close().await;
        assert_eq!((stats.written, stats.failed, stats.dropped), (*written, *failed, 0), "case {case}");
        assert_eq!(stats.last_error.as_deref(), *error, "case {case}");
        let found: Vec<i64> =
            kept.lines().iter().map(|line| line["message"]["ctx"]["n"].as_i64().unwrap()).collect();
        assert_eq!(found, *there, "case {case}");
    }
}

#[tokio::test]
async fn a_line_cut_at_the_end_counts_as_failed() {
    let kept = SharedBuffer::default();
    let writer =
        ScriptedWriter { kept: kept.clone(), script: vec![WriteStep::TakePart(10), WriteStep::Fail] };
    let log = DecisionLog::builder().to_writer(writer).unwrap();
    build_router(log.clone()).route(jump_message(1)).await;
    assert_eq!((log.flush().await.failed, log.close().await.failed), (0, 1));
    assert_eq!(kept.text().len(), 10);
}

#[tokio::test]
async fn lines_that_cannot_be_flushed_count_as_failed() {
    struct FailingFlush;
    impl Write for FailingFlush {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::other("the disk went away"))
        }
    }
    let log = DecisionLog::builder().to_writer(FailingFlush).unwrap();
    build_router(log.clone()).route(jump_message(1)).await;
    let stats = log.close().await;
    assert_eq!(
        (stats.written, stats.failed, stats.last_error.as_deref()),
        (0, 1, Some("the disk went away"))
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_costs_no_decision() {
    let log = DecisionLog::to_file("/dev/full").unwrap();
    let router = build_router(log.clone());
    for n in 0..3 {
        assert_eq!(router.route(jump_message(n)).await.reply(), Some(&json!(n)));
    }
    let stats = log.close().await;
    assert_eq!((stats.written, stats.failed), (0, 3));
    assert!(stats.last_error.is_some_and(|error| error.contains("No space left")));
}

#[tokio::test]
async fn a_closed_pipe_costs_no_decision() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let log = DecisionLog::builder().to_writer(writer).unwrap();
    let router = build_router(log.clone());
    assert_eq!(router.route(jump_message(1)).await.reply(), Some(&json!(1)));
    let stats = log.close().await;
    assert_eq!((stats.written, stats.failed), (0, 1));
    assert!(stats.last_error.is_some());
}

/// A writer that blocks until the test drops the sender of `go`.
struct BlockedWriter {
    kept: SharedBuffer,
    entered: mpsc::Sender<()>,
    go: mpsc::Receiver<()>,
}

impl Write for BlockedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The test may no longer be receiving.
        let _ = self.entered.send(());
        let _ = self.go.recv();
        self.kept.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_writer_that_stands_still_delays_no_decision_and_what_is_dropped_is_counted() {
    let kept = SharedBuffer::default();
    let ((entered, is_in), (go, wait)) = (mpsc::channel(), mpsc::channel());
    let writer = BlockedWriter { kept: kept.clone(), entered, go: wait };
    let log = DecisionLog::builder().capacity(2).to_writer(writer).unwrap();
    let router = build_router(log.clone());
    router.route(jump_message(0)).await;
    // The writer is in the middle of the first line; the queue has room for two more.
    is_in.recv().unwrap();
    for n in 1..10 {
        assert_eq!(router.route(jump_message(n)).await.reply(), Some(&json!(n)));
    }
    assert_eq!((log.stats().written, log.stats().dropped), (0, 7));
    drop(go);
    let stats = log.close().await;
    assert_eq!((stats.written, stats.dropped, stats.failed), (3, 7, 0));
    let found: Vec<Json> = kept.lines().iter().map(|line| line["message"]["ctx"]["n"].clone()).collect();
    assert_eq!(found, [0, 1, 2]);
}

#[tokio::test]
async fn a_file_is_appended_to_and_a_log_nobody_closed_is_written_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.jsonl");
    for n in 0..2 {
        let router = build_router(DecisionLog::to_file(&path).unwrap());
        router.route(jump_message(n)).await;
        drop(router);
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let found: Vec<Json> = text
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["message"]["ctx"]["n"].clone())
        .collect();
    assert_eq!(found, [0, 1]);
    assert!(DecisionLog::to_file(folder.path().join("no/such/folder")).is_err());
}
