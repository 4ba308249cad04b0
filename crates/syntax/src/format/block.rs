//! Creates the layout events for brackets and their contents: arguments, lists, records, types, and
//! the blocks of statements.

use super::build::LayoutBuilder;
use super::gap::BreakKind;
use crate::lex::TokenKind;
use std::ops::Range;

/// The kind of content between a pair of braces, which decides its layout.
#[derive(Clone, Copy, PartialEq)]
enum BraceContent {
    /// The fields of a type, with optional commas between them.
    Fields,
    /// `key: value` pairs with commas between them.
    Record,
    /// The conditions of `all`, `any` and `none`, or of a branch.
    Conditions,
}

impl LayoutBuilder<'_> {
    pub(super) fn add_bracket(&mut self, open: usize) {
        let close = self.closing_bracket(open);
        match self.gaps.token_kind(open) {
            _ if open + 1 == close => self.add_empty_brackets(open),
            Some(TokenKind::OpenBrace) => self.add_braces(open),
            Some(TokenKind::OpenBracket) if self.is_index(open) => {
                self.add_token(open);
                self.add_plain_tokens(open + 1..self.closing_bracket(open));
                self.add_token(close);
            }
            Some(TokenKind::OpenBracket) => self.add_list(open),
            _ => self.add_parentheses(open),
        }
    }

    /// Adds the layout events for brackets without content; `open` is the opening one. A comment
    /// between the brackets is preserved.
    fn add_empty_brackets(&mut self, open: usize) {
        self.begin_group(false);
        self.add_token(open);
        if self.gaps.has_comment_before(open + 1) {
            self.add_break(open + 1, false, BreakKind::BeforeClosing);
        }
        self.add_token(open + 1);
        self.end_group();
    }

    /// Adds the layout events for a pair of brackets with the items between them. `open_token` is
    /// the token of the opening bracket. `write` adds the events of one item. The items share one
    /// line if they fit; otherwise each has its own line.
    fn add_items(
        &mut self,
        open_token: usize,
        items: Vec<Range<usize>>,
        mut write: impl FnMut(&mut Self, Range<usize>),
    ) {
        let (close, space) = (
            self.closing_bracket(open_token),
            self.gaps.token_kind(open_token) == Some(TokenKind::OpenBrace),
        );
        self.add_token(open_token);
        self.indent();
        for (index, item) in items.into_iter().enumerate() {
            let break_kind = if index == 0 { BreakKind::AfterOpening } else { BreakKind::BetweenItems };
            self.add_break(item.start, index > 0 || space, break_kind);
            write(self, item);
        }
        self.dedent();
        self.add_break(close, space, BreakKind::BeforeClosing);
        self.add_token(close);
    }

    fn add_parentheses(&mut self, open: usize) {
        let close = self.closing_bracket(open);
        let elements = self.split_at_separators(open + 1..close);
        let hangs = elements.len() > 1 || self.gaps.is_key(open + 1);
        self.begin_group(false);
        self.break_open_groups_if(self.begins_line(open + 1));
        self.add_items(open, elements, |builder, element| builder.add_expression(element, hangs));
        self.end_group();
    }

    /// Adds the layout events for the list whose bracket is the token `open`. Each element has its
    /// own line if the author wrote one element per line, or if the list contains brackets.
    /// Otherwise each line takes as many elements as fit.
    fn add_list(&mut self, open: usize) {
        let close = self.closing_bracket(open);
        let elements = self.split_at_separators(open + 1..close);
        let has_brackets =
            (open + 1..close).any(|token| self.gaps.token_kind(token).is_some_and(TokenKind::opens_bracket));
        let skip_count = usize::from(elements.len() > 1);
        let each_on_own_line =
            elements.iter().skip(skip_count).all(|element| self.begins_line(element.start));
        self.begin_group(false);
        if has_brackets || each_on_own_line || elements.len() < 2 {
            self.break_open_groups_if(each_on_own_line);
            self.add_items(open, elements, |builder, element| builder.add_expression(element, true));
        } else {
            self.add_items(open, Vec::from_iter(Some(open + 1..close)), |builder, contents| {
                builder.begin_group(true);
                for (number, element) in builder.split_at_separators(contents).into_iter().enumerate() {
                    if number > 0 {
                        builder.add_break(element.start, true, BreakKind::BetweenItems);
                    }
                    builder.add_plain_tokens(element);
                }
                builder.end_group();
            });
        }
        self.end_group();
    }

    fn add_braces(&mut self, open: usize) {
        let (close, kind) = (self.closing_bracket(open), self.brace_content(open));
        let outer_in_type = std::mem::replace(&mut self.in_type, kind == BraceContent::Fields);
        let items = match kind {
            BraceContent::Fields => self.split_fields(open + 1..close),
            _ => self.split_at_separators(open + 1..close),
        };
        self.begin_group(false);
        let has_several = kind == BraceContent::Conditions && items.len() > 1;
        self.break_open_groups_if(has_several || items.iter().any(|item| self.begins_line(item.start)));
        self.add_items(open, items, |builder, item| builder.add_expression(item, true));
        self.end_group();
        self.in_type = outer_in_type;
    }

    fn brace_content(&self, open: usize) -> BraceContent {
        let previous_text = self.gaps.token_text(open - 1);
        // A field of a payload may have a record type.
        let follows_field =
            (2..=3).any(|distance| open >= distance && self.item_starts.contains(&(open - distance)));
        let is_type = self.in_type
            || previous_text == "as"
            || previous_text == "<"
            || previous_text == ":" && follows_field;
        match () {
            () if is_type => BraceContent::Fields,
            () if self.gaps.is_key(open + 1)
                || self.gaps.token_kind(open + 1) == Some(TokenKind::CloseBrace) =>
            {
                BraceContent::Record
            }
            () => BraceContent::Conditions,
        }
    }

    /// Splits a range of tokens into fields. A new field begins before each key (a name before a
    /// colon), and after each comma or semicolon.
    fn split_fields(&self, tokens: Range<usize>) -> Vec<Range<usize>> {
        let mut fields: Vec<Range<usize>> = Vec::new();
        for part in self.split_at_separators(tokens) {
            let keys = self
                .outer_tokens(part.clone())
                .filter(|token| *token > part.start && self.gaps.is_key(*token));
            let ends: Vec<usize> = keys.chain([part.end]).collect();
            let mut start = part.start;
            fields.extend(ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end));
        }
        fields
    }

    /// Splits a range of tokens before each token whose text is one of `words`. In `default
    /// branch`, the range is not split before `branch`.
    fn split_before_words(&self, tokens: Range<usize>, words: &[&str]) -> Vec<Range<usize>> {
        let is_start = |token: &usize| {
            let is_default_branch =
                self.gaps.token_text(*token) == "branch" && self.is_one_of_words(*token - 1, &["default"]);
            *token > tokens.start && self.is_one_of_words(*token, words) && !is_default_branch
        };
        let ends: Vec<usize> =
            self.outer_tokens(tokens.clone()).filter(is_start).chain([tokens.end]).collect();
        let mut start = tokens.start;
        ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Splits a range of tokens into the nodes and `passthrough` clauses of a workflow. An id, a
    /// kind or a router may also be called `node`, so only some of the words `node` begin a node.
    fn split_nodes(&self, tokens: Range<usize>) -> Vec<Range<usize>> {
        let mut starts: Vec<usize> = Vec::new();
        for token in self.outer_tokens(tokens.clone()) {
            let id_end = starts
                .last()
                .map_or(0, |start| start + if self.gaps.token_text(*start) == "node" { 2 } else { 1 });
            let continues_node =
                matches!(self.gaps.token_kind(token - 1), Some(TokenKind::Comma | TokenKind::Arrow))
                    || self.is_one_of_words(token - 1, &["by", "merge"]);
            if starts.is_empty()
                || token > id_end && !continues_node && self.is_one_of_words(token, &["node", "passthrough"])
            {
                starts.push(token);
            }
        }
        let ends = starts.iter().skip(1).copied().chain([tokens.end]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Adds the layout events for the braces at the end of a statement. `open` is the token of the
    /// opening brace. `word`, the statement's keyword, selects the layout.
    pub(super) fn add_statement_block(&mut self, word: &str, open: usize) {
        let close = self.closing_bracket(open);
        if open + 1 == close {
            return self.add_bracket(open);
        }
        let contents = open + 1..close;
        let items = match word {
            "choice" => self.split_before_words(contents, &["branch", "default"]),
            "router" => self.split_before_words(contents, &["when", "otherwise"]),
            "test" => self.split_before_words(contents, &["given", "expect"]),
            "intent" => self.split_before_words(contents, &["keywords", "examples"]),
            "workflow" => self.split_nodes(contents),
            _ => self.split_fields(contents),
        };
        self.begin_group(false);
        let has_several =
            matches!(word, "choice" | "router" | "test" | "intent" | "workflow") && items.len() > 1;
        self.break_open_groups_if(has_several || items.iter().any(|item| self.begins_line(item.start)));
        self.add_items(open, items, |builder, item| match word {
            "choice" => builder.add_clauses_starting_with(item, &["where"]),
            "router" => builder.add_clauses_starting_with(item, &["where", "->"]),
            "test" if builder.is_one_of_words(item.start, &["expect"]) => {
                builder.add_clauses_starting_with(item, &["->", "for"])
            }
            "test" => builder.add_definition(item),
            _ => builder.add_plain_tokens(item),
        });
        self.end_group();
    }

    /// Adds the layout events for the braces of a payload, group or `each`. `open` is the token of
    /// the opening brace. The items in the braces begin at the tokens in `self.items`.
    pub(super) fn add_item_block(&mut self, open: usize) {
        let close = self.closing_bracket(open);
        if open + 1 == close {
            return self.add_bracket(open);
        }
        let is_item_start = |token: &usize| *token > open + 1 && self.item_starts.contains(token);
        let ends: Vec<usize> =
            self.outer_tokens(open + 1..close).filter(is_item_start).chain([close]).collect();
        let mut start = open + 1;
        let items: Vec<Range<usize>> =
            ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect();
        self.begin_group(false);
        self.break_open_groups_if(items.len() > 1 || self.begins_line(open + 1));
        self.add_items(open, items, |builder, item| builder.add_item(item));
        self.end_group();
    }
}
