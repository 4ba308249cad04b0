//! The parser, from text to statements. A file is tokenized, the tokens are split into statements,
//! and the grammar parses each statement separately. One run therefore reports every statement with
//! an error, and keeps all other statements.

mod broken_fixes;
mod build;
mod case_when;
mod comments;
mod context;
mod decide;
mod declared;
mod doubled;
mod durations;
mod errors;
mod expr;
mod foreign;
mod foreign_comments;
mod foreign_statements;
mod history;
mod infix;
mod lambdas;
mod literal;
mod operand;
mod outline;
mod payload;
mod permissions;
mod phrase;
mod quantified;
mod remedy;
mod request;
mod scan;
mod shapes;
mod slips;
mod splitter;
mod stream;
mod terminals;
#[cfg(test)]
mod tests;
mod tree;
mod types;
mod unknown;
mod words;

pub use broken_fixes::remove_broken_fixes;
pub use durations::foreign_duration_at;
pub use foreign::template_to_join_call;
pub use literal::{UNITS_WITH_FACTORS, meant_number, number_with_unit};
pub use words::{WordDoc, word_doc, word_docs};

use crate::ast::{AllowComment, Ident, Statement, StatementKind};
use crate::lex::{self, TokenKind};
use context::{Built, StatementContext};
use declared::DeclaredNames;
use errors::part_shapes::{Part, shape_help};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::parallel::{self, ThreadLimit};
use rulec_base::span::{FileId, Span};
use rulec_grammar::{Grammar, Rule};
use rulec_lang::operators;
use splitter::RawStatement;
use std::cell::OnceCell;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use stream::{SignificantToken, TokenStream};
use tree::{Pair, Pairs, ParseTree};

pub(crate) use outline::{
    Outline, OutlineStatement, begins_statement_or_item, is_operator_or_connective, outline,
};

/// Maximum number of tokens in the statements that one pest call parses together. The limit bounds
/// the memory of their parse tree.
const MAX_TOKENS_PARSED_AHEAD: usize = 512;

/// True for a word that must be in backquotes to be a name. After a dot and before a colon, every
/// word is a name without backquotes.
pub fn is_reserved(word: &str) -> bool {
    terminals::is_reserved(word) || operators::is_reserved_word(word)
}

/// Returns every word with a special meaning and its role in a statement. Many of these words are
/// ordinary names in other positions.
pub fn keywords() -> impl Iterator<Item = (&'static str, WordRole)> {
    terminals::word_terminals().map(|word| (word.text, word.role()))
}

pub use terminals::WordRole;

/// True for a word that begins statements.
pub fn starts_statement(word: &str) -> bool {
    terminals::find_word(word).is_some_and(terminals::Terminal::starts_statement)
}

