//! Tests of the shared store: which messages it saves and removes, and which servers it refuses.

use super::server::Server;
use rulec::Rules;
use rulec::history::{HistoryGap, MemoryStore, Store, StoreError};
use rulec_history_store::{SharedAddress, SharedStore};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const RULES: &str = "input { user: string, n: int, card?: string @private, now: datetime }
history by user keep 1h at most 4
route busy when (count p in history within 10m: p.n == n) >= 2 -> slow_down
route paid when any p in history: p.card == card -> again
route refused when previous.decision.target == \"slow_down\" -> ask
default -> run";

fn rules() -> Rules {
    Rules::from_text(RULES).unwrap_or_else(|error| panic!("{error}"))
}

fn address(url: &str) -> SharedAddress {
    SharedAddress::parse(url).unwrap_or_else(|error| panic!("{error}"))
}

fn open(url: &str) -> Arc<SharedStore> {
    Arc::new(SharedStore::open(&address(url)).unwrap_or_else(|error| panic!("{error}")))
}

fn message(user: &str, n: i64, second: u32) -> Json {
    let now = format!("2026-01-31T12:{:02}:{:02}.{:03}Z", second / 60, second % 60, n * 7 % 3);
    json!({"user": user, "n": n, "card": format!("card {user} {n}"), "now": now})
}

fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    result.expect_err("it is refused").0
}

/// Decides the same messages with a store in memory and with two stores that share a server. Some
/// messages are older than the message before them, and some have the same time as another.
#[test]
fn two_stores_at_one_server_decide_like_one_in_memory() {
    let (server, rules) = (Server::start(), rules());
    let memory = MemoryStore::default();
    let shared = [open(&server.url()), open(&server.url())];
    let entry = rules.entry("routes").expect("an entry");
    let mut chosen = std::collections::BTreeSet::new();
    for at in 0..400_u32 {
        let second = (at * 97) % 240 + at / 40 * 3;
        let message = message(["ann", "\"bob", "1"][(at % 3) as usize], i64::from(at * at % 3), second);
        let store = &*shared[(at / 2 % 2) as usize];
        if at % 5 == 0 {
            rules.observe(&memory, &message).expect("it is recorded");
            rules.observe(store, &message).expect("it is recorded");
            continue;
        }
        let expected = entry.decide_and_record(&memory, &message).expect("it is recorded");
        let decision = entry.decide_and_record(store, &message).expect("it is recorded");
        assert_eq!(decision.chosen(), expected.chosen(), "{message}");
        assert_eq!(decision.history_gap(), expected.history_gap(), "{message}");
        chosen.extend(decision.chosen().map(str::to_owned));
    }
    assert!(chosen.len() >= 3, "{chosen:?}");
    let report = shared[0].check().expect("it can be read");
    assert_eq!((report.key_count, report.message_count, report.problems), (3, 12, Vec::new()));
}

#[test]
fn messages_are_shown_in_order_and_compacted_while_others_use_them() {
    let (server, rules) = (Server::start(), rules());
    let (store, other) = (open(&server.url()), open(&server.url()));
    for at in [3, 1, 2, 4, 5] {
        rules.observe(&*store, &message("ann", 1, at * 60)).expect("it is recorded");
    }
    rules.observe(&*store, &message("bob", 1, 0)).expect("it is recorded");
    // The other store caches the messages, and must notice that they were removed at the server.
    assert_eq!(
        rules.past(&*other, &message("ann", 1, 300)).expect("a past").gap(),
        Some(HistoryGap::Dropped)
    );
    let shown = |key: Option<&str>| {
        let mut shown = Vec::new();
        store
            .for_each(key, |kept| {
                shown.push(format!(
                    "{} {}",
                    kept.history_key,
                    kept.message["at"].as_str().unwrap_or_default()
                ));
                true
            })
            .expect("it can be read");
        shown
    };
    assert_eq!(shown(None).len(), 5);
    let times: Vec<String> = shown(Some("\"ann"));
    assert!(times.is_sorted() && times.len() == 4 && times[0].contains("12:02:00"), "{times:?}");
    assert_eq!(store.compact(None), Ok(0));
    assert_eq!(store.compact(Some("2026-01-31T12:04:00Z")), Ok(3));
    assert_eq!(shown(None).len(), 2);
    let mut left = 0;
    other.with_key("\"ann", &mut |events| left = events.elements().len()).expect("it can be read");
    assert_eq!(left, 2);
    let bob = rules.past(&*other, &message("bob", 1, 10)).expect("a past");
    assert_eq!(bob.gap(), Some(HistoryGap::Dropped));
    assert!(refusal(store.compact(Some("yesterday"))).contains("`yesterday` is no time"));
}

#[test]
fn private_texts_are_at_the_server_as_hashes_that_all_stores_know() {
    let (server, rules) = (Server::start(), rules());
    rules.observe(&*open(&server.url()), &message("ann", 1, 0)).expect("it is recorded");
    let other = open(&server.url());
    other
        .for_each(None, |kept| {
            assert!(!kept.message.to_string().contains("card ann"), "{}", kept.message);
            true
        })
        .expect("it can be read");
    let past = rules.past(&*other, &message("ann", 1, 5)).expect("a past");
    let entry = rules.entry("routes").expect("an entry").with_history(&past);
    assert_eq!(entry.decide(&message("ann", 1, 5)).chosen(), Some("paid"));
    assert_eq!(entry.decide(&message("ann", 2, 5)).chosen(), Some("default"));
}

