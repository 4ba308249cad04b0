//! Completion: finds the words and names that an author can write at a position. Only the tokens
//! before the position are used, because a statement is usually incomplete while it is typed.

use super::hover::{documentation_with_example, function_hover, significant_tokens};
use super::{Analysis, DeclarationKind};
use rulec_base::diag::Message;
use rulec_base::span::{FileId, Span};
use rulec_lang::builtins;
use rulec_lang::operators::{self, Fixity};
use rulec_lang::ty::{Enumeration, KindSet, Ty};
use rulec_syntax::lex::{self, Token, TokenKind};
use rulec_syntax::parse::{self, WordRole};
use rulec_syntax::write::quote_string;
use std::sync::Arc;

/// The kind of a completion item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionKind {
    Field,
    Value,
    Function,
    Operator,
    Keyword,
    Type,
    Handler,
    Statement,
}

/// A completion item: a word or name that can be written at the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    pub kind: CompletionKind,
    /// The text that the item shows and inserts.
    pub label: String,
    /// The type or signature of the item; may be empty.
    pub detail: String,
    pub docs: Message,
}

/// The completion items for a position, and the span that the chosen completion item replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub replaces: Span,
    pub items: Vec<CompletionItem>,
}

/// Words that are values themselves or begin a condition.
const VALUE_WORDS: [&str; 9] = ["not", "any", "all", "none", "count", "if", "true", "false", "null"];
/// Words that can follow the name of a route.
const ROUTE_WORDS: [&str; 3] = ["when", "priority", "disabled"];

impl Analysis {
    /// Returns the completion items for a position.
    pub fn complete(&self, file: FileId, offset: u32) -> Completion {
        let text = self.text(file);
        let offset = rulec_base::source::floor_char_boundary(text, offset as usize) as u32;
        let no_items = Completion { replaces: Span { file, start: offset, end: offset }, items: Vec::new() };
        let token_at_offset =
            lex::tokenize(text, 0).find(|token| token.start < offset && offset <= token.end);
        let is_in_string = token_at_offset.is_some_and(|token| is_string(token) && offset < token.end);
        let replaced = match token_at_offset {
            Some(token) if token.kind == TokenKind::Word || is_in_string => Some(token),
            // A position directly after a comment is still inside the comment, so nothing is
            // completed. Directly after a closing quote, the position is outside the string.
            Some(token)
                if matches!(token.kind, TokenKind::Comment | TokenKind::DocComment | TokenKind::Number) =>
            {
                return no_items;
            }
            Some(token) if token.kind.is_unreadable() => return no_items,
            _ => None,
        };
        let start = replaced.map_or(offset, |token| token.start);
        let tokens = significant_tokens(text);
        let tokens_before = &tokens[..tokens.partition_point(|token| token.end <= start)];
        let context = CompletionContext { analysis: self, file, text, tokens_before, start };
        let mut items = match is_in_string {
            true => context.enumeration_items(),
            false => context.completion_items(),
        };
        items.sort_by(|a, b| (a.kind, &a.label, &a.detail).cmp(&(b.kind, &b.label, &b.detail)));
        items.dedup_by(|a, b| (a.kind, &a.label) == (b.kind, &b.label));
        Completion { replaces: Span { file, start, end: replaced.map_or(offset, |token| token.end) }, items }
    }
}

fn is_string(token: Token) -> bool {
    matches!(token.kind, TokenKind::String | TokenKind::RawString)
}

/// The position to complete, with the tokens before the position.
struct CompletionContext<'a> {
    analysis: &'a Analysis,
    file: FileId,
    text: &'a str,
    tokens_before: &'a [Token],
    /// Offset of the first character that the chosen completion item replaces.
    start: u32,
}

