//! Converts a statement into layout events. The events describe which tokens form a group, and
//! where a line may break. A condition that does not fit on one line breaks before its operators of
//! lowest precedence. A route breaks before `when`, `where` and `->`.

use super::gap::{BreakKind, TokenGaps};
use super::layout::LayoutEvent;
use crate::lex::TokenKind;
use crate::parse::begins_statement_or_item;
use std::collections::HashSet;
use std::ops::Range;

/// Returns the layout events of a statement with the keyword `keyword`. For a table, these are the
/// events of the table's head only. `item_starts` contains the tokens at which items of payloads
/// and groups begin, as indices.
pub(super) fn build_statement_events(
    gaps: &TokenGaps<'_>,
    keyword: &str,
    item_starts: &HashSet<usize>,
    tokens: Range<usize>,
) -> Vec<LayoutEvent> {
    let mut builder = LayoutBuilder {
        gaps,
        item_starts,
        brackets_are_lists: matches!(keyword, "flow" | "intent" | "entity"),
        in_type: matches!(keyword, "input" | "type" | "handler" | "extern"),
        events: Vec::with_capacity(tokens.len() * 3),
        open_groups: Vec::new(),
        needs_gap_event: false,
        first_token: tokens.start,
        closing_brackets: find_matching_brackets(gaps, &tokens),
    };
    builder.add_statement(keyword, tokens);
    builder.events
}

/// Returns the layout events for ` {` after the head of a table. `brace` is the token of the `{`.
pub(super) fn build_opening_brace_events(brace: usize) -> Vec<LayoutEvent> {
    vec![LayoutEvent::Glue { next_token: brace, has_space: true }, LayoutEvent::Token(brace)]
}

/// Returns the layout events for ` {}` after the head of a table. `brace` is the token of the `{`,
/// and the next token is the `}`.
pub(super) fn build_empty_braces_events(brace: usize) -> Vec<LayoutEvent> {
    [build_opening_brace_events(brace), vec![LayoutEvent::Token(brace + 1)]].concat()
}

/// Returns a list with one entry for each token of `tokens`. The entry of an opening bracket is the
/// index of its closing bracket. All other entries are `tokens.end` and must not be used.
fn find_matching_brackets(gaps: &TokenGaps<'_>, tokens: &Range<usize>) -> Vec<usize> {
    let mut closing_brackets = vec![tokens.end; tokens.len()];
    let mut open_brackets = Vec::new();
    for token in tokens.clone() {
        match gaps.token_kind(token) {
            Some(kind) if kind.opens_bracket() => open_brackets.push(token),
            Some(kind) if kind.closes_bracket() => {
                if let Some(opening) = open_brackets.pop() {
                    closing_brackets[opening - tokens.start] = token;
                }
            }
            _ => {}
        }
    }
    closing_brackets
}

/// The indices of the tokens at which the clauses of a statement or item begin.
pub(super) type ClauseStarts = Vec<usize>;

pub(super) struct LayoutBuilder<'a> {
    pub(super) gaps: &'a TokenGaps<'a>,
    pub(super) item_starts: &'a HashSet<usize>,
    /// Whether `[` always begins a list in this statement. If false, `[` after a value begins an
    /// index.
    brackets_are_lists: bool,
    /// Whether the innermost open braces contain the fields of a type.
    pub(super) in_type: bool,
    events: Vec<LayoutEvent>,
    /// The layout groups that are not closed yet, as indices of their `Begin` events.
    open_groups: Vec<usize>,
    /// Whether the gap (white space and comments) before the next token still needs a layout event.
    /// The next call of `add_token` then adds it.
    needs_gap_event: bool,
    first_token: usize,
    closing_brackets: Vec<usize>,
}

