//! From the grammar's furthest failure to a sentence that helps: what was expected, what is there,
//! and what people who write that usually mean.

use super::context::{Cx, reserved_word};
use super::terminals::is_reserved;
use super::{Rule, foreign, phrase, splitter};
use crate::diag::{Code, Diagnostic, nearest};
use crate::span::Span;
use crate::syntax::lex::{Token, TokenKind};
use pest::error::{Error, ErrorVariant, InputLocation};

/// Expected things named in one message; more would not be read.
const MAX_EXPECTED: usize = 3;

/// The finding for a statement the grammar cannot read.
pub(super) fn diagnose(cx: &Cx<'_>, rule: Rule, error: &Error<Rule>) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let offset = cx.offset_of(at);
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { message } => return limit(cx, message),
    };
    let mut failure = Failure { cx, rule, first: cx.tokens.start, expected, offset };
    // `list<>`: the brackets are read as one token, and what is missing is the type between them.
    if failure.wants(Rule::less) && failure.found().starts_with('<') {
        failure.expected = &[Rule::type_expr];
    }
    failure.known_mistake().unwrap_or_else(|| failure.expected_found())
}

/// The grammar gave up for the sake of time or of the stack.
fn limit(cx: &Cx<'_>, message: &str) -> Diagnostic {
    let place = cx.place_at(cx.span.start);
    if message.contains("stack") {
        return Diagnostic::new(Code::TooDeep, place, "this statement is nested too deep")
            .help("give parts of it a name with `let`");
    }
    Diagnostic::new(Code::TooComplex, place, "this statement is too complex to read")
        .help("split it, or give parts of it a name with `let`")
}

struct Failure<'f, 'a> {
    cx: &'f Cx<'a>,
    rule: Rule,
    first: usize,
    expected: &'f [Rule],
    offset: u32,
}

impl Failure<'_, '_> {
    fn wants(&self, rule: Rule) -> bool {
        self.expected.contains(&rule)
    }

    fn at_end(&self) -> bool {
        self.offset >= self.cx.span.end
    }

    fn token(&self) -> Token {
        self.cx.token_at(self.offset)
    }

    fn found(&self) -> &str {
        if self.at_end() { "" } else { self.token().text(self.cx.text) }
    }

    fn index(&self) -> usize {
        self.cx.sigs.partition_point(|sig| sig.token.start < self.offset)
    }

    fn before(&self) -> Option<Token> {
        let index = self.index().checked_sub(1).filter(|index| *index >= self.first)?;
        Some(self.cx.sigs[index].token)
    }

    /// Returns true if only pieces of an expression would do: a value is missing.
    fn value_wanted(&self) -> bool {
        // A string or brace alone is a part of the statement, not the start of a value.
        let own = |rule: &Rule| matches!(rule, Rule::string | Rule::open_brace);
        self.expected.iter().all(|rule| phrase::is_piece(*rule)) && !self.expected.iter().all(own)
    }

    fn expected_found(&self) -> Diagnostic {
        let span = self.cx.place_at(self.offset);
        let found = self.cx.found_at(self.offset);
        let mut phrases: Vec<&str> = Vec::new();
        let value_wanted = self.value_wanted();
        for rule in self.expected {
            if let Some(phrase) = phrase::phrase(*rule)
                && (value_wanted || !phrase::is_piece(*rule) || self.opening(*rule))
                && !phrases.contains(&phrase)
                && !(phrase == "the end of the statement" && self.at_end())
            {
                phrases.push(phrase);
            }
        }
        if value_wanted {
            phrases = vec![if self.condition_wanted() { "a condition" } else { "a value" }];
        }
        if self.wants(Rule::arrow) && self.rule != Rule::extern_statement {
            phrases = vec![match self.rule {
                Rule::flow_statement => "`->` and a flow id",
                Rule::router_statement => "`->` and a next node",
                _ => "`->` and a handler",
            }];
        }
        phrases.truncate(MAX_EXPECTED);
        let after = match self.before() {
            Some(before)
                if self.rule == Rule::route_statement
                    && self.wants(Rule::arrow)
                    && !self.is_default(before) =>
            {
                " after the condition".to_owned()
            }
            Some(before) => format!(" after `{}`", self.cx.short(before.span(self.cx.file))),
            None => String::new(),
        };
        let message = format!("expected {}{after}, found {found}", phrase::one_of(&phrases));
        let diagnostic = Diagnostic::new(Code::Unexpected, span, message);
        if let Some(near) = self.misspelt() {
            return diagnostic.did_you_mean(span, Some(near));
        }
        match self.example() {
            Some(example) => diagnostic.help(format!("for example: {example}")),
            None => diagnostic,
        }
    }

