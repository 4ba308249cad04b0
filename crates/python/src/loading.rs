//! Methods of the Python class `Rules` that compile rules, or load them from artifacts (compiled
//! rules) and from JSON documents of other systems.

use super::arguments::refuse_unknown_arguments;
use super::document::{import_options, load_document};
use super::error::library_error;
use super::host::check_functions_declared;
use super::names::Names;
use super::rules::Rules;
use super::settings::CompilerSettings;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};
use rulec::{Compiler, MemoryLoader};
use rulec_import::System;
use std::collections::HashMap;
use std::path::PathBuf;

/// The file name that diagnostics show for rules that were not read from a file.
pub const NAME_OF_UNNAMED_TEXT: &str = "<text>";

/// Returns a loader of a text of rules, and of the files that it may import, by path. Fails if the
/// text is the name of a file.
pub fn text_loader(text: &str, imports: Option<HashMap<String, String>>) -> PyResult<MemoryLoader> {
    if text.ends_with(".rules") && !text.contains(char::is_whitespace) {
        let help = "read it with `from_path`";
        return Err(library_error(format!("`{text}` is the name of a file, and not rules; {help}")));
    }
    let main_loader = MemoryLoader::new().with(NAME_OF_UNNAMED_TEXT, text);
    Ok(imports.into_iter().flatten().fold(main_loader, |loader, (path, text)| loader.with(path, text)))
}

/// Compiles rules with these settings. Fails if the rules declare no function of a name that
/// `functions` has.
fn compile_rules(
    py: Python<'_>,
    functions: Option<Bound<'_, PyMapping>>,
    settings: CompilerSettings<'_>,
    compile: impl FnOnce(Compiler) -> Result<rulec::Rules, rulec::CompileError> + Send,
) -> PyResult<Rules> {
    let rules = settings.compile(py, functions.as_ref(), compile)?;
    check_functions_declared(&rules, functions.as_ref())?;
    Ok(Rules::from_compiled(rules, functions.map(Bound::unbind)))
}

#[pymethods]
impl Rules {
    /// Compiles a file and its imports. `root` is the folder that must contain all imported files;
    /// by default, the folder of the file. `functions` are the Python functions that the rules
    /// call, by name. With `allow_missing_functions`, the rules may call others, whose results
    /// count as missing. `tier` names the execution engine: `auto`, `vm`, `jit` or `reference`.
    /// `index` names the indexing mode: `auto`, `always` or `never`.
    #[staticmethod]
    #[pyo3(signature = (path, *, functions = None, root = None, tier = None, index = None,
        allow_missing_functions = false, **unknown),
        text_signature = "(path, *, functions=None, root=None, tier=None, index=None, allow_missing_functions=False)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn from_path(
        py: Python<'_>,
        path: PathBuf,
        functions: Option<Bound<'_, PyMapping>>,
        root: Option<PathBuf>,
        tier: Option<&str>,
        index: Option<&str>,
        allow_missing_functions: bool,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Rules> {
        refuse_unknown_arguments(&py.get_type::<Rules>().getattr("from_path")?, unknown)?;
        let settings = CompilerSettings { tier, index, root, allow_missing_functions, trusted: None };
        compile_rules(py, functions, settings, |compiler| compiler.compile_path(path))
    }

    /// Compiles a text. `imports` maps each path that the text may import to the text of that file.
    /// `from_path` describes the other parameters.
    #[staticmethod]
    #[pyo3(signature = (text, *, functions = None, imports = None, tier = None, index = None,
        allow_missing_functions = false, **unknown),
        text_signature = "(text, *, functions=None, imports=None, tier=None, index=None, allow_missing_functions=False)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn from_text(
        py: Python<'_>,
        text: &str,
        functions: Option<Bound<'_, PyMapping>>,
        imports: Option<HashMap<String, String>>,
        tier: Option<&str>,
        index: Option<&str>,
        allow_missing_functions: bool,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Rules> {
        refuse_unknown_arguments(&py.get_type::<Rules>().getattr("from_text")?, unknown)?;
        let loader = text_loader(text, imports)?;
        let settings = CompilerSettings { tier, index, allow_missing_functions, ..Default::default() };
        compile_rules(py, functions, settings, |compiler| {
            compiler.compile_with(&loader, NAME_OF_UNNAMED_TEXT)
        })
    }

    /// Loads an artifact (compiled rules) of `rulec build` or `to_artifact`, from bytes or a file.
    /// `trusted` are public keys as PEM text; if given, one of them must have signed the artifact.
    /// `from_path` describes the other parameters.
    #[staticmethod]
    #[pyo3(signature = (artifact, *, functions = None, trusted = None, tier = None, index = None,
        allow_missing_functions = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    pub fn from_artifact(
        py: Python<'_>,
        artifact: &Bound<'_, PyAny>,
        functions: Option<Bound<'_, PyMapping>>,
        trusted: Option<Names>,
        tier: Option<&str>,
        index: Option<&str>,
        allow_missing_functions: bool,
    ) -> PyResult<Rules> {
        let settings = CompilerSettings { trusted, tier, index, root: None, allow_missing_functions };
        if let Ok(bytes) = artifact.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            return compile_rules(py, functions, settings, |compiler| compiler.load_artifact(bytes));
        }
        let path: PathBuf = artifact.extract()?;
        compile_rules(py, functions, settings, |compiler| compiler.load_artifact_path(path))
    }

    /// Loads keyword flows and intent flows (found by meaning) from a JSON document of another
    /// system. `document` is JSON text or Python values. An item that cannot be used is skipped,
    /// and `report` names the item. With `strict`, such an item is an error. With `literal`,
    /// patterns match literally, as `==` and `in` of Python do.
    #[staticmethod]
    #[pyo3(signature = (document, *, strict = false, literal = false))]
    fn from_flows(
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
        strict: bool,
        literal: bool,
    ) -> PyResult<Rules> {
        let options = if literal { import_options(strict).literal() } else { import_options(strict) };
        load_document(py, System::Flows, document, options).map(Rules::from_imported)
    }

    /// Loads message routes from a JSON document of another system. The parameters are as in
    /// `from_flows`.
    #[staticmethod]
    #[pyo3(signature = (document, *, strict = false))]
    fn from_routes(py: Python<'_>, document: &Bound<'_, PyAny>, strict: bool) -> PyResult<Rules> {
        load_document(py, System::Routes, document, import_options(strict)).map(Rules::from_imported)
    }

    /// Loads the branches of one or several choices from a JSON document of another system. The
    /// parameters are as in `from_flows`.
    #[staticmethod]
    #[pyo3(signature = (document, *, strict = false))]
    fn from_choices(py: Python<'_>, document: &Bound<'_, PyAny>, strict: bool) -> PyResult<Rules> {
        load_document(py, System::Choice, document, import_options(strict)).map(Rules::from_imported)
    }

    /// Loads `rules`, or the bundled rules for decision payloads. `document` is the context that
    /// the rules read: JSON text or Python values, as in `from_flows`. Payload checkers of the
    /// loaded rules use this context.
    #[staticmethod]
    #[pyo3(signature = (document, *, strict = false, rules = None))]
    fn from_payload_context(
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
        strict: bool,
        rules: Option<&Bound<'_, Rules>>,
    ) -> PyResult<Rules> {
        let imported = load_document(py, System::Context, document, import_options(strict))?;
        Ok(Rules::with_context(py, imported, rules.map(Bound::get)))
    }
}
