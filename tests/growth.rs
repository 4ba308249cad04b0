//! Checks that compiling takes memory in proportion to the file, for every kind of statement and
//! list. Checks that `rulec check` takes steps and memory in proportion to the file, in each
//! dimension in which a file can grow.
//!
//! The test counts the bytes that compiling requests from the allocator, with n and with 4n
//! statements or elements. The counts do not depend on the machine or its load. They reveal data
//! that is copied, collected or written again for each element. They do not reveal linear searches
//! per element, which allocate nothing. For those, `benches/growth.sh` counts instructions.

#[path = "support/counting.rs"]
mod counting;
#[path = "support/growth.rs"]
mod growth;

use counting::requested_bytes;
use growth::check::{DIMENSIONS, Growth, MAIN_FILE};
use growth::{FindingCount, all_kinds};
use rulec::{AnalysisOptions, Compiler, MemoryLoader};
use rulec_lang::limits::MAX_ANALYSIS_STEPS;

/// Returns the number of bytes requested while `source` compiles.
fn allocated_bytes(name: &str, source: &str, comes: FindingCount) -> usize {
    let compiler = Compiler::new().allow_missing_functions();
    let before = requested_bytes();
    let compiled = compiler.compile_text(source);
    let bytes = requested_bytes() - before;
    let error = compiled.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let shown: String = error.chars().take(300).collect();
    assert_eq!(compiled.is_ok(), comes == FindingCount::Right, "{name}: {shown}");
    bytes
}

/// The work of checking files, as counts that depend on neither the machine nor its load.
#[derive(Clone, Copy, Debug)]
struct CheckWork {
    /// Bytes requested while the files are compiled and analysed, and the index is built.
    bytes: usize,
    /// Steps of the analysis.
    steps: u64,
}

fn work_of_check(name: &str, files: &MemoryLoader) -> CheckWork {
    let compiler = Compiler::new().allow_missing_functions();
    let before = requested_bytes();
    let rules = compiler.compile_with(files, MAIN_FILE).unwrap_or_else(|error| panic!("{name}: {error}"));
    let steps = rules.analyse_counted(AnalysisOptions::default()).steps;
    drop(rules.plan());
    CheckWork { bytes: requested_bytes() - before, steps }
}

/// Returns the dimensions in which `rulec check` takes too many more steps, or too much more
/// memory, if the files double in size.
fn dimensions_that_grow_too_fast() -> Vec<String> {
    const SIZE: usize = 60;
    let mut wrong = Vec::new();
    for (name, files, growth) in DIMENSIONS {
        let [few, many] = [SIZE, 2 * SIZE].map(|size| work_of_check(name, &files(size)));
        let (most, small) = (growth.most(), 1_000.0);
        let fits = |few: f64, many: f64| many <= most * few + small;
        if !fits(few.steps as f64, many.steps as f64) || !fits(few.bytes as f64, many.bytes as f64) {
            wrong.push(format!("{name}: {few:?}, and {many:?} for twice as much"));
        }
        if *growth == Growth::EachWithAll {
            let largest = work_of_check(name, &files(100 * SIZE));
            if largest.steps > MAX_ANALYSIS_STEPS {
                wrong.push(format!("{name}: {largest:?} is more than the limit"));
            }
        }
    }
    wrong
}

#[test]
fn compiling_and_checking_take_memory_in_proportion_to_the_file() {
    const FEW_STATEMENTS: usize = 60;
    /// Number of mistakes in a source. The compiler compares misspelt names with known names only
    /// up to a bound. This number of mistakes reaches the bound.
    const FEW_WRONG_STATEMENTS: usize = 300;
    // Initialise the global state that all compilations share.
    allocated_bytes("first", "route r when text matches r\"a\" -> h", FindingCount::Right);
    let mut wrong = dimensions_that_grow_too_fast();
    for (name, source, comes) in all_kinds() {
        let n = if *comes == FindingCount::Right { FEW_STATEMENTS } else { FEW_WRONG_STATEMENTS };
        let (few, many) =
            (allocated_bytes(name, &source(n), *comes), allocated_bytes(name, &source(4 * n), *comes));
        // Training the classifier takes memory for intents × words: see docs/limits.md.
        if many > 6 * few && *name != "intent" {
            wrong.push(format!("{name}: {few} bytes, and {many} for four times as much"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
