//! Compares the results of compiled code and of the VM: for every kind of instruction with edge
//! cases, and for random programs.

// The VM's tests use the same programs.
#[path = "../../vm/tests/it/build.rs"]
mod build;
mod edges;
#[path = "../../vm/tests/it/generate.rs"]
mod generate;
mod random;
mod run;
#[path = "../../vm/tests/it/values.rs"]
mod values;

use super::JitCode;
use build::Build;
use rulec_vm::bytecode::{Bytecode, lower, verify};
use std::sync::Arc;

/// Returns verified bytecode and its compiled code.
fn compile(build: &Build) -> (Arc<Bytecode>, JitCode) {
    let bytecode = lower(&build.program, &build.normal).expect("it lowers");
    verify(bytecode.chunk()).expect("it is sound");
    let bytecode = Arc::new(bytecode);
    let code = JitCode::compile(bytecode.clone()).expect("the host is supported");
    (bytecode, code)
}
