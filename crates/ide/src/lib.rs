//! The editor's questions about rules, answered as plain data: hover, completion, definitions, references, names
//! changed, outlines, colours, folds, fixes, hints. Nothing here knows a protocol or reads a file, so that a language server
//! and a page in a browser can ask the same.
//!
//! Places are [`Span`]s: bytes of a file. An [`Analysis`] is made anew for each state of the texts and keeps nothing of an
//! earlier one, so that an answer never depends on the edits that led to a text.
//!
//! | module | what it answers |
//! |---|---|
//! | [`index`] | every name of the files: where it is declared, and where it is used |
//! | [`complete`] | what may stand at a place |
//! | [`hover`] | what stands at a place |
//! | [`rename`] | the edits that give something another name |
//! | [`actions`] | the edits that repair a finding, or allow it |
//! | [`hints`] | types that are inferred, the order of routes, tests and routes that others hide |
//! | [`tokens`] | the kind of each token, and what can be folded: of the text alone |

#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

pub mod actions;
pub mod complete;
mod facts;
pub mod hints;
pub mod hover;
pub mod index;
pub mod rename;
pub mod tokens;

#[cfg(test)]
mod tests;

pub use index::{Entry, Index, Kind, Occurrence, Symbol, SymbolId};

use facts::Facts;
use rulec::{Compiler, Rules};
use rulec_analysis::{AnalysisOptions, Finding};
use rulec_base::diag::Diagnostic;
use rulec_base::source::SourceMap;
use rulec_base::span::{FileId, Span};
use rulec_syntax::loader::Loader;

/// All that is known of a file and what it imports, as of one state of their texts.
pub struct Analysis {
    pub sources: SourceMap,
    /// Every error and warning, as compiling tells them.
    pub diagnostics: Vec<Diagnostic>,
    pub index: Index,
    /// The rules; `None` while there are errors.
    pub rules: Option<Rules>,
    facts: Facts,
}

impl Analysis {
    /// Reads and compiles the file `path` of a loader, and all that it imports. Functions of an embedding program may be
    /// missing.
    pub fn of(loader: &dyn Loader, path: &str) -> Analysis {
        let compiler = Compiler::new().allow_missing_functions();
        let (compiled, (index, facts)) =
            compiler.compile_seen(loader, path, |loaded, program| (Index::of(loaded), Facts::of(program)));
        match compiled {
            Ok(rules) => Analysis {
                sources: rules.sources().clone(),
                diagnostics: rules.warnings().to_vec(),
                index,
                rules: Some(rules),
                facts,
            },
            Err(error) => Analysis {
                sources: error.sources().clone(),
                diagnostics: error.diagnostics().to_vec(),
                index,
                rules: None,
                facts,
            },
        }
    }

    /// The findings of the analysis of what rules do to each other, which takes longer than compiling; none while
    /// there are errors.
    pub fn findings(&self, options: AnalysisOptions) -> Vec<Finding> {
        self.rules.as_ref().map(|rules| rules.analyse_with(options)).unwrap_or_default()
    }

    /// The file of that name.
    pub fn file(&self, name: &str) -> Option<FileId> {
        self.sources.iter().find(|(_, file)| file.name == name).map(|(id, _)| id)
    }

    /// The text of a file; empty for one that is not there.
    pub fn text(&self, file: FileId) -> &str {
        self.sources.get(file).map_or("", |file| &file.text)
    }
}

/// An edit of one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    pub span: Span,
    pub replacement: String,
}
