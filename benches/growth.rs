//! Compiles a source so that callgrind can count the instructions. `benches/growth.sh` runs this
//! program for each kind of statement and list, with n and with 4n of them.
//!
//! `growth` prints the kinds of sources, one per line. `growth KIND NUMBER` compiles one source.

#[path = "../tests/support/growth.rs"]
mod growth;

use growth::{FindingCount, all_kinds};
use rulec::{CompileError, Compiler, Rules};
use std::hint::black_box;

fn main() {
    // `cargo bench` adds an argument.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [kind, number] = arguments.as_slice() else {
        all_kinds().for_each(|(name, ..)| println!("{name}"));
        return;
    };
    let (Some((name, source, comes)), Ok(number)) =
        (all_kinds().find(|(name, ..)| name == kind), number.parse())
    else {
        panic!("there is no kind `{kind}`, or `{number}` is no number");
    };
    let compiled = compile_counted(&source(number));
    assert_eq!(compiled.is_ok(), *comes == FindingCount::Right, "{name}");
}

/// The function whose instructions callgrind counts.
#[inline(never)]
fn compile_counted(source: &str) -> Result<Rules, CompileError> {
    Compiler::new().allow_missing_functions().compile_text(black_box(source))
}
