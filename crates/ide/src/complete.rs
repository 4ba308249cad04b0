//! Completion: finds the words and names that an author can write at a position. Only the tokens
//! before the position are used, because a statement is usually incomplete while it is typed.
//!
//! `scope` finds the statement and the brackets around the position. `clauses` selects the words
//! that this part of the statement allows. `operand` types the value before the position, and
//! `expected` the value at the position. `blocks` and `rules` select words within the braces of
//! statements. `items` lists names and words, and `snippets` writes out the calls and statements
//! that an editor fills in.

mod blocks;
mod clauses;
mod expected;
mod items;
mod operand;
mod rules;
mod scope;
pub mod snippets;

use super::Analysis;
use super::hover::significant_tokens;
use items::{keyword_item, new_item, operator_item, unquote_name};
use rulec_base::diag::{Code, Message};
use rulec_base::span::{FileId, Span};
use rulec_lang::operators::Op;
use rulec_syntax::lex::{self, Token, TokenKind};
use scope::{Scope, is_after_dot, scope_at_end};
use snippets::Snippet;

/// The kind of a word or name that an editor offers at the cursor (a completion item).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionKind {
    Field,
    Value,
    Function,
    Operator,
    Keyword,
    Type,
    Handler,
    Statement,
}

/// A completion item: a word or name that an editor offers at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    pub kind: CompletionKind,
    /// The text that the editor shows for this completion item, and inserts.
    pub label: String,
    /// The type or signature of the item, shown next to its label; may be empty.
    pub detail: String,
    pub docs: Message,
    /// Whether the item may have another type than the position needs. Such items come after the
    /// others.
    pub may_not_fit: bool,
    /// The text to insert instead of the label, with placeholders for the author to fill in. `None`
    /// for an item without placeholders.
    pub snippet: Option<Snippet>,
}

/// The completion items that an editor offers at the cursor, most likely first, and the span that
/// the chosen item replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub replaced_span: Span,
    pub items: Vec<CompletionItem>,
}

/// The words at the start of a comment that suppresses warnings. Codes of warnings follow them.
const ALLOW_PREFIX: [&str; 2] = ["rulec:", "allow"];

impl Analysis {
    /// Returns the completion items for a cursor at the byte offset `offset` of a file.
    pub fn complete(&self, file: FileId, offset: u32) -> Completion {
        let text = self.text(file);
        let offset = rulec_base::source::floor_char_boundary(text, offset as usize) as u32;
        let no_items =
            Completion { replaced_span: Span { file, start: offset, end: offset }, items: Vec::new() };
        let token_at_offset =
            lex::tokenize(text, 0).find(|token| token.start < offset && offset <= token.end);
        let is_in_string = token_at_offset.is_some_and(|token| {
            offset < token.end && is_string(token) || is_half_string(text, token, offset)
        });
        let replaced = match token_at_offset {
            Some(token) if token.kind == TokenKind::Word || is_in_string => Some(token),
            Some(token) if token.kind == TokenKind::Comment => {
                return allow_comment_items(text, token, offset).map_or(no_items, |(start, items)| {
                    Completion { replaced_span: Span { file, start, end: offset }, items }
                });
            }
            // A position directly after a comment is still inside the comment, so nothing is
            // completed. Directly after a closing quote, the position is outside the string.
            Some(token) if matches!(token.kind, TokenKind::DocComment | TokenKind::Number) => {
                return no_items;
            }
            Some(token) if token.kind.is_unreadable() => return no_items,
            _ => None,
        };
        let start = replaced.map_or(offset, |token| token.start);
        let tokens = significant_tokens(text);
        let tokens_before = &tokens[..tokens.partition_point(|token| token.end <= start)];
        let scope = scope_at_end(text, tokens_before);
        let end = match replaced {
            Some(token) if is_in_string => end_of_string(text, token, offset),
            Some(token) => token.end,
            None => offset,
        };
        let context = CompletionContext {
            analysis: self,
            file,
            text,
            tokens: &tokens,
            tokens_before,
            scope,
            replaced_start: start,
            replaced_end: end,
        };
        let groups = match is_in_string {
            true => vec![context.string_items()],
            false => context.completion_items(),
        };
        let items = groups.into_iter().flat_map(sort_and_dedup).collect();
        Completion { replaced_span: Span { file, start, end }, items }
    }
}

/// Sorts items by kind and label, with the items that may not fit after the others. Removes items
/// whose kind and label are the same as for an earlier item.
fn sort_and_dedup(mut items: Vec<CompletionItem>) -> Vec<CompletionItem> {
    let rank = |item: &CompletionItem| (item.may_not_fit, item.kind);
    items.sort_by(|a, b| (rank(a), &a.label, &a.detail).cmp(&(rank(b), &b.label, &b.detail)));
    items.dedup_by(|a, b| (a.kind, &a.label) == (b.kind, &b.label));
    items
}

fn is_string(token: Token) -> bool {
    matches!(token.kind, TokenKind::String | TokenKind::RawString)
}

/// True if `token` is a string without its closing quote, and an author seems to be typing the
/// string: there is no white space between its opening quote and `offset`.
fn is_half_string(text: &str, token: Token, offset: u32) -> bool {
    let typed = text.get(token.start as usize + 1..offset as usize).unwrap_or_default();
    token.kind == TokenKind::UnclosedString && !typed.contains(char::is_whitespace)
}

