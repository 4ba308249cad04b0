//! Makes decisions, so that callgrind can count the instructions. `benches/callgrind.sh` runs this
//! program for each fixed workload and compares the counts with `guard.txt`.
//!
//! `guard WORKLOAD DECISIONS [ROUTES [SEED]]` makes the given number of decisions. A prepared
//! record is a message whose fields were read in advance, and a choice is the chosen route without
//! its arguments:
//!
//! - `jit`: ten routes on the JIT, from a prepared record to a choice;
//! - `index`: a thousand routes with the index, from a prepared record to a choice;
//! - `lines`: the same routes, from JSON line to JSON line; the index is used if it pays;
//! - `verbs`: ten thousand routes that share verbs, with the index, from a prepared record to a
//!   choice;
//! - `plain`: ten thousand routes with a rare word or tag each, with the index, from a prepared
//!   record to a choice;
//! - `fields`: three thousand rules over 360 fields with default settings but without the JIT, from
//!   a prepared record to a choice;
//! - `all`: the same rules, from a JSON value to every matching route.
//!
//! The first three workloads repeat 200 messages. Half of these messages are generated to match a
//! route; the others are random. In the other workloads every message is new. All workloads use one
//! session.

#[path = "peers/src/workload/mod.rs"]
mod workload;

use rulec::{Indexing, PreparedMessage, Rules, Session, Tier};
use serde_json::Value as Json;
use std::hint::black_box;
use workload::detection::Detection;
use workload::random::Random;
use workload::{Density, Message, Shape, Variant, Workload};

/// Number of distinct messages in workloads that repeat messages.
const MESSAGES: usize = 200;

/// Seed of the rules, unless an argument gives another one.
const USUAL_SEED: u64 = 7;

/// A workload whose instructions callgrind counts.
struct Counted {
    source: String,
    messages: Vec<Json>,
    tier: Tier,
    indexing: Indexing,
    run: Run,
}

/// The decision API whose instructions are counted.
#[derive(Clone, Copy, PartialEq)]
enum Run {
    First,
    All,
    Lines,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let decisions = arguments.next().and_then(|decisions| decisions.parse::<usize>().ok());
    let routes = arguments.next().and_then(|routes| routes.parse::<usize>().ok());
    let seed = arguments.next().and_then(|seed| seed.parse::<u64>().ok()).unwrap_or(USUAL_SEED);
    let counted = name
        .zip(decisions)
        .and_then(|(name, decisions)| Some((counted(&name, decisions, routes, seed)?, decisions)));
    let Some((counted, decisions)) = counted else {
        // `cargo bench` runs every benchmark without arguments.
        eprintln!("run benches/callgrind.sh; guard WORKLOAD DECISIONS is its part");
        return;
    };
    let rules = Rules::from_text(&counted.source).unwrap_or_else(|error| panic!("{error}"));
    let rules = rules.with_tier(counted.tier).with_index(counted.indexing);
    rules.warm_up().unwrap_or_else(|error| panic!("{error}"));
    let mut session = rules.session();
    let once = counted.messages.len();
    // Decide all messages once before counting, so that lazy initialisation is not counted.
    if counted.run == Run::Lines {
        let lines: Vec<String> = counted.messages.iter().map(|message| message.to_string()).collect();
        let mut out = Vec::new();
        write_all(&mut session, &lines, once, &mut out);
        decide_all_lines(&mut session, &lines, decisions, &mut out);
        println!("{} bytes", out.len());
        return;
    }
    if counted.run == Run::All {
        all_that_hold(&mut session, &counted.messages, once);
        println!("{} held", decide_all_that_hold(&mut session, &counted.messages, decisions));
        return;
    }
    let records: Vec<PreparedMessage<'_>> =
        counted.messages.iter().map(|message| rules.prepare(message)).collect();
    choose_all(&mut session, &records, once);
    println!("{} hits", decide_all_records(&mut session, &records, decisions));
}

