//! A compiled rule set, and what keeps it alive while decisions by it are about.

use super::answers::Answers;
use super::input::{Input, Record};
#[cfg(feature = "jit")]
use super::tiers::Tiers;
use rulec_base::diag::Diagnostic;
use rulec_base::source::SourceMap;
use rulec_eval::host::Host;
use rulec_lang::schema::{Breach, Promises};
use rulec_lang::value::Value;
use rulec_sema::check::Allows;
use rulec_sema::hir::Program;
use rulec_sema::normal::{self, Normal};
use rulec_vm::bytecode::Bytecode;
use rulec_vm::index::{self, Index};
use rulec_vm::input::Plan;
use serde_json::Value as Json;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub(crate) struct RuleSet {
    pub program: Program,
    pub promises: Option<Promises>,
    /// Made when a tool asks for it.
    pub normal: OnceLock<Normal>,
    pub bytecode: Arc<Bytecode>,
    /// Built when rules are compiled, where it is of use to a table; else when it is asked for.
    pub index: OnceLock<Index>,
    /// The plan to read messages straight into slots, made when it is first asked for.
    pub plan: OnceLock<Option<Plan>>,
    pub answers: Answers,
    #[cfg(feature = "jit")]
    pub tiers: Arc<Tiers>,
    /// False for what came from a file that nobody vouches for: machine code is made of it only when that is asked for.
    #[cfg_attr(not(feature = "jit"), expect(dead_code, reason = "there is no machine code then"))]
    pub may_compile: bool,
    pub hosts: Vec<Host>,
    pub sources: SourceMap,
    pub warnings: Vec<Diagnostic>,
    /// The comments that silence findings, for an analysis.
    pub allows: Allows,
    pub generation: u64,
}

static GENERATION: AtomicU64 = AtomicU64::new(1);

/// A number greater than all before.
pub(super) fn next_generation() -> u64 {
    GENERATION.fetch_add(1, Ordering::Relaxed)
}

impl RuleSet {
    /// A rule set without its texts.
    pub fn new(program: Program, bytecode: Bytecode, hosts: Vec<Host>, index: Option<Index>) -> RuleSet {
        RuleSet {
            promises: program.promised().map(|record| Promises::of(&record)),
            program,
            index: index.map(OnceLock::from).unwrap_or_default(),
            normal: OnceLock::new(),
            plan: OnceLock::new(),
            answers: Answers::default(),
            #[cfg(feature = "jit")]
            tiers: Tiers::new(&bytecode),
            may_compile: true,
            bytecode: Arc::new(bytecode),
            hosts,
            sources: SourceMap::new(),
            warnings: Vec::new(),
            allows: Allows::default(),
            generation: next_generation(),
        }
    }

    /// Resolves every slot of a message.
    pub fn prepare<'m>(&self, message: &'m Json) -> Record<'m> {
        let slots: Vec<Value<'m>> = self.program.slots.iter().map(|slot| slot.load(message)).collect();
        let present = (0..).zip(&slots).filter(|(_, value)| !value.is_missing()).map(|(slot, _)| slot);
        Record {
            present: present.collect(),
            slots,
            message,
            breaches: self.breaches_of(message),
            generation: self.generation,
        }
    }

    /// The promises of `input` that a message breaks.
    pub fn breaches(&self, input: Input<'_>) -> Vec<Breach> {
        match input {
            Input::Tree(message) => self.breaches_of(message),
            Input::Record(record) => record.breaches.clone(),
            // A message that breaks a promise is not decided by its slots alone.
            Input::Slots(_) => Vec::new(),
        }
    }

    fn breaches_of(&self, message: &Json) -> Vec<Breach> {
        match &self.promises {
            Some(promises) if !promises.surely_kept(message) => self.program.breaches(message),
            _ => Vec::new(),
        }
    }

    /// The index, built now when it is not there.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| index::build(self.normal(), self.bytecode.chunk()))
    }

    /// The normal form, made now when it is not there.
    pub fn normal(&self) -> &Normal {
        self.normal.get_or_init(|| normal::build(&self.program).0)
    }

    /// The plan to read messages straight into slots; `None` when only a tree will do.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.get_or_init(|| Plan::of(&self.program)).as_ref()
    }
}

/// An owner of a rule set. Every decision holds one; to count them all in one place would have the
/// threads that decide at the same time wait for each other's cache line, so each thread and each
/// session counts its own.
#[repr(align(128))]
pub(crate) struct Handle(Arc<RuleSet>);

impl Handle {
    pub fn new(set: &Arc<RuleSet>) -> Arc<Handle> {
        Arc::new(Handle(Arc::clone(set)))
    }
}

impl Deref for Handle {
    type Target = RuleSet;

    fn deref(&self) -> &RuleSet {
        &self.0
    }
}

/// The number of threads that have an owner of their own; more share them.
const OWNERS: usize = 32;

/// A rule set with its owners, shared by the clones of [`Rules`](super::Rules).
pub(crate) struct Shared {
    pub set: Arc<RuleSet>,
    owners: [OnceLock<Arc<Handle>>; OWNERS],
}

impl Shared {
    pub fn new(set: RuleSet) -> Shared {
        Shared { set: Arc::new(set), owners: [const { OnceLock::new() }; OWNERS] }
    }

    /// The owner for the thread of that number.
    #[inline]
    pub fn owner(&self, thread: usize) -> &Arc<Handle> {
        self.owners[thread % OWNERS].get_or_init(|| Handle::new(&self.set))
    }
}
