//! Text to statements. A file is cut into tokens, the tokens into statements, and each statement is
//! parsed by the grammar and built into the tree, so that every statement with an error is reported
//! in one run and all others are still there.

mod build;
mod cut;
mod decide;
mod expr;
mod fail;
mod literal;
mod operand;
mod operators;
mod payload;
mod phrase;
mod request;
mod scan;
#[cfg(test)]
mod tests;

use crate::diag::{Code, Diagnostic};
use crate::span::{FileId, Span};
use crate::syntax::ast::{Allow, Ident, Statement, StatementKind};
use crate::syntax::lex::{self, Token, TokenKind};
use build::Cx;
use cut::{Cut, Sig};
use pest::Parser;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// The parser that pest derives from the grammar, with its `Rule`s.
#[allow(missing_docs, reason = "derived code; the grammar documents its rules")]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/rules.pest"]
    pub struct Grammar;
}
use grammar::{Grammar, Rule};

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The statements that could be read, in source order.
    pub statements: Vec<Statement>,
    /// The names that statements with errors would have declared; using them is no further error.
    pub broken: Vec<Ident>,
    /// What was found wrong, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a file. Never fails as a whole: what cannot be read is reported and left out.
pub fn parse(file: FileId, text: &str) -> Parsed {
    let tokens = lex::tokenize(text);
    let sigs = cut::significant(&tokens);
    let mut parsed = Parsed::default();
    scan::characters(file, text, &tokens, &mut parsed.diagnostics);
    if sigs.is_empty() && parsed.diagnostics.is_empty() {
        let message = "this file holds no statement";
        parsed.diagnostics.push(
            Diagnostic::new(Code::EmptyFile, Span::new(file, 0, 0), message)
                .help("the smallest program is one line: `default -> some_handler`"),
        );
        return parsed;
    }
    let cuts = cut::cut(file, text, &sigs, &mut parsed.diagnostics);
    let read = |cuts: Vec<Cut>| {
        let mut reader = Reader { file, text, tokens: &tokens, sigs: &sigs, parsed: Parsed::default() };
        reader.statements(cuts);
        reader.parsed
    };
    for part in in_parts(cuts, read) {
        parsed.statements.extend(part.statements);
        parsed.broken.extend(part.broken);
        parsed.diagnostics.extend(part.diagnostics);
    }
    parsed.diagnostics.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.start, span.end)));
    parsed
}

/// Statements that make a thread of its own worth while: some milliseconds of work.
const THREAD_FROM: usize = 500;

/// Reads the statements of a large file on several threads, since no statement depends on another.
/// The parts come back in order.
fn in_parts(mut cuts: Vec<Cut>, read: impl Fn(Vec<Cut>) -> Parsed + Sync) -> Vec<Parsed> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = (cuts.len() / THREAD_FROM).clamp(1, cores.min(16));
    let length = cuts.len().div_ceil(threads).max(1);
    let read = &read;
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        while cuts.len() > length {
            let last = cuts.split_off((cuts.len() - 1) / length * length);
            others.push(scope.spawn(move || read(last)));
        }
        let mut parts = vec![read(cuts)];
        parts.extend(others.into_iter().rev().map(|thread| match thread.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        parts
    })
}

struct Reader<'a> {
    file: FileId,
    text: &'a str,
    tokens: &'a [Token],
    sigs: &'a [Sig],
    parsed: Parsed,
}

