//! Tests that no acknowledged message is lost when the process is killed.
//!
//! The test starts itself as a child process, which records messages and prints the number of each
//! one after it was recorded. `RULEC_KILLS` sets how often the child is killed.

use rulec::Rules;
use rulec_history_store::DurableStore;
use serde_json::json;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const RULES: &str = "input { user: int, n: int, now: datetime }
history by user
route again when any p in history: p.n == n -> again
default -> run";
/// The environment variable with the folder of the store. It is set only in the child process.
const FOLDER: &str = "RULEC_HISTORY_CHILD";
const THREADS: i64 = 4;

/// Records messages until the process is killed.
fn record_until_killed(folder: &Path) {
    let rules = Rules::from_text(RULES).expect("they compile");
    let store = Arc::new(DurableStore::open(folder).expect("it opens"));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (rules, store) = (&rules, Arc::clone(&store));
            scope.spawn(move || {
                let mut session = rules.session().with_history(store);
                let start = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_nanos() as i64;
                for n in start.. {
                    let message =
                        json!({"user": n % 3, "n": n * THREADS + thread, "now": "2026-01-31T12:00:00Z"});
                    session.decide_and_record(&message).expect("it is recorded");
                    let mut out = std::io::stdout().lock();
                    let written = writeln!(out, "recorded {} {}", n % 3, n * THREADS + thread);
                    if written.and_then(|()| out.flush()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return record_until_killed(Path::new(&folder));
    }
    let kills: usize = std::env::var("RULEC_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let folder = tempfile::tempdir().expect("a folder");
    let mut acknowledged: HashSet<(i64, i64)> = HashSet::new();
    for round in 0..kills {
        let program = std::env::current_exe().expect("the test program");
        let mut child = Command::new(program)
            .args(["kill::nothing_acknowledged_is_lost", "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the child starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut read = |lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
            for line in &mut *lines {
                let numbers: Vec<i64> = line
                    .ok()?
                    .strip_prefix("recorded ")?
                    .split(' ')
                    .filter_map(|part| part.parse().ok())
                    .collect();
                if let [user, n] = numbers[..] {
                    acknowledged.insert((user, n));
                    return Some(());
                }
            }
            None
        };
        let mut count = 0;
        let wanted = 5 + round * 37 % 120;
        while count < wanted {
            let next = read(&mut lines);
            count += usize::from(next.is_some());
            // Before the numbers, the test harness of the child prints its own lines.
            if next.is_none() && child.try_wait().expect("a child").is_some() {
                panic!("the child ended after {count} messages");
            }
        }
        child.kill().expect("it is killed");
        // The child may have acknowledged more messages before it was killed.
        while read(&mut lines).is_some() {}
        child.wait().expect("it ended");
        let store = DurableStore::open(folder.path()).expect("it opens again");
        let report = store.check().expect("it can be read");
        assert_eq!(report.problems, Vec::<String>::new());
        assert!(
            report.message_count >= acknowledged.len(),
            "{} of {}",
            report.message_count,
            acknowledged.len()
        );
        let (sender, receiver) = std::sync::mpsc::channel();
        store.for_each(None, move |kept| sender.send(kept).is_ok()).expect("it can be read");
        let kept: HashSet<(i64, i64)> = receiver
            .into_iter()
            .map(|kept| {
                (kept.history_key.parse().expect("a number"), kept.message["n"].as_i64().expect("a number"))
            })
            .collect();
        let lost: Vec<_> = acknowledged.difference(&kept).collect();
        assert!(lost.is_empty(), "lost after kill {round}: {lost:?}");
    }
    println!("{kills} kills, {} messages acknowledged", acknowledged.len());
    assert!(acknowledged.len() > kills * 4);
}
