//! Building artifacts from rules, and loading them.

use super::Rules;
use super::compile::{CompileError, Compiler, lower};
use super::set::RuleSet;
#[cfg(feature = "signatures")]
use crate::artifact::signature::{SigningKey, VerifyingKey};
use crate::artifact::{self, ArtifactError, Contents, MAX_ARTIFACT_BYTES};
use crate::files::open_regular;
use rulec_base::diag::{Argument, Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::parallel::Threads;
use rulec_base::text;
use rulec_sema::hir::Program;
use rulec_syntax::loader::{self, Loaded, Loader};
use std::io::Read;
use std::path::Path;

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
        artifact::write(&set.program, &set.sources, &set.warnings, strip_source, |_| None)
    }

    /// The rules as an artifact that is signed, for a service that [trusts](Compiler::trust) the key. Equal rules and
    /// keys give equal bytes.
    #[cfg(feature = "signatures")]
    pub fn to_signed_artifact(&self, strip_source: bool, key: &SigningKey) -> Vec<u8> {
        let set = self.set();
        artifact::write(&set.program, &set.sources, &set.warnings, strip_source, |header| {
            Some(key.sign(header))
        })
    }
}

impl Compiler {
    /// Trusts a key: rules are taken only when it, or another trusted one, has signed them. That is so of whatever is
    /// given this compiler: it loads artifacts that are signed, and refuses texts, which have no signature
    /// ([`compile_path`](Compiler::compile_path), [`compile_text`](Compiler::compile_text), [`LiveRules::new`] and what
    /// watches files). Where no key is trusted signatures are not looked at, and no machine code is made of an artifact
    /// unless [`Tier::Jit`] asks for it.
    ///
    /// Functions that are given no compiler, like [`Rules::from_text`] and [`Rules::from_artifact`], know of no keys.
    ///
    /// [`LiveRules::new`]: super::LiveRules::new
    /// [`Tier::Jit`]: super::Tier::Jit
    #[cfg(feature = "signatures")]
    #[must_use]
    pub fn trust(mut self, key: VerifyingKey) -> Self {
        self.trusted.push(key);
        self
    }

    /// Loads an artifact. Its content is held against its hash, its program verified, and host functions
    /// linked and checked as when compiling.
    ///
    /// # Errors
    /// When the bytes are no artifact of this version of rulec, or are not what they were, and what is
    /// wrong with host functions.
    pub fn load_artifact(&self, bytes: &[u8]) -> Result<Rules, CompileError> {
        text::keeping_parsed(|| self.load(bytes))
    }

    /// Loads an artifact from a file, as [`load_artifact`](Compiler::load_artifact) does.
    ///
    /// # Errors
    /// When the file cannot be read, and as there.
    pub fn load_artifact_path(&self, path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        let path = path.as_ref();
        let unreadable = |message: &dyn Argument| CompileError::unreadable(path, message);
        let mut bytes = Vec::new();
        let (file, _) = open_regular(path).map_err(|error| unreadable(&error))?;
        let read = file.take(MAX_ARTIFACT_BYTES + 1).read_to_end(&mut bytes);
        if read.map_err(|error| unreadable(&error))? as u64 > MAX_ARTIFACT_BYTES {
            return Err(unreadable(&message!("it is over 4 GiB")));
        }
        self.load_artifact(&bytes).map_err(|mut error| {
            error.name_artifact(&path.display().to_string());
            error
        })
    }

    /// Reads a text of rules and what it imports, unless only what is signed is taken.
    pub(super) fn read(
        &self,
        threads: Threads,
        loader: &dyn Loader,
        path: &str,
    ) -> Result<Loaded, CompileError> {
        #[cfg(feature = "signatures")]
        if !self.trusted.is_empty() {
            let message = message!(
                "`{path}` is a text of rules, which has no signature, and only what a trusted key has signed is loaded"
            );
            let help = message!("build it with `rulec build --sign KEY`, and load the artifact");
            return Err(Diagnostic::without_place(Code::ArtifactUntrusted, message).help(help).into());
        }
        Ok(loader::load(threads, loader, path))
    }

    /// Returns whether a trusted key has signed the artifact.
    fn authenticate(&self, bytes: &[u8]) -> Result<bool, CompileError> {
        #[cfg(feature = "signatures")]
        return artifact::authenticate(bytes, &self.trusted).map_err(|error| refused(&error));
        #[cfg(not(feature = "signatures"))]
        {
            let _ = bytes;
            Ok(false)
        }
    }

    fn load(&self, bytes: &[u8]) -> Result<Rules, CompileError> {
        let is_signed = self.authenticate(bytes)?;
        let Contents { program, sources, warnings } =
            artifact::read(bytes).map_err(|error| refused(&error))?;
        let mut found = Vec::new();
        let link = |program: &Program, found: &mut Vec<Diagnostic>| self.link(program, found);
        let set = lower(Threads::All, program, Some(sources.len()), &mut found, link);
        if let Some(set) = set {
            let set = RuleSet { may_compile: is_signed, ..set };
            return Ok(self.compiled(set, sources, warnings));
        }
        // What compiled when it was built compiles again: all else is damage.
        found.retain(Diagnostic::is_error);
        match found.iter().find(|error| error.span().is_none()) {
            Some(error) => Err(damaged(&error.message)),
            None => Err(CompileError::new([warnings, found].concat(), sources)),
        }
    }
}

fn refused(error: &ArtifactError) -> CompileError {
    match error {
        ArtifactError::Foreign => cannot_load(Code::NoArtifact, &error.in_words())
            .help(message!("rules are compiled to such a file by `rulec build`"))
            .into(),
        ArtifactError::Version(_) | ArtifactError::Zones(_) => {
            cannot_load(Code::ArtifactVersion, &error.in_words()).help(AGAIN).into()
        }
        ArtifactError::Unsigned | ArtifactError::Untrusted(_) | ArtifactError::Forged(_) => {
            cannot_load(Code::ArtifactUntrusted, &error.in_words()).help(SIGN).into()
        }
        ArtifactError::Damaged | ArtifactError::Malformed(_) => damaged(&error.in_words()),
    }
}

const AGAIN: Message = message!("build it again from the rules: `rulec build`");

const SIGN: Message = message!("sign it with a key that is trusted here: `rulec build --sign KEY`");

fn damaged(what: &dyn Argument) -> CompileError {
    cannot_load(Code::ArtifactDamaged, what).help(AGAIN).into()
}

fn cannot_load(code: Code, what: &dyn Argument) -> Diagnostic {
    Diagnostic::without_place(code, message!("the compiled rules cannot be loaded: {what}"))
}
