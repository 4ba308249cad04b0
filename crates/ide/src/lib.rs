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
use rulec::{Compiler, Rules};
use rulec_analysis::{AnalysisOptions, Finding};
use rulec_base::diag::Diagnostic;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span};
use rulec_syntax::loader::Loader;

/// The analysis of a file and its imports, for one version of their texts.
pub struct Analysis {
    pub sources: SourceMap,
    /// Every error and warning that the compiler reports for these texts.
    pub diagnostics: Vec<Diagnostic>,
    pub index: SymbolIndex,
    /// The compiled rules; `None` if there are errors.
    pub rules: Option<Rules>,
    /// The names of the rules files that completion offers after `import`. The caller fills this
    /// list, because this crate reads no files.
    pub importable_files: Vec<String>,
    facts: TypeFacts,
}

impl Analysis {
    /// Loads and compiles the file `path` and its imports. The rules may call host functions that
    /// are not registered, because an editor does not know the embedding program.
    pub fn new(loader: &dyn Loader, path: &str) -> Analysis {
        let compiler = Compiler::new().allow_missing_functions();
        let (compiled, (index, facts)) = compiler.compile_and_inspect(loader, path, |loaded, program| {
            (SymbolIndex::new(loaded), TypeFacts::new(program))
        });
        match compiled {
            Ok(rules) => Analysis {
                sources: rules.sources().clone(),
                diagnostics: rules.warnings().to_vec(),
                index,
                rules: Some(rules),
                importable_files: Vec::new(),
                facts,
            },
            Err(error) => Analysis {
                sources: error.sources().clone(),
                diagnostics: error.diagnostics().to_vec(),
                index,
                rules: None,
                importable_files: Vec::new(),
                facts,
            },
        }
    }

    /// Analyses how the rules affect each other, which takes longer than compiling. Returns no
    /// findings if there are errors.
    pub fn findings(&self, options: AnalysisOptions) -> Vec<Finding> {
        self.rules.as_ref().map(|rules| rules.analyse_with(options)).unwrap_or_default()
    }

    /// Returns the id of the file with this name; `None` for an unknown name.
    pub fn file(&self, name: &str) -> Option<FileId> {
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
