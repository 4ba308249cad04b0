//! Diagnostics for entries of a block in the syntax or order of another language. Entries are
//! branches of a choice, cases of a router, and nodes and edges of a workflow.

use super::super::super::context::unexpected_token;
use super::super::super::foreign;
use super::super::{ParseFailure, Rule};
use crate::lex::TokenKind;
use rulec_base::diag::{Diagnostic, Message, comma_list, nearest};
use rulec_base::message;
use rulec_base::span::Span;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a word such as `ask` before the name of a choice: `choice ask
    /// mood "…"`. The word must follow the name. `None` without such a mistake.
    pub(super) fn word_before_choice_name_error(&self) -> Option<Diagnostic> {
        let word = self.cx.tokens.start + 1;
        let is_keyword = matches!(self.text_of_token(word), "ask" | "to_user" | "model" | "question");
        let is_choice = self.rule == Rule::choice_statement && self.token_index == word + 1;
        if !is_choice || !is_keyword || self.kind_of_token(self.token_index) != Some(TokenKind::Word) {
            return None;
        }
        let (keyword, name) = (self.text_of_token(word), self.found_text);
        let keyword = if keyword == "to_user" { "to_user" } else { "ask" };
        let written = format!("choice {name} {keyword}");
        let message = message!("the name of a choice comes before `{keyword}`");
        let span = self.span_of_tokens(word..self.token_index + 1);
        let whole = self.span_of_tokens(word - 1..self.token_index + 1);
        Some(unexpected_token(span, message, message!("write `{written}`")).fix(whole, written))
    }

    /// Returns the diagnostic for a comma or semicolon between the branches of a choice, the nodes
    /// of a workflow or the lists of an intent. `None` without such a mistake.
    pub(super) fn comma_between_entries_error(&self) -> Option<Diagnostic> {
        let parts = match self.rule {
            Rule::choice_statement => message!("the branches of a choice"),
            Rule::workflow_statement => message!("the nodes of a workflow"),
            Rule::intent_statement => message!("the parts of an intent"),
            Rule::flow_statement if !self.is_flow_tool() => message!("the parts of a flow"),
            _ => return None,
        };
        if !matches!(self.found_text, "," | ";") || self.expects_rule(Rule::comma) {
            return None;
        }
        let written = self.found_text;
        let message = message!("{parts} are not separated by `{written}`");
        let removed = message!("remove the `{written}`");
        Some(unexpected_token(self.span, message, removed).fix(self.span, ""))
    }

    /// Returns the diagnostic for a missing comma between the entries of a record or of metadata,
    /// which are on several lines. The unexpected token is the `:` of the second entry. `None`
    /// without such a mistake.
    pub(super) fn missing_comma_error(&self) -> Option<Diagnostic> {
        let key = self.token_index.checked_sub(1)?;
        let is_key = matches!(self.kind_of_token(key), Some(TokenKind::Word | TokenKind::String));
        if self.found_text != ":" || !self.expects_rule(Rule::comma) || !is_key || !self.begins_line(key) {
            return None;
        }
        let value = key.checked_sub(1).filter(|value| *value > self.cx.tokens.start)?;
        let span = self.span_of_tokens(value..value + 1);
        let message = message!("`,` is missing after `{}`", self.cx.shorten_source(span));
        let end = Span { start: span.end, ..span };
        let help = message!("write `{},`", self.cx.shorten_source(span));
        Some(unexpected_token(span, message, help).fix(end, ","))
    }

    /// Returns the diagnostic for an entry of a block in the syntax of another language, such as
    /// the branch `small: n < 3` or the router case `if c`. `None` without such a mistake.
    pub(super) fn foreign_block_entry_error(&self) -> Option<Diagnostic> {
        match self.rule {
            Rule::choice_statement => self.foreign_branch_error(),
            Rule::router_statement => self.foreign_router_case_error(),
            Rule::workflow_statement => self.foreign_node_error(),
            Rule::intent_statement => self.foreign_intent_entry_error(),
            Rule::test_statement => self.test_field_without_given_error(),
            Rule::lexicon_statement => self.wrong_weight_error(),
            Rule::route_statement if self.is_arrow_as_dot() => {
                let arrow = self.token_index.checked_sub(2)?;
                let span = self.span_of_tokens(arrow..arrow + 1);
                Some(foreign::foreign_syntax_error(
                    span,
                    message!("a field is read by `.`, not by `->`"),
                    ".",
                ))
            }
            _ => None,
        }
    }

    fn is_found_word(&self) -> bool {
        self.kind_of_token(self.token_index) == Some(TokenKind::Word)
    }

    fn next_token_text(&self) -> &str {
        self.text_of_token(self.token_index + 1)
    }

    fn expected_word_error(&self, message: Message, wanted: &str) -> Option<Diagnostic> {
        Some(foreign::foreign_syntax_error(self.span, message, wanted))
    }

    fn foreign_branch_error(&self) -> Option<Diagnostic> {
        let (found, next) = (self.found_text, self.next_token_text());
        if self.is_preceded_by("default") && self.is_found_word() && found != "branch" {
            let help = message!("write `default branch {found}`");
            return self.unexpected_token(message!("a default is a branch"), help);
        }
        if !self.expects_rule(Rule::choice_branch) && !self.expects_rule(Rule::kw_branch) {
            return None;
        }
        match found {
            "else" | "otherwise" | "fallback" => {
                let name = if next == "branch" { self.text_of_token(self.token_index + 2) } else { next };
                let name = if matches!(name, "->" | ":" | "{" | "") { "ID" } else { name };
                self.unexpected_token(
                    message!("the branch for the rest is marked with `default`, not `{found}`"),
                    message!("write `default branch {name}`"),
                )
            }
            // `branch large when n > 3`: the condition only lacks its braces.
            "when" | "if"
                if self.token_index >= 2 && self.text_of_token(self.token_index - 2) == "branch" =>
            {
                None
            }
            "when" | "if" | "case" => self.unexpected_token(
                message!("a branch begins with its name, and its conditions follow in braces"),
                message!("write `branch ID {{ CONDITION }}`"),
            ),
            _ if self.is_found_word() && next == "branch" => self.word_before_branch_error(),
            _ if self.is_found_word() && matches!(next, ":" | "{" | "=" | "->" | "=>") => self
                .unexpected_token(
                    message!("a branch begins with `branch`"),
                    message!("write `branch {found} {{ CONDITION }}`"),
                ),
            _ => None,
        }
    }

    /// Returns the diagnostic for a wrong word before `branch`, where only `default` is allowed.
    fn word_before_branch_error(&self) -> Option<Diagnostic> {
        let (found, name) = (self.found_text, self.text_of_token(self.token_index + 2));
        let message = message!("no branch begins with `{found}`");
        let lower = found.to_lowercase();
        if lower == "default" || nearest(&lower, ["default"]).is_some() {
            return self.expected_word_error(message, "default");
        }
        let help = message!("write `branch {name}`, or `default branch {name}` for all other messages");
        self.unexpected_token(message, help)
    }

    fn foreign_router_case_error(&self) -> Option<Diagnostic> {
        let found = self.found_text;
        if let Some(diagnostic) = self.case_after_otherwise_error() {
            return Some(diagnostic);
        }
        match found {
            "if" | "case" | "on" | "elif" if self.expects_rule(Rule::kw_when) => self.expected_word_error(
                message!("a case of a router begins with `when`, not `{found}`"),
                "when",
            ),
            ":" | "then" if self.expects_rule(Rule::arrow) => {
                self.expected_word_error(message!("the next node must follow `->`, not `{found}`"), "->")
            }
            _ if self.expects_rule(Rule::arrow)
                && self.is_preceded_by("otherwise")
                && self.is_found_word() =>
            {
                let message = message!("expected `->` before the next node `{found}`");
                let start = Span { end: self.span.start, ..self.span };
                let diagnostic = unexpected_token(self.span, message, message!("write `-> {found}`"));
                Some(diagnostic.likely_fix(start, "-> "))
            }
            _ if self.expects_rule(Rule::arrow) => {
                let case = (self.cx.tokens.start..self.token_index)
                    .rfind(|index| self.text_of_token(*index) == "when")?;
                let word = (case + 2..self.token_index).rfind(|index| {
                    matches!(
                        self.text_of_token(*index),
                        "return" | "goto" | "do" | "call" | "go" | "run" | "to"
                    ) && self.cx.significant[index - 1].token.kind.ends_operand()
                        && self.text_of_token(index - 1) != "."
                        && self.kind_of_token(index + 1) == Some(TokenKind::Word)
                })?;
                let span = self.span_of_tokens(word..word + 1);
                let message = message!("the next node must follow `->`, not `{}`", self.text_of_token(word));
                Some(foreign::foreign_syntax_error(span, message, "->"))
            }
            "{" if self.expects_rule(Rule::open_paren) => {
                let name = self.text_of_token(self.cx.tokens.start + 1);
                self.unexpected_token(
                    message!("a router gives a name to the output of its node"),
                    message!("write `router {name}(output) {{`"),
                )
            }
            _ => None,
        }
    }

    fn foreign_node_error(&self) -> Option<Diagnostic> {
        let found = self.found_text;
        if let Some(diagnostic) = self.foreign_graph_word_error() {
            return Some(diagnostic);
        }
        match found {
            "timeout" | "time_limit" | "deadline" | "limit" => self.expected_word_error(
                message!("the time limit of a node is written with `within`, not `{found}`"),
                "within",
            ),
            "then" | "goto" | "to" | "next" | "return" | ":"
                if self.expects_rule(Rule::next_nodes) || self.expects_rule(Rule::arrow) =>
            {
                self.expected_word_error(message!("the next node must follow `->`, not `{found}`"), "->")
            }
            ":" if self.expects_rule(Rule::node_kind) => {
                let help = message!("remove the `:`: write `node ID KIND -> NEXT`");
                let message = message!("no `:` follows the id of a node");
                Some(unexpected_token(self.span, message, help).fix(self.span, ""))
            }
            _ if self.is_found_word()
                && matches!(self.next_token_text(), "->" | "=>")
                && self.expects_rule(Rule::kw_node) =>
            {
                self.edges_without_nodes_error()
            }
            _ => None,
        }
    }

    fn foreign_intent_entry_error(&self) -> Option<Diagnostic> {
        let lists = [Rule::examples, Rule::keywords, Rule::kw_examples, Rule::kw_keywords];
        let expects_list = lists.into_iter().any(|rule| self.expects_rule(rule));
        let words = self.token_index..self.token_index + 2;
        let open = words.clone().find(|index| self.text_of_token(index + 1) == "[");
        if let (true, Some(open)) = (expects_list && self.is_found_word(), open) {
            let word = self.text_of_token(open).to_lowercase();
            let wanted = match word.as_str() {
                "words" | "keyword" | "phrases" | "patterns" | "terms" | "word" => "keywords",
                "example" | "sentences" | "utterances" | "samples" | "texts" | "sayings" => "examples",
                _ => return None,
            };
            let span = self.span_of_tokens(self.token_index..open + 1);
            let message = message!(
                "an intent has `keywords` and `examples`, but no `{}`",
                self.cx.shorten_source(span)
            );
            return Some(foreign::foreign_syntax_error(span, message, wanted));
        }
        match self.found_text {
            ":" if self.is_preceded_by("examples") || self.is_preceded_by("keywords") => {
                let help = message!("remove the `{found}`", found = ":");
                let message = message!("the list follows without `:`");
                Some(unexpected_token(self.span, message, help).fix(self.span, ""))
            }
            "[" if self.expects_rule(Rule::open_brace) => {
                let end = self.closing_bracket_or_end(self.token_index) + 1;
                let list = self.source_of_tokens(self.token_index..end.min(self.cx.tokens.end));
                self.unexpected_token(
                    message!("the parts of an intent are written in braces"),
                    message!("write `{{ examples {list} }}`"),
                )
            }
            _ => None,
        }
    }

    fn test_field_without_given_error(&self) -> Option<Diagnostic> {
        let is_field = self.is_found_word() && matches!(self.next_token_text(), "=" | ":" | "==" | ".");
        if !is_field || !self.expects_rule(Rule::kw_given) {
            return None;
        }
        let found = self.found_text;
        let message = message!("a field of a test begins with `given`");
        self.unexpected_token(message, message!("write `given {found} = …`"))
    }

    /// True for `->` in place of the dot between two names, as in `user->role`: no space surrounds
    /// the arrow. The unexpected token follows the second name.
    fn is_arrow_as_dot(&self) -> bool {
        let Some(before) = self.token_index.checked_sub(3) else { return false };
        let touches =
            |index: usize| self.cx.significant[index].token.end == self.cx.significant[index + 1].token.start;
        self.text_of_token(before + 1) == "->"
            && touches(before)
            && touches(before + 1)
            && self.kind_of_token(before) == Some(TokenKind::Word)
            && self.kind_of_token(before + 2) == Some(TokenKind::Word)
            && (rulec_lang::operators::Op::from_spelling(self.found_text).is_some()
                || self.found_text == "is")
    }

    /// Returns the diagnostic for the edges of a workflow in the syntax of another language: `-> a
    /// and b`, `depends_on draft`. `None` without such a mistake.
    pub(super) fn edges_in_other_words_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::workflow_statement {
            return None;
        }
        let (found, next) = (self.found_text, self.text_of_token(self.token_index + 1));
        let is_name = self.kind_of_token(self.token_index + 1) == Some(TokenKind::Word);
        match found {
            "and" | "or" | "&" | "|" | "+" | "&&" if is_name => {
                let message = message!("next nodes are separated by `,`, not by `{found}`");
                let before = Span { start: self.token_before()?.end, ..self.span };
                Some(unexpected_token(self.span, message, message!("write `, {next}`")).fix(before, ","))
            }
            "depends_on" | "needs" | "requires" | "after" | "depends" | "dependsOn" | "from" | "inputs" => {
                self.edge_at_target_node_error(found, self.token_index + 1)
            }
            "<" | "<-" | "<=" | "<<" if self.is_arrow_to_the_left() => {
                let is_mark =
                    |index: &usize| matches!(self.text_of_token(*index), "<" | "-" | "--" | "=" | ">");
                let first = (self.token_index + 1..self.cx.tokens.end).find(|index| !is_mark(index))?;
                self.edge_at_target_node_error("<-", first)
            }
            _ => None,
        }
    }

    /// True if an arrow that points to the left begins at the unexpected token, as in `a <- b`.
    /// Such an arrow may consist of several tokens.
    fn is_arrow_to_the_left(&self) -> bool {
        let start = self.span.range().start;
        let text = &self.cx.text[start..];
        ["<-", "<=", "<<-"].into_iter().any(|arrow| text.starts_with(arrow))
    }

    /// Returns the diagnostic for an edge that is written at its target node, as in `depends_on
    /// draft`; it must be written at its source node. `found` is the word before the source nodes,
    /// and `first` the token of the first of them.
    fn edge_at_target_node_error(&self, found: &str, first: usize) -> Option<Diagnostic> {
        let node = (self.cx.tokens.start..self.token_index)
            .rev()
            .find(|index| self.text_of_token(*index) == "node")
            .map_or("NODE", |index| self.text_of_token(index + 1));
        let is_part = |index: &usize| {
            let is_word = self.kind_of_token(*index) == Some(TokenKind::Word);
            is_word && !self.begins_line(*index)
                || matches!(self.text_of_token(*index), "," | "[" | "(" | ":" | "=")
        };
        let is_name = |index: &usize| {
            self.kind_of_token(*index) == Some(TokenKind::Word)
                && !matches!(self.text_of_token(*index), "on" | "and")
        };
        let names = (first..self.cx.tokens.end).take_while(is_part).filter(is_name);
        let mut sources: Vec<String> =
            names.map(|index| format!("`node {}`", self.text_of_token(index))).collect();
        if sources.is_empty() {
            sources.push("`node NODE`".to_owned());
        }
        let message = message!("an edge is written at the node where it begins");
        let help =
            message!("remove `{found} …`, and write `-> {node}` at the end of {}", comma_list(sources));
        Some(unexpected_token(self.span, message, help))
    }

    /// Returns the diagnostic for a word by which other languages mark the first or the last node,
    /// name an edge, or begin a node: `start draft`, `edge a -> b`, `state draft`. `None` without
    /// such a mistake.
    fn foreign_graph_word_error(&self) -> Option<Diagnostic> {
        let found = self.found_text;
        let index = self.token_index;
        let is_head = (self.cx.tokens.start..index).all(|before| self.text_of_token(before) != "{");
        if !self.expects_rule(Rule::kw_node) && !is_head || !self.is_found_word() {
            return None;
        }
        let is_mark = |index: &usize| matches!(self.text_of_token(*index), ":" | "=" | "is");
        let mut name = index + 1;
        while is_mark(&name) || self.text_of_token(name) == "at" {
            name += 1;
        }
        let node = self.text_of_token(name);
        let is_name = matches!(self.kind_of_token(name), Some(TokenKind::Word | TokenKind::String));
        let has_arrow = matches!(self.text_of_token(name + 1), "->" | "=>");
        match found.to_lowercase().as_str() {
            "start" | "entry" | "begin" | "initial" | "entrypoint" | "entry_point" | "root" | "first"
                if is_name && !has_arrow =>
            {
                let first = (self.cx.tokens.start..self.cx.tokens.end).find(|index| {
                    self.text_of_token(*index) == "node" && self.text_of_token(index + 1) != ":"
                });
                let is_first = first.is_none_or(|first| self.text_of_token(first + 1) == node);
                let message = message!("a workflow starts at its first node");
                let end = if node == "node" { name } else { name + 1 };
                if is_first || node == "node" && first == Some(name) {
                    return self.removal_diagnostic(index, end, message);
                }
                let written = self.source_of_tokens(index..end);
                let help = message!("remove `{written}`, and write `node {node}` before the other nodes");
                Some(unexpected_token(self.span, message, help))
            }
            "end" | "finish" | "final" | "exit" | "stop" | "terminal" | "terminate" | "last"
                if is_name && !has_arrow && node != "node" =>
            {
                self.removal_diagnostic(index, name + 1, message!("a workflow ends at a node without `->`"))
            }
            "edge" | "link" | "arc" | "connect" | "transition" if is_name && has_arrow && !is_head => {
                let message = message!("an edge is written at the node where it begins");
                let (next, end) = (self.text_of_token(name + 2), name + 3);
                let written = self.source_of_tokens(index..end.min(self.cx.tokens.end));
                let help = message!("remove `{written}`, and write `-> {next}` at the end of `node {node}`");
                Some(unexpected_token(self.span, message, help))
            }
            "state" | "step" | "task" | "stage" | "vertex" | "activity" | "place" if is_name && !is_head => {
                self.expected_word_error(message!("a node begins with `node`, not `{found}`"), "node")
            }
            _ => None,
        }
    }
}
