//! `tests/mutants` plants faults by this program and sees whether the tests catch them. cargo-mutants lists the faults; all that are
//! drawn are built into one program, each behind a switch (`switch.rs`), since building anew for each takes minutes. Each then meets
//! the tests that come to it, and no others (`trial.rs`).

mod compile;
mod mutant;
mod record;
mod rewrite;
mod sites;
mod suite;
#[cfg(test)]
mod tests;
mod tree;
mod trial;

use mutant::Mutant;
use record::{Outcome, Record, Row};
use std::env;
use std::fs;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use tree::Tree;

/// Whatever stops a run, in words.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The packages whose tests come to the engine, the analyses and the formatter.
const PACKAGES: [&str; 5] = ["rulec", "rulec-cli", "rulec-conformance", "rulec-report", "rulec-lsp"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let answer = match &*arguments {
        [seed, count, areas @ ..] if !areas.is_empty() => asked(seed, count, areas),
        _ => Err("usage: rulec-planted SEED COUNT AREA…".into()),
    };
    match answer {
        Ok((report, well)) => {
            print!("{report}");
            ExitCode::from(u8::from(!well))
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn asked(seed: &str, count: &str, areas: &[String]) -> Result<(String, bool), Failure> {
    let tree = Tree::open(&env::current_dir()?)?;
    let count =
        count.parse().map_err(|_| format!("COUNT is how many of each area, and `{count}` is no number"))?;
    let mut drawn = Vec::new();
    for area in areas {
        let listed = mutant::list(&tree.root, area)?;
        if listed.is_empty() {
            return Err(format!(
                "there is nothing to change in `{area}`; an area is a module such as src/vm"
            )
            .into());
        }
        drawn.push((area.clone(), mutant::draw(listed, seed, count)));
    }
    let report = examine(&tree, &mutant::number(drawn), seed, &PACKAGES.map(str::to_owned))?;
    fs::write(tree.made.join("report"), &report.0)?;
    Ok(report)
}

/// Tries those mutants that the record does not know yet, and reports on all.
fn examine(
    tree: &Tree,
    mutants: &[Mutant],
    seed: &str,
    packages: &[String],
) -> Result<(String, bool), Failure> {
    fs::create_dir_all(&tree.made)?;
    let [sources, tests] = tree.hashes()?;
    let path = tree.made.join(format!("{seed}-{sources:016x}.tsv"));
    let mut record = Record::open(&path, tests);
    let open: Vec<&Mutant> = mutants.iter().filter(|mutant| record.get(mutant).is_none()).collect();
    if !open.is_empty() {
        // All that can be, so that a later call finds the same program built.
        let switched =
            |mutant: &&Mutant| record.get(mutant).is_none_or(|row| row.outcome != Outcome::Untried);
        let planted: Vec<&Mutant> = mutants.iter().filter(switched).collect();
        let left_out = compile::plant(tree, &planted)?;
        for mutant in open.iter().filter(|mutant| left_out.contains_key(&mutant.number)) {
            record.add(Row::new(mutant, Outcome::Untried, left_out[&mutant.number].clone()))?;
        }
        let programs = compile::tests(tree, packages)?;
        let names: String = mutants.iter().map(|mutant| &*mutant.listed.name).collect();
        let key = format!(
            "{:016x}",
            mutant::hash(&[names.as_bytes(), &sources.to_le_bytes(), &tests.to_le_bytes()])
        );
        let watched = suite::watch(tree, &programs, &key)?;
        let open: Vec<&Mutant> = open.into_iter().filter(|mutant| record.get(mutant).is_none()).collect();
        let shared = Mutex::new(record);
        trial::run(tree, &watched, &open, &shared)?;
        record = shared.into_inner()?;
    }
    Ok(record.report(mutants))
}

/// Runs work on each core, and ends with the first failure.
fn on_each_core(work: impl Fn(usize) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(move || work(core))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread of the trials panicked"))
    })
}

/// The next place of a queue.
fn take(next: &Mutex<usize>) -> usize {
    let mut next = next.lock().expect("none panicked");
    *next += 1;
    *next - 1
}
