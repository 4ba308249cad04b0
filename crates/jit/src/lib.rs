//! Machine code for conditions, by Cranelift.
//!
//! | module | what it holds |
//! |---|---|
//! | `lower` | from bytecode to Cranelift's instructions |
//! | `code` | the finished code, how values lie in memory, the machine it is given, the call: all unsafe code |
//! | `helpers` | the functions it calls |
//! | `run` | decisions by it |
//! | `bound` | values beside conditions, and bindings that change |
//!
//! A rule set becomes one module, compiled and finished at once and freed as a whole. What a test of
//! a slot needs is inline: tags, numbers, booleans, presence, equality with a constant text, short
//! lists, prefixes, arithmetic, memo cells, jumps. For everything else the code calls the
//! VM's own functions, so a new operator works at once and becomes faster when somebody gives it code
//! here. Answers are the VM's in every case; the differential test holds them to it.

#![allow(missing_docs, reason = "nobody outside this repository uses it, and what needs no doc has none")]

mod bound;
mod code;
mod helpers;
mod lower;
mod run;
#[cfg(test)]
mod tests;

pub use bound::BoundMachine;
pub use code::{EntryCode, JitCode, Machine};

use code::Owned;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use rulec_vm::bytecode::Bytecode;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use thiserror::Error;

/// Why there is no compiled code. The VM decides all the same.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JitError {
    /// The machine or system it runs on is not one that code can be made for.
    #[error("there is no code generator for this machine ({0})")]
    Unsupported(String),
    /// The code could not be made.
    #[error("the rules could not be compiled to machine code: {0}")]
    Failed(String),
}

impl JitCode {
    /// Compiles verified bytecode.
    ///
    /// # Errors
    /// When the host is not supported, or the code generator refuses.
    pub fn compile(bytecode: Arc<Bytecode>) -> Result<JitCode, JitError> {
        let isa = isa()?;
        let work = || {
            let builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
            lower::lower(bytecode, Owned::new(JITModule::new(builder)))
        };
        // The code generator asserts what it cannot promise, such as memory.
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(JitError::Failed(rulec_eval::host::panic_text(&*panic))))
    }
}

/// Checks that code can be made for the machine this runs on.
pub fn available() -> Result<(), JitError> {
    isa().map(drop)
}

/// True where a register of its own holds the address of the slots while compiled code runs: one that callers keep.
const PINS_SLOTS: bool = cfg!(target_arch = "x86_64");

fn isa() -> Result<OwnedTargetIsa, JitError> {
    if cfg!(not(target_pointer_width = "64")) {
        return Err(JitError::Unsupported("it does not have 64 bits".to_owned()));
    }
    let host = cranelift_native::builder().map_err(|why| JitError::Unsupported(why.to_owned()))?;
    let mut flags = settings::builder();
    for (flag, value) in [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        // A value that lives as long as the slots' address is else kept on the stack, and read twice where it is used.
        ("enable_pinned_reg", if PINS_SLOTS { "true" } else { "false" }),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ] {
        flags.set(flag, value).map_err(|error| JitError::Failed(error.to_string()))?;
    }
    host.finish(settings::Flags::new(flags)).map_err(|error| JitError::Unsupported(error.to_string()))
}
