//! Selects the completion items for a position by its place in the statement, such as after `->` or
//! inside metadata. Only words, names and values that the language allows at this place are
//! offered.

use super::items::{new_item, setting_items, setting_value_items, unquote_name};
use super::scope::{self, is_after_dot};
use super::{CompletionContext, CompletionItem, CompletionKind, keyword_item};
use crate::DeclarationKind;
use rulec_sema::hir::MATCH_MODES;
use rulec_syntax::lex::{Token, TokenKind};
use rulec_syntax::write::quote_string;

/// Words of the rule language that can follow the name of a route.
const ROUTE_WORDS: [&str; 3] = ["when", "priority", "disabled"];
const PAYLOAD_WORDS: [&str; 6] = ["rank", "interrupts", "suspends", "internal", "strict", "fallback"];

pub(super) fn keyword_items<const N: usize>(words: [&str; N]) -> Vec<CompletionItem> {
    words.map(keyword_item).to_vec()
}

/// Returns the relative path from a folder to a file. Both arguments are relative to the root
/// folder, with `/` between names. An empty `folder` is the root folder itself.
fn relative_path(folder: &str, file: &str) -> String {
    let folders: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let names: Vec<&str> = file.split('/').collect();
    let shared = folders.iter().zip(&names).take_while(|(a, b)| a == b).count();
    let ups = std::iter::repeat_n("..", folders.len() - shared);
    ups.chain(names[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}

impl CompletionContext<'_> {
    /// Returns the completion items that are allowed at the cursor. `last` is the
    /// token before the cursor.
    pub(super) fn clause_items(&self, last: Token) -> Vec<CompletionItem> {
        match self.last_token_text() {
            "goto" => return self.symbol_items(&[DeclarationKind::Table]),
            "as" => return self.type_items(),
            "include" => return self.symbol_items(&[DeclarationKind::Group]),
            "fallback" => return self.symbol_items(&[DeclarationKind::Payload]),
            "<" if matches!(self.token_text_before(self.tokens_before.len() - 1), "list" | "dict") => {
                return self.type_items();
            }
            _ => {}
        }
        match self.scope.open_brackets.last() {
            None => self.head_items(last),
            Some(open) => match self.tokens_before[*open].kind {
                TokenKind::OpenParen => self.parenthesis_items(*open, last),
                TokenKind::OpenBrace => self.brace_items(*open, last),
                _ => self.list_items(last),
            },
        }
    }

    /// Returns the completion items inside a string: file names after `import`, otherwise the
    /// values of the enumeration with which the string is compared.
    pub(super) fn string_items(&self) -> Vec<CompletionItem> {
        if self.scope.head_word == "test" {
            let mut items = self.inner_test_values();
            items.retain(|item| item.label.starts_with('"'));
            return items;
        }
        if self.last_token_text() != "import" {
            return self.enumeration_items();
        }
        let own_name = self.analysis.sources.get(self.file).map_or("", |file| &file.name);
        let folder = own_name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let files = self.analysis.importable_files.iter().filter(|name| *name != own_name);
        let item = |name: &String| {
            let path = relative_path(folder, name);
            new_item(CompletionKind::Value, &quote_string(&path), String::new())
        };
        files.map(item).collect()
    }

    /// Returns the completion items for a position that is outside all brackets of the statement.
    /// `last` is the token before the cursor.
    fn head_items(&self, last: Token) -> Vec<CompletionItem> {
        let distance = self.tokens_before.len() - 1 - self.scope.first_token;
        let word = self.last_token_text();
        match self.scope.head_word {
            "route" => self.route_items(last),
            "default" if word == "default" => keyword_items(["->"]),
            "default" => self.target_items(last),
            "let" | "list" if distance == 0 => Vec::new(),
            "let" | "list" if distance == 1 => keyword_items(["="]),
            "list" if word == "=" => {
                let mut items = keyword_items(["from"]);
                items.extend(self.symbol_items(&[DeclarationKind::List]));
                items
            }
            "list" => Vec::new(),
            "let" if matches!(self.scope.owner_head_word, "payload" | "group") => self.rule_value_items(last),
            "let" => self.expression_items(last),
            "def" if self.has_word("=") => self.expression_items(last),
            "def" if last.kind == TokenKind::CloseParen => keyword_items(["="]),
            "type" if distance == 1 => keyword_items(["="]),
            "type" if matches!(word, "=") => self.type_items(),
            "handler" if last.kind == TokenKind::CloseParen => keyword_items(["requires permission"]),
            "extern" if distance == 0 => keyword_items(["fn"]),
            "extern" if last.kind == TokenKind::CloseParen => keyword_items(["->"]),
            "extern" if last.kind == TokenKind::Arrow => self.type_items(),
            "history" if word == "by" => self.message_fields(),
            "history" => self.history_items(last),
            "choice" if distance == 1 => keyword_items(["ask", "to_user"]),
            "choice" if last.kind == TokenKind::String => keyword_items(["to_user"]),
            "flow" => self.flow_items(last),
            "entity" if distance == 1 => keyword_items(["matches"]),
            "entity" if word == "matches" => keyword_items(["any"]),
            "entity" if matches!(word, "ignoring" | "matching") => keyword_items(["case"]),
            "entity" if distance > 2 && word != "case" && last.kind.ends_operand() => {
                keyword_items(["ignoring case", "matching case"])
            }
            "payload" if distance > 0 && word != "rank" => keyword_items(PAYLOAD_WORDS),
            _ => Vec::new(),
        }
    }

    /// Returns the words, and the names of `list` statements, that can follow in a `flow`
    /// statement. `last` is the token before the cursor.
    fn flow_items(&self, last: Token) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        let lists = || self.symbol_items(&[DeclarationKind::List]);
        let unwritten = || ["examples", "keywords"].into_iter().filter(|word| !self.has_word(word));
        let word = self.last_token_text();
        match word {
            _ if end - 1 == self.scope.first_token => keyword_items(["tool"]),
            "keyword" => {
                let modes = MATCH_MODES.iter().map(|(mode, _)| *mode);
                modes.map(|mode| new_item(CompletionKind::Value, mode, String::new())).collect()
            }
            "intent" => lists().into_iter().chain(unwritten().map(keyword_item)).collect(),
            "examples" | "keywords" => lists(),
            "ignoring" | "matching" => keyword_items(["case"]),
            "case" => keyword_items(["->"]),
            _ if self.token_text_before(end - 1) == "keyword" => lists(),
            _ if self.has_word("->") || self.token_text(self.scope.first_token + 1) == "tool" => Vec::new(),
            _ if self.has_word("keyword") => keyword_items(["->", "ignoring case", "matching case"]),
            _ if self.has_word("intent") => {
                keyword_items(["->"]).into_iter().chain(unwritten().map(keyword_item)).collect()
            }
            _ if last.kind.ends_operand() => keyword_items(["keyword", "intent"]),
            _ => Vec::new(),
        }
    }

    /// Returns the completion items inside square brackets. Empty in statements whose lists contain
    /// only texts, such as `intent`. `last` is the token before the cursor.
    fn list_items(&self, last: Token) -> Vec<CompletionItem> {
        let outermost = self.scope.open_brackets.first().copied().unwrap_or_default();
        match self.scope.head_word {
            "intent" | "entity" | "flow" | "list" => Vec::new(),
            "test" => self.inner_test_items(last),
            "workflow" => self.constant_items(last),
            _ if self.tokens_before[outermost].kind == TokenKind::OpenBrace
                && self.is_target_bracket(outermost) =>
            {
                self.constant_items(last)
            }
            "payload" | "group" => self.rule_value_items(last),
            _ => self.expression_items(last),
        }
    }

    /// Returns the words that can begin the next clause of a `history` statement. The clauses are,
    /// in this order: `by` (the key of the messages), `keep` (how long messages are kept) and `at
    /// most` (how many messages are kept per key). `last` is the token before the cursor.
    fn history_items(&self, last: Token) -> Vec<CompletionItem> {
        let (begins, word) = (self.tokens_before.len() - 1 == self.scope.first_token, self.last_token_text());
        if !begins && (!last.kind.ends_operand() || matches!(word, "keep" | "at" | "most")) {
            return Vec::new();
        }
        let clauses = [("by", "by"), ("keep", "keep"), ("most", "at most")];
        let is_written = |clause: &(&str, &str)| self.has_word(clause.0);
        let next = clauses.iter().rposition(is_written).map_or(0, |written| written + 1);
        clauses[next..].iter().map(|(_, clause)| keyword_item(clause)).collect()
    }

    fn route_items(&self, last: Token) -> Vec<CompletionItem> {
        if self.has_word("->") {
            return self.target_items(last);
        }
        let distance = self.tokens_before.len() - 1 - self.scope.first_token;
        match self.last_token_text() {
            "route" | "priority" if distance == 0 || self.last_token_text() == "priority" => Vec::new(),
            _ if !self.has_word("when") => {
                ROUTE_WORDS.into_iter().filter(|word| !self.has_word(word)).map(keyword_item).collect()
            }
            "where" | "," => Vec::new(),
            _ if matches!(self.token_text_before(self.tokens_before.len() - 1), "where" | ",") => {
                keyword_items(["="])
            }
            _ => {
                let mut items = self.expression_items(last);
                if self.ends_condition() {
                    items.push(keyword_item("->"));
                    items.extend((!self.has_word("where")).then(|| keyword_item("where")));
                }
                items
            }
        }
    }

    /// Returns the completion items for a target: the handlers and `goto` if `last`, the token
    /// before the cursor, is `->`. Otherwise none.
    fn target_items(&self, last: Token) -> Vec<CompletionItem> {
        if last.kind != TokenKind::Arrow {
            return Vec::new();
        }
        let mut items = self.callable_items(&[DeclarationKind::Handler]);
        items.push(keyword_item("goto"));
        items
    }

    /// True if the statement has `word` outside brackets before the cursor.
    fn has_word(&self, word: &str) -> bool {
        let mut depth = 0usize;
        (self.scope.first_token..self.tokens_before.len()).any(|index| {
            let kind = self.tokens_before[index].kind;
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            depth == 0 && self.token_text(index) == word && !is_after_dot(self.tokens_before, index)
        })
    }

    /// Returns the completion items inside an expression: operators if `last`, the token before the
    /// position, ends an operand. Otherwise names and values.
    pub(super) fn expression_items(&self, last: Token) -> Vec<CompletionItem> {
        let end = self.tokens_before.len() - 1;
        if let Some(items) = self.negated_operator_items() {
            return items;
        }
        let is_half_operator = matches!(self.last_token_text(), "is" | "ignoring" | "matching");
        if is_half_operator || last.kind.ends_operand() && self.ends_operand(end) {
            let mut items = self.operator_items();
            if self.last_token_text() == "history" && self.analysis.has_history() {
                items.extend(keyword_items(["within", "after", "before"]));
            }
            let words = (self.scope.first_token..=end).rev().map(|index| self.token_text(index));
            if let Some(word) = words.into_iter().find(|word| matches!(*word, "if" | "then" | "else")) {
                items.extend(match word {
                    "if" => Some(keyword_item("then")),
                    "then" => Some(keyword_item("else")),
                    _ => None,
                });
            }
            return items;
        }
        let mut items = self.value_items();
        if self.analysis.has_history() {
            let names = ["history", "previous"];
            items.extend(names.map(|name| new_item(CompletionKind::Value, name, String::new())));
        }
        let mut items = self.rank_by_type(items);
        if matches!(self.last_token_text(), "contains" | "starts_with" | "ends_with") {
            items.push(keyword_item("word"));
        }
        items
    }

    /// Returns the completion items inside parentheses, which open at the token `open`. `last` is
    /// the token before the cursor.
    fn parenthesis_items(&self, open: usize, last: Token) -> Vec<CompletionItem> {
        if self.is_declaration_bracket(open) {
            return if last.kind == TokenKind::Colon { self.type_items() } else { Vec::new() };
        }
        if self.is_target_bracket(open) {
            let handler = unquote_name(self.token_text(open - 1));
            return match last.kind {
                TokenKind::OpenParen | TokenKind::Comma => {
                    let items = self.inner_symbol_items(DeclarationKind::Parameter, &["handler", handler]);
                    self.without_written_keys(items, open)
                }
                TokenKind::Word if last.start > 0 && self.is_key_position(open) => keyword_items([":"]),
                _ => self.expression_items(last),
            };
        }
        let mut items = self.expression_items(last);
        if matches!(last.kind, TokenKind::OpenParen | TokenKind::Comma) && open > 0 {
            let function = unquote_name(self.token_text(open - 1));
            let names = self.inner_symbol_items(DeclarationKind::Parameter, &[function]);
            items.extend(self.without_written_keys(names, open));
        }
        items
    }

    /// True if the token before the cursor is a key whose colon is not written yet: it follows a
    /// comma or an opening bracket. False if it is itself the bracket `open`.
    pub(super) fn is_key_position(&self, open: usize) -> bool {
        let last = self.tokens_before.len() - 1;
        last > open && matches!(self.token_text_before(last), "(" | "{" | ",")
    }

    /// Removes the completion items whose names are already written as keys inside the bracket that
    /// opens at the token `open`, before or after the cursor.
    pub(super) fn without_written_keys(
        &self,
        mut items: Vec<CompletionItem>,
        open: usize,
    ) -> Vec<CompletionItem> {
        let text_of = |index: usize| self.tokens.get(index).map_or("", |token| token.text(self.text));
        let (mut written, mut depth) = (Vec::new(), 0usize);
        for (index, token) in self.tokens.iter().enumerate().skip(open + 1) {
            if token.kind.closes_bracket() {
                let Some(outer) = depth.checked_sub(1) else { break };
                depth = outer;
            }
            // Brackets that are not closed yet would include later statements.
            if index > self.tokens_before.len() && scope::begins_line(self.text, *token) {
                break;
            }
            let is_replaced = token.start == self.replaced_start;
            if depth == 0 && !is_replaced && text_of(index + 1) == ":" {
                written.push(unquote_name(token.text(self.text)).trim_matches('"'));
            }
            depth += usize::from(token.kind.opens_bracket());
        }
        items.retain(|item| !written.contains(&unquote_name(&item.label).trim_matches('"')));
        items
    }

    /// True if the bracket at the token `open` contains declarations of fields or parameters.
    pub(super) fn is_declaration_bracket(&self, open: usize) -> bool {
        match self.scope.head_word {
            "input" | "type" => true,
            "handler" | "extern" => true,
            "router" => open == self.scope.first_token + 2,
            // After the `=` of a `def`, brackets belong to its expression.
            "def" | "group" => {
                !(self.scope.first_token..open).any(|index| self.token_text(index) == "=") && {
                    let outermost = self.scope.open_brackets.first();
                    outermost.is_some_and(|open| self.tokens_before[*open].kind == TokenKind::OpenParen)
                }
            }
            _ => false,
        }
    }

    /// True if the bracket at the token `open` contains the arguments or the metadata of a target
    /// (the handler after `->`).
    pub(super) fn is_target_bracket(&self, open: usize) -> bool {
        let may_have_target = matches!(self.scope.head_word, "route" | "default" | "test");
        let arrow = (self.scope.first_token..open)
            .rev()
            .find(|index| self.tokens_before[*index].kind == TokenKind::Arrow);
        // The braces of a test lie around its targets.
        let around = usize::from(self.scope.head_word == "test");
        let is_outermost = self.scope.open_brackets.get(around) == Some(&open);
        may_have_target
            && is_outermost
            && arrow.is_some_and(|arrow| {
                let is_next = open == arrow + 2;
                is_next || self.token_text_before(open) == ")" && self.token_text(arrow + 2) == "("
            })
    }

    /// Returns the completion items inside braces, which open at the token `open`. `last` is the
    /// token before the cursor.
    fn brace_items(&self, open: usize, last: Token) -> Vec<CompletionItem> {
        if self.is_declaration_bracket(open) {
            return if last.kind == TokenKind::Colon { self.type_items() } else { Vec::new() };
        }
        if self.is_target_bracket(open) {
            return self.metadata_items(open, last);
        }
        let is_outermost = self.scope.open_brackets.len() == 1;
        let begins_item = matches!(last.kind, TokenKind::OpenBrace | TokenKind::Semicolon)
            || self.text[last.end as usize..self.replaced_start as usize].contains('\n')
            || last.kind == TokenKind::CloseBrace;
        match self.scope.head_word {
            "settings" => self.setting_clause_items(last),
            "test" if is_outermost => self.test_items(open, last),
            "test" => self.inner_test_items(last),
            "choice" if is_outermost => self.choice_items(open, last, begins_item),
            "router" if is_outermost => self.router_items(last, begins_item),
            "workflow" if is_outermost => self.workflow_items(last, begins_item),
            "workflow" => self.node_setting_items(open, last),
            "intent" if is_outermost => self.intent_items(open),
            "flow" => self.flow_tool_items(open, last),
            "intent" | "lexicon" | "table" | "list" => Vec::new(),
            "payload" | "group" => self.payload_items(open, last),
            _ => self.expression_items(last),
        }
    }

    /// True if the colon before the cursor follows the name of a payload's field. False if it
    /// follows the text of a requirement.
    pub(super) fn is_field_key(&self) -> bool {
        let colon = self.tokens_before.len() - 1;
        let name = colon - usize::from(self.token_text_before(colon) == "?");
        let begins_line = name.checked_sub(2).is_some_and(|previous| {
            let (previous, name) = (self.tokens_before[previous], self.tokens_before[name - 1]);
            matches!(previous.kind, TokenKind::OpenBrace | TokenKind::Semicolon)
                || self.text[previous.end as usize..name.start as usize].contains('\n')
        });
        begins_line && self.tokens_before[name - 1].kind == TokenKind::Word
    }

    fn setting_clause_items(&self, last: Token) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        match last.kind {
            TokenKind::Colon if self.token_text_before(end - 1) == "stop_words" => {
                self.symbol_items(&[DeclarationKind::List])
            }
            TokenKind::Colon => setting_value_items(self.token_text_before(end - 1)),
            // After a complete setting, the next key can follow with or without a comma.
            _ if matches!(last.kind, TokenKind::OpenBrace | TokenKind::Comma)
                || end > 1 && self.token_text_before(end - 1) == ":" =>
            {
                let open = self.scope.open_brackets.last().copied().unwrap_or_default();
                self.without_written_keys(setting_items(), open)
            }
            _ => keyword_items([":"]),
        }
    }

    /// Returns the completion items inside metadata, whose brace opens at the token `open`. At the
    /// place of a key, they are the metadata keys that other routes use; after a key's colon, they
    /// are constants. `last` is the token before the cursor.
    fn metadata_items(&self, open: usize, last: Token) -> Vec<CompletionItem> {
        match last.kind {
            TokenKind::OpenBrace | TokenKind::Comma => {
                let keys = self.analysis.facts.metadata_keys.iter();
                let keys = keys.map(|key| new_item(CompletionKind::Field, key, String::new())).collect();
                self.without_written_keys(keys, open)
            }
            TokenKind::Word if self.is_key_position(open) => keyword_items([":"]),
            _ => self.constant_items(last),
        }
    }
    /// Returns the completion items in the braces of `flow tool`, which open at the token `open`.
    /// `last` is the token before the cursor.
    fn flow_tool_items(&self, open: usize, last: Token) -> Vec<CompletionItem> {
        if self.token_text(self.scope.first_token + 1) != "tool" {
            return Vec::new();
        }
        match last.kind {
            TokenKind::OpenBrace | TokenKind::Comma => {
                let keys: &[&str] = match self.scope.open_brackets.len() {
                    1 => &["endpoint", "parameter"],
                    2 => &["url", "method", "headers", "body"],
                    _ => &[],
                };
                let keys = keys.iter().map(|key| new_item(CompletionKind::Field, key, String::new()));
                self.without_written_keys(keys.collect(), open)
            }
            _ if self.is_key_position(open) => keyword_items([":"]),
            _ => self.constant_items(last),
        }
    }
}
