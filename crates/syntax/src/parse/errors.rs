//! Creates the diagnostic for the first token that the grammar rejects. The message names the
//! expected tokens and the token found instead, or it explains what the author probably meant.

mod habits;
mod missing;
pub(super) mod part_shapes;
mod slips;

use super::context::{StatementContext, reserved_value_error, reserved_word_error, unexpected_token};
use super::terminals::{self, is_reserved};
use super::{Rule, phrase, unknown};
use crate::lex::{Token, TokenKind};
use pest::error::{Error, ErrorVariant, InputLocation};
use rulec_base::diag::{Code, Diagnostic, Message, has_one_near_candidate, list_alternatives, nearest};
use rulec_base::message;
use rulec_base::span::Span;

/// Maximum number of expected tokens or parts that one message names, to keep messages short.
const MAX_EXPECTED_ITEMS: usize = 3;

/// Creates the diagnostic for a statement or item that cannot be parsed. `rule` is the grammar rule
/// that should match it, and `error` is the error of pest.
pub(super) fn diagnose(cx: &StatementContext<'_>, rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let offset = match error.location {
        InputLocation::Pos(offset) | InputLocation::Span((offset, _)) => offset,
    };
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { message } => return grammar_limit_error(cx, message),
    };
    let token_index = (cx.tokens.start + offset).min(cx.tokens.end);
    let token = cx.significant[token_index.min(cx.tokens.end - 1)].token;
    let found_text = if token_index < cx.tokens.end { token.text(cx.text) } else { "" };
    let mut failure =
        ParseFailure { cx, rule, expected, token_index, token, span: token.span(cx.file), found_text };
    // `list<>`: the brackets are one token, and the missing part is the type between them.
    if failure.expects_rule(Rule::less) && found_text.starts_with('<') {
        failure.expected = &[Rule::type_expr];
    }
    failure.common_mistake_error().unwrap_or_else(|| failure.expected_found_diagnostic())
}

/// Returns the diagnostic for a statement that is too complex or nested too deep. `message` is the
/// error of pest, which reached its call limit or the stack limit.
fn grammar_limit_error(cx: &StatementContext<'_>, message: &str) -> Diagnostic {
    let statement_span = cx.significant[cx.tokens.start].token.span(cx.file);
    if message.contains("stack") {
        return Diagnostic::new(Code::TooDeep, statement_span, message!("this statement is nested too deep"))
            .help(message!("give parts of it a name with `let`"));
    }
    Diagnostic::new(Code::TooComplex, statement_span, message!("this statement is too complex to read"))
        .help(message!("split it, or give parts of it a name with `let`"))
}

struct ParseFailure<'f, 'a> {
    cx: &'f StatementContext<'a>,
    rule: Rule,
    expected: &'f [Rule],
    /// The index of the unexpected token in the tokens of the file. At the end of the statement,
    /// the index after its last token.
    token_index: usize,
    /// The unexpected token. At the end of the statement, its last token.
    token: Token,
    span: Span,
    /// The text of the unexpected token. Empty at the end of the statement.
    found_text: &'a str,
}