/// Returns the workload with this name. `routes` overrides its default number of routes, and `seed`
/// is the seed of its rules. If the workload does not repeat messages, there is one message for
/// each of the `decisions`.
fn counted(name: &str, decisions: usize, routes: Option<usize>, seed: u64) -> Option<Counted> {
    let (usual, tier, indexing, run) = match name {
        "jit" => (10, Tier::Jit, Indexing::Never, Run::First),
        // The default tier is unsuitable here, because it compiles in the background at an
        // unpredictable time.
        "index" => (1_000, Tier::Vm, Indexing::Always, Run::First),
        "lines" => (1_000, Tier::Vm, Indexing::Auto, Run::Lines),
        "verbs" | "plain" => (10_000, Tier::Vm, Indexing::Always, Run::First),
        "fields" => (3_000, Tier::Vm, Indexing::Auto, Run::First),
        "all" => (3_000, Tier::Vm, Indexing::Auto, Run::All),
        _ => return None,
    };
    let routes = routes.unwrap_or(usual);
    let mut random = Random::new(seed + 4);
    let (source, messages) = match name {
        "fields" | "all" => {
            let detection = Detection::new(routes, seed);
            (detection.source(), (0..decisions).map(|_| detection.event(&mut random).json()).collect())
        }
        "verbs" => made(Variant::Verbs, routes, decisions, seed, &mut random),
        "plain" => made(Variant::Plain, routes, decisions, seed, &mut random),
        _ => made(Variant::Mixed, routes, MESSAGES, seed, &mut random),
    };
    Some(Counted { source, messages, tier, indexing, run })
}

/// Generates rules and messages. Every second message is generated to match a route.
fn made(
    variant: Variant,
    routes: usize,
    messages: usize,
    seed: u64,
    random: &mut Random,
) -> (String, Vec<Json>) {
    let density = *variant.densities().last().unwrap_or(&Density::Dense);
    let workload = Workload::new(Shape { routes, variant, density, no_key: 5, seed });
    let message = |at: usize| {
        let route = &workload.routes[random.below(routes)];
        let made = at.is_multiple_of(2).then(|| Message::satisfying(&workload, route, random));
        made.unwrap_or_else(|| Message::random(&workload, random)).json()
    };
    let messages = (0..messages).map(message).collect();
    (workload.source(), messages)
}

/// The function whose instructions are counted: callgrind collects inside functions named
/// `decide_all…`.
#[inline(never)]
fn decide_all_records(session: &mut Session, records: &[PreparedMessage<'_>], decisions: usize) -> usize {
    choose_all(session, records, decisions)
}

#[inline(never)]
fn decide_all_that_hold(session: &mut Session, messages: &[Json], decisions: usize) -> usize {
    all_that_hold(session, messages, decisions)
}

#[inline(never)]
fn decide_all_lines(session: &mut Session, lines: &[String], decisions: usize, out: &mut Vec<u8>) {
    write_all(session, lines, decisions, out);
}

fn choose_all(session: &mut Session, records: &[PreparedMessage<'_>], decisions: usize) -> usize {
    let mut hits = 0;
    for record in records.iter().cycle().take(decisions) {
        let choice = session.choose(black_box(record));
        black_box(&choice);
        hits += usize::from(matches!(choice.chosen, Some(rulec_eval::decision::Chosen::Rule(_))));
    }
    hits
}

fn all_that_hold(session: &mut Session, messages: &[Json], decisions: usize) -> usize {
    let all = messages.iter().cycle().take(decisions);
    all.map(|message| black_box(session.matched(black_box(message))).len()).sum()
}

fn write_all(session: &mut Session, lines: &[String], decisions: usize, out: &mut Vec<u8>) {
    for line in lines.iter().cycle().take(decisions) {
        out.clear();
        let decision =
            session.decide_line(black_box(line.as_bytes())).unwrap_or_else(|error| panic!("{error}"));
        decision.write_json(out);
        out.push(b'\n');
    }
}
