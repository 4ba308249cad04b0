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
    pub(super) fn words_after_import_error(&self) -> Option<Diagnostic> {
        let index = self.token_index;
        if self.rule != Rule::import_statement || !self.expects_rule(Rule::EOI) || self.begins_line(index) {
            return None;
        }
        let end = (index..self.cx.tokens.end).find(|token| self.begins_line(*token));
        let end = end.unwrap_or(self.cx.tokens.end);
        if let Some(diagnostic) = self.list_of_imports_error(index, end) {
            return Some(diagnostic);
        }
        let word = self.found_text.to_lowercase();
        self.removal_diagnostic(
            index,
            end,
            match word.as_str() {
                "??" | "||" | "|" | "or" | "else" | "otherwise" | "default" | "fallback" | "?:" => {
                    message!(
                        "an import has no second file to read instead: a file that is missing is an error"
                    )
                }
                "if" | "when" | "unless" | "optional" | "?" | "if_exists" | "ignore" => {
                    message!("an import has no condition: a file that is missing is an error")
                }
                _ => message!("an import takes all declarations of a file"),
            },
        )
    }

    /// Returns the diagnostic for an import of several files: `import ["a.rules", "b.rules"]`. The
    /// unexpected token is the one at `index`, and the import ends before the token `end`. `None`
    /// for other imports.
    pub(super) fn list_of_imports_error(&self, index: usize, end: usize) -> Option<Diagnostic> {
        let is_file = |token: &usize| self.kind_of_token(*token) == Some(TokenKind::String);
        let is_mark = |token: usize| {
            matches!(
                self.text_of_token(token),
                "," | ";" | "and" | "&" | "+" | "[" | "]" | "(" | ")" | "{" | "}"
            )
        };
        let files: Vec<String> = (self.cx.tokens.start..end)
            .filter(is_file)
            .map(|file| format!("import {}", self.text_of_token(file)))
            .collect();
        let is_list = (index..end).all(|token| is_file(&token) || is_mark(token));
        if self.rule != Rule::import_statement || files.len() < 2 || !is_list {
            return None;
        }
        let message = message!("an import has only one file");
        let lines: Vec<String> = files.iter().map(|line| format!("`{line}`")).collect();
        let help = message!("write an import for each file: {}", comma_list(lines));
        let whole = self.span_of_tokens(self.cx.tokens.start..end);
        Some(unexpected_token(self.span, message, help).fix(whole, files.join("\n")))
    }
}