impl<'a> ParseFailure<'_, 'a> {
    fn expects_rule(&self, rule: Rule) -> bool {
        self.expected.contains(&rule)
    }

    fn is_at_end(&self) -> bool {
        self.token_index >= self.cx.tokens.end
    }

    /// Describes the unexpected token for a message, such as "`when`" or "the end of the
    /// statement".
    fn describe_found(&self) -> Message {
        if self.is_at_end() {
            phrase::END_OF_STATEMENT
        } else {
            message!("`{}`", self.cx.shorten_source(self.span))
        }
    }

    fn token_text(&self, token: Token) -> &'a str {
        token.text(self.cx.text)
    }

    fn token_before(&self) -> Option<Token> {
        let index = self.token_index.checked_sub(1).filter(|index| *index >= self.cx.tokens.start)?;
        Some(self.cx.significant[index].token)
    }

    /// True if the token before the unexpected one has this text.
    fn is_preceded_by(&self, text: &str) -> bool {
        self.token_before().is_some_and(|before| self.token_text(before) == text)
    }

    fn unexpected_token(&self, message: impl Into<Message>, help: impl Into<Message>) -> Option<Diagnostic> {
        Some(unexpected_token(self.span, message, help))
    }

    /// True if the grammar expects only tokens of an expression. The author then left out a value.
    fn is_value_expected(&self) -> bool {
        // If only a string or a brace is expected, the token belongs to the statement and does not
        // begin a value.
        let belongs_to_statement = |rule: &Rule| matches!(rule, Rule::string | Rule::open_brace);
        self.expected.iter().all(|rule| phrase::is_expression_piece(*rule))
            && !self.expected.iter().all(belongs_to_statement)
    }

    fn expected_found_diagnostic(&self) -> Diagnostic {
        let mut phrases: Vec<Message> = Vec::new();
        let expects_value = self.is_value_expected();
        for rule in self.expected {
            if let Some(phrase) = phrase::rule_phrase(*rule)
                && (expects_value || !phrase::is_expression_piece(*rule) || self.is_statement_opening(*rule))
                && !phrases.contains(&phrase)
                && !(phrase == phrase::END_OF_STATEMENT && self.is_at_end())
            {
                phrases.push(phrase);
            }
        }
        if expects_value {
            phrases =
                vec![if self.is_preceded_by("when") { message!("a condition") } else { message!("a value") }];
        }
        if self.expects_rule(Rule::arrow) && self.rule != Rule::extern_statement {
            phrases = vec![match self.rule {
                Rule::flow_statement => message!("`->` and a flow id"),
                Rule::router_statement | Rule::workflow_statement => message!("`->` and a next node"),
                _ => message!("`->` and a handler"),
            }];
        }
        phrases.truncate(MAX_EXPECTED_ITEMS);
        let (expected, found) = (list_alternatives(phrases), self.describe_found());
        let is_after_condition = self.rule == Rule::route_statement && self.expects_rule(Rule::arrow);
        let message = match self.token_before() {
            Some(_) if is_after_condition && !self.is_preceded_by("default") => {
                message!("expected {expected} after the condition, found {found}")
            }
            Some(before) => {
                let before = self.cx.shorten_source(before.span(self.cx.file));
                message!("expected {expected} after `{before}`, found {found}")
            }
            None => message!("expected {expected}, found {found}"),
        };
        let diagnostic = Diagnostic::new(Code::Unexpected, self.span, message);
        if let Some(nearest_word) = self.nearest_expected_word() {
            return diagnostic.did_you_mean(self.span, Some(&nearest_word));
        }
        if self.found_text == "@" && self.rule == Rule::input_statement {
            return diagnostic
                .help(message!("write the mark of a field after its type: `phone?: string @private`"));
        }
        match self.shape_help() {
            Some(shape) => diagnostic.help(shape),
            None => diagnostic,
        }
    }

    /// Returns the expected word that is nearest in spelling to the unexpected word. `None` if the
    /// difference is too great for a typing error.
    fn nearest_expected_word(&self) -> Option<String> {
        if self.token.kind != TokenKind::Word || self.is_at_end() {
            return None;
        }
        let words: Vec<String> =
            self.expected.iter().filter_map(|rule| phrase::first_word_of_phrase(*rule)).collect();
        let words = words.iter().map(String::as_str).filter(|word| word.starts_with(char::is_alphabetic));
        nearest(self.found_text, words).map(str::to_owned)
    }

    /// True if `rule` matches a bracket, string or number that is a part of the statement itself,
    /// such as the string in `import "a.rules"`. False if the grammar also expects an expression
    /// here. The token may then begin the expression, and messages do not list such tokens.
    fn is_statement_opening(&self, rule: Rule) -> bool {
        matches!(rule, Rule::open_paren | Rule::open_brace | Rule::string | Rule::number)
            && !self.expects_rule(Rule::run)
            && !self.expects_rule(Rule::atom)
    }

    /// True if the statement with the error is a `flow tool` statement.
    fn is_flow_tool(&self) -> bool {
        self.cx
            .significant
            .get(self.cx.tokens.start + 1)
            .is_some_and(|item| self.token_text(item.token) == "tool")
    }

    /// Returns a diagnostic for a common mistake, which helps more than a list of expected tokens.
    /// `None` if no common mistake is recognized.
    fn common_mistake_error(&self) -> Option<Diagnostic> {
        let (span, found, kind) = (self.span, self.found_text, self.token.kind);
        if let Some(diagnostic) = self.small_mistake_error() {
            return Some(diagnostic);
        }
        let names = [
            Rule::name,
            Rule::node_id,
            Rule::type_name,
            Rule::target,
            Rule::handler_target,
            Rule::goto_target,
        ];
        let expects_name = names.into_iter().any(|rule| self.expects_rule(rule));
        let is_foreign_keyword = matches!(found, "input" | "else" | "otherwise" | "default");
        if let (true, Some(diagnostic)) = (is_foreign_keyword, self.foreign_syntax_in_statement_error()) {
            return Some(diagnostic);
        }
        if kind == TokenKind::Word && is_reserved(found) && !self.is_at_end() {
            if expects_name {
                return Some(self.reserved_name_error(span, found));
            }
            if self.is_value_expected()
                || self.expected.iter().any(|rule| phrase::is_expression_piece(*rule))
                    && self.is_after_operator()
            {
                return Some(reserved_value_error(found, span));
            }
        }
        let expects_name = expects_name
            || self.statement_declares_fields()
                && (self.expects_rule(Rule::key) || self.expects_rule(Rule::field));
        if expects_name && matches!(kind, TokenKind::String | TokenKind::RawString) && !self.is_at_end() {
            return Some(self.quoted_name_error(span, found));
        }
        if found == "when" && self.rule != Rule::route_statement {
            // `let a = 1 rout b when …`: the previous two words were parsed as operator and
            // operand.
            let word = self.token_index.checked_sub(2).filter(|index| *index > self.cx.tokens.start);
            let word = word.map(|index| self.cx.significant[index].token);
            if let Some(diagnostic) = word.and_then(|word| self.misspelt_statement_error(word)) {
                return Some(diagnostic);
            }
        }
        if self.expects_rule(Rule::EOI)
            && !is_payload_item(self.rule)
            && !self.is_at_end()
            && !is_reserved(found)
            && let Some(diagnostic) = self.misspelt_statement_error(self.token)
        {
            return Some(diagnostic);
        }
        if found == "-"
            && let Some(diagnostic) = self.hyphenated_name_error()
        {
            return Some(diagnostic);
        }
        if let Some(diagnostic) = self.foreign_syntax_in_statement_error() {
            return Some(diagnostic);
        }
        if is_payload_item(self.rule) {
            return None;
        }
        self.statement_mistake_error()
    }

    /// Returns a diagnostic if the word is likely a misspelt statement keyword: it begins a line,
    /// or differs from a keyword by only one typing error. `None` for other words, and if no fix is
    /// known.
    fn misspelt_statement_error(&self, word: Token) -> Option<Diagnostic> {
        let diagnostic = unknown::unknown_statement_error(self.cx.file, self.cx.text, word);
        let index = self.cx.significant.partition_point(|item| item.token.start < word.start);
        let begins_line = self.cx.significant.get(index).is_some_and(|item| item.indent().is_some());
        let is_likely = begins_line
            || has_one_near_candidate(&self.token_text(word).to_lowercase(), terminals::statement_words());
        let is_word = word.kind == TokenKind::Word;
        Some(diagnostic).filter(|diagnostic| is_word && is_likely && !diagnostic.fixes.is_empty())
    }

    /// Returns a diagnostic for a mistake that is specific to one kind of statement. `None` without
    /// such a mistake.
    fn statement_mistake_error(&self) -> Option<Diagnostic> {
        let found = self.found_text;
        if self.expects_rule(Rule::kw_when) {
            return self.missing_when_error();
        }
        let is_route = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        if is_route && self.is_preceded_by("(") && self.expects_rule(Rule::close_paren) {
            return self.unexpected_token(
                message!("arguments must be named"),
                match found {
                    "{" => message!("write the arguments without braces: `-> handler(name: value)`"),
                    _ => message!("write `-> handler(name: value)`"),
                },
            );
        }
        if self.expects_rule(Rule::arrow) && self.rule == Rule::route_statement {
            return self.missing_arrow_error();
        }
        if self.expects_rule(Rule::number) && self.is_preceded_by("priority") {
            let message = message!("a priority must be a whole number, found {}", self.describe_found());
            let help = match found {
                "=" | ":" => {
                    let number =
                        self.cx.significant.get(self.token_index + 1).map(|item| self.token_text(item.token));
                    let number = number.filter(|text| text.starts_with(|c: char| c.is_ascii_digit()));
                    let help = message!("write `priority {}`", number.unwrap_or("10"));
                    let end = self
                        .cx
                        .significant
                        .get(self.token_index + 1)
                        .map_or(self.span.end, |item| item.token.start);
                    let start = self.token_before().map_or(self.span.start, |before| before.end);
                    let span = Span { start, end, ..self.span };
                    return Some(unexpected_token(self.span, message, help).fix(span, " "));
                }
                _ => {
                    message!(
                        "write for example `priority 10`; higher priorities are tried first, and the default is 0"
                    )
                }
            };
            return self.unexpected_token(message, help);
        }
        if found == "?"
            && (self.expects_rule(Rule::private) || self.expects_rule(Rule::comma))
            && self.statement_declares_fields()
        {
            let message = message!("`?` must come after the field's name");
            if let Some((span, field)) = self.find_misplaced_optional_mark() {
                let diagnostic = unexpected_token(
                    self.span,
                    message,
                    message!("write `{replacement}`", replacement = field),
                );
                return Some(diagnostic.fix(span, field));
            }
            return self.unexpected_token(message, message!("write `name?: type`"));
        }
        if self.rule == Rule::test_statement && self.expects_rule(Rule::kw_expect) && found == "}" {
            let help = message!("end the test with `expect ROUTE`, `expect default` or `expect none`");
            return self.unexpected_token(message!("this test has no `expect`"), help);
        }
        None
    }

    /// Returns a diagnostic for a name with a hyphen, such as `show-files`. `None` without such a
    /// mistake.
    fn hyphenated_name_error(&self) -> Option<Diagnostic> {
        let before = self.token_before().filter(|token| token.kind == TokenKind::Word)?;
        let next_token = self.cx.significant.get(self.token_index + 1)?.token;
        let without_spaces = before.end == self.token.start && next_token.start == self.token.end;
        if next_token.kind != TokenKind::Word || !without_spaces {
            return None;
        }
        let name = format!("{}_{}", self.token_text(before), self.token_text(next_token));
        let help = message!("names are made of letters, digits and `_`: write `{name}`");
        let name_span = Span { start: before.start, end: next_token.end, ..self.span };
        Some(self.unexpected_token(message!("a name cannot contain `-`"), help)?.likely_fix(name_span, name))
    }

    fn is_after_operator(&self) -> bool {
        let Some(before) = self.token_before() else { return false };
        let word = self.token_text(before);
        match before.kind {
            TokenKind::Operator | TokenKind::Comma => true,
            TokenKind::Word => word == "not" || rulec_lang::operators::Op::from_spelling(word).is_some(),
            kind => kind.opens_bracket(),
        }
    }

    fn statement_declares_fields(&self) -> bool {
        matches!(
            self.rule,
            Rule::input_statement
                | Rule::handler_statement
                | Rule::def_statement
                | Rule::extern_statement
                | Rule::type_statement
        )
    }

    fn reserved_name_error(&self, span: Span, found: &str) -> Diagnostic {
        if let Some(diagnostic) = self.reserved_route_name_error(span, found) {
            return diagnostic;
        }
        let diagnostic = reserved_word_error(found, span, message!("a name"));
        let next = self.cx.significant.get(self.token_index + 1).map(|item| self.token_text(item.token));
        // `route when …`: a missing name is more likely than a route called `when`.
        if self.is_preceded_by("route")
            && found == "when"
            && !matches!(next, Some("when" | "priority" | "disabled"))
        {
            let help = message!(
                "write a name before `when`; to use the word itself as the name, write `` `when` `` in backquotes"
            );
            let start = Span { end: span.start, ..span };
            let diagnostic = Diagnostic { fixes: Vec::new(), ..diagnostic };
            return diagnostic.help(help).likely_fix(start, "NAME ");
        }
        diagnostic
    }

    /// Returns the diagnostic for `default` or `none` as the name of a route or table, which
    /// neither word can be, even in backquotes. `None` for other names.
    fn reserved_route_name_error(&self, span: Span, found: &str) -> Option<Diagnostic> {
        let keyword = self.token_text(self.token_before()?);
        if !matches!(found, "default" | "none") || !matches!(keyword, "route" | "table" | "choice" | "router")
        {
            return None;
        }
        let message = match keyword {
            "route" => message!("a route cannot be named `{name}`", name = found.to_owned()),
            "table" => message!("a table cannot be named `{}`", found.to_owned()),
            _ => message!("a table, choice or router cannot be named `{name}`", name = found.to_owned()),
        };
        let arrow = (self.token_index..self.cx.tokens.end)
            .find(|index| self.token_text(self.cx.significant[*index].token) == "->");
        let target = arrow
            .and_then(|arrow| self.cx.significant.get(arrow + 1))
            .map_or("HANDLER", |item| self.token_text(item.token));
        let help = match keyword {
            "route" if found == "default" => message!(
                "choose another name; for messages that no route matches, write `default -> {target}`"
            ),
            _ => message!("this word has its own meaning in decisions and tests; choose another name"),
        };
        Some(Diagnostic::new(Code::ReservedTableName, span, message).help(help))
    }

    fn quoted_name_error(&self, span: Span, found: &str) -> Diagnostic {
        let inner = found.trim_start_matches(['r', '#']).trim_matches(['"', '#']);
        let mut name: String =
            inner.chars().map(|c| if unicode_ident::is_xid_continue(c) { c } else { '_' }).collect();
        if !name.starts_with(|c| c == '_' || unicode_ident::is_xid_start(c)) || is_reserved(&name) {
            name = format!("_{name}");
        }
        let diagnostic =
            Diagnostic::new(Code::Unexpected, span, message!("a name is written without quotes"));
        match name.chars().count() {
            0..=60 => diagnostic.help(message!("write `{name}`")).likely_fix(span, name),
            _ => diagnostic,
        }
    }
}

/// True for a grammar rule that matches an item between the braces of a `payload` or `group`.
pub(super) fn is_payload_item(rule: Rule) -> bool {
    use Rule as R;
    matches!(
        rule,
        R::field_item
            | R::require_item
            | R::forbid_item
            | R::compiles_item
            | R::closed_item
            | R::let_item
            | R::include_item
            | R::each_item
    )
}
