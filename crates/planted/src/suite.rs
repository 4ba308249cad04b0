//! The tests of the copy, each a process of its own, with what each takes and which mutants it comes to.

use crate::Failure;
use crate::compile::TestProgram;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// Address space of one process, in KiB: a mutant may allocate for ever.
const MEMORY: u64 = 8 << 20;
/// Size of one file, in KiB: it may write for ever.
const FILE: u64 = 1 << 20;

/// A test, and what was seen of it with no mutant on.
#[derive(Clone, Debug)]
pub struct Test {
    pub program: TestProgram,
    pub name: String,
    pub seconds: f64,
    /// The numbers of the mutants that it comes to.
    pub reaches: BTreeSet<u32>,
}

/// The end of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Passed,
    Failed,
    /// It took many times as long as without a mutant.
    TimedOut,
}

impl Test {
    /// Its program and its own name.
    pub fn full_name(&self) -> String {
        let file = self.program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Cargo adds a hash behind the last hyphen.
        format!("{} {}", file.rsplit_once('-').map_or(&*file, |(name, _)| name), self.name)
    }

    /// Runs it under limits, in a folder of temporary files of its own. What it prints comes to the file `log` of that folder.
    pub fn run(&self, planted: &str, scratch: &Path, tree: &Tree) -> Result<End, Failure> {
        let files = scratch.join("files");
        let _ = fs::remove_dir_all(&files);
        fs::create_dir_all(&files)?;
        // Processor time, since others may use the machine as well; the clock is for those that wait for ever.
        let (processor, clock) = (10.0 + 5.0 * self.seconds, 60.0 + 30.0 * self.seconds);
        let script =
            "ulimit -c 0; ulimit -v $1; ulimit -f $2; ulimit -t $3; shift 3; exec timeout -s KILL \"$@\"";
        let limits = [MEMORY, 2 * FILE, processor as u64, clock as u64].map(|limit| limit.to_string());
        let log = File::create(scratch.join("log"))?;
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args(limits).arg(&self.program.path).args(["--exact", &self.name]);
        command.current_dir(&self.program.folder).env("CARGO_MANIFEST_DIR", &self.program.folder);
        command.env("TMPDIR", &files).env("RULEC_PLANTED", planted).env("RUST_BACKTRACE", "0");
        command.env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", tree.copy());
        command.env_remove("CI").stdout(log.try_clone()?).stderr(log);
        let status = command.status()?;
        // Killed by the clock or by the limit of processor time, which `timeout` tells by dying of the same or by 128 and the number.
        let signal = status.signal().or(status.code().map(|code| code - 128));
        Ok(match signal {
            _ if status.success() => End::Passed,
            Some(9 | 24) => End::TimedOut,
            _ => End::Failed,
        })
    }
}

/// All tests of the programs, each run once with no mutant on. What was seen is kept, and read where the same is asked again.
pub fn watch(tree: &Tree, programs: &[TestProgram], key: &str) -> Result<Vec<Test>, Failure> {
    let mut tests = Vec::new();
    for program in programs {
        let output = Command::new(&program.path).args(["--list", "--format", "terse"]).output()?;
        let text = String::from_utf8(output.stdout)?;
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        tests.extend(names.map(|name| Test {
            program: program.clone(),
            name: name.to_owned(),
            seconds: 0.0,
            reaches: BTreeSet::new(),
        }));
    }
    let kept = tree.made.join("watched");
    if let Ok(text) = fs::read_to_string(&kept)
        && let Some(rows) = text.strip_prefix(&format!("{key}\n"))
    {
        return Ok(read(tests, rows));
    }
    let (next, seen, broken) = (Mutex::new(0), Mutex::new(Vec::new()), Mutex::new(String::new()));
    crate::on_each_core(|core| {
        let scratch = tree.made.join(format!("scratch-{core}"));
        loop {
            let Some(mut test) = tests.get(crate::take(&next)).cloned() else { return Ok(()) };
            let reached = scratch.join("reached");
            fs::create_dir_all(&scratch)?;
            fs::write(&reached, "")?;
            let began = Instant::now();
            let end =
                Test { seconds: 600.0, ..test.clone() }.run(&reached.to_string_lossy(), &scratch, tree)?;
            test.seconds = began.elapsed().as_secs_f64();
            let numbers = fs::read_to_string(&reached)?;
            test.reaches = numbers.split_whitespace().filter_map(|number| number.parse().ok()).collect();
            if end == End::Passed {
                seen.lock().expect("none panicked").push(test);
            } else if !test.reaches.is_empty() {
                let said = fs::read_to_string(scratch.join("log"))?;
                broken.lock().expect("none panicked").push_str(&format!("{}: {said}\n", test.full_name()));
            }
        }
    })?;
    let broken = broken.into_inner()?;
    if !broken.is_empty() {
        return Err(format!("tests fail with no mutant on:\n{broken}").into());
    }
    let seen = seen.into_inner()?;
    fs::write(kept, format!("{key}\n{}", rows(&seen)))?;
    Ok(seen)
}

fn rows(tests: &[Test]) -> String {
    let mut rows = String::new();
    for test in tests {
        let reaches: Vec<String> = test.reaches.iter().map(u32::to_string).collect();
        let path = test.program.path.display();
        let _ = writeln!(rows, "{path}\t{}\t{}\t{}", test.name, test.seconds, reaches.join(" "));
    }
    rows
}

fn read(tests: Vec<Test>, rows: &str) -> Vec<Test> {
    let read = |row: &str| {
        let mut cells = row.split('\t');
        let (path, name) = (PathBuf::from(cells.next()?), cells.next()?);
        let test = tests.iter().find(|test| test.program.path == path && test.name == name)?;
        let seconds = cells.next()?.parse().ok()?;
        let reaches = cells.next()?.split(' ').filter_map(|number| number.parse().ok()).collect();
        Some(Test { seconds, reaches, ..test.clone() })
    };
    rows.lines().filter_map(read).collect()
}