impl Reader<'_> {
    fn statements(&mut self, cuts: Vec<Cut>) {
        self.parsed.statements.reserve_exact(cuts.len());
        for cut in cuts {
            let statement = self.statement(cut, false);
            self.parsed.statements.extend(statement);
        }
    }

    fn statement(&mut self, cut: Cut, in_table: bool) -> Option<Statement> {
        let head = self.sigs.get(cut.tokens.start)?.token;
        let end = cut.tokens.end.checked_sub(1).map_or(head.end, |last| self.sigs[last].token.end);
        let span = Span { file: self.file, start: head.start, end };
        let kind = self.kind(&cut, span, in_table);
        if kind.is_none() {
            self.broken(&cut, span);
        }
        let (mut span, mut kind) = (span, kind);
        if let Some((inner, close)) = cut.table {
            span.end = self.sigs.get(close).map_or(self.text.len() as u32, |sig| sig.token.end);
            let read: Vec<_> = inner.into_iter().filter_map(|cut| self.statement(cut, true)).collect();
            if let Some(StatementKind::Table { statements, .. }) = &mut kind {
                *statements = read;
            }
        }
        let (docs, allows) = self.before(head);
        kind.map(|kind| Statement { kind, span, docs, allows })
    }

    /// Parses the statement proper; what is wrong is reported.
    fn kind(&mut self, cut: &Cut, span: Span, in_table: bool) -> Option<StatementKind> {
        let head = self.sigs[cut.tokens.start].token;
        let sigs = &self.sigs[cut.tokens.clone()];
        // Characters and strings that cannot be read have been reported as such.
        let unreadable = cut.damaged || sigs.iter().any(|sig| is_unreadable(sig.token.kind));
        let Some(word) = cut.word else {
            if !unreadable {
                self.parsed.diagnostics.push(cut::unknown_statement(self.file, self.text, head));
            }
            return None;
        };
        let place = head.span(self.file);
        if in_table && !word.in_table {
            let message = format!("`{}` cannot stand in a table", word.word);
            self.parsed.diagnostics.push(
                Diagnostic::new(Code::MisplacedStatement, place, message)
                    .help("a table holds `route` and `default` statements; move this one out of it"),
            );
            if word.rule.is_none_or(|rule| rule == Rule::table_statement) {
                return None;
            }
        }
        let Some(rule) = word.rule else {
            let message = format!("`{}` statements are not supported by this version", word.word);
            self.parsed.diagnostics.push(
                Diagnostic::new(Code::UnknownStatement, place, message)
                    .help(format!("if `{0}` is meant as a name, write `` `{0}` `` in backquotes", word.word)),
            );
            return None;
        };
        if let Some(token) = scan::too_deep(self.text, sigs) {
            let message = format!("this statement is nested more than {} deep", cut::MAX_DEPTH);
            self.parsed.diagnostics.push(
                Diagnostic::new(Code::TooDeep, token.span(self.file), message)
                    .help("give inner parts a name with `let`"),
            );
            return None;
        }
        if unreadable {
            return None;
        }
        if matches!(rule, Rule::payload_statement | Rule::group_statement) {
            return self.payload(cut, rule);
        }
        let kind = self.grammar(cut, rule, span);
        if rule == Rule::table_statement && cut.table.is_none() && kind.is_some() {
            let place = self.sigs[cut.tokens.end - 1].token.span(self.file);
            self.parsed.diagnostics.push(
                Diagnostic::new(
                    Code::Unexpected,
                    place,
                    "expected `{` and the table's routes after its name",
                )
                .help("for example: `table billing { default -> billing_handler }`"),
            );
            return None;
        }
        kind.filter(|_| !in_table || word.in_table)
    }

    fn grammar(&mut self, cut: &Cut, rule: Rule, span: Span) -> Option<StatementKind> {
        let slice = &self.text[span.range()];
        allow_calls(slice.len());
        let diagnostics = &mut self.parsed.diagnostics;
        let mut cx = Cx { file: self.file, text: self.text, sigs: self.sigs, span, diagnostics };
        match Grammar::parse(rule, slice) {
            Ok(mut pairs) => pairs.next().and_then(|pair| build::statement(&mut cx, pair).ok()),
            Err(error) => {
                let diagnostic = fail::diagnose(&cx, rule, cut.tokens.start, &error);
                cx.diagnostics.push(diagnostic);
                None
            }
        }
    }

    fn broken(&mut self, cut: &Cut, span: Span) {
        let diagnostics = &mut self.parsed.diagnostics;
        let cx = Cx { file: self.file, text: self.text, sigs: self.sigs, span, diagnostics };
        let name = build::declared_name(&cx, cut.tokens.start, cut.tokens.end);
        self.parsed.broken.extend(name);
    }

    /// The documentation and the `allow`s between a statement and what stands before it.
    fn before(&self, head: Token) -> (String, Vec<Allow>) {
        let at = self.tokens.partition_point(|token| token.start < head.start);
        let first =
            self.tokens[..at].iter().rposition(|token| !token.kind.is_trivia()).map_or(0, |index| index + 1);
        let mut docs: Vec<&str> = Vec::new();
        let mut allows = Vec::new();
        // A comment on the line where the statement before ends belongs to that.
        let mut own_line = first == 0;
        for token in &self.tokens[first..at] {
            let text = token.text(self.text);
            match token.kind {
                TokenKind::Newline => own_line = true,
                TokenKind::DocComment if own_line => {
                    let text = text[2..].trim_end();
                    docs.push(text.strip_prefix(' ').unwrap_or(text));
                }
                TokenKind::Comment if own_line => {
                    if let Some(code) = allowed(text) {
                        let span =
                            Span { end: token.start + text.trim_end().len() as u32, ..token.span(self.file) };
                        allows.push(Allow { code, span });
                    }
                }
                _ => {}
            }
        }
        (docs.join("\n"), allows)
    }
}

/// The warning that a `# rulec: allow W0123 reason` comment silences; `None` if it is no such comment.
fn allowed(comment: &str) -> Option<Option<Code>> {
    let rest = comment.trim_start_matches('#').trim_start().strip_prefix("rulec:")?;
    let rest = rest.trim_start().strip_prefix("allow")?;
    let word = rest.split_whitespace().next().unwrap_or("");
    Some(Code::parse(word).filter(|code| code.as_str().starts_with('W')))
}

fn is_unreadable(kind: TokenKind) -> bool {
    use TokenKind::{SingleQuoted, SmartQuoted, Stray, UnclosedRaw, UnclosedString};
    matches!(kind, Stray | UnclosedString | UnclosedRaw | SingleQuoted | SmartQuoted)
}

/// Calls that the grammar may make in any case, about a second's worth.
const CALLS: usize = 50_000_000;
/// Calls that the grammar may make for each byte of a statement, far above what it needs.
const CALLS_PER_BYTE: usize = 1000;

/// Lets pest make as many calls as a statement of that length can need. The grammar is linear; the
/// limit is there for the case that a change makes it otherwise.
///
/// pest keeps the limit for the whole process and takes it over when a parse begins. So it is only
/// ever raised here, under a lock: whatever other threads do, it is at least what this one needs.
fn allow_calls(length: usize) {
    static GRANTED: Mutex<usize> = Mutex::new(0);
    let needed = CALLS.max(length.saturating_mul(CALLS_PER_BYTE));
    let mut granted = GRANTED.lock().unwrap_or_else(PoisonError::into_inner);
    if needed > *granted {
        *granted = needed;
        pest::set_call_limit(NonZeroUsize::new(needed));
    }
}