impl<'a> CompletionContext<'a> {
    fn completion_items(&self) -> Vec<CompletionItem> {
        let Some(last) = self.tokens_before.last() else { return statement_items(false) };
        let (word, head) = (last.text(self.text), self.statement_keyword());
        let new_line = self.text[last.end as usize..self.start as usize].contains('\n');
        let word_back = |distance: usize| {
            self.tokens_before
                .len()
                .checked_sub(distance)
                .map_or("", |index| self.tokens_before[index].text(self.text))
        };
        match (last.kind, word) {
            (TokenKind::Dot, _) => return self.fields_at(&self.path_before(self.tokens_before.len() - 1)),
            (TokenKind::Arrow, _) if head == "extern" => return type_items(self),
            (TokenKind::Arrow, _) => {
                let mut items = self.symbol_items(&[DeclarationKind::Handler]);
                items.push(keyword_item("goto"));
                return items;
            }
            (_, "goto") => return self.symbol_items(&[DeclarationKind::Table]),
            (_, "as") => return type_items(self),
            (_, "include") => return self.symbol_items(&[DeclarationKind::Group]),
            (_, "expect") => {
                return self.symbol_items(&[
                    DeclarationKind::Route,
                    DeclarationKind::Table,
                    DeclarationKind::Choice,
                    DeclarationKind::Payload,
                    DeclarationKind::Flow,
                ]);
            }
            (_, "by") if head == "workflow" => return self.symbol_items(&[DeclarationKind::Router]),
            (TokenKind::Colon, _) if matches!(head, "input" | "handler" | "def" | "extern" | "type") => {
                return type_items(self);
            }
            (TokenKind::Operator, "<") if matches!(word_back(2), "list" | "dict") => return type_items(self),
            _ => {}
        }
        let in_table = matches!((last.kind, head), (TokenKind::OpenBrace, "table"));
        let may_begin = new_line && (last.kind.ends_operand() || in_table);
        let mut items = if may_begin || in_table { statement_items(in_table) } else { Vec::new() };
        if last.kind.ends_operand() && !self.expects_value(word) {
            if head == "route" && !self.statement_has_word("when") {
                items.extend(ROUTE_WORDS.map(keyword_item));
            } else {
                items.extend(self.operator_items());
            }
            if head == "test" {
                items.extend(["given", "expect"].map(keyword_item));
            }
        } else if !in_table {
            items.extend(self.enumeration_items());
            items.extend(self.value_items());
        }
        items
    }

    /// Returns the values of an enumeration, if a field with these values is compared with the text
    /// at the position, as in `tier == ` and `tier in ["free", `.
    fn enumeration_items(&self) -> Vec<CompletionItem> {
        let text_before = |end: usize| match end.checked_sub(1) {
            Some(index) => self.tokens_before[index].text(self.text),
            None => "",
        };
        let mut end = self.tokens_before.len();
        while end > 0 && (is_string(self.tokens_before[end - 1]) || text_before(end) == ",") {
            end -= 1;
        }
        match text_before(end) {
            "[" => end -= 1,
            _ => end = self.tokens_before.len(),
        }
        end -= usize::from(matches!(text_before(end), "any" | "all" | "none"));
        if !matches!(text_before(end), "==" | "!=" | "in" | "contains") {
            return Vec::new();
        }
        end -= 1;
        end -= usize::from(text_before(end) == "not");
        let path = self.path_before(end);
        let values = self.analysis.facts.values(&path).map_or(&[][..], Enumeration::values);
        let item = |value: &Arc<str>| new_item(CompletionKind::Value, &quote_string(value), path.join("."));
        values.iter().map(item).collect()
    }

    /// True for a word that must be followed by a value or condition. No operator is then offered
    /// after it.
    fn expects_value(&self, word: &str) -> bool {
        matches!(
            word,
            "when" | "where" | "given" | "require" | "forbid" | "then" | "else" | "if" | "from" | "ask"
        ) || VALUE_WORDS[..5].contains(&word)
            || operators::Op::from_spelling(word).is_some()
    }

