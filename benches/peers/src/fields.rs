//! Rules over many fields, as `workload::detection` makes them: the first that holds, and all that hold.
//!
//! The baseline has a tree of tests a rule with searchers built once, and tries the rules in order; a field
//! of a message is lower-cased once for all rounds.

use crate::engines::Ready;
use crate::engines::rulec::compile_text;
use crate::measure;
use crate::report::{Section, thousands};
use crate::workload::detection::{Comparison, Detection, Event, FIELDS, Rule, Test};
use crate::workload::random::Random;
use memchr::memmem::Finder;
use rulec::{Record, Session};
use rulec_eval::decision::Chosen;
use serde_json::Value as Json;
use std::cell::OnceCell;

/// The targets: nanoseconds for the first, for all, and how much more at most for ten times as many rules.
const TARGETS: (f64, f64, f64) = (3_000.0, 8_000.0, 2.0);

/// The table: a row for each number of rules.
///
/// # Errors
/// When an answer differs from the plain meaning of the rules.
pub fn section(sizes: &[usize], messages: usize, rounds: usize, seed: u64) -> Result<Section, String> {
    let mut section = Section::new("Rules over many fields");
    section
        .line("| rules | hold | closures | rulec | closures, all | rulec, all |\n|---|---|---|---|---|---|");
    for &size in sizes {
        eprintln!("{size} rules over {FIELDS} fields");
        let detection = Detection::new(size, seed);
        let mut random = Random::new(seed ^ 0xF1E1D5);
        let events: Vec<Event> = (0..messages).map(|_| detection.event(&mut random)).collect();
        let json: Vec<Json> = events.iter().map(Event::json).collect();
        let rules = compile_text(&detection.source())?;
        let conds: Vec<Cond> = detection.rules.iter().map(Cond::new).collect();
        let fields: Vec<Fields<'_>> = events.iter().map(Fields::of).collect();
        let closures = |all| Closures { conds: &conds, events: &fields, all };
        let ours = |all| Ours {
            session: rules.session(),
            records: json.iter().map(|json| rules.prepare(json)).collect(),
            json: &json,
            all,
        };
        let mut held = 0;
        let mut readies: Vec<Box<dyn Ready + '_>> = Vec::new();
        for all in [false, true] {
            let (mut closures, mut ours) = (closures(all), ours(all));
            for (at, event) in events.iter().enumerate() {
                let mut holding = (0..).zip(&detection.rules).filter(|(_, rule)| rule.holds(event));
                let expected =
                    if all { Some(holding.count() as u32) } else { holding.next().map(|(rank, _)| rank) };
                held += if all { expected.unwrap_or(0) } else { 0 };
                let answers = [closures.decide(at), ours.decide(at)];
                if answers != [expected; 2] {
                    return Err(format!("answers {answers:?} instead of {expected:?} for\n  {}", json[at]));
                }
            }
            readies.push(Box::new(closures));
            readies.push(Box::new(ours));
        }
        readies.iter_mut().for_each(|ready| (0..20).for_each(|_| ready.batch(0, messages, messages)));
        let times = measure::interleaved(&mut readies, messages, rounds);
        let cells: Vec<String> = times.into_iter().map(thousands).collect();
        let held = f64::from(held) / messages as f64;
        section.line(format!("| {} | {held:.1} | {} |", thousands(size as f64), cells.join(" | ")));
    }
    let (first, all, growth) = TARGETS;
    section.line(format!(
        "\nNanoseconds a message, {messages} different ones; the first that holds is decided from a prepared record, all \
         from a JSON value. Targets at 3,000 rules: {} for the first, {} for all, each less than {growth} × that of 300.",
        thousands(first),
        thousands(all)
    ));
    Ok(section)
}

/// The fields of an event by their numbers, each in lower case once somebody asks.
struct Fields<'e> {
    category: usize,
    values: Vec<Option<&'e str>>,
    lower: Vec<OnceCell<String>>,
}

impl<'e> Fields<'e> {
    fn of(event: &'e Event) -> Fields<'e> {
        let mut values = vec![None; FIELDS];
        event.fields.iter().for_each(|(field, value)| values[*field] = Some(value.as_str()));
        Fields { category: event.category, values, lower: vec![OnceCell::new(); FIELDS] }
    }
}

/// A rule with its searchers.
struct Cond<'r> {
    rule: &'r Rule,
    groups: Vec<Vec<Searchers<'r>>>,
    filters: Vec<Searchers<'r>>,
}

struct Searchers<'r> {
    test: &'r Test,
    words: Vec<String>,
    finders: Vec<Finder<'static>>,
}

impl<'r> Searchers<'r> {
    fn new(test: &'r Test) -> Searchers<'r> {
        let prepared = |word: &String| if test.fold { word.to_ascii_lowercase() } else { word.clone() };
        let words: Vec<String> = test.words.iter().map(prepared).collect();
        let finders = words.iter().map(|word| Finder::new(word).into_owned()).collect();
        Searchers { test, words, finders }
    }

    fn holds(&self, fields: &Fields<'_>) -> bool {
        let Some(value) = fields.values[self.test.field] else { return false };
        let lower = || value.to_ascii_lowercase();
        let value = if self.test.fold { fields.lower[self.test.field].get_or_init(lower) } else { value };
        let mut each = self.words.iter().zip(&self.finders);
        let stands = |(word, finder): (&String, &Finder<'_>)| match self.test.comparison {
            Comparison::Contains => finder.find(value.as_bytes()).is_some(),
            Comparison::StartsWith => value.starts_with(word.as_str()),
            Comparison::EndsWith => value.ends_with(word.as_str()),
            Comparison::Is => value == word,
        };
        if self.test.all { each.all(stands) } else { each.any(stands) }
    }
}

impl<'r> Cond<'r> {
    fn new(rule: &'r Rule) -> Cond<'r> {
        let of = |tests: &'r [Test]| tests.iter().map(Searchers::new).collect();
        Cond { rule, groups: rule.groups.iter().map(|group| of(group)).collect(), filters: of(&rule.filters) }
    }

    fn holds(&self, fields: &Fields<'_>) -> bool {
        fields.category == self.rule.category
            && self.groups.iter().all(|group| group.iter().any(|test| test.holds(fields)))
            && !self.filters.iter().any(|test| test.holds(fields))
    }
}

/// The baseline; `all` asks how many hold.
struct Closures<'e> {
    conds: &'e [Cond<'e>],
    events: &'e [Fields<'e>],
    all: bool,
}

impl Ready for Closures<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        let fields = &self.events[at];
        let mut holding = (0..).zip(self.conds).filter(|(_, cond)| cond.holds(fields));
        if self.all { Some(holding.count() as u32) } else { holding.next().map(|(rank, _)| rank) }
    }
}

/// Rulec as a user gets it.
struct Ours<'e> {
    session: Session,
    records: Vec<Record<'e>>,
    json: &'e [Json],
    all: bool,
}

impl Ready for Ours<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        if self.all {
            return Some(self.session.matched(&self.json[at]).len() as u32);
        }
        match self.session.choose(&self.records[at]).chosen? {
            Chosen::Rule(rule) => Some(rule.index() as u32),
            Chosen::Default(_) => None,
        }
    }
}
