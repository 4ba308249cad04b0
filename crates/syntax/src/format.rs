//! The formatter. It applies one fixed style to a rules file, so that changes show up as small
//! diffs. It changes only white space. The parser supplies the tokens, and which tokens form which
//! statement, so the formatter needs no grammar of its own. Statements that do not parse keep their
//! text.
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
use gap::{BreakKind, TokenGaps};
use layout::LayoutWriter;
use rulec_base::diag::Message;
use rulec_base::message;
use std::ops::Range;

/// Maximum number of columns per line. Only text that cannot be broken may be longer.
const MAX_LINE_WIDTH: usize = 100;
/// Number of columns by which each nesting level of the formatted text is indented.
pub const INDENT_WIDTH: usize = 2;

/// The formatted text of a rules file, and the statements that were left as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormattedFile {
    /// The whole file after formatting.
    pub text: String,
    /// The line of each statement that was left unchanged because of errors. Lines count from 1 in
    /// the original text.
    pub unformatted_lines: Vec<usize>,
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

/// Formats a rules file. Formatting the result again changes nothing. A file with statements that
/// do not parse stays unchanged if formatting would change where statements begin, or which errors
/// are reported.
///
/// # Errors
///
/// Returns an error if the formatted text would have another meaning, which is a bug in the
/// formatter.
pub fn format(text: &str) -> Result<FormattedFile, MeaningChanged> {
    let original_outline = outline(text);
    let mut file = FileFormatter {
        gaps: TokenGaps::new(text, &original_outline.tokens),
        outline: &original_outline,
        unparsed_statements: Vec::new(),
    };
    let mut writer = LayoutWriter::new(text);
    let next = file.write_statements(&original_outline.statements, 0, 0, &mut writer);
    let next = file.write_loose_tokens(next..original_outline.tokens.len(), 0, &mut writer);
    writer.write_gap(&file.gaps, next, 0, BreakKind::EndOfFile);
    let formatted = writer.finish();
    let error_lines = file
        .unparsed_statements
        .iter()
        .map(|token| line_number(text, &original_outline.tokens, *token))
        .collect();
    match first_difference(text, &original_outline, &formatted) {
        None => Ok(FormattedFile { text: formatted, unformatted_lines: error_lines }),
        // With unclosed brackets, columns decide where statements begin. In a statement of another
        // language, columns decide which lines belong to it. Formatting changes columns.
        Some(_) if !error_lines.is_empty() => {
            Ok(FormattedFile { text: text.to_owned(), unformatted_lines: error_lines })
        }
        Some(token) => Err(MeaningChanged { line: line_number(text, &original_outline.tokens, token) }),
    }
}

fn line_number(text: &str, tokens: &[Token], token: usize) -> usize {
    let end = tokens.get(token).map_or(text.len(), |token| token.start as usize);
    memchr::memchr_iter(b'\n', &text.as_bytes()[..end]).count() + 1
}

/// Compares the tokens, comments, statements and errors of the original and the formatted text.
/// Returns the index of a token of the original near the first difference. `None` if there is no
/// difference.
fn first_difference(text: &str, original: &Outline, formatted: &str) -> Option<usize> {
    let formatted_outline = outline(formatted);
    let (old, new) = (&original.tokens, &formatted_outline.tokens);
    let is_same =
        |(old, new): (&Token, &Token)| old.kind == new.kind && old.text(text) == new.text(formatted);
    if let Some(index) = old.iter().zip(new).position(|pair| !is_same(pair)) {
        return Some(index);
    }
    if old.len() != new.len() {
        return Some(old.len().min(new.len()));
    }
    let (old_gaps, new_gaps) = (TokenGaps::new(text, old), TokenGaps::new(formatted, new));
    if let Some(index) =
        (0..=old.len()).find(|next| old_gaps.comments_before(*next) != new_gaps.comments_before(*next))
    {
        return Some(index);
    }
    let statements = original.statements.iter().zip(&formatted_outline.statements);
    let changed_start = statements.clone().find(|(old, new)| old != new).map(|(old, _)| old.tokens.start);
    let differs_elsewhere = original.statements.len() != formatted_outline.statements.len()
        || original.item_starts != formatted_outline.item_starts
        || original.errors != formatted_outline.errors;
    changed_start.or(differs_elsewhere.then_some(0))
}

