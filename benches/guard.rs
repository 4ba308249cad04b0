//! Decisions to count instructions of, under callgrind: `benches/callgrind.sh` runs this program for
//! each of three fixed workloads and compares the counts with `guard.txt`.
//!
//! `guard WORKLOAD DECISIONS` decides so many times, over messages of which half are made for some
//! route, the others left to chance:
//!
//! - `jit`: ten routes by machine code, a prepared record to a choice;
//! - `index`: a thousand routes by the index, a prepared record to a choice;
//! - `lines`: the same routes, the index used where it is worth it, from a JSON line to a JSON line.
//!
//! All of them through a session that is held.

#[path = "peers/src/workload/mod.rs"]
mod workload;

use rulec::{Indexing, Record, Rules, Session, Tier};
use std::hint::black_box;
use workload::random::Random;
use workload::{Density, Message, Shape, Variant, Workload};

/// Different messages.
const MESSAGES: usize = 200;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let named = arguments.next().as_deref().and_then(how);
    let decisions = arguments.next().and_then(|decisions| decisions.parse::<usize>().ok());
    let (Some((routes, tier, indexing)), Some(decisions)) = (named, decisions) else {
        // `cargo bench` runs every benchmark, without these arguments.
        eprintln!("run benches/callgrind.sh; guard WORKLOAD DECISIONS is its part");
        return;
    };
    let workload =
        Workload::new(Shape { routes, variant: Variant::Mixed, density: Density::Dense, no_key: 5, seed: 7 });
    let mut random = Random::new(11);
    let message = |at: usize| {
        let route = &workload.routes[random.below(routes)];
        let made = at.is_multiple_of(2).then(|| Message::satisfying(&workload, route, &mut random));
        made.unwrap_or_else(|| Message::random(&workload, &mut random)).json()
    };
    let messages: Vec<_> = (0..MESSAGES).map(message).collect();
    let rules = Rules::from_text(&workload.source()).unwrap_or_else(|error| panic!("{error}"));
    let rules = rules.with_tier(tier).with_index(indexing);
    rules.ready().unwrap_or_else(|error| panic!("{error}"));
    let mut session = rules.session();
    // All messages are decided once before, so that what is made on first use is not counted.
    if indexing == Indexing::Auto {
        let lines: Vec<String> = messages.iter().map(|message| message.to_string()).collect();
        let mut out = Vec::new();
        write_all(&mut session, &lines, MESSAGES, &mut out);
        decide_all_lines(&mut session, &lines, decisions, &mut out);
        println!("{} bytes", out.len());
    } else {
        let records: Vec<Record<'_>> = messages.iter().map(|message| rules.prepare(message)).collect();
        choose_all(&mut session, &records, MESSAGES);
        println!("{} hits", decide_all_records(&mut session, &records, decisions));
    }
}

/// A workload by its name: how many routes, and how they are decided.
fn how(name: &str) -> Option<(usize, Tier, Indexing)> {
    Some(match name {
        "jit" => (10, Tier::Jit, Indexing::Never),
        // Not by the default tier, which compiles in the background at a moment that nobody knows.
        "index" => (1_000, Tier::Vm, Indexing::Always),
        "lines" => (1_000, Tier::Vm, Indexing::Auto),
        _ => return None,
    })
}

/// The function that is counted: callgrind collects while it is inside one called `decide_all…`.
#[inline(never)]
fn decide_all_records(session: &mut Session, records: &[Record<'_>], decisions: usize) -> usize {
    choose_all(session, records, decisions)
}

#[inline(never)]
fn decide_all_lines(session: &mut Session, lines: &[String], decisions: usize, out: &mut Vec<u8>) {
    write_all(session, lines, decisions, out);
}

fn choose_all(session: &mut Session, records: &[Record<'_>], decisions: usize) -> usize {
    let mut hits = 0;
    for record in records.iter().cycle().take(decisions) {
        let choice = black_box(session.choose(black_box(record)));
        hits += usize::from(matches!(choice.chosen, Some(rulec::internals::decision::Chosen::Rule(_))));
    }
    hits
}

fn write_all(session: &mut Session, lines: &[String], decisions: usize, out: &mut Vec<u8>) {
    for line in lines.iter().cycle().take(decisions) {
        out.clear();
        let decision =
            session.decide_line(black_box(line.as_bytes())).unwrap_or_else(|error| panic!("{error}"));
        serde_json::to_writer(&mut *out, &decision).unwrap_or_else(|error| panic!("{error}"));
        out.push(b'\n');
    }
}
