//! rulec itself, by its public interface alone, with each of its engines. What changes when that
//! interface grows leaner is in this file.

use super::{Column, Engine, Ready, Sample};
use crate::workload::Workload;
use ::rulec::{Entry, Record, Rules, Tier};

/// Its columns: the default last, as that is the one to compare.
pub fn columns() -> Vec<Column> {
    vec![
        Column { name: "rulec vm", build: |workload| build(workload, Tier::Vm), most: 1_000_000 },
        Column { name: "rulec", build: |workload| build(workload, Tier::Auto), most: 1_000_000 },
    ]
}

/// Its engines by name.
pub const TIERS: [(&str, Tier); 2] = [("rulec vm", Tier::Vm), ("rulec", Tier::Auto)];

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
pub fn compile(source: &str) -> Result<Rules, String> {
    Rules::from_text(source).map_err(|error| error.to_string())
}

fn build(workload: &Workload, tier: Tier) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(compile(&workload.source())?.with_tier(tier)))
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
