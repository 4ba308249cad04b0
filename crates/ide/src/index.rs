//! Every name of the files, where it is declared and where it is used: the one answer behind definitions, references,
//! renaming, outlines and colours. It follows from the syntax tree alone, so it is there while other statements have errors;
//! what a name means is decided as the checker decides it.

mod expr;
mod home;
mod payload;
mod statement;

use home::Home;
use rulec_base::span::{FileId, Span};
use rulec_syntax::ast::{Expr, Field, Group, Ident, TypeExpr};
use rulec_syntax::loader::Loaded;
use std::collections::HashMap;

/// The thing that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Let,
    Def,
    List,
    Extern,
    Type,
    Handler,
    Table,
    Route,
    Test,
    Choice,
    Branch,
    Flow,
    FlowTool,
    Router,
    Workflow,
    Node,
    Intent,
    Entity,
    Lexicon,
    Payload,
    Group,
    /// Of a `def`, function, handler, group or router.
    Parameter,
    /// Bound by a quantifier, `where`, `each` or the `let` of a payload.
    Local,
    /// Of a message.
    Field,
    /// Of a payload or group.
    PayloadField,
    /// Of a type.
    TypeField,
    /// A statement that declares no name itself, in an outline.
    Import,
    Input,
    Settings,
}

impl Kind {
    /// The word that people call it by.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Let => "let",
            Kind::Def => "def",
            Kind::List => "list",
            Kind::Extern => "extern fn",
            Kind::Type => "type",
            Kind::Handler => "handler",
            Kind::Table => "table",
            Kind::Route => "route",
            Kind::Test => "test",
            Kind::Choice => "choice",
            Kind::Branch => "branch",
            Kind::Flow => "flow",
            Kind::FlowTool => "flow tool",
            Kind::Router => "router",
            Kind::Workflow => "workflow",
            Kind::Node => "node",
            Kind::Intent => "intent",
            Kind::Entity => "entity",
            Kind::Lexicon => "lexicon",
            Kind::Payload => "payload",
            Kind::Group => "group",
            Kind::Parameter => "parameter",
            Kind::Local => "name",
            Kind::Field | Kind::PayloadField | Kind::TypeField => "field",
            Kind::Import => "import",
            Kind::Input => "input",
            Kind::Settings => "settings",
        }
    }

    /// The kinds that one name stands for one of.
    fn space(self) -> Kind {
        match self {
            Kind::Def | Kind::List | Kind::Extern => Kind::Let,
            Kind::Choice | Kind::Router => Kind::Table,
            kind => kind,
        }
    }
}

/// The number of a symbol in its index.
pub type SymbolId = usize;

#[derive(Clone, Debug)]
pub struct Symbol {
    pub kind: Kind,
    pub name: String,
    /// The way to it from the top, itself last: `ctx`, `n`. One name for all but fields and what stands in another.
    pub path: Vec<String>,
    pub declared: Option<Declared>,
    /// The kind and the path of what its fields are declared in, of a name that is bound in one place.
    pub fields: Option<(Kind, Vec<String>)>,
}

/// A declaration.
#[derive(Clone, Debug)]
pub struct Declared {
    pub name: Span,
    /// The whole of it.
    pub whole: Span,
    /// Its doc comment.
    pub docs: String,
}

/// A place where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    pub span: Span,
    pub symbol: SymbolId,
    pub declares: bool,
}

/// A line of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub name: String,
    /// The place of the name, or of the first word.
    pub name_span: Span,
    pub span: Span,
    pub inner: Vec<Entry>,
}

#[derive(Default)]
pub struct Index {
    pub symbols: Vec<Symbol>,
    /// In the order of the text.
    occurrences: Vec<Occurrence>,
    /// The outline of each file, in the order they were read.
    outlines: Vec<(FileId, Vec<Entry>)>,
}

impl Index {
    pub(super) fn of(loaded: &Loaded) -> Index {
        let mut work = Work::default();
        // Whatever is used may be declared behind it, or in another file.
        for unit in &loaded.units {
            unit.statements.iter().for_each(|statement| work.declare(statement));
        }
        for unit in &loaded.units {
            let outline = unit.statements.iter().map(|statement| work.statement(statement)).collect();
            work.index.outlines.push((unit.file, outline));
        }
        let mut index = work.index;
        index.occurrences.sort_by_key(|one| (one.span, !one.declares));
        index.occurrences.dedup_by_key(|one| one.span);
        index
    }

    /// The name at a place; at its end as well.
    pub fn at(&self, file: FileId, offset: u32) -> Option<Occurrence> {
        let behind =
            self.occurrences.partition_point(|one| (one.span.file, one.span.start) <= (file, offset));
        let before = self.occurrences[..behind].last()?;
        (before.span.file == file && offset <= before.span.end).then_some(*before)
    }

