//! Writes compiled rules to an artifact (a file of compiled rules), and loads artifacts, so that a
//! service starts without the work of the compiler.

use super::Rules;
use super::compile::{CompileError, Compiler, compile_rule_set};
use super::set::RuleSet;
#[cfg(feature = "signatures")]
use crate::artifact::signature::{SigningKey, VerifyingKey};
use crate::artifact::{self, ArtifactContents, ArtifactError, MAX_ARTIFACT_BYTES};
use crate::files::open_regular;
use rulec_base::diag::{Argument, Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::text;
use rulec_sema::hir::Program;
use rulec_syntax::loader::{self, LoadedFiles, Loader};
use std::io::Read;
use std::path::Path;

impl Rules {
    /// Loads an artifact (a file of compiled rules) that [`to_artifact`](Rules::to_artifact) or
    /// `rulec build` has written. The rules must declare no host functions; otherwise, use
    /// [`Compiler::load_artifact`].
    ///
    /// # Errors
    /// If the bytes are not an artifact of this version of rulec, if they are damaged, or if the
    /// rules declare host functions.
    pub fn from_artifact(bytes: &[u8]) -> Result<Rules, CompileError> {
        Compiler::new().load_artifact(bytes)
    }

    /// Loads an artifact (compiled rules) from the file `path`. The rules must declare no host
    /// functions; otherwise, use [`Compiler::load_artifact_path`].
    ///
    /// # Errors
    /// If the file cannot be read. Also the errors of [`from_artifact`](Rules::from_artifact).
    pub fn from_artifact_path(path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        Compiler::new().load_artifact_path(path)
    }

    /// Returns the rules as the bytes of an artifact (a file of compiled rules). The loaded
    /// artifact decides and explains like these rules, without compilation. `strip_source` leaves
    /// out the source text; explanations then give the position of a condition but not its text.
    pub fn to_artifact(&self, strip_source: bool) -> Vec<u8> {
        let set = self.rule_set();
        artifact::encode_artifact(&set.program, &set.sources, &set.warnings, strip_source, |_| None)
    }

    /// Returns the rules as the bytes of a signed artifact (a file of compiled rules), for a
    /// service that [trusts](Compiler::trust) the key. `strip_source` leaves out the source text,
    /// as in [`Rules::to_artifact`]. Equal rules and keys give equal bytes.
    #[cfg(feature = "signatures")]
    pub fn to_signed_artifact(&self, strip_source: bool, key: &SigningKey) -> Vec<u8> {
        let set = self.rule_set();
        artifact::encode_artifact(&set.program, &set.sources, &set.warnings, strip_source, |header| {
            Some(key.sign(header))
        })
    }
}

impl Compiler {
    /// Adds a trusted key. With trusted keys, this compiler loads only artifacts that one of the
    /// keys signed. It refuses rule texts, because a text has no signature:
    /// [`compile_path`](Compiler::compile_path), [`compile_text`](Compiler::compile_text),
    /// [`LiveRules::new`] and file watchers then fail.
    ///
    /// Without trusted keys, signatures are not checked. An artifact is then compiled to machine
    /// code only if [`Tier::Jit`] is configured.
    ///
    /// Functions that use no [`Compiler`], such as [`Rules::from_text`] and
    /// [`Rules::from_artifact`], do not check signatures.
    ///
    /// [`LiveRules::new`]: super::LiveRules::new
    /// [`Tier::Jit`]: super::Tier::Jit
    #[cfg(feature = "signatures")]
    #[must_use]
    pub fn trust(mut self, key: VerifyingKey) -> Self {
        self.trusted_keys.push(key);
        self
    }

    /// Loads an artifact. Checks the hash of the content and verifies the program. Links the host
    /// functions, with the same type checks as the compiler.
    ///
    /// # Errors
    /// If the bytes are not an artifact of this version of rulec, or are damaged. Also if a host
    /// function is missing or has other types.
    pub fn load_artifact(&self, bytes: &[u8]) -> Result<Rules, CompileError> {
        text::with_parse_cache(|| self.load_artifact_bytes(bytes))
    }

    /// Loads an artifact from a file, like [`load_artifact`](Compiler::load_artifact).
    ///
    /// # Errors
    /// If the file cannot be read. Also the errors of [`load_artifact`](Compiler::load_artifact).
    pub fn load_artifact_path(&self, path: impl AsRef<Path>) -> Result<Rules, CompileError> {
        let path = path.as_ref();
        let unreadable = |message: &dyn Argument| CompileError::unreadable_file(path, message);
        let mut bytes = Vec::new();
        let (file, _) = open_regular(path).map_err(|error| unreadable(&error))?;
        let byte_count = file.take(MAX_ARTIFACT_BYTES + 1).read_to_end(&mut bytes);
        if byte_count.map_err(|error| unreadable(&error))? as u64 > MAX_ARTIFACT_BYTES {
            return Err(unreadable(&message!("it is over 4 GiB")));
        }
        self.load_artifact(&bytes).map_err(|mut error| {
            error.set_artifact_name(&path.display().to_string());
            error
        })
    }

    /// Reads rule sources and their imports. Returns an error if keys are trusted, because texts
    /// are not signed.
    pub(super) fn read_sources(
        &self,
        threads: ThreadLimit,
        loader: &dyn Loader,
        path: &str,
    ) -> Result<LoadedFiles, CompileError> {
        #[cfg(feature = "signatures")]
        if !self.trusted_keys.is_empty() {
            let message = message!(
                "`{path}` is the text of rules and has no signature, but only files signed with a trusted \
                key are loaded"
            );
            let help = message!("build it with `rulec build --sign KEY`, and load the compiled file");
            return Err(Diagnostic::without_place(Code::ArtifactUntrusted, message).help(help).into());
        }
        Ok(loader::load(threads, loader, path))
    }

    /// True if a trusted key signed the artifact, false if no keys are trusted. If keys are trusted
    /// and none of them signed it, returns an error.
    fn is_signed_by_trusted_key(&self, bytes: &[u8]) -> Result<bool, CompileError> {
        #[cfg(feature = "signatures")]
        return artifact::check_signature(bytes, &self.trusted_keys).map_err(|error| artifact_error(&error));
        #[cfg(not(feature = "signatures"))]
        {
            let _ = bytes;
            Ok(false)
        }
    }

    fn load_artifact_bytes(&self, bytes: &[u8]) -> Result<Rules, CompileError> {
        let is_signed = self.is_signed_by_trusted_key(bytes)?;
        let ArtifactContents { program, sources, warnings } =
            artifact::decode_artifact(bytes).map_err(|error| artifact_error(&error))?;
        let mut diagnostics = Vec::new();
        let link = |program: &Program, diagnostics: &mut Vec<Diagnostic>| {
            self.link_host_functions(program, diagnostics)
        };
        let set = compile_rule_set(self.threads, program, Some(sources.len()), &mut diagnostics, link);
        if let Some(set) = set {
            let set = RuleSet { may_compile: is_signed, ..set };
            return Ok(self.with_sources(set, sources, warnings));
        }
        // The rules compiled when the artifact was built. So an error without a source position
        // means that the artifact is damaged.
        diagnostics.retain(Diagnostic::is_error);
        match diagnostics.iter().find(|error| error.span().is_none()) {
            Some(error) => Err(damaged_artifact_error(&error.message)),
            None => Err(CompileError::new([warnings, diagnostics].concat(), sources)),
        }
    }
}

fn artifact_error(error: &ArtifactError) -> CompileError {
    match error {
        ArtifactError::Foreign => artifact_load_diagnostic(Code::NoArtifact, &error.to_message())
            .help(message!("`rulec build` compiles rules to such a file"))
            .into(),
        ArtifactError::Version(_) | ArtifactError::Zones(_) => {
            artifact_load_diagnostic(Code::ArtifactVersion, &error.to_message()).help(REBUILD_HELP).into()
        }
        ArtifactError::Unsigned | ArtifactError::Untrusted(_) | ArtifactError::Forged(_) => {
            artifact_load_diagnostic(Code::ArtifactUntrusted, &error.to_message()).help(SIGN_HELP).into()
        }
        ArtifactError::Damaged | ArtifactError::Malformed(_) => damaged_artifact_error(&error.to_message()),
    }
}

const REBUILD_HELP: Message = message!("build it again from the rules: `rulec build`");

const SIGN_HELP: Message = message!("sign it with a key that is trusted here: `rulec build --sign KEY`");

fn damaged_artifact_error(what: &dyn Argument) -> CompileError {
    artifact_load_diagnostic(Code::ArtifactDamaged, what).help(REBUILD_HELP).into()
}

fn artifact_load_diagnostic(code: Code, what: &dyn Argument) -> Diagnostic {
    Diagnostic::without_place(code, message!("the compiled rules cannot be loaded: {what}"))
}
