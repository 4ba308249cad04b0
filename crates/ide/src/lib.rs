//! Editor services for rules, as plain data: hover, completion, definitions, references, renaming,
//! outlines, colours, folding, fixes and hints. This crate implements no protocol and reads no
//! files, so that a language server and a web page can both use it.
//!
//! Positions are [`Span`]s, which are byte ranges in a file. An [`Analysis`] is created again for
//! each version of the texts. A result therefore depends only on the current texts, not on earlier
//! edits.
//!
//! | module | service |
//! |---|---|
//! | [`index`] | every name in the files, with its declaration and uses |
//! | [`complete`] | the words and names that are possible at a position |
//! | [`hover`] | explanation of the name or operator at a position |
//! | [`rename`] | the edits that rename a symbol |
//! | [`actions`] | the edits that fix or suppress a finding |
//! | [`navigate`] | links to other files, growing selections, type declarations, call signatures |
//! | [`refactor`] | refactorings: edits that cannot change the meaning of the rules |
//! | [`test_block`] | `test` blocks for messages and for routes |
//! | [`hints`] | inferred types, the order of routes, tests to run, and routes hidden by others |
//! | [`tokens`] | the class of each token for colours, and foldable ranges |

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

pub mod actions;
pub mod complete;
mod facts;
mod format;
pub mod hints;
pub mod hover;
mod indent;
pub mod index;
pub mod navigate;
pub mod refactor;
pub mod rename;
pub mod test_block;
pub mod tokens;

#[cfg(test)]
mod tests;

pub use index::{DeclarationKind, Occurrence, OutlineEntry, Symbol, SymbolId, SymbolIndex};

use facts::TypeFacts;
use rulec::{CheckedRules, Compiler, Rules};
use rulec_analysis::{AnalysisOptions, Finding};
use rulec_base::diag::Diagnostic;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span};
use rulec_syntax::loader::Loader;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The analysis of a file and its imports, for one version of their texts.
///
/// Parsing and checking give the names and types, which most answers need. Compiling takes longer,
/// so it runs when a caller first needs the rules or the diagnostics. Several threads may share an
/// analysis.
pub struct Analysis {
    pub sources: SourceMap,
    pub index: SymbolIndex,
    /// The names of the rules files that completion offers after `import`. The caller fills this
    /// list, because this crate reads no files.
    pub importable_files: Vec<String>,
    facts: TypeFacts,
    /// The rules that are checked but not compiled. `None` after compiling, which consumes them.
    checked: Mutex<Option<CheckedRules>>,
    compiled: OnceLock<CompiledRules>,
}

/// The result of compiling: the rules, which are `None` if there are errors, and every error and
/// warning.
struct CompiledRules {
    rules: Option<Rules>,
    diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// Loads and checks the file `path` and its imports. The rules may call host functions that are
    /// not registered, because an editor does not know the embedding program.
    pub fn new(loader: &dyn Loader, path: &str) -> Analysis {
        let compiler = Compiler::new().allow_missing_functions();
        let (checked, (index, facts)) = compiler
            .inspect(loader, path, |loaded, program| (SymbolIndex::new(loaded), TypeFacts::new(program)));
        Analysis {
            sources: checked.sources().clone(),
            index,
            importable_files: Vec::new(),
            facts,
            checked: Mutex::new(Some(checked)),
            compiled: OnceLock::new(),
        }
    }

    fn compiled(&self) -> &CompiledRules {
        self.compiled.get_or_init(|| {
            let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner).take();
            match checked.map(CheckedRules::compile) {
                Some(Ok(rules)) => {
                    CompiledRules { diagnostics: rules.warnings().to_vec(), rules: Some(rules) }
                }
                Some(Err(error)) => CompiledRules { diagnostics: error.diagnostics().to_vec(), rules: None },
                // Only after a panic of an earlier attempt.
                None => CompiledRules { diagnostics: Vec::new(), rules: None },
            }
        })
    }

    /// Returns the compiled rules; `None` if there are errors. Compiles them on the first call.
    pub fn rules(&self) -> Option<&Rules> {
        self.compiled().rules.as_ref()
    }

    /// Returns every error and warning that the compiler reports for these texts. Compiles the
    /// rules on the first call.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.compiled().diagnostics
    }

    /// True if the rules are compiled, so that [`Self::rules`] and [`Self::diagnostics`] return at
    /// once.
    pub fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }

    /// Analyses how the rules affect each other, which takes longer than compiling. Returns no
    /// findings if there are errors.
    pub fn findings(&self, options: AnalysisOptions) -> Vec<Finding> {
        self.rules().map(|rules| rules.analyse_with(options)).unwrap_or_default()
    }

    /// Returns the id of the file with this name; `None` for an unknown name.
    pub fn file_id(&self, name: &str) -> Option<FileId> {
        self.sources.iter().find(|(_, file)| file.name == name).map(|(id, _)| id)
    }

    /// Returns the text of a file; empty for an unknown file.
    pub fn text(&self, file: FileId) -> &str {
        self.sources.get(file).map_or("", |file| &file.text)
    }
}

/// A replacement of one span of a file by another text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    pub span: Span,
    pub replacement: String,
}
