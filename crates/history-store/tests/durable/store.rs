//! Tests of the durable store: which messages it saves and removes, and which folders it refuses.

use rulec::history::{HistoryGap, MemoryStore, Store, StoreError};
use rulec::{Rules, Session};
use rulec_history_store::DurableStore;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

const RULES: &str = "input { user: string, n: int, card?: string @private, now: datetime }
history by user keep 1h at most 4
route busy when (count p in history within 10m: p.n == n) >= 2 -> slow_down
route paid when any p in history: p.card == card -> again
route refused when previous.decision.target == \"slow_down\" -> ask
default -> run";

fn message(user: &str, n: i64, second: u32) -> Json {
    let now = format!("2026-01-31T12:{:02}:{:02}Z", second / 60, second % 60);
    json!({"user": user, "n": n, "card": format!("card {user} {n}"), "now": now})
}

fn open(folder: &Path) -> Arc<DurableStore> {
    Arc::new(DurableStore::open(folder).unwrap_or_else(|error| panic!("{error}")))
}

fn rules() -> Rules {
    Rules::from_text(RULES).unwrap_or_else(|error| panic!("{error}"))
}

/// Decides the same messages with a store in memory and a store on disk. The store on disk is
/// closed and opened again after each round of messages.
#[test]
fn a_store_on_disk_decides_like_one_in_memory() {
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    let mut memory = rules.session().with_history(Arc::new(MemoryStore::default()));
    let mut chosen = std::collections::BTreeSet::new();
    for round in 0..6_u32 {
        let mut disk: Session = rules.session().with_history(open(folder.path()));
        for at in 0..40_u32 {
            // Some messages are older than the message before them, and some have the same time as
            // another.
            let second = (round * 97 + at * 7) % 240 + round * 3;
            let message = message(["ann", "bob"][(at % 2) as usize], i64::from(at * at % 3), second);
            if at % 5 == 0 {
                memory.observe(&message).expect("it is recorded");
                disk.observe(&message).expect("it is recorded");
                continue;
            }
            let expected = memory.decide_and_record(&message).expect("it is recorded");
            let decision = disk.decide_and_record(&message).expect("it is recorded");
            assert_eq!(decision.chosen(), expected.chosen(), "{message}");
            assert_eq!(decision.history_gap(), expected.history_gap(), "{message}");
            chosen.extend(decision.chosen().map(str::to_owned));
        }
    }
    assert!(chosen.len() >= 3, "{chosen:?}");
    let report = open(folder.path()).check().expect("it can be read");
    assert_eq!((report.key_count, report.message_count, report.problems), (2, 8, Vec::new()));
}

#[test]
fn private_texts_are_on_disk_as_hashes_only() {
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    let store = open(folder.path());
    rules.observe(&*store, &message("ann", 1, 0)).expect("it is recorded");
    drop(store);
    for file in std::fs::read_dir(folder.path()).expect("a folder") {
        let bytes = std::fs::read(file.expect("a file").path()).expect("it can be read");
        assert!(!bytes.windows(8).any(|window| window == b"card ann"));
    }
    // After the store is opened again, it still recognizes the same card by its hash.
    let store = open(folder.path());
    let mut session = rules.session().with_history(store);
    assert_eq!(session.decide_with_history(&message("ann", 1, 5)).expect("a store").chosen(), Some("paid"));
    assert_eq!(
        session.decide_with_history(&message("ann", 2, 5)).expect("a store").chosen(),
        Some("default")
    );
}

#[test]
fn changes_without_waiting_are_there_after_a_flush() {
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    let store = DurableStore::open(folder.path()).expect("it opens").deferred();
    for at in 0..100 {
        rules.observe(&store, &message(&format!("user {at}"), 1, 0)).expect("it is recorded");
    }
    store.flush().expect("it is written");
    drop(store);
    assert_eq!(open(folder.path()).check().expect("it can be read").key_count, 100);
}

#[test]
fn many_threads_record_for_one_key() {
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    let rules = Rules::from_text(&RULES.replace("at most 4", "at most 400")).unwrap_or(rules);
    let store = open(folder.path());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (rules, store) = (&rules, &store);
            scope.spawn(move || {
                for at in 0..25 {
                    rules.observe(&**store, &message("ann", thread, at)).expect("it is recorded");
                }
            });
        }
    });
    drop(store);
    assert_eq!(open(folder.path()).check().expect("it can be read").message_count, 200);
}