impl LayoutBuilder<'_> {
    // --- Events ----------------------------------------------------------------------------------

    pub(super) fn begin_group(&mut self, fills: bool) {
        // The gap (white space and comments) before the group becomes part of the group, because
        // `add_token` adds the event of the gap after this one.
        self.open_groups.push(self.events.len());
        self.events.push(LayoutEvent::Begin { fills, is_broken: false });
    }

    pub(super) fn end_group(&mut self) {
        self.open_groups.pop();
        self.events.push(LayoutEvent::End);
    }

    pub(super) fn indent(&mut self) {
        self.events.push(LayoutEvent::Indent);
    }

    pub(super) fn dedent(&mut self) {
        self.events.push(LayoutEvent::Dedent);
    }

    /// Marks all groups that are open now as broken: they are written over several lines.
    pub(super) fn break_open_groups(&mut self) {
        for begin in &self.open_groups {
            if let Some(LayoutEvent::Begin { is_broken: broken, .. }) = self.events.get_mut(*begin) {
                *broken = true;
            }
        }
    }

    /// If `broken` is true, marks all groups that are open now to be written over several lines.
    pub(super) fn break_open_groups_if(&mut self, broken: bool) {
        if broken {
            self.break_open_groups();
        }
    }

    /// True if this token begins a line in the author's text.
    pub(super) fn begins_line(&self, token: usize) -> bool {
        self.gaps.line_breaks_before(token) > 0
    }

    pub(super) fn add_token(&mut self, token: usize) {
        if self.needs_gap_event {
            let space = self.gaps.has_space_before(token, self.brackets_are_lists);
            self.events.push(LayoutEvent::Glue { next_token: token, has_space: space });
            self.break_open_groups_if(self.gaps.has_comment_before(token));
        }
        self.events.push(LayoutEvent::Token(token));
        self.needs_gap_event = true;
    }

    pub(super) fn add_break(&mut self, next: usize, space: bool, kind: BreakKind) {
        self.events.push(LayoutEvent::Break { next_token: next, has_space: space, kind });
        let has_blank_line = kind == BreakKind::BetweenItems && self.gaps.line_breaks_before(next) > 1;
        self.break_open_groups_if(has_blank_line || self.gaps.has_comment_before(next));
        self.needs_gap_event = false;
    }

    /// Adds a possible line break before the token `next`. Adds none before a token that would
    /// begin a new statement if it were the first on a line.
    pub(super) fn add_break_before_name(&mut self, next: usize) {
        let may_start_statement = self.gaps.token_kind(next) == Some(TokenKind::Word)
            && begins_statement_or_item(self.gaps.token_text(next));
        if !may_start_statement {
            self.add_break(next, true, BreakKind::WithinStatement);
        }
    }

    // --- Queries ---------------------------------------------------------------------------------

    /// True if the bracket at the token `open` opens an index, as in `list[0]`, and not a list.
    pub(super) fn is_index(&self, open: usize) -> bool {
        !self.gaps.has_space_before(open, self.brackets_are_lists)
            && self.gaps.token_kind(open - 1).is_some_and(TokenKind::ends_operand)
    }

    pub(super) fn closing_bracket(&self, open: usize) -> usize {
        self.closing_brackets[open - self.first_token]
    }

    /// Returns the tokens in `tokens` that are outside the brackets in this range, and the opening
    /// token of each bracket pair.
    pub(super) fn outer_tokens(&self, tokens: Range<usize>) -> impl Iterator<Item = usize> {
        let mut next = tokens.start;
        std::iter::from_fn(move || {
            let current = Some(next).filter(|next| *next < tokens.end)?;
            let is_opening = self.gaps.token_kind(current).is_some_and(TokenKind::opens_bracket);
            next = if is_opening { self.closing_bracket(current) + 1 } else { current + 1 };
            Some(current)
        })
    }

    /// Splits a range of tokens after each comma and semicolon outside brackets.
    pub(super) fn split_at_separators(&self, tokens: Range<usize>) -> Vec<Range<usize>> {
        let is_separator = |token: &usize| {
            matches!(self.gaps.token_kind(*token), Some(TokenKind::Comma | TokenKind::Semicolon))
        };
        let ends: Vec<usize> =
            self.outer_tokens(tokens.clone()).filter(is_separator).map(|token| token + 1).collect();
        let ends = ends.into_iter().filter(|end| *end < tokens.end).chain([tokens.end]);
        let mut start = tokens.start;
        ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    pub(super) fn is_one_of_words(&self, token: usize, words: &[&str]) -> bool {
        self.gaps.is_plain_word(token) && words.contains(&self.gaps.token_text(token))
    }

    /// True if the token begins a quantifier such as `any x in …: …`, or an `if … then … else …`.
    /// Such an expression extends to the end of the whole condition or value, the index `end`. So
    /// an operator after the token is inside this expression.
    fn begins_quantifier_or_if(&self, token: usize, end: usize) -> bool {
        self.is_one_of_words(token, &["if"]) || self.quantifier_colon(token, end).is_some()
    }

    fn quantifier_colon(&self, token: usize, end: usize) -> Option<usize> {
        let is_quantifier = self.is_one_of_words(token, &["any", "all", "count", "first", "last", "for"])
            && token + 2 < end
            && self.is_one_of_words(token + 2, &["in"]);
        let is_colon = |token: &usize| self.gaps.token_kind(*token) == Some(TokenKind::Colon);
        if is_quantifier { self.outer_tokens(token + 3..end).find(is_colon) } else { None }
    }

    /// Returns the indices of the operators with the lowest precedence in a condition or value.
    /// Lines break before these operators.
    fn lowest_precedence_operators(&self, tokens: Range<usize>) -> Vec<usize> {
        let (mut lowest_level, mut operators) = (u8::MAX, Vec::new());
        for token in self.outer_tokens(tokens.clone()) {
            if self.begins_quantifier_or_if(token, tokens.end) {
                break;
            }
            match self.gaps.precedence_of_joining_operator(token) {
                Some(level) if token > tokens.start && level < lowest_level => {
                    (lowest_level, operators) = (level, vec![token])
                }
                Some(level) if token > tokens.start && level == lowest_level => operators.push(token),
                _ => {}
            }
        }
        operators
    }

    // --- Statements ------------------------------------------------------------------------------

    fn add_statement(&mut self, word: &str, tokens: Range<usize>) {
        let block = self.outer_tokens(tokens.clone()).last();
        let block = block.filter(|token| self.gaps.token_kind(*token) == Some(TokenKind::OpenBrace));
        match (word, block) {
            ("payload" | "group", Some(open)) => self.add_payload(tokens.start..open, open),
            (
                "choice" | "router" | "test" | "intent" | "input" | "settings" | "lexicon" | "workflow",
                Some(open),
            ) => {
                self.add_plain_tokens(tokens.start..open);
                self.add_statement_block(word, open);
            }
            ("let" | "def" | "list", _) => self.add_definition(tokens),
            ("route", _) => self.add_clauses_starting_with(tokens, &["when", "where", "->"]),
            ("flow", _) => {
                self.add_clauses_starting_with(tokens, &["keyword", "intent", "keywords", "examples", "->"])
            }
            _ => self.add_plain_tokens(tokens),
        }
    }

    /// Adds the layout events for `NAME = VALUE`, with or without a keyword before the name.
    pub(super) fn add_definition(&mut self, tokens: Range<usize>) {
        let is_equals = |token: &usize| {
            self.gaps.token_kind(*token) == Some(TokenKind::Operator) && self.gaps.token_text(*token) == "="
        };
        let equals = self.outer_tokens(tokens.clone()).find(is_equals);
        match equals {
            Some(equals) => {
                self.add_plain_tokens(tokens.start..equals + 1);
                self.add_expression(equals + 1..tokens.end, true);
            }
            None => self.add_plain_tokens(tokens),
        }
    }

    /// Adds the layout events for a statement: its head, then the clauses that begin with one of
    /// `words`. Each clause has its own line unless the statement fits on one line.
    pub(super) fn add_clauses_starting_with(&mut self, tokens: Range<usize>, words: &[&str]) {
        // A name may be spelled like one of these words, so the word directly after the keyword
        // begins no clause.
        let is_part_start = |token: &usize| {
            let is_arrow = self.gaps.token_kind(*token) == Some(TokenKind::Arrow) && words.contains(&"->");
            // `intent examples […]` is one clause.
            let continues_part = self.is_one_of_words(*token, &["examples", "keywords"])
                && self.is_one_of_words(*token - 1, &["intent"]);
            *token > tokens.start + 1 && (is_arrow || self.is_one_of_words(*token, words) && !continues_part)
        };
        let starts = self.outer_tokens(tokens.clone()).filter(is_part_start).collect();
        self.add_clauses(tokens, starts, |builder, head| builder.add_clause(head));
    }

    pub(super) fn add_clauses(
        &mut self,
        tokens: Range<usize>,
        starts: ClauseStarts,
        add_head: impl FnOnce(&mut Self, Range<usize>),
    ) {
        let Some(&first) = starts.first() else { return add_head(self, tokens) };
        self.begin_group(false);
        self.break_open_groups_if(starts.iter().any(|start| self.begins_line(*start)));
        add_head(self, tokens.start..first);
        self.indent();
        let ends = starts.iter().skip(1).copied().chain([tokens.end]);
        for (start, end) in starts.iter().copied().zip(ends) {
            self.add_break(start, true, BreakKind::WithinStatement);
            self.add_clause(start..end);
        }
        self.dedent();
        self.end_group();
    }

    /// Adds the layout events for one clause of a statement. The first word of the clause decides
    /// its layout.
    pub(super) fn add_clause(&mut self, tokens: Range<usize>) {
        let start = tokens.start;
        if self.is_one_of_words(start, &["where", "for"]) {
            self.add_locals(tokens);
        } else if self.is_one_of_words(start, &["else"]) {
            self.add_violation_message(tokens);
        } else if self.is_one_of_words(start, &["when", "default", "clamp"]) {
            self.add_token(start);
            self.add_expression(start + 1..tokens.end, true);
        } else {
            self.add_plain_tokens(tokens);
        }
    }

    /// Adds the layout events for a word and the comma-separated entries after it: the definitions
    /// of `where a = …, b = …`, or the values of `for "x", 5` in a test.
    fn add_locals(&mut self, tokens: Range<usize>) {
        self.add_token(tokens.start);
        self.begin_group(false);
        self.indent();
        let locals = self.split_at_separators(tokens.start + 1..tokens.end);
        self.break_open_groups_if(locals.iter().skip(1).any(|local| self.begins_line(local.start)));
        for (index, local) in locals.into_iter().enumerate() {
            if index > 0 {
                self.add_break_before_name(local.start);
            }
            self.add_definition(local);
        }
        self.dedent();
        self.end_group();
    }

    // --- Conditions and values -------------------------------------------------------------------

    /// Adds the layout events for a condition or value. If `hangs` is true, the expression does not
    /// begin a line, so its continuation lines are indented. A block of conditions at the end of
    /// the expression can be broken without breaking the text before the block.
    pub(super) fn add_expression(&mut self, tokens: Range<usize>, hangs: bool) {
        let operators = self.lowest_precedence_operators(tokens.clone());
        let (Some(&first), Some(&last)) = (operators.first(), operators.last()) else {
            return self.add_plain_tokens(tokens);
        };
        let block = self.block_at_end(last + 1..tokens.end);
        let chain_end = block.unwrap_or(tokens.end);
        let group = self.events.len();
        self.begin_group(false);
        self.break_open_groups_if(operators.iter().any(|joint| self.begins_line(*joint)));
        // The first operand may itself contain operators, which bind more tightly. Its continuation
        // lines are then indented further than the lines after the operand, except inside brackets.
        let nested = hangs && !self.lowest_precedence_operators(tokens.start..first).is_empty();
        if nested {
            self.indent();
        }
        self.add_expression(tokens.start..first, true);
        if hangs && !nested {
            self.indent();
        }
        let ends = operators.iter().skip(1).copied().chain([chain_end]);
        for (joint, end) in operators.iter().copied().zip(ends) {
            self.add_break(joint, true, BreakKind::WithinStatement);
            self.add_token(joint);
            self.add_expression(joint + 1..end, true);
        }
        if hangs {
            self.dedent();
        }
        self.end_group();
        if let Some(open) = block {
            self.events.extend(hangs.then_some(LayoutEvent::IndentIf(group)));
            self.add_bracket(open);
            self.add_plain_tokens(self.closing_bracket(open) + 1..tokens.end);
            self.events.extend(hangs.then_some(LayoutEvent::DedentIf(group)));
        }
    }

    /// If the operand is a block such as `any { … }`, `all { … }` or `none { … }`, returns the
    /// token of its opening brace. A comma or semicolon may follow the block. `None` for other
    /// operands.
    fn block_at_end(&self, operand: Range<usize>) -> Option<usize> {
        let open = operand.start + 1;
        let is_block = self.is_one_of_words(operand.start, &["any", "all", "none"])
            && open < operand.end
            && self.gaps.token_kind(open) == Some(TokenKind::OpenBrace);
        let close = if is_block { self.closing_bracket(open) } else { return None };
        let is_separator =
            matches!(self.gaps.token_kind(close + 1), Some(TokenKind::Comma | TokenKind::Semicolon));
        (close + 1 == operand.end || is_separator && close + 2 == operand.end).then_some(open)
    }

    /// Adds the layout events for tokens in sequence, with groups for brackets, quantifiers and
    /// `if`.
    pub(super) fn add_plain_tokens(&mut self, tokens: Range<usize>) {
        let mut next = tokens.start;
        while next < tokens.end {
            if self.gaps.token_kind(next).is_some_and(TokenKind::opens_bracket) {
                self.add_bracket(next);
                next = self.closing_bracket(next) + 1;
            } else if let Some(colon) = self.quantifier_colon(next, tokens.end) {
                self.add_token(next);
                self.add_plain_tokens(next + 1..colon);
                return self.add_colon_and_condition(colon, tokens.end);
            } else if self.is_one_of_words(next, &["if"]) && self.add_conditional(next..tokens.end) {
                return;
            } else {
                self.add_token(next);
                next += 1;
            }
        }
    }

    /// Adds the layout events for a colon and the condition after it, which extends to the token
    /// `end`. If the condition does not fit after the colon, the condition begins a new line.
    pub(super) fn add_colon_and_condition(&mut self, colon: usize, end: usize) {
        self.begin_group(false);
        self.break_open_groups_if(colon + 1 < end && self.begins_line(colon + 1));
        self.add_token(colon);
        self.indent();
        self.add_break_before_name(colon + 1);
        self.add_expression(colon + 1..end, false);
        self.dedent();
        self.end_group();
    }

    /// Adds the layout events for `if C then a else b`. Adds nothing and returns false if one of
    /// the words is missing.
    fn add_conditional(&mut self, tokens: Range<usize>) -> bool {
        let (mut depth, mut words) = (0, Vec::new());
        for token in self.outer_tokens(tokens.start + 1..tokens.end) {
            match () {
                () if self.is_one_of_words(token, &["if"]) => depth += 1,
                () if depth == 0 && self.is_one_of_words(token, &["then", "else"]) => words.push(token),
                () if self.is_one_of_words(token, &["else"]) => depth -= 1,
                () => {}
            }
        }
        let [then, other] = words[..] else { return false };
        self.begin_group(false);
        self.break_open_groups_if(self.begins_line(then) || self.begins_line(other));
        self.add_token(tokens.start);
        self.add_expression(tokens.start + 1..then, true);
        self.indent();
        for (word, end) in [(then, other), (other, tokens.end)] {
            self.add_break(word, true, BreakKind::WithinStatement);
            self.add_token(word);
            self.add_expression(word + 1..end, true);
        }
        self.dedent();
        self.end_group();
        true
    }
}