    /// Returns the first word of the statement that contains the position.
    fn statement_keyword(&self) -> &'a str {
        let text = self.text;
        let begins_statement = |index: usize| {
            let start = self.tokens_before[index].start as usize;
            let line = text[..start].rfind('\n').map_or(0, |index| index + 1);
            let is_line_start = text[line..start].chars().all(|c| c.is_whitespace() || c == '\u{feff}');
            is_line_start && parse::starts_statement(self.tokens_before[index].text(text))
        };
        (0..self.tokens_before.len())
            .rev()
            .find(|index| begins_statement(*index))
            .map_or("", |index| self.tokens_before[index].text(text))
    }

    /// True if the statement that contains the position has `word` before the position.
    fn statement_has_word(&self, word: &str) -> bool {
        let statement = self.tokens_before.iter().rev().map(|token| token.text(self.text));
        statement.take_while(|text| !parse::starts_statement(text)).any(|text| text == word)
    }

    /// Returns the names of the path that ends directly before the token with the index `end`;
    /// empty if there is none. For `ctx.user.` and the index of the last dot, the names are `ctx`
    /// and `user`.
    fn path_before(&self, end: usize) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut index = end;
        while let Some(name) = index.checked_sub(1).map(|index| self.tokens_before[index]) {
            if !matches!(name.kind, TokenKind::Word | TokenKind::Quoted) {
                break;
            }
            names.push(name.text(self.text).trim_matches('`'));
            match index.checked_sub(2).map(|index| self.tokens_before[index].kind) {
                Some(TokenKind::Dot) => index -= 2,
                _ => break,
            }
        }
        names.reverse();
        names
    }

    /// Returns the fields that can follow a path whose first name is a local name of the current
    /// statement, such as a quantifier's variable. `None` for any other path.
    fn fields_of_bound_name(&self, path: &[&str]) -> Option<Vec<CompletionItem>> {
        let first_token = self.tokens_before.len().checked_sub(2 * path.len())?;
        let first = self.tokens_before.get(first_token)?;
        let symbol_index = &self.analysis.index;
        let symbol = &symbol_index.symbols[symbol_index.occurrence_at(self.file, first.start)?.symbol];
        let (kind, mut inner) = symbol.fields.clone()?;
        inner.extend(path.iter().skip(1).map(|name| (*name).to_owned()));
        Some(symbol_index.fields_declared_in(&(kind, inner)).map(|symbol| self.symbol_item(symbol)).collect())
    }

    /// Returns the fields that can follow the dot after a path. `path` has the names of the path;
    /// an empty path has no fields.
    fn fields_at(&self, path: &[&str]) -> Vec<CompletionItem> {
        let field = |(name, ty): (String, String)| new_item(CompletionKind::Field, &name, ty);
        if let Some(items) = self.fields_of_bound_name(path) {
            return items;
        }
        match path {
            [] => Vec::new(),
            ["request"] => {
                let words = ["intent", "intent_score", "entities", "keywords", "context_score"];
                let lexicons = self
                    .analysis
                    .index
                    .symbols_of_kinds(&[DeclarationKind::Lexicon])
                    .map(|symbol| symbol.name.as_str());
                words
                    .into_iter()
                    .chain(lexicons)
                    .map(|name| new_item(CompletionKind::Field, name, String::new()))
                    .collect()
            }
            ["request", "entities"] => self.symbol_items(&[DeclarationKind::Entity]),
            ["payload"] => self.symbol_items(&[DeclarationKind::PayloadField]),
            path => self.analysis.facts.fields_of_record(path).into_iter().map(field).collect(),
        }
    }

    fn symbol_items(&self, kinds: &[DeclarationKind]) -> Vec<CompletionItem> {
        self.analysis.index.symbols_of_kinds(kinds).map(|symbol| self.symbol_item(symbol)).collect()
    }

    /// Converts a symbol (a declared name) to a completion item.
    fn symbol_item(&self, symbol: &super::Symbol) -> CompletionItem {
        CompletionItem {
            kind: match symbol.kind {
                DeclarationKind::Handler => CompletionKind::Handler,
                DeclarationKind::Type | DeclarationKind::Group => CompletionKind::Type,
                DeclarationKind::Field | DeclarationKind::PayloadField | DeclarationKind::TypeField => {
                    CompletionKind::Field
                }
                DeclarationKind::Def | DeclarationKind::Extern => CompletionKind::Function,
                DeclarationKind::Let
                | DeclarationKind::List
                | DeclarationKind::Local
                | DeclarationKind::Parameter => CompletionKind::Value,
                _ => CompletionKind::Statement,
            },
            label: quote_name(&symbol.name),
            detail: self.analysis.symbol_signature(symbol).lines().next().unwrap_or_default().to_owned(),
            docs: symbol
                .declared
                .as_ref()
                .map(|declaration| Message::verbatim(&declaration.docs))
                .unwrap_or_default(),
        }
    }

    /// Returns the names and words that a condition or value can begin with.
    fn value_items(&self) -> Vec<CompletionItem> {
        let mut items = self.symbol_items(&[
            DeclarationKind::Let,
            DeclarationKind::Def,
            DeclarationKind::List,
            DeclarationKind::Extern,
        ]);
        let fields = self.analysis.facts.fields_of_record(&[]).into_iter();
        items.extend(fields.map(|(name, ty)| new_item(CompletionKind::Field, &quote_name(&name), ty)));
        // Local names are offered only inside the declaration that contains them.
        let local = |symbol: &&super::Symbol| {
            let declaration_span = symbol.declared.as_ref().map(|declaration| declaration.whole);
            declaration_span.is_some_and(|span| {
                span.file == self.file && span.start <= self.start && self.start <= span.end + 1
            })
        };
        let locals = self.analysis.index.symbols_of_kinds(&[DeclarationKind::Local]).filter(local);
        items.extend(
            locals.map(|symbol| new_item(CompletionKind::Value, &quote_name(&symbol.name), String::new())),
        );
        if self.statement_keyword() == "payload" || self.statement_keyword() == "group" {
            items.extend(self.symbol_items(&[DeclarationKind::PayloadField]));
        }
        items.extend(builtins::TABLE.iter().map(|row| {
            let hover = function_hover(row, Span { file: self.file, start: 0, end: 0 });
            CompletionItem {
                kind: CompletionKind::Function,
                label: row.name.to_owned(),
                detail: hover.code,
                docs: hover.text,
            }
        }));
        items.extend(VALUE_WORDS.map(keyword_item));
        items
    }

    /// Returns the operators that accept the value before the position, and the words that can
    /// follow a condition.
    fn operator_items(&self) -> Vec<CompletionItem> {
        let kinds = self.kinds_before();
        let accepts_value = |row: &&operators::OpInfo| {
            row.fixity != Fixity::Prefix && row.forms.iter().any(|form| form.left.overlaps(kinds))
        };
        let to_item = |row: &operators::OpInfo| CompletionItem {
            kind: CompletionKind::Operator,
            label: row.spelling.to_owned(),
            detail: String::new(),
            docs: documentation_with_example(&row.doc, row.example),
        };
        let mut items: Vec<CompletionItem> =
            operators::TABLE.iter().filter(accepts_value).map(to_item).collect();
        items.extend(["->", "where"].map(keyword_item));
        items
    }

    /// Returns the kinds of type (such as number or list) that the value before the position may
    /// have. If the value's type is unknown, returns every kind.
    fn kinds_before(&self) -> KindSet {
        let path = self.path_before(self.tokens_before.len());
        let is_let = |symbol: &&super::Symbol| path.as_slice() == [symbol.name.as_str()];
        let let_symbol = self
            .analysis
            .index
            .symbols_of_kinds(&[DeclarationKind::Let, DeclarationKind::Local])
            .find(is_let);
        let let_type =
            let_symbol.and_then(|symbol| self.analysis.facts.type_of_let(symbol.declared.as_ref()?.name));
        let kinds = let_type.map(|ty| ty.kinds).or_else(|| self.analysis.facts.kinds(&path));
        kinds.unwrap_or(KindSet::EVERY_KIND)
    }
}

/// Returns completion items for the words that begin statements. If `in_table`, returns only the
/// words that are allowed in a table.
fn statement_items(in_table: bool) -> Vec<CompletionItem> {
    let words = parse::keywords().filter(|(_, role)| *role == WordRole::Statement).map(|(word, _)| word);
    words.filter(|word| !in_table || matches!(*word, "route" | "default")).map(keyword_item).collect()
}

fn type_items(context: &CompletionContext<'_>) -> Vec<CompletionItem> {
    let mut items = context.symbol_items(&[DeclarationKind::Type]);
    items.extend(Ty::BUILTIN_NAMES.iter().map(|name| new_item(CompletionKind::Type, name, String::new())));
    items
}

fn keyword_item(word: &str) -> CompletionItem {
    new_item(CompletionKind::Keyword, word, String::new())
}

fn new_item(kind: CompletionKind, label: &str, detail: String) -> CompletionItem {
    CompletionItem { kind, label: label.to_owned(), detail, docs: Message::default() }
}

/// Returns a name as it is written in an expression, in backquotes if necessary.
fn quote_name(name: &str) -> String {
    super::rename::check_new_name(name).unwrap_or_else(|_| name.to_owned())
}
