//! The decision which rule sets are compiled to machine code, and when.
//!
//! `auto` begins with the VM. Once a rule set has made [`HOT`] decisions and is small enough for
//! scanning it to be a good plan at all, a thread in the background compiles it, and decisions run
//! the code from when it is there. Nobody waits; where compiling fails, the VM goes on.

use rulec_jit::{JitCode, JitError};
use rulec_vm::bytecode::Bytecode;
use rulec_vm::bytecode::instr::Instr;
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
const PAYS_ON_TREES: usize = 150;

/// One rule set is compiled in the background at a time.
static BUSY: AtomicBool = AtomicBool::new(false);

/// The machine code of a rule set, and how much it is wanted.
#[derive(Debug)]
pub(crate) struct Tiers {
    code: OnceLock<Result<Arc<JitCode>, JitError>>,
    /// The number of decisions made, up to [`HOT`]. A count that is lost to another thread is
    /// no loss.
    hotness: AtomicU32,
    /// True when the rule set is small enough for code to be worth while.
    is_small: bool,
    /// True when code pays for JSON trees too, not only where the slots have been read.
    pays_on_trees: bool,
}

impl Tiers {
    pub fn new(bytecode: &Bytecode) -> Arc<Tiers> {
        let chunk = bytecode.chunk();
        let counts = |instr: &&Instr| {
            matches!(instr, Instr::Int { .. } | Instr::Float { .. } | Instr::Truth { .. })
                || matches!(instr, Instr::Binary { .. } | Instr::Unary { .. })
        };
        let weight = |instr: &Instr| if instr.target().is_some() { 1 } else { 5 };
        let weights = chunk.instrs.iter().filter(counts).map(weight);
        Arc::new(Tiers {
            code: OnceLock::new(),
            hotness: AtomicU32::new(0),
            is_small: chunk.instrs.len() <= LARGEST && chunk.slots.len() <= MOST_SLOTS,
            pays_on_trees: weights.sum::<usize>() >= PAYS_ON_TREES,
        })
    }

    /// The code, when it has been made; an error when it cannot be.
    #[inline(always)]
    pub fn code(&self) -> Option<Result<&Arc<JitCode>, &JitError>> {
        self.code.get().map(Result::as_ref)
    }

    /// The code, made now when it is not there.
    pub fn compiled(&self, bytecode: &Arc<Bytecode>) -> Result<&Arc<JitCode>, &JitError> {
        self.code.get_or_init(|| JitCode::compile(bytecode.clone()).map(Arc::new)).as_ref()
    }

    /// Returns true when enough decisions get the rule set compiled, for trees or for slots that were read.
    pub fn pays(&self, on_trees: bool) -> bool {
        self.is_small && (self.pays_on_trees || !on_trees)
    }

    /// Counts a decision, and has the code compiled when there have been enough.
    pub fn record(self: &Arc<Tiers>, bytecode: &Arc<Bytecode>) {
        let hotness = self.hotness.load(Ordering::Relaxed);
        if hotness < HOT {
            self.hotness.store(hotness + 1, Ordering::Relaxed);
            if hotness + 1 == HOT {
                self.spawn_compile(bytecode);
            }
        }
    }

    #[cold]
    fn spawn_compile(self: &Arc<Tiers>, bytecode: &Arc<Bytecode>) {
        if BUSY.swap(true, Ordering::Acquire) {
            // Another rule set's turn; this one asks again later.
            self.hotness.store(HOT / 2, Ordering::Relaxed);
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
