//! Splits a file into statements. The splitter reads only tokens and no grammar, so an error in one
//! statement does not affect the others.
//!
//! A statement starts with its keyword outside all brackets. If such a keyword starts a line at
//! column 0 while a bracket is open, the closing bracket is missing. All open brackets then count
//! as closed. Within a table, this also applies to a keyword at the indentation of the table's
//! statements.

mod names;

use super::Rule;
use super::stream::{SignificantToken, TokenStream, closing_kind, has_balanced_brackets};
use super::terminals::{self, Terminal};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::FileId;
use rulec_lang::operators;
use std::ops::Range;

/// The tokens of one statement, as indices into the significant tokens.
pub(super) struct RawStatement {
    /// The statement's keyword, with its row in the table of terminals. `None` if the first word
    /// begins no statement.
    pub(super) keyword: Option<&'static Terminal>,
    /// The tokens of the statement. For a table, the tokens before its brace.
    pub(super) tokens: Range<usize>,
    /// Whether an unmatched bracket or an invalid string in the statement was already reported.
    /// Further errors in the statement are then not reported.
    pub(super) is_reported: bool,
    /// The statements between the braces of a table, and the index of the closing brace. `None` for
    /// any other statement.
    pub(super) table_body: Option<(Vec<RawStatement>, usize)>,
}

/// Maximum number of brackets open at once. Deeper nesting is an error, because the parser is
/// recursive.
pub(super) const MAX_BRACKET_DEPTH: usize = 128;

pub(super) fn split_statements(
    file: FileId,
    text: &str,
    stream: &TokenStream,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<RawStatement> {
    let significant = stream.significant.as_slice();
    let mut splitter = Splitter {
        file,
        text,
        significant,
        codes: stream.token_codes.as_bytes(),
        diagnostics,
        is_balanced: has_balanced_brackets(significant.iter().map(|item| item.token.kind)),
        open_brackets: Vec::new(),
        current: None,
        table: None,
        statements: Vec::new(),
        bracket_closed_by_mistake: None,
    };
    for index in 0..significant.len() {
        splitter.visit_token(index);
    }
    splitter.report_open_brackets(0, None);
    splitter.finish_statement(significant.len());
    splitter.end_table(significant.len());
    splitter.statements
}

struct CurrentStatement {
    keyword: Option<&'static Terminal>,
    first_token: usize,
    is_reported: bool,
    /// Whether an unclosed string, a stray character or too deep nesting was found. The brackets
    /// may then be wrong too, so unclosed brackets are not reported.
    ignores_brackets: bool,
}

impl CurrentStatement {
    /// True if the statement begins with a keyword of one of these statement kinds, each given by
    /// its grammar rule.
    fn is_statement_of(&self, rules: &[Rule]) -> bool {
        self.keyword.and_then(|word| word.statement_rule).is_some_and(|rule| rules.contains(&rule))
    }

    fn end_at(self, end: usize) -> RawStatement {
        RawStatement {
            keyword: self.keyword,
            tokens: self.first_token..end,
            is_reported: self.is_reported,
            table_body: None,
        }
    }
}

struct OpenTable {
    head: RawStatement,
    /// The indentation, in bytes, of the table's first statement. `None` if that statement does not
    /// start a line.
    indent: Option<u32>,
    statements: Vec<RawStatement>,
}

struct Splitter<'a> {
    file: FileId,
    text: &'a str,
    significant: &'a [SignificantToken],
    codes: &'a [u8],
    diagnostics: &'a mut Vec<Diagnostic>,
    is_balanced: bool,
    /// The tokens of the open brackets, as indices, outermost first. Inside a table, the first one
    /// is the table's brace.
    open_brackets: Vec<usize>,
    current: Option<CurrentStatement>,
    table: Option<OpenTable>,
    statements: Vec<RawStatement>,
    /// The first bracket that was probably closed by mistake, with the bracket that closed it. The
    /// closing bracket starts a line that is indented less than the line of the first bracket.
    /// `None` if no such bracket was found.
    bracket_closed_by_mistake: Option<(usize, usize)>,
}

