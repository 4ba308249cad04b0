//! Brackets and their contents: arguments, lists, records, types, and the blocks of statements.

use super::build::Builder;
use super::gap::BreakKind;
use crate::lex::TokenKind;
use std::ops::Range;

/// What a pair of braces contains.
#[derive(Clone, Copy, PartialEq)]
enum Braces {
    /// The fields of a type, with optional commas between them.
    Fields,
    /// `key: value` pairs with commas between them.
    Record,
    /// The conditions of `all`, `any` and `none`, or of a branch.
    Conditions,
}

impl Builder<'_> {
    pub(super) fn bracket(&mut self, open: usize) {
        let close = self.closer(open);
        match self.gaps.kind(open) {
            _ if open + 1 == close => self.empty(open),
            Some(TokenKind::OpenBrace) => self.braces(open),
            Some(TokenKind::OpenBracket) if self.is_index(open) => {
                self.token(open);
                self.plain(open + 1..self.closer(open));
                self.token(close);
            }
            Some(TokenKind::OpenBracket) => self.list(open),
            _ => self.parentheses(open),
        }
    }

    /// Adds the layout events for brackets with nothing between them except possibly a comment.
    fn empty(&mut self, open: usize) {
        self.begin(false);
        self.token(open);
        if self.gaps.has_comment(open + 1) {
            self.line(open + 1, false, BreakKind::Last);
        }
        self.token(open + 1);
        self.end();
    }

    /// Adds the layout events for the items of a bracket. The items share one line if they fit;
    /// otherwise each has its own line.
    fn items(
        &mut self,
        open: usize,
        items: Vec<Range<usize>>,
        mut write: impl FnMut(&mut Self, Range<usize>),
    ) {
        let (close, space) = (self.closer(open), self.gaps.kind(open) == Some(TokenKind::OpenBrace));
        self.token(open);
        self.indent();
        for (number, item) in items.into_iter().enumerate() {
            let place = if number == 0 { BreakKind::First } else { BreakKind::Between };
            self.line(item.start, number > 0 || space, place);
            write(self, item);
        }
        self.dedent();
        self.line(close, space, BreakKind::Last);
        self.token(close);
    }

    fn parentheses(&mut self, open: usize) {
        let close = self.closer(open);
        let elements = self.separated(open + 1..close);
        let hangs = elements.len() > 1 || self.gaps.is_key(open + 1);
        self.begin(false);
        self.keep(self.begins_line(open + 1));
        self.items(open, elements, |builder, element| builder.expression(element, hangs));
        self.end();
    }

    /// Adds the layout events for a list. Each element has its own line if the author wrote the
    /// list so, or if the list contains brackets. Otherwise each line takes as many elements as
    /// fit.
    fn list(&mut self, open: usize) {
        let close = self.closer(open);
        let elements = self.separated(open + 1..close);
        let has_brackets = (open + 1..close).any(|at| self.gaps.kind(at).is_some_and(TokenKind::opens));
        let skipped = usize::from(elements.len() > 1);
        let one_a_line = elements.iter().skip(skipped).all(|element| self.begins_line(element.start));
        self.begin(false);
        if has_brackets || one_a_line || elements.len() < 2 {
            self.keep(one_a_line);
            self.items(open, elements, |builder, element| builder.expression(element, true));
        } else {
            self.items(open, Vec::from_iter(Some(open + 1..close)), |builder, all| {
                builder.begin(true);
                for (number, element) in builder.separated(all).into_iter().enumerate() {
                    if number > 0 {
                        builder.line(element.start, true, BreakKind::Between);
                    }
                    builder.plain(element);
                }
                builder.end();
            });
        }
        self.end();
    }

    fn braces(&mut self, open: usize) {
        let (close, kind) = (self.closer(open), self.kind_of(open));
        let outside = std::mem::replace(&mut self.types, kind == Braces::Fields);
        let items = match kind {
            Braces::Fields => self.fields(open + 1..close),
            _ => self.separated(open + 1..close),
        };
        self.begin(false);
        let several = kind == Braces::Conditions && items.len() > 1;
        self.keep(several || items.iter().any(|item| self.begins_line(item.start)));
        self.items(open, items, |builder, item| builder.expression(item, true));
        self.end();
        self.types = outside;
    }

    fn kind_of(&self, open: usize) -> Braces {
        let before = self.gaps.word(open - 1);
        // A field of a payload may have a record type.
        let field = (2..=3).any(|back| open >= back && self.items.contains(&(open - back)));
        let is_type = self.types || before == "as" || before == "<" || before == ":" && field;
        match () {
            () if is_type => Braces::Fields,
            () if self.gaps.is_key(open + 1) || self.gaps.kind(open + 1) == Some(TokenKind::CloseBrace) => {
                Braces::Record
            }
            () => Braces::Conditions,
        }
    }

    /// Splits a range of tokens into fields: before each key, and after each comma or semicolon.
    fn fields(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut cut: Vec<Range<usize>> = Vec::new();
        for part in self.separated(range) {
            let keys = self.outer(part.clone()).filter(|at| *at > part.start && self.gaps.is_key(*at));
            let ends: Vec<usize> = keys.chain([part.end]).collect();
            let mut start = part.start;
            cut.extend(ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end));
        }
        cut
    }

    /// Splits a range of tokens before each of `words` that begins an item.
    fn beginning(&self, range: Range<usize>, words: &[&str]) -> Vec<Range<usize>> {
        let begins = |at: &usize| {
            let inner = self.gaps.word(*at) == "branch" && self.is_word(*at - 1, &["default"]);
            *at > range.start && self.is_word(*at, words) && !inner
        };
        let ends: Vec<usize> = self.outer(range.clone()).filter(begins).chain([range.end]).collect();
        let mut start = range.start;
        ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Splits a range of tokens into the nodes of a workflow. An id, a kind or a router may also be
    /// called `node`, so not every word `node` begins a node.
    fn nodes(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut starts: Vec<usize> = Vec::new();
        for at in self.outer(range.clone()) {
            let named =
                starts.last().map_or(0, |start| start + if self.gaps.word(*start) == "node" { 2 } else { 1 });
            let goes_on = matches!(self.gaps.kind(at - 1), Some(TokenKind::Comma | TokenKind::Arrow))
                || self.is_word(at - 1, &["by"]);
            if starts.is_empty() || at > named && !goes_on && self.is_word(at, &["node", "passthrough"]) {
                starts.push(at);
            }
        }
        let ends = starts.iter().skip(1).copied().chain([range.end]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Adds the layout events for the braces at the end of a statement.
    pub(super) fn statement_block(&mut self, word: &str, open: usize) {
        let close = self.closer(open);
        if open + 1 == close {
            return self.bracket(open);
        }
        let inside = open + 1..close;
        let items = match word {
            "choice" => self.beginning(inside, &["branch", "default"]),
            "router" => self.beginning(inside, &["when", "otherwise"]),
            "test" => self.beginning(inside, &["given", "expect"]),
            "intent" => self.beginning(inside, &["keywords", "examples"]),
            "workflow" => self.nodes(inside),
            _ => self.fields(inside),
        };
        self.begin(false);
        let several = matches!(word, "choice" | "router" | "test" | "intent" | "workflow") && items.len() > 1;
        self.keep(several || items.iter().any(|item| self.begins_line(item.start)));
        self.items(open, items, |builder, item| match word {
            "choice" => builder.parts(item, &["where"]),
            "router" => builder.parts(item, &["where", "->"]),
            "test" if builder.is_word(item.start, &["expect"]) => builder.parts(item, &["->", "for"]),
            "test" => builder.definition(item),
            _ => builder.plain(item),
        });
        self.end();
    }

    /// Adds the layout events for the braces of a payload, group or `each`. `self.items` contains
    /// the start tokens of the items.
    pub(super) fn item_block(&mut self, open: usize) {
        let close = self.closer(open);
        if open + 1 == close {
            return self.bracket(open);
        }
        let begins = |at: &usize| *at > open + 1 && self.items.contains(at);
        let ends: Vec<usize> = self.outer(open + 1..close).filter(begins).chain([close]).collect();
        let mut start = open + 1;
        let items: Vec<Range<usize>> =
            ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect();
        self.begin(false);
        self.keep(items.len() > 1 || self.begins_line(open + 1));
        self.items(open, items, |builder, item| builder.item(item));
        self.end();
    }
}
