//! The random programs and messages of the differential test, with what the reference evaluator answers, as JSON lines: what
//! another language binds the engine for is held against them (`python/tests/test_programs.py`). `RULEC_TIMES` and
//! `RULEC_SEED` choose the seeds as they do in tests.
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

/// Programs, and messages of each.
const PROGRAMS: u64 = 120;
const MESSAGES: usize = 60;

/// The rules, decided by the reference evaluator. Whoever reads the lines has functions of these names that answer alike.
fn compile(source: &str) -> Result<Rules, rulec::CompileError> {
    let is_long = |text: String| if text.contains('文') { Err("no opinion") } else { Ok(text.len() > 6) };
    let compiler = Compiler::new()
        .function("is_long", is_long)
        .function("score", |text: String, n: i64| (text.len() as f64) / 3.0 + (n % 100) as f64);
    Ok(compiler.compile_text(source)?.with_tier(Tier::Reference))
}

/// A program with messages, and what is answered to each: the text of the decision, and the names of all routes that hold.
fn program(seed: u64) -> Option<Json> {
    let mut random = Random::new(seed);
    let generated = match seed % 4 {
        1 => Generator::under_limits(&mut random),
        _ => Generator::program(&mut random),
    };
    // Now and then one does not compile, of which the differential test keeps count.
    let rules = compile(&generated.source).ok()?;
    let name = &generated.entries[seed as usize % generated.entries.len()];
    let entry = rules.entry(name).ok()?;
    let cases = (0..MESSAGES).map(|_| {
        let message = message(&mut random);
        let answer = serde_json::to_string(&entry.decide(&message)).unwrap_or_default();
        json!({"message": message.to_string(), "answer": answer, "matched": entry.matched(&message)})
    });
    let cases: Vec<Json> = cases.collect();
    Some(json!({"seed": seed, "source": generated.source, "entry": name, "cases": cases}))
}

fn main() -> std::io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    for program in seeds(PROGRAMS).filter_map(program) {
        writeln!(out, "{program}")?;
    }
    out.flush()
}
