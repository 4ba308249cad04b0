//! Tests a router under load: slow, failing and panicking handlers; a decision log on a disk that
//! fills up; a rules file that changes all the time. Each message must have exactly one outcome, by
//! the version of the rules that decided it. Lost log lines must be counted. With `RULEC_TIMES=500`
//! the test sends ten million messages.

#[path = "../../../tests/support/trials.rs"]
mod trials;

use rulec::{Compiler, Rules};
use rulec_runtime::route::{DecisionLog, HandlerError, Policy, Request, Router};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const MESSAGE_COUNT: u64 = 20_000;
/// Number of concurrent senders; each waits for its reply before it sends again.
const SENDER_COUNT: u64 = 32;
const RULES: &str = "
route fails when n % 10 == 1 -> fails
route panics when n % 100 == 2 -> panics
route slow when n % 1000 == 3 -> slow
route late when n % 1000 == 4 -> late
route refused when n % 10 == 5 -> secret
route rescued when n % 10 == 6 -> rescued
route answered when n % 10 == 7 -> plain(n: n)
handler secret() requires permission \"secret\"
handler fails()
handler panics()
handler slow()
handler late()
handler rescued()
handler plain(n: int)
";

/// A disk with room for this number of bytes, which then refuses all writes.
struct SlowDisk(usize);

impl Write for SlowDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        match taken {
            0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the expected result of message number `n`, as a word such as `failed`.
fn expected_result(n: u64) -> &'static str {
    match (n % 10, n % 100, n % 1000) {
        (1, ..) => "failed",
        (_, 2, _) => "panicked",
        (.., 4) => "timed_out",
        (5, ..) => "refused",
        (6 | 7, ..) | (.., 3) => "handled",
        _ => "no_route",
    }
}

fn build_router(log: DecisionLog, calls: &Arc<AtomicU64>) -> Router {
    async fn plain(request: Request) -> Json {
        json!(request.args["n"])
    }
    let counted = calls.clone();
    Router::builder(Rules::from_text(RULES).expect("they compile"))
        .handler("plain", plain)
        .handler("fails", |_| async { Err::<Json, _>(HandlerError::from("no")) })
        .handler("panics", |_| async {
            if true {
                panic!("at the disco");
            }
            Json::Null
        })
        .handler("slow", |_| async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            Json::Null
        })
        .handler("late", |_| async {
            std::future::pending::<()>().await;
            Json::Null
        })
        .handler("secret", |_| async { json!("nobody may see this") })
        .handler("rescued", |_| async { Err::<Json, _>(HandlerError::from("not today")) })
        .handler("rescue", move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { json!("saved") }
        })
        .policy("late", Policy::new().time_limit(Duration::from_millis(5)))
        .policy("rescued", Policy::new().fallback("rescue"))
        .log(log)
        .build()
        .expect("every handler is there")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_has_one_outcome_and_every_lost_line_is_counted() {
    // Suppresses thousands of intended panics, which would hide an unexpected one.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some("at the disco") {
            hook(panic);
        }
    }));
    let numbers = trials::seeds(MESSAGE_COUNT);
    let (first, count) = (numbers.start, numbers.end - numbers.start);
    // At 100 bytes per line, the disk is full after half of the messages.
    let log =
        DecisionLog::builder().message(false).to_writer(SlowDisk(count as usize * 50)).expect("a thread");
    let calls = Arc::new(AtomicU64::new(0));
    let router = build_router(log.clone(), &calls);
    let senders = (0..SENDER_COUNT).map(|sender| {
        let router = router.clone();
        tokio::spawn(async move {
            let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
            for n in (first + sender..first + count).step_by(SENDER_COUNT as usize) {
                let outcome = router.route(json!({ "n": n })).await;
                assert_eq!(outcome.result.kind(), expected_result(n), "{n}: {outcome:?}");
                assert!(n % 10 != 7 || outcome.reply() == Some(&json!(n)), "{outcome:?}");
                *ends.entry(outcome.result.kind()).or_default() += 1;
            }
            ends
        })
    });
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for sender in senders.collect::<Vec<_>>() {
        for (kind, count) in sender.await.expect("no assertion fails") {
            *ends.entry(kind).or_default() += count;
        }
    }
    let kinds: BTreeSet<&str> = ends.keys().copied().collect();
    let all = ["failed", "handled", "no_route", "panicked", "refused", "timed_out"];
    assert_eq!(kinds, BTreeSet::from(all));
    let stats = router.stats().messages;
    assert_eq!((ends.values().sum::<u64>(), stats.total()), (count, count));
    let counted =
        [stats.failed, stats.handled, stats.no_route, stats.panicked, stats.refused, stats.timed_out];
    assert_eq!(counted.map(Some), all.map(|kind| ends.get(kind).copied()));
    assert_eq!(calls.load(Ordering::Relaxed), count / 10);
    log.close().await;
    let log = log.stats();
    println!("{ends:?}; {log:?}");
    assert_eq!(log.written + log.dropped + log.failed, count, "{log:?}");
    assert!(log.written > 0 && log.failed > 0, "{log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_change_all_the_time_lose_no_message() {
    let folder = tempfile::tempdir().expect("a place for files");
    let path = folder.path().join("main.rules");
    let version = |at: u64| match at % 10 {
        // A version that does not compile, and an empty one.
        3 => "route broken when -> a".to_owned(),
        6 => String::new(),
        _ => format!("route r when n >= 0 -> a(version: {at})"),
    };
    let write = |at: u64| {
        let next = folder.path().join("next");
        std::fs::write(&next, version(at)).expect("it can be written");
        std::fs::rename(&next, &path).expect("it can be put there");
    };
    write(0);
    async fn echo(request: Request) -> Json {
        json!([request.generation, request.args["version"]])
    }
    let start = Rules::from_text("default -> a(version: 0)").expect("they compile");
    let router = Router::builder(start).handler("a", echo).build().expect("the handler is there");
    let mut watch = router.watch(Compiler::new(), &path).await.expect("it compiles");
    let senders = [(); 2].map(|()| {
        let router = router.clone();
        tokio::spawn(async move {
            // All replies of one generation must come from the same version of the rules.
            let mut versions: BTreeMap<u64, Json> = BTreeMap::new();
            let mut last = 0;
            for n in 0.. {
                let outcome = router.route(json!({ "n": n })).await;
                let [generation, version] = <[Json; 2]>::try_from(
                    outcome.reply().expect("it is handled").as_array().expect("a pair").clone(),
                )
                .expect("a pair");
                let generation = generation.as_u64().expect("a number");
                assert!(generation >= last, "rules went back");
                last = generation;
                assert_eq!(*versions.entry(generation).or_insert_with(|| version.clone()), version);
                if version == json!(-1) {
                    return (n, versions.len());
                }
                tokio::task::yield_now().await;
            }
            unreachable!("it ends with the last version")
        })
    });
    let reloads = trials::seeds(20);
    for at in 1..=reloads.end - reloads.start {
        write(at);
        let status = watch.changed().await;
        assert_eq!(status.error.is_some(), matches!(at % 10, 3 | 6), "version {at}: {status:?}");
    }
    std::fs::write(&path, "route r when n >= 0 -> a(version: -1)").expect("it can be written");
    for sender in senders {
        let (messages, generations) = sender.await.expect("no assertion fails");
        println!("{messages} messages by {generations} generations");
        assert!(messages > 0 && generations > 1);
    }
    let status = watch.status();
    assert!(status.loaded + status.refused > reloads.end - reloads.start, "{status:?}");
}
