//! Keyword arguments that say how rules are compiled or loaded. Several Python functions have these
//! arguments: the execution engine, the indexing mode, the folder of imports, and trusted keys.

use super::document::document_options;
use super::error::{compile_error, library_error};
use super::host::register_functions;
use super::names::Names;
use super::shutdown::without_gil;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use rulec::{CompileError, Compiler, Indexing, VerifyingKey};
use rulec_runtime::route::SourceLoader;
use std::path::PathBuf;

/// The arguments that say how rules are compiled or loaded; `None` for the defaults.
#[derive(Default)]
pub struct CompilerSettings<'a> {
    /// The name of the execution engine, such as `vm`.
    pub tier: Option<&'a str>,
    /// The name of the indexing mode: `auto`, `always` or `never`.
    pub index: Option<&'a str>,
    /// The folder that must contain all imported files.
    pub root: Option<PathBuf>,
    /// Public keys as PEM texts. One of them must have signed each artifact (compiled rules).
    pub trusted: Option<Names>,
    /// Whether the rules may declare functions that the program does not give. The results of these
    /// functions count as missing.
    pub allow_missing_functions: bool,
}

impl CompilerSettings<'_> {
    /// Returns a compiler with these settings, which knows the Python functions in `functions`. The
    /// keys of `functions` are the names that rules use.
    fn compiler(self, functions: Option<&Bound<'_, PyMapping>>) -> PyResult<Compiler> {
        let mut compiler = Compiler::new();
        if let Some(tier) = self.tier {
            compiler = compiler.tier(tier.parse().map_err(library_error)?);
        }
        if let Some(index) = self.index {
            compiler = compiler.index(indexing_mode(index)?);
        }
        if let Some(root) = self.root {
            compiler = compiler.root(root);
        }
        if self.trusted.as_ref().is_some_and(|keys| keys.0.is_empty()) {
            let help = "give public keys as PEM texts, or leave `trusted` out";
            return Err(library_error(format!("`trusted` has no key; {help}")));
        }
        for pem in self.trusted.iter().flat_map(|keys| &keys.0) {
            compiler = compiler.trust(VerifyingKey::from_pem(pem).map_err(library_error)?);
        }
        if self.allow_missing_functions {
            compiler = compiler.allow_missing_functions();
        }
        register_functions(compiler, functions)
    }

    /// Runs `compile` without the GIL, with a compiler that has these settings and knows the Python
    /// functions in `functions`.
    pub fn compile<T: Send>(
        self,
        py: Python<'_>,
        functions: Option<&Bound<'_, PyMapping>>,
        compile: impl FnOnce(Compiler) -> Result<T, CompileError> + Send,
    ) -> PyResult<T> {
        let compiler = self.compiler(functions)?;
        without_gil(py, || compile(compiler)).map_err(|error| compile_error(py, &error))
    }

    /// Returns a loader of watched files. With trusted keys, it accepts only signed artifacts.
    /// `system`, `strict` and `literal` say how a JSON document is read.
    pub fn source_loader(
        self,
        functions: Option<&Bound<'_, PyMapping>>,
        (system, strict, literal): (Option<&str>, bool, bool),
    ) -> PyResult<SourceLoader> {
        let document = document_options(system, strict, literal)?;
        let requires_signature = self.trusted.is_some();
        let compiler = self.compiler(functions)?;
        Ok(SourceLoader::from(compiler).document(document).signed_only(requires_signature))
    }
}

fn indexing_mode(name: &str) -> PyResult<Indexing> {
    match name {
        "auto" => Ok(Indexing::Auto),
        "always" => Ok(Indexing::Always),
        "never" => Ok(Indexing::Never),
        other => {
            let help = "choose auto, always or never";
            Err(library_error(format!("there is no indexing `{other}`; {help}")))
        }
    }
}
