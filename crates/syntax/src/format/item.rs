//! Creates the layout events for the items of payloads and groups: fields, rules, `each` blocks,
//! and clauses that begin with `else`, `default` or `clamp`.

use super::build::{ClauseStarts, LayoutBuilder};
use super::gap::BreakKind;
use crate::lex::TokenKind;
use std::ops::Range;

impl LayoutBuilder<'_> {
    /// Adds the layout events for a `payload` or `group`. `head` has the tokens before its braces,
    /// and `open` is the token of the opening brace.
    pub(super) fn add_payload(&mut self, head: Range<usize>, open: usize) {
        self.add_plain_tokens(head);
        self.add_item_block(open);
    }

    pub(super) fn add_item(&mut self, tokens: Range<usize>) {
        let start = tokens.start;
        let word = if self.gaps.is_key(start) { "" } else { self.gaps.token_text(start) };
        match word {
            "each" => self.add_each(tokens),
            "let" => self.add_definition(tokens),
            "include" => self.add_clauses_starting_with(tokens, &["as", "when"]),
            "require" => {
                let starts = self.violation_clause_starts(tokens.clone(), &["else", "default", "clamp"]);
                self.add_clauses(tokens, starts, |builder, head| builder.add_requirement(head));
            }
            "forbid" => {
                let starts = self.violation_clause_starts(tokens.clone(), &["else", "default", "clamp"]);
                self.add_clauses(tokens, starts, |builder, head| {
                    builder.add_clauses_starting_with(head, &["when"])
                });
            }
            _ => {
                let starts = self.violation_clause_starts(tokens.clone(), &["else", "default"]);
                self.add_clauses(tokens, starts, |builder, head| builder.add_plain_tokens(head));
            }
        }
    }

    /// Returns the indices of the words in `words`, such as `else` or `clamp`, that begin a clause
    /// about the report or correction of a violation. The `else` of an `if` is excluded.
    fn violation_clause_starts(&self, tokens: Range<usize>, words: &[&str]) -> ClauseStarts {
        let (mut open_ifs, mut starts) = (0_usize, Vec::new());
        for token in self.outer_tokens(tokens.start + 1..tokens.end) {
            if self.is_one_of_words(token, &["if"]) {
                open_ifs += 1;
            } else if self.is_one_of_words(token, &["else"]) && open_ifs > 0 {
                open_ifs -= 1;
            } else if self.is_one_of_words(token, words) {
                starts.push(token);
            }
        }
        starts
    }

    /// Adds the layout events for `require "id" at PATH when CONDITION: CONDITION`.
    fn add_requirement(&mut self, tokens: Range<usize>) {
        let is_colon = |token: &usize| self.gaps.token_kind(*token) == Some(TokenKind::Colon);
        let Some(colon) = self.outer_tokens(tokens.clone()).find(is_colon) else {
            return self.add_plain_tokens(tokens);
        };
        self.add_clauses_starting_with(tokens.start..colon, &["when"]);
        self.add_colon_and_condition(colon, tokens.end);
    }

    /// Adds the layout events for `each NAME in LIST { … }`.
    fn add_each(&mut self, tokens: Range<usize>) {
        let is_brace = |token: &usize| self.gaps.token_kind(*token) == Some(TokenKind::OpenBrace);
        let Some(open) = self.outer_tokens(tokens.clone()).filter(is_brace).last() else {
            return self.add_plain_tokens(tokens);
        };
        self.add_plain_tokens(tokens.start..open);
        self.add_item_block(open);
        self.add_plain_tokens(self.closing_bracket(open) + 1..tokens.end);
    }

    /// Adds the layout events for `else "message" repair "remedy"`.
    pub(super) fn add_violation_message(&mut self, tokens: Range<usize>) {
        let repair =
            self.outer_tokens(tokens.clone()).find(|token| self.is_one_of_words(*token, &["repair"]));
        let Some(repair) = repair else { return self.add_plain_tokens(tokens) };
        self.begin_group(false);
        self.break_open_groups_if(self.begins_line(repair));
        self.add_plain_tokens(tokens.start..repair);
        self.indent();
        self.add_break(repair, true, BreakKind::WithinStatement);
        self.add_plain_tokens(repair..tokens.end);
        self.dedent();
        self.end_group();
    }
}
