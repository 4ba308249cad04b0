//! Index of every name in the files, with its declaration and its uses. Go-to-definition,
//! references, renaming, outlines and colours use this index. The index is built from the syntax
//! tree alone, so it is available while other statements have errors. Names are resolved as the
//! checker resolves them.

mod expr;
mod home;
mod payload;
mod statement;

use home::Home;
use rulec_base::span::{FileId, Span};
use rulec_syntax::ast::{Expr, Field, Group, Ident, TypeExpr};
use rulec_syntax::loader::Loaded;
use std::collections::HashMap;

/// The kind of symbol that a name refers to.
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
    /// A parameter of a `def`, function, handler, group or router.
    Parameter,
    /// A name bound by a quantifier, `where`, `each` or the `let` of a payload.
    Local,
    /// A field of the input message.
    Field,
    /// A field of a payload or group.
    PayloadField,
    /// A field of a record type that a `type` statement declares.
    TypeField,
    /// An `import` statement in an outline. Like the kinds after it, it declares no name.
    Import,
    Input,
    Settings,
}

impl Kind {
    /// Returns the word for this kind in messages.
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

    /// Returns the kind that represents the namespace of this kind. Symbols in one namespace must
    /// have different names.
    fn space(self) -> Kind {
        match self {
            Kind::Def | Kind::List | Kind::Extern => Kind::Let,
            Kind::Choice | Kind::Router => Kind::Table,
            kind => kind,
        }
    }
}

/// The position of a symbol in the list of symbols of an [`Index`].
pub type SymbolId = usize;

#[derive(Clone, Debug)]
pub struct Symbol {
    pub kind: Kind,
    pub name: String,
    /// The path of the symbol from the top level, including its own name: `ctx`, `n`. Only fields
    /// and nested names have a path of more than one element.
    pub path: Vec<String>,
    pub declared: Option<Declared>,
    /// For a name bound to a record, the kind and path of the declaration that contains the fields
    /// of the record.
    pub fields: Option<(Kind, Vec<String>)>,
}

/// The declaration of a symbol.
#[derive(Clone, Debug)]
pub struct Declared {
    pub name: Span,
    /// The span of the whole declaration, not only of the name.
    pub whole: Span,
    /// The doc comment of the declaration; may be empty.
    pub docs: String,
}

/// An occurrence of a symbol's name in the source: its declaration or a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    pub span: Span,
    pub symbol: SymbolId,
    pub declares: bool,
}

/// An entry of a file's outline: a statement or a nested declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub name: String,
    /// The span of the declared name, or of the statement's first word if there is no name.
    pub name_span: Span,
    pub span: Span,
    pub inner: Vec<Entry>,
}

#[derive(Default)]
pub struct Index {
    pub symbols: Vec<Symbol>,
    /// The occurrences of all symbols, in source order.
    occurrences: Vec<Occurrence>,
    /// The outline of each file, in the order in which the files were read.
    outlines: Vec<(FileId, Vec<Entry>)>,
}

impl Index {
    pub(super) fn new(loaded: &Loaded) -> Index {
        let mut work = Work::default();
        // A name may be declared after its use or in another file, so all declarations are
        // collected first.
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

    /// Returns the occurrence of a name that contains an offset. The offset just after a name also
    /// counts.
    pub fn at(&self, file: FileId, offset: u32) -> Option<Occurrence> {
        let behind =
            self.occurrences.partition_point(|one| (one.span.file, one.span.start) <= (file, offset));
        let before = self.occurrences[..behind].last()?;
        (before.span.file == file && offset <= before.span.end).then_some(*before)
    }

    /// Returns the occurrences of a symbol in all files.
    pub fn places(&self, symbol: SymbolId) -> impl Iterator<Item = Occurrence> {
        self.occurrences.iter().copied().filter(move |one| one.symbol == symbol)
    }

    /// Returns the occurrences of names in a file, in source order.
    pub fn of_file(&self, file: FileId) -> &[Occurrence] {
        let start = self.occurrences.partition_point(|one| one.span.file < file);
        let end = self.occurrences.partition_point(|one| one.span.file <= file);
        &self.occurrences[start..end]
    }

    /// Returns the fields that the declaration with this kind and path contains, without nested
    /// fields.
    pub fn fields(&self, (kind, path): &(Kind, Vec<String>)) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| {
            symbol.kind == *kind
                && symbol.path.len() == path.len() + 1
                && symbol.path.starts_with(path)
                && symbol.name != home::ELEMENT
        })
    }

    /// Returns the outline of a file.
    pub fn outline(&self, file: FileId) -> &[Entry] {
        self.outlines.iter().find(|(known, _)| *known == file).map_or(&[], |(_, outline)| outline)
    }

    /// Returns the symbols that have one of these kinds.
    pub fn of_kinds(&self, kinds: &[Kind]) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |symbol| kinds.contains(&symbol.kind))
    }
}

/// An index under construction, with the state of name resolution.
#[derive(Default)]
struct Work<'a> {
    index: Index,
    by_path: HashMap<(Kind, Vec<String>), SymbolId>,
    /// The fields that the `input` statement declares.
    input: Option<&'a [Field]>,
    types: HashMap<&'a str, &'a TypeExpr>,
    groups: HashMap<&'a str, &'a Group>,
    /// For each router, the names of the workflows that use it.
    asking: HashMap<&'a str, Vec<&'a str>>,
    /// The names that are bound at the current expression, innermost last. Names that the language
    /// itself binds have no symbol.
    scope: Vec<(&'a str, Option<SymbolId>, Home<'a>)>,
    /// The value expressions of `let` statements, by name.
    lets: HashMap<&'a str, &'a Expr>,
    /// The name of the payload or group that is being resolved. Within it, the name `payload`
    /// refers to its fields.
    judged: Option<&'a str>,
}

impl<'a> Work<'a> {
    /// Returns the symbol with this kind and path. Creates the symbol if it does not exist.
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

    /// Declares a symbol. If a name is declared several times, the first declaration is kept.
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

    /// Declares a name that is visible only in a part of a statement. Other statements may declare
    /// the same name again.
    fn local(&mut self, kind: Kind, name: &'a Ident, whole: Span) -> SymbolId {
        let declared = Some(Declared { name: name.span, whole, docs: String::new() });
        let path = vec![name.node.clone()];
        let name_of = name.node.clone();
        self.index.symbols.push(Symbol { kind, name: name_of, path, declared, fields: None });
        let id = self.index.symbols.len() - 1;
        self.index.occurrences.push(Occurrence { span: name.span, symbol: id, declares: true });
        id
    }

    /// Declares a local name and adds it to the scope.
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

/// Creates an outline entry without nested entries.
fn entry(kind: Kind, name: &Ident, span: Span) -> Entry {
    Entry { kind, name: name.node.clone(), name_span: name.span, span, inner: Vec::new() }
}

/// Returns the path prefix of a group's parameters. A function may have the same name as the group.
/// The backquotes in the prefix distinguish them, because no name contains backquotes.
fn group_owner(name: &str) -> [&str; 2] {
    ["`group`", name]
}
