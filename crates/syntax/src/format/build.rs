//! A statement as events: which of its tokens form a group, and where a line may break. A condition breaks before the
//! words that join it, the loosest first; a route before `when`, `where` and `->`.

use super::gap::{Gaps, Place};
use super::layout::Event;
use crate::lex::TokenKind;
use crate::parse::may_begin;
use std::collections::HashSet;
use std::ops::Range;

/// The events of a statement; of a table, of its head.
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

/// ` {` behind a table's head.
pub(super) fn opening(brace: usize) -> Vec<Event> {
    vec![Event::Glue { next: brace, space: true }, Event::Token(brace)]
}

/// ` {}` behind a table's head.
pub(super) fn empty_braces(brace: usize) -> Vec<Event> {
    [opening(brace), vec![Event::Token(brace + 1)]].concat()
}

/// For each token from the first one on, the closing bracket that belongs to it, if it opens one.
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

/// The tokens at which the parts of a statement or item begin.
pub(super) type Starts = Vec<usize>;

pub(super) struct Builder<'a> {
    pub(super) gaps: &'a Gaps<'a>,
    pub(super) items: &'a HashSet<usize>,
    /// A bracket begins a list here, and never an index.
    lists: bool,
    /// Braces hold the fields of a type.
    pub(super) types: bool,
    events: Vec<Event>,
    /// The groups that are open, as the events where they begin.
    open: Vec<usize>,
    /// The gap before the next token is not written yet.
    glued: bool,
    start: usize,
    closers: Vec<usize>,
}

impl Builder<'_> {
    // --- Events ----------------------------------------------------------------------------------

    pub(super) fn begin(&mut self, fills: bool) {
        // The gap before a group lies outside of it.
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

    /// No group that is open stands on one line.
    pub(super) fn force(&mut self) {
        for begin in &self.open {
            if let Some(Event::Begin { broken, .. }) = self.events.get_mut(*begin) {
                *broken = true;
            }
        }
    }

    /// Keeps groups over several lines if the author has a line begin at that token.
    pub(super) fn keep(&mut self, broken: bool) {
        if broken {
            self.force();
        }
    }

    /// True if the author has a line begin at that token.
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

    pub(super) fn line(&mut self, next: usize, space: bool, place: Place) {
        self.events.push(Event::Break { next, space, place });
        let blank = place == Place::Between && self.gaps.lines(next) > 1;
        self.keep(blank || self.gaps.has_comment(next));
        self.glued = false;
    }

    /// A break that may not be where it would make a name the start of a statement.
    pub(super) fn line_before_name(&mut self, next: usize) {
        let starts = self.gaps.kind(next) == Some(TokenKind::Word) && may_begin(self.gaps.word(next));
        if !starts {
            self.line(next, true, Place::Inner);
        }
    }

    // --- Looking ---------------------------------------------------------------------------------

    /// True for the bracket of `list[0]`.
    pub(super) fn is_index(&self, open: usize) -> bool {
        !self.gaps.has_space(open, self.lists)
            && self.gaps.kind(open - 1).is_some_and(TokenKind::ends_operand)
    }

    pub(super) fn closer(&self, open: usize) -> usize {
        self.closers[open - self.start]
    }

    /// The tokens of a range that stand in no bracket within it; of a bracket its opening one.
    pub(super) fn outer(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let this = Some(at).filter(|at| *at < range.end)?;
            let opens = self.gaps.kind(this).is_some_and(TokenKind::opens);
            at = if opens { self.closer(this) + 1 } else { this + 1 };
            Some(this)
        })
    }

    /// Cuts a range behind each comma and semicolon outside brackets.
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

    /// True at `any x in …: …` and its like, or `if … then … else …`, which reach to the end.
    fn reaches_far(&self, at: usize, end: usize) -> bool {
        self.is_word(at, &["if"]) || self.quantifier_colon(at, end).is_some()
    }

    fn quantifier_colon(&self, at: usize, end: usize) -> Option<usize> {
        let is_one =
            self.is_word(at, &["any", "all", "count"]) && at + 2 < end && self.is_word(at + 2, &["in"]);
        let is_colon = |at: &usize| self.gaps.kind(*at) == Some(TokenKind::Colon);
        if is_one { self.outer(at + 3..end).find(is_colon) } else { None }
    }

    /// The places where a condition or value is joined by what binds it loosest.
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

    /// `let NAME = VALUE` and its like.
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

    /// A head, and parts that begin with these words, each on a line of its own if not all are on one.
    pub(super) fn parts(&mut self, range: Range<usize>, words: &[&str]) {
        // The name behind the first word may be spelled like any of them.
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
            self.line(start, true, Place::Inner);
            self.part(start..end);
        }
        self.dedent();
        self.end();
    }

    /// A part of a statement, by the word that it begins with.
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

    /// `where a = …, b = …`, `for "x", 5`
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

    /// A condition or value; `hangs` when it does not begin a line, so that its further lines stand further in. The
    /// block of conditions that it may end with is broken without breaking what stands before it.
    pub(super) fn expression(&mut self, range: Range<usize>, hangs: bool) {
        let joints = self.joints(range.clone());
        let (Some(&first), Some(&last)) = (joints.first(), joints.last()) else { return self.plain(range) };
        let block = self.block_at_end(last + 1..range.end);
        let chain_end = block.unwrap_or(range.end);
        let group = self.events.len();
        self.begin(false);
        self.keep(joints.iter().any(|joint| self.begins_line(*joint)));
        // What belongs together more closely stands further in than what follows; a bracket does not.
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
            self.line(joint, true, Place::Inner);
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

    /// The brace of `any { … }` or its like, if that is all of an operand but what parts it from the next.
    fn block_at_end(&self, operand: Range<usize>) -> Option<usize> {
        let open = operand.start + 1;
        let is_block = self.is_word(operand.start, &["any", "all", "none"])
            && open < operand.end
            && self.gaps.kind(open) == Some(TokenKind::OpenBrace);
        let close = if is_block { self.closer(open) } else { return None };
        let separates = matches!(self.gaps.kind(close + 1), Some(TokenKind::Comma | TokenKind::Semicolon));
        (close + 1 == operand.end || separates && close + 2 == operand.end).then_some(open)
    }

    /// Tokens one behind the other, with the groups that brackets, quantifiers and `if` make.
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

    /// A colon, and a condition that begins a line if it does not fit behind it.
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

    /// `if C then a else b`; false when it lacks one of the words.
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
            self.line(word, true, Place::Inner);
            self.token(word);
            self.expression(word + 1..end, true);
        }
        self.dedent();
        self.end();
        true
    }
}
