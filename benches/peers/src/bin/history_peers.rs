//! Rules over earlier messages: rulec and the local engine of Dogwood, on the same rules and the
//! same stream of messages. Each message is decided and recorded.
//!
//! `cargo run --release -p rulec-peers --features dogwood --bin history_peers -- 10 100 1000`

use dogwood_language::{Authorizer, Decision, Event, LoweredPolicySet, PolicySchema, ServiceSchema, Value};
use dogwood_local_engine::LocalTemporalEngine;
use rulec::history::MemoryStore;
use rulec::{Rules, Session};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of messages before the timed messages. An hour contains the last 900 of them.
const RECORDED: usize = 2_000;
/// Number of seconds between two messages.
const STEP: usize = 4;

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10, 100, 1_000] } else { sizes };
    println!("rules | microseconds a decision: rulec, Dogwood, ratio | denied of all");
    sizes.into_iter().for_each(measure);
}

/// The rule `index` denies the tool `A{index}` after the next tool was called within an hour. One
/// rule in ten needs four such calls.
fn counts(index: usize) -> bool {
    index % 10 == 9
}

fn rulec_source(rules: usize) -> String {
    let mut source = "input { tool: string, tag: string, now: datetime }\nhistory keep 1d\n".to_owned();
    for index in 0..rules {
        let call =
            format!("p in history within 1h: p.tool == \"A{}\" and p.tag == \"x\"", (index + 1) % rules);
        let past = if counts(index) { format!("(count {call}) >= 4") } else { format!("any {call}") };
        let _ = writeln!(source, "route r{index} when tool == \"A{index}\" and {past} -> deny");
    }
    source + "default -> allow\n"
}

fn dogwood_schema(rules: usize) -> String {
    let mut schema = String::from("namespace Bench {\n  entity User;\n  entity Resource;\n");
    for index in 0..rules {
        let _ = writeln!(
            schema,
            "  action \"A{index}\" appliesTo {{ principal: [User], resource: [Resource], \
             context: {{ input: {{ tag: String }} }} }};"
        );
    }
    schema + "}\n"
}

fn dogwood_source(rules: usize) -> String {
    let mut source = String::from("permit (principal, action, resource);\n");
    for index in 0..rules {
        let call = format!("Bench::Action::\"A{}\"::request{{ input.tag: \"x\" }}", (index + 1) % rules);
        let past = match counts(index) {
            true => format!("(count for (t: Timepoint). where (formerly within 1h ({call} && tp(t)))) >= 4"),
            false => format!("formerly within 1h {call}"),
        };
        let _ = writeln!(
            source,
            "forbid (principal, action == Bench::Action::\"A{index}\", resource) when temporal {{ {past} }};"
        );
    }
    source
}

/// Returns the tool and the tag of a message.
fn content(number: usize, rules: usize) -> (usize, &'static str) {
    let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    (mixed as usize % rules, if mixed >> 20 & 3 == 0 { "y" } else { "x" })
}

fn message(number: usize, rules: usize) -> Json {
    let ((tool, tag), second) = (content(number, rules), number * STEP);
    let (day, hour, minute) = (1 + second / 86_400, second / 3_600 % 24, second / 60 % 60);
    let now = format!("2026-01-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60);
    json!({ "tool": format!("A{tool}"), "tag": tag, "now": now })
}

fn event(number: usize, rules: usize) -> Event {
    let (tool, tag) = content(number, rules);
    Event::builder(&format!("Bench::Action::A{tool}"), "request")
        .principal("Bench::User::\"u\"")
        .resource("Bench::Resource::\"r\"")
        .field("input", "tag", Value::String(tag.to_owned()))
        .request_context("input", "tag", Value::String(tag.to_owned()))
        .timestamp((number * STEP) as i64)
        .build()
}

fn dogwood(rules: usize) -> Authorizer {
    let service = ServiceSchema::builder().build().expect("the default schema of the service");
    let schema = PolicySchema::from_cedarschema_str(&dogwood_schema(rules)).expect("the schema is valid");
    let lowered = LoweredPolicySet::from_str(&dogwood_source(rules), &service, &schema);
    Authorizer::builder(lowered.expect("the policies are valid"))
        .temporal_engine(LocalTemporalEngine::new())
        .build()
        .expect("the engine takes the policies")
}

fn measure(rules: usize) {
    let compiled = Rules::from_text(&rulec_source(rules)).expect("the rules compile");
    let mut session: Session = compiled.session().with_history(Arc::new(MemoryStore::default()));
    let timed = (100_000 / rules).clamp(50, 1_000);
    let numbers = 0..RECORDED + timed;
    let messages: Vec<Json> = numbers.clone().map(|number| message(number, rules)).collect();
    let ours = decide_all(&messages, |message| {
        session.decide_and_record(message).expect("it is recorded").target() == Some("deny")
    });
    let mut authorizer = dogwood(rules);
    let events: Vec<Event> = numbers.map(|number| event(number, rules)).collect();
    let theirs = decide_all(&events, |event| {
        authorizer.is_authorized(event).expect("a request is decided").decision() == Decision::Deny
    });
    let denials = ours.iter().zip(&theirs).zip(&messages).map(|((ours, theirs), message)| {
        assert_eq!(ours.0, theirs.0, "{message}");
        ours.0
    });
    let denied = denials.skip(RECORDED).filter(|is_denied| *is_denied).count();
    let [ours, theirs] = [ours, theirs].map(|decisions| median(&decisions[RECORDED..]));
    println!("{rules:>5} | {ours:8.2} {theirs:10.2} {:8.1} | {denied} of {timed}", theirs / ours);
}

/// Decides all messages by one engine. Returns for each message whether it is denied, and the time
/// of its decision. The engines run one after the other, because an engine that runs between two
/// decisions of another one would empty the caches of the processor.
fn decide_all<M>(messages: &[M], mut is_denied: impl FnMut(&M) -> bool) -> Vec<(bool, Duration)> {
    let decide = |message| {
        let start = Instant::now();
        let is_denied = is_denied(message);
        (is_denied, start.elapsed())
    };
    messages.iter().map(decide).collect()
}

/// Returns the median time in microseconds.
fn median(decisions: &[(bool, Duration)]) -> f64 {
    let mut times: Vec<Duration> = decisions.iter().map(|(_, time)| *time).collect();
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / 1000.0
}
