//! Formats only the lines that an author selected. The formatter handles whole files, so this
//! module takes the selected lines from its result.

use super::{Analysis, Edit};
use rulec_base::span::Span;
use rulec_syntax::format::{MeaningChanged, format};
use rulec_syntax::lex::{self, Token, TokenKind};

impl Analysis {
    /// Returns the edit that formats the lines of a range. `None` if the lines are already
    /// formatted.
    ///
    /// # Errors
    /// If the formatter would change the meaning of the file.
    pub fn format_range(&self, range: Span) -> Result<Option<Edit>, MeaningChanged> {
        let original = self.text(range.file);
        let formatted = format(original)?.text;
        let (old, new) = (tokens_without_space(original), tokens_without_space(&formatted));
        let line_start = original.get(..range.start as usize).and_then(|text| text.rfind('\n'));
        let start = line_start.map_or(0, |newline| newline as u32 + 1);
        let first = old.partition_point(|token| token.end <= start);
        // If the range ends at the start of a line, that line does not belong to the range.
        let last = range.end.saturating_sub(1).max(start);
        let rest = original.get(last as usize..).unwrap_or_default();
        let line_end = last + rest.find('\n').unwrap_or(rest.len()) as u32;
        let end = old.partition_point(|token| token.start < line_end);
        // The formatter changes only white space, so tokens with the same index correspond to each
        // other.
        if first >= end || old.len() != new.len() {
            return Ok(None);
        }
        let (old_start, old_end) = (start_including_indent(original, old[first]), old[end - 1].end);
        let (new_start, new_end) = (start_including_indent(&formatted, new[first]), new[end - 1].end);
        let replacement = &formatted[new_start as usize..new_end as usize];
        let span = Span { file: range.file, start: old_start, end: old_end };
        let is_formatted = original[span.range()] == *replacement;
        Ok((!is_formatted).then(|| Edit { span, replacement: replacement.to_owned() }))
    }
}

/// Returns all tokens of a text except white space; comments are included.
fn tokens_without_space(text: &str) -> Vec<Token> {
    let is_space = |kind| matches!(kind, TokenKind::White | TokenKind::Newline | TokenKind::Bom);
    lex::tokenize(text, 0).filter(|token| !is_space(token.kind)).collect()
}

/// Returns the byte offset of the start of a token's line if only white space precedes the token in
/// this line. Otherwise returns the start of the token.
fn start_including_indent(text: &str, token: Token) -> u32 {
    let line = text[..token.start as usize].rfind('\n').map_or(0, |newline| newline + 1);
    let is_first = text[line..token.start as usize].trim().is_empty();
    if is_first { line as u32 } else { token.start }
}