#[test]
fn a_folder_serves_one_store_and_needs_its_key() {
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    let store = open(folder.path());
    rules.observe(&*store, &message("ann", 1, 0)).expect("it is recorded");
    let StoreError(refused) = DurableStore::open(folder.path()).expect_err("it is in use");
    assert!(refused.contains("another program uses this history"), "{refused}");
    drop(store);
    std::fs::remove_file(folder.path().join("hash.key")).expect("it is removed");
    let StoreError(refused) = DurableStore::open(folder.path()).expect_err("the key is missing");
    assert!(refused.contains("restore the file"), "{refused}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    // A crash has left an incomplete file of the hash key.
    std::fs::write(folder.path().join("hash.new"), "0123".repeat(20)).expect("it is written");
    let store = open(folder.path());
    rules.observe(&*store, &message("ann", 1, 0)).expect("it is recorded");
    let files = std::fs::read_dir(folder.path()).expect("a folder").map(|file| file.expect("a file"));
    let modes: Vec<u32> = files.map(|file| file.metadata().expect("a file").permissions().mode()).collect();
    assert!(modes.len() >= 3 && modes.iter().all(|mode| mode & 0o077 == 0), "{modes:?}");
    drop(store);
    open(folder.path());
}

#[test]
fn a_damaged_file_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("history.sqlite"), "no database, but a text".repeat(100)).expect("it");
    let StoreError(refused) = DurableStore::open(folder.path()).expect_err("it is damaged");
    assert!(refused.contains("history.sqlite"), "{refused}");
}

#[test]
fn compacting_removes_what_is_old() {
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    let store = open(folder.path());
    for at in 0..4 {
        rules.observe(&*store, &message("ann", 1, at * 60)).expect("it is recorded");
    }
    assert_eq!(store.compact(Some("2026-01-31T12:02:00Z")), Ok(2));
    assert_eq!(store.check().expect("it can be read").message_count, 2);
    assert!(store.compact(Some("yesterday")).is_err());
    // A decision of this store does not see the removed messages either.
    let mut seen = 0;
    store.with_key("\"ann", &mut |events| seen = events.elements().len()).expect("a key");
    assert_eq!(seen, 2);
    // If the time window of a rule includes removed messages, the decision reports a gap. It does
    // so also after the store is opened again.
    let gap = |store, now: &str| {
        let mut message = message("ann", 1, 0);
        message["now"] = json!(now);
        let mut session = rules.session().with_history(store);
        session.decide_with_history(&message).expect("a store").history_gap()
    };
    assert_eq!(gap(store.clone(), "2026-01-31T12:04:00Z"), Some(HistoryGap::Dropped));
    drop(store);
    assert_eq!(gap(open(folder.path()), "2026-01-31T13:01:00Z"), Some(HistoryGap::Dropped));
    // One second later, even the newest removed message is too old for the history. So the decision
    // reports no gap.
    assert_eq!(gap(open(folder.path()), "2026-01-31T13:01:01Z"), None);
}

/// Compacts the store while other threads record. At the end, the store has exactly the newest
/// messages. So the compaction did not cause the removal of other messages.
#[test]
fn compacting_while_messages_are_recorded_removes_no_other_message() {
    let (folder, rules) = (tempfile::tempdir().expect("a folder"), rules());
    let store = open(folder.path());
    std::thread::scope(|scope| {
        for user in ["ann", "bob"] {
            let (rules, store) = (&rules, &store);
            scope.spawn(move || {
                for second in 0..200 {
                    rules.observe(&**store, &message(user, 1, second)).expect("it is recorded");
                }
            });
        }
        for second in 0..40 {
            store.compact(Some(&format!("2026-01-31T12:00:{second:02}Z"))).expect("it is compacted");
        }
    });
    drop(store);
    let mut kept = Vec::new();
    for user in ["ann", "bob"] {
        let past = rules.past(&*open(folder.path()), &message(user, 1, 300)).expect("a store");
        kept.extend(past.elements().iter().map(|element| element["at"].to_string()));
    }
    let newest = (196..200).map(|second| message("ann", 1, second)["now"].to_string());
    let newest: Vec<String> = newest.collect();
    assert_eq!(kept, [newest.clone(), newest].concat());
}

/// Regression test: a message may be nested 128 levels deep, and the store read only 127 levels.
#[test]
fn the_deepest_message_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = Rules::from_text(
        "input { data: list<any>, now: datetime }\nhistory keep 1h\n\
         route many when any p in history: len(p.data) > 2 -> ask\ndefault -> run",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
    let message = format!("{{\"data\": {deep}, \"now\": \"2026-01-31T12:00:00Z\"}}");
    let message = Json::Object(rules.parse_message(message.as_bytes()).expect("it is a message"));
    rules.observe(&*open(folder.path()), &message).expect("it is recorded");
    let again = open(folder.path());
    assert_eq!(rules.past(&*again, &message).expect("it is read").elements().len(), 1);
}
