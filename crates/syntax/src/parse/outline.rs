//! The outline of a file: its tokens, and which tokens form which statement. The formatter uses the
//! outline instead of a parser of its own. It therefore finds the same statements as the compiler,
//! even in a file with errors.

use super::{parse, splitter, stream};
use crate::ast::{PayloadItem, PayloadItemKind, Statement, StatementKind};
use crate::lex::{Token, TokenKind};
use rulec_base::diag::Code;
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_lang::operators;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The tokens of a file, and the statements that they form.
pub struct Outline {
    /// The tokens of the file, except white space and comments.
    pub tokens: Vec<Token>,
    /// The statements. Tokens may lie between two statements, such as an unnecessary `;`.
    pub statements: Vec<OutlineStatement>,
    /// The indices of the tokens at which items of payloads and groups begin.
    pub item_starts: HashSet<usize>,
    /// The errors, in source order: the code and the message of each, without white space. A
    /// message quotes the text of the author, in which formatting changes white space.
    pub errors: Vec<(Code, String)>,
}

/// A statement of an outline: its keyword and its range of tokens.
#[derive(Debug, PartialEq)]
pub struct OutlineStatement {
    /// The keyword of the statement. Empty if the first word begins no statement.
    pub keyword: &'static str,
    /// The tokens of the statement. For a table, the tokens before its brace.
    pub tokens: Range<usize>,
    /// Whether the statement was parsed without errors. For a table, only errors in its head and
    /// braces count.
    pub parsed_without_errors: bool,
    /// The documentation of the statement, and the number of its `allow` comments. Formatting must
    /// change neither.
    pub docs_and_allow_count: (String, usize),
    /// The statements between the braces of a table, and the index of the closing brace if it is
    /// present. `None` for any other statement.
    pub table_body: Option<(Vec<OutlineStatement>, Option<usize>)>,
}

impl OutlineStatement {
    /// Returns the index after the last token of the statement. A table whose closing brace is
    /// missing ends where its last inner statement ends.
    pub fn end(&self) -> usize {
        match &self.table_body {
            None => self.tokens.end,
            Some((_, Some(close))) => close + 1,
            Some((inner, None)) => inner.last().map_or(self.tokens.end + 1, OutlineStatement::end),
        }
    }
}

/// True for a word that may begin a statement or an item if the word is the first of a line.
pub fn begins_statement_or_item(word: &str) -> bool {
    super::terminals::find_word(word).is_some_and(|word| word.starts_statement())
        || super::terminals::find_word(word).is_some_and(super::terminals::Terminal::begins_item)
}

/// True for a word that cannot be a value: an operator, the first word of a statement or clause, or
/// a word that connects parts of a statement, such as `as`.
pub fn is_operator_or_connective(word: &str) -> bool {
    let is_value = matches!(word, "intent" | "payload" | "group" | "true" | "false" | "null");
    let is_connective = matches!(word, "any" | "all" | "none" | "in" | "as" | "clamp" | "const" | "not");
    !is_value && (is_connective || super::is_reserved(word) || operators::Op::from_spelling(word).is_some())
}

/// Tokenizes a text, and returns which tokens form which statement.
pub fn outline(text: &str) -> Outline {
    let file = FileId(0);
    let parsed = parse(ThreadLimit::All, file, text);
    let stream = stream::tokenize_in_parts(text, 1);
    let raw = splitter::split_statements(file, text, &stream, &mut Vec::new());
    let tokens: Vec<Token> = stream.significant.iter().map(|item| item.token).collect();
    let found_errors = || parsed.diagnostics.iter().filter(|found| found.is_error());
    let mut error_starts: Vec<u32> =
        found_errors().filter_map(|found| found.span()).map(|span| span.start).collect();
    error_starts.sort_unstable();
    let without_space = |text: &str| text.split_whitespace().collect::<String>();
    let errors = found_errors().map(|found| (found.code, without_space(found.message.as_str()))).collect();
    let mut statements_by_start = HashMap::new();
    let mut starts = Vec::new();
    collect_starts(&parsed.statements, &mut statements_by_start, &mut starts);
    let item_tokens =
        starts.into_iter().filter_map(|start| tokens.binary_search_by_key(&start, |token| token.start).ok());
    let items = item_tokens.collect();
    let statements =
        OutlineBuilder { tokens: &tokens, error_starts, statements_by_start }.outline_statements(raw);
    Outline { tokens, statements, item_starts: items, errors }
}

/// Collects where statements and items start: adds each statement to `statements_by_start`, and the
/// start of each payload or group item to `item_offsets`. All positions are byte offsets.
fn collect_starts<'a>(
    statements: &'a [Statement],
    statements_by_start: &mut HashMap<u32, &'a Statement>,
    item_offsets: &mut Vec<u32>,
) {
    for statement in statements {
        statements_by_start.insert(statement.span.start, statement);
        match &statement.kind {
            StatementKind::Table { statements, .. } => {
                collect_starts(statements, statements_by_start, item_offsets)
            }
            StatementKind::Payload(payload) => collect_item_starts(&payload.body, item_offsets),
            StatementKind::Group(group) => collect_item_starts(&group.body, item_offsets),
            _ => {}
        }
    }
}

fn collect_item_starts(body: &[PayloadItem], starts: &mut Vec<u32>) {
    for item in body {
        starts.push(item.span.start);
        if let PayloadItemKind::Each(each) = &item.kind {
            collect_item_starts(&each.body, starts);
        }
    }
}

struct OutlineBuilder<'a> {
    tokens: &'a [Token],
    /// The byte offsets at which errors in the file start, sorted.
    error_starts: Vec<u32>,
    statements_by_start: HashMap<u32, &'a Statement>,
}

impl OutlineBuilder<'_> {
    fn outline_statements(&self, raw: Vec<splitter::RawStatement>) -> Vec<OutlineStatement> {
        raw.into_iter().filter(|raw| !raw.tokens.is_empty()).map(|raw| self.outline_statement(raw)).collect()
    }

    fn outline_statement(&self, raw: splitter::RawStatement) -> OutlineStatement {
        let (start, end) = (self.tokens[raw.tokens.start].start, self.tokens[raw.tokens.end - 1].end);
        let statement = self.statements_by_start.get(&start);
        let first_error = self.error_starts.partition_point(|error| *error < start);
        let has_error = self.error_starts.get(first_error).is_some_and(|error| *error < end);
        let is_closing =
            |close: &usize| self.tokens.get(*close).is_some_and(|token| token.kind == TokenKind::CloseBrace);
        let table = raw
            .table_body
            .map(|(inner, close)| (self.outline_statements(inner), Some(close).filter(is_closing)));
        let is_closed = table.as_ref().is_none_or(|(_, close)| close.is_some());
        OutlineStatement {
            keyword: raw.keyword.map_or("", |word| word.text),
            tokens: raw.tokens,
            parsed_without_errors: statement.is_some() && !has_error && !raw.is_reported && is_closed,
            docs_and_allow_count: statement
                .map(|statement| (statement.docs.clone(), statement.allows.len()))
                .unwrap_or_default(),
            table_body: table,
        }
    }
}
