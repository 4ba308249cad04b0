//! Trying mutants: for each the tests that come to it, those first that caught others nearby and are short.

use crate::Failure;
use crate::mutant::Mutant;
use crate::record::{Outcome, Record, Row};
use crate::suite::{End, Test};
use crate::tree::Tree;
use std::collections::HashMap;
use std::fs;
use std::sync::Mutex;
use std::time::Instant;

/// The time that a process costs beside the test in it, in seconds.
const PROCESS: f64 = 0.02;

/// Tries the mutants, one on each core, and records what comes of each.
pub fn run(tree: &Tree, tests: &[Test], mutants: &[&Mutant], record: &Mutex<Record>) -> Result<(), Failure> {
    let next = Mutex::new(0);
    crate::on_each_core(|core| {
        let scratch = tree.made.join(format!("scratch-{core}"));
        fs::create_dir_all(&scratch)?;
        loop {
            let Some(mutant) = mutants.get(crate::take(&next)) else { return Ok(()) };
            let order = order(tests, mutant, &record.lock().expect("none panicked"));
            let began = Instant::now();
            let mut row = Row::new(mutant, Outcome::Missed, format!("{} tests", order.len()));
            for test in order {
                let run = || test.run(&mutant.number.to_string(), &scratch, tree);
                let outcome = match run()? {
                    End::TimedOut => Outcome::TimedOut,
                    // Again: on a machine that others use, one may fail without a cause.
                    End::Failed if run()? != End::Passed => Outcome::Caught,
                    End::Failed | End::Passed => continue,
                };
                row = Row::new(mutant, outcome, test.full_name());
                break;
            }
            row.seconds = began.elapsed().as_secs_f64();
            record.lock().expect("none panicked").add(row)?;
        }
    })
}

/// The tests that come to a mutant, in the order in which they are run.
fn order<'t>(tests: &'t [Test], mutant: &Mutant, record: &Record) -> Vec<&'t Test> {
    let mut caught: HashMap<&str, f64> = HashMap::new();
    for row in record.rows().filter(|row| row.outcome == Outcome::Caught) {
        let near = if row.name.split(':').next() == Some(&*mutant.listed.file) { 5.0 } else { 1.0 };
        *caught.entry(&row.by).or_default() += near;
    }
    let mut weighed: Vec<(f64, &Test)> = tests
        .iter()
        .filter(|test| test.reaches.contains(&mutant.number))
        .map(|test| {
            let hopes = 1.0 + caught.get(&*test.full_name()).copied().unwrap_or_default();
            ((PROCESS + test.seconds) / hopes, test)
        })
        .collect();
    weighed.sort_by(|one, other| one.0.total_cmp(&other.0));
    weighed.into_iter().map(|(_, test)| test).collect()
}
