//! Which rule sets are compiled to machine code, and when.
//!
//! `auto` begins with the VM. Once a rule set has made [`HOT`] decisions and is small enough for
//! scanning it to be a good plan at all, a thread in the background compiles it, and decisions run
//! the code from when it is there. Nobody waits; where compiling fails, the VM goes on.

use super::{Entry, Record, Rules, Tier, TierUnavailable};
use crate::decision::Choice;
use crate::vm::{Scratch, Vm};

#[cfg(feature = "jit")]
pub(super) use with_jit::Tiers;

impl Rules {
    /// Makes ready what the chosen engine needs, which else happens on first use: with [`Tier::Jit`]
    /// compiles the rules.
    ///
    /// # Errors
    /// Why the engine cannot decide here. The VM does it in its place.
    pub fn ready(&self) -> Result<(), TierUnavailable> {
        self.tier.available()?;
        #[cfg(feature = "jit")]
        if self.tier == Tier::Jit {
            let set = &self.set;
            set.tiers.compiled(&set.bytecode).map_err(|error| TierUnavailable::new(self.tier, error))?;
        }
        Ok(())
    }

    /// The code that payloads are judged by. Only when forced: a payload's blocks are short, and each
    /// would pay for the places of all slots.
    #[cfg(feature = "jit")]
    pub(crate) fn forced_code(&self) -> Option<&crate::jit::JitCode> {
        if self.tier == Tier::Jit { self.set.compiled(self.tier) } else { None }
    }
}

impl Entry<'_> {
    /// What [`Entry::decide_record`] decides, and nothing else: no arguments are evaluated, and calls of
    /// host functions are not told of. `scratch` is the caller's own, kept from one decision to the
    /// next. A record prepared by other rules is resolved anew.
    #[doc(hidden)]
    pub fn choose_record(&self, record: &Record<'_>, scratch: &mut Scratch) -> Choice {
        let rules = self.rules;
        if record.generation != rules.generation {
            return self.choose_record(&rules.prepare(record.message), scratch);
        }
        #[cfg(feature = "jit")]
        if let Some(code) = rules.code(self.how, self.table, false) {
            return code.record(&rules.hosts, &record.slots, scratch).decide(self.table);
        }
        if self.how.tier == Tier::Reference {
            return rules.choose(self.how, self.table, record.message, None).0;
        }
        let mut machine = Vm::record(&rules.bytecode, &rules.hosts, &record.slots, scratch);
        rules.lend_index(&mut machine, self.how);
        machine.decide(self.table)
    }
}

#[cfg(feature = "jit")]
mod with_jit {
    use super::*;
    use crate::bytecode::Bytecode;
    use crate::bytecode::instr::Instr;
    use crate::engine::{Calls, How, Indexing, RuleSet};
    use crate::jit::{JitCode, JitError};
    use crate::sema::hir::TableId;
    use crate::value::Value;
    use serde_json::Value as Json;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::sync::{Arc, OnceLock};

    /// After so many decisions a rule set is compiled: about when the VM has taken the time that
    /// compiling takes.
    const HOT: u32 = 10_000;
    /// Rule sets of more instructions stay with the VM (and its index).
    const LARGEST: usize = 4_096;
    /// Programs of more fields do, since compiled code keeps a place for each of them.
    const MOST_SLOTS: usize = 256;

    /// With fewer instructions of arithmetic and comparison the machine is as fast on a JSON message,
    /// whose fields take most of the time.
    const PAYS_ON_JSON: usize = 150;

    /// One rule set is compiled in the background at a time.
    static BUSY: AtomicBool = AtomicBool::new(false);

    /// The machine code of a rule set, and how much it is wanted.
    #[derive(Debug, Default)]
    pub struct Tiers {
        pub(super) code: OnceLock<Result<JitCode, JitError>>,
        /// How many decisions were made, up to [`HOT`]. A count that is lost to another thread is
        /// no loss.
        heat: AtomicU32,
        /// Whether code pays for JSON messages too, not only for prepared ones.
        json: bool,
    }

    impl Tiers {
        /// For a rule set.
        pub fn of(bytecode: &Bytecode) -> Arc<Tiers> {
            let chunk = bytecode.chunk();
            let small = chunk.instrs.len() <= LARGEST && chunk.slots.len() <= MOST_SLOTS;
            let heat = AtomicU32::new(if small { 0 } else { HOT });
            let counts = |instr: &&Instr| {
                matches!(instr, Instr::Int { .. } | Instr::Float { .. } | Instr::Truth { .. })
                    || matches!(instr, Instr::Binary { .. } | Instr::Unary { .. })
            };
            let weight = |instr: &Instr| if instr.target().is_some() { 1 } else { 5 };
            let json = chunk.instrs.iter().filter(counts).map(weight).sum::<usize>() >= PAYS_ON_JSON;
            Arc::new(Tiers { code: OnceLock::new(), heat, json })
        }

        /// For bytecode that only the machine may run.
        pub fn without_code() -> Arc<Tiers> {
            Arc::new(Tiers {
                code: OnceLock::from(Err(JitError::Unchecked)),
                heat: AtomicU32::new(HOT),
                json: false,
            })
        }

        /// The code, made now when it is not there.
        pub fn compiled(&self, bytecode: &Arc<Bytecode>) -> Result<&JitCode, JitError> {
            self.code.get_or_init(|| JitCode::compile(bytecode.clone())).as_ref().map_err(Clone::clone)
        }

