//! The items of payloads and groups: fields, requirements, `each` blocks, and the consequences of a
//! violation.

use super::build::{Builder, Starts};
use super::gap::BreakKind;
use crate::lex::TokenKind;
use std::ops::Range;

impl Builder<'_> {
    /// Adds the layout events for a `payload` or `group`.
    pub(super) fn payload(&mut self, head: Range<usize>, open: usize) {
        self.plain(head);
        self.item_block(open);
    }

    pub(super) fn item(&mut self, range: Range<usize>) {
        let start = range.start;
        let word = if self.gaps.is_key(start) { "" } else { self.gaps.word(start) };
        match word {
            "each" => self.each(range),
            "let" => self.definition(range),
            "include" => self.parts(range, &["as", "when"]),
            "require" => {
                let starts = self.consequences(range.clone(), &["else", "default", "clamp"]);
                self.in_parts(range, starts, |builder, head| builder.requirement(head));
            }
            "forbid" => {
                let starts = self.consequences(range.clone(), &["else", "default", "clamp"]);
                self.in_parts(range, starts, |builder, head| builder.parts(head, &["when"]));
            }
            _ => {
                let starts = self.consequences(range.clone(), &["else", "default"]);
                self.in_parts(range, starts, |builder, head| builder.plain(head));
            }
        }
    }

    /// Returns the positions of the words that introduce consequences of a violation, such as
    /// `else` or `clamp`. The `else` of an `if` is excluded.
    fn consequences(&self, range: Range<usize>, words: &[&str]) -> Starts {
        let (mut chosen, mut starts) = (0_usize, Vec::new());
        for at in self.outer(range.start + 1..range.end) {
            if self.is_word(at, &["if"]) {
                chosen += 1;
            } else if self.is_word(at, &["else"]) && chosen > 0 {
                chosen -= 1;
            } else if self.is_word(at, words) {
                starts.push(at);
            }
        }
        starts
    }

    /// Adds the layout events for `require "id" at PATH when CONDITION: CONDITION`.
    fn requirement(&mut self, range: Range<usize>) {
        let is_colon = |at: &usize| self.gaps.kind(*at) == Some(TokenKind::Colon);
        let Some(colon) = self.outer(range.clone()).find(is_colon) else { return self.plain(range) };
        self.parts(range.start..colon, &["when"]);
        self.behind_colon(colon, range.end);
    }

    /// Adds the layout events for `each NAME in LIST { … }`.
    fn each(&mut self, range: Range<usize>) {
        let is_brace = |at: &usize| self.gaps.kind(*at) == Some(TokenKind::OpenBrace);
        let Some(open) = self.outer(range.clone()).filter(is_brace).last() else { return self.plain(range) };
        self.plain(range.start..open);
        self.item_block(open);
        self.plain(self.closer(open) + 1..range.end);
    }

    /// Adds the layout events for `else "message" repair "remedy"`.
    pub(super) fn message(&mut self, range: Range<usize>) {
        let repair = self.outer(range.clone()).find(|at| self.is_word(*at, &["repair"]));
        let Some(repair) = repair else { return self.plain(range) };
        self.begin(false);
        self.keep(self.begins_line(repair));
        self.plain(range.start..repair);
        self.indent();
        self.line(repair, true, BreakKind::Inner);
        self.plain(repair..range.end);
        self.dedent();
        self.end();
    }
}
