//! Converts layout events into lines. A group of tokens that fits on one line is written on one
//! line. In any other group, each possible break becomes a line break. Only a filling group
//! differs: it breaks only before tokens that do not fit on the current line. The layout of a group
//! is decided before the layout of the groups inside it.

use super::gap::{BreakKind, TokenGaps, bom_len};
use super::{INDENT_WIDTH, MAX_LINE_WIDTH};
use crate::lex::{self, TokenKind};
use crate::parse::starts_statement;
use std::ops::Range;

/// A layout event: an instruction for writing a token, a gap between tokens, or the indentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LayoutEvent {
    /// Writes the token with this index.
    Token(usize),
    /// The gap before the token `next_token`: one space if `has_space` is true, otherwise nothing.
    /// If the gap contains a comment, the line is broken.
    Glue {
        next_token: usize,
        has_space: bool,
    },
    /// The gap before the token `next_token`, with a line break if the enclosing group is broken.
    /// Without a line break, the gap is one space if `has_space` is true, otherwise nothing.
    Break {
        next_token: usize,
        has_space: bool,
        kind: BreakKind,
    },
    /// The start of a group of tokens. A group with `is_broken` is always written on several lines.
    /// A group that `fills` breaks only before tokens that do not fit on the current line.
    Begin {
        fills: bool,
        is_broken: bool,
    },
    End,
    Indent,
    Dedent,
    /// Indents the following events one level further, if the group whose `Begin` event has this
    /// index is written over several lines. The indentation ends at the `DedentIf` event with the
    /// same index.
    IndentIf(usize),
    DedentIf(usize),
}

#[derive(Clone, Copy, PartialEq)]
enum GroupMode {
    Flat,
    Broken,
    Fills,
}

/// The output of the formatter: the text written so far and its current line.
pub(super) struct LayoutWriter<'a> {
    output: String,
    column: usize,
    newline: &'a str,
    /// Length in bytes of the byte order mark at the start of the text, or 0.
    bom_length: usize,
}

impl<'a> LayoutWriter<'a> {
    /// Creates an empty output, with the byte order mark if the old text has one. The output uses
    /// the first line ending of the old text that is not inside a token.
    pub(super) fn new(text: &'a str) -> Self {
        let bom_length = bom_len(text);
        let first_newline = lex::tokenize(text, 0).find(|token| token.kind == TokenKind::Newline);
        let ends_with_cr =
            first_newline.is_some_and(|newline| text[..newline.start as usize].ends_with('\r'));
        let mut out = String::with_capacity(text.len() + text.len() / 8);
        out.push_str(&text[..bom_length]);
        LayoutWriter { output: out, column: 0, newline: if ends_with_cr { "\r\n" } else { "\n" }, bom_length }
    }

    pub(super) fn finish(self) -> String {
        self.output
    }

    fn is_empty(&self) -> bool {
        self.output.len() == self.bom_length
    }

    fn push_text(&mut self, text: &str, width: usize) {
        self.output.push_str(text);
        self.column += width;
    }

