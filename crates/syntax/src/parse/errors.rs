//! Converts the furthest failure of the grammar into a helpful message: the expected tokens, the
//! token found instead, and the usual meaning of such text.

mod habits;
mod missing;

use super::context::{StatementContext, reserved_value, reserved_word, unexpected};
use super::terminals::is_reserved;
use super::{Rule, phrase, splitter};
use crate::lex::{Token, TokenKind};
use pest::error::{Error, ErrorVariant, InputLocation};
use rulec_base::diag::{Code, Diagnostic, Message, nearest, one_of};
use rulec_base::message;
use rulec_base::span::Span;

/// Maximum number of expected items named in one message, to keep messages short.
const MAX_EXPECTED: usize = 3;

/// Creates the diagnostic for a statement that the grammar cannot parse.
pub(super) fn diagnose(cx: &StatementContext<'_>, rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { message } => return limit(cx, message),
    };
    let at = (cx.tokens.start + at).min(cx.tokens.end);
    let token = cx.sigs[at.min(cx.tokens.end - 1)].token;
    let found = if at < cx.tokens.end { token.text(cx.text) } else { "" };
    let mut failure = Failure { cx, rule, expected, at, token, span: token.span(cx.file), found };
    // `list<>`: the brackets are one token, and the missing part is the type between them.
    if failure.wants(Rule::less) && found.starts_with('<') {
        failure.expected = &[Rule::type_expr];
    }
    failure.known_mistake().unwrap_or_else(|| failure.expected_found())
}

/// Creates the diagnostic if the grammar reached its call limit or the stack limit.
fn limit(cx: &StatementContext<'_>, message: &str) -> Diagnostic {
    let place = cx.sigs[cx.tokens.start].token.span(cx.file);
    if message.contains("stack") {
        return Diagnostic::new(Code::TooDeep, place, message!("this statement is nested too deep"))
            .help(message!("give parts of it a name with `let`"));
    }
    Diagnostic::new(Code::TooComplex, place, message!("this statement is too complex to read"))
        .help(message!("split it, or give parts of it a name with `let`"))
}

struct Failure<'f, 'a> {
    cx: &'f StatementContext<'a>,
    rule: Rule,
    expected: &'f [Rule],
    /// The index of the unexpected token. At the end of the statement, the index after its last
    /// token.
    at: usize,
    /// The unexpected token. At the end of the statement, its last token.
    token: Token,
    span: Span,
    /// The text of the unexpected token. Empty at the end of the statement.
    found: &'a str,
}