/// The result of parsing one file: its valid statements and all diagnostics.
#[derive(Clone, Debug, Default)]
pub struct ParseResult {
    /// The statements that could be parsed, in source order.
    pub statements: Vec<Statement>,
    /// The names that statements with errors would have declared. Uses of these names are not
    /// reported as errors.
    pub broken_names: Vec<Ident>,
    /// Whether statements may be missing because of an error that concerns the whole file, such as
    /// a merge conflict. Unknown names are then not reported.
    pub is_incomplete: bool,
    /// The diagnostics, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a file. Parsing never fails as a whole: statements with errors are reported and left out.
pub fn parse(threads: ThreadLimit, file: FileId, text: &str) -> ParseResult {
    let mut parsed = parse_with_unchecked_fixes(threads, file, text);
    broken_fixes::remove_broken_fixes_in_file(file, text, &mut parsed.diagnostics);
    parsed
}

/// Parses a file, but does not test whether the fixes of its diagnostics lead to other errors.
fn parse_with_unchecked_fixes(threads: ThreadLimit, file: FileId, text: &str) -> ParseResult {
    let mut parsed = ParseResult::default();
    let mut characters = scan::CharacterChecker::new(file, text, &mut parsed.diagnostics);
    let stream = stream::tokenize_in_parts(
        text,
        threads.count_for_statements(text.len() / stream::MEAN_STATEMENT_BYTES),
    );
    for token in &stream.suspicious_tokens {
        characters.check_token(*token, token.text(text));
    }
    if stream.significant.is_empty() && parsed.diagnostics.is_empty() {
        let message = message!("this file contains no statement");
        parsed.diagnostics.push(
            Diagnostic::new(Code::EmptyFile, Span::new(file, 0, 0), message)
                .help(message!("the smallest program is one line: `default -> some_handler`")),
        );
        return parsed;
    }
    if let Some(diagnostic) = scan::merge_conflict_error(file, text, &stream.significant) {
        return ParseResult { is_incomplete: true, diagnostics: vec![diagnostic], ..ParseResult::default() };
    }
    let statements = splitter::split_statements(file, text, &stream, &mut parsed.diagnostics);
    let parse_chunk = |statements: &[RawStatement]| {
        let mut reader = FileParser::new(file, text, &stream);
        reader.parsed.statements = reader.parse_statements(statements, false);
        reader.parsed
    };
    // Statements are independent: the statements of a large file are parsed on several threads.
    let chunk_size = statements.len().div_ceil(threads.count_for_statements(statements.len())).max(1);
    for part in parallel::map_in_parallel(statements.chunks(chunk_size), parse_chunk) {
        // The result of the first thread is usually large, so it is moved rather than copied.
        match parsed.statements.is_empty() {
            true => parsed.statements = part.statements,
            false => parsed.statements.extend(part.statements),
        }
        parsed.broken_names.extend(part.broken_names);
        parsed.is_incomplete |= part.is_incomplete;
        parsed.diagnostics.extend(part.diagnostics);
    }
    foreign_statements::report_foreign_statements(
        file,
        text,
        (&stream.significant, &statements),
        &mut parsed,
    );
    parsed.diagnostics.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.start, span.end)));
    parsed
}

struct FileParser<'a> {
    file: FileId,
    text: &'a str,
    significant: &'a [SignificantToken],
    /// The input of the grammar: the code of each token that is neither white space nor a comment.
    /// A code is one ASCII character that identifies a keyword, a symbol or a kind of token.
    token_codes: &'a str,
    /// The byte offsets of the divisions `//`, each of which hides the rest of its line.
    divisions: Vec<u32>,
    ahead: ParsedAhead,
    parsed: ParseResult,
    /// The names that the file declares, collected on first use. Only the help texts of some errors
    /// need them.
    declared: OnceCell<DeclaredNames>,
}

/// The parse tree of several consecutive statements that one call of pest parsed. The parser takes
/// one statement at a time from this tree, in source order.
#[derive(Default)]
struct ParsedAhead {
    tree: ParseTree,
    /// The index of the tree node of the next statement that the parser has not taken yet.
    next_node: usize,
    /// The index of the first token of the statements that were parsed together. Token positions in
    /// the tree are relative to this token.
    first_token: usize,
}

impl ParsedAhead {
    /// Returns the tree node of the statement with the tokens `tokens`, if the grammar rule `rule`
    /// matches all of them. Also returns the index of the token from which the node counts its
    /// tokens. `None` if the statement has an error.
    ///
    /// If the statement is not parsed yet, one call of pest parses it together with statements of
    /// `following`. One call for each statement would be slower. The call ends before the first
    /// long statement, which could be nested too deep.
    fn take_statement(
        &mut self,
        reader: &FileParser<'_>,
        rule: Rule,
        tokens: &Range<usize>,
        following: &[RawStatement],
    ) -> Option<(usize, Pair<'_>)> {
        let mut candidate = None;
        while let Some(pair) = self.tree.node_at(self.next_node) {
            let (node_index, token_range) = (self.next_node, pair.tokens());
            self.next_node += pair.node_count();
            let (start, end) = (self.first_token + token_range.start, self.first_token + token_range.end);
            if start >= tokens.start {
                candidate = Some((node_index, pair.as_rule() == rule && (start..end) == *tokens));
                break;
            }
        }
        if let Some((node_index, is_match)) = candidate {
            return self.tree.node_at(node_index).filter(|_| is_match).map(|pair| (self.first_token, pair));
        }
        let is_near = |next: &&RawStatement| {
            next.tokens.len() <= splitter::MAX_BRACKET_DEPTH
                && next.tokens.end - tokens.start <= MAX_TOKENS_PARSED_AHEAD
        };
        let ahead_end =
            following.iter().take_while(is_near).last().map_or(tokens.end, |last| last.tokens.end);
        // If only this statement is parsed, its own grammar rule is used instead of the rule for
        // several statements. The rule for several statements would first try other kinds of
        // statements.
        let (root_rule, first) = if ahead_end == tokens.end { (rule, 0) } else { (Rule::statements, 1) };
        self.tree =
            ParseTree::parse(root_rule, &reader.token_codes[tokens.start..ahead_end]).unwrap_or_default();
        (self.first_token, self.next_node) = (tokens.start, first);
        let pair = self.tree.node_at(first)?;
        self.next_node += pair.node_count();
        let is_match = pair.as_rule() == rule && pair.tokens() == (0..tokens.len());
        is_match.then_some((self.first_token, pair))
    }
}