/// Returns the end of the text to replace in the string `token`, which contains `offset`: the end
/// of the string. But if a string of its line has no closing quote, returns `offset`, because the
/// token may then contain text that follows the string.
fn end_of_string(text: &str, token: Token, offset: u32) -> u32 {
    let line_end = text[offset as usize..].find('\n').map_or(text.len(), |length| offset as usize + length);
    let line_start = text[..token.start as usize].rfind('\n').map_or(0, |newline| newline + 1);
    let is_unclosed = |token: Token| token.kind == TokenKind::UnclosedString;
    let has_half = lex::tokenize(&text[line_start..line_end], 0).any(is_unclosed);
    if has_half { offset.min(token.end) } else { token.end }
}

/// Completes a comment `# rulec: allow`. Returns the word `allow`, or after it the codes of all
/// warnings; and the start of the word at `offset`. `None` in any other comment.
fn allow_comment_items(text: &str, comment: Token, offset: u32) -> Option<(u32, Vec<CompletionItem>)> {
    let before = &text[comment.start as usize..offset as usize];
    let after_mark = before.trim_start_matches('#').trim_start().strip_prefix(ALLOW_PREFIX[0])?;
    let after_word = after_mark.trim_start().strip_prefix(ALLOW_PREFIX[1]);
    let codes = after_word.filter(|rest| rest.starts_with(char::is_whitespace)).map(str::trim_start);
    let written = codes.unwrap_or(after_mark.trim_start());
    if written.chars().any(char::is_whitespace) {
        return None;
    }
    let warnings = Code::ALL.iter().filter(|code| code.as_str().starts_with('W'));
    let item = |code: &Code| new_item(CompletionKind::Value, code.as_str(), code.title().to_owned());
    let items = match codes {
        Some(_) => warnings.map(item).collect(),
        None => vec![keyword_item(ALLOW_PREFIX[1])],
    };
    Some((offset - written.len() as u32, items))
}

/// True for a word that must be followed by a value or condition. Completion offers no operator
/// after it.
fn expects_value(word: &str) -> bool {
    const VALUE_PRECEDING_WORDS: [&str; 19] = [
        "when", "where", "given", "require", "forbid", "then", "else", "if", "from", "ask", "not", "any",
        "all", "none", "count", "word", "ignoring", "matching", "is",
    ];
    VALUE_PRECEDING_WORDS.contains(&word) || Op::from_spelling(word).is_some()
}

/// The state of one completion: the cursor, with the tokens before it.
struct CompletionContext<'a> {
    analysis: &'a Analysis,
    file: FileId,
    text: &'a str,
    /// The tokens of the whole file without white space and comments.
    tokens: &'a [Token],
    /// The tokens before the cursor.
    tokens_before: &'a [Token],
    /// The statement and the brackets around the cursor.
    scope: Scope<'a>,
    /// Offset of the first character that the chosen completion item replaces.
    replaced_start: u32,
    /// Offset after the last character that the chosen completion item replaces.
    replaced_end: u32,
}

impl<'a> CompletionContext<'a> {
    /// Returns the completion items in groups, the likeliest group first. The groups are the words
    /// that begin a statement, if a statement may begin at the position; the constants of the type
    /// that the position needs; and all other items.
    fn completion_items(&self) -> Vec<Vec<CompletionItem>> {
        let Some(last) = self.tokens_before.last() else { return vec![self.statement_items(false)] };
        match last.kind {
            TokenKind::Dot => vec![self.member_items()],
            TokenKind::At => vec![vec![keyword_item("private")]],
            _ => {
                let follows_operand = self.ends_operand(self.tokens_before.len() - 1);
                let values = if follows_operand { Vec::new() } else { self.constants_of_type() };
                let mut others = self.clause_items(*last);
                others.retain(|item| values.iter().all(|value| value.label != item.label));
                vec![self.new_statement_items(*last), values, others]
            }
        }
    }

    /// Returns the words that begin a statement, if a statement may begin at the cursor. `last`
    /// is the token before the cursor.
    fn new_statement_items(&self, last: Token) -> Vec<CompletionItem> {
        let between = &self.text[last.end as usize..self.replaced_start as usize];
        let indent = between.rfind('\n').map(|newline| between.len() - newline - 1);
        let table_bracket_count = usize::from(self.scope.head_word == "table");
        let is_in_table = self.scope.owner_head_word == "table" || self.scope.head_word == "table";
        let is_in_braces = self.scope.head_word == "table" && last.kind == TokenKind::OpenBrace;
        if is_in_braces {
            return self.statement_items(true);
        }
        let Some(indent) = indent.filter(|_| last.kind.ends_operand()) else { return Vec::new() };
        let closed_table = self.scope.head_word == "table" && self.scope.open_brackets.is_empty();
        if self.scope.open_brackets.len() <= table_bracket_count {
            return self.statement_items(is_in_table && !closed_table);
        }
        if indent == 0 { self.statement_items(false) } else { Vec::new() }
    }

    /// Returns the text of the token at `index`; empty if there is none.
    fn token_text(&self, index: usize) -> &'a str {
        self.tokens_before.get(index).map_or("", |token| token.text(self.text))
    }

    /// Returns the text of the token before the token at `index`; empty if there is none.
    fn token_text_before(&self, index: usize) -> &'a str {
        index.checked_sub(1).map_or("", |index| self.token_text(index))
    }

    /// Returns the text of the token before the cursor. Empty if there is no such token, or if a
    /// dot precedes it, because it is then the name of a field, as in `ctx.type`.
    fn last_token_text(&self) -> &'a str {
        match self.tokens_before.len().checked_sub(1) {
            Some(last) if !is_after_dot(self.tokens_before, last) => self.token_text(last),
            _ => "",
        }
    }
}