    fn begin_line(&mut self, blank: bool, indent: usize) {
        if !self.is_empty() {
            self.output.push_str(self.newline);
            if blank {
                self.output.push_str(self.newline);
            }
        }
        self.output.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    /// Appends the text of a token to the current line.
    pub(super) fn write_token(&mut self, gaps: &TokenGaps<'_>, token: usize) {
        self.push_text(gaps.token_text(token), 0);
    }

    /// Writes a statement that does not parse, moved from column `from_column` to column
    /// `to_column`. All of its lines move by the same distance, so that they keep their relative
    /// indentation. A move to the left is shortened for all lines, so that no later line would
    /// start before column 0.
    ///
    /// One exception: a later line that would begin a statement at its new column is indented one
    /// column more than `to_column`.
    pub(super) fn write_moved_statement(
        &mut self,
        gaps: &TokenGaps<'_>,
        tokens: Range<usize>,
        from_column: usize,
        to_column: usize,
    ) {
        let later_tokens = tokens.start + 1..tokens.end;
        let least_indent =
            later_tokens.filter_map(|token| gaps.start_column(token)).min().unwrap_or(from_column);
        let (shift_left, shift_right) =
            (from_column.saturating_sub(to_column).min(least_indent), to_column.saturating_sub(from_column));
        for token in tokens.clone() {
            if token > tokens.start {
                self.write_gap_unchanged(gaps, token);
                if let Some(old_column) = gaps.start_column(token) {
                    let shifted_column = old_column + shift_right - shift_left;
                    let would_begin_statement = shifted_column <= to_column
                        && (to_column, old_column) != (0, 0)
                        && starts_statement(gaps.token_text(token));
                    let new_column = if would_begin_statement { to_column + 1 } else { shifted_column };
                    let white_length = self.output.len() - self.output.trim_end_matches([' ', '\t']).len();
                    self.output.truncate(
                        self.output.len() - white_length.min(old_column.saturating_sub(new_column)),
                    );
                    self.output.extend(std::iter::repeat_n(' ', new_column.saturating_sub(old_column)));
                }
            }
            self.write_token(gaps, token);
        }
    }

    /// Writes the gap before the token `next` as the author wrote it. Only its line endings change:
    /// they become the line ending of the output.
    pub(super) fn write_gap_unchanged(&mut self, gaps: &TokenGaps<'_>, next: usize) {
        let mut lines = gaps.gap_text(next).split('\n').peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_none() {
                self.push_text(line, 0);
            } else {
                // The loop removes every `\r` at the end of the line. If one remained, the
                // formatter would take it for a part of the line ending when it reads the result
                // again.
                self.push_text(line.trim_end_matches('\r'), 0);
                self.push_text(self.newline, 0);
            }
        }
    }

    /// Breaks the line before the token `next`, and indents the new line by `indent` columns. A
    /// comment in the gap stays on the line of the previous token if the author wrote it there. Any
    /// other comment gets its own line.
    pub(super) fn write_gap(&mut self, gaps: &TokenGaps<'_>, next: usize, indent: usize, kind: BreakKind) {
        let gap = gaps.gap_text(next);
        let comment_indent = if kind == BreakKind::BeforeClosing { indent + INDENT_WIDTH } else { indent };
        let (mut lines, mut is_first) = (0, true);
        for token in lex::tokenize(gap, 0) {
            match token.kind {
                TokenKind::White | TokenKind::Bom => {}
                TokenKind::Newline => lines += 1,
                _ if lines == 0 && next > 0 && is_first => {
                    // The previous token, such as an unclosed string, may have ended at a carriage
                    // return. The gap keeps its `\r`. Without the `\r`, the token would extend over
                    // the comment.
                    let is_unclosed = gaps.token_kind(next - 1).is_some_and(TokenKind::is_unreadable);
                    // `//` next to a token is an error, and may belong to an address that its
                    // author did not quote: `https://example.com`.
                    let is_address = token.kind == TokenKind::SlashComment && token.start == 0;
                    let keeps_space = is_unclosed || is_address;
                    self.output.push_str(if keeps_space { &gap[..token.start as usize] } else { "  " });
                    self.output.push_str(token.text(gap).trim_end());
                    is_first = false;
                }
                _ => {
                    let has_blank_line = lines > 1
                        && kind != BreakKind::WithinStatement
                        && !(is_first && kind == BreakKind::AfterOpening);
                    self.begin_line(has_blank_line, comment_indent);
                    self.output.push_str(token.text(gap).trim_end());
                    (lines, is_first) = (0, false);
                }
            }
        }
        match kind {
            BreakKind::EndOfFile if self.is_empty() => {}
            BreakKind::EndOfFile => self.output.push_str(self.newline),
            BreakKind::BetweenItems => self.begin_line(lines > 1, indent),
            BreakKind::AfterOpening => self.begin_line(lines > 1 && !is_first, indent),
            BreakKind::BeforeClosing | BreakKind::WithinStatement => self.begin_line(false, indent),
        }
    }