    /// The word that would fit here and that the one here is a misspelling of.
    fn misspelt(&self) -> Option<&'static str> {
        if self.token().kind != TokenKind::Word || self.at_end() {
            return None;
        }
        let words = self.expected.iter().filter_map(|rule| phrase::phrase(*rule)?.split('`').nth(1));
        nearest(self.found(), words.filter(|word| word.starts_with(char::is_alphabetic)))
    }

    /// Brackets that a statement wants are not the pieces of an expression.
    fn opening(&self, rule: Rule) -> bool {
        matches!(rule, Rule::open_paren | Rule::open_brace | Rule::string | Rule::number)
            && !self.wants(Rule::run)
            && !self.wants(Rule::atom)
    }

    fn is_default(&self, before: Token) -> bool {
        before.text(self.cx.text) == "default"
    }

    fn condition_wanted(&self) -> bool {
        self.before().is_some_and(|before| before.text(self.cx.text) == "when")
    }

    fn example(&self) -> Option<&'static str> {
        Some(match self.rule {
            Rule::import_statement => "`import \"shared/words.rules\"`",
            Rule::input_statement => "`input { text: string, user?: { role: string } }`",
            Rule::handler_statement => "`handler refund_handler(order: string, limit?: int)`",
            Rule::list_statement => "`list words = [\"file\", \"folder\"]`",
            Rule::let_statement => "`let urgent = text contains \"now\"`",
            Rule::def_statement => "`def asks(words: list<string>) = text contains any words`",
            Rule::extern_statement => "`extern fn score(text: string) -> float`",
            Rule::settings_statement => "`settings { case: insensitive }`",
            Rule::type_statement => "`type Order = { total: number }`",
            Rule::route_statement => {
                "`route refunds priority 10 when text contains \"refund\" -> refund_handler`"
            }
            Rule::default_statement => "`default -> default_handler`",
            Rule::table_statement => "`table billing { … }`",
            Rule::choice_statement => {
                "`choice size { default branch small  branch large any { ctx.total >= 100; ctx.items > 20 } }`"
            }
            Rule::flow_statement => {
                "`flow orders \"looks up orders\" keyword contains [\"my order\"] -> \"orders\"`"
            }
            Rule::router_statement => {
                "`router check(output) { when output.ok -> next[1]  otherwise -> next[0] loopback }`"
            }
            Rule::intent_statement => {
                "`intent refund { keywords [\"refund\"] examples [\"I want my money back\"] }`"
            }
            Rule::entity_statement => "`entity order matches r\"order (?<id>[0-9]+)\"`",
            Rule::lexicon_statement => "`lexicon anger { \"furious\": 0.8, \"annoyed\": 0.4 }`",
            _ if self.in_payload() && self.wants(Rule::EOI) => {
                "`name: string not blank; closed`: rules are separated by line breaks or `;`"
            }
            Rule::test_statement => "`test \"a refund\" { given text = \"refund\"  expect refunds }`",
            _ => return None,
        })
    }

    /// The mistakes that have a better answer than what was expected.
    fn known_mistake(&self) -> Option<Diagnostic> {
        let span = self.cx.place_at(self.offset);
        let found = self.found();
        let kind = self.token().kind;
        let names = [Rule::name, Rule::type_name, Rule::target, Rule::handler_target, Rule::goto_target];
        let wants_name = names.into_iter().any(|rule| self.wants(rule));
        if kind == TokenKind::Word && is_reserved(found) && !self.at_end() {
            if wants_name {
                return Some(self.reserved_name(span, found));
            }
            if self.value_wanted()
                || self.expected.iter().any(|rule| phrase::is_piece(*rule)) && self.after_operator()
            {
                return Some(reserved_word(found, span, "a value"));
            }
        }
        if wants_name && matches!(kind, TokenKind::String | TokenKind::RawString) && !self.at_end() {
            return Some(self.quoted_name(span, found));
        }
        if found == "when" && self.rule != Rule::route_statement {
            // `let a = 1 rout b when …`: the words before were read as operator and operand.
            let word = self.index().checked_sub(2).filter(|index| *index > self.first);
            let word =
                word.map(|index| self.cx.sigs[index].token).filter(|token| token.kind == TokenKind::Word);
            let diagnostic = word.map(|word| splitter::unknown_statement(self.cx.file, self.cx.text, word));
            if let Some(diagnostic) = diagnostic.filter(|diagnostic| !diagnostic.fixes.is_empty()) {
                return Some(diagnostic);
            }
        }
        if self.wants(Rule::EOI)
            && !self.in_payload()
            && kind == TokenKind::Word
            && !self.at_end()
            && !is_reserved(found)
        {
            let diagnostic = splitter::unknown_statement(self.cx.file, self.cx.text, self.token());
            if !diagnostic.fixes.is_empty() {
                return Some(diagnostic);
            }
        }
        if found == "-"
            && self.before().is_some_and(|before| before.end == self.token().start)
            && let Some(diagnostic) = self.hyphened_name(span)
        {
            return Some(diagnostic);
        }
        if self.in_payload() {
            return None;
        }
        self.mistake_of_statement(span, found)
    }

    /// The mistakes that are one kind of statement's own.
    fn mistake_of_statement(&self, span: Span, found: &str) -> Option<Diagnostic> {
        if self.wants(Rule::kw_when) {
            return self.no_when(span, found);
        }
        let routes = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let in_arguments = self.before().is_some_and(|before| before.text(self.cx.text) == "(");
        if routes && in_arguments && self.wants(Rule::close_paren) {
            return Some(
                Diagnostic::new(Code::Unexpected, span, "arguments are named")
                    .help("write `-> handler(name: value)`"),
            );
        }
        if self.wants(Rule::arrow) && self.rule == Rule::route_statement {
            return self.no_arrow(span, found);
        }
        if self.wants(Rule::number)
            && self.before().is_some_and(|token| token.text(self.cx.text) == "priority")
        {
            let message = format!("a priority is a whole number, found {}", self.cx.found_at(self.offset));
            let help = match found {
                "=" | ":" => format!("remove the `{found}`: write `priority 10`"),
                _ => "write for example `priority 10`; higher ones are tried first, without one it is 0"
                    .to_owned(),
            };
            return Some(Diagnostic::new(Code::Unexpected, span, message).help(help));
        }
        if found == "?" && (self.wants(Rule::private) || self.wants(Rule::comma)) && self.in_fields() {
            let message = "`?` stands after the field's name";
            return Some(Diagnostic::new(Code::Unexpected, span, message).help("write `name?: type`"));
        }
        if self.rule == Rule::test_statement && self.wants(Rule::kw_expect) && found == "}" {
            let message = "this test expects nothing";
            return Some(
                Diagnostic::new(Code::Unexpected, span, message)
                    .help("end it with `expect ROUTE`, `expect default` or `expect none`"),
            );
        }
        None
    }

    /// `show-files` where a name stands.
    fn hyphened_name(&self, span: Span) -> Option<Diagnostic> {
        let before = self.before().filter(|token| token.kind == TokenKind::Word)?;
        let behind = self.cx.sigs.get(self.index() + 1)?.token;
        if behind.kind != TokenKind::Word || behind.start != self.token().end {
            return None;
        }
        let name = format!("{}_{}", before.text(self.cx.text), behind.text(self.cx.text));
        let whole = before.span(self.cx.file).to(behind.span(self.cx.file));
        Some(
            Diagnostic::new(Code::Unexpected, span, "a name cannot have a `-` in it")
                .help(format!("names are made of letters, digits and `_`: write `{name}`"))
                .likely_fix(whole, name),
        )
    }

    fn after_operator(&self) -> bool {
        let Some(before) = self.before() else { return false };
        let word = before.text(self.cx.text);
        match before.kind {
            TokenKind::Operator | TokenKind::Comma => true,
            TokenKind::Word => word == "not" || crate::ops::Op::infix(word).is_some(),
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
        let diagnostic = reserved_word(found, span, "a name");
        let before = self.before().map(|token| token.text(self.cx.text));
        let next = self.cx.sigs.get(self.index() + 1).map(|sig| sig.token.text(self.cx.text));
        // `route when …`: more likely the name is missing than that the route is called `when`.
        if before == Some("route")
            && found == "when"
            && !matches!(next, Some("when" | "priority" | "disabled"))
        {
            return diagnostic
                .help("give the route a name before `when`; to use the word itself, write `` `when` `` in backquotes");
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
        let diagnostic = Diagnostic::new(Code::Unexpected, span, "a name is written without quotes");
        match name.chars().count() {
            0..=60 => diagnostic.help(format!("write `{name}`")).likely_fix(span, name),
            _ => diagnostic,
        }
    }

    fn no_when(&self, span: Span, found: &str) -> Option<Diagnostic> {
        if self.rule == Rule::router_statement {
            return self.no_case(span, found);
        }
        if matches!(found, "if" | "where" | "match" | "unless" | "on") {
            let message = format!("the condition of a route stands after `when`, not `{found}`");
            return Some(if found == "unless" {
                Diagnostic::new(Code::Unexpected, span, message).help("write `when not (…)`")
            } else {
                foreign::syntax(span, message, "when")
            });
        }
        if matches!(found, ":" | "=" | "{") {
            let message = format!("expected `when` and a condition, found `{found}`");
            return Some(
                Diagnostic::new(Code::Unexpected, span, message)
                    .help("write `route NAME when CONDITION -> HANDLER`"),
            );
        }
        if found == "->" || found == "=>" {
            let message = "a route without a condition";
            return Some(Diagnostic::new(Code::Unexpected, span, message).help(
                "write `when` and a condition before `->`; for what is left over write `default -> HANDLER`",
            ));
        }
        if self.at_end() {
            return None;
        }
        let message =
            format!("expected `when` before the condition, found {}", self.cx.found_at(self.offset));
        Some(
            Diagnostic::new(Code::Unexpected, span, message)
                .help("write `when` before the condition")
                .likely_fix(Span { end: span.start, ..span }, "when "),
        )
    }

    /// An item between the braces of a `payload` or `group`.
    fn in_payload(&self) -> bool {
        use Rule as R;
        matches!(
            self.rule,
            R::field_item
                | R::require_item
                | R::forbid_item
                | R::closed_item
                | R::let_item
                | R::include_item
                | R::each_item
        )
    }

    /// In a router: neither `when` nor `otherwise`.
    fn no_case(&self, span: Span, found: &str) -> Option<Diagnostic> {
        let wrong = |span: Span, word: &str| {
            Some(foreign::syntax(
                span,
                format!("what is left over in a router is `otherwise`, not `{word}`"),
                "otherwise",
            ))
        };
        if matches!(found, "default" | "else" | "_") {
            return wrong(span, found);
        }
        if !matches!(found, "->" | "=>") {
            return None;
        }
        // A misspelt `otherwise` was read as a piece of the destination before it.
        let word = self.before().filter(|token| token.kind == TokenKind::Word);
        if let Some(word) = word.filter(|word| nearest(word.text(self.cx.text), ["otherwise"]).is_some()) {
            return wrong(word.span(self.cx.file), word.text(self.cx.text));
        }
        Some(Diagnostic::new(Code::Unexpected, span, "a case without a condition").help(
            "write `when` and a condition before `->`; for what is left over write `otherwise -> NODE`",
        ))
    }

    /// The condition ends without an arrow: perhaps another word or sign was taken for it.
    fn no_arrow(&self, span: Span, found: &str) -> Option<Diagnostic> {
        let mistake = |span: Span, what: &str| {
            Some(foreign::syntax(span, format!("the handler stands after `->`, not `{what}`"), "->"))
        };
        if found == ":" {
            return mistake(span, ":");
        }
        let sigs = &self.cx.sigs[self.first..self.index()];
        let is = |index: usize, word: &str| sigs[index].token.text(self.cx.text) == word;
        if let Some(then) = (1..sigs.len()).rfind(|index| is(*index, "then") && !is(index - 1, ".")) {
            return mistake(sigs[then].token.span(self.cx.file), "then");
        }
        if let Some(minus) = (2..sigs.len()).rfind(|index| is(*index, ">") && is(index - 1, "-")) {
            let span = sigs[minus - 1].token.span(self.cx.file).to(sigs[minus].token.span(self.cx.file));
            return mistake(span, self.cx.text.get(span.range()).unwrap_or("- >"));
        }
        let last = *sigs.last()?;
        let (head, name) = match (sigs.len().checked_sub(2).map(|index| sigs[index]), last.token.kind) {
            // `when text == "x" handler`, the handler having been read as a part of the condition.
            (Some(before), TokenKind::Word | TokenKind::Quoted) => (before.token, last.token),
            _ => return None,
        };
        let word = head.text(self.cx.text);
        let operand = head.kind.ends_operand()
            && !(head.kind == TokenKind::Word && (is_reserved(word) || crate::ops::is_reserved_word(word)));
        if !operand || !self.at_end() && found != "{" {
            return None;
        }
        let span = name.span(self.cx.file);
        let handler = name.text(self.cx.text);
        let message = format!("expected `->` before the handler `{handler}`");
        Some(
            Diagnostic::new(Code::Unexpected, span, message)
                .help(format!("write `-> {handler}`"))
                .likely_fix(Span { end: span.start, ..span }, "-> "),
        )
    }
}
