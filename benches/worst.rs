//! Decides the worst-case messages of operators, functions and statements at the limits, so that
//! callgrind can count the instructions. `benches/worst.sh` runs this program.
//!
//! `worst` decides each case on every engine, and prints a line per case. The line names a table of
//! the language definition (such as operators), the tested row of this table, and the cause of the
//! cost. Then it lists the milliseconds of processor time of each engine except the reference.
//! `worst NUMBER ENGINE` decides one case on one engine.

#[path = "../tests/support/engines.rs"]
mod engines;
#[path = "../tests/support/worst.rs"]
mod worst;

use engines::COLUMNS;
use rulec::{Backend, Exceeded, Rules};
use serde_json::Value as Json;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use worst::{Size, cases, compile, decide};

fn main() {
    // `cargo bench` adds an argument.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let numbers = arguments.first().and_then(|number| number.parse::<usize>().ok());
    for (number, (table, row, what, make)) in cases().enumerate() {
        if numbers.is_some_and(|wanted| wanted != number) {
            continue;
        }
        let task = make(&Size::LIMITS);
        let rules = compile(&task.rules).unwrap_or_else(|error| panic!("{error}"));
        let line = task.message.to_string();
        let table = format!("{table:?}").to_lowercase();
        print!("{number}\t{table} `{row}`: {what}");
        for column in COLUMNS {
            // Skip the reference evaluator, which favours simplicity over speed.
            if column.engine == Backend::Reference {
                continue;
            }
            let name = format!("{:?}", column.engine).to_lowercase();
            if arguments.get(1).is_some_and(|wanted| *wanted != name) {
                continue;
            }
            let rules = column.compile(&rules);
            // Make a first decision, so that lazy compilation is not measured.
            decide(&rules, "{}", &serde_json::json!({}));
            let start = spent();
            let (_, exceeded) = decide_counted(&rules, &line, &task.message);
            print!("\t{name} {}", (spent() - start).as_millis());
            if let Some(exceeded) = exceeded.first() {
                print!("\tEXCEEDED {exceeded}");
            }
        }
        println!();
    }
}

/// Returns the processor time that this thread has used, which does not depend on the load of the
/// machine. On systems that do not report this time, returns the elapsed time.
fn spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|told| told.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Decides one message. Callgrind counts the instructions in this function.
#[inline(never)]
fn decide_counted(rules: &Rules, line: &str, message: &Json) -> (Vec<String>, Vec<Exceeded>) {
    black_box(decide(rules, black_box(line), message))
}
