//! Converts a statement into layout events. The events describe which tokens form a group, and
//! where a line may break. A condition breaks before its joining operators, the loosest first. A
//! route breaks before `when`, `where` and `->`.

use super::gap::{BreakKind, Gaps};
use super::layout::Event;
use crate::lex::TokenKind;
use crate::parse::may_begin;
use std::collections::HashSet;
use std::ops::Range;

/// Returns the layout events of a statement. For a table, these are the events of its head only.
pub(super) fn statement(
    gaps: &Gaps<'_>,
    word: &str,
    items: &HashSet<usize>,
    tokens: Range<usize>,
) -> Vec<Event> {
    let mut builder = Builder {
        gaps,
        items,
        lists: matches!(word, "flow" | "intent" | "entity"),
        types: matches!(word, "input" | "type" | "handler" | "extern"),
        events: Vec::with_capacity(tokens.len() * 3),
        open: Vec::new(),
        glued: false,
        start: tokens.start,
        closers: closers(gaps, &tokens),
    };
    builder.statement(word, tokens);
    builder.events
}

/// Returns the layout events for ` {` after the head of a table.
pub(super) fn opening(brace: usize) -> Vec<Event> {
    vec![Event::Glue { next: brace, space: true }, Event::Token(brace)]
}

/// Returns the layout events for ` {}` after the head of a table.
pub(super) fn empty_braces(brace: usize) -> Vec<Event> {
    [opening(brace), vec![Event::Token(brace + 1)]].concat()
}

/// Returns the matching closing bracket for each token of the range that opens a bracket. Entries
/// for other tokens have no meaning.
fn closers(gaps: &Gaps<'_>, tokens: &Range<usize>) -> Vec<usize> {
    let mut closers = vec![tokens.end; tokens.len()];
    let mut open = Vec::new();
    for at in tokens.clone() {
        match gaps.kind(at) {
            Some(kind) if kind.opens() => open.push(at),
            Some(kind) if kind.closes() => {
                if let Some(opening) = open.pop() {
                    closers[opening - tokens.start] = at;
                }
            }
            _ => {}
        }
    }
    closers
}

/// Indices of the tokens at which the parts of a statement or item begin.
pub(super) type Starts = Vec<usize>;

pub(super) struct Builder<'a> {
    pub(super) gaps: &'a Gaps<'a>,
    pub(super) items: &'a HashSet<usize>,
    /// Whether `[` always begins a list in this statement, never an index.
    lists: bool,
    /// Whether the current braces contain the fields of a type.
    pub(super) types: bool,
    events: Vec<Event>,
    /// The open groups, as indices of their `Begin` events.
    open: Vec<usize>,
    /// Whether the gap before the next token still has to be written.
    glued: bool,
    start: usize,
    closers: Vec<usize>,
}

