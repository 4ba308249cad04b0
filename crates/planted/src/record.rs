//! The record of what came of each mutant, a line each in a file that is added to, so that a later call goes on; and the report.

use crate::Failure;
use crate::mutant::{Mutant, hash};
use crate::suite::Test;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The result of trying a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A test failed.
    Caught,
    /// A test took many times as long as it does.
    TimedOut,
    /// All tests passed.
    Missed,
    /// It cannot be switched on while the program runs, or does not compile.
    Untried,
}

const WORDS: [(Outcome, &str); 4] = [
    (Outcome::Caught, "caught"),
    (Outcome::TimedOut, "timed out"),
    (Outcome::Missed, "missed"),
    (Outcome::Untried, "not tried"),
];

/// A line of the record.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub outcome: Outcome,
    /// The test that caught it, the number of tests that did not, or why it was not tried.
    pub by: String,
    pub seconds: f64,
}

impl Row {
    pub fn new(mutant: &Mutant, outcome: Outcome, by: String) -> Row {
        Row { name: mutant.listed.name.clone(), outcome, by, seconds: 0.0 }
    }
}

/// The file, and its rows by the names of mutants.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    /// A hash of the tests: what others missed is tried again.
    tests: String,
    rows: HashMap<String, Row>,
    /// Pairs of a test and a mutant that it does not catch, in a file beside the other. A pair stays when tests change, so that mutants
    /// meet new tests alone; one that was changed under its name is not tried again, which can only leave more survivors.
    passed: HashSet<u64>,
}

impl Record {
    /// Reads what is there already.
    pub fn open(path: &Path, tests: u64) -> Record {
        let tests = format!("{tests:016x}");
        let text = fs::read_to_string(path).unwrap_or_default();
        let row = |line: &str| {
            let mut cells = line.split('\t');
            let (word, of, seconds) = (cells.next()?, cells.next()?, cells.next()?.parse().ok()?);
            let (outcome, _) = *WORDS.iter().find(|(_, written)| *written == word)?;
            let (by, name) = (cells.next()?.to_owned(), cells.next()?.to_owned());
            let again = outcome == Outcome::Missed && of != tests;
            (!again).then_some((name.clone(), Row { name, outcome, by, seconds }))
        };
        let rows = text.lines().filter_map(row).collect();
        let passed = fs::read_to_string(path.with_extension("passed")).unwrap_or_default();
        let passed = passed.lines().filter_map(|line| u64::from_str_radix(line, 16).ok()).collect();
        Record { path: path.to_owned(), tests, rows, passed }
    }

    /// True when it is known that the test does not catch the mutant.
    pub fn has_passed(&self, mutant: &Mutant, test: &Test) -> bool {
        self.passed.contains(&pair(mutant, test))
    }

    /// Notes that a test catches none of these, in the file at once.
    pub fn pass(&mut self, test: &Test, mutants: &[&Mutant]) -> Result<(), Failure> {
        let pairs: Vec<u64> = mutants.iter().map(|mutant| pair(mutant, test)).collect();
        let lines: String = pairs.iter().map(|pair| format!("{pair:016x}\n")).collect();
        append(&self.path.with_extension("passed"), &lines)?;
        self.passed.extend(pairs);
        Ok(())
    }

    /// Adds a row, to the file at once.
    pub fn add(&mut self, row: Row) -> Result<(), Failure> {
        let (_, word) = WORDS.iter().find(|(outcome, _)| *outcome == row.outcome).expect("each has a word");
        let line = format!("{word}\t{}\t{:.2}\t{}\t{}\n", self.tests, row.seconds, row.by, row.name);
        append(&self.path, &line)?;
        self.rows.insert(row.name.clone(), row);
        Ok(())
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    pub fn get(&self, mutant: &Mutant) -> Option<&Row> {
        self.rows.get(&mutant.listed.name)
    }

    /// The report over these mutants, and true when at least 90 of 100 that were tried were caught.
    pub fn report(&self, mutants: &[Mutant]) -> (String, bool) {
        let mut areas: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for mutant in mutants {
            areas.entry(&mutant.area).or_default().extend(self.get(mutant));
        }
        let mut all = Vec::new();
        let mut text = String::new();
        for (area, rows) in &areas {
            let _ = writeln!(text, "{area}: {}", sum(rows));
            for row in rows.iter().filter(|row| matches!(row.outcome, Outcome::Missed | Outcome::Untried)) {
                let word = if row.outcome == Outcome::Missed { "missed by" } else { "not tried," };
                let _ = writeln!(text, "  {word} {}: {}", row.by, row.name);
            }
            all.extend(rows.iter().copied());
        }
        let _ = writeln!(text, "all: {}", sum(&all));
        let missed = count(&all, Outcome::Missed);
        (text, missed * 10 <= all.len() - count(&all, Outcome::Untried))
    }
}

fn pair(mutant: &Mutant, test: &Test) -> u64 {
    hash(&[mutant.listed.name.as_bytes(), test.full_name().as_bytes()])
}

fn append(path: &Path, lines: &str) -> Result<(), Failure> {
    Ok(OpenOptions::new().create(true).append(true).open(path)?.write_all(lines.as_bytes())?)
}

fn count(rows: &[&Row], outcome: Outcome) -> usize {
    rows.iter().filter(|row| row.outcome == outcome).count()
}

fn sum(rows: &[&Row]) -> String {
    let [caught, late, missed, untried] = WORDS.map(|(outcome, _)| count(rows, outcome));
    format!(
        "{} tried, {} caught (of which {late} by taking too long), {missed} missed; {untried} not tried",
        rows.len() - untried,
        caught + late
    )
}
