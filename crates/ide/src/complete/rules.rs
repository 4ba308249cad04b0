//! Selects completion items in the rules of a payload or group: the words that begin an item, and
//! the clauses that can follow in it.

use super::clauses::keyword_items;
use super::scope::is_after_dot;
use super::{CompletionContext, CompletionItem, keyword_item};
use crate::DeclarationKind;
use rulec_syntax::lex::{Token, TokenKind};

/// Words that begin an item, such as a requirement, in the braces of a payload.
const ITEM_WORDS: [&str; 7] = ["require", "forbid", "let", "each", "include", "closed", "compiles"];
/// Words that can follow a condition of a payload. They begin the clause that says what happens if
/// a value violates the condition.
const OUTCOME_WORDS: [&str; 5] = ["else", "default", "clamp", "remove", "warning"];

impl CompletionContext<'_> {
    /// Returns the completion items in the braces of a payload, a group or an `each`, which open at
    /// the token `open`. `last` is the token before the cursor.
    pub(super) fn payload_items(&self, open: usize, last: Token) -> Vec<CompletionItem> {
        if self.token_text_before(open) == ":" {
            // The fields of a record type.
            return if last.kind == TokenKind::Colon { self.type_items() } else { Vec::new() };
        }
        let begins_line = self.text[last.end as usize..self.replaced_start as usize].contains('\n');
        let begins_item = matches!(last.kind, TokenKind::OpenBrace | TokenKind::Semicolon)
            || begins_line && !self.is_item_incomplete()
            || last.kind == TokenKind::CloseBrace;
        let Some(start) = self.item_start(open).filter(|_| !begins_item) else {
            return keyword_items(ITEM_WORDS);
        };
        let end = self.tokens_before.len();
        let word = self.last_token_text();
        match self.token_text(start) {
            "require" | "compiles" if start + 2 == end => keyword_items(["at", "when"]),
            "forbid" if start + 2 == end => keyword_items(["at", "when"]),
            "require" | "forbid" | "compiles" | "let" | "include" | "each" if start + 1 == end => {
                match word {
                    "include" => self.symbol_items(&[DeclarationKind::Group]),
                    _ => Vec::new(),
                }
            }
            "each" => self.each_items(start, last),
            "include" if start + 2 == end => keyword_items(["as", "when"]),
            "include" if word == "as" => Vec::new(),
            "closed" => self.outcome_items(start),
            "require" | "forbid" | "compiles" | "include" => {
                let is_message = matches!(self.token_text_before(end - 1), "else" | "repair");
                if is_message && last.kind == TokenKind::String {
                    return self.outcome_items(start);
                }
                let mut items = self.rule_value_items(last);
                if self.ends_condition() && !matches!(word, "at" | "dotted" | "else" | "repair") {
                    items.extend(self.next_clause_items(start));
                }
                items
            }
            "let" if start + 2 == end => keyword_items(["="]),
            "let" => self.rule_value_items(last),
            _ => self.field_items(start, last),
        }
    }

    /// Returns the completion items for an expression in a payload. Empty directly after a word
    /// that a text follows, such as `warning`. `last` is the token before the cursor.
    pub(super) fn rule_value_items(&self, last: Token) -> Vec<CompletionItem> {
        match self.last_token_text() {
            "at" => {
                let mut items = self.payload_fields();
                items.push(keyword_item("dotted"));
                items
            }
            "dotted" => self.payload_fields(),
            "else" | "repair" if !self.is_after_if() => Vec::new(),
            "remove" | "warning" => Vec::new(),
            _ => self.expression_items(last),
        }
    }

    /// True if an `if` precedes the cursor in its rule. An `else` before the cursor then
    /// belongs to this `if`, so a value follows the `else`.
    fn is_after_if(&self) -> bool {
        let words =
            (self.scope.first_token..self.tokens_before.len()).rev().map(|index| self.token_text(index));
        words.take_while(|word| !matches!(*word, "require" | "forbid" | ";")).any(|word| word == "if")
    }

    /// True if the token before the cursor does not end an operand, so that the item continues on
    /// the next line.
    fn is_item_incomplete(&self) -> bool {
        let last = self.tokens_before.len() - 1;
        !self.ends_operand(last)
    }

    /// Returns the index of the first token of the item (such as a field or requirement) at the
    /// position. `open` is the index of the brace around the items. `None` if no item has begun.
    fn item_start(&self, open: usize) -> Option<usize> {
        let (mut start, mut depth) = (None, 0usize);
        for index in open + 1..self.tokens_before.len() {
            let (previous, token) = (self.tokens_before[index - 1], self.tokens_before[index]);
            let word = token.text(self.text);
            let begins_line = self.text[previous.end as usize..token.start as usize].contains('\n');
            let is_key = matches!(self.token_text(index + 1), ":" | "?");
            let is_separated = matches!(previous.kind, TokenKind::OpenBrace | TokenKind::Semicolon)
                || previous.kind == TokenKind::CloseBrace;
            let is_start =
                is_separated || begins_line && (ITEM_WORDS.contains(&word) || is_key) || start.is_none();
            if depth == 0 && token.kind != TokenKind::Semicolon && is_start {
                start = Some(index);
            }
            depth += usize::from(token.kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(token.kind.closes_bracket()));
        }
        start
    }

    /// Returns the words that can follow the complete operand before the cursor, in the rule that
    /// starts at the token `start`.
    fn next_clause_items(&self, start: usize) -> Vec<CompletionItem> {
        let is_written = |word: &str| {
            (start..self.tokens_before.len())
                .any(|index| self.token_text(index) == word && !is_after_dot(self.tokens_before, index))
        };
        let has_condition = match self.token_text(start) {
            "require" => self.has_colon_after(start),
            "forbid" => is_written("when"),
            "compiles" => return self.outcome_items(start),
            _ => return Vec::new(),
        };
        if has_condition {
            return self.outcome_items(start);
        }
        let mut items = Vec::new();
        items.extend((!is_written("when")).then(|| keyword_item("when")));
        items.extend((self.token_text(start) == "require").then(|| keyword_item(":")));
        items
    }

    /// True if the requirement that starts at the token `start` already has its colon before the
    /// position.
    fn has_colon_after(&self, start: usize) -> bool {
        let mut depth = 0usize;
        self.tokens_before[start..].iter().any(|token| {
            depth += usize::from(token.kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(token.kind.closes_bracket()));
            depth == 0 && token.kind == TokenKind::Colon
        })
    }

    /// Returns the words, such as `clamp`, that say what happens if a value violates the condition.
    /// Words that the item at the token `start` already has are left out.
    fn outcome_items(&self, start: usize) -> Vec<CompletionItem> {
        let written: Vec<&str> =
            (start..self.tokens_before.len()).map(|index| self.token_text(index)).collect();
        let mut items: Vec<CompletionItem> =
            OUTCOME_WORDS.into_iter().filter(|word| !written.contains(word)).map(keyword_item).collect();
        let follows_message = self.tokens_before.last().is_some_and(|last| last.kind == TokenKind::String)
            && written.contains(&"else")
            && !written.contains(&"repair");
        items.extend(follows_message.then(|| keyword_item("repair")));
        items
    }

    /// Returns the completion items in the head of an `each` (a block of rules for each element of
    /// a list). The head starts at the token `start`.
    fn each_items(&self, start: usize, last: Token) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        let has_in = (start..end).any(|index| self.token_text(index) == "in");
        match self.last_token_text() {
            "," if !has_in => Vec::new(),
            _ if !has_in => keyword_items(["in"]),
            "in" => self.payload_fields(),
            _ => {
                let mut items = self.expression_items(last);
                let has_guard = (start..end).any(|index| self.token_text(index) == "when");
                items.extend((!has_guard && self.ends_operand(end - 1)).then(|| keyword_item("when")));
                items
            }
        }
    }

    /// Returns the completion items in the declaration of a payload's field. The declaration starts
    /// at the token `start`, and `last` is the token before the cursor.
    fn field_items(&self, start: usize, last: Token) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        if last.kind == TokenKind::Colon && self.is_field_key() {
            return self.type_items();
        }
        if !(start..end).any(|index| self.token_text(index) == ":") {
            return if end == start + 1 { keyword_items([":"]) } else { Vec::new() };
        }
        match self.last_token_text() {
            "not" => keyword_items(["blank"]),
            "in" | "const" | "default" => self.constant_or_field_items(),
            "|" => keyword_items(["null"]),
            "else" | "repair" => Vec::new(),
            _ if self.ends_operand(end - 1) || self.token_text(end - 1) == ">" => {
                let mut items = keyword_items(["not blank", "in", "const", "|"]);
                items.extend(self.outcome_items(start));
                items
            }
            _ => Vec::new(),
        }
    }

    /// Returns completion items for the values that can follow a word such as `default` in the
    /// declaration of a field: lists, `let`s, message fields and constant words.
    fn constant_or_field_items(&self) -> Vec<CompletionItem> {
        let mut items = self.symbol_items(&[DeclarationKind::List, DeclarationKind::Let]);
        items.extend(self.message_fields());
        items.extend(keyword_items(["true", "false", "null"]));
        items
    }
}
