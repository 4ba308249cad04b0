//! The formatter. It applies one fixed style to a rules file, so that changes show up as small
//! diffs. It changes only white space. It uses the lossless tokens and the outline of the parser,
//! so it needs no grammar of its own. Statements that do not parse keep their text.
//!
//! | module | contents |
//! |---|---|
//! | `gap` | the text between two tokens: spaces, line breaks, comments |
//! | `build` | converts a statement into events: tokens, possible line breaks, groups |
//! | `block` | brackets and their contents |
//! | `item` | the items of payloads and groups |
//! | `layout` | decides which groups fit on one line, and writes the lines |
//!
//! The style indents two spaces per level and limits lines to 100 columns. A *group* is a part of a
//! statement that is either written on one line or broken at all of its possible line breaks. A
//! group that the author wrote over several lines stays broken. If a group and a group inside it do
//! not fit on the line, the outer group is broken first. In a list without nested brackets, each
//! line takes as many elements as fit.

mod block;
mod build;
mod gap;
mod item;
mod layout;
#[cfg(test)]
mod tests;

use super::lex::Token;
use super::parse::{Outline, OutlineStatement, outline};
use gap::{BreakKind, Gaps};
use layout::LayoutWriter;
use rulec_base::diag::Message;
use rulec_base::message;
use std::ops::Range;

/// Maximum columns per line. Only text that cannot be broken exceeds it.
const MAX_LINE_WIDTH: usize = 100;
/// Number of columns by which each level is indented.
const INDENT_WIDTH: usize = 2;

/// The result of formatting a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatted {
    /// The formatted text.
    pub text: String,
    /// Line numbers (from 1) in the old text at which statements with errors begin. These
    /// statements keep their text.
    pub left: Vec<usize>,
}

/// An internal error of the formatter: the formatted text would have a different meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct MeaningChanged {
    /// Line number in the original text, from 1, near the first difference.
    pub line: usize,
}

impl MeaningChanged {
    /// Returns the error as a message that can be localized.
    pub fn to_message(&self) -> Message {
        message!("formatting would change the meaning at line {}", self.line)
    }
}

/// Formats a rules file. Formatting the result again changes nothing. If a file contains statements
/// that do not parse, and formatting would change where statements begin, the whole file stays
/// unchanged.
pub fn format(text: &str) -> Result<Formatted, MeaningChanged> {
    let before = outline(text);
    let mut file =
        FileFormatter { gaps: Gaps::new(text, &before.tokens), outline: &before, left: Vec::new() };
    let mut writer = LayoutWriter::new(text);
    let next = file.write_statements(&before.statements, 0, 0, &mut writer);
    let next = file.write_loose_tokens(next..before.tokens.len(), 0, &mut writer);
    writer.write_gap(&file.gaps, next, 0, BreakKind::End);
    let formatted = writer.finish();
    let left = file.left.iter().map(|token| line_number(text, &before.tokens, *token)).collect();
    match first_difference(text, &before, &formatted) {
        None => Ok(Formatted { text: formatted, left }),
        // With unclosed brackets, columns decide where statements begin, and formatting changes
        // columns.
        Some(_) if !left.is_empty() => Ok(Formatted { text: text.to_owned(), left }),
        Some(token) => Err(MeaningChanged { line: line_number(text, &before.tokens, token) }),
    }
}

fn line_number(text: &str, tokens: &[Token], token: usize) -> usize {
    let until = tokens.get(token).map_or(text.len(), |token| token.start as usize);
    memchr::memchr_iter(b'\n', &text.as_bytes()[..until]).count() + 1
}

