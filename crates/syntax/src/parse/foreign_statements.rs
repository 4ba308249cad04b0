//! Recognizes whole statements of other languages, such as a rule of a production system or a block
//! of definitions. One error for each suggests the same statement in this language; the errors of
//! its parts are left out.

mod blocks;
mod cases;
mod conditionals;
mod definitions;
mod documentation;
mod facts;
mod functions;
mod routes;
mod rules;

use super::declared::DeclaredNames;
use super::splitter::RawStatement;
use super::stream::SignificantToken;
use super::{ParseResult, foreign, is_reserved, remedy, starts_statement};
use crate::lex::{Token, TokenKind};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{FileId, Span, Spanned};
use std::cell::OnceCell;
use std::ops::Range;

/// A recognized statement of another language, with the help text that suggests how to write it in
/// this language.
struct ForeignStatement {
    /// The index after the last token of the statement.
    end_token: usize,
    help: Message,
    /// The names that the statement declares, each with the index of its token.
    declared_names: Vec<(String, usize)>,
}

/// Searches the tokens of a file for statements that are written as in another language.
struct StatementReader<'a> {
    file: FileId,
    text: &'a str,
    significant: &'a [SignificantToken],
    /// The names that the file declares, collected on first use.
    names: OnceCell<DeclaredNames>,
}

/// Replaces the errors in each statement of another language by one error. A file without errors
/// stays as it is.
pub(super) fn report_foreign_statements(
    file: FileId,
    text: &str,
    (significant, statements): (&[SignificantToken], &[RawStatement]),
    parsed: &mut ParseResult,
) {
    let is_error = |diagnostic: &&Diagnostic| diagnostic.is_error();
    let errors = parsed.diagnostics.iter().filter(is_error);
    let mut errors: Vec<u32> = errors.filter_map(|found| found.span().map(|span| span.start)).collect();
    if errors.is_empty() {
        return;
    }
    errors.sort_unstable();
    let reader = StatementReader { file, text, significant, names: OnceCell::new() };
    let starts: Vec<usize> = statements.iter().map(|statement| statement.tokens.start).collect();
    let (mut index, mut depth, mut last_end) = (0, 0_usize, usize::MAX);
    while let Some(item) = significant.get(index) {
        if item.indent() == Some(0) && starts_statement(item.token.text(text)) {
            depth = 0;
        }
        // A line that continues a statement of this language is part of it, as in `route a` with
        // its `when` on the next line.
        let begins = || {
            let start = starts[..starts.partition_point(|start| *start <= index)].last().copied();
            let is_complete = |start: usize| {
                let head = significant[start].token.start as usize..significant[index - 1].token.end as usize;
                remedy::is_valid_statement(&text[head])
            };
            index == last_end || start.is_none_or(|start| start == index || is_complete(start))
        };
        let may_begin = depth == 0 && item.indent().is_some();
        let found = may_begin.then(|| reader.read_foreign_statement(index)).flatten();
        let Some(found) = found.filter(|found| found.end_token > index && begins()) else {
            depth += usize::from(item.token.kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(item.token.kind.closes_bracket()));
            index += 1;
            continue;
        };
        let range = item.token.start..significant[found.end_token - 1].token.end;
        let first_error = errors.partition_point(|start| *start < range.start);
        let has_error = errors.get(first_error).is_some_and(|start| range.contains(start));
        // The parser may have read the line as a part of the statement before it, which is
        // replaced.
        if has_error || index == last_end {
            let is_inside =
                |diagnostic: &Diagnostic| diagnostic.span().is_some_and(|span| range.contains(&span.start));
            parsed.diagnostics.retain(|diagnostic| !is_inside(diagnostic));
            parsed.diagnostics.push(reader.diagnostic(index, found.help));
            // Lines of a block without braces are parsed as statements of their own.
            parsed.statements.retain(|statement| {
                let start = statement.span.start;
                start == range.start || !range.contains(&start)
            });
            for (name, token) in found.declared_names {
                parsed.broken_names.push(Spanned::new(name, reader.token(token).span(file)));
            }
            last_end = found.end_token;
        }
        index = found.end_token;
    }
    remove_needless_semicolons(text, parsed);
}

