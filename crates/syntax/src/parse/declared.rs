//! Collects the names that a file declares, once per file, so that the diagnostics of many
//! statements do not each search the whole file.

use super::stream::SignificantToken;
use super::terminals;
use crate::lex::TokenKind;
use hashbrown::{HashMap, HashSet};

/// The names that the statements of a file declare, and where some of them are declared.
#[derive(Default)]
pub(super) struct DeclaredNames {
    /// For each keyword of a declaration, such as `handler`, the names that follow it in the file.
    names_by_keyword: HashMap<&'static str, HashSet<String>>,
    /// The names that follow an arrow, `->`.
    target_names: HashSet<String>,
    /// For each handler with parameters, the index of the token `(` that opens them.
    parameter_bracket_by_handler: HashMap<String, usize>,
    /// The index of the token `{` that opens the fields of the `input` statement. `None` if the
    /// file has no such statement.
    input_brace: Option<usize>,
}

impl DeclaredNames {
    pub(super) fn collect_names(text: &str, significant: &[SignificantToken]) -> DeclaredNames {
        let mut declared = DeclaredNames::default();
        let token_text = |index: usize| significant.get(index).map_or("", |item| item.token.text(text));
        for (index, pair) in significant.windows(2).enumerate() {
            let name = pair[1].token.text(text);
            if pair[0].token.kind == TokenKind::Arrow {
                declared.target_names.get_or_insert_with(name, |name| name.to_owned());
                continue;
            }
            let keyword = pair[0].token.text(text);
            if keyword == "input" && name == "{" {
                declared.input_brace.get_or_insert(index + 1);
            }
            let Some(word) = terminals::find_word(keyword).filter(|word| word.declares_name()) else {
                continue;
            };
            let names = declared.names_by_keyword.entry(word.text).or_default();
            names.get_or_insert_with(name, |name| name.to_owned());
            if word.text == "handler" && token_text(index + 2) == "(" {
                declared.parameter_bracket_by_handler.entry_ref(name).or_insert(index + 2);
            }
        }
        declared
    }

    /// True if the keyword precedes this name anywhere in the file.
    pub(super) fn declares(&self, keyword: &str, name: &str) -> bool {
        self.names_by_keyword.get(keyword).is_some_and(|names| names.contains(name))
    }

    /// True if the keyword precedes any name in the file.
    pub(super) fn declares_any(&self, keyword: &str) -> bool {
        self.names_by_keyword.contains_key(keyword)
    }

    /// True if the name follows an arrow anywhere in the file.
    pub(super) fn is_target(&self, name: &str) -> bool {
        self.target_names.contains(name)
    }

    /// Returns the index of the token `(` that opens the parameters of a handler. `None` if the
    /// file declares no such handler, or declares it without parameters.
    pub(super) fn parameter_bracket_of(&self, handler: &str) -> Option<usize> {
        self.parameter_bracket_by_handler.get(handler).copied()
    }

    /// Returns the index of the token `{` that opens the fields of the `input` statement. `None` if
    /// the file has no such statement.
    pub(super) fn input_brace(&self) -> Option<usize> {
        self.input_brace
    }
}
