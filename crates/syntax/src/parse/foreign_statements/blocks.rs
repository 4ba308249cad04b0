//! Recognizes blocks in the form of other languages: `table billing:` with indented lines, and
//! `test("refund", () => { … })`.

use super::super::remedy::is_valid_short_statement;
use super::{ForeignStatement, StatementReader};
use crate::lex::TokenKind;
use rulec_base::message;

impl StatementReader<'_> {
    /// True if the line that begins with the token `index` ends with `:`, and the next line is
    /// indented deeper.
    pub(super) fn line_ends_with_colon(&self, index: usize) -> bool {
        let end = self.next_line_start(index);
        let indent = |token: usize| self.significant.get(token).and_then(|item| item.indent());
        self.text(end - 1) == ":" && end - 1 > index + 1 && indent(end) > indent(index)
    }

    /// Returns the block with indented lines after `:` at the token `start`. `None` for a statement
    /// without braces of its own.
    pub(super) fn read_block_after_colon(&self, start: usize) -> Option<ForeignStatement> {
        let has_braces = matches!(
            self.text(start),
            "table" | "choice" | "router" | "payload" | "group" | "workflow" | "intent" | "lexicon"
        );
        let colon = self.next_line_start(start) - 1;
        let head = self.token(start).start as usize..self.token(colon).start as usize;
        let head = self.text.get(head)?.trim_end();
        let end = self.index_after_block(colon, self.significant[start].indent()?);
        let name = start + 1;
        let is_name = matches!(self.kind(name), Some(TokenKind::Word | TokenKind::String));
        if !has_braces || !is_name || head.contains('\n') {
            return None;
        }
        let mut declared_names = vec![(self.text(name).trim_matches('"').to_owned(), name)];
        declared_names.retain(|_| self.is_word(name));
        let routes = (colon..end).filter(|index| self.text(*index) == "route" && self.is_name(index + 1));
        declared_names.extend(routes.map(|index| (self.text(index + 1).to_owned(), index + 1)));
        let help = message!("braces enclose the block: write `{head} {{` here, and `}}` after its last line");
        Some(ForeignStatement { end_token: end, help, declared_names })
    }

    /// Returns the test at the token `start` that is written as a call: `test("refund", () => { …
    /// })`. `None` for another call.
    pub(super) fn read_test_written_as_call(&self, start: usize) -> Option<ForeignStatement> {
        let (open, name) = (start + 1, start + 2);
        let close = self.closing_bracket(open)?;
        if !matches!(self.kind(name), Some(TokenKind::String | TokenKind::SingleQuoted)) {
            return None;
        }
        let name = self.text(name).trim_matches(['"', '\'']);
        let body = (open..close).find(|index| self.text(*index) == "{");
        let body = body.and_then(|brace| {
            let end = self.closing_bracket(brace)?;
            let range = self.token(brace).start as usize..self.token(end).end as usize;
            let lines: Vec<&str> =
                self.text.get(range)?.lines().map(|line| line.trim().trim_end_matches(';')).collect();
            Some(lines.join(" "))
        });
        let written = body.map(|body| format!("test \"{name}\" {body}"));
        let help = match written.filter(|written| is_valid_short_statement(written)) {
            Some(written) => message!("a test is no call: write `{written}`"),
            None => message!(
                "a test is no call: write `test \"{name}\" {{ given FIELD = VALUE  expect ROUTE }}`",
                name = name.to_owned()
            ),
        };
        let end_token = close + 1 + usize::from(self.text(close + 1) == ";");
        Some(ForeignStatement { end_token, help, declared_names: Vec::new() })
    }
}