    /// Writes a statement, or a part of one, at the current position of the output. `events`
    /// describes its tokens, groups and possible line breaks. `base` is the indentation of the
    /// statement.
    pub(super) fn write_events(&mut self, gaps: &TokenGaps<'_>, events: &[LayoutEvent], base: usize) {
        let widths = EventWidths::new(gaps, events);
        let (mut modes, mut indent) = (vec![GroupMode::Broken], base);
        let mut several_lines = vec![false; events.len()];
        for (index, event) in events.iter().enumerate() {
            let mode = modes.last().copied().unwrap_or(GroupMode::Broken);
            match *event {
                LayoutEvent::Token(token) => {
                    let (first, last) = gaps.first_and_last_line_width(token);
                    self.push_text(gaps.token_text(token), first);
                    self.column = last.unwrap_or(self.column);
                }
                LayoutEvent::Glue { next_token: next, .. } if gaps.has_comment_before(next) => {
                    self.write_gap(gaps, next, indent + INDENT_WIDTH, BreakKind::WithinStatement);
                }
                LayoutEvent::Glue { has_space: space, .. } => {
                    self.push_text(if space { " " } else { "" }, usize::from(space))
                }
                LayoutEvent::Break { next_token: next, has_space: space, kind } => {
                    let stays_on_line = match mode {
                        GroupMode::Flat => true,
                        GroupMode::Broken => false,
                        GroupMode::Fills => {
                            let has_blank_line =
                                kind == BreakKind::BetweenItems && gaps.line_breaks_before(next) > 1;
                            !has_blank_line
                                && !gaps.has_comment_before(next)
                                && self.column + widths.width_until_break(index) <= MAX_LINE_WIDTH
                        }
                    };
                    match stays_on_line {
                        true => self.push_text(if space { " " } else { "" }, usize::from(space)),
                        false => self.write_gap(gaps, next, indent, kind),
                    }
                }
                LayoutEvent::Begin { fills, is_broken: broken } => {
                    let fits_on_line = !broken && self.column + widths.group_width(index) <= MAX_LINE_WIDTH;
                    let mode = match (mode, fits_on_line, fills) {
                        (GroupMode::Flat, ..) | (_, true, _) => GroupMode::Flat,
                        (_, false, true) => GroupMode::Fills,
                        (_, false, false) => GroupMode::Broken,
                    };
                    several_lines[index] = mode != GroupMode::Flat;
                    modes.push(mode);
                }
                LayoutEvent::End => drop(modes.pop()),
                LayoutEvent::Indent => indent += INDENT_WIDTH,
                LayoutEvent::Dedent => indent -= INDENT_WIDTH,
                LayoutEvent::IndentIf(group) => indent += if several_lines[group] { INDENT_WIDTH } else { 0 },
                LayoutEvent::DedentIf(group) => indent -= if several_lines[group] { INDENT_WIDTH } else { 0 },
            }
        }
    }
}

/// The widths of layout events, computed as if all of them were on one line.
struct EventWidths {
    /// For each event, the width in columns of all events before it. One more entry at the end is
    /// the total width.
    widths_before: Vec<usize>,
    /// For each event, the index of the first possible break at or after the event; the number of
    /// events if no break follows.
    next_break: Vec<usize>,
    /// For each `Begin` event, the index of its `End` event. The entries of all other events have
    /// no meaning.
    group_ends: Vec<usize>,
}

impl EventWidths {
    fn new(gaps: &TokenGaps<'_>, events: &[LayoutEvent]) -> Self {
        let (mut widths_before, mut group_ends, mut open_groups) =
            (vec![0], vec![events.len(); events.len()], Vec::new());
        let mut columns = 0;
        for (index, event) in events.iter().enumerate() {
            columns += match *event {
                LayoutEvent::Token(token) => gaps.first_and_last_line_width(token).0,
                LayoutEvent::Glue { has_space: space, .. } | LayoutEvent::Break { has_space: space, .. } => {
                    usize::from(space)
                }
                _ => 0,
            };
            widths_before.push(columns);
            match event {
                LayoutEvent::Begin { .. } => open_groups.push(index),
                LayoutEvent::End => {
                    if let Some(start) = open_groups.pop() {
                        group_ends[start] = index;
                    }
                }
                _ => {}
            }
        }
        let mut next_break = vec![events.len(); events.len() + 1];
        for index in (0..events.len()).rev() {
            let is_break = matches!(events[index], LayoutEvent::Break { .. });
            next_break[index] = if is_break { index } else { next_break[index + 1] };
        }
        EventWidths { widths_before, next_break, group_ends }
    }

    /// Returns the width in columns of the group that begins at the event `begin`. The width
    /// includes the text after the group, up to the next possible break.
    fn group_width(&self, begin: usize) -> usize {
        self.widths_before[self.next_break[self.group_ends[begin]]] - self.widths_before[begin]
    }

    /// Returns the width in columns of the text from the possible break at the event `index` to the
    /// next possible break.
    fn width_until_break(&self, index: usize) -> usize {
        self.widths_before[self.next_break[index + 1]] - self.widths_before[index]
    }
}
