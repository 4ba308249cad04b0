//! Decides whether a statement keyword is used as a name, so that no statement begins there.

use super::super::Rule;
use super::super::terminals;
use super::{CurrentStatement, Splitter};
use crate::lex::TokenKind;

impl Splitter<'_> {
    /// True if the statement keyword at `index` is used as a name, so that no statement begins
    /// there.
    pub(super) fn is_keyword_as_name(&self, index: usize) -> bool {
        let kind = |index: usize| self.significant.get(index).map(|item| item.token.kind);
        let previous_kind = index.checked_sub(1).and_then(kind);
        if previous_kind == Some(TokenKind::Dot) || kind(index + 1) == Some(TokenKind::Colon) {
            return true;
        }
        if self.codes[index] == terminals::IMPORT && self.follows_file_name(index) {
            return true;
        }
        if self.follows_name(index) {
            return true;
        }
        if self.codes[index] == terminals::HISTORY {
            // A value cannot follow a complete value, so the word begins a statement there. The
            // exception is `given history = …` in a test.
            return self.open_brackets.len() != self.base_bracket_count()
                || self.expects_continuation(index)
                || self.is_history_after_count(index)
                || index + 1 < self.significant.len() && self.is_terminal(index + 1, terminals::EQUALS);
        }
        if terminals::terminal(self.codes[index]).is_name_elsewhere() {
            return !self.starts_workflow(index);
        }
        match self.codes[index] {
            // A type: `list<string>`, `type Names = list`, `-> list`, `as list`.
            terminals::LIST => {
                let before_type = [terminals::AS, terminals::EQUALS, terminals::ARROW];
                index + 1 < self.significant.len() && self.is_terminal(index + 1, terminals::LESS)
                    || index > 0 && before_type.into_iter().any(|code| self.is_terminal(index - 1, code))
            }
            terminals::INTENT => {
                // `intent` follows the name or the description of the flow. The flow id at the end
                // may also be a string.
                !self.is_followed_by_named_block(index)
                    && self.current.as_ref().is_some_and(|current| {
                        current.is_statement_of(&[Rule::flow_statement])
                            && (previous_kind == Some(TokenKind::String) || current.first_token + 2 == index)
                    })
            }
            _ => false,
        }
    }

    /// True for the word `import` after the name of a file, as in `from "x.rules" import a` or
    /// `"x.rules" import`. The author wrote the words of one import in a wrong order, so no second
    /// statement begins here.
    fn follows_file_name(&self, index: usize) -> bool {
        let is_text = |index: usize| {
            self.significant.get(index).is_some_and(|item| item.token.kind == TokenKind::String)
        };
        let names_file = |current: &CurrentStatement| {
            let first = current.first_token;
            first + 1 == index && is_text(first)
                || first + 2 == index
                    && match self.token_text(first) {
                        "from" => true,
                        // A second import on the line is a statement of its own.
                        word => word == "import" && is_text(first + 1) && !is_text(index + 1),
                    }
        };
        self.significant[index].indent().is_none() && self.current.as_ref().is_some_and(names_file)
    }

    /// True for a statement keyword after a name that begins a line, where no name follows the
    /// keyword: `words list = [..]`. The author wrote the words of one statement in a wrong order,
    /// so no second statement begins here.
    fn follows_name(&self, index: usize) -> bool {
        let keyword = terminals::terminal(self.codes[index]);
        let (declares, is_test) =
            (keyword.declares_name(), keyword.statement_rule == Some(Rule::test_statement));
        let is_bare = |current: &CurrentStatement| {
            let is_name = match self.significant[current.first_token].token.kind {
                TokenKind::Word => declares,
                TokenKind::String => is_test,
                _ => false,
            };
            current.keyword.is_none() && current.first_token + 1 == index && is_name
        };
        self.significant[index].indent().is_none()
            && self.current.as_ref().is_some_and(is_bare)
            && self.significant.get(index + 1).is_some_and(|next| {
                matches!(next.token.text(self.text), "=" | "(" | "{" | "when" | "priority")
            })
    }

    /// True for a string that begins a line before the word `import` or `test`, as in `"x.rules"
    /// import`. A statement with its words in a wrong order begins there. After a word such as
    /// `from` or `else`, the string belongs to the statement before it.
    pub(super) fn is_text_before_keyword(&self, index: usize) -> bool {
        let begins_line =
            |index: usize| self.significant.get(index).is_some_and(|item| item.indent().is_some());
        self.significant[index].token.kind == TokenKind::String
            && begins_line(index)
            && !self.expects_continuation(index)
            && !self.follows_special_word(index)
            && index + 1 < self.significant.len()
            && !begins_line(index + 1)
            && matches!(self.token_text(index + 1), "import" | "test")
    }

    /// True if the word before `index` belongs to the current statement and is a keyword or an
    /// operator, and not only a name.
    fn follows_special_word(&self, index: usize) -> bool {
        let Some(previous) = index.checked_sub(1).filter(|_| self.current.is_some()) else { return false };
        self.significant[previous].token.kind == TokenKind::Word
            && (self.codes[previous] != terminals::PLAIN_NAME
                || super::super::is_reserved(self.token_text(previous)))
    }

    /// True for the word `history` after a word such as `count` on the same line, as in
    /// `when count history > 3`. No statement begins there, and the error is about `count`. False
    /// before `by` or `keep`, as in a `history` statement, and before `within`, as in expressions.
    fn is_history_after_count(&self, index: usize) -> bool {
        index > 0
            && self.significant[index].indent().is_none()
            && (index + 1 == self.significant.len()
                || !matches!(self.token_text(index + 1), "by" | "keep" | "within"))
            && matches!(self.token_text(index - 1), "count" | "len" | "size" | "length" | "sum" | "of")
    }

    /// True if the word `workflow` at `index` begins a statement: a name and a brace follow it, or
    /// it begins a line on which the current statement cannot continue.
    fn starts_workflow(&self, index: usize) -> bool {
        let indent = self.significant[index]
            .indent()
            .filter(|_| self.open_brackets.len() == self.base_bracket_count());
        self.is_followed_by_named_block(index)
            || indent.is_some_and(|indent| self.probably_begins_statement(index, indent))
    }

    /// True if a name and a brace follow the word at `index`, with at most a description between
    /// them.
    fn is_followed_by_named_block(&self, index: usize) -> bool {
        let token = |index: usize| self.significant.get(index).map(|item| item.token);
        let has_kind = |index, kind| token(index).is_some_and(|token| token.kind == kind);
        let is_name = match token(index + 1) {
            Some(next) if next.kind == TokenKind::Word => !super::super::is_reserved(next.text(self.text)),
            next => next.is_some_and(|next| next.kind == TokenKind::Quoted),
        };
        let description_count = usize::from(has_kind(index + 2, TokenKind::String));
        is_name && has_kind(index + 2 + description_count, TokenKind::OpenBrace)
    }
}