impl Builder<'_> {
    // --- Events ----------------------------------------------------------------------------------

    pub(super) fn begin(&mut self, fills: bool) {
        // `begin` does not write the gap before a group: the gap belongs outside the group.
        self.open.push(self.events.len());
        self.events.push(Event::Begin { fills, broken: false });
    }

    pub(super) fn end(&mut self) {
        self.open.pop();
        self.events.push(Event::End);
    }

    pub(super) fn indent(&mut self) {
        self.events.push(Event::Indent);
    }

    pub(super) fn dedent(&mut self) {
        self.events.push(Event::Dedent);
    }

    /// Marks all open groups as broken over several lines.
    pub(super) fn force(&mut self) {
        for begin in &self.open {
            if let Some(Event::Begin { broken, .. }) = self.events.get_mut(*begin) {
                *broken = true;
            }
        }
    }

    /// Marks all open groups as broken over several lines if `broken` is true.
    pub(super) fn keep(&mut self, broken: bool) {
        if broken {
            self.force();
        }
    }

    /// True if this token begins a line in the author's text.
    pub(super) fn begins_line(&self, at: usize) -> bool {
        self.gaps.lines(at) > 0
    }

    pub(super) fn token(&mut self, at: usize) {
        if self.glued {
            let space = self.gaps.has_space(at, self.lists);
            self.events.push(Event::Glue { next: at, space });
            self.keep(self.gaps.has_comment(at));
        }
        self.events.push(Event::Token(at));
        self.glued = true;
    }

    pub(super) fn line(&mut self, next: usize, space: bool, place: BreakKind) {
        self.events.push(Event::Break { next, space, place });
        let blank = place == BreakKind::Between && self.gaps.lines(next) > 1;
        self.keep(blank || self.gaps.has_comment(next));
        self.glued = false;
    }

    /// Adds a possible line break before a token. Adds none if the token, at the start of a line,
    /// could begin a statement.
    pub(super) fn line_before_name(&mut self, next: usize) {
        let starts = self.gaps.kind(next) == Some(TokenKind::Word) && may_begin(self.gaps.word(next));
        if !starts {
            self.line(next, true, BreakKind::Inner);
        }
    }

    // --- Queries ---------------------------------------------------------------------------------

    /// True if the bracket opens an index, as in `list[0]`.
    pub(super) fn is_index(&self, open: usize) -> bool {
        !self.gaps.has_space(open, self.lists)
            && self.gaps.kind(open - 1).is_some_and(TokenKind::ends_operand)
    }

    pub(super) fn closer(&self, open: usize) -> usize {
        self.closers[open - self.start]
    }

    /// Returns the tokens of a range that are not inside a bracket of that range. For a bracket,
    /// only its opening token is returned.
    pub(super) fn outer(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let this = Some(at).filter(|at| *at < range.end)?;
            let opens = self.gaps.kind(this).is_some_and(TokenKind::opens);
            at = if opens { self.closer(this) + 1 } else { this + 1 };
            Some(this)
        })
    }

    /// Splits a range after each comma and semicolon outside brackets.
    pub(super) fn separated(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let separates =
            |at: &usize| matches!(self.gaps.kind(*at), Some(TokenKind::Comma | TokenKind::Semicolon));
        let ends: Vec<usize> = self.outer(range.clone()).filter(separates).map(|at| at + 1).collect();
        let ends = ends.into_iter().filter(|end| *end < range.end).chain([range.end]);
        let mut start = range.start;
        ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    pub(super) fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.gaps.is_plain_word(at) && words.contains(&self.gaps.word(at))
    }

    /// True for a quantifier such as `any x in …: …`, and for `if … then … else …`. Both extend to
    /// the end of the range.
    fn reaches_far(&self, at: usize, end: usize) -> bool {
        self.is_word(at, &["if"]) || self.quantifier_colon(at, end).is_some()
    }

    fn quantifier_colon(&self, at: usize, end: usize) -> Option<usize> {
        let is_one =
            self.is_word(at, &["any", "all", "count"]) && at + 2 < end && self.is_word(at + 2, &["in"]);
        let is_colon = |at: &usize| self.gaps.kind(*at) == Some(TokenKind::Colon);
        if is_one { self.outer(at + 3..end).find(is_colon) } else { None }
    }

    /// Returns the operators with the lowest precedence in a condition or value. Lines break before
    /// these operators.
    fn joints(&self, range: Range<usize>) -> Vec<usize> {
        let (mut loosest, mut joints) = (u8::MAX, Vec::new());
        for at in self.outer(range.clone()) {
            if self.reaches_far(at, range.end) {
                break;
            }
            match self.gaps.binds(at) {
                Some(level) if at > range.start && level < loosest => (loosest, joints) = (level, vec![at]),
                Some(level) if at > range.start && level == loosest => joints.push(at),
                _ => {}
            }
        }
        joints
    }

    // --- Statements ------------------------------------------------------------------------------

    fn statement(&mut self, word: &str, tokens: Range<usize>) {
        let block = self.outer(tokens.clone()).last();
        let block = block.filter(|at| self.gaps.kind(*at) == Some(TokenKind::OpenBrace));
        match (word, block) {
            ("payload" | "group", Some(open)) => self.payload(tokens.start..open, open),
            (
                "choice" | "router" | "test" | "intent" | "input" | "settings" | "lexicon" | "workflow",
                Some(open),
            ) => {
                self.plain(tokens.start..open);
                self.statement_block(word, open);
            }
            ("let" | "def" | "list", _) => self.definition(tokens),
            ("route", _) => self.parts(tokens, &["when", "where", "->"]),
            ("flow", _) => self.parts(tokens, &["keyword", "intent", "keywords", "examples", "->"]),
            _ => self.plain(tokens),
        }
    }

    /// Adds the layout events for `NAME = VALUE`, with or without a keyword before the name.
    pub(super) fn definition(&mut self, range: Range<usize>) {
        let is_equals =
            |at: &usize| self.gaps.kind(*at) == Some(TokenKind::Operator) && self.gaps.word(*at) == "=";
        let equals = self.outer(range.clone()).find(is_equals);
        match equals {
            Some(equals) => {
                self.plain(range.start..equals + 1);
                self.expression(equals + 1..range.end, true);
            }
            None => self.plain(range),
        }
    }

    /// Adds the layout events for a statement: its head, then the parts that begin with one of
    /// `words`. Each part has its own line unless the statement fits on one line.
    pub(super) fn parts(&mut self, range: Range<usize>, words: &[&str]) {
        // The name after the first word may be spelled like any of these words.
        let starts = |at: &usize| {
            let is_arrow = self.gaps.kind(*at) == Some(TokenKind::Arrow) && words.contains(&"->");
            // `intent examples […]` is one part.
            let goes_on = self.is_word(*at, &["examples", "keywords"]) && self.is_word(*at - 1, &["intent"]);
            *at > range.start + 1 && (is_arrow || self.is_word(*at, words) && !goes_on)
        };
        let starts = self.outer(range.clone()).filter(starts).collect();
        self.in_parts(range, starts, |builder, head| builder.part(head));
    }

    pub(super) fn in_parts(
        &mut self,
        range: Range<usize>,
        starts: Starts,
        head: impl FnOnce(&mut Self, Range<usize>),
    ) {
        let Some(&first) = starts.first() else { return head(self, range) };
        self.begin(false);
        self.keep(starts.iter().any(|start| self.begins_line(*start)));
        head(self, range.start..first);
        self.indent();
        let ends = starts.iter().skip(1).copied().chain([range.end]);
        for (start, end) in starts.iter().copied().zip(ends) {
            self.line(start, true, BreakKind::Inner);
            self.part(start..end);
        }
        self.dedent();
        self.end();
    }

    /// Adds the layout events for one part of a statement. The first word of the part decides its
    /// layout.
    pub(super) fn part(&mut self, range: Range<usize>) {
        let start = range.start;
        if self.is_word(start, &["where", "for"]) {
            self.locals(range);
        } else if self.is_word(start, &["else"]) {
            self.message(range);
        } else if self.is_word(start, &["when", "default", "clamp"]) {
            self.token(start);
            self.expression(start + 1..range.end, true);
        } else {
            self.plain(range);
        }
    }

    /// Adds the layout events for `where a = …, b = …` or `for "x", 5`.
    fn locals(&mut self, range: Range<usize>) {
        self.token(range.start);
        self.begin(false);
        self.indent();
        let locals = self.separated(range.start + 1..range.end);
        self.keep(locals.iter().skip(1).any(|local| self.begins_line(local.start)));
        for (number, local) in locals.into_iter().enumerate() {
            if number > 0 {
                self.line_before_name(local.start);
            }
            self.definition(local);
        }
        self.dedent();
        self.end();
    }

    // --- Conditions and values -------------------------------------------------------------------

    /// Adds the layout events for a condition or value. `hangs` is true if the expression does not
    /// begin a line; its continuation lines are then indented. A block of conditions at the end of
    /// the expression can be broken without breaking the text before the block.
    pub(super) fn expression(&mut self, range: Range<usize>, hangs: bool) {
        let joints = self.joints(range.clone());
        let (Some(&first), Some(&last)) = (joints.first(), joints.last()) else { return self.plain(range) };
        let block = self.block_at_end(last + 1..range.end);
        let chain_end = block.unwrap_or(range.end);
        let group = self.events.len();
        self.begin(false);
        self.keep(joints.iter().any(|joint| self.begins_line(*joint)));
        // The first operand may contain operators that bind more tightly. Its continuation lines
        // are then indented further than the lines after it. The lines of a bracket are not.
        let nested = hangs && !self.joints(range.start..first).is_empty();
        if nested {
            self.indent();
        }
        self.expression(range.start..first, true);
        if hangs && !nested {
            self.indent();
        }
        let ends = joints.iter().skip(1).copied().chain([chain_end]);
        for (joint, end) in joints.iter().copied().zip(ends) {
            self.line(joint, true, BreakKind::Inner);
            self.token(joint);
            self.expression(joint + 1..end, true);
        }
        if hangs {
            self.dedent();
        }
        self.end();
        if let Some(open) = block {
            self.events.extend(hangs.then_some(Event::IndentIf(group)));
            self.bracket(open);
            self.plain(self.closer(open) + 1..range.end);
            self.events.extend(hangs.then_some(Event::DedentIf(group)));
        }
    }

    /// Returns the opening brace of `any { … }`, `all { … }` or `none { … }` if the block is the
    /// whole operand. A trailing comma or semicolon is allowed.
    fn block_at_end(&self, operand: Range<usize>) -> Option<usize> {
        let open = operand.start + 1;
        let is_block = self.is_word(operand.start, &["any", "all", "none"])
            && open < operand.end
            && self.gaps.kind(open) == Some(TokenKind::OpenBrace);
        let close = if is_block { self.closer(open) } else { return None };
        let separates = matches!(self.gaps.kind(close + 1), Some(TokenKind::Comma | TokenKind::Semicolon));
        (close + 1 == operand.end || separates && close + 2 == operand.end).then_some(open)
    }

    /// Adds the layout events for tokens in sequence, with groups for brackets, quantifiers and
    /// `if`.
    pub(super) fn plain(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            if self.gaps.kind(at).is_some_and(TokenKind::opens) {
                self.bracket(at);
                at = self.closer(at) + 1;
            } else if let Some(colon) = self.quantifier_colon(at, range.end) {
                self.token(at);
                self.plain(at + 1..colon);
                return self.behind_colon(colon, range.end);
            } else if self.is_word(at, &["if"]) && self.choose(at..range.end) {
                return;
            } else {
                self.token(at);
                at += 1;
            }
        }
    }

    /// Adds the layout events for a colon and the condition after it. If the condition does not fit
    /// after the colon, the condition begins a new line.
    pub(super) fn behind_colon(&mut self, colon: usize, end: usize) {
        self.begin(false);
        self.keep(colon + 1 < end && self.begins_line(colon + 1));
        self.token(colon);
        self.indent();
        self.line_before_name(colon + 1);
        self.expression(colon + 1..end, false);
        self.dedent();
        self.end();
    }

    /// Adds the layout events for `if C then a else b`. Returns false if one of the words is
    /// missing.
    fn choose(&mut self, range: Range<usize>) -> bool {
        let (mut depth, mut words) = (0, Vec::new());
        for at in self.outer(range.start + 1..range.end) {
            match () {
                () if self.is_word(at, &["if"]) => depth += 1,
                () if depth == 0 && self.is_word(at, &["then", "else"]) => words.push(at),
                () if self.is_word(at, &["else"]) => depth -= 1,
                () => {}
            }
        }
        let [then, other] = words[..] else { return false };
        self.begin(false);
        self.keep(self.begins_line(then) || self.begins_line(other));
        self.token(range.start);
        self.expression(range.start + 1..then, true);
        self.indent();
        for (word, end) in [(then, other), (other, range.end)] {
            self.line(word, true, BreakKind::Inner);
            self.token(word);
            self.expression(word + 1..end, true);
        }
        self.dedent();
        self.end();
        true
    }
}
