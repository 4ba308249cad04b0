//! Selects completion items within the braces of a statement: the parts of a test, a choice, an
//! intent, a router or a workflow.

use super::items::{to_record_key, unquote_name};
use super::scope::{begins_line, is_after_dot};
use super::{CompletionContext, CompletionItem, CompletionKind, keyword_item, new_item};
use crate::DeclarationKind;
use crate::complete::clauses::keyword_items;
use crate::facts::ELEMENT_SEGMENT;
use rulec_base::broken_invariant;
use rulec_lang::ty::KindSet;
use rulec_sema::check::{BUILT_IN_NODE_KINDS, node_setting_names};
use rulec_sema::hir::Merge;
use rulec_syntax::lex::{Token, TokenKind};

impl<'a> CompletionContext<'a> {
    pub(super) fn test_items(&self, open: usize, last: Token) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        let Some(clause) = self.last_test_clause(open) else { return keyword_items(["given", "expect"]) };
        let is_empty = clause + 1 == end;
        let has_value = (clause..end).any(|index| self.token_text(index) == "=");
        match self.token_text(clause) {
            "given" if is_empty || !has_value && last.kind == TokenKind::Comma => {
                let mut items = self.message_fields();
                items.extend((is_empty && self.analysis.has_history()).then(|| keyword_item("history")));
                items
            }
            "given" if !has_value => keyword_items(["=", "given", "expect"]),
            "given" if self.ends_operand(end - 1) => keyword_items(["given", "expect"]),
            "given" => self.given_value_items(clause),
            _ if is_empty => {
                let mut items = self.symbol_items(&[
                    DeclarationKind::Route,
                    DeclarationKind::Table,
                    DeclarationKind::Choice,
                    DeclarationKind::Payload,
                    DeclarationKind::Flow,
                ]);
                items.extend(keyword_items(["default", "none", "->"]));
                items
            }
            _ if last.kind == TokenKind::Arrow => {
                self.symbol_items(&[DeclarationKind::Handler, DeclarationKind::Node])
            }
            _ if !self.ends_operand(end - 1) || self.token_text(end - 1) == "for" => Vec::new(),
            _ => {
                let has_arrow = (clause..end).any(|index| self.token_text(index) == "->");
                let mut items = keyword_items(["expect", "score", "for"]);
                items.extend((!has_arrow).then(|| keyword_item("->")));
                items
            }
        }
    }

    /// Returns the index of the last `given` or `expect` in the braces of a test, which open at the
    /// token `open`. `None` if neither is written yet.
    fn last_test_clause(&self, open: usize) -> Option<usize> {
        (open + 1..self.tokens_before.len()).rev().find(|index| {
            matches!(self.token_text(*index), "given" | "expect")
                && !is_after_dot(self.tokens_before, *index)
                && self.token_text(index + 1) != ":"
        })
    }

    /// Returns the completion items inside a record or list in a test. After the word `given`,
    /// where a test writes its message, these are missing fields or the values of a field. `last`
    /// is the token before the cursor.
    pub(super) fn inner_test_items(&self, last: Token) -> Vec<CompletionItem> {
        let clause = self.scope.open_brackets.first().and_then(|open| self.last_test_clause(*open));
        let Some(clause) = clause.filter(|clause| self.token_text(*clause) == "given") else {
            return self.constant_items(last);
        };
        let Some(open) = self.scope.open_brackets.last().copied() else {
            broken_invariant!("a position inside brackets has an open bracket");
            return Vec::new();
        };
        let is_record = self.tokens_before[open].kind == TokenKind::OpenBrace;
        match last.kind {
            TokenKind::OpenBrace | TokenKind::Comma if is_record => {
                let path = self.given_path(clause);
                self.without_written_keys(self.fields_of_given(&path), open)
            }
            TokenKind::OpenBracket | TokenKind::Comma | TokenKind::Colon => self.given_value_items(clause),
            _ if is_record && self.is_key_position(open) => keyword_items([":"]),
            _ => Vec::new(),
        }
    }

    /// Returns the values that can be written at the cursor inside a record or list after the word
    /// `given`, where a test writes its message. Empty after the word `expect`.
    pub(super) fn inner_test_values(&self) -> Vec<CompletionItem> {
        let clause = self.scope.open_brackets.first().and_then(|open| self.last_test_clause(*open));
        let clause = clause.filter(|clause| self.token_text(*clause) == "given");
        clause.map_or(Vec::new(), |clause| self.given_value_items(clause))
    }

    /// Returns completion items for the fields of a record that a test writes after `given`, where
    /// it gives the input message. `path` is the path from the message to the record.
    fn fields_of_given(&self, path: &[&'a str]) -> Vec<CompletionItem> {
        let field = |name: &str| new_item(CompletionKind::Field, name, String::new());
        let mut items = match path {
            ["payload"] => {
                let kinds = self.analysis.index.symbols_of_kinds(&[DeclarationKind::Payload]);
                let fields = kinds
                    .flat_map(|kind| self.inner_symbol_items(DeclarationKind::PayloadField, &[&kind.name]));
                fields.collect()
            }
            ["history", ELEMENT_SEGMENT] => {
                let mut items = self.fields_of_message(&[]);
                items.extend(["ago", "at", "decision"].map(field));
                items
            }
            ["history", ELEMENT_SEGMENT, "decision"] => ["chosen", "target"].map(field).to_vec(),
            ["history", ELEMENT_SEGMENT, inner @ ..] => self.fields_of_message(inner),
            path => self.fields_of_message(path),
        };
        for item in &mut items {
            item.label = to_record_key(unquote_name(&item.label));
        }
        items
    }

    /// Returns the values that can be written at the cursor after the word `given`, where a test
    /// writes its message. They are the values of an enumeration, or constant words such as `true`.
    /// `clause` is the index of the token `given`.
    fn given_value_items(&self, clause: usize) -> Vec<CompletionItem> {
        let path = self.given_path(clause);
        let path = match path.as_slice() {
            ["history", ELEMENT_SEGMENT, inner @ ..] => inner,
            path => path,
        };
        let items = self.enumeration_items_of(path);
        if !items.is_empty() {
            return items;
        }
        let words = |words: &[&str]| words.iter().map(|word| keyword_item(word)).collect();
        match self.analysis.facts.kinds_at_path(path) {
            Some(kinds) if kinds.overlaps(KindSet::BOOL) => words(&["true", "false", "null"]),
            Some(_) => words(&["null"]),
            None if path.is_empty() => Vec::new(),
            None => words(&["true", "false", "null"]),
        }
    }

    /// Returns the path of the value at the cursor: the path after the word `given` of a test,
    /// continued within the records and lists that are open. `clause` is the index of the token
    /// `given`.
    fn given_path(&self, clause: usize) -> Vec<&'a str> {
        let end = self.tokens_before.len();
        let equals = (clause..end).find(|index| self.token_text(*index) == "=").unwrap_or(end);
        let is_name =
            |index: &usize| matches!(self.tokens_before[*index].kind, TokenKind::Word | TokenKind::Quoted);
        let mut path: Vec<&str> =
            (clause + 1..equals).filter(is_name).map(|index| unquote_name(self.token_text(index))).collect();
        let push_key = |colon: usize, path: &mut Vec<&'a str>| {
            if let Some(key) = colon.checked_sub(1).filter(|_| self.token_text(colon) == ":") {
                path.push(self.token_text(key).trim_matches(['`', '"']));
            }
        };
        for open in self.scope.open_brackets.iter().filter(|open| **open > equals) {
            push_key(open - 1, &mut path);
            path.extend(
                (self.tokens_before[*open].kind == TokenKind::OpenBracket).then_some(ELEMENT_SEGMENT),
            );
        }
        if end > equals + 1 {
            push_key(end - 1, &mut path);
        }
        path
    }

    /// Returns the completion items where only a constant may be written: lists, `let`s and
    /// constant words after a colon, otherwise none. `last` is the token before the cursor.
    pub(super) fn constant_items(&self, last: Token) -> Vec<CompletionItem> {
        match last.kind {
            TokenKind::Colon => {
                let mut items = self.symbol_items(&[DeclarationKind::Let, DeclarationKind::List]);
                items.extend(keyword_items(["true", "false", "null"]));
                items
            }
            _ => Vec::new(),
        }
    }

    /// Returns the words that can follow in the braces of a choice, which open at the token `open`.
    /// `last` is the token before the cursor. `begins_item` is true if a new branch may begin at
    /// the cursor.
    pub(super) fn choice_items(&self, open: usize, last: Token, begins_item: bool) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        let is_clause = |index: &usize| {
            matches!(self.token_text(*index), "branch" | "where")
                && !is_after_dot(self.tokens_before, *index)
                && self.is_directly_in(open, *index)
        };
        let clause = (open + 1..end).rev().find(is_clause);
        let mut items = Vec::new();
        match clause.map(|clause| (self.token_text(clause), end - 1 - clause)) {
            Some(("branch", 0)) => return Vec::new(),
            Some(("branch", 1)) => items.extend(keyword_items(["all", "any"])),
            Some(("branch", _)) if last.kind == TokenKind::CloseBrace => items.push(keyword_item("where")),
            Some(("where", _)) => {
                if matches!(self.last_token_text(), "where" | ",") {
                    return Vec::new();
                } else if matches!(self.token_text_before(end - 1), "where" | ",") {
                    return keyword_items(["="]);
                }
                items.extend(self.expression_items(last));
                if !self.ends_condition() {
                    return items;
                }
            }
            _ if self.last_token_text() == "default" => return keyword_items(["branch"]),
            _ => {}
        }
        if begins_item || !items.is_empty() || last.kind == TokenKind::String {
            items.extend(keyword_items(["branch", "default branch"]));
        }
        items
    }

    /// True if the token at `index` lies in the brackets that open at `open`, but not in brackets
    /// within them.
    pub(super) fn is_directly_in(&self, open: usize, index: usize) -> bool {
        let mut depth = 0usize;
        for token in &self.tokens_before[open + 1..index] {
            depth += usize::from(token.kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(token.kind.closes_bracket()));
        }
        depth == 0
    }

    /// Returns the completion items in the braces of an intent: each of the words `keywords` and
    /// `examples` that is not written yet. Directly after one of these words: the `list` statements
    /// of the rules.
    pub(super) fn intent_items(&self, open: usize) -> Vec<CompletionItem> {
        if matches!(self.last_token_text(), "keywords" | "examples") {
            return self.symbol_items(&[DeclarationKind::List]);
        }
        let is_written =
            |word: &&str| (open..self.tokens_before.len()).any(|index| self.token_text(index) == *word);
        let words = ["keywords", "examples"].into_iter().filter(|word| !is_written(word));
        words.map(keyword_item).collect()
    }

    pub(super) fn router_items(&self, last: Token, begins_item: bool) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        let is_start = |index: &usize| matches!(self.token_text(*index), "when" | "otherwise" | "->" | "{");
        let start =
            (self.scope.first_token..end).rev().find(is_start).map_or("", |index| self.token_text(index));
        if last.kind == TokenKind::Arrow || start == "->" && last.kind == TokenKind::Comma {
            let mut items = self.symbol_items(&[DeclarationKind::Node]);
            items.push(new_item(CompletionKind::Value, "next", String::new()));
            return items;
        }
        match (start, begins_item) {
            ("when", _) => {
                let mut items = self.expression_items(last);
                items.extend(self.ends_condition().then(|| keyword_item("->")));
                items
            }
            ("otherwise", _) => keyword_items(["->"]),
            ("->", false) => keyword_items(["loopback", "when", "otherwise"]),
            _ => keyword_items(["when", "otherwise"]),
        }
    }

    pub(super) fn workflow_items(&self, last: Token, begins_item: bool) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        let nodes = || self.node_items();
        match self.last_token_text() {
            "by" if self.token_text_before(end - 1) == "merge" => return keyword_items(["node"]),
            "by" => return self.symbol_items(&[DeclarationKind::Router]),
            "->" | "passthrough" => return nodes(),
            "," => return nodes(),
            "node" | "within" => return Vec::new(),
            "merge" => {
                return Merge::NAMES.iter().map(|(name, _)| keyword_item(name)).collect();
            }
            _ if self.token_text_before(end - 1) == "node" => {
                let kind = |name: &&str| new_item(CompletionKind::Value, name, String::new());
                return BUILT_IN_NODE_KINDS.iter().map(kind).collect();
            }
            _ => {}
        }
        let is_node_open = last.kind != TokenKind::OpenBrace
            && (self.scope.first_token..end).rev().find_map(|index| match self.token_text(index) {
                "node" => Some(true),
                "passthrough" => Some(false),
                _ => None,
            }) == Some(true);
        let mut items = Vec::new();
        if is_node_open {
            items.extend(keyword_items(["within", "merge", "->", "by"]));
        }
        if begins_item {
            items.extend(keyword_items(["node", "passthrough"]));
        }
        items
    }

    /// Returns completion items for the nodes of the workflow that contains the cursor. Finds the
    /// nodes in the tokens, because the statement may have errors.
    fn node_items(&self) -> Vec<CompletionItem> {
        let text_of = |index: usize| self.tokens.get(index).map_or("", |token| token.text(self.text));
        let (mut items, mut depth) = (Vec::new(), 0usize);
        for (index, token) in self.tokens.iter().enumerate().skip(self.scope.first_token) {
            depth += usize::from(token.kind.opens_bracket());
            if token.kind.closes_bracket() {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            // Without a closing brace, the next statement ends the workflow.
            if index > self.tokens_before.len() && begins_line(self.text, *token) {
                break;
            }
            let is_id = depth == 1 && text_of(index) == "node" && text_of(index - 1) != "by";
            let id = self.tokens.get(index + 1).filter(|id| is_id && id.start != self.replaced_start);
            items.extend(id.map(|id| new_item(CompletionKind::Statement, id.text(self.text), String::new())));
        }
        items
    }

    /// Returns the completion items in the settings of a workflow's node, whose braces open at the
    /// token `open`. `last` is the token before the cursor.
    pub(super) fn node_setting_items(&self, open: usize, last: Token) -> Vec<CompletionItem> {
        match last.kind {
            TokenKind::OpenBrace | TokenKind::Comma if self.scope.open_brackets.len() == 2 => {
                let names = node_setting_names(self.token_text_before(open).trim_matches('"'));
                let items = names.map(|name| new_item(CompletionKind::Field, name, String::new())).collect();
                self.without_written_keys(items, open)
            }
            TokenKind::Word if self.is_key_position(open) => keyword_items([":"]),
            _ => self.constant_items(last),
        }
    }
}
