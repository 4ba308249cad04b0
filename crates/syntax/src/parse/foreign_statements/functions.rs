//! Recognizes functions with a `return`, and blocks that configure another program, such as
//! `resource "a" "b" { … }`.

use super::super::remedy::is_valid_expression;
use super::{ForeignStatement, StatementReader};
use crate::lex::TokenKind;
use rulec_base::message;

impl StatementReader<'_> {
    /// Returns the function with a `return` at the token `start`: `function f(a) { return a > 3;
    /// }`. `None` for other statements.
    pub(super) fn function_definition(&self, start: usize) -> Option<ForeignStatement> {
        let (name, open) = (start + 1, start + 2);
        let close = self.closing_bracket(open).filter(|_| self.is_word(name) && self.text(open) == "(")?;
        let line_end = self.next_line_start(close);
        let mark =
            self.find_outside_brackets(close + 1..line_end, |index| matches!(self.text(index), "{" | ":"))?;
        let (body, end) = match self.text(mark) {
            "{" => (mark + 1..self.closing_bracket(mark)?, self.closing_bracket(mark)? + 1),
            _ => {
                let end = self.end_of_block(mark, self.sigs[start].indent()?);
                (mark + 1..end, end)
            }
        };
        let last = body.end - usize::from(self.text(body.end - 1) == ";");
        if self.text(body.start) != "return" || last <= body.start + 1 {
            return None;
        }
        let value = self.translated_expression(body.start + 1..last);
        let has_one = !(body.start + 1..last).any(|index| self.text(index) == ";");
        let value = if has_one && is_valid_expression(&value) { value } else { "VALUE".to_owned() };
        let is_parameter = |index: &usize| matches!(self.text(index - 1), "(" | ",") && self.is_word(*index);
        let params =
            (open + 1..close).filter(is_parameter).map(|index| format!("{}: TYPE", self.text(index)));
        let params = params.collect::<Vec<_>>().join(", ");
        let name_text = self.text(name);
        let written = format!("def {name_text}({params}) = {value}");
        let help = message!("a definition has one value and no `return`: write `{written}`");
        Some(ForeignStatement { end_token: end, help, declared_names: vec![(name_text.to_owned(), name)] })
    }

    /// Returns the block `resource "a" "b" { … }` at the token `start`, which has no equivalent.
    /// `None` for other statements.
    pub(super) fn block_without_equivalent(&self, start: usize) -> Option<ForeignStatement> {
        let mut open = start + 1;
        while self.kind(open) == Some(TokenKind::String) {
            open += 1;
        }
        let close = self.closing_bracket(open).filter(|_| self.text(open) == "{" && open > start + 1)?;
        let help =
            message!("remove it: a rules file has no `{word}` block", word = self.text(start).to_owned());
        Some(ForeignStatement { end_token: close + 1, help, declared_names: Vec::new() })
    }
}
