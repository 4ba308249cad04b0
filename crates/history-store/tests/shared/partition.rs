//! Tests that two nodes never spend more than their common budget, while connections break and the
//! server is killed.

use super::server::Server;
use rulec::Rules;
use rulec::history::{RecordError, StoreError};
use rulec_history_store::{SharedAddress, SharedStore};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The number of payments that the rules allow.
const BUDGET: usize = 10;
const RULES: &str = "input { user: string, node: int, now: datetime }
history by user keep 1d
route spent when (count p in history within 1d: p.decision.target == \"pay\") >= 10 -> ask
default -> pay";

fn rules() -> Rules {
    Rules::from_text(RULES).unwrap_or_else(|error| panic!("{error}"))
}

/// Opens the store of a node: one of several stores with the same history at the server.
fn node(port: u16) -> SharedStore {
    let address = SharedAddress::parse(&format!("redis://127.0.0.1:{port}/0#shop")).expect("an address");
    SharedStore::open(&address).unwrap_or_else(|error| panic!("{error}"))
}

fn message(user: &str, node: usize) -> Json {
    json!({"user": user, "node": node, "now": "2026-01-31T12:00:00Z"})
}

/// Returns true if the node may pay, and false if the budget is spent.
fn pay(rules: &Rules, store: &SharedStore, user: &str, node: usize) -> Result<bool, RecordError> {
    let entry = rules.entry("routes").expect("an entry");
    let decision = entry.decide_and_record(store, &message(user, node))?;
    Ok(decision.target() == Some("pay"))
}

/// The number of recorded messages that were decided as payments.
fn recorded_payments(store: &SharedStore, user: &str) -> usize {
    let mut count = 0;
    let count_payments = |kept: rulec_history_store::StoredMessage| {
        count += usize::from(kept.message["decision"]["target"] == "pay");
        true
    };
    store.for_each(Some(&format!("\"{user}")), count_payments).expect("it can be read");
    count
}

/// The fault that a proxy causes at a request that records a message.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The request is lost, and the connection breaks.
    LoseRequest,
    /// The server carries out the request. Its answer is lost, and the connection breaks.
    LoseAnswer,
    /// The connection breaks. The server gets the request later.
    Delay(Duration),
}

/// A proxy in front of a server, which breaks connections.
struct Proxy {
    port: u16,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    /// The faults of the next recording requests; `None` for a request that passes.
    planned: Mutex<Vec<Option<Fault>>>,
    /// While not 0, new connections are closed at once.
    is_cut: AtomicU32,
    met: AtomicUsize,
}

impl Proxy {
    fn start(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let faults = Arc::new(Faults::default());
        let shared = Arc::clone(&faults);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.is_cut.load(Ordering::SeqCst) == 0 {
                    let shared = Arc::clone(&shared);
                    std::thread::spawn(move || forward(client, server, &shared));
                }
            }
        });
        Proxy { port, faults }
    }

    /// Sets the faults of the next recording requests.
    fn plan(&self, faults: &[Option<Fault>]) {
        *self.faults.planned.lock().expect("a lock") = faults.iter().rev().copied().collect();
    }

    /// If `is_cut` is true, makes the proxy close all new connections at once. Otherwise ends that.
    fn cut(&self, is_cut: bool) {
        self.faults.is_cut.store(u32::from(is_cut), Ordering::SeqCst);
    }

    fn met(&self) -> usize {
        self.faults.met.load(Ordering::SeqCst)
    }
}

