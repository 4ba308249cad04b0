//! Completion: the words and names that can be written at a position. They depend on the tokens
//! before the position, because a statement is usually incomplete while it is typed.

use super::hover::{documentation_with_example, function_hover, significant_tokens};
use super::{Analysis, DeclarationKind};
use rulec_base::diag::Message;
use rulec_base::span::{FileId, Span};
use rulec_lang::builtins;
use rulec_lang::operators::{self, Fixity};
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::lex::{self, Token, TokenKind};
use rulec_syntax::parse::{self, WordRole};

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

/// The completion items for a position, and the span that the chosen item replaces.
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
        let none = Completion { replaces: Span { file, start: offset, end: offset }, items: Vec::new() };
        let inside = lex::tokenize(text, 0).find(|token| token.start < offset && offset <= token.end);
        let typed = match inside {
            Some(token) if token.kind == TokenKind::Word => Some(token),
            // A position directly after a comment is still inside the comment. A position directly
            // after a closing quote is outside the string.
            Some(token)
                if matches!(token.kind, TokenKind::Comment | TokenKind::DocComment | TokenKind::Number) =>
            {
                return none;
            }
            Some(token) if token.kind.is_unreadable() || is_string(token) && offset < token.end => {
                return none;
            }
            _ => None,
        };
        let start = typed.map_or(offset, |token| token.start);
        let all = significant_tokens(text);
        let before = &all[..all.partition_point(|token| token.end <= start)];
        let place = CompletionContext { analysis: self, file, text, before, start };
        let mut items = place.completion_items();
        items.sort_by(|a, b| (a.kind, &a.label, &a.detail).cmp(&(b.kind, &b.label, &b.detail)));
        items.dedup_by(|a, b| (a.kind, &a.label) == (b.kind, &b.label));
        Completion { replaces: Span { file, start, end: typed.map_or(offset, |token| token.end) }, items }
    }
}

fn is_string(token: Token) -> bool {
    matches!(token.kind, TokenKind::String | TokenKind::RawString)
}

/// The position to complete, with the tokens before it.
struct CompletionContext<'a> {
    analysis: &'a Analysis,
    file: FileId,
    text: &'a str,
    before: &'a [Token],
    start: u32,
}

impl<'a> CompletionContext<'a> {
    fn completion_items(&self) -> Vec<CompletionItem> {
        let Some(last) = self.before.last() else { return statement_items(false) };
        let (word, head) = (last.text(self.text), self.statement_keyword());
        let new_line = self.text[last.end as usize..self.start as usize].contains('\n');
        let behind = |back: usize| {
            self.before.len().checked_sub(back).map_or("", |at| self.before[at].text(self.text))
        };
        match (last.kind, word) {
            (TokenKind::Dot, _) => return self.fields_at(&self.path_before(self.before.len() - 1)),
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
            (TokenKind::Operator, "<") if matches!(behind(2), "list" | "dict") => return type_items(self),
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
            items.extend(self.value_items());
        }
        items
    }

