//! Diagnostics for words after the file of an import. Other languages use such words to import only
//! some declarations, or to give the imported file a name.

use super::super::super::context::unexpected_token;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::{Diagnostic, comma_list};
use rulec_base::message;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for words or further files after the file of an import: `import
    /// "a.rules" as a`, `import "a.rules", "b.rules"`. `None` without such a mistake.
    pub(super) fn words_after_import(&self) -> Option<Diagnostic> {
        let index = self.token_index;
        if self.rule != Rule::import_statement || !self.expects_rule(Rule::EOI) || self.begins_line(index) {
            return None;
        }
        let end = (index..self.cx.tokens.end).find(|token| self.begins_line(*token));
        let end = end.unwrap_or(self.cx.tokens.end);
        let is_file = |token: &usize| self.kind_of(*token) == Some(TokenKind::String);
        let is_separator = |token: usize| matches!(self.text_of(token), "," | "and" | "&" | "+");
        let files: Vec<String> = (self.cx.tokens.start..end)
            .filter(is_file)
            .map(|file| format!("import {}", self.text_of(file)))
            .collect();
        if files.len() > 1 && (index..end).all(|token| is_file(&token) || is_separator(token)) {
            let message = message!("an import has only one file");
            let lines: Vec<String> = files.iter().map(|line| format!("`{line}`")).collect();
            let help = message!("write an import for each file: {}", comma_list(lines));
            let whole = self.span_of_tokens(self.cx.tokens.start..end);
            return Some(unexpected_token(self.span, message, help).fix(whole, files.join("\n")));
        }
        self.removal(index, end, message!("an import takes all declarations of a file"))
    }
}
