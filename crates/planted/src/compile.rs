//! Building the copy. Mutants that do not compile are found by where the compiler's errors lie, and left out.

use crate::Failure;
use crate::mutant::Mutant;
use crate::rewrite::Rewritten;
use crate::tree::{Planted, Tree};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds of leaving out: the compiler tells of types before it tells of borrows.
const ROUNDS: usize = 12;

/// A file of tests that was built: the program, and the folder in which its tests run.
#[derive(Clone, Debug)]
pub struct TestProgram {
    pub path: PathBuf,
    pub folder: PathBuf,
}

fn cargo(tree: &Tree, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(tree.copy()).args(arguments).args(["--message-format=json", "--quiet"]);
    command.env("CARGO_TARGET_DIR", tree.made.join("built"));
    // What a mutant leaves unused or computes too large is no reason not to try it; where it panics nobody looks up.
    command.env("RUSTFLAGS", "--cap-lints allow");
    command.stderr(Stdio::inherit());
    command
}

/// The messages of a run of Cargo, and true when it did well.
fn run(mut command: Command) -> Result<(Vec<Json>, bool), Failure> {
    let output = command.output()?;
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    Ok((messages, output.status.success()))
}

/// Plants the mutants that compile; those that do not, and those that cannot be switched, come back with the reason.
pub fn plant(tree: &Tree, mutants: &[&Mutant]) -> Result<BTreeMap<u32, String>, Failure> {
    let mut left_out = BTreeMap::new();
    for round in 1..=ROUNDS {
        let planting: Vec<_> =
            mutants.iter().copied().filter(|one| !left_out.contains_key(&one.number)).collect();
        let planted = tree.plant(&planting)?;
        let untried = planted.values().flat_map(|rewritten| &rewritten.untried);
        left_out.extend(untried.map(|(number, why)| (*number, (*why).to_owned())));
        let (messages, well) = run(cargo(tree, &["check", "--locked", "--lib"]))?;
        if well {
            return Ok(left_out);
        }
        let mut guilty = BTreeSet::new();
        for message in messages.iter().filter(|message| message["message"]["level"] == "error") {
            let found = blame(&planted, &message["message"]);
            if found.is_empty() && !message["message"]["spans"].as_array().is_none_or(Vec::is_empty) {
                return Err(message["message"]["rendered"].as_str().unwrap_or_default().into());
            }
            guilty.extend(found);
        }
        if guilty.is_empty() {
            return Err("cargo check fails where no mutant is".into());
        }
        eprintln!("round {round}: {} mutants do not compile", guilty.len());
        left_out.extend(guilty.into_iter().map(|number| (number, "does not compile".to_owned())));
    }
    Err(format!("after {ROUNDS} rounds it still does not compile").into())
}

/// The mutants to which an error belongs: those whose own text it names; else those of the innermost expression around it; else
/// those that it encloses.
fn blame(planted: &Planted, message: &Json) -> BTreeSet<u32> {
    let mut spans: Vec<(&Rewritten, Range<usize>)> = Vec::new();
    let children = message["children"].as_array().into_iter().flatten();
    for part in [message].into_iter().chain(children) {
        for span in part["spans"].as_array().into_iter().flatten() {
            let file = span["file_name"].as_str().and_then(|name| planted.get(name));
            let offset = |name: &str| span[name].as_u64().map(|offset| offset as usize);
            if let (Some(file), Some(start), Some(end)) = (file, offset("byte_start"), offset("byte_end")) {
                spans.push((file, start..end));
            }
        }
    }
    let within =
        |inner: &Range<usize>, outer: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
    let mut found = BTreeSet::new();
    for (file, span) in &spans {
        let own = file.added.iter().filter(|(_, added)| within(span, added));
        found.extend(own.map(|(number, _)| *number));
    }
    if found.is_empty() {
        for (file, span) in &spans {
            let around = file.choices.iter().filter(|(choice, _)| within(span, choice));
            found.extend(around.min_by_key(|(choice, _)| choice.len()).into_iter().flat_map(|(_, all)| all));
        }
    }
    if found.is_empty() {
        for (file, span) in &spans {
            let inside = file.added.iter().filter(|(_, added)| within(added, span));
            found.extend(inside.map(|(number, _)| *number));
        }
    }
    found
}

/// Builds the tests of some packages and finds their programs.
pub fn tests(tree: &Tree, packages: &[String]) -> Result<Vec<TestProgram>, Failure> {
    let named = packages.iter().flat_map(|package| ["-p", package]);
    // What survives meets all long tests, so that they are optimised; what can be checked is.
    let built = ["test", "--locked", "--no-run", "--tests", "--profile", "trials"];
    let arguments: Vec<&str> = built.into_iter().chain(named).collect();
    let (messages, well) = run(cargo(tree, &arguments))?;
    if !well {
        let errors = messages.iter().filter_map(|message| message["message"]["rendered"].as_str());
        return Err(errors.collect::<String>().into());
    }
    let built = messages.iter().filter(|message| message["profile"]["test"] == true);
    let programs = built.filter_map(|message| {
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        Some(TestProgram { path: message["executable"].as_str()?.into(), folder })
    });
    Ok(programs.collect())
}
