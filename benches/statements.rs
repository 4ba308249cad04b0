//! Measures decisions per second of compiled flows and choices, compared with a hand-written loop.
//! The benchmark checks that both give the same answers before it starts timing.

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rulec::{PreparedMessage, Rules};
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;
use support::random::Random;
use support::words::{CHINESE, CHINESE_FILLERS, FILLERS, NOUNS, VERBS};

const MESSAGES: usize = 500;

/// How the patterns of flows are matched.
#[derive(Clone, Copy)]
enum Way {
    Exact,
    Contains,
    Regex,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Exact => "exact",
            Way::Contains => "contains",
            Way::Regex => "regex",
        }
    }
}

/// The data of one benchmark of flows: a rule set with random patterns, and the same patterns for
/// the loop written by hand, to which the rule set is compared.
struct Flows {
    rules: Rules,
    patterns: Vec<(String, Option<regex::Regex>)>,
    way: Way,
    messages: Vec<Json>,
}

impl Flows {
    fn new(count: usize, way: Way) -> Flows {
        let mut random = Random::new(count as u64);
        let mut source = String::new();
        let mut patterns = Vec::new();
        for at in 0..count {
            let pattern = match (way, at % 3) {
                (Way::Regex, 0) => format!("{}.*{} {at}", random.pick(VERBS), random.pick(NOUNS)),
                (Way::Regex, _) => format!("{} +(my|the) {}{at}", random.pick(VERBS), random.pick(NOUNS)),
                (_, 0) => format!("{}{}{at}", random.pick(CHINESE), random.pick(CHINESE_FILLERS)),
                _ => format!("{} {} {at}", random.pick(VERBS), random.pick(NOUNS)),
            };
            let _ = writeln!(source, "flow f{at} keyword {} [{pattern:?}] -> \"flow-{at}\"", way.name());
            let regex = matches!(way, Way::Regex).then(|| {
                regex::RegexBuilder::new(&pattern).case_insensitive(true).build().expect("it compiles")
            });
            patterns.push((pattern.to_lowercase(), regex));
        }
        let messages = (0..MESSAGES).map(|at| message(&mut random, at, &patterns, way)).collect();
        Flows { rules: Rules::from_text(&source).expect("the flows compile"), patterns, way, messages }
    }

    /// Returns the first pattern that matches, found by trying one pattern after another, as a
    /// program without rules would do.
    fn by_hand(&self, text: &str) -> Option<usize> {
        let folded = text.trim().to_lowercase();
        self.patterns.iter().position(|(pattern, regex)| match (self.way, regex) {
            (Way::Exact, _) => folded == *pattern,
            (Way::Contains, _) => folded.contains(pattern.as_str()),
            (Way::Regex, regex) => regex.as_ref().is_some_and(|regex| regex.is_match(text)),
        })
    }
}

/// Generates a message. A third of the messages contain a pattern from a random position in the
/// list.
fn message(random: &mut Random, at: usize, patterns: &[(String, Option<regex::Regex>)], way: Way) -> Json {
    let mut text = String::new();
    if at.is_multiple_of(3) && !matches!(way, Way::Regex) {
        let pattern = &patterns[random.below(patterns.len())].0;
        text = match way {
            Way::Exact => format!(" {} ", pattern.to_uppercase()),
            _ => format!("please {pattern} now"),
        };
    } else {
        for _ in 0..3 + random.below(12) {
            let word = if at.is_multiple_of(4) { random.pick(CHINESE) } else { random.pick(FILLERS) };
            text.push_str(word);
            text.push(' ');
        }
    }
    json!({ "text": text })
}

fn flows(c: &mut Criterion) {
    for way in [Way::Exact, Way::Contains, Way::Regex] {
        for count in [10, 1_000, 10_000] {
            let case = Flows::new(count, way);
            let entry = case.rules.entry("flows").expect("there are flows");
            for message in &case.messages {
                let wanted =
                    case.by_hand(message["text"].as_str().expect("a text")).map(|at| format!("f{at}"));
                assert_eq!(entry.decide(message).chosen(), wanted.as_deref(), "{message}");
            }
            let records: Vec<PreparedMessage<'_>> =
                case.messages.iter().map(|message| case.rules.prepare(message)).collect();
            let mut group = c.benchmark_group(format!("flows/{}/{count}", way.name()));
            group.throughput(Throughput::Elements(MESSAGES as u64));
            group.sample_size(10).warm_up_time(Duration::from_millis(200));
            group.measurement_time(Duration::from_millis(800));
            group.bench_function("by hand", |bencher| {
                bencher.iter(|| {
                    for message in &case.messages {
                        black_box(message["text"].as_str().map(|text| case.by_hand(text)));
                    }
                });
            });
            group.bench_function("decide", |bencher| {
                bencher.iter(|| {
                    case.messages
                        .iter()
                        .for_each(|message| drop(black_box(entry.decide(black_box(message)))));
                });
            });
            group.bench_function("record", |bencher| {
                bencher.iter(|| {
                    records.iter().for_each(|record| drop(black_box(entry.decide_prepared(record))))
                });
            });
            group.finish();
        }
    }
}

const ORDERS: &str = r#"
choice order {
  default branch standard
  branch large { steps.parse.amount as number >= 1000 }
  branch abroad { steps.parse.country as string != "CN"; steps.parse.amount as number >= 100 }
  branch review any { steps.risk.score as number > 0.8; len(steps.parse.items as list) > 20 }
  branch vip { steps.customer.level as string == "vip"; steps.parse.note as string not contains "refund" }
}
"#;

fn choices(c: &mut Criterion) {
    let rules = Rules::from_text(ORDERS).expect("the choice compiles");
    let entry = rules.entry("order").expect("there is one");
    let mut random = Random::new(7);
    let messages: Vec<Json> = (0..MESSAGES)
        .map(|_| {
            let mut parse = json!({"amount": random.below(2_000), "country": random.pick(&["CN", "DE"])});
            if random.chance(50) {
                parse["items"] = (0..random.below(30)).collect();
                parse["note"] = random.pick(NOUNS).into();
            }
            let level = random.pick(&["vip", "new"]);
            json!({"steps": {"parse": parse, "risk": {"score": random.below(100) as f64 / 100.0}, "customer": {"level": level}}})
        })
        .collect();
    let reference = rules.with_tier(rulec::Tier::Reference);
    let reference = reference.entry("order").expect("there is one");
    for message in &messages {
        assert_eq!(entry.decide(message).branch(), reference.decide(message).branch(), "{message}");
    }
    let records: Vec<PreparedMessage<'_>> = messages.iter().map(|message| rules.prepare(message)).collect();
    let mut group = c.benchmark_group("choice/5 branches");
    group.throughput(Throughput::Elements(MESSAGES as u64));
    group.sample_size(10).measurement_time(Duration::from_millis(800));
    group.bench_function("decide", |bencher| {
        bencher
            .iter(|| messages.iter().for_each(|message| drop(black_box(entry.decide(black_box(message))))));
    });
    group.bench_function("record", |bencher| {
        bencher.iter(|| records.iter().for_each(|record| drop(black_box(entry.decide_prepared(record)))));
    });
    group.finish();
}

criterion_group!(benches, choices, flows);
criterion_main!(benches);
