//! JIT tier-up: which rule sets are compiled to machine code, and when.
//!
//! The tier `auto` starts with the VM. After [`COMPILE_AFTER_DECISIONS`] decisions, a background
//! thread compiles the rule set, if it is small enough. Once the machine code is ready, it replaces
//! the VM. Decisions never wait for the compiler; if compilation fails, the VM stays in use.

use rulec_jit::{JitCode, JitError};
use rulec_vm::bytecode::Bytecode;
use rulec_vm::bytecode::instr::Instr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Number of decisions after which a rule set is compiled. By then, the VM has spent about as much
/// time as the compilation takes. Measured in benches/notes/jit.md, "Thresholds of `auto`".
const COMPILE_AFTER_DECISIONS: u32 = 10_000;
/// Maximum number of bytecode instructions to compile; larger rule sets stay with the VM and its
/// index.
/// Measured in benches/notes/jit.md, "Thresholds of `auto`".
const MAX_COMPILED_INSTRS: usize = 4_096;
/// Maximum number of slots (fields that the rules use) of a rule set that is compiled. Machine code
/// reserves memory for each slot.
const MAX_COMPILED_SLOTS: usize = 256;

/// Minimum score of a rule set for using machine code on JSON trees. Arithmetic and comparisons are
/// faster in machine code, so each such instruction adds to the score: 1 if it can jump, otherwise
/// 5. Below this score, the VM is as fast as machine code, because field lookups take most of the
/// time. Measured in benches/notes/jit.md, "Thresholds of `auto`".
const MIN_JSON_TREE_SCORE: usize = 150;

/// Set while a background compilation runs; only one rule set is compiled at a time.
static IS_JIT_COMPILING: AtomicBool = AtomicBool::new(false);

/// The machine code of a rule set, and the counters that trigger compilation.
#[derive(Debug)]
pub(crate) struct TierUpState {
    machine_code: OnceLock<Result<Arc<JitCode>, JitError>>,
    /// Number of decisions so far, up to [`COMPILE_AFTER_DECISIONS`]. A race between threads may
    /// lose a count, which does no harm.
    decision_count: AtomicU32,
    /// Whether the rule set is small enough to compile to machine code; see [`MAX_COMPILED_INSTRS`]
    /// and [`MAX_COMPILED_SLOTS`].
    is_small_enough: bool,
    /// Whether machine code is faster than the VM also for messages that are JSON trees. For
    /// messages whose fields were read in advance, it always is.
    is_faster_on_trees: bool,
}

impl TierUpState {
    pub fn new(bytecode: &Bytecode) -> Arc<TierUpState> {
        let chunk = bytecode.chunk();
        let is_counted = |instr: &&Instr| {
            matches!(instr, Instr::Int { .. } | Instr::Float { .. } | Instr::Truth { .. })
                || matches!(instr, Instr::Binary { .. } | Instr::Unary { .. })
        };
        let weight = |instr: &Instr| if instr.jump_target().is_some() { 1 } else { 5 };
        let weights = chunk.instrs.iter().filter(is_counted).map(weight);
        Arc::new(TierUpState {
            machine_code: OnceLock::new(),
            decision_count: AtomicU32::new(0),
            is_small_enough: chunk.instrs.len() <= MAX_COMPILED_INSTRS
                && chunk.slots.len() <= MAX_COMPILED_SLOTS,
            is_faster_on_trees: weights.sum::<usize>() >= MIN_JSON_TREE_SCORE,
        })
    }

    /// Returns the machine code, or an error if its compilation failed. `None` if it is not
    /// compiled yet.
    #[inline(always)]
    pub fn machine_code(&self) -> Option<Result<&Arc<JitCode>, &JitError>> {
        self.machine_code.get().map(Result::as_ref)
    }

    /// Returns the machine code; compiles it first if no earlier call has done so. If an earlier
    /// compilation failed, returns its error again.
    pub fn compile_if_needed(&self, bytecode: &Arc<Bytecode>) -> Result<&Arc<JitCode>, &JitError> {
        self.machine_code.get_or_init(|| JitCode::compile(bytecode.clone()).map(Arc::new)).as_ref()
    }

    /// Reports whether machine code would make decisions faster than the VM. `on_trees` is true for
    /// messages that are JSON trees, and false for messages whose fields were read in advance.
    pub fn is_worthwhile(&self, on_trees: bool) -> bool {
        self.is_small_enough && (self.is_faster_on_trees || !on_trees)
    }

    /// Counts a decision, and starts compilation when the count reaches
    /// [`COMPILE_AFTER_DECISIONS`].
    pub fn count_decision(self: &Arc<TierUpState>, bytecode: &Arc<Bytecode>) {
        let decision_count = self.decision_count.load(Ordering::Relaxed);
        if decision_count < COMPILE_AFTER_DECISIONS {
            self.decision_count.store(decision_count + 1, Ordering::Relaxed);
            if decision_count + 1 == COMPILE_AFTER_DECISIONS {
                self.spawn_compile(bytecode);
            }
        }
    }

    #[cold]
    fn spawn_compile(self: &Arc<TierUpState>, bytecode: &Arc<Bytecode>) {
        if IS_JIT_COMPILING.swap(true, Ordering::Acquire) {
            // Another rule set is being compiled; try again after some more decisions.
            self.decision_count.store(COMPILE_AFTER_DECISIONS / 2, Ordering::Relaxed);
            return;
        }
        let (tier_up, bytecode) = (self.clone(), bytecode.clone());
        let compile = move || {
            // Also after a panic, so that the process can compile other rule sets.
            let _finished = scopeguard::guard((), |()| IS_JIT_COMPILING.store(false, Ordering::Release));
            let _ = tier_up.compile_if_needed(&bytecode);
        };
        if std::thread::Builder::new().name("rulec-jit".to_owned()).spawn(compile).is_err() {
            IS_JIT_COMPILING.store(false, Ordering::Release);
        }
    }
}
