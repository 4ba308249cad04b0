//! Decisions to count instructions of, under callgrind: `benches/callgrind.sh` runs this program for
//! each of three fixed workloads and compares the counts with `guard.txt`.
//!
//! `guard ROUTES DECISIONS` decides so many times, by so many routes, messages that were prepared
//! before. Half of the messages are made for some route, the others are left to chance.

#[path = "peers/src/workload/mod.rs"]
mod workload;

use rulec::{Entry, Record, Rules};
use std::hint::black_box;
use workload::random::Random;
use workload::{Message, Shape, Variant, Workload};

/// Different messages.
const MESSAGES: usize = 200;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let (Some(Ok(routes)), Some(Ok(decisions))) = (numbers.next(), numbers.next()) else {
        // `cargo bench` runs every benchmark, without these arguments.
        eprintln!("run benches/callgrind.sh; guard ROUTES DECISIONS is its part");
        return;
    };
    let workload = Workload::new(Shape { routes, variant: Variant::Mixed, no_key: 5, seed: 7 });
    let mut random = Random::new(11);
    let message = |at: usize| {
        let route = &workload.routes[random.below(routes)];
        let made = at.is_multiple_of(2).then(|| Message::satisfying(&workload, route, &mut random));
        made.unwrap_or_else(|| Message::random(&workload, &mut random)).json()
    };
    let messages: Vec<_> = (0..MESSAGES).map(message).collect();
    let rules = Rules::from_text(&workload.source()).unwrap_or_else(|error| panic!("{error}"));
    let records: Vec<Record<'_>> = messages.iter().map(|message| rules.prepare(message)).collect();
    // What is made on first use is made before counting.
    records.iter().for_each(|record| drop(rules.main().decide_record(record)));
    println!("{} hits", decide_all(&rules.main(), &records, decisions));
}

/// What is counted: callgrind collects while it is inside this function, found by its name.
#[inline(never)]
fn decide_all(entry: &Entry<'_>, records: &[Record<'_>], decisions: usize) -> usize {
    let messages = records.iter().cycle().take(decisions);
    messages.filter(|record| !black_box(entry.decide_record(black_box(record))).is_default()).count()
}
