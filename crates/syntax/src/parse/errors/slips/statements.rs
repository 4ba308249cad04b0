//! Diagnostics for misplaced words and symbols in a statement: a priority on a flow, a colon before
//! a brace, or a verb before a target.

use super::super::super::context::unexpected_token;
use super::super::super::{literal, remedy, shapes};
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::{Diagnostic, nearest};
use rulec_base::message;
use rulec_base::span::Span;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a misplaced word or symbol. `None` without such a mistake.
    pub(super) fn misplaced_word_or_symbol_error(&self) -> Option<Diagnostic> {
        shapes::priority_before_route_error(self.cx, self.token_index)
            .or_else(|| shapes::pasted_line_number_error(self.cx, self.token_index))
            .or_else(|| self.priority_on_other_statement_error())
            .or_else(|| self.superfluous_before_brace_error())
            .or_else(|| self.payload_with_parent_error())
            .or_else(|| self.unbraced_branch_conditions_error())
            .or_else(|| self.wrong_flow_words_error())
            .or_else(|| self.verb_before_target_error())
            .or_else(|| self.missing_symbol_after_name_error())
            .or_else(|| self.missing_text_error())
    }

    /// Returns the diagnostic for a space between a number and its unit in a clause, as in `keep 24
    /// hours`. `None` without such a mistake.
    pub(super) fn spaced_unit_error(&self) -> Option<Diagnostic> {
        // The parser took the unit for the first word of the next clause, and failed one token
        // later.
        let units = [self.token_index, self.token_index.wrapping_sub(1)];
        let is_unit = |unit: &usize| {
            *unit > self.cx.tokens.start
                && self.kind_of_token(*unit) == Some(TokenKind::Word)
                && self.kind_of_token(*unit - 1) == Some(TokenKind::Number)
        };
        let unit = units.into_iter().find(is_unit)?;
        if !matches!(self.rule, Rule::history_statement | Rule::workflow_statement) {
            return None;
        }
        let replacement =
            literal::number_with_meant_unit(self.text_of_token(unit - 1), self.text_of_token(unit))?;
        let message = message!("a unit follows its number without a space");
        let span = self.span_of_tokens(unit..unit + 1);
        let diagnostic = unexpected_token(span, message, message!("write `{replacement}`"));
        Some(diagnostic.likely_fix(self.span_of_tokens(unit - 1..unit + 1), replacement))
    }

    /// Returns a diagnostic that suggests removing the tokens from `first_token` up to `end_token`,
    /// exclusive. `first_token` must not be the first token of the statement.
    pub(super) fn removal_diagnostic(
        &self,
        first_token: usize,
        end_token: usize,
        message: rulec_base::diag::Message,
    ) -> Option<Diagnostic> {
        let span = self.span_of_tokens(first_token..end_token);
        let written = self.source_of_tokens(first_token..end_token).to_owned();
        let removed = Span { start: self.cx.significant[first_token - 1].token.end, ..span };
        Some(unexpected_token(span, message, message!("remove `{written}`")).fix(removed, ""))
    }

    /// Returns the diagnostic for a priority on a statement that cannot have one, as in `flow a
    /// priority 5`. `None` without such a mistake.
    fn priority_on_other_statement_error(&self) -> Option<Diagnostic> {
        let has_priority =
            matches!(self.rule, Rule::route_statement) || super::super::is_payload_item(self.rule);
        // After the patterns of a flow, the parser takes `priority` for a mode such as `ignoring
        // case`, and fails one token later.
        let index = self.token_index - usize::from(self.is_preceded_by("priority"));
        if self.text_of_token(index) != "priority" || has_priority || index == self.cx.tokens.start {
            return None;
        }
        let is_part = |index: usize| {
            self.kind_of_token(index) == Some(TokenKind::Number)
                || matches!(self.text_of_token(index), "-" | "=" | ":")
        };
        let end = (index + 1..self.cx.tokens.end).find(|index| !is_part(*index));
        let word = self.text_of_token(self.cx.tokens.start);
        let message = match self.rule {
            Rule::flow_statement => {
                message!("a flow has no priority: flows are tried in the order of the file")
            }
            _ => message!("`{word}` takes no priority: only a route has one"),
        };
        self.removal_diagnostic(index, end.unwrap_or(self.cx.tokens.end), message)
    }

    /// Returns the diagnostic for a superfluous symbol or word before an opening brace: `test "a":
    /// {` or `branch a -> {`. `None` without such a mistake.
    fn superfluous_before_brace_error(&self) -> Option<Diagnostic> {
        let is_mark = matches!(
            self.found_text,
            ":" | "=" | "->" | "=>" | ":=" | "is" | "then" | "begin" | "do" | "has" | "when" | "if" | "with"
        );
        let has_braces = matches!(
            self.rule,
            Rule::test_statement
                | Rule::choice_statement
                | Rule::router_statement
                | Rule::workflow_statement
                | Rule::intent_statement
                | Rule::lexicon_statement
                | Rule::settings_statement
                | Rule::input_statement
                | Rule::flow_tool_statement
                | Rule::payload_statement
                | Rule::group_statement
                | Rule::table_statement
                | Rule::each_item
        ) || self.rule == Rule::flow_statement && self.is_flow_tool();
        if !is_mark || !has_braces {
            return None;
        }
        // The tokens of a payload, group or table end before the brace.
        let next =
            self.cx.significant.get(self.token_index + 1).map_or("", |item| self.token_text(item.token));
        let is_yaml = self.found_text == ":"
            && self.expects_rule(Rule::open_brace)
            && self.cx.significant.get(self.token_index + 1).is_some_and(|item| item.indent().is_some())
            && !matches!(next, "{" | "given" | "expect");
        if is_yaml {
            let head = self.source_of_tokens(self.cx.tokens.start..self.token_index);
            let message = message!("the parts of `{head}` are written in braces, not after `:`");
            let help = message!("write `{head} {{` here, `}}` at the end, and `,` between the parts");
            return Some(unexpected_token(self.span, message, help));
        }
        if next == "{" {
            let message = message!("the brace follows without `{}`", self.found_text);
            return self.removal_diagnostic(self.token_index, self.token_index + 1, message);
        }
        if self.rule != Rule::test_statement || !matches!(next, "given" | "expect") {
            return None;
        }
        let parts = self.token_index + 1..self.cx.tokens.end;
        let body = format!(" {{ {} }}", self.source_of_tokens(parts));
        let head = self.source_of_tokens(self.cx.tokens.start..self.token_index);
        let message = message!("the parts of a test are written in braces");
        let help =
            message!("write `{head}{{` here, and `}}` after the last `expect`", head = format!("{head} "));
        let span = Span {
            start: self.token_before()?.end,
            ..self.span_of_tokens(self.token_index..self.cx.tokens.end)
        };
        Some(unexpected_token(self.span, message, help).fix(span, body))
    }

    /// Returns the diagnostic for a group after the name of a payload, as in `payload a extends b`.
    /// `None` without such a mistake.
    fn payload_with_parent_error(&self) -> Option<Diagnostic> {
        let is_payload = matches!(self.rule, Rule::payload_statement | Rule::group_statement);
        let is_word = matches!(
            self.found_text,
            "extends" | "inherits" | "includes" | "include" | "uses" | "implements" | "from" | "with" | "<"
        );
        let group = self.token_index + 1;
        if !is_payload || !is_word || self.kind_of_token(group) != Some(TokenKind::Word) {
            return None;
        }
        let group = self.text_of_token(group);
        let message = message!("a payload takes the rules of a group between its braces");
        self.unexpected_token(message, message!("write `include {group}` there"))
    }

    /// Returns the diagnostic for branch conditions that have no braces, or that have `or` or `and`
    /// before the braces. `None` without such a mistake.
    fn unbraced_branch_conditions_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::choice_statement {
            return None;
        }
        let found = self.found_text;
        if self.text_of_token(self.token_index + 1) == "{" {
            let word = match found {
                "or" | "one" | "either" | "some" | "OR" | "ANY" => "any",
                "and" | "both" | "every" | "AND" | "ALL" => "all",
                _ => return None,
            };
            let message = message!("the conditions of a branch cannot begin with `{found}`");
            let diagnostic = unexpected_token(self.span, message, message!("write `{word} {{ … }}`"));
            return Some(diagnostic.fix(self.span, word));
        }
        // `branch angry any text contains "!"`
        if self.token_index > self.cx.tokens.start + 2
            && matches!(self.text_of_token(self.token_index - 1), "any" | "all" | "none")
            && self.text_of_token(self.token_index - 3) == "branch"
            && self.expects_rule(Rule::open_brace)
        {
            let word = self.text_of_token(self.token_index - 1);
            let message = message!("the conditions of a branch are written in braces");
            return self.unexpected_token(message, message!("write `{word} {{ CONDITION; CONDITION }}`"));
        }
        let follows_branch = self.token_index > self.cx.tokens.start + 1
            && self.text_of_token(self.token_index - 2) == "branch";
        let is_word = matches!(found, "when" | "if" | ":" | "->" | "=>" | "where" | "=");
        if !follows_branch || !is_word && !self.begins_branch_condition() {
            return None;
        }
        let first = self.token_index + usize::from(is_word);
        let starts_next = |index: &usize| {
            let text = self.text_of_token(*index);
            text == "branch" || text == "default" && self.text_of_token(*index + 1) == "branch"
        };
        let last = self.cx.tokens.end - 1;
        let end = (first..last).find(starts_next).unwrap_or(last);
        let end = end - usize::from(end > first && matches!(self.text_of_token(end - 1), ";" | ","));
        if end == first {
            return None;
        }
        let only_text = end == first + 1 && self.kind_of_token(end - 1) == Some(TokenKind::String);
        if only_text {
            let message = message!("the meaning of a branch follows without `{found}`");
            return self.removal_diagnostic(self.token_index, first, message);
        }
        let condition = self.source_of_tokens(first..end);
        let replacement = format!("{{ {condition} }}");
        let message = message!("the conditions of a branch are written in braces");
        let span = self.span_of_tokens(self.token_index..end);
        if !remedy::is_valid_expression(condition) {
            let help = message!("write `{{ CONDITION }}` after the name of the branch");
            return Some(unexpected_token(self.span, message, help));
        }
        let diagnostic = unexpected_token(self.span, message, message!("write `{replacement}`"));
        Some(diagnostic.fix(span, replacement))
    }

    /// True if a condition without braces begins at the unexpected token, which follows the name of
    /// a branch.
    fn begins_branch_condition(&self) -> bool {
        let begins_value = matches!(
            self.kind_of_token(self.token_index),
            Some(TokenKind::Word | TokenKind::Quoted | TokenKind::Number | TokenKind::OpenParen)
        );
        let is_clause = matches!(self.found_text, "branch" | "default" | "where" | "any" | "all" | "none");
        let is_misspelt = nearest(self.found_text, ["branch", "default", "where"]).is_some();
        begins_value && !is_clause && !is_misspelt && !self.begins_line(self.token_index)
    }

    /// Returns the diagnostic for a declaration that lacks the symbol or word after its name: `type
    /// item { … }` or `entity order = …`. `None` without such a mistake.
    fn missing_symbol_after_name_error(&self) -> Option<Diagnostic> {
        if self.rule == Rule::history_statement && matches!(self.found_text, ":" | "=") {
            let message = message!("a clause of the history has no `{}`", self.found_text);
            return self.removal_diagnostic(self.token_index, self.token_index + 1, message);
        }
        let is_value = matches!(self.found_text, "{" | "[")
            || self.kind_of_token(self.token_index) == Some(TokenKind::String);
        if is_value && self.expects_rule(Rule::equals) && self.token_index == self.cx.tokens.start + 2 {
            let head = self.source_of_tokens(self.cx.tokens.start..self.token_index);
            let message = message!("the name and its value are separated by `=`");
            let start = Span { end: self.span.start, ..self.span };
            return Some(unexpected_token(self.span, message, message!("write `{head} =`")).fix(start, "= "));
        }
        let is_pattern = matches!(
            self.kind_of_token(self.token_index),
            Some(TokenKind::String | TokenKind::RawString | TokenKind::OpenBracket)
        );
        if is_pattern && self.rule == Rule::entity_statement && self.expects_rule(Rule::kw_matches) {
            let message = message!("the pattern of an entity follows `matches`");
            let written = if self.found_text == "[" { "matches any" } else { "matches" };
            let start = Span { end: self.span.start, ..self.span };
            let diagnostic =
                unexpected_token(self.span, message, message!("write `{written}` before the pattern"));
            return Some(diagnostic.fix(start, format!("{written} ")));
        }
        if matches!(self.found_text, "=" | ":" | "is" | "like" | "regex" | "pattern" | "match")
            && self.rule == Rule::entity_statement
            && self.expects_rule(Rule::kw_matches)
        {
            let message = message!("the pattern of an entity follows `matches`");
            return Some(
                unexpected_token(self.span, message, message!("write `matches`")).fix(self.span, "matches"),
            );
        }
        None
    }

    /// Returns the diagnostic for a word between a handler and its metadata or arguments, as in
    /// `-> h with { a: 1 }`. `None` without such a mistake.
    fn word_before_metadata_error(&self) -> Option<Diagnostic> {
        let handler = self.token_index.checked_sub(1).filter(|handler| *handler > 0)?;
        let is_route = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let follows_target = matches!(self.text_of_token(handler - 1), "->" | "goto");
        let is_word = matches!(
            self.found_text,
            "with" | "using" | "metadata" | "meta" | "tags" | "labels" | "args" | "params" | "as" | "given"
        );
        let is_goto = self.text_of_token(handler - 1) == "goto";
        let is_argument = self.text_of_token(self.token_index + 1) == ":" && self.found_text != "when";
        if !is_route || !follows_target || !(is_word || is_goto || is_argument) {
            return None;
        }
        if is_goto {
            return self.surplus_after_goto_error(handler);
        }
        if let Some(diagnostic) = self.worded_arguments_error(handler) {
            return Some(diagnostic);
        }
        let message = match self.text_of_token(self.token_index + 1) {
            "(" => message!("the arguments follow the handler directly"),
            "{" => message!("the metadata follow the handler directly"),
            _ => return None,
        };
        self.removal_diagnostic(self.token_index, self.token_index + 1, message)
    }

    /// Returns the diagnostic for a word before the target of a route: `-> call billing`. `None`
    /// without such a mistake.
    fn verb_before_target_error(&self) -> Option<Diagnostic> {
        let is_route = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let verb = self.token_index.checked_sub(1)?;
        let begins_line =
            self.cx.significant.get(self.token_index).is_some_and(|item| item.indent().is_some());
        let is_word = matches!(self.kind_of_token(verb)?, TokenKind::Word);
        if let Some(diagnostic) = self.word_before_metadata_error() {
            return Some(diagnostic);
        }
        if matches!(self.found_text, "priority" | "disabled") {
            return None;
        }
        if !is_route || !is_word || verb == 0 || self.text_of_token(verb - 1) != "->" || begins_line {
            return None;
        }
        if let Some(diagnostic) = self.part_after_target_error(verb) {
            return Some(diagnostic);
        }
        let mut name = self.token_index;
        while matches!(self.text_of_token(name), "to" | "table" | "handler" | "the" | "route") {
            name += 1;
        }
        let target = self.text_of_token(name);
        if super::super::is_reserved(target)
            || !matches!(self.kind_of_token(name), Some(TokenKind::Word | TokenKind::Quoted))
        {
            return None;
        }
        let word = self.text_of_token(verb);
        let joined = format!("{word}_{target}");
        let is_known = |name: &str| self.is_declared("handler", name) || self.cx.declared().is_target(name);
        let is_verb = matches!(
            word.to_lowercase().as_str(),
            "call"
                | "go"
                | "goto"
                | "run"
                | "jump"
                | "use"
                | "enter"
                | "do"
                | "return"
                | "send"
                | "to"
                | "invoke"
                | "exec"
                | "execute"
                | "forward"
                | "route"
                | "dispatch"
                | "start"
                | "trigger"
                | "handle"
                | "apply"
                | "follow"
                | "switch"
                | "pass"
                | "redirect"
                | "then"
        );
        let span = self.span_of_tokens(verb..name + 1);
        let replacement = match () {
            () if self.is_declared("table", target) => format!("goto {target}"),
            () if is_known(&joined) || self.is_declared("route", &joined) => joined,
            () if self.is_declared("handler", word) => return self.words_after_handler_error(verb),
            () if is_verb || is_known(target) => target.to_owned(),
            () => {
                let message = message!("a target is one word, but `{target}` is a second word");
                let help = message!("write `-> {joined}`, or only `-> {target}`");
                return Some(unexpected_token(self.span, message, help));
            }
        };
        let message = message!("`{}` cannot be written before a target", self.source_of_tokens(verb..name));
        Some(unexpected_token(span, message, message!("write `-> {replacement}`")).fix(span, replacement))
    }

    /// Returns the diagnostic for a missing text after a word that needs one: `choice mood ask {`,
    /// `test {`. `None` without such a mistake.
    fn missing_text_error(&self) -> Option<Diagnostic> {
        if !self.expects_rule(Rule::string) || self.token_index == self.cx.tokens.start {
            return None;
        }
        let start = Span { end: self.span.start, ..self.span };
        let before = self.text_of_token(self.token_index - 1);
        let (message, example) = match (self.rule, before) {
            (Rule::choice_statement, "ask") => (
                message!("`ask` needs the question for the language model, in quotes"),
                "\"how does the customer feel?\"",
            ),
            (Rule::import_statement, "import") => {
                (message!("an import has only the name of a file, in quotes"), "\"shared/words.rules\"")
            }
            (Rule::test_statement, "test") => (message!("a test needs a name in quotes"), "\"a refund\""),
            (Rule::handler_statement, "permission") => {
                (message!("a permission has a name in quotes"), "\"refunds.pay\"")
            }
            _ => return None,
        };
        // The text may be there without its quotes.
        let end = (self.token_index..self.cx.tokens.end).find(|index| self.text_of_token(*index) == "{");
        let is_import = self.rule == Rule::import_statement;
        let end = end.filter(|_| !is_import).unwrap_or(self.cx.tokens.end);
        // `import verbs from "words.rules"`
        let is_text = |index: &usize| self.kind_of_token(*index) == Some(TokenKind::String);
        if let Some(diagnostic) = self.list_of_imports_error(self.token_index, end) {
            return Some(diagnostic);
        }
        if let Some(text) = (self.token_index..end).find(is_text).filter(|_| is_import) {
            let text = self.text_of_token(text).to_owned();
            let span = self.span_of_tokens(self.token_index..end);
            let help = message!("write `{before} {text}`");
            return Some(unexpected_token(span, message, help).likely_fix(span, text));
        }
        let written = self.source_of_tokens(self.token_index..end);
        let is_library = written.contains('.') && !written.contains('/') && !written.ends_with(".rules");
        if is_import && is_library {
            let span = self.span_of_tokens(self.token_index..end);
            let help =
                message!("remove this line: an import reads only a file of rules, as in `import {example}`");
            return Some(unexpected_token(span, message, help));
        }
        if end > self.token_index && self.kind_of_token(self.token_index) == Some(TokenKind::Word) {
            // A file of rules usually ends in `.rules`.
            let extension = if is_import && end == self.token_index + 1 { ".rules" } else { "" };
            let text = format!("\"{}{extension}\"", self.source_of_tokens(self.token_index..end));
            let span = self.span_of_tokens(self.token_index..end);
            let help = message!("write `{before} {text}`");
            return Some(unexpected_token(span, message, help).likely_fix(span, text));
        }
        let diagnostic = unexpected_token(self.span, message, message!("for example: `{before} {example}`"));
        Some(diagnostic.likely_fix(start, format!("{example} ")))
    }
}
