//! Compiles, checks or plans a source so that callgrind can count the instructions.
//! `benches/growth.sh` runs this program for each kind of statement and list, with n and with 4n of
//! them. It also runs this program for each dimension of the files that `rulec check` and `rulec
//! plan` read, with n and with 2n.
//!
//! `growth` prints the kinds of sources, one per line. `growth KIND NUMBER` compiles one source.
//! `growth check` prints the dimensions, one per line. Before each dimension, it prints the factor
//! by which the work may grow if the size doubles.
//! `growth check DIMENSION NUMBER` compiles and analyses files, and `growth plan DIMENSION NUMBER`
//! compiles files and builds the index.

#[path = "../tests/support/growth.rs"]
mod growth;

use growth::check::{DIMENSIONS, MAIN_FILE};
use growth::{FindingCount, all_kinds};
use rulec::{CompileError, Compiler, Finding, MemoryLoader, Rules};
use std::hint::black_box;

fn main() {
    // `cargo bench` adds an argument.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => {
            return DIMENSIONS.iter().for_each(|(name, _, growth)| println!("{} {name}", growth.most()));
        }
        [verb @ ("check" | "plan"), dimension, number] => {
            let (_, files, _) =
                DIMENSIONS.iter().find(|(name, ..)| name == dimension).expect("there is such a dimension");
            let files = files(number.parse().expect("a number"));
            match *verb {
                "check" => drop(check_counted(&files)),
                _ => _ = black_box(plan_counted(&files)),
            }
            return;
        }
        _ => {}
    }
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

/// Compiles and analyses the files of one dimension. Callgrind counts the instructions in this
/// function.
#[inline(never)]
fn check_counted(files: &MemoryLoader) -> Vec<Finding> {
    let compiled = Compiler::new().allow_missing_functions().compile_with(black_box(files), MAIN_FILE);
    compiled.expect("the files are right").analyse()
}

/// Compiles the files of one dimension, and chooses how decisions find each rule. Callgrind counts
/// the instructions in this function.
#[inline(never)]
fn plan_counted(files: &MemoryLoader) -> usize {
    let compiled = Compiler::new().allow_missing_functions().compile_with(black_box(files), MAIN_FILE);
    compiled.expect("the files are right").plan().len()
}

/// Compiles a source of one kind. Callgrind counts the instructions in this function.
#[inline(never)]
fn compile_counted(source: &str) -> Result<Rules, CompileError> {
    Compiler::new().allow_missing_functions().compile_text(black_box(source))
}