#[test]
fn histories_have_names() {
    let (server, rules) = (Server::start(), rules());
    let url = |name: &str| format!("redis://127.0.0.1:{}{name}", server.port);
    assert!(refusal(SharedStore::open_existing(&address(&url("")))).contains("the server has no history"));
    assert!(refusal(SharedStore::open_existing(&address(&url("#a")))).contains("has no history `a`"));
    for name in ["a", "a:state", "histories", "[x]*?"] {
        rules.observe(&*open(&url(&format!("#{name}"))), &message(name, 1, 0)).expect("it is recorded");
    }
    for name in ["a", "a:state", "histories", "[x]*?"] {
        let store = SharedStore::open_existing(&address(&url(&format!("#{name}")))).expect("it exists");
        let mut keys = Vec::new();
        store
            .for_each(None, |kept| {
                keys.push(kept.history_key);
                true
            })
            .expect("it can be read");
        assert_eq!(keys, [format!("\"{name}")]);
    }
    let several = refusal(SharedStore::open_existing(&address(&url(""))));
    assert!(
        several.contains("several histories") && several.contains("[x]*?, a, a:state, histories"),
        "{several}"
    );
    assert!(refusal(SharedStore::open(&address(&url("")))).contains("the history has no name"));
}

#[test]
fn what_is_wrong_with_a_server_is_reported_with_a_remedy() {
    let gone = format!("redis://127.0.0.1:{}/0#shop", {
        let server = Server::start();
        server.port
    });
    let refused = refusal(SharedStore::open(&address(&gone)));
    assert!(refused.contains("no server answers at this address"), "{refused}");

    let server = Server::with(&["--requirepass", "open sesame"]);
    let needed = refusal(SharedStore::open(&address(&server.url())));
    assert!(needed.contains("needs a password"), "{needed}");
    let wrong = refusal(SharedStore::open(&address(&server.url()).with_password("open barley")));
    assert!(wrong.contains("refuses the user or the password") && !wrong.contains("barley"), "{wrong}");
    SharedStore::open(&address(&server.url()).with_password("open sesame")).expect("it opens");

    let server = Server::with(&["--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"]);
    let evicts = refusal(SharedStore::open(&address(&server.url())));
    assert!(evicts.contains("set `maxmemory-policy noeviction`"), "{evicts}");

    let server = Server::with(&["--databases", "2"]);
    let database = refusal(SharedStore::open(&address(&server.url().replace("/0#", "/7#"))));
    assert!(database.contains("out of range"), "{database}");

    // The rights that the documentation names are enough.
    let server = Server::start();
    let rights = "+eval +evalsha +script|load +scan +@hash +@set +@sortedset";
    send(&server, &format!("ACL SETUSER app on >barley ~rulec* -@all {rights}"));
    let store = SharedStore::open(&address(&server.url().replace("//", "//app:barley@")));
    let store = store.expect("the rights are enough");
    rules().observe(&store, &message("ann", 1, 0)).expect("it is recorded");
    assert_eq!(store.check().map(|report| (report.message_count, report.problems)), Ok((1, Vec::new())));
    assert_eq!(store.compact(Some("2026-02-01T00:00:00Z")), Ok(1));
}

#[test]
fn settings_that_are_gone_are_not_made_again() {
    let (server, rules) = (Server::start(), rules());
    rules.observe(&*open(&server.url()), &message("ann", 1, 0)).expect("it is recorded");
    send(&server, "DEL rulec:shop");
    let missing = refusal(SharedStore::open(&address(&server.url())));
    assert!(missing.contains("its settings `rulec:shop` are missing"), "{missing}");
    send(&server, "HSET rulec:shop format 2 hash_key x");
    assert!(refusal(SharedStore::open(&address(&server.url()))).contains("has the format 2"));
}

#[test]
fn a_damaged_message_is_found_and_not_read_over() {
    let (server, rules) = (Server::start(), rules());
    let store = open(&server.url());
    rules.observe(&*store, &message("ann", 1, 0)).expect("it is recorded");
    rules.observe(&*store, &message("bob", 1, 0)).expect("it is recorded");
    send(&server, "ZADD rulec:shop:messages:\"bob 1 broken");
    let report = store.check().expect("it can be read");
    assert_eq!((report.key_count, report.message_count, report.problems.len()), (2, 3, 1));
    assert!(report.problems[0].contains("a kept message is no JSON"), "{:?}", report.problems);
    let error = refusal(rules.past(&*open(&server.url()), &message("bob", 1, 1)));
    assert!(error.contains("a kept message is no JSON") && error.contains("bob"), "{error}");
    rules.past(&*open(&server.url()), &message("ann", 1, 1)).expect("others are read");
}

/// Sends a command, whose words are separated by spaces, and waits for its answer.
fn send(server: &Server, command: &str) {
    use std::io::{Read, Write};
    let words: Vec<&str> = command.split(' ').collect();
    let mut request = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| request.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).expect("an answer");
    assert_ne!(answer[0], b'-', "{}", String::from_utf8_lossy(&answer[..length]));
}
