//! Diagnostics for words after the target of a route: arguments in the syntax of other languages,
//! and anything after the table of a `goto`.

use super::super::super::context::unexpected_token;
use super::super::ParseFailure;
use crate::lex::TokenKind;
use rulec_base::diag::Diagnostic;
use rulec_base::message;

/// The words and symbols that authors write between the name and the value of an argument.
const JOINTS: [&str; 8] = ["=", ":", "as", "==", ":=", "to", "is", "=>"];

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for surplus words or brackets after the table of a `goto`, as in
    /// `goto billing(text)`. `table` is the token of the table's name. `None` without such a
    /// mistake.
    pub(super) fn surplus_after_goto(&self, table: usize) -> Option<Diagnostic> {
        let index = self.token_index;
        if self.begins_line(index) || index >= self.cx.tokens.end || !self.is_surplus(index) {
            return None;
        }
        let end = (index..self.cx.tokens.end).find(|token| self.begins_line(*token));
        let end = end.unwrap_or(self.cx.tokens.end);
        let name = self.text_of(table);
        self.removal(index, end, message!("`goto` takes only a table, and `{name}` reads the same message"))
    }

    /// True for a bracket or word that may be removed after the table of a `goto`. False for a word
    /// such as `when` or `priority`, because removing it would change the route.
    fn is_surplus(&self, index: usize) -> bool {
        let word = self.text_of(index).to_lowercase();
        let is_clause = matches!(
            word.as_str(),
            "if" | "when"
                | "unless"
                | "else"
                | "otherwise"
                | "elif"
                | "priority"
                | "disabled"
                | "goto"
                | "or"
        );
        self.is_word(index) && !is_clause || matches!(self.text_of(index), "(" | "{" | "[")
    }

    /// Returns the diagnostic for the arguments of a handler in words and without parentheses, as
    /// in `-> reply with text as "hi"`. `handler` is the token of the handler's name. `None`
    /// without such arguments.
    pub(super) fn worded_arguments(&self, handler: usize) -> Option<Diagnostic> {
        let begins_argument = self.text_of(self.token_index + 1) == ":";
        let (mut arguments, mut index) = (Vec::new(), self.token_index + usize::from(!begins_argument));
        let takes_values = matches!(self.found_text, "with" | "using" | "given" | "passing");
        if takes_values
            && self.is_word(index)
            && (index + 1 == self.cx.tokens.end || self.begins_line(index + 1))
        {
            let written = format!("{}(NAME: {})", self.text_of(handler), self.text_of(index));
            let message = message!("the arguments of a handler are written in parentheses");
            return Some(unexpected_token(self.span, message, message!("write `-> {written}`")));
        }
        loop {
            let (joint, value) = (index + 1, index + 2);
            let is_pair =
                self.kind_of(index) == Some(TokenKind::Word) && JOINTS.contains(&self.text_of(joint));
            let is_value = matches!(
                self.kind_of(value),
                Some(TokenKind::String | TokenKind::RawString | TokenKind::Number | TokenKind::Word)
            );
            if !is_pair || !is_value || self.begins_line(index) {
                return None;
            }
            let end = match self.kind_of(value) {
                Some(TokenKind::Word) => self.path_end(value).min(self.cx.tokens.end),
                _ => value + 1,
            };
            arguments.push(format!("{}: {}", self.text_of(index), self.source(value..end)));
            index = end;
            if !matches!(self.text_of(index), "," | "and" | "&") {
                break;
            }
            index += 1;
        }
        if index < self.cx.tokens.end && !self.begins_line(index) {
            return None;
        }
        let written = format!("{}({})", self.text_of(handler), arguments.join(", "));
        let message = message!("the arguments of a handler are written in parentheses");
        let help = message!("write `-> {written}`");
        Some(unexpected_token(self.span, message, help).fix(self.span_of_tokens(handler..index), written))
    }
}
