//! rulec itself, through its public API only: with default settings, and with each of its engines.

use super::lines::RulecLines;
use super::{Column, Engine, Ready, Sample};
use crate::workload::{Shape, Workload};
use ::rulec::{Indexing, PreparedMessage, Rules, Session, Tier};
use rulec_eval::decision::Chosen;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// An engine configuration of rulec.
#[derive(Clone, Copy)]
pub struct Way {
    pub name: &'static str,
    tier: Tier,
    indexing: Indexing,
    /// Maximum number of routes to measure.
    most: usize,
}

const VM: Way = Way { name: "rulec-vm", tier: Tier::Vm, indexing: Indexing::Never, most: 100_000 };
/// Machine code only. The limit on routes is low, because JIT compilation takes at least a tenth of
/// a millisecond per route.
const JIT: Way = Way { name: "rulec-jit", tier: Tier::Jit, indexing: Indexing::Never, most: 10_000 };
const INDEX: Way = Way { name: "rulec-index", tier: Tier::Auto, indexing: Indexing::Always, most: 1_000_000 };
/// The default settings. The performance targets apply to this configuration.
const DEFAULT: Way = Way { name: "rulec", tier: Tier::Auto, indexing: Indexing::Auto, most: 1_000_000 };

/// All configurations of rulec, the default last.
pub const WAYS: [Way; 4] = [VM, JIT, INDEX, DEFAULT];

impl Way {
    /// Configures the rules for this engine.
    ///
    /// # Errors
    /// If the rules have no JIT code.
    pub fn decider(self, rules: &Rules) -> Result<Decider, String> {
        let rules = rules.with_tier(self.tier).with_index(self.indexing);
        rules.warm_up().map_err(|error| error.to_string())?;
        Ok(Decider { rules, warms: self.tier == Tier::Auto })
    }

    /// Compiles the workload and configures its rules. The JIT configuration compiles rules of its
    /// own, because clones of rules share JIT code. Otherwise the default configuration would use
    /// JIT code that it did not decide to compile.
    fn build(self, workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
        let rules = match self.tier {
            Tier::Jit => compile_text(&workload.source())?,
            _ => compile(workload)?,
        };
        Ok(Box::new(self.decider(&rules)?))
    }
}

/// Builds the default configuration, which decides lines of JSON.
fn build_lines(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(RulecLines(DEFAULT.decider(&compile(workload)?)?)))
}

/// Returns a table column for each configuration of rulec.
pub fn columns() -> Vec<Column> {
    vec![
        Column { name: VM.name, build: |workload| VM.build(workload), most: VM.most },
        Column { name: JIT.name, build: |workload| JIT.build(workload), most: JIT.most },
        Column { name: INDEX.name, build: |workload| INDEX.build(workload), most: INDEX.most },
        Column { name: DEFAULT.name, build: |workload| DEFAULT.build(workload), most: DEFAULT.most },
        Column { name: "rulec-lines", build: build_lines, most: DEFAULT.most },
    ]
}

/// Compiles rules from source text. The error is the message of the compiler.
pub fn compile_text(source: &str) -> Result<Rules, String> {
    Rules::from_text(source).map_err(|error| error.to_string())
}

/// Compiles the rules of a workload. The result is cached for the next configuration, because a
/// million routes take a minute.
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

/// Returns the reference evaluator, with which all answers are compared.
pub fn reference(rules: &Rules) -> impl FnMut(&Sample) -> Option<u32> + 'static {
    let rules = rules.with_tier(Tier::Reference);
    let mut session = rules.session();
    move |sample| choose(&mut session, &rules.prepare(&sample.json))
}

/// Returns the rank of the chosen route. The rank equals the rule index, because the text lists the
/// rules in evaluation order.
fn choose(session: &mut Session, record: &PreparedMessage<'_>) -> Option<u32> {
    match session.choose(record).chosen? {
        Chosen::Rule(rule) => Some(rule.index() as u32),
        Chosen::Default(_) => None,
    }
}

/// The compiled rules, and whether the JIT may compile them in the background.
pub struct Decider {
    rules: Rules,
    warms: bool,
}

impl Decider {
    pub fn session(&self) -> Session {
        self.rules.session()
    }
}

impl Engine for Decider {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        let records = samples.iter().map(|sample| self.rules.prepare(&sample.json)).collect();
        Box::new(Prepared { session: self.rules.session(), records, warms: self.warms })
    }
}

struct Prepared<'e> {
    session: Session,
    records: Vec<PreparedMessage<'e>>,
    warms: bool,
}

/// Number of warm-up decisions. After these decisions, the JIT compiler has received the rules if
/// they are worth compiling.
const WARMUP_DECISIONS: usize = 20_000;
/// Waiting time after the warm-up decisions. The background compilation ends within this time.
const BACKGROUND_COMPILE_WAIT: Duration = Duration::from_millis(300);
/// Maximum warm-up time. If decisions are so slow that the JIT does not compile the rules within
/// this time, no JIT code is measured.
const MAX_WARMUP_TIME: Duration = Duration::from_secs(1);

impl Ready for Prepared<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        choose(&mut self.session, &self.records[at])
    }

    fn batch(&mut self, from: usize, count: usize, messages: usize) {
        let mut at = from;
        for _ in 0..count {
            // The result of a decision is the choice; the conversion to a rank is not part of the
            // engine.
            let record = &self.records[black_box(at)];
            // By reference: moving the result would stall on data that was just written.
            black_box(&self.session.choose(record));
            at += 1;
            if at == messages {
                at = 0;
            }
        }
    }

    fn warm(&mut self, messages: usize) {
        if self.warms {
            warm(|from, count| self.batch(from % messages, count, messages));
        }
    }
}

/// Decides until the engine reaches full speed. `decide` gets the index of the first message and
/// the number of messages.
pub fn warm(mut decide: impl FnMut(usize, usize)) {
    let start = Instant::now();
    let mut left = WARMUP_DECISIONS;
    while left > 0 && start.elapsed() < MAX_WARMUP_TIME {
        let count = left.min(16);
        decide(WARMUP_DECISIONS - left, count);
        left -= count;
    }
    std::thread::sleep(BACKGROUND_COMPILE_WAIT);
}
