//! Prints random programs and messages with the answers of the reference evaluator, as JSON lines.
//! The tests of a language binding compare the binding's answers with these lines
//! (`python/tests/test_programs.py`). The environment variables `RULEC_TIMES` and `RULEC_SEED`
//! choose the seeds, as in the differential test.
//!
//! `cargo run -p rulec-arrow --example random_programs`

#[path = "../../../tests/support/mod.rs"]
mod support;

use rulec::{Compiler, Rules, Tier};
use serde_json::{Value as Json, json};
use std::io::{BufWriter, Write, stdout};
use support::generate::{Generator, message};
use support::random::Random;
use support::trials::seeds;

/// Number of generated programs.
const PROGRAM_COUNT: u64 = 120;
/// Number of messages that each program decides.
const MESSAGES_PER_PROGRAM: usize = 60;

/// Compiles rules for the reference evaluator, with two host functions (functions of the program
/// that rules call). A test that reads the printed lines must define functions with the same names
/// and results.
fn compile(source: &str) -> Result<Rules, rulec::CompileError> {
    let is_long = |text: String| if text.contains('文') { Err("no opinion") } else { Ok(text.len() > 6) };
    let compiler = Compiler::new()
        .function("is_long", is_long)
        .function("score", |text: String, n: i64| (text.len() as f64) / 3.0 + (n % 100) as f64);
    Ok(compiler.compile_text(source)?.with_tier(Tier::Reference))
}

/// Generates a program with messages, as JSON. Each message has its decision as JSON text, and the
/// names of all matching routes. `None` if the program does not compile.
fn generate_program(seed: u64) -> Option<Json> {
    let mut random = Random::new(seed);
    let generated = match seed % 4 {
        1 => Generator::under_limits(&mut random),
        _ => Generator::program(&mut random),
    };
    // A few generated programs do not compile; the differential test counts them.
    let rules = compile(&generated.source).ok()?;
    let name = &generated.entries[seed as usize % generated.entries.len()];
    let entry = rules.entry(name).ok()?;
    let cases = (0..MESSAGES_PER_PROGRAM).map(|_| {
        let message = message(&mut random);
        let answer = serde_json::to_string(&entry.decide(&message)).unwrap_or_default();
        json!({"message": message.to_string(), "answer": answer, "matched": entry.matched(&message)})
    });
    let cases: Vec<Json> = cases.collect();
    Some(json!({"seed": seed, "source": generated.source, "entry": name, "cases": cases}))
}

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    for program in seeds(PROGRAM_COUNT).filter_map(generate_program) {
        writeln!(out, "{program}")?;
    }
    out.flush()
}
