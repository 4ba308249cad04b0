//! Trying mutants. Each meets alone, for a few seconds, those tests that caught others nearby and are short: most are caught by them.
//! The mutants that are left meet all other tests in groups, since nearly all of it passes nearly all of them: a group that passes a test is done
//! with it, and one that fails is halved until the guilty one is alone. In a group one mutant may hide what another does, but what is
//! caught was caught alone, so that hiding can only make survivors of what a test would catch, never the reverse.

use crate::Failure;
use crate::mutant::Mutant;
use crate::record::{Outcome, Record, Row};
use crate::suite::{End, Test};
use crate::tree::Tree;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// The time that a process costs beside the test in it, in seconds.
const PROCESS: f64 = 0.02;

/// The time for which a mutant meets tests alone, in seconds.
const ALONE: f64 = 4.0;

/// The size of a group. Mutants that follow each other are of different areas, so that they seldom hide each other.
const GROUP: usize = 40;

/// Tries the mutants and records what comes of each.
pub fn run(tree: &Tree, tests: &[Test], mutants: &[&Mutant], record: &Mutex<Record>) -> Result<(), Failure> {
    let trial = Trial { tree, record };
    let next = Mutex::new(0);
    crate::on_each_core(|core| {
        let scratch = trial.scratch(core)?;
        loop {
            let Some(mutant) = mutants.get(crate::take(&next)) else { return Ok(()) };
            let mut left = ALONE;
            // Its guard would live as long as a `for` over it.
            let ordered = order(tests, mutant, &trial.record());
            for test in ordered {
                let cost = PROCESS + test.seconds;
                if cost > left {
                    continue;
                }
                left -= cost;
                if trial.alone(test, mutant, &scratch)? {
                    break;
                }
            }
        }
    })?;
    let mut tests: Vec<&Test> = tests.iter().collect();
    tests.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let next = Mutex::new(0);
    crate::on_each_core(|core| {
        let scratch = trial.scratch(core)?;
        loop {
            let Some(test) = tests.get(crate::take(&next)) else { return Ok(()) };
            let open = |mutant: &&Mutant| {
                let record = trial.record();
                test.reaches.contains(&mutant.number)
                    && record.get(mutant).is_none()
                    && !record.has_passed(mutant, test)
            };
            let meeting: Vec<&Mutant> = mutants.iter().copied().filter(open).collect();
            for group in meeting.chunks(GROUP) {
                let passes = |group: &[&Mutant]| {
                    let passes = trial.test(test, group, &scratch)? == End::Passed;
                    if passes {
                        trial.record().pass(test, group)?;
                    }
                    Ok(passes)
                };
                for suspect in narrow(group, false, &passes)? {
                    trial.alone(test, suspect, &scratch)?;
                }
            }
        }
    })?;
    for mutant in mutants {
        let met = tests.iter().filter(|test| test.reaches.contains(&mutant.number)).count();
        if trial.record().get(mutant).is_none() {
            trial.record().add(Row::new(mutant, Outcome::Missed, format!("{met} tests")))?;
        }
    }
    Ok(())
}

/// Those of a group without which it passes: by halves, of which one that passes is done with. Two that fail together alone are none.
pub fn narrow<T: Copy>(
    group: &[T],
    fails: bool,
    passes: &impl Fn(&[T]) -> Result<bool, Failure>,
) -> Result<Vec<T>, Failure> {
    if group.len() < 2 && fails {
        return Ok(group.to_vec());
    }
    if !fails && passes(group)? {
        return Ok(Vec::new());
    }
    if group.len() < 2 {
        return Ok(group.to_vec());
    }
    let (one, other) = group.split_at(group.len() / 2);
    let mut found = narrow(one, false, passes)?;
    found.extend(narrow(other, found.is_empty(), passes)?);
    Ok(found)
}

struct Trial<'t> {
    tree: &'t Tree,
    record: &'t Mutex<Record>,
}

impl Trial<'_> {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("none panicked")
    }

    fn scratch(&self, core: usize) -> Result<PathBuf, Failure> {
        let scratch = self.tree.made.join(format!("scratch-{core}"));
        fs::create_dir_all(&scratch)?;
        Ok(scratch)
    }

    fn test(&self, test: &Test, on: &[&Mutant], scratch: &Path) -> Result<End, Failure> {
        let numbers: Vec<String> = on.iter().map(|mutant| mutant.number.to_string()).collect();
        test.run(&numbers.join(","), scratch, self.tree)
    }

    /// True when the test catches the mutant; either is recorded.
    fn alone(&self, test: &Test, mutant: &Mutant, scratch: &Path) -> Result<bool, Failure> {
        let began = Instant::now();
        let run = || self.test(test, &[mutant], scratch);
        let outcome = match run()? {
            End::TimedOut => Outcome::TimedOut,
            // Again: on a machine that others use, one may fail without a cause.
            End::Failed if run()? != End::Passed => Outcome::Caught,
            End::Failed | End::Passed => {
                self.record().pass(test, &[mutant])?;
                return Ok(false);
            }
        };
        let mut row = Row::new(mutant, outcome, test.full_name());
        row.seconds = began.elapsed().as_secs_f64();
        self.record().add(row)?;
        Ok(true)
    }
}

/// The tests that come to a mutant and that it has not passed, in the order in which it meets them.
fn order<'t>(tests: &'t [Test], mutant: &Mutant, record: &Record) -> Vec<&'t Test> {
    let mut caught: HashMap<&str, f64> = HashMap::new();
    for row in record.rows().filter(|row| row.outcome == Outcome::Caught) {
        let near = if row.name.split(':').next() == Some(&*mutant.listed.file) { 5.0 } else { 1.0 };
        *caught.entry(&row.by).or_default() += near;
    }
    let mut weighed: Vec<(f64, &Test)> = tests
        .iter()
        .filter(|test| test.reaches.contains(&mutant.number) && !record.has_passed(mutant, test))
        .map(|test| {
            let hopes = 1.0 + caught.get(&*test.full_name()).copied().unwrap_or_default();
            ((PROCESS + test.seconds) / hopes, test)
        })
        .collect();
    weighed.sort_by(|one, other| one.0.total_cmp(&other.0));
    weighed.into_iter().map(|(_, test)| test).collect()
}