/// Removes the error for a `;` if its line has an error for an unknown statement or an import. The
/// error for the `;` would come first, and its help could be to remove the line.
fn remove_needless_semicolons(text: &str, parsed: &mut ParseResult) {
    let is_import = |span: Span| {
        let line = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
        text[line..].starts_with("import ")
    };
    let is_unknown = |diagnostic: &&Diagnostic| {
        diagnostic.code == Code::UnknownStatement || diagnostic.span().is_some_and(is_import)
    };
    let unknown = parsed.diagnostics.iter().filter(is_unknown).filter_map(Diagnostic::span);
    let unknown: Vec<usize> = unknown.map(|span| span.start as usize).collect();
    let is_needless = |diagnostic: &Diagnostic| {
        let Some(span) = diagnostic.span().filter(|span| &text[span.range()] == ";") else { return false };
        let line = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
        unknown.iter().any(|start| *start < span.start as usize && *start >= line)
    };
    parsed.diagnostics.retain(|diagnostic| !is_needless(diagnostic));
}

impl<'a> StatementReader<'a> {
    /// Returns the statement of another language that begins at the token `index`, which is the
    /// first of a line. `None` for any other line.
    fn read_foreign_statement(&self, index: usize) -> Option<ForeignStatement> {
        let word = self.lowercase_text(index);
        match word.as_str() {
            "rule" => self.read_production_rule(index),
            "permit" | "forbid" if self.text(index + 1) == "(" => self.read_permission_policy(index),
            "if" | "unless" | "when" | "如果" | "当" | "case" => {
                let call = self.read_bare_condition(index).filter(|_| word == "if");
                let found = call.or_else(|| self.read_conditional_statement(index));
                found.or_else(|| self.read_switch_statement(index).filter(|_| word == "case"))
            }
            "switch" | "match" => self.read_switch_statement(index),
            "default" => self.read_default_of_other_language(index),
            "function" | "func" | "fn" | "def" | "sub" => self.read_function_definition(index),
            "output" | "resource" | "data" | "provider" | "module" | "terraform" | "backend" => {
                self.read_block_without_equivalent(index)
            }
            "let" => self.read_function_as_value(index).or_else(|| self.read_definition(index)),
            "declare" => self.read_drools_declaration(index),
            "@" => self.read_annotation(index),
            word if word.starts_with(['"', '\'']) => self.read_documentation_in_quotes(index),
            "it" | "describe" | "test" if self.text(index + 1) == "(" => {
                self.read_test_written_as_call(index)
            }
            word if starts_statement(word) && self.line_ends_with_colon(index) => {
                self.read_block_after_colon(index)
            }
            // Most lines begin a statement of this language.
            word if starts_statement(word) => None,
            _ => self
                .read_definition(index)
                .or_else(|| self.read_facts(index))
                .or_else(|| self.read_rule_in_braces(index))
                .or_else(|| self.read_target_before_condition(index))
                .or_else(|| self.read_bare_condition(index)),
        }
    }

    fn declared(&self) -> &DeclaredNames {
        self.names.get_or_init(|| DeclaredNames::collect_names(self.text, self.significant))
    }

    fn diagnostic(&self, first: usize, help: Message) -> Diagnostic {
        let span = self.token(first).span(self.file);
        let word = self.text(first);
        let message = match starts_statement(word) {
            true => message!("a `{word}` statement has another form"),
            false => message!("no statement starts with `{word}`"),
        };
        Diagnostic::new(Code::UnknownStatement, span, message).help(help)
    }

    fn token(&self, index: usize) -> Token {
        self.significant[index].token
    }

