//! Compiled code against the VM: every kind of instruction with the values that tend to go wrong, and
//! random programs.

mod edges;
mod random;
mod run;

use super::JitCode;
use crate::bytecode::{Bytecode, lower, verify};
use crate::vm::tests::build::Build;
use std::sync::Arc;

/// Verified bytecode, and its code.
fn compile(build: &Build) -> (Arc<Bytecode>, JitCode) {
    let bytecode = lower(&build.program, &build.normal).expect("it lowers");
    verify(bytecode.chunk()).expect("it is sound");
    let bytecode = Arc::new(bytecode);
    let code = JitCode::compile(bytecode.clone()).expect("the host is supported");
    (bytecode, code)
}