impl<'a> Splitter<'a> {
    fn token_text(&self, index: usize) -> &'a str {
        self.significant[index].token.text(self.text)
    }

    /// True if the token has the spelling that the table of terminals lists for the code `code`.
    /// Other spellings may share the code: `==` has the code of `=`, and `=>` the code of `->`.
    fn is_terminal(&self, index: usize, code: u8) -> bool {
        self.token_text(index) == terminals::terminal(code).text
    }

    fn base_bracket_count(&self) -> usize {
        usize::from(self.table.is_some())
    }

    fn visit_token(&mut self, index: usize) {
        let token = self.significant[index].token;
        if token.kind == TokenKind::Word {
            let indent = self.significant[index].indent();
            let word = terminals::terminal(self.codes[index]);
            let word = Some(word).filter(|word| word.starts_statement() && !self.is_keyword_as_name(index));
            if let (Some(word), Some(indent)) = (word, indent) {
                self.close_brackets_at_keyword(index, word, indent);
            }
            if self.open_brackets.len() == self.base_bracket_count() {
                match word {
                    Some(word) if indent.is_some() || !self.expects_continuation(index) => {
                        return self.start_statement(index, Some(word));
                    }
                    None if indent.is_some_and(|indent| self.probably_begins_statement(index, indent)) => {
                        return self.start_statement(index, None);
                    }
                    _ => {}
                }
            }
        }
        let at_base = self.open_brackets.len() == self.base_bracket_count();
        if at_base && self.is_text_before_keyword(index) {
            return self.start_statement(index, None);
        }
        match token.kind {
            TokenKind::Semicolon
                if at_base && (self.is_in_shell_construct(index) || self.is_in_condition(index)) => {}
            TokenKind::Semicolon if at_base => return self.report_semicolon(index),
            // The token was already reported and may hide a bracket. So a missing bracket is not
            // reported too.
            TokenKind::UnclosedString | TokenKind::UnclosedRaw | TokenKind::Stray => {
                if let Some(current) = &mut self.current {
                    (current.is_reported, current.ignores_brackets) = (true, true);
                }
            }
            kind if kind.opens_bracket() => return self.open_bracket(index, at_base),
            kind if kind.closes_bracket() => return self.close_bracket(index),
            _ => {}
        }
        if self.current.is_none() {
            self.start_statement(index, None);
        }
    }

    fn start_statement(&mut self, index: usize, word: Option<&'static Terminal>) {
        self.finish_statement(index);
        if let Some(table) = &mut self.table
            && table.statements.is_empty()
        {
            table.indent = self.significant[index].indent();
        }
        self.current = Some(CurrentStatement {
            keyword: word,
            first_token: index,
            is_reported: false,
            ignores_brackets: false,
        });
    }

    fn finish_statement(&mut self, end: usize) {
        if let Some(current) = self.current.take() {
            let statement = current.end_at(end);
            match &mut self.table {
                Some(table) => table.statements.push(statement),
                None => self.statements.push(statement),
            }
        }
    }

    fn end_table(&mut self, close: usize) {
        if let Some(table) = self.table.take() {
            self.statements.push(RawStatement { table_body: Some((table.statements, close)), ..table.head });
        }
    }

    /// True if no statement can end with the token before `index`. A statement keyword at `index`,
    /// on the same line, is then meant as a name.
    fn expects_continuation(&self, index: usize) -> bool {
        let (Some(previous), true) = (index.checked_sub(1), self.current.is_some()) else { return false };
        use TokenKind::{Arrow, At, Comma, Dot, Operator, Word};
        match self.significant[previous].token.kind {
            // `type Names = list<string>` is complete.
            Operator if self.is_terminal(previous, terminals::GREATER) => {
                let ends_with_type = [Rule::type_statement, Rule::extern_statement];
                !self.current.as_ref().is_some_and(|current| current.is_statement_of(&ends_with_type))
            }
            Arrow | Operator | Comma | Dot | At => true,
            Word => {
                let (word, text) = (terminals::terminal(self.codes[previous]), self.token_text(previous));
                let is_statement_start =
                    self.current.as_ref().is_some_and(|current| current.first_token == previous);
                // The keyword must begin its statement. A name with the same spelling does not
                // count.
                let wants_name = word.wants_name() && (is_statement_start || !word.starts_statement());
                wants_name
                    || self.is_terminal(previous, terminals::NOT)
                    || operators::Op::from_spelling(text).is_some()
                    || matches!(text, "is" | "where")
            }
            _ => false,
        }
    }

    /// True if a statement probably begins with the word at `index`, although the word is no
    /// statement keyword. The word begins a line and is indented by `indent` bytes, not further
    /// than the current statement, which cannot continue with this word.
    fn probably_begins_statement(&self, index: usize, indent: u32) -> bool {
        let Some(current) = &self.current else { return true };
        let word = self.token_text(index);
        let margin = self.significant[current.first_token].indent();
        margin.is_some_and(|margin| indent <= margin)
            && !self.expects_continuation(index)
            && !terminals::terminal(self.codes[index]).continues_statement()
            // `next` is a destination of a router, although the grammar reads it as a name.
            && word != "next"
            && !operators::is_reserved_word(word)
            && self.significant[index - 1].token.kind != TokenKind::Colon
    }

    /// Closes all open brackets if the keyword `word`, indented by `indent`, is at column 0 or
    /// aligned with the table's statements. In text without errors, no bracket is open there.
    fn close_brackets_at_keyword(&mut self, index: usize, word: &Terminal, indent: u32) {
        if let Some(table) = &self.table {
            let is_first = table.statements.is_empty() && self.current.is_none();
            if word.is_allowed_in_table() && (is_first || table.indent == Some(indent)) {
                return self.report_open_brackets(1, Some(index));
            }
            // If a table's statements are not indented, a keyword at column 0 ends the table only
            // if brackets are unbalanced.
            if table.indent == Some(0) && self.is_balanced {
                return;
            }
        }
        if indent == 0 && !self.open_brackets.is_empty() {
            self.report_open_brackets(0, Some(index));
            self.finish_statement(index);
            self.end_table(index);
        }
    }

    /// Reports all open brackets except the outermost `keep` ones, and removes the reported
    /// brackets from `open_brackets`. `next` is the token that begins the next statement, if any.
    fn report_open_brackets(&mut self, keep: usize, next: Option<usize>) {
        while self.open_brackets.len() > keep {
            let bracket = self.open_brackets[self.open_brackets.len() - 1];
            self.report_unclosed(
                bracket,
                next.map(|next| (next, message!("the next statement begins here"))),
            );
            self.open_brackets.pop();
        }
    }

    /// Returns the number of bytes before the first token of the line on which the token `index`
    /// lies. Returns 0 for the first line of a statement outside tables, because the formatter
    /// removes the indentation of this line.
    fn line_indent(&self, index: usize) -> u32 {
        let first = (0..=index).rev().find(|index| self.significant[*index].indent().is_some());
        let begins_statement = |current: &CurrentStatement| Some(current.first_token) == first;
        if self.table.is_none() && self.current.as_ref().is_some_and(begins_statement) {
            return 0;
        }
        first.and_then(|first| self.significant[first].indent()).unwrap_or(0)
    }

    /// Finds a bracket that the author probably left open, with the brace that closed it by
    /// mistake. `outer` is the bracket that has no closing bracket.
    ///
    /// The indentation shows the mistake: the brace starts a line that is indented like the line of
    /// `outer`, and less than the line of the returned bracket. `None` if the indentation shows no
    /// such mistake.
    fn find_misattributed_brace(&self, outer: usize) -> Option<(usize, usize)> {
        let (opened, closed) = self.bracket_closed_by_mistake.filter(|(opened, _)| *opened > outer)?;
        let margin = self.significant[closed].indent()?;
        (self.line_indent(opened) > margin && self.line_indent(outer) == margin).then_some((opened, closed))
    }

    fn report_unclosed(&mut self, bracket: usize, related: Option<(usize, Message)>) {
        let (bracket, related) = match self.find_misattributed_brace(bracket) {
            Some((opened, closed)) => {
                let label = message!("this brace closes it, but lies at the start of a line");
                (opened, Some((closed, label)))
            }
            None => (bracket, related),
        };
        let is_table = self.table.is_some() && self.open_brackets.first() == Some(&bracket);
        if !is_table && let Some(current) = &mut self.current {
            current.is_reported = true;
            if current.ignores_brackets {
                return;
            }
        }
        let opening = self.token_text(bracket);
        let closing = match opening {
            "(" => ")",
            "[" => "]",
            _ => "}",
        };
        let span = self.significant[bracket].token.span(self.file);
        let diagnostic = Diagnostic::new(Code::UnclosedBracket, span, message!("`{opening}` is not closed"))
            .here(message!("`{closing}` is missing"));
        let is_moved = related
            .as_ref()
            .is_some_and(|(closed, _)| self.bracket_closed_by_mistake == Some((bracket, *closed)));
        let diagnostic = match is_moved {
            true => {
                diagnostic.help(message!("write `{closing}` before the end of this line, or of its block"))
            }
            false => diagnostic,
        };
        self.diagnostics.push(match related {
            Some((index, label)) => diagnostic.label(self.significant[index].token.span(self.file), label),
            None => diagnostic.help(message!("the file ends before its `{closing}`")),
        });
    }

    fn open_bracket(&mut self, index: usize, at_base: bool) {
        let is_table = |current: &mut CurrentStatement| current.is_statement_of(&[Rule::table_statement]);
        let is_brace = self.significant[index].token.kind == TokenKind::OpenBrace;
        if self.table.is_none()
            && at_base
            && is_brace
            && let Some(current) = self.current.take_if(is_table)
        {
            self.table =
                Some(OpenTable { head: current.end_at(index), indent: None, statements: Vec::new() });
            self.open_brackets.push(index);
            return;
        }
        if self.current.is_none() {
            self.start_statement(index, None);
        }
        self.open_brackets.push(index);
        if self.open_brackets.len() > MAX_BRACKET_DEPTH + 1
            && let Some(current) = &mut self.current
        {
            current.ignores_brackets = true;
        }
    }

    fn close_bracket(&mut self, index: usize) {
        let kind = self.significant[index].token.kind;
        let matches_kind = |open: &usize| closing_kind(self.significant[*open].token.kind) == kind;
        match self.open_brackets.iter().rposition(matches_kind) {
            // A closing bracket may match a bracket that is not the innermost open one. The match
            // is accepted only within the current statement, or for a brace, which may end the
            // table.
            Some(open_index)
                if open_index + 1 == self.open_brackets.len()
                    || open_index >= self.base_bracket_count()
                    || kind == TokenKind::CloseBrace =>
            {
                while self.open_brackets.len() > open_index + 1 {
                    let bracket = self.open_brackets[self.open_brackets.len() - 1];
                    self.report_unclosed(bracket, Some((index, message!("an outer bracket is closed here"))));
                    self.open_brackets.pop();
                }
                let opened = self.open_brackets.pop();
                if let (Some(margin), Some(opened)) = (self.significant[index].indent(), opened)
                    && self.bracket_closed_by_mistake.is_none()
                    && self.line_indent(opened) > margin
                {
                    self.bracket_closed_by_mistake = Some((opened, index));
                }
                if open_index == 0 && self.table.is_some() {
                    self.finish_statement(index);
                    self.end_table(index);
                }
            }
            _ => {
                if self.current.is_none() {
                    self.start_statement(index, None);
                }
                let was_damaged =
                    self.current.as_mut().map(|current| std::mem::replace(&mut current.is_reported, true));
                if was_damaged != Some(true) {
                    let closing = self.token_text(index);
                    let span = self.significant[index].token.span(self.file);
                    let message = message!("`{closing}` has no opening bracket");
                    self.diagnostics.push(
                        Diagnostic::new(Code::UnmatchedBracket, span, message)
                            .help(message!("remove it, or add its opening bracket")),
                    );
                }
            }
        }
    }

    /// True for a `;` inside a loop or condition of a shell, as in `for x in items; do`. The parser
    /// reports the whole loop.
    fn is_in_shell_construct(&self, index: usize) -> bool {
        let is_part = self.significant.get(index + 1).is_some_and(|item| {
            matches!(item.token.text(self.text), "do" | "then" | "done" | "fi") && item.indent().is_none()
        });
        let opens = |token: usize| matches!(self.token_text(token), "for" | "foreach");
        is_part && self.current.as_ref().is_some_and(|current| (current.first_token..index).any(opens))
    }

    /// True for a `;` between the conditions of a route: its arrow follows on the same line.
    fn is_in_condition(&self, index: usize) -> bool {
        let is_arrow = |token: &usize| self.significant[*token].token.kind == TokenKind::Arrow;
        let Some(current) = &self.current else { return false };
        let is_open = current.is_statement_of(&[Rule::route_statement])
            && !(current.first_token..index).any(|token| is_arrow(&token));
        let line = (index + 1..self.significant.len())
            .take_while(|token| self.significant[*token].indent().is_none());
        let starts_next = |token: &usize| terminals::terminal(self.codes[*token]).starts_statement();
        is_open && line.take_while(|token| !starts_next(token)).any(|token| is_arrow(&token))
    }

    fn report_semicolon(&mut self, index: usize) {
        let span = self.significant[index].token.span(self.file);
        self.finish_statement(index);
        self.diagnostics.push(
            Diagnostic::new(Code::Unexpected, span, message!("statements do not end with `;`"))
                .help(message!("remove the `;`: a statement ends where the next one begins"))
                .fix(span, ""),
        );
    }
}