impl<'a> Failure<'_, 'a> {
    fn wants(&self, rule: Rule) -> bool {
        self.expected.contains(&rule)
    }

    fn at_end(&self) -> bool {
        self.at >= self.cx.tokens.end
    }

    /// Describes the unexpected token.
    fn found_words(&self) -> Message {
        if self.at_end() { phrase::END } else { message!("`{}`", self.cx.short(self.span)) }
    }

    fn text(&self, token: Token) -> &'a str {
        token.text(self.cx.text)
    }

    fn before(&self) -> Option<Token> {
        let index = self.at.checked_sub(1).filter(|index| *index >= self.cx.tokens.start)?;
        Some(self.cx.sigs[index].token)
    }

    /// True if the token before the unexpected one has this text.
    fn is_behind(&self, text: &str) -> bool {
        self.before().is_some_and(|before| self.text(before) == text)
    }

    fn unexpected(&self, message: impl Into<Message>, help: impl Into<Message>) -> Option<Diagnostic> {
        Some(unexpected(self.span, message, help))
    }

    /// True if only pieces of an expression are expected, which means that a value is missing.
    fn value_wanted(&self) -> bool {
        // If only a string or a brace is expected, the token belongs to the statement and does not
        // begin a value.
        let own = |rule: &Rule| matches!(rule, Rule::string | Rule::open_brace);
        self.expected.iter().all(|rule| phrase::is_piece(*rule)) && !self.expected.iter().all(own)
    }

    fn expected_found(&self) -> Diagnostic {
        let mut phrases: Vec<Message> = Vec::new();
        let value_wanted = self.value_wanted();
        for rule in self.expected {
            if let Some(phrase) = phrase::phrase(*rule)
                && (value_wanted || !phrase::is_piece(*rule) || self.opening(*rule))
                && !phrases.contains(&phrase)
                && !(phrase == phrase::END && self.at_end())
            {
                phrases.push(phrase);
            }
        }
        if value_wanted {
            phrases =
                vec![if self.is_behind("when") { message!("a condition") } else { message!("a value") }];
        }
        if self.wants(Rule::arrow) && self.rule != Rule::extern_statement {
            phrases = vec![match self.rule {
                Rule::flow_statement => message!("`->` and a flow id"),
                Rule::router_statement | Rule::workflow_statement => message!("`->` and a next node"),
                _ => message!("`->` and a handler"),
            }];
        }
        phrases.truncate(MAX_EXPECTED);
        let (expected, found) = (one_of(phrases), self.found_words());
        let condition = self.rule == Rule::route_statement && self.wants(Rule::arrow);
        let message = match self.before() {
            Some(_) if condition && !self.is_behind("default") => {
                message!("expected {expected} after the condition, found {found}")
            }
            Some(before) => {
                let before = self.cx.short(before.span(self.cx.file));
                message!("expected {expected} after `{before}`, found {found}")
            }
            None => message!("expected {expected}, found {found}"),
        };
        let diagnostic = Diagnostic::new(Code::Unexpected, self.span, message);
        if let Some(near) = self.misspelt() {
            return diagnostic.did_you_mean(self.span, Some(&near));
        }
        if self.found == "@" && self.rule == Rule::input_statement {
            return diagnostic
                .help(message!("write the mark of a field after its type: `phone?: string @private`"));
        }
        match self.example() {
            Some(example) => diagnostic.help(message!("for example: {example}")),
            None => diagnostic,
        }
    }

    /// Returns the expected word that is nearest to the unexpected word, if one is near enough.
    fn misspelt(&self) -> Option<String> {
        if self.token.kind != TokenKind::Word || self.at_end() {
            return None;
        }
        let words: Vec<String> = self.expected.iter().filter_map(|rule| phrase::word(*rule)).collect();
        let words = words.iter().map(String::as_str).filter(|word| word.starts_with(char::is_alphabetic));
        nearest(self.found, words).map(str::to_owned)
    }

    /// True for a bracket, string or number that belongs to the statement rather than to an
    /// expression.
    fn opening(&self, rule: Rule) -> bool {
        matches!(rule, Rule::open_paren | Rule::open_brace | Rule::string | Rule::number)
            && !self.wants(Rule::run)
            && !self.wants(Rule::atom)
    }

    fn example(&self) -> Option<Message> {
        Some(match self.rule {
            Rule::import_statement => message!("`import \"shared/words.rules\"`"),
            Rule::input_statement => message!("`input {{ text: string, user?: {{ role: string }} }}`"),
            Rule::handler_statement => message!("`handler refund_handler(order: string, limit?: int)`"),
            Rule::list_statement => message!("`list words = [\"file\", \"folder\"]`"),
            Rule::let_statement => message!("`let urgent = text contains \"now\"`"),
            Rule::def_statement => message!("`def asks(words: list<string>) = text contains any words`"),
            Rule::extern_statement => message!("`extern fn score(text: string) -> float`"),
            Rule::settings_statement => message!("`settings {{ case: insensitive }}`"),
            Rule::type_statement => message!("`type Order = {{ total: number }}`"),
            Rule::route_statement => {
                message!("`route refunds priority 10 when text contains \"refund\" -> refund_handler`")
            }
            Rule::default_statement => message!("`default -> default_handler`"),
            Rule::table_statement => message!("`table billing {{ … }}`"),
            Rule::choice_statement => {
                message!(
                    "`choice size {{ default branch small  branch large any {{ ctx.total >= 100; ctx.items > 20 }} }}`"
                )
            }
            Rule::flow_statement if self.is_flow_tool() => {
                message!(
                    "`flow tool flow_executor \"Starts a flow.\" {{ endpoint: {{ url: \"https://flows.example.com/run\" }} }}`"
                )
            }
            Rule::flow_statement => {
                message!("`flow orders \"looks up orders\" keyword contains [\"my order\"] -> \"orders\"`")
            }
            Rule::router_statement => {
                message!(
                    "`router check(output) {{ when output.ok -> next[1]  otherwise -> next[0] loopback }}`"
                )
            }
            Rule::workflow_statement => {
                message!(
                    "`workflow review {{ node draft echo -> ballot  node ballot vote {{ threshold: 0.6 }} -> draft, done by verdict  node done echo }}`"
                )
            }
            Rule::intent_statement => {
                message!("`intent refund {{ keywords [\"refund\"] examples [\"I want my money back\"] }}`")
            }
            Rule::entity_statement => message!("`entity order matches r\"order (?<id>[0-9]+)\"`"),
            Rule::lexicon_statement => message!("`lexicon anger {{ \"furious\": 0.8, \"annoyed\": 0.4 }}`"),
            _ if is_item(self.rule) && self.wants(Rule::EOI) => {
                message!("`name: string not blank; closed` (separate rules by line breaks or `;`)")
            }
            Rule::test_statement => {
                message!("`test \"a refund\" {{ given text = \"refund\"  expect refunds }}`")
            }
            _ => return None,
        })
    }

    /// True for a `flow tool` statement.
    fn is_flow_tool(&self) -> bool {
        self.cx.sigs.get(self.cx.tokens.start + 1).is_some_and(|sig| self.text(sig.token) == "tool")
    }

    /// Returns a diagnostic for a common mistake, which helps more than a list of expected tokens.
    fn known_mistake(&self) -> Option<Diagnostic> {
        let (span, found, kind) = (self.span, self.found, self.token.kind);
        let names = [Rule::name, Rule::type_name, Rule::target, Rule::handler_target, Rule::goto_target];
        let wants_name = names.into_iter().any(|rule| self.wants(rule));
        let elsewhere = matches!(found, "input" | "else" | "otherwise" | "default");
        if let (true, Some(diagnostic)) = (elsewhere, self.habit()) {
            return Some(diagnostic);
        }
        if kind == TokenKind::Word && is_reserved(found) && !self.at_end() {
            if wants_name {
                return Some(self.reserved_name(span, found));
            }
            if self.value_wanted()
                || self.expected.iter().any(|rule| phrase::is_piece(*rule)) && self.after_operator()
            {
                return Some(reserved_value(found, span));
            }
        }
        if wants_name && matches!(kind, TokenKind::String | TokenKind::RawString) && !self.at_end() {
            return Some(self.quoted_name(span, found));
        }
        if found == "when" && self.rule != Rule::route_statement {
            // `let a = 1 rout b when …`: the previous two words were parsed as operator and
            // operand.
            let word = self.at.checked_sub(2).filter(|index| *index > self.cx.tokens.start);
            let word = word.map(|index| self.cx.sigs[index].token);
            if let Some(diagnostic) = word.and_then(|word| self.meant_statement(word)) {
                return Some(diagnostic);
            }
        }
        if self.wants(Rule::EOI)
            && !is_item(self.rule)
            && !self.at_end()
            && !is_reserved(found)
            && let Some(diagnostic) = self.meant_statement(self.token)
        {
            return Some(diagnostic);
        }
        if found == "-"
            && let Some(diagnostic) = self.hyphened_name()
        {
            return Some(diagnostic);
        }
        if let Some(diagnostic) = self.habit() {
            return Some(diagnostic);
        }
        if is_item(self.rule) {
            return None;
        }
        self.mistake_of_statement()
    }

    /// Returns a diagnostic if the word is likely a misspelt statement keyword.
    fn meant_statement(&self, word: Token) -> Option<Diagnostic> {
        let diagnostic = splitter::unknown_statement(self.cx.file, self.cx.text, word);
        Some(diagnostic).filter(|diagnostic| word.kind == TokenKind::Word && !diagnostic.fixes.is_empty())
    }

    /// Returns a diagnostic for a mistake that is specific to one kind of statement.
    fn mistake_of_statement(&self) -> Option<Diagnostic> {
        let found = self.found;
        if self.wants(Rule::kw_when) {
            return self.no_when();
        }
        let routes = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        if routes && self.is_behind("(") && self.wants(Rule::close_paren) {
            return self.unexpected(
                message!("arguments must be named"),
                message!("write `-> handler(name: value)`"),
            );
        }
        if self.wants(Rule::arrow) && self.rule == Rule::route_statement {
            return self.no_arrow();
        }
        if self.wants(Rule::number) && self.is_behind("priority") {
            let message = message!("a priority must be a whole number, found {}", self.found_words());
            let help = match found {
                "=" | ":" => message!("remove the `{found}`: write `priority 10`"),
                _ => {
                    message!(
                        "write for example `priority 10`; higher priorities are tried first, and the default is 0"
                    )
                }
            };
            return self.unexpected(message, help);
        }
        if found == "?" && (self.wants(Rule::private) || self.wants(Rule::comma)) && self.in_fields() {
            let help = message!("write `name?: type`");
            return self.unexpected(message!("`?` must come after the field's name"), help);
        }
        if self.rule == Rule::test_statement && self.wants(Rule::kw_expect) && found == "}" {
            let help = message!("end the test with `expect ROUTE`, `expect default` or `expect none`");
            return self.unexpected(message!("this test has no `expect`"), help);
        }
        None
    }

    /// Returns a diagnostic for a name with a hyphen, such as `show-files`.
    fn hyphened_name(&self) -> Option<Diagnostic> {
        let before = self.before().filter(|token| token.kind == TokenKind::Word)?;
        let behind = self.cx.sigs.get(self.at + 1)?.token;
        let glued = before.end == self.token.start && behind.start == self.token.end;
        if behind.kind != TokenKind::Word || !glued {
            return None;
        }
        let name = format!("{}_{}", self.text(before), self.text(behind));
        let help = message!("names are made of letters, digits and `_`: write `{name}`");
        let whole = Span { start: before.start, end: behind.end, ..self.span };
        Some(self.unexpected(message!("a name cannot contain `-`"), help)?.likely_fix(whole, name))
    }

    fn after_operator(&self) -> bool {
        let Some(before) = self.before() else { return false };
        let word = self.text(before);
        match before.kind {
            TokenKind::Operator | TokenKind::Comma => true,
            TokenKind::Word => word == "not" || rulec_lang::operators::Op::infix(word).is_some(),
            kind => kind.opens(),
        }
    }

    fn in_fields(&self) -> bool {
        matches!(
            self.rule,
            Rule::input_statement
                | Rule::handler_statement
                | Rule::def_statement
                | Rule::extern_statement
                | Rule::type_statement
        )
    }

    fn reserved_name(&self, span: Span, found: &str) -> Diagnostic {
        let diagnostic = reserved_word(found, span, message!("a name"));
        let next = self.cx.sigs.get(self.at + 1).map(|sig| self.text(sig.token));
        // `route when …`: a missing name is more likely than a route called `when`.
        if self.is_behind("route")
            && found == "when"
            && !matches!(next, Some("when" | "priority" | "disabled"))
        {
            return diagnostic.help(message!(
                "write a name before `when`; to use the word itself as the name, write `` `when` `` in backquotes"
            ));
        }
        diagnostic
    }

    fn quoted_name(&self, span: Span, found: &str) -> Diagnostic {
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

/// True for the rule of an item between the braces of a `payload` or `group`.
pub(super) fn is_item(rule: Rule) -> bool {
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