impl<'a> FileParser<'a> {
    fn new(file: FileId, text: &'a str, stream: &'a TokenStream) -> FileParser<'a> {
        FileParser {
            file,
            text,
            significant: &stream.significant,
            token_codes: &stream.token_codes,
            divisions: scan::floor_divisions(file, text, &stream.suspicious_tokens),
            ahead: ParsedAhead::default(),
            parsed: ParseResult::default(),
            declared: OnceCell::new(),
        }
    }

    /// True if the tokens, which are all tokens of `text`, form one statement without errors.
    fn parses_as_one_statement(text: &str, stream: &TokenStream) -> bool {
        let Ok(tree) = ParseTree::parse(Rule::alone, &stream.token_codes) else { return false };
        let mut reader = FileParser::new(FileId(0), text, stream);
        let cx = &mut StatementContext::new(&mut reader, 0..stream.significant.len(), 0);
        let is_built = tree.root().is_some_and(|root| build::build_statement(cx, root).is_ok());
        is_built && !reader.parsed.diagnostics.iter().any(Diagnostic::is_error)
    }

    fn parse_statements(&mut self, raw: &[RawStatement], in_table: bool) -> Vec<Statement> {
        let mut statements = Vec::with_capacity(raw.len());
        for (index, raw_statement) in raw.iter().enumerate() {
            statements.extend(self.parse_statement(raw_statement, &raw[index + 1..], in_table));
        }
        statements
    }

    /// Parses a statement. `following` are the statements after it in the same file or table. Some
    /// of them may be parsed in the same call of pest, which is faster; their trees wait in `ahead`
    /// until their turn. `in_table` is true inside a `table`, where fewer kinds of statement are
    /// allowed. Returns `None` after an error, which is reported.
    fn parse_statement(
        &mut self,
        raw: &RawStatement,
        following: &[RawStatement],
        in_table: bool,
    ) -> Option<Statement> {
        let head = self.significant.get(raw.tokens.start)?.token;
        let end = raw.tokens.end.checked_sub(1).map_or(head.end, |last| self.significant[last].token.end);
        let mut span = Span { file: self.file, start: head.start, end };
        let first_diagnostic = self.parsed.diagnostics.len();
        let mut kind = self.parse_statement_kind(raw, following, in_table);
        let errors = &self.parsed.diagnostics[first_diagnostic..];
        if errors.iter().any(Diagnostic::is_error) {
            let (file, text, significant) = (self.file, self.text, self.significant);
            let doubled = || doubled::doubled_phrase_error(file, text, significant, raw, errors);
            let tokens = raw.tokens.clone();
            let known = kind.is_none().then(doubled).flatten();
            let known =
                known.or_else(|| durations::foreign_duration_error(file, text, significant, tokens, errors));
            if let Some(diagnostic) = known {
                self.parsed.diagnostics.truncate(first_diagnostic);
                self.parsed.diagnostics.push(diagnostic);
                kind = None;
            }
        }
        if kind.is_none() {
            let significant = &self.significant[raw.tokens.clone()];
            self.parsed.broken_names.extend(context::declared_names(self.file, self.text, significant));
            // The declarations of the imported file are unknown.
            let codes = self.token_codes[raw.tokens.clone()].as_bytes();
            self.parsed.is_incomplete |= memchr::memchr(terminals::IMPORT, codes).is_some();
        }
        if let Some((inner, close)) = &raw.table_body {
            span.end = self.significant.get(*close).map_or(self.text.len() as u32, |item| item.token.end);
            let inner_statements = self.parse_statements(inner, true);
            if let Some(StatementKind::Table { statements, .. }) = &mut kind {
                *statements = inner_statements;
            }
        }
        let (docs, allows) = self.leading_comments(raw.tokens.start);
        kind.map(|kind| Statement { kind, span, docs, allows })
    }

    /// Parses a statement without the doc comments before it, and without the statements between
    /// the braces of a table. The parameters mean the same as in `parse_statement`. Returns `None`
    /// after an error, which is reported.
    fn parse_statement_kind(
        &mut self,
        raw: &RawStatement,
        following: &[RawStatement],
        in_table: bool,
    ) -> Option<StatementKind> {
        let head = self.significant[raw.tokens.start].token;
        let significant = &self.significant[raw.tokens.clone()];
        // Invalid characters and strings were already reported, so the grammar must not report them
        // again.
        let codes = self.token_codes[raw.tokens.clone()].as_bytes();
        let next = self.significant.get(raw.tokens.end).map_or(u32::MAX, |item| item.token.start);
        let is_damaged = raw.is_reported
            || memchr::memchr(terminals::UNREADABLE, codes).is_some()
            || self.divisions.iter().any(|slashes| (head.start..next).contains(slashes));
        let Some((word, rule)) = raw.keyword.and_then(|word| Some((word, word.statement_rule?))) else {
            if !is_damaged {
                let (tokens, base) = (raw.tokens.clone(), raw.tokens.start);
                let diagnostic =
                    shapes::statement_without_keyword_error(&StatementContext::new(self, tokens, base));
                self.parsed.diagnostics.push(diagnostic);
            }
            return None;
        };
        let head_span = head.span(self.file);
        if in_table && !word.is_allowed_in_table() {
            let message = message!("`{}` is not allowed in a table", word.text);
            self.parsed
                .diagnostics
                .push(Diagnostic::new(Code::MisplacedStatement, head_span, message).help(message!(
                "a table contains only `route` and `default` statements; move this statement out of the table"
            )));
            if rule == Rule::table_statement {
                return None;
            }
        }
        if let Some(token) = scan::find_too_deep(self.text, significant) {
            let message = message!("this statement is nested more than {} deep", splitter::MAX_BRACKET_DEPTH);
            self.parsed.diagnostics.push(
                Diagnostic::new(Code::TooDeep, token.span(self.file), message)
                    .help(message!("give inner parts a name with `let`")),
            );
            return None;
        }
        if is_damaged {
            return None;
        }
        if matches!(rule, Rule::payload_statement | Rule::group_statement) {
            return self.parse_payload(raw, rule);
        }
        let kind = self.parse_with_grammar(rule, raw.tokens.clone(), following);
        if rule == Rule::table_statement && raw.table_body.is_none() && kind.is_some() {
            let last_span = self.significant[raw.tokens.end - 1].token.span(self.file);
            let message = message!("expected `{{` and the table's routes after its name");
            let diagnostic = Diagnostic::new(Code::Unexpected, last_span, message);
            self.parsed.diagnostics.push(match shape_help(Part::Whole(rule)) {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
            return None;
        }
        kind.filter(|_| !in_table || word.is_allowed_in_table())
    }

    /// Parses the statement with the tokens `tokens` by the grammar rule `rule`, and builds its
    /// syntax tree. Statements in `following` may be parsed in the same call of pest. Returns
    /// `None` after an error, which is reported.
    fn parse_with_grammar(
        &mut self,
        rule: Rule,
        tokens: Range<usize>,
        following: &[RawStatement],
    ) -> Option<StatementKind> {
        let mut ahead = std::mem::take(&mut self.ahead);
        let kind = match ahead.take_statement(self, rule, &tokens, following) {
            Some((base, pair)) => {
                build::build_statement(&mut StatementContext::new(self, tokens, base), pair).ok()
            }
            // The statement is parsed again alone, so that the error certainly belongs to it.
            None => self.parse_alone(rule, tokens, build::build_statement),
        };
        self.ahead = ahead;
        kind
    }

    /// Parses `tokens` by a grammar rule, in a call of pest that parses nothing else. Builds the
    /// syntax tree with `build`. Returns `None` after an error, which is reported.
    fn parse_alone<T>(
        &mut self,
        rule: Rule,
        tokens: Range<usize>,
        build: impl FnOnce(&mut StatementContext<'_>, Pair<'_>) -> Built<T>,
    ) -> Option<T> {
        let codes = &self.token_codes[tokens.clone()];
        let base = tokens.start;
        let cx = &mut StatementContext::new(self, tokens, base);
        let is_complete_rule =
            errors::is_payload_item(rule) || matches!(rule, Rule::payload_statement | Rule::group_statement);
        match ParseTree::parse(if is_complete_rule { rule } else { Rule::alone }, codes) {
            Ok(tree) => build(cx, tree.root()?).ok(),
            Err(error) => {
                let diagnostic = errors::diagnose(cx, rule, &error);
                cx.diagnostics.push(diagnostic);
                None
            }
        }
    }

    /// Returns the documentation and the `allow` comments of a statement. They lie between the
    /// token before the statement and its token `first_token`.
    fn leading_comments(&mut self, first_token: usize) -> (String, Vec<AllowComment>) {
        let start =
            first_token.checked_sub(1).map_or(0, |previous| self.significant[previous].token.end as usize);
        let gap = &self.text[start..self.significant[first_token].token.start as usize];
        let (mut docs, mut allows) = (Vec::new(), Vec::new());
        if memchr::memchr(b'#', gap.as_bytes()).is_none() {
            return (String::new(), allows);
        }
        // A comment on the last line of the previous statement belongs to that statement.
        let mut on_own_line = first_token == 0;
        for token in lex::tokenize(gap, 0) {
            let text = token.text(gap);
            match token.kind {
                TokenKind::Newline => on_own_line = true,
                TokenKind::DocComment if on_own_line => {
                    let text = text[2..].trim_end();
                    docs.push(text.strip_prefix(' ').unwrap_or(text));
                }
                TokenKind::Comment if on_own_line => {
                    let comment_start = start + token.start as usize;
                    let span = Span::new(self.file, comment_start, comment_start + text.trim_end().len());
                    if let Some((code, later_code)) = comments::read_allow_comment(text) {
                        allows.push(AllowComment { code, first_code_in_comment: later_code, span });
                    } else if let Some(diagnostic) = comments::misspelt_suppression_warning(text, span) {
                        self.parsed.diagnostics.push(diagnostic);
                    }
                }
                _ => {}
            }
        }
        (docs.join("\n"), allows)
    }
}

/// Call limit for statements of up to 50,000 tokens: the maximum number of calls of grammar rules
/// in one parse. Fifty million calls take about one second.
const MIN_CALL_LIMIT: usize = 50_000_000;
/// Maximum number of calls of grammar rules per token of a longer statement. The grammar needs far
/// fewer.
const MAX_CALLS_PER_TOKEN: usize = 1000;

/// Raises pest's limit on calls of grammar rules to the number that a statement of `length` tokens
/// can need. The limit ends a parse that takes too long because of a mistake in the grammar.
///
/// All threads share this limit, and pest copies it when a parse begins. So this function never
/// lowers the limit. It sets pest's limit before `CURRENT_CALL_LIMIT`, because another thread
/// parses immediately if `CURRENT_CALL_LIMIT` is high enough for its statement.
fn raise_call_limit(length: usize) {
    static CURRENT_CALL_LIMIT: AtomicUsize = AtomicUsize::new(0);
    static RAISE_LOCK: Mutex<()> = Mutex::new(());
    let needed = MIN_CALL_LIMIT.max(length.saturating_mul(MAX_CALLS_PER_TOKEN));
    if needed <= CURRENT_CALL_LIMIT.load(Ordering::Acquire) {
        return;
    }
    let _guard = RAISE_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    if needed > CURRENT_CALL_LIMIT.load(Ordering::Acquire) {
        pest::set_call_limit(NonZeroUsize::new(needed));
        CURRENT_CALL_LIMIT.store(needed, Ordering::Release);
    }
}
