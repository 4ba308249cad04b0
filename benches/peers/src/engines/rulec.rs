//! rulec itself, by its public interface alone, with each of its engines. What changes when that
//! interface grows leaner is in this file.

use super::{Build, Column, Engine, Ready, Sample};
use crate::workload::{Shape, Workload};
use ::rulec::{Entry, Record, Rules, Tier};
use std::sync::Mutex;

/// Its engines by name: the default last, as that is the one to compare.
pub const TIERS: [(&str, Tier); 2] = [("rulec vm", Tier::Vm), ("rulec", Tier::Auto)];

/// A column for each.
pub fn columns() -> Vec<Column> {
    let builds: [Build; 2] = [|workload| build(workload, Tier::Vm), |workload| build(workload, Tier::Auto)];
    let columns = TIERS.iter().zip(builds);
    columns.map(|(&(name, _), build)| Column { name, build, most: 1_000_000 }).collect()
}

/// Compares the names that rules choose with those of the reference evaluator.
pub fn agree<'s>(rules: &Rules, samples: impl Iterator<Item = &'s Sample>) -> Result<(), String> {
    let reference = rules.with_tier(Tier::Reference);
    for sample in samples {
        let (answer, expected) = (rules.decide(&sample.json), reference.decide(&sample.json));
        if answer.chosen() != expected.chosen() {
            let (answer, expected) = (answer.chosen(), expected.chosen());
            return Err(format!("answers {answer:?} instead of {expected:?} for\n  {}", sample.json));
        }
    }
    Ok(())
}

/// The evaluator that all answers are held against.
pub fn reference(rules: &Rules) -> impl FnMut(&Sample) -> Option<u32> + '_ {
    let rules = rules.with_tier(Tier::Reference);
    move |sample| rank(rules.decide(&sample.json).chosen())
}

/// Compiles a text.
pub fn compile_text(source: &str) -> Result<Rules, String> {
    Rules::from_text(source).map_err(|error| error.to_string())
}

/// The rules of a workload, compiled once for all engines in turn: a million take a minute.
pub fn compile(workload: &Workload) -> Result<Rules, String> {
    static LAST: Mutex<Option<(Shape, Rules)>> = Mutex::new(None);
    let mut last = LAST.lock().map_err(|error| error.to_string())?;
    match &*last {
        Some((shape, rules)) if *shape == workload.shape => Ok(rules.clone()),
        _ => {
            *last = None;
            let rules = compile_text(&workload.source())?;
            Ok(last.insert((workload.shape, rules)).1.clone())
        }
    }
}

fn build(workload: &Workload, tier: Tier) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(compile(workload)?.with_tier(tier)))
}

/// The rank in a route's name.
fn rank(chosen: Option<&str>) -> Option<u32> {
    chosen?.strip_prefix('r')?.parse().ok()
}

impl Engine for Rules {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        let records = samples.iter().map(|sample| self.prepare(&sample.json)).collect();
        Box::new(Prepared { entry: self.main(), records })
    }
}

struct Prepared<'e> {
    entry: Entry<'e>,
    records: Vec<Record<'e>>,
}

impl Ready for Prepared<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        rank(self.entry.decide_record(&self.records[at]).chosen())
    }

    fn batch(&mut self, from: usize, count: usize, messages: usize) {
        let mut at = from;
        for _ in 0..count {
            // The answer is the decision; reading a rank out of its name is no part of it.
            drop(std::hint::black_box(self.entry.decide_record(&self.records[std::hint::black_box(at)])));
            at += 1;
            if at == messages {
                at = 0;
            }
        }
    }
}
