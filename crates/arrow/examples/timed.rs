//! Times the decision of an Arrow file's batches, once per line of standard input. The caller can
//! run other measurements between two lines (`python/bench/measure.py rust`).
//!
//! `cargo run --release -p rulec-arrow --features formats,jit --example timed -- RULES FILE`

use arrow_array::RecordBatch;
use rulec::Rules;
use rulec_arrow::formats::{Format, open_source};
use rulec_arrow::{Decider, Options};
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::stdin;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rules, file] = arguments.as_slice() else {
        return Err("usage: timed RULES FILE".into());
    };
    let mut source = open_source(Format::Arrow, File::open(file)?)?;
    let mut decider = Decider::new(&Rules::from_path(rules)?, None, source.schema(), &Options::default())?;
    let mut batches: Vec<RecordBatch> = Vec::new();
    while let Some(part) = source.next()? {
        batches.push(part.batch);
    }
    for line in stdin().lines() {
        line?;
        let start = Instant::now();
        for batch in &batches {
            black_box(decider.decide(batch)?);
        }
        println!("{}", start.elapsed().as_nanos());
    }
    Ok(())
}
