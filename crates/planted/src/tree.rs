//! The copy of the tracked files, in which faults are planted; the work tree is never written to.

use crate::Failure;
use crate::mutant::{Mutant, hash};
use crate::rewrite::{Rewritten, rewrite};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The module that holds the switch, behind the end of the library's root.
const MODULE: &[u8] = b"\nmod planted;\n";

/// The repository that is tried and the folder of what this program makes.
#[derive(Debug)]
pub struct Tree {
    pub root: PathBuf,
    pub made: PathBuf,
    /// The tracked files, relative to the root.
    files: Vec<PathBuf>,
}

/// The copy as it was written: the files with mutants in them.
pub type Planted = BTreeMap<String, Rewritten>;

impl Tree {
    /// The repository at a folder.
    pub fn open(root: &Path) -> Result<Tree, Failure> {
        let output = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let names = String::from_utf8(output.stdout)?;
        let names = names.split_terminator('\0').map(PathBuf::from);
        let files = names.filter(|name| root.join(name).is_file()).collect();
        Ok(Tree { root: root.to_owned(), made: root.join("target/mutants"), files })
    }

    /// The folder of the copy.
    pub fn copy(&self) -> PathBuf {
        self.made.join("tree")
    }

    /// A hash of the sources that mutants change, without unit tests, and one of all that tests are made of.
    pub fn hashes(&self) -> Result<[u64; 2], Failure> {
        let mut hashes = [0_u64; 2];
        for name in &self.files {
            let path = name.to_string_lossy();
            if path.ends_with(".md") || path.starts_with("crates/planted/") {
                continue;
            }
            let content = fs::read(self.root.join(name))?;
            let source = path.starts_with("src/") && path.ends_with(".rs") && !path.contains("tests");
            let (source, tests) = content.split_at(if source { unit_tests(&content) } else { 0 });
            // Without the empty line that a file gets before its first unit tests.
            let source = source.trim_ascii_end();
            // That a part is empty says nothing: a file may get its first unit tests.
            for (hashed, part) in hashes.iter_mut().zip([source, tests]).filter(|(_, part)| !part.is_empty())
            {
                *hashed = hash(&[&hashed.to_le_bytes(), path.as_bytes(), part]);
            }
        }
        Ok(hashes)
    }

    /// Brings the copy up to date with these mutants in it. What stays the same is not touched, so that Cargo builds what changed.
    pub fn plant(&self, mutants: &[&Mutant]) -> Result<Planted, Failure> {
        let mut of_files: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
        for mutant in mutants {
            of_files.entry(&mutant.listed.file).or_default().push(mutant);
        }
        let mut planted = Planted::new();
        for (name, mutants) in of_files {
            let text = fs::read_to_string(self.root.join(name))?;
            let rewritten = rewrite(&text, &mutants).map_err(|error| format!("{name}: {error}"))?;
            planted.insert(name.to_owned(), rewritten);
        }
        let mut written = BTreeSet::new();
        for name in &self.files {
            let (from, path) = (self.root.join(name), self.copy().join(name));
            let mut content = match planted.get(&*name.to_string_lossy()) {
                Some(rewritten) => rewritten.text.clone().into_bytes(),
                None => fs::read(&from)?,
            };
            if name == Path::new("src/lib.rs") {
                content.extend_from_slice(MODULE);
            }
            write(&path, &content)?;
            fs::set_permissions(&path, fs::metadata(&from)?.permissions())?;
            written.insert(path);
        }
        let switch = self.copy().join("src/planted.rs");
        write(&switch, include_bytes!("switch.rs"))?;
        written.insert(switch);
        clear(&self.copy(), &written)?;
        Ok(planted)
    }
}

/// The place where the unit tests at the end of a file begin.
fn unit_tests(content: &[u8]) -> usize {
    const OPENING: &[u8] = b"#[cfg(test)]\nmod tests {";
    let mut windows = content.windows(OPENING.len());
    windows.position(|window| window == OPENING).unwrap_or(content.len())
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("it lies in the copy"))?;
    Ok(fs::write(path, content)?)
}

/// Removes the files below a folder that are not among the written ones, such as what tests left behind.
fn clear(folder: &Path, written: &BTreeSet<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            clear(&path, written)?;
        } else if !written.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
