//! rulec itself, by its public interface alone: as a user gets it, and with each of its engines.

use super::{Column, Engine, Ready, Sample};
use crate::workload::{Shape, Workload};
use ::rulec::{Indexing, Record, Rules, Session, Tier};
use rulec_eval::decision::Chosen;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A way to decide by rules.
#[derive(Clone, Copy)]
pub struct Way {
    pub name: &'static str,
    tier: Tier,
    indexing: Indexing,
    /// Above this many routes it is not tried.
    most: usize,
}

const VM: Way = Way { name: "rulec-vm", tier: Tier::Vm, indexing: Indexing::Never, most: 100_000 };
/// Compiling takes a tenth of a millisecond a route and more.
const JIT: Way = Way { name: "rulec-jit", tier: Tier::Jit, indexing: Indexing::Never, most: 10_000 };
const INDEX: Way = Way { name: "rulec-index", tier: Tier::Auto, indexing: Indexing::Always, most: 1_000_000 };
/// As a user gets it. The targets are about this one.
const DEFAULT: Way = Way { name: "rulec", tier: Tier::Auto, indexing: Indexing::Auto, most: 1_000_000 };

/// All of them, the default last.
pub const WAYS: [Way; 4] = [VM, JIT, INDEX, DEFAULT];

impl Way {
    /// Rules that are decided by in this way.
    ///
    /// # Errors
    /// When there is no machine code for them.
    pub fn of(self, rules: &Rules) -> Result<Decider, String> {
        let rules = rules.with_tier(self.tier).with_index(self.indexing);
        rules.ready().map_err(|error| error.to_string())?;
        Ok(Decider { rules, warms: self.tier == Tier::Auto })
    }

    /// The same from a text. Machine code is shared between clones of rules, so what is forced to it has
    /// rules of its own: the default is to run its own code, if it finds the rules worth compiling.
    fn build(self, workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
        let rules = match self.tier {
            Tier::Jit => compile_text(&workload.source())?,
            _ => compile(workload)?,
        };
        Ok(Box::new(self.of(&rules)?))
    }
}

/// A column for each way.
pub fn columns() -> Vec<Column> {
    vec![
        Column { name: VM.name, build: |workload| VM.build(workload), most: VM.most },
        Column { name: JIT.name, build: |workload| JIT.build(workload), most: JIT.most },
        Column { name: INDEX.name, build: |workload| INDEX.build(workload), most: INDEX.most },
        Column { name: DEFAULT.name, build: |workload| DEFAULT.build(workload), most: DEFAULT.most },
    ]
}

/// Compiles a text.
pub fn compile_text(source: &str) -> Result<Rules, String> {
    Rules::from_text(source).map_err(|error| error.to_string())
}

/// The rules of a workload, compiled once for all ways in turn: a million take a minute.
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

/// The evaluator that all answers are held against.
pub fn reference(rules: &Rules) -> impl FnMut(&Sample) -> Option<u32> + 'static {
    let rules = rules.with_tier(Tier::Reference);
    let mut session = rules.session();
    move |sample| choose(&mut session, &rules.prepare(&sample.json))
}

/// The rank of the route that is chosen: its number among the rules, which stand in their order in the
/// text.
fn choose(session: &mut Session, record: &Record<'_>) -> Option<u32> {
    match session.choose(record).chosen? {
        Chosen::Rule(rule) => Some(rule.index() as u32),
        Chosen::Default(_) => None,
    }
}

/// Rules, and whether machine code may be made of them while they decide.
pub struct Decider {
    rules: Rules,
    warms: bool,
}

impl Engine for Decider {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        let records = samples.iter().map(|sample| self.rules.prepare(&sample.json)).collect();
        Box::new(Prepared { session: self.rules.session(), records, warms: self.warms })
    }
}

struct Prepared<'e> {
    session: Session,
    records: Vec<Record<'e>>,
    warms: bool,
}

/// After so many decisions rules that are worth it have long been given to the compiler …
const WARM: usize = 20_000;
/// … which has finished after this.
const COMPILING: Duration = Duration::from_millis(300);
/// The longest time of warming up; where decisions are too slow to get hot in it, no machine code is made.
const WARMING: Duration = Duration::from_secs(1);

impl Ready for Prepared<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        choose(&mut self.session, &self.records[at])
    }

    fn batch(&mut self, from: usize, count: usize, messages: usize) {
        let mut at = from;
        for _ in 0..count {
            // The answer is the choice; that a rank stands in it is the workload's affair.
            let record = &self.records[black_box(at)];
            // Not moved, which would wait for the halves of what has just been written.
            black_box(&self.session.choose(record));
            at += 1;
            if at == messages {
                at = 0;
            }
        }
    }

    fn warm(&mut self, messages: usize) {
        if !self.warms {
            return;
        }
        let start = Instant::now();
        let mut left = WARM;
        while left > 0 && start.elapsed() < WARMING {
            let count = left.min(16);
            self.batch((WARM - left) % messages, count, messages);
            left -= count;
        }
        std::thread::sleep(COMPILING);
    }
}
