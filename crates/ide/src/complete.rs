//! Completion: the words and names that can be written at a position. Candidates depend on the
//! tokens before the position, because a statement being typed is usually incomplete.

use super::hover::{explained, of_function, tokens};
use super::{Analysis, Kind};
use rulec_base::diag::Message;
use rulec_base::span::{FileId, Span};
use rulec_lang::builtins;
use rulec_lang::operators::{self, Fixity};
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::lex::{self, Token, TokenKind};
use rulec_syntax::parse::{self, Role};

/// The kind of a completion item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
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
pub struct Item {
    pub kind: ItemKind,
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
    pub items: Vec<Item>,
}

/// Words that are values themselves or begin a condition.
const VALUE_WORDS: [&str; 9] = ["not", "any", "all", "none", "count", "if", "true", "false", "null"];
/// Words that can follow the name of a route.
const ROUTE_WORDS: [&str; 3] = ["when", "priority", "disabled"];

impl Analysis {
    /// Returns the completion items for a position.
    pub fn complete(&self, file: FileId, offset: u32) -> Completion {
        let text = self.text(file);
        let offset = rulec_base::source::floor(text, offset as usize) as u32;
        let none = Completion { replaces: Span { file, start: offset, end: offset }, items: Vec::new() };
        let inside = lex::tokens(text, 0).find(|token| token.start < offset && offset <= token.end);
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
        let all = tokens(text);
        let before = &all[..all.partition_point(|token| token.end <= start)];
        let place = CompletionContext { analysis: self, file, text, before, start };
        let mut items = place.items();
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
    fn items(&self) -> Vec<Item> {
        let Some(last) = self.before.last() else { return statements(false) };
        let (word, head) = (last.text(self.text), self.head());
        let new_line = self.text[last.end as usize..self.start as usize].contains('\n');
        let behind = |back: usize| {
            self.before.len().checked_sub(back).map_or("", |at| self.before[at].text(self.text))
        };
        match (last.kind, word) {
            (TokenKind::Dot, _) => return self.fields(&self.path(self.before.len() - 1)),
            (TokenKind::Arrow, _) if head == "extern" => return types(self),
            (TokenKind::Arrow, _) => {
                let mut items = self.symbols(&[Kind::Handler]);
                items.push(keyword("goto"));
                return items;
            }
            (_, "goto") => return self.symbols(&[Kind::Table]),
            (_, "as") => return types(self),
            (_, "include") => return self.symbols(&[Kind::Group]),
            (_, "expect") => {
                return self.symbols(&[Kind::Route, Kind::Table, Kind::Choice, Kind::Payload, Kind::Flow]);
            }
            (_, "by") if head == "workflow" => return self.symbols(&[Kind::Router]),
            (TokenKind::Colon, _) if matches!(head, "input" | "handler" | "def" | "extern" | "type") => {
                return types(self);
            }
            (TokenKind::Operator, "<") if matches!(behind(2), "list" | "dict") => return types(self),
            _ => {}
        }
        let in_table = matches!((last.kind, head), (TokenKind::OpenBrace, "table"));
        let may_begin = new_line && (last.kind.ends_operand() || in_table);
        let mut items = if may_begin || in_table { statements(in_table) } else { Vec::new() };
        if last.kind.ends_operand() && !self.expects_value(word) {
            if head == "route" && !self.has("when") {
                items.extend(ROUTE_WORDS.map(keyword));
            } else {
                items.extend(self.operators());
            }
            if head == "test" {
                items.extend(["given", "expect"].map(keyword));
            }
        } else if !in_table {
            items.extend(self.values());
        }
        items
    }

    /// True for a word that must be followed by a value or condition.
    fn expects_value(&self, word: &str) -> bool {
        matches!(
            word,
            "when" | "where" | "given" | "require" | "forbid" | "then" | "else" | "if" | "from" | "ask"
        ) || VALUE_WORDS[..5].contains(&word)
            || operators::Op::infix(word).is_some()
    }

    /// Returns the first word of the statement that contains the position.
    fn head(&self) -> &'a str {
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
    fn has(&self, word: &str) -> bool {
        let statement = self.before.iter().rev().map(|token| token.text(self.text));
        statement.take_while(|text| !parse::starts_statement(text)).any(|text| text == word)
    }

    /// Returns the names of the path whose last token is before token `end`. For `ctx.user.`, the
    /// names are `ctx` and `user`.
    fn path(&self, end: usize) -> Vec<&'a str> {
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
    /// statement, such as the element name of a quantifier.
    fn bound(&self, path: &[&str]) -> Option<Vec<Item>> {
        let at = self.before.len().checked_sub(2 * path.len())?;
        let first = self.before.get(at)?;
        let index = &self.analysis.index;
        let symbol = &index.symbols[index.at(self.file, first.start)?.symbol];
        let (kind, mut inner) = symbol.fields.clone()?;
        inner.extend(path.iter().skip(1).map(|name| (*name).to_owned()));
        Some(index.fields(&(kind, inner)).map(|symbol| self.shown(symbol)).collect())
    }

    /// Returns the fields that can follow the dot after a path.
    fn fields(&self, path: &[&str]) -> Vec<Item> {
        let field = |(name, ty): (String, String)| item(ItemKind::Field, &name, ty);
        if let Some(items) = self.bound(path) {
            return items;
        }
        match path {
            [] => Vec::new(),
            ["request"] => {
                let words = ["intent", "intent_score", "entities", "keywords", "context_score"];
                let lexicons =
                    self.analysis.index.of_kinds(&[Kind::Lexicon]).map(|symbol| symbol.name.as_str());
                words
                    .into_iter()
                    .chain(lexicons)
                    .map(|name| item(ItemKind::Field, name, String::new()))
                    .collect()
            }
            ["request", "entities"] => self.symbols(&[Kind::Entity]),
            ["payload"] => self.symbols(&[Kind::PayloadField]),
            path => self.analysis.facts.fields_of(path).into_iter().map(field).collect(),
        }
    }

    fn symbols(&self, kinds: &[Kind]) -> Vec<Item> {
        self.analysis.index.of_kinds(kinds).map(|symbol| self.shown(symbol)).collect()
    }

    /// Converts a symbol to a completion item.
    fn shown(&self, symbol: &super::Symbol) -> Item {
        Item {
            kind: match symbol.kind {
                Kind::Handler => ItemKind::Handler,
                Kind::Type | Kind::Group => ItemKind::Type,
                Kind::Field | Kind::PayloadField | Kind::TypeField => ItemKind::Field,
                Kind::Def | Kind::Extern => ItemKind::Function,
                Kind::Let | Kind::List | Kind::Local | Kind::Parameter => ItemKind::Value,
                _ => ItemKind::Statement,
            },
            label: quoted(&symbol.name),
            detail: self.analysis.signature(symbol).lines().next().unwrap_or_default().to_owned(),
            docs: symbol.declared.as_ref().map(|at| Message::verbatim(&at.docs)).unwrap_or_default(),
        }
    }

    /// Returns the names and words that a condition or value can begin with.
    fn values(&self) -> Vec<Item> {
        let mut items = self.symbols(&[Kind::Let, Kind::Def, Kind::List, Kind::Extern]);
        let fields = self.analysis.facts.fields_of(&[]).into_iter();
        items.extend(fields.map(|(name, ty)| item(ItemKind::Field, &quoted(&name), ty)));
        // Names bound in the declaration that contains the position.
        let local = |symbol: &&super::Symbol| {
            let whole = symbol.declared.as_ref().map(|at| at.whole);
            whole.is_some_and(|at| at.file == self.file && at.start <= self.start && self.start <= at.end + 1)
        };
        let locals = self.analysis.index.of_kinds(&[Kind::Local]).filter(local);
        items.extend(locals.map(|symbol| item(ItemKind::Value, &quoted(&symbol.name), String::new())));
        if self.head() == "payload" || self.head() == "group" {
            items.extend(self.symbols(&[Kind::PayloadField]));
        }
        items.extend(builtins::TABLE.iter().map(|row| {
            let shown = of_function(row, Span { file: self.file, start: 0, end: 0 });
            Item {
                kind: ItemKind::Function,
                label: row.name.to_owned(),
                detail: shown.code,
                docs: shown.text,
            }
        }));
        items.extend(VALUE_WORDS.map(keyword));
        items
    }

    /// Returns the operators that accept the value before the position, and the words that can
    /// follow a condition.
    fn operators(&self) -> Vec<Item> {
        let kinds = self.left_kinds();
        let fits = |row: &&operators::OpInfo| {
            row.fixity != Fixity::Prefix && row.forms.iter().any(|form| form.left.overlaps(kinds))
        };
        let shown = |row: &operators::OpInfo| Item {
            kind: ItemKind::Operator,
            label: row.spelling.to_owned(),
            detail: String::new(),
            docs: explained(&row.doc, row.example),
        };
        let mut items: Vec<Item> = operators::TABLE.iter().filter(fits).map(shown).collect();
        items.extend(["->", "where"].map(keyword));
        items
    }

    /// Returns the type kinds of the value before the position, or every kind if its type is
    /// unknown.
    fn left_kinds(&self) -> KindSet {
        let path = self.path(self.before.len());
        let is_let = |symbol: &&super::Symbol| path.as_slice() == [symbol.name.as_str()];
        let of_let = self.analysis.index.of_kinds(&[Kind::Let, Kind::Local]).find(is_let);
        let of_let = of_let.and_then(|symbol| self.analysis.facts.of_let(symbol.declared.as_ref()?.name));
        let kinds = of_let.map(|ty| ty.kinds).or_else(|| self.analysis.facts.kinds(&path));
        kinds.unwrap_or(KindSet::EVERY)
    }
}

/// Returns the words that begin statements as completion items.
fn statements(in_table: bool) -> Vec<Item> {
    let words = parse::keywords().filter(|(_, role)| *role == Role::Statement).map(|(word, _)| word);
    words.filter(|word| !in_table || matches!(*word, "route" | "default")).map(keyword).collect()
}

fn types(place: &CompletionContext<'_>) -> Vec<Item> {
    let mut items = place.symbols(&[Kind::Type]);
    items.extend(Ty::BUILTIN_NAMES.iter().map(|name| item(ItemKind::Type, name, String::new())));
    items
}

fn keyword(word: &str) -> Item {
    item(ItemKind::Keyword, word, String::new())
}

fn item(kind: ItemKind, label: &str, detail: String) -> Item {
    Item { kind, label: label.to_owned(), detail, docs: Message::default() }
}

/// Returns a name as it is written in an expression, in backquotes if necessary.
fn quoted(name: &str) -> String {
    super::rename::written(name).unwrap_or_else(|_| name.to_owned())
}
