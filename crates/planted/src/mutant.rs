//! Mutants as cargo-mutants lists them, and the sample that a seed draws of them.

use crate::Failure;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// A place in a file: lines and columns count from one, columns in characters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// An extent in a file; its end is the place behind it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub struct Extent {
    pub start: Place,
    pub end: Place,
}

/// The kinds of mutants.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Genre {
    /// The body of a function is replaced by a value.
    FnValue,
    /// An operator is replaced by another.
    BinaryOperator,
    /// A `!` or `-` is left out.
    UnaryOperator,
    /// An arm of a `match` that has an arm `_` is left out.
    MatchArm,
    /// The guard of an arm is replaced by `true` or `false`.
    MatchArmGuard,
    /// A field is left out of a struct expression that has a base.
    StructField,
    /// A kind that a newer cargo-mutants has.
    #[serde(other)]
    Other,
}

/// A mutant as a row of the list says it.
#[derive(Clone, Debug, Deserialize)]
pub struct Listed {
    /// File, line, column and what is replaced by what in which function.
    pub name: String,
    pub file: String,
    pub span: Extent,
    pub replacement: String,
    pub genre: Genre,
}

/// A mutant that was drawn. Its number, from one, is what the planted program calls it by.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub number: u32,
    /// The area as it was asked for, such as `src/vm`.
    pub area: String,
    pub listed: Listed,
}

/// A hash that is the same on every machine, for drawing and for knowing texts again.
pub fn hash(parts: &[&[u8]]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    // FNV mixes its high bits badly; this is the last step of SplitMix64.
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The mutants that cargo-mutants finds in an area: a file, and the files of the folder of that name.
pub fn list(root: &Path, area: &str) -> Result<Vec<Listed>, Failure> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["mutants", "--list", "--json", "--package", "rulec"]);
    let output = command.args(["-f", &format!("{area}.rs"), "-f", &format!("{area}/**")]).output()?;
    if !output.status.success() {
        return Err(format!("cargo mutants: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A sample of an area's mutants, in the order in which they are tried. A larger count draws the same ones first.
pub fn draw(mut listed: Vec<Listed>, seed: &str, count: usize) -> Vec<Listed> {
    listed
        .sort_by_cached_key(|mutant| (hash(&[seed.as_bytes(), mutant.name.as_bytes()]), mutant.name.clone()));
    listed.dedup_by(|one, other| one.name == other.name);
    listed.truncate(count);
    listed
}

/// The drawn mutants of all areas under their numbers, areas by turns.
pub fn number(areas: Vec<(String, Vec<Listed>)>) -> Vec<Mutant> {
    let mut turns: Vec<(usize, String, Listed)> = Vec::new();
    for (area, drawn) in areas {
        turns.extend(drawn.into_iter().enumerate().map(|(turn, listed)| (turn, area.clone(), listed)));
    }
    // Stable: within a turn the areas stay in their order.
    turns.sort_by_key(|(turn, ..)| *turn);
    let numbered = (1..).zip(turns);
    numbered.map(|(number, (_, area, listed))| Mutant { number, area, listed }).collect()
}