    /// The places where a symbol stands.
    pub fn places(&self, symbol: SymbolId) -> impl Iterator<Item = Occurrence> {
        self.occurrences.iter().copied().filter(move |one| one.symbol == symbol)
    }

    /// The names of a file, in the order of the text.
    pub fn of_file(&self, file: FileId) -> &[Occurrence] {
        let start = self.occurrences.partition_point(|one| one.span.file < file);
        let end = self.occurrences.partition_point(|one| one.span.file <= file);
        &self.occurrences[start..end]
    }

    /// The fields of a value, by the kind and path of what they are declared in.
    pub fn fields(&self, (kind, path): &(Kind, Vec<String>)) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| {
            symbol.kind == *kind
                && symbol.path.len() == path.len() + 1
                && symbol.path.starts_with(path)
                && symbol.name != home::ELEMENT
        })
    }

    /// The outline of a file.
    pub fn outline(&self, file: FileId) -> &[Entry] {
        self.outlines.iter().find(|(known, _)| *known == file).map_or(&[], |(_, outline)| outline)
    }

    /// The symbols of these kinds, by name.
    pub fn of_kinds(&self, kinds: &[Kind]) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| kinds.contains(&symbol.kind))
    }
}

/// An index in the making.
#[derive(Default)]
struct Work<'a> {
    index: Index,
    by_path: HashMap<(Kind, Vec<String>), SymbolId>,
    /// The fields of the declared input, and the declared types.
    input: Option<&'a [Field]>,
    types: HashMap<&'a str, &'a TypeExpr>,
    groups: HashMap<&'a str, &'a Group>,
    /// The workflows that ask each router.
    asking: HashMap<&'a str, Vec<&'a str>>,
    /// The names bound around the expression at hand, innermost last; those that the language binds have no symbol.
    scope: Vec<(&'a str, Option<SymbolId>, Home<'a>)>,
    /// The values of `let`s.
    lets: HashMap<&'a str, &'a Expr>,
    /// The payload or group at hand, whose fields `payload` has.
    judged: Option<&'a str>,
}

impl<'a> Work<'a> {
    /// The symbol with that path; made where there is none so far.
    fn symbol(&mut self, kind: Kind, path: &[&str]) -> SymbolId {
        let key = (kind.space(), path.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        if let Some(known) = self.by_path.get(&key) {
            return *known;
        }
        let name = path.last().map_or(String::new(), |name| (*name).to_owned());
        self.index.symbols.push(Symbol { kind, name, path: key.1.clone(), declared: None, fields: None });
        self.by_path.insert(key, self.index.symbols.len() - 1);
        self.index.symbols.len() - 1
    }

    fn known(&self, kind: Kind, path: &[&str]) -> Option<SymbolId> {
        let path = path.iter().map(|name| (*name).to_owned()).collect();
        self.by_path.get(&(kind.space(), path)).copied()
    }

    /// Declares a symbol; the first declaration of a name counts.
    fn declares(&mut self, kind: Kind, path: &[&str], name: Span, whole: Span, docs: &str) -> SymbolId {
        let id = self.symbol(kind, path);
        let symbol = &mut self.index.symbols[id];
        if symbol.declared.is_none() {
            symbol.kind = kind;
            symbol.declared = Some(Declared { name, whole, docs: docs.to_owned() });
        }
        self.index.occurrences.push(Occurrence { span: name, symbol: id, declares: true });
        id
    }

    /// A name that is known in one place only, which others may have elsewhere.
    fn local(&mut self, kind: Kind, name: &'a Ident, whole: Span) -> SymbolId {
        let declared = Some(Declared { name: name.span, whole, docs: String::new() });
        let path = vec![name.node.clone()];
        let name_of = name.node.clone();
        self.index.symbols.push(Symbol { kind, name: name_of, path, declared, fields: None });
        let id = self.index.symbols.len() - 1;
        self.index.occurrences.push(Occurrence { span: name.span, symbol: id, declares: true });
        id
    }

    /// The same, and brings it into scope.
    fn bind(&mut self, kind: Kind, name: &'a Ident, whole: Span, home: Home<'a>) {
        let id = self.local(kind, name, whole);
        self.index.symbols[id].fields = self.fields_behind(home.clone());
        self.scope.push((&name.node, Some(id), home));
    }

    fn uses(&mut self, symbol: SymbolId, span: Span) {
        self.index.occurrences.push(Occurrence { span, symbol, declares: false });
    }

    fn uses_named(&mut self, kind: Kind, name: &Ident) {
        let symbol = self.symbol(kind, &[&name.node]);
        self.uses(symbol, name.span);
    }
}

/// A line of the outline.
fn entry(kind: Kind, name: &Ident, span: Span) -> Entry {
    Entry { kind, name: name.node.clone(), name_span: name.span, span, inner: Vec::new() }
}

/// The path of a group's parameters: a function may have its name, but no name has backquotes.
fn group_owner(name: &str) -> [&str; 2] {
    ["`group`", name]
}