    /// Returns the text of a token, or an empty text after the last token.
    fn text(&self, index: usize) -> &'a str {
        self.significant.get(index).map_or("", |item| item.token.text(self.text))
    }

    fn lowercase_text(&self, index: usize) -> String {
        self.text(index).to_lowercase()
    }

    fn kind(&self, index: usize) -> Option<TokenKind> {
        self.significant.get(index).map(|item| item.token.kind)
    }

    fn is_word(&self, index: usize) -> bool {
        self.kind(index) == Some(TokenKind::Word)
    }

    /// True for a word that can be the name of a declaration without backquotes.
    fn is_name(&self, index: usize) -> bool {
        self.is_word(index) && !is_reserved(self.text(index))
    }

    /// True if the token at `index` begins a line, or if there is no such token.
    fn begins_line(&self, index: usize) -> bool {
        self.significant.get(index).is_none_or(|item| item.indent().is_some())
    }

    /// Returns the index of the first token on the line below the token `index`, or the number of
    /// tokens if there is no such line.
    fn next_line_start(&self, index: usize) -> usize {
        (index + 1..self.significant.len())
            .find(|token| self.begins_line(*token))
            .unwrap_or(self.significant.len())
    }

    /// Returns the index after the block below the token `index`: the lines up to the next one that
    /// is indented by at most `margin` bytes.
    fn index_after_block(&self, index: usize, margin: u32) -> usize {
        let is_outside =
            |token: &usize| self.significant[*token].indent().is_some_and(|indent| indent <= margin);
        (index + 1..self.significant.len()).find(is_outside).unwrap_or(self.significant.len())
    }

    /// Returns the index of the bracket that closes the bracket at `open`. `None` if it is
    /// unclosed.
    fn closing_bracket(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        (open..self.significant.len()).find(|index| {
            let kind = self.token(*index).kind;
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            depth == 0
        })
    }

    /// Returns the first of the tokens that lies outside brackets and for which `is_meant` is true.
    /// `None` if there is no such token.
    fn find_outside_brackets(&self, tokens: Range<usize>, is_meant: impl Fn(usize) -> bool) -> Option<usize> {
        let mut depth = 0_usize;
        for index in tokens {
            let kind = self.token(index).kind;
            if depth == 0 && is_meant(index) {
                return Some(index);
            }
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
        }
        None
    }

    /// Returns an expression as this language writes it. The operators of other languages are
    /// replaced, and the prefix of a variable or of the message is removed: `$order.total` becomes
    /// `total`. The tokens must not be empty.
    fn translate_expression(&self, tokens: Range<usize>) -> String {
        let mut written = String::new();
        let mut index = tokens.start;
        while index < tokens.end {
            let (token, text) = (self.token(index), self.text(index));
            // `$order.total` and `input.total` mean the field `total`.
            let is_variable = text == "$" && self.is_word(index + 1) && self.text(index + 2) == ".";
            let is_message = text == "input" && self.text(index + 1) == ".";
            let gap = index > tokens.start && self.token(index - 1).end < token.start;
            if gap && !written.ends_with(' ') {
                written.push(' ');
            }
            if is_variable || is_message {
                index += if is_variable { 3 } else { 2 };
                continue;
            }
            let is_tight_not = text == "!" && self.kind(index + 1).is_some();
            match (token.kind, text) {
                (_, "!") if is_tight_not => written.push_str("not "),
                (TokenKind::SingleQuoted, _) => {
                    let inner = text.trim_matches('\'').replace('"', "\\\"");
                    written.push_str(&format!("\"{inner}\""));
                }
                (
                    TokenKind::Operator | TokenKind::Word,
                    "&&" | "||" | "===" | "!==" | "<>" | "=" | "AND" | "OR",
                ) => {
                    let operator = foreign::foreign_operator(text).map_or(text, |(op, _)| op.info().spelling);
                    written.push_str(operator);
                }
                _ => written.push_str(text),
            }
            index += 1;
        }
        written
    }

    /// Returns an expression as this language writes it, without the parentheses around the whole.
    fn translate_without_parentheses(&self, tokens: Range<usize>) -> String {
        match tokens.len() > 2
            && self.text(tokens.start) == "("
            && self.closing_bracket(tokens.start) == Some(tokens.end - 1)
        {
            true => self.translate_expression(tokens.start + 1..tokens.end - 1),
            false => self.translate_expression(tokens),
        }
    }
}