/// Compares the tokens, comments and statements of the original and the formatted text. Returns the
/// index of a token near the first difference, or `None` if they are equal.
fn first_difference(text: &str, before: &Outline, formatted: &str) -> Option<usize> {
    let after = outline(formatted);
    let (old, new) = (&before.tokens, &after.tokens);
    let same = |(old, new): (&Token, &Token)| old.kind == new.kind && old.text(text) == new.text(formatted);
    if let Some(at) = old.iter().zip(new).position(|pair| !same(pair)) {
        return Some(at);
    }
    if old.len() != new.len() {
        return Some(old.len().min(new.len()));
    }
    let (comments, others) = (Gaps::new(text, old), Gaps::new(formatted, new));
    if let Some(at) =
        (0..=old.len()).find(|next| comments.comments_before(*next) != others.comments_before(*next))
    {
        return Some(at);
    }
    let statements = before.statements.iter().zip(&after.statements);
    let moved = statements.clone().find(|(old, new)| old != new).map(|(old, _)| old.tokens.start);
    let fewer = before.statements.len() != after.statements.len() || before.items != after.items;
    moved.or(fewer.then_some(0))
}

struct FileFormatter<'a> {
    gaps: Gaps<'a>,
    outline: &'a Outline,
    /// Indices of the first tokens of the statements that keep their text because of errors.
    left: Vec<usize>,
}

impl FileFormatter<'_> {
    /// Writes consecutive statements, and the tokens between them that belong to no statement.
    /// `next` is the first token that has not been written. Returns the index of the first token
    /// after the statements.
    fn write_statements(
        &mut self,
        pieces: &[OutlineStatement],
        mut next: usize,
        indent: usize,
        writer: &mut LayoutWriter<'_>,
    ) -> usize {
        let from = next;
        for piece in pieces {
            next = self.write_loose_tokens(next..piece.tokens.start, indent, writer);
            let start = piece.tokens.start;
            if !piece.is_sound && start > 0 && self.gaps.line_breaks_before(start) == 0 {
                // The statement follows other tokens on its line. It could parse differently at the
                // start of a line.
                writer.write_gap_unchanged(&self.gaps, start);
            } else {
                let place = if next == from && indent > 0 { BreakKind::First } else { BreakKind::Between };
                writer.write_gap(&self.gaps, start, indent, place);
            }
            next = self.write_statement(piece, indent, writer);
        }
        next
    }

    fn write_statement(
        &mut self,
        piece: &OutlineStatement,
        indent: usize,
        writer: &mut LayoutWriter<'_>,
    ) -> usize {
        let end = piece.end();
        if !piece.is_sound {
            let start = piece.tokens.start;
            self.left.push(start);
            writer.write_moved_statement(
                &self.gaps,
                start..end,
                self.gaps.start_column(start).unwrap_or(indent),
                indent,
            );
            return end;
        }
        let events =
            build::statement_events(&self.gaps, piece.word, &self.outline.items, piece.tokens.clone());
        writer.write_events(&self.gaps, &events, indent);
        let Some((inner, Some(close))) = &piece.table else { return end };
        let open = piece.tokens.end;
        if inner.is_empty() && open + 1 == *close && !self.gaps.has_comment_before(*close) {
            writer.write_events(&self.gaps, &build::empty_braces_events(open), indent);
            return end;
        }
        writer.write_events(&self.gaps, &build::opening_brace_events(open), indent);
        let next = self.write_statements(inner, open + 1, indent + INDENT_WIDTH, writer);
        let next = self.write_loose_tokens(next..*close, indent + INDENT_WIDTH, writer);
        writer.write_gap(&self.gaps, next, indent, BreakKind::Last);
        writer.write_token(&self.gaps, *close);
        end
    }

    /// Writes tokens that belong to no statement, and returns the end of their range. A token stays
    /// on the line of the previous token, unless the author began a line with it.
    fn write_loose_tokens(
        &self,
        tokens: Range<usize>,
        indent: usize,
        writer: &mut LayoutWriter<'_>,
    ) -> usize {
        let end = tokens.end;
        for token in tokens {
            if token == 0 || self.gaps.line_breaks_before(token) > 0 {
                writer.write_gap(&self.gaps, token, indent, BreakKind::Between);
            } else {
                writer.write_gap_unchanged(&self.gaps, token);
            }
            writer.write_token(&self.gaps, token);
        }
        end
    }
}
