//! Completion: finds the words and names that an author can write at a position. Only the tokens
//! before the position are used, because a statement is usually incomplete while it is typed.
//!
//! `scope` finds the statement and the brackets around the position. `clauses` selects the
//! words that this part of the statement allows. `operand` types the value before the position.
//! `items` lists names and words.

mod clauses;
mod items;
mod operand;
mod scope;

use super::Analysis;
use super::hover::significant_tokens;
use items::{keyword_item, new_item, operator_item, statement_items, unquote_name};
use rulec_base::diag::{Code, Message};
use rulec_base::span::{FileId, Span};
use rulec_lang::operators::Op;
use rulec_syntax::lex::{self, Token, TokenKind};
use scope::{Scope, is_member, scope_at_end};

/// The kind of a completion item.
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

/// A completion item: a word or name that can be written at the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    pub kind: CompletionKind,
    /// The text that the item shows and inserts.
    pub label: String,
    /// The type or signature of the item, shown next to its label; may be empty.
    pub detail: String,
    pub docs: Message,
}

/// The completion items for a position, most likely first, and the span that the chosen item
/// replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub replaces: Span,
    pub items: Vec<CompletionItem>,
}

/// The start of a comment that suppresses warnings. Codes of warnings follow it.
const ALLOW_PREFIX: &str = "rulec: allow ";

impl Analysis {
    /// Returns the completion items for a position.
    pub fn complete(&self, file: FileId, offset: u32) -> Completion {
        let text = self.text(file);
        let offset = rulec_base::source::floor_char_boundary(text, offset as usize) as u32;
        let no_items = Completion { replaces: Span { file, start: offset, end: offset }, items: Vec::new() };
        let token_at_offset =
            lex::tokenize(text, 0).find(|token| token.start < offset && offset <= token.end);
        let is_in_string = token_at_offset
            .is_some_and(|token| offset < token.end && is_string(token) || is_half_string(token));
        let replaced = match token_at_offset {
            Some(token) if token.kind == TokenKind::Word || is_in_string => Some(token),
            Some(token) if token.kind == TokenKind::Comment => {
                return warning_code_items(text, token, offset).map_or(no_items, |(start, items)| {
                    Completion { replaces: Span { file, start, end: offset }, items }
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
        let context = CompletionContext { analysis: self, file, text, tokens_before, scope, start };
        let (first, others) = match is_in_string {
            true => (Vec::new(), context.string_items()),
            false => context.completion_items(),
        };
        let mut items = sort_and_dedup(first);
        items.extend(sort_and_dedup(others));
        Completion { replaces: Span { file, start, end: replaced.map_or(offset, |token| token.end) }, items }
    }
}

/// Sorts items by kind and label. Removes items whose kind and label are the same as for an earlier
/// item.
fn sort_and_dedup(mut items: Vec<CompletionItem>) -> Vec<CompletionItem> {
    items.sort_by(|a, b| (a.kind, &a.label, &a.detail).cmp(&(b.kind, &b.label, &b.detail)));
    items.dedup_by(|a, b| (a.kind, &a.label) == (b.kind, &b.label));
    items
}

fn is_string(token: Token) -> bool {
    matches!(token.kind, TokenKind::String | TokenKind::RawString)
}

/// True for an opening quote without a closing one at the end of a line, as an author has just
/// typed it.
fn is_half_string(token: Token) -> bool {
    token.kind == TokenKind::UnclosedString && token.end - token.start == 1
}

/// Completes the codes in a comment `# rulec: allow`. Returns the codes of all warnings, and the
/// start of the code at `offset`. `None` in any other comment.
fn warning_code_items(text: &str, comment: Token, offset: u32) -> Option<(u32, Vec<CompletionItem>)> {
    let before = &text[comment.start as usize..offset as usize];
    let written = before.trim_start_matches('#').trim_start().strip_prefix(ALLOW_PREFIX)?.trim_start();
    if written.chars().any(char::is_whitespace) {
        return None;
    }
    let warnings = Code::ALL.iter().filter(|code| code.as_str().starts_with('W'));
    let items = warnings.map(|code| new_item(CompletionKind::Value, code.as_str(), code.title().to_owned()));
    Some((offset - written.len() as u32, items.collect()))
}

/// True for a word that must be followed by a value or condition. Completion offers no operator
/// after it.
fn expects_value(word: &str) -> bool {
    const WORDS: [&str; 19] = [
        "when", "where", "given", "require", "forbid", "then", "else", "if", "from", "ask", "not", "any",
        "all", "none", "count", "word", "ignoring", "matching", "is",
    ];
    WORDS.contains(&word) || Op::from_spelling(word).is_some()
}

/// The state of one completion: the position to complete, with the tokens before it.
struct CompletionContext<'a> {
    analysis: &'a Analysis,
    file: FileId,
    text: &'a str,
    tokens_before: &'a [Token],
    /// The statement and the brackets around the position.
    scope: Scope<'a>,
    /// Offset of the first character that the chosen completion item replaces.
    start: u32,
}

impl<'a> CompletionContext<'a> {
    /// Returns two lists: the words that begin a statement, if a statement may begin at the
    /// position, and all other items.
    fn completion_items(&self) -> (Vec<CompletionItem>, Vec<CompletionItem>) {
        let Some(last) = self.tokens_before.last() else { return (statement_items(false), Vec::new()) };
        match last.kind {
            TokenKind::Dot => (Vec::new(), self.member_items()),
            TokenKind::At => (Vec::new(), vec![keyword_item("private")]),
            _ => (self.new_statement_items(*last), self.clause_items(*last)),
        }
    }

    /// Returns the words that begin a statement, if a statement may begin at the position.
    fn new_statement_items(&self, last: Token) -> Vec<CompletionItem> {
        let between = &self.text[last.end as usize..self.start as usize];
        let indent = between.rfind('\n').map(|newline| between.len() - newline - 1);
        let table_bracket_count = usize::from(self.scope.head == "table");
        let is_in_table = self.scope.owner == "table" || self.scope.head == "table";
        let is_in_braces = self.scope.head == "table" && last.kind == TokenKind::OpenBrace;
        if is_in_braces {
            return statement_items(true);
        }
        let Some(indent) = indent.filter(|_| last.kind.ends_operand()) else { return Vec::new() };
        let closed_table = self.scope.head == "table" && self.scope.brackets.is_empty();
        if self.scope.brackets.len() <= table_bracket_count {
            return statement_items(is_in_table && !closed_table);
        }
        if indent == 0 { statement_items(false) } else { Vec::new() }
    }

    /// Returns the text of the token at `index`; empty if there is none.
    fn word(&self, index: usize) -> &'a str {
        self.tokens_before.get(index).map_or("", |token| token.text(self.text))
    }

    /// Returns the text of the token before the token at `index`; empty if there is none.
    fn word_before(&self, index: usize) -> &'a str {
        index.checked_sub(1).map_or("", |index| self.word(index))
    }

    /// Returns the text of the token before the position. Empty if there is no such token, or if a
    /// dot precedes it, because it is then the name of a field, as in `ctx.type`.
    fn last_word(&self) -> &'a str {
        match self.tokens_before.len().checked_sub(1) {
            Some(last) if !is_member(self.tokens_before, last) => self.word(last),
            _ => "",
        }
    }
}
