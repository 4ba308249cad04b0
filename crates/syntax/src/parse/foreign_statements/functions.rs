//! Recognizes functions with a `return`, and blocks that configure another program, such as
//! `resource "a" "b" { … }`.

use super::super::foreign;
use super::super::remedy::{is_valid_expression, is_valid_short_statement};
use super::{ForeignStatement, StatementReader};
use crate::lex::TokenKind;
use rulec_base::message;
use std::ops::Range;

impl StatementReader<'_> {
    /// Returns the function at the token `start`: `function f(a) { return a > 3; }` or `function
    /// f(a) = a > 3`. `None` for other statements.
    pub(super) fn read_function_definition(&self, start: usize) -> Option<ForeignStatement> {
        // C and Java write the type of the result before the name.
        let has_type = self.is_word(start + 1) && self.is_word(start + 2) && self.text(start + 3) == "(";
        let name = start + 1 + usize::from(has_type);
        let open = name + 1;
        let is_def = self.text(start) == "def" && !has_type;
        let found = self.read_function_after_name(start, name, open)?;
        // A `def` with a plain value is a statement of this language.
        let close = self.closing_bracket(open)?;
        (!is_def || self.text(close + 1) != "=").then_some(found)
    }

    /// Returns the definition of a name as a function at the token `start`: `let f = (a) => a > 3`,
    /// `let f = lambda a: a > 3` or `let f = function(a) { return a > 3 }`. `None` for other
    /// values.
    pub(super) fn read_function_as_value(&self, start: usize) -> Option<ForeignStatement> {
        let (name, sign) = (start + 1, start + 2);
        if self.text(sign) != "=" || !self.is_name(name) {
            return None;
        }
        let first = sign + 1;
        let is_word = matches!(self.text(first), "function" | "func" | "fn" | "def" | "fun" | "proc");
        let open = first + usize::from(is_word);
        if self.text(open) == "(" {
            let close = self.closing_bracket(open)?;
            let is_arrow = matches!(self.text(close + 1), "=>" | "->");
            return (is_word || is_arrow).then(|| self.read_function_after_name(start, name, open)).flatten();
        }
        // `lambda a, b: …`, `|a| …` and `a => …` have no parentheses.
        let params_start = first + usize::from(matches!(self.text(first), "lambda" | "|"));
        let line_end = self.next_line_start(start);
        let is_mark = |index: &usize| matches!(self.text(*index), ":" | "=>" | "|");
        let mark = (params_start..line_end).find(is_mark).filter(|mark| *mark > params_start)?;
        let is_part = |index: usize| self.is_name(index) || self.text(index) == ",";
        let is_lambda = params_start > first || self.text(mark) == "=>";
        if !is_lambda || !(params_start..mark).all(is_part) || mark + 1 >= line_end {
            return None;
        }
        let params: Vec<&str> =
            (params_start..mark).filter(|index| self.is_word(*index)).map(|index| self.text(index)).collect();
        self.meant_definition(name, (&params, None), mark + 1..line_end, line_end)
    }

    /// Returns the function with the name `name` and with parameters after the bracket `open`. Its
    /// value follows `=`, an arrow or a colon, or is in braces.
    fn read_function_after_name(&self, start: usize, name: usize, open: usize) -> Option<ForeignStatement> {
        let close = self.closing_bracket(open).filter(|_| self.is_word(name) && self.text(open) == "(")?;
        let line_end = self.next_line_start(close);
        let is_mark = |index| matches!(self.text(index), "{" | ":" | "=" | "=>" | ":=");
        let mark = self.find_outside_brackets(close + 1..line_end, is_mark);
        let (body, end) = match mark.map(|mark| (mark, self.text(mark))) {
            Some((mark, "{")) => (mark + 1..self.closing_bracket(mark)?, self.closing_bracket(mark)? + 1),
            Some((mark, _)) if self.text(mark + 1) == "{" => {
                (mark + 2..self.closing_bracket(mark + 1)?, self.closing_bracket(mark + 1)? + 1)
            }
            Some((mark, ":")) => {
                let end = self.index_after_block(mark, self.significant[start].indent()?);
                (mark + 1..end, end)
            }
            Some((mark, _)) => (mark + 1..line_end, line_end),
            // The value follows without a sign, as in `function(a, b) a > b`.
            None => (close + 1..line_end, line_end),
        };
        // Parameters with types of this language stay as they are.
        let typed = &self.text[self.token(open).end as usize..self.token(close).start as usize];
        let has_types = is_valid_short_statement(&format!("def f({typed}) = true"));
        let is_parameter = |index: &usize| matches!(self.text(index - 1), "(" | ",") && self.is_word(*index);
        let params: Vec<&str> =
            (open + 1..close).filter(is_parameter).map(|index| self.text(index)).collect();
        let typed = (has_types && close > open + 1).then_some(typed);
        self.meant_definition(name, (&params, typed), body, end)
    }

    /// Returns the `def` that a function means. The second part of `params` is their source text if
    /// it has types of this language. `body` are the tokens of its value, and `end` is
    /// the index after the function.
    fn meant_definition(
        &self,
        name: usize,
        params: (&[&str], Option<&str>),
        body: Range<usize>,
        end: usize,
    ) -> Option<ForeignStatement> {
        let first = body.start + usize::from(self.text(body.start) == "return");
        let last = body.end - usize::from(body.end > first && self.text(body.end - 1) == ";");
        if last <= first {
            return None;
        }
        let has_return = first > body.start;
        let value = self.translate_expression(first..last);
        let has_one = !(first..last).any(|index| self.text(index) == ";");
        let value = if has_one && is_valid_expression(&value) { value } else { "VALUE".to_owned() };
        let name_text = self.text(name);
        let (names, typed) = params;
        let params = typed.map_or_else(|| foreign::write_typed_parameters(names, &value), str::to_owned);
        let written = format!("def {name_text}({params}) = {value}");
        let help = match has_return {
            true => message!("a definition has one value and no `return`: write `{written}`"),
            false => message!("a function is defined by `def`: write `{written}`"),
        };
        Some(ForeignStatement { end_token: end, help, declared_names: vec![(name_text.to_owned(), name)] })
    }

    /// Returns the block `resource "a" "b" { … }` at the token `start`, which has no equivalent.
    /// `None` for other statements.
    pub(super) fn read_block_without_equivalent(&self, start: usize) -> Option<ForeignStatement> {
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