    /// True for a word that must be followed by a value or condition.
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
        let begins = |at: usize| {
            let start = self.before[at].start as usize;
            let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let first = text[line..start].chars().all(|c| c.is_whitespace() || c == '\u{feff}');
            first && parse::starts_statement(self.before[at].text(text))
        };
        (0..self.before.len()).rev().find(|at| begins(*at)).map_or("", |at| self.before[at].text(text))
    }

    /// True if the current statement contains `word` before the position.
    fn statement_has_word(&self, word: &str) -> bool {
        let statement = self.before.iter().rev().map(|token| token.text(self.text));
        statement.take_while(|text| !parse::starts_statement(text)).any(|text| text == word)
    }

    /// Returns the names of the path whose last token is before token `end`. For `ctx.user.`, the
    /// names are `ctx` and `user`.
    fn path_before(&self, end: usize) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut at = end;
        while let Some(name) = at.checked_sub(1).map(|at| self.before[at]) {
            if !matches!(name.kind, TokenKind::Word | TokenKind::Quoted) {
                break;
            }
            names.push(name.text(self.text).trim_matches('`'));
            match at.checked_sub(2).map(|at| self.before[at].kind) {
                Some(TokenKind::Dot) => at -= 2,
                _ => break,
            }
        }
        names.reverse();
        names
    }

    /// Returns the fields that can follow a path whose first name is bound in the current
    /// statement, such as the element name of a quantifier. `None` for any other path.
    fn bound_fields(&self, path: &[&str]) -> Option<Vec<CompletionItem>> {
        let at = self.before.len().checked_sub(2 * path.len())?;
        let first = self.before.get(at)?;
        let index = &self.analysis.index;
        let symbol = &index.symbols[index.occurrence_at(self.file, first.start)?.symbol];
        let (kind, mut inner) = symbol.fields.clone()?;
        inner.extend(path.iter().skip(1).map(|name| (*name).to_owned()));
        Some(index.fields_declared_in(&(kind, inner)).map(|symbol| self.symbol_item(symbol)).collect())
    }

    /// Returns the fields that can follow the dot after a path.
    fn fields_at(&self, path: &[&str]) -> Vec<CompletionItem> {
        let field = |(name, ty): (String, String)| new_item(CompletionKind::Field, &name, ty);
        if let Some(items) = self.bound_fields(path) {
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

    /// Converts a symbol to a completion item.
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
            docs: symbol.declared.as_ref().map(|at| Message::verbatim(&at.docs)).unwrap_or_default(),
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
        // Names bound in the declaration that contains the position.
        let local = |symbol: &&super::Symbol| {
            let whole = symbol.declared.as_ref().map(|at| at.whole);
            whole.is_some_and(|at| at.file == self.file && at.start <= self.start && self.start <= at.end + 1)
        };
        let locals = self.analysis.index.symbols_of_kinds(&[DeclarationKind::Local]).filter(local);
        items.extend(
            locals.map(|symbol| new_item(CompletionKind::Value, &quote_name(&symbol.name), String::new())),
        );
        if self.statement_keyword() == "payload" || self.statement_keyword() == "group" {
            items.extend(self.symbol_items(&[DeclarationKind::PayloadField]));
        }
        items.extend(builtins::TABLE.iter().map(|row| {
            let shown = function_hover(row, Span { file: self.file, start: 0, end: 0 });
            CompletionItem {
                kind: CompletionKind::Function,
                label: row.name.to_owned(),
                detail: shown.code,
                docs: shown.text,
            }
        }));
        items.extend(VALUE_WORDS.map(keyword_item));
        items
    }

    /// Returns the operators that accept the value before the position, and the words that can
    /// follow a condition.
    fn operator_items(&self) -> Vec<CompletionItem> {
        let kinds = self.kinds_before();
        let fits = |row: &&operators::OpInfo| {
            row.fixity != Fixity::Prefix && row.forms.iter().any(|form| form.left.overlaps(kinds))
        };
        let shown = |row: &operators::OpInfo| CompletionItem {
            kind: CompletionKind::Operator,
            label: row.spelling.to_owned(),
            detail: String::new(),
            docs: documentation_with_example(&row.doc, row.example),
        };
        let mut items: Vec<CompletionItem> = operators::TABLE.iter().filter(fits).map(shown).collect();
        items.extend(["->", "where"].map(keyword_item));
        items
    }

    /// Returns the kinds of type (such as number or list) that the value before the position may
    /// have. If its type is unknown, returns every kind.
    fn kinds_before(&self) -> KindSet {
        let path = self.path_before(self.before.len());
        let is_let = |symbol: &&super::Symbol| path.as_slice() == [symbol.name.as_str()];
        let of_let = self
            .analysis
            .index
            .symbols_of_kinds(&[DeclarationKind::Let, DeclarationKind::Local])
            .find(is_let);
        let of_let =
            of_let.and_then(|symbol| self.analysis.facts.type_of_let(symbol.declared.as_ref()?.name));
        let kinds = of_let.map(|ty| ty.kinds).or_else(|| self.analysis.facts.kinds(&path));
        kinds.unwrap_or(KindSet::ALL_WITH_VERSION)
    }
}

/// Returns the words that begin statements as completion items.
fn statement_items(in_table: bool) -> Vec<CompletionItem> {
    let words = parse::keywords().filter(|(_, role)| *role == WordRole::Statement).map(|(word, _)| word);
    words.filter(|word| !in_table || matches!(*word, "route" | "default")).map(keyword_item).collect()
}

fn type_items(place: &CompletionContext<'_>) -> Vec<CompletionItem> {
    let mut items = place.symbol_items(&[DeclarationKind::Type]);
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
