//! Compiles the conditions of rules to machine code with Cranelift, so that a service that decides
//! many messages needs no interpreter for most conditions.
//!
//! | module | contents |
//! |---|---|
//! | `lower` | lowering from bytecode to Cranelift IR |
//! | `code` | all unsafe code: finished code, the layout of values, the machine state, calls |
//! | `helpers` | the functions that compiled code calls |
//! | `run` | decisions by compiled code, values of outcomes, bindings (names whose values change) |
//!
//! The code of a rule set is one Cranelift module, which is compiled at once and freed as a whole.
//! Inline code exists for arithmetic, memo cells, jumps and simple predicates on a slot (a message
//! field). Such a predicate checks the slot's type, number, boolean or presence, or compares its
//! text with constants, short lists and prefixes. For everything else, the code calls the VM's own
//! functions. A new operator therefore works at once, and inline code for the operator can be added
//! later. The results are always the same as the VM's, as the differential test checks.

#![allow(missing_docs, reason = "only this repository uses it, and items that need no doc have none")]

mod code;
mod helpers;
mod lower;
mod run;
#[cfg(test)]
mod tests;

pub use code::{EntryCode, JitCode, Machine};

use code::OwnedModule;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_vm::bytecode::Bytecode;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use thiserror::Error;

/// The reason why a rule set could not be compiled. The VM can still evaluate the rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum JitError {
    /// The code generator does not support this processor or system. The text is the generator's
    /// own reason, in English.
    Unsupported(String),
    /// The code generator failed. The text is the generator's own reason, in English.
    Failed(String),
}

impl JitError {
    /// Returns the reason why the compilation failed, as a localized message. Error texts from the
    /// code generator stay English.
    pub fn to_message(&self) -> Message {
        match self {
            JitError::Unsupported(why) => message!("there is no code generator for this machine ({why})"),
            JitError::Failed(why) => message!("the rules could not be compiled to machine code: {why}"),
        }
    }
}

impl JitCode {
    /// Compiles verified bytecode to machine code.
    ///
    /// # Errors
    /// If the processor or system is not supported, or the code generator fails.
    pub fn compile(bytecode: Arc<Bytecode>) -> Result<JitCode, JitError> {
        let isa = target_isa()?;
        let compile = || {
            let builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
            lower::lower_rule_set(bytecode, OwnedModule::new(JITModule::new(builder)))
        };
        // The code generator panics where it cannot continue, for example without memory.
        catch_unwind(AssertUnwindSafe(compile))
            .unwrap_or_else(|panic| Err(JitError::Failed(rulec_eval::host::format_host_panic(&*panic))))
    }
}

/// Returns an error if the code generator does not support this processor or system.
pub fn check_available() -> Result<(), JitError> {
    target_isa().map(drop)
}

/// Whether compiled code keeps the address of the slot values in a reserved register. The previous
/// value of the register is restored when the code returns.
/// Measured in benches/notes/jit.md, "Ten routes".
const PINS_SLOT_ADDRESS: bool = cfg!(target_arch = "x86_64");

fn target_isa() -> Result<OwnedTargetIsa, JitError> {
    if cfg!(not(target_pointer_width = "64")) {
        return Err(JitError::Unsupported("it does not have 64 bits".to_owned()));
    }
    let host =
        cranelift_native::builder().map_err(|error_text| JitError::Unsupported(error_text.to_owned()))?;
    let mut flags = settings::builder();
    for (flag, value) in [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "false"),
        ("unwind_info", "false"),
        // Without the register, the slots' address is kept on the stack and loaded twice at each
        // use.
        ("enable_pinned_reg", if PINS_SLOT_ADDRESS { "true" } else { "false" }),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ] {
        flags.set(flag, value).map_err(|error| JitError::Failed(error.to_string()))?;
    }
    host.finish(settings::Flags::new(flags)).map_err(|error| JitError::Unsupported(error.to_string()))
}