/// Forwards the requests of a client one after another, each with its answer.
fn forward(mut client: TcpStream, port: u16, faults: &Faults) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)) else { return };
    let mut request = vec![0; 1 << 16];
    while let Ok(length @ 1..) = client.read(&mut request) {
        let bytes = &request[..length];
        // Only a recording request has a message in its bytes.
        let records = bytes.windows(8).any(|window| window == b"\"target\"");
        let fault = match records {
            true => faults.planned.lock().expect("a lock").pop().flatten(),
            false => None,
        };
        faults.met.fetch_add(usize::from(fault.is_some()), Ordering::SeqCst);
        if let Some(Fault::Delay(time)) = fault {
            let _ = client.shutdown(Shutdown::Both);
            std::thread::sleep(time);
        }
        if fault == Some(Fault::LoseRequest) || server.write_all(bytes).is_err() {
            break;
        }
        if answer(&mut server, &mut client, fault.is_none()).is_none() || fault.is_some() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// Reads the answer of the server, and forwards it if `forwards` is true.
fn answer(server: &mut TcpStream, client: &mut TcpStream, forwards: bool) -> Option<()> {
    let mut bytes = vec![0; 1 << 20];
    server.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut length = server.read(&mut bytes).ok().filter(|length| *length > 0)?;
    // The rest of a long answer follows at once.
    server.set_read_timeout(Some(Duration::from_millis(2))).ok()?;
    while let Ok(more @ 1..) = server.read(&mut bytes[length..]) {
        length += more;
    }
    if forwards {
        client.write_all(&bytes[..length]).ok()?;
    }
    Some(())
}

/// Spends all but one unit of the budget of `user`.
fn spend_all_but_one(rules: &Rules, store: &SharedStore, user: &str) {
    for _ in 1..BUDGET {
        assert_eq!(pay(rules, store, user, 9), Ok(true));
    }
}

#[test]
fn a_lost_request_or_answer_neither_loses_nor_repeats_a_payment() {
    let (server, rules) = (Server::start(), rules());
    let proxy = Proxy::start(server.port);
    let (far, near) = (node(proxy.port), node(server.port));
    let faults = [
        vec![Some(Fault::LoseAnswer)],
        vec![Some(Fault::LoseRequest)],
        vec![Some(Fault::LoseAnswer), Some(Fault::LoseAnswer), Some(Fault::LoseRequest)],
        vec![Some(Fault::LoseRequest), Some(Fault::LoseAnswer)],
        vec![Some(Fault::Delay(Duration::from_millis(300)))],
    ];
    for (at, faults) in faults.iter().enumerate() {
        let user = format!("user {at}");
        spend_all_but_one(&rules, &near, &user);
        let met = proxy.met();
        proxy.plan(faults);
        assert_eq!(pay(&rules, &far, &user, 1), Ok(true), "{faults:?}");
        assert_eq!(proxy.met() - met, faults.len(), "{faults:?}");
        assert_eq!(pay(&rules, &near, &user, 2), Ok(false), "{faults:?}");
        std::thread::sleep(Duration::from_millis(350));
        // A request that arrives late changes nothing.
        assert_eq!(recorded_payments(&near, &user), BUDGET, "{faults:?}");
    }
}

#[test]
fn a_node_that_is_cut_off_after_its_decision_does_not_acknowledge_it() {
    let (server, rules) = (Server::start(), rules());
    let proxy = Proxy::start(server.port);
    let (far, near) = (node(proxy.port), node(server.port));
    for (at, fault) in [Fault::LoseAnswer, Fault::LoseRequest].into_iter().enumerate() {
        let user = format!("user {at}");
        spend_all_but_one(&rules, &near, &user);
        proxy.plan(&[Some(fault)]);
        let error = std::thread::scope(|scope| {
            let paid = scope.spawn(|| pay(&rules, &far, &user, 1));
            while proxy.met() == at {
                std::thread::yield_now();
            }
            proxy.cut(true);
            paid.join().expect("it ends")
        });
        let Err(RecordError::Store(StoreError(error))) = error else { panic!("{fault:?}: {error:?}") };
        assert!(error.contains("the message may be recorded"), "{error}");
        // The server has carried out the first request, so the unit is spent. The second request
        // was lost, so the unit is left.
        let is_left = fault == Fault::LoseRequest;
        assert_eq!(pay(&rules, &near, &user, 2), Ok(is_left), "{fault:?}");
        proxy.cut(false);
        assert_eq!(pay(&rules, &far, &user, 1), Ok(false), "{fault:?}");
        assert_eq!(recorded_payments(&near, &user), BUDGET, "{fault:?}");
    }
}

/// Several threads of two nodes pay for the same users, while each proxy breaks many connections.
#[test]
fn no_budget_is_passed_while_connections_break() {
    let (server, rules) = (Server::start(), rules());
    let proxies = [Proxy::start(server.port), Proxy::start(server.port)];
    let nodes: Vec<SharedStore> = proxies.iter().map(|proxy| node(proxy.port)).collect();
    let users = ["ann", "bob", "eve"];
    for (at, proxy) in proxies.iter().enumerate() {
        let fault = |request: usize| match (request * 7 + at * 3) % 10 {
            0 => Some(Fault::LoseAnswer),
            3 => Some(Fault::LoseRequest),
            6 => Some(Fault::Delay(Duration::from_millis(30))),
            _ => None,
        };
        proxy.plan(&(0..400).map(fault).collect::<Vec<_>>());
    }
    let acknowledged = users.map(|_| AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for (at, store) in nodes.iter().enumerate() {
            for thread in 0..2 {
                let (rules, acknowledged) = (&rules, &acknowledged);
                scope.spawn(move || {
                    for round in 0..15 {
                        let user = (round + thread) % users.len();
                        let paid = pay(rules, store, users[user], at);
                        acknowledged[user].fetch_add(usize::from(paid == Ok(true)), Ordering::SeqCst);
                    }
                });
            }
        }
    });
    assert!(proxies.iter().all(|proxy| proxy.met() > 3));
    let near = node(server.port);
    for (user, acknowledged) in users.iter().zip(&acknowledged) {
        let (acknowledged, recorded) = (acknowledged.load(Ordering::SeqCst), recorded_payments(&near, user));
        assert!(acknowledged <= recorded && recorded <= BUDGET, "{user}: {acknowledged} of {recorded}");
        assert!(acknowledged > 0, "{user}");
    }
    assert_eq!(near.check().expect("it can be read").problems, Vec::<String>::new());
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let (mut server, rules) = (Server::start(), rules());
    let stores = [node(server.port), node(server.port)];
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let user = format!("user {round}");
        let paid = std::thread::scope(|scope| {
            let payers = stores.each_ref().map(|store| {
                let (rules, user) = (&rules, &user);
                scope.spawn(move || (0..8).filter(|_| pay(rules, store, user, 0) == Ok(true)).count())
            });
            std::thread::sleep(Duration::from_millis(5 + round * 3));
            server.kill();
            std::thread::sleep(Duration::from_millis(50));
            server.restart();
            payers.into_iter().map(|payer| payer.join().expect("it ends")).sum::<usize>()
        });
        acknowledged.push((user, paid));
    }
    assert!(acknowledged.iter().any(|(_, paid)| *paid > 0), "no payment was acknowledged: {acknowledged:?}");
    for (user, paid) in acknowledged {
        let recorded = recorded_payments(&stores[0], &user);
        assert!(paid <= recorded && recorded <= BUDGET, "{user}: {paid} of {recorded}");
    }
}