        /// Counts a decision.
        fn warm(self: &Arc<Tiers>, bytecode: &Arc<Bytecode>) {
            let heat = self.heat.load(Ordering::Relaxed);
            if heat < HOT {
                self.heat.store(heat + 1, Ordering::Relaxed);
                if heat + 1 == HOT {
                    self.kindle(bytecode);
                }
            }
        }

        #[cold]
        fn kindle(self: &Arc<Tiers>, bytecode: &Arc<Bytecode>) {
            if BUSY.swap(true, Ordering::Acquire) {
                // Another rule set's turn; this one asks again later.
                self.heat.store(HOT / 2, Ordering::Relaxed);
                return;
            }
            let (tiers, bytecode) = (self.clone(), bytecode.clone());
            let work = move || {
                let _ = tiers.compiled(&bytecode);
                BUSY.store(false, Ordering::Release);
            };
            if std::thread::Builder::new().name("rulec-jit".to_owned()).spawn(work).is_err() {
                BUSY.store(false, Ordering::Release);
            }
        }
    }

    impl RuleSet {
        /// The machine code to decide by a table; `None` where another engine or the index does it,
        /// or it is not there.
        #[inline(always)]
        pub(in crate::engine) fn code(&self, how: How, table: TableId, json: bool) -> Option<&JitCode> {
            let indexed = match how.indexing {
                Indexing::Never => false,
                Indexing::Auto => self.index.get().is_some_and(|index| index.serves(table)),
                Indexing::Always => true,
            };
            if indexed || (json && how.tier == Tier::Auto && !self.tiers.json) {
                return None;
            }
            self.compiled(how.tier)
        }

        /// The machine code, when the tier has it.
        #[inline(always)]
        pub(in crate::engine) fn compiled(&self, tier: Tier) -> Option<&JitCode> {
            match tier {
                Tier::Auto => match self.tiers.code.get() {
                    Some(code) => code.as_ref().ok(),
                    None => {
                        self.tiers.warm(&self.bytecode);
                        None
                    }
                },
                Tier::Jit => self.tiers.compiled(&self.bytecode).ok(),
                Tier::Reference | Tier::Vm => None,
            }
        }

        pub(in crate::engine) fn choose_by(
            &self,
            code: &JitCode,
            table: TableId,
            message: &Json,
            slots: Option<&[Value<'_>]>,
        ) -> (Choice, Option<Calls>) {
            Self::with_scratch(|scratch| match slots {
                Some(slots) => {
                    let mut machine = code.record(&self.hosts, slots, scratch);
                    (machine.decide(table), machine.hosts().and_then(Calls::of))
                }
                None => {
                    let mut machine = code.json(&self.hosts, message, scratch);
                    (machine.decide(table), machine.hosts().and_then(Calls::of))
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rules(text: &str) -> Rules {
        Rules::from_text(text).expect("the rules compile")
    }

    #[test]
    fn a_record_of_other_rules_is_resolved_anew() {
        let first = rules("route a when x == 1 -> one\nroute b when y == 2 -> two\n");
        let second = rules("route c when y == 2 -> two\nroute d when x == 1 -> one\n");
        let message = json!({ "x": 1 });
        let record = first.prepare(&message);
        let mut scratch = Scratch::new();
        for tier in Tier::ALL {
            for (rules, wanted) in [(&first, "a"), (&second, "d")] {
                let rules = rules.with_tier(tier);
                let decision = rules.main().decide_record(&record);
                assert_eq!(decision.chosen(), Some(wanted), "{tier:?}");
                let choice = rules.main().choose_record(&record, &mut scratch);
                assert_eq!(choice.chosen, decision.statement(), "{tier:?}");
            }
        }
    }

    /// Decides until the code is there, and some times more: what is answered never changes.
    #[cfg(feature = "jit")]
    #[test]
    fn rules_that_become_hot_are_compiled_and_answer_as_before() {
        let rules = rules(
            "route small when n < 10 and s starts_with \"a\" -> a\n\
             route even when n % 2 == 0 -> b\n\
             route long when len(s) > 3 or s in [\"x\", \"yy\"] -> c\n",
        );
        let reference = rules.with_tier(Tier::Reference);
        let texts = ["abc", "x", "long one", ""];
        let messages: Vec<_> = (0..40).map(|n| json!({ "n": n, "s": texts[n % 4] })).collect();
        let records: Vec<_> = messages.iter().map(|message| rules.prepare(message)).collect();
        let mut scratch = Scratch::new();
        let expected: Vec<_> =
            records.iter().map(|record| reference.main().choose_record(record, &mut scratch)).collect();
        assert!(rules.set.tiers.code.get().is_none());
        let mut rounds = 0;
        while rounds < 1_000 || rules.set.tiers.code.get().is_none() {
            for (record, expected) in records.iter().zip(&expected) {
                assert_eq!(rules.main().choose_record(record, &mut scratch), *expected);
            }
            rounds += 1;
            assert!(rounds < 1_000_000, "nothing was compiled");
        }
        let code = rules.set.tiers.code.get().expect("it is there now");
        assert!(code.is_ok(), "{code:?}");
        for (record, expected) in records.iter().zip(&expected) {
            assert_eq!(rules.main().choose_record(record, &mut scratch), *expected);
        }
    }
}
