//! Building artifacts from rules, and loading them.

use super::Rules;
use super::compile::{CompileError, Compiler};
use super::files::open_regular;
use super::set::RuleSet;
use crate::artifact::{self, ArtifactError};
use crate::bytecode::{self, Bytecode};
use crate::diag::{Code, Diagnostic};
use crate::sema::hir::TableId;
use std::fmt;
use std::io::Read;
use std::path::Path;

/// Larger files are not read: a million rules take a tenth of it.
pub const MAX_ARTIFACT_BYTES: u64 = 4 << 30;

impl Rules {
    /// Loads what [`to_artifact`](Rules::to_artifact) or `rulec build` wrote, without host functions; see
    /// [`Compiler::load_artifact`].
    ///
    /// # Errors
    /// When the bytes are no artifact of this version of rulec, or are not what they were, or when the
    /// rules declare host functions.
    pub fn from_artifact(bytes: &[u8]) -> Result<Rules, CompileError> {
        Compiler::new().load_artifact(bytes)
    }

    /// Loads an artifact from a file, without host functions.
    ///
    /// # Errors
    /// When the file cannot be read, and as [`from_artifact`](Rules::from_artifact).
    pub fn from_artifact_path(path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        Compiler::new().load_artifact_path(path)
    }

    /// The rules as an artifact: loaded again they decide and explain alike, without being compiled. With
    /// `strip_source` the author's text is left out; explanations then say where a condition stands and
    /// not how it reads.
    pub fn to_artifact(&self, strip_source: bool) -> Vec<u8> {
        let set = self.set();
        let chunk = set.bytecode.chunk();
        // One that was only built because it was asked for is of no use to others.
        let serves = |index: &&_| {
            let index: &crate::index::Index = index;
            (0..chunk.tables.len()).any(|table| index.serves(TableId(table as u32)))
        };
        let index = set.index.get().filter(serves);
        artifact::write(&set.program, &set.sources, &set.warnings, chunk, index, strip_source)
    }
}

impl Compiler {
    /// Loads an artifact. Its content is held against its hash, its bytecode verified, and host functions
    /// linked and checked as when compiling.
    ///
    /// # Errors
    /// When the bytes are no artifact of this version of rulec, or are not what they were, and what is
    /// wrong with host functions.
    pub fn load_artifact(&self, bytes: &[u8]) -> Result<Rules, CompileError> {
        self.load(bytes, true)
    }

    /// Loads an artifact without comparing its content with its hash: for one that was compared before, such as
    /// a program's own. What is read is held against its bounds and the bytecode verified all the same, so
    /// that a damaged file at worst decides wrongly: nothing panics, hangs or touches memory it should
    /// not. Its rules are never compiled to machine code.
    ///
    /// # Errors
    /// As [`load_artifact`](Compiler::load_artifact), as far as it is noticed.
    pub fn load_artifact_unhashed(&self, bytes: &[u8]) -> Result<Rules, CompileError> {
        self.load(bytes, false)
    }

    /// Loads an artifact from a file, as [`load_artifact`](Compiler::load_artifact) does.
    ///
    /// # Errors
    /// When the file cannot be read, and as there.
    pub fn load_artifact_path(&self, path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        let path = path.as_ref();
        let unreadable = |message: &dyn fmt::Display| CompileError::unreadable(path, message);
        let mut bytes = Vec::new();
        let (file, _) = open_regular(path).map_err(|error| unreadable(&error))?;
        let read = file.take(MAX_ARTIFACT_BYTES + 1).read_to_end(&mut bytes);
        if read.map_err(|error| unreadable(&error))? as u64 > MAX_ARTIFACT_BYTES {
            return Err(unreadable(&"it is over 4 GiB"));
        }
        self.load_artifact(&bytes).map_err(|mut error| {
            error.name_artifact(&path.display().to_string());
            error
        })
    }

    fn load(&self, bytes: &[u8], check_hash: bool) -> Result<Rules, CompileError> {
        let contents = artifact::read(bytes, check_hash).map_err(|error| refused(&error))?;
        let makes_no_sense =
            |error: &dyn fmt::Display| damaged(&format!("its bytecode makes no sense: {error}"));
        // Without this a jump back could keep the machine busy for ever.
        bytecode::verify(&contents.chunk).map_err(|error| makes_no_sense(&error))?;
        // Its regular expressions compiled when it was built.
        let bytecode = Bytecode::new(contents.chunk, |_, _| true).map_err(|error| makes_no_sense(&error))?;
        let mut diagnostics = contents.warnings;
        let hosts = self.link(&contents.program, &mut diagnostics);
        if diagnostics.iter().any(Diagnostic::is_error) {
            return Err(CompileError::new(diagnostics, contents.sources));
        }
        let set = RuleSet::new(contents.program, bytecode, hosts, contents.index, check_hash);
        Ok(self.rules(RuleSet { sources: contents.sources, warnings: diagnostics, ..set }))
    }
}

fn refused(error: &ArtifactError) -> CompileError {
    match error {
        ArtifactError::Foreign => cannot_load(Code::NoArtifact, error)
            .help("rules are compiled to such a file by `rulec build`")
            .into(),
        ArtifactError::Version(_) => cannot_load(Code::ArtifactVersion, error).help(AGAIN).into(),
        ArtifactError::Damaged | ArtifactError::Malformed(_) => damaged(error),
    }
}

const AGAIN: &str = "build it again from the rules: `rulec build`";

fn damaged(what: &dyn fmt::Display) -> CompileError {
    cannot_load(Code::ArtifactDamaged, what).help(AGAIN).into()
}

fn cannot_load(code: Code, what: &dyn fmt::Display) -> Diagnostic {
    Diagnostic::without_place(code, format!("the compiled rules cannot be loaded: {what}"))
}