struct FileFormatter<'a> {
    gaps: TokenGaps<'a>,
    outline: &'a Outline,
    /// The indices of the first tokens of all statements that stay unformatted because of errors.
    unparsed_statements: Vec<usize>,
}

impl FileFormatter<'_> {
    /// Writes consecutive statements, indented by `indent` columns, and the loose tokens between
    /// them (tokens that belong to no statement). `next` is the index of the first token that is
    /// not yet written. Returns the index of the first token after the statements.
    fn write_statements(
        &mut self,
        statements: &[OutlineStatement],
        mut next: usize,
        indent: usize,
        writer: &mut LayoutWriter<'_>,
    ) -> usize {
        let first_token = next;
        for statement in statements {
            next = self.write_loose_tokens(next..statement.tokens.start, indent, writer);
            let start = statement.tokens.start;
            if !statement.parsed_without_errors && start > 0 && self.gaps.line_breaks_before(start) == 0 {
                // The statement follows other tokens on its line. Moved to the start of a line, it
                // could parse differently, so the text before it stays unchanged.
                writer.write_gap_unchanged(&self.gaps, start);
            } else {
                let break_kind = if next == first_token && indent > 0 {
                    BreakKind::AfterOpening
                } else {
                    BreakKind::BetweenItems
                };
                writer.write_gap(&self.gaps, start, indent, break_kind);
            }
            next = self.write_statement(statement, indent, writer);
        }
        next
    }

    fn write_statement(
        &mut self,
        statement: &OutlineStatement,
        indent: usize,
        writer: &mut LayoutWriter<'_>,
    ) -> usize {
        let end = statement.end();
        if !statement.parsed_without_errors {
            let start = statement.tokens.start;
            self.unparsed_statements.push(start);
            writer.write_moved_statement(
                &self.gaps,
                start..end,
                self.gaps.start_column(start).unwrap_or(indent),
                indent,
            );
            return end;
        }
        let events = build::build_statement_events(
            &self.gaps,
            statement.keyword,
            &self.outline.item_starts,
            statement.tokens.clone(),
        );
        writer.write_events(&self.gaps, &events, indent);
        let Some((inner, Some(close))) = &statement.table_body else { return end };
        let open = statement.tokens.end;
        if inner.is_empty() && open + 1 == *close && !self.gaps.has_comment_before(*close) {
            writer.write_events(&self.gaps, &build::build_empty_braces_events(open), indent);
            return end;
        }
        writer.write_events(&self.gaps, &build::build_opening_brace_events(open), indent);
        let next = self.write_statements(inner, open + 1, indent + INDENT_WIDTH, writer);
        let next = self.write_loose_tokens(next..*close, indent + INDENT_WIDTH, writer);
        writer.write_gap(&self.gaps, next, indent, BreakKind::BeforeClosing);
        writer.write_token(&self.gaps, *close);
        end
    }

    /// Writes tokens that belong to no statement, and returns the index after them. A token stays
    /// on the line of the previous token, unless the author began a line with it. Such a line is
    /// indented by `indent` columns.
    fn write_loose_tokens(
        &self,
        tokens: Range<usize>,
        indent: usize,
        writer: &mut LayoutWriter<'_>,
    ) -> usize {
        let end = tokens.end;
        for token in tokens {
            if token == 0 || self.gaps.line_breaks_before(token) > 0 {
                writer.write_gap(&self.gaps, token, indent, BreakKind::BetweenItems);
            } else {
                writer.write_gap_unchanged(&self.gaps, token);
            }
            writer.write_token(&self.gaps, token);
        }
        end
    }
}
