//! Tests the parts of this crate against plain models: the VM, its bytecode and the reading of
//! messages.

#![allow(missing_docs, reason = "tests and their support")]

mod broken;
mod build;
mod differential;
mod generate;
mod input;
mod machine;
mod oracle;
mod values;

use build::Build;
use rulec_base::text::TextMode;
use rulec_eval::decision::{Choice, Chosen};
use rulec_lang::arena::Arena;
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_lang::ty::KindSet;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::SlotId;
use rulec_sema::hir::{BindingId, BindingRoot, Outcome, Program, RuleId, TableId, ValueId};
use rulec_sema::normal::{CondId, NormalCond, NormalExpr, NormalForm, QuantifierLevels};
use rulec_vm::bytecode::Bytecode;
use rulec_vm::bytecode::Chunk;
use rulec_vm::bytecode::instr::Instr;
use rulec_vm::bytecode::{disasm::disassemble, lower, verify};
use rulec_vm::vm::{Scratch, Vm};
use serde_json::Value as Json;
use serde_json::json;

/// Returns the verified bytecode of a program.
fn code(build: &Build) -> Bytecode {
    let code = lower(&build.program, &build.normal).unwrap();
    verify(code.chunk()).unwrap();
    code
}
