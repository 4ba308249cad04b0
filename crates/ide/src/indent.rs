//! The indentation of a line while it is written. The formatter knows the indentation if the
//! statement of the line is complete. Otherwise the line is indented by two spaces for each line
//! with open brackets, and by two more if it continues a statement.

use super::actions::statement_start;
use super::hover::{open_brackets, significant_tokens};
use super::refactor::start_of_line;
use super::{Analysis, Edit};
use rulec_base::span::{FileId, Span};
use rulec_lang::operators::is_reserved_word;
use rulec_syntax::format::{INDENT_WIDTH, MeaningChanged, format};
use rulec_syntax::lex::{Token, TokenKind};
use rulec_syntax::parse::{self, WordRole};

impl Analysis {
    /// Returns the edit for a character that was just typed before `offset`. A line break indents
    /// the new line. A closing brace formats the lines from its opening brace on. `None` if there
    /// is nothing to change, or for another character.
    ///
    /// # Errors
    /// If the formatter would change the meaning of the file.
    pub fn format_typed(
        &self,
        file: FileId,
        offset: u32,
        typed_char: char,
    ) -> Result<Option<Edit>, MeaningChanged> {
        let text = self.text(file);
        match typed_char {
            '\n' => Ok(indent_line(text, file, offset)),
            '}' => match opening_brace(text, offset) {
                Some(start) => self.format_range(Span { file, start, end: offset }),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// Returns the start of the brace that the closing brace directly before `offset` closes. `None` if
/// there is no closing brace before `offset`, or it closes nothing.
fn opening_brace(text: &str, offset: u32) -> Option<u32> {
    let tokens = significant_tokens(text);
    let index = tokens.iter().position(|token| token.end == offset)?;
    let opening = *open_brackets(&tokens[..index]).last()?;
    (tokens[index].kind == TokenKind::CloseBrace).then_some(tokens[opening].start)
}

/// Returns the edit that indents the line of `offset`. `None` if the line already has the right
/// indentation, or if it begins within a string or comment.
fn indent_line(text: &str, file: FileId, offset: u32) -> Option<Edit> {
    text.get(..offset as usize)?;
    let line = start_of_line(text, offset);
    let indent = indent_of_line(text, line)?;
    let span = Span { file, start: line as u32, end: (line + leading_blank_count(&text[line..])) as u32 };
    let replacement = " ".repeat(indent);
    (text[span.range()] != replacement).then_some(Edit { span, replacement })
}

/// Returns the number of spaces and tabs at the start of a text.
fn leading_blank_count(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// Returns the number of columns by which the line that begins at `line` is indented. `None` if the
/// line begins within a token.
pub(super) fn indent_of_line(text: &str, line: usize) -> Option<usize> {
    let tokens = significant_tokens(text);
    let index = tokens.partition_point(|token| (token.start as usize) < line);
    let (before, after) = tokens.split_at(index);
    if before.last().is_some_and(|token| token.end as usize > line) {
        return None;
    }
    let line_end = text[line..].find('\n').map_or(text.len(), |length| line + length);
    let next = after.first().filter(|token| (token.start as usize) < line_end);
    let indent = indent_of_incomplete_line(text, before, next);
    if next.is_none() {
        return Some(indent);
    }
    // Columns decide where statements begin, so the formatter reads the line with an indentation.
    let mut indented = text.to_owned();
    indented.replace_range(line..line + leading_blank_count(&text[line..]), &" ".repeat(indent));
    Some(formatted_indent(&indented, line, index).unwrap_or(indent))
}

/// Returns the indentation that the formatter gives to the token with the index `index`, the first
/// of the line that begins at `line`. `None` if the statement is incomplete, or if the formatter
/// does not begin a line with the token.
fn formatted_indent(text: &str, line: usize, index: usize) -> Option<usize> {
    let formatted = format(text).ok()?;
    let line_number = |start: usize| text[..start].matches('\n').count() + 1;
    if let Some(start) = statement_start(text, line) {
        let statement = line_number(start)..=line_number(line);
        if formatted.unformatted_lines.iter().any(|left| statement.contains(left)) {
            return None;
        }
    }
    let token = *significant_tokens(&formatted.text).get(index)?;
    let start = start_of_line(&formatted.text, token.start);
    let blanks = leading_blank_count(&formatted.text[start..]);
    (start + blanks == token.start as usize).then_some(blanks)
}

/// Returns the indentation of a line of an incomplete statement. `before` are all tokens before the
/// line, and `next` is its first token.
fn indent_of_incomplete_line(text: &str, before: &[Token], next: Option<&Token>) -> usize {
    let open = open_brackets(before);
    let base = open.last().map_or(0, |bracket| indent_of_token_line(text, before[*bracket]));
    if next.is_some_and(|token| token.kind.closes_bracket()) {
        return base;
    }
    let level = base + if open.is_empty() { 0 } else { INDENT_WIDTH };
    let inside = &before[open.last().map_or(0, |bracket| bracket + 1)..];
    let continues = continues_statement(text, inside, next);
    level + if continues { INDENT_WIDTH } else { 0 }
}

/// Returns the number of columns by which the line that contains a token is indented.
fn indent_of_token_line(text: &str, token: Token) -> usize {
    leading_blank_count(&text[start_of_line(text, token.start)..])
}

/// True if a line continues the statement or item of the lines before it, so that it needs more
/// indentation. `before` are the tokens since the innermost open bracket; `next` is the first token
/// of the line.
fn continues_statement(text: &str, before: &[Token], next: Option<&Token>) -> bool {
    let Some(last) = before.last() else { return false };
    let has_role = |token: &Token, role| parse::keywords().any(|row| row == (token.text(text), role));
    let is_value = |word: &str| matches!(word, "true" | "false" | "null" | "missing" | "present");
    let is_operator = |token: &Token| match token.kind {
        // `>` more often ends a type than it begins a comparison.
        TokenKind::Operator => token.text(text) != ">",
        TokenKind::Word => is_reserved_word(token.text(text)) && !is_value(token.text(text)),
        _ => false,
    };
    if let Some(next) = next {
        let is_word_of_clause = next.kind == TokenKind::Word && has_role(next, WordRole::Clause);
        let starts_item = matches!(next.text(text), "given" | "expect" | "branch" | "otherwise");
        if next.kind == TokenKind::Arrow || is_operator(next) || is_word_of_clause && !starts_item {
            return true;
        }
    }
    let expects_more = matches!(last.kind, TokenKind::Arrow | TokenKind::Colon)
        || is_operator(last)
        || last.kind == TokenKind::Word && has_role(last, WordRole::Clause);
    expects_more || ends_with_route_without_arrow(text, before)
}

/// True if the last statement among the tokens is a route whose arrow is still missing.
fn ends_with_route_without_arrow(text: &str, tokens: &[Token]) -> bool {
    let begins_line = |token: &Token| {
        let before = text[..token.start as usize].trim_end_matches([' ', '\t', '\u{feff}']);
        before.is_empty() || before.ends_with('\n')
    };
    let starts = |token: &Token| {
        token.kind == TokenKind::Word && begins_line(token) && parse::starts_statement(token.text(text))
    };
    let Some(start) = tokens.iter().rposition(starts) else { return false };
    let has_arrow = tokens[start..].iter().any(|token| token.kind == TokenKind::Arrow);
    tokens[start].text(text) == "route" && !has_arrow
}
